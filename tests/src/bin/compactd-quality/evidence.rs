//! The texts of messages: what people, models and calls said, with or without what tools printed.

use compaction_core::json::Json;
use compaction_core::message::{Block, Body, Content, Message};
use compaction_core::preparation::PreparedMessage;

/// Text of messages: prose and arguments of calls, and results where they are wanted.
pub(crate) fn texts(messages: &[PreparedMessage], with_results: bool) -> String {
    let mut out = String::new();
    messages.iter().for_each(|prepared| add(&prepared.message, with_results, &mut out));
    out
}

fn add(message: &Message, with_results: bool, out: &mut String) {
    match message.body() {
        Body::User { content } | Body::Custom { content, .. } => add_content(content, out),
        Body::ToolResult { content, .. } if with_results => add_content(content, out),
        Body::Assistant(assistant) => assistant.content.iter().for_each(|block| add_block(block, out)),
        Body::BashExecution(bash) => add_text(&bash.command, out),
        _ => {}
    }
}

fn add_content(content: &Content, out: &mut String) {
    add_text(&content.text("\n"), out);
}

fn add_block(block: &Block, out: &mut String) {
    match block {
        Block::Text(text) => add_text(text, out),
        Block::ToolCall(call) => {
            let mut values: Vec<&Json<'static>> = call.arguments.iter().collect();
            while let Some(value) = values.pop() {
                match value {
                    Json::String(text) => add_text(text, out),
                    Json::Array(items) => values.extend(items),
                    Json::Object(members) => values.extend(members.iter().map(|(_, value)| value)),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn add_text(text: &str, out: &mut String) {
    out.push_str(text);
    out.push('\n');
}
