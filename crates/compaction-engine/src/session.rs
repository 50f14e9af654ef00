//! Open sessions, the turns that change them, the operations that claim them, and what they keep for automatic
//! compactions: the model, what was learned of its limits, and the circuit breaker.
//!
//! The circuit breaker opens after several failures in a row. Automatic compactions then pause for a while, so that a
//! broken provider costs neither money nor minutes at every message. A compaction that a caller asks for is always
//! tried.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use compaction_core::entry::{Entry, EntryHeader, EntryId, iso_timestamp};
use compaction_core::message::Message;
use compaction_core::pins::Pins;
use compaction_core::projection::Projection;
use compaction_core::settings::EffectiveLimits;
use compaction_core::trigger::{Gauge, TriggerModel};
use session_store::{
    Appended, CreateOptions, ForeignChange, Locator, MemoryStore, NewEntry, Parent, PendingSync, Session, SessionStore,
    StoreError,
};
use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, oneshot};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::host::Event;
use crate::settings::Settings;
use crate::threads;

/// The right to read a session; `None` once it is closed.
pub type ReadGuard = OwnedRwLockReadGuard<Option<Session>>;

/// The right to change a session; `None` once it is closed.
pub type WriteGuard = OwnedRwLockWriteGuard<Option<Session>>;

/// An open session and the structural operation that runs on it.
#[derive(Debug)]
pub struct OpenSession {
    /// The header's id.
    pub id: String,
    /// The session behind a fair lock: calls wait for it in the order of arrival.
    stored: Arc<RwLock<Option<Session>>>,
    /// The store that opened the session.
    pub store: Arc<dyn SessionStore>,
    /// The locator of the session in its store; `None` for a session in memory.
    pub locator: Option<Locator>,
    /// State of automatic compactions.
    pub auto_compaction: AutoCompaction,
    operation: Mutex<Option<RunningOperation>>,
    operation_ended: Notify,
    is_read_only: AtomicBool,
    is_closing: AtomicBool,
    closed: CancellationToken,
    /// Whether the session belongs to one caller. The host then gets no events of its entries.
    is_private: bool,
    /// Whether calls are as fast as a local disk.
    is_quick: bool,
    /// Notified by stores that watch for foreign writes.
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
    /// A fork. Aborting summaries does not cancel it.
    Fork,
}

/// Prepares a session that was just opened: defers its syncs and subscribes to foreign changes. Returns whether the
/// store reports them. This may take as long as the store.
fn prepare(session: &mut Session, changed: &Arc<Notify>) -> bool {
    session.defer_syncs();
    let changed = Arc::clone(changed);
    session.notify_changes(Box::new(move || changed.notify_one()))
}

impl OpenSession {
    /// Wraps a session that `store` just opened. The second value is whether the store reports foreign changes.
    pub fn new(store: Arc<dyn SessionStore>, mut session: Session) -> (Self, bool) {
        let changed = Arc::default();
        let reports_changes = prepare(&mut session, &changed);
        let open = Self {
            id: session.header().id.clone(),
            store,
            locator: session.locator().cloned(),
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
            stored: Arc::new(RwLock::new(Some(session))),
        };
        (open, reports_changes)
    }

    /// Waits for the turn to read the session.
    pub fn read(&self) -> impl Future<Output = ReadGuard> + Send + use<> {
        Arc::clone(&self.stored).read_owned()
    }

    /// A guard for reading the session. `None` while somebody changes it or waits to.
    pub fn try_read(&self) -> Option<ReadGuard> {
        Arc::clone(&self.stored).try_read_owned().ok()
    }

    /// Waits for the turn to change the session.
    pub fn write(&self) -> impl Future<Output = WriteGuard> + Send + use<> {
        Arc::clone(&self.stored).write_owned()
    }

    /// Replaces the session with one that was opened again.
    pub fn replace(&self, stored: &mut Option<Session>, mut session: Session) {
        prepare(&mut session, &self.changed);
        self.set_read_only(session.is_read_only());
        *stored = Some(session);
    }

    /// Waits until the store reports a foreign change.
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

    /// Whether calls are as fast as a local disk.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// Wraps a session in memory that belongs to one caller. The host gets events of operations on it, and none of
    /// its entries.
    pub fn private(session: Session) -> Self {
        Self { is_private: true, ..Self::new(Arc::new(MemoryStore), session).0 }
    }

    /// A session in memory with these messages, the oldest first.
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

    /// Sets whether the session is read-only.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.is_read_only.store(is_read_only, Ordering::Relaxed);
    }

    /// The context that the model sees at the leaf.
    ///
    /// # Errors
    /// [`EngineError::SessionNotOpen`] where the session was closed meanwhile, and those of the store.
    pub async fn context(self: &Arc<Self>) -> Result<Arc<Projection>, EngineError> {
        let (open, stored) = (Arc::clone(self), self.read().await);
        threads::blocking_in(self.is_quick, move || open.view(stored.as_ref())?.project_leaf()).await
    }

    /// Read access to the session of a guard.
    ///
    /// # Errors
    /// [`EngineError::SessionNotOpen`] where the session was closed meanwhile.
    pub fn view<'a>(&'a self, stored: Option<&'a Session>) -> Result<SessionView<'a>, EngineError> {
        Ok(SessionView { session: stored.ok_or_else(|| self.not_open())?, open: self })
    }

    /// The error of a session that was closed.
    pub fn not_open(&self) -> EngineError {
        EngineError::SessionNotOpen { session_id: self.id.clone() }
    }

    /// The error for a failure of the store while serving this session.
    pub fn store_failure(&self, error: StoreError) -> EngineError {
        EngineError::Store { session_id: self.id.clone(), source: Arc::new(error) }
    }

    /// Fails if the session is closing. Earlier calls may still end; later calls find no session.
    ///
    /// # Errors
    /// [`EngineError::SessionNotOpen`].
    pub fn check_not_closing(&self) -> Result<(), EngineError> {
        match self.is_closing.load(Ordering::Relaxed) {
            true => Err(self.not_open()),
            false => Ok(()),
        }
    }

    /// Refuses further calls and stops automatic compactions.
    pub fn begin_closing(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.auto_compaction.set(None);
    }

    /// Wakes the tasks that wait in [`OpenSession::closed`].
    pub fn has_closed(&self) {
        self.closed.cancel();
    }

    /// Waits until the session is closed.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Claims the session for a fork. Only one structural operation runs at a time; it ends when the guard is
    /// dropped. Cancelling `parent` cancels it.
    ///
    /// # Errors
    /// [`EngineError::OperationInProgress`].
    pub fn begin_fork(self: &Arc<Self>, parent: &CancellationToken) -> Result<OperationGuard, EngineError> {
        self.begin(OperationKind::Fork, parent)
    }

    fn begin(self: &Arc<Self>, kind: OperationKind, parent: &CancellationToken) -> Result<OperationGuard, EngineError> {
        let mut operation = self.running();
        if let Some(running) = operation.as_ref() {
            return Err(EngineError::OperationInProgress { operation_id: running.id.clone() });
        }
        let id = session_store::new_uuid();
        let cancel = parent.child_token();
        *operation = Some(RunningOperation { id: id.clone(), kind, cancel: cancel.clone() });
        Ok(OperationGuard { session: Arc::clone(self), id, cancel })
    }

    /// Whether the session is read-only. Reads of such a session check the file first, because it has no
    /// writes that would notice what others write.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// The id of the running structural operation.
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

    /// Cancels the running operation of any kind.
    pub fn abort_operation(&self) {
        if let Some(running) = self.running().as_ref() {
            running.cancel.cancel();
        }
    }

    /// Cancels the running compaction or navigation. Returns whether there was one.
    pub fn abort_summary(&self) -> bool {
        let operation = self.running();
        let summary = operation.as_ref().filter(|running| running.kind == OperationKind::Summary);
        summary.inspect(|running| running.cancel.cancel()).is_some()
    }

    fn running(&self) -> MutexGuard<'_, Option<RunningOperation>> {
        self.operation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The claim of a structural operation on a session.
#[derive(Debug)]
pub struct OperationGuard {
    /// The session.
    pub session: Arc<OpenSession>,
    /// The id of the operation.
    pub id: String,
    /// Cancels the operation.
    pub cancel: CancellationToken,
}

impl OperationGuard {
    /// Runs `work`. If the operation is cancelled, drops it and fails with [`EngineError::Cancelled`].
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

/// Read access to an open session.
#[derive(Debug, Clone, Copy)]
pub struct SessionView<'a> {
    /// What is stored.
    pub session: &'a Session,
    /// The open session around it.
    pub open: &'a OpenSession,
}

impl<'a> SessionView<'a> {
    /// Runs `read`. Its error becomes one that names this session.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read<T>(self, read: impl FnOnce(&'a Session) -> Result<T, StoreError>) -> Result<T, EngineError> {
        read(self.session).map_err(|error| self.open.store_failure(error))
    }

    /// The header of an entry.
    ///
    /// # Errors
    /// [`EngineError::EntryNotFound`], and those of the store.
    pub fn header(self, id: &EntryId) -> Result<EntryHeader, EngineError> {
        let header = self.read(|session| session.entry_header(id))?;
        header.ok_or_else(|| EngineError::EntryNotFound { session_id: self.open.id.clone(), entry_id: id.clone() })
    }

    /// The context that the model sees at `leaf`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn project(self, leaf: Option<&EntryId>) -> Result<Arc<Projection>, EngineError> {
        Ok(self.read(|session| session.context(leaf))?.projection)
    }

    /// The context that the model sees at the present leaf.
    ///
    /// # Errors
    /// Those of the store.
    pub fn project_leaf(self) -> Result<Arc<Projection>, EngineError> {
        self.project(self.session.leaf_id())
    }

    /// The pinned entries of the branch that ends at `leaf`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn pins(self, leaf: Option<&EntryId>) -> Result<Pins, EngineError> {
        self.read(|session| session.pins(leaf))
    }

    /// The pinned entries of the present branch.
    ///
    /// # Errors
    /// Those of the store.
    pub fn leaf_pins(self) -> Result<Pins, EngineError> {
        self.pins(self.session.leaf_id())
    }
}

/// Write access to a session. Every change notifies the host.
#[derive(Debug)]
pub struct SessionAccess<'a> {
    engine: &'a Arc<Engine>,
    open: &'a Arc<OpenSession>,
    session: &'a mut Session,
}

impl<'a> SessionAccess<'a> {
    /// Access to the session of a guard.
    ///
    /// # Errors
    /// [`EngineError::SessionNotOpen`] where the session was closed meanwhile.
    pub fn new(
        engine: &'a Arc<Engine>,
        open: &'a Arc<OpenSession>,
        stored: Option<&'a mut Session>,
    ) -> Result<Self, EngineError> {
        let session = stored.ok_or_else(|| open.not_open())?;
        Ok(Self { engine, open, session })
    }

    /// The session, for reading.
    pub fn session(&self) -> &Session {
        self.session
    }

    /// Access for reading.
    pub fn view(&self) -> SessionView<'_> {
        SessionView { session: self.session, open: self.open }
    }

    /// The open session around it.
    pub fn open(&self) -> &'a Arc<OpenSession> {
        self.open
    }

    /// The engine.
    pub fn engine(&self) -> &'a Arc<Engine> {
        self.engine
    }

    /// Notifies the host.
    pub fn notify(&self, event: Event) {
        self.engine.host.notify(event);
    }

    /// Reads the entries that other programs appended and notifies the host.
    pub fn refresh(&mut self) -> Result<(), EngineError> {
        let foreign = self.read_foreign()?;
        self.announce_foreign(foreign);
        Ok(())
    }

    /// Reads the entries that other programs appended. The caller gives them to [`SessionAccess::announce_foreign`].
    pub fn read_foreign(&mut self) -> Result<Option<ForeignChange>, EngineError> {
        self.session.refresh().map_err(|error| self.open.store_failure(error))
    }

    /// Appends entries by `append` and notifies the host of each.
    pub fn append(
        &mut self,
        append: impl FnOnce(&mut Session) -> Result<Appended, StoreError>,
    ) -> Result<Appended, EngineError> {
        let mut appended = append(self.session).map_err(|error| self.not_appended(error))?;
        self.announce_foreign(appended.foreign.take());
        for entry in appended.entries() {
            self.open.auto_compaction.follow(entry);
            if !self.open.is_private {
                self.notify(Event::EntryAppended { session_id: self.open.id.clone(), entry: Arc::clone(entry) });
            }
        }
        Ok(appended)
    }

    /// The sync that the appends of this turn wait for.
    pub(crate) fn take_pending_sync(&mut self) -> Option<PendingSync> {
        self.session.take_pending_sync()
    }

    /// Removes the entries that could not be synced because of `error`, and notifies the host of the leaf. Returns
    /// the error of the append.
    pub(crate) fn take_back_unsynced(&mut self, error: std::io::Error) -> Result<EngineError, EngineError> {
        let undone = self.session.take_back_unsynced();
        let foreign = self.session.take_foreign();
        self.announce_foreign(foreign);
        undone.map_err(|error| self.open.store_failure(error))?;
        let locator = self.session.locator().cloned();
        Ok(self.open.store_failure(StoreError::WriteFailed { locator, source: error }))
    }

    /// Claims the session for a structural operation, after reading what other programs appended. Cancelling `parent`
    /// cancels it.
    ///
    /// # Errors
    /// Where the session is read-only, cannot be read, or is claimed already.
    pub fn claim(&mut self, parent: &CancellationToken) -> Result<OperationGuard, EngineError> {
        self.check_writable()?;
        self.refresh()?;
        self.open.begin(OperationKind::Summary, parent)
    }

    /// Fails with [`EngineError::ReadOnly`] if the session is read-only.
    pub fn check_writable(&self) -> Result<(), EngineError> {
        if !self.session.is_read_only() {
            return Ok(());
        }
        let locator = self.session.locator().cloned();
        Err(EngineError::ReadOnly { session_id: self.open.id.clone(), locator })
    }

    /// The id of the leaf.
    pub fn leaf_id(&self) -> Option<EntryId> {
        self.session.leaf_id().cloned()
    }

    /// The error of an append. Foreign entries that were read before the failure are announced.
    fn not_appended(&mut self, error: StoreError) -> EngineError {
        let foreign = self.session.take_foreign();
        self.announce_foreign(foreign);
        // A session that lost its lease is read-only.
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
                    self.notify(Event::EntryAppended { session_id: self.open.id.clone(), entry });
                }),
                Err(error) => tracing::warn!(%error, session = self.open.id, "an entry of others cannot be read"),
            }
        }
    }

    /// Notifies the host of changes by other programs.
    pub fn announce_foreign(&self, foreign: Option<ForeignChange>) {
        let Some(foreign) = foreign else {
            return;
        };
        self.open.auto_compaction.state().gauge = None;
        let ForeignChange { entry_ids, leaf_id } = foreign;
        if self.open.is_subscribed() {
            self.announce_foreign_entries(&entry_ids);
        }
        self.notify(Event::SessionChanged { session_id: self.open.id.clone(), entry_ids, leaf_id });
    }
}

/// Changes a session whose lock is held, on a worker thread. When this function returns, everything that must be
/// durable is on the disk. Other calls use the session while the disk works.
///
/// # Errors
/// Those of `work`, of a session that was closed meanwhile, and of a failed sync, whose entries are removed again.
pub async fn change<T, E, W>(engine: Arc<Engine>, session: Arc<OpenSession>, guard: WriteGuard, work: W) -> Result<T, E>
where
    T: Send + 'static,
    E: From<EngineError> + Send + 'static,
    W: FnOnce(&mut SessionAccess<'_>) -> Result<T, E> + Send + 'static,
{
    let is_quick = session.is_quick();
    threads::run_with_permit(is_quick, move || Turn::take(engine, session, guard, work)).await??.end().await
}

/// A finished turn with the sync that it still waits for.
#[derive(Debug)]
pub struct Turn<T, E> {
    outcome: Result<T, E>,
    synced: Option<oneshot::Receiver<io::Result<()>>>,
    engine: Arc<Engine>,
    session: Arc<OpenSession>,
}

impl<T, E: From<EngineError>> Turn<T, E> {
    /// Does the work of a turn. The session is unlocked when this function returns.
    ///
    /// # Errors
    /// [`EngineError::SessionNotOpen`] where the session was closed meanwhile.
    pub fn take(
        engine: Arc<Engine>,
        session: Arc<OpenSession>,
        mut guard: WriteGuard,
        work: impl FnOnce(&mut SessionAccess<'_>) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut access = SessionAccess::new(&engine, &session, guard.as_mut())?;
        let outcome = work(&mut access);
        // Syncs are queued in the order of the writes. Waiting for them needs no lock.
        let synced = access.take_pending_sync().map(queue_sync);
        drop(guard);
        Ok(Self { outcome, synced, engine, session })
    }

    /// Waits for the sync of the turn.
    ///
    /// # Errors
    /// That of the work, or that of a failed sync.
    pub async fn end(self) -> Result<T, E> {
        let Some(synced) = self.synced else {
            return self.outcome;
        };
        match synced.await.unwrap_or_else(|_| Err(io::Error::other("the sync ended early"))) {
            Ok(()) => self.outcome,
            Err(error) => Err(undo_unsynced(self.engine, self.session, error).await.into()),
        }
    }
}

fn queue_sync(pending: PendingSync) -> oneshot::Receiver<io::Result<()>> {
    let (sender, synced) = oneshot::channel();
    pending.then(move |outcome| drop(sender.send(outcome)));
    synced
}

/// Removes the entries that could not be synced, before the caller gets its error.
async fn undo_unsynced(engine: Arc<Engine>, session: Arc<OpenSession>, error: io::Error) -> EngineError {
    let guard = session.write().await;
    let undone = threads::blocking_in(session.is_quick(), move || {
        let mut guard = guard;
        SessionAccess::new(&engine, &session, guard.as_mut())?.take_back_unsynced(error)
    });
    undone.await.unwrap_or_else(|error| error)
}

/// Maximum number of steps that fit a window to a threshold.
const WINDOW_STEPS: usize = 4;

/// The model of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentModel {
    /// Its provider.
    pub provider: String,
    /// Its id.
    pub id: String,
    /// Tokens of its window.
    pub context_window: u64,
    /// Maximum output tokens of a request.
    pub max_output_tokens: Option<u64>,
}

impl AgentModel {
    /// The model for messages beside `tokens` of instructions, which are in each of its requests. Its window is so
    /// small that its threshold and the instructions add up to the real threshold. If the instructions are above that,
    /// the window is what they leave of the real one; `None` if they leave nothing. An unknown window (0) stays
    /// unknown.
    pub fn beside(self, tokens: u64, settings: &Settings) -> Option<Self> {
        if self.context_window == 0 {
            return Some(self);
        }
        let wanted = settings.compaction_for(&self.provider, &self.id);
        let threshold = |window| EffectiveLimits::for_window(window, &wanted).threshold;
        let most = threshold(self.context_window).saturating_sub(tokens);
        let mut window = self.context_window.checked_sub(tokens).filter(|left| *left > 0)?;
        // The reserve of a smaller window is smaller too, at most a quarter of it, so few steps come near.
        for _ in 0..WINDOW_STEPS {
            let fitted = threshold(window);
            if most == 0 || fitted <= most {
                break;
            }
            window = (u128::from(window) * u128::from(most) / u128::from(fitted)) as u64;
        }
        Some(Self { context_window: window.max(1), ..self })
    }

    /// The model as the triggers need it. `room` is the input limit that its provider has shown.
    pub fn for_trigger(&self, room: Option<u64>) -> TriggerModel<'_> {
        TriggerModel {
            provider: &self.provider,
            id: &self.id,
            context_window: self.context_window,
            max_output_tokens: self.max_output_tokens,
            room,
        }
    }
}

/// State of the automatic compactions of a session.
#[derive(Debug, Default)]
pub struct AutoCompaction {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    model: Option<AgentModel>,
    /// Input tokens that the provider accepts, if it has shown that they are fewer than the window.
    room: Option<u64>,
    /// Whether a compaction may have become due while another operation ran.
    pub(crate) is_check_missed: bool,
    /// The last answer that overflowed while another operation ran.
    pub(crate) missed_overflow: Option<MissedOverflow>,
    /// The last answer whose overflow a compaction could not resolve.
    pub(crate) failed_recovery: Option<EntryId>,
    /// The last answer whose overflow was resolved by shortening tool results, without a compaction.
    pub(crate) clipped_recovery: Option<EntryId>,
    /// How full the context is, as long as only appends change the session.
    pub(crate) gauge: Option<Gauge>,
    /// Pauses automatic compactions after failures.
    pub(crate) breaker: Breaker,
}

/// An answer that overflowed while an operation ran. If the operation is a compaction, it makes room for the answer's
/// request as well.
#[derive(Debug)]
pub(crate) struct MissedOverflow {
    /// The operation.
    pub(crate) operation_id: String,
    /// The entry of the answer.
    pub(crate) answer: EntryId,
    /// Whether the compaction has hidden the attempt.
    pub(crate) is_hidden: bool,
}

impl AutoCompaction {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the model to compact for; `None` stops automatic compactions. A new model gets a new attempt at what
    /// failed for the old one.
    pub fn set(&self, model: Option<AgentModel>) {
        let mut state = self.state();
        if state.model != model {
            (state.failed_recovery, state.clipped_recovery) = (None, None);
            (state.room, state.missed_overflow) = (None, None);
        }
        (state.model, state.gauge) = (model, None);
    }

    /// The answers whose last recovery made no compaction: the answer whose recovery failed, and the answer whose
    /// recovery only shortened tool results.
    pub(crate) fn tried_recoveries(&self) -> (Option<EntryId>, Option<EntryId>) {
        let state = self.state();
        (state.failed_recovery.clone(), state.clipped_recovery.clone())
    }

    /// The answer that overflowed while this operation ran.
    pub(crate) fn missed_overflow(&self, operation_id: &str) -> Option<EntryId> {
        let state = self.state();
        let missed = state.missed_overflow.as_ref().filter(|missed| missed.operation_id == operation_id);
        missed.map(|missed| missed.answer.clone())
    }

    /// Forgets that answer if its attempt was hidden. Returns whether it was.
    pub(crate) fn take_hidden_overflow(&self, operation_id: &str) -> bool {
        let is_hidden = |missed: &mut MissedOverflow| missed.is_hidden && missed.operation_id == operation_id;
        self.state().missed_overflow.take_if(is_hidden).is_some()
    }

    /// Updates the gauge by an appended entry.
    pub(crate) fn follow(&self, entry: &Entry) {
        let mut state = self.state();
        state.gauge = state.gauge.take().and_then(|gauge| gauge.followed_by(entry));
    }

    /// The gauge of the context at `leaf`, if it is known without a projection.
    pub(crate) fn gauge_at(&self, leaf: &EntryId) -> Option<Gauge> {
        self.state().gauge.clone().filter(|gauge| gauge.leaf_id() == leaf)
    }

    /// Notes that the provider accepts no more than `tokens` of input.
    pub(crate) fn learn_room(&self, tokens: u64) {
        let mut state = self.state();
        state.room = Some(state.room.map_or(tokens, |room| room.min(tokens)));
    }

    /// Notes that the provider has read `tokens`, which may be more than the known limit.
    pub(crate) fn learn_read(&self, tokens: u64) {
        let mut state = self.state();
        state.room = state.room.map(|room| room.max(tokens));
    }

    /// Notes that the provider has answered a context of an estimated `tokens` without reporting its usage. If they are
    /// clearly more than the known limit, that limit was wrong.
    pub(crate) fn learn_estimate(&self, tokens: u64) {
        let mut state = self.state();
        state.room = state.room.filter(|room| tokens / 5 * 4 <= *room).map(|room| room.max(tokens));
    }

    /// The input limit that the provider of `model` has shown.
    pub fn room_of(&self, model: &AgentModel) -> Option<u64> {
        let state = self.state();
        state.room.filter(|_| state.model.as_ref() == Some(model))
    }

    /// The current model, with the window that its provider has shown.
    pub fn effective_model(&self) -> Option<AgentModel> {
        let model = self.model()?;
        let context_window = self.room_of(&model).map_or(model.context_window, |room| room.min(model.context_window));
        Some(AgentModel { context_window, ..model })
    }

    /// The current model.
    pub fn model(&self) -> Option<AgentModel> {
        self.state().model.clone()
    }
}

/// Number of failures in a row that open the circuit.
const MAX_FAILURES: u32 = 3;
/// How long the circuit stays open. Then one compaction may try; if it fails, the circuit opens again.
const OPEN_FOR: Duration = Duration::from_secs(60);

/// Counts the failures of one session's compactions.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    open_until: Option<SystemTime>,
}

impl Breaker {
    /// Closes the circuit after a success.
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Counts a failure at `now`.
    pub(crate) fn failed(&mut self, now: SystemTime) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= MAX_FAILURES {
            self.open_until = Some(now + OPEN_FOR);
        }
    }

    /// The time until which the circuit is open, as ISO 8601; `None` if it is closed at `now`.
    pub(crate) fn open_until(&self, now: SystemTime) -> Option<String> {
        self.open_until.filter(|until| *until > now).map(shown)
    }
}

fn shown(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    iso_timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_open_it_for_a_while() {
        let (mut breaker, start) = (Breaker::default(), SystemTime::UNIX_EPOCH);
        breaker.failed(start);
        breaker.failed(start);
        breaker.succeeded();
        for _ in 0..MAX_FAILURES {
            assert_eq!(breaker.open_until(start), None);
            breaker.failed(start);
        }
        assert_eq!(breaker.open_until(start).as_deref(), Some("1970-01-01T00:01:00.000Z"));
        let later = start + OPEN_FOR;
        assert_eq!(breaker.open_until(later), None, "one may try");
        breaker.failed(later);
        assert!(breaker.open_until(later).is_some(), "it failed once more");
        breaker.succeeded();
        assert_eq!(breaker.open_until(later), None);
    }
}
