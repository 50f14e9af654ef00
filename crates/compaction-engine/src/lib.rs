//! What a compaction is, apart from any wire.

pub mod breaker;
pub mod redaction;
