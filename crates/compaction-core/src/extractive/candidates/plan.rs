//! The tasks of the plan.

use std::borrow::Cow;

use super::state::{FILES_PART, named_files};
use super::{Builder, OVERTAKEN_BY};
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::Ledger;
use crate::ledger::completed::is_status_report;
use crate::ledger::cues::is_substantive;
use crate::ledger::notes::STILL_OPEN;
use crate::ledger::problems::reports;
use crate::ledger::steps::LatestPlan;
use crate::ledger::text::{WordList, clip, word_list};
use crate::summary::{Section, SummaryKind};
use crate::text::utf16_len;
use crate::tools::PlanStatus;

/// Number of requests after which a plan without updates is stale.
pub(super) const STALE_AFTER: usize = 3;
/// Words of tasks that only test what was made.
static TESTING: WordList = word_list!("plan: testing");
/// Most open tasks of a list that later work overtook that are left out.
const FEW_TASKS: usize = 2;

impl<'a> Builder<'a> {
    /// The first open task after finished ones, with the files that changed since, if the plan says of no task that it
    /// is in progress.
    fn begun_task(&self, plan: &LatestPlan, ledger: &Ledger, passed: usize) -> Option<(usize, String)> {
        let has = |status: PlanStatus| plan.items.iter().any(|item| item.status == status);
        if has(PlanStatus::InProgress) || !has(PlanStatus::Completed) {
            return None;
        }
        let mut open = plan.items.iter().enumerate().skip(passed);
        let (at, _) = open.find(|(_, item)| item.status == PlanStatus::Pending)?;
        let mut files: Vec<_> = ledger.files.iter().filter(|file| file.changed_at > plan.position).collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.changed_at));
        let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        (!names.is_empty()).then(|| (at, named_files(&names, self.units / FILES_PART)))
    }

    /// The ledger with the plan of the history. The turn that follows may report tasks of it as done.
    pub(super) fn ledger_of_plan(&self) -> &'a Ledger {
        let is_same = self.with_turn.plan.position == self.ledger.plan.position;
        if is_same { self.with_turn } else { self.ledger }
    }

    /// The tasks of the plan, unless it is older than the topic.
    pub(super) fn plan(&mut self) {
        // A turn may change a few items of the history's plan.
        let plan_of_turn = self.turn.map(|turn| match std::ptr::eq(self.with_turn, self.ledger) {
            true => (&turn.plan, !turn.plan.items.is_empty()),
            false => (&self.with_turn.plan, self.with_turn.plan.position > self.ledger.messages),
        });
        if let Some((plan, true)) = plan_of_turn {
            let passed = if std::ptr::eq(plan, &self.with_turn.plan) { self.passed_tasks(plan) } else { 0 };
            let changed = self.changed_tasks(plan, passed);
            let of_turn = self.turn.filter(|turn| std::ptr::eq(plan, &turn.plan)).unwrap_or(self.with_turn);
            let begun = self.begun_task(plan, of_turn, passed);
            let mut done = Vec::new();
            for (at, item) in plan.items.iter().enumerate() {
                let section = match item.status {
                    PlanStatus::Completed => Section::Done,
                    PlanStatus::InProgress | PlanStatus::Pending if changed.contains(&at) => Section::Done,
                    // The calls since then show what was done.
                    PlanStatus::InProgress | PlanStatus::Pending if at < passed => continue,
                    PlanStatus::InProgress => Section::InProgress,
                    PlanStatus::Pending => Section::NextSteps,
                    PlanStatus::Cancelled => continue,
                };
                if section == Section::Done {
                    done.push(item.text.as_str());
                    continue;
                }
                let text = told_task(&item.text, at, section, begun.as_ref());
                self.pool.add(section, &text, Origin::at(u64::MAX), Rank::Normal);
            }
            self.finished_tasks(&done, Origin::at(u64::MAX));
            return;
        }
        let ledger = self.ledger_of_plan();
        let plan = &ledger.plan;
        if self.is_proposing() {
            self.proposed_plan();
        }
        let later = self.ledger.requests.iter().filter(|request| request.position > plan.position);
        let later = later.filter(|request| is_substantive(&request.text)).count();
        let passed = self.passed_tasks(plan);
        // What was answered and changed since shows the state of the work better than a list that nobody updated.
        let of_turn = self.turn_request.is_some_and(is_substantive);
        let is_overtaken = later + usize::from(of_turn) >= OVERTAKEN_BY
            && self.ledger.answered > plan.position
            && self.with_turn.changed_at() > plan.position;
        let pending = plan.in_state(PlanStatus::Pending).count();
        // What was tested fails for the person.
        let next = self.ledger.requests.iter().find(|request| request.position > plan.position);
        let is_reported = next.map(|next| next.text.as_str()).or(self.turn_request).is_some_and(reports);
        // An answer that ends the work also ends a plan that nobody updated. So does an answer that asks the person to
        // continue with something newer.
        let is_left = later > 0 && self.waits_for().is_some();
        // A later answer that lists what is done and what is left replaces it.
        let answer = &self.ledger.newest_answer;
        let is_replaced = answer.position > plan.position && is_status_report(&answer.text);
        let is_stale = is_left
            || is_replaced
            || is_overtaken
            || later > STALE_AFTER
            || passed > 0 && self.ledger.answered > plan.position;
        // The last tasks of such a list are done more often than not.
        let is_past = is_overtaken && pending <= FEW_TASKS;
        self.stale_plan(is_stale && !is_left && !is_past);
        let changed = self.changed_tasks(plan, passed);
        let reported = ledger.reported_tasks();
        // Earlier work may have been discarded.
        let is_thrown_away = self.reset_at() > plan.position;
        let begun = self.begun_task(plan, self.ledger, passed);
        let items = plan.items.iter().enumerate();
        let mut done = Vec::new();
        for (at, item) in items.filter(|(_, item)| !is_thrown_away || item.status == PlanStatus::Pending) {
            let section = match item.status {
                // The history before the turn lists them.
                PlanStatus::Completed if !self.tells_state => continue,
                PlanStatus::Completed if is_reported && TESTING.is_said(&item.text) => continue,
                PlanStatus::Completed => Section::Done,
                PlanStatus::InProgress | PlanStatus::Pending if changed.contains(&at) => Section::Done,
                PlanStatus::InProgress | PlanStatus::Pending if at < passed => continue,
                PlanStatus::InProgress if reported.iter().any(|task| std::ptr::eq(*task, item)) => Section::Done,
                PlanStatus::InProgress if later >= OVERTAKEN_BY || is_overtaken => continue,
                PlanStatus::InProgress => Section::InProgress,
                PlanStatus::Pending if is_stale || self.is_proposing() => continue,
                PlanStatus::Pending => Section::NextSteps,
                PlanStatus::Cancelled => continue,
            };
            if section == Section::Done {
                done.push(item.text.as_str());
                continue;
            }
            let rank = if is_stale { Rank::Low } else { Rank::Normal };
            let text = told_task(&item.text, at, section, begun.as_ref());
            // The progress of a turn also contains what was done.
            match self.kind == SummaryKind::TurnPrefix && section == Section::InProgress {
                true => self.pool.add(section, &format!("{STILL_OPEN}{}", item.text), Origin::at(plan.position), rank),
                false => self.pool.add(section, &text, Origin::at(plan.position), rank),
            }
        }
        self.finished_tasks(&done, Origin::at(plan.position));
    }

    /// Adds the finished tasks of a plan, many of them in one item.
    fn finished_tasks(&mut self, tasks: &[&str], origin: Origin<'_>) {
        if tasks.len() <= MOST_APART {
            tasks.iter().for_each(|task| self.pool.add(Section::Done, task, origin, Rank::Low));
            return;
        }
        let mut item = FINISHED_TASKS.to_owned();
        for (at, task) in tasks.iter().enumerate() {
            let task = clip(task, LONGEST_TASK);
            if at > 0 && utf16_len(&item) + utf16_len(&task) > LONGEST_TASKS {
                item.push_str(&format!("; {} more", tasks.len() - at));
                break;
            }
            item.push_str(if at > 0 { "; " } else { "" });
            item.push_str(&task);
        }
        self.pool.add(Section::Done, &item, origin, Rank::Low);
    }
}

/// Most finished tasks that have items of their own.
const MOST_APART: usize = 4;
/// Starts the others, and the longest of them and of the item, in UTF-16 units.
const FINISHED_TASKS: &str = "Tasks of the plan: ";
const LONGEST_TASK: usize = 100;
const LONGEST_TASKS: usize = 400;

/// A task for its section. If it is the `begun` one, the files that changed since the previous task was done are added.
fn told_task<'t>(text: &'t str, at: usize, section: Section, begun: Option<&(usize, String)>) -> Cow<'t, str> {
    match begun.filter(|(begun, _)| *begun == at && section == Section::NextSteps) {
        Some((_, files)) => Cow::Owned(format!("{text} (begun: changed {files})")),
        None => Cow::Borrowed(text),
    }
}
