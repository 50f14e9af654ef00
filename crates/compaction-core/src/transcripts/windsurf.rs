//! Conversations that Windsurf and Antigravity save as Markdown. A line in italics is a call. The export shows no
//! results, and no arguments for many calls.

use std::collections::VecDeque;

use super::shared::{Heading, Piece, Shared, add_said, line_at};
use crate::formats::node::{object, string};
use crate::json::Json;

const TITLES: [&str; 2] = ["# Cascade Chat Conversation", "# Chat Conversation"];
const PERSON: &str = "### User Input";
const ANSWER: &str = "### Planner Response";
/// The mark around a call.
const MARK: &str = "*";
/// The argument of a call, after the beginning of its line.
#[derive(Clone, Copy)]
enum About {
    /// A command in backticks, which may have several lines.
    Command,
    /// A link to a file or a directory.
    Path,
    /// The same in backticks.
    Code,
    /// An argument of this name.
    Named(&'static str),
    /// The export does not show it.
    Nothing,
}

/// Beginnings of the lines of calls, their tools, and the argument after them.
const CALLS: [(&str, &str, About); 21] = [
    ("User accepted the command `", "run_command", About::Command),
    ("User rejected the command `", "run_command", About::Command),
    ("Viewed [", "view_file", About::Path),
    ("Viewed `", "view_file", About::Code),
    ("Edited relevant file", "edit_file", About::Nothing),
    ("Found code context", "code_search", About::Nothing),
    ("Listed directory [", "list_dir", About::Path),
    ("Grep searched codebase", "grep_search", About::Nothing),
    ("Searched filesystem", "find_by_name", About::Nothing),
    ("Searched web for ", "search_web", About::Named("query")),
    ("Searched web", "search_web", About::Nothing),
    ("Searched trajectory", "trajectory_search", About::Nothing),
    ("Checked command status", "command_status", About::Nothing),
    ("Read terminal output: ", "read_terminal", About::Named("name")),
    ("Read resource from ", "read_resource", About::Named("uri")),
    ("Listed resources from ", "list_resources", About::Named("server")),
    ("Read URL content from ", "read_url_content", About::Named("uri")),
    ("Running MCP tool", "mcp_tool", About::Nothing),
    ("Invoked skill: ", "skill", About::Named("skill")),
    ("Updated todo list", "todo_list", About::Nothing),
    ("Asked user a question", "ask_user_question", About::Nothing),
];
/// The end of a command.
const COMMAND_END: &str = "`*";
const REJECTED: &str = "User rejected";

/// Whether a line is the title of an export.
pub(super) fn is_title(line: &str) -> bool {
    TITLES.contains(&line.trim_end())
}

/// The heading of a message in a line, if the line is one.
pub(super) fn heading(line: &str) -> Option<Heading> {
    let is_user = line == PERSON;
    (is_user || line == ANSWER).then(|| Heading { is_user, ..Heading::default() })
}

/// The parts of a message. If the model said nothing before calls, they come after the words of the person.
pub(super) fn pieces(shared: &mut Shared, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut start, mut at, mut is_blank) = (0, 0, true);
    let mut ends = ends_of_commands(text);
    while at < text.len() {
        let line = line_at(text, at);
        let found = if is_blank { call(text, at, &mut ends) } else { None };
        is_blank = line.trim().is_empty();
        let Some((name, arguments, shown, end)) = found else {
            at += line.len();
            continue;
        };
        add_said(&mut pieces, &text[start..at], false);
        let is_error = shown.starts_with(REJECTED);
        let id = shared.call(&mut pieces, None, name, arguments);
        pieces.push(Piece::Result { id, name: name.to_owned(), texts: vec![shown.to_owned()], is_error });
        (start, at, is_blank) = (end, end, true);
    }
    add_said(&mut pieces, &text[start..], false);
    pieces
}

/// Where commands end, and where the lines after them begin.
fn ends_of_commands(text: &str) -> VecDeque<(usize, usize)> {
    let mut next = 0;
    let end_of = |line: &str| {
        let start = next;
        next += line.len();
        line.trim_end().strip_suffix(COMMAND_END).map(|command| (start + command.len(), start + line.len()))
    };
    text.split_inclusive('\n').filter_map(end_of).collect()
}

/// The call at a place: its tool, its arguments, the export's description, and where it ends.
fn call<'a>(
    text: &'a str,
    at: usize,
    ends: &mut VecDeque<(usize, usize)>,
) -> Option<(&'static str, Json<'static>, &'a str, usize)> {
    let line = line_at(text, at);
    let inside = line.strip_prefix(MARK)?;
    let (start, name, about) = CALLS.iter().copied().find(|(start, ..)| inside.starts_with(start))?;
    let from = at + MARK.len() + start.len();
    if let About::Command = about {
        while ends.pop_front_if(|(end, _)| *end < from).is_some() {}
        let (end, behind) = *ends.front()?;
        let shown = start.trim_end_matches([' ', '`']);
        return Some((name, object([("command", string(&text[from..end]))]), shown, behind));
    }
    let shown = inside.trim_end().strip_suffix(MARK)?.trim_end();
    let behind = &shown[start.len().min(shown.len())..];
    let arguments = match about {
        About::Path => object([("path", string(path_in(behind)?))]),
        About::Code => object([("path", string(behind.strip_suffix('`')?))]),
        About::Named(key) => object([(key, string(behind))]),
        About::Nothing | About::Command => Json::Object(Vec::new()),
    };
    Some((name, arguments, shown, at + line.len()))
}

/// The path in `NAME](file:///PATH)`.
fn path_in(link: &str) -> Option<String> {
    let address = link.split_once("](")?.1.strip_suffix(')')?;
    let path = address.strip_prefix("file://").unwrap_or(address);
    // A Windows path has a slash before its drive.
    let drive = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':'));
    Some(without_escapes(drive.unwrap_or(path)))
}

/// The text of an address, with `%20` and other bytes decoded.
pub(super) fn without_escapes(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| address.to_owned())
}
