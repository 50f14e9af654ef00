//! Conversion between the types of the store, the core and the engine and the types of the wire.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::entry_text::PartKind;
use compaction_core::file_operations::FileOperations;
use compaction_core::formats::Format;
use compaction_core::ledger::{ErrorRecord, LossReport, Retention, Sources, Suspicion};
use compaction_core::message::Message;
use compaction_core::overflow::Reported;
use compaction_core::preparation::{Preparation, PreparedMessage, Refusal};
use compaction_core::projection::{Projection, ProjectionDiagnostic};
use compaction_core::prompts::RequestKind;
use compaction_core::settings::CompactionSettings;
use compaction_core::tokens::ContextTokens;
use compaction_core::trigger::TriggerReason;
use compaction_engine::host::{
    BeforeCompaction, BeforeNavigation, ClippedResult, Compaction, CompactionReason, GivenSummary, GivenText,
    Navigation, OperationPhase,
};
use compaction_engine::models::{Estimate, Reason, RequestReport};
use compaction_engine::session::AgentModel;
use compaction_engine::{CompactionRequest, DueCompaction, NavigationRequest, WindowUsage};
use serde_json::value::RawValue;

use crate::errors::{RpcError, failure};
use crate::wire;

/// A message that a client sent; `path` names the parameter.
pub(crate) fn read_message(message: impl Into<Box<RawValue>>, path: &str) -> Result<Message, RpcError> {
    read_checked_message(message, path).map(|(message, _)| message)
}

/// As [`read_message`]. Also returns whether the message surely passes the checks of appended messages.
pub(crate) fn read_checked_message(message: impl Into<Box<RawValue>>, path: &str) -> Result<(Message, bool), RpcError> {
    let message: Box<RawValue> = message.into();
    let is_object = message.get().starts_with('{');
    Message::from_sent_checked(message).map_err(|_| match is_object {
        true => RpcError::invalid_params(format!("{path}.role"), "the role: a string"),
        false => RpcError::invalid_params(path, "a message: an object with a string role"),
    })
}

/// Messages that a client sent; `path` names the parameter.
pub(crate) fn read_messages(messages: &[wire::Message], path: &str) -> Result<Vec<Arc<Message>>, RpcError> {
    let read = |(position, message): (usize, &wire::Message)| {
        read_message(message.clone(), &format!("{path}[{position}]")).map(Arc::new)
    };
    messages.iter().enumerate().map(read).collect()
}

/// An id, or none, as text.
pub(crate) fn id(id: Option<&EntryId>) -> Option<String> {
    id.map(EntryId::to_string)
}

/// Token counts.
pub(crate) fn tokens(tokens: ContextTokens) -> wire::ContextTokens {
    wire::ContextTokens {
        tokens: tokens.tokens,
        usage_tokens: tokens.usage_tokens,
        trailing_tokens: tokens.trailing_tokens,
    }
}

/// The model of a projection.
pub(crate) fn model(projection: &Projection) -> Option<wire::ModelName> {
    let model = projection.model()?;
    Some(wire::ModelName { provider: model.provider.clone(), model_id: model.model_id.clone() })
}

/// A diagnostic of the store.
pub(crate) fn diagnostic(diagnostic: &session_store::Diagnostic) -> wire::Diagnostic {
    wire::Diagnostic {
        kind: diagnostic.kind.name().to_owned(),
        line: diagnostic.line.map(|line| line as u64),
        message: diagnostic.message.clone(),
    }
}

/// A diagnostic of a projection.
pub(crate) fn projection_diagnostic(diagnostic: &ProjectionDiagnostic) -> wire::Diagnostic {
    let (kind, message) = match diagnostic {
        ProjectionDiagnostic::UnknownFirstKept { compaction_id, first_kept_entry_id } => {
            let message = match first_kept_entry_id {
                Some(kept) => format!(
                    "compaction {compaction_id} names {kept} as its first kept entry, which is not before it on its \
                     branch; nothing before the compaction is kept"
                ),
                None => format!(
                    "compaction {compaction_id} names no first kept entry; nothing before the compaction is kept"
                ),
            };
            ("unknownFirstKept", message)
        }
        ProjectionDiagnostic::EmptySummary { compaction_id } => {
            let message = format!(
                "compaction {compaction_id} has no summary, so nothing in the context stands for what it removed; \
                 undoCompaction brings it back"
            );
            ("emptySummary", message)
        }
        ProjectionDiagnostic::UnreadableMessage { entry_id } => {
            let message =
                format!("the message in entry {entry_id} is no object with a string role; no context holds it");
            ("unreadableMessage", message)
        }
        ProjectionDiagnostic::OrphanToolResult { entry_id, tool_call_id } => {
            let message = format!(
                "the tool result in entry {entry_id} answers call {tool_call_id}, which is not in the context; it is \
                 left out of the llm format"
            );
            ("orphanToolResult", message)
        }
    };
    wire::Diagnostic { kind: kind.to_owned(), line: None, message }
}

/// A preparation, with messages or with the ids of their entries.
pub(crate) fn preparation(preparation: &Preparation, with_messages: bool) -> wire::Preparation {
    let list = |messages: &[PreparedMessage]| {
        let one = |prepared: &PreparedMessage| match with_messages {
            true => wire::MessageOrId::Message((&prepared.message).into()),
            false => wire::MessageOrId::Id(prepared.entry_id.to_string()),
        };
        messages.iter().map(one).collect()
    };
    wire::Preparation {
        first_kept_entry_id: preparation.first_kept_entry_id.to_string(),
        messages_to_summarize: list(&preparation.messages_to_summarize),
        turn_prefix_messages: list(&preparation.turn_prefix_messages),
        is_split_turn: preparation.is_split_turn,
        tokens_before: preparation.tokens_before,
        previous_summary: preparation.previous_summary.clone(),
        file_ops: file_operations(&preparation.file_operations),
        settings: compaction_settings(preparation.settings),
        leaf_id: preparation.leaf_id.to_string(),
    }
}

/// The reason why nothing would be compacted, as a result of `prepareCompaction`.
pub(crate) fn refusal(refusal: &Refusal) -> wire::PrepareCompactionResult {
    let nothing = |messages: &usize, context_tokens: &u64, keep_recent_tokens: &u64| wire::PrepareCompactionResult {
        reason: Some(wire::RefusalReason::NothingToCompact),
        messages: Some(*messages as u64),
        context_tokens: Some(*context_tokens),
        keep_recent_tokens: Some(*keep_recent_tokens),
        ..wire::PrepareCompactionResult::default()
    };
    match refusal {
        Refusal::AlreadyCompacted { compaction_id, context_tokens } => wire::PrepareCompactionResult {
            reason: Some(wire::RefusalReason::AlreadyCompacted),
            compaction_id: Some(compaction_id.to_string()),
            context_tokens: Some(*context_tokens),
            ..wire::PrepareCompactionResult::default()
        },
        Refusal::NothingToCompact { messages, context_tokens, keep_recent_tokens } => {
            nothing(messages, context_tokens, keep_recent_tokens)
        }
        Refusal::AwaitsResult { call, messages, context_tokens, keep_recent_tokens } => wire::PrepareCompactionResult {
            tool_call_id: Some(call.call_id.clone()),
            ..nothing(messages, context_tokens, keep_recent_tokens)
        },
    }
}

fn file_operations(operations: &FileOperations) -> wire::FileOperations {
    let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect();
    wire::FileOperations {
        read: owned(operations.read()),
        written: owned(operations.written()),
        edited: owned(operations.edited()),
    }
}

fn compaction_settings(settings: CompactionSettings) -> wire::CompactionSettings {
    wire::CompactionSettings {
        enabled: settings.enabled,
        reserve_tokens: settings.reserve_tokens,
        threshold_percent: settings.threshold_percent,
        keep_recent_tokens: settings.keep_recent_tokens,
    }
}

/// A JSON object that the server made.
pub(crate) fn free_object(value: &serde_json::Value) -> wire::FreeObject {
    raw(value).into()
}

fn raw(value: &serde_json::Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("a tree of JSON values can be written")
}

/// Counts and totals of a session.
pub(crate) fn stats(stats: &session_store::SessionStats) -> wire::SessionStats {
    wire::SessionStats {
        entry_count: stats.total_entries,
        message_count: stats.total_messages,
        user_messages: stats.user_messages,
        assistant_messages: stats.assistant_messages,
        tool_calls: stats.tool_calls,
        tool_results: stats.tool_results,
        compactions: stats.compactions,
        branch_summaries: stats.branch_summaries,
        tokens: wire::TokenTotals {
            input: stats.tokens.input,
            output: stats.tokens.output,
            cache_read: stats.tokens.cache_read,
            cache_write: stats.tokens.cache_write,
            total: stats.tokens.total,
        },
        cost: stats.cost,
    }
}

/// The shares of the contents that a summary keeps.
pub(crate) fn retention(retention: &Retention) -> wire::Retention {
    wire::Retention {
        files: retention.files,
        identifiers: retention.identifiers,
        errors: retention.errors,
        requests: retention.requests,
        constraints: retention.constraints,
        statements: retention.statements,
    }
}

/// The items that a summary lacks.
pub(crate) fn loss_report(report: &LossReport) -> wire::LossReport {
    let ids = |sources: &Sources| sources.ids().iter().map(ToString::to_string).collect::<Vec<_>>();
    let item = |text: &str, sources: &Sources| wire::LostItem { text: text.to_owned(), entry_ids: ids(sources) };
    let reversed = |suspicion: &Suspicion| {
        let (fact, subject) = match suspicion {
            Suspicion::NotCommitted => ("notCommitted", "git commit"),
            Suspicion::NotPushed => ("notPushed", "git push"),
            Suspicion::NotModified { path } => ("notModified", path.as_str()),
            Suspicion::Modified { path } => ("modified", path.as_str()),
            Suspicion::Failed { command } => ("failed", command.as_str()),
        };
        wire::ReversedFact { fact: fact.to_owned(), subject: subject.to_owned() }
    };
    let error = |error: &ErrorRecord| wire::LostError {
        subject: error.subject.clone(),
        line: error.line.clone(),
        resolved: error.is_resolved,
        entry_ids: ids(&error.sources),
    };
    wire::LossReport {
        files: report.files.clone(),
        identifiers: report.identifiers.clone(),
        errors: report.errors.iter().map(error).collect(),
        requests: report.requests.iter().map(|request| item(&request.text, &request.sources)).collect(),
        constraints: report.constraints.iter().map(|note| item(&note.text, &note.sources)).collect(),
        statements: report.statements.iter().map(|statement| item(&statement.text, &statement.sources)).collect(),
        clipped: report.clipped.iter().map(|clipped| item(&clipped.text, &clipped.sources)).collect(),
        unsupported: report.unsupported.clone(),
        reversed: report.reversed.iter().map(reversed).collect(),
    }
}

/// The sizes that a provider named when it refused a request.
pub(crate) fn refused_size(reported: &Reported) -> wire::RefusedSize {
    wire::RefusedSize {
        limit: reported.limit,
        input_tokens: reported.counted(),
        requested_output_tokens: reported.output,
    }
}

impl From<wire::Model> for AgentModel {
    fn from(model: wire::Model) -> Self {
        let wire::Model { provider, id, context_window, max_output_tokens } = model;
        Self { provider, id, context_window, max_output_tokens }
    }
}

macro_rules! same_variants {
    ($($from:ty => $to:ty { $($variant:ident)* })*) => {$(
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                match value {
                    $(<$from>::$variant => Self::$variant),*
                }
            }
        }
    )*};
}

same_variants! {
    CompactionReason => wire::CompactionReason { Manual Threshold Overflow }
    TriggerReason => wire::CompactionReason { Threshold Overflow }
    OperationPhase => wire::OperationPhase { Summarizing Waiting Committing }
    RequestKind => wire::RequestKind { History TurnPrefix Branch }
    PartKind => wire::PassagePart { Text ToolCall Image Command Output Summary }
    wire::MessageFormat => Format { Pi OpenAi OpenAiResponses Anthropic Gemini AiSdk }
    Reason => wire::NotContinuedReason {
        Settings NotSupported OtherModel OtherInterface PromptUnknown NotSeen TooLarge ThinkingUnknown NoCache CacheExpired
        CacheMissed CostsMore Refused Overflow Truncated ToolCall Empty CutOff Headings Stopped
    }
}

impl From<wire::CompactParams> for CompactionRequest {
    fn from(params: wire::CompactParams) -> Self {
        let mut request = Self::default();
        request.custom_instructions = params.custom_instructions;
        request.summary = params.summary.map(given_summary);
        request.first_kept_entry_id = params.first_kept_entry_id.map(EntryId::new);
        request.force = params.force;
        request
    }
}

impl From<wire::NavigateTreeParams> for NavigationRequest {
    fn from(params: wire::NavigateTreeParams) -> Self {
        let mut request = Self::to(EntryId::new(params.target_id));
        request.summarize = params.summarize;
        request.custom_instructions = params.custom_instructions;
        request.replace_instructions = params.replace_instructions;
        request.label = params.label;
        request.summary = params.summary.map(given_branch_summary);
        request.waits = params.wait.unwrap_or(true);
        request
    }
}

impl From<BeforeCompaction> for wire::SessionBeforeCompact {
    fn from(question: BeforeCompaction) -> Self {
        Self {
            session_id: question.session_id,
            operation_id: question.operation_id,
            preparation: preparation(&question.preparation, true),
            branch_entries: question.branch.iter().map(Into::into).collect(),
            custom_instructions: question.custom_instructions,
            reason: question.reason.into(),
            will_retry: question.will_retry,
        }
    }
}

impl From<BeforeNavigation> for wire::SessionBeforeTree {
    fn from(question: BeforeNavigation) -> Self {
        Self {
            session_id: question.session_id,
            operation_id: question.operation_id,
            preparation: wire::TreePreparation {
                target_id: question.target_id.to_string(),
                old_leaf_id: id(question.old_leaf_id.as_ref()),
                common_ancestor_id: id(question.common_ancestor_id.as_ref()),
                entries_to_summarize: question.abandoned.iter().map(EntryId::to_string).collect(),
                user_wants_summary: question.wants_summary,
                custom_instructions: question.custom_instructions,
                replace_instructions: question.replace_instructions.then_some(true),
                label: question.label,
            },
        }
    }
}

/// A summary that a client wrote.
pub(crate) fn given_summary(given: wire::GivenSummary) -> GivenSummary {
    let wire::GivenSummary { summary, first_kept_entry_id, tokens_before, details, usage } = given;
    GivenSummary {
        text: given_branch_summary(wire::GivenBranchSummary { summary, details, usage }),
        first_kept_entry_id: first_kept_entry_id.map(EntryId::new),
        tokens_before,
    }
}

/// A branch summary that a client wrote.
pub(crate) fn given_branch_summary(given: wire::GivenBranchSummary) -> GivenText {
    GivenText {
        summary: given.summary,
        details: given.details.as_ref().map(wire::FreeObject::to_raw),
        usage: given.usage.as_ref().map(wire::Usage::to_raw),
    }
}

/// A compaction that is done.
pub(crate) fn compaction(compaction: &Compaction) -> wire::CompactionResult {
    let account = &compaction.account;
    wire::CompactionResult {
        entry_id: compaction.entry_id.to_string(),
        summary: compaction.summary.clone(),
        first_kept_entry_id: compaction.first_kept_entry_id.to_string(),
        tokens_before: compaction.tokens_before,
        tokens_after: compaction.tokens_after,
        estimated_tokens_before: compaction.estimated_tokens_before,
        details: free(&compaction.details),
        usage: compaction.usage.as_deref().map(free),
        from_hook: compaction.from_hook,
        summarizer: compaction.summarizer.clone(),
        attempts: compaction.attempts,
        failures: compaction.failures.iter().map(failure).collect(),
        summary_requests: compaction.requests.iter().map(request_report).collect(),
        redactions: compaction.redactions.clone(),
        account: wire::CompactionAccount {
            brief: account.brief.clone(),
            retention: retention(&account.retention),
            retention_before_repair: retention(&account.loss.retention),
            score: account.retention.score(),
            loss_report: loss_report(&account.loss),
        },
    }
}

fn free(raw: &RawValue) -> wire::FreeObject {
    raw.into()
}

/// A navigation that is done.
pub(crate) fn navigation(navigation: Navigation) -> wire::NavigationResult {
    wire::NavigationResult {
        leaf_id: id(navigation.leaf_id.as_ref()),
        old_leaf_id: id(navigation.old_leaf_id.as_ref()),
        editor_text: navigation.editor_text,
        summary_entry: navigation.summary_entry.as_ref().map(Into::into),
        cancelled: navigation.is_cancelled,
        aborted: navigation.is_aborted.then_some(true),
    }
}

/// A tool result that was shortened.
pub(crate) fn clipped(clipped: &ClippedResult) -> wire::ClippedResult {
    let ClippedResult { entry_id, tokens_before, tokens_after } = clipped;
    wire::ClippedResult { entry_id: entry_id.to_string(), tokens_before: *tokens_before, tokens_after: *tokens_after }
}

/// A compaction that is due.
pub(crate) fn due(due: DueCompaction) -> wire::AutomaticCompaction {
    wire::AutomaticCompaction {
        operation_id: due.operation_id,
        reason: due.reason.into(),
        will_retry: due.will_retry,
        skipped: due.skipped.map(str::to_owned),
        until: due.until,
        error: due.error.map(|error| RpcError::from(error).to_body()),
        clipped: due.clipped.iter().map(clipped).collect(),
        context_tokens: due.context_tokens,
        threshold: due.threshold,
        refused: refused_size(&due.reported),
    }
}

/// How full a window is.
pub(crate) fn usage(usage: WindowUsage) -> wire::ContextUsage {
    let WindowUsage { tokens, context_window } = usage;
    let percent = tokens.map(|tokens| tokens as f64 / context_window as f64 * 100.0);
    wire::ContextUsage { tokens, context_window, percent }
}

/// How a summary was requested.
fn request_report(report: &RequestReport) -> wire::SummaryRequestReport {
    let dollars = |cost: f64| (cost * 1_000_000.0).round() / 1_000_000.0;
    let estimate = |estimate: Estimate| {
        let cost = estimate.cost.map(dollars);
        wire::RequestEstimate { input_tokens: estimate.tokens, cost }
    };
    wire::SummaryRequestReport {
        kind: report.kind.into(),
        mode: match report.is_continued {
            true => wire::SummarizeMode::Continue,
            false => wire::SummarizeMode::Transcript,
        },
        not_continued: report
            .obstacle
            .as_ref()
            .map(|obstacle| wire::NotContinued { reason: obstacle.reason.into(), detail: obstacle.detail.clone() }),
        transcript: report.transcript.map(estimate),
        continued: report.continued.map(estimate),
        cached_tokens: report.cached_tokens,
        cost: report.cost.map(dollars),
    }
}
