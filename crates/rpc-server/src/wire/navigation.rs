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
    /// The leaf to start from. Default: the current leaf.
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
    /// The entries that would be abandoned, oldest first.
    pub entries_to_summarize: Vec<String>,
    /// The new leaf. Null before the first entry.
    pub new_leaf_id: Option<String>,
    /// The text for the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// Estimated input tokens of a summary.
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
    /// Whether to summarise the abandoned branch.
    #[serde(default)]
    pub summarize: bool,
    /// What the summary should focus on.
    #[serde(default, deserialize_with = "optional_text")]
    pub custom_instructions: Option<String>,
    /// Whether `customInstructions` replace the default ones.
    #[serde(default)]
    pub replace_instructions: bool,
    /// A label for the summary, or for the target if there is none.
    #[serde(default, deserialize_with = "optional_text")]
    pub label: Option<String>,
    /// The summarizer for this call.
    pub summarizer: Option<SummarizerChoice>,
    /// A summary that the client wrote.
    pub summary: Option<GivenBranchSummary>,
    /// Whether to answer when the navigation is finished (true, the default) or at once.
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
    /// Usage of the summary.
    pub usage: Option<Usage>,
}

/// Result of `navigateTree`. With `wait: false` it contains only `operationId`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum NavigateTreeResult {
    /// The navigation is finished.
    Done(Box<NavigationResult>),
    /// The navigation is running. `branchSummaryEnd` reports its outcome.
    Started(StartedResult),
}

/// A finished navigation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NavigationResult {
    /// The new leaf.
    pub leaf_id: Option<String>,
    /// The old leaf.
    pub old_leaf_id: Option<String>,
    /// The text for the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// The summary of the abandoned branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_entry: Option<Entry>,
    /// Whether the navigation was cancelled. The leaf has not moved then.
    pub cancelled: bool,
    /// Whether it was cancelled by aborting its summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted: Option<bool>,
}

/// Parameters of `undoCompaction`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoCompactionParams {
    /// The session.
    pub session_id: String,
    /// A compaction on the current path. Default: the last one.
    pub entry_id: Option<String>,
}

/// Result of `undoCompaction`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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

/// An entry and its copy on the new branch.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReplayedEntry {
    /// The entry.
    pub from: String,
    /// Its copy.
    pub to: String,
}
