//! Counts of what earlier stored ledgers left out, so that forgotten items count as lost.

use std::collections::BTreeMap;

/// How many items of each list, by its stored name, the compactions of the branch did not store.
/// Statements count sentence by sentence. Only requests that ask for something count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut(BTreeMap<&'static str, u64>);

impl LeftOut {
    /// How many items of a list were left out.
    pub fn of(&self, list: &str) -> u64 {
        self.0.get(list).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, list: &'static str, count: u64) {
        if count > 0 {
            let known = self.0.entry(list).or_default();
            *known = known.saturating_add(count);
        }
    }
}
