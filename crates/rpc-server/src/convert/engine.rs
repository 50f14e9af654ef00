//! From the engine to the wire, and back.

use compaction_core::entry::EntryId;
use compaction_engine::host::{
    BeforeCompaction, BeforeNavigation, ClippedResult, Compaction, CompactionReason, GivenBranchSummary, GivenSummary,
    Navigation,
};
use compaction_engine::models::{Estimate, Reason, RequestReport};
use compaction_engine::session::AgentModel;
use compaction_engine::{CompactionRequest, DueCompaction, NavigationRequest, WindowUsage};
use serde_json::value::RawValue;

use crate::errors::{RpcError, failure};
use crate::wire;

impl From<wire::Model> for AgentModel {
    fn from(model: wire::Model) -> Self {
        let wire::Model { provider, id, context_window, max_output_tokens } = model;
        Self { provider, id, context_window, max_output_tokens }
    }
}

impl From<CompactionReason> for wire::CompactionReason {
    fn from(reason: CompactionReason) -> Self {
        match reason {
            CompactionReason::Manual => Self::Manual,
            CompactionReason::Threshold => Self::Threshold,
            CompactionReason::Overflow => Self::Overflow,
        }
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
            preparation: super::preparation(&question.preparation, true),
            branch_entries: question.branch.iter().map(super::entry).collect(),
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
                old_leaf_id: super::id(question.old_leaf_id.as_ref()),
                common_ancestor_id: super::id(question.common_ancestor_id.as_ref()),
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
    GivenSummary {
        summary: given.summary,
        first_kept_entry_id: given.first_kept_entry_id.map(EntryId::new),
        tokens_before: given.tokens_before,
        details: given.details.as_ref().map(wire::FreeObject::to_raw),
        usage: given.usage.as_ref().map(wire::Usage::to_raw),
    }
}

/// A branch summary that a client wrote.
pub(crate) fn given_branch_summary(given: wire::GivenBranchSummary) -> GivenBranchSummary {
    GivenBranchSummary {
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
            retention: super::retention(&account.retention),
            retention_before_repair: super::retention(&account.loss.retention),
            score: account.retention.score(),
            loss_report: super::loss_report(&account.loss),
        },
    }
}

fn free(raw: &RawValue) -> wire::FreeObject {
    raw.into()
}

/// A navigation that is done.
pub(crate) fn navigation(navigation: Navigation) -> wire::NavigationResult {
    wire::NavigationResult {
        leaf_id: super::id(navigation.leaf_id.as_ref()),
        old_leaf_id: super::id(navigation.old_leaf_id.as_ref()),
        editor_text: navigation.editor_text,
        summary_entry: navigation.summary_entry.as_ref().map(super::entry),
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
        refused: super::refused_size(&due.reported),
    }
}

/// How full a window is.
pub(crate) fn usage(usage: WindowUsage) -> wire::ContextUsage {
    let WindowUsage { tokens, context_window } = usage;
    let percent = tokens.map(|tokens| tokens as f64 / context_window as f64 * 100.0);
    wire::ContextUsage { tokens, context_window, percent }
}

/// How a summary was asked for.
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
            .map(|obstacle| wire::NotContinued { reason: reason(obstacle.reason), detail: obstacle.detail.clone() }),
        transcript: report.transcript.map(estimate),
        continued: report.continued.map(estimate),
        cached_tokens: report.cached_tokens,
        cost: report.cost.map(dollars),
    }
}

fn reason(reason: Reason) -> wire::NotContinuedReason {
    use wire::NotContinuedReason as Told;
    match reason {
        Reason::Settings => Told::Settings,
        Reason::NotSupported => Told::NotSupported,
        Reason::OtherModel => Told::OtherModel,
        Reason::OtherInterface => Told::OtherInterface,
        Reason::PromptUnknown => Told::PromptUnknown,
        Reason::NotSeen => Told::NotSeen,
        Reason::TooLarge => Told::TooLarge,
        Reason::ThinkingUnknown => Told::ThinkingUnknown,
        Reason::NoCache => Told::NoCache,
        Reason::Cold => Told::Cold,
        Reason::Missed => Told::Missed,
        Reason::Dearer => Told::Dearer,
        Reason::Refused => Told::Refused,
        Reason::Overflow => Told::Overflow,
        Reason::Truncated => Told::Truncated,
        Reason::ToolCall => Told::ToolCall,
        Reason::Empty => Told::Empty,
        Reason::CutOff => Told::CutOff,
        Reason::Headings => Told::Headings,
        Reason::Stopped => Told::Stopped,
    }
}
