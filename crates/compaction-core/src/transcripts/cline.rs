//! Messages of Cline and Roo, in the tasks that they export as Markdown and in their `api_conversation_history.json`.
//! Calls are elements, lines after `[Tool Use: NAME]`, or blocks.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use super::Reader;
use super::records::Record;
use super::shared::{FENCE, Piece, Shared, add_said, line_at};
use super::specstory::Fence;
use super::tree::{Tree, items, text_at, text_block, time_of};
use crate::formats::Format;
use crate::formats::node::{object, string, with};
use crate::json::{self, Json};

const API: &str = "cline";
const THINKING: &str = "thinking";
const REASONING: &str = "[Reasoning]";
const TOOL_USE: &str = "[Tool Use: ";
/// Comes before the result of a call in an element, after the tool in brackets.
const RESULT: &str = "] Result:";
/// Most bytes of the tool in brackets, which may contain a command.
const MAX_TOOL: usize = 2 << 10;
/// Comes before the other results.
const NATIVE: &str = "[Tool]";
const NATIVE_ERROR: &str = "[Tool (Error)]";
/// Elements after a result, or after text of the program, that are not part of it.
const BEHIND_RESULTS: [&str; 3] = ["<environment_details>", "<user_message>", "<task>"];
/// The element in which the program describes the state of the editor.
const DETAILS: (&str, &str) = ("<environment_details>", "</environment_details>");
/// Lines in it that name the working directory.
const DIRECTORIES: [&str; 2] = ["# Current Working Directory (", "# Current Workspace Directory ("];
/// Beginnings of other lines from which on the program speaks.
const PROGRAM: [&str; 6] = [
    "[TASK RESUMPTION]",
    "# task_progress ",
    "# TODO LIST RECOMMENDED",
    "# TODO LIST CREATION REQUIRED",
    "# TODO LIST UPDATE REQUIRED",
    "# Todo List (Optional",
];
/// Elements around words of the person.
const AROUND_WORDS: [(&str, &str); 2] = [("<task>", "</task>"), ("<user_message>", "</user_message>")];
/// The element in a result in which the person says what to do next, and how the line above it begins.
const FEEDBACK: (&str, &str) = ("<feedback>", "</feedback>");
const BEFORE_FEEDBACK: &str = "The user ";
/// Begins the line with which the program ends an answer that it cut off.
const CUT_OFF: &str = "[Response interrupted by ";
/// Text in the last line of a message of the program.
const AUTOMATED: &str = "(This is an automated message, so do not respond to it conversationally";
/// Beginnings of results of calls that failed. Later versions of Roo write JSON.
const FAILED: [&str; 4] =
    ["The tool execution failed", "The user denied this operation", "{\"status\":\"error\"", "{\"status\":\"denied\""];
/// The first line of the result of a command that failed.
const EXECUTED: &str = "Command executed";
const UNSUCCESSFUL: &str = "Command execution was not successful";
/// Arguments that are texts and so may contain anything, even their own end tag.
const TEXTS: [&str; 9] =
    ["content", "diff", "result", "response", "patch", "old_string", "new_string", "message", "text"];
/// The argument that has files in elements of its own.
const ARGS: &str = "args";
/// The element of a path.
const PATH: (&str, &str) = ("<path>", "</path>");
/// Arguments of tools, as they begin the lines after [`TOOL_USE`].
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

/// The parts of an answer. A thought at the end of the message counts as text.
pub(super) fn answer(shared: &mut Shared, text: &str) -> Vec<Piece> {
    shared.forget_unanswered();
    let (text, made_up) = until_cut_off(text);
    let mut pieces = Vec::new();
    let mut ends = end_tags(text);
    let (mut start, mut at, mut mark, mut is_thought) = (0, 0, 0, false);
    let mut fence = Fence::default();
    // Where the last line begins, if it opens a fence.
    let mut opening = None;
    while at < text.len() {
        let line = line_at(text, at);
        let next = at + line.len();
        let bare = line.trim_end();
        let before = opening.take();
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
            let before = before.filter(|_| name != THINKING);
            add_said(&mut pieces, &text[start..before.unwrap_or(at)], is_thought);
            let body = &text[next..end];
            if name == THINKING {
                add_said(&mut pieces, body, true);
            } else {
                let id = shared.call(&mut pieces, None, name, arguments(body));
                shared.open(name, id);
            }
            at = end + line_at(text, end).len();
            if before.is_some() {
                fence = Fence::default();
                let behind = line_at(text, at);
                at += Some(behind).filter(|line| line.trim_end() == FENCE).map_or(0, str::len);
            }
            (start, is_thought) = (at, false);
            continue;
        }
        let was_open = fence.is_open();
        fence.read(line);
        opening = Some(at).filter(|_| !was_open && fence.is_open());
        if bare == REASONING {
            add_said(&mut pieces, &text[start..at], is_thought);
            (start, mark, is_thought) = (next, at, true);
        }
        at = next;
    }
    add_said(&mut pieces, &text[if is_thought { mark } else { start }..], false);
    add_said(&mut pieces, made_up, true);
    pieces
}

/// An answer without the line of the program that ends it, and the details of the editor that the model itself began
/// to write above this line. Nobody reads them.
fn until_cut_off(text: &str) -> (&str, &str) {
    let whole = text.trim_end();
    let last = whole.rfind('\n').map_or(0, |at| at + 1);
    if !(whole[last..].starts_with(CUT_OFF) && whole.ends_with(']')) {
        return (text, "");
    }
    let said = &whole[..last];
    let begun = said.rfind(DETAILS.0).filter(|at| *at == 0 || said[..*at].ends_with('\n'));
    said.split_at(begun.filter(|at| !said[*at..].contains(DETAILS.1)).unwrap_or(said.len()))
}

/// The name of the element that a line opens, if a tool may have this name.
fn element(line: &str) -> Option<&str> {
    let name = line.strip_prefix('<')?.strip_suffix('>')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    (is_name && (name == THINKING || name.contains('_'))).then_some(name)
}

/// The places of lines with the end tags of such elements.
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

/// The arguments in the elements of a call. Text outside them is the argument `input`.
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

/// The arguments in the lines after [`TOOL_USE`], and where they end. A value may have several lines, so a line begins
/// an argument only if tools have one with that name and the call has none yet. Inside a text, the name must have an
/// underscore.
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

/// Whether a value is a message of the person in `api_conversation_history.json`.
pub(super) fn is_message(value: &Json<'_>) -> bool {
    let is_person = text_at(value, &["role"]) == Some("user") && value.get("type").is_none();
    let is_ours = |text: &str| BEHIND_RESULTS.iter().any(|start| text.trim_start().starts_with(start));
    is_person && value.get("content").is_some_and(|content| texts_of(content).any(is_ours))
}

/// Working directory and time that a message in `api_conversation_history.json` names.
pub(super) fn identify(value: &Json<'_>) -> (Option<String>, Option<String>, Option<i64>) {
    let content = value.get("content");
    let directory = content.and_then(|content| texts_of(content).find_map(directory_in)).map(str::to_owned);
    (None, directory, time_of(value.get("ts")))
}

/// The directory in `# Current Working Directory (/work) Files`.
fn directory_in(text: &str) -> Option<&str> {
    let details = &text[text.find(DETAILS.0)?..];
    let line = details.lines().find_map(|line| DIRECTORIES.iter().find_map(|start| line.strip_prefix(start)))?;
    line.rsplit_once(')').map(|(directory, _)| directory)
}

/// The texts of a message: the content itself, or its blocks.
fn texts_of<'a>(content: &'a Json<'_>) -> impl Iterator<Item = &'a str> {
    let blocks = if let Json::Array(blocks) = content { &blocks[..] } else { &[] };
    content.as_str().into_iter().chain(blocks.iter().filter_map(|block| text_at(block, &["text"])))
}

/// Reads `api_conversation_history.json`: messages in the format of Anthropic's interface. Their texts are those of the
/// Markdown. Later versions have blocks for calls, and some of them have the results of these calls in texts.
#[derive(Debug, Default)]
pub(super) struct History {
    shared: Shared,
}

impl History {
    /// Reads the blocks of a message. Consecutive texts are read as one.
    fn message(&mut self, value: &Json<'static>, is_user: bool, tree: &mut Tree) {
        match is_user {
            true => self.shared.is_replied = true,
            false => self.shared.forget_unanswered(),
        }
        let names = ["providerId", "modelId"].map(|key| text_at(value, &["modelInfo", key]));
        let mut message = Unread { is_user, names, blocks: Vec::new(), asked: Vec::new() };
        let mut text = String::new();
        let content = value.get("content");
        for block in items(value, "content") {
            if let (Some("text"), Some(more)) = (text_at(block, &["type"]), text_at(block, &["text"])) {
                text.push_str(more);
                text.push('\n');
                continue;
            }
            self.text(&std::mem::take(&mut text), &mut message, tree);
            self.block(block, &mut message);
        }
        text.push_str(content.and_then(Json::as_str).unwrap_or_default());
        self.text(&text, &mut message, tree);
        message.blocks.append(&mut message.asked);
        message.flush(tree);
    }

    fn text(&mut self, text: &str, message: &mut Unread<'_>, tree: &mut Tree) {
        let text = text.trim_matches('\n');
        let pieces = match message.is_user {
            _ if text.is_empty() => Vec::new(),
            true => words(&mut self.shared, text),
            false => answer(&mut self.shared, text),
        };
        for piece in pieces {
            let block = match piece {
                Piece::Text(text) | Piece::Failure(text) | Piece::Summary(text) => text_block(&text),
                Piece::Asked(text) => {
                    message.asked.push(text_block(&text));
                    continue;
                }
                Piece::Thought(text) => object([("type", string("thinking")), ("thinking", string(text))]),
                Piece::Call { id, name, arguments } => object([
                    ("type", string("tool_use")),
                    ("id", string(id)),
                    ("name", string(name)),
                    ("input", arguments),
                ]),
                Piece::Harness(text) => {
                    message.flush(tree);
                    tree.add_harness(&text);
                    continue;
                }
                Piece::Result { id, name, texts, is_error } => {
                    message.flush(tree);
                    tree.add_result(&id, &name, texts.iter().map(|text| text_block(text)).collect(), is_error);
                    continue;
                }
            };
            message.blocks.push(block);
        }
    }

    /// Reads a block that is not a text, in the format of Anthropic's interface.
    fn block(&mut self, block: &Json<'static>, message: &mut Unread<'_>) {
        let text = |key: &str| text_at(block, &[key]);
        let read = match (text("type"), text("text")) {
            (Some("tool_use"), _) => {
                self.shared.open(text("name").unwrap_or_default(), text("id").unwrap_or_default().to_owned());
                block.clone()
            }
            (Some("tool_result"), _) => {
                self.shared.answer(text("tool_use_id").unwrap_or_default());
                let texts = || block.get("content").into_iter().flat_map(texts_of);
                let is_error = texts().any(is_failure);
                let is_told = block.get("is_error").is_some();
                let element =
                    |text: &str| feedback_in(text).map(|(start, end)| text_block(&feedback(&text[start..end])));
                message.asked.extend(texts().filter(|_| !is_error).filter_map(element));
                with(block.clone(), "is_error", Some(Json::Bool(true)).filter(|_| is_error && !is_told))
            }
            (Some("reasoning"), Some(thought)) => object([("type", string("thinking")), ("thinking", string(thought))]),
            _ => block.clone(),
        };
        message.blocks.push(read);
    }
}

/// The blocks of a message that have not become entries.
struct Unread<'a> {
    is_user: bool,
    /// The provider and the model.
    names: [Option<&'a str>; 2],
    blocks: Vec<Json<'static>>,
    /// What the person says in results. It follows all of them.
    asked: Vec<Json<'static>>,
}

impl Unread<'_> {
    fn flush(&mut self, tree: &mut Tree) {
        if self.blocks.is_empty() {
            return;
        }
        let role = if self.is_user { "user" } else { "assistant" };
        let content = Json::Array(std::mem::take(&mut self.blocks));
        let message = object([("role", string(role)), ("content", content)]);
        tree.add_read(Format::Anthropic, &[&message.to_compact()], |message| {
            if !self.is_user {
                message.set("api", json::encode_string(API));
                for (key, name) in ["provider", "model"].into_iter().zip(self.names) {
                    match name {
                        Some(name) => message.set(key, json::encode_string(name)),
                        None => {
                            message.remove(key);
                        }
                    }
                }
            }
        });
    }
}

impl Reader for History {
    fn read(&mut self, record: Record, tree: &mut Tree) {
        let Some(value) = tree.object_of(&record) else { return };
        tree.time = time_of(value.get("ts")).unwrap_or(tree.time);
        tree.keep(&record);
        let role = text_at(&value, &["role"]);
        if value.get("isSummary").and_then(Json::as_bool) == Some(true) {
            let summary: Vec<&str> = value.get("content").into_iter().flat_map(texts_of).collect();
            return tree.add_compaction(&summary.join("\n"), None, 0);
        }
        match role {
            Some("user" | "assistant") if value.get("content").is_some() => {
                self.message(&value, role == Some("user"), tree);
            }
            // Thoughts that only the model's interface can read are a separate message.
            _ => tree.unknown(text_at(&value, &["type"]).unwrap_or("message")),
        }
    }

    fn flush(&mut self, _tree: &mut Tree) {}
}

/// Who wrote a part of a message with the role of the person.
enum Author {
    Person,
    /// The call, its tool, and whether the text says that it failed.
    Tool(String, String, bool),
    Program,
}

/// The parts of a message with the role of the person: results of calls, words, and texts of the program.
pub(super) fn words(shared: &mut Shared, text: &str) -> Vec<Piece> {
    shared.is_replied = true;
    let mut pieces = Vec::new();
    let (mut start, mut at, mut author) = (0, 0, Author::Person);
    let mut details = Some((0, false));
    while at < text.len() {
        let line = line_at(text, at);
        let next = at + line.len();
        if line.starts_with(DETAILS.0)
            && let Some((end, is_last)) = end_of_details(text, at, &mut details)
        {
            // A file that was read may contain such an element. The program's own element is the last one.
            if !is_last {
                at = next;
                continue;
            }
            add_part(&mut pieces, std::mem::replace(&mut author, Author::Person), &text[start..at]);
            add_part(&mut pieces, Author::Program, &text[at..end]);
            (start, at) = (end, end);
            continue;
        }
        let (author_behind, behind) = match line.trim_end() {
            bare @ (NATIVE | NATIVE_ERROR) => match shared.native.pop_front() {
                Some((id, name)) => (Author::Tool(id, name, bare == NATIVE_ERROR), next),
                None => (Author::Person, at),
            },
            _ if PROGRAM.iter().any(|start| line.starts_with(start)) => (Author::Program, at),
            _ => match tool_in(&text[at..]).and_then(|(name, length)| Some((closed(shared, name)?, name, length))) {
                Some((id, name, length)) => (Author::Tool(id, name.to_owned(), false), at + length),
                None => (Author::Person, at),
            },
        };
        let ends = !matches!(author, Author::Person) && BEHIND_RESULTS.iter().any(|start| line.starts_with(start));
        if !matches!(author_behind, Author::Person) || ends {
            add_part(&mut pieces, std::mem::replace(&mut author, author_behind), &text[start..at]);
            start = behind;
        }
        at = next.max(behind);
    }
    add_part(&mut pieces, author, &text[start..]);
    add_feedback(&mut pieces);
    pieces
}

/// Adds what the person says in the results of calls that they did not refuse, such as that of `attempt_completion`. It
/// is their next message.
fn add_feedback(pieces: &mut Vec<Piece>) {
    let mut asked = Vec::new();
    for piece in pieces.iter_mut() {
        let Piece::Result { texts, is_error: false, .. } = piece else { continue };
        for text in texts {
            let Some((start, end)) = feedback_in(text) else { continue };
            asked.push(Piece::Asked(feedback(&text[start..end])));
            text.replace_range(start..end, "");
            text.truncate(text.trim_end().len());
        }
    }
    pieces.extend(asked);
}

/// The words in such an element.
fn feedback(element: &str) -> String {
    element[FEEDBACK.0.len()..element.len() - FEEDBACK.1.len()].trim().to_owned()
}

/// The place of the last element with words of the person in a result.
fn feedback_in(text: &str) -> Option<(usize, usize)> {
    let start = text.rfind(FEEDBACK.0)?;
    let end = start + text[start..].rfind(FEEDBACK.1)? + FEEDBACK.1.len();
    let above = text[..start].strip_suffix('\n')?.trim_end();
    let is_told = above.lines().next_back().is_some_and(|line| line.starts_with(BEFORE_FEEDBACK));
    is_told.then_some((start, end))
}

/// Where the details end that begin at `at`, and whether a part ends there. `found` is the last answer, so no text is
/// read twice.
fn end_of_details(text: &str, at: usize, found: &mut Option<(usize, bool)>) -> Option<(usize, bool)> {
    if found.is_some_and(|(end, _)| end <= at) {
        let end = memchr::memmem::find(&text.as_bytes()[at..], DETAILS.1.as_bytes());
        *found = end.map(|end| at + end + DETAILS.1.len()).map(|end| (end, ends_part(&text[end..])));
    }
    *found
}

/// Whether an element of the program is followed only by another part.
fn ends_part(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || tool_in(rest).is_some() || BEHIND_RESULTS.iter().any(|start| rest.starts_with(start))
}

/// The call that a result answers. The result of `use_subagents` names `subagents`.
fn closed(shared: &mut Shared, name: &str) -> Option<String> {
    shared.close(name).or_else(|| shared.close(&format!("use_{name}")))
}

fn add_part(pieces: &mut Vec<Piece>, author: Author, text: &str) {
    let text = text.trim_matches('\n');
    match author {
        Author::Tool(id, name, is_error) => {
            let is_error = is_error || is_failure(text);
            let texts = if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
            pieces.push(Piece::Result { id, name, texts, is_error });
        }
        _ if text.trim().is_empty() => {}
        Author::Person if !is_automated(text) => add_said(pieces, &unwrapped(text), false),
        _ => pieces.push(Piece::Harness(text.to_owned())),
    }
}

/// The words of the person without the element around them.
fn unwrapped(text: &str) -> Cow<'_, str> {
    let found = AROUND_WORDS.iter().find_map(|(open, close)| {
        let inside = text.trim_start().strip_prefix(open)?;
        let end = inside.rfind(close)?;
        Some((inside[..end].trim_matches('\n'), inside[end + close.len()..].trim_matches('\n')))
    });
    match found {
        None => Cow::Borrowed(text),
        Some((words, "")) => Cow::Borrowed(words),
        Some((words, behind)) => Cow::Owned(format!("{words}\n\n{behind}")),
    }
}

/// Whether a result says that its call failed.
fn is_failure(text: &str) -> bool {
    let first = line_at(text, 0);
    FAILED.iter().any(|start| text.starts_with(start)) || (first.starts_with(EXECUTED) && first.contains(UNSUCCESSFUL))
}

/// Whether a message says at its end that it is automated.
fn is_automated(text: &str) -> bool {
    text.trim_end().lines().next_back().is_some_and(|last| last.contains(AUTOMATED))
}

/// The tool in `[NAME for 'x'] Result:` at the start of a text, and the length of that.
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
