//! Tasks that are created one by one and have ids. The result of a call gives a new task its id, and later calls refer
//! to the task by it. Results may arrive in any order.

use super::steps::LatestPlan;
use crate::tools::{Plan, PlanItem, PlanStatus, created_id};

/// Calls that created or changed a task and whose results have not arrived.
#[derive(Debug, Default, Clone)]
pub(super) struct NewTasks {
    waiting: Vec<NewTask>,
    changing: Vec<Change>,
}

/// A call that changed tasks.
#[derive(Debug, Clone)]
struct Change {
    /// The id of the call.
    call: String,
    /// The earlier state of the tasks that it names, or of the whole list if it wrote a new one.
    before: Vec<PlanItem>,
    is_whole: bool,
}

/// Most calls that may wait for their results.
const MOST_WAITING: usize = 64;

#[derive(Debug, Clone)]
struct NewTask {
    /// The id of the call.
    call: String,
    /// The text of the task in the list.
    text: String,
}

impl NewTasks {
    /// Records that `call` wrote `plan`, if it created one task without an id. The task is the last item of `list`.
    pub(super) fn begin(&mut self, call: &str, plan: &Plan, list: &LatestPlan) {
        let is_new = plan.merges && plan.items.iter().all(|item| item.id.is_none());
        if let (true, [_], Some(last)) = (is_new, plan.items.as_slice(), list.items.last()) {
            self.waiting.push(NewTask { call: call.to_owned(), text: last.text.clone() });
        }
    }

    /// Records the tasks of `list` that `call` is about to change with `plan`.
    pub(super) fn change(&mut self, call: &str, plan: &Plan, list: &LatestPlan) {
        let ids = || plan.items.iter().filter_map(|item| item.id.as_ref());
        let is_meant = |item: &&PlanItem| item.id.as_ref().is_some_and(|id| ids().any(|named| named == id));
        let before: Vec<PlanItem> = list.items.iter().filter(|item| !plan.merges || is_meant(item)).cloned().collect();
        if !plan.merges || !before.is_empty() {
            if self.changing.len() >= MOST_WAITING {
                self.changing.remove(0);
            }
            self.changing.push(Change { call: call.to_owned(), before, is_whole: !plan.merges });
        }
    }

    /// Reads the result of `call`. A failed call changed nothing. The created task gets the id in the result, or is
    /// removed if the call failed.
    pub(super) fn end(&mut self, call: &str, result: &str, is_error: bool, list: &mut LatestPlan) {
        if let Some(at) = self.changing.iter().rposition(|one| one.call == call) {
            let change = self.changing.swap_remove(at);
            if is_error && change.is_whole {
                list.items = change.before;
                return;
            }
            for before in change.before.into_iter().filter(|_| is_error) {
                if let Some(item) = list.items.iter_mut().find(|item| item.id == before.id) {
                    *item = before;
                }
            }
        }
        let Some(at) = self.waiting.iter().rposition(|one| one.call == call) else { return };
        let task = self.waiting.swap_remove(at);
        let is_it = |item: &PlanItem| item.id.is_none() && item.text == task.text;
        let Some(place) = list.items.iter().rposition(is_it) else { return };
        if is_error {
            list.items.remove(place);
        } else if let Some(id) = created_id(result) {
            // A new list uses the ids again. Tasks that are still open from the old list stay open, without an id.
            let is_same = |item: &PlanItem| item.id.as_ref() == Some(&id);
            let is_over = |item: &PlanItem| matches!(item.status, PlanStatus::Completed | PlanStatus::Cancelled);
            list.items[place].id = None;
            list.items.iter_mut().filter(|item| is_same(item) && !is_over(item)).for_each(|item| item.id = None);
            let removed = list.items[..place].iter().filter(|item| is_same(item)).count();
            list.items.retain(|item| !is_same(item));
            list.items[place - removed].id = Some(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn creates(text: &str) -> Plan {
        let item = PlanItem { id: None, text: text.to_owned(), status: PlanStatus::Pending, is_stated: false };
        Plan { items: vec![item], merges: true }
    }

    fn updates(id: &str, status: Option<PlanStatus>) -> Plan {
        let (is_stated, status) = (status.is_some(), status.unwrap_or(PlanStatus::Pending));
        Plan { items: vec![PlanItem { id: Some(id.to_owned()), text: String::new(), status, is_stated }], merges: true }
    }

    fn shown(list: &LatestPlan) -> String {
        let item = |item: &PlanItem| format!("{} {} {:?}", item.id.as_deref().unwrap_or("-"), item.text, item.status);
        list.items.iter().map(item).collect::<Vec<_>>().join("; ")
    }

    /// A list of three tasks that were created by calls `a`, `b` and `c` in parallel.
    fn three() -> (NewTasks, LatestPlan) {
        let (mut tasks, mut list) = (NewTasks::default(), LatestPlan::default());
        for (call, text) in [("a", "parse"), ("b", "print"), ("c", "test")] {
            list.take(&creates(text), 1);
            tasks.begin(call, &creates(text), &list);
        }
        (tasks, list)
    }

    #[test]
    fn results_in_any_order_give_ids() {
        let (mut tasks, mut list) = three();
        tasks.end("c", r#"{"task":{"id":"3"}}"#, false, &mut list);
        tasks.end("a", "Task #1 created successfully: parse", false, &mut list);
        tasks.end("b", "Task #2 created successfully: print", false, &mut list);
        list.take(&updates("3", Some(PlanStatus::Completed)), 2);
        list.take(&updates("1", Some(PlanStatus::InProgress)), 2);
        // An owner or a blocker does not change the state.
        list.take(&updates("3", None), 3);
        assert_eq!(shown(&list), "1 parse InProgress; 2 print Pending; 3 test Completed");
    }

    #[test]
    fn a_call_that_failed_changed_nothing() {
        let (mut tasks, mut list) = three();
        for (call, id) in [("a", 1), ("b", 2), ("c", 3)] {
            tasks.end(call, &format!("Task #{id} created"), false, &mut list);
        }
        for (call, id) in [("d", "1"), ("e", "2")] {
            let done = updates(id, Some(PlanStatus::Completed));
            tasks.change(call, &done, &list);
            list.take(&done, 2);
        }
        tasks.end("d", "Error: the task is locked", true, &mut list);
        tasks.end("e", "Updated task #2", false, &mut list);
        assert_eq!(shown(&list), "1 parse Pending; 2 print Completed; 3 test Pending");
    }

    #[test]
    fn a_task_without_a_result_has_the_number_of_its_place() {
        let (mut tasks, mut list) = three();
        tasks.end("a", "Task #7 created successfully: parse", false, &mut list);
        list.take(&updates("8", Some(PlanStatus::Completed)), 2);
        assert_eq!(shown(&list), "7 parse Pending; 8 print Completed; - test Pending");
        let (_, mut list) = three();
        list.take(&updates("3", Some(PlanStatus::Completed)), 2);
        list.take(&updates("4", Some(PlanStatus::Completed)), 2);
        assert_eq!(shown(&list), "- parse Pending; - print Pending; 3 test Completed");
    }

    #[test]
    fn a_call_that_failed_created_nothing_and_a_new_list_begins_again() {
        let (mut tasks, mut list) = three();
        tasks.end("b", "the list is locked", true, &mut list);
        tasks.end("a", "Task #1 created", false, &mut list);
        tasks.end("c", "Task #2 created", false, &mut list);
        assert_eq!(shown(&list), "1 parse Pending; 2 test Pending");
        list.take(&creates("write the manual"), 5);
        tasks.begin("d", &creates("write the manual"), &list);
        tasks.end("d", "Task #1 created", false, &mut list);
        assert_eq!(shown(&list), "- parse Pending; 2 test Pending; 1 write the manual Pending");
        list.take(&updates("1", Some(PlanStatus::Completed)), 6);
        list.take(&creates("print"), 7);
        tasks.begin("e", &creates("print"), &list);
        tasks.end("e", "Task #1 created", false, &mut list);
        assert_eq!(shown(&list), "- parse Pending; 2 test Pending; 1 print Pending", "what is done may go");
    }

    #[test]
    fn a_long_list_forgets_what_is_done() {
        let mut list = LatestPlan::default();
        for number in 1..=90 {
            list.take(&creates(&format!("task {number}")), number);
            list.take(&updates(&number.to_string(), (number < 80).then_some(PlanStatus::Completed)), number);
        }
        assert_eq!(list.in_state(PlanStatus::Pending).count(), 11);
        assert!(list.items.len() <= 60);
    }
}
