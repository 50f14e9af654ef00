//! Stores: where sessions come from.

use std::collections::HashSet;

use compaction_core::entry::{EntryId, iso_timestamp};

use crate::error::Diagnostic;
use crate::error::StoreError;
use crate::header::SessionHeader;
use crate::header::{self, now};
use crate::log::Locator;
use crate::search::{SearchHits, SearchQuery};
use crate::session::Session;

/// Tells whether nobody waits for an outcome any more.
pub type IsCancelled<'a> = dyn Fn() -> bool + Sync + 'a;

/// A place that sessions are kept in: files, memory, or a server across a network.
///
/// Calls may take as long as the store needs, so that they belong on threads that may wait; only
/// [`SessionStore::locate`] is answered at once. Whoever holds a [`Session`] for writing has a lease on it,
/// which ends with [`Session::close`], with the session, or by what [`StoreError::LeaseLost`] tells.
pub trait SessionStore: Send + Sync + std::fmt::Debug {
    /// Whether calls take no longer than a local disk. Those of other stores never take the places of calls
    /// that are served on this machine.
    fn is_quick(&self) -> bool {
        false
    }

    /// What the store calls the session, or the place of sessions, that a person names by `text`. It need
    /// not exist. Nothing is read, so that this takes no time.
    ///
    /// Fails with `InvalidLocator`.
    fn locate(&self, text: &str) -> Result<Locator, StoreError>;

    /// The locator that [`Session::locator`] has once the session at `locator` is open, whatever links
    /// lead to it; `None` if there is nothing.
    fn canonical(&self, locator: &Locator) -> Option<Locator>;

    /// Whether two canonical locators lead to one session all the same, as hard links do.
    fn is_same(&self, a: &Locator, b: &Locator) -> bool {
        a == b
    }

    /// Makes a new session; its header is written at once (docs/session-format.md, "Where sessions lie").
    ///
    /// Fails with `InvalidSessionId`, `AlreadyExists` or `WriteFailed`.
    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError>;

    /// Removes a session that this store just made, and that could not be begun as it was to be. What fails is
    /// logged, because the caller already has an error to report.
    fn discard(&self, session: Session);

    /// Opens the session at `locator`. It is not written to.
    ///
    /// Fails with `SessionNotFound`, `NotASession`, `Locked` or `Io`.
    fn open(&self, locator: &Locator, options: &OpenOptions) -> Result<Session, StoreError>;

    /// One page of sessions, newest activity first. What is no session is passed over. Once it
    /// `is_cancelled`, the call ends soon, and the page lacks sessions.
    fn list_unless(&self, options: &ListOptions, is_cancelled: &IsCancelled<'_>) -> Result<SessionPage, StoreError>;

    /// As [`SessionStore::list_unless`], to its end.
    fn list(&self, options: &ListOptions) -> Result<SessionPage, StoreError> {
        self.list_unless(options, &|| false)
    }

    /// The session of `cwd` with the newest activity, in `session_dir` if that is given.
    fn most_recent(&self, cwd: &str, session_dir: Option<&Locator>) -> Result<Option<Locator>, StoreError> {
        let session_dir = session_dir.cloned();
        let options = ListOptions { cwd: cwd.to_owned(), session_dir, limit: Some(1), ..ListOptions::default() };
        Ok(self.list(&options)?.sessions.into_iter().next().map(|summary| summary.locator))
    }

    /// The newest matches in all sessions; of a query that ranks, the best. What is no session is passed
    /// over. Once it `is_cancelled`, what was found so far comes back.
    ///
    /// Fails with `Io` if the sessions cannot be found.
    fn search(
        &self,
        query: &SearchQuery,
        options: &SearchOptions,
        is_cancelled: &IsCancelled<'_>,
    ) -> Result<SearchHits, StoreError>;

    /// Makes a new session of the path from the root to `leaf`, or an empty one for `None`, beside
    /// `source`. The fork is complete or absent. Fails with `EntryNotFound`, `BrokenEntry`,
    /// `WriteFailed`, or with `ReadOnly` for a source of a newer version.
    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError>;

    /// Reads the whole session at `locator`, without a lease, and returns all that is odd. Fails as
    /// [`SessionStore::open`] does.
    fn check(&self, locator: &Locator) -> Result<Vec<Diagnostic>, StoreError> {
        self.open(locator, &OpenOptions { read_only: true, ..OpenOptions::default() })?.check()
    }
}

/// How a new session is made.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    /// The absolute working directory of the conversation.
    pub cwd: String,
    /// A place for sessions of all working directories, in place of the one of `cwd`.
    pub session_dir: Option<Locator>,
    /// The session's place, instead of one of the store's choice.
    pub locator: Option<Locator>,
    /// The session's name.
    pub name: Option<String>,
    /// The session that this one comes from.
    pub parent_session: Option<String>,
    /// The session's id, in place of a new UUIDv7.
    pub id: Option<String>,
}

impl CreateOptions {
    /// The header of a session that is made as these say, now.
    ///
    /// Fails with `InvalidSessionId`.
    pub fn header(&self) -> Result<SessionHeader, StoreError> {
        let id = header::session_id(self.id.as_deref())?;
        Ok(SessionHeader::new(&id, &iso_timestamp(now()), &self.cwd, self.parent_session.as_deref()))
    }
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
    /// A place for sessions of all working directories, in place of the store's own.
    pub session_dir: Option<Locator>,
    /// Whether sessions of all working directories are listed.
    pub all: bool,
    /// How many at most; all without it.
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub cursor: Option<Cursor>,
}

/// Which sessions are searched.
#[derive(Debug, Clone, Default)]
pub struct SearchOptions {
    /// A place for sessions of all working directories, in place of the store's own.
    pub session_dir: Option<Locator>,
    /// Canonical locators of sessions that are left out.
    pub skipped: HashSet<Locator>,
    /// Number of hits at most.
    pub limit: usize,
}

/// A place between two sessions of a list. It stays valid when sessions come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Activity of the last session before it, in epoch milliseconds.
    pub modified: i64,
    /// Its place.
    pub locator: Locator,
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
    /// What the store calls it: of a file, an absolute path without symbolic links.
    pub locator: Locator,
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
