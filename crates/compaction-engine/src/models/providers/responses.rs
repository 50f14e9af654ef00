//! OpenAI's responses, streamed. The provider is asked to store nothing.

use compaction_core::conversation::Prefix;
use compaction_core::json::{Json, encode_string};
use compaction_core::prompts::SummaryRequest;
use serde_json::{Value, json};

use super::answer::{Draft, Usage};
use super::failure::{Failure, ReadError, Report};
use super::request::{Changeable, Limit, keep_system};
use super::request::{Part, TextResults, data_url, list, object_or_empty, system_text, with_text_results};
use super::{Interface, RequestBody, number, request};
use crate::models::continuation::RESPONSES;
use crate::models::{ContinuedRequest, FailureKind, StopReason};

/// The responses of one model.
#[derive(Debug)]
pub(super) struct Responses {
    /// The model.
    pub(super) model: String,
}

static CHANGEABLE: Changeable = Changeable {
    optional: &[("store", &["store"]), ("stream", &["stream", "streaming"])],
    limit: Limit {
        within: None,
        names: &["max_output_tokens"],
        words: &["max_tokens", "output tokens"],
        is_optional: true,
    },
    merge_system: keep_system,
};

impl Interface for Responses {
    fn body(&self, request: &SummaryRequest) -> Value {
        json!({
            "model": self.model,
            "max_output_tokens": request.max_tokens,
            "instructions": request.system_prompt,
            "input": [{ "role": "user", "content": request.prompt }],
            "stream": true,
            "store": false,
        })
    }

    fn continues(&self) -> Option<&'static str> {
        Some(RESPONSES)
    }

    fn continued(&self, request: &ContinuedRequest) -> Option<RequestBody> {
        let mut members = self.body(&request.request);
        for member in ["instructions", "input"] {
            members.as_object_mut()?.remove(member);
        }
        let prefix = &request.prefix;
        let mut texts = vec![("input", input(prefix, &self.model, &request.request.prompt).into())];
        texts.extend(tool_list(prefix).map(|tools| ("tools", tools.into())));
        Some(RequestBody { members, texts })
    }

    fn session_member(&self) -> Option<&'static str> {
        Some("prompt_cache_key")
    }

    fn changeable(&self) -> &'static Changeable {
        &CHANGEABLE
    }

    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), ReadError> {
        let index = event["output_index"].as_u64();
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" if index.is_some_and(|index| draft.comments.contains(&index)) => {}
            "response.output_text.delta" => draft.push(event["delta"].as_str().unwrap_or_default())?,
            "response.refusal.delta" => draft.stop(StopReason::Other("refusal".to_owned())),
            "response.output_item.added" | "response.output_item.done" => {
                let kind = event["item"]["type"].as_str().unwrap_or_default();
                if kind.ends_with("_call") {
                    draft.calls_tool = true;
                }
                draft.comments.extend(index.filter(|_| is_comment(&event["item"])));
            }
            "response.completed" | "response.incomplete" => end(&event["response"], draft)?,
            "response.failed" => return Err(Report::of_event(&event["response"]).into()),
            "response.cancelled" => {
                return Err(Failure::new(FailureKind::Server, "the provider cancelled the answer").into());
            }
            "error" => return Err(Report::of_event(event).into()),
            // The whole answer of a server that does not stream.
            "" if event["object"] == "response" && event["error"].is_null() => end(event, draft)?,
            // Gateways send errors without a type.
            "" if !event["error"].is_null() => return Err(Report::of_event(event).into()),
            _ => {}
        }
        Ok(())
    }
}

fn end(response: &Value, draft: &mut Draft) -> Result<(), Failure> {
    let items = response["output"].as_array().into_iter().flatten();
    let is_empty = draft.text().is_empty();
    for item in items {
        if item["type"].as_str().is_some_and(|kind| kind.ends_with("_call")) {
            draft.calls_tool = true;
        }
        let parts = item["content"].as_array().filter(|_| is_empty && !is_comment(item));
        for part in parts.into_iter().flatten().filter(|part| part["type"] == "output_text") {
            draft.push(part["text"].as_str().unwrap_or_default())?;
        }
    }
    let reason = match (response["status"].as_str(), response["incomplete_details"]["reason"].as_str()) {
        (_, Some("max_output_tokens" | "max_tokens")) => StopReason::Length,
        (_, Some(other)) => StopReason::Other(other.to_owned()),
        (Some("completed") | None, None) => StopReason::Stop,
        (Some(other), None) => StopReason::Other(other.to_owned()),
    };
    draft.stop(reason);
    add_usage(&response["usage"], &mut draft.usage);
    draft.is_done = true;
    Ok(())
}

/// Whether an item is a comment on the way to the answer.
fn is_comment(item: &Value) -> bool {
    item["phase"] == "commentary"
}

fn add_usage(given: &Value, usage: &mut Usage) {
    let Some(input) = number(given, &["input_tokens"]) else {
        return;
    };
    usage.cache_read = number(&given["input_tokens_details"], &["cached_tokens"]).unwrap_or(0);
    usage.input = Some(input.saturating_sub(usage.cache_read));
    usage.output = number(given, &["output_tokens"]);
    usage.total = number(given, &["total_tokens"]);
}

/// Model families whose prompt has the older role.
const OLDER: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt"];

/// The items of responses.
struct Items;

impl TextResults for Items {
    fn user(&self, parts: &[Part<'_>]) -> Option<String> {
        by_user(parts.iter().filter_map(content).collect())
    }

    fn answer(&self, parts: &[Part<'_>], out: &mut Vec<String>) {
        by_model(parts, out);
    }

    fn result(&self, call_id: &str, text: &str) -> String {
        let (call_id, _) = ids(call_id);
        let (call_id, text) = (encode_string(call_id), encode_string(text));
        format!(r#"{{"type":"function_call_output","call_id":{call_id},"output":{text}}}"#)
    }
}

/// The prompt, the conversation, and then the instruction.
fn input(prefix: &Prefix, model: &str, instruction: &str) -> String {
    let mut out = Vec::new();
    let system = system_text(prefix);
    if !system.is_empty() {
        let role = if OLDER.iter().any(|older| model.starts_with(older)) { "system" } else { "developer" };
        out.push(format!(r#"{{"role":"{role}","content":{}}}"#, encode_string(system)));
    }
    with_text_results(prefix, &Items, &mut out);
    out.extend(by_user(vec![input_text(instruction)]));
    list(&out)
}

/// The tools.
fn tool_list(prefix: &Prefix) -> Option<String> {
    request::tool_list(prefix, |tool| {
        let parameters = object_or_empty(tool.parameters);
        format!(
            r#"{{"type":"function","name":{},"description":{},"parameters":{parameters},"strict":false}}"#,
            tool.name, tool.description
        )
    })
}

fn by_user(parts: Vec<String>) -> Option<String> {
    (!parts.is_empty()).then(|| format!(r#"{{"role":"user","content":{}}}"#, list(&parts)))
}

fn input_text(text: &str) -> String {
    format!(r#"{{"type":"input_text","text":{}}}"#, encode_string(text))
}

fn content(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Text(text) => Some(input_text(text)),
        Part::Image { mime_type, data } => {
            let url = data_url(mime_type, data);
            Some(format!(r#"{{"type":"input_image","detail":"auto","image_url":{url}}}"#))
        }
        _ => None,
    }
}

/// The items of an answer. Thinking returns as the item in its signature. A call whose thinking is missing returns
/// without its own id, because the id would require the thinking.
fn by_model(parts: &[Part<'_>], out: &mut Vec<String>) {
    let mut lacks_thinking = false;
    for part in parts {
        match part {
            Part::Thinking { signature, .. } => match signature.as_deref().and_then(item) {
                Some(item) => out.push(item),
                None => lacks_thinking = true,
            },
            Part::Text(text) => {
                let text = encode_string(text);
                out.push(format!(
                    r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{text},"annotations":[]}}],"status":"completed"}}"#
                ));
            }
            Part::Call { id, name, arguments } => {
                let (call_id, item_id) = ids(id);
                let item_id = item_id.filter(|_| !lacks_thinking).map(encode_string);
                let item_id = item_id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
                out.push(format!(
                    r#"{{"type":"function_call",{item_id}"call_id":{},"name":{},"arguments":{}}}"#,
                    encode_string(call_id),
                    encode_string(name),
                    encode_string(arguments)
                ));
            }
            Part::Image { .. } => {}
        }
    }
}

/// The reasoning item in a signature.
fn item(signature: &str) -> Option<String> {
    let json = Json::parse(signature).ok()?;
    (json.get("type")?.as_str() == Some("reasoning")).then(|| json.to_compact())
}

/// The ids of a call and of its item, which sessions store together.
fn ids(id: &str) -> (&str, Option<&str>) {
    id.split_once('|').map_or((id, None), |(call_id, item_id)| (call_id, Some(item_id)))
}
