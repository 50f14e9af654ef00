//! Chooses what fits. The sections about the current state get their shares first. The digest of statements gets the
//! rest, and actions and names get what that leaves. Cut items get the room that remains at the end.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use super::assignments::replaced;
use super::candidates::next_steps::clip_request;
use super::candidates::{Candidates, LONG_SUMMARY};
use super::checks::{self, Checks};
use super::pool::{Candidate, Rank, short_id};
use super::resets::discarded;
use super::{MINIMUM_TOKENS, Style};
use crate::entry::EntryId;
use crate::ledger::cues::has_name;
use crate::ledger::finder::{Finder, Pattern};
use crate::ledger::noise::noise;
use crate::ledger::notes::{CHANGED, IDENTIFIERS, PATHS, REFUTED, SHOWED, THE_GOAL};
use crate::ledger::selection::{Selection, terms};
use crate::ledger::text::{clip, clip_clauses, clip_middle, one_line, quote};
use crate::ledger::{Ledger, NameRecord, Places, Statement, Voice, is_noise, scan};
use crate::summary::{Section, Sections, SummaryKind, join_split_turn, render_item};
use crate::text::utf16_len;

/// UTF-16 units of a token in an estimate.
pub(super) const UNITS_PER_TOKEN: usize = 4;
/// Most quotes from text that a person pasted into one message.
const MOST_QUOTES: usize = 2;
/// Percentage of the budget for names.
const NAMES_PERCENT: usize = 5;
/// Percentage of the budget for actions if the statements leave room.
const ACTIONS_PERCENT: usize = 15;
/// Percentage of the budget for the changes of files, besides the share of their section.
const CHANGES_PERCENT: usize = 12;
/// Percentage of the budget that must be left for a conversation to count as quiet.
const QUIET_PERCENT: usize = 30;
/// Percentage of the budget for Done in a short summary, where what was said has little room.
const SHORT_DONE_PERCENT: usize = 8;
/// UTF-16 units for actions if little else is known: a fifth of it, between these two.
const LEAST_ACTIONS: [usize; 2] = [300, 1000];
/// Fewest UTF-16 units to which an item is cut.
const LEAST_UNITS: usize = 48;
/// One item may take the budget divided by this.
const PART_OF_ONE: usize = 24;
/// An item about the state of the work may take the whole room divided by this.
const STATE_PART: usize = 20;
/// Room for what is in progress in any case, in UTF-16 units.
const LEAST_STATE: usize = 700;
/// In a small summary, this is at most the whole room divided by this.
const LEAST_STATE_PART: usize = 6;
/// Longest item, in UTF-16 units.
const MOST_UNITS_OF_ONE: usize = 600;
/// Longest item that must not be left out, in UTF-16 units.
pub(super) const MOST_UNITS: usize = 4000;

/// The share of a section: a percentage of the budget, and the most items. The digest gets the rest.
struct Share {
    percent: usize,
    items: usize,
}

fn share(kind: SummaryKind, section: Section) -> Share {
    let (percent, items) = match (kind, section) {
        (SummaryKind::TurnPrefix, Section::OriginalRequest) => (20, usize::MAX),
        (SummaryKind::TurnPrefix, Section::EarlyProgress) => (16, 60),
        (SummaryKind::TurnPrefix, _) => (10, 40),
        (_, Section::Goal) => (8, usize::MAX),
        (_, Section::Constraints) => (8, 80),
        (_, Section::Done) => (16, 60),
        (_, Section::InProgress) => (9, 24),
        (_, Section::Blocked) => (6, 12),
        (_, Section::Decisions) => (8, 40),
        (_, Section::NextSteps) => (7, 16),
        (_, _) => (3, 20),
    };
    Share { percent, items }
}

/// The section of a candidate in a summary of `kind`.
fn placed(kind: SummaryKind, section: Section) -> Section {
    match kind {
        SummaryKind::TurnPrefix => match section {
            Section::Goal => Section::OriginalRequest,
            Section::Done | Section::InProgress | Section::Blocked | Section::Decisions => Section::EarlyProgress,
            Section::Constraints | Section::NextSteps | Section::CriticalContext => Section::SuffixContext,
            own => own,
        },
        // A branch summary ends with Next Steps, so its findings are listed with the decisions.
        SummaryKind::Branch if section.in_history() == Section::CriticalContext => Section::Decisions,
        _ => section.in_history(),
    }
}

/// The summary of `kind` with the candidates and statements that fit into the tokens of `style`. The budget is at least
/// [`MINIMUM_TOKENS`].
pub(super) fn choose(ledger: &Ledger, candidates: Candidates, kind: SummaryKind, style: &Style<'_>) -> String {
    let frame = utf16_len(&Sections::default().render(kind));
    chosen(ledger, candidates, kind, style, frame).render().render(kind)
}

/// The summary of the beginning of a turn without a history before it: the state in the sections of a history, and the
/// rest as the context of the turn.
pub(super) fn choose_of_turn(ledger: &Ledger, candidates: Candidates, style: &Style<'_>) -> String {
    let frame = utf16_len(&of_turn(Sections::default(), Vec::new()));
    let mut chooser = chosen(ledger, candidates, SummaryKind::History, style, frame);
    // The first steps of the turn are no state of the work.
    let is_step = |(_, one): &(Section, Candidate)| one.rank == Rank::Least;
    let (steps, state) = std::mem::take(&mut chooser.chosen).into_iter().partition(is_step);
    chooser.chosen = state;
    let mut steps: Vec<(Section, Candidate)> = steps;
    steps.sort_by_key(|(_, one)| (one.position, one.sequence));
    of_turn(chooser.render(), steps.iter().map(|(_, one)| one.item()).collect())
}

fn of_turn(mut state: Sections, steps: Vec<String>) -> String {
    let mut context = Sections::default();
    context[Section::OriginalRequest].push(THE_GOAL.to_owned());
    context[Section::EarlyProgress] = steps;
    context[Section::SuffixContext] = std::mem::take(&mut state[Section::CriticalContext]);
    let state = state.render(SummaryKind::History);
    join_split_turn(Some(&state), &context.render(SummaryKind::TurnPrefix))
}

/// What fits beside `frame` UTF-16 units of headings.
fn chosen<'a>(
    ledger: &'a Ledger,
    candidates: Candidates,
    kind: SummaryKind,
    style: &Style<'_>,
    frame: usize,
) -> Chooser<'a> {
    let units = style.max_tokens.max(MINIMUM_TOKENS).saturating_mul(UNITS_PER_TOKEN as u64);
    let room = usize::try_from(units).unwrap_or(usize::MAX).saturating_sub(frame);
    let noise = noise(ledger);
    let name_lists = NameList::of(ledger, &noise);
    let checks = candidates.checks.clone();
    let mut lists = preferred(candidates, kind);
    let mut chooser =
        Chooser { kind, room, budget: room, left: room, chosen: Vec::new(), name_lists, digest: Vec::new() };
    chooser.take_required(&mut lists);
    chooser.budget = chooser.left;
    chooser.take_shares(&mut lists);
    chooser.take_digest(ledger, style, &checks, noise);
    chooser.take_rest(&mut lists);
    chooser.lengthen();
    chooser.take_names();
    chooser.take_results(ledger);
    chooser
}

/// Whether a summary of `kind` has anything to choose from.
pub(super) fn has_any(candidates: &Candidates, kind: SummaryKind) -> bool {
    Section::ALL.into_iter().any(|section| kind.has(placed(kind, section)) && candidates.pool.has(section))
}

/// The candidates of one section, most important first, and the number of examined ones.
struct List {
    section: Section,
    candidates: Vec<Candidate>,
    looked_at: usize,
    /// UTF-16 units to which its items are cut.
    units: usize,
}

/// The candidates of each section of `kind`, by rank and then the newest first.
fn preferred(candidates: Candidates, kind: SummaryKind) -> Vec<List> {
    let own = Section::ALL.into_iter().filter(|own| kind.has(*own));
    let mut lists: Vec<List> =
        own.map(|section| List { section, candidates: Vec::new(), looked_at: 0, units: MOST_UNITS_OF_ONE }).collect();
    for (section, candidates) in Section::ALL.into_iter().zip(candidates.pool.into_sections()) {
        let place = placed(kind, section);
        if let Some(list) = lists.iter_mut().find(|list| list.section == place) {
            let is_guest = kind == SummaryKind::Branch && place != section;
            let ranked = candidates.into_iter().map(|one| if is_guest { one.behind() } else { one });
            list.candidates.extend(ranked);
        }
    }
    for list in &mut lists {
        list.candidates.sort_by_key(|candidate| (candidate.rank, Reverse(candidate.position), candidate.sequence));
        list.candidates.truncate(share(kind, list.section).items);
    }
    lists
}

impl List {
    /// The next candidate, cut.
    fn next(&self) -> Option<Candidate> {
        let candidate = self.candidates.get(self.looked_at)?;
        Some(candidate.cut_to(clipped(self.section, &candidate.text, self.units, clip)))
    }

    /// UTF-16 units of the items about the changes of files.
    fn changes(&self) -> usize {
        let is_change = |one: &&Candidate| one.text.strip_prefix(CHANGED).is_some_and(|rest| rest.starts_with('`'));
        let changes = self.candidates.iter().filter(is_change);
        changes.map(|one| cost(self.section, &one.text)).sum()
    }
}

struct Chooser<'a> {
    kind: SummaryKind,
    /// UTF-16 units for all items.
    room: usize,
    /// UTF-16 units for items that may be left out.
    budget: usize,
    /// UTF-16 units that are left.
    left: usize,
    chosen: Vec<(Section, Candidate)>,
    name_lists: [NameList<'a>; 2],
    digest: Vec<String>,
}

impl Chooser<'_> {
    /// Takes the items that must not be left out, newest first. Each may use half of the remaining room
    /// and is cut to it. The request of a turn is the first and may use three quarters.
    fn take_required(&mut self, lists: &mut [List]) {
        let mut required = Vec::new();
        for list in lists {
            let count = list.candidates.iter().take_while(|candidate| candidate.rank == Rank::Must).count();
            required.extend(list.candidates.drain(..count).map(|candidate| (list.section, candidate)));
        }
        let is_of_turn = |section: &Section| *section == Section::OriginalRequest;
        required.sort_by_key(|(section, candidate)| (!is_of_turn(section), Reverse(candidate.position)));
        for (section, candidate) in required {
            let room = if is_of_turn(&section) { self.left / 4 * 3 } else { self.left / 2 };
            let room = room.min(MOST_UNITS);
            let frame = cost(section, &Candidate { text: String::new(), ..candidate.clone() }.item());
            let text = cut(section, &candidate.text, room.saturating_sub(frame));
            if !text.is_empty() {
                self.take(section, candidate.cut_to(text));
            }
        }
    }

    /// Fills the share of each section, without actions.
    fn take_shares(&mut self, lists: &mut [List]) {
        let room = self.room;
        for list in lists {
            // The state of the work does not depend on the length of the request.
            let is_state = matches!(list.section, Section::InProgress | Section::NextSteps);
            let (budget, part) = if is_state { (room, STATE_PART) } else { (self.budget, PART_OF_ONE) };
            list.units = (budget / part).clamp(LEAST_UNITS, MOST_UNITS_OF_ONE);
            let least = if list.section == Section::InProgress { LEAST_STATE.min(room / LEAST_STATE_PART) } else { 0 };
            let is_short_done = list.section == Section::Done && room < LONG_SUMMARY;
            let percent = if is_short_done { SHORT_DONE_PERCENT } else { share(self.kind, list.section).percent };
            let own = budget / 100 * percent;
            let mut share = (own + list.changes().min(budget / 100 * CHANGES_PERCENT)).max(least).min(self.left);
            while let Some(candidate) = list.next().filter(|candidate| candidate.rank < Rank::Least) {
                let cost = cost(list.section, &candidate.item());
                if cost > share {
                    break;
                }
                share -= cost;
                list.looked_at += 1;
                self.take(list.section, candidate);
            }
        }
    }

    /// Fills the room that the sections leave with statements, except for a small part for names.
    fn take_digest(&mut self, ledger: &Ledger, style: &Style<'_>, checks: &Checks, mut noise: Vec<bool>) {
        // Items about the turn that follows will not be in the next summary, so they cover no statement.
        let lasting = self.chosen.iter().filter(|(_, candidate)| candidate.position < u64::MAX);
        let mut texts: Vec<&str> = lasting.map(|(_, candidate)| candidate.text.as_str()).collect();
        if self.kind == SummaryKind::TurnPrefix && style.with_turn.is_some() {
            // The history before the turn lists them.
            let milestones = ledger.statements.iter().filter(|one| one.voice == Voice::Milestone);
            texts.extend(milestones.map(|one| one.text.as_str()));
        }
        let request = self.chosen.iter().find(|(section, _)| *section == Section::OriginalRequest);
        if let Some((_, request)) = request {
            leave_out_request(&request.text, &ledger.statements, &mut noise);
        }
        let names = self.budget / 100 * NAMES_PERCENT;
        let units = self.left.saturating_sub(names);
        self.digest = Digest { ledger, units, style, checks }.items(&texts, noise);
        let mut used: usize = self.digest.iter().map(|item| cost(Section::CriticalContext, item)).sum();
        // Labels are only estimated while statements are chosen. If they took more room, the oldest
        // items are dropped.
        let excess = self.digest.iter().take_while(|item| {
            let is_over = used > self.left;
            used -= if is_over { cost(Section::CriticalContext, item) } else { 0 };
            is_over
        });
        let excess = excess.count();
        self.digest.drain(..excess);
        self.left = self.left.saturating_sub(used);
    }

    /// Gives the remaining room to the sections in turn, one item each. Actions have a share of it.
    fn take_rest(&mut self, lists: &mut [List]) {
        let is_quiet = self.left > self.budget / 100 * QUIET_PERCENT;
        let used = self.budget.saturating_sub(self.left);
        let least = (used / 5).clamp(LEAST_ACTIONS[0], LEAST_ACTIONS[1]);
        let mut actions = if is_quiet { (self.budget / 100 * ACTIONS_PERCENT).min(used / 6).max(least) } else { 0 };
        let mut has_more = true;
        while has_more {
            has_more = false;
            for list in &mut *lists {
                let Some(candidate) = list.next() else { continue };
                has_more = true;
                list.looked_at += 1;
                let cost = cost(list.section, &candidate.item());
                let is_action = candidate.rank == Rank::Least;
                if cost <= self.left && (!is_action || cost <= actions) {
                    actions = actions.saturating_sub(if is_action { cost } else { 0 });
                    self.take(list.section, candidate);
                }
            }
        }
    }

    /// Takes names that appear nowhere else.
    fn take_names(&mut self) {
        let items = self.chosen.iter().map(|(_, candidate)| candidate.text.as_str());
        let texts: Vec<&str> = items.chain(self.digest.iter().map(String::as_str)).collect();
        let budget = self.budget.saturating_sub(self.left);
        // The list of identifiers may use what the list of paths leaves of its share.
        let [paths, identifiers] = &mut self.name_lists;
        let mut room = self.left * 2 / 3;
        self.left -= room;
        paths.take(&texts, NAMES_PERCENT, budget, &mut room);
        self.left += room;
        identifiers.take(&texts, NAMES_PERCENT, budget, &mut self.left);
    }

    /// Takes the results of the newest calls if statements leave room, unless another item contains them.
    fn take_results(&mut self, ledger: &Ledger) {
        let mut results = Vec::new();
        let mut checks: HashSet<String> = HashSet::new();
        for result in ledger.results.iter().rev() {
            // Only the newest run of a check is current.
            if checks::key_of(&result.target).is_some_and(|key| !checks.insert(key)) {
                continue;
            }
            let item = format!("{SHOWED}{}: {}", quote(&result.target), result.text);
            let cost = cost(Section::CriticalContext, &item);
            if cost > self.left {
                continue;
            }
            let is_told = self.chosen.iter().any(|(_, candidate)| candidate.text.contains(&result.text))
                || self.digest.iter().any(|told| told.contains(&result.text));
            if !is_told {
                self.left -= cost;
                results.push(item);
            }
        }
        self.digest.extend(results.into_iter().rev());
    }

    fn take(&mut self, section: Section, candidate: Candidate) {
        self.left = self.left.saturating_sub(cost(section, &candidate.item()));
        self.chosen.push((section, candidate));
    }

    /// Sections are in order of position, except Next Steps, where the latest plan comes first. The
    /// digest and the lists of names are last.
    fn render(mut self) -> Sections {
        self.chosen.sort_by_key(|(section, candidate)| {
            let latest_first = if *section == Section::NextSteps { u64::MAX - candidate.position } else { 0 };
            (latest_first, candidate.position, candidate.sequence)
        });
        let mut sections = Sections::default();
        for (section, candidate) in &self.chosen {
            sections[*section].push(candidate.item());
        }
        let place = placed(self.kind, Section::CriticalContext);
        sections[place].extend(std::mem::take(&mut self.digest));
        sections[place].extend(self.name_lists.iter().filter_map(NameList::item));
        sections
    }
}

/// Most UTF-16 units that an item adds: its line, its line end, and the longest list number.
fn cost(section: Section, item: &str) -> usize {
    utf16_len(&render_item(section, 999, item)) + 1
}

/// Marks the statements of a person's first message whose terms are all in its `request`. Other messages may
/// repeat it for a reason.
fn leave_out_request(request: &str, statements: &[Statement], is_left_out: &mut [bool]) {
    let told = terms(request);
    let Some(position) = statements.iter().find(|one| one.voice == Voice::Person).map(|one| one.position) else {
        return;
    };
    for (statement, is_left_out) in statements.iter().zip(is_left_out) {
        if statement.voice == Voice::Person && statement.position == position {
            *is_left_out |= terms(&statement.text).all.is_subset(&told.all);
        }
    }
}

/// Leaves out the claims of a message that a person refuted, except the first one and those with a number, such as a version.
fn leave_out_refuted(statements: &[Statement], is_left_out: &mut [bool]) {
    let mut told = 0;
    let refuted = statements.iter().zip(is_left_out).filter(|(one, _)| one.voice == Voice::Refuted);
    for (one, is_left_out) in refuted {
        *is_left_out |= told == one.position && !one.text.contains(|one: char| one.is_ascii_digit());
        told = one.position;
    }
}

/// Longest introduction that says nothing by itself, in UTF-16 units.
const LONGEST_LEAD: usize = 80;

/// Leaves out the short introductions of the model without a name of which nothing that they introduce was chosen: `So
/// now:`. `chosen` has the indexes of statements, in order.
fn leave_out_introductions(statements: &[Statement], chosen: &mut Vec<(usize, f32)>) {
    let introduces = |at: usize| statements[at].is_of_model() && statements[at].text.ends_with(COLONS);
    let mut next: Option<usize> = None;
    let mut is_told: Vec<bool> = Vec::with_capacity(chosen.len());
    for (index, _) in chosen.iter().rev() {
        // Another introduction in between has what was chosen below it.
        let has_own = next.is_some_and(|next| {
            statements[next].position == statements[*index].position && !(index + 1..=next).any(introduces)
        });
        let text = statements[*index].text.as_str();
        let says_nothing = || utf16_len(text) <= LONGEST_LEAD && !has_name(text);
        let is_told_now = !introduces(*index) || has_own || !says_nothing();
        if is_told_now {
            next = Some(*index);
        }
        is_told.push(is_told_now);
    }
    let mut is_told = is_told.into_iter().rev();
    chosen.retain(|_| is_told.next().unwrap_or(true));
}

/// Longest heading before items, in bytes.
const LONGEST_FRAME: usize = 100;
/// Separates the sentences of two messages in an item.
const BETWEEN: &str = " \u{2026} ";
/// Longest item before the next statement begins a new one, in UTF-16 units.
const LONGEST_ITEM: usize = 700;

/// The input of a digest.
struct Digest<'a> {
    ledger: &'a Ledger,
    /// UTF-16 units that it may take.
    units: usize,
    style: &'a Style<'a>,
    /// The newest runs, including those of the turn after a history.
    checks: &'a Checks,
}

/// An item under construction.
struct Item {
    label: &'static str,
    position: u64,
    text: String,
    /// The statement that was added last.
    newest: String,
    entry: Option<EntryId>,
}

impl Digest<'_> {
    /// Its items, without the statements for which `left_out` is true. Statements that `others` already cover are
    /// repeated only if they add something.
    fn items(&self, others: &[&str], mut left_out: Vec<bool>) -> Vec<String> {
        let selection = Selection {
            units: self.units,
            half_life: (self.units / 2).max(1),
            focus: self.style.custom_instructions,
            quotes: MOST_QUOTES,
        };
        let rows = self.checks.rows(&self.ledger.statements);
        left_out.iter_mut().zip(&rows.replaced).for_each(|(is_noise, is_replaced)| *is_noise |= is_replaced);
        let reassigned = replaced(&self.ledger.statements);
        left_out.iter_mut().zip(&reassigned).for_each(|(is_noise, is_replaced)| *is_noise |= is_replaced);
        let discarded = discarded(&self.ledger.statements);
        left_out.iter_mut().zip(&discarded).for_each(|(is_noise, is_discarded)| *is_noise |= is_discarded);
        leave_out_refuted(&self.ledger.statements, &mut left_out);
        let mut chosen = selection.choose_among(self.ledger, others, &left_out);
        leave_out_introductions(&self.ledger.statements, &mut chosen);
        let is_chosen: HashSet<usize> = chosen.iter().map(|(index, _)| *index).collect();
        let mut items: Vec<Item> = Vec::new();
        let mut newest = 0;
        for (index, _) in chosen {
            let statement = &self.ledger.statements[index];
            let headed = || {
                let heading = heading_of(&self.ledger.statements, index)
                    .filter(|at| !is_chosen.contains(at) && !left_out[*at])?;
                Some(format!("{} {}", self.ledger.statements[heading].text, statement.text))
            };
            let changed = rows.changes.get(&index).map(|change| statement.text.clone() + change).or_else(headed);
            let refuted = || (statement.voice == Voice::Refuted).then(|| statement.text.clone() + REFUTED);
            let changed = changed.or_else(refuted).map(|text| Statement { text, ..statement.clone() });
            let statement = changed.as_ref().unwrap_or(statement);
            let before = std::mem::replace(&mut newest, index);
            match items.last_mut().filter(|last| last.takes(statement, self.ledger)) {
                Some(last) => {
                    let other = other_heading(&self.ledger.statements, before..index);
                    last.push_under(other, statement);
                }
                None => items.push(Item::of(statement)),
            }
        }
        items.into_iter().map(|item| item.finish(self.style.citations)).collect()
    }
}

impl Item {
    fn of(statement: &Statement) -> Self {
        let label = label(statement.voice);
        let text = format!("{label}{}", statement.text);
        let (position, newest) = (statement.position, statement.text.clone());
        Self { label, position, text, newest, entry: statement.sources.ids().first().cloned() }
    }

    /// Whether a statement continues the item. Each message of a person is an item of its own, and so is what follows
    /// it.
    fn takes(&self, statement: &Statement, ledger: &Ledger) -> bool {
        let is_own = statement.position == self.position
            || statement.voice != Voice::Person && !ledger.has_request_between(self.position, statement.position);
        is_own
            && label(statement.voice) == self.label
            && utf16_len(&self.text) + utf16_len(&statement.text) < LONGEST_ITEM
    }

    /// Adds a statement that comes under another heading than the one before it, if any.
    fn push_under(&mut self, heading: Option<&Statement>, statement: &Statement) {
        let heading = heading.filter(|heading| !statement.text.starts_with(heading.text.as_str()));
        if let Some(heading) = heading {
            self.push(heading);
        }
        self.push(statement);
    }

    fn push(&mut self, statement: &Statement) {
        // Sentences of two messages must not read as one thought.
        if statement.position > self.position && self.label == label(Voice::Report) {
            self.text.push_str(BETWEEN);
            self.text.push_str(&statement.text);
        } else {
            // A heading before several items is given once.
            let has_frame = statement.is_of_model() || statement.voice == Voice::Document;
            let own = if has_frame { own_words(&self.newest, &statement.text) } else { &statement.text };
            let is_under = own.len() < statement.text.len() && statement.text.starts_with(self.newest.as_str());
            if is_under && !self.newest.ends_with(COLONS) {
                self.text.push(':');
            }
            join(&mut self.text, own);
        }
        self.newest.clone_from(&statement.text);
        self.position = statement.position;
    }

    fn finish(self, cites: bool) -> String {
        match self.entry.filter(|_| cites) {
            Some(id) => format!("{} [entry {}]", self.text, short_id(&id)),
            None => self.text,
        }
    }
}

/// Most words of a list item that says little without its introduction.
const FRAGMENT_WORDS: usize = 5;
/// Longest such item, in UTF-16 units.
const LONGEST_FRAGMENT: usize = 48;
/// Longest introduction that is put before it, in UTF-16 units.
const LONGEST_INTRODUCTION: usize = 60;

/// The index of the statement that introduces the list of a short item, if only short items come between them.
fn heading_of(statements: &[Statement], index: usize) -> Option<usize> {
    let position = statements[index].position;
    let is_fragment = |one: &Statement| {
        one.is_of_model()
            && one.text.split_whitespace().count() <= FRAGMENT_WORDS
            && utf16_len(&one.text) <= LONGEST_FRAGMENT
            && !one.text.contains([':', '`', '\u{ff1a}'])
            && !one.text.ends_with(['.', '!', '?', '\u{3002}', '\u{ff01}', '\u{ff1f}'])
    };
    if !is_fragment(&statements[index]) {
        return None;
    }
    let mut before = (0..index).rev().take_while(|at| statements[*at].position == position);
    let heading = before.find(|at| !is_fragment(&statements[*at]))?;
    let text = &statements[heading].text;
    let introduces = text.ends_with(':') && utf16_len(text) <= LONGEST_INTRODUCTION;
    (introduces && statements[heading].is_of_model() && text.contains(' ')).then_some(heading)
}

/// Most statements between two chosen ones that are searched for a heading.
const MOST_BETWEEN: usize = 24;

/// The last introduction between two chosen statements of a message, if the first of them is, or comes under, another
/// one. Without it, an item would seem to belong to the other introduction.
fn other_heading(statements: &[Statement], between: Range<usize>) -> Option<&Statement> {
    let position = statements.get(between.start)?.position;
    let introduces = |one: &&Statement| {
        one.position == position
            && one.is_of_model()
            && one.text.ends_with([':', '\u{ff1a}'])
            && utf16_len(&one.text) <= LONGEST_INTRODUCTION
    };
    let is_in = statements.get(between.end).is_some_and(|one| one.position == position);
    if !is_in || between.len() > MOST_BETWEEN {
        return None;
    }
    let other = statements[between.start + 1..between.end].iter().rev().find(introduces)?;
    let mut before = statements[..=between.start].iter().rev().take(MOST_BETWEEN);
    before.any(|one| introduces(&one)).then_some(other)
}

/// The marks at the end of a heading.
const COLONS: [char; 2] = [':', '\u{ff1a}'];

/// A statement without the heading that the statement before it also has, or is.
fn own_words<'a>(before: &str, statement: &'a str) -> &'a str {
    let heading = before.trim_end_matches(COLONS);
    if let Some(own) = statement.strip_prefix(heading).and_then(|rest| rest.strip_prefix(": ")) {
        return own;
    }
    let same = before.bytes().zip(statement.bytes()).take(LONGEST_FRAME).take_while(|(one, other)| one == other);
    let end = memchr::memmem::rfind(&before.as_bytes()[..same.count()], b": ").map_or(0, |at| at + 2);
    &statement[end..]
}

/// The texts, one after the other.
pub(super) fn joined(texts: &[&str]) -> String {
    texts.iter().fold(String::new(), |mut all, text| {
        join(&mut all, text);
        all
    })
}

/// Adds a sentence, after a semicolon if the text so far does not end a sentence.
fn join(text: &mut String, sentence: &str) {
    let ends = ['.', '!', '?', ':', ';', ',', '\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{ff1a}', '\u{2026}'];
    if !text.is_empty() {
        text.push_str(if text.ends_with(ends) { " " } else { "; " });
    }
    text.push_str(sentence);
}

/// The label of an item, by its speaker.
fn label(voice: Voice) -> &'static str {
    match voice {
        Voice::Person => "User: ",
        Voice::Report | Voice::Remark | Voice::Announcement | Voice::Refuted => "Assistant: ",
        Voice::Action | Voice::Milestone => "Work: ",
        Voice::Quote => "Quoted: ",
        Voice::Document => "Written in ",
        Voice::Summary => "Earlier: ",
    }
}

const SEPARATOR: &str = ", ";
/// Most names of one kind. Later ones are used least or were used long ago.
const MOST_NAMES: usize = 20;

/// Names that are compared with the other items at once.
const BATCH: usize = 128;

/// A list of names, on one line.
struct NameList<'a> {
    label: &'static str,
    names: &'a [NameRecord],
    /// The names in statements that are noise.
    of_noise: Rc<HashSet<&'a str>>,
    taken: Vec<String>,
    used: usize,
}

impl<'a> NameList<'a> {
    /// The lists in the order of filling. `noise` says for each statement whether it is noise.
    fn of(ledger: &'a Ledger, noise: &[bool]) -> [Self; 2] {
        let mut of_noise = HashSet::new();
        for (one, _) in ledger.statements.iter().zip(noise).filter(|(_, is_noise)| **is_noise) {
            scan(&one.text, |_, name| {
                of_noise.insert(name);
            });
        }
        let of_noise = Rc::new(of_noise);
        let list = |label, names| Self { label, names, of_noise: of_noise.clone(), taken: Vec::new(), used: 0 };
        [list(PATHS, &ledger.paths), list(IDENTIFIERS, &ledger.identifiers)]
    }

    /// Takes names that are in none of `texts`, while they fit into `percent` of `budget` and into `left`.
    fn take(&mut self, texts: &[&str], percent: usize, budget: usize, left: &mut usize) {
        let allowed = budget / 100 * percent;
        for names in self.names.chunks(BATCH) {
            // A name that only a person wrote, and only in noise, is not used in the work.
            let is_of_noise =
                |name: &NameRecord| name.places == Places::PERSON && self.of_noise.contains(name.name.as_str());
            let names = names.iter().filter(|name| !is_noise(name) && !is_of_noise(name));
            let names: Vec<String> = names.map(|name| one_line(&name.name)).collect();
            let patterns = names.iter().map(|name| Pattern { text: name, is_word: true }).collect();
            let mut finder = Finder::new(patterns);
            texts.iter().for_each(|text| finder.search(text));
            let is_there = finder.found();
            for (name, _) in names.into_iter().zip(is_there).filter(|(_, is_there)| !is_there) {
                let is_first = self.taken.is_empty();
                let frame = if is_first { cost(Section::CriticalContext, self.label) } else { SEPARATOR.len() };
                let cost = utf16_len(&name) + frame;
                if self.used + cost > allowed || cost > *left || self.taken.len() >= MOST_NAMES {
                    return;
                }
                self.used += cost;
                *left -= cost;
                self.taken.push(name);
            }
        }
    }

    fn item(&self) -> Option<String> {
        (!self.taken.is_empty()).then(|| format!("{}{}", self.label, self.taken.join(SEPARATOR)))
    }
}

/// UTF-16 units to which cut items are extended, step by step. Many items grow a little before one grows much.
const STEPS: [usize; 3] = [160, 300, MOST_UNITS_OF_ONE];

impl Chooser<'_> {
    /// Lengthens the cut items with the remaining room, most important first. Very long ones, such as
    /// requests with a file in them, leave half of the budget free.
    fn lengthen(&mut self) {
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

/// An item in at most `units` UTF-16 units. A decision cannot be read if it ends within a clause; others are cut by `clip`.
fn clipped(section: Section, text: &str, units: usize, clip: impl Fn(&str, usize) -> String) -> String {
    if section == Section::Decisions { clip_clauses(text, units) } else { clip(text, units) }
}

/// An item that must not be left out in at most `units` UTF-16 units. Goal has little room, so a request is cut between
/// its sentences there. The request of a turn may hold lists, which order nothing by themselves.
fn cut(section: Section, text: &str, units: usize) -> String {
    match section {
        Section::Goal => clip_request(text, units),
        _ => clip_middle(text, units),
    }
}

fn lengthen(section: Section, candidate: &mut Candidate, most: usize, left: &mut usize) {
    let Some(whole) = &candidate.whole else { return };
    let longer =
        Candidate { text: clipped(section, whole, most, |text, units| cut(section, text, units)), ..candidate.clone() };
    let more = cost(section, &longer.item()).saturating_sub(cost(section, &candidate.item()));
    if more > 0 && more <= *left {
        *left -= more;
        *candidate = longer;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The statements of one answer.
    fn reported(texts: &[&str]) -> Vec<Statement> {
        let statement = |text: &&str| Statement {
            voice: Voice::Report,
            text: (*text).to_owned(),
            number: 0,
            position: 1,
            sources: Default::default(),
        };
        texts.iter().map(statement).collect()
    }

    #[test]
    fn an_item_under_another_introduction_has_that_one_before_it() {
        let texts = ["Check the lamp:", "open the hall", "set it to 1", "Check the stove:", "turn it", "The end."];
        let statements = reported(&texts);
        let other = |between| other_heading(&statements, between).map(|one| one.text.as_str());
        assert_eq!(other(1..4), Some("Check the stove:"));
        assert_eq!(other(0..2), None, "it is under the same one");
        assert_eq!(other(3..4), None, "the introduction itself is shown");
        assert_eq!(other(4..9), None);
        let mut item = Item::of(&statements[1]);
        item.push_under(Some(&statements[3]), &statements[4]);
        assert_eq!(item.text, "Assistant: open the hall; Check the stove: turn it");
    }

    #[test]
    fn an_introduction_without_its_list_is_left_out() {
        let texts = ["So now:", "one row", "It means:", "two rows", "In `menu.rs`:", "three rows", "And then:"];
        let statements = reported(&texts);
        let left = |chosen: &[usize]| {
            let mut chosen: Vec<(usize, f32)> = chosen.iter().map(|index| (*index, 1.0)).collect();
            leave_out_introductions(&statements, &mut chosen);
            chosen.into_iter().map(|(index, _)| index).collect::<Vec<_>>()
        };
        assert_eq!(left(&[0, 1, 2, 3, 4, 5]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(left(&[0, 2, 3, 4, 6]), [2, 3, 4], "the name says something by itself");
        assert_eq!(left(&[0, 3]), [3], "it is under another introduction");
    }

    #[test]
    fn the_page_lists_the_share_of_each_section() {
        // A package of this crate alone has no pages.
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        if !docs.is_dir() {
            return;
        }
        let page = std::fs::read_to_string(docs.join("summaries.md")).unwrap();
        for section in Section::ALL.into_iter().filter(|section| SummaryKind::History.has(*section)) {
            let row = format!("| {} | ", section.heading().trim_start_matches(['#', ' ']));
            let listed = page.lines().find_map(|line| line.strip_prefix(&row)?.split_once(" %"));
            let share = share(SummaryKind::History, section).percent.to_string();
            assert_eq!(listed.map(|(percent, _)| percent), Some(share.as_str()), "{row}");
        }
    }
}
