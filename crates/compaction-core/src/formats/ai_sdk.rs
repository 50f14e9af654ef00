//! Messages of the AI SDK: model messages, and the UI messages of its chats.
//!
//! A UI message of the assistant holds calls and their results in steps. Each step becomes an answer and its
//! results. Only model messages are written.

use super::node::{Node, arguments_object, message_json, object, string, text_json, with};
use super::parts::{
    Answer, CommonMessage, Content, Media, Part, Source, ToolResult, as_text, joined_text, media_of, text,
};
use super::parts::{Calls, Ids};
use super::{Format, FormatError};
use crate::json::Json;

const ROLES: &str = "`system`, `user`, `assistant` or `tool`";
const PARTS: &str = "a part of a model message: `text`, `image`, `file`, `reasoning`, `reasoning-file`, `tool-call`, \
                     `tool-result`, `tool-approval-request`, `tool-approval-response` or `custom`";
const UI_PARTS: &str = "a part of a UI message: `text`, `reasoning`, `file`, `tool-NAME`, `dynamic-tool`, \
                        `source-url`, `source-document`, `step-start` or `data-NAME`";
const OUTPUTS: &str = "`text`, `json`, `error-text`, `error-json`, `execution-denied` or `content`";
const OUTPUT_PARTS: &str = "`text`, `media`, `file-data`, `file-url`, `file-id`, `image-data`, `image-url`, \
                            `image-file-id`, `file-reference`, `image-file-reference` or `custom`";
/// Maximum characters of a call id: the lowest limit of the providers.
const MAX_ID: usize = 64;

pub(super) fn read(node: &Node<'_>, calls: &mut Calls) -> Result<Vec<CommonMessage>, FormatError> {
    if node.get("parts").is_some() {
        return read_ui(node);
    }
    let role = node.need_text("role")?;
    let content = node.need("content", "a string or a list of parts")?;
    match role {
        "system" => Ok(vec![CommonMessage::System(Content::Text(content.as_text()?.to_owned()))]),
        "user" => Ok(vec![CommonMessage::User(Content::read(&content, part)?)]),
        "assistant" => Ok(vec![answer(Content::read(&content, part)?.into_parts())]),
        "tool" if content.json.as_str().is_some() => Err(content.error("a list of parts")),
        "tool" => read_tool(&content.items()?, calls),
        _ => Err(node.unknown("role", ROLES)),
    }
}

fn answer(parts: Vec<Part>) -> CommonMessage {
    CommonMessage::Assistant(Answer { parts, origin: Some(Format::AiSdk), ..Answer::default() })
}

/// The results, then the decisions of the person. Results must directly follow their calls.
fn read_tool(items: &[Node<'_>], calls: &mut Calls) -> Result<Vec<CommonMessage>, FormatError> {
    let (mut common, mut words) = (Vec::new(), Vec::new());
    for item in items {
        match item.need_text("type")? {
            "tool-result" => common.push(CommonMessage::Result(result(item, calls)?)),
            _ => words.push(part(item)?),
        }
    }
    if !words.is_empty() || common.is_empty() {
        common.push(CommonMessage::User(Content::Parts(words)));
    }
    Ok(common)
}

fn result(node: &Node<'_>, calls: &mut Calls) -> Result<ToolResult, FormatError> {
    let id = node.need_text("toolCallId")?;
    let name = match node.text("toolName")? {
        Some(name) => name.to_owned(),
        None => calls.name_of(id).unwrap_or("unknown").to_owned(),
    };
    let (parts, is_error) = match node.get("output") {
        Some(output) => output_parts(&output)?,
        // Version 4 has only the value.
        None => {
            let value = node.value("result");
            (vec![text(value_text(&value))], node.is_true("isError"))
        }
    };
    Ok(ToolResult { id: id.to_owned(), name, parts, is_error })
}

fn value_text(value: &Json<'_>) -> String {
    value.as_str().map_or_else(|| value.to_compact(), str::to_owned)
}

fn output_parts(node: &Node<'_>) -> Result<(Vec<Part>, bool), FormatError> {
    let kind = node.need_text("type")?;
    let value = || node.value("value");
    match kind {
        "text" | "json" => Ok((vec![text(value_text(&value()))], false)),
        "error-text" | "error-json" => Ok((vec![text(value_text(&value()))], true)),
        "execution-denied" => {
            let reason = node.text("reason")?.unwrap_or("The tool was not allowed to run.");
            Ok((vec![text(reason)], true))
        }
        "content" => Ok((node.list("value")?.iter().map(output_part).collect::<Result<_, _>>()?, false)),
        _ => Err(node.unknown("type", OUTPUTS)),
    }
}

fn output_part(node: &Node<'_>) -> Result<Part, FormatError> {
    let kind = node.need_text("type")?;
    let (mime, name) = (node.text("mediaType")?, node.text("filename")?);
    let media = match kind {
        "text" => return Ok(text(node.need_text("text")?)),
        "media" | "file-data" => Media::new(mime, name, Source::Data(node.need_text("data")?.to_owned())),
        "image-data" => Media::image(mime, Source::Data(node.need_text("data")?.to_owned())),
        "file-url" => Media::at(node.need_text("url")?, mime, name),
        "image-url" => Media::image_at(node.need_text("url")?),
        "file-id" | "image-file-id" | "file-reference" | "image-file-reference" => {
            let id = node.either(["fileId", "providerReference"]).ok_or_else(|| node.error("a file with its id"))?;
            let source = Source::Id(value_text(id.json));
            if kind.starts_with("image") { Media::image(None, source) } else { Media::new(None, None, source) }
        }
        "custom" => return Ok(as_text("custom", node.json)),
        _ => return Err(node.unknown("type", OUTPUT_PARTS)),
    };
    Ok(Part::Media(media))
}

fn part(node: &Node<'_>) -> Result<Part, FormatError> {
    match node.need_text("type")? {
        "text" => Ok(text(node.need_text("text")?)),
        "image" => {
            let mime = node.either(["mediaType", "mimeType"]).map(|mime| mime.as_text()).transpose()?;
            data(&node.need("image", "an address or base64")?, mime, None)
                .map(|media| Part::Media(Media { kind: "image", ..media }))
        }
        "file" | "reasoning-file" => {
            let mime = node.either(["mediaType", "mimeType"]).map(|mime| mime.as_text()).transpose()?;
            data(&node.need("data", "an address or base64")?, mime, node.text("filename")?).map(Part::Media)
        }
        "reasoning" => Ok(Part::Thinking {
            text: node.need_text("text")?.to_owned(),
            signature: signature(node)?,
            is_redacted: false,
        }),
        "redacted-reasoning" => {
            let signature = Some(node.need_text("data")?.to_owned());
            Ok(Part::Thinking { text: String::new(), signature, is_redacted: true })
        }
        // The provider ran it, so the result is in the same message.
        "tool-call" if node.is_true("providerExecuted") => {
            let input = node.either(["input", "args"]).map_or(Json::Null, |input| input.json.clone());
            Ok(as_text(node.need_text("toolName")?, &input))
        }
        "tool-call" => {
            let input = node.either(["input", "args"]).map_or(Json::Null, |input| input.json.clone());
            Ok(Part::Call {
                id: node.need_text("toolCallId")?.to_owned(),
                name: node.need_text("toolName")?.to_owned(),
                arguments: arguments_object(input),
                signature: None,
            })
        }
        "tool-result" => {
            let result = result(node, &mut Calls::default())?;
            Ok(text(format!("[result of {}] {}", result.name, joined_text(&result.parts))))
        }
        "tool-approval-request" => Ok(text("[the tool call waits for approval]")),
        "tool-approval-response" => {
            let decision = if node.is_true("approved") { "approved" } else { "denied" };
            let reason = node.text("reason")?.map(|reason| format!(": {reason}")).unwrap_or_default();
            Ok(text(format!("[tool call {decision}{reason}]")))
        }
        "custom" => Ok(as_text("custom", node.json)),
        _ => Err(node.unknown("type", PARTS)),
    }
}

/// The signature of reasoning, if the provider gives one.
fn signature(node: &Node<'_>) -> Result<Option<String>, FormatError> {
    let Some(options) = node.either(["providerOptions", "providerMetadata"]) else {
        return Ok(None);
    };
    let signature = options.get("anthropic").and_then(|anthropic| anthropic.get("signature"));
    Ok(signature.map(|signature| signature.as_text()).transpose()?.map(str::to_owned))
}

/// Data as base64, a URL, or an id of the provider.
fn data(node: &Node<'_>, mime: Option<&str>, name: Option<&str>) -> Result<Media, FormatError> {
    match node.json {
        Json::String(text) if is_address(text) => Ok(Media::at(text, mime, name)),
        Json::String(text) => Ok(Media::new(mime, name, Source::Data(text.clone().into_owned()))),
        Json::Object(_) => match (node.text("data")?, node.text("url")?) {
            (Some(data), _) => Ok(Media::new(mime, name, Source::Data(data.to_owned()))),
            (None, Some(url)) => Ok(Media::at(url, mime, name)),
            (None, None) => Ok(Media::new(mime, name, Source::Id(node.json.to_compact()))),
        },
        _ => Err(node.error("an address or base64; bytes cannot be sent as JSON")),
    }
}

fn is_address(text: &str) -> bool {
    ["data:", "http:", "https:", "gs:", "file:"].iter().any(|scheme| text.starts_with(scheme))
}

/// Reads a UI message. The assistant's message contains the results.
fn read_ui(node: &Node<'_>) -> Result<Vec<CommonMessage>, FormatError> {
    let items = node.list("parts")?;
    match node.need_text("role")? {
        "assistant" => {
            let mut common = Vec::new();
            for step in items.split(|part| part.json.get("type").and_then(Json::as_str) == Some("step-start")) {
                common.extend(ui_step(step)?);
            }
            let is_empty = common.is_empty();
            common.extend(is_empty.then(|| answer(Vec::new())));
            Ok(common)
        }
        role @ ("user" | "system") => {
            let parts = items.iter().map(ui_part).collect::<Result<Vec<Vec<Part>>, _>>()?.concat();
            let content = Content::Parts(parts);
            Ok(vec![if role == "user" { CommonMessage::User(content) } else { CommonMessage::System(content) }])
        }
        _ => Err(node.unknown("role", "`system`, `user` or `assistant`")),
    }
}

fn ui_step(items: &[Node<'_>]) -> Result<Vec<CommonMessage>, FormatError> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let (mut parts, mut results) = (Vec::new(), Vec::new());
    for item in items {
        parts.extend(ui_part(item)?);
        if let Some(name) = ui_tool(item)?.filter(|_| !item.is_true("providerExecuted")) {
            results.extend(ui_result(item, name)?);
        }
    }
    Ok(std::iter::once(answer(parts)).chain(results.into_iter().map(CommonMessage::Result)).collect())
}

/// The tool that a part calls.
fn ui_tool<'a>(node: &Node<'a>) -> Result<Option<&'a str>, FormatError> {
    match node.need_text("type")? {
        "dynamic-tool" => node.need_text("toolName").map(Some),
        kind => Ok(kind.strip_prefix("tool-")),
    }
}

fn ui_result(node: &Node<'_>, name: &str) -> Result<Option<ToolResult>, FormatError> {
    let (shown, is_error) = match node.need_text("state")? {
        "output-available" => (value_text(&node.value("output")), false),
        "output-error" => (node.text("errorText")?.unwrap_or_default().to_owned(), true),
        "output-denied" => {
            let approval = node.get("approval");
            let reason = approval.map(|approval| approval.text("reason")).transpose()?.flatten();
            (reason.unwrap_or("The tool was not allowed to run.").to_owned(), true)
        }
        "input-streaming" | "input-available" | "approval-requested" | "approval-responded" => return Ok(None),
        _ => return Err(node.unknown("state", "a state of a tool part, such as `output-available`")),
    };
    let id = node.need_text("toolCallId")?.to_owned();
    Ok(Some(ToolResult { id, name: name.to_owned(), parts: vec![text(shown)], is_error }))
}

fn ui_part(node: &Node<'_>) -> Result<Vec<Part>, FormatError> {
    let kind = node.need_text("type")?;
    if let Some(name) = ui_tool(node)? {
        let input = node.either(["input", "rawInput"]).map_or(Json::Null, |input| input.json.clone());
        if node.is_true("providerExecuted") {
            let output = node.get("output").map(|output| as_text(&format!("result of {name}"), output.json));
            return Ok(std::iter::once(as_text(name, &input)).chain(output).collect());
        }
        let (id, name) = (node.need_text("toolCallId")?.to_owned(), name.to_owned());
        return Ok(vec![Part::Call { id, name, arguments: arguments_object(input), signature: None }]);
    }
    let part = match kind {
        "text" => text(node.need_text("text")?),
        "reasoning" => {
            let text = node.need_text("text")?.to_owned();
            Part::Thinking { text, signature: signature(node)?, is_redacted: false }
        }
        "file" | "reasoning-file" => {
            Part::Media(Media::at(node.need_text("url")?, node.text("mediaType")?, node.text("filename")?))
        }
        "source-url" => text(format!("[source {}]", node.need_text("url")?)),
        "source-document" => text(format!("[source {}]", node.text("title")?.unwrap_or_default())),
        "step-start" => return Ok(Vec::new()),
        "custom" => as_text("custom", node.json),
        _ if kind.starts_with("data-") => as_text(kind, &node.value("data")),
        _ => return Err(node.unknown("type", UI_PARTS)),
    };
    Ok(vec![part])
}

pub(super) fn write(common: &[CommonMessage], ids: &Ids) -> Vec<Json<'static>> {
    let mut messages = Vec::new();
    let mut results: Vec<Json<'static>> = Vec::new();
    for common in common {
        if let CommonMessage::Result(result) = common {
            results.push(write_result(result, ids));
            continue;
        }
        messages.extend(take_results(&mut results));
        match common {
            CommonMessage::System(content) => messages.push(message_json("system", string(content.to_text()))),
            CommonMessage::User(content) => messages.push(message_json("user", content.to_json(write_part))),
            CommonMessage::Assistant(answer) => {
                let parts: Vec<Json<'static>> =
                    answer.parts.iter().filter_map(|part| write_answer(part, answer, ids)).collect();
                if !parts.is_empty() {
                    messages.push(message_json("assistant", Json::Array(parts)));
                }
            }
            CommonMessage::Result(_) => {}
        }
    }
    messages.extend(take_results(&mut results));
    messages
}

fn take_results(results: &mut Vec<Json<'static>>) -> Option<Json<'static>> {
    let results = std::mem::take(results);
    (!results.is_empty()).then(|| message_json("tool", Json::Array(results)))
}

fn write_result(result: &ToolResult, ids: &Ids) -> Json<'static> {
    let kind = if result.is_error { "error-text" } else { "text" };
    let output = match media_of(&result.parts).next() {
        Some(_) => {
            let parts = result.parts.iter().filter_map(write_output_part).collect();
            object([("type", string("content")), ("value", Json::Array(parts))])
        }
        None => object([("type", string(kind)), ("value", string(joined_text(&result.parts)))]),
    };
    object([
        ("type", string("tool-result")),
        ("toolCallId", string(ids.safe(&result.id, MAX_ID))),
        ("toolName", string(result.name.as_str())),
        ("output", output),
    ])
}

fn write_output_part(part: &Part) -> Option<Json<'static>> {
    match part {
        Part::Media(media @ Media { source: Source::Data(data), .. }) => {
            let mime = string(media.mime_type());
            Some(object([("type", string("media")), ("data", string(data.as_str())), ("mediaType", mime)]))
        }
        Part::Media(media) => Some(text_json(&media.shown())),
        part => write_part(part),
    }
}

fn write_part(part: &Part) -> Option<Json<'static>> {
    part.written(text_json, write_media)
}

fn write_media(media: &Media) -> Json<'static> {
    let value = match &media.source {
        Source::Data(data) => data,
        Source::Url(url) => url,
        Source::Id(_) => return text_json(&media.shown()),
    };
    let (kind, member) = if media.kind == "image" { ("image", "image") } else { ("file", "data") };
    let part = object([("type", string(kind)), (member, string(value.as_str()))]);
    let mime = (media.kind != "image" || media.mime_type.is_some()).then(|| string(media.mime_type()));
    let part = with(part, "mediaType", mime);
    with(part, "filename", media.name.as_ref().filter(|_| kind == "file").map(string))
}

fn write_answer(part: &Part, answer: &Answer, ids: &Ids) -> Option<Json<'static>> {
    match part {
        Part::Text { text, .. } if text.is_empty() => None,
        Part::Media(media @ Media { kind: "image", source: Source::Data(data), .. }) => {
            let mime = string(media.mime_type());
            Some(object([("type", string("file")), ("data", string(data.as_str())), ("mediaType", mime)]))
        }
        Part::Text { .. } | Part::Media(_) => write_part(part),
        Part::Thinking { text, signature, .. } => {
            let is_anthropic = matches!(answer.origin, Some(Format::Anthropic | Format::AiSdk));
            let signature = signature
                .as_ref()
                .filter(|_| is_anthropic)
                .map(|signature| object([("anthropic", object([("signature", string(signature.as_str()))]))]));
            let is_empty = text.is_empty() && signature.is_none();
            let part = object([("type", string("reasoning")), ("text", string(text.as_str()))]);
            (!is_empty).then(|| with(part, "providerOptions", signature))
        }
        Part::Call { id, name, arguments, .. } => Some(object([
            ("type", string("tool-call")),
            ("toolCallId", string(ids.safe(id, MAX_ID))),
            ("toolName", string(name.as_str())),
            ("input", arguments.clone()),
        ])),
    }
}
