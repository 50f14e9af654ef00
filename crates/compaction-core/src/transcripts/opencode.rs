//! Transcripts of opencode: the document of `opencode export`, or the files of its storage
//! (`session/<project>/<session>.json`, `message/<session>/<message>.json`, `part/<message>/<part>.json`).

use std::collections::HashMap;

use super::Reader;
use super::records::Record;
use super::tree::{
    Answer, Group, Tokens, Tree, call_block, count_at, items, text_at, text_block, thinking_block, time_of, value_at,
};
use crate::formats::media_block;
use crate::formats::node::arguments_object;
use crate::json::Json;

const API: &str = "opencode";
/// Parts without content of the conversation.
const WITHOUT_CONTENT: [&str; 8] =
    ["step-start", "snapshot", "patch", "agent", "subtask", "retry", "compaction", "step-finish"];

/// Whether a document, without its messages, is an export of opencode.
pub(super) fn is_document(document: &Json<'_>) -> bool {
    document.get("info").is_some() && document.get("messages").is_some()
}

/// Whether a value is one of the files, or one of the messages of an export.
pub(super) fn is_message(value: &Json<'_>) -> bool {
    let id = text_at(value, &["id"]).or_else(|| text_at(value, &["info", "id"])).unwrap_or_default();
    ["ses_", "msg_", "prt_"].iter().any(|start| id.starts_with(start))
}

/// Id, working directory and time that the session's own record names.
pub(super) fn identify(value: &Json<'_>) -> (Option<String>, Option<String>, Option<i64>) {
    let info = value.get("info").unwrap_or(value);
    let text = |key: &str| text_at(info, &[key]).map(str::to_owned);
    let id = text("id").filter(|id| id.starts_with("ses_")).or_else(|| text("sessionID"));
    let cwd = text("directory").or_else(|| text_at(info, &["path", "cwd"]).map(str::to_owned));
    (id, cwd, time_of(value_at(info, &["time", "created"])))
}

#[derive(Debug, Default)]
pub(super) struct OpenCode {
    /// A message that may have more parts.
    pending: Option<(Record, Json<'static>, Vec<Json<'static>>)>,
    /// The group of each message.
    messages: HashMap<String, Group>,
    /// The first message that the next compaction keeps.
    tail: Option<String>,
    /// Tokens of the context when the last answer was complete.
    context_tokens: u64,
    is_named: bool,
}

impl OpenCode {
    fn message(&mut self, info: &Json<'static>, parts: &[Json<'static>], tree: &mut Tree) {
        if let Some(id) = text_at(info, &["id"]) {
            self.messages.insert(id.to_owned(), tree.group());
        }
        for part in parts {
            let kind = text_at(part, &["type"]).unwrap_or_default();
            if !matches!(kind, "text" | "reasoning" | "tool" | "file") && !WITHOUT_CONTENT.contains(&kind) {
                tree.unknown(kind);
            }
        }
        match text_at(info, &["role"]) {
            Some("user") => self.user(parts, tree),
            Some("assistant") if is_summary(info) => {
                let texts: Vec<&str> = parts.iter().filter(|part| is_text(part)).filter_map(text_of).collect();
                let kept = self.tail.take().and_then(|tail| self.messages.get(&tail));
                let first_kept = kept.and_then(|group| tree.start_of(*group).cloned());
                tree.add_compaction(&texts.join("\n"), first_kept, self.context_tokens);
            }
            Some("assistant") => self.assistant(info, parts, tree),
            role => tree.problem(format!("a message has the role {}", role.unwrap_or("none"))),
        }
    }

    fn name(&mut self, info: &Json<'_>, tree: &mut Tree) {
        if let Some(title) = text_at(info, &["title"]).filter(|_| !self.is_named) {
            tree.add_name(title);
            self.is_named = true;
        }
    }

    fn user(&mut self, parts: &[Json<'static>], tree: &mut Tree) {
        if let Some(compaction) = parts.iter().find(|part| text_at(part, &["type"]) == Some("compaction")) {
            self.tail = text_at(compaction, &["tail_start_id"]).map(str::to_owned);
            return;
        }
        let blocks: Vec<Json<'static>> = parts.iter().filter_map(block_of).collect();
        if !blocks.is_empty() {
            tree.add_user(Json::Array(blocks));
        }
    }

    /// Adds an answer. The results follow their calls. Text after a result becomes another message.
    fn assistant(&mut self, info: &Json<'static>, parts: &[Json<'static>], tree: &mut Tree) {
        let text = |key: &str| text_at(info, &[key]).unwrap_or_default().to_owned();
        let answer = Answer { api: API, provider: text("providerID"), model: text("modelID"), ..Answer::default() };
        let has_steps = parts.iter().any(|part| text_at(part, &["type"]) == Some("step-finish"));
        let mut step = Step::default();
        for part in parts {
            match text_at(part, &["type"]).unwrap_or_default() {
                "text" | "reasoning" | "file" => {
                    if !step.results.is_empty() {
                        std::mem::take(&mut step).add(&answer, tree);
                    }
                    step.blocks.extend(block_of(part));
                }
                "tool" => step.tool(part),
                "step-finish" => {
                    step.usage = Some(tokens_of(part));
                    step.cost = value_at(part, &["cost"]).and_then(Json::as_f64).unwrap_or_default();
                    std::mem::take(&mut step).add(&answer, tree);
                }
                _ => {}
            }
        }
        if !has_steps {
            step.usage = Some(tokens_of(info));
            step.cost = value_at(info, &["cost"]).and_then(Json::as_f64).unwrap_or_default();
        }
        self.context_tokens = tokens_of(info).total();
        let error = info.get("error").filter(|error| **error != Json::Null);
        match error.filter(|_| parts.iter().all(|part| block_of(part).is_none())) {
            Some(error) => {
                let text =
                    text_at(error, &["data", "message"]).or_else(|| text_at(error, &["name"])).unwrap_or("error");
                let is_abort = text_at(error, &["name"]) == Some("MessageAbortedError");
                let stop_reason = Some(if is_abort { "aborted" } else { "error" });
                let answer = Answer { stop_reason, error: Some(text.to_owned()), usage: step.usage, ..answer };
                tree.add_answer(step.blocks, &answer, step.cost);
            }
            None => step.add(&answer, tree),
        }
    }
}

fn is_summary(info: &Json<'_>) -> bool {
    info.get("summary").and_then(Json::as_bool).unwrap_or(false)
}

fn is_text(part: &Json<'_>) -> bool {
    text_at(part, &["type"]) == Some("text") && part.get("ignored").and_then(Json::as_bool) != Some(true)
}

fn text_of<'a>(part: &'a Json<'_>) -> Option<&'a str> {
    text_at(part, &["text"])
}

fn block_of(part: &Json<'static>) -> Option<Json<'static>> {
    match text_at(part, &["type"])? {
        "text" if is_text(part) => text_of(part).filter(|text| !text.is_empty()).map(text_block),
        "reasoning" => text_of(part).filter(|text| !text.is_empty()).map(|text| thinking_block(text, None)),
        "file" => Some(media_block(text_at(part, &["url"])?, text_at(part, &["mime"]), text_at(part, &["filename"]))),
        _ => None,
    }
}

fn tokens_of(json: &Json<'_>) -> Tokens {
    Tokens {
        input: count_at(json, &["tokens", "input"]),
        output: count_at(json, &["tokens", "output"]).saturating_add(count_at(json, &["tokens", "reasoning"])),
        cache_read: count_at(json, &["tokens", "cache", "read"]),
        cache_write: count_at(json, &["tokens", "cache", "write"]),
    }
}

/// The answer to one request of a model, with the results of its calls.
#[derive(Debug, Default)]
struct Step {
    blocks: Vec<Json<'static>>,
    results: Vec<(String, String, Vec<Json<'static>>, bool)>,
    usage: Option<Tokens>,
    cost: f64,
}

impl Step {
    fn tool(&mut self, part: &Json<'static>) {
        let text = |path: &[&str]| text_at(part, path).unwrap_or_default().to_owned();
        let (id, name) = (text(&["callID"]), text(&["tool"]));
        let input = value_at(part, &["state", "input"]).cloned().unwrap_or(Json::Null);
        self.blocks.push(call_block(&id, &name, arguments_object(input)));
        let is_error = match text_at(part, &["state", "status"]) {
            Some("completed") => false,
            Some("error") => true,
            _ => return,
        };
        let mut blocks = vec![text_block(&text(&["state", if is_error { "error" } else { "output" }]))];
        let attachments = part.get("state").map_or(&[][..], |state| items(state, "attachments"));
        blocks.extend(attachments.iter().filter_map(block_of));
        self.results.push((id, name, blocks, is_error));
    }

    fn add(self, answer: &Answer, tree: &mut Tree) {
        if self.blocks.is_empty() {
            return;
        }
        tree.add_answer(self.blocks, &Answer { usage: self.usage, ..answer.clone() }, self.cost);
        for (id, name, blocks, is_error) in self.results {
            tree.add_result(&id, &name, blocks, is_error);
        }
    }
}

impl Reader for OpenCode {
    fn read(&mut self, record: Record, tree: &mut Tree) {
        let Some(value) = tree.object_of(&record) else { return };
        let file = record.file.as_deref().unwrap_or_default();
        if let (Some((_, _, parts)), true) = (&mut self.pending, file.starts_with("part/")) {
            parts.push(value);
            tree.keep(&record);
            return;
        }
        self.flush(tree);
        let info = value.get("info").unwrap_or(&value);
        if let Some(time) = time_of(value_at(info, &["time", "created"])) {
            tree.time = time;
        }
        if text_at(info, &["role"]).is_none() {
            tree.keep(&record);
            self.name(info, tree);
            return;
        }
        tree.begin_group();
        tree.keep(&record);
        if let Some(document) = record.document() {
            self.name(document.get("info").unwrap_or(&document), tree);
        }
        if file.is_empty() {
            self.message(info, items(&value, "parts"), tree);
        } else {
            let outline = Record { content: Vec::new(), ..record };
            self.pending = Some((outline, value, Vec::new()));
        }
    }

    fn flush(&mut self, tree: &mut Tree) {
        if let Some((record, info, parts)) = self.pending.take() {
            tree.begin(record.number);
            self.message(&info, &parts, tree);
        }
    }
}
