//! OpenAI's chat completions, streamed, as a great many servers speak them: Ollama, llama.cpp,
//! vLLM, OpenRouter.

use compaction_core::prompts::SummaryRequest;
use hyper::header::{AUTHORIZATION, HeaderName};
use serde_json::{Value, json};

use super::super::model::StopReason;
use super::draft::{Draft, Usage};
use super::failure::{Failure, Report};
use super::wire::{Wire, is_filled, number};

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

impl Wire for Chat {
    fn path(&self) -> (String, Option<&'static str>) {
        ("/chat/completions".to_owned(), None)
    }

    fn key_header(&self) -> (HeaderName, &'static str) {
        (AUTHORIZATION, "Bearer ")
    }

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

    fn has_last_event(&self) -> bool {
        false
    }

    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), Failure> {
        if let Some(report) = Report::from_value(event) {
            return Err(Failure::from_report(&self.name, &report));
        }
        let choice = &event["choices"][0];
        if let Some(report) = Report::from_value(choice) {
            return Err(Failure::from_report(&self.name, &report));
        }
        read_delta(&choice["delta"], draft)?;
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            draft.stop(stop_reason(reason));
        }
        add_usage(&event["usage"], &mut draft.usage);
        Ok(())
    }
}

/// Thinking comes in members of its own (`reasoning`, `reasoning_content`), which are no text, or at
/// the beginning of the text, in tags.
fn read_delta(delta: &Value, draft: &mut Draft) -> Result<(), Failure> {
    let parts = delta["content"].as_array().into_iter().flatten();
    let texts = parts.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
    for text in delta["content"].as_str().into_iter().chain(texts) {
        draft.push_tagged(text)?;
    }
    if is_filled(&delta["tool_calls"]) || delta["function_call"].is_object() {
        draft.call_tool();
    }
    if delta["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        draft.stop(StopReason::Other("refusal".to_owned()));
    }
    Ok(())
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "stop" | "end_turn" | "eos" | "stop_sequence" => StopReason::Stop,
        "length" | "max_tokens" | "model_length" => StopReason::Length,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        other => StopReason::Other(other.to_owned()),
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
