//! Which line of an output best explains a failure.

use std::borrow::Cow;

use super::error_forms::{Worth, worth};
use super::subject::LONGEST_TEXT;
use super::text::{clip, one_line};
use crate::text::{prefix_utf16, suffix_utf16, utf16_len};

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
    let mut told = one_line(first);
    let mut following = lines[found + 1..].iter().map(|line| line.trim()).filter(|line| !is_blank(line));
    let mut details = 0;
    let mut is_announced = told.ends_with(':');
    while let Some(line) = following.next().filter(|_| details < MOST_DETAILS && utf16_len(&told) < LONGEST_TEXT) {
        if !is_announced && !DETAILS.iter().any(|start| line.starts_with(start)) {
            break;
        }
        told.push(' ');
        told.push_str(&one_line(line));
        details += usize::from(!is_announced);
        is_announced = false;
    }
    told
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

/// `text` without the escape sequences for terminal colours.
fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains("\u{1b}[") {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|character: char| !character.is_ascii_digit() && !matches!(character, ';' | '?'));
        out.push_str(
            end.map_or("", |end| part[end..].strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(&part[end..])),
        );
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
