//! Lists of sessions, and where sessions are stored (docs/session-format.md, "Where sessions lie").
//!
//! A list needs facts from all over a file: the number of messages, the time of the last one, the newest name. So each
//! file is read once from start to end, by as many threads as there are cores, and the result is kept until length,
//! times or inode of the file change. The cache is saved in a file for the next process, which may be deleted at any
//! time. That file is read once, and rarely written, as a whole and atomically. Its failures cost only time.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::file::file_log::file_error;
use crate::file::list_row;
use crate::file::read::{Limits, for_each_in_parallel};
use crate::file::read::{append_to_regular_file, read_regular_file, write_beside};
use crate::store::{Cursor, ListOptions, SessionPage, SessionSummary};

/// The file beside the sessions of a directory that names other directories, one on each line: those of sessions that
/// were made under the name of a symbolic link to the same working directory.
const LINKS: &str = "links";
/// Maximum bytes of it.
const MAX_LINKS: u64 = 64 << 10;

/// One page of the sessions that `options` select. Incomplete if the work is cancelled.
pub(crate) fn list(
    agent_dir: &Path,
    cache: &ListCache,
    options: &ListOptions,
    limits: Limits<'_>,
) -> Result<SessionPage, StoreError> {
    let files = candidates(agent_dir, options)?;
    let filter = Filter::new(options);
    let mut sessions = summaries(&files, cache, &filter, limits);
    cache.prune_and_save(&files);
    sessions.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
    if let Some(cursor) = &options.cursor {
        sessions.retain(|summary| place(summary) > (Reverse(cursor.modified), cursor.locator.as_path()));
    }
    Ok(page(&sessions, options.limit.unwrap_or(usize::MAX)))
}

/// The sort key of a session in a list: newest activity first.
fn place(summary: &SessionSummary) -> (Reverse<i64>, &Path) {
    (Reverse(summary.modified), summary.locator.as_path())
}

fn page(sessions: &[Arc<SessionSummary>], limit: usize) -> SessionPage {
    let (page, rest) = sessions.split_at(limit.min(sessions.len()));
    let last = page.last().filter(|_| !rest.is_empty());
    let next = last.map(|summary| Cursor { modified: summary.modified, locator: summary.locator.clone() });
    SessionPage { sessions: page.iter().map(|summary| SessionSummary::clone(summary)).collect(), next }
}

/// The summaries of the selected `files`, from the cache or read now.
fn summaries(
    files: &[Candidate],
    cache: &ListCache,
    filter: &Filter<'_>,
    limits: Limits<'_>,
) -> Vec<Arc<SessionSummary>> {
    let mut sessions = Vec::with_capacity(files.len());
    let mut unread = Vec::new();
    for file in files {
        match cache.get(file) {
            Some(known) if known.answers_for(file, filter) => sessions.extend(wanted(&known, filter)),
            known => unread.push((file, known)),
        }
    }
    // The largest first, so that no large file is left for the end, when the other threads are idle.
    unread.sort_unstable_by_key(|(file, _)| Reverse(file.stamp.length));
    let bytes = unread.iter().map(|(file, _)| file.stamp.length).sum();
    let found = for_each_in_parallel(&unread, bytes, limits, |(file, known), reader| {
        list_row::read(&file.path, known.as_ref(), filter, reader)
    });
    for ((file, _), known) in unread.iter().zip(found) {
        let Some((known, bytes)) = known else { continue };
        sessions.extend(wanted(&known, filter));
        cache.insert(file.path.clone(), known, bytes);
    }
    sessions
}

fn wanted(known: &CachedFile, filter: &Filter<'_>) -> Option<Arc<SessionSummary>> {
    match &known.content {
        FileContent::Session { summary, .. } => filter.accepts(&summary.cwd).then(|| Arc::clone(summary)),
        FileContent::Elsewhere { .. } | FileContent::NoSession => None,
    }
}

/// A file that may be a session.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// Its absolute path without symbolic links.
    pub(crate) path: PathBuf,
    pub(super) stamp: Stamp,
}

/// The regular files named `*.jsonl` in the directories of `options`, each once, whatever links lead to it
/// (docs/field-reports.md, "Opening and reading"). A path that is not UTF-8 is left out: the protocol could not name it
/// exactly.
///
/// Fails with `Io` if an existing directory cannot be read.
pub(crate) fn candidates(agent_dir: &Path, options: &ListOptions) -> Result<Vec<Candidate>, StoreError> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for directory in directories(agent_dir, options)? {
        // Files that are not directories, and files that vanished, contain no sessions.
        let Ok(directory) = fs::canonicalize(directory) else { continue };
        if !directory.is_dir() || !seen.insert(directory.clone()) {
            continue;
        }
        for entry in entries(&directory)? {
            let candidate = candidate(&directory, &entry);
            found.extend(candidate.filter(|candidate| seen.insert(candidate.path.clone())));
        }
    }
    Ok(found)
}

fn directories(agent_dir: &Path, options: &ListOptions) -> Result<Vec<PathBuf>, StoreError> {
    match &options.session_dir {
        Some(directory) => Ok(vec![directory.as_path().to_owned()]),
        None if options.all => {
            Ok(entries(&agent_dir.join("sessions"))?.into_iter().map(|entry| entry.path()).collect())
        }
        None => {
            let own: Vec<PathBuf> = names(&options.cwd).iter().map(|cwd| directory(agent_dir, cwd)).collect();
            let linked: Vec<PathBuf> = own.iter().flat_map(|own| linked(own)).collect();
            Ok([own, linked].concat())
        }
    }
}

/// The directories that [`LINKS`] in `directory` names. They lie beside it.
fn linked(directory: &Path) -> Vec<PathBuf> {
    let text = read_regular_file(&directory.join(LINKS), MAX_LINKS).unwrap_or_default();
    let is_name = |name: &&str| name.starts_with("--") && name.ends_with("--") && !name.contains(['/', '\\']);
    let text = String::from_utf8_lossy(&text);
    text.lines().filter(is_name).map(|name| directory.with_file_name(name)).collect()
}

/// Records that the sessions of `cwd` are under another name than that of its canonical path, if it leads through a
/// symbolic link. Nothing else shows this: reading every directory to find out would be too slow. A failure is logged,
/// because the sessions are still found under their own name.
pub(crate) fn note_link(agent_dir: &Path, cwd: &str) {
    let [own, canonical] = &names(cwd)[..] else { return };
    let (own, canonical) = (directory(agent_dir, own), directory(agent_dir, canonical));
    if own == canonical || linked(&canonical).contains(&own) {
        return;
    }
    if let Err(error) = add_link(&canonical, &own) {
        tracing::warn!(%error, directory = %canonical.display(), "the name of a link to it was not noted");
    }
}

fn add_link(directory: &Path, own: &Path) -> io::Result<()> {
    let name = own.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    fs::create_dir_all(directory)?;
    let mut file = append_to_regular_file(&directory.join(LINKS))?;
    let length = file.metadata()?.len();
    if length + name.len() as u64 + 2 > MAX_LINKS {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // The line feed before it ends the rest of an interrupted write.
    let line = if length > 0 { format!("\n{name}\n") } else { format!("{name}\n") };
    file.write_all(line.as_bytes())
}

/// A working directory as it was named, and its canonical path: sessions of either name may be there.
fn names(cwd: &str) -> Vec<String> {
    let canonical = fs::canonicalize(cwd).ok().and_then(|path| path.into_os_string().into_string().ok());
    let canonical = canonical.filter(|canonical| canonical != cwd);
    [cwd.to_owned()].into_iter().chain(canonical).collect()
}

fn entries(directory: &Path) -> Result<Vec<fs::DirEntry>, StoreError> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.filter_map(Result::ok).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(file_error("list", directory, source)),
    }
}

/// The file of a directory entry. Only links must be resolved, because the directory is canonical.
fn candidate(directory: &Path, entry: &fs::DirEntry) -> Option<Candidate> {
    let path = directory.join(entry.file_name());
    if path.extension().is_none_or(|extension| extension != "jsonl") {
        return None;
    }
    let (path, metadata) = match entry.file_type().ok()?.is_symlink() {
        true => (fs::canonicalize(&path).ok()?, fs::metadata(&path).ok()?),
        false => (path, entry.metadata().ok()?),
    };
    if path.to_str().is_none() {
        tracing::warn!(path = %path.display(), "left out of lists and searches: the path is not UTF-8");
        return None;
    }
    // Opening a pipe would wait for its writer.
    metadata.is_file().then(|| Candidate { path, stamp: Stamp::of(&metadata) })
}

/// Selects sessions by their working directory. Looks up the canonical path of each directory once.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    options: &'a ListOptions,
    known: Mutex<HashMap<String, bool>>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(options: &'a ListOptions) -> Self {
        Self { options, known: Mutex::default() }
    }

    /// Old files without a working directory belong to the directory that contains them.
    pub(super) fn accepts(&self, cwd: &str) -> bool {
        if self.options.all || (cwd.is_empty() && self.options.session_dir.is_none()) {
            return true;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_wanted) = known.get(cwd) {
            return *is_wanted;
        }
        let is_wanted = is_same_directory(cwd, &self.options.cwd);
        known.insert(cwd.to_owned(), is_wanted);
        is_wanted
    }
}

/// The directory of the sessions of `cwd`. Several working directories can share one, so only the header of a session
/// says where it belongs.
pub(crate) fn directory(agent_dir: &Path, cwd: &str) -> PathBuf {
    agent_dir.join("sessions").join(directory_name(cwd))
}

/// The path without its first `/` or `\`, and with `-` for every `/`, `\` and `:`.
fn directory_name(cwd: &str) -> String {
    let name = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    format!("--{}--", name.replace(['/', '\\', ':'], "-"))
}

/// The file name of a session: the ISO timestamp with `-` for every `:` and `.`, and the id.
pub(crate) fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

/// Whether two working directories are the same, also by a symbolic link (docs/session-format.md, "Where sessions lie").
pub(crate) fn is_same_directory(a: &str, b: &str) -> bool {
    let canonical = |path: &str| fs::canonicalize(path).ok();
    a == b || canonical(a).is_some_and(|a| canonical(b).is_some_and(|b| a == b))
}

/// The absolute path of `text`. `~` means `home`, and relative paths start from `base`. The result has no `.` and no
/// `..`, so that a directory has one name. Links are not followed, because the path may not exist yet.
pub fn resolve(text: &str, base: &Path, home: Option<&Path>) -> PathBuf {
    let rest = if text == "~" { Some("") } else { text.strip_prefix("~/") };
    let path = match rest.zip(home) {
        Some((rest, home)) => base.join(home.join(rest)),
        None => base.join(text),
    };
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

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
    pub(super) fn prune_and_save(&self, files: &[Candidate]) {
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
const FORMAT_VERSION: u32 = 2;

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
    if stored.form != FORMAT_VERSION {
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
    let stored = Stored { form: FORMAT_VERSION, files };
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

fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let changed = metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec());
    (u64::try_from(changed).unwrap_or(0), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_absolute_and_plain() {
        let (base, home) = (Path::new("/base"), Path::new("/home/me"));
        for (text, path) in [
            ("a.jsonl", "/base/a.jsonl"),
            ("./a/../b", "/base/b"),
            ("../../..", "/"),
            ("/x//y/./z", "/x/y/z"),
            ("~", "/home/me"),
            ("~/a", "/home/me/a"),
            ("~you", "/base/~you"),
        ] {
            assert_eq!(resolve(text, base, Some(home)), Path::new(path), "{text}");
        }
        assert_eq!(resolve("~/a", base, None), Path::new("/base/~/a"));
    }

    #[test]
    fn names_follow_the_format() {
        let agent_dir = Path::new("agent");
        for (cwd, name) in [
            ("/home/a/b.c", "--home-a-b.c--"),
            ("C:\\Users\\a", "--C--Users-a--"),
            ("\\\\host\\share", "---host-share--"),
            ("/", "----"),
            ("/a-b/c", "--a-b-c--"),
        ] {
            assert_eq!(directory(agent_dir, cwd), agent_dir.join("sessions").join(name), "{cwd}");
        }
        assert_eq!(file_name("2025-11-20T23:33:01.544Z", "x"), "2025-11-20T23-33-01-544Z_x.jsonl");
    }
}
