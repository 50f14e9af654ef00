//! Messages of the AI SDK: model messages, and the UI messages of its chats.
//!
//! A UI message of the assistant contains calls and their results in steps. Each step becomes an answer and its
//! results. Only model messages are written.

use super::node::{Node, Reading, arguments_object, message_json, object, string, text_json, with};
use super::parts::{
    Answer, CommonMessage, Content, Media, Part, Source, ToolResult, as_text, joined_text, media_of, text,
};
use super::parts::{Calls, Ids, cited, sentences};
use super::{Format, FormatError};
use crate::json::Json;

const ROLES: &str = "`system`, `user`, `assistant` or `tool`";
const PARTS: &str = "a part of a model message: `text`, `image`, `file`, `reasoning`, `reasoning-file`, `tool-call`, \
                     `tool-result`, `tool-approval-request`, `tool-approval-response` or `custom`";
const UI_PARTS: &str = "a part of a UI message: `text`, `reasoning`, `file`, `tool-NAME`, `dynamic-tool`, \
                        `source-url`, `source-document`, `step-start` or `data-NAME`";
const OUTPUTS: &str = "`text`, `json`, `error-text`, `error-json`, `execution-denied` or `content`";
const OUTPUT_PARTS: &str = "`text`, `file`, `media`, `file-data`, `file-url`, `file-id`, `image-data`, `image-url`, \
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
        "assistant" => Ok(vec![answer(answer_parts(&content)?)]),
        "tool" if content.json.as_str().is_some() => Err(content.error("a list of parts")),
        "tool" => read_tool(&content.items()?, calls),
        _ => Err(node.unknown("role", ROLES)),
    }
}

fn answer(parts: Vec<Part>) -> CommonMessage {
    CommonMessage::Assistant(Answer { parts, origin: Some(Format::AiSdk), ..Answer::default() })
}

/// The parts of an answer, each with the sources that it cites.
fn answer_parts(content: &Node<'_>) -> Result<Vec<Part>, FormatError> {
    if let Some(plain) = content.json.as_str() {
        return Ok(vec![text(plain)]);
    }
    let mut parts = Vec::new();
    for item in content.items()? {
        match item.need_text("type")? {
            "custom" => parts.extend(custom(&item)),
            "tool-result" => parts.extend(provider_result(&item)?),
            _ => parts.push(part(&item)?),
        }
        parts.extend(sources(&item)?);
    }
    Ok(parts)
}

/// A part of a provider's own kind. Most have only ids and counts for that provider.
fn custom(node: &Node<'_>) -> Option<Part> {
    match node.reading {
        Reading::Current => {
            let kind = node.json.get("kind").and_then(Json::as_str).unwrap_or("custom");
            sentences(kind, node.json)
        }
        Reading::Earlier => Some(as_text("custom", node.json)),
    }
}

/// The result of a tool that the provider ran, as text, and its files.
fn provider_result(node: &Node<'_>) -> Result<Vec<Part>, FormatError> {
    let result = result(node, &mut Calls::default())?;
    let is_current = node.reading == Reading::Current;
    let kind = if result.is_error && is_current { "error" } else { "result" };
    let shown = text(format!("[{kind} of {}] {}", result.name, joined_text(&result.parts)));
    let files = media_of(&result.parts).filter(|_| is_current).cloned().map(Part::Media);
    Ok(std::iter::once(shown).chain(files).collect())
}

/// The sources that a text cites. Providers keep them in their own options; chats also have them beside the text.
fn sources(node: &Node<'_>) -> Result<Vec<Part>, FormatError> {
    let shown = node.json.get("text").and_then(Json::as_str).unwrap_or_default();
    let mut citations = Vec::new();
    if let Some(options) = node.either(["providerOptions", "providerMetadata"]) {
        for (provider, member) in [("anthropic", "citations"), ("openai", "annotations")] {
            let found = options.get(provider).and_then(|provider| provider.get(member));
            let found = found.filter(|found| matches!(found.json, Json::Array(_)));
            citations.extend(found.map(|found| found.items()).transpose()?.unwrap_or_default());
        }
    }
    Ok(cited(&citations, shown))
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
        "file" => return data(&node.need("data", "an address or base64")?, mime, name),
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
            data(&node.need("image", "an address or base64")?, mime, None).map(|part| match part {
                Part::Media(media) => Part::Media(Media { kind: "image", ..media }),
                other => other,
            })
        }
        "file" | "reasoning-file" => {
            let mime = node.either(["mediaType", "mimeType"]).map(|mime| mime.as_text()).transpose()?;
            data(&node.need("data", "an address or base64")?, mime, node.text("filename")?)
        }
        "reasoning" => reasoning(node),
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

/// Reasoning with its signature, or with the encrypted data of redacted reasoning, if the provider gives one.
fn reasoning(node: &Node<'_>) -> Result<Part, FormatError> {
    let text = node.need_text("text")?.to_owned();
    let anthropic = node.either(["providerOptions", "providerMetadata"]).and_then(|options| options.get("anthropic"));
    let option = |name: &str| anthropic.as_ref().and_then(|anthropic| anthropic.get(name));
    let redacted = option("redactedData");
    let is_redacted = redacted.is_some();
    let signature = redacted.or_else(|| option("signature"));
    let signature = signature.map(|signature| signature.as_text().map(str::to_owned)).transpose()?;
    Ok(Part::Thinking { text, signature, is_redacted })
}

/// Data as base64, a URL, an id of the provider, or the text of a document.
fn data(node: &Node<'_>, mime: Option<&str>, name: Option<&str>) -> Result<Part, FormatError> {
    let media = match node.json {
        Json::String(text) if is_address(text) => Media::at(text, mime, name),
        Json::String(text) => Media::new(mime, name, Source::Data(text.clone().into_owned())),
        Json::Object(_) => match (node.text("data")?, node.text("url")?, node.text("text")?) {
            (Some(data), ..) => Media::new(mime, name, Source::Data(data.to_owned())),
            (None, Some(url), _) => Media::at(url, mime, name),
            (None, None, Some(document)) if node.reading == Reading::Current => {
                let title = name.map(|name| format!("{name}\n\n")).unwrap_or_default();
                return Ok(text(format!("{title}{document}")));
            }
            (None, None, _) => {
                let id = node.json.get("reference").filter(|_| node.reading == Reading::Current);
                Media::new(mime, name, Source::Id(id.unwrap_or(node.json).to_compact()))
            }
        },
        _ => return Err(node.error("an address or base64; bytes cannot be sent as JSON")),
    };
    // The first half of a type is enough here; no other interface knows it.
    let is_whole = |mime: &String| mime.contains('/') || node.reading == Reading::Earlier;
    let mime_type = media.mime_type.clone().filter(is_whole);
    Ok(Part::Media(Media { mime_type, ..media }))
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
            let error = node.text("errorText")?.filter(|_| node.reading == Reading::Current);
            let error = error.map(|error| text(format!("[error of {name}] {error}")));
            return Ok(std::iter::once(as_text(name, &input)).chain(output).chain(error).collect());
        }
        let (id, name) = (node.need_text("toolCallId")?.to_owned(), name.to_owned());
        return Ok(vec![Part::Call { id, name, arguments: arguments_object(input), signature: None }]);
    }
    let part = match kind {
        "text" => {
            let mut parts = vec![text(node.need_text("text")?)];
            parts.extend(sources(node)?);
            return Ok(parts);
        }
        "reasoning" => reasoning(node)?,
        "file" | "reasoning-file" => {
            Part::Media(Media::at(node.need_text("url")?, node.text("mediaType")?, node.text("filename")?))
        }
        "source-url" => text(match node.text("title")?.filter(|_| node.reading == Reading::Current) {
            Some(title) => format!("[source {title} ({})]", node.need_text("url")?),
            None => format!("[source {}]", node.need_text("url")?),
        }),
        "source-document" => text(format!("[source {}]", node.text("title")?.unwrap_or_default())),
        "step-start" => return Ok(Vec::new()),
        "custom" => return Ok(custom(node).into_iter().collect()),
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
        Part::Thinking { text, signature, is_redacted } => {
            let member = if *is_redacted { "redactedData" } else { "signature" };
            let is_anthropic = matches!(answer.origin, Some(Format::Anthropic | Format::AiSdk));
            let signature = signature
                .as_ref()
                .filter(|_| is_anthropic)
                .map(|signature| object([("anthropic", object([(member, string(signature.as_str()))]))]));
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
