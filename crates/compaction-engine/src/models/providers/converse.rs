//! `ConverseStream` of Amazon Bedrock, which all of its models support.

use compaction_core::prompts::SummaryRequest;
use serde_json::{Value, json};

use super::answer::{Draft, Usage};
use super::failure::{ReadError, Report};
use super::request::{Changeable, Limit, prepend_system};
use super::{Interface, number};
use crate::models::StopReason;

/// Conversations with one model.
#[derive(Debug)]
pub(super) struct Converse;

static CHANGEABLE: Changeable = Changeable {
    optional: &[],
    limit: Limit {
        within: Some("inferenceConfig"),
        names: &["maxTokens"],
        words: &["maxtokens", "max_tokens", "maximum tokens"],
        is_optional: true,
    },
    merge_system,
};

impl Interface for Converse {
    fn accepted(&self) -> &'static str {
        "application/vnd.amazon.eventstream"
    }

    fn body(&self, request: &SummaryRequest) -> Value {
        json!({
            "system": [{ "text": request.system_prompt }],
            "messages": [{ "role": "user", "content": [{ "text": request.prompt }] }],
            "inferenceConfig": { "maxTokens": request.max_tokens },
        })
    }

    fn changeable(&self) -> &'static Changeable {
        &CHANGEABLE
    }

    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), ReadError> {
        if let Some(word) = event["exception"].as_str() {
            let message = event["message"].as_str().unwrap_or_default().to_owned();
            let report = Report { message, words: word.to_owned(), ..Report::default() };
            return Err(report.into());
        }
        if event["contentBlockStart"]["start"]["toolUse"].is_object() {
            draft.calls_tool = true;
        }
        draft.push(event["contentBlockDelta"]["delta"]["text"].as_str().unwrap_or_default())?;
        if let Some(reason) = event["messageStop"]["stopReason"].as_str() {
            draft.stop(stop_reason(reason));
        }
        if event["metadata"].is_object() {
            add_usage(&event["metadata"]["usage"], &mut draft.usage);
            draft.is_done = true;
        }
        // The whole answer of a server that does not stream.
        for block in event["output"]["message"]["content"].as_array().into_iter().flatten() {
            if block["toolUse"].is_object() {
                draft.calls_tool = true;
            }
            draft.push(block["text"].as_str().unwrap_or_default())?;
        }
        if let Some(reason) = event["stopReason"].as_str() {
            draft.stop(stop_reason(reason));
            add_usage(&event["usage"], &mut draft.usage);
        }
        Ok(())
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "tool_use" | "malformed_tool_use" => StopReason::ToolUse,
        other => StopReason::Other(other.to_owned()),
    }
}

fn add_usage(given: &Value, usage: &mut Usage) {
    usage.input = number(given, &["inputTokens"]);
    usage.output = number(given, &["outputTokens"]);
    usage.cache_read = number(given, &["cacheReadInputTokens"]).unwrap_or(0);
    usage.cache_write = number(given, &["cacheWriteInputTokens"]).unwrap_or(0);
    usage.total = number(given, &["totalTokens"]);
}

fn merge_system(body: &mut Value) -> bool {
    prepend_system(body, "system", "/system/0/text", "/messages/0/content/0/text")
}
