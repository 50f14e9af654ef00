//! The lock that keeps a second writer out (session spec, Writing).
//!
//! The lock is the system's, on the session file itself, so that it ends with its holder. A small
//! file beside it says who holds it; a stale or missing one is harmless.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::holder_file::Holder;
use crate::identity::Identity;

/// Times that a lock is tried again because the file was replaced meanwhile.
const LOCK_TRIES: usize = 8;

/// A locked file, and the file that names the holder. Dropping it frees the lock.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// The file that is locked, whatever the path leads to by now.
    identity: Identity,
    holder: Holder,
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

    fn announce(path: &Path, identity: Identity) -> Self {
        let holder = Holder::this();
        holder.announce(path);
        Self { path: path.to_owned(), identity, holder }
    }

    /// Whether there is another file by now: its holder has left a name of its own.
    fn is_replaced(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| Identity::from(&found) != self.identity)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.is_replaced() {
            self.holder.withdraw(&self.path);
        }
    }
}

fn locked(path: &Path) -> StoreError {
    let holder = Holder::read(path);
    let pid = holder.as_ref().map(|holder| holder.pid);
    let host = holder.map(|holder| holder.host).filter(|host| !host.is_empty());
    StoreError::Locked { locator: path.into(), pid, host }
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
