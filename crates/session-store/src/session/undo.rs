//! Undoing a compaction: restores the branch without it.
//!
//! An undo is one write of several entries. If the process is killed during the write, the last whole line of the
//! file is on a branch that lacks the last entries. The leaf is then the one that the undo was about to leave: all
//! copies count, or none.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryId, EntryKind};
use compaction_core::projection::Branch;
use compaction_core::undo::{self, Mark};

use crate::error::StoreError;
use crate::header::now;
use crate::index::Record;
use crate::index::lazy::Position;
use crate::log::Span;
use crate::session::Session;
use crate::session::append::{Appended, NewEntry, Parent, Precondition};

/// The plan of an undo: a compaction, and the entries after it.
#[derive(Debug)]
pub struct Undo {
    /// The compaction.
    pub compaction_id: EntryId,
    /// The entry before it, where the new branch starts.
    parent_id: Option<EntryId>,
    /// The leaf before the undo.
    pub leaf_id: EntryId,
    /// Id of the entry that marks the undo.
    mark_id: EntryId,
    /// The entries after it on the path, oldest first, each with the id of its copy.
    pub replayed: Vec<(EntryId, EntryId)>,
}

impl Session {
    /// Plans to undo a compaction on the path to the leaf: the one with this id, or the last one.
    /// `None` if there is no such compaction on the path.
    pub fn plan_undo(&self, compaction_id: Option<&EntryId>) -> Result<Option<Undo>, StoreError> {
        let Some(leaf_id) = self.leaf_id().cloned() else {
            return Ok(None);
        };
        let mut branch = self.branch(Some(&leaf_id))?;
        let mut later = Vec::new();
        while let Some(header) = branch.header(later.len())? {
            if header.kind == EntryKind::Compaction && compaction_id.is_none_or(|id| *id == header.id) {
                let mut ids = self.new_ids(later.len() + 1);
                let mark_id = ids.pop().unwrap_or_else(|| self.new_entry_id());
                let replayed = later.into_iter().rev().zip(ids).collect();
                let (compaction_id, parent_id) = (header.id, header.parent_id);
                return Ok(Some(Undo { compaction_id, parent_id, leaf_id, mark_id, replayed }));
            }
            later.push(header.id);
        }
        Ok(None)
    }

    /// Undoes a compaction. Appends a mark after the entry before the compaction, and then a copy of each entry that
    /// follows it, with one write. The last one is the leaf. Copies have new ids, also in references to each other,
    /// and the present time. Everything else is unchanged.
    ///
    /// Fails with `LeafMoved` if the leaf is not the one of the plan, with `BrokenEntry` where an
    /// entry cannot be copied, and as [`Session::append_all`] does.
    pub fn undo(&mut self, undo: &Undo) -> Result<Appended, StoreError> {
        let mut new_ids: HashMap<EntryId, EntryId> = undo.replayed.iter().cloned().collect();
        new_ids.insert(undo.compaction_id.clone(), undo.mark_id.clone());
        let mark = Mark {
            from_id: undo.leaf_id.clone(),
            undone_entry_id: undo.compaction_id.clone(),
            entries: undo.replayed.len(),
        };
        let mut lines = vec![("custom".to_owned(), undo.mark_id.clone(), mark.members())];
        for (id, copy_id) in &undo.replayed {
            let entry = self.entry(id)?;
            let members = self.copied_members(&entry, &new_ids)?;
            lines.push((entry.kind_name().to_owned(), copy_id.clone(), members));
        }
        let timestamp = Some(now());
        let new: Vec<NewEntry<'_>> = lines
            .iter()
            .map(|(kind, id, members)| NewEntry { id: Some(id.clone()), timestamp, ..NewEntry::new(kind, members) })
            .collect();
        let condition = Precondition::LeafIs(Some(undo.leaf_id.clone()));
        self.append_all(&new, Parent::At(undo.parent_id.clone()), &condition)
    }

    fn copied_members(&self, entry: &Arc<Entry>, new_ids: &HashMap<EntryId, EntryId>) -> Result<String, StoreError> {
        undo::copied_members(entry, new_ids).map_err(|error| StoreError::InvalidEntry {
            reason: format!("entry {} cannot be copied: {error}", entry.id()),
        })
    }

    /// `count` distinct new ids.
    fn new_ids(&self, count: usize) -> Vec<EntryId> {
        let mut taken = HashSet::new();
        let ids = std::iter::repeat_with(|| self.new_entry_id());
        ids.filter(|id| taken.insert(id.clone())).take(count).collect()
    }
}

/// Type, id, parent and timestamp are within this number of bytes, as this program writes them.
const HEADER_BYTES: u64 = 512;

impl Session {
    /// The leaf before an interrupted undo, if `last`, the last entry of the file, is one of its copies and some are
    /// missing.
    ///
    /// The lines of one undo are adjacent, each the parent of the next, and have the same timestamp. Two short reads
    /// show that the last line is not one of them.
    pub(super) fn leaf_before_interrupted_undo(&self, last: &EntryId) -> Result<Option<EntryId>, StoreError> {
        let Some(mut slot) = self.find(last)? else {
            return Ok(None);
        };
        let mut record = self.record(slot)?;
        let Some(time) = self.own_timestamp(&record)? else {
            return Ok(None);
        };
        let mut marked: Option<(Mark, usize)> = None;
        for copies in 0.. {
            // A copied mark of an older undo comes after the one that began the write.
            if record.kind == EntryKind::Custom
                && let Some(mark) = self.parse(&record).ok().and_then(|entry| Mark::of(&entry))
            {
                marked = Some((mark, copies));
            }
            if !self.is_parent_known(slot, &record) {
                // At the mark itself, the parent gives no more information.
                marked = marked.filter(|(_, before)| *before == copies);
                break;
            }
            let Some(parent) = self.parent(slot)? else { break };
            let before = self.record(parent)?;
            let follows = before.span.end() + 1 == record.span.offset;
            if !follows || self.own_timestamp(&before)?.as_deref() != Some(&*time) {
                break;
            }
            (slot, record) = (parent, before);
        }
        let interrupted = marked.filter(|(mark, copies)| mark.entries > *copies);
        let Some((mark, _)) = interrupted else {
            return Ok(None);
        };
        Ok(self.find(&mark.from_id)?.map(|_| mark.from_id))
    }

    /// Whether the parent is known without reading more of a large session. The last line here is whole, and an
    /// interrupted write hardly ever ends between two lines, so more reads are not worth it. A session that ends in a
    /// torn line is read completely anyway.
    fn is_parent_known(&self, slot: Position, record: &Record) -> bool {
        let tail = self.known.tail().filter(|_| matches!(slot, Position::Tail(_)));
        tail.is_none_or(|tail| record.parent_id.as_ref().is_some_and(|id| tail.slot(id).is_some()))
    }

    /// The timestamp of a line, if this program wrote it.
    fn own_timestamp(&self, record: &Record) -> Result<Option<String>, StoreError> {
        let span = Span { offset: record.span.offset, length: record.span.length.min(HEADER_BYTES) };
        let bytes = self.log.read(span).map_err(|source| self.read_error(source))?;
        let line = String::from_utf8_lossy(&bytes);
        let is_own = line.starts_with("{\"type\":\"");
        let after = line.split_once(",\"timestamp\":\"").filter(|_| is_own);
        Ok(after.and_then(|(_, after)| Some(after.split_once('"')?.0.to_owned())))
    }
}
