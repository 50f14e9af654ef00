//! The body of a message: how it is read, and how many tokens it has.

use std::any::Any;
use std::borrow::Cow;
use std::sync::OnceLock;

use crate::json::{self, Json};
use crate::text::{units_to_tokens, utf16_len};

/// UTF-16 units counted for an image.
const IMAGE_UNITS: usize = 4800;

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
    /// What the call does, once it has been classified.
    pub(crate) action: Memo,
}

impl ToolCall {
    /// A call.
    pub fn new(id: String, name: String, arguments: Option<Json<'static>>) -> Self {
        Self { id, name, arguments, action: Memo::default() }
    }
}

/// A value that one other module derives from its owner. Copies begin without it, and all are equal.
#[derive(Debug, Default)]
pub(crate) struct Memo(OnceLock<Box<dyn Any + Send + Sync>>);

impl Memo {
    /// The value, which `derive` returns the first time.
    pub(crate) fn get_or_derive<T: Any + Clone + Send + Sync>(&self, derive: impl Fn() -> T) -> T {
        let kept = self.0.get_or_init(|| Box::new(derive()));
        kept.downcast_ref::<T>().cloned().unwrap_or_else(derive)
    }
}

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Self) -> bool {
        true
    }
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

impl Assistant {
    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
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

    pub(super) fn from_json(json: Option<Json<'_>>) -> Self {
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
    let mut texts = blocks.iter().filter_map(Block::as_text);
    let Some(first) = texts.next() else {
        return Cow::Borrowed("");
    };
    let rest: Vec<&str> = texts.collect();
    if rest.is_empty() {
        return Cow::Borrowed(first);
    }
    Cow::Owned([&[first], &rest[..]].concat().join(separator))
}

/// The JSON of a text block.
pub(crate) fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", json::encode_string(text))
}

impl Block {
    /// The text of a text block.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text(text) => Some(text),
            _ => None,
        }
    }

    fn from_json(mut json: Json<'_>) -> Self {
        let mut string = |key: &str| string_member(&mut json, key);
        match string("type").as_deref() {
            Some("text") => Block::Text(string("text").unwrap_or_default()),
            Some("thinking") => Block::Thinking(string("thinking").unwrap_or_default()),
            Some("toolCall") => {
                let (id, name) = (string("id").unwrap_or_default(), string("name").unwrap_or_default());
                Block::ToolCall(ToolCall::new(id, name, json.take("arguments").map(Json::into_owned)))
            }
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

impl Body {
    /// The text to show to a person: text blocks, or the command or summary.
    pub fn display_text(&self) -> Cow<'_, str> {
        match self {
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

    /// The role as stored, if it is a string.
    pub(super) fn role(&self) -> Option<&str> {
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

/// Timestamp and body of a stored message.
pub(super) fn read_text(json: &str) -> (Option<i64>, Body) {
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
        Some(NestedCall { call: ToolCall::new(id, name, arguments), is_error })
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

/// Estimated tokens of a message (docs/projection.md, "Tokens").
pub(super) fn estimate(body: &Body) -> u64 {
    units_to_tokens(match body {
        Body::User { content } | Body::Custom { content, .. } | Body::ToolResult { content, .. } => {
            content_units(content)
        }
        Body::Assistant(assistant) => assistant.content.iter().map(answer_block_units).sum(),
        Body::BashExecution(bash) => utf16_len(&bash.command) + utf16_len(&bash.output),
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => utf16_len(summary),
        Body::System(system) => {
            let sections = system.sections.iter().filter_map(|(_, text)| text.as_deref());
            content_units(&system.content)
                + sections.map(utf16_len).sum::<usize>()
                + system.tools_added.as_ref().map_or(0, |tools| utf16_len(&tools.to_compact()))
        }
        Body::Other { .. } => 0,
    })
}

fn content_units(content: &Content) -> usize {
    match content {
        Content::Text(text) => utf16_len(text),
        Content::Blocks(blocks) => blocks.iter().map(content_block_units).sum(),
    }
}

fn content_block_units(block: &Block) -> usize {
    match block {
        Block::Text(text) => utf16_len(text),
        Block::Image => IMAGE_UNITS,
        Block::Thinking(_) | Block::ToolCall(_) | Block::Other => 0,
    }
}

fn answer_block_units(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Thinking(text) => utf16_len(text),
        Block::ToolCall(call) => {
            let arguments = call.arguments.as_ref().map_or(0, |json| utf16_len(&json.to_compact()));
            utf16_len(&call.name) + arguments
        }
        Block::Image | Block::Other => 0,
    }
}
