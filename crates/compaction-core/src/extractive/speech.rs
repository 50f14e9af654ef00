//! What people and models said: requests, constraints, decisions, next steps, names.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use super::budget::MOST_UNITS;
use super::cues::{decision, goal_line, is_constraint, is_name, is_trivial};
use super::pool::{Pool, Rank};
use super::previous::{ANSWER, GO_ON, LATEST, NAMES, WORKING_ON};
use super::requests::Requests;
use super::steps::{announced_steps, explicit_steps};
use super::text::{clip, clip_middle, gist, normalised, one_line, quote, quoted, sentences};
use crate::summary::{Section, SummaryKind};

/// Messages of the model, counted from the end, whose plans still stand.
const RECENT_ANSWERS: usize = 3;
/// Names in one item.
const NAMES_PER_ITEM: usize = 8;
/// Names in all.
const MOST_NAMES: usize = 48;

/// UTF-16 units of the latest request where it is told again.
const LONGEST_REPEAT: usize = 200;

/// An answer of the model.
struct Answer<'a> {
    position: usize,
    text: Cow<'a, str>,
    /// Whether it ended there, with no tool to wait for.
    is_final: bool,
}

/// What was heard so far.
#[derive(Default)]
pub(super) struct Speech<'a> {
    first_request: Option<(usize, Cow<'a, str>)>,
    last_request: Option<(usize, Cow<'a, str>)>,
    requests: Requests,
    /// The latest answers with text.
    answers: VecDeque<Answer<'a>>,
    /// Times and last position of every name in backticks.
    names: HashMap<String, (u64, usize)>,
    finished_at: Option<usize>,
    /// Whether the newest answer waits for a tool.
    is_waiting: bool,
}

impl<'a> Speech<'a> {
    pub(super) fn hear_person(&mut self, position: usize, text: Cow<'a, str>, pool: &mut Pool) {
        if text.trim().is_empty() {
            return;
        }
        for sentence in sentences(&text).filter(|sentence| is_constraint(sentence)) {
            pool.add(Section::Constraints, sentence, position, Rank::Normal);
        }
        self.note_names(position, &text);
        if !is_trivial(&text) {
            self.requests.hear(position, &text);
            self.first_request.get_or_insert_with(|| (position, text.clone()));
        }
        self.last_request = Some((position, text));
    }

    /// An extension's message stands where a person's does, but asks for nothing by itself.
    pub(super) fn hear_extension(&mut self, position: usize, text: Cow<'a, str>, pool: &mut Pool) {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        pool.add(Section::CriticalContext, goal_line(first), position, Rank::Low);
        self.note_names(position, &text);
    }

    pub(super) fn hear_model(&mut self, position: usize, text: Cow<'a, str>, stop: Option<&str>, pool: &mut Pool) {
        if stop == Some("stop") {
            self.finished_at = Some(position);
        }
        self.is_waiting = stop == Some("toolUse");
        if text.trim().is_empty() {
            return;
        }
        for (item, has_reason) in sentences(&text).filter_map(decision) {
            pool.add(Section::Decisions, item, position, if has_reason { Rank::Normal } else { Rank::Low });
        }
        self.note_names(position, &text);
        if self.answers.len() == RECENT_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(Answer { position, text, is_final: stop != Some("toolUse") });
    }

    /// The request that came last in an earlier summary; it is the latest until there is a newer.
    pub(super) fn recall_request(&mut self, request: String) {
        self.last_request.get_or_insert((0, Cow::Owned(request)));
    }

    /// Whether an answer was given to its end.
    pub(super) fn has_finished_turn(&self) -> bool {
        self.finished_at.is_some()
    }

    fn note_names(&mut self, position: usize, text: &str) {
        for name in quoted(text).filter(|name| is_name(name)) {
            match self.names.get_mut(name) {
                Some(seen) => *seen = (seen.0 + 1, position),
                None => {
                    self.names.insert(name.to_owned(), (1, position));
                }
            }
        }
    }

    /// Adds what only the whole conversation tells.
    pub(super) fn report(self, kind: SummaryKind, pool: &mut Pool) {
        self.requests.report(pool);
        match kind {
            SummaryKind::TurnPrefix => self.report_original_request(pool),
            SummaryKind::History | SummaryKind::Branch => self.report_requests(pool),
        }
        self.report_steps(kind, pool);
        self.report_answers(pool);
        self.report_names(pool);
    }

    /// What began the turn must be there. How far it has come, the kept end of the turn tells.
    fn report_original_request(&self, pool: &mut Pool) {
        if let Some((position, request)) = self.first_request.as_ref().or(self.last_request.as_ref()) {
            pool.take(Section::Goal, |item| item.position == *position);
            pool.add(Section::Goal, clip_middle(request, MOST_UNITS), *position, Rank::Must);
        }
    }

    fn report_requests(&self, pool: &mut Pool) {
        let Some((last_position, last)) = &self.last_request else {
            return;
        };
        // Where there is an earlier summary, its first goal is the request that began it all.
        let has_first = pool.any(Section::Goal, |item| item.rank == Rank::Must);
        let last_line = one_line(&clip_middle(last, MOST_UNITS));
        // The latest request is shown once, as such.
        let key = normalised(&goal_line(last));
        pool.take(Section::Goal, |item| normalised(&item.text) == key);
        pool.add(Section::Goal, format!("{LATEST}{last_line}"), *last_position, Rank::Must);
        let is_known = has_first || self.first_request.as_ref().is_none_or(|(position, _)| position == last_position);
        if let Some((position, first)) = self.first_request.as_ref().filter(|_| !is_known) {
            pool.add(Section::Goal, goal_line(first), *position, Rank::Must);
        }
        if self.is_unanswered(*last_position) {
            let item = format!("{WORKING_ON}{}", goal_line(last));
            pool.add(Section::InProgress, item, *last_position, Rank::Normal);
        }
    }

    /// Whether a request of these messages has no answer that was given to its end.
    fn is_unanswered(&self, position: usize) -> bool {
        position > 0 && (self.is_waiting || self.finished_at.is_none_or(|finished| finished < position))
    }

    /// Whether the latest request still waits for its answer's end.
    fn is_open(&self, pool: &Pool) -> bool {
        match &self.last_request {
            Some((0, _)) => pool.any(Section::InProgress, |item| item.text.starts_with(WORKING_ON)),
            Some((position, _)) => self.is_unanswered(*position),
            None => false,
        }
    }

    /// What the newest answers say is left; else what they announce and the open request itself.
    fn report_steps(&self, kind: SummaryKind, pool: &mut Pool) {
        let asked_at = self.last_request.as_ref().map_or(0, |(position, _)| *position);
        let newest = || self.answers.iter().filter(|answer| answer.position >= asked_at);
        let mut has_explicit = false;
        for answer in newest() {
            for step in explicit_steps(&answer.text) {
                has_explicit = true;
                pool.add(Section::NextSteps, step, answer.position, Rank::Normal);
            }
        }
        if has_explicit || kind == SummaryKind::TurnPrefix {
            return;
        }
        if let Some(answer) = newest().next_back() {
            announced_steps(&answer.text)
                .for_each(|step| pool.add(Section::NextSteps, step, answer.position, Rank::Low));
        }
        let has_failed = pool.any(Section::Blocked, |item| item.position > asked_at);
        if !has_failed && !self.is_open(pool) {
            return;
        }
        if let Some((_, request)) = &self.last_request {
            let step = format!("{GO_ON}{}", clip(&one_line(&clip_middle(request, MOST_UNITS)), LONGEST_REPEAT));
            pool.add(Section::NextSteps, step, usize::MAX, Rank::Normal);
        }
    }

    /// What the newest answers came to: those that were given to their end, and the newest in any case.
    fn report_answers(&self, pool: &mut Pool) {
        let newest = self.answers.back().map_or(0, |answer| answer.position);
        for answer in self.answers.iter().filter(|answer| answer.is_final || answer.position == newest) {
            pool.add(
                Section::CriticalContext,
                format!("{ANSWER}{}", gist(&answer.text)),
                answer.position,
                Rank::Normal,
            );
        }
    }

    fn report_names(&self, pool: &mut Pool) {
        let mut names: Vec<_> = self.names.iter().collect();
        // The most frequent ones, the newer first among equals; the name itself settles the rest.
        names.sort_by(|left, right| right.1.cmp(left.1).then_with(|| left.0.cmp(right.0)));
        names.truncate(MOST_NAMES);
        for names in names.chunks(NAMES_PER_ITEM) {
            let position = names.iter().map(|(_, (_, position))| *position).max().unwrap_or_default();
            let quoted: Vec<String> = names.iter().map(|(name, _)| quote(name)).collect();
            pool.add(Section::CriticalContext, format!("{NAMES}{}", quoted.join(", ")), position, Rank::Normal);
        }
    }
}
