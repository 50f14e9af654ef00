//! Anthropic's messages, streamed: `POST /v1/messages`, and the same on Vertex AI.

mod conversation;

use compaction_core::prompts::SummaryRequest;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::super::continuation::MESSAGES;
use super::super::model::StopReason;
use super::super::{Cache, ContinuedRequest};
use super::changes::{Changeable, Limit, keep_system};
use super::conversation::system_text;
use super::draft::{Draft, Usage};
use super::failure::{Failure, Report};
use super::wire::{RequestBody, Wire, number};

/// The messages of one model.
#[derive(Debug)]
pub(super) struct Messages {
    /// The name under which the settings know the model.
    pub(super) name: String,
    /// The model; `None` where the address names it, as Vertex AI has it, and the body the version.
    pub(super) model: Option<String>,
}

static CHANGEABLE: Changeable = Changeable {
    optional: &[],
    limit: Limit { within: None, names: &["max_tokens"], words: &["output tokens"], is_optional: false },
    merge_system: keep_system,
};

impl Wire for Messages {
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
        let mut texts = vec![("messages", conversation::messages(prefix, &request.request.prompt).into())];
        let system = system_text(prefix);
        texts.extend((!system.is_empty()).then(|| ("system", conversation::system(system).into())));
        texts.extend(conversation::tool_list(prefix).map(|tools| ("tools", tools.into())));
        Some(RequestBody { members, texts })
    }

    fn cache(&self) -> Cache {
        Cache::MarkedBeginnings
    }

    fn changeable(&self) -> &'static Changeable {
        &CHANGEABLE
    }

    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), Failure> {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => read_message(&event["message"], draft)?,
            "content_block_start" => begin_block(&event["content_block"], draft)?,
            "content_block_delta" if event["delta"]["type"] == "text_delta" => {
                draft.push(event["delta"]["text"].as_str().unwrap_or_default())?;
            }
            "message_delta" => {
                add_usage(&event["usage"], &mut draft.usage);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    draft.stop(stop_reason(reason));
                }
            }
            "message_stop" => draft.finish(),
            // The whole answer of a server that does not stream.
            "message" => {
                read_message(event, draft)?;
                draft.finish();
            }
            "error" => {
                return Err(Failure::from_report(&self.name, &Report::from_value(event).unwrap_or_default()));
            }
            // Gateways send errors without a type.
            "" if !event["error"].is_null() => {
                return Err(Failure::from_report(&self.name, &Report::from_value(event).unwrap_or_default()));
            }
            // Pings, thinking and its signatures, and whatever may come to be.
            _ => {}
        }
        Ok(())
    }
}

/// A message, which holds content and a reason for its end already where nothing more is written.
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
        "tool_use" | "server_tool_use" | "mcp_tool_use" => draft.call_tool(),
        "text" => draft.push(block["text"].as_str().unwrap_or_default())?,
        _ => {}
    }
    Ok(())
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" | "stop" => StopReason::Stop,
        // The second: the window was full before the limit was reached.
        "max_tokens" | "model_context_window_exceeded" | "length" => StopReason::Length,
        "tool_use" | "tool_calls" => StopReason::ToolUse,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Later events give totals, and not of everything.
fn add_usage(given: &Value, usage: &mut Usage) {
    usage.input = number(given, &["input_tokens"]).or(usage.input);
    usage.output = number(given, &["output_tokens"]).or(usage.output);
    usage.cache_read = number(given, &["cache_read_input_tokens"]).unwrap_or(usage.cache_read);
    usage.cache_write = number(given, &["cache_creation_input_tokens"]).unwrap_or(usage.cache_write);
}
