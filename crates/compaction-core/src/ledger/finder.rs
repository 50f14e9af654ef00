//! Looks for many texts at once, in time that grows with what is searched and not with what is
//! looked for.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::terms::HashedAlready;

/// Bytes by which longer texts are told apart: windows of this many that end within the last [`STEP`] places. So
/// only every [`STEP`]th place of what is searched has to be looked at.
const LONG: usize = 8;
const STEP: usize = 4;
/// Bytes by which shorter texts are told apart: their last ones, for which every place is looked at.
const SHORT: usize = 4;
/// Bits of the hash of a window.
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
    short: Table,
    /// Texts that are shorter than any window.
    shortest: Vec<usize>,
}

/// Texts by a window of their bytes.
#[derive(Debug)]
struct Table {
    /// For the hash of each window the texts that have it, and how many of their bytes follow it.
    by_window: HashMap<u64, Vec<(usize, usize)>, BuildHasherDefault<HashedAlready>>,
    /// A bit for each hash that a window of some text has.
    filter: Box<[u64; (1 << FILTER_BITS) / 64]>,
}

impl Table {
    fn new() -> Self {
        Self { by_window: HashMap::default(), filter: Box::new([0; (1 << FILTER_BITS) / 64]) }
    }

    fn add(&mut self, window: u64, index: usize, following: usize) {
        let hash = hash(window);
        let (word, bit) = slot(hash);
        self.filter[word] |= bit;
        self.by_window.entry(hash).or_default().push((index, following));
    }

    fn is_empty(&self) -> bool {
        self.by_window.is_empty()
    }

    /// Compares the texts that have `window`, which ends at `end`, with what stands there.
    #[inline]
    fn check(&mut self, window: u64, bytes: &[u8], end: usize, patterns: &[Pattern<'_>], found: &mut [bool]) {
        let hash = hash(window);
        let (word, bit) = slot(hash);
        if self.filter[word] & bit != 0 {
            self.compare(hash, bytes, end, patterns, found);
        }
    }

    #[inline(never)]
    fn compare(&mut self, hash: u64, bytes: &[u8], end: usize, patterns: &[Pattern<'_>], found: &mut [bool]) {
        let Some(candidates) = self.by_window.get_mut(&hash) else { return };
        // What was found costs no more time.
        candidates.retain(|(index, following)| {
            found[*index] |= patterns[*index].ends_at(bytes, end + following);
            !found[*index]
        });
    }
}

impl<'a> Finder<'a> {
    pub(crate) fn new(patterns: Vec<Pattern<'a>>) -> Self {
        let found = patterns.iter().map(|pattern| pattern.text.is_empty()).collect();
        let (mut long, mut short, mut shortest) = (Table::new(), Table::new(), Vec::new());
        for (index, pattern) in patterns.iter().enumerate() {
            let bytes = pattern.text.as_bytes();
            if bytes.len() >= LONG + STEP - 1 {
                for following in 0..STEP {
                    long.add(read_long(&bytes[..bytes.len() - following]), index, following);
                }
            } else if bytes.len() >= SHORT {
                short.add(read_short(bytes), index, 0);
            } else {
                shortest.push(index);
            }
        }
        Self { patterns, found, long, short, shortest }
    }

    /// Looks through one more text.
    pub(crate) fn search(&mut self, text: &str) {
        let bytes = text.as_bytes();
        if !self.long.is_empty() {
            for end in (LONG..=bytes.len()).step_by(STEP) {
                self.long.check(read_long(&bytes[..end]), bytes, end, &self.patterns, &mut self.found);
            }
        }
        if !self.short.is_empty() {
            for end in SHORT..=bytes.len() {
                self.short.check(read_short(&bytes[..end]), bytes, end, &self.patterns, &mut self.found);
            }
        }
        for index in std::mem::take(&mut self.shortest) {
            let pattern = self.patterns[index];
            let mut ends = text.match_indices(pattern.text).map(|(at, _)| at + pattern.text.len());
            if ends.any(|end| pattern.ends_at(bytes, end)) {
                self.found[index] = true;
            } else {
                self.shortest.push(index);
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
    let continues = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    !continues(start.checked_sub(1).and_then(|before| bytes.get(before))) && !continues(bytes.get(end))
}

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

    proptest::proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(texts in proptest::collection::vec("[ab]{1,14}", 1..12), searched in "[abc]{0,80}|[ab]{0,200}") {
            let patterns = texts.iter().map(|text| Pattern { text, is_word: false }).collect();
            let mut finder = Finder::new(patterns);
            finder.search(&searched);
            let expected: Vec<bool> = texts.iter().map(|text| searched.contains(text.as_str())).collect();
            proptest::prop_assert_eq!(finder.found(), expected);
        }
    }
}
