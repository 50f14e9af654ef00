//! How records hang together, and where they do not.

use crate::diagnostic::DiagnosticKind;
use crate::index::Index;

impl Index {
    /// Reports missing parents and cycles among the records that came since the last check.
    pub(super) fn check_links(&mut self) {
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

    fn report_missing_parent(&mut self, slot: usize) {
        let packed = self.records[slot];
        let Some(parent) = packed.parent else { return };
        let (id, parent_id) = (self.ids.id(packed.id), self.ids.id(parent));
        self.awaited.insert(parent);
        let message = format!("entry {id} has the parent {parent_id}, which is not in the file");
        self.report(DiagnosticKind::MissingParent, packed.line as usize, message);
    }

    /// Follows every path to its root or to an entry that was followed before; one that comes back
    /// to itself is a cycle.
    fn find_cycles(&mut self) {
        self.has_cycle = false;
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
