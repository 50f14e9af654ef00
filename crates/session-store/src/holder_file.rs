//! The file that says who holds a session: `<session>.lock`.
//!
//! It decides nothing. Anything may lie at its name: a link, a pipe, another session. Only a file that
//! holds the very text that a holder writes is written to or removed; all else stays as it is, and the
//! holder then goes without a name.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use compaction_core::json;
use serde::Deserialize;

use crate::identity::is_same_file;
use crate::regular_file;

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
    let file = regular_file::open_itself(path, options)?;
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
