//! Search: entries whose text holds what is asked for, or the most of it, on all branches, evicted or
//! not.

mod query;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use compaction_core::entry::{Entry, EntryId};
use compaction_core::json;
use compaction_core::recall::{PassageIndex, RecallQuery};

use crate::error::StoreError;
use crate::locator::Locator;
use crate::session::Session;

pub use query::SearchQuery;

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The session that it is in.
    pub session_id: String,
    /// What the store calls the session; `None` where it cannot be found again.
    pub locator: Option<Locator>,
    /// The entry's id.
    pub entry_id: EntryId,
    /// The stored type.
    pub kind_name: String,
    /// The stored role, for messages.
    pub role: Option<String>,
    /// The stored timestamp.
    pub timestamp: String,
    /// About 120 characters around the first match, on one line.
    pub preview: String,
    /// Whether the model does not see the entry at the leaf of its session: it was compacted or
    /// edited away, or lies on another branch.
    pub is_evicted: bool,
    /// How well it answers, if the query ranks; comparable within one session alone.
    pub score: Option<f64>,
    /// The entry's time in epoch milliseconds.
    time: i64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchHits {
    /// The hits, newest first; of a query that ranks, best first.
    pub hits: Vec<SearchHit>,
    /// Whether there are more.
    pub is_truncated: bool,
}

impl SearchHits {
    /// Whether the search came to its end and found nothing.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty() && !self.is_truncated
    }

    /// The newest `limit` hits of several searches, or the best. Equal ones stay in the order given.
    pub fn merge(parts: impl IntoIterator<Item = Self>, limit: usize) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.is_truncated |= part.is_truncated;
            all.hits.extend(part.hits);
        }
        let score = |hit: &SearchHit| hit.score.unwrap_or_default();
        all.hits.sort_by(|a, b| score(b).total_cmp(&score(a)).then(b.time.cmp(&a.time)));
        all.is_truncated |= all.hits.len() > limit;
        all.hits.truncate(limit);
        all
    }
}

impl Session {
    /// The newest `limit` entries whose text matches `query`, by their timestamps, equal ones by
    /// their place in the file; of a query that ranks, the best. One pass over the session holds one line
    /// at a time. A search that `is_cancelled` ends soon, also while the index is built; then nothing comes back,
    /// as truncated.
    ///
    /// Fails with `Io`.
    pub fn search(
        &self,
        query: &SearchQuery,
        limit: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<SearchHits, StoreError> {
        let found = self.search_on(query, limit, is_cancelled);
        if is_cancelled() {
            return Ok(SearchHits { is_truncated: true, ..SearchHits::default() });
        }
        found
    }

    fn search_on(
        &self,
        query: &SearchQuery,
        limit: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<SearchHits, StoreError> {
        if let Some(question) = query.question() {
            return self.search_ranked(question, limit, is_cancelled);
        }
        let mut newest = Newest::new(limit);
        let mut is_complete = true;
        let mut visit = |entry: &Entry| {
            if query.matches(&query::text_of(entry)) {
                newest.add(entry);
            }
        };
        let mut go_on = || {
            is_complete &= !is_cancelled();
            if is_complete { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        if self.migrated_from().is_some() {
            self.index_unless(is_cancelled)?;
            self.for_each_entry(|entry| {
                entry.into_iter().for_each(&mut visit);
                go_on()
            })?;
        } else {
            let scanned = self.log.scan(0, &Cell::new(self.max_line), &mut |line| {
                candidate(query, line.bytes).filter(|_| !line.is_cut).iter().for_each(&mut visit);
                go_on()
            });
            scanned.map_err(|source| StoreError::io("read", self.log.locator(), source))?;
        }
        let (matches, is_truncated) = newest.finish();
        if !is_complete {
            return Ok(SearchHits::default());
        }
        Ok(SearchHits { hits: self.hits(query, matches, is_cancelled)?, is_truncated })
    }

    /// The `limit` entries that answer a question best.
    fn search_ranked(
        &self,
        question: &RecallQuery,
        limit: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<SearchHits, StoreError> {
        let mut index = PassageIndex::new(question);
        let mut ids: Vec<EntryId> = Vec::new();
        let mut is_complete = true;
        self.index_unless(is_cancelled)?;
        self.for_each_entry(|entry| {
            if let Ok(entry) = entry {
                index.add_text(&query::text_of(entry));
                ids.push(entry.id().clone());
            }
            is_complete &= !is_cancelled();
            if is_complete { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if !is_complete {
            return Ok(SearchHits::default());
        }
        // Of lines with one id the last one counts.
        let last: HashMap<&EntryId, usize> = ids.iter().enumerate().map(|(at, id)| (id, at)).collect();
        let mut given = HashSet::new();
        let mut passages = index.rank();
        passages.retain(|passage| last[&ids[passage.document]] == passage.document && given.insert(passage.document));
        let is_truncated = passages.len() > limit;
        passages.truncate(limit);
        let context = if passages.is_empty() { HashSet::new() } else { self.context_ids()? };
        let mut hits = Vec::with_capacity(passages.len());
        for passage in passages {
            let entry = match self.entry(&ids[passage.document]) {
                Err(StoreError::EntryNotFound { .. } | StoreError::BrokenEntry { .. }) => continue,
                outcome => outcome?,
            };
            let text = query::text_of(&entry);
            // A line that another program has just replaced says something else.
            let Some(at) = Some(passage.focus.start).filter(|at| text.is_char_boundary(*at)) else { continue };
            let preview = SearchQuery::preview_at(&text, at);
            hits.push(self.hit(&entry, &context, preview, Some(passage.score)));
        }
        Ok(SearchHits { hits, is_truncated })
    }

    fn hit(&self, entry: &Entry, context: &HashSet<EntryId>, preview: String, score: Option<f64>) -> SearchHit {
        SearchHit {
            session_id: self.header().id.clone(),
            locator: self.locator().cloned(),
            kind_name: entry.kind_name().to_owned(),
            role: entry.message().map(|message| message.role().to_owned()),
            timestamp: entry.timestamp().to_owned(),
            preview,
            is_evicted: !context.contains(entry.id()),
            score,
            time: time(entry),
            entry_id: entry.id().clone(),
        }
    }

    fn hits(
        &self,
        query: &SearchQuery,
        matches: Vec<Match>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<SearchHit>, StoreError> {
        if !matches.iter().all(|found| self.is_at_hand(&found.id)) {
            self.index_unless(is_cancelled)?;
        }
        let context = if matches.is_empty() { HashSet::new() } else { self.context_ids()? };
        let mut hits = Vec::with_capacity(matches.len());
        for found in matches {
            // A line that the session does not count, as a later one has its id, is no hit.
            let entry = match self.entry(&found.id) {
                Err(StoreError::EntryNotFound { .. } | StoreError::BrokenEntry { .. }) => continue,
                outcome => outcome?,
            };
            let Some(preview) = query.preview(&query::text_of(&entry)) else { continue };
            hits.push(self.hit(&entry, &context, preview, None));
        }
        Ok(hits)
    }

    /// The entries that the model sees something of at the leaf.
    fn context_ids(&self) -> Result<HashSet<EntryId>, StoreError> {
        let projection = self.context(self.leaf_id())?.projection;
        let seen = projection.entries().iter().filter(|projected| !projected.messages.is_empty());
        Ok(seen.map(|projected| projected.entry.id().clone()).collect())
    }
}

/// The entry of a line, if it may match. What is no entry is passed over: opening has told of it.
fn candidate(query: &SearchQuery, line: &[u8]) -> Option<Entry> {
    if !query.may_match(line) {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    json::check_value_count(&text).ok()?;
    Entry::parse(text.trim_ascii()).ok()
}

#[cfg(test)]
mod tests;

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
