//! Requests of the server to its client: summaries and hooks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compaction::{CompactionReason, GivenSummary, Preparation, RequestKind};
use super::json::{Entry, Usage, optional_text, text};
use super::navigation::GivenBranchSummary;
use super::sessions::ForkPosition;

/// Parameters of `summarize`: a request for the client's own model.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummarizeParams {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What the summary is about.
    pub kind: RequestKind,
    /// How the model is to be asked: `transcript` where absent. `continue` comes only to clients that name it in
    /// `initialize`, and is followed by a request without it if the answer is an error or no summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SummarizeMode>,
    /// With `mode: "continue"`: what is to be sent before `prompt`, as in the conversation's own requests, with
    /// their prompt and tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ContinuedConversation>,
    /// The system prompt; empty with `mode: "continue"`, where it is the conversation's own.
    pub system_prompt: String,
    /// The prompt; with `mode: "continue"` the user message that comes last.
    pub prompt: String,
    /// Output tokens at most.
    pub max_tokens: u64,
}

/// The client's answer to `summarize`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummarizeResult {
    /// The summary.
    #[serde(deserialize_with = "text")]
    pub text: String,
    /// Why the model stopped: stop, length, toolUse, error or aborted.
    pub stop_reason: String,
    /// What it cost.
    pub usage: Option<Usage>,
}

/// Parameters of `sessionBeforeCompact`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeCompact {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What would be compacted.
    pub preparation: Preparation,
    /// The entries from the root to the leaf.
    pub branch_entries: Vec<Entry>,
    /// What the summary should look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// Why it happens.
    pub reason: CompactionReason,
    /// Whether the failed request is worth another try afterwards.
    pub will_retry: bool,
}

/// The client's answer to `sessionBeforeCompact`; an empty object lets the compaction go on.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeCompactResult {
    /// Whether the compaction shall not happen.
    pub cancel: Option<bool>,
    /// The summary, in place of the summarizer's.
    pub compaction: Option<GivenSummary>,
}

/// Parameters of `sessionBeforeTree`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeTree {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What would happen.
    pub preparation: TreePreparation,
}

/// A navigation that would happen.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreePreparation {
    /// The entry to go to.
    pub target_id: String,
    /// The leaf that would be left.
    pub old_leaf_id: Option<String>,
    /// The deepest entry that both paths share.
    pub common_ancestor_id: Option<String>,
    /// The entries that would be left, oldest first.
    pub entries_to_summarize: Vec<String>,
    /// Whether the caller asked for a summary.
    pub user_wants_summary: bool,
    /// What the summary should look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// Whether `customInstructions` stand in place of the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_instructions: Option<bool>,
    /// A label for the summary or the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The client's answer to `sessionBeforeTree`; an empty object lets the navigation go on.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeTreeResult {
    /// Whether the navigation shall not happen.
    pub cancel: Option<bool>,
    /// The summary, in place of the summarizer's, where one is wanted.
    pub summary: Option<GivenBranchSummary>,
    /// Instructions in place of the caller's.
    #[serde(default, deserialize_with = "optional_text")]
    pub custom_instructions: Option<String>,
    /// Whether they stand in place of the usual ones.
    pub replace_instructions: Option<bool>,
    /// A label in place of the caller's.
    #[serde(default, deserialize_with = "optional_text")]
    pub label: Option<String>,
}

/// Parameters of `sessionBeforeFork`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeFork {
    /// The session.
    pub session_id: String,
    /// The entry at which the fork would end.
    pub entry_id: String,
    /// Whether it would end before or at the entry.
    pub position: ForkPosition,
}

/// The client's answer to `sessionBeforeFork`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelResult {
    /// Whether the operation shall not happen.
    pub cancel: Option<bool>,
}

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
