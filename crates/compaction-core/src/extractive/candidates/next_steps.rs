//! What comes next: the request that is open, part by part, with the error that it pastes and the option that it
//! chooses.

use super::{Builder, LONGEST_REPEAT, TURN_PART, TURN_UNITS};
use crate::extractive::budget::MOST_UNITS;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::choices::{chosen, whole};
use crate::ledger::cues::{is_sized, is_substantive, typed};
use crate::ledger::error_line;
use crate::ledger::notes::{GO_ON, OFFERED, THE_LATEST};
use crate::ledger::statements::{is_prose, prose, without_marker};
use crate::ledger::text::{clip, clip_middle, one_line};
use crate::ledger::{Note, NoteKind};
use crate::summary::{Section, SummaryKind};
use crate::tools::PlanStatus;

/// Most UTF-16 units of an error that a request pastes.
const LONGEST_ERROR: usize = 160;
/// Fewest lines of a request that are pasted before one of them counts as its error.
const FEWEST_PASTED: usize = 3;
/// Fewest and most items of a list of wishes.
const WISHES: std::ops::RangeInclusive<usize> = 2..=8;

impl Builder<'_> {
    /// The request of the turn that follows. Otherwise, if no answer names a step, the request that is open or whose
    /// work failed.
    pub(super) fn go_on(&mut self) {
        if self.kind == SummaryKind::TurnPrefix {
            return;
        }
        if let Some(turn) = self.turn_request {
            return self.go_on_with_turn(turn);
        }
        let Some(latest) = self.latest() else { return };
        let is_newer = |note: &Note| !note.is_minor && note.position >= latest.position && note.position > 0;
        let has_failed = self.ledger.unresolved_errors().any(|error| error.position > latest.position);
        let has_plan = self.ledger.plan.in_state(PlanStatus::Pending).next().is_some();
        let is_planned = has_plan || self.ledger.notes_of(NoteKind::Step).any(is_newer);
        if self.turn.is_none() && (is_planned || !has_failed && !self.is_open()) {
            return;
        }
        let open = self.left_open(&latest.text, latest.position);
        let text = latest.text.clone();
        let shown = typed(&text, MOST_UNITS);
        self.add_step(&format!("{THE_LATEST}{open}"), &shown, &text);
    }

    fn go_on_with_turn(&mut self, turn: &str) {
        let open = self.left_open(turn, u64::MAX);
        if is_substantive(turn) {
            let shown = clip_middle(&typed(turn, MOST_UNITS), self.units / TURN_PART);
            return self.add_step(&format!("{THE_LATEST}{open}"), &shown, turn);
        }
        let line = match self.chosen_option(turn).or_else(|| self.answered_by(turn, u64::MAX)) {
            Some(meant) => format!("{} ({meant})", one_line(turn)),
            None => typed(turn, MOST_UNITS),
        };
        let line = clip_middle(&line, (self.units / TURN_PART).clamp(TURN_UNITS.0, TURN_UNITS.1));
        self.add_step(&format!("{line}{open}"), &line, turn);
    }

    /// Adds the step of a request of which the summary has `shown`.
    fn add_step(&mut self, line: &str, shown: &str, request: &str) {
        let error = pasted_error(request).filter(|error| !shown.contains(error.as_str()));
        let item = match error {
            Some(error) => format!("{GO_ON}{line} (it shows: {error})"),
            None => format!("{GO_ON}{line}"),
        };
        self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
        let wishes = wishes(request);
        // A list that the line shows in full needs no items of its own.
        if !wishes.iter().all(|wish| shown.contains(&one_line(wish))) {
            for wish in wishes {
                self.pool.add(Section::NextSteps, &clip(wish, LONGEST_REPEAT), Origin::at(u64::MAX), Rank::Normal);
            }
        }
    }

    /// The option of the newest answer that a message chooses.
    pub(super) fn chosen_option(&self, message: &str) -> Option<String> {
        let asked_at = self.ledger.last_request().map_or(0, |request| request.position);
        let newest = self.ledger.notes_of(NoteKind::Step).rev().find(|note| note.text.starts_with(OFFERED))?;
        let offered = newest.text.strip_prefix(OFFERED).filter(|_| newest.position > asked_at)?;
        let option = chosen(message, offered)?;
        Some(whole(&self.ledger.newest_answer.text, &option).unwrap_or(option))
    }
}

/// The items of the list in a request, if they are wishes and not pasted text.
fn wishes(request: &str) -> Vec<&str> {
    let is_item = |line: &&str| {
        let line = line.trim_start();
        line.starts_with(['-', '*', '\u{2022}']) || line.starts_with(|first: char| first.is_ascii_digit())
    };
    let lines = prose(request).filter(is_item);
    let items = lines.map(|line| (line, without_marker(line))).filter(|(line, text)| text.len() < line.trim().len());
    let items: Vec<&str> = items.map(|(_, text)| text).collect();
    let are_wishes = WISHES.contains(&items.len()) && items.iter().all(|item| is_sized(item) && is_prose(item));
    if are_wishes { items } else { Vec::new() }
}

/// The line that explains best what a request pastes, if that is an error.
fn pasted_error(request: &str) -> Option<String> {
    let pasted: Vec<&str> = request.lines().filter(|line| !line.trim().is_empty() && !is_prose(line.trim())).collect();
    if pasted.len() < FEWEST_PASTED {
        return None;
    }
    let error = error_line(&pasted.join("\n"));
    // Without any error, the last line counts as one.
    let is_last = pasted.last().is_some_and(|last| one_line(last) == error);
    (!is_last).then(|| clip(&one_line(&error), LONGEST_ERROR))
}
