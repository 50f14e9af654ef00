//! The index of a session: where its entries are and how they are linked.
//!
//! The index contains headers and offsets, never bodies. It can be dropped and built again. It stores ids as numbers,
//! so that a record takes few bytes: an id of eight lower-case hexadecimal digits, the form of the format, is its own
//! number. The texts of all other ids are stored once, in one string.

pub(crate) mod lazy;
mod scan;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::num::NonZeroU64;
use std::ops::ControlFlow;

use compaction_core::entry::{Entry, EntryHeader, EntryId, EntryKind, PlainText, Role};
use compaction_core::migrate::{Migration, TreePosition};
use hashbrown::HashTable;

use crate::error::{Diagnostic, DiagnosticKind, Diagnostics};
use crate::header::SessionHeader;
use crate::log::{CUT_BYTES, Line, SessionLog, Span};

pub(crate) use scan::too_long;

/// One entry of the file.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: EntryId,
    pub(crate) parent_id: Option<EntryId>,
    pub(crate) span: Span,
    /// Line of the file, counted from 1; `None` if only the end of the file was read.
    pub(crate) line: Option<usize>,
    pub(crate) kind: EntryKind,
    pub(crate) role: Option<Role>,
    /// Whether the body is known to be broken.
    pub(crate) is_broken: bool,
    /// Whether a later entry has the same id, so that no reference leads here.
    pub(crate) is_superseded: bool,
}

impl Record {
    pub(crate) fn header(&self) -> EntryHeader {
        EntryHeader { id: self.id.clone(), parent_id: self.parent_id.clone(), kind: self.kind, role: self.role }
    }

    pub(crate) fn place(&self) -> TreePosition {
        TreePosition { id: self.id.clone(), parent_id: self.parent_id.clone() }
    }
}

/// How much of each line is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reading {
    /// The whole line, so that broken bodies are found.
    #[default]
    Whole,
    /// As much as the position in the tree needs. Broken bodies are found when they are read.
    Headers,
}

/// The facts of a line besides its position in the tree.
#[derive(Debug, Clone, Copy)]
struct LineFacts {
    kind: EntryKind,
    role: Option<Role>,
    is_broken: bool,
}

/// A record in compact form.
#[derive(Debug, Clone, Copy)]
struct PackedRecord {
    id: IdKey,
    parent: Option<IdKey>,
    offset: u64,
    length: u64,
    line: u32,
    kind: EntryKind,
    role: Option<Role>,
    is_broken: bool,
    is_superseded: bool,
}

// The index of a session with a million entries takes about sixty megabytes, including its table.
const _: () = assert!(size_of::<PackedRecord>() == 40);

/// The header must end within this number of bytes from the start of a log.
pub(crate) const HEADER_BYTES: usize = 1 << 20;
const NO_HEADER: &str = "there is no session header in its first 1048576 bytes";

/// Expected bytes of a line, from which a new index estimates its memory. Lines are longer on average; if not, the index
/// grows.
const EXPECTED_LINE_BYTES: u64 = 1280;

/// The index of one session.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) header: Option<SessionHeader>,
    /// The range of the header.
    pub(crate) header_span: Option<Span>,
    pub(crate) migration: Option<Migration>,
    pub(crate) is_newer_version: bool,
    /// Why the log is not a session, if so.
    pub(crate) refusal: Option<&'static str>,
    pub(crate) labels: Labels,
    pub(crate) name: Option<String>,
    pub(crate) diagnostics: Diagnostics,
    /// Whether some entries are their own ancestors.
    pub(crate) has_cycle: bool,
    ids: Ids,
    records: Vec<PackedRecord>,
    /// Slots of the current records, by id.
    slots: HashTable<u32>,
    hasher: KeyHasher,
    /// Slots of the entries that may say something about a whole path, in file order, see [`Index::may_describe_path`].
    describing: Vec<u32>,
    /// The last entry of the file that can be read.
    last: Option<usize>,
    reading: Reading,
    /// Maximum bytes of a line.
    max_line: usize,
    /// Number of records that are in the table of slots.
    placed: usize,
    has_duplicates: bool,
    /// Where the next scan starts: after the last line that was used.
    end: u64,
    lines: usize,
    /// Number of records whose links were checked.
    linked: usize,
    /// Ids of parents that were not found.
    missing_ids: HashSet<IdKey>,
    /// Number of missing parents that were reported.
    missing_parents: usize,
    /// Whether checked links may have changed.
    has_stale_links: bool,
    /// Whether an entry since the last check has a parent after it. Otherwise there can be no new cycle.
    may_have_cycle: bool,
    /// Whether any entry has had a parent after it.
    has_later_parents: bool,
    /// Whether the last line had no LF when it was read, so that the next bytes may begin with it.
    is_open: bool,
    has_bytes: bool,
}

impl Index {
    /// Reads the lines that begin before `limit`, once. If bodies are not to be read and two entries have the same id,
    /// reads them twice, because the later entry counts only if its body is whole. A line with more than `max_line`
    /// bytes is not kept and counts as broken.
    pub(crate) fn build(log: &dyn SessionLog, reading: Reading, limit: u64, max_line: usize) -> io::Result<Self> {
        Self::build_unless(log, reading, limit, max_line, &|| false)
    }

    /// As [`Index::build`]. Fails with `Interrupted` once it `is_cancelled`.
    pub(crate) fn build_unless(
        log: &dyn SessionLog,
        reading: Reading,
        limit: u64,
        max_line: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<Self> {
        if log.length() > HEADER_BYTES as u64 {
            let start = Self::new(log, Reading::Whole, 0, max_line).find_header(log)?;
            if start.header.is_none() {
                return Ok(start);
            }
        }
        let threads = match reading {
            Reading::Headers => scan::threads(log, log.length().min(limit)),
            Reading::Whole => 1,
        };
        if threads > 1 {
            return Self::build_in_parallel(log, limit, scan::SEGMENT_BYTES, threads, max_line, is_cancelled);
        }
        Self::new(log, reading, limit, max_line).read(log, limit, is_cancelled)
    }

    /// Reads the start of a log up to the header, so that no more is read of a file that is not a session.
    fn find_header(mut self, log: &dyn SessionLog) -> io::Result<Self> {
        for length in [CUT_BYTES, HEADER_BYTES] {
            let bytes = log.read(Span { offset: 0, length: length as u64 })?;
            for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
                let span = Span { offset: self.end, length: line.len() as u64 - 1 };
                let bytes = &line[..line.len() - 1];
                let flow = self.read_line(Line { span, bytes, is_terminated: true, is_cut: false });
                if flow.is_break() || self.header.is_some() {
                    return Ok(self);
                }
            }
            self = Self::new(log, Reading::Whole, 0, self.max_line);
        }
        self.has_bytes = true;
        self.refusal = Some(NO_HEADER);
        Ok(self)
    }

    /// As [`Index::build`] with [`Reading::Headers`], on several threads.
    fn build_in_parallel(
        log: &dyn SessionLog,
        limit: u64,
        segment: u64,
        threads: usize,
        max_line: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<Self> {
        let mut index = Self::new(log, Reading::Headers, limit, max_line);
        index.scan_in_parallel(log, log.length().min(limit), segment, threads, is_cancelled)?;
        index.read(log, limit, is_cancelled)
    }

    fn new(log: &dyn SessionLog, reading: Reading, limit: u64, max_line: usize) -> Self {
        let mut index = Self { reading, max_line, ..Self::default() };
        index.reserve(log.length().min(limit) / EXPECTED_LINE_BYTES);
        index
    }

    /// Reads on to the end.
    fn read(mut self, log: &dyn SessionLog, limit: u64, is_cancelled: &dyn Fn() -> bool) -> io::Result<Self> {
        if self.refusal.is_none() {
            self.scan_until(log, limit, is_cancelled)?;
        }
        self.check_last_body(log)?;
        if self.reading == Reading::Headers && self.has_duplicates {
            return Self::new(log, Reading::Whole, limit, self.max_line).read(log, limit, is_cancelled);
        }
        self.reading = Reading::Whole;
        self.records.shrink_to_fit();
        self.ids.shrink();
        Ok(self)
    }

    /// Reads the part of the log after the known part.
    pub(crate) fn scan(&mut self, log: &dyn SessionLog) -> io::Result<()> {
        self.scan_until(log, u64::MAX, &|| false)
    }

    /// Adds a line that was just written after the known part.
    pub(crate) fn push_written_line(&mut self, span: Span, line: &str) {
        let _ = self.read_line(Line { span, bytes: line.as_bytes(), is_terminated: true, is_cut: false });
        self.check_links();
    }

    /// Adds an entry whose line was just written after the known part, in the current version of the format. Returns
    /// `false` if the log must be read instead.
    pub(crate) fn push_written(&mut self, span: Span, entry: &Entry) -> bool {
        if self.is_open || self.is_full() || self.header.is_none() || self.migration.is_some() {
            return false;
        }
        self.lines += 1;
        self.end = span.end() + 1;
        let EntryHeader { id, parent_id, kind, role } = entry.header().clone();
        let role = role.or((kind == EntryKind::Message).then_some(Role::Other));
        // The index needs nothing of a message's body.
        let line = if kind == EntryKind::Message { Cow::Borrowed("") } else { entry.line() };
        let position = TreePosition { id, parent_id };
        self.push(LineFacts { kind, role, is_broken: false }, position, &line, span);
        self.check_links();
        true
    }

    /// The end of the known part of the log.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The end of the last line, if it has no LF.
    pub(crate) fn open_end(&self) -> Option<u64> {
        self.is_open.then_some(self.end)
    }

    /// The last entry of the log that can be read.
    pub(crate) fn last(&self) -> Option<EntryId> {
        self.last.map(|slot| self.id(slot))
    }

    /// The record in a slot.
    pub(crate) fn record(&self, slot: usize) -> Record {
        let packed = &self.records[slot];
        Record {
            id: self.ids.id(packed.id),
            parent_id: packed.parent.map(|parent| self.ids.id(parent)),
            span: Span { offset: packed.offset, length: packed.length },
            line: Some(packed.line as usize),
            kind: packed.kind,
            role: packed.role,
            is_broken: packed.is_broken,
            is_superseded: packed.is_superseded,
        }
    }

    /// The records from slot `start` on in file order, including superseded ones.
    pub(crate) fn records_from(&self, start: usize) -> impl Iterator<Item = Record> {
        (start..self.records.len()).map(|slot| self.record(slot))
    }

    /// The slots of the current records, in file order, from slot `start` on.
    pub(crate) fn current_from(&self, start: usize) -> impl Iterator<Item = usize> {
        (start..self.records.len()).filter(|&slot| !self.records[slot].is_superseded)
    }

    /// Whether a later record has the same id.
    pub(crate) fn is_superseded(&self, slot: usize) -> bool {
        self.records[slot].is_superseded
    }

    /// The current records in file order.
    pub(crate) fn current(&self) -> impl Iterator<Item = Record> {
        self.current_from(0).map(|slot| self.record(slot))
    }

    /// Number of records, including superseded ones.
    pub(crate) fn record_count(&self) -> usize {
        self.records.len()
    }

    /// The id of the record in a slot.
    pub(crate) fn id(&self, slot: usize) -> EntryId {
        self.ids.id(self.records[slot].id)
    }

    /// The type of the record in a slot.
    pub(crate) fn kind(&self, slot: usize) -> EntryKind {
        self.records[slot].kind
    }

    /// The role of the message of the record in a slot.
    pub(crate) fn role(&self, slot: usize) -> Option<Role> {
        self.records[slot].role
    }

    /// Whether the entry in a slot may set the model, the thinking level or a pin, or carry a state of the path before
    /// it. Models of answers do not count.
    pub(crate) fn may_describe_path(&self, slot: usize) -> bool {
        u32::try_from(slot).is_ok_and(|slot| self.describing.binary_search(&slot).is_ok())
    }

    /// Whether any entry may set a pin, or list pins.
    pub(crate) fn may_have_pins(&self) -> bool {
        let mut kinds = self.describing.iter().map(|&slot| self.kind(slot as usize));
        kinds.any(|kind| matches!(kind, EntryKind::Custom | EntryKind::Compaction))
    }

    /// The offset of the line of the record in a slot.
    pub(crate) fn offset(&self, slot: usize) -> u64 {
        self.records[slot].offset
    }

    /// The slot of the entry `id`.
    pub(crate) fn slot(&self, id: &str) -> Option<usize> {
        self.slot_of(self.ids.find(id)?)
    }

    /// The slot of the parent, if it is in the file.
    pub(crate) fn parent_slot(&self, slot: usize) -> Option<usize> {
        self.slot_of(self.records[slot].parent?)
    }

    /// Whether every entry comes after its parent.
    pub(crate) fn is_ordered(&self) -> bool {
        !self.has_later_parents
    }

    /// Whether the log is empty.
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_bytes
    }

    /// Number of current entries.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of memory of records and ids.
    pub(crate) fn memory(&self) -> usize {
        let describing = self.describing.capacity() * size_of::<u32>();
        self.records.capacity() * size_of::<PackedRecord>()
            + self.slots.allocation_size()
            + self.ids.memory()
            + describing
    }

    fn scan_until(&mut self, log: &dyn SessionLog, limit: u64, is_cancelled: &dyn Fn() -> bool) -> io::Result<()> {
        self.diagnostics.remove_kind(DiagnosticKind::TornLastLine);
        let hold = Cell::new(self.hold());
        log.scan(self.end, &hold, &mut |line| {
            let is_wanted = line.span.offset < limit && !is_cancelled();
            let flow = if is_wanted { self.read_line(line) } else { ControlFlow::Break(()) };
            hold.set(self.hold());
            flow
        })?;
        if is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.place_records();
        self.check_links();
        self.diagnostics.count_unlisted();
        Ok(())
    }

    /// Maximum bytes of a line that a scan keeps. Before a header is found, the log may contain anything.
    fn hold(&self) -> usize {
        if self.header.is_some() { self.max_line } else { HEADER_BYTES }
    }

    /// Reserves memory for about `entries`, because growing a table rebuilds it.
    fn reserve(&mut self, entries: u64) {
        let entries = usize::try_from(entries).unwrap_or(0);
        let Self { slots, records, hasher, .. } = self;
        slots.reserve(entries, |&slot| hasher.hash(records[slot as usize].id));
        records.reserve(entries);
    }

    fn slot_of(&self, id: IdKey) -> Option<usize> {
        let found = self.slots.find(self.hasher.hash(id), |&slot| self.records[slot as usize].id == id);
        found.map(|&slot| slot as usize)
    }

    /// Makes `slot` the slot of `id`, and returns the previous one.
    fn set_slot(&mut self, id: IdKey, slot: u32) -> Option<usize> {
        let Self { slots, records, hasher, .. } = self;
        let hash = hasher.hash(id);
        if let Some(known) = slots.find_mut(hash, |&slot| records[slot as usize].id == id) {
            return Some(std::mem::replace(known, slot) as usize);
        }
        slots.insert_unique(hash, slot, |&slot| hasher.hash(records[slot as usize].id));
        None
    }

    /// Whether the index is full.
    fn is_full(&self) -> bool {
        self.records.len().max(self.ids.long_count()) >= MAX_LONG_IDS
    }

    fn report(&mut self, kind: DiagnosticKind, line: usize, message: impl Into<String>) {
        if !self.diagnostics.count_only(kind, line) {
            self.diagnostics.add(Diagnostic::new(kind, Some(line), message));
        }
    }
}

/// The current label of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The label's text.
    pub text: String,
    /// When it was set, as stored.
    pub timestamp: String,
    /// Slot of the entry that set it.
    pub(crate) slot: usize,
}

/// The labels of a session. The last label of an entry in the file counts, whatever branch it is on.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    by_target: HashMap<EntryId, Label>,
}

impl Labels {
    /// Sets or clears the label of `target_id`.
    pub(crate) fn set(&mut self, target_id: EntryId, label: Option<String>, timestamp: String, slot: usize) {
        match label {
            Some(text) => self.by_target.insert(target_id, Label { text, timestamp, slot }),
            None => self.by_target.remove(&target_id),
        };
    }

    pub(crate) fn get(&self, target_id: &EntryId) -> Option<&Label> {
        self.by_target.get(target_id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&EntryId, &Label)> {
        self.by_target.iter()
    }
}

/// A name on one line: each run of CR and LF becomes a space (docs/session-format.md, "Labels and names"). `None` if
/// nothing is left.
pub(crate) fn clean_name(name: &str) -> Option<String> {
    let parts = name.split(['\r', '\n']).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join(" ").trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Maximum number of ids with a stored text in one session.
const MAX_LONG_IDS: usize = u32::MAX as usize - 2;

/// The first number of an id with a stored text. Eight digits are stored as their value plus one.
const FIRST_LONG: u64 = 1 << 33;

/// An id within one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct IdKey(NonZeroU64);

/// Hashes keys with random numbers, which writers of files cannot know.
#[derive(Debug)]
struct KeyHasher(u64, u64);

impl Default for KeyHasher {
    fn default() -> Self {
        let random = RandomState::new();
        Self(random.hash_one(0), random.hash_one(1) | 1)
    }
}

impl KeyHasher {
    /// Both halves of the product depend on all bits of the key.
    fn hash(&self, key: IdKey) -> u64 {
        let product = u128::from(key.0.get() ^ self.0) * u128::from(self.1);
        product as u64 ^ (product >> 64) as u64
    }
}

/// An id that is not in an index yet.
#[derive(Debug)]
enum IdText {
    Short(IdKey),
    Long(Box<str>),
}

impl IdText {
    fn new(id: PlainText<'_>) -> Self {
        short_key(id.as_bytes()).map_or_else(|| Self::Long(id.as_str().into()), Self::Short)
    }
}

/// The ids of one index.
#[derive(Debug, Default)]
struct Ids {
    /// The texts of all long ids, concatenated.
    text: String,
    /// The end of each text.
    ends: Vec<usize>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl Ids {
    /// The key of `id`. Creates it if necessary.
    fn key(&mut self, id: &str) -> IdKey {
        self.find(id).unwrap_or_else(|| self.add_long(id))
    }

    /// As [`Ids::key`].
    fn key_of_plain(&mut self, id: PlainText<'_>) -> IdKey {
        short_key(id.as_bytes()).unwrap_or_else(|| self.key(id.as_str()))
    }

    /// The key of an id. Creates it if necessary.
    fn key_of(&mut self, id: IdText) -> IdKey {
        match id {
            IdText::Short(key) => key,
            IdText::Long(id) => self.key(&id),
        }
    }

    /// The key of `id`; `None` if no entry can have this id.
    fn find(&self, id: &str) -> Option<IdKey> {
        if let Some(key) = short_key(id.as_bytes()) {
            return Some(key);
        }
        let number = self.numbers.find(self.hasher.hash_one(id), |&number| self.long_text(number) == id)?;
        Some(long_key(*number))
    }

    /// The id of a key.
    fn id(&self, key: IdKey) -> EntryId {
        match key.0.get().checked_sub(FIRST_LONG) {
            Some(number) => EntryId::new(self.long_text(number as u32)),
            None => EntryId::new(short_text(&mut [0; SHORT_DIGITS], key.0.get() - 1)),
        }
    }

    /// Number of ids with a stored text.
    fn long_count(&self) -> usize {
        self.ends.len()
    }

    /// Frees memory that was reserved.
    fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Bytes of memory that are in use.
    fn memory(&self) -> usize {
        let numbers = self.numbers.allocation_size();
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + numbers
    }

    fn add_long(&mut self, id: &str) -> IdKey {
        let number = u32::try_from(self.ends.len()).expect("a scan ends before there are so many ids");
        self.text.push_str(id);
        self.ends.push(self.text.len());
        let Self { text, ends, numbers, hasher } = self;
        let hash_of = |&number: &u32| hasher.hash_one(text_of(text, ends, number));
        numbers.insert_unique(hasher.hash_one(id), number, hash_of);
        long_key(number)
    }

    fn long_text(&self, number: u32) -> &str {
        text_of(&self.text, &self.ends, number)
    }
}

/// Digits of a short id.
const SHORT_DIGITS: usize = 8;

/// The text of a short id: its hexadecimal digits. A formatter takes several times as long, and most ids are read often.
fn short_text(digits: &mut [u8; SHORT_DIGITS], number: u64) -> &str {
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(rest % 16) as usize];
        rest /= 16;
    }
    std::str::from_utf8(digits).unwrap_or_default()
}

fn text_of<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &text[start..ends[number]]
}

fn long_key(number: u32) -> IdKey {
    IdKey(NonZeroU64::MIN.saturating_add(FIRST_LONG - 1 + u64::from(number)))
}

/// The key of an id of eight lower-case hexadecimal digits.
fn short_key(id: &[u8]) -> Option<IdKey> {
    let digits: &[u8; SHORT_DIGITS] = id.try_into().ok()?;
    let (mut value, mut seen) = (0, 0);
    for digit in digits {
        let digit = DIGITS[usize::from(*digit)];
        value = value << 4 | u64::from(digit);
        seen |= digit;
    }
    (seen < 16).then(|| IdKey(NonZeroU64::MIN.saturating_add(value)))
}

/// The value of each digit; 16 for other bytes.
const DIGITS: [u8; 256] = {
    let (mut digits, mut byte) = ([16; 256], 0);
    while byte < 10 {
        digits[b'0' as usize + byte] = byte as u8;
        byte += 1;
    }
    while byte < 16 {
        digits[b'a' as usize + byte - 10] = byte as u8;
        byte += 1;
    }
    digits
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_comes_back_as_it_was() {
        let mut ids = Ids::default();
        let uuid = "019b0c1e-7c1a-7a3e-8000-000000000000";
        let texts = ["00000000", "ffffffff", "0badcafe", "0BADCAFE", "a", "", "é", uuid, "000000000"];
        let keys = texts.map(|text| ids.key(text));
        for (text, key) in texts.into_iter().zip(keys) {
            assert_eq!((ids.id(key).as_str(), ids.find(text), ids.key(text)), (text, Some(key), key));
        }
        let distinct: std::collections::HashSet<_> = keys.into_iter().collect();
        assert_eq!((distinct.len(), ids.long_count()), (texts.len(), 6));
        assert_eq!(ids.find("nobody"), None);
    }

    #[test]
    fn many_long_ids_are_distinguished() {
        let mut ids = Ids::default();
        let keys: Vec<_> = (0..5000).map(|n| ids.key(&format!("entry-{n}"))).collect();
        for (n, key) in keys.into_iter().enumerate() {
            assert_eq!(ids.find(&format!("entry-{n}")), Some(key));
        }
    }
}
