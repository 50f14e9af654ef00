//! A conversation as Anthropic's messages.

use compaction_core::conversation::Prefix;
use compaction_core::json::{Json, encode_string};

use super::super::conversation::{self, ONLY_IMAGES, Part, Said, has_image, joined, list, object_or_empty, said};

/// A mark behind which the provider looks for what it keeps, and keeps it.
const MARK: &str = r#"{"type":"ephemeral"}"#;

/// The conversation, marked at its end, and the instruction behind it.
pub(super) fn messages(prefix: &Prefix, instruction: &str) -> String {
    let mut out = conversation(prefix);
    mark(&mut out);
    let mut json: Vec<String> = out.iter().map(Sent::to_json).collect();
    json.push(format!(r#"{{"role":"user","content":{}}}"#, encode_string(instruction)));
    list(&json)
}

/// The prompt, marked too: it is kept even where the messages are not.
pub(super) fn system(text: &str) -> String {
    format!(r#"[{{"type":"text","text":{},"cache_control":{MARK}}}]"#, encode_string(text))
}

/// The tools.
pub(super) fn tool_list(prefix: &Prefix) -> Option<String> {
    conversation::tool_list(prefix, |tool| {
        let member = |key: &str| tool.parameters.and_then(|parameters| parameters.get(key));
        let required = member("required").map_or_else(|| "[]".to_owned(), Json::to_compact);
        format!(
            r#"{{"name":{},"description":{},"input_schema":{{"type":"object","properties":{},"required":{required}}}}}"#,
            tool.name,
            tool.description,
            object_or_empty(member("properties")),
        )
    })
}

/// One message.
struct Sent {
    role: &'static str,
    /// Its content, never empty. A plain text is the same as one block of text.
    blocks: Vec<String>,
}

impl Sent {
    fn to_json(&self) -> String {
        format!(r#"{{"role":"{}","content":{}}}"#, self.role, list(&self.blocks))
    }
}

fn conversation(prefix: &Prefix) -> Vec<Sent> {
    let mut out: Vec<Sent> = Vec::new();
    let mut is_after_result = false;
    for said in said(prefix) {
        let is_result = matches!(said, Said::Result { .. });
        match said {
            Said::User(parts) => out.extend(sent("user", parts.iter().filter_map(block).collect())),
            Said::Answer(parts) => {
                let blocks: Vec<String> = parts.iter().filter_map(block_of_model).collect();
                out.extend(sent("assistant", blocks));
            }
            Said::Result { call_id, parts, is_error } => {
                let block = format!(
                    r#"{{"type":"tool_result","tool_use_id":{},"content":{},"is_error":{is_error}}}"#,
                    encode_string(&call_name(&call_id)),
                    result(&parts)
                );
                // The results of one answer are one message.
                match out.last_mut().filter(|_| is_after_result) {
                    Some(last) => last.blocks.push(block),
                    None => out.extend(sent("user", vec![block])),
                }
            }
        }
        is_after_result = is_result;
    }
    out
}

fn sent(role: &'static str, blocks: Vec<String>) -> Option<Sent> {
    (!blocks.is_empty()).then_some(Sent { role, blocks })
}

fn block(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(text_block(text)),
        Part::Image { mime_type, data } => Some(format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":{},"data":{}}}}}"#,
            encode_string(mime_type),
            encode_string(data)
        )),
        _ => None,
    }
}

fn block_of_model(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Thinking { signature: Some(signature), is_redacted: true, .. } => {
            Some(format!(r#"{{"type":"redacted_thinking","data":{}}}"#, encode_string(signature)))
        }
        Part::Thinking { text, signature: Some(signature), .. } => Some(format!(
            r#"{{"type":"thinking","thinking":{},"signature":{}}}"#,
            encode_string(text),
            encode_string(signature)
        )),
        // Thinking without a signature is refused as such.
        Part::Thinking { text, .. } => (!text.trim().is_empty()).then(|| text_block(text)),
        Part::Call { id, name, arguments } => Some(format!(
            r#"{{"type":"tool_use","id":{},"name":{},"input":{arguments}}}"#,
            encode_string(&call_name(id)),
            encode_string(name)
        )),
        part => block(part),
    }
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, encode_string(text))
}

/// Results without images are one text.
fn result(parts: &[Part<'_>]) -> String {
    if !has_image(parts) {
        return encode_string(&joined(parts, "\n"));
    }
    let blocks: Vec<String> = parts.iter().filter_map(block).collect();
    let is_text = |part: &Part<'_>| matches!(part, Part::Text(text) if !text.trim().is_empty());
    let introduction = if parts.iter().any(is_text) { None } else { Some(text_block(ONLY_IMAGES)) };
    list(&introduction.into_iter().chain(blocks).collect::<Vec<_>>())
}

/// An id of a call as the provider takes it. Other providers' ids have further signs.
fn call_name(id: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
    id.chars().map(|sign| if is_plain(sign) { sign } else { '_' }).take(64).collect()
}

/// Marks the end of the conversation: its last block that can be marked, which thinking cannot.
fn mark(messages: &mut [Sent]) {
    let can_be_marked = |block: &&mut String| {
        [r#"{"type":"thinking""#, r#"{"type":"redacted_thinking""#].iter().all(|thinking| !block.starts_with(thinking))
    };
    let mut blocks = messages.iter_mut().rev().flat_map(|message| message.blocks.iter_mut().rev());
    if let Some(block) = blocks.find(can_be_marked) {
        block.pop();
        block.push_str(&format!(r#","cache_control":{MARK}}}"#));
    }
}
