//! Search: entries whose text holds what is asked for, on all branches, evicted or not.

mod files;
mod newest;
mod query;
mod text;

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use compaction_core::entry::{Entry, EntryId};
use compaction_core::json;

use crate::error::StoreError;
use crate::search::newest::{Match, Newest};
use crate::session::Session;

pub use query::SearchQuery;

/// An entry that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The session that it is in.
    pub session_id: String,
    /// The session's file, where there is one.
    pub path: Option<PathBuf>,
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
    /// The entry's time in epoch milliseconds.
    time: i64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchHits {
    /// The hits, newest first.
    pub hits: Vec<SearchHit>,
    /// Whether there are more.
    pub is_truncated: bool,
}

impl SearchHits {
    /// The newest `limit` hits of several searches. Equally new ones stay in the order given.
    pub fn merge(parts: impl IntoIterator<Item = Self>, limit: usize) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.is_truncated |= part.is_truncated;
            all.hits.extend(part.hits);
        }
        all.hits.sort_by_key(|hit| std::cmp::Reverse(hit.time));
        all.is_truncated |= all.hits.len() > limit;
        all.hits.truncate(limit);
        all
    }
}

impl Session {
    /// The newest `limit` entries whose text matches `query`, by their timestamps, equal ones by
    /// their place in the file. One pass over the session holds one line at a time. When the search
    /// `is_cancelled`, what was found so far comes back as truncated.
    ///
    /// Fails with `Io`.
    pub fn search(
        &self,
        query: &SearchQuery,
        limit: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<SearchHits, StoreError> {
        let mut newest = Newest::new(limit);
        let mut is_complete = true;
        let mut visit = |entry: &Entry| {
            if query.matches(&text::of(entry)) {
                newest.add(entry);
            }
        };
        let mut go_on = || {
            is_complete &= !is_cancelled();
            if is_complete { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        if self.migrated_from().is_some() {
            self.for_each_entry(|entry| {
                entry.into_iter().for_each(&mut visit);
                go_on()
            })?;
        } else {
            let scanned = self.log.scan(0, &Cell::new(self.max_line), &mut |line| {
                candidate(query, line.bytes).filter(|_| !line.is_cut).iter().for_each(&mut visit);
                go_on()
            });
            scanned.map_err(|source| StoreError::io("read", self.log.path(), source))?;
        }
        let (matches, is_truncated) = newest.finish();
        Ok(SearchHits { hits: self.hits(query, matches)?, is_truncated: is_truncated || !is_complete })
    }

    fn hits(&self, query: &SearchQuery, matches: Vec<Match>) -> Result<Vec<SearchHit>, StoreError> {
        let context = if matches.is_empty() { HashSet::new() } else { self.context_ids()? };
        let mut hits = Vec::with_capacity(matches.len());
        for found in matches {
            // A line that the session does not count, as a later one has its id, is no hit.
            let entry = match self.entry(&found.id) {
                Err(StoreError::EntryNotFound { .. } | StoreError::BrokenEntry { .. }) => continue,
                outcome => outcome?,
            };
            let Some(preview) = query.preview(&text::of(&entry)) else { continue };
            hits.push(SearchHit {
                session_id: self.header().id.clone(),
                path: self.path().map(Path::to_owned),
                kind_name: entry.kind_name().to_owned(),
                role: entry.message().map(|message| message.role().to_owned()),
                timestamp: entry.timestamp().to_owned(),
                preview,
                is_evicted: !context.contains(&found.id),
                time: found.time,
                entry_id: found.id,
            });
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
