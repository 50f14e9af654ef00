//! Stores: how sessions are created, found, searched and forked.

use std::collections::HashSet;

use compaction_core::entry::{EntryId, iso_timestamp};

use crate::error::Diagnostic;
use crate::error::StoreError;
use crate::header::SessionHeader;
use crate::header::{self, now};
use crate::log::Locator;
use crate::search::{SearchHits, SearchQuery};
use crate::session::Session;

/// A function that returns whether the caller no longer needs the result.
pub type IsCancelled<'a> = dyn Fn() -> bool + Sync + 'a;

/// A storage of sessions: files, memory, or a server across a network.
///
/// Calls may block, so they belong on threads that may wait. Only [`SessionStore::locate`] returns at once. A
/// [`Session`] that is open for writing holds a lease, which ends with [`Session::close`], with the session, or as
/// [`StoreError::LeaseLost`] reports.
pub trait SessionStore: Send + Sync + std::fmt::Debug {
    /// Whether calls are as fast as a local disk. Calls of slower stores have threads of their
    /// own, so they never keep calls of quick ones waiting.
    fn is_quick(&self) -> bool {
        false
    }

    /// The locator of the session, or of the location of sessions, that a person names by `text`. It need not exist.
    /// Reads nothing, so this takes no time.
    ///
    /// Fails with `InvalidLocator`.
    fn locate(&self, text: &str) -> Result<Locator, StoreError>;

    /// The locator that [`Session::locator`] has when the session is open, with links resolved; `None` if nothing
    /// exists there.
    fn canonical(&self, locator: &Locator) -> Option<Locator>;

    /// Whether two canonical locators lead to the same session, as hard links do.
    fn is_same(&self, a: &Locator, b: &Locator) -> bool {
        a == b
    }

    /// Creates a session and writes its header at once (docs/session-format.md, "Where sessions lie").
    ///
    /// Fails with `InvalidSessionId`, `AlreadyExists` or `WriteFailed`.
    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError>;

    /// Removes a session that this store just created, because the caller could not complete it. Failures are only
    /// logged, because the caller already has an error to report.
    fn discard(&self, session: Session);

    /// Opens the session at `locator`. Writes nothing.
    ///
    /// Fails with `SessionNotFound`, `NotASession`, `Locked` or `Io`.
    fn open(&self, locator: &Locator, options: &OpenOptions) -> Result<Session, StoreError>;

    /// One page of sessions, newest activity first. Anything that is not a session is skipped. If it `is_cancelled`,
    /// the call returns soon, and the page is incomplete.
    fn list_unless(&self, options: &ListOptions, is_cancelled: &IsCancelled<'_>) -> Result<SessionPage, StoreError>;

    /// As [`SessionStore::list_unless`], without cancellation.
    fn list(&self, options: &ListOptions) -> Result<SessionPage, StoreError> {
        self.list_unless(options, &|| false)
    }

    /// The session of `cwd` with the newest activity, in `session_dir` if that is given.
    fn most_recent(&self, cwd: &str, session_dir: Option<&Locator>) -> Result<Option<Locator>, StoreError> {
        let session_dir = session_dir.cloned();
        let options = ListOptions { cwd: cwd.to_owned(), session_dir, limit: Some(1), ..ListOptions::default() };
        Ok(self.list(&options)?.sessions.into_iter().next().map(|summary| summary.locator))
    }

    /// The newest matches in all sessions, or the best ones if the query ranks. Anything that is not a session is
    /// skipped. If it `is_cancelled`, returns the matches so far.
    ///
    /// Fails with `Io` if the sessions cannot be found.
    fn search(
        &self,
        query: &SearchQuery,
        options: &SearchOptions,
        is_cancelled: &IsCancelled<'_>,
    ) -> Result<SearchHits, StoreError>;

    /// Creates a session next to `source` from the path from the root to `leaf`, or an empty one for `None`. The fork
    /// is complete or absent. Fails with `EntryNotFound`, `BrokenEntry`, `WriteFailed`, or with `ReadOnly` for a
    /// source of a newer version.
    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError>;

    /// Reads the whole session at `locator`, without a lease, and returns all problems. Fails as
    /// [`SessionStore::open`] does.
    fn check(&self, locator: &Locator) -> Result<Vec<Diagnostic>, StoreError> {
        self.open(locator, &OpenOptions { read_only: true, ..OpenOptions::default() })?.check()
    }
}

/// Options for a new session.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    /// The absolute working directory of the conversation.
    pub cwd: String,
    /// A location for sessions of all working directories, instead of the one of `cwd`.
    pub session_dir: Option<Locator>,
    /// The locator of the session, instead of one chosen by the store.
    pub locator: Option<Locator>,
    /// The session's name.
    pub name: Option<String>,
    /// The session that this one was forked from.
    pub parent_session: Option<String>,
    /// The session's id, instead of a new UUIDv7.
    pub id: Option<String>,
}

impl CreateOptions {
    /// The header of a session with these options, created now.
    ///
    /// Fails with `InvalidSessionId`.
    pub fn header(&self) -> Result<SessionHeader, StoreError> {
        let id = header::session_id(self.id.as_deref())?;
        Ok(SessionHeader::new(&id, &iso_timestamp(now()), &self.cwd, self.parent_session.as_deref()))
    }
}

/// Options for opening a session.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Whether the session is opened read-only, without a lock.
    pub read_only: bool,
    /// The working directory for the header of an empty file.
    pub cwd: String,
}

/// Options for a list of sessions.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// The working directory whose sessions are listed.
    pub cwd: String,
    /// A place for sessions of all working directories, in place of the store's own.
    pub session_dir: Option<Locator>,
    /// Whether sessions of all working directories are listed.
    pub all: bool,
    /// Maximum number; `None` for all.
    pub limit: Option<usize>,
    /// The end of the previous page.
    pub cursor: Option<Cursor>,
}

/// Options for a search.
#[derive(Debug, Clone, Default)]
pub struct SearchOptions {
    /// A place for sessions of all working directories, in place of the store's own.
    pub session_dir: Option<Locator>,
    /// Canonical locators of sessions to skip.
    pub skipped: HashSet<Locator>,
    /// Maximum number of hits.
    pub limit: usize,
}

/// A position between two sessions of a list. It stays valid when sessions come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Activity of the last session before it, in epoch milliseconds.
    pub modified: i64,
    /// Its locator.
    pub locator: Locator,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    /// The sessions, newest activity first.
    pub sessions: Vec<SessionSummary>,
    /// The start of the next page, if there is one.
    pub next: Option<Cursor>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its locator. For a file this is an absolute path without symbolic links.
    pub locator: Locator,
    /// The session's id.
    pub session_id: String,
    /// Its working directory; empty if an old file does not name it.
    pub cwd: String,
    /// Its name.
    pub name: Option<String>,
    /// The session that it was forked from.
    pub parent_session: Option<String>,
    /// The stored time of creation, ISO 8601.
    pub created: String,
    /// Time of the last message of a user or an assistant in epoch milliseconds, not of the file
    /// (docs/session-format.md, "Labels and names"); the time of creation if there is none.
    pub modified: i64,
    /// Number of messages, on all branches.
    pub message_count: usize,
    /// Text of the first message of a user, cut after 1000 characters; empty if there is none.
    pub first_message: String,
}
