//! The goal: what the person wants now, and the aim that it belongs to.

use super::next_steps::is_document;
use super::{Builder, Candidates, LONGEST_FIRST, MOST_UNITS, asks, origin};
use crate::extractive::Turn;
use crate::extractive::pool::Rank;
use crate::ledger::closed_requests::{accepts, reopens};
use crate::ledger::cues::{goal_line, is_substantive, typed};
use crate::ledger::notes::{AT_FIRST, DONE_WITH, THEN};
use crate::ledger::requests::{is_quoted, is_telling};
use crate::ledger::statements::{is_prose, sentences};
use crate::ledger::templates::task;
use crate::ledger::text::{clip, clip_middle, one_line};
use crate::ledger::{Ledger, Note, NoteKind, Request};
use crate::summary::Section;
use crate::text::utf16_len;
use crate::tools::PlanStatus;

/// Requests in a row without an answer that was accepted which are too many for tries of one request.
const LONGEST_CHAIN: usize = 7;
/// Most UTF-16 units of that one, which the latest request says again or changes.
const LONGEST_AIM: usize = 240;
/// Most sentences of a request that are compared.
const MOST_SENTENCES: usize = 200;

impl Candidates {
    /// The request of a turn. A message that only repeats the newest answer of the history, as agents write that hand
    /// it to another model, stands for the request that this answer is for.
    pub(super) fn request_of<'a>(turn: &'a Turn, ledger: &'a Ledger) -> &'a str {
        let asked = ledger.requests.iter().rev().find(|request| request.asks_for_work());
        let is_answer = |asked: &&Request| {
            ledger.newest_answer.position > asked.position && is_quoted(turn.request.trim(), &ledger.newest_answer.text)
        };
        asked.filter(is_answer).map_or(turn.request.as_str(), |asked| asked.text.as_str())
    }
}

impl<'a> Builder<'a> {
    /// The requests that came before the latest one: the aim that it belongs to, the first one, and the one that began
    /// what the newest statements are about. Those that are answered are named as what they are.
    pub(super) fn earlier_goals(&mut self, is_latest: impl Fn(&Request) -> bool) {
        let aim = self.unanswered().filter(|aim| !is_latest(aim));
        if let Some(aim) = aim {
            let item = asked(&aim.text, LONGEST_AIM);
            self.pool.add(Section::Goal, &item, origin(aim), Rank::Must);
        }
        let is_aim = |request: &Request| aim.is_some_and(|aim| aim.position == request.position);
        // What came before an answered request was done or dropped.
        let before = self.latest().map_or(u64::MAX, |latest| latest.position);
        let requests = self.ledger.requests.iter().rev().filter(|one| one.asks_for_work());
        let mut answered = requests.filter(|one| one.position < before || self.turn_request.is_some());
        let answered = answered.find(|one| self.is_answered(one)).map_or(0, |one| one.position);
        let is_past = |request: &Request| request.position <= answered && answered > 0;
        let begun = self.requests_since_reset().iter().find(|request| is_substantive(&request.text));
        let first = self.first_request();
        if let Some(first) = first.filter(|first| !is_latest(first) && !is_aim(first)) {
            let is_begun = begun.is_none_or(|begun| begun.position == first.position);
            match is_past(first) {
                // The first one tells what the conversation was begun for.
                true if is_begun => {
                    let item = format!("{AT_FIRST}{}", goal_line(&first.text));
                    self.pool.add(Section::Goal, &item, origin(first), Rank::Must);
                }
                // A short one only takes up what came before it.
                true if !is_telling(&first.text) => {}
                true => {
                    let item = format!("{THEN}{}", goal_line(&first.text));
                    self.pool.add(Section::Goal, &item, origin(first), Rank::Normal);
                }
                false => {
                    let whole = typed(task(&first.text).unwrap_or(&first.text), MOST_UNITS);
                    self.pool.add_cut(Section::Goal, &goal_line(&first.text), Some(whole), origin(first), Rank::Must);
                }
            }
        }
        let is_first = |request: &Request| first.is_some_and(|first| first.position == request.position);
        if let Some(begun) = begun.filter(|begun| !is_first(begun) && !is_aim(begun) && !is_latest(begun)) {
            let item = format!(
                "{AT_FIRST}{}",
                clip(&typed(task(&begun.text).unwrap_or(&begun.text), MOST_UNITS), LONGEST_FIRST)
            );
            self.pool.add(Section::Goal, &item, origin(begun), Rank::Normal);
        }
    }

    /// The first request of those before the latest one that have no answer which the person accepted.
    fn unanswered(&self) -> Option<&'a Request> {
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn));
        let requests = self.requests_since_reset().iter().filter(|request| request.asks_for_work());
        let before = requests.rev().skip(usize::from(of_turn.is_none()));
        let open: Vec<&Request> = before.take_while(|request| !self.is_answered(request)).take(LONGEST_CHAIN).collect();
        // More of them are no tries of one request.
        open.last().copied().filter(|_| open.len() < LONGEST_CHAIN)
    }

    /// Whether a request before the latest one is answered. The request of the turn accepts the answer to the last one
    /// of the history.
    pub(super) fn is_answered(&self, request: &Request) -> bool {
        let is_last = || {
            let asking = |last: &&Request| last.asks_for_work();
            self.ledger.requests.iter().rev().find(asking).is_some_and(|last| last.position == request.position)
        };
        let accepts = |turn: &str| is_substantive(turn) && accepts(turn) && !reopens(turn, &request.text, String::new);
        request.is_answered
            || self.ledger.answered > request.position && self.turn_request.is_some_and(accepts) && is_last()
    }

    /// Ends the item of a latest request for which nothing is open: nothing failed for it, and its answer names no step.
    pub(super) fn answered_mark(&self) -> &'static str {
        let last = self.ledger.last_request().map_or(0, |last| last.position);
        let is_newer = |note: &Note| !note.is_minor && note.position >= last;
        let is_done = last > 0
            && !self.ledger.unresolved_errors().any(|error| error.position > last)
            && !self.ledger.notes_of(NoteKind::Step).any(is_newer)
            && !self.ledger.notes_of(NoteKind::Open).any(|note| note.position >= last)
            && self.ledger.plan.in_state(PlanStatus::Pending).next().is_none()
            && self.turn_request.is_none()
            && !self.is_open()
            && self.waiting_question().is_none();
        if is_done { DONE_WITH } else { "" }
    }
}

/// A request in at most `units` UTF-16 units. What it asks stays, where that is told apart: of a long one, whole
/// sentences are kept, first those that ask at its end, then its beginning.
pub(super) fn asked(request: &str, units: usize) -> String {
    let request = task(request).unwrap_or(request);
    let whole = typed(request, MOST_UNITS);
    if utf16_len(&whole) <= units {
        return whole;
    }
    let mut all: Vec<String> =
        sentences(request).filter(|one| is_prose(one)).take(MOST_SENTENCES).map(one_line).collect();
    let Some(last) = all.len().checked_sub(1) else { return clip_middle(&whole, units) };
    // The beginning says what it is about.
    all[last] = clip_middle(&all[last], units / 2);
    let asking = (0..=last).rev().filter(|at| asks(&all[*at]));
    let is_document = is_document(request);
    let ends = if is_document { [0, 0] } else { [last, 0] };
    let order = ends.into_iter().chain(asking).chain(0..=last);
    let (mut kept, mut left) = (vec![false; all.len()], units);
    for at in order {
        // Each may stand behind a mark of what is left out.
        let cost = utf16_len(&all[at]) + " \u{2026} ".len();
        if !kept[at] && cost <= left {
            kept[at] = true;
            left -= cost;
        }
    }
    if !kept[last] && !is_document || all.len() < 2 {
        return clip_middle(&whole, units);
    }
    let mut out = String::new();
    let mut is_cut = false;
    for (sentence, kept) in all.iter().zip(kept) {
        if kept {
            out.push_str(if is_cut { " \u{2026} " } else { " " });
            out.push_str(sentence);
        }
        is_cut = !kept;
    }
    out.trim().to_owned()
}
