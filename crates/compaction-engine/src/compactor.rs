//! A compaction from the order to its entry (docs/preparation.md; docs/summaries.md).
//!
//! Preparing and committing happen in the session's turn; between them, while the summary is
//! written, the session is free and appends go on. What is appended meanwhile lies after the cut
//! and is kept.

mod order;
mod plan;
mod summary;

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use compaction_core::entry::{Entry, EntryId};
use compaction_core::message::Message;
use compaction_core::pins::Pins;
use compaction_core::{json, system_state, tokens, trigger};
use serde_json::value::RawValue;
use session_store::{NewEntry, Parent, Precondition};
use tokio_util::sync::CancellationToken;

use crate::context::{member, pins_of, project, with_path_state, with_pinned_entries};
use crate::engine::Engine;
use crate::error::{EngineError, ErrorKind};
use crate::host::{
    BeforeCompaction, ClippedResult, Compaction, CompactionDone, CompactionEnd, CompactionReason, Event, GivenSummary,
    OperationKind, Question,
};
use crate::operation::{Begun, Commit, EndedClaim, Operation, SummaryOperation};
use crate::session::{OpenSession, OperationGuard, SessionAccess};
use crate::summarizers::Chain;
use crate::threads::{blocking, blocking_in};
pub use order::CompactionRequest;
use order::FittedSettings;
pub(crate) use order::Order;
use plan::Plan;
pub use plan::Preview;
use summary::Written;
pub(crate) use summary::prompt_texts;

/// A compaction that has claimed its session and was told to the host.
pub type BegunCompaction = Begun<CompactionOperation>;

/// A compaction that was prepared.
#[derive(Debug)]
pub struct CompactionOperation {
    plan: Arc<Plan>,
    /// What the host is asked, if it has a say.
    question: Option<BeforeCompaction>,
    /// What the host gave.
    given: Option<GivenSummary>,
    order: Arc<Order>,
    end_state: EndState,
}

/// Claims the session and prepares; tells the host that the compaction has started.
pub(crate) fn begin(
    access: &mut SessionAccess<'_>,
    order: &Arc<Order>,
    chain: Chain,
    parent: &CancellationToken,
) -> Result<BegunCompaction, EngineError> {
    let guard = access.claim(parent)?;
    let plan = Plan::of(access, order)?;
    // Whatever can fail comes before the start is told, since every start has an end.
    let question = question(access, order, &plan, &guard)?;
    notify_start(access.engine(), order, &guard.id, plan.tokens_before);
    let (order, settings) = (Arc::clone(order), order.settings.clone());
    let (plan, given, end_state) = (Arc::new(plan), None, EndState::default());
    let operation = CompactionOperation { plan, question, given, order, end_state };
    Ok(Begun { guard, chain, settings, operation })
}

#[async_trait]
impl Operation for CompactionOperation {
    const KIND: OperationKind = OperationKind::Compaction;

    type Done = Arc<Compaction>;

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
        let written = match given.is_some() || order.summary.is_some() {
            true => {
                let (plan, order) = (Arc::clone(&plan), Arc::clone(&order));
                // Taking account of a long conversation takes a while.
                let giving = blocking(move || Written::as_given(given.as_ref(), &plan, &order));
                run.unless_cancelled(giving).await?
            }
            false => Written::by_summarizer(run, &plan, &order).await?,
        };
        Ok(Box::new(move |access| commit(access, &plan, written, &order).map(Arc::new)))
    }

    async fn note(&mut self, run: &SummaryOperation, outcome: &Result<Self::Done, EngineError>) {
        let session = &run.guard.session;
        match outcome {
            Ok(_) => session.breaker.succeeded(),
            // What somebody wanted so is no failure; whatever else went wrong may do so at every message.
            Err(error) if is_wanted(error) => {}
            Err(_) => session.breaker.failed(SystemTime::now()),
        }
        note_recovery(session, &self.order, outcome.as_ref().err());
        self.end_state.paused_until = session.breaker.open_until(SystemTime::now());
        self.end_state.is_unfinished = is_left_unfinished(run, &self.order).await;
    }

    fn end(
        self,
        engine: &Engine,
        ended: EndedClaim,
        outcome: Result<Self::Done, EngineError>,
    ) -> Result<Self::Done, EngineError> {
        let end_state = EndState { is_cancelled: ended.is_cancelled, ..self.end_state };
        let done = outcome.clone().map(CompactionDone::Compacted);
        notify_end(engine, &self.order, ended.operation_id, done, end_state);
        outcome
    }
}

/// Tells the host that a compaction has started.
pub(crate) fn notify_start(engine: &Engine, order: &Order, operation_id: &str, tokens_before: u64) {
    engine.host.notify(Event::CompactionStarted {
        session_id: order.session_id.clone(),
        operation_id: operation_id.to_owned(),
        reason: order.reason,
        tokens_before,
    });
}

/// What the hook is asked. A caller that gives the summary itself has had its say.
fn question(
    access: &SessionAccess<'_>,
    order: &Order,
    plan: &Plan,
    guard: &OperationGuard,
) -> Result<Option<BeforeCompaction>, EngineError> {
    if order.summary.is_some() || !access.engine().host.answers(Question::BeforeCompaction) {
        return Ok(None);
    }
    let branch = access.session().branch_entries(Some(&plan.leaf_id));
    Ok(Some(BeforeCompaction {
        session_id: order.session_id.clone(),
        operation_id: guard.id.clone(),
        preparation: plan.preparation.clone(),
        branch: branch.map_err(|error| access.open().store_failure(error))?,
        custom_instructions: order.custom_instructions.clone(),
        reason: order.reason,
        will_retry: order.will_retry,
    }))
}

/// Whether a compaction ended because of what the host did meanwhile.
fn is_wanted(error: &EngineError) -> bool {
    use ErrorKind::{Cancelled, CancelledByHook, LeafMoved, SessionNotFound};
    matches!(error.kind(), Cancelled | CancelledByHook | LeafMoved | SessionNotFound)
}

/// Keeps in mind that a recovery from an overflow has failed: there is one for each request of a
/// person (docs/triggers.md, "Guards"). One that the host ended, or that had to wait for
/// another operation, was none.
pub(crate) fn note_recovery(session: &OpenSession, order: &Order, error: Option<&EngineError>) {
    let was_tried = |error: &EngineError| !is_wanted(error) && error.kind() != ErrorKind::OperationInProgress;
    if let Some(answer) = order.overflowed.clone().filter(|_| error.is_some_and(was_tried)) {
        session.auto_compaction.note_failed_recovery(answer);
    }
}

/// Whether the agent has work left when a compaction ends that the server began, so that the host
/// resumes it (docs/triggers.md, "Recovery"). Who ends a compaction does not ask for more.
async fn is_left_unfinished(operation: &SummaryOperation, order: &Order) -> bool {
    if order.reason == CompactionReason::Manual {
        return false;
    }
    let session = Arc::clone(&operation.guard.session);
    let look = async {
        let slot = Arc::clone(&session.slot).read_owned().await;
        blocking_in(session.is_quick(), move || {
            let opened = session.opened(slot.as_ref())?;
            Ok(trigger::is_unfinished(&*project(opened, &session, opened.leaf_id())?))
        })
        .await
    };
    operation.unless_cancelled(look).await.unwrap_or(false)
}

/// What a host is told of the end of a compaction beside its outcome.
#[derive(Debug, Default)]
pub(crate) struct EndState {
    /// Whether somebody ended it.
    pub(crate) is_cancelled: bool,
    /// Whether the agent has work left.
    pub(crate) is_unfinished: bool,
    /// Until when the session is not compacted by itself.
    pub(crate) paused_until: Option<String>,
}

/// Tells the host that a compaction has ended.
pub(crate) fn notify_end(
    engine: &Engine,
    order: &Order,
    operation_id: String,
    outcome: Result<CompactionDone, EngineError>,
    end_state: EndState,
) {
    let EndState { is_cancelled, is_unfinished, paused_until } = end_state;
    let has_made_room = match &outcome {
        Ok(CompactionDone::Compacted(compaction)) => order.has_room_for(compaction),
        Ok(CompactionDone::Clipped(_)) => true,
        Err(_) => false,
    };
    engine.host.notify(Event::CompactionEnded(Box::new(CompactionEnd {
        session_id: order.session_id.clone(),
        operation_id,
        reason: order.reason,
        is_aborted: outcome.is_err() && is_cancelled,
        will_retry: order.will_retry && has_made_room,
        is_unfinished,
        paused_until,
        outcome,
    })));
}

/// Tells the host of an operation that has shortened tool results, which was enough; gives its id.
pub(crate) fn notify_clipped(
    engine: &Engine,
    order: &Order,
    tokens_before: u64,
    clipped: &[ClippedResult],
    is_unfinished: bool,
) -> String {
    let operation_id = uuid::Uuid::now_v7().to_string();
    notify_start(engine, order, &operation_id, tokens_before);
    let (done, end_state) =
        (CompactionDone::Clipped(clipped.to_vec()), EndState { is_unfinished, ..EndState::default() });
    notify_end(engine, order, operation_id.clone(), Ok(done), end_state);
    operation_id
}

/// Writes the compaction entry, if the branch still holds the prepared leaf.
fn commit(
    access: &mut SessionAccess<'_>,
    plan: &Plan,
    mut written: Written,
    order: &Order,
) -> Result<Compaction, EngineError> {
    access.refresh()?;
    plan.check_later_results(access, order)?;
    // What was pinned while the summary was written counts as well.
    let (first_kept, is_given) = (&plan.first_kept_entry_id, written.is_given);
    let pins = pins_at_leaf(access)?;
    written.summary = with_pinned_entries(access, &written.summary, &pins, first_kept, is_given)?;
    order.check_progress(&written.summary, plan.balance.replaced)?;
    let projection = project(access.session(), access.open(), access.session().leaf_id())?;
    let hidden = order.hidden(&projection);
    let edits: Vec<String> = hidden.iter().map(hiding).collect();
    let edits: Vec<NewEntry<'_>> = edits.iter().map(|edit| new_edit(access, edit)).collect();
    let parent_id = edits.last().map_or_else(|| access.session().leaf_id().cloned(), |edit| edit.id.clone());
    // What is hidden is pinned no more.
    let pinned = pins.ids().into_iter().filter(|id| !hidden.contains(id)).collect();
    written.details = with_path_state(access, &written.details, parent_id.as_ref(), pinned)?;
    let time = session_store::now();
    let system_message = system_message(access, time)?;
    let members = members(plan, &written, system_message.as_ref());
    let compaction = NewEntry { timestamp: Some(time), ..NewEntry::new("compaction", &members) };
    let condition = Precondition::OnPath(Some(plan.leaf_id.clone()));
    // All of them or none: an attempt that is hidden without a compaction would be lost.
    let new: Vec<NewEntry<'_>> = edits.into_iter().chain([compaction]).collect();
    let appended = access.append_all_with(|session| session.append_all(&new, Parent::Leaf, &condition))?;
    let entry = appended.last().ok_or_else(|| EngineError::internal("nothing was appended"))?;
    result(access, entry, plan, written)
}

fn pins_at_leaf(access: &SessionAccess<'_>) -> Result<Pins, EngineError> {
    pins_of(access.session(), access.open(), access.session().leaf_id())
}

/// The members of an edit that hides an entry of the failed attempt from the contexts to come: the
/// call and its results together (docs/triggers.md, "Recovery").
pub(crate) fn hiding(target: &EntryId) -> String {
    format!("{{{},{}}}", member("targetId", &json::encode_string(target.as_str())), member("replacement", "null"))
}

pub(crate) fn new_edit<'a>(access: &SessionAccess<'_>, members: &'a str) -> NewEntry<'a> {
    NewEntry { id: Some(access.session().new_entry_id()), ..NewEntry::new("context_edit", members) }
}

/// The prompt and tools at the leaf: readers drop the system messages that a compaction keeps, so
/// the entry carries their state.
fn system_message(access: &SessionAccess<'_>, time: i64) -> Result<Option<Message>, EngineError> {
    let projection = project(access.session(), access.open(), access.session().leaf_id())?;
    Ok(system_state::replay(projection.messages(), time))
}

fn members(plan: &Plan, written: &Written, system_message: Option<&Message>) -> String {
    let mut members = vec![
        member("summary", &json::encode_string(&written.summary)),
        member("firstKeptEntryId", &json::encode_string(plan.first_kept_entry_id.as_str())),
        member("tokensBefore", &plan.tokens_before.to_string()),
        member("details", &written.details),
    ];
    if written.from_hook {
        members.push(member("fromHook", "true"));
    }
    members.extend(written.usage.as_ref().map(|usage| member("usage", usage)));
    members.extend(system_message.map(|message| member("systemMessage", message.raw().get())));
    format!("{{{}}}", members.join(","))
}

fn result(access: &SessionAccess<'_>, entry: &Entry, plan: &Plan, written: Written) -> Result<Compaction, EngineError> {
    let projection = project(access.session(), access.open(), access.session().leaf_id())?;
    let account = written.account.report(&written.summary);
    let usage = written.usage.map(RawValue::from_string).transpose();
    let details = RawValue::from_string(written.details).map_err(|error| EngineError::internal(error.to_string()))?;
    Ok(Compaction {
        entry_id: entry.id().clone(),
        summary: written.summary,
        first_kept_entry_id: plan.first_kept_entry_id.clone(),
        tokens_before: plan.tokens_before,
        tokens_after: tokens::context_tokens(&projection).tokens,
        estimated_tokens_before: plan.balance.measure.estimated,
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
