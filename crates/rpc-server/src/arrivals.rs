//! Calls between their arrival and their turn: openings that others wait for, queues by session id, and operations that
//! can be ended before they begin.
//!
//! A call joins the queue of its session when it arrives. While the session is not open, or an earlier call may open,
//! close or reopen it, there is no session to queue for. Such calls wait in one queue per session id, and later calls
//! for the id join that queue until it is empty, so that no call overtakes another on the way to the session.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session_store::Locator;
use tokio::sync::RwLock;

/// The session that an opening call may open, close or reopen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum OpeningTarget {
    /// The session with this id.
    Session(String),
    /// A session whose locator has this name, in any directory. Links give one file many names, and the store cannot be
    /// asked here. An unnecessary wait does no harm.
    Named(OsString),
    /// Any session that a store can find again.
    AnyStored,
}

/// The queues by session id, and the opening calls that have not finished.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<String, IdQueue>,
    /// Number of unfinished opening calls for each target.
    openings: HashMap<OpeningTarget, usize>,
}

/// The queue for one id. It is removed when it is empty.
#[derive(Debug, Default)]
struct IdQueue {
    turn: Arc<RwLock<()>>,
    members: usize,
}

impl Arrivals {
    /// Whether a call for an open session may queue for the session at once. `locator` is that of the session.
    pub(crate) fn can_queue_directly(&self, id: &str, locator: Option<&Locator>) -> bool {
        let state = self.lock();
        (state.queues.is_empty() || !state.queues.contains_key(id))
            && (state.openings.is_empty() || !state.may_be_affected(id, locator))
    }

    /// Joins the queue for a session id. Returns the lock that gives each member its turn.
    pub(crate) fn join(self: &Arc<Self>, id: &str) -> (QueueMember, Arc<RwLock<()>>) {
        let mut state = self.lock();
        let queue = state.queues.entry(id.to_owned()).or_default();
        queue.members += 1;
        (QueueMember { arrivals: Arc::clone(self), id: id.to_owned() }, Arc::clone(&queue.turn))
    }

    /// Records an opening call that has arrived.
    pub(crate) fn add_opening(self: &Arc<Self>, concern: OpeningTarget) -> PendingOpening {
        *self.lock().openings.entry(concern.clone()).or_default() += 1;
        PendingOpening { arrivals: Arc::clone(self), concern }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn may_be_affected(&self, id: &str, locator: Option<&Locator>) -> bool {
        let is_pending = |concern| self.openings.contains_key(&concern);
        let name = locator.and_then(Locator::name);
        is_pending(OpeningTarget::Session(id.to_owned()))
            || name.is_some_and(|name| {
                is_pending(OpeningTarget::Named(name.to_owned())) || is_pending(OpeningTarget::AnyStored)
            })
    }
}

/// A call in a queue. It is dropped when the call is queued for its session, or gives up.
#[derive(Debug)]
pub(crate) struct QueueMember {
    arrivals: Arc<Arrivals>,
    id: String,
}

impl Drop for QueueMember {
    fn drop(&mut self) {
        let mut state = self.arrivals.lock();
        if let Some(queue) = state.queues.get_mut(&self.id) {
            queue.members -= 1;
            if queue.members == 0 {
                state.queues.remove(&self.id);
            }
        }
    }
}

/// An opening call that has arrived. It is dropped when the call has finished.
#[derive(Debug)]
pub(crate) struct PendingOpening {
    arrivals: Arc<Arrivals>,
    concern: OpeningTarget,
}

impl Drop for PendingOpening {
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

/// Operations that have arrived and not begun, by session. Each can be ended before it begins, even while its session
/// is being opened.
#[derive(Debug, Default)]
pub(crate) struct PendingOperations {
    by_session: Mutex<HashMap<String, Vec<Arc<AtomicBool>>>>,
}

impl PendingOperations {
    /// Records the operation of a call that has arrived.
    pub(crate) fn add(self: &Arc<Self>, session_id: String) -> PendingOperation {
        let is_aborted = Arc::<AtomicBool>::default();
        self.lock().entry(session_id.clone()).or_default().push(Arc::clone(&is_aborted));
        PendingOperation { operations: Arc::clone(self), session_id, is_aborted }
    }

    /// Ends the operations of a session that have not begun. Returns whether there were any.
    pub(crate) fn abort(&self, session_id: &str) -> bool {
        let by_session = self.lock();
        let waiting = by_session.get(session_id);
        waiting.is_some_and(|waiting| {
            waiting.iter().for_each(|is_aborted| is_aborted.store(true, Ordering::Relaxed));
            !waiting.is_empty()
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Arc<AtomicBool>>>> {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An operation that has arrived. It is dropped when its call ends.
#[derive(Debug)]
pub(crate) struct PendingOperation {
    operations: Arc<PendingOperations>,
    session_id: String,
    is_aborted: Arc<AtomicBool>,
}

impl PendingOperation {
    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed)
    }
}

impl Drop for PendingOperation {
    fn drop(&mut self) {
        let mut by_session = self.operations.lock();
        let Some(waiting) = by_session.get_mut(&self.session_id) else {
            return;
        };
        waiting.retain(|is_aborted| !Arc::ptr_eq(is_aborted, &self.is_aborted));
        if waiting.is_empty() {
            by_session.remove(&self.session_id);
        }
    }
}

/// What a call waits for, declared for each method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Nothing.
    Free,
    /// Every later call waits for it.
    Barrier,
    /// It adds sessions. One such call runs at a time, and calls for an unknown session wait for it.
    Opening,
    /// It reads one session: concurrently with other reads, after the changes that arrived before it.
    Read,
    /// It changes one session, in the order of arrival.
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
        let named = |name: &str| OpeningTarget::Named(name.into());
        let locator = &Locator::from("/a/x.jsonl");
        for (concern, locator, can_queue_directly) in [
            (named("x.jsonl"), Some(locator), false),
            (named("y.jsonl"), Some(locator), true),
            (named("x.jsonl"), None, true),
            (OpeningTarget::AnyStored, Some(locator), false),
            (OpeningTarget::AnyStored, None, true),
            (OpeningTarget::Session("s".to_owned()), None, false),
            (OpeningTarget::Session("t".to_owned()), Some(locator), true),
        ] {
            let arrivals = Arc::new(Arrivals::default());
            let opening = arrivals.add_opening(concern.clone());
            assert_eq!(arrivals.can_queue_directly("s", locator), can_queue_directly, "{concern:?} {locator:?}");
            drop(opening);
            assert!(arrivals.can_queue_directly("s", locator), "{concern:?} is done");
        }
    }

    #[test]
    fn a_line_is_there_as_long_as_somebody_stands_in_it() {
        let arrivals = Arc::new(Arrivals::default());
        let (first, turn) = arrivals.join("s");
        let (second, same) = arrivals.join("s");
        assert!(Arc::ptr_eq(&turn, &same));
        drop(first);
        assert!(!arrivals.can_queue_directly("s", None));
        assert!(arrivals.can_queue_directly("t", None));
        drop(second);
        assert!(arrivals.can_queue_directly("s", None));
        assert!(arrivals.lock().queues.is_empty());
    }

    #[test]
    fn an_operation_can_be_aborted_after_another_has_ended() {
        let operations = Arc::new(PendingOperations::default());
        let [first, second] = ["s"; 2].map(|session| operations.add(session.to_owned()));
        drop(second);
        assert!(operations.abort("s"));
        assert!(first.is_aborted());
        drop(first);
        assert!(!operations.abort("s"));
        assert!(operations.lock().is_empty());
    }
}
