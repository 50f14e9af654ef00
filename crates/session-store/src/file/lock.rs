//! What keeps a second writer out (docs/durability.md, "Locks").
//!
//! The lock is the system's, on the session file itself, so that it ends with its holder.
//!
//! The file `<session>.lock` says who holds it. It decides nothing, and a stale or missing one is
//! harmless. Anything may lie at its name: a link, a pipe, another session. Only a file that holds the
//! very text that a holder writes is written to or removed. All else stays as it is, and the holder then
//! goes without a name.
//!
//! Where the file system has no locks, two servers may write to one session. One of them rewrites a session
//! of an older version. The other one waits and finds it rewritten. A file beside the session says that
//! somebody is at it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use compaction_core::json;
use serde::Deserialize;

use crate::error::StoreError;
use crate::file::read::{Identity, is_same_file};
use crate::file::regular;

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

/// Bytes that a holder's text has at most: names of machines are short.
const MAX_BYTES: u64 = 1 << 10;

/// Who holds a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Holder {
    /// The process id.
    pub(crate) pid: u32,
    /// The machine; empty where it has no name.
    pub(crate) host: String,
}

impl Holder {
    /// This process.
    pub(crate) fn this() -> Self {
        Self { pid: std::process::id(), host: host_name() }
    }

    /// Who the file beside `session` names; `None` if it is no such file.
    pub(crate) fn read(session: &Path) -> Option<Self> {
        Self::read_from(&open(&holder_path(session), File::options().read(true)).ok()?)
    }

    /// Says beside `session` that it is held by this one. Where that cannot be said, nothing happens.
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

    /// Removes the file beside `session` if it still says that this one holds it.
    pub(crate) fn withdraw(&self, session: &Path) {
        if Self::read(session).as_ref() == Some(self) {
            // One that stays behind is taken over by the next holder.
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
                // What is not whole would be taken for somebody else's.
                let _ = fs::remove_file(path);
            }
        })
    }

    /// Puts this holder in the place of one that was killed. It is written into the very file that was
    /// looked at.
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

/// Opens a file that may be a holder's: one with another name as well belongs to somebody else.
fn open(path: &Path, options: &fs::OpenOptions) -> io::Result<File> {
    let file = regular::open_itself(path, options)?;
    if has_one_name(&file.metadata()?) { Ok(file) } else { Err(io::ErrorKind::TooManyLinks.into()) }
}

#[cfg(unix)]
fn has_one_name(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) == 1
}

#[cfg(not(unix))]
fn has_one_name(_metadata: &fs::Metadata) -> bool {
    true
}

fn holder_path(session: &Path) -> PathBuf {
    let mut name = session.as_os_str().to_owned();
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

/// How often, and after how long each time, the file is tried for.
const TRIES: usize = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Age of a file whose maker was killed, as rewriting takes seconds.
const ABANDONED: Duration = Duration::from_secs(60);

/// The right to rewrite a session. Dropping it gives it up.
#[derive(Debug)]
pub(crate) struct Rewriting {
    path: PathBuf,
    file: File,
}

impl Rewriting {
    /// Waits for the right to rewrite the session at `path`, some seconds at most. Fails with
    /// `WouldBlock`, or if no file can be made beside the session.
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

    /// Whether nobody has taken the right for abandoned.
    pub(crate) fn is_valid(&self) -> bool {
        is_same_file(&self.file, &self.path)
    }
}

impl Drop for Rewriting {
    fn drop(&mut self) {
        if self.is_valid() {
            // One that stays behind is taken for abandoned after a while.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn marker(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".rewriting");
    PathBuf::from(name)
}

/// Removes a marker, which another one that waits may have done already.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a marker was left behind. A marker is an empty file: a link, or a file that holds something, is
/// somebody else's and stays.
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
