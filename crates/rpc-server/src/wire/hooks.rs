//! Requests from the server to the client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compaction::{CompactionReason, GivenSummary, Preparation, RequestKind};
use super::json::{Entry, Usage, optional_text, text};
use super::navigation::GivenBranchSummary;
use super::sessions::ForkPosition;
use super::summary_requests::{ContinuedConversation, SummarizeMode};

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
