//! The text that a summarizer reads (compaction spec, Serialisation), and how it gets shorter.

use std::borrow::Cow;

use super::{bash_text, branch_summary_text, compaction_summary_text};
use crate::json::Json;
use crate::message::{BashExecution, Block, Body, Message, ToolCall, blocks_text};
use crate::text::{prefix_utf16, utf16_len};

/// UTF-16 units of a tool result that a summarizer gets to see.
const TOOL_RESULT_UNITS: usize = 2000;

/// How much of a message is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Whether the model's reasoning is told.
    pub(crate) has_thinking: bool,
    /// UTF-16 units that are told of each tool result, each argument of a tool call and each output
    /// of a command; `None` for what the format itself prescribes.
    pub(crate) units: Option<usize>,
}

impl Detail {
    /// All that the format tells.
    pub(crate) const FULL: Self = Self { has_thinking: true, units: None };

    fn result_units(&self) -> usize {
        self.units.map_or(TOOL_RESULT_UNITS, |units| units.min(TOOL_RESULT_UNITS))
    }
}

/// Messages as one text, so that a summarizer reads a conversation and does not continue it.
///
/// Takes messages in either format. Parts are joined by a blank line; images are dropped.
pub fn serialize_conversation<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let mut out = Parts::default();
    for message in messages {
        out.add_message(message, &Detail::FULL);
    }
    out.text
}

/// One message as text; empty if a summarizer sees nothing of it. The texts of several messages,
/// those that are not empty joined by a blank line, are the text of the conversation.
pub(crate) fn serialize_message(message: &Message, detail: &Detail) -> String {
    let mut out = Parts::default();
    out.add_message(message, detail);
    out.text
}

#[derive(Default)]
struct Parts {
    text: String,
}

impl Parts {
    fn add(&mut self, speaker: &str, what: &str) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push('[');
        self.text.push_str(speaker);
        self.text.push_str("]: ");
        self.text.push_str(what);
    }

    fn add_user(&mut self, what: &str) {
        if !what.is_empty() {
            self.add("User", what);
        }
    }

    fn add_message(&mut self, message: &Message, detail: &Detail) {
        match message.body() {
            Body::User { content } | Body::Custom { content, .. } => self.add_user(&content.text("")),
            Body::Assistant(assistant) => self.add_answer(&assistant.content, detail),
            Body::ToolResult { content, .. } => {
                let text = content.text("");
                if !text.is_empty() {
                    self.add("Tool result", &shortened(&text, Some(detail.result_units())));
                }
            }
            Body::BashExecution(bash) => self.add_bash(bash, detail),
            Body::CompactionSummary { summary, .. } => self.add_user(&compaction_summary_text(summary)),
            Body::BranchSummary { summary, .. } => self.add_user(&branch_summary_text(summary)),
            Body::System(_) | Body::Other { .. } => {}
        }
    }

    fn add_bash(&mut self, bash: &BashExecution, detail: &Detail) {
        if !bash.exclude_from_context {
            self.add_user(&bash_text(bash, shortened(&bash.output, detail.units)));
        }
    }

    fn add_answer(&mut self, content: &[Block], detail: &Detail) {
        let thinking: Vec<&str> = content.iter().filter_map(thinking).collect();
        if detail.has_thinking && !thinking.is_empty() {
            self.add("Assistant thinking", &thinking.join("\n"));
        }
        if content.iter().any(|block| matches!(block, Block::Text(_))) {
            self.add("Assistant", &blocks_text(content, "\n"));
        }
        let calls: Vec<String> = content.iter().filter_map(call).map(|call| serialize_call(call, detail)).collect();
        if !calls.is_empty() {
            self.add("Assistant tool calls", &calls.join("; "));
        }
    }
}

fn thinking(block: &Block) -> Option<&str> {
    match block {
        Block::Thinking(text) => Some(text),
        _ => None,
    }
}

fn call(block: &Block) -> Option<&ToolCall> {
    match block {
        Block::ToolCall(call) => Some(call),
        _ => None,
    }
}

fn serialize_call(call: &ToolCall, detail: &Detail) -> String {
    let argument = |value: &Json<'_>| shortened(&value.to_compact(), detail.units).into_owned();
    let arguments = match &call.arguments {
        Some(Json::Object(members)) => {
            let members = members.iter().map(|(key, value)| format!("{key}={}", argument(value)));
            members.collect::<Vec<_>>().join(", ")
        }
        Some(other) => argument(other),
        None => String::new(),
    };
    format!("{}({arguments})", call.name)
}

/// The beginning of `text`, at most `units` UTF-16 units of it, and how much follows.
fn shortened(text: &str, units: Option<usize>) -> Cow<'_, str> {
    let kept = units.map_or(text, |units| prefix_utf16(text, units));
    if kept.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let left_out = utf16_len(&text[kept.len()..]);
    Cow::Owned(format!("{kept}\n\n[{left_out} more characters]"))
}
