//! Compaction settings, in the form that the pure functions take.

/// When to compact and how much to keep (docs/preparation.md, "Settings").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether automatic compaction is on.
    pub enabled: bool,
    /// Tokens of the window that stay free for the answer and the summary request.
    pub reserve_tokens: u64,
    /// Tokens of recent context that stay verbatim.
    pub keep_recent_tokens: u64,
    /// Compact above this percentage of the window, if that is less than the window minus the reserve.
    /// `None` uses the reserve alone.
    pub threshold_percent: Option<u64>,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000, threshold_percent: None }
    }
}
