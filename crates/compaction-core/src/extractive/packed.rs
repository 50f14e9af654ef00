//! Lists of what is told in a word or two, each on one line.

use super::budget::cost;
use super::candidates::Told;
use crate::ledger::finder::{Finder, Pattern};
use crate::ledger::labels::{IDENTIFIERS, PATHS, REPLIES, RESOLVED};
use crate::ledger::text::clip_middle;
use crate::summary::Section;
use crate::text::utf16_len;

/// A list of what is told in a word or two, on one line.
pub(super) struct Packed {
    label: &'static str,
    separator: &'static str,
    items: Vec<String>,
    /// What the items are cuts of, where they are.
    wholes: Vec<String>,
    /// Part of the budget in percent that it gets at first.
    pub(super) percent: usize,
    is_newest_first: bool,
    taken: usize,
    used: usize,
}

impl Packed {
    /// The lists in the order in which they are filled.
    pub(super) fn of(told: &mut Told) -> [Self; 4] {
        let list = |label, items: &mut Vec<String>, percent| Self {
            label,
            separator: ", ",
            items: std::mem::take(items),
            wholes: Vec::new(),
            percent,
            is_newest_first: false,
            taken: 0,
            used: 0,
        };
        let sentences = |list: Self| Self { separator: " | ", ..list };
        let (mut replies, wholes) = told.replies.drain(..).map(|reply| (reply.text, reply.whole)).map(quoted).unzip();
        [
            sentences(list(RESOLVED, &mut told.resolved, 8)),
            Self { is_newest_first: true, wholes, ..sentences(list(REPLIES, &mut replies, 6)) },
            list(PATHS, &mut told.paths, 6),
            list(IDENTIFIERS, &mut told.identifiers, 26),
        ]
    }

    /// Takes items while they fit into `percent` of `budget` and into `left`.
    pub(super) fn take(&mut self, percent: usize, budget: usize, left: &mut usize) {
        let allowed = budget / 100 * percent;
        while let Some(item) = self.items.get(self.taken) {
            let frame = if self.taken == 0 { cost(Section::CriticalContext, self.label) } else { self.separator.len() };
            let cost = utf16_len(item) + frame;
            if self.used + cost > allowed || cost > *left {
                return;
            }
            self.used += cost;
            *left -= cost;
            self.taken += 1;
        }
    }

    /// Leaves out the items that `texts` hold.
    pub(super) fn leave_out<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        let is_word = self.separator == ", ";
        let patterns = self.items.iter().map(|item| Pattern { text: item.trim_matches('"'), is_word }).collect();
        let mut finder = Finder::new(patterns);
        texts.for_each(|text| finder.search(text));
        let found = finder.found();
        let mut is_told = found.iter().copied();
        self.items.retain(|_| !is_told.next().unwrap_or(false));
        let mut is_told = found.into_iter();
        self.wholes.retain(|_| !is_told.next().unwrap_or(false));
    }

    /// Makes the items that are in whole again, the first ones first, up to `most` units each.
    pub(super) fn lengthen(&mut self, most: usize, left: &mut usize) {
        for (item, whole) in self.items[..self.taken].iter_mut().zip(&self.wholes) {
            let longer = clip_middle(whole, most);
            let more = utf16_len(&longer).saturating_sub(utf16_len(item));
            if more > 0 && more <= *left {
                *left -= more;
                *item = longer;
            }
        }
    }

    pub(super) fn item(&self) -> Option<String> {
        let mut taken: Vec<&str> = self.items[..self.taken].iter().map(String::as_str).collect();
        if self.is_newest_first {
            taken.reverse();
        }
        (!taken.is_empty()).then(|| format!("{}{}", self.label, taken.join(self.separator)))
    }
}

fn quoted((text, whole): (String, String)) -> (String, String) {
    (format!("\"{text}\""), format!("\"{whole}\""))
}
