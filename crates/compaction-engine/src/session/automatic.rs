//! State that a session keeps for automatic compactions: its model, what was learned of the model's limits, and the
//! circuit breaker.
//!
//! The circuit breaker opens after several failures in a row. Automatic compactions then pause for a while, so that a
//! broken provider costs neither money nor minutes at every message. A compaction that a caller asks for is always
//! tried.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use compaction_core::entry::{Entry, EntryId, iso_timestamp};
use compaction_core::trigger::{Gauge, TriggerModel};

/// The model of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentModel {
    /// Its provider.
    pub provider: String,
    /// Its id.
    pub id: String,
    /// Tokens of its window.
    pub context_window: u64,
    /// Maximum output tokens of a request.
    pub max_output_tokens: Option<u64>,
}

impl AgentModel {
    /// The model as the triggers need it. `room` is the input limit that its provider has shown.
    pub fn for_trigger(&self, room: Option<u64>) -> TriggerModel<'_> {
        TriggerModel {
            provider: &self.provider,
            id: &self.id,
            context_window: self.context_window,
            max_output_tokens: self.max_output_tokens,
            room,
        }
    }
}

/// State of the automatic compactions of a session.
#[derive(Debug, Default)]
pub struct AutoCompaction {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    model: Option<AgentModel>,
    /// Input tokens that the provider accepts, where it has shown that they are fewer than the window.
    room: Option<u64>,
    /// Whether a compaction may have become due while another operation ran.
    pub(crate) is_check_missed: bool,
    /// The last answer that overflowed while another operation ran.
    pub(crate) missed_overflow: Option<MissedOverflow>,
    /// The last answer whose overflow a compaction could not resolve.
    pub(crate) failed_recovery: Option<EntryId>,
    /// The last answer whose overflow was resolved by shortening tool results, without a compaction.
    pub(crate) clipped_recovery: Option<EntryId>,
    /// How full the context is, as long as only appends change the session.
    pub(crate) gauge: Option<Gauge>,
    /// Pauses automatic compactions after failures.
    pub(crate) breaker: Breaker,
}

/// An answer that overflowed while an operation ran. If the operation is a compaction, it makes room for the answer's
/// request as well.
#[derive(Debug)]
pub(crate) struct MissedOverflow {
    /// The operation.
    pub(crate) operation_id: String,
    /// The entry of the answer.
    pub(crate) answer: EntryId,
    /// Whether the compaction has hidden the attempt.
    pub(crate) is_hidden: bool,
}

impl AutoCompaction {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the model to compact for; `None` stops automatic compactions. A new model gets a new attempt at what
    /// failed for the old one.
    pub fn set(&self, model: Option<AgentModel>) {
        let mut state = self.state();
        if state.model != model {
            (state.failed_recovery, state.clipped_recovery) = (None, None);
            (state.room, state.missed_overflow) = (None, None);
        }
        (state.model, state.gauge) = (model, None);
    }

    /// The answers of the last recoveries that left no compaction: the one that failed, and the one that shortened
    /// tool results.
    pub(crate) fn tried_recoveries(&self) -> (Option<EntryId>, Option<EntryId>) {
        let state = self.state();
        (state.failed_recovery.clone(), state.clipped_recovery.clone())
    }

    /// The answer that overflowed while this operation ran.
    pub(crate) fn missed_overflow(&self, operation_id: &str) -> Option<EntryId> {
        let state = self.state();
        let missed = state.missed_overflow.as_ref().filter(|missed| missed.operation_id == operation_id);
        missed.map(|missed| missed.answer.clone())
    }

    /// Forgets that answer if its attempt was hidden. Returns whether it was.
    pub(crate) fn take_hidden_overflow(&self, operation_id: &str) -> bool {
        let is_hidden = |missed: &mut MissedOverflow| missed.is_hidden && missed.operation_id == operation_id;
        self.state().missed_overflow.take_if(is_hidden).is_some()
    }

    /// Updates the gauge by an appended entry.
    pub(crate) fn follow(&self, entry: &Entry) {
        let mut state = self.state();
        state.gauge = state.gauge.take().and_then(|gauge| gauge.followed_by(entry));
    }

    /// The gauge of the context at `leaf`, if it is known without a projection.
    pub(crate) fn gauge_at(&self, leaf: &EntryId) -> Option<Gauge> {
        self.state().gauge.clone().filter(|gauge| gauge.leaf_id() == leaf)
    }

    /// Notes that the provider accepts no more than `tokens` of input.
    pub(crate) fn learn_room(&self, tokens: u64) {
        let mut state = self.state();
        state.room = Some(state.room.map_or(tokens, |room| room.min(tokens)));
    }

    /// Notes that the provider has read `tokens`, which may be more than the known limit.
    pub(crate) fn learn_read(&self, tokens: u64) {
        let mut state = self.state();
        state.room = state.room.map(|room| room.max(tokens));
    }

    /// Notes that the provider has answered a context of an estimated `tokens` without reporting its usage. If they are
    /// clearly more than the known limit, that limit was wrong.
    pub(crate) fn learn_estimate(&self, tokens: u64) {
        let mut state = self.state();
        state.room = state.room.filter(|room| tokens / 5 * 4 <= *room).map(|room| room.max(tokens));
    }

    /// The input limit that the provider of `model` has shown.
    pub fn room_of(&self, model: &AgentModel) -> Option<u64> {
        let state = self.state();
        state.room.filter(|_| state.model.as_ref() == Some(model))
    }

    /// The current model, with the window that its provider has shown.
    pub fn effective_model(&self) -> Option<AgentModel> {
        let model = self.model()?;
        let context_window = self.room_of(&model).map_or(model.context_window, |room| room.min(model.context_window));
        Some(AgentModel { context_window, ..model })
    }

    /// The current model.
    pub fn model(&self) -> Option<AgentModel> {
        self.state().model.clone()
    }
}

/// Number of failures in a row that open the circuit.
const MAX_FAILURES: u32 = 3;
/// How long the circuit stays open. Then one compaction may try; if it fails, the circuit opens again.
const OPEN_FOR: Duration = Duration::from_secs(60);

/// Counts the failures of one session's compactions.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    open_until: Option<SystemTime>,
}

impl Breaker {
    /// Closes the circuit after a success.
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Counts a failure at `now`.
    pub(crate) fn failed(&mut self, now: SystemTime) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= MAX_FAILURES {
            self.open_until = Some(now + OPEN_FOR);
        }
    }

    /// The time until which the circuit is open, as ISO 8601; `None` if it is closed at `now`.
    pub(crate) fn open_until(&self, now: SystemTime) -> Option<String> {
        self.open_until.filter(|until| *until > now).map(shown)
    }
}

fn shown(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    iso_timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_open_it_for_a_while() {
        let (mut breaker, start) = (Breaker::default(), SystemTime::UNIX_EPOCH);
        breaker.failed(start);
        breaker.failed(start);
        breaker.succeeded();
        for _ in 0..MAX_FAILURES {
            assert_eq!(breaker.open_until(start), None);
            breaker.failed(start);
        }
        assert_eq!(breaker.open_until(start).as_deref(), Some("1970-01-01T00:01:00.000Z"));
        let later = start + OPEN_FOR;
        assert_eq!(breaker.open_until(later), None, "one may try");
        breaker.failed(later);
        assert!(breaker.open_until(later).is_some(), "it failed once more");
        breaker.succeeded();
        assert_eq!(breaker.open_until(later), None);
    }
}
