//! Anthropic's messages: `POST /v1/messages`, streamed.

use compaction_core::prompts::SummaryRequest;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::super::model::StopReason;
use super::draft::{Draft, Usage};
use super::failure::{Failure, Report};
use super::wire::{Wire, number};

/// The messages of one model.
#[derive(Debug)]
pub(super) struct Messages {
    /// The name under which the settings know the model.
    pub(super) name: String,
    /// The model.
    pub(super) model: String,
    /// Whether the base address ends in the version already, as gateways often have it.
    pub(super) has_version: bool,
}

impl Wire for Messages {
    fn path(&self) -> (String, Option<&'static str>) {
        let path = if self.has_version { "/messages" } else { "/v1/messages" };
        (path.to_owned(), None)
    }

    fn key_header(&self) -> (HeaderName, &'static str) {
        (HeaderName::from_static("x-api-key"), "")
    }

    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        vec![(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"))]
    }

    fn body(&self, request: &SummaryRequest) -> Value {
        json!({
            "model": self.model,
            "max_tokens": request.max_tokens,
            "system": request.system_prompt,
            "messages": [{ "role": "user", "content": request.prompt }],
            "stream": true,
        })
    }

    fn has_last_event(&self) -> bool {
        true
    }

    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), Failure> {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => add_usage(&event["message"]["usage"], &mut draft.usage),
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
            "error" => {
                return Err(Failure::from_report(&self.name, &Report::from_value(event).unwrap_or_default()));
            }
            // Pings, thinking and its signatures, and whatever may come to be.
            _ => {}
        }
        Ok(())
    }
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
        "end_turn" | "stop_sequence" => StopReason::Stop,
        // The second: the window was full before the limit was reached.
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "tool_use" => StopReason::ToolUse,
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
