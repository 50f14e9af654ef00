//! Entries that other programs write into the session.

use compaction_core::entry::EntryId;

use crate::error::StoreError;
use crate::index::Index;
use crate::log::{LogChange, Span};
use crate::session::append::ForeignChange;
use crate::session::{Session, not_a_session, read_index};

impl Session {
    /// Reads what other programs did to the session since it was last looked at.
    ///
    /// The leaf follows them only if their last entry lies behind it: a conversation that runs here
    /// is not moved to a branch that another program works on. Fails with `SessionNotFound` if the
    /// file is gone, with `NotASession` if it is another session now.
    pub fn refresh(&mut self) -> Result<Option<ForeignChange>, StoreError> {
        self.refresh_quietly()?;
        Ok(self.take_foreign())
    }

    /// Foreign changes that were read and not yet told.
    pub fn take_foreign(&mut self) -> Option<ForeignChange> {
        self.foreign.take()
    }

    /// As [`Session::refresh`], keeping what changed for [`Session::take_foreign`].
    pub(crate) fn refresh_quietly(&mut self) -> Result<(), StoreError> {
        let change = self.log.refresh().map_err(|source| StoreError::io("read", self.log.path(), source))?;
        self.unread = self.unread.max(change);
        match self.unread {
            LogChange::Unchanged => {}
            LogChange::Grown => self.read_foreign(None)?,
            LogChange::Replaced => self.read_again()?,
        }
        self.unread = LogChange::Unchanged;
        Ok(())
    }

    /// Reads on behind the known part of the log. The line at `own` is not foreign.
    pub(crate) fn read_foreign(&mut self, own: Option<Span>) -> Result<(), StoreError> {
        let (before, superseded) = (self.index.records().len(), self.index.superseded());
        let outcome = self.index.scan(self.log.as_ref());
        outcome.map_err(|source| StoreError::io("read", self.log.path(), source))?;
        if self.index.refusal.is_some() {
            self.unread = LogChange::Replaced;
            return Err(not_a_session(self.log.as_ref(), &self.index));
        }
        self.adopt_header();
        if superseded != self.index.superseded() {
            self.cache().clear();
        }
        let new = self.index.records()[before..].iter().filter(|record| Some(record.span) != own);
        let ids = new.filter(|record| !record.is_superseded && !record.is_broken).map(|record| record.id.clone());
        let ids = ids.collect();
        self.note_foreign(ids);
        Ok(())
    }

    /// Builds the index anew, as nothing that was known of the log can be believed.
    fn read_again(&mut self) -> Result<(), StoreError> {
        let index = read_index(self.log.as_ref())?;
        match &index.header {
            Some(header) if header.id == self.header.id => self.header = header.clone(),
            _ => return Err(not_a_session(self.log.as_ref(), &index)),
        }
        let old = self.replace_index(index);
        self.refuse_newer_version();
        if self.leaf.as_ref().is_some_and(|leaf| self.index.slot(leaf.as_str()).is_none()) {
            self.leaf = self.index.last.clone();
        }
        let new = self.index.current().filter(|(_, record)| old.slot(record.id.as_str()).is_none());
        let ids = new.map(|(_, record)| record.id.clone()).collect();
        self.note_foreign(ids);
        self.foreign.get_or_insert_default().leaf_id = self.leaf.clone();
        Ok(())
    }

    /// Goes on with another index and returns the old one.
    pub(crate) fn replace_index(&mut self, index: Index) -> Index {
        let old = std::mem::replace(&mut self.index, index);
        self.cache().clear();
        self.syncs.forget();
        // What concerns the whole file still holds.
        let lasting = old.diagnostics.as_slice().iter().filter(|diagnostic| diagnostic.line.is_none());
        lasting.for_each(|diagnostic| self.index.diagnostics.add(diagnostic.clone()));
        old
    }

    /// Another program may have written the header of an empty file first.
    fn adopt_header(&mut self) {
        if let Some(header) = self.index.header.as_ref().filter(|_| self.is_header_pending) {
            self.header = header.clone();
            self.is_header_pending = false;
        }
    }

    fn note_foreign(&mut self, ids: Vec<EntryId>) {
        let Some(last) = ids.last() else { return };
        let follows = match &self.leaf {
            Some(leaf) => self.is_on_branch(leaf, Some(last)).unwrap_or(false),
            None => true,
        };
        if follows {
            self.leaf = Some(last.clone());
        }
        let leaf_id = self.leaf.clone();
        let foreign = self.foreign.get_or_insert_default();
        foreign.entry_ids.extend(ids);
        foreign.leaf_id = leaf_id;
    }
}
