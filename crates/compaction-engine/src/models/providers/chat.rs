//! OpenAI's chat completions, streamed, which many servers offer: Ollama, llama.cpp, vLLM, OpenRouter.

use compaction_core::conversation::Prefix;
use compaction_core::json::encode_string;
use compaction_core::prompts::SummaryRequest;
use serde_json::{Value, json};

use super::answer::{Draft, Usage};
use super::failure::{Failure, ReadError, Report};
use super::request::{Changeable, Limit};
use super::request::{Part, TextResults, data_url, joined, list, object_or_empty, system_text, with_text_results};
use super::{Interface, RequestBody, is_filled, number, request};
use crate::models::continuation::CHAT;
use crate::models::{ContinuedRequest, StopReason};

/// Chat completions of one model.
#[derive(Debug)]
pub(super) struct Chat {
    /// The model.
    pub(super) model: String,
    /// The member that limits the answer.
    pub(super) max_tokens_parameter: &'static str,
}

static CHANGEABLE: Changeable = Changeable {
    optional: &[("stream_options", &["stream_options", "include_usage"]), ("stream", &["stream", "streaming"])],
    limit: Limit {
        within: None,
        names: &["max_tokens", "max_completion_tokens"],
        words: &["completion tokens", "output tokens"],
        is_optional: true,
    },
    merge_system,
};

impl Interface for Chat {
    fn body(&self, request: &SummaryRequest) -> Value {
        json!({
            "model": self.model,
            self.max_tokens_parameter: request.max_tokens,
            "messages": [
                { "role": "system", "content": request.system_prompt },
                { "role": "user", "content": request.prompt },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    }

    fn continues(&self) -> Option<&'static str> {
        Some(CHAT)
    }

    fn continued(&self, request: &ContinuedRequest) -> Option<RequestBody> {
        let mut members = self.body(&request.request);
        members.as_object_mut()?.remove("messages");
        let prefix = &request.prefix;
        let mut texts = vec![("messages", messages(prefix, &request.request.prompt).into())];
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
        let choice = &event["choices"][0];
        for holder in [event, choice] {
            if let Some(report) = Report::from_value(holder) {
                return Err(report.into());
            }
        }
        let whole = &choice["message"];
        match (&choice["delta"], whole) {
            (Value::Null, Value::Null) => draft.push(choice["text"].as_str().unwrap_or_default())?,
            (Value::Null, message) => read_message(message, draft)?,
            (delta, _) => read_message(delta, draft)?,
        }
        // Gemini's compatible server has used the second name.
        let reason = choice["finish_reason"].as_str().or_else(|| choice["finishReason"].as_str());
        // DashScope, Spark: until the end the reason is the word `null`.
        match reason.filter(|reason| !matches!(*reason, "" | "null")) {
            Some(reason) => draft.stop(stop_reason(reason)),
            // An answer in one piece is complete.
            None if whole.is_object() && choice["delta"].is_null() => draft.stop(StopReason::Stop),
            None => {}
        }
        add_usage(&event["usage"], &mut draft.usage);
        add_usage(&choice["usage"], &mut draft.usage);
        Ok(())
    }
}

/// Reads the text. Thinking is in other members (`reasoning`, `reasoning_content`) or in parts of other types.
fn read_message(message: &Value, draft: &mut Draft) -> Result<(), Failure> {
    let parts = message["content"].as_array().into_iter().flatten();
    let is_text = |part: &&Value| matches!(part["type"].as_str(), None | Some("text" | "output_text"));
    let texts = parts.filter(is_text).filter_map(|part| part["text"].as_str().or_else(|| part.as_str()));
    for text in message["content"].as_str().into_iter().chain(texts) {
        draft.push(text)?;
    }
    if is_filled(&message["tool_calls"]) || message["function_call"].is_object() {
        draft.calls_tool = true;
    }
    if message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        draft.stop(StopReason::Other("refusal".to_owned()));
    }
    Ok(())
}

fn stop_reason(reason: &str) -> StopReason {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" | "stop_token" | "complete" | "completed"
        | "done" | "end" | "finish" | "finished" => StopReason::Stop,
        "length"
        | "limit"
        | "max_tokens"
        | "max_output_tokens"
        | "max_completion_tokens"
        | "max_new_tokens"
        | "max_length"
        | "token_limit"
        | "model_length"
        | "context_length_exceeded"
        | "model_context_window_exceeded" => StopReason::Length,
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => StopReason::ToolUse,
        _ => StopReason::Other(reason.to_owned()),
    }
}

fn add_usage(given: &Value, usage: &mut Usage) {
    let Some(prompt) = number(given, &["prompt_tokens"]).or_else(|| number(given, &["input_tokens"])) else {
        return;
    };
    let details = &given["prompt_tokens_details"];
    let cached = number(details, &["cached_tokens"]).or_else(|| number(given, &["prompt_cache_hit_tokens"]));
    usage.cache_read = cached.unwrap_or(0);
    usage.cache_write = number(details, &["cache_write_tokens"]).unwrap_or(0);
    usage.input = Some(prompt.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write));
    usage.output = number(given, &["completion_tokens"]).or_else(|| number(given, &["output_tokens"]));
    usage.total = number(given, &["total_tokens"]);
}

fn merge_system(body: &mut Value) -> bool {
    let Some([system, user]) = body["messages"].as_array().map(Vec::as_slice) else {
        return false;
    };
    let (Some(system), Some(prompt)) = (system["content"].as_str(), user["content"].as_str()) else {
        return false;
    };
    let merged = format!("{system}\n\n{prompt}");
    body["messages"] = json!([{ "role": "user", "content": merged }]);
    true
}

/// Members in which servers send and accept thinking.
const THINKING_MEMBERS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The messages of chat completions.
struct Messages;

impl TextResults for Messages {
    fn user(&self, parts: &[Part<'_>]) -> Option<String> {
        let content = match parts {
            [] => return None,
            [Part::Text(text)] => encode_string(text),
            parts => list(&parts.iter().filter_map(content).collect::<Vec<_>>()),
        };
        Some(format!(r#"{{"role":"user","content":{content}}}"#))
    }

    fn answer(&self, parts: &[Part<'_>], out: &mut Vec<String>) {
        out.extend(by_model(parts));
    }

    fn result(&self, call_id: &str, text: &str) -> String {
        format!(r#"{{"role":"tool","content":{},"tool_call_id":{}}}"#, encode_string(text), encode_string(call_id))
    }
}

/// The prompt, the conversation, and then the instruction.
fn messages(prefix: &Prefix, instruction: &str) -> String {
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
fn tool_list(prefix: &Prefix) -> Option<String> {
    request::tool_list(prefix, |tool| {
        let parameters = object_or_empty(tool.parameters);
        format!(
            r#"{{"type":"function","function":{{"name":{},"description":{},"parameters":{parameters}}}}}"#,
            tool.name, tool.description
        )
    })
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

/// Thinking returns in the member in which it arrived. The session stores the member's name as the signature.
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
