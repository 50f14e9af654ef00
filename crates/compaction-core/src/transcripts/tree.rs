//! Builds the session entries of a transcript, and the messages in them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;
use uuid::Uuid;

use super::records::Record;
use super::{ID_DIGITS, Imported, Report};
use crate::entry::EntryId;
use crate::formats::node::{object, string, with};
use crate::formats::{self, Calls, Format};
use crate::json::{self, Json, RawObject};
use crate::message::{HARNESS_TYPE, Message};

/// Maximum number of problems that a report describes. Further problems are only counted.
const SHOWN_PROBLEMS: usize = 20;

/// Maximum number of times that a message is read with fewer blocks.
const MAX_ATTEMPTS: usize = 64;
/// Types of blocks that contain a text or a thought.
const TEXTS: [&str; 6] = ["text", "thinking", "input_text", "output_text", "summary_text", "reasoning_text"];
/// Maximum bytes of an unreadable block that its text shows.
const MAX_SHOWN: usize = 2048;

/// Consecutive entries that belong together: an answer with its results, or a prompt with its attachments. A branch
/// begins after the last entry of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group(usize);

impl Group {
    /// The group before the first entry.
    pub(super) const ROOT: Self = Self(0);
}

/// Members of an assistant message besides its content.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) api: &'static str,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) usage: Option<Tokens>,
    pub(super) stop_reason: Option<&'static str>,
    pub(super) error: Option<String>,
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
}

impl Tokens {
    pub(super) fn total(self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write].into_iter().fold(0, u64::saturating_add)
    }

    pub(super) fn to_json(self, cost: f64) -> Json<'static> {
        let number = |count: u64| Json::Number(count.into());
        let counts = [
            ("input", number(self.input)),
            ("output", number(self.output)),
            ("cacheRead", number(self.cache_read)),
            ("cacheWrite", number(self.cache_write)),
            ("totalTokens", number(self.total())),
        ];
        let cost = serde_json::Number::from_f64(cost).unwrap_or_else(|| 0.into());
        with(object(counts), "cost", Some(object([("total", Json::Number(cost))])))
    }
}

/// Builds the entries of a session, record by record.
#[derive(Debug)]
pub(super) struct Tree {
    /// The session id, from which entry ids are derived.
    session: Uuid,
    /// Ids of the entries that the session already has.
    ids: HashSet<String>,
    /// Ids that this import has used, as numbers.
    given: HashSet<u64>,
    /// The number of further ids that were derived from a name. One record may contain many lines.
    attempts: HashMap<String, u32>,
    /// The last entry of each group. An empty group has the entry before it, or `None`.
    ends: Vec<Option<EntryId>>,
    /// The first entry of each group.
    starts: Vec<Option<EntryId>>,
    current: Group,
    /// The last entry outside the tree: later records do not follow it.
    aside: Option<EntryId>,
    /// The current record, and the number of entries from it.
    record: u64,
    part: u32,
    /// Whether the records are those of an earlier import. The session has all their contents, even if an earlier
    /// version cut them into other entries.
    pub(super) replays: bool,
    /// The latest timestamp that was read, in epoch milliseconds.
    pub(super) time: i64,
    pub(super) calls: Calls,
    pub(super) report: Report,
    out: Vec<Imported>,
}

impl Tree {
    pub(super) fn new(session: Uuid, ids: HashSet<String>, time: i64) -> Self {
        Self {
            session,
            ids,
            given: HashSet::new(),
            attempts: HashMap::new(),
            ends: vec![None],
            starts: vec![None],
            current: Group::ROOT,
            aside: None,
            record: 0,
            part: 0,
            replays: false,
            time,
            calls: Calls::default(),
            report: Report::default(),
            out: Vec::new(),
        }
    }

    /// Takes the new entries since the last call.
    pub(super) fn take(&mut self) -> Vec<Imported> {
        std::mem::take(&mut self.out)
    }

    /// The parent of the next entry.
    pub(super) fn tip(&self) -> Option<&EntryId> {
        self.ends[self.current.0].as_ref()
    }

    /// The current group.
    pub(super) fn group(&self) -> Group {
        self.current
    }

    /// Continues after `group`. This is a branch unless `group` is the current group.
    pub(super) fn go_to(&mut self, group: Group) {
        if self.current != group {
            self.report.branches += 1;
            self.current = group;
        }
    }

    /// Begins a group after the current one.
    pub(super) fn begin_group(&mut self) -> Group {
        self.ends.push(self.tip().cloned());
        self.starts.push(None);
        self.current = Group(self.ends.len() - 1);
        self.current
    }

    /// Sets the record of the next entries. The record has been kept before.
    pub(super) fn begin(&mut self, record: u64) {
        (self.record, self.part) = (record, 0);
    }

    /// The current record.
    pub(super) fn record(&self) -> u64 {
        self.record
    }

    /// Keeps a record as it is.
    pub(super) fn keep(&mut self, record: &Record) {
        self.begin(record.number);
        let id = self.id_for(&format!("{}/0", record.number));
        self.add_with_id("custom", &record.to_members(), id);
    }

    /// Keeps a record that a later import keeps again because it is incomplete or may change. Call it after all other
    /// records.
    pub(super) fn keep_aside(&mut self, record: &Record) {
        self.begin(record.number);
        let name = if record.is_partial { "partial" } else { "again" };
        let id = self.new_id_for(&format!("{}/{name}", record.number));
        let entry = self.aside(id, "custom", record.to_members());
        self.out.push(entry);
    }

    /// An entry that later records do not follow.
    fn aside(&mut self, id: EntryId, kind: &'static str, members: String) -> Imported {
        let parent = self.aside.replace(id.clone()).or_else(|| self.tip().cloned());
        Imported { id, parent, kind, members, timestamp: self.time }
    }

    /// Derives an id from `name` that no entry of the session has.
    fn new_id_for(&mut self, name: &str) -> EntryId {
        let mut id = self.id_for(name);
        for attempt in 1_u32.. {
            if !self.ids.contains(id.as_str()) {
                break;
            }
            id = self.id_for(&format!("{name}/{attempt}"));
        }
        id
    }

    /// Keeps a line end that was missing when its record was kept.
    pub(super) fn keep_end(&mut self, record: &Record) {
        let id = self.id_for(&format!("{}/end", record.number));
        self.add_with_id("custom", &record.to_members(), id);
    }

    /// The entry that ends an import. It is not part of the tree that later records continue.
    pub(super) fn mark(&mut self, members: &str) -> Imported {
        let id = self.new_id_for(&format!("{}/mark", self.report.records));
        self.aside(id, "custom", members.to_owned())
    }

    /// Parses a record as a JSON object. Any other record is kept here and, unless it is blank, counted as
    /// unreadable.
    pub(super) fn object_of(&mut self, record: &Record) -> Option<Json<'static>> {
        let parsed = match record.text() {
            Some(text) if text.trim().is_empty() => {
                self.keep(record);
                return None;
            }
            Some(text) => Json::parse(text).map(Json::into_owned).map_err(|error| error.to_string()),
            None => Err("it is not UTF-8".to_owned()),
        };
        match parsed {
            Ok(json @ Json::Object(_)) => return Some(json),
            Ok(_) => self.unreadable(record, "it is no JSON object"),
            Err(why) => self.unreadable(record, why),
        }
        None
    }

    fn unreadable(&mut self, record: &Record, why: impl Into<String>) {
        self.keep(record);
        self.problem(why);
    }

    /// Counts a record of an unknown kind.
    pub(super) fn unknown(&mut self, kind: &str) {
        *self.report.unknown.entry(kind.to_owned()).or_default() += 1;
    }

    /// Counts the current record as unreadable, with a reason.
    pub(super) fn problem(&mut self, what: impl Into<String>) {
        self.report.unreadable += 1;
        if self.report.problems.len() < SHOWN_PROBLEMS {
            self.report.problems.push((self.record, what.into()));
        }
    }

    /// Reports a message whose author no sign shows.
    pub(super) fn guess(&mut self, author: &str) {
        self.report.guessed += 1;
        self.problem(format!("no sign tells who said this; it was taken for words of the {author}"));
    }

    /// Adds an entry after the last one.
    pub(super) fn add(&mut self, kind: &'static str, members: &str) -> EntryId {
        let id = self.next_id();
        self.add_with_id(kind, members, id.clone());
        id
    }

    /// The id of the next entry.
    pub(super) fn next_id(&mut self) -> EntryId {
        self.part += 1;
        self.id_for(&format!("{}/{}", self.record, self.part))
    }

    /// Derives an id from `name`. Every import derives the same id.
    fn id_for(&mut self, name: &str) -> EntryId {
        let digits = |name: &str| {
            let mut digits = Uuid::new_v5(&self.session, name.as_bytes()).simple().to_string();
            digits.truncate(ID_DIGITS);
            digits
        };
        let mut id = digits(name);
        if !self.given.insert(number_of(&id)) {
            let attempts = self.attempts.entry(name.to_owned()).or_default();
            while !self.given.insert(number_of(&id)) {
                *attempts += 1;
                id = digits(&format!("{name}/{attempts}"));
            }
        }
        EntryId::new(id)
    }

    pub(super) fn add_with_id(&mut self, kind: &'static str, members: &str, id: EntryId) {
        let is_known = self.ids.contains(id.as_str());
        if self.replays && !is_known {
            return;
        }
        let parent = self.tip().cloned();
        self.ends[self.current.0] = Some(id.clone());
        self.starts[self.current.0].get_or_insert_with(|| id.clone());
        if !is_known {
            self.out.push(Imported { id, parent, kind, members: members.to_owned(), timestamp: self.time });
        }
    }

    /// Adds messages of a model interface. `edit` may change each message before it is added. Blocks that fit into no
    /// message become text, so that the other blocks are read.
    pub(super) fn add_read(&mut self, format: Format, messages: &[&str], mut edit: impl FnMut(&mut RawObject<'_>)) {
        let mut messages: Vec<Cow<'_, str>> = messages.iter().map(|message| Cow::Borrowed(*message)).collect();
        let mut attempts = 0;
        let read = loop {
            let texts: Vec<&str> = messages.iter().map(AsRef::as_ref).collect();
            let error = match formats::read(format, &texts, &mut self.calls, Some(self.time)) {
                Ok(read) => break read,
                Err(error) => error,
            };
            if attempts == 0 {
                self.problem(error.to_string());
            }
            attempts += 1;
            // The record contains what is left out.
            if attempts > MAX_ATTEMPTS {
                return;
            }
            if attempts == MAX_ATTEMPTS {
                let (time, calls) = (self.time, Calls::default);
                messages.retain(|message| formats::read(format, &[message.as_ref()], &mut calls(), Some(time)).is_ok());
                continue;
            }
            match without(&messages[error.index], &error.path) {
                Some(rest) => messages[error.index] = Cow::Owned(rest),
                None if messages.len() > 1 => _ = messages.remove(error.index),
                None => return,
            }
        };
        for converted in read {
            let Ok(mut message) = RawObject::parse(converted.message.raw().get()) else { continue };
            // The record already contains the original.
            message.remove("compactd");
            edit(&mut message);
            if message.string("role").as_deref() == Some("custom") {
                self.add_custom(message);
                continue;
            }
            if !drop_empty_thoughts(&mut message, format) {
                continue;
            }
            self.add_message(&message.to_json());
        }
    }

    /// Adds a message, given as the text of a JSON object.
    fn add_message(&mut self, message: &str) -> EntryId {
        match Message::from_json(message) {
            Ok(message) => {
                self.report.messages += 1;
                self.report.tool_calls += message.tool_calls().count() as u64;
                self.report.tool_results += u64::from(message.answered_call_id().is_some());
            }
            Err(error) => self.problem(error.to_string()),
        }
        self.add("message", &format!("{{\"message\":{message}}}"))
    }

    /// Adds a message of an extension. The entry has its members and its time.
    fn add_custom(&mut self, mut message: RawObject<'_>) {
        self.report.messages += 1;
        message.remove("role");
        message.remove("timestamp");
        self.add("custom_message", &message.to_json());
    }

    fn add_json(&mut self, message: Json<'static>) {
        let time = Json::Number(self.time.into());
        self.add_message(&with(message, "timestamp", Some(time)).to_compact());
    }

    /// Adds a user message.
    pub(super) fn add_user(&mut self, content: Json<'static>) {
        self.add_json(object([("role", string("user")), ("content", content)]));
    }

    /// Adds a text that an agent's program wrote in the name of the person.
    pub(super) fn add_harness(&mut self, text: &str) {
        let members = [("customType", string(HARNESS_TYPE)), ("content", string(text)), ("display", Json::Bool(true))];
        self.report.messages += 1;
        self.add("custom_message", &object(members).to_compact());
    }

    /// Adds a system message.
    pub(super) fn add_system(&mut self, text: &str) {
        self.add_json(object([("role", string("system")), ("content", string(text))]));
    }

    /// Adds an assistant message.
    pub(super) fn add_answer(&mut self, blocks: Vec<Json<'static>>, answer: &Answer, cost: f64) {
        for block in &blocks {
            let text = |key: &str| block.get(key).and_then(Json::as_str);
            if let (Some("toolCall"), Some(id), Some(name)) = (text("type"), text("id"), text("name")) {
                self.calls.add(id, name);
            }
        }
        let has_calls = blocks.iter().any(|block| block.get("type").and_then(Json::as_str) == Some("toolCall"));
        let stop_reason = answer.stop_reason.unwrap_or(if has_calls { "toolUse" } else { "stop" });
        let message =
            object([("role", string("assistant")), ("content", Json::Array(blocks)), ("api", string(answer.api))]);
        let text = |text: &String| Some(string(text.as_str())).filter(|_| !text.is_empty());
        let message = with(message, "provider", text(&answer.provider));
        let message = with(message, "model", text(&answer.model));
        let message = with(message, "usage", Some(answer.usage.unwrap_or_default().to_json(cost)));
        let message = with(message, "stopReason", Some(string(stop_reason)));
        self.add_json(with(message, "errorMessage", answer.error.as_ref().map(|error| string(error.as_str()))));
    }

    /// Adds a tool result. An empty `name` is replaced by the tool of the call.
    pub(super) fn add_result(&mut self, id: &str, name: &str, blocks: Vec<Json<'static>>, is_error: bool) {
        let name =
            if name.is_empty() { self.calls.name_of(id).unwrap_or("unknown").to_owned() } else { name.to_owned() };
        self.add_json(object([
            ("role", string("toolResult")),
            ("toolCallId", string(id)),
            ("toolName", string(name)),
            ("content", Json::Array(blocks)),
            ("isError", Json::Bool(is_error)),
        ]));
    }

    /// Adds a compaction. It keeps the entries from `first_kept` on, or none. An unknown `tokens_before` is 0.
    pub(super) fn add_compaction(&mut self, summary: &str, first_kept: Option<EntryId>, tokens_before: u64) {
        let id = self.next_id();
        let first_kept = first_kept.unwrap_or_else(|| id.clone());
        let members = format!(
            "{{\"summary\":{},\"firstKeptEntryId\":{},\"tokensBefore\":{},\"fromHook\":true}}",
            json::encode_string(summary),
            json::encode_string(first_kept.as_str()),
            tokens_before,
        );
        self.report.compactions += 1;
        self.add_with_id("compaction", &members, id);
    }

    /// Names the session.
    pub(super) fn add_name(&mut self, name: &str) {
        self.add("session_info", &name_members(name));
    }

    /// Renames the session. Call it after all records.
    pub(super) fn add_name_aside(&mut self, name: &str) {
        let id = self.new_id_for(&format!("{}/name", self.record));
        let entry = self.aside(id, "session_info", name_members(name));
        self.out.push(entry);
    }

    /// The first entry of `group`.
    pub(super) fn start_of(&self, group: Group) -> Option<&EntryId> {
        self.starts[group.0].as_ref()
    }
}

/// An id as a number.
fn number_of(id: &str) -> u64 {
    u64::from_str_radix(id, 16).unwrap_or_default()
}

fn name_members(name: &str) -> String {
    format!("{{\"name\":{}}}", json::encode_string(name))
}

/// Removes thoughts without a text. Anthropic's interface needs a thought with a signature, even without a text. No
/// other interface gets a thought without a text. Returns whether anything else is left, or nothing was removed.
fn drop_empty_thoughts(message: &mut RawObject<'_>, format: Format) -> bool {
    let is_dropped = |block: &RawObject<'_>| {
        let is_empty = block.string("thinking").is_some_and(|text| text.trim().is_empty());
        is_empty && !(format == Format::Anthropic && block.get("thinkingSignature").is_some())
    };
    let content = message.get("content").filter(|content| content.contains("\"thinking\""));
    let Some(blocks) = content.and_then(|content| serde_json::from_str::<Vec<Box<RawValue>>>(content).ok()) else {
        return true;
    };
    let is_left = |block: &&str| !RawObject::parse(block).is_ok_and(|block| is_dropped(&block));
    let left: Vec<&str> = blocks.iter().map(|block| block.get()).filter(is_left).collect();
    if left.len() < blocks.len() {
        message.set("content", format!("[{}]", left.join(",")));
    }
    !left.is_empty() || blocks.is_empty()
}

/// A message without the block at `path`, such as `content[0].content[1].type`. The block becomes text, unless it is a
/// text or a thought itself. Returns `None` if the path does not lead into a list.
fn without(message: &str, path: &str) -> Option<String> {
    let (list, rest) = path.rsplit_once('[')?;
    let index: usize = rest.split_once(']')?.0.parse().ok()?;
    replaced(message, list, &|list| {
        let mut blocks: Vec<Box<RawValue>> = serde_json::from_str(list).ok()?;
        let block = blocks.get_mut(index)?;
        let kind = RawObject::parse(block.get()).ok().and_then(|block| block.string("type")).unwrap_or_default();
        if TEXTS.contains(&kind.as_str()) {
            blocks.remove(index);
        } else {
            let shown = match block.get().len() {
                length if length > MAX_SHOWN => format!("[{kind}: {length} bytes]"),
                _ => format!("[{kind}] {}", block.get()),
            };
            *block = serde_json::value::to_raw_value(&serde_json::json!({ "type": "text", "text": shown })).ok()?;
        }
        serde_json::to_string(&blocks).ok()
    })
}

/// The text of a value with the value at `path` replaced.
fn replaced(value: &str, path: &str, replace: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let path = path.trim_start_matches('.');
    if path.is_empty() {
        return replace(value);
    }
    if let Some((index, rest)) = path.strip_prefix('[').and_then(|path| path.split_once(']')) {
        let mut items: Vec<Box<RawValue>> = serde_json::from_str(value).ok()?;
        let item = items.get_mut(index.parse::<usize>().ok()?)?;
        *item = RawValue::from_string(replaced(item.get(), rest, replace)?).ok()?;
        return serde_json::to_string(&items).ok();
    }
    let (key, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    let mut object = RawObject::parse(value).ok()?;
    let changed = replaced(object.get(key)?, rest, replace)?;
    object.set(key, changed);
    Some(object.to_json())
}

/// A text block.
pub(super) fn text_block(text: &str) -> Json<'static> {
    object([("type", string("text")), ("text", string(text))])
}

/// A block of reasoning.
pub(super) fn thinking_block(text: &str, signature: Option<&str>) -> Json<'static> {
    let block = object([("type", string("thinking")), ("thinking", string(text))]);
    with(block, "thinkingSignature", signature.map(string))
}

/// A block that calls a tool.
pub(super) fn call_block(id: &str, name: &str, arguments: Json<'static>) -> Json<'static> {
    object([("type", string("toolCall")), ("id", string(id)), ("name", string(name)), ("arguments", arguments)])
}

/// The objects in the list `key` of a value.
pub(super) fn items<'a>(json: &'a Json<'static>, key: &str) -> &'a [Json<'static>] {
    match json.get(key) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

/// The text at a path of members.
pub(super) fn text_at<'a>(json: &'a Json<'_>, path: &[&str]) -> Option<&'a str> {
    value_at(json, path)?.as_str()
}

/// The value at a path of members.
pub(super) fn value_at<'a, 'b>(json: &'a Json<'b>, path: &[&str]) -> Option<&'a Json<'b>> {
    path.iter().try_fold(json, |json, key| json.get(key))
}

/// A count at a path of members; 0 if there is none.
pub(super) fn count_at(json: &Json<'_>, path: &[&str]) -> u64 {
    value_at(json, path).and_then(Json::as_f64).map_or(0, |count| count.max(0.0) as u64)
}

/// Epoch milliseconds of a time, given as ISO 8601 text or as a number. Text without a zone counts as UTC.
pub(super) fn time_of(json: Option<&Json<'_>>) -> Option<i64> {
    match json? {
        Json::String(text) => crate::entry::epoch_milliseconds(text)
            .or_else(|| crate::entry::epoch_milliseconds(&format!("{}Z", text.replacen(' ', "T", 1)))),
        number => number.as_f64().map(|time| time as i64),
    }
}
