//! What people and models said: requests, constraints, decisions, next steps, names.

use std::borrow::Cow;
use std::collections::HashMap;

use super::cues::{decision_line, goal_line, is_constraint, is_decision, is_name, is_step, is_trivial};
use super::pool::{Pool, Rank};
use super::previous::{GO_ON, LATEST, NAMES, WORKING_ON};
use super::text::{normalised, one_line, quote, quoted, sentences};
use crate::summary::{Section, SummaryKind};

/// Messages of the model, counted from the end, whose plans still stand.
const RECENT_ANSWERS: usize = 3;
/// Names in one item.
const NAMES_PER_ITEM: usize = 8;
/// Names in all.
const MOST_NAMES: usize = 48;

/// What was heard so far.
#[derive(Default)]
pub(super) struct Speech<'a> {
    first_request: Option<(usize, Cow<'a, str>)>,
    last_request: Option<(usize, Cow<'a, str>)>,
    /// The latest answers with text.
    answers: Vec<(usize, Cow<'a, str>)>,
    /// Times and last position of every name in backticks.
    names: HashMap<String, (u64, usize)>,
    finished_at: Option<usize>,
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
            pool.add(Section::Goal, goal_line(&text), position, Rank::Normal);
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
        if text.trim().is_empty() {
            return;
        }
        for sentence in sentences(&text).filter(|sentence| is_decision(sentence)) {
            pool.add(Section::Decisions, decision_line(sentence), position, Rank::Normal);
        }
        self.note_names(position, &text);
        if self.answers.len() == RECENT_ANSWERS {
            self.answers.remove(0);
        }
        self.answers.push((position, text));
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
        match kind {
            SummaryKind::TurnPrefix => self.report_original_request(pool),
            SummaryKind::History | SummaryKind::Branch => self.report_requests(pool),
        }
        self.report_steps(pool);
        self.report_names(pool);
    }

    /// What began the turn must be there. How far it has come, the kept end of the turn tells.
    fn report_original_request(&self, pool: &mut Pool) {
        if let Some((position, request)) = self.first_request.as_ref().or(self.last_request.as_ref()) {
            pool.take(Section::Goal, |item| item.position == *position);
            pool.add(Section::Goal, request, *position, Rank::Must);
        }
    }

    fn report_requests(&self, pool: &mut Pool) {
        let Some((last_position, last)) = &self.last_request else {
            return;
        };
        // Where there is an earlier summary, its first goal is the request that began it all.
        let has_first = pool.has_must(Section::Goal);
        let last_line = one_line(last);
        // The latest request is shown once, as such.
        let key = normalised(&goal_line(last));
        pool.take(Section::Goal, |item| normalised(&item.text) == key);
        pool.add(Section::Goal, format!("{LATEST}{last_line}"), *last_position, Rank::Must);
        let is_known = has_first || self.first_request.as_ref().is_none_or(|(position, _)| position == last_position);
        if let Some((position, first)) = self.first_request.as_ref().filter(|_| !is_known) {
            pool.add(Section::Goal, goal_line(first), *position, Rank::Must);
        }
        if self.finished_at.is_none_or(|finished| finished < *last_position) {
            pool.add(Section::InProgress, format!("{WORKING_ON}{last_line}"), *last_position, Rank::Normal);
            pool.add(Section::NextSteps, GO_ON, *last_position, Rank::Normal);
        }
    }

    fn report_steps(&self, pool: &mut Pool) {
        let last_request = self.last_request.as_ref().map_or(0, |(position, _)| *position);
        for (position, answer) in self.answers.iter().filter(|(position, _)| *position >= last_request) {
            for sentence in sentences(answer).filter(|sentence| is_step(sentence)) {
                pool.add(Section::NextSteps, sentence, *position, Rank::Normal);
            }
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
