//! What the interfaces refuse, as their documentation says it.

use std::collections::HashSet;

use super::super::Format;
use crate::json::Json;

/// Checks messages that are to be sent.
#[track_caller]
pub(super) fn check(format: Format, messages: &[String], about: &str) {
    let messages: Vec<Json<'_>> = messages.iter().map(|message| Json::parse(message).unwrap()).collect();
    match format {
        Format::OpenAi => open_ai(&messages, about),
        Format::Anthropic => anthropic(&messages, about),
        Format::Gemini => gemini(&messages, about),
        Format::OpenAiResponses => responses(&messages, about),
        Format::AiSdk | Format::Pi => {}
    }
}

fn text<'a>(json: &'a Json<'_>, key: &str) -> &'a str {
    json.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn items<'a, 'b>(json: &'a Json<'b>, key: &str) -> &'a [Json<'b>] {
    match json.get(key) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

/// Tool messages follow the answer with their calls. Every call has one, except in the last answer.
fn open_ai(messages: &[Json<'_>], about: &str) {
    let mut open: HashSet<&str> = HashSet::new();
    for message in messages {
        match text(message, "role") {
            "tool" => assert!(open.remove(text(message, "tool_call_id")), "{about}: a result without its call"),
            "function" => {}
            _ => {
                assert!(open.is_empty(), "{about}: calls without results: {open:?}");
                open = items(message, "tool_calls").iter().map(|call| text(call, "id")).collect();
            }
        }
    }
}

/// Roles alternate, blocks are not blank, and the message after calls begins with all their results.
fn anthropic(messages: &[Json<'_>], about: &str) {
    let mut open: HashSet<&str> = HashSet::new();
    let mut last = "";
    for message in messages {
        let role = text(message, "role");
        assert_ne!(role, last, "{about}: roles alternate");
        last = role;
        let mut is_behind_results = false;
        for block in items(message, "content") {
            if text(block, "type") == "tool_result" {
                assert!(!is_behind_results, "{about}: results come first");
                let id = text(block, "tool_use_id");
                assert!(open.remove(id), "{about}: {id} is a result without its call");
            } else {
                is_behind_results = true;
                assert!(block.get("text").is_none() || !text(block, "text").trim().is_empty(), "{about}: blank text");
            }
        }
        assert!(open.is_empty(), "{about}: calls without results: {open:?}");
        let calls = items(message, "content").iter().filter(|block| text(block, "type") == "tool_use");
        open = calls.map(|call| text(call, "id")).collect();
    }
}

/// A content has parts, and the content after an answer has the responses to all its calls.
fn gemini(messages: &[Json<'_>], about: &str) {
    let count = |message: &Json<'_>, keys: [&str; 2]| {
        items(message, "parts").iter().filter(|part| keys.iter().any(|key| part.get(key).is_some())).count()
    };
    let mut open = 0;
    for message in messages {
        assert!(!items(message, "parts").is_empty(), "{about}: no parts");
        let responses = count(message, ["functionResponse", "function_response"]);
        assert_eq!(responses, open, "{about}: responses for calls");
        open = count(message, ["functionCall", "function_call"]);
    }
}

/// Outputs follow their calls, somewhere.
fn responses(messages: &[Json<'_>], about: &str) {
    let mut called: HashSet<&str> = HashSet::new();
    for item in messages {
        let kind = text(item, "type");
        let id = if item.get("call_id").is_some() { text(item, "call_id") } else { text(item, "id") };
        if kind.ends_with("_output") {
            assert!(called.remove(id), "{about}: {id} is an output without its call");
        } else if kind.ends_with("_call") || kind == "program" {
            called.insert(id);
        }
    }
}
