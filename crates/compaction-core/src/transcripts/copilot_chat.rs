//! Chats of GitHub Copilot in VS Code that a person copied with "Copy All". A paragraph that begins with the name of the
//! person or of Copilot begins a message. Calls are paragraphs of the answer, without their outputs.

use super::shared::{Heading, Piece, Shared, add_said};
use crate::formats::node::{object, string};
use crate::json::Json;

const COPILOT: &str = "GitHub Copilot: ";
/// The usual name of the person.
const PERSON: &str = "User";
/// Maximum bytes of the name of a person.
const MAX_NAME: usize = 40;
const SHELL: &str = "Ran terminal command: ";
/// Comes before the input of a call, in a line of its own.
const INPUT: &str = "\nCompleted with input: ";
/// Comes before the name of another tool in backticks.
const RAN: &str = "Ran `";
/// Beginnings of calls that name files, their tools, and the argument.
const FILES: [(&str, &str, &str); 5] = [
    ("Read ", "read_file", "filePath"),
    ("Created ", "create_file", "filePath"),
    ("Edited ", "replace_string_in_file", "filePath"),
    ("Generating patch ", "apply_patch", "filePath"),
    ("Checked ", "get_errors", "filePaths"),
];
/// Beginnings of searches, and their tools. A comma comes before what they found.
const SEARCHES: [(&str, &str); 4] = [
    ("Searched for regex ", "grep_search"),
    ("Searched for text ", "grep_search"),
    ("Searched for files matching ", "file_search"),
    ("Searched codebase for ", "semantic_search"),
];
/// Beginnings of other calls, and their tools.
const OTHERS: [(&str, &str); 9] = [
    ("Using \"Replace String in File\"", "replace_string_in_file"),
    ("Using \"Multi-Replace String in Files\"", "multi_replace_string_in_file"),
    ("Using \"Apply Patch\"", "apply_patch"),
    ("Starting: *", TODOS),
    ("Starting (", TODOS),
    ("Completed: *", TODOS),
    ("Completed (", TODOS),
    ("Read changed files in ", "get_changed_files"),
    ("Checked background terminal output", "get_terminal_output"),
];
const TODOS: &str = "manage_todo_list";
/// What the program shows at the end of an answer with edits.
const CHANGED: &str = "Made changes.";
/// The start of the address of a file.
const FILE: &str = "](file://";
/// The place of an edit, which the copy does not show.
const NO_CODE: &str = "```\n\n```";

/// Whether a text begins like such a chat. A second message of the person or a call shows that it is no other text.
pub(super) fn begins(head: &str) -> bool {
    let text = head.replace('\r', "");
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let Some(person) = text.lines().next().and_then(name) else { return false };
    let mut paragraphs = text.split("\n\n").map(|paragraph| paragraph.trim_start_matches('\n'));
    let is_answered = paragraphs.clone().any(|paragraph| paragraph.starts_with(COPILOT));
    let is_sure = |paragraph: &str| paragraph.starts_with(SHELL) || paragraph.contains(FILE);
    let is_person = |paragraph: &str| name(paragraph) == Some(person);
    let is_chat = person == PERSON || paragraphs.clone().filter(|paragraph| is_person(paragraph)).count() > 1;
    is_answered && (is_chat || paragraphs.any(is_sure))
}

/// The heading of a message in a line behind a blank one. The first line names the person.
pub(super) fn heading(person: &mut Option<String>, line: &str) -> Option<Heading> {
    if line.starts_with(COPILOT) || line.trim_end() == COPILOT.trim_end() {
        return Some(Heading::default());
    }
    let name = name(line)?;
    let is_user = person.get_or_insert_with(|| name.to_owned()) == name;
    is_user.then(|| Heading { is_user, ..Heading::default() })
}

/// The name before the words in the first line of a message.
fn name(line: &str) -> Option<&str> {
    let (name, _) =
        line.split_once(": ").or_else(|| line.trim_end().split_once(':').filter(|(_, rest)| rest.is_empty()))?;
    let is_letter = |one: char| one.is_alphanumeric() || " -_.".contains(one);
    let is_name = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_letter);
    (is_name && !COPILOT.starts_with(name) && !name.starts_with(' ')).then_some(name)
}

/// The parts of a message.
pub(super) fn pieces(shared: &mut Shared, text: &str, is_user: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if is_user {
        let words = name(text).and_then(|name| text.strip_prefix(name)?.strip_prefix(':'));
        add_said(&mut pieces, words.unwrap_or(text).trim(), false);
        return pieces;
    }
    let text = text.strip_prefix(COPILOT).unwrap_or(text);
    let (mut said, mut rest) = (0, 0);
    while rest < text.len() {
        let length = text[rest..].find("\n\n").unwrap_or(text.len() - rest);
        let (paragraph, end) = (&text[rest..rest + length], text.len().min(rest + length + "\n\n".len()));
        let behind = text.len() - text[end..].trim_start_matches('\n').len();
        if paragraph.trim() == CHANGED {
            add_said(&mut pieces, text[said..rest].trim(), false);
            (said, rest) = (behind, behind);
            continue;
        }
        let Some((name, arguments, result)) = call(paragraph.trim_end()) else {
            rest = behind;
            continue;
        };
        add_said(&mut pieces, text[said..rest].trim(), false);
        let id = shared.call(&mut pieces, None, &name, arguments);
        let texts = result.filter(|result| !result.is_empty()).map(str::to_owned).into_iter().collect();
        pieces.push(Piece::Result { id, name, texts, is_error: false });
        let mut next = behind;
        while let Some(after) = text[next..].strip_prefix(NO_CODE) {
            next = text.len() - after.trim_start_matches('\n').len();
        }
        (said, rest) = (next, next);
    }
    add_said(&mut pieces, text[said..].trim(), false);
    pieces
}

/// The tool, the arguments and the result of a call in a paragraph.
fn call(paragraph: &str) -> Option<(String, Json<'static>, Option<&str>)> {
    let (told, input) = paragraph.split_once(INPUT).unwrap_or((paragraph, ""));
    if let Some(command) = told.strip_prefix(SHELL) {
        let is_other = !input.is_empty() && input.trim() != command.trim();
        let members = [("command", command.trim()), ("input", if is_other { input.trim() } else { "" })];
        return Some(("run_in_terminal".to_owned(), members_of(&members), None));
    }
    if let Some((name, rest)) = told.strip_prefix(RAN).and_then(|rest| rest.split_once('`')) {
        let is_empty = input.trim().is_empty();
        let arguments = if is_empty { object([]) } else { Json::parse(input.trim()).ok()?.into_owned() };
        return rest.trim().is_empty().then(|| (name.to_owned(), arguments, None));
    }
    if told.contains('\n') {
        return None;
    }
    if let Some((start, tool)) = SEARCHES.iter().find(|(start, _)| told.starts_with(start)) {
        let (query, found) = told[start.len()..].rsplit_once(", ").unwrap_or((&told[start.len()..], ""));
        return Some(((*tool).to_owned(), members_of(&[("query", query)]), Some(found)));
    }
    if let Some((start, tool, key)) = FILES.iter().find(|(start, ..)| told.starts_with(start) && told.contains(FILE)) {
        let before = told[start.len()..].split_once('[').map_or("", |(before, _)| before);
        let behind = told.rsplit_once(')').map_or("", |(_, behind)| behind);
        if !before.is_empty() && !before.ends_with("in ") && !before.ends_with(": ") {
            return None;
        }
        let state = if behind.is_empty() { "" } else { behind.strip_prefix(", ")? };
        let files = told.split(FILE).skip(1).filter_map(|rest| Some(path(rest.split_once(')')?.0)));
        let files = files.collect::<Vec<_>>().join(", ");
        let lines = state.strip_prefix("lines ").unwrap_or_default();
        return Some((
            (*tool).to_owned(),
            members_of(&[(*key, &files), ("lines", lines)]),
            Some(state).filter(|_| lines.is_empty()),
        ));
    }
    let is_list = told.strip_prefix("Created ").and_then(|rest| rest.strip_suffix(" todos"));
    let other = OTHERS.iter().find(|(start, _)| told.starts_with(start)).map(|(_, tool)| *tool);
    let tool = other.or_else(|| is_list.map(|_| TODOS))?;
    Some((tool.to_owned(), members_of(&[("description", told)]), None))
}

/// The arguments that are not empty.
fn members_of(members: &[(&'static str, &str)]) -> Json<'static> {
    let members = members.iter().filter(|(_, text)| !text.is_empty());
    Json::Object(members.map(|(key, text)| ((*key).into(), string(*text))).collect())
}

/// The path in the address of a file: `/c%3A/src/a.rs#1-1`.
fn path(address: &str) -> String {
    let address = address.split('#').next().unwrap_or_default();
    let mut bytes = Vec::new();
    let mut rest = address;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend(before.bytes());
        let code = after.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(b'%'));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes.extend(rest.bytes());
    let path = String::from_utf8_lossy(&bytes).into_owned();
    // A drive of Windows comes after a slash.
    let has_drive = path.as_bytes().get(2) == Some(&b':');
    if has_drive { path[1..].to_owned() } else { path }
}
