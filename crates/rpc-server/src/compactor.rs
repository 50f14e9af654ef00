//! A compaction from the call to its entry (compaction spec, Preparation and Summaries).
//!
//! Preparing and committing happen in the session's turn; between them, while the summary is
//! written, the session is free and appends go on. What is appended meanwhile lies after the cut
//! and is kept.

use std::sync::Arc;

use compaction_core::entry::{Entry, EntryId, FileLists};
use compaction_core::json;
use compaction_core::message::Message;
use compaction_core::preparation::{Preparation, PreparedMessage};
use compaction_core::projection::Projection;
use compaction_core::prompts::{self, OutputLimits, PromptTexts};
use compaction_core::summary::{append_file_blocks, join_split_turn, remove_file_blocks};
use compaction_core::{cut_point, system_state, tokens};
use serde_json::json;
use session_store::{NewEntry, Parent, Precondition};

use crate::call::{CallContext, change};
use crate::convert;
use crate::errors::RpcError;
use crate::handlers::compaction::{prompt_texts, settings_of_call};
use crate::handlers::context::project;
use crate::handlers::entries::{entry_not_found, member};
use crate::hooks::{self, Decision};
use crate::operation::{self, SummaryOperation};
use crate::session::{OperationGuard, SessionAccess};
use crate::settings::Settings;
use crate::summarizers::{self, SummaryJob};
use crate::wire::*;

/// Serves `compact`.
pub(crate) async fn compact(call: CallContext, params: CompactParams) -> Result<CompactResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.as_ref())?;
    let name = params.summarizer.clone().unwrap_or_else(|| settings.summarizer().to_owned());
    let summarizer = summarizers::by_name(&name, "summarizer", &call.server)?;
    let waits = params.wait.unwrap_or(true);
    let parent = if waits { call.cancel.clone() } else { call.server.end.clone() };
    let prepare = {
        let (params, settings) = (params.clone(), settings.clone());
        move |access: &mut SessionAccess<'_>| begin(access, &params, &settings, &parent)
    };
    let begun = call.write(prepare).await?;
    let operation_id = begun.guard.id.clone();
    let operation = SummaryOperation::begun(&call, &params.session_id, begun.guard, summarizer, "compactionProgress");
    let texts = Arc::new(prompt_texts(&settings));
    let running = call.server.operations.spawn(run(operation, begun.plan, begun.question, params, texts));
    if !waits {
        return Ok(CompactResult::Started(StartedResult { operation_id }));
    }
    // The task ends by itself when the call is cancelled, and has told of its end before it does.
    let outcome =
        running.await.map_err(|error| RpcError::Internal { message: format!("the compaction ended early: {error}") });
    outcome?.map(|result| CompactResult::Done(Box::new(result)))
}

struct Begun {
    guard: OperationGuard,
    plan: Plan,
    /// What the client's hook is asked, if it has one.
    question: Option<Box<SessionBeforeCompact>>,
}

/// What is to be summarised, or what the client has summarised, and where the cut is.
struct Plan {
    first_kept_entry_id: EntryId,
    leaf_id: EntryId,
    tokens_before: u64,
    /// `None` where the client gave summary and cut and nothing else would be compacted.
    preparation: Option<Preparation>,
}

/// Claims the session and prepares; tells the client that the compaction has started.
fn begin(
    access: &mut SessionAccess<'_>,
    params: &CompactParams,
    settings: &Settings,
    parent: &tokio_util::sync::CancellationToken,
) -> Result<Begun, RpcError> {
    access.check_writable()?;
    access.refresh()?;
    let guard = access.open().begin_operation(parent)?;
    let projection = project(access.session(), access.open(), access.session().leaf_id())?;
    let leaf = access.session().leaf_id().cloned();
    let preparation = Preparation::of(&projection, leaf.as_ref(), settings.compaction(), &settings.file_tools());
    let plan = match &params.summary {
        None => Plan::of(preparation?),
        Some(given) => plan_given(access, given, &projection, preparation)?,
    };
    // Whatever can fail comes before the start is told, since every start has an end.
    let question = question(access, params, &plan, &guard)?;
    access.server().notify(
        "compactionStart",
        &CompactionStart {
            session_id: params.session_id.clone(),
            operation_id: guard.id.clone(),
            reason: CompactionReason::Manual,
            tokens_before: plan.tokens_before,
        },
    );
    Ok(Begun { guard, plan, question })
}

/// What the hook is asked. A client that gives the summary itself has had its say.
fn question(
    access: &SessionAccess<'_>,
    params: &CompactParams,
    plan: &Plan,
    guard: &OperationGuard,
) -> Result<Option<Box<SessionBeforeCompact>>, RpcError> {
    let preparation = plan.preparation.as_ref().filter(|_| params.summary.is_none());
    let Some(preparation) = preparation.filter(|_| access.server().has_hook(hooks::BEFORE_COMPACT)) else {
        return Ok(None);
    };
    let branch = access.session().branch_entries(Some(&plan.leaf_id));
    let branch = branch.map_err(|error| access.open().store_error(&error))?;
    Ok(Some(Box::new(SessionBeforeCompact {
        session_id: params.session_id.clone(),
        operation_id: guard.id.clone(),
        preparation: convert::preparation(preparation, true),
        branch_entries: branch.iter().map(convert::entry).collect(),
        custom_instructions: params.custom_instructions.clone(),
        reason: CompactionReason::Manual,
        will_retry: false,
    })))
}

impl Plan {
    /// Takes over the cut that a hook chose, once it is checked.
    async fn accept(&mut self, operation: &SummaryOperation, given: &GivenSummary) -> Result<(), RpcError> {
        check_given(given).map_err(of_hook)?;
        if let Some(first_kept) = &given.first_kept_entry_id {
            let first_kept = EntryId::new(first_kept.as_str());
            let (chosen, leaf) = (first_kept.clone(), self.leaf_id.clone());
            let (session, guard) = operation.session_turn().await?;
            let check = move |access: &mut SessionAccess<'_>| check_first_kept(access, &chosen, &leaf);
            change(Arc::clone(&operation.server), session, guard, check).await.map_err(of_hook)?;
            self.first_kept_entry_id = first_kept;
        }
        self.tokens_before = given.tokens_before.unwrap_or(self.tokens_before);
        Ok(())
    }

    fn of(preparation: Preparation) -> Self {
        Self {
            first_kept_entry_id: preparation.first_kept_entry_id.clone(),
            leaf_id: preparation.leaf_id.clone(),
            tokens_before: preparation.tokens_before,
            preparation: Some(preparation),
        }
    }
}

/// Checks a summary that the client wrote, and the cut that it chose, if it did.
fn plan_given(
    access: &SessionAccess<'_>,
    given: &GivenSummary,
    projection: &Projection,
    preparation: Result<Preparation, compaction_core::preparation::Refusal>,
) -> Result<Plan, RpcError> {
    check_given(given)?;
    let (Some(first_kept), Some(leaf)) = (&given.first_kept_entry_id, access.session().leaf_id()) else {
        return Ok(Plan::of(preparation?));
    };
    let first_kept = EntryId::new(first_kept.as_str());
    check_first_kept(access, &first_kept, leaf)?;
    Ok(Plan {
        first_kept_entry_id: first_kept,
        leaf_id: leaf.clone(),
        tokens_before: tokens::context_tokens(projection).tokens,
        preparation: preparation.ok(),
    })
}

fn check_given(given: &GivenSummary) -> Result<(), RpcError> {
    operation::checked(&given.summary)?;
    operation::details(&FileLists::default(), &json!({}), given.details.as_ref(), "summary.details")?;
    operation::usage(given.usage.as_ref(), "summary.usage").map(|_| ())
}

/// A cut that the client chose must be on the branch and part no tool call from its result.
fn check_first_kept(access: &SessionAccess<'_>, first_kept: &EntryId, leaf: &EntryId) -> Result<(), RpcError> {
    let (session, open) = (access.session(), access.open());
    let path = "summary.firstKeptEntryId";
    let header = session.entry_header(first_kept).map_err(|error| open.store_error(&error))?;
    header.ok_or_else(|| entry_not_found(open, first_kept))?;
    let is_on_branch = session.is_on_branch(first_kept, Some(leaf)).map_err(|error| open.store_error(&error))?;
    if !is_on_branch {
        return Err(RpcError::invalid_params(path, format!("an entry on the branch that ends at {leaf}")));
    }
    let branch = session.branch_entries(Some(leaf)).map_err(|error| open.store_error(&error))?;
    match cut_point::parted_pair(&branch, first_kept) {
        Some(call_id) => Err(RpcError::invalid_params(
            path,
            format!("an entry that does not part a tool call from its result; {first_kept} parts call {call_id}"),
        )),
        None => Ok(()),
    }
}

/// Runs a compaction to its end and tells the client, whatever the end is.
async fn run(
    operation: SummaryOperation,
    plan: Plan,
    question: Option<Box<SessionBeforeCompact>>,
    params: CompactParams,
    texts: Arc<PromptTexts>,
) -> Result<CompactionResult, RpcError> {
    let server = Arc::clone(&operation.server);
    let operation_id = operation.guard.id.clone();
    let cancel = operation.guard.cancel.clone();
    let working = std::panic::AssertUnwindSafe(work(&operation, plan, question, &params, texts));
    let outcome = match futures_util::FutureExt::catch_unwind(working).await {
        Ok(outcome) => outcome,
        Err(_) => Err(RpcError::Internal { message: "the compaction panicked".to_owned() }),
    };
    // The claim ends before the client hears of the end, so that it may start the next one at once.
    drop(operation);
    server.notify(
        "compactionEnd",
        &CompactionEnd {
            session_id: params.session_id,
            operation_id,
            reason: CompactionReason::Manual,
            result: outcome.as_ref().ok().cloned(),
            aborted: outcome.is_err() && cancel.is_cancelled(),
            will_retry: false,
            error: outcome.as_ref().err().map(RpcError::to_body),
        },
    );
    outcome
}

async fn work(
    operation: &SummaryOperation,
    mut plan: Plan,
    question: Option<Box<SessionBeforeCompact>>,
    params: &CompactParams,
    texts: Arc<PromptTexts>,
) -> Result<CompactionResult, RpcError> {
    let given_by_hook = match question {
        Some(question) => ask_hook(operation, &question).await?,
        None => None,
    };
    let written = match (&given_by_hook, &params.summary) {
        (Some(given), _) => {
            plan.accept(operation, given).await?;
            Written::by_hook(given, plan.preparation.as_ref())?
        }
        (None, Some(given)) => Written::by_client(given, plan.preparation.as_ref())?,
        (None, None) => Written::by_summarizer(operation, plan.preparation.as_ref(), params, texts).await?,
    };
    let (session, guard) = operation.session_turn().await?;
    change(Arc::clone(&operation.server), session, guard, move |access| commit(access, plan, written)).await
}

async fn ask_hook(
    operation: &SummaryOperation,
    question: &SessionBeforeCompact,
) -> Result<Option<GivenSummary>, RpcError> {
    let asking = hooks::before_compact(&operation.server, question);
    match operation.unless_cancelled(asking).await? {
        Decision::Cancel => Err(RpcError::CancelledByHook),
        Decision::Go(given) => Ok(given),
    }
}

/// An error about a client's summary, as one about a hook's.
fn of_hook(error: RpcError) -> RpcError {
    match error {
        RpcError::InvalidParams { path, expected } => {
            hooks::wrong(&path.replacen("summary", "compaction", 1), &expected)
        }
        RpcError::EntryNotFound { entry_id, .. } => {
            hooks::wrong("compaction.firstKeptEntryId", &format!("an entry of the session; {entry_id} is none"))
        }
        error => error,
    }
}

/// A summary with what belongs to it.
struct Written {
    summary: String,
    details: String,
    usage: Option<String>,
    summarizer: &'static str,
    attempts: u32,
    from_hook: bool,
}

impl Written {
    /// A hook's words are kept as they are, like a client's; readers of the format know them by
    /// `fromHook`.
    fn by_hook(given: &GivenSummary, preparation: Option<&Preparation>) -> Result<Self, RpcError> {
        let written = Self::by_client(given, preparation).map_err(of_hook)?;
        Ok(Self { summarizer: "hook", from_hook: true, ..written })
    }

    /// A client's own words are kept as they are; the lists of files are added to the details
    /// alone, where the next compaction finds them.
    fn by_client(given: &GivenSummary, preparation: Option<&Preparation>) -> Result<Self, RpcError> {
        let files = preparation.map(|preparation| preparation.file_operations.lists()).unwrap_or_default();
        let own = json!({ "reason": "manual", "summarizer": "client" });
        Ok(Self {
            summary: given.summary.clone(),
            details: operation::details(&files, &own, given.details.as_ref(), "summary.details")?,
            usage: operation::usage(given.usage.as_ref(), "summary.usage")?,
            summarizer: "client",
            attempts: 0,
            from_hook: false,
        })
    }

    async fn by_summarizer(
        operation: &SummaryOperation,
        preparation: Option<&Preparation>,
        params: &CompactParams,
        texts: Arc<PromptTexts>,
    ) -> Result<Self, RpcError> {
        let preparation = preparation.ok_or_else(|| RpcError::Internal { message: "no preparation".to_owned() })?;
        let jobs = jobs(preparation, params.custom_instructions.as_deref(), &texts);
        let written = operation.summarize(jobs).await?;
        let attempts = written.iter().map(|summary| summary.attempts).sum();
        let usage = written.iter().map(|summary| summary.usage.clone()).reduce(operation::sum_usage).flatten();
        let mut texts = written.into_iter().map(|summary| summary.text);
        let history = if preparation.messages_to_summarize.is_empty() { None } else { texts.next() };
        let summary = match texts.next() {
            Some(prefix) => join_split_turn(history.as_deref().or(preparation.previous_summary.as_deref()), &prefix),
            None => history.unwrap_or_default(),
        };
        let files = preparation.file_operations.lists();
        let summary = remove_file_blocks(&summary).into_owned();
        operation::checked(&summary)?;
        let own = json!({ "reason": "manual", "summarizer": operation.summarizer.name() });
        Ok(Self {
            summary: append_file_blocks(&summary, &files.read_files, &files.modified_files),
            details: operation::details(&files, &own, None, "details")?,
            usage: usage.map(|usage| usage.to_string()),
            summarizer: operation.summarizer.name(),
            attempts,
            from_hook: false,
        })
    }
}

/// The summaries to write: of the history, if there is new one, and of the turn's first part.
fn jobs(preparation: &Preparation, custom_instructions: Option<&str>, texts: &Arc<PromptTexts>) -> Vec<SummaryJob> {
    let limits = OutputLimits { reserve_tokens: preparation.settings.reserve_tokens, model_max_tokens: None };
    let job = |kind, prepared: &[PreparedMessage], previous_summary: Option<&String>| SummaryJob {
        kind,
        messages: prepared.to_vec(),
        previous_summary: previous_summary.cloned(),
        custom_instructions: custom_instructions.map(str::to_owned),
        replace_instructions: false,
        texts: Arc::clone(texts),
        limits,
    };
    let mut jobs = Vec::new();
    if !preparation.messages_to_summarize.is_empty() {
        let previous = preparation.previous_summary.as_ref();
        jobs.push(job(prompts::RequestKind::History, &preparation.messages_to_summarize, previous));
    }
    if !preparation.turn_prefix_messages.is_empty() {
        jobs.push(job(prompts::RequestKind::TurnPrefix, &preparation.turn_prefix_messages, None));
    }
    jobs
}

/// Writes the compaction entry, if the branch still holds the prepared leaf.
fn commit(access: &mut SessionAccess<'_>, plan: Plan, written: Written) -> Result<CompactionResult, RpcError> {
    access.refresh()?;
    let time = epoch_milliseconds();
    let system_message = system_message(access, time)?;
    let members = members(&plan, &written, system_message.as_ref());
    let new = NewEntry { timestamp: Some(time), ..NewEntry::new("compaction", &members) };
    let entry = access.append(new, Parent::Leaf, &Precondition::OnPath(Some(plan.leaf_id.clone())))?;
    result(access, &entry, &plan, written)
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
    let usage = written.usage.map(serde_json::value::RawValue::from_string).transpose();
    Ok(CompactionResult {
        entry_id: entry.id().to_string(),
        summary: written.summary,
        first_kept_entry_id: plan.first_kept_entry_id.to_string(),
        tokens_before: plan.tokens_before,
        tokens_after: tokens::context_tokens(&projection).tokens,
        details: convert::raw_object(written.details)?,
        usage: usage.ok().flatten().map(FreeObject::from),
        from_hook: written.from_hook,
        summarizer: written.summarizer.to_owned(),
        attempts: written.attempts,
    })
}

/// The present time in epoch milliseconds.
fn epoch_milliseconds() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
