//! Choosing what fits: every section gets its share, and what one leaves over the others may use.

use std::cmp::Reverse;

use super::candidates::Told;
use super::packed::Packed;
use super::pool::{Candidate, Rank};
use super::{MINIMUM_TOKENS, Style};
use crate::ledger::text::{clip, clip_middle};
use crate::summary::{Section, Sections, SummaryKind, render_item};
use crate::text::utf16_len;

/// UTF-16 units of a token in an estimate.
const UNITS_PER_TOKEN: u64 = 4;
/// UTF-16 units of the shortest cut of an item.
const LEAST_UNITS: usize = 48;
/// UTF-16 units of the longest item.
pub(super) const MOST_UNITS_OF_ONE: usize = 600;
/// UTF-16 units of the longest item that must not be left out.
pub(super) const MOST_UNITS: usize = 4000;
/// Lengths to which requests are cut, the longest at which all of them fit.
const REQUEST_UNITS: [usize; 6] = [600, 300, 160, 96, 64, 44];

/// What a section may take at first: its part of the budget in percent, and its most items. The
/// lists of names, errors and replies have what is left of a hundred.
struct Share {
    percent: usize,
    items: usize,
}

fn share(kind: SummaryKind, section: Section) -> Share {
    let (percent, items) = match (kind, section) {
        (SummaryKind::TurnPrefix, Section::OriginalRequest) => (20, usize::MAX),
        (SummaryKind::TurnPrefix, Section::EarlyProgress) => (30, 200),
        (SummaryKind::TurnPrefix, _) => (20, 120),
        (_, Section::Goal) => (18, usize::MAX),
        (_, Section::Constraints) => (6, 80),
        (_, Section::Done) => (4, 120),
        (_, Section::InProgress) => (4, 24),
        (_, Section::Blocked) => (10, 120),
        (_, Section::Decisions) => (5, 60),
        (_, Section::NextSteps) => (3, 12),
        (_, _) => (4, 60),
    };
    Share { percent, items }
}

/// Where a candidate goes in a summary of `kind`.
fn placed(kind: SummaryKind, section: Section) -> Section {
    match kind {
        SummaryKind::TurnPrefix => match section {
            Section::Goal => Section::OriginalRequest,
            Section::Done | Section::InProgress | Section::Blocked | Section::Decisions => Section::EarlyProgress,
            Section::Constraints | Section::NextSteps | Section::CriticalContext => Section::SuffixContext,
            own => own,
        },
        // A branch summary ends with Next Steps; what was found out stands best beside the decisions.
        SummaryKind::Branch if section.in_history() == Section::CriticalContext => Section::Decisions,
        _ => section.in_history(),
    }
}

/// The summary of `kind` with what of `told` fits into the tokens of `style`, which count as
/// [`MINIMUM_TOKENS`] where they are fewer.
pub(super) fn choose(mut told: Told, kind: SummaryKind, style: &Style<'_>) -> String {
    let units = style.max_tokens.max(MINIMUM_TOKENS).saturating_mul(UNITS_PER_TOKEN);
    let frame = utf16_len(&Sections::default().render(kind));
    let room = usize::try_from(units).unwrap_or(usize::MAX).saturating_sub(frame);
    let packed = Packed::of(&mut told);
    let mut lists = preferred(told, kind);
    let mut chooser = Chooser { kind, budget: room, left: room, chosen: Vec::new(), packed };
    chooser.take_musts(&mut lists);
    chooser.budget = chooser.left;
    chooser.take_shares(&mut lists);
    chooser.take_first_of_rest(&mut lists);
    chooser.take_rest(&mut lists);
    chooser.lengthen();
    chooser.render()
}

/// Whether a summary of `kind` has anything to choose from.
pub(super) fn has_any(told: &Told, kind: SummaryKind) -> bool {
    let has_items = |section| kind.has(placed(kind, section)) && told.pool.has(section);
    Section::ALL.into_iter().any(has_items) || !told.replies.is_empty() || !told.resolved.is_empty()
}

/// The candidates of one section, most wanted first, and how many of them were looked at.
struct List {
    section: Section,
    candidates: Vec<Candidate>,
    looked_at: usize,
    /// UTF-16 units to which its items are cut.
    units: usize,
}

/// The candidates of each section of `kind`, most wanted first: by rank, then the newest.
fn preferred(told: Told, kind: SummaryKind) -> Vec<List> {
    let own = Section::ALL.into_iter().filter(|own| kind.has(*own));
    let mut lists: Vec<List> =
        own.map(|section| List { section, candidates: Vec::new(), looked_at: 0, units: MOST_UNITS_OF_ONE }).collect();
    for (section, candidates) in Section::ALL.into_iter().zip(told.pool.into_sections()) {
        let place = placed(kind, section);
        if let Some(list) = lists.iter_mut().find(|list| list.section == place) {
            let is_guest = kind == SummaryKind::Branch && place != section;
            let ranked = candidates.into_iter().map(|one| if is_guest { one.behind() } else { one });
            list.candidates.extend(ranked);
        }
    }
    for list in &mut lists {
        list.candidates.sort_by_key(|candidate| (candidate.rank, Reverse((candidate.position, candidate.sequence))));
        list.candidates.truncate(share(kind, list.section).items);
    }
    lists
}

impl List {
    fn is_of_requests(&self) -> bool {
        matches!(self.section, Section::Goal | Section::OriginalRequest)
    }

    /// The next candidate, cut.
    fn next(&self) -> Option<Candidate> {
        let candidate = self.candidates.get(self.looked_at)?;
        Some(candidate.cut_to(clip(&candidate.text, self.units)))
    }

    /// The greatest length of items at which those that are left need at most `room`.
    fn fit(&mut self, room: usize) {
        let need = |units: usize| -> usize {
            let left = self.candidates.iter().skip(self.looked_at);
            left.map(|candidate| cost(self.section, &clip(&candidate.text, units))).sum()
        };
        let fits = REQUEST_UNITS.into_iter().find(|units| *units <= self.units && need(*units) <= room);
        self.units = fits.unwrap_or(REQUEST_UNITS[REQUEST_UNITS.len() - 1]).min(self.units);
    }
}

pub(super) struct Chooser {
    kind: SummaryKind,
    /// UTF-16 units for items in all.
    pub(super) budget: usize,
    /// UTF-16 units that are left.
    pub(super) left: usize,
    pub(super) chosen: Vec<(Section, Candidate)>,
    pub(super) packed: [Packed; 4],
}

impl Chooser {
    /// Takes what must not be left out, newest first, and cuts it as far as it has to be: each may
    /// use half of what is left.
    fn take_musts(&mut self, lists: &mut [List]) {
        let mut musts = Vec::new();
        for list in lists {
            let count = list.candidates.iter().take_while(|candidate| candidate.rank == Rank::Must).count();
            musts.extend(list.candidates.drain(..count).map(|candidate| (list.section, candidate)));
        }
        musts.sort_by_key(|(_, candidate)| Reverse(candidate.position));
        for (section, candidate) in musts {
            let room = (self.left / 2).min(MOST_UNITS);
            let frame = cost(section, &Candidate { text: String::new(), ..candidate.clone() }.item());
            let text = clip_middle(&candidate.text, room.saturating_sub(frame));
            if !text.is_empty() {
                self.take(section, candidate.cut_to(text));
            }
        }
    }

    /// Gives each section and list its share.
    fn take_shares(&mut self, lists: &mut [List]) {
        let most = (self.budget / 24).clamp(LEAST_UNITS, MOST_UNITS_OF_ONE);
        for list in lists {
            list.units = most;
            let mut share = self.budget / 100 * share(self.kind, list.section).percent;
            if list.is_of_requests() {
                // They may have what others leave, so that short ones are rather told than few long ones.
                list.fit(2 * share);
            }
            while let Some(candidate) = list.next() {
                let cost = cost(list.section, &candidate.item());
                if cost > share {
                    break;
                }
                share -= cost;
                list.looked_at += 1;
                self.take(list.section, candidate);
            }
        }
        self.leave_out_told();
        for packed in &mut self.packed {
            packed.take(packed.percent, self.budget, &mut self.left);
        }
    }

    /// What an item holds need not be listed again.
    fn leave_out_told(&mut self) {
        for packed in &mut self.packed {
            packed.leave_out(self.chosen.iter().map(|(_, candidate)| candidate.text.as_str()));
        }
    }

    /// Gives what is left to what is missed most: first a fair part to each of errors, requests and
    /// names, then as much as they need.
    fn take_first_of_rest(&mut self, lists: &mut [List]) {
        for (requests, errors, names) in [(24, 30, 34), (40, 40, 40)] {
            self.take_more(lists, &[Section::Blocked], errors);
            self.packed[0].take(errors, self.budget, &mut self.left);
            self.take_more(lists, &[Section::Goal, Section::OriginalRequest], requests);
            self.packed[1].take(requests, self.budget, &mut self.left);
            self.packed[2].take(names / 3, self.budget, &mut self.left);
            self.packed[3].take(names, self.budget, &mut self.left);
            self.take_more(lists, &[Section::Constraints], 10);
        }
    }

    /// Takes more items of `sections`, for at most `percent` of the budget.
    fn take_more(&mut self, lists: &mut [List], sections: &[Section], percent: usize) {
        for list in lists.iter_mut().filter(|list| sections.contains(&list.section)) {
            let mut allowed = (self.budget / 100 * percent).min(self.left);
            while let Some(candidate) = list.next() {
                let cost = cost(list.section, &candidate.item());
                if cost > allowed {
                    break;
                }
                allowed -= cost;
                list.looked_at += 1;
                self.take(list.section, candidate);
            }
        }
    }

    /// Gives out what is left then, one item to each section in turn.
    fn take_rest(&mut self, lists: &mut [List]) {
        let mut has_more = true;
        while has_more {
            has_more = false;
            for list in &mut *lists {
                let Some(candidate) = list.next() else { continue };
                has_more = true;
                list.looked_at += 1;
                if cost(list.section, &candidate.item()) <= self.left {
                    self.take(list.section, candidate);
                }
            }
        }
        let [resolved, replies, ..] = &mut self.packed;
        resolved.take(100, self.budget, &mut self.left);
        replies.take(100, self.budget, &mut self.left);
    }

    fn take(&mut self, section: Section, candidate: Candidate) {
        self.left = self.left.saturating_sub(cost(section, &candidate.item()));
        self.chosen.push((section, candidate));
    }

    /// Oldest first in every section but Next Steps, where the latest plan comes first; the lists
    /// stand last.
    fn render(mut self) -> String {
        self.chosen.sort_by_key(|(section, candidate)| {
            let latest_first = if *section == Section::NextSteps { u64::MAX - candidate.position } else { 0 };
            (latest_first, candidate.position, candidate.sequence)
        });
        let mut sections = Sections::default();
        for (section, candidate) in &self.chosen {
            sections[*section].push(candidate.item());
        }
        let place = placed(self.kind, Section::CriticalContext);
        sections[place].extend(self.packed.iter().filter_map(Packed::item));
        sections.render(self.kind)
    }
}

/// UTF-16 units that an item adds at most: its line, its line end, and the longest number that
/// could mark it.
pub(super) fn cost(section: Section, item: &str) -> usize {
    utf16_len(&render_item(section, 999, item)) + 1
}
