//! Conversations in the forms that models read: messages with the three roles that every model knows,
//! and the text for a summarizer (docs/projection.md, "Messages for a model"; docs/summaries.md,
//! "Serialisation").

mod pairing;
mod prefix;
mod serialize;

use std::borrow::Cow;
use std::sync::Arc;

use crate::message::{BashExecution, Body, Content, Message};
use crate::projection::Projection;

pub(crate) use serialize::{Detail, serialize_message};
pub use serialize::{Redact, Thinking, serialize_conversation};

pub use pairing::LlmContext;
pub use prefix::{CachedInput, LastAnswer, Prefix, SystemPrompt};

/// The context in `llm` format: see [`LlmContext`].
pub fn llm_context(projection: &Projection) -> Vec<Arc<Message>> {
    LlmContext::of(projection).into_messages()
}

/// A message in `llm` format; `None` if models do not see it.
pub fn llm_message(message: &Arc<Message>) -> Option<Arc<Message>> {
    let user = |text: &str| Some(Arc::new(Message::user_text(text, message.time())));
    if matches!(message.role(), "user" | "assistant" | "toolResult") {
        return Some(Arc::clone(message));
    }
    match message.body() {
        Body::Custom { content: Content::Text(text), .. } => user(text),
        Body::Custom { .. } => message.as_user().map(Arc::new),
        Body::BashExecution(bash) if bash.exclude_from_context => None,
        Body::BashExecution(bash) => user(&bash_text(bash, Cow::Borrowed(&bash.output))),
        Body::CompactionSummary { summary, .. } => user(&compaction_summary_text(summary)),
        Body::BranchSummary { summary, .. } => user(&branch_summary_text(summary)),
        _ => None,
    }
}

/// The text for a command that the person ran, with `output` as its output.
fn bash_text(bash: &BashExecution, output: Cow<'_, str>) -> String {
    let mut text = format!("Ran `{}`\n", bash.command);
    match output.as_ref() {
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

/// Wraps a summary in its element. A closing tag inside it is escaped.
fn enclosed(introduction: &str, summary: &str) -> String {
    let summary = summary.replace("</summary", "<\\/summary");
    format!("{introduction}\n\n<summary>\n{summary}\n</summary>")
}
