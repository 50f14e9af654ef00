//! An undo whose one write was cut short, as by a kill in its middle.
//!
//! Such a branch lacks what came last, and the last whole line of the file is on it. The leaf is then
//! the one that the undo was about to leave: either all copies count or none.

use compaction_core::entry::{EntryId, EntryKind};
use compaction_core::undo::Mark;

use crate::error::StoreError;
use crate::index::Record;
use crate::log::Span;
use crate::session::Session;
use crate::session::known::Slot;

/// Bytes of a line in which type, id, parent and timestamp stand, as this program writes them.
const HEADER_BYTES: u64 = 512;

impl Session {
    /// Where `last`, the last entry of the file, is one of too few copies: the leaf before the undo.
    ///
    /// The lines of one undo follow each other in the file, each the parent of the next, and have one
    /// time; two short reads tell that the last line is none of them.
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
            // A copied mark of an older undo comes behind the one that began the write.
            if record.kind == EntryKind::Custom
                && let Some(mark) = self.parse(&record).ok().and_then(|entry| Mark::of(&entry))
            {
                marked = Some((mark, copies));
            }
            if !self.is_parent_known(slot, &record) {
                // Where the mark itself is reached, that parent tells nothing more.
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

    /// Whether the parent can be had without reading more of a large session. Its last line is whole,
    /// so that a cut in the middle of an undo, which hardly ever falls between two lines, is not
    /// worth it; a session that ends in a torn line is read wholly anyway.
    fn is_parent_known(&self, slot: Slot, record: &Record) -> bool {
        let tail = self.known.tail().filter(|_| matches!(slot, Slot::Tail(_)));
        tail.is_none_or(|tail| record.parent_id.as_ref().is_some_and(|id| tail.slot(id).is_some()))
    }

    /// The timestamp of a line in the form that this program writes.
    fn own_timestamp(&self, record: &Record) -> Result<Option<String>, StoreError> {
        let span = Span { offset: record.span.offset, length: record.span.length.min(HEADER_BYTES) };
        let bytes = self.log.read(span).map_err(|source| self.read_error(source))?;
        let line = String::from_utf8_lossy(&bytes);
        let is_own = line.starts_with("{\"type\":\"");
        let after = line.split_once(",\"timestamp\":\"").filter(|_| is_own);
        Ok(after.and_then(|(_, after)| Some(after.split_once('"')?.0.to_owned())))
    }
}
