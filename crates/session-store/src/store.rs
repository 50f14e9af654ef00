//! Stores: where sessions come from.

use std::path::{Path, PathBuf};

use compaction_core::entry::EntryId;

use crate::diagnostic::Diagnostic;
use crate::error::StoreError;
use crate::session::Session;

/// A place that sessions are kept in.
pub trait SessionStore: Send + Sync + std::fmt::Debug {
    /// Makes a new session; its header is written at once (docs/session-format.md, "Where sessions lie").
    ///
    /// Fails with `InvalidSessionId`, `AlreadyExists` or `WriteFailed`.
    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError>;

    /// Opens the session at `path`. The session file is not written to.
    ///
    /// Fails with `SessionNotFound`, `NotASession`, `Locked` or `Io`.
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Session, StoreError>;

    /// The session of `cwd` with the newest activity.
    fn most_recent(&self, cwd: &str, session_dir: Option<&Path>) -> Result<Option<PathBuf>, StoreError>;

    /// One page of sessions, newest activity first. Files that are no sessions are passed over.
    fn list(&self, options: &ListOptions) -> Result<SessionPage, StoreError>;

    /// Makes a new session of the path from the root to `leaf`, or an empty one for `None`, beside
    /// `source`. The fork is complete or absent. Fails with `EntryNotFound`, `BrokenEntry`,
    /// `WriteFailed`, or with `ReadOnly` for a source of a newer version.
    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError>;

    /// Reads the whole session at `path`, without a lock, and returns all that is odd. Fails as
    /// [`SessionStore::open`] does.
    fn check(&self, path: &Path) -> Result<Vec<Diagnostic>, StoreError>;
}

/// When a store waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After every append.
    Always,
    /// After compactions, branch summaries and forks, and at the end.
    #[default]
    Checkpoint,
    /// Never, but for files of older versions that are rewritten: those are put in the place of others.
    None,
}

/// How a new session is made.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    /// The absolute working directory of the conversation.
    pub cwd: String,
    /// A flat directory for the session's file, in place of the one of `cwd`.
    pub session_dir: Option<PathBuf>,
    /// The session's file, in place of a name of the store's choice.
    pub path: Option<PathBuf>,
    /// The session's name.
    pub name: Option<String>,
    /// The session that this one comes from.
    pub parent_session: Option<String>,
    /// The session's id, in place of a new UUIDv7.
    pub id: Option<String>,
}

/// How a session is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Whether nothing will be written; then no lock is taken.
    pub read_only: bool,
    /// The working directory that an empty file gets in its header.
    pub cwd: String,
}

/// Which sessions are listed.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// The working directory whose sessions are listed.
    pub cwd: String,
    /// A flat directory of sessions, in place of the agent directory's.
    pub session_dir: Option<PathBuf>,
    /// Whether sessions of all working directories are listed.
    pub all: bool,
    /// How many at most; all without it.
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub cursor: Option<Cursor>,
}

/// A place between two sessions of a list. It stays valid when sessions come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Activity of the last session before it, in epoch milliseconds.
    pub modified: i64,
    /// Its path.
    pub path: PathBuf,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    /// The sessions, newest activity first.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page starts, if there is one.
    pub next: Option<Cursor>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The file: an absolute path without symbolic links.
    pub path: PathBuf,
    /// The session's id.
    pub session_id: String,
    /// Its working directory; empty where an old file names none.
    pub cwd: String,
    /// Its name.
    pub name: Option<String>,
    /// The session that it was forked from.
    pub parent_session: Option<String>,
    /// When it began, ISO 8601, as stored.
    pub created: String,
    /// Time of the last message of a person or a model in epoch milliseconds, not of the file
    /// (docs/session-format.md, "Labels and names"); where there is none, when it began.
    pub modified: i64,
    /// Number of messages, on all branches.
    pub message_count: usize,
    /// Text of the first message of a person, cut after 1000 characters; empty if there is none.
    pub first_message: String,
}
