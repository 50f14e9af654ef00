//! Transcripts of Codex: rollouts, lines of JSON in `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.
//!
//! The conversation is stored as items of the `responses` interface. Events repeat it. The reader uses events only for
//! usage, names and rollbacks.

use super::Reader;
use super::claude_code::text_of;
use super::records::Record;
use super::tree::{Group, Tokens, Tree, count_at, items, text_at, time_of, value_at};
use crate::formats::Format;
use crate::formats::node::string;
use crate::json::{self, Json, RawObject};

/// Items of an answer.
const OF_ANSWER: [&str; 10] = [
    "reasoning",
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "web_search_call",
    "image_generation_call",
    "tool_search_call",
    "mcp_call",
];
/// Items without a message.
const WITHOUT_MESSAGE: [&str; 5] =
    ["additional_tools", "ghost_snapshot", "compaction", "compaction_summary", "context_compaction"];
/// Types of lines without a message.
const LINES_WITHOUT_MESSAGE: [&str; 6] = [
    "inter_agent_communication_metadata",
    "realtime_item",
    "retained_context",
    "security_risk_score",
    "token_usage_record",
    "world_state",
];

/// Whether a line is from Codex.
pub(super) fn is_line(value: &Json<'_>) -> bool {
    match text_at(value, &["type"]) {
        Some("session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted") => {
            value.get("payload").is_some()
        }
        Some(_) => false,
        // The first line of old rollouts.
        None => value.get("id").is_some() && value.get("timestamp").is_some() && value.get("instructions").is_some(),
    }
}

/// Id, working directory and time that a line names.
pub(super) fn identify(value: &Json<'_>) -> (Option<String>, Option<String>, Option<i64>) {
    let kind = text_at(value, &["type"]);
    let meta = if kind == Some("session_meta") { value.get("payload") } else { Some(value).filter(|_| kind.is_none()) };
    let text = |key: &str| text_at(meta?, &[key]).map(str::to_owned);
    let cwd = text("cwd").or_else(|| text_at(value, &["payload", "cwd"]).map(str::to_owned));
    (text("id"), cwd, time_of(value.get("timestamp")))
}

#[derive(Debug, Default)]
pub(super) struct Codex {
    /// The items of an answer that may have more items, with the number of its first line.
    pending: Option<(u64, Vec<String>)>,
    usage: Option<Tokens>,
    /// The counts of the whole session in the last usage. Codex repeats usage.
    counted: Option<Json<'static>>,
    /// Whether the usage precedes the items of its answer, as early versions wrote it. Unknown before the first usage.
    is_usage_first: Option<bool>,
    provider: Option<String>,
    model: Option<String>,
    /// Tokens of the context when the last answer was complete.
    context_tokens: u64,
    /// The group before each turn, for rollbacks.
    turns: Vec<Group>,
    /// The group before the last user message.
    before_user: Option<Group>,
}

impl Codex {
    /// Reads an item. `item` is its JSON text.
    fn item(&mut self, record: &Record, value: &Json<'static>, item: &str, tree: &mut Tree) {
        let role = text_at(value, &["role"]);
        let kind = text_at(value, &["type"]).unwrap_or(if role.is_some() { "message" } else { "" });
        if OF_ANSWER.contains(&kind) || (kind == "message" && role == Some("assistant")) {
            if self.pending.is_none() {
                tree.begin_group();
            }
            tree.keep(record);
            self.pending.get_or_insert_with(|| (record.number, Vec::new())).1.push(item.to_owned());
            return;
        }
        self.flush(tree);
        if kind == "message" && role == Some("user") {
            self.before_user = Some(tree.group());
            tree.begin_group();
        }
        tree.keep(record);
        match kind {
            "agent_message" => add_agent_message(value, tree),
            "message" => tree.add_read(Format::OpenAiResponses, &[item], |_| ()),
            _ if kind.ends_with("_output") => add_result(value, item, tree),
            _ if WITHOUT_MESSAGE.contains(&kind) => {}
            _ => tree.unknown(kind),
        }
    }

    fn event(&mut self, record: &Record, event: &Json<'static>, tree: &mut Tree) {
        match text_at(event, &["type"]).unwrap_or_default() {
            "token_count" => {
                tree.keep(record);
                self.count_tokens(event, tree);
            }
            "user_message" => {
                self.turns.push(self.before_user.take().unwrap_or(tree.group()));
                tree.keep(record);
            }
            "thread_rolled_back" => {
                self.flush(tree);
                let left = self.turns.len().saturating_sub(count_at(event, &["num_turns"]) as usize);
                if let Some(group) = self.turns.get(left).copied() {
                    self.turns.truncate(left);
                    tree.go_to(group);
                }
                tree.keep(record);
            }
            "thread_name_updated" => {
                tree.keep(record);
                if let Some(name) = ["thread_name", "name"].into_iter().find_map(|key| text_at(event, &[key])) {
                    tree.add_name(name);
                }
            }
            _ => tree.keep(record),
        }
    }

    /// Reads usage, which ends an answer. Early versions wrote the usage of an answer before its first item.
    fn count_tokens(&mut self, event: &Json<'static>, tree: &mut Tree) {
        let usage = value_at(event, &["info", "last_token_usage"]).and_then(|last| self.usage_in(event, last));
        if let Some(usage) = usage {
            self.context_tokens = usage.total();
            self.is_usage_first.get_or_insert(self.pending.is_none());
        }
        if self.is_usage_first != Some(true) {
            self.usage = usage;
            self.flush(tree);
            self.usage = None;
        } else if usage.is_some() {
            self.flush(tree);
            self.usage = usage;
        }
    }

    /// The usage in an event. Returns `None` if the event repeats the one before.
    fn usage_in(&mut self, event: &Json<'static>, last: &Json<'static>) -> Option<Tokens> {
        let total = value_at(event, &["info", "total_token_usage"]).cloned();
        if total.is_some() && total == self.counted {
            return None;
        }
        self.counted = total;
        let count = |key: &str| count_at(last, &[key]);
        let (cache_read, cache_write) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
        let input = count("input_tokens").saturating_sub(cache_read).saturating_sub(cache_write);
        Some(Tokens { input, output: count("output_tokens"), cache_read, cache_write })
    }

    /// Reads a message that another agent sent to this one. It begins a turn.
    fn inter_agent_message(&mut self, record: &Record, payload: &Json<'static>, tree: &mut Tree) {
        self.flush(tree);
        self.turns.push(tree.group());
        tree.begin_group();
        tree.keep(record);
        add_agent_message(payload, tree);
    }

    /// Reads a compaction. The user messages that Codex kept follow it.
    fn compacted(&mut self, record: &Record, payload: &Json<'static>, tree: &mut Tree) {
        self.flush(tree);
        let summary = text_at(payload, &["message"]).unwrap_or_default();
        if summary.is_empty() {
            // The summary is encrypted, so the context stays whole.
            tree.keep(record);
            return;
        }
        tree.begin_group();
        tree.keep(record);
        tree.add_compaction(summary, None, self.context_tokens);
        for item in items(payload, "replacement_history") {
            let is_user = text_at(item, &["role"]) == Some("user");
            if is_user && item.get("content").is_none_or(|content| text_of(content) != summary) {
                tree.add_read(Format::OpenAiResponses, &[&item.to_compact()], |_| ());
            }
        }
    }
}

/// Adds a message of another agent. The model reads it like a message of the user.
fn add_agent_message(message: &Json<'static>, tree: &mut Tree) {
    let text = message.get("content").map(text_of).unwrap_or_default();
    if !text.is_empty() {
        let author = text_at(message, &["author"]).unwrap_or("unknown");
        tree.add_user(string(format!("Message from the agent {author}:\n{text}")));
    }
}

/// Adds a tool result. An output may be an object with a text and an exit code, or the JSON text of such an object.
fn add_result(value: &Json<'static>, item: &str, tree: &mut Tree) {
    let output = value.get("output");
    let parsed = output.and_then(Json::as_str).and_then(|text| Json::parse(text).ok()).map(Json::into_owned);
    let result = output.filter(|output| output.as_object().is_some()).or(parsed.as_ref());
    let exit_code = result.and_then(|result| value_at(result, &["metadata", "exit_code"])).and_then(Json::as_f64);
    let mut object = RawObject::parse(item).map(RawObject::into_owned).unwrap_or_default();
    if let Some(text) = output.and_then(|output| text_at(output, &["output"]).or_else(|| text_at(output, &["content"])))
    {
        object.set("output", json::encode_string(text));
    }
    tree.add_read(Format::OpenAiResponses, &[&object.to_json()], |message| {
        if exit_code.is_some_and(|code| code != 0.0) {
            message.set("isError", "true");
        }
    });
}

impl Reader for Codex {
    fn read(&mut self, record: Record, tree: &mut Tree) {
        let Some(line) = tree.object_of(&record) else { return };
        if let Some(time) = time_of(line.get("timestamp")) {
            tree.time = time;
        }
        let text = record.text().unwrap_or_default();
        let Some(payload) = line.get("payload") else {
            // Old rollouts contain the items themselves.
            if line.get("role").is_some() || text_at(&line, &["type"]).is_some() {
                self.item(&record, &line, text, tree);
            } else {
                tree.keep(&record);
            }
            return;
        };
        match text_at(&line, &["type"]).unwrap_or_default() {
            "response_item" => {
                match RawObject::parse(text).ok().and_then(|line| line.get("payload").map(str::to_owned)) {
                    Some(item) => self.item(&record, payload, &item, tree),
                    None => tree.keep(&record),
                }
            }
            "event_msg" => self.event(&record, payload, tree),
            "inter_agent_communication" => self.inter_agent_message(&record, payload, tree),
            "compacted" => self.compacted(&record, payload, tree),
            "turn_context" => {
                self.flush(tree);
                self.model = text_at(payload, &["model"]).map(str::to_owned).or(self.model.take());
                tree.keep(&record);
            }
            "session_meta" => {
                self.provider = text_at(payload, &["model_provider"]).map(str::to_owned).or(self.provider.take());
                tree.keep(&record);
            }
            kind => {
                tree.keep(&record);
                if !LINES_WITHOUT_MESSAGE.contains(&kind) {
                    tree.unknown(kind);
                }
            }
        }
    }

    fn flush(&mut self, tree: &mut Tree) {
        let Some((record, items)) = self.pending.take() else { return };
        tree.begin(record);
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let usage = self.usage.take();
        tree.add_read(Format::OpenAiResponses, &items, |message| {
            for (key, value) in [("provider", &self.provider), ("model", &self.model)] {
                if let Some(value) = value {
                    message.set(key, json::encode_string(value));
                }
            }
            if let Some(usage) = usage {
                message.set("usage", usage.to_json(0.0).to_compact());
            }
        });
    }
}
