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
    /// The entry to append.
    pub entry: NewEntry,
    /// The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
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
    /// The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_leaf_id: Option<String>,
    /// Format of the message. Default: `pi`.
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
    /// The new entry, or the last one if the message became several.
    pub entry_id: String,
    /// The new leaf.
    pub leaf_id: String,
    /// The compaction that the server has begun because of this message, or why it has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<AutomaticCompaction>,
    /// Usage of the context, if the session's model is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
    /// The new entries, if the message became several: an entry holds one tool result.
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
    /// The leaf that the caller expects. If the leaf is another one, the call fails with `leafMoved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_leaf_id: Option<String>,
    /// Format of the messages. Default: `pi`.
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
    /// The new entries, oldest first. One message may become several entries, and several items of one
    /// answer become
    /// one.
    pub entry_ids: Vec<String>,
    /// For each entry the index of its message, or of its first message.
    pub sources: Vec<u64>,
    /// The new leaf.
    pub leaf_id: String,
    /// The compaction that the server has begun because of these messages, or why it has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<AutomaticCompaction>,
    /// Usage of the context, if the session's model is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_usage: Option<ContextUsage>,
}

/// Result of calls that append one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendedResult {
    /// The new entry.
    pub entry_id: String,
    /// The new leaf.
    pub leaf_id: String,
}

/// Automatic compaction of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoCompactionOptions {
    /// The model of the session's requests.
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
    /// Whether to repeat the failed request after the compaction.
    pub will_retry: bool,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// Maximum number of tokens. More make a compaction due.
    pub threshold: u64,
    /// Tool results that were shortened in the context at once. Their entries keep the whole results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<Vec<ClippedResult>>,
    /// Why it could not begin, as in `compactionEnd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// The input. If the provider answered a part of the context: the minimum size of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Maximum that the provider accepts, of input or of input and output together. If the provider
    /// answered a part of
    /// the context: the number of tokens that it read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Id of the operation. `compactionEnd` reports its outcome. With `operationInProgress`, the id of the
    /// running
    /// operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// The requested output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_output_tokens: Option<u64>,
    /// Why nothing is done: `operationInProgress` (checked again when that operation ends),
    /// `failedRepeatedly`,
    /// `undone` (a compaction was undone since the person's last message), `overflowRecoveryTried` (a
    /// `compactionEnd`
    /// explains what a person can do), `outputTooLarge` (the requested output fills the limit, so no
    /// context is small
    /// enough), `otherModel` (another model refused the context), `olderThanCompaction`,
    /// `alreadyCompacted`, or
    /// `disabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// When automatic compaction resumes after several failures in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// `branchSummaryEnd`: exactly one for every `branchSummaryStart`, sent before the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEnd {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// Whether it was cancelled.
    pub aborted: bool,
    /// The error, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// The result, unless it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<NavigationResult>,
}

/// `branchSummaryStart`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// The client's answer to `sessionBeforeFork`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelResult {
    /// Whether to cancel the operation.
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
    /// The assistant message to judge. Default: the last one of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
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
    /// The decision.
    pub action: CompactionAction,
    /// Whether to repeat the failed request after the compaction.
    pub will_retry: bool,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// Tokens above which the threshold is crossed.
    pub threshold: u64,
    /// The input. If the provider answered a part of the context: the minimum size of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of recent context that a compaction would keep verbatim, adapted to the window. Absent if the
    /// window is
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// Maximum that the provider accepts, of input or of input and output together. If the provider
    /// answered a part of
    /// the context: the number of tokens that it read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CompactionReason>,
    /// The requested output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_output_tokens: Option<u64>,
    /// Tokens of the window that stay free, adapted to the window. Absent if the window is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve_tokens: Option<u64>,
    /// Why nothing is done although something might seem due: one of the values of `skipped` in
    /// `appendMessage`, or
    /// `unknownWindow`, `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// Parameters of `checkSession`. Either `sessionId` or `path` is required.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckSessionParams {
    /// Path of a file. Ignored if a session is named.
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
    /// Problems in the file, including those in bodies.
    pub diagnostics: Vec<Diagnostic>,
}

/// Requests that a client answers, and notifications that it wants.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// The client wants whole entries in `entryAppended`, not only `type`, `id`, `parentId` and
    /// `timestamp`. Default:
    /// true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_bodies: Option<bool>,
    /// Names of the hooks that the client answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Vec<String>>,
    /// The client wants `details.compactd.ledger` in the results of compactions. Default: true. The stored
    /// entry always
    /// has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledgers: Option<bool>,
    /// The client wants progress notifications. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<bool>,
    /// The client answers `summarize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<bool>,
    /// Modes of `summarize` that the client answers: `transcript` always, `continue` if it is listed here.
    /// A client
    /// that continues must be able to repeat the conversation as in its last request, with the same model,
    /// prompt and
    /// tools.
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

/// A tool result that was shortened in the context because it is larger than the room in the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClippedResult {
    /// The entry of the result. It keeps the whole result.
    pub entry_id: String,
    /// Its tokens before.
    pub tokens_before: u64,
    /// Its tokens after.
    pub tokens_after: u64,
}

/// Parameters of `compactMessages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactMessagesParams {
    /// The whole context, oldest message first; at most 10000. With `previous`: the messages of the result
    /// that
    /// contained it, and the later ones.
    pub messages: Vec<AnyMessage>,
    /// Whether to accept a summary that is not smaller than what it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Format of the messages. Default: `pi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MessageFormat>,
    /// What the summary should focus on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The model for which the messages are. The new context, with leading instructions, leaves room for
    /// its answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// `previous` in the last result for this conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<FreeObject>,
    /// Compaction settings for this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
    /// The summarizer for this call, instead of the configured one, or a list: if one fails, the next one
    /// is asked.
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
    /// The messages of the new context: leading instructions, the summary, and the messages that stay.
    pub messages: Vec<AnyMessage>,
    /// Index in the request of the oldest message that stays.
    pub kept_from: u64,
    /// Opaque value for the next call.
    pub previous: FreeObject,
    /// The compaction. Its entry ids are those of a copy that ended with the call.
    pub report: CompactionResult,
    /// Instructions from between the messages, for interfaces that take them separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// Parameters of `compact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactParams {
    /// The session.
    pub session_id: String,
    /// Whether to write the compaction (true, the default). If false, a copy in memory is compacted and the
    /// session
    /// does not change. `firstKeptEntryId` and `details` contain entry ids of the session; `entryId` names
    /// no entry.
    /// The notifications contain a session id of the copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<bool>,
    /// What the summary should focus on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// The oldest entry to keep verbatim, instead of the one that follows from the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<String>,
    /// Whether to accept a summary that is not smaller than what it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
    /// The summarizer for this call, instead of the configured one, or a list: if one fails, the next one
    /// is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<SummarizerChoice>,
    /// A summary that the client wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<GivenSummary>,
    /// Whether to answer when the compaction is finished (true, the default) or at once.
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

/// Result of `compact`. With `wait: false` it contains only `operationId`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CompactResult {
    /// The compaction is finished.
    CompactionResult(Box<CompactionResult>),
    /// The compaction is running. `compactionEnd` reports its outcome.
    StartedResult(Box<StartedResult>),
}

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompactionAction {
    /// Do nothing.
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
    /// Id of the operation.
    pub operation_id: String,
    /// The reason.
    pub reason: CompactionReason,
    /// Whether it was cancelled.
    pub aborted: bool,
    /// Whether to repeat the failed request.
    pub will_retry: bool,
    /// Tool results that were shortened in the context, if that was enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<Vec<ClippedResult>>,
    /// The error, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// When automatic compaction resumes after several failures in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// The result. Absent if it failed, or if shortening tool results was enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<CompactionResult>,
    /// Present and true if the server began the compaction and the context ends with a tool result or an
    /// answer that
    /// was cut off. The agent has work left, and the host must resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<bool>,
}

/// Why a compaction happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompactionReason {
    /// A person or a program asked for it.
    #[serde(rename = "manual")]
    Manual,
    /// The context came near the limit of the window.
    #[serde(rename = "threshold")]
    Threshold,
    /// The provider refused the context as too large.
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

/// A finished compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    /// The compaction entry.
    pub entry_id: String,
    /// Its summary. Without a model, the whole summary (text, context of a split turn, lists of files)
    /// stays within 0.8
    /// of `reserveTokens`. With a model, the request limits the text. Lists of files after it take at most
    /// a tenth of
    /// `reserveTokens`. Facts that it lacks take at most a tenth of its own tokens, or fill it up to 1,000
    /// tokens.
    pub summary: String,
    /// The oldest entry that stays verbatim.
    pub first_kept_entry_id: String,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Estimated tokens of the context after. No provider has counted them yet.
    pub tokens_after: u64,
    /// Tokens of the context before, estimated in the same way as `tokensAfter`. `tokensBefore` is the
    /// provider's count
    /// if there is one.
    pub estimated_tokens_before: u64,
    /// The entry's `details`. `readFiles` and `modifiedFiles` contain at most 2,000 files together, with at
    /// most 256
    /// KiB of paths: modified files before files that were only read, and recently used files first.
    /// `compactd.filesLeftOut` counts the others, if there are any. A file that was left out and is used
    /// again counts
    /// again.
    pub details: FreeObject,
    /// Whether a hook or the client provided the summary.
    pub from_hook: bool,
    /// Name of the summarizer that wrote the summary.
    pub summarizer: String,
    /// Number of requests, including failed ones.
    pub attempts: u64,
    /// One or two sentences for a user interface.
    pub brief: String,
    /// The shares that are kept, by class.
    pub retention: Retention,
    /// The shares that the summary contained before missing facts were added.
    pub retention_before_repair: Retention,
    /// One number for the retention, from 0 to 1: the weighted mean of the classes that have something to
    /// keep.
    /// Weights: statements 4, requests 3, errors and constraints 1, files 0.5, identifiers 0.25.
    pub score: f64,
    /// What the summary itself lacked, and what it claims without support.
    pub loss_report: LossReport,
    /// Summarizers that were asked earlier, and why they failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Vec<SummarizerFailure>>,
    /// Number of secrets that were removed from the requests and the answers, by rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redactions: Option<BTreeMap<String, u64>>,
    /// How each part of the summary was requested, and what either way costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_requests: Option<Vec<SummaryRequestReport>>,
    /// Usage of the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<FreeObject>,
}

/// Settings that determined a preparation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSettings {
    /// Whether automatic compaction is enabled.
    pub enabled: bool,
    /// Tokens of the window that stay free.
    pub reserve_tokens: u64,
    /// Tokens of recent context that stay verbatim.
    pub keep_recent_tokens: u64,
    /// Percentage of the window above which compaction is due, if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_percent: Option<u64>,
}

/// `compactionStart`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Format of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContextFormat {
    /// Stored roles, and synthetic `compactionSummary`, `branchSummary` and `custom` messages.
    #[serde(rename = "agent")]
    Agent,
    /// Only user, assistant and toolResult, ready to send to a model. Failed and aborted answers are left
    /// out with the
    /// results of their calls, and each call is directly followed by its result. Calls of the last answer
    /// may have no
    /// result yet.
    #[serde(rename = "llm")]
    Llm,
    /// As `llm`, in the format of OpenAI's chat completions, including system messages. This and the
    /// following formats
    /// return an appended message of the same format unchanged.
    #[serde(rename = "openai")]
    Openai,
    /// Items for OpenAI's `responses`.
    #[serde(rename = "openai-responses")]
    OpenaiResponses,
    /// `messages` for Anthropic. The instructions are in `system`.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// `contents` for Gemini. The instructions are in `system`.
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
    /// The total.
    pub tokens: u64,
    /// Tokens of the last reliable usage.
    pub usage_tokens: u64,
    /// Estimated tokens of the messages after it.
    pub trailing_tokens: u64,
}

/// How full a window is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Tokens of the context. Null between a compaction and the first answer after it.
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
    /// Switches automatic compaction on, for this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<AutoCompactionOptions>,
    /// Working directory whose most recent session is opened. Default: that of `initialize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The part of a conversation that is continued to get its summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinuedConversation {
    /// Its last entry.
    pub last_entry_id: String,
    /// Number of messages: the first ones of `getContext` in `llm` format. It never ends between an answer
    /// with tool
    /// calls and their results.
    pub messages: u64,
    /// The oldest entry that the compaction keeps.
    pub first_kept_entry_id: String,
}

/// Parameters of `createSession`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateSessionParams {
    /// Switches automatic compaction on, for this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<AutoCompactionOptions>,
    /// Working directory of the session. Default: that of `initialize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whether to keep the session in memory only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
    /// Format of the messages. Default: `pi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MessageFormat>,
    /// The first messages of the session, oldest first; at most 10000. They cause no `entryAppended`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<AnyMessage>>,
    /// Name of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Path of the session that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Path of the file, instead of a generated one. It must not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A flat directory for the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_dir: Option<String>,
    /// Id of the session, instead of a generated one: letters, digits and, not at the ends, `.`, `_` and
    /// `-`; at most
    /// 128. The id of an open session, or of another session of the directory, is refused (1009).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// A problem in a session. Reading continued after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The kind of the problem.
    pub kind: String,
    /// Message for a person.
    pub message: String,
    /// Line of the file, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The kind of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiagnosticKind {
    /// A member that the method does not have.
    #[serde(rename = "unknownMember")]
    UnknownMember,
    /// A setting that does not exist.
    #[serde(rename = "unknownSetting")]
    UnknownSetting,
    /// The file of a subscription was truncated, rewritten, or replaced by another one.
    #[serde(rename = "sessionReplaced")]
    SessionReplaced,
    /// The file of a subscription was deleted.
    #[serde(rename = "sessionDeleted")]
    SessionDeleted,
    /// The file of a subscription cannot be read.
    #[serde(rename = "sessionUnreadable")]
    SessionUnreadable,
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
            Self::SessionReplaced => "sessionReplaced",
            Self::SessionDeleted => "sessionDeleted",
            Self::SessionUnreadable => "sessionUnreadable",
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
    /// Present if there are more entries, in `getEntries` with a `limit`.
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

/// `entryAppended`: an entry was written by a call, or, in a session with a subscription, by another
/// program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryAppended {
    /// The session.
    pub session_id: String,
    /// The entry.
    pub entry: Entry,
}

/// Parameters of calls for one entry.
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

/// An error, as in a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// Code of the error.
    pub code: i64,
    /// Message for a person.
    pub message: String,
    /// `kind`, `reason` and `retryable`, and the ids and numbers that a caller needs.
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
    /// Format of the messages. Default: `pi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<MessageFormat>,
    /// Messages, as stored, in LLM format, or in the format that `format` names; at most 10000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<AnyMessage>>,
    /// A text. Ignored if there are messages.
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

/// Paths by operation, sorted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileOperations {
    /// Files that were read.
    pub read: Vec<String>,
    /// Files that were written as a whole.
    pub written: Vec<String>,
    /// Files that were edited.
    pub edited: Vec<String>,
}

/// What a compaction would keep, as far as it is known before the summary is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// The minimum that any summary keeps after its repair.
    pub retention: Retention,
    /// One number for it, from 0 to 1.
    pub score: f64,
}

/// Where a fork ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForkPosition {
    /// Before the entry. The text of a message goes back into the editor.
    #[serde(rename = "before")]
    Before,
    /// At the entry, which becomes part of the fork.
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
    /// Whether the fork ends before or at the entry. Default: before.
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
    /// The leaf of the branch. Default: the current leaf.
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
    /// The last entry of the context that the caller already has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Format of the messages. Default: `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ContextFormat>,
    /// The leaf of the branch. Default: the current leaf.
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
    /// The leaf of the branch.
    pub leaf_id: Option<String>,
    /// The thinking level at the leaf.
    pub thinking_level: String,
    /// The model at the leaf.
    pub model: Option<ModelName>,
    /// Tokens of the whole context.
    pub tokens: ContextTokens,
    /// With `after`: whether `messages` holds only what follows that entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<bool>,
    /// Problems: unknown first kept entries, broken bodies, results without calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Vec<Diagnostic>>,
    /// The instructions, for interfaces that take them separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// Parameters of `getContextUsage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetContextUsageParams {
    /// The session.
    pub session_id: String,
    /// The model whose window is used.
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
    /// `nextCursor` of the previous page, or the id of any entry. Default: the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Ids of the wanted entries, at most 1000. The result has their order, and the other parameters are
    /// ignored.
    /// Repeated entries may hold 8 MiB together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Maximum number of entries. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Deprecated since 1.1 in favour of `cursor`, which takes precedence: the entry after which to start.
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
    /// The leaf of a branch. Default: the current leaf.
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
    /// Their tokens together.
    pub tokens: u64,
    /// Maximum number of their tokens.
    pub max_tokens: u64,
}

/// Result of `getTree`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTreeResult {
    /// The current leaf.
    pub leaf_id: Option<String>,
    /// All entries in file order. The list is flat, so its depth has no limit.
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
    /// Usage of the summary.
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
    /// The oldest entry to keep verbatim. Default: that of the preparation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<String>,
    /// Tokens of the context before. Used only in answers to hooks; otherwise they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Usage of the summary.
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
    /// Agent directory. Default: `$PI_CODING_AGENT_DIR`, then `~/.pi/agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_dir: Option<String>,
    /// Requests that the client answers, and notifications that it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<ClientCapabilities>,
    /// Working directory of sessions that name none. Default: that of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Settings that the settings files override. A host whose model shall write the summaries where a
    /// person has not
    /// chosen gives `{"compactd": {"summarizer": ["host", "extractive"]}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_settings: Option<FreeObject>,
    /// Process id of the parent. The server ends when the parent dies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u64>,
    /// A flat directory of sessions, instead of one per working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_dir: Option<String>,
    /// Settings that override the settings files.
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
            default_settings: None,
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
    /// Version of the protocol: 1.
    pub protocol_version: u64,
    /// Minor version of the protocol: 1. Each minor version serves clients of the earlier ones. 1.0 does
    /// not have this
    /// member.
    pub protocol_minor_version: u64,
    /// Maximum number of bytes of a message of the client, without its framing. A longer one is refused
    /// unread, with an
    /// error whose id is null. 1.0 does not have this member.
    pub max_message_bytes: u64,
    /// Who the server is.
    pub server_info: ServerInfo,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// The current settings: defaults, files and `initialize.settings` merged.
    pub settings: FreeObject,
    /// Settings files that could not be read, unknown names, and other problems.
    pub diagnostics: Vec<String>,
}

/// `leafChanged`: a navigation moved the leaf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafChanged {
    /// The session.
    pub session_id: String,
    /// The new leaf.
    pub leaf_id: Option<String>,
    /// The old leaf.
    pub old_leaf_id: Option<String>,
}

/// Parameters of `listSessions`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsParams {
    /// Whether to list the sessions of all working directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Working directory whose sessions are listed. Default: that of `initialize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Maximum number of sessions.
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
    /// Present if there are more sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// What a summary lacks and what is doubtful in it, the most important items first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// Names in the summary that occur in none of its sources: the compacted messages, the previous
    /// summary, the
    /// messages that stay, and the ledgers of earlier compactions. Checked: paths with a file extension or
    /// a root, file
    /// names, identifiers with an underscore or with capital letters after small ones, tickets, error
    /// codes, hashes,
    /// versions with three parts, and numbers with at least three digits and a unit, unless they are marked
    /// as
    /// approximate. Not checked: words, product names, addresses, other numbers, and whether names are
    /// combined
    /// correctly.
    pub unsupported: Vec<String>,
    /// Claims of the summary that contradict known facts. English only, in prose and in lists: that a file
    /// that tools
    /// worked on was or was not changed, that tests, a build, a linter or a quoted command succeed, that
    /// something was
    /// committed or pushed. Wishes, questions and conditions are not claims.
    pub reversed: Vec<ReversedFact>,
}

/// An error that a summary lacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostError {
    /// The line that explains the failure best.
    pub line: String,
    /// Whether the same operation succeeded later.
    pub resolved: bool,
    /// The entries that contain it.
    pub entry_ids: Vec<String>,
    /// The path or command that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// A text that a summary lacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostItem {
    /// The text.
    pub text: String,
    /// The entries that contain it.
    pub entry_ids: Vec<String>,
}

/// Memory use of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryStatus {
    /// Bytes in physical memory. Null if the system does not report them.
    pub resident_bytes: Option<u64>,
    /// Maximum address space of the process in bytes, if it is limited.
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

/// A format of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageFormat {
    /// The format of the session file.
    #[serde(rename = "pi")]
    Pi,
    /// `messages` of OpenAI's chat completions and compatible servers.
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
    /// Model messages of the AI SDK (versions 5 to 7). Its UI messages are accepted too.
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
    /// Maximum output that is requested of the model, in tokens. If an answer stops for its length before
    /// that, the
    /// server compacts and the request can be repeated, once.
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

/// A model, in the form of entries.
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
    /// What the summary should focus on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// A label for the summary, or for the target if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether `customInstructions` replace the default ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_instructions: Option<bool>,
    /// Whether to summarise the abandoned branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<bool>,
    /// The summarizer for this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<SummarizerChoice>,
    /// A summary that the client wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<GivenBranchSummary>,
    /// Whether to answer when the navigation is finished (true, the default) or at once.
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

/// Result of `navigateTree`. With `wait: false` it contains only `operationId`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NavigateTreeResult {
    /// The navigation is finished.
    NavigationResult(Box<NavigationResult>),
    /// The navigation is running. `branchSummaryEnd` reports its outcome.
    StartedResult(Box<StartedResult>),
}

/// A finished navigation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NavigationResult {
    /// The new leaf.
    pub leaf_id: Option<String>,
    /// The old leaf.
    pub old_leaf_id: Option<String>,
    /// Whether the navigation was cancelled. The leaf has not moved then.
    pub cancelled: bool,
    /// Whether it was cancelled by aborting its summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<bool>,
    /// The text for the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// The summary of the abandoned branch.
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
    /// The explanation for a person, with numbers.
    pub detail: String,
}

/// Reasons why a conversation is not continued, or why its summary is not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotContinuedReason {
    /// The settings require transcripts.
    #[serde(rename = "settings")]
    Settings,
    /// The summarizer or the client cannot continue conversations.
    #[serde(rename = "notSupported")]
    NotSupported,
    /// Another model or provider held the conversation, and must not see all of it now.
    #[serde(rename = "otherModel")]
    OtherModel,
    /// The conversation was held over another interface of the provider.
    #[serde(rename = "otherInterface")]
    OtherInterface,
    /// The session does not contain prompt and tools, or not as one leading prompt.
    #[serde(rename = "promptUnknown")]
    PromptUnknown,
    /// The request of the last answer did not begin with the whole conversation.
    #[serde(rename = "notSeen")]
    NotSeen,
    /// Conversation, instruction and summary do not fit the window together.
    #[serde(rename = "tooLarge")]
    TooLarge,
    /// The conversation was held with thinking, and the settings of the summarizer do not configure it.
    #[serde(rename = "thinkingUnknown")]
    ThinkingUnknown,
    /// The last answer's usage shows no cache.
    #[serde(rename = "noCache")]
    NoCache,
    /// Its request is too old for the cache.
    #[serde(rename = "cold")]
    Cold,
    /// The provider had nothing in its cache when a conversation was continued earlier.
    #[serde(rename = "missed")]
    Missed,
    /// A transcript is cheaper.
    #[serde(rename = "dearer")]
    Dearer,
    /// The provider or the client refused the request.
    #[serde(rename = "refused")]
    Refused,
    /// The provider refused the request as too large.
    #[serde(rename = "overflow")]
    Overflow,
    /// The provider read only a part of the request.
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
    /// The model stopped for a reason of its provider.
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
    /// Switches automatic compaction on, for this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<AutoCompactionOptions>,
    /// Whether to open it read-only, without a lock.
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
    /// The id in the header. Every later call uses it.
    pub session_id: String,
    /// The first line of the file.
    pub header: Header,
    /// The leaf. Null if the session has no entries.
    pub leaf_id: Option<String>,
    /// Whether the session is read-only.
    pub read_only: bool,
    /// Problems in the file.
    pub diagnostics: Vec<Diagnostic>,
    /// After a fork before a message: the text of the message, for the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// Number of entries, if it is known without reading the whole file.
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
    /// Whether it is read-only.
    pub read_only: bool,
    /// Whether automatic compaction is on.
    pub auto_compaction: bool,
    /// Path of the file; absent for sessions in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A phase of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationPhase {
    /// A summary is being written.
    #[serde(rename = "summarizing")]
    Summarizing,
    /// A request failed and will be repeated.
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
    /// Id of the operation.
    pub operation_id: String,
    /// The current phase.
    pub phase: OperationPhase,
    /// Number of the running request, from 1.
    pub request: u64,
    /// Number of requests.
    pub requests: u64,
    /// Output tokens of this request so far.
    pub output_tokens: u64,
    /// New text of the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<String>,
}

/// A running operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
}

/// Position of a part of the text. A part that crosses the border of two parts of the entry is listed
/// as two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// The part of the entry.
    pub part: PassagePart,
    /// Start in the entry's whole text, in UTF-16 units.
    pub start: u64,
    /// End in the entry's whole text, in UTF-16 units.
    pub end: u64,
    /// Start in `text`, in UTF-16 units.
    pub offset: u64,
    /// Index of the part in the message's content blocks, from 0. Absent if the content is not a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
}

/// A part of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PassagePart {
    /// Text, including that of tool results.
    #[serde(rename = "text")]
    Text,
    /// A tool call: its name and arguments.
    #[serde(rename = "toolCall")]
    ToolCall,
    /// An image, as a placeholder.
    #[serde(rename = "image")]
    Image,
    /// A command that the person ran.
    #[serde(rename = "command")]
    Command,
    /// The output of that command.
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
    /// An entry on the current path that contains a message for the model.
    pub entry_id: String,
    /// Whether to pin (true) or unpin the entry.
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
    /// Whether it is pinned.
    pub pinned: bool,
    /// All pinned entries of the path, root first.
    pub pins: Vec<PinnedEntry>,
    /// Their tokens together.
    pub tokens: u64,
    /// Maximum number of their tokens (setting `compactd.pins.maxTokens`).
    pub max_tokens: u64,
}

/// A pinned entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedEntry {
    /// The entry.
    pub entry_id: String,
    /// Estimated tokens that it takes after a summary.
    pub tokens: u64,
}

/// The part of a context that would be compacted.
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
    /// Files that the summarised part used.
    pub file_ops: FileOperations,
    /// The settings that were used, adapted to the window if the session's model is known.
    pub settings: CompactionSettings,
    /// The leaf of the branch.
    pub leaf_id: String,
}

/// Parts of a preparation that a call can request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreparationPart {
    /// The messages. Without this part the lists contain entry ids.
    #[serde(rename = "messages")]
    Messages,
    /// The requests to a summarizer.
    #[serde(rename = "requests")]
    Requests,
    /// The minimum that would be kept of the compacted part.
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
    /// Whether to fail as `compact` would if no summarizer can write: its settings are incomplete, or its
    /// key or
    /// program is missing. Nothing is asked or started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_summarizer: Option<bool>,
    /// What the summary should focus on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// The oldest entry to keep verbatim, instead of the one that follows from the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept_entry_id: Option<String>,
    /// Parts of the result. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<PreparationPart>>,
    /// The leaf of the branch. Default: the current leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<String>,
    /// Settings for this call: members of `compaction`, or an object like that of `updateSettings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
    /// The summarizer whose requests are planned, instead of the configured one, or a list of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<SummarizerChoice>,
}

impl PrepareCompactionParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self {
            session_id: session_id.into(),
            check_summarizer: None,
            custom_instructions: None,
            first_kept_entry_id: None,
            include: None,
            leaf_id: None,
            settings: None,
            summarizer: None,
        }
    }
}

/// Result of `prepareCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareCompactionResult {
    /// The part that would be compacted. Null if nothing would be.
    pub preparation: Option<Preparation>,
    /// The last compaction, if no message follows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// Tokens of the context, if nothing would be compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The minimum that would be kept of the compacted part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Minimum number of tokens that are kept, if nothing would be compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// Number of messages, all of which would be kept, if nothing would be compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Why nothing would be compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<RefusalReason>,
    /// The requests to a summarizer, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Vec<SummaryRequest>>,
    /// The tool call whose result is missing and from which everything must stay, if that is the reason.
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
    /// The leaf to start from. Default: the current leaf.
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
    /// The entries that would be abandoned, oldest first.
    pub entries_to_summarize: Vec<String>,
    /// The new leaf. Null before the first entry.
    pub new_leaf_id: Option<String>,
    /// Estimated input tokens of a summary.
    pub estimated_tokens: u64,
    /// The text for the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
}

/// Parameters of `recall`. Either `query` or `entryIds` is required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecallParams {
    /// The session.
    pub session_id: String,
    /// Ids of entries that are wanted whole, evicted or not. The result has their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_ids: Option<Vec<String>>,
    /// The leaf of a branch. Default: the current leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<String>,
    /// Maximum number of tokens of all texts, at least 1. Default: 2000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// With one id: the UTF-16 unit of the entry's text from which to read. The result then holds what
    /// follows it, and
    /// `nextOffset`. Default: the whole text, cut in its middle if it is too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Words to look for in evicted entries, and in entries that the context shows shortened or edited.
    /// Function words
    /// are ignored. The name of a file ranks the calls that changed it higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

impl RecallParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self {
            session_id: session_id.into(),
            entry_ids: None,
            leaf_id: None,
            max_tokens: None,
            offset: None,
            query: None,
        }
    }
}

/// Result of `recall`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecalledEntry {
    /// The entry.
    pub entry_id: String,
    /// Type of the entry.
    pub r#type: String,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// Its text. For a query: the matching passages in their order, with a line `[…]` for each omission.
    pub text: String,
    /// Estimated tokens of the text.
    pub tokens: u64,
    /// Whether any part of the entry's text is missing.
    pub truncated: bool,
    /// The `offset` that reads on. Only if `offset` was asked for, and absent at the end of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Where the text starts in the entry's whole text, in UTF-16 units. Only if `offset` was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Positions of the parts of the text in the entry. Only for a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<Passage>>,
    /// Role of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Rank of the match. Comparable only within one result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Why nothing would be compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalReason {
    /// No message follows the last compaction.
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

/// `diagnostic`: a part of a request was ignored, and the request was served all the same. Each part is
/// reported once.
/// `initialize` and `updateSettings` report it in the `diagnostics` of their results. In a session with
/// a subscription
/// it also reports problems with the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestDiagnostic {
    /// The kind of the problem.
    pub kind: DiagnosticKind,
    /// The method of the request.
    pub method: String,
    /// Path of the part in the parameters.
    pub path: String,
    /// Message for a person.
    pub message: String,
    /// The known name that was probably meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// The session, if the problem is that of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// An estimate of the input of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestEstimate {
    /// Input tokens.
    pub input_tokens: u64,
    /// Their cost at list prices, in US dollars. Absent if the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What a request to a summarizer covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestKind {
    /// The conversation before the turn that is cut.
    #[serde(rename = "history")]
    History,
    /// The first part of the turn that is cut.
    #[serde(rename = "turnPrefix")]
    TurnPrefix,
    /// A branch that is abandoned.
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

/// Shares that are kept, from 0 to 1; 1 if there was nothing to keep.
///
/// They are measured against the compacted part and everything that earlier compactions of the branch
/// knew, including
/// what their ledgers could not store. Errors, requests, constraints and statements may be reworded:
/// one counts if one
/// line, or 420 characters across lines, contains most of its significant words. Lines that contain
/// only names, and
/// lists of files, count only for names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// A claim that contradicts a known fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReversedFact {
    /// The known fact: `notModified`, `modified`, `failed`, `notCommitted`, or `notPushed`.
    pub fact: String,
    /// The file or the command. If nothing was committed or pushed: `git commit` or `git push`.
    pub subject: String,
}

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session that contains it.
    pub session_id: String,
    /// The entry.
    pub entry_id: String,
    /// Type of the entry.
    pub r#type: String,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// The text around the first match, on one line.
    pub preview: String,
    /// Whether the entry is not in the context at the leaf of its session: it was compacted, edited away,
    /// or is on
    /// another branch.
    pub evicted: bool,
    /// Path of the session's file, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Role of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Rank of the match, if no entry contains all words. Comparable only within one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Parameters of `searchSession`. Either `sessionId` or `all` is required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionParams {
    /// Words that must all occur, in any case. A phrase in double quotes counts as one word. If the query
    /// has at least
    /// three words and no entry contains all of them, the entries with the most matching words are found.
    pub query: String,
    /// Whether to search all sessions, open or not, instead of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// `nextCursor` of the previous page. Entries that are appended between two pages come first, so a hit
    /// may occur
    /// twice, but none is missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of hits, from 1 to 1000. Default: 50.
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
    /// Entries that contain all words, newest first. If there are none, the best matches.
    pub hits: Vec<SearchHit>,
    /// Deprecated since 1.1 in favour of `nextCursor`: whether there are more hits.
    pub truncated: bool,
    /// Present if there are more hits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `serializeConversation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SerializeConversationParams {
    /// Messages, as stored or in LLM format; at most 10000.
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

/// What the server offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Methods that it answers.
    pub methods: Vec<String>,
    /// Notifications that it sends.
    pub notifications: Vec<String>,
    /// Hooks that it calls.
    pub hooks: Vec<String>,
    /// Summarizers that are available.
    pub summarizers: Vec<String>,
    /// Modes of `summarize` that it uses.
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
    /// Version of the protocol.
    pub protocol_version: u64,
    /// Its minor version.
    pub protocol_minor_version: u64,
    /// Process id of the server.
    pub process_id: u64,
    /// Milliseconds since the server started.
    pub uptime_ms: u64,
    /// Open sessions, ordered by id.
    pub sessions: Vec<OpenSessionStatus>,
    /// Running compactions, navigations and forks.
    pub operations: Vec<OperationStatus>,
    /// Memory use of the server.
    pub memory: MemoryStatus,
}

/// Parameters of `sessionBeforeCompact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The reason.
    pub reason: CompactionReason,
    /// Whether to repeat the failed request afterwards.
    pub will_retry: bool,
    /// What the summary should focus on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
}

/// The client's answer to `sessionBeforeCompact`. An empty object continues the compaction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeCompactResult {
    /// Whether to cancel the compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<bool>,
    /// A summary, instead of that of the summarizer.
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
    /// Whether the fork would end before or at the entry.
    pub position: ForkPosition,
}

/// Parameters of `sessionBeforeTree`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeTree {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
    /// The navigation.
    pub preparation: TreePreparation,
}

/// The client's answer to `sessionBeforeTree`. An empty object continues the navigation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBeforeTreeResult {
    /// Whether to cancel the navigation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<bool>,
    /// Instructions that replace those of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// A label that replaces that of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether they replace the default ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_instructions: Option<bool>,
    /// A summary, instead of that of the summarizer, if one is wanted.
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
    /// The new leaf.
    pub leaf_id: Option<String>,
}

/// Parameters of calls for one session.
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

/// Result of `getSessionStats`. The numbers cover the whole file, including all branches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// Entries in the file.
    pub entry_count: u64,
    /// Messages with any role.
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
    /// Tokens, including those of summaries.
    pub tokens: TokenTotals,
    /// Cost, including that of summaries, in the currency of the price list.
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
    /// The name. An empty name removes it.
    pub name: String,
}

impl SetSessionNameParams {
    /// Takes the required members.
    #[must_use]
    pub fn new(session_id: impl Into<String>, name: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), name: name.into() }
    }
}

/// A running operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedResult {
    /// Id of the operation in notifications.
    pub operation_id: String,
}

/// Parameters of `subscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeParams {
    /// The session.
    pub session_id: String,
    /// The last entry in file order that the caller has. The entries after it are sent at once; at most 8
    /// MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl SubscribeParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>) -> Self {
        Self { session_id: session_id.into(), since: None }
    }
}

/// Result of `subscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeResult {
    /// The leaf.
    pub leaf_id: Option<String>,
}

/// How a model is asked for a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SummarizeMode {
    /// By a prompt that contains the conversation as text.
    #[serde(rename = "transcript")]
    Transcript,
    /// By the conversation itself, as in the last request to its model, and one more message. Tokens that
    /// the provider
    /// has in its cache cost only a part of the price.
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
    /// Id of the operation.
    pub operation_id: String,
    /// What the summary covers.
    pub kind: RequestKind,
    /// The system prompt. Empty with `mode: "continue"`: the conversation has its own.
    pub system_prompt: String,
    /// The prompt. With `mode: "continue"` it is the last user message.
    pub prompt: String,
    /// Maximum number of output tokens.
    pub max_tokens: u64,
    /// With `mode: "continue"`: the messages to send before `prompt`, with the prompt and tools of the
    /// conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ContinuedConversation>,
    /// How to ask the model. Default: `transcript`. The server sends `continue` only to clients that list
    /// it in
    /// `initialize`. If the answer is an error or no summary, it sends a request without `mode`.
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
    /// Usage of the summary.
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

/// A summarizer, or a list of them in the order in which they are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SummarizerChoice {
    /// The name of one summarizer.
    Text(String),
    /// The names of several summarizers.
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

/// A summarizer that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarizerFailure {
    /// Its name.
    pub summarizer: String,
    /// The kind of the error: `summarizerFailed` or `summaryRejected`.
    pub kind: String,
    /// The error message.
    pub cause: String,
    /// Number of requests.
    pub attempts: u64,
}

/// A request to a summarizer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// How the summary of a compaction was requested, and what either way costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryRequestReport {
    /// What the summary covers.
    pub kind: RequestKind,
    /// How the model that wrote it was asked.
    pub mode: SummarizeMode,
    /// Input tokens that were read from the provider's cache, if the provider reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Cost of continuing the conversation, if the provider has all of it in its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued: Option<RequestEstimate>,
    /// Cost of all requests for this summary at list prices, in US dollars. Absent if the usage or the
    /// price is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Why the conversation was not continued, or why its summary was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_continued: Option<NotContinued>,
    /// Cost of transcripts. Absent if no transcript fits the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<RequestEstimate>,
}

/// Totals of tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenTotals {
    /// Input that was not read from a cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// The total.
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
    /// The beginning of its text, on one line.
    pub preview: String,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// Its children, oldest first.
    pub children: Vec<String>,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Role of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// A navigation that is about to happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
    /// A label for the summary or the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether `customInstructions` replace the default ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_instructions: Option<bool>,
}

/// Parameters of `undoCompaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoCompactionParams {
    /// The session.
    pub session_id: String,
    /// A compaction on the current path. Default: the last one.
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
    /// The new leaf: the last copy, or the navigation entry if nothing followed the compaction.
    pub leaf_id: String,
    /// The old leaf.
    pub old_leaf_id: String,
    /// The compaction that was undone.
    pub undone_entry_id: String,
    /// The entries after the compaction, oldest first, each with its copy.
    pub replayed: Vec<ReplayedEntry>,
}

/// Result of `unsubscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnsubscribeResult {
    /// Whether there was a subscription.
    pub was_subscribed: bool,
}

/// Parameters of `updateSettings`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSettingsParams {
    /// Switches automatic compaction of that session on, for this model; null switches it off.
    #[serde(deserialize_with = "present", default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<Option<AutoCompactionOptions>>,
    /// The session to which `autoCompaction` applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Settings that override all others. Objects are merged, other values are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
}

/// Result of `updateSettings`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSettingsResult {
    /// The current settings.
    pub settings: FreeObject,
    /// Settings files that cannot be used, and unknown names.
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
    /// Numbers, by part: input, output, cacheRead, cacheWrite and total.
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

/// The window of a model.
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
    /// The message is not JSON. Reading continues at the next frame.
    #[serde(rename = "parseError")]
    ParseError,
    /// The message is JSON, but not a valid request, or it is over the size limit (`reason` is
    /// `messageTooLarge`; `bytes` and `limit`).
    #[serde(rename = "invalidRequest")]
    InvalidRequest,
    /// There is no such method.
    #[serde(rename = "methodNotFound")]
    MethodNotFound,
    /// A parameter is missing or wrong. `path` names it, and `expected` describes a correct value.
    #[serde(rename = "invalidParams")]
    InvalidParams,
    /// A defect of the server, a write whose outcome is not known, a stored entry whose line is broken
    /// (`entryId`, `line`), or more than the memory holds (`reason` is `outOfMemory`; `bytes` were held or
    /// written). The server continues.
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
    /// Another process has the session open for writing: `pid` and `host`, if known.
    #[serde(rename = "sessionLocked")]
    SessionLocked,
    /// The file is not a session. It was not changed. `detail` says why.
    #[serde(rename = "notASession")]
    NotASession,
    /// Writing failed, or the file exists. Nothing was changed.
    #[serde(rename = "writeFailed")]
    WriteFailed,
    /// The leaf (`leafId`) is not the expected one (`expectedLeafId`). With `toolCallId`: the result of a
    /// call came while a compaction was about to summarise the call.
    #[serde(rename = "leafMoved")]
    LeafMoved,
    /// The session is read-only.
    #[serde(rename = "readOnly")]
    ReadOnly,
    /// Too many requests are waiting. Send fewer at once.
    #[serde(rename = "serverBusy")]
    ServerBusy,
    /// Another session has the same id: `path`, if it has a file.
    #[serde(rename = "sessionIdInUse")]
    SessionIdInUse,
    /// The system refused to open or read `path`: for want of permission (`reason` is `permissionDenied`),
    /// or because files, a disk or a connection failed. Nothing was changed.
    #[serde(rename = "readFailed")]
    ReadFailed,
    /// Everything would be kept, for example because the result of `toolCallId` is missing, or compacting
    /// would not help. `reason` and the numbers say why.
    #[serde(rename = "nothingToCompact")]
    NothingToCompact,
    /// The model sees nothing after the last compaction.
    #[serde(rename = "alreadyCompacted")]
    AlreadyCompacted,
    /// A compaction, navigation or fork (`operationId`) is running on the session.
    #[serde(rename = "operationInProgress")]
    OperationInProgress,
    /// The summarizer failed: `cause`, `attempts`.
    #[serde(rename = "summarizerFailed")]
    SummarizerFailed,
    /// The summary is empty, cut off, or incomplete (`detail`), or it is not smaller (`reason` is
    /// `notSmaller`).
    #[serde(rename = "summaryRejected")]
    SummaryRejected,
    /// A hook of the client cancelled the operation.
    #[serde(rename = "cancelledByHook")]
    CancelledByHook,
    /// A hook of the client returned a wrong result.
    #[serde(rename = "invalidHookResult")]
    InvalidHookResult,
    /// The pinned entries would take too many tokens: `tokens`, `entryTokens`, `maxTokens` and `pins`.
    #[serde(rename = "pinBudgetExceeded")]
    PinBudgetExceeded,
    /// The setting `path` is wrong.
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
            Self::ReadFailed => "readFailed",
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
            Self::ReadFailed => 1010,
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
            1010 => Self::ReadFailed,
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
    /// Initializes the server. It must be the first request.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`], [`ErrorKind::InvalidSettings`].
    pub async fn initialize(&self, params: &InitializeParams) -> Result<InitializeResult, ClientError> {
        self.request("initialize", params).await
    }

    /// Changes or returns the settings, and switches automatic compaction of a session on or off.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidSettings`], [`ErrorKind::SessionNotFound`].
    pub async fn update_settings(&self, params: &UpdateSettingsParams) -> Result<UpdateSettingsResult, ClientError> {
        self.request("updateSettings", params).await
    }

    /// Answers at once, even before `initialize`.
    pub async fn ping(&self) -> Result<Null, ClientError> {
        self.request("ping", &serde_json::json!({})).await
    }

    /// Returns open sessions, running operations, memory use and versions of the server.
    pub async fn get_status(&self) -> Result<ServerStatus, ClientError> {
        self.request("getStatus", &serde_json::json!({})).await
    }

    /// Returns the OpenRPC document of this server.
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

    /// Sends each entry that another program writes into a session by `entryAppended`, when it happens.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn subscribe(&self, params: &SubscribeParams) -> Result<SubscribeResult, ClientError> {
        self.request("subscribe", params).await
    }

    /// Ends a subscription.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn unsubscribe(&self, params: &SessionParams) -> Result<UnsubscribeResult, ClientError> {
        self.request("unsubscribe", params).await
    }

    /// Flushes a session and releases its lock.
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

    /// Reads every body of a session and reports problems.
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

    /// Appends all messages at the leaf, or none.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::WriteFailed`], [`ErrorKind::LeafMoved`],
    /// [`ErrorKind::ReadOnly`].
    pub async fn append_messages(&self, params: &AppendMessagesParams) -> Result<AppendMessagesResult, ClientError> {
        self.request("appendMessages", params).await
    }

    /// Appends an entry that is not a message at the leaf.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`], [`ErrorKind::WriteFailed`],
    /// [`ErrorKind::LeafMoved`], [`ErrorKind::ReadOnly`].
    pub async fn append_entry(&self, params: &AppendEntryParams) -> Result<AppendedResult, ClientError> {
        self.request("appendEntry", params).await
    }

    /// Returns one entry.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_entry(&self, params: &EntryParams) -> Result<GetEntryResult, ClientError> {
        self.request("getEntry", params).await
    }

    /// Returns entries in file order, or the entries with some ids.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_entries(&self, params: &GetEntriesParams) -> Result<EntriesResult, ClientError> {
        self.request("getEntries", params).await
    }

    /// Returns the entries from the root to a leaf.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_branch(&self, params: &GetBranchParams) -> Result<EntriesResult, ClientError> {
        self.request("getBranch", params).await
    }

    /// Returns the tree as a flat list.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn get_tree(&self, params: &SessionParams) -> Result<GetTreeResult, ClientError> {
        self.request("getTree", params).await
    }

    /// Finds entries by their text, including those that compactions took out of the context.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn search_session(&self, params: &SearchSessionParams) -> Result<SearchSessionResult, ClientError> {
        self.request("searchSession", params).await
    }

    /// Returns entries that compactions took out of the context, the best matches for a query first.
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

    /// Returns what the model sees.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_context(&self, params: &GetContextParams) -> Result<GetContextResult, ClientError> {
        self.request("getContext", params).await
    }

    /// Returns how full a window is.
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

    /// Returns messages as the text that a summarizer reads.
    pub async fn serialize_conversation(
        &self,
        params: &SerializeConversationParams,
    ) -> Result<SerializeConversationResult, ClientError> {
        self.request("serializeConversation", params).await
    }

    /// Decides whether a compaction is due. Changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::InvalidSettings`].
    pub async fn check_compaction(&self, params: &CheckCompactionParams) -> Result<CheckCompactionResult, ClientError> {
        self.request("checkCompaction", params).await
    }

    /// Describes what a compaction would do. Changes nothing.
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

    /// Replaces the older part of the context by a summary.
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

    /// Compacts messages of the caller, without a session or a file.
    ///
    /// # Errors
    /// [`ErrorKind::NothingToCompact`], [`ErrorKind::AlreadyCompacted`], [`ErrorKind::SummarizerFailed`],
    /// [`ErrorKind::SummaryRejected`], [`ErrorKind::CancelledByHook`], [`ErrorKind::InvalidHookResult`],
    /// [`ErrorKind::InvalidSettings`].
    pub async fn compact_messages(&self, params: &CompactMessagesParams) -> Result<CompactMessagesResult, ClientError> {
        self.request("compactMessages", params).await
    }

    /// Aborts a running compaction or branch summary.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn abort_compaction(&self, params: &SessionParams) -> Result<AbortResult, ClientError> {
        self.request("abortCompaction", params).await
    }

    /// Restores the context from before a compaction on a new branch, with the later entries.
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

    /// Returns the pinned entries of a branch.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn get_pins(&self, params: &GetPinsParams) -> Result<GetPinsResult, ClientError> {
        self.request("getPins", params).await
    }

    /// Describes what a navigation would do. Changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`], [`ErrorKind::EntryNotFound`].
    pub async fn prepare_navigation(
        &self,
        params: &PrepareNavigationParams,
    ) -> Result<PrepareNavigationResult, ClientError> {
        self.request("prepareNavigation", params).await
    }

    /// Moves the leaf to another entry of the tree.
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
    /// An entry was written by a call, or, in a session with a subscription, by another program.
    EntryAppended(Box<EntryAppended>),
    /// Another program added entries to the file.
    SessionChanged(Box<SessionChanged>),
    /// A part of a request was ignored. The request is served all the same.
    Diagnostic(Box<RequestDiagnostic>),
    /// A navigation moved the leaf.
    LeafChanged(Box<LeafChanged>),
    /// A compaction started.
    CompactionStart(Box<CompactionStart>),
    /// Progress of a compaction.
    CompactionProgress(Box<OperationProgress>),
    /// A compaction ended. There is exactly one for each start.
    CompactionEnd(Box<CompactionEnd>),
    /// A branch summary started.
    BranchSummaryStart(Box<BranchSummaryStart>),
    /// Progress of a branch summary.
    BranchSummaryProgress(Box<OperationProgress>),
    /// A branch summary ended. There is exactly one for each start.
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
    /// Asks the client's own model for a summary. Requires `capabilities.summarize`.
    async fn summarize(&self, params: SummarizeParams) -> Result<SummarizeResult, RpcError> {
        drop(params);
        Err(unanswered("summarize"))
    }

    /// A hook before a compaction. It can cancel the compaction or provide the summary.
    async fn session_before_compact(
        &self,
        params: SessionBeforeCompact,
    ) -> Result<Option<SessionBeforeCompactResult>, RpcError> {
        drop(params);
        Err(unanswered("sessionBeforeCompact"))
    }

    /// A hook before a navigation. It can cancel the navigation or provide summary, instructions and label.
    async fn session_before_tree(
        &self,
        params: SessionBeforeTree,
    ) -> Result<Option<SessionBeforeTreeResult>, RpcError> {
        drop(params);
        Err(unanswered("sessionBeforeTree"))
    }

    /// A hook before a fork. It can cancel the fork.
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
