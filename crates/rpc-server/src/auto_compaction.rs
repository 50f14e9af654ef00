//! Compactions that the server begins by itself (docs/triggers.md): after each message of a
//! person, each answer, each tool result, and after a change of the model, it asks whether one is due,
//! before the next request could overflow.

mod clip;
mod state;

use std::sync::Arc;
use std::time::SystemTime;

use compaction_core::entry::{Entry, EntryKind, Role};
use compaction_core::message::Message;
use compaction_core::projection::{ProjectedEntry, Projection};
use compaction_core::settings::CompactionSettings;
use compaction_core::tokens::known_context_tokens;
use compaction_core::trigger::{
    self, Gauge, TriggerAction, TriggerDecision, TriggerInput, TriggerModel, TriggerReason,
};
use compaction_core::undo::CopiedDepths;

use crate::call::change;
use crate::compactor::{self, Begun, Circumstances, Order};
use crate::convert;
use crate::errors::RpcError;
use crate::handlers::compaction::is_switched_off;
use crate::handlers::context::{project, usage};
use crate::server::Server;
use crate::session::{OpenSession, SessionAccess};
use crate::settings::Settings;
use crate::summarizers::{self, Chain};
use crate::wire::{AutomaticCompaction, CompactionReason, ContextUsage, Model};

pub(crate) use state::AutoCompaction;

/// What an append brought about.
#[derive(Default)]
pub(crate) struct Outcome {
    /// How full the window is, where the model is known.
    pub(crate) usage: Option<ContextUsage>,
    /// What the caller is told of a compaction that is due.
    pub(crate) told: Option<AutomaticCompaction>,
    /// A compaction that has begun, to be started once the turn is over.
    pub(crate) begun: Option<Due>,
}

/// A compaction that has begun.
pub(crate) struct Due {
    begun: Begun,
    order: Arc<Order>,
    chain: Chain,
}

impl Due {
    /// Starts the work; nobody waits for it, since its end is told by a notification.
    pub(crate) fn start(self, server: &Arc<Server>) {
        drop(compactor::start(server, self.begun, self.order, self.chain));
    }
}

/// Asks, in the session's turn, whether `entry`, which was just appended, makes a compaction due,
/// and begins it. What goes wrong here is no reason to fail the append.
pub(crate) fn after_append(access: &mut SessionAccess<'_>, entry: &Entry) -> Outcome {
    let Some(model) = access.open().auto_compaction.model() else {
        return Outcome::default();
    };
    match look(access, entry, &model) {
        Ok(outcome) => outcome,
        Err(error) => {
            tracing::warn!(%error, session = access.open().id, "whether a compaction is due could not be decided");
            Outcome::default()
        }
    }
}

fn look(access: &mut SessionAccess<'_>, entry: &Entry, model: &Model) -> Result<Outcome, RpcError> {
    let is_asked = matches!(entry.header().role, Some(Role::User | Role::Assistant | Role::ToolResult));
    let settings = if is_asked { Some(access.server().settings()?) } else { None };
    let auto_compaction = &access.open().auto_compaction;
    if let Some(read) = entry.message().and_then(|message| trigger::read_tokens(message)) {
        auto_compaction.learn_read(read);
    }
    let room = auto_compaction.room_of(model);
    let may_be_due = |gauge: &Gauge| {
        let compaction = settings.as_ref().map(|settings| compaction(model, settings));
        compaction.is_some_and(|compaction| gauge.may_be_due(&trigger_model(model, room), &compaction))
    };
    if let Some(gauge) = auto_compaction.gauge_at(entry.id()).filter(|gauge| !may_be_due(gauge)) {
        let usage = Some(usage(gauge.known_tokens(), model.context_window));
        return Ok(Outcome { usage, ..Outcome::default() });
    }
    let projection = project(access.session(), access.open(), access.session().leaf_id())?;
    auto_compaction.remember_context(&projection);
    let usage = Some(usage(known_context_tokens(&projection), model.context_window));
    let Some(settings) = settings else {
        return Ok(Outcome { usage, ..Outcome::default() });
    };
    let message = entry.message().map(Arc::as_ref);
    // The request that follows is the first one for this message, and has its own recovery.
    let looks_at = if message.is_some_and(Message::starts_turn) { Reasons::Threshold } else { Reasons::All };
    let outcome = decide(access, &projection, message, model, (&settings, looks_at));
    Ok(Outcome { usage, ..outcome })
}

/// What may make a compaction due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reasons {
    /// The size of the context alone.
    Threshold,
    /// That, and what the last answer shows.
    All,
}

/// Decides with the context at hand, and begins what is due.
fn decide(
    access: &mut SessionAccess<'_>,
    projection: &Arc<Projection>,
    message: Option<&Message>,
    model: &Model,
    (settings, reasons): (&Settings, Reasons),
) -> Outcome {
    let decision = decision(access.open(), projection, message, model, settings);
    let decision = if reasons == Reasons::Threshold { decision.by_threshold() } else { decision };
    if let Some(room) = decision.room {
        access.open().auto_compaction.learn_room(room);
    }
    // Only the answer that failed says so; what comes after it asks about the same one.
    let is_answer = message.is_some_and(|message| message.as_assistant().is_some());
    if let Some(advice) = decision.advice.filter(|_| is_answer) {
        return still_too_large(access, &decision, advice, projection, settings);
    }
    let Some(reason) = decision.reason.filter(|_| decision.action == TriggerAction::Compact) else {
        return Outcome { told: told_of_nothing(&decision, is_answer), ..Outcome::default() };
    };
    let is_undone = reason == TriggerReason::Threshold && was_undone(projection);
    let reason = match reason {
        TriggerReason::Threshold => CompactionReason::Threshold,
        TriggerReason::Overflow => CompactionReason::Overflow,
    };
    let told = told(&decision, reason);
    let skipped = |why: &str| Outcome {
        told: Some(AutomaticCompaction { skipped: Some(why.to_owned()), ..told.clone() }),
        ..Outcome::default()
    };
    if is_undone {
        return skipped("undone");
    }
    let open = access.open();
    if let Some(running) = open.operation_id() {
        open.auto_compaction.note_missed_check();
        let outcome = skipped("operationInProgress");
        let told = outcome.told.map(|told| AutomaticCompaction { operation_id: Some(running), ..told });
        return Outcome { told, ..Outcome::default() };
    }
    let order = Arc::new(order(&open.id, reason, &decision, projection, settings));
    let (clipped, projection) = match clip::clip(access, projection, &order) {
        Ok(clip::Clipped::Nothing) => (Vec::new(), Arc::clone(projection)),
        Ok(clip::Clipped::Enough { operation_id, clipped }) => {
            let told = AutomaticCompaction { operation_id: Some(operation_id), clipped, ..told };
            return Outcome { told: Some(told), ..Outcome::default() };
        }
        Ok(clip::Clipped::Some { clipped, projection }) => (clipped, projection),
        Err(error) => {
            tracing::warn!(%error, session = access.open().id, "a tool result could not be shortened");
            (Vec::new(), Arc::clone(projection))
        }
    };
    let told = AutomaticCompaction { clipped, ..told };
    // A request that was refused has one recovery, and no other way out: there is nothing to pause for.
    let is_paused = reason == CompactionReason::Threshold;
    let paused = access.open().breaker.open_until(SystemTime::now()).filter(|_| is_paused);
    if let Some(until) = paused {
        let skipped = Some("failedRepeatedly".to_owned());
        let told = AutomaticCompaction { skipped, until: Some(until), ..told };
        return Outcome { told: Some(told), ..Outcome::default() };
    }
    begin_or_tell(access, order, told, &projection)
}

/// Begins the compaction that was ordered, or tells why it cannot.
fn begin_or_tell(
    access: &mut SessionAccess<'_>,
    order: Arc<Order>,
    told: AutomaticCompaction,
    projection: &Projection,
) -> Outcome {
    let error = match begin(access, &order) {
        Ok((begun, chain)) => {
            let told = AutomaticCompaction { operation_id: Some(begun.guard.id.clone()), ..told };
            return Outcome { told: Some(told), begun: Some(Due { begun, order, chain }), usage: None };
        }
        Err(error) => error,
    };
    // What cannot be compacted now may be at the next message, and has cost nothing.
    if !matches!(error.kind(), "nothingToCompact" | "alreadyCompacted") {
        access.open().breaker.failed(SystemTime::now());
    }
    compactor::note_recovery(access.open(), &order, Some(&error));
    let body = error.to_body();
    let operation_id = tell_failure(access, &order, told.context_tokens, error, trigger::is_unfinished(projection));
    let told = AutomaticCompaction { operation_id: Some(operation_id), error: Some(body), ..told };
    Outcome { told: Some(told), ..Outcome::default() }
}

/// What the caller is told of a compaction that is due for `reason`, before anything is known of it.
fn told(decision: &TriggerDecision, reason: CompactionReason) -> AutomaticCompaction {
    AutomaticCompaction {
        operation_id: None,
        reason,
        will_retry: decision.will_retry,
        skipped: None,
        until: None,
        error: None,
        clipped: Vec::new(),
        context_tokens: decision.context_tokens,
        threshold: decision.threshold,
        refused: convert::refused_size(&decision.reported),
    }
}

/// What the caller is told where nothing is due: why a refused request, or a context over the threshold,
/// is let be. Only the answer that was refused says so; what comes after it asks about the same one.
fn told_of_nothing(decision: &TriggerDecision, is_answer: bool) -> Option<AutomaticCompaction> {
    let why = decision.skipped?;
    let reason = match decision.has_overflowed && is_answer {
        true => CompactionReason::Overflow,
        false if why == "alreadyCompacted" => CompactionReason::Threshold,
        false => return None,
    };
    Some(AutomaticCompaction { skipped: Some(why.to_owned()), will_retry: false, ..told(decision, reason) })
}

/// Whether a compaction of this branch was undone and nobody has asked for anything since: who
/// undoes one would not see it made again at the next message.
fn was_undone(projection: &Projection) -> bool {
    let Some(newest) = CopiedDepths::of(projection).newest() else {
        return false;
    };
    let is_new = |entry: &&ProjectedEntry| entry.depth < newest && entry.entry.kind() != EntryKind::Compaction;
    let new = projection.entries().iter().filter(is_new);
    !new.flat_map(|entry| &entry.messages).any(|message| message.starts_turn())
}

/// Tells a person that compacting does not help (docs/triggers.md, "Guards").
fn still_too_large(
    access: &SessionAccess<'_>,
    decision: &TriggerDecision,
    advice: &'static str,
    projection: &Projection,
    settings: &Settings,
) -> Outcome {
    let order = order(&access.open().id, CompactionReason::Overflow, decision, projection, settings);
    let (context_tokens, threshold) = (decision.context_tokens, decision.threshold);
    let error = RpcError::StillTooLarge { advice, context_tokens, threshold };
    let operation_id = tell_failure(access, &order, context_tokens, error, trigger::is_unfinished(projection));
    let told = AutomaticCompaction {
        operation_id: Some(operation_id),
        skipped: decision.skipped.map(str::to_owned),
        ..told(decision, CompactionReason::Overflow)
    };
    Outcome { told: Some(told), ..Outcome::default() }
}

fn decision(
    open: &OpenSession,
    projection: &Projection,
    message: Option<&Message>,
    model: &Model,
    settings: &Settings,
) -> TriggerDecision {
    let failed_recovery = open.auto_compaction.failed_recovery();
    trigger::check_compaction(&TriggerInput {
        projection,
        model: trigger_model(model, open.auto_compaction.room_of(model)),
        settings: compaction(model, settings),
        message: message.filter(|message| message.as_assistant().is_some()),
        failed_recovery: failed_recovery.as_ref(),
    })
}

/// The model as triggers know it; `room` is what its provider has shown to take.
pub(crate) fn trigger_model(model: &Model, room: Option<u64>) -> TriggerModel<'_> {
    TriggerModel {
        provider: &model.provider,
        id: &model.id,
        context_window: model.context_window,
        max_output_tokens: model.max_output_tokens,
        room,
    }
}

/// The settings for `model`, as the environment leaves them.
pub(crate) fn compaction(model: &Model, settings: &Settings) -> CompactionSettings {
    let mut compaction = settings.compaction_for(&model.provider, &model.id);
    compaction.enabled &= !is_switched_off();
    compaction
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
        counted: decision.reported.input.filter(|_| decision.has_overflowed),
        overflowed: overflowed.cloned(),
    }
}

fn begin(access: &mut SessionAccess<'_>, order: &Order) -> Result<(Begun, Chain), RpcError> {
    let chain = summarizers::chain(None, &order.settings, access.server())?;
    let parent = access.server().closing.clone();
    Ok((compactor::begin(access, order, &parent)?, chain))
}

/// Tells of a compaction that was due and could not begin: nobody asked for it, so that nobody else
/// would learn why the context grows (docs/field-reports.md, "Requests and summaries").
fn tell_failure(
    access: &SessionAccess<'_>,
    order: &Order,
    tokens_before: u64,
    error: RpcError,
    is_unfinished: bool,
) -> String {
    let operation_id = uuid::Uuid::now_v7().to_string();
    compactor::tell_start(access.server(), order, &operation_id, tokens_before);
    let paused_until = access.open().breaker.open_until(SystemTime::now());
    let circumstances = Circumstances { is_unfinished, paused_until, is_cancelled: false };
    compactor::tell_end(access.server(), order, operation_id.clone(), &Err(error), circumstances);
    operation_id
}

/// Asks once more after an operation, if messages came while it ran.
pub(crate) async fn check_again(server: &Arc<Server>, session: &Arc<OpenSession>) {
    if session.auto_compaction.take_missed_check() {
        check(server, session, Reasons::All).await;
    }
}

/// Asks whether the context is too large, as another model may have a smaller window.
pub(crate) async fn check_size(server: &Arc<Server>, session: &Arc<OpenSession>) {
    check(server, session, Reasons::Threshold).await;
}

async fn check(server: &Arc<Server>, session: &Arc<OpenSession>, reasons: Reasons) {
    if server.closing.is_cancelled() {
        return;
    }
    let guard = Arc::clone(&session.slot).write_owned().await;
    let look = change(Arc::clone(server), Arc::clone(session), guard, move |access| {
        let (Some(model), Some(leaf)) = (access.open().auto_compaction.model(), access.session().leaf_id().cloned())
        else {
            return Ok(Outcome::default());
        };
        let projection = project(access.session(), access.open(), Some(&leaf))?;
        let settings = access.server().settings()?;
        Ok(decide(access, &projection, None, &model, (&settings, reasons)))
    });
    match look.await {
        Ok(outcome) => {
            if let Some(due) = outcome.begun {
                due.start(server);
            }
        }
        Err(error) => tracing::warn!(%error, session = session.id, "whether a compaction is due could not be decided"),
    }
}
