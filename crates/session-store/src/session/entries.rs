//! Reading entries, with a cache of recently read ones.
//!
//! The cache can be dropped at any time. That costs only time.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryError, EntryHeader, EntryId};
use compaction_core::json;
use compaction_core::projection::Projection;

use crate::error::StoreError;
use crate::index::lazy::Position;
use crate::index::{Index, Reading, Record};
use crate::log::{Span, make_room};
use crate::session::Session;
use crate::session::append::LosslessText;

/// Maximum bytes of lines that are read at once.
const MOST_BYTES_TOGETHER: u64 = 1 << 22;

/// Length of the ids of new entries while not all ids of a session are known.
const UUID_LENGTH: usize = 36;

impl Session {
    /// The entry `id`, from the cache or parsed now.
    ///
    /// Fails with `EntryNotFound`, with `BrokenEntry` if its body cannot be read, or with `Io`.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, StoreError> {
        self.entry_of(&self.record(self.slot(id)?)?)
    }

    /// The entry `id`, or a placeholder of an unknown type if its body is broken, so that a broken line does not stop
    /// a walk through the tree.
    ///
    /// Fails with `EntryNotFound` or with `Io`.
    pub fn entry_or_stand_in(&self, id: &EntryId) -> Result<Arc<Entry>, StoreError> {
        let record = self.record(self.slot(id)?)?;
        match self.entry_of(&record) {
            Err(StoreError::BrokenEntry { .. }) => self.stand_in(&record).map(Arc::new),
            outcome => outcome,
        }
    }

    /// The entries of all branches in file order, those after `since`, at most `limit`.
    ///
    /// An entry with a broken body is returned with its header only. Fails with `EntryNotFound` for `since`, or with
    /// `Io`.
    pub fn entries(&self, since: Option<&EntryId>, limit: Option<usize>) -> Result<Vec<Arc<Entry>>, StoreError> {
        let limit = limit.unwrap_or(usize::MAX);
        let start = match since.map(|id| self.slot(id)).transpose()? {
            None => 0,
            Some(Position::Whole(slot)) => slot + 1,
            Some(Position::Tail(slot)) => {
                let after = self.known.tail().map(|tail| tail.records_after(slot).take(limit).cloned().collect());
                let records: Vec<Record> = after.unwrap_or_default();
                return records.iter().map(|record| self.entry_or_header(record)).collect();
            }
        };
        let index = self.index()?;
        index.current_from(start).take(limit).map(|slot| self.entry_or_header(&index.record(slot))).collect()
    }

    /// The same entries, all of them. Each is read when it is asked for.
    pub fn entries_after(
        &self,
        since: Option<&EntryId>,
    ) -> Result<impl Iterator<Item = Result<Arc<Entry>, StoreError>>, StoreError> {
        let (index, tail) = match since.map(|id| self.slot(id)).transpose()? {
            None => (Some((self.index()?, 0)), Vec::new()),
            Some(Position::Whole(slot)) => (Some((self.index()?, slot + 1)), Vec::new()),
            Some(Position::Tail(slot)) => {
                let after = self.known.tail().map(|tail| tail.records_after(slot).cloned().collect());
                (None, after.unwrap_or_default())
            }
        };
        let known =
            index.into_iter().flat_map(|(index, start)| index.current_from(start).map(|slot| index.record(slot)));
        Ok(known.chain(tail).map(|record| self.entry_or_header(&record)))
    }

    /// Visits every current entry in file order. Reads the file once from its start and keeps nothing. An entry with
    /// a broken body is visited as `Err`.
    pub fn for_each_entry(
        &self,
        mut visit: impl FnMut(Result<&Entry, &StoreError>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        for record in self.index()?.current() {
            let outcome = self.parse(&record);
            if let Err(error) = outcome.as_ref()
                && !matches!(error, StoreError::BrokenEntry { .. })
            {
                return outcome.map(|_| ());
            }
            if visit(outcome.as_ref()).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The entry of a record, from the cache or parsed now.
    pub(crate) fn entry_of(&self, record: &Record) -> Result<Arc<Entry>, StoreError> {
        if let Some(entry) = self.cache().get(record.span.offset) {
            return Ok(entry);
        }
        let entry = Arc::new(self.parse(record)?);
        self.cache().insert(record.span.offset, &entry);
        Ok(entry)
    }

    /// The entry, or its header if its body is broken.
    pub(crate) fn entry_or_header(&self, record: &Record) -> Result<Arc<Entry>, StoreError> {
        match self.entry_of(record) {
            Err(StoreError::BrokenEntry { .. }) => {
                self.header_only(record, record.kind.name().unwrap_or("unknown")).map(Arc::new)
            }
            outcome => outcome,
        }
    }

    /// A placeholder for an entry with a broken body: an entry of an unknown type, which adds nothing to a context.
    pub(crate) fn stand_in(&self, record: &Record) -> Result<Entry, StoreError> {
        self.header_only(record, "broken")
    }

    /// The line of an entry in the current version of the format.
    pub(crate) fn line(&self, record: &Record) -> Result<String, StoreError> {
        let line = String::from_utf8(self.line_bytes(record)?);
        Ok(line.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// As [`Session::line`], with invalid UTF-8 unchanged.
    pub(crate) fn line_bytes(&self, record: &Record) -> Result<Vec<u8>, StoreError> {
        self.check_length(record)?;
        let bytes = match self.known.line_in_tail(record) {
            Some(bytes) => bytes,
            None => self.log.read(record.span).map_err(|source| self.read_error(source))?,
        };
        let Some(migration) = self.known.get().and_then(|index| index.migration.as_ref()) else {
            return Ok(bytes);
        };
        let text = LosslessText::new(bytes);
        // A line that is not an object is returned unchanged, and fails when it is parsed.
        let line = migration.rewrite(text.as_str(), &record.place());
        Ok(text.bytes_of(line.unwrap_or_else(|_| text.as_str().to_owned())))
    }

    /// Fails with `BrokenEntry` for a line that is too long to be kept.
    pub(crate) fn check_length(&self, record: &Record) -> Result<(), StoreError> {
        let (bytes, limit) = (record.span.length, self.max_line);
        if bytes <= limit as u64 {
            return Ok(());
        }
        Err(self.broken(record, EntryError::TooLong { bytes, limit })?)
    }

    /// Reads and parses an entry without the cache.
    pub(crate) fn parse(&self, record: &Record) -> Result<Entry, StoreError> {
        if let Some(entry) = self.parse_in_tail(record) {
            return Ok(entry);
        }
        let line = self.line(record)?;
        if let Err(values) = json::check_value_count(&line) {
            return Err(self.broken(record, EntryError::TooManyValues { values })?);
        }
        Entry::parse(line.trim_ascii()).or_else(|source| Err(self.broken(record, source)?))
    }

    /// The entry of a line whose bytes are in memory, without a copy of the line. `None` also where it is broken.
    fn parse_in_tail(&self, record: &Record) -> Option<Entry> {
        let is_held = record.line.is_none() && record.span.length <= self.max_line as u64;
        let tail = self.known.tail().filter(|_| is_held && self.known.get().is_none())?;
        let line = std::str::from_utf8(tail.line(record.span)?).ok()?;
        json::check_value_count(line).ok()?;
        Entry::parse(line.trim_ascii()).ok()
    }

    /// The entries of lines that are close together, with their offsets. The lines are read at once. Entries whose
    /// line is far away, long, not UTF-8 or broken are left out.
    pub(crate) fn parse_together(&self, records: &[Record]) -> Vec<(u64, Entry)> {
        let spans = || records.iter().map(|record| record.span);
        let length: u64 = spans().map(|span| span.length + 1).sum();
        let (Some(start), Some(end)) = (spans().map(|span| span.offset).min(), spans().map(|span| span.end()).max())
        else {
            return Vec::new();
        };
        if end - start > 2 * length || length > MOST_BYTES_TOGETHER.min(self.max_line as u64) {
            return Vec::new();
        }
        let Ok(bytes) = self.log.read(Span { offset: start, length: end - start }) else { return Vec::new() };
        make_room(bytes.len());
        let parse = |record: &Record| {
            let from = usize::try_from(record.span.offset - start).ok()?;
            let line = bytes.get(from..from + usize::try_from(record.span.length).ok()?)?;
            Some((record.span.offset, self.parse_sound(record, std::str::from_utf8(line).ok()?)?))
        };
        records.iter().filter_map(parse).collect()
    }

    /// The entry of a line; `None` if it is broken.
    fn parse_sound(&self, record: &Record, line: &str) -> Option<Entry> {
        let line = match self.known.get().and_then(|index| index.migration.as_ref()) {
            Some(migration) => Cow::Owned(migration.rewrite(line, &record.place()).ok()?),
            None => Cow::Borrowed(line),
        };
        json::check_value_count(&line).ok()?;
        Entry::parse(line.trim_ascii()).ok()
    }

    pub(crate) fn broken(&self, record: &Record, source: EntryError) -> Result<StoreError, StoreError> {
        let line = self.line_number(record)?;
        Ok(StoreError::BrokenEntry { id: record.id.clone(), line, source })
    }

    fn header_only(&self, record: &Record, kind: &str) -> Result<Entry, StoreError> {
        Entry::parse(&header_line(record, kind)).or_else(|source| Err(self.broken(record, source)?))
    }
}

fn header_line(record: &Record, kind: &str) -> String {
    let kind = json::encode_string(kind);
    let id = json::encode_string(record.id.as_str());
    let parent = record.parent_id.as_ref().map_or_else(|| "null".to_owned(), |id| json::encode_string(id.as_str()));
    format!(r#"{{"type":{kind},"id":{id},"parentId":{parent},"timestamp":""}}"#)
}

impl Session {
    /// The entries with these ids, in this order. An entry with a broken body is returned with its header only.
    ///
    /// Fails with `EntryNotFound` for the first unknown id, or with `Io`.
    pub fn entries_by_id(&self, ids: &[EntryId]) -> Result<Vec<Arc<Entry>>, StoreError> {
        ids.iter().map(|id| self.entry_or_header(&self.record(self.slot(id)?)?)).collect()
    }
}

impl Session {
    /// The whole index. Builds it if necessary.
    pub(crate) fn index(&self) -> Result<&Index, StoreError> {
        self.index_unless(&|| false)
    }

    /// As [`Session::index`]. Fails with `Io` of the kind `Interrupted` once it `is_cancelled`.
    pub(crate) fn index_unless(&self, is_cancelled: &dyn Fn() -> bool) -> Result<&Index, StoreError> {
        self.known.get_or_build(|| self.build_index(is_cancelled)).map_err(|source| self.read_error(source))
    }

    /// The whole index for changes. Builds it if necessary.
    pub(crate) fn index_mut(&mut self) -> Result<&mut Index, StoreError> {
        self.index()?;
        Ok(self.known.get_mut().expect("the index was built in the line before"))
    }

    /// Whether an entry can be found without building the whole index.
    pub(crate) fn is_at_hand(&self, id: &EntryId) -> bool {
        self.known.get().is_some() || self.known.tail().is_some_and(|tail| tail.slot(id).is_some())
    }

    /// The position of the entry `id`. Fails with `EntryNotFound`.
    pub(crate) fn slot(&self, id: &EntryId) -> Result<Position, StoreError> {
        self.find(id)?.ok_or_else(|| StoreError::EntryNotFound { id: id.clone() })
    }

    /// The position of the entry `id`, if it exists.
    pub(crate) fn find(&self, id: &EntryId) -> Result<Option<Position>, StoreError> {
        if self.known.get().is_none()
            && let Some(slot) = self.known.tail().and_then(|tail| tail.slot(id))
        {
            return Ok(Some(Position::Tail(slot)));
        }
        Ok(self.index()?.slot(id.as_str()).map(Position::Whole))
    }

    /// The position of the parent, if it is in the session. Reads the tail back to it.
    pub(crate) fn parent(&self, slot: Position) -> Result<Option<Position>, StoreError> {
        let number = match slot {
            Position::Whole(slot) => return Ok(self.index()?.parent_slot(slot).map(Position::Whole)),
            Position::Tail(number) => number,
        };
        let Some(parent_id) = self.record(slot)?.parent_id else {
            return Ok(None);
        };
        let found = self.find_before(number, &parent_id).map_err(|source| self.read_error(source))?;
        match found {
            Some(number) => Ok(Some(Position::Tail(number))),
            None => Ok(self.index()?.slot(parent_id.as_str()).map(Position::Whole)),
        }
    }

    /// Builds the whole index, unless the thinking level may be set not far before `slot`, which is in the tail.
    pub(crate) fn reach_setting(&self, slot: Position) -> Result<(), StoreError> {
        let record = self.record(slot)?;
        let is_near = match self.known.tail() {
            // In a slow store the search takes as long as reading on.
            Some(mut tail) if self.log.is_quick() && record.parent_id.is_some() => {
                tail.may_reach_setting(self.log.as_ref(), record.span.offset)
            }
            _ => Ok(true),
        };
        if !is_near.map_err(|source| self.read_error(source))? {
            self.index()?;
        }
        Ok(())
    }

    /// The record at a position.
    pub(crate) fn record(&self, slot: Position) -> Result<Record, StoreError> {
        if let Position::Tail(number) = slot
            && let Some(tail) = self.known.tail()
        {
            return Ok(tail.record(number).clone());
        }
        let (Position::Whole(slot) | Position::Tail(slot)) = slot;
        Ok(self.index()?.record(slot))
    }

    /// Id, parent and type of an entry; `None` if it does not exist.
    pub fn entry_header(&self, id: &EntryId) -> Result<Option<EntryHeader>, StoreError> {
        self.find(id)?.map(|slot| self.record(slot).map(|record| record.header())).transpose()
    }

    /// Whether an entry has this id. While only the tail is known, an id with the length of a UUID is looked up only
    /// there: such ids come from [`Session::new_entry_id`].
    pub(crate) fn is_taken(&self, id: &EntryId) -> Result<bool, StoreError> {
        let in_tail = || self.known.tail().is_some_and(|tail| tail.slot(id).is_some());
        if self.known.get().is_none() && id.as_str().len() == UUID_LENGTH {
            return Ok(in_tail());
        }
        Ok(self.find(id)?.is_some())
    }

    /// The line number of an entry, counted from 1.
    pub(crate) fn line_number(&self, record: &Record) -> Result<usize, StoreError> {
        if let Some(line) = record.line {
            return Ok(line);
        }
        self.known.count_lines(self.log.as_ref(), record.span.offset).map_err(|source| self.read_error(source))
    }

    pub(crate) fn read_error(&self, source: io::Error) -> StoreError {
        StoreError::io("read", self.log.locator(), source)
    }

    /// The number of the entry `id` in the tail, if it is before `number` and close enough to the end.
    fn find_before(&self, number: usize, id: &EntryId) -> io::Result<Option<usize>> {
        let Some(mut tail) = self.known.tail() else {
            return Ok(None);
        };
        // The parent of most entries is the entry before them.
        if tail.is_next_to(number, id) {
            return Ok(Some(number - 1));
        }
        while tail.slot(id).is_none() {
            if self.known.get().is_some() || !tail.grow(self.log.as_ref())? {
                return Ok(None);
            }
        }
        Ok(tail.slot(id).filter(|&slot| slot < number))
    }

    fn build_index(&self, is_cancelled: &dyn Fn() -> bool) -> io::Result<Index> {
        let (end, last) = (self.known.end(), self.known.last());
        let mut index = Index::build_unless(self.log.as_ref(), Reading::Headers, end, self.max_line, is_cancelled)?;
        let is_same_session = index.header.as_ref().is_some_and(|header| header.id == self.header().id);
        if !is_same_session || index.end() != end || index.last() != last {
            return Err(io::Error::other("the session was changed while it was read"));
        }
        self.early.as_slice().iter().for_each(|diagnostic| index.diagnostics.add(diagnostic.clone()));
        Ok(index)
    }
}

/// Memory of an entry in a context besides its line, in bytes.
const HELD_OVERHEAD: usize = 768;
/// Memory that must be free beside many entries, in bytes. The allocator of the usual C library takes memory for a
/// thread in blocks of 64 MiB and needs twice that to align one. Without one, it takes a page for each text.
const FREE_BYTES: u64 = 160 << 20;
/// The part of that for one of few entries: a page for each of its texts.
const PAGES_BYTES: u64 = 64 << 10;
/// Bytes after which memory is tried again. It is also tried when the number of entries has doubled.
const TRIED_BYTES: u64 = 16 << 20;
/// Number of entries after which memory is tried first.
const FIRST_TRIED: usize = 256;

/// Counts the memory of entries that are kept together, so that a limit on the address space refuses them before it
/// ends the process.
#[derive(Debug, Default)]
pub(crate) struct HeldEntries {
    entries: usize,
    bytes: u64,
    tried_entries: usize,
    tried_bytes: u64,
}

impl HeldEntries {
    /// Fails with `OutOfMemory` if too little memory is left beside `entry` and those before it.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.count(entry);
        let is_due = self.bytes - self.tried_bytes >= TRIED_BYTES
            || self.entries - self.tried_entries >= self.tried_entries.max(FIRST_TRIED);
        if !is_due {
            return Ok(());
        }
        (self.tried_entries, self.tried_bytes) = (self.entries, self.bytes);
        // Work on the entries takes a fraction of their memory.
        self.check(self.bytes / 4)
    }

    fn count(&mut self, entry: &Entry) {
        self.entries += 1;
        self.bytes += (entry.approximate_length() + HELD_OVERHEAD) as u64;
    }

    /// Fails with `OutOfMemory` unless there is memory for `more` bytes. The system gives memory when it is written, so
    /// this costs nothing.
    fn check(&self, more: u64) -> Result<(), StoreError> {
        let of_few = (self.entries as u64).saturating_mul(PAGES_BYTES) + self.bytes.min(TRIED_BYTES);
        let wanted = more.max(FREE_BYTES.min(of_few));
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let outcome = Vec::<u8>::new().try_reserve_exact(wanted);
        outcome.map_err(|_| StoreError::OutOfMemory { entries: self.entries, bytes: self.bytes })
    }
}

/// Checks that there is memory for a compaction of `projection`: it holds the texts of short messages twice, and lists
/// of all.
///
/// Fails with `OutOfMemory`.
pub fn check_memory(projection: &Projection) -> Result<(), StoreError> {
    let mut held = HeldEntries::default();
    projection.entries().iter().for_each(|projected| held.count(&projected.entry));
    held.check(held.bytes / 4 * 3)
}

/// Memory of a parsed entry as a multiple of its line: the line itself, its texts, and their blocks.
const BYTES_PER_LINE_BYTE: usize = 3;

/// Memory of an entry besides its texts, in bytes.
const ENTRY_OVERHEAD: usize = 512;

/// Parsed entries by the offset of their line, limited by an estimate of their bytes. The least recently used go
/// first.
#[derive(Debug)]
pub(crate) struct EntryCache {
    capacity: usize,
    size: usize,
    tick: u64,
    entries: HashMap<u64, (Arc<Entry>, u64)>,
    by_tick: BTreeMap<u64, u64>,
}

impl EntryCache {
    /// A cache of at most `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, size: 0, tick: 0, entries: HashMap::new(), by_tick: BTreeMap::new() }
    }

    pub(crate) fn get(&mut self, offset: u64) -> Option<Arc<Entry>> {
        let tick = self.next_tick();
        let (entry, used) = self.entries.get_mut(&offset)?;
        self.by_tick.remove(used);
        self.by_tick.insert(tick, offset);
        *used = tick;
        Some(Arc::clone(entry))
    }

    /// Stores `entry`, unless it is larger than the whole cache.
    pub(crate) fn insert(&mut self, offset: u64, entry: &Arc<Entry>) {
        self.remove(offset);
        if size_of(entry) > self.capacity {
            return;
        }
        self.size += size_of(entry);
        let tick = self.next_tick();
        self.entries.insert(offset, (Arc::clone(entry), tick));
        self.by_tick.insert(tick, offset);
        while self.size > self.capacity {
            let Some((_, oldest)) = self.by_tick.pop_first() else { break };
            self.remove(oldest);
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.capacity);
    }

    fn remove(&mut self, offset: u64) {
        if let Some((entry, tick)) = self.entries.remove(&offset) {
            self.by_tick.remove(&tick);
            self.size -= size_of(&entry);
        }
    }

    fn next_tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }
}

fn size_of(entry: &Entry) -> usize {
    entry.approximate_length() * BYTES_PER_LINE_BYTE + ENTRY_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, padding: usize) -> Arc<Entry> {
        let text = "x".repeat(padding);
        Arc::new(Entry::parse(&format!(r#"{{"type":"custom","id":"{id}","parentId":null,"data":"{text}"}}"#)).unwrap())
    }

    #[test]
    fn the_entries_unused_for_longest_go_first() {
        let mut cache = EntryCache::new(3 * size_of(&entry("a", 100)));
        for slot in 0..3 {
            cache.insert(slot, &entry("a", 100));
        }
        assert!(cache.get(0).is_some());
        cache.insert(3, &entry("a", 100));
        assert!(cache.get(1).is_none());
        assert!([0, 2, 3].iter().all(|&slot| cache.get(slot).is_some()));
        assert!(cache.size <= cache.capacity);
    }

    #[test]
    fn an_entry_larger_than_the_cache_is_not_kept() {
        let mut cache = EntryCache::new(2000);
        cache.insert(0, &entry("a", 10));
        cache.insert(1, &entry("b", 5000));
        assert!(cache.get(0).is_some() && cache.get(1).is_none());
        cache.insert(0, &entry("a", 5000));
        assert!(cache.get(0).is_none());
        assert_eq!((cache.size, cache.by_tick.len()), (0, 0));
    }
}
