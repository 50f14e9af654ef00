//! Automatic compactions (docs/triggers.md).
//!
//! The engine checks whether a compaction is due after each user message, answer and tool result, and after a change
//! of the model, before the next request could overflow. Tool results that are larger than the window are shortened
//! by edits, because no summary makes room for them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use compaction_core::clipping::{Clip, clip_tail};
use compaction_core::entry::{Entry, EntryKind, Role};
use compaction_core::message::Message;
use compaction_core::overflow::Reported;
use compaction_core::projection::{ProjectedEntry, Projection};
use compaction_core::settings::CompactionSettings;
use compaction_core::tokens::known_context_tokens;
use compaction_core::trigger;
use compaction_core::trigger::{Gauge, TriggerDecision, TriggerInput, TriggerReason};
use compaction_core::undo::CopiedDepths;
use session_store::{NewEntry, Parent, Precondition};

use crate::compactor::{BegunCompaction, EndState, Order};
use crate::engine::Engine;
use crate::error::{EngineError, ErrorKind};
use crate::host::{ClippedResult, CompactionDone, CompactionReason, OperationKind};
use crate::session::{AgentModel, MissedOverflow, OpenSession, SessionAccess, change};
use crate::settings::Settings;
use crate::structural_operation::{Begun, Operation};
use crate::tables::build_if_near;
use crate::{compactor, structural_operation};

/// The effect of an append.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct AppendOutcome {
    /// Usage of the window, if the model is known.
    pub usage: Option<WindowUsage>,
    /// The compaction that is due.
    pub compaction: Option<DueCompaction>,
    /// A compaction that has begun. The caller starts it after the turn.
    pub begun: Option<BegunCompaction>,
}

impl From<DueCompaction> for AppendOutcome {
    fn from(due: DueCompaction) -> Self {
        Self { compaction: Some(due), ..Self::default() }
    }
}

/// Usage of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUsage {
    /// Tokens of the context, if known.
    pub tokens: Option<u64>,
    /// Tokens of the window.
    pub context_window: u64,
}

/// A compaction that is due, and its state so far.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DueCompaction {
    /// The id of the operation that has begun or already runs.
    pub operation_id: Option<String>,
    /// The reason.
    pub reason: CompactionReason,
    /// Whether the failed request should be sent again afterwards.
    pub will_retry: bool,
    /// Why the compaction is skipped.
    pub skipped: Option<&'static str>,
    /// The pause after several failures in a row ends at this ISO 8601 time.
    pub until: Option<String>,
    /// Why it could not begin.
    pub error: Option<EngineError>,
    /// Tool results that were shortened.
    pub clipped: Vec<ClippedResult>,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// The threshold in tokens.
    pub threshold: u64,
    /// Numbers that the provider reported for the refused request.
    pub reported: Reported,
}

/// Runs an operation that was begun, even if nobody awaits the outcome. Afterwards, messages that were appended
/// meanwhile may make a compaction due.
pub(crate) fn start<O: Operation + 'static>(
    engine: &Arc<Engine>,
    begun: Begun<O>,
) -> impl Future<Output = Result<O::Done, EngineError>> + Send + use<O> {
    let (running, session) = (Arc::clone(engine), Arc::clone(begun.session()));
    let ended = engine.operations.spawn(async move {
        let (outcome, is_cancelled) = structural_operation::run(&running, begun).await;
        match O::KIND {
            // A caller that cancels a compaction does not want the next one at once.
            OperationKind::Compaction if is_cancelled => session.auto_compaction.state().is_check_missed = false,
            OperationKind::Compaction | OperationKind::Navigation => running.check_again(&session).await,
        }
        outcome
    });
    let early = |error| EngineError::internal(format!("the {} ended early: {error}", O::KIND.name()));
    async move { ended.await.map_err(early)? }
}

fn check_append(
    access: &mut SessionAccess<'_>,
    entry: &Entry,
    model: &AgentModel,
) -> Result<AppendOutcome, EngineError> {
    let is_asked = matches!(entry.header().role, Some(Role::User | Role::Assistant | Role::ToolResult));
    let settings = if is_asked { Some(access.engine().settings()) } else { None };
    let auto_compaction = &access.open().auto_compaction;
    let message = entry.message().map(Arc::as_ref);
    if let Some(read) = message.and_then(trigger::read_tokens) {
        auto_compaction.learn_read(read);
    }
    let learn = |context: Option<u64>| {
        if let Some(tokens) = message.and_then(|message| trigger::unreported_tokens(message, context)) {
            auto_compaction.learn_estimate(tokens);
        }
    };
    let gauge = auto_compaction.gauge_at(entry.id());
    learn(gauge.as_ref().and_then(Gauge::known_tokens));
    let room = auto_compaction.room_of(model);
    let may_be_due = |gauge: &Gauge| {
        let compaction = settings.as_ref().map(|settings| access.engine().trigger_settings(model, settings));
        compaction.is_some_and(|compaction| gauge.may_be_due(&model.for_trigger(room), &compaction))
    };
    if let Some(gauge) = gauge.filter(|gauge| !may_be_due(gauge)) {
        let usage = Some(usage(gauge.known_tokens(), model));
        return Ok(AppendOutcome { usage, ..AppendOutcome::default() });
    }
    let projection = access.view().project_leaf()?;
    auto_compaction.state().gauge = Gauge::of(&projection);
    let known = known_context_tokens(&projection);
    learn(known);
    let usage = Some(usage(known, model));
    let Some(settings) = settings else {
        return Ok(AppendOutcome { usage, ..AppendOutcome::default() });
    };
    // The next request is the first for this message. It has its own recovery.
    let considered =
        if message.is_some_and(Message::starts_turn) { Considered::SizeOnly } else { Considered::SizeAndOverflow };
    let outcome = begin_if_due(access, &projection, message, &Check { model, settings: &settings, considered });
    Ok(AppendOutcome { usage, ..outcome })
}

/// What a check considers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Considered {
    SizeOnly,
    /// The size, and an overflow of the last answer.
    SizeAndOverflow,
}

/// How a context is checked.
struct Check<'a> {
    model: &'a AgentModel,
    settings: &'a Settings,
    considered: Considered,
}

/// Begins a compaction if one is due for a projection. `message` is the one that was just appended.
fn begin_if_due(
    access: &mut SessionAccess<'_>,
    projection: &Arc<Projection>,
    message: Option<&Message>,
    check: &Check<'_>,
) -> AppendOutcome {
    let settings = check.settings;
    let answer = message.filter(|message| message.as_assistant().is_some());
    let decision = access.engine().check(access.open(), projection, answer, check.model, settings);
    let decision = if check.considered == Considered::SizeOnly { decision.by_threshold() } else { decision };
    if let Some(room) = decision.room {
        access.open().auto_compaction.learn_room(room);
    }
    // The same answer decides about the messages after it. The error is reported once, for the answer itself.
    if let Some(advice) = decision.advice.filter(|_| answer.is_some()) {
        return still_too_large(access, &decision, advice, projection, settings);
    }
    let Some(reason) = decision.reason else {
        return AppendOutcome {
            compaction: skipped_compaction(&decision, answer.is_some()),
            ..AppendOutcome::default()
        };
    };
    let reason = match reason {
        TriggerReason::Threshold => CompactionReason::Threshold,
        TriggerReason::Overflow => CompactionReason::Overflow,
    };
    let is_undone = reason == CompactionReason::Threshold && was_undone(projection);
    let due = due_compaction(&decision, reason);
    if is_undone {
        return DueCompaction { skipped: Some("undone"), ..due }.into();
    }
    let open = access.open();
    if let Some(running) = open.operation_id() {
        note_missed(open, &running, projection, due.will_retry);
        let skipped = Some("operationInProgress");
        return DueCompaction { operation_id: Some(running), skipped, ..due }.into();
    }
    let order = Arc::new(order(&open.id, reason, &decision, projection, settings));
    let (clipped, projection) = match clip(access, projection, &order) {
        Ok(Clipped::Nothing) => (Vec::new(), Arc::clone(projection)),
        Ok(Clipped::Enough { operation_id, clipped }) => {
            if let Some(answer) = &order.overflowed {
                access.open().auto_compaction.state().clipped_recovery = Some(answer.clone());
            }
            return DueCompaction { operation_id: Some(operation_id), clipped, ..due }.into();
        }
        Ok(Clipped::Some { clipped, projection }) => (clipped, projection),
        Err(error) => {
            tracing::warn!(%error, session = access.open().id, "a tool result could not be shortened");
            (Vec::new(), Arc::clone(projection))
        }
    };
    let due = DueCompaction { clipped, ..due };
    // A refused request has only this recovery, so a pause does not apply.
    let is_paused = reason == CompactionReason::Threshold;
    let paused = access.open().auto_compaction.state().breaker.open_until(SystemTime::now()).filter(|_| is_paused);
    if let Some(until) = paused {
        let skipped = Some("failedRepeatedly");
        return DueCompaction { skipped, until: Some(until), ..due }.into();
    }
    begin_or_report(access, order, due, &projection)
}

/// Notes that the operation `running` kept a due compaction from beginning, for a check after it.
fn note_missed(open: &OpenSession, running: &str, projection: &Projection, will_retry: bool) {
    let mut state = open.auto_compaction.state();
    state.is_check_missed = true;
    if let Some(answer) = trigger::last_answer(projection).filter(|_| will_retry) {
        let (operation_id, answer) = (running.to_owned(), answer.clone());
        state.missed_overflow = Some(MissedOverflow { operation_id, answer, is_hidden: false });
    }
}

/// Begins a compaction, or reports why it cannot begin.
fn begin_or_report(
    access: &mut SessionAccess<'_>,
    order: Arc<Order>,
    due: DueCompaction,
    projection: &Projection,
) -> AppendOutcome {
    let error = match begin(access, Arc::clone(&order)) {
        Ok(begun) => {
            let due = DueCompaction { operation_id: Some(begun.operation_id().to_owned()), ..due };
            return AppendOutcome { compaction: Some(due), begun: Some(begun), usage: None };
        }
        Err(error) => error,
    };
    // The next message may make it possible, and this attempt cost nothing.
    if !matches!(error.kind(), ErrorKind::NothingToCompact | ErrorKind::AlreadyCompacted) {
        access.open().auto_compaction.state().breaker.failed(SystemTime::now());
    }
    compactor::note_recovery(access.open(), &order, Some(&error));
    let is_unfinished = trigger::is_unfinished(projection);
    let operation_id = notify_failure(access, &order, due.context_tokens, error.clone(), is_unfinished);
    DueCompaction { operation_id: Some(operation_id), error: Some(error), ..due }.into()
}

/// A compaction that is due for `reason` and has not begun.
fn due_compaction(decision: &TriggerDecision, reason: CompactionReason) -> DueCompaction {
    DueCompaction {
        operation_id: None,
        reason,
        will_retry: decision.will_retry,
        skipped: None,
        until: None,
        error: None,
        clipped: Vec::new(),
        context_tokens: decision.context_tokens,
        threshold: decision.threshold,
        reported: decision.reported,
    }
}

/// The report about a compaction that a guard prevented: of an overflow, or of a context over the threshold that was
/// already compacted. An overflow is reported only for the answer itself, although the same answer decides about the
/// messages after it.
fn skipped_compaction(decision: &TriggerDecision, is_answer: bool) -> Option<DueCompaction> {
    let why = decision.skipped?;
    let reason = match decision.has_overflowed && is_answer {
        true => CompactionReason::Overflow,
        false if why == "alreadyCompacted" => CompactionReason::Threshold,
        false => return None,
    };
    Some(DueCompaction { skipped: Some(why), will_retry: false, ..due_compaction(decision, reason) })
}

/// Whether a compaction of this branch was undone without a new user message since. A user who undoes a compaction
/// does not want it again at the next message.
fn was_undone(projection: &Projection) -> bool {
    let Some(newest) = CopiedDepths::of(projection).newest() else {
        return false;
    };
    let is_new = |entry: &&ProjectedEntry| entry.depth < newest && entry.entry.kind() != EntryKind::Compaction;
    let new = projection.entries().iter().filter(is_new);
    !new.flat_map(|entry| &entry.messages).any(|message| message.starts_turn())
}

/// Reports that compacting does not help (docs/triggers.md, "Guards").
fn still_too_large(
    access: &SessionAccess<'_>,
    decision: &TriggerDecision,
    advice: &'static str,
    projection: &Projection,
    settings: &Settings,
) -> AppendOutcome {
    let order = order(&access.open().id, CompactionReason::Overflow, decision, projection, settings);
    let (context_tokens, threshold) = (decision.context_tokens, decision.threshold);
    let error = EngineError::StillTooLarge { advice, context_tokens, threshold };
    let operation_id = notify_failure(access, &order, context_tokens, error, trigger::is_unfinished(projection));
    let due = due_compaction(decision, CompactionReason::Overflow);
    DueCompaction { operation_id: Some(operation_id), skipped: decision.skipped, ..due }.into()
}

impl Engine {
    /// Checks whether `entry`, which was just appended under the session's lock, makes a compaction due, and begins
    /// it. A failure here does not fail the append.
    pub fn after_append(access: &mut SessionAccess<'_>, entry: &Entry) -> AppendOutcome {
        let Some(model) = access.open().auto_compaction.model() else {
            return AppendOutcome::default();
        };
        check_append(access, entry, &model).unwrap_or_else(|error| {
            tracing::warn!(%error, session = access.open().id, "whether a compaction is due could not be decided");
            AppendOutcome::default()
        })
    }

    /// Checks again whether a compaction is due, if messages were appended while another operation ran.
    pub async fn check_again(self: &Arc<Self>, session: &Arc<OpenSession>) {
        if std::mem::take(&mut session.auto_compaction.state().is_check_missed) {
            check(self, session, Considered::SizeAndOverflow).await;
        }
    }

    /// Checks whether the context is too large, because a new model may have a smaller window.
    pub async fn check_size(self: &Arc<Self>, session: &Arc<OpenSession>) {
        check(self, session, Considered::SizeOnly).await;
    }

    /// Decides whether a compaction is due before the next request to `model`; changes nothing. `message` is the
    /// answer to judge; the default is the last answer of the context.
    pub fn check(
        &self,
        open: &OpenSession,
        projection: &Projection,
        message: Option<&Message>,
        model: &AgentModel,
        settings: &Settings,
    ) -> TriggerDecision {
        let (failed_recovery, clipped_recovery) = open.auto_compaction.tried_recoveries();
        trigger::check_compaction(&TriggerInput {
            projection,
            model: model.for_trigger(open.auto_compaction.room_of(model)),
            settings: self.trigger_settings(model, settings),
            message,
            failed_recovery: failed_recovery.as_ref(),
            clipped_recovery: clipped_recovery.as_ref(),
        })
    }

    /// The settings for `model`. The host may have disabled automatic compactions.
    fn trigger_settings(&self, model: &AgentModel, settings: &Settings) -> CompactionSettings {
        let mut compaction = settings.compaction_for(&model.provider, &model.id);
        compaction.enabled &= self.is_automatic;
        compaction
    }
}

fn usage(tokens: Option<u64>, model: &AgentModel) -> WindowUsage {
    build_if_near(tokens.unwrap_or_default(), model.context_window);
    WindowUsage { tokens, context_window: model.context_window }
}

fn order(
    session_id: &str,
    reason: CompactionReason,
    decision: &TriggerDecision,
    projection: &Projection,
    settings: &Settings,
) -> Order {
    let mut compaction = settings.compaction();
    compaction.reserve_tokens = decision.limits.reserve_tokens;
    compaction.keep_recent_tokens = decision.limits.keep_recent_tokens;
    let overflowed = (reason == CompactionReason::Overflow).then(|| trigger::last_answer(projection)).flatten();
    Order {
        first_kept: None,
        session_id: session_id.to_owned(),
        reason,
        will_retry: decision.will_retry,
        force: false,
        custom_instructions: None,
        summary: None,
        settings: settings.clone(),
        compaction: Some(compaction),
        threshold: Some(decision.threshold),
        provider_tokens: decision.reported.input.filter(|_| decision.has_overflowed),
        overflowed: overflowed.cloned(),
    }
}

fn begin(access: &mut SessionAccess<'_>, order: Arc<Order>) -> Result<BegunCompaction, EngineError> {
    let engine = Arc::clone(access.engine());
    let settings = order.settings.clone();
    let chain = engine.summarizers(None, &settings)?;
    structural_operation::begin(access, order, settings, chain, &engine.closing)
}

/// Reports a compaction that was due and could not begin. Nobody asked for it, so nothing else would explain why the
/// context grows (docs/field-reports.md, "Requests and summaries").
fn notify_failure(
    access: &SessionAccess<'_>,
    order: &Order,
    tokens_before: u64,
    error: EngineError,
    is_unfinished: bool,
) -> String {
    let paused_until = access.open().auto_compaction.state().breaker.open_until(SystemTime::now());
    let end_state = EndState { is_unfinished, paused_until, ..EndState::default() };
    compactor::notify_without_summary(access.engine(), order, tokens_before, Err(error), end_state)
}

async fn check(engine: &Arc<Engine>, session: &Arc<OpenSession>, considered: Considered) {
    if engine.closing.is_cancelled() {
        return;
    }
    let guard = session.write().await;
    let begun_cell = Arc::new(Mutex::new(None));
    let filled = Arc::clone(&begun_cell);
    let check_in_turn = move |access: &mut SessionAccess<'_>| {
        let (Some(model), Some(leaf)) = (access.open().auto_compaction.model(), access.session().leaf_id().cloned())
        else {
            return Ok(());
        };
        let projection = access.view().project(Some(&leaf))?;
        let considered = if trigger::is_asked_anew(&projection) { Considered::SizeOnly } else { considered };
        let settings = access.engine().settings();
        let outcome =
            begin_if_due(access, &projection, None, &Check { model: &model, settings: &settings, considered });
        *filled.lock().unwrap_or_else(PoisonError::into_inner) = outcome.begun;
        Ok::<_, EngineError>(())
    };
    if let Err(error) = change(Arc::clone(engine), Arc::clone(session), guard, check_in_turn).await {
        tracing::warn!(%error, session = session.id, "a check for a due compaction failed");
    }
    // A compaction that was announced must end, even if the disk refused to store the shortened results before it.
    let begun = begun_cell.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(begun) = begun {
        // Nobody awaits it; an event reports its end.
        drop(start(engine, begun));
    }
}

/// The result of shortening.
enum Clipped {
    /// No result is too large.
    Nothing,
    /// The context fits now, and the host was notified.
    Enough {
        /// Names the operation in events.
        operation_id: String,
        /// The results that were shortened.
        clipped: Vec<ClippedResult>,
    },
    /// The context still has to be compacted.
    Some {
        /// The results that were shortened.
        clipped: Vec<ClippedResult>,
        /// The context afterwards.
        projection: Arc<Projection>,
    },
}

/// Shortens the tool results at the end of the context that leave a compaction too little room. If that is enough, the
/// failed attempt is hidden as well, and no summary is needed.
fn clip(access: &mut SessionAccess<'_>, projection: &Arc<Projection>, order: &Order) -> Result<Clipped, EngineError> {
    let Some(tail) = order.tail(projection, access.session().leaf_id()) else {
        return Ok(Clipped::Nothing);
    };
    let hidden = order.hidden(projection);
    let clips = clip_tail(&projection.hiding(&hidden), tail.first_kept.as_ref(), tail.room);
    if clips.is_empty() {
        return Ok(Clipped::Nothing);
    }
    access.check_writable()?;
    let saved: u64 = clips.iter().map(|clip| clip.tokens_before - clip.tokens_after).sum();
    let is_enough = tail.fits_without(saved);
    let mut edits: Vec<String> = clips.iter().map(Clip::members).collect();
    if is_enough {
        edits.extend(hidden.iter().map(compactor::hiding));
    }
    let new: Vec<NewEntry<'_>> = edits.iter().map(|edit| compactor::new_edit(access, edit)).collect();
    access.append(|session| session.append_all(&new, Parent::Leaf, &Precondition::None))?;
    let clipped: Vec<ClippedResult> = clips.into_iter().map(ClippedResult::from).collect();
    let after = access.view().project_leaf()?;
    if !is_enough {
        return Ok(Clipped::Some { clipped, projection: after });
    }
    let end_state = EndState { is_unfinished: trigger::is_unfinished(&after), ..EndState::default() };
    let done = Ok(CompactionDone::Clipped(clipped.clone()));
    let operation_id = compactor::notify_without_summary(access.engine(), order, tail.tokens, done, end_state);
    Ok(Clipped::Enough { operation_id, clipped })
}

impl From<Clip> for ClippedResult {
    fn from(clip: Clip) -> Self {
        let Clip { entry_id, tokens_before, tokens_after, .. } = clip;
        Self { entry_id, tokens_before, tokens_after }
    }
}
