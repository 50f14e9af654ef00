//! The plan of a compaction: where it cuts, what the cut removes and keeps in tokens, and a preview of it.

use std::sync::Arc;

use compaction_core::conversation::Redact;
use compaction_core::entry::EntryId;
use compaction_core::ledger::Retention;
use compaction_core::message::Message;
use compaction_core::pins::Pins;
use compaction_core::preparation::{ChosenCutError, Preparation, PreparedMessage, Refusal};
use compaction_core::projection::{ProjectedEntry, Projection};
use compaction_core::prompts::{OutputLimits, RequestKind, SummaryRequest};
use compaction_core::{cut_point, extractive, tokens};
use tokio_util::sync::CancellationToken;

use super::summary::{jobs, prompt_texts};
use super::{FittedSettings, Order};
use crate::error::EngineError;
use crate::host::GivenSummary;
use crate::models::{Conversation, ModelLimits};
use crate::redaction::{RedactedTexts, Redactions, Redactor, add_counts};
use crate::session::{SessionAccess, SessionView};
use crate::settings::Settings;
use crate::structural_operation::SummaryOperation;
use crate::threads::both;

/// The plan of a compaction: what is summarised, by a summarizer or by the caller, and where the cut is.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) first_kept_entry_id: EntryId,
    pub(super) leaf_id: EntryId,
    /// Tokens of the context.
    pub(super) tokens_before: u64,
    pub(super) preparation: Preparation,
    /// The removed and kept parts in tokens.
    pub(super) cut_sizes: CutSizes,
    /// The kept messages.
    pub(super) kept: Vec<PreparedMessage>,
    /// The context of the conversation's model, if a summarizer writes the summary.
    context: Option<Arc<Projection>>,
    /// The window of that model in tokens, where known.
    window: Option<u64>,
}

/// A plan from which secrets were removed.
pub(super) struct RedactedPlan {
    /// The removed part.
    pub(super) preparation: Arc<Preparation>,
    /// The kept part.
    pub(super) kept: Vec<PreparedMessage>,
    /// Both parts in tokens.
    pub(super) cut_sizes: CutSizes,
    pub(super) order: Arc<Order>,
    /// What the caller wants the summary to focus on.
    pub(super) custom_instructions: Option<String>,
    /// Removes the secrets of these texts from others; `None` where redaction is disabled.
    pub(super) redactor: Option<Arc<Redactor>>,
    /// Secrets that were removed from the removed part and the instructions.
    pub(super) redactions: Redactions,
}

impl Plan {
    /// Plans the compaction of an order.
    pub(super) fn of(access: &SessionAccess<'_>, order: &Order) -> Result<Self, EngineError> {
        let whole = access.view().project_leaf()?;
        session_store::check_memory(&whole).map_err(|error| access.open().store_failure(error))?;
        let hidden = order.hidden(&whole);
        let projection = if hidden.is_empty() { Arc::clone(&whole) } else { Arc::new(whole.hiding(&hidden)) };
        let leaf = access.session().leaf_id();
        let pins = read_beside(&projection, || access.view().pins(leaf))?;
        let preparation = match &order.first_kept {
            Some(first_kept) => prepare_at(access, order, &projection, first_kept)?,
            None => order.prepare(&projection, leaf, &pins).or_else(|refusal| match refusal {
                // Messages that arrived while the last summary was written come before its compaction entry, and may
                // still be too many. Only the failed attempt follows the entry.
                Refusal::AlreadyCompacted { .. } if !hidden.is_empty() => order.prepare(&whole, leaf, &pins),
                refusal => Err(refusal),
            }),
        };
        match &order.summary {
            None => {
                let plan = Self::prepared(order, preparation?, &projection, &pins);
                order.check_worth(&plan.cut_sizes)?;
                let window = access.open().auto_compaction.effective_model().map(|model| model.context_window);
                let window = window.filter(|window| *window > 0);
                Ok(Self { context: Some(projection), window, ..plan })
            }
            Some(given) => Self::given(access, order, given, (&projection, &pins), preparation),
        }
    }

    /// Fails if the result of a call that is removed arrived after the plan was made: no model would ever see it.
    pub(super) fn check_later_results(&self, access: &SessionAccess<'_>, order: &Order) -> Result<(), EngineError> {
        let leaf = access.session().leaf_id();
        if leaf == Some(&self.leaf_id) {
            return Ok(());
        }
        let context = access.view().project(leaf)?;
        let context = context.hiding(&order.hidden(&context));
        let call_id = cut_point::answered_since(context.entries(), &self.first_kept_entry_id, &self.leaf_id);
        call_id.map_or(Ok(()), |call_id| {
            let (expected, actual) = (Some(self.leaf_id.clone()), leaf.cloned());
            Err(EngineError::ResultCame { call_id, expected, actual })
        })
    }

    /// The plan without secrets, for summarizers and facts. It reads all messages and belongs on a worker thread. With
    /// `spares_core`, one core is left for other work.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] once `cancel` is cancelled.
    pub(super) fn redacted(
        &self,
        order: &Arc<Order>,
        spares_core: bool,
        cancel: &CancellationToken,
    ) -> Result<RedactedPlan, EngineError> {
        let (cut_sizes, order) = (self.cut_sizes, Arc::clone(order));
        let (mut preparation, mut kept) = (self.preparation.clone(), self.kept.clone());
        let mut custom_instructions = order.custom_instructions.clone();
        let removing = redactor(&order.settings, spares_core).map(|redactor| {
            redactor.of_operation(|redactor| {
                redactor.messages(&mut kept, cancel)?;
                let mut redactions = redactor.preparation(&mut preparation, cancel)?;
                add_counts(&mut redactions, &redactor.text(&mut custom_instructions));
                Ok(redactions)
            })
        });
        let (redactor, redactions) = removing.transpose()?.unzip();
        Ok(RedactedPlan {
            preparation: Arc::new(preparation),
            kept,
            cut_sizes,
            order,
            custom_instructions,
            redactor,
            redactions: redactions.unwrap_or_default(),
        })
    }

    /// The conversation before the entry `end`, for a model that continues it.
    pub(super) fn conversation(&self, end: &EntryId) -> Option<Arc<Conversation>> {
        let (context, first_kept) = (Arc::clone(self.context.as_ref()?), self.first_kept_entry_id.clone());
        Some(Arc::new(Conversation::new(context, end.clone(), first_kept, self.window)))
    }

    fn prepared(order: &Order, preparation: Preparation, projection: &Projection, pins: &Pins) -> Self {
        let first_kept = &preparation.first_kept_entry_id;
        Self {
            first_kept_entry_id: preparation.first_kept_entry_id.clone(),
            leaf_id: preparation.leaf_id.clone(),
            tokens_before: preparation.tokens_before,
            cut_sizes: CutSizes::of(projection, first_kept, pins, order.context_size(projection)),
            kept: kept(projection, first_kept),
            preparation,
            context: None,
            window: None,
        }
    }

    /// Checks a summary that the caller wrote, and the cut that the caller chose.
    fn given(
        access: &SessionAccess<'_>,
        order: &Order,
        given: &GivenSummary,
        (projection, pins): (&Projection, &Pins),
        preparation: Result<Preparation, Refusal>,
    ) -> Result<Self, EngineError> {
        given.text.check()?;
        let (Some(first_kept), Some(leaf)) = (&given.first_kept_entry_id, access.session().leaf_id()) else {
            return Ok(Self::prepared(order, preparation?, projection, pins));
        };
        check_first_kept(access, first_kept, leaf, &order.hidden(projection))?;
        Ok(Self::at_given_cut(order, (projection, pins), leaf, first_kept))
    }

    /// The plan for a given summary with its own cut.
    fn at_given_cut(
        order: &Order,
        (projection, pins): (&Projection, &Pins),
        leaf: &EntryId,
        first_kept: &EntryId,
    ) -> Self {
        let (compaction, tools) = (order.compaction_of(projection), order.settings.file_tools());
        let given = Preparation::of_given(projection, leaf, first_kept, compaction, &tools);
        Self::prepared(order, given, projection, pins)
    }

    /// Applies the cut of a hook. Its text is checked with the account.
    pub(super) async fn accept(
        &mut self,
        operation: &SummaryOperation,
        given: &GivenSummary,
        order: &Arc<Order>,
    ) -> Result<(), EngineError> {
        if let Some(first_kept) = &given.first_kept_entry_id {
            let (first_kept, leaf, order) = (first_kept.clone(), self.leaf_id.clone(), Arc::clone(order));
            let check = move |access: &mut SessionAccess<'_>| {
                let projection = access.view().project(Some(&leaf))?;
                let hidden = order.hidden(&projection);
                check_first_kept(access, &first_kept, &leaf, &hidden)?;
                let pins = access.view().pins(Some(&leaf))?;
                Ok(Self::at_given_cut(&order, (&projection.hiding(&hidden), &pins), &leaf, &first_kept))
            };
            *self = operation.in_turn(check).await.map_err(of_hook)?;
        }
        self.tokens_before = given.tokens_before.unwrap_or(self.tokens_before);
        Ok(())
    }
}

/// Minimum estimated tokens of a context whose messages are read on a thread of their own.
const LONG_CONTEXT: u64 = 20_000;
/// Number of messages that are not worth a thread.
const FEW_MESSAGES: usize = 32;

/// Runs `work`, which may search a whole file. Meanwhile the messages of a long context are read, and then the rest on
/// two threads, because the preparation needs them next.
fn read_beside<T>(projection: &Projection, work: impl FnOnce() -> T) -> T {
    if tokens::context_tokens(projection).tokens < LONG_CONTEXT {
        return work();
    }
    let messages: Vec<&Message> = projection.messages().filter(|message| !message.is_read()).collect();
    if messages.len() < FEW_MESSAGES {
        return work();
    }
    let read = || messages.iter().for_each(|message| message.read_ahead());
    // Both threads read until they meet: a message that was read already costs nothing.
    let read_backwards = || {
        let unread = messages.iter().rev().take_while(|message| !message.is_read());
        unread.for_each(|message| message.read_ahead());
    };
    std::thread::scope(|scope| {
        // Without another thread, the messages are read where they are needed.
        let is_shared = std::thread::Builder::new().spawn_scoped(scope, read).is_ok();
        let done = work();
        if is_shared {
            read_backwards();
        }
        done
    })
}

/// Prepares a compaction at the cut that the caller chose.
fn prepare_at(
    access: &SessionAccess<'_>,
    order: &Order,
    projection: &Projection,
    first_kept: &EntryId,
) -> Result<Result<Preparation, Refusal>, EngineError> {
    if order.summary.as_ref().is_some_and(|given| given.first_kept_entry_id.is_some()) {
        return Err(EngineError::invalid_argument(
            "firstKeptEntryId",
            "nothing where `summary.firstKeptEntryId` is given",
        ));
    }
    let (compaction, tools) = (order.compaction_of(projection), order.settings.file_tools());
    let prepared = Preparation::at(projection, access.session().leaf_id(), first_kept, compaction, &tools);
    chosen_cut(access.view(), first_kept, prepared)
}

/// A preparation at a cut that the caller chose. The inner error says why nothing is compacted.
fn chosen_cut(
    view: SessionView<'_>,
    first_kept: &EntryId,
    prepared: Result<Preparation, ChosenCutError>,
) -> Result<Result<Preparation, Refusal>, EngineError> {
    let invalid = match prepared {
        Ok(preparation) => return Ok(Ok(preparation)),
        Err(ChosenCutError::Refused(refusal)) => return Ok(Err(refusal)),
        Err(ChosenCutError::Invalid(invalid)) => invalid,
    };
    view.header(first_kept)?;
    let expected = format!("an entry where the context can be cut; cannot {invalid}");
    Err(EngineError::invalid_argument("firstKeptEntryId", expected))
}

/// The messages of the context from `first_kept` on. If that entry is before the context, all messages except the
/// summary of the last compaction.
pub(super) fn kept(projection: &Projection, first_kept: &EntryId) -> Vec<PreparedMessage> {
    let entries = projection.entries();
    let position = entries.iter().position(|projected| projected.entry.id() == first_kept);
    let kept = &entries[position.unwrap_or(usize::from(projection.compaction().is_some()))..];
    kept.iter()
        .flat_map(|projected| {
            let prepared = |message: &Arc<Message>| PreparedMessage {
                entry_id: projected.entry.id().clone(),
                message: Arc::clone(message),
            };
            projected.messages.iter().map(prepared)
        })
        .collect()
}

/// Checks that a cut is on the branch and separates no tool call from its result, not even from one that has yet to
/// arrive, unless the answer with the call is about to be hidden.
fn check_first_kept(
    access: &SessionAccess<'_>,
    first_kept: &EntryId,
    leaf: &EntryId,
    hidden: &[EntryId],
) -> Result<(), EngineError> {
    let (view, path) = (access.view(), "summary.firstKeptEntryId");
    view.header(first_kept)?;
    if !view.read(|session| session.is_on_branch(first_kept, Some(leaf)))? {
        return Err(EngineError::invalid_argument(path, format!("an entry on the branch that ends at {leaf}")));
    }
    let branch = view.read(|session| session.branch_entries(Some(leaf)))?;
    let parts = |what: String| {
        let expected = format!("an entry that does not part a tool call from its result; {first_kept} parts {what}");
        Err(EngineError::invalid_argument(path, expected))
    };
    if let Some(call_id) = cut_point::parted_pair(&branch, first_kept) {
        return parts(format!("call {call_id}"));
    }
    match cut_point::pending_before(&branch, first_kept).filter(|call| !hidden.contains(&call.entry_id)) {
        Some(call) => parts(format!("call {} from the one that has not come yet", call.call_id)),
        None => Ok(()),
    }
}

/// Turns an error about a caller's summary into one about a hook's.
pub(super) fn of_hook(error: EngineError) -> EngineError {
    match error {
        EngineError::InvalidArgument { path, expected } => {
            EngineError::invalid_hook_result(path.replacen("summary", "compaction", 1), expected)
        }
        EngineError::EntryNotFound { entry_id, .. } => EngineError::invalid_hook_result(
            "compaction.firstKeptEntryId",
            format!("an entry of the session; {entry_id} is none"),
        ),
        error => error,
    }
}

/// The size of a context, as its provider counts and as estimated.
///
/// The provider counts more if prompt and tools are outside of the session, or if the text has more tokens than
/// estimated, such as Chinese. The two cases cannot be distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContextSize {
    /// As the provider counts; at least the estimate.
    pub(crate) provider_tokens: u64,
    /// As estimated.
    pub(crate) estimated: u64,
}

impl ContextSize {
    /// Measures a context.
    pub(crate) fn of(projection: &Projection) -> Self {
        let estimated = tokens::estimate_context(projection);
        Self { provider_tokens: tokens::context_tokens(projection).tokens.max(estimated), estimated }
    }

    /// The provider's count for `tokens` estimated tokens, rounded up.
    pub(crate) fn to_provider_tokens(self, tokens: u64) -> u64 {
        scale(tokens, self.provider_tokens, self.estimated, true)
    }

    /// The estimate for `tokens` tokens of the provider, rounded down.
    pub(crate) fn to_estimated_tokens(self, tokens: u64) -> u64 {
        scale(tokens, self.estimated, self.provider_tokens, false)
    }

    /// Tokens that the provider counts beyond the estimate.
    pub(super) fn excess(self) -> u64 {
        self.provider_tokens - self.estimated
    }
}

/// `tokens * to / from`; `tokens` if either is zero.
fn scale(tokens: u64, to: u64, from: u64, rounds_up: bool) -> u64 {
    if to == from || from == 0 || to == 0 {
        return tokens;
    }
    let (product, from) = (u128::from(tokens) * u128::from(to), u128::from(from));
    let scaled = if rounds_up { product.div_ceil(from) } else { product / from };
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The two sides of a cut, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CutSizes {
    /// The kept part: prompt and messages.
    pub(super) kept: u64,
    /// Pinned entries that are removed and appended to the summary.
    pub(super) pinned: u64,
    /// The removed part, including pinned entries and an earlier summary; `None` where the cut restores entries that
    /// an earlier compaction had removed.
    pub(super) replaced: Option<u64>,
    /// The whole context.
    pub(super) context_size: ContextSize,
}

impl CutSizes {
    /// Measures both sides of the cut before `first_kept`.
    pub(super) fn of(projection: &Projection, first_kept: &EntryId, pins: &Pins, context_size: ContextSize) -> Self {
        let entries = projection.entries();
        let position = entries.iter().position(|projected| projected.entry.id() == first_kept);
        let (gone, kept) = entries.split_at(position.unwrap_or(usize::from(projection.compaction().is_some())));
        // Prompt and tools stay even if their messages are removed: the compaction carries their state.
        let prompt = projection.system_tokens();
        let pinned = || pins.evicted(Some(entries[gone.len()].depth)).map(|pinned| pinned.tokens).sum();
        Self {
            kept: prompt.saturating_add(conversation(kept)),
            pinned: position.map_or(0, |_| pinned()),
            replaced: position.map(|_| conversation(gone)),
            context_size,
        }
    }

    /// The largest possible saving: the removed part without pinned entries.
    pub(super) fn gain(&self) -> Option<u64> {
        self.replaced.map(|replaced| replaced.saturating_sub(self.pinned))
    }

    /// The kept tokens as the provider counts, if all messages weigh more than estimated.
    pub(super) fn staying(&self) -> u64 {
        self.context_size.to_provider_tokens(self.kept.saturating_add(self.pinned))
    }

    /// The kept tokens as the provider counts, if the excess over the estimate is outside of the messages and stays.
    /// Never less than [`CutSizes::staying`].
    pub(super) fn staying_at_most(&self) -> u64 {
        self.context_size.provider_tokens.saturating_sub(self.gain().unwrap_or(0))
    }

    /// Estimated tokens that remain under `threshold` beside a summary of `summary_tokens`.
    pub(super) fn room_under(&self, threshold: u64, summary_tokens: u64) -> u64 {
        let taken = self.kept.saturating_add(self.pinned).saturating_add(summary_tokens);
        self.context_size.to_estimated_tokens(threshold).saturating_sub(taken)
    }
}

fn conversation(entries: &[ProjectedEntry]) -> u64 {
    let messages = entries.iter().flat_map(|projected| &projected.messages);
    let weights = messages.filter(|message| !message.is_system()).map(|message| message.tokens());
    weights.fold(0, u64::saturating_add)
}

/// The redactor of the settings, if they enable it. It leaves a core to other work if it `spares_core`.
fn redactor(settings: &Settings, spares_core: bool) -> Option<Arc<Redactor>> {
    let redactor = settings.redaction().redactor()?;
    Some(if spares_core { Arc::new(redactor.sparing_a_core()) } else { redactor })
}

/// A preview of a compaction.
#[derive(Debug)]
pub struct Preview {
    /// What would be compacted.
    pub preparation: Preparation,
    projection: Arc<Projection>,
}

impl Preview {
    /// Previews a compaction of the branch that ends at `leaf`; changes nothing. The entries from `first_kept` on
    /// would stay, where it is given. The inner error says why nothing would be compacted.
    ///
    /// # Errors
    /// Those of the store, and those of an invalid cut.
    pub fn of(
        view: SessionView<'_>,
        leaf: Option<&EntryId>,
        first_kept: Option<&EntryId>,
        settings: &Settings,
    ) -> Result<Result<Self, Refusal>, EngineError> {
        let projection = view.project(leaf)?;
        read_beside(&projection, || ());
        let fitted = FittedSettings::of(settings, view.open.auto_compaction.effective_model().as_ref());
        let compaction = fitted.map_or_else(|| settings.compaction_at(projection.model()), |fitted| fitted.compaction);
        let tools = settings.file_tools();
        let preparation = match (first_kept, fitted) {
            (Some(first_kept), _) => {
                let prepared = Preparation::at(&projection, leaf, first_kept, compaction, &tools);
                chosen_cut(view, first_kept, prepared)?
            }
            (None, Some(fitted)) => fitted.prepare(settings, &projection, leaf),
            (None, None) => Preparation::of(&projection, leaf, compaction, &tools),
        };
        Ok(preparation.map(|preparation| Self { preparation, projection }))
    }

    /// The requests that a model with these limits would get, in order and without secrets. If the conversation does not
    /// fit one request, the later requests here lack the answers that they would update.
    ///
    /// # Errors
    /// [`EngineError::SummarizerFailed`] where the window is too small for any request.
    pub fn requests(
        &self,
        settings: &Settings,
        focus: Option<&str>,
        limits: ModelLimits,
    ) -> Result<Vec<SummaryRequest>, EngineError> {
        self.requests_beside(settings, focus, limits, false)
    }

    /// As [`Preview::requests`]. It leaves a core to other work if it `spares_core`.
    fn requests_beside(
        &self,
        settings: &Settings,
        focus: Option<&str>,
        limits: ModelLimits,
        spares_core: bool,
    ) -> Result<Vec<SummaryRequest>, EngineError> {
        let (mut preparation, mut focus) = (self.preparation.clone(), focus.map(str::to_owned));
        let mut kept = kept(&self.projection, &preparation.first_kept_entry_id);
        let never = CancellationToken::new();
        let removing = redactor(settings, spares_core).map(|redactor| {
            redactor.of_operation(|redactor| {
                redactor.messages(&mut kept, &never)?;
                redactor.text(&mut focus);
                redactor.preparation(&mut preparation, &never)
            })
        });
        let redactor = removing.transpose()?.map(|(redactor, _)| redactor);
        let mut requests = Vec::new();
        for job in jobs(&preparation, focus.as_deref(), &Arc::new(prompt_texts(settings)), settings, u64::MAX) {
            let redact = redactor.clone().map(|redactor| Arc::new(RedactedTexts::new(redactor)) as Arc<dyn Redact>);
            let plan = job.plan(limits, None, redact).map_err(|error| EngineError::SummarizerFailed {
                cause: format!("failed to {error}"),
                retryable: false,
                attempts: 0,
            })?;
            let answer = |index| (index > 0).then_some("(the answer to the request before)");
            let planned = (0..plan.requests()).filter_map(|index| plan.request(index, answer(index)));
            requests.extend(planned.map(|mut request| {
                if let Some(redactor) = &redactor {
                    redactor.long_text(&mut request.prompt, spares_core);
                }
                request
            }));
        }
        Ok(requests)
    }

    /// [`Preview::requests`] and [`Preview::forecast`], made at the same time.
    ///
    /// # Errors
    /// Those of [`Preview::requests`].
    pub fn requests_and_forecast(
        &self,
        settings: &Settings,
        focus: Option<&str>,
        limits: ModelLimits,
    ) -> Result<(Vec<SummaryRequest>, Retention), EngineError> {
        let (forecast, requests) = both(|| self.forecast(), || self.requests_beside(settings, focus, limits, true));
        Ok((requests?, forecast))
    }

    /// What any summary retains at least after its repair.
    pub fn forecast(&self) -> Retention {
        let reserve_tokens = self.preparation.settings.reserve_tokens;
        let limits = OutputLimits { reserve_tokens, model_max_tokens: None };
        let kept = kept(&self.projection, &self.preparation.first_kept_entry_id);
        let (ledger, max_tokens) = (self.preparation.ledger(), limits.max_tokens(RequestKind::History));
        extractive::forecast(&ledger, max_tokens, reserve_tokens, &kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_counts_over_the_estimate_is_spread_over_the_messages() {
        let check = |provider_tokens, estimated, tokens, expected: (u64, u64)| {
            let context_size = ContextSize { provider_tokens, estimated };
            assert_eq!((context_size.to_provider_tokens(tokens), context_size.to_estimated_tokens(tokens)), expected);
        };
        check(7_010, 1_760, 1_000, (3_983, 251));
        check(1_760, 1_760, 1_000, (1_000, 1_000));
        check(0, 0, 1_000, (1_000, 1_000));
        check(5, 0, 1_000, (1_000, 1_000));
        check(u64::MAX, 1, u64::MAX, (u64::MAX, 1));
    }

    #[test]
    fn pinned_entries_are_no_gain_and_take_room() {
        let context_size = ContextSize { provider_tokens: 4_000, estimated: 4_000 };
        let cut_sizes = CutSizes { kept: 400, pinned: 3_500, replaced: Some(3_600), context_size };
        assert_eq!((cut_sizes.gain(), cut_sizes.staying(), cut_sizes.staying_at_most()), (Some(100), 3_900, 3_900));
        assert_eq!((cut_sizes.room_under(4_000, 60), cut_sizes.room_under(3_000, 60)), (40, 0));
    }
}
