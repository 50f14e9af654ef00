//! Undoing a compaction: a new branch starts where the compaction did, with copies of what
//! followed it. Nothing is taken away; the old branch stays.
//!
//! A mark comes first on the new branch. It stands for the compaction where copies name that, and
//! it tells how many copies follow it, since their usage was measured in another context.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::entry::{Entry, EntryBody, EntryId, EntryKind};
use crate::json::{self, Json, NotAnObject, RawObject};
use crate::pins;
use crate::projection::{ProjectedEntry, Projection};

/// Custom type of the entry that begins the branch of an undone compaction.
pub const MARK: &str = "compactd.undo";

/// The mark of an undone compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The leaf that was left.
    pub from_id: EntryId,
    /// The compaction.
    pub undone_entry_id: EntryId,
    /// Copies that were made, one behind the other. A branch may have left them before the last one.
    pub entries: usize,
}

impl Mark {
    /// The members of the `custom` entry that is the mark.
    pub fn members(&self) -> String {
        let text = |id: &EntryId| json::encode_string(id.as_str());
        format!(
            "{{\"customType\":\"{MARK}\",\"data\":{{\"fromId\":{},\"undoneEntryId\":{},\"entries\":{}}}}}",
            text(&self.from_id),
            text(&self.undone_entry_id),
            self.entries
        )
    }

    /// Reads a mark; `None` for any other entry, or one that is no whole mark.
    pub fn of(entry: &Entry) -> Option<Self> {
        let EntryBody::Custom { custom_type, data: Some(data) } = entry.body() else {
            return None;
        };
        if custom_type != MARK {
            return None;
        }
        let data = Json::parse(data.get()).ok()?;
        let id = |key: &str| data.get(key).and_then(Json::as_str).map(EntryId::new);
        let entries = data.get("entries").and_then(Json::as_f64)?;
        Some(Self { from_id: id("fromId")?, undone_entry_id: id("undoneEntryId")?, entries: entries as usize })
    }
}

/// The members of a copy of `entry`: those that it has, byte for byte, but where they name an entry
/// that `new_ids` has another id for. `type`, `id`, `parentId` and `timestamp` are for the writer of
/// the copy to give.
///
/// Fails if the entry's line is no JSON object.
pub fn copied_members(entry: &Entry, new_ids: &HashMap<EntryId, EntryId>) -> Result<String, NotAnObject> {
    let line = entry.line();
    let mut object = RawObject::parse(&line)?;
    let renamed = |name: Option<String>| new_ids.get(name?.as_str()).map(|id| json::encode_string(id.as_str()));
    match entry.body() {
        EntryBody::Custom { custom_type, data: Some(data) } if custom_type == pins::PIN => {
            if let Ok(mut data) = RawObject::parse(data.get())
                && let Some(id) = renamed(data.string("entryId"))
            {
                data.set("entryId", id);
                object.set("data", data.to_json());
            }
        }
        _ => {
            let member = reference_member(entry.kind());
            if let Some((member, id)) = member.and_then(|member| Some((member, renamed(object.string(member))?))) {
                object.set(member, id);
            }
        }
    }
    Ok(object.to_json())
}

/// The member by which entries of a kind name another one, beside their parent.
fn reference_member(kind: EntryKind) -> Option<&'static str> {
    match kind {
        EntryKind::Compaction => Some("firstKeptEntryId"),
        EntryKind::BranchSummary => Some("fromId"),
        EntryKind::ContextEdit | EntryKind::Label => Some("targetId"),
        _ => None,
    }
}

/// The depths of a context at which copies lie that were made when compactions were undone.
///
/// Their usage tells of the context that a compaction had made small, so that it is not believed on
/// the branch where that context is whole again.
#[derive(Debug, Clone, Default)]
pub struct CopiedDepths(Vec<Range<usize>>);

impl CopiedDepths {
    /// Finds the copies of a context. A mark tells how many were made; the branch may have left them
    /// before the last one, or be itself a copy of a branch that had, so that only those count that
    /// follow the mark and have its time: all of them were one write.
    pub fn of(projection: &Projection) -> Self {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut open: Option<(&ProjectedEntry, usize)> = None;
        for projected in projection.entries() {
            let is_copy = |(mark, copies): (&ProjectedEntry, usize)| {
                mark.depth <= projected.depth.saturating_add(copies)
                    && projected.entry.timestamp() == mark.entry.timestamp()
            };
            if let (true, Some(range)) = (open.is_some_and(is_copy), ranges.last_mut()) {
                range.start = projected.depth;
                continue;
            }
            open = Mark::of(&projected.entry).map(|mark| (projected, mark.entries));
            ranges.extend(open.map(|_| projected.depth..projected.depth));
        }
        Self(ranges)
    }

    pub(crate) fn contain(&self, depth: usize) -> bool {
        self.0.iter().any(|range| range.contains(&depth))
    }

    /// The depth of the newest mark or copy; what lies below it came after the last undo.
    pub fn newest(&self) -> Option<usize> {
        self.0.iter().map(|range| range.start).min()
    }
}

/// The compaction to undo on a path (root first): the one with this id, or the last one. Returns its
/// position; `None` if the path has no such compaction.
pub fn find_compaction(path: &[Arc<Entry>], id: Option<&EntryId>) -> Option<usize> {
    let is_wanted = |entry: &Arc<Entry>| entry.kind() == EntryKind::Compaction && id.is_none_or(|id| id == entry.id());
    path.iter().rposition(is_wanted)
}
