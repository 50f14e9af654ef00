//! The messages of a conversation, for requests that continue it.
//!
//! They are written as text, with the members of arguments and schemas in their stored order, because a provider's
//! cache depends on the exact text. The shapes are those of pi, whose session format this is; other hosts probably
//! send the same.

use std::borrow::Cow;

use compaction_core::conversation::Prefix;
use compaction_core::json::{Json, encode_string};
use compaction_core::message::Message;

/// The text of a tool result that holds only images.
pub(super) const ONLY_IMAGES: &str = "(see attached image)";
/// The text before the images of tool results, where results are plain texts.
const IMAGES_OF_RESULTS: &str = "Attached image(s) from tool result:";

/// A message of the conversation.
pub(super) enum PrefixMessage<'m> {
    /// A user message.
    User(Vec<Part<'m>>),
    /// An answer of the model.
    Answer(Vec<Part<'m>>),
    /// A tool result.
    Result {
        /// The call that it answers.
        call_id: Cow<'m, str>,
        /// Texts and images.
        parts: Vec<Part<'m>>,
        /// Whether it failed.
        is_error: bool,
    },
}

/// A part of a message.
pub(super) enum Part<'m> {
    /// Text.
    Text(Cow<'m, str>),
    /// An image.
    Image {
        /// Its type.
        mime_type: Cow<'m, str>,
        /// Its bytes in base64.
        data: Cow<'m, str>,
    },
    /// Thinking.
    Thinking {
        /// The readable text.
        text: Cow<'m, str>,
        /// The provider's signature.
        signature: Option<Cow<'m, str>>,
        /// Whether only the signature holds the thinking.
        is_redacted: bool,
    },
    /// A call of a tool.
    Call {
        /// Its id.
        id: Cow<'m, str>,
        /// The tool.
        name: Cow<'m, str>,
        /// Its arguments as a JSON object.
        arguments: String,
    },
}

/// The messages of a conversation, without unknown roles and unknown types of parts.
pub(super) fn prefix_messages(prefix: &Prefix) -> impl Iterator<Item = PrefixMessage<'_>> {
    prefix.messages.iter().filter_map(|message| read(message))
}

fn read(message: &Message) -> Option<PrefixMessage<'_>> {
    let mut json = Json::parse(message.raw().get()).ok()?;
    let parts = parts(json.take("content"));
    match message.role() {
        "user" => Some(PrefixMessage::User(parts)),
        "assistant" => Some(PrefixMessage::Answer(parts)),
        "toolResult" => {
            let is_error = json.get("isError").and_then(Json::as_bool).unwrap_or(false);
            Some(PrefixMessage::Result { call_id: text(&mut json, "toolCallId").unwrap_or_default(), parts, is_error })
        }
        _ => None,
    }
}

fn parts(content: Option<Json<'_>>) -> Vec<Part<'_>> {
    match content {
        Some(Json::String(text)) => vec![Part::Text(text)],
        Some(Json::Array(blocks)) => blocks.into_iter().filter_map(part).collect(),
        _ => Vec::new(),
    }
}

fn part(mut block: Json<'_>) -> Option<Part<'_>> {
    match block.get("type")?.as_str()? {
        "text" => Some(Part::Text(text(&mut block, "text")?)),
        "image" => Some(Part::Image { mime_type: text(&mut block, "mimeType")?, data: text(&mut block, "data")? }),
        "thinking" => Some(Part::Thinking {
            is_redacted: block.get("redacted").and_then(Json::as_bool).unwrap_or(false),
            signature: text(&mut block, "thinkingSignature").filter(|signature| !signature.trim().is_empty()),
            text: text(&mut block, "thinking").unwrap_or_default(),
        }),
        "toolCall" => Some(Part::Call {
            id: text(&mut block, "id")?,
            name: text(&mut block, "name")?,
            arguments: object_or_empty(block.get("arguments")),
        }),
        _ => None,
    }
}

fn text<'m>(json: &mut Json<'m>, key: &str) -> Option<Cow<'m, str>> {
    match json.take(key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    }
}

/// An object as compact JSON; an empty object for any other value.
pub(super) fn object_or_empty(json: Option<&Json<'_>>) -> String {
    match json {
        Some(json @ (Json::Object(_) | Json::Deep(_))) => json.to_compact(),
        _ => "{}".to_owned(),
    }
}

/// An interface in which tool results are plain texts.
pub(super) trait TextResults {
    /// A user message; `None` if it would be empty.
    fn user(&self, parts: &[Part<'_>]) -> Option<String>;

    /// The messages of an answer.
    fn answer(&self, parts: &[Part<'_>], out: &mut Vec<String>);

    /// The message of a result.
    fn result(&self, call_id: &str, text: &str) -> String;
}

/// The messages of a conversation for such an interface. Results directly follow their calls, so the images of an
/// answer's results go into a user message after all of them.
pub(super) fn with_text_results(prefix: &Prefix, language: &impl TextResults, out: &mut Vec<String>) {
    let mut images = Vec::new();
    for message in prefix_messages(prefix) {
        if !matches!(message, PrefixMessage::Result { .. }) {
            out.extend(images_of_results(&mut images, language));
        }
        match message {
            PrefixMessage::User(parts) => out.extend(language.user(&parts)),
            PrefixMessage::Answer(parts) => language.answer(&parts, out),
            PrefixMessage::Result { call_id, parts, .. } => {
                let text = joined(&parts, "\n");
                let text = if text.is_empty() && has_image(&parts) { ONLY_IMAGES } else { &text };
                out.push(language.result(&call_id, text));
                images.extend(parts.into_iter().filter(|part| matches!(part, Part::Image { .. })));
            }
        }
    }
    out.extend(images_of_results(&mut images, language));
}

fn images_of_results(images: &mut Vec<Part<'_>>, language: &impl TextResults) -> Option<String> {
    if images.is_empty() {
        return None;
    }
    let introduction = Part::Text(Cow::Borrowed(IMAGES_OF_RESULTS));
    language.user(&[introduction].into_iter().chain(images.drain(..)).collect::<Vec<_>>())
}

/// The texts among parts, joined by `separator`.
pub(super) fn joined(parts: &[Part<'_>], separator: &str) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_ref()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(separator)
}

/// Whether there is an image among parts.
pub(super) fn has_image(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Image { .. }))
}

/// An image as a data URL, as a JSON string.
pub(super) fn data_url(mime_type: &str, data: &str) -> String {
    encode_string(&format!("data:{mime_type};base64,{data}"))
}

/// A tool of the conversation: its name and description as JSON strings, and the schema of its arguments.
pub(super) struct Tool<'m> {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Option<&'m Json<'static>>,
}

/// The tools of a conversation as a JSON list, each written by `write`, without tools that have no name; `None` if
/// there are none.
pub(super) fn tool_list(prefix: &Prefix, write: impl Fn(&Tool<'_>) -> String) -> Option<String> {
    let tools = prefix.system.iter().flat_map(|system| &system.tools);
    let tools = tools.filter_map(|tool| {
        let text = |key| tool.get(key).and_then(Json::as_str);
        Some(write(&Tool {
            name: encode_string(text("name")?),
            description: encode_string(text("description").unwrap_or_default()),
            parameters: tool.get("parameters"),
        }))
    });
    let tools: Vec<String> = tools.collect();
    (!tools.is_empty()).then(|| list(&tools))
}

/// A JSON list.
pub(super) fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// The system prompt of a conversation; empty if there is none.
pub(super) fn system_text(prefix: &Prefix) -> &str {
    prefix.system.as_ref().map_or("", |system| system.text.as_str())
}
