//! Looks for many texts at once, in time that grows with what is searched and not with what is
//! looked for.

use std::collections::HashMap;

/// Bytes by which texts are told apart: their last eight, or four of shorter ones.
const LONG: usize = 8;
const WINDOW: usize = 4;
const FILTER_BITS: u32 = 16;

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern<'a> {
    pub(crate) text: &'a str,
    /// Whether letters, digits and underscores beside it make it another word.
    pub(crate) is_word: bool,
}

/// A set of texts, and which of them were found so far.
#[derive(Debug)]
pub(crate) struct Finder<'a> {
    patterns: Vec<Pattern<'a>>,
    found: Vec<bool>,
    long: Table,
    middle: Table,
    short: Vec<usize>,
}

/// Texts by the bytes that they end with.
#[derive(Debug)]
struct Table {
    by_window: HashMap<u64, Vec<usize>>,
    /// A bit for each hash that a window of some text has.
    filter: Vec<u64>,
}

impl Table {
    fn new() -> Self {
        Self { by_window: HashMap::new(), filter: vec![0; (1 << FILTER_BITS) / 64] }
    }

    fn add(&mut self, window: u64, index: usize) {
        let (word, bit) = slot(window);
        self.filter[word] |= bit;
        self.by_window.entry(window).or_default().push(index);
    }

    fn may_have(&self, window: u64) -> bool {
        let (word, bit) = slot(window);
        self.filter[word] & bit != 0
    }

    /// Compares the texts that end with `window` with what ends at `end`.
    fn check(&mut self, window: u64, bytes: &[u8], end: usize, patterns: &[Pattern<'_>], found: &mut [bool]) {
        let Some(candidates) = self.by_window.get_mut(&window) else { return };
        // What was found costs no more time.
        candidates.retain(|index| {
            let is_found = patterns[*index].ends_at(bytes, end);
            found[*index] |= is_found;
            !is_found
        });
    }
}

impl<'a> Finder<'a> {
    pub(crate) fn new(patterns: Vec<Pattern<'a>>) -> Self {
        let found = patterns.iter().map(|pattern| pattern.text.is_empty()).collect();
        let (mut long, mut middle, mut short) = (Table::new(), Table::new(), Vec::new());
        for (index, pattern) in patterns.iter().enumerate() {
            let bytes = pattern.text.as_bytes();
            match (bytes.last_chunk::<LONG>(), bytes.last_chunk::<WINDOW>()) {
                (Some(window), _) => long.add(u64::from_le_bytes(*window), index),
                (None, Some(window)) => middle.add(u32::from_le_bytes(*window).into(), index),
                (None, None) => short.push(index),
            }
        }
        Self { patterns, found, long, middle, short }
    }

    /// Looks through one more text.
    pub(crate) fn search(&mut self, text: &str) {
        let bytes = text.as_bytes();
        for end in WINDOW..bytes.len().min(LONG - 1) + 1 {
            let window = last(&bytes[..end]).into();
            self.middle.check(window, bytes, end, &self.patterns, &mut self.found);
        }
        let has_middle = !self.middle.by_window.is_empty();
        for (start, window) in bytes.windows(LONG).enumerate() {
            let end = start + LONG;
            let long = window.first_chunk().map_or(0, |window| u64::from_le_bytes(*window));
            // The last four bytes are the upper half.
            let middle = long >> 32;
            if self.long.may_have(long) {
                self.long.check(long, bytes, end, &self.patterns, &mut self.found);
            }
            if has_middle && self.middle.may_have(middle) {
                self.middle.check(middle, bytes, end, &self.patterns, &mut self.found);
            }
        }
        for index in std::mem::take(&mut self.short) {
            let pattern = self.patterns[index];
            let mut ends = text.match_indices(pattern.text).map(|(at, _)| at + pattern.text.len());
            if ends.any(|end| pattern.ends_at(bytes, end)) {
                self.found[index] = true;
            } else {
                self.short.push(index);
            }
        }
    }

    /// Whether nothing is left to look for.
    pub(super) fn is_done(&self) -> bool {
        self.found.iter().all(|is_found| *is_found)
    }

    /// For each text in the order given whether it was found.
    pub(crate) fn found(self) -> Vec<bool> {
        self.found
    }
}

fn last(bytes: &[u8]) -> u32 {
    bytes.last_chunk().map_or(0, |window| u32::from_le_bytes(*window))
}

impl Pattern<'_> {
    fn ends_at(&self, bytes: &[u8], end: usize) -> bool {
        let is_there = bytes[..end].ends_with(self.text.as_bytes());
        is_there && (!self.is_word || is_word_at(bytes, end - self.text.len(), end))
    }
}

fn is_word_at(bytes: &[u8], start: usize, end: usize) -> bool {
    let continues = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    !continues(start.checked_sub(1).and_then(|before| bytes.get(before))) && !continues(bytes.get(end))
}

fn slot(window: u64) -> (usize, u64) {
    let hash = window.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - FILTER_BITS);
    ((hash / 64) as usize, 1 << (hash % 64))
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

    proptest::proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(texts in proptest::collection::vec("[ab]{1,11}", 1..12), searched in "[abc]{0,80}|[ab]{0,200}") {
            let patterns = texts.iter().map(|text| Pattern { text, is_word: false }).collect();
            let mut finder = Finder::new(patterns);
            finder.search(&searched);
            let expected: Vec<bool> = texts.iter().map(|text| searched.contains(text.as_str())).collect();
            proptest::prop_assert_eq!(finder.found(), expected);
        }
    }
}
