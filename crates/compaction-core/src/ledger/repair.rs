//! Repair: what a summary lacks, in a block after its text.

use std::borrow::Cow;

use super::loss::{LossReport, Retention};
use super::text::{clip, clip_middle, one_line, quote};
use super::{ErrorRecord, Request};
use crate::summary::is_section_heading;
use crate::text::utf16_len;

const OPEN: &str = "<retained-facts>";
const CLOSE: &str = "</retained-facts>";
/// UTF-16 units of a token in an estimate.
const UNITS_PER_TOKEN: u64 = 4;
/// UTF-16 units of the last request, of other requests, and of other lines.
const LAST_REQUEST: usize = 4000;
const REQUEST: usize = 160;
const LINE: usize = 400;

/// A block that holds what a summary lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// The block with its tags, to be put after the summary's text and before the file blocks.
    pub block: String,
    /// How much the context holds with it.
    pub retention: Retention,
}

impl LossReport {
    /// The block that brings back what is missing, in at most `budget_tokens`; `None` if nothing is
    /// missing or nothing fits. What is said in one line costs one line; names are only listed.
    pub fn repair(&self, budget_tokens: u64) -> Option<Repair> {
        let units = usize::try_from(budget_tokens.saturating_mul(UNITS_PER_TOKEN)).unwrap_or(usize::MAX);
        let mut writer = Writer { left: units.saturating_sub(OPEN.len() + CLOSE.len() + 2), lines: Vec::new(), cut: 0 };
        let (last, requests) = self.last_request();
        let unresolved = self.errors.iter().filter(|error| !error.is_resolved);
        let resolved = self.errors.iter().filter(|error| error.is_resolved);
        let (mut done, mut cut) = ([0; 5], [0; 5]);
        done[3] += writer.items("Latest request", last.map(|request| said(request, LAST_REQUEST)));
        cut[3] += writer.take_cut();
        done[2] += writer.items("Unresolved error", unresolved.map(error_item));
        done[4] += writer.items("Constraint", self.constraints.iter().map(|note| clipped(&note.text, LINE)));
        cut[4] += writer.take_cut();
        done[0] += writer.list("Files", self.files.iter().map(|path| one_line(path)));
        done[3] += writer.items("Earlier request", requests.map(|request| said(request, REQUEST)));
        cut[3] += writer.take_cut();
        done[1] += writer.list("Names", self.identifiers.iter().map(|name| one_line(name)));
        done[2] += writer.items("Resolved error", resolved.map(error_item));
        if writer.lines.is_empty() {
            return None;
        }
        let block = format!("{OPEN}\n{}\n{CLOSE}", writer.lines.join("\n"));
        Some(Repair { block, retention: self.retention_after(done, cut) })
    }

    /// The missing request that is the last of all, if it is missing, and the other missing ones.
    fn last_request(&self) -> (Option<&Request>, impl Iterator<Item = &Request>) {
        let last = self.requests.first().filter(|_| self.lacks_last_request);
        (last, self.requests.iter().skip(usize::from(last.is_some())))
    }
}

/// An item, and whether it is only a part of what was said.
struct Item {
    text: String,
    is_cut: bool,
}

fn said(request: &Request, units: usize) -> Item {
    let text = clip_middle(&request.text, units);
    Item { is_cut: text != request.text, text: one_line(&text) }
}

fn clipped(text: &str, units: usize) -> Item {
    let cut = clip(text, units);
    Item { is_cut: cut != text, text: cut }
}

fn error_item(error: &ErrorRecord) -> Item {
    let line = one_line(&error.line);
    let text = match &error.subject {
        Some(subject) => format!("{} failed: {line}", quote(&clip(subject, LINE / 2))),
        None => line,
    };
    Item { text, is_cut: false }
}

struct Writer {
    /// UTF-16 units that are left.
    left: usize,
    lines: Vec<String>,
    /// Items that were written and are not whole, since they were last asked for.
    cut: usize,
}

impl Writer {
    /// A line for each item that fits; returns how many did.
    fn items(&mut self, label: &str, items: impl IntoIterator<Item = Item>) -> usize {
        let mut count = 0;
        for item in items {
            let line = format!("{label}: {}", item.text);
            let cost = utf16_len(&line) + 1;
            if cost <= self.left {
                self.cut += usize::from(item.is_cut);
                self.left -= cost;
                self.lines.push(line);
                count += 1;
            }
        }
        count
    }

    fn take_cut(&mut self) -> usize {
        std::mem::take(&mut self.cut)
    }

    /// One line with as many items as fit.
    fn list(&mut self, label: &str, items: impl Iterator<Item = String>) -> usize {
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
        count
    }
}

/// `text` without blocks of retained facts, whoever wrote them; the same text if it has none.
///
/// A block whose end is missing goes up to the next blank line or heading of the format.
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
