//! OpenAI's responses, streamed. Nothing is stored at the provider.

mod conversation;

use compaction_core::prompts::SummaryRequest;
use serde_json::{Value, json};

use super::super::ContinuedRequest;
use super::super::continuation::RESPONSES;
use super::super::model::{FailureKind, StopReason};
use super::changes::{Changeable, Limit, keep_system};
use super::draft::{Draft, Usage};
use super::failure::{Failure, Report};
use super::wire::{RequestBody, Wire, number};

/// The responses of one model.
#[derive(Debug)]
pub(super) struct Responses {
    /// The name under which the settings know the model.
    pub(super) name: String,
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

impl Wire for Responses {
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
        let mut texts = vec![("input", conversation::input(prefix, &self.model, &request.request.prompt).into())];
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
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" if draft.leaves_out(event["output_index"].as_u64()) => {}
            "response.output_text.delta" => draft.push(event["delta"].as_str().unwrap_or_default())?,
            "response.refusal.delta" => draft.stop(StopReason::Other("refusal".to_owned())),
            "response.output_item.added" | "response.output_item.done" => {
                let kind = event["item"]["type"].as_str().unwrap_or_default();
                if kind.ends_with("_call") {
                    draft.call_tool();
                }
                if let (true, Some(number)) = (is_comment(&event["item"]), event["output_index"].as_u64()) {
                    draft.leave_out(number);
                }
            }
            "response.completed" | "response.incomplete" => end(&event["response"], draft)?,
            "response.failed" => return Err(self.failure(&event["response"])),
            "response.cancelled" => {
                return Err(Failure::new(FailureKind::Server, "the provider cancelled the answer"));
            }
            "error" => return Err(self.failure(event)),
            // The whole answer of a server that does not stream.
            "" if event["object"] == "response" && event["error"].is_null() => end(event, draft)?,
            // Gateways send errors without a type.
            "" if !event["error"].is_null() => return Err(self.failure(event)),
            _ => {}
        }
        Ok(())
    }
}

impl Responses {
    fn failure(&self, holder: &Value) -> Failure {
        Failure::from_report(&self.name, &Report::from_value(holder).unwrap_or_default())
    }
}

fn end(response: &Value, draft: &mut Draft) -> Result<(), Failure> {
    let items = response["output"].as_array().into_iter().flatten();
    let is_untold = draft.text().is_empty();
    for item in items {
        if item["type"].as_str().is_some_and(|kind| kind.ends_with("_call")) {
            draft.call_tool();
        }
        let parts = item["content"].as_array().filter(|_| is_untold && !is_comment(item));
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
    draft.finish();
    Ok(())
}

/// Whether an item says what the model is about to do, not what it answers.
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
