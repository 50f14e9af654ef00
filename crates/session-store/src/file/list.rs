//! Lists of sessions, and where sessions are stored (docs/session-format.md, "Where sessions lie").
//!
//! A list needs facts from all over a file: the number of messages, the time of the last one, the newest name. So each
//! file is read once from start to end, by as many threads as there are cores, and the result is kept until the file
//! changes.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use crate::error::StoreError;
use crate::file::file_log::file_error;
use crate::file::list_cache::{CachedFile, FileContent, ListCache, Stamp};
use crate::file::read::{Limits, for_each_in_parallel};
use crate::file::summarize;
use crate::store::{Cursor, ListOptions, SessionPage, SessionSummary};

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
    cache.settle(&files);
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
        summarize::read(&file.path, known.as_ref(), filter, reader)
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
/// (docs/field-reports.md, "Opening and reading").
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
        None => Ok(vec![directory(agent_dir, &options.cwd)]),
    }
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
/// tells where it belongs.
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

/// Whether two working directories are the same, also by a symbolic link or, on Windows, in another case
/// (docs/session-format.md, "Where sessions lie").
pub(crate) fn is_same_directory(a: &str, b: &str) -> bool {
    let canonical = |path: &str| fs::canonicalize(path).ok();
    a == b
        || (cfg!(windows) && a.eq_ignore_ascii_case(b))
        || canonical(a).is_some_and(|a| canonical(b).is_some_and(|b| a == b))
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
