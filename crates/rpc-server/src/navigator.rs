//! A navigation from the call to its entries (compaction spec, Branch summaries and navigation).

use std::sync::Arc;

use compaction_core::entry::{Entry, EntryId, FileLists};
use compaction_core::json;
use compaction_core::navigation::BranchPreparation;
use compaction_core::prompts::{OutputLimits, RequestKind};
use compaction_core::summary::{SummaryKind, append_file_blocks, remove_file_blocks};
use serde_json::json;
use session_store::{NewEntry, Parent, Precondition};
use tokio_util::sync::CancellationToken;

use crate::call::{CallContext, change};
use crate::convert;
use crate::errors::RpcError;
use crate::handlers::entries::member;
use crate::handlers::navigation::Route;
use crate::operation::{self, SummaryOperation};
use crate::session::{OperationGuard, SessionAccess};
use crate::settings::Settings;
use crate::summarizers::{self, SummaryJob};
use crate::wire::*;

/// Serves `navigateTree`.
pub(crate) async fn navigate(call: CallContext, params: NavigateTreeParams) -> Result<NavigateTreeResult, RpcError> {
    let settings = call.server.configuration()?.settings.clone();
    let name = params.summarizer.clone().unwrap_or_else(|| settings.summarizer().to_owned());
    let summarizer = summarizers::by_name(&name, "summarizer")?;
    let waits = params.wait.unwrap_or(true);
    let parent = if waits { call.cancel.clone() } else { call.server.end.clone() };
    let begin_params = params.clone();
    let begun = call.write(move |access| begin(access, &begin_params, &settings, &parent)).await?;
    let (guard, plan) = match begun {
        Begun::Moved(result, _) if waits => return Ok(NavigateTreeResult::Done(Box::new(result))),
        // The outcome of a call that does not wait comes with the closing notification, also here.
        Begun::Moved(result, operation_id) => return Ok(tell_moved(&call, params, operation_id, result)),
        Begun::Summarizing(guard, plan) => (guard, plan),
    };
    let operation_id = guard.id.clone();
    let operation = SummaryOperation {
        server: Arc::clone(&call.server),
        session_id: params.session_id.clone(),
        guard,
        summarizer,
        progress: "branchSummaryProgress",
    };
    let running = tokio::spawn(run(operation, plan, params, call.cancel.clone()));
    if !waits {
        return Ok(NavigateTreeResult::Started(StartedResult { operation_id }));
    }
    let outcome =
        running.await.map_err(|error| RpcError::Internal { message: format!("the navigation ended early: {error}") });
    outcome?.map(|result| NavigateTreeResult::Done(Box::new(result)))
}

fn tell_moved(
    call: &CallContext,
    params: NavigateTreeParams,
    operation_id: String,
    result: NavigationResult,
) -> NavigateTreeResult {
    let server = Arc::clone(&call.server);
    let started = StartedResult { operation_id: operation_id.clone() };
    // In a task of its own, so that the reply with the operation's id goes first.
    tokio::spawn(async move {
        server.notify(
            "branchSummaryStart",
            &BranchSummaryStart {
                session_id: params.session_id.clone(),
                operation_id: operation_id.clone(),
                target_id: params.target_id,
                old_leaf_id: result.old_leaf_id.clone(),
                estimated_tokens: 0,
            },
        );
        server.notify(
            "branchSummaryEnd",
            &BranchSummaryEnd {
                session_id: params.session_id,
                operation_id,
                result: Some(result),
                aborted: false,
                error: None,
            },
        );
    });
    NavigateTreeResult::Started(started)
}

enum Begun {
    /// Nothing had to be summarised; the leaf is where it should be.
    Moved(NavigationResult, String),
    /// A summary is to be written.
    Summarizing(OperationGuard, Box<Plan>),
}

struct Plan {
    route: Route,
    preparation: BranchPreparation,
}

/// Claims the session, and moves at once where nothing is to be summarised.
fn begin(
    access: &mut SessionAccess<'_>,
    params: &NavigateTreeParams,
    settings: &Settings,
    parent: &CancellationToken,
) -> Result<Begun, RpcError> {
    check_given(params)?;
    access.check_writable()?;
    access.refresh()?;
    let guard = access.open().begin_operation(parent)?;
    let (session, open) = (access.session(), access.open());
    let route = Route::of(session, open, session.leaf_id().cloned(), &params.target_id)?;
    if route.is_there(session).map_err(|error| open.store_error(&error))? {
        return Ok(Begun::Moved(stayed(&route), guard.id.clone()));
    }
    let wants_summary = params.summarize || params.summary.is_some();
    if wants_summary {
        let preparation = route.branch_preparation(session, open, &settings.file_tools())?;
        if !preparation.messages.is_empty() {
            tell_start(access, &guard, params, &route, &preparation);
            return Ok(Begun::Summarizing(guard, Box::new(Plan { route, preparation })));
        }
    }
    let result = move_plainly(access, &route, params.label.as_deref())?;
    Ok(Begun::Moved(result, guard.id.clone()))
}

fn check_given(params: &NavigateTreeParams) -> Result<(), RpcError> {
    let Some(given) = &params.summary else {
        return Ok(());
    };
    operation::checked(given.summary.clone())?;
    operation::details(&FileLists::default(), json!({}), given.details.as_ref(), "summary.details")?;
    operation::usage(given.usage.as_ref(), "summary.usage").map(|_| ())
}

fn tell_start(
    access: &SessionAccess<'_>,
    guard: &OperationGuard,
    params: &NavigateTreeParams,
    route: &Route,
    preparation: &BranchPreparation,
) {
    access.server().notify(
        "branchSummaryStart",
        &BranchSummaryStart {
            session_id: params.session_id.clone(),
            operation_id: guard.id.clone(),
            target_id: params.target_id.clone(),
            old_leaf_id: convert::id(route.old_leaf_id.as_ref()),
            estimated_tokens: preparation.tokens,
        },
    );
}

/// The result of a navigation to where the session is already.
fn stayed(route: &Route) -> NavigationResult {
    let leaf_id = convert::id(route.old_leaf_id.as_ref());
    NavigationResult {
        leaf_id: leaf_id.clone(),
        old_leaf_id: leaf_id,
        editor_text: route.destination.editor_text.clone(),
        summary_entry: None,
        cancelled: false,
        aborted: None,
    }
}

/// Moves the leaf without a summary; a mark in the file keeps the move.
fn move_plainly(
    access: &mut SessionAccess<'_>,
    route: &Route,
    label: Option<&str>,
) -> Result<NavigationResult, RpcError> {
    let new_leaf = route.destination.new_leaf_id.clone();
    let condition = Precondition::LeafIs(route.old_leaf_id.clone());
    access.append_with(|session| session.navigate(new_leaf.as_ref(), &condition))?;
    set_label(access, route.target.id(), label)?;
    Ok(moved(access, route, None))
}

fn set_label(access: &mut SessionAccess<'_>, target: &EntryId, label: Option<&str>) -> Result<(), RpcError> {
    if label.is_some_and(|label| !label.is_empty()) {
        access.append_with(|session| session.set_label(target, label))?;
    }
    Ok(())
}

fn moved(access: &SessionAccess<'_>, route: &Route, summary: Option<&Arc<Entry>>) -> NavigationResult {
    let (leaf_id, old_leaf_id) = (access.leaf_id(), convert::id(route.old_leaf_id.as_ref()));
    access.server().notify(
        "leafChanged",
        &LeafChanged {
            session_id: access.open().id.clone(),
            leaf_id: leaf_id.clone(),
            old_leaf_id: old_leaf_id.clone(),
        },
    );
    NavigationResult {
        leaf_id,
        old_leaf_id,
        editor_text: route.destination.editor_text.clone(),
        summary_entry: summary.map(convert::entry),
        cancelled: false,
        aborted: None,
    }
}

/// Runs a branch summary to its end and tells the client, whatever the end is. Ending the summary
/// by `abortCompaction` is a result, cancelling the request is an error.
async fn run(
    operation: SummaryOperation,
    plan: Box<Plan>,
    params: NavigateTreeParams,
    request_cancel: CancellationToken,
) -> Result<NavigationResult, RpcError> {
    let server = Arc::clone(&operation.server);
    let operation_id = operation.guard.id.clone();
    let cancel = operation.guard.cancel.clone();
    let stayed = stayed(&plan.route);
    let working = std::panic::AssertUnwindSafe(work(&operation, *plan, &params));
    let outcome = match futures_util::FutureExt::catch_unwind(working).await {
        Ok(outcome) => outcome,
        Err(_) => Err(RpcError::Internal { message: "the navigation panicked".to_owned() }),
    };
    drop(operation);
    let is_aborted = outcome.is_err() && cancel.is_cancelled();
    let outcome = match outcome {
        Err(RpcError::Cancelled) if is_aborted && !request_cancel.is_cancelled() => {
            Ok(NavigationResult { editor_text: None, cancelled: true, aborted: Some(true), ..stayed })
        }
        outcome => outcome,
    };
    server.notify(
        "branchSummaryEnd",
        &BranchSummaryEnd {
            session_id: params.session_id,
            operation_id,
            result: outcome.as_ref().ok().cloned(),
            aborted: is_aborted,
            error: outcome.as_ref().err().map(RpcError::to_body),
        },
    );
    outcome
}

async fn work(
    operation: &SummaryOperation,
    plan: Plan,
    params: &NavigateTreeParams,
) -> Result<NavigationResult, RpcError> {
    let members = match &params.summary {
        Some(given) => by_client(&plan, given)?,
        None => by_summarizer(operation, &plan, params).await?,
    };
    let not_open = || RpcError::SessionNotOpen { session_id: operation.session_id.clone() };
    let session = operation.server.sessions.get(&operation.session_id).ok_or_else(not_open)?;
    let guard = tokio::select! {
        biased;
        () = operation.guard.cancel.cancelled() => return Err(RpcError::Cancelled),
        guard = Arc::clone(&session.slot).write_owned() => guard,
    };
    let label = params.label.clone();
    let server = Arc::clone(&operation.server);
    change(server, session, guard, move |access| commit(access, &plan.route, &members, label.as_deref())).await
}

fn by_client(plan: &Plan, given: &GivenBranchSummary) -> Result<Vec<String>, RpcError> {
    let own = json!({ "summarizer": "client" });
    let files = plan.preparation.file_operations.lists();
    let details = operation::details(&files, own, given.details.as_ref(), "summary.details")?;
    let usage = operation::usage(given.usage.as_ref(), "summary.usage")?;
    Ok(summary_members(plan, &given.summary, &details, usage))
}

async fn by_summarizer(
    operation: &SummaryOperation,
    plan: &Plan,
    params: &NavigateTreeParams,
) -> Result<Vec<String>, RpcError> {
    let limits = OutputLimits { reserve_tokens: 0, model_max_tokens: None };
    let job = SummaryJob {
        kind: SummaryKind::Branch,
        messages: plan.preparation.messages.clone(),
        previous_summary: None,
        custom_instructions: params.custom_instructions.clone(),
        max_tokens: limits.max_tokens(RequestKind::Branch),
    };
    let text = operation.summarize(vec![job]).await?.remove(0);
    let text = operation::checked(remove_file_blocks(&text).into_owned())?;
    let files = plan.preparation.file_operations.lists();
    let summary = append_file_blocks(&text, &files.read_files, &files.modified_files);
    let own = json!({ "summarizer": operation.summarizer.name() });
    let details = operation::details(&files, own, None, "details")?;
    Ok(summary_members(plan, &summary, &details, None))
}

fn summary_members(plan: &Plan, summary: &str, details: &serde_json::Value, usage: Option<String>) -> Vec<String> {
    let from_id = plan.route.old_leaf_id.as_ref().map_or("root", EntryId::as_str);
    let mut members = vec![
        member("fromId", &json::encode_string(from_id)),
        member("summary", &json::encode_string(summary)),
        member("details", &details.to_string()),
    ];
    members.extend(usage.map(|usage| member("usage", &usage)));
    members
}

/// Writes the summary under the new leaf, if the branch that it tells of is still the current one.
fn commit(
    access: &mut SessionAccess<'_>,
    route: &Route,
    members: &[String],
    label: Option<&str>,
) -> Result<NavigationResult, RpcError> {
    access.refresh()?;
    let members = format!("{{{}}}", members.join(","));
    let parent = Parent::At(route.destination.new_leaf_id.clone());
    // Messages that came meanwhile would be in neither the summary nor the context.
    let condition = Precondition::LeafIs(route.old_leaf_id.clone());
    let entry = access.append(NewEntry::new("branch_summary", &members), parent, &condition)?;
    set_label(access, entry.id(), label)?;
    Ok(moved(access, route, Some(&entry)))
}
