//! Tables that the first summary of a process needs.

use std::sync::Once;
use std::thread;

use compaction_core::{ledger, tools};

use crate::redaction::Redactor;

/// Tokens from which on a context is long, where the window of its model is not known.
const LONG_CONTEXT: u64 = 100_000;

/// [`build_ahead`], if a compaction of a context of so many tokens is near: three quarters of its window are full. A session
/// that stays far from its first compaction pays nothing. A `context_window` of zero is unknown.
pub fn build_if_near(tokens: u64, context_window: u64) {
    let least = if context_window == 0 { LONG_CONTEXT } else { context_window / 4 * 3 };
    if tokens >= least {
        build_ahead();
    }
}

/// Builds the tables that the first summary of a process needs, on a thread of its own, because another core is often idle
/// before: the table of tools, the automata of redaction and the words of ledgers. This takes some milliseconds and happens
/// once. Without a thread they are built where they are needed.
pub fn build_ahead() {
    static BUILDING: Once = Once::new();
    BUILDING.call_once(|| {
        let build = || {
            // In the order in which a compaction needs them.
            tools::build_table();
            Redactor::shared().build_tables();
            ledger::build_tables();
        };
        // A system that gives no thread has no idle core either.
        drop(thread::Builder::new().name("tables".to_owned()).spawn(build));
    });
}
