//! The circuit breaker of a session: after several failures in a row it is not compacted by itself
//! for a while, so that a broken provider costs neither money nor minutes at every message. Somebody
//! who asks for a compaction always gets one tried.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use compaction_core::entry::iso_timestamp;

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
