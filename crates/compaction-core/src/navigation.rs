//! Navigation: where a move in the tree leads, and what a summary of the abandoned branch covers
//! (docs/summaries.md, "Branch summaries").

use std::collections::HashSet;
use std::sync::Arc;

use crate::entry::{Entry, EntryBody, EntryId};
use crate::file_operations::{FileOperations, FileTools};
use crate::message::{Body, Message};
use crate::preparation::PreparedMessage;
use crate::projection::{Edits, ProjectedEntry, Projection};

/// Where a navigation leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The new leaf; `None` for the position before the first entry.
    pub new_leaf_id: Option<EntryId>,
    /// The text that the person may edit and send again.
    pub editor_text: Option<String>,
}

impl Destination {
    /// Where a navigation to `target` leads. A user message returns to the editor, and its parent
    /// becomes the leaf. Any other entry becomes the leaf.
    pub fn of(target: &Entry) -> Self {
        match spoken_text(target) {
            Some(text) => Self { new_leaf_id: target.header().parent_id.clone(), editor_text: Some(text) },
            None => Self { new_leaf_id: Some(target.id().clone()), editor_text: None },
        }
    }
}

/// The text of a user or custom message; `None` for other entries.
pub fn spoken_text(entry: &Entry) -> Option<String> {
    let (EntryBody::Message(message) | EntryBody::CustomMessage(message)) = entry.body() else {
        return None;
    };
    match message.body() {
        Body::User { content } | Body::Custom { content, .. } => Some(content.text("").into_owned()),
        _ => None,
    }
}

/// The input for a summary of an abandoned branch.
#[derive(Debug, Clone, Default)]
pub struct BranchPreparation {
    /// The newest messages that fit, in context order, without tool results.
    pub messages: Vec<PreparedMessage>,
    /// Files of all abandoned entries, with edits applied, including entries that did not fit.
    pub file_operations: FileOperations,
    /// The tools that identify file operations.
    pub file_tools: FileTools,
    /// Estimated tokens of `messages`.
    pub tokens: u64,
    /// Messages that did not fit.
    pub left_out: usize,
}

impl BranchPreparation {
    /// Prepares a summary of the `abandoned` entries (oldest first). `projection` is the context at
    /// their leaf. `budget` limits the tokens; `None` means no limit.
    ///
    /// The projection shows each message once and as the model saw it: without hidden content and
    /// without entries that a compaction on the branch already covers.
    pub fn of(projection: &Projection, abandoned: &[Arc<Entry>], budget: Option<u64>, tools: &FileTools) -> Self {
        let ids: HashSet<&EntryId> = abandoned.iter().map(|entry| entry.id()).collect();
        let visible = projection.entries().iter().filter(|projected| ids.contains(projected.entry.id()));
        let mut preparation =
            Self { file_operations: file_operations(abandoned, tools), file_tools: tools.clone(), ..Self::default() };
        let mut is_full = false;
        for (projected, message) in visible.rev().flat_map(included_messages) {
            is_full = is_full || !preparation.has_room(projected, message, budget);
            if is_full {
                preparation.left_out += 1;
            } else {
                preparation.tokens += message.tokens();
                let entry_id = projected.entry.id().clone();
                preparation.messages.push(PreparedMessage { entry_id, message: Arc::clone(message) });
            }
        }
        preparation.messages.reverse();
        preparation
    }

    /// Whether `message` still fits. A summary is dense, so it may overshoot while less than nine
    /// tenths of the budget are used.
    fn has_room(&self, projected: &ProjectedEntry, message: &Message, budget: Option<u64>) -> bool {
        let Some(budget) = budget else {
            return true;
        };
        let is_summary = matches!(projected.entry.body(), EntryBody::Compaction(_) | EntryBody::BranchSummary(_));
        let fits = self.tokens.saturating_add(message.tokens()) <= budget;
        fits || (is_summary && self.tokens.saturating_mul(10) < budget.saturating_mul(9))
    }
}

/// Tokens of input for a branch summary: the window minus the reserve, and at least a quarter of the
/// window.
pub fn branch_budget(context_window: u64, reserve_tokens: u64) -> u64 {
    context_window.saturating_sub(reserve_tokens).max(context_window / 4)
}

fn included_messages(projected: &ProjectedEntry) -> impl Iterator<Item = (&ProjectedEntry, &Arc<Message>)> {
    let is_included = |message: &&Arc<Message>| !matches!(message.body(), Body::ToolResult { .. } | Body::System(_));
    projected.messages.iter().rev().filter(is_included).map(move |message| (projected, message))
}

fn file_operations(abandoned: &[Arc<Entry>], tools: &FileTools) -> FileOperations {
    let edits = Edits::of(abandoned.iter().map(Arc::as_ref));
    let mut operations = FileOperations::default();
    for entry in abandoned {
        match entry.body() {
            EntryBody::Message(_) => {
                edits.messages(entry).iter().for_each(|message| operations.add_message(message, tools));
            }
            EntryBody::BranchSummary(branch) if branch.carries_files => operations.add_lists(&branch.files),
            EntryBody::Compaction(compaction) if compaction.carries_files => operations.add_lists(&compaction.files),
            _ => {}
        }
    }
    operations
}
