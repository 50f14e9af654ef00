//! Locks, which keep a second writer out (docs/durability.md, "Locks").
//!
//! The system locks the session file itself, so the lock ends with its holder.
//!
//! The file `<session>.lock` names the holder. It decides nothing, and a stale or missing one is harmless. Anything
//! may exist under its name: a link, a pipe, another session. Only a file with exactly the text that a holder writes
//! is changed or removed. Any other file stays as it is, and the holder is not named.
//!
//! On a file system without locks, two servers may write to one session. Only one of them migrates a session of an
//! older version; the other waits and finds it migrated. A marker file next to the session shows that a migration is
//! running.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use compaction_core::json;
use serde::Deserialize;

use crate::error::StoreError;
use crate::file::read;
use crate::file::read::{Identity, is_same_file};

/// Number of tries of a lock if the file is replaced meanwhile.
const LOCK_TRIES: usize = 8;

/// The lock of a file, and the file that names the holder. Dropping it frees the lock.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// The locked file, whatever the path leads to now.
    identity: Identity,
    holder: Holder,
}

/// The result of locking a file.
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
                    // The path no longer leads to the locked file.
                }
                Err(TryLockError::WouldBlock) => return Err(locked(path)),
                Err(TryLockError::Error(error)) => return Ok((file, Locking::Unavailable(error))),
            }
        }
        Err(locked(path))
    }

    /// Another file, locked too, replaced the locked one at the same path.
    pub(crate) fn follow(&mut self, identity: Identity) {
        self.identity = identity;
    }

    fn announce(path: &Path, identity: Identity) -> Self {
        let holder = Holder::this();
        holder.announce(path);
        Self { path: path.to_owned(), identity, holder }
    }

    /// Whether another file replaced the locked one. Its holder has written its own name.
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

/// Maximum bytes of the file that names the holder.
const MAX_BYTES: u64 = 1 << 10;

/// The holder of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Holder {
    /// The process id.
    pub(crate) pid: u32,
    /// The machine; empty if it has no name.
    pub(crate) host: String,
}

impl Holder {
    /// This process.
    pub(crate) fn this() -> Self {
        Self { pid: std::process::id(), host: host_name() }
    }

    /// The holder that the file next to `session` names; `None` if it is not such a file.
    pub(crate) fn read(session: &Path) -> Option<Self> {
        Self::read_from(&open(&holder_path(session), File::options().read(true)).ok()?)
    }

    /// Writes the file that names this holder next to `session`. Does nothing if that fails.
    pub(crate) fn announce(&self, session: &Path) {
        let path = holder_path(session);
        let outcome = match self.create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.take_over(&path),
            outcome => outcome,
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, path = %path.display(), "cannot say who holds the lock");
        }
    }

    /// Removes the file next to `session` if it still names this holder.
    pub(crate) fn withdraw(&self, session: &Path) {
        if Self::read(session).as_ref() == Some(self) {
            // The next holder takes over a file that remains.
            let _ = fs::remove_file(holder_path(session));
        }
    }

    fn text(&self) -> String {
        format!("{{\"pid\":{},\"host\":{}}}\n", self.pid, json::encode_string(&self.host))
    }

    fn create(&self, path: &Path) -> io::Result<()> {
        let mut file = File::options().write(true).create_new(true).open(path)?;
        file.write_all(self.text().as_bytes()).inspect_err(|_| {
            if is_same_file(&file, path) {
                // A partial file would count as a file of someone else.
                let _ = fs::remove_file(path);
            }
        })
    }

    /// Replaces the name of a holder that was killed, in the same file that was checked.
    fn take_over(&self, path: &Path) -> io::Result<()> {
        let mut file = open(path, File::options().read(true).write(true))?;
        if Self::read_from(&file).is_none() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file of somebody else's has this name"));
        }
        let text = self.text();
        io::Seek::rewind(&mut file)?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }

    fn read_from(file: &File) -> Option<Self> {
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).ok()?;
        let holder: Self = serde_json::from_str(&text).ok()?;
        (holder.text() == text).then_some(holder)
    }
}

/// Opens a file that may name a holder. A file with several hard links belongs to someone else.
fn open(path: &Path, options: &fs::OpenOptions) -> io::Result<File> {
    let file = read::open_itself(path, options)?;
    if has_one_name(&file.metadata()?) { Ok(file) } else { Err(io::ErrorKind::TooManyLinks.into()) }
}

fn has_one_name(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) == 1
}

fn holder_path(session: &Path) -> PathBuf {
    let mut name = session.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Number of tries for the marker, and the pause between them.
const TRIES: usize = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Age at which a marker counts as abandoned. Rewriting takes seconds.
const ABANDONED: Duration = Duration::from_secs(60);

/// The right to rewrite a session. Dropping it removes the marker.
#[derive(Debug)]
pub(crate) struct Rewriting {
    path: PathBuf,
    file: File,
}

impl Rewriting {
    /// Waits some seconds at most for the right to rewrite the session at `path`. Fails with `WouldBlock`, or if the
    /// marker cannot be created.
    pub(crate) fn wait(path: &Path) -> io::Result<Self> {
        let path = marker(path);
        for _ in 0..TRIES {
            match File::options().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) if is_abandoned(&path) => remove(&path)?,
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        let message = format!("another program rewrites the session, or left {} behind", path.display());
        Err(io::Error::new(io::ErrorKind::WouldBlock, message))
    }

    /// Whether no one has removed the marker as abandoned.
    pub(crate) fn is_valid(&self) -> bool {
        is_same_file(&self.file, &self.path)
    }
}

impl Drop for Rewriting {
    fn drop(&mut self) {
        if self.is_valid() {
            // A marker that remains counts as abandoned after a while.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn marker(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".rewriting");
    PathBuf::from(name)
}

/// Removes a marker. Another waiting program may have removed it already.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a marker is abandoned. A marker is an empty file. A link or a file with contents belongs to someone else
/// and stays.
fn is_abandoned(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    let is_marker = found.is_file() && found.len() == 0;
    is_marker && found.modified().is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > ABANDONED))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::OpenOptionsExt;
    use std::time::SystemTime;

    #[test]
    fn a_file_system_without_locks_differs_from_a_locked_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        fs::write(&path, "").unwrap();
        let open_to_write = || Ok(File::options().append(true).open(&path).unwrap());
        // A handle with `O_PATH` refuses locks, as some network file systems do.
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

    #[test]
    fn what_a_killed_program_left_behind_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let left = File::create(marker(&path)).unwrap();
        left.set_modified(SystemTime::now() - ABANDONED * 2).unwrap();
        let rewriting = Rewriting::wait(&path).unwrap();
        assert!(rewriting.is_valid() && !is_same_file(&left, &marker(&path)));
        fs::remove_file(marker(&path)).unwrap();
        assert!(!rewriting.is_valid());
        let other = Rewriting::wait(&path).unwrap();
        drop(rewriting);
        assert!(other.is_valid(), "the marker of another one stays");
        drop(other);
        assert!(!marker(&path).exists());
    }

    #[test]
    fn what_is_no_marker_is_not_taken_for_abandoned() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        fs::write(marker(&path), "words").unwrap();
        let file = File::options().write(true).open(marker(&path)).unwrap();
        file.set_modified(SystemTime::now() - ABANDONED * 2).unwrap();
        assert!(!is_abandoned(&marker(&path)));
        file.set_len(0).unwrap();
        file.set_modified(SystemTime::now() - ABANDONED * 2).unwrap();
        assert!(is_abandoned(&marker(&path)));
    }
}
