//! Reads results: whether they report a failure, and which file they show.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::table::{Failing, table};
use super::{FileAccess, FileUse, ToolAction};
use crate::json::Json;
use crate::phrases::{ENGLISH, listed};
use crate::text::{prefix_utf16, suffix_utf16};

/// Number of lines at either end of a result that may have an exit code.
const LINES: usize = 8;
/// UTF-16 units at either end of a result that are searched.
const UNITS: usize = 2_000;
/// Maximum bytes of a line that only reports how a command ended.
const LONGEST_LINE: usize = 120;
/// Maximum UTF-16 units of a result that is an error message. Files with the same beginning are longer.
const LONGEST_ERROR: usize = 1_500;
/// Beginnings of lines with an exit code, after brackets.
const STARTS: &[&str] = listed!(ENGLISH, "outcome: starts");
/// Whether one of them begins with a byte.
const BEGINS: [bool; 256] = {
    let mut begins = [false; 256];
    let mut at = 0;
    while at < STARTS.len() {
        begins[STARTS[at].as_bytes()[0] as usize] = true;
        at += 1;
    }
    begins
};
/// Begins the line with the id of an error of PowerShell, which is the same in all languages.
const ERROR_ID: &str = "+ FullyQualifiedErrorId";
/// The id of what a program prints for people beside its output. It says nothing about a failure.
const NO_ERROR: &str = "NativeCommandError";
/// Most lines of an error of PowerShell.
const LINES_OF_ERROR: usize = 14;
/// Text directly before an exit code.
const PHRASES: &[&str] = listed!(ENGLISH, "outcome: before codes");
/// Words with which a result says that the command still runs, in lower case.
const RUNNING: &[&str] = listed!(ENGLISH, "outcome: running");
static RUNNING_FINDERS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| RUNNING.iter().map(Finder::new).collect());
/// Words by which the result of an edit says that a part was not applied, in lower case.
const UNAPPLIED: &[&str] = listed!(ENGLISH, "outcome: unapplied");
/// Parts of an edit that results count.
const PARTS: &[&str] = listed!(ENGLISH, "outcome: parts");
const MISSING: &[&str] = listed!(ENGLISH, "outcome: missing");

/// Whether a result reports that its call failed (`true`) or succeeded (`false`). It looks at
/// `is_error`, at an exit code in words or JSON at the beginning or end, and at the words by which an
/// agent reports an error or refusal. `None` if the result reports neither. The word "error" in an
/// output means nothing.
pub fn failed(output: &str, is_error: bool) -> Option<bool> {
    let output = without_mark(output);
    reports(output, is_error, || parsed(output).as_ref().and_then(|json| in_json(json, output)))
}

/// What [`failed`] and [`printed_text`] say of a result, which is parsed once for both.
pub(crate) fn printed_and_failed(output: &str, is_error: bool) -> (Cow<'_, str>, Option<bool>) {
    let output = without_mark(output);
    let json = parsed(output);
    let failed = reports(output, is_error, || json.as_ref().and_then(|json| in_json(json, output)));
    (printed(json.and_then(Result::ok), output), failed)
}

/// What a result says about a command that still runs: the id that its agent gave it, or an empty text if the result
/// names none. `None` if the command has ended.
pub(crate) fn running(output: &str) -> Option<&str> {
    let head = prefix_utf16(output, UNITS);
    // Nearly all results have none of the words.
    let lower = head.to_ascii_lowercase();
    if !RUNNING_FINDERS.iter().any(|phrase| phrase.find(lower.as_bytes()).is_some()) {
        return None;
    }
    let lines = head.lines().take(LINES).take_while(|line| !is_output_mark(line));
    lines.filter(|line| line.len() <= UNITS / LINES).find_map(|line| {
        let lower = line.to_ascii_lowercase();
        let (at, phrase) = RUNNING.iter().find_map(|phrase| Some((lower.find(phrase)?, phrase)))?;
        let rest = line[at + phrase.len()..].trim_start_matches([':', ' ', '(', '`', '"', '#']);
        let end = rest.find(|one: char| !(one.is_ascii_alphanumeric() || "_-".contains(one))).unwrap_or(rest.len());
        let id = &rest[..end];
        Some(if id.bytes().any(|byte| byte.is_ascii_digit()) { id } else { "" })
    })
}

/// The output of a command, after the lines in which Codex says how it ran.
fn behind_head(output: &str) -> &str {
    const MARK: &str = "\nOutput:\n";
    let start = prefix_utf16(output, UNITS).find(MARK);
    let is_told = |at: &usize| output[..*at].contains("Wall time") && output[..*at].lines().count() <= LINES;
    start.filter(is_told).map_or(output, |at| &output[at + MARK.len()..])
}

/// The JSON of a result, if it may be an object.
fn parsed(output: &str) -> Option<Result<Json<'_>, ()>> {
    output.starts_with('{').then(|| Json::parse(output).map_err(|_| ()))
}

fn reports(output: &str, is_error: bool, in_json: impl FnOnce() -> Option<bool>) -> Option<bool> {
    if is_error || begins(output, Failing::Refused) || begins(output, Failing::Call) {
        return Some(true);
    }
    in_json().or_else(|| in_lines(output))
}

/// Whether a call that does `action` failed with this result.
pub fn has_failed(action: &ToolAction, output: &str, is_error: bool) -> bool {
    let reads = action.files().iter().any(|file| file.access == FileAccess::Read);
    match action {
        // A file may contain any text, so only a message in its place counts.
        ToolAction::Files(_) if reads => is_error || is_error_text(output),
        ToolAction::Files(_) | ToolAction::OpenFile(_) => {
            failed(output, is_error).unwrap_or_else(|| is_error_text(output))
        }
        _ => failed(output, is_error) == Some(true),
    }
}

/// The line in which the result of an edit says that a part of it was not applied, as when one of several blocks was
/// not found.
pub fn unapplied(output: &str) -> Option<&str> {
    let lines = || output.lines().map(str::trim).filter(|line| line.len() <= LONGEST_LINE && !is_of_file(line));
    let start = lines().take(LINES);
    let mut ends = start.chain(lines().rev().take(LINES));
    ends.find(|line| {
        let lower = line.to_lowercase();
        UNAPPLIED.iter().any(|words| lower.contains(words)) || counts_failed(&lower)
    })
}

/// Whether a line shows a part of a file: with its number, or as a line of a diff.
fn is_of_file(line: &str) -> bool {
    let number = line.split_once(['\t', '|', '\u{2192}', '\u{2502}']).map(|(number, _)| number.trim());
    let is_numbered = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    is_numbered || line.starts_with(['+', '-'])
}

/// Whether a line counts blocks that failed: `2 blocks applied, 1 failed`, `1 of 3 hunks failed`.
fn counts_failed(lower: &str) -> bool {
    let mut words = lower.split(|character: char| !character.is_alphanumeric());
    let is_part = |word: &str| PARTS.contains(&word.strip_suffix('s').unwrap_or(word));
    if !lower.contains("failed") || !words.any(is_part) {
        return false;
    }
    let before = lower.split("failed").next().unwrap_or_default();
    let mut numbers = before.rsplit(|character: char| !character.is_alphanumeric());
    numbers.find(|word| word.starts_with(|first: char| first.is_ascii_digit())).is_some_and(|count| count != "0")
}

/// The output of a tool, extracted from a result such as `{"output": "…", "metadata": …}`.
pub fn printed_text(output: &str) -> Cow<'_, str> {
    let output = without_mark(output);
    printed(parsed(output).and_then(Result::ok), output)
}

fn printed<'a>(json: Option<Json<'_>>, output: &'a str) -> Cow<'a, str> {
    let printed = json.and_then(|mut json| match json.take("output") {
        Some(Json::String(text)) => Some(Cow::Owned(text.into_owned())),
        _ => None,
    });
    printed.unwrap_or_else(|| Cow::Borrowed(behind_head(output)))
}

/// The files of a call that did `action`. `has_failed` calls [`has_failed`] for its result. Files of a failed call
/// do not count, nor do files that a command line could not read or write.
///
/// A file that only a command line or a result names gets the spelling of the same file in `known`:
/// agents that pass `/work/src/a.rs` to their tools write `src/a.rs` in their commands.
pub fn files_done<'a>(
    action: &ToolAction,
    output: &str,
    has_failed: impl FnOnce() -> bool,
    known: impl Fn() -> Box<dyn Iterator<Item = &'a str> + 'a>,
) -> Vec<FileUse> {
    match action {
        ToolAction::Run { files, .. } if files.is_empty() => Vec::new(),
        ToolAction::Run { files, .. } => files_of_run(files, &printed_text(output), known),
        _ if has_failed() || is_listing(output) => Vec::new(),
        ToolAction::OpenFile(access) => {
            let Some(path) = file_in_result(output) else { return Vec::new() };
            let relative = from_directory(output, path).filter(|relative| known().any(|known| known == *relative));
            vec![FileUse { access: *access, path: relative.unwrap_or(path).to_owned() }]
        }
        _ => action.files().to_vec(),
    }
}

/// The files of a command line that its output does not deny, as [`files_done`] spells them. `printed` is the text
/// of the output.
pub(crate) fn files_of_run<'a>(
    files: &[FileUse],
    printed: &str,
    known: impl Fn() -> Box<dyn Iterator<Item = &'a str> + 'a>,
) -> Vec<FileUse> {
    let spelled = |file: &FileUse| {
        let mut ends = known().filter(|path| is_end(path, &file.path));
        let one = ends.next().filter(|one| ends.all(|other| other == *one));
        FileUse { access: file.access, path: one.unwrap_or(&file.path).to_owned() }
    };
    files.iter().filter(|file| !denies_file(printed, &file.path)).map(spelled).collect()
}

/// Whether `path` ends with `end`. `end` must include a directory, because a bare name matches too many
/// files.
fn is_end(path: &str, end: &str) -> bool {
    end.contains('/') && path.strip_suffix(end).is_some_and(|directory| directory.ends_with('/'))
}

/// Whether a result says that `path` could not be read or written. The rest of the command may have succeeded.
fn denies_file(output: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_missing = |line: &str| {
        let lower = line.to_lowercase();
        MISSING.iter().any(|missing| lower.contains(missing))
    };
    let is_denial = |line: &str| line.contains(name) && is_missing(line);
    begins(output, Failing::Refused) || output.contains(name) && output.lines().any(is_denial)
}

/// The file that a result shows, in the form of SWE-agent: `[File: src/a.py (94 lines total)]`.
fn file_in_result(output: &str) -> Option<&str> {
    let shown = output.lines().filter_map(|line| line.trim().strip_prefix("[File: "));
    let mut paths = shown.filter_map(|line| line.rsplit_once(" (").map(|(path, _)| path.trim()));
    let open = || output.lines().filter_map(|line| line.trim().strip_prefix("(Open file: ")?.strip_suffix(')'));
    paths.next_back().or_else(|| open().next_back()).filter(|path| !path.is_empty() && *path != "n/a")
}

/// `path` relative to the directory that the result names.
fn from_directory<'a>(output: &str, path: &'a str) -> Option<&'a str> {
    let directory =
        output.lines().rev().find_map(|line| line.trim().strip_prefix("(Current directory: ")?.strip_suffix(')'));
    path.strip_prefix(directory?)?.strip_prefix('/')
}

/// The result without the first line in which some agents name the call.
fn without_mark(output: &str) -> &str {
    let output = output.trim_start();
    // Other results may be one long line.
    if !output.starts_with(['O', 'E', '[']) {
        return output;
    }
    let (first, rest) = output.split_once('\n').unwrap_or((output, ""));
    let first = first.trim_end();
    let is_mark = first == "OBSERVATION:"
        || first.starts_with("EXECUTION RESULT of [") && first.ends_with("]:")
        || first.starts_with('[') && first.ends_with("] Result:");
    if is_mark { rest.trim_start() } else { output }
}

fn begins(output: &str, of: Failing) -> bool {
    let first = output.bytes().next().unwrap_or_default().to_ascii_lowercase();
    if first.is_ascii() && !table().failures(of).any(|failure| failure.as_bytes().first() == Some(&first)) {
        return false;
    }
    let start = prefix_utf16(output, 100).to_lowercase();
    table().failures(of).any(|failure| {
        let is_word = failure.ends_with(char::is_alphanumeric);
        start.strip_prefix(failure).is_some_and(|rest| !is_word || !rest.starts_with(char::is_alphanumeric))
    })
}

fn is_error_text(output: &str) -> bool {
    let output = &*printed_text(output);
    let is_short = prefix_utf16(output, LONGEST_ERROR).len() == output.len();
    begins(output, Failing::Refused)
        || begins(output, Failing::Call)
        || is_short && (begins(output, Failing::File) || is_error_object(output))
}

/// `{"error": "…"}`: an object that contains only an error.
fn is_error_object(output: &str) -> bool {
    let json = output.starts_with('{').then(|| Json::parse(output).ok()).flatten();
    let members = json.as_ref().and_then(Json::as_object).unwrap_or_default();
    matches!(members, [(name, Json::String(_))] if name == "error")
}

/// Whether a result lists a directory instead of a file.
fn is_listing(output: &str) -> bool {
    without_mark(output).starts_with("Here's the files and directories up to")
}

/// Reads an exit code or error flag from JSON such as `{"output": "…", "metadata": {"exit_code": 1}}`.
/// Of JSON that is cut, only the end is read.
fn in_json(json: &Result<Json<'_>, ()>, output: &str) -> Option<bool> {
    let Ok(json) = json else {
        return ["\"exit_code\":", "\"exitCode\":"].into_iter().find_map(|name| {
            let (_, rest) = suffix_utf16(output, UNITS).rsplit_once(name)?;
            number(rest).map(|code| code != 0)
        });
    };
    let code = |json: &Json<'_>| {
        let codes = ["exit_code", "exitCode", "returncode", "return_code", "exit"].into_iter();
        codes.filter_map(|name| json.get(name)?.as_f64()).next()
    };
    let code = code(json).or_else(|| ["metadata", "extras"].into_iter().find_map(|name| code(json.get(name)?)));
    let flag = |name| json.get(name).and_then(Json::as_bool);
    let error = json.get("error").and_then(Json::as_str).is_some_and(|error| !error.is_empty());
    let marked = flag("isError").or_else(|| flag("is_error")).or_else(|| flag("success").map(|success| !success));
    code.map(|code| code != 0.0).or(marked).or_else(|| error.then_some(true))
}

/// Finds an exit code in the first lines, before the output begins, or in the last ones. Else it finds an error of
/// PowerShell at the beginning or the end of the output.
fn in_lines(output: &str) -> Option<bool> {
    let head = prefix_utf16(output, UNITS).lines().take(LINES).take_while(|line| !is_output_mark(line));
    let tail = || suffix_utf16(output, UNITS).trim_end().lines().rev().take(LINES);
    let code = head.filter_map(exit_code).next().or_else(|| tail().filter_map(exit_code).next());
    code.map(|code| code != 0).or_else(|| has_error_of_shell(behind_head(output)).then_some(true))
}

/// Whether an output begins or ends with an error of PowerShell. Between other lines, a log may show one.
fn has_error_of_shell(output: &str) -> bool {
    let is_error = |line: &str| line.trim_start().strip_prefix(ERROR_ID).is_some_and(|id| !id.contains(NO_ERROR));
    prefix_utf16(output, UNITS).lines().take(LINES_OF_ERROR).any(is_error)
        || suffix_utf16(output, UNITS).trim_end().lines().rev().take(LINES).any(is_error)
}

fn is_output_mark(line: &str) -> bool {
    let line = line.trim();
    ["output:", "<output>"].iter().any(|mark| starts_ignoring_case(line, mark))
}

/// Whether `line` starts with `start`, which is ASCII and in lower case, in any case.
fn starts_ignoring_case(line: &str, start: &str) -> bool {
    let (line, start) = (line.as_bytes(), start.as_bytes());
    line.first().map(u8::to_ascii_lowercase) == start.first().copied()
        && line.get(..start.len()).is_some_and(|line| line.eq_ignore_ascii_case(start))
}

/// The code in a line that only reports how a command ended.
fn exit_code(line: &str) -> Option<i64> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let line = line.trim().trim_start_matches(['[', '(', '<', '>', '*', ' ']);
    let may_start = line.bytes().next().is_some_and(|first| BEGINS[first.to_ascii_lowercase() as usize]);
    if !may_start || !STARTS.iter().any(|start| starts_ignoring_case(line, start)) {
        return None;
    }
    let lower = line.to_lowercase();
    PHRASES.iter().find_map(|phrase| {
        let (_, rest) = lower.split_once(phrase)?;
        number(rest)
    })
}

/// The number at the start of `text`, after punctuation.
fn number(text: &str) -> Option<i64> {
    let text = text.trim_start_matches([' ', ':', '=', '>', '"', '`', '*']);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let length = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
    text[..text.len() - digits.len() + length].parse().ok()
}
