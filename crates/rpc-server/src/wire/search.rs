//! Search, and recall of entries that compactions took out of the context.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `searchSession`. Either `sessionId` or `all` is required.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionParams {
    /// An open session.
    pub session_id: Option<String>,
    /// Whether to search all sessions, open or not, instead of one.
    #[serde(default)]
    pub all: bool,
    /// Words that must all occur, in any case. A phrase in double quotes counts as one word. If the query has at least
    /// three words and no entry contains all of them, the entries with the most matching words are found.
    pub query: String,
    /// Maximum number of hits, from 1 to 1000. Default: 50.
    pub limit: Option<u64>,
    /// `nextCursor` of the previous page. Entries that are appended between two pages come first, so a hit may occur
    /// twice, but none is missed.
    pub cursor: Option<String>,
}

/// Result of `searchSession`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionResult {
    /// Entries that contain all words, newest first. If there are none, the best matches.
    pub hits: Vec<SearchHit>,
    /// Present if there are more hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Deprecated since 1.1 in favour of `nextCursor`: whether there are more hits.
    #[schemars(extend("deprecated" = true))]
    pub truncated: bool,
}

/// An entry that a search found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session that contains it.
    pub session_id: String,
    /// Path of the session's file, if it has one.
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
    /// Whether the entry is not in the context at the leaf of its session: it was compacted, edited away, or is on
    /// another branch.
    pub evicted: bool,
    /// Rank of the match, if no entry contains all words. Comparable only within one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Parameters of `recall`. Either `query` or `entryIds` is required.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallParams {
    /// The session.
    pub session_id: String,
    /// Words to look for in evicted entries. Function words are ignored. The name of a file ranks the calls that
    /// changed it higher.
    pub query: Option<String>,
    /// Ids of entries that are wanted whole, evicted or not. The result has their order.
    pub entry_ids: Option<Vec<String>>,
    /// Maximum number of tokens of all texts, at least 1. Default: 2000.
    pub max_tokens: Option<u64>,
    /// The leaf of a branch. Default: the current leaf.
    pub leaf_id: Option<String>,
}

/// Result of `recall`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
    /// Its text. For a query: the matching passages in their order, with a line `[…]` for each omission.
    pub text: String,
    /// Estimated tokens of the text.
    pub tokens: u64,
    /// Whether any part of the entry's text is missing.
    pub truncated: bool,
    /// Positions of the parts of the text in the entry. Only for a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<Passage>>,
    /// Rank of the match. Comparable only within one result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Position of a part of the text. A part that crosses the border of two parts of the entry is listed as two.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// The part of the entry.
    pub part: PassagePart,
    /// Index of the part in the message's content blocks, from 0. Absent if the content is not a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Start in the entry's whole text, in UTF-16 units.
    pub start: u64,
    /// End in the entry's whole text, in UTF-16 units.
    pub end: u64,
    /// Start in `text`, in UTF-16 units.
    pub offset: u64,
}

/// A part of an entry.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PassagePart {
    /// Text, including that of tool results.
    Text,
    /// A tool call: its name and arguments.
    ToolCall,
    /// An image, as a placeholder.
    Image,
    /// A command that the person ran.
    Command,
    /// The output of that command.
    Output,
    /// A summary.
    Summary,
}
