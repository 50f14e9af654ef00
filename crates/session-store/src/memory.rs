//! Sessions in memory: the simplest log and store.

use std::cell::Cell;
use std::cmp::Ordering;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compaction_core::entry::EntryId;

use crate::error::StoreError;
use crate::index::clean_name;
use crate::log::Locator;
use crate::log::scan_lines;
use crate::log::{Batch, Line, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog, rewrite_lines};
use crate::search::{SearchHits, SearchQuery};
use crate::session::{Session, SessionOptions};
use crate::store::{CreateOptions, IsCancelled, ListOptions, OpenOptions, SearchOptions, SessionPage, SessionStore};

/// A log in memory. Several logs can share its bytes. They are then foreign writers to each other, like processes
/// that have one file open.
#[derive(Debug, Default)]
pub struct MemoryLog {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Number of bytes that this log has seen. The rest is foreign.
    known: usize,
    is_released: bool,
}

impl MemoryLog {
    /// A log over `bytes`, the contents of a session file.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self::shared(Arc::new(Mutex::new(bytes.into())))
    }

    /// A log over bytes that other logs share.
    pub fn shared(bytes: Arc<Mutex<Vec<u8>>>) -> Self {
        let known = lock(&bytes).len();
        Self { bytes, known, is_released: false }
    }

    fn compare(&self, length: usize) -> LogChange {
        match length.cmp(&self.known) {
            Ordering::Equal => LogChange::Unchanged,
            Ordering::Greater => LogChange::Grown,
            Ordering::Less => LogChange::Replaced,
        }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.is_released { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}

/// A panic of another holder cannot leave a partial change: every change is one call.
fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionLog for MemoryLog {
    fn locator(&self) -> Option<&Locator> {
        None
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn length(&self) -> u64 {
        self.known as u64
    }

    fn scan(
        &self,
        offset: u64,
        hold: &Cell<usize>,
        visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let bytes = lock(&self.bytes);
        let end = self.known.min(bytes.len());
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(end);
        scan_lines(&mut &bytes[start..end], &mut Vec::new(), offset, hold, &|| false, visit)
    }

    fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        let range = || Some(usize::try_from(span.offset).ok()?..usize::try_from(span.end()).ok()?);
        let bytes = lock(&self.bytes);
        let found = range().and_then(|range| bytes.get(range));
        found.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn look(&self) -> io::Result<LogChange> {
        Ok(self.compare(lock(&self.bytes).len()))
    }

    fn refresh(&mut self) -> io::Result<LogChange> {
        let length = lock(&self.bytes).len();
        let change = self.compare(length);
        self.known = length;
        Ok(change)
    }

    fn append(&mut self, Batch { lines, .. }: Batch<'_>) -> Result<Span, LogError> {
        self.check_writable()?;
        let mut bytes = lock(&self.bytes);
        if bytes.last().is_some_and(|&last| last != b'\n') {
            bytes.push(b'\n');
        }
        let span = Span { offset: bytes.len() as u64, length: lines.len() as u64 };
        bytes.extend_from_slice(lines.as_bytes());
        bytes.push(b'\n');
        self.known = bytes.len();
        Ok(span)
    }

    fn replace_all(
        &mut self,
        _backup_suffix: &str,
        _hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError> {
        self.check_writable()?;
        let mut replacement = Vec::new();
        // Everything is in memory anyway, and a scan blocks other readers.
        rewrite_lines(self, usize::MAX, rewrite, &mut replacement)?;
        let mut bytes = lock(&self.bytes);
        if bytes.len() != self.known {
            return Err(LogError::Moved);
        }
        *bytes = replacement;
        self.known = bytes.len();
        Ok(None)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        Ok(Box::new(|| Ok(())))
    }

    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError> {
        self.check_writable()?;
        let mut bytes = lock(&self.bytes);
        if bytes.len() as u64 != end {
            return Err(LogError::Moved);
        }
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        self.known = bytes.len();
        Ok(())
    }

    fn release(&mut self) {
        self.is_released = true;
    }
}

/// A store that keeps nothing. Each session exists as long as its handle. It has no locator and cannot be found
/// again.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryStore;

impl SessionStore for MemoryStore {
    fn is_quick(&self) -> bool {
        true
    }

    fn locate(&self, text: &str) -> Result<Locator, StoreError> {
        Ok(Locator::from(text))
    }

    fn canonical(&self, _locator: &Locator) -> Option<Locator> {
        None
    }

    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError> {
        let header = options.header()?;
        let mut session = open(format!("{}\n", header.raw.get()))?;
        if let Some(name) = options.name.as_deref().and_then(clean_name) {
            session.set_name(&name)?;
        }
        Ok(session)
    }

    fn discard(&self, session: Session) {
        drop(session);
    }

    fn open(&self, locator: &Locator, _options: &OpenOptions) -> Result<Session, StoreError> {
        Err(StoreError::SessionNotFound { locator: locator.clone() })
    }

    fn list_unless(&self, _options: &ListOptions, _is_cancelled: &IsCancelled<'_>) -> Result<SessionPage, StoreError> {
        Ok(SessionPage::default())
    }

    fn search(
        &self,
        _query: &SearchQuery,
        _options: &SearchOptions,
        _is_cancelled: &IsCancelled<'_>,
    ) -> Result<SearchHits, StoreError> {
        Ok(SearchHits::default())
    }

    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError> {
        open(source.fork_text(leaf)?)
    }
}

fn open(text: impl Into<Vec<u8>>) -> Result<Session, StoreError> {
    Session::open(Box::new(MemoryLog::new(text)), SessionOptions::default())
}
