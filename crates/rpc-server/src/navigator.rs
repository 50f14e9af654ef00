//! A navigation from the call to its entries (docs/summaries.md, "Branch summaries").

mod told;

use std::sync::Arc;

use compaction_core::conversation::Thinking;
use compaction_core::entry::{Entry, EntryId, EntryKind};
use compaction_core::file_operations::FileOperations;
use compaction_core::json;
use compaction_core::navigation::{BranchPreparation, branch_budget};
use compaction_core::prompts::{self, OutputLimits, PromptTexts};
use compaction_core::summary::{ShownFiles, append_shown_files, remove_file_blocks};
use futures_util::FutureExt;
use serde_json::json;
use session_store::{NewEntry, Parent, Precondition, Session};
use tokio_util::sync::CancellationToken;

use crate::auto_compaction;
use crate::call::{CallContext, blocking, change};
use crate::convert;
use crate::errors::RpcError;
use crate::handlers::compaction::prompt_texts;
use crate::handlers::entries::member;
use crate::handlers::navigation::Route;
use crate::hooks::{self, Decision};
use crate::operation::{self, SummaryOperation};
use crate::server::Server;
use crate::session::{OperationGuard, SessionAccess};
use crate::settings::Settings;
use crate::summarizers::{self, Chain, Redactions, SummaryJob};
use crate::wire::*;
use told::{Start, Started, tell_end};

/// Serves `navigateTree`.
pub(crate) async fn navigate(call: CallContext, params: NavigateTreeParams) -> Result<NavigateTreeResult, RpcError> {
    let settings = call.server.settings_now().await?;
    let chain = summarizers::chain(params.summarizer.as_ref(), &settings, &call.server)?;
    check_given(&params)?;
    let waits = params.wait.unwrap_or(true);
    let parent = if waits { call.cancel.clone() } else { call.server.closing.clone() };
    let begin_params = params.clone();
    let window = smallest_window(&chain);
    let begin_settings = settings.clone();
    let started = Started::default();
    let telling = started.clone();
    let begin =
        move |access: &mut SessionAccess<'_>| begin(access, &begin_params, &begin_settings, &parent, window, &telling);
    let begun = call.write(begin).await.inspect_err(|error| {
        // What was told to have started must end, also if the disk has refused the move since.
        if let Some(operation_id) = started.operation_id() {
            tell_end(&call.server, params.clone(), operation_id, &Err(error.clone()), false);
        }
    })?;
    let operation_id = begun.guard.id.clone();
    let operation =
        SummaryOperation::begun(&call, &params.session_id, begun.guard, chain, "branchSummaryProgress", &settings);
    let running = call.server.operations.spawn(run(
        operation,
        begun.old_leaf_id,
        begun.step,
        params,
        call.cancel.clone(),
        started,
    ));
    if !waits {
        return Ok(NavigateTreeResult::Started(StartedResult { operation_id }));
    }
    let outcome =
        running.await.map_err(|error| RpcError::Internal { message: format!("the navigation ended early: {error}") });
    outcome?.map(|result| NavigateTreeResult::Done(Box::new(result)))
}

/// The window that every summarizer of the chain can read.
fn smallest_window(chain: &Chain) -> Option<u64> {
    chain.iter().filter_map(|summarizer| summarizer.limits().context_window).min()
}

struct Begun {
    guard: OperationGuard,
    old_leaf_id: Option<String>,
    step: Step,
}

/// What is to be done next.
enum Step {
    /// Nothing: the leaf is where it should be.
    Moved(NavigationResult),
    /// The client's hook has a say first.
    Ask(Box<SessionBeforeTree>),
    /// A summary is to be written.
    Summarize(Box<Plan>),
}

struct Plan {
    route: Route,
    preparation: BranchPreparation,
    texts: Arc<PromptTexts>,
    thinking: Thinking,
    /// Tokens that are reserved for branch summaries.
    reserve_tokens: u64,
}

/// Claims the session. Without a hook, and where nothing is to be summarised, the leaf moves at
/// once, in the turn of the call.
fn begin(
    access: &mut SessionAccess<'_>,
    params: &NavigateTreeParams,
    settings: &Settings,
    parent: &CancellationToken,
    window: Option<u64>,
    started: &Started,
) -> Result<Begun, RpcError> {
    access.check_writable()?;
    access.refresh()?;
    let guard = access.open().begin_operation(parent)?;
    let (session, open) = (access.session(), access.open());
    let route = Route::of(session, open, session.leaf_id().cloned(), &params.target_id)?;
    let old_leaf_id = convert::id(route.old_leaf_id.as_ref());
    let step = if route.is_there(session).map_err(|error| open.store_error(&error))? {
        tell_start_of_move(access.server(), params, &guard.id, &route, started);
        Step::Moved(stayed(&route))
    } else if access.server().has_hook(hooks::BEFORE_TREE) {
        Step::Ask(Box::new(question(params, &route, &guard)))
    } else {
        go(access, params, settings, route, &guard.id, window, started)?
    };
    Ok(Begun { guard, old_leaf_id, step })
}

/// Moves the leaf, or prepares the summary that has to be written first.
fn go(
    access: &mut SessionAccess<'_>,
    params: &NavigateTreeParams,
    settings: &Settings,
    route: Route,
    operation_id: &str,
    window: Option<u64>,
    started: &Started,
) -> Result<Step, RpcError> {
    if params.summarize || params.summary.is_some() {
        let budget = window.filter(|_| params.summary.is_none());
        let budget = budget.map(|window| branch_budget(window, settings.branch_reserve_tokens()));
        let preparation = route.branch_preparation(access.session(), access.open(), budget, &settings.file_tools())?;
        if !preparation.messages.is_empty() {
            let old_leaf_id = convert::id(route.old_leaf_id.as_ref());
            let start = Start { operation_id, old_leaf_id, estimated_tokens: preparation.tokens };
            started.tell(access.server(), params, start);
            let texts = Arc::new(prompt_texts(settings));
            let reserve_tokens = settings.branch_reserve_tokens();
            let thinking = settings.thinking();
            let plan = Plan { route, preparation, texts, thinking, reserve_tokens };
            return Ok(Step::Summarize(Box::new(plan)));
        }
    }
    tell_start_of_move(access.server(), params, operation_id, &route, started);
    move_plainly(access, &route, params.label.as_deref()).map(Step::Moved)
}

/// A call that does not wait learns of the end by a notification, whose start comes before all else.
fn tell_start_of_move(
    server: &Server,
    params: &NavigateTreeParams,
    operation_id: &str,
    route: &Route,
    started: &Started,
) {
    if params.wait == Some(false) {
        let old_leaf_id = convert::id(route.old_leaf_id.as_ref());
        started.tell(server, params, Start { operation_id, old_leaf_id, estimated_tokens: 0 });
    }
}

fn question(params: &NavigateTreeParams, route: &Route, guard: &OperationGuard) -> SessionBeforeTree {
    SessionBeforeTree {
        session_id: params.session_id.clone(),
        operation_id: guard.id.clone(),
        preparation: TreePreparation {
            target_id: params.target_id.clone(),
            old_leaf_id: convert::id(route.old_leaf_id.as_ref()),
            common_ancestor_id: convert::id(route.common_ancestor_id.as_ref()),
            entries_to_summarize: route.abandoned.iter().map(EntryId::to_string).collect(),
            user_wants_summary: params.summarize,
            custom_instructions: params.custom_instructions.clone(),
            replace_instructions: params.replace_instructions.then_some(true),
            label: params.label.clone(),
        },
    }
}

fn check_given(params: &NavigateTreeParams) -> Result<(), RpcError> {
    let Some(given) = &params.summary else {
        return Ok(());
    };
    operation::checked(&given.summary)?;
    operation::details(&FileOperations::default(), "{}", given.details.as_ref(), "summary.details").map(|_| ())
}

/// The result of a navigation to where the session is already.
fn stayed(route: &Route) -> NavigationResult {
    let leaf_id = convert::id(route.old_leaf_id.as_ref());
    NavigationResult {
        leaf_id: leaf_id.clone(),
        old_leaf_id: leaf_id,
        editor_text: route.editor_text(),
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
    let members = access.session().navigation_members();
    let condition = Precondition::LeafIs(route.old_leaf_id.clone());
    let mark = NewEntry::new("custom", &members);
    append_labelled(access, route, mark, &condition, label.map(|label| (route.target.id(), label)))?;
    Ok(tell_moved(access, route, None))
}

/// Appends what makes the move, and the label with it: both are in the file, or the leaf is where it
/// was (docs/durability.md, "Append").
fn append_labelled(
    access: &mut SessionAccess<'_>,
    route: &Route,
    entry: NewEntry<'_>,
    condition: &Precondition,
    label: Option<(&EntryId, &str)>,
) -> Result<Arc<Entry>, RpcError> {
    let label = label.filter(|(_, label)| !label.is_empty());
    let label = label.map(|(target, label)| Session::label_members(target, Some(label)));
    let label = label.as_deref().map(|members| NewEntry::new("label", members));
    let new: Vec<NewEntry<'_>> = std::iter::once(entry).chain(label).collect();
    let parent = Parent::At(route.destination.new_leaf_id.clone());
    let appended = access.append_all_with(|session| session.append_all(&new, parent, condition))?;
    let first = appended.into_iter().next();
    first.ok_or_else(|| RpcError::Internal { message: "nothing was appended".to_owned() })
}

/// Tells of a move that was made.
fn tell_moved(access: &SessionAccess<'_>, route: &Route, summary: Option<&Arc<Entry>>) -> NavigationResult {
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

/// Runs a navigation to its end. The client is told of the end where it was told of a start; a
/// call that does not wait gets both in any case, as they are its reply. Ending the operation by
/// `abortCompaction` is a result, cancelling the request is an error.
async fn run(
    operation: SummaryOperation,
    old_leaf_id: Option<String>,
    step: Step,
    params: NavigateTreeParams,
    request_cancel: CancellationToken,
    started: Started,
) -> Result<NavigationResult, RpcError> {
    let server = Arc::clone(&operation.server);
    let session = Arc::clone(&operation.guard.session);
    let operation_id = operation.guard.id.clone();
    let cancel = operation.guard.cancel.clone();
    let mut effective = params.clone();
    let working = work(&operation, step, &mut effective, &started);
    let outcome = match std::panic::AssertUnwindSafe(working).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(_) => Err(RpcError::Internal { message: "the navigation panicked".to_owned() }),
    };
    drop(operation);
    let is_aborted = outcome.is_err() && cancel.is_cancelled();
    let outcome = match outcome {
        Err(RpcError::Cancelled) if is_aborted && !request_cancel.is_cancelled() => {
            Ok(NavigationResult { aborted: Some(true), ..cancelled(old_leaf_id.clone()) })
        }
        Err(RpcError::CancelledByHook) => Ok(cancelled(old_leaf_id.clone())),
        outcome => outcome,
    };
    if params.wait == Some(false) {
        started.tell(&server, &params, Start { operation_id: &operation_id, old_leaf_id, estimated_tokens: 0 });
    }
    if started.operation_id().is_some() {
        tell_end(&server, params, operation_id, &outcome, is_aborted);
    }
    auto_compaction::check_again(&server, &session).await;
    outcome
}

/// The result of a navigation that somebody called off.
fn cancelled(leaf_id: Option<String>) -> NavigationResult {
    NavigationResult {
        old_leaf_id: leaf_id.clone(),
        leaf_id,
        editor_text: None,
        summary_entry: None,
        cancelled: true,
        aborted: None,
    }
}

async fn work(
    operation: &SummaryOperation,
    step: Step,
    params: &mut NavigateTreeParams,
    started: &Started,
) -> Result<NavigationResult, RpcError> {
    let (step, is_from_hook) = match step {
        Step::Ask(question) => {
            let is_from_hook = ask_hook(operation, &question, params).await?;
            (
                go_after_hook(operation, params.clone(), question.preparation.old_leaf_id, started.clone()).await?,
                is_from_hook,
            )
        }
        step => (step, false),
    };
    let plan = match step {
        Step::Moved(result) => return Ok(result),
        Step::Ask(_) => return Err(RpcError::Internal { message: "the hook was asked twice".to_owned() }),
        Step::Summarize(plan) => plan,
    };
    let members = match &params.summary {
        Some(given) => by_client(&plan, given, is_from_hook)?,
        None => by_summarizer(operation, &plan, params).await?,
    };
    let (session, guard) = operation.session_turn().await?;
    let (label, cancel) = (params.label.clone(), operation.guard.cancel.clone());
    let commit = move |access: &mut SessionAccess<'_>| match cancel.is_cancelled() {
        true => Err(RpcError::Cancelled),
        false => commit(access, &plan.route, &members, label.as_deref()),
    };
    change(Arc::clone(&operation.server), session, guard, commit).await
}

/// Puts what the hook gives in the place of what the caller gave; whether the summary is the
/// hook's.
async fn ask_hook(
    operation: &SummaryOperation,
    question: &SessionBeforeTree,
    params: &mut NavigateTreeParams,
) -> Result<bool, RpcError> {
    let asking = hooks::before_tree(&operation.server, question);
    let Decision::Go(given) = operation.in_time(asking).await? else {
        return Err(RpcError::CancelledByHook);
    };
    params.custom_instructions = given.custom_instructions.or(params.custom_instructions.take());
    params.replace_instructions = given.replace_instructions.unwrap_or(params.replace_instructions);
    params.label = given.label.or(params.label.take());
    // A summary that nobody asked for would be a surprise in the conversation.
    let Some(summary) = given.summary.filter(|_| params.summarize) else {
        return Ok(false);
    };
    params.summary = Some(summary);
    check_given(params).map_err(|error| match error {
        RpcError::InvalidParams { path, expected } => hooks::wrong(&path, &expected),
        error => error,
    })?;
    Ok(true)
}

/// Goes on once the hook has answered, if the leaf is still the one that it was asked about.
async fn go_after_hook(
    operation: &SummaryOperation,
    params: NavigateTreeParams,
    expected: Option<String>,
    started: Started,
) -> Result<Step, RpcError> {
    let (session, turn) = operation.session_turn().await?;
    let settings = operation.server.settings_now().await?;
    let id = operation.guard.id.clone();
    let window = smallest_window(&operation.chain);
    change(Arc::clone(&operation.server), session, turn, move |access| {
        access.refresh()?;
        let actual = access.leaf_id();
        if actual != expected {
            return Err(RpcError::LeafMoved { expected, actual });
        }
        let (session, open) = (access.session(), access.open());
        let route = Route::of(session, open, session.leaf_id().cloned(), &params.target_id)?;
        go(access, &params, &settings, route, &id, window, &started)
    })
    .await
}

fn by_client(plan: &Plan, given: &GivenBranchSummary, is_from_hook: bool) -> Result<Vec<String>, RpcError> {
    let own = json!({ "summarizer": if is_from_hook { "hook" } else { "client" } });
    let files = &plan.preparation.file_operations;
    let details = operation::details(files, &own.to_string(), given.details.as_ref(), "summary.details")?;
    let usage = operation::usage(given.usage.as_ref());
    let mut members = summary_members(plan, &given.summary, &details, usage);
    if is_from_hook {
        members.push(member("fromHook", "true"));
    }
    Ok(members)
}

async fn by_summarizer(
    operation: &SummaryOperation,
    plan: &Plan,
    params: &NavigateTreeParams,
) -> Result<Vec<String>, RpcError> {
    let (mut messages, mut operations) = (plan.preparation.messages.clone(), plan.preparation.file_operations.clone());
    let mut redactions = Redactions::new();
    if let Some(redactor) = operation.redactor.clone() {
        let redacting = blocking(move || {
            let redactions = redactor.messages(&mut messages);
            Ok((messages, redactor.file_operations(operations), redactions))
        });
        (messages, operations, redactions) = operation.unless_cancelled(redacting).await?;
    }
    let job = SummaryJob {
        kind: prompts::RequestKind::Branch,
        messages,
        previous_summary: None,
        previous_ledger: None,
        file_tools: plan.preparation.file_tools.clone(),
        citations: false,
        custom_instructions: params.custom_instructions.clone(),
        replace_instructions: params.replace_instructions,
        texts: Arc::clone(&plan.texts),
        limits: OutputLimits { reserve_tokens: 0, model_max_tokens: None },
        local_tokens: prompts::BRANCH_MAX_TOKENS,
        thinking: plan.thinking,
        collected: None,
        conversation: None,
    };
    let written = operation.summarize(&[job]).await?;
    operation::add_redactions(&mut redactions, &written.summaries);
    let summarizer = written.summarizer;
    let failed_usage = written.failed_usage;
    let Some(written) = written.summaries.into_iter().next() else {
        return Err(RpcError::Internal { message: "there is no summary".to_owned() });
    };
    let usage = operation::sum_usage(failed_usage, written.usage);
    let text = remove_file_blocks(&written.text).into_owned();
    operation::checked(&text)?;
    let files = operations.lists();
    let shown = ShownFiles::within(&files, &operations.last_touched(), plan.reserve_tokens);
    let summary = append_shown_files(&text, &shown);
    let mut own = json!({ "summarizer": summarizer });
    if !redactions.is_empty() {
        own["redactions"] = json!(redactions);
    }
    let details = operation::details(&operations, &own.to_string(), None, "details")?;
    Ok(summary_members(plan, &summary, &details, usage.map(|usage| usage.to_string())))
}

fn summary_members(plan: &Plan, summary: &str, details: &str, usage: Option<String>) -> Vec<String> {
    let from_id = plan.route.old_leaf_id.as_ref().map_or("root", EntryId::as_str);
    let mut members = vec![
        member("fromId", &json::encode_string(from_id)),
        member("summary", &json::encode_string(summary)),
        member("details", details),
    ];
    members.extend(usage.map(|usage| member("usage", &usage)));
    members
}

/// The leaf, if nothing that the model sees was appended since the summary was begun: messages that
/// came meanwhile would be in neither the summary nor the context. A label or a name is no reason to
/// throw a summary away.
fn unchanged_leaf(access: &SessionAccess<'_>, route: &Route) -> Result<Option<EntryId>, RpcError> {
    let session = access.session();
    let leaf = session.leaf_id().cloned();
    if leaf == route.old_leaf_id {
        return Ok(leaf);
    }
    let branch = session.branch_entries(leaf.as_ref()).map_err(|error| access.open().store_error(&error))?;
    let old = branch.iter().rposition(|entry| Some(entry.id()) == route.old_leaf_id.as_ref());
    let is_silent = |entry: &Arc<Entry>| !entry.has_context_messages() && entry.kind() != EntryKind::ContextEdit;
    match old {
        Some(old) if branch[old + 1..].iter().all(is_silent) => Ok(leaf),
        _ => Err(RpcError::LeafMoved {
            expected: convert::id(route.old_leaf_id.as_ref()),
            actual: convert::id(leaf.as_ref()),
        }),
    }
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
    let condition = Precondition::LeafIs(unchanged_leaf(access, route)?);
    let id = access.session().new_entry_id();
    let summary = NewEntry { id: Some(id.clone()), ..NewEntry::new("branch_summary", &members) };
    let entry = append_labelled(access, route, summary, &condition, label.map(|label| (&id, label)))?;
    Ok(tell_moved(access, route, Some(&entry)))
}
