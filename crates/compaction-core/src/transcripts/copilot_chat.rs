//! Chats of Copilot in VS Code, as its command to copy all of a chat writes them: `NAME: …` and `GitHub Copilot: …`. A line
//! of its own tells of each call. The copy shows no outputs.

use super::shared::{Piece, Shared, add_said, line_at};
use super::tree::text_at;
use super::windsurf::without_escapes;
use crate::formats::node::{object, string};
use crate::json::Json;

/// The byte order mark.
const MARK: char = '\u{feff}';
const MODEL: &str = "GitHub Copilot:";
/// The end of the title of a session of Copilot CLI.
pub(super) const SESSION: &str = "Copilot CLI Session";
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
const NOTICES: [&str; 1] = [CHANGED];
const CHANGED: &str = "Made changes.";
const SUMMARIZED: [&str; 2] = ["Summarized conversation history", "Compacted conversation"];
/// Beginnings of lines of calls whose links name the files, their tools, and their arguments.
const FILES: [(&str, &str, &str); 6] = [
    ("Read ", "read_file", "filePath"),
    ("Created ", CREATED, "filePath"),
    ("Edited ", EDIT, "filePath"),
    ("Replacing ", EDIT, "filePath"),
    ("Generating patch ", EDIT, "filePath"),
    ("Checked ", CHECKED, "filePath"),
];
const EDIT: &str = "replace_string_in_file";
const CREATED: &str = "create_file";
const CHECKED: &str = "get_errors";
/// The tool that edits several files.
const EDITS: &str = "multi_replace_string_in_file";
/// Tools that edit, of whose calls the copy shows only the title.
const UNNAMED: [&str; 4] = [EDIT, EDITS, "apply_patch", EARLY_EDIT];
/// The tool of the links in headings, in early versions.
const EARLY_EDIT: &str = "insert_edit_into_file";
/// What the model says below such a link if it left the file as it was.
const UNCHANGED: [&str; 2] = ["No changes", "No change "];
/// Titles of tools that are not their names.
const TITLES: [(&str, &str); 1] = [("Multi-Replace String in Files", EDITS)];
/// Whole lines of calls, and their tools.
const LINES: [(&str, &str); 2] = [
    ("Checked background terminal output", "get_terminal_output"),
    ("Got last terminal command", "terminal_last_command"),
];
/// The same for what was searched, with the signs around it.
const SEARCHES: [(&str, &str, char); 5] = [
    ("Searched for files matching `", "file_search", '`'),
    ("Searched text for `", "grep_search", '`'),
    ("Searched for text `", "grep_search", '`'),
    ("Searched for regex `", "grep_search", '`'),
    ("Searched codebase for \"", "semantic_search", '"'),
];
const RAN: &str = "Ran terminal command: ";
/// A call that runs code in a browser. The next line has the code.
const RAN_CODE: &str = "Ran Playwright code";
const WITH_CODE: &str = "Completed with input: ";
/// The line of a page that was opened in a browser, around its name.
const OPENED: (&str, char) = ("Opened `", '`');
/// Begins the line of a search without a match, of which the copy does not tell what it looked for.
const NO_MATCH: &str = "No matches found. Your search pattern might be excluded";
const USING: &str = "Using \"";
/// The start of a link without a name, which the program writes.
const LINK: &str = "[](";
/// Beginnings of lines about a task, and its state.
const TASKS: [(&str, &str); 2] = [("Starting", "in_progress"), ("Completed", "completed")];
const FENCE: &str = "```";

/// Whether a text begins like such a copy. Other texts may have a heading and such lines, too, but none of the program.
pub(super) fn begins(head: &str) -> bool {
    let lines = || head.trim_start_matches(MARK).lines().filter(|line| !line.trim().is_empty());
    let is_headed = lines().next().is_some_and(|line| line.starts_with('#'));
    let is_first = lines().find(|line| !line.starts_with('#')).is_some_and(begins_here);
    let is_of_program =
        |line: &str| NOTICES.contains(&line.trim_end()) || !calls(&mut Todos::default(), line.trim_end()).is_empty();
    is_first && lines().any(|line| line.starts_with(MODEL)) && (!is_headed || lines().any(is_of_program))
}

/// Whether the first line of a text begins such a copy.
pub(super) fn begins_here(line: &str) -> bool {
    let line = line.trim_start_matches(MARK);
    line.starts_with(MODEL) || person(line).is_some()
}

/// Whether a text consists of headings that a person wrote above a copy. A session of Copilot CLI has its own title.
pub(super) fn is_above(text: &str) -> bool {
    let mut lines = text.trim_start_matches(MARK).lines().filter(|line| !line.trim().is_empty());
    lines.all(|line| line.starts_with('#') && !line.trim_end().ends_with(SESSION))
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
    for step in steps(&mut shared.todos, without_heading_below(words)) {
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

/// A message without a heading as its last line. The person wrote it above the next copy.
fn without_heading_below(words: &str) -> &str {
    let text = words.trim_end();
    match text.rsplit_once("\n\n") {
        Some((before, last)) if last.trim_start().starts_with("# ") && !last.trim_start().contains('\n') => before,
        _ => words,
    }
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
    let is_changed = text.lines().any(|line| line.trim_end() == CHANGED);
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
        if calls.is_empty() {
            calls.extend(call_without_link(line.trim_end_matches(['\r', '\n'])));
        }
        if let Some(path) = headed_path(bare).filter(|_| is_changed && !is_unchanged(&text[next..])) {
            calls.push(Step::call(EARLY_EDIT, object([("filePath", string(path))]), None));
        }
        if is_behind_blank && !calls.is_empty() {
            if let Some(start) = line.strip_prefix(RAN) {
                // A command may have several lines.
                if !below.trim().is_empty() {
                    end = text[next..].find("\n\n").map_or(text.len(), |blank| next + blank + 1);
                }
                let command = format!("{start}{}", &text[next..end]);
                calls = vec![Step::call("run_in_terminal", object([("command", string(command.trim()))]), None)];
            } else if bare == RAN_CODE
                && let Some(start) = below.strip_prefix(WITH_CODE)
            {
                end = text[next..].find("\n\n").map_or(text.len(), |blank| next + blank + 1);
                let code = format!("{start}{}", &text[next + below.len()..end]);
                calls = vec![Step::call("run_playwright_code", object([("code", string(code.trim()))]), None)];
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
    name_files(&mut steps);
    steps
}

/// The path in a heading that is only a link with the name of a file: `### [glaze.ts](file:///kiln/glaze.ts)`.
fn headed_path(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(" [")?;
    let (name, address) = heading.strip_suffix(')')?.split_once("](")?;
    let path = address.starts_with("file://").then(|| path_in(address))?;
    path.ends_with(name).then_some(path)
}

/// Whether the model says below the heading of a file that it left the file as it was.
fn is_unchanged(below: &str) -> bool {
    UNCHANGED.iter().any(|start| below.trim_start().starts_with(start))
}

/// Names the files of edits that have none. The files that are checked next were edited, in an order that the copy does
/// not show, apart from those that were created.
fn name_files(steps: &mut [Step]) {
    let (mut edits, mut created): (Vec<usize>, Vec<String>) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < steps.len() {
        let checked: Vec<String> = steps[at..].iter().map_while(|step| step.path_of(CHECKED)).collect();
        if checked.is_empty() {
            created.extend(steps[at].path_of(CREATED));
            edits.extend(steps[at].is_unnamed_edit().then_some(at));
            at += 1;
            continue;
        }
        at += checked.len();
        let files: Vec<String> = checked.into_iter().filter(|path| !created.contains(path)).collect();
        let count = edits.len();
        for (number, edit) in edits.drain(..).enumerate().filter(|_| !files.is_empty()) {
            let place = if count < files.len() { number } else { number * files.len() / count };
            steps[edit].name_files(&files, place);
        }
        created.clear();
    }
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
    /// The path of a call of a tool.
    fn path_of(&self, tool: &str) -> Option<String> {
        match self {
            Self::Call { name, arguments, .. } if name == tool => text_at(arguments, &["filePath"]).map(str::to_owned),
            _ => None,
        }
    }

    fn is_unnamed_edit(&self) -> bool {
        matches!(self, Self::Call { name, arguments: Json::Object(members), .. }
            if members.is_empty() && UNNAMED.contains(&name.as_str()))
    }

    /// Gives an edit its file, or all files if its tool edits several.
    fn name_files(&mut self, files: &[String], place: usize) {
        let Self::Call { name, arguments, .. } = self else { return };
        let file = |path: &String| object([("filePath", string(path.as_str()))]);
        *arguments = match name == EDITS {
            true => object([("replacements", Json::Array(files.iter().map(file).collect()))]),
            false => file(&files[place]),
        };
    }

    fn call(name: &str, arguments: Json<'static>, result: Option<String>) -> Self {
        Self::Call { name: name.to_owned(), arguments, result }
    }
}

/// The calls of which a line tells.
fn calls(todos: &mut Todos, line: &str) -> Vec<Step> {
    if line.starts_with(RAN) {
        return vec![Step::call("run_in_terminal", object([]), None)];
    }
    if let Some((_, tool)) = LINES.iter().find(|(whole, _)| *whole == line) {
        return vec![Step::call(tool, object([]), None)];
    }
    if line == RAN_CODE {
        return vec![Step::call("run_playwright_code", object([]), None)];
    }
    if let Some(page) = line.strip_prefix(OPENED.0).and_then(|rest| rest.strip_suffix(OPENED.1)) {
        return vec![Step::call("open_browser_page", object([("page", string(page))]), None)];
    }
    if line.starts_with(NO_MATCH) {
        return vec![Step::call("grep_search", object([]), Some(line.to_owned()))];
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
        let known = TITLES.iter().find_map(|(known, name)| (*known == title).then(|| (*name).to_owned()));
        let name = known.unwrap_or_else(|| title.to_lowercase().replace([' ', '-'], "_"));
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

/// The call of which a line tells from whose links the copy has dropped everything: `Read `, `Read , lines 1 to 55`,
/// `Generating patch (19 lines) in `.
fn call_without_link(line: &str) -> Option<Step> {
    let (rest, tool) = FILES.iter().find_map(|(start, tool, _)| Some((line.strip_prefix(start)?, *tool)))?;
    let behind = rest.strip_prefix(", ").map(str::trim_end);
    let is_dropped = rest.is_empty() || behind.is_some_and(|behind| !behind.is_empty()) || rest.ends_with(" in ");
    is_dropped.then(|| Step::call(tool, object([]), behind.map(str::to_owned)))
}

/// The paths in the links of a line that have no name.
fn links(line: &str) -> Vec<String> {
    let address = |part: &str| Some(path_in(part.split_once(')')?.0));
    line.split(LINK).skip(1).filter_map(address).collect()
}

/// The path in the address of a link.
fn path_in(address: &str) -> String {
    let path = address.strip_prefix("file://").unwrap_or(address);
    // The lines follow a `#`. A Windows path has a slash before its drive.
    let path = without_escapes(path.split(['#', '?']).next().unwrap_or_default());
    let is_drive = path.as_bytes().get(2) == Some(&b':');
    path.strip_prefix('/').filter(|_| is_drive).unwrap_or(&path).to_owned()
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
