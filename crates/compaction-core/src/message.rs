//! Messages: the stored text and a view of it.

mod outline;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use crate::json::{self, Json, NotAnObject, RawObject};
use crate::message::outline::Outline;
use crate::tokens;

/// A message of a conversation: its unchanged JSON text and the parts that compaction needs.
///
/// Unknown roles, blocks and members stay in the text (docs/session-format.md, "Lines"). Walking over a
/// context needs only the outlines of its messages. Bodies are read on demand.
#[derive(Debug, Clone)]
pub struct Message {
    raw: Box<RawValue>,
    outline: Outline,
    /// Epoch milliseconds of its entry, if the message has no time of its own.
    entry_time: Option<i64>,
    /// The body and its estimated tokens.
    read: OnceLock<(Body, u64)>,
}

/// The content of a message, by role.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A person's message.
    User {
        /// Text and images.
        content: Content,
    },
    /// A model's answer.
    Assistant(Assistant),
    /// The result of one tool call.
    ToolResult {
        /// The call that it answers.
        tool_call_id: String,
        /// Name of the tool.
        tool_name: String,
        /// Text and images.
        content: Content,
        /// Whether the tool failed.
        is_error: bool,
        /// Calls that the tool itself made while it ran.
        nested_calls: Vec<NestedCall>,
    },
    /// A command that the person ran.
    BashExecution(BashExecution),
    /// A message of an extension. Models see it as a user message.
    Custom {
        /// The extension's name for its kind.
        custom_type: String,
        /// Text and images.
        content: Content,
    },
    /// Instructions and tools for the model, or changes to them.
    System(System),
    /// The summary of a compaction. The projection creates this message; it is never stored.
    CompactionSummary {
        /// The summary's text.
        summary: String,
        /// Tokens of the context that it replaced.
        tokens_before: u64,
    },
    /// The summary of an abandoned branch. The projection creates this message.
    BranchSummary {
        /// The summary's text.
        summary: String,
        /// The abandoned leaf.
        from_id: String,
    },
    /// A role that this version does not know.
    Other {
        /// The role as stored, if it is a string.
        role: Option<String>,
    },
}

/// Content of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A list of blocks.
    Blocks(Vec<Block>),
}

/// One block of a message's content.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// The model's reasoning.
    Thinking(String),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// An image. Its data stays in the stored text.
    Image,
    /// A block that this version does not know.
    Other,
}

/// A call of a tool by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments in stored order; `None` if the stored block has none.
    pub arguments: Option<Json<'static>>,
}

/// A call that a tool made while it ran, recorded in its result.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedCall {
    /// The call.
    pub call: ToolCall,
    /// Whether it failed.
    pub is_error: bool,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Assistant {
    /// Text, thinking and tool calls.
    pub content: Vec<Block>,
    /// Provider of the model.
    pub provider: Option<String>,
    /// Id of the model.
    pub model: Option<String>,
    /// Tokens and cost as the provider reported them.
    pub usage: Option<Usage>,
    /// Why the answer ended.
    pub stop_reason: Option<String>,
    /// The provider's error text.
    pub error_message: Option<String>,
}

/// A command that the person ran, with its output.
#[derive(Debug, Clone, PartialEq)]
pub struct BashExecution {
    /// The command line.
    pub command: String,
    /// The stored part of its output.
    pub output: String,
    /// Exit code; `None` if it was cancelled.
    pub exit_code: Option<i64>,
    /// Whether the person cancelled it.
    pub cancelled: bool,
    /// Whether the output is cut.
    pub truncated: bool,
    /// Path of the whole output.
    pub full_output_path: Option<String>,
    /// Whether models must not see it.
    pub exclude_from_context: bool,
}

/// Instructions and tools for the model. Later system messages patch earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    /// The prompt.
    pub content: Content,
    /// Named parts of the prompt in stored order; `None` removes the part.
    pub sections: Vec<(String, Option<String>)>,
    /// Tool definitions that are added, each a JSON object with a `name`.
    pub tools_added: Option<Json<'static>>,
    /// Names of tools that are removed.
    pub tools_removed: Vec<String>,
}

/// Tokens and cost of one model call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Input tokens that came from no cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// The provider's own total, 0 if it gave none.
    pub total_tokens: u64,
    /// Total cost in the currency of the price list, 0 if unknown.
    pub cost: f64,
}

impl Usage {
    /// Reads usage from stored JSON. Members that are missing or not numbers count as 0.
    pub fn from_json(json: &Json<'_>) -> Option<Self> {
        json.as_object()?;
        let count = |key: &str| json.get(key).and_then(Json::as_f64).map_or(0, |value| value.max(0.0) as u64);
        Some(Self {
            input: count("input"),
            output: count("output"),
            cache_read: count("cacheRead"),
            cache_write: count("cacheWrite"),
            total_tokens: count("totalTokens"),
            cost: json.get("cost").and_then(|cost| cost.get("total")).and_then(Json::as_f64).unwrap_or(0.0),
        })
    }

    /// Tokens of the context including the answer: the provider's total, or the sum of the parts if
    /// there is none (docs/projection.md, "Tokens").
    pub fn context_tokens(&self) -> u64 {
        if self.total_tokens > 0 {
            return self.total_tokens;
        }
        self.input.saturating_add(self.output).saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

impl Content {
    const EMPTY: Content = Content::Blocks(Vec::new());

    fn from_json(json: Option<Json<'_>>) -> Self {
        match json {
            Some(Json::String(text)) => Content::Text(text.into_owned()),
            Some(Json::Array(blocks)) => Content::Blocks(blocks.into_iter().map(Block::from_json).collect()),
            _ => Content::EMPTY,
        }
    }

    /// The text blocks, joined by `separator`.
    pub fn text(&self, separator: &str) -> Cow<'_, str> {
        match self {
            Content::Text(text) => Cow::Borrowed(text),
            Content::Blocks(blocks) => blocks_text(blocks, separator),
        }
    }

    /// The blocks of a list; empty for plain text.
    pub fn blocks(&self) -> &[Block] {
        match self {
            Content::Text(_) => &[],
            Content::Blocks(blocks) => blocks,
        }
    }
}

/// The text blocks of a list, joined by `separator`.
pub fn blocks_text<'a>(blocks: &'a [Block], separator: &str) -> Cow<'a, str> {
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let Some(first) = texts.next() else {
        return Cow::Borrowed("");
    };
    let rest: Vec<&str> = texts.collect();
    if rest.is_empty() {
        return Cow::Borrowed(first);
    }
    Cow::Owned([&[first], &rest[..]].concat().join(separator))
}

impl Block {
    fn from_json(mut json: Json<'_>) -> Self {
        let mut string = |key: &str| string_member(&mut json, key);
        match string("type").as_deref() {
            Some("text") => Block::Text(string("text").unwrap_or_default()),
            Some("thinking") => Block::Thinking(string("thinking").unwrap_or_default()),
            Some("toolCall") => Block::ToolCall(ToolCall {
                id: string("id").unwrap_or_default(),
                name: string("name").unwrap_or_default(),
                arguments: json.take("arguments").map(Json::into_owned),
            }),
            Some("image") => Block::Image,
            _ => Block::Other,
        }
    }
}

fn string_member(json: &mut Json<'_>, key: &str) -> Option<String> {
    match json.take(key) {
        Some(Json::String(text)) => Some(text.into_owned()),
        _ => None,
    }
}

fn bool_member(json: &Json<'_>, key: &str) -> bool {
    json.get(key).and_then(Json::as_bool).unwrap_or(false)
}

impl Message {
    /// Reads a stored message. Never fails: unreadable messages become [`Body::Other`], and missing or
    /// null content counts as empty (docs/session-format.md, "Messages").
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        let outline = Outline::read(raw.get()).unwrap_or_else(|| whole_outline(raw.get()));
        let raw = if outline.lacks_content { with_present_content(raw) } else { raw };
        Self { raw, outline, entry_time: None, read: OnceLock::new() }
    }

    /// Reads the message of an entry that was written at `time` (epoch milliseconds). That time
    /// replaces a timestamp that is not a number, because models and other readers accept only numbers.
    pub(crate) fn of_entry(raw: Box<RawValue>, time: impl FnOnce() -> Option<i64>) -> Self {
        let mut message = Self::from_raw(raw);
        if message.outline.timestamp.is_none() {
            message.entry_time = time();
            message.mend_timestamp();
        }
        message
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
        let message = Self::from_raw(json::raw_value(json.to_owned())?);
        match message.outline.role {
            None => Err(NotAnObject::new("a message is an object with a string role")),
            Some(_) => Ok(message),
        }
    }

    fn new(raw: Box<RawValue>, timestamp: Option<i64>, body: Body) -> Self {
        Self { raw, outline: Outline::of(timestamp, &body, false), entry_time: None, read: weighed(body).into() }
    }

    fn read(&self) -> &(Body, u64) {
        self.read.get_or_init(|| weighed(read_text(self.raw.get()).1))
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
        let block = format!("[{{\"type\":\"text\",\"text\":{}}}]", json::encode_string(text));
        let members = [("role", "\"user\"".to_owned()), ("content", block)];
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
            ("content", format!("[{{\"type\":\"text\",\"text\":{}}}]", json::encode_string(TEXT))),
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
    /// Plain text for an assistant or a tool result becomes one text block, because those roles hold
    /// lists.
    pub fn with_content(&self, content: &RawValue) -> Self {
        let wants_blocks = matches!(self.role(), "assistant" | "toolResult");
        if !wants_blocks && !matches!(self.role(), "user" | "custom") {
            return self.clone();
        }
        let Ok(mut object) = RawObject::parse(self.raw.get()) else {
            return self.clone();
        };
        let content = match decode_plain(content) {
            Some(text) if wants_blocks => format!("[{{\"type\":\"text\",\"text\":{}}}]", json::encode_string(&text)),
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

    /// The body, read on first use.
    pub fn body(&self) -> &Body {
        &self.read().0
    }

    /// Estimated tokens (docs/projection.md, "Tokens").
    pub fn tokens(&self) -> u64 {
        self.read().1
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
        let blocks = self.as_assistant().map_or(&[][..], |assistant| &assistant.content);
        blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether the message starts a turn (docs/cut-points.md, "Turns").
    pub fn starts_turn(&self) -> bool {
        matches!(self.role(), "user" | "bashExecution" | "custom" | "branchSummary" | "compactionSummary")
    }

    /// The text to show to a person: text blocks, or the command or summary.
    pub fn display_text(&self) -> Cow<'_, str> {
        match self.body() {
            Body::User { content } | Body::Custom { content, .. } | Body::ToolResult { content, .. } => {
                content.text("")
            }
            Body::Assistant(assistant) => blocks_text(&assistant.content, "\n"),
            Body::BashExecution(bash) => Cow::Borrowed(&bash.command),
            Body::System(system) => system.content.text("\n"),
            Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => Cow::Borrowed(summary),
            Body::Other { .. } => Cow::Borrowed(""),
        }
    }
}

impl From<Message> for Arc<RawValue> {
    fn from(message: Message) -> Self {
        Arc::from(message.raw)
    }
}

fn decode_plain(content: &RawValue) -> Option<String> {
    json::decode_string(content.get())
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

impl Body {
    /// The role as stored, if it is a string.
    fn role(&self) -> Option<&str> {
        match self {
            Body::User { .. } => Some("user"),
            Body::Assistant(_) => Some("assistant"),
            Body::ToolResult { .. } => Some("toolResult"),
            Body::BashExecution(_) => Some("bashExecution"),
            Body::Custom { .. } => Some("custom"),
            Body::System(_) => Some("system"),
            Body::CompactionSummary { .. } => Some("compactionSummary"),
            Body::BranchSummary { .. } => Some("branchSummary"),
            Body::Other { role } => role.as_deref(),
        }
    }
}

fn weighed(body: Body) -> (Body, u64) {
    let tokens = tokens::estimate_body(&body);
    (body, tokens)
}

/// The outline of a text that the fast reader cannot read.
fn whole_outline(json: &str) -> Outline {
    let json_tree = Json::parse(json);
    let is_missing = |json: &Json<'_>| json.get("content").is_none_or(|content| *content == Json::Null);
    let lacks_content = json_tree.as_ref().is_ok_and(is_missing);
    let (timestamp, body) = read_text(json);
    Outline::of(timestamp, &body, lacks_content)
}

/// Timestamp and body of a stored message.
fn read_text(json: &str) -> (Option<i64>, Body) {
    Json::parse(json).map_or((None, Body::Other { role: None }), read_body)
}

fn read_body(mut json: Json<'_>) -> (Option<i64>, Body) {
    let timestamp = json.get("timestamp").and_then(Json::as_f64).map(|time| time as i64);
    let role = string_member(&mut json, "role");
    let content = Content::from_json(json.take("content"));
    let mut string = |key: &str| string_member(&mut json, key);
    let body = match role.as_deref() {
        Some("user") => Body::User { content },
        Some("custom") => Body::Custom { custom_type: string("customType").unwrap_or_default(), content },
        Some("toolResult") => Body::ToolResult {
            tool_call_id: string("toolCallId").unwrap_or_default(),
            tool_name: string("toolName").unwrap_or_default(),
            content,
            is_error: bool_member(&json, "isError"),
            nested_calls: read_nested_calls(&mut json),
        },
        Some("assistant") => Body::Assistant(Assistant {
            content: match content {
                Content::Text(text) => vec![Block::Text(text)],
                Content::Blocks(blocks) => blocks,
            },
            provider: string("provider"),
            model: string("model"),
            stop_reason: string("stopReason"),
            error_message: string("errorMessage"),
            usage: json.get("usage").and_then(Usage::from_json),
        }),
        Some("bashExecution") => Body::BashExecution(BashExecution {
            command: string("command").unwrap_or_default(),
            output: string("output").unwrap_or_default(),
            full_output_path: string("fullOutputPath"),
            exit_code: json.get("exitCode").and_then(Json::as_f64).map(|code| code as i64),
            cancelled: bool_member(&json, "cancelled"),
            truncated: bool_member(&json, "truncated"),
            exclude_from_context: bool_member(&json, "excludeFromContext"),
        }),
        Some("system") => Body::System(read_system(json, content)),
        Some("compactionSummary") => Body::CompactionSummary {
            summary: string("summary").unwrap_or_default(),
            tokens_before: json.get("tokensBefore").and_then(Json::as_f64).map_or(0, |tokens| tokens as u64),
        },
        Some("branchSummary") => Body::BranchSummary {
            summary: string("summary").unwrap_or_default(),
            from_id: string("fromId").unwrap_or_default(),
        },
        _ => Body::Other { role },
    };
    (timestamp, body)
}

/// `nestedCalls: {calls: [{id, name, arguments, status}]}` of a result.
fn read_nested_calls(json: &mut Json<'_>) -> Vec<NestedCall> {
    let Some(Json::Array(calls)) = json.take("nestedCalls").and_then(|mut nested| nested.take("calls")) else {
        return Vec::new();
    };
    let nested = |mut call: Json<'_>| {
        let is_error = call.get("status").and_then(Json::as_str) == Some("error");
        let (id, name) = (string_member(&mut call, "id").unwrap_or_default(), string_member(&mut call, "name")?);
        let arguments = call.take("arguments").map(Json::into_owned);
        Some(NestedCall { call: ToolCall { id, name, arguments }, is_error })
    };
    calls.into_iter().filter_map(nested).collect()
}

/// The name of a removed tool: a string, or a member of an object.
fn tool_name(tool: &Json<'_>) -> Option<String> {
    tool.as_str().or_else(|| tool.get("name")?.as_str()).map(str::to_owned)
}

fn read_system(mut json: Json<'_>, content: Content) -> System {
    let sections = match json.take("sections") {
        Some(Json::Object(members)) => {
            members.into_iter().map(|(name, value)| (name.into_owned(), value.as_str().map(str::to_owned))).collect()
        }
        _ => Vec::new(),
    };
    let names = match json.take("toolsRemoved") {
        Some(Json::Array(tools)) => tools.iter().filter_map(tool_name).collect(),
        _ => Vec::new(),
    };
    System {
        content,
        sections,
        tools_added: json.take("toolsAdded").filter(|tools| *tools != Json::Null).map(Json::into_owned),
        tools_removed: names,
    }
}
