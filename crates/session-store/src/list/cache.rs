//! What is known of files, so that a list reads only those that changed.
//!
//! Nothing here is believed without a look at the file: length, times and inode must be as they were.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::list::cache_file;
use crate::list::files::Candidate;
use crate::list::filter::Filter;
use crate::list::stamp::Stamp;
use crate::store::SessionSummary;

/// Files that are remembered at most, beside those of the list that was asked for last.
const MAX_FILES: usize = 10_000;

/// Bytes that another process must be able to leave unread before the cache is written to its file.
const WORTH_SAVING: u64 = 4 << 20;

/// What is known of one file.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) stamp: Stamp,
    /// Whether the stamp tells the file from every later state of it.
    pub(super) is_settled: bool,
    pub(super) what: What,
}

/// What a file is.
#[derive(Debug, Clone)]
pub(super) enum What {
    NoSession,
    /// A session of which only the header was read, as its working directory was not asked for.
    Elsewhere {
        cwd: Arc<str>,
    },
    Session {
        summary: Arc<SessionSummary>,
        /// `None` where the last line may get longer.
        resume: Option<Resume>,
    },
}

/// Where reading goes on when the file has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resume {
    pub(super) end: u64,
    /// A hash of the bytes before it.
    pub(super) mark: u64,
}

impl Known {
    /// Whether this answers for `file` without a look into it.
    pub(super) fn is_good_for(&self, file: &Candidate, filter: &Filter<'_>) -> bool {
        let is_read = match &self.what {
            What::Elsewhere { cwd } => !filter.accepts(cwd),
            What::NoSession | What::Session { .. } => true,
        };
        is_read && self.is_settled && self.stamp == file.stamp
    }
}

/// The memory of a store's lists, shared by its clones.
#[derive(Debug)]
pub(crate) struct ListCache {
    file: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_loaded: bool,
    files: HashMap<PathBuf, Known>,
    /// Bytes that were read for what the cache's file does not have.
    unsaved: u64,
}

impl ListCache {
    /// An empty memory, which keeps its file below `agent_dir`.
    pub(crate) fn new(agent_dir: &Path) -> Self {
        Self { file: agent_dir.join("cache").join("compactd-sessions.json"), state: Mutex::default() }
    }

    pub(super) fn get(&self, file: &Candidate) -> Option<Known> {
        let mut state = self.state();
        if !std::mem::replace(&mut state.is_loaded, true) {
            state.files = cache_file::load(&self.file);
        }
        state.files.get(&file.path).cloned()
    }

    /// Remembers a file of which `bytes` were read.
    pub(super) fn insert(&self, path: PathBuf, known: Known, bytes: u64) {
        let mut state = self.state();
        state.unsaved += if known.is_settled { bytes } else { 0 };
        state.files.insert(path, known);
    }

    /// Forgets what vanished from the directories of `files`, and saves what is worth it.
    pub(super) fn settle(&self, files: &[Candidate]) {
        let mut state = self.state();
        if state.files.len() > files.len() {
            state.forget(files);
        }
        if state.unsaved >= WORTH_SAVING {
            state.unsaved = 0;
            cache_file::save(&self.file, &state.files);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget(&mut self, files: &[Candidate]) {
        let listed: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let directories: HashSet<Option<&Path>> = listed.iter().map(|path| path.parent()).collect();
        let is_full = self.files.len() > files.len() + MAX_FILES;
        self.files
            .retain(|path, _| listed.contains(path.as_path()) || (!is_full && !directories.contains(&path.parent())));
    }
}
