//! One call: what it can access, in which order, and how it is cancelled. A call takes its place in the queues when it
//! arrives.
//!
//! Locks are taken in this order: the queue of a session id, `opening`, a session. A call that is queued for a session
//! waits for no other lock, so there is no deadlock.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use compaction_core::json::decode_string;
use compaction_engine::session::{self, OpenSession, ReadGuard, SessionAccess, SessionView, Turn, WriteGuard};
use compaction_engine::{EngineError, threads};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::arrivals::{OpeningTarget, PendingOpening, PendingOperation, QueueMember, Scope};
use crate::errors::RpcError;
use crate::params::{Params, SHORT_BYTES};
use crate::reply::ReplyStart;
use crate::server::Server;
use crate::transport::RawId;
use crate::unknown::{self, UnknownName};
use crate::wire::DiagnosticKind;

/// The context of a handler, besides its parameters.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The server.
    pub server: Arc<Server>,
    /// The method.
    pub(crate) method: &'static str,
    /// Cancelled when the client cancels the request, or the server ends.
    pub cancel: CancellationToken,
    pending: Option<Arc<PendingOperation>>,
    is_in_batch: bool,
    id: Option<RawId>,
    state: Arc<Mutex<CallState>>,
}

/// The parts of a call that are taken out once.
#[derive(Debug, Default)]
struct CallState {
    params: Params,
    ticket: Option<Ticket>,
    /// Held until the reply is queued, see [`CallContext::hold_permit`].
    permit: Option<SemaphorePermit<'static>>,
    reply: Option<String>,
    /// Unknown members that the result reports.
    unknown: Vec<UnknownName>,
}

/// The result of a call, or the note that its reply is already written.
#[derive(Debug)]
pub(crate) enum Reply<R> {
    Result(R),
    Written,
}

impl<R> From<R> for Reply<R> {
    fn from(result: R) -> Self {
        Self::Result(result)
    }
}

/// Work that reads a session.
pub trait Read<T>: FnOnce(SessionView<'_>) -> Result<T, RpcError> + Send + 'static {}

impl<T, W: FnOnce(SessionView<'_>) -> Result<T, RpcError> + Send + 'static> Read<T> for W {}

/// Work that changes a session.
pub trait Write<T>: FnOnce(&mut SessionAccess<'_>) -> Result<T, RpcError> + Send + 'static {}

impl<T, W: FnOnce(&mut SessionAccess<'_>) -> Result<T, RpcError> + Send + 'static> Write<T> for W {}

/// Methods whose results have diagnostics.
const WITH_DIAGNOSTICS: [&str; 2] = ["initialize", "updateSettings"];

impl CallContext {
    #[expect(clippy::too_many_arguments, reason = "one caller gathers them")]
    pub(crate) fn new(
        server: Arc<Server>,
        method: &'static str,
        cancel: CancellationToken,
        ticket: Option<Ticket>,
        pending: Option<PendingOperation>,
        is_in_batch: bool,
        id: Option<RawId>,
        params: Params,
    ) -> Self {
        let state = CallState { params, ticket, ..CallState::default() };
        let pending = pending.map(Arc::new);
        Self { server, method, cancel, pending, is_in_batch, id, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, CallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the parameters, once, and reports unknown members to the client. `schema` is the schema of `P`; it is
    /// generated when it is first needed.
    pub(crate) async fn read_params<P>(&self, schema: &OnceLock<Value>) -> Result<P, RpcError>
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
    {
        let params = std::mem::take(&mut self.state().params);
        let (params, unread) = blocking_if_long(params.bytes(), move || params.read_and_note::<P>()).await?;
        if !unread.is_empty() {
            let schema = schema.get_or_init(unknown::schema_of::<P>);
            self.report_unknown(DiagnosticKind::UnknownMember, unknown::members(schema, &unread));
        }
        Ok(params)
    }

    /// Reports unknown names to the client: in the result, if it has diagnostics, otherwise by `diagnostic`.
    pub(crate) fn report_unknown(&self, kind: DiagnosticKind, names: Vec<UnknownName>) {
        if WITH_DIAGNOSTICS.contains(&self.method) {
            self.state().unknown.extend(names);
            return;
        }
        for diagnostic in self.server.reported.new_diagnostics(self.method, kind, names) {
            self.server.notify("diagnostic", &diagnostic);
        }
    }

    /// The unknown members that the result reports.
    pub(crate) fn unknown_members(&self) -> Vec<String> {
        let names = std::mem::take(&mut self.state().unknown);
        names.iter().map(|name| format!("{}: {}", self.method, name.message("member"))).collect()
    }

    /// Writes the reply as it is sent. A call without an id gets none. A long reply is written on a thread.
    pub(crate) async fn write_reply<R: Serialize + Send + 'static>(&self, result: R) -> Result<(), RpcError> {
        let Some(start) = self.reply_start() else {
            return Ok(());
        };
        let reply = match start.clone().write_short(SHORT_BYTES, &result) {
            Some(reply) => Ok(reply),
            // If the result cannot be written at all, the second attempt reports the error.
            None => {
                let write = move || start.write(&result);
                // The permit that the call holds covers this work. Waiting for a second one could deadlock.
                let has_permit = self.state().permit.is_some();
                if has_permit { threads::run(write).await? } else { threads::run_with_permit(true, write).await? }
            }
        };
        self.state().reply = Some(reply?);
        Ok(())
    }

    /// The reply up to its result; `None` for a call without an id.
    fn reply_start(&self) -> Option<ReplyStart> {
        self.id.as_ref().map(|id| ReplyStart::new(id.get()))
    }

    /// Takes the reply that was written.
    pub(crate) fn take_reply(&self) -> Option<String> {
        self.state().reply.take()
    }

    /// Whether the operation of this call was aborted before it began.
    pub(crate) fn was_aborted(&self) -> bool {
        self.server.closing.is_cancelled() || self.pending.as_ref().is_some_and(|pending| pending.is_aborted())
    }

    /// Reads the session of the call by `work`, on a thread for blocking work. Cancelling ends the wait at once; the
    /// thread finishes in the background.
    pub async fn read<T: Send + 'static>(&self, work: impl Read<T>) -> Result<T, RpcError> {
        self.read_then(work, Ok).await
    }

    /// As [`CallContext::read`], for a result that may be long: the thread also writes the reply, after it has
    /// released the session.
    pub(crate) async fn read_to_reply<R: Serialize + 'static>(&self, work: impl Read<R>) -> Result<Reply<R>, RpcError> {
        let start = self.reply_start();
        let write = |result| start.map(|start| start.write(&result)).transpose();
        let reply = self.read_then(work, write).await?;
        self.state().reply = reply;
        Ok(Reply::Written)
    }

    /// As [`CallContext::read`], for a result that is written while the session is read, because it may be too large
    /// for memory beside its reply.
    pub(crate) async fn read_while_writing<R, W>(&self, work: W) -> Result<Reply<R>, RpcError>
    where
        W: FnOnce(SessionView<'_>, ReplyStart) -> Result<String, RpcError> + Send + 'static,
    {
        let start = self.reply_start();
        let write = move |view: SessionView<'_>| start.map(|start| work(view, start)).transpose();
        let reply = self.read_then(write, Ok).await?;
        self.state().reply = reply;
        Ok(Reply::Written)
    }

    /// Reads the session of the call by `work`, and does `then` with the result on the same thread, after the session
    /// was released.
    async fn read_then<T, U: Send + 'static>(
        &self,
        work: impl Read<T>,
        then: impl FnOnce(T) -> Result<U, RpcError> + Send + 'static,
    ) -> Result<U, RpcError> {
        let reading = async {
            match self.ticket()?.resolved(&self.server).await? {
                Ticket::Read(session, lock) => {
                    let guard = lock.guard().await;
                    session.check_not_closing()?;
                    self.hold_permit(&session).await?;
                    let (work, then) = match read(Arc::clone(&session), guard, work, then).await? {
                        Ok(done) => return Ok(done),
                        Err(undone) => undone,
                    };
                    // A call that waits for a session holds no permit: the call that it waits for may need it.
                    drop(self.state().permit.take());
                    let guard = session.write().await;
                    session.check_not_closing()?;
                    self.hold_permit(&session).await?;
                    read_refreshed(Arc::clone(&self.server), session, guard, work, then).await
                }
                Ticket::Write(session, lock) => {
                    let guard = lock.guard().await;
                    session.check_not_closing()?;
                    self.hold_permit(&session).await?;
                    read_refreshed(Arc::clone(&self.server), session, guard, work, then).await
                }
                Ticket::Opening(..) | Ticket::Unresolved(..) => Err(no_ticket()),
            }
        };
        self.unless_cancelled(reading).await
    }

    /// Changes the session of the call by `work`. The call can be cancelled while it waits for its turn. Once `work`
    /// has begun, its outcome is the result.
    pub async fn write<T: Send + 'static>(&self, work: impl Write<T>) -> Result<T, RpcError> {
        let (session, guard) = self.unless_cancelled(self.write_guard()).await?;
        session::change(Arc::clone(self.server.engine()?), session, guard, work).await
    }

    /// As [`CallContext::write`], for work that appends one short line. If the session is settled, the work is done
    /// here, because handing it to a thread costs more than the write.
    pub(crate) async fn write_briefly<T: Send + 'static>(&self, work: impl Write<T>) -> Result<T, RpcError> {
        let (session, mut guard) = self.unless_cancelled(self.write_guard()).await?;
        // Checking whether a compaction is due can take long.
        let is_brief = session.auto_compaction.model().is_none();
        let engine = Arc::clone(self.server.engine()?);
        if !is_brief || !guard.as_mut().is_some_and(session_store::Session::is_settled) {
            return session::change(engine, session, guard, work).await;
        }
        let turn = {
            let _corked = self.server.cork();
            catch_panic(|| Turn::take(engine, session, guard, work))
        };
        turn?.end().await
    }

    /// Waits for the turn to change the session of the call.
    pub(crate) async fn write_guard(&self) -> Result<(Arc<OpenSession>, WriteGuard), RpcError> {
        let Ticket::Write(session, lock) = self.ticket()?.resolved(&self.server).await? else {
            return Err(no_ticket());
        };
        let guard = lock.guard().await;
        session.check_not_closing()?;
        Ok((session, guard))
    }

    /// Waits for the turn to add sessions.
    pub(crate) async fn opening_turn(&self) -> Result<OpeningTurn, RpcError> {
        match self.ticket()? {
            Ticket::Opening(lock, opening) => {
                self.unless_cancelled(async { Ok(OpeningTurn::of(lock, opening).await) }).await
            }
            _ => Err(no_ticket()),
        }
    }

    /// Waits for the turn to read an open session. Only calls that have the turn to add sessions may queue for a
    /// session so late.
    pub(crate) async fn read_guard(&self, session_id: &str) -> Result<(Arc<OpenSession>, ReadGuard), RpcError> {
        let not_open = || RpcError::not_open(session_id);
        let session = self.server.sessions.get(session_id).ok_or_else(not_open)?;
        let guard = self.unless_cancelled(async { Ok(session.read().await) }).await?;
        session.check_not_closing()?;
        Ok((session, guard))
    }

    /// Runs `work`, or fails with `requestCancelled` if the call is cancelled first.
    pub async fn unless_cancelled<T>(&self, work: impl Future<Output = Result<T, RpcError>>) -> Result<T, RpcError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(EngineError::Cancelled.into()),
            outcome = work => outcome,
        }
    }

    /// Waits until the client has read enough and few enough calls work, and keeps the permit until the reply is
    /// queued. Only calls that hold all locks they need may wait here, so that no call waits for another.
    async fn hold_permit(&self, session: &OpenSession) -> Result<(), RpcError> {
        let permit = threads::permit(session.is_quick()).await;
        self.server.output_ready().await;
        self.state().permit = permit;
        // A batch is sent when it is complete, so waiting for the client would not help.
        if self.is_in_batch {
            self.server.batch_room()?;
        }
        Ok(())
    }

    fn ticket(&self) -> Result<Ticket, RpcError> {
        self.state().ticket.take().ok_or_else(no_ticket)
    }
}

fn no_ticket() -> RpcError {
    RpcError::invalid_params("sessionId", "a value: the member is required")
}

/// Runs `work` on a thread for blocking work, once few enough calls work. A panic becomes an internal error.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    blocking_in(true, work).await
}

/// Runs `work` on a text of `bytes` bytes: here if the text is short, otherwise as [`blocking`] does.
pub(crate) async fn blocking_if_long<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    if bytes <= SHORT_BYTES { work() } else { blocking(work).await }
}

/// As [`blocking`], for work in a store or session that is quick or slow.
pub(crate) async fn blocking_in<T: Send + 'static>(
    is_quick: bool,
    work: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    threads::run_with_permit(is_quick, work).await?
}

/// Runs `work` with the session and then `then` without it. If another program has truncated the session, gives both
/// back: the session must be reread first, which needs the write lock.
async fn read<T, U, W, F>(
    session: Arc<OpenSession>,
    guard: ReadGuard,
    work: W,
    then: F,
) -> Result<Result<U, (W, F)>, RpcError>
where
    U: Send + 'static,
    W: Read<T>,
    F: FnOnce(T) -> Result<U, RpcError> + Send + 'static,
{
    threads::run(move || {
        let view = session.view(guard.as_ref())?;
        if view.session.is_outdated() {
            return Ok(Err((work, then)));
        }
        let done = work(view)?;
        drop(guard);
        then(done).map(Ok)
    })
    .await?
}

/// Runs `work` with the session after reading what other programs have changed, and then `then` without it.
async fn read_refreshed<T, U: Send + 'static>(
    server: Arc<Server>,
    session: Arc<OpenSession>,
    mut guard: WriteGuard,
    work: impl Read<T>,
    then: impl FnOnce(T) -> Result<U, RpcError> + Send + 'static,
) -> Result<U, RpcError> {
    threads::run(move || {
        let mut access = SessionAccess::new(server.engine()?, &session, guard.as_mut())?;
        access.refresh()?;
        let done = work(access.view())?;
        drop(guard);
        then(done)
    })
    .await?
}

/// Runs `work` here. A panic becomes an internal error, as it does on a thread.
fn catch_panic<T>(work: impl FnOnce() -> Result<T, RpcError>) -> Result<T, RpcError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(RpcError::internal("the handler panicked")))
}

/// A place in a queue.
pub(crate) enum Ticket {
    /// For reading a session.
    Read(Arc<OpenSession>, QueuedLock<ReadGuard>),
    /// For changing a session, or for reading a session whose file must be checked first.
    Write(Arc<OpenSession>, QueuedLock<WriteGuard>),
    /// For adding sessions.
    Opening(QueuedLock<OwnedRwLockWriteGuard<()>>, Option<PendingOpening>),
    /// For a session that is known when earlier opening calls have finished.
    Unresolved(UnresolvedTicket),
}

/// A place in the queue of a session id.
pub(crate) struct UnresolvedTicket {
    session_id: String,
    scope: Scope,
    /// Granted when earlier opening calls have finished, and before later ones begin.
    opened: QueuedLock<OwnedRwLockReadGuard<()>>,
    /// Granted when earlier calls for the id are queued for the session.
    turn: QueuedLock<OwnedRwLockWriteGuard<()>>,
    member: QueueMember,
}

/// The turn to add sessions. Later calls that it may affect wait until it is dropped.
#[derive(Debug)]
pub(crate) struct OpeningTurn {
    _lock: OwnedRwLockWriteGuard<()>,
    _announced: Option<PendingOpening>,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Ticket::Read(..) => "Read",
            Ticket::Write(..) => "Write",
            Ticket::Opening(..) => "Opening",
            Ticket::Unresolved(..) => "Unresolved",
        })
    }
}

/// A lock that is held, or a place in the queue for it.
pub(crate) enum QueuedLock<G> {
    Held(G),
    Waiting(BoxFuture<'static, G>),
}

impl<G: Send + 'static> QueuedLock<G> {
    /// Queues for a lock. The first poll of a fair lock takes the place.
    fn enqueue(lock: impl Future<Output = G> + Send + 'static) -> Self {
        let mut lock = lock.boxed();
        match lock.as_mut().now_or_never() {
            Some(guard) => QueuedLock::Held(guard),
            None => QueuedLock::Waiting(lock),
        }
    }

    /// Waits for the lock.
    pub(crate) async fn guard(self) -> G {
        match self {
            QueuedLock::Held(guard) => guard,
            QueuedLock::Waiting(lock) => lock.await,
        }
    }
}

impl Ticket {
    /// Queues for the locks that a call needs. `session_id` is the session of its parameters, and `target` is what an
    /// opening call may open.
    pub(crate) fn take(
        server: &Server,
        scope: Scope,
        session_id: Option<String>,
        target: Option<OpeningTarget>,
    ) -> Option<Self> {
        match (scope, session_id) {
            (Scope::Opening, _) => {
                let lock = QueuedLock::enqueue(Arc::clone(&server.opening).write_owned());
                Some(Self::Opening(lock, target.map(|target| server.arrivals.add_opening(target))))
            }
            (Scope::Read | Scope::Write, Some(session_id)) => {
                let session = server.sessions.get(&session_id);
                let can_queue_directly = |session: &Arc<OpenSession>| {
                    server.arrivals.can_queue_directly(&session_id, session.locator.as_ref())
                };
                Some(match session.filter(can_queue_directly) {
                    Some(session) => Self::of_session(session, scope),
                    None => Self::Unresolved(UnresolvedTicket::enqueue(server, session_id, scope)),
                })
            }
            _ => None,
        }
    }

    fn of_session(session: Arc<OpenSession>, scope: Scope) -> Self {
        if scope == Scope::Read && !session.is_read_only() {
            let lock = QueuedLock::enqueue(session.read());
            Self::Read(session, lock)
        } else {
            let lock = QueuedLock::enqueue(session.write());
            Self::Write(session, lock)
        }
    }

    /// The ticket for the session, once earlier opening calls have finished.
    pub(crate) async fn resolved(self, server: &Server) -> Result<Self, RpcError> {
        match self {
            Self::Unresolved(ticket) => ticket.resolved(server).await,
            ticket => Ok(ticket),
        }
    }
}

impl UnresolvedTicket {
    fn enqueue(server: &Server, session_id: String, scope: Scope) -> Self {
        let (member, turn) = server.arrivals.join(&session_id);
        let turn = QueuedLock::enqueue(turn.write_owned());
        let opened = QueuedLock::enqueue(Arc::clone(&server.opening).read_owned());
        Self { session_id, scope, opened, turn, member }
    }

    async fn resolved(self, server: &Server) -> Result<Ticket, RpcError> {
        let Self { session_id, scope, opened, turn, member } = self;
        // All three are held until the call is queued for the session: later opening calls wait for that, too.
        let _line = (turn.guard().await, opened.guard().await, member);
        let session = server.sessions.get(&session_id);
        session.map(|session| Ticket::of_session(session, scope)).ok_or_else(|| RpcError::not_open(session_id))
    }
}

impl OpeningTurn {
    /// Waits for the turn of a call that is queued.
    pub(crate) async fn of(lock: QueuedLock<OwnedRwLockWriteGuard<()>>, opening: Option<PendingOpening>) -> Self {
        Self { _lock: lock.guard().await, _announced: opening }
    }

    /// Queues again, after the calls that have arrived meanwhile.
    pub(crate) async fn again(server: &Server) -> Self {
        Self { _lock: Arc::clone(&server.opening).write_owned().await, _announced: None }
    }
}

/// The parameters that decide which queue a call joins. Wrong values count as missing here; the type of the method's
/// parameters reports them.
#[derive(Debug, Default)]
pub(crate) struct RoutingParams {
    /// The session.
    pub(crate) session_id: Option<String>,
    /// The place of a session.
    path: Option<String>,
    /// Whether a branch summary is wanted.
    summarize: bool,
}

impl RoutingParams {
    /// Takes them from the parameters of a call.
    pub(crate) fn of(params: &Params) -> Self {
        let text = |name: &str| params.get(name).and_then(decode_string);
        Self { session_id: text("sessionId"), path: text("path"), summarize: params.get("summarize") == Some("true") }
    }

    /// The sessions that an opening call may open or replace. If the client does not choose the id of a new session, no
    /// call can name it before the reply.
    pub(crate) fn target(&self, method: &str, server: &Server) -> Option<OpeningTarget> {
        match method {
            "openSession" => {
                let locator = server.locate("path", self.path.as_deref()?).ok()?;
                Some(OpeningTarget::Named(locator.name()?.to_owned()))
            }
            "continueSession" => Some(OpeningTarget::AnyStored),
            "createSession" | "forkSession" => self.session_id.clone().map(OpeningTarget::Session),
            _ => None,
        }
    }

    /// A compaction or branch summary that will begin in its turn. It can be aborted from the moment it arrives.
    pub(crate) fn operation(&self, method: &str, server: &Server) -> Option<PendingOperation> {
        let is_operation = method == "compact" || (method == "navigateTree" && self.summarize);
        let session_id = self.session_id.clone().filter(|_| is_operation)?;
        Some(server.pending_operations.add(session_id))
    }
}
