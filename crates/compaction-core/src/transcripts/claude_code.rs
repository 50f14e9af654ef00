//! Transcripts of Claude Code: lines of JSON in `~/.claude/projects/<directory>/<session>.jsonl`.
//!
//! A transcript is a tree: each line names its parent. Each block of an answer has its own line, and the results of
//! parallel calls have different lines as parents. The reader joins these lines into one answer with its results.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::Reader;
use super::records::Record;
use super::tree::{Group, Tree, count_at, items, text_at, time_of, value_at};
use crate::formats::Format;
use crate::json::{self, Json, RawObject};
use crate::message::HARNESS_TYPE;

/// Types of lines without a message.
const WITHOUT_MESSAGE: [&str; 31] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
    "atis-latch",
    "attachment",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "cost-state",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "saved_hook_context",
    "started",
    "summary",
    "system",
    "tag",
    "task-summary",
    "worktree-state",
    "result",
];

/// Beginnings of a line that was written after an incomplete one.
const LINE_STARTS: [&str; 3] = ["{\"parentUuid\":", "{\"type\":", "{\"uuid\":"];
/// Maximum number of places in an incomplete line that may begin the next line.
const MAX_STARTS: usize = 32;

/// Maximum number of records that a line waits for its parent, and maximum number of waiting lines. In people's
/// transcripts, the parent came at most 3 lines later.
const MAX_WAIT: u64 = 32;
/// Maximum bytes of the lines that wait.
const MAX_WAITING: usize = 8 << 20;

/// Whether a line is from Claude Code.
pub(super) fn is_line(value: &Json<'_>) -> bool {
    let kind = text_at(value, &["type"]).unwrap_or_default();
    // The id comes after the message, and only a part of the line may be known.
    let is_line = value.get("uuid").is_some() || value.get("parentUuid").is_some();
    let is_message = matches!(kind, "user" | "assistant" | "system") && is_line;
    is_message || (WITHOUT_MESSAGE.contains(&kind) && (value.get("sessionId").is_some() || kind == "summary"))
}

/// Id, working directory and time that a line names.
pub(super) fn identify(value: &Json<'_>) -> (Option<String>, Option<String>, Option<i64>) {
    let text = |key: &str| text_at(value, &[key]).map(str::to_owned);
    // In the transcript of a subagent, `sessionId` is the parent's session.
    let agent = text("agentId").filter(|_| is_sidechain(value)).map(|agent| format!("agent-{agent}"));
    (agent.or(text("sessionId")), text("cwd"), time_of(value.get("timestamp")))
}

fn is_sidechain(line: &Json<'_>) -> bool {
    is_true(line, "isSidechain")
}

fn is_true(line: &Json<'_>, key: &str) -> bool {
    line.get(key).and_then(Json::as_bool).unwrap_or(false)
}

/// Hash of a line's id. A long transcript has many lines, so the reader keeps hashes instead of ids.
fn hash(uuid: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    uuid.hash(&mut hasher);
    hasher.finish()
}

/// An answer that may have more lines.
#[derive(Debug)]
struct Pending {
    /// The provider's id of the answer.
    id: Option<String>,
    /// Its first line.
    record: u64,
    /// The blocks so far, each a JSON text.
    blocks: Vec<String>,
    /// The message of the last line, without its content. It has the final usage and stop reason.
    message: String,
    error: Option<String>,
    /// Whether an earlier entry contains the start of the answer.
    is_continued: bool,
}

/// A compaction boundary. The line with the summary follows it.
#[derive(Debug, Default)]
struct Boundary {
    tokens: u64,
    /// The group of the first message that the compaction kept.
    head: Option<Group>,
    /// Hash of the last line that the compaction kept.
    tail: Option<u64>,
}

/// The state of a line's record.
#[derive(Debug, Clone, Copy)]
enum Kept<'a> {
    /// It is kept together with the line.
    Now(&'a Record),
    /// It was kept before, with this number.
    Before(u64),
}

impl Kept<'_> {
    /// Keeps the record if it has not been kept, and makes it the current one. Returns its number.
    fn keep(self, tree: &mut Tree) -> u64 {
        match self {
            Self::Now(record) => tree.keep(record),
            Self::Before(record) => tree.begin(record),
        }
        tree.record()
    }
}

/// A line whose parent has not been read yet. Its record is kept already.
#[derive(Debug)]
struct Waiting {
    record: u64,
    text: String,
    /// Hash of the parent's id.
    parent: u64,
    /// Hash of the id of the line before it. If the parent does not come, the line follows that one.
    previous: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct ClaudeCode {
    /// The group of each line, by the hash of its id.
    groups: HashMap<u64, Group>,
    pending: Option<Pending>,
    /// Id and group of the last answer.
    last_answer: Option<(String, Group)>,
    boundary: Option<Boundary>,
    /// Lines that come before their parents, in file order.
    waiting: VecDeque<Waiting>,
    /// Bytes of these lines.
    waiting_bytes: usize,
    /// Hash of the id of the last line that can be a parent.
    previous: Option<u64>,
    /// Whether the transcript belongs to a subagent. All of its lines are marked as sidechain.
    is_subagent: bool,
}

impl ClaudeCode {
    /// Creates a reader for the conversation `id`.
    pub(super) fn new(id: &str) -> Self {
        Self { is_subagent: id.starts_with("agent-"), ..Self::default() }
    }

    /// Moves to the group of the line's parent.
    fn place(&mut self, line: &Json<'_>, tree: &mut Tree) {
        let parent = ["parentUuid", "logicalParentUuid"].into_iter().find_map(|key| text_at(line, &[key]));
        match parent.map(|parent| self.groups.get(&hash(parent)).copied()) {
            Some(Some(group)) if group != tree.group() => {
                self.end_answer(tree);
                tree.go_to(group);
            }
            Some(Some(_)) => {}
            // The line stays after the previous line.
            Some(None) => tree.report.missing_parents += 1,
            // Other programs write lines without a parent. They follow the previous line.
            None if line.get("parentUuid").is_none() => {}
            None => {
                let is_message = matches!(text_at(line, &["type"]), Some("user" | "assistant"));
                if is_message && !is_true(line, "isCompactSummary") && tree.report.messages > 0 {
                    self.end_answer(tree);
                    tree.go_to(Group::ROOT);
                }
            }
        }
    }

    fn boundary_of(&self, line: &Json<'static>) -> Boundary {
        let tokens = count_at(line, &["compactMetadata", "preTokens"]);
        let segment = |key: &str| text_at(line, &["compactMetadata", "preservedSegment", key]);
        let messages =
            value_at(line, &["compactMetadata", "preservedMessages"]).map_or(&[][..], |kept| items(kept, "uuids"));
        let head = segment("headUuid").or_else(|| messages.first()?.as_str());
        let tail = segment("tailUuid").or_else(|| messages.last()?.as_str());
        Boundary { tokens, head: head.and_then(|head| self.groups.get(&hash(head)).copied()), tail: tail.map(hash) }
    }

    fn take_note(&mut self, line: &Json<'_>, tree: &Tree) {
        if let Some(uuid) = text_at(line, &["uuid"]) {
            self.groups.insert(hash(uuid), tree.group());
        }
    }

    fn user(&mut self, line: &Json<'static>, text: &str, tree: &mut Tree) {
        let Some(content) = line.get("message").and_then(|message| message.get("content")) else {
            tree.problem("a line of the type `user` has no `message.content`");
            return;
        };
        if is_true(line, "isCompactSummary") {
            let summary = text_of(content);
            let boundary = self.boundary.take().unwrap_or_default();
            let first_kept = boundary.head.and_then(|group| tree.start_of(group).cloned());
            tree.add_compaction(&summary, first_kept, boundary.tokens);
            // Later lines may name the last kept line as their parent. They belong after the compaction. A tail that
            // has not been read yet is a new line, not a repeated one.
            let tail = boundary.tail.filter(|tail| self.groups.contains_key(tail));
            self.groups.extend(tail.map(|tail| (tail, tree.group())));
            return;
        }
        if let Some(message) = member(text, "message") {
            let message =
                format!("{{\"role\":\"user\",\"content\":{}}}", member(&message, "content").unwrap_or_default());
            let is_harness = is_true(line, "isMeta");
            tree.add_read(Format::Anthropic, &[&message], |message| {
                if is_harness && message.string("role").as_deref() == Some("user") {
                    message.set("role", "\"custom\"");
                    message.set("customType", json::encode_string(HARNESS_TYPE));
                    message.set("display", "true");
                }
            });
        }
    }

    fn assistant(&mut self, line: &Json<'static>, text: &str, is_continued: bool, tree: &mut Tree) {
        let Some(message) = member(text, "message") else {
            tree.problem("a line of the type `assistant` has no `message`");
            return;
        };
        let content = member(&message, "content").unwrap_or_default();
        let blocks = match serde_json::from_str::<Vec<Box<serde_json::value::RawValue>>>(&content) {
            Ok(blocks) => blocks.iter().map(|block| block.get().to_owned()).collect(),
            Err(_) if content.starts_with('"') => vec![format!("{{\"type\":\"text\",\"text\":{content}}}")],
            Err(_) => {
                tree.problem("a line of the type `assistant` has no list of blocks as `message.content`");
                return;
            }
        };
        let id = text_at(line, &["message", "id"]).map(str::to_owned);
        let is_error = is_true(line, "isApiErrorMessage");
        let error = value_at(line, &["message", "content"]).filter(|_| is_error).map(text_of);
        let mut outline = RawObject::parse(&message).map(RawObject::into_owned).unwrap_or_default();
        outline.remove("content");
        match &mut self.pending {
            Some(pending) => {
                pending.blocks.extend(blocks);
                pending.message = outline.to_json();
            }
            None => {
                self.last_answer = id.clone().map(|id| (id, tree.group()));
                self.pending = Some(Pending {
                    id,
                    record: tree.record(),
                    blocks,
                    message: outline.to_json(),
                    error,
                    is_continued,
                });
            }
        }
    }
}

impl ClaudeCode {
    /// Reads a line and the lines that waited for it. A line whose parent has not been read waits.
    fn arrive(&mut self, line: &Json<'static>, text: &str, record: Kept<'_>, tree: &mut Tree) {
        let is_read = is_sidechain(line) && !self.is_subagent;
        let uuid = text_at(line, &["uuid"]).map(hash).filter(|uuid| !is_read && !self.groups.contains_key(uuid));
        let previous = self.previous;
        self.previous = uuid.or(previous);
        let parent = uuid.and_then(|_| text_at(line, &["parentUuid"])).map(hash);
        match parent.filter(|parent| !self.groups.contains_key(parent)) {
            Some(parent) => {
                let time = tree.time;
                tree.time = time_of(line.get("timestamp")).unwrap_or(time);
                let number = record.keep(tree);
                // The answer before it may have no time of its own.
                tree.time = time;
                self.waiting_bytes += text.len();
                self.waiting.push_back(Waiting { record: number, text: text.to_owned(), parent, previous });
                while self.waiting_bytes > MAX_WAITING || self.waiting.len() > MAX_WAIT as usize {
                    self.stop_waiting(tree);
                }
            }
            None => {
                self.line(line, text, record, tree);
                self.read_children(tree);
            }
        }
    }

    /// Reads the lines whose parents have been read.
    fn read_children(&mut self, tree: &mut Tree) {
        while let Some(at) = self.waiting.iter().position(|line| self.groups.contains_key(&line.parent)) {
            self.read_waiting(at, tree);
        }
    }

    /// Reads the line that has waited longest, and those that waited for it.
    fn stop_waiting(&mut self, tree: &mut Tree) {
        let previous = self.waiting.front().and_then(|line| line.previous);
        let group = previous.and_then(|previous| self.groups.get(&previous).copied());
        if let Some(group) = group.filter(|group| *group != tree.group()) {
            self.end_answer(tree);
            tree.go_to(group);
        }
        self.read_waiting(0, tree);
        self.read_children(tree);
    }

    fn read_waiting(&mut self, at: usize, tree: &mut Tree) {
        let Some(Waiting { record, text, .. }) = self.waiting.remove(at) else { return };
        self.waiting_bytes -= text.len();
        if let Ok(line) = Json::parse(&text) {
            self.line(&line.into_owned(), &text, Kept::Before(record), tree);
        }
    }

    /// Reads a line. `text` is its JSON text.
    fn line(&mut self, line: &Json<'static>, text: &str, record: Kept<'_>, tree: &mut Tree) {
        let keep = |tree: &mut Tree| _ = record.keep(tree);
        let kind = text_at(line, &["type"]).unwrap_or_default();
        if is_sidechain(line) && !self.is_subagent {
            tree.report.sidechains += 1;
            return keep(tree);
        }
        // Claude Code writes lines again, for example when an editor reopens a session.
        if text_at(line, &["uuid"]).is_some_and(|uuid| self.groups.contains_key(&hash(uuid))) {
            return keep(tree);
        }
        let queued = value_at(line, &["attachment", "prompt"]).filter(|_| is_queued(line));
        let id = text_at(line, &["message", "id"]);
        let is_answer = kind == "assistant";
        let is_same_answer =
            is_answer && id.is_some() && self.pending.as_ref().is_some_and(|pending| pending.id.as_deref() == id);
        if (matches!(kind, "user" | "assistant") && !is_same_answer) || queued.is_some() {
            self.end_answer(tree);
        }
        if line.get("uuid").is_some() {
            self.place(line, tree);
        }
        if let Some(time) = time_of(line.get("timestamp")) {
            tree.time = time;
        }
        let is_continued = is_answer
            && self
                .last_answer
                .as_ref()
                .is_some_and(|(last, group)| Some(last.as_str()) == id && *group == tree.group());
        let is_prompt = (kind == "user" && !has_results(line)) || queued.is_some();
        if is_prompt || (is_answer && !is_same_answer && !is_continued) {
            tree.begin_group();
        }
        keep(tree);
        match kind {
            "user" if is_true(line, "isVisibleInTranscriptOnly") && !is_true(line, "isCompactSummary") => {}
            "user" => self.user(line, text, tree),
            "assistant" => self.assistant(line, text, is_continued, tree),
            "system" if text_at(line, &["subtype"]) == Some("compact_boundary") => {
                self.boundary = Some(self.boundary_of(line));
            }
            "custom-title" | "ai-title" => {
                if let Some(title) = ["customTitle", "aiTitle"].into_iter().find_map(|key| text_at(line, &[key])) {
                    tree.add_name(title);
                }
            }
            "attachment" => {
                if let Some(prompt) = queued {
                    let message = format!("{{\"role\":\"user\",\"content\":{}}}", prompt.to_compact());
                    tree.add_read(Format::Anthropic, &[&message], |_| ());
                }
            }
            kind if WITHOUT_MESSAGE.contains(&kind) => {}
            kind => tree.unknown(kind),
        }
        self.take_note(line, tree);
    }

    /// Adds the answer whose lines have been read.
    fn end_answer(&mut self, tree: &mut Tree) {
        let Some(pending) = self.pending.take() else { return };
        let mut message = RawObject::default();
        message.set("role", "\"assistant\"");
        message.set("content", format!("[{}]", pending.blocks.join(",")));
        let outline = RawObject::parse(&pending.message).unwrap_or_default();
        for key in ["model", "stop_reason"] {
            if let Some(value) = outline.get(key).filter(|value| value.starts_with('"')) {
                message.set(key, value.to_owned());
            }
        }
        if let Some(usage) = outline.get("usage").filter(|usage| usage.starts_with('{') && !pending.is_continued) {
            message.set("usage", usage.to_owned());
        }
        let error = pending.error;
        tree.begin(pending.record);
        tree.add_read(Format::Anthropic, &[&message.to_json()], |message| {
            if let Some(error) = &error {
                message.set("content", "[]");
                message.set("stopReason", "\"error\"");
                message.set("errorMessage", json::encode_string(error));
            }
        });
    }
}

/// Whether a line has a message that the user wrote while the agent worked.
fn is_queued(line: &Json<'_>) -> bool {
    text_at(line, &["type"]) == Some("attachment") && text_at(line, &["attachment", "type"]) == Some("queued_command")
}

/// The lines in a text that is not one JSON value. Two processes that write at the same time leave such texts: several
/// complete lines, or a complete line after an incomplete one.
fn lines_in(text: &str) -> Vec<&str> {
    let is_line_at = |text: &str| Json::parse(text).is_ok_and(|json| is_line(&json));
    let values = serde_json::Deserializer::from_str(text).into_iter::<&serde_json::value::RawValue>();
    let whole: Result<Vec<&str>, _> = values.map(|value| value.map(serde_json::value::RawValue::get)).collect();
    if let Ok(whole) = whole {
        return if whole.len() > 1 && whole.iter().all(|text| is_line_at(text)) { whole } else { Vec::new() };
    }
    let starts = memchr::memchr_iter(b'{', text.as_bytes()).filter(|at| *at > 0).map(|at| &text[at..]);
    let mut starts = starts.filter(|rest| LINE_STARTS.iter().any(|start| rest.starts_with(start))).take(MAX_STARTS);
    starts.find(|rest| is_line_at(rest)).into_iter().collect()
}

impl Reader for ClaudeCode {
    fn read(&mut self, record: Record, tree: &mut Tree) {
        while self.waiting.front().is_some_and(|line| line.record + MAX_WAIT < record.number) {
            self.stop_waiting(tree);
        }
        let text = record.text().unwrap_or_default();
        if let Ok(line @ Json::Object(_)) = Json::parse(text) {
            return self.arrive(&line.into_owned(), text, Kept::Now(&record), tree);
        }
        let lines: Vec<(Json<'static>, &str)> =
            lines_in(text).into_iter().filter_map(|text| Some((Json::parse(text).ok()?.into_owned(), text))).collect();
        let Some(((first, first_text), rest)) = lines.split_first() else {
            let _unreadable = tree.object_of(&record);
            return;
        };
        self.arrive(first, first_text, Kept::Now(&record), tree);
        if rest.is_empty() {
            tree.problem("an incomplete line precedes the last one");
        }
        for (line, text) in rest {
            self.arrive(line, text, Kept::Before(record.number), tree);
        }
    }

    fn flush(&mut self, tree: &mut Tree) {
        while !self.waiting.is_empty() {
            self.stop_waiting(tree);
        }
        self.end_answer(tree);
    }
}

fn has_results(line: &Json<'static>) -> bool {
    let is_result = |block: &Json<'_>| text_at(block, &["type"]) == Some("tool_result");
    line.get("message").is_some_and(|message| items(message, "content").iter().any(is_result))
}

/// The text of member `key` in the JSON text of an object.
fn member(object: &str, key: &str) -> Option<String> {
    Some(RawObject::parse(object).ok()?.get(key)?.to_owned())
}

/// The text of content: a string, or the text blocks of a list.
pub(super) fn text_of(content: &Json<'_>) -> String {
    match content {
        Json::String(text) => text.clone().into_owned(),
        Json::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| text_at(block, &["text"])).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
