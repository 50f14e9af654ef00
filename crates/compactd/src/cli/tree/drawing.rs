//! Lines of the tree as text.

use super::outline::{Joint, Line, Node, Shown};
use crate::cli::terminal::{Terminal, cut, one_line, width};
use crate::cli::text::count;

/// Rails beyond this are drawn as a number, so that deep nesting leaves room for text.
const MOST_RAILS: usize = 12;
/// Columns for the kind of an entry.
const KIND_COLUMNS: usize = 10;

/// One line, cut to the terminal.
pub(super) fn line(line: &Line<'_>, terminal: Terminal) -> String {
    let rails = rails(line);
    let left = terminal.columns().saturating_sub(width(&rails));
    let text = match &line.shown {
        Shown::Folded(entries) => terminal.dim(&format!("⋮ {}", count(*entries as u64, "entry"))),
        Shown::Entry { node, is_leaf } => entry(node, *is_leaf, left, terminal),
    };
    format!("{}{text}", terminal.dim(&rails))
}

fn rails(line: &Line<'_>) -> String {
    let depth = line.rails.len();
    let (shown, folded) = (depth.min(MOST_RAILS), depth.saturating_sub(MOST_RAILS));
    let is_branch = line.joint == Joint::Branch;
    let mut rails = String::new();
    for position in 0..shown {
        let is_innermost = position + 1 == shown;
        rails += if is_branch && is_innermost { "├─" } else { "│ " };
    }
    if folded > 0 {
        rails += &format!("(+{folded}) ");
    }
    rails
}

fn entry(node: &Node, is_leaf: bool, columns: usize, terminal: Terminal) -> String {
    let kind = kind(node);
    let label = node.label.as_deref().map(|label| format!(" [{}]", cut(&one_line(label), columns / 3)));
    let leaf = if is_leaf { " ◀ leaf" } else { "" };
    let tail = label.as_deref().map_or(0, width) + width(leaf);
    let id = cut(&one_line(&node.id), 8);
    let used = width(&id) + KIND_COLUMNS + 4 + tail;
    let preview = cut(preview(node).as_str(), columns.saturating_sub(used));
    let (id, kind) = (terminal.dim(&id), paint(&kind, terminal));
    let (label, leaf) = (terminal.yellow(label.as_deref().unwrap_or_default()), terminal.green(leaf));
    format!("• {id} {kind} {preview}{label}{leaf}").trim_end().to_owned()
}

/// The start of the text; summaries all start with the same heading, which tells nothing.
fn preview(node: &Node) -> String {
    let preview = one_line(&node.preview);
    preview.strip_prefix("## Goal - ").map_or(preview.clone(), str::to_owned)
}

fn kind(node: &Node) -> String {
    let kind = match (node.entry_type.as_str(), node.role.as_deref()) {
        ("message", Some("toolResult")) => "result",
        ("message", Some("bashExecution")) => "shell",
        ("message", Some(role)) => role,
        ("branch_summary", _) => "summary",
        ("model_change", _) => "model",
        ("thinking_level_change", _) => "thinking",
        ("session_info", _) => "name",
        ("custom_message", _) => "custom",
        ("context_edit", _) => "edit",
        (entry_type, _) => entry_type,
    };
    let kind = cut(&one_line(kind), KIND_COLUMNS);
    format!("{kind}{}", " ".repeat(KIND_COLUMNS.saturating_sub(width(&kind))))
}

fn paint(kind: &str, terminal: Terminal) -> String {
    match kind.trim_end() {
        "user" => terminal.bold(kind),
        "compaction" | "summary" => terminal.yellow(kind),
        _ => terminal.cyan(kind),
    }
}
