//! OpenAI's chat completions, streamed, as a great many servers speak them: Ollama, llama.cpp,
//! vLLM, OpenRouter.

mod conversation;

use compaction_core::prompts::SummaryRequest;
use serde_json::{Value, json};

use super::super::ContinuedRequest;
use super::super::continuation::CHAT;
use super::super::model::StopReason;
use super::changes::{Changeable, Limit};
use super::draft::{Draft, Usage};
use super::failure::{Failure, Report};
use super::wire::{RequestBody, Wire, is_filled, number};

/// The chat completions of one model.
#[derive(Debug)]
pub(super) struct Chat {
    /// The name under which the settings know the model.
    pub(super) name: String,
    /// The model.
    pub(super) model: String,
    /// The member that bounds the answer.
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

impl Wire for Chat {
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
        let mut texts = vec![("messages", conversation::messages(prefix, &request.request.prompt).into())];
        texts.extend(conversation::tool_list(prefix).map(|tools| ("tools", tools.into())));
        Some(RequestBody { members, texts })
    }

    fn session_member(&self) -> Option<&'static str> {
        Some("prompt_cache_key")
    }

    fn changeable(&self) -> &'static Changeable {
        &CHANGEABLE
    }

    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), Failure> {
        let choice = &event["choices"][0];
        for holder in [event, choice] {
            if let Some(report) = Report::from_value(holder) {
                return Err(Failure::from_report(&self.name, &report));
            }
        }
        let whole = &choice["message"];
        match (&choice["delta"], whole) {
            (Value::Null, Value::Null) => draft.push(choice["text"].as_str().unwrap_or_default())?,
            (Value::Null, message) => read_message(message, draft)?,
            (delta, _) => read_message(delta, draft)?,
        }
        // Gemini's server that speaks this language has had the second name.
        let reason = choice["finish_reason"].as_str().or_else(|| choice["finishReason"].as_str());
        match reason.filter(|reason| !reason.is_empty()) {
            Some(reason) => draft.stop(stop_reason(reason)),
            // An answer in one piece is whole.
            None if whole.is_object() && choice["delta"].is_null() => draft.stop(StopReason::Stop),
            None => {}
        }
        add_usage(&event["usage"], &mut draft.usage);
        add_usage(&choice["usage"], &mut draft.usage);
        Ok(())
    }
}

/// Thinking comes in members of its own (`reasoning`, `reasoning_content`) and in parts of other
/// types, which are no text.
fn read_message(message: &Value, draft: &mut Draft) -> Result<(), Failure> {
    let parts = message["content"].as_array().into_iter().flatten();
    let texts = parts.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
    for text in message["content"].as_str().into_iter().chain(texts) {
        draft.push(text)?;
    }
    if is_filled(&message["tool_calls"]) || message["function_call"].is_object() {
        draft.call_tool();
    }
    if message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        draft.stop(StopReason::Other("refusal".to_owned()));
    }
    Ok(())
}

fn stop_reason(reason: &str) -> StopReason {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" | "complete" | "completed" | "done" => {
            StopReason::Stop
        }
        "length" | "max_tokens" | "max_output_tokens" | "model_length" | "model_context_window_exceeded" => {
            StopReason::Length
        }
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => StopReason::ToolUse,
        _ => StopReason::Other(reason.to_owned()),
    }
}

fn add_usage(given: &Value, usage: &mut Usage) {
    let Some(prompt) = number(given, &["prompt_tokens"]) else {
        return;
    };
    let details = &given["prompt_tokens_details"];
    let cached = number(details, &["cached_tokens"]).or_else(|| number(given, &["prompt_cache_hit_tokens"]));
    usage.cache_read = cached.unwrap_or(0);
    usage.cache_write = number(details, &["cache_write_tokens"]).unwrap_or(0);
    usage.input = Some(prompt.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write));
    usage.output = number(given, &["completion_tokens"]);
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
