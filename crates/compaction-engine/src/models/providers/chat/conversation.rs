//! A conversation as messages of chat completions.

use compaction_core::conversation::Prefix;
use compaction_core::json::encode_string;

use super::super::conversation::{
    self, Part, TextResults, data_url, joined, list, object_or_empty, system_text, with_text_results,
};

/// Members in which servers send thinking, and take it back.
const THINKING_MEMBERS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The messages of chat completions.
struct Messages;

impl TextResults for Messages {
    fn user(&self, parts: &[Part<'_>]) -> Option<String> {
        by_user(parts)
    }

    fn answer(&self, parts: &[Part<'_>], out: &mut Vec<String>) {
        out.extend(by_model(parts));
    }

    fn result(&self, call_id: &str, text: &str) -> String {
        format!(r#"{{"role":"tool","content":{},"tool_call_id":{}}}"#, encode_string(text), encode_string(call_id))
    }
}

/// The prompt, the conversation, and the instruction behind them.
pub(super) fn messages(prefix: &Prefix, instruction: &str) -> String {
    let mut out = Vec::new();
    let system = system_text(prefix);
    if !system.is_empty() {
        out.push(format!(r#"{{"role":"system","content":{}}}"#, encode_string(system)));
    }
    with_text_results(prefix, &Messages, &mut out);
    out.push(format!(r#"{{"role":"user","content":{}}}"#, encode_string(instruction)));
    list(&out)
}

/// The tools.
pub(super) fn tool_list(prefix: &Prefix) -> Option<String> {
    conversation::tool_list(prefix, |tool| {
        let parameters = object_or_empty(tool.parameters);
        format!(
            r#"{{"type":"function","function":{{"name":{},"description":{},"parameters":{parameters}}}}}"#,
            tool.name, tool.description
        )
    })
}

fn by_user(parts: &[Part<'_>]) -> Option<String> {
    let content = match parts {
        [] => return None,
        [Part::Text(text)] => encode_string(text),
        parts => list(&parts.iter().filter_map(content).collect::<Vec<_>>()),
    };
    Some(format!(r#"{{"role":"user","content":{content}}}"#))
}

fn content(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Text(text) => Some(format!(r#"{{"type":"text","text":{}}}"#, encode_string(text))),
        Part::Image { mime_type, data } => {
            Some(format!(r#"{{"type":"image_url","image_url":{{"url":{}}}}}"#, data_url(mime_type, data)))
        }
        _ => None,
    }
}

fn by_model(parts: &[Part<'_>]) -> Option<String> {
    let text = joined(parts, "");
    let calls: Vec<String> = parts.iter().filter_map(call).collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if text.is_empty() { "null".to_owned() } else { encode_string(&text) };
    let mut message = format!(r#"{{"role":"assistant","content":{content}"#);
    if let Some((member, thinking)) = thinking(parts) {
        message.push_str(&format!(r#","{member}":{}"#, encode_string(&thinking)));
    }
    if !calls.is_empty() {
        message.push_str(&format!(r#","tool_calls":{}"#, list(&calls)));
    }
    message.push('}');
    Some(message)
}

fn call(part: &Part<'_>) -> Option<String> {
    let Part::Call { id, name, arguments } = part else {
        return None;
    };
    Some(format!(
        r#"{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}"#,
        encode_string(id),
        encode_string(name),
        encode_string(arguments)
    ))
}

/// Thinking goes back in the member in which it came, which stands in place of a signature.
fn thinking(parts: &[Part<'_>]) -> Option<(&'static str, String)> {
    let thoughts: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking { text, signature, .. } => Some((text.as_ref(), signature.as_deref())),
            _ => None,
        })
        .collect();
    let (_, signature) = thoughts.first()?;
    let member = THINKING_MEMBERS.into_iter().find(|member| *signature == Some(*member))?;
    let texts: Vec<&str> = thoughts.iter().map(|(text, _)| *text).collect();
    Some((member, texts.join("\n")))
}
