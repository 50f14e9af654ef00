//! Lists of names, each on one line.

use super::budget::cost;
use super::candidates::Candidates;
use crate::ledger::finder::{Finder, Pattern};
use crate::ledger::labels::{IDENTIFIERS, PATHS};
use crate::summary::Section;
use crate::text::utf16_len;

const SEPARATOR: &str = ", ";

/// A list of names, on one line.
pub(super) struct NameList {
    label: &'static str,
    items: Vec<String>,
    taken: usize,
    used: usize,
}

impl NameList {
    /// The lists in the order of filling.
    pub(super) fn of(candidates: &mut Candidates) -> [Self; 2] {
        let list = |label, items: &mut Vec<String>| Self { label, items: std::mem::take(items), taken: 0, used: 0 };
        [list(PATHS, &mut candidates.paths), list(IDENTIFIERS, &mut candidates.identifiers)]
    }

    /// Takes items while they fit into `percent` of `budget` and into `left`.
    pub(super) fn take(&mut self, percent: usize, budget: usize, left: &mut usize) {
        let allowed = budget / 100 * percent;
        while let Some(item) = self.items.get(self.taken) {
            let frame = if self.taken == 0 { cost(Section::CriticalContext, self.label) } else { SEPARATOR.len() };
            let cost = utf16_len(item) + frame;
            if self.used + cost > allowed || cost > *left {
                return;
            }
            self.used += cost;
            *left -= cost;
            self.taken += 1;
        }
    }

    /// Removes the items that appear in `texts`.
    pub(super) fn leave_out<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        let patterns = self.items.iter().map(|item| Pattern { text: item, is_word: true }).collect();
        let mut finder = Finder::new(patterns);
        texts.for_each(|text| finder.search(text));
        let mut is_told = finder.found().into_iter();
        self.items.retain(|_| !is_told.next().unwrap_or(false));
    }

    pub(super) fn item(&self) -> Option<String> {
        let taken = &self.items[..self.taken];
        (!taken.is_empty()).then(|| format!("{}{}", self.label, taken.join(SEPARATOR)))
    }
}
