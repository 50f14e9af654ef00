//! What is known of calls between their arrival and their turn: openings that others wait for, queues by session
//! id, and operations that can be ended before they begin.
//!
//! A call joins the queue of its session when it arrives. While the session is not open, or an earlier call may open,
//! close or reopen it, there is no session to queue for. Such calls wait in one queue per session id, and later calls
//! for the id join that queue until it is empty, so that no call overtakes another on the way to the session.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session_store::Locator;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

/// What an opening call may do something about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Concern {
    /// The session with this id.
    Session(String),
    /// A session whose locator has this name, in whatever directory: links have many names for one,
    /// and nobody can ask the store here. Waiting in vain does no harm.
    Named(OsString),
    /// Any session that a store can find again.
    AnyStored,
}

/// The lines of calls, and the opening calls that are not done.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lines: HashMap<String, Line>,
    /// How many opening calls have arrived for each concern and are not done.
    openings: HashMap<Concern, usize>,
}

/// The line for one id; gone when nobody stands in it.
#[derive(Debug, Default)]
struct Line {
    turn: Arc<RwLock<()>>,
    members: usize,
}

impl Arrivals {
    /// Whether a call for an open session may line up for it at once. `locator` is the session's.
    pub(crate) fn may_pass(&self, id: &str, locator: Option<&Locator>) -> bool {
        let state = self.lock();
        (state.lines.is_empty() || !state.lines.contains_key(id))
            && (state.openings.is_empty() || !state.is_concerned(id, locator))
    }

    /// Joins the line for a session id, with the lock that gives each its turn.
    pub(crate) fn join(self: &Arc<Self>, id: &str) -> (Member, Arc<RwLock<()>>) {
        let mut state = self.lock();
        let line = state.lines.entry(id.to_owned()).or_default();
        line.members += 1;
        (Member { arrivals: Arc::clone(self), id: id.to_owned() }, Arc::clone(&line.turn))
    }

    /// Notes an opening call that has arrived.
    pub(crate) fn announce(self: &Arc<Self>, concern: Concern) -> Announced {
        *self.lock().openings.entry(concern.clone()).or_default() += 1;
        Announced { arrivals: Arc::clone(self), concern }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_concerned(&self, id: &str, locator: Option<&Locator>) -> bool {
        let is_announced = |concern| self.openings.contains_key(&concern);
        let name = locator.and_then(Locator::name);
        is_announced(Concern::Session(id.to_owned()))
            || name
                .is_some_and(|name| is_announced(Concern::Named(name.to_owned())) || is_announced(Concern::AnyStored))
    }
}

/// A call in a line; dropped when it has lined up for its session, or waits no more.
#[derive(Debug)]
pub(crate) struct Member {
    arrivals: Arc<Arrivals>,
    id: String,
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.arrivals.lock();
        if let Some(line) = state.lines.get_mut(&self.id) {
            line.members -= 1;
            if line.members == 0 {
                state.lines.remove(&self.id);
            }
        }
    }
}

/// An opening call that has arrived; dropped when what it does is done.
#[derive(Debug)]
pub(crate) struct Announced {
    arrivals: Arc<Arrivals>,
    concern: Concern,
}

impl Drop for Announced {
    fn drop(&mut self) {
        let mut state = self.arrivals.lock();
        if let Some(count) = state.openings.get_mut(&self.concern) {
            *count -= 1;
            if *count == 0 {
                state.openings.remove(&self.concern);
            }
        }
    }
}

/// Operations that have arrived, by session: each can be ended before it begins, also while its
/// session is still being opened.
#[derive(Debug, Default)]
pub(crate) struct PendingOperations {
    by_session: Mutex<HashMap<String, Vec<CancellationToken>>>,
}

impl PendingOperations {
    /// Notes an operation of a call that has arrived.
    pub(crate) fn add(self: &Arc<Self>, session_id: String) -> PendingOperation {
        let abort = CancellationToken::new();
        self.lock().entry(session_id.clone()).or_default().push(abort.clone());
        PendingOperation { operations: Arc::clone(self), session_id, abort }
    }

    /// Ends those of a session that have not begun; whether there are any.
    pub(crate) fn abort(&self, session_id: &str) -> bool {
        let by_session = self.lock();
        let waiting = by_session.get(session_id);
        waiting.is_some_and(|waiting| {
            waiting.iter().for_each(CancellationToken::cancel);
            !waiting.is_empty()
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<CancellationToken>>> {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An operation that has arrived; dropped when its call ends.
#[derive(Debug)]
pub(crate) struct PendingOperation {
    operations: Arc<PendingOperations>,
    session_id: String,
    abort: CancellationToken,
}

impl PendingOperation {
    pub(crate) fn is_aborted(&self) -> bool {
        self.abort.is_cancelled()
    }
}

impl Drop for PendingOperation {
    fn drop(&mut self) {
        let mut by_session = self.operations.lock();
        let Some(waiting) = by_session.get_mut(&self.session_id) else {
            return;
        };
        // Which of several goes does not matter: cancelling one cancels all that are there.
        if let Some(found) = waiting.iter().position(|abort| abort.is_cancelled() == self.abort.is_cancelled()) {
            waiting.swap_remove(found);
        }
        if waiting.is_empty() {
            by_session.remove(&self.session_id);
        }
    }
}

/// What a call has to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Nothing.
    Free,
    /// Everything after it waits for it.
    Barrier,
    /// It adds sessions: one at a time, and calls that name a session not known yet wait for it.
    Opening,
    /// It reads one session: beside other reads, after the changes that arrived before it.
    Read,
    /// It changes one session: in the order of arrival.
    Write,
}

impl Scope {
    /// The scope's name in the generated documents.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Free => "free",
            Scope::Barrier => "barrier",
            Scope::Opening => "opening",
            Scope::Read => "read",
            Scope::Write => "write",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sessions_that_are_concerned_wait() {
        let named = |name: &str| Concern::Named(name.into());
        let locator = &Locator::from("/a/x.jsonl");
        for (concern, locator, may_pass) in [
            (named("x.jsonl"), Some(locator), false),
            (named("y.jsonl"), Some(locator), true),
            (named("x.jsonl"), None, true),
            (Concern::AnyStored, Some(locator), false),
            (Concern::AnyStored, None, true),
            (Concern::Session("s".to_owned()), None, false),
            (Concern::Session("t".to_owned()), Some(locator), true),
        ] {
            let arrivals = Arc::new(Arrivals::default());
            let announced = arrivals.announce(concern.clone());
            assert_eq!(arrivals.may_pass("s", locator), may_pass, "{concern:?} {locator:?}");
            drop(announced);
            assert!(arrivals.may_pass("s", locator), "{concern:?} is done");
        }
    }

    #[test]
    fn a_line_is_there_as_long_as_somebody_stands_in_it() {
        let arrivals = Arc::new(Arrivals::default());
        let (first, turn) = arrivals.join("s");
        let (second, same) = arrivals.join("s");
        assert!(Arc::ptr_eq(&turn, &same));
        drop(first);
        assert!(!arrivals.may_pass("s", None));
        assert!(arrivals.may_pass("t", None));
        drop(second);
        assert!(arrivals.may_pass("s", None));
        assert!(arrivals.lock().lines.is_empty());
    }
}
