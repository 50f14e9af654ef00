//! The order of a compaction: who asked for it, how much it keeps, and which threshold it has to reach.

use compaction_core::entry::EntryId;
use compaction_core::pins::Pins;
use compaction_core::preparation::{Preparation, Refusal};
use compaction_core::projection::Projection;
use compaction_core::prompts::{OutputLimits, RequestKind};
use compaction_core::settings::{CompactionSettings, EffectiveLimits};
use compaction_core::summary::{ShownFiles, append_file_blocks};
use compaction_core::tokens::estimate_text;
use compaction_core::{extractive, trigger};

use super::plan::{ContextSize, CutSizes};
use crate::error::EngineError;
use crate::host::{Compaction, CompactionReason, GivenSummary};
use crate::session::AgentModel;
use crate::settings::Settings;

/// Tokens that a requested summary may have even if it replaces fewer. The headings alone take some, and so few
/// cannot make a context grow without end.
const ALWAYS_ALLOWED_TOKENS: u64 = 256;
/// Minimum tokens of any summary; its headings alone take more.
const MIN_SUMMARY_TOKENS: u64 = 24;

/// Maximum tokens that a provider counts per estimated token. Chinese text comes to four.
const MAX_TOKENS_PER_ESTIMATED: u64 = 5;

/// Number of attempts that keep a little less before each attempt keeps half.
const SMALL_STEPS: usize = 4;

/// A request to compact a session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CompactionRequest {
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// A summary that the caller wrote.
    pub summary: Option<GivenSummary>,
    /// The oldest entry that stays verbatim. It replaces the cut that the settings give.
    pub first_kept_entry_id: Option<EntryId>,
    /// Whether a summary is accepted that is not smaller than what it replaces.
    pub force: bool,
}

/// An order to compact a session.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// The session.
    pub(crate) session_id: String,
    /// The reason.
    pub(crate) reason: CompactionReason,
    /// Whether the failed request will be sent again afterwards.
    pub(crate) will_retry: bool,
    /// Whether a summary is accepted that is not smaller than what it replaces.
    pub(crate) force: bool,
    /// What the summary should focus on.
    pub(crate) custom_instructions: Option<String>,
    /// A summary that the caller wrote.
    pub(crate) summary: Option<GivenSummary>,
    /// The settings, including those of the call.
    pub(crate) settings: Settings,
    /// How much to keep, fitted to the model of the session; `None` to use the settings for the branch's own model.
    pub(crate) compaction: Option<CompactionSettings>,
    /// The oldest kept entry, if the caller chose it.
    pub(crate) first_kept: Option<EntryId>,
    /// The maximum tokens for the model of the session, where its window is known.
    pub(crate) threshold: Option<u64>,
    /// Tokens of the context as an error of the provider reported them.
    pub(crate) provider_tokens: Option<u64>,
    /// The answer that overflowed.
    pub(crate) overflowed: Option<EntryId>,
}

/// The end of a context that no compaction can remove.
pub(crate) struct KeptTail {
    /// Its first entry; `None` where nothing before it can be removed.
    pub(crate) first_kept: Option<EntryId>,
    /// Maximum estimated tokens of the end.
    pub(crate) room: u64,
    /// Tokens of the whole context.
    pub(crate) tokens: u64,
    threshold: u64,
    context_size: ContextSize,
}

impl KeptTail {
    /// Whether the whole context fits after saving `saved` estimated tokens.
    pub(crate) fn fits_without(&self, saved: u64) -> bool {
        self.context_size.to_provider_tokens(self.context_size.estimated.saturating_sub(saved)) <= self.threshold
    }
}

impl Order {
    /// The order for a caller's request, fitted to `model` if it is known.
    pub(crate) fn manual(
        session_id: &str,
        request: CompactionRequest,
        settings: Settings,
        model: Option<&AgentModel>,
    ) -> Self {
        let fitted = FittedSettings::of(&settings, model);
        Self {
            session_id: session_id.to_owned(),
            reason: CompactionReason::Manual,
            will_retry: false,
            force: request.force,
            custom_instructions: request.custom_instructions,
            summary: request.summary,
            compaction: fitted.map(|fitted| fitted.compaction),
            settings,
            first_kept: request.first_kept_entry_id,
            threshold: fitted.map(|fitted| fitted.threshold),
            provider_tokens: None,
            overflowed: None,
        }
    }

    /// Entries of the failed attempt, which the next context hides; empty where the answer has arrived. Results may
    /// arrive while the summary is written, so this is looked up each time.
    pub(crate) fn hidden(&self, projection: &Projection) -> Vec<EntryId> {
        let failed = self.overflowed.as_ref().filter(|_| self.will_retry);
        failed.map(|answer| trigger::attempt(projection, answer)).unwrap_or_default()
    }

    /// Prepares the compaction. To reach a threshold, it keeps less and less until the kept part and the largest
    /// summary fit under it and the compaction removes more than a summary weighs, or until nothing more can be
    /// removed. One compaction is then enough, however large the context is.
    pub(super) fn prepare(
        &self,
        projection: &Projection,
        leaf: Option<&EntryId>,
        pins: &Pins,
    ) -> Result<Preparation, Refusal> {
        let (tools, compaction) = (self.settings.file_tools(), self.compaction_of(projection));
        let Some(threshold) = self.target() else {
            return match self.threshold {
                Some(threshold) => FittedSettings { compaction, threshold }.prepare(&self.settings, projection, leaf),
                None => Preparation::of(projection, leaf, compaction, &tools),
            };
        };
        let context_size = self.context_size(projection);
        // Tokens that the provider counts beyond the estimate may be outside the messages and then stay. After a
        // refusal this is assumed, as long as the context can be made small enough at all.
        let possible: &[UnexplainedTokens] = match self.reason {
            CompactionReason::Overflow => &[UnexplainedTokens::OutsideMessages, UnexplainedTokens::InMessages],
            _ => &[UnexplainedTokens::InMessages],
        };
        let mut last = None;
        for unexplained in possible {
            let (preparation, is_reached) =
                self.prepare_by(*unexplained, threshold, (projection, context_size), leaf, pins);
            if is_reached {
                return preparation;
            }
            last = Some(preparation);
        }
        last.unwrap_or_else(|| Preparation::of(projection, leaf, compaction, &tools))
    }

    /// Prepares under one assumption on unexplained tokens. Also returns whether the threshold is reached.
    fn prepare_by(
        &self,
        unexplained: UnexplainedTokens,
        threshold: u64,
        (projection, context_size): (&Projection, ContextSize),
        leaf: Option<&EntryId>,
        pins: &Pins,
    ) -> (Result<Preparation, Refusal>, bool) {
        let (tools, mut compaction) = (self.settings.file_tools(), self.compaction_of(projection));
        let mut preparation = Preparation::of(projection, leaf, compaction, &tools);
        let mut small_steps = 0..SMALL_STEPS;
        while compaction.keep_recent_tokens > 0 {
            let weighed = preparation.as_ref().ok().map(|prepared| {
                let cut_sizes = CutSizes::of(projection, &prepared.first_kept_entry_id, pins, context_size);
                ExpectedResult::of(prepared, &cut_sizes, &self.settings, unexplained)
            });
            let keep = compaction.keep_recent_tokens;
            compaction.keep_recent_tokens = match weighed {
                Some(forecast) if forecast.tokens <= threshold && forecast.is_worth => return (preparation, true),
                // A small excess needs a small reduction.
                Some(forecast) if forecast.is_worth && small_steps.next().is_some() => {
                    let step = forecast.tokens.saturating_sub(threshold).max(keep / 8);
                    keep - step.min(keep.div_ceil(2))
                }
                _ => keep / 2,
            };
            let smaller = Preparation::of(projection, leaf, compaction, &tools);
            preparation = smaller.or(preparation);
        }
        (preparation, false)
    }

    /// Measures a context, by the count of the provider that refused it where it reported one.
    pub(super) fn context_size(&self, projection: &Projection) -> ContextSize {
        let context_size = ContextSize::of(projection);
        // A count of many times the estimate does not belong to these messages.
        let is_plausible = |tokens: &u64| *tokens <= context_size.estimated.saturating_mul(MAX_TOKENS_PER_ESTIMATED);
        let provider_tokens = self.provider_tokens.filter(is_plausible).unwrap_or(0).max(context_size.provider_tokens);
        ContextSize { provider_tokens, ..context_size }
    }

    /// The end of a context that always stays: the last answer with the results of its calls. `None` if no threshold
    /// has to be reached.
    pub(crate) fn tail(&self, projection: &Projection, leaf: Option<&EntryId>) -> Option<KeptTail> {
        let threshold = self.target()?;
        let shown = projection.hiding(&self.hidden(projection));
        let compaction = self.compaction_of(&shown);
        let least = CompactionSettings { keep_recent_tokens: 1, ..compaction };
        let prepared = Preparation::of(&shown, leaf, least, &self.settings.file_tools());
        let first_kept = prepared.ok().map(|prepared| prepared.first_kept_entry_id);
        let context_size = self.context_size(&shown);
        let prompt = shown.system_tokens();
        let has_summary = first_kept.is_some() || shown.compaction().is_some();
        let summary = if has_summary { compaction.reserve_tokens } else { 0 };
        let room = context_size.to_estimated_tokens(threshold).saturating_sub(prompt.saturating_add(summary));
        Some(KeptTail { first_kept, room, tokens: context_size.provider_tokens, threshold, context_size })
    }

    /// The threshold that the compaction has to reach. An automatic compaction must suffice until the context has
    /// grown again.
    fn target(&self) -> Option<u64> {
        self.threshold.filter(|_| self.reason != CompactionReason::Manual)
    }

    /// How much to keep of a context.
    pub(super) fn compaction_of(&self, projection: &Projection) -> CompactionSettings {
        self.compaction.unwrap_or_else(|| self.settings.compaction_at(projection.model()))
    }

    /// Fails if `summary` is not smaller than the text that it replaces (docs/summaries.md, "Rejected summaries").
    pub(super) fn check_progress(&self, summary: &str, replaced_tokens: Option<u64>) -> Result<(), EngineError> {
        let summary_tokens = estimate_text(summary);
        match (self.largest_summary(replaced_tokens), replaced_tokens) {
            (Some(largest), Some(replaced_tokens)) if summary_tokens > largest => {
                Err(EngineError::NotSmaller { summary_tokens, replaced_tokens })
            }
            _ => Ok(()),
        }
    }

    /// Tokens of the largest accepted summary, including everything that is added to it; `None` without a limit.
    pub(super) fn largest_summary(&self, replaced_tokens: Option<u64>) -> Option<u64> {
        let smaller = replaced_tokens.filter(|_| !self.force)?.saturating_sub(1);
        Some(if self.reason == CompactionReason::Manual { smaller.max(ALWAYS_ALLOWED_TOKENS) } else { smaller })
    }

    /// Fails, before any model is asked, if the threshold is out of reach and little would be gained, or if any
    /// summary would be rejected.
    pub(super) fn check_worth(&self, cut_sizes: &CutSizes) -> Result<(), EngineError> {
        let (Some(replaced_tokens), Some(gain)) = (cut_sizes.replaced, cut_sizes.gain()) else {
            return Ok(());
        };
        let pinned_tokens = cut_sizes.pinned;
        if let Some((kept_tokens, threshold)) = self.out_of_reach(cut_sizes, gain) {
            let unestimated_tokens = cut_sizes.context_size.excess();
            return Err(EngineError::KeptTooLarge {
                kept_tokens,
                pinned_tokens,
                replaced_tokens,
                threshold,
                unestimated_tokens,
            });
        }
        let least = pinned_tokens.saturating_add(MIN_SUMMARY_TOKENS);
        match self.largest_summary(Some(replaced_tokens)).is_some_and(|largest| least > largest) {
            true => Err(EngineError::NoGain { replaced_tokens, pinned_tokens }),
            false => Ok(()),
        }
    }

    /// The tokens that stay and the threshold, if the threshold is out of reach and `gain` is too small. The threshold is
    /// out of reach if the next compaction would be due at once. A compaction for the threshold must then save more than
    /// a quarter of what stays.
    fn out_of_reach(&self, cut_sizes: &CutSizes, gain: u64) -> Option<(u64, u64)> {
        let threshold = self.target()?;
        let (staying, at_most) = (cut_sizes.staying(), cut_sizes.staying_at_most());
        let short_summary = ALWAYS_ALLOWED_TOKENS.min(threshold / 8);
        let is_too_much = self.reason == CompactionReason::Threshold
            && staying.saturating_add(short_summary) > threshold
            && cut_sizes.context_size.to_provider_tokens(gain) <= staying / 4;
        match at_most > threshold && gain <= ALWAYS_ALLOWED_TOKENS {
            true => Some((at_most, threshold)),
            false => is_too_much.then_some((staying, threshold)),
        }
    }

    /// Whether `result` made enough room to send the request again.
    pub(super) fn has_room_for(&self, result: &Compaction) -> bool {
        self.threshold.is_none_or(|threshold| result.tokens_after <= threshold)
    }
}

/// Where the tokens are that a provider counts beyond the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnexplainedTokens {
    /// In the messages, which have more tokens than estimated.
    InMessages,
    /// Outside of the session, such as a prompt and tools.
    OutsideMessages,
}

/// The expected result of a compaction.
struct ExpectedResult {
    /// Tokens of the context after it, with the largest summary, as the provider counts.
    tokens: u64,
    /// Whether it removes more than a short summary weighs.
    is_worth: bool,
}

impl ExpectedResult {
    fn of(
        preparation: &Preparation,
        cut_sizes: &CutSizes,
        settings: &Settings,
        unexplained: UnexplainedTokens,
    ) -> Self {
        let reserve_tokens = preparation.settings.reserve_tokens;
        let limits = OutputLimits { reserve_tokens, model_max_tokens: None };
        let largest = |kind| limits.max_tokens(kind).max(extractive::MINIMUM_TOKENS);
        let prefix = if preparation.is_split_turn { largest(RequestKind::TurnPrefix) } else { 0 };
        let summary = largest(RequestKind::History).saturating_add(prefix);
        let added = additions(preparation, settings);
        let staying = match unexplained {
            UnexplainedTokens::InMessages => {
                let staying = [cut_sizes.kept, cut_sizes.pinned, added].into_iter().fold(0, u64::saturating_add);
                cut_sizes.context_size.to_provider_tokens(staying)
            }
            UnexplainedTokens::OutsideMessages => cut_sizes.staying_at_most().saturating_add(added),
        };
        Self {
            tokens: staying.saturating_add(summary),
            is_worth: cut_sizes.gain().is_none_or(|gain| gain > ALWAYS_ALLOWED_TOKENS.min(summary)),
        }
    }
}

/// Tokens reserved for the file lists and facts after a summary: what the largest summary leaves of the reserve. A
/// smaller summary leaves them more.
fn additions(preparation: &Preparation, settings: &Settings) -> u64 {
    let reserve_tokens = preparation.settings.reserve_tokens;
    let files = preparation.file_operations.lists();
    let blocks = estimate_text(&append_file_blocks("", &files.read_files, &files.modified_files));
    let blocks = blocks.min(ShownFiles::most_tokens(reserve_tokens));
    blocks.saturating_add(settings.repair_tokens().unwrap_or(0)).min(reserve_tokens / 5)
}

/// The settings, fitted to a known window (docs/triggers.md, "Threshold").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FittedSettings {
    /// How much to keep.
    pub(super) compaction: CompactionSettings,
    /// The maximum tokens for the model.
    pub(super) threshold: u64,
}

impl FittedSettings {
    /// The settings, fitted to the model of a session; `None` if no window is known. Values of the call itself stay
    /// unchanged.
    pub(super) fn of(settings: &Settings, model: Option<&AgentModel>) -> Option<Self> {
        let model = model.filter(|model| model.context_window > 0)?;
        let wanted = settings.compaction_for(&model.provider, &model.id);
        let limits = EffectiveLimits::for_window(model.context_window, &wanted);
        let fit = |key, wanted, fitted| if settings.are_of_call(key) { wanted } else { fitted };
        let compaction = CompactionSettings {
            reserve_tokens: fit("reserveTokens", wanted.reserve_tokens, limits.reserve_tokens),
            keep_recent_tokens: fit("keepRecentTokens", wanted.keep_recent_tokens, limits.keep_recent_tokens),
            ..wanted
        };
        Some(Self { compaction, threshold: limits.threshold })
    }

    /// Prepares a compaction. If the provider counts more than what should be kept and the estimate does not, the
    /// kept amount is scaled down: the settings mean tokens of the model, because they come from its window.
    pub(super) fn prepare(
        &self,
        settings: &Settings,
        projection: &Projection,
        leaf: Option<&EntryId>,
    ) -> Result<Preparation, Refusal> {
        let tools = settings.file_tools();
        let preparation = Preparation::of(projection, leaf, self.compaction, &tools);
        let keep = self.compaction.keep_recent_tokens;
        let context_size = ContextSize::of(projection);
        let is_short =
            matches!(preparation, Err(Refusal::NothingToCompact { .. })) && context_size.provider_tokens > keep;
        if !is_short || settings.are_of_call("keepRecentTokens") {
            return preparation;
        }
        let less = CompactionSettings { keep_recent_tokens: context_size.to_estimated_tokens(keep), ..self.compaction };
        Preparation::of(projection, leaf, less, &tools).or(preparation)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::settings::layer_of_call;

    fn check(window: u64, of_call: Option<Value>, expected: Option<(u64, u64, u64)>) {
        let of_model = json!({ "compaction": { "modelOverrides": { "p/m": { "keepRecentTokens": 15_000 } } } });
        let layer = of_call.clone().map(layer_of_call);
        let settings =
            Settings::default().with(&of_model).and_then(|settings| settings.with_call(layer.as_ref())).unwrap();
        let model = AgentModel {
            provider: "p".to_owned(),
            id: "m".to_owned(),
            context_window: window,
            max_output_tokens: None,
        };
        let found = FittedSettings::of(&settings, Some(&model))
            .map(|fitted| (fitted.compaction.reserve_tokens, fitted.compaction.keep_recent_tokens, fitted.threshold));
        assert_eq!(found, expected, "{window} {of_call:?}");
    }

    #[test]
    fn settings_are_scaled_to_the_window_but_for_those_of_the_call() {
        check(200_000, None, Some((16_384, 15_000, 183_616)));
        check(8_000, None, Some((2_000, 3_300, 6_000)));
        check(8_000, Some(json!({ "keepRecentTokens": 7_000 })), Some((2_000, 7_000, 6_000)));
        check(8_000, Some(json!({ "reserveTokens": 9_000 })), Some((9_000, 3_300, 6_000)));
        check(0, None, None);
        assert_eq!(FittedSettings::of(&Settings::default(), None), None);
    }
}
