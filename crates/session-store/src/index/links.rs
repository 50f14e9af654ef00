//! How records hang together, and where they do not.

use crate::diagnostic::DiagnosticKind;
use crate::index::Index;

impl Index {
    /// Reports missing parents and cycles among the records that came since the last check.
    pub(super) fn check_links(&mut self) {
        if std::mem::take(&mut self.has_stale_links) {
            self.forget_links();
        }
        for slot in self.linked..self.records.len() {
            let packed = &self.records[slot];
            let Some(parent) = packed.parent.filter(|_| !packed.is_superseded) else {
                continue;
            };
            // Most entries hang on the one before them. If a later one has taken its id, that has
            // told to look for cycles.
            if slot > 0 && self.records[slot - 1].id == parent {
                continue;
            }
            match self.slot_of(parent) {
                Some(parent) => self.may_have_cycle |= parent >= slot,
                None => self.report_missing_parent(slot),
            }
        }
        self.linked = self.records.len();
        self.has_later_parents |= self.may_have_cycle;
        if std::mem::take(&mut self.may_have_cycle) {
            self.find_cycles();
        }
    }

    /// Drops what the last checks found, since an entry that came later is a parent that was missing, or
    /// replaces another entry.
    fn forget_links(&mut self) {
        let Self { records, diagnostics, missing_parents, .. } = self;
        let named_parent = |line: usize| {
            let slot = records.binary_search_by_key(&line, |record| record.line as usize);
            slot.is_ok_and(|slot| records[slot].parent.is_some())
        };
        diagnostics.remove(DiagnosticKind::MissingParent, *missing_parents, named_parent);
        diagnostics.settle();
        *missing_parents = 0;
        self.awaited.clear();
        self.linked = 0;
        self.may_have_cycle = true;
    }

    fn report_missing_parent(&mut self, slot: usize) {
        let packed = self.records[slot];
        let Some(parent) = packed.parent else { return };
        let (id, parent_id) = (self.ids.id(packed.id), self.ids.id(parent));
        self.awaited.insert(parent);
        self.missing_parents += 1;
        let message = format!("entry {id} has the parent {parent_id}, which is not in the file");
        self.report(DiagnosticKind::MissingParent, packed.line as usize, message);
    }

    /// Follows every path to its root or to an entry that was followed before; one that comes back
    /// to itself is a cycle.
    fn find_cycles(&mut self) {
        self.has_cycle = false;
        self.diagnostics.remove_kind(DiagnosticKind::Cycle);
        let mut followed = vec![u32::MAX; self.records.len()];
        for start in 0..self.records.len() as u32 {
            let mut next = Some(start as usize);
            while let Some(slot) = next.filter(|&slot| followed[slot] == u32::MAX) {
                followed[slot] = start;
                next = self.parent_slot(slot);
            }
            if let Some(slot) = next.filter(|&slot| followed[slot] == start) {
                self.has_cycle = true;
                let message =
                    format!("entry {} is its own ancestor; its branch ends where it would repeat", self.id(slot));
                self.report(DiagnosticKind::Cycle, self.records[slot].line as usize, message);
            }
        }
    }
}
