//! Anthropic's messages, streamed: `POST /v1/messages`, and the same on Vertex AI.

use compaction_core::conversation::Prefix;
use compaction_core::json::{Json, encode_string};
use compaction_core::prompts::SummaryRequest;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::answer::{Draft, Usage};
use super::failure::{Failure, ReadError, Report};
use super::request::{Changeable, Limit, keep_system};
use super::request::{
    ONLY_IMAGES, Part, PrefixMessage, has_image, joined, list, object_or_empty, prefix_messages, system_text,
};
use super::{Interface, RequestBody, number, request};
use crate::models::continuation::MESSAGES;
use crate::models::{Cache, ContinuedRequest, StopReason};

/// The messages of one model.
#[derive(Debug)]
pub(super) struct Messages {
    /// The model; `None` for Vertex AI, where the address names it and the body names the version.
    pub(super) model: Option<String>,
}

static CHANGEABLE: Changeable = Changeable {
    optional: &[],
    limit: Limit { within: None, names: &["max_tokens"], words: &["output tokens"], is_optional: false },
    merge_system: keep_system,
};

impl Interface for Messages {
    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let version = || (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
        self.model.iter().map(|_| version()).collect()
    }

    fn body(&self, request: &SummaryRequest) -> Value {
        let (name, value) = match &self.model {
            Some(model) => ("model", model.as_str()),
            None => ("anthropic_version", "vertex-2023-10-16"),
        };
        json!({
            name: value,
            "max_tokens": request.max_tokens,
            "system": request.system_prompt,
            "messages": [{ "role": "user", "content": request.prompt }],
            "stream": true,
        })
    }

    fn continues(&self) -> Option<&'static str> {
        Some(MESSAGES)
    }

    fn continued(&self, request: &ContinuedRequest) -> Option<RequestBody> {
        let mut members = self.body(&request.request);
        for member in ["system", "messages"] {
            members.as_object_mut()?.remove(member);
        }
        let prefix = &request.prefix;
        let mut texts = vec![("messages", messages(prefix, &request.request.prompt).into())];
        let system = system_text(prefix);
        texts.extend((!system.is_empty()).then(|| ("system", marked_system(system).into())));
        texts.extend(tool_list(prefix).map(|tools| ("tools", tools.into())));
        Some(RequestBody { members, texts })
    }

    fn cache(&self) -> Cache {
        Cache::MarkedBeginnings
    }

    fn changeable(&self) -> &'static Changeable {
        &CHANGEABLE
    }

    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), ReadError> {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => read_message(&event["message"], draft)?,
            "content_block_start" => begin_block(&event["content_block"], draft)?,
            "content_block_delta" if event["delta"]["type"] == "text_delta" => {
                draft.push(event["delta"]["text"].as_str().unwrap_or_default())?;
            }
            "message_delta" => {
                add_usage(&event["usage"], &mut draft.usage);
                // As Anthropic's documentation once had it.
                add_usage(&event["delta"]["usage"], &mut draft.usage);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    draft.stop(stop_reason(reason));
                }
            }
            "message_stop" => draft.is_done = true,
            // The whole answer of a server that does not stream.
            "message" => {
                read_message(event, draft)?;
                draft.is_done = true;
            }
            "error" => return Err(Report::of_event(event).into()),
            // Gateways send errors without a type.
            "" if !event["error"].is_null() => return Err(Report::of_event(event).into()),
            // Pings, thinking with its signatures, and unknown events.
            _ => {}
        }
        Ok(())
    }
}

/// Reads a message. It already has content and a stop reason where nothing more follows.
fn read_message(message: &Value, draft: &mut Draft) -> Result<(), Failure> {
    for block in message["content"].as_array().into_iter().flatten() {
        begin_block(block, draft)?;
    }
    if let Some(reason) = message["stop_reason"].as_str() {
        draft.stop(stop_reason(reason));
    }
    add_usage(&message["usage"], &mut draft.usage);
    Ok(())
}

fn begin_block(block: &Value, draft: &mut Draft) -> Result<(), Failure> {
    match block["type"].as_str().unwrap_or_default() {
        "tool_use" | "server_tool_use" | "mcp_tool_use" => draft.calls_tool = true,
        "text" => draft.push(block["text"].as_str().unwrap_or_default())?,
        _ => {}
    }
    Ok(())
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" | "stop" => StopReason::Stop,
        // The second means that the window was full before the limit was reached.
        "max_tokens" | "model_context_window_exceeded" | "length" => StopReason::Length,
        "tool_use" | "tool_calls" => StopReason::ToolUse,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Later events give totals, but not of every member.
fn add_usage(given: &Value, usage: &mut Usage) {
    usage.input = number(given, &["input_tokens"]).or(usage.input);
    usage.output = number(given, &["output_tokens"]).or(usage.output);
    usage.cache_read = number(given, &["cache_read_input_tokens"]).unwrap_or(usage.cache_read);
    usage.cache_write = number(given, &["cache_creation_input_tokens"]).unwrap_or(usage.cache_write);
}

/// Marks the end of a beginning that the provider caches and looks up.
const MARK: &str = r#"{"type":"ephemeral"}"#;

/// The conversation, marked at its end, and then the instruction.
fn messages(prefix: &Prefix, instruction: &str) -> String {
    let mut out = conversation(prefix);
    mark(&mut out);
    let mut json: Vec<String> = out.iter().map(Sent::to_json).collect();
    json.push(format!(r#"{{"role":"user","content":{}}}"#, encode_string(instruction)));
    list(&json)
}

/// The prompt, also marked, so that it is cached even if the messages are not.
fn marked_system(text: &str) -> String {
    format!(r#"[{{"type":"text","text":{},"cache_control":{MARK}}}]"#, encode_string(text))
}

/// The tools.
fn tool_list(prefix: &Prefix) -> Option<String> {
    request::tool_list(prefix, |tool| {
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
    /// Its content, never empty. A plain text equals one text block.
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
    for message in prefix_messages(prefix) {
        let is_result = matches!(message, PrefixMessage::Result { .. });
        match message {
            PrefixMessage::User(parts) => out.extend(sent("user", parts.iter().filter_map(block).collect())),
            PrefixMessage::Answer(parts) => {
                let blocks: Vec<String> = parts.iter().filter_map(block_of_model).collect();
                out.extend(sent("assistant", blocks));
            }
            PrefixMessage::Result { call_id, parts, is_error } => {
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
        // Anthropic rejects thinking blocks without a signature.
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

/// The content of a tool result. Without images it is one text.
fn result(parts: &[Part<'_>]) -> String {
    if !has_image(parts) {
        return encode_string(&joined(parts, "\n"));
    }
    let blocks: Vec<String> = parts.iter().filter_map(block).collect();
    let is_text = |part: &Part<'_>| matches!(part, Part::Text(text) if !text.trim().is_empty());
    let introduction = if parts.iter().any(is_text) { None } else { Some(text_block(ONLY_IMAGES)) };
    list(&introduction.into_iter().chain(blocks).collect::<Vec<_>>())
}

/// The id of a call in the characters that the provider accepts. Ids of other providers have further characters.
fn call_name(id: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
    id.chars().map(|sign| if is_plain(sign) { sign } else { '_' }).take(64).collect()
}

/// Marks the last block of the conversation that is not thinking, which cannot be marked.
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
