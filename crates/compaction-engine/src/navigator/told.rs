//! What the host is told of a navigation: a start where a summary is written or nobody waits, and
//! then exactly one end.

use std::sync::{Arc, OnceLock};

use compaction_core::entry::EntryId;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::host::{Event, Navigation};

/// Whether the host was told that an operation has started, and of which.
#[derive(Debug, Clone, Default)]
pub(super) struct Started(Arc<OnceLock<String>>);

impl Started {
    /// The operation that was told of.
    pub(super) fn operation_id(&self) -> Option<String> {
        self.0.get().cloned()
    }

    /// Tells the host, once.
    pub(super) fn tell(&self, engine: &Engine, session_id: &str, target_id: &EntryId, start: Start<'_>) {
        if self.0.set(start.operation_id.to_owned()).is_ok() {
            engine.host.tell(Event::NavigationStarted {
                session_id: session_id.to_owned(),
                operation_id: start.operation_id.to_owned(),
                target_id: target_id.clone(),
                old_leaf_id: start.old_leaf_id,
                estimated_tokens: start.estimated_tokens,
            });
        }
    }
}

/// What there is to tell of a start.
pub(super) struct Start<'a> {
    pub(super) operation_id: &'a str,
    pub(super) old_leaf_id: Option<EntryId>,
    /// Tokens of what is summarised.
    pub(super) estimated_tokens: u64,
}

/// Tells the host how a navigation ended.
pub(super) fn tell_end(
    engine: &Engine,
    session_id: &str,
    operation_id: String,
    outcome: &Result<Navigation, EngineError>,
    is_aborted: bool,
) {
    let (session_id, outcome) = (session_id.to_owned(), outcome.clone());
    engine.host.tell(Event::NavigationEnded { session_id, operation_id, outcome, is_aborted });
}
