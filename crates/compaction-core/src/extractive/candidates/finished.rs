//! A latest request that is answered: its outcome, and that nothing of it is left.

use super::next_steps::ROOM_FOR_TWO;
use super::{Builder, OVERTAKEN_BY};
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::closed_requests::instructs;
use crate::ledger::conclusions::{concluded, recommended};
use crate::ledger::cues::is_substantive;
use crate::ledger::notes::{FOR_THE_USER, IDLE, NOTHING_LEFT, NOTHING_RUN, OPEN_PARTS, RECOMMENDED};
use crate::ledger::problems::{is_unsolved, reports};
use crate::ledger::statements::sentences;
use crate::ledger::steps::names_in;
use crate::ledger::text::{clip, one_line};
use crate::ledger::{NoteKind, Request, Voice};
use crate::summary::{Section, SummaryKind};
use crate::tools::PlanStatus;

/// Longest report of the answer, in UTF-16 units.
const LONGEST_REPORT: usize = 600;
/// The report may take the room of a summary divided by this.
const REPORT_PART: usize = 24;
/// Most sentences of an answer that are searched for a failure.
const MOST_REPORTED: usize = 64;
/// Longest advice of the answer, in UTF-16 units.
const LONGEST_ADVICE: usize = 420;

impl Builder<'_> {
    /// Whether the newest answer ends the turn of the latest request with more than an announcement.
    pub(super) fn is_finished(&self) -> bool {
        self.kind != SummaryKind::TurnPrefix
            && self.turn.is_none()
            && self.turn_request.is_none()
            && self.ledger.last_request().is_some_and(|last| last.position > 0)
            && !self.is_open()
            && self.newest_of_model().next().is_some_and(|newest| {
                // Work after the last words of a turn may still continue.
                self.reports(newest.position) && self.ledger.last_step.position <= newest.position
            })
            && !self.is_task_open()
            && !self.has_open_call()
    }

    /// Whether a call after the latest request has no result.
    fn has_open_call(&self) -> bool {
        let asked_at = self.ledger.asked_at();
        self.ledger.notes_of(NoteKind::Open).any(|note| note.position >= asked_at)
    }

    /// Whether the message at `position` says more than what the model will do.
    fn reports(&self, position: u64) -> bool {
        let mut own = self.newest_of_model().take_while(|one| one.position == position);
        own.any(|one| one.voice == Voice::Report)
    }

    /// Whether the plan has a task in progress that no answer reported as done.
    fn is_task_open(&self) -> bool {
        let plan = &self.ledger.plan;
        let reported = self.ledger.reported_tasks();
        let is_later = |request: &&Request| request.position > plan.position && is_substantive(&request.text);
        let is_overtaken = self.ledger.requests.iter().filter(is_later).count() >= OVERTAKEN_BY;
        let open = plan.items.iter().skip(self.passed_tasks(plan)).filter(|item| item.status == PlanStatus::InProgress);
        let open = open.filter(|item| !reported.iter().any(|one| std::ptr::eq(*one, *item)));
        !is_overtaken && !self.not_seen_done(plan, open.map(|item| item.text.as_str()).collect()).is_empty()
    }

    /// Whether In Progress has room for the report of the answer. Otherwise Done contains it.
    pub(super) fn tells_report(&self) -> bool {
        self.units >= ROOM_FOR_TWO && self.is_finished()
    }

    /// Says that nothing is in progress, and adds the report of the answer.
    pub(super) fn finished(&mut self) {
        if !self.is_finished() {
            return;
        }
        let Some(newest) = self.newest_of_model().next() else { return };
        let asked = self.waits_for();
        let waits = match self.waiting_question() {
            Some(_) => " while the assistant waits for an answer",
            None if self.is_proposing() => " while a proposed plan waits for the approval of the user",
            None if asked.is_some() => " while the work waits for the user",
            None => "",
        };
        let units = LONGEST_REPORT.min(self.units / REPORT_PART);
        let told = || concluded(&self.ledger.statements, (newest.position, newest.position), units);
        let asked_at = self.latest().map_or(0, |latest| latest.position);
        // A report of a failure tells of a run that the transcript may not have.
        let tells_run = |text: &str| reports(text) || is_unsolved(text);
        let is_run = self.own_answer().is_some_and(|answer| sentences(answer).take(MOST_REPORTED).any(tells_run));
        let unproved = if !is_run && self.is_unproved(asked_at) { format!(" ({NOTHING_RUN})") } else { String::new() };
        let item = match self.tells_report().then(told).flatten() {
            Some(said) => format!("{IDLE}{waits}. The last answer reports: {said}{unproved}"),
            None => format!("{IDLE}{waits}"),
        };
        let origin = Origin::of(newest.position, &newest.sources);
        self.pool.add(Section::InProgress, &item, origin, Rank::Focus);
        let advice: Vec<String> =
            self.own_answer().map(recommended).unwrap_or_default().into_iter().map(one_line).collect();
        if !advice.is_empty() && !self.is_proposing() {
            let item = format!("{RECOMMENDED}{}", clip(&advice.join(" "), LONGEST_ADVICE));
            self.pool.add(Section::NextSteps, &item, origin, Rank::Normal);
        }
        if let Some(item) = self.never_pushed().filter(|_| self.tells_state) {
            self.pool.add(Section::NextSteps, &item, origin, Rank::Low);
        }
        if let Some(asked) = asked {
            self.pool.add(Section::NextSteps, &asked, origin, Rank::Focus);
            // Who stops on the first part has not begun the second one.
            let left = self.latest().filter(|_| self.stopped().is_some()).and_then(|one| self.untouched_clauses(one));
            if let Some(left) = left {
                self.pool.add(Section::NextSteps, &format!("{OPEN_PARTS}{left}"), origin, Rank::Focus);
            }
        } else if !self.pool.has(Section::NextSteps) {
            let next = "The next message of the user decides";
            // An obstacle may be left to do.
            let last = self.newest_of_model().next().filter(|last| instructs(&last.text));
            let item = match last.filter(|last| names_in(&last.text).next().is_some()) {
                Some(last) => format!("{FOR_THE_USER}{}", last.text),
                None if self.pool.has(Section::Blocked) => next.to_owned(),
                None => format!("{NOTHING_LEFT}. {next}"),
            };
            self.pool.add(Section::NextSteps, &item, Origin::at(newest.position), Rank::Normal);
        }
    }
}
