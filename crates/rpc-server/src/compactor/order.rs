//! What was ordered: by a person, by a program, or by the server itself.

use compaction_core::entry::EntryId;
use compaction_core::preparation::{Preparation, Refusal};
use compaction_core::projection::Projection;
use compaction_core::prompts::{OutputLimits, RequestKind};
use compaction_core::settings::CompactionSettings;
use compaction_core::tokens::estimate_text;
use compaction_core::trigger;

use crate::errors::RpcError;
use crate::settings::Settings;
use crate::wire::{CompactParams, CompactionReason, CompactionResult, GivenSummary};

/// Tokens that a summary may have whatever it replaces, if somebody asked for it: the headings of
/// the format alone take some, and so little cannot make a context grow without end.
const ALWAYS_ALLOWED_TOKENS: u64 = 256;

/// An order to compact a session.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// The session.
    pub(crate) session_id: String,
    /// Why.
    pub(crate) reason: CompactionReason,
    /// Whether the request that failed shall be made again afterwards.
    pub(crate) will_retry: bool,
    /// Whether a summary is taken that is no smaller than what it replaces.
    pub(crate) force: bool,
    /// What the summary should look at.
    pub(crate) custom_instructions: Option<String>,
    /// A summary that the client wrote.
    pub(crate) summary: Option<GivenSummary>,
    /// The settings, those of the call included.
    pub(crate) settings: Settings,
    /// How much to keep, as it fits the model of an automatic compaction; `None` for what is set for
    /// the branch's own model.
    pub(crate) compaction: Option<CompactionSettings>,
    /// The oldest entry that is kept, if the caller chose it.
    pub(crate) first_kept: Option<EntryId>,
    /// Tokens that the context shall have at most afterwards, where that is known.
    pub(crate) threshold: Option<u64>,
    /// The answer that overflowed, if one did.
    pub(crate) overflowed: Option<EntryId>,
}

impl Order {
    /// The order of a caller of `compact`.
    pub(crate) fn manual(params: CompactParams, settings: Settings) -> Self {
        Self {
            session_id: params.session_id,
            reason: CompactionReason::Manual,
            will_retry: false,
            force: params.force,
            custom_instructions: params.custom_instructions,
            summary: params.summary,
            compaction: None,
            settings,
            first_kept: params.first_kept_entry_id.map(EntryId::new),
            threshold: None,
            overflowed: None,
        }
    }

    /// Entries of the failed attempt that the next context shall not have; none where the answer is
    /// there. Results may come while the summary is written, so that they are looked for each time.
    pub(super) fn hidden(&self, projection: &Projection) -> Vec<EntryId> {
        let failed = self.overflowed.as_ref().filter(|_| self.will_retry);
        failed.map(|answer| trigger::attempt(projection, answer)).unwrap_or_default()
    }

    /// Prepares the compaction. Where a threshold has to be reached, less and less is kept until
    /// what stays and the largest summary fit under it, or nothing more can go: one compaction is
    /// enough then, however large the context is.
    pub(super) fn prepare(&self, projection: &Projection, leaf: Option<&EntryId>) -> Result<Preparation, Refusal> {
        let tools = self.settings.file_tools();
        let mut compaction = self.compaction_of(projection);
        let mut preparation = Preparation::of(projection, leaf, compaction, &tools);
        let Some(threshold) = self.threshold else {
            return preparation;
        };
        while compaction.keep_recent_tokens > 0
            && !preparation.as_ref().is_ok_and(|prepared| fits(prepared, projection, threshold))
        {
            compaction.keep_recent_tokens /= 2;
            let smaller = Preparation::of(projection, leaf, compaction, &tools);
            preparation = smaller.or(preparation);
        }
        preparation
    }

    /// How much to keep of a context.
    pub(super) fn compaction_of(&self, projection: &Projection) -> CompactionSettings {
        self.compaction.unwrap_or_else(|| self.settings.compaction_at(projection.model()))
    }

    /// Fails if `summary` is not smaller than what it replaces (issue: guaranteed progress).
    pub(super) fn check_progress(&self, summary: &str, replaced_tokens: Option<u64>) -> Result<(), RpcError> {
        let Some(replaced_tokens) = replaced_tokens.filter(|_| !self.force) else {
            return Ok(());
        };
        let summary_tokens = estimate_text(summary);
        let is_allowed = self.reason == CompactionReason::Manual && summary_tokens <= ALWAYS_ALLOWED_TOKENS;
        match is_allowed || summary_tokens < replaced_tokens {
            true => Ok(()),
            false => Err(RpcError::NotSmaller { summary_tokens, replaced_tokens }),
        }
    }

    /// Fails if a compaction that shall reach a threshold cannot, and would gain next to nothing: no
    /// model is asked for that.
    pub(super) fn check_worth(&self, kept_tokens: u64, replaced_tokens: Option<u64>) -> Result<(), RpcError> {
        let threshold = self.threshold.filter(|threshold| kept_tokens > *threshold);
        match (threshold, replaced_tokens) {
            (Some(threshold), Some(replaced_tokens)) if replaced_tokens <= ALWAYS_ALLOWED_TOKENS => {
                Err(RpcError::KeptTooLarge { kept_tokens, replaced_tokens, threshold })
            }
            _ => Ok(()),
        }
    }

    /// Whether the compaction that gave `result` has made room for another try.
    pub(super) fn has_room_for(&self, result: &CompactionResult) -> bool {
        self.threshold.is_none_or(|threshold| result.tokens_after <= threshold)
    }
}

/// Whether what `preparation` keeps fits under `threshold` together with the largest summary.
fn fits(preparation: &Preparation, projection: &Projection, threshold: u64) -> bool {
    let kept = projection.entries().iter().skip_while(|entry| *entry.entry.id() != preparation.first_kept_entry_id);
    let kept: u64 = kept.flat_map(|entry| &entry.messages).map(|message| message.tokens()).sum();
    let limits = OutputLimits { reserve_tokens: preparation.settings.reserve_tokens, model_max_tokens: None };
    let prefix = if preparation.is_split_turn { limits.max_tokens(RequestKind::TurnPrefix) } else { 0 };
    kept.saturating_add(limits.max_tokens(RequestKind::History)).saturating_add(prefix) <= threshold
}
