//! One open session: its entries above a log.

pub(crate) mod append;
pub(crate) mod branch;
pub(crate) mod context;
pub(crate) mod entries;
pub(crate) mod facts;
pub(crate) mod known;
pub(crate) mod refresh;
pub(crate) mod syncs;
pub(crate) mod undo;
pub(crate) mod upgrade;

use std::sync::{Mutex, MutexGuard, PoisonError};

use compaction_core::entry::EntryId;

use crate::diagnostic::{Diagnostic, DiagnosticKind, Diagnostics};
use crate::error::StoreError;
use crate::header::SessionHeader;
use crate::index::{Index, Reading};
use crate::locator::Locator;
use crate::log::{ChangeNotice, LogChange, LogError, SessionLog};
use crate::session::append::ForeignChange;
use crate::session::context::RememberedContext;
use crate::session::entries::EntryCache;
use crate::session::known::Known;
use crate::session::syncs::DeferredSyncs;

/// Bytes of parsed entries that a session keeps, by default.
const CACHE_BYTES: usize = 32 << 20;

/// Size up to which a log is read wholly when it is opened, by default: a few milliseconds.
const WHOLE_BYTES: u64 = 2 << 20;

/// Bytes that a line may have, by default.
const MAX_LINE_BYTES: usize = 256 << 20;

/// One open session.
///
/// Reads take `&self`; what changes the session takes `&mut self`. Memory follows the log: an entry
/// is known once its line is written.
#[derive(Debug)]
pub struct Session {
    pub(crate) log: Box<dyn SessionLog>,
    pub(crate) known: Known,
    /// What was odd about opening the session; the whole index has it too.
    early: Diagnostics,
    header: SessionHeader,
    /// Whether the log is empty, so that the header comes before the first entry.
    is_header_pending: bool,
    migrated_from: Option<u32>,
    leaf: Option<EntryId>,
    /// Why nothing may be written, if so.
    read_only: Option<String>,
    durability: Durability,
    pub(crate) max_line: usize,
    cache: Mutex<EntryCache>,
    context: Mutex<RememberedContext>,
    foreign: Option<ForeignChange>,
    /// A change of the log that could not be read yet; nothing is written before it is.
    unread: LogChange,
    syncs: DeferredSyncs,
    /// Lines of another program that came too late to be rewritten with the others.
    late: Option<String>,
}

/// When a store waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// After every append.
    Always,
    /// After compactions, branch summaries and forks, and at the end.
    #[default]
    Checkpoint,
    /// Never, but for files of older versions that are rewritten: those are put in the place of others.
    None,
}

/// How a session is opened above its log.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Why nothing may be written, if so.
    pub read_only: Option<String>,
    /// When to wait for the disk.
    pub durability: Durability,
    /// Header for an empty log, written before the first entry; without one an empty log is no
    /// session.
    pub header_if_empty: Option<SessionHeader>,
    /// Bytes of parsed entries that are kept in memory.
    pub cache_bytes: usize,
    /// Size in bytes up to which a log is read wholly when it is opened. A larger one is read from
    /// its end, and wholly once a call needs that.
    pub whole_bytes: u64,
    /// Bytes that a line may have. A longer one is not held and counts as broken.
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
    /// Opens the session in `log`: a large one by its header and its last entries. Nothing is
    /// written.
    ///
    /// Fails with `NotASession` if the first line that can be read is no header.
    pub fn open(log: Box<dyn SessionLog>, options: SessionOptions) -> Result<Self, StoreError> {
        let known = Known::open(log.as_ref(), options.whole_bytes, options.max_line_bytes);
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

    /// What the store calls the session; `None` where it cannot be found again. Of a file this is an
    /// absolute path without symbolic links.
    pub fn locator(&self) -> Option<&Locator> {
        self.log.locator()
    }

    /// Whether the session lies on this machine, see [`SessionLog::is_quick`].
    pub fn is_quick(&self) -> bool {
        self.log.is_quick()
    }

    /// Asks to be told of changes that others make, see [`SessionLog::notify_changes`].
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

    /// Number of entries, on all branches; `None` while only the end of a large session was read.
    pub fn entry_count(&self) -> Option<usize> {
        self.known.get().map(Index::len)
    }

    /// Bytes of memory that the index takes; `None` while only the end of a large session was read.
    pub fn index_memory(&self) -> Option<usize> {
        self.known.get().map(Index::memory)
    }

    /// Whether nothing may be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only.is_some()
    }

    /// The older version that the file was in when it was opened.
    pub fn migrated_from(&self) -> Option<u32> {
        self.migrated_from
    }

    /// What was odd so far, in no promised order. Of a large session it is not known before the
    /// whole of it was read.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.known.get().map_or(&self.early, |index| &index.diagnostics).as_slice()
    }

    /// Waits until everything written is on the disk.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.log.sync().map_err(|source| StoreError::write(self.log.locator(), source))
    }

    /// Ends writing: waits for the disk, unless durability is `None`, and frees the lock. Reading
    /// goes on; closing twice does nothing. The lock is freed even if the disk fails.
    pub fn close(&mut self) -> Result<(), StoreError> {
        let is_synced = self.read_only.is_some() || self.durability == Durability::None;
        let late = self.write_late();
        // What was acknowledged reaches the disk also where the lines of others cannot be written.
        let synced = if is_synced { Ok(()) } else { self.take_back_unsynced().and_then(|_| self.sync()) };
        let outcome = late.and(synced);
        self.syncs.forget();
        self.log.release();
        self.read_only.get_or_insert_with(|| "the session is closed".to_owned());
        outcome
    }

    /// Adds to what was odd about the session, as whoever opened the log knows more of it.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        if let Some(index) = self.known.get_mut() {
            index.diagnostics.add(diagnostic.clone());
        }
        self.early.add(diagnostic);
    }

    /// The error of a change of the log that failed. What it says of the log is taken note of.
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
        // A cache that a panic left behind holds whole entries or none.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the session has a version that is not known here.
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
