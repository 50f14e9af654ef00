//! Branches: navigation, and undoing compactions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compaction::{StartedResult, SummarizerChoice};
use super::json::{Entry, FreeObject, Usage, optional_text, text};

/// Parameters of `prepareNavigation`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrepareNavigationParams {
    /// The session.
    pub session_id: String,
    /// The entry to go to.
    pub target_id: String,
    /// The leaf to start from; the current one by default.
    pub leaf_id: Option<String>,
}

/// Result of `prepareNavigation`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
    /// The text that would go back into the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// Estimated tokens that a summary would read.
    pub estimated_tokens: u64,
}

/// Parameters of `navigateTree`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NavigateTreeParams {
    /// The session.
    pub session_id: String,
    /// The entry to go to.
    pub target_id: String,
    /// Whether to summarise the branch that is left.
    #[serde(default)]
    pub summarize: bool,
    /// What the summary should look at.
    #[serde(default, deserialize_with = "optional_text")]
    pub custom_instructions: Option<String>,
    /// Whether `customInstructions` stand in place of the usual ones.
    #[serde(default)]
    pub replace_instructions: bool,
    /// A label for the summary, or for the target if there is none.
    #[serde(default, deserialize_with = "optional_text")]
    pub label: Option<String>,
    /// The summarizer for this call.
    pub summarizer: Option<SummarizerChoice>,
    /// A summary that the client wrote.
    pub summary: Option<GivenBranchSummary>,
    /// Whether to answer when the navigation is done (true, the default) or at once.
    pub wait: Option<bool>,
}

/// A branch summary that the client wrote.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenBranchSummary {
    /// Its text.
    #[serde(deserialize_with = "text")]
    pub summary: String,
    /// Members for the entry's `details`.
    pub details: Option<FreeObject>,
    /// What the summary cost.
    pub usage: Option<Usage>,
}

/// Result of `navigateTree`; only `operationId` with `wait: false`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum NavigateTreeResult {
    /// The navigation is done.
    Done(Box<NavigationResult>),
    /// The navigation runs; its outcome comes with `branchSummaryEnd`.
    Started(StartedResult),
}

/// A navigation that is done.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NavigationResult {
    /// The leaf afterwards.
    pub leaf_id: Option<String>,
    /// The leaf before.
    pub old_leaf_id: Option<String>,
    /// The text that goes back into the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// The summary of the branch that was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_entry: Option<Entry>,
    /// Whether the navigation was cancelled and nothing moved.
    pub cancelled: bool,
    /// Whether it was cancelled by ending its summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted: Option<bool>,
}

/// Parameters of `undoCompaction`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoCompactionParams {
    /// The session.
    pub session_id: String,
    /// A compaction on the current path; the last one by default.
    pub entry_id: Option<String>,
}

/// Result of `undoCompaction`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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

/// An entry and its copy on the new branch.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReplayedEntry {
    /// The entry.
    pub from: String,
    /// Its copy.
    pub to: String,
}
