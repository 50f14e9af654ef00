//! Summaries: headings, parsing and rendering (docs/summaries.md, "Format").

mod files;
mod parse;

use std::ops::{Index, IndexMut};

use crate::entry::FileLists;

pub use files::ShownFiles;
pub use files::{append_file_blocks, append_shown_files, remove_file_blocks};

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

/// Text without a place in the format, kept so that nothing is lost.
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
    /// missing, and items may have any list marker. Text without a place goes to [`Sections::other`].
    pub fn parse(text: &str) -> Self {
        parse::parse(text)
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

/// Appends `line` on a line of its own.
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

/// The summary of a split turn: the summary of the history, a rule, the marker, and the summary of the
/// turn prefix. Without new history the previous summary takes its place; without either, `No prior
/// history.` File blocks of the history are dropped, because new ones follow at the end.
pub fn join_split_turn(history_or_previous: Option<&str>, prefix: &str) -> String {
    let history = history_or_previous.map(remove_file_blocks);
    let history = history.as_deref().map(str::trim_end).filter(|text| !text.is_empty());
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
#[expect(missing_docs, reason = "each is named like its heading, which `heading` tells")]
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
    section: Option<Section>,
}

const PROGRESS: &str = "## Progress";

const fn heading(text: &'static str, section: Section) -> Heading {
    Heading { text, section: Some(section) }
}

const HISTORY: [Heading; 9] = [
    heading("## Goal", Section::Goal),
    heading("## Constraints & Preferences", Section::Constraints),
    Heading { text: PROGRESS, section: None },
    heading("### Done", Section::Done),
    heading("### In Progress", Section::InProgress),
    heading("### Blocked", Section::Blocked),
    heading("## Key Decisions", Section::Decisions),
    heading("## Next Steps", Section::NextSteps),
    heading("## Critical Context", Section::CriticalContext),
];

const TURN_PREFIX: [Heading; 3] = [
    heading("## Original Request", Section::OriginalRequest),
    heading("## Early Progress", Section::EarlyProgress),
    heading("## Context for Suffix", Section::SuffixContext),
];

impl SummaryKind {
    /// The headings of this kind of summary, in order.
    pub fn headings(self) -> impl Iterator<Item = &'static str> {
        self.outline().iter().map(|heading| heading.text)
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

    /// Every section, in the order of the headings.
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

/// What a heading line is.
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

#[cfg(test)]
mod tests;
