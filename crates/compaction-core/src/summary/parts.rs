//! Joins the summary of a history with the context of a split turn.

use super::remove_file_blocks;

/// The line over the context of a split turn.
pub const TURN_CONTEXT_MARKER: &str = "**Turn Context (split turn):**";
/// Placeholder for a missing history.
pub const NO_PRIOR_HISTORY: &str = "No prior history.";

/// The summary of a split turn: the summary of the history, a rule, the marker, and the summary of the
/// turn prefix. Without new history the previous summary takes its place; without either, `No prior
/// history.` File blocks of the history are dropped, because new ones follow at the end.
pub fn join_split_turn(history_or_previous: Option<&str>, prefix: &str) -> String {
    let history = history_or_previous.map(remove_file_blocks);
    let history = history.as_deref().map(str::trim_end).filter(|text| !text.is_empty());
    format!("{}\n\n---\n\n{TURN_CONTEXT_MARKER}\n\n{prefix}", history.unwrap_or(NO_PRIOR_HISTORY))
}
