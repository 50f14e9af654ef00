//! Search, and recall of entries that compactions took out of the context.

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

/// Parameters of `recall`: a question, or ids.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallParams {
    /// The session.
    pub session_id: String,
    /// Words that evicted entries are looked for with; those that answer best come first. Words that carry
    /// nothing do not count; a name of a file finds the calls that changed it first.
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
    /// Entries that would answer as well, or were asked for, and of which nothing fits.
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
    /// What it says. Of a question's answer the passages that answer, in their order, with a line `[…]`
    /// where something is left out.
    pub text: String,
    /// Estimated tokens of the text.
    pub tokens: u64,
    /// Whether anything of what it says is left out.
    pub truncated: bool,
    /// Where the pieces of the text stand in the entry; with a question alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<Passage>>,
    /// How well it answers; comparable within one result alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Where a piece of an entry stands. A piece that crosses the border of two parts counts as two.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// The part of the entry that it is of.
    pub part: PassagePart,
    /// The part's place in the list of the message's content blocks, from 0; absent where the content is
    /// no list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Where it begins in the entry's whole text, in UTF-16 units.
    pub start: u64,
    /// Where it ends there, in UTF-16 units.
    pub end: u64,
    /// Where it begins in `text`, in UTF-16 units.
    pub offset: u64,
}

/// A part of an entry.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PassagePart {
    /// Text, that of a tool result as well.
    Text,
    /// A tool call: its name and arguments.
    ToolCall,
    /// An image, of which a mark is left.
    Image,
    /// A command that the person ran.
    Command,
    /// What that command printed.
    Output,
    /// A summary.
    Summary,
}
