//! Tables that the first summary of a process needs.

use std::sync::Once;
use std::thread;

use compaction_core::ledger;

use crate::redaction::Redactor;

/// Builds the tables that the first summary of a process needs, on a thread of its own, because another core is often idle
/// before: the automata of redaction and the words of ledgers. This takes some milliseconds and happens once. Without a
/// thread they are built where they are needed.
pub fn build_ahead() {
    static BUILDING: Once = Once::new();
    BUILDING.call_once(|| {
        let build = || {
            Redactor::shared().build_tables();
            ledger::build_tables();
        };
        // A system that gives no thread has no idle core either.
        drop(thread::Builder::new().name("tables".to_owned()).spawn(build));
    });
}
