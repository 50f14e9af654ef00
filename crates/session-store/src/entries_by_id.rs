//! Entries that a caller names.

use std::sync::Arc;

use compaction_core::entry::{Entry, EntryId};

use crate::error::StoreError;
use crate::session::Session;

impl Session {
    /// The entries with these ids, in their order; one whose body is broken comes as its header alone.
    ///
    /// Fails with `EntryNotFound` for the first id that no entry has, or with `Io`.
    pub fn entries_by_id(&self, ids: &[EntryId]) -> Result<Vec<Arc<Entry>>, StoreError> {
        ids.iter().map(|id| self.entry_or_header(&self.record(self.slot(id)?)?)).collect()
    }
}
