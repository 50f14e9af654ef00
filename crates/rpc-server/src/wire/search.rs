//! Search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `searchSession`: an open session, or all.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionParams {
    /// An open session.
    pub session_id: Option<String>,
    /// Whether to search all sessions, open or not, in place of one.
    #[serde(default)]
    pub all: bool,
    /// Words that must all occur, whatever their case; a phrase in double quotes counts as one word. Where no
    /// entry has all of three words or more, those that have the most of them are found.
    pub query: String,
    /// Hits per page, from 1 to 1000; 50 by default.
    pub limit: Option<u64>,
    /// Where the last page ended: its `nextCursor`. What is appended between two pages comes before both, so that a
    /// hit may come twice then, and none is left out.
    pub cursor: Option<String>,
}

/// Result of `searchSession`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionResult {
    /// Entries whose text has all words, newest first; where there are none, those that answer best.
    pub hits: Vec<SearchHit>,
    /// Present if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Deprecated since 1.1 in favour of `nextCursor`: whether there are more.
    #[schemars(extend("deprecated" = true))]
    pub truncated: bool,
}

/// An entry that a search found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session that it is in.
    pub session_id: String,
    /// Path of the session's file, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
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
    /// The text around the first match, on one line.
    pub preview: String,
    /// Whether the entry is not in the context at its session's leaf: compacted or edited away, or on
    /// another branch.
    pub evicted: bool,
    /// How well it answers, where no entry has all words; comparable within one session alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}
