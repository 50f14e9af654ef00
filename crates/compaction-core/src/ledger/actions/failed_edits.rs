//! Edits that failed, until a later edit of the same file adds most of their lines.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use crate::json::Json;
use crate::ledger::terms::TextHashing;
use crate::message::{Body, Message};
use crate::text::prefix_utf16;
use crate::tools::added_lines;

/// Most lines of an edit that are compared with the edits after it.
const MOST_ADDED: usize = 400;
/// Deepest level of nested arguments that is searched for these lines.
const DEEPEST: usize = 6;
/// Arguments with the text that an edit replaces.
pub(in crate::ledger) const REPLACED: &[&str] = &["old", "search", "find"];
/// Arguments about an edit, unless they have several lines, and ends of the names of those with its file.
const ABOUT: &[&str] = &["command", "description", "explanation", "instruction", "toolsummary", "path", "file"];
const OF_FILE: &[&str] = &["path", "file", "filename"];

/// What a call changes in files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    /// The message that contains the call.
    pub(super) message: &'a Message,
    /// Whether it undoes an earlier change.
    pub(super) undoes: bool,
}

/// Edits that failed, by their files.
#[derive(Debug, Default, Clone)]
pub(super) struct FailedEdits<'a> {
    by_file: HashMap<String, FailedEdit, TextHashing>,
    /// The lines that the most recently read message adds. Several of its calls may fail.
    newest: Option<AddedLines<'a>>,
}

impl<'a> FailedEdits<'a> {
    /// Whether an edit of a file failed that no later edit replaced.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.by_file.contains_key(path)
    }

    /// Hashes of the lines that a call adds. They are read only if an edit failed.
    pub(super) fn lines_of(&mut self, change: Change<'a>, call_id: &str) -> Vec<u64> {
        let read = self.newest.take().filter(|read| std::ptr::eq(read.message, change.message));
        let read = self.newest.insert(read.unwrap_or_else(|| AddedLines::of(change.message)));
        read.by_call.get(call_id).cloned().unwrap_or_default()
    }

    /// Records that an edit failed that would have added these lines.
    pub(super) fn add(&mut self, path: &str, lines: &[u64]) {
        let failed = self.by_file.entry(path.to_owned()).or_default();
        failed.missing.extend(lines);
        failed.added = failed.missing.len();
        failed.is_retried = false;
    }

    /// Records a later edit of the file, which may write all of it. Returns whether it replaces the failed ones.
    pub(super) fn retry(&mut self, path: &str, lines: &[u64], is_whole: bool) -> bool {
        let is_replaced = self.by_file.get_mut(path).is_some_and(|failed| failed.retry(lines) || is_whole);
        if is_replaced {
            self.by_file.remove(path);
        }
        is_replaced
    }

    /// Removes the files that a later edit changed, and returns them.
    pub(super) fn take_retried(&mut self) -> Vec<String> {
        self.by_file.extract_if(|_, failed| failed.is_retried).map(|(path, _)| path).collect()
    }
}

/// An edit that failed, and no later edit has replaced it.
#[derive(Debug, Default, Clone)]
struct FailedEdit {
    /// The lines that it would have added and that no later edit of the file added.
    missing: HashSet<u64, TextHashing>,
    /// How many lines it would have added.
    added: usize,
    /// Whether a later edit of the file succeeded.
    is_retried: bool,
}

impl FailedEdit {
    /// Records a later edit of the file. Returns whether it replaces this one: it adds most of the lines.
    fn retry(&mut self, lines: &[u64]) -> bool {
        self.is_retried = true;
        for line in lines {
            self.missing.remove(line);
        }
        self.missing.len() * 2 <= self.added
    }
}

/// The lines that the calls of one message add, as hashes by the ids of the calls.
#[derive(Debug, Clone)]
struct AddedLines<'a> {
    message: &'a Message,
    by_call: HashMap<String, Vec<u64>, TextHashing>,
}

impl<'a> AddedLines<'a> {
    fn of(message: &'a Message) -> Self {
        let mut by_call: HashMap<String, Vec<u64>, TextHashing> = HashMap::default();
        if let Body::Assistant(answer) = &*message.read_body() {
            for call in answer.tool_calls() {
                let lines = by_call.entry(call.id.clone()).or_default();
                let hashing = TextHashing::default();
                call.arguments.iter().for_each(|arguments| {
                    added_by(arguments, usize::MAX, &mut |line| {
                        if lines.len() < MOST_ADDED {
                            lines.push(hashing.hash_one(line));
                        }
                    });
                });
            }
        }
        Self { message, by_call }
    }
}

/// Passes on the lines that the arguments of a call add to files, reading at most `units` UTF-16 units of each text.
/// Short lines, such as brackets, are in most edits and are skipped.
pub(in crate::ledger) fn added_by(arguments: &Json<'_>, units: usize, on_line: &mut dyn FnMut(&str)) {
    added_within(arguments, DEEPEST, units, on_line);
}

/// Whether an argument is about an edit and no part of it.
pub(in crate::ledger) fn is_about(name: &str, text: &str) -> bool {
    let is_of_file = || OF_FILE.iter().any(|end| name.to_lowercase().ends_with(end));
    !text.contains('\n') && (begins_with(name, ABOUT) || is_of_file())
}

/// Whether the name of an argument begins with one of `starts`.
pub(in crate::ledger) fn begins_with(name: &str, starts: &[&str]) -> bool {
    let name = name.to_lowercase();
    starts.iter().any(|start| name.starts_with(start))
}

fn added_within(value: &Json<'_>, depth: usize, units: usize, on_line: &mut dyn FnMut(&str)) {
    match value {
        Json::String(text) => {
            added_lines(prefix_utf16(text, units)).into_iter().filter(|line| line.len() > 3).for_each(on_line)
        }
        Json::Array(items) if depth > 0 => {
            // A patch may be an argument of a program whose name is beside it.
            let is_text = |item: &Json<'_>| item.as_str().is_some_and(|text| text.contains('\n'));
            let has_text = items.iter().any(is_text);
            let items = items.iter().filter(|item| !has_text || item.as_str().is_none() || is_text(item));
            items.for_each(|item| added_within(item, depth - 1, units, on_line));
        }
        Json::Object(members) if depth > 0 => {
            let is_replaced = |name: &str, value: &Json<'_>| {
                value.as_str().is_some_and(|text| begins_with(name, REPLACED) || is_about(name, text))
            };
            let added = members.iter().filter(|(name, value)| !is_replaced(name, value));
            added.for_each(|(_, value)| added_within(value, depth - 1, units, on_line));
        }
        _ => {}
    }
}
