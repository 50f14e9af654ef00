//! What the client is told: events of the engine as notifications.

use compaction_engine::EngineError;
use compaction_engine::host::{CompactionDone, CompactionEnd, Event, OperationKind, OperationPhase, OperationProgress};
use serde::Serialize;

use crate::convert;
use crate::errors::RpcError;
use crate::lean::Wanted;
use crate::wire;

/// The notification that tells a client of an event as it wants it.
///
/// # Errors
/// When its parameters cannot be written.
pub(crate) fn notification(event: Event, wanted: Wanted) -> Result<String, serde_json::Error> {
    match event {
        Event::EntryAppended { session_id, entry } => {
            written("entryAppended", &wire::EntryAppended { session_id, entry: wanted.announced(&entry) })
        }
        Event::SessionChanged { session_id, entry_ids, leaf_id } => {
            let entry_ids = entry_ids.iter().map(ToString::to_string).collect();
            written(
                "sessionChanged",
                &wire::SessionChanged { session_id, entry_ids, leaf_id: convert::id(leaf_id.as_ref()) },
            )
        }
        Event::LeafChanged { session_id, leaf_id, old_leaf_id } => {
            let (leaf_id, old_leaf_id) = (convert::id(leaf_id.as_ref()), convert::id(old_leaf_id.as_ref()));
            written("leafChanged", &wire::LeafChanged { session_id, leaf_id, old_leaf_id })
        }
        Event::CompactionStarted { session_id, operation_id, reason, tokens_before } => {
            let reason = reason.into();
            written("compactionStart", &wire::CompactionStart { session_id, operation_id, reason, tokens_before })
        }
        Event::CompactionEnded(end) => written("compactionEnd", &compaction_end(*end, wanted)),
        Event::NavigationStarted { session_id, operation_id, target_id, old_leaf_id, estimated_tokens } => {
            let (target_id, old_leaf_id) = (target_id.to_string(), convert::id(old_leaf_id.as_ref()));
            written(
                "branchSummaryStart",
                &wire::BranchSummaryStart { session_id, operation_id, target_id, old_leaf_id, estimated_tokens },
            )
        }
        Event::NavigationEnded { session_id, operation_id, outcome, is_aborted } => {
            let (result, error) = parted(outcome.map(convert::navigation));
            written(
                "branchSummaryEnd",
                &wire::BranchSummaryEnd { session_id, operation_id, result, aborted: is_aborted, error },
            )
        }
        Event::Progress(progress) => {
            let method = match progress.operation {
                OperationKind::Compaction => "compactionProgress",
                OperationKind::Navigation => "branchSummaryProgress",
            };
            written(method, &operation_progress(progress))
        }
    }
}

/// A notification as it is sent.
///
/// # Errors
/// When its parameters cannot be written.
pub(crate) fn written<P: Serialize>(method: &str, params: &P) -> Result<String, serde_json::Error> {
    let params = serde_json::to_string(params)?;
    Ok(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}"))
}

/// A result or an error.
fn parted<T>(outcome: Result<T, EngineError>) -> (Option<T>, Option<wire::ErrorBody>) {
    match outcome {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(RpcError::from(error).to_body())),
    }
}

fn compaction_end(end: CompactionEnd, wanted: Wanted) -> wire::CompactionEnd {
    let (done, error) = parted(end.outcome);
    let (result, clipped) = match done {
        Some(CompactionDone::Compacted(compaction)) => (Some(wanted.compaction(&compaction)), Vec::new()),
        Some(CompactionDone::Clipped(clipped)) => (None, clipped.iter().map(convert::clipped).collect()),
        None => (None, Vec::new()),
    };
    wire::CompactionEnd {
        session_id: end.session_id,
        operation_id: end.operation_id,
        reason: end.reason.into(),
        result,
        clipped,
        aborted: end.is_aborted,
        will_retry: end.will_retry,
        unfinished: end.is_unfinished.then_some(true),
        paused_until: end.paused_until,
        error,
    }
}

fn operation_progress(progress: OperationProgress) -> wire::OperationProgress {
    wire::OperationProgress {
        session_id: progress.session_id,
        operation_id: progress.operation_id,
        phase: match progress.phase {
            OperationPhase::Summarizing => wire::OperationPhase::Summarizing,
            OperationPhase::Waiting => wire::OperationPhase::Waiting,
            OperationPhase::Committing => wire::OperationPhase::Committing,
        },
        request: progress.request,
        requests: progress.requests,
        output_tokens: progress.output_tokens,
        delta: progress.delta,
    }
}
