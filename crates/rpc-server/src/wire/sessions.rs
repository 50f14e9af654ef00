//! Sessions: create, open, list, fork, name, statistics, diagnostics; and their branches: navigation, and undoing
//! compactions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compaction::{Model, StartedResult, SummarizerChoice};
use super::entries::MessageFormat;
use super::json::{AnyMessage, Entry, FreeObject, Header, Usage, optional_text, text};

/// Parameters of `createSession`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateSessionParams {
    /// Working directory of the session. Default: that of `initialize`.
    pub cwd: Option<String>,
    /// A flat directory for the file.
    pub session_dir: Option<String>,
    /// Id of the session, instead of a generated one: letters, digits and, not at the ends, `.`, `_` and `-`; at most
    /// 128. The id of an open session, or of another session of the directory, is refused (1009).
    pub session_id: Option<String>,
    /// Path of the file, instead of a generated one. It must not exist.
    pub path: Option<String>,
    /// Name of the session.
    #[serde(default, deserialize_with = "optional_text")]
    pub name: Option<String>,
    /// Path of the session that this one continues.
    pub parent_session: Option<String>,
    /// Whether to keep the session in memory only.
    pub ephemeral: bool,
    /// Switches automatic compaction on, for this model.
    pub auto_compaction: Option<AutoCompactionOptions>,
    /// The first messages of the session, oldest first; at most 10000. They cause no `entryAppended`.
    pub messages: Vec<AnyMessage>,
    /// Format of the messages. Default: `pi`.
    pub format: Option<MessageFormat>,
}

/// Parameters of `openSession`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionParams {
    /// Path of the session file.
    pub path: String,
    /// Whether to open it read-only, without a lock.
    #[serde(default)]
    pub read_only: bool,
    /// Switches automatic compaction on, for this model.
    pub auto_compaction: Option<AutoCompactionOptions>,
}

/// Automatic compaction of a session.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoCompactionOptions {
    /// The model of the session's requests.
    pub model: Model,
}

/// Parameters of `continueSession`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContinueSessionParams {
    /// Working directory whose most recent session is opened. Default: that of `initialize`.
    pub cwd: Option<String>,
    /// Switches automatic compaction on, for this model.
    pub auto_compaction: Option<AutoCompactionOptions>,
}

/// Result of `createSession`, `openSession`, `continueSession` and `forkSession`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionResult {
    /// The id in the header. Every later call uses it.
    pub session_id: String,
    /// Path of the file; absent for sessions in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The first line of the file.
    pub header: Header,
    /// The leaf. Null if the session has no entries.
    pub leaf_id: Option<String>,
    /// Number of entries, if it is known without reading the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_count: Option<u64>,
    /// Whether the session is read-only.
    pub read_only: bool,
    /// The older version that the file has, if it was migrated in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrated_from: Option<u32>,
    /// Problems in the file.
    pub diagnostics: Vec<Diagnostic>,
    /// After a fork before a message: the text of the message, for the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
}

/// A problem in a session. Reading continued after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The kind of the problem.
    pub kind: String,
    /// Line of the file, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Message for a person.
    pub message: String,
}

/// Parameters of calls for one session.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session.
    pub session_id: String,
}

/// Parameters of `subscribe`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeParams {
    /// The session.
    pub session_id: String,
    /// The last entry in file order that the caller has. The entries after it are sent at once; at most 8 MiB.
    pub since: Option<String>,
}

/// Result of `subscribe`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeResult {
    /// The leaf.
    pub leaf_id: Option<String>,
}

/// Result of `unsubscribe`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnsubscribeResult {
    /// Whether there was a subscription.
    pub was_subscribed: bool,
}

/// Parameters of `checkSession`. Either `sessionId` or `path` is required.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckSessionParams {
    /// An open session.
    pub session_id: Option<String>,
    /// Path of a file. Ignored if a session is named.
    pub path: Option<String>,
}

/// Result of `checkSession`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckSessionResult {
    /// Problems in the file, including those in bodies.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parameters of `listSessions`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListSessionsParams {
    /// Working directory whose sessions are listed. Default: that of `initialize`.
    pub cwd: Option<String>,
    /// A flat directory of sessions.
    pub session_dir: Option<String>,
    /// Whether to list the sessions of all working directories.
    pub all: bool,
    /// Maximum number of sessions.
    pub limit: Option<u64>,
    /// `nextCursor` of the previous page.
    pub cursor: Option<String>,
}

/// Result of `listSessions`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsResult {
    /// Sessions, newest activity first.
    pub sessions: Vec<SessionSummary>,
    /// Present if there are more sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Path of the file.
    pub path: String,
    /// The header's id.
    pub session_id: String,
    /// The header's working directory.
    pub cwd: String,
    /// The session's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Path of the session that it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// When it was created, ISO 8601.
    pub created: String,
    /// Time of the last message, ISO 8601.
    pub modified: String,
    /// Number of messages.
    pub message_count: u64,
    /// Text of the first user message.
    pub first_message: String,
}

/// Where a fork ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ForkPosition {
    /// Before the entry. The text of a message goes back into the editor.
    #[default]
    Before,
    /// At the entry, which becomes part of the fork.
    At,
}

/// Parameters of `forkSession`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionParams {
    /// The session.
    pub session_id: String,
    /// The entry at which the fork ends.
    pub entry_id: String,
    /// Whether the fork ends before or at the entry. Default: before.
    #[serde(default)]
    pub position: ForkPosition,
}

/// Parameters of `setSessionName`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetSessionNameParams {
    /// The session.
    pub session_id: String,
    /// The name. An empty name removes it.
    #[serde(deserialize_with = "text")]
    pub name: String,
}

/// Result of calls that append one entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendedResult {
    /// The new entry.
    pub entry_id: String,
    /// The new leaf.
    pub leaf_id: String,
}

/// Result of `getSessionStats`. The numbers cover the whole file, including all branches.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// Entries in the file.
    pub entry_count: u64,
    /// Messages with any role.
    pub message_count: u64,
    /// Messages of the person.
    pub user_messages: u64,
    /// Answers of models.
    pub assistant_messages: u64,
    /// Tool calls in them.
    pub tool_calls: u64,
    /// Results of tools.
    pub tool_results: u64,
    /// Compactions.
    pub compactions: u64,
    /// Branch summaries.
    pub branch_summaries: u64,
    /// Tokens, including those of summaries.
    pub tokens: TokenTotals,
    /// Cost, including that of summaries, in the currency of the price list.
    pub cost: f64,
}

/// Totals of tokens.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenTotals {
    /// Input that was not read from a cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// The total.
    pub total: u64,
}

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
