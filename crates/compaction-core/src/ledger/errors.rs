//! Errors: which line of an output tells best why something failed, and what failed so far.

use std::collections::HashMap;

use super::ErrorRecord;
use super::notes::Place;
use super::subject::LONGEST_TEXT;
use super::text::{clip, one_line};
use crate::text::{prefix_utf16, suffix_utf16};

const ERROR_WORDS: &[&str] = &[
    "error",
    "failed",
    "failure",
    "exception",
    "panicked",
    "not found",
    "cannot",
    "can't",
    "no such",
    "denied",
    "undefined",
    "unexpected",
    "fatal",
    "could not",
    "unable",
    "refused",
    "timed out",
    "timeout",
];
/// What programs add below an output to tell how a command ended.
const TRAILERS: &[&str] = &["exited with code", "exit code", "exit status", "exited with status"];
/// What stands for an error without words.
pub(super) const NO_OUTPUT: &str = "no output";
/// UTF-16 units at either end of a result in which its error is looked for.
const SEARCHED: usize = 6000;
/// Errors that are kept; the oldest resolved ones go first.
const MOST_ERRORS: usize = 400;

/// The line of an output that tells best why it failed: the first with a word of failure, else the
/// last that says anything; on one line, at most 240 UTF-16 units.
pub fn error_line(output: &str) -> String {
    let (start, end) = (prefix_utf16(output, SEARCHED), suffix_utf16(output, SEARCHED));
    let lines = || start.lines().chain(end.lines()).filter(|line| !line.trim().is_empty());
    let tells = |line: &&str| has_any_word(line, ERROR_WORDS);
    let is_told_trailer = |line: &&str| is_trailer(line);
    let told = lines().find(|line| tells(line) && !is_trailer(line));
    let last = || lines().rfind(|line| !is_told_trailer(line)).or_else(|| lines().next_back());
    clip(&one_line(told.or_else(last).unwrap_or(NO_OUTPUT)), LONGEST_TEXT)
}

fn has_any_word(line: &str, words: &[&str]) -> bool {
    let line = prefix_utf16(line, SEARCHED).to_lowercase();
    words.iter().any(|word| line.contains(word))
}

/// Whether a line only tells how a command ended.
pub(super) fn is_trailer(line: &str) -> bool {
    has_any_word(line, TRAILERS)
}

/// Whether an output that is not marked as failed ends with a code other than 0.
pub(super) fn ends_with_failure(output: &str) -> bool {
    let last = suffix_utf16(output, 200).trim_end().lines().next_back().unwrap_or_default();
    let code = || last.rsplit(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty())?.parse::<u32>().ok();
    is_trailer(last) && last.len() < 80 && code().is_some_and(|code| code != 0)
}

/// The errors collected so far.
#[derive(Debug, Default)]
pub(super) struct Errors {
    list: Vec<ErrorRecord>,
    by_subject: HashMap<String, Vec<usize>>,
}

impl Errors {
    pub(super) fn restore(&mut self, errors: &[ErrorRecord]) {
        for error in errors {
            self.by_subject.entry(subject_key(error.subject.as_deref())).or_default().push(self.list.len());
            self.list.push(error.clone());
        }
    }

    /// Notes that `subject` failed with `line`; `is_resolved` where nothing waits for it to succeed.
    pub(super) fn add(&mut self, subject: Option<&str>, line: &str, place: Place<'_>, is_resolved: bool) {
        let known = self.by_subject.entry(subject_key(subject)).or_default();
        // A subject is blocked by its newest error; older ones of it are history.
        for index in known.iter() {
            self.list[*index].is_resolved = true;
        }
        if let Some(index) = known.iter().find(|index| self.list[**index].line == line) {
            let error = &mut self.list[*index];
            error.is_resolved = is_resolved;
            error.times = error.times.saturating_add(1);
            error.position = place.position;
            return place.entry.into_iter().for_each(|id| error.sources.add(id));
        }
        // One that fails in ever new words cannot make its list long to look through.
        if known.len() < MOST_ERRORS {
            known.push(self.list.len());
        }
        let (subject, line, position) = (subject.map(str::to_owned), line.to_owned(), place.position);
        self.list.push(ErrorRecord { subject, line, is_resolved, times: 1, position, sources: place.sources() });
    }

    /// Notes that `subject` succeeded.
    pub(super) fn resolve(&mut self, subject: Option<&str>) {
        for index in self.by_subject.get(&subject_key(subject)).into_iter().flatten() {
            self.list[*index].is_resolved = true;
        }
    }

    pub(super) fn finish(mut self) -> Vec<ErrorRecord> {
        self.list.sort_by_key(|error| error.position);
        let mut excess = self.list.len().saturating_sub(MOST_ERRORS);
        self.list.retain(|error| {
            let goes = excess > 0 && error.is_resolved;
            excess -= usize::from(goes);
            !goes
        });
        let excess = self.list.len().saturating_sub(MOST_ERRORS);
        self.list.split_off(excess)
    }
}

/// A request to the model has no subject, and no path or command is a lone line end.
fn subject_key(subject: Option<&str>) -> String {
    subject.unwrap_or("\n").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_why_is_found() {
        for (output, line) in [
            (
                "ssh: connect to host gate port 22: Connection timed out\n\nCommand exited with code 255",
                "ssh: connect to host gate port 22: Connection timed out",
            ),
            ("one\ntwo\n\nCommand exited with code 3", "two"),
            ("Command exited with code 3", "Command exited with code 3"),
            ("a\nerror: b\nc", "error: b"),
            ("", "no output"),
        ] {
            assert_eq!(error_line(output), line);
        }
    }

    #[test]
    fn an_output_may_say_that_it_failed() {
        for (output, fails) in [
            ("x\n\nCommand exited with code 2", true),
            ("x\nProcess exited with status: 0", false),
            ("exit code: 1\n", true),
            ("the exit code is told below", false),
            ("", false),
        ] {
            assert_eq!(ends_with_failure(output), fails, "{output}");
        }
    }
}
