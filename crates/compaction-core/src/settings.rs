//! Settings of compaction, as the pure functions take them.

/// When to compact and how much to keep (docs/preparation.md, "Settings").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether compaction may start by itself.
    pub enabled: bool,
    /// Tokens of the window that stay free for the answer and the summary request.
    pub reserve_tokens: u64,
    /// Tokens of recent context that stay verbatim.
    pub keep_recent_tokens: u64,
    /// Part of the window, in percent, over which to compact, if that is less than what the reserve
    /// leaves; `None` for the reserve alone.
    pub threshold_percent: Option<u64>,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000, threshold_percent: None }
    }
}
