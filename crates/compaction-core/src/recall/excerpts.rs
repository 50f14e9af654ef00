//! Excerpts: selects as many passages as fit and joins neighbours.

use std::collections::HashSet;
use std::ops::Range;

use super::RankedPassage;
use super::passages::{after_units, before_units};
use crate::text::{prefix_utf16, suffix_utf16, utf16_len};
use crate::verbatim::{PartKind, Verbatim};

/// UTF-16 units per token.
const UNITS_PER_TOKEN: usize = 4;
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
/// returned number counts the documents of which nothing fits.
pub fn choose(passages: &[RankedPassage], max_tokens: u64) -> (Vec<Choice>, usize) {
    let tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
    let mut room = tokens.saturating_mul(UNITS_PER_TOKEN);
    let mut choices: Vec<Choice> = Vec::new();
    for passage in passages {
        if is_shown(&choices, passage) {
            continue;
        }
        let marks = if passage.is_whole { 0 } else { 2 * MARK_UNITS };
        // Tokens are rounded up for each document.
        let cost = (passage.units + marks).next_multiple_of(UNITS_PER_TOKEN);
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
    pub fn excerpt(&self, whole: &Verbatim) -> Excerpt {
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
        let mut seen = Seen::default();
        let last = ranges.last().map_or(0, |range| range.end);
        for range in ranges {
            if has_marks && range.start > 0 {
                out.mark();
            }
            out.add(whole, range, &mut seen);
        }
        if has_marks && last < text.len() {
            out.mark();
        }
        out
    }
}

/// Progress of measuring a text.
#[derive(Debug, Default)]
struct Seen {
    bytes: usize,
    units: usize,
}

impl Seen {
    /// UTF-16 units of `text` in front of `byte`. Calls must have increasing bytes.
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

    fn add(&mut self, whole: &Verbatim, range: Range<usize>, seen: &mut Seen) {
        let offset = utf16_len(&self.text);
        self.text.push_str(&whole.text[range.clone()]);
        let from = seen.units_at(&whole.text, range.start);
        let first = whole.parts.partition_point(|part| part.range.end <= range.start);
        for part in whole.parts[first..].iter().take_while(|part| part.range.start < range.end) {
            let start = seen.units_at(&whole.text, part.range.start.max(range.start));
            let end = seen.units_at(&whole.text, part.range.end.min(range.end));
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
    let tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
    let units = tokens.saturating_mul(UNITS_PER_TOKEN);
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

fn counted_mark(missing: usize) -> String {
    format!("\n[… {missing} characters left out …]\n")
}
