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

/// The model that answers the requests of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentModel {
    /// Its provider.
    pub provider: String,
    /// Its id.
    pub id: String,
    /// Tokens of its window.
    pub context_window: u64,
    /// Tokens of the longest answer that is asked of it.
    pub max_output_tokens: Option<u64>,
}

impl AgentModel {
    /// The model as triggers know it; `room` is what its provider has shown to take.
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

/// Whether and for which model a session is compacted by itself.
#[derive(Debug, Default)]
pub struct AutoCompaction {
    model: Mutex<Option<AgentModel>>,
    /// Tokens of input that the model's provider takes, where it has shown that it takes less than the
    /// window.
    room: Mutex<Option<u64>>,
    /// A compaction may have become due while another operation ran.
    is_check_missed: AtomicBool,
    /// The answer whose overflow was to be compacted away last, if that failed.
    failed_recovery: Mutex<Option<EntryId>>,
    /// How full the context is, as long as nothing but appends happens to the session.
    gauge: Mutex<Option<Gauge>>,
}

impl AutoCompaction {
    /// Compacts for `model` from now on, or no more. Who follows the advice to pick another model gets
    /// another try of what failed for the old one.
    pub fn set(&self, model: Option<AgentModel>) {
        let old = std::mem::replace(&mut *locked(&self.model), model.clone());
        if old != model {
            *locked(&self.failed_recovery) = None;
            *locked(&self.room) = None;
        }
        self.forget_context();
    }

    /// Keeps in mind that a compaction may have become due while another operation runs.
    pub(crate) fn note_missed_check(&self) {
        self.is_check_missed.store(true, Ordering::Relaxed);
    }

    /// Whether one may have become due meanwhile; asked once.
    pub(crate) fn take_missed_check(&self) -> bool {
        self.is_check_missed.swap(false, Ordering::Relaxed)
    }

    /// What came while the last operation ran waits for the next message.
    pub(crate) fn forget_missed_check(&self) {
        self.is_check_missed.store(false, Ordering::Relaxed);
    }

    /// Follows an entry that was appended.
    pub(crate) fn follow(&self, entry: &Entry) {
        let mut gauge = locked(&self.gauge);
        *gauge = gauge.take().and_then(|gauge| gauge.followed_by(entry));
    }

    /// Forgets what is known of the context, as somebody else has changed the session.
    pub(crate) fn forget_context(&self) {
        *locked(&self.gauge) = None;
    }

    /// Keeps in mind how full the context is that was just looked at.
    pub(crate) fn remember_context(&self, projection: &Projection) {
        *locked(&self.gauge) = Gauge::of(projection);
    }

    /// How full the context that ends at `leaf` is, if that is known without looking at it.
    pub(crate) fn gauge_at(&self, leaf: &EntryId) -> Option<Gauge> {
        locked(&self.gauge).clone().filter(|gauge| gauge.leaf_id() == leaf)
    }

    /// The answer whose overflow could not be compacted away.
    pub fn failed_recovery(&self) -> Option<EntryId> {
        locked(&self.failed_recovery).clone()
    }

    /// Keeps in mind that the overflow of `answer` could not be compacted away.
    pub(crate) fn note_failed_recovery(&self, answer: EntryId) {
        *locked(&self.failed_recovery) = Some(answer);
    }

    /// Keeps in mind that the model's provider takes no more than `tokens` of input.
    pub(crate) fn learn_room(&self, tokens: u64) {
        let mut room = locked(&self.room);
        *room = Some(room.map_or(tokens, |room| room.min(tokens)));
    }

    /// Keeps in mind that the model's provider has read `tokens`, which may be more than was known.
    pub(crate) fn learn_read(&self, tokens: u64) {
        let mut room = locked(&self.room);
        *room = room.map(|room| room.max(tokens));
    }

    /// Tokens of input that `model` takes, where its provider has shown it.
    pub fn room_of(&self, model: &AgentModel) -> Option<u64> {
        let is_same = locked(&self.model).as_ref() == Some(model);
        if is_same { *locked(&self.room) } else { None }
    }

    /// The model of the next requests with the window that its provider has shown, if it is known.
    pub fn effective_model(&self) -> Option<AgentModel> {
        let model = self.model()?;
        let context_window = self.room_of(&model).map_or(model.context_window, |room| room.min(model.context_window));
        Some(AgentModel { context_window, ..model })
    }

    /// The model of the next requests, if it is known.
    pub fn model(&self) -> Option<AgentModel> {
        locked(&self.model).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Failures in a row that open the circuit.
const MAX_FAILURES: u32 = 3;
/// How long it stays open; after that one compaction may try, and opens it again if it fails.
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
    /// A compaction has succeeded: all is well again.
    pub(crate) fn succeeded(&self) {
        *self.lock() = State::default();
    }

    /// A compaction has failed at `now`.
    pub(crate) fn failed(&self, now: SystemTime) {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= MAX_FAILURES {
            state.open_until = Some(now + OPEN_FOR);
        }
    }

    /// Until when the circuit is open, as an ISO 8601 time; `None` if it is not at `now`.
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
