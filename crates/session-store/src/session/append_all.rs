//! Appending several entries at once: all of them or none.

use std::collections::HashSet;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryId};

use crate::error::StoreError;
use crate::log::Span;
use crate::session::Session;
use crate::session::append::{ForeignChange, NewEntry, Parent, Precondition};
use crate::store::Durability;

/// Entries that were appended together.
#[derive(Debug, Clone)]
pub struct AppendedAll {
    /// The entries, each the parent of the next; the last one is the new leaf.
    pub entries: Vec<Arc<Entry>>,
    /// What another program had added to the session before.
    pub foreign: Option<ForeignChange>,
}

impl Session {
    /// Appends a chain of entries with one write: the first hangs on `parent`, each other one on the
    /// one before it. They are waited for on the disk as a compaction is. A write that fails, or of
    /// which only a part arrives, is taken back as a whole.
    ///
    /// Fails as [`Session::append_if`] does, and with `InvalidEntry` for no entry at all or for an id
    /// that is there twice.
    pub fn append_all(
        &mut self,
        new: &[NewEntry<'_>],
        parent: Parent,
        condition: &Precondition,
    ) -> Result<AppendedAll, StoreError> {
        self.retried(|session| session.append_all_once(new, &parent, condition))
    }

    fn append_all_once(
        &mut self,
        new: &[NewEntry<'_>],
        parent: &Parent,
        condition: &Precondition,
    ) -> Result<AppendedAll, StoreError> {
        self.prepare_append(condition)?;
        let build = |session: &Self| session.build_chain(new, session.resolve_parent(parent)?);
        let (lines, entries) = self.build_when_current(condition, build)?;
        self.write_all(&lines, &entries)?;
        self.leaf = entries.last().map(|last| last.id().clone());
        Ok(AppendedAll { entries, foreign: self.take_foreign() })
    }

    fn build_chain(
        &self,
        new: &[NewEntry<'_>],
        mut parent_id: Option<EntryId>,
    ) -> Result<(Vec<String>, Vec<Arc<Entry>>), StoreError> {
        if new.is_empty() {
            return Err(StoreError::InvalidEntry { reason: "there is none".to_owned() });
        }
        let (mut lines, mut entries, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
        for new in new {
            let (line, entry) = self.build(new, parent_id.as_ref())?;
            if !ids.insert(entry.id().clone()) {
                return Err(StoreError::InvalidEntry { reason: format!("the id {} is there twice", entry.id()) });
            }
            parent_id = Some(entry.id().clone());
            lines.push(line);
            entries.push(Arc::new(entry));
        }
        Ok((lines, entries))
    }

    fn write_all(&mut self, lines: &[String], entries: &[Arc<Entry>]) -> Result<(), StoreError> {
        let sync = self.durability() != Durability::None;
        let is_deferred = sync && self.defers_sync();
        let span = self.append_to_log(&lines.join("\n"), sync && !is_deferred)?;
        if span.offset != self.known.end() || !self.push_all(span, lines, entries) {
            self.read_back(span)?;
        }
        if is_deferred {
            self.syncs.note(span, self.leaf.as_ref());
        }
        Ok(())
    }

    /// Takes note of lines that were just written; `false` if the log has to be read for that.
    fn push_all(&mut self, span: Span, lines: &[String], entries: &[Arc<Entry>]) -> bool {
        let mut offset = span.offset;
        lines.iter().zip(entries).all(|(line, entry)| {
            let own = Span { offset, length: line.len() as u64 };
            offset = own.end() + 1;
            let is_known = self.known.push_written(own, entry);
            if is_known {
                self.cache().insert(own.offset, entry);
            }
            is_known
        })
    }
}
