//! Requests before the latest one after which the model said and did nothing.

use super::Builder;
use super::next_steps::told_in;
use crate::extractive::budget::MOST_UNITS;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::choices::stems;
use crate::ledger::closed_requests::accepts;
use crate::ledger::cues::{is_substantive, typed};
use crate::ledger::notes::{BEGUN_BEFORE, WITHOUT_ANSWER};
use crate::ledger::{Request, Voice};
use crate::summary::Section;

/// Most such requests.
const MOST_REQUESTS: usize = 8;
/// Most of them that are listed as a step.
const MOST_LISTED: usize = 3;
/// Longest of these, in UTF-16 units.
const LONGEST_LISTED: usize = 140;
/// UTF-16 units of a request that are compared.
const COMPARED: usize = 1200;

impl<'a> Builder<'a> {
    /// Requests for work before the latest one, newest first, if nothing but words of the person follows them.
    pub(super) fn without_answer(&self) -> impl Iterator<Item = &'a Request> + use<'a> {
        let ledger = self.ledger;
        // The beginning of a turn may be the answer to all of them.
        let is_known = self.turn.is_none() && self.turn_request.is_none() && !self.goes_on;
        let is_of_work = |voice: Voice| !matches!(voice, Voice::Person | Voice::Quote | Voice::Summary);
        let said = ledger.statements.iter().rev().find(|one| is_of_work(one.voice)).map_or(0, |one| one.position);
        let end =
            [said, ledger.last_step.position, ledger.newest_answer.position].into_iter().max().unwrap_or_default();
        let latest = self.latest().map_or(0, |latest| latest.position);
        let newest = ledger.requests.iter().rev().take_while(move |one| is_known && one.position > end);
        newest.filter(move |one| one.position < latest && one.asks_for_work()).take(MOST_REQUESTS)
    }

    /// Adds the request for work right before the newest one, if calls were made for it and no complete answer ended it, and
    /// the newest one asks for something else. Both are open then.
    pub(super) fn begun_before(&mut self) {
        let ledger = self.ledger;
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn) && !self.is_answer);
        let newest = match of_turn {
            Some(turn) => Some((turn, u64::MAX)),
            None if self.turn.is_none() && !self.goes_on => {
                let last = ledger.last_request().filter(|last| last.asks_for_work());
                last.map(|last| (last.text.as_str(), last.position))
            }
            None => None,
        };
        let Some((newest, position)) = newest.filter(|(newest, _)| accepts(newest)) else { return };
        let before = self.requests_since_reset().iter().rev().find(|one| one.position < position);
        let is_own = |one: &&Request| one.asks_for_work() && one.is_own() && ledger.answered < one.position;
        let Some(before) = before.filter(is_own).filter(|one| one.position > 0 && !one.is_answered) else { return };
        let was_begun = ledger.commands.iter().any(|run| (before.position..position).contains(&run.position));
        let own = stems(&typed(&before.text, COMPARED));
        let words = stems(&typed(newest, COMPARED));
        let shared = own.iter().filter(|word| words.contains(word)).count();
        if was_begun && shared * 2 < own.len().min(words.len()) {
            let item = format!("{BEGUN_BEFORE}{}", told_in(&typed(&before.text, MOST_UNITS), LONGEST_LISTED));
            self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
        }
    }

    /// Adds those of them that ask for something else than the latest request and each other.
    pub(super) fn not_answered(&mut self) {
        let words = |request: &Request| stems(&typed(&request.text, COMPARED));
        let mut told: Vec<Vec<String>> = self.latest().map(words).into_iter().collect();
        let mut listed = Vec::new();
        for request in self.without_answer() {
            let own = words(request);
            let is_same = |other: &Vec<String>| {
                let shared = own.iter().filter(|word| other.contains(word)).count();
                shared > 0 && shared * 2 >= own.len().min(other.len())
            };
            if !told.iter().any(is_same) && listed.len() < MOST_LISTED {
                listed.push(told_in(&typed(&request.text, MOST_UNITS), LONGEST_LISTED));
            }
            told.push(own);
        }
        if !listed.is_empty() {
            listed.reverse();
            let item = format!("{WITHOUT_ANSWER}{}", listed.join("; "));
            self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
        }
    }
}
