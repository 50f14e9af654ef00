//! Entries and context: append, read, tree, labels, pins, tokens; search, and recall of entries that compactions took
//! out of the context.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client::ErrorBody;
use super::compaction::{ClippedResult, CompactionReason, RefusedSize};
use super::json::{AnyMessage, Entry, Message, NewEntry, nullable_string, optional_text};

/// A format of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessageFormat {
    /// The format of the session file.
    #[default]
    Pi,
    /// `messages` of OpenAI's chat completions and compatible servers.
    #[serde(rename = "openai")]
    OpenAi,
    /// Items of OpenAI's `responses`.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `messages` of Anthropic.
    Anthropic,
    /// `contents` of Gemini.
    Gemini,
    /// Model messages of the AI SDK (versions 5 to 7). Its UI messages are accepted too.
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
    /// Format of the message. Default: `pi`.
    pub format: Option<MessageFormat>,
    /// The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
    pub expected_leaf_id: Option<String>,
}

/// Result of `appendMessage`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessageResult {
    /// The new entry, or the last one if the message became several.
    pub entry_id: String,
    /// The new entries, if the message became several: an entry holds one tool result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entry_ids: Vec<String>,
    /// The new leaf.
    pub leaf_id: String,
    /// Usage of the context, if the session's model is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// The compaction that the server has begun because of this message, or why it has not begun.
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
    /// Format of the messages. Default: `pi`.
    pub format: Option<MessageFormat>,
    /// The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
    pub expected_leaf_id: Option<String>,
}

/// Result of `appendMessages`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessagesResult {
    /// The new entries, oldest first. One message may become several entries, and several items of one answer become
    /// one.
    pub entry_ids: Vec<String>,
    /// For each entry the index of its message, or of its first message.
    pub sources: Vec<u64>,
    /// The new leaf.
    pub leaf_id: String,
    /// Usage of the context, if the session's model is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// The compaction that the server has begun because of these messages, or why it has not begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<AutomaticCompaction>,
}

/// A compaction that is due.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomaticCompaction {
    /// Id of the operation. `compactionEnd` reports its outcome. With `operationInProgress`, the id of the running
    /// operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// Why it is due: `threshold` or `overflow`.
    pub reason: CompactionReason,
    /// Whether to repeat the failed request after the compaction.
    pub will_retry: bool,
    /// Why nothing is done: `operationInProgress` (checked again when that operation ends), `failedRepeatedly`,
    /// `undone` (a compaction was undone since the person's last message), `overflowRecoveryTried` (a `compactionEnd`
    /// explains what a person can do), `outputTooLarge` (the requested output fills the limit, so no context is small
    /// enough), `otherModel` (another model refused the context), `olderThanCompaction`, `alreadyCompacted`, or
    /// `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// When automatic compaction resumes after several failures in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Why it could not begin, as in `compactionEnd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Tool results that were shortened in the context at once. Their entries keep the whole results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clipped: Vec<ClippedResult>,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// Maximum number of tokens. More make a compaction due.
    pub threshold: u64,
    /// The sizes that the provider named when it refused the request.
    #[serde(flatten)]
    pub refused: RefusedSize,
}

/// Parameters of `appendEntry`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendEntryParams {
    /// The session.
    pub session_id: String,
    /// The entry to append.
    pub entry: NewEntry,
    /// The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
    pub expected_leaf_id: Option<String>,
}

/// Parameters of calls for one entry.
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
    /// Maximum number of entries. Default: all.
    pub limit: Option<u64>,
    /// `nextCursor` of the previous page, or the id of any entry. Default: the first page.
    pub cursor: Option<String>,
    /// Deprecated since 1.1 in favour of `cursor`, which takes precedence: the entry after which to start.
    #[schemars(extend("deprecated" = true))]
    pub since: Option<String>,
    /// Ids of the wanted entries, at most 1000. The result has their order, and the other parameters are ignored.
    /// Repeated entries may hold 8 MiB together.
    pub ids: Option<Vec<String>>,
}

/// Result of `getEntries` and `getBranch`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EntriesResult")]
pub struct EntriesResult<E = Vec<Entry>> {
    /// The entries.
    pub entries: E,
    /// Present if there are more entries, in `getEntries` with a `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `getBranch`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetBranchParams {
    /// The session.
    pub session_id: String,
    /// The leaf of the branch. Default: the current leaf.
    pub leaf_id: Option<String>,
}

/// Result of `getTree`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GetTreeResult")]
pub struct GetTreeResult<N = Vec<TreeNode>> {
    /// The current leaf.
    pub leaf_id: Option<String>,
    /// All entries in file order. The list is flat, so its depth has no limit.
    pub nodes: N,
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
    /// The beginning of its text, on one line.
    pub preview: String,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// Its children, oldest first.
    pub children: Vec<String>,
}

/// Format of a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextFormat {
    /// Stored roles, and synthetic `compactionSummary`, `branchSummary` and `custom` messages.
    #[default]
    Agent,
    /// Only user, assistant and toolResult, ready to send to a model. Failed and aborted answers are left out with the
    /// results of their calls, and each call is directly followed by its result. Calls of the last answer may have no
    /// result yet.
    Llm,
    /// As `llm`, in the format of OpenAI's chat completions, including system messages. This and the following formats
    /// return an appended message of the same format unchanged.
    #[serde(rename = "openai")]
    OpenAi,
    /// Items for OpenAI's `responses`.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `messages` for Anthropic. The instructions are in `system`.
    Anthropic,
    /// `contents` for Gemini. The instructions are in `system`.
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
    /// The leaf of the branch. Default: the current leaf.
    pub leaf_id: Option<String>,
    /// Format of the messages. Default: `agent`.
    pub format: Option<ContextFormat>,
    /// The last entry of the context that the caller already has.
    pub after: Option<String>,
}

/// Result of `getContext`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetContextResult {
    /// What the model sees.
    pub messages: Vec<AnyMessage>,
    /// The instructions, for interfaces that take them separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The leaf of the branch.
    pub leaf_id: Option<String>,
    /// The thinking level at the leaf.
    pub thinking_level: String,
    /// The model at the leaf.
    pub model: Option<ModelName>,
    /// Tokens of the whole context.
    pub tokens: ContextTokens,
    /// With `after`: whether `messages` holds only what follows that entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<bool>,
    /// Problems: unknown first kept entries, broken bodies, results without calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<super::sessions::Diagnostic>,
}

/// A model, in the form of entries.
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
    /// The total.
    pub tokens: u64,
    /// Tokens of the last reliable usage.
    pub usage_tokens: u64,
    /// Estimated tokens of the messages after it.
    pub trailing_tokens: u64,
}

/// Parameters of `getContextUsage`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetContextUsageParams {
    /// The session.
    pub session_id: String,
    /// The model whose window is used.
    pub model: WindowModel,
}

/// The window of a model.
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
    /// Tokens of the context. Null between a compaction and the first answer after it.
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
    /// Messages, as stored, in LLM format, or in the format that `format` names; at most 10000.
    pub messages: Option<Vec<AnyMessage>>,
    /// Format of the messages. Default: `pi`.
    pub format: Option<MessageFormat>,
    /// A text. Ignored if there are messages.
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
    /// Messages, as stored or in LLM format; at most 10000.
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
    /// An entry on the current path that contains a message for the model.
    pub entry_id: String,
    /// Whether to pin (true) or unpin the entry.
    pub pinned: bool,
}

/// Result of `pinEntry`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinEntryResult {
    /// The entry.
    pub entry_id: String,
    /// Whether it is pinned.
    pub pinned: bool,
    /// All pinned entries of the path, root first.
    pub pins: Vec<PinnedEntry>,
    /// Their tokens together.
    pub tokens: u64,
    /// Maximum number of their tokens (setting `compactd.pins.maxTokens`).
    pub max_tokens: u64,
}

/// Parameters of `getPins`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetPinsParams {
    /// The session.
    pub session_id: String,
    /// The leaf of a branch. Default: the current leaf.
    pub leaf_id: Option<String>,
}

/// Result of `getPins`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetPinsResult {
    /// The pinned entries of the branch, root first.
    pub pins: Vec<PinnedEntry>,
    /// Their tokens together.
    pub tokens: u64,
    /// Maximum number of their tokens.
    pub max_tokens: u64,
}

/// A pinned entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinnedEntry {
    /// The entry.
    pub entry_id: String,
    /// Estimated tokens that it takes after a summary.
    pub tokens: u64,
}

/// Parameters of `searchSession`. Either `sessionId` or `all` is required.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionParams {
    /// An open session.
    pub session_id: Option<String>,
    /// Whether to search all sessions, open or not, instead of one.
    #[serde(default)]
    pub all: bool,
    /// Words that must all occur, in any case. A phrase in double quotes counts as one word. If the query has at least
    /// three words and no entry contains all of them, the entries with the most matching words are found.
    pub query: String,
    /// Maximum number of hits, from 1 to 1000. Default: 50.
    pub limit: Option<u64>,
    /// `nextCursor` of the previous page. Entries that are appended between two pages come first, so a hit may occur
    /// twice, but none is missed.
    pub cursor: Option<String>,
}

/// Result of `searchSession`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionResult {
    /// Entries that contain all words, newest first. If there are none, the best matches.
    pub hits: Vec<SearchHit>,
    /// Present if there are more hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Deprecated since 1.1 in favour of `nextCursor`: whether there are more hits.
    #[schemars(extend("deprecated" = true))]
    pub truncated: bool,
}

/// An entry that a search found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session that contains it.
    pub session_id: String,
    /// Path of the session's file, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The entry.
    pub entry_id: String,
    /// Type of the entry.
    #[serde(rename = "type")]
    pub entry_type: String,
    /// Role of its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// The text around the first match, on one line.
    pub preview: String,
    /// Whether the entry is not in the context at the leaf of its session: it was compacted, edited away, or is on
    /// another branch.
    pub evicted: bool,
    /// Rank of the match, if no entry contains all words. Comparable only within one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Parameters of `recall`. Either `query` or `entryIds` is required.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallParams {
    /// The session.
    pub session_id: String,
    /// Words to look for in evicted entries, and in entries that the context shows shortened or edited. Function words
    /// are ignored. The name of a file ranks the calls that changed it higher.
    pub query: Option<String>,
    /// Ids of entries that are wanted whole, evicted or not. The result has their order.
    pub entry_ids: Option<Vec<String>>,
    /// With one id: the UTF-16 unit of the entry's text from which to read. The result then holds what follows it, and
    /// `nextOffset`. Default: the whole text, cut in its middle if it is too large.
    pub offset: Option<u64>,
    /// Maximum number of tokens of all texts, at least 1. Default: 2000.
    pub max_tokens: Option<u64>,
    /// The leaf of a branch. Default: the current leaf.
    pub leaf_id: Option<String>,
}

/// Result of `recall`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallResult {
    /// The entries, best first, or in the requested order.
    pub entries: Vec<RecalledEntry>,
    /// Estimated tokens of their texts.
    pub tokens: u64,
    /// Number of entries that match or were requested, and that do not fit.
    pub omitted: u64,
}

/// An entry that was recalled.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecalledEntry {
    /// The entry.
    pub entry_id: String,
    /// Type of the entry.
    #[serde(rename = "type")]
    pub entry_type: String,
    /// Role of its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// Its text. For a query: the matching passages in their order, with a line `[…]` for each omission.
    pub text: String,
    /// Estimated tokens of the text.
    pub tokens: u64,
    /// Whether any part of the entry's text is missing.
    pub truncated: bool,
    /// Where the text starts in the entry's whole text, in UTF-16 units. Only if `offset` was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The `offset` that reads on. Only if `offset` was asked for, and absent at the end of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Positions of the parts of the text in the entry. Only for a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<Passage>>,
    /// Rank of the match. Comparable only within one result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Position of a part of the text. A part that crosses the border of two parts of the entry is listed as two.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// The part of the entry.
    pub part: PassagePart,
    /// Index of the part in the message's content blocks, from 0. Absent if the content is not a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Start in the entry's whole text, in UTF-16 units.
    pub start: u64,
    /// End in the entry's whole text, in UTF-16 units.
    pub end: u64,
    /// Start in `text`, in UTF-16 units.
    pub offset: u64,
}

/// A part of an entry.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PassagePart {
    /// Text, including that of tool results.
    Text,
    /// A tool call: its name and arguments.
    ToolCall,
    /// An image, as a placeholder.
    Image,
    /// A command that the person ran.
    Command,
    /// The output of that command.
    Output,
    /// A summary.
    Summary,
}
