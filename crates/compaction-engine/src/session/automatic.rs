//! State that a session keeps for automatic compactions: its model, what was learned of the model's limits, and the
//! circuit breaker.
//!
//! The circuit breaker opens after several failures in a row. Automatic compactions then pause for a while, so that a
//! broken provider costs neither money nor minutes at every message. A compaction that a caller asks for is always
//! tried.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use compaction_core::entry::{Entry, EntryId, iso_timestamp};
use compaction_core::projection::Projection;
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
    model: Mutex<Option<AgentModel>>,
    /// Input tokens that the provider accepts, where it has shown that they are fewer than the window.
    room: Mutex<Option<u64>>,
    /// Whether a compaction may have become due while another operation ran.
    is_check_missed: AtomicBool,
    /// The last answer whose overflow a compaction could not resolve.
    failed_recovery: Mutex<Option<EntryId>>,
    /// How full the context is, as long as only appends change the session.
    gauge: Mutex<Option<Gauge>>,
}

impl AutoCompaction {
    /// Sets the model to compact for; `None` stops automatic compactions. A new model gets a new attempt at what
    /// failed for the old one.
    pub fn set(&self, model: Option<AgentModel>) {
        let old = std::mem::replace(&mut *locked(&self.model), model.clone());
        if old != model {
            *locked(&self.failed_recovery) = None;
            *locked(&self.room) = None;
        }
        self.forget_context();
    }

    /// Notes that a compaction may have become due while another operation runs.
    pub(crate) fn note_missed_check(&self) {
        self.is_check_missed.store(true, Ordering::Relaxed);
    }

    /// Whether a check was missed; resets the note.
    pub(crate) fn take_missed_check(&self) -> bool {
        self.is_check_missed.swap(false, Ordering::Relaxed)
    }

    /// Resets the note of a missed check. The next message checks again.
    pub(crate) fn forget_missed_check(&self) {
        self.is_check_missed.store(false, Ordering::Relaxed);
    }

    /// Updates the gauge by an appended entry.
    pub(crate) fn follow(&self, entry: &Entry) {
        let mut gauge = locked(&self.gauge);
        *gauge = gauge.take().and_then(|gauge| gauge.followed_by(entry));
    }

    /// Drops the gauge, because the session was changed elsewhere.
    pub(crate) fn forget_context(&self) {
        *locked(&self.gauge) = None;
    }

    /// Sets the gauge from a projection.
    pub(crate) fn remember_context(&self, projection: &Projection) {
        *locked(&self.gauge) = Gauge::of(projection);
    }

    /// The gauge of the context at `leaf`, if it is known without a projection.
    pub(crate) fn gauge_at(&self, leaf: &EntryId) -> Option<Gauge> {
        locked(&self.gauge).clone().filter(|gauge| gauge.leaf_id() == leaf)
    }

    /// The answer whose overflow a compaction could not resolve.
    pub fn failed_recovery(&self) -> Option<EntryId> {
        locked(&self.failed_recovery).clone()
    }

    /// Notes that a compaction could not resolve the overflow of `answer`.
    pub(crate) fn note_failed_recovery(&self, answer: EntryId) {
        *locked(&self.failed_recovery) = Some(answer);
    }

    /// Notes that the provider accepts no more than `tokens` of input.
    pub(crate) fn learn_room(&self, tokens: u64) {
        let mut room = locked(&self.room);
        *room = Some(room.map_or(tokens, |room| room.min(tokens)));
    }

    /// Notes that the provider has read `tokens`, which may be more than the known limit.
    pub(crate) fn learn_read(&self, tokens: u64) {
        let mut room = locked(&self.room);
        *room = room.map(|room| room.max(tokens));
    }

    /// The input limit that the provider of `model` has shown.
    pub fn room_of(&self, model: &AgentModel) -> Option<u64> {
        let is_same = locked(&self.model).as_ref() == Some(model);
        if is_same { *locked(&self.room) } else { None }
    }

    /// The current model, with the window that its provider has shown.
    pub fn effective_model(&self) -> Option<AgentModel> {
        let model = self.model()?;
        let context_window = self.room_of(&model).map_or(model.context_window, |room| room.min(model.context_window));
        Some(AgentModel { context_window, ..model })
    }

    /// The current model.
    pub fn model(&self) -> Option<AgentModel> {
        locked(&self.model).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of failures in a row that open the circuit.
const MAX_FAILURES: u32 = 3;
/// How long the circuit stays open. Then one compaction may try; if it fails, the circuit opens again.
const OPEN_FOR: Duration = Duration::from_secs(60);

/// Counts the failures of one session's compactions.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open_until: Option<SystemTime>,
}

impl Breaker {
    /// Closes the circuit after a success.
    pub(crate) fn succeeded(&self) {
        *self.lock() = State::default();
    }

    /// Counts a failure at `now`.
    pub(crate) fn failed(&self, now: SystemTime) {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= MAX_FAILURES {
            state.open_until = Some(now + OPEN_FOR);
        }
    }

    /// The time until which the circuit is open, as ISO 8601; `None` if it is closed at `now`.
    pub(crate) fn open_until(&self, now: SystemTime) -> Option<String> {
        self.lock().open_until.filter(|until| *until > now).map(shown)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (breaker, start) = (Breaker::default(), SystemTime::UNIX_EPOCH);
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
