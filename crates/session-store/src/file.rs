//! Sessions as files: the store of files, and everything that knows paths, links, locks of the system, and network
//! file systems.

mod file_log;
mod list;
mod list_row;
mod lock;
mod read;

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compaction_core::entry::EntryId;

use crate::error::{Diagnostic, StoreError};
use crate::header::SessionHeader;
use crate::index::clean_name;
use crate::log::Locator;
use crate::search::{SearchHits, SearchQuery};
use crate::session::{Durability, Session, SessionOptions};
use crate::store::{
    CreateOptions, Fork, ForkError, IsCancelled, ListOptions, MemoryStore, OpenOptions, SearchOptions, SessionPage,
    SessionStore,
};
pub use file_log::{FileLog, OpenedFile};
use file_log::{SHOWN_CHARACTERS, creation_error};
pub use list::resolve as resolve_path;
use list::{ListCache, candidates};
use read::{Identity, Limits, LineReader, for_each_in_parallel};
pub use read::{append_to_regular_file, open_regular_file, read_regular_file};

/// A store of files below an agent directory (docs/session-format.md, "Where sessions lie").
#[derive(Debug, Clone)]
pub struct FileStore {
    agent_dir: PathBuf,
    /// A flat directory for sessions, instead of one per working directory.
    session_dir: Option<PathBuf>,
    /// The base directory of relative paths.
    base: PathBuf,
    /// The directory for `~`.
    home: Option<PathBuf>,
    durability: Durability,
    max_line_bytes: usize,
    lists: Arc<ListCache>,
}

impl FileStore {
    /// A store below `agent_dir`, which need not exist yet. Clones share the cache of lists, which is saved in
    /// `cache/compactd-sessions.json` below `agent_dir` if that is worth it.
    pub fn new(agent_dir: impl Into<PathBuf>, durability: Durability) -> Self {
        let agent_dir = agent_dir.into();
        let lists = Arc::new(ListCache::new(&agent_dir));
        let max_line_bytes = SessionOptions::default().max_line_bytes;
        Self { agent_dir, session_dir: None, base: PathBuf::from("/"), home: None, durability, max_line_bytes, lists }
    }

    /// The same store with its sessions in `directory`, if given, instead of one directory per working directory
    /// below the agent directory.
    pub fn with_session_dir(&self, directory: Option<PathBuf>) -> Self {
        Self { session_dir: directory, ..self.clone() }
    }

    /// The same store with `base` for relative paths and `home` for paths that begin with `~`.
    pub fn with_base(&self, base: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self { base: base.into(), home, ..self.clone() }
    }

    /// The same store with lines of at most `bytes`. A longer line is not read whole and counts as broken.
    pub fn with_max_line_bytes(&self, bytes: usize) -> Self {
        Self { max_line_bytes: bytes, ..self.clone() }
    }

    /// The options with the directory of this store, unless they name one.
    fn with_own_directory(&self, options: &ListOptions) -> ListOptions {
        let own = || self.session_dir.as_ref().map(Locator::from);
        ListOptions { session_dir: options.session_dir.clone().or_else(own), ..options.clone() }
    }

    fn options(&self) -> SessionOptions {
        let (durability, max_line_bytes) = (self.durability, self.max_line_bytes);
        SessionOptions { durability, max_line_bytes, ..SessionOptions::default() }
    }

    fn new_path(&self, options: &CreateOptions, header: &SessionHeader) -> PathBuf {
        if let Some(locator) = &options.locator {
            return locator.as_path().to_owned();
        }
        let directory = options.session_dir.as_ref().map(|directory| directory.as_path().to_owned());
        let directory = directory
            .or_else(|| self.session_dir.clone())
            .unwrap_or_else(|| list::directory(&self.agent_dir, &options.cwd));
        directory.join(list::file_name(&header.timestamp, &header.id))
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
    fn is_quick(&self) -> bool {
        true
    }

    fn locate(&self, text: &str) -> Result<Locator, StoreError> {
        if text.contains('\0') {
            let text = text.chars().take(SHOWN_CHARACTERS).collect();
            return Err(StoreError::InvalidLocator { text, expected: "a path without a NUL".to_owned() });
        }
        Ok(Locator::from(&list::resolve(text, &self.base, self.home.as_deref())))
    }

    fn canonical(&self, locator: &Locator) -> Option<Locator> {
        fs::canonicalize(locator.as_path()).ok().map(|path| Locator::from(&path))
    }

    fn is_same(&self, a: &Locator, b: &Locator) -> bool {
        a == b || Identity::at(a.as_path()).is_some_and(|identity| Identity::at(b.as_path()) == Some(identity))
    }

    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError> {
        let header = options.header()?;
        let path = self.new_path(options, &header);
        create_directory_of(&path)?;
        if let Some(id) = options.id.as_deref().filter(|_| options.locator.is_none()) {
            check_id_is_free(&path, id)?;
        }
        let opened = FileLog::create(&path, &format!("{}\n", header.raw.get()), self.durability)?;
        let made = open(opened, self.options()).and_then(|mut session| {
            if let Some(name) = options.name.as_deref().and_then(clean_name) {
                session.set_name(&name)?;
            }
            Ok(session)
        });
        if made.is_ok() && options.locator.is_none() && options.session_dir.is_none() && self.session_dir.is_none() {
            list::note_link(&self.agent_dir, &options.cwd);
        }
        made.inspect_err(|_| read::take_back(&path))
    }

    fn discard(&self, mut session: Session) {
        if let Err(error) = session.close() {
            tracing::warn!(%error, locator = ?session.locator(), "closing a session that is removed failed");
        }
        if let Some(locator) = session.locator() {
            read::take_back(locator.as_path());
        }
    }

    fn open(&self, locator: &Locator, options: &OpenOptions) -> Result<Session, StoreError> {
        let path = locator.as_path();
        let header = CreateOptions { cwd: options.cwd.clone(), ..CreateOptions::default() }.header()?;
        let session_options = SessionOptions { header_if_empty: Some(header), ..self.options() };
        if options.read_only {
            return self.open_read_only(path, session_options);
        }
        self.open_to_write(path, session_options)
    }

    fn list_unless(&self, options: &ListOptions, is_cancelled: &IsCancelled<'_>) -> Result<SessionPage, StoreError> {
        let limits = Limits { max_line: self.max_line_bytes, is_cancelled };
        list::list(&self.agent_dir, &self.lists, &self.with_own_directory(options), limits)
    }

    fn search(
        &self,
        query: &SearchQuery,
        options: &SearchOptions,
        is_cancelled: &IsCancelled<'_>,
    ) -> Result<SearchHits, StoreError> {
        let limit = options.limit;
        let listed = ListOptions { session_dir: options.session_dir.clone(), all: true, ..ListOptions::default() };
        let listed = candidates(&self.agent_dir, &self.with_own_directory(&listed))?;
        let mut files: Vec<PathBuf> = listed.into_iter().map(|file| file.path).collect();
        files.retain(|path| !options.skipped.contains(&path.into()));
        files.sort_unstable();
        let bytes = files.iter().filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.len()).sum();
        let limits = Limits { max_line: self.max_line_bytes, is_cancelled };
        let found = for_each_in_parallel(&files, bytes, limits, |path, reader| {
            self.search_file(path, reader, query, limit).unwrap_or_else(|error| {
                tracing::debug!(%error, path = %path.display(), "left out of the search");
                SearchHits::default()
            })
        });
        Ok(SearchHits::merge(found, limit))
    }

    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError> {
        let Some(source_locator) = source.locator() else {
            return MemoryStore.fork(source, leaf);
        };
        let fork = Fork::new(source, leaf)?;
        let name = list::file_name(&fork.header().timestamp, &fork.header().id);
        let path = source_locator.as_path().with_file_name(name);
        let file = write_fork(&fork, &path).map_err(|error| error.into_store_error(Some(Locator::from(&path))))?;
        let made = open(FileLog::place(file, &path, self.durability)?, self.options());
        made.inspect_err(|_| read::take_back(&path))
    }

    fn check(&self, locator: &Locator) -> Result<Vec<Diagnostic>, StoreError> {
        self.open_read_only(locator.as_path(), self.options())?.check()
    }
}

/// Fails if a session next to `path` has this id, according to the names of the files.
fn check_id_is_free(path: &Path, id: &str) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(path);
    let failed = |source| StoreError::io("list", Some(directory), source);
    let end = format!("_{id}.jsonl");
    for item in fs::read_dir(directory).map_err(failed)? {
        let path = item.map_err(failed)?.path();
        // The time before the id contains no `_`.
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(&end));
        if name.is_some_and(|time| !time.contains('_')) {
            return Err(StoreError::SessionIdTaken { id: id.to_owned(), locator: Locator::from(&path) });
        }
    }
    Ok(())
}

/// The session in an opened file, with the problems found.
fn open(opened: OpenedFile, options: SessionOptions) -> Result<Session, StoreError> {
    let OpenedFile { log, read_only, diagnostics } = opened;
    let mut session = Session::open(Box::new(log), SessionOptions { read_only, ..options })?;
    diagnostics.into_iter().for_each(|diagnostic| session.report(diagnostic));
    Ok(session)
}

fn write_fork(fork: &Fork<'_>, path: &Path) -> Result<tempfile::NamedTempFile, ForkError> {
    let mut source_error = None;
    let written = read::write_beside(path, |out| match fork.write(out) {
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
    fs::create_dir_all(directory).map_err(|source| creation_error(path, source))
}

/// Maximum bytes of parsed entries of a session during a search.
const SEARCH_CACHE_BYTES: usize = 1 << 20;

impl FileStore {
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
        let options = SessionOptions { cache_bytes: SEARCH_CACHE_BYTES, ..self.options() };
        self.open_read_only(path, options)?.search(query, limit, is_cancelled)
    }
}

/// Whether a line of the file may match, so that the session must be opened.
fn may_match(path: &Path, reader: &mut LineReader<'_>, query: &SearchQuery) -> Result<bool, StoreError> {
    let (mut may_match, mut seen) = (false, query.seen());
    let hold = Cell::new(reader.limits.max_line);
    let file = read::open(path, File::options().read(true));
    let scanned = file.and_then(|file| {
        reader.visit(&file, 0..u64::MAX, &hold, |line| {
            may_match = !line.is_cut && query.is_worth_it(line.bytes, &mut seen);
            if may_match { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    scanned.map(|()| may_match).map_err(|source| StoreError::io("read", Some(path), source))
}
