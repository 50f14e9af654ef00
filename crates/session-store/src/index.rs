//! What one scan of a session tells: where its entries are and how they hang together.
//!
//! The index holds headers and places, never bodies; it can be thrown away and built again.

mod links;
mod scan;

use std::collections::{HashMap, HashSet};
use std::io;

use compaction_core::entry::{EntryHeader, EntryId, EntryKind, Role};
use compaction_core::migrate::{Migration, Place};

use crate::diagnostic::{Diagnostic, DiagnosticKind, Diagnostics};
use crate::header::SessionHeader;
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

    /// The place of the parent, if it has one that is in the file.
    pub(crate) fn parent_slot(&self, slot: usize) -> Option<usize> {
        self.slot(self.records[slot].parent_id.as_ref()?.as_str())
    }

    fn report(&mut self, kind: DiagnosticKind, line: usize, message: impl Into<String>) {
        self.diagnostics.add(Diagnostic::new(kind, Some(line), message));
    }
}
