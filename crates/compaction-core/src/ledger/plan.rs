//! The plan: the finished, current and remaining tasks of the newest task list.

use super::sentences::prose;
use super::text::{clip_middle, one_line};
use crate::tools::{Plan, PlanItem, PlanStatus};

/// Most items of a plan that are kept.
const MOST_ITEMS: usize = 60;
/// Most UTF-16 units of an item.
const LONGEST_ITEM: usize = 200;

/// The newest plan of a tool or an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatestPlan {
    /// Its tasks, in their order.
    pub items: Vec<PlanItem>,
    /// Position of the message that gave it; 0 for none.
    pub position: u64,
}

impl LatestPlan {
    /// Takes the plan from a call.
    pub(super) fn take(&mut self, plan: &Plan, position: u64) {
        let items = plan.items.iter().map(|item| PlanItem { text: shortened(&item.text), ..item.clone() });
        if plan.merges {
            items.for_each(|item| self.merge(item));
        } else {
            self.items = items.filter(|item| !item.text.is_empty()).collect();
        }
        self.items.truncate(MOST_ITEMS);
        self.position = position;
    }

    fn merge(&mut self, item: PlanItem) {
        let known = self.items.iter_mut().find(|known| known.id.is_some() && known.id == item.id);
        match known {
            Some(known) if item.text.is_empty() => known.status = item.status,
            Some(known) => *known = item,
            None if item.text.is_empty() => {}
            None => self.items.push(item),
        }
    }

    /// Takes the check boxes of an answer if it has more than one.
    pub(super) fn read_answer(&mut self, text: &str, position: u64) {
        let is_box = |line: &&str| {
            let line = line.trim_start().trim_start_matches(['-', '*', '+']).trim_start();
            ["[ ]", "[x]", "[X]"].iter().any(|mark| line.starts_with(mark))
        };
        let is_open = |at: usize| matches!(text.as_bytes().get(at..at + 3), Some(b"[ ]" | b"[x]" | b"[X]"));
        if !memchr::memchr_iter(b'[', text.as_bytes()).any(is_open) {
            return;
        }
        let boxes: Vec<&str> = prose(text).filter(is_box).collect();
        if boxes.len() > 1 {
            self.take(&Plan::of_text(&boxes.join("\n")), position);
        }
    }

    /// The tasks in a state.
    pub fn in_state(&self, status: PlanStatus) -> impl Iterator<Item = &PlanItem> {
        self.items.iter().filter(move |item| item.status == status)
    }
}

fn shortened(text: &str) -> String {
    clip_middle(&one_line(text), LONGEST_ITEM)
}

/// The states with their names as stored.
pub(super) const STATES: [(PlanStatus, &str); 4] = [
    (PlanStatus::Pending, "pending"),
    (PlanStatus::InProgress, "inProgress"),
    (PlanStatus::Completed, "completed"),
    (PlanStatus::Cancelled, "cancelled"),
];
