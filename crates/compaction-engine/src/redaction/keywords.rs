//! The search for keywords.
//!
//! An automaton for hundreds of keywords takes longer to build than a conversation takes to be searched, and reads
//! each byte through a large table. Here three small tables tell for nearly every position that no keyword begins
//! there.

use std::cmp::Reverse;

/// Sets of keywords, one bit each.
type Groups = u64;

/// Bytes of a keyword that the tables look at.
const PROBED: usize = 3;

/// Keywords that are found before they are sorted and visited.
const SORTED_AT_ONCE: usize = 64;

/// Keywords, found without regard to the case of ASCII letters.
#[derive(Debug)]
pub(super) struct Keywords {
    keywords: Vec<&'static str>,
    /// For each of the first bytes of a keyword, the groups with keywords that have this byte there.
    probes: [Box<[Groups; 256]>; PROBED],
    /// The keywords of each group.
    groups: Vec<Vec<usize>>,
}

/// A keyword in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// Number of the keyword.
    pub(super) keyword: usize,
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after it.
    end: usize,
}

impl Keywords {
    pub(super) fn new(keywords: Vec<&'static str>) -> Self {
        let mut probes: [Box<[Groups; 256]>; PROBED] = std::array::from_fn(|_| Box::new([0; 256]));
        let mut groups = vec![Vec::new(); Groups::BITS as usize];
        for (number, keyword) in keywords.iter().enumerate() {
            let lower = keyword.to_ascii_lowercase();
            let bytes = lower.as_bytes();
            // Keywords with the same first bytes share a group, so that the third byte still tells them from others.
            let first = bytes.iter().take(PROBED - 1);
            let group = first.fold(0, |group, byte| group * 31 + usize::from(*byte)) % groups.len();
            groups[group].push(number);
            for (at, probe) in probes.iter_mut().enumerate() {
                match bytes.get(at) {
                    Some(byte) => {
                        probe[usize::from(*byte)] |= 1 << group;
                        probe[usize::from(byte.to_ascii_uppercase())] |= 1 << group;
                    }
                    None => probe.iter_mut().for_each(|groups| *groups |= 1 << group),
                }
            }
        }
        Self { keywords, probes, groups }
    }

    /// Visits all keywords in `text`, also those that overlap, in the order of their ends, longer ones first.
    pub(super) fn find(&self, text: &str, mut visit: impl FnMut(Hit)) {
        let bytes = text.as_bytes();
        let mut hits = Vec::new();
        let [first, second, third] = &self.probes;
        for (start, window) in bytes.windows(PROBED).enumerate() {
            let groups = first[usize::from(window[0])] & second[usize::from(window[1])] & third[usize::from(window[2])];
            if groups != 0 {
                if hits.len() >= SORTED_AT_ONCE {
                    visit_until(start, &mut hits, &mut visit);
                }
                self.find_at(bytes, start, groups, &mut hits);
            }
        }
        for start in bytes.len().saturating_sub(PROBED - 1)..bytes.len() {
            self.find_at(bytes, start, Groups::MAX, &mut hits);
        }
        visit_until(bytes.len(), &mut hits, &mut visit);
    }

    fn find_at(&self, text: &[u8], start: usize, mut groups: Groups, hits: &mut Vec<Hit>) {
        while groups != 0 {
            for &keyword in &self.groups[groups.trailing_zeros() as usize] {
                let end = start + self.keywords[keyword].len();
                let found = text.get(start..end);
                if found.is_some_and(|found| found.eq_ignore_ascii_case(self.keywords[keyword].as_bytes())) {
                    hits.push(Hit { keyword, start, end });
                }
            }
            groups &= groups - 1;
        }
    }
}

/// Visits the keywords that end at `end` or before. Those that are found later end later.
fn visit_until(end: usize, hits: &mut Vec<Hit>, visit: &mut impl FnMut(Hit)) {
    hits.sort_unstable_by_key(|hit| (hit.end, Reverse(hit.end - hit.start), hit.keyword));
    let count = hits.partition_point(|hit| hit.end <= end);
    hits.drain(..count).for_each(visit);
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
                Keywords::new(WORDS.to_vec()).find(&text, |hit| hits.push((hit.keyword, hit.start)));
                prop_assert_eq!(hits, expected(&text));
            }
        }
    }
}
