//! Search through sessions that are not open.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::file_store::FileStore;
use crate::list::{Limits, LineReader, candidates, for_each_in_parallel};
use crate::regular_file;
use crate::search::{SearchHits, SearchQuery};
use crate::store::ListOptions;

/// Bytes of parsed entries that a session keeps while it is searched.
const CACHE_BYTES: usize = 1 << 20;

impl FileStore {
    /// The newest `limit` matches in all sessions of `session_dir`, or of the agent directory, but
    /// for the files in `skipped`, which hold canonical paths. Files that are no sessions or cannot be
    /// read are passed over. When the search `is_cancelled`, what was found so far comes back.
    ///
    /// Fails with `Io` if a directory cannot be read.
    pub fn search(
        &self,
        session_dir: Option<&Path>,
        skipped: &HashSet<PathBuf>,
        query: &SearchQuery,
        limit: usize,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<SearchHits, StoreError> {
        let options = ListOptions { session_dir: session_dir.map(Path::to_owned), all: true, ..ListOptions::default() };
        let mut files: Vec<PathBuf> =
            candidates(self.agent_dir(), &options)?.into_iter().map(|file| file.path).collect();
        files.retain(|path| !skipped.contains(path));
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
