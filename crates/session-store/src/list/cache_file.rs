//! The memory of lists in a file, for the next process.
//!
//! The file may be deleted at any time. It is read once and written seldom, as a whole and under
//! another name first; whatever goes wrong with it costs time and nothing else.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::list::cache::{Known, Resume, What};
use crate::list::stamp::Stamp;
use crate::regular_file::read_regular_file;
use crate::store::SessionSummary;

/// The form of the file; files of other forms are passed over.
const FORM: u32 = 1;

/// A file beyond this size is none of ours.
const MAX_BYTES: u64 = 64 << 20;

/// What is known by the file at `path`; nothing if it is missing, broken or of another form.
pub(super) fn load(path: &Path) -> HashMap<PathBuf, Known> {
    read(path).unwrap_or_else(|error| {
        tracing::debug!(%error, path = %path.display(), "the cache of lists was not read");
        HashMap::new()
    })
}

/// Writes what is known to the file at `path`, whose directory is made if its parent is there.
pub(super) fn save(path: &Path, files: &HashMap<PathBuf, Known>) {
    if let Err(error) = write(path, files) {
        tracing::debug!(%error, path = %path.display(), "the cache of lists was not written");
    }
}

fn read(path: &Path) -> io::Result<HashMap<PathBuf, Known>> {
    let bytes = match read_regular_file(path, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        outcome => outcome?,
    };
    let stored: Stored = serde_json::from_slice(&bytes)?;
    if stored.form != FORM {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(stored.files.into_iter().map(StoredFile::into_known).collect())
}

fn write(path: &Path, files: &HashMap<PathBuf, Known>) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        outcome => outcome?,
    }
    let files = files.iter().filter_map(|(path, known)| StoredFile::of(path, known)).collect();
    let temporary = tempfile::Builder::new().prefix(".compactd-").suffix(".tmp").tempfile_in(directory)?;
    let mut out = BufWriter::with_capacity(1 << 16, temporary);
    serde_json::to_writer(&mut out, &Stored { form: FORM, files })?;
    out.flush()?;
    let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
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
    what: StoredWhat,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredWhat {
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
    /// `None` for a path that JSON cannot hold.
    fn of(path: &Path, known: &Known) -> Option<Self> {
        let what = match &known.what {
            What::NoSession => StoredWhat::NoSession,
            What::Elsewhere { cwd } => StoredWhat::Elsewhere(cwd.to_string()),
            What::Session { summary, resume } => StoredWhat::Session(StoredSession::of(summary, *resume)),
        };
        Some(Self { path: path.to_str()?.to_owned(), stamp: known.stamp, is_settled: known.is_settled, what })
    }

    fn into_known(self) -> (PathBuf, Known) {
        let path = PathBuf::from(self.path);
        let what = match self.what {
            StoredWhat::NoSession => What::NoSession,
            StoredWhat::Elsewhere(cwd) => What::Elsewhere { cwd: cwd.into() },
            StoredWhat::Session(session) => session.into_what(&path),
        };
        (path, Known { stamp: self.stamp, is_settled: self.is_settled, what })
    }
}

impl StoredSession {
    fn of(summary: &SessionSummary, resume: Option<Resume>) -> Self {
        let SessionSummary { session_id, cwd, name, parent_session, created, first_message, .. } = summary.clone();
        let (modified, message_count) = (summary.modified, summary.message_count);
        Self { session_id, cwd, name, parent_session, created, modified, message_count, first_message, resume }
    }

    fn into_what(self, path: &Path) -> What {
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
        What::Session { summary: Arc::new(summary), resume: self.resume }
    }
}
