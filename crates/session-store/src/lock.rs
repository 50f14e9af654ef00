//! The lock that keeps a second writer out (session spec, Writing).
//!
//! The lock is the system's, on the session file itself, so that it ends with its holder. A small
//! file beside it says who holds it; it decides nothing, and a stale or missing one is harmless.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use compaction_core::json::{self, Json};

use crate::error::StoreError;
use crate::identity::Identity;

/// Times that a lock is tried again because the file was replaced meanwhile.
const LOCK_TRIES: usize = 8;

/// A locked file, and the file that names the holder. Dropping it frees the lock.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// The file that is locked, whatever the path leads to by now.
    identity: Identity,
}

/// What came of locking a file.
#[derive(Debug)]
pub(crate) enum Locking {
    /// The file is locked.
    Locked(Lock),
    /// The file system has no locks.
    Unavailable(io::Error),
}

impl Locking {
    /// The lock, if there is one.
    pub(crate) fn lock(self) -> Option<Lock> {
        match self {
            Self::Locked(lock) => Some(lock),
            Self::Unavailable(_) => None,
        }
    }
}

impl Lock {
    /// Opens the file at `path` by `open` and locks it. Fails with `Locked`, or as `open` does.
    pub(crate) fn open(
        path: &Path,
        open: impl Fn() -> Result<File, StoreError>,
    ) -> Result<(File, Locking), StoreError> {
        for _ in 0..LOCK_TRIES {
            let file = open()?;
            match file.try_lock() {
                Ok(()) => {
                    let failed = |source| StoreError::io("open", Some(path), source);
                    let identity = Identity::of(&file).map_err(failed)?;
                    if identity.find(path).map_err(failed)?.is_some() {
                        return Ok((file, Locking::Locked(Self::announce(path, identity))));
                    }
                    // What was locked is no longer what the path leads to.
                }
                Err(TryLockError::WouldBlock) => return Err(locked(path)),
                Err(TryLockError::Error(error)) => return Ok((file, Locking::Unavailable(error))),
            }
        }
        Err(locked(path))
    }

    /// The locked file goes on as another one, at the same path.
    pub(crate) fn follow(&mut self, identity: Identity) {
        self.identity = identity;
    }

    /// Says who holds the lock. Failing to say so harms nobody.
    fn announce(path: &Path, identity: Identity) -> Self {
        let holder_file = holder_file(path);
        let text = format!("{{\"pid\":{},\"host\":{}}}\n", std::process::id(), json::encode_string(&host_name()));
        if let Err(error) = fs::write(&holder_file, text) {
            tracing::debug!(%error, path = %holder_file.display(), "cannot say who holds the lock");
        }
        Self { path: path.to_owned(), identity }
    }

    /// Whether there is another file by now: its holder has left a name of its own.
    fn is_replaced(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| Identity::from(&found) != self.identity)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.is_replaced() {
            // Best effort: a holder file that stays behind is harmless.
            let _ = fs::remove_file(holder_file(&self.path));
        }
    }
}

fn locked(path: &Path) -> StoreError {
    let text = fs::read_to_string(holder_file(path)).unwrap_or_default();
    let holder = Json::parse(&text).unwrap_or(Json::Null);
    let pid = holder.get("pid").and_then(Json::as_f64).map(|pid| pid as u32);
    let host = holder.get("host").and_then(Json::as_str).filter(|host| !host.is_empty()).map(str::to_owned);
    StoreError::Locked { path: path.to_owned(), pid, host }
}

fn holder_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    String::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::OpenOptionsExt;

    #[test]
    fn a_file_system_without_locks_is_told_from_a_locked_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        fs::write(&path, "").unwrap();
        let open_to_write = || Ok(File::options().append(true).open(&path).unwrap());
        // A handle that stands for a place alone refuses locks, as some network file systems do.
        let open_unlockable = || {
            let flags = i32::try_from(rustix::fs::OFlags::PATH.bits()).unwrap();
            Ok(File::options().read(true).custom_flags(flags).open(&path).unwrap())
        };
        let (_file, locking) = Lock::open(&path, open_unlockable).unwrap();
        assert!(matches!(locking, Locking::Unavailable(_)), "{locking:?}");
        let (_file, locking) = Lock::open(&path, open_to_write).unwrap();
        assert!(matches!(locking, Locking::Locked(_)), "{locking:?}");
        let error = Lock::open(&path, open_to_write).unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    }
}
