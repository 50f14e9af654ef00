//! Lengthening: cut items get the room that is left at the end.

use std::cmp::Reverse;

use super::budget::{Chooser, MOST_UNITS, MOST_UNITS_OF_ONE, cost};
use super::pool::{Candidate, Rank};
use crate::ledger::text::clip_middle;
use crate::summary::Section;

/// UTF-16 units to which items are lengthened, step by step, so that many grow a little before one
/// grows much.
const STEPS: [usize; 3] = [160, 300, MOST_UNITS_OF_ONE];

impl Chooser<'_> {
    /// Lengthens the cut items with the remaining room, most important first. Very long ones, such as
    /// requests with a file in them, leave half of the budget free.
    pub(super) fn lengthen(&mut self) {
        let mut cut: Vec<usize> =
            (0..self.chosen.len()).filter(|index| self.chosen[*index].1.whole.is_some()).collect();
        cut.sort_by_key(|index| importance(&self.chosen[*index]));
        for most in STEPS {
            self.lengthen_to(most, &cut);
        }
        let spared = self.left.min(self.budget / 2);
        self.left -= spared;
        self.lengthen_to(MOST_UNITS, &cut);
        self.left += spared;
    }

    fn lengthen_to(&mut self, most: usize, cut: &[usize]) {
        for index in cut {
            let (section, candidate) = &mut self.chosen[*index];
            lengthen(*section, candidate, most, &mut self.left);
        }
    }
}

/// The order of lengthening: required items, constraints, requests, errors.
fn importance((section, candidate): &(Section, Candidate)) -> (u8, Rank, Reverse<u64>) {
    let class = match section {
        _ if candidate.rank == Rank::Must => 0,
        Section::Constraints => 1,
        Section::Goal | Section::OriginalRequest => 2,
        Section::Blocked => 3,
        Section::Decisions => 4,
        _ => 5,
    };
    (class, candidate.rank, Reverse(candidate.position))
}

fn lengthen(section: Section, candidate: &mut Candidate, most: usize, left: &mut usize) {
    let Some(whole) = &candidate.whole else { return };
    let longer = Candidate { text: clip_middle(whole, most), ..candidate.clone() };
    let more = cost(section, &longer.item()).saturating_sub(cost(section, &candidate.item()));
    if more > 0 && more <= *left {
        *left -= more;
        *candidate = longer;
    }
}
