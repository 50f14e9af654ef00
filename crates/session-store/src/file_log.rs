//! A log in a file.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::StoreError;
use crate::group_sync::SyncLog;
use crate::identity::{Identity, is_same_file};
use crate::lock::{Lock, Locking};
use crate::log::{Line, LogChange, Rewrite, SessionLog, Span, rewrite_lines, scan_lines};
use crate::replace;

/// Bytes before the end that tell whether a file that grew is still the same.
const MARK_BYTES: u64 = 64;

/// A log in a file. Reads name their offsets and never move a shared position; writes go to the
/// end, wherever it is by then.
#[derive(Debug)]
pub struct FileLog {
    path: PathBuf,
    /// Set while the file is open for writing and locked. It comes before the file, so that the
    /// holder's name is gone before the lock is.
    lock: Option<Lock>,
    file: File,
    /// Which file that is, so that one look at the path tells whether it still leads there.
    identity: Identity,
    is_writable: bool,
    /// How much of the file is known.
    length: u64,
    /// The last bytes of the known part.
    mark: Vec<u8>,
}

/// A file that was opened, with what was odd about it.
#[derive(Debug)]
pub struct OpenedFile {
    /// The log.
    pub log: FileLog,
    /// Why the file can only be read, if so and that was not asked for.
    pub read_only: Option<String>,
    /// What was odd.
    pub diagnostics: Vec<Diagnostic>,
}

impl FileLog {
    /// Opens the file for reading, without a lock.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let path = canonical(path)?;
        let file = open_to_read(&path)?;
        Self::over(path, file, None, false)
    }

    /// Opens and locks the file for writing. A file that cannot be written is opened for reading.
    ///
    /// Fails with `SessionNotFound`, `Locked`, or `Io`.
    pub fn open(path: &Path) -> Result<OpenedFile, StoreError> {
        let path = canonical(path)?;
        let opened = Lock::open(&path, || open_to_write(&path));
        let (file, locking) = match opened {
            Err(StoreError::Io { source, .. }) if is_unwritable(&source) => {
                return Self::open_unwritable(&path, &source);
            }
            opened => opened?,
        };
        let (lock, unavailable) = match locking {
            Locking::Locked(lock) => (Some(lock), None),
            Locking::Unavailable(error) => (None, Some(error)),
        };
        let message =
            |error: io::Error| format!("the file system has no locks ({error}); other writers are not kept out");
        let diagnostic = |error| Diagnostic::new(DiagnosticKind::LockUnavailable, None, message(error));
        let log = Self::over(path, file, lock, true)?;
        Ok(OpenedFile { log, read_only: None, diagnostics: unavailable.map(diagnostic).into_iter().collect() })
    }

    /// Creates the file with `contents`, mode 0600, and locks it. Fails with `AlreadyExists`.
    pub fn create(path: &Path, contents: &str) -> Result<Self, StoreError> {
        let written = replace::write_beside(path, |out| out.write_all(contents.as_bytes()));
        let file = written.map_err(|source| StoreError::write(Some(path), source))?;
        Self::place(file, path)
    }

    /// Moves a written file to `path`, where none may be, and opens it.
    pub(crate) fn place(file: tempfile::NamedTempFile, path: &Path) -> Result<Self, StoreError> {
        replace::create_exclusively(file, path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => StoreError::AlreadyExists { path: path.to_owned() },
            _ => StoreError::write(Some(path), source),
        })?;
        let opened = Self::open(path).map(|opened| opened.log);
        opened.inspect_err(|error| match error {
            // Somebody else works with it already.
            StoreError::Locked { .. } => {}
            _ => replace::take_back(path),
        })
    }

    fn open_unwritable(path: &Path, error: &io::Error) -> Result<OpenedFile, StoreError> {
        let log = Self::open_read_only(path)?;
        let reason = format!("the file cannot be written: {error}");
        let diagnostic = Diagnostic::new(DiagnosticKind::UnwritableFile, None, &*reason);
        Ok(OpenedFile { log, read_only: Some(reason), diagnostics: vec![diagnostic] })
    }

    fn over(path: PathBuf, file: File, lock: Option<Lock>, is_writable: bool) -> Result<Self, StoreError> {
        let failed = |path: &Path, source| StoreError::io("read", Some(path), source);
        let identity = Identity::of(&file).map_err(|source| failed(&path, source))?;
        let mut log = Self { path, file, identity, lock, is_writable, length: 0, mark: Vec::new() };
        log.note_length().map_err(|source| failed(&log.path, source))?;
        Ok(log)
    }

    /// Takes the file as it is now for known.
    fn note_length(&mut self) -> io::Result<()> {
        self.length = self.file.metadata()?.len();
        self.mark = self.read(mark_span(self.length))?;
        Ok(())
    }

    /// Whether what was known of the file is still there.
    fn is_mark_there(&self) -> io::Result<bool> {
        Ok(self.read(mark_span(self.length))? == self.mark)
    }

    /// Another program has put a new file in the place of this one.
    fn open_again(&mut self) -> io::Result<()> {
        let path = self.path.clone();
        if self.is_writable {
            // The old file's lock says nothing about the new one, and its end takes the holder's name away.
            let (file, locking) = Lock::open(&path, || open_to_write(&path)).map_err(io::Error::other)?;
            let is_locked = matches!(locking, Locking::Locked(_));
            self.take_file(Identity::of(&file)?, file);
            drop((locking, self.lock.take()));
            self.lock = is_locked.then(|| Lock::announce(&path));
        } else {
            let file = File::open(&path)?;
            self.take_file(Identity::of(&file)?, file);
        }
        self.note_length()
    }

    fn take_file(&mut self, identity: Identity, file: File) {
        (self.identity, self.file) = (identity, file);
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.is_writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    fn read_exactly(&self, span: Span) -> io::Result<Vec<u8>> {
        let length = usize::try_from(span.length).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let mut bytes = vec![0; length];
        ReadFrom { file: &self.file, offset: span.offset }.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Whether a line that was written at `start` begins in the middle of another one: another
    /// program wrote the beginning of that one since the file was looked at.
    fn is_glued(&self, start: u64) -> bool {
        let before = |length| self.read_exactly(Span { offset: start - length, length });
        start != self.length && start > 0 && before(1).is_ok_and(|byte| byte != b"\n")
    }

    /// Writes a line and its end behind the end of the file, where `is_open` behind a line end.
    fn write_line(&mut self, line: &str, is_open: bool, sync: bool) -> io::Result<Span> {
        let first = usize::from(is_open);
        let bytes = [&"\n"[..first], line, "\n"].concat();
        let start = self.write_at_end(bytes.as_bytes(), sync)?;
        if !is_open && self.is_glued(start) {
            // What was written is part of a line that nobody can read.
            self.take_back(start, bytes.len());
            return self.write_line(line, true, sync);
        }
        let span = Span { offset: start + first as u64, length: line.len() as u64 };
        self.length = span.end() + 1;
        self.note_mark(bytes.as_bytes());
        Ok(span)
    }

    /// Notes the last bytes of the file, which ends with `bytes`.
    fn note_mark(&mut self, bytes: &[u8]) {
        if (bytes.len() as u64) < MARK_BYTES.min(self.length) {
            self.mark = self.read(mark_span(self.length)).unwrap_or_default();
            return;
        }
        self.mark.clear();
        self.mark.extend_from_slice(&bytes[bytes.len().saturating_sub(MARK_BYTES as usize)..]);
    }

    /// Writes `bytes` with one call behind the end of the file and returns where they begin; takes
    /// back what was written if that was not all.
    fn write_at_end(&mut self, bytes: &[u8], sync: bool) -> io::Result<u64> {
        if !cfg!(unix) {
            // Elsewhere the file is not always in append mode.
            self.file.seek(io::SeekFrom::End(0))?;
        }
        let written = write_once(&mut self.file, bytes)?;
        // After a write in append mode the position is the end of what was written.
        let start = self.file.stream_position()?.saturating_sub(written as u64);
        if written < bytes.len() {
            self.take_back(start, written);
            let message = format!("only {written} of {} bytes could be written", bytes.len());
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        if sync && let Err(error) = self.file.sync_data() {
            self.take_back(start, written);
            return Err(error);
        }
        Ok(start)
    }

    /// Cuts the file back, unless another program has written behind these bytes.
    fn take_back(&mut self, start: u64, written: usize) {
        let is_last = self.file.metadata().is_ok_and(|metadata| metadata.len() == start + written as u64);
        let outcome = if is_last { self.file.set_len(start) } else { Err(io::ErrorKind::ResourceBusy.into()) };
        if let Err(error) = outcome {
            // The next append closes the torn line, so that no other line is touched by it.
            tracing::warn!(%error, path = %self.path.display(), "cannot take back a write that failed");
        }
    }
}

impl SessionLog for FileLog {
    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn scan(&self, offset: u64, visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>) -> io::Result<()> {
        scan_lines(ReadFrom { file: &self.file, offset }, offset, visit)
    }

    fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        // A span beyond what is known of the file may ask for memory that no file could fill.
        if span.end() > self.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_exactly(span)
    }

    fn refresh(&mut self) -> io::Result<LogChange> {
        let Some(metadata) = self.identity.find(&self.path)? else {
            self.open_again()?;
            return Ok(LogChange::Replaced);
        };
        let change = match metadata.len().cmp(&self.length) {
            std::cmp::Ordering::Equal => return Ok(LogChange::Unchanged),
            std::cmp::Ordering::Less => LogChange::Replaced,
            std::cmp::Ordering::Greater if self.is_mark_there()? => LogChange::Grown,
            std::cmp::Ordering::Greater => LogChange::Replaced,
        };
        self.note_length()?;
        Ok(change)
    }

    fn append(&mut self, line: &str, sync: bool) -> io::Result<Span> {
        self.check_writable()?;
        // The file is in append mode: whoever wrote meanwhile is found by where the line begins.
        let is_open = self.mark.last().is_some_and(|byte| *byte != b'\n');
        self.write_line(line, is_open, sync)
    }

    fn replace_all(&mut self, backup_suffix: &str, rewrite: &mut Rewrite<'_>) -> io::Result<()> {
        self.check_writable()?;
        let replacement = replace::write_beside(&self.path, |out| rewrite_lines(self, rewrite, out))?;
        // It was locked when it was made, so that no other writer can come in between.
        if !is_same_file(&self.file, &self.path) || self.file.metadata()?.len() != self.length {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        // The lock belongs to the handle that wrote, so that is the one to go on with.
        append_from_now_on(replacement.as_file())?;
        let identity = Identity::of(replacement.as_file())?;
        self.take_file(identity, replace::replace(replacement, &self.path, backup_suffix)?);
        self.note_length()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        let file = self.file.try_clone()?;
        Ok(Box::new(move || file.sync_data()))
    }

    fn cut(&mut self, end: u64, length: u64) -> io::Result<()> {
        self.check_writable()?;
        if self.file.metadata()?.len() != end {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        self.file.set_len(length)?;
        self.note_length()
    }

    fn release(&mut self) {
        if self.lock.take().is_some() {
            // Closing the file would free it as well, but reads go on.
            let _ = self.file.unlock();
        }
        self.is_writable = false;
    }
}

fn mark_span(length: u64) -> Span {
    let offset = length.saturating_sub(MARK_BYTES);
    Span { offset, length: length - offset }
}

/// The path without symbolic links. What is no regular file is refused before it is opened, as
/// opening a pipe would wait for ever.
fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    let failed = |source| StoreError::io("open", Some(path), source);
    let canonical = fs::canonicalize(path).map_err(failed)?;
    if fs::metadata(&canonical).map_err(failed)?.is_file() {
        return Ok(canonical);
    }
    Err(StoreError::NotASession { path: canonical, reason: "it is not a regular file".to_owned() })
}

fn open_to_read(path: &Path) -> Result<File, StoreError> {
    File::open(path).map_err(|source| StoreError::io("open", Some(path), source))
}

fn open_to_write(path: &Path) -> Result<File, StoreError> {
    let file = File::options().read(true).append(true).open(path);
    file.map_err(|source| StoreError::io("open", Some(path), source))
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn write_once(file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(unix)]
fn append_from_now_on(file: &File) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)? | rustix::fs::OFlags::APPEND;
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}

#[cfg(not(unix))]
fn append_from_now_on(_file: &File) -> io::Result<()> {
    // Every write goes to the end of the file first.
    Ok(())
}

/// Reads a file from an offset on, leaving the file's own position alone.
#[derive(Debug)]
struct ReadFrom<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for ReadFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = read_at(self.file, buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
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
