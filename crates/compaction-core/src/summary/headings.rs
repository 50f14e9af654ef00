//! The headings of summaries: their order, and how lines are recognised as headings.

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
pub(super) enum Marker {
    Bullet,
    Checked,
    Unchecked,
    Number,
}

/// A heading, and its section unless only other headings follow it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heading {
    pub(super) text: &'static str,
    pub(super) section: Option<Section>,
}

pub(super) const PROGRESS: &str = "## Progress";

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

    pub(super) fn outline(self) -> &'static [Heading] {
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

    pub(super) fn marker(self) -> Marker {
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
pub(super) enum HeadingLine {
    /// A heading of the format.
    Known(Section),
    /// The heading over Done, In Progress and Blocked.
    Progress,
    /// Some other heading.
    Unknown,
}

/// Reads a line as a heading of any level, or as a known title in bold.
pub(super) fn heading_of(line: &str) -> Option<HeadingLine> {
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
