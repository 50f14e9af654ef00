//! Parses summaries of any layout.

use super::files::split_file_blocks;
use super::{HeadingLine, Section, heading_of};
use super::{NO_PRIOR_HISTORY, TURN_CONTEXT_MARKER};
use super::{NONE, OtherSection, Sections, SummaryDocument};
use crate::entry::FileLists;

const FENCE: &str = "```";

pub(super) fn parse(text: &str) -> SummaryDocument {
    let (text, [read_files, modified_files]) = split_file_blocks(text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut parts = lines.split(|line| *line == TURN_CONTEXT_MARKER).peekable();
    let mut sections = Vec::new();
    while let Some(part) = parts.next() {
        let part = if parts.peek().is_some() { without_rule(part) } else { part };
        sections.push(parse_sections(part));
    }
    let mut sections = sections.into_iter();
    SummaryDocument {
        body: sections.next().unwrap_or_default(),
        turn_contexts: sections.collect(),
        files: FileLists { read_files, modified_files, left_out: 0 },
    }
}

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
    let is_known = |line: &str| matches!(heading_of(line), Some(HeadingLine::Known(_) | HeadingLine::Progress));
    let mut reader = Reader::default();
    let mut start = 0;
    for at in 0..=lines.len() {
        if at == lines.len() || is_known(lines[at]) {
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
