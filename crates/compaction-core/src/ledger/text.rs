//! Text made fit for one item of a summary.

use crate::prompts::escape_tags;
use crate::text::{prefix_utf16, suffix_utf16, utf16_len};

/// UTF-16 units of either sentence of a gist.
const LONGEST_GIST: usize = 280;

/// `text` on one line: every run of white space and control characters is one space, and closing
/// tags that could end a block around the summary are escaped.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4096));
    for word in text.split(|character: char| character.is_whitespace() || character.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    escape_tags(&out).into_owned()
}

/// `text` in at most `units` UTF-16 units, with `…` at its end where something was cut.
pub(crate) fn clip(text: &str, units: usize) -> String {
    if utf16_len(text) <= units {
        return text.to_owned();
    }
    let mut cut = prefix_utf16(text, units.saturating_sub(1)).trim_end().to_owned();
    if units > 0 {
        cut.push('\u{2026}');
    }
    cut
}

/// `text` in at most `units` UTF-16 units: its first two thirds and its end, with `…` between them
/// where something was cut. What is asked often stands below what was pasted.
pub(crate) fn clip_middle(text: &str, units: usize) -> String {
    if utf16_len(text) <= units {
        return text.to_owned();
    }
    let end = suffix_utf16(text, units / 3).trim_start();
    let start = prefix_utf16(text, units.saturating_sub(utf16_len(end) + 3)).trim_end();
    if start.is_empty() || end.is_empty() {
        return clip(text, units);
    }
    format!("{start} \u{2026} {end}")
}

/// `text` in lower case with a space for everything that is no letter, digit or apostrophe, and
/// one around it: words can be looked for, and equal sentences compare equal.
pub(crate) fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    for character in text.chars() {
        match character {
            '\u{2019}' => out.push('\''),
            '\'' => out.push('\''),
            _ if character.is_alphanumeric() => out.extend(character.to_lowercase()),
            _ if out.ends_with(' ') => {}
            _ => out.push(' '),
        }
    }
    if !out.ends_with(' ') {
        out.push(' ');
    }
    out
}

/// Whether `normalised` text holds one of `words`, each one word or several with single spaces.
pub(crate) fn has_any(normalised: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        normalised
            .match_indices(word)
            .any(|(at, _)| normalised[..at].ends_with(' ') && normalised[at + word.len()..].starts_with(' '))
    })
}

/// Whether `normalised` text starts with one of `words`.
pub(crate) fn starts_with_any(normalised: &str, words: &[&str]) -> bool {
    let text = normalised.trim_start();
    words.iter().any(|word| text.strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')))
}

/// The sentences of `text`, without code between fences, headings and list markers.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| Sentences { rest: without_marker(line) })
}

/// The lines of `text` without code between fences.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// What an answer says first and last, which is where answers tell their outcome.
pub(crate) fn gist(text: &str) -> String {
    let mut all = sentences(text);
    let first = all.next().or_else(|| code_line(text)).unwrap_or_default();
    let part = |sentence: &str| one_line(&clip(sentence, LONGEST_GIST)).replace("**", "");
    let first = part(first);
    match all.last() {
        Some(last) => format!("{first} \u{2026} {}", part(last)),
        None => first,
    }
}

/// The first line that says anything in a text of nothing but code.
fn code_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.trim_matches(['`', ' ', '\t']).is_empty() && !line.trim_start().starts_with("```"))
}

/// A line without the marks of headings, quotes and lists at its beginning.
pub(crate) fn without_marker(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['#', '>', '*', '-', '+', ' ']);
    let digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
    match digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") ")) {
        Some(rest) if digits.len() < line.len() => rest.trim_start(),
        _ => line,
    }
}

struct Sentences<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Sentences<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() {
            return None;
        }
        let is_end = |at: &usize| self.rest[at + 1..].starts_with([' ', '\t']);
        let marks = self.rest.match_indices(['.', '!', '?', ';']).map(|(at, _)| at);
        let end = marks.into_iter().find(is_end).map_or(self.rest.len(), |at| at + 1);
        let (sentence, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(sentence)
    }
}

/// The texts between single backticks in `text`, without those that span lines.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("```"));
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::trim).filter(|name| !name.is_empty())
}

/// `text` as a quoted name, on one line.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", one_line(text).replace('`', "'"))
}
