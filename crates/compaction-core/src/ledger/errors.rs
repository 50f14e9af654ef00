//! Errors: what failed so far.

use std::collections::HashMap;

use super::ErrorRecord;
use super::commands::purposes;
use super::notes::SourcePosition;

/// Requests that follow an error without it, and successes, after which it blocks nothing any more.
const REQUESTS_WITHOUT: u64 = 3;
const SUCCESSES_WITHOUT: u64 = 24;
/// Errors that are kept; the oldest resolved ones go first.
const MOST_ERRORS: usize = 400;

/// The errors collected so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Errors {
    list: Vec<ErrorRecord>,
    by_subject: HashMap<String, Vec<usize>>,
    /// How many successes and requests came before the errors that nothing resolved.
    open: HashMap<usize, Open>,
    /// Errors by what their commands are for, resolved ones among them.
    by_purpose: HashMap<String, Vec<usize>>,
    successes: u64,
    requests: u64,
}

/// When an error happened that nothing resolved.
#[derive(Debug, Default, Clone, Copy)]
struct Open {
    successes: u64,
    requests: u64,
}

impl Errors {
    pub(super) fn restore(&mut self, errors: &[ErrorRecord]) {
        for error in errors {
            self.by_subject.entry(subject_key(error.subject.as_deref())).or_default().push(self.list.len());
            if !error.is_resolved {
                self.wait(self.list.len(), error.subject.as_deref());
            }
            self.list.push(error.clone());
        }
    }

    /// Notes that `subject` failed with `line`; `is_resolved` where nothing waits for it to succeed.
    pub(super) fn add(&mut self, subject: Option<&str>, line: &str, place: SourcePosition<'_>, is_resolved: bool) {
        let known = self.by_subject.entry(subject_key(subject)).or_default();
        // A subject is blocked by its newest error; older ones of it are history.
        for index in known.iter() {
            self.list[*index].is_resolved = true;
            self.open.remove(index);
        }
        if let Some(index) = known.iter().copied().find(|index| self.list[*index].line == line) {
            let error = &mut self.list[index];
            error.is_resolved = is_resolved;
            error.times = error.times.saturating_add(1);
            error.position = place.position;
            place.entry.into_iter().for_each(|id| error.sources.add(id));
            if !is_resolved {
                self.wait(index, subject);
            }
            return;
        }
        // One that fails in ever new words cannot make its list long to look through.
        if known.len() < MOST_ERRORS {
            known.push(self.list.len());
        }
        if !is_resolved {
            self.wait(self.list.len(), subject);
        }
        let (subject, line, position) = (subject.map(str::to_owned), line.to_owned(), place.position);
        self.list.push(ErrorRecord { subject, line, is_resolved, times: 1, position, sources: place.sources() });
    }

    /// Notes that `subject` succeeded.
    pub(super) fn resolve(&mut self, subject: Option<&str>) {
        for index in self.by_subject.get(&subject_key(subject)).into_iter().flatten() {
            self.list[*index].is_resolved = true;
            self.open.remove(index);
        }
    }

    /// Notes that a command or tool succeeded: what failed in a run for the same purpose is dealt with.
    pub(super) fn resolve_purposes(&mut self, succeeded: &[String]) {
        self.successes += 1;
        for purpose in succeeded {
            for index in self.by_purpose.remove(purpose).into_iter().flatten() {
                self.list[index].is_resolved = true;
                self.open.remove(&index);
            }
        }
    }

    /// Notes that the error at `index`, of `subject`, waits to be dealt with.
    fn wait(&mut self, index: usize, subject: Option<&str>) {
        self.open.insert(index, Open { successes: self.successes, requests: self.requests });
        for purpose in subject.map(purposes_of).unwrap_or_default() {
            let waiting = self.by_purpose.entry(purpose).or_default();
            if waiting.last() != Some(&index) {
                waiting.push(index);
            }
        }
    }

    /// Notes that a person asked for something: work that goes on without an error is not blocked by it.
    pub(super) fn note_request(&mut self) {
        self.requests += 1;
        let requests = self.requests;
        self.close(|open| requests - open.requests >= REQUESTS_WITHOUT);
    }

    fn close(&mut self, is_over: impl Fn(&Open) -> bool) {
        let list = &mut self.list;
        self.open.retain(|index, open| {
            let is_over = is_over(open);
            list[*index].is_resolved |= is_over;
            !is_over
        });
    }

    pub(super) fn finish(mut self) -> Vec<ErrorRecord> {
        let successes = self.successes;
        self.close(|open| successes - open.successes >= SUCCESSES_WITHOUT);
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

/// What an error's subject was for: the programs of a command, or the tool of a call.
fn purposes_of(subject: &str) -> Vec<String> {
    match subject.split_once("({") {
        Some((tool, _)) if !tool.contains(char::is_whitespace) => vec![tool.to_owned()],
        _ => purposes(subject),
    }
}

/// A request to the model has no subject, and no path or command is a lone line end.
fn subject_key(subject: Option<&str>) -> String {
    subject.unwrap_or("\n").to_owned()
}
