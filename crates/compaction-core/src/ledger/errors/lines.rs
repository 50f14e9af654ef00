//! Which line of an output best explains a failure.
//!
//! A line is judged by the forms in which compilers, test runners, shells and runtimes report errors. A new tool needs
//! a phrase in the table of programs, and an output in the tests of [`error_line`].

use std::sync::LazyLock;

use crate::ledger::actions::LONGEST_TEXT;
use crate::ledger::finder::Phrases;
use crate::ledger::text::{WordList, clip, one_line, without_colours, word_list};
use crate::phrases::{PROGRAMS, listed};
use crate::text::{prefix_utf16, suffix_utf16, utf16_len};

/// Lines after an output that say how a command ended.
const TRAILERS: &[&str] = listed!(PROGRAMS, "errors: trailers");
/// Words with which programs say that something failed.
static FAILURE_WORDS: WordList = word_list!(PROGRAMS, "errors: failure words");
/// Phrases with the same meaning.
const FAILURE_PHRASES: &[&str] = listed!(PROGRAMS, "errors: failure phrases");
/// Reasons in the words of operating systems and shells. The name of what failed comes before them.
const SYSTEM_CAUSES: &[&str] = listed!(PROGRAMS, "errors: system causes");
/// Beginnings of lines that give a reason.
const CAUSE_STARTS: &[&str] = listed!(PROGRAMS, "errors: cause starts");
/// Beginnings of lines that only say how a command ended, although they look like a reason.
const TRAILER_STARTS: &[&str] = listed!(PROGRAMS, "errors: trailer starts");
/// How shells name a line of a script.
const LINE_WORDS: &[&str] = listed!(PROGRAMS, "errors: line words");
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

/// The text for an error without output.
pub(in crate::ledger) const NO_OUTPUT: &str = "no output";
/// UTF-16 units at either end of a result that are searched for its error.
const SEARCHED: usize = 6000;
/// UTF-16 units of a line that are examined.
const JUDGED: usize = 600;
/// Most lines that complete another one.
const MOST_DETAILS: usize = 3;
/// Beginnings of lines that complete the one before them.
const DETAILS: &[&str] = &["--> ", "left: ", "right: ", "Expected: ", "Received: "];
const TRACEBACK: &str = "Traceback (most recent call last):";
/// Lines between an exception and the exception that it caused.
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
    let found = exception(&lines).or_else(|| message_at(&lines));
    let Some(found) = found.or_else(|| most_telling(&lines)) else {
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
        // All frames may have a prefix, or only this line.
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

/// Begins the lines in which PowerShell shows where an error comes from and what kind it has.
const FRAME: &str = "+ ";
/// Begins one of them.
pub(in crate::ledger) const KIND_OF_ERROR: &str = "+ CategoryInfo";
/// Begins the line with the id of an error, which is the same in all languages.
const ID_OF_ERROR: &str = "+ FullyQualifiedErrorId";
/// Fewest lost letters that make a message useless. A program may have lost a few in another encoding.
const FEWEST_LOST: usize = 6;
/// Most lines of a message above them.
const MOST_OF_MESSAGE: usize = 3;

/// Whether a line only shows where an error of PowerShell comes from.
pub(in crate::ledger) fn is_frame(line: &str) -> bool {
    line.trim_start().starts_with(FRAME)
}

/// Whether a line ends like that in which PowerShell names the place of an error, in any language: `At line:1 char:64`.
/// In Chinese, a space comes before the second number. The letters of such names are often lost.
fn is_place_of_shell(line: &str) -> bool {
    let before = |text: &'_ str| -> Option<usize> {
        let (name, number) = text.rsplit_once(':')?;
        let digits = number.strip_prefix(' ').unwrap_or(number);
        let is_number = !digits.is_empty() && digits.bytes().all(|one| one.is_ascii_digit());
        let is_name = name.ends_with(|one: char| one.is_alphanumeric() || one == '\u{fffd}');
        (is_number && is_name).then(|| name.rfind(' ').unwrap_or_default())
    };
    line.len() <= JUDGED && before(line).is_some_and(|end| before(&line[..end]).is_some())
}

/// The message of the first error of PowerShell. It is above the place of the error and begins with the name of a
/// command. In a script that cannot be parsed, it is below the lines that show the place. The id of the error says more
/// than a message whose letters are lost.
fn message_at(lines: &[&str]) -> Option<usize> {
    let found = message_of_parser(lines).or_else(|| message_above_place(lines))?;
    let letters = lines[found].chars().filter(|one| !one.is_ascii());
    let (lost, kept): (Vec<char>, Vec<char>) = letters.partition(|one| *one == '\u{fffd}');
    let is_lost = lost.len() >= FEWEST_LOST && lost.len() > kept.len();
    let id = || lines.iter().skip(found).position(|line| line.trim_start().starts_with(ID_OF_ERROR));
    Some(id().filter(|_| is_lost).map_or(found, |at| found + at))
}

/// The message between the lines that show the place of an error and the line with its kind, if that is the first
/// error.
fn message_of_parser(lines: &[&str]) -> Option<usize> {
    let kind = lines.iter().position(|line| line.trim_start().starts_with(KIND_OF_ERROR))?;
    let frame = (0..kind).rev().take(MOST_OF_MESSAGE + 1).find(|at| is_frame(lines[*at]))?;
    let message = frame + 1;
    (message < kind && !lines[message..kind].iter().any(|line| is_blank(line))).then_some(message)
}

fn message_above_place(lines: &[&str]) -> Option<usize> {
    let is_place = |pair: &[&str]| is_frame(pair[1]) && is_place_of_shell(pair[0].trim());
    let place = lines.windows(2).position(is_place)?;
    let above = || (0..place).rev().take_while(|at| !is_blank(lines[*at])).take(MOST_OF_MESSAGE);
    let begins = |at: &usize| {
        let name = lines[*at].split(':').next().unwrap_or_default().trim();
        name.len() < lines[*at].trim().len() && !name.is_empty() && !name.contains(char::is_whitespace)
    };
    above().find(begins).or_else(|| above().next())
}

/// The message of the first error that PowerShell prints in a text.
pub(in crate::ledger) fn message_of_shell(text: &str) -> Option<String> {
    // Most texts have none of these lines.
    memchr::memmem::find(text.as_bytes(), KIND_OF_ERROR.as_bytes())?;
    let lines: Vec<&str> = text.lines().collect();
    message_at(&lines).map(|at| clip(&one_line(lines[at]), LONGEST_TEXT))
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

/// A line without the letter `E` with which pytest marks its reasons.
fn without_margin(line: &str) -> &str {
    let line = line.trim_start();
    let line = line.strip_prefix("| ").unwrap_or(line);
    line.strip_prefix("E   ").map_or(line, str::trim_start)
}

/// How much a line explains, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ledger) enum Worth {
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
pub(in crate::ledger) static CAUSES: LazyLock<Phrases> = LazyLock::new(|| {
    let words =
        ["e   ", "err", "fatal", "exception", "failure", "panic", "interrupt", "exit", "notfound", ": not found"];
    Phrases::of(words.iter().chain(CAUSE_STARTS).chain(SYSTEM_CAUSES).copied())
});

/// The lines of `text` that may say why something failed.
pub(in crate::ledger) fn lines_with_causes(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let found = from + CAUSES.found_in(&text[from..]).next()?.0;
        let start = memchr::memrchr(b'\n', &text.as_bytes()[..found]).map_or(0, |end| end + 1);
        from = memchr::memchr(b'\n', &text.as_bytes()[found..]).map_or(text.len(), |end| found + end);
        Some(text[start..from].trim())
    })
}

/// Whether `line`, which has no white space around it, says why something failed.
pub(in crate::ledger) fn is_cause(line: &str) -> bool {
    CAUSES.is_in(line) && worth(line) == Worth::Cause
}

/// Finds the phrases of these lists. Each line is searched for all of them.
static VERDICT_PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(VERDICTS.iter().copied()));
static CAUSE_PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(SYSTEM_CAUSES.iter().copied()));

/// The worth of `line`, which has no white space around it.
pub(in crate::ledger) fn worth(line: &str) -> Worth {
    let lower = line.to_lowercase();
    let tokens = || line.split_whitespace();
    let starts = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    let says = |words: &[&str]| words.iter().any(|words| lower.contains(words));
    if line.is_empty() || starts(NOISE_STARTS) || is_success(&lower) || is_shown_code(line) {
        return Worth::Noise;
    }
    if starts(TRAILER_STARTS) {
        return Worth::Trailer;
    }
    if VERDICT_PHRASES.is_in(&lower) || is_headline(line) {
        return Worth::Verdict;
    }
    if starts(CAUSE_STARTS)
        || line.starts_with("E   ")
        || says_why(line)
        || line.contains(": ") && CAUSE_PHRASES.is_in(&lower)
        || lower.ends_with(": not found")
        || is_of_shell(&lower)
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

/// Whether a short line says with a phrase what is missing or did not work. Single words such as `timeout` say it in any
/// text.
pub(in crate::ledger) fn says_what_lacks(line: &str) -> bool {
    if line.len() > SHORT {
        return false;
    }
    let lower = line.to_lowercase();
    FAILURE_PHRASES.iter().any(|phrase| lower.contains(phrase)) && worth(line) == Worth::Word
}

/// Most bytes of such a line.
const SHORT: usize = 80;

/// Whether a line only says how a command ended.
pub(in crate::ledger) fn is_trailer(line: &str) -> bool {
    let lower = line.to_lowercase();
    TRAILERS.iter().any(|trailer| lower.contains(trailer))
}

/// Whether a line in lower case is one with which a shell says in any language which line of a script fails:
/// `build.sh: line 3: …`.
fn is_of_shell(lower: &str) -> bool {
    let mut parts = lower.split(':').map(str::trim);
    let has_name = parts.next().is_some_and(|name| !name.is_empty() && !name.contains(' '));
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|one| one.is_ascii_digit());
    let is_line = |part: &str| {
        let words = part.split_once(' ');
        words.is_some_and(|(one, other)| {
            LINE_WORDS.contains(&one) && is_number(other) || is_number(one) && LINE_WORDS.contains(&other)
        })
    };
    has_name && parts.next().is_some_and(is_line) && parts.next().is_some_and(|rest| !rest.is_empty())
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
pub(in crate::ledger) fn is_place(token: &str) -> bool {
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
