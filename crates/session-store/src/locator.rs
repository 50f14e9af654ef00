//! What a store calls its sessions.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a session lies, in the words of its store: a path for files, an address for a store across a
/// network. A place that holds many sessions, such as a directory, is named in the same way.
///
/// Whoever uses a store keeps locators and gives them back. Only the store reads them: what a person
/// typed becomes one by [`crate::SessionStore::locate`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Locator(OsString);

impl Locator {
    /// The locator as a path, for stores of files.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The part behind the last separator. Two locators of one session have the same name, unless the
    /// store has links.
    pub fn name(&self) -> Option<&OsStr> {
        self.as_path().file_name()
    }
}

impl<T: AsRef<OsStr> + ?Sized> From<&T> for Locator {
    fn from(text: &T) -> Self {
        Self(text.as_ref().to_owned())
    }
}

impl From<PathBuf> for Locator {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string())
    }
}

impl From<OsString> for Locator {
    fn from(text: OsString) -> Self {
        Self(text)
    }
}

impl AsRef<OsStr> for Locator {
    fn as_ref(&self) -> &OsStr {
        &self.0
    }
}

impl fmt::Display for Locator {
    /// Bytes that are no UTF-8 are replaced.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(formatter)
    }
}
