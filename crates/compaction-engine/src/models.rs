//! Models that write summaries: the interface of a model, its settings, the providers, and retries.
//!
//! A model makes one request at a time. Its caller fits requests to the window, retries them and checks the answer.
//!
//! `models/prices.json` has list prices; gateways and contracts may charge others. `models/output_limits.json` holds
//! output limits by model family, for settings that give none. Both tables are dated and name their sources. A model
//! that is in neither table has no known price and no known limit.

mod answer_text;
pub(crate) mod configuration;
mod continuation;
mod keys;
pub(crate) mod providers;

use std::fmt::Debug;
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

pub use answer_text::summary_of;
pub use configuration::ModelConfiguration;
pub(crate) use continuation::ContinuationCheck;
pub use continuation::{
    Cache, ContinuedRequest, Continues, Conversation, Estimate, MissedCaches, Obstacle, Reason, RequestChoice,
    RequestReport,
};
pub use providers::{Environment, PrintedKeys, model_of};

/// Receives the text of an answer in pieces, in order.
pub type OnDelta<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// A model that answers one request.
#[async_trait]
pub trait Model: Send + Sync + Debug {
    /// The token limits of the model, where known.
    fn limits(&self) -> ModelLimits;

    /// Whether failed requests are retried.
    fn is_retried(&self) -> bool {
        true
    }

    /// The failure of every request, if it is known in advance: a key or a program is missing.
    fn known_failure(&self) -> Option<ModelError> {
        None
    }

    /// Makes one request, without retries. `on_delta` gets every piece of the answer before its end; a model that
    /// answers in one piece need not call it. Dropping the future cancels the request and frees its connections and
    /// processes.
    async fn complete(
        &self,
        request: &SummaryRequest,
        context: &RequestContext,
        on_delta: OnDelta<'_>,
    ) -> Result<Answer, ModelError>;

    /// The model's name at its provider.
    fn model_name(&self) -> Option<&str> {
        None
    }

    /// The conversations that it can continue; `None` if it only takes requests with one prompt.
    fn continues(&self) -> Option<Continues> {
        None
    }

    /// Makes one request that continues a conversation, otherwise as [`Model::complete`]. It is called only for
    /// models that can continue conversations.
    async fn continue_conversation(
        &self,
        _: &ContinuedRequest,
        _: &RequestContext,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        Err(ModelError::refused("this model continues no conversations"))
    }
}

/// The operation for which a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestContext {
    /// The session.
    pub session_id: String,
    /// The id of the operation.
    pub operation_id: String,
}

/// The limits of a model in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelLimits {
    /// The window, which prompt and answer share; `None` where it is unknown.
    pub context_window: Option<u64>,
    /// The longest answer; `None` where it is unknown.
    pub max_output_tokens: Option<u64>,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// The reason of its end.
    pub stop: StopReason,
    /// Its usage, with the members that session files use for assistant messages: `input`, `output`, `cacheRead`,
    /// `cacheWrite`, `totalTokens`.
    pub usage: Option<Value>,
}

/// The reason why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model finished.
    Stop,
    /// It reached the limit of output tokens.
    Length,
    /// It called a tool.
    ToolUse,
    /// Another reason, in the provider's words: a refusal, a content filter.
    Other(String),
}

/// The error of a request to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct ModelError {
    /// A sentence for a person: provider, status, the provider's own message. It never contains a key.
    pub cause: String,
    /// The kind of the failure.
    pub kind: FailureKind,
    /// The wait that the provider asked for (`retry-after`).
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// A failure that a retry would repeat.
    pub fn refused(cause: impl Into<String>) -> Self {
        Self { cause: cause.into(), kind: FailureKind::Refused, retry_after: None }
    }
}

/// Kinds of failure. They decide whether a retry makes sense (docs/summaries.md, "Retries").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// Too many requests.
    RateLimited,
    /// The provider has no capacity now.
    Overloaded,
    /// The provider failed (5xx).
    Server,
    /// The connection could not be made, or broke.
    Connection,
    /// The answer, or its next part, did not arrive in time.
    TimedOut,
    /// The key is missing, wrong or lacks permission.
    Authentication,
    /// The account's budget is used up.
    Quota,
    /// The request is larger than the model's window.
    Overflow,
    /// The request or the answer is wrong, and a retry would repeat the error.
    Refused,
}

impl FailureKind {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Overloaded | Self::Server | Self::Connection | Self::TimedOut)
    }
}

/// Number of retries, and the waits before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries.
    pub max_retries: u32,
    /// The wait before the first retry. It doubles with each retry.
    pub base_delay: Duration,
    /// The longest wait.
    pub max_delay: Duration,
}

impl RetryPolicy {
    /// No retries.
    pub const NONE: Self = Self { max_retries: 0, base_delay: Duration::ZERO, max_delay: Duration::ZERO };

    /// The wait before retry number `retry`, counted from 0.
    ///
    /// # Errors
    /// The error, with the reason, where there is no retry: the failure would repeat, all retries are used up, the
    /// provider asks for a longer wait than the policy allows, or the wait would end after `deadline`.
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

/// The sum of two usages: numbers are added, at any depth.
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

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Price {
    /// Of input.
    input: f64,
    /// Of input from a cache.
    cached_input: f64,
    /// Of input that is written to a cache; the price of input where there is none.
    cache_write: Option<f64>,
    /// Of output.
    output: f64,
}

#[derive(Deserialize)]
struct Table<T> {
    models: Vec<T>,
}

#[derive(Deserialize)]
struct PricedModel {
    name: String,
    #[serde(flatten)]
    price: Price,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LimitedModel {
    name: String,
    max_output_tokens: u64,
}

static PRICES: LazyLock<Vec<PricedModel>> = LazyLock::new(|| read_table(include_str!("models/prices.json")));
static LIMITS: LazyLock<Vec<LimitedModel>> = LazyLock::new(|| read_table(include_str!("models/output_limits.json")));

/// The rows of a bundled table. Tests check that both tables can be read.
fn read_table<T: DeserializeOwned>(text: &str) -> Vec<T> {
    serde_json::from_str::<Table<T>>(text).map(|table| table.models).unwrap_or_default()
}

const MILLION: f64 = 1_000_000.0;

impl Price {
    /// The price of a model. Its name may have a gateway's prefix and a date around it; another version or size is a
    /// different model.
    pub(crate) fn of(model: &str) -> Option<Self> {
        let model = model.to_ascii_lowercase();
        let is_row = |entry: &&PricedModel| {
            model.match_indices(&entry.name).any(|(at, _)| {
                let is_inner = |last: char| last.is_ascii_alphanumeric() || last == '-';
                !model[..at].ends_with(is_inner) && is_date(&model[at + entry.name.len()..])
            })
        };
        PRICES.iter().find(is_row).map(|entry| entry.price)
    }

    /// The price of uncached input.
    pub(crate) fn input(&self, tokens: u64) -> f64 {
        tokens as f64 * self.input / MILLION
    }

    /// The price of cached input.
    pub(crate) fn cached(&self, tokens: u64) -> f64 {
        tokens as f64 * self.cached_input / MILLION
    }

    /// The price of cached input as a part of that of uncached input.
    pub(crate) fn cached_part(&self) -> f64 {
        self.cached_input / self.input
    }

    /// The price of requests with this usage; `None` where input or output is missing.
    pub(crate) fn of_usage(&self, usage: &Value) -> Option<f64> {
        let tokens = |member: &str| usage.get(member).and_then(Value::as_u64);
        let output = tokens("output")? as f64 * self.output / MILLION;
        let written = tokens("cacheWrite").unwrap_or(0) as f64 * self.cache_write.unwrap_or(self.input) / MILLION;
        Some(self.input(tokens("input")?) + self.cached(tokens("cacheRead").unwrap_or(0)) + written + output)
    }
}

/// Whether a name is followed only by a date, `latest`, or the version of an interface.
fn is_date(rest: &str) -> bool {
    let mut words = rest.split(['-', '@', ':']);
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_year = |word: &str| word == "latest" || word.len() >= 4 && is_number(word);
    words.next() == Some("")
        && words.next().is_none_or(is_year)
        && words.all(|word| is_number(word) || matches!(word, "v1" | "v2"))
}

/// Maximum output tokens of a model, by the longest matching name of the table. The name must not be part of a longer
/// word; gateways put prefixes before it.
fn max_output_tokens(model: &str) -> Option<u64> {
    let model = model.to_ascii_lowercase();
    let known = LIMITS.iter().filter(|entry| holds(&model, &entry.name));
    known.max_by_key(|entry| entry.name.len()).map(|entry| entry.max_output_tokens)
}

/// Whether `model` contains `name`, not inside a word and not before the rest of a number.
fn holds(model: &str, name: &str) -> bool {
    model.match_indices(name).any(|(at, _)| {
        let (before, after) = (&model[..at], &model[at + name.len()..]);
        let is_number = |text: &str| text.starts_with('.') && text[1..].starts_with(|next: char| next.is_ascii_digit());
        !before.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '-')
            && !after.starts_with(|next: char| next.is_ascii_alphanumeric())
            && !is_number(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn prices_are_known_by_families() {
        assert!(PRICES.len() > 15);
        let check_price = |model: &str, expected: Option<f64>| {
            assert_eq!(Price::of(model).map(|price| price.input), expected, "{model}");
        };
        check_price("claude-sonnet-4-5-20250929", Some(3.0));
        check_price("anthropic/claude-opus-4.1", Some(15.0));
        check_price("claude-opus-4-20250514", Some(15.0));
        check_price("claude-opus-4-5", Some(5.0));
        check_price("gpt-5-mini-2025-08-07", Some(0.25));
        check_price("gpt-5.1", Some(1.25));
        check_price("us.anthropic.claude-haiku-4-5-20251001-v1:0", Some(1.0));
        check_price("claude-sonnet-4-5@20250929", Some(3.0));
        check_price("claude-3-5-haiku-latest", Some(0.8));
        check_price("gpt-5", Some(1.25));
        check_price("claude-opus-4-9", None);
        check_price("gpt-5-pro", None);
        check_price("my-gpt-5", None);
        check_price("gpt-5-", None);
        check_price("qwen3:8b", None);
        check_price("gpt-5.9", None);
    }

    #[test]
    fn a_usage_costs_the_sum_of_its_parts() {
        let price = Price::of("claude-sonnet-4-5").unwrap();
        let usage = json!({ "input": 1000, "cacheRead": 150_000, "cacheWrite": 2000, "output": 3000 });
        let cost = price.of_usage(&usage).unwrap();
        assert!((cost - (0.003 + 0.045 + 0.0075 + 0.045)).abs() < 1e-9, "{cost}");
        assert_eq!(price.of_usage(&json!({})), None);
        assert!((price.cached_part() - 0.1).abs() < 1e-9);
    }

    fn check_limit(model: &str, expected: Option<u64>) {
        assert_eq!(max_output_tokens(model), expected, "{model}");
    }

    #[test]
    fn models_are_known_by_their_families() {
        assert!(LIMITS.len() > 40);
        check_limit("claude-3-haiku-20240307", Some(4096));
        check_limit("claude-opus-4-1@20250805", Some(32_000));
        check_limit("anthropic/claude-sonnet-4.5", Some(64_000));
        check_limit("us.anthropic.claude-haiku-4-5-20251001-v1:0", Some(64_000));
        check_limit("gpt-4o-mini", Some(16_384));
        check_limit("gpt-4", Some(4096));
        check_limit("gpt-4.1-nano", Some(32_768));
        check_limit("openai/gpt-5.1-chat-latest", Some(16_384));
        check_limit("models/gemini-2.5-flash", Some(65_536));
        check_limit("us.amazon.nova-pro-v1:0", Some(10_000));
    }

    #[test]
    fn other_models_have_no_limit() {
        for unknown in
            ["qwen3:8b", "gpt-4.9", "my-gpt-4", "gpt-45", "llama3.1", "o10", "claude-sonnet-9", "gpt-test", ""]
        {
            check_limit(unknown, None);
        }
    }
}
