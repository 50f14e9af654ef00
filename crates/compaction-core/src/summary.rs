//! Summaries: headings, parsing and rendering (docs/summaries.md, "Format").

mod files;
mod snapshot;

use std::ops::{Index, IndexMut};

use crate::entry::FileLists;
use files::split_file_blocks;
pub(crate) use files::start_of_file_blocks;
pub use files::{ShownFiles, append_file_blocks, append_shown_files, remove_file_blocks};

/// Placeholder of models under an empty heading. Our own summaries leave it empty.
pub(crate) const NONE: &str = "(none)";

/// A parsed summary: its sections, the contexts of split turns, and its files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SummaryDocument {
    /// The summary itself.
    pub body: Sections,
    /// The contexts of split turns, oldest first.
    pub turn_contexts: Vec<Sections>,
    /// The files in the file blocks.
    pub files: FileLists,
}

/// The items under each known heading, and all other text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sections {
    items: [Vec<String>; Section::ALL.len()],
    /// Text before the first heading or under headings that the format does not have.
    pub other: Vec<OtherSection>,
}

/// Text that the format has no section for, kept so that nothing is lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherSection {
    /// The heading's line, empty for text before the first heading.
    pub heading: String,
    /// The lines below it, without leading and trailing blank lines.
    pub text: String,
}

impl Index<Section> for Sections {
    type Output = Vec<String>;

    fn index(&self, section: Section) -> &Vec<String> {
        &self.items[section as usize]
    }
}

impl IndexMut<Section> for Sections {
    fn index_mut(&mut self, section: Section) -> &mut Vec<String> {
        &mut self.items[section as usize]
    }
}

impl SummaryDocument {
    /// Parses a summary of any author. Never fails: headings may have any order and level or be
    /// missing, and items may have any list marker. All other text goes to [`Sections::other`].
    pub fn parse(text: &str) -> Self {
        let snapshot = snapshot::as_markdown(text);
        let (text, [read_files, modified_files]) = split_file_blocks(snapshot.as_deref().unwrap_or(text));
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let mut parts = lines.split(|line| *line == TURN_CONTEXT_MARKER).peekable();
        let mut sections = Vec::new();
        while let Some(part) = parts.next() {
            let part = if parts.peek().is_some() { without_rule(part) } else { part };
            sections.push(parse_sections(part));
        }
        let mut sections = sections.into_iter();
        Self {
            body: sections.next().unwrap_or_default(),
            turn_contexts: sections.collect(),
            files: FileLists { read_files, modified_files, left_out: 0 },
        }
    }

    /// The summary as text, with all headings of `kind` in order. Then come sections that `kind` does
    /// not have, if they are not empty, other text, contexts of split turns, and files.
    pub fn render(&self, kind: SummaryKind) -> String {
        let mut text = self.body.render(kind);
        for context in &self.turn_contexts {
            text = join_split_turn(Some(&text), &context.render(SummaryKind::TurnPrefix));
        }
        append_file_blocks(&text, &self.files.read_files, &self.files.modified_files)
    }
}

impl Sections {
    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.items.iter().all(Vec::is_empty) && self.other.is_empty()
    }

    /// These sections as text, with all headings of `kind` in order.
    pub fn render(&self, kind: SummaryKind) -> String {
        let mut out = String::new();
        for other in self.other.iter().filter(|other| other.heading.is_empty()) {
            push_part(&mut out, &other.text);
        }
        for heading in kind.outline() {
            self.render_heading(heading.text, heading.section, &mut out);
        }
        for section in Section::ALL.into_iter().filter(|section| !kind.has(*section) && !self[*section].is_empty()) {
            self.render_heading(section.heading(), Some(section), &mut out);
        }
        for other in self.other.iter().filter(|other| !other.heading.is_empty()) {
            push_part(&mut out, &other.heading);
            push_line(&mut out, &other.text);
        }
        out
    }

    fn render_heading(&self, heading: &str, section: Option<Section>, out: &mut String) {
        if out.ends_with(PROGRESS) {
            out.push('\n');
            out.push_str(heading);
        } else {
            push_part(out, heading);
        }
        let Some(section) = section else { return };
        for (number, item) in (1usize..).zip(&self[section]) {
            push_line(out, &render_item(section, number, item));
        }
    }
}

/// One item with its list marker. Further lines are indented so that they cannot be headings.
pub(crate) fn render_item(section: Section, number: usize, item: &str) -> String {
    let marker = match section.marker() {
        Marker::Bullet => "- ".to_owned(),
        Marker::Checked => "- [x] ".to_owned(),
        Marker::Unchecked => "- [ ] ".to_owned(),
        Marker::Number => format!("{number}. "),
    };
    let mut lines = item.lines();
    let mut out = marker + lines.next().unwrap_or_default();
    for line in lines {
        out.push('\n');
        if !line.is_empty() {
            out.push_str("  ");
            out.push_str(line);
        }
    }
    out
}

/// Appends `part` after a blank line.
fn push_part(out: &mut String, part: &str) {
    if !out.is_empty() && !part.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str(part);
}

/// Appends `line` as a new line.
fn push_line(out: &mut String, line: &str) {
    if !out.is_empty() && !line.is_empty() {
        out.push('\n');
    }
    out.push_str(line);
}

/// The line over the context of a split turn.
pub const TURN_CONTEXT_MARKER: &str = "**Turn Context (split turn):**";
/// Placeholder for a missing history.
pub const NO_PRIOR_HISTORY: &str = "No prior history.";

/// The summary of a split turn: the summary of the history, a rule, the marker, and the summary of the turn prefix.
/// Without new history, the previous summary is used; without either, `No prior history.` File blocks of the history
/// are dropped, because new ones follow at the end. A `prefix` without a history may have the state of the work, then
/// the marker, then the context. Such a prefix is already the whole summary.
pub fn join_split_turn(history_or_previous: Option<&str>, prefix: &str) -> String {
    let history = history_or_previous.map(remove_file_blocks);
    let history = history.as_deref().map(str::trim_end).filter(|text| !text.is_empty());
    if history.is_none() && prefix.lines().any(|line| line == TURN_CONTEXT_MARKER) {
        return prefix.to_owned();
    }
    format!("{}\n\n---\n\n{TURN_CONTEXT_MARKER}\n\n{prefix}", history.unwrap_or(NO_PRIOR_HISTORY))
}

/// What a summary covers. It determines the headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SummaryKind {
    /// The history before a cut.
    History,
    /// A branch that was left; it ends with Next Steps.
    Branch,
    /// The beginning of a turn whose end is kept.
    TurnPrefix,
}

/// A list of items under one heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the headings")]
pub enum Section {
    Goal,
    Constraints,
    Done,
    InProgress,
    Blocked,
    Decisions,
    NextSteps,
    CriticalContext,
    OriginalRequest,
    EarlyProgress,
    SuffixContext,
}

/// List marker of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Bullet,
    Checked,
    Unchecked,
    Number,
}

/// A heading, and its section unless only other headings follow it.
#[derive(Debug, Clone, Copy)]
struct Heading {
    text: &'static str,
    /// What prompts ask for below it.
    hint: &'static str,
    section: Option<Section>,
}

const PROGRESS: &str = "## Progress";

const fn heading(text: &'static str, section: Section, hint: &'static str) -> Heading {
    Heading { text, hint, section: Some(section) }
}

/// Critical Context stays last: summaries of branches have all headings but the last.
const HISTORY: [Heading; 9] = [
    heading(
        "## Goal",
        Section::Goal,
        "What the person wants now: the newest order that is still open, in their own words, and how far it is; then \
         the aim behind it.",
    ),
    heading(
        "## Constraints & Preferences",
        Section::Constraints,
        "- Each rule or taste that the person stated and that is in force now, and for what.",
    ),
    Heading { text: PROGRESS, hint: "", section: None },
    heading(
        "### Done",
        Section::Done,
        "- [x] Each piece of finished work: files, names and values that matter, and what showed that it works, or \
         \"(not tested)\"; what is not committed.",
    ),
    heading(
        "### In Progress",
        Section::InProgress,
        "- [ ] Each piece of work that is half done, file by file: what is there, what is missing or failed.",
    ),
    heading(
        "### Blocked",
        Section::Blocked,
        "- Each problem that stands in the way, with its exact error or the person's words.",
    ),
    heading(
        "## Key Decisions",
        Section::Decisions,
        "- **Decision**: why it was taken, and what it replaces; also what was refused or given up.",
    ),
    heading(
        "## Next Steps",
        Section::NextSteps,
        "1. What comes next, in order, with what it needs; first what was asked and not begun. A question \
         that waits for the person.",
    ),
    heading(
        "## Critical Context",
        Section::CriticalContext,
        "- What else the work needs and no file says: findings, causes, commands, places, data.",
    ),
];

const TURN_PREFIX: [Heading; 3] = [
    heading(
        "## Original Request",
        Section::OriginalRequest,
        "What the person asked for in this turn, in their own words, and what they answered or corrected since.",
    ),
    heading(
        "## Early Progress",
        Section::EarlyProgress,
        "- What was done and decided in this part of the turn, file by file: what is there, what failed.",
    ),
    heading(
        "## Context for Suffix",
        Section::SuffixContext,
        "- What the kept end relies on: files read, values found, errors met, what is left to do, and which earlier \
         rules or plans this turn ends.",
    ),
];

impl SummaryKind {
    /// The headings of this kind of summary, in order.
    pub fn headings(self) -> impl Iterator<Item = &'static str> {
        self.outline().iter().map(|heading| heading.text)
    }

    /// The headings of this kind of summary, each with a description of its content, as prompts show them.
    pub(crate) fn described(self) -> String {
        let lines = |heading: &Heading| match heading.hint {
            "" => format!("\n{}", heading.text),
            hint => format!("\n{}\n{hint}\n", heading.text),
        };
        self.outline().iter().map(lines).collect::<String>().trim().to_owned()
    }

    fn outline(self) -> &'static [Heading] {
        match self {
            SummaryKind::History => &HISTORY,
            SummaryKind::Branch => &HISTORY[..HISTORY.len() - 1],
            SummaryKind::TurnPrefix => &TURN_PREFIX,
        }
    }

    /// Whether summaries of this kind have `section`.
    pub fn has(self, section: Section) -> bool {
        self.outline().iter().any(|heading| heading.section == Some(section))
    }
}

impl Section {
    /// The section for the items of a turn's context once the turn is history.
    pub(crate) fn in_history(self) -> Self {
        match self {
            Section::OriginalRequest => Section::Goal,
            Section::EarlyProgress => Section::Done,
            Section::SuffixContext => Section::CriticalContext,
            section => section,
        }
    }

    /// Every section, in the order of the enum: lists of items are indexed by it.
    pub const ALL: [Section; 11] = [
        Section::Goal,
        Section::Constraints,
        Section::Done,
        Section::InProgress,
        Section::Blocked,
        Section::Decisions,
        Section::NextSteps,
        Section::CriticalContext,
        Section::OriginalRequest,
        Section::EarlyProgress,
        Section::SuffixContext,
    ];

    /// The heading's line.
    pub fn heading(self) -> &'static str {
        let all = HISTORY.iter().chain(&TURN_PREFIX);
        let mut own = all.filter(|heading| heading.section == Some(self));
        own.next().map_or("", |heading| heading.text)
    }

    fn marker(self) -> Marker {
        match self {
            Section::Done => Marker::Checked,
            Section::InProgress => Marker::Unchecked,
            Section::NextSteps => Marker::Number,
            _ => Marker::Bullet,
        }
    }
}

/// The kind of a heading line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadingLine {
    /// A heading of the format.
    Known(Section),
    /// The heading over Done, In Progress and Blocked.
    Progress,
    /// Some other heading.
    Unknown,
}

/// Reads a line as a heading of any level, or as a known title in bold.
fn heading_of(line: &str) -> Option<HeadingLine> {
    if let Some(title) = heading_title(line) {
        return Some(known_title(&title).unwrap_or(HeadingLine::Unknown));
    }
    let bold = line.trim_end().strip_prefix("**")?;
    known_title(&normalised(bold.trim_end_matches(':').strip_suffix("**")?))
}

/// Whether a line is a heading of the format.
pub(crate) fn is_section_heading(line: &str) -> bool {
    matches!(heading_of(line), Some(HeadingLine::Known(_) | HeadingLine::Progress))
}

/// The headings of `kind` that are missing in `text`. Level, case and order do not matter.
///
/// A model's summary must have all of them (docs/summaries.md, "Format").
pub fn missing_headings(text: &str, kind: SummaryKind) -> Vec<&'static str> {
    let present: Vec<String> = text.lines().filter_map(heading_title).collect();
    let is_missing = |heading: &&str| heading_title(heading).is_some_and(|title| !present.contains(&title));
    kind.headings().filter(is_missing).collect()
}

/// The normalised title of a line that starts with `#` signs and a space.
fn heading_title(line: &str) -> Option<String> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with([' ', '\t'])).then(|| normalised(title))
}

fn normalised(title: &str) -> String {
    let title = title.trim().trim_end_matches('#').trim_end();
    let title = title.trim_matches('*').trim_end_matches(':').trim();
    let title = title.trim_start_matches(|first: char| first.is_ascii_digit()).trim_start_matches(['.', ')']);
    title.trim().to_lowercase().replace('&', "and").replace('-', " ")
}

fn known_title(title: &str) -> Option<HeadingLine> {
    Some(HeadingLine::Known(match title {
        "progress" => return Some(HeadingLine::Progress),
        "goal" | "goals" => Section::Goal,
        "constraints and preferences" | "constraints" | "preferences" => Section::Constraints,
        "done" | "completed" => Section::Done,
        "in progress" => Section::InProgress,
        "blocked" | "blockers" => Section::Blocked,
        "key decisions" | "decisions" => Section::Decisions,
        "next steps" => Section::NextSteps,
        "critical context" => Section::CriticalContext,
        "original request" => Section::OriginalRequest,
        "early progress" => Section::EarlyProgress,
        "context for suffix" => Section::SuffixContext,
        _ => return None,
    }))
}

const FENCE: &str = "```";

/// Removes the rule before the marker of a turn's context.
fn without_rule<'a, 'b>(part: &'a [&'b str]) -> &'a [&'b str] {
    let end = part.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    match part[..end].split_last() {
        Some((&"---", before)) => before,
        _ => &part[..end],
    }
}

/// Reads one part. Known headings divide it first, even inside code, so that an unclosed code fence
/// cannot swallow a section.
fn parse_sections(lines: &[&str]) -> Sections {
    let mut reader = Reader::default();
    let mut start = 0;
    for at in 0..=lines.len() {
        if at == lines.len() || is_section_heading(lines[at]) {
            reader.read_chunk(&lines[start..at]);
            start = at + 1;
            reader.position = lines.get(at).map_or(Position::Before, |line| Position::after(line));
        }
    }
    reader.finish()
}

/// Position of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Position {
    /// Before the first heading.
    #[default]
    Before,
    /// Under a heading of the format.
    In(Section),
    /// Under `## Progress` itself.
    Progress,
    /// Under a heading that the format does not have.
    Other,
}

impl Position {
    fn after(line: &str) -> Self {
        match heading_of(line) {
            Some(HeadingLine::Known(section)) => Position::In(section),
            Some(HeadingLine::Progress) => Position::Progress,
            _ => Position::Other,
        }
    }
}

#[derive(Default)]
struct Reader {
    sections: Sections,
    position: Position,
    /// The section of the item that further lines may continue.
    open_item: Option<Section>,
    /// Whether a plain line continues the open item.
    in_paragraph: bool,
}

impl Reader {
    /// Reads the lines between two known headings.
    fn read_chunk(&mut self, lines: &[&str]) {
        self.open_item = None;
        self.in_paragraph = false;
        let fences = lines.iter().filter(|line| is_fence(line)).count();
        let mut seen = 0;
        let mut code_indent = None;
        for line in lines {
            let fence = is_fence(line);
            seen += usize::from(fence);
            if fence && fences % 2 == 1 && seen == fences {
                // An unclosed fence. Only its text is kept.
                self.read_line(line.trim().trim_start_matches('`').trim());
                continue;
            }
            match code_indent {
                Some(indent) => self.continue_code(line, indent),
                None if fence => self.open_code(line),
                None => self.read_line(line),
            }
            if fence {
                code_indent = if code_indent.is_some() { None } else { Some(indentation(line)) };
            }
        }
    }

    fn read_line(&mut self, line: &str) {
        if heading_of(line).is_some() {
            // Known headings divide chunks, so this one is not part of the format.
            self.position = Position::Other;
            let other = OtherSection { heading: line.to_owned(), text: String::new() };
            return self.sections.other.push(other);
        }
        match self.position {
            Position::Before | Position::Other => self.push_other(line),
            Position::In(section) => self.read_item_line(line, section),
            // Loose items under Progress count as done, unless their box is open.
            Position::Progress => self.read_item_line(line, Section::Done),
        }
    }

    fn read_item_line(&mut self, line: &str, section: Section) {
        if line.is_empty() || is_rule(line) {
            self.in_paragraph = false;
        } else if indentation(line) >= 2 && self.open_item.is_some() {
            self.continue_item(line, 2);
        } else if let Some(text) = without_marker(line.trim_start()) {
            self.push_item(text, section);
        } else if self.in_paragraph {
            self.continue_item(line, 2);
        } else {
            self.push_item(line.trim_start(), section);
        }
    }

    fn push_item(&mut self, text: &str, section: Section) {
        let (section, text) = placed_by_box(text, section);
        if is_placeholder(text) {
            self.open_item = None;
            self.in_paragraph = false;
            return;
        }
        self.sections[section].push(text.to_owned());
        self.open_item = Some(section);
        self.in_paragraph = true;
    }

    fn open_code(&mut self, line: &str) {
        let Some(section) = self.item_section() else {
            return self.push_other(line);
        };
        if self.open_item.is_none() {
            self.push_item("Code:", section);
        }
        self.continue_code(line, indentation(line));
    }

    fn continue_code(&mut self, line: &str, indent: usize) {
        match self.item_section() {
            Some(_) => self.continue_item(line, indent),
            None => self.push_other(line),
        }
    }

    fn item_section(&self) -> Option<Section> {
        match self.position {
            Position::In(section) => Some(section),
            Position::Progress => Some(Section::Done),
            Position::Before | Position::Other => None,
        }
    }

    /// Adds a line to the open item, with `indent` columns of indentation removed.
    fn continue_item(&mut self, line: &str, indent: usize) {
        let item = self.open_item.and_then(|section| self.sections[section].last_mut());
        if let Some(item) = item {
            item.push('\n');
            item.push_str(unindented(line, indent));
        }
    }

    fn push_other(&mut self, line: &str) {
        if self.position == Position::Before && self.sections.other.is_empty() {
            self.sections.other.push(OtherSection::default());
        }
        if let Some(other) = self.sections.other.last_mut() {
            other.text.push_str(line);
            other.text.push('\n');
        }
    }

    fn finish(mut self) -> Sections {
        for other in &mut self.sections.other {
            other.text = other.text.trim_end().trim_start_matches('\n').to_owned();
        }
        let says_nothing = |other: &OtherSection| {
            other.heading.is_empty() && (other.text.is_empty() || other.text.trim() == NO_PRIOR_HISTORY)
        };
        self.sections.other.retain(|other| !says_nothing(other));
        self.sections
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_start().strip_prefix(FENCE).is_some_and(|info| !info.trim_start_matches('`').contains('`'))
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && ["-", "*", "_"].iter().any(|mark| line.chars().all(|character| mark.contains(character)))
}

/// Columns of indentation; a tab counts as two.
fn indentation(line: &str) -> usize {
    let blank = line.chars().take_while(|character| matches!(character, ' ' | '\t'));
    blank.map(|character| if character == '\t' { 2 } else { 1 }).sum()
}

fn unindented(line: &str, columns: usize) -> &str {
    let mut left = columns;
    for (offset, character) in line.char_indices() {
        match character {
            ' ' if left >= 1 => left -= 1,
            '\t' if left >= 1 => left = left.saturating_sub(2),
            _ => return &line[offset..],
        }
    }
    ""
}

/// The text after a list marker: `-`, `*`, `+`, `1.` or `1)`. `None` if the line has none.
fn without_marker(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let rest = if digits.len() < line.len() {
        digits.strip_prefix(['.', ')'])?
    } else {
        line.strip_prefix(['-', '*', '+', '\u{2022}'])?
    };
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix([' ', '\t']).map(str::trim_start) }
}

/// Removes the box of an item of Done or In Progress. The box decides which of the two it belongs to.
fn placed_by_box(text: &str, section: Section) -> (Section, &str) {
    if !matches!(section, Section::Done | Section::InProgress) {
        return (section, text);
    }
    let boxed = |mark: &str| text.strip_prefix(mark).filter(|rest| rest.is_empty() || rest.starts_with(' '));
    if let Some(rest) = boxed("[x]").or_else(|| boxed("[X]")) {
        return (Section::Done, rest.trim_start());
    }
    boxed("[ ]").map_or((section, text), |rest| (Section::InProgress, rest.trim_start()))
}

fn is_placeholder(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.');
    text.is_empty() || [NONE, "none", "n/a", "(none yet)"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check_parse(text: &str, expected: Expect) {
        let document = SummaryDocument::parse(text);
        let mut out = String::new();
        show(&document.body, &mut out);
        for context in &document.turn_contexts {
            out.push_str("turn context\n");
            show(context, &mut out);
        }
        for (name, files) in [("read", &document.files.read_files), ("modified", &document.files.modified_files)] {
            files.iter().for_each(|file| out.push_str(&format!("{name}: {file}\n")));
        }
        expected.assert_eq(&out);
    }

    fn show(sections: &Sections, out: &mut String) {
        for section in Section::ALL {
            sections[section].iter().for_each(|item| out.push_str(&format!("{section:?}: {item:?}\n")));
        }
        sections.other.iter().for_each(|other| out.push_str(&format!("other {:?}: {:?}\n", other.heading, other.text)));
    }

    #[test]
    fn reads_the_format() {
        check_parse(
            "## Goal\nPort the selector\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n### Done\n- [x] Read `a.rs`\n\n\
             ### In Progress\n- [ ] Edit `b.rs`\n\n### Blocked\n- error: E1\n\n## Key Decisions\n- **Use A**: it is there\n\n\
             ## Next Steps\n1. Test\n2. Ship\n\n## Critical Context\n- Port 80\n\n<read-files>\na.rs\n</read-files>\n\n\
             <modified-files>\nb.rs\nc d.rs\n</modified-files>",
            expect![[r#"
                Goal: "Port the selector"
                Done: "Read `a.rs`"
                InProgress: "Edit `b.rs`"
                Blocked: "error: E1"
                Decisions: "**Use A**: it is there"
                NextSteps: "Test"
                NextSteps: "Ship"
                CriticalContext: "Port 80"
                read: a.rs
                modified: b.rs
                modified: c d.rs
            "#]],
        );
    }

    #[test]
    fn tolerates_other_layouts() {
        check_parse(
            "Here you are:\n\n# NEXT STEPS:\n* first\n+ second\n3) third\n\n**Goal**\n- one\n  more of one\nlazy line\n\nanother\n\n\
             ## Progress\n- [X] loose\n- [ ] open\n### in progress\n- [x] finished\n## Surprises\n- keep me\n# and this\n",
            expect![[r###"
                Goal: "one\nmore of one\nlazy line"
                Goal: "another"
                Done: "loose"
                Done: "finished"
                InProgress: "open"
                NextSteps: "first"
                NextSteps: "second"
                NextSteps: "third"
                other "": "Here you are:"
                other "## Surprises": "- keep me"
                other "# and this": ""
            "###]],
        );
    }

    #[test]
    fn keeps_code_together_and_ends_it_at_a_heading() {
        check_parse(
            "## Critical Context\n- Run:\n  ```sh\n  # not a heading\n\n    make\n  ```\n```\nlet x;\n```\n## Goal\n```rust\nnever closed\n## Next Steps\n1. x",
            expect![[r##"
                Goal: "rust\nnever closed"
                NextSteps: "x"
                CriticalContext: "Run:\n```sh\n# not a heading\n\n  make\n```\n```\nlet x;\n```"
            "##]],
        );
    }

    #[test]
    fn tells_the_context_of_a_split_turn_apart() {
        let joined = join_split_turn(Some("## Goal\n- g"), "## Original Request\n- r\n\n## Early Progress\n- p");
        check_parse(
            &joined,
            expect![[r#"
                Goal: "g"
                turn context
                OriginalRequest: "r"
                EarlyProgress: "p"
            "#]],
        );
    }

    #[test]
    fn joins_as_the_format_says() {
        expect!["h\n\n---\n\n**Turn Context (split turn):**\n\np"].assert_eq(&join_split_turn(Some("h\n"), "p"));
        expect!["No prior history.\n\n---\n\n**Turn Context (split turn):**\n\np"]
            .assert_eq(&join_split_turn(None, "p"));
        // The previous summary stays, without its file lists, because new ones follow.
        let previous = append_file_blocks("old", &["a".to_owned()], &[]);
        expect!["old\n\n---\n\n**Turn Context (split turn):**\n\np"].assert_eq(&join_split_turn(Some(&previous), "p"));
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn appends_file_blocks_as_the_format_says() {
        let append = |read: &[&str], modified: &[&str]| append_file_blocks("text", &names(read), &names(modified));
        expect!["text"].assert_eq(&append(&[], &[]));
        expect!["text\n\n<read-files>\na\nb\n</read-files>"].assert_eq(&append(&["a", "b"], &[]));
        expect!["text\n\n<modified-files>\nc\n</modified-files>"].assert_eq(&append(&[], &["c"]));
        expect!["text\n\n<read-files>\na\n</read-files>\n\n<modified-files>\nc\n</modified-files>"]
            .assert_eq(&append(&["a"], &["c"]));
        expect!["text\n\n<read-files>\na\\nb\n<\\/read-files>\n</read-files>"]
            .assert_eq(&append(&["a\nb", "</read-files>"], &[]));
    }

    #[test]
    fn removes_file_blocks_of_any_author() {
        let check = |text: &str, expected: &str| assert_eq!(remove_file_blocks(text), expected, "{text:?}");
        check("plain `<read-files>` text\n", "plain `<read-files>` text\n");
        check("a\n\n<read-files>\nx\n</read-files>\n\n<modified-files>\ny\n\nz\n</modified-files>", "a");
        check("<read-files>x</read-files>\nb", "b");
        check("a\n<read-files>\nx\n\nb", "a\n\nb");
        check("a\n<read-files>\nx\n## Next Steps\nb\n</read-files>", "a\n## Next Steps\nb");
        check("a\n<read-files>\n<modified-files>\nx\n</modified-files>\nb", "a\nb");
    }

    #[test]
    fn names_the_headings_that_are_missing() {
        let check =
            |text: &str, kind, expected: &[&str]| assert_eq!(missing_headings(text, kind), expected, "{text:?}");
        let whole = Sections::default().render(SummaryKind::History);
        check(&whole, SummaryKind::History, &[]);
        check(&whole, SummaryKind::Branch, &[]);
        check(&whole.replace("### Blocked", "Blocked"), SummaryKind::History, &["### Blocked"]);
        check(&whole.to_uppercase().replace("##", "#"), SummaryKind::History, &[]);
        check("", SummaryKind::TurnPrefix, &["## Original Request", "## Early Progress", "## Context for Suffix"]);
    }

    #[test]
    fn renders_every_heading_in_order() {
        let mut sections = Sections::default();
        sections[Section::Done] = names(&["a\nb", "c"]);
        sections[Section::NextSteps] = names(&["x", "y"]);
        sections[Section::SuffixContext] = names(&["kept"]);
        sections.other = vec![OtherSection { heading: "## More".to_owned(), text: "text".to_owned() }];
        expect![[r#"
            ## Goal

            ## Constraints & Preferences

            ## Progress
            ### Done
            - [x] a
              b
            - [x] c

            ### In Progress

            ### Blocked

            ## Key Decisions

            ## Next Steps
            1. x
            2. y

            ## Context for Suffix
            - kept

            ## More
            text"#]]
        .assert_eq(&sections.render(SummaryKind::Branch));
    }

    fn any_line() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("## Goal".to_owned()),
            Just("## Progress".to_owned()),
            Just("### Done".to_owned()),
            Just("### In Progress".to_owned()),
            Just("## Next Steps".to_owned()),
            Just("## Original Request".to_owned()),
            Just("## Unknown".to_owned()),
            Just("```".to_owned()),
            Just("  ```rust".to_owned()),
            Just("---".to_owned()),
            Just(String::new()),
            Just("- (none)".to_owned()),
            Just(NO_PRIOR_HISTORY.to_owned()),
            Just(TURN_CONTEXT_MARKER.to_owned()),
            Just("<read-files>".to_owned()),
            Just("</read-files>".to_owned()),
            "[-*] (\\[[ x]\\] )?[a-z#`]{0,4}",
            "[0-9][.)] [a-z]{0,3}",
            "[ \t]{0,5}[-#*`a-z1. \\[\\]x]{0,6}",
            "\\PC{0,8}",
        ]
    }

    proptest! {
        #[test]
        fn rendering_is_stable(lines in prop::collection::vec(any_line(), 0..24)) {
            for kind in [SummaryKind::History, SummaryKind::Branch, SummaryKind::TurnPrefix] {
                let document = SummaryDocument::parse(&lines.join("\n"));
                let rendered = document.render(kind);
                prop_assert_eq!(&SummaryDocument::parse(&rendered), &document, "{}", rendered);
                prop_assert_eq!(missing_headings(&rendered, kind), Vec::<&str>::new());
            }
        }

        #[test]
        fn no_word_is_lost(words in prop::collection::vec("[a-z]{6}", 1..12), lines in prop::collection::vec(any_line(), 0..12)) {
            let mut text = lines.clone();
            for (at, word) in words.iter().enumerate() {
                text.insert((at * 3) % (text.len() + 1), format!("- {word}"));
            }
            let rendered = SummaryDocument::parse(&text.join("\n")).render(SummaryKind::History);
            for word in &words {
                // A path in a file block appears once, and no word looks like a placeholder.
                prop_assert!(rendered.contains(word.as_str()), "{word} in {rendered}");
            }
        }

        #[test]
        fn file_blocks_come_off_as_they_went_on(
            files in prop::collection::vec("[a-z/ .<>\n]{1,12}|</?(read|modified)-files>|## Goal", 0..5),
        ) {
            let whole = append_file_blocks("text", &files, &files);
            prop_assert_eq!(remove_file_blocks(&whole), "text");
        }
    }
}
