//! Sessions that are open, and the operations that run on them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compaction_core::entry::{Entry, EntryId};
use session_store::{
    Appended, AppendedAll, ForeignChange, NewEntry, Parent, PendingSync, Precondition, Session, StoreError,
};
use tokio::sync::{Notify, RwLock};
use tokio_util::sync::CancellationToken;

use crate::auto_compaction::AutoCompaction;
use crate::breaker::Breaker;
use crate::errors::RpcError;
use crate::lean;
use crate::server::Server;
use crate::wire;

/// A session, until it is closed.
pub type Slot = Option<Session>;

/// An open session and the structural operation that runs on it.
#[derive(Debug)]
pub struct OpenSession {
    /// The header's id.
    pub id: String,
    /// The session. Calls line up for it in the order of arrival.
    pub slot: Arc<RwLock<Slot>>,
    /// The session's file, as the store names it; `None` for sessions in memory.
    pub path: Option<PathBuf>,
    /// How the session's summaries went.
    pub(crate) breaker: Breaker,
    /// Whether and for which model the session is compacted by itself.
    pub(crate) auto_compaction: AutoCompaction,
    operation: Mutex<Option<RunningOperation>>,
    operation_ended: Notify,
    is_read_only: AtomicBool,
    is_closing: AtomicBool,
    closed: CancellationToken,
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

impl OpenSession {
    /// Wraps a session that was just opened.
    pub fn new(mut session: Session) -> Self {
        session.defer_syncs();
        Self {
            id: session.header().id.clone(),
            path: session.path().map(Path::to_owned),
            breaker: Breaker::default(),
            auto_compaction: AutoCompaction::default(),
            operation: Mutex::default(),
            operation_ended: Notify::new(),
            is_closing: AtomicBool::new(false),
            closed: CancellationToken::new(),
            is_read_only: AtomicBool::new(session.is_read_only()),
            slot: Arc::new(RwLock::new(Some(session))),
        }
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
    pub fn opened<'a>(&self, slot: Option<&'a Session>) -> Result<&'a Session, RpcError> {
        slot.ok_or_else(|| self.not_open())
    }

    /// The error of a session that was closed.
    pub fn not_open(&self) -> RpcError {
        RpcError::SessionNotOpen { session_id: self.id.clone() }
    }

    /// An error of the store, as the wire knows it.
    pub fn store_error(&self, error: &StoreError) -> RpcError {
        RpcError::from_store(error, &self.id)
    }

    /// Fails if the session is being closed: what came before the closing call may still end, what
    /// came after it finds no session.
    pub(crate) fn check_not_closing(&self) -> Result<(), RpcError> {
        match self.is_closing.load(Ordering::Relaxed) {
            true => Err(self.not_open()),
            false => Ok(()),
        }
    }

    /// Refuses calls from now on. Nothing is compacted by itself any more.
    pub(crate) fn begin_closing(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.auto_compaction.set(None);
    }

    /// Tells those who wait that the session is closed.
    pub(crate) fn has_closed(&self) {
        self.closed.cancel();
    }

    /// Waits until the session is closed.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Claims the session for a compaction or a navigation. One structural operation at a time; it
    /// ends when the guard is dropped. `parent` cancels it.
    pub fn begin_operation(self: &Arc<Self>, parent: &CancellationToken) -> Result<OperationGuard, RpcError> {
        self.begin(OperationKind::Summary, parent)
    }

    /// Claims the session for a fork, as [`OpenSession::begin_operation`] does.
    pub(crate) fn begin_fork(self: &Arc<Self>, parent: &CancellationToken) -> Result<OperationGuard, RpcError> {
        self.begin(OperationKind::Fork, parent)
    }

    fn begin(self: &Arc<Self>, kind: OperationKind, parent: &CancellationToken) -> Result<OperationGuard, RpcError> {
        let mut operation = self.running();
        if let Some(running) = operation.as_ref() {
            return Err(RpcError::OperationInProgress { operation_id: running.id.clone() });
        }
        let id = uuid::Uuid::now_v7().to_string();
        let cancel = parent.child_token();
        *operation = Some(RunningOperation { id: id.clone(), kind, cancel: cancel.clone() });
        Ok(OperationGuard { session: Arc::clone(self), id, cancel })
    }

    /// Whether the session cannot be written.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// The id of the structural operation that runs, if there is one.
    pub fn operation_id(&self) -> Option<String> {
        self.running().as_ref().map(|running| running.id.clone())
    }

    /// Waits until no structural operation runs.
    pub(crate) async fn operation_ended(&self) {
        loop {
            let ended = self.operation_ended.notified();
            if self.running().is_none() {
                return;
            }
            ended.await;
        }
    }

    /// Cancels the operation that runs, whatever it is.
    pub(crate) fn abort_operation(&self) {
        if let Some(running) = self.running().as_ref() {
            running.cancel.cancel();
        }
    }

    /// Cancels the compaction or navigation that runs; whether there was one.
    pub(crate) fn abort_summary(&self) -> bool {
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
    /// Runs `work`, or drops it and fails with `requestCancelled` when the operation is cancelled.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, RpcError>>,
    ) -> Result<T, RpcError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(RpcError::Cancelled),
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

/// A session that may be changed, with the notifications that changes bring.
#[derive(Debug)]
pub struct SessionAccess<'a> {
    server: &'a Server,
    open: &'a Arc<OpenSession>,
    session: &'a mut Session,
}

impl<'a> SessionAccess<'a> {
    /// Access to the session in `slot`; fails if it was closed meanwhile.
    pub fn new(
        server: &'a Server,
        open: &'a Arc<OpenSession>,
        slot: Option<&'a mut Session>,
    ) -> Result<Self, RpcError> {
        let session = slot.ok_or_else(|| open.not_open())?;
        Ok(Self { server, open, session })
    }

    /// The session, for reading.
    pub fn session(&self) -> &Session {
        self.session
    }

    /// The open session around it.
    pub fn open(&self) -> &'a Arc<OpenSession> {
        self.open
    }

    /// The server.
    pub fn server(&self) -> &'a Server {
        self.server
    }

    /// Reads what other programs added and tells the client.
    pub fn refresh(&mut self) -> Result<(), RpcError> {
        let foreign = self.session.refresh();
        let foreign = foreign.map_err(|error| self.open.store_error(&error))?;
        self.announce_foreign(foreign);
        Ok(())
    }

    /// Appends an entry and tells the client.
    pub fn append(
        &mut self,
        new: NewEntry<'_>,
        parent: Parent,
        condition: &Precondition,
    ) -> Result<std::sync::Arc<Entry>, RpcError> {
        let outcome = self.session.append_if(new, parent, condition);
        self.announce(outcome)
    }

    /// Changes the session by one of the store's own ways to append, and tells the client.
    pub fn append_with(
        &mut self,
        append: impl FnOnce(&mut Session) -> Result<Appended, StoreError>,
    ) -> Result<std::sync::Arc<Entry>, RpcError> {
        let outcome = append(self.session);
        self.announce(outcome)
    }

    /// Changes the session by one of the store's own ways to append several entries at once, and tells
    /// the client of each.
    pub(crate) fn append_all_with(
        &mut self,
        append: impl FnOnce(&mut Session) -> Result<AppendedAll, StoreError>,
    ) -> Result<Vec<std::sync::Arc<Entry>>, RpcError> {
        let appended = append(self.session).map_err(|error| self.not_appended(&error))?;
        self.announce_foreign(appended.foreign);
        for entry in &appended.entries {
            self.announce_entry(entry);
        }
        Ok(appended.entries)
    }

    /// What the appends of this turn wait for, if anything.
    pub(crate) fn take_pending_sync(&mut self) -> Option<PendingSync> {
        self.session.take_pending_sync()
    }

    /// Takes back what could not be synced because of `error`, tells the client where the leaf is
    /// now, and gives the error of the append.
    pub(crate) fn take_back_unsynced(&mut self, error: std::io::Error) -> Result<RpcError, RpcError> {
        let undone = self.session.take_back_unsynced();
        let foreign = self.session.take_foreign();
        self.announce_foreign(foreign);
        undone.map_err(|error| self.open.store_error(&error))?;
        let path = self.session.path().map(Path::to_owned);
        Ok(self.open.store_error(&StoreError::WriteFailed { path, source: error }))
    }

    /// Fails if the session is open for reading alone.
    pub fn check_writable(&self) -> Result<(), RpcError> {
        if !self.session.is_read_only() {
            return Ok(());
        }
        let path = self.session.path().map(Path::display).map(|path| path.to_string()).unwrap_or_default();
        Err(RpcError::ReadOnly { message: format!("session {} is open for reading alone: {path}", self.open.id) })
    }

    /// The leaf as the wire names it.
    pub fn leaf_id(&self) -> Option<String> {
        self.session.leaf_id().map(EntryId::to_string)
    }

    fn announce(&mut self, outcome: Result<Appended, StoreError>) -> Result<std::sync::Arc<Entry>, RpcError> {
        let appended = outcome.map_err(|error| self.not_appended(&error))?;
        self.announce_foreign(appended.foreign);
        self.announce_entry(&appended.entry);
        Ok(appended.entry)
    }

    fn announce_entry(&self, entry: &std::sync::Arc<Entry>) {
        self.open.auto_compaction.follow(entry);
        let entry = lean::announced(self.server, entry);
        self.server.notify("entryAppended", &wire::EntryAppended { session_id: self.open.id.clone(), entry });
    }

    /// The error of an append; tells of the foreign entries that were read before it failed.
    fn not_appended(&mut self, error: &StoreError) -> RpcError {
        let foreign = self.session.take_foreign();
        self.announce_foreign(foreign);
        self.open.store_error(error)
    }

    fn announce_foreign(&self, foreign: Option<ForeignChange>) {
        let Some(foreign) = foreign else {
            return;
        };
        self.open.auto_compaction.forget_context();
        self.server.notify(
            "sessionChanged",
            &wire::SessionChanged {
                session_id: self.open.id.clone(),
                entry_ids: foreign.entry_ids.iter().map(EntryId::to_string).collect(),
                leaf_id: foreign.leaf_id.as_ref().map(EntryId::to_string),
            },
        );
    }
}
