//! The index of a session as far as it was needed: all of it, or only the end of a large session.
//!
//! A large session is opened by its end. The whole index is built when a call needs it. After that the tail is not
//! used any more, and the next change drops it.
//!
//! A tail answers only what the whole index would answer in the same way. It gives way to the whole index at anything
//! odd: a broken, torn or over-long line, a duplicate id, a parent after its child, an entry without an id or a parent. It reads
//! plain messages as the index of a large session does, and all other lines to their end.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque, hash_map};
use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use compaction_core::entry::{Entry, EntryHeader, EntryId, EntryKind, Role};
use memchr::{memchr, memchr_iter};

use crate::header::{FoundHeader, SessionHeader};
use crate::index::{Index, Reading, Record};
use crate::line::{LineHeader, PlainHeader};
use crate::log::{LINES_BYTES, Line, READ_BYTES, SessionLog, Span, make_room};
use crate::words::{OVERLAP, may_set_level};

/// The index of a session as far as it was read.
#[derive(Debug)]
pub(crate) struct LazyIndex {
    whole: OnceLock<Index>,
    tail: Option<Mutex<Tail>>,
    /// Locked while the whole index is built, so that it is built only once.
    building: Mutex<()>,
    /// The offset and the number of a line, from which other lines are numbered.
    counted: Mutex<(u64, usize)>,
}

/// The position of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// In the whole index.
    Whole(usize),
    /// In the tail.
    Tail(usize),
}

impl Position {
    /// The slot in the whole index, if it is one.
    pub(crate) fn whole(self) -> Option<usize> {
        match self {
            Self::Whole(slot) => Some(slot),
            Self::Tail(_) => None,
        }
    }
}

impl LazyIndex {
    /// Reads a log of at most `whole_bytes` completely, and a larger one from its end if that is enough. Lines have
    /// at most `max_line` bytes.
    pub(crate) fn open(log: &dyn SessionLog, whole_bytes: u64, max_line: usize) -> io::Result<Self> {
        let is_large = log.length() > whole_bytes;
        if is_large && let Some(tail) = Tail::open(log, max_line)? {
            return Ok(Self { tail: Some(Mutex::new(tail)), ..Self::new(OnceLock::new()) });
        }
        Ok(Self::whole(Index::build(log, Reading::of(is_large), u64::MAX, max_line)?))
    }

    /// The index of a log that was read completely.
    pub(crate) fn whole(index: Index) -> Self {
        Self::new(index.into())
    }

    fn new(whole: OnceLock<Index>) -> Self {
        Self { whole, tail: None, building: Mutex::default(), counted: Mutex::new((0, 1)) }
    }

    /// The whole index, if it was built.
    pub(crate) fn get(&self) -> Option<&Index> {
        self.whole.get()
    }

    /// The whole index. Builds it if necessary, once for all callers.
    pub(crate) fn get_or_build(&self, build: impl FnOnce() -> io::Result<Index>) -> io::Result<&Index> {
        if let Some(index) = self.get() {
            return Ok(index);
        }
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = self.get() {
            return Ok(index);
        }
        let index = build()?;
        Ok(self.whole.get_or_init(|| index))
    }

    /// The number of the line at `offset`, counted from the line that was numbered last. Lines in a tail are close
    /// together.
    pub(crate) fn count_lines(&self, log: &dyn SessionLog, offset: u64) -> io::Result<usize> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, number) = if offset < counted.0 / 2 { (0, 1) } else { *counted };
        let (start, end, mut lines) = (from.min(offset), from.max(offset), 0);
        log.scan(start, &Cell::new(READ_BYTES), &mut |line| {
            let is_before = line.span.offset < end;
            lines += usize::from(is_before);
            if is_before { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        *counted = (offset, if offset < from { number.saturating_sub(lines).max(1) } else { number + lines });
        Ok(counted.1)
    }

    /// The whole index for changes, if it was built. Drops the tail.
    pub(crate) fn get_mut(&mut self) -> Option<&mut Index> {
        if self.whole.get().is_some() {
            self.tail = None;
        }
        self.whole.get_mut()
    }

    /// The header, if the log has one.
    pub(crate) fn header(&self) -> Option<SessionHeader> {
        match (self.get(), self.tail()) {
            (Some(index), _) => index.header.clone(),
            (None, tail) => tail.map(|tail| tail.header.clone()),
        }
    }

    /// The last entry of the log that can be read.
    pub(crate) fn last(&self) -> Option<EntryId> {
        match (self.get(), self.tail()) {
            (Some(index), _) => index.last(),
            (None, tail) => tail.and_then(|tail| tail.last().map(|record| record.id.clone())),
        }
    }

    /// Where the known part of the log ends.
    pub(crate) fn end(&self) -> u64 {
        match (self.get(), self.tail()) {
            (Some(index), _) => index.end(),
            (None, tail) => tail.map_or(0, |tail| tail.end),
        }
    }

    /// Adds an entry whose line was just written after the known part; `false` if the log has to be read for that.
    pub(crate) fn push_written(&mut self, span: Span, entry: &Entry) -> bool {
        if let Some(index) = self.get_mut() {
            return index.push_written(span, entry);
        }
        self.tail().is_some_and(|mut tail| tail.push_written(span, entry))
    }

    /// The line of an entry, if its bytes are still in memory.
    pub(crate) fn line_in_tail(&self, record: &Record) -> Option<Vec<u8>> {
        if record.line.is_some() {
            return None;
        }
        self.tail()?.line(record.span).map(<[u8]>::to_vec)
    }

    /// The tail, unless it was dropped.
    pub(crate) fn tail(&self) -> Option<MutexGuard<'_, Tail>> {
        // A tail adds what it has read completely or not at all.
        self.tail.as_ref().map(|tail| tail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Reading {
    /// How a log is read, depending on its size.
    pub(crate) fn of(is_large: bool) -> Self {
        if is_large { Self::Headers } else { Self::Whole }
    }
}

/// Bytes of the first read.
const FIRST_BYTES: u64 = 1 << 16;

/// Maximum bytes of one read, unless a line is longer. A walk that ends in the middle of a part has read the rest of it
/// for nothing.
const STEP_BYTES: u64 = 1 << 18;
/// The same for a read that takes microseconds.
const QUICK_STEP_BYTES: u64 = LINES_BYTES as u64;

/// Maximum bytes of a tail, unless a setting is known to be further away. Reading more takes as long as reading the
/// headers of a file several times larger.
const MAX_BYTES: u64 = 4 << 20;
/// The search for a setting starts in the last part of the log: its length divided by this. It is then much cheaper
/// than building the whole index.
const SEARCHED_PART: u64 = 8;

/// The header must end within this number of bytes.
const TAIL_HEADER_BYTES: u64 = 1 << 16;

/// Number of the first entry that is read. Entries before it have smaller numbers.
const FIRST_SLOT: usize = usize::MAX / 2;

/// The entries at the end of a log.
#[derive(Debug)]
pub(crate) struct Tail {
    header: SessionHeader,
    /// The earliest place of the first entry.
    body: u64,
    /// Start and end of the known part. Both are starts of lines.
    start: u64,
    end: u64,
    /// Bytes to read next.
    step: u64,
    /// Maximum bytes.
    reach: u64,
    /// Maximum bytes of a line. A longer one is broken.
    max_line: usize,
    records: VecDeque<Record>,
    /// Number of the first record.
    base: usize,
    slots: HashMap<EntryId, usize>,
    /// The bytes of the last read, and their offset. A walk reads the entries of one part before it needs the next
    /// part.
    part: (u64, Vec<u8>),
}

impl Tail {
    /// Reads the header and the last entries of a log. `None` if they do not determine the leaf, or if there is a
    /// problem.
    pub(crate) fn open(log: &dyn SessionLog, max_line: usize) -> io::Result<Option<Self>> {
        let end = log.length();
        let first = log.read(Span { offset: 0, length: end.min(TAIL_HEADER_BYTES) })?;
        let Some((header, body)) = read_header(&first) else {
            return Ok(None);
        };
        let (records, slots) = (VecDeque::new(), HashMap::new());
        let (base, part) = (FIRST_SLOT, (end, Vec::new()));
        let (start, step, reach) = (end, FIRST_BYTES, MAX_BYTES);
        let mut tail = Self { header, body, start, end, step, reach, max_line, records, base, slots, part };
        while tail.records.is_empty() {
            if !tail.grow(log)? {
                return Ok(None);
            }
        }
        Ok(tail.is_last_whole().then_some(tail))
    }

    /// Whether the last entry, which is the leaf, can be read to its end.
    fn is_last_whole(&self) -> bool {
        let line = self.last().and_then(|last| self.line(last.span));
        let header = line.and_then(|line| LineHeader::read(std::str::from_utf8(line).ok()?));
        header.is_some_and(|header| !header.is_body_broken)
    }

    /// The bytes of a line, if the last read contains it.
    pub(crate) fn line(&self, span: Span) -> Option<&[u8]> {
        let (start, bytes) = &self.part;
        let from = usize::try_from(span.offset.checked_sub(*start)?).ok()?;
        bytes.get(from..from.checked_add(usize::try_from(span.length).ok()?)?)
    }

    /// Reads some entries before the known ones. Returns `false` if there are none, if the tail would become too
    /// large, or if there is a problem. Then the whole index is needed.
    pub(crate) fn grow(&mut self, log: &dyn SessionLog) -> io::Result<bool> {
        let most = if log.is_quick() { QUICK_STEP_BYTES } else { STEP_BYTES };
        loop {
            let start = self.start.saturating_sub(self.step).max(self.body);
            if start == self.start || self.end - start > self.reach {
                return Ok(false);
            }
            // The next part takes its memory.
            self.part = (start, Vec::new());
            let bytes = log.read(Span { offset: start, length: self.start - start })?;
            make_room(bytes.len());
            // The part usually begins in the middle of a line.
            let first = if start == self.body { Some(0) } else { memchr(b'\n', &bytes).map(|at| at + 1) };
            if let Some(first) = first.filter(|&first| first < bytes.len()) {
                self.step = (self.step * 2).min(most);
                let is_added = self.add_before(start + first as u64, &bytes[first..]);
                self.part = (start, bytes);
                return Ok(is_added);
            }
            self.step *= 2;
        }
    }

    /// Whether a line that begins before `offset`, and not far from the end of the log, may set the thinking level, or
    /// the start of the log is not far either. The tail may then grow up to it. Reads quickly but only guesses: the words
    /// may be in a text, or be written as escapes.
    pub(crate) fn may_reach_setting(&mut self, log: &dyn SessionLog, offset: u64) -> io::Result<bool> {
        Ok(self.end - self.body <= self.reach
            || self.may_reach(log, offset, MAX_BYTES.max(self.end / SEARCHED_PART))?)
    }

    /// As [`Tail::may_reach_setting`] in the last `most` bytes.
    fn may_reach(&mut self, log: &dyn SessionLog, offset: u64, most: u64) -> io::Result<bool> {
        let first = self.end.saturating_sub(most).max(self.body);
        let mut start = offset;
        while start > first {
            let end = (start + OVERLAP as u64).min(offset);
            start = start.saturating_sub(QUICK_STEP_BYTES).max(first);
            if may_set_level(&log.read(Span { offset: start, length: end - start })?) {
                // The line may begin before the word, and a part before the line.
                self.reach = self.reach.max(self.end - start + 2 * STEP_BYTES);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads what was added after the known part. `None` if there is a problem in it; then the tail is unchanged.
    pub(crate) fn read_on(&mut self, log: &dyn SessionLog) -> io::Result<Option<Vec<Record>>> {
        let (mut end, mut records, mut is_odd) = (self.end, Vec::new(), false);
        log.scan(self.end, &Cell::new(self.max_line.min(MAX_BYTES as usize)), &mut |line| {
            end = line.span.end() + 1;
            match read_line(line).filter(|_| !line.is_cut) {
                Some(record) => records.extend(record),
                None => is_odd = true,
            }
            if is_odd { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if is_odd || !self.add_slots(self.base + self.records.len(), &records) {
            return Ok(None);
        }
        self.end = end;
        self.records.extend(records.iter().cloned());
        Ok(Some(records))
    }

    /// Records an entry whose line was just written after the known part; `false` if the log has to be read for that.
    pub(crate) fn push_written(&mut self, span: Span, entry: &Entry) -> bool {
        let EntryHeader { id, parent_id, kind, role } = entry.header().clone();
        if self.slots.contains_key(&id) {
            return false;
        }
        let role = role.or((kind == EntryKind::Message).then_some(Role::Other));
        self.end = span.end() + 1;
        self.push_back(Record { id, parent_id, span, line: None, kind, role, is_broken: false, is_superseded: false });
        true
    }

    /// The last entry. There always is one.
    pub(crate) fn last(&self) -> Option<&Record> {
        self.records.back()
    }

    /// The number of the entry `id`, if it is known.
    pub(crate) fn slot(&self, id: &EntryId) -> Option<usize> {
        self.slots.get(id).copied()
    }

    /// Whether the entry `id` is the one before number `slot`, and known.
    pub(crate) fn is_next_to(&self, slot: usize, id: &EntryId) -> bool {
        slot.checked_sub(self.base + 1).is_some_and(|before| self.records[before].id == *id)
    }

    /// The entry with a number.
    pub(crate) fn record(&self, slot: usize) -> &Record {
        &self.records[slot - self.base]
    }

    /// The entries after number `slot`, in file order.
    pub(crate) fn records_after(&self, slot: usize) -> impl Iterator<Item = &Record> {
        self.records.range(slot - self.base + 1..)
    }

    fn add_before(&mut self, start: u64, bytes: &[u8]) -> bool {
        if !bytes.ends_with(b"\n") {
            return false;
        }
        let (mut from, mut records) = (0, Vec::new());
        for to in memchr_iter(b'\n', bytes) {
            let line = &bytes[from..to];
            if line.len() > self.max_line {
                return false;
            }
            let span = Span { offset: start + from as u64, length: line.len() as u64 };
            match read_quickly(span, line) {
                Some(record) => records.push(record),
                None => match read_line(Line { span, bytes: line, is_terminated: true, is_cut: false }) {
                    Some(record) => records.extend(record),
                    None => return false,
                },
            }
            from = to + 1;
        }
        let base = self.base - records.len();
        if !self.add_slots(base, &records) {
            return false;
        }
        (self.start, self.base) = (start, base);
        records.into_iter().rev().for_each(|record| self.records.push_front(record));
        true
    }

    /// Adds the numbers of `records` from `first` on, or none of them if an id is known or there twice.
    fn add_slots(&mut self, first: usize, records: &[Record]) -> bool {
        for (at, record) in records.iter().enumerate() {
            match self.slots.entry(record.id.clone()) {
                hash_map::Entry::Vacant(vacant) => {
                    vacant.insert(first + at);
                }
                hash_map::Entry::Occupied(_) => {
                    for added in &records[..at] {
                        self.slots.remove(&added.id);
                    }
                    return false;
                }
            }
        }
        true
    }

    fn push_back(&mut self, record: Record) {
        self.slots.insert(record.id.clone(), self.base + self.records.len());
        self.records.push_back(record);
    }
}

/// The header and the end of its line, if it is a valid header of the current version.
fn read_header(bytes: &[u8]) -> Option<(SessionHeader, u64)> {
    let end = memchr(b'\n', bytes)?;
    let line = std::str::from_utf8(&bytes[..end]).ok()?;
    let found = FoundHeader::read(line).ok()?;
    let is_current = found.is_known_version && found.migration.is_none();
    is_current.then_some((found.header, end as u64 + 1))
}

/// The entry of a plain message.
fn read_quickly(span: Span, line: &[u8]) -> Option<Record> {
    let header = PlainHeader::read(line)?;
    let id = EntryId::new(header.id.as_str());
    let parent_id = header.parent_id.map(|id| EntryId::new(id.as_str()));
    let (kind, role) = (EntryKind::Message, Some(header.role));
    Some(Record { id, parent_id, span, line: None, kind, role, is_broken: false, is_superseded: false })
}

/// The entry of a line, if there is one; `None` if the line is a problem.
fn read_line(line: Line<'_>) -> Option<Option<Record>> {
    let text = std::str::from_utf8(line.bytes).ok().filter(|_| line.is_terminated)?;
    if text.trim().is_empty() {
        return Some(None);
    }
    let header = LineHeader::read(text).filter(|header| !header.is_body_broken)?;
    let is_entry = header.kind_name.as_deref().is_some_and(|kind| kind != "session");
    let kind = header.kind();
    let id = EntryId::new(header.id.filter(|_| is_entry)?);
    let parent_id = header.parent_id?.map(EntryId::new);
    let (role, span) = (header.role, line.span);
    Some(Some(Record { id, parent_id, span, line: None, kind, role, is_broken: false, is_superseded: false }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryLog;

    /// A tail of a log of seven megabytes, whose first entry sets the thinking level if `sets_level`.
    fn tail_of(sets_level: bool) -> (MemoryLog, Tail) {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/"}"#;
        let kind = if sets_level { "thinking_level_change" } else { "other" };
        let mut text = format!("{header}\n{{\"type\":\"{kind}\",\"id\":\"0\",\"parentId\":null}}\n");
        let padding = "x".repeat(100_000);
        for n in 1..70 {
            let (id, parent) = (n, n - 1);
            text += &format!(r#"{{"type":"custom","id":"{id}","parentId":"{parent}","data":"{padding}"}}"#);
            text.push('\n');
        }
        let log = MemoryLog::new(text.into_bytes());
        let tail = Tail::open(&log, usize::MAX).unwrap().unwrap();
        (log, tail)
    }

    fn grows_to_start(log: &MemoryLog, tail: &mut Tail) -> bool {
        while tail.grow(log).unwrap() {}
        tail.slot(&EntryId::new("0")).is_some()
    }

    #[test]
    fn a_tail_grows_beyond_its_usual_size_to_a_setting_alone() {
        let (log, mut tail) = tail_of(true);
        let end = tail.end;
        assert!(!tail.may_reach_setting(&log, end).unwrap());
        assert!(!tail.may_reach(&log, 0, u64::MAX).unwrap());
        assert!(!grows_to_start(&log, &mut tail));
        assert!(tail.may_reach(&log, end, u64::MAX).unwrap());
        assert!(grows_to_start(&log, &mut tail));
        let (log, mut tail) = tail_of(false);
        let end = tail.end;
        assert!(!tail.may_reach(&log, end, u64::MAX).unwrap());
        assert!(!grows_to_start(&log, &mut tail));
    }
}
