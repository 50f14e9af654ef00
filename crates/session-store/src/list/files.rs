//! The files that may be sessions.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::file_log::file_error;
use crate::list::stamp::Stamp;
use crate::paths;
use crate::store::ListOptions;

/// A file that may be a session.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// Its absolute path without symbolic links.
    pub(crate) path: PathBuf,
    pub(super) stamp: Stamp,
}

/// The regular files named `*.jsonl` in the directories of `options`, each once, whatever links lead
/// to it (field bug 21).
///
/// Fails with `Io` if a directory that is there cannot be read.
pub(crate) fn candidates(agent_dir: &Path, options: &ListOptions) -> Result<Vec<Candidate>, StoreError> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for directory in directories(agent_dir, options)? {
        // What is no directory has no sessions, and what vanished meanwhile neither.
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
        None => Ok(vec![paths::directory(agent_dir, &options.cwd)]),
    }
}

fn entries(directory: &Path) -> Result<Vec<fs::DirEntry>, StoreError> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.filter_map(Result::ok).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(file_error("list", directory, source)),
    }
}

/// The file of a directory entry. Only links need to be resolved: the directory is canonical, and so
/// is what lies in it.
fn candidate(directory: &Path, entry: &fs::DirEntry) -> Option<Candidate> {
    let path = directory.join(entry.file_name());
    if path.extension().is_none_or(|extension| extension != "jsonl") {
        return None;
    }
    let (path, metadata) = match entry.file_type().ok()?.is_symlink() {
        true => (fs::canonicalize(&path).ok()?, fs::metadata(&path).ok()?),
        false => (path, entry.metadata().ok()?),
    };
    // A pipe would wait for its writer when it is opened.
    metadata.is_file().then(|| Candidate { path, stamp: Stamp::of(&metadata) })
}
