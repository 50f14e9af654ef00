//! Transcripts of OpenHands: an exported trajectory (a list of events), or a directory with a file for each event.
//!
//! Events of the first generation name an `action` or `observation`. Events of the second generation name a `kind`.

use std::collections::HashMap;

use super::Reader;
use super::claude_code::text_of;
use super::records::Record;
use super::tree::{
    Answer, Tokens, Tree, call_block, count_at, items, text_at, text_block, thinking_block, time_of, value_at,
};
use crate::formats::media_block;
use crate::formats::node::{arguments_object, arguments_of_text};
use crate::json::Json;

const API: &str = "openhands";
/// Actions outside of the conversation with the model.
const STATE_ACTIONS: [&str; 8] = [
    "change_agent_state",
    "condensation",
    "condensation_request",
    "loop_recovery",
    "null",
    "pause",
    "recall",
    "resume",
];
/// Kinds of events outside of the conversation with the model.
const STATE_KINDS: [&str; 7] = [
    "Condensation",
    "CondensationRequest",
    "CondensationSummaryEvent",
    "ConversationStateUpdateEvent",
    "ConversationErrorEvent",
    "PauseEvent",
    "TokenEvent",
];

/// Whether a document, without its events, is an exported trajectory.
pub(super) fn is_document(document: &Json<'_>) -> bool {
    document.get("trajectory").is_some() || (document.get("history").is_some() && document.get("instance_id").is_some())
}

/// Whether a value is an event.
pub(super) fn is_event(value: &Json<'_>) -> bool {
    let is_text = |key: &str| text_at(value, &[key]).is_some();
    is_text("source") && (is_text("action") || is_text("observation") || is_text("kind")) && value.get("id").is_some()
}

/// Id, working directory and time that an event names.
pub(super) fn identify(value: &Json<'_>) -> (Option<String>, Option<String>, Option<i64>) {
    let id = ["conversation_id", "instance_id"].into_iter().find_map(|key| text_at(value, &[key])).map(str::to_owned);
    (id, None, time_of(value.get("timestamp")))
}

#[derive(Debug, Default)]
pub(super) struct OpenHands {
    /// Call ids by the id of the event that made the call.
    calls: HashMap<String, String>,
    /// The last response whose text and usage were added.
    response: Option<String>,
}

impl OpenHands {
    fn action(&mut self, event: &Json<'static>, action: &str, tree: &mut Tree) {
        let null = Json::Null;
        let args = event.get("args").unwrap_or(&null);
        let text = |key: &str| text_at(args, &[key]).unwrap_or_default();
        let is_agent = text_at(event, &["source"]) == Some("agent");
        match action {
            _ if STATE_ACTIONS.contains(&action) => {}
            "system" => tree.add_system(text("content")),
            "message" if is_agent => self.answer(event, text("content"), None, tree),
            "message" => {
                let mut blocks = vec![text_block(text("content"))];
                let images = ["image_urls", "images_urls"].into_iter().flat_map(|key| items(args, key));
                blocks.extend(images.filter_map(Json::as_str).map(|url| media_block(url, None, None)));
                tree.add_user(Json::Array(blocks));
            }
            "finish" => {
                let said = [
                    text("final_thought"),
                    text_at(args, &["outputs", "content"]).unwrap_or_default(),
                    text("thought"),
                ];
                let said = said.into_iter().find(|said| !said.is_empty());
                self.answer(event, said.or(text_at(event, &["message"])).unwrap_or_default(), None, tree);
            }
            _ if is_agent => {
                let metadata = event.get("tool_call_metadata").unwrap_or(&null);
                let id = text_at(metadata, &["tool_call_id"]);
                let id = id.map_or_else(|| format!("event-{}", name_of(event.get("id"))), str::to_owned);
                let name = text_at(metadata, &["function_name"]).unwrap_or(action);
                let arguments = arguments_of(metadata, &id).unwrap_or_else(|| without_thought(args, action));
                self.calls.insert(name_of(event.get("id")), id.clone());
                let said = response_of(metadata).and_then(|message| message.get("content")).map(text_of);
                let said =
                    said.unwrap_or_else(|| if action == "think" { String::new() } else { text("thought").to_owned() });
                self.answer(event, &said, Some(call_block(&id, name, arguments)), tree);
            }
            _ => {}
        }
    }

    /// Adds an answer. A response may make several calls. Its text and usage belong to the first call.
    fn answer(&mut self, event: &Json<'static>, said: &str, call: Option<Json<'static>>, tree: &mut Tree) {
        let response = value_at(event, &["tool_call_metadata", "model_response"]);
        let id = response.and_then(|response| text_at(response, &["id"])).map(str::to_owned);
        let is_first = id.is_none() || id != self.response;
        self.response = id.or(self.response.take());
        let mut blocks = Vec::new();
        let reasoning = event.get("tool_call_metadata").and_then(response_of);
        let reasoning = reasoning.and_then(|message| text_at(message, &["reasoning_content"]));
        if is_first {
            blocks.extend(reasoning.filter(|text| !text.is_empty()).map(|text| thinking_block(text, None)));
            blocks.extend(Some(said).filter(|said| !said.is_empty()).map(text_block));
        }
        blocks.extend(call);
        let usage = response.and_then(|response| response.get("usage")).filter(|_| is_first).map(usage_of);
        let model = response.and_then(|response| text_at(response, &["model"])).unwrap_or_default().to_owned();
        tree.add_answer(blocks, &Answer { api: API, model, usage, ..Answer::default() }, 0.0);
    }

    fn observation(&mut self, event: &Json<'static>, observation: &str, tree: &mut Tree) {
        let id = text_at(event, &["tool_call_metadata", "tool_call_id"]).map(str::to_owned);
        // Observations of state and recall have a cause, but no call.
        let Some(id) = self.calls.remove(&name_of(event.get("cause"))).or(id) else { return };
        let name = text_at(event, &["tool_call_metadata", "function_name"]).unwrap_or_default();
        let content = text_at(event, &["content"]).unwrap_or_default();
        let mut blocks = vec![text_block(content)];
        if let Some(shot) = text_at(event, &["extras", "screenshot"]).filter(|shot| shot.starts_with("data:")) {
            blocks.push(media_block(shot, None, None));
        }
        tree.add_result(&id, name, blocks, matches!(observation, "error" | "user_rejected"));
    }

    /// Reads an event of the second generation.
    fn event(&mut self, event: &Json<'static>, kind: &str, tree: &mut Tree) {
        let text = |path: &[&str]| text_at(event, path).unwrap_or_default();
        match kind {
            "SystemPromptEvent" => tree.add_system(text(&["system_prompt", "text"])),
            "MessageEvent" => {
                let blocks = value_at(event, &["llm_message"]).map_or(&[][..], |message| items(message, "content"));
                let blocks: Vec<Json<'static>> = blocks.iter().flat_map(blocks_of).collect();
                match text(&["llm_message", "role"]) {
                    "assistant" => tree.add_answer(blocks, &Answer { api: API, ..Answer::default() }, 0.0),
                    _ => tree.add_user(Json::Array(blocks)),
                }
            }
            "ActionEvent" => {
                let response = text_at(event, &["llm_response_id"]).map(str::to_owned);
                let is_first = response.is_none() || response != self.response;
                self.response = response.or(self.response.take());
                let mut blocks = Vec::new();
                if is_first {
                    let thinking = items(event, "thinking_blocks").iter();
                    let thinking: Vec<Json<'static>> = thinking
                        .filter_map(|block| {
                            Some(thinking_block(text_at(block, &["thinking"])?, text_at(block, &["signature"])))
                        })
                        .collect();
                    let reasoning =
                        Some(text(&["reasoning_content"])).filter(|text| !text.is_empty() && thinking.is_empty());
                    blocks.extend(thinking);
                    blocks.extend(reasoning.map(|text| thinking_block(text, None)));
                    blocks.extend(items(event, "thought").iter().flat_map(blocks_of));
                }
                let id = text(&["tool_call_id"]);
                let written = ["arguments", "function"].into_iter().find_map(|key| {
                    let value = value_at(event, &["tool_call", key])?;
                    value.as_str().or_else(|| text_at(value, &["arguments"]))
                });
                let action = || arguments_object(event.get("action").cloned().unwrap_or(Json::Null));
                let arguments = written.map_or_else(action, arguments_of_text);
                self.calls.insert(name_of(event.get("id")), id.to_owned());
                blocks.push(call_block(id, text(&["tool_name"]), arguments));
                tree.add_answer(blocks, &Answer { api: API, ..Answer::default() }, 0.0);
            }
            "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent" => {
                let content = value_at(event, &["observation", "content"])
                    .or_else(|| value_at(event, &["observation", "output"]));
                let mut blocks: Vec<Json<'static>> = match content {
                    Some(Json::Array(parts)) => parts.iter().flat_map(blocks_of).collect(),
                    Some(Json::String(text)) => vec![text_block(text)],
                    _ => Vec::new(),
                };
                let reason = ["error", "rejection_reason"].into_iter().find_map(|key| text_at(event, &[key]));
                blocks.extend(reason.map(text_block));
                let is_error = value_at(event, &["observation", "is_error"]).and_then(Json::as_bool).unwrap_or(false);
                let is_error = is_error || kind != "ObservationEvent";
                tree.add_result(text(&["tool_call_id"]), text(&["tool_name"]), blocks, is_error);
            }
            _ if STATE_KINDS.contains(&kind) => {}
            _ => tree.unknown(kind),
        }
    }
}

/// The id of an event as text. It may be a number.
fn name_of(id: Option<&Json<'_>>) -> String {
    match id {
        Some(Json::String(text)) => text.clone().into_owned(),
        Some(other) => other.to_compact(),
        None => String::new(),
    }
}

fn response_of<'a>(metadata: &'a Json<'static>) -> Option<&'a Json<'static>> {
    let response = metadata.get("model_response")?;
    items(response, "choices").first()?.get("message")
}

/// The arguments of the call as the model wrote them.
fn arguments_of(metadata: &Json<'static>, id: &str) -> Option<Json<'static>> {
    let calls = items(response_of(metadata)?, "tool_calls");
    let call = calls.iter().find(|call| text_at(call, &["id"]) == Some(id))?;
    text_at(call, &["function", "arguments"]).map(arguments_of_text)
}

fn without_thought(args: &Json<'static>, action: &str) -> Json<'static> {
    match args {
        Json::Object(members) if action != "think" => {
            Json::Object(members.iter().filter(|(key, _)| key != "thought").cloned().collect())
        }
        other => arguments_object(other.clone()),
    }
}

fn usage_of(usage: &Json<'_>) -> Tokens {
    let cached = count_at(usage, &["prompt_tokens_details", "cached_tokens"]);
    Tokens {
        input: count_at(usage, &["prompt_tokens"]).saturating_sub(cached),
        output: count_at(usage, &["completion_tokens"]),
        cache_read: cached,
        cache_write: 0,
    }
}

/// The blocks for one part of content, which is text or images.
fn blocks_of(part: &Json<'static>) -> Vec<Json<'static>> {
    match text_at(part, &["type"]) {
        Some("image") => {
            items(part, "image_urls").iter().filter_map(Json::as_str).map(|url| media_block(url, None, None)).collect()
        }
        _ => text_at(part, &["text"]).filter(|text| !text.is_empty()).map(text_block).into_iter().collect(),
    }
}

impl Reader for OpenHands {
    fn read(&mut self, record: Record, tree: &mut Tree) {
        let Some(event) = tree.object_of(&record) else { return };
        if let Some(time) = time_of(event.get("timestamp")) {
            tree.time = time;
        }
        tree.keep(&record);
        let kind = |key: &str| text_at(&event, &[key]).filter(|kind| !kind.is_empty());
        match (kind("action"), kind("observation"), kind("kind")) {
            (Some(action), ..) => self.action(&event, action, tree),
            (None, Some(observation), _) => self.observation(&event, observation, tree),
            (None, None, Some(kind)) => self.event(&event, kind, tree),
            (None, None, None) => tree.unknown("event"),
        }
    }

    fn flush(&mut self, _tree: &mut Tree) {}
}
