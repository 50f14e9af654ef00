//! `checkCompaction`, `prepareCompaction`, `compact`, `compactMessages`, `abortCompaction`, `undoCompaction`.

use std::pin::pin;
use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::formats::{Calls, Converted, Format};
use compaction_core::json::{self, RawObject};
use compaction_core::ledger::Retention;
use compaction_core::message::{Block, Body, Content, Message};
use compaction_core::{conversation, prompts, tokens, trigger};
use compaction_engine::host::Compaction;
use compaction_engine::session::{AgentModel, OpenSession, SessionAccess};
use compaction_engine::settings::layer_of_call;
use compaction_engine::summarizers::Chain;
use compaction_engine::{CompactionRequest, Event, Preview, Settings, check_summarizers};
use serde_json::value::RawValue;
use session_store::{CreateOptions, MemoryStore, NewEntry, Parent, Precondition, Session, SessionStore, Undo};
use tokio_util::sync::CancellationToken;

use super::messages::{MAX_MESSAGES, SubmittedMessages, new_entries, owned_context};
use super::read::branch_end;
use crate::call::{CallContext, Reply, blocking, blocking_if_long};
use crate::errors::RpcError;
use crate::params::read_object;
use crate::wire::{self, *};
use crate::{convert, unknown};

/// Decides whether a compaction is due.
pub(crate) async fn check(
    call: CallContext,
    mut params: CheckCompactionParams,
) -> Result<CheckCompactionResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.take()).await?;
    let bytes = params.message.as_ref().map_or(0, |message| message.get().len());
    let read = move || params.message.map(|message| convert::read_message(message, "message")).transpose();
    let message = blocking_if_long(bytes, read).await?;
    let (engine, model) = (Arc::clone(call.server.engine()?), AgentModel::from(params.model));
    call.read(move |view| {
        let projection = view.project_leaf()?;
        let decision = engine.check(view.open, &projection, message.as_ref(), &model, &settings);
        Ok(decided(&decision, model.context_window > 0))
    })
    .await
}

fn decided(decision: &trigger::TriggerDecision, is_window_known: bool) -> CheckCompactionResult {
    let limits = Some(decision.limits).filter(|_| is_window_known);
    CheckCompactionResult {
        action: decision.reason.map_or(CompactionAction::None, |_| CompactionAction::Compact),
        reason: decision.reason.map(CompactionReason::from),
        will_retry: decision.will_retry,
        context_tokens: decision.context_tokens,
        threshold: decision.threshold,
        reserve_tokens: limits.map(|limits| limits.reserve_tokens),
        keep_recent_tokens: limits.map(|limits| limits.keep_recent_tokens),
        skipped: decision.skipped.map(str::to_owned),
        refused: convert::refused_size(&decision.reported),
    }
}

/// The settings of a call: the server's settings with the call's own on top.
async fn settings_of_call(call: &CallContext, given: Option<FreeObject>) -> Result<Settings, RpcError> {
    let settings = call.server.settings_now().await?;
    let Some(given) = given else {
        return Ok(settings.with_call(None)?);
    };
    let merging = blocking_if_long(given.get().len(), move || {
        let given = read_object(given.get()).map_err(|expected| RpcError::invalid_params("settings", expected))?;
        let layer = layer_of_call(given);
        Ok((settings.with_call(Some(&layer))?, unknown::settings(&layer)))
    });
    let (settings, unknown) = merging.await?;
    call.report_unknown(DiagnosticKind::UnknownSetting, unknown);
    Ok(settings)
}

/// Describes what a compaction would do.
pub(crate) async fn prepare(
    call: CallContext,
    mut params: PrepareCompactionParams,
) -> Result<Reply<PrepareCompactionResult>, RpcError> {
    let settings = settings_of_call(&call, params.settings.take()).await?;
    let chain = match chain(&call, params.summarizer.as_ref(), &settings) {
        // The result is useful even if the client can use no summarizer.
        Err(_) if params.summarizer.is_none() && !params.check_summarizer => Chain::new(),
        chain => chain?,
    };
    let limits = chain.first().map(|summarizer| summarizer.limits()).unwrap_or_default();
    call.read_to_reply(move |view| {
        let leaf = branch_end(view, params.leaf_id)?;
        let first_kept = params.first_kept_entry_id.map(EntryId::new);
        let preview = match Preview::of(view, leaf.as_ref(), first_kept.as_ref(), &settings)? {
            Ok(preview) => preview,
            Err(refusal) => return Ok(convert::refusal(&refusal)),
        };
        if params.check_summarizer {
            check_summarizers(&chain)?;
        }
        let wants = |part| params.include.as_ref().is_none_or(|include| include.contains(&part));
        let focus = params.custom_instructions.as_deref();
        let (requests, forecast) = match (wants(PreparationPart::Requests), wants(PreparationPart::Forecast)) {
            (true, true) => {
                let (requests, forecast) = preview.requests_and_forecast(&settings, focus, limits)?;
                (Some(requests), Some(forecast))
            }
            (true, false) => (Some(preview.requests(&settings, focus, limits)?), None),
            (false, has_forecast) => (None, has_forecast.then(|| preview.forecast())),
        };
        let requests = requests.map(|requests| requests.into_iter().map(to_wire_request).collect());
        Ok(PrepareCompactionResult {
            preparation: Some(convert::preparation(&preview.preparation, wants(PreparationPart::Messages))),
            requests,
            forecast: forecast.as_ref().map(to_wire_forecast),
            ..PrepareCompactionResult::default()
        })
    })
    .await
}

/// The least that any summary keeps after its repair.
fn to_wire_forecast(retention: &Retention) -> Forecast {
    Forecast { score: retention.score(), retention: convert::retention(retention) }
}

fn to_wire_request(request: prompts::SummaryRequest) -> wire::SummaryRequest {
    wire::SummaryRequest {
        kind: request.kind.into(),
        system_prompt: request.system_prompt,
        prompt: request.prompt,
        max_tokens: request.max_tokens,
        estimated_tokens: request.estimated_tokens,
    }
}

/// Replaces the older part of the context by a summary.
pub(crate) async fn compact(call: CallContext, mut params: CompactParams) -> Result<CompactResult, RpcError> {
    if params.commit == Some(false) {
        return compact_copy(call, params).await;
    }
    let settings = settings_of_call(&call, params.settings.take()).await?;
    let engine = Arc::clone(call.server.engine()?);
    let chain = chain(&call, params.summarizer.as_ref(), &settings)?;
    let waits = params.wait.unwrap_or(true);
    let parent = if waits { call.cancel.clone() } else { call.server.closing.clone() };
    let turn = call.unless_cancelled(call.write_guard()).await?;
    let begun = engine.begin_compaction(turn, params.into(), &settings, chain, parent).await?;
    if call.was_aborted() {
        begun.cancel();
    }
    let operation_id = begun.operation_id().to_owned();
    let running = engine.start_compaction(begun);
    if !waits {
        return Ok(CompactResult::Started(StartedResult { operation_id }));
    }
    // The task ends by itself when the call is cancelled, after it has reported its end.
    let compaction = running.await?;
    Ok(CompactResult::Done(Box::new(call.server.configuration()?.preferences.compaction(&compaction))))
}

/// Ends a running compaction or branch summary.
pub(crate) async fn abort(call: CallContext, params: SessionParams) -> Result<AbortResult, RpcError> {
    let session_id = params.session_id;
    let has_waiting = call.server.pending_operations.abort(&session_id);
    let mut session = call.server.sessions.get(&session_id);
    if session.is_none() {
        // An earlier call may be about to open it.
        drop(call.unless_cancelled(async { Ok(call.server.opening.read().await) }).await?);
        session = call.server.sessions.get(&session_id);
    }
    let session = session.ok_or_else(|| RpcError::not_open(session_id))?;
    let was_running = session.abort_summary();
    Ok(AbortResult { aborted: was_running || has_waiting })
}

/// Restores the context from before a compaction.
pub(crate) async fn undo(call: CallContext, params: UndoCompactionParams) -> Result<UndoCompactionResult, RpcError> {
    let parent = call.cancel.clone();
    call.write(move |access| undo_in_turn(access, params.entry_id.map(EntryId::new), &parent)).await
}

fn undo_in_turn(
    access: &mut SessionAccess<'_>,
    compaction_id: Option<EntryId>,
    parent: &CancellationToken,
) -> Result<UndoCompactionResult, RpcError> {
    let _guard = access.claim(parent)?;
    let undo = plan(access, compaction_id.as_ref())?;
    access.append(|session| session.undo(&undo))?;
    let leaf_id = access.leaf_id();
    access.notify(Event::LeafChanged {
        session_id: access.open().id.clone(),
        leaf_id: leaf_id.clone(),
        old_leaf_id: Some(undo.leaf_id.clone()),
    });
    let replayed = undo.replayed.iter().map(|(from, to)| ReplayedEntry { from: from.to_string(), to: to.to_string() });
    Ok(UndoCompactionResult {
        leaf_id: leaf_id.map(|id| id.to_string()).unwrap_or_default(),
        old_leaf_id: undo.leaf_id.to_string(),
        undone_entry_id: undo.compaction_id.to_string(),
        replayed: replayed.collect(),
    })
}

fn plan(access: &SessionAccess<'_>, compaction_id: Option<&EntryId>) -> Result<Undo, RpcError> {
    let view = access.view();
    if let Some(id) = compaction_id {
        view.header(id)?;
    }
    let expected = match compaction_id {
        Some(_) => "a compaction on the path to the leaf",
        None => "a session with a compaction on the path to its leaf",
    };
    let undo = view.read(|session| session.plan_undo(compaction_id))?;
    undo.ok_or_else(|| RpcError::invalid_params("entryId", expected))
}

/// The required beginning of the messages of a call with `previous`.
const EXPECTED_SUMMARY: &str = "the summary of the call that gave `previous`, as its `messages` hold it";

/// Compacts messages that the caller owns.
pub(crate) async fn compact_messages(
    call: CallContext,
    mut params: CompactMessagesParams,
) -> Result<CompactMessagesResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.take()).await?;
    let chain = chain(&call, params.summarizer.as_ref(), &settings)?;
    let format = Format::from(params.format.unwrap_or_default());
    let (messages, previous) = (params.messages, params.previous);
    let cwd = call.server.configuration()?.cwd.display().to_string();
    let (model, of_call) = (params.model.map(AgentModel::from), settings.clone());
    // Reading the messages takes as long as they are.
    let read = move || {
        let owned = MessageSession::of(messages, format, previous.as_ref(), cwd)?;
        let beside = |model| beside_instructions(model, &owned.instructions, format, &of_call);
        let model = model.map(beside).transpose()?;
        Ok((owned, model))
    };
    let (MessageSession { session, instructions, ids, sources }, model) = blocking(read).await?;
    let mut request = CompactionRequest::default();
    request.custom_instructions = params.instructions;
    request.force = params.force;
    let open = Arc::new(OpenSession::private(session));
    open.auto_compaction.set(model);
    let compaction = run(&call, &open, request, &settings, chain).await?;
    let preferences = call.server.configuration()?.preferences;
    let stored = open.read().await;
    blocking(move || {
        let projection = open.view(stored.as_ref())?.project_leaf()?;
        let written = owned_context(&projection, format);
        let kept = ids.iter().position(|id| *id == compaction.first_kept_entry_id);
        let kept_from = kept.and_then(|kept| sources.get(kept)).map_or(0, |source| source + instructions.len());
        Ok(CompactMessagesResult {
            messages: instructions.into_iter().chain(written.messages.into_iter().map(AnyMessage::from)).collect(),
            system: written.system,
            kept_from: kept_from as u64,
            previous: Previous::of(&compaction).to_wire()?,
            report: preferences.compaction(&compaction),
        })
    })
    .await
}

/// The model for the messages beside leading instructions.
fn beside_instructions(
    model: AgentModel,
    instructions: &[AnyMessage],
    format: Format,
    settings: &Settings,
) -> Result<AgentModel, RpcError> {
    let read = SubmittedMessages::after(0, instructions.to_vec(), format).to_estimate()?;
    let (tokens, window) = (tokens::estimate_messages(read.iter().map(Arc::as_ref)), model.context_window);
    let expected = || format!("leading instructions of fewer tokens than the window has: {tokens} of {window}");
    model.beside(tokens, settings).ok_or_else(|| RpcError::invalid_params("messages", expected()))
}

/// Serves `compact` with `commit: false` by compacting a copy of the branch.
pub(crate) async fn compact_copy(call: CallContext, mut params: CompactParams) -> Result<CompactResult, RpcError> {
    if params.wait == Some(false) {
        return Err(RpcError::invalid_params(
            "wait",
            "true, or nothing, with `commit: false`: there is no entry to wait for",
        ));
    }
    let settings = settings_of_call(&call, params.settings.take()).await?;
    let chain = chain(&call, params.summarizer.as_ref(), &settings)?;
    let copying = call.write(|access| {
        access.refresh()?;
        let copy = access.view().read(|session| MemoryStore.fork(session, session.leaf_id()))?;
        Ok((copy, access.open().auto_compaction.effective_model()))
    });
    let (copy, model) = copying.await?;
    let open = Arc::new(OpenSession::private(copy));
    open.auto_compaction.set(model);
    let compaction = run(&call, &open, params.into(), &settings, chain).await?;
    Ok(CompactResult::Done(Box::new(call.server.configuration()?.preferences.compaction(&compaction))))
}

/// The summarizers that the call names, or those of the settings.
pub(super) fn chain(
    call: &CallContext,
    named: Option<&SummarizerChoice>,
    settings: &Settings,
) -> Result<Chain, RpcError> {
    Ok(call.server.engine()?.summarizers(named.map(SummarizerChoice::names).as_deref(), settings)?)
}

/// Compacts a session that only this call uses.
async fn run(
    call: &CallContext,
    open: &Arc<OpenSession>,
    request: CompactionRequest,
    settings: &Settings,
    chain: Chain,
) -> Result<Arc<Compaction>, RpcError> {
    let engine = Arc::clone(call.server.engine()?);
    let guard = open.write().await;
    let turn = (Arc::clone(open), guard);
    let begun = engine.begin_compaction(turn, request, settings, chain, call.cancel.clone()).await?;
    if call.was_aborted() {
        begun.cancel();
    }
    let mut running = pin!(engine.start_compaction(begun));
    // The list of sessions does not contain this one, so the end of the server does not abort its operation.
    let ended = tokio::select! {
        biased;
        ended = &mut running => ended,
        () = call.server.closing.cancelled() => {
            open.abort_operation();
            running.await
        }
    };
    Ok(ended?)
}

/// The messages of a caller in a session in memory.
struct MessageSession {
    session: Session,
    /// Leading instructions. They are returned unchanged.
    instructions: Vec<AnyMessage>,
    /// The entries of the other messages, and the positions of these messages.
    ids: Vec<EntryId>,
    sources: Vec<usize>,
}

impl MessageSession {
    fn of(
        mut messages: Vec<AnyMessage>,
        format: Format,
        previous: Option<&FreeObject>,
        cwd: String,
    ) -> Result<Self, RpcError> {
        if messages.is_empty() || messages.len() > MAX_MESSAGES {
            return Err(RpcError::invalid_params("messages", format!("1 to {MAX_MESSAGES} messages")));
        }
        let instruction_count = messages.iter().take_while(|message| is_instruction(message)).count();
        let others = messages.split_off(instruction_count);
        let previous = previous.map(Previous::read).transpose()?;
        let mut converted = converted(others, format, messages.len(), previous.is_some())?;
        if let Some(previous) = &previous {
            remove_summary(&mut converted, &previous.summary)?;
        }
        let sources = converted.iter().map(|converted| converted.source).collect();
        let options = CreateOptions { cwd, ..CreateOptions::default() };
        let create = || {
            let mut session = MemoryStore.create(&options)?;
            let earlier = previous.as_ref().map(|previous| previous.entries(&session.new_entry_id()));
            let earlier: Vec<NewEntry<'_>> = earlier.iter().flat_map(PreviousEntries::as_new).collect();
            if earlier.is_empty() && converted.is_empty() {
                return Ok((session, Vec::new()));
            }
            let new = [earlier.as_slice(), &new_entries(converted)].concat();
            let appended = session.append_all(&new, Parent::Leaf, &Precondition::None)?;
            let ids = appended.entries().skip(earlier.len()).map(|entry| entry.id().clone()).collect();
            Ok((session, ids))
        };
        let created: Result<_, session_store::StoreError> = create();
        let (session, ids) = created.map_err(|error| RpcError::from_store(&error, ""))?;
        Ok(Self { session, instructions: messages, ids, sources })
    }
}

fn is_instruction(message: &AnyMessage) -> bool {
    let role = RawObject::parse(message.get()).ok().and_then(|message| message.string("role"));
    matches!(role.as_deref(), Some("system" | "developer"))
}

/// Reads messages. The first one may be the summary of a compaction, which could not be stored as a message.
fn converted(
    mut messages: Vec<AnyMessage>,
    format: Format,
    instruction_count: usize,
    may_begin_with_summary: bool,
) -> Result<Vec<Converted>, RpcError> {
    let is_summary = format == Format::Pi && may_begin_with_summary && !messages.is_empty();
    let first = is_summary.then(|| messages.remove(0));
    let path = format!("messages[{instruction_count}]");
    let first = first.map(|first| convert::read_message(first, &path)).transpose()?;
    let before = usize::from(is_summary);
    let rest = SubmittedMessages::after(instruction_count + before, messages, format).convert(&mut Calls::default())?;
    let rest = rest.into_iter().map(|one| Converted { source: one.source + before, ..one });
    Ok(first.map(|message| Converted { message, source: 0 }).into_iter().chain(rest).collect())
}

/// Removes the summary from the start of the messages, because an entry of its own contains it.
fn remove_summary(converted: &mut Vec<Converted>, summary: &str) -> Result<(), RpcError> {
    let missing = || RpcError::invalid_params("messages", EXPECTED_SUMMARY);
    let first = converted.first_mut().ok_or_else(missing)?;
    let shown = Arc::new(Message::compaction_summary(summary, 0, None));
    let shown = conversation::llm_message(&shown).map(|shown| shown.display_text().into_owned()).unwrap_or_default();
    let is_summary = |text: &str| text == shown;
    let rest = match first.message.body() {
        Body::CompactionSummary { summary: given, .. } if given == summary => None,
        Body::User { content: Content::Text(text) } if is_summary(text) => None,
        Body::User { content: Content::Blocks(blocks) } => {
            let found = blocks.iter().position(|block| matches!(block, Block::Text(text) if is_summary(text)));
            let found = found.ok_or_else(missing)?;
            (blocks.len() > 1).then(|| without_block(&first.message, found)).flatten()
        }
        _ => return Err(missing()),
    };
    match rest {
        Some(rest) => first.message = rest,
        None => {
            converted.remove(0);
        }
    }
    Ok(())
}

/// A message without one of its blocks: the rest of a message that contains the summary.
fn without_block(message: &Message, position: usize) -> Option<Message> {
    let stored = RawObject::parse(message.raw().get()).ok()?;
    let mut blocks: Vec<&RawValue> = serde_json::from_str(stored.get("content")?).ok()?;
    blocks.remove(position);
    let content = serde_json::value::to_raw_value(&blocks).ok()?;
    Some(message.with_content(&content))
}

/// The last compaction of messages, for the next call.
struct Previous {
    summary: String,
    tokens_before: u64,
    details: String,
}

impl Previous {
    fn of(compaction: &Compaction) -> Self {
        let details = compaction.details.get().to_owned();
        Self { summary: compaction.summary.clone(), tokens_before: compaction.tokens_before, details }
    }

    fn read(previous: &FreeObject) -> Result<Self, RpcError> {
        let wrong = || RpcError::invalid_params("previous", "what an earlier call gave as `previous`");
        let members = RawObject::parse(previous.get()).map_err(|_| wrong())?;
        let details = members.get("details").filter(|details| details.starts_with('{')).ok_or_else(wrong)?;
        Ok(Self {
            summary: members.string("summary").ok_or_else(wrong)?,
            tokens_before: members.get("tokensBefore").and_then(|tokens| tokens.parse().ok()).ok_or_else(wrong)?,
            details: details.to_owned(),
        })
    }

    fn to_wire(&self) -> Result<FreeObject, RpcError> {
        let previous = RawValue::from_string(format!("{{{}}}", self.members()));
        previous.map(FreeObject::from).map_err(|error| RpcError::internal(error.to_string()))
    }

    /// The members, without the braces around them.
    fn members(&self) -> String {
        let (summary, details) = (json::encode_string(&self.summary), &self.details);
        format!("\"summary\":{summary},\"tokensBefore\":{},\"details\":{details}", self.tokens_before)
    }

    /// The entries that stand for it in a session. A compaction needs an entry that it keeps, so an entry with the id
    /// `anchor` comes first, which no model sees.
    fn entries(&self, anchor: &EntryId) -> PreviousEntries {
        let (members, kept) = (self.members(), json::encode_string(anchor.as_str()));
        PreviousEntries { anchor: anchor.clone(), compaction: format!("{{{members},\"firstKeptEntryId\":{kept}}}") }
    }
}

struct PreviousEntries {
    anchor: EntryId,
    compaction: String,
}

impl PreviousEntries {
    fn as_new(&self) -> [NewEntry<'_>; 2] {
        let anchor = NewEntry::new("custom", "{\"customType\":\"compactd.messages\"}");
        [NewEntry { id: Some(self.anchor.clone()), ..anchor }, NewEntry::new("compaction", &self.compaction)]
    }
}
