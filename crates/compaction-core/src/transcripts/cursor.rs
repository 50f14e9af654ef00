//! Transcripts of Cursor in JSON: an exported composer with its bubbles, or the lines of an agent's transcript
//! (`~/.cursor/projects/<project>/agent-transcripts`). The module `markdown` reads exported Markdown.

use super::Reader;
use super::claude_code::text_of;
use super::cursor_dialogue::messages;
use super::records::Record;
use super::tree::{Answer, Tree, call_block, items, text_at, text_block, thinking_block, time_of, value_at};
use crate::formats::node::{arguments_object, arguments_of_text};
use crate::json::Json;

const API: &str = "cursor";

/// Whether a document, without its messages, is an exported composer.
pub(super) fn is_document(document: &Json<'_>) -> bool {
    document.get("composerId").is_some() || document.get("bubbles").is_some()
}

/// Whether a value is a bubble, or a line of a transcript.
pub(super) fn is_message(value: &Json<'_>) -> bool {
    let is_line = text_at(value, &["role"]).is_some() && value_at(value, &["message", "content"]).is_some();
    value.get("bubbleId").is_some() || value.get("toolFormerData").is_some() || is_line
}

/// Id, working directory and time that a value names.
pub(super) fn identify(value: &Json<'_>) -> (Option<String>, Option<String>, Option<i64>) {
    let text = |key: &str| text_at(value, &[key]).map(str::to_owned);
    (text("composerId"), text("workspacePath").or(text("cwd")), time_of(value.get("createdAt")))
}

#[derive(Debug)]
pub(super) struct Cursor;

impl Cursor {
    /// Reads a bubble of a composer: text, reasoning, or one call with its result.
    fn bubble(value: &Json<'static>, number: u64, tree: &mut Tree) {
        let content = ["text", "content", "markdown"].into_iter().find_map(|key| value.get(key)).map(text_of);
        let said = content.unwrap_or_default();
        let kind = value.get("type").map(Json::to_compact).unwrap_or_default();
        let is_user = matches!(kind.as_str(), "1" | "\"user\"") || text_at(value, &["role"]) == Some("user");
        if is_user {
            for message in messages(&said, true) {
                tree.add_user(Json::Array(vec![text_block(&message)]));
            }
            return;
        }
        let mut blocks = Vec::new();
        let thinking = text_at(value, &["thinking", "text"]).or_else(|| text_at(value, &["thinking"]));
        blocks.extend(thinking.filter(|text| !text.is_empty()).map(|text| thinking_block(text, None)));
        blocks.extend(Some(said.as_str()).filter(|said| !said.is_empty()).map(text_block));
        let tool = value.get("toolFormerData").filter(|tool| text_at(tool, &["name"]).is_some());
        let id = tool
            .and_then(|tool| text_at(tool, &["toolCallId"]))
            .map_or_else(|| format!("call-{number}"), str::to_owned);
        if let Some(tool) = tool {
            blocks.push(call_block(&id, text_at(tool, &["name"]).unwrap_or_default(), arguments_of(tool)));
        }
        if blocks.is_empty() {
            return;
        }
        let model = ["modelInfo", "model"].into_iter().find_map(|key| value.get(key));
        let model =
            model.and_then(|model| model.as_str().or_else(|| text_at(model, &["modelName"]))).unwrap_or_default();
        tree.add_answer(blocks, &Answer { api: API, model: model.to_owned(), ..Answer::default() }, 0.0);
        if let Some((result, tool)) = tool.and_then(|tool| Some((result_of(tool)?, tool))) {
            let is_error = matches!(text_at(tool, &["status"]), Some("error" | "cancelled" | "rejected"));
            tree.add_result(&id, "", vec![text_block(&result)], is_error);
        }
    }

    /// Reads a line of an agent's transcript. Its calls may lack ids, and results are separate parts.
    fn line(value: &Json<'static>, number: u64, tree: &mut Tree) {
        let Some(message) = value.get("message") else { return };
        let mut blocks = Vec::new();
        for (at, part) in items(message, "content").iter().enumerate() {
            match text_at(part, &["type"]) {
                Some("text") => blocks.extend(text_at(part, &["text"]).map(text_block)),
                Some("tool_use") => {
                    let id = text_at(part, &["id"]).map_or_else(|| format!("call-{number}-{at}"), str::to_owned);
                    let input = part.get("input").cloned().unwrap_or(Json::Null);
                    blocks.push(call_block(&id, text_at(part, &["name"]).unwrap_or_default(), arguments_object(input)));
                }
                Some("tool_result") => {
                    let result = part.get("content").map(text_of).unwrap_or_default();
                    let id = text_at(part, &["tool_use_id"]).unwrap_or_default();
                    tree.add_result(id, "", vec![text_block(&result)], false);
                }
                kind => tree.unknown(kind.unwrap_or("part")),
            }
        }
        if let Some(text) = message.get("content").and_then(Json::as_str) {
            blocks.push(text_block(text));
        }
        match text_at(value, &["role"]) {
            _ if blocks.is_empty() => {}
            Some("assistant") => tree.add_answer(blocks, &Answer { api: API, ..Answer::default() }, 0.0),
            _ => tree.add_user(Json::Array(blocks)),
        }
    }
}

fn arguments_of(tool: &Json<'static>) -> Json<'static> {
    let written = ["rawArgs", "params"].into_iter().find_map(|key| tool.get(key).filter(|value| **value != Json::Null));
    match written {
        Some(Json::String(text)) => arguments_of_text(text),
        Some(other) => arguments_object(other.clone()),
        None => arguments_object(Json::Null),
    }
}

/// The result of a call as text. Most results are JSON.
fn result_of(tool: &Json<'_>) -> Option<String> {
    match tool.get("result")? {
        Json::Null => None,
        Json::String(text) => Some(text.clone().into_owned()),
        other => Some(other.to_compact()),
    }
}

impl Reader for Cursor {
    fn read(&mut self, record: Record, tree: &mut Tree) {
        let Some(value) = tree.object_of(&record) else { return };
        let time = ["createdAt", "timestamp"].into_iter().find_map(|key| time_of(value.get(key)));
        if let Some(time) = time.or_else(|| time_of(value_at(&value, &["timingInfo", "clientStartTime"]))) {
            tree.time = time;
        }
        tree.keep(&record);
        if let Some(document) = record.document()
            && let Some(name) = ["name", "title"].into_iter().find_map(|key| text_at(&document, &[key]))
        {
            tree.add_name(name);
        }
        if value_at(&value, &["message", "content"]).is_some() {
            Self::line(&value, record.number, tree);
        } else if ["type", "role"].into_iter().any(|key| value.get(key).is_some())
            && text_at(&value, &["type"]) != Some("turn_ended")
        {
            Self::bubble(&value, record.number, tree);
        }
    }

    fn flush(&mut self, _tree: &mut Tree) {}
}
