//! Errors: what failed so far, and which line of an output best explains a failure.
//!
//! A line is judged by the forms in which compilers, test runners, shells and runtimes report. A new tool is a new phrase
//! in the table of programs, and an output in the table of tests of [`error_line`].

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::ErrorRecord;
use super::actions::LONGEST_TEXT;
use super::commands::{is_check, is_goal, purposes};
use super::failing::Failing;
use super::finder::Phrases;
use super::notes::SourcePosition;
use super::person::{is_interruption, words_in_result};
use super::terms::TextHashing;
use super::text::{WordList, clip, has_piece, normalised, one_line, without_colours, word_list};
use crate::phrases::{HARNESSES, PROGRAMS, SPACED, listed};
use crate::text::{base_name, prefix_utf16, suffix_utf16, utf16_len};

/// Requests, and successes, without the error after which it no longer blocks anything.
const REQUESTS_WITHOUT: u64 = 2;
/// The same requests where tests failed by name. They fail until they run again, but what nobody speaks of for so long
/// is no state of the work.
const REQUESTS_WITHOUT_TESTS: u64 = 8;
const SUCCESSES_WITHOUT: u64 = 24;
/// Successes without a command that is no usual goal of work, and without a program that is not there. The work has
/// found another way.
const SUCCESSES_WITHOUT_COMMAND: u64 = 8;
const SUCCESSES_WITHOUT_PROGRAM: u64 = 3;
/// Ends of errors about such programs, in lower case.
const NO_PROGRAM: &[&str] =
    &["command not found", ": not found", "is not recognized as an internal or external command"];
/// Words of errors about a tool or a skill that is not there, in lower case.
const NO_TOOLS: &[&str] = listed!(HARNESSES, "errors: no tools");
/// Words of errors of a provider that refuses requests until a time.
const LIMITS: &[&str] = listed!(PROGRAMS, "errors: limits");
/// Beginnings of messages in the name of the model that tell why a request to it failed.
const FAILED_REQUESTS: &[&str] = listed!(HARNESSES, "errors: failed requests");
/// Words of errors about a file that is not there, in lower case.
const NO_FILE: &[&str] = &["file does not exist", "file not found", "no such file", "cannot find the file"];
/// Why a refused call blocks the work.
pub(crate) const REFUSED: &str = "the user refused it";
/// The error of a call that a person ended without a word.
pub(crate) const INTERRUPTED: &str = "the user interrupted it";
/// Most errors that are kept. The oldest resolved ones are dropped first.
const MOST_ERRORS: usize = 400;

/// Lines below an output that say how a command ended.
const TRAILERS: &[&str] = listed!(PROGRAMS, "errors: trailers");
/// Words with which programs say that something failed.
static FAILURE_WORDS: WordList = word_list!(PROGRAMS, "errors: failure words");
/// Phrases with the same meaning.
const FAILURE_PHRASES: &[&str] = listed!(PROGRAMS, "errors: failure phrases");
/// Reasons in the words of operating systems and shells. The name of what failed comes first.
const SYSTEM_CAUSES: &[&str] = listed!(PROGRAMS, "errors: system causes");
/// Beginnings of lines that give a reason.
const CAUSE_STARTS: &[&str] = listed!(PROGRAMS, "errors: cause starts");
/// Phrases that look like a reason but only say that something failed.
const VERDICTS: &[&str] = listed!(PROGRAMS, "errors: verdicts");
/// Beginnings of lines that only say that something failed.
const VERDICT_STARTS: &[&str] = listed!(PROGRAMS, "errors: verdict starts");
/// Beginnings of lines that report progress, success or advice.
const NOISE_STARTS: &[&str] = listed!(PROGRAMS, "errors: noise starts");
/// Ends of lines that report success.
const NOISE_ENDS: &[&str] = listed!(PROGRAMS, "errors: noise ends");
/// Beginnings of lines about work in progress, unless they also say why it failed.
const PROGRESS_STARTS: &[&str] = listed!(PROGRAMS, "errors: progress starts");

/// The errors collected so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Errors {
    list: Vec<ErrorRecord>,
    by_subject: HashMap<String, Vec<usize>, TextHashing>,
    /// For each unresolved error, how many successes and requests came before it.
    open: HashMap<usize, OpenSince>,
    /// All errors, by the purposes of their commands.
    by_purpose: HashMap<String, Vec<usize>, TextHashing>,
    successes: u64,
    requests: u64,
    /// Subjects of refused calls after which nothing happened yet.
    refused: Vec<String>,
    /// Position of the newest error that was unresolved when it was recorded.
    newest: u64,
}

/// When an unresolved error happened.
#[derive(Debug, Default, Clone, Copy)]
struct OpenSince {
    successes: u64,
    requests: u64,
}

impl Errors {
    pub(super) fn restore(&mut self, errors: &[ErrorRecord]) {
        for error in errors {
            self.by_subject.entry(subject_key(error.subject.as_deref()).to_owned()).or_default().push(self.list.len());
            if !error.is_resolved {
                self.wait(self.list.len(), error.subject.as_deref());
                self.newest = self.newest.max(error.position);
                let is_refusal = error.line.starts_with(REFUSED) || error.line == INTERRUPTED;
                self.refused.extend(error.subject.clone().filter(|_| is_refusal));
            }
            self.list.push(error.clone());
        }
    }

    /// Records that `subject` failed with `line`. `is_resolved` means that nothing waits for it to
    /// succeed.
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
        let (failing, sources) = (Failing::default(), place.sources());
        self.list.push(ErrorRecord { subject, line, failing, is_resolved, times: 1, position, sources });
    }

    /// Records what the newest error of `subject`, which happened at `position`, names as failing.
    pub(super) fn name_failing(&mut self, subject: &str, position: u64, failing: Failing) {
        let own = self.by_subject.get(subject_key(Some(subject))).into_iter().flatten();
        if let Some(index) = own.copied().find(|index| self.open.contains_key(index))
            && self.list[index].position == position
        {
            let cause = failing.told_cause(&self.list[index].line).unwrap_or_default().to_owned();
            self.list[index].failing = Failing { cause, ..failing };
        }
    }

    /// Whether the last request to the model failed since a limit was reached.
    pub(super) fn is_limited(&self) -> bool {
        let own = self.by_subject.get(subject_key(None)).into_iter().flatten();
        own.into_iter().any(|index| self.open.contains_key(index) && has_one(&self.list[*index].line, LIMITS))
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

    /// Records that a command or tool failed, for these purposes. Only the newest failure for a purpose blocks it.
    pub(super) fn repeat_purposes(&mut self, failed: &[String]) {
        let mut waiting = Vec::new();
        for purpose in failed {
            let Some(errors) = self.by_purpose.get_mut(purpose) else { continue };
            errors.retain(|index| self.open.contains_key(index));
            waiting.extend_from_slice(errors);
        }
        for index in waiting {
            let purposes = self.list[index].subject.as_deref().map(purposes_of).unwrap_or_default();
            if purposes.iter().all(|purpose| failed.contains(purpose)) {
                self.list[index].is_resolved = true;
                self.open.remove(&index);
            }
        }
    }

    /// Records that a file is gone, or as it was before. Commands that name it will not run again.
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
    fn wait(&mut self, index: usize, subject: Option<&str>) {
        self.open.insert(index, OpenSince { successes: self.successes, requests: self.requests });
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

    /// Records that a person refused a call with this result, and what they said in it. What failed before and was not
    /// tried again for that reason stays as it is.
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

    /// Records a call or a message of a person. What was refused before it no longer holds up the work.
    pub(super) fn go_on(&mut self) {
        for subject in std::mem::take(&mut self.refused) {
            self.resolve(Some(&subject));
        }
    }

    /// Records what the model said right after the message at `since`. Errors behind it that it calls expected or
    /// harmless block nothing.
    pub(super) fn read_remark(&mut self, text: &str, since: u64) {
        if self.newest <= since {
            return;
        }
        let is_behind = |error: &ErrorRecord| error.position > since;
        if self.open.keys().any(|index| is_behind(&self.list[*index])) && excuses(text) {
            self.close(|error, _| is_behind(error));
        }
    }

    /// Records a request of a person after `answers`, which are the newest ones with their positions. Work that goes
    /// on without an error is not blocked by it, and neither is a turn, begun at `since`, that ended without a word
    /// about it.
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
            let is_passed_over = is_of_turn && !later.any(|((_, text), lower)| names(text, lower, error));
            match is_lasting(error) {
                true => requests - open.requests >= REQUESTS_WITHOUT_TESTS,
                false => is_passed_over || requests - open.requests >= REQUESTS_WITHOUT,
            }
        });
    }

    /// Records that all tests of a project passed with `command`. Those that failed before by another command of the same
    /// tools do not fail any more.
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

/// Whether a harness tells in the name of the model why a request to it failed.
pub(super) fn is_failed_request(answer: &str) -> bool {
    let rest = FAILED_REQUESTS.iter().find_map(|start| answer.strip_prefix(start));
    // A model may begin to speak about such an error.
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

/// Words of a command that say no more than that tests run.
const OF_ALL_TESTS: &[&str] = listed!(PROGRAMS, "errors: words of all tests");

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

/// Whether an error names tests that fail. They fail until tests run again, whatever is done in between.
pub(crate) fn is_lasting(error: &ErrorRecord) -> bool {
    error.failing.has_names() && error.subject.as_deref().is_some_and(is_check)
}

/// Successes without an error after which it blocks nothing.
fn successes_without(error: &ErrorRecord) -> u64 {
    let subject = error.subject.as_deref().unwrap_or_default();
    let is_command = subject.contains(' ') && !subject.contains("({");
    match is_command {
        // A tool that is not there stays so.
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

/// Fewest bytes of a name in an error by which an answer is known to be about it.
const SHORTEST_NAME: usize = 4;

/// The key of a subject. A request to the model has none; its key is a line end, which no path or
/// command is.
fn subject_key(subject: Option<&str>) -> &str {
    subject.unwrap_or("\n")
}

/// The text for an error without output.
pub(super) const NO_OUTPUT: &str = "no output";
/// UTF-16 units at either end of a result that are searched for its error.
const SEARCHED: usize = 6000;
/// UTF-16 units of a line that are examined.
const JUDGED: usize = 600;
/// Most lines that complete another one.
const MOST_DETAILS: usize = 3;
/// Beginnings of lines that complete the one before them.
const DETAILS: &[&str] = &["--> ", "left: ", "right: ", "Expected: ", "Received: "];
const TRACEBACK: &str = "Traceback (most recent call last):";
/// Lines between an exception and the one that it caused.
const CHAINED: &[&str] = &["During handling of the above exception", "The above exception was the direct cause"];
/// The line right before the reason.
const REASON_FOLLOWS: &str = "* What went wrong:";
const ROOT: &str = "Caused by: ";

/// The line of an output that best explains a failure: the exception of a traceback; otherwise the
/// first line that says why, where, or that something failed; otherwise the last line that says
/// anything. Lines that complete it, such as the position of a compiler error, are appended. The result
/// is one line of at most 240 UTF-16 units.
pub fn error_line(output: &str) -> String {
    let output = without_colours(output);
    let lines = searched_lines(&output);
    let Some(found) = exception(&lines).or_else(|| most_telling(&lines)) else {
        return NO_OUTPUT.to_owned();
    };
    clip(&with_details(&lines, found), LONGEST_TEXT)
}

/// The lines at both ends of an output, trimmed. Pieces of cut lines are left out unless there is
/// nothing else.
fn searched_lines(output: &str) -> Vec<&str> {
    let (start, end) = (prefix_utf16(output, SEARCHED), suffix_utf16(output, SEARCHED));
    if start.len() + end.len() >= output.len() {
        return output.lines().map(str::trim_end).collect();
    }
    let start = start.rfind('\n').map_or(start, |at| &start[..at]);
    let end = end.find('\n').map_or(end, |at| &end[at..]);
    start.lines().chain(end.lines()).map(str::trim_end).collect()
}

/// The exception below the first traceback, or the last exception that it caused.
fn exception(lines: &[&str]) -> Option<usize> {
    let mut found = None;
    let mut may_begin = true;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        may_begin |= CHAINED.iter().any(|words| line.contains(words));
        if !may_begin || !line.ends_with(TRACEBACK) {
            continue;
        }
        // A prefix may be on the frames as well, or on this line only.
        let of_frame = lines.get(at).and_then(|next| next.find("  File \""));
        let margin = of_frame.unwrap_or(line.len() - TRACEBACK.len());
        let is_frame =
            |line: &&&str| is_blank(line) || line.get(margin..).is_none_or(|rest| rest.starts_with([' ', '\t']));
        at += lines[at..].iter().take_while(is_frame).count();
        if at < lines.len() {
            (found, may_begin) = (Some(at), false);
        }
    }
    found
}

fn most_telling(lines: &[&str]) -> Option<usize> {
    let mut best: Option<(Worth, usize)> = None;
    let mut reason_follows = false;
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !is_blank(line)) {
        let line = prefix_utf16(line.trim(), JUDGED);
        let worth = match worth(line) {
            Worth::Noise | Worth::Trailer | Worth::Plain | Worth::Word if reason_follows => Worth::Located,
            worth => worth,
        };
        reason_follows = line == REASON_FOLLOWS;
        let is_better = best.is_none_or(|(known, _)| match worth {
            // Among lines that do not mention a failure the last one wins, since results come last.
            Worth::Noise | Worth::Trailer | Worth::Plain => worth >= known,
            // The root of a chain of exceptions is below the others.
            Worth::Cause if line.starts_with(ROOT) => true,
            _ => worth > known,
        });
        if is_better {
            best = Some((worth, index));
        }
    }
    best.map(|(_, index)| index)
}

/// A line joined with the lines that complete it.
fn with_details(lines: &[&str], found: usize) -> String {
    let first = without_margin(lines[found]);
    let mut joined = one_line(first);
    let mut following = lines[found + 1..].iter().map(|line| line.trim()).filter(|line| !is_blank(line));
    let mut details = 0;
    let mut is_announced = joined.ends_with(':');
    while let Some(line) = following.next().filter(|_| details < MOST_DETAILS && utf16_len(&joined) < LONGEST_TEXT) {
        if !is_announced && !DETAILS.iter().any(|start| line.starts_with(start)) {
            break;
        }
        joined.push(' ');
        joined.push_str(&one_line(line));
        details += usize::from(!is_announced);
        is_announced = false;
    }
    joined
}

fn is_blank(line: &str) -> bool {
    line.chars().all(|character| character.is_whitespace() || character.is_control())
}

/// A line without the letter with which pytest marks its reasons.
fn without_margin(line: &str) -> &str {
    let line = line.trim_start();
    let line = line.strip_prefix("| ").unwrap_or(line);
    line.strip_prefix("E   ").map_or(line, str::trim_start)
}

/// How much a line explains, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// Progress, a success, a warning, a stack frame, or a piece of code.
    Noise,
    /// Only how the command ended.
    Trailer,
    /// Nothing about a failure.
    Plain,
    /// It has a word for a failure.
    Word,
    /// It says that something failed, but not why.
    Verdict,
    /// It names a position in a file.
    Located,
    /// It says why.
    Cause,
}

/// What makes a line a [`Worth::Cause`], in any case. Most lines have none of it.
pub(super) static CAUSES: LazyLock<Phrases> = LazyLock::new(|| {
    let words =
        ["e   ", "err", "fatal", "exception", "failure", "panic", "interrupt", "exit", "notfound", ": not found"];
    Phrases::of(words.iter().chain(CAUSE_STARTS).chain(SYSTEM_CAUSES).copied())
});

/// The lines of `text` that may say why something failed.
pub(super) fn lines_with_causes(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let found = from + CAUSES.found_in(&text[from..]).next()?.0;
        let start = memchr::memrchr(b'\n', &text.as_bytes()[..found]).map_or(0, |end| end + 1);
        from = memchr::memchr(b'\n', &text.as_bytes()[found..]).map_or(text.len(), |end| found + end);
        Some(text[start..from].trim())
    })
}

/// Whether `line`, which has no white space around it, says why something failed.
pub(super) fn is_cause(line: &str) -> bool {
    CAUSES.is_in(line) && worth(line) == Worth::Cause
}

/// The worth of `line`, which has no white space around it.
pub(super) fn worth(line: &str) -> Worth {
    let lower = line.to_lowercase();
    let tokens = || line.split_whitespace();
    let starts = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    let says = |words: &[&str]| words.iter().any(|words| lower.contains(words));
    if line.is_empty() || starts(NOISE_STARTS) || is_success(&lower) || is_shown_code(line) {
        return Worth::Noise;
    }
    if says(VERDICTS) || is_headline(line) {
        return Worth::Verdict;
    }
    if starts(CAUSE_STARTS)
        || line.starts_with("E   ")
        || says_why(line)
        || line.contains(": ") && says(SYSTEM_CAUSES)
        || lower.ends_with(": not found")
    {
        return Worth::Cause;
    }
    if starts(PROGRESS_STARTS) && !lower.contains("failed") {
        return Worth::Noise;
    }
    if says(TRAILERS) {
        return Worth::Trailer;
    }
    if starts(VERDICT_STARTS) || ends_with_failed(&lower) || counts_failures(&lower) {
        return Worth::Verdict;
    }
    match tokens().take(2).any(is_place) && tokens().count() > 1 {
        true if says(&[": warning", ": note:", " warning "]) => Worth::Noise,
        true => Worth::Located,
        false if says_failure(&lower) => Worth::Word,
        false => Worth::Plain,
    }
}

/// Whether a line only says how a command ended.
pub(super) fn is_trailer(line: &str) -> bool {
    let lower = line.to_lowercase();
    TRAILERS.iter().any(|trailer| lower.contains(trailer))
}

fn is_success(lower: &str) -> bool {
    let is_bar = lower.contains("%]") || lower.contains("%|");
    is_bar || NOISE_ENDS.iter().any(|end| lower.ends_with(end))
}

/// `12 | let x = 1;`, `|     ^^^`, `throw new Error("…")`.
fn is_shown_code(line: &str) -> bool {
    let line = line.strip_prefix('>').unwrap_or(line).trim_start();
    let code = line.trim_start_matches(|character: char| character.is_ascii_digit()).trim_start();
    let is_mark = |character: char| matches!(character, '^' | '~' | '-' | '=' | ' ' | '|' | '*' | '_' | '#' | '.');
    code.starts_with("| ") || line.chars().all(is_mark)
}

/// A line in which a runner names a failing test: `ERROR: test_div (tests.test_calc.CalcTest)`.
fn is_headline(line: &str) -> bool {
    let name = line.strip_prefix("ERROR: ").or_else(|| line.strip_prefix("FAIL: "));
    name.is_some_and(|name| name.ends_with(')') && name.split(' ').count() == 2)
}

/// Whether one of the words introduces an error and a message follows it.
fn says_why(line: &str) -> bool {
    let mut previous = "";
    let mut tokens = line.split_whitespace().peekable();
    while let Some(token) = tokens.next() {
        let next = tokens.peek().copied();
        if is_form(previous, token, next) {
            return true;
        }
        previous = token;
    }
    false
}

fn is_form(previous: &str, token: &str, next: Option<&str>) -> bool {
    let bare = token.trim_end_matches(':');
    let has_message = token.ends_with(':') && token.len() == bare.len() + 1;
    let is_word = |word: &str| bare.eq_ignore_ascii_case(word);
    if is_word("error") || is_word("fatal") {
        return has_message
            || next.is_some_and(is_code)
            || is_position(previous)
            || previous.is_empty() && next.is_some();
    }
    if token.starts_with("error[") && token.ends_with("]:") {
        return true;
    }
    let between = |open, close| token.strip_prefix(open)?.strip_suffix(close);
    let in_brackets = || between('(', ')').or_else(|| between('[', ']'));
    let is_parted = in_brackets().is_some_and(is_error_name);
    let is_alone = previous.is_empty() && next.is_none() || previous.ends_with('"');
    let is_coded = next.is_some_and(|next| next.starts_with('[') && next.ends_with("]:"));
    let is_panic = previous.ends_with('\'') && is_word("panicked");
    let is_code_alone = next.is_none() && (previous.is_empty() || token.starts_with(BROWSER)) && is_error_code(bare);
    is_panic
        || is_code_alone
        || is_parted
        || is_error_name(bare) && (has_message && next.is_some() || is_alone || is_coded)
}

/// Before the codes of a browser.
const BROWSER: &str = "net::";

/// `NS_ERROR_CONNECTION_REFUSED`, `net::ERR_ABORTED`.
fn is_error_code(name: &str) -> bool {
    let name = name.strip_prefix(BROWSER).unwrap_or(name);
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let says = |part: &str| matches!(part, "ERR" | "ERROR");
    let (mut parts, mut is_code) = (0, false);
    for part in name.split('_') {
        if part.is_empty() || !is_plain(part) {
            return false;
        }
        parts += 1;
        is_code |= says(part);
    }
    is_code && parts > 1
}

/// `TypeError`, `java.lang.NullPointerException`.
fn is_error_name(name: &str) -> bool {
    let last = name.rsplit(['.', ':', '\\']).next().unwrap_or(name);
    let is_kind = ["Error", "Exception", "Failure", "Panic", "Interrupt", "Warning", "Exit", "NotFound"]
        .iter()
        .any(|kind| last.len() > kind.len() && last.ends_with(kind));
    is_kind
        && !last.ends_with("Warning")
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && is_plain(name)
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'_' | b'\\' | b'$'))
}

/// `TS2322:`, `LNK2019:`.
fn is_code(token: &str) -> bool {
    let Some(code) = token.strip_suffix(':') else { return false };
    let digits = code.trim_start_matches(|character: char| character.is_ascii_uppercase());
    digits.len() < code.len() && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `3:7`.
fn is_position(token: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    token.split_once(':').is_some_and(|(line, column)| is_number(line) && is_number(column))
}

/// `src/a.go:5:2:`, `parse_test.go:12:`.
fn is_place(token: &str) -> bool {
    let Some(place) = token.strip_suffix(':') else { return false };
    let mut parts = place.rsplitn(3, ':');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let has_line = parts.next().is_some_and(is_number);
    let file = place.trim_end_matches(|character: char| character.is_ascii_digit() || character == ':');
    has_line && file.contains('.') && !file.contains('[')
}

/// `test parse::empty ... FAILED`, but not `12 passed, 0 failed`.
fn ends_with_failed(lower: &str) -> bool {
    pairs(lower).last().is_some_and(|(before, word)| word == "failed" && !is_negation(before))
}

/// `1 failed, 2 passed`, `3 problems`: a number other than 0 before a word for failures.
fn counts_failures(lower: &str) -> bool {
    let is_counted = |word: &str| {
        matches!(word, "failed" | "failure" | "failures" | "error" | "errors" | "problem" | "problems" | "failing")
    };
    let is_count = |word: &str| word.parse::<u32>().is_ok_and(|count| count > 0);
    pairs(lower).any(|(before, word)| is_counted(word) && is_count(before))
}

/// Whether there is a word for a failure that is not negated.
fn says_failure(lower: &str) -> bool {
    let has_word = pairs(lower).any(|(before, word)| FAILURE_WORDS.has(word) && !is_negation(before));
    has_word || FAILURE_PHRASES.iter().any(|phrase| lower.contains(phrase))
}

fn is_negation(word: &str) -> bool {
    matches!(word, "0" | "no" | "without" | "zero")
}

/// Each word with the one before it. Names such as `error-pages` and `test_errors.py` are one word.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_mark = |character: char| character.is_ascii_punctuation();
    let mut before = "";
    text.split_whitespace().map(move |token| {
        let word = token.trim_matches(is_mark);
        (std::mem::replace(&mut before, word), word)
    })
}

/// Phrases about an error that was expected, that does no harm or that was there before, in languages with spaces
/// between words.
static EXCUSES: WordList = word_list!("remarks: excuses");
/// Words of a negation.
static NEGATIONS: WordList = word_list!(SPACED, "remarks: negations");
/// Words for what works. What works as expected is no error.
static WORKING: WordList = word_list!(SPACED, "remarks: working");
/// Words behind which a sentence tells of something else.
const CONTRASTS: &[&str] = listed!(SPACED, "remarks: contrasts");
/// Words before a phrase among which a negation takes it back.
const NEGATED_WITHIN: usize = 4;

/// Whether a text calls an error expected or harmless.
fn excuses(text: &str) -> bool {
    // Most texts have none of the phrases, and a sentence has none that the whole has not.
    has_piece(text, EXCUSES.pieces)
        || EXCUSES.is_in(&normalised(text)) && text.split(['.', '!', '?', ';', '\n']).any(excuses_in_sentence)
}

fn excuses_in_sentence(sentence: &str) -> bool {
    let words = normalised(sentence);
    EXCUSES.words.iter().any(|phrase| {
        let mut places = words.match_indices(phrase);
        places.any(|(at, _)| {
            let before = &words[..at];
            let is_word = before.ends_with(' ') && words[at + phrase.len()..].starts_with(' ');
            let mut near = before.split_whitespace().rev().take(NEGATED_WITHIN);
            let after = &words[at + phrase.len()..];
            is_word
                && !near.any(|word| NEGATIONS.has(word) || WORKING.has(word))
                && !CONTRASTS.iter().any(|word| after.contains(word))
        })
    })
}

#[cfg(test)]
mod tests;
