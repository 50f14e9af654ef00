//! Sessions as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compaction_core::entry::{EntryId, iso_timestamp};

use crate::diagnostic::Diagnostic;
use crate::error::StoreError;
use crate::file_log::{FileLog, OpenedFile};
use crate::fork::{Fork, ForkError};
use crate::header::SessionHeader;
use crate::ids;
use crate::list::cache::ListCache;
use crate::list::{self, Limits};
use crate::memory_store::MemoryStore;
use crate::paths;
use crate::replace;
use crate::session::append::now;
use crate::session::labels::clean_name;
use crate::session::{Session, SessionOptions};
use crate::store::{CreateOptions, Durability, ListOptions, OpenOptions, SessionPage, SessionStore};

/// A store of files below an agent directory (docs/session-format.md, "Where sessions lie").
#[derive(Debug, Clone)]
pub struct FileStore {
    agent_dir: PathBuf,
    durability: Durability,
    max_line_bytes: usize,
    lists: Arc<ListCache>,
}

impl FileStore {
    /// A store below `agent_dir`, which need not exist yet. What its lists learn of files is shared
    /// by its clones, and kept in `cache/compactd-sessions.json` below `agent_dir` where that pays.
    pub fn new(agent_dir: impl Into<PathBuf>, durability: Durability) -> Self {
        let agent_dir = agent_dir.into();
        let lists = Arc::new(ListCache::new(&agent_dir));
        Self { agent_dir, durability, max_line_bytes: SessionOptions::default().max_line_bytes, lists }
    }

    /// The same store, waiting for the disk as `durability` says.
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability, ..self.clone() }
    }

    /// The same store, for lines of at most `bytes`. A longer one is not held and counts as broken.
    pub fn with_max_line_bytes(&self, bytes: usize) -> Self {
        Self { max_line_bytes: bytes, ..self.clone() }
    }

    /// As [`SessionStore::list`]; once it `is_cancelled`, it ends soon, and the page lacks sessions.
    pub fn list_unless(
        &self,
        options: &ListOptions,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<SessionPage, StoreError> {
        list::list(&self.agent_dir, &self.lists, options, Limits { max_line: self.max_line_bytes, is_cancelled })
    }

    pub(crate) fn max_line_bytes(&self) -> usize {
        self.max_line_bytes
    }

    pub(crate) fn agent_dir(&self) -> &Path {
        &self.agent_dir
    }

    /// The session at `path`, for reading, keeping at most `cache_bytes` of parsed entries.
    pub(crate) fn open_to_search(&self, path: &Path, cache_bytes: usize) -> Result<Session, StoreError> {
        self.open_read_only(path, SessionOptions { cache_bytes, ..self.options() })
    }

    fn options(&self) -> SessionOptions {
        let (durability, max_line_bytes) = (self.durability, self.max_line_bytes);
        SessionOptions { durability, max_line_bytes, ..SessionOptions::default() }
    }

    fn new_path(&self, options: &CreateOptions, header: &SessionHeader) -> PathBuf {
        if let Some(path) = &options.path {
            return path.clone();
        }
        let directory = options.session_dir.clone();
        let directory = directory.unwrap_or_else(|| paths::directory(&self.agent_dir, &options.cwd));
        directory.join(paths::file_name(&header.timestamp, &header.id))
    }

    fn open_read_only(&self, path: &Path, options: SessionOptions) -> Result<Session, StoreError> {
        let read_only = Some("it was opened for reading".to_owned());
        Session::open(Box::new(FileLog::open_read_only(path)?), SessionOptions { read_only, ..options })
    }

    fn open_to_write(&self, path: &Path, options: SessionOptions) -> Result<Session, StoreError> {
        let mut session = open(FileLog::open(path)?, options)?;
        if session.is_newer_version() {
            session.close()?;
        }
        Ok(session)
    }
}

impl SessionStore for FileStore {
    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError> {
        let id = ids::session_id(options.id.as_deref())?;
        let parent = options.parent_session.as_deref();
        let header = SessionHeader::new(&id, &iso_timestamp(now()), &options.cwd, parent);
        let path = self.new_path(options, &header);
        create_directory_of(&path)?;
        if options.id.is_some() && options.path.is_none() {
            check_id_is_free(&path, &id)?;
        }
        let opened = FileLog::create(&path, &format!("{}\n", header.raw.get()), self.durability)?;
        let made = open(opened, self.options()).and_then(|mut session| {
            if let Some(name) = options.name.as_deref().and_then(clean_name) {
                session.set_name(&name)?;
            }
            Ok(session)
        });
        made.inspect_err(|_| replace::take_back(&path))
    }

    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Session, StoreError> {
        let id = ids::session_id(None)?;
        let header = SessionHeader::new(&id, &iso_timestamp(now()), &options.cwd, None);
        let session_options = SessionOptions { header_if_empty: Some(header), ..self.options() };
        if options.read_only {
            return self.open_read_only(path, session_options);
        }
        self.open_to_write(path, session_options)
    }

    fn most_recent(&self, cwd: &str, session_dir: Option<&Path>) -> Result<Option<PathBuf>, StoreError> {
        let session_dir = session_dir.map(Path::to_owned);
        let options = ListOptions { cwd: cwd.to_owned(), session_dir, limit: Some(1), ..ListOptions::default() };
        Ok(self.list(&options)?.sessions.into_iter().next().map(|summary| summary.path))
    }

    fn list(&self, options: &ListOptions) -> Result<SessionPage, StoreError> {
        self.list_unless(options, &|| false)
    }

    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError> {
        let Some(source_path) = source.path() else {
            return MemoryStore.fork(source, leaf);
        };
        let fork = Fork::new(source, leaf)?;
        let name = paths::file_name(&fork.header().timestamp, &fork.header().id);
        let path = source_path.with_file_name(name);
        let file = write_fork(&fork, &path).map_err(|error| error.into_store_error(Some(&path)))?;
        let made = open(FileLog::place(file, &path, self.durability)?, self.options());
        made.inspect_err(|_| replace::take_back(&path))
    }

    fn check(&self, path: &Path) -> Result<Vec<Diagnostic>, StoreError> {
        self.open_read_only(path, self.options())?.check()
    }
}

/// Whether no session beside `path` has this id, as the names of the files tell.
fn check_id_is_free(path: &Path, id: &str) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(path);
    let failed = |source| StoreError::io("list", Some(directory), source);
    let end = format!("_{id}.jsonl");
    for item in std::fs::read_dir(directory).map_err(failed)? {
        let path = item.map_err(failed)?.path();
        // The time before the id holds no `_`.
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(&end));
        if name.is_some_and(|time| !time.contains('_')) {
            return Err(StoreError::SessionIdTaken { id: id.to_owned(), path });
        }
    }
    Ok(())
}

/// The session in a file that was opened; it tells what was odd about that.
fn open(opened: OpenedFile, options: SessionOptions) -> Result<Session, StoreError> {
    let OpenedFile { log, read_only, diagnostics } = opened;
    let mut session = Session::open(Box::new(log), SessionOptions { read_only, ..options })?;
    diagnostics.into_iter().for_each(|diagnostic| session.report(diagnostic));
    Ok(session)
}

fn write_fork(fork: &Fork<'_>, path: &Path) -> Result<tempfile::NamedTempFile, ForkError> {
    let mut source_error = None;
    let written = replace::write_beside(path, |out| match fork.write(out) {
        Ok(()) => Ok(()),
        Err(ForkError::Write(error)) => Err(error),
        Err(ForkError::Source(error)) => {
            source_error = Some(error);
            Err(io::ErrorKind::InvalidData.into())
        }
    });
    written.map_err(|error| source_error.map_or(ForkError::Write(error), ForkError::Source))
}

fn create_directory_of(path: &Path) -> Result<(), StoreError> {
    let Some(directory) = path.parent() else {
        return Ok(());
    };
    fs::create_dir_all(directory).map_err(|source| StoreError::write(Some(path), source))
}
