//! Compaction: check, prepare, compact, abort.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client::SummaryRequestReport;
use super::entries::MessageFormat;
use super::json::{AnyMessage, FreeObject, Message, Usage, optional_text, text};

/// Parameters of `checkCompaction`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckCompactionParams {
    /// The session.
    pub session_id: String,
    /// The model of the next request.
    pub model: Model,
    /// The assistant message to judge. Default: the last one of the context.
    pub message: Option<Message>,
    /// Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
    pub settings: Option<FreeObject>,
}

/// A model with its window.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Provider of the model.
    pub provider: String,
    /// Id of the model.
    pub id: String,
    /// Size of the window in tokens.
    pub context_window: u64,
    /// Maximum output that is requested of the model, in tokens. If an answer stops for its length before that, the
    /// server compacts and the request can be repeated, once.
    pub max_output_tokens: Option<u64>,
}

/// The decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionAction {
    /// Do nothing.
    None,
    /// Compact.
    Compact,
}

/// Why a compaction happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionReason {
    /// A person or a program asked for it.
    Manual,
    /// The context came near the limit of the window.
    Threshold,
    /// The provider refused the context as too large.
    Overflow,
}

/// Result of `checkCompaction`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckCompactionResult {
    /// The decision.
    pub action: CompactionAction,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<CompactionReason>,
    /// Whether to repeat the failed request after the compaction.
    pub will_retry: bool,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// Tokens above which the threshold is crossed.
    pub threshold: u64,
    /// Tokens of the window that stay free, adapted to the window. Absent if the window is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve_tokens: Option<u64>,
    /// Tokens of recent context that a compaction would keep verbatim, adapted to the window. Absent if the window is
    /// not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// Why nothing is done although something might seem due: one of the values of `skipped` in `appendMessage`, or
    /// `unknownWindow`, `aborted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The sizes that the provider named when it refused the request.
    #[serde(flatten)]
    pub refused: RefusedSize,
}

/// Sizes of a refused request in tokens, if the provider's error text names them. They take precedence over the window
/// in the settings.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedSize {
    /// Maximum that the provider accepts, of input or of input and output together. If the provider answered a part of
    /// the context: the number of tokens that it read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The input. If the provider answered a part of the context: the minimum size of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// The requested output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_output_tokens: Option<u64>,
}

/// A tool result that was shortened in the context because it is larger than the room in the window.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClippedResult {
    /// The entry of the result. It keeps the whole result.
    pub entry_id: String,
    /// Its tokens before.
    pub tokens_before: u64,
    /// Its tokens after.
    pub tokens_after: u64,
}

/// Parts of a preparation that a call can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreparationPart {
    /// The messages. Without this part the lists contain entry ids.
    Messages,
    /// The requests to a summarizer.
    Requests,
    /// The minimum that would be kept of the compacted part.
    Forecast,
}

/// Parameters of `prepareCompaction`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrepareCompactionParams {
    /// The session.
    pub session_id: String,
    /// The leaf of the branch. Default: the current leaf.
    pub leaf_id: Option<String>,
    /// Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
    pub settings: Option<FreeObject>,
    /// What the summary should focus on.
    #[serde(default, deserialize_with = "optional_text")]
    pub custom_instructions: Option<String>,
    /// The oldest entry to keep verbatim, instead of the one that follows from the settings.
    pub first_kept_entry_id: Option<String>,
    /// Parts of the result. Default: all.
    pub include: Option<Vec<PreparationPart>>,
    /// The summarizer whose requests are planned, instead of the configured one, or a list of them.
    pub summarizer: Option<SummarizerChoice>,
    /// Whether to fail as `compact` would if no summarizer can write: its settings are incomplete, or its key or
    /// program is missing. Nothing is asked or started.
    #[serde(default)]
    pub check_summarizer: bool,
}

/// Result of `prepareCompaction`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrepareCompactionResult {
    /// The part that would be compacted. Null if nothing would be.
    pub preparation: Option<Preparation>,
    /// The requests to a summarizer, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Vec<SummaryRequest>>,
    /// The minimum that would be kept of the compacted part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Why nothing would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<RefusalReason>,
    /// Tokens of the context, if nothing would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Minimum number of tokens that are kept, if nothing would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// Number of messages, all of which would be kept, if nothing would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// The last compaction, if no message follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// The tool call whose result is missing and from which everything must stay, if that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// Why nothing would be compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RefusalReason {
    /// No message follows the last compaction.
    AlreadyCompacted,
    /// Everything would be kept.
    NothingToCompact,
}

/// A message, or the id of its entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageOrId {
    /// The message.
    Message(Message),
    /// The id of its entry.
    Id(String),
}

/// The part of a context that would be compacted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preparation {
    /// The oldest entry that stays verbatim.
    pub first_kept_entry_id: String,
    /// Messages before the turn that is cut, or before the cut.
    pub messages_to_summarize: Vec<MessageOrId>,
    /// Messages of the turn that is cut, up to the cut.
    pub turn_prefix_messages: Vec<MessageOrId>,
    /// Whether the cut goes through a turn.
    pub is_split_turn: bool,
    /// Tokens of the whole context.
    pub tokens_before: u64,
    /// The summary of the previous compaction.
    pub previous_summary: Option<String>,
    /// Files that the summarised part used.
    pub file_ops: FileOperations,
    /// The settings that were used, adapted to the window if the session's model is known.
    pub settings: CompactionSettings,
    /// The leaf of the branch.
    pub leaf_id: String,
}

/// Paths by operation, sorted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileOperations {
    /// Files that were read.
    pub read: Vec<String>,
    /// Files that were written as a whole.
    pub written: Vec<String>,
    /// Files that were edited.
    pub edited: Vec<String>,
}

/// Settings that determined a preparation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSettings {
    /// Whether automatic compaction is enabled.
    pub enabled: bool,
    /// Tokens of the window that stay free.
    pub reserve_tokens: u64,
    /// Tokens of recent context that stay verbatim.
    pub keep_recent_tokens: u64,
    /// Percentage of the window above which compaction is due, if it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_percent: Option<u64>,
}

/// What a request to a summarizer covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RequestKind {
    /// The conversation before the turn that is cut.
    History,
    /// The first part of the turn that is cut.
    TurnPrefix,
    /// A branch that is abandoned.
    Branch,
}

/// A request to a summarizer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummaryRequest {
    /// What it covers.
    pub kind: RequestKind,
    /// The system prompt.
    pub system_prompt: String,
    /// The prompt.
    pub prompt: String,
    /// Maximum number of output tokens.
    pub max_tokens: u64,
    /// Estimated input tokens.
    pub estimated_tokens: u64,
}

/// Parameters of `compact`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactParams {
    /// The session.
    pub session_id: String,
    /// What the summary should focus on.
    #[serde(default, deserialize_with = "optional_text")]
    pub custom_instructions: Option<String>,
    /// Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
    pub settings: Option<FreeObject>,
    /// The summarizer for this call, instead of the configured one, or a list: if one fails, the next one is asked.
    pub summarizer: Option<SummarizerChoice>,
    /// A summary that the client wrote.
    pub summary: Option<GivenSummary>,
    /// The oldest entry to keep verbatim, instead of the one that follows from the settings.
    pub first_kept_entry_id: Option<String>,
    /// Whether to accept a summary that is not smaller than what it replaces.
    #[serde(default)]
    pub force: bool,
    /// Whether to answer when the compaction is finished (true, the default) or at once.
    pub wait: Option<bool>,
    /// Whether to write the compaction (true, the default). If false, a copy in memory is compacted and the session
    /// does not change. `firstKeptEntryId` and `details` contain entry ids of the session; `entryId` names no entry.
    /// The notifications contain a session id of the copy.
    pub commit: Option<bool>,
}

/// Parameters of `compactMessages`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactMessagesParams {
    /// The whole context, oldest message first; at most 10000. With `previous`: the messages of the result that
    /// contained it, and the later ones.
    pub messages: Vec<AnyMessage>,
    /// Format of the messages. Default: `pi`.
    pub format: Option<MessageFormat>,
    /// The model for which the messages are. The new context, with leading instructions, leaves room for its answers.
    pub model: Option<Model>,
    /// Compaction settings for this call.
    pub settings: Option<FreeObject>,
    /// The summarizer for this call, instead of the configured one, or a list: if one fails, the next one is asked.
    pub summarizer: Option<SummarizerChoice>,
    /// What the summary should focus on.
    #[serde(default, deserialize_with = "optional_text")]
    pub instructions: Option<String>,
    /// `previous` in the last result for this conversation.
    pub previous: Option<FreeObject>,
    /// Whether to accept a summary that is not smaller than what it replaces.
    #[serde(default)]
    pub force: bool,
}

/// Result of `compactMessages`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactMessagesResult {
    /// The messages of the new context: leading instructions, the summary, and the messages that stay.
    pub messages: Vec<AnyMessage>,
    /// Instructions from between the messages, for interfaces that take them separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Index in the request of the oldest message that stays.
    pub kept_from: u64,
    /// Opaque value for the next call.
    pub previous: FreeObject,
    /// The compaction. Its entry ids are those of a copy that ended with the call.
    pub report: CompactionResult,
}

/// A summarizer, or a list of them in the order in which they are asked.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a name or a list of names")]
pub enum SummarizerChoice {
    /// The name of one summarizer.
    One(String),
    /// The names of several summarizers.
    Several(Vec<String>),
}

impl SummarizerChoice {
    /// The names, in order.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name.clone()],
            Self::Several(names) => names.clone(),
        }
    }
}

/// A summarizer that failed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummarizerFailure {
    /// Its name.
    pub summarizer: String,
    /// The kind of the error: `summarizerFailed` or `summaryRejected`.
    pub kind: String,
    /// The error message.
    pub cause: String,
    /// Number of requests.
    pub attempts: u32,
}

/// A summary that the client wrote.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenSummary {
    /// Its text.
    #[serde(deserialize_with = "text")]
    pub summary: String,
    /// The oldest entry to keep verbatim. Default: that of the preparation.
    pub first_kept_entry_id: Option<String>,
    /// Tokens of the context before. Used only in answers to hooks; otherwise they are counted.
    pub tokens_before: Option<u64>,
    /// Members for the entry's `details`.
    pub details: Option<FreeObject>,
    /// Usage of the summary.
    pub usage: Option<Usage>,
}

/// Result of `compact`. With `wait: false` it contains only `operationId`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CompactResult {
    /// The compaction is finished.
    Done(Box<CompactionResult>),
    /// The compaction is running. `compactionEnd` reports its outcome.
    Started(StartedResult),
}

/// A running operation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedResult {
    /// Id of the operation in notifications.
    pub operation_id: String,
}

/// A finished compaction.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// The compaction entry.
    pub entry_id: String,
    /// Its summary. Without a model, the whole summary (text, context of a split turn, lists of files) stays within 0.8
    /// of `reserveTokens`. With a model, the request limits the text. Lists of files after it take at most a tenth of
    /// `reserveTokens`. Facts that it lacks take at most a tenth of its own tokens, or fill it up to 1,000 tokens.
    pub summary: String,
    /// The oldest entry that stays verbatim.
    pub first_kept_entry_id: String,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Estimated tokens of the context after. No provider has counted them yet.
    pub tokens_after: u64,
    /// Tokens of the context before, estimated in the same way as `tokensAfter`. `tokensBefore` is the provider's count
    /// if there is one.
    pub estimated_tokens_before: u64,
    /// The entry's `details`. `readFiles` and `modifiedFiles` contain at most 2,000 files together, with at most 256
    /// KiB of paths: modified files before files that were only read, and recently used files first.
    /// `compactd.filesLeftOut` counts the others, if there are any. A file that was left out and is used again counts
    /// again.
    pub details: FreeObject,
    /// Usage of the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<FreeObject>,
    /// Whether a hook or the client provided the summary.
    pub from_hook: bool,
    /// Name of the summarizer that wrote the summary.
    pub summarizer: String,
    /// Number of requests, including failed ones.
    pub attempts: u32,
    /// Summarizers that were asked earlier, and why they failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<SummarizerFailure>,
    /// How each part of the summary was requested, and what either way costs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summary_requests: Vec<SummaryRequestReport>,
    /// Number of secrets that were removed from the requests and the answers, by rule.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redactions: BTreeMap<String, u32>,
    /// What was kept of the compacted part.
    #[serde(flatten)]
    pub account: CompactionAccount,
}

/// How much of the compacted part the new context contains.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionAccount {
    /// One or two sentences for a user interface.
    pub brief: String,
    /// The shares that are kept, by class.
    pub retention: Retention,
    /// The shares that the summary contained before missing facts were added.
    pub retention_before_repair: Retention,
    /// One number for the retention, from 0 to 1: the weighted mean of the classes that have something to keep.
    /// Weights: statements 4, requests 3, errors and constraints 1, files 0.5, identifiers 0.25.
    pub score: f64,
    /// What the summary itself lacked, and what it claims without support.
    pub loss_report: LossReport,
}

/// Shares that are kept, from 0 to 1; 1 if there was nothing to keep.
///
/// They are measured against the compacted part and everything that earlier compactions of the branch knew, including
/// what their ledgers could not store. Errors, requests, constraints and statements may be reworded: one counts if one
/// line, or 420 characters across lines, contains most of its significant words. Lines that contain only names, and
/// lists of files, count only for names.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Retention {
    /// Files that tools used, and paths that occurred often.
    pub files: f64,
    /// Symbols, hashes, tickets and similar names.
    pub identifiers: f64,
    /// Lines of errors. Resolved errors have little weight.
    pub errors: f64,
    /// Requests. A partly kept request counts half.
    pub requests: f64,
    /// Constraints and preferences. Partly kept ones count half.
    pub constraints: f64,
    /// The most informative sentences, weighted by their information.
    pub statements: f64,
}

/// What a summary lacks and what is doubtful in it, the most important items first.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct LossReport {
    /// Missing paths.
    pub files: Vec<String>,
    /// Missing identifiers.
    pub identifiers: Vec<String>,
    /// Missing errors.
    pub errors: Vec<LostError>,
    /// Missing requests.
    pub requests: Vec<LostItem>,
    /// Missing constraints and preferences.
    pub constraints: Vec<LostItem>,
    /// Missing ones of the most informative sentences.
    pub statements: Vec<LostItem>,
    /// Requests and constraints that are only partly kept.
    pub clipped: Vec<LostItem>,
    /// Names in the summary that occur in none of its sources: the compacted messages, the previous summary, the
    /// messages that stay, and the ledgers of earlier compactions. Checked: paths with a file extension or a root, file
    /// names, identifiers with an underscore or with capital letters after small ones, tickets, error codes, hashes,
    /// versions with three parts, and numbers with at least three digits and a unit, unless they are marked as
    /// approximate. Not checked: words, product names, addresses, other numbers, and whether names are combined
    /// correctly.
    pub unsupported: Vec<String>,
    /// Claims of the summary that contradict known facts. English only, in prose and in lists: that a file that tools
    /// worked on was or was not changed, that tests, a build, a linter or a quoted command succeed, that something was
    /// committed or pushed. Wishes, questions and conditions are not claims.
    pub reversed: Vec<ReversedFact>,
}

/// An error that a summary lacks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostError {
    /// The path or command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The line that explains the failure best.
    pub line: String,
    /// Whether the same operation succeeded later.
    pub resolved: bool,
    /// The entries that contain it.
    pub entry_ids: Vec<String>,
}

/// A text that a summary lacks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostItem {
    /// The text.
    pub text: String,
    /// The entries that contain it.
    pub entry_ids: Vec<String>,
}

/// A claim that contradicts a known fact.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReversedFact {
    /// The known fact: `notModified`, `modified`, `failed`, `notCommitted`, or `notPushed`.
    pub fact: String,
    /// The file or the command. If nothing was committed or pushed: `git commit` or `git push`.
    pub subject: String,
}

/// What a compaction would keep, as far as it is known before the summary is written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// The minimum that any summary keeps after its repair.
    pub retention: Retention,
    /// One number for it, from 0 to 1.
    pub score: f64,
}

/// Result of `abortCompaction`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AbortResult {
    /// Whether an operation was running.
    pub aborted: bool,
}
