//! What an entry says, whole: for those who want it back when a summary stands in its place.

use crate::entry::{Entry, EntryBody};
use crate::message::{Block, Body, Content, Message};

/// What stands where an entry has an image.
pub const IMAGE: &str = "[image]";

/// The text of an entry: texts as they are, tool calls as `name(arguments)`, a command with its
/// output, images as [`IMAGE`]. Empty for metadata. Thinking is left out, as models are not shown
/// that of earlier answers.
pub fn entry_text(entry: &Entry) -> String {
    match entry.body() {
        EntryBody::Message(message) | EntryBody::CustomMessage(message) => message_text(message),
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        _ => String::new(),
    }
}

/// The text of a message, as [`entry_text`] gives it.
pub fn message_text(message: &Message) -> String {
    match message.body() {
        Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => match content {
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => blocks_text(blocks),
        },
        Body::Assistant(assistant) => blocks_text(&assistant.content),
        Body::BashExecution(bash) => lines(["$ ".to_owned() + &bash.command, bash.output.clone()]),
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => summary.clone(),
        Body::System(system) => match &system.content {
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => blocks_text(blocks),
        },
        Body::Other { .. } => String::new(),
    }
}

fn blocks_text(blocks: &[Block]) -> String {
    lines(blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.clone()),
        Block::Image => Some(IMAGE.to_owned()),
        Block::ToolCall(call) => {
            let arguments = call.arguments.as_ref().map_or(String::new(), |arguments| arguments.to_compact());
            Some(format!("{}({arguments})", call.name))
        }
        Block::Thinking(_) | Block::Other => None,
    }))
}

fn lines(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}
