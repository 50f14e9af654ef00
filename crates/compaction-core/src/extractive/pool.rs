//! Candidates for the sections of a summary.

use std::collections::HashMap;

use crate::entry::EntryId;
use crate::ledger::Sources;
use crate::ledger::notes::{key, split_times};
use crate::ledger::text::{normalised, one_line};
use crate::phrases::{SPACED, listed};
use crate::summary::Section;
use crate::text::prefix_utf16;

/// UTF-16 units of an entry's id in a citation.
const CITED_UNITS: usize = 8;

/// How important a candidate is, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// It is never left out, only cut.
    Must,
    /// It matches the caller's focus.
    Focus,
    /// It has information of its own.
    Normal,
    /// It is left out first.
    Low,
    /// It is included only if there is room for everything else.
    Least,
}

/// Where a candidate comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) position: u64,
    /// How often it happened. The item says so if it is more than once.
    pub(super) times: u64,
    pub(super) sources: Option<&'a Sources>,
}

impl<'a> Origin<'a> {
    /// Something that happened once, with its entries.
    pub(super) fn of(position: u64, sources: &'a Sources) -> Self {
        Self { position, times: 1, sources: Some(sources) }
    }
}

impl Origin<'static> {
    /// A message that is not cited.
    pub(super) fn at(position: u64) -> Self {
        Self { position, times: 1, sources: None }
    }
}

/// A possible item of a summary.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// The item, on one line, perhaps cut.
    pub(super) text: String,
    /// The whole text, if the item is a cut of it.
    pub(super) whole: Option<String>,
    /// Position of the message that it comes from.
    pub(super) position: u64,
    /// Its index among the candidates of its section, which orders those of one message.
    pub(super) sequence: usize,
    pub(super) rank: Rank,
    pub(super) times: u64,
    /// The short id of the cited entry.
    pub(super) cited: Option<String>,
}

/// The candidates of every section, without duplicates.
#[derive(Debug)]
pub(super) struct Pool {
    lists: [List; Section::ALL.len()],
    focus: Vec<String>,
    citations: bool,
}

#[derive(Debug, Default)]
struct List {
    candidates: Vec<Candidate>,
    by_key: HashMap<String, usize>,
}

/// Words of instructions that do not identify a subject.
const COMMON_WORDS: &[&str] = listed!(SPACED, "pool: common words");

/// Most words of instructions that are searched for.
const MOST_FOCUS_WORDS: usize = 64;

/// An entry's id as it appears in citations.
pub(super) fn short_id(id: &EntryId) -> String {
    prefix_utf16(&one_line(id.as_str()), CITED_UNITS).to_owned()
}

impl Pool {
    /// A pool that prefers candidates with a word of `focus`.
    pub(super) fn new(focus: Option<&str>, citations: bool) -> Self {
        let words = normalised(focus.unwrap_or_default());
        let is_telling = |word: &&str| word.chars().count() > 2 && !COMMON_WORDS.contains(word);
        Self {
            lists: Default::default(),
            focus: words.split(' ').filter(is_telling).take(MOST_FOCUS_WORDS).map(str::to_owned).collect(),
            citations,
        }
    }

    /// Adds an item. If it is already there, the two become one with the newer position and the higher
    /// rank.
    pub(super) fn add(&mut self, section: Section, text: &str, origin: Origin<'_>, rank: Rank) {
        self.add_cut(section, text, None, origin, rank);
    }

    /// Adds an item that is a cut of `whole`. It is extended again if there is room.
    pub(super) fn add_cut(
        &mut self,
        section: Section,
        text: &str,
        whole: Option<String>,
        origin: Origin<'_>,
        rank: Rank,
    ) {
        let line = one_line(text);
        let (line, _) = split_times(&line);
        let key = key(line);
        if key.is_empty() {
            return;
        }
        let rank = if self.matches_focus(&key) { rank.min(Rank::Focus) } else { rank };
        let cited = origin.sources.filter(|_| self.citations).and_then(|sources| sources.ids().last());
        let cited = cited.map(short_id);
        let list = &mut self.lists[section as usize];
        if let Some(known) = list.by_key.get(&key).and_then(|index| list.candidates.get_mut(*index)) {
            known.position = known.position.max(origin.position);
            known.rank = known.rank.min(rank);
            known.times = known.times.max(origin.times);
            return;
        }
        let sequence = list.candidates.len();
        list.by_key.insert(key, sequence);
        let (text, position, times) = (line.to_owned(), origin.position, origin.times);
        let whole = whole.filter(|whole| *whole != text);
        list.candidates.push(Candidate { text, whole, position, sequence, rank, times, cited });
    }

    /// Whether the caller named a focus.
    pub(super) fn has_focus(&self) -> bool {
        !self.focus.is_empty()
    }

    /// Whether an item with this key matches the caller's focus.
    fn matches_focus(&self, key: &str) -> bool {
        self.focus.iter().any(|word| key.contains(word.as_str()))
    }

    /// Whether there are no candidates.
    pub(super) fn is_empty(&self) -> bool {
        self.lists.iter().all(|list| list.candidates.is_empty())
    }

    /// Whether `section` has a candidate.
    pub(super) fn has(&self, section: Section) -> bool {
        !self.lists[section as usize].candidates.is_empty()
    }

    /// The candidates of every section.
    pub(super) fn into_sections(self) -> [Vec<Candidate>; Section::ALL.len()] {
        self.lists.map(|list| list.candidates)
    }
}

impl Candidate {
    /// The same with a lower rank than candidates that belong to the section.
    pub(super) fn behind(self) -> Self {
        Self { rank: if self.rank == Rank::Normal { Rank::Low } else { self.rank }, ..self }
    }

    /// The same with its text cut to `text`.
    pub(super) fn cut_to(&self, text: String) -> Self {
        let whole = self.whole.as_ref().or(Some(&self.text).filter(|own| **own != text)).cloned();
        Self { text, whole, cited: self.cited.clone(), ..*self }
    }

    /// The text of the item with the number of times and the citation.
    pub(super) fn item(&self) -> String {
        let mut item = self.text.clone();
        if self.times > 1 {
            item.push_str(&format!(" ({} times)", self.times));
        }
        if let Some(cited) = &self.cited {
            item.push_str(&format!(" [entry {cited}]"));
        }
        item
    }
}
