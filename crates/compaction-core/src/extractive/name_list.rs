//! Lists of names, each on one line.

use super::budget::cost;
use crate::ledger::finder::{Finder, Pattern};
use crate::ledger::labels::{IDENTIFIERS, PATHS};
use crate::ledger::text::one_line;
use crate::ledger::{Ledger, NameRecord};
use crate::summary::Section;
use crate::text::utf16_len;

const SEPARATOR: &str = ", ";

/// Names that are compared with the other items at once.
const BATCH: usize = 128;

/// A list of names, on one line.
pub(super) struct NameList<'a> {
    label: &'static str,
    names: &'a [NameRecord],
    taken: Vec<String>,
    used: usize,
}

impl<'a> NameList<'a> {
    /// The lists in the order of filling.
    pub(super) fn of(ledger: &'a Ledger) -> [Self; 2] {
        let list = |label, names| Self { label, names, taken: Vec::new(), used: 0 };
        [list(PATHS, &ledger.paths), list(IDENTIFIERS, &ledger.identifiers)]
    }

    /// Takes names that appear in none of `texts`, while they fit into `percent` of `budget` and into
    /// `left`.
    pub(super) fn take(&mut self, texts: &[&str], percent: usize, budget: usize, left: &mut usize) {
        let allowed = budget / 100 * percent;
        for names in self.names.chunks(BATCH) {
            let names: Vec<String> = names.iter().map(|name| one_line(&name.name)).collect();
            let patterns = names.iter().map(|name| Pattern { text: name, is_word: true }).collect();
            let mut finder = Finder::new(patterns);
            texts.iter().for_each(|text| finder.search(text));
            let is_there = finder.found();
            for (name, _) in names.into_iter().zip(is_there).filter(|(_, is_there)| !is_there) {
                let is_first = self.taken.is_empty();
                let frame = if is_first { cost(Section::CriticalContext, self.label) } else { SEPARATOR.len() };
                let cost = utf16_len(&name) + frame;
                if self.used + cost > allowed || cost > *left {
                    return;
                }
                self.used += cost;
                *left -= cost;
                self.taken.push(name);
            }
        }
    }

    pub(super) fn item(&self) -> Option<String> {
        (!self.taken.is_empty()).then(|| format!("{}{}", self.label, self.taken.join(SEPARATOR)))
    }
}
