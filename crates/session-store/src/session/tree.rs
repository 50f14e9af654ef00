//! The whole tree as a flat list, so that its depth has no limit.

use std::collections::HashMap;

use compaction_core::entry::{Entry, EntryBody, EntryId, epoch_milliseconds};
use compaction_core::message::{Body, Message, blocks_text};

use crate::error::StoreError;
use crate::session::Session;

/// Characters of a preview at most.
const PREVIEW_CHARACTERS: usize = 120;

/// One entry in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    /// The entry's id.
    pub id: EntryId,
    /// The parent as stored, also where no entry has that id.
    pub parent_id: Option<EntryId>,
    /// The stored type.
    pub kind_name: String,
    /// The stored role, for messages.
    pub role: Option<String>,
    /// What it says, on one line of at most 120 characters.
    pub preview: String,
    /// Its label.
    pub label: Option<String>,
    /// The stored timestamp.
    pub timestamp: String,
    /// Ids of its children, the oldest timestamp first, equal ones in file order.
    pub children: Vec<EntryId>,
}

impl Session {
    /// All entries in file order. Reads every body for its preview; one that is broken has none.
    pub fn tree(&self) -> Result<Vec<TreeNode>, StoreError> {
        let index = self.index()?;
        let mut nodes = Vec::with_capacity(index.len());
        for record in index.current() {
            let entry = self.entry_or_header(&record)?;
            nodes.push(TreeNode {
                label: index.labels.get(&record.id).map(|label| label.text.clone()),
                id: record.id,
                parent_id: record.parent_id,
                kind_name: entry.kind_name().to_owned(),
                role: entry.message().map(|message| message.role().to_owned()),
                preview: preview(&entry),
                timestamp: entry.timestamp().to_owned(),
                children: Vec::new(),
            });
        }
        link_children(&mut nodes);
        Ok(nodes)
    }
}

/// Fills in the children. A time that cannot be read counts as the oldest.
fn link_children(nodes: &mut [TreeNode]) {
    let places: HashMap<EntryId, usize> = nodes.iter().enumerate().map(|(at, node)| (node.id.clone(), at)).collect();
    let times: Vec<Option<i64>> = nodes.iter().map(|node| epoch_milliseconds(&node.timestamp)).collect();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|&at| times[at]);
    for at in order {
        let parent = nodes[at].parent_id.as_ref().and_then(|id| places.get(id)).copied();
        if let Some(parent) = parent {
            let id = nodes[at].id.clone();
            nodes[parent].children.push(id);
        }
    }
}

fn preview(entry: &Entry) -> String {
    let text = match entry.body() {
        EntryBody::Message(message) | EntryBody::CustomMessage(message) => message_text(message),
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        EntryBody::Custom { custom_type, .. } => custom_type.clone(),
        EntryBody::Label { label, .. } => label.clone().unwrap_or_default(),
        EntryBody::ModelChange { provider, model_id } => format!("{provider}/{model_id}"),
        EntryBody::ThinkingLevelChange { thinking_level } => thinking_level.clone(),
        EntryBody::SessionInfo { name } => name.clone().unwrap_or_default(),
        EntryBody::ContextEdit { target_id, .. } => target_id.to_string(),
        EntryBody::Usage(_) | EntryBody::Other => String::new(),
    };
    one_line(&text, PREVIEW_CHARACTERS)
}

fn message_text(message: &Message) -> String {
    match message.body() {
        Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => {
            content.text(" ").into_owned()
        }
        Body::Assistant(assistant) => {
            let text = blocks_text(&assistant.content, " ");
            let calls = message.tool_calls().map(|call| format!("[{}]", call.name));
            [text.into_owned()].into_iter().filter(|text| !text.is_empty()).chain(calls).collect::<Vec<_>>().join(" ")
        }
        Body::BashExecution(execution) => format!("$ {}", execution.command),
        Body::System(system) => system.content.text(" ").into_owned(),
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => summary.clone(),
        Body::Other { .. } => String::new(),
    }
}

/// At most `limit` characters of `text` on one line, runs of white space and control characters
/// taken as one space.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let is_break = |character: char| character.is_whitespace() || character.is_control();
    let mut out = String::new();
    let mut count = 0;
    for word in text.split(is_break).filter(|word| !word.is_empty()) {
        if count > 0 {
            out.push(' ');
            count += 1;
        }
        for character in word.chars() {
            if count >= limit {
                out.push('…');
                return out;
            }
            out.push(character);
            count += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_are_short_and_on_one_line() {
        assert_eq!(one_line("  a\n\tb\u{1b} c ", 10), "a b c");
        assert_eq!(one_line("äöü xyz", 5), "äöü x…");
        assert_eq!(one_line("abc", 3), "abc");
        assert_eq!(one_line(&"x".repeat(1 << 20), 5), "xxxxx…");
    }
}
