//! Notifications to the client.

use schemars::JsonSchema;
use serde::Serialize;

use super::compaction::{ClippedResult, CompactionReason, CompactionResult};
use super::json::{Entry, ErrorData};
use super::navigation::NavigationResult;

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
