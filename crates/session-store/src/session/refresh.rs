//! Entries that other programs write into the session.

use std::io;

use compaction_core::entry::EntryId;

use crate::error::StoreError;
use crate::index::{Index, Record};
use crate::log::{LogChange, Span};
use crate::session::append::ForeignChange;
use crate::session::known::Known;
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

    /// Whether what is known of the session is no longer there, as another program cut or rewrote it, so
    /// that reading may fail before [`Session::refresh`]. What was deleted or replaced can still be read.
    pub fn is_outdated(&self) -> bool {
        self.unread == LogChange::Replaced || matches!(self.log.look(), Ok(LogChange::Replaced))
    }

    /// Whether an append would do no more than write its line to a local disk: nobody changed the session,
    /// and nothing has to be written, read or waited for before. Takes microseconds itself.
    pub fn is_settled(&mut self) -> bool {
        if !self.log.is_quick() {
            return false;
        }
        let Ok(change) = self.log.refresh_to_append() else {
            return false;
        };
        self.unread = self.unread.max(change);
        self.unread == LogChange::Unchanged && self.is_current() && !self.waits_for_disk()
    }

    /// Foreign changes that were read and not yet told.
    pub fn take_foreign(&mut self) -> Option<ForeignChange> {
        self.foreign.take()
    }

    /// As [`Session::refresh`], keeping what changed for [`Session::take_foreign`].
    pub(crate) fn refresh_quietly(&mut self) -> Result<(), StoreError> {
        let change = self.log.refresh();
        self.read_change(change)
    }

    /// As [`Session::refresh_quietly`], as far as the append that follows needs it.
    pub(super) fn refresh_to_append(&mut self) -> Result<(), StoreError> {
        let change = self.log.refresh_to_append();
        self.read_change(change)
    }

    fn read_change(&mut self, change: io::Result<LogChange>) -> Result<(), StoreError> {
        let change = change.map_err(|source| StoreError::io("read", self.log.locator(), source))?;
        self.unread = self.unread.max(change);
        match self.unread {
            LogChange::Unchanged => {}
            LogChange::Grown => self.read_foreign(None)?,
            LogChange::Replaced => self.read_again()?,
        }
        self.unread = LogChange::Unchanged;
        Ok(())
    }

    /// Reads on behind the known part of the log. The lines at `own` are not foreign.
    pub(crate) fn read_foreign(&mut self, own: Option<Span>) -> Result<(), StoreError> {
        let new = match self.read_on_tail().map_err(|source| self.read_error(source))? {
            Some(records) => records,
            None => self.read_on_index()?,
        };
        let is_own = |record: &Record| own.is_some_and(|own| (own.offset..own.end()).contains(&record.span.offset));
        let foreign = new.into_iter().filter(|record| !is_own(record));
        let readable = foreign.filter(|record| !record.is_superseded && !record.is_broken);
        self.note_foreign(readable.map(|record| record.id).collect());
        Ok(())
    }

    /// The new entries, if the end of the session is all that is known and need be known.
    fn read_on_tail(&self) -> io::Result<Option<Vec<Record>>> {
        match self.known.tail() {
            Some(mut tail) if self.known.get().is_none() => tail.read_on(self.log.as_ref()),
            _ => Ok(None),
        }
    }

    fn read_on_index(&mut self) -> Result<Vec<Record>, StoreError> {
        self.index_mut()?;
        let log = self.log.as_ref();
        let index = self.known.get_mut().expect("the index was built in the line before");
        let before = index.record_count();
        index.scan(log).map_err(|source| StoreError::io("read", log.locator(), source))?;
        if index.refusal.is_some() {
            self.unread = LogChange::Replaced;
            return Err(not_a_session(log, Some(index)));
        }
        let new = index.records_from(before).collect();
        self.adopt_header();
        Ok(new)
    }

    /// Builds the index anew, as nothing that was known of the log can be believed.
    fn read_again(&mut self) -> Result<(), StoreError> {
        let index = read_index(self.log.as_ref(), self.max_line)?;
        match &index.header {
            Some(header) if header.id == self.header.id => self.header = header.clone(),
            _ => return Err(not_a_session(self.log.as_ref(), Some(&index))),
        }
        let old = self.replace_index(index);
        self.refuse_newer_version();
        let index = self.index()?;
        let new = new_entries(index, &old);
        let last = index.last();
        if self.leaf.as_ref().is_some_and(|leaf| index.slot(leaf.as_str()).is_none()) {
            self.leaf = last;
        }
        self.note_foreign(new);
        self.foreign.get_or_insert_default().leaf_id = self.leaf.clone();
        Ok(())
    }

    /// Goes on with another index and returns the old one.
    pub(crate) fn replace_index(&mut self, mut index: Index) -> Known {
        self.cache().clear();
        self.forget_context();
        self.syncs.forget();
        // What concerns the whole file still holds.
        let lasting = self.diagnostics().iter().filter(|diagnostic| diagnostic.concerns_file());
        lasting.for_each(|diagnostic| index.diagnostics.add(diagnostic.clone()));
        std::mem::replace(&mut self.known, Known::whole(index))
    }

    /// Another program may have written the header of an empty file first.
    fn adopt_header(&mut self) {
        if let Some(header) = self.known.header().filter(|_| self.is_header_pending) {
            self.header = header;
            self.is_header_pending = false;
        }
    }

    fn note_foreign(&mut self, ids: Vec<EntryId>) {
        // An entry of another program may be the parent that a path was missing.
        self.forget_context();
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

/// The ids of the entries that were not there before. Where only the end of the session was known,
/// those are the ones behind the last entry that was and still is there.
fn new_entries(index: &Index, old: &Known) -> Vec<EntryId> {
    let was_there = |id: &EntryId| match (old.get(), old.tail()) {
        (Some(old), _) => old.slot(id.as_str()).is_some(),
        (None, tail) => tail.is_some_and(|tail| tail.slot(id).is_some()),
    };
    let ids = index.current().map(|record| record.id);
    if old.get().is_some() {
        return ids.filter(|id| !was_there(id)).collect();
    }
    let ids: Vec<EntryId> = ids.collect();
    let known = ids.iter().rposition(was_there).map_or(0, |last| last + 1);
    ids[known..].to_vec()
}
