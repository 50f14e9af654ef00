//! Reading entries.

use std::ops::ControlFlow;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryId};
use compaction_core::json;

use crate::error::StoreError;
use crate::index::Record;
use crate::session::Session;

impl Session {
    /// The entry `id`, parsed now or lately.
    ///
    /// Fails with `EntryNotFound`, with `BrokenEntry` if its body cannot be read, or with `Io`.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, StoreError> {
        self.entry_at(self.slot(id)?)
    }

    /// The entry `id`, or an entry of no known type in its place if its body is broken: for those who
    /// move through the tree, which one torn line must not stop.
    ///
    /// Fails with `EntryNotFound` or with `Io`.
    pub fn entry_or_stand_in(&self, id: &EntryId) -> Result<Arc<Entry>, StoreError> {
        let slot = self.slot(id)?;
        match self.entry_at(slot) {
            Err(StoreError::BrokenEntry { .. }) => self.stand_in(slot).map(Arc::new),
            outcome => outcome,
        }
    }

    /// The entries of all branches in file order, those after `since`, at most `limit`.
    ///
    /// An entry whose body is broken comes as its header alone. Fails with `EntryNotFound` for
    /// `since`, or with `Io`.
    pub fn entries(&self, since: Option<&EntryId>, limit: Option<usize>) -> Result<Vec<Arc<Entry>>, StoreError> {
        let start = since.map_or(Ok(0), |id| self.slot(id).map(|slot| slot + 1))?;
        let records = self.index.records().iter().enumerate().skip(start);
        let current = records.filter(|(_, record)| !record.is_superseded);
        current.take(limit.unwrap_or(usize::MAX)).map(|(slot, _)| self.entry_or_header(slot)).collect()
    }

    /// Visits every entry that counts in file order, reading the file once from its start and
    /// keeping nothing: for work that needs all bodies. Entries whose body is broken come as `Err`.
    pub fn for_each_entry(
        &self,
        mut visit: impl FnMut(Result<&Entry, &StoreError>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        for (_, record) in self.index.current() {
            let outcome = self.parse(record);
            if let Err(error) = outcome.as_ref()
                && !matches!(error, StoreError::BrokenEntry { .. })
            {
                return outcome.map(|_| ());
            }
            if visit(outcome.as_ref()).is_break() {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn entry_at(&self, slot: usize) -> Result<Arc<Entry>, StoreError> {
        if let Some(entry) = self.cache().get(slot) {
            return Ok(entry);
        }
        let entry = Arc::new(self.parse(&self.index.records()[slot])?);
        self.cache().insert(slot, &entry);
        Ok(entry)
    }

    /// The entry, or what is readable of it: a broken body must not take the rest of a list with it.
    pub(crate) fn entry_or_header(&self, slot: usize) -> Result<Arc<Entry>, StoreError> {
        match self.entry_at(slot) {
            Err(StoreError::BrokenEntry { .. }) => {
                let record = &self.index.records()[slot];
                header_only(record, record.kind.name().unwrap_or("unknown")).map(Arc::new)
            }
            outcome => outcome,
        }
    }

    /// What stands for an entry with a broken body in a context: an entry of no known type, which
    /// gives nothing to it.
    pub(crate) fn stand_in(&self, slot: usize) -> Result<Entry, StoreError> {
        header_only(&self.index.records()[slot], "broken")
    }

    /// The line of an entry in the current version of the format.
    pub(crate) fn line(&self, record: &Record) -> Result<String, StoreError> {
        let bytes = self.log.read(record.span).map_err(|source| StoreError::io("read", self.log.path(), source))?;
        let line = match String::from_utf8(bytes) {
            Ok(line) => line,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        match &self.index.migration {
            // What is no object comes as it is, and fails where it is parsed.
            Some(migration) => Ok(migration.rewrite(&line, &record.place()).unwrap_or(line)),
            None => Ok(line),
        }
    }

    /// Reads and parses an entry past the cache.
    pub(crate) fn parse(&self, record: &Record) -> Result<Entry, StoreError> {
        let line = self.line(record)?;
        let entry = Entry::parse(line.trim_ascii());
        entry.map_err(|source| StoreError::BrokenEntry { id: record.id.clone(), line: record.line, source })
    }
}

fn header_only(record: &Record, kind: &str) -> Result<Entry, StoreError> {
    let kind = json::encode_string(kind);
    let id = json::encode_string(record.id.as_str());
    let parent = record.parent_id.as_ref().map_or_else(|| "null".to_owned(), |id| json::encode_string(id.as_str()));
    let line = format!(r#"{{"type":{kind},"id":{id},"parentId":{parent},"timestamp":""}}"#);
    Entry::parse(&line).map_err(|source| StoreError::BrokenEntry { id: record.id.clone(), line: record.line, source })
}
