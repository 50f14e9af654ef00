//! A cache of what lists need of files, so that a list reads only changed files.
//!
//! An entry is used only if length, times and inode of the file are unchanged.
//!
//! The cache is saved in a file for the next process, which may be deleted at any time. The file is read once, and
//! rarely written, as a whole and atomically. Failures cost only time.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::file::list::{Candidate, Filter};
use crate::file::regular::{read_regular_file, write_beside};
use crate::store::SessionSummary;

/// Maximum number of remembered files besides those of the last list.
const MAX_FILES: usize = 10_000;

/// Bytes of reading that the cache must save another process before it is written to its file.
const WORTH_SAVING: u64 = 4 << 20;

/// The cached facts of one file.
#[derive(Debug, Clone)]
pub(super) struct CachedFile {
    pub(super) stamp: Stamp,
    /// Whether any later change of the file changes its stamp.
    pub(super) is_settled: bool,
    pub(super) content: FileContent,
}

/// The content of a file.
#[derive(Debug, Clone)]
pub(super) enum FileContent {
    NoSession,
    /// A session whose working directory was not selected, so only its header was read.
    Elsewhere {
        cwd: Arc<str>,
    },
    Session {
        summary: Arc<SessionSummary>,
        /// `None` if the last line may get longer.
        resume: Option<Resume>,
    },
}

/// The state for reading on when the file has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resume {
    pub(super) end: u64,
    /// A hash of the bytes before it.
    pub(super) mark: u64,
}

impl CachedFile {
    /// Whether this is valid for `file` without reading it.
    pub(super) fn answers_for(&self, file: &Candidate, filter: &Filter<'_>) -> bool {
        let is_read = match &self.content {
            FileContent::Elsewhere { cwd } => !filter.accepts(cwd),
            FileContent::NoSession | FileContent::Session { .. } => true,
        };
        is_read && self.is_settled && self.stamp == file.stamp
    }
}

/// The cache of a store's lists, shared by its clones.
#[derive(Debug)]
pub(crate) struct ListCache {
    file: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_loaded: bool,
    /// Shared while it is saved.
    files: Arc<HashMap<PathBuf, CachedFile>>,
    /// Bytes that were read for facts that the file of the cache lacks.
    unsaved: u64,
}

impl ListCache {
    /// An empty cache with its file below `agent_dir`.
    pub(crate) fn new(agent_dir: &Path) -> Self {
        Self { file: agent_dir.join("cache").join("compactd-sessions.json"), state: Mutex::default() }
    }

    pub(super) fn get(&self, file: &Candidate) -> Option<CachedFile> {
        let mut state = self.state();
        if !std::mem::replace(&mut state.is_loaded, true) {
            state.files = Arc::new(load(&self.file));
        }
        state.files.get(&file.path).cloned()
    }

    /// Adds a file of which `bytes` were read.
    pub(super) fn insert(&self, path: PathBuf, known: CachedFile, bytes: u64) {
        let mut state = self.state();
        state.unsaved += if known.is_settled { bytes } else { 0 };
        Arc::make_mut(&mut state.files).insert(path, known);
    }

    /// Removes files that vanished from the directories of `files`, and saves the cache if it is worth it.
    pub(super) fn settle(&self, files: &[Candidate]) {
        let mut state = self.state();
        if state.files.len() > files.len() {
            state.forget(files);
        }
        if state.unsaved >= WORTH_SAVING {
            state.unsaved = 0;
            let files = Arc::clone(&state.files);
            drop(state);
            // Other lists can use the cache during the write.
            save(&self.file, &files);
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
        let is_kept = |path: &Path| listed.contains(path) || (!is_full && !directories.contains(&path.parent()));
        if !self.files.keys().all(|path| is_kept(path)) {
            Arc::make_mut(&mut self.files).retain(|path, _| is_kept(path));
        }
    }
}

/// The version of the file. Files of other versions are ignored.
const FORM: u32 = 2;

/// A larger file is not a cache of this store.
const MAX_BYTES: u64 = 64 << 20;

/// The cache in the file at `path`; empty if it is missing, broken or of another version.
pub(super) fn load(path: &Path) -> HashMap<PathBuf, CachedFile> {
    read(path).unwrap_or_else(|error| {
        tracing::debug!(%error, path = %path.display(), "the cache of lists was not read");
        HashMap::new()
    })
}

/// Writes the cache to the file at `path`. Creates its directory if the parent exists.
pub(super) fn save(path: &Path, files: &HashMap<PathBuf, CachedFile>) {
    if let Err(error) = write(path, files) {
        tracing::debug!(%error, path = %path.display(), "the cache of lists was not written");
    }
}

fn read(path: &Path) -> io::Result<HashMap<PathBuf, CachedFile>> {
    let bytes = match read_regular_file(path, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        outcome => outcome?,
    };
    let stored: Stored = serde_json::from_slice(&bytes)?;
    if stored.form != FORM {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(stored.files.into_iter().map(StoredFile::into_cached).collect())
}

fn write(path: &Path, files: &HashMap<PathBuf, CachedFile>) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        outcome => outcome?,
    }
    let files = files.iter().filter_map(|(path, known)| StoredFile::of(path, known)).collect();
    let stored = Stored { form: FORM, files };
    let temporary = write_beside(path, |out| Ok(serde_json::to_writer(out, &stored)?))?;
    temporary.persist(path).map(drop).map_err(|error| error.error)
}

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    form: u32,
    files: Vec<StoredFile>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredFile {
    path: String,
    stamp: Stamp,
    is_settled: bool,
    content: StoredContent,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredContent {
    NoSession,
    Elsewhere(String),
    Session(StoredSession),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredSession {
    session_id: String,
    cwd: String,
    name: Option<String>,
    parent_session: Option<String>,
    created: String,
    modified: i64,
    message_count: usize,
    first_message: String,
    resume: Option<Resume>,
}

impl StoredFile {
    /// `None` for a path that is not UTF-8.
    fn of(path: &Path, known: &CachedFile) -> Option<Self> {
        let content = match &known.content {
            FileContent::NoSession => StoredContent::NoSession,
            FileContent::Elsewhere { cwd } => StoredContent::Elsewhere(cwd.to_string()),
            FileContent::Session { summary, resume } => StoredContent::Session(StoredSession::of(summary, *resume)),
        };
        Some(Self { path: path.to_str()?.to_owned(), stamp: known.stamp, is_settled: known.is_settled, content })
    }

    fn into_cached(self) -> (PathBuf, CachedFile) {
        let path = PathBuf::from(self.path);
        let content = match self.content {
            StoredContent::NoSession => FileContent::NoSession,
            StoredContent::Elsewhere(cwd) => FileContent::Elsewhere { cwd: cwd.into() },
            StoredContent::Session(session) => session.into_content(&path),
        };
        (path, CachedFile { stamp: self.stamp, is_settled: self.is_settled, content })
    }
}

impl StoredSession {
    fn of(summary: &SessionSummary, resume: Option<Resume>) -> Self {
        let SessionSummary { session_id, cwd, name, parent_session, created, first_message, .. } = summary.clone();
        let (modified, message_count) = (summary.modified, summary.message_count);
        Self { session_id, cwd, name, parent_session, created, modified, message_count, first_message, resume }
    }

    fn into_content(self, path: &Path) -> FileContent {
        let summary = SessionSummary {
            locator: path.into(),
            session_id: self.session_id,
            cwd: self.cwd,
            name: self.name,
            parent_session: self.parent_session,
            created: self.created,
            modified: self.modified,
            message_count: self.message_count,
            first_message: self.first_message,
        };
        FileContent::Session { summary: Arc::new(summary), resume: self.resume }
    }
}

/// Minimum age of the last change of a file for its stamp to identify it: the coarsest clock of a file system in use
/// ticks every two seconds.
const CLOCK_TICK: u64 = 2_000_000_000;

/// Length and times of a file, in bytes and in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) length: u64,
    modified: u64,
    /// The time of the last change of metadata. A program can set back `modified`, but not this.
    changed: u64,
    /// Distinguishes a file from another one in its place.
    inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().map_or(0, nanoseconds);
        let (changed, inode) = identity(metadata);
        Self { length: metadata.len(), modified, changed, inode }
    }

    /// Whether any later change will be visible. Another write within the same tick of the clock leaves the times
    /// unchanged.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        self.modified.max(self.changed).saturating_add(CLOCK_TICK) < nanoseconds(now)
    }

    /// Whether the file may be the one of `earlier` with more at its end.
    pub(super) fn may_continue(&self, earlier: &Self) -> bool {
        self.inode == earlier.inode && self.length > earlier.length
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let changed = metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec());
    (u64::try_from(changed).unwrap_or(0), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}
