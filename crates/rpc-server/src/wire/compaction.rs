//! Compaction: check, prepare, compact, abort.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::MessageFormat;
use super::json::{AnyMessage, FreeObject, Message, Usage, optional_text, text};
use super::requests::SummaryRequestReport;

/// Parameters of `checkCompaction`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckCompactionParams {
    /// The session.
    pub session_id: String,
    /// The model of the next request.
    pub model: Model,
    /// The assistant message to judge; the last one of the context by default.
    pub message: Option<Message>,
    /// Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
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
    /// The longest answer that is asked of it, in tokens. An answer that stops for its length before it
    /// is a reason to compact and ask again, once.
    pub max_output_tokens: Option<u64>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionAction {
    /// Nothing.
    None,
    /// Compact.
    Compact,
}

/// Why a compaction happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionReason {
    /// Somebody asked for it.
    Manual,
    /// The context came near the window.
    Threshold,
    /// The model refused the context.
    Overflow,
}

/// Result of `checkCompaction`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckCompactionResult {
    /// What to do.
    pub action: CompactionAction,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<CompactionReason>,
    /// Whether the failed request is worth another try after the compaction.
    pub will_retry: bool,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// Tokens above which the threshold is crossed.
    pub threshold: u64,
    /// Tokens of the window that stay free, as they fit it; absent if the window is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve_tokens: Option<u64>,
    /// Tokens of recent context that a compaction would keep verbatim, as they fit the window; absent
    /// if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// Why nothing is done although something might seem due: as `skipped` of `appendMessage`, or
    /// `unknownWindow`, `aborted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// What the provider named of the request that it refused.
    #[serde(flatten)]
    pub refused: RefusedSize,
}

/// Sizes of a refused request in tokens, as far as the provider's text names them. They go before the
/// window of the settings.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedSize {
    /// The most that the provider takes, of input or of input and output together. After an answer that a
    /// server gave to a part of the context: what it read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The input. After an answer that a server gave to a part of the context: the least that the context
    /// has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// The output that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_output_tokens: Option<u64>,
}

/// A tool result that was shortened in the context, because it is larger than what the window leaves.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClippedResult {
    /// The entry of the result, which keeps the whole of it.
    pub entry_id: String,
    /// Its tokens before.
    pub tokens_before: u64,
    /// Its tokens afterwards.
    pub tokens_after: u64,
}

/// Parts of a preparation that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreparationPart {
    /// The messages; without them the lists hold entry ids.
    Messages,
    /// The requests that a summarizer would get.
    Requests,
    /// What would be kept at least of what the compacted part holds.
    Forecast,
}

/// Parameters of `prepareCompaction`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrepareCompactionParams {
    /// The session.
    pub session_id: String,
    /// The end of the branch; the leaf by default.
    pub leaf_id: Option<String>,
    /// Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
    pub settings: Option<FreeObject>,
    /// What the summary should look at.
    #[serde(default, deserialize_with = "optional_text")]
    pub custom_instructions: Option<String>,
    /// The oldest entry that would stay verbatim, in place of the one that the settings give.
    pub first_kept_entry_id: Option<String>,
    /// What the result holds; all parts by default.
    pub include: Option<Vec<PreparationPart>>,
}

/// Result of `prepareCompaction`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrepareCompactionResult {
    /// What would be compacted; null if nothing would.
    pub preparation: Option<Preparation>,
    /// What a summarizer would get, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Vec<SummaryRequest>>,
    /// What would be kept at least of what the compacted part holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Why nothing would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<RefusalReason>,
    /// Tokens of the context, if nothing would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Tokens that are kept at least, if nothing would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// Messages that all would be kept, if nothing would be compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// The compaction that nothing follows, if that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// The tool call whose result has not come and from which on all has to stay, if that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// Why nothing would be compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RefusalReason {
    /// Nothing follows the last compaction.
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

/// What would be compacted.
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
    /// Files that the summarised part touched.
    pub file_ops: FileOperations,
    /// The settings that were used, as they fit the window where the session's model is known.
    pub settings: CompactionSettings,
    /// The leaf of the branch.
    pub leaf_id: String,
}

/// Paths by what was done to them, sorted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileOperations {
    /// Files that were read.
    pub read: Vec<String>,
    /// Files that were written whole.
    pub written: Vec<String>,
    /// Files that were edited.
    pub edited: Vec<String>,
}

/// Settings that decided a preparation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSettings {
    /// Whether compaction may start by itself.
    pub enabled: bool,
    /// Tokens of the window that stay free.
    pub reserve_tokens: u64,
    /// Tokens of recent context that stay verbatim.
    pub keep_recent_tokens: u64,
    /// Percent of the window over which compaction is due, if that is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_percent: Option<u64>,
}

/// What a request to a summarizer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RequestKind {
    /// The conversation up to the turn that is cut.
    History,
    /// The first part of the turn that is cut.
    TurnPrefix,
    /// A branch that is left.
    Branch,
}

impl From<compaction_core::prompts::RequestKind> for RequestKind {
    fn from(kind: compaction_core::prompts::RequestKind) -> Self {
        match kind {
            compaction_core::prompts::RequestKind::History => Self::History,
            compaction_core::prompts::RequestKind::TurnPrefix => Self::TurnPrefix,
            compaction_core::prompts::RequestKind::Branch => Self::Branch,
        }
    }
}

/// A request to a summarizer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummaryRequest {
    /// What it is about.
    pub kind: RequestKind,
    /// The system prompt.
    pub system_prompt: String,
    /// The prompt.
    pub prompt: String,
    /// Output tokens at most.
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
    /// What the summary should look at.
    #[serde(default, deserialize_with = "optional_text")]
    pub custom_instructions: Option<String>,
    /// Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
    pub settings: Option<FreeObject>,
    /// The summarizer for this call, instead of the configured one, or a list of them: the next one
    /// writes where one fails.
    pub summarizer: Option<SummarizerChoice>,
    /// A summary that the client wrote.
    pub summary: Option<GivenSummary>,
    /// The oldest entry that stays verbatim, in place of the one that the settings give.
    pub first_kept_entry_id: Option<String>,
    /// Whether a summary is taken that is no smaller than what it replaces.
    #[serde(default)]
    pub force: bool,
    /// Whether to answer when the compaction is done (true, the default) or at once.
    pub wait: Option<bool>,
    /// Whether the compaction is written (true, the default). With false the result is that of a compaction
    /// of a copy in memory: the session stays as it is, its entry ids hold for `firstKeptEntryId` and
    /// `details`, and `entryId` names no entry. Notifications of it carry a session id of their own.
    pub commit: Option<bool>,
}

/// Parameters of `compactMessages`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactMessagesParams {
    /// The whole context, oldest message first; at most 10000. With `previous`: the messages that the call
    /// gave which gave it, and what came since.
    pub messages: Vec<AnyMessage>,
    /// The shape of the messages; `pi` by default.
    pub format: Option<MessageFormat>,
    /// The model that the messages go to: the new context leaves room for its answers.
    pub model: Option<Model>,
    /// Compaction settings for this call.
    pub settings: Option<FreeObject>,
    /// The summarizer for this call, instead of the configured one, or a list of them: the next one
    /// writes where one fails.
    pub summarizer: Option<SummarizerChoice>,
    /// What the summary should look at.
    #[serde(default, deserialize_with = "optional_text")]
    pub instructions: Option<String>,
    /// What the last such call for this conversation gave as `previous`.
    pub previous: Option<FreeObject>,
    /// Whether a summary is taken that is no smaller than what it replaces.
    #[serde(default)]
    pub force: bool,
}

/// Result of `compactMessages`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactMessagesResult {
    /// The messages of the new context: instructions that led the messages, the summary, and what stays.
    pub messages: Vec<AnyMessage>,
    /// Instructions from between the messages, for interfaces that take them beside the messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Position among the messages given of the oldest one that stays.
    pub kept_from: u64,
    /// For the next call; its members are nobody's business but ours.
    pub previous: FreeObject,
    /// The compaction. Its entry ids are those of a copy that ended with the call.
    pub report: CompactionResult,
}

/// A summarizer, or several in the order in which they are asked.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a name or a list of names")]
pub enum SummarizerChoice {
    /// The name of one.
    One(String),
    /// The names of several.
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

/// A summarizer that was asked in vain.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummarizerFailure {
    /// Its name.
    pub summarizer: String,
    /// The kind of the error: `summarizerFailed` or `summaryRejected`.
    pub kind: String,
    /// What went wrong, for a person.
    pub cause: String,
    /// Requests that were made.
    pub attempts: u32,
}

/// A summary that the client wrote.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenSummary {
    /// Its text.
    #[serde(deserialize_with = "text")]
    pub summary: String,
    /// The oldest entry that stays verbatim; that of the preparation by default.
    pub first_kept_entry_id: Option<String>,
    /// Tokens of the context before; used from hooks alone, else they are counted.
    pub tokens_before: Option<u64>,
    /// Members for the entry's `details`.
    pub details: Option<FreeObject>,
    /// What the summary cost.
    pub usage: Option<Usage>,
}

/// Result of `compact`; only `operationId` with `wait: false`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CompactResult {
    /// The compaction is done.
    Done(Box<CompactionResult>),
    /// The compaction runs; its outcome comes with `compactionEnd`.
    Started(StartedResult),
}

/// An operation that runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartedResult {
    /// Names the operation in notifications.
    pub operation_id: String,
}

/// A compaction that is done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// The compaction entry.
    pub entry_id: String,
    /// Its summary. Without a model, all of it (text, context of a split turn, lists of files) stays within 0.8 of
    /// `reserveTokens`. A model's text is bounded by what the model is asked for; lists of files behind it take a tenth
    /// of `reserveTokens` at most, and facts that it lacks a tenth of its own tokens, or fill it up to 1,000 tokens.
    pub summary: String,
    /// The oldest entry that stays verbatim.
    pub first_kept_entry_id: String,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Tokens of the context after, estimated: no provider has counted it yet.
    pub tokens_after: u64,
    /// Tokens of the context before in the measure of `tokensAfter`. `tokensBefore` is the provider's count, where
    /// there is one.
    pub estimated_tokens_before: u64,
    /// The entry's `details`. `readFiles` and `modifiedFiles` name at most 2,000 files
    /// together, whose paths have at most 256 KiB: modified files before those that were only read, and the ones
    /// touched last before the rest. `compactd.filesLeftOut` counts the others, where there are any; a file that was
    /// left out and came back counts.
    pub details: FreeObject,
    /// What the summary cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<FreeObject>,
    /// Whether a hook or the client gave the summary.
    pub from_hook: bool,
    /// Who wrote the summary.
    pub summarizer: String,
    /// Requests that were made, failed ones included.
    pub attempts: u32,
    /// Summarizers that were asked before that one, and why they did not write it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<SummarizerFailure>,
    /// How models were asked for the summary, and what either way takes: one for each part of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summary_requests: Vec<SummaryRequestReport>,
    /// Secrets that were taken out of what the model was told and said, by rule.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redactions: BTreeMap<String, u32>,
    /// What was kept of what the compacted part held.
    #[serde(flatten)]
    pub account: CompactionAccount,
}

/// What the new context holds of what the compacted part held.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionAccount {
    /// One or two sentences for a user interface.
    pub brief: String,
    /// How much is there, by class.
    pub retention: Retention,
    /// How much the summary alone held, before what it lacked was added.
    pub retention_before_repair: Retention,
    /// One figure for the retention, from 0 to 1: the weighted mean of the classes that have something to keep.
    /// Statements count 4, requests 3, errors and constraints 1, files 0.5, identifiers 0.25.
    pub score: f64,
    /// What the summary alone lacked, and what it says that nothing supports.
    pub loss_report: LossReport,
}

/// Parts that are there, from 0 to 1; 1 where there was nothing to keep.
///
/// They are measured against what the compacted part held and what earlier compactions of the branch knew, that
/// included which their ledgers could not store. Errors, requests, constraints and statements count as told in
/// other words too: if one line, or 420 characters over lines, has most of their telling words. Lines of nothing
/// but names and blocks of files tell nothing but names.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Retention {
    /// Files that tools touched, and paths that were named again and again.
    pub files: f64,
    /// Symbols, hashes, tickets and the like.
    pub identifiers: f64,
    /// Lines of errors; those that were resolved weigh little.
    pub errors: f64,
    /// Requests; one that is told in part counts half.
    pub requests: f64,
    /// Constraints and preferences; likewise.
    pub constraints: f64,
    /// The sentences that said most, by how much they said.
    pub statements: f64,
}

/// What a summary lacks, and what is doubtful in it; the most telling first.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct LossReport {
    /// Paths that are missing.
    pub files: Vec<String>,
    /// Identifiers that are missing.
    pub identifiers: Vec<String>,
    /// Errors that are missing.
    pub errors: Vec<LostError>,
    /// Requests that are missing.
    pub requests: Vec<LostItem>,
    /// Constraints and preferences that are missing.
    pub constraints: Vec<LostItem>,
    /// Of the sentences that said most those that are missing.
    pub statements: Vec<LostItem>,
    /// Requests and constraints of which only a part is there.
    pub clipped: Vec<LostItem>,
    /// Names in the summary that stand nowhere in what it was made from: not in the compacted messages, the
    /// summary before it, the messages that stay, or what earlier compactions stored. Checked are paths with a
    /// file's ending or a root, names of files, identifiers with an underscore or with capitals inside after small
    /// letters, tickets and codes of errors, hashes, versions of three parts, and numbers of at least three digits
    /// with a unit that are not said to be rough. Not checked are words, names of products, addresses, other
    /// numbers, and whether names are brought together rightly.
    pub unsupported: Vec<String>,
    /// Claims of the summary that are the reverse of what is known: in English, in prose as in lists, that a file
    /// that tools worked on was changed or was not, that tests, build, lint or a quoted command succeed, that
    /// something was committed or pushed. Sentences that wish, ask, or tell conditions claim nothing.
    pub reversed: Vec<ReversedFact>,
}

/// An error that a summary lacks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostError {
    /// The path or command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The line that tells best why.
    pub line: String,
    /// Whether the same succeeded since.
    pub resolved: bool,
    /// The entries that it comes from.
    pub entry_ids: Vec<String>,
}

/// Words that a summary lacks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LostItem {
    /// The words.
    pub text: String,
    /// The entries that they come from.
    pub entry_ids: Vec<String>,
}

/// A statement that is the reverse of what is known.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReversedFact {
    /// What is known: `notModified`, `modified`, `failed`, `notCommitted`, or `notPushed`.
    pub fact: String,
    /// The file or command; `git commit` or `git push` where nothing was committed or pushed.
    pub subject: String,
}

/// What a compaction would keep by itself, as far as that is known before a summary is written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// How much any summary keeps at least, once it is repaired.
    pub retention: Retention,
    /// One figure for it, from 0 to 1.
    pub score: f64,
}

/// Result of `abortCompaction`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AbortResult {
    /// Whether an operation was running.
    pub aborted: bool,
}
