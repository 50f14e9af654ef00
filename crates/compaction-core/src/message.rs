//! Messages: the stored text and a view of it.

mod body;
mod outline;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use crate::json::{self, Json, NotAnObject, RawObject};
use body::{estimate, read_text};
use outline::Outline;

pub(crate) use body::text_block;
pub use body::{Assistant, BashExecution, Block, Body, Content, NestedCall, System, ToolCall, Usage, blocks_text};

/// A message of a conversation: its unchanged JSON text and the parts that compaction needs.
///
/// Unknown roles, blocks and members stay in the text (docs/session-format.md, "Lines"). Walking over a
/// context needs only the outlines of its messages. Bodies are read on demand.
#[derive(Debug, Clone)]
pub struct Message {
    raw: Box<RawValue>,
    outline: Outline,
    /// Epoch milliseconds of its entry, if the message itself has no time.
    entry_time: Option<i64>,
    /// The body.
    body: OnceLock<Box<Body>>,
    /// Its estimated tokens.
    tokens: OnceLock<u64>,
}

/// `customType` of messages that the harness of an agent wrote in the name of the person, such as the text of a skill.
pub const HARNESS_TYPE: &str = "compactd.harness";

/// Maximum bytes of a message whose body is not kept when only its tokens are computed. Such a body takes more memory
/// than the text and is quickly read again.
const SHORT_BYTES: usize = 1024;
/// Bytes of a message above which passes over a context do not keep its body. Few messages are longer, and parsing such
/// a text again is much cheaper than the work on it.
const LONG_BYTES: usize = 1 << 14;

impl Message {
    /// Reads a stored message. Never fails: unreadable messages become [`Body::Other`], and missing or
    /// null content counts as empty (docs/session-format.md, "Messages").
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        let outline = Outline::read(raw.get()).unwrap_or_else(|| whole_outline(raw.get()));
        let raw = if outline.lacks_content { with_present_content(raw) } else { raw };
        Self::with_outline(raw, outline)
    }

    fn with_outline(raw: Box<RawValue>, outline: Outline) -> Self {
        Self { raw, outline, entry_time: None, body: OnceLock::new(), tokens: OnceLock::new() }
    }

    /// Reads the text of a stored message, as [`Message::of_entry`]. Fails if it is not JSON.
    pub(crate) fn of_entry_text(text: &str, time: impl FnOnce() -> Option<i64>) -> Result<Self, serde_json::Error> {
        let Some(outline) = Outline::read(text).filter(|outline| !outline.lacks_content) else {
            let raw: &RawValue = serde_json::from_str(text)?;
            return Ok(Self::of_entry(raw.to_owned(), time));
        };
        Ok(Self::with_outline(json::read_value(text)?, outline).at_entry_time(time))
    }

    /// Reads the message of an entry that was written at `time` (epoch milliseconds). That time
    /// replaces a timestamp that is not a number, because models and other readers accept only numbers.
    pub(crate) fn of_entry(raw: Box<RawValue>, time: impl FnOnce() -> Option<i64>) -> Self {
        Self::from_raw(raw).at_entry_time(time)
    }

    fn at_entry_time(mut self, time: impl FnOnce() -> Option<i64>) -> Self {
        if self.outline.timestamp.is_none() {
            self.entry_time = time();
            self.mend_timestamp();
        }
        self
    }

    fn mend_timestamp(&mut self) {
        let Ok(mut object) = RawObject::parse(self.raw.get()) else {
            return;
        };
        if object.get("timestamp").is_none() {
            return;
        }
        match self.entry_time {
            Some(time) => object.set("timestamp", time.to_string()),
            None => object.remove("timestamp"),
        }
        if let Ok(raw) = json::raw_value(object.to_json()) {
            self.raw = raw;
            self.outline.timestamp = self.entry_time;
        }
    }

    /// Reads a message that a caller sent.
    ///
    /// Fails if `json` is not an object with a string `role`.
    pub fn from_json(json: &str) -> Result<Self, NotAnObject> {
        Self::from_sent(json::raw_value(json.to_owned())?)
    }

    /// Like [`Message::from_json`], for a text that is known to be JSON.
    ///
    /// Fails if it is not an object with a string `role`.
    pub fn from_sent(raw: Box<RawValue>) -> Result<Self, NotAnObject> {
        let message = Self::from_raw(raw);
        match message.outline.role {
            None => Err(NotAnObject::new("a message is an object with a string role")),
            Some(_) => Ok(message),
        }
    }

    /// As [`Message::from_sent`]. Also returns whether role, time, content and all blocks have a form that contexts
    /// show, which is found in the same pass over the text. `false` does not mean that one has not.
    pub fn from_sent_checked(raw: Box<RawValue>) -> Result<(Self, bool), NotAnObject> {
        match Outline::read_checked(raw.get()) {
            Some((outline, true)) => Ok((Self::with_outline(raw, outline), true)),
            _ => Self::from_sent(raw).map(|message| (message, false)),
        }
    }

    fn new(raw: Box<RawValue>, timestamp: Option<i64>, body: Body) -> Self {
        let (outline, body) = (Outline::of(timestamp, &body, false), Box::new(body).into());
        Self { raw, outline, entry_time: None, body, tokens: OnceLock::new() }
    }

    fn read(&self) -> Body {
        read_text(self.raw.get()).1
    }

    fn synthetic(members: &[(&str, String)], timestamp: Option<i64>, body: Body) -> Self {
        let mut object = RawObject::default();
        for (key, value) in members {
            object.set(key, value.as_str());
        }
        let time = timestamp.map_or_else(|| "null".to_owned(), |time| time.to_string());
        object.set("timestamp", time);
        let raw = json::raw_value(object.to_json()).expect("the members are JSON texts made here or split from JSON");
        Self::new(raw, timestamp, body)
    }

    /// The message for a compaction's summary. `timestamp` is in epoch milliseconds.
    pub fn compaction_summary(summary: &str, tokens_before: u64, timestamp: Option<i64>) -> Self {
        let members = [
            ("role", "\"compactionSummary\"".to_owned()),
            ("summary", json::encode_string(summary)),
            ("tokensBefore", tokens_before.to_string()),
        ];
        let body = Body::CompactionSummary { summary: summary.to_owned(), tokens_before };
        Self::synthetic(&members, timestamp, body)
    }

    /// The message for a branch summary. `timestamp` is in epoch milliseconds.
    pub fn branch_summary(summary: &str, from_id: &str, timestamp: Option<i64>) -> Self {
        let members = [
            ("role", "\"branchSummary\"".to_owned()),
            ("summary", json::encode_string(summary)),
            ("fromId", json::encode_string(from_id)),
        ];
        let body = Body::BranchSummary { summary: summary.to_owned(), from_id: from_id.to_owned() };
        Self::synthetic(&members, timestamp, body)
    }

    /// The message for a `custom_message` entry. `timestamp` is in epoch milliseconds.
    pub(crate) fn custom(entry: &RawObject<'_>, timestamp: Option<i64>) -> Self {
        let mut members = vec![("role", "\"custom\"".to_owned())];
        for key in ["customType", "content", "display", "details"] {
            match entry.get(key) {
                Some("null") | None if key == "content" => members.push((key, "[]".to_owned())),
                Some(value) => members.push((key, value.to_owned())),
                None => {}
            }
        }
        let content = entry.get("content").and_then(|content| Json::parse(content).ok());
        let body = Body::Custom {
            custom_type: entry.string("customType").unwrap_or_default(),
            content: Content::from_json(content),
        };
        Self::synthetic(&members, timestamp, body)
    }

    /// A user message with one text block. `timestamp` is in epoch milliseconds.
    pub fn user_text(text: &str, timestamp: Option<i64>) -> Self {
        let members = [("role", "\"user\"".to_owned()), ("content", format!("[{}]", text_block(text)))];
        let content = Content::Blocks(vec![Block::Text(text.to_owned())]);
        Self::synthetic(&members, timestamp, Body::User { content })
    }

    /// An error result that says that `call` has no result. `timestamp` is in epoch milliseconds.
    pub(crate) fn missing_result(call: &ToolCall, timestamp: Option<i64>) -> Self {
        const TEXT: &str = "No result was recorded for this call.";
        let content = Content::Blocks(vec![Block::Text(TEXT.to_owned())]);
        let members = [
            ("role", "\"toolResult\"".to_owned()),
            ("toolCallId", json::encode_string(&call.id)),
            ("toolName", json::encode_string(&call.name)),
            ("content", format!("[{}]", text_block(TEXT))),
            ("isError", "true".to_owned()),
        ];
        let body = Body::ToolResult {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content,
            is_error: true,
            nested_calls: Vec::new(),
        };
        Self::synthetic(&members, timestamp, body)
    }

    /// The same message with other content. Only messages with the roles user, assistant, toolResult
    /// and custom change.
    ///
    /// Plain text for an assistant or a tool result becomes one text block, because those roles contain lists.
    pub fn with_content(&self, content: &RawValue) -> Self {
        let wants_blocks = matches!(self.role(), "assistant" | "toolResult");
        if !wants_blocks && !matches!(self.role(), "user" | "custom") {
            return self.clone();
        }
        let Ok(mut object) = RawObject::parse(self.raw.get()) else {
            return self.clone();
        };
        let content = match json::decode_string(content.get()) {
            Some(text) if wants_blocks => format!("[{}]", text_block(&text)),
            _ => content.get().to_owned(),
        };
        object.set("content", content);
        match json::raw_value(object.to_json()) {
            Ok(raw) => Self { entry_time: self.entry_time, ..Self::from_raw(raw) },
            Err(_) => self.clone(),
        }
    }

    /// A custom message as a user message, with the same content and timestamp. `None` if the stored
    /// text is not an object.
    pub(crate) fn as_user(&self) -> Option<Self> {
        let stored = RawObject::parse(self.raw.get()).ok()?;
        let Body::Custom { content, .. } = self.body() else {
            return None;
        };
        let members = [("role", "\"user\"".to_owned()), ("content", stored.get("content").unwrap_or("[]").to_owned())];
        Some(Self::synthetic(&members, self.time(), Body::User { content: content.clone() }))
    }

    /// The stored JSON text.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Epoch milliseconds, if the message has a numeric timestamp.
    pub fn timestamp(&self) -> Option<i64> {
        self.outline.timestamp
    }

    /// Epoch milliseconds of the message, or of its entry.
    pub(crate) fn time(&self) -> Option<i64> {
        self.timestamp().or(self.entry_time)
    }

    /// Whether the message is an object with a string role. Other messages are in no context.
    pub fn is_readable(&self) -> bool {
        self.outline.role.is_some()
    }

    /// The body, read on first use and kept.
    pub fn body(&self) -> &Body {
        self.body.get_or_init(|| Box::new(self.read()))
    }

    /// The body for a single use. That of a long message is not kept, so that a pass over a context does not keep its
    /// text twice.
    pub fn read_body(&self) -> Cow<'_, Body> {
        if self.body.get().is_none() && self.raw.get().len() > LONG_BYTES {
            return Cow::Owned(self.read());
        }
        Cow::Borrowed(self.body())
    }

    /// The body as [`Message::read_body`] gives it. It is not cached: for passes that look at most messages once.
    pub(crate) fn peek_body(&self) -> Cow<'_, Body> {
        self.body.get().map_or_else(|| Cow::Owned(self.read()), |body| Cow::Borrowed(body.as_ref()))
    }

    /// Reads now what later passes need and keep. The body of a long message is not kept.
    pub fn read_ahead(&self) {
        if self.raw.get().len() <= LONG_BYTES {
            self.body();
        }
        self.tokens();
    }

    /// Whether [`Message::read_ahead`] has nothing left to do.
    pub fn is_read(&self) -> bool {
        self.tokens.get().is_some() && (self.body.get().is_some() || self.raw.get().len() > LONG_BYTES)
    }

    /// Estimated tokens (docs/projection.md, "Tokens").
    pub fn tokens(&self) -> u64 {
        *self.tokens.get_or_init(|| match self.body.get() {
            None if self.raw.get().len() <= SHORT_BYTES => estimate(&self.read()),
            _ => estimate(&self.read_body()),
        })
    }

    /// The role as stored.
    pub fn role(&self) -> &str {
        self.outline.role.as_deref().unwrap_or("")
    }

    /// The ids of the tool calls in the message, in order.
    pub fn tool_call_ids(&self) -> impl Iterator<Item = &str> {
        self.outline.calls.iter().map(String::as_str)
    }

    /// Whether it is an answer that failed or was aborted. Models are not shown such answers.
    pub fn is_failed_answer(&self) -> bool {
        self.outline.has_failed
    }

    /// Whether it is an answer with the provider's usage.
    pub(crate) fn has_usage(&self) -> bool {
        self.outline.has_usage
    }

    /// Whether it is an answer that names its provider and model.
    pub(crate) fn names_model(&self) -> bool {
        self.outline.names_model
    }

    /// Whether it is an answer that neither failed nor was aborted.
    pub(crate) fn is_success(&self) -> bool {
        self.role() == "assistant" && !self.outline.has_failed
    }

    /// Whether it contains instructions and tools.
    pub fn is_system(&self) -> bool {
        self.role() == "system"
    }

    /// Instructions and tools of a system message. Bodies of other messages are not read.
    pub fn as_system(&self) -> Option<&System> {
        if !self.is_system() {
            return None;
        }
        match self.body() {
            Body::System(system) => Some(system),
            _ => None,
        }
    }

    /// The call id of a tool result.
    pub fn answered_call_id(&self) -> Option<&str> {
        self.outline.answered.as_deref()
    }

    /// The assistant's answer, if it is one.
    pub fn as_assistant(&self) -> Option<&Assistant> {
        if self.role() != "assistant" {
            return None;
        }
        match self.body() {
            Body::Assistant(assistant) => Some(assistant),
            _ => None,
        }
    }

    /// Tool calls in the message, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.as_assistant().into_iter().flat_map(Assistant::tool_calls)
    }

    /// Whether the message starts a turn (docs/cut-points.md, "Turns").
    pub fn starts_turn(&self) -> bool {
        matches!(self.role(), "user" | "bashExecution" | "custom" | "branchSummary" | "compactionSummary")
    }

    /// The text to show to a person: text blocks, or the command or summary.
    pub fn display_text(&self) -> Cow<'_, str> {
        self.body().display_text()
    }
}

impl From<Message> for Arc<RawValue> {
    fn from(message: Message) -> Self {
        Arc::from(message.raw)
    }
}

/// Adds empty content if the role requires content and it is null or missing.
fn with_present_content(raw: Box<RawValue>) -> Box<RawValue> {
    let Ok(object) = RawObject::parse(raw.get()) else {
        return raw;
    };
    let empty = match object.string("role").as_deref() {
        Some("user" | "assistant" | "toolResult" | "custom") => "[]",
        Some("system") => "\"\"",
        _ => return raw,
    };
    if object.get("content").is_some_and(|content| content != "null") {
        return raw;
    }
    let mut object = object.into_owned();
    object.set("content", empty);
    json::raw_value(object.to_json()).unwrap_or(raw)
}

/// The outline of a text that the fast reader cannot read.
fn whole_outline(json: &str) -> Outline {
    let json_tree = Json::parse(json);
    let is_missing = |json: &Json<'_>| json.get("content").is_none_or(|content| *content == Json::Null);
    let lacks_content = json_tree.as_ref().is_ok_and(is_missing);
    let (timestamp, body) = read_text(json);
    Outline::of(timestamp, &body, lacks_content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Prefix, Thinking};
    use crate::entry::Entry;
    use crate::fitting::{PlanInput, RequestPlan};
    use crate::ledger::{Check, LossReport};
    use crate::preparation::Preparation;
    use crate::projection::Projection;
    use crate::prompts::{OutputLimits, PromptTexts, RequestKind};
    use crate::settings::CompactionSettings;
    use crate::tools::FileTools;

    fn entries(count: usize, text: &str) -> Vec<Arc<Entry>> {
        let content = json::encode_string(text);
        let message = |number: usize| match number % 3 {
            0 => format!(r#"{{"role":"user","content":{content}}}"#),
            1 => format!(
                r#"{{"role":"assistant","usage":{{"input":900000}},"content":[{{"type":"text","text":{content}}},{{"type":"toolCall","id":"c{number}","name":"read","arguments":{{"path":"a.rs"}}}}]}}"#
            ),
            _ => format!(
                r#"{{"role":"toolResult","toolCallId":"c{}","toolName":"read","content":[{{"type":"text","text":{content}}}]}}"#,
                number - 1
            ),
        };
        let line = |number: usize| {
            let parent = number.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
            let message = message(number);
            format!(r#"{{"type":"message","id":"{number}","parentId":{parent},"timestamp":"T","message":{message}}}"#)
        };
        (0..count).map(|number| Arc::new(Entry::parse(&line(number)).unwrap())).collect()
    }

    /// Whether a compaction of long messages leaves any of their bodies in memory.
    fn keeps_bodies(text: &str) -> bool {
        let entries = entries(30, text);
        let Ok(projection) = Projection::of(entries.as_slice());
        let tools = FileTools::default();
        let leaf = entries.last().map(|entry| entry.id());
        let settings = CompactionSettings { keep_recent_tokens: 2000, ..CompactionSettings::default() };
        projection.messages().for_each(|message| message.read_ahead());
        let prepared = Preparation::of(&projection, leaf, settings, &tools).unwrap();
        let messages: Vec<_> = prepared.evicted().map(|prepared| Arc::clone(&prepared.message)).collect();
        let ledger = prepared.ledger();
        let evicted: Vec<_> = prepared.evicted().cloned().collect();
        let summary = "In src/unknown_file.rs and other_names_here.";
        LossReport::of(&Check { ledger: &ledger, summary, evicted: &evicted, previous_summary: None, kept: &[] });
        let texts = PromptTexts::default();
        for context_window in [None, Some(30_000)] {
            let plan = RequestPlan::of(&PlanInput {
                kind: RequestKind::History,
                messages: &messages,
                previous_summary: None,
                turn: &[],
                custom_instructions: None,
                replace_instructions: false,
                texts: &texts,
                limits: OutputLimits { reserve_tokens: 1000, model_max_tokens: None },
                thinking: Thinking::Included,
                context_window,
                input_limit: None,
                redact: None,
            });
            assert_eq!(plan.unwrap().requests() > 1, context_window.is_some() && text.len() > LONG_BYTES);
        }
        assert!(Prefix::of(&projection, &prepared.first_kept_entry_id).is_some());
        messages.iter().any(|message| message.body.get().is_some())
    }

    #[test]
    fn a_compaction_does_not_hold_the_text_of_long_messages_twice() {
        assert!(!keeps_bodies(&"Some words of a person.\n".repeat(1000)));
        assert!(keeps_bodies(&"Some words of a person.\n".repeat(100)));
    }
}
