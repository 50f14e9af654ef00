//! From lines to records.

use std::io;
use std::ops::ControlFlow;

use compaction_core::entry::{EntryId, EntryKind, Role};
use compaction_core::json::RawObject;
use compaction_core::migrate::{StoredPosition, TreePosition};

use crate::diagnostic::DiagnosticKind;
use crate::header::FoundHeader;
use crate::index::ids::IdKey;
use crate::index::labels::clean_name;
use crate::index::line::LineHeader;
use crate::index::{Found, HEADER_BYTES, Index, NO_HEADER, Packed, Reading, quick};
use crate::log::{Line, SessionLog, Span};

/// Plain messages that get their places at once.
const PLACED_AT_ONCE: usize = 1 << 10;

impl Index {
    pub(super) fn read_line(&mut self, line: Line<'_>) -> ControlFlow<()> {
        self.has_bytes = true;
        if std::mem::take(&mut self.is_open) && line.bytes.is_empty() {
            self.end = line.span.end() + u64::from(line.is_terminated);
            return ControlFlow::Continue(());
        }
        if self.header.is_none() && line.span.end() > HEADER_BYTES as u64 {
            self.refusal = Some(NO_HEADER);
            return ControlFlow::Break(());
        }
        if line.is_cut {
            return self.read_cut_line(line);
        }
        if line.bytes.is_empty() && line.is_terminated {
            (self.lines, self.end) = (self.lines + 1, line.end());
            return ControlFlow::Continue(());
        }
        if self.is_full() {
            self.refusal = Some("it has more entries than an index holds");
            return ControlFlow::Break(());
        }
        if self.reading == Reading::Headers && self.read_quickly(line) {
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

    /// Takes note of a line that is too long to be read. Its start may tell its place in the tree.
    fn read_cut_line(&mut self, line: Line<'_>) -> ControlFlow<()> {
        let number = self.lines + 1;
        let message = too_long(line.span.length, self.max_line);
        if !line.is_terminated {
            self.report(DiagnosticKind::TornLastLine, number, message);
            return ControlFlow::Break(());
        }
        (self.lines, self.end, self.is_open) = (number, line.end(), false);
        self.report(DiagnosticKind::BrokenLine, number, message);
        let text = String::from_utf8_lossy(line.bytes);
        let header = LineHeader::read(&text).filter(|_| !self.is_linear() && !self.is_full());
        if let Some(header) = header {
            self.read_entry(LineHeader { is_body_broken: true, ..header }, &text, line.span);
        }
        ControlFlow::Continue(())
    }

    /// Reads the line of a plain message; whether it is one.
    fn read_quickly(&mut self, line: Line<'_>) -> bool {
        if !line.is_terminated || !self.takes_plain_lines() {
            return false;
        }
        let Some(header) = quick::read(line.bytes) else {
            return false;
        };
        let id = self.ids.key(header.id);
        let parent = header.parent_id.map(|id| self.ids.key(id));
        self.push_plain(line.span, id, parent, header.role);
        true
    }

    /// Whether a line that looks like a plain message is one here.
    pub(super) fn takes_plain_lines(&self) -> bool {
        self.header.is_some() && self.migration.is_none()
    }

    /// Adds the record of a plain message.
    pub(super) fn push_plain(&mut self, span: Span, id: IdKey, parent: Option<IdKey>, role: Role) {
        self.lines += 1;
        self.end = span.end() + 1;
        self.is_open = false;
        self.last = Some(self.records.len());
        self.records.push(Packed {
            id,
            parent,
            offset: span.offset,
            length: span.length,
            line: line_number(self.lines),
            kind: EntryKind::Message,
            role: Some(role),
            is_broken: false,
            is_superseded: false,
        });
        if self.records.len() - self.placed >= PLACED_AT_ONCE {
            self.place_records();
        }
    }

    /// Gives the records of plain messages their places, many at once, as the memory where they
    /// belong is far apart and is fetched meanwhile.
    pub(super) fn place_records(&mut self) {
        for slot in self.placed..self.records.len() {
            self.set_place(slot);
        }
    }

    /// Makes the record at `slot`, which comes next, the one that counts for its id.
    fn set_place(&mut self, slot: usize) {
        let id = self.records[slot].id;
        self.has_stale_links |= !self.awaited.is_empty() && self.awaited.contains(&id);
        self.placed = slot + 1;
        let number = u32::try_from(slot).expect("a scan ends before there are so many entries");
        if let Some(earlier) = self.set_slot(id, number) {
            self.supersede(earlier);
        }
    }

    /// Makes sure that the last entry is one that can be read, where bodies were not looked at.
    pub(super) fn settle_last(&mut self, log: &dyn SessionLog) -> io::Result<()> {
        if self.reading == Reading::Whole {
            return Ok(());
        }
        while let Some(slot) = self.last {
            let packed = self.records[slot];
            let bytes = log.read(Span { offset: packed.offset, length: packed.length })?;
            if LineHeader::read(&String::from_utf8_lossy(&bytes)).is_some_and(|header| !header.is_body_broken) {
                return Ok(());
            }
            self.records[slot].is_broken = true;
            let message = format!("the body of entry {} is broken", self.id(slot));
            self.report(DiagnosticKind::BrokenLine, packed.line as usize, message);
            self.last = (0..slot).rev().find(|&slot| !self.records[slot].is_broken);
        }
        Ok(())
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
        let stored = StoredPosition { id: header.id.as_deref().map(EntryId::new), parent_id: None };
        let parent_id = header.parent_id.clone().map(|id| id.map(EntryId::new));
        let Some(place) = self.place(StoredPosition { parent_id, ..stored }) else {
            self.report(DiagnosticKind::MissingId, number, "the entry has no id; nothing can refer to it");
            return;
        };
        if !names_parent && !self.is_linear() {
            let message = format!("entry {} names no parent and is read as a root", place.id);
            self.report(DiagnosticKind::MissingParent, number, message);
        }
        let found = Found { kind: header.kind(), role: header.role, is_broken: header.is_body_broken };
        self.push(found, place, text, span);
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

    fn place(&mut self, stored: StoredPosition) -> Option<TreePosition> {
        match &mut self.migration {
            Some(migration) => migration.position(stored),
            None => stored.id.map(|id| TreePosition { id, parent_id: stored.parent_id.flatten() }),
        }
    }

    /// Adds a record for the line that was read last.
    pub(super) fn push(&mut self, found: Found, place: TreePosition, text: &str, span: Span) {
        self.place_records();
        let (number, slot) = (self.lines, self.records.len());
        let Found { kind, role, is_broken } = found;
        let id = self.ids.key(place.id.as_str());
        if is_broken {
            let message = format!("the body of entry {} is broken", place.id);
            self.report(DiagnosticKind::BrokenLine, number, message);
            if self.slot_of(id).is_some() {
                // What is left of a write must not push aside an entry that is whole.
                return;
            }
        } else {
            self.note_metadata(kind, text, slot);
            self.last = Some(slot);
        }
        let parent = place.parent_id.map(|id| self.ids.key(id.as_str()));
        let Span { offset, length } = span;
        let line = line_number(number);
        self.records.push(Packed { id, parent, offset, length, line, kind, role, is_broken, is_superseded: false });
        self.set_place(slot);
    }

    fn supersede(&mut self, earlier: usize) {
        self.records[earlier].is_superseded = true;
        self.has_duplicates = true;
        // Children of the earlier entry now hang on the later one, which may be their descendant.
        self.has_stale_links = true;
        let line = self.records[earlier].line;
        let message = format!("entry {} of line {line} is there again; the later one counts", self.id(earlier));
        self.report(DiagnosticKind::DuplicateId, self.lines, message);
    }

    fn note_metadata(&mut self, kind: EntryKind, text: &str, slot: usize) {
        if !matches!(kind, EntryKind::Label | EntryKind::SessionInfo) {
            return;
        }
        let object = RawObject::parse(text).unwrap_or_default();
        if kind == EntryKind::SessionInfo {
            self.name = object.string("name").and_then(|name| clean_name(&name));
        } else if let Some(target_id) = object.string("targetId") {
            let label = object.string("label").filter(|label| !label.is_empty());
            self.labels.set(EntryId::new(target_id), label, object.string("timestamp").unwrap_or_default(), slot);
        }
    }
}

/// Why a line counts as broken that may be whole.
pub(crate) fn too_long(bytes: u64, limit: usize) -> String {
    format!("the line has {bytes} bytes, more than {limit}, and is passed over")
}

/// The number of a line as a record keeps it; beyond four thousand million lines it stays behind.
fn line_number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
