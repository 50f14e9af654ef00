//! Models: what a summarizer that asks one needs to know of it. A model does one request at a time;
//! what fits into a request, retries and checks of the answer are the business of whoever asks.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use serde_json::Value;

use super::{ContinuedRequest, Continues, Occasion};

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
        occasion: &Occasion,
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
        _: &Occasion,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        let cause = "this model continues no conversations".to_owned();
        Err(ModelError { cause, kind: FailureKind::Refused, retry_after: None })
    }
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
