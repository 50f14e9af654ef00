//! What was ordered: by a person, by a program, or by the server itself.

use compaction_core::entry::EntryId;
use compaction_core::extractive;
use compaction_core::pins::Pins;
use compaction_core::preparation::{Preparation, Refusal};
use compaction_core::projection::Projection;
use compaction_core::prompts::{OutputLimits, RequestKind};
use compaction_core::settings::CompactionSettings;
use compaction_core::summary::{ShownFiles, append_file_blocks};
use compaction_core::system_state;
use compaction_core::tokens::estimate_text;
use compaction_core::trigger;

use super::balance::{Balance, Measure};
use super::fitted::Fitted;
use crate::error::EngineError;
use crate::host::{Compaction, CompactionReason, GivenSummary};
use crate::session::AgentModel;
use crate::settings::Settings;

/// Tokens that a summary may have whatever it replaces, if somebody asked for it: the headings of
/// the format alone take some, and so little cannot make a context grow without end.
const ALWAYS_ALLOWED_TOKENS: u64 = 256;
/// Tokens that any summary has: its headings alone take more.
const LEAST_SUMMARY_TOKENS: u64 = 24;

/// Tokens that a provider counts for an estimated one at most: text in Chinese comes to four.
const MOST_PER_ESTIMATE: u64 = 5;

/// How often a little less is tried to be kept before it is half as much each time.
const SMALL_STEPS: usize = 4;

/// What a caller wants of a compaction.
#[derive(Debug, Clone, Default)]
pub struct CompactionRequest {
    /// What the summary should look at.
    pub custom_instructions: Option<String>,
    /// A summary that the caller wrote.
    pub summary: Option<GivenSummary>,
    /// The oldest entry that stays verbatim, in place of the one that the settings give.
    pub first_kept_entry_id: Option<EntryId>,
    /// Whether a summary is taken that is no smaller than what it replaces.
    pub force: bool,
}

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
    /// A summary that the caller wrote.
    pub(crate) summary: Option<GivenSummary>,
    /// The settings, those of the call included.
    pub(crate) settings: Settings,
    /// How much to keep, as it fits the model of the session; `None` for what is set for the branch's
    /// own model.
    pub(crate) compaction: Option<CompactionSettings>,
    /// The oldest entry that is kept, if the caller chose it.
    pub(crate) first_kept: Option<EntryId>,
    /// More tokens than this are too many for the model of the session, where its window is known.
    pub(crate) threshold: Option<u64>,
    /// Tokens of the context by the provider's own count, where an error named them.
    pub(crate) counted: Option<u64>,
    /// The answer that overflowed, if one did.
    pub(crate) overflowed: Option<EntryId>,
}

/// The end of a context that no compaction makes smaller.
pub(crate) struct Tail {
    /// Its first entry; `None` where nothing can go before it.
    pub(crate) first_kept: Option<EntryId>,
    /// Estimated tokens that it may have.
    pub(crate) room: u64,
    /// Tokens of the whole context.
    pub(crate) tokens: u64,
    threshold: u64,
    measure: Measure,
}

impl Tail {
    /// Whether the whole context fits once it is `saved` estimated tokens smaller.
    pub(crate) fn fits_without(&self, saved: u64) -> bool {
        self.measure.to_counted(self.measure.estimated.saturating_sub(saved)) <= self.threshold
    }
}

impl Order {
    /// The order of a caller, for a session of `model`, if that is known.
    pub(crate) fn manual(
        session_id: &str,
        request: CompactionRequest,
        settings: Settings,
        model: Option<&AgentModel>,
    ) -> Self {
        let fitted = Fitted::of(&settings, model);
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
            counted: None,
            overflowed: None,
        }
    }

    /// Entries of the failed attempt that the next context shall not have; none where the answer is
    /// there. Results may come while the summary is written, so that they are looked for each time.
    pub(crate) fn hidden(&self, projection: &Projection) -> Vec<EntryId> {
        let failed = self.overflowed.as_ref().filter(|_| self.will_retry);
        failed.map(|answer| trigger::attempt(projection, answer)).unwrap_or_default()
    }

    /// Prepares the compaction. Where a threshold has to be reached, less and less is kept until
    /// what stays and the largest summary fit under it and more goes than a summary may weigh, or
    /// nothing more can go: one compaction is enough then, however large the context is.
    pub(super) fn prepare(
        &self,
        projection: &Projection,
        leaf: Option<&EntryId>,
        pins: &Pins,
    ) -> Result<Preparation, Refusal> {
        let (tools, compaction) = (self.settings.file_tools(), self.compaction_of(projection));
        let Some(threshold) = self.target() else {
            return match self.threshold {
                Some(threshold) => Fitted { compaction, threshold }.prepare(&self.settings, projection, leaf),
                None => Preparation::of(projection, leaf, compaction, &tools),
            };
        };
        let measure = self.measure(projection);
        // What a provider counts over the estimate may lie outside of the messages, and stays then. After a
        // refusal that is taken for granted, where the context can be made small enough at all.
        let counts: &[Count] = match self.reason {
            CompactionReason::Overflow => &[Count::Outside, Count::InMessages],
            _ => &[Count::InMessages],
        };
        let mut last = None;
        for count in counts {
            let (preparation, is_reached) = self.prepare_by(*count, threshold, (projection, measure), leaf, pins);
            if is_reached {
                return preparation;
            }
            last = Some(preparation);
        }
        last.unwrap_or_else(|| Preparation::of(projection, leaf, compaction, &tools))
    }

    /// The same by one way to count; with whether the threshold is reached.
    fn prepare_by(
        &self,
        count: Count,
        threshold: u64,
        (projection, measure): (&Projection, Measure),
        leaf: Option<&EntryId>,
        pins: &Pins,
    ) -> (Result<Preparation, Refusal>, bool) {
        let (tools, mut compaction) = (self.settings.file_tools(), self.compaction_of(projection));
        let mut preparation = Preparation::of(projection, leaf, compaction, &tools);
        let mut small_steps = 0..SMALL_STEPS;
        while compaction.keep_recent_tokens > 0 {
            let weighed = preparation.as_ref().ok().map(|prepared| {
                let balance = Balance::of(projection, &prepared.first_kept_entry_id, pins, measure);
                Forecast::of(prepared, &balance, &self.settings, count)
            });
            let keep = compaction.keep_recent_tokens;
            compaction.keep_recent_tokens = match weighed {
                Some(forecast) if forecast.tokens <= threshold && forecast.is_worth => return (preparation, true),
                // A little too much is cured by a little less.
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

    /// What a context weighs, by the count of the provider that refused it where it named one.
    pub(super) fn measure(&self, projection: &Projection) -> Measure {
        let measure = Measure::of(projection);
        // A count of many times the estimate is of something else than these messages.
        let is_plausible = |counted: &u64| *counted <= measure.estimated.saturating_mul(MOST_PER_ESTIMATE);
        let counted = self.counted.filter(is_plausible).unwrap_or(0).max(measure.counted);
        Measure { counted, ..measure }
    }

    /// The end of a context that stays however little is kept: the last answer with the results of its
    /// calls. `None` where no threshold has to be reached.
    pub(crate) fn tail(&self, projection: &Projection, leaf: Option<&EntryId>) -> Option<Tail> {
        let threshold = self.target()?;
        let shown = projection.hiding(&self.hidden(projection));
        let compaction = self.compaction_of(&shown);
        let least = CompactionSettings { keep_recent_tokens: 1, ..compaction };
        let prepared = Preparation::of(&shown, leaf, least, &self.settings.file_tools());
        let first_kept = prepared.ok().map(|prepared| prepared.first_kept_entry_id);
        let measure = self.measure(&shown);
        let prompt = system_state::replay(shown.messages(), 0).map_or(0, |message| message.tokens());
        let has_summary = first_kept.is_some() || shown.compaction().is_some();
        let summary = if has_summary { compaction.reserve_tokens } else { 0 };
        let room = measure.to_estimated(threshold).saturating_sub(prompt.saturating_add(summary));
        Some(Tail { first_kept, room, tokens: measure.counted, threshold, measure })
    }

    /// The threshold that the compaction has to reach, if it has to: what nobody asked for shall
    /// suffice until the context has grown again.
    fn target(&self) -> Option<u64> {
        self.threshold.filter(|_| self.reason != CompactionReason::Manual)
    }

    /// How much to keep of a context.
    pub(super) fn compaction_of(&self, projection: &Projection) -> CompactionSettings {
        self.compaction.unwrap_or_else(|| self.settings.compaction_at(projection.model()))
    }

    /// Fails if `summary` is not smaller than what it replaces (docs/summaries.md, "Rejected summaries").
    pub(super) fn check_progress(&self, summary: &str, replaced_tokens: Option<u64>) -> Result<(), EngineError> {
        let summary_tokens = estimate_text(summary);
        match (self.largest_summary(replaced_tokens), replaced_tokens) {
            (Some(largest), Some(replaced_tokens)) if summary_tokens > largest => {
                Err(EngineError::NotSmaller { summary_tokens, replaced_tokens })
            }
            _ => Ok(()),
        }
    }

    /// Tokens of the largest summary that is taken, with all that is added to it; `None` where any is.
    pub(super) fn largest_summary(&self, replaced_tokens: Option<u64>) -> Option<u64> {
        let smaller = replaced_tokens.filter(|_| !self.force)?.saturating_sub(1);
        Some(if self.reason == CompactionReason::Manual { smaller.max(ALWAYS_ALLOWED_TOKENS) } else { smaller })
    }

    /// Fails if a compaction that shall reach a threshold cannot, and would gain next to nothing, or
    /// if any summary would be refused: no model is asked for that.
    pub(super) fn check_worth(&self, balance: &Balance) -> Result<(), EngineError> {
        let (Some(replaced_tokens), Some(gain)) = (balance.replaced, balance.gain()) else {
            return Ok(());
        };
        let pinned_tokens = balance.pinned;
        if let Some((kept_tokens, threshold)) = self.out_of_reach(balance, gain) {
            let unestimated_tokens = balance.measure.excess();
            return Err(EngineError::KeptTooLarge {
                kept_tokens,
                pinned_tokens,
                replaced_tokens,
                threshold,
                unestimated_tokens,
            });
        }
        let least = pinned_tokens.saturating_add(LEAST_SUMMARY_TOKENS);
        match self.largest_summary(Some(replaced_tokens)).is_some_and(|largest| least > largest) {
            true => Err(EngineError::NoGain { replaced_tokens, pinned_tokens }),
            false => Ok(()),
        }
    }

    /// The tokens that stay and the threshold, if they are too many for it, and `gain` is too little
    /// to compact nevertheless. Where the threshold cannot be reached, the next compaction would be
    /// due at once: one that nobody waits for has to take off a fifth then.
    fn out_of_reach(&self, balance: &Balance, gain: u64) -> Option<(u64, u64)> {
        let threshold = self.target()?;
        let (staying, at_most) = (balance.staying(), balance.staying_at_most());
        let short_summary = ALWAYS_ALLOWED_TOKENS.min(threshold / 8);
        let is_too_much = self.reason == CompactionReason::Threshold
            && staying.saturating_add(short_summary) > threshold
            && balance.measure.to_counted(gain) <= staying / 4;
        match at_most > threshold && gain <= ALWAYS_ALLOWED_TOKENS {
            true => Some((at_most, threshold)),
            false => is_too_much.then_some((staying, threshold)),
        }
    }

    /// Whether the compaction that gave `result` has made room for another try.
    pub(super) fn has_room_for(&self, result: &Compaction) -> bool {
        self.threshold.is_none_or(|threshold| result.tokens_after <= threshold)
    }
}

/// Where the tokens lie that a provider counts over the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    /// In the messages, which weigh more than estimated.
    InMessages,
    /// Outside of the session, as a prompt and tools do.
    Outside,
}

/// What a compaction may come to.
struct Forecast {
    /// Tokens of the context afterwards, with the largest summary, as the provider counts.
    tokens: u64,
    /// Whether more goes than a short summary weighs.
    is_worth: bool,
}

impl Forecast {
    fn of(preparation: &Preparation, balance: &Balance, settings: &Settings, count: Count) -> Self {
        let reserve_tokens = preparation.settings.reserve_tokens;
        let limits = OutputLimits { reserve_tokens, model_max_tokens: None };
        let largest = |kind| limits.max_tokens(kind).max(extractive::MINIMUM_TOKENS);
        let prefix = if preparation.is_split_turn { largest(RequestKind::TurnPrefix) } else { 0 };
        let summary = largest(RequestKind::History).saturating_add(prefix);
        let added = additions(preparation, settings);
        let staying = match count {
            Count::InMessages => {
                let staying = [balance.kept, balance.pinned, added].into_iter().fold(0, u64::saturating_add);
                balance.measure.to_counted(staying)
            }
            Count::Outside => balance.staying_at_most().saturating_add(added),
        };
        Self {
            tokens: staying.saturating_add(summary),
            is_worth: balance.gain().is_none_or(|gain| gain > ALWAYS_ALLOWED_TOKENS.min(summary)),
        }
    }
}

/// Tokens that files and facts behind a summary take at least where there are so many: what the
/// largest summary leaves of the reserve. They have more where the summary leaves more.
fn additions(preparation: &Preparation, settings: &Settings) -> u64 {
    let reserve_tokens = preparation.settings.reserve_tokens;
    let files = preparation.file_operations.lists();
    let blocks = estimate_text(&append_file_blocks("", &files.read_files, &files.modified_files));
    let blocks = blocks.min(ShownFiles::most_tokens(reserve_tokens));
    blocks.saturating_add(settings.repair_tokens().unwrap_or(0)).min(reserve_tokens / 5)
}
