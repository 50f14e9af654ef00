//! Searches for many texts at once. The time depends on the searched text, not on the number of
//! patterns.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, Input, MatchKind};
use memchr::memmem;

use super::terms::small_letters;

/// Bytes of a window in a long pattern.
const LONG: usize = 8;
/// Bytes of a window in a short pattern.
const SHORT: usize = 4;
/// Number of windows at the end of a long pattern. With so many, only every fourth position of the searched text has to
/// be examined.
const STEP: usize = 4;
/// Shortest pattern with so many long windows, in bytes.
const LONG_STEPPED: usize = LONG + STEP - 1;
/// Shortest pattern with so many short windows, in bytes.
const SHORT_STEPPED: usize = SHORT + STEP - 1;
/// Bits of the hash of a window.
const FILTER_BITS: u32 = 16;
const FILTER_WORDS: usize = (1 << FILTER_BITS) / 64;
/// Up to so many patterns are searched for one after the other.
const FEW: usize = 6;
/// The end of a chain of windows.
const END: u32 = u32::MAX;

/// An automaton that finds any of a fixed set of short texts in one pass.
pub(crate) fn automaton(texts: impl IntoIterator<Item = impl AsRef<[u8]>>, ignores_case: bool) -> AhoCorasick {
    let mut builder = AhoCorasickBuilder::new();
    builder.ascii_case_insensitive(ignores_case).kind(Some(AhoCorasickKind::DFA));
    // Only this kind of search uses vector instructions to skip bytes that cannot begin a text.
    builder.match_kind(MatchKind::LeftmostFirst);
    builder.build(texts).expect("a few short texts make a small automaton")
}

/// Phrases to search for in any case. The automaton contains only their beginnings, so it is built ten times faster.
#[derive(Debug)]
pub(crate) struct Phrases {
    beginnings: AhoCorasick,
    /// In order, without those that begin with another one.
    phrases: Vec<&'static str>,
    /// For each beginning, the index after its last phrase.
    ends: Vec<usize>,
}

/// Number of first bytes of a phrase that are in the automaton.
const BEGINNING: usize = 5;

impl Phrases {
    /// `phrases` are in lower case.
    pub(crate) fn of(phrases: impl IntoIterator<Item = &'static str>) -> Self {
        let mut phrases: Vec<&str> = phrases.into_iter().collect();
        phrases.sort_unstable();
        phrases.dedup_by(|next, known| next.starts_with(*known));
        let beginning = |phrase: &&'static str| &phrase[..phrase.ceil_char_boundary(BEGINNING)];
        let groups = || phrases.chunk_by(|one, next| beginning(one) == beginning(next));
        let ends = groups().scan(0, |end, group| {
            *end += group.len();
            Some(*end)
        });
        Self { beginnings: automaton(groups().map(|group| beginning(&group[0])), true), ends: ends.collect(), phrases }
    }

    /// Whether one of them is in `text`.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.found_in(text).next().is_some()
    }

    /// The places of phrases in `text`, in order.
    pub(crate) fn found_in(&self, text: &str) -> impl Iterator<Item = (usize, &'static str)> {
        let mut from = 0;
        let places = std::iter::from_fn(move || {
            let found = self.beginnings.find(Input::new(text).range(from..))?;
            from = found.start() + 1;
            Some((found.start(), found.pattern().as_usize()))
        });
        places.filter_map(move |(start, group)| {
            let rest = &text.as_bytes()[start..];
            let is_there = |phrase: &&&str| {
                rest.get(..phrase.len()).is_some_and(|rest| rest.eq_ignore_ascii_case(phrase.as_bytes()))
            };
            let first = group.checked_sub(1).map_or(0, |before| self.ends[before]);
            Some((start, *self.phrases[first..self.ends[group]].iter().find(is_there)?))
        })
    }
}

/// A text to search for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern<'a> {
    pub(crate) text: &'a str,
    /// Whether letters, digits and underscores beside it make it another word.
    pub(crate) is_word: bool,
}

/// A set of patterns, and which of them have been found.
#[derive(Debug)]
pub(crate) struct Finder<'a> {
    patterns: Vec<Pattern<'a>>,
    found: Vec<bool>,
    /// Number of patterns that have not been found.
    left: usize,
    /// Patterns that end with a word. They are compared where words end.
    long_words: Table,
    short_words: Table,
    /// Patterns that may end anywhere.
    long: Table,
    middle: Table,
    short: Table,
    /// Patterns that are searched for one after the other.
    few: Vec<(usize, memmem::Finder<'a>)>,
}

/// Patterns by a window of their bytes.
#[derive(Debug)]
struct Table {
    windows: Vec<Window>,
    /// For each value of the upper bits of a hash, the first of its windows.
    heads: Vec<u32>,
    shift: u32,
    /// One bit for each hash of a window.
    filter: Box<[u64; FILTER_WORDS]>,
}

#[derive(Debug)]
struct Window {
    hash: u64,
    pattern: usize,
    /// Number of bytes of the pattern after the window.
    following: usize,
    /// The next window of the chain.
    next: u32,
}

impl Table {
    /// A table of `windows`, each with its pattern and the number of bytes that follow it.
    fn new(windows: impl Iterator<Item = (u64, usize, usize)>) -> Self {
        let mut windows: Vec<Window> = windows
            .map(|(window, pattern, following)| Window { hash: hash(window), pattern, following, next: END })
            .collect();
        if windows.is_empty() {
            return Self { windows, heads: Vec::new(), shift: 0, filter: Box::new([0; FILTER_WORDS]) };
        }
        let size = (2 * windows.len()).next_power_of_two();
        let shift = 64 - size.ilog2();
        let (mut heads, mut filter) = (vec![END; size], Box::new([0; FILTER_WORDS]));
        for (index, window) in (0..).zip(&mut windows) {
            let (word, bit) = slot(window.hash);
            filter[word] |= bit;
            window.next = std::mem::replace(&mut heads[(window.hash >> shift) as usize], index);
        }
        Self { windows, heads, shift, filter }
    }

    fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Whether a pattern may have `window`.
    #[inline]
    fn may_have(&self, window: u64) -> bool {
        let (word, bit) = slot(hash(window));
        self.filter[word] & bit != 0
    }

    /// Calls `candidate` with each pattern that has `window` and the number of bytes that follow.
    #[inline(never)]
    fn each(&self, window: u64, mut candidate: impl FnMut(usize, usize)) {
        let hash = hash(window);
        let mut at = self.heads[(hash >> self.shift) as usize];
        while let Some(window) = self.windows.get(at as usize) {
            if window.hash == hash {
                candidate(window.pattern, window.following);
            }
            at = window.next;
        }
    }
}

impl<'a> Finder<'a> {
    pub(crate) fn new(patterns: Vec<Pattern<'a>>) -> Self {
        let found: Vec<bool> = patterns.iter().map(|pattern| pattern.text.is_empty()).collect();
        let left = found.iter().filter(|is_found| !**is_found).count();
        let (mut long_words, mut short_words) = (Vec::new(), Vec::new());
        let (mut long, mut middle, mut short) = (Vec::new(), Vec::new(), Vec::new());
        let mut few = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let ends_word = pattern.is_word && pattern.text.bytes().next_back().is_some_and(is_of_word);
            match pattern.text.len() {
                0 => {}
                1..SHORT => few.push(index),
                SHORT..LONG if ends_word => short_words.push(index),
                _ if ends_word => long_words.push(index),
                length if length >= LONG_STEPPED => long.push(index),
                length if length >= SHORT_STEPPED => middle.push(index),
                _ => short.push(index),
            }
        }
        for list in [&mut long_words, &mut short_words, &mut long, &mut middle, &mut short] {
            if list.len() <= FEW {
                few.append(list);
            }
        }
        let bytes = |index: usize| patterns[index].text.as_bytes();
        let at_end = |list: Vec<usize>, read: fn(&[u8]) -> u64| {
            Table::new(list.into_iter().map(|index| (read(bytes(index)), index, 0)))
        };
        let before_end = |list: Vec<usize>, read: fn(&[u8]) -> u64| {
            let windows = |index: usize| {
                let bytes = bytes(index);
                (0..STEP).map(move |following| (read(&bytes[..bytes.len() - following]), index, following))
            };
            Table::new(list.into_iter().flat_map(windows))
        };
        Self {
            long_words: at_end(long_words, read_long),
            short_words: at_end(short_words, read_short),
            long: before_end(long, read_long),
            middle: before_end(middle, read_short),
            short: at_end(short, read_short),
            few: few.into_iter().map(|index| (index, memmem::Finder::new(patterns[index].text))).collect(),
            patterns,
            found,
            left,
        }
    }

    /// Searches one more text.
    pub(crate) fn search(&mut self, text: &str) {
        if self.left == 0 {
            return;
        }
        let bytes = text.as_bytes();
        if !self.long_words.is_empty() || !self.short_words.is_empty() {
            self.search_words(bytes);
        }
        if !self.long.is_empty() {
            for end in (LONG..=bytes.len()).step_by(STEP) {
                let window = read_long(&bytes[..end]);
                if self.long.may_have(window) {
                    compare(&self.long, window, bytes, end, &self.patterns, &mut self.found, &mut self.left);
                }
            }
        }
        if !self.middle.is_empty() {
            for end in (SHORT..=bytes.len()).step_by(STEP) {
                let window = read_short(&bytes[..end]);
                if self.middle.may_have(window) {
                    compare(&self.middle, window, bytes, end, &self.patterns, &mut self.found, &mut self.left);
                }
            }
        }
        if !self.short.is_empty() {
            for end in SHORT..=bytes.len() {
                let window = read_short(&bytes[..end]);
                if self.short.may_have(window) {
                    compare(&self.short, window, bytes, end, &self.patterns, &mut self.found, &mut self.left);
                }
            }
        }
        let (patterns, found, left) = (&self.patterns, &mut self.found, &mut self.left);
        self.few.retain(|(index, finder)| {
            let pattern = patterns[*index];
            let mut from = 0;
            let mut ends = std::iter::from_fn(|| {
                let at = from + finder.find(bytes.get(from..)?)?;
                from = at + 1;
                Some(at + pattern.text.len())
            });
            let is_found = ends.any(|end| pattern.ends_at(bytes, end));
            found[*index] |= is_found;
            *left -= usize::from(is_found);
            !is_found
        });
    }

    /// Compares the patterns that end with a word at each end of a word.
    fn search_words(&mut self, bytes: &[u8]) {
        let mut at = 0;
        loop {
            at += bytes[at..].iter().take_while(|byte| !is_of_word(**byte)).count();
            if at == bytes.len() {
                return;
            }
            at += 1 + small_letters(bytes, at + 1);
            at += bytes[at..].iter().take_while(|byte| is_of_word(**byte)).count();
            for (table, window) in [
                (&self.long_words, (at >= LONG).then(|| read_long(&bytes[..at]))),
                (&self.short_words, (at >= SHORT).then(|| read_short(&bytes[..at]))),
            ] {
                if let Some(window) = window.filter(|window| !table.is_empty() && table.may_have(*window)) {
                    compare(table, window, bytes, at, &self.patterns, &mut self.found, &mut self.left);
                }
            }
        }
    }

    /// Whether every pattern was found.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// For each pattern, in the given order, whether it was found.
    pub(crate) fn found(self) -> Vec<bool> {
        self.found
    }
}

/// Compares the patterns that have `window`, which ends at `end`, with the bytes there.
fn compare(
    table: &Table,
    window: u64,
    bytes: &[u8],
    end: usize,
    patterns: &[Pattern<'_>],
    found: &mut [bool],
    left: &mut usize,
) {
    table.each(window, |index, following| {
        if !found[index] && patterns[index].ends_at(bytes, end + following) {
            found[index] = true;
            *left -= 1;
        }
    });
}

/// The last [`LONG`] bytes.
fn read_long(bytes: &[u8]) -> u64 {
    bytes.last_chunk().map_or(0, |window| u64::from_le_bytes(*window))
}

/// The last [`SHORT`] bytes.
fn read_short(bytes: &[u8]) -> u64 {
    bytes.last_chunk().map_or(0, |window| u32::from_le_bytes(*window).into())
}

impl Pattern<'_> {
    fn ends_at(&self, bytes: &[u8], end: usize) -> bool {
        let is_there = bytes.get(..end).is_some_and(|bytes| bytes.ends_with(self.text.as_bytes()));
        is_there && (!self.is_word || is_word_at(bytes, end - self.text.len(), end))
    }
}

fn is_word_at(bytes: &[u8], start: usize, end: usize) -> bool {
    let continues = |byte: Option<&u8>| byte.is_some_and(|byte| is_of_word(*byte));
    !continues(start.checked_sub(1).and_then(|before| bytes.get(before))) && !continues(bytes.get(end))
}

/// Whether a byte is a letter, a digit or an underscore.
const fn is_of_word(byte: u8) -> bool {
    IS_OF_WORD[byte as usize]
}

const IS_OF_WORD: [bool; 256] = {
    let mut is_of_word = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        is_of_word[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    is_of_word
};

fn hash(window: u64) -> u64 {
    window.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn slot(hash: u64) -> (usize, u64) {
    let bits = hash >> (64 - FILTER_BITS);
    ((bits / 64) as usize, 1 << (bits % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_as_words_or_anywhere() {
        let look = |texts: &[(&'static str, bool)], searched: &[&str]| {
            let patterns = texts.iter().map(|(text, is_word)| Pattern { text, is_word: *is_word }).collect();
            let mut finder = Finder::new(patterns);
            searched.iter().for_each(|text| finder.search(text));
            finder.found()
        };
        assert_eq!(
            look(
                &[("loadTheme", true), ("Theme", true), ("heme", false), ("E42", true), ("x9", true), ("", false)],
                &["reloadTheme loadTheme.", "E421 x9"],
            ),
            [true, false, true, false, true, true]
        );
        assert_eq!(look(&[("src/a.rs", true), ("a.rs", true)], &["/p/src/a.rs", "data.rs"]), [true, true]);
    }

    #[test]
    fn phrases_are_found_in_any_case() {
        let phrases = Phrases::of(["copy of", "copying", "copying all", "\u{e9}t\u{e9} pass\u{e9}", "of"]);
        let found = |text| phrases.found_in(text).collect::<Vec<_>>();
        assert_eq!(found("A Copy OF it, copyin, copying all"), [(2, "copy of"), (7, "of"), (22, "copying")]);
        assert_eq!(found("\u{e9}t\u{e9} pass\u{e9}"), [(0, "\u{e9}t\u{e9} pass\u{e9}")]);
        assert!(!phrases.is_in("a cop y"));
    }

    proptest::proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(texts in proptest::collection::vec(("[ab]{1,14}|[ab /]{1,14}", proptest::bool::ANY), 1..60), searched in "[abc]{0,80}|[ab]{0,200}|[ab /]{0,200}") {
            let patterns: Vec<Pattern<'_>> =
                texts.iter().map(|(text, is_word)| Pattern { text, is_word: *is_word }).collect();
            let is_there = |pattern: &Pattern<'_>| {
                (0..=searched.len()).any(|end| pattern.ends_at(searched.as_bytes(), end))
            };
            let expected: Vec<bool> = patterns.iter().map(is_there).collect();
            let mut finder = Finder::new(patterns);
            finder.search(&searched);
            proptest::prop_assert_eq!(finder.is_done(), expected.iter().all(|is_found| *is_found));
            proptest::prop_assert_eq!(finder.found(), expected);
        }
    }
}
