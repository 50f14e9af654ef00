//! Repair: a block after the summary with the facts that it lacks.

use std::borrow::Cow;

use super::loss::LossReport;
use super::measure::{Class, Retention};
use super::text::{clip, clip_middle, one_line, quote};
use super::{ErrorRecord, Request, Statement, Voice};
use crate::summary::is_section_heading;
use crate::text::utf16_len;

const OPEN: &str = "<retained-facts>";
const CLOSE: &str = "</retained-facts>";
/// UTF-16 units of a token in an estimate.
const UNITS_PER_TOKEN: u64 = 4;
/// Most UTF-16 units of the last request, of other requests, and of other lines.
const LAST_REQUEST: usize = 4000;
const REQUEST: usize = 160;
const LINE: usize = 400;
/// Most UTF-16 units of a clipped text that is repeated as a whole.
const LONGEST_HEALED: usize = 600;
/// UTF-16 units to which cut lines are lengthened, step by step.
const STEPS: [usize; 3] = [300, 600, LAST_REQUEST];
/// Percent of the remaining room that statements may take.
const STATEMENTS_PERCENT: usize = 60;
/// Most names that are listed.
const MOST_NAMES: usize = 12;

/// A block with the facts that a summary lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// The block with its tags. It belongs after the summary's text and before the file blocks.
    pub block: String,
    /// The retention of the context with the block.
    pub retention: Retention,
}

impl LossReport {
    /// The block with the missing facts in at most `budget_tokens`; `None` if nothing is missing or
    /// nothing fits. Its order is the last request, open errors, constraints, statements, files,
    /// earlier requests and a few names. Resolved errors are left out, since the next model does not
    /// need them.
    pub fn repair(&self, budget_tokens: u64) -> Option<Repair> {
        let units = usize::try_from(budget_tokens.saturating_mul(UNITS_PER_TOKEN)).unwrap_or(usize::MAX);
        let left = units.saturating_sub(OPEN.len() + CLOSE.len() + 2);
        let mut writer = Writer { left, lines: Vec::new(), cut: Vec::new() };
        let last = self.requests.first().filter(|_| self.lacks_last_request);
        writer.items("Latest request", last.map(|request| said(request, LAST_REQUEST)));
        writer.items("Unresolved error", self.errors.iter().filter(|error| !error.is_resolved).map(error_item));
        writer.items("Constraint", self.constraints.iter().map(|note| Item::cut(&note.text, LINE)));
        self.say(&mut writer);
        writer.list("Files", self.files.iter().map(|path| one_line(path)));
        let told = self.covered_by(&writer.lines, Class::Request);
        let requests = self.requests.iter().zip(told).skip(usize::from(last.is_some()));
        let requests = requests.filter(|(_, is_told)| !is_told);
        writer.items("Earlier request", requests.map(|(request, _)| said(request, REQUEST)));
        let healed = self.clipped.iter().map(|clipped| Item::cut(&clipped.text, LONGEST_HEALED));
        writer.items("In full", healed.filter(|item| item.whole.is_none()));
        writer.list("Names", self.identifiers.iter().take(MOST_NAMES).map(|name| one_line(name)));
        writer.lengthen();
        if writer.lines.is_empty() {
            return None;
        }
        let lines = writer.lines.join("\n");
        Some(Repair { retention: self.retention_with(&lines), block: format!("{OPEN}\n{lines}\n{CLOSE}") })
    }

    /// Writes the most informative statements that the lines before do not cover.
    fn say(&self, writer: &mut Writer) {
        let told = self.covered_by(&writer.lines, Class::Statement);
        let kept = writer.left - writer.left / 100 * STATEMENTS_PERCENT;
        writer.left -= kept;
        for (statement, _) in self.statements.iter().zip(told).filter(|(_, is_told)| !is_told) {
            writer.items(speaker(statement), [Item { text: one_line(&statement.text), whole: None }]);
        }
        writer.left += kept;
    }
}

/// The label of whoever made a statement.
fn speaker(statement: &Statement) -> &'static str {
    match statement.voice {
        Voice::Person => "User",
        Voice::Report | Voice::Remark | Voice::Announcement => "Assistant",
        Voice::Action | Voice::Milestone => "Work",
        Voice::Quote => "Quoted",
        Voice::Summary => "Earlier",
    }
}

/// A line to write.
struct Item {
    text: String,
    /// The whole text, if `text` was cut.
    whole: Option<String>,
}

impl Item {
    /// A line of at most `units`. A longer text keeps its beginning and end.
    fn cut(said: &str, units: usize) -> Self {
        let whole = one_line(said);
        let text = clip_middle(&whole, units);
        Self { whole: (text != whole).then_some(whole), text }
    }
}

fn said(request: &Request, units: usize) -> Item {
    Item::cut(&request.text, units)
}

fn error_item(error: &ErrorRecord) -> Item {
    let line = one_line(&error.line);
    let text = match &error.subject {
        Some(subject) => format!("{} failed: {line}", quote(&clip(subject, LINE / 2))),
        None => line,
    };
    Item { text, whole: None }
}

/// A line with a cut text.
struct Cut {
    line: usize,
    label: String,
    whole: String,
}

struct Writer {
    /// UTF-16 units that are left.
    left: usize,
    lines: Vec<String>,
    cut: Vec<Cut>,
}

impl Writer {
    /// Writes a line for each item that fits.
    fn items(&mut self, label: &str, items: impl IntoIterator<Item = Item>) {
        for item in items {
            let line = format!("{label}: {}", item.text);
            let cost = utf16_len(&line) + 1;
            if cost <= self.left {
                if let Some(whole) = item.whole {
                    self.cut.push(Cut { line: self.lines.len(), label: label.to_owned(), whole });
                }
                self.left -= cost;
                self.lines.push(line);
            }
        }
    }

    /// Lengthens cut lines as far as there is room: all of them a little before one of them much.
    fn lengthen(&mut self) {
        for most in STEPS {
            self.cut.retain(|cut| {
                let text = clip_middle(&cut.whole, most);
                let (line, is_whole) = (format!("{}: {text}", cut.label), text == cut.whole);
                let more = utf16_len(&line).saturating_sub(utf16_len(&self.lines[cut.line]));
                let fits = more <= self.left;
                if fits && more > 0 {
                    self.left -= more;
                    self.lines[cut.line] = line;
                }
                !(fits && is_whole)
            });
        }
    }

    /// Writes one line with as many items as fit.
    fn list(&mut self, label: &str, items: impl Iterator<Item = String>) {
        let mut line = String::new();
        let mut count = 0;
        for item in items {
            let cost = utf16_len(&item) + 2 + if count == 0 { label.len() + 1 } else { 0 };
            if cost <= self.left {
                self.left -= cost;
                line.push_str(if count == 0 { " " } else { ", " });
                line.push_str(&item);
                count += 1;
            }
        }
        if count > 0 {
            self.lines.push(format!("{label}:{line}"));
        }
    }
}

/// `text` without blocks of retained facts, no matter who wrote them; the same text if it has none.
///
/// A block without an end tag ends before the next blank line or heading of the format.
pub fn remove_retained_facts(text: &str) -> Cow<'_, str> {
    if !text.contains(OPEN) && !text.contains(CLOSE) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut kept: Vec<&str> = Vec::with_capacity(lines.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        match line.trim_end() {
            OPEN => {
                at = end_of_block(&lines, at + 1);
                // The blank line before a block belongs to it.
                if kept.last().is_some_and(|line| line.trim().is_empty()) {
                    kept.pop();
                }
            }
            CLOSE => at += 1,
            _ => {
                kept.push(line);
                at += 1;
            }
        }
    }
    if kept.len() == lines.len() { Cow::Borrowed(text) } else { Cow::Owned(kept.join("\n").trim_end().to_owned()) }
}

/// The line after the block whose first line is `start`.
fn end_of_block(lines: &[&str], start: usize) -> usize {
    let rest = &lines[start..];
    let limit = rest.iter().position(|line| is_section_heading(line)).unwrap_or(rest.len());
    let close = rest[..limit].iter().position(|line| line.trim_end() == CLOSE);
    let blank = || rest[..limit].iter().position(|line| line.trim().is_empty());
    start + close.map(|length| length + 1).or_else(blank).unwrap_or(limit)
}
