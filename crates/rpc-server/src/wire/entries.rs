//! Entries and context: append, read, tree, labels, pins, tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compaction::{ClippedResult, CompactionReason, RefusedSize};
use super::json::{AnyMessage, Entry, Message, NewEntry, nullable_string, optional_text};
use super::notifications::ErrorBody;

/// A shape of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessageFormat {
    /// That of the session file.
    #[default]
    Pi,
    /// `messages` of OpenAI's chat completions, and of all servers that speak like it.
    #[serde(rename = "openai")]
    OpenAi,
    /// Items of OpenAI's `responses`.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `messages` of Anthropic.
    Anthropic,
    /// `contents` of Gemini.
    Gemini,
    /// Model messages of the AI SDK (version 5 and 6); its UI messages are read too.
    AiSdk,
}

/// Parameters of `appendMessage`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessageParams {
    /// The session.
    pub session_id: String,
    /// The message.
    pub message: AnyMessage,
    /// The shape of the message; `pi` by default.
    pub format: Option<MessageFormat>,
    /// The leaf that the caller believes in; another one fails the call with `leafMoved`.
    pub expected_leaf_id: Option<String>,
}

/// Result of `appendMessage`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessageResult {
    /// The new entry; the last one, where the message became several.
    pub entry_id: String,
    /// The new entries, where the message became several: an entry holds one result of a tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entry_ids: Vec<String>,
    /// The leaf afterwards.
    pub leaf_id: String,
    /// Usage of the context, where the session's model is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// The compaction that the server has begun because of this message, or why it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<AutomaticCompaction>,
}

/// Parameters of `appendMessages`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessagesParams {
    /// The session.
    pub session_id: String,
    /// The messages, oldest first; at least one, at most 10000.
    pub messages: Vec<AnyMessage>,
    /// The shape of the messages; `pi` by default.
    pub format: Option<MessageFormat>,
    /// The leaf that the caller believes in; another one fails the call with `leafMoved`.
    pub expected_leaf_id: Option<String>,
}

/// Result of `appendMessages`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessagesResult {
    /// The new entries, oldest first. A message may become several, and items of one answer become one.
    pub entry_ids: Vec<String>,
    /// For each entry the position of the message that it holds; of the first one, where it holds several.
    pub sources: Vec<u64>,
    /// The leaf afterwards.
    pub leaf_id: String,
    /// Usage of the context, where the session's model is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// The compaction that the server has begun because of these messages, or why it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<AutomaticCompaction>,
}

/// A compaction that is due.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomaticCompaction {
    /// Names the operation; its outcome comes with `compactionEnd`. With `operationInProgress` it is
    /// the one that runs already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// Why it is due: `threshold` or `overflow`.
    pub reason: CompactionReason,
    /// Whether the request that failed is worth another try once the compaction is done.
    pub will_retry: bool,
    /// Why nothing is done: `operationInProgress` (it is looked at again when that operation ends),
    /// `failedRepeatedly`, `undone` (a compaction was undone since the last request of a person),
    /// `overflowRecoveryTried` (a `compactionEnd` tells a person what to do), `outputTooLarge` (the output
    /// that was asked for fills the limit, so that no context is small enough), `otherModel` (another model
    /// refused it), `olderThanCompaction`, `alreadyCompacted`, or `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Until when it is not tried, after several failures in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Why it could not begin, as `compactionEnd` tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Tool results that were shortened in the context at once; their entries keep the whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clipped: Vec<ClippedResult>,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// More tokens than this are too many.
    pub threshold: u64,
    /// What the provider named of the request that it refused.
    #[serde(flatten)]
    pub refused: RefusedSize,
}

/// Parameters of `appendEntry`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendEntryParams {
    /// The session.
    pub session_id: String,
    /// The entry.
    pub entry: NewEntry,
    /// The leaf that the caller believes in; another one fails the call with `leafMoved`.
    pub expected_leaf_id: Option<String>,
}

/// Parameters of calls that name one entry.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryParams {
    /// The session.
    pub session_id: String,
    /// The entry.
    pub entry_id: String,
}

/// Result of `getEntry`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GetEntryResult {
    /// The entry.
    pub entry: Entry,
}

/// Parameters of `getEntries`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetEntriesParams {
    /// The session.
    pub session_id: String,
    /// Entries per page; all by default.
    pub limit: Option<u64>,
    /// Where the last page ended: its `nextCursor`, or the id of any entry. The first page by default.
    pub cursor: Option<String>,
    /// Deprecated since 1.1 in favour of `cursor`, which counts where both are given: the entry after which to start.
    #[schemars(extend("deprecated" = true))]
    pub since: Option<String>,
    /// Ids of the entries that are wanted, at most 1000, in this order; used in place of the others. Entries that are
    /// named again may hold 8 MiB together.
    pub ids: Option<Vec<String>>,
}

/// Result of `getEntries` and `getBranch`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntriesResult {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Present if there are more, in `getEntries` with a `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `getBranch`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetBranchParams {
    /// The session.
    pub session_id: String,
    /// The end of the branch; the leaf by default.
    pub leaf_id: Option<String>,
}

/// Result of `getTree`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetTreeResult {
    /// The leaf.
    pub leaf_id: Option<String>,
    /// All entries in file order; never nested, so that depth has no limit.
    pub nodes: Vec<TreeNode>,
}

/// One entry of the tree.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// The entry.
    pub id: String,
    /// The entry before it, as stored.
    pub parent_id: Option<String>,
    /// Type of the entry.
    #[serde(rename = "type")]
    pub entry_type: String,
    /// Role of its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The start of its text, on one line.
    pub preview: String,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// Entries that follow it, oldest first.
    pub children: Vec<String>,
}

/// Format of a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextFormat {
    /// Stored roles, and synthetic `compactionSummary`, `branchSummary` and `custom` messages.
    #[default]
    Agent,
    /// User, assistant and toolResult alone, ready to send to a model: answers that failed or were aborted
    /// are left out with the results of their calls, and every call has its result right behind it. The
    /// calls of the last answer stay open, as their results may still come.
    Llm,
    /// As `llm`, in the shape of OpenAI's chat completions, system messages included. So are the others:
    /// a message that was appended in the shape comes back as it was.
    #[serde(rename = "openai")]
    OpenAi,
    /// Items for OpenAI's `responses`.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `messages` for Anthropic; the instructions come in `system`.
    Anthropic,
    /// `contents` for Gemini; the instructions come in `system`.
    Gemini,
    /// Model messages of the AI SDK.
    #[serde(rename = "ai-sdk")]
    AiSdk,
}

/// Parameters of `getContext`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetContextParams {
    /// The session.
    pub session_id: String,
    /// The end of the branch; the leaf by default.
    pub leaf_id: Option<String>,
    /// Format of the messages; `agent` by default.
    pub format: Option<ContextFormat>,
    /// An entry up to which the caller has the context already.
    pub after: Option<String>,
}

/// Result of `getContext`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetContextResult {
    /// What the model sees.
    pub messages: Vec<AnyMessage>,
    /// The instructions, for interfaces that take them beside the messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The end of the branch.
    pub leaf_id: Option<String>,
    /// The thinking level at the leaf.
    pub thinking_level: String,
    /// The model at the leaf.
    pub model: Option<ModelName>,
    /// What the whole context weighs.
    pub tokens: ContextTokens,
    /// With `after`: whether `messages` holds only what follows that entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<bool>,
    /// What was odd: unknown first kept entries, broken bodies, results without calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<super::sessions::Diagnostic>,
}

/// A model, as entries name it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelName {
    /// Provider of the model.
    pub provider: String,
    /// Id of the model.
    pub model_id: String,
}

/// Tokens of a context.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextTokens {
    /// The sum.
    pub tokens: u64,
    /// Tokens of the last usage that can be trusted.
    pub usage_tokens: u64,
    /// Estimates for the messages after it.
    pub trailing_tokens: u64,
}

/// Parameters of `getContextUsage`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetContextUsageParams {
    /// The session.
    pub session_id: String,
    /// The model whose window counts.
    pub model: WindowModel,
}

/// A model of which only the window matters.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindowModel {
    /// Size of the window in tokens.
    pub context_window: u64,
}

/// How full a window is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Tokens of the context; null between a compaction and the first answer after it.
    pub tokens: Option<u64>,
    /// Size of the window in tokens.
    pub context_window: u64,
    /// Tokens in percent of the window.
    pub percent: Option<f64>,
}

/// Parameters of `setLabel`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetLabelParams {
    /// The session.
    pub session_id: String,
    /// The entry that gets the label.
    pub target_id: String,
    /// The label; null clears it.
    #[serde(deserialize_with = "optional_text")]
    #[schemars(schema_with = "nullable_string", required)]
    pub label: Option<String>,
}

/// Parameters of `estimateTokens`: messages or a text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct EstimateTokensParams {
    /// Messages, as stored or as models get them, or in the shape that `format` names; at most 10000.
    pub messages: Option<Vec<AnyMessage>>,
    /// The shape of the messages; `pi` by default.
    pub format: Option<MessageFormat>,
    /// A text; used if there are no messages.
    #[serde(default, deserialize_with = "optional_text")]
    pub text: Option<String>,
}

/// Result of `estimateTokens`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EstimateTokensResult {
    /// Estimated tokens.
    pub tokens: u64,
}

/// Parameters of `serializeConversation`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct SerializeConversationParams {
    /// Messages in either format; at most 10000.
    pub messages: Vec<Message>,
}

/// Result of `serializeConversation`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SerializeConversationResult {
    /// The conversation as one text.
    pub text: String,
}

/// Parameters of `pinEntry`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinEntryParams {
    /// The session.
    pub session_id: String,
    /// An entry on the current path that gives the model a message.
    pub entry_id: String,
    /// Whether it is to be pinned (true) or unpinned.
    pub pinned: bool,
}

/// Result of `pinEntry`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinEntryResult {
    /// The entry.
    pub entry_id: String,
    /// Whether it is pinned now.
    pub pinned: bool,
    /// All pinned entries of the path, root first.
    pub pins: Vec<PinnedEntry>,
    /// What they take together.
    pub tokens: u64,
    /// What they may take together (setting `compactd.pins.maxTokens`).
    pub max_tokens: u64,
}

/// Parameters of `getPins`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetPinsParams {
    /// The session.
    pub session_id: String,
    /// The end of a branch; the leaf by default.
    pub leaf_id: Option<String>,
}

/// Result of `getPins`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetPinsResult {
    /// The pinned entries of the branch, root first.
    pub pins: Vec<PinnedEntry>,
    /// What they take together.
    pub tokens: u64,
    /// What they may take together.
    pub max_tokens: u64,
}

/// A pinned entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinnedEntry {
    /// The entry.
    pub entry_id: String,
    /// Estimated tokens that it takes behind a summary.
    pub tokens: u64,
}
