//! Building the index: from lines to records, the links between records, and the scan of a large file by several
//! threads.

use std::borrow::Cow;
use std::cell::Cell;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{io, thread};

use compaction_core::entry::{EntryId, EntryKind, Role};
use compaction_core::json::{self, RawObject};
use compaction_core::migrate::{StoredPosition, TreePosition};
use memchr::memchr;

use crate::error::DiagnosticKind;
use crate::header::FoundHeader;
use crate::index::{HEADER_BYTES, Index, LineFacts, NO_HEADER, PackedRecord, Reading, clean_name};
use crate::index::{IdKey, IdText};
use crate::line::{LineHeader, PlainHeader, lossy};
use crate::log::{CUT_BYTES, Line, SessionLog, Span};
use crate::words::{carries_state, may_pin};

/// Number of plain messages whose slots are entered at once.
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
        let text = lossy(line.bytes);
        let number = self.lines + 1;
        let header = LineHeader::read(&text);
        let is_readable = header.as_ref().is_some_and(|header| !header.is_body_broken);
        if !line.is_terminated && !is_readable && !text.trim().is_empty() {
            // The rest may still be written, so the next scan starts here again.
            self.report(DiagnosticKind::TornLastLine, number, "the last line was cut off while it was written");
            return ControlFlow::Break(());
        }
        self.lines = number;
        self.end = line.span.end() + u64::from(line.is_terminated);
        self.is_open = !line.is_terminated;
        if text.trim().is_empty() {
            return ControlFlow::Continue(());
        }
        if matches!(text, Cow::Owned(_)) {
            self.report(DiagnosticKind::InvalidUtf8, number, "the line holds bytes that are not UTF-8");
        }
        match header {
            None => self.report(DiagnosticKind::BrokenLine, number, "the line is no JSON object"),
            Some(_) if self.header.is_none() => return self.read_header(&text, line.span),
            // In version 1 entries follow each other, so skipping a broken one cuts off nothing.
            Some(header) if header.is_body_broken && self.is_linear() => {
                self.report(DiagnosticKind::BrokenLine, number, "the line is broken");
            }
            Some(header) => self.read_entry(header, &text, line.span),
        }
        ControlFlow::Continue(())
    }

    /// Adds a line that is too long to be read. Its start may give its position in the tree.
    fn read_cut_line(&mut self, line: Line<'_>) -> ControlFlow<()> {
        let number = self.lines + 1;
        let message = too_long(line.span.length, self.max_line);
        if !line.is_terminated {
            self.report(DiagnosticKind::TornLastLine, number, message);
            return ControlFlow::Break(());
        }
        (self.lines, self.end, self.is_open) = (number, line.end(), false);
        self.report(DiagnosticKind::BrokenLine, number, message);
        let text = lossy(line.bytes);
        let header = LineHeader::read(&text).filter(|_| !self.is_linear() && !self.is_full());
        if let Some(header) = header {
            self.read_entry(LineHeader { is_body_broken: true, ..header }, &text, line.span);
        }
        ControlFlow::Continue(())
    }

    /// Reads the line of a plain message. Returns whether it is one.
    fn read_quickly(&mut self, line: Line<'_>) -> bool {
        if !line.is_terminated || !self.takes_plain_lines() {
            return false;
        }
        let Some(header) = PlainHeader::read(line.bytes) else {
            return false;
        };
        let id = self.ids.key_of_plain(header.id);
        let parent = header.parent_id.map(|id| self.ids.key_of_plain(id));
        self.push_plain(line.span, id, parent, header.role);
        true
    }

    /// Whether a line in the form of a plain message is one in this log.
    pub(super) fn takes_plain_lines(&self) -> bool {
        self.header.is_some() && self.migration.is_none()
    }

    /// Adds the record of a plain message.
    pub(super) fn push_plain(&mut self, span: Span, id: IdKey, parent: Option<IdKey>, role: Role) {
        self.lines += 1;
        self.end = span.end() + 1;
        self.is_open = false;
        self.last = Some(self.records.len());
        self.records.push(PackedRecord {
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

    /// Enters the slots of plain messages, many at once, so that the processor can fetch the scattered memory ahead.
    pub(super) fn place_records(&mut self) {
        for slot in self.placed..self.records.len() {
            self.set_place(slot);
        }
    }

    /// Makes the record in `slot`, which is the next one, the current one of its id.
    fn set_place(&mut self, slot: usize) {
        let id = self.records[slot].id;
        self.has_stale_links |= !self.missing_ids.is_empty() && self.missing_ids.contains(&id);
        self.placed = slot + 1;
        let number = u32::try_from(slot).expect("a scan ends before there are so many entries");
        if let Some(earlier) = self.set_slot(id, number) {
            self.supersede(earlier);
        }
    }

    /// Makes sure that the last entry is readable, if bodies were not read.
    pub(super) fn check_last_body(&mut self, log: &dyn SessionLog) -> io::Result<()> {
        if self.reading == Reading::Whole {
            return Ok(());
        }
        while let Some(slot) = self.last {
            let packed = self.records[slot];
            let bytes = log.read(Span { offset: packed.offset, length: packed.length })?;
            if LineHeader::read(&lossy(&bytes)).is_some_and(|header| !header.is_body_broken) {
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
        let facts = LineFacts { kind: header.kind(), role: header.role, is_broken: header.is_body_broken };
        self.push(facts, place, text, span);
    }

    /// Whether the file has version 1, whose entries have no ids and no parents.
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
    pub(super) fn push(&mut self, facts: LineFacts, place: TreePosition, text: &str, span: Span) {
        self.place_records();
        let (number, slot) = (self.lines, self.records.len());
        let LineFacts { kind, role, is_broken } = facts;
        let id = self.ids.key(place.id.as_str());
        if is_broken {
            let message = format!("the body of entry {} is broken", place.id);
            self.report(DiagnosticKind::BrokenLine, number, message);
            if self.slot_of(id).is_some() {
                // The rest of a failed write must not replace a whole entry.
                return;
            }
        } else {
            self.note_metadata(kind, text, slot);
            self.last = Some(slot);
        }
        if may_describe_path(facts, text) {
            // Records store their slots as numbers of this size too.
            self.describing.extend(u32::try_from(slot));
        }
        let parent = place.parent_id.map(|id| self.ids.key(id.as_str()));
        let Span { offset, length } = span;
        let line = line_number(number);
        self.records.push(PackedRecord {
            id,
            parent,
            offset,
            length,
            line,
            kind,
            role,
            is_broken,
            is_superseded: false,
        });
        self.set_place(slot);
    }

    fn supersede(&mut self, earlier: usize) {
        self.records[earlier].is_superseded = true;
        self.has_duplicates = true;
        // Children of the earlier entry now have the later one as parent, which may be their descendant.
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

/// Whether an entry other than a message may say something about its whole path: model, thinking level, a pin, or the
/// state before a compaction. A compaction that cannot be read counts too, because walks report it.
fn may_describe_path(LineFacts { kind, is_broken, .. }: LineFacts, line: &str) -> bool {
    match kind {
        EntryKind::ModelChange | EntryKind::ThinkingLevelChange => true,
        EntryKind::Compaction => is_broken || carries_state(line) || json::check_value_count(line).is_err(),
        EntryKind::Custom => may_pin(line.as_bytes()),
        _ => false,
    }
}

/// Why a line counts as broken although it may be whole.
pub(crate) fn too_long(bytes: u64, limit: usize) -> String {
    format!("the line has {bytes} bytes, more than {limit}, and is passed over")
}

/// The line number of a record. Beyond four billion lines it does not increase.
fn line_number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Index {
    /// Reports missing parents and cycles among the records since the last check.
    pub(super) fn check_links(&mut self) {
        if std::mem::take(&mut self.has_stale_links) {
            self.forget_links();
        }
        for slot in self.linked..self.records.len() {
            let packed = &self.records[slot];
            let Some(parent) = packed.parent.filter(|_| !packed.is_superseded) else {
                continue;
            };
            // The parent of most entries is the entry before them. If a later entry has the same id, the links are
            // stale and checked again.
            if slot > 0 && self.records[slot - 1].id == parent {
                continue;
            }
            match self.slot_of(parent) {
                Some(parent) => self.may_have_cycle |= parent >= slot,
                None => self.report_missing_parent(slot),
            }
        }
        self.linked = self.records.len();
        self.has_later_parents |= self.may_have_cycle;
        if std::mem::take(&mut self.may_have_cycle) {
            self.find_cycles();
        }
    }

    /// Drops the results of earlier checks, because a new entry is a parent that was missing, or replaces another
    /// entry.
    fn forget_links(&mut self) {
        let Self { records, diagnostics, missing_parents, .. } = self;
        let named_parent = |line: usize| {
            let slot = records.binary_search_by_key(&line, |record| record.line as usize);
            slot.is_ok_and(|slot| records[slot].parent.is_some())
        };
        diagnostics.remove(DiagnosticKind::MissingParent, *missing_parents, named_parent);
        diagnostics.count_unlisted();
        *missing_parents = 0;
        self.missing_ids.clear();
        self.linked = 0;
        self.may_have_cycle = true;
    }

    fn report_missing_parent(&mut self, slot: usize) {
        let packed = self.records[slot];
        let Some(parent) = packed.parent else { return };
        let (id, parent_id) = (self.ids.id(packed.id), self.ids.id(parent));
        self.missing_ids.insert(parent);
        self.missing_parents += 1;
        let message = format!("entry {id} has the parent {parent_id}, which is not in the file");
        self.report(DiagnosticKind::MissingParent, packed.line as usize, message);
    }

    /// Follows every path to its root or to an entry that was visited before. A path that returns to itself is a
    /// cycle.
    fn find_cycles(&mut self) {
        self.has_cycle = false;
        self.diagnostics.remove_kind(DiagnosticKind::Cycle);
        let mut followed = vec![u32::MAX; self.records.len()];
        for start in 0..self.records.len() as u32 {
            let mut next = Some(start as usize);
            while let Some(slot) = next.filter(|&slot| followed[slot] == u32::MAX) {
                followed[slot] = start;
                next = self.parent_slot(slot);
            }
            if let Some(slot) = next.filter(|&slot| followed[slot] == start) {
                self.has_cycle = true;
                let message =
                    format!("entry {} is its own ancestor; its branch ends where it would repeat", self.id(slot));
                self.report(DiagnosticKind::Cycle, self.records[slot].line as usize, message);
            }
        }
    }
}

/// Bytes of a segment. A smaller file is not worth another thread.
pub(super) const SEGMENT_BYTES: u64 = 16 << 20;
/// Maximum number of threads. Memory bandwidth limits more.
const MAX_THREADS: usize = 4;
/// Lines per batch, and the number of batches that a thread may be ahead.
const BATCH_LINES: usize = 1 << 10;
const BATCHES_AHEAD: usize = 64;
/// Bytes per search for the first line of a segment.
const SEARCH_BYTES: u64 = 1 << 16;

/// A line that a thread has read.
struct ScannedLine {
    span: Span,
    plain: Option<Plain>,
}

/// The members of a plain message's line.
struct Plain {
    id: IdText,
    parent: Option<IdText>,
    role: Role,
}

enum Progress {
    Lines(Vec<ScannedLine>),
    /// The segment is done.
    End(io::Result<()>),
}

/// Number of threads that read a log. More threads do not help with a log in memory, and one thread skips holes at
/// once.
pub(super) fn threads(log: &dyn SessionLog, end: u64) -> usize {
    if log.locator().is_none() || end < 2 * SEGMENT_BYTES || log.has_holes() {
        return 1;
    }
    thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}

impl Index {
    /// Reads the lines that begin before `end` into an empty index, on `threads` threads and this one. A last line
    /// without LF is left out. A line belongs to the segment that it begins in. Each thread reads every n-th segment,
    /// and this thread adds the results in file order.
    pub(super) fn scan_in_parallel(
        &mut self,
        log: &dyn SessionLog,
        end: u64,
        segment: u64,
        threads: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let segments = usize::try_from(end.div_ceil(segment)).map_err(io::Error::other)?;
        thread::scope(|scope| {
            let start = |first: usize| {
                let (sender, receiver) = sync_channel(BATCHES_AHEAD);
                let of_thread = (first..segments).step_by(threads);
                let read = move || read_segments(log, of_thread, segment, end, &sender);
                thread::Builder::new().spawn_scoped(scope, read).map(|_| receiver)
            };
            let receivers: io::Result<Vec<Receiver<Progress>>> = (0..threads).map(start).collect();
            // If the system refuses a thread, the index stays empty, and the caller reads on alone.
            let Ok(receivers) = receivers else { return Ok(()) };
            for number in 0..segments {
                if self.take_segment(log, &receivers[number % threads], is_cancelled)?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn take_segment(
        &mut self,
        log: &dyn SessionLog,
        found: &Receiver<Progress>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<ControlFlow<()>> {
        loop {
            if is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match found.recv().map_err(io::Error::other)? {
                Progress::End(outcome) => return outcome.map(ControlFlow::Continue),
                Progress::Lines(lines) => {
                    for line in lines {
                        if self.take(log, line)?.is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                }
            }
        }
    }

    fn take(&mut self, log: &dyn SessionLog, ScannedLine { span, plain }: ScannedLine) -> io::Result<ControlFlow<()>> {
        match plain.filter(|_| self.takes_plain_lines() && !self.is_full() && span.length <= self.max_line as u64) {
            Some(Plain { id, parent, role }) => {
                let (id, parent) = (self.ids.key_of(id), parent.map(|id| self.ids.key_of(id)));
                self.push_plain(span, id, parent, role);
                Ok(ControlFlow::Continue(()))
            }
            None => {
                let is_cut = span.length > self.hold() as u64;
                let length = if is_cut { span.length.min(CUT_BYTES as u64) } else { span.length };
                let bytes = log.read(Span { length, ..span })?;
                Ok(self.read_line(Line { span, bytes: &bytes, is_terminated: true, is_cut }))
            }
        }
    }
}

/// Reads segments until they are done or the receiver is gone.
fn read_segments(
    log: &dyn SessionLog,
    segments: impl Iterator<Item = usize>,
    segment: u64,
    end: u64,
    sender: &SyncSender<Progress>,
) {
    for number in segments {
        let start = number as u64 * segment;
        let outcome = read_segment(log, start, end.min(start + segment), sender);
        if sender.send(Progress::End(outcome)).is_err() {
            return;
        }
    }
}

fn read_segment(log: &dyn SessionLog, start: u64, end: u64, sender: &SyncSender<Progress>) -> io::Result<()> {
    let Some(first) = first_line(log, start, end)? else {
        return Ok(());
    };
    let mut lines = Vec::with_capacity(BATCH_LINES);
    // Longer lines are read again later, one at a time. With one byte more, the buffer would need the lock of large
    // buffers. A thread that has it could wait for the receiver, and the receiver for a thread that waits for the lock.
    log.scan(first, &Cell::new(SEGMENT_BYTES as usize - 1), &mut |line| {
        if line.span.offset >= end || !line.is_terminated {
            return ControlFlow::Break(());
        }
        lines.push(ScannedLine {
            span: line.span,
            plain: Some(line).filter(|line| !line.is_cut).and_then(|line| plain(line.bytes)),
        });
        let is_full = lines.len() == BATCH_LINES;
        let is_wanted = !is_full || sender.send(Progress::Lines(std::mem::take(&mut lines))).is_ok();
        if is_wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    // If the receiver is gone, sending the end fails too.
    let _ = sender.send(Progress::Lines(lines));
    Ok(())
}

/// The start of the first line that begins between `start` and `end`.
fn first_line(log: &dyn SessionLog, start: u64, end: u64) -> io::Result<Option<u64>> {
    if start == 0 {
        return Ok(Some(0));
    }
    let mut from = start - 1;
    while from + 1 < end {
        let length = SEARCH_BYTES.min(end - 1 - from);
        let bytes = log.read(Span { offset: from, length })?;
        if let Some(at) = memchr(b'\n', &bytes) {
            return Ok(Some(from + at as u64 + 1));
        }
        from += length;
    }
    Ok(None)
}

fn plain(line: &[u8]) -> Option<Plain> {
    let header = PlainHeader::read(line)?;
    Some(Plain { id: IdText::new(header.id), parent: header.parent_id.map(IdText::new), role: header.role })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::MemoryLog;
    use crate::index::Reading;

    fn shown(index: &Index) -> String {
        let records: Vec<_> = index.records_from(0).collect();
        let (last, end, refusal) = (index.last(), index.end(), index.refusal);
        format!("{records:?} {last:?} {end} {refusal:?} {:?}", index.diagnostics.as_slice())
    }

    fn lines() -> impl Strategy<Value = String> {
        let message = |id: &str, parent: &str, more: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"T","message":{{"role":"user"{more}}}}}"#
            )
        };
        let id = prop::sample::select(vec!["0000000a", "0000000b", "0000000c", "longer than eight", "x"]);
        let parent = prop::sample::select(vec!["null", "\"0000000a\"", "\"x\"", "\"nowhere\""]);
        let more =
            prop::sample::select(vec!["", ",\"content\":\"words\"", ",\"role\":\"system\"", ",\"content\":\"cut"]);
        let line = prop_oneof![
            8 => (id, parent, more).prop_map(move |(id, parent, more)| message(id, parent, more)),
            1 => Just(r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/"}"#.to_owned()),
            1 => Just(r#"{"type":"session_info","id":"n","parentId":null,"timestamp":"T","name":"N"}"#.to_owned()),
            1 => prop::sample::select(vec!["", "{", "   ", "7"]).prop_map(str::to_owned),
        ];
        prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

        #[test]
        fn several_threads_find_what_one_finds(
            text in lines(),
            has_header in any::<bool>(),
            is_ended in any::<bool>(),
            segment in 1..400u64,
            threads in 1..4usize,
            max_line in prop_oneof![60..200usize, Just(1 << 20)],
        ) {
            let header = r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/"}"#;
            let start = if has_header { format!("{header}\n") } else { String::new() };
            let text = format!("{start}{text}{}", if is_ended { "\n" } else { "" });
            let log = MemoryLog::new(text.into_bytes());
            let alone = Index::build(&log, Reading::Headers, u64::MAX, max_line).unwrap();
            let together = Index::build_in_parallel(&log, u64::MAX, segment, threads, max_line, &|| false).unwrap();
            prop_assert_eq!(shown(&together), shown(&alone));
        }
    }
}
