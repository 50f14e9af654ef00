//! Messages of OpenAI's chat completions.
//!
//! Supported are `system` and `developer`, names, parts with text, images, audio and files, refusals,
//! `reasoning_content` and `reasoning` of compatible servers, calls of functions and custom tools, and
//! `function_call` with the role `function` of older clients.

use super::node::{Node, arguments_object, arguments_of_text, message_json, object, string, text_json, with};
use super::parts::{Answer, CommonMessage, Content, Media, Part, Source, ToolResult, joined_text, media_of, text};
use super::parts::{Calls, Ids, cited, generated_id};
use super::{Format, FormatError};
use crate::json::Json;

const ROLES: &str = "`system`, `developer`, `user`, `assistant`, `tool` or `function`";
const USER_PARTS: &str = "`text`, `image_url`, `input_audio` or `file`";
const ANSWER_PARTS: &str = "`text` or `refusal`";
/// Maximum characters of a call id.
const MAX_ID: usize = 40;

pub(super) fn read(node: &Node<'_>, calls: &mut Calls) -> Result<Vec<CommonMessage>, FormatError> {
    let common = match node.need_text("role")? {
        "system" | "developer" => CommonMessage::System(content(node)?),
        "user" => CommonMessage::User(content(node)?),
        "assistant" => CommonMessage::Assistant(answer(node)?),
        "tool" => {
            let id = node.need_text("tool_call_id")?;
            let name = calls.name_of(id).or(node.text("name")?).unwrap_or("unknown").to_owned();
            result(node, id.to_owned(), &name)?
        }
        "function" => {
            let name = node.need_text("name")?;
            let id = calls.take(name).unwrap_or_else(|| generated_id(name, &Json::Null, 0));
            result(node, id, name)?
        }
        _ => return Err(node.unknown("role", ROLES)),
    };
    Ok(vec![common])
}

fn result(node: &Node<'_>, id: String, name: &str) -> Result<CommonMessage, FormatError> {
    let parts = content(node)?.into_parts();
    Ok(CommonMessage::Result(ToolResult { id, name: name.to_owned(), parts, is_error: false }))
}

fn content(node: &Node<'_>) -> Result<Content, FormatError> {
    match node.get("content") {
        None => Ok(Content::Parts(Vec::new())),
        // Some servers give structured output as a value.
        Some(content) if content.json.as_object().is_some() => Ok(Content::Text(content.json.to_compact())),
        Some(content) => Content::read(&content, part),
    }
}

fn part(node: &Node<'_>) -> Result<Part, FormatError> {
    match node.need_text("type")? {
        "text" => Ok(text(node.need_text("text")?)),
        "refusal" => Ok(text(node.need_text("refusal")?)),
        "image_url" => {
            let image = node.need("image_url", "an object with `url`")?;
            // Some servers accept a plain URL.
            let url = image.json.as_str().map_or_else(|| image.need_text("url"), Ok)?;
            Ok(Part::Media(Media::image_at(url)))
        }
        "input_audio" => Media::input_audio(node).map(Part::Media),
        "file" => file(&node.need("file", "an object with `file_data` or `file_id`")?),
        _ => Err(node.unknown("type", USER_PARTS)),
    }
}

fn file(node: &Node<'_>) -> Result<Part, FormatError> {
    let name = node.text("filename")?;
    let media = match (node.text("file_data")?, node.text("file_id")?) {
        (Some(data), _) if data.starts_with("data:") => Media::at(data, None, name),
        (Some(data), _) => Media::new(None, name, Source::Data(data.to_owned())),
        (None, Some(id)) => Media::new(None, name, Source::Id(id.to_owned())),
        (None, None) => return Err(node.error("an object with `file_data` or `file_id`")),
    };
    Ok(Part::Media(media))
}

fn answer(node: &Node<'_>) -> Result<Answer, FormatError> {
    let mut parts = Vec::new();
    if let Some(thinking) = node.either(["reasoning_content", "reasoning"]).filter(|node| node.json.as_str().is_some())
    {
        let text = thinking.as_text()?.to_owned();
        parts.push(Part::Thinking { text, signature: None, is_redacted: false });
    }
    match content(node)? {
        Content::Text(plain) if plain.is_empty() => {}
        content => parts.extend(content.into_parts()),
    }
    if let Some(Part::Media(_)) = parts.iter().find(|part| matches!(part, Part::Media(_))) {
        return Err(node.unknown("content", ANSWER_PARTS));
    }
    let annotations = node.get("annotations").filter(|annotations| matches!(annotations.json, Json::Array(_)));
    if let Some(annotations) = annotations {
        parts.extend(cited(&annotations.items()?, &joined_text(&parts)));
    }
    parts.extend(node.text("refusal")?.map(text));
    if let Some(audio) = node.get("audio") {
        let transcript = audio.text("transcript")?.unwrap_or_default();
        parts.push(text(format!("[audio {}] {transcript}", audio.text("id")?.unwrap_or_default())));
    }
    for (earlier, call) in node.list("tool_calls")?.iter().enumerate() {
        parts.push(tool_call(call, earlier)?);
    }
    if let Some(call) = node.get("function_call") {
        let (name, arguments) = (call.need_text("name")?, arguments(&call)?);
        let id = generated_id(name, &arguments, 0);
        parts.push(Part::Call { id, name: name.to_owned(), arguments, signature: None });
    }
    Ok(Answer { parts, origin: Some(Format::OpenAi), ..Answer::default() })
}

fn tool_call(node: &Node<'_>, earlier: usize) -> Result<Part, FormatError> {
    let (name, arguments) = match node.text("type")?.unwrap_or("function") {
        "function" => {
            let function = node.need("function", "an object with `name` and `arguments`")?;
            (function.need_text("name")?, arguments(&function)?)
        }
        "custom" => {
            let custom = node.need("custom", "an object with `name` and `input`")?;
            (custom.need_text("name")?, object([("input", string(custom.need_text("input")?))]))
        }
        _ => return Err(node.unknown("type", "`function` or `custom`")),
    };
    // Some servers give no ids.
    let id = node.text("id")?.map_or_else(|| generated_id(name, &arguments, earlier), str::to_owned);
    Ok(Part::Call { id, name: name.to_owned(), arguments, signature: None })
}

fn arguments(node: &Node<'_>) -> Result<Json<'static>, FormatError> {
    Ok(match node.get("arguments") {
        None => Json::Object(Vec::new()),
        Some(text) if text.json.as_str().is_some() => arguments_of_text(text.as_text()?),
        Some(other) => arguments_object(other.json.clone()),
    })
}

pub(super) fn write(common: &[CommonMessage], ids: &Ids) -> Vec<Json<'static>> {
    let mut messages = Vec::new();
    // Results cannot contain images and other files. A user message after all results of the answer has them.
    let mut files = Vec::new();
    for common in common {
        match common {
            CommonMessage::Result(result) => {
                messages.push(object([
                    ("role", string("tool")),
                    ("tool_call_id", string(ids.safe(&result.id, MAX_ID))),
                    ("content", string(result_text(result))),
                ]));
                files.extend(files_of(result));
                continue;
            }
            other => {
                messages.extend(take_files(&mut files));
                messages.extend(write_one(other, ids));
            }
        }
    }
    messages.extend(take_files(&mut files));
    messages
}

fn write_one(common: &CommonMessage, ids: &Ids) -> Option<Json<'static>> {
    match common {
        CommonMessage::System(content) => Some(message_json("system", string(content.to_text()))),
        CommonMessage::User(content) => {
            Some(message_json("user", content.to_json(|part| part.written(text_json, write_media))))
        }
        CommonMessage::Assistant(answer) => write_answer(answer, ids),
        CommonMessage::Result(_) => None,
    }
}

/// The text of a result. Its files follow in another message.
fn result_text(result: &ToolResult) -> String {
    let text = joined_text(&result.parts);
    match media_of(&result.parts).next() {
        Some(_) if text.is_empty() => "(see the attached files)".to_owned(),
        _ => text,
    }
}

fn files_of(result: &ToolResult) -> Vec<Json<'static>> {
    let files: Vec<Json<'static>> = media_of(&result.parts).map(write_media).collect();
    if files.is_empty() {
        return files;
    }
    let title = text_json(&format!("Files that the result of {} holds:", result.name));
    std::iter::once(title).chain(files).collect()
}

fn take_files(files: &mut Vec<Json<'static>>) -> Option<Json<'static>> {
    let files = std::mem::take(files);
    (!files.is_empty()).then(|| message_json("user", Json::Array(files)))
}

fn write_media(media: &Media) -> Json<'static> {
    match (media.kind, &media.source, media.url()) {
        ("image", _, Some(url)) => {
            object([("type", string("image_url")), ("image_url", object([("url", string(url))]))])
        }
        ("audio", Source::Data(data), _) => {
            let format = media.mime_type().trim_start_matches("audio/").to_owned();
            let audio = object([("data", string(data.as_str())), ("format", string(format))]);
            object([("type", string("input_audio")), ("input_audio", audio)])
        }
        (_, Source::Id(id), _) => {
            object([("type", string("file")), ("file", object([("file_id", string(id.as_str()))]))])
        }
        (_, Source::Data(_), Some(url)) => {
            let name = media.name.as_deref().unwrap_or("file");
            let file = object([("filename", string(name)), ("file_data", string(url))]);
            object([("type", string("file")), ("file", file)])
        }
        _ => text_json(&media.shown()),
    }
}

fn write_answer(answer: &Answer, ids: &Ids) -> Option<Json<'static>> {
    let shown = |part: &Part| match part {
        // An empty answer is refused.
        Part::Text { text, .. } => (!text.is_empty()).then(|| text.clone()),
        Part::Media(media) => Some(media.shown()),
        Part::Thinking { .. } | Part::Call { .. } => None,
    };
    let texts: Vec<String> = answer.parts.iter().filter_map(shown).collect();
    let calls: Vec<Json<'static>> = answer.parts.iter().filter_map(|part| write_call(part, ids)).collect();
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if texts.is_empty() { Json::Null } else { string(texts.join("\n")) };
    let message = message_json("assistant", content);
    Some(with(message, "tool_calls", (!calls.is_empty()).then_some(Json::Array(calls))))
}

fn write_call(part: &Part, ids: &Ids) -> Option<Json<'static>> {
    let Part::Call { id, name, arguments, .. } = part else {
        return None;
    };
    let function = object([("name", string(name.as_str())), ("arguments", string(arguments.to_compact()))]);
    Some(object([("id", string(ids.safe(id, MAX_ID))), ("type", string("function")), ("function", function)]))
}
