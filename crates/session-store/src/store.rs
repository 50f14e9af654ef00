//! Stores: how sessions are created, found, searched and forked; and the simplest store, which is memory.
//!
//! A fork is one path of a session as a session of its own (docs/session-format.md, "Forks"). Lines are copied byte for
//! byte, unless they refer to a label that is left out. Labels are set again after the path, with their ids and
//! timestamps, if their targets are on it.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compaction_core::entry::{EntryError, EntryId, EntryKind, iso_timestamp};
use compaction_core::json::{self, RawObject};

use crate::error::{Diagnostic, StoreError};
use crate::header::{self, SessionHeader, now};
use crate::index::lazy::Position;
use crate::index::{Index, clean_name};
use crate::log::{
    Batch, Line, Locator, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog, rewrite_lines, scan_lines,
};
use crate::search::{SearchHits, SearchQuery};
use crate::session::append::LosslessText;
use crate::session::{Session, SessionOptions};

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

/// The plan of a fork.
#[derive(Debug)]
pub(crate) struct Fork<'a> {
    source: &'a Session,
    /// The whole index of the source, because labels can be anywhere in it.
    index: &'a Index,
    header: SessionHeader,
    /// Slots of the entries of the path without labels, root first.
    kept: Vec<usize>,
    /// Slots of the label entries that are set again, in order.
    labels: Vec<usize>,
    /// Replacements for labels of the path: the next entry that is kept, or the last one.
    stand_ins: HashMap<EntryId, EntryId>,
}

/// Why a fork could not be written.
#[derive(Debug)]
pub(crate) enum ForkError {
    Source(StoreError),
    Write(io::Error),
}

impl ForkError {
    pub(crate) fn into_store_error(self, locator: Option<Locator>) -> StoreError {
        match self {
            Self::Source(error) => error,
            Self::Write(source) => StoreError::write(locator, source),
        }
    }
}

impl From<StoreError> for ForkError {
    fn from(error: StoreError) -> Self {
        Self::Source(error)
    }
}

impl From<io::Error> for ForkError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl Session {
    /// The text of a new session with the path from the root to `leaf`, or with no entries for `None`. Stores without
    /// files write it for [`crate::SessionStore::fork`]. Fails as that does.
    pub fn fork_text(&self, leaf: Option<&EntryId>) -> Result<Vec<u8>, StoreError> {
        let mut text = Vec::new();
        Fork::new(self, leaf)?.write(&mut text).map_err(|error| error.into_store_error(None))?;
        Ok(text)
    }
}

impl<'a> Fork<'a> {
    /// Plans the fork of the path to `leaf`. Fails with `EntryNotFound`, or with `ReadOnly` for a source of a newer
    /// version, because its lines may have another meaning under the header of a fork.
    pub(crate) fn new(source: &'a Session, leaf: Option<&EntryId>) -> Result<Self, StoreError> {
        let index = source.index()?;
        if index.is_newer_version {
            let reason = format!("it would be a copy of version {}, which is not known here", source.header().version);
            return Err(StoreError::ReadOnly { locator: source.locator().cloned(), reason });
        }
        let path: Vec<usize> = source.branch_slots(leaf)?.into_iter().filter_map(Position::whole).collect();
        let kept: Vec<usize> = path.iter().copied().filter(|&slot| !is_label(index, slot)).collect();
        let stand_ins = stand_ins(index, &path);
        let labels = labels_to_set(index, &kept, &stand_ins);
        let parent = source.locator().map(Locator::to_string);
        let id = header::session_id(None)?;
        let cwd = &source.header().cwd;
        let header = SessionHeader::new(&id, &iso_timestamp(now()), cwd, parent.as_deref());
        Ok(Self { source, index, header, kept, labels, stand_ins })
    }

    /// The header of the fork.
    pub(crate) fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Writes the whole fork.
    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<(), ForkError> {
        writeln!(out, "{}", self.header.raw.get())?;
        let mut parent: Option<EntryId> = None;
        for &slot in self.kept.iter().chain(&self.labels) {
            let line = self.line(slot, parent.as_ref())?;
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            parent = Some(self.index.id(slot));
        }
        Ok(())
    }

    /// The line of an entry whose parent is now `parent`. The first entry keeps its stored parent: if that is
    /// missing, the fork reports it as its source does.
    fn line(&self, slot: usize, parent: Option<&EntryId>) -> Result<Vec<u8>, StoreError> {
        let record = self.index.record(slot);
        let line = self.source.line_bytes(&record)?;
        let named = record.parent_id.as_ref();
        let is_parent_kept = named == parent || named.is_some_and(|id| self.index.slot(id.as_str()).is_none());
        let reference = reference_member(record.kind).filter(|_| !self.stand_ins.is_empty());
        if is_parent_kept && reference.is_none() {
            return Ok(line);
        }
        let text = LosslessText::new(line.clone());
        let parsed = RawObject::parse(text.as_str().trim_ascii()).map_err(EntryError::NotAnObject);
        let mut object = parsed.or_else(|source| Err(self.source.broken(&record, source)?))?;
        if !is_parent_kept {
            object.set("parentId", parent.map_or_else(|| "null".to_owned(), |id| json::encode_string(id.as_str())));
        }
        let named = reference.and_then(|member| object.string(member));
        match named.and_then(|named| self.stand_ins.get(&*named)).zip(reference) {
            Some((stand_in, member)) => object.set(member, json::encode_string(stand_in.as_str())),
            None if is_parent_kept => return Ok(line),
            None => {}
        }
        Ok(text.bytes_of(object.to_json()))
    }
}

fn is_label(index: &Index, slot: usize) -> bool {
    index.kind(slot) == EntryKind::Label
}

/// The member with which entries of a kind refer to another entry, besides their parent. An edit of a label has no
/// effect, and must not affect the replacement of the label.
fn reference_member(kind: EntryKind) -> Option<&'static str> {
    match kind {
        EntryKind::Compaction => Some("firstKeptEntryId"),
        EntryKind::BranchSummary => Some("fromId"),
        EntryKind::Label => Some("targetId"),
        _ => None,
    }
}

/// The replacement of each label of the path.
fn stand_ins(index: &Index, path: &[usize]) -> HashMap<EntryId, EntryId> {
    let last = path.iter().rev().copied().find(|&slot| !is_label(index, slot));
    let mut next = last;
    let mut stand_ins = HashMap::new();
    for &slot in path.iter().rev() {
        if !is_label(index, slot) {
            next = Some(slot);
        } else if let Some(next) = next {
            stand_ins.insert(index.id(slot), index.id(next));
        }
    }
    stand_ins
}

/// The entries that set the current labels of kept entries, on whatever branch they are. Labels of labels come first.
fn labels_to_set(index: &Index, kept: &[usize], stand_ins: &HashMap<EntryId, EntryId>) -> Vec<usize> {
    let kept: HashSet<EntryId> = kept.iter().map(|&slot| index.id(slot)).collect();
    let comes_along = |target: &EntryId| kept.contains(target) || stand_ins.contains_key(target);
    let labels = index.labels.iter().filter(|(target, _)| comes_along(target));
    // The label of a label must not override the label of its replacement.
    let mut slots: Vec<_> = labels.map(|(target, label)| (kept.contains(target), label.slot)).collect();
    slots.sort_unstable();
    slots.into_iter().map(|(_, slot)| slot).collect()
}

/// A log in memory. Several logs can share its bytes. They are then foreign writers to each other, like processes
/// that have one file open.
#[derive(Debug, Default)]
pub struct MemoryLog {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Number of bytes that this log has seen. The rest is foreign.
    known: usize,
    is_released: bool,
}

impl MemoryLog {
    /// A log over `bytes`, the contents of a session file.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self::shared(Arc::new(Mutex::new(bytes.into())))
    }

    /// A log over bytes that other logs share.
    pub fn shared(bytes: Arc<Mutex<Vec<u8>>>) -> Self {
        let known = lock(&bytes).len();
        Self { bytes, known, is_released: false }
    }

    fn compare(&self, length: usize) -> LogChange {
        match length.cmp(&self.known) {
            Ordering::Equal => LogChange::Unchanged,
            Ordering::Greater => LogChange::Grown,
            Ordering::Less => LogChange::Replaced,
        }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.is_released { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}

/// A panic of another holder cannot leave a partial change: every change is one call.
fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionLog for MemoryLog {
    fn locator(&self) -> Option<&Locator> {
        None
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn length(&self) -> u64 {
        self.known as u64
    }

    fn scan(
        &self,
        offset: u64,
        hold: &Cell<usize>,
        visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let bytes = lock(&self.bytes);
        let end = self.known.min(bytes.len());
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(end);
        scan_lines(&mut &bytes[start..end], &mut Vec::new(), offset, hold, &|| false, visit)
    }

    fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        let range = || Some(usize::try_from(span.offset).ok()?..usize::try_from(span.end()).ok()?);
        let bytes = lock(&self.bytes);
        let found = range().and_then(|range| bytes.get(range));
        found.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn look(&self) -> io::Result<LogChange> {
        Ok(self.compare(lock(&self.bytes).len()))
    }

    fn refresh(&mut self) -> io::Result<LogChange> {
        let length = lock(&self.bytes).len();
        let change = self.compare(length);
        self.known = length;
        Ok(change)
    }

    fn append(&mut self, Batch { lines, .. }: Batch<'_>) -> Result<Span, LogError> {
        self.check_writable()?;
        let mut bytes = lock(&self.bytes);
        if bytes.last().is_some_and(|&last| last != b'\n') {
            bytes.push(b'\n');
        }
        let span = Span { offset: bytes.len() as u64, length: lines.len() as u64 };
        bytes.extend_from_slice(lines.as_bytes());
        bytes.push(b'\n');
        self.known = bytes.len();
        Ok(span)
    }

    fn replace_all(
        &mut self,
        _backup_suffix: &str,
        _hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError> {
        self.check_writable()?;
        let mut replacement = Vec::new();
        // Everything is in memory anyway, and a scan blocks other readers.
        rewrite_lines(self, usize::MAX, rewrite, &mut replacement)?;
        let mut bytes = lock(&self.bytes);
        if bytes.len() != self.known {
            return Err(LogError::Moved);
        }
        *bytes = replacement;
        self.known = bytes.len();
        Ok(None)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        Ok(Box::new(|| Ok(())))
    }

    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError> {
        self.check_writable()?;
        let mut bytes = lock(&self.bytes);
        if bytes.len() as u64 != end {
            return Err(LogError::Moved);
        }
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        self.known = bytes.len();
        Ok(())
    }

    fn release(&mut self) {
        self.is_released = true;
    }
}

/// A store that keeps nothing. Each session exists as long as its handle. It has no locator and cannot be found
/// again.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryStore;

impl SessionStore for MemoryStore {
    fn is_quick(&self) -> bool {
        true
    }

    fn locate(&self, text: &str) -> Result<Locator, StoreError> {
        Ok(Locator::from(text))
    }

    fn canonical(&self, _locator: &Locator) -> Option<Locator> {
        None
    }

    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError> {
        let header = options.header()?;
        let mut session = open(format!("{}\n", header.raw.get()))?;
        if let Some(name) = options.name.as_deref().and_then(clean_name) {
            session.set_name(&name)?;
        }
        Ok(session)
    }

    fn discard(&self, session: Session) {
        drop(session);
    }

    fn open(&self, locator: &Locator, _options: &OpenOptions) -> Result<Session, StoreError> {
        Err(StoreError::SessionNotFound { locator: locator.clone() })
    }

    fn list_unless(&self, _options: &ListOptions, _is_cancelled: &IsCancelled<'_>) -> Result<SessionPage, StoreError> {
        Ok(SessionPage::default())
    }

    fn search(
        &self,
        _query: &SearchQuery,
        _options: &SearchOptions,
        _is_cancelled: &IsCancelled<'_>,
    ) -> Result<SearchHits, StoreError> {
        Ok(SearchHits::default())
    }

    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError> {
        open(source.fork_text(leaf)?)
    }
}

fn open(text: impl Into<Vec<u8>>) -> Result<Session, StoreError> {
    Session::open(Box::new(MemoryLog::new(text)), SessionOptions::default())
}
