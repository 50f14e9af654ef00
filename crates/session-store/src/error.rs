//! Why the store could not do what it was asked to.

use std::io;
use std::path::{Path, PathBuf};

use compaction_core::entry::{EntryError, EntryId};

/// An error of the store. Messages fit behind "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no session at this path.
    #[error("find a session at {}", path.display())]
    SessionNotFound {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The session has no entry with this id.
    #[error("find entry {id}")]
    EntryNotFound {
        /// The id that was asked for.
        id: EntryId,
    },
    /// The line of this entry has a readable header and a broken body.
    #[error("read entry {id} in line {line}")]
    BrokenEntry {
        /// The entry.
        id: EntryId,
        /// Its line, counted from 1.
        line: usize,
        /// What is wrong with it.
        source: EntryError,
    },
    /// Another process has the session open for writing.
    #[error("lock {}: it is open in {}", path.display(), holder(*pid, host.as_deref()))]
    Locked {
        /// The session's file.
        path: PathBuf,
        /// The holder's process id, where it is known.
        pid: Option<u32>,
        /// The holder's machine, where it is known.
        host: Option<String>,
    },
    /// The file is no session; it was left untouched.
    #[error("read {} as a session: {reason}", path.display())]
    NotASession {
        /// The file.
        path: PathBuf,
        /// What speaks against it.
        reason: String,
    },
    /// A write failed and was undone; nothing was changed.
    #[error("write {}", shown(path.as_deref()))]
    WriteFailed {
        /// The session's file; `None` for a session in memory.
        path: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
    /// The leaf is not where the caller expected it; nothing was written.
    #[error("write at leaf {}: the leaf is {}", id_or_root(expected.as_ref()), id_or_root(actual.as_ref()))]
    LeafMoved {
        /// The leaf that the caller named.
        expected: Option<EntryId>,
        /// The leaf.
        actual: Option<EntryId>,
    },
    /// The session is open for reading alone.
    #[error("write {}: {reason}", shown(path.as_deref()))]
    ReadOnly {
        /// The session's file; `None` for a session in memory.
        path: Option<PathBuf>,
        /// Why it cannot be written.
        reason: String,
    },
    /// A session id that breaks the rules for ids (docs/session-format.md, "Ids").
    #[error("use the session id {id:?}: only letters, digits and inner '.', '_', '-' are allowed")]
    InvalidSessionId {
        /// The id.
        id: String,
    },
    /// The members of a new entry are no JSON object, or its id is taken.
    #[error("write an entry: {reason}")]
    InvalidEntry {
        /// What is wrong.
        reason: String,
    },
    /// There is a file at the path of the new session; it was left untouched.
    #[error("create {}: it exists", path.display())]
    AlreadyExists {
        /// The path.
        path: PathBuf,
    },
    /// A session of the directory has the id that was chosen for a new one; nothing was written.
    #[error("create a session with the id {id}: {} has it", path.display())]
    SessionIdTaken {
        /// The id.
        id: String,
        /// The file of the session that has it.
        path: PathBuf,
    },
    /// The system failed to do something else than writing.
    #[error("{action} {}", shown(path.as_deref()))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory; `None` for a session in memory.
        path: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// The error for `source`, which may carry an error of the store through an interface that
    /// knows errors of the system alone.
    pub(crate) fn io(action: &'static str, path: Option<&Path>, source: io::Error) -> Self {
        let source = match source.downcast::<Self>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        match path {
            Some(path) if source.kind() == io::ErrorKind::NotFound => Self::SessionNotFound { path: path.to_owned() },
            _ => Self::Io { action, path: path.map(Path::to_owned), source },
        }
    }

    pub(crate) fn write(path: Option<&Path>, source: io::Error) -> Self {
        Self::WriteFailed { path: path.map(Path::to_owned), source }
    }
}

fn shown(path: Option<&Path>) -> String {
    path.map_or_else(|| "a session in memory".to_owned(), |path| path.display().to_string())
}

fn holder(pid: Option<u32>, host: Option<&str>) -> String {
    let process = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    host.map_or_else(|| process.clone(), |host| format!("{process} on {host}"))
}

fn id_or_root(id: Option<&EntryId>) -> &str {
    id.map_or("root", EntryId::as_str)
}
