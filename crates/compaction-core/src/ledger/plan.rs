//! The plan: what the newest list of tasks says is done, begun and left.
//!
//! Lists are known by their shape: an argument that is a list of objects with a text and a state,
//! whatever the tool is called, or the boxes of a list in an answer.

use super::sentences::{prose, without_marker};
use super::text::{clip_middle, one_line};
use crate::json::Json;
use crate::message::ToolCall;

/// Items of a plan.
const MOST_ITEMS: usize = 60;
/// UTF-16 units of an item.
const LONGEST_ITEM: usize = 200;
const TEXTS: &[&str] = &["content", "step", "title", "description", "task", "text", "subject", "name"];
const STATES: &[&str] = &["status", "state"];

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// It has not been begun.
    Pending,
    /// It has been begun.
    InProgress,
    /// It is finished.
    Done,
}

/// A task of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name in the list, where the list names it.
    pub id: String,
    /// What is to do.
    pub text: String,
    /// How far it is.
    pub state: TaskState,
}

/// The newest plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Its tasks, in their order.
    pub tasks: Vec<Task>,
    /// Position of the message that told it last; 0 for none.
    pub position: u64,
}

impl Plan {
    /// Takes over the plan that a call sets, if it sets one. Lists that change some tasks alone change
    /// those of the plan that they name.
    pub(super) fn read_call(&mut self, call: &ToolCall, position: u64) -> bool {
        let Some(Json::Object(members)) = &call.arguments else { return false };
        let lists = members.iter().filter_map(|(_, value)| match value {
            Json::Array(items) => tasks(items),
            _ => None,
        });
        let Some(tasks) = lists.max_by_key(Vec::len) else { return false };
        let merges = call.arguments.as_ref().and_then(|arguments| arguments.get("merge")).and_then(Json::as_bool);
        if merges == Some(true) {
            self.merge(tasks);
        } else {
            self.tasks = tasks;
        }
        self.tasks.truncate(MOST_ITEMS);
        self.position = position;
        true
    }

    fn merge(&mut self, tasks: Vec<Task>) {
        for task in tasks {
            match self.tasks.iter_mut().find(|known| !known.id.is_empty() && known.id == task.id) {
                Some(known) if task.text.is_empty() => known.state = task.state,
                Some(known) => *known = task,
                None if task.text.is_empty() => {}
                None => self.tasks.push(task),
            }
        }
    }

    /// Takes over the boxes of an answer, where it has more than one.
    pub(super) fn read_answer(&mut self, text: &str, position: u64) {
        if !text.contains("[ ]") && !text.contains("[x]") && !text.contains("[X]") {
            return;
        }
        let boxes: Vec<Task> = prose(text).filter_map(boxed).take(MOST_ITEMS).collect();
        if boxes.len() > 1 {
            *self = Self { tasks: boxes, position };
        }
    }

    /// The tasks in `state`.
    pub fn in_state(&self, state: TaskState) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(move |task| task.state == state)
    }
}

fn boxed(line: &str) -> Option<Task> {
    let text = without_marker(line);
    let (state, rest) = match text.get(..3)? {
        "[ ]" => (TaskState::Pending, &text[3..]),
        "[x]" | "[X]" => (TaskState::Done, &text[3..]),
        "[~]" | "[-]" | "[>]" => (TaskState::InProgress, &text[3..]),
        _ => return None,
    };
    let text = clip_middle(&one_line(rest), LONGEST_ITEM);
    (!text.is_empty()).then(|| Task { id: String::new(), text, state })
}

/// The tasks in a list of objects; `None` unless all of them have a state.
fn tasks(items: &[Json<'_>]) -> Option<Vec<Task>> {
    let tasks: Option<Vec<Task>> = items.iter().map(task).collect();
    tasks.filter(|tasks| !tasks.is_empty())
}

fn task(item: &Json<'_>) -> Option<Task> {
    let text = |names: &[&str]| names.iter().find_map(|name| item.get(name).and_then(Json::as_str));
    let state = state_of(text(STATES)?)?;
    let id = match item.get("id") {
        Some(Json::String(id)) => id.to_string(),
        Some(number) => number.to_compact(),
        None => String::new(),
    };
    let words = text(TEXTS).map(|words| clip_middle(&one_line(words), LONGEST_ITEM)).unwrap_or_default();
    (!id.is_empty() || !words.is_empty()).then_some(Task { id, text: words, state })
}

/// A state as the tools of agents call it.
pub(super) fn state_of(name: &str) -> Option<TaskState> {
    let name: String = name.to_lowercase().chars().filter(char::is_ascii_alphabetic).collect();
    Some(match name.as_str() {
        "pending" | "todo" | "open" | "notstarted" | "planned" | "queued" => TaskState::Pending,
        "inprogress" | "doing" | "active" | "started" | "current" => TaskState::InProgress,
        "completed" | "complete" | "done" | "finished" | "closed" | "cancelled" | "canceled" | "skipped" => {
            TaskState::Done
        }
        _ => return None,
    })
}
