//! Conversations as models get them: messages of the three roles that every model knows, and the
//! text that a summarizer reads (session spec, What the model sees; compaction spec, Serialisation).

use std::collections::HashSet;
use std::sync::Arc;

use crate::json::Json;
use crate::message::{BashExecution, Block, Body, Content, Message, ToolCall, blocks_text};
use crate::projection::Projection;
use crate::text::{prefix_utf16, utf16_len};

/// UTF-16 units of a tool result that a summarizer gets to see.
const TOOL_RESULT_UNITS: usize = 2000;

/// The context in `llm` format: user, assistant and toolResult alone. A tool result whose call is
/// not before it in the context is left out, since models refuse it; the projection's diagnostics
/// name it.
pub fn llm_context(projection: &Projection) -> Vec<Arc<Message>> {
    let mut calls = HashSet::new();
    let mut context = Vec::new();
    for message in projection.shared_messages() {
        calls.extend(message.tool_calls().map(|call| call.id.as_str()));
        if let Body::ToolResult { tool_call_id, .. } = message.body()
            && !calls.contains(tool_call_id.as_str())
        {
            continue;
        }
        context.extend(llm_message(message));
    }
    context
}

/// A message in `llm` format; `None` for those that models do not see as messages.
pub fn llm_message(message: &Arc<Message>) -> Option<Arc<Message>> {
    let user = |text: &str| Some(Arc::new(Message::user_text(text, message.timestamp())));
    match message.body() {
        Body::User { .. } | Body::Assistant(_) | Body::ToolResult { .. } => Some(Arc::clone(message)),
        Body::Custom { content: Content::Text(text), .. } => user(text),
        Body::Custom { .. } => message.as_user().map(Arc::new),
        Body::BashExecution(bash) if bash.exclude_from_context => None,
        Body::BashExecution(bash) => user(&bash_text(bash)),
        Body::CompactionSummary { summary, .. } => user(&compaction_summary_text(summary)),
        Body::BranchSummary { summary, .. } => user(&branch_summary_text(summary)),
        Body::System(_) | Body::Other { .. } => None,
    }
}

/// What a model reads of a command that the person ran.
fn bash_text(bash: &BashExecution) -> String {
    let mut text = format!("Ran `{}`\n", bash.command);
    match bash.output.as_str() {
        "" => text.push_str("(no output)"),
        output => text.push_str(&format!("```\n{output}\n```")),
    }
    match bash.exit_code {
        _ if bash.cancelled => text.push_str("\n\n(cancelled)"),
        Some(code) if code != 0 => text.push_str(&format!("\n\nExit code {code}")),
        _ => {}
    }
    if let (true, Some(path)) = (bash.truncated, &bash.full_output_path) {
        text.push_str(&format!("\n\n[Full output: {path}]"));
    }
    text
}

fn compaction_summary_text(summary: &str) -> String {
    enclosed("Earlier parts of this conversation are no longer shown. This summary stands in their place:", summary)
}

fn branch_summary_text(summary: &str) -> String {
    enclosed(
        "Another branch of this conversation was followed and then left. This summary tells what happened there:",
        summary,
    )
}

/// A summary inside its element, which it cannot end.
fn enclosed(introduction: &str, summary: &str) -> String {
    let summary = summary.replace("</summary", "<\\/summary");
    format!("{introduction}\n\n<summary>\n{summary}\n</summary>")
}

/// Messages as one text, so that a summarizer reads a conversation and does not continue it.
///
/// Takes messages in either format. Parts are joined by a blank line; images are dropped.
pub fn serialize_conversation<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let mut out = Parts::default();
    for message in messages {
        serialize_message(message, &mut out);
    }
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
}

fn serialize_message(message: &Message, out: &mut Parts) {
    match message.body() {
        Body::User { content } | Body::Custom { content, .. } => out.add_user(&content.text("")),
        Body::Assistant(assistant) => serialize_answer(&assistant.content, out),
        Body::ToolResult { content, .. } => {
            let text = content.text("");
            if !text.is_empty() {
                out.add("Tool result", &cut_result(&text));
            }
        }
        Body::BashExecution(bash) if bash.exclude_from_context => {}
        Body::BashExecution(bash) => out.add_user(&bash_text(bash)),
        Body::CompactionSummary { summary, .. } => out.add_user(&compaction_summary_text(summary)),
        Body::BranchSummary { summary, .. } => out.add_user(&branch_summary_text(summary)),
        Body::System(_) | Body::Other { .. } => {}
    }
}

fn serialize_answer(content: &[Block], out: &mut Parts) {
    let thinking: Vec<&str> = content
        .iter()
        .filter_map(|block| match block {
            Block::Thinking(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if !thinking.is_empty() {
        out.add("Assistant thinking", &thinking.join("\n"));
    }
    if content.iter().any(|block| matches!(block, Block::Text(_))) {
        out.add("Assistant", &blocks_text(content, "\n"));
    }
    let calls: Vec<String> = content
        .iter()
        .filter_map(|block| match block {
            Block::ToolCall(call) => Some(serialize_call(call)),
            _ => None,
        })
        .collect();
    if !calls.is_empty() {
        out.add("Assistant tool calls", &calls.join("; "));
    }
}

fn serialize_call(call: &ToolCall) -> String {
    let arguments = match &call.arguments {
        Some(Json::Object(members)) => {
            let members = members.iter().map(|(key, value)| format!("{key}={}", value.to_compact()));
            members.collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_compact(),
        None => String::new(),
    };
    format!("{}({arguments})", call.name)
}

fn cut_result(text: &str) -> String {
    let kept = prefix_utf16(text, TOOL_RESULT_UNITS);
    if kept.len() == text.len() {
        return text.to_owned();
    }
    let left_out = utf16_len(&text[kept.len()..]);
    format!("{kept}\n\n[{left_out} more characters]")
}
