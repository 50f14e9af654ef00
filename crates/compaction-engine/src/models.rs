//! Models that write summaries: the interface of a model, its settings, the providers, and retries.
//!
//! A model makes one request at a time. Its caller fits requests to the window, retries them and checks the answer.

mod answer_text;
pub mod configuration;
mod continuation;
mod keys;
mod known_models;
pub mod providers;

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use serde_json::{Value, json};
use tokio::time::Instant;

pub use answer_text::summary_of;
pub(crate) use continuation::ContinuationCheck;
pub use continuation::{
    Cache, ContinuedRequest, Continues, Conversation, Estimate, MissedCaches, Obstacle, Reason, RequestChoice,
    RequestReport,
};
pub(crate) use known_models::Price;

/// Receives text while a model writes it, in the order of writing.
pub type OnDelta<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// A model that answers one request.
#[async_trait]
pub trait Model: Send + Sync + Debug {
    /// What the model can read and write, as far as it is known.
    fn limits(&self) -> ModelLimits;

    /// Whether a request that failed is made again after a while.
    fn is_retried(&self) -> bool {
        true
    }

    /// Makes one request, once: no retries. `on_delta` hears every piece of the answer that comes
    /// before its end; a model that answers in one piece need not call it. Dropping the future ends
    /// the request and frees what it holds (connections, processes).
    async fn complete(
        &self,
        request: &SummaryRequest,
        context: &RequestContext,
        on_delta: OnDelta<'_>,
    ) -> Result<Answer, ModelError>;

    /// The model's name, where it has one that its provider knows.
    fn model_name(&self) -> Option<&str> {
        None
    }

    /// Whose conversations it can continue; `None` if it takes requests of one prompt alone.
    fn continues(&self) -> Option<Continues> {
        None
    }

    /// Makes one request that continues a conversation; else as [`Model::complete`]. Only models that
    /// say what they continue are asked.
    async fn continue_conversation(
        &self,
        _: &ContinuedRequest,
        _: &RequestContext,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        Err(ModelError::refused("this model continues no conversations"))
    }
}

/// On whose behalf a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestContext {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
}

/// What a model can read and write, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelLimits {
    /// Its window: prompt and answer together; `None` where it is not known.
    pub context_window: Option<u64>,
    /// The longest answer; `None` where it is not known.
    pub max_output_tokens: Option<u64>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Why it ended.
    pub stop: StopReason,
    /// What it cost, in the members that session files use for assistant messages: `input`,
    /// `output`, `cacheRead`, `cacheWrite`, `totalTokens`.
    pub usage: Option<Value>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model was done.
    Stop,
    /// It reached the limit of output tokens.
    Length,
    /// It called a tool.
    ToolUse,
    /// Something else, in the provider's word: a refusal, a content filter.
    Other(String),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct ModelError {
    /// A sentence for a person: provider, status, the provider's own message. Never a key.
    pub cause: String,
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// How long the provider asked to wait (`retry-after`).
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// A failure that another try would repeat.
    pub fn refused(cause: impl Into<String>) -> Self {
        Self { cause: cause.into(), kind: FailureKind::Refused, retry_after: None }
    }
}

/// Kinds of failure, which decide whether another try makes sense (docs/summaries.md, "Retries").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// Too many requests.
    RateLimited,
    /// The provider has no capacity now.
    Overloaded,
    /// The provider failed (5xx).
    Server,
    /// The connection could not be made, or broke.
    Connection,
    /// No answer, or no further part of it, in time.
    TimedOut,
    /// The key is missing, wrong or not allowed to do this.
    Authentication,
    /// The account has nothing left.
    Quota,
    /// The request is larger than the model's window.
    Overflow,
    /// The request or the answer is wrong in a way that another try would repeat.
    Refused,
}

impl FailureKind {
    /// Whether the same request may succeed a little later.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Overloaded | Self::Server | Self::Connection | Self::TimedOut)
    }
}

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

/// What two requests cost together: numbers are added, at any depth.
pub(crate) fn sum_usage(first: Option<Value>, second: Option<Value>) -> Option<Value> {
    let (Some(first), Some(second)) = (&first, &second) else {
        return first.or(second);
    };
    Some(match (first, second) {
        (Value::Object(left), Value::Object(right)) => {
            let mut sum = left.clone();
            for (key, value) in right {
                let added = sum_usage(sum.remove(key), Some(value.clone()));
                sum.insert(key.clone(), added.unwrap_or_default());
            }
            Value::Object(sum)
        }
        (left, right) => match (left.as_u64(), right.as_u64(), left.as_f64(), right.as_f64()) {
            (Some(left), Some(right), ..) => json!(left.saturating_add(right)),
            (_, _, Some(left), Some(right)) => json!(left + right),
            _ => right.clone(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{FailureKind, *};

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
