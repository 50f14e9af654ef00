//! By what lines are known again in another text: their first words, and the rest of them, which tells
//! whether they are whole.

use super::text::one_line;
use crate::text::{prefix_utf16, utf16_len};

/// The mark of a cut.
const CUT: char = '\u{2026}';

/// What a line is known by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MatchKey {
    /// Its first words; without them it is missing.
    pub(super) first: String,
    /// The texts that are there too if it is whole; none where the first words are all.
    pub(super) rest: Vec<String>,
}

impl MatchKey {
    /// An error: its first words are enough, and the place that a compiler names may be left out.
    pub(super) fn error(line: &str, units: usize) -> Self {
        let line = line.split(" --> ").next().unwrap_or(line);
        Self { first: fingerprint(line, units), rest: Vec::new() }
    }

    /// What somebody said. Where it was cut before it was stored, its pieces are looked for.
    pub(super) fn said(text: &str, units: usize) -> Self {
        let line = one_line(text);
        let is_short = utf16_len(&line) <= units && !line.contains(CUT);
        let pieces = line.split(CUT).map(str::trim).filter(|piece| !piece.is_empty());
        let rest = if is_short { Vec::new() } else { pieces.map(str::to_owned).collect() };
        Self { first: fingerprint(text, units), rest }
    }
}

/// The first units of a text on one line, without the mark of a cut.
pub(super) fn fingerprint(text: &str, units: usize) -> String {
    // Runs of white space shorten, so that some more is looked at than is taken.
    let line = one_line(prefix_utf16(text, 8 * units));
    let line = line.split(CUT).next().unwrap_or_default();
    prefix_utf16(line, units).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_whole_with_all_of_its_words() {
        let long = "first words, and a wish at the end";
        for (text, searched, expected) in [
            (long, long, (true, false)),
            (long, "x first words, and a wish at the end y", (true, false)),
            (long, "first words, and a w\u{2026}", (true, true)),
            (long, "other words", (false, false)),
            ("first words\u{2026} and the end", "first words in between and the end", (true, false)),
            ("first words\u{2026} and the end", "first words in between", (true, true)),
            ("short", "short", (true, false)),
        ] {
            let key = MatchKey::said(text, 11);
            let has_first = searched.contains(&key.first);
            let has_rest = key.rest.iter().all(|piece| searched.contains(piece));
            assert_eq!((has_first, has_first && !has_rest), expected, "{text} in {searched}");
        }
        assert_eq!(MatchKey::error("error: a --> src/a.rs:1", 80).first, "error: a");
    }
}
