//! Undoing compactions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
