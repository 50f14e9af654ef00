//! What people and models said: requests, constraints, decisions, steps, answers.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::constraints::constraints;
use super::cues::{decision, goal_line, is_trivial};
use super::notes::{NoteKind, NoteList, SourcePosition};
use super::requests::Topics;
use super::sentences::{Part, is_prose, sentences};
use super::steps::explicit_steps;
use super::text::clip_middle;
use super::{Request, RequestWeight};
use crate::text::utf16_len;

/// UTF-16 units of the longest message that counts as typed. Longer ones may have pasted text.
const LONGEST_TYPED: usize = 420;
/// Sentences at either end of a message with pasted text that a person may have written.
const TYPED_AROUND: usize = 2;
/// Most sentences of one message that are checked for withdrawals.
const MOST_WITHDRAWING: usize = 200;
/// Latest answers whose plans still count.
const RECENT_ANSWERS: usize = 3;
/// Most UTF-16 units of a request that is not the last.
pub(super) const LONGEST_REQUEST: usize = 4000;
/// Most UTF-16 units of the last request. A longer one is a pasted file.
pub(super) const LONGEST_LAST_REQUEST: usize = 32_000;
/// Most requests that are kept: the first and the newest ones.
const MOST_REQUESTS: usize = 1000;

/// An answer of the model.
#[derive(Debug, Clone)]
struct Answer<'a> {
    place: SourcePosition<'a>,
    text: Cow<'a, str>,
}

/// What people and models have said so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Dialogue<'a> {
    pub(super) requests: Vec<Request>,
    topics: Topics,
    /// The latest answers with text.
    answers: VecDeque<Answer<'a>>,
    pub(super) answered: u64,
    /// Whether the newest answer waits for a tool.
    pub(super) is_waiting: bool,
}

/// Reads constraints and withdrawals of a person, sentence by sentence.
pub(super) fn read_constraints(place: SourcePosition<'_>, text: &str, notes: &mut NoteList) {
    let all: Vec<(&str, bool)> = sentences(text).map(|sentence| (sentence, is_prose(sentence))).collect();
    let typed = all.iter().filter(|(_, is_prose)| *is_prose).count();
    // If most of a message was pasted, the person wrote only at its beginning and end.
    let is_pasted = utf16_len(text) > LONGEST_TYPED && typed * 10 < all.len() * 6;
    let is_between = |at: usize| is_pasted && at >= TYPED_AROUND && at + TYPED_AROUND < all.len();
    let is_wish = |at: usize, sentence: &str, is_prose: bool| !is_between(at) && is_prose && !is_report(sentence);
    let wishes = all.iter().enumerate().filter(|(at, (sentence, is_prose))| is_wish(*at, sentence, *is_prose));
    for (number, (_, (sentence, _))) in wishes.enumerate() {
        // A withdrawal is compared with every constraint and decision, so their number is limited.
        if number < MOST_WITHDRAWING {
            notes.withdraw(sentence, place);
        }
        constraints(sentence).for_each(|wish| notes.add(NoteKind::Constraint, wish, place, false));
    }
}

/// Whether a sentence is a quoted error or warning.
fn is_report(sentence: &str) -> bool {
    let ends = |word: &str| ["error", "warning", "exception", "failed"].iter().any(|end| word.ends_with(end));
    let mut first = sentence.split_whitespace().take(3);
    first.any(|word| word.strip_suffix(':').is_some_and(|word| ends(&word.to_lowercase())))
}

impl<'a> Dialogue<'a> {
    pub(super) fn read_person(&mut self, place: SourcePosition<'a>, text: &str, notes: &mut NoteList) {
        if text.trim().is_empty() {
            return;
        }
        read_constraints(place, text, notes);
        let weight = if is_trivial(text) { RequestWeight::Reply } else { self.topics.weigh(text) };
        self.push_request(Request {
            text: text.to_owned(),
            position: place.position,
            weight,
            sources: place.sources(),
        });
    }

    /// Adds a request. The one before it is no longer the last and is cut if it is long.
    pub(super) fn push_request(&mut self, request: Request) {
        if let Some(last) = self.requests.last_mut().filter(|last| utf16_len(&last.text) > LONGEST_REQUEST) {
            last.text = clip_middle(&last.text, LONGEST_REQUEST);
        }
        let text = clip_middle(&request.text, LONGEST_LAST_REQUEST);
        self.requests.push(Request { text, ..request });
        if self.requests.len() > 2 * MOST_REQUESTS {
            self.requests.drain(1..=MOST_REQUESTS);
        }
    }

    /// Reads an extension's message. It has the role of a person's message but is not a request.
    pub(super) fn read_extension(&mut self, place: SourcePosition<'a>, text: &str, notes: &mut NoteList) {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        notes.add(NoteKind::Fact, &goal_line(first), place, true);
    }

    /// Adds the decisions in an answer.
    pub(super) fn add_decisions(&self, place: SourcePosition<'a>, parts: &[Part<'_>], notes: &mut NoteList) {
        for (item, has_reason) in parts.iter().flat_map(Part::sentences).filter_map(decision) {
            notes.add(NoteKind::Decision, &item, place, !has_reason);
        }
    }

    pub(super) fn read_model(&mut self, place: SourcePosition<'a>, text: Cow<'a, str>, stop: Option<&str>) {
        if stop == Some("stop") {
            self.answered = place.position;
        }
        self.is_waiting = stop == Some("toolUse");
        if text.trim().is_empty() {
            return;
        }
        if self.answers.len() == RECENT_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(Answer { place, text });
    }

    /// Adds the remaining steps that the newest answers name.
    pub(super) fn report(&self, notes: &mut NoteList) {
        let asked_at = self.requests.last().map_or(0, |request| request.position);
        let newest = || self.answers.iter().filter(|answer| answer.place.position >= asked_at);
        for answer in newest() {
            for step in explicit_steps(&answer.text) {
                notes.add(NoteKind::Step, step, answer.place, false);
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<Request> {
        if self.requests.len() > MOST_REQUESTS {
            let excess = self.requests.len() - MOST_REQUESTS;
            self.requests.drain(1..=excess);
        }
        self.requests
    }
}
