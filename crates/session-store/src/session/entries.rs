//! Reading entries, and those that were read lately.
//!
//! What is remembered is derived and disposable: dropping it costs time alone.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryError, EntryId};
use compaction_core::json;

use crate::error::StoreError;
use crate::index::Record;
use crate::lossless::LosslessText;
use crate::session::Session;
use crate::session::known::Slot;

impl Session {
    /// The entry `id`, parsed now or lately.
    ///
    /// Fails with `EntryNotFound`, with `BrokenEntry` if its body cannot be read, or with `Io`.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, StoreError> {
        self.entry_of(&self.record(self.slot(id)?)?)
    }

    /// The entry `id`, or an entry of no known type in its place if its body is broken: for those who
    /// move through the tree, which one torn line must not stop.
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
    /// An entry whose body is broken comes as its header alone. Fails with `EntryNotFound` for
    /// `since`, or with `Io`.
    pub fn entries(&self, since: Option<&EntryId>, limit: Option<usize>) -> Result<Vec<Arc<Entry>>, StoreError> {
        let limit = limit.unwrap_or(usize::MAX);
        let start = match since.map(|id| self.slot(id)).transpose()? {
            None => 0,
            Some(Slot::Whole(slot)) => slot + 1,
            Some(Slot::Tail(slot)) => {
                let after = self.known.tail().map(|tail| tail.records_after(slot).take(limit).cloned().collect());
                let records: Vec<Record> = after.unwrap_or_default();
                return records.iter().map(|record| self.entry_or_header(record)).collect();
            }
        };
        let index = self.index()?;
        index.current_from(start).take(limit).map(|slot| self.entry_or_header(&index.record(slot))).collect()
    }

    /// Visits every entry that counts in file order, reading the file once from its start and
    /// keeping nothing: for work that needs all bodies. Entries whose body is broken come as `Err`.
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

    /// The entry of a record, parsed now or lately.
    pub(crate) fn entry_of(&self, record: &Record) -> Result<Arc<Entry>, StoreError> {
        if let Some(entry) = self.cache().get(record.span.offset) {
            return Ok(entry);
        }
        let entry = Arc::new(self.parse(record)?);
        self.cache().insert(record.span.offset, &entry);
        Ok(entry)
    }

    /// The entry, or what is readable of it: a broken body must not take the rest of a list with it.
    pub(crate) fn entry_or_header(&self, record: &Record) -> Result<Arc<Entry>, StoreError> {
        match self.entry_of(record) {
            Err(StoreError::BrokenEntry { .. }) => {
                self.header_only(record, record.kind.name().unwrap_or("unknown")).map(Arc::new)
            }
            outcome => outcome,
        }
    }

    /// What stands for an entry with a broken body in a context: an entry of no known type, which
    /// gives nothing to it.
    pub(crate) fn stand_in(&self, record: &Record) -> Result<Entry, StoreError> {
        self.header_only(record, "broken")
    }

    /// The line of an entry in the current version of the format.
    pub(crate) fn line(&self, record: &Record) -> Result<String, StoreError> {
        let line = String::from_utf8(self.line_bytes(record)?);
        Ok(line.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// As [`Session::line`], with bytes that are not UTF-8 as they are.
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
        // What is no object comes as it is, and fails where it is parsed.
        let line = migration.rewrite(text.as_str(), &record.place());
        Ok(text.bytes_of(line.unwrap_or_else(|_| text.as_str().to_owned())))
    }

    /// Fails with `BrokenEntry` for a line that is too long to be held.
    pub(crate) fn check_length(&self, record: &Record) -> Result<(), StoreError> {
        let (bytes, limit) = (record.span.length, self.max_line);
        if bytes <= limit as u64 {
            return Ok(());
        }
        Err(self.broken(record, EntryError::TooLong { bytes, limit })?)
    }

    /// Reads and parses an entry past the cache.
    pub(crate) fn parse(&self, record: &Record) -> Result<Entry, StoreError> {
        let line = self.line(record)?;
        if let Err(values) = json::check_value_count(&line) {
            return Err(self.broken(record, EntryError::TooManyValues { values })?);
        }
        Entry::parse(line.trim_ascii()).or_else(|source| Err(self.broken(record, source)?))
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
    /// The entries with these ids, in their order; one whose body is broken comes as its header alone.
    ///
    /// Fails with `EntryNotFound` for the first id that no entry has, or with `Io`.
    pub fn entries_by_id(&self, ids: &[EntryId]) -> Result<Vec<Arc<Entry>>, StoreError> {
        ids.iter().map(|id| self.entry_or_header(&self.record(self.slot(id)?)?)).collect()
    }
}

/// What a parsed entry takes, as a multiple of its line: the line itself, its texts, and their
/// blocks.
const BYTES_PER_LINE_BYTE: usize = 3;

/// What an entry takes beside its texts, in bytes.
const ENTRY_OVERHEAD: usize = 512;

/// Parsed entries by the offset of their line, bounded by an estimate of their bytes; the ones
/// unused for longest go first.
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

    /// Keeps `entry`, unless it is larger than the whole cache.
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
