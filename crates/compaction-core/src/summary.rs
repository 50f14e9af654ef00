//! Summaries: headings, parsing and rendering (docs/summaries.md, "Format").

mod files;
mod headings;
mod parse;
mod parts;
mod shown_files;

use std::ops::{Index, IndexMut};

use crate::entry::FileLists;

pub use files::{append_file_blocks, append_shown_files, remove_file_blocks};
pub use headings::{Section, SummaryKind, missing_headings};
pub use parts::{NO_PRIOR_HISTORY, TURN_CONTEXT_MARKER, join_split_turn};
pub use shown_files::ShownFiles;

pub(crate) use headings::is_section_heading;

use headings::Marker;

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
        if out.ends_with(headings::PROGRESS) {
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

#[cfg(test)]
mod tests;
