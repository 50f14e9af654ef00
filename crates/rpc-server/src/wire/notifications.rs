//! Notifications to the client.

use schemars::JsonSchema;
use serde::Serialize;

use super::compaction::{ClippedResult, CompactionReason, CompactionResult};
use super::json::{Entry, ErrorData};
use super::navigation::NavigationResult;

/// `entryAppended`: an entry was written, whoever caused it.
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
    /// The leaf afterwards.
    pub leaf_id: Option<String>,
}

/// `diagnostic`: a part of a request was passed over, and the request served all the same. Each part is told of
/// once. `initialize` and `updateSettings` tell the same in the `diagnostics` of their results.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequestDiagnostic {
    /// What it is.
    pub kind: DiagnosticKind,
    /// The method of the request.
    pub method: String,
    /// Where it stands in the parameters.
    pub path: String,
    /// The known name that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// What a person reads.
    pub message: String,
}

/// What was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DiagnosticKind {
    /// A member that the method does not have.
    UnknownMember,
    /// A setting that does not exist.
    UnknownSetting,
}

/// `leafChanged`: a navigation moved the leaf.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeafChanged {
    /// The session.
    pub session_id: String,
    /// The leaf.
    pub leaf_id: Option<String>,
    /// The leaf before.
    pub old_leaf_id: Option<String>,
}

/// `compactionStart`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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

/// `compactionProgress` and `branchSummaryProgress`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationProgress {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What is going on.
    pub phase: OperationPhase,
    /// The request that is running, counted from 1.
    pub request: u32,
    /// Requests in all.
    pub requests: u32,
    /// Output tokens of this request so far.
    pub output_tokens: u64,
    /// New text of the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<String>,
}

/// What an operation is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OperationPhase {
    /// A summary is being written.
    Summarizing,
    /// A request failed and is made again after a while.
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
    /// Names the operation.
    pub operation_id: String,
    /// Why it happened.
    pub reason: CompactionReason,
    /// What came of it; absent where shortening tool results was enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<CompactionResult>,
    /// Tool results that were shortened in the context where that was enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clipped: Vec<ClippedResult>,
    /// Whether it was cancelled.
    pub aborted: bool,
    /// Whether the failed request is worth another try.
    pub will_retry: bool,
    /// Given, and true, where the server began the compaction and the context ends with a tool result or
    /// an answer that was cut: the agent has work left, and nobody but the host resumes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<bool>,
    /// Until when the session is not compacted by itself, after several failures in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// `branchSummaryStart`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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

/// `branchSummaryEnd`: exactly one for every `branchSummaryStart`, sent before the reply.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEnd {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<NavigationResult>,
    /// Whether it was cancelled.
    pub aborted: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// An error, as a reply would hold it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// Code of the error.
    pub code: i32,
    /// What a person reads.
    pub message: String,
    /// `kind`, `reason` and `retryable`, and the ids and numbers needed to act.
    pub data: ErrorData,
}
