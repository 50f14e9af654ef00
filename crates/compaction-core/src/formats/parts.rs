//! The common form of messages. Every format is read into it and written from it, including the session format.
//!
//! Results name the tool, the call, or both, depending on the interface. [`Calls`] finds the missing one, because
//! results in the session format have both.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::node::{Node, Reading, message_json, object, string, text_json, with};
use super::{Format, FormatError, Mark};
use crate::hash;
use crate::json::{Json, RawObject};
use crate::message::{Body, Message};

/// A message, independent of any interface.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CommonMessage {
    /// Instructions for the model.
    System(Content),
    /// Text and files of a person.
    User(Content),
    /// A model's answer.
    Assistant(Answer),
    /// The result of one call.
    Result(ToolResult),
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Answer {
    pub(super) parts: Vec<Part>,
    /// Name of the model, if the message names it.
    pub(super) model: Option<String>,
    /// Why the answer ended, if the message says so.
    pub(super) stop_reason: Option<&'static str>,
    /// Usage in the session format.
    pub(super) usage: Option<Json<'static>>,
    /// The format that the answer came in. Only that interface accepts its signatures.
    pub(super) origin: Option<Format>,
}

/// The result of one call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolResult {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) parts: Vec<Part>,
    pub(super) is_error: bool,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// Plain text.
    Text(String),
    /// Parts, in order.
    Parts(Vec<Part>),
}

/// A part of the content.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// Text, and the provider's signature for it.
    Text { text: String, signature: Option<String> },
    /// An image or a file.
    Media(Media),
    /// Reasoning. Redacted reasoning has only a signature.
    Thinking { text: String, signature: Option<String>, is_redacted: bool },
    /// A tool call. The arguments are an object.
    Call { id: String, name: String, arguments: Json<'static>, signature: Option<String> },
}

/// An image or a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Media {
    /// `image`, `audio`, `video` or `file`.
    pub(super) kind: &'static str,
    pub(super) mime_type: Option<String>,
    pub(super) name: Option<String>,
    pub(super) source: Source,
}

/// The data of an image or a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// The data in base64.
    Data(String),
    /// A URL.
    Url(String),
    /// An id of the provider.
    Id(String),
}

/// A plain text part.
pub(super) fn text(text: impl Into<String>) -> Part {
    Part::Text { text: text.into(), signature: None }
}

/// The text parts, joined by line breaks.
pub(super) fn joined_text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(text_of).collect();
    texts.join("\n")
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// The images and files among the parts.
pub(super) fn media_of(parts: &[Part]) -> impl Iterator<Item = &Media> {
    parts.iter().filter_map(|part| match part {
        Part::Media(media) => Some(media),
        _ => None,
    })
}

impl Content {
    /// Reads a string or a list of parts.
    pub(super) fn read(
        node: &Node<'_>,
        part: impl Fn(&Node<'_>) -> Result<Part, FormatError>,
    ) -> Result<Self, FormatError> {
        match node.json.as_str() {
            Some(text) => Ok(Self::Text(text.to_owned())),
            None => node.items()?.iter().map(part).collect::<Result<_, _>>().map(Self::Parts),
        }
    }

    /// A string or a list of parts, each written by `write`.
    pub(super) fn to_json(&self, write: impl Fn(&Part) -> Option<Json<'static>>) -> Json<'static> {
        match self {
            Self::Text(text) => string(text.as_str()),
            Self::Parts(parts) => Json::Array(parts.iter().filter_map(write).collect()),
        }
    }

    /// Its texts, joined by line breaks.
    pub(super) fn to_text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Parts(parts) => joined_text(parts),
        }
    }

    /// Its parts. Plain text is one part.
    pub(super) fn into_parts(self) -> Vec<Part> {
        match self {
            Content::Text(plain) => vec![text(plain)],
            Content::Parts(parts) => parts,
        }
    }
}

impl ToolResult {
    /// Its parts, each written by `write`, or its text if it has no images or files.
    pub(super) fn to_json(&self, write: impl Fn(&Part) -> Option<Json<'static>>) -> Json<'static> {
        match media_of(&self.parts).next() {
            Some(_) => Json::Array(self.parts.iter().filter_map(write).collect()),
            None => string(joined_text(&self.parts)),
        }
    }
}

impl Media {
    /// Reads the member `input_audio` of a part.
    pub(super) fn input_audio(node: &Node<'_>) -> Result<Self, FormatError> {
        let audio = node.need("input_audio", "an object with `data` and `format`")?;
        let mime = format!("audio/{}", audio.need_text("format")?);
        Ok(Self::new(Some(&mime), None, Source::Data(audio.need_text("data")?.to_owned())))
    }

    /// An image or file of this type. The kind follows from the type.
    pub(super) fn new(mime_type: Option<&str>, name: Option<&str>, source: Source) -> Self {
        let kind = match mime_type.and_then(|mime| mime.split('/').next()) {
            Some("image") => "image",
            Some("audio") => "audio",
            Some("video") => "video",
            _ => "file",
        };
        Self { kind, mime_type: mime_type.map(str::to_owned), name: name.map(str::to_owned), source }
    }

    /// An image whose type may be unknown.
    pub(super) fn image(mime_type: Option<&str>, source: Source) -> Self {
        Self { kind: "image", ..Self::new(mime_type, None, source) }
    }

    /// An image or file at a URL. A `data:` URL becomes data.
    pub(super) fn at(url: &str, mime_type: Option<&str>, name: Option<&str>) -> Self {
        match split_data_url(url) {
            Some((mime, data)) => Self::new(Some(mime), name, Source::Data(data.to_owned())),
            None => Self::new(mime_type, name, Source::Url(url.to_owned())),
        }
    }

    /// An image at a URL, like [`Media::at`].
    pub(super) fn image_at(url: &str) -> Self {
        Self { kind: "image", ..Self::at(url, None, None) }
    }

    /// Its URL, a `data:` URL if it has data. `None` if it has only an id of the provider.
    pub(super) fn url(&self) -> Option<String> {
        match &self.source {
            Source::Data(data) => Some(format!("data:{};base64,{data}", self.mime_type())),
            Source::Url(url) => Some(url.clone()),
            Source::Id(_) => None,
        }
    }

    /// Its type, or a default for unknown types.
    pub(super) fn mime_type(&self) -> &str {
        let unknown = if self.kind == "image" { "image/png" } else { "application/octet-stream" };
        self.mime_type.as_deref().unwrap_or(unknown)
    }

    /// A text in place of it, for readers that cannot show it.
    pub(super) fn shown(&self) -> String {
        let name = self.name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
        let mime = self.mime_type.as_ref().map(|mime| format!(" ({mime})")).unwrap_or_default();
        let source = match &self.source {
            Source::Data(data) => format!(", {} bytes", data.len() / 4 * 3),
            Source::Url(url) => format!(": {url}"),
            Source::Id(id) => format!(": {id}"),
        };
        format!("[{}{name}{mime}{source}]", self.kind)
    }

    /// Its block in the session format. Images with data are image blocks, except in answers. Everything else is
    /// a text block with the media in `compactd.media`.
    fn to_block(&self, is_of_answer: bool) -> Json<'static> {
        if let ("image", Source::Data(data), None, false) = (self.kind, &self.source, &self.name, is_of_answer) {
            let mime = string(self.mime_type());
            return object([("type", string("image")), ("data", string(data.as_str())), ("mimeType", mime)]);
        }
        let (key, value) = match &self.source {
            Source::Data(data) => ("data", data),
            Source::Url(url) => ("url", url),
            Source::Id(id) => ("id", id),
        };
        let media = object([("kind", string(self.kind)), (key, string(value.as_str()))]);
        let media = with(media, "mimeType", self.mime_type.as_ref().map(string));
        let media = with(media, "name", self.name.as_ref().map(string));
        with(text_json(&self.shown()), "compactd", Some(object([("media", media)])))
    }

    fn of_block(block: &Json<'_>) -> Option<Self> {
        let member = |json: &Json<'_>, key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
        if member(block, "type")? == "image" {
            let source = Source::Data(member(block, "data")?);
            return Some(Self::image(member(block, "mimeType").as_deref(), source));
        }
        let media = block.get("compactd")?.get("media")?;
        let source = match (member(media, "data"), member(media, "url"), member(media, "id")) {
            (Some(data), ..) => Source::Data(data),
            (None, Some(url), _) => Source::Url(url),
            (None, None, id) => Source::Id(id?),
        };
        let kind = ["image", "audio", "video"].into_iter().find(|kind| member(media, "kind").as_deref() == Some(kind));
        let (mime_type, name) = (member(media, "mimeType"), member(media, "name"));
        Some(Self { kind: kind.unwrap_or("file"), mime_type, name, source })
    }
}

/// The block of our own messages for the file at `url`: an image with its data if the address contains it, otherwise a
/// text that names the file.
pub(crate) fn media_block(url: &str, mime_type: Option<&str>, name: Option<&str>) -> Json<'static> {
    let name = name.filter(|_| !url.starts_with("data:image/"));
    Media::at(url, mime_type, name).to_block(false)
}

/// Type and base64 data of a `data:` URL.
pub(super) fn split_data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

impl Part {
    /// Text by `text`, and an image or a file by `media`.
    pub(super) fn written(
        &self,
        text: fn(&str) -> Json<'static>,
        media: fn(&Media) -> Json<'static>,
    ) -> Option<Json<'static>> {
        match self {
            Part::Text { text: plain, .. } => Some(text(plain)),
            Part::Media(file) => Some(media(file)),
            Part::Thinking { .. } | Part::Call { .. } => None,
        }
    }

    fn to_block(&self, is_of_answer: bool) -> Json<'static> {
        match self {
            Part::Text { text, signature } => with(text_json(text), "textSignature", signature.as_ref().map(string)),
            Part::Media(media) => media.to_block(is_of_answer),
            Part::Thinking { text, signature, is_redacted } => {
                let block = object([("type", string("thinking")), ("thinking", string(text.as_str()))]);
                let block = with(block, "thinkingSignature", signature.as_ref().map(string));
                with(block, "redacted", is_redacted.then_some(Json::Bool(true)))
            }
            Part::Call { id, name, arguments, signature } => {
                let (id, name) = (string(id.as_str()), string(name.as_str()));
                let block = object([
                    ("type", string("toolCall")),
                    ("id", id),
                    ("name", name),
                    ("arguments", arguments.clone()),
                ]);
                with(block, "thoughtSignature", signature.as_ref().map(string))
            }
        }
    }

    /// Reads a block of the session format; `None` if its type is unknown.
    fn of_block(block: &Json<'static>) -> Option<Self> {
        if let Some(media) = Media::of_block(block) {
            return Some(Part::Media(media));
        }
        let member = |key: &str| block.get(key).and_then(Json::as_str).map(str::to_owned);
        let text = |key: &str| member(key).unwrap_or_default();
        match member("type")?.as_str() {
            "text" => Some(Part::Text { text: text("text"), signature: member("textSignature") }),
            "thinking" => Some(Part::Thinking {
                text: text("thinking"),
                signature: member("thinkingSignature"),
                is_redacted: block.get("redacted").and_then(Json::as_bool).unwrap_or(false),
            }),
            "toolCall" => Some(Part::Call {
                id: text("id"),
                name: text("name"),
                arguments: super::node::arguments_object(block.get("arguments").cloned().unwrap_or(Json::Null)),
                signature: member("thoughtSignature"),
            }),
            _ => None,
        }
    }
}

fn blocks(parts: &[Part], is_of_answer: bool) -> Json<'static> {
    Json::Array(parts.iter().map(|part| part.to_block(is_of_answer)).collect())
}

fn parts_of(content: Option<&Json<'static>>) -> Content {
    match content {
        Some(Json::String(text)) => Content::Text(text.clone().into_owned()),
        Some(Json::Array(items)) => Content::Parts(items.iter().filter_map(Part::of_block).collect()),
        _ => Content::Parts(Vec::new()),
    }
}

/// Usage of an answer without any. Other readers of session files require the members.
fn no_usage() -> Json<'static> {
    let none = || Json::Number(0.into());
    let parts = || [("input", none()), ("output", none()), ("cacheRead", none()), ("cacheWrite", none())];
    let cost = with(object(parts()), "total", Some(none()));
    with(with(object(parts()), "totalTokens", Some(none())), "cost", Some(cost))
}

impl CommonMessage {
    /// The message in the session format, without time and mark.
    pub(super) fn to_message(&self) -> Json<'static> {
        match self {
            CommonMessage::System(content) => {
                message_json("system", content.to_json(|part| Some(part.to_block(false))))
            }
            CommonMessage::User(content) => message_json("user", content.to_json(|part| Some(part.to_block(false)))),
            CommonMessage::Assistant(answer) => answer.to_message(),
            CommonMessage::Result(result) => object([
                ("role", string("toolResult")),
                ("toolCallId", string(result.id.as_str())),
                ("toolName", string(result.name.as_str())),
                ("content", blocks(&result.parts, false)),
                ("isError", Json::Bool(result.is_error)),
            ]),
        }
    }

    /// Reads a message in the session format; `None` if models do not see it.
    pub(super) fn of_message(message: &Message) -> Option<Self> {
        if let Body::System(system) = message.body() {
            let sections = system.sections.iter().filter_map(|(_, section)| section.clone());
            let texts = std::iter::once(system.content.text("\n").into_owned()).chain(sections);
            let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
            return Some(CommonMessage::System(Content::Text(texts.join("\n\n"))));
        }
        let json = Json::parse(message.raw().get()).ok()?.into_owned();
        let content = parts_of(json.get("content"));
        let member = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        match message.role() {
            "user" => Some(CommonMessage::User(content)),
            "assistant" => {
                let api = member("api");
                let origin = mark_of(&json).map(|mark| mark.format).or_else(|| Format::of_api(&api));
                Some(CommonMessage::Assistant(Answer { parts: content.into_parts(), origin, ..Answer::default() }))
            }
            "toolResult" => Some(CommonMessage::Result(ToolResult {
                id: member("toolCallId"),
                name: member("toolName"),
                parts: content.into_parts(),
                is_error: json.get("isError").and_then(Json::as_bool).unwrap_or(false),
            })),
            _ => None,
        }
    }
}

impl Answer {
    fn to_message(&self) -> Json<'static> {
        let has_calls = self.parts.iter().any(|part| matches!(part, Part::Call { .. }));
        let stop_reason = self.stop_reason.unwrap_or(if has_calls { "toolUse" } else { "stop" });
        let message = object([("role", string("assistant")), ("content", blocks(&self.parts, true))]);
        let message = with(message, "api", self.origin.map(|format| string(format.api())));
        let message = with(message, "provider", self.origin.map(|format| string(format.provider())));
        let message = with(message, "model", self.model.as_ref().map(string));
        let message = with(message, "usage", Some(self.usage.clone().unwrap_or_else(no_usage)));
        with(message, "stopReason", Some(string(stop_reason)))
    }
}

/// The mark of a converted message.
pub(super) fn mark_of(message: &Json<'_>) -> Option<Mark> {
    let mark = message.get("compactd")?;
    let number = |key: &str| mark.get(key).and_then(Json::as_f64).map(|number| number as usize);
    let format = Format::from_name(mark.get("format")?.as_str()?)?;
    Some(Mark { format, parts: number("parts").unwrap_or(1), part: number("part").unwrap_or(0) })
}

/// A message without time and mark, for comparison.
pub(super) fn unmarked(message: &Message) -> Option<String> {
    let mut object = RawObject::parse(message.raw().get()).ok()?;
    object.remove("compactd");
    object.remove("timestamp");
    Some(object.to_json())
}

/// A text part for a value that fits no other part. Long strings without spaces, such as encrypted data, are replaced
/// by their length.
pub(super) fn as_text(name: &str, json: &Json<'_>) -> Part {
    text(format!("[{name}] {}", shortened(json).to_compact()))
}

fn shortened(json: &Json<'_>) -> Json<'static> {
    const MAX_UNBROKEN: usize = 300;
    match json {
        Json::String(text) if text.len() > MAX_UNBROKEN && !text.contains([' ', '\n']) => {
            string(format!("({} characters)", text.chars().count()))
        }
        Json::Array(items) => Json::Array(items.iter().map(shortened).collect()),
        Json::Object(members) => {
            let kept = members.iter().filter(|(_, value)| *value != Json::Null);
            Json::Object(kept.map(|(key, value)| (key.clone().into_owned().into(), shortened(value))).collect())
        }
        other => other.clone().into_owned(),
    }
}

/// An item or block without the members that only the interface needs.
pub(super) fn essential(json: &Json<'static>) -> Json<'static> {
    without(json, &["id", "type", "status", "role", "cache_control"])
}

/// The same, as earlier versions did it. The text of the kinds that they knew must not change.
pub(super) fn essential_of_item(json: &Json<'static>) -> Json<'static> {
    without(json, &["id", "type", "status"])
}

fn without(json: &Json<'static>, dropped: &[&str]) -> Json<'static> {
    match json {
        Json::Object(members) => {
            let is_kept = |key: &str| !dropped.contains(&key);
            Json::Object(members.iter().filter(|(key, _)| is_kept(key)).cloned().collect())
        }
        other => other.clone(),
    }
}

/// Data of a provider as text: its name and the sentences in it. `None` if no string in it has a space, because
/// nobody can read the rest.
pub(super) fn sentences(name: &str, json: &Json<'_>) -> Option<Part> {
    fn collect<'a>(json: &'a Json<'_>, out: &mut Vec<&'a str>) {
        match json {
            Json::String(text) if text.trim().contains([' ', '\n']) => out.push(text),
            Json::Array(items) => items.iter().for_each(|item| collect(item, out)),
            Json::Object(members) => members.iter().for_each(|(_, value)| collect(value, out)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(json, &mut found);
    (!found.is_empty()).then(|| text(format!("[{name}] {}", found.join("\n"))))
}

/// The sources that a text of an answer cites, as parts to follow it. Each is named once. `shown` is the text: a
/// source whose name and address it contains is left out, unless the search would take too long.
pub(super) fn cited(citations: &[Node<'_>], shown: &str) -> Vec<Part> {
    // Each citation searches the text.
    let is_searched = citations.len().saturating_mul(shown.len()) <= MAX_SEARCHED;
    let shown = if is_searched { shown } else { "" };
    let mut named = HashSet::new();
    let current = citations.iter().filter(|citation| citation.reading == Reading::Current);
    let texts = current.filter_map(|citation| citation_text(citation.json, shown));
    texts.filter(|text| named.insert(text.clone())).map(text).collect()
}

/// Maximum bytes that are searched for the citations of a text.
const MAX_SEARCHED: usize = 64 << 20;

/// Citations whose text no message shows: pages of the web, and of documents that are not text. Other citations
/// quote earlier messages.
const QUOTED: [&str; 2] = ["web_search_result_location", "page_location"];

/// A citation as text.
fn citation_text(citation: &Json<'_>, shown: &str) -> Option<String> {
    // Some interfaces put the members into an object that is named as the type.
    let kind = citation.get("type").and_then(Json::as_str).unwrap_or_default();
    let inner = citation.get(kind).or_else(|| citation.get("source")).filter(|inner| inner.as_object().is_some());
    let inner = inner.unwrap_or(citation);
    let member = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| inner.get(key).and_then(Json::as_str));
        found.filter(|text| !text.is_empty())
    };
    let title = member(&["title", "document_title", "filename"]);
    let place = member(&["url", "source"]);
    let quote = citation.get("cited_text").and_then(Json::as_str).filter(|_| QUOTED.contains(&kind));
    let is_shown = |name: Option<&str>| name.is_none_or(|name| shown.contains(name));
    if quote.is_none() && is_shown(title) && is_shown(place) {
        return None;
    }
    let named = match (title, place) {
        (Some(title), Some(place)) => format!("{title} ({place})"),
        (title, place) => title.or(place).unwrap_or_default().to_owned(),
    };
    let quote = quote.map(|quote| format!(": \"{quote}\"")).unwrap_or_default();
    Some(format!("[source {named}{quote}]"))
}

/// A short hash of `text`, the same in every version of this program.
pub(super) fn digest(text: &str) -> String {
    format!("{:08x}", hash::continued(hash::EMPTY, text.bytes()) >> 32)
}

/// The calls so far, and whether they have results.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    calls: Vec<RecordedCall>,
    /// Position of the latest call with each id.
    latest: HashMap<String, usize>,
    /// Positions of the calls of each tool, oldest first. A search removes the answered calls that it passes.
    open: HashMap<String, VecDeque<usize>>,
    /// Whether a result named an unknown call or tool.
    has_gaps: bool,
}

#[derive(Debug, Clone)]
struct RecordedCall {
    id: String,
    name: String,
    is_answered: bool,
}

impl Calls {
    /// The calls in stored messages, oldest first.
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut calls = Self::default();
        for message in messages {
            if let Some(id) = message.answered_call_id() {
                calls.answer(id);
                continue;
            }
            for call in message.tool_calls() {
                calls.add(&call.id, &call.name);
            }
        }
        calls
    }

    /// The calls of these results, as open calls, so that the results can be read again.
    pub(super) fn of_results<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut calls = Self::default();
        for message in messages {
            if let Body::ToolResult { tool_call_id, tool_name, .. } = message.body() {
                calls.add(tool_call_id, tool_name);
            }
        }
        calls
    }

    pub(crate) fn add(&mut self, id: &str, name: &str) {
        let position = self.calls.len();
        self.latest.insert(id.to_owned(), position);
        self.open.entry(name.to_owned()).or_default().push_back(position);
        self.calls.push(RecordedCall { id: id.to_owned(), name: name.to_owned(), is_answered: false });
    }

    /// Records the calls and results of a message.
    pub(super) fn record(&mut self, common: &CommonMessage) {
        match common {
            CommonMessage::Assistant(answer) => {
                for part in &answer.parts {
                    if let Part::Call { id, name, .. } = part {
                        self.add(id, name);
                    }
                }
            }
            CommonMessage::Result(result) => self.answer(&result.id),
            CommonMessage::System(_) | CommonMessage::User(_) => {}
        }
    }

    fn answer(&mut self, id: &str) {
        if let Some(position) = self.latest.get(id) {
            self.calls[*position].is_answered = true;
        }
    }

    /// The tool that the latest call with this id names.
    pub(crate) fn name_of(&mut self, id: &str) -> Option<&str> {
        let position = self.latest.get(id).copied();
        self.has_gaps |= position.is_none();
        position.map(|position| self.calls[position].name.as_str())
    }

    /// Whether a result named an unknown call or tool. It may belong to earlier messages.
    pub fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// Takes the id of the first call of this tool without a result. The call then counts as answered.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let open = self.open.get_mut(name);
        let position =
            open.and_then(|open| std::iter::from_fn(|| open.pop_front()).find(|at| !self.calls[*at].is_answered));
        self.has_gaps |= position.is_none();
        let call = &mut self.calls[position?];
        call.is_answered = true;
        Some(call.id.clone())
    }
}

/// An id for a call without one. It is the same whenever the message is read. `earlier` is the number of calls
/// before it in its message.
pub(super) fn generated_id(name: &str, arguments: &Json<'_>, earlier: usize) -> String {
    format!("{name}_{}", digest(&format!("{earlier}{}", arguments.to_compact())))
}

/// How messages are written, and the ids that must not change because an original message contains them.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    ids: HashSet<String>,
    /// Whether the messages are written as earlier versions did it.
    pub(super) is_earlier: bool,
}

impl Ids {
    /// The ids in these messages.
    pub(super) fn of(common: &[CommonMessage]) -> Self {
        let mut ids = Self::default();
        for common in common {
            match common {
                CommonMessage::Assistant(answer) => {
                    let calls = answer.parts.iter().filter_map(|part| match part {
                        Part::Call { id, .. } => Some(id.clone()),
                        _ => None,
                    });
                    ids.ids.extend(calls);
                }
                CommonMessage::Result(result) => {
                    ids.ids.insert(result.id.clone());
                }
                CommonMessage::System(_) | CommonMessage::User(_) => {}
            }
        }
        ids
    }

    /// Adds the ids of messages whose originals are written.
    pub(super) fn keep(&mut self, messages: &[Arc<Message>]) {
        for message in messages {
            let ids = message.tool_call_ids().chain(message.answered_call_id());
            self.ids.extend(ids.map(str::to_owned));
        }
    }

    /// An id that an interface accepts: at most `max` characters of `[A-Za-z0-9_-]`. Valid ids and ids that must
    /// not change stay the same.
    pub(super) fn safe(&self, id: &str, max: usize) -> String {
        let is_fine = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if self.ids.contains(id) || (!id.is_empty() && id.len() <= max && id.chars().all(is_fine)) {
            return id.to_owned();
        }
        let kept = id.chars().map(|character| if is_fine(character) { character } else { '_' });
        let kept: String = kept.take(max.saturating_sub(9)).collect();
        format!("{kept}_{}", digest(id))
    }
}
