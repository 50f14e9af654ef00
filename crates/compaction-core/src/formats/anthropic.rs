//! `messages` of Anthropic, in requests and in responses.
//!
//! A user message with results becomes several messages. The results of one answer and the text after them
//! become one user message. Calls of tools that the provider runs become text.

use super::node::{Node, Reading, arguments_object, message_json, object, string, text_json, with};
use super::parts::{Answer, CommonMessage, Content, Media, Part, Source, ToolResult, as_text, joined_text, text};
use super::parts::{Calls, Ids, cited, essential};
use super::{Format, FormatError, WrittenMessage};
use crate::json::{Json, RawObject};

const ROLES: &str = "`user`, `assistant` or `system`";
const BLOCKS: &str = "a block of a message: `text`, `image`, `document`, `search_result`, `thinking`, \
                      `redacted_thinking`, `tool_use`, `tool_result`, `fallback`, `compaction`, a change of the tools, \
                      or a block of a tool that the provider runs";
/// Types of images that the interface takes.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Maximum characters of a call id.
const MAX_ID: usize = 64;

pub(super) fn read(node: &Node<'_>, calls: &mut Calls) -> Result<Vec<CommonMessage>, FormatError> {
    let content = node.need("content", "a string or a list of blocks")?;
    match node.need_text("role")? {
        "user" if content.json.as_str().is_none() => read_user(&content.items()?, calls),
        "user" => Ok(vec![CommonMessage::User(Content::read(&content, block)?)]),
        "assistant" => {
            let parts = answer_parts(&content)?;
            read_answer(node, parts).map(|answer| vec![CommonMessage::Assistant(answer)])
        }
        "system" => Ok(vec![CommonMessage::System(Content::read(&content, block)?)]),
        _ => Err(node.unknown("role", ROLES)),
    }
}

/// The blocks of an answer, each with the sources that it cites.
fn answer_parts(content: &Node<'_>) -> Result<Vec<Part>, FormatError> {
    if let Some(plain) = content.json.as_str() {
        return Ok(vec![text(plain)]);
    }
    let mut parts = Vec::new();
    for item in content.items()? {
        parts.push(block(&item)?);
        // In a document the member is a setting.
        if item.get("citations").is_some_and(|citations| matches!(citations.json, Json::Array(_))) {
            parts.extend(cited(&item.list("citations")?, item.text("text")?.unwrap_or_default()));
        }
    }
    Ok(parts)
}

/// The results, and the text of the person between them.
fn read_user(items: &[Node<'_>], calls: &mut Calls) -> Result<Vec<CommonMessage>, FormatError> {
    let (mut common, mut words) = (Vec::new(), Vec::new());
    for item in items {
        if item.need_text("type")? != "tool_result" {
            words.push(block(item)?);
            continue;
        }
        if !words.is_empty() {
            common.push(CommonMessage::User(Content::Parts(std::mem::take(&mut words))));
        }
        common.push(CommonMessage::Result(result(item, calls)?));
    }
    if !words.is_empty() || common.is_empty() {
        common.push(CommonMessage::User(Content::Parts(words)));
    }
    Ok(common)
}

fn result(node: &Node<'_>, calls: &mut Calls) -> Result<ToolResult, FormatError> {
    let id = node.need_text("tool_use_id")?;
    let content = node.get("content").map(|content| Content::read(&content, block)).transpose()?;
    let parts = content.map_or_else(Vec::new, Content::into_parts);
    let name = calls.name_of(id).unwrap_or("unknown").to_owned();
    Ok(ToolResult { id: id.to_owned(), name, parts, is_error: node.is_true("is_error") })
}

fn read_answer(node: &Node<'_>, parts: Vec<Part>) -> Result<Answer, FormatError> {
    let stop_reason = node.text("stop_reason")?.map(|reason| match reason {
        "max_tokens" | "model_context_window_exceeded" => "length",
        "tool_use" => "toolUse",
        _ => "stop",
    });
    Ok(Answer {
        parts,
        model: node.text("model")?.map(str::to_owned),
        stop_reason,
        usage: node.get("usage").map(|usage| usage_of(usage.json)),
        origin: Some(Format::Anthropic),
    })
}

/// The usage of an answer in the session format.
fn usage_of(usage: &Json<'_>) -> Json<'static> {
    let count = |key: &str| usage.get(key).and_then(Json::as_f64).map_or(0, |count| count.max(0.0) as u64);
    let counts = [
        ("input", count("input_tokens")),
        ("output", count("output_tokens")),
        ("cacheRead", count("cache_read_input_tokens")),
        ("cacheWrite", count("cache_creation_input_tokens")),
    ];
    let total = counts.iter().map(|(_, count)| count).fold(0_u64, |sum, count| sum.saturating_add(*count));
    let number = |count: u64| Json::Number(count.into());
    let free = object(counts.map(|(key, _)| (key, number(0))));
    let usage = object(counts.map(|(key, count)| (key, number(count))));
    with(with(usage, "totalTokens", Some(number(total))), "cost", Some(with(free, "total", Some(number(0)))))
}

fn block(node: &Node<'_>) -> Result<Part, FormatError> {
    let kind = node.need_text("type")?;
    match kind {
        "text" => Ok(text(node.need_text("text")?)),
        "image" => source(&node.need("source", "where the image is")?, None, true),
        "document" => source(&node.need("source", "where the document is")?, node.text("title")?, false),
        "search_result" => search_result(node),
        "thinking" => Ok(Part::Thinking {
            text: node.need_text("thinking")?.to_owned(),
            signature: node.text("signature")?.map(str::to_owned),
            is_redacted: false,
        }),
        "redacted_thinking" => {
            let signature = Some(node.need_text("data")?.to_owned());
            Ok(Part::Thinking { text: String::new(), signature, is_redacted: true })
        }
        "tool_use" => Ok(Part::Call {
            id: node.need_text("id")?.to_owned(),
            name: node.need_text("name")?.to_owned(),
            arguments: arguments_object(node.value("input")),
            signature: None,
        }),
        "server_tool_use" | "mcp_tool_use" => {
            let input = node.value("input");
            Ok(as_text(node.need_text("name")?, &input))
        }
        "container_upload" => {
            Ok(Part::Media(Media::new(None, None, Source::Id(node.need_text("file_id")?.to_owned()))))
        }
        "tool_reference" => Ok(text(format!("[tool {}]", node.need_text("tool_name")?))),
        "compaction" => Ok(text(node.text("content")?.unwrap_or("[compaction]"))),
        "fallback" | "tool_addition" | "tool_removal" | "mcp_tool_listing" | "browser_state" => {
            Ok(as_text(kind, &essential(node.json)))
        }
        _ if kind.ends_with("_tool_result") => {
            let is_error = node.is_true("is_error") && node.reading == Reading::Current;
            let name = if is_error { format!("error of {kind}") } else { kind.to_owned() };
            Ok(as_text(&name, &node.value("content")))
        }
        _ => Err(node.unknown("type", BLOCKS)),
    }
}

fn source(node: &Node<'_>, title: Option<&str>, is_image: bool) -> Result<Part, FormatError> {
    let mime = node.text("media_type")?;
    let source = match node.need_text("type")? {
        "base64" => Source::Data(node.need_text("data")?.to_owned()),
        "url" => Source::Url(node.need_text("url")?.to_owned()),
        "file" => Source::Id(node.need_text("file_id")?.to_owned()),
        "text" => return Ok(titled(title, node.need_text("data")?)),
        "content" => {
            let content = Content::read(&node.need("content", "a string or a list of blocks")?, block)?;
            return Ok(titled(title, &content.to_text()));
        }
        _ => return Err(node.unknown("type", "`base64`, `url`, `file`, `text` or `content`")),
    };
    let media = Media::new(mime, title, source);
    Ok(Part::Media(if is_image { Media { kind: "image", ..media } } else { media }))
}

fn titled(title: Option<&str>, content: &str) -> Part {
    text(title.map_or_else(|| content.to_owned(), |title| format!("{title}\n\n{content}")))
}

fn search_result(node: &Node<'_>) -> Result<Part, FormatError> {
    let content: Vec<Part> = node.list("content")?.iter().map(block).collect::<Result<_, _>>()?;
    let (title, source) = (node.text("title")?.unwrap_or_default(), node.text("source")?.unwrap_or_default());
    Ok(titled(Some(&format!("{title} ({source})")), &joined_text(&content)))
}

/// The content of a message in progress.
enum Draft {
    Text(String),
    Blocks(Vec<Json<'static>>),
}

impl Draft {
    fn into_blocks(self) -> Vec<Json<'static>> {
        match self {
            Draft::Text(text) => write_text(&text).into_iter().collect(),
            Draft::Blocks(blocks) => blocks,
        }
    }

    /// Appends the blocks of `more`.
    fn add(&mut self, more: Draft) {
        let mut blocks = std::mem::replace(self, Draft::Blocks(Vec::new())).into_blocks();
        blocks.extend(more.into_blocks());
        *self = Draft::Blocks(blocks);
    }

    fn is_empty(&self) -> bool {
        match self {
            Draft::Text(text) => text.trim().is_empty(),
            Draft::Blocks(blocks) => blocks.is_empty(),
        }
    }
}

pub(super) fn write(common: &[CommonMessage], ids: &Ids) -> Vec<Json<'static>> {
    let mut messages: Vec<(&str, Draft)> = Vec::new();
    for common in common {
        let (role, content) = match common {
            CommonMessage::User(Content::Text(text)) => ("user", Draft::Text(text.clone())),
            CommonMessage::User(Content::Parts(parts)) => {
                ("user", Draft::Blocks(parts.iter().filter_map(|part| write_part(part, ids)).collect()))
            }
            CommonMessage::Assistant(answer) => ("assistant", Draft::Blocks(write_answer(answer, ids))),
            CommonMessage::Result(result) => ("user", Draft::Blocks(vec![write_result(result, ids)])),
            // The interface takes them as a separate field.
            CommonMessage::System(_) => continue,
        };
        if content.is_empty() {
            continue;
        }
        match messages.last_mut() {
            // Roles alternate, and all results of an answer are in one message.
            Some((last_role, last)) if *last_role == role => last.add(content),
            _ => messages.push((role, content)),
        }
    }
    let message = |(role, content)| {
        let content = match content {
            Draft::Text(text) => string(text),
            Draft::Blocks(blocks) => Json::Array(blocks),
        };
        message_json(role, content)
    };
    messages.into_iter().map(message).collect()
}

fn write_part(part: &Part, ids: &Ids) -> Option<Json<'static>> {
    match part {
        Part::Text { text, .. } => write_text(text),
        Part::Media(media) => Some(write_media(media, ids)),
        Part::Thinking { .. } | Part::Call { .. } => None,
    }
}

/// A text block. `None` for blank text, which the interface refuses.
fn write_text(text: &str) -> Option<Json<'static>> {
    (!text.trim().is_empty()).then(|| text_json(text))
}

fn write_media(media: &Media, ids: &Ids) -> Json<'static> {
    let is_document = media.mime_type() == "application/pdf" || (media.kind == "file" && media.mime_type.is_none());
    let kind = if media.kind == "image" { "image" } else { "document" };
    let mime = || string(if is_document { "application/pdf" } else { media.mime_type() });
    // Earlier versions wrote every type. What they stored comes back as it was.
    let is_taken = IMAGES.contains(&media.mime_type()) || ids.is_earlier;
    let source = match &media.source {
        _ if kind == "document" && !is_document => return text_json(&media.shown()),
        Source::Data(_) if kind == "image" && !is_taken => return text_json(&media.shown()),
        Source::Data(data) => {
            object([("type", string("base64")), ("media_type", mime()), ("data", string(data.as_str()))])
        }
        Source::Url(url) => object([("type", string("url")), ("url", string(url.as_str()))]),
        Source::Id(id) => object([("type", string("file")), ("file_id", string(id.as_str()))]),
    };
    let block = object([("type", string(kind)), ("source", source)]);
    let title = media.name.as_ref().filter(|_| kind == "document");
    with(block, "title", title.map(string))
}

/// Thinking of other interfaces is left out, because it lacks the signature of this one.
fn write_answer(answer: &Answer, ids: &Ids) -> Vec<Json<'static>> {
    let is_own = answer.origin == Some(Format::Anthropic);
    let write = |part: &Part| match part {
        Part::Text { text, .. } => write_text(text),
        Part::Media(media) => Some(text_json(&media.shown())),
        Part::Thinking { signature: Some(data), is_redacted: true, .. } if is_own => {
            Some(object([("type", string("redacted_thinking")), ("data", string(data.as_str()))]))
        }
        Part::Thinking { text, signature: Some(signature), is_redacted: false } if is_own => Some(object([
            ("type", string("thinking")),
            ("thinking", string(text.as_str())),
            ("signature", string(signature.as_str())),
        ])),
        Part::Thinking { .. } => None,
        Part::Call { id, name, arguments, .. } => Some(object([
            ("type", string("tool_use")),
            ("id", string(ids.safe(id, MAX_ID))),
            ("name", string(name.as_str())),
            ("input", arguments.clone()),
        ])),
    };
    answer.parts.iter().filter_map(write).collect()
}

fn write_result(result: &ToolResult, ids: &Ids) -> Json<'static> {
    let block = object([
        ("type", string("tool_result")),
        ("tool_use_id", string(ids.safe(&result.id, MAX_ID))),
        ("content", result.to_json(|part| write_part(part, ids))),
    ]);
    with(block, "is_error", result.is_error.then_some(Json::Bool(true)))
}

/// Joins neighbouring messages of one role, because roles alternate. Two messages that are returned unchanged stay two,
/// because the interface joins them itself. Results that came one by one are joined anyway: the interface wants all
/// results of an answer in one message.
pub(super) fn merged(messages: Vec<WrittenMessage>) -> Vec<WrittenMessage> {
    let mut merged: Vec<Joined> = Vec::with_capacity(messages.len());
    for message in messages {
        if !merged.last_mut().is_some_and(|last| last.add(&message)) {
            merged.push(Joined::of(message));
        }
    }
    merged.into_iter().map(Joined::into_written).collect()
}

/// A message, and the following messages that are joined to it. The text is built once, at the end.
struct Joined {
    first: WrittenMessage,
    has_results: bool,
    /// Role and blocks of the first message, parsed when another message follows.
    role_and_blocks: Option<(String, String)>,
    /// Blocks of the joined messages.
    more: Vec<String>,
}

impl Joined {
    fn of(first: WrittenMessage) -> Self {
        Self { has_results: has_results(&first), first, role_and_blocks: None, more: Vec::new() }
    }

    /// Joins a message. Returns `false` if it must stay separate.
    fn add(&mut self, next: &WrittenMessage) -> bool {
        let has_results = has_results(next);
        let are_original = self.first.is_original && self.more.is_empty() && next.is_original;
        if are_original && !(self.has_results && has_results) {
            return false;
        }
        if self.role_and_blocks.is_none() {
            self.role_and_blocks = role_and_blocks(&self.first.text);
        }
        let (Some((role, _)), Some((next_role, blocks))) = (&self.role_and_blocks, role_and_blocks(&next.text)) else {
            return false;
        };
        if *role != next_role || (are_original && role != "user") {
            return false;
        }
        self.has_results |= has_results;
        self.more.push(blocks);
        true
    }

    fn into_written(self) -> WrittenMessage {
        let (Some((_, first)), Ok(mut message)) = (&self.role_and_blocks, RawObject::parse(&self.first.text)) else {
            return self.first;
        };
        if self.more.is_empty() {
            return self.first;
        }
        let blocks = std::iter::once(first).chain(&self.more).filter(|blocks| !blocks.is_empty());
        let blocks: Vec<&str> = blocks.map(String::as_str).collect();
        message.set("content", format!("[{}]", blocks.join(",")));
        WrittenMessage { text: message.to_json(), is_original: false }
    }
}

fn has_results(message: &WrittenMessage) -> bool {
    message.text.contains("\"tool_result\"")
}

/// Role and blocks of a message; `None` if it lacks one of them.
fn role_and_blocks(message: &str) -> Option<(String, String)> {
    let message = RawObject::parse(message).ok()?;
    Some((message.string("role")?, block_texts(message.get("content")?)))
}

/// The blocks of content as JSON texts, separated by commas.
fn block_texts(content: &str) -> String {
    match content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(blocks) => blocks.trim().to_owned(),
        None => format!("{{\"type\":\"text\",\"text\":{content}}}"),
    }
}

/// Role and content of an answer of the interface, for a request; `None` for other messages.
pub(super) fn for_request(text: &str) -> Option<String> {
    let answer = RawObject::parse(text).ok()?;
    answer.get("stop_reason")?;
    let mut message = RawObject::default();
    message.set("role", answer.get("role")?);
    message.set("content", answer.get("content")?);
    Some(message.to_json())
}
