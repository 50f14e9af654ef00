//! Which entries of a tree are shown, in which order and how deep.
//!
//! The branch of the leaf is the trunk and stays at the left; every other branch is indented where
//! it leaves. Nothing here recurses, so that the depth of a session has no limit.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

/// Sessions with more turns than this show only those at the ends of stretches.
const MANY_TURNS: usize = 60;

/// An entry, as `getTree` gives it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) parent_id: Option<String>,
    #[serde(rename = "type")]
    pub(crate) entry_type: String,
    pub(crate) role: Option<String>,
    pub(crate) preview: String,
    pub(crate) label: Option<String>,
}

/// One line of the drawing.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    /// For each open branch to the left: whether something follows below.
    pub(super) rails: Vec<bool>,
    /// How it hangs on what is above.
    pub(super) joint: Joint,
    /// What it shows.
    pub(super) shown: Shown<'a>,
}

/// How a line hangs on what is above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// It follows at the same depth.
    Follows,
    /// A branch begins here; more follow at its entry.
    Branch,
}

/// What a line shows.
#[derive(Debug, Clone)]
pub(super) enum Shown<'a> {
    /// One entry.
    Entry {
        /// The entry.
        node: &'a Node,
        /// Whether the session stands there.
        is_leaf: bool,
    },
    /// A stretch of entries.
    Folded(usize),
}

/// The tree, read.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    nodes: Vec<Node>,
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    leaf: Option<usize>,
    show_all: bool,
    show_turns: bool,
}

impl Outline {
    /// Reads the result of `getTree`; `show_all` folds nothing.
    pub(crate) fn read(tree: &Value, show_all: bool) -> Self {
        let nodes = tree["nodes"].as_array().map_or(&[][..], Vec::as_slice);
        let nodes: Vec<Node> = nodes.iter().map(|node| Node::deserialize(node).unwrap_or_default()).collect();
        let mut outline = Self { show_all, children: vec![Vec::new(); nodes.len()], nodes, ..Self::default() };
        let positions = outline.connect();
        outline.leaf = tree["leafId"].as_str().and_then(|id| positions.get(id).copied());
        outline.put_trunk_last();
        outline.show_turns = outline.nodes.iter().filter(|node| is_turn(node)).count() <= MANY_TURNS;
        outline
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Number of branches: entries that nothing follows.
    pub(crate) fn ends(&self) -> usize {
        self.children.iter().filter(|children| children.is_empty()).count()
    }

    /// The node with this label.
    pub(crate) fn labelled(&self, label: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.label.as_deref() == Some(label))
    }

    /// The lines, from the top.
    pub(super) fn lines(&self) -> Vec<Line<'_>> {
        let mut lines = Vec::new();
        let last_root = self.roots.len().saturating_sub(1);
        // What is still to be drawn: where a branch starts, and the rails to its left.
        let mut open: Vec<(usize, Vec<bool>, Joint)> = Vec::new();
        for (position, root) in self.roots.iter().enumerate().rev() {
            let joint = if position == last_root { Joint::Follows } else { Joint::Branch };
            let rails = if joint == Joint::Branch { vec![true] } else { Vec::new() };
            open.push((*root, rails, joint));
        }
        while let Some((start, rails, joint)) = open.pop() {
            let end = self.draw_stretch(start, &rails, joint, &mut lines);
            let Some((trunk, branches)) = self.children[end].split_last() else { continue };
            open.push((*trunk, rails.clone(), Joint::Follows));
            for branch in branches.iter().rev() {
                let mut rails = rails.clone();
                rails.push(true);
                open.push((*branch, rails, Joint::Branch));
            }
        }
        lines
    }

    /// Draws the entries from `start` up to the next fork or end, and gives that entry.
    fn draw_stretch<'a>(&'a self, start: usize, rails: &[bool], joint: Joint, lines: &mut Vec<Line<'a>>) -> usize {
        let (mut at, mut folded, mut joint) = (start, 0, joint);
        loop {
            let is_last = self.children[at].len() != 1;
            if at == start || is_last || self.is_worth_a_line(at) {
                if folded > 0 {
                    lines.push(Line { rails: rails.to_vec(), joint: Joint::Follows, shown: Shown::Folded(folded) });
                }
                let shown = Shown::Entry { node: &self.nodes[at], is_leaf: self.leaf == Some(at) };
                lines.push(Line { rails: rails.to_vec(), joint, shown });
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

    fn is_worth_a_line(&self, position: usize) -> bool {
        let node = &self.nodes[position];
        let is_summary = matches!(node.entry_type.as_str(), "compaction" | "branch_summary");
        let turn = is_turn(node) && self.show_turns;
        self.show_all || is_summary || turn || node.label.is_some() || self.leaf == Some(position)
    }

    /// Finds parents; entries whose parent is missing or comes later are roots, which breaks cycles.
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

    /// Puts the child on the leaf's branch last, where the drawing goes on at the same depth.
    fn put_trunk_last(&mut self) {
        let mut on_trunk = vec![false; self.nodes.len()];
        let parents = self.parents();
        let mut at = self.leaf;
        while let Some(position) = at {
            on_trunk[position] = true;
            at = parents[position];
        }
        for siblings in self.children.iter_mut().chain(std::iter::once(&mut self.roots)) {
            siblings.sort_by_key(|position| on_trunk[*position]);
        }
    }

    fn parents(&self) -> Vec<Option<usize>> {
        let mut parents = vec![None; self.nodes.len()];
        for (parent, children) in self.children.iter().enumerate() {
            children.iter().for_each(|child| parents[*child] = Some(parent));
        }
        parents
    }
}

fn is_turn(node: &Node) -> bool {
    node.role.as_deref() == Some("user")
}
