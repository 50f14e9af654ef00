//! The text of an entry, as it is searched.

use compaction_core::entry::{Entry, EntryBody};
use compaction_core::json::Json;
use compaction_core::message::{Block, Body, Content, Message};

/// What an entry says, its parts on lines of their own: texts and thinking, names and arguments of
/// tool calls, commands and their output, summaries. Empty for metadata and data of extensions.
///
/// Every part is text of the entry's JSON, decoded and otherwise unchanged, as the filter before it
/// looks at the JSON.
pub(super) fn of(entry: &Entry) -> String {
    let mut text = String::new();
    match entry.body() {
        EntryBody::Message(message) | EntryBody::CustomMessage(message) => add_message(&mut text, message),
        EntryBody::Compaction(compaction) => add(&mut text, &compaction.summary),
        EntryBody::BranchSummary(branch) => add(&mut text, &branch.summary),
        _ => {}
    }
    text
}

/// The text in the form in which texts are compared.
pub(super) fn fold_text(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(fold).collect() }
}

/// A character in lower case, if that is one character; characters beyond ASCII stay beyond it, so that
/// ASCII in a query is found by looking for ASCII.
pub(super) fn fold(character: char) -> char {
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(folded), None) if character.is_ascii() || !folded.is_ascii() => folded,
        _ => character,
    }
}

fn add(text: &mut String, part: &str) {
    if !part.is_empty() {
        text.push_str(part);
        text.push('\n');
    }
}

fn add_message(text: &mut String, message: &Message) {
    match message.body() {
        Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => {
            add_content(text, content);
        }
        Body::Assistant(assistant) => {
            assistant.content.iter().for_each(|block| add_block(text, block));
            add(text, assistant.error_message.as_deref().unwrap_or_default());
        }
        Body::BashExecution(execution) => {
            add(text, &execution.command);
            add(text, &execution.output);
        }
        Body::System(system) => {
            add_content(text, &system.content);
            system.sections.iter().for_each(|(_, section)| add(text, section.as_deref().unwrap_or_default()));
        }
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => add(text, summary),
        Body::Other { .. } => {}
    }
}

fn add_content(text: &mut String, content: &Content) {
    match content {
        Content::Text(part) => add(text, part),
        Content::Blocks(blocks) => blocks.iter().for_each(|block| add_block(text, block)),
    }
}

fn add_block(text: &mut String, block: &Block) {
    match block {
        Block::Text(part) | Block::Thinking(part) => add(text, part),
        Block::ToolCall(call) => {
            add(text, &call.name);
            call.arguments.iter().for_each(|arguments| add_value(text, arguments));
        }
        Block::Image | Block::Other => {}
    }
}

/// Names and texts; numbers can be written in more than one way, so that they are left out.
fn add_value(text: &mut String, value: &Json<'_>) {
    match value {
        Json::String(part) => add(text, part),
        Json::Array(items) => items.iter().for_each(|item| add_value(text, item)),
        Json::Object(members) => members.iter().for_each(|(name, value)| {
            add(text, name);
            add_value(text, value);
        }),
        Json::Deep(part) => add(text, part),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
