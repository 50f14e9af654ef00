//! Recall: ranks passages of evicted entries by a question and selects those that fit.
//!
//! Entries are cut into passages of about 1,000 characters and ranked by BM25: rare words count more,
//! repeated occurrences less and less, and long passages need more of them. Statistics are collected
//! for one question at a time, so nothing is kept between questions and the work is proportional to the
//! text.

mod passages;
mod question;
mod words;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use question::Hit;

use crate::entry::Entry;
use crate::message::{Block, ToolCall};
use crate::text::utf16_len;
use crate::tools::FileTools;
use crate::tools::{FileAccess, classify};
use crate::verbatim::{PartKind, Verbatim};

pub use passages::{Choice, Excerpt, PiecePosition, choose, cut_to};
pub use question::RecallQuery;

/// How much further occurrences of a word add (BM25: k1).
const SATURATION: f64 = 1.2;
/// How much the length of a passage counts (BM25: b).
const LENGTH_WEIGHT: f64 = 0.75;
/// Bonus for a change of a file that the question names, in weights of that name.
const CHANGE: f64 = 3.0;
/// Part of its weight that the oldest passage loses against the newest.
const AGE: f64 = 0.15;
/// Maximum number of passages that are kept. The lightest ones are dropped.
const MOST_PASSAGES: usize = 8192;
/// Maximum bytes of the densest part of a passage.
const FOCUS: usize = 160;

/// Collects passages that answer a question, entry by entry.
#[derive(Debug)]
pub struct PassageIndex<'q> {
    query: &'q RecallQuery,
    documents: usize,
    /// Number of passages of all documents, and UTF-16 units of those that match.
    passages: usize,
    units: usize,
    answering: usize,
    /// Number of passages with each term.
    holders: Vec<u32>,
    found: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    document: usize,
    range: Range<usize>,
    units: usize,
    is_whole: bool,
    hits: Vec<Hit>,
    /// The term for a file that the passage changes.
    changes: Option<u16>,
    /// Hash of the text, to find duplicates.
    text: u64,
}

/// A passage that answers a question.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedPassage {
    /// Its document, counted from 0 in the order of addition.
    pub document: usize,
    /// Its byte range in the document's text.
    pub range: Range<usize>,
    /// Its UTF-16 units.
    pub units: usize,
    /// Whether it is the whole document.
    pub is_whole: bool,
    /// Byte range from its first to its last word of the question.
    pub matches: Range<usize>,
    /// Byte range of the densest part in the document's text.
    pub focus: Range<usize>,
    /// Its score, rounded to thousandths. Scores of different questions are not comparable.
    pub score: f64,
}

impl<'q> PassageIndex<'q> {
    /// An index for one question.
    pub fn new(query: &'q RecallQuery) -> Self {
        let holders = vec![0; query.weights.len()];
        Self { query, documents: 0, passages: 0, units: 0, answering: 0, holders, found: Vec::new() }
    }

    /// Adds an entry. Calls that change a file in the question, according to `tools` and the table of
    /// tools, rank higher.
    pub fn add_entry(&mut self, entry: &Entry, tools: &FileTools) {
        let whole = Verbatim::of(entry);
        let mut parts: Vec<(usize, bool)> =
            whole.parts.iter().map(|part| (part.range.end + 1, part.kind == PartKind::ToolCall)).collect();
        if let Some(last) = parts.last_mut() {
            last.0 = whole.text.len();
        }
        let hits = self.hits(&whole.text, &parts);
        let changes = self.changes(entry, &whole, &hits, tools);
        self.add(&whole.text, &parts, &hits, &changes);
    }

    /// Adds a text with one part.
    pub fn add_text(&mut self, text: &str) {
        let parts = [(text.len(), false)];
        let hits = self.hits(text, &parts);
        self.add(text, &parts, &hits, &[]);
    }

    fn hits(&self, text: &str, parts: &[(usize, bool)]) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut start = 0;
        for (end, is_json) in parts {
            self.query.collect(text, start..*end, *is_json, &mut hits);
            start = *end;
        }
        hits.sort_by_key(|hit| hit.at);
        hits
    }

    /// The byte ranges of calls that change a file in the question, with the term for that file.
    fn changes(&self, entry: &Entry, whole: &Verbatim, hits: &[Hit], tools: &FileTools) -> Vec<(Range<usize>, u16)> {
        let is_possible = !self.query.files.is_empty() && !hits.is_empty();
        let Some(assistant) = entry.message().filter(|_| is_possible).and_then(|message| message.as_assistant()) else {
            return Vec::new();
        };
        let calls = whole.parts.iter().filter(|part| part.kind == PartKind::ToolCall);
        let changes = calls.filter_map(|part| {
            // A call for the file contains words of its name.
            let first = hits.partition_point(|hit| hit.at < part.range.start);
            hits.get(first).filter(|hit| hit.at < part.range.end)?;
            let Block::ToolCall(call) = assistant.content.get(part.block?)? else { return None };
            let changed = changed_files(call, tools);
            let is_changed = |(name, _): &&(String, u16)| changed.iter().any(|file| are_of_one_file(name, file));
            let (_, term) = self.query.files.iter().find(is_changed)?;
            Some((part.range.clone(), *term))
        });
        changes.collect()
    }

    fn add(&mut self, text: &str, parts: &[(usize, bool)], hits: &[Hit], changes: &[(Range<usize>, u16)]) {
        let document = self.documents;
        self.documents += 1;
        if hits.is_empty() {
            self.passages += passages::estimate(text);
            return;
        }
        let mut from = 0;
        for range in passages::passages(text, parts) {
            self.passages += 1;
            from += hits[from..].partition_point(|hit| hit.at < range.start);
            let to = from + hits[from..].partition_point(|hit| hit.at < range.end);
            let inside = &hits[from..to];
            let is_in = |(place, _): &&(Range<usize>, u16)| place.start < range.end && range.start < place.end;
            let changes = changes.iter().find(is_in).map(|(_, term)| *term);
            if !inside.is_empty() || changes.is_some() {
                self.note(document, text, range, inside, changes);
            }
        }
    }

    fn note(&mut self, document: usize, text: &str, range: Range<usize>, hits: &[Hit], changes: Option<u16>) {
        let mut is_held = vec![false; self.holders.len()];
        hits.iter().for_each(|hit| is_held[usize::from(hit.term)] = true);
        self.holders.iter_mut().zip(is_held).for_each(|(holders, is_held)| *holders += u32::from(is_held));
        let units = utf16_len(&text[range.clone()]);
        self.units += units;
        self.answering += 1;
        let mut hasher = DefaultHasher::new();
        text[range.clone()].trim().hash(&mut hasher);
        let (is_whole, hits) = (range.len() == text.len(), hits.to_vec());
        self.found.push(Candidate { document, range, units, is_whole, hits, changes, text: hasher.finish() });
        if self.found.len() >= 2 * MOST_PASSAGES {
            self.prune();
        }
    }

    fn prune(&mut self) {
        let rarity = self.rarity();
        let mut order: Vec<(f64, usize)> =
            self.found.iter().enumerate().map(|(at, found)| (self.score(found, &rarity), at)).collect();
        order.sort_unstable_by(|(a, at_a), (b, at_b)| b.total_cmp(a).then(at_b.cmp(at_a)));
        let kept: HashSet<usize> = order.into_iter().take(MOST_PASSAGES).map(|(_, at)| at).collect();
        let mut at = 0;
        self.found.retain(|_| {
            at += 1;
            kept.contains(&(at - 1))
        });
    }

    /// The weight of each term by its rarity.
    fn rarity(&self) -> Vec<f64> {
        let total = self.passages as f64;
        let weigh = |(holders, weight): (&u32, &f64)| {
            let holders = f64::from(*holders);
            weight * (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln()
        };
        self.holders.iter().zip(&self.query.weights).map(weigh).collect()
    }

    fn score(&self, found: &Candidate, rarity: &[f64]) -> f64 {
        let average = self.units as f64 / self.answering.max(1) as f64;
        let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * found.units as f64 / average.max(1.0);
        let mut counts = vec![0.0; rarity.len()];
        found.hits.iter().for_each(|hit| counts[usize::from(hit.term)] += f64::from(hit.strength) / 100.0);
        let weighed = counts.iter().zip(rarity).map(|(count, rarity)| {
            let weight = count * (SATURATION + 1.0) / (count + SATURATION * length);
            rarity * weight
        });
        let change = found.changes.map_or(0.0, |term| CHANGE * rarity[usize::from(term)].max(1.0));
        let age = (self.documents - found.document) as f64 / self.documents.max(1) as f64;
        ((weighed.sum::<f64>() + change) * (1.0 - AGE * age) * 1000.0).round() / 1000.0
    }

    /// The passages, best first, newer ones before older ones with the same score. Of equal texts only
    /// the best is kept.
    pub fn rank(self) -> Vec<RankedPassage> {
        let rarity = self.rarity();
        let mut scored: Vec<(f64, &Candidate)> =
            self.found.iter().map(|found| (self.score(found, &rarity), found)).collect();
        scored.sort_by(|(a, found_a), (b, found_b)| {
            let newness = |found: &Candidate| (found.document, std::cmp::Reverse(found.range.start));
            b.total_cmp(a).then(newness(found_b).cmp(&newness(found_a)))
        });
        let mut seen = HashSet::new();
        let ranked =
            scored.into_iter().filter(|(_, found)| seen.insert(found.text)).map(|(score, found)| RankedPassage {
                document: found.document,
                range: found.range.clone(),
                units: found.units,
                is_whole: found.is_whole,
                matches: matches(found),
                focus: focus(found, &rarity),
                score,
            });
        ranked.collect()
    }
}

fn end(hit: &Hit) -> usize {
    hit.at + usize::from(hit.length)
}

fn matches(found: &Candidate) -> Range<usize> {
    let start = found.hits.first().map_or(found.range.start, |hit| hit.at);
    start..found.hits.iter().map(end).max().unwrap_or(start)
}

/// The byte range with the most terms of the question within a short distance.
fn focus(found: &Candidate, rarity: &[f64]) -> Range<usize> {
    let mut best = (0.0, found.range.start..found.range.start);
    let mut first = 0;
    for (last, hit) in found.hits.iter().enumerate() {
        while end(hit).saturating_sub(found.hits[first].at) > FOCUS && first < last {
            first += 1;
        }
        let window = &found.hits[first..=last];
        let mut terms: Vec<u16> = window.iter().map(|hit| hit.term).collect();
        terms.sort_unstable();
        terms.dedup();
        let weight: f64 = terms.iter().map(|term| rarity[usize::from(*term)]).sum();
        if weight > best.0 {
            let ends = window.iter().map(end).max().unwrap_or_default();
            best = (weight, window[0].at..ends.min(found.range.end));
        }
    }
    best.1
}

/// The paths that `call` writes, edits, deletes or moves, as it spells them.
fn changed_files(call: &ToolCall, tools: &FileTools) -> Vec<String> {
    let action = classify(call, tools);
    let changed = action.files().iter().filter(|file| file.access != FileAccess::Read);
    changed.map(|file| file.path.clone()).collect()
}

/// Whether two names may be the same file: the segments of the shorter are a suffix of the longer.
fn are_of_one_file(left: &str, right: &str) -> bool {
    let segments = |path: &str| -> Vec<String> {
        path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(str::to_lowercase).collect()
    };
    let (left, right) = (segments(left), segments(right));
    !left.is_empty() && !right.is_empty() && (left.ends_with(&right) || right.ends_with(&left))
}

#[cfg(test)]
mod tests;
