//! How summaries are asked for, and what that takes.

use schemars::JsonSchema;
use serde::Serialize;

use super::compaction::RequestKind;

/// How a model is asked for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SummarizeMode {
    /// By a prompt that holds the conversation as a text.
    Transcript,
    /// By the conversation itself, as its model was last sent it, and one more message. What the provider still
    /// has of that conversation in its cache costs a part of the price.
    Continue,
}

/// The part of a conversation that is continued for its summary.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContinuedConversation {
    /// The last entry that is part of it.
    pub last_entry_id: String,
    /// How many messages it has: the first ones of `getContext` in `llm` format. An answer with tool calls is
    /// never the last one without their results.
    pub messages: u64,
    /// The oldest entry that the compaction keeps.
    pub first_kept_entry_id: String,
}

/// How the summary of a compaction was asked for, and what either way takes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummaryRequestReport {
    /// What the summary is about.
    pub kind: RequestKind,
    /// How the model was asked that wrote it.
    pub mode: SummarizeMode,
    /// Why the conversation was not continued, or why its summary was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_continued: Option<NotContinued>,
    /// What asking by transcripts takes; absent if no transcript fits the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<RequestEstimate>,
    /// What continuing the conversation takes, if the provider has all of it in its cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued: Option<RequestEstimate>,
    /// Input tokens that were read from the provider's cache, where the model told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// What all requests for this summary cost at list prices, in US dollars; absent where the model's usage or its
    /// price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// An estimate of what the input of requests takes.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestEstimate {
    /// Input tokens.
    pub input_tokens: u64,
    /// What they cost at list prices, in US dollars; absent where the model's price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// Why a conversation was not continued.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NotContinued {
    /// The reason.
    pub reason: NotContinuedReason,
    /// The same for a person, with the numbers.
    pub detail: String,
}

/// Reasons for which a conversation is not continued, or a summary that it gave not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NotContinuedReason {
    /// The settings ask for transcripts.
    Settings,
    /// The summarizer, or the client, cannot continue conversations.
    NotSupported,
    /// The conversation is another model's, or at another provider. That one shall not see it whole.
    OtherModel,
    /// The conversation was held over another interface of the provider.
    OtherInterface,
    /// The session does not hold prompt and tools, or not as one prompt that stands first.
    PromptUnknown,
    /// The last answer's request did not begin with all of it.
    NotSeen,
    /// Conversation, instruction and summary do not fit the window together.
    TooLarge,
    /// The conversation was held with thinking, and the settings of the summarizer do not say how.
    ThinkingUnknown,
    /// The last answer's usage shows no cache.
    NoCache,
    /// Its request was too long ago for the cache to have it still.
    Cold,
    /// The provider had nothing in its cache when a conversation was continued before.
    Missed,
    /// A transcript is cheaper.
    Dearer,
    /// The provider, or the client, has refused the request.
    Refused,
    /// The model called the request too large.
    Overflow,
    /// The server has read a part of the request.
    Truncated,
    /// The model called a tool.
    ToolCall,
    /// The answer was empty.
    Empty,
    /// The answer was cut off twice.
    CutOff,
    /// The answer lacked headings twice.
    Headings,
    /// The model stopped for a reason of its provider's.
    Stopped,
}
