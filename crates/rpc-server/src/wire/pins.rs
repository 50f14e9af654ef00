//! Pinned entries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `pinEntry`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinEntryParams {
    /// The session.
    pub session_id: String,
    /// An entry on the current path that gives the model a message.
    pub entry_id: String,
    /// Whether it is to be pinned (true) or unpinned.
    pub pinned: bool,
}

/// Result of `pinEntry`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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

/// Parameters of `getPins`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetPinsParams {
    /// The session.
    pub session_id: String,
    /// The end of a branch; the leaf by default.
    pub leaf_id: Option<String>,
}

/// Result of `getPins`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetPinsResult {
    /// The pinned entries of the branch, root first.
    pub pins: Vec<PinnedEntry>,
    /// What they take together.
    pub tokens: u64,
    /// What they may take together.
    pub max_tokens: u64,
}

/// A pinned entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinnedEntry {
    /// The entry.
    pub entry_id: String,
    /// Estimated tokens that it takes behind a summary.
    pub tokens: u64,
}
