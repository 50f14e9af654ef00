//! The sections of the notes: constraints, decisions, steps, and the notes of an abandoned branch.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::alike::{repeated, same_decisions, same_uses};
use super::done::LONG_SUMMARY;
use super::newest_answer::is_question;
use super::{Builder, OVERTAKEN_BY};
use crate::extractive::budget::MOST_UNITS;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::answers::is_assent;
use crate::ledger::bans::{forbids_any_deed, forbids_pointing, limits_answer};
use crate::ledger::choices::{is_process, stems};
use crate::ledger::constraints::{
    begins_with_use, clauses, forbids, gives_task, is_bound, is_constraint, lasts, names_it, orders_once, says_how_long,
};
use crate::ledger::contrasts::{chooses_otherwise, names_rejected};
use crate::ledger::cues::is_substantive;
use crate::ledger::limits::is_limit;
use crate::ledger::notes::{
    AGREED, CHOSE, DECIDED, DECLINED, FOR_THE_USER, LATER, LEFT_BRANCH, LOOKED_UP, OBJECTED, OF_PERSON, OFFERED,
    REFUSED, REJECTED, SHOWN_CODE, UNDID_WORK, WITHDRAWN, answered_with, key,
};
use crate::ledger::problems::is_conditional;
use crate::ledger::properties::{excludes, has_property};
use crate::ledger::requests::WORK;
use crate::ledger::rules::{begins_mission, holds_from_now_on, is_of_mission, listed_rules, only_goes_ahead};
use crate::ledger::stated::is_provisional;
use crate::ledger::steps::{addresses, is_of_person};
use crate::ledger::text::{first_words, one_line};
use crate::ledger::{Note, NoteKind, Request};
use crate::summary::{Section, SummaryKind};
use crate::text::utf16_len;

/// Goal has the whole request if it takes at most the room of a summary divided by this.
const WHOLE_GOAL_PART: usize = 3;
/// Most decisions that are listed.
const MOST_DECISIONS: usize = 14;
/// Number of them that come before other items.
const DECISIONS_FIRST: usize = 6;
/// Most undone attempts that are listed.
const MOST_UNDONE: usize = 2;
/// Number of newest messages in which they must be.
const UNDONE_WITHIN: u64 = 100;
/// Number of first words that are compared between an option and a step.
const LISTED_WORDS: usize = 3;
/// Number of later requests for work after which a demand inside a request is met.
const MET_AFTER: usize = 4;
/// Number of later requests for work after which a task beside a demand for all of something was carried out.
const CARRIED_OUT_AFTER: usize = 2;
/// Most messages between two decisions of an interview.
const INTERVIEW_WITHIN: u64 = 4;
/// Fewest rules of a list.
const FEWEST_LISTED: usize = 2;
/// Bytes of a request that are searched for what it asks for.
const ASKED_BYTES: usize = 600;

impl<'a> Builder<'a> {
    /// The notes, each in the section of its kind.
    pub(super) fn notes(&mut self) {
        let (mut repeated, mut stressed) = repeated(&self.ledger.notes);
        let same = same_decisions(&self.ledger.notes);
        let (same_uses, longest) = same_uses(&self.ledger.notes);
        repeated.retain(|note| !longest.contains(note));
        stressed.extend(longest);
        let question = self.waiting_question();
        let is_proposing = self.is_proposing();
        let is_asked_about = question.is_some_and(|question| self.asked_about(&question.text).is_some());
        let answered = self.answered_items();
        let told = self.told_decisions(&same);
        let (current, replaced) = self.listed();
        let mission = self.newest_mission();
        // A demand of the history may be lifted in the turn that follows it.
        let is_demand = |note: &&Note| note.kind == NoteKind::Constraint;
        let mut lifted: HashMap<u64, Vec<&Note>> = HashMap::new();
        if !std::ptr::eq(self.ledger, self.with_turn) {
            let demands = self.with_turn.notes.iter().filter(is_demand);
            demands.for_each(|note| lifted.entry(note.position).or_default().push(note));
        }
        let later = self.later_words();
        let mut demands: HashMap<u64, Vec<&str>> = HashMap::new();
        let long_lists = self.long_lists();
        for note in &self.ledger.notes {
            let own = lifted.get(&note.position).filter(|_| is_demand(&note)).into_iter().flatten();
            let newer = own.copied().find(|newer| newer.text.starts_with(&note.text));
            let note = newer.filter(|newer| newer.is_withdrawn || newer.text.contains(LATER)).unwrap_or(note);
            if note.is_withdrawn {
                self.pool.add(
                    Section::CriticalContext,
                    &format!("{WITHDRAWN}{}", note.text),
                    Origin::of(note.position, &note.sources),
                    Rank::Low,
                );
                continue;
            }
            let section = match note.kind {
                _ if note.text.starts_with(LEFT_BRANCH) => self.section_of_branch(note.kind),
                // How far the request goes is told beside it, too.
                NoteKind::Constraint if self.is_in_goal(note) && !is_limit(&note.text) => continue,
                NoteKind::Constraint if self.kind == SummaryKind::TurnPrefix && is_limit(&note.text) => continue,
                // It stands behind the demand that it changes.
                NoteKind::Constraint if later.contains(note.text.as_str()) && !lasts(&note.text) => continue,
                // It belonged to work that was undone.
                NoteKind::Constraint if self.undone.has(note.position) && !lasts(&note.text) => continue,
                // It belonged to a conversation that the person ended.
                NoteKind::Constraint if self.is_of_ended(note.position) && !lasts(&note.text) => continue,
                // It was for a part of the work after which another one began.
                NoteKind::Constraint if self.is_of_ended_mission(note, mission) => continue,
                // A longer demand wants the same thing, among others.
                NoteKind::Constraint if same_uses.contains(&std::ptr::from_ref(note)) => continue,
                // It limited a request that is closed.
                NoteKind::Constraint if is_bound(&note.text) && self.requests_since(note) > 0 => continue,
                // It was for one request, and the person ordered work since.
                NoteKind::Constraint if self.is_ban_over(note) => continue,
                // It described how to do a task that is closed.
                NoteKind::Constraint
                    if self.is_over_with_task(note)
                        && !stressed.contains(&std::ptr::from_ref(note))
                        && !current.contains(&std::ptr::from_ref(note)) =>
                {
                    continue;
                }
                // It was a task that was carried out.
                NoteKind::Constraint
                    if self.is_carried_out(note)
                        && !has_property(&note.text)
                        && !stressed.contains(&std::ptr::from_ref(note))
                        && !current.contains(&std::ptr::from_ref(note)) =>
                {
                    continue;
                }
                // It was a task, and what was made for it is there.
                NoteKind::Constraint
                    if self.is_made_to_measure(note) && !stressed.contains(&std::ptr::from_ref(note)) =>
                {
                    continue;
                }
                // A newer order has its own list of rules.
                NoteKind::Constraint if replaced.contains(&std::ptr::from_ref(note)) => continue,
                NoteKind::Constraint => Section::Constraints,
                NoteKind::Decision if self.is_decision_undone(note) => continue,
                // The history before the turn lists them.
                NoteKind::Decision if !self.tells_state => continue,
                NoteKind::Decision if !told.contains_key(&std::ptr::from_ref(note)) => continue,
                NoteKind::Decision => Section::Decisions,
                NoteKind::Done if self.is_undone(note) || note.text == LOOKED_UP => continue,
                // The changed files say what became of the code in answers.
                NoteKind::Done if note.text.starts_with(SHOWN_CODE) && self.with_turn.changed_at() > 0 => continue,
                NoteKind::Done => Section::Done,
                NoteKind::Open => Section::InProgress,
                NoteKind::Blocked => Section::Blocked,
                NoteKind::Step if self.kind == SummaryKind::TurnPrefix => continue,
                // Steps that the answer lists are not listed again as its options.
                NoteKind::Step if self.is_listed(note) => continue,
                // The request of the turn answers it, or the model continued without an answer.
                NoteKind::Step if (self.turn.is_some() || self.goes_on) && is_asking(&note.text) => continue,
                NoteKind::Step if self.is_overtaken(note) || is_report(&note.text) => continue,
                // The person has read this instruction and has asked for something else.
                NoteKind::Step if is_of_person(&note.text) && self.is_replied_to(note) => continue,
                // What was said about a case is over once the person wrote again.
                NoteKind::Step if is_conditional(&note.text) && self.is_replied_to(note) => continue,
                // It is listed as the question that waits for an answer.
                NoteKind::Step if question.is_some_and(|question| question.text == note.text) => continue,
                NoteKind::Step if is_proposing && self.is_proposed(note) => continue,
                // The question tells the whole list.
                NoteKind::Step if is_asked_about && note.position == self.ledger.newest_answer.position => continue,
                NoteKind::Step if self.is_argument(note) => continue,
                NoteKind::Step if self.is_before_work(note) => continue,
                NoteKind::Step => Section::NextSteps,
                NoteKind::Fact => Section::CriticalContext,
            };
            let origin = Origin { position: note.position, times: note.times, sources: Some(&note.sources) };
            let finished = answered.get(note.text.as_str());
            let rank = match note.is_minor {
                _ if let Some((_, rank)) = finished => *rank,
                _ if repeated.contains(&std::ptr::from_ref(note)) => Rank::Least,
                // It is among the statements.
                _ if note.kind == NoteKind::Constraint
                    && !stressed.contains(&std::ptr::from_ref(note))
                    && !current.contains(&std::ptr::from_ref(note))
                    && self.is_met(note) =>
                {
                    if has_property(&note.text) {
                        Rank::Low
                    } else {
                        Rank::Least
                    }
                }
                // Rules that last come first. In a small summary, so do the statements.
                _ if note.kind == NoteKind::Constraint && is_only_property(&note.text) => {
                    if self.units < LONG_SUMMARY && self.kind == SummaryKind::History && !self.goes_on {
                        Rank::Least
                    } else {
                        Rank::Low
                    }
                }
                // The Goal has it.
                _ if note.kind == NoteKind::Constraint
                    && self.is_of_latest(note)
                    && !lasts(&note.text)
                    && !is_limit(&note.text) =>
                {
                    Rank::Low
                }
                // A list has many points with such words. Its bans come first.
                _ if note.kind == NoteKind::Constraint
                    && long_lists.contains(&note.position)
                    && !forbids(&note.text)
                    && !says_how_long(&note.text, false) =>
                {
                    Rank::Low
                }
                _ if note.kind == NoteKind::Decision && tells_process(note) => Rank::Low,
                _ if told.get(&std::ptr::from_ref(note)).is_some_and(|place| *place >= DECISIONS_FIRST) => Rank::Low,
                _ if note.kind == NoteKind::Decision && self.is_of_ended(note.position) => Rank::Low,
                true => Rank::Low,
                false => Rank::Normal,
            };
            // The name of the option is enough to say how the work continues.
            let text = if chooses_process(note) { option_name(&note.text) } else { &note.text };
            let text = finished.map_or(text, |(item, _)| item.as_str());
            let is_told = || ![FOR_THE_USER, OFFERED].iter().any(|start| text.starts_with(start)) && !is_asking(text);
            let for_user = note.kind == NoteKind::Step && is_told() && addresses(text);
            let start = if for_user { FOR_THE_USER } else { "" };
            if section == Section::Constraints && self.kind == SummaryKind::History {
                demands.entry(note.position).or_default().push(&note.text);
            }
            self.pool.add(section, &format!("{start}{text}"), origin, rank);
        }
        self.rest_of_lists(&demands);
        for note in self.decisions_of_turn().filter(|note| told.contains_key(&std::ptr::from_ref(*note))) {
            let origin = Origin { position: note.position, times: note.times, sources: Some(&note.sources) };
            let rank = if note.is_minor { Rank::Low } else { Rank::Normal };
            self.pool.add(Section::Decisions, &note.text, origin, rank);
        }
    }

    /// Whether the Goal of a turn without a history, which has the whole request, contains a demand.
    fn is_in_goal(&self, demand: &Note) -> bool {
        if !self.goes_on {
            return false;
        }
        self.latest().filter(|latest| utf16_len(&latest.text) <= MOST_UNITS).is_some_and(|latest| {
            let goal = one_line(&latest.text);
            utf16_len(&goal) * WHOLE_GOAL_PART <= self.units && goal.contains(&one_line(&demand.text))
        })
    }

    /// The decisions of the turn that follows.
    fn decisions_of_turn(&self) -> impl Iterator<Item = &'a Note> + use<'a> {
        let (with_turn, before) = (self.with_turn, self.ledger.messages);
        with_turn.notes_of(NoteKind::Decision).filter(move |note| note.position > before)
    }

    /// The newest decisions that are listed, with their rank by importance: those with reasons and those of people come
    /// first. `same` are those that a newer one repeats.
    fn told_decisions(&self, same: &HashSet<*const Note>) -> HashMap<*const Note, usize> {
        let demands: HashSet<String> = self.ledger.notes_of(NoteKind::Constraint).map(|note| key(&note.text)).collect();
        let is_demand =
            |note: &Note| note.text.strip_prefix(DECIDED).is_some_and(|words| demands.contains(&key(words)));
        let decisions = || self.with_turn.notes_of(NoteKind::Decision).filter(|note| !note.is_withdrawn);
        let rejecting: Vec<&Note> = decisions().filter(|note| names_rejected(&note.text)).collect();
        let is_overruled = |note: &Note| {
            let later = rejecting.iter().filter(|later| later.position > note.position);
            later.into_iter().any(|later| chooses_otherwise(&later.text, &note.text))
        };
        let is_told = |note: &&Note| {
            !note.is_withdrawn
                && !note.text.starts_with(LEFT_BRANCH)
                && !same.contains(&std::ptr::from_ref(*note))
                && !self.is_decision_undone(note)
                && !is_demand(note)
                && !is_overruled(note)
                && !self.is_process_over(note)
                && !self.is_choice_over(note)
                && !self.is_refusal_over(note)
                && !self.is_provisional_over(note)
                && !answered_with(&note.text).is_some_and(|(words, question)| only_goes_ahead(words, question))
                && !self.is_told_by_goal(note)
                // A choice of the model without a reason was for the work that ended.
                && !(note.is_minor && self.is_of_ended(note.position) && !note.text.starts_with(OF_PERSON))
        };
        let own = self.ledger.notes_of(NoteKind::Decision).chain(self.decisions_of_turn());
        let mut told: Vec<&Note> = own.filter(is_told).collect();
        told.sort_by_key(|note| (note.is_minor || tells_process(note), Reverse(note.position)));
        // Only the newest undone attempts show what to avoid.
        let mut undone = 0;
        told.retain(|note| {
            undone += usize::from(note.text.starts_with(UNDID_WORK));
            !note.text.starts_with(UNDID_WORK)
                || undone <= MOST_UNDONE && note.position + UNDONE_WITHIN > self.ledger.messages
        });
        told.into_iter().take(MOST_DECISIONS).map(std::ptr::from_ref).zip(0..).collect()
    }

    /// Whether a decision has the words of the latest request, which Goal contains with the question that it answers.
    fn is_told_by_goal(&self, note: &Note) -> bool {
        let is_own = note.text.starts_with(REJECTED) || note.text.starts_with(OBJECTED);
        let decided = || note.text.strip_prefix(DECIDED).filter(|_| !is_own);
        let answered = answered_with(&note.text).map(|(words, _)| words).or_else(decided);
        if !is_own && answered.is_none() {
            return false;
        }
        let turn = self.turn_request.filter(|turn| is_substantive(turn) && !self.is_answer && !is_assent(turn));
        let is_latest = match turn {
            Some(_) => note.position > self.ledger.messages,
            None => self.latest().is_some_and(|latest| latest.position == note.position),
        };
        let request = turn.or_else(|| self.latest().map(|latest| latest.text.as_str()));
        let is_same = |words: &str| request.is_some_and(|request| one_line(request) == words);
        is_latest && (is_own || answered.is_some_and(is_same))
    }

    /// Whether a person chose how the work continues, and later asked for other work.
    fn is_process_over(&self, note: &Note) -> bool {
        (chooses_process(note) || tells_process(note)) && {
            let later = self.ledger.requests.iter().rev().take_while(|request| request.position > note.position);
            later.map(|request| request.text.as_str()).chain(self.turn_request).any(is_substantive)
        }
    }

    /// Whether a person chose one of several ways and later one of other ones. What was to be done then is done or overruled.
    fn is_choice_over(&self, note: &Note) -> bool {
        let chosen = |one: &&Note| one.text.starts_with(CHOSE) && !one.is_withdrawn && !chooses_process(one);
        let newest = || self.with_turn.notes_of(NoteKind::Decision).filter(chosen).map(|one| one.position).max();
        note.text.starts_with(CHOSE)
            && newest().is_some_and(|newest| newest > note.position)
            && !self.is_of_interview(note)
    }

    /// Whether a person decided something else right before or after a choice, as in an interview. Such choices stand
    /// beside each other.
    fn is_of_interview(&self, choice: &Note) -> bool {
        let decides = |note: &&Note| {
            let starts = [CHOSE, AGREED, REFUSED].iter().any(|start| note.text.starts_with(start));
            (starts || answered_with(&note.text).is_some()) && !chooses_process(note) && !tells_process(note)
        };
        let is_near = |note: &Note| {
            let distance = note.position.abs_diff(choice.position);
            distance > 0 && distance <= INTERVIEW_WITHIN
        };
        choice.position > 0 && self.with_turn.notes_of(NoteKind::Decision).filter(decides).any(is_near)
    }

    /// Whether a person refused a call that was made, or refused again, in the turn that follows.
    fn is_refusal_over(&self, note: &Note) -> bool {
        let is_same = |one: &Note| one.text == note.text;
        note.text.starts_with(DECLINED) && !self.with_turn.notes_of(NoteKind::Decision).any(is_same)
    }

    /// Whether the model chose something for a time, and the person asked for what the choice speaks of later, for which
    /// files changed.
    fn is_provisional_over(&self, note: &Note) -> bool {
        if note.text.starts_with(OF_PERSON) || !is_provisional(&note.text) {
            return false;
        }
        let known = stems(&note.text);
        let changed_at = self.with_turn.changed_at();
        let is_later = |request: &&Request| request.position > note.position && request.position < changed_at;
        let speaks = |request: &Request| stems(clipped(&request.text)).iter().any(|stem| known.contains(stem));
        self.with_turn.requests.iter().rev().take_while(|one| one.position > note.position).filter(is_later).any(speaks)
    }

    /// The rules in an order's newest list of rules, and the rules of older lists that it replaces. If several lists
    /// contain a rule, the newest one keeps it.
    fn listed(&self) -> (HashSet<*const Note>, HashSet<*const Note>) {
        let list = |request: &Request| -> Option<(u64, HashSet<String>)> {
            let keys: HashSet<String> = listed_rules(&request.text).map(key).collect();
            (keys.len() >= FEWEST_LISTED).then_some((request.position, keys))
        };
        let lists: Vec<_> = self.with_turn.requests.iter().filter_map(list).collect();
        let Some((newest, _)) = lists.last() else { return Default::default() };
        let (mut current, mut replaced) = (HashSet::new(), HashSet::new());
        for note in self.ledger.notes_of(NoteKind::Constraint) {
            let key = key(note.text.split(LATER).next().unwrap_or_default());
            let is_own = |(position, keys): &&(u64, HashSet<String>)| *position == note.position && keys.contains(&key);
            if !lists.iter().any(|list| is_own(&list)) {
                continue;
            }
            let start = key.trim_end();
            let says = |other: &String| other.starts_with(start) || start.starts_with(other.trim_end());
            let (mut before, mut behind) = (false, false);
            for (position, keys) in lists.iter().filter(|(position, _)| *position != note.position) {
                let is_said = keys.iter().any(says);
                (before, behind) =
                    (before || is_said && *position < note.position, behind || is_said && *position > note.position);
            }
            match note.position == *newest || before && !behind {
                true => current.insert(std::ptr::from_ref(note)),
                false => replaced.insert(std::ptr::from_ref(note)),
            };
        }
        (current, replaced)
    }

    /// Whether a step lists options that are also steps of their own.
    fn is_listed(&self, step: &Note) -> bool {
        let options = step.text.strip_prefix(OFFERED);
        let first = options.and_then(|options| options.split_once(". ")).map(|(_, first)| first);
        let words = |text: &str| first_words(text, LISTED_WORDS);
        let is_same = |one: &&Note| one.position == step.position && !std::ptr::eq(*one, step);
        let mut others = self.ledger.notes_of(NoteKind::Step).filter(is_same);
        first.is_some_and(|first| others.any(|other| words(&other.text) == words(first)))
    }

    /// Whether the person wrote again after an answer named a step.
    fn is_replied_to(&self, step: &Note) -> bool {
        step.position > 0
            && (self.turn_request.is_some()
                || self.ledger.last_request().is_some_and(|last| last.position > step.position))
    }

    /// Whether [`OVERTAKEN_BY`] requests for work came after an answer named a step. The first one usually asks for the
    /// step.
    pub(super) fn is_overtaken(&self, step: &Note) -> bool {
        step.position > 0 && self.requests_since(step) >= OVERTAKEN_BY
    }

    /// The number of requests for work after a note.
    fn requests_since(&self, note: &Note) -> usize {
        let later = self.ledger.requests.iter().rev().take_while(|request| request.position > note.position);
        let later = later.filter(|request| is_substantive(&request.text)).count();
        later + self.turn_request.filter(|turn| is_substantive(turn)).into_iter().count()
    }

    /// Whether a demand is a part of the latest request, which the Goal tells.
    fn is_of_latest(&self, demand: &Note) -> bool {
        self.turn_request.is_none() && self.latest().is_some_and(|latest| latest.position == demand.position)
    }

    /// Whether a demand was for one part of the work, and the person began another part later.
    fn is_of_ended_mission(&self, demand: &Note, newest_mission: u64) -> bool {
        if newest_mission <= demand.position || !is_of_mission(&demand.text) {
            return false;
        }
        let own = self.with_turn.requests.iter().rev().find(|request| request.position <= demand.position);
        // A request that is no longer stored is not known.
        own.is_none_or(|own| own.position != demand.position || begins_mission(&own.text))
    }

    /// Position of the newest request that begins a part of the work; 0 if there is none.
    fn newest_mission(&self) -> u64 {
        let begins = |request: &&Request| begins_mission(&request.text) && has_steps(&request.text);
        self.with_turn.requests.iter().rev().find(begins).map_or(0, |request| request.position)
    }

    /// Whether a demand was part of a request that is done: [`MET_AFTER`] requests for work came after it, and it does
    /// not say that it applies beyond that request.
    fn is_met(&self, demand: &Note) -> bool {
        demand.position > 0 && self.requests_since(demand) >= MET_AFTER && !lasts(&demand.text)
    }

    /// Whether a demand inside a message with a task ended with that task, because it does not say that it applies
    /// beyond it. What to use for the task ends with the next request; other demands end after [`MET_AFTER`] requests.
    /// The name of what is made stays.
    fn is_over_with_task(&self, demand: &Note) -> bool {
        let since = self.requests_since(demand);
        let most = if begins_with_use(&demand.text) { 1 } else { MET_AFTER };
        let own = || self.ledger.requests.iter().rev().find(|request| request.position <= demand.position);
        let request = || own().filter(|one| one.position == demand.position).map(|one| one.text.as_str());
        // Among the numbered steps of a task, only a ban or words for how long make a rule.
        let lasts = |text: &str| match request().is_some_and(has_steps) {
            true if !begins_with_use(text) => forbids(text) || says_how_long(text, false) || holds_from_now_on(text),
            _ => lasts(text),
        };
        let of_task = || request().is_some_and(|text| gives_task(text) || has_steps(text));
        since >= most && !lasts(&demand.text) && !names_it(&demand.text) && !has_property(&demand.text) && of_task()
    }

    /// Whether a demand gives a task besides, and its request was answered, or many came since.
    fn is_carried_out(&self, demand: &Note) -> bool {
        demand.position > 0 && self.is_closed_for(demand) && orders_once(&demand.text)
    }

    /// Whether a demand begins with a task, says what its result is to be like, and its request was answered before
    /// [`CARRIED_OUT_AFTER`] other ones came.
    fn is_made_to_measure(&self, demand: &Note) -> bool {
        let own = || self.ledger.requests.iter().rev().find(|request| request.position == demand.position);
        demand.position > 0
            && self.requests_since(demand) >= CARRIED_OUT_AFTER
            && clauses(&demand.text).any(|clause| WORK.begins(clause))
            && has_property(&demand.text)
            && !excludes(&demand.text)
            && !forbids(&demand.text)
            && !says_how_long(&demand.text, false)
            && !holds_from_now_on(&demand.text)
            && own().is_some_and(|request| request.is_answered)
    }

    /// The words that stand behind demands that are listed.
    fn later_words(&self) -> HashSet<&'a str> {
        let later = |note: &'a Note| note.text.split_once(LATER)?.1.strip_suffix("\")");
        let is_over = |note: &Note| self.is_over_with_task(note) || self.is_carried_out(note) || self.is_met(note);
        let standing = self.ledger.notes_of(NoteKind::Constraint).filter(|note| !note.is_withdrawn);
        standing.filter(|note| later(note).is_some() && !is_over(note)).filter_map(later).collect()
    }

    /// Whether a ban without any word for how long it holds belonged to its request: it forbade any deed, and files
    /// changed for a later request, or it only points at something, and its request is closed.
    fn is_ban_over(&self, demand: &Note) -> bool {
        let mut later = self.with_turn.requests.iter().filter(|request| is_substantive(&request.text));
        let next = later.find(|request| request.position > demand.position);
        let Some(next) = next.filter(|_| demand.position > 0) else { return false };
        forbids_any_deed(&demand.text) && self.with_turn.changed_at() > next.position
            || (forbids_pointing(&demand.text) || limits_answer(&demand.text)) && self.is_closed_for(demand)
    }

    /// Whether the request with a demand was answered and another one followed, or several did.
    fn is_closed_for(&self, demand: &Note) -> bool {
        let since = self.requests_since(demand);
        let own = || self.ledger.requests.iter().rev().find(|request| request.position == demand.position);
        since >= CARRIED_OUT_AFTER || since > 0 && own().is_some_and(|request| request.is_answered)
    }

    /// The section of an item of an abandoned branch. The summary of a branch is all about such a branch, so the item keeps
    /// its section there. In other summaries it is context.
    fn section_of_branch(&self, kind: NoteKind) -> Section {
        match kind {
            _ if self.kind != SummaryKind::Branch => Section::CriticalContext,
            NoteKind::Blocked => Section::Blocked,
            NoteKind::Step => Section::NextSteps,
            NoteKind::Open => Section::InProgress,
            _ => Section::Goal,
        }
    }
}

/// Whether a demand only says what something must be like.
fn is_only_property(demand: &str) -> bool {
    has_property(demand) && !is_constraint(demand) && !lasts(demand)
}

/// Whether a request has numbered steps.
fn has_steps(request: &str) -> bool {
    let is_step = |line: &&str| {
        let digits = line.len() - line.trim_start_matches(|one: char| one.is_ascii_digit()).len();
        digits > 0 && line[digits..].starts_with(". ")
    };
    request.lines().filter(is_step).count() >= FEWEST_LISTED
}

/// The beginning of a request, where it says what it asks for.
fn clipped(request: &str) -> &str {
    &request[..request.floor_char_boundary(ASKED_BYTES)]
}

/// Whether an item in a list of steps says what was done.
fn is_report(step: &str) -> bool {
    ["I've ", "I have ", "We've ", "We have "].iter().any(|start| step.starts_with(start))
}

/// Whether a step asks the person something.
pub(super) fn is_asking(step: &str) -> bool {
    is_question(step) || step.starts_with(OFFERED)
}

/// Whether a person chose an option that only says how the work continues.
fn chooses_process(decision: &Note) -> bool {
    decision.text.strip_prefix(CHOSE).is_some_and(is_process)
}

/// The name of a chosen option, without its description.
fn option_name(item: &str) -> &str {
    let end = [" \u{2014} ", " \u{2013} ", " - "].iter().filter_map(|dash| item.find(dash)).min();
    &item[..end.unwrap_or(item.len())]
}

/// Whether a person's own words only say how the work continues. It is done at once.
fn tells_process(decision: &Note) -> bool {
    answered_with(&decision.text).is_some_and(|(words, _)| is_process(words))
}
