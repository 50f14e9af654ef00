//! A call's place in the queues, taken when the call arrives.
//!
//! Locks are taken in this order: the queue of a session id, `opening`, a session. A call that is queued for a session
//! waits for no other lock, so there is no deadlock.

use std::future::Future;
use std::sync::Arc;

use compaction_core::json::decode_string;
use compaction_engine::session::{OpenSession, ReadGuard, WriteGuard};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use crate::arrivals::{OpeningTarget, PendingOpening, PendingOperation, QueueMember, Scope};
use crate::errors::RpcError;
use crate::params::Params;
use crate::server::Server;

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

    /// Queues again, behind the calls that have arrived meanwhile.
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
