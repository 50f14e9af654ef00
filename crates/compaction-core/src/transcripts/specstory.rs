//! Tool work in the messages of SpecStory's Markdown.
//!
//! Later versions mark it: `<tool-use data-tool-type="shell" data-tool-name="Bash">`. Versions between name the tool in a
//! line, `Tool use: **Bash**`. Early versions mark nothing, and give each call a message of its own.

use std::collections::{HashMap, HashSet};

use crate::formats::node::{object, string};
use crate::json::Json;
use crate::ledger::file_names;
use crate::tools::edits_files;

const OPEN: &str = "<tool-use ";
const CLOSE: &str = "</tool-use>";
const DETAILS: &str = "<details>";
const DETAILS_END: &str = "</details>";
const SUMMARY: &str = "<summary>";
const SUMMARY_END: &str = "</summary>";
/// Maximum bytes of a summary. It can hold a command.
const MAX_SUMMARY: usize = 16 << 10;
const RULE: &str = "---";
const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const THINK_SUMMARY: &str = "<summary>Thought Process</summary>";
const TOOL_USE: &str = "Tool use: **";
/// Between the parts of a summary.
const DOT: &str = " • ";
/// The name of a tool that a message about its failure does not tell.
const UNKNOWN: &str = "unknown";
const SHELLS: [&str; 4] = ["bash", "sh", "shell", "zsh"];
/// States that mean that a call had no success.
const FAILED: [&str; 6] = ["error", "failed", "cancelled", "canceled", "rejected", "reject"];
/// How summaries of Cursor's tools begin, the tools, and the argument that follows.
const LABELS: [(&str, &str, &str); 14] = [
    ("Read file: ", "read_file", "target_file"),
    ("Edit file: ", "edit_file", "target_file"),
    ("Apply patch for ", "apply_patch", "target_file"),
    ("Run command: ", "run_terminal_cmd", "command"),
    ("Grep search for ", "grep_search", "query"),
    ("Grep for ", "grep", "pattern"),
    ("Searched codebase ", "codebase_search", "query"),
    ("Searched files ", "file_search", "query"),
    ("Searched for files ", "file_search", "query"),
    ("Searched web ", "web_search", "query"),
    ("Glob pattern: ", "glob_file_search", "pattern"),
    ("Listed current directory", "list_dir", ""),
    ("Listed directory ", "list_dir", "path"),
    ("Fetched rules", "fetch_rules", ""),
];
/// Messages of Cursor in the place of a call that failed.
const FAILURES: [&str; 2] = ["Cancelled", "An unknown error occurred"];
const NOT_FOUND: &str = "Could not find file '";
const NOT_CALLED: &str = "Error calling tool";
const TIMED_OUT: &str = "Tool call timed out after ";

/// A part of a message of the model.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Thought(String),
    Call(Call),
}

impl Piece {
    fn failure(&self) -> Option<Call> {
        let Piece::Text(text) = self else { return None };
        failure(text.trim())
    }
}

/// A call of a tool with its result.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    arguments: Vec<(String, Json<'static>)>,
    /// Their names: a block may have as many as it has lines.
    names: HashSet<String>,
    pub(super) result: String,
    pub(super) is_error: bool,
}

impl Call {
    fn new(name: &str) -> Self {
        Self { name: unescaped(name), ..Self::default() }
    }

    fn failed(name: &str, message: &str) -> Self {
        Self { result: message.to_owned(), is_error: true, ..Self::new(name) }
    }

    fn has(&self, key: &str) -> bool {
        self.names.contains(key)
    }

    /// Sets an argument that is not set yet.
    fn set(&mut self, key: &str, value: impl Into<String>) {
        if !key.is_empty() && self.names.insert(key.to_owned()) {
            self.arguments.push((key.to_owned(), string(value)));
        }
    }

    /// The arguments as an object.
    pub(super) fn arguments(&mut self) -> Json<'static> {
        Json::Object(std::mem::take(&mut self.arguments).into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    fn path(&self) -> Option<&str> {
        let paths = self.arguments.iter().filter(|(key, _)| key.ends_with("file") || key.ends_with("path"));
        paths.filter_map(|(_, value)| value.as_str()).next()
    }

    fn add_result(&mut self, text: &str) {
        if !self.result.is_empty() {
            self.result.push('\n');
        }
        self.result.push_str(text);
    }
}

/// What the messages before say about the next one.
#[derive(Debug, Default)]
pub(super) struct SpecStory {
    /// The paths that calls and the person named, by the name of the file; `None` if several files have it.
    files: HashMap<String, Option<String>>,
    /// The name of the file that the model's text directly before a message announces.
    announced: Option<String>,
    /// The fence that is open at the end of the last message.
    fence: Fence,
}

impl SpecStory {
    /// Takes a message of the person.
    pub(super) fn note_user(&mut self, text: &str) {
        self.announced = None;
        file_names(text).into_iter().for_each(|path| self.note_file(path));
    }

    /// The parts of a message of the model. `is_closed` tells whether a rule ends the message: early versions end all
    /// messages with one, and what has none may be incomplete. `is_rest` means that its start was read before.
    pub(super) fn pieces(&mut self, text: &str, is_closed: bool, is_rest: bool) -> Vec<Piece> {
        let whole = text.trim();
        let call = if is_rest {
            None
        } else {
            self.fence = Fence::default();
            let unmarked = early(whole, |diff| self.edited(diff)).filter(|_| is_closed);
            unmarked.or_else(|| named(whole))
        };
        let pieces = match call {
            Some(call) => vec![Piece::Call(call)],
            None => marked(text, &mut self.fence),
        };
        for piece in &pieces {
            match piece {
                Piece::Text(text) => self.announced = announced_in(text),
                Piece::Thought(_) => {}
                Piece::Call(call) => {
                    self.announced = None;
                    call.path().into_iter().for_each(|path| self.note_file(path));
                }
            }
        }
        pieces
    }

    fn note_file(&mut self, path: &str) {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        match self.files.get_mut(name) {
            // The person often gives the name only.
            Some(known) if known.as_deref() == Some(name) => *known = Some(path.to_owned()),
            Some(known) if path != name && known.as_deref() != Some(path) => *known = None,
            Some(_) => {}
            None => _ = self.files.insert(name.to_owned(), Some(path.to_owned())),
        }
    }

    /// The file that a diff without a name changes, if the text before it announces a file that is known or new. It can
    /// also name a file that is only a model for the change.
    fn edited(&self, diff: &str) -> Option<String> {
        let name = self.announced.as_ref()?;
        let is_new = || diff.lines().all(|line| line.starts_with('+') || line.trim().is_empty());
        let new = || is_new().then(|| name.clone());
        let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
        self.files
            .get(base)
            .map_or_else(new, |known| known.clone().or_else(|| Some(name.clone()).filter(|_| name != base)))
    }
}

/// The only file that the last sentence of a text names, if the sentence leads to what follows.
fn announced_in(text: &str) -> Option<String> {
    let line = text.trim_end().lines().next_back()?.strip_suffix([':', '：'])?;
    let sentence = line.rsplit_once(". ").map_or(line, |(_, sentence)| sentence);
    let mut names = file_names(sentence).into_iter();
    names.next().filter(|name| names.all(|other| other == *name)).map(str::to_owned)
}

/// The call that a message of early versions shows. `edited` finds the file that a diff changes.
fn early(text: &str, edited: impl Fn(&str) -> Option<String>) -> Option<Call> {
    if let Some(rest) = text.strip_prefix(DETAILS) {
        let body = rest.strip_suffix(DETAILS_END).filter(|body| !body.contains(DETAILS))?;
        return block("", "", body);
    }
    if let Some(path) = text.strip_prefix("Read file: ") {
        let mut call = Call::new("read_file");
        call.set("target_file", path);
        return Some(call).filter(|_| !path.contains('\n'));
    }
    if let Some(diff) = text.strip_prefix("```diff\n").and_then(|rest| rest.strip_suffix("\n```")) {
        let mut call = Call { result: diff.to_owned(), ..Call::new("edit_file") };
        call.set("target_file", edited(diff)?);
        // A line of a diff has a mark.
        return Some(call).filter(|_| !diff.contains("\n```"));
    }
    if let Some((command, rest)) = text.strip_prefix("```bash\n").and_then(|rest| rest.split_once("\n```\n")) {
        let output = rest.trim_start().strip_prefix("```\n")?.strip_suffix("```")?;
        let mut call = Call { result: output.trim_end().to_owned(), ..Call::new("run_terminal_cmd") };
        call.set("command", command);
        return Some(call);
    }
    failure(text)
}

/// The call that failed, of which a message of Cursor's says nothing else.
fn failure(text: &str) -> Option<Call> {
    if let Some((path, _)) = text.strip_prefix(NOT_FOUND).and_then(|rest| rest.split_once('\'')) {
        let mut call = Call::failed("read_file", text);
        call.set("target_file", path);
        return Some(call);
    }
    let is_whole = || FAILURES.contains(&text).then(|| Call::failed(UNKNOWN, text));
    stated_failure(text).or_else(is_whole)
}

/// The call that failed, as a line says that no model writes: `Error calling tool 'grep'.`.
fn stated_failure(line: &str) -> Option<Call> {
    let time = line.strip_prefix(TIMED_OUT).and_then(|time| time.strip_suffix("ms"));
    if time.is_some_and(|time| time.bytes().all(|byte| byte.is_ascii_digit())) {
        return Some(Call::failed(UNKNOWN, line));
    }
    let name = line.strip_prefix(NOT_CALLED)?.strip_suffix('.')?;
    let quoted = name.strip_prefix(" '").and_then(|name| name.strip_suffix('\''));
    let name = quoted.or(name.is_empty().then_some(UNKNOWN))?;
    Some(Call::failed(name, line))
}

/// The call of a message that begins with `Tool use: **Bash**`.
fn named(text: &str) -> Option<Call> {
    let (first, body) = text.split_once('\n').unwrap_or((text, ""));
    if !first.starts_with(TOOL_USE) {
        return None;
    }
    block("", "", &format!("{SUMMARY}{first}{SUMMARY_END}{body}"))
}

/// The parts of a message with marked calls and thoughts. Lines in fences are no marks.
fn marked(text: &str, fence: &mut Fence) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    let (mut start, mut at) = (0, 0);
    let (mut has_ends, mut has_thoughts) = (true, true);
    while at < text.len() {
        let rest = &text[at..];
        let line = &rest[..rest.find('\n').map_or(rest.len(), |end| end + 1)];
        let is_mark = !fence.is_open();
        if is_mark && has_ends && line.starts_with(OPEN) {
            match end_of_block(rest) {
                Some((end, next)) => {
                    let inner = &rest[line.find('>').map_or(line.len(), |end| end + 1)..end];
                    if let Some(call) = tag_of(line).and_then(|(kind, name)| block(kind, name, inner)) {
                        pieces.add_text(&text[start..at]);
                        pieces.add_call(call);
                        start = at + next;
                    }
                    at += next;
                    continue;
                }
                // No later block has an end either.
                None => has_ends = false,
            }
        } else if is_mark && has_thoughts && line.starts_with(THINK) {
            match rest.find(THINK_END) {
                Some(end) => {
                    pieces.add_text(&text[start..at]);
                    pieces.add_thought(&rest[THINK.len()..end]);
                    at += end + THINK_END.len();
                    start = at;
                    continue;
                }
                None => has_thoughts = false,
            }
        } else if let Some(call) = stated_failure(line.trim_end()).filter(|_| is_mark) {
            pieces.add_text(&text[start..at]);
            pieces.add_call(call);
            start = at + line.len();
        }
        fence.read(line);
        at += line.len();
    }
    pieces.add_text(&text[start..]);
    pieces.0
}

#[derive(Debug, Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    /// Adds a text without the rules that some versions write between the parts of a message.
    fn add_text(&mut self, text: &str) {
        let is_behind = !self.0.is_empty();
        let text = text.trim_matches('\n');
        let mut text = text.strip_prefix(RULE).filter(|rest| is_behind && rest.starts_with('\n')).unwrap_or(text);
        while let Some((first, rest)) = text.split_once("\n---\n").filter(|_| is_behind)
            && let Some(call) = failure(first.trim())
        {
            self.0.push(Piece::Call(call));
            text = rest;
        }
        let text = text.strip_suffix(RULE).filter(|rest| rest.ends_with('\n')).unwrap_or(text).trim_matches('\n');
        match failure(text).filter(|_| is_behind) {
            _ if matches!(text.trim(), "" | RULE) => {}
            Some(call) => self.0.push(Piece::Call(call)),
            None => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    fn add_thought(&mut self, text: &str) {
        let inner = text.strip_prefix(DETAILS).and_then(|text| text.strip_prefix(THINK_SUMMARY));
        let inner = inner.map_or(text, |text| text.trim_end().strip_suffix(DETAILS_END).unwrap_or(text)).trim();
        if !inner.is_empty() {
            self.0.push(Piece::Thought(inner.to_owned()));
        }
    }

    /// Some versions write each call twice, the second time without its contents. That one names the tool of a failure.
    fn add_call(&mut self, call: Call) {
        let is_bare = call.arguments.is_empty() && call.result.is_empty();
        match self.0.last_mut() {
            Some(Piece::Call(before)) if is_bare && before.name == call.name => {}
            Some(Piece::Call(before)) if is_bare && before.name == UNKNOWN => before.name = call.name,
            Some(before @ Piece::Text(_)) if is_bare => match before.failure() {
                Some(failed) => *before = Piece::Call(Call { name: call.name, ..failed }),
                None => self.0.push(Piece::Call(call)),
            },
            _ => self.0.push(Piece::Call(call)),
        }
    }
}

/// The fence that is open at a line.
#[derive(Debug, Default)]
struct Fence(usize);

impl Fence {
    fn is_open(&self) -> bool {
        self.0 > 0
    }

    fn read(&mut self, line: &str) {
        let line = line.trim();
        let marks = line.len() - line.trim_start_matches('`').len();
        let rest = &line[marks..];
        if self.0 == 0 && marks >= 3 && !rest.contains('`') {
            self.0 = marks;
        } else if self.0 > 0 && marks >= self.0 && rest.is_empty() {
            self.0 = 0;
        }
    }
}

/// Where the contents of the block at the start of `text` end, and where the text behind it begins.
///
/// An end in a fence counts if no other one follows, or if a new block begins behind it: earlier versions do not make
/// fences longer than those in their contents.
fn end_of_block(text: &str) -> Option<(usize, usize)> {
    let mut at = summary(text).map_or(0, |(_, end)| end);
    let mut fence = Fence::default();
    let mut inside = None;
    let mut is_behind = false;
    while at < text.len() {
        let line = &text[at..];
        let line = &line[..line.find('\n').map_or(line.len(), |end| end + 1)];
        if line.starts_with(OPEN) && is_behind {
            return inside;
        }
        if let Some(before) =
            line.trim_end().strip_suffix(CLOSE).filter(|before| matches!(before.trim(), "" | DETAILS_END))
        {
            let end = (at + before.len(), at + line.len());
            if !fence.is_open() {
                return Some(end);
            }
            (inside, is_behind) = (Some(end), true);
        } else {
            is_behind &= line.trim().is_empty();
        }
        fence.read(line);
        at += line.len();
    }
    inside
}

/// The type and the name in the tag of a block.
fn tag_of(line: &str) -> Option<(&str, &str)> {
    let value = |key: &str| line.split_once(key)?.1.split_once('"').map(|(value, _)| value);
    value("data-tool-type=\"").zip(value("data-tool-name=\"")).filter(|(_, name)| !name.is_empty())
}

/// The summary near the start of a block, and where it ends.
fn summary(text: &str) -> Option<(&str, usize)> {
    let start: usize = text.split_inclusive('\n').take(4).map(str::len).sum();
    let from = text[..start].find(SUMMARY)? + SUMMARY.len();
    let bytes = &text.as_bytes()[from..text.len().min(from + MAX_SUMMARY)];
    let end = memchr::memmem::find(bytes, SUMMARY_END.as_bytes())? + from;
    Some((&text[from..end], end + SUMMARY_END.len()))
}

/// Reads a block: its summary and its contents. `kind` and `name` are those of its tag; without a tag, the summary
/// names the tool.
fn block(kind: &str, name: &str, text: &str) -> Option<Call> {
    let (head, end) = summary(text).unwrap_or_default();
    let body = text[end..].trim_end();
    let body = body.strip_suffix(DETAILS_END).unwrap_or(body);
    let body = if end == 0 { body.trim_start().strip_prefix(DETAILS).unwrap_or(body) } else { body };
    let head = head.trim();
    let tool = head.strip_prefix(TOOL_USE).and_then(|head| head.split_once("**"));
    let (tool_name, told) = tool.map_or((None, head), |(name, told)| (Some(name), told));
    let told = told.strip_prefix(DOT).unwrap_or(told).trim();
    let label = LABELS.iter().find(|(start, ..)| told.starts_with(start));
    let name = Some(name).filter(|name| !name.is_empty()).or(tool_name).or(label.map(|(_, name, _)| *name))?;
    let is_list = told == "Todo List";
    let mut reader = BlockReader { call: Call::new(name), kind, is_list, ..BlockReader::default() };
    reader.read(body);
    let mut call = reader.end();
    match label {
        Some((start, _, key)) => call.tell(key, &told[start.len()..]),
        None => call.tell_values(kind, told),
    }
    Some(call)
}

impl Call {
    /// Reads what a summary of Cursor's says: `"x" in "src" • 3 matches`.
    fn tell(&mut self, key: &str, told: &str) {
        let told = if key == "command" { told } else { told.rsplit_once(DOT).map_or(told, |(told, _)| told) };
        let (value, place) = told.split_once("\" in \"").map_or((told, None), |(value, place)| (value, Some(place)));
        self.set(key, unescaped(value.trim().trim_matches('"')));
        if let Some(place) = place {
            self.set("path", unescaped(place.trim_end_matches('"')));
        }
    }

    /// Reads values in backticks, such as `path` or ` path `src` pattern `x``. Other words describe the call.
    fn tell_values(&mut self, kind: &str, told: &str) {
        let is_told = told.trim_start().starts_with('`') || told.contains(" `") && told.trim_end().ends_with('`');
        if !is_told {
            if !told.is_empty() {
                self.set("description", unescaped(told));
            }
            return;
        }
        if kind == "shell" {
            let command = told.trim().trim_matches('`');
            return self.set("command", unescaped(command));
        }
        let mut word = "";
        for (at, part) in told.split('`').enumerate() {
            if at % 2 == 0 {
                word = part.trim();
                continue;
            }
            let key = match word {
                "" if part.starts_with("http") => "url",
                "" if kind == "search" => "query",
                "" => "file_path",
                "in" => "include",
                word => word,
            };
            self.set(key, unescaped(part));
        }
    }
}

/// What the next fence of a block holds.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
enum Next {
    /// What the fence itself tells.
    #[default]
    Any,
    Arguments,
    Result,
}

/// Reads the contents of a block.
#[derive(Debug, Default)]
struct BlockReader<'a> {
    call: Call,
    kind: &'a str,
    next: Next,
    /// Whether the lines are arguments of the list `**Input:**`.
    is_input: bool,
    /// The argument whose value is the next fence.
    key: Option<&'a str>,
    /// Whether the next fence is a part of the patch, whose header was read.
    in_part: bool,
    patch: String,
    /// Whether the lines are tasks.
    is_list: bool,
    todos: Vec<Json<'static>>,
    has_contents: bool,
}

impl<'a> BlockReader<'a> {
    fn read(&mut self, body: &'a str) {
        let mut at = 0;
        while at < body.len() {
            let rest = &body[at..];
            let line = &rest[..rest.find('\n').map_or(rest.len(), |end| end + 1)];
            let mut fence = Fence::default();
            fence.read(line);
            at += line.len();
            if !fence.is_open() {
                self.line(line.trim_end_matches(['\r', '\n']));
                continue;
            }
            let start = at;
            let mut end = body.len();
            while at < body.len() {
                let rest = &body[at..];
                let next = &rest[..rest.find('\n').map_or(rest.len(), |end| end + 1)];
                fence.read(next);
                at += next.len();
                if !fence.is_open() {
                    end = at - next.len();
                    break;
                }
            }
            let info = line.trim().trim_start_matches('`');
            self.fence(info, body[start..end].strip_suffix('\n').unwrap_or(&body[start..end]));
        }
    }

    fn line(&mut self, line: &'a str) {
        let text = line.trim();
        let bold = text.strip_prefix("**").and_then(|text| text.strip_suffix("**")).unwrap_or(text);
        let value = |label: &str| text.strip_prefix(label).map(|value| value.trim().trim_matches('`'));
        let state = |label: &str| value(label).map(|value| value.trim_matches('*').to_lowercase());
        match bold {
            "" => return,
            "Parameters:" => return self.next = Next::Arguments,
            "Input:" => return self.is_input = true,
            "Result:" | "Output:" => return (self.next, self.is_input) = (Next::Result, false),
            "Error:" => {
                self.call.is_error = true;
                return (self.next, self.is_input) = (Next::Result, false);
            }
            "Agent task list:" | "Todo List:" => return self.is_list = true,
            "Apply failed" => self.call.is_error = true,
            _ => {}
        }
        if self.is_input
            && let Some((key, rest)) = text.strip_prefix("- ").and_then(|item| item.split_once(':'))
        {
            match rest.trim() {
                "" => self.key = Some(key),
                value => self.call.set(key, value.trim_matches('`')),
            }
            return;
        }
        let is_state = state("Status: ").or_else(|| state("User decision: "));
        if let Some(state) = is_state {
            self.call.is_error |= FAILED.contains(&state.as_str());
            return if FAILED.contains(&state.as_str()) {
                self.call.add_result(text)
            };
        }
        if let Some(item) = task(text).filter(|_| self.is_list) {
            return self.todos.push(item);
        }
        let labels = [
            ("Path: `", "file_path"),
            ("Directory: `", "dir_path"),
            ("Query: ", "query"),
            ("Explanation: ", "explanation"),
        ];
        if let Some((value, key)) = labels.iter().find_map(|(label, key)| Some((value(label)?, *key))) {
            return self.call.set(key, value);
        }
        if let Some((verb, path)) = bold.strip_suffix('`').and_then(|bold| bold.split_once(": `")) {
            let header = match verb {
                "Add" => "Add File",
                "Delete" => "Delete File",
                "Update" | "Modify" => "Update File",
                _ => "",
            };
            if !header.is_empty() {
                self.in_part = verb != "Delete";
                return self.patch.push_str(&format!("*** {header}: {path}\n"));
            }
        }
        let is_start = self.call.result.is_empty() && self.next == Next::Any;
        let in_ticks = text.len() > 2 && text.starts_with('`') && text.ends_with('`');
        if is_start && in_ticks && line.starts_with('`') {
            return self.call.set("command", text.trim_matches('`'));
        }
        if is_start && line.starts_with(' ') && line.contains('`') && !self.has_contents {
            self.has_contents = true;
            return self.call.tell_values(self.kind, text);
        }
        if is_start && self.kind == "shell" && !self.call.has("command") && !self.call.has("description") {
            return self.call.set("description", text);
        }
        let text = text.strip_prefix("Result: ").unwrap_or(line);
        self.call.add_result(text.trim_end());
    }

    fn fence(&mut self, info: &str, text: &str) {
        let next = std::mem::take(&mut self.next);
        if let Some(key) = self.key.take() {
            return self.call.set(key, text);
        }
        if next == Next::Result {
            return self.call.add_result(&unescaped(text));
        }
        let is_first = self.call.result.is_empty();
        let members = || match Json::parse(&unescaped(text)).ok()?.into_owned() {
            Json::Object(members) => Some(members),
            _ => None,
        };
        let is_write = edits_files(&self.call.name);
        let may_be_arguments = next == Next::Arguments || info == "json" && is_first && !is_write;
        if may_be_arguments
            && self.call.arguments.is_empty()
            && let Some(members) = members()
        {
            self.call.names.extend(members.iter().map(|(key, _)| key.to_string()));
            self.call.arguments.extend(members.into_iter().map(|(key, value)| (key.into_owned(), value)));
            return;
        }
        if SHELLS.contains(&info) && is_first && !is_write && !self.call.has("command") {
            return self.call.set("command", unescaped(text));
        }
        if std::mem::take(&mut self.in_part) {
            self.patch.push_str(text);
            return self.patch.push('\n');
        }
        let is_content = is_write && is_first && !matches!(info, "diff" | "text") && !self.call.has("content");
        if is_content && self.call.name.to_lowercase().contains("write") {
            return self.call.set("content", text);
        }
        self.call.add_result(&unescaped(text));
    }

    fn end(self) -> Call {
        let Self { mut call, patch, todos, .. } = self;
        if !patch.is_empty() {
            call.set("input", format!("*** Begin Patch\n{patch}*** End Patch"));
        }
        if !todos.is_empty() {
            call.names.insert("todos".to_owned());
            call.arguments.push(("todos".to_owned(), Json::Array(todos)));
        }
        if edits_files(&call.name) && call.path().is_none() && !call.has("input") {
            let path = path_in_result(&call.result).map(str::to_owned);
            path.into_iter().for_each(|path| call.set("file_path", path));
        }
        call
    }
}

/// The file that the result of an edit of Claude Code names.
fn path_in_result(result: &str) -> Option<&str> {
    let line = result.lines().next()?;
    let created = line.strip_prefix("File created successfully at: ");
    let path = created.or_else(|| line.strip_prefix("The file ")?.split_once(" has been ").map(|(path, _)| path))?;
    let path = path.split(" (").next()?.trim();
    (!path.is_empty()).then_some(path)
}

/// A task of a list, with its state.
fn task(line: &str) -> Option<Json<'static>> {
    let (mark, rest) = line.strip_prefix("- [")?.split_once(']')?;
    let status = match mark {
        "" | " " => "pending",
        "x" | "X" => "completed",
        "-" | "⚡" => "in_progress",
        "!" => "cancelled",
        _ => return None,
    };
    // Claude Code's lists mark priorities.
    let content = rest.trim().trim_start_matches(['🔥', '🌡', '❄', '\u{fe0f}']).trim();
    Some(object([("content", string(content)), ("status", string(status))]))
}

/// A text without the entities that some versions write. A text that has any sign which they replace is no such text.
fn unescaped(text: &str) -> String {
    const ENTITIES: [(&str, &str); 7] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#96;", "`"),
        ("&#34;", "\""),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    let is_entity = |at: usize| ENTITIES.iter().any(|(entity, _)| text[at..].starts_with(entity));
    let is_escaped = !text.contains(['<', '>', '`']) && text.match_indices('&').all(|(at, _)| is_entity(at));
    if !is_escaped || !text.contains('&') {
        return text.to_owned();
    }
    ENTITIES.iter().fold(text.to_owned(), |text, (entity, sign)| text.replace(entity, sign))
}
