//! Undoing a compaction: a new branch starts where the compaction did, with copies of the entries that
//! followed it. Nothing is removed; the old branch stays.
//!
//! A mark is the first entry of the new branch. Copies name it instead of the compaction. It says how
//! many copies follow, because their usage was measured in another context.

use std::collections::HashMap;
use std::ops::Range;

use crate::entry::{Entry, EntryBody, EntryId, EntryKind};
use crate::json::{self, Json, NotAnObject, RawObject};
use crate::pins;
use crate::projection::{ProjectedEntry, Projection};

/// Custom type of the first entry of the new branch.
pub const MARK: &str = "compactd.undo";

/// The mark of an undone compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The abandoned leaf.
    pub from_id: EntryId,
    /// The compaction.
    pub undone_entry_id: EntryId,
    /// Number of copies that were written. A branch may leave them before the last one.
    pub entries: usize,
}

impl Mark {
    /// The members of the mark's `custom` entry.
    pub fn members(&self) -> String {
        let text = |id: &EntryId| json::encode_string(id.as_str());
        format!(
            "{{\"customType\":\"{MARK}\",\"data\":{{\"fromId\":{},\"undoneEntryId\":{},\"entries\":{}}}}}",
            text(&self.from_id),
            text(&self.undone_entry_id),
            self.entries
        )
    }

    /// Reads a mark; `None` for other entries and incomplete marks.
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

/// The members of a copy of `entry`. They are copied byte for byte, except that ids in `new_ids` are
/// replaced. The writer of the copy sets `type`, `id`, `parentId` and `timestamp`.
///
/// Fails if the entry's line is not a JSON object.
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

/// The member, apart from the parent, with which entries of a kind refer to another entry.
fn reference_member(kind: EntryKind) -> Option<&'static str> {
    match kind {
        EntryKind::Compaction => Some("firstKeptEntryId"),
        EntryKind::BranchSummary => Some("fromId"),
        EntryKind::ContextEdit | EntryKind::Label => Some("targetId"),
        _ => None,
    }
}

/// The depths of copies in a context that undoing compactions made.
///
/// Their usage describes the context after the compaction, so it is not trusted on the branch where the
/// whole context is back.
#[derive(Debug, Clone, Default)]
pub struct CopiedDepths(Vec<Range<usize>>);

impl CopiedDepths {
    /// Finds the copies in a context. A mark says how many were written, but the branch may have left
    /// them early, or may be a copy of such a branch. So only entries that follow the mark and have its
    /// timestamp count: all copies were one write.
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

    /// The depth of the newest mark or copy. Entries with smaller depths came after the last undo.
    pub fn newest(&self) -> Option<usize> {
        self.0.iter().map(|range| range.start).min()
    }
}
