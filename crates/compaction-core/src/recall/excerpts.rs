//! What of the passages is given back: as many as fit, together where they stand side by side.

use std::collections::HashSet;
use std::ops::Range;

use super::RankedPassage;
use super::passages::{after_units, before_units};
use crate::text::{prefix_utf16, suffix_utf16, utf16_len};
use crate::verbatim::{PartKind, Verbatim};

/// UTF-16 units of one token.
const UNITS_PER_TOKEN: usize = 4;
/// Stands where something is left out, and the UTF-16 units of it with its line breaks on both sides.
const MARK: &str = "[…]";
const MARK_UNITS: usize = 5;
/// UTF-16 units that must be left for a passage to be cut to them, unless it is the first one.
const LEAST_ROOM: usize = 200;
/// UTF-16 units below which a piece has neither marks nor whole words at its ends.
const LEAST_MARKED: usize = 60;
/// UTF-16 units that are given up at each end of a piece so that it ends where a word does.
const LONGEST_WORD: usize = 24;
/// UTF-16 units that must be left beside the mark of a cut for it to be worth it.
const LEAST_BESIDE_MARK: usize = 8;

/// What is given of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The document.
    pub document: usize,
    /// The score of its best passage.
    pub score: f64,
    /// Bytes in its text, in order; none touches another.
    ranges: Vec<Range<usize>>,
    /// What was cut to fit: the passage, what it must show, and its UTF-16 units.
    cut: Option<(Range<usize>, Range<usize>, usize)>,
}

/// Pieces of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The pieces in the order of the document, with a line `[…]` where something is left out.
    pub text: String,
    /// Where each piece stands; one that crosses the border of two parts counts as two.
    pub places: Vec<Place>,
    /// Whether anything is left out.
    pub is_partial: bool,
}

/// Where a piece of a document stands. Sizes are UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The kind of the part that it is of.
    pub kind: PartKind,
    /// The part's place in the list of content blocks, if the content is one.
    pub block: Option<usize>,
    /// Where it begins and ends in the document's text.
    pub range: Range<usize>,
    /// Where it begins in the text of the excerpt.
    pub offset: usize,
}

/// Chooses of `passages`, which are ranked, as many as have at most `max_tokens` estimated tokens
/// together. The first one that does not fit is cut to the room that is left, if that is worth it;
/// the first of all is always given, be it a few characters. Documents come in the order of their best
/// passages. The number is that of the documents of which nothing fits.
pub fn choose(passages: &[RankedPassage], max_tokens: u64) -> (Vec<Choice>, usize) {
    let tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
    let mut room = tokens.saturating_mul(UNITS_PER_TOKEN);
    let mut choices: Vec<Choice> = Vec::new();
    for passage in passages {
        if is_shown(&choices, passage) {
            continue;
        }
        let marks = if passage.is_whole { 0 } else { 2 * MARK_UNITS };
        // Tokens of each document are rounded up.
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

/// Whether all that answers in a passage is given with others that overlap it.
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

/// Ranges in order, those that touch as one.
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
    /// The chosen pieces of the document, which `whole` is.
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

/// How far a text was measured.
#[derive(Debug, Default)]
struct Seen {
    bytes: usize,
    units: usize,
}

impl Seen {
    /// UTF-16 units of `text` before a byte that lies behind the last one.
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
            self.places.push(Place { kind: part.kind, block: part.block, range: start..end, offset });
        }
    }
}

/// A piece of `passage` around `focus`, of at most `units` UTF-16 units.
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
    // Words are not cut where they are short.
    let is_space = |character: char| character.is_whitespace();
    let head = &text[start..after_units(text, start, LONGEST_WORD).min(focus.start)];
    let start = if start == passage.start { start } else { head.find(is_space).map_or(start, |at| start + at + 1) };
    let tail_start = before_units(text, end, LONGEST_WORD).max(focus.end);
    let tail = &text[tail_start..end];
    let end = if end == passage.end { end } else { tail.rfind(is_space).map_or(end, |at| tail_start + at) };
    start..end
}

/// `text` cut in its middle so that it has at most `max_tokens` estimated tokens, with a mark that
/// says how many UTF-16 units are missing; without one where there is no room for it. `None` if the
/// text fits as it is.
pub fn cut_to(text: &str, max_tokens: u64) -> Option<String> {
    let tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
    let units = tokens.saturating_mul(UNITS_PER_TOKEN);
    let length = utf16_len(text);
    if length <= units {
        return None;
    }
    // The mark is never longer than the one for the whole text.
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
