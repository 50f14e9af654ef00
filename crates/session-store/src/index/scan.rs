//! From lines to records.

use std::ops::ControlFlow;

use compaction_core::entry::{EntryId, EntryKind};
use compaction_core::json::RawObject;
use compaction_core::migrate::{Place, StoredPlace};

use crate::diagnostic::DiagnosticKind;
use crate::header::FoundHeader;
use crate::index::{Index, Record};
use crate::line::LineHeader;
use crate::log::{Line, Span};
use crate::session::labels::clean_name;

impl Index {
    pub(super) fn read_line(&mut self, line: Line<'_>) -> ControlFlow<()> {
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
            if self.slots.contains_key(&place.id) {
                // What is left of a write must not push aside an entry that is whole.
                return;
            }
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
            self.name = object.string("name").and_then(|name| clean_name(&name));
        } else if let Some(target_id) = object.string("targetId") {
            let label = object.string("label").filter(|label| !label.is_empty());
            self.labels.set(EntryId::new(target_id), label, object.string("timestamp").unwrap_or_default(), slot);
        }
    }
}
