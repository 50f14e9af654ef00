//! Whether a path still leads to the file that was opened.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// Which file a handle stands for: its device and its number there, which no other file gets while
/// the handle is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    /// The identity of an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from(&metadata))
    }

    /// The identity of what `path` leads to, if that can be told.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        // Elsewhere the numbers say nothing.
        fs::metadata(path).ok().filter(|_| cfg!(unix)).map(|metadata| Self::from(&metadata))
    }

    /// What is known of this file by way of `path`; `None` where that leads to another one, or
    /// nowhere. Fails where it cannot be told.
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

    /// Elsewhere an open file cannot be replaced: all that a path leads to are the same.
    #[cfg(not(unix))]
    fn from(_metadata: &Metadata) -> Self {
        Self(0, 0)
    }
}

/// Whether `file` is what `path` leads to.
pub(crate) fn is_same_file(file: &File, path: &Path) -> bool {
    Identity::of(file).and_then(|identity| identity.find(path)).is_ok_and(|found| found.is_some())
}
