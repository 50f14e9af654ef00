//! One open session: its entries above a log, and what other programs write into it.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use compaction_core::entry::EntryId;

use crate::error::{Diagnostic, DiagnosticKind, Diagnostics, StoreError};
use crate::header::SessionHeader;
use crate::index::lazy::LazyIndex;
use crate::index::{Index, Reading, Record};
use crate::log::{ChangeNotice, Locator, LogChange, LogError, SessionLog, Span};
use crate::session::append::ForeignChange;
use crate::session::branch::{RememberedContext, Searched};
use crate::session::entries::EntryCache;
use crate::session::syncs::DeferredSyncs;

pub(crate) mod append;
pub(crate) mod branch;
pub(crate) mod entries;
pub(crate) mod inspect;
pub(crate) mod syncs;

/// Default maximum bytes of parsed entries in memory.
const CACHE_BYTES: usize = 32 << 20;

/// Default size up to which a log is read completely when it is opened. That takes a few milliseconds.
const WHOLE_BYTES: u64 = 2 << 20;

/// Default maximum bytes of a line.
const MAX_LINE_BYTES: usize = 256 << 20;

/// One open session.
///
/// Reads take `&self`, changes take `&mut self`. Memory follows the log: an entry is added after its line is written.
#[derive(Debug)]
pub struct Session {
    pub(crate) log: Box<dyn SessionLog>,
    pub(crate) known: LazyIndex,
    /// Problems that were found when the session was opened; the whole index has them too.
    early: Diagnostics,
    header: SessionHeader,
    /// Whether the log is empty, so that the header is written before the first entry.
    is_header_pending: bool,
    migrated_from: Option<u32>,
    leaf: Option<EntryId>,
    /// Why the session is read-only, if it is.
    read_only: Option<String>,
    durability: Durability,
    pub(crate) max_line: usize,
    cache: Mutex<EntryCache>,
    context: Mutex<RememberedContext>,
    searched: Mutex<Searched>,
    foreign: Option<ForeignChange>,
    /// A change of the log that could not be read yet. Nothing is written before it is read.
    unread: LogChange,
    syncs: DeferredSyncs,
    /// Lines of another program that came too late to be migrated with the others.
    late: Option<String>,
}

/// When writes wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// After every append.
    Always,
    /// After new sessions and forks, compactions, branch summaries and several entries in one write, and at the end.
    #[default]
    Checkpoint,
    /// Never, except when a file of an older version is rewritten, because that replaces another file.
    None,
}

/// How a session is opened above its log.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Why nothing may be written, if so.
    pub read_only: Option<String>,
    /// When to wait for the disk.
    pub durability: Durability,
    /// Header for an empty log, written before the first entry. Without it, an empty log is not a session.
    pub header_if_empty: Option<SessionHeader>,
    /// Maximum bytes of parsed entries in memory.
    pub cache_bytes: usize,
    /// Size in bytes up to which a log is read completely when it is opened. A larger log is read from its end, and
    /// completely once a call needs that.
    pub whole_bytes: u64,
    /// Maximum bytes of a line. A longer line is not kept and counts as broken.
    pub max_line_bytes: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            read_only: None,
            durability: Durability::default(),
            header_if_empty: None,
            cache_bytes: CACHE_BYTES,
            whole_bytes: WHOLE_BYTES,
            max_line_bytes: MAX_LINE_BYTES,
        }
    }
}

impl Session {
    /// Opens the session in `log`. Reads only the header and the last entries of a large one. Writes nothing.
    ///
    /// Fails with `NotASession` if the first readable line is not a header.
    pub fn open(log: Box<dyn SessionLog>, options: SessionOptions) -> Result<Self, StoreError> {
        let known = LazyIndex::open(log.as_ref(), options.whole_bytes, options.max_line_bytes);
        let known = known.map_err(|source| StoreError::io("read", log.locator(), source))?;
        let (header, is_header_pending) = match (known.header(), known.get(), options.header_if_empty) {
            (Some(header), ..) => (header, false),
            (None, Some(index), Some(header)) if index.is_empty() => (header, true),
            (None, index, _) => return Err(not_a_session(log.as_ref(), index)),
        };
        let migration = known.get().and_then(|index| index.migration.as_ref());
        let mut session = Self {
            migrated_from: migration.map(|migration| migration.from_version()),
            leaf: known.last(),
            log,
            known,
            early: Diagnostics::default(),
            header,
            is_header_pending,
            read_only: options.read_only,
            durability: options.durability,
            max_line: options.max_line_bytes,
            cache: Mutex::new(EntryCache::new(options.cache_bytes)),
            context: Mutex::default(),
            searched: Mutex::default(),
            foreign: None,
            unread: LogChange::Unchanged,
            syncs: DeferredSyncs::default(),
            late: None,
        };
        session.refuse_newer_version();
        session.pass_over_interrupted_undo()?;
        Ok(session)
    }

    fn pass_over_interrupted_undo(&mut self) -> Result<(), StoreError> {
        let last = self.leaf.clone().filter(|_| self.migrated_from.is_none());
        if let Some(leaf) = last.map(|last| self.leaf_before_interrupted_undo(&last)).transpose()?.flatten() {
            tracing::warn!(locator = ?self.locator(), %leaf, "an undo was cut short; the session goes on at the leaf before it");
            self.leaf = Some(leaf);
        }
        Ok(())
    }

    /// The header, in the current version of the format.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The name of the session in its store; `None` if it cannot be found again. For a file this is an absolute path
    /// without symbolic links.
    pub fn locator(&self) -> Option<&Locator> {
        self.log.locator()
    }

    /// Whether the session is on this machine, see [`SessionLog::is_quick`].
    pub fn is_quick(&self) -> bool {
        self.log.is_quick()
    }

    /// Requests notices of changes that others make, see [`SessionLog::notify_changes`].
    pub fn notify_changes(&mut self, notice: ChangeNotice) -> bool {
        self.log.notify_changes(notice)
    }

    /// What others have done to the session since it was last read. [`Session::refresh`] reads it.
    pub fn pending_change(&self) -> std::io::Result<LogChange> {
        Ok(self.unread.max(self.log.look_at_name()?))
    }

    /// The leaf; `None` before the first entry.
    pub fn leaf_id(&self) -> Option<&EntryId> {
        self.leaf.as_ref()
    }

    /// Number of entries on all branches; `None` while only the end of a large session was read.
    pub fn entry_count(&self) -> Option<usize> {
        self.known.get().map(Index::len)
    }

    /// Bytes of memory of the index; `None` while only the end of a large session was read.
    pub fn index_memory(&self) -> Option<usize> {
        self.known.get().map(Index::memory)
    }

    /// Whether the session is read-only.
    pub fn is_read_only(&self) -> bool {
        self.read_only.is_some()
    }

    /// The older version that the file had when it was opened.
    pub fn migrated_from(&self) -> Option<u32> {
        self.migrated_from
    }

    /// Problems found so far, in no defined order. Those of a large session are incomplete until the whole of it was
    /// read.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.known.get().map_or(&self.early, |index| &index.diagnostics).as_slice()
    }

    /// Waits until everything written is on the disk.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.log.sync().map_err(|source| StoreError::write(self.log.locator(), source))
    }

    /// Ends writing: waits for the disk, unless durability is `None`, and frees the lock. Reading still works.
    /// Closing twice does nothing. The lock is freed even if the disk fails.
    pub fn close(&mut self) -> Result<(), StoreError> {
        let skips_sync = self.read_only.is_some() || self.durability == Durability::None;
        let late = self.write_late();
        // Acknowledged entries must reach the disk even if the lines of others cannot be written.
        let synced = if skips_sync { Ok(()) } else { self.take_back_unsynced().and_then(|_| self.sync()) };
        let outcome = late.and(synced);
        self.syncs.forget();
        self.log.release();
        self.read_only.get_or_insert_with(|| "the session is closed".to_owned());
        outcome
    }

    /// Adds a problem that the opener of the log found.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        if let Some(index) = self.known.get_mut() {
            index.diagnostics.add(diagnostic.clone());
        }
        self.early.add(diagnostic);
    }

    /// The error for a change of the log that failed. Records what the error says about the log.
    pub(crate) fn not_written(&mut self, error: LogError) -> StoreError {
        let locator = self.locator().cloned();
        match error {
            LogError::Io(source) => StoreError::WriteFailed { locator, source },
            LogError::Unconfirmed(source) => {
                self.unread = self.unread.max(LogChange::Grown);
                StoreError::WriteUnconfirmed { locator, source }
            }
            LogError::LeaseLost(reason) => {
                self.log.release();
                self.read_only = Some(reason.clone());
                StoreError::LeaseLost { locator, reason }
            }
            error @ (LogError::Replaced | LogError::Moved) => {
                StoreError::WriteFailed { locator, source: std::io::Error::other(error) }
            }
        }
    }

    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    fn cache(&self) -> MutexGuard<'_, EntryCache> {
        // A panic cannot leave a partial entry in the cache.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the session has a version that this program does not know.
    pub(crate) fn is_newer_version(&self) -> bool {
        self.known.get().is_some_and(|index| index.is_newer_version)
    }

    fn refuse_newer_version(&mut self) {
        if self.is_newer_version() {
            let reason = format!("the session has version {}, which is not known here", self.header.version);
            self.report(Diagnostic::new(DiagnosticKind::NewerVersion, Some(1), &*reason));
            self.read_only = Some(reason);
        }
    }
}

pub(crate) fn read_index(log: &dyn SessionLog, max_line: usize) -> Result<Index, StoreError> {
    let reading = Reading::of(log.length() > WHOLE_BYTES);
    Index::build(log, reading, u64::MAX, max_line).map_err(|source| StoreError::io("read", log.locator(), source))
}

fn not_a_session(log: &dyn SessionLog, index: Option<&Index>) -> StoreError {
    let locator = log.locator().cloned().unwrap_or_else(|| Locator::from(""));
    let is_empty = index.is_some_and(Index::is_empty);
    let refusal = index.and_then(|index| index.refusal);
    let reason = refusal.unwrap_or(if is_empty { "it is empty" } else { "it has no session header" });
    StoreError::NotASession { locator, reason: reason.to_owned() }
}

impl Session {
    /// Reads what other programs did to the session since the last look.
    ///
    /// The leaf follows them only if their last entry descends from it, so that a conversation here does not move to
    /// a branch of another program. Fails with `SessionNotFound` if the file is gone, and with `NotASession` if it is
    /// another session now.
    pub fn refresh(&mut self) -> Result<Option<ForeignChange>, StoreError> {
        self.refresh_quietly()?;
        Ok(self.take_foreign())
    }

    /// Whether another program cut or rewrote the session, so that reading may fail before [`Session::refresh`]. A
    /// deleted or replaced session can still be read.
    pub fn is_outdated(&self) -> bool {
        self.unread == LogChange::Replaced || matches!(self.log.look(), Ok(LogChange::Replaced))
    }

    /// Whether an append would only write its line to a local disk: nobody changed the session, and nothing must be
    /// written, read or synced first. Takes microseconds.
    pub fn is_settled(&mut self) -> bool {
        if !self.log.is_quick() {
            return false;
        }
        let Ok(change) = self.log.refresh_to_append() else {
            return false;
        };
        self.unread = self.unread.max(change);
        self.unread == LogChange::Unchanged && self.is_current() && !self.waits_for_disk()
    }

    /// Takes the foreign changes that were read and not yet returned.
    pub fn take_foreign(&mut self) -> Option<ForeignChange> {
        self.foreign.take()
    }

    /// As [`Session::refresh`], but keeps the change for [`Session::take_foreign`].
    pub(crate) fn refresh_quietly(&mut self) -> Result<(), StoreError> {
        let change = self.log.refresh();
        self.read_change(change)
    }

    /// As [`Session::refresh_quietly`], as far as the next append needs it.
    pub(super) fn refresh_to_append(&mut self) -> Result<(), StoreError> {
        let change = self.log.refresh_to_append();
        self.read_change(change)
    }

    fn read_change(&mut self, change: io::Result<LogChange>) -> Result<(), StoreError> {
        let change = change.map_err(|source| StoreError::io("read", self.log.locator(), source))?;
        self.unread = self.unread.max(change);
        match self.unread {
            LogChange::Unchanged => {}
            LogChange::Grown if self.has_last_line_grown()? => self.read_again()?,
            LogChange::Grown => self.read_foreign(None)?,
            LogChange::Replaced => self.read_again()?,
        }
        self.unread = LogChange::Unchanged;
        Ok(())
    }

    /// Whether a last line without LF, which was read as a whole one, was continued by another program.
    pub(crate) fn has_last_line_grown(&self) -> Result<bool, StoreError> {
        // Nothing follows the line if a write whose answer was lost did not arrive.
        let Some(offset) = self.known.get().and_then(Index::open_end).filter(|end| *end < self.log.length()) else {
            return Ok(false);
        };
        let next = self.log.read(Span { offset, length: 1 }).map_err(|source| self.read_error(source))?;
        Ok(!matches!(next[..], [b'\n' | b'\r']))
    }

    /// Reads the log after its known part. The lines in `own` are not foreign.
    pub(crate) fn read_foreign(&mut self, own: Option<Span>) -> Result<(), StoreError> {
        let new = match self.read_on_tail().map_err(|source| self.read_error(source))? {
            Some(records) => records,
            None => self.read_on_index()?,
        };
        let is_own = |record: &Record| own.is_some_and(|own| (own.offset..own.end()).contains(&record.span.offset));
        let foreign = new.into_iter().filter(|record| !is_own(record));
        let readable = foreign.filter(|record| !record.is_superseded && !record.is_broken);
        self.note_foreign(readable.map(|record| record.id).collect());
        Ok(())
    }

    /// The new entries, if the tail is all that is known and needed.
    fn read_on_tail(&self) -> io::Result<Option<Vec<Record>>> {
        match self.known.tail() {
            Some(mut tail) if self.known.get().is_none() => tail.read_on(self.log.as_ref()),
            _ => Ok(None),
        }
    }

    fn read_on_index(&mut self) -> Result<Vec<Record>, StoreError> {
        self.index_mut()?;
        let log = self.log.as_ref();
        let index = self.known.get_mut().expect("the index was built in the line before");
        let before = index.record_count();
        index.scan(log).map_err(|source| StoreError::io("read", log.locator(), source))?;
        if index.refusal.is_some() {
            self.unread = LogChange::Replaced;
            return Err(not_a_session(log, Some(index)));
        }
        let new = index.records_from(before).collect();
        self.adopt_header();
        Ok(new)
    }

    /// Builds a new index, because the known part of the log is gone.
    fn read_again(&mut self) -> Result<(), StoreError> {
        let index = read_index(self.log.as_ref(), self.max_line)?;
        match &index.header {
            Some(header) if header.id == self.header.id => self.header = header.clone(),
            _ => return Err(not_a_session(self.log.as_ref(), Some(&index))),
        }
        let old = self.replace_index(index);
        self.refuse_newer_version();
        let index = self.index()?;
        let new = new_entries(index, &old);
        let last = index.last();
        if self.leaf.as_ref().is_some_and(|leaf| index.slot(leaf.as_str()).is_none()) {
            self.leaf = last;
        }
        self.note_foreign(new);
        self.foreign.get_or_insert_default().leaf_id = self.leaf.clone();
        Ok(())
    }

    /// Replaces the index and returns the old one.
    pub(crate) fn replace_index(&mut self, mut index: Index) -> LazyIndex {
        self.cache().clear();
        self.forget_context();
        self.syncs.forget();
        // Problems of the whole file remain.
        let of_file = self.diagnostics().iter().filter(|diagnostic| diagnostic.concerns_file());
        of_file.for_each(|diagnostic| index.diagnostics.add(diagnostic.clone()));
        std::mem::replace(&mut self.known, LazyIndex::whole(index))
    }

    /// Another program may have written the header of an empty file first.
    fn adopt_header(&mut self) {
        if let Some(header) = self.known.header().filter(|_| self.is_header_pending) {
            self.header = header;
            self.is_header_pending = false;
        }
    }

    fn note_foreign(&mut self, ids: Vec<EntryId>) {
        // An entry of another program may be a parent that was missing.
        self.forget_context();
        let Some(last) = ids.last() else { return };
        let follows = match &self.leaf {
            Some(leaf) => self.is_on_branch(leaf, Some(last)).unwrap_or(false),
            None => true,
        };
        if follows {
            self.leaf = Some(last.clone());
        }
        let leaf_id = self.leaf.clone();
        let foreign = self.foreign.get_or_insert_default();
        foreign.entry_ids.extend(ids);
        foreign.leaf_id = leaf_id;
    }
}

/// The ids of the entries that are new. If only the end of the session was known, these are the entries after the
/// last known one that still exists.
fn new_entries(index: &Index, old: &LazyIndex) -> Vec<EntryId> {
    let was_there = |id: &EntryId| match (old.get(), old.tail()) {
        (Some(old), _) => old.slot(id.as_str()).is_some(),
        (None, tail) => tail.is_some_and(|tail| tail.slot(id).is_some()),
    };
    let ids = index.current().map(|record| record.id);
    if old.get().is_some() {
        return ids.filter(|id| !was_there(id)).collect();
    }
    let ids: Vec<EntryId> = ids.collect();
    let known = ids.iter().rposition(was_there).map_or(0, |last| last + 1);
    ids[known..].to_vec()
}
