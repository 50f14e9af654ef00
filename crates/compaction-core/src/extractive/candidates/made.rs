//! An open request whose work is done: a check passed after the last change, and only the answer is missing.

use super::Builder;
use super::runs::run;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::commands::{is_check, purposes};
use crate::ledger::notes::ANSWER_LEFT;
use crate::ledger::{CommandRecord, Outcome, Voice};
use crate::summary::Section;
use crate::tools::PlanStatus;

impl Builder<'_> {
    /// Adds the step of the open request at `position`, if only its answer is left. Returns whether that is so.
    pub(super) fn answer_is_left(&mut self, request: &str, position: u64) -> bool {
        let Some(check) = self.check_of_made(request, position) else { return false };
        let item = format!("{ANSWER_LEFT}{check} passes since the last change");
        self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
        true
    }

    /// The check that passed after the last change for the request at `position`, if only the answer is missing.
    fn check_of_made(&self, request: &str, position: u64) -> Option<String> {
        let (ledger, since) = match self.turn {
            Some(turn) => (turn, 0),
            None => (self.ledger, position),
        };
        let changed_at = ledger.changed_at();
        let plan = &self.with_turn.plan;
        let is_task_open = || {
            let is_open = |status| plan.in_state(status).next().is_some();
            plan.position > since && (is_open(PlanStatus::Pending) || is_open(PlanStatus::InProgress))
        };
        if changed_at <= since || self.with_turn.unresolved_errors().next().is_some() || is_task_open() {
            return None;
        }
        let is_passed = |one: &&CommandRecord| {
            !one.is_call && one.outcome == Outcome::Succeeded && one.position > changed_at && is_check(&one.command)
        };
        let check = ledger.commands.iter().rev().find(is_passed)?;
        // A later command means more work, unless it checks or commits.
        let mut later = ledger.commands.iter().rev().take_while(|one| one.position > check.position);
        let is_work = |one: &CommandRecord| {
            let of_git = || purposes(&one.command).iter().all(|purpose| purpose.starts_with("git "));
            !of_git() && !is_check(&one.command)
        };
        let mut words = ledger.statements.iter().rev().take_while(|one| one.position > check.position);
        // A model that reads another file has not finished.
        let has_read = ledger.files.iter().any(|file| file.position > check.position);
        let has_gone_on = has_read || later.any(is_work) || words.any(|one| one.voice == Voice::Announcement);
        let is_left = self.open_parts(request, position).is_some() || !self.untouched(request, position).is_empty();
        (!has_gone_on && !is_left).then(|| run(&check.command))
    }
}
