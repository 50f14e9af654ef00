//! Errors: whether an output tells of a failure, and what failed so far.

use std::collections::HashMap;

use super::ErrorRecord;
use super::error_forms::is_trailer;
use super::notes::Place;
use crate::text::suffix_utf16;

/// Errors that are kept; the oldest resolved ones go first.
const MOST_ERRORS: usize = 400;

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
