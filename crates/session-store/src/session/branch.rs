//! Paths from a leaf to its root.

use std::collections::HashSet;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryHeader, EntryId, EntryKind};
use compaction_core::projection::Branch;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::StoreError;
use crate::session::Session;

/// A path, seen from its leaf, that reads headers from the index and bodies when they are asked
/// for. It ends at a missing parent and where it would repeat, and says so.
///
/// Project `&mut branch` to keep the diagnostics.
#[derive(Debug)]
pub struct SessionBranch<'a> {
    session: &'a Session,
    walk: Walk<'a>,
    /// Places of the entries that were walked over, the leaf first.
    walked: Vec<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl SessionBranch<'_> {
    /// What was odd about the part of the path that was read so far.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn slot_at(&mut self, depth: usize) -> Option<usize> {
        while self.walked.len() <= depth {
            match self.walk.next() {
                Some(slot) => self.walked.push(slot),
                None => {
                    self.report_end();
                    return None;
                }
            }
        }
        Some(self.walked[depth])
    }

    fn report_end(&mut self) {
        if let Some(diagnostic) = self.walk.end() {
            self.report(diagnostic);
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    fn report_broken(&mut self, slot: usize) {
        let record = &self.session.index.records()[slot];
        let message = format!("the body of entry {} is broken; the context does without it", record.id);
        self.report(Diagnostic::new(DiagnosticKind::BrokenLine, Some(record.line), message));
    }
}

impl Branch for SessionBranch<'_> {
    type Error = StoreError;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, StoreError> {
        let Some(slot) = self.slot_at(depth) else {
            return Ok(None);
        };
        let mut header = self.session.index.records()[slot].header();
        // A compaction that cannot be read must not hide what lies before it.
        if header.kind == EntryKind::Compaction && self.entry(depth)?.kind() != EntryKind::Compaction {
            header.kind = EntryKind::Other;
        }
        Ok(Some(header))
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, StoreError> {
        let slot = self.walked[depth];
        match self.session.entry_at(slot) {
            Err(StoreError::BrokenEntry { .. }) => {
                self.report_broken(slot);
                self.session.stand_in(slot).map(Arc::new)
            }
            outcome => outcome,
        }
    }
}

impl Branch for &mut SessionBranch<'_> {
    type Error = StoreError;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, StoreError> {
        (**self).header(depth)
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, StoreError> {
        (**self).entry(depth)
    }
}

impl Session {
    /// The path from `leaf` to its root; `None` is the empty path before the first entry. The leaf
    /// of the session is [`Session::leaf_id`].
    ///
    /// Fails with `EntryNotFound`.
    pub fn branch(&self, leaf: Option<&EntryId>) -> Result<SessionBranch<'_>, StoreError> {
        Ok(SessionBranch { session: self, walk: self.walk(leaf)?, walked: Vec::new(), diagnostics: Vec::new() })
    }

    /// The entries of the path to `leaf`, root first; broken ones as in [`Session::entries`].
    pub fn branch_entries(&self, leaf: Option<&EntryId>) -> Result<Vec<Arc<Entry>>, StoreError> {
        self.branch_slots(leaf)?.into_iter().map(|slot| self.entry_or_header(slot)).collect()
    }

    /// The ids of the path to `leaf`, root first. Reads no bodies.
    pub fn branch_ids(&self, leaf: Option<&EntryId>) -> Result<Vec<EntryId>, StoreError> {
        let slots = self.branch_slots(leaf)?;
        Ok(slots.into_iter().map(|slot| self.index.records()[slot].id.clone()).collect())
    }

    /// Whether `id` lies on the path to `leaf`, the leaf included. Fails with `EntryNotFound` for
    /// the leaf.
    pub fn is_on_branch(&self, id: &EntryId, leaf: Option<&EntryId>) -> Result<bool, StoreError> {
        let Some(wanted) = self.index.slot(id.as_str()) else {
            return Ok(false);
        };
        Ok(self.walk(leaf)?.any(|slot| slot == wanted))
    }

    /// The deepest entry that lies on the paths to both leaves; `None` if they share nothing. Fails
    /// with `EntryNotFound`.
    pub fn common_ancestor(&self, a: Option<&EntryId>, b: Option<&EntryId>) -> Result<Option<EntryId>, StoreError> {
        let path: HashSet<usize> = self.walk(a)?.collect();
        let common = self.walk(b)?.find(|slot| path.contains(slot));
        Ok(common.map(|slot| self.index.records()[slot].id.clone()))
    }

    /// Places of the path to `leaf`, root first.
    pub(crate) fn branch_slots(&self, leaf: Option<&EntryId>) -> Result<Vec<usize>, StoreError> {
        let mut slots: Vec<usize> = self.walk(leaf)?.collect();
        slots.reverse();
        Ok(slots)
    }

    pub(crate) fn walk(&self, leaf: Option<&EntryId>) -> Result<Walk<'_>, StoreError> {
        let next = leaf.map(|leaf| self.slot(leaf)).transpose()?;
        Ok(Walk { session: self, next, last: None, seen: HashSet::new() })
    }
}

/// Walks from a leaf to the root, over each entry once.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    session: &'a Session,
    next: Option<usize>,
    last: Option<usize>,
    /// Kept only where the file has cycles.
    seen: HashSet<usize>,
}

impl Iterator for Walk<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let slot = self.next?;
        let index = &self.session.index;
        if index.has_cycle && !self.seen.insert(slot) {
            return None;
        }
        self.last = Some(slot);
        self.next = index.parent_slot(slot);
        Some(slot)
    }
}

impl Walk<'_> {
    /// Why the path ended where it did, if that is not at a root.
    fn end(&self) -> Option<Diagnostic> {
        let record = &self.session.index.records()[self.last?];
        let parent_id = record.parent_id.as_ref()?;
        let (kind, what) = match self.next {
            Some(_) => (DiagnosticKind::Cycle, "is its own ancestor; its branch ends where it would repeat".to_owned()),
            None => {
                let what =
                    format!("has the parent {parent_id}, which is not in the file; what came before is lost to it");
                (DiagnosticKind::MissingParent, what)
            }
        };
        Some(Diagnostic::new(kind, Some(record.line), format!("entry {} {what}", record.id)))
    }
}
