//! The tasks of the plan.

use super::{Builder, OVERTAKEN_BY};
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::cues::is_substantive;
use crate::ledger::notes::STILL_OPEN;
use crate::summary::{Section, SummaryKind};
use crate::tools::PlanStatus;

/// Requests after which a plan without updates is stale.
pub(super) const STALE_AFTER: usize = 3;

impl Builder<'_> {
    /// The tasks of the plan, unless it is older than the topic.
    pub(super) fn plan(&mut self) {
        // A turn may change the plan of the history by a few of its items.
        let plan_of_turn = self.turn.map(|turn| match std::ptr::eq(self.with_turn, self.ledger) {
            true => (&turn.plan, !turn.plan.items.is_empty()),
            false => (&self.with_turn.plan, self.with_turn.plan.position > self.ledger.messages),
        });
        if let Some((plan, true)) = plan_of_turn {
            let passed = if std::ptr::eq(plan, &self.with_turn.plan) { self.passed_tasks(plan) } else { 0 };
            let changed = self.changed_tasks(plan, passed);
            for (at, item) in plan.items.iter().enumerate() {
                let section = match item.status {
                    PlanStatus::Completed => Section::Done,
                    PlanStatus::InProgress | PlanStatus::Pending if changed.contains(&at) => Section::Done,
                    // The calls since tell what was done.
                    PlanStatus::InProgress | PlanStatus::Pending if at < passed => continue,
                    PlanStatus::InProgress => Section::InProgress,
                    PlanStatus::Pending => Section::NextSteps,
                    PlanStatus::Cancelled => continue,
                };
                let rank = if section == Section::Done { Rank::Low } else { Rank::Normal };
                self.pool.add(section, &item.text, Origin::at(u64::MAX), rank);
            }
            return;
        }
        let plan = &self.ledger.plan;
        if self.is_proposing() {
            self.proposed_plan();
        }
        let later = self.ledger.requests.iter().filter(|request| request.position > plan.position);
        let later = later.filter(|request| is_substantive(&request.text)).count();
        let passed = self.passed_tasks(plan);
        // An answer that ends the work leaves nothing of a plan that nobody kept.
        let is_stale = later > STALE_AFTER || passed > 0 && self.ledger.answered > plan.position;
        self.stale_plan(is_stale);
        let changed = self.changed_tasks(plan, passed);
        let reported = self.ledger.reported_tasks();
        // What was done before may be thrown away.
        let is_thrown_away = self.reset_at() > plan.position;
        let items = plan.items.iter().enumerate();
        for (at, item) in items.filter(|(_, item)| !is_thrown_away || item.status == PlanStatus::Pending) {
            let section = match item.status {
                PlanStatus::Completed => Section::Done,
                PlanStatus::InProgress | PlanStatus::Pending if changed.contains(&at) => Section::Done,
                PlanStatus::InProgress | PlanStatus::Pending if at < passed => continue,
                PlanStatus::InProgress if reported.iter().any(|task| std::ptr::eq(*task, item)) => Section::Done,
                PlanStatus::InProgress if later >= OVERTAKEN_BY => continue,
                PlanStatus::InProgress => Section::InProgress,
                PlanStatus::Pending if is_stale || self.is_proposing() => continue,
                PlanStatus::Pending => Section::NextSteps,
                PlanStatus::Cancelled => continue,
            };
            let rank = if is_stale || section == Section::Done { Rank::Low } else { Rank::Normal };
            // The progress of a turn has what was done, too.
            match self.kind == SummaryKind::TurnPrefix && section == Section::InProgress {
                true => self.pool.add(section, &format!("{STILL_OPEN}{}", item.text), Origin::at(plan.position), rank),
                false => self.pool.add(section, &item.text, Origin::at(plan.position), rank),
            }
        }
    }
}
