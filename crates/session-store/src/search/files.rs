//! Search through sessions that are not open.

use std::cell::Cell;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::file_store::FileStore;
use crate::list::{Limits, LineReader, candidates, for_each_in_parallel};
use crate::regular_file;
use crate::search::{SearchHits, SearchQuery};
use crate::store::{IsCancelled, ListOptions, SearchOptions};

/// Bytes of parsed entries that a session keeps while it is searched.
const CACHE_BYTES: usize = 1 << 20;

impl FileStore {
    /// Does what [`crate::SessionStore::search`] says. Files that cannot be read are passed over.
    pub(crate) fn search_files(
        &self,
        query: &SearchQuery,
        options: &SearchOptions,
        is_cancelled: &IsCancelled<'_>,
    ) -> Result<SearchHits, StoreError> {
        let limit = options.limit;
        let listed = ListOptions { session_dir: options.session_dir.clone(), all: true, ..ListOptions::default() };
        let listed = candidates(self.agent_dir(), &self.with_own_directory(&listed))?;
        let mut files: Vec<PathBuf> = listed.into_iter().map(|file| file.path).collect();
        files.retain(|path| !options.skipped.contains(&path.into()));
        files.sort_unstable();
        let bytes = files.iter().filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.len()).sum();
        let limits = Limits { max_line: self.max_line_bytes(), is_cancelled };
        let found = for_each_in_parallel(&files, bytes, limits, |path, reader| {
            self.search_file(path, reader, query, limit).unwrap_or_else(|error| {
                tracing::debug!(%error, path = %path.display(), "left out of the search");
                SearchHits::default()
            })
        });
        Ok(SearchHits::merge(found, limit))
    }

    fn search_file(
        &self,
        path: &Path,
        reader: &mut LineReader<'_>,
        query: &SearchQuery,
        limit: usize,
    ) -> Result<SearchHits, StoreError> {
        let is_cancelled = reader.limits.is_cancelled;
        if is_cancelled() || !may_match(path, reader, query)? {
            return Ok(SearchHits { is_truncated: is_cancelled(), ..SearchHits::default() });
        }
        self.open_to_search(path, CACHE_BYTES)?.search(query, limit, is_cancelled)
    }
}

/// Whether the lines of the file make it worth to open the session.
fn may_match(path: &Path, reader: &mut LineReader<'_>, query: &SearchQuery) -> Result<bool, StoreError> {
    let (mut may_match, mut seen) = (false, query.seen());
    let hold = Cell::new(reader.limits.max_line);
    let file = regular_file::open(path, File::options().read(true));
    let scanned = file.and_then(|file| {
        reader.visit(&file, 0..u64::MAX, &hold, |line| {
            may_match = !line.is_cut && query.is_worth_it(line.bytes, &mut seen);
            if may_match { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    scanned.map(|()| may_match).map_err(|source| StoreError::io("read", Some(path), source))
}
