//! `checkCompaction`, `prepareCompaction`, `compact`, `abortCompaction`.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::preparation::{ChosenCutError, Preparation, Refusal};
use compaction_core::projection::Projection;
use compaction_core::prompts::{OutputLimits, PromptTexts, RequestKind};
use compaction_core::trigger::{TriggerAction, TriggerInput, TriggerReason, check_compaction};
use compaction_core::{extractive, prompts, trigger};
use session_store::Session;

use super::context::project;
use super::entries::{branch_end, entry_not_found};
use crate::auto_compaction;
use crate::call::CallContext;
use crate::compactor::{self, Fitted};
use crate::convert;
use crate::errors::RpcError;
use crate::params;
use crate::session::OpenSession;
use crate::settings::{Settings, layer_of_call};
use crate::summarizers::{self, ModelLimits};
use crate::unknown;
use crate::wire::{self, *};

/// Decides whether a compaction is due.
pub(crate) async fn check(call: CallContext, params: CheckCompactionParams) -> Result<CheckCompactionResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.as_ref()).await?;
    let message = params.message.as_ref().map(|message| convert::read_message(message, "message")).transpose()?;
    call.read(move |session, open| {
        let projection = project(session, open, session.leaf_id())?;
        let model = &params.model;
        let failed_recovery = open.auto_compaction.failed_recovery();
        let decision = check_compaction(&TriggerInput {
            projection: &projection,
            model: auto_compaction::trigger_model(model, open.auto_compaction.room_of(model)),
            settings: auto_compaction::compaction(model, &settings),
            message: message.as_ref(),
            failed_recovery: failed_recovery.as_ref(),
        });
        Ok(decided(&decision, model.context_window > 0))
    })
    .await
}

/// Whether the environment switches automatic compaction off (compaction spec, Triggers).
pub(crate) fn is_switched_off() -> bool {
    std::env::var("COMPACTD_DISABLE_AUTOCOMPACT").as_deref() == Ok("1")
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
    let settings = call.server.settings_now().await?.with_compaction(given.map(FreeObject::get))?;
    if let Some(layer) = given.and_then(|given| params::read_object(given.get()).ok()) {
        call.note_unknown(DiagnosticKind::UnknownSetting, unknown::settings(&layer_of_call(layer)));
    }
    Ok(settings)
}

/// Tells what a compaction would do.
pub(crate) async fn prepare(
    call: CallContext,
    params: PrepareCompactionParams,
) -> Result<PrepareCompactionResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.as_ref()).await?;
    // Without a summarizer that this client can use there is still something to tell.
    let chain = summarizers::chain(None, &settings, &call.server).unwrap_or_default();
    let limits = chain.first().map(|summarizer| summarizer.limits()).unwrap_or_default();
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let projection = project(session, open, leaf.as_ref())?;
        let fitted = Fitted::of(&settings, open.auto_compaction.effective_model().as_ref());
        let compaction = fitted.map_or_else(|| settings.compaction_at(projection.model()), |fitted| fitted.compaction);
        let tools = settings.file_tools();
        let preparation = match (params.first_kept_entry_id.map(EntryId::new), fitted) {
            (Some(first_kept), _) => {
                let prepared = Preparation::at(&projection, leaf.as_ref(), &first_kept, compaction, &tools);
                chosen_cut(session, open, &first_kept, prepared)?
            }
            (None, Some(fitted)) => fitted.prepare(&settings, &projection, leaf.as_ref()),
            (None, None) => Preparation::of(&projection, leaf.as_ref(), compaction, &tools),
        };
        let preparation = match preparation {
            Ok(preparation) => preparation,
            Err(refusal) => return Ok(convert::refusal(&refusal)),
        };
        let wants = |part| params.include.as_ref().is_none_or(|include| include.contains(&part));
        let requests = wants(PreparationPart::Requests)
            .then(|| requests(&preparation, &settings, params.custom_instructions.as_deref(), limits))
            .transpose()?;
        let forecast = wants(PreparationPart::Forecast).then(|| forecast(&preparation, &projection));
        Ok(PrepareCompactionResult {
            preparation: Some(convert::preparation(&preparation, wants(PreparationPart::Messages))),
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

/// A preparation at a cut that a caller chose. The outer error is about the cut.
pub(crate) fn chosen_cut(
    session: &Session,
    open: &OpenSession,
    first_kept: &EntryId,
    prepared: Result<Preparation, ChosenCutError>,
) -> Result<Result<Preparation, Refusal>, RpcError> {
    let invalid = match prepared {
        Ok(preparation) => return Ok(Ok(preparation)),
        Err(ChosenCutError::Refused(refusal)) => return Ok(Err(refusal)),
        Err(ChosenCutError::Invalid(invalid)) => invalid,
    };
    let header = session.entry_header(first_kept).map_err(|error| open.store_error(&error))?;
    header.ok_or_else(|| entry_not_found(open, first_kept))?;
    let expected = format!("an entry where the context can be cut; cannot {invalid}");
    Err(RpcError::invalid_params("firstKeptEntryId", expected))
}

/// What would be sent to the first configured summarizer, in order. Where the conversation does not
/// fit into one request, the later ones stand here without the answers that they will update.
fn requests(
    preparation: &Preparation,
    settings: &Settings,
    focus: Option<&str>,
    limits: ModelLimits,
) -> Result<Vec<wire::SummaryRequest>, RpcError> {
    let mut requests = Vec::new();
    for job in compactor::jobs(preparation, focus, &Arc::new(prompt_texts(settings)), settings) {
        let plan = job.plan(limits, None, None).map_err(|error| RpcError::SummarizerFailed {
            cause: format!("failed to {error}"),
            retryable: false,
            attempts: 0,
        })?;
        let answer = |index| (index > 0).then_some("(the answer to the request before)");
        requests.extend((0..plan.requests()).filter_map(|index| plan.request(index, answer(index))).map(request));
    }
    Ok(requests)
}

/// What any summary keeps at least once it is repaired.
fn forecast(preparation: &Preparation, projection: &Projection) -> wire::Forecast {
    let limits = OutputLimits { reserve_tokens: preparation.settings.reserve_tokens, model_max_tokens: None };
    let kept = compactor::kept(projection, &preparation.first_kept_entry_id);
    let (ledger, max_tokens) = (preparation.ledger(), limits.max_tokens(RequestKind::History));
    let retention = extractive::forecast(&ledger, max_tokens, limits.reserve_tokens, &kept);
    wire::Forecast { score: retention.score(), retention: convert::retention(&retention) }
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

/// The prompts, with those that the settings replace.
pub(crate) fn prompt_texts(settings: &Settings) -> PromptTexts {
    let mut texts = PromptTexts::default();
    for (name, text) in [
        ("system", &mut texts.system),
        ("history", &mut texts.first),
        ("update", &mut texts.update),
        ("turnPrefix", &mut texts.turn_prefix),
        ("branch", &mut texts.branch),
        ("continued", &mut texts.continued),
    ] {
        if let Some(replacement) = settings.prompt(name) {
            *text = replacement.to_owned();
        }
    }
    texts
}

/// Puts a summary in the place of the older part of the context.
pub(crate) async fn compact(call: CallContext, params: CompactParams) -> Result<CompactResult, RpcError> {
    compactor::compact(call, params).await
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
