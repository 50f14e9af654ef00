//! `show`, `list`, `search`, `recall` and `tree`: the content of a session, and a drawing of its branches. Nothing is
//! written.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{ListOptions, RecallOptions, SearchOptions, ShowOptions, Shown, TreeOptions};
use super::connection::{
    ALL_SESSIONS, Connection, Source, diagnostic_lines, directory, length, list as items, number, warn,
};
use super::failure::Failure;
use super::terminal::{Terminal, count, cut, line_of_member, one_line, safe_lines, thousands, width, wrapped_lines};

/// Shows the context, the last summary or one entry of a session.
pub(super) async fn show(options: &ShowOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    if let Some(id) = options.entry.as_ref().filter(|_| options.what != Shown::Entry) {
        let id = one_line(id);
        return Err(Failure::Arguments(format!("only `entry` takes an id: show FILE entry {id}")));
    }
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open(true).await?;
    let found = connection.finish(shown_value(&connection, &session, options).await).await?;
    let text = match (options.json, options.what) {
        (true, _) => found.to_string(),
        (false, Shown::Context) => context_text(&found, terminal),
        (false, Shown::Summary) => wrapped_lines(&safe_lines(found["summary"].as_str()), terminal.columns()),
        (false, Shown::Entry) => entry_text(&found["entry"], terminal),
    };
    print(&text, output)
}

async fn shown_value(connection: &Connection, session: &Value, options: &ShowOptions) -> Result<Value, Failure> {
    let id = &session["sessionId"];
    match options.what {
        Shown::Context => connection.call("getContext", &json!({ "sessionId": id })).await,
        Shown::Entry => {
            let entry = options.entry.as_deref().unwrap_or_default();
            connection.call("getEntry", &json!({ "sessionId": id, "entryId": entry })).await
        }
        Shown::Summary => compaction_of_summary(connection, id).await,
    }
}

/// The compaction entry with the summary of the current branch.
pub(super) async fn compaction_of_summary(connection: &Connection, session_id: &Value) -> Result<Value, Failure> {
    let compaction = last_compaction(connection, session_id).await?;
    compaction.ok_or_else(|| Failure::nothing("no compaction is on the current branch, so there is no summary"))
}

/// The last compaction entry of the current branch.
pub(super) async fn last_compaction(connection: &Connection, session_id: &Value) -> Result<Option<Value>, Failure> {
    let branch = connection.call("getBranch", &json!({ "sessionId": session_id })).await?;
    Ok(items(&branch["entries"]).iter().rfind(|entry| entry["type"] == "compaction").cloned())
}

/// The messages of a context, with their number and tokens.
pub(super) fn context_text(context: &Value, terminal: Terminal) -> String {
    let tokens = thousands(number(&context["tokens"]["tokens"]));
    let title = format!("{}, {tokens} tokens", count(length(&context["messages"]), "message"));
    let parts = items(&context["messages"]).iter().map(|message| {
        let role = one_line(message["role"].as_str().unwrap_or("message"));
        format!("\n{}\n{}", terminal.cyan(&role), wrapped_lines(&message_text(message), terminal.columns()))
    });
    [terminal.bold(&title)].into_iter().chain(parts).collect::<Vec<_>>().join("\n")
}

fn entry_text(entry: &Value, terminal: Terminal) -> String {
    let member = |name: &str| one_line(entry[name].as_str().unwrap_or("none"));
    let title = format!("{} {}, {}", member("type"), member("id"), member("timestamp"));
    let text = match (entry.get("message"), entry["summary"].as_str()) {
        (Some(message), _) => message_text(message),
        (None, Some(summary)) => safe_lines(Some(summary)),
        (None, None) => serde_json::to_string_pretty(entry).unwrap_or_default(),
    };
    format!("{}\n{}", terminal.bold(&title), wrapped_lines(&text, terminal.columns()))
}

/// The text of a message. A tool call is shown as its name and arguments.
fn message_text(message: &Value) -> String {
    let block = |block: &Value| match block["type"].as_str() {
        Some("text") => safe_lines(block["text"].as_str()),
        Some("toolCall") => format!("{}({})", line_of_member(block, "name"), one_line(&block["arguments"].to_string())),
        other => format!("[{}]", one_line(other.unwrap_or("block"))),
    };
    match ["summary", "output", "content"].iter().find_map(|name| message[*name].as_str()) {
        Some(text) => safe_lines(Some(text)),
        None => items(&message["content"]).iter().map(block).collect::<Vec<_>>().join("\n"),
    }
}

/// Lists sessions, newest activity first.
pub(super) async fn list(options: &ListOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let connection = Connection::start(Path::new(ALL_SESSIONS), directory(None)?).await?;
    let params = json!({ "all": options.all, "limit": options.limit });
    let found = connection.finish(connection.call("listSessions", &params).await).await?;
    if options.json {
        return print(&found.to_string(), output);
    }
    if length(&found["sessions"]) == 0 {
        let here = "no session of this directory was found; --all lists those of all directories";
        return Err(Failure::nothing(if options.all { "no session was found" } else { here }));
    }
    let mut text = session_list(&found, terminal);
    if found["nextCursor"].is_string() {
        text += &format!("\n{}", terminal.dim("There are more: --limit shows them."));
    }
    print(&text, output)
}

/// Two lines for each session in the result of `listSessions`.
pub(super) fn session_list(found: &Value, terminal: Terminal) -> String {
    let lines = |session: &Value| {
        let title = session["name"].as_str().map_or_else(|| line_of_member(session, "firstMessage"), one_line);
        let messages = count(number(&session["messageCount"]), "message");
        let about = format!("{}  {messages}  {title}", line_of_member(session, "modified"));
        format!("{}\n  {}", terminal.bold(&cut(&about, terminal.columns())), line_of_member(session, "path"))
    };
    items(&found["sessions"]).iter().map(lines).collect::<Vec<_>>().join("\n")
}

/// Finds entries by their words.
pub(super) async fn search(options: &SearchOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let mut params = json!({ "query": options.query, "limit": options.limit });
    let source = options.file.as_deref().map(|file| Source::of(file, false)).transpose()?;
    let connection = match &source {
        Some(source) => {
            let (connection, session) = source.open(true).await?;
            params["sessionId"] = session["sessionId"].clone();
            connection
        }
        None => {
            params["all"] = json!(true);
            Connection::start(Path::new(ALL_SESSIONS), json!({})).await?
        }
    };
    let found = connection.finish(connection.call("searchSession", &params).await).await?;
    if options.json {
        return print(&found.to_string(), output);
    }
    if length(&found["hits"]) == 0 {
        return Err(Failure::nothing("no entry has these words"));
    }
    let line = |hit: &Value| {
        let path = if source.is_some() { String::new() } else { format!("{}\n  ", line_of_member(hit, "path")) };
        let head = format!("{path}{} {}", line_of_member(hit, "entryId"), role_or_type(hit));
        let preview = cut(&line_of_member(hit, "preview"), terminal.columns().saturating_sub(24));
        format!("{}  {preview}", terminal.cyan(&head))
    };
    print(&items(&found["hits"]).iter().map(line).collect::<Vec<_>>().join("\n"), output)
}

/// Prints the passages that compactions removed from the context and that answer a question.
pub(super) async fn recall(options: &RecallOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open(true).await?;
    let params = json!({ "sessionId": session["sessionId"], "query": options.query, "maxTokens": options.max_tokens });
    let found = connection.finish(connection.call("recall", &params).await).await?;
    if options.json {
        return print(&found.to_string(), output);
    }
    if length(&found["entries"]) == 0 {
        return Err(Failure::nothing("nothing that a compaction took out of the context answers this"));
    }
    let part = |entry: &Value| {
        let (id, time) = (line_of_member(entry, "entryId"), line_of_member(entry, "timestamp"));
        let head = terminal.cyan(&format!("{id} {}, {time}", role_or_type(entry)));
        format!("{head}\n{}", wrapped_lines(&safe_lines(entry["text"].as_str()), terminal.columns()))
    };
    print(&items(&found["entries"]).iter().map(part).collect::<Vec<_>>().join("\n\n"), output)
}

/// The role of a message; the type of any other entry.
pub(super) fn role_or_type(entry: &Value) -> String {
    entry["role"].as_str().map_or_else(|| line_of_member(entry, "type"), one_line)
}

/// Writes `text` with one line end after it.
pub(super) fn print(text: &str, output: &mut dyn Write) -> Result<(), Failure> {
    writeln!(output, "{}", text.trim_end()).map_err(Failure::Output)
}

/// A session with more turns than this shows only the turns at the ends of unbranched stretches.
const MANY_TURNS: usize = 60;
/// Rails beyond this number are drawn as a number, so that deep nesting leaves room for text.
const MOST_RAILS: usize = 12;
/// Columns of the kind of an entry.
const KIND_COLUMNS: usize = 10;

/// Draws the tree of a session to `output`.
pub(super) async fn run(options: &TreeOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open_with(true, json!({ "entryBodies": false })).await?;
    if options.json {
        warn(diagnostic_lines(items(&session["diagnostics"])));
    }
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
    drawn.extend(items(&session["diagnostics"]).iter().map(warning));
    drawn.join("\n")
}

/// A diagnostic of the server on one line, with the line of the file that it is about.
pub(super) fn diagnostic_line(diagnostic: &Value) -> String {
    let line = diagnostic["line"].as_u64().map(|line| format!("line {line}: ")).unwrap_or_default();
    format!("{line}{}", one_line(diagnostic["message"].as_str().unwrap_or_default()))
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
            items(&tree["nodes"]).iter().map(|node| Node::deserialize(node).unwrap_or_default()).collect();
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

/// Drawings of trees.
#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    /// A node per line: id, parent (`-` for none), type or role, label (`-` for none).
    fn tree(leaf: &str, nodes: &str) -> Value {
        let node = |line: &str| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let is_entry_type = matches!(parts[2], "compaction" | "branch_summary" | "label");
            let (entry_type, role) = if is_entry_type { (parts[2], None) } else { ("message", Some(parts[2])) };
            let label = parts.get(3).filter(|label| **label != "-");
            let parent = Some(parts[1]).filter(|parent| *parent != "-");
            json!({ "id": parts[0], "parentId": parent, "type": entry_type, "role": role, "label": label,
                    "preview": format!("text of {}", parts[0]) })
        };
        let nodes: Vec<Value> = nodes.lines().map(str::trim).filter(|line| !line.is_empty()).map(node).collect();
        json!({ "leafId": leaf, "nodes": nodes })
    }

    fn drawn(tree: &Value, all: bool) -> String {
        drawing(&json!({ "path": "/home/ines/work.jsonl" }), tree, all, Terminal::plain(60)) + "\n"
    }

    fn check(leaf: &str, nodes: &str, expected: Expect) {
        expected.assert_eq(&drawn(&tree(leaf, nodes), false));
    }

    #[test]
    fn a_chain_is_folded_between_its_turns() {
        check(
            "f",
            "a - user
         b a assistant
         c b toolResult
         d c assistant
         e d user
         f e assistant",
            expect![[r#"
            work.jsonl: 6 entries, 1 branch
            • a user       text of a
            ⋮ 3 entries
            • e user       text of e
            • f assistant  text of f ◀ leaf
            Entries without branches are folded; --all shows them.
        "#]],
        );
    }

    #[test]
    fn the_branch_of_the_leaf_stays_at_the_left() {
        check(
            "h",
            "a - user
         b a assistant
         h b user
         c b user
         d c assistant
         e d assistant given-up
         f d branch_summary
         g f assistant",
            expect![[r#"
            work.jsonl: 8 entries, 3 branches
            • a user       text of a
            • b assistant  text of b
            ├─• c user       text of c
            │ • d assistant  text of d
            │ ├─• e assistant  text of e [given-up]
            │ • f summary    text of f
            │ • g assistant  text of g
            • h user       text of h ◀ leaf
        "#]],
        );
    }

    #[test]
    fn compactions_and_labels_are_never_folded() {
        check(
            "e",
            "a - user
         b a assistant done
         c b compaction
         d c assistant
         e d label",
            expect![[r#"
            work.jsonl: 5 entries, 1 branch
            • a user       text of a
            • b assistant  text of b [done]
            • c compaction text of c
            ⋮ 1 entry
            • e label      text of e ◀ leaf
            Entries without branches are folded; --all shows them.
        "#]],
        );
    }

    #[test]
    fn several_roots_missing_parents_and_cycles_are_drawn_all_the_same() {
        check(
            "b",
            "a - user
         b a assistant
         c gone user
         d e user
         e d assistant
         f f user",
            expect![[r#"
            work.jsonl: 6 entries, 4 branches
            ├─• c user       text of c
            ├─• d user       text of d
            │ • e assistant  text of e
            ├─• f user       text of f
            • a user       text of a
            • b assistant  text of b ◀ leaf
        "#]],
        );
    }

    #[test]
    fn an_empty_session_has_a_title() {
        expect![[r#"
        work.jsonl: 0 entries, 0 branches
    "#]]
        .assert_eq(&drawn(&json!({ "leafId": null, "nodes": [] }), false));
    }

    #[test]
    fn all_shows_every_entry() {
        let chain = tree("c", "a - user\n b a assistant\n c b toolResult");
        assert_eq!(drawn(&chain, true).lines().count(), 4);
    }

    #[test]
    fn lines_fit_the_terminal_and_carry_no_control_characters() {
        let mut tree = tree("a", "a - user a-label-that-is-much-longer-than-any-terminal-would-ever-have-room-for");
        tree["nodes"][0]["preview"] = json!("\u{1b}[2J水位計 ".repeat(40));
        for line in drawn(&tree, true).lines() {
            assert!(width(line) <= 60, "{line}");
            assert!(!line.contains('\u{1b}'));
        }
    }

    #[test]
    fn depth_has_no_limit() {
        // A comb: a chain of 40000 entries, and a branch at every hundredth.
        let mut nodes = String::from("n0 - user\n");
        for number in 1..40_000 {
            let role = if number % 100 == 0 { "user" } else { "assistant" };
            writeln!(nodes, "n{number} n{} {role}", number - 1).expect("a string takes everything");
            if number % 100 == 0 {
                writeln!(nodes, "b{number} n{} user", number - 1).expect("a string takes everything");
            }
        }
        let text = drawn(&tree("n39999", &nodes), false);
        assert!(
            text.starts_with("work.jsonl: 40399 entries, 400 branches")
                || text.starts_with("work.jsonl: 40,399 entries, 400 branches")
        );
        assert!(text.contains("◀ leaf\n"));
    }

    #[test]
    fn nested_branches_keep_room_for_text() {
        // Every branch branches again: rails would fill the line.
        let mut nodes = String::from("n0 - user\n");
        for number in 1..200 {
            writeln!(nodes, "n{number} n{} user\nm{number} n{} user", number - 1, number - 1).expect("a string");
        }
        let text = drawn(&tree("m1", &nodes), false);
        assert!(text.contains("(+"));
        assert!(text.lines().all(|line| width(line) <= 60));
    }
}
