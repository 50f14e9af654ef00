//! Who must wait behind the opening of sessions.
//!
//! A call lines up for its session when it arrives. While the session is not open, or a call ahead
//! may open it, close it or open it anew, there is nothing to line up for yet. Such calls stand in
//! one line for each session id, and later calls for the id join it until it is empty, so that none
//! overtakes another on the way to the session.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session_store::Locator;
use tokio::sync::RwLock;

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
