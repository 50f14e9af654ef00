//! Sessions that are open, and the operations that run on them.

mod automatic;
mod turn;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compaction_core::entry::{Entry, EntryId};
use compaction_core::message::Message;
use session_store::{
    Appended, CreateOptions, ForeignChange, Locator, MemoryStore, NewEntry, Parent, PendingSync, Precondition, Session,
    SessionStore, StoreError,
};
use tokio::sync::{Notify, RwLock};
use tokio_util::sync::CancellationToken;

use crate::breaker::Breaker;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::host::Event;

pub use automatic::{AgentModel, AutoCompaction};
pub use turn::{Turn, change};

/// A session, until it is closed.
pub type Slot = Option<Session>;

/// An open session and the structural operation that runs on it.
#[derive(Debug)]
pub struct OpenSession {
    /// The header's id.
    pub id: String,
    /// The session. Calls line up for it in the order of arrival.
    pub slot: Arc<RwLock<Slot>>,
    /// Where the session comes from.
    pub store: Arc<dyn SessionStore>,
    /// What the store calls the session; `None` for sessions in memory.
    pub locator: Option<Locator>,
    /// How the session's summaries went.
    pub(crate) breaker: Breaker,
    /// Whether and for which model the session is compacted by itself.
    pub auto_compaction: AutoCompaction,
    operation: Mutex<Option<RunningOperation>>,
    operation_ended: Notify,
    is_read_only: AtomicBool,
    is_closing: AtomicBool,
    closed: CancellationToken,
    /// Whether one caller has it for itself, so that the host does not hear of its entries.
    is_private: bool,
    /// Whether calls take no longer than a local disk.
    is_quick: bool,
    /// Told by stores that notice what others write.
    changed: Arc<Notify>,
    /// Present while the host wants each entry that others write.
    subscription: Mutex<Option<CancellationToken>>,
}

#[derive(Debug)]
struct RunningOperation {
    id: String,
    kind: OperationKind,
    cancel: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperationKind {
    /// A compaction or a navigation.
    Summary,
    /// A fork, which a compaction's end is no reason to end.
    Fork,
}

/// Makes a session that was just opened ready for calls: its syncs are waited for beside it, and its store
/// is asked to tell what others write. Returns whether it will. May take as long as the store.
fn prepare(session: &mut Session, changed: &Arc<Notify>) -> bool {
    session.defer_syncs();
    let changed = Arc::clone(changed);
    session.notify_changes(Box::new(move || changed.notify_one()))
}

impl OpenSession {
    /// Wraps a session that `store` just opened, and tells whether the store will tell what others write.
    pub fn new(store: Arc<dyn SessionStore>, mut session: Session) -> (Self, bool) {
        let changed = Arc::default();
        let is_told = prepare(&mut session, &changed);
        let open = Self {
            id: session.header().id.clone(),
            store,
            locator: session.locator().cloned(),
            breaker: Breaker::default(),
            auto_compaction: AutoCompaction::default(),
            operation: Mutex::default(),
            operation_ended: Notify::new(),
            is_closing: AtomicBool::new(false),
            closed: CancellationToken::new(),
            changed,
            subscription: Mutex::default(),
            is_quick: session.is_quick(),
            is_read_only: AtomicBool::new(session.is_read_only()),
            is_private: false,
            slot: Arc::new(RwLock::new(Some(session))),
        };
        (open, is_told)
    }

    /// Goes on with a session that was opened anew.
    pub fn replace(&self, slot: &mut Slot, mut session: Session) {
        prepare(&mut session, &self.changed);
        self.set_read_only(session.is_read_only());
        *slot = Some(session);
    }

    /// Waits until the store tells that others have written.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Sends each entry that others write to the host from now on, until the token is cancelled. A subscription
    /// before this one ends.
    pub fn subscribe(&self) -> CancellationToken {
        self.unsubscribe();
        let subscription = self.closed.child_token();
        *self.subscription.lock().unwrap_or_else(PoisonError::into_inner) = Some(subscription.clone());
        subscription
    }

    /// Ends the subscription. Returns whether there was one.
    pub fn unsubscribe(&self) -> bool {
        let subscription = self.subscription.lock().unwrap_or_else(PoisonError::into_inner).take();
        subscription.inspect(CancellationToken::cancel).is_some()
    }

    fn is_subscribed(&self) -> bool {
        self.subscription.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Whether calls take no longer than a local disk.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// Wraps a session in memory that one caller has for itself: the host hears of operations on it, but not of
    /// its entries.
    pub fn private(session: Session) -> Self {
        Self { is_private: true, ..Self::new(Arc::new(MemoryStore), session).0 }
    }

    /// Messages, the oldest first, as a session that is kept in memory alone.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Result<Self, StoreError> {
        let mut session = MemoryStore.create(&CreateOptions::default())?;
        for message in messages {
            let members = format!("{{\"message\":{}}}", message.raw().get());
            session.append(NewEntry::new("message", &members), Parent::Leaf)?;
        }
        Ok(Self::new(Arc::new(MemoryStore), session).0)
    }

    /// Whether reads look at the file first: a session that is never written here has no other
    /// occasion to notice what others write.
    pub fn must_refresh_to_read(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// Notes whether the session is open for reading alone.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.is_read_only.store(is_read_only, Ordering::Relaxed);
    }

    /// The session, unless it was closed meanwhile.
    pub fn opened<'a>(&self, slot: Option<&'a Session>) -> Result<&'a Session, EngineError> {
        slot.ok_or_else(|| self.not_open())
    }

    /// The error of a session that was closed.
    pub fn not_open(&self) -> EngineError {
        EngineError::SessionNotOpen { session_id: self.id.clone() }
    }

    /// An error of the store that was met while serving this session.
    pub fn store_failure(&self, error: StoreError) -> EngineError {
        EngineError::Store { session_id: self.id.clone(), source: Arc::new(error) }
    }

    /// Fails if the session is being closed: what came before the closing call may still end, what
    /// came after it finds no session.
    pub fn check_not_closing(&self) -> Result<(), EngineError> {
        match self.is_closing.load(Ordering::Relaxed) {
            true => Err(self.not_open()),
            false => Ok(()),
        }
    }

    /// Refuses calls from now on. Nothing is compacted by itself any more.
    pub fn begin_closing(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.auto_compaction.set(None);
    }

    /// Tells those who wait that the session is closed.
    pub fn has_closed(&self) {
        self.closed.cancel();
    }

    /// Waits until the session is closed.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Claims the session for a compaction or a navigation. One structural operation at a time; it
    /// ends when the guard is dropped. `parent` cancels it.
    pub fn begin_operation(self: &Arc<Self>, parent: &CancellationToken) -> Result<OperationGuard, EngineError> {
        self.begin(OperationKind::Summary, parent)
    }

    /// Claims the session for a fork, as [`OpenSession::begin_operation`] does.
    pub fn begin_fork(self: &Arc<Self>, parent: &CancellationToken) -> Result<OperationGuard, EngineError> {
        self.begin(OperationKind::Fork, parent)
    }

    fn begin(self: &Arc<Self>, kind: OperationKind, parent: &CancellationToken) -> Result<OperationGuard, EngineError> {
        let mut operation = self.running();
        if let Some(running) = operation.as_ref() {
            return Err(EngineError::OperationInProgress { operation_id: running.id.clone() });
        }
        let id = uuid::Uuid::now_v7().to_string();
        let cancel = parent.child_token();
        *operation = Some(RunningOperation { id: id.clone(), kind, cancel: cancel.clone() });
        Ok(OperationGuard { session: Arc::clone(self), id, cancel })
    }

    /// Whether the session cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// The id of the structural operation that runs, if there is one.
    pub fn operation_id(&self) -> Option<String> {
        self.running().as_ref().map(|running| running.id.clone())
    }

    /// Waits until no structural operation runs.
    pub async fn operation_ended(&self) {
        loop {
            let ended = self.operation_ended.notified();
            if self.running().is_none() {
                return;
            }
            ended.await;
        }
    }

    /// Cancels the operation that runs, whatever it is.
    pub fn abort_operation(&self) {
        if let Some(running) = self.running().as_ref() {
            running.cancel.cancel();
        }
    }

    /// Cancels the compaction or navigation that runs; whether there was one.
    pub fn abort_summary(&self) -> bool {
        let operation = self.running();
        let summary = operation.as_ref().filter(|running| running.kind == OperationKind::Summary);
        summary.inspect(|running| running.cancel.cancel()).is_some()
    }

    fn running(&self) -> MutexGuard<'_, Option<RunningOperation>> {
        self.operation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run a structural operation on a session.
#[derive(Debug)]
pub struct OperationGuard {
    /// The session.
    pub session: Arc<OpenSession>,
    /// Names the operation.
    pub id: String,
    /// Cancelled when the operation shall end.
    pub cancel: CancellationToken,
}

impl OperationGuard {
    /// Runs `work`, or drops it and fails with [`EngineError::Cancelled`] when the operation is cancelled.
    pub async fn unless_cancelled<T, E: From<EngineError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(EngineError::Cancelled.into()),
            outcome = work => outcome,
        }
    }
}

impl Drop for OperationGuard {
    fn drop(&mut self) {
        *self.session.running() = None;
        self.session.operation_ended.notify_waiters();
    }
}

/// A session that may be changed, with the events that changes bring.
#[derive(Debug)]
pub struct SessionAccess<'a> {
    engine: &'a Arc<Engine>,
    open: &'a Arc<OpenSession>,
    session: &'a mut Session,
}

impl<'a> SessionAccess<'a> {
    /// Access to the session in `slot`; fails if it was closed meanwhile.
    pub fn new(
        engine: &'a Arc<Engine>,
        open: &'a Arc<OpenSession>,
        slot: Option<&'a mut Session>,
    ) -> Result<Self, EngineError> {
        let session = slot.ok_or_else(|| open.not_open())?;
        Ok(Self { engine, open, session })
    }

    /// The session, for reading.
    pub fn session(&self) -> &Session {
        self.session
    }

    /// The open session around it.
    pub fn open(&self) -> &'a Arc<OpenSession> {
        self.open
    }

    /// The engine.
    pub fn engine(&self) -> &'a Arc<Engine> {
        self.engine
    }

    /// Tells the host.
    pub fn tell(&self, event: Event) {
        self.engine.host.tell(event);
    }

    /// Reads what other programs added and tells the host.
    pub fn refresh(&mut self) -> Result<(), EngineError> {
        let foreign = self.session.refresh();
        let foreign = foreign.map_err(|error| self.open.store_failure(error))?;
        self.announce_foreign(foreign);
        Ok(())
    }

    /// Appends an entry and tells the host.
    pub fn append(
        &mut self,
        new: NewEntry<'_>,
        parent: Parent,
        condition: &Precondition,
    ) -> Result<Arc<Entry>, EngineError> {
        let outcome = self.session.append_if(new, parent, condition);
        Ok(self.announce(outcome)?.entry)
    }

    /// Changes the session by one of the store's own ways to append, and tells the host.
    pub fn append_with(
        &mut self,
        append: impl FnOnce(&mut Session) -> Result<Appended, StoreError>,
    ) -> Result<Arc<Entry>, EngineError> {
        let outcome = append(self.session);
        Ok(self.announce(outcome)?.entry)
    }

    /// Changes the session by one of the store's own ways to append several entries at once, and tells
    /// the host of each.
    pub fn append_all_with(
        &mut self,
        append: impl FnOnce(&mut Session) -> Result<Appended, StoreError>,
    ) -> Result<Vec<Arc<Entry>>, EngineError> {
        let outcome = append(self.session);
        let Appended { entry, mut before, .. } = self.announce(outcome)?;
        before.push(entry);
        Ok(before)
    }

    /// What the appends of this turn wait for, if anything.
    pub(crate) fn take_pending_sync(&mut self) -> Option<PendingSync> {
        self.session.take_pending_sync()
    }

    /// Takes back what could not be synced because of `error`, tells the host where the leaf is
    /// now, and gives the error of the append.
    pub(crate) fn take_back_unsynced(&mut self, error: std::io::Error) -> Result<EngineError, EngineError> {
        let undone = self.session.take_back_unsynced();
        let foreign = self.session.take_foreign();
        self.announce_foreign(foreign);
        undone.map_err(|error| self.open.store_failure(error))?;
        let locator = self.session.locator().cloned();
        Ok(self.open.store_failure(StoreError::WriteFailed { locator, source: error }))
    }

    /// Claims the session for a structural operation, once what other programs have added is read. `parent`
    /// cancels it.
    ///
    /// # Errors
    /// Where the session is open for reading alone, cannot be read, or is claimed already.
    pub fn claim(&mut self, parent: &CancellationToken) -> Result<OperationGuard, EngineError> {
        self.check_writable()?;
        self.refresh()?;
        self.open.begin_operation(parent)
    }

    /// Fails if the session is open for reading alone.
    pub fn check_writable(&self) -> Result<(), EngineError> {
        if !self.session.is_read_only() {
            return Ok(());
        }
        let locator = self.session.locator().cloned();
        Err(EngineError::ReadOnly { session_id: self.open.id.clone(), locator })
    }

    /// The leaf.
    pub fn leaf_id(&self) -> Option<EntryId> {
        self.session.leaf_id().cloned()
    }

    fn announce(&mut self, outcome: Result<Appended, StoreError>) -> Result<Appended, EngineError> {
        let mut appended = outcome.map_err(|error| self.not_appended(error))?;
        self.announce_foreign(appended.foreign.take());
        for entry in appended.entries() {
            self.announce_entry(entry);
        }
        Ok(appended)
    }

    fn announce_entry(&self, entry: &Arc<Entry>) {
        self.open.auto_compaction.follow(entry);
        if self.open.is_private {
            return;
        }
        self.tell(Event::EntryAppended { session_id: self.open.id.clone(), entry: Arc::clone(entry) });
    }

    /// The error of an append; tells of the foreign entries that were read before it failed.
    fn not_appended(&mut self, error: StoreError) -> EngineError {
        let foreign = self.session.take_foreign();
        self.announce_foreign(foreign);
        // A lease that was lost leaves a session for reading.
        self.open.set_read_only(self.session.is_read_only());
        self.open.store_failure(error)
    }

    /// Sends entries of others to the host, as long as it has room. The event after them names all.
    fn announce_foreign_entries(&self, ids: &[EntryId]) {
        for id in ids {
            if !self.engine.host.has_room() {
                return;
            }
            match self.session.entries_by_id(std::slice::from_ref(id)) {
                Ok(entries) => entries.into_iter().for_each(|entry| {
                    self.tell(Event::EntryAppended { session_id: self.open.id.clone(), entry });
                }),
                Err(error) => tracing::warn!(%error, session = self.open.id, "an entry of others cannot be read"),
            }
        }
    }

    fn announce_foreign(&self, foreign: Option<ForeignChange>) {
        let Some(foreign) = foreign else {
            return;
        };
        self.open.auto_compaction.forget_context();
        let ForeignChange { entry_ids, leaf_id } = foreign;
        if self.open.is_subscribed() {
            self.announce_foreign_entries(&entry_ids);
        }
        self.tell(Event::SessionChanged { session_id: self.open.id.clone(), entry_ids, leaf_id });
    }
}
