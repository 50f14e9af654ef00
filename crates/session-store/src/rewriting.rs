//! One rewriting at a time where the file system has no locks.
//!
//! A session that two servers may write to is rewritten by one of them; the other one waits and finds
//! the session rewritten. A file beside the session says that somebody is at it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::identity::is_same_file;

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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

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
