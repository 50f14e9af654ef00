//! Recall of evicted entries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `recall`: a question, or ids.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallParams {
    /// The session.
    pub session_id: String,
    /// Words that evicted entries are looked for with; those that answer best come first.
    pub query: Option<String>,
    /// Entries that are wanted as they are, evicted or not, in this order.
    pub entry_ids: Option<Vec<String>>,
    /// Tokens that the texts may have together, 1 or more; 2000 by default.
    pub max_tokens: Option<u64>,
    /// The end of a branch; the leaf by default.
    pub leaf_id: Option<String>,
}

/// Result of `recall`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallResult {
    /// The entries, best first, or in the order in which they were asked for.
    pub entries: Vec<RecalledEntry>,
    /// Estimated tokens of their texts.
    pub tokens: u64,
    /// Entries that would answer as well, or were asked for, and do not fit.
    pub omitted: u64,
}

/// An entry that is given back.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecalledEntry {
    /// The entry.
    pub entry_id: String,
    /// Type of the entry.
    #[serde(rename = "type")]
    pub entry_type: String,
    /// Role of its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When it was written, ISO 8601.
    pub timestamp: String,
    /// What it says.
    pub text: String,
    /// Estimated tokens of the text.
    pub tokens: u64,
    /// Whether the text is cut in its middle.
    pub truncated: bool,
    /// How well it answers; comparable within one result alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}
