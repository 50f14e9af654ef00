//! Sessions that end with whoever holds them.

use compaction_core::entry::EntryId;

use crate::error::StoreError;
use crate::header::SessionHeader;
use crate::locator::Locator;
use crate::memory_log::MemoryLog;
use crate::search::{SearchHits, SearchQuery};
use crate::session::labels::clean_name;
use crate::session::{Session, SessionOptions};
use crate::store::{CreateOptions, IsCancelled, ListOptions, OpenOptions, SearchOptions, SessionPage, SessionStore};

/// A store that keeps nothing: each session lives in memory, as long as its handle. None has a
/// locator, so that none can be found again.
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
        let header = SessionHeader::for_new(options)?;
        let mut session = open(format!("{}\n", header.raw.get()))?;
        if let Some(name) = options.name.as_deref().and_then(clean_name) {
            session.set_name(&name)?;
        }
        Ok(session)
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
