//! How a line is found in another text: its first words identify it, and the rest shows whether it is
//! whole.

use super::text::one_line;
use crate::text::{prefix_utf16, utf16_len};

/// Marks a cut.
const CUT: char = '\u{2026}';

/// The texts that identify a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MatchKey {
    /// Its first words; without them it is missing.
    pub(super) first: String,
    /// Texts that are also there if the line is whole; empty if the first words are all of it.
    pub(super) rest: Vec<String>,
}

impl MatchKey {
    /// The key of an error. Its first words are enough, and the position that a compiler names is
    /// ignored.
    pub(super) fn error(line: &str, units: usize) -> Self {
        let line = line.split(" --> ").next().unwrap_or(line);
        Self { first: fingerprint(line, units), rest: Vec::new() }
    }

    /// The key of a request or note. If it was cut before it was stored, its pieces are searched for.
    pub(super) fn said(text: &str, units: usize) -> Self {
        let line = one_line(text);
        let is_short = utf16_len(&line) <= units && !line.contains(CUT);
        let pieces = line.split(CUT).map(str::trim).filter(|piece| !piece.is_empty());
        let rest = if is_short { Vec::new() } else { pieces.map(str::to_owned).collect() };
        Self { first: fingerprint(text, units), rest }
    }
}

/// The first units of a text on one line, up to the first cut.
pub(super) fn fingerprint(text: &str, units: usize) -> String {
    // Runs of white space become shorter, so more text is read than is needed.
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
