//! Operations between the arrival of their call and their beginning.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

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
