//! Text that fits into one item of a summary.

use std::borrow::Cow;

use super::bold::without_bold;
use super::statements::sentences;
use super::terms::small_letters;
use crate::prompts::escape_tags;
use crate::text::{prefix_utf16, suffix_utf16, utf16_len};

/// Longest sentence that [`first_and_last_sentence`] returns, in UTF-16 units.
const LONGEST_END: usize = 280;

/// `text` without the escape sequences for terminal colours.
pub(super) fn without_colours(text: &str) -> Cow<'_, str> {
    if memchr::memchr(0x1b, text.as_bytes()).is_none() {
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

/// Tags around the thinking of a model in its text. One of an agent goes on with a number before its end.
const THINKING: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<thinking-content-", "</thinking-content-")];

/// The text of a model without the thinking that its agent left in it: each part between such tags, if the first tag
/// begins a line outside a fence. An unclosed tag stays, with the text after it.
pub(super) fn without_thinking(mut text: Cow<'_, str>) -> Cow<'_, str> {
    if memchr::memchr(b'<', text.as_bytes()).is_none() {
        return text;
    }
    for (open, close) in THINKING {
        if let Some(said) = without_parts(&text, open, close) {
            text = Cow::Owned(said);
        }
    }
    text
}

fn without_parts(text: &str, open: &str, close: &str) -> Option<String> {
    let fences = memchr::memmem::find_iter(text.as_bytes(), "\n```").map(|at| at + 1);
    let mut fences = text.starts_with("```").then_some(0).into_iter().chain(fences).peekable();
    let (mut said, mut end, mut is_in_fence) = (String::new(), 0, false);
    for at in memchr::memmem::find_iter(text.as_bytes(), open) {
        while fences.next_if(|fence| *fence < at).is_some() {
            is_in_fence = !is_in_fence;
        }
        let begins = at == end || text[..at].ends_with('\n');
        if at < end || is_in_fence || !begins {
            continue;
        }
        // Once a tag is not closed, no later one can be.
        let Some(closed) = text[at..].find(close) else { break };
        said.push_str(&text[end..at]);
        end = at + closed + close.len();
        if !close.ends_with('>') {
            let rest = &text[end..];
            let number = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
            end += if rest[number..].starts_with('>') { number + 1 } else { number };
        }
    }
    (end > 0).then(|| said + &text[end..])
}

/// `text` on one line: every run of white space and control characters is one space, and closing
/// tags that could end a block around the summary are escaped.
pub(crate) fn one_line(text: &str) -> String {
    as_line(text).into_owned()
}

/// As [`one_line`], but borrows text that is on one line already.
pub(crate) fn as_line(text: &str) -> Cow<'_, str> {
    let bare = text.trim_ascii();
    if !is_line(bare.as_bytes()) {
        let mut out = String::new();
        read_one_line(text, &mut out);
        return Cow::Owned(out);
    }
    if memchr::memchr(b'<', bare.as_bytes()).is_none() { Cow::Borrowed(bare) } else { escape_tags(bare) }
}

/// As [`one_line`], but replaces the content of `out`.
pub(crate) fn read_one_line(text: &str, out: &mut String) {
    out.clear();
    out.reserve(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let line = rest[..end].trim_ascii();
        if is_line(line.as_bytes()) {
            push_word(line, out)
        } else {
            push_words(line, out)
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    if memchr::memchr(b'<', out.as_bytes()).is_some()
        && let Cow::Owned(escaped) = escape_tags(out)
    {
        *out = escaped;
    }
}

/// Whether a trimmed text surely has no white space other than single spaces, and no control characters.
fn is_line(text: &[u8]) -> bool {
    // Loops without an early exit are compiled to vector instructions.
    let is_odd = |byte: u8| byte < 0x20 || byte == 0x7F || byte == 0xC2 || (0xE1..=0xE3).contains(&byte);
    let odd = text.iter().fold(0, |odd, byte| odd | u8::from(is_odd(*byte)));
    let behind = text.get(1..).unwrap_or_default();
    let wide = text.iter().zip(behind).fold(0, |wide, (left, right)| wide | u8::from(left | right == b' '));
    odd | wide == 0
}

/// Appends the words of `line`, with one space between them.
fn push_words(line: &str, out: &mut String) {
    let mut word = 0;
    let mut at = 0;
    while let Some(byte) = line.as_bytes().get(at) {
        let width = match byte {
            b'!'..=b'~' => 0,
            // A single space stays as it is.
            b' ' if at > word && matches!(line.as_bytes().get(at + 1), Some(b'!'..=b'~')) => 0,
            ..0x80 => 1,
            // Other white space and control characters begin with these bytes only.
            0xC2 | 0xE1..=0xE3 => blank_width(&line[at..]),
            _ => 0,
        };
        if width > 0 {
            push_word(&line[word..at], out);
            word = at + width;
        }
        // The other bytes of a character are none of these.
        at += width.max(1);
    }
    push_word(&line[word..], out);
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

/// As [`str::trim_start`], but faster for most texts.
pub(crate) fn trim_start(text: &str) -> &str {
    let rest = &text[text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()..];
    if matches!(rest.as_bytes().first(), Some(b'!'..=b'~')) { rest } else { rest.trim_start() }
}

/// As [`str::trim`], but faster for most texts.
pub(crate) fn trim(text: &str) -> &str {
    let rest = trim_start(text);
    if matches!(rest.as_bytes().last(), Some(b'!'..=b'~')) { rest } else { rest.trim_end() }
}

/// As [`str::lines`], but faster.
pub(crate) fn lines(text: &str) -> Lines<'_> {
    Lines(text)
}

/// See [`lines`].
#[derive(Debug)]
pub(crate) struct Lines<'a>(&'a str);

impl<'a> Lines<'a> {
    /// The text of the lines that are left.
    pub(super) fn text(&self) -> &'a str {
        self.0
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let Some(end) = memchr::memchr(b'\n', self.0.as_bytes()) else { return Some(std::mem::take(&mut self.0)) };
        let (line, rest) = (&self.0[..end], &self.0[end + 1..]);
        self.0 = rest;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

/// The number of bytes of `text` for which `is_one` is true.
pub(super) fn count(text: &str, is_one: impl Fn(u8) -> bool) -> usize {
    // Sums in one byte are several times faster than wider ones, and a chunk of this size cannot overflow.
    let sum = |bytes: &[u8]| bytes.iter().fold(0_u8, |sum, byte| sum + u8::from(is_one(*byte)));
    text.as_bytes().chunks(u8::MAX.into()).map(|bytes| usize::from(sum(bytes))).sum()
}

/// `text` in at most `units` UTF-16 units, with `…` at its end if it was cut.
pub(crate) fn clip(text: &str, units: usize) -> String {
    if utf16_len(text) <= units {
        return text.to_owned();
    }
    let mut cut = whole_words(text, prefix_utf16(text, units.saturating_sub(1)).len()).trim_end().to_owned();
    if units > 0 {
        cut.push('\u{2026}');
    }
    cut
}

/// `text` in at most `units` UTF-16 units: its first sentences if they fit and fill at least a third of the room,
/// otherwise cut as by [`clip`].
pub(crate) fn clip_sentences(text: &str, units: usize) -> String {
    if utf16_len(text) <= units {
        return text.to_owned();
    }
    let end = |sentence: &str| sentence.as_ptr() as usize - text.as_ptr() as usize + sentence.len();
    let fits = |end: &usize| utf16_len(&text[..*end]) <= units;
    let last = sentences(text).map(end).take_while(fits).last();
    match last.filter(|end| utf16_len(&text[..*end]) * 3 >= units) {
        Some(end) => text[..end].to_owned(),
        None => clip(text, units),
    }
}

/// Marks between sentences and clauses.
const CLAUSE_ENDS: [&str; 11] =
    [". ", "; ", ", ", ": ", " - ", " \u{2013} ", " \u{2014} ", "\u{3002}", "\u{3001}", "\u{ff0c}", "\u{ff1b}"];

/// `text` in at most `units` UTF-16 units, cut at the end of a clause in the last two thirds of the room and outside
/// backticks, otherwise as by [`clip`].
pub(crate) fn clip_clauses(text: &str, units: usize) -> String {
    if utf16_len(text) <= units {
        return text.to_owned();
    }
    let room = prefix_utf16(text, units.saturating_sub(1));
    let is_outside = |at: &usize| room[..*at].matches('`').count().is_multiple_of(2);
    let mut ends: Vec<usize> = CLAUSE_ENDS.iter().flat_map(|end| room.match_indices(end).map(|(at, _)| at)).collect();
    ends.sort_unstable();
    let last = ends.into_iter().rev().take_while(|at| at * 3 >= room.len()).take(MOST_ENDS).find(is_outside);
    last.map_or_else(|| clip(text, units), |at| format!("{}\u{2026}", room[..at].trim_end()))
}

/// Most ends of clauses that are tried.
const MOST_ENDS: usize = 8;

/// `text` in at most `units` UTF-16 units: its beginning (two thirds) and its end, with `…` between
/// them if it was cut. Requests are often written below pasted text.
pub(crate) fn clip_middle(text: &str, units: usize) -> String {
    if utf16_len(text) <= units {
        return text.to_owned();
    }
    let end = whole_words_from(text, text.len() - suffix_utf16(text, units / 3).len()).trim_start();
    let start = whole_words(text, prefix_utf16(text, units.saturating_sub(utf16_len(end) + 3)).len()).trim_end();
    if start.is_empty() || end.is_empty() {
        return clip(text, units);
    }
    format!("{start} \u{2026} {end}")
}

/// The beginning of `text` up to `end`, without the word at the cut: half a number or name would be a different one. A
/// word of more than [`LONGEST_WORD`] bytes is split.
fn whole_words(text: &str, end: usize) -> &str {
    if is_between_words(text, end) {
        return &text[..end];
    }
    let word = text[..end].bytes().rev().position(|byte| byte.is_ascii_whitespace()).unwrap_or(end);
    let has_room = word <= LONGEST_WORD && word * 2 < end;
    &text[..if has_room { end - word } else { end }]
}

/// The end of `text` from `start` on, without the word at the cut, like [`whole_words`].
fn whole_words_from(text: &str, start: usize) -> &str {
    if is_between_words(text, start) {
        return &text[start..];
    }
    let end = &text[start..];
    let word = end.bytes().position(|byte| byte.is_ascii_whitespace()).unwrap_or(end.len());
    let has_room = word <= LONGEST_WORD && word * 2 < end.len();
    &end[if has_room { word } else { 0 }..]
}

/// Whether no word continues at `at`. Scripts without spaces between words have no whole words.
fn is_between_words(text: &str, at: usize) -> bool {
    let is_apart = |one: Option<char>| one.is_none_or(|one| one.is_whitespace() || one >= '\u{2e80}');
    is_apart(text[..at].chars().next_back()) || is_apart(text[at..].chars().next())
}

/// Longest word that is dropped at a cut, in bytes.
const LONGEST_WORD: usize = 24;

/// `text` in lower case, with one space for each run of other characters than letters, digits and
/// apostrophes, and one at each end. Words can be searched for in it, and equal sentences compare
/// equal.
pub(crate) fn normalised(text: &str) -> String {
    if text.is_ascii() { normalised_ascii(text) } else { first_words(text, usize::MAX) }
}

/// As [`normalised`]. The loop has no branches, and nothing has to grow.
fn normalised_ascii(text: &str) -> String {
    let mut out = vec![b' '; text.len() + 2];
    let (mut length, mut last) = (1, b' ');
    for byte in text.bytes() {
        let lower = LOWER_OR_SPACE[byte as usize];
        out[length] = lower;
        length += usize::from(lower | last != b' ');
        last = lower;
    }
    // The buffer is full of spaces.
    length += usize::from(last != b' ');
    out.truncate(length);
    String::from_utf8(out).unwrap_or_default()
}

/// As [`normalised`], but ends after `most` words.
pub(crate) fn first_words(text: &str, most: usize) -> String {
    let mut out = Vec::with_capacity(if most == usize::MAX { text.len() + 2 } else { 64 });
    out.push(b' ');
    let mut words = 0;
    let mut is_open = false;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let mut is_word = true;
        let lower = LOWER[*byte as usize];
        if lower != 0 {
            out.push(lower);
            at += 1;
        } else if *byte < 0x80 {
            is_word = false;
            at += 1;
        } else {
            let character = text[at..].chars().next().unwrap_or_default();
            at += character.len_utf8();
            match character {
                '\u{2019}' => out.push(b'\''),
                _ if character.is_alphanumeric() => {
                    // The dotted capital I of Turkish becomes two characters; words in the lists have only the first
                    // one.
                    for lower in character.to_lowercase().filter(|lower| *lower != '\u{307}') {
                        out.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
                _ => is_word = false,
            }
        }
        if !is_word && is_open {
            out.push(b' ');
            words += 1;
            if words == most {
                break;
            }
        }
        is_open = is_word;
    }
    if is_open {
        out.push(b' ');
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Whether the bytes before the first one of another alphabet begin at least so many words.
pub(crate) fn has_ascii_words(text: &[u8], fewest: usize) -> bool {
    let mut is_open = false;
    let are_of_words = text.iter().take_while(|byte| byte.is_ascii()).map(|byte| LOWER[*byte as usize] != 0);
    let starts = are_of_words.filter(|is_word| !std::mem::replace(&mut is_open, *is_word) && *is_word);
    starts.take(fewest).count() == fewest
}

/// For each ASCII character of a word, its lower case; 0 for all other bytes.
const LOWER: [u8; 256] = {
    let mut lower = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'\'' {
            lower[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    lower
};

/// As [`LOWER`], but a space for all other bytes.
const LOWER_OR_SPACE: [u8; 256] = {
    let mut lower = LOWER;
    let mut byte = 0;
    while byte < 256 {
        if lower[byte] == 0 {
            lower[byte] = b' ';
        }
        byte += 1;
    }
    lower
};

/// Words and phrases to search for in `normalised` texts, each with single spaces, and the set of their first three
/// bytes, which rules out most places of a text.
#[derive(Debug)]
pub(crate) struct WordList<'a> {
    /// The phrases in the order of [`by_group`].
    pub(crate) words: &'a [&'a str],
    beginnings: [u64; GROUPS],
    /// Where the phrases of each group start in `words`, and where the last group ends.
    starts: [u16; GROUPS + 1],
    /// The phrases in languages without spaces between words, which are searched for as substrings.
    pub(crate) pieces: &'a [&'a str],
}

/// The phrases of a list in all languages, or in some of the tables, as a [`WordList`].
macro_rules! word_list {
    ($list:literal) => {
        $crate::ledger::text::word_list!(
            $crate::phrases::SPACED,
            $list,
            $crate::phrases::listed!($crate::phrases::UNSPACED, $list)
        )
    };
    ($table:expr, $list:literal) => {
        $crate::ledger::text::word_list!($table, $list, &[])
    };
    ($table:expr, $list:literal, $pieces:expr) => {
        $crate::ledger::text::WordList::new(
            const {
                const PHRASES: &[&str] = $crate::phrases::listed!($table, $list);
                const GROUPED: [&str; PHRASES.len()] = $crate::ledger::text::by_group(PHRASES);
                &GROUPED
            },
            $pieces,
        )
    };
}
pub(crate) use word_list;

/// Number of groups of phrases. The set of beginnings has 64 bits for each.
const GROUPS: usize = 64;

/// The phrases of a list, those of the same group together.
pub(crate) const fn by_group<const N: usize>(words: &[&'static str]) -> [&'static str; N] {
    let mut next = starts_of_groups(words);
    let (mut sorted, mut at) = ([""; N], 0);
    while at < N {
        let (group, _) = beginning(words[at].as_bytes());
        sorted[next[group] as usize] = words[at];
        next[group] += 1;
        at += 1;
    }
    sorted
}

/// Where the phrases of each group start once they are sorted by group, and where the last group ends.
const fn starts_of_groups(words: &[&str]) -> [u16; GROUPS + 1] {
    let (mut starts, mut at) = ([0; GROUPS + 1], 0);
    while at < words.len() {
        let (group, _) = beginning(words[at].as_bytes());
        starts[group + 1] += 1;
        at += 1;
    }
    at = 1;
    while at <= GROUPS {
        starts[at] += starts[at - 1];
        at += 1;
    }
    starts
}

impl<'a> WordList<'a> {
    /// A list of phrases in the order of [`by_group`], and of those in languages without spaces between words.
    pub(crate) const fn new(words: &'a [&'a str], pieces: &'a [&'a str]) -> Self {
        let mut beginnings = [0; GROUPS];
        let mut at = 0;
        while at < words.len() {
            let (group, bit) = beginning(words[at].as_bytes());
            beginnings[group] |= bit;
            at += 1;
        }
        Self { words, beginnings, starts: starts_of_groups(words), pieces }
    }

    /// Whether `text` contains one of them in any language.
    pub(crate) fn is_said(&self, text: &str) -> bool {
        if text.is_ascii() {
            self.is_in_ascii(text)
        } else {
            has_piece(text, self.pieces) || self.is_in(&normalised(text))
        }
    }

    /// Whether the `normalised` form of an ASCII text contains one of them. Such a text need not be copied for that.
    fn is_in_ascii(&self, text: &str) -> bool {
        let is_of_word = |byte: &u8| LOWER[*byte as usize] != 0;
        let mut rest = text.as_bytes();
        loop {
            rest = &rest[rest.iter().take_while(|byte| !is_of_word(byte)).count()..];
            if rest.is_empty() || self.is_said_at(rest) {
                return !rest.is_empty();
            }
            rest = &rest[1 + small_letters(rest, 1)..];
            rest = &rest[rest.iter().take_while(|byte| is_of_word(byte)).count()..];
        }
    }

    /// Whether the `normalised` form of the ASCII text `rest`, which begins with a word, begins with one of them.
    fn is_said_at(&self, rest: &[u8]) -> bool {
        let lower = |at: usize| rest.get(at).map_or(b' ', |byte| LOWER_OR_SPACE[*byte as usize]);
        let words = self.with_beginning(&[lower(0), lower(1), lower(2)]);
        words.iter().any(|word| is_said_at(rest, word.as_bytes()))
    }

    /// As [`Self::is_said`] of a text whose `normalised` form is known.
    pub(crate) fn is_said_in(&self, text: &str, normalised: &str) -> bool {
        self.is_in(normalised) || has_piece(text, self.pieces)
    }

    /// Whether `text` starts with one of them in any language.
    pub(crate) fn begins(&self, text: &str) -> bool {
        self.begins_in(text, usize::MAX)
    }

    /// As [`Self::begins`] if no phrase has more than `most_words` words.
    pub(crate) fn begins_in(&self, text: &str, most_words: usize) -> bool {
        starts_with_piece(text, self.pieces) || self.may_start(text) && self.starts(&first_words(text, most_words))
    }

    /// Whether `normalised` text contains one of them.
    pub(crate) fn is_in(&self, normalised: &str) -> bool {
        let text = normalised.as_bytes();
        Spaces::of(text).any(|space| self.at(&text[space + 1..]).next().is_some())
    }

    /// The phrases in `normalised` text, each with its offset in bytes.
    pub(crate) fn found_in(&self, normalised: &str) -> impl Iterator<Item = (usize, &'a str)> {
        let text = normalised.as_bytes();
        Spaces::of(text).flat_map(move |space| self.at(&text[space + 1..]).map(move |word| (space + 1, word)))
    }

    /// Whether `word`, which is in lower case, is one of them.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.with_beginning(word.as_bytes()).contains(&word)
    }

    /// Whether `normalised` text starts with one of them.
    pub(crate) fn starts(&self, normalised: &str) -> bool {
        let text = normalised.strip_prefix(' ').unwrap_or(normalised);
        self.at(text.as_bytes()).next().is_some()
    }

    /// Whether a text that is not normalised may start with one of them. The first three bytes rule out most texts.
    pub(crate) fn may_start(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let is_of_word = |byte: &u8| LOWER[*byte as usize] != 0 || !byte.is_ascii();
        let Some(start) = bytes.iter().position(is_of_word) else { return false };
        let beginning_of = &bytes[start..bytes.len().min(start + 3)];
        if !beginning_of.is_ascii() {
            return true;
        }
        let lower = |at: usize| beginning_of.get(at).map_or(0, |byte| LOWER[*byte as usize]);
        let (group, bit) = beginning(&[0, 1, 2].map(|at| if lower(at) == 0 { b' ' } else { lower(at) }));
        self.beginnings[group] & bit != 0
    }

    /// Those that `rest` begins with.
    fn at(&self, rest: &[u8]) -> impl Iterator<Item = &'a str> {
        self.with_beginning(rest).iter().copied().filter(move |word| is_word_at(rest, word.as_bytes()))
    }

    /// The phrases of a group, if one of the list may have the beginning of `rest`.
    fn with_beginning(&self, rest: &[u8]) -> &'a [&'a str] {
        let (group, bit) = beginning(rest);
        if self.beginnings[group] & bit == 0 {
            return &[];
        }
        &self.words[usize::from(self.starts[group])..usize::from(self.starts[group + 1])]
    }
}

/// Whether `rest` begins with `word` and a space. Most words differ in the bytes that are compared first.
fn is_word_at(rest: &[u8], word: &[u8]) -> bool {
    let end = word.len();
    rest.get(end) == Some(&b' ')
        && rest.first() == word.first()
        && rest[..end].last() == word.last()
        && rest[..end] == *word
}

/// Whether the normalised form of the ASCII text `rest` begins with `phrase` and a space.
fn is_said_at(rest: &[u8], phrase: &[u8]) -> bool {
    let mut at = 0;
    for byte in phrase {
        let is_there = match byte {
            b' ' => {
                let between = rest[at..].iter().take_while(|byte| LOWER[**byte as usize] == 0).count();
                at += between;
                between > 0
            }
            _ => {
                at += 1;
                rest.get(at - 1).is_some_and(|own| LOWER[*own as usize] == *byte)
            }
        };
        if !is_there {
            return false;
        }
    }
    rest.get(at).is_none_or(|behind| LOWER[*behind as usize] == 0)
}

/// The offsets of the spaces in a text. Words are short, so eight bytes at once are faster than a search for each space.
struct Spaces<'a> {
    rest: &'a [u8],
    /// Where the eight bytes begin that were read last, and the high bit of each of them that is a space yet to be told.
    start: usize,
    found: u64,
}

impl<'a> Spaces<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { rest: text, start: 0_usize.wrapping_sub(8), found: 0 }
    }

    fn found_in(chunk: [u8; 8]) -> u64 {
        const LOW_BITS: u64 = u64::from_le_bytes([0x7F; 8]);
        let other = u64::from_le_bytes(chunk) ^ u64::from_le_bytes([b' '; 8]);
        !(((other & LOW_BITS) + LOW_BITS) | other | LOW_BITS)
    }
}

impl Iterator for Spaces<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            if self.rest.is_empty() {
                return None;
            }
            self.start = self.start.wrapping_add(8);
            if let Some((chunk, rest)) = self.rest.split_first_chunk() {
                (self.found, self.rest) = (Self::found_in(*chunk), rest);
            } else {
                let mut chunk = [0; 8];
                chunk[..self.rest.len()].copy_from_slice(self.rest);
                (self.found, self.rest) = (Self::found_in(chunk), &[]);
            }
        }
        let at = self.start + self.found.trailing_zeros() as usize / 8;
        self.found &= self.found - 1;
        Some(at)
    }
}

/// The group of the first three bytes, and their bit in it. Bytes after a word of one letter are ignored.
const fn beginning(word: &[u8]) -> (usize, u64) {
    let (first, second, third) = match word {
        [] => (b' ', b' ', b' '),
        [first] | [first, b' ', ..] => (*first, b' ', b' '),
        [first, second] => (*first, *second, b' '),
        [first, second, third, ..] => (*first, *second, *third),
    };
    let place = first as usize * 961 + second as usize * 31 + third as usize;
    (place / 64 % GROUPS, 1 << (place % 64))
}

/// Whether `normalised` text contains one of `words`. This is for lists that only one function searches for.
pub(crate) fn has_any(normalised: &str, words: &[&str]) -> bool {
    let text = normalised.as_bytes();
    memchr::memchr_iter(b' ', text)
        .any(|space| words.iter().any(|word| is_word_at(&text[space + 1..], word.as_bytes())))
}

/// Whether `normalised` text starts with one of `words`.
pub(crate) fn starts_with_any(normalised: &str, words: &[&str]) -> bool {
    let text = normalised.trim_start().as_bytes();
    words.iter().any(|word| is_word_at(text, word.as_bytes()))
}

/// Whether `text` contains one of `pieces`, which are phrases of languages without spaces between words.
pub(crate) fn has_piece(text: &str, pieces: &[&str]) -> bool {
    // The loop is compiled to vector instructions.
    text.bytes().fold(false, |is_wide, byte| is_wide | begins_piece(byte))
        && pieces.iter().any(|piece| text.contains(piece))
}

/// Whether `text` starts with one of `pieces`.
pub(crate) fn starts_with_piece(text: &str, pieces: &[&str]) -> bool {
    text.bytes().next().is_some_and(begins_piece) && pieces.iter().any(|piece| text.starts_with(piece))
}

/// Whether a byte can begin a character of these languages.
fn begins_piece(byte: u8) -> bool {
    matches!(byte, 0xE3..=0xEF)
}

/// Whether `text` may have characters from U+2E80 on, such as the letters of scripts without spaces between words. They
/// begin with such a byte.
pub(crate) fn may_be_unspaced(text: &str) -> bool {
    // The loop is compiled to vector instructions.
    text.bytes().fold(false, |is_wide, byte| is_wide | (byte >= 0xE2))
}

/// Number of characters of `text` in scripts without spaces between words.
pub(crate) fn unspaced(text: &str) -> usize {
    if may_be_unspaced(text) { text.chars().filter(|one| ('\u{2E80}'..='\u{FFDC}').contains(one)).count() } else { 0 }
}

/// The first and the last sentence of an answer, which usually state the outcome.
pub(crate) fn first_and_last_sentence(text: &str) -> String {
    let mut all = sentences(text);
    let first = all.next().or_else(|| code_line(text)).unwrap_or_default();
    let part = |sentence: &str| without_bold(&one_line(&clip(sentence, LONGEST_END))).into_owned();
    let first = part(first);
    match all.last() {
        Some(last) => format!("{first} \u{2026} {}", part(last)),
        None => first,
    }
}

/// The first line with content in a text that is only code.
fn code_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.trim_matches(['`', ' ', '\t']).is_empty() && !line.trim_start().starts_with("```"))
}

/// The texts between single backticks in `text`, without those that span lines.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let lines = lines_with(text, b'`').filter(|line| !line.trim_start().starts_with("```"));
    lines.flat_map(|line| Between { rest: line }).map(str::trim).filter(|name| !name.is_empty())
}

/// The texts after each odd backtick of a line, up to the next one.
struct Between<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Between<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let open = memchr::memchr(b'`', self.rest.as_bytes())?;
        let inside = &self.rest[open + 1..];
        let close = memchr::memchr(b'`', inside.as_bytes()).unwrap_or(inside.len());
        self.rest = inside.get(close + 1..).unwrap_or_default();
        Some(&inside[..close])
    }
}

/// The lines of `text` that contain an ASCII character.
pub(crate) fn lines_with(text: &str, character: u8) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = memchr::memchr(character, rest.as_bytes())?;
        let start = memchr::memrchr(b'\n', &rest.as_bytes()[..at]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &rest.as_bytes()[at..]).map_or(rest.len(), |end| at + end);
        let line = &rest[start..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line.strip_suffix('\r').unwrap_or(line))
    })
}

/// `text` as a quoted name, on one line.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", one_line(text).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrases::{SPACED, UNSPACED};

    #[test]
    fn thinking_in_tags_is_not_said() {
        for (text, expected) in [
            ("<think>Perhaps.</think>It is done.", "It is done."),
            ("First.\n<thinking>\nWait.\n</thinking>\nThen.", "First.\n\nThen."),
            ("The tag `<think>` ends with `</think>` here.", "The tag `<think>` ends with `</think>` here."),
            ("<think>Never closed.", "<think>Never closed."),
            ("A template:\n```\n<think>\nzeta\n</think>\n```", "A template:\n```\n<think>\nzeta\n</think>\n```"),
            ("```\na\n```\n<think>b</think>c", "```\na\n```\nc"),
            ("<think>a</think>\n<think>b</think>c", "\nc"),
        ] {
            assert_eq!(without_thinking(Cow::Borrowed(text)), expected);
        }
    }

    #[test]
    fn no_word_is_parted_where_a_text_is_cut() {
        for (text, units, start, middle) in [
            (
                "the server listens on port 8081 now",
                29,
                "the server listens on port\u{2026}",
                "the server listens \u{2026} 8081 now",
            ),
            ("never touch src/store/orders.rs again", 24, "never touch\u{2026}", "never touch \u{2026} again"),
            ("averylongwordthatnobodywouldleaveoutofatext", 12, "averylongwo\u{2026}", "avery \u{2026} text"),
            (
                "\u{6a94}\u{6848}\u{4e0d}\u{8981}\u{5728} main \u{4e0a}\u{6539}\u{52d5}",
                5,
                "\u{6a94}\u{6848}\u{4e0d}\u{8981}\u{2026}",
                "\u{6a94} \u{2026} \u{52d5}",
            ),
        ] {
            assert_eq!(clip(text, units), start);
            assert_eq!(clip_middle(text, units), middle);
        }
    }

    #[test]
    fn phrases_without_spaces_begin_with_a_character_of_their_script() {
        // These are compared with the words of a text, too.
        let others = ["answers: routine", "cues: trivial"];
        for list in UNSPACED.iter().filter(|list| !others.contains(&list.name)) {
            let wrong: Vec<_> = list.phrases.iter().filter(|phrase| !begins_piece(phrase.as_bytes()[0])).collect();
            assert!(wrong.is_empty(), "{}: {wrong:?}", list.name);
        }
    }

    #[test]
    fn phrases_that_are_compared_with_words_have_no_hyphens() {
        // These are compared with a text as it is, or with words that may have them.
        let others = [
            "answers: no refusals",
            "overflow: other things",
            "overflow: rate limits",
            "problems: tag questions",
            "question: function words",
        ];
        for list in SPACED.iter().filter(|list| !others.contains(&list.name)) {
            let wrong: Vec<_> = list.phrases.iter().filter(|phrase| phrase.contains('-')).collect();
            assert!(wrong.is_empty(), "{}: {wrong:?}", list.name);
        }
    }

    /// The same functions, written in the simplest way.
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
            let mut line = String::new();
            read_one_line(&text, &mut line);
            proptest::prop_assert_eq!(line, plain_line(&text));
            proptest::prop_assert_eq!(trim(&text), text.trim());
            proptest::prop_assert_eq!(lines(&text).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
            proptest::prop_assert_eq!(count(&text, |byte| byte == b'a'), text.matches('a').count());
            if !text.contains('Σ') {
                proptest::prop_assert_eq!(normalised(&text), plain_words(&text));
            }
        }

        #[test]
        fn what_starts_a_text_may_start_it(text in "[ .]{0,3}[aBé'\u{2019}]{0,3}[ aB'é,]{0,6}", word in "[ab']{1,3}( [ab]{1,2})?") {
            let words = [word.as_str()];
            let list = WordList::new(&words, &[]);
            proptest::prop_assert!(list.may_start(&text) || !list.starts(&normalised(&text)));
        }

        #[test]
        fn words_are_found_where_a_search_finds_them(text in "[ab' ]{0,20}", words in proptest::collection::vec("[ab']{1,3}( [ab]{1,2})?", 0..4)) {
            let text = normalised(&text);
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            words.sort_by_key(|word| beginning(word.as_bytes()).0);
            let expected = words.iter().any(|word| text.contains(&format!(" {word} ")));
            proptest::prop_assert_eq!(has_any(&text, &words), expected);
            let expected = words.iter().any(|word| text.starts_with(&format!(" {word} ")));
            proptest::prop_assert_eq!(WordList::new(&words, &[]).starts(&text), expected);
            proptest::prop_assert_eq!(starts_with_any(&text, &words), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_search_in_an_ascii_text_finds_what_one_in_its_normalised_form_finds(text in "[ a-cA-C',.-]{0,40}") {
            const GROUPED: [&str; 6] = by_group(&["a", "ab", "b c", "a'b", "abc a b", "ccc"]);
            static LIST: WordList = WordList::new(&GROUPED, &[]);
            let plain = first_words(&text, usize::MAX);
            proptest::prop_assert_eq!(normalised(&text), plain.as_str());
            let is_there = has_any(&plain, LIST.words);
            proptest::prop_assert_eq!((LIST.is_said(&text), LIST.is_in(&plain)), (is_there, is_there));
            let words = plain.split_whitespace().count();
            proptest::prop_assert!((0..4).all(|fewest| has_ascii_words(text.as_bytes(), fewest) == (words >= fewest)));
        }
    }
}
