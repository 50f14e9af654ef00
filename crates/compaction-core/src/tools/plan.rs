//! Plans in the tools of agents, and questions to the person.

use super::arguments::Arguments;
use super::table::table;
use crate::json::Json;

/// Maximum number of items that are read.
const MOST_ITEMS: usize = 500;

/// A list of tasks that a call writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The items, in order.
    pub items: Vec<PlanItem>,
    /// Whether the items are merged into the earlier list by id; otherwise they replace it.
    pub merges: bool,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanItem {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The task; empty if only the state of a known task is given.
    pub text: String,
    /// Its state.
    pub status: PlanStatus,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

impl Plan {
    pub(super) fn of_list(arguments: &Arguments<'_>) -> Self {
        let merges = arguments.flag("merge");
        let items = match arguments.value("plan") {
            Some(Json::Array(items)) => items.iter().filter_map(item).take(MOST_ITEMS).collect(),
            Some(Json::String(text)) => match Json::parse(text) {
                Ok(Json::Array(items)) => items.into_iter().filter_map(|value| item(&value.into_owned())).collect(),
                _ => Self::of_text(text).items,
            },
            _ => Vec::new(),
        };
        Self { items, merges }
    }

    /// Reads one item of a list that the agent keeps by ids.
    pub(super) fn of_item(arguments: &Arguments<'_>) -> Self {
        let text = arguments.text("plan-item").unwrap_or_default().trim().to_owned();
        let id = arguments.value("item-id").and_then(id_text);
        let status = arguments.text("status").and_then(|word| table().status(word)).unwrap_or(PlanStatus::Pending);
        let items = if text.is_empty() && id.is_none() { Vec::new() } else { vec![PlanItem { id, text, status }] };
        Self { items, merges: true }
    }

    /// Reads a list in Markdown: its checkboxes, or its list items if there are none.
    pub fn of_text(text: &str) -> Self {
        let lines = || text.lines().map(str::trim).filter_map(point).take(MOST_ITEMS);
        let boxes: Vec<PlanItem> = lines().filter_map(ticked).collect();
        let points = || lines().filter(|point| !point.is_empty()).map(|point| new_item(point, PlanStatus::Pending));
        Self { items: if boxes.is_empty() { points().collect() } else { boxes }, merges: false }
    }
}

/// The questions of a call.
pub(super) fn questions(arguments: &Arguments<'_>) -> Vec<String> {
    match arguments.value("questions") {
        Some(Json::Array(items)) => {
            let text = |item: &Json<'static>| match item {
                Json::String(text) => Some(text.to_string()),
                item => Arguments::of(Some(item)).text("question").map(str::to_owned),
            };
            items.iter().filter_map(text).collect()
        }
        _ => arguments.text("questions").map(str::to_owned).into_iter().collect(),
    }
}

fn item(value: &Json<'static>) -> Option<PlanItem> {
    if let Some(text) = value.as_str() {
        return ticked(text.trim())
            .or_else(|| point(text.trim()).and_then(ticked))
            .or_else(|| (!text.trim().is_empty()).then(|| new_item(text.trim(), PlanStatus::Pending)));
    }
    let arguments = Arguments::of(Some(value));
    let text = arguments.text("item").unwrap_or_default().trim().to_owned();
    let id = arguments.value("item-id").and_then(id_text);
    let is_done = arguments.flag("completed") || arguments.flag("done");
    let told = arguments.text("status").and_then(|word| table().status(word));
    let status = told.unwrap_or(if is_done { PlanStatus::Completed } else { PlanStatus::Pending });
    (!text.is_empty() || id.is_some()).then_some(PlanItem { id, text, status })
}

fn id_text(id: &Json<'static>) -> Option<String> {
    match id {
        Json::String(text) if !text.is_empty() => Some(text.to_string()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn new_item(text: &str, status: PlanStatus) -> PlanItem {
    PlanItem { id: None, text: text.to_owned(), status }
}

/// The text of a list item: `- x`, `* x`, `3. x`, or a checkbox without a marker.
fn point(line: &str) -> Option<&str> {
    let behind_number = || {
        let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))).flatten()
    };
    let behind_mark = ["- ", "* ", "+ ", "• "].into_iter().find_map(|mark| line.strip_prefix(mark));
    behind_mark.or_else(behind_number).map(str::trim).or_else(|| line.starts_with('[').then_some(line))
}

/// Reads an item with a checkbox: `[x] y`.
fn ticked(point: &str) -> Option<PlanItem> {
    let (mark, text) = point.strip_prefix('[')?.split_once(']')?;
    let status = match mark.trim() {
        "" => PlanStatus::Pending,
        "x" | "X" | "✓" | "✔" => PlanStatus::Completed,
        "-" | "~" | "/" | ">" | "*" | "•" => PlanStatus::InProgress,
        _ => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| new_item(text, status))
}
