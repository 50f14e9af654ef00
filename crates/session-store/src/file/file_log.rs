//! A log in a file: opening, reading, and writing behind the end of the file, wherever it is by then.

use std::cell::Cell;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::StoreError;
use crate::file::lock::{Lock, Locking, Rewriting};
use crate::file::regular::{self, Refusal};
use crate::file::replace;
use crate::file::seen::{ReadFrom, Seen, first_hole, is_same_file, read_exactly};
use crate::locator::Locator;
use crate::log::lines::scan_lines;
use crate::log::{Batch, Line, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog, rewrite_lines};
use crate::session::Durability;

/// A log in a file. Reads name their offsets and never move a shared position; writes go to the
/// end, wherever it is by then.
#[derive(Debug)]
pub struct FileLog {
    locator: Locator,
    /// Whether the file lies on a local disk.
    is_local: bool,
    /// Set while the file is open for writing and locked. It comes before the file, so that the
    /// holder's name is gone before the lock is.
    lock: Option<Lock>,
    file: File,
    is_writable: bool,
    seen: Seen,
    /// Whether a look behind a write found another file at the path.
    is_replaced: bool,
}

impl FileLog {
    /// Compares the file with what was seen of it, and takes note of the change.
    fn note_change(&mut self, found: &Metadata) -> io::Result<LogChange> {
        let change = self.seen.compare(&self.file, found)?;
        match change {
            LogChange::Unchanged => self.seen.note_time(Some(found)),
            LogChange::Grown | LogChange::Replaced => self.seen = Seen::of(&self.file)?,
        }
        Ok(change)
    }

    /// Another program has put a new file in the place of this one.
    fn open_again(&mut self) -> io::Result<()> {
        let path = self.path().to_owned();
        let (file, lock) = if self.is_writable {
            let (file, locking) = Lock::open(&path, || open_to_write(&path)).map_err(io::Error::other)?;
            (file, locking.lock())
        } else {
            (open_to_read(&path).map_err(io::Error::other)?, None)
        };
        // The old file's lock says nothing about the new one.
        (self.seen, self.file, self.lock) = (Seen::of(&file)?, file, lock);
        self.is_replaced = false;
        Ok(())
    }

    /// Whether nobody has changed or replaced the file since it was looked at.
    fn is_as_seen(&self) -> io::Result<bool> {
        Ok(is_same_file(&self.file, self.path()) && self.file.metadata()?.len() == self.seen.length)
    }

    /// Goes on with a file that was put in the place of this one. Returns the old one if it has grown.
    fn go_on_with(&mut self, file: File, seen: Seen) -> Option<OldLog> {
        if let Some(lock) = &mut self.lock {
            lock.follow(seen.identity);
        }
        let known = std::mem::replace(&mut self.seen, seen).length;
        let old = std::mem::replace(&mut self.file, file);
        let old = Self::over(self.locator.clone(), old, None, false);
        let old = old.inspect_err(|error| tracing::warn!(%error, "cannot look at a file that was replaced")).ok()?;
        (old.length() > known).then(|| -> OldLog { Box::new(old) })
    }

    fn path(&self) -> &Path {
        self.locator.as_path()
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.is_writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

impl SessionLog for FileLog {
    fn locator(&self) -> Option<&Locator> {
        Some(&self.locator)
    }

    fn is_quick(&self) -> bool {
        self.is_local
    }

    fn length(&self) -> u64 {
        self.seen.length
    }

    fn scan(
        &self,
        offset: u64,
        hold: &Cell<usize>,
        visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        // What others write meanwhile is not known yet.
        let mut source = ReadFrom { file: &self.file, offset, end: self.seen.length };
        scan_lines(&mut source, &mut Vec::new(), offset, hold, &|| false, visit)
    }

    fn has_holes(&self) -> bool {
        first_hole(&self.file).is_some_and(|hole| hole < self.seen.length)
    }

    fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        // A span beyond what is known of the file may ask for memory that no file could fill.
        if span.end() > self.seen.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_exactly(&self.file, span)
    }

    fn look(&self) -> io::Result<LogChange> {
        self.seen.compare(&self.file, &self.file.metadata()?)
    }

    fn look_at_name(&self) -> io::Result<LogChange> {
        match self.seen.identity.find(self.path())? {
            Some(found) => self.seen.compare(&self.file, &found),
            None => Ok(LogChange::Replaced),
        }
    }

    fn refresh(&mut self) -> io::Result<LogChange> {
        match self.seen.identity.find(self.path())? {
            Some(found) => self.note_change(&found),
            None => self.open_again().map(|()| LogChange::Replaced),
        }
    }

    fn refresh_to_append(&mut self) -> io::Result<LogChange> {
        if self.is_replaced {
            return self.refresh();
        }
        // The handle tells faster than the path.
        let found = self.file.metadata()?;
        self.note_change(&found)
    }

    fn append(&mut self, Batch { lines, sync, .. }: Batch<'_>) -> Result<Span, LogError> {
        self.check_writable()?;
        // The file is in append mode: whoever wrote meanwhile is found by where the lines begin.
        self.write_line(lines, self.seen.is_open(), sync).map_err(|error| match error.kind() {
            io::ErrorKind::StaleNetworkFileHandle => LogError::Replaced,
            _ => LogError::Io(error),
        })
    }

    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError> {
        self.check_writable()?;
        let rewriting = if self.lock.is_none() { Some(Rewriting::wait(self.path())?) } else { None };
        if !self.is_as_seen()? {
            return Err(LogError::Moved);
        }
        // It is locked when it is made, so that no other writer can come in between.
        let replacement = replace::write_beside(self.path(), |out| rewrite_lines(self, hold, rewrite, out));
        let replacement = replacement.map_err(log_error)?;
        append_from_now_on(replacement.as_file())?;
        let seen = Seen::of(replacement.as_file())?;
        let is_expected = || Ok(rewriting.as_ref().is_none_or(Rewriting::is_valid) && self.is_as_seen()?);
        let file = replace::replace(replacement, self.path(), backup_suffix, is_expected).map_err(log_error)?;
        // The lock belongs to the handle that wrote, so that is the one to go on with.
        Ok(self.go_on_with(file, seen))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        let file = self.file.try_clone()?;
        Ok(Box::new(move || file.sync_data()))
    }

    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError> {
        self.check_writable()?;
        if self.file.metadata()?.len() != end {
            return Err(LogError::Moved);
        }
        self.file.set_len(length).map_err(log_error)?;
        self.seen.note_cut(&self.file, length);
        Ok(())
    }

    fn release(&mut self) {
        if self.lock.take().is_some() {
            // Closing the file would free it as well, but reads go on.
            let _ = self.file.unlock();
        }
        self.is_writable = false;
    }
}

/// What an error of the system says of the log.
fn log_error(error: io::Error) -> LogError {
    match error.kind() {
        io::ErrorKind::StaleNetworkFileHandle => LogError::Replaced,
        io::ErrorKind::ResourceBusy => LogError::Moved,
        _ => LogError::Io(error),
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

/// Characters of a path that an error shows.
pub(crate) const SHOWN_CHARACTERS: usize = 80;

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
        let locator = canonical(path)?;
        let file = open_to_read(locator.as_path())?;
        Self::over(locator, file, None, false)
    }

    /// Opens and locks the file for writing. A file that cannot be written is opened for reading.
    ///
    /// Fails with `SessionNotFound`, `Locked`, or `Io`.
    pub fn open(path: &Path) -> Result<OpenedFile, StoreError> {
        let locator = canonical(path)?;
        let path = locator.as_path();
        let opened = Lock::open(path, || open_to_write(path));
        let (file, locking) = match opened {
            Err(StoreError::Io { source, .. }) if is_unwritable(&source) => {
                return Self::open_unwritable(path, &source);
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
        let log = Self::over(locator, file, lock, true)?;
        Ok(OpenedFile { log, read_only: None, diagnostics: unavailable.map(diagnostic).into_iter().collect() })
    }

    /// Creates the file with `contents`, mode 0600, and locks it. Waits for the disk, but with
    /// `Durability::None`. Fails with `AlreadyExists`.
    pub fn create(path: &Path, contents: &str, durability: Durability) -> Result<OpenedFile, StoreError> {
        let written = replace::write_beside(path, |out| out.write_all(contents.as_bytes()));
        let file = written.map_err(|source| StoreError::write(Some(path), source))?;
        Self::place(file, path, durability)
    }

    /// Moves a written file to `path`, where none may be, and opens it.
    pub(crate) fn place(file: NamedTempFile, path: &Path, durability: Durability) -> Result<OpenedFile, StoreError> {
        replace::create_exclusively(file, path, durability).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => StoreError::AlreadyExists { locator: path.into() },
            _ => StoreError::write(Some(path), source),
        })?;
        Self::open(path).inspect_err(|error| match error {
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

    pub(super) fn over(
        locator: Locator,
        file: File,
        lock: Option<Lock>,
        is_writable: bool,
    ) -> Result<Self, StoreError> {
        let seen = Seen::of(&file).map_err(|source| StoreError::io("read", Some(&locator), source))?;
        let is_local = is_local(&file);
        Ok(Self { locator, is_local, lock, file, is_writable, seen, is_replaced: false })
    }
}

fn canonical(path: &Path) -> Result<Locator, StoreError> {
    fs::canonicalize(path).map(Locator::from).map_err(|source| file_error("open", path, source))
}

/// The error for `source`, met at a path that a caller named.
pub(crate) fn file_error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    // Too long, or with a NUL in it.
    if !matches!(source.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename) {
        return StoreError::io(action, Some(path), source);
    }
    let text: String = path.display().to_string().chars().take(SHOWN_CHARACTERS).collect();
    let expected = format!("a path that the system takes; {text} is none: {source}");
    StoreError::InvalidLocator { text, expected }
}

/// Whether a file lies on a disk of this machine, so that no other machine can make a write wait.
#[cfg(target_os = "linux")]
fn is_local(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|system| !NETWORK_FILE_SYSTEMS.contains(&(system.f_type as u32)))
}

/// File systems of networks, and those that a program serves: NFS, SMB (three), AFS (two), Ceph, Lustre,
/// GFS2, 9P, FUSE and Coda, by the numbers that Linux gives them.
#[cfg(target_os = "linux")]
const NETWORK_FILE_SYSTEMS: [u32; 12] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x5346_414f,
    0x6b41_4653,
    0x00c3_6400,
    0x0bd0_0bd0,
    0x0116_1970,
    0x0102_1997,
    0x6573_5546,
    0x7375_7245,
];

#[cfg(not(target_os = "linux"))]
fn is_local(_file: &File) -> bool {
    true
}

pub(super) fn open_to_read(path: &Path) -> Result<File, StoreError> {
    open(path, File::options().read(true))
}

pub(super) fn open_to_write(path: &Path) -> Result<File, StoreError> {
    open(path, File::options().read(true).append(true))
}

fn open(path: &Path, options: &fs::OpenOptions) -> Result<File, StoreError> {
    regular::open(path, options).map_err(|error| match Refusal::of(&error) {
        Some(refusal) => StoreError::NotASession { locator: path.into(), reason: refusal.to_string() },
        None => file_error("open", path, error),
    })
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

impl FileLog {
    /// Writes a line and its end behind the end of the file, where `is_open` behind a line end.
    pub(super) fn write_line(&mut self, line: &str, is_open: bool, sync: bool) -> io::Result<Span> {
        let first = usize::from(is_open);
        let bytes = [&"\n"[..first], line, "\n"].concat();
        let start = self.write_at_end(bytes.as_bytes(), sync)?;
        if !is_open && self.is_glued(start) {
            // What was written is part of a line that nobody can read.
            self.take_back(start, bytes.len());
            return self.write_line(line, true, sync);
        }
        let span = Span { offset: start + first as u64, length: line.len() as u64 };
        self.seen.note_written(&self.file, bytes.as_bytes(), span.end() + 1);
        Ok(span)
    }

    /// Whether a line that was written at `start` begins in the middle of another one: another
    /// program wrote the beginning of that one since the file was looked at.
    fn is_glued(&self, start: u64) -> bool {
        let before = |length| read_exactly(&self.file, Span { offset: start - length, length });
        start != self.seen.length && start > 0 && before(1).is_ok_and(|byte| byte != b"\n")
    }

    /// Writes `bytes` with one call behind the end of the file and returns where they begin; takes
    /// back what was written if that was not all, or if the file is no longer what the path leads to.
    fn write_at_end(&mut self, bytes: &[u8], sync: bool) -> io::Result<u64> {
        if !cfg!(unix) {
            // Elsewhere the file is not always in append mode.
            self.file.seek(io::SeekFrom::End(0))?;
        }
        let written = write_once(&mut self.file, bytes)?;
        let outcome = if written < bytes.len() {
            let message = format!("only {written} of {} bytes could be written", bytes.len());
            Err(io::Error::new(io::ErrorKind::StorageFull, message))
        } else if sync {
            self.file.sync_data()
        } else {
            Ok(())
        };
        let outcome = outcome.and_then(|()| self.look_behind(written));
        outcome.or_else(|error| {
            let start = self.start_of(written)?;
            self.take_back(start, written);
            Err(error)
        })
    }

    /// Looks at the path again after a write: what was written into a file that another one has taken
    /// the place of is not in the session. Returns where the bytes begin.
    fn look_behind(&mut self, written: usize) -> io::Result<u64> {
        let looked = self.seen.identity.find(self.path());
        // Where it cannot be told, the next look at the file tells.
        self.is_replaced = matches!(looked, Ok(None));
        if self.is_replaced {
            return Err(io::ErrorKind::StaleNetworkFileHandle.into());
        }
        let found = looked.ok().flatten();
        self.seen.note_time(found.as_ref());
        match found.as_ref().map(Metadata::len) {
            Some(length) if length == self.seen.length + written as u64 => Ok(self.seen.length),
            _ => self.start_of(written),
        }
    }

    /// Where the last write began: after it, in append mode, the position is the end of what was written.
    fn start_of(&mut self, written: usize) -> io::Result<u64> {
        Ok(self.file.stream_position()?.saturating_sub(written as u64))
    }

    /// Cuts the file back, unless another program has written behind these bytes.
    fn take_back(&mut self, start: u64, written: usize) {
        let is_last = self.file.metadata().is_ok_and(|metadata| metadata.len() == start + written as u64);
        let outcome = if is_last { self.file.set_len(start) } else { Err(io::ErrorKind::ResourceBusy.into()) };
        self.seen.note_time(None);
        if let Err(error) = outcome {
            // The next append closes the torn line, so that no other line is touched by it.
            tracing::warn!(%error, path = %self.locator, "cannot take back a write that failed");
        }
    }
}

fn write_once(file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
