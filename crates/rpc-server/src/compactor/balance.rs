//! What a cut takes out of a context and what it leaves there, in tokens.

use compaction_core::entry::EntryId;
use compaction_core::message::Body;
use compaction_core::pins::Pins;
use compaction_core::projection::{ProjectedEntry, Projection};
use compaction_core::{system_state, tokens};

/// What a context weighs by the count of its provider and by estimates.
///
/// The provider counts more where prompt and tools lie outside of the session, or where the text
/// takes more tokens than estimates give it, as Chinese does. Which of them it is cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measure {
    /// As the provider counts; the estimate where nothing is known, or less.
    pub(crate) counted: u64,
    /// By estimates.
    pub(crate) estimated: u64,
}

impl Measure {
    /// Weighs a context.
    pub(crate) fn of(projection: &Projection) -> Self {
        let estimated = tokens::estimate_context(projection);
        Self { counted: tokens::context_tokens(projection).tokens.max(estimated), estimated }
    }

    /// What the provider would count for estimated `tokens`, rounded up.
    pub(crate) fn to_counted(self, tokens: u64) -> u64 {
        scale(tokens, self.counted, self.estimated, true)
    }

    /// The estimate of what the provider would count as `tokens`, rounded down.
    pub(crate) fn to_estimated(self, tokens: u64) -> u64 {
        scale(tokens, self.estimated, self.counted, false)
    }

    /// Tokens that the provider counts over the estimate.
    pub(super) fn excess(self) -> u64 {
        self.counted - self.estimated
    }
}

/// `tokens * to / from`; the same where there is nothing to compare.
fn scale(tokens: u64, to: u64, from: u64, rounds_up: bool) -> u64 {
    if to == from || from == 0 || to == 0 {
        return tokens;
    }
    let (product, from) = (u128::from(tokens) * u128::from(to), u128::from(from));
    let scaled = if rounds_up { product.div_ceil(from) } else { product / from };
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The sides of a cut, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Balance {
    /// What stays as it is: prompt and messages.
    pub(super) kept: u64,
    /// Pinned entries that go, and come back behind the summary.
    pub(super) pinned: u64,
    /// What goes, pinned entries and an earlier summary included; `None` where the cut brings back
    /// what an earlier compaction had taken out.
    pub(super) replaced: Option<u64>,
    /// The whole context.
    pub(super) measure: Measure,
}

impl Balance {
    /// Weighs what keeping the entries from `first_kept` on means for a context.
    pub(super) fn of(projection: &Projection, first_kept: &EntryId, pins: &Pins, measure: Measure) -> Self {
        let entries = projection.entries();
        let position = entries.iter().position(|projected| projected.entry.id() == first_kept);
        let (gone, kept) = entries.split_at(position.unwrap_or(usize::from(projection.compaction().is_some())));
        // Prompt and tools stay, whoever drops their messages: the compaction carries their state.
        let prompt = system_state::replay(projection.messages(), 0).map_or(0, |message| message.tokens());
        let pinned = || pins.evicted(Some(entries[gone.len()].depth)).map(|pinned| pinned.tokens).sum();
        Self {
            kept: prompt.saturating_add(conversation(kept)),
            pinned: position.map_or(0, |_| pinned()),
            replaced: position.map(|_| conversation(gone)),
            measure,
        }
    }

    /// Tokens that the context is smaller by, at most: all that goes and does not come back.
    pub(super) fn gain(&self) -> Option<u64> {
        self.replaced.map(|replaced| replaced.saturating_sub(self.pinned))
    }

    /// What stays beside a summary as the provider counts, if all messages weigh more than estimated.
    pub(super) fn staying(&self) -> u64 {
        self.measure.to_counted(self.kept.saturating_add(self.pinned))
    }

    /// The same, if what the provider counts over the estimate lies outside of the messages and stays
    /// whatever goes: no less than [`Balance::staying`].
    pub(super) fn staying_at_most(&self) -> u64 {
        self.measure.counted.saturating_sub(self.gain().unwrap_or(0))
    }

    /// Estimated tokens that are left under `threshold` beside a summary of `summary_tokens`.
    pub(super) fn room_under(&self, threshold: u64, summary_tokens: u64) -> u64 {
        let taken = self.kept.saturating_add(self.pinned).saturating_add(summary_tokens);
        self.measure.to_estimated(threshold).saturating_sub(taken)
    }
}

fn conversation(entries: &[ProjectedEntry]) -> u64 {
    let messages = entries.iter().flat_map(|projected| &projected.messages);
    let weights = messages.filter(|message| !matches!(message.body(), Body::System(_))).map(|message| message.tokens());
    weights.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_counts_over_the_estimate_is_spread_over_the_messages() {
        let check = |counted, estimated, tokens, expected: (u64, u64)| {
            let measure = Measure { counted, estimated };
            assert_eq!((measure.to_counted(tokens), measure.to_estimated(tokens)), expected);
        };
        check(7_010, 1_760, 1_000, (3_983, 251));
        check(1_760, 1_760, 1_000, (1_000, 1_000));
        check(0, 0, 1_000, (1_000, 1_000));
        check(5, 0, 1_000, (1_000, 1_000));
        check(u64::MAX, 1, u64::MAX, (u64::MAX, 1));
    }

    #[test]
    fn pinned_entries_are_no_gain_and_take_room() {
        let measure = Measure { counted: 4_000, estimated: 4_000 };
        let balance = Balance { kept: 400, pinned: 3_500, replaced: Some(3_600), measure };
        assert_eq!((balance.gain(), balance.staying(), balance.staying_at_most()), (Some(100), 3_900, 3_900));
        assert_eq!((balance.room_under(4_000, 60), balance.room_under(3_000, 60)), (40, 0));
    }
}
