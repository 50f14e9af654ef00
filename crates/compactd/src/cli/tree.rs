//! `tree`: a drawing of the branches of a session.
//!
//! The branch of the leaf is the trunk and stays at the left. Every other branch is indented where it leaves the trunk.
//! Nothing here recurses, so a session may be arbitrarily deep.

use std::collections::HashMap;
use std::io::Write;

use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::TreeOptions;
use super::connection::{Source, list};
use super::failure::Failure;
use super::inspect::print;
use super::report::diagnostic_line;
use super::terminal::{Terminal, count, cut, one_line, width};

/// A session with more turns than this shows only the turns at the ends of unbranched stretches.
const MANY_TURNS: usize = 60;
/// Rails beyond this number are drawn as a number, so that deep nesting leaves room for text.
const MOST_RAILS: usize = 12;
/// Columns of the kind of an entry.
const KIND_COLUMNS: usize = 10;

/// Draws the tree of a session to `output`.
pub(super) async fn run(options: &TreeOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open(true).await?;
    let tree = connection.call("getTree", &json!({ "sessionId": session["sessionId"] })).await;
    let tree = connection.finish(tree).await?;
    let text = if options.json { tree.to_string() } else { drawing(&session, &tree, options.all, terminal) };
    print(&text, output)
}

/// The drawing of the result of `getTree`, with a title and the diagnostics of the file.
pub(super) fn drawing(session: &Value, tree: &Value, show_all: bool, terminal: Terminal) -> String {
    let outline = Outline::read(tree, show_all);
    let lines = outline.lines();
    let mut drawn = vec![terminal.bold(&title(session, &outline))];
    drawn.extend(lines.iter().map(|line| line.drawn(terminal)));
    if lines.iter().any(|line| matches!(line.content, Content::Folded(_))) {
        drawn.push(terminal.dim("Entries without branches are folded; --all shows them."));
    }
    let warning = |diagnostic: &Value| terminal.yellow(&format!("! {}", diagnostic_line(diagnostic)));
    drawn.extend(list(&session["diagnostics"]).iter().map(warning));
    drawn.join("\n")
}

fn title(session: &Value, outline: &Outline) -> String {
    let path = one_line(session["path"].as_str().unwrap_or("session in memory"));
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let version = session["migratedFrom"].as_u64().map(|version| format!(", version {version}")).unwrap_or_default();
    let (entries, ends) = (count(outline.len() as u64, "entry"), count(outline.ends() as u64, "branch"));
    format!("{name}: {entries}, {ends}{version}")
}

/// An entry in the result of `getTree`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Node {
    pub(super) id: String,
    parent_id: Option<String>,
    #[serde(rename = "type")]
    entry_type: String,
    role: Option<String>,
    preview: String,
    label: Option<String>,
}

/// The tree: its entries, and which of them are shown, in which order and how deep.
#[derive(Debug, Default)]
pub(super) struct Outline {
    nodes: Vec<Node>,
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    leaf: Option<usize>,
    show_all: bool,
    show_turns: bool,
}

impl Outline {
    /// Reads the result of `getTree`. `show_all` gives every entry a line.
    pub(super) fn read(tree: &Value, show_all: bool) -> Self {
        let nodes: Vec<Node> =
            list(&tree["nodes"]).iter().map(|node| Node::deserialize(node).unwrap_or_default()).collect();
        let mut outline = Self { show_all, children: vec![Vec::new(); nodes.len()], nodes, ..Self::default() };
        let positions = outline.connect();
        outline.leaf = tree["leafId"].as_str().and_then(|id| positions.get(id).copied());
        outline.put_trunk_last();
        outline.show_turns = outline.nodes.iter().filter(|node| is_turn(node)).count() <= MANY_TURNS;
        outline
    }

    /// The number of entries.
    fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of branches, which is the number of entries without children.
    pub(super) fn ends(&self) -> usize {
        self.children.iter().filter(|children| children.is_empty()).count()
    }

    /// The entry with this label.
    pub(super) fn labelled(&self, label: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.label.as_deref() == Some(label))
    }

    /// The lines, from top to bottom.
    fn lines(&self) -> Vec<Line<'_>> {
        let mut lines = Vec::new();
        let last_root = self.roots.len().saturating_sub(1);
        // The branches that are still to be drawn: their first entry, the number of rails, and the joint.
        let mut open: Vec<(usize, usize, Joint)> = Vec::new();
        for (position, root) in self.roots.iter().enumerate().rev() {
            let (rails, joint) = if position == last_root { (0, Joint::Follows) } else { (1, Joint::Branch) };
            open.push((*root, rails, joint));
        }
        while let Some((start, rails, joint)) = open.pop() {
            let end = self.push_stretch(start, rails, joint, &mut lines);
            let Some((trunk, branches)) = self.children[end].split_last() else { continue };
            open.push((*trunk, rails, Joint::Follows));
            open.extend(branches.iter().rev().map(|branch| (*branch, rails + 1, Joint::Branch)));
        }
        lines
    }

    /// Adds the lines of the entries from `start` to the next fork or end. Returns that last entry.
    fn push_stretch<'a>(&'a self, start: usize, rails: usize, joint: Joint, lines: &mut Vec<Line<'a>>) -> usize {
        let (mut at, mut folded, mut joint) = (start, 0, joint);
        loop {
            let is_last = self.children[at].len() != 1;
            if at == start || is_last || self.has_line(at) {
                if folded > 0 {
                    lines.push(Line { rails, joint: Joint::Follows, content: Content::Folded(folded) });
                }
                let content = Content::Entry { node: &self.nodes[at], is_leaf: self.leaf == Some(at) };
                lines.push(Line { rails, joint, content });
                (folded, joint) = (0, Joint::Follows);
            } else {
                folded += 1;
            }
            if is_last {
                return at;
            }
            at = self.children[at][0];
        }
    }

    fn has_line(&self, position: usize) -> bool {
        let node = &self.nodes[position];
        let is_summary = matches!(node.entry_type.as_str(), "compaction" | "branch_summary");
        let turn = is_turn(node) && self.show_turns;
        self.show_all || is_summary || turn || node.label.is_some() || self.leaf == Some(position)
    }

    /// Links entries to their parents. An entry whose parent is missing or comes later is a root, so there are no
    /// cycles.
    fn connect(&mut self) -> HashMap<String, usize> {
        let mut positions: HashMap<String, usize> = HashMap::with_capacity(self.nodes.len());
        for position in 0..self.nodes.len() {
            let parent = self.nodes[position].parent_id.as_deref().and_then(|id| positions.get(id)).copied();
            match parent {
                Some(parent) => self.children[parent].push(position),
                None => self.roots.push(position),
            }
            positions.entry(self.nodes[position].id.clone()).or_insert(position);
        }
        positions
    }

    /// Sorts siblings so that the one on the trunk is last. The drawing continues there at the same depth.
    fn put_trunk_last(&mut self) {
        let mut parents = vec![None; self.nodes.len()];
        for (parent, children) in self.children.iter().enumerate() {
            children.iter().for_each(|child| parents[*child] = Some(parent));
        }
        let mut on_trunk = vec![false; self.nodes.len()];
        let mut at = self.leaf;
        while let Some(position) = at {
            on_trunk[position] = true;
            at = parents[position];
        }
        for siblings in self.children.iter_mut().chain(std::iter::once(&mut self.roots)) {
            siblings.sort_by_key(|position| on_trunk[*position]);
        }
    }
}

fn is_turn(node: &Node) -> bool {
    node.role.as_deref() == Some("user")
}

/// One line of the drawing.
#[derive(Debug, Clone)]
struct Line<'a> {
    /// Number of open branches to the left.
    rails: usize,
    joint: Joint,
    content: Content<'a>,
}

/// How a line connects to the line above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// It continues at the same depth.
    Follows,
    /// It begins a branch.
    Branch,
}

#[derive(Debug, Clone)]
enum Content<'a> {
    Entry {
        node: &'a Node,
        is_leaf: bool,
    },
    /// The number of entries of an unbranched stretch without lines.
    Folded(usize),
}

impl Line<'_> {
    /// The line as text, cut to the terminal.
    fn drawn(&self, terminal: Terminal) -> String {
        let rails = self.drawn_rails();
        let left = terminal.columns().saturating_sub(width(&rails));
        let text = match &self.content {
            Content::Folded(entries) => terminal.dim(&format!("⋮ {}", count(*entries as u64, "entry"))),
            Content::Entry { node, is_leaf } => drawn_entry(node, *is_leaf, left, terminal),
        };
        format!("{}{text}", terminal.dim(&rails))
    }

    fn drawn_rails(&self) -> String {
        let (shown, folded) = (self.rails.min(MOST_RAILS), self.rails.saturating_sub(MOST_RAILS));
        let mut rails = "│ ".repeat(shown);
        if self.joint == Joint::Branch && shown > 0 {
            rails = "│ ".repeat(shown - 1) + "├─";
        }
        if folded > 0 {
            rails += &format!("(+{folded}) ");
        }
        rails
    }
}

fn drawn_entry(node: &Node, is_leaf: bool, columns: usize, terminal: Terminal) -> String {
    let kind = kind(node);
    let label = node.label.as_deref().map(|label| format!(" [{}]", cut(&one_line(label), columns / 3)));
    let leaf = if is_leaf { " ◀ leaf" } else { "" };
    let tail = label.as_deref().map_or(0, width) + width(leaf);
    let id = cut(&one_line(&node.id), 8);
    let used = width(&id) + KIND_COLUMNS + 4 + tail;
    let preview = one_line(&node.preview);
    // Every summary begins with this heading.
    let preview = cut(preview.strip_prefix("## Goal - ").unwrap_or(&preview), columns.saturating_sub(used));
    let (id, kind) = (terminal.dim(&id), paint(&kind, terminal));
    let (label, leaf) = (terminal.yellow(label.as_deref().unwrap_or_default()), terminal.green(leaf));
    format!("• {id} {kind} {preview}{label}{leaf}").trim_end().to_owned()
}

/// The kind of an entry, padded to its columns.
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

#[cfg(test)]
mod tests;
