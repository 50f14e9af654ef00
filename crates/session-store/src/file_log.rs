//! A log in a file.

mod opening;
pub(crate) mod reading;
mod seen;
mod writing;

use std::cell::Cell;
use std::fs::{File, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use crate::file_log::opening::{open_to_read, open_to_write};
use crate::file_log::reading::{ReadFrom, first_hole};
use crate::file_log::seen::{Seen, read_exactly};
use crate::group_sync::SyncLog;
use crate::identity::is_same_file;
use crate::lines::scan_lines;
use crate::locator::Locator;
use crate::lock::Lock;
use crate::log::{Batch, Line, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, rewrite_lines};
use crate::replace;
use crate::rewriting::Rewriting;

pub use crate::file_log::opening::OpenedFile;
pub(crate) use crate::file_log::opening::{SHOWN_CHARACTERS, file_error};

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
