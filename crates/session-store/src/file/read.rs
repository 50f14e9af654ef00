//! Reading files: by offset, line by line, and by several threads; and snapshots, which show what others changed. Only
//! regular files are opened, without waiting, and they are replaced as a whole.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZero;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{self, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{cmp, thread};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::error::leads_nowhere;
use crate::log::{Line, LogChange, Source, Span, lengthen, scan_lines};
use crate::session::Durability;

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
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let offset = span.offset + bytes.len() as u64;
        // Writing zeros first would take as long as reading.
        match rustix::io::pread(file, spare_capacity(&mut bytes), offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bytes.truncate(length);
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
        let read = self.file.read_at(&mut buffer[..length], self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }

    fn pass_hole(&mut self) -> io::Result<u64> {
        let data = next_data(self.file, self.offset, self.end).clamp(self.offset, self.end.max(self.offset));
        Ok(data - std::mem::replace(&mut self.offset, data))
    }
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
        fs::metadata(path).ok().map(|metadata| Self::from(&metadata))
    }

    /// The metadata of this file at `path`; `None` if the path leads to another file or to none. Fails if that is not
    /// known.
    pub(crate) fn find(self, path: &Path) -> io::Result<Option<Metadata>> {
        match fs::metadata(path) {
            Err(error) if leads_nowhere(&error) => Ok(None),
            found => found.map(|found| (Self::from(&found) == self).then_some(found)),
        }
    }
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(metadata.dev(), metadata.ino())
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
        lengthen(&mut self.buffer, READ_BYTES);
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

/// The reason for refusing a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("it is a directory")]
    Directory,
    #[error("it is a link")]
    Link,
    #[error("it is not a regular file")]
    Special,
    #[error("it is a file of the system, like those in /proc")]
    System,
}

impl Refusal {
    /// The refusal in an error of [`open`] or [`open_itself`], if it is one.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::InvalidInput, refusal)
    }
}

/// Opens the regular file that `path` leads to, with `options`. Fails with a [`Refusal`] for anything else, without
/// opening it.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // Opening a device may have effects, so the path is checked first.
    check(&fs::metadata(path)?)?;
    open_checked(path, options, 0)
}

/// As [`open`], but refuses a link too.
pub(crate) fn open_itself(path: &Path, options: &OpenOptions) -> io::Result<File> {
    check(&fs::symlink_metadata(path)?)?;
    open_checked(path, options, no_follow())
}

/// Opens the regular file that `path` leads to for reading, without waiting. Fails with `InvalidInput` for anything but
/// a regular file, which is not opened.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    open(path, File::options().read(true))
}

/// The bytes of the regular file that `path` leads to, up to the length that it had when it was opened.
///
/// Fails with `FileTooLarge` if that is more than `limit`, and with `InvalidInput` for anything but a regular file,
/// which is not opened.
pub fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path, File::options().read(true))?;
    let length = file.metadata()?.len();
    if length > limit {
        let message = format!("it has {length} bytes, more than {limit}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens the regular file at `path` for appending, or creates it. Refuses a link, because its target may contain
/// something else. Fails with `InvalidInput` for anything but a regular file.
pub fn append_to_regular_file(path: &Path) -> io::Result<File> {
    match File::options().append(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_itself(path, File::options().append(true)),
        outcome => outcome,
    }
}

/// Opens a path that was a regular file a moment ago, and checks the opened file.
fn open_checked(path: &Path, options: &OpenOptions, flags: i32) -> io::Result<File> {
    let mut options = options.clone();
    set_flags(&mut options, flags);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    if is_of_the_system(&file) { Err(Refusal::System.into()) } else { Ok(file) }
}

fn check(metadata: &Metadata) -> Result<(), Refusal> {
    match metadata {
        metadata if metadata.is_file() => Ok(()),
        metadata if metadata.is_dir() => Err(Refusal::Directory),
        metadata if metadata.is_symlink() => Err(Refusal::Link),
        _ => Err(Refusal::Special),
    }
}

/// Flags that do not affect a regular file and avoid waiting for a pipe.
fn set_flags(options: &mut OpenOptions, flags: i32) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(flags | (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
}

fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

/// File systems that present the state of the system as regular files: proc, sysfs, debugfs, tracefs, cgroup,
/// cgroup2, securityfs, configfs, bpf, efivarfs, selinuxfs (`linux/magic.h`).
#[cfg(target_os = "linux")]
const OF_THE_SYSTEM: [u64; 11] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x0027_e0eb,
    0x6367_7270,
    0x7363_6673,
    0x6265_6570,
    0xcafe_4a11,
    0xde5e_81e4,
    0xf97c_ff8c,
];

#[cfg(target_os = "linux")]
fn is_of_the_system(file: &File) -> bool {
    // Some machines store the number in 32 bits with a sign.
    rustix::fs::fstatfs(file).is_ok_and(|found| OF_THE_SYSTEM.contains(&(found.f_type as u64 & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn is_of_the_system(_file: &File) -> bool {
    false
}

/// Start and end of the names of unfinished files, with six letters and digits between them.
const PREFIX: &str = ".compactd-";
const SUFFIX: &str = ".tmp";
const RANDOM_LENGTH: usize = 6;

/// Minimum age of an unfinished file before it is removed: long enough for its writer to lock it.
const LEFT_ALONE: Duration = Duration::from_secs(60);

/// Writes a file next to `path` with `write`. Its name is not listed as a session, and its mode is 0600. It is locked
/// while it is written, if the file system has locks.
///
/// Removes unfinished files whose writers were killed.
pub(crate) fn write_beside(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    remove_abandoned(directory_of(path));
    let file = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(directory_of(path))?;
    // Without locks, no file counts as abandoned.
    let _ = file.as_file().try_lock();
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Moves `file` to `path`, where no file may exist. Fails with `AlreadyExists` if one does. Waits for the disk,
/// except with `Durability::None`.
pub(crate) fn create_exclusively(file: NamedTempFile, path: &Path, durability: Durability) -> io::Result<File> {
    if durability == Durability::None {
        return file.persist_noclobber(path).map_err(|error| error.error);
    }
    file.as_file().sync_all()?;
    let file = file.persist_noclobber(path).map_err(|error| error.error)?;
    // A caller that gets an error must not find the file.
    sync_directory(path).inspect_err(|_| take_back(path))?;
    Ok(file)
}

/// Removes a file that was just created, because its creation failed.
pub(crate) fn take_back(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(%error, path = %path.display(), "cannot take back a file that could not be finished");
    }
}

/// Removes unfinished files whose writers ended. A writer has a lock on its file, which ends with it. A file that
/// cannot be locked for another reason stays. Failures are harmless.
fn remove_abandoned(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if is_unfinished(&entry.file_name()) && is_abandoned(&entry.path()).unwrap_or(false) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_unfinished(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    random
        .is_some_and(|random| random.len() == RANDOM_LENGTH && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_abandoned(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    let is_old = metadata.modified()?.elapsed().is_ok_and(|age| age > LEFT_ALONE);
    Ok(metadata.is_file() && is_old && File::open(path)?.try_lock().is_ok())
}

/// Keeps the file at `path` under its name plus `suffix`, then moves `file` in its place, with its mode and its
/// owner. `is_expected` is checked right before that; if it returns `false`, fails with `ResourceBusy`.
pub(crate) fn replace(
    file: NamedTempFile,
    path: &Path,
    suffix: &str,
    is_expected: impl FnOnce() -> io::Result<bool>,
) -> io::Result<File> {
    file.as_file().sync_all()?;
    let replaced = fs::metadata(path)?;
    keep_owner(file.as_file(), &replaced);
    fs::set_permissions(file.path(), replaced.permissions())?;
    let backup = keep_backup(path, suffix)?;
    let moved = match is_expected() {
        Ok(true) => file.persist(path).map_err(|error| error.error),
        Ok(false) => Err(io::ErrorKind::ResourceBusy.into()),
        Err(error) => Err(error),
    };
    let file = moved.inspect_err(|_| take_back(&backup))?;
    sync_directory(path)?;
    Ok(file)
}

/// Gives a new file the owner of the old one, or only its group, as far as permitted. It is the same session, and its
/// readers stay the same.
fn keep_owner(file: &File, replaced: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let is_same = file.metadata().is_ok_and(|own| (own.uid(), own.gid()) == (replaced.uid(), replaced.gid()));
    if is_same || fchown(file, Some(replaced.uid()), Some(replaced.gid())).is_ok() {
        return;
    }
    if let Err(error) = fchown(file, None, Some(replaced.gid())) {
        tracing::debug!(%error, "the owner of a file that is rewritten cannot be kept");
    }
}

/// Waits until the directory entries next to `path` are on the disk.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

/// Keeps the file at `path` under another name, which is returned. Never overwrites an earlier backup.
fn keep_backup(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    for number in 0.. {
        let backup = backup_path(path, suffix, number);
        match fs::hard_link(path, &backup).or_else(|error| copy_unless(error, path, &backup)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => return outcome.map(|()| backup),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn backup_path(path: &Path, suffix: &str, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    if number > 0 {
        name.push(format!(".{number}"));
    }
    PathBuf::from(name)
}

/// For file systems without hard links.
fn copy_unless(error: io::Error, from: &Path, to: &Path) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Err(error);
    }
    let mut source = File::open(from)?;
    let copied = write_beside(to, |out| io::copy(&mut source, out).map(|_| ()))?;
    create_exclusively(copied, to, Durability::Always).map(|_| ())
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(all(test, target_os = "linux"))]
mod regular_tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn only_regular_files_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "four").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        symlink("/proc/self/status", at("status")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let read = |name: &str| read_regular_file(&at(name), 4).map_err(|error| Refusal::of(&error));
        assert_eq!(read("file"), Ok(b"four".to_vec()));
        assert_eq!(read("link"), Ok(b"four".to_vec()));
        assert_eq!(read("device"), Err(Some(Refusal::Special)));
        assert_eq!(read("pipe"), Err(Some(Refusal::Special)));
        assert_eq!(read("status"), Err(Some(Refusal::System)));
        assert_eq!(read("."), Err(Some(Refusal::Directory)));
        assert_eq!(read("none"), Err(None));
        assert!(open_itself(&at("file"), File::options().read(true)).is_ok());
        let error = open_itself(&at("link"), File::options().read(true)).unwrap_err();
        assert_eq!(Refusal::of(&error), Some(Refusal::Link));
        assert_eq!(Refusal::of(&append_to_regular_file(&at("link")).unwrap_err()), Some(Refusal::Link));
        assert_eq!(Refusal::of(&append_to_regular_file(&at("pipe")).unwrap_err()), Some(Refusal::Special));
        for _ in 0..2 {
            append_to_regular_file(&at("log")).unwrap().write_all(b"line\n").unwrap();
        }
        assert_eq!(read_regular_file(&at("log"), 10).unwrap(), b"line\nline\n");
        fs::write(at("file"), "fives").unwrap();
        let error = read_regular_file(&at("file"), 4).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::FileTooLarge, "it has 5 bytes, more than 4")
        );
    }
}

#[cfg(test)]
mod replace_tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_killed_writers_left_behind_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let made = |name: &str, age: u64| {
            let file = File::create(directory.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
            file
        };
        made(".compactd-abC123.tmp", 3600);
        made(".compactd-fresh1.tmp", 0);
        let locked = made(".compactd-locked.tmp", 3600);
        locked.lock().unwrap();
        for name in [".compactd-abc.tmp", ".compactd-abc12_.tmp", "compactd-abc123.tmp", ".compactd-abc123.tmp.jsonl"] {
            made(name, 3600);
        }
        fs::create_dir(directory.path().join(".compactd-direct.tmp")).unwrap();
        let before = fs::read_dir(directory.path()).unwrap().count();
        let written = write_beside(&directory.path().join("s.jsonl"), |out| out.write_all(b"x")).unwrap();
        assert!(!directory.path().join(".compactd-abC123.tmp").exists());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), before, "one is gone, and one was written");
        assert!(File::open(written.path()).unwrap().try_lock().is_err(), "it is locked while it is written");
    }
}
