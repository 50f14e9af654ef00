//! What the server sends to its client: notifications, and requests for summaries and decisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compaction::{ClippedResult, CompactionReason, CompactionResult, GivenSummary, Preparation, RequestKind};
use super::json::{Entry, ErrorData, Usage, optional_text, text};
use super::sessions::ForkPosition;
use super::sessions::{GivenBranchSummary, NavigationResult};

/// `entryAppended`: an entry was written by a call, or, in a session with a subscription, by another program.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryAppended {
    /// The session.
    pub session_id: String,
    /// The entry.
    pub entry: Entry,
}

/// `sessionChanged`: another program added entries to the file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionChanged {
    /// The session.
    pub session_id: String,
    /// The entries that were added.
    pub entry_ids: Vec<String>,
    /// The new leaf.
    pub leaf_id: Option<String>,
}

/// `diagnostic`: a part of a request was ignored, and the request was served all the same. Each part is reported once.
/// `initialize` and `updateSettings` report it in the `diagnostics` of their results. In a session with a subscription
/// it also reports problems with the file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequestDiagnostic {
    /// The kind of the problem.
    pub kind: DiagnosticKind,
    /// The method of the request.
    pub method: String,
    /// Path of the part in the parameters.
    pub path: String,
    /// The known name that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// The session, if the problem is that of a session.
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Message for a person.
    pub message: String,
}

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DiagnosticKind {
    /// A member that the method does not have.
    UnknownMember,
    /// A setting that does not exist.
    UnknownSetting,
    /// The file of a subscription was truncated, rewritten, or replaced by another one.
    SessionReplaced,
    /// The file of a subscription was deleted.
    SessionDeleted,
    /// The file of a subscription cannot be read.
    SessionUnreadable,
}

/// `leafChanged`: a navigation moved the leaf.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeafChanged {
    /// The session.
    pub session_id: String,
    /// The new leaf.
    pub leaf_id: Option<String>,
    /// The old leaf.
    pub old_leaf_id: Option<String>,
}

/// `compactionStart`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionStart {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// The reason.
    pub reason: CompactionReason,
    /// Tokens of the context.
    pub tokens_before: u64,
}

/// `compactionProgress` and `branchSummaryProgress`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationProgress {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// The current phase.
    pub phase: OperationPhase,
    /// Number of the running request, from 1.
    pub request: u32,
    /// Number of requests.
    pub requests: u32,
    /// Output tokens of this request so far.
    pub output_tokens: u64,
    /// New text of the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<String>,
}

/// A phase of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OperationPhase {
    /// A summary is being written.
    Summarizing,
    /// A request failed and will be repeated.
    Waiting,
    /// The entry is being written.
    Committing,
}

/// `compactionEnd`: exactly one for every `compactionStart`, sent before the reply to `compact`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEnd {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// The reason.
    pub reason: CompactionReason,
    /// The result. Absent if it failed, or if shortening tool results was enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<CompactionResult>,
    /// Tool results that were shortened in the context, if that was enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clipped: Vec<ClippedResult>,
    /// Whether it was cancelled.
    pub aborted: bool,
    /// Whether to repeat the failed request.
    pub will_retry: bool,
    /// Present and true if the server began the compaction and the context ends with a tool result or an answer that
    /// was cut off. The agent has work left, and the host must resume it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<bool>,
    /// When automatic compaction resumes after several failures in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// The error, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// `branchSummaryStart`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryStart {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// The entry to go to.
    pub target_id: String,
    /// The leaf that would be left.
    pub old_leaf_id: Option<String>,
    /// Estimated input tokens of the summary.
    pub estimated_tokens: u64,
}

/// `branchSummaryEnd`: exactly one for every `branchSummaryStart`, sent before the reply.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEnd {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// The result, unless it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<NavigationResult>,
    /// Whether it was cancelled.
    pub aborted: bool,
    /// The error, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// An error, as in a reply.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// Code of the error.
    pub code: i32,
    /// Message for a person.
    pub message: String,
    /// `kind`, `reason` and `retryable`, and the ids and numbers that a caller needs.
    pub data: ErrorData,
}

/// Parameters of `summarize`: a request for the client's own model.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummarizeParams {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// What the summary covers.
    pub kind: RequestKind,
    /// How to ask the model. Default: `transcript`. The server sends `continue` only to clients that list it in
    /// `initialize`. If the answer is an error or no summary, it sends a request without `mode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SummarizeMode>,
    /// With `mode: "continue"`: the messages to send before `prompt`, with the prompt and tools of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ContinuedConversation>,
    /// The system prompt. Empty with `mode: "continue"`: the conversation has its own.
    pub system_prompt: String,
    /// The prompt. With `mode: "continue"` it is the last user message.
    pub prompt: String,
    /// Maximum number of output tokens.
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
    /// Usage of the summary.
    pub usage: Option<Usage>,
}

/// Parameters of `sessionBeforeCompact`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeCompact {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// The part that would be compacted.
    pub preparation: Preparation,
    /// The entries from the root to the leaf.
    pub branch_entries: Vec<Entry>,
    /// What the summary should focus on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// The reason.
    pub reason: CompactionReason,
    /// Whether to repeat the failed request afterwards.
    pub will_retry: bool,
}

/// The client's answer to `sessionBeforeCompact`. An empty object continues the compaction.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeCompactResult {
    /// Whether to cancel the compaction.
    pub cancel: Option<bool>,
    /// A summary, instead of that of the summarizer.
    pub compaction: Option<GivenSummary>,
}

/// Parameters of `sessionBeforeTree`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeTree {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// The navigation.
    pub preparation: TreePreparation,
}

/// A navigation that is about to happen.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreePreparation {
    /// The entry to go to.
    pub target_id: String,
    /// The leaf that would be left.
    pub old_leaf_id: Option<String>,
    /// The deepest entry that both paths share.
    pub common_ancestor_id: Option<String>,
    /// The entries that would be abandoned, oldest first.
    pub entries_to_summarize: Vec<String>,
    /// Whether the caller asked for a summary.
    pub user_wants_summary: bool,
    /// What the summary should focus on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// Whether `customInstructions` replace the default ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_instructions: Option<bool>,
    /// A label for the summary or the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The client's answer to `sessionBeforeTree`. An empty object continues the navigation.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeTreeResult {
    /// Whether to cancel the navigation.
    pub cancel: Option<bool>,
    /// A summary, instead of that of the summarizer, if one is wanted.
    pub summary: Option<GivenBranchSummary>,
    /// Instructions that replace those of the caller.
    #[serde(default, deserialize_with = "optional_text")]
    pub custom_instructions: Option<String>,
    /// Whether they replace the default ones.
    pub replace_instructions: Option<bool>,
    /// A label that replaces that of the caller.
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
    /// Whether the fork would end before or at the entry.
    pub position: ForkPosition,
}

/// The client's answer to `sessionBeforeFork`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelResult {
    /// Whether to cancel the operation.
    pub cancel: Option<bool>,
}

/// How a model is asked for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SummarizeMode {
    /// By a prompt that contains the conversation as text.
    Transcript,
    /// By the conversation itself, as in the last request to its model, and one more message. Tokens that the provider
    /// has in its cache cost only a part of the price.
    Continue,
}

/// The part of a conversation that is continued to get its summary.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContinuedConversation {
    /// Its last entry.
    pub last_entry_id: String,
    /// Number of messages: the first ones of `getContext` in `llm` format. It never ends between an answer with tool
    /// calls and their results.
    pub messages: u64,
    /// The oldest entry that the compaction keeps.
    pub first_kept_entry_id: String,
}

/// How the summary of a compaction was requested, and what either way costs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummaryRequestReport {
    /// What the summary covers.
    pub kind: RequestKind,
    /// How the model that wrote it was asked.
    pub mode: SummarizeMode,
    /// Why the conversation was not continued, or why its summary was not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_continued: Option<NotContinued>,
    /// Cost of transcripts. Absent if no transcript fits the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<RequestEstimate>,
    /// Cost of continuing the conversation, if the provider has all of it in its cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued: Option<RequestEstimate>,
    /// Input tokens that were read from the provider's cache, if the provider reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Cost of all requests for this summary at list prices, in US dollars. Absent if the usage or the price is not
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// An estimate of the input of requests.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestEstimate {
    /// Input tokens.
    pub input_tokens: u64,
    /// Their cost at list prices, in US dollars. Absent if the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// Why a conversation was not continued.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NotContinued {
    /// The reason.
    pub reason: NotContinuedReason,
    /// The explanation for a person, with numbers.
    pub detail: String,
}

/// Reasons why a conversation is not continued, or why its summary is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NotContinuedReason {
    /// The settings require transcripts.
    Settings,
    /// The summarizer or the client cannot continue conversations.
    NotSupported,
    /// Another model or provider held the conversation, and must not see all of it now.
    OtherModel,
    /// The conversation was held over another interface of the provider.
    OtherInterface,
    /// The session does not contain prompt and tools, or not as one leading prompt.
    PromptUnknown,
    /// The request of the last answer did not begin with the whole conversation.
    NotSeen,
    /// Conversation, instruction and summary do not fit the window together.
    TooLarge,
    /// The conversation was held with thinking, and the settings of the summarizer do not configure it.
    ThinkingUnknown,
    /// The last answer's usage shows no cache.
    NoCache,
    /// Its request is too old for the cache.
    #[serde(rename = "cold")]
    CacheExpired,
    /// The provider had nothing in its cache when a conversation was continued earlier.
    #[serde(rename = "missed")]
    CacheMissed,
    /// A transcript is cheaper.
    #[serde(rename = "dearer")]
    CostsMore,
    /// The provider or the client refused the request.
    Refused,
    /// The provider refused the request as too large.
    Overflow,
    /// The provider read only a part of the request.
    Truncated,
    /// The model called a tool.
    ToolCall,
    /// The answer was empty.
    Empty,
    /// The answer was cut off twice.
    CutOff,
    /// The answer lacked headings twice.
    Headings,
    /// The model stopped for a reason of its provider.
    Stopped,
}
