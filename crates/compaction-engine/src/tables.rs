//! Tables that the first summary of a process needs.

use std::ops::RangeInclusive;
use std::sync::Once;
use std::thread;

use compaction_core::ledger;

use crate::redaction::Redactor;

/// Estimated tokens of a context that is likely to be compacted later. A longer context fits no model, and may take most
/// of the memory.
const LONG_CONTEXT: RangeInclusive<u64> = 20_000..=2_000_000;

/// Calls [`build_ahead`] for a context of 20,000 to 2,000,000 tokens. While the model reads such a context, this process
/// has nothing to do, and a compaction may follow.
pub fn build_ahead_of(context_tokens: u64) {
    if LONG_CONTEXT.contains(&context_tokens) {
        build_ahead();
    }
}

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
