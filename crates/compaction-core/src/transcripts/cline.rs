//! Messages in the tasks that Cline and Roo export as Markdown: calls in elements, or in lines behind `[Tool Use: NAME]`.

use std::collections::{HashMap, VecDeque};

use super::shared::{Piece, Shared, add_said, line_at};
use crate::formats::node::string;
use crate::json::Json;

const THINKING: &str = "thinking";
const REASONING: &str = "[Reasoning]";
const TOOL_USE: &str = "[Tool Use: ";
/// What stands before the result of a call in an element, behind the tool in brackets.
const RESULT: &str = "] Result:";
/// Most bytes of the tool in brackets, which can show a command.
const MAX_TOOL: usize = 2 << 10;
/// What stands before the other results.
const NATIVE: &str = "[Tool]";
const NATIVE_ERROR: &str = "[Tool (Error)]";
/// Elements behind a result that are no part of it.
const BEHIND_RESULTS: [&str; 3] = ["<environment_details>", "<user_message>", "<task>"];
/// Beginnings of results of calls that failed.
const FAILED: [&str; 2] = ["The tool execution failed", "The user denied this operation"];
/// Arguments that are texts, so that they may have anything in them, also their own end tag.
const TEXTS: [&str; 9] =
    ["content", "diff", "result", "response", "patch", "old_string", "new_string", "message", "text"];
/// The argument that names files in elements of its own, and the element of a path.
const ARGS: &str = "args";
const PATH: (&str, &str) = ("<path>", "</path>");
/// Arguments of tools, as the lines behind [`TOOL_USE`] begin with them.
const KEYS: [&str; 52] = [
    "action",
    "args",
    "arguments",
    "artifact_id",
    "command",
    "content",
    "context",
    "cwd",
    "description",
    "diff",
    "file_path",
    "file_pattern",
    "files",
    "follow_up",
    "image",
    "indentation",
    "limit",
    "line",
    "message",
    "mode",
    "mode_slug",
    "new_string",
    "offset",
    "old_string",
    "operations",
    "options",
    "patch",
    "path",
    "prompt",
    "query",
    "question",
    "reason",
    "recursive",
    "regex",
    "replace",
    "requires_approval",
    "response",
    "result",
    "search",
    "server_name",
    "skill",
    "start_line",
    "end_line",
    "task",
    "task_progress",
    "timeout",
    "todos",
    "tool_name",
    "uri",
    "url",
    "use_regex",
    "text",
];

/// The parts of an answer. What begins as a thought and ends the message stays text.
pub(super) fn answer(shared: &mut Shared, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut ends = end_tags(text);
    let (mut start, mut at, mut mark, mut is_thought) = (0, 0, 0, false);
    while at < text.len() {
        let line = line_at(text, at);
        let next = at + line.len();
        let bare = line.trim_end();
        if let Some(name) = bare.strip_prefix(TOOL_USE).and_then(|name| name.strip_suffix(']')) {
            add_said(&mut pieces, &text[start..at], is_thought);
            let (arguments, end) = native_arguments(text, next);
            let id = shared.call(&mut pieces, None, name, arguments);
            shared.native.push_back((id, name.to_owned()));
            (start, at, is_thought) = (end, end, false);
            continue;
        }
        let opened = element(bare).and_then(|name| {
            let places = ends.get_mut(name)?;
            while places.front().is_some_and(|place| *place < next) {
                places.pop_front();
            }
            Some((name, *places.front()?))
        });
        if let Some((name, end)) = opened {
            add_said(&mut pieces, &text[start..at], is_thought);
            let body = &text[next..end];
            if name == THINKING {
                add_said(&mut pieces, body, true);
            } else {
                let id = shared.call(&mut pieces, None, name, arguments(body));
                shared.open(name, id);
            }
            at = end + line_at(text, end).len();
            (start, is_thought) = (at, false);
            continue;
        }
        if bare == REASONING {
            add_said(&mut pieces, &text[start..at], is_thought);
            (start, mark, is_thought) = (next, at, true);
        }
        at = next;
    }
    add_said(&mut pieces, &text[if is_thought { mark } else { start }..], false);
    pieces
}

/// The name of the element that a line opens, if tools can have it.
fn element(line: &str) -> Option<&str> {
    let name = line.strip_prefix('<')?.strip_suffix('>')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    (is_name && (name == THINKING || name.contains('_'))).then_some(name)
}

/// Where the lines begin that end such an element.
fn end_tags(text: &str) -> HashMap<&str, VecDeque<usize>> {
    let mut ends = HashMap::<_, VecDeque<usize>>::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix("</").and_then(|rest| rest.trim_end().strip_suffix('>')) {
            ends.entry(name).or_default().push_back(at);
        }
        at += line.len();
    }
    ends
}

/// The arguments in the elements of a call. What is in none is the argument `input`.
fn arguments(body: &str) -> Json<'static> {
    let mut arguments = Vec::new();
    let mut rest = body.trim();
    while let Some((key, inside)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'))
        && !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        let close = format!("</{key}>");
        let found = if TEXTS.contains(&key) { inside.rfind(&close) } else { inside.find(&close) };
        let Some(end) = found else { break };
        let value = &inside[..end];
        let value = value.strip_prefix('\n').unwrap_or(value);
        add_argument(&mut arguments, key, value.strip_suffix('\n').unwrap_or(value));
        rest = inside[end + close.len()..].trim_start();
        if key == ARGS {
            let mut paths = value.split(PATH.0).skip(1).filter_map(|path| Some(path.split_once(PATH.1)?.0.trim()));
            if let (Some(path), None) = (paths.next(), paths.next()) {
                add_argument(&mut arguments, "path", path);
            }
        }
    }
    if !rest.is_empty() {
        add_argument(&mut arguments, "input", rest);
    }
    Json::Object(arguments)
}

type Arguments = Vec<(std::borrow::Cow<'static, str>, Json<'static>)>;

fn add_argument(arguments: &mut Arguments, key: &str, value: &str) {
    arguments.push((key.to_owned().into(), string(value)));
}

/// The arguments in the lines behind [`TOOL_USE`], and where they end. A value can have lines of its own, so a line begins
/// an argument only if tools have one of the name and the call has none yet. In a text, the name has an underscore.
fn native_arguments(text: &str, from: usize) -> (Json<'static>, usize) {
    let mut arguments: Vec<(&str, String)> = Vec::new();
    let mut at = from;
    while at < text.len() {
        let line = line_at(text, at);
        if line.starts_with(TOOL_USE) {
            break;
        }
        at += line.len();
        let known = line.split_once(": ").and_then(|(key, value)| {
            let first = key.bytes().next().filter(u8::is_ascii_uppercase)?;
            let is_key = |known: &&&str| known.as_bytes()[0] == first.to_ascii_lowercase() && known[1..] == key[1..];
            Some((*KEYS.iter().find(is_key)?, value))
        });
        let is_in_text = arguments.last().is_some_and(|(key, _)| TEXTS.contains(key));
        let is_next = |key: &str| !is_in_text || key.contains('_');
        match known.filter(|(key, _)| is_next(key) && arguments.iter().all(|(other, _)| other != key)) {
            Some((key, value)) => arguments.push((key, value.to_owned())),
            None => match arguments.last_mut() {
                Some((_, value)) => value.push_str(line),
                None => arguments.push(("input", line.to_owned())),
            },
        }
    }
    let value = |text: &str| match Json::parse(text).map(Json::into_owned) {
        Ok(json @ (Json::Object(_) | Json::Array(_))) => json,
        _ => string(text),
    };
    let members = arguments.into_iter().map(|(key, text)| (key.into(), value(text.trim_end_matches('\n'))));
    (Json::Object(members.filter(|(key, value)| key != "input" || value.as_str() != Some("")).collect()), at)
}

/// The parts of a message with the role of the person: results of calls, and words.
pub(super) fn words(shared: &mut Shared, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut result: Option<(String, String, bool)> = None;
    while at < text.len() {
        let line = line_at(text, at);
        let bare = line.trim_end();
        let begun = match bare {
            NATIVE | NATIVE_ERROR => {
                let call = shared.native.pop_front();
                call.map(|(id, name)| ((id, name, bare == NATIVE_ERROR), at + line.len()))
            }
            _ => tool_in(&text[at..]).and_then(|(name, length)| {
                let id = shared.close(name)?;
                Some(((id, name.to_owned(), false), at + length))
            }),
        };
        let is_behind = result.is_some() && BEHIND_RESULTS.iter().any(|start| line.starts_with(start));
        if begun.is_none() && !is_behind {
            at += line.len();
            continue;
        }
        add_words(&mut pieces, result.take(), &text[start..at]);
        (start, at) = (at, at + line.len());
        if let Some((call, behind)) = begun {
            result = Some(call);
            (start, at) = (behind, behind);
        }
    }
    add_words(&mut pieces, result, &text[start..]);
    pieces
}

fn add_words(pieces: &mut Vec<Piece>, result: Option<(String, String, bool)>, text: &str) {
    let Some((id, name, is_error)) = result else { return add_said(pieces, text, false) };
    let text = text.trim_matches('\n');
    let is_error = is_error || FAILED.iter().any(|start| text.starts_with(start));
    let texts = if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
    pieces.push(Piece::Result { id, name, texts, is_error });
}

/// The tool that `[NAME for 'x'] Result:` at the start of a text names, and the length of that.
fn tool_in(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix('[')?;
    let name = &rest[..rest.bytes().position(|byte| !(byte.is_ascii_lowercase() || byte == b'_'))?];
    let behind = &rest.as_bytes()[name.len()..];
    if name.is_empty() || !(behind.starts_with(b" for ") || behind.starts_with(RESULT.as_bytes())) {
        return None;
    }
    let end = memchr::memmem::find(&behind[..behind.len().min(MAX_TOOL)], RESULT.as_bytes())?;
    Some((name, 1 + name.len() + end + RESULT.len()))
}
