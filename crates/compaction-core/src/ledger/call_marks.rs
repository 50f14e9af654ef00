//! Marks of calls: lines that an export of a conversation writes in the place of a call, such as `Read [](file:///menu.rs)` or
//! `Ran rg "menu" -n`. They are no words of the model.

use std::borrow::Cow;

use super::text::{clip, quote};
use crate::phrases::{HARNESSES, listed};

/// Beginnings of lines that stand for a call in the text of an answer.
const MARKS_OF_CALLS: &[&str] = listed!(HARNESSES, "resuming: marks of calls");
/// Beginnings of those that tell a change of a file.
const MARKS_OF_CHANGES: &[&str] = listed!(HARNESSES, "call marks: changes");
/// What such an export writes right before the words of the model.
const BEFORE_WORDS: &[&str] = listed!(HARNESSES, "call marks: before words");
/// Begins a message that only names a command which was run.
const RAN: &str = "Ran ";
/// A link without a text, as the marks have it.
const LINK: &str = "[](file:";
/// Begins the mark of a tool.
const USING: &str = "Using \"";
/// How the marks of searches end.
const COUNTS: [&str; 4] = [" results", " result", " matches", " match"];
/// Beginnings of lines that count tasks.
const ADDED: [&str; 2] = ["Created ", "Added "];
/// Number of last parts of a path that are told.
const PARTS: usize = 3;
/// Longest command that is told, in UTF-16 units.
const LONGEST_COMMAND: usize = 100;
/// Most changed files that are told.
const MOST_CHANGED: usize = 32;

/// Whether a line begins like the mark of a call.
pub(super) fn begins_with_mark(line: &str) -> bool {
    MARKS_OF_CALLS.iter().any(|mark| line.starts_with(mark))
}

/// Whether a line is nothing but the mark of a call.
fn is_mark(line: &str) -> bool {
    line.contains(LINK) && begins_with_mark(line)
        || line.starts_with(USING) && line.ends_with('"')
        || is_count_of_tasks(line)
        || begins_with_mark(line) && COUNTS.iter().any(|count| line.ends_with(count))
}

/// Whether a line only counts tasks that were added: `Created 7 todos`.
fn is_count_of_tasks(line: &str) -> bool {
    let rest = ADDED.iter().find_map(|start| line.strip_prefix(start));
    let count = rest.and_then(|rest| rest.strip_suffix(" todos").or_else(|| rest.strip_suffix(" todo")));
    count.is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An answer without the marks of calls, and what they tell of changed files.
pub(super) fn without_marks(answer: Cow<'_, str>) -> (Cow<'_, str>, Vec<String>) {
    let has_marks = answer.lines().any(|line| is_mark(line.trim()));
    if !has_marks {
        return (answer, Vec::new());
    }
    let changed = answer.lines().filter_map(|line| changed(line.trim())).take(MOST_CHANGED).collect();
    let own = answer.lines().filter(|line| !is_mark(line.trim())).map(without_mark);
    (Cow::Owned(own.collect::<Vec<_>>().join("\n")), changed)
}

/// A line without what the export writes before its words.
fn without_mark(line: &str) -> &str {
    BEFORE_WORDS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

/// The change of a file that a mark tells: ``Created `shop/menu/list.rs` ``.
fn changed(line: &str) -> Option<String> {
    let start = MARKS_OF_CHANGES.iter().find(|mark| line.starts_with(**mark))?;
    let address = line[start.len()..].split([')', '#']).next()?;
    let path = address.trim_start_matches("file:").trim_start_matches('/');
    let parts = path.rmatch_indices('/').nth(PARTS - 1).map_or(0, |(at, _)| at + 1);
    let verb = start.split(' ').next()?;
    (!path.is_empty()).then(|| format!("{verb} `{}`", &path[parts..]))
}

/// What a message tells of a run, if it is only the mark of one.
pub(super) fn line_of_run(message: &str) -> Option<String> {
    command_that_ran(message).map(|command| format!("{RAN}{}", quote(&clip(command, LONGEST_COMMAND))))
}

/// The command, if a message is only the mark of a run: `Ran rg "menu" -n`. Words of the model about a run have no options.
fn command_that_ran(message: &str) -> Option<&str> {
    let command = message.trim().strip_prefix(RAN).filter(|command| !command.contains('\n'))?;
    let has_option = command.split_whitespace().skip(1).any(|word| {
        word.strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_alphanumeric() || one == '-'))
    });
    (has_option && command.starts_with(|one: char| one.is_ascii_lowercase() || one == '.')).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_calls_are_no_words() {
        let answer = "I look at the menu.\n\nRead [](file:///home/a/shop/menu.rs#1-1), lines 1 to 20\n\
                      Searched text for `drinks`, 9 results\nCreated 7 todos\nUsing \"Replace String in File\"\n\
                      Created [](file:///home/a/shop/src/menu/list.rs)\nSummarized conversation historyThe menu is split.";
        let (own, changed) = without_marks(answer.into());
        assert_eq!(own, "I look at the menu.\n\nThe menu is split.");
        assert_eq!(changed, ["Created `src/menu/list.rs`"]);
        for words in
            ["Using \"menu\" as a name keeps it short.", "Read the menu first.", "Searched text for drinks: none."]
        {
            assert_eq!(without_marks(words.into()).0, words);
        }
    }

    #[test]
    fn a_message_may_only_name_a_command() {
        assert_eq!(command_that_ran("Ran rg \"menu\" -n src"), Some("rg \"menu\" -n src"));
        for words in
            ["Ran all tests, none failed.", "Ran the importer twice - it is slow.", "Ran cargo test\nAll is well."]
        {
            assert_eq!(command_that_ran(words), None, "{words}");
        }
    }
}
