//! Items of OpenAI's `responses`.
//!
//! Consecutive items of a model become one answer, so that no cut separates a call from the reasoning that the
//! interface requires before it. Calls that the client runs have results. Calls that the provider runs become
//! text.

use super::node::{Node, arguments_object, arguments_of_text, message_json, object, string};
use super::parts::{Answer, CommonMessage, Content, Media, Part, Source, ToolResult, as_text, joined_text, text};
use super::parts::{Calls, Ids, cited, essential, essential_of_item};
use super::{Format, FormatError};
use crate::json::Json;

const ROLES: &str = "`user`, `assistant`, `system` or `developer`";
const ITEMS: &str = "an item of a `responses` request: `message`, `function_call`, `function_call_output`, \
                     `reasoning`, a call of another tool or its output, `configuration_update`, `additional_tools` \
                     or `compaction_trigger`";
const PARTS: &str = "`input_text`, `output_text`, `input_image`, `input_file`, `input_audio` or `refusal`";
/// Maximum characters of a call id.
const MAX_ID: usize = 64;

/// Types of calls that the client runs, with their tool and the member with its arguments.
const CALLS: [(&str, &str, &str); 5] = [
    ("custom_tool_call", "", "input"),
    ("local_shell_call", "local_shell", "action"),
    ("shell_call", "shell", "action"),
    ("apply_patch_call", "apply_patch", "operation"),
    ("computer_call", "computer", "action"),
];

/// Types of their outputs.
const OUTPUTS: [&str; 6] = [
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "computer_call_output",
];

/// Types of items of an answer that become text.
const SHOWN_AS_TEXT: [&str; 12] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "tool_search_call",
    "tool_search_output",
    "program",
    "program_output",
    "compaction",
];

/// An item that was read.
enum Item {
    /// A part of a model's answer.
    OfAnswer(Vec<Part>),
    /// Anything else.
    Whole(CommonMessage),
}

pub(super) fn read(nodes: &[Node<'_>], calls: &mut Calls) -> Result<(usize, Vec<CommonMessage>), FormatError> {
    let mut parts = Vec::new();
    let mut count = 0;
    // Items after the answer are read later, so that errors come in order.
    while let Some(node) = nodes.get(count).filter(|node| count == 0 || is_of_answer(node)) {
        match item(node, calls)? {
            Item::Whole(common) => return Ok((1, vec![common])),
            Item::OfAnswer(more) => parts.extend(more),
        }
        count += 1;
    }
    let answer = Answer { parts, origin: Some(Format::OpenAiResponses), ..Answer::default() };
    Ok((count, vec![CommonMessage::Assistant(answer)]))
}

fn kind_of<'a>(node: &Node<'a>) -> &'a str {
    let kind = node.json.get("type").and_then(Json::as_str);
    kind.unwrap_or(if node.get("role").is_some() { "message" } else { "" })
}

fn is_of_answer(node: &Node<'_>) -> bool {
    match kind_of(node) {
        "message" => node.json.get("role").and_then(Json::as_str) == Some("assistant"),
        "reasoning" | "function_call" | "item_reference" => true,
        kind => SHOWN_AS_TEXT.contains(&kind) || CALLS.iter().any(|call| call.0 == kind),
    }
}

fn item(node: &Node<'_>, calls: &mut Calls) -> Result<Item, FormatError> {
    let kind = kind_of(node);
    if let Some((_, tool, member)) = CALLS.iter().find(|call| call.0 == kind) {
        return other_call(node, tool, member).map(|part| Item::OfAnswer(vec![part]));
    }
    if OUTPUTS.contains(&kind) {
        return output(node, calls).map(|result| Item::Whole(CommonMessage::Result(result)));
    }
    if SHOWN_AS_TEXT.contains(&kind) {
        return Ok(Item::OfAnswer(vec![as_text(kind, &essential_of_item(node.json))]));
    }
    match kind {
        "message" => message(node),
        "reasoning" => reasoning(node).map(|part| Item::OfAnswer(vec![part])),
        "function_call" => {
            let name = node.need_text("name")?.to_owned();
            let arguments = arguments_of_text(node.need_text("arguments")?);
            let id = node.need_text("call_id")?.to_owned();
            Ok(Item::OfAnswer(vec![Part::Call { id, name, arguments, signature: None }]))
        }
        "item_reference" => Ok(Item::OfAnswer(vec![text(format!("[item {}]", node.need_text("id")?))])),
        // They apply until the next one, like instructions.
        "configuration_update" | "additional_tools" => {
            let update = Content::Parts(vec![as_text(kind, &essential(node.json))]);
            Ok(Item::Whole(CommonMessage::System(update)))
        }
        "compaction_trigger" => {
            Ok(Item::Whole(CommonMessage::User(Content::Parts(vec![text("[compaction_trigger]")]))))
        }
        "mcp_approval_response" => {
            let decision = if node.is_true("approve") { "approved" } else { "denied" };
            Ok(Item::Whole(CommonMessage::User(Content::Parts(vec![text(format!("[tool call {decision}]"))]))))
        }
        _ => Err(node.unknown("type", ITEMS)),
    }
}

fn message(node: &Node<'_>) -> Result<Item, FormatError> {
    let role = node.need_text("role")?;
    let content = node.need("content", "a string or a list of parts")?;
    let content = Content::read(&content, part)?;
    match role {
        "user" => Ok(Item::Whole(CommonMessage::User(content))),
        "system" | "developer" => Ok(Item::Whole(CommonMessage::System(content))),
        "assistant" => answer_parts(node, content).map(Item::OfAnswer),
        _ => Err(node.unknown("role", ROLES)),
    }
}

/// The parts of an answer, each with the sources that it cites.
fn answer_parts(node: &Node<'_>, content: Content) -> Result<Vec<Part>, FormatError> {
    let Content::Parts(parts) = content else {
        return Ok(content.into_parts());
    };
    let mut with_sources = Vec::with_capacity(parts.len());
    for (part, node) in parts.into_iter().zip(node.list("content")?) {
        with_sources.push(part);
        let annotations = node.get("annotations").filter(|annotations| matches!(annotations.json, Json::Array(_)));
        if let Some(annotations) = annotations {
            let shown = node.json.get("text").and_then(Json::as_str).unwrap_or_default();
            with_sources.extend(cited(&annotations.items()?, shown));
        }
    }
    Ok(with_sources)
}

fn part(node: &Node<'_>) -> Result<Part, FormatError> {
    match node.need_text("type")? {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => Ok(text(node.need_text("text")?)),
        "refusal" => Ok(text(node.need_text("refusal")?)),
        "input_image" | "computer_screenshot" => {
            let media = match (node.text("image_url")?, node.text("file_id")?) {
                (Some(url), _) => Media::image_at(url),
                (None, Some(id)) => Media::image(None, Source::Id(id.to_owned())),
                (None, None) => return Err(node.error("an image with `image_url` or `file_id`")),
            };
            Ok(Part::Media(media))
        }
        "input_file" => {
            let name = node.text("filename")?;
            let media = match (node.text("file_data")?, node.text("file_url")?, node.text("file_id")?) {
                (Some(data), ..) if !data.starts_with("data:") => Media::new(None, name, Source::Data(data.to_owned())),
                (Some(url), ..) | (None, Some(url), _) => Media::at(url, None, name),
                (None, None, Some(id)) => Media::new(None, name, Source::Id(id.to_owned())),
                (None, None, None) => return Err(node.error("a file with `file_data`, `file_url` or `file_id`")),
            };
            Ok(Part::Media(media))
        }
        "input_audio" => Media::input_audio(node).map(Part::Media),
        _ => Err(node.unknown("type", PARTS)),
    }
}

fn reasoning(node: &Node<'_>) -> Result<Part, FormatError> {
    let mut parts = Vec::new();
    for member in ["summary", "content"] {
        for item in node.list(member)? {
            parts.push(part(&item)?);
        }
    }
    let signature = node.text("encrypted_content")?.map(str::to_owned);
    let text = joined_text(&parts);
    Ok(Part::Thinking { is_redacted: text.is_empty() && signature.is_some(), text, signature })
}

fn other_call(node: &Node<'_>, tool: &str, member: &str) -> Result<Part, FormatError> {
    let name = if tool.is_empty() { node.need_text("name")? } else { tool };
    let id = node.text("call_id")?.map_or_else(|| node.need_text("id"), Ok)?;
    let arguments = match node.get(member) {
        Some(value) if value.json.as_object().is_some() => value.json.clone(),
        Some(value) => object([("input", value.json.clone())]),
        None => arguments_object(essential_of_item(node.json)),
    };
    Ok(Part::Call { id: id.to_owned(), name: name.to_owned(), arguments, signature: None })
}

fn output(node: &Node<'_>, calls: &mut Calls) -> Result<ToolResult, FormatError> {
    let id = node.text("call_id")?.map_or_else(|| node.need_text("id"), Ok)?;
    let parts = match node.get("output") {
        None => Vec::new(),
        Some(output) => match output.json {
            Json::String(plain) => vec![text(plain.clone().into_owned())],
            Json::Array(_) if is_of_shell(&output) => vec![text(shell_text(&output)?)],
            Json::Array(_) => output.items()?.iter().map(part).collect::<Result<_, _>>()?,
            _ => vec![part(&output)?],
        },
    };
    let is_error = matches!(node.text("status")?, Some("failed"));
    let name = calls.name_of(id).unwrap_or("unknown").to_owned();
    Ok(ToolResult { id: id.to_owned(), name, parts, is_error })
}

fn is_of_shell(output: &Node<'_>) -> bool {
    output.items().is_ok_and(|items| items.iter().any(|item| item.get("outcome").is_some()))
}

fn shell_text(output: &Node<'_>) -> Result<String, FormatError> {
    let mut texts = Vec::new();
    for run in output.items()? {
        texts.extend(run.text("stdout")?);
        texts.extend(run.text("stderr")?);
    }
    texts.retain(|text| !text.is_empty());
    Ok(texts.join("\n"))
}

pub(super) fn write(common: &[CommonMessage], ids: &Ids) -> Vec<Json<'static>> {
    let mut items = Vec::new();
    for common in common {
        match common {
            CommonMessage::System(content) => items.push(message_json("system", string(content.to_text()))),
            CommonMessage::User(content) => items.push(message_json("user", content.to_json(write_part))),
            CommonMessage::Assistant(answer) => {
                items.extend(answer.parts.iter().filter_map(|part| write_answer(part, ids)))
            }
            CommonMessage::Result(result) => items.push(write_result(result, ids)),
        }
    }
    items
}

/// Reasoning is left out. The interface accepts it only with its own id, and then the original is written.
fn write_answer(part: &Part, ids: &Ids) -> Option<Json<'static>> {
    match part {
        Part::Text { text, .. } if text.is_empty() => None,
        Part::Text { text, .. } => Some(message_json("assistant", string(text.as_str()))),
        Part::Media(media) => Some(message_json("assistant", string(media.shown()))),
        Part::Thinking { .. } => None,
        Part::Call { id, name, arguments, .. } => Some(object([
            ("type", string("function_call")),
            ("call_id", string(ids.safe(id, MAX_ID))),
            ("name", string(name.as_str())),
            ("arguments", string(arguments.to_compact())),
        ])),
    }
}

fn write_result(result: &ToolResult, ids: &Ids) -> Json<'static> {
    object([
        ("type", string("function_call_output")),
        ("call_id", string(ids.safe(&result.id, MAX_ID))),
        ("output", result.to_json(write_part)),
    ])
}

fn write_part(part: &Part) -> Option<Json<'static>> {
    part.written(write_text, write_media)
}

fn write_text(text: &str) -> Json<'static> {
    object([("type", string("input_text")), ("text", string(text))])
}

fn write_media(media: &Media) -> Json<'static> {
    let kind = if media.kind == "image" { "input_image" } else { "input_file" };
    match (media.kind, &media.source, media.url()) {
        (_, Source::Id(id), _) => object([("type", string(kind)), ("file_id", string(id.as_str()))]),
        ("image", _, Some(url)) => object([("type", string(kind)), ("image_url", string(url))]),
        ("audio" | "video", ..) | (_, _, None) => write_text(&media.shown()),
        (_, Source::Url(url), _) => object([("type", string(kind)), ("file_url", string(url.as_str()))]),
        (_, Source::Data(_), Some(url)) => {
            let name = media.name.as_deref().unwrap_or("file");
            object([("type", string(kind)), ("filename", string(name)), ("file_data", string(url))])
        }
    }
}
