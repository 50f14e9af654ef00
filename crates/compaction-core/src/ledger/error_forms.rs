//! How well a line of an output explains a failure, judged by the forms in which compilers, test
//! runners, shells and runtimes report.

use super::error_words::{
    CAUSE_STARTS, FAILURE_PHRASES, FAILURE_WORDS, NOISE_ENDS, NOISE_STARTS, PROGRESS_STARTS, SYSTEM_CAUSES, TRAILERS,
    VERDICT_STARTS, VERDICTS,
};

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
    if starts(CAUSE_STARTS) || line.starts_with("E   ") || says_why(line) {
        return Worth::Cause;
    }
    if line.contains(": ") && says(SYSTEM_CAUSES) || lower.ends_with(": not found") {
        return Worth::Cause;
    }
    if starts(PROGRESS_STARTS) && !lower.contains("failed") {
        return Worth::Noise;
    }
    if is_trailer(line) {
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
    let is_told = token.ends_with(':') && token.len() == bare.len() + 1;
    let is_word = |word: &str| bare.eq_ignore_ascii_case(word);
    if is_word("error") || is_word("fatal") {
        return is_told || next.is_some_and(is_code) || is_position(previous) || previous.is_empty() && next.is_some();
    }
    if token.starts_with("error[") && token.ends_with("]:") {
        return true;
    }
    let is_parted = token.starts_with('(') && token.ends_with(')') && is_error_name(token.trim_matches(['(', ')']));
    let is_alone = previous.is_empty() && next.is_none() || previous.ends_with('"');
    let is_coded = next.is_some_and(|next| next.starts_with('[') && next.ends_with("]:"));
    let is_panic = previous.ends_with('\'') && is_word("panicked");
    is_panic || is_parted || is_error_name(bare) && (is_told && next.is_some() || is_alone || is_coded)
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
    let has_word = pairs(lower).any(|(before, word)| FAILURE_WORDS.contains(&word) && !is_negation(before));
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
