//! A call's place in the queues, taken when the call arrives.
//!
//! Locks are taken in this order: the queue of a session id, `opening`, a session. A call that is queued for a session
//! waits for no other lock, so there is no deadlock.

use std::future::Future;
use std::sync::Arc;

use compaction_core::json::decode_string;
use compaction_engine::session::{OpenSession, Slot};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use crate::arrivals::{Announced, Concern, Member, PendingOperation, Scope};
use crate::errors::RpcError;
use crate::params::Params;
use crate::server::Server;

/// A place in the line.
pub(crate) enum Ticket {
    /// For reading a session.
    Read(Arc<OpenSession>, Place<OwnedRwLockReadGuard<Slot>>),
    /// For changing a session, or for reading one that must look at its file first.
    Write(Arc<OpenSession>, Place<OwnedRwLockWriteGuard<Slot>>),
    /// For adding sessions.
    Opening(Place<OwnedRwLockWriteGuard<()>>, Option<Announced>),
    /// For a session that is known once those ahead have been opened.
    Later(Later),
}

/// A place in the line of a session id.
pub(crate) struct Later {
    session_id: String,
    scope: Scope,
    /// Those ahead have been opened, and none behind is.
    opened: Place<OwnedRwLockReadGuard<()>>,
    /// Those ahead have lined up for the session.
    turn: Place<OwnedRwLockWriteGuard<()>>,
    member: Member,
}

/// The turn to add sessions. What arrives behind it and may be concerned waits for its end.
#[derive(Debug)]
pub(crate) struct OpeningTurn {
    _lock: OwnedRwLockWriteGuard<()>,
    _announced: Option<Announced>,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Ticket::Read(..) => "Read",
            Ticket::Write(..) => "Write",
            Ticket::Opening(..) => "Opening",
            Ticket::Later(..) => "Later",
        })
    }
}

/// A lock that is held, or a place in the line for it.
pub(crate) enum Place<G> {
    Held(G),
    Waiting(BoxFuture<'static, G>),
}

impl<G: Send + 'static> Place<G> {
    /// Lines up: the first poll of a fair lock takes the place.
    fn line_up(lock: impl Future<Output = G> + Send + 'static) -> Self {
        let mut lock = lock.boxed();
        match lock.as_mut().now_or_never() {
            Some(guard) => Place::Held(guard),
            None => Place::Waiting(lock),
        }
    }

    /// Waits for the lock.
    pub(crate) async fn guard(self) -> G {
        match self {
            Place::Held(guard) => guard,
            Place::Waiting(lock) => lock.await,
        }
    }
}

impl Ticket {
    /// Lines up for what a call needs. `session_id` names the session of its parameters, `concern`
    /// what an opening call is about.
    pub(crate) fn take(
        server: &Server,
        scope: Scope,
        session_id: Option<String>,
        concern: Option<Concern>,
    ) -> Option<Self> {
        match (scope, session_id) {
            (Scope::Opening, _) => {
                let place = Place::line_up(Arc::clone(&server.opening).write_owned());
                Some(Self::Opening(place, concern.map(|concern| server.arrivals.announce(concern))))
            }
            (Scope::Read | Scope::Write, Some(session_id)) => {
                let session = server.sessions.get(&session_id);
                let may_pass =
                    |session: &Arc<OpenSession>| server.arrivals.may_pass(&session_id, session.locator.as_ref());
                Some(match session.filter(may_pass) {
                    Some(session) => Self::of_session(session, scope),
                    None => Self::Later(Later::line_up(server, session_id, scope)),
                })
            }
            _ => None,
        }
    }

    fn of_session(session: Arc<OpenSession>, scope: Scope) -> Self {
        let slot = Arc::clone(&session.slot);
        if scope == Scope::Read && !session.must_refresh_to_read() {
            Self::Read(session, Place::line_up(slot.read_owned()))
        } else {
            Self::Write(session, Place::line_up(slot.write_owned()))
        }
    }

    /// The ticket with its session known, once those ahead have been opened.
    pub(crate) async fn resolved(self, server: &Server) -> Result<Self, RpcError> {
        match self {
            Self::Later(later) => later.resolved(server).await,
            ticket => Ok(ticket),
        }
    }
}

impl Later {
    fn line_up(server: &Server, session_id: String, scope: Scope) -> Self {
        let (member, turn) = server.arrivals.join(&session_id);
        let turn = Place::line_up(turn.write_owned());
        let opened = Place::line_up(Arc::clone(&server.opening).read_owned());
        Self { session_id, scope, opened, turn, member }
    }

    async fn resolved(self, server: &Server) -> Result<Ticket, RpcError> {
        let Self { session_id, scope, opened, turn, member } = self;
        // All are kept until the call has lined up: openings behind it wait for that, too.
        let _line = (turn.guard().await, opened.guard().await, member);
        let session = server.sessions.get(&session_id);
        session.map(|session| Ticket::of_session(session, scope)).ok_or(RpcError::SessionNotOpen { session_id })
    }
}

impl OpeningTurn {
    /// Waits for the turn of a call that has lined up.
    pub(crate) async fn of(place: Place<OwnedRwLockWriteGuard<()>>, announced: Option<Announced>) -> Self {
        Self { _lock: place.guard().await, _announced: announced }
    }

    /// Lines up once more, behind what has arrived meanwhile.
    pub(crate) async fn again(server: &Server) -> Self {
        Self { _lock: Arc::clone(&server.opening).write_owned().await, _announced: None }
    }
}

/// The parameters that decide which queue a call joins. Wrong values count as missing; the method's own type reports
/// them.
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

    /// The sessions that may not be what they are until an opening call is done. A new session whose
    /// id the client did not choose has one that nobody knows before the reply.
    pub(crate) fn concern(&self, method: &str, server: &Server) -> Option<Concern> {
        match method {
            "openSession" => {
                let locator = server.locate("path", self.path.as_deref()?).ok()?;
                Some(Concern::Named(locator.name()?.to_owned()))
            }
            "continueSession" => Some(Concern::AnyStored),
            "createSession" | "forkSession" => self.session_id.clone().map(Concern::Session),
            _ => None,
        }
    }

    /// A compaction or branch summary that will begin in its turn: ending it must be possible from
    /// the moment it has arrived.
    pub(crate) fn operation(&self, method: &str, server: &Server) -> Option<PendingOperation> {
        let is_operation = method == "compact" || (method == "navigateTree" && self.summarize);
        let session_id = self.session_id.clone().filter(|_| is_operation)?;
        Some(server.pending_operations.add(session_id))
    }
}
