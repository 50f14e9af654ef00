//! Candidates for the sections of a summary.

use std::collections::HashMap;

use super::text::{normalised, one_line};
use crate::summary::Section;

/// How much a candidate is wanted, most wanted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// It is never left out, only cut.
    Must,
    /// It matches the caller's focus.
    Focus,
    /// It tells something of its own.
    Normal,
    /// It is left out first.
    Low,
}

/// One item that a summary could have.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// The item, on one line.
    pub(super) text: String,
    /// Position of the message that it comes from.
    pub(super) position: usize,
    /// Its place among the candidates of its section, which orders those of one message.
    pub(super) sequence: usize,
    pub(super) rank: Rank,
    /// How often it happened; said in the item where it is more than once.
    pub(super) count: u64,
}

/// The candidates of every section, without duplicates.
#[derive(Debug)]
pub(super) struct Pool {
    lists: [List; Section::ALL.len()],
    focus: Vec<String>,
}

#[derive(Debug, Default)]
struct List {
    candidates: Vec<Candidate>,
    by_key: HashMap<String, usize>,
}

/// Words of instructions that say nothing about their subject.
const COMMON_WORDS: [&str; 22] = [
    "about",
    "also",
    "and",
    "especially",
    "everything",
    "focus",
    "from",
    "have",
    "into",
    "keep",
    "make",
    "more",
    "please",
    "preserve",
    "remember",
    "summary",
    "sure",
    "that",
    "the",
    "them",
    "this",
    "with",
];

/// Words of instructions that are looked for.
const MOST_FOCUS_WORDS: usize = 64;

impl Pool {
    /// A pool that prefers candidates with a word of `focus`.
    pub(super) fn new(focus: Option<&str>) -> Self {
        let words = normalised(focus.unwrap_or_default());
        let is_telling = |word: &&str| word.chars().count() > 2 && !COMMON_WORDS.contains(word);
        Self {
            lists: Default::default(),
            focus: words.split(' ').filter(is_telling).take(MOST_FOCUS_WORDS).map(str::to_owned).collect(),
        }
    }

    /// Adds an item from the message at `position`. An item that is there already becomes as new
    /// and as wanted as the two together, and the times that it happened are added up.
    pub(super) fn add(&mut self, section: Section, text: impl AsRef<str>, position: usize, rank: Rank) {
        self.add_times(section, text.as_ref(), position, rank, None);
    }

    /// Adds an item that happened `times` times.
    pub(super) fn add_counted(&mut self, section: Section, text: &str, position: usize, rank: Rank, times: u64) {
        self.add_times(section, text, position, rank, Some(times));
    }

    fn add_times(&mut self, section: Section, text: &str, position: usize, rank: Rank, times: Option<u64>) {
        let line = one_line(text);
        let (line, stated) = split_count(&line);
        let times = times.or(stated);
        let key = normalised(line);
        // What is said without a word, such as a lone emoji, is known by itself.
        let key = if key.trim().is_empty() { line.to_owned() } else { key };
        if key.is_empty() {
            return;
        }
        let rank = if self.matches_focus(&key) { rank.min(Rank::Focus) } else { rank };
        let list = &mut self.lists[section as usize];
        if let Some(known) = list.by_key.get(&key).and_then(|index| list.candidates.get_mut(*index)) {
            known.position = known.position.max(position);
            known.rank = known.rank.min(rank);
            known.count = known.count.saturating_add(times.unwrap_or(0));
            return;
        }
        let sequence = list.candidates.len();
        list.by_key.insert(key, sequence);
        list.candidates.push(Candidate { text: line.to_owned(), position, sequence, rank, count: times.unwrap_or(1) });
    }

    fn matches_focus(&self, key: &str) -> bool {
        self.focus.iter().any(|word| key.contains(word.as_str()))
    }

    /// Whether there is no candidate at all.
    pub(super) fn is_empty(&self) -> bool {
        self.lists.iter().all(|list| list.candidates.is_empty())
    }

    /// Whether `section` has a candidate.
    pub(super) fn has(&self, section: Section) -> bool {
        self.any(section, |_| true)
    }

    /// Whether `section` has an item for which `is_wanted` says so.
    pub(super) fn any(&self, section: Section, is_wanted: impl Fn(&Candidate) -> bool) -> bool {
        self.lists[section as usize].candidates.iter().any(is_wanted)
    }

    /// Takes the items of `section` for which `is_wanted` says so.
    pub(super) fn take(&mut self, section: Section, is_wanted: impl Fn(&Candidate) -> bool) -> Vec<Candidate> {
        let list = std::mem::take(&mut self.lists[section as usize]);
        let (taken, mut left): (Vec<_>, Vec<_>) = list.candidates.into_iter().partition(is_wanted);
        (0..).zip(&mut left).for_each(|(sequence, item)| item.sequence = sequence);
        let by_key = left.iter().enumerate().map(|(index, item)| (normalised(&item.text), index)).collect();
        self.lists[section as usize] = List { candidates: left, by_key };
        taken
    }

    /// The candidates of every section.
    pub(super) fn into_sections(self) -> [Vec<Candidate>; Section::ALL.len()] {
        self.lists.map(|list| list.candidates)
    }
}

impl Candidate {
    /// The same, wanted less than those that belong to the section.
    pub(super) fn behind(self) -> Self {
        Self { rank: if self.rank == Rank::Normal { Rank::Low } else { self.rank }, ..self }
    }

    /// The item's text with the times that it happened.
    pub(super) fn item(&self) -> String {
        match self.count {
            0 | 1 => self.text.clone(),
            count => format!("{} ({count} times)", self.text),
        }
    }
}

/// Splits `… (3 times)`.
fn split_count(line: &str) -> (&str, Option<u64>) {
    let split = || {
        let (text, count) = line.strip_suffix(" times)")?.rsplit_once(" (")?;
        Some((text, count.parse().ok()?))
    };
    split().map_or((line, None), |(text, count)| (text, Some(count)))
}
