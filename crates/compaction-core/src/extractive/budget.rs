//! Choosing what fits: every section gets its share, and what one leaves over the others may use.

use std::cmp::Reverse;

use super::MINIMUM_TOKENS;
use super::pool::{Candidate, Pool, Rank};
use super::previous::settled_section;
use super::text::{clip, clip_middle};
use crate::summary::{Section, Sections, SummaryKind, render_item};
use crate::text::utf16_len;

/// UTF-16 units of a token in an estimate.
const UNITS_PER_TOKEN: u64 = 4;
/// UTF-16 units of the shortest cut of an item.
const LEAST_UNITS: usize = 48;
/// UTF-16 units of the longest item.
const MOST_UNITS_OF_ONE: usize = 600;
/// UTF-16 units of the longest item that must not be left out.
pub(super) const MOST_UNITS: usize = 4000;

/// What a section may take: its part of the budget in percent, and its most items.
struct Share {
    percent: usize,
    items: usize,
}

fn share(kind: SummaryKind, section: Section) -> Share {
    let (percent, items) = match (kind, section) {
        (SummaryKind::TurnPrefix, Section::OriginalRequest) => (30, 16),
        (SummaryKind::TurnPrefix, Section::EarlyProgress) => (40, 80),
        (SummaryKind::TurnPrefix, _) => (30, 80),
        (_, Section::Goal) => (20, 20),
        (_, Section::Constraints) => (14, 40),
        (_, Section::Done) => (18, 80),
        (_, Section::InProgress) => (10, 24),
        (_, Section::Blocked) => (10, 24),
        (_, Section::Decisions) => (12, 40),
        (_, Section::NextSteps) => (6, 12),
        (_, _) => (10, 60),
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
        SummaryKind::Branch if settled_section(section) == Section::CriticalContext => Section::Decisions,
        _ => settled_section(section),
    }
}

/// The summary of `kind` with what of `pool` fits into `max_tokens`, which count as [`MINIMUM_TOKENS`]
/// where they are fewer.
pub(super) fn choose(pool: Pool, kind: SummaryKind, max_tokens: u64) -> String {
    let units = max_tokens.max(MINIMUM_TOKENS).saturating_mul(UNITS_PER_TOKEN);
    let frame = utf16_len(&Sections::default().render(kind));
    let room = usize::try_from(units).unwrap_or(usize::MAX).saturating_sub(frame);
    let mut chooser = Chooser { kind, budget: room, left: room, chosen: Vec::new() };
    let mut lists = preferred(pool, kind);
    chooser.take_musts(&mut lists);
    let starts = chooser.take_shares(&lists);
    chooser.take_rest(&lists, starts);
    chooser.render()
}

/// Whether a summary of `kind` has anything to choose from.
pub(super) fn has_any(pool: &Pool, kind: SummaryKind) -> bool {
    Section::ALL.into_iter().any(|section| kind.has(placed(kind, section)) && pool.has(section))
}

type Lists = Vec<(Section, Vec<Candidate>)>;

/// The candidates of each section of `kind`, most wanted first: by rank, then the newest.
fn preferred(pool: Pool, kind: SummaryKind) -> Lists {
    let mut lists: Lists = Section::ALL.into_iter().filter(|own| kind.has(*own)).map(|own| (own, Vec::new())).collect();
    for (section, candidates) in Section::ALL.into_iter().zip(pool.into_sections()) {
        let place = placed(kind, section);
        if let Some((_, list)) = lists.iter_mut().find(|(own, _)| *own == place) {
            let is_guest = kind == SummaryKind::Branch && place != section;
            list.extend(candidates.into_iter().map(|candidate| if is_guest { candidate.behind() } else { candidate }));
        }
    }
    for (section, list) in &mut lists {
        list.sort_by_key(|candidate| (candidate.rank, Reverse((candidate.position, candidate.sequence))));
        list.truncate(share(kind, *section).items);
    }
    lists
}

struct Chooser {
    kind: SummaryKind,
    /// UTF-16 units for items in all.
    budget: usize,
    /// UTF-16 units that are left.
    left: usize,
    chosen: Vec<(Section, Candidate)>,
}

impl Chooser {
    /// Takes what must not be left out, newest first, and cuts it as far as it has to be: each may
    /// use half of what is left.
    fn take_musts(&mut self, lists: &mut Lists) {
        let is_must = |candidate: &Candidate| candidate.rank == Rank::Must;
        let mut musts = Vec::new();
        for (section, list) in lists {
            let count = list.iter().take_while(|candidate| is_must(candidate)).count();
            musts.extend(list.drain(..count).map(|candidate| (*section, candidate)));
        }
        musts.sort_by_key(|(_, candidate)| Reverse(candidate.position));
        for (section, candidate) in musts {
            let room = (self.left / 2).min(MOST_UNITS);
            let own = room.saturating_sub(cost(section, ""));
            let text = clip_middle(&candidate.text, own);
            if !text.is_empty() {
                self.take(section, Candidate { text, ..candidate });
            }
        }
    }

    /// Gives each section its share; returns how many of its candidates each has looked at.
    fn take_shares(&mut self, lists: &Lists) -> Vec<usize> {
        let budget = self.left;
        let mut starts = Vec::new();
        for (section, list) in lists {
            let mut share = budget / 100 * share(self.kind, *section).percent;
            let mut start = 0;
            while let Some(candidate) = list.get(start).map(|candidate| self.shortened(candidate)) {
                let cost = cost(*section, &candidate.item());
                if cost > share {
                    break;
                }
                share -= cost;
                self.take(*section, candidate);
                start += 1;
            }
            starts.push(start);
        }
        starts
    }

    /// Gives out what is left, one item to each section in turn.
    fn take_rest(&mut self, lists: &Lists, mut starts: Vec<usize>) {
        let mut has_more = true;
        while has_more {
            has_more = false;
            for ((section, list), start) in lists.iter().zip(&mut starts) {
                let Some(candidate) = list.get(*start).map(|candidate| self.shortened(candidate)) else {
                    continue;
                };
                has_more = true;
                *start += 1;
                if cost(*section, &candidate.item()) <= self.left {
                    self.take(*section, candidate);
                }
            }
        }
    }

    /// A candidate cut to a length at which two dozen of them fit.
    fn shortened(&self, candidate: &Candidate) -> Candidate {
        let units = (self.budget / 24).clamp(LEAST_UNITS, MOST_UNITS_OF_ONE);
        Candidate { text: clip(&candidate.text, units), ..candidate.clone() }
    }

    fn take(&mut self, section: Section, candidate: Candidate) {
        self.left = self.left.saturating_sub(cost(section, &candidate.item()));
        self.chosen.push((section, candidate));
    }

    /// Oldest first in every section but Next Steps, where the latest plan comes first.
    fn render(mut self) -> String {
        self.chosen.sort_by_key(|(section, candidate)| {
            let latest_first = if *section == Section::NextSteps { usize::MAX - candidate.position } else { 0 };
            (latest_first, candidate.position, candidate.sequence)
        });
        let mut sections = Sections::default();
        for (section, candidate) in &self.chosen {
            sections[*section].push(candidate.item());
        }
        sections.render(self.kind)
    }
}

/// UTF-16 units that an item adds at most: its line, its line end, and the longest number that
/// could mark it.
fn cost(section: Section, item: &str) -> usize {
    utf16_len(&render_item(section, 999, item)) + 1
}
