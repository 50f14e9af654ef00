//! Finds the transcripts that `compactd import` reads: a file, or all transcripts of a directory.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use compaction_core::transcripts::{self, Agent, HEAD_BYTES};
use session_store::open_regular_file;

use crate::cli::failure::Failure;

/// Maximum depth of directories below the imported one.
const MAX_DEPTH: usize = 12;

/// Number of first files of a directory, one of which must be an event.
const FIRST_EVENTS: usize = 8;

/// A transcript on the disk, or in standard input.
#[derive(Debug)]
pub(super) struct Transcript {
    /// Its name in reports.
    pub(super) path: PathBuf,
    /// Where its bytes are, if not at `path`.
    pub(super) copy: Option<PathBuf>,
    /// The files with their names, for a transcript of many files.
    pub(super) files: Option<(Agent, Vec<(String, PathBuf)>)>,
}

impl Transcript {
    /// Where its bytes are: the first file of many.
    pub(super) fn content(&self) -> &Path {
        let first = self.files.as_ref().and_then(|(_, files)| files.first());
        first.map_or(self.copy.as_ref().unwrap_or(&self.path), |(_, path)| path)
    }
}

/// The transcript at a path. A session in opencode's storage has many files.
pub(super) fn transcript_at(path: &Path) -> Transcript {
    let storage = path.ancestors().nth(3).filter(|root| path.starts_with(root.join("session")));
    let files = storage.and_then(|root| opencode_files(root, path)).map(|files| (Agent::OpenCode, files));
    Transcript { path: path.to_owned(), copy: None, files }
}

/// Finds the files below a directory that may be transcripts. Also returns the other files, and the
/// subdirectories that cannot be read.
pub(super) fn transcripts_in(directory: &Path) -> Result<(Vec<Transcript>, Vec<PathBuf>), Failure> {
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    let mut waiting = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        let names = if depth == 0 { sorted(&directory)? } else { listed(&directory, &mut skipped) };
        let has = |name: &str| is_directory(&directory.join(name));
        if has("session") && has("message") {
            let projects = listed(&directory.join("session"), &mut skipped);
            for project in projects.iter().filter(|path| is_directory(path)) {
                let sessions = listed(project, &mut skipped);
                found.extend(sessions.iter().map(|path| transcript_at(path)));
            }
            continue;
        }
        let events = directory.join("events");
        let events = if is_directory(&events) { &listed(&events, &mut skipped) } else { &names };
        if let Some(files) = events_in(events) {
            found.push(Transcript { path: directory, copy: None, files: Some((Agent::OpenHands, files)) });
            continue;
        }
        for path in names {
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            if is_directory(&path) {
                if depth < MAX_DEPTH {
                    waiting.push((path, depth + 1));
                }
            } else if matches!(extension, "jsonl" | "json" | "md") {
                found.push(Transcript { path, copy: None, files: None });
            } else {
                skipped.push(path);
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    skipped.sort();
    Ok((found, skipped))
}

/// Whether a path is a directory. Links are not followed, because they may form cycles.
fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn sorted(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |source| Failure::File { path: directory.to_owned(), source };
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// The paths in a directory, or none if it cannot be read. Such a directory is added to `skipped`.
fn listed(directory: &Path, skipped: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    sorted(directory).unwrap_or_else(|_| {
        skipped.push(directory.to_owned());
        Vec::new()
    })
}

/// The files of a session in opencode's storage: the session, its messages and their parts.
fn opencode_files(root: &Path, session: &Path) -> Option<Vec<(String, PathBuf)>> {
    let id = session.file_stem()?;
    let messages = sorted(&root.join("message").join(id)).ok()?;
    let mut files = vec![session.to_owned()];
    for message in messages {
        let parts = message.file_stem().map(|id| root.join("part").join(id));
        files.push(message);
        files.extend(parts.and_then(|parts| sorted(&parts).ok()).unwrap_or_default());
    }
    let named = |path: PathBuf| Some((path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/"), path));
    Some(files.into_iter().filter_map(named).collect())
}

/// The events of an OpenHands conversation, in order. `None` if no file is an event.
fn events_in(names: &[PathBuf]) -> Option<Vec<(String, PathBuf)>> {
    let number = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        let digits = stem.strip_prefix("event-").map_or(stem, |rest| rest.split('-').next().unwrap_or_default());
        digits.parse::<u64>().ok().filter(|_| path.extension().is_some_and(|extension| extension == "json"))
    };
    let mut numbered: Vec<(u64, &PathBuf)> = names.iter().filter_map(|path| Some((number(path)?, path))).collect();
    numbered.sort();
    let name = |path: &Path| path.file_name().map(|name| format!("events/{}", name.to_string_lossy()));
    let files = numbered.into_iter().filter_map(|(_, path)| Some((name(path)?, path.clone())));
    let files: Vec<(String, PathBuf)> = files.collect();
    // Other programs number their files too.
    let has_events = files.iter().take(FIRST_EVENTS).any(|(_, path)| is_event(path));
    has_events.then_some(files)
}

fn is_event(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = open_regular_file(path).map(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    read.is_ok() && transcripts::detect(&head) == Some(Agent::OpenHands)
}
