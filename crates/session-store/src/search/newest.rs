//! The newest of many matches, in bounded memory.

use std::cmp::Reverse;
use std::collections::HashMap;

use compaction_core::entry::{Entry, EntryId};

/// An entry that matched.
#[derive(Debug, Clone)]
pub(super) struct Match {
    pub(super) id: EntryId,
    /// Epoch milliseconds; the oldest there is where the entry has no time.
    pub(super) time: i64,
    /// Its place among the matches of the file.
    order: usize,
}

/// Collects matches in file order.
#[derive(Debug)]
pub(super) struct Newest {
    limit: usize,
    found: Vec<Match>,
    count: usize,
    is_truncated: bool,
}

impl Newest {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new(), count: 0, is_truncated: false }
    }

    pub(super) fn add(&mut self, entry: &Entry) {
        self.found.push(Match { id: entry.id().clone(), time: time(entry), order: self.count });
        self.count += 1;
        if self.found.len() > self.limit.saturating_mul(2).saturating_add(64) {
            self.prune();
        }
    }

    /// The newest matches, and whether there were more.
    pub(super) fn finish(mut self) -> (Vec<Match>, bool) {
        self.prune();
        self.found.sort_unstable_by_key(newness);
        (self.found, self.is_truncated)
    }

    /// Of matches with one id the last one counts.
    fn prune(&mut self) {
        let last: HashMap<EntryId, usize> = self.found.iter().map(|found| (found.id.clone(), found.order)).collect();
        self.found.retain(|found| last[&found.id] == found.order);
        self.found.sort_unstable_by_key(newness);
        self.is_truncated |= self.found.len() > self.limit;
        self.found.truncate(self.limit);
        self.found.sort_unstable_by_key(|found| found.order);
    }
}

/// Epoch milliseconds; the oldest there is where an entry has no time.
pub(super) fn time(entry: &Entry) -> i64 {
    entry.epoch_milliseconds().or_else(|| entry.message()?.timestamp()).unwrap_or(i64::MIN)
}

fn newness(found: &Match) -> Reverse<(i64, usize)> {
    Reverse((found.time, found.order))
}
