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

/// Reserve, kept tail and threshold for one window, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectiveLimits {
    /// Tokens that stay free for the answer and the summary.
    pub reserve_tokens: u64,
    /// Tokens of recent context that stay verbatim.
    pub keep_recent_tokens: u64,
    /// The window minus the reserve, or the percentage of the window, whichever is less. Compact above
    /// this number of tokens.
    pub threshold: u64,
    /// Whether a number was scaled down to the window.
    pub is_scaled: bool,
}

impl EffectiveLimits {
    /// Fits `settings` to `window`, in tokens, by the rules of docs/triggers.md, "Threshold". The result of a compaction
    /// must be under the threshold, or the next answer would trigger again.
    pub fn for_window(window: u64, settings: &CompactionSettings) -> Self {
        let CompactionSettings { reserve_tokens: reserve, keep_recent_tokens: keep, .. } = *settings;
        let has_room = reserve <= window / 2 && keep < window - reserve;
        let fitted = if has_room { reserve } else { reserve.min(window / 4) };
        let by_reserve = window - fitted;
        let threshold =
            settings.threshold_percent.map_or(by_reserve, |part| percent(window, part).max(1).min(by_reserve));
        let reserve_tokens = if threshold < by_reserve { fitted.min(threshold / 3) } else { fitted };
        let largest_summary = reserve_tokens - reserve_tokens / 5;
        let room = threshold.saturating_sub(largest_summary);
        let keep_recent_tokens = keep.min(room - room / 4);
        Self {
            reserve_tokens,
            keep_recent_tokens,
            threshold,
            is_scaled: reserve_tokens != reserve || keep_recent_tokens != keep,
        }
    }
}

/// `part` percent of `whole`, rounded down. Parts over 100 count as 100, so nothing overflows.
fn percent(whole: u64, part: u64) -> u64 {
    let part = part.min(100);
    whole / 100 * part + whole % 100 * part / 100
}
