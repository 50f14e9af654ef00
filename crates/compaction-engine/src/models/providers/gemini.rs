//! Google's `streamGenerateContent`, as server-sent events.

use compaction_core::prompts::SummaryRequest;
use serde_json::{Value, json};

use super::answer::{Draft, Usage};
use super::failure::{ReadError, Report};
use super::request::{Changeable, Limit, prepend_system};
use super::{Interface, number};
use crate::models::StopReason;

/// Contents that one model generates.
#[derive(Debug)]
pub(super) struct Gemini;

static CHANGEABLE: Changeable = Changeable {
    optional: &[],
    limit: Limit {
        within: Some("generationConfig"),
        names: &["maxOutputTokens"],
        words: &["maxoutputtokens", "max_output_tokens"],
        is_optional: true,
    },
    merge_system,
};

impl Interface for Gemini {
    fn body(&self, request: &SummaryRequest) -> Value {
        json!({
            "systemInstruction": { "parts": [{ "text": request.system_prompt }] },
            "contents": [{ "role": "user", "parts": [{ "text": request.prompt }] }],
            "generationConfig": { "maxOutputTokens": request.max_tokens },
        })
    }

    fn changeable(&self) -> &'static Changeable {
        &CHANGEABLE
    }

    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), ReadError> {
        if let Some(report) = Report::from_value(event) {
            return Err(report.into());
        }
        let candidate = &event["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            if part["functionCall"].is_object() {
                draft.calls_tool = true;
            } else if part["thought"] != true {
                draft.push(part["text"].as_str().unwrap_or_default())?;
            }
        }
        if let Some(reason) = candidate["finishReason"].as_str().filter(|reason| !reason.is_empty()) {
            draft.stop(stop_reason(reason));
        }
        // A rejected prompt has no candidates.
        if let Some(reason) = event["promptFeedback"]["blockReason"].as_str() {
            draft.stop(StopReason::Other(reason.to_owned()));
        }
        add_usage(&event["usageMetadata"], &mut draft.usage);
        Ok(())
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "STOP" => StopReason::Stop,
        "MAX_TOKENS" => StopReason::Length,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => StopReason::ToolUse,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Each event gives the totals so far.
fn add_usage(given: &Value, usage: &mut Usage) {
    let Some(prompt) = number(given, &["promptTokenCount"]) else {
        return;
    };
    usage.cache_read = number(given, &["cachedContentTokenCount"]).unwrap_or(0);
    usage.input = Some(prompt.saturating_sub(usage.cache_read));
    let written = ["candidatesTokenCount", "thoughtsTokenCount"].into_iter().filter_map(|key| given[key].as_u64());
    usage.output = Some(written.fold(0, u64::saturating_add));
    usage.total = number(given, &["totalTokenCount"]);
}

fn merge_system(body: &mut Value) -> bool {
    prepend_system(body, "systemInstruction", "/systemInstruction/parts/0/text", "/contents/0/parts/0/text")
}
