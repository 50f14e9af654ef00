//! Sessions that end with whoever holds them.

use std::path::{Path, PathBuf};

use compaction_core::entry::{EntryId, iso_timestamp};

use crate::diagnostic::Diagnostic;
use crate::error::StoreError;
use crate::fork;
use crate::header::SessionHeader;
use crate::ids;
use crate::memory_log::MemoryLog;
use crate::session::append::now;
use crate::session::labels::clean_name;
use crate::session::{Session, SessionOptions};
use crate::store::{CreateOptions, ListOptions, OpenOptions, SessionPage, SessionStore};

/// A store that keeps nothing: each session lives in memory, as long as its handle. None has a
/// path, so that none can be found again.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryStore;

impl SessionStore for MemoryStore {
    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError> {
        let id = ids::session_id(options.id.as_deref())?;
        let parent = options.parent_session.as_deref();
        let header = SessionHeader::new(&id, &iso_timestamp(now()), &options.cwd, parent);
        let mut session = open(format!("{}\n", header.raw.get()))?;
        if let Some(name) = options.name.as_deref().and_then(clean_name) {
            session.set_name(&name)?;
        }
        Ok(session)
    }

    fn open(&self, path: &Path, _options: &OpenOptions) -> Result<Session, StoreError> {
        Err(StoreError::SessionNotFound { path: path.to_owned() })
    }

    fn most_recent(&self, _cwd: &str, _session_dir: Option<&Path>) -> Result<Option<PathBuf>, StoreError> {
        Ok(None)
    }

    fn list(&self, _options: &ListOptions) -> Result<SessionPage, StoreError> {
        Ok(SessionPage::default())
    }

    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError> {
        let mut text = Vec::new();
        fork::Fork::new(source, leaf)?.write(&mut text).map_err(|error| error.into_store_error(None))?;
        open(text)
    }

    fn check(&self, path: &Path) -> Result<Vec<Diagnostic>, StoreError> {
        Err(StoreError::SessionNotFound { path: path.to_owned() })
    }
}

fn open(text: impl Into<Vec<u8>>) -> Result<Session, StoreError> {
    Session::open(Box::new(MemoryLog::new(text)), SessionOptions::default())
}
