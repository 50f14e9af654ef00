//! A call's place in line, taken when it arrives.
//!
//! Locks are entered in this order: the line of an id, `opening`, a session. Nobody who has a place
//! in the line for a session waits for the others, so that none waits for another in a circle.

use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use crate::arrivals::{Announced, Concern, Member};
use crate::errors::RpcError;
use crate::scope::Scope;
use crate::server::Server;
use crate::session::{OpenSession, Slot};

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
        if scope == Scope::Read && !session.is_read_only() {
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
