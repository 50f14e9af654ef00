//! `contents` of Gemini.
//!
//! Calls often have no ids. Generated ids are the same whenever the message is read. A response without an id
//! belongs to the first open call of its tool. Members may be spelled as in the Python SDK (`function_call`).

use std::collections::HashMap;

use super::node::{Node, arguments_object, object, string, with};
use super::parts::{
    Answer, CommonMessage, Content, Media, Part, Source, ToolResult, as_text, joined_text, media_of, text,
};
use super::parts::{Calls, Ids, generated_id};
use super::{Format, FormatError};
use crate::json::Json;

const ROLES: &str = "`user`, `model`, `function` or `system`";
const PARTS: &str = "a part with `text`, `inlineData`, `fileData`, `functionCall`, `functionResponse`, \
                     `executableCode`, `codeExecutionResult`, `toolCall`, `toolResponse` or `audioTranscription`";
/// Parts of tools that the provider runs, in both spellings. They become text.
const SHOWN_AS_TEXT: [[&str; 2]; 4] = [
    ["executableCode", "executable_code"],
    ["codeExecutionResult", "code_execution_result"],
    ["toolCall", "tool_call"],
    ["toolResponse", "tool_response"],
];
/// Members that contain the whole response if there are no others.
const OUTPUTS: [&str; 5] = ["output", "result", "return_value", "content", "error"];
/// Maximum characters of a call id.
const MAX_ID: usize = 64;

pub(super) fn read(node: &Node<'_>, calls: &mut Calls) -> Result<Vec<CommonMessage>, FormatError> {
    let items = node.need("parts", "a list of parts")?.items()?;
    match node.text("role")?.unwrap_or("user") {
        "model" => {
            let parts = answer_parts(&items)?;
            Ok(vec![CommonMessage::Assistant(Answer { parts, origin: Some(Format::Gemini), ..Answer::default() })])
        }
        "user" | "function" | "tool" => read_user(&items, calls),
        "system" => Ok(vec![CommonMessage::System(Content::Parts(answer_parts(&items)?))]),
        _ => Err(node.unknown("role", ROLES)),
    }
}

fn answer_parts(items: &[Node<'_>]) -> Result<Vec<Part>, FormatError> {
    let mut parts = Vec::new();
    for (earlier, item) in items.iter().enumerate() {
        parts.push(part(item, earlier)?);
    }
    Ok(parts)
}

/// The responses, and the text of the person between them.
fn read_user(items: &[Node<'_>], calls: &mut Calls) -> Result<Vec<CommonMessage>, FormatError> {
    let (mut common, mut words) = (Vec::new(), Vec::new());
    for (earlier, item) in items.iter().enumerate() {
        let Some(response) = item.either(["functionResponse", "function_response"]) else {
            words.push(part(item, earlier)?);
            continue;
        };
        if !words.is_empty() {
            common.push(CommonMessage::User(Content::Parts(std::mem::take(&mut words))));
        }
        let result = CommonMessage::Result(result(&response, calls, earlier)?);
        // The next response without an id belongs to another call.
        calls.record(&result);
        common.push(result);
    }
    if !words.is_empty() || common.is_empty() {
        common.push(CommonMessage::User(Content::Parts(words)));
    }
    Ok(common)
}

fn result(node: &Node<'_>, calls: &mut Calls, earlier: usize) -> Result<ToolResult, FormatError> {
    let name = node.need_text("name")?;
    let id = match node.text("id")? {
        Some(id) => id.to_owned(),
        None => calls.take(name).unwrap_or_else(|| generated_id(name, &Json::Null, earlier)),
    };
    let response = node.value("response");
    let (shown, is_error) = response_text(&response);
    let mut parts = vec![text(shown)];
    for item in node.list("parts")? {
        parts.push(part(&item, 0)?);
    }
    Ok(ToolResult { id, name: name.to_owned(), parts, is_error })
}

/// The text of a response, and whether it is an error.
fn response_text(response: &Json<'_>) -> (String, bool) {
    let is_error = response.get("error").is_some_and(|error| *error != Json::Null);
    if let Some([(key, value)]) = response.as_object()
        && OUTPUTS.contains(&key.as_ref())
    {
        let text = value.as_str().map_or_else(|| value.to_compact(), str::to_owned);
        return (text, is_error);
    }
    (response.to_compact(), is_error)
}

fn part(node: &Node<'_>, earlier: usize) -> Result<Part, FormatError> {
    let signature = node.either(["thoughtSignature", "thought_signature"]).map(|node| node.as_text()).transpose()?;
    let signature = signature.map(str::to_owned);
    if let Some(call) = node.either(["functionCall", "function_call"]) {
        let name = call.need_text("name")?;
        let arguments = arguments_object(call.value("args"));
        let id = call.text("id")?.map_or_else(|| generated_id(name, &arguments, earlier), str::to_owned);
        return Ok(Part::Call { id, name: name.to_owned(), arguments, signature });
    }
    if let Some(data) = node.either(["inlineData", "inline_data"]) {
        let source = Source::Data(data.need_text("data")?.to_owned());
        return media(&data, source);
    }
    if let Some(file) = node.either(["fileData", "file_data"]) {
        let uri = file.either(["fileUri", "file_uri"]).ok_or_else(|| file.error("a file with `fileUri`"))?;
        let uri = uri.as_text()?.to_owned();
        return media(&file, Source::Url(uri));
    }
    for [name, other] in SHOWN_AS_TEXT {
        if let Some(value) = node.either([name, other]) {
            return Ok(as_text(name, value.json));
        }
    }
    if let Some(transcription) = node.either(["audioTranscription", "audio_transcription"]) {
        return Ok(text(transcription.text("text")?.unwrap_or_default()));
    }
    match node.text("text")? {
        Some(text) if node.is_true("thought") => {
            Ok(Part::Thinking { text: text.to_owned(), signature, is_redacted: false })
        }
        Some(text) => Ok(Part::Text { text: text.to_owned(), signature }),
        // A signature may be a separate part.
        None if signature.is_some() => Ok(Part::Text { text: String::new(), signature }),
        None => Err(node.error(PARTS)),
    }
}

fn media(node: &Node<'_>, source: Source) -> Result<Part, FormatError> {
    let mime = node.either(["mimeType", "mime_type"]).map(|mime| mime.as_text()).transpose()?;
    let name = node.either(["displayName", "display_name"]).map(|name| name.as_text()).transpose()?;
    Ok(Part::Media(Media::new(mime, name, source)))
}

pub(super) fn write(common: &[CommonMessage], ids: &Ids) -> Vec<Json<'static>> {
    let mut contents = Writing::default();
    for common in common {
        match common {
            CommonMessage::User(content) => {
                contents.end_results();
                let parts = content.clone().into_parts();
                contents.push("user", parts.iter().filter_map(|part| write_part(part, false)).collect());
            }
            CommonMessage::Assistant(answer) => {
                contents.end_results();
                contents.push("model", write_answer(answer, ids));
            }
            CommonMessage::Result(result) => contents.add_result(result, ids),
            // The interface takes them as a separate field.
            CommonMessage::System(_) => {}
        }
    }
    contents.end_results();
    contents.written
}

#[derive(Default)]
struct Writing {
    written: Vec<Json<'static>>,
    /// The responses to the calls of one answer, written as one content.
    responses: Vec<Json<'static>>,
    /// Their images and files, written after them.
    media: Vec<Json<'static>>,
}

impl Writing {
    fn push(&mut self, role: &str, parts: Vec<Json<'static>>) {
        if !parts.is_empty() {
            self.written.push(object([("role", string(role)), ("parts", Json::Array(parts))]));
        }
    }

    fn add_result(&mut self, result: &ToolResult, ids: &Ids) {
        let key = if result.is_error { "error" } else { "output" };
        let response = object([(key, string(joined_text(&result.parts)))]);
        let function = with(object([]), "id", Some(string(ids.safe(&result.id, MAX_ID))));
        let function = with(function, "name", Some(string(result.name.as_str())));
        let function = with(function, "response", Some(response));
        self.responses.push(object([("functionResponse", function)]));
        self.media.extend(media_of(&result.parts).map(write_media));
    }

    fn end_results(&mut self) {
        let (responses, media) = (std::mem::take(&mut self.responses), std::mem::take(&mut self.media));
        self.push("user", responses);
        self.push("user", media);
    }
}

fn write_answer(answer: &Answer, ids: &Ids) -> Vec<Json<'static>> {
    let is_own = answer.origin == Some(Format::Gemini);
    let mut generated: HashMap<usize, String> = HashMap::new();
    for (earlier, part) in answer.parts.iter().enumerate() {
        if let Part::Call { name, arguments, .. } = part {
            generated.insert(earlier, generated_id(name, arguments, earlier));
        }
    }
    let write = |(earlier, part): (usize, &Part)| match part {
        Part::Call { id, name, arguments, signature } => {
            // Generated ids are unknown to the interface.
            let id = (generated.get(&earlier) != Some(id)).then(|| string(ids.safe(id, MAX_ID)));
            let call = with(object([]), "id", id);
            let call = with(with(call, "name", Some(string(name.as_str()))), "args", Some(arguments.clone()));
            Some(signed(object([("functionCall", call)]), signature.as_deref().filter(|_| is_own)))
        }
        part => write_part(part, is_own),
    };
    answer.parts.iter().enumerate().filter_map(write).collect()
}

fn write_part(part: &Part, is_own: bool) -> Option<Json<'static>> {
    match part {
        Part::Text { text, signature } => {
            let signature = signature.as_deref().filter(|_| is_own);
            let is_empty = text.is_empty() && signature.is_none();
            (!is_empty).then(|| signed(object([("text", string(text.as_str()))]), signature))
        }
        Part::Media(media) => Some(write_media(media)),
        Part::Thinking { text, signature, .. } if is_own => {
            let part = object([("text", string(text.as_str())), ("thought", Json::Bool(true))]);
            Some(signed(part, signature.as_deref()))
        }
        Part::Thinking { .. } | Part::Call { .. } => None,
    }
}

fn signed(part: Json<'static>, signature: Option<&str>) -> Json<'static> {
    with(part, "thoughtSignature", signature.map(string))
}

fn write_media(media: &Media) -> Json<'static> {
    let (key, member, value) = match &media.source {
        Source::Data(data) => ("inlineData", "data", data),
        Source::Url(uri) | Source::Id(uri) => ("fileData", "fileUri", uri),
    };
    object([(key, object([("mimeType", string(media.mime_type())), (member, string(value.as_str()))]))])
}
