//! Errors of the engine on the wire.

use compaction_core::entry::EntryId;
use compaction_core::preparation::Refusal;
use compaction_engine::{EngineError, ErrorKind, SummarizerFailure};
use serde_json::{Value, json};

use super::{Kind, RpcError};
use crate::wire;

impl From<ErrorKind> for Kind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Internal | ErrorKind::Store => Self::InternalError,
            ErrorKind::Cancelled => Self::RequestCancelled,
            ErrorKind::InvalidArgument => Self::InvalidParams,
            ErrorKind::SessionNotFound => Self::SessionNotFound,
            ErrorKind::EntryNotFound => Self::EntryNotFound,
            ErrorKind::ReadOnly => Self::ReadOnly,
            ErrorKind::LeafMoved => Self::LeafMoved,
            ErrorKind::NothingToCompact => Self::NothingToCompact,
            ErrorKind::AlreadyCompacted => Self::AlreadyCompacted,
            ErrorKind::OperationInProgress => Self::OperationInProgress,
            ErrorKind::SummarizerFailed => Self::SummarizerFailed,
            ErrorKind::SummaryRejected => Self::SummaryRejected,
            ErrorKind::CancelledByHook => Self::CancelledByHook,
            ErrorKind::InvalidHookResult => Self::InvalidHookResult,
            ErrorKind::InvalidSettings => Self::InvalidSettings,
        }
    }
}

impl From<EngineError> for RpcError {
    fn from(error: EngineError) -> Self {
        match error {
            // What the store says is told as where a handler meets it.
            EngineError::Store { session_id, source } => Self::from_store(&source, &session_id),
            error => Self::Engine(error),
        }
    }
}

/// A summarizer that was asked in vain.
pub(crate) fn failure(failure: &SummarizerFailure) -> wire::SummarizerFailure {
    wire::SummarizerFailure {
        summarizer: failure.summarizer.clone(),
        kind: Kind::from(failure.kind).name().to_owned(),
        cause: failure.cause.clone(),
        attempts: failure.attempts,
    }
}

/// Which error of its kind it is, for programs, and whether the same call, sent again later, may succeed.
pub(super) fn nature(error: &EngineError) -> (&'static str, bool) {
    match error {
        // What the store says is told by the errors of the server.
        EngineError::Internal { .. } | EngineError::Store { .. } => ("internal", false),
        EngineError::Cancelled => ("cancelled", false),
        EngineError::InvalidArgument { .. } => ("wrongParameter", false),
        EngineError::SessionNotOpen { .. } => ("notOpen", false),
        EngineError::EntryNotFound { .. } => ("unknownEntry", false),
        EngineError::ReadOnly { .. } => ("readOnly", false),
        EngineError::LeafMoved { .. } => ("leafMoved", false),
        EngineError::ResultCame { .. } => ("resultCame", true),
        EngineError::Refused(Refusal::NothingToCompact { .. }) => ("allRecent", false),
        EngineError::Refused(Refusal::AwaitsResult { .. }) => ("awaitsResult", true),
        EngineError::Refused(Refusal::AlreadyCompacted { .. }) => ("nothingFollows", false),
        EngineError::StillTooLarge { .. } => ("overflowRecoveryTried", false),
        EngineError::KeptTooLarge { .. } => ("keptTooLarge", false),
        EngineError::NoGain { .. } => ("noGain", false),
        EngineError::OperationInProgress { .. } => ("operationInProgress", true),
        EngineError::SummarizerFailed { .. } => ("summarizerFailed", error.is_retryable()),
        EngineError::EverySummarizerFailed { .. } => ("everySummarizerFailed", error.is_retryable()),
        EngineError::DeadlinePassed { .. } => ("deadlinePassed", error.is_retryable()),
        EngineError::SummaryRejected { .. } => ("unusableSummary", false),
        EngineError::NotSmaller { .. } => ("notSmaller", false),
        EngineError::CancelledByHook => ("cancelledByHook", false),
        EngineError::InvalidHookResult { .. } => ("invalidHookResult", false),
        EngineError::InvalidSettings { .. } => ("wrongSetting", false),
    }
}

/// The ids and numbers needed to act.
pub(super) fn details(error: &EngineError) -> Value {
    let leaves = |expected: &Option<EntryId>, actual: &Option<EntryId>| {
        let shown = |id: &Option<EntryId>| id.as_ref().map(EntryId::to_string);
        json!({ "expectedLeafId": shown(expected), "leafId": shown(actual) })
    };
    match error {
        EngineError::Internal { .. }
        | EngineError::Cancelled
        | EngineError::ReadOnly { .. }
        | EngineError::Store { .. }
        | EngineError::CancelledByHook => json!({}),
        EngineError::InvalidArgument { path, expected } | EngineError::InvalidHookResult { path, expected } => {
            json!({ "path": path, "expected": expected })
        }
        EngineError::InvalidSettings { path, expected, file } => {
            let file = file.as_ref().map(|file| file.display().to_string());
            json!({ "path": path, "expected": expected, "file": file })
        }
        EngineError::SessionNotOpen { session_id } => json!({ "sessionId": session_id }),
        EngineError::EntryNotFound { session_id, entry_id } => {
            json!({ "sessionId": session_id, "entryId": entry_id.to_string() })
        }
        EngineError::LeafMoved { expected, actual } => leaves(expected, actual),
        EngineError::ResultCame { call_id, expected, actual } => {
            let mut details = leaves(expected, actual);
            details["toolCallId"] = json!(call_id);
            details
        }
        EngineError::Refused(refusal) => refused(refusal),
        EngineError::StillTooLarge { context_tokens, threshold, .. } => json!({
            "contextTokens": context_tokens,
            "threshold": threshold,
        }),
        EngineError::KeptTooLarge { kept_tokens, pinned_tokens, replaced_tokens, threshold, unestimated_tokens } => {
            json!({
                "keptTokens": kept_tokens,
                "pinnedTokens": pinned_tokens,
                "replacedTokens": replaced_tokens,
                "threshold": threshold,
                "unestimatedTokens": unestimated_tokens,
            })
        }
        EngineError::NoGain { replaced_tokens, pinned_tokens } => {
            json!({ "replacedTokens": replaced_tokens, "pinnedTokens": pinned_tokens })
        }
        EngineError::OperationInProgress { operation_id } => json!({ "operationId": operation_id }),
        EngineError::SummarizerFailed { cause, .. } => failed(error, cause),
        EngineError::EverySummarizerFailed { failures, .. } => {
            let mut details = failed(error, &EngineError::shown_failures(failures));
            details["failures"] = json!(failures.iter().map(failure).collect::<Vec<_>>());
            details
        }
        EngineError::DeadlinePassed { milliseconds, .. } => {
            let mut details = failed(error, &error.to_string());
            details["deadlineMs"] = json!(u64::try_from(*milliseconds).unwrap_or(u64::MAX));
            details
        }
        EngineError::SummaryRejected { reason } => json!({ "detail": reason }),
        EngineError::NotSmaller { summary_tokens, replaced_tokens } => {
            json!({ "summaryTokens": summary_tokens, "replacedTokens": replaced_tokens })
        }
    }
}

fn refused(refusal: &Refusal) -> Value {
    match refusal {
        Refusal::AlreadyCompacted { compaction_id, context_tokens } => {
            json!({ "compactionId": compaction_id.to_string(), "contextTokens": context_tokens })
        }
        Refusal::NothingToCompact { messages, context_tokens, keep_recent_tokens } => json!({
            "messages": messages,
            "contextTokens": context_tokens,
            "keepRecentTokens": keep_recent_tokens,
        }),
        Refusal::AwaitsResult { call, messages, context_tokens, keep_recent_tokens } => json!({
            "toolCallId": call.call_id,
            "entryId": call.entry_id.to_string(),
            "messages": messages,
            "contextTokens": context_tokens,
            "keepRecentTokens": keep_recent_tokens,
        }),
    }
}

fn failed(error: &EngineError, cause: &str) -> Value {
    json!({ "cause": cause, "attempts": error.attempts() })
}
