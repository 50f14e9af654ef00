//! A log in a file: opening it, reading it, and appending at its end.

use std::cell::Cell;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::StoreError;
use crate::error::{Diagnostic, DiagnosticKind};
use crate::file::lock::{Lock, Locking, Rewriting};
use crate::file::read::{self, Refusal};
use crate::file::read::{FileSnapshot, ReadFrom, first_hole, is_same_file, read_exactly};
use crate::log::Locator;
use crate::log::scan_lines;
use crate::log::{Batch, Line, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog, rewrite_lines};
use crate::session::Durability;

/// A log in a file. Reads name their offsets and never move a shared position. Writes go to the end of the file,
/// wherever it is by then.
#[derive(Debug)]
pub struct FileLog {
    locator: Locator,
    /// Whether the file is on a local disk.
    is_local: bool,
    /// The lock while the file is open for writing. This field precedes the file, so that the name of the holder is
    /// removed before the lock is freed.
    lock: Option<Lock>,
    file: File,
    is_writable: bool,
    snapshot: FileSnapshot,
    /// Whether a look after a write found another file at the path.
    is_replaced: bool,
    /// Whether everything written by this log is on the disk. A sync of the last write covers the earlier ones.
    is_synced: bool,
}

impl FileLog {
    /// Compares the file with the snapshot, and records the change.
    fn note_change(&mut self, found: &Metadata) -> io::Result<LogChange> {
        let change = self.snapshot.compare(&self.file, found)?;
        match change {
            LogChange::Unchanged => self.snapshot.note_time(Some(found)),
            LogChange::Grown | LogChange::Replaced => self.snapshot = FileSnapshot::of(&self.file)?,
        }
        Ok(change)
    }

    /// Opens the file that another program put in place of this one.
    fn open_again(&mut self) -> io::Result<()> {
        let path = self.path().to_owned();
        let (file, lock) = if self.is_writable {
            let (file, locking) = Lock::open(&path, || open_to_write(&path)).map_err(io::Error::other)?;
            (file, locking.lock())
        } else {
            (open_to_read(&path).map_err(io::Error::other)?, None)
        };
        // The lock of the old file does not cover the new one.
        (self.snapshot, self.file, self.lock) = (FileSnapshot::of(&file)?, file, lock);
        (self.is_replaced, self.is_synced) = (false, false);
        Ok(())
    }

    /// Whether the file was not changed or replaced since the last look.
    fn is_as_seen(&self) -> io::Result<bool> {
        Ok(is_same_file(&self.file, self.path()) && self.file.metadata()?.len() == self.snapshot.length)
    }

    /// Continues with a file that replaced this one. Returns the old one if it has grown.
    fn go_on_with(&mut self, file: File, snapshot: FileSnapshot) -> Option<OldLog> {
        if let Some(lock) = &mut self.lock {
            lock.follow(snapshot.identity);
        }
        self.is_synced = false;
        let known = std::mem::replace(&mut self.snapshot, snapshot).length;
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
        self.snapshot.length
    }

    fn scan(
        &self,
        offset: u64,
        hold: &Cell<usize>,
        visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        // The scan ends at the known length, whatever others write meanwhile.
        let mut source = ReadFrom { file: &self.file, offset, end: self.snapshot.length };
        scan_lines(&mut source, &mut Vec::new(), offset, hold, &|| false, visit)
    }

    fn has_holes(&self) -> bool {
        first_hole(&self.file).is_some_and(|hole| hole < self.snapshot.length)
    }

    fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        // A range beyond the known length could ask for more memory than any file fills.
        if span.end() > self.snapshot.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_exactly(&self.file, span)
    }

    fn look(&self) -> io::Result<LogChange> {
        self.snapshot.compare(&self.file, &self.file.metadata()?)
    }

    fn look_at_name(&self) -> io::Result<LogChange> {
        match self.snapshot.identity.find(self.path())? {
            Some(found) => self.snapshot.compare(&self.file, &found),
            None => Ok(LogChange::Replaced),
        }
    }

    fn refresh(&mut self) -> io::Result<LogChange> {
        match self.snapshot.identity.find(self.path())? {
            Some(found) => self.note_change(&found),
            None => self.open_again().map(|()| LogChange::Replaced),
        }
    }

    fn refresh_to_append(&mut self) -> io::Result<LogChange> {
        if self.is_replaced {
            return self.refresh();
        }
        // A look at the handle is faster than a look at the path.
        let found = self.file.metadata()?;
        self.note_change(&found)
    }

    fn append(&mut self, Batch { lines, sync, .. }: Batch<'_>) -> Result<Span, LogError> {
        self.check_writable()?;
        // The file is in append mode. The offset of the lines shows whether others wrote in between.
        self.write_line(lines, self.snapshot.is_open(), sync).map_err(|error| match error.kind() {
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
        // The replacement is locked when it is created, so that no other writer can come in between.
        let replacement = read::write_beside(self.path(), |out| rewrite_lines(self, hold, rewrite, out));
        let replacement = replacement.map_err(log_error)?;
        append_from_now_on(replacement.as_file())?;
        let snapshot = FileSnapshot::of(replacement.as_file())?;
        let is_expected = || Ok(rewriting.as_ref().is_none_or(Rewriting::is_valid) && self.is_as_seen()?);
        let file = read::replace(replacement, self.path(), backup_suffix, is_expected).map_err(log_error)?;
        // The lock belongs to the handle that wrote, so that handle is used from now on.
        Ok(self.go_on_with(file, snapshot))
    }

    fn sync(&mut self) -> io::Result<()> {
        if !self.is_synced {
            self.file.sync_all()?;
            self.is_synced = true;
        }
        Ok(())
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
        self.is_synced = false;
        self.file.set_len(length).map_err(log_error)?;
        self.snapshot.note_cut(&self.file, length);
        Ok(())
    }

    fn release(&mut self) {
        if self.lock.take().is_some() {
            // Closing the file would free the lock too, but reads continue.
            let _ = self.file.unlock();
        }
        self.is_writable = false;
    }
}

impl Drop for FileLog {
    /// A program that is being started at this moment has all open files for a short time. Closing the file would
    /// leave it locked until then.
    fn drop(&mut self) {
        self.release();
    }
}

/// The log error for an error of the system.
fn log_error(error: io::Error) -> LogError {
    match error.kind() {
        io::ErrorKind::StaleNetworkFileHandle => LogError::Replaced,
        io::ErrorKind::ResourceBusy => LogError::Moved,
        _ => LogError::Io(error),
    }
}

fn append_from_now_on(file: &File) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)? | rustix::fs::OFlags::APPEND;
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}

/// Maximum characters of a path in an error.
pub(crate) const SHOWN_CHARACTERS: usize = 80;

/// An opened file, and the problems found.
#[derive(Debug)]
pub struct OpenedFile {
    /// The log.
    pub log: FileLog,
    /// Why the file can only be read, if that was not requested.
    pub read_only: Option<String>,
    /// The problems.
    pub diagnostics: Vec<Diagnostic>,
}

impl FileLog {
    /// Opens the file for reading, without a lock.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let locator = canonical(path)?;
        let file = open_to_read(locator.as_path())?;
        Self::over(locator, file, None, false)
    }

    /// Opens and locks the file for writing. A file that cannot be written is opened read-only.
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

    /// Creates the file with `contents` and mode 0600, and locks it. Waits for the disk, except with
    /// `Durability::None`. Fails with `AlreadyExists`.
    pub fn create(path: &Path, contents: &str, durability: Durability) -> Result<OpenedFile, StoreError> {
        let written = read::write_beside(path, |out| out.write_all(contents.as_bytes()));
        let file = written.map_err(|source| creation_error(path, source))?;
        Self::place(file, path, durability)
    }

    /// Moves a written file to `path`, where no file may exist, and opens it.
    pub(crate) fn place(file: NamedTempFile, path: &Path, durability: Durability) -> Result<OpenedFile, StoreError> {
        read::create_exclusively(file, path, durability).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => StoreError::AlreadyExists { locator: path.into() },
            _ => creation_error(path, source),
        })?;
        Self::open(path).inspect_err(|error| match error {
            // Another program uses it already.
            StoreError::Locked { .. } => {}
            _ => read::take_back(path),
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
        let snapshot = FileSnapshot::of(&file).map_err(|source| StoreError::io("read", Some(&locator), source))?;
        let is_local = is_local(&file);
        Ok(Self { locator, is_local, lock, file, is_writable, snapshot, is_replaced: false, is_synced: false })
    }
}

fn canonical(path: &Path) -> Result<Locator, StoreError> {
    fs::canonicalize(path).map(Locator::from).map_err(|source| file_error("open", path, source))
}

/// The error for `source` at a path that a caller named.
pub(crate) fn file_error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    if is_refused(&source) { refused(path, &source) } else { StoreError::io(action, Some(path), source) }
}

/// The same for the creation of a file or folder.
pub(crate) fn creation_error(path: &Path, source: io::Error) -> StoreError {
    if is_refused(&source) { refused(path, &source) } else { StoreError::write(Some(path), source) }
}

/// Whether the system takes no such path: it is too long or contains a NUL.
fn is_refused(source: &io::Error) -> bool {
    matches!(source.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename)
}

fn refused(path: &Path, source: &io::Error) -> StoreError {
    let text: String = path.display().to_string().chars().take(SHOWN_CHARACTERS).collect();
    let expected = format!("a path that the system takes; {text} is none: {source}");
    StoreError::InvalidLocator { text, expected }
}

/// Whether a file is on a disk of this machine, so that no other machine can delay a write.
#[cfg(target_os = "linux")]
fn is_local(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|system| !NETWORK_FILE_SYSTEMS.contains(&(system.f_type as u32)))
}

/// Network file systems, and file systems that a program serves: NFS, SMB (three), AFS (two), Ceph, Lustre, GFS2, 9P,
/// FUSE and Coda, by their numbers on Linux.
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
    read::open(path, options).map_err(|error| match Refusal::of(&error) {
        Some(refusal) => StoreError::NotASession { locator: path.into(), reason: refusal.to_string() },
        None => file_error("open", path, error),
    })
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

impl FileLog {
    /// Writes a line and its LF at the end of the file. If the file `is_open`, its last line lacks an LF, and one is
    /// written first.
    pub(super) fn write_line(&mut self, line: &str, is_open: bool, sync: bool) -> io::Result<Span> {
        let first = usize::from(is_open);
        let bytes = [&"\n"[..first], line, "\n"].concat();
        let start = self.write_at_end(bytes.as_bytes(), sync)?;
        if !is_open && self.is_glued(start) {
            // The written text is part of a line that cannot be read.
            self.take_back(start, bytes.len());
            return self.write_line(line, true, sync);
        }
        let span = Span { offset: start + first as u64, length: line.len() as u64 };
        self.snapshot.note_written(&self.file, bytes.as_bytes(), span.end() + 1);
        Ok(span)
    }

    /// Whether a line that was written at `start` begins in the middle of another one, because another program wrote
    /// the beginning of that line since the last look.
    fn is_glued(&self, start: u64) -> bool {
        let before = |length| read_exactly(&self.file, Span { offset: start - length, length });
        start != self.snapshot.length && start > 0 && before(1).is_ok_and(|byte| byte != b"\n")
    }

    /// Writes `bytes` with one call at the end of the file and returns their offset. Removes them again if the write
    /// was short, or if the path leads to another file now.
    fn write_at_end(&mut self, bytes: &[u8], sync: bool) -> io::Result<u64> {
        self.is_synced = false;
        let written = write_once(&mut self.file, bytes)?;
        let outcome = if written < bytes.len() {
            let message = format!("only {written} of {} bytes could be written", bytes.len());
            Err(io::Error::new(io::ErrorKind::StorageFull, message))
        } else if sync {
            self.file.sync_data()
        } else {
            Ok(())
        };
        let outcome = outcome.and_then(|()| self.check_path_after_write(written));
        self.is_synced = sync && outcome.is_ok();
        outcome.or_else(|error| {
            let start = self.start_of(written)?;
            self.take_back(start, written);
            Err(error)
        })
    }

    /// Looks at the path again after a write, because bytes written to a file that was replaced are not in the
    /// session. Returns the offset of the bytes.
    fn check_path_after_write(&mut self, written: usize) -> io::Result<u64> {
        let looked = self.snapshot.identity.find(self.path());
        // If this is unknown, the next look at the file shows it.
        self.is_replaced = matches!(looked, Ok(None));
        if self.is_replaced {
            return Err(io::ErrorKind::StaleNetworkFileHandle.into());
        }
        let found = looked.ok().flatten();
        self.snapshot.note_time(found.as_ref());
        match found.as_ref().map(Metadata::len) {
            Some(length) if length == self.snapshot.length + written as u64 => Ok(self.snapshot.length),
            _ => self.start_of(written),
        }
    }

    /// The offset of the last write. In append mode, the position after it is the end of the written bytes.
    fn start_of(&mut self, written: usize) -> io::Result<u64> {
        Ok(self.file.stream_position()?.saturating_sub(written as u64))
    }

    /// Cuts the file back, unless another program has written after these bytes.
    fn take_back(&mut self, start: u64, written: usize) {
        let is_last = self.file.metadata().is_ok_and(|metadata| metadata.len() == start + written as u64);
        let outcome = if is_last { self.file.set_len(start) } else { Err(io::ErrorKind::ResourceBusy.into()) };
        self.snapshot.note_time(None);
        if let Err(error) = outcome {
            // The next append ends the torn line, so that no other line is affected.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_lasts_until_the_next_write_without_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        std::fs::write(&path, "").unwrap();
        let mut log = FileLog::open(&path).unwrap().log;
        assert!(!log.is_synced, "nobody knows what others have written before");
        log.write_line("{}", false, true).unwrap();
        assert!(log.is_synced);
        log.write_line("{}", false, false).unwrap();
        assert!(!log.is_synced);
        log.sync().unwrap();
        assert!(log.is_synced);
        log.cut(6, 3).unwrap();
        assert!(!log.is_synced);
    }

    #[test]
    fn a_log_that_is_dropped_is_free_though_another_handle_is_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        std::fs::write(&path, "").unwrap();
        let (file, locking) = Lock::open(&path, || open_to_write(&path)).unwrap();
        // Simulates the file handle that a program inherits while it is being started.
        let _inherited = file.try_clone().unwrap();
        let log = FileLog::over(Locator::from(&path), file, locking.lock(), true).unwrap();
        assert!(matches!(Lock::open(&path, || open_to_write(&path)), Err(StoreError::Locked { .. })));
        drop(log);
        assert!(Lock::open(&path, || open_to_write(&path)).is_ok());
    }
}
