//! What a summary has to beat: texts of the same size that nobody thought about.

use compaction_core::message::{Block, Body, Message};
use compaction_core::text::prefix_utf16;

/// UTF-16 units of a message that clipped talk holds at most.
const MOST_SAID: usize = 400;

/// What persons and models said, each message cut.
pub(crate) fn clipped_talk<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let said = |message: &Message| {
        let (speaker, text) = spoken(message)?;
        Some(format!("[{speaker}]: {}", prefix_utf16(text.trim(), MOST_SAID)))
    };
    messages.filter_map(said).collect::<Vec<_>>().join("\n\n")
}

/// Everything: what was said, what was called, what came back.
pub(crate) fn everything<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    messages.flat_map(parts).collect::<Vec<_>>().join("\n\n")
}

/// Who says something, and what.
fn spoken(message: &Message) -> Option<(&'static str, String)> {
    let (speaker, text) = match message.body() {
        Body::User { content } => ("User", content.text("\n").into_owned()),
        Body::Assistant(assistant) => {
            let text = |block: &Block| match block {
                Block::Text(text) => Some(text.clone()),
                _ => None,
            };
            ("Assistant", assistant.content.iter().filter_map(text).collect::<Vec<_>>().join("\n"))
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some((speaker, text))
}

fn parts(message: &Message) -> Vec<String> {
    let mut parts: Vec<String> =
        spoken(message).map(|(speaker, text)| format!("[{speaker}]: {text}")).into_iter().collect();
    match message.body() {
        Body::Assistant(assistant) => parts.extend(assistant.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => {
                let arguments = call.arguments.as_ref().map(|arguments| arguments.to_compact()).unwrap_or_default();
                Some(format!("[Assistant tool calls]: {}({arguments})", call.name))
            }
            _ => None,
        })),
        Body::ToolResult { content, .. } => parts.push(format!("[Tool result]: {}", content.text("\n"))),
        Body::BashExecution(bash) => parts.push(format!("[Command]: {}\n{}", bash.command, bash.output)),
        Body::Custom { content, .. } => parts.push(format!("[Note]: {}", content.text("\n"))),
        _ => {}
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_is_clipped_and_everything_is_whole() {
        let long = "x".repeat(500);
        let messages = [
            format!(r#"{{"role":"user","content":"{long}"}}"#),
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":" Yes. "},{"type":"toolCall","id":"a","name":"read","arguments":{"path":"p"}}]}"#.to_owned(),
            r#"{"role":"toolResult","toolCallId":"a","toolName":"read","content":[{"type":"text","text":"r"}],"isError":false}"#.to_owned(),
            r#"{"role":"assistant","content":[]}"#.to_owned(),
        ];
        let messages = messages.map(|json| Message::from_json(&json).unwrap());
        assert_eq!(clipped_talk(messages.iter()), format!("[User]: {}\n\n[Assistant]: Yes.", &long[..400]));
        let whole = format!(
            "[User]: {long}\n\n[Assistant]:  Yes. \n\n[Assistant tool calls]: read({{\"path\":\"p\"}})\n\n[Tool result]: r"
        );
        assert_eq!(everything(messages.iter()), whole);
    }
}
