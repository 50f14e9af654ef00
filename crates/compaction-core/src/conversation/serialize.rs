//! The text that a summarizer reads, in full and shortened (docs/summaries.md, "Serialisation").

use std::borrow::Cow;
use std::fmt::Debug;

use super::{bash_text, branch_summary_text, compaction_summary_text};
use crate::json::Json;
use crate::message::{BashExecution, Block, Body, Message, ToolCall, blocks_text};
use crate::text::{prefix_utf16, utf16_len};

/// UTF-16 units of a tool result that a summarizer sees.
const TOOL_RESULT_UNITS: usize = 2000;

/// Removes secrets from a text. It runs before a text is cut, because half a secret is not recognised.
pub trait Redact: Debug {
    /// `text` without secrets; the same text if it has none.
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str>;
}

/// Whether a summarizer reads the model's thinking.
///
/// Providers often return only a summary of it, and models often do not see their own earlier thinking.
/// Answers, tool calls and results say what happened, and the request stays smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thinking {
    /// Thinking is left out.
    #[default]
    Excluded,
    /// Thinking precedes each answer.
    Included,
}

/// How much of a message is serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Whether thinking is included.
    pub(crate) has_thinking: bool,
    /// Maximum UTF-16 units of each tool result, tool call argument and command output; `None` for the
    /// limits of the format.
    pub(crate) units: Option<usize>,
}

impl Detail {
    /// Everything that the format includes, with or without thinking.
    pub(crate) fn full(thinking: Thinking) -> Self {
        Self { has_thinking: thinking == Thinking::Included, units: None }
    }

    fn result_units(&self) -> usize {
        self.units.map_or(TOOL_RESULT_UNITS, |units| units.min(TOOL_RESULT_UNITS))
    }
}

/// Serialises messages as one text. A summarizer then reads a conversation instead of continuing it.
///
/// Takes messages in either format. Parts are joined by a blank line; images are dropped.
pub fn serialize_conversation<'a>(messages: impl IntoIterator<Item = &'a Message>, thinking: Thinking) -> String {
    let mut out = Parts::default();
    for message in messages {
        out.add_body(&message.read_body(), &Detail::full(thinking));
    }
    out.text
}

/// Serialises the body of one message; empty if a summarizer sees nothing of it. Joined by blank lines, the texts
/// that are not empty are the text of the conversation. `redact` sees texts before they are cut.
pub(crate) fn serialize_body(body: &Body, detail: &Detail, redact: Option<&dyn Redact>) -> String {
    let mut out = Parts { redact, ..Parts::default() };
    out.add_body(body, detail);
    out.text
}

#[derive(Default)]
struct Parts<'r> {
    text: String,
    redact: Option<&'r dyn Redact>,
}

impl Parts<'_> {
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

    fn add_body(&mut self, body: &Body, detail: &Detail) {
        match body {
            Body::User { content } | Body::Custom { content, .. } => self.add_user(&content.text("")),
            Body::Assistant(assistant) => self.add_answer(&assistant.content, detail),
            Body::ToolResult { content, .. } => {
                let text = content.text("");
                if !text.is_empty() {
                    self.add("Tool result", &self.shortened(&text, Some(detail.result_units())));
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
            self.add_user(&bash_text(bash, self.shortened(&bash.output, detail.units)));
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
        let calls: Vec<String> = content.iter().filter_map(call).map(|call| self.call(call, detail)).collect();
        if !calls.is_empty() {
            self.add("Assistant tool calls", &calls.join("; "));
        }
    }

    fn call(&self, call: &ToolCall, detail: &Detail) -> String {
        let argument = |value: &Json<'_>| self.shortened(&value.to_compact(), detail.units).into_owned();
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

    /// The first `units` UTF-16 units of `text`, with a note about the rest.
    fn shortened<'t>(&self, text: &'t str, units: Option<usize>) -> Cow<'t, str> {
        let is_whole = |text: &str| units.is_none_or(|units| prefix_utf16(text, units).len() == text.len());
        if is_whole(text) {
            return Cow::Borrowed(text);
        }
        let text = self.redact.map_or(Cow::Borrowed(text), |redact| redact.redact(text));
        if is_whole(&text) {
            return text;
        }
        let kept = units.map_or(text.as_ref(), |units| prefix_utf16(&text, units));
        let left_out = utf16_len(&text[kept.len()..]);
        Cow::Owned(format!("{kept}\n\n[{left_out} more characters]"))
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
