//! Cuts texts into passages, which are ranked and returned verbatim.

use std::ops::Range;

use crate::text::utf16_len;

/// Maximum UTF-16 units of a passage, and the minimum unless its part or text ends earlier.
const LONGEST: usize = 1000;
const SHORTEST: usize = 500;
/// Maximum UTF-16 units that a passage shares with the next one.
const OVERLAP: usize = 160;

/// Cuts a text into passages, in order: at the end of a part, otherwise at a blank line, a line, a
/// sentence or a word. Each overlaps the one before it a little, from the start of a line or sentence.
/// `parts` has the end of each part in bytes, in order, and whether its line breaks are escaped as in
/// JSON.
pub(super) fn passages(text: &str, parts: &[(usize, bool)]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let part = parts.partition_point(|(end, _)| *end <= start);
        let (part_end, is_json) = parts.get(part).copied().unwrap_or((text.len(), false));
        let (least, most) = (after_units(text, start, SHORTEST), after_units(text, start, LONGEST));
        if most >= text.len() {
            found.push(start..text.len());
            break;
        }
        // The end of the last part that fits is the best border.
        let borders = parts[part..].iter().map(|(end, _)| *end).take_while(|end| *end <= most);
        let end = match borders.last().filter(|end| *end >= least.min(part_end)) {
            Some(end) => end,
            None => last_border(text, least, most, is_json).unwrap_or(most),
        };
        found.push(start..end);
        let is_part_end = parts.binary_search_by_key(&end, |(border, _)| *border).is_ok();
        start = if is_part_end { end } else { overlap(text, start, end, is_json) };
    }
    found
}

/// The start of the next passage, which overlaps the one that ends at `end` a little.
fn overlap(text: &str, start: usize, end: usize, is_json: bool) -> usize {
    let from = before_units(text, end, OVERLAP).max(start + 1);
    let from = ceil_boundary(text, from);
    borders(text, from, end, is_json).filter(|(at, _)| *at < end).map(|(at, _)| at).next().unwrap_or(end)
}

/// The last border of the best kind in `text[least..most]`.
fn last_border(text: &str, least: usize, most: usize, is_json: bool) -> Option<usize> {
    let mut best: Option<(usize, u8)> = None;
    for (at, rank) in borders(text, least, most, is_json) {
        if best.is_none_or(|(_, best)| rank >= best) {
            best = Some((at, rank));
        }
    }
    best.map(|(at, _)| at).or_else(|| {
        let mut characters = text[least..most].char_indices().rev();
        characters.find(|(_, character)| character.is_whitespace()).map(|(at, space)| least + at + space.len_utf8())
    })
}

/// Starts of lines and sentences, with their quality as a border.
fn borders(text: &str, from: usize, to: usize, is_json: bool) -> impl Iterator<Item = (usize, u8)> {
    const SENTENCE: u8 = 0;
    const LINE: u8 = 1;
    const BLANK: u8 = 2;
    let bytes = text.as_bytes();
    (from..to).filter_map(move |at| match bytes[at] {
        b'\n' => Some((at + 1, if at > 0 && bytes[at - 1] == b'\n' { BLANK } else { LINE })),
        b'n' if is_json && at > 0 && bytes[at - 1] == b'\\' => Some((at + 1, LINE)),
        b' ' if at > 0 && matches!(bytes[at - 1], b'.' | b'!' | b'?') => Some((at + 1, SENTENCE)),
        // Full stops of Chinese and Japanese, and full-width ones.
        0x82 if bytes[..at].ends_with(&[0xe3, 0x80]) => Some((at + 1, SENTENCE)),
        0x81 | 0x9f if bytes[..at].ends_with(&[0xef, 0xbc]) => Some((at + 1, SENTENCE)),
        _ => None,
    })
}

/// The end of the longest piece from `start` with at most `units` UTF-16 units.
pub(super) fn after_units(text: &str, start: usize, units: usize) -> usize {
    // Most text is ASCII, in which a unit is a byte.
    if text.as_bytes().get(start..start + units).is_some_and(<[u8]>::is_ascii) {
        return start + units;
    }
    start + crate::text::prefix_utf16(&text[start..], units).len()
}

/// The start of the longest piece up to `end` with at most `units` UTF-16 units.
pub(super) fn before_units(text: &str, end: usize, units: usize) -> usize {
    end - crate::text::suffix_utf16(&text[..end], units).len()
}

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Approximate number of passages of a text.
pub(super) fn estimate(text: &str) -> usize {
    utf16_len(text).div_ceil(LONGEST * 4 / 5).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passages_end_at_the_best_border() {
        let line = "A sentence that says a thing. And one more of them!\n";
        let text = line.repeat(60);
        let cut = passages(&text, &[(text.len(), false)]);
        assert!(cut.len() > 2);
        for pair in cut.windows(2) {
            assert!(text[..pair[0].end].ends_with('\n'), "a line is whole");
            assert!(pair[1].start < pair[0].end && pair[1].start + 200 > pair[0].end, "they overlap a little");
            let before = &text[..pair[1].start];
            assert!(before.ends_with('\n') || before.ends_with(". "), "{pair:?}");
        }
        let blank = format!("{}\n\n{}", "word ".repeat(140), "other\n".repeat(200));
        assert_eq!(passages(&blank, &[(blank.len(), false)])[0], 0..702);
    }

    #[test]
    fn parts_end_passages() {
        let text = "x ".repeat(700);
        assert_eq!(passages(&text, &[(300, false), (900, false), (1400, false)]), [0..900, 900..1400]);
        assert_eq!(passages("short", &[(5, false)]).first(), Some(&(0..5)));
        assert!(passages("", &[]).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn nothing_is_left_out_and_nothing_is_too_long(text in "([a-z]{1,9}[ .\n\\\\n]|[日本。é😀]{0,9}|x{0,400}){0,90}", part in 0.0..1.0_f64, is_json: bool) {
            let part = ceil_boundary(&text, (text.len() as f64 * part) as usize);
            let cut = passages(&text, &[(part, is_json), (text.len(), is_json)]);
            let mut end = 0;
            for passage in &cut {
                prop_assert!(passage.start <= end && passage.end > end, "{cut:?}");
                prop_assert!(utf16_len(&text[passage.clone()]) <= LONGEST);
                end = passage.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
