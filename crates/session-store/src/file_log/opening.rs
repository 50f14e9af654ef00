//! Opening and making files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::StoreError;
use crate::file_log::FileLog;
use crate::file_log::seen::Seen;
use crate::lock::{Lock, Locking};
use crate::regular_file::{self, Refusal};
use crate::replace;
use crate::store::Durability;

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
            io::ErrorKind::AlreadyExists => StoreError::AlreadyExists { path: path.to_owned() },
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

    pub(super) fn over(path: PathBuf, file: File, lock: Option<Lock>, is_writable: bool) -> Result<Self, StoreError> {
        let seen = Seen::of(&file).map_err(|source| StoreError::io("read", Some(&path), source))?;
        Ok(Self { path, lock, file, is_writable, seen, is_replaced: false })
    }
}

fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    fs::canonicalize(path).map_err(|source| StoreError::io("open", Some(path), source))
}

pub(super) fn open_to_read(path: &Path) -> Result<File, StoreError> {
    open(path, File::options().read(true))
}

pub(super) fn open_to_write(path: &Path) -> Result<File, StoreError> {
    open(path, File::options().read(true).append(true))
}

fn open(path: &Path, options: &fs::OpenOptions) -> Result<File, StoreError> {
    regular_file::open(path, options).map_err(|error| match Refusal::of(&error) {
        Some(refusal) => StoreError::NotASession { path: path.to_owned(), reason: refusal.to_string() },
        None => StoreError::io("open", Some(path), error),
    })
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
