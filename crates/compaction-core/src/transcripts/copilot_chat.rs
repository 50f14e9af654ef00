//! Chats of Copilot in VS Code, as its command to copy all of a chat writes them: `NAME: …` and `GitHub Copilot: …`. A line
//! of its own tells of each call. The copy shows no outputs.

use super::shared::{Piece, Shared, add_said, line_at};
use super::windsurf::without_escapes;
use crate::formats::node::{object, string};
use crate::json::Json;

/// The byte order mark.
const MARK: char = '\u{feff}';
const MODEL: &str = "GitHub Copilot:";
/// A name that anybody may write at the start of a line.
const COMMON_NAME: &str = "User";
/// Maximum bytes of the name of a person on GitHub.
const MAX_NAME: usize = 39;
/// What the copy shows for a button.
const BUTTON: &str = "[object Object]";
/// Beginning of a message that a button wrote: `@agent Continue: "…"`.
const PRESSED: &str = "@agent ";
const PRESSES: [&str; 1] = ["Try Again"];
/// Lines of the program that tell of no call, and what comes before words of the model without a line end.
const NOTICES: [&str; 1] = ["Made changes."];
const SUMMARIZED: [&str; 2] = ["Summarized conversation history", "Compacted conversation"];
/// Beginnings of lines of calls whose links name the files, their tools, and their arguments.
const FILES: [(&str, &str, &str); 6] = [
    ("Read ", "read_file", "filePath"),
    ("Created ", "create_file", "filePath"),
    ("Edited ", EDIT, "filePath"),
    ("Replacing ", EDIT, "filePath"),
    ("Generating patch ", EDIT, "filePath"),
    ("Checked ", "get_errors", "filePath"),
];
const EDIT: &str = "replace_string_in_file";
/// The same for what was searched, with the signs around it.
const SEARCHES: [(&str, &str, char); 4] = [
    ("Searched for files matching `", "file_search", '`'),
    ("Searched text for `", "grep_search", '`'),
    ("Searched for text `", "grep_search", '`'),
    ("Searched codebase for \"", "semantic_search", '"'),
];
const RAN: &str = "Ran terminal command: ";
const USING: &str = "Using \"";
/// The start of a link without a name, which the program writes.
const LINK: &str = "[](";
/// Beginnings of lines about a task, and its state.
const TASKS: [(&str, &str); 2] = [("Starting", "in_progress"), ("Completed", "completed")];
const FENCE: &str = "```";

/// Whether a text begins like such a copy.
pub(super) fn begins(head: &str) -> bool {
    let mut lines = head.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty());
    let is_first = lines.next().is_some_and(begins_here);
    is_first && head.lines().any(|line| line.starts_with(MODEL))
}

/// Whether the first line of a text begins such a copy.
pub(super) fn begins_here(line: &str) -> bool {
    let line = line.trim_start_matches(MARK);
    line.starts_with(MODEL) || person(line).is_some()
}

/// The name of the person at the start of a message.
fn person(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(':')?;
    let is_name = |name: &str| name.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'));
    let begins = name.len() <= MAX_NAME && name.starts_with(|one: char| one.is_ascii_alphanumeric());
    (begins && is_name(name) && (rest.is_empty() || rest.starts_with(' '))).then_some(name)
}

/// Whether a line begins a message, and whether it is the person's. `name` is that of the person, once it is known.
pub(super) fn heading(name: &mut Option<String>, line: &str, is_behind_blank: bool) -> Option<bool> {
    let line = line.trim_start_matches(MARK);
    if line.starts_with(MODEL) {
        name.get_or_insert_with(|| COMMON_NAME.to_owned());
        return Some(false);
    }
    let found = person(line)?;
    match name {
        None => {
            *name = Some(found.to_owned());
            Some(true)
        }
        Some(name) => (name == found && (is_behind_blank || found != COMMON_NAME)).then_some(true),
    }
}

/// The parts of a message, which begins with the name of its author.
pub(super) fn pieces(shared: &mut Shared, text: &str, is_user: bool) -> Vec<Piece> {
    let text = text.trim_start_matches(MARK);
    // An import may begin inside a message.
    let named = if is_user { person(text).filter(|name| shared.name.as_deref() == Some(*name)) } else { None };
    let behind = match named {
        Some(name) => text.get(name.len() + 1..),
        None => text.strip_prefix(MODEL).filter(|_| !is_user),
    };
    let words = behind.map_or(text, |words| words.strip_prefix(' ').unwrap_or(words));
    let mut pieces = Vec::new();
    if is_user {
        if !is_press(words) {
            add_said(&mut pieces, words.trim_end(), false);
        }
        return pieces;
    }
    for step in steps(&mut shared.todos, words) {
        match step {
            Step::Text(text) => add_said(&mut pieces, &text, false),
            Step::Call { name, arguments, result } => {
                let id = shared.call(&mut pieces, None, &name, arguments);
                pieces.push(Piece::Result { id, name, texts: result.into_iter().collect(), is_error: false });
            }
        }
    }
    pieces
}

/// Whether a button wrote a message of the person.
pub(super) fn is_press(words: &str) -> bool {
    let Some(pressed) = words.trim().strip_prefix(PRESSED).filter(|pressed| !pressed.contains('\n')) else {
        return false;
    };
    let is_named = |(label, question): (&str, &str)| {
        label.len() <= MAX_NAME && question.len() > 1 && question.starts_with('"') && question.ends_with('"')
    };
    PRESSES.contains(&pressed) || pressed.split_once(": ").is_some_and(is_named)
}

/// A part of an answer.
pub(super) enum Step {
    Text(String),
    Call { name: String, arguments: Json<'static>, result: Option<String> },
}

/// Whether a text of another exporter has lines of such calls.
pub(super) fn is_in(text: &str) -> bool {
    let is_sure = |line: &str| line.starts_with(USING) && line.ends_with('"') || line.contains("[](file:");
    text.lines().any(|line| is_sure(line.trim_end()) || line.trim_end().ends_with(BUTTON))
}

/// The parts of an answer: words, and calls in lines of their own.
pub(super) fn steps(todos: &mut Todos, text: &str) -> Vec<Step> {
    let (mut steps, mut words, mut at, mut is_blank) = (Vec::new(), String::new(), 0, true);
    while at < text.len() {
        let line = line_at(text, at);
        let next = at + line.len();
        let is_behind_blank = std::mem::replace(&mut is_blank, line.trim().is_empty());
        let bare = line.trim_end();
        let below = line_at(text, next);
        if bare.ends_with(BUTTON)
            || bare.ends_with('?') && below.trim() == BUTTON
            || NOTICES.contains(&bare)
            || todos.renew(bare)
        {
            at = if below.trim() == BUTTON { next + below.len() } else { next };
            is_blank = true;
            continue;
        }
        let line = SUMMARIZED.iter().find_map(|notice| line.strip_prefix(notice)).unwrap_or(line);
        let (mut calls, mut end) = (calls(todos, line.trim_end()), next);
        if is_behind_blank && !calls.is_empty() {
            if let Some(start) = line.strip_prefix(RAN) {
                // A command may have several lines.
                if !below.trim().is_empty() {
                    end = text[next..].find("\n\n").map_or(text.len(), |blank| next + blank + 1);
                }
                let command = format!("{start}{}", &text[next..end]);
                calls = vec![Step::call("run_in_terminal", object([("command", string(command.trim()))]), None)];
            }
            add_words(&mut steps, &mut words);
            steps.extend(calls);
            (at, is_blank) = (behind_empty_fences(text, end), true);
            continue;
        }
        words.push_str(line);
        at = next;
    }
    add_words(&mut steps, &mut words);
    steps
}

fn add_words(steps: &mut Vec<Step>, words: &mut String) {
    let words = std::mem::take(words);
    if !words.trim().is_empty() {
        steps.push(Step::Text(words.trim().to_owned()));
    }
}

/// Where the empty fences end that the copy has in place of an edit.
fn behind_empty_fences(text: &str, from: usize) -> usize {
    let mut end = from;
    loop {
        let rest = text[end..].trim_start();
        let marks = rest.len() - rest.trim_start_matches('`').len();
        let inside = rest.get(marks..).filter(|_| marks >= FENCE.len()).map(str::trim_start);
        let Some(behind) = inside.and_then(|inside| inside.strip_prefix(&rest[..marks])) else { return end };
        end = text.len() - behind.len();
    }
}

impl Step {
    fn call(name: &str, arguments: Json<'static>, result: Option<String>) -> Self {
        Self::Call { name: name.to_owned(), arguments, result }
    }
}

/// The calls of which a line tells.
fn calls(todos: &mut Todos, line: &str) -> Vec<Step> {
    if line.starts_with(RAN) {
        return vec![Step::call("run_in_terminal", object([]), None)];
    }
    let told = |rest: &str| Some(rest.trim_start_matches([',', ' ']).to_owned()).filter(|rest| !rest.is_empty());
    if let Some((query, rest, tool)) = SEARCHES.iter().find_map(|(start, tool, sign)| {
        let (query, rest) = line.strip_prefix(start)?.split_once(*sign)?;
        Some((query, rest, tool))
    }) {
        return vec![Step::call(tool, object([("query", string(query))]), told(rest))];
    }
    if let Some(title) = line.strip_prefix(USING).and_then(|rest| rest.strip_suffix('"')) {
        let is_title = title.len() <= MAX_NAME && title.chars().all(|one| one.is_alphanumeric() || " -_".contains(one));
        let name = title.to_lowercase().replace(' ', "_");
        return is_title.then(|| Step::call(&name, object([]), None)).into_iter().collect();
    }
    if let Some((tool, key)) = FILES.iter().find_map(|(start, tool, key)| {
        let is_link = line.strip_prefix(start)?.contains(LINK);
        is_link.then_some((*tool, *key))
    }) {
        let rest = line.rsplit_once(')').map_or("", |(_, rest)| rest);
        let paths = links(line);
        return paths.into_iter().map(|path| Step::call(tool, object([(key, string(path))]), told(rest))).collect();
    }
    todos.task(line).into_iter().collect()
}

/// The paths in the links of a line that have no name.
fn links(line: &str) -> Vec<String> {
    let address = |part: &str| {
        let address = part.split_once(')')?.0;
        let path = address.strip_prefix("file://").unwrap_or(address);
        // The lines follow a `#`. A Windows path has a slash before its drive.
        let path = without_escapes(path.split(['#', '?']).next().unwrap_or_default());
        let is_drive = path.as_bytes().get(2) == Some(&b':');
        Some(path.strip_prefix('/').filter(|_| is_drive).unwrap_or(&path).to_owned())
    };
    line.split(LINK).skip(1).filter_map(address).collect()
}

/// The tasks of a chat, as far as lines named them.
#[derive(Debug, Default)]
pub(super) struct Todos(Vec<(usize, String, &'static str)>);

impl Todos {
    /// The call in `Starting: *Fire it* (1/5)` or `Starting (1/5) *Fire it*`. A task that begins ends the one before.
    fn task(&mut self, line: &str) -> Option<Step> {
        let (rest, status) = TASKS.iter().find_map(|(start, status)| Some((line.strip_prefix(start)?, *status)))?;
        let (before, inside) = rest.split_once('*')?;
        let (title, after) = inside.rsplit_once('*')?;
        let place = [before, after].iter().find_map(|part| part.trim_matches([' ', ':']).strip_prefix('('))?;
        let (number, count) = place.strip_suffix(')')?.split_once('/')?;
        let (number, _): (usize, usize) = (number.parse().ok()?, count.parse().ok()?);
        self.0.iter_mut().filter(|task| task.2 == TASKS[0].1).for_each(|task| task.2 = TASKS[1].1);
        self.0.retain(|task| task.0 != number);
        self.0.push((number, title.to_owned(), status));
        self.0.sort_by_key(|task| task.0);
        let tasks =
            self.0.iter().map(|(_, title, status)| object([("title", string(title)), ("status", string(*status))]));
        Some(Step::call("manage_todo_list", object([("todoList", Json::Array(tasks.collect()))]), None))
    }

    /// Reads `Created 5 todos` and `Added 1 todo`. A new list replaces the old one.
    fn renew(&mut self, line: &str) -> bool {
        let Some((verb, count)) = line.split_once(' ') else { return false };
        let count = count.strip_suffix(" todos").or_else(|| count.strip_suffix(" todo"));
        let is_list = count.is_some_and(|count| count.parse::<usize>().is_ok());
        if is_list && verb == "Created" {
            self.0.clear();
        }
        is_list && matches!(verb, "Created" | "Added" | "Updated")
    }
}
