//! Reading files: by offset, line by line, and by several threads; and snapshots, which show what others changed.

use std::cell::Cell;
use std::cmp;
use std::fs::{File, Metadata};
use std::num::NonZero;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::atomic::{self, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use std::{fs, io, thread};

use crate::log::{Line, LogChange, Source, Span, scan_lines};

/// Number of bytes at the end of the known part that identify it.
const MARK_BYTES: u64 = 64;

/// The state of a file at the last look or write.
#[derive(Debug)]
pub(super) struct FileSnapshot {
    /// The identity of the file.
    pub(super) identity: Identity,
    /// The length of the known part.
    pub(super) length: u64,
    /// The last bytes of the known part.
    mark: Vec<u8>,
    /// The time of the last change; `None` if it is not known.
    modified: Option<SystemTime>,
}

impl FileSnapshot {
    /// A snapshot of the file as it is now.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let mark = read_mark(file, metadata.len())?;
        let modified = metadata.modified().ok();
        Ok(Self { identity: Identity::from(&metadata), length: metadata.len(), mark, modified })
    }

    /// The change of the known part, if the metadata is now `found`. Reads few bytes, and none if the file was not
    /// written to.
    pub(super) fn compare(&self, file: &File, found: &Metadata) -> io::Result<LogChange> {
        let is_untouched = self.modified.is_some() && self.modified == found.modified().ok();
        let growth = found.len().cmp(&self.length);
        Ok(match growth {
            cmp::Ordering::Equal if is_untouched => LogChange::Unchanged,
            cmp::Ordering::Less => LogChange::Replaced,
            _ if read_mark(file, self.length)? != self.mark => LogChange::Replaced,
            cmp::Ordering::Equal => LogChange::Unchanged,
            cmp::Ordering::Greater => LogChange::Grown,
        })
    }

    /// Records a look that found no change.
    pub(super) fn note_time(&mut self, found: Option<&Metadata>) {
        self.modified = found.and_then(|found| found.modified().ok());
    }

    /// Records the written `bytes`, which end at `length`.
    pub(super) fn note_written(&mut self, file: &File, bytes: &[u8], length: u64) {
        self.length = length;
        let marked = usize::try_from(MARK_BYTES.min(length)).unwrap_or_default();
        match bytes.len().checked_sub(marked) {
            Some(start) => {
                self.mark.clear();
                self.mark.extend_from_slice(&bytes[start..]);
            }
            // An unreadable mark does not match later, so the file is read again.
            None => self.mark = read_mark(file, length).unwrap_or_default(),
        }
    }

    /// Records that the file was cut to `length`.
    pub(super) fn note_cut(&mut self, file: &File, length: u64) {
        self.note_time(None);
        self.note_written(file, &[], length);
    }

    /// Whether the known part ends in the middle of a line.
    pub(super) fn is_open(&self) -> bool {
        self.mark.last().is_some_and(|byte| *byte != b'\n')
    }
}

fn read_mark(file: &File, length: u64) -> io::Result<Vec<u8>> {
    let offset = length.saturating_sub(MARK_BYTES);
    read_exactly(file, Span { offset, length: length - offset })
}

/// The bytes of `span`. Fails with `UnexpectedEof` if the file ends before it does.
pub(super) fn read_exactly(file: &File, span: Span) -> io::Result<Vec<u8>> {
    let length = usize::try_from(span.length).map_err(|_| io::ErrorKind::UnexpectedEof)?;
    let mut bytes = vec![0; length];
    ReadFrom { file, offset: span.offset, end: span.end() }.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file from an offset. Concurrent readers never use the position of the file itself.
#[derive(Debug)]
pub(crate) struct ReadFrom<'a> {
    pub(crate) file: &'a File,
    pub(crate) offset: u64,
    /// The offset at which reading ends, if the file does not end earlier.
    pub(crate) end: u64,
}

impl Source for ReadFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let read = read_at(self.file, &mut buffer[..length], self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }

    fn pass_hole(&mut self) -> io::Result<u64> {
        let data = next_data(self.file, self.offset, self.end).clamp(self.offset, self.end.max(self.offset));
        Ok(data - std::mem::replace(&mut self.offset, data))
    }
}

impl ReadFrom<'_> {
    /// Fills `buffer`, or fails with `UnexpectedEof`.
    pub(crate) fn read_exact(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => buffer = &mut buffer[read..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// The start of the next data at or after `offset`; `offset` if that is not known, `end` if there is none.
#[cfg(target_os = "linux")]
fn next_data(file: &File, offset: u64, end: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(data) => data,
        Err(rustix::io::Errno::NXIO) => end,
        Err(_) => offset,
    }
}

#[cfg(not(target_os = "linux"))]
fn next_data(_file: &File, offset: u64, _end: u64) -> u64 {
    offset
}

/// The start of the first hole. The end of the file counts as one.
#[cfg(target_os = "linux")]
pub(crate) fn first_hole(file: &File) -> Option<u64> {
    rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)).ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn first_hole(_file: &File) -> Option<u64> {
    None
}

/// The identity of a file: its device and its number there, which no other file gets while the handle is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    /// The identity of an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from(&metadata))
    }

    /// The identity of the file that `path` leads to, if it is known.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        // On other systems there are no such numbers.
        fs::metadata(path).ok().filter(|_| cfg!(unix)).map(|metadata| Self::from(&metadata))
    }

    /// The metadata of this file at `path`; `None` if the path leads to another file or to none. Fails if that is not
    /// known.
    pub(crate) fn find(self, path: &Path) -> io::Result<Option<Metadata>> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(|found| (Self::from(&found) == self).then_some(found)),
        }
    }
}

impl From<&Metadata> for Identity {
    #[cfg(unix)]
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(metadata.dev(), metadata.ino())
    }

    /// On other systems an open file cannot be replaced, so all files at a path are the same.
    #[cfg(not(unix))]
    fn from(_metadata: &Metadata) -> Self {
        Self(0, 0)
    }
}

/// Whether `path` leads to `file`.
pub(crate) fn is_same_file(file: &File, path: &Path) -> bool {
    Identity::of(file).and_then(|identity| identity.find(path)).is_ok_and(|found| found.is_some())
}

/// Minimum bytes of one read.
pub(crate) const READ_BYTES: usize = 1 << 18;

/// Bytes of the buffer that are kept for the next file.
const KEPT_BYTES: usize = 1 << 20;

/// Limits on reading files.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Maximum bytes of a line.
    pub(crate) max_line: usize,
    /// Whether the caller no longer needs the result.
    pub(crate) is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// Reads the lines of several files through one buffer.
pub(crate) struct LineReader<'a> {
    pub(crate) limits: Limits<'a>,
    buffer: Vec<u8>,
}

impl<'a> LineReader<'a> {
    pub(crate) fn new(limits: Limits<'a>) -> Self {
        Self { limits, buffer: Vec::new() }
    }

    /// Visits the lines of `range`, which must start at the start of a line, until its end, the end of the file, or
    /// until `visit` breaks. Of a line with more than `hold` bytes, only the first bytes are passed on. Fails with
    /// `Interrupted` if the work is cancelled.
    pub(crate) fn visit(
        &mut self,
        file: &File,
        range: Range<u64>,
        hold: &Cell<usize>,
        mut visit: impl FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.buffer.resize(self.buffer.len().max(READ_BYTES), 0);
        let mut source = ReadFrom { file, offset: range.start, end: range.end };
        let outcome =
            scan_lines(&mut source, &mut self.buffer, range.start, hold, self.limits.is_cancelled, &mut visit);
        self.buffer.truncate(KEPT_BYTES);
        self.buffer.shrink_to(KEPT_BYTES);
        if (self.limits.is_cancelled)() { Err(io::ErrorKind::Interrupted.into()) } else { outcome }
    }
}

/// Bytes that are worth another thread.
const BYTES_PER_THREAD: u64 = 2 << 20;

/// Calls `work` for each of `items`, which have `bytes` bytes together, and returns the results in the order of the
/// items. Uses at most as many threads as the machine has cores, each with one reader.
pub(crate) fn for_each_in_parallel<T: Sync, R: Send>(
    items: &[T],
    bytes: u64,
    limits: Limits<'_>,
    work: impl Fn(&T, &mut LineReader<'_>) -> R + Sync,
) -> Vec<R> {
    let threads = threads(items.len(), bytes);
    if threads <= 1 {
        let mut reader = LineReader::new(limits);
        return items.iter().map(|item| work(item, &mut reader)).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        let mut reader = LineReader::new(limits);
        while let Some((at, item)) = take(items, &next) {
            let found = work(item, &mut reader);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, found));
        }
    };
    thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, found)| found).collect()
}

fn threads(items: usize, bytes: u64) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let useful = usize::try_from(bytes / BYTES_PER_THREAD + 1).unwrap_or(usize::MAX);
    cores.min(items).min(useful)
}

fn take<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, atomic::Ordering::Relaxed);
    items.get(at).map(|item| (at, item))
}
