//! The search for keywords.
//!
//! An automaton for hundreds of keywords takes longer to build than a conversation takes to be searched. Here one table
//! tells for nearly every position that no keyword begins there.

use std::cmp::Reverse;

/// Bytes of a keyword that the table looks at.
const PROBED: usize = 3;

/// Bits of a byte that the table looks at. Both cases of a letter have the same.
const BITS: usize = 5;

/// The number of a place in the table, which the probed bytes of a text determine.
const PLACES: usize = 1 << (PROBED * BITS);

/// Keywords that are found before they are sorted and visited.
const SORTED_AT_ONCE: usize = 16;

/// Keywords, found without regard to the case of ASCII letters.
#[derive(Debug)]
pub(super) struct Keywords {
    words: Vec<Word>,
    /// For each place, one more than the index of its group; 0 if no keyword begins like that.
    places: Box<[u16; PLACES]>,
    /// The words that begin alike.
    groups: Vec<Vec<usize>>,
}

/// One of the keywords, and its numbers in the list, where it may be several times.
#[derive(Debug)]
struct Word {
    text: String,
    numbers: Vec<usize>,
}

/// A keyword in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// Number of the keyword.
    pub(super) keyword: usize,
    /// Its first byte.
    pub(super) start: usize,
}

/// A word in a text.
#[derive(Debug, Clone, Copy)]
struct Found {
    word: usize,
    start: usize,
    end: usize,
}

impl Keywords {
    pub(super) fn new<'k>(keywords: impl IntoIterator<Item = &'k str>) -> Self {
        let mut words: Vec<Word> = Vec::new();
        for (number, keyword) in keywords.into_iter().enumerate() {
            let text = keyword.to_ascii_lowercase();
            match words.iter_mut().find(|word| word.text == text) {
                Some(word) => word.numbers.push(number),
                None => words.push(Word { text, numbers: vec![number] }),
            }
        }
        let mut keywords = Self { words: Vec::new(), places: Box::new([0; PLACES]), groups: Vec::new() };
        for (index, word) in words.iter().enumerate() {
            let probed = &word.text.as_bytes()[..word.text.len().min(PROBED)];
            // A shorter word has a place for each continuation.
            let open = (PROBED - probed.len()) * BITS;
            let first = probed.iter().fold(0, next_place) << open;
            (first..first + (1 << open)).for_each(|place| keywords.add(place, index));
        }
        Self { words, ..keywords }
    }

    fn add(&mut self, place: usize, word: usize) {
        if self.places[place] == 0 {
            self.groups.push(Vec::new());
            self.places[place] = u16::try_from(self.groups.len()).expect("there are fewer places than that");
        }
        self.groups[usize::from(self.places[place]) - 1].push(word);
    }

    /// Visits all keywords in `text`, also those that overlap, in the order of their ends, longer ones first.
    pub(super) fn find(&self, text: &str, mut visit: impl FnMut(Hit)) {
        let bytes = text.as_bytes();
        let (mut found, mut place) = (Vec::new(), 0);
        for (at, byte) in bytes.iter().enumerate() {
            place = next_place(place, byte);
            if self.places[place] != 0 {
                self.look(place, bytes, at, &mut found, &mut visit);
            }
        }
        // Behind the text, zeros stand for the bytes that a short word at its end does not have.
        for at in bytes.len()..bytes.len() + PROBED - 1 {
            place = next_place(place, &0);
            self.look(place, bytes, at, &mut found, &mut visit);
        }
        self.visit_until(bytes.len(), &mut found, &mut visit);
    }

    /// Finds the words that begin where the bytes of `place` do; the last of these is the one `at`.
    #[inline(never)]
    fn look(&self, place: usize, text: &[u8], at: usize, found: &mut Vec<Found>, visit: &mut impl FnMut(Hit)) {
        let group = usize::from(self.places[place]);
        let (Some(start), Some(group)) = ((at + 1).checked_sub(PROBED), group.checked_sub(1)) else { return };
        if found.len() >= SORTED_AT_ONCE {
            self.visit_until(start, found, visit);
        }
        for &word in &self.groups[group] {
            let end = start + self.words[word].text.len();
            if text.get(start..end).is_some_and(|text| text.eq_ignore_ascii_case(self.words[word].text.as_bytes())) {
                found.push(Found { word, start, end });
            }
        }
    }

    /// Visits the keywords that end at `end` or before. Those that are found later end later.
    fn visit_until(&self, end: usize, found: &mut Vec<Found>, visit: &mut impl FnMut(Hit)) {
        found.sort_unstable_by_key(|found| (found.end, Reverse(found.end - found.start)));
        let count = found.partition_point(|found| found.end <= end);
        for Found { word, start, .. } in found.drain(..count) {
            self.words[word].numbers.iter().for_each(|&keyword| visit(Hit { keyword, start }));
        }
    }
}

/// The place of a text that is one byte longer.
fn next_place(place: usize, byte: &u8) -> usize {
    (place << BITS | usize::from(*byte) & ((1 << BITS) - 1)) % PLACES
}

#[cfg(test)]
mod tests {
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 12] =
        ["pw", "pwd", "password", "word", "токен", "sk-", "sk-ant-", "TOKEN", "ken", "://", "key", "pwd"];

    /// What the usual automaton finds, in its order.
    fn expected(text: &str) -> Vec<(usize, usize)> {
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).unwrap();
        automaton.find_overlapping_iter(text).map(|hit| (hit.pattern().as_usize(), hit.start())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn keywords_are_found_as_by_an_automaton(pieces in prop::collection::vec(prop::sample::select(vec![
            "p", "w", "d", "pass", "PASS", "word", "Word", "to", "ken", "ТОКЕН", "токен", "то", "sk-", "ant", "-", ":", "//", "ke",
            "Y", " ", "x",
        ]), 0..12)) {
            for text in [pieces.concat(), pieces.concat().repeat(40)] {
                let mut hits: Vec<(usize, usize)> = Vec::new();
                Keywords::new(WORDS).find(&text, |hit| hits.push((hit.keyword, hit.start)));
                prop_assert_eq!(hits, expected(&text));
            }
        }
    }
}
