//! Text made fit for one item of a summary.

use std::borrow::Cow;

use super::sentences::sentences;
use crate::prompts::escape_tags;
use crate::text::{prefix_utf16, suffix_utf16, utf16_len};

/// UTF-16 units of either sentence of a gist.
const LONGEST_GIST: usize = 280;

/// `text` on one line: every run of white space and control characters is one space, and closing
/// tags that could end a block around the summary are escaped.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::new();
    read_one_line(text, &mut out);
    out
}

/// As [`one_line`], into `out` in place of what it held.
pub(crate) fn read_one_line(text: &str, out: &mut String) {
    out.clear();
    out.reserve(text.len());
    let mut word = 0;
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        let width = match byte {
            b'!'..=b'~' => 0,
            // A single space stays as it is.
            b' ' if at > word && matches!(text.as_bytes().get(at + 1), Some(b'!'..=b'~')) => 0,
            ..0x80 => 1,
            // Only these begin characters that are white space or control characters.
            0xC2 | 0xE1..=0xE3 => blank_width(&text[at..]),
            _ => 0,
        };
        if width > 0 {
            push_word(&text[word..at], out);
            word = at + width;
        }
        at += if width > 0 { width } else { character_width(*byte) };
    }
    push_word(&text[word..], out);
    if let Cow::Owned(escaped) = escape_tags(out) {
        *out = escaped;
    }
}

fn push_word(word: &str, out: &mut String) {
    if !word.is_empty() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
}

/// Bytes of the first character, if it is white space or a control character; else 0.
fn blank_width(text: &str) -> usize {
    let first = text.chars().next().filter(|character| character.is_whitespace() || character.is_control());
    first.map_or(0, char::len_utf8)
}

/// Bytes of the character that starts with `byte`.
fn character_width(byte: u8) -> usize {
    match byte {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
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
    let mut is_open = false;
    let mut rest = text;
    while let Some(first) = rest.as_bytes().first() {
        let ascii = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'\'').count();
        let is_word = match first {
            _ if ascii > 0 => {
                let start = out.len();
                out.push_str(&rest[..ascii]);
                out[start..].make_ascii_lowercase();
                rest = &rest[ascii..];
                true
            }
            ..0x80 => {
                rest = &rest[1..];
                false
            }
            _ => {
                let mut characters = rest.chars();
                let character = characters.next();
                rest = characters.as_str();
                match character {
                    Some('\u{2019}') => {
                        out.push('\'');
                        true
                    }
                    Some(character) if character.is_alphanumeric() => {
                        out.extend(character.to_lowercase());
                        true
                    }
                    _ => false,
                }
            }
        };
        if !is_word && is_open {
            out.push(' ');
        }
        is_open = is_word;
    }
    if is_open {
        out.push(' ');
    }
    out
}

/// Whether `normalised` text holds one of `words`, each one word or several with single spaces.
pub(crate) fn has_any(normalised: &str, words: &[&str]) -> bool {
    let text = normalised.as_bytes();
    // Most places are no word's: the first two bytes tell that.
    let mut begins = [0_u64; 16];
    for word in words {
        let (slot, bit) = beginning(word.as_bytes());
        begins[slot] |= bit;
    }
    let is_at = |rest: &[u8], word: &[u8]| {
        rest.first() == word.first() && rest.starts_with(word) && rest.get(word.len()) == Some(&b' ')
    };
    let has_word_at = |start: usize| {
        let rest = &text[start..];
        let (slot, bit) = beginning(rest);
        begins[slot] & bit != 0 && words.iter().any(|word| is_at(rest, word.as_bytes()))
    };
    memchr::memchr_iter(b' ', text).any(|space| has_word_at(space + 1))
}

/// The place of the first two bytes in a set of 1024 bits.
fn beginning(word: &[u8]) -> (usize, u64) {
    let byte = |at: usize| usize::from(word.get(at).copied().unwrap_or(b' '));
    let place = (byte(0) << 5 ^ byte(1)) & 1023;
    (place / 64, 1 << (place % 64))
}

/// Whether `normalised` text starts with one of `words`.
pub(crate) fn starts_with_any(normalised: &str, words: &[&str]) -> bool {
    let text = normalised.trim_start().as_bytes();
    let is_start = |word: &[u8]| {
        text.first() == word.first() && text.strip_prefix(word).is_some_and(|rest| rest.starts_with(b" "))
    };
    words.iter().any(|word| is_start(word.as_bytes()))
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

/// The texts between single backticks in `text`, without those that span lines.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("```"));
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::trim).filter(|name| !name.is_empty())
}

/// `text` as a quoted name, on one line.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", one_line(text).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each function promises, said in the plainest way.
    fn plain_line(text: &str) -> String {
        let words = text.split(|character: char| character.is_whitespace() || character.is_control());
        escape_tags(&words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")).into_owned()
    }

    fn plain_words(text: &str) -> String {
        let words = text.replace('\u{2019}', "'");
        let words = words.split(|character: char| !character.is_alphanumeric() && character != '\'');
        let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
        if words.is_empty() { " ".to_owned() } else { format!(" {} ", words.join(" ")) }
    }

    proptest::proptest! {
        #[test]
        fn lines_and_words_are_what_they_seem(text in "\\PC*|[a-cZ9 \t\n'’é中\u{85}\u{a0}\u{2003}\u{3000}<>/]{0,40}|(</summary|x| ){0,6}") {
            proptest::prop_assert_eq!(one_line(&text), plain_line(&text));
            if !text.contains('Σ') {
                proptest::prop_assert_eq!(normalised(&text), plain_words(&text));
            }
        }

        #[test]
        fn words_are_found_where_a_search_finds_them(text in "[ab' ]{0,20}", words in proptest::collection::vec("[ab']{1,3}( [ab]{1,2})?", 0..4)) {
            let text = normalised(&text);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let expected = words.iter().any(|word| text.contains(&format!(" {word} ")));
            proptest::prop_assert_eq!(has_any(&text, &words), expected);
        }
    }
}
