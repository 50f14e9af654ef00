//! Errors: what failed so far, and what no longer blocks the work.

mod lines;
mod remarks;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

pub use lines::error_line;
pub(super) use lines::{
    CAUSES, KIND_OF_ERROR, NO_OUTPUT, Worth, is_cause, is_frame, is_place, is_trailer, lines_with_causes,
    message_of_shell, says_what_lacks, worth,
};
use remarks::{clauses_of_success, excuses, goes_another_way, passes, tells_failure};

use super::ErrorRecord;
use super::actions::LONGEST_TEXT;
use super::commands::{OF_ALL_TESTS, core_command, is_check, is_goal, is_narrower, is_test, purposes, selected_tests};
use super::failing::Failing;
use super::names::ending;
use super::notes::SourcePosition;
use super::person::words_in_result;
use super::terms::TextHashing;
use super::text::{clip, one_line};
use crate::phrases::{HARNESSES, PROGRAMS, listed};
use crate::text::{base_name, utf16_len};
use crate::tools::is_interruption;

/// Requests without the error after which it no longer blocks anything.
const REQUESTS_WITHOUT: u64 = 2;
/// The same for a command that is a usual goal of work, such as a test, a build or a push.
const REQUESTS_WITHOUT_GOAL: u64 = 3;
/// The same for tests that failed by name. They fail until they run again, but a failure that nobody mentions for so
/// long is no longer part of the state.
const REQUESTS_WITHOUT_TESTS: u64 = 8;
/// Successes without the error after which it no longer blocks anything.
const SUCCESSES_WITHOUT: u64 = 24;
/// The same for a command that is not a usual goal of work. The work has found another way.
const SUCCESSES_WITHOUT_COMMAND: u64 = 8;
/// The same for a program that does not exist.
const SUCCESSES_WITHOUT_PROGRAM: u64 = 3;
/// Endings of errors about a missing program, in lower case.
const NO_PROGRAM: &[&str] =
    &["command not found", ": not found", "is not recognized as an internal or external command"];
/// Words of errors about a missing tool or skill, in lower case.
const NO_TOOLS: &[&str] = listed!(HARNESSES, "errors: no tools");
/// Beginnings of messages in the name of the model that tell why a request to it failed.
const FAILED_REQUESTS: &[&str] = listed!(HARNESSES, "errors: failed requests");
/// Words of errors about a missing file, in lower case.
const NO_FILE: &[&str] = &["file does not exist", "file not found", "no such file", "cannot find the file"];
/// Why a refused call blocks the work.
pub(crate) const REFUSED: &str = "the user refused it";
/// Why a call blocks the work that the tool itself refused because a list of ignored files names the file.
pub(crate) const SKIPPED: &str = "the tool skipped it: ";
/// The error of a call that a person interrupted without a word.
pub(crate) const INTERRUPTED: &str = "the user interrupted it";
/// Number of newest unresolved errors with which the words of the model and its commands are compared.
const MOST_COMPARED: usize = 64;
/// Most errors that are kept. The oldest resolved ones are dropped first.
const MOST_ERRORS: usize = 400;

/// The errors collected so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Errors {
    list: Vec<ErrorRecord>,
    by_subject: HashMap<String, Vec<usize>, TextHashing>,
    /// What is known of each unresolved error.
    open: BTreeMap<usize, OpenSince>,
    /// All errors, by the purposes of their commands.
    by_purpose: HashMap<String, Vec<usize>, TextHashing>,
    successes: u64,
    requests: u64,
    /// Subjects of refused calls that nothing has followed yet.
    refused: Vec<String>,
    /// Position of the newest error that was unresolved when it was recorded.
    newest: u64,
}

/// Whether the error is a call that a person or the tool refused, or that a person interrupted.
pub(crate) fn is_refused(error: &ErrorRecord) -> bool {
    error.line.starts_with(REFUSED) || error.line.starts_with(SKIPPED) || error.line == INTERRUPTED
}

/// When an unresolved error happened, and what it is about.
#[derive(Debug, Default, Clone, Copy)]
struct OpenSince {
    /// Successes and requests before it.
    successes: u64,
    requests: u64,
    /// Whether a program or tool is missing.
    lacks_program: bool,
    /// Whether its command is a usual goal of work.
    aims: bool,
}

impl Errors {
    pub(super) fn restore(&mut self, errors: &[ErrorRecord]) {
        for error in errors {
            self.by_subject.entry(subject_key(error.subject.as_deref()).to_owned()).or_default().push(self.list.len());
            if !error.is_resolved {
                self.wait(self.list.len(), error.subject.as_deref(), &error.line);
                self.newest = self.newest.max(error.position);
                let is_refusal = is_refused(error);
                self.refused.extend(error.subject.clone().filter(|_| is_refusal));
            }
            self.list.push(error.clone());
        }
    }

    /// Records that `subject` failed with `line`. `is_resolved` means that nothing depends on it.
    pub(super) fn add(&mut self, subject: Option<&str>, line: &str, place: SourcePosition<'_>, is_resolved: bool) {
        let known = self.by_subject.entry(subject_key(subject).to_owned()).or_default();
        if !is_resolved {
            self.newest = self.newest.max(place.position);
        }
        // Only the newest error of a subject blocks it.
        for index in known.iter() {
            self.list[*index].is_resolved = true;
            self.open.remove(index);
        }
        if let Some(index) = known.iter().copied().find(|index| self.list[*index].line == line) {
            let error = &mut self.list[index];
            error.is_resolved = is_resolved;
            error.failing = Failing::default();
            error.times = error.times.saturating_add(1);
            error.position = place.position;
            place.entry.into_iter().for_each(|id| error.sources.add(id));
            if !is_resolved {
                self.wait(index, subject, line);
            }
            return;
        }
        // Otherwise a subject that fails with ever new lines would grow its list.
        if known.len() < MOST_ERRORS {
            known.push(self.list.len());
        }
        if !is_resolved {
            self.wait(self.list.len(), subject, line);
        }
        let (subject, line, position) = (subject.map(str::to_owned), line.to_owned(), place.position);
        let (failing, sources) = (Failing::default(), place.sources());
        self.list.push(ErrorRecord { subject, line, failing, is_resolved, times: 1, position, sources });
    }

    /// Records what the newest error of `subject`, which happened at `position`, names as failing.
    pub(super) fn name_failing(&mut self, subject: &str, position: u64, failing: Failing) {
        let own = self.by_subject.get(subject_key(Some(subject))).into_iter().flatten();
        if let Some(index) = own.copied().find(|index| self.open.contains_key(index))
            && self.list[index].position == position
        {
            let cause = failing.cause_not_in(&self.list[index].line).unwrap_or_default().to_owned();
            self.list[index].failing = Failing { cause, ..failing };
        }
    }

    /// Records that `subject` succeeded.
    pub(super) fn resolve(&mut self, subject: Option<&str>) {
        for index in self.by_subject.get(subject_key(subject)).into_iter().flatten() {
            self.list[*index].is_resolved = true;
            self.open.remove(index);
        }
    }

    /// Records that a command or tool succeeded. This resolves earlier failures of the same purpose, but not those of tests
    /// that the `run` left out.
    pub(super) fn resolve_purposes(&mut self, succeeded: &[String], run: &TestRun) {
        self.successes += 1;
        for purpose in succeeded {
            let failed = self.by_purpose.remove(purpose).unwrap_or_default();
            let (left, over): (Vec<usize>, Vec<usize>) = failed
                .into_iter()
                .partition(|index| self.open.contains_key(index) && run.leaves_out(&self.list[*index]));
            for index in over {
                self.list[index].is_resolved = true;
                self.open.remove(&index);
            }
            if !left.is_empty() {
                self.by_purpose.insert(purpose.clone(), left);
            }
        }
    }

    /// Records that a commit, or the end of a merge or rebase, left no conflict behind.
    pub(super) fn resolve_conflicts(&mut self) {
        self.close_newest(|error, _| {
            let is_of_git = error.subject.as_deref().is_some_and(|subject| subject.contains("git "));
            is_of_git && CONFLICTS.iter().any(|words| error.line.contains(words))
        });
    }

    /// Records that a command or tool failed, with its purposes. Only the newest failure of a purpose blocks it, and that of
    /// tests that the `run` left out.
    pub(super) fn repeat_purposes(&mut self, failed: &[String], run: &TestRun) {
        let mut waiting = Vec::new();
        for purpose in failed {
            let Some(errors) = self.by_purpose.get_mut(purpose) else { continue };
            errors.retain(|index| self.open.contains_key(index));
            waiting.extend_from_slice(errors);
        }
        for index in waiting {
            let purposes = self.list[index].subject.as_deref().map(purposes_of).unwrap_or_default();
            if purposes.iter().all(|purpose| failed.contains(purpose)) && !run.leaves_out(&self.list[index]) {
                self.list[index].is_resolved = true;
                self.open.remove(&index);
            }
        }
    }

    /// Whether an unresolved failure has one of the purposes.
    pub(super) fn is_open(&self, purposes: &[String]) -> bool {
        let mut known = purposes.iter().filter_map(|purpose| self.by_purpose.get(purpose)).flatten();
        known.any(|index| self.open.contains_key(index))
    }

    /// Records that a file was deleted or restored. Commands that name it will not run again.
    pub(super) fn resolve_naming(&mut self, path: &str) {
        let name = base_name(path);
        if !name.contains('.') {
            return;
        }
        let list = &mut self.list;
        let is_name = |word: &str| base_name(word) == name;
        self.open.retain(|index, _| {
            let subject = list[*index].subject.as_deref().unwrap_or_default();
            let is_named = subject.split([' ', '"', '\'']).any(is_name);
            list[*index].is_resolved |= is_named;
            !is_named
        });
    }

    /// Records that the error of `subject` at `index` is unresolved.
    fn wait(&mut self, index: usize, subject: Option<&str>, line: &str) {
        let (lacks_program, aims) = (lacks_program(line), subject.is_some_and(aims));
        let open = OpenSince { successes: self.successes, requests: self.requests, lacks_program, aims };
        self.open.insert(index, open);
        for purpose in subject.map(purposes_of).unwrap_or_default() {
            let waiting = self.by_purpose.entry(purpose).or_default();
            if waiting.last() != Some(&index) {
                waiting.push(index);
            }
        }
    }

    /// Records that a file was read. It is no longer missing.
    pub(super) fn resolve_missing(&mut self, path: &str) {
        for index in self.by_subject.get(subject_key(Some(path))).into_iter().flatten() {
            let error = &mut self.list[*index];
            if self.open.contains_key(index) && has_one(&error.line, NO_FILE) {
                error.is_resolved = true;
                self.open.remove(index);
            }
        }
    }

    /// Records that a person refused a call with this result, and what they said in it. A call that failed before and
    /// was refused this time keeps its error.
    pub(super) fn refuse(&mut self, subject: &str, refusal: &str, place: SourcePosition<'_>) {
        let mut known = self.by_subject.get(subject_key(Some(subject))).into_iter().flatten();
        if known.any(|index| self.open.contains_key(index)) {
            return;
        }
        let line = match words_in_result(refusal, false) {
            Some(said) => clip(&format!("{REFUSED} and said: {}", one_line(&said)), LONGEST_TEXT),
            None if is_interruption(refusal) => INTERRUPTED.to_owned(),
            None => format!("{REFUSED} and did not say what to do instead"),
        };
        self.add(Some(subject), &line, place, false);
        self.refused.push(subject.to_owned());
    }

    /// Records that a tool did not make a change of `subject`, because the file is on the `list` of ignored files.
    pub(super) fn skip(&mut self, subject: &str, list: &str, place: SourcePosition<'_>) {
        self.add(Some(subject), &format!("{SKIPPED}{list}"), place, false);
        self.refused.push(subject.to_owned());
    }

    /// Records a call or a message of a person. Earlier refusals no longer block the work.
    pub(super) fn go_on(&mut self) {
        for subject in std::mem::take(&mut self.refused) {
            self.resolve(Some(&subject));
        }
    }

    /// Records what the model said right after the message at `since`. Later errors that it calls expected or harmless
    /// block nothing.
    pub(super) fn read_remark(&mut self, text: &str, since: u64) {
        if self.open.is_empty() || text.trim().is_empty() {
            return;
        }
        let turns = goes_another_way(text);
        if turns {
            let lower = text.to_lowercase();
            self.close_newest(|error, open| open.lacks_program && names(&lower, error));
        }
        if self.newest <= since {
            return;
        }
        let is_behind = |error: &ErrorRecord| error.position > since;
        if excuses(text) {
            self.close_newest(|error, _| is_behind(error));
        } else if turns {
            // If the other way fails, too, that failure blocks.
            self.close_newest(|error, open| is_behind(error) && error.subject.is_some() && !open.aims);
        }
    }

    /// Records words of the model at any time after a failure. A test, a build or a similar check of which they say that
    /// it passes no longer blocks, unless failing tests are known by their names.
    pub(super) fn read_success(&mut self, text: &str) {
        if text.trim().is_empty() || !self.open.values().rev().take(MOST_COMPARED).any(|open| open.aims) {
            return;
        }
        let passed = clauses_of_success(text);
        if !passed.is_empty() && !tells_failure(text) {
            let is_passed = |error: &ErrorRecord| error.subject.as_deref().is_some_and(|check| passes(check, &passed));
            self.close_newest(|error, open| open.aims && !is_lasting(error) && is_passed(error));
        }
    }

    /// Records a command that succeeded. It does what failed before because a program or tool is missing, if it names the
    /// same file or address, or only the program is another one.
    pub(super) fn resolve_replaced(&mut self, command: &str) {
        if self.open.values().rev().take(MOST_COMPARED).any(|open| open.lacks_program) {
            let targets = targets_of(command);
            self.close_newest(|error, open| {
                open.lacks_program && (shares_target(error, &targets) || has_arguments_of(error, command))
            });
        }
    }

    /// Records a request of a person after `answers`, the newest answers with their positions. An error no longer
    /// blocks work that continues without it, nor the work of a turn that began at `since` and ended without mentioning
    /// it.
    pub(super) fn note_request(&mut self, since: u64, answers: &[(u64, &str)]) {
        self.requests += 1;
        let requests = self.requests;
        if self.open.is_empty() {
            return;
        }
        let lower: Vec<OnceCell<String>> = vec![OnceCell::new(); answers.len()];
        let names =
            |text: &str, lower: &OnceCell<String>, error: &_| names(lower.get_or_init(|| text.to_lowercase()), error);
        self.close(|error, open| {
            let mut later = answers.iter().zip(&lower).filter(|((at, _), _)| *at > error.position).peekable();
            let is_of_turn = error.position > since && later.peek().is_some();
            let is_goal = open.aims;
            let is_told =
                |text: &str, lower: &OnceCell<String>| names(text, lower, error) || is_goal && tells_failure(text);
            let is_passed_over = is_of_turn && !later.any(|((_, text), lower)| is_told(text, lower));
            let since = requests - open.requests;
            match is_lasting(error) {
                true => since >= REQUESTS_WITHOUT_TESTS,
                false if is_goal => is_passed_over || since >= REQUESTS_WITHOUT_GOAL,
                false => is_passed_over || since >= REQUESTS_WITHOUT,
            }
        });
    }

    /// Records that all tests of a project passed with `command`. Tests that failed before in another command of the
    /// same tools no longer fail.
    pub(super) fn pass_tests(&mut self, command: &str) {
        if runs_all_tests(command) {
            let own = tools_of(command);
            self.close(|error, _| {
                is_lasting(error) && error.subject.as_deref().is_some_and(|one| tools_of(one) == own)
            });
        }
    }

    fn close(&mut self, is_over: impl Fn(&ErrorRecord, &OpenSince) -> bool) {
        let list = &mut self.list;
        self.open.retain(|index, open| {
            let error = &mut list[*index];
            let is_over = is_over(error, open);
            error.is_resolved |= is_over;
            !is_over
        });
    }

    /// Resolves those of the newest unresolved errors that are over.
    fn close_newest(&mut self, is_over: impl Fn(&ErrorRecord, &OpenSince) -> bool) {
        let list = &self.list;
        let newest = self.open.iter().rev().take(MOST_COMPARED);
        let over: Vec<usize> =
            newest.filter(|(index, open)| is_over(&list[**index], open)).map(|(index, _)| *index).collect();
        for index in over {
            self.list[index].is_resolved = true;
            self.open.remove(&index);
        }
    }

    pub(super) fn finish(mut self) -> Vec<ErrorRecord> {
        let successes = self.successes;
        self.close(|error, open| !is_lasting(error) && successes - open.successes >= successes_without(error));
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

/// How git reports that a merge or rebase stopped.
const CONFLICTS: [&str; 4] = ["CONFLICT", "could not apply", "Could not apply", "fix conflicts"];

/// What a run of tests selects; nothing for other commands.
#[derive(Debug, Default)]
pub(super) struct TestRun {
    selected: Vec<String>,
}

impl TestRun {
    pub(super) fn of(command: &str) -> Self {
        Self { selected: if is_test(command) { selected_tests(command) } else { Vec::new() } }
    }

    /// Whether an error is one of tests that the run left out. It did not leave out tests that it selects by their names or
    /// files.
    fn leaves_out(&self, error: &ErrorRecord) -> bool {
        let wider = error.subject.as_deref().filter(|_| !self.selected.is_empty()).filter(|other| is_test(other));
        let Some(wider) = wider else { return false };
        let failing = &error.failing;
        let selects =
            |name: &String| self.selected.iter().any(|one| name.contains(one) || one.ends_with(file_of(name)));
        let has_all = failing.has_names() && failing.more == 0 && failing.names.iter().all(selects);
        !has_all && is_narrower(&self.selected, &selected_tests(wider))
    }
}

/// The file in the name of a test, or the name itself.
fn file_of(name: &str) -> &str {
    name.split("::").next().and_then(|file| file.split(" > ").next()).unwrap_or(name)
}

/// Whether a harness says in the name of the model why a request to it failed.
pub(super) fn is_failed_request(answer: &str) -> bool {
    let rest = FAILED_REQUESTS.iter().find_map(|start| answer.strip_prefix(start));
    // A model may begin to talk about such an error.
    let is_status = |rest: &str| rest.starts_with(|one: char| one.is_ascii_digit() || one == '{');
    rest.is_some_and(|rest| !rest.contains('\n') && (is_status(rest) || utf16_len(rest) <= SHORT_REASON))
}

/// Programs that run the same tests.
const SAME_TOOLS: [&[&str]; 2] =
    [listed!(PROGRAMS, "errors: tools of javascript"), listed!(PROGRAMS, "errors: tools of python")];

/// The tools of a command line: the first of the programs that run the same tests, or its own program.
fn tools_of(command: &str) -> &str {
    let first = command.split_whitespace().next().unwrap_or_default();
    let program = base_name(first);
    SAME_TOOLS.iter().find(|tools| tools.contains(&program)).map_or(program, |tools| tools[0])
}

/// Whether a command runs all tests: it names no file, no test and no package.
fn runs_all_tests(command: &str) -> bool {
    let mut words = command.split_whitespace().skip(1);
    words.all(|word| word.starts_with('-') || OF_ALL_TESTS.contains(&word))
}

/// Most UTF-16 units of a reason without a status.
const SHORT_REASON: usize = 60;

/// The purposes of an error's subject: the programs of a command, or the tool of a call.
fn purposes_of(subject: &str) -> Vec<String> {
    match subject.split_once('(') {
        Some((tool, rest)) if !tool.contains(char::is_whitespace) && (rest.starts_with('{') || rest.ends_with(')')) => {
            vec![tool.to_owned()]
        }
        _ => purposes(subject),
    }
}

/// Whether an error names tests that fail. They fail until tests run again, whatever happens in between.
pub(crate) fn is_lasting(error: &ErrorRecord) -> bool {
    error.failing.has_names() && error.subject.as_deref().is_some_and(is_check)
}

/// Whether the command that failed is a usual goal of work.
fn aims(subject: &str) -> bool {
    let is_command = subject.contains(' ') && !subject.contains("({");
    is_command && purposes(subject).iter().any(|purpose| is_goal(purpose)) || is_check(subject)
}

/// Words of errors about a program that cannot be started, in lower case.
const NO_EXECUTABLE: &[&str] = &["executable doesn't exist", "executable file not found"];

/// Whether a call failed because a program or tool is missing.
fn lacks_program(line: &str) -> bool {
    [NO_PROGRAM, NO_TOOLS, NO_EXECUTABLE].iter().any(|words| has_one(line, words))
}

/// Whether the call that failed names one of the files and addresses of a command.
fn shares_target(error: &ErrorRecord, targets: &[String]) -> bool {
    let own = targets_of(error.subject.as_deref().unwrap_or_default());
    targets.iter().any(|word| own.contains(word))
}

/// Whether the call that failed has the arguments of a command behind another program.
fn has_arguments_of(error: &ErrorRecord, command: &str) -> bool {
    let own = arguments(error.subject.as_deref().unwrap_or_default());
    own.len() >= SHORTEST_ARGUMENTS && own == arguments(core_command(command))
}

/// What stands behind the program of a command.
fn arguments(command: &str) -> &str {
    command.split_once(char::is_whitespace).map_or("", |(_, behind)| behind.trim())
}

/// Fewest bytes of the arguments by which a command is known without its program.
const SHORTEST_ARGUMENTS: usize = 12;

/// The files and addresses that a command names.
fn targets_of(command: &str) -> Vec<String> {
    let is_around =
        |one: char| one.is_whitespace() || matches!(one, '"' | '\'' | '`' | '{' | '}' | '(' | ')' | ';' | ',');
    let is_target = |word: &&str| word.contains("://") || word.contains('/') && ending(word).is_some();
    let words = command.split(is_around).filter(is_target);
    words.map(|word| word.trim_end_matches('/').to_owned()).collect()
}

/// Number of successes without an error after which it blocks nothing.
fn successes_without(error: &ErrorRecord) -> u64 {
    let subject = error.subject.as_deref().unwrap_or_default();
    let is_command = subject.contains(' ') && !subject.contains("({");
    match is_command {
        // A missing tool stays missing.
        false if has_one(&error.line, NO_TOOLS) => 1,
        true if has_one(&error.line, NO_PROGRAM) => SUCCESSES_WITHOUT_PROGRAM,
        true if !purposes(subject).iter().any(|purpose| is_goal(purpose)) => SUCCESSES_WITHOUT_COMMAND,
        _ => SUCCESSES_WITHOUT,
    }
}

fn has_one(line: &str, phrases: &[&str]) -> bool {
    let lower = line.to_lowercase();
    phrases.iter().any(|phrase| lower.contains(phrase))
}

/// Whether an answer in lower case names what failed: the task or file of the subject, or a name in the error.
fn names(answer: &str, error: &ErrorRecord) -> bool {
    let subject = error.subject.as_deref().unwrap_or_default();
    let purposes = purposes_of(subject);
    let tasks = purposes.iter().filter_map(|purpose| purpose.rsplit([' ', '/', '\\']).next());
    let is_name = |word: &&str| {
        let inner = word.chars().skip(1);
        word.len() >= SHORTEST_NAME
            && inner.into_iter().any(|one| one == '_' || one.is_uppercase() || one.is_ascii_digit())
    };
    let words = error.line.split(|one: char| !one.is_alphanumeric() && !matches!(one, '_' | '.' | '-'));
    let mut all = tasks.chain(words.filter(is_name));
    all.any(|name| answer.contains(name.trim_matches('.').to_lowercase().as_str()))
}

/// Shortest name in an error that shows that an answer is about it, in bytes.
const SHORTEST_NAME: usize = 4;

/// The key of a subject. A request to the model has none; its key is a line end, which is neither a path nor a command.
fn subject_key(subject: Option<&str>) -> &str {
    subject.unwrap_or("\n")
}

#[cfg(test)]
mod tests;
