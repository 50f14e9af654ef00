// Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.
//! Types of the protocol, the calls of [`Server`], [`Event`] and [`Hooks`].
//!
//! Members and values that a newer server adds never fail a call: unknown members are ignored, and unknown
//! values become `Other`. Objects whose members the caller chooses are [`Value`]s.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::answers::{RpcError, answered, parameters, unanswered};
use crate::{ClientError, Notification, Server};

/// Reads a member for which null and absence differ.
fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// Result of `abortCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbortResult {
    /// Whether an operation was running.
    pub aborted: bool,
}

/// A message in the shape that `format` names; where no other is named, one as the session file stores
/// it.
pub type AnyMessage = Value;

/// Parameters of `appendEntry`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendEntryParams {
    /// The session.
    pub session_id: String,
    /// The entry.
    pub entry: NewEntry,
    /// The leaf that the caller believes in; another one fails the call with `leafMoved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_leaf_id: Option<String>,
}

impl AppendEntryParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>, entry: NewEntry) -> Self {
        Self { session_id: session_id.into(), entry, expected_leaf_id: None }
    }
}

/// Parameters of `appendMessage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessageParams {
    /// The session.
    pub session_id: String,
    /// The message.
    pub message: AnyMessage,
    /// The leaf that the caller believes in; another one fails the call with `leafMoved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_leaf_id: Option<String>,
    /// The shape of the message; `pi` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MessageFormat>,
}

impl AppendMessageParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>, message: AnyMessage) -> Self {
        Self { session_id: session_id.into(), message, expected_leaf_id: None, format: None }
    }
}

/// Result of `appendMessage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessageResult {
    /// The new entry; the last one, where the message became several.
    pub entry_id: String,
    /// The leaf afterwards.
    pub leaf_id: String,
    /// The compaction that the server has begun because of this message, or why it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<AutomaticCompaction>,
    /// Usage of the context, where the session's model is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// The new entries, where the message became several: an entry holds one result of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_ids: Option<Vec<String>>,
}

/// Parameters of `appendMessages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessagesParams {
    /// The session.
    pub session_id: String,
    /// The messages, oldest first; at least one, at most 10000.
    pub messages: Vec<AnyMessage>,
    /// The leaf that the caller believes in; another one fails the call with `leafMoved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_leaf_id: Option<String>,
    /// The shape of the messages; `pi` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MessageFormat>,
}

impl AppendMessagesParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>, messages: Vec<AnyMessage>) -> Self {
        Self { session_id: session_id.into(), messages, expected_leaf_id: None, format: None }
    }
}

/// Result of `appendMessages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessagesResult {
    /// The new entries, oldest first. A message may become several, and items of one answer become one.
    pub entry_ids: Vec<String>,
    /// For each entry the position of the message that it holds; of the first one, where it holds several.
    pub sources: Vec<u64>,
    /// The leaf afterwards.
    pub leaf_id: String,
    /// The compaction that the server has begun because of these messages, or why it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<AutomaticCompaction>,
    /// Usage of the context, where the session's model is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
}

/// Result of calls that append one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendedResult {
    /// The new entry.
    pub entry_id: String,
    /// The leaf afterwards.
    pub leaf_id: String,
}

/// How a session is compacted by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoCompactionOptions {
    /// The model that the session's requests go to.
    pub model: Model,
}

impl AutoCompactionOptions {
    /// Takes the required members.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self { model }
    }
}

/// A compaction that is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutomaticCompaction {
    /// Why it is due: `threshold` or `overflow`.
    pub reason: CompactionReason,
    /// Whether the request that failed is worth another try once the compaction is done.
    pub will_retry: bool,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// More tokens than this are too many.
    pub threshold: u64,
    /// Tool results that were shortened in the context at once; their entries keep the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<Vec<ClippedResult>>,
    /// Why it could not begin, as `compactionEnd` tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// The input. After an answer that a server gave to a part of the context: the least that the context
    /// has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// The most that the provider takes, of input or of input and output together. After an answer that a
    /// server gave to a part of the context: what it read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Names the operation; its outcome comes with `compactionEnd`. With `operationInProgress` it is
    /// the one that runs already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// The output that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_output_tokens: Option<u64>,
    /// Why nothing is done: `operationInProgress` (it is looked at again when that operation ends),
    /// `failedRepeatedly`, `undone` (a compaction was undone since the last request of a person),
    /// `overflowRecoveryTried` (a `compactionEnd` tells a person what to do), `outputTooLarge` (the output
    /// that was asked for fills the limit, so that no context is small enough), `otherModel` (another model
    /// refused it), `olderThanCompaction`, `alreadyCompacted`, or `disabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Until when it is not tried, after several failures in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// `branchSummaryEnd`: exactly one for every `branchSummaryStart`, sent before the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEnd {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// Whether it was cancelled.
    pub aborted: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<NavigationResult>,
}

/// `branchSummaryStart`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryStart {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// The entry to go to.
    pub target_id: String,
    /// The leaf that is left.
    pub old_leaf_id: Option<String>,
    /// Estimated tokens that the summary reads.
    pub estimated_tokens: u64,
}

/// The client's answer to `sessionBeforeFork`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelResult {
    /// Whether the operation shall not happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<bool>,
}

/// Parameters of `checkCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckCompactionParams {
    /// The session.
    pub session_id: String,
    /// The model of the next request.
    pub model: Model,
    /// The assistant message to judge; the last one of the context by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
}

impl CheckCompactionParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>, model: Model) -> Self {
        Self { session_id: session_id.into(), model, message: None, settings: None }
    }
}

/// Result of `checkCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckCompactionResult {
    /// What to do.
    pub action: CompactionAction,
    /// Whether the failed request is worth another try after the compaction.
    pub will_retry: bool,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// Tokens above which the threshold is crossed.
    pub threshold: u64,
    /// The input. After an answer that a server gave to a part of the context: the least that the context
    /// has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of recent context that a compaction would keep verbatim, as they fit the window; absent
    /// if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// The most that the provider takes, of input or of input and output together. After an answer that a
    /// server gave to a part of the context: what it read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CompactionReason>,
    /// The output that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_output_tokens: Option<u64>,
    /// Tokens of the window that stay free, as they fit it; absent if the window is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve_tokens: Option<u64>,
    /// Why nothing is done although something might seem due: as `skipped` of `appendMessage`, or
    /// `unknownWindow`, `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// Parameters of `checkSession`: an open session or a file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckSessionParams {
    /// Path of a file; used if no session is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// An open session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Result of `checkSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckSessionResult {
    /// What was odd, bodies included.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a client answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// The client wants the whole entry in `entryAppended`, and not only its `type`, `id`, `parentId` and
    /// `timestamp`. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_bodies: Option<bool>,
    /// Names of the hooks that the client answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Vec<String>>,
    /// The client wants `details.compactd.ledger` in the results of compactions. Default: true. The stored
    /// entry has
    /// it anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledgers: Option<bool>,
    /// The client wants progress notifications. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<bool>,
    /// The client answers `summarize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<bool>,
    /// Modes of `summarize` that the client answers: `transcript` always, `continue` if it is named here. A
    /// client
    /// that continues must be able to send the conversation again as its last request had it, with the same
    /// model,
    /// prompt and tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize_modes: Option<Vec<String>>,
}

/// Who the client is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Name of the program.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl ClientInfo {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), version: None }
    }
}

/// A tool result that was shortened in the context, because it is larger than what the window leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClippedResult {
    /// The entry of the result, which keeps the whole of it.
    pub entry_id: String,
    /// Its tokens before.
    pub tokens_before: u64,
    /// Its tokens afterwards.
    pub tokens_after: u64,
}

/// Parameters of `compactMessages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactMessagesParams {
    /// The whole context, oldest message first; at most 10000. With `previous`: the messages that the call
    /// gave which gave it, and what came since.
    pub messages: Vec<AnyMessage>,
    /// Whether a summary is taken that is no smaller than what it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// The shape of the messages; `pi` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MessageFormat>,
    /// What the summary should look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The model that the messages go to: the new context leaves room for its answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// What the last such call for this conversation gave as `previous`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<FreeObject>,
    /// Compaction settings for this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
    /// The summarizer for this call, instead of the configured one, or a list of them: the next one
    /// writes where one fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<SummarizerChoice>,
}

impl CompactMessagesParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(messages: Vec<AnyMessage>) -> Self {
        Self {
            messages,
            force: None,
            format: None,
            instructions: None,
            model: None,
            previous: None,
            settings: None,
            summarizer: None,
        }
    }
}

/// Result of `compactMessages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactMessagesResult {
    /// The messages of the new context: instructions that led the messages, the summary, and what stays.
    pub messages: Vec<AnyMessage>,
    /// Position among the messages given of the oldest one that stays.
    pub kept_from: u64,
    /// For the next call; its members are nobody's business but ours.
    pub previous: FreeObject,
    /// The compaction. Its entry ids are those of a copy that ended with the call.
    pub report: CompactionResult,
    /// Instructions from between the messages, for interfaces that take them beside the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// Parameters of `compact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactParams {
    /// The session.
    pub session_id: String,
    /// Whether the compaction is written (true, the default). With false the result is that of a compaction
    /// of a copy in memory: the session stays as it is, its entry ids hold for `firstKeptEntryId` and
    /// `details`, and `entryId` names no entry. Notifications of it carry a session id of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<bool>,
    /// What the summary should look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// The oldest entry that stays verbatim, in place of the one that the settings give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<String>,
    /// Whether a summary is taken that is no smaller than what it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
    /// The summarizer for this call, instead of the configured one, or a list of them: the next one
    /// writes where one fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<SummarizerChoice>,
    /// A summary that the client wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<GivenSummary>,
    /// Whether to answer when the compaction is done (true, the default) or at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
}

impl CompactParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self {
            session_id: session_id.into(),
            commit: None,
            custom_instructions: None,
            first_kept_entry_id: None,
            force: None,
            settings: None,
            summarizer: None,
            summary: None,
            wait: None,
        }
    }
}

/// Result of `compact`; only `operationId` with `wait: false`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CompactResult {
    /// The compaction is done.
    CompactionResult(Box<CompactionResult>),
    /// The compaction runs; its outcome comes with `compactionEnd`.
    StartedResult(Box<StartedResult>),
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompactionAction {
    /// Nothing.
    #[serde(rename = "none")]
    None,
    /// Compact.
    #[serde(rename = "compact")]
    Compact,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl CompactionAction {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Compact => "compact",
            Self::Other(text) => text,
        }
    }
}

/// `compactionEnd`: exactly one for every `compactionStart`, sent before the reply to `compact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEnd {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// Why it happened.
    pub reason: CompactionReason,
    /// Whether it was cancelled.
    pub aborted: bool,
    /// Whether the failed request is worth another try.
    pub will_retry: bool,
    /// Tool results that were shortened in the context where that was enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<Vec<ClippedResult>>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Until when the session is not compacted by itself, after several failures in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// What came of it; absent where shortening tool results was enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<CompactionResult>,
    /// Given, and true, where the server began the compaction and the context ends with a tool result or
    /// an answer that was cut: the agent has work left, and nobody but the host resumes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<bool>,
}

/// Why a compaction happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompactionReason {
    /// Somebody asked for it.
    #[serde(rename = "manual")]
    Manual,
    /// The context came near the window.
    #[serde(rename = "threshold")]
    Threshold,
    /// The model refused the context.
    #[serde(rename = "overflow")]
    Overflow,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl CompactionReason {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Manual => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
            Self::Other(text) => text,
        }
    }
}

/// A compaction that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// The compaction entry.
    pub entry_id: String,
    /// Its summary. Without a model, all of it (text, context of a split turn, lists of files) stays within
    /// 0.8 of
    /// `reserveTokens`. A model's text is bounded by what the model is asked for; lists of files behind it
    /// take a tenth
    /// of `reserveTokens` at most, and facts that it lacks a tenth of its own tokens, or fill it up to
    /// 1,000 tokens.
    pub summary: String,
    /// The oldest entry that stays verbatim.
    pub first_kept_entry_id: String,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Tokens of the context after, estimated: no provider has counted it yet.
    pub tokens_after: u64,
    /// Tokens of the context before in the measure of `tokensAfter`. `tokensBefore` is the provider's
    /// count, where
    /// there is one.
    pub estimated_tokens_before: u64,
    /// The entry's `details`. `readFiles` and `modifiedFiles` name at most 2,000 files
    /// together, whose paths have at most 256 KiB: modified files before those that were only read, and the
    /// ones
    /// touched last before the rest. `compactd.filesLeftOut` counts the others, where there are any; a file
    /// that was
    /// left out and came back counts.
    pub details: FreeObject,
    /// Whether a hook or the client gave the summary.
    pub from_hook: bool,
    /// Who wrote the summary.
    pub summarizer: String,
    /// Requests that were made, failed ones included.
    pub attempts: u64,
    /// One or two sentences for a user interface.
    pub brief: String,
    /// How much is there, by class.
    pub retention: Retention,
    /// How much the summary alone held, before what it lacked was added.
    pub retention_before_repair: Retention,
    /// One figure for the retention, from 0 to 1: the weighted mean of the classes that have something to
    /// keep.
    /// Statements count 4, requests 3, errors and constraints 1, files 0.5, identifiers 0.25.
    pub score: f64,
    /// What the summary alone lacked, and what it says that nothing supports.
    pub loss_report: LossReport,
    /// Summarizers that were asked before that one, and why they did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Vec<SummarizerFailure>>,
    /// Secrets that were taken out of what the model was told and said, by rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redactions: Option<BTreeMap<String, u64>>,
    /// How models were asked for the summary, and what either way takes: one for each part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_requests: Option<Vec<SummaryRequestReport>>,
    /// What the summary cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<FreeObject>,
}

/// Settings that decided a preparation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSettings {
    /// Whether compaction may start by itself.
    pub enabled: bool,
    /// Tokens of the window that stay free.
    pub reserve_tokens: u64,
    /// Tokens of recent context that stay verbatim.
    pub keep_recent_tokens: u64,
    /// Percent of the window over which compaction is due, if that is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_percent: Option<u64>,
}

/// `compactionStart`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionStart {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// Why it happens.
    pub reason: CompactionReason,
    /// Tokens of the context.
    pub tokens_before: u64,
}

/// Format of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContextFormat {
    /// Stored roles, and synthetic `compactionSummary`, `branchSummary` and `custom` messages.
    #[serde(rename = "agent")]
    Agent,
    /// User, assistant and toolResult alone, ready to send to a model: answers that failed or were aborted
    /// are left out with the results of their calls, and every call has its result right behind it. The
    /// calls of the last answer stay open, as their results may still come.
    #[serde(rename = "llm")]
    Llm,
    /// As `llm`, in the shape of OpenAI's chat completions, system messages included. So are the others:
    /// a message that was appended in the shape comes back as it was.
    #[serde(rename = "openai")]
    Openai,
    /// Items for OpenAI's `responses`.
    #[serde(rename = "openai-responses")]
    OpenaiResponses,
    /// `messages` for Anthropic; the instructions come in `system`.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// `contents` for Gemini; the instructions come in `system`.
    #[serde(rename = "gemini")]
    Gemini,
    /// Model messages of the AI SDK.
    #[serde(rename = "ai-sdk")]
    AiSdk,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl ContextFormat {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Agent => "agent",
            Self::Llm => "llm",
            Self::Openai => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::AiSdk => "ai-sdk",
            Self::Other(text) => text,
        }
    }
}

/// Tokens of a context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextTokens {
    /// The sum.
    pub tokens: u64,
    /// Tokens of the last usage that can be trusted.
    pub usage_tokens: u64,
    /// Estimates for the messages after it.
    pub trailing_tokens: u64,
}

/// How full a window is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Tokens of the context; null between a compaction and the first answer after it.
    pub tokens: Option<u64>,
    /// Size of the window in tokens.
    pub context_window: u64,
    /// Tokens in percent of the window.
    pub percent: Option<f64>,
}

/// Parameters of `continueSession`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinueSessionParams {
    /// Compacts the session by itself for this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<AutoCompactionOptions>,
    /// Working directory whose most recent session is opened; that of `initialize` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The part of a conversation that is continued for its summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinuedConversation {
    /// The last entry that is part of it.
    pub last_entry_id: String,
    /// How many messages it has: the first ones of `getContext` in `llm` format. An answer with tool calls
    /// is
    /// never the last one without their results.
    pub messages: u64,
    /// The oldest entry that the compaction keeps.
    pub first_kept_entry_id: String,
}

/// Parameters of `createSession`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateSessionParams {
    /// Compacts the session by itself for this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<AutoCompactionOptions>,
    /// Working directory of the session; that of `initialize` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whether the session is kept in memory alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
    /// The shape of the messages; `pi` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MessageFormat>,
    /// Messages that the session begins with, oldest first; at most 10000. Their entries are not told by
    /// `entryAppended`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<AnyMessage>>,
    /// Name of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Path of the session that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Path of the file, instead of one that is made up; it must not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A flat directory for the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_dir: Option<String>,
    /// Id of the session, instead of one that is made up: letters, digits and, not at its ends, `.`, `_`
    /// and `-`,
    /// 128 at most. One that another session of the directory, or an open one, has is refused (1009).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Something odd in a session that was read around.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// What it is.
    pub kind: String,
    /// What a person reads.
    pub message: String,
    /// Line of the file, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// What was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiagnosticKind {
    /// A member that the method does not have.
    #[serde(rename = "unknownMember")]
    UnknownMember,
    /// A setting that does not exist.
    #[serde(rename = "unknownSetting")]
    UnknownSetting,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl DiagnosticKind {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::UnknownMember => "unknownMember",
            Self::UnknownSetting => "unknownSetting",
            Self::Other(text) => text,
        }
    }
}

/// Result of `getEntries` and `getBranch`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntriesResult {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Present if there are more, in `getEntries` with a `limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An entry (line) of the session file. Further members depend on the type; unknown types and members
/// are carried through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Member `type`.
    pub r#type: String,
    /// Member `id`.
    pub id: String,
    /// Member `parentId`.
    pub parent_id: Option<String>,
    /// ISO 8601, UTC, milliseconds.
    pub timestamp: String,
    /// Members that the protocol does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// `entryAppended`: an entry was written, whoever caused it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryAppended {
    /// The session.
    pub session_id: String,
    /// The entry.
    pub entry: Entry,
}

/// Parameters of calls that name one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryParams {
    /// The session.
    pub session_id: String,
    /// The entry.
    pub entry_id: String,
}

impl EntryParams {
    /// Takes the required members.
    #[must_use]
    pub fn new(session_id: impl Into<String>, entry_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), entry_id: entry_id.into() }
    }
}

/// An error, as a reply would hold it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// Code of the error.
    pub code: i64,
    /// What a person reads.
    pub message: String,
    /// `kind`, `reason` and `retryable`, and the ids and numbers needed to act.
    pub data: ErrorData,
}

/// What an error is, and the ids and numbers needed to act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// The name of the error, one for each code.
    pub kind: String,
    /// Tells errors of one kind apart.
    pub reason: String,
    /// Whether the same call, sent again later, may succeed.
    pub retryable: bool,
    /// Members that the protocol does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Parameters of `estimateTokens`: messages or a text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimateTokensParams {
    /// The shape of the messages; `pi` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MessageFormat>,
    /// Messages, as stored or as models get them, or in the shape that `format` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<AnyMessage>>,
    /// A text; used if there are no messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Result of `estimateTokens`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimateTokensResult {
    /// Estimated tokens.
    pub tokens: u64,
}

/// Paths by what was done to them, sorted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileOperations {
    /// Files that were read.
    pub read: Vec<String>,
    /// Files that were written whole.
    pub written: Vec<String>,
    /// Files that were edited.
    pub edited: Vec<String>,
}

/// What a compaction would keep by itself, as far as that is known before a summary is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// How much any summary keeps at least, once it is repaired.
    pub retention: Retention,
    /// One figure for it, from 0 to 1.
    pub score: f64,
}

/// Where a fork ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForkPosition {
    /// Before the entry: a message's text goes back into the editor.
    #[serde(rename = "before")]
    Before,
    /// At the entry, which is part of the fork.
    #[serde(rename = "at")]
    At,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl ForkPosition {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Before => "before",
            Self::At => "at",
            Self::Other(text) => text,
        }
    }
}

/// Parameters of `forkSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionParams {
    /// The session.
    pub session_id: String,
    /// The entry at which the fork ends.
    pub entry_id: String,
    /// Whether the fork ends before or at the entry; before by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<ForkPosition>,
}

impl ForkSessionParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>, entry_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), entry_id: entry_id.into(), position: None }
    }
}

/// `FreeObject`.
pub type FreeObject = Value;

/// Parameters of `getBranch`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetBranchParams {
    /// The session.
    pub session_id: String,
    /// The end of the branch; the leaf by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<String>,
}

impl GetBranchParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), leaf_id: None }
    }
}

/// Parameters of `getContext`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetContextParams {
    /// The session.
    pub session_id: String,
    /// An entry up to which the caller has the context already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Format of the messages; `agent` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ContextFormat>,
    /// The end of the branch; the leaf by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<String>,
}

impl GetContextParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), after: None, format: None, leaf_id: None }
    }
}

/// Result of `getContext`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetContextResult {
    /// What the model sees.
    pub messages: Vec<AnyMessage>,
    /// The end of the branch.
    pub leaf_id: Option<String>,
    /// The thinking level at the leaf.
    pub thinking_level: String,
    /// The model at the leaf.
    pub model: Option<ModelName>,
    /// What the whole context weighs.
    pub tokens: ContextTokens,
    /// With `after`: whether `messages` holds only what follows that entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<bool>,
    /// What was odd: unknown first kept entries, broken bodies, results without calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Vec<Diagnostic>>,
    /// The instructions, for interfaces that take them beside the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// Parameters of `getContextUsage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetContextUsageParams {
    /// The session.
    pub session_id: String,
    /// The model whose window counts.
    pub model: WindowModel,
}

impl GetContextUsageParams {
    /// Takes the required members.
    #[must_use]
    pub fn new(session_id: impl Into<String>, model: WindowModel) -> Self {
        Self { session_id: session_id.into(), model }
    }
}

/// Parameters of `getEntries`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetEntriesParams {
    /// The session.
    pub session_id: String,
    /// Where the last page ended: its `nextCursor`, or the id of any entry. The first page by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Ids of the entries that are wanted, at most 1000, in this order; used in place of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Entries per page; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Deprecated since 1.1 in favour of `cursor`, which counts where both are given: the entry after which
    /// to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl GetEntriesParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), cursor: None, ids: None, limit: None, since: None }
    }
}

/// Result of `getEntry`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetEntryResult {
    /// The entry.
    pub entry: Entry,
}

/// Parameters of `getPins`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPinsParams {
    /// The session.
    pub session_id: String,
    /// The end of a branch; the leaf by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<String>,
}

impl GetPinsParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), leaf_id: None }
    }
}

/// Result of `getPins`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPinsResult {
    /// The pinned entries of the branch, root first.
    pub pins: Vec<PinnedEntry>,
    /// What they take together.
    pub tokens: u64,
    /// What they may take together.
    pub max_tokens: u64,
}

/// Result of `getTree`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTreeResult {
    /// The leaf.
    pub leaf_id: Option<String>,
    /// All entries in file order; never nested, so that depth has no limit.
    pub nodes: Vec<TreeNode>,
}

/// A branch summary that the client wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenBranchSummary {
    /// Its text.
    pub summary: String,
    /// Members for the entry's `details`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<FreeObject>,
    /// What the summary cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl GivenBranchSummary {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), details: None, usage: None }
    }
}

/// A summary that the client wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenSummary {
    /// Its text.
    pub summary: String,
    /// Members for the entry's `details`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<FreeObject>,
    /// The oldest entry that stays verbatim; that of the preparation by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<String>,
    /// Tokens of the context before; used from hooks alone, else they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// What the summary cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl GivenSummary {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), details: None, first_kept_entry_id: None, tokens_before: None, usage: None }
    }
}

/// The first line of the session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Member `type`.
    pub r#type: String,
    /// Member `id`.
    pub id: String,
    /// Member `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Member `parentSession`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Member `timestamp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Member `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Members that the protocol does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Parameters of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Version of the protocol that the client speaks: 1.
    pub protocol_version: u64,
    /// Who the client is.
    pub client_info: ClientInfo,
    /// Agent directory; `$PI_CODING_AGENT_DIR`, then `~/.pi/agent` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_dir: Option<String>,
    /// What the client answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<ClientCapabilities>,
    /// Working directory for sessions that name none; the server's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Process id of the parent; when it dies, the server ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u64>,
    /// A flat directory of sessions, instead of one per working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_dir: Option<String>,
    /// Settings over those of the settings files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
}

impl InitializeParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(protocol_version: u64, client_info: ClientInfo) -> Self {
        Self {
            protocol_version,
            client_info,
            agent_dir: None,
            capabilities: None,
            cwd: None,
            process_id: None,
            session_dir: None,
            settings: None,
        }
    }
}

/// Result of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Version of the protocol that is spoken: 1.
    pub protocol_version: u64,
    /// Its minor version: 1. Every version 1 serves what earlier ones serve; 1.0 does not say this member.
    pub protocol_minor_version: u64,
    /// Who the server is.
    pub server_info: ServerInfo,
    /// What the server does.
    pub capabilities: ServerCapabilities,
    /// The settings in force: defaults, files and `initialize.settings` merged.
    pub settings: FreeObject,
    /// Settings files that could not be read, and other oddities.
    pub diagnostics: Vec<String>,
}

/// `leafChanged`: a navigation moved the leaf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafChanged {
    /// The session.
    pub session_id: String,
    /// The leaf.
    pub leaf_id: Option<String>,
    /// The leaf before.
    pub old_leaf_id: Option<String>,
}

/// Parameters of `listSessions`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsParams {
    /// Whether to list the sessions of all working directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// Where the last page ended: its `nextCursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Working directory whose sessions are listed; that of `initialize` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Sessions per page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// A flat directory of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_dir: Option<String>,
}

/// Result of `listSessions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsResult {
    /// Sessions, newest activity first.
    pub sessions: Vec<SessionSummary>,
    /// Present if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// What a summary lacks, and what is doubtful in it; the most telling first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// summary before it, the messages that stay, or what earlier compactions stored. Checked are paths
    /// with a
    /// file's ending or a root, names of files, identifiers with an underscore or with capitals inside
    /// after small
    /// letters, tickets and codes of errors, hashes, versions of three parts, and numbers of at least three
    /// digits
    /// with a unit that are not said to be rough. Not checked are words, names of products, addresses,
    /// other
    /// numbers, and whether names are brought together rightly.
    pub unsupported: Vec<String>,
    /// Claims of the summary that are the reverse of what is known: in English, in prose as in lists, that
    /// a file
    /// that tools worked on was changed or was not, that tests, build, lint or a quoted command succeed,
    /// that
    /// something was committed or pushed. Sentences that wish, ask, or tell conditions claim nothing.
    pub reversed: Vec<ReversedFact>,
}

/// An error that a summary lacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostError {
    /// The line that tells best why.
    pub line: String,
    /// Whether the same succeeded since.
    pub resolved: bool,
    /// The entries that it comes from.
    pub entry_ids: Vec<String>,
    /// The path or command that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// Words that a summary lacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostItem {
    /// The words.
    pub text: String,
    /// The entries that they come from.
    pub entry_ids: Vec<String>,
}

/// What the server takes of the memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryStatus {
    /// Bytes that lie in memory; null where the system does not tell.
    pub resident_bytes: Option<u64>,
    /// Bytes of address space that the process may have, where there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
}

/// A message as the session file stores it. Unknown members are carried through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// user, assistant, toolResult, bashExecution, custom or system; in contexts also compactionSummary and
    /// branchSummary.
    pub role: String,
    /// Text, or a list of blocks {type: text|image|thinking|toolCall, ...}.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// Epoch milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<f64>,
    /// Members that the protocol does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Message {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(role: impl Into<String>) -> Self {
        Self { role: role.into(), content: None, timestamp: None, other: Map::new() }
    }
}

/// A shape of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageFormat {
    /// That of the session file.
    #[serde(rename = "pi")]
    Pi,
    /// `messages` of OpenAI's chat completions, and of all servers that speak like it.
    #[serde(rename = "openai")]
    Openai,
    /// Items of OpenAI's `responses`.
    #[serde(rename = "openai-responses")]
    OpenaiResponses,
    /// `messages` of Anthropic.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// `contents` of Gemini.
    #[serde(rename = "gemini")]
    Gemini,
    /// Model messages of the AI SDK (version 5 and 6); its UI messages are read too.
    #[serde(rename = "ai-sdk")]
    AiSdk,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl MessageFormat {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pi => "pi",
            Self::Openai => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::AiSdk => "ai-sdk",
            Self::Other(text) => text,
        }
    }
}

/// A message, or the id of its entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageOrId {
    /// The message.
    Message(Box<Message>),
    /// The id of its entry.
    Text(String),
}

impl From<&str> for MessageOrId {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for MessageOrId {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A model with its window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

impl Model {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(provider: impl Into<String>, id: impl Into<String>, context_window: u64) -> Self {
        Self { provider: provider.into(), id: id.into(), context_window, max_output_tokens: None }
    }
}

/// A model, as entries name it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelName {
    /// Provider of the model.
    pub provider: String,
    /// Id of the model.
    pub model_id: String,
}

/// Parameters of `navigateTree`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NavigateTreeParams {
    /// The session.
    pub session_id: String,
    /// The entry to go to.
    pub target_id: String,
    /// What the summary should look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// A label for the summary, or for the target if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether `customInstructions` stand in place of the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_instructions: Option<bool>,
    /// Whether to summarise the branch that is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<bool>,
    /// The summarizer for this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<SummarizerChoice>,
    /// A summary that the client wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<GivenBranchSummary>,
    /// Whether to answer when the navigation is done (true, the default) or at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
}

impl NavigateTreeParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>, target_id: impl Into<String>) -> Self {
        Self {
            session_id: session_id.into(),
            target_id: target_id.into(),
            custom_instructions: None,
            label: None,
            replace_instructions: None,
            summarize: None,
            summarizer: None,
            summary: None,
            wait: None,
        }
    }
}

/// Result of `navigateTree`; only `operationId` with `wait: false`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NavigateTreeResult {
    /// The navigation is done.
    NavigationResult(Box<NavigationResult>),
    /// The navigation runs; its outcome comes with `branchSummaryEnd`.
    StartedResult(Box<StartedResult>),
}

/// A navigation that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NavigationResult {
    /// The leaf afterwards.
    pub leaf_id: Option<String>,
    /// The leaf before.
    pub old_leaf_id: Option<String>,
    /// Whether the navigation was cancelled and nothing moved.
    pub cancelled: bool,
    /// Whether it was cancelled by ending its summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<bool>,
    /// The text that goes back into the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// The summary of the branch that was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_entry: Option<Entry>,
}

/// An entry to append: its type and members; id, parentId and timestamp are given by the server.
pub type NewEntry = Value;

/// Parameters of methods that take none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NoParams {}

/// Why a conversation was not continued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotContinued {
    /// The reason.
    pub reason: NotContinuedReason,
    /// The same for a person, with the numbers.
    pub detail: String,
}

/// Reasons for which a conversation is not continued, or a summary that it gave not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotContinuedReason {
    /// The settings ask for transcripts.
    #[serde(rename = "settings")]
    Settings,
    /// The summarizer, or the client, cannot continue conversations.
    #[serde(rename = "notSupported")]
    NotSupported,
    /// The conversation is another model's, or at another provider. That one shall not see it whole.
    #[serde(rename = "otherModel")]
    OtherModel,
    /// The conversation was held over another interface of the provider.
    #[serde(rename = "otherInterface")]
    OtherInterface,
    /// The session does not hold prompt and tools, or not as one prompt that stands first.
    #[serde(rename = "promptUnknown")]
    PromptUnknown,
    /// The last answer's request did not begin with all of it.
    #[serde(rename = "notSeen")]
    NotSeen,
    /// Conversation, instruction and summary do not fit the window together.
    #[serde(rename = "tooLarge")]
    TooLarge,
    /// The conversation was held with thinking, and the settings of the summarizer do not say how.
    #[serde(rename = "thinkingUnknown")]
    ThinkingUnknown,
    /// The last answer's usage shows no cache.
    #[serde(rename = "noCache")]
    NoCache,
    /// Its request was too long ago for the cache to have it still.
    #[serde(rename = "cold")]
    Cold,
    /// The provider had nothing in its cache when a conversation was continued before.
    #[serde(rename = "missed")]
    Missed,
    /// A transcript is cheaper.
    #[serde(rename = "dearer")]
    Dearer,
    /// The provider, or the client, has refused the request.
    #[serde(rename = "refused")]
    Refused,
    /// The model called the request too large.
    #[serde(rename = "overflow")]
    Overflow,
    /// The server has read a part of the request.
    #[serde(rename = "truncated")]
    Truncated,
    /// The model called a tool.
    #[serde(rename = "toolCall")]
    ToolCall,
    /// The answer was empty.
    #[serde(rename = "empty")]
    Empty,
    /// The answer was cut off twice.
    #[serde(rename = "cutOff")]
    CutOff,
    /// The answer lacked headings twice.
    #[serde(rename = "headings")]
    Headings,
    /// The model stopped for a reason of its provider's.
    #[serde(rename = "stopped")]
    Stopped,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl NotContinuedReason {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Settings => "settings",
            Self::NotSupported => "notSupported",
            Self::OtherModel => "otherModel",
            Self::OtherInterface => "otherInterface",
            Self::PromptUnknown => "promptUnknown",
            Self::NotSeen => "notSeen",
            Self::TooLarge => "tooLarge",
            Self::ThinkingUnknown => "thinkingUnknown",
            Self::NoCache => "noCache",
            Self::Cold => "cold",
            Self::Missed => "missed",
            Self::Dearer => "dearer",
            Self::Refused => "refused",
            Self::Overflow => "overflow",
            Self::Truncated => "truncated",
            Self::ToolCall => "toolCall",
            Self::Empty => "empty",
            Self::CutOff => "cutOff",
            Self::Headings => "headings",
            Self::Stopped => "stopped",
            Self::Other(text) => text,
        }
    }
}

/// `Null`.
pub type Null = ();

/// Parameters of `openSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionParams {
    /// Path of the session file.
    pub path: String,
    /// Compacts the session by itself for this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<AutoCompactionOptions>,
    /// Whether to open it for reading alone, without a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}

impl OpenSessionParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), auto_compaction: None, read_only: None }
    }
}

/// Result of `createSession`, `openSession`, `continueSession` and `forkSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionResult {
    /// The header's id; names the session in every later call.
    pub session_id: String,
    /// The first line of the file.
    pub header: Header,
    /// The leaf; null for a session without entries.
    pub leaf_id: Option<String>,
    /// Whether the session cannot be written.
    pub read_only: bool,
    /// What was odd.
    pub diagnostics: Vec<Diagnostic>,
    /// After a fork before a message: its text, for the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// Number of entries, where it is known without reading the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_count: Option<u64>,
    /// The older version that the file has, if it was migrated in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrated_from: Option<u64>,
    /// Path of the file; absent for sessions in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A session that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionStatus {
    /// The session.
    pub session_id: String,
    /// Whether it cannot be written.
    pub read_only: bool,
    /// Whether it is compacted by itself.
    pub auto_compaction: bool,
    /// Path of the file; absent for sessions in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What an operation is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationPhase {
    /// A summary is being written.
    #[serde(rename = "summarizing")]
    Summarizing,
    /// A request failed and is made again after a while.
    #[serde(rename = "waiting")]
    Waiting,
    /// The entry is being written.
    #[serde(rename = "committing")]
    Committing,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl OperationPhase {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Summarizing => "summarizing",
            Self::Waiting => "waiting",
            Self::Committing => "committing",
            Self::Other(text) => text,
        }
    }
}

/// `compactionProgress` and `branchSummaryProgress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationProgress {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What is going on.
    pub phase: OperationPhase,
    /// The request that is running, counted from 1.
    pub request: u64,
    /// Requests in all.
    pub requests: u64,
    /// Output tokens of this request so far.
    pub output_tokens: u64,
    /// New text of the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<String>,
}

/// An operation that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
}

/// Where a piece of an entry stands. A piece that crosses the border of two parts counts as two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// The part of the entry that it is of.
    pub part: PassagePart,
    /// Where it begins in the entry's whole text, in UTF-16 units.
    pub start: u64,
    /// Where it ends there, in UTF-16 units.
    pub end: u64,
    /// Where it begins in `text`, in UTF-16 units.
    pub offset: u64,
    /// The part's place in the list of the message's content blocks, from 0; absent where the content is
    /// no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
}

/// A part of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PassagePart {
    /// Text, that of a tool result as well.
    #[serde(rename = "text")]
    Text,
    /// A tool call: its name and arguments.
    #[serde(rename = "toolCall")]
    ToolCall,
    /// An image, of which a mark is left.
    #[serde(rename = "image")]
    Image,
    /// A command that the person ran.
    #[serde(rename = "command")]
    Command,
    /// What that command printed.
    #[serde(rename = "output")]
    Output,
    /// A summary.
    #[serde(rename = "summary")]
    Summary,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl PassagePart {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text => "text",
            Self::ToolCall => "toolCall",
            Self::Image => "image",
            Self::Command => "command",
            Self::Output => "output",
            Self::Summary => "summary",
            Self::Other(text) => text,
        }
    }
}

/// Parameters of `pinEntry`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinEntryParams {
    /// The session.
    pub session_id: String,
    /// An entry on the current path that gives the model a message.
    pub entry_id: String,
    /// Whether it is to be pinned (true) or unpinned.
    pub pinned: bool,
}

impl PinEntryParams {
    /// Takes the required members.
    #[must_use]
    pub fn new(session_id: impl Into<String>, entry_id: impl Into<String>, pinned: bool) -> Self {
        Self { session_id: session_id.into(), entry_id: entry_id.into(), pinned }
    }
}

/// Result of `pinEntry`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// A pinned entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedEntry {
    /// The entry.
    pub entry_id: String,
    /// Estimated tokens that it takes behind a summary.
    pub tokens: u64,
}

/// What would be compacted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Parts of a preparation that can be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreparationPart {
    /// The messages; without them the lists hold entry ids.
    #[serde(rename = "messages")]
    Messages,
    /// The requests that a summarizer would get.
    #[serde(rename = "requests")]
    Requests,
    /// What would be kept at least of what the compacted part holds.
    #[serde(rename = "forecast")]
    Forecast,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl PreparationPart {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Messages => "messages",
            Self::Requests => "requests",
            Self::Forecast => "forecast",
            Self::Other(text) => text,
        }
    }
}

/// Parameters of `prepareCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareCompactionParams {
    /// The session.
    pub session_id: String,
    /// What the summary should look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// The oldest entry that would stay verbatim, in place of the one that the settings give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<String>,
    /// What the result holds; all parts by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<PreparationPart>>,
    /// The end of the branch; the leaf by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<String>,
    /// Settings for this call: members of `compaction`, or the shape that `updateSettings` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
}

impl PrepareCompactionParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self {
            session_id: session_id.into(),
            custom_instructions: None,
            first_kept_entry_id: None,
            include: None,
            leaf_id: None,
            settings: None,
        }
    }
}

/// Result of `prepareCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareCompactionResult {
    /// What would be compacted; null if nothing would.
    pub preparation: Option<Preparation>,
    /// The compaction that nothing follows, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// Tokens of the context, if nothing would be compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// What would be kept at least of what the compacted part holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Tokens that are kept at least, if nothing would be compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// Messages that all would be kept, if nothing would be compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Why nothing would be compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<RefusalReason>,
    /// What a summarizer would get, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Vec<SummaryRequest>>,
    /// The tool call whose result has not come and from which on all has to stay, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// Parameters of `prepareNavigation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareNavigationParams {
    /// The session.
    pub session_id: String,
    /// The entry to go to.
    pub target_id: String,
    /// The leaf to start from; the current one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<String>,
}

impl PrepareNavigationParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>, target_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), target_id: target_id.into(), leaf_id: None }
    }
}

/// Result of `prepareNavigation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareNavigationResult {
    /// The entry to go to.
    pub target_id: String,
    /// The leaf that would be left.
    pub old_leaf_id: Option<String>,
    /// The deepest entry that both paths share.
    pub common_ancestor_id: Option<String>,
    /// The entries that would be left, oldest first.
    pub entries_to_summarize: Vec<String>,
    /// The leaf afterwards; null for the place before the first entry.
    pub new_leaf_id: Option<String>,
    /// Estimated tokens that a summary would read.
    pub estimated_tokens: u64,
    /// The text that would go back into the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
}

/// Parameters of `recall`: a question, or ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecallParams {
    /// The session.
    pub session_id: String,
    /// Entries that are wanted as they are, evicted or not, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_ids: Option<Vec<String>>,
    /// The end of a branch; the leaf by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<String>,
    /// Tokens that the texts may have together, 1 or more; 2000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Words that evicted entries are looked for with; those that answer best come first. Words that carry
    /// nothing do not count; a name of a file finds the calls that changed it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

impl RecallParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), entry_ids: None, leaf_id: None, max_tokens: None, query: None }
    }
}

/// Result of `recall`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecallResult {
    /// The entries, best first, or in the order in which they were asked for.
    pub entries: Vec<RecalledEntry>,
    /// Estimated tokens of their texts.
    pub tokens: u64,
    /// Entries that would answer as well, or were asked for, and of which nothing fits.
    pub omitted: u64,
}

/// An entry that is given back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecalledEntry {
    /// The entry.
    pub entry_id: String,
    /// Type of the entry.
    pub r#type: String,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// What it says. Of a question's answer the passages that answer, in their order, with a line `[…]`
    /// where something is left out.
    pub text: String,
    /// Estimated tokens of the text.
    pub tokens: u64,
    /// Whether anything of what it says is left out.
    pub truncated: bool,
    /// Where the pieces of the text stand in the entry; with a question alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<Passage>>,
    /// Role of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How well it answers; comparable within one result alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Why nothing would be compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalReason {
    /// Nothing follows the last compaction.
    #[serde(rename = "alreadyCompacted")]
    AlreadyCompacted,
    /// Everything would be kept.
    #[serde(rename = "nothingToCompact")]
    NothingToCompact,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl RefusalReason {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AlreadyCompacted => "alreadyCompacted",
            Self::NothingToCompact => "nothingToCompact",
            Self::Other(text) => text,
        }
    }
}

/// An entry and its copy on the new branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayedEntry {
    /// The entry.
    pub from: String,
    /// Its copy.
    pub to: String,
}

/// `diagnostic`: a part of a request was passed over, and the request served all the same. Each part is
/// told of
/// once. `initialize` and `updateSettings` tell the same in the `diagnostics` of their results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestDiagnostic {
    /// What it is.
    pub kind: DiagnosticKind,
    /// The method of the request.
    pub method: String,
    /// Where it stands in the parameters.
    pub path: String,
    /// What a person reads.
    pub message: String,
    /// The known name that was probably meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// An estimate of what the input of requests takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestEstimate {
    /// Input tokens.
    pub input_tokens: u64,
    /// What they cost at list prices, in US dollars; absent where the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What a request to a summarizer is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestKind {
    /// The conversation up to the turn that is cut.
    #[serde(rename = "history")]
    History,
    /// The first part of the turn that is cut.
    #[serde(rename = "turnPrefix")]
    TurnPrefix,
    /// A branch that is left.
    #[serde(rename = "branch")]
    Branch,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl RequestKind {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::History => "history",
            Self::TurnPrefix => "turnPrefix",
            Self::Branch => "branch",
            Self::Other(text) => text,
        }
    }
}

/// Parts that are there, from 0 to 1; 1 where there was nothing to keep.
///
/// They are measured against what the compacted part held and what earlier compactions of the branch
/// knew, that
/// included which their ledgers could not store. Errors, requests, constraints and statements count as
/// told in
/// other words too: if one line, or 420 characters over lines, has most of their telling words. Lines
/// of nothing
/// but names and blocks of files tell nothing but names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// A statement that is the reverse of what is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReversedFact {
    /// What is known: `notModified`, `modified`, `failed`, `notCommitted`, or `notPushed`.
    pub fact: String,
    /// The file or command; `git commit` or `git push` where nothing was committed or pushed.
    pub subject: String,
}

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session that it is in.
    pub session_id: String,
    /// The entry.
    pub entry_id: String,
    /// Type of the entry.
    pub r#type: String,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// The text around the first match, on one line.
    pub preview: String,
    /// Whether the entry is not in the context at its session's leaf: compacted or edited away, or on
    /// another branch.
    pub evicted: bool,
    /// Path of the session's file, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Role of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How well it answers, where no entry has all words; comparable within one session alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Parameters of `searchSession`: an open session, or all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionParams {
    /// Words that must all occur, whatever their case; a phrase in double quotes counts as one word. Where
    /// no
    /// entry has all of three words or more, those that have the most of them are found.
    pub query: String,
    /// Whether to search all sessions, open or not, in place of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// Where the last page ended: its `nextCursor`. What is appended between two pages comes before both,
    /// so that a
    /// hit may come twice then, and none is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Hits per page, from 1 to 1000; 50 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// An open session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

impl SearchSessionParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), all: None, cursor: None, limit: None, session_id: None }
    }
}

/// Result of `searchSession`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionResult {
    /// Entries whose text has all words, newest first; where there are none, those that answer best.
    pub hits: Vec<SearchHit>,
    /// Deprecated since 1.1 in favour of `nextCursor`: whether there are more.
    pub truncated: bool,
    /// Present if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `serializeConversation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SerializeConversationParams {
    /// Messages in either format.
    pub messages: Vec<Message>,
}

impl SerializeConversationParams {
    /// Takes the required members.
    #[must_use]
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages }
    }
}

/// Result of `serializeConversation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SerializeConversationResult {
    /// The conversation as one text.
    pub text: String,
}

/// What the server does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Methods that it answers.
    pub methods: Vec<String>,
    /// Notifications that it sends.
    pub notifications: Vec<String>,
    /// Hooks that it calls.
    pub hooks: Vec<String>,
    /// Summarizers that it has.
    pub summarizers: Vec<String>,
    /// Modes in which it asks the client by `summarize`.
    pub summarize_modes: Vec<SummarizeMode>,
}

/// Who the server is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// `compactd`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Result of `getStatus`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Who the server is.
    pub server_info: ServerInfo,
    /// Version of the protocol that is spoken.
    pub protocol_version: u64,
    /// Its minor version.
    pub protocol_minor_version: u64,
    /// Process id of the server.
    pub process_id: u64,
    /// Milliseconds since the server started.
    pub uptime_ms: u64,
    /// Sessions that are open, by id.
    pub sessions: Vec<OpenSessionStatus>,
    /// Compactions, navigations and forks that run.
    pub operations: Vec<OperationStatus>,
    /// What the server takes.
    pub memory: MemoryStatus,
}

/// Parameters of `sessionBeforeCompact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Why it happens.
    pub reason: CompactionReason,
    /// Whether the failed request is worth another try afterwards.
    pub will_retry: bool,
    /// What the summary should look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
}

/// The client's answer to `sessionBeforeCompact`; an empty object lets the compaction go on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeCompactResult {
    /// Whether the compaction shall not happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<bool>,
    /// The summary, in place of the summarizer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<GivenSummary>,
}

/// Parameters of `sessionBeforeFork`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeFork {
    /// The session.
    pub session_id: String,
    /// The entry at which the fork would end.
    pub entry_id: String,
    /// Whether it would end before or at the entry.
    pub position: ForkPosition,
}

/// Parameters of `sessionBeforeTree`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeTree {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What would happen.
    pub preparation: TreePreparation,
}

/// The client's answer to `sessionBeforeTree`; an empty object lets the navigation go on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeTreeResult {
    /// Whether the navigation shall not happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<bool>,
    /// Instructions in place of the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// A label in place of the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether they stand in place of the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_instructions: Option<bool>,
    /// The summary, in place of the summarizer's, where one is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<GivenBranchSummary>,
}

/// `sessionChanged`: another program added entries to the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionChanged {
    /// The session.
    pub session_id: String,
    /// The entries that were added.
    pub entry_ids: Vec<String>,
    /// The leaf afterwards.
    pub leaf_id: Option<String>,
}

/// Parameters of calls that name a session and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session.
    pub session_id: String,
}

impl SessionParams {
    /// Takes the required members.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into() }
    }
}

/// Result of `getSessionStats`. Everything is counted over the whole file, branches included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// Entries in the file.
    pub entry_count: u64,
    /// Messages of all roles.
    pub message_count: u64,
    /// Messages of the person.
    pub user_messages: u64,
    /// Answers of models.
    pub assistant_messages: u64,
    /// Tool calls in them.
    pub tool_calls: u64,
    /// Results of tools.
    pub tool_results: u64,
    /// Compactions.
    pub compactions: u64,
    /// Branch summaries.
    pub branch_summaries: u64,
    /// Tokens, those of summaries included.
    pub tokens: TokenTotals,
    /// Cost, that of summaries included, in the currency of the price list.
    pub cost: f64,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Path of the file.
    pub path: String,
    /// The header's id.
    pub session_id: String,
    /// The header's working directory.
    pub cwd: String,
    /// When it was created, ISO 8601.
    pub created: String,
    /// Time of the last message, ISO 8601.
    pub modified: String,
    /// Number of messages.
    pub message_count: u64,
    /// Text of the first user message.
    pub first_message: String,
    /// The session's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Path of the session that it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
}

/// Parameters of `setLabel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetLabelParams {
    /// The session.
    pub session_id: String,
    /// The entry that gets the label.
    pub target_id: String,
    /// The label; null clears it.
    pub label: Option<String>,
}

impl SetLabelParams {
    /// Takes the required members.
    #[must_use]
    pub fn new(session_id: impl Into<String>, target_id: impl Into<String>, label: Option<String>) -> Self {
        Self { session_id: session_id.into(), target_id: target_id.into(), label }
    }
}

/// Parameters of `setSessionName`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetSessionNameParams {
    /// The session.
    pub session_id: String,
    /// The name; empty clears it.
    pub name: String,
}

impl SetSessionNameParams {
    /// Takes the required members.
    #[must_use]
    pub fn new(session_id: impl Into<String>, name: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), name: name.into() }
    }
}

/// An operation that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedResult {
    /// Names the operation in notifications.
    pub operation_id: String,
}

/// How a model is asked for a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SummarizeMode {
    /// By a prompt that holds the conversation as a text.
    #[serde(rename = "transcript")]
    Transcript,
    /// By the conversation itself, as its model was last sent it, and one more message. What the provider
    /// still
    /// has of that conversation in its cache costs a part of the price.
    #[serde(rename = "continue")]
    Continue,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl SummarizeMode {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Transcript => "transcript",
            Self::Continue => "continue",
            Self::Other(text) => text,
        }
    }
}

/// Parameters of `summarize`: a request for the client's own model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarizeParams {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What the summary is about.
    pub kind: RequestKind,
    /// The system prompt; empty with `mode: "continue"`, where it is the conversation's own.
    pub system_prompt: String,
    /// The prompt; with `mode: "continue"` the user message that comes last.
    pub prompt: String,
    /// Output tokens at most.
    pub max_tokens: u64,
    /// With `mode: "continue"`: what is to be sent before `prompt`, as in the conversation's own requests,
    /// with
    /// their prompt and tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ContinuedConversation>,
    /// How the model is to be asked: `transcript` where absent. `continue` comes only to clients that name
    /// it in
    /// `initialize`, and is followed by a request without it if the answer is an error or no summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<SummarizeMode>,
}

/// The client's answer to `summarize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarizeResult {
    /// The summary.
    pub text: String,
    /// Why the model stopped: stop, length, toolUse, error or aborted.
    pub stop_reason: String,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl SummarizeResult {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(text: impl Into<String>, stop_reason: impl Into<String>) -> Self {
        Self { text: text.into(), stop_reason: stop_reason.into(), usage: None }
    }
}

/// A summarizer, or several in the order in which they are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SummarizerChoice {
    /// The name of one.
    Text(String),
    /// The names of several.
    List(Vec<String>),
}

impl From<&str> for SummarizerChoice {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for SummarizerChoice {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A summarizer that was asked in vain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarizerFailure {
    /// Its name.
    pub summarizer: String,
    /// The kind of the error: `summarizerFailed` or `summaryRejected`.
    pub kind: String,
    /// What went wrong, for a person.
    pub cause: String,
    /// Requests that were made.
    pub attempts: u64,
}

/// A request to a summarizer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// How the summary of a compaction was asked for, and what either way takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryRequestReport {
    /// What the summary is about.
    pub kind: RequestKind,
    /// How the model was asked that wrote it.
    pub mode: SummarizeMode,
    /// Input tokens that were read from the provider's cache, where the model told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// What continuing the conversation takes, if the provider has all of it in its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued: Option<RequestEstimate>,
    /// What all requests for this summary cost at list prices, in US dollars; absent where the model's
    /// usage or its
    /// price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Why the conversation was not continued, or why its summary was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_continued: Option<NotContinued>,
    /// What asking by transcripts takes; absent if no transcript fits the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<RequestEstimate>,
}

/// Totals of tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenTotals {
    /// Input that came from no cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// All of it.
    pub total: u64,
}

/// One entry of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// The entry.
    pub id: String,
    /// The entry before it, as stored.
    pub parent_id: Option<String>,
    /// Type of the entry.
    pub r#type: String,
    /// The start of its text, on one line.
    pub preview: String,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// Entries that follow it, oldest first.
    pub children: Vec<String>,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Role of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// A navigation that would happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// A label for the summary or the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether `customInstructions` stand in place of the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_instructions: Option<bool>,
}

/// Parameters of `undoCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoCompactionParams {
    /// The session.
    pub session_id: String,
    /// A compaction on the current path; the last one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
}

impl UndoCompactionParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), entry_id: None }
    }
}

/// Result of `undoCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoCompactionResult {
    /// The leaf afterwards: the last copy, or the mark that keeps the move where nothing followed the
    /// compaction.
    pub leaf_id: String,
    /// The leaf before.
    pub old_leaf_id: String,
    /// The compaction that was undone.
    pub undone_entry_id: String,
    /// The entries that followed the compaction, oldest first, each with its copy.
    pub replayed: Vec<ReplayedEntry>,
}

/// Parameters of `updateSettings`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSettingsParams {
    /// Compacts that session by itself for this model from now on; null ends it.
    #[serde(deserialize_with = "present", default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<Option<AutoCompactionOptions>>,
    /// The session that `autoCompaction` is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Settings over all those in force: objects merge, other values replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
}

/// Result of `updateSettings`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSettingsResult {
    /// The settings in force now.
    pub settings: FreeObject,
    /// Settings files that cannot be used as they are.
    pub diagnostics: Vec<String>,
}

/// Tokens and cost of a model call, as the session file stores them. Unknown members are carried
/// through.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Member `cacheRead`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Member `cacheWrite`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Numbers, by part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Value>,
    /// Member `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// Member `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
    /// Member `totalTokens`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<f64>,
    /// Members that the protocol does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A model of which only the window matters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowModel {
    /// Size of the window in tokens.
    pub context_window: u64,
}

impl WindowModel {
    /// Takes the required members.
    #[must_use]
    pub fn new(context_window: u64) -> Self {
        Self { context_window }
    }
}

/// The kinds of errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The message is not JSON; reading goes on at the next frame.
    #[serde(rename = "parseError")]
    ParseError,
    /// The message is JSON, but no request, or it is over the size limit.
    #[serde(rename = "invalidRequest")]
    InvalidRequest,
    /// There is no such method.
    #[serde(rename = "methodNotFound")]
    MethodNotFound,
    /// A parameter is missing or wrong; `path` and `expected` say which and how.
    #[serde(rename = "invalidParams")]
    InvalidParams,
    /// A defect of the server, an unreadable file, or a stored entry whose line is broken (`entryId`,
    /// `line`); the server goes on.
    #[serde(rename = "internalError")]
    InternalError,
    /// The first request must be `initialize`.
    #[serde(rename = "notInitialized")]
    NotInitialized,
    /// The request was cancelled.
    #[serde(rename = "requestCancelled")]
    RequestCancelled,
    /// No open session has this id, or no session is at this path.
    #[serde(rename = "sessionNotFound")]
    SessionNotFound,
    /// The session has no entry with this id.
    #[serde(rename = "entryNotFound")]
    EntryNotFound,
    /// Another process has the session open for writing; `pid` and `host` say which, if known.
    #[serde(rename = "sessionLocked")]
    SessionLocked,
    /// The file is no session; it was left untouched. `detail` says why.
    #[serde(rename = "notASession")]
    NotASession,
    /// Writing failed, or the file exists; nothing was changed.
    #[serde(rename = "writeFailed")]
    WriteFailed,
    /// The leaf is not the expected one; `expectedLeafId` and `leafId` say which. With `toolCallId`: the
    /// result of a call that a compaction was to summarise came meanwhile.
    #[serde(rename = "leafMoved")]
    LeafMoved,
    /// The session is open for reading alone.
    #[serde(rename = "readOnly")]
    ReadOnly,
    /// Too many requests wait; send fewer at once.
    #[serde(rename = "serverBusy")]
    ServerBusy,
    /// Another session has the same id; `path` says which, if it has a file.
    #[serde(rename = "sessionIdInUse")]
    SessionIdInUse,
    /// Everything would be kept, also because the result of `toolCallId` has not come, or compacting did
    /// not help; `reason` and the numbers say why.
    #[serde(rename = "nothingToCompact")]
    NothingToCompact,
    /// Nothing that the model sees follows the last compaction.
    #[serde(rename = "alreadyCompacted")]
    AlreadyCompacted,
    /// A compaction, navigation or fork runs on the session; `operationId` says which.
    #[serde(rename = "operationInProgress")]
    OperationInProgress,
    /// The summarizer failed: `cause`, `attempts`.
    #[serde(rename = "summarizerFailed")]
    SummarizerFailed,
    /// The summary is empty, cut off, or lacks what it must hold: `detail`; or it is not smaller (`reason`
    /// is `notSmaller`).
    #[serde(rename = "summaryRejected")]
    SummaryRejected,
    /// A hook of the client cancelled the operation.
    #[serde(rename = "cancelledByHook")]
    CancelledByHook,
    /// A hook of the client gave a wrong result.
    #[serde(rename = "invalidHookResult")]
    InvalidHookResult,
    /// The pinned entries would take too many tokens; `tokens`, `entryTokens`, `maxTokens` and `pins` say
    /// how many.
    #[serde(rename = "pinBudgetExceeded")]
    PinBudgetExceeded,
    /// A setting is wrong; `path` says which.
    #[serde(rename = "invalidSettings")]
    InvalidSettings,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl ErrorKind {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::ParseError => "parseError",
            Self::InvalidRequest => "invalidRequest",
            Self::MethodNotFound => "methodNotFound",
            Self::InvalidParams => "invalidParams",
            Self::InternalError => "internalError",
            Self::NotInitialized => "notInitialized",
            Self::RequestCancelled => "requestCancelled",
            Self::SessionNotFound => "sessionNotFound",
            Self::EntryNotFound => "entryNotFound",
            Self::SessionLocked => "sessionLocked",
            Self::NotASession => "notASession",
            Self::WriteFailed => "writeFailed",
            Self::LeafMoved => "leafMoved",
            Self::ReadOnly => "readOnly",
            Self::ServerBusy => "serverBusy",
            Self::SessionIdInUse => "sessionIdInUse",
            Self::NothingToCompact => "nothingToCompact",
            Self::AlreadyCompacted => "alreadyCompacted",
            Self::OperationInProgress => "operationInProgress",
            Self::SummarizerFailed => "summarizerFailed",
            Self::SummaryRejected => "summaryRejected",
            Self::CancelledByHook => "cancelledByHook",
            Self::InvalidHookResult => "invalidHookResult",
            Self::PinBudgetExceeded => "pinBudgetExceeded",
            Self::InvalidSettings => "invalidSettings",
            Self::Other(text) => text,
        }
    }
}

impl ErrorKind {
    /// The code of errors of this kind; `None` for an unknown kind.
    pub fn code(&self) -> Option<i32> {
        Some(match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::InternalError => -32603,
            Self::NotInitialized => -32002,
            Self::RequestCancelled => -32800,
            Self::SessionNotFound => 1001,
            Self::EntryNotFound => 1002,
            Self::SessionLocked => 1003,
            Self::NotASession => 1004,
            Self::WriteFailed => 1005,
            Self::LeafMoved => 1006,
            Self::ReadOnly => 1007,
            Self::ServerBusy => 1008,
            Self::SessionIdInUse => 1009,
            Self::NothingToCompact => 1101,
            Self::AlreadyCompacted => 1102,
            Self::OperationInProgress => 1103,
            Self::SummarizerFailed => 1104,
            Self::SummaryRejected => 1105,
            Self::CancelledByHook => 1106,
            Self::InvalidHookResult => 1107,
            Self::PinBudgetExceeded => 1108,
            Self::InvalidSettings => 1201,
            Self::Other(_) => return None,
        })
    }

    /// The kind of errors with this code.
    pub fn of_code(code: i32) -> Option<Self> {
        Some(match code {
            -32700 => Self::ParseError,
            -32600 => Self::InvalidRequest,
            -32601 => Self::MethodNotFound,
            -32602 => Self::InvalidParams,
            -32603 => Self::InternalError,
            -32002 => Self::NotInitialized,
            -32800 => Self::RequestCancelled,
            1001 => Self::SessionNotFound,
            1002 => Self::EntryNotFound,
            1003 => Self::SessionLocked,
            1004 => Self::NotASession,
            1005 => Self::WriteFailed,
            1006 => Self::LeafMoved,
            1007 => Self::ReadOnly,
            1008 => Self::ServerBusy,
            1009 => Self::SessionIdInUse,
            1101 => Self::NothingToCompact,
            1102 => Self::AlreadyCompacted,
            1103 => Self::OperationInProgress,
            1104 => Self::SummarizerFailed,
            1105 => Self::SummaryRejected,
            1106 => Self::CancelledByHook,
            1107 => Self::InvalidHookResult,
            1108 => Self::PinBudgetExceeded,
            1201 => Self::InvalidSettings,
            _ => return None,
        })
    }
}

/// One function for each method. They fail as [`Server::request`] does, and dropping a future cancels its request.
impl Server {
    /// Starts the conversation with the server; the first request.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`], [`ErrorKind::InvalidSettings`].
    pub async fn initialize(&self, params: &InitializeParams) -> Result<InitializeResult, ClientError> {
        self.request("initialize", params).await
    }

    /// Lays settings over those in force, or tells them; switches the automatic compaction of a session.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidSettings`], [`ErrorKind::SessionNotFound`].
    pub async fn update_settings(&self, params: &UpdateSettingsParams) -> Result<UpdateSettingsResult, ClientError> {
        self.request("updateSettings", params).await
    }

    /// Answers at once, before `initialize` too: the server is there.
    pub async fn ping(&self) -> Result<Null, ClientError> {
        self.request("ping", &serde_json::json!({})).await
    }

    /// Tells the open sessions, running operations, memory and versions of the server.
    pub async fn get_status(&self) -> Result<ServerStatus, ClientError> {
        self.request("getStatus", &serde_json::json!({})).await
    }

    /// The OpenRPC document of this server.
    pub async fn rpc_discover(&self) -> Result<FreeObject, ClientError> {
        self.request("rpc.discover", &serde_json::json!({})).await
    }

    /// Creates a session and opens it.
    ///
    /// # Errors
    /// [`ErrorKind::WriteFailed`], [`ErrorKind::SessionIdInUse`].
    pub async fn create_session(&self, params: &CreateSessionParams) -> Result<OpenSessionResult, ClientError> {
        self.request("createSession", params).await
    }

    /// Opens a session file.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::SessionLocked`], [`ErrorKind::NotASession`],
    /// [`ErrorKind::SessionIdInUse`].
    pub async fn open_session(&self, params: &OpenSessionParams) -> Result<OpenSessionResult, ClientError> {
        self.request("openSession", params).await
    }

    /// Opens the most recent session of a working directory.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::SessionLocked`], [`ErrorKind::NotASession`],
    /// [`ErrorKind::SessionIdInUse`].
    pub async fn continue_session(&self, params: &ContinueSessionParams) -> Result<OpenSessionResult, ClientError> {
        self.request("continueSession", params).await
    }

    /// Flushes a session and frees its lock.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::WriteFailed`].
    pub async fn close_session(&self, params: &SessionParams) -> Result<Null, ClientError> {
        self.request("closeSession", params).await
    }

    /// Lists sessions, newest activity first.
    pub async fn list_sessions(&self, params: &ListSessionsParams) -> Result<ListSessionsResult, ClientError> {
        self.request("listSessions", params).await
    }

    /// Names a session.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::WriteFailed`], [`ErrorKind::ReadOnly`].
    pub async fn set_session_name(&self, params: &SetSessionNameParams) -> Result<AppendedResult, ClientError> {
        self.request("setSessionName", params).await
    }

    /// Counts messages, tokens and cost of a session.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn get_session_stats(&self, params: &SessionParams) -> Result<SessionStats, ClientError> {
        self.request("getSessionStats", params).await
    }

    /// Reads every body of a session and tells what is odd.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::NotASession`].
    pub async fn check_session(&self, params: &CheckSessionParams) -> Result<CheckSessionResult, ClientError> {
        self.request("checkSession", params).await
    }

    /// Appends a message at the leaf.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::WriteFailed`], [`ErrorKind::LeafMoved`],
    /// [`ErrorKind::ReadOnly`].
    pub async fn append_message(&self, params: &AppendMessageParams) -> Result<AppendMessageResult, ClientError> {
        self.request("appendMessage", params).await
    }

    /// Appends messages at the leaf, all of them or none.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::WriteFailed`], [`ErrorKind::LeafMoved`],
    /// [`ErrorKind::ReadOnly`].
    pub async fn append_messages(&self, params: &AppendMessagesParams) -> Result<AppendMessagesResult, ClientError> {
        self.request("appendMessages", params).await
    }

    /// Appends an entry that is no message at the leaf.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::WriteFailed`],
    /// [`ErrorKind::LeafMoved`], [`ErrorKind::ReadOnly`].
    pub async fn append_entry(&self, params: &AppendEntryParams) -> Result<AppendedResult, ClientError> {
        self.request("appendEntry", params).await
    }

    /// Gives one entry.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_entry(&self, params: &EntryParams) -> Result<GetEntryResult, ClientError> {
        self.request("getEntry", params).await
    }

    /// Gives entries in file order.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_entries(&self, params: &GetEntriesParams) -> Result<EntriesResult, ClientError> {
        self.request("getEntries", params).await
    }

    /// Gives the entries from the root to a leaf.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_branch(&self, params: &GetBranchParams) -> Result<EntriesResult, ClientError> {
        self.request("getBranch", params).await
    }

    /// Gives the tree as a flat list.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn get_tree(&self, params: &SessionParams) -> Result<GetTreeResult, ClientError> {
        self.request("getTree", params).await
    }

    /// Finds entries by their text, also those that compactions took out of the context.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn search_session(&self, params: &SearchSessionParams) -> Result<SearchSessionResult, ClientError> {
        self.request("searchSession", params).await
    }

    /// Gives back what compactions took out of the context, what answers a question best first.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn recall(&self, params: &RecallParams) -> Result<RecallResult, ClientError> {
        self.request("recall", params).await
    }

    /// Sets or clears the label of an entry.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::WriteFailed`],
    /// [`ErrorKind::ReadOnly`].
    pub async fn set_label(&self, params: &SetLabelParams) -> Result<AppendedResult, ClientError> {
        self.request("setLabel", params).await
    }

    /// Gives what the model sees.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_context(&self, params: &GetContextParams) -> Result<GetContextResult, ClientError> {
        self.request("getContext", params).await
    }

    /// Tells how full a window is.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn get_context_usage(&self, params: &GetContextUsageParams) -> Result<ContextUsage, ClientError> {
        self.request("getContextUsage", params).await
    }

    /// Estimates the tokens of messages or of a text.
    pub async fn estimate_tokens(&self, params: &EstimateTokensParams) -> Result<EstimateTokensResult, ClientError> {
        self.request("estimateTokens", params).await
    }

    /// Gives messages as the text that a summarizer reads.
    pub async fn serialize_conversation(
        &self,
        params: &SerializeConversationParams,
    ) -> Result<SerializeConversationResult, ClientError> {
        self.request("serializeConversation", params).await
    }

    /// Decides whether a compaction is due; changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::InvalidSettings`].
    pub async fn check_compaction(&self, params: &CheckCompactionParams) -> Result<CheckCompactionResult, ClientError> {
        self.request("checkCompaction", params).await
    }

    /// Tells what a compaction would do; changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::SummarizerFailed`],
    /// [`ErrorKind::InvalidSettings`].
    pub async fn prepare_compaction(
        &self,
        params: &PrepareCompactionParams,
    ) -> Result<PrepareCompactionResult, ClientError> {
        self.request("prepareCompaction", params).await
    }

    /// Puts a summary in the place of the older part of the context.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::WriteFailed`],
    /// [`ErrorKind::LeafMoved`], [`ErrorKind::ReadOnly`], [`ErrorKind::NothingToCompact`],
    /// [`ErrorKind::AlreadyCompacted`], [`ErrorKind::OperationInProgress`],
    /// [`ErrorKind::SummarizerFailed`], [`ErrorKind::SummaryRejected`], [`ErrorKind::CancelledByHook`],
    /// [`ErrorKind::InvalidHookResult`], [`ErrorKind::InvalidSettings`].
    pub async fn compact(&self, params: &CompactParams) -> Result<CompactResult, ClientError> {
        self.request("compact", params).await
    }

    /// Compacts messages that the caller owns, without a session or a file.
    ///
    /// # Errors
    /// [`ErrorKind::NothingToCompact`], [`ErrorKind::AlreadyCompacted`], [`ErrorKind::SummarizerFailed`],
    /// [`ErrorKind::SummaryRejected`], [`ErrorKind::CancelledByHook`], [`ErrorKind::InvalidHookResult`],
    /// [`ErrorKind::InvalidSettings`].
    pub async fn compact_messages(&self, params: &CompactMessagesParams) -> Result<CompactMessagesResult, ClientError> {
        self.request("compactMessages", params).await
    }

    /// Ends a running compaction or branch summary.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn abort_compaction(&self, params: &SessionParams) -> Result<AbortResult, ClientError> {
        self.request("abortCompaction", params).await
    }

    /// Brings back the context from before a compaction, with what came later, on a new branch.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::WriteFailed`],
    /// [`ErrorKind::ReadOnly`], [`ErrorKind::OperationInProgress`].
    pub async fn undo_compaction(&self, params: &UndoCompactionParams) -> Result<UndoCompactionResult, ClientError> {
        self.request("undoCompaction", params).await
    }

    /// Pins an entry, so that every compaction keeps it verbatim, or unpins it.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::WriteFailed`],
    /// [`ErrorKind::ReadOnly`], [`ErrorKind::PinBudgetExceeded`].
    pub async fn pin_entry(&self, params: &PinEntryParams) -> Result<PinEntryResult, ClientError> {
        self.request("pinEntry", params).await
    }

    /// Gives the pinned entries of a branch.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_pins(&self, params: &GetPinsParams) -> Result<GetPinsResult, ClientError> {
        self.request("getPins", params).await
    }

    /// Tells what a navigation would do; changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn prepare_navigation(
        &self,
        params: &PrepareNavigationParams,
    ) -> Result<PrepareNavigationResult, ClientError> {
        self.request("prepareNavigation", params).await
    }

    /// Moves the leaf to another place in the tree.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::WriteFailed`],
    /// [`ErrorKind::LeafMoved`], [`ErrorKind::ReadOnly`], [`ErrorKind::OperationInProgress`],
    /// [`ErrorKind::SummarizerFailed`], [`ErrorKind::SummaryRejected`], [`ErrorKind::InvalidHookResult`],
    /// [`ErrorKind::InvalidSettings`].
    pub async fn navigate_tree(&self, params: &NavigateTreeParams) -> Result<NavigateTreeResult, ClientError> {
        self.request("navigateTree", params).await
    }

    /// Copies one branch of a session into a new file and opens it.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::WriteFailed`],
    /// [`ErrorKind::OperationInProgress`], [`ErrorKind::CancelledByHook`],
    /// [`ErrorKind::InvalidHookResult`].
    pub async fn fork_session(&self, params: &ForkSessionParams) -> Result<OpenSessionResult, ClientError> {
        self.request("forkSession", params).await
    }
}

/// A notification of the server, typed by its method.
#[derive(Debug, Clone)]
pub enum Event {
    /// An entry was written, whoever caused it.
    EntryAppended(Box<EntryAppended>),
    /// Another program added entries to the file.
    SessionChanged(Box<SessionChanged>),
    /// A part of a request was passed over; the request is served all the same.
    Diagnostic(Box<RequestDiagnostic>),
    /// A navigation moved the leaf.
    LeafChanged(Box<LeafChanged>),
    /// A compaction started.
    CompactionStart(Box<CompactionStart>),
    /// A compaction goes on.
    CompactionProgress(Box<OperationProgress>),
    /// A compaction ended; exactly one for every start.
    CompactionEnd(Box<CompactionEnd>),
    /// A branch summary started.
    BranchSummaryStart(Box<BranchSummaryStart>),
    /// A branch summary goes on.
    BranchSummaryProgress(Box<OperationProgress>),
    /// A branch summary ended; exactly one for every start.
    BranchSummaryEnd(Box<BranchSummaryEnd>),
    /// A value that only a newer server has.
    Other(Notification),
}

impl TryFrom<Notification> for Event {
    type Error = ClientError;

    fn try_from(notification: Notification) -> Result<Self, ClientError> {
        Ok(match notification.method.as_str() {
            "entryAppended" => Self::EntryAppended(Box::new(notification.parse()?)),
            "sessionChanged" => Self::SessionChanged(Box::new(notification.parse()?)),
            "diagnostic" => Self::Diagnostic(Box::new(notification.parse()?)),
            "leafChanged" => Self::LeafChanged(Box::new(notification.parse()?)),
            "compactionStart" => Self::CompactionStart(Box::new(notification.parse()?)),
            "compactionProgress" => Self::CompactionProgress(Box::new(notification.parse()?)),
            "compactionEnd" => Self::CompactionEnd(Box::new(notification.parse()?)),
            "branchSummaryStart" => Self::BranchSummaryStart(Box::new(notification.parse()?)),
            "branchSummaryProgress" => Self::BranchSummaryProgress(Box::new(notification.parse()?)),
            "branchSummaryEnd" => Self::BranchSummaryEnd(Box::new(notification.parse()?)),
            _ => Self::Other(notification),
        })
    }
}

/// Answers the requests of the server, typed by their method.
///
/// The capabilities of `initialize` say which methods the client answers. The other functions can be left out.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// The client's own model writes a summary; needs `capabilities.summarize`.
    async fn summarize(&self, params: SummarizeParams) -> Result<SummarizeResult, RpcError> {
        drop(params);
        Err(unanswered("summarize"))
    }

    /// A hook before a compaction: cancel it, give the summary, or let it go on.
    async fn session_before_compact(
        &self,
        params: SessionBeforeCompact,
    ) -> Result<Option<SessionBeforeCompactResult>, RpcError> {
        drop(params);
        Err(unanswered("sessionBeforeCompact"))
    }

    /// A hook before a navigation: cancel it, give summary, instructions or label, or let it go on.
    async fn session_before_tree(
        &self,
        params: SessionBeforeTree,
    ) -> Result<Option<SessionBeforeTreeResult>, RpcError> {
        drop(params);
        Err(unanswered("sessionBeforeTree"))
    }

    /// A hook before a fork: cancel it, or let it go on.
    async fn session_before_fork(&self, params: SessionBeforeFork) -> Result<Option<CancelResult>, RpcError> {
        drop(params);
        Err(unanswered("sessionBeforeFork"))
    }
}

/// Passes a request of the server to its hook.
pub(crate) async fn answer(hooks: &dyn Hooks, method: &str, params: &RawValue) -> Result<Value, RpcError> {
    match method {
        "summarize" => answered(&hooks.summarize(parameters(params)?).await?),
        "sessionBeforeCompact" => answered(&hooks.session_before_compact(parameters(params)?).await?),
        "sessionBeforeTree" => answered(&hooks.session_before_tree(parameters(params)?).await?),
        "sessionBeforeFork" => answered(&hooks.session_before_fork(parameters(params)?).await?),
        _ => Err(unanswered(method)),
    }
}
