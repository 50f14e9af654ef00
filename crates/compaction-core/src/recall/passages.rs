//! Cuts texts into passages, and selects excerpts that fit.

use std::collections::HashSet;
use std::ops::Range;

use super::RankedPassage;
use crate::entry_text::{EntryText, PartKind};
use crate::text::{UNITS_PER_TOKEN, prefix_utf16, suffix_utf16, tokens_to_units, utf16_len};

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

/// Omission mark, and its UTF-16 units with line breaks on both sides.
const MARK: &str = "[…]";
const MARK_UNITS: usize = 5;
/// Minimum UTF-16 units to which a passage is cut, unless it is the first one.
const LEAST_ROOM: usize = 200;
/// Below this many UTF-16 units a piece gets no marks and may cut words.
const LEAST_MARKED: usize = 60;
/// Maximum UTF-16 units dropped at each end of a piece to end at a word boundary.
const LONGEST_WORD: usize = 24;
/// Minimum UTF-16 units of text beside an omission mark.
const LEAST_BESIDE_MARK: usize = 8;

/// The selection from one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The document.
    pub document: usize,
    /// The score of its best passage.
    pub score: f64,
    /// Byte ranges in its text, in order, not touching each other.
    ranges: Vec<Range<usize>>,
    /// A passage that is cut to fit: its range, the range it must show, and its UTF-16 units.
    cut: Option<(Range<usize>, Range<usize>, usize)>,
}

/// An excerpt of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The pieces in the order of the document, with a line `[…]` where something is left out.
    pub text: String,
    /// The position of each piece. A piece that crosses two parts counts as two.
    pub places: Vec<PiecePosition>,
    /// Whether anything is left out.
    pub is_partial: bool,
}

/// The position of a piece. Sizes are UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiecePosition {
    /// The kind of its part.
    pub kind: PartKind,
    /// The index of the part in the list of content blocks, if the content is a list.
    pub block: Option<usize>,
    /// Its range in the document's text.
    pub range: Range<usize>,
    /// Its start in the text of the excerpt.
    pub offset: usize,
}

/// Selects ranked `passages` with at most `max_tokens` estimated tokens in total. The first one that
/// does not fit is cut to the remaining room, if that is large enough; the very first is always
/// included, even if only a few characters fit. Documents come in the order of their best passages. The
/// returned number counts the documents without any passage that fits.
pub fn choose(passages: &[RankedPassage], max_tokens: u64) -> (Vec<Choice>, usize) {
    let mut room = tokens_to_units(max_tokens);
    let mut choices: Vec<Choice> = Vec::new();
    for passage in passages {
        if is_shown(&choices, passage) {
            continue;
        }
        let marks = if passage.is_whole { 0 } else { 2 * MARK_UNITS };
        // Tokens are rounded up for each document.
        let cost = (passage.units + marks).next_multiple_of(UNITS_PER_TOKEN as usize);
        if cost <= room {
            choice_of(&mut choices, passage).ranges.push(passage.range.clone());
            room -= cost;
        } else if room >= LEAST_ROOM || choices.is_empty() {
            let least = (passage.range.clone(), passage.focus.clone(), room);
            choice_of(&mut choices, passage).cut = Some(least);
            room = 0;
        }
    }
    choices.iter_mut().for_each(|choice| choice.ranges = merged(std::mem::take(&mut choice.ranges)));
    let given: HashSet<usize> = choices.iter().map(|choice| choice.document).collect();
    let all: HashSet<usize> = passages.iter().map(|passage| passage.document).collect();
    (choices, all.len() - given.len())
}

/// Whether overlapping passages already show all matches of a passage.
fn is_shown(choices: &[Choice], passage: &RankedPassage) -> bool {
    let matches = &passage.matches;
    let holds = |range: &Range<usize>| range.start <= matches.start && matches.end <= range.end;
    let same = choices.iter().find(|choice| choice.document == passage.document);
    !matches.is_empty() && same.is_some_and(|choice| choice.ranges.iter().any(holds))
}

fn choice_of<'a>(choices: &'a mut Vec<Choice>, passage: &RankedPassage) -> &'a mut Choice {
    let known = choices.iter().position(|choice| choice.document == passage.document);
    let at = known.unwrap_or(choices.len());
    if known.is_none() {
        let (document, score) = (passage.document, passage.score);
        choices.push(Choice { document, score, ranges: Vec::new(), cut: None });
    }
    &mut choices[at]
}

/// Ranges in order, with touching ranges merged.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

impl Choice {
    /// The selected pieces of the document `whole`.
    pub fn excerpt(&self, whole: &EntryText) -> Excerpt {
        let text = whole.text.as_str();
        let mut ranges = self.ranges.clone();
        let mut has_marks = true;
        if let Some((passage, focus, units)) = &self.cut {
            has_marks = *units >= LEAST_MARKED || !ranges.is_empty();
            let units = if has_marks { units.saturating_sub(2 * MARK_UNITS) } else { *units };
            ranges.push(cut_around(text, passage, focus, units));
        }
        let ranges = merged(ranges);
        let is_partial = ranges.iter().map(Range::len).sum::<usize>() < text.len();
        let mut out = Excerpt { text: String::new(), places: Vec::new(), is_partial };
        let mut counter = UnitCounter::default();
        let last = ranges.last().map_or(0, |range| range.end);
        for range in ranges {
            if has_marks && range.start > 0 {
                out.mark();
            }
            out.add(whole, range, &mut counter);
        }
        if has_marks && last < text.len() {
            out.mark();
        }
        out
    }
}

/// Progress of measuring a text.
#[derive(Debug, Default)]
struct UnitCounter {
    bytes: usize,
    units: usize,
}

impl UnitCounter {
    /// UTF-16 units of `text` before `byte`. Calls must have increasing bytes.
    fn units_at(&mut self, text: &str, byte: usize) -> usize {
        self.units += utf16_len(&text[self.bytes..byte]);
        self.bytes = byte;
        self.units
    }
}

impl Excerpt {
    fn mark(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(MARK);
        self.text.push('\n');
    }

    fn add(&mut self, whole: &EntryText, range: Range<usize>, counter: &mut UnitCounter) {
        let offset = utf16_len(&self.text);
        self.text.push_str(&whole.text[range.clone()]);
        let from = counter.units_at(&whole.text, range.start);
        let first = whole.parts.partition_point(|part| part.range.end <= range.start);
        for part in whole.parts[first..].iter().take_while(|part| part.range.start < range.end) {
            let start = counter.units_at(&whole.text, part.range.start.max(range.start));
            let end = counter.units_at(&whole.text, part.range.end.min(range.end));
            let offset = offset + start - from;
            self.places.push(PiecePosition { kind: part.kind, block: part.block, range: start..end, offset });
        }
    }
}

/// A piece of `passage` around `focus` with at most `units` UTF-16 units.
fn cut_around(text: &str, passage: &Range<usize>, focus: &Range<usize>, units: usize) -> Range<usize> {
    let room = units.saturating_sub(utf16_len(&text[focus.clone()]));
    if room == 0 {
        return focus.start..after_units(text, focus.start, units);
    }
    let before = utf16_len(&text[passage.start..focus.start]);
    let after = utf16_len(&text[focus.end..passage.end]);
    let left = before.min(room / 2).max(room.saturating_sub(after).min(before));
    let start = before_units(text, focus.start, left);
    let end = after_units(text, focus.end, (room - left).min(after));
    if units < LEAST_MARKED {
        return start..end;
    }
    // Short words are not cut.
    let is_space = |character: char| character.is_whitespace();
    let head = &text[start..after_units(text, start, LONGEST_WORD).min(focus.start)];
    let start = if start == passage.start { start } else { head.find(is_space).map_or(start, |at| start + at + 1) };
    let tail_start = before_units(text, end, LONGEST_WORD).max(focus.end);
    let tail = &text[tail_start..end];
    let end = if end == passage.end { end } else { tail.rfind(is_space).map_or(end, |at| tail_start + at) };
    start..end
}

/// `text` cut in its middle to at most `max_tokens` estimated tokens, with a mark that counts the
/// missing UTF-16 units if there is room for it. `None` if the text fits.
pub fn cut_to(text: &str, max_tokens: u64) -> Option<String> {
    let units = tokens_to_units(max_tokens);
    let length = utf16_len(text);
    if length <= units {
        return None;
    }
    // No mark is longer than the one for the whole text.
    let room = units.saturating_sub(utf16_len(&counted_mark(length)));
    if room < LEAST_BESIDE_MARK {
        return Some(prefix_utf16(text, units).to_owned());
    }
    let head = prefix_utf16(text, room.div_ceil(2));
    let tail = suffix_utf16(&text[head.len()..], room - room.div_ceil(2));
    let missing = length - utf16_len(head) - utf16_len(tail);
    Some(format!("{head}{}{tail}", counted_mark(missing)))
}

/// A part of a text that is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPart<'t> {
    /// The part.
    pub text: &'t str,
    /// Where it starts in the whole text, in UTF-16 units.
    pub start: usize,
    /// Where the rest starts; `None` at the end.
    pub next: Option<usize>,
}

/// The part of `text` from `offset` (UTF-16 units) on with at most `max_tokens` estimated tokens. An offset within a
/// character counts as its start. `None` if the text is shorter.
pub fn read_from(text: &str, offset: usize, max_tokens: u64) -> Option<TextPart<'_>> {
    if offset > utf16_len(text) {
        return None;
    }
    let before = prefix_utf16(text, offset);
    let (start, rest) = (utf16_len(before), &text[before.len()..]);
    let part = prefix_utf16(rest, tokens_to_units(max_tokens));
    let next = (part.len() < rest.len()).then(|| start + utf16_len(part));
    Some(TextPart { text: part, start, next })
}

fn counted_mark(missing: usize) -> String {
    format!("\n[… {missing} characters left out …]\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_is_read_on_to_its_end() {
        let text = "ab\u{1f600}cdefgh";
        let part = |offset| read_from(text, offset, 1).map(|part| (part.text, part.start, part.next));
        assert_eq!(part(0), Some(("ab\u{1f600}", 0, Some(4))));
        assert_eq!(part(4), Some(("cdef", 4, Some(8))));
        assert_eq!(part(3), Some(("\u{1f600}cd", 2, Some(6))));
        assert_eq!(part(8), Some(("gh", 8, None)));
        assert_eq!(part(10), Some(("", 10, None)));
        assert_eq!(part(11), None);
    }

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
