//! Why the store could not do what it was asked to.

use std::io;

use compaction_core::entry::{EntryError, EntryId};

use crate::locator::Locator;

/// An error of the store. Messages fit behind "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no session at this place.
    #[error("find a session at {locator}")]
    SessionNotFound {
        /// The place that was asked for.
        locator: Locator,
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
    #[error("lock {locator}: it is open in {}", holder(*pid, host.as_deref()))]
    Locked {
        /// The session's place.
        locator: Locator,
        /// The holder's process id, where it is known.
        pid: Option<u32>,
        /// The holder's machine, where it is known.
        host: Option<String>,
    },
    /// What lies at this place is no session; it was left untouched.
    #[error("read {locator} as a session: {reason}")]
    NotASession {
        /// The place.
        locator: Locator,
        /// What speaks against it.
        reason: String,
    },
    /// A write failed and was undone; nothing was changed.
    #[error("write {}", shown(locator.as_ref()))]
    WriteFailed {
        /// The session's place; `None` for a session in memory.
        locator: Option<Locator>,
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
    #[error("write {}: {reason}", shown(locator.as_ref()))]
    ReadOnly {
        /// The session's place; `None` for a session in memory.
        locator: Option<Locator>,
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
    /// There is something at the place of the new session; it was left untouched.
    #[error("create {locator}: it exists")]
    AlreadyExists {
        /// The place.
        locator: Locator,
    },
    /// The store takes no such text for a place.
    #[error("find a session: {text:?} is not {expected}")]
    InvalidLocator {
        /// The start of the text.
        text: String,
        /// What the store takes, and what is wrong with the text.
        expected: String,
    },
    /// The right to write was lost to another writer; nothing was written. The session can still be
    /// read, and opened anew for writing.
    #[error("write {}: {reason}", shown(locator.as_ref()))]
    LeaseLost {
        /// The session's place; `None` for a session in memory.
        locator: Option<Locator>,
        /// What is known of the other writer.
        reason: String,
    },
    /// The connection to the store broke during a write, so that it is not known whether it took place. The
    /// next look at the session tells.
    #[error("write {}: whether it took place is not known before the session is read again", shown(locator.as_ref()))]
    WriteUnconfirmed {
        /// The session's place; `None` for a session in memory.
        locator: Option<Locator>,
        /// What broke the connection.
        source: io::Error,
    },
    /// A session of the directory has the id that was chosen for a new one; nothing was written.
    #[error("create a session with the id {id}: {locator} has it")]
    SessionIdTaken {
        /// The id.
        id: String,
        /// The session that has it.
        locator: Locator,
    },
    /// The system failed to do something else than writing.
    #[error("{action} {}", shown(locator.as_ref()))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The session's place, or one that holds sessions; `None` for a session in memory.
        locator: Option<Locator>,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// The error for `source`, which may carry an error of the store through an interface that
    /// knows errors of the system alone. `locator` is `None` for a session in memory.
    pub(crate) fn io(action: &'static str, locator: Option<impl Into<Locator>>, source: io::Error) -> Self {
        let source = match source.downcast::<Self>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        match locator.map(Into::into) {
            Some(locator) if source.kind() == io::ErrorKind::NotFound => Self::SessionNotFound { locator },
            locator => Self::Io { action, locator, source },
        }
    }

    pub(crate) fn write(locator: Option<impl Into<Locator>>, source: io::Error) -> Self {
        Self::WriteFailed { locator: locator.map(Into::into), source }
    }
}

fn shown(locator: Option<&Locator>) -> String {
    locator.map_or_else(|| "a session in memory".to_owned(), Locator::to_string)
}

fn holder(pid: Option<u32>, host: Option<&str>) -> String {
    let process = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    host.map_or_else(|| process.clone(), |host| format!("{process} on {host}"))
}

fn id_or_root(id: Option<&EntryId>) -> &str {
    id.map_or("root", EntryId::as_str)
}
