//! How records hang together, and where they do not.

use crate::diagnostic::DiagnosticKind;
use crate::index::{Index, Record};

impl Index {
    /// Reports missing parents and cycles among the records that came since the last check.
    pub(super) fn check_links(&mut self) {
        for slot in self.linked..self.records.len() {
            let record = &self.records[slot];
            let Some(parent_id) = record.parent_id.as_ref().filter(|_| !record.is_superseded) else {
                continue;
            };
            match self.slot(parent_id.as_str()) {
                Some(parent) => self.may_have_cycle |= parent >= slot,
                None => self.report_missing_parent(slot),
            }
        }
        self.linked = self.records.len();
        if std::mem::take(&mut self.may_have_cycle) {
            self.find_cycles();
        }
    }

    fn report_missing_parent(&mut self, slot: usize) {
        let Record { id, parent_id: Some(parent_id), line, .. } = &self.records[slot] else { return };
        let message = format!("entry {id} has the parent {parent_id}, which is not in the file");
        self.awaited.insert(parent_id.clone());
        self.report(DiagnosticKind::MissingParent, *line, message);
    }

    /// Follows every path to its root or to an entry that was followed before; one that comes back
    /// to itself is a cycle.
    fn find_cycles(&mut self) {
        self.has_cycle = false;
        let mut followed = vec![usize::MAX; self.records.len()];
        for start in 0..self.records.len() {
            let mut next = Some(start);
            while let Some(slot) = next.filter(|&slot| followed[slot] == usize::MAX) {
                followed[slot] = start;
                next = self.parent_slot(slot);
            }
            if let Some(slot) = next.filter(|&slot| followed[slot] == start) {
                self.has_cycle = true;
                let Record { id, line, .. } = &self.records[slot];
                let message = format!("entry {id} is its own ancestor; its branch ends where it would repeat");
                self.report(DiagnosticKind::Cycle, *line, message);
            }
        }
    }
}
