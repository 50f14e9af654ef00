//! The whole text of an entry, for callers that need it after a summary has replaced the entry.

use std::ops::Range;

use crate::entry::{Entry, EntryBody};
use crate::json::Json;
use crate::message::{Block, Body, Content, Message};

/// Placeholder for an image.
pub const IMAGE: &str = "[image]";

/// The text of an entry and the positions of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryText {
    /// The text, as [`entry_text`] returns it.
    pub text: String,
    /// Its parts in order. One line break separates two parts.
    pub parts: Vec<Part>,
}

/// A part of the text of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its position in the list of content blocks; `None` if the content is not a list.
    pub block: Option<usize>,
    /// Its byte range in the text.
    pub range: Range<usize>,
}

/// The kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// Text, including that of a tool result.
    Text,
    /// A tool call: `name(arguments)`.
    ToolCall,
    /// An image, written as [`IMAGE`].
    Image,
    /// A command that the person ran, after `$ `.
    Command,
    /// The output of that command.
    Output,
    /// A summary.
    Summary,
}

impl EntryText {
    /// Reads an entry.
    pub fn of(entry: &Entry) -> Self {
        let mut whole = Self::default();
        match entry.body() {
            EntryBody::Message(message) | EntryBody::CustomMessage(message) => whole.add_message(message),
            EntryBody::Compaction(compaction) => whole.add(PartKind::Summary, None, &compaction.summary),
            EntryBody::BranchSummary(branch) => whole.add(PartKind::Summary, None, &branch.summary),
            _ => {}
        }
        whole
    }

    fn add_message(&mut self, message: &Message) {
        match message.body() {
            Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => {
                self.add_content(content);
            }
            Body::Assistant(assistant) => self.add_blocks(&assistant.content),
            Body::BashExecution(bash) => {
                self.add(PartKind::Command, None, &format!("$ {}", bash.command));
                self.add(PartKind::Output, None, &bash.output);
            }
            Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => {
                self.add(PartKind::Summary, None, summary);
            }
            Body::System(system) => self.add_content(&system.content),
            Body::Other { .. } => {}
        }
    }

    fn add_content(&mut self, content: &Content) {
        match content {
            Content::Text(text) => self.add(PartKind::Text, None, text),
            Content::Blocks(blocks) => self.add_blocks(blocks),
        }
    }

    fn add_blocks(&mut self, blocks: &[Block]) {
        for (at, block) in blocks.iter().enumerate() {
            match block {
                Block::Text(text) => self.add(PartKind::Text, Some(at), text),
                Block::Image => self.add(PartKind::Image, Some(at), IMAGE),
                Block::ToolCall(call) => {
                    let arguments = call.arguments.as_ref().map_or(String::new(), Json::to_compact);
                    self.add(PartKind::ToolCall, Some(at), &format!("{}({arguments})", call.name));
                }
                Block::Thinking(_) | Block::Other => {}
            }
        }
    }

    fn add(&mut self, kind: PartKind, block: Option<usize>, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text.push_str(text);
        self.parts.push(Part { kind, block, range: start..self.text.len() });
    }
}

/// The text of an entry: texts verbatim, tool calls as `name(arguments)`, a command with its output,
/// images as [`IMAGE`]. Empty for metadata. Thinking is left out, because models do not see the
/// thinking of earlier answers.
pub fn entry_text(entry: &Entry) -> String {
    EntryText::of(entry).text
}

/// The text of a message, as [`entry_text`] gives it.
pub fn message_text(message: &Message) -> String {
    let mut whole = EntryText::default();
    whole.add_message(message);
    whole.text
}
