//! Entries that were read lately. Derived and disposable: dropping it costs time alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use compaction_core::entry::Entry;

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
    entry.line().len() * BYTES_PER_LINE_BYTE + ENTRY_OVERHEAD
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
