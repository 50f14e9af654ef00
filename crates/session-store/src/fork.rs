//! Forks: one path of a session as a session of its own (docs/session-format.md, "Forks").
//!
//! Lines are copied byte for byte, unless they refer to a label that is left out. Labels are set again after the
//! path, with their ids and timestamps, if their targets are on it.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use compaction_core::entry::{EntryError, EntryId, EntryKind, iso_timestamp};
use compaction_core::json::{self, RawObject};

use crate::error::StoreError;
use crate::header::SessionHeader;
use crate::header::{self, now};
use crate::index::Index;
use crate::index::lazy::Position;
use crate::log::Locator;
use crate::session::Session;
use crate::session::upgrade::LosslessText;

/// The plan of a fork.
#[derive(Debug)]
pub(crate) struct Fork<'a> {
    source: &'a Session,
    /// The whole index of the source, because labels can be anywhere in it.
    index: &'a Index,
    header: SessionHeader,
    /// Slots of the entries of the path without labels, root first.
    kept: Vec<usize>,
    /// Slots of the label entries that are set again, in order.
    labels: Vec<usize>,
    /// Replacements for labels of the path: the next entry that is kept, or the last one.
    stand_ins: HashMap<EntryId, EntryId>,
}

/// Why a fork could not be written.
#[derive(Debug)]
pub(crate) enum ForkError {
    Source(StoreError),
    Write(io::Error),
}

impl ForkError {
    pub(crate) fn into_store_error(self, locator: Option<Locator>) -> StoreError {
        match self {
            Self::Source(error) => error,
            Self::Write(source) => StoreError::write(locator, source),
        }
    }
}

impl From<StoreError> for ForkError {
    fn from(error: StoreError) -> Self {
        Self::Source(error)
    }
}

impl From<io::Error> for ForkError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl Session {
    /// The text of a new session with the path from the root to `leaf`, or with no entries for `None`. Stores without
    /// files write it for [`crate::SessionStore::fork`]. Fails as that does.
    pub fn fork_text(&self, leaf: Option<&EntryId>) -> Result<Vec<u8>, StoreError> {
        let mut text = Vec::new();
        Fork::new(self, leaf)?.write(&mut text).map_err(|error| error.into_store_error(None))?;
        Ok(text)
    }
}

impl<'a> Fork<'a> {
    /// Plans the fork of the path to `leaf`. Fails with `EntryNotFound`, or with `ReadOnly` for a source of a newer
    /// version, because its lines may have another meaning under the header of a fork.
    pub(crate) fn new(source: &'a Session, leaf: Option<&EntryId>) -> Result<Self, StoreError> {
        let index = source.index()?;
        if index.is_newer_version {
            let reason = format!("it would be a copy of version {}, which is not known here", source.header().version);
            return Err(StoreError::ReadOnly { locator: source.locator().cloned(), reason });
        }
        let path: Vec<usize> = source.branch_slots(leaf)?.into_iter().filter_map(Position::whole).collect();
        let kept: Vec<usize> = path.iter().copied().filter(|&slot| !is_label(index, slot)).collect();
        let stand_ins = stand_ins(index, &path);
        let labels = labels_to_set(index, &kept, &stand_ins);
        let parent = source.locator().map(Locator::to_string);
        let id = header::session_id(None)?;
        let cwd = &source.header().cwd;
        let header = SessionHeader::new(&id, &iso_timestamp(now()), cwd, parent.as_deref());
        Ok(Self { source, index, header, kept, labels, stand_ins })
    }

    /// The header of the fork.
    pub(crate) fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Writes the whole fork.
    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<(), ForkError> {
        writeln!(out, "{}", self.header.raw.get())?;
        let mut parent: Option<EntryId> = None;
        for &slot in self.kept.iter().chain(&self.labels) {
            let line = self.line(slot, parent.as_ref())?;
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            parent = Some(self.index.id(slot));
        }
        Ok(())
    }

    /// The line of an entry whose parent is now `parent`. The first entry keeps its stored parent: if that is
    /// missing, the fork reports it as its source does.
    fn line(&self, slot: usize, parent: Option<&EntryId>) -> Result<Vec<u8>, StoreError> {
        let record = self.index.record(slot);
        let line = self.source.line_bytes(&record)?;
        let named = record.parent_id.as_ref();
        let is_parent_kept = named == parent || named.is_some_and(|id| self.index.slot(id.as_str()).is_none());
        let reference = reference_member(record.kind).filter(|_| !self.stand_ins.is_empty());
        if is_parent_kept && reference.is_none() {
            return Ok(line);
        }
        let text = LosslessText::new(line.clone());
        let parsed = RawObject::parse(text.as_str().trim_ascii()).map_err(EntryError::NotAnObject);
        let mut object = parsed.or_else(|source| Err(self.source.broken(&record, source)?))?;
        if !is_parent_kept {
            object.set("parentId", parent.map_or_else(|| "null".to_owned(), |id| json::encode_string(id.as_str())));
        }
        let named = reference.and_then(|member| object.string(member));
        match named.and_then(|named| self.stand_ins.get(&*named)).zip(reference) {
            Some((stand_in, member)) => object.set(member, json::encode_string(stand_in.as_str())),
            None if is_parent_kept => return Ok(line),
            None => {}
        }
        Ok(text.bytes_of(object.to_json()))
    }
}

fn is_label(index: &Index, slot: usize) -> bool {
    index.kind(slot) == EntryKind::Label
}

/// The member by which entries of a kind refer to another entry, besides their parent. An edit of a label has no
/// effect, and must not affect the replacement of the label.
fn reference_member(kind: EntryKind) -> Option<&'static str> {
    match kind {
        EntryKind::Compaction => Some("firstKeptEntryId"),
        EntryKind::BranchSummary => Some("fromId"),
        EntryKind::Label => Some("targetId"),
        _ => None,
    }
}

/// The replacement of each label of the path.
fn stand_ins(index: &Index, path: &[usize]) -> HashMap<EntryId, EntryId> {
    let last = path.iter().rev().copied().find(|&slot| !is_label(index, slot));
    let mut next = last;
    let mut stand_ins = HashMap::new();
    for &slot in path.iter().rev() {
        if !is_label(index, slot) {
            next = Some(slot);
        } else if let Some(next) = next {
            stand_ins.insert(index.id(slot), index.id(next));
        }
    }
    stand_ins
}

/// The entries that set the current labels of kept entries, on whatever branch they are. Labels of labels come first.
fn labels_to_set(index: &Index, kept: &[usize], stand_ins: &HashMap<EntryId, EntryId>) -> Vec<usize> {
    let kept: HashSet<EntryId> = kept.iter().map(|&slot| index.id(slot)).collect();
    let comes_along = |target: &EntryId| kept.contains(target) || stand_ins.contains_key(target);
    let labels = index.labels.iter().filter(|(target, _)| comes_along(target));
    // The label of a label must not override the label of its replacement.
    let mut slots: Vec<_> = labels.map(|(target, label)| (kept.contains(target), label.slot)).collect();
    slots.sort_unstable();
    slots.into_iter().map(|(_, slot)| slot).collect()
}
