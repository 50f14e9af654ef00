//! Errors: what failed so far.

use std::collections::HashMap;

use super::ErrorRecord;
use super::commands::purposes;
use super::notes::SourcePosition;
use super::terms::TextHashing;

/// Requests, and successes, without the error after which it no longer blocks anything.
const REQUESTS_WITHOUT: u64 = 3;
const SUCCESSES_WITHOUT: u64 = 24;
/// Most errors that are kept. The oldest resolved ones are dropped first.
const MOST_ERRORS: usize = 400;

/// The errors collected so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Errors {
    list: Vec<ErrorRecord>,
    by_subject: HashMap<String, Vec<usize>, TextHashing>,
    /// For each unresolved error, how many successes and requests came before it.
    open: HashMap<usize, Open>,
    /// All errors, by the purposes of their commands.
    by_purpose: HashMap<String, Vec<usize>, TextHashing>,
    successes: u64,
    requests: u64,
}

/// When an unresolved error happened.
#[derive(Debug, Default, Clone, Copy)]
struct Open {
    successes: u64,
    requests: u64,
}

impl Errors {
    pub(super) fn restore(&mut self, errors: &[ErrorRecord]) {
        for error in errors {
            self.by_subject.entry(subject_key(error.subject.as_deref()).to_owned()).or_default().push(self.list.len());
            if !error.is_resolved {
                self.wait(self.list.len(), error.subject.as_deref());
            }
            self.list.push(error.clone());
        }
    }

    /// Records that `subject` failed with `line`. `is_resolved` means that nothing waits for it to
    /// succeed.
    pub(super) fn add(&mut self, subject: Option<&str>, line: &str, place: SourcePosition<'_>, is_resolved: bool) {
        let known = self.by_subject.entry(subject_key(subject).to_owned()).or_default();
        // Only the newest error of a subject blocks it.
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
        // The list of a subject that fails with ever new lines stays short.
        if known.len() < MOST_ERRORS {
            known.push(self.list.len());
        }
        if !is_resolved {
            self.wait(self.list.len(), subject);
        }
        let (subject, line, position) = (subject.map(str::to_owned), line.to_owned(), place.position);
        self.list.push(ErrorRecord { subject, line, is_resolved, times: 1, position, sources: place.sources() });
    }

    /// Records that `subject` succeeded.
    pub(super) fn resolve(&mut self, subject: Option<&str>) {
        for index in self.by_subject.get(subject_key(subject)).into_iter().flatten() {
            self.list[*index].is_resolved = true;
            self.open.remove(index);
        }
    }

    /// Records that a command or tool succeeded. This resolves failed runs for the same purpose.
    pub(super) fn resolve_purposes(&mut self, succeeded: &[String]) {
        self.successes += 1;
        for purpose in succeeded {
            for index in self.by_purpose.remove(purpose).into_iter().flatten() {
                self.list[index].is_resolved = true;
                self.open.remove(&index);
            }
        }
    }

    /// Records that the error of `subject` at `index` is unresolved.
    fn wait(&mut self, index: usize, subject: Option<&str>) {
        self.open.insert(index, Open { successes: self.successes, requests: self.requests });
        for purpose in subject.map(purposes_of).unwrap_or_default() {
            let waiting = self.by_purpose.entry(purpose).or_default();
            if waiting.last() != Some(&index) {
                waiting.push(index);
            }
        }
    }

    /// Records a request of a person. Work that goes on without an error is not blocked by it.
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

/// The purposes of an error's subject: the programs of a command, or the tool of a call.
fn purposes_of(subject: &str) -> Vec<String> {
    match subject.split_once("({") {
        Some((tool, _)) if !tool.contains(char::is_whitespace) => vec![tool.to_owned()],
        _ => purposes(subject),
    }
}

/// The key of a subject. A request to the model has none; its key is a line end, which no path or
/// command is.
fn subject_key(subject: Option<&str>) -> &str {
    subject.unwrap_or("\n")
}
