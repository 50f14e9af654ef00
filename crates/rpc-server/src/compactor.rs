//! A compaction from the order to its entry (compaction spec, Preparation and Summaries).
//!
//! Preparing and committing happen in the session's turn; between them, while the summary is
//! written, the session is free and appends go on. What is appended meanwhile lies after the cut
//! and is kept.

mod account;
mod balance;
mod fitted;
mod order;
mod plan;
mod written;

use std::sync::Arc;
use std::time::SystemTime;

use compaction_core::entry::{Entry, EntryId};
use compaction_core::json;
use compaction_core::message::Message;
use compaction_core::pins::Pins;
use compaction_core::{system_state, tokens, trigger};
use serde_json::value::RawValue;
use session_store::{NewEntry, Parent, Precondition};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::auto_compaction;
use crate::call::{CallContext, blocking, change};
use crate::convert;
use crate::errors::RpcError;
use crate::handlers::compaction::settings_of_call;
use crate::handlers::context::{project, with_path_state};
use crate::handlers::entries::member;
use crate::handlers::pins::{pins_of, with_pinned_entries};
use crate::hooks::{self, Decision};
use crate::lean;
use crate::operation::SummaryOperation;
use crate::server::Server;
use crate::session::{OpenSession, OperationGuard, SessionAccess};
use crate::summarizers::{self, Chain};
use crate::wire::*;

pub(crate) use fitted::Fitted;
pub(crate) use order::Order;
use plan::Plan;
pub(crate) use plan::kept;
use written::Written;
pub(crate) use written::jobs;

/// Serves `compact`.
pub(crate) async fn compact(call: CallContext, params: CompactParams) -> Result<CompactResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.as_ref()).await?;
    let chain = summarizers::chain(params.summarizer.as_ref(), &settings, &call.server)?;
    let waits = params.wait.unwrap_or(true);
    let parent = if waits { call.cancel.clone() } else { call.server.closing.clone() };
    let beginning = call.write(move |access| {
        let order = Order::manual(params, settings, access.open().auto_compaction.effective_model().as_ref());
        Ok((begin(access, &order, &parent)?, Arc::new(order)))
    });
    let (begun, order) = beginning.await?;
    let operation_id = begun.guard.id.clone();
    if call.was_aborted() {
        begun.guard.cancel.cancel();
    }
    let running = start(&call.server, begun, order, chain);
    if !waits {
        return Ok(CompactResult::Started(StartedResult { operation_id }));
    }
    // The task ends by itself when the call is cancelled, and has told of its end before it does.
    let outcome =
        running.await.map_err(|error| RpcError::Internal { message: format!("the compaction ended early: {error}") });
    outcome?.map(|result| CompactResult::Done(Box::new(result)))
}

/// A compaction that has claimed its session and was told to the client.
pub(crate) struct Begun {
    /// The claim.
    pub(crate) guard: OperationGuard,
    plan: Plan,
    /// What the client's hook is asked, if it has one.
    question: Option<Box<RawValue>>,
}

/// Claims the session and prepares; tells the client that the compaction has started.
pub(crate) fn begin(
    access: &mut SessionAccess<'_>,
    order: &Order,
    parent: &CancellationToken,
) -> Result<Begun, RpcError> {
    access.check_writable()?;
    access.refresh()?;
    let guard = access.open().begin_operation(parent)?;
    let plan = Plan::of(access, order)?;
    // Whatever can fail comes before the start is told, since every start has an end.
    let question = question(access, order, &plan, &guard)?;
    tell_start(access.server(), order, &guard.id, plan.tokens_before);
    Ok(Begun { guard, plan, question })
}

/// Tells the client that a compaction has started.
pub(crate) fn tell_start(server: &Server, order: &Order, operation_id: &str, tokens_before: u64) {
    server.notify(
        "compactionStart",
        &CompactionStart {
            session_id: order.session_id.clone(),
            operation_id: operation_id.to_owned(),
            reason: order.reason,
            tokens_before,
        },
    );
}

/// Starts the work on a compaction that was begun.
pub(crate) fn start(
    server: &Arc<Server>,
    begun: Begun,
    order: Arc<Order>,
    chain: Chain,
) -> JoinHandle<Result<CompactionResult, RpcError>> {
    let Begun { guard, plan, question } = begun;
    let operation =
        SummaryOperation::of_server(server, &order.session_id, guard, chain, "compactionProgress", &order.settings);
    server.operations.spawn(run(operation, plan, question, order))
}

/// What the hook is asked. A client that gives the summary itself has had its say.
fn question(
    access: &SessionAccess<'_>,
    order: &Order,
    plan: &Plan,
    guard: &OperationGuard,
) -> Result<Option<Box<RawValue>>, RpcError> {
    if order.summary.is_some() || !access.server().has_hook(hooks::BEFORE_COMPACT) {
        return Ok(None);
    }
    let branch = access.session().branch_entries(Some(&plan.leaf_id));
    let branch = branch.map_err(|error| access.open().store_error(&error))?;
    // Written here, on the turn's thread, since it may be as large as the session.
    let question = serde_json::value::to_raw_value(&SessionBeforeCompact {
        session_id: order.session_id.clone(),
        operation_id: guard.id.clone(),
        preparation: convert::preparation(&plan.preparation, true),
        branch_entries: branch.iter().map(convert::entry).collect(),
        custom_instructions: order.custom_instructions.clone(),
        reason: order.reason,
        will_retry: order.will_retry,
    });
    question.map(Some).map_err(|error| RpcError::Internal { message: error.to_string() })
}

/// Runs a compaction to its end and tells the client, whatever the end is.
async fn run(
    operation: SummaryOperation,
    plan: Plan,
    question: Option<Box<RawValue>>,
    order: Arc<Order>,
) -> Result<CompactionResult, RpcError> {
    let server = Arc::clone(&operation.server);
    let session = Arc::clone(&operation.guard.session);
    let operation_id = operation.guard.id.clone();
    let cancel = operation.guard.cancel.clone();
    let working = std::panic::AssertUnwindSafe(work(&operation, plan, question, &order));
    let outcome = match futures_util::FutureExt::catch_unwind(working).await {
        Ok(outcome) => outcome,
        Err(_) => Err(RpcError::Internal { message: "the compaction panicked".to_owned() }),
    };
    match &outcome {
        Ok(_) => session.breaker.succeeded(),
        // What somebody wanted so is no failure; whatever else went wrong may do so at every message.
        Err(error) if is_wanted(error) => {}
        Err(_) => session.breaker.failed(SystemTime::now()),
    }
    note_recovery(&session, &order, outcome.as_ref().err());
    let paused_until = session.breaker.open_until(SystemTime::now());
    let is_unfinished = is_left_unfinished(&operation, &order).await;
    // The claim ends before the client hears of the end, so that it may start the next one at once.
    drop(operation);
    tell_end(
        &server,
        &order,
        operation_id,
        &outcome,
        Circumstances { is_cancelled: cancel.is_cancelled(), is_unfinished, paused_until },
    );
    match cancel.is_cancelled() {
        // Who ends a compaction does not want the next one at once.
        true => session.auto_compaction.forget_missed_check(),
        false => auto_compaction::check_again(&server, &session).await,
    }
    outcome
}

/// Whether a compaction ended because of what the client did meanwhile.
fn is_wanted(error: &RpcError) -> bool {
    matches!(error.kind(), "requestCancelled" | "cancelledByHook" | "leafMoved" | "sessionNotFound")
}

/// Keeps in mind that a recovery from an overflow has failed: there is one for each request of a
/// person (compaction spec, Triggers, Guards). One that the client ended, or that had to wait for
/// another operation, was none.
pub(crate) fn note_recovery(session: &OpenSession, order: &Order, error: Option<&RpcError>) {
    let was_tried = |error: &RpcError| !is_wanted(error) && error.kind() != "operationInProgress";
    if let Some(answer) = order.overflowed.clone().filter(|_| error.is_some_and(was_tried)) {
        session.auto_compaction.note_failed_recovery(answer);
    }
}

/// Whether the agent has work left when a compaction ends that the server began, so that the host
/// resumes it (field bug 131). Who ends a compaction does not ask for more.
async fn is_left_unfinished(operation: &SummaryOperation, order: &Order) -> bool {
    if order.reason == CompactionReason::Manual {
        return false;
    }
    let session = Arc::clone(&operation.guard.session);
    let look = async {
        let slot = Arc::clone(&session.slot).read_owned().await;
        blocking(move || {
            let opened = session.opened(slot.as_ref())?;
            Ok(trigger::is_unfinished(&*project(opened, &session, opened.leaf_id())?))
        })
        .await
    };
    operation.unless_cancelled(look).await.unwrap_or(false)
}

/// What a client is told of the end of a compaction beside its outcome.
#[derive(Debug, Default)]
pub(crate) struct Circumstances {
    /// Whether somebody ended it.
    pub(crate) is_cancelled: bool,
    /// Whether the agent has work left.
    pub(crate) is_unfinished: bool,
    /// Until when the session is not compacted by itself.
    pub(crate) paused_until: Option<String>,
}

/// Tells the client that a compaction has ended.
pub(crate) fn tell_end(
    server: &Server,
    order: &Order,
    operation_id: String,
    outcome: &Result<CompactionResult, RpcError>,
    circumstances: Circumstances,
) {
    let Circumstances { is_cancelled, is_unfinished, paused_until } = circumstances;
    server.notify(
        "compactionEnd",
        &CompactionEnd {
            session_id: order.session_id.clone(),
            operation_id,
            reason: order.reason,
            result: outcome.as_ref().ok().cloned(),
            clipped: Vec::new(),
            aborted: outcome.is_err() && is_cancelled,
            will_retry: order.will_retry && outcome.as_ref().is_ok_and(|result| order.has_room_for(result)),
            unfinished: is_unfinished.then_some(true),
            paused_until,
            error: outcome.as_ref().err().map(RpcError::to_body),
        },
    );
}

/// Tells the client of an operation that has shortened tool results, which was enough; gives its id.
pub(crate) fn tell_clipped(
    server: &Server,
    order: &Order,
    tokens_before: u64,
    clipped: &[ClippedResult],
    is_unfinished: bool,
) -> String {
    let operation_id = uuid::Uuid::now_v7().to_string();
    tell_start(server, order, &operation_id, tokens_before);
    server.notify(
        "compactionEnd",
        &CompactionEnd {
            session_id: order.session_id.clone(),
            operation_id: operation_id.clone(),
            reason: order.reason,
            result: None,
            clipped: clipped.to_vec(),
            aborted: false,
            will_retry: order.will_retry,
            unfinished: is_unfinished.then_some(true),
            paused_until: None,
            error: None,
        },
    );
    operation_id
}

async fn work(
    operation: &SummaryOperation,
    mut plan: Plan,
    question: Option<Box<RawValue>>,
    order: &Arc<Order>,
) -> Result<CompactionResult, RpcError> {
    let given_by_hook = match question {
        Some(question) => ask_hook(operation, &question).await?,
        None => None,
    };
    if let Some(given) = &given_by_hook {
        plan.accept(operation, given, order).await?;
    }
    let plan = Arc::new(plan);
    let written = match given_by_hook.is_some() || order.summary.is_some() {
        true => {
            let (plan, order) = (Arc::clone(&plan), Arc::clone(order));
            // Taking account of a long conversation takes a while.
            let giving = blocking(move || Written::as_given(given_by_hook.as_ref(), &plan, &order));
            operation.unless_cancelled(giving).await?
        }
        false => Written::by_summarizer(operation, &plan, order).await?,
    };
    let (session, guard) = operation.session_turn().await?;
    let (order, cancel) = (Arc::clone(order), operation.guard.cancel.clone());
    let commit = move |access: &mut SessionAccess<'_>| match cancel.is_cancelled() {
        true => Err(RpcError::Cancelled),
        false => commit(access, &plan, written, &order),
    };
    change(Arc::clone(&operation.server), session, guard, commit).await
}

async fn ask_hook(operation: &SummaryOperation, question: &RawValue) -> Result<Option<GivenSummary>, RpcError> {
    let asking = hooks::before_compact(&operation.server, question);
    match operation.in_time(asking).await? {
        Decision::Cancel => Err(RpcError::CancelledByHook),
        Decision::Go(given) => Ok(given),
    }
}

/// Writes the compaction entry, if the branch still holds the prepared leaf.
fn commit(
    access: &mut SessionAccess<'_>,
    plan: &Plan,
    mut written: Written,
    order: &Order,
) -> Result<CompactionResult, RpcError> {
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
    let time = epoch_milliseconds();
    let system_message = system_message(access, time)?;
    let members = members(plan, &written, system_message.as_ref());
    let compaction = NewEntry { timestamp: Some(time), ..NewEntry::new("compaction", &members) };
    let condition = Precondition::OnPath(Some(plan.leaf_id.clone()));
    // All of them or none: an attempt that is hidden without a compaction would be lost.
    let new: Vec<NewEntry<'_>> = edits.into_iter().chain([compaction]).collect();
    let appended = access.append_all_with(|session| session.append_all(&new, Parent::Leaf, &condition))?;
    let entry = appended.last().ok_or_else(|| RpcError::Internal { message: "nothing was appended".to_owned() })?;
    result(access, entry, plan, written)
}

fn pins_at_leaf(access: &SessionAccess<'_>) -> Result<Pins, RpcError> {
    pins_of(access.session(), access.open(), access.session().leaf_id())
}

/// The members of an edit that hides an entry of the failed attempt from the contexts to come: the
/// call and its results together (field bugs 47 and 84).
pub(crate) fn hiding(target: &EntryId) -> String {
    format!("{{{},{}}}", member("targetId", &json::encode_string(target.as_str())), member("replacement", "null"))
}

pub(crate) fn new_edit<'a>(access: &SessionAccess<'_>, members: &'a str) -> NewEntry<'a> {
    NewEntry { id: Some(access.session().new_entry_id()), ..NewEntry::new("context_edit", members) }
}

/// The prompt and tools at the leaf: readers drop the system messages that a compaction keeps, so
/// the entry carries their state.
fn system_message(access: &SessionAccess<'_>, time: i64) -> Result<Option<Message>, RpcError> {
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

fn result(
    access: &SessionAccess<'_>,
    entry: &Entry,
    plan: &Plan,
    written: Written,
) -> Result<CompactionResult, RpcError> {
    let projection = project(access.session(), access.open(), access.session().leaf_id())?;
    let account = written.account.told(&written.summary);
    let usage = written.usage.map(RawValue::from_string).transpose();
    Ok(CompactionResult {
        entry_id: entry.id().to_string(),
        summary: written.summary,
        first_kept_entry_id: plan.first_kept_entry_id.to_string(),
        tokens_before: plan.tokens_before,
        tokens_after: tokens::context_tokens(&projection).tokens,
        estimated_tokens_before: plan.balance.measure.estimated,
        details: convert::raw_object(lean::details(access.server(), written.details))?,
        usage: usage.ok().flatten().map(FreeObject::from),
        from_hook: written.from_hook,
        summarizer: written.summarizer,
        attempts: written.attempts,
        failures: written.failures,
        redactions: written.redactions,
        account,
    })
}

/// The present time in epoch milliseconds.
fn epoch_milliseconds() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
