//! Opening and making files.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::StoreError;
use crate::file_log::FileLog;
use crate::file_log::seen::Seen;
use crate::locator::Locator;
use crate::lock::{Lock, Locking};
use crate::regular_file::{self, Refusal};
use crate::replace;
use crate::store::Durability;

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
    regular_file::open(path, options).map_err(|error| match Refusal::of(&error) {
        Some(refusal) => StoreError::NotASession { locator: path.into(), reason: refusal.to_string() },
        None => file_error("open", path, error),
    })
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
