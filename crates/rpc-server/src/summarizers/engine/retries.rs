//! When a failed request is made again (docs/summaries.md, "Retries").

use std::time::Duration;

use tokio::time::Instant;

use crate::summarizers::ModelError;

/// How often a request is made again, and how long to wait before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Further tries after the first.
    pub max_retries: u32,
    /// Wait before the first further try; it doubles with each.
    pub base_delay: Duration,
    /// The longest wait.
    pub max_delay: Duration,
}

impl RetryPolicy {
    /// One try alone.
    pub const NONE: Self = Self { max_retries: 0, base_delay: Duration::ZERO, max_delay: Duration::ZERO };

    /// How long to wait before the further try number `retry`, counted from 0; the error, with the
    /// reason why there is none, where there shall be none: what failed would fail again, there were
    /// enough tries, the provider asks for more patience than the policy has, or the wait would end
    /// after `deadline`.
    pub fn wait(&self, retry: u32, error: &ModelError, deadline: Instant) -> Result<Duration, ModelError> {
        let given_up = |why: String| Err(ModelError { cause: format!("{}; {why}", error.cause), ..error.clone() });
        if !error.kind.is_retryable() || self.max_retries == 0 {
            return Err(error.clone());
        }
        if retry >= self.max_retries {
            return given_up(format!("gave up after {} tries", retry + 1));
        }
        let backoff = self.base_delay.saturating_mul(2_u32.saturating_pow(retry)).min(self.max_delay);
        let wait = backoff.max(error.retry_after.unwrap_or_default());
        if wait > self.max_delay {
            let (asked, most) = (wait.as_millis(), self.max_delay.as_millis());
            return given_up(format!(
                "the provider asks to wait {asked} ms, which is more than retry.maxDelayMs, {most}"
            ));
        }
        match deadline.checked_duration_since(Instant::now()) {
            Some(left) if left > wait => Ok(wait),
            _ => given_up("there is no time left for another try".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summarizers::FailureKind;

    const POLICY: RetryPolicy =
        RetryPolicy { max_retries: 3, base_delay: Duration::from_secs(2), max_delay: Duration::from_secs(60) };

    fn error(kind: FailureKind, retry_after: Option<u64>) -> ModelError {
        ModelError { cause: "busy".to_owned(), kind, retry_after: retry_after.map(Duration::from_secs) }
    }

    fn check(retry: u32, error: ModelError, seconds_left: u64, expected: Result<u64, &str>) {
        let deadline = Instant::now() + Duration::from_secs(seconds_left);
        let wait = POLICY.wait(retry, &error, deadline);
        let wait = wait.map(|wait| wait.as_secs()).map_err(|error| error.cause);
        assert_eq!(wait, expected.map_err(str::to_owned));
    }

    #[test]
    fn waits_double_and_heed_what_the_provider_asks() {
        let busy = |retry_after| error(FailureKind::RateLimited, retry_after);
        check(0, busy(None), 600, Ok(2));
        check(2, busy(None), 600, Ok(8));
        check(0, busy(Some(30)), 600, Ok(30));
        check(1, busy(Some(1)), 600, Ok(4));
        check(3, busy(None), 600, Err("busy; gave up after 4 tries"));
        let patience = "busy; the provider asks to wait 61000 ms, which is more than retry.maxDelayMs, 60000";
        check(0, busy(Some(61)), 600, Err(patience));
        check(0, busy(None), 1, Err("busy; there is no time left for another try"));
    }

    #[test]
    fn what_would_fail_again_is_not_tried_again() {
        for kind in [FailureKind::Authentication, FailureKind::Quota, FailureKind::Overflow, FailureKind::Refused] {
            check(0, error(kind, None), 600, Err("busy"));
        }
        let far = RetryPolicy { base_delay: Duration::MAX, max_delay: Duration::MAX, ..POLICY };
        let deadline = Instant::now() + Duration::from_secs(5);
        assert!(far.wait(2, &error(FailureKind::Server, None), deadline).is_err());
    }
}
