//! `checkCompaction`, `prepareCompaction`, `compact`, `abortCompaction`.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::trigger::{TriggerAction, TriggerReason};
use compaction_core::{prompts, trigger};
use compaction_engine::context::project;
use compaction_engine::host::Compaction;
use compaction_engine::session::AgentModel;
use compaction_engine::settings::layer_of_call;
use compaction_engine::summarizers::Chain;
use compaction_engine::{EngineError, Preview, Settings, check_summarizers};
use tokio::task::JoinHandle;

use super::compact_messages;
use super::entries::branch_end;
use crate::call::CallContext;
use crate::convert;
use crate::errors::RpcError;
use crate::params::read_object;
use crate::unknown;
use crate::wire::{self, *};

/// Decides whether a compaction is due.
pub(crate) async fn check(call: CallContext, params: CheckCompactionParams) -> Result<CheckCompactionResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.as_ref()).await?;
    let message = params.message.clone().map(|message| convert::read_message(message, "message")).transpose()?;
    let (engine, model) = (Arc::clone(call.server.engine()?), AgentModel::from(params.model));
    call.read(move |session, open| {
        let projection = project(session, open, session.leaf_id())?;
        let decision = engine.check(open, &projection, message.as_ref(), &model, &settings);
        Ok(decided(&decision, model.context_window > 0))
    })
    .await
}

fn decided(decision: &trigger::TriggerDecision, is_window_known: bool) -> CheckCompactionResult {
    let limits = Some(decision.limits).filter(|_| is_window_known);
    CheckCompactionResult {
        action: match decision.action {
            TriggerAction::None => CompactionAction::None,
            TriggerAction::Compact => CompactionAction::Compact,
        },
        reason: decision.reason.map(|reason| match reason {
            TriggerReason::Threshold => CompactionReason::Threshold,
            TriggerReason::Overflow => CompactionReason::Overflow,
        }),
        will_retry: decision.will_retry,
        context_tokens: decision.context_tokens,
        threshold: decision.threshold,
        reserve_tokens: limits.map(|limits| limits.reserve_tokens),
        keep_recent_tokens: limits.map(|limits| limits.keep_recent_tokens),
        skipped: decision.skipped.map(str::to_owned),
        refused: convert::refused_size(&decision.reported),
    }
}

/// The settings of a call: those of the server with the call's own over them.
pub(crate) async fn settings_of_call(call: &CallContext, given: Option<&FreeObject>) -> Result<Settings, RpcError> {
    let settings = call.server.settings_now().await?;
    let Some(given) = given else {
        return Ok(settings.with_call(None)?);
    };
    let given = read_object(given.get()).map_err(|expected| RpcError::invalid_params("settings", expected))?;
    let layer = layer_of_call(given);
    let settings = settings.with_call(Some(&layer))?;
    call.note_unknown(DiagnosticKind::UnknownSetting, unknown::settings(&layer));
    Ok(settings)
}

/// Tells what a compaction would do.
pub(crate) async fn prepare(
    call: CallContext,
    params: PrepareCompactionParams,
) -> Result<PrepareCompactionResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.as_ref()).await?;
    let named = params.summarizer.as_ref().map(SummarizerChoice::names);
    let chain = match call.server.engine()?.summarizers(named.as_deref(), &settings) {
        // Without a summarizer that this client can use, everything but its requests can still be prepared.
        Err(_) if named.is_none() && !params.check_summarizer => Chain::new(),
        chain => chain?,
    };
    let limits = chain.first().map(|summarizer| summarizer.limits()).unwrap_or_default();
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let first_kept = params.first_kept_entry_id.map(EntryId::new);
        let preview = match Preview::of(session, open, leaf.as_ref(), first_kept.as_ref(), &settings)? {
            Ok(preview) => preview,
            Err(refusal) => return Ok(convert::refusal(&refusal)),
        };
        if params.check_summarizer {
            check_summarizers(&chain)?;
        }
        let wants = |part| params.include.as_ref().is_none_or(|include| include.contains(&part));
        let focus = params.custom_instructions.as_deref();
        let requests =
            wants(PreparationPart::Requests).then(|| preview.requests(&settings, focus, limits)).transpose()?;
        let requests = requests.map(|requests| requests.into_iter().map(request).collect());
        let forecast = wants(PreparationPart::Forecast).then(|| forecast(&preview));
        Ok(PrepareCompactionResult {
            preparation: Some(convert::preparation(&preview.preparation, wants(PreparationPart::Messages))),
            requests,
            forecast,
            reason: None,
            context_tokens: None,
            keep_recent_tokens: None,
            messages: None,
            compaction_id: None,
            tool_call_id: None,
        })
    })
    .await
}

/// What any summary keeps at least once it is repaired.
fn forecast(preview: &Preview) -> Forecast {
    let retention = preview.forecast();
    Forecast { score: retention.score(), retention: convert::retention(&retention) }
}

fn request(request: prompts::SummaryRequest) -> wire::SummaryRequest {
    wire::SummaryRequest {
        kind: request.kind.into(),
        system_prompt: request.system_prompt,
        prompt: request.prompt,
        max_tokens: request.max_tokens,
        estimated_tokens: request.estimated_tokens,
    }
}

/// Puts a summary in the place of the older part of the context.
pub(crate) async fn compact(call: CallContext, params: CompactParams) -> Result<CompactResult, RpcError> {
    if params.commit == Some(false) {
        return compact_messages::compact_copy(call, params).await;
    }
    let settings = settings_of_call(&call, params.settings.as_ref()).await?;
    let engine = Arc::clone(call.server.engine()?);
    let named = params.summarizer.as_ref().map(SummarizerChoice::names);
    let chain = engine.summarizers(named.as_deref(), &settings)?;
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
    // The task ends by itself when the call is cancelled, and has told of its end before it does.
    let compaction = ended_compaction(running).await?;
    Ok(CompactResult::Done(Box::new(call.server.configuration()?.wanted.compaction(&compaction))))
}

/// What came of a compaction that runs.
pub(super) async fn ended_compaction(
    running: JoinHandle<Result<Arc<Compaction>, EngineError>>,
) -> Result<Arc<Compaction>, RpcError> {
    let outcome = running
        .await
        .map_err(|error| RpcError::Internal { message: format!("the compaction ended early: {error}") })?;
    Ok(outcome?)
}

/// Ends a running compaction or branch summary.
pub(crate) async fn abort(call: CallContext, params: SessionParams) -> Result<AbortResult, RpcError> {
    let session_id = params.session_id;
    let has_waiting = call.server.pending_operations.abort(&session_id);
    let mut session = call.server.sessions.get(&session_id);
    if session.is_none() {
        // It may be about to be opened by a call that came before this one.
        drop(call.unless_cancelled(async { Ok(call.server.opening.read().await) }).await?);
        session = call.server.sessions.get(&session_id);
    }
    let session = session.ok_or(RpcError::SessionNotOpen { session_id })?;
    let was_running = session.abort_summary();
    Ok(AbortResult { aborted: was_running || has_waiting })
}
