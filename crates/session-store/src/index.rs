//! What one scan of a session tells: where its entries are and how they hang together.
//!
//! The index holds headers and places, never bodies; it can be thrown away and built again.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;

use compaction_core::entry::{EntryHeader, EntryId, EntryKind, Role};
use compaction_core::json::RawObject;
use compaction_core::migrate::{Migration, Place, StoredPlace};

use crate::diagnostic::{Diagnostic, DiagnosticKind, Diagnostics};
use crate::header::{FoundHeader, SessionHeader};
use crate::line::LineHeader;
use crate::log::{Line, SessionLog, Span};
use crate::session::labels::Labels;

/// One entry of the file.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: EntryId,
    pub(crate) parent_id: Option<EntryId>,
    pub(crate) span: Span,
    /// Line of the file, counted from 1.
    pub(crate) line: usize,
    pub(crate) kind: EntryKind,
    pub(crate) role: Option<Role>,
    /// Whether only the header of the line can be read.
    pub(crate) is_broken: bool,
    /// Whether a later entry has the same id, so that nothing refers to this one.
    pub(crate) is_superseded: bool,
}

impl Record {
    pub(crate) fn header(&self) -> EntryHeader {
        EntryHeader { id: self.id.clone(), parent_id: self.parent_id.clone(), kind: self.kind, role: self.role }
    }

    pub(crate) fn place(&self) -> Place {
        Place { id: self.id.clone(), parent_id: self.parent_id.clone() }
    }
}

/// The index of one session.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) header: Option<SessionHeader>,
    /// Where the header lies.
    pub(crate) header_span: Option<Span>,
    pub(crate) migration: Option<Migration>,
    pub(crate) is_newer_version: bool,
    /// Why the log is no session, if it is none.
    pub(crate) refusal: Option<&'static str>,
    pub(crate) labels: Labels,
    pub(crate) name: Option<String>,
    pub(crate) diagnostics: Diagnostics,
    /// Whether some entries are their own ancestors.
    pub(crate) has_cycle: bool,
    /// The last entry of the file that can be read.
    pub(crate) last: Option<EntryId>,
    records: Vec<Record>,
    slots: HashMap<EntryId, usize>,
    /// Where the next scan starts: behind the last line that is used.
    end: u64,
    lines: usize,
    /// Records before this one are known to have parents and to lie in no cycle.
    linked: usize,
    /// Ids that were named as parents and not found.
    awaited: HashSet<EntryId>,
    /// Whether an entry has come to hang on one behind it, without which there can be no new cycle.
    may_have_cycle: bool,
    /// Number of superseded records.
    superseded: usize,
    /// Whether the last line had no LF when it was read, so that what follows may begin with it.
    is_open: bool,
    has_bytes: bool,
}

impl Index {
    /// Reads what the log holds behind the part that is known.
    pub(crate) fn scan(&mut self, log: &dyn SessionLog) -> io::Result<()> {
        self.diagnostics.remove_kind(DiagnosticKind::TornLastLine);
        log.scan(self.end, &mut |line| self.read_line(line))?;
        self.check_links();
        Ok(())
    }

    /// Takes note of a line that was just written behind the known part.
    pub(crate) fn push_written(&mut self, span: Span, line: &str) {
        let _ = self.read_line(Line { span, bytes: line.as_bytes(), is_terminated: true });
        self.check_links();
    }

    /// Where the part of the log that is known ends.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The records in file order, superseded ones included.
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The records that count, in file order, with their places.
    pub(crate) fn current(&self) -> impl Iterator<Item = (usize, &Record)> {
        self.records.iter().enumerate().filter(|(_, record)| !record.is_superseded)
    }

    /// The place of the entry `id`.
    pub(crate) fn slot(&self, id: &str) -> Option<usize> {
        self.slots.get(id).copied()
    }

    pub(crate) fn record(&self, id: &str) -> Option<&Record> {
        self.slot(id).map(|slot| &self.records[slot])
    }

    /// Whether the log holds no bytes at all.
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_bytes
    }

    /// Number of entries that a later one with the same id has pushed aside.
    pub(crate) fn superseded(&self) -> usize {
        self.superseded
    }

    /// Number of entries that count.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    fn read_line(&mut self, line: Line<'_>) -> ControlFlow<()> {
        self.has_bytes = true;
        if std::mem::take(&mut self.is_open) && line.bytes.is_empty() {
            self.end = line.span.end() + u64::from(line.is_terminated);
            return ControlFlow::Continue(());
        }
        let text = String::from_utf8_lossy(line.bytes);
        let number = self.lines + 1;
        let header = LineHeader::read(&text);
        let is_readable = header.as_ref().is_some_and(|header| !header.is_body_broken);
        if !line.is_terminated && !is_readable && !text.trim().is_empty() {
            // The rest may be on its way, so the next scan starts here again.
            self.report(DiagnosticKind::TornLastLine, number, "the last line was cut off while it was written");
            return ControlFlow::Break(());
        }
        self.lines = number;
        self.end = line.span.end() + u64::from(line.is_terminated);
        self.is_open = !line.is_terminated;
        if text.trim().is_empty() {
            return ControlFlow::Continue(());
        }
        if text.contains(char::REPLACEMENT_CHARACTER) && std::str::from_utf8(line.bytes).is_err() {
            self.report(DiagnosticKind::InvalidUtf8, number, "the line holds bytes that are not UTF-8");
        }
        match header {
            None => self.report(DiagnosticKind::BrokenLine, number, "the line is no JSON object"),
            Some(_) if self.header.is_none() => return self.read_header(&text, line.span),
            // Where entries follow each other a broken one is passed over, and cuts nothing off.
            Some(header) if header.is_body_broken && self.is_linear() => {
                self.report(DiagnosticKind::BrokenLine, number, "the line is broken");
            }
            Some(header) => self.read_entry(header, &text, line.span),
        }
        ControlFlow::Continue(())
    }

    fn read_header(&mut self, text: &str, span: Span) -> ControlFlow<()> {
        match FoundHeader::read(text) {
            Ok(found) => {
                self.is_newer_version = !found.is_known_version;
                self.header = Some(found.header);
                self.header_span = Some(span);
                self.migration = found.migration;
                ControlFlow::Continue(())
            }
            Err(reason) => {
                self.refusal = Some(reason);
                ControlFlow::Break(())
            }
        }
    }

    fn read_entry(&mut self, header: LineHeader, text: &str, span: Span) {
        let number = self.lines;
        let is_header = header.kind_name.as_deref() == Some("session");
        if is_header || header.kind_name.is_none() {
            self.skip(is_header);
            return;
        }
        let names_parent = header.parent_id.is_some();
        let stored = StoredPlace { id: header.id.as_deref().map(EntryId::new), parent_id: None };
        let parent_id = header.parent_id.clone().map(|id| id.map(EntryId::new));
        let Some(place) = self.place(StoredPlace { parent_id, ..stored }) else {
            self.report(DiagnosticKind::MissingId, number, "the entry has no id; nothing can refer to it");
            return;
        };
        if !names_parent && !self.is_linear() {
            let message = format!("entry {} names no parent and is read as a root", place.id);
            self.report(DiagnosticKind::MissingParent, number, message);
        }
        self.push(header, place, text, span);
    }

    /// Whether the file is of version 1, whose entries have no ids and no parents.
    fn is_linear(&self) -> bool {
        self.migration.as_ref().is_some_and(|migration| migration.from_version() < 2)
    }

    fn skip(&mut self, is_header: bool) {
        if let Some(migration) = &mut self.migration {
            migration.skip_line();
        }
        let number = self.lines;
        if is_header {
            self.report(DiagnosticKind::SecondHeader, number, "a second header; it is passed over");
        } else {
            self.report(DiagnosticKind::BrokenLine, number, "the line has no type");
        }
    }

    fn place(&mut self, stored: StoredPlace) -> Option<Place> {
        match &mut self.migration {
            Some(migration) => migration.place(stored),
            None => stored.id.map(|id| Place { id, parent_id: stored.parent_id.flatten() }),
        }
    }

    fn push(&mut self, header: LineHeader, place: Place, text: &str, span: Span) {
        let (number, slot) = (self.lines, self.records.len());
        let kind = header.kind();
        let parent_id = place.parent_id.map(|id| self.shared(id));
        if header.is_body_broken {
            let message = format!("the body of entry {} is broken", place.id);
            self.report(DiagnosticKind::BrokenLine, number, message);
        } else {
            self.note_metadata(kind, text, slot);
            self.last = Some(place.id.clone());
        }
        self.may_have_cycle |= self.awaited.contains(&place.id);
        if let Some(earlier) = self.slots.insert(place.id.clone(), slot) {
            self.supersede(earlier, &place.id);
        }
        self.records.push(Record {
            id: place.id,
            parent_id,
            span,
            line: number,
            kind,
            role: header.role,
            is_broken: header.is_body_broken,
            is_superseded: false,
        });
    }

    fn supersede(&mut self, earlier: usize, id: &EntryId) {
        self.records[earlier].is_superseded = true;
        self.superseded += 1;
        // Children of the earlier entry now hang on the later one, which may be their descendant.
        self.may_have_cycle = true;
        self.linked = 0;
        let message = format!("entry {id} of line {} is there again; the later one counts", self.records[earlier].line);
        self.report(DiagnosticKind::DuplicateId, self.lines, message);
    }

    /// The same id with the text that the index has already.
    fn shared(&self, id: EntryId) -> EntryId {
        self.slots.get_key_value(&id).map_or(id, |(known, _)| known.clone())
    }

    fn note_metadata(&mut self, kind: EntryKind, text: &str, slot: usize) {
        if !matches!(kind, EntryKind::Label | EntryKind::SessionInfo) {
            return;
        }
        let object = RawObject::parse(text).unwrap_or_default();
        if kind == EntryKind::SessionInfo {
            self.name = object.string("name").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        } else if let Some(target_id) = object.string("targetId") {
            let label = object.string("label").filter(|label| !label.is_empty());
            self.labels.set(EntryId::new(target_id), label, object.string("timestamp").unwrap_or_default(), slot);
        }
    }

    fn report(&mut self, kind: DiagnosticKind, line: usize, message: impl Into<String>) {
        self.diagnostics.add(Diagnostic::new(kind, Some(line), message));
    }

    /// Reports missing parents and cycles among the records that came since the last check.
    fn check_links(&mut self) {
        for slot in self.linked..self.records.len() {
            let record = &self.records[slot];
            let Some(parent_id) = record.parent_id.as_ref().filter(|_| !record.is_superseded) else {
                continue;
            };
            match self.slot(parent_id.as_str()) {
                Some(parent) => self.may_have_cycle |= parent >= slot,
                None => self.report_missing_parent(slot),
            }
        }
        self.linked = self.records.len();
        if std::mem::take(&mut self.may_have_cycle) {
            self.find_cycles();
        }
    }

    fn report_missing_parent(&mut self, slot: usize) {
        let Record { id, parent_id: Some(parent_id), line, .. } = &self.records[slot] else { return };
        let message = format!("entry {id} has the parent {parent_id}, which is not in the file");
        self.awaited.insert(parent_id.clone());
        self.report(DiagnosticKind::MissingParent, *line, message);
    }

    /// Follows every path to its root or to an entry that was followed before; one that comes back
    /// to itself is a cycle.
    fn find_cycles(&mut self) {
        self.has_cycle = false;
        let mut followed = vec![usize::MAX; self.records.len()];
        for start in 0..self.records.len() {
            let mut next = Some(start);
            while let Some(slot) = next.filter(|&slot| followed[slot] == usize::MAX) {
                followed[slot] = start;
                next = self.parent_slot(slot);
            }
            if let Some(slot) = next.filter(|&slot| followed[slot] == start) {
                self.has_cycle = true;
                let Record { id, line, .. } = &self.records[slot];
                let message = format!("entry {id} is its own ancestor; its branch ends where it would repeat");
                self.report(DiagnosticKind::Cycle, *line, message);
            }
        }
    }

    /// The place of the parent, if it has one that is in the file.
    pub(crate) fn parent_slot(&self, slot: usize) -> Option<usize> {
        self.slot(self.records[slot].parent_id.as_ref()?.as_str())
    }
}
