//! A compaction, from the request to the stored entry (docs/preparation.md; docs/summaries.md).
//!
//! Preparing and committing hold the session's lock. While the summary is written, the session is free and appends
//! continue. Entries that are appended meanwhile come after the cut and are kept.

mod order;
mod plan;
mod summary;

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use compaction_core::entry::{Entry, EntryId};
use compaction_core::json::{RawObject, encode_string};
use compaction_core::message::Message;
use compaction_core::pins::{self, Pins};
use compaction_core::projection::{Branch as _, PathState, Projection};
use compaction_core::{tokens, trigger};
use serde_json::value::RawValue;
use session_store::{NewEntry, Parent, Precondition, Session, StoreError};

use crate::engine::Engine;
use crate::error::{EngineError, ErrorKind};
use crate::host::{
    BeforeCompaction, Compaction, CompactionDone, CompactionEnd, CompactionReason, Event, GivenSummary, OperationKind,
    Question,
};
use crate::session::{OpenSession, SessionAccess};
use crate::settings::Settings;
use crate::structural_operation::{Begun, Commit, EndedClaim, Operation, SummaryOperation};
use crate::summarizers::Chain;
use crate::threads::blocking;
pub use order::CompactionRequest;
use order::FittedSettings;
pub(crate) use order::Order;
use plan::Plan;
pub use plan::Preview;
use summary::Written;
pub(crate) use summary::prompt_texts;

/// A compaction that has claimed its session and notified the host of its start.
pub type BegunCompaction = Begun<CompactionOperation>;

/// A compaction that was prepared.
#[derive(Debug)]
pub struct CompactionOperation {
    plan: Arc<Plan>,
    /// The question to the host's hook.
    question: Option<BeforeCompaction>,
    /// The summary that the hook gave.
    given: Option<GivenSummary>,
    order: Arc<Order>,
    end_state: EndState,
}

#[async_trait]
impl Operation for CompactionOperation {
    const KIND: OperationKind = OperationKind::Compaction;

    type Request = Arc<Order>;

    type Done = Arc<Compaction>;

    fn prepare(
        access: &mut SessionAccess<'_>,
        order: Arc<Order>,
        _settings: &Settings,
        _chain: &Chain,
        operation_id: &str,
    ) -> Result<Self, EngineError> {
        let plan = Arc::new(Plan::of(access, &order)?);
        // Steps that can fail come before the start event, because every start event has an end event.
        let question = question(access, &order, &plan, operation_id)?;
        notify_start(access.engine(), &order, operation_id, plan.tokens_before);
        Ok(Self { plan, question, given: None, order, end_state: EndState::default() })
    }

    async fn ask(&mut self, run: &SummaryOperation) -> Result<Option<Self::Done>, EngineError> {
        if let Some(question) = self.question.take() {
            self.given = run.decision(|limit| run.engine.host.before_compaction(question, limit)).await?;
        }
        if let Some(given) = &self.given {
            Arc::make_mut(&mut self.plan).accept(run, given, &self.order).await?;
        }
        Ok(None)
    }

    async fn write(&mut self, run: &SummaryOperation) -> Result<Commit<Self::Done>, EngineError> {
        let (plan, order, given) = (Arc::clone(&self.plan), Arc::clone(&self.order), self.given.take());
        let operation_id = run.guard.id.clone();
        let written = match given.is_some() || order.summary.is_some() {
            true => {
                let (plan, order, cancel) = (Arc::clone(&plan), Arc::clone(&order), run.guard.cancel.clone());
                // Checking a long conversation takes a while.
                let giving = blocking(move || Written::as_given(given.as_ref(), &plan, &order, &cancel));
                run.unless_cancelled(giving).await?
            }
            false => Written::by_summarizer(run, &plan, &order).await?,
        };
        Ok(Box::new(move |access| commit(access, &plan, written, &order, &operation_id).map(Arc::new)))
    }

    async fn note(&mut self, run: &SummaryOperation, outcome: &Result<Self::Done, EngineError>) {
        let (session, now) = (&run.guard.session, SystemTime::now());
        match outcome {
            Ok(_) => session.auto_compaction.state().breaker.succeeded(),
            // A requested end is not a failure. Any other error may come back at every message.
            Err(error) if is_wanted(error) => {}
            Err(_) => session.auto_compaction.state().breaker.failed(now),
        }
        note_recovery(session, &self.order, outcome.as_ref().err());
        let has_hidden_missed = session.auto_compaction.take_hidden_overflow(&run.guard.id);
        self.end_state.has_recovered = has_hidden_missed && outcome.is_ok();
        self.end_state.paused_until = session.auto_compaction.state().breaker.open_until(now);
        self.end_state.is_unfinished = is_left_unfinished(run, &self.order).await;
    }

    fn end(
        self,
        engine: &Engine,
        ended: EndedClaim,
        outcome: Result<Self::Done, EngineError>,
    ) -> Result<Self::Done, EngineError> {
        let done = outcome.clone().map(CompactionDone::Compacted);
        notify_end(engine, &self.order, ended.operation_id, done, ended.is_aborted, self.end_state);
        outcome
    }
}

/// Notifies the host of the start of a compaction.
fn notify_start(engine: &Engine, order: &Order, operation_id: &str, tokens_before: u64) {
    engine.host.notify(Event::CompactionStarted {
        session_id: order.session_id.clone(),
        operation_id: operation_id.to_owned(),
        reason: order.reason,
        tokens_before,
    });
}

/// The question to the hook; `None` for a caller that gives the summary itself.
fn question(
    access: &SessionAccess<'_>,
    order: &Order,
    plan: &Plan,
    operation_id: &str,
) -> Result<Option<BeforeCompaction>, EngineError> {
    if order.summary.is_some() || !access.engine().host.answers(Question::BeforeCompaction) {
        return Ok(None);
    }
    Ok(Some(BeforeCompaction {
        session_id: order.session_id.clone(),
        operation_id: operation_id.to_owned(),
        preparation: plan.preparation.clone(),
        branch: access.view().read(|session| session.branch_entries(Some(&plan.leaf_id)))?,
        custom_instructions: order.custom_instructions.clone(),
        reason: order.reason,
        will_retry: order.will_retry,
    }))
}

/// Whether the host itself ended a compaction.
fn is_wanted(error: &EngineError) -> bool {
    use ErrorKind::{Cancelled, CancelledByHook, LeafMoved, SessionNotFound};
    matches!(error.kind(), Cancelled | CancelledByHook | LeafMoved | SessionNotFound)
}

/// Notes that the recovery from an overflow has failed. Each user message allows one recovery (docs/triggers.md,
/// "Guards"). A recovery that the host ended, or that had to wait for another operation, does not count.
pub(crate) fn note_recovery(session: &OpenSession, order: &Order, error: Option<&EngineError>) {
    let was_tried = |error: &EngineError| !is_wanted(error) && error.kind() != ErrorKind::OperationInProgress;
    if let Some(answer) = order.overflowed.clone().filter(|_| error.is_some_and(was_tried)) {
        session.auto_compaction.state().failed_recovery = Some(answer);
    }
}

/// Whether the agent has unfinished work at the end of an automatic compaction, so that the host resumes it
/// (docs/triggers.md, "Recovery"). A cancelled compaction is not resumed.
async fn is_left_unfinished(operation: &SummaryOperation, order: &Order) -> bool {
    if order.reason == CompactionReason::Manual {
        return false;
    }
    let session = &operation.guard.session;
    let look = async { Ok(trigger::is_unfinished(&*session.context().await?)) };
    operation.unless_cancelled(look).await.unwrap_or(false)
}

/// Facts about the end of a compaction, besides its outcome.
#[derive(Debug, Default)]
pub(crate) struct EndState {
    /// Whether the agent has unfinished work.
    pub(crate) is_unfinished: bool,
    /// Whether it has hidden an attempt that failed while it ran. The request of that attempt still has its own
    /// recovery, so it is sent again even if the room may not be enough.
    pub(crate) has_recovered: bool,
    /// The end of the pause of automatic compactions.
    pub(crate) paused_until: Option<String>,
}

/// Notifies the host of the end of a compaction.
fn notify_end(
    engine: &Engine,
    order: &Order,
    operation_id: String,
    outcome: Result<CompactionDone, EngineError>,
    is_aborted: bool,
    EndState { is_unfinished, has_recovered, paused_until }: EndState,
) {
    let has_made_room = match &outcome {
        Ok(CompactionDone::Compacted(compaction)) => order.has_room_for(compaction),
        Ok(CompactionDone::Clipped(_)) => true,
        Err(_) => false,
    };
    engine.host.notify(Event::CompactionEnded(Box::new(CompactionEnd {
        session_id: order.session_id.clone(),
        operation_id,
        reason: order.reason,
        is_aborted,
        will_retry: order.will_retry && has_made_room || has_recovered,
        is_unfinished,
        paused_until,
        outcome,
    })));
}

/// Notifies the host of a compaction that ended without a summary. Returns the id of the operation.
pub(crate) fn notify_without_summary(
    engine: &Engine,
    order: &Order,
    tokens_before: u64,
    outcome: Result<CompactionDone, EngineError>,
    end_state: EndState,
) -> String {
    let operation_id = session_store::new_uuid();
    notify_start(engine, order, &operation_id, tokens_before);
    notify_end(engine, order, operation_id.clone(), outcome, false, end_state);
    operation_id
}

/// Appends the compaction entry, if the prepared leaf is still on the branch.
fn commit(
    access: &mut SessionAccess<'_>,
    plan: &Plan,
    mut written: Written,
    order: &Order,
    operation_id: &str,
) -> Result<Compaction, EngineError> {
    plan.check_later_results(access, order)?;
    // Entries that were pinned while the summary was written count as well.
    let (first_kept, is_given) = (&plan.first_kept_entry_id, written.is_given);
    let pins = access.view().leaf_pins()?;
    written.summary = with_pinned_entries(access, &written.summary, &pins, first_kept, is_given)?;
    order.check_progress(&written.summary, plan.cut_sizes.replaced)?;
    let projection = access.view().project_leaf()?;
    let mut hidden = order.hidden(&projection);
    // A late tool result makes the trigger report the same attempt again. It must not count as a second overflow.
    let mut missed_entries = missed_attempt(access, &projection, operation_id);
    missed_entries.retain(|entry| !hidden.contains(entry));
    hidden.extend_from_slice(&missed_entries);
    let edits: Vec<String> = hidden.iter().map(hiding).collect();
    let edits: Vec<NewEntry<'_>> = edits.iter().map(|edit| new_edit(access, edit)).collect();
    let parent_id = edits.last().map_or_else(|| access.session().leaf_id().cloned(), |edit| edit.id.clone());
    // Hidden entries lose their pins.
    let pinned = pins.ids().into_iter().filter(|id| !hidden.contains(id)).collect();
    written.details = with_path_state(access, &written.details, parent_id.as_ref(), pinned)?;
    let time = session_store::now();
    let system_message = system_message(access, time)?;
    let members = members(plan, &written, system_message.as_ref());
    let compaction = NewEntry { timestamp: Some(time), ..NewEntry::new("compaction", &members) };
    let condition = Precondition::OnPath(Some(plan.leaf_id.clone()));
    // All entries are written at once: an attempt that is hidden without a compaction would be lost.
    let new: Vec<NewEntry<'_>> = edits.into_iter().chain([compaction]).collect();
    let appended = access.append(|session| session.append_all(&new, Parent::Leaf, &condition))?;
    if let Some(missed) = access.open().auto_compaction.state().missed_overflow.as_mut() {
        missed.is_hidden = !missed_entries.is_empty();
    }
    result(access, &appended.entry, plan, written)
}

/// The entries of an attempt that failed while the operation ran, if its request is still the last one. An answer that is
/// older than a compaction is not judged again, so this compaction is its recovery.
fn missed_attempt(access: &SessionAccess<'_>, projection: &Projection, operation_id: &str) -> Vec<EntryId> {
    let missed = access.open().auto_compaction.missed_overflow(operation_id);
    let is_last =
        |answer: &EntryId| trigger::last_answer(projection) == Some(answer) && !trigger::is_asked_anew(projection);
    missed.filter(is_last).map(|answer| trigger::attempt(projection, &answer)).unwrap_or_default()
}

/// The members of an edit that hides an entry of the failed attempt from later contexts: the call together with its
/// results (docs/triggers.md, "Recovery").
pub(crate) fn hiding(target: &EntryId) -> String {
    let mut members = RawObject::default();
    members.set("targetId", encode_string(target.as_str()));
    members.set("replacement", "null");
    members.to_json()
}

pub(crate) fn new_edit<'a>(access: &SessionAccess<'_>, members: &'a str) -> NewEntry<'a> {
    NewEntry { id: Some(access.session().new_entry_id()), ..NewEntry::new("context_edit", members) }
}

/// The prompt and tools at the leaf. Readers drop the system messages before a compaction, so the entry carries their
/// state.
fn system_message(access: &SessionAccess<'_>, time: i64) -> Result<Option<Message>, EngineError> {
    let projection = access.view().project_leaf()?;
    Ok(projection.system_message(time))
}

fn members(plan: &Plan, written: &Written, system_message: Option<&Message>) -> String {
    let mut members = RawObject::default();
    members.set("summary", encode_string(&written.summary));
    members.set("firstKeptEntryId", encode_string(plan.first_kept_entry_id.as_str()));
    members.set("tokensBefore", plan.tokens_before.to_string());
    members.set("details", written.details.as_str());
    if written.from_hook {
        members.set("fromHook", "true");
    }
    if let Some(usage) = &written.usage {
        members.set("usage", usage.as_str());
    }
    if let Some(message) = system_message {
        members.set("systemMessage", message.raw().get());
    }
    members.to_json()
}

fn result(access: &SessionAccess<'_>, entry: &Entry, plan: &Plan, written: Written) -> Result<Compaction, EngineError> {
    let projection = access.view().project_leaf()?;
    let account = written.account.report(&written.summary);
    let usage = written.usage.map(RawValue::from_string).transpose();
    let details = RawValue::from_string(written.details).map_err(|error| EngineError::internal(error.to_string()))?;
    Ok(Compaction {
        entry_id: entry.id().clone(),
        summary: written.summary,
        first_kept_entry_id: plan.first_kept_entry_id.clone(),
        tokens_before: plan.tokens_before,
        tokens_after: tokens::context_tokens(&projection).tokens,
        estimated_tokens_before: plan.cut_sizes.context_size.estimated,
        details,
        usage: usage.ok().flatten(),
        from_hook: written.from_hook,
        summarizer: written.summarizer,
        attempts: written.attempts,
        failures: written.failures,
        requests: written.requests,
        redactions: written.redactions,
        account,
    })
}

/// The details of a compaction whose parent will be `parent_id`, with the model, the thinking level and the pins at
/// the leaf.
fn with_path_state(
    access: &SessionAccess<'_>,
    details: &str,
    parent_id: Option<&EntryId>,
    pinned: Vec<EntryId>,
) -> Result<String, EngineError> {
    let (Some(leaf), Some(parent_id)) = (access.session().leaf_id(), parent_id) else {
        return Ok(details.to_owned());
    };
    let projection = access.view().project(Some(leaf))?;
    Ok(PathState::of(&projection, parent_id).with_pinned(pinned).add_to(details))
}

/// `summary` with the pinned entries that the compaction evicts, if the branch is kept from `first_kept` on. An id
/// that is not on the branch keeps nothing. A given summary stays as it is and gets only the pinned entries that it
/// lacks.
fn with_pinned_entries(
    access: &SessionAccess<'_>,
    summary: &str,
    pins: &Pins,
    first_kept: &EntryId,
    is_given: bool,
) -> Result<String, EngineError> {
    if pins.entries().is_empty() {
        return Ok(summary.to_owned());
    }
    let first_kept_depth = access.view().read(|session| depth_of(session, first_kept))?;
    let evicted = pins.evicted(first_kept_depth);
    let missing = evicted.filter(|pinned| !is_given || !pinned.is_in(summary));
    Ok(pins::add_pinned_entries(summary, missing))
}

/// Distance of an entry from the leaf; `None` if it is not on the branch.
fn depth_of(session: &Session, id: &EntryId) -> Result<Option<usize>, StoreError> {
    let mut branch = session.branch(session.leaf_id())?;
    let mut depth = 0;
    while let Some(header) = branch.header(depth)? {
        if header.id == *id {
            return Ok(Some(depth));
        }
        depth += 1;
    }
    Ok(None)
}
