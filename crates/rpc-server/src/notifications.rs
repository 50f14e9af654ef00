//! Events of the engine as notifications, reduced to what this client wants.

use std::borrow::Cow;

use compaction_core::entry::Entry;
use compaction_core::json::{self, RawObject};
use compaction_engine::EngineError;
use compaction_engine::host::{Compaction, CompactionDone, CompactionEnd, Event, OperationKind, OperationProgress};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::convert;
use crate::errors::RpcError;
use crate::wire::{self, ClientCapabilities};

/// The notification about an event, with the parts that the client wants.
///
/// # Errors
///
/// If the parameters cannot be written.
pub(crate) fn notification(event: Event, preferences: ClientPreferences) -> Result<String, serde_json::Error> {
    match event {
        Event::EntryAppended { session_id, entry } => {
            // As `text_of` writes `wire::EntryAppended`, without reading the line of the entry once more.
            let (session_id, line) = (json::encode_string(&session_id), preferences.entry(&entry));
            Ok(format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"entryAppended\",\"params\":{{\"sessionId\":{session_id},\"entry\":{line}}}}}"
            ))
        }
        Event::SessionChanged { session_id, entry_ids, leaf_id } => {
            let entry_ids = entry_ids.iter().map(ToString::to_string).collect();
            text_of(
                "sessionChanged",
                &wire::SessionChanged { session_id, entry_ids, leaf_id: convert::id(leaf_id.as_ref()) },
            )
        }
        Event::LeafChanged { session_id, leaf_id, old_leaf_id } => {
            let (leaf_id, old_leaf_id) = (convert::id(leaf_id.as_ref()), convert::id(old_leaf_id.as_ref()));
            text_of("leafChanged", &wire::LeafChanged { session_id, leaf_id, old_leaf_id })
        }
        Event::CompactionStarted { session_id, operation_id, reason, tokens_before } => {
            let reason = reason.into();
            text_of("compactionStart", &wire::CompactionStart { session_id, operation_id, reason, tokens_before })
        }
        Event::CompactionEnded(end) => text_of("compactionEnd", &compaction_end(*end, preferences)),
        Event::NavigationStarted { session_id, operation_id, target_id, old_leaf_id, estimated_tokens } => {
            let (target_id, old_leaf_id) = (target_id.to_string(), convert::id(old_leaf_id.as_ref()));
            text_of(
                "branchSummaryStart",
                &wire::BranchSummaryStart { session_id, operation_id, target_id, old_leaf_id, estimated_tokens },
            )
        }
        Event::NavigationEnded { session_id, operation_id, outcome, is_aborted } => {
            let (result, error) = split_outcome(outcome.map(convert::navigation));
            text_of(
                "branchSummaryEnd",
                &wire::BranchSummaryEnd { session_id, operation_id, result, aborted: is_aborted, error },
            )
        }
        Event::Progress(progress) => {
            let method = match progress.operation {
                OperationKind::Compaction => "compactionProgress",
                OperationKind::Navigation => "branchSummaryProgress",
            };
            text_of(method, &operation_progress(progress))
        }
    }
}

/// The text of a notification.
///
/// # Errors
///
/// If the parameters cannot be written.
pub(crate) fn text_of<P: Serialize>(method: &str, params: &P) -> Result<String, serde_json::Error> {
    let params = serde_json::to_string(params)?;
    Ok(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}"))
}

/// A result or an error, as two members.
fn split_outcome<T>(outcome: Result<T, EngineError>) -> (Option<T>, Option<wire::ErrorBody>) {
    match outcome {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(RpcError::from(error).to_body())),
    }
}

fn compaction_end(end: CompactionEnd, preferences: ClientPreferences) -> wire::CompactionEnd {
    let (done, error) = split_outcome(end.outcome);
    let (result, clipped) = match done {
        Some(CompactionDone::Compacted(compaction)) => (Some(preferences.compaction(&compaction)), Vec::new()),
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
        phase: progress.phase.into(),
        request: progress.request,
        requests: progress.requests,
        output_tokens: progress.output_tokens,
        delta: progress.delta,
    }
}

/// Members of an entry that every client gets, in the order of files.
const ALWAYS: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// Parts that a client wants or does not want.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientPreferences {
    /// Whether `entryAppended` contains whole entries.
    entry_bodies: bool,
    /// Whether results of compactions contain the ledger.
    ledgers: bool,
}

impl ClientPreferences {
    /// Takes the preferences from the client's capabilities.
    pub(crate) fn of(client: &ClientCapabilities) -> Self {
        Self { entry_bodies: client.entry_bodies.unwrap_or(true), ledgers: client.ledgers.unwrap_or(true) }
    }

    /// The JSON text of an entry for `entryAppended`.
    fn entry(self, entry: &Entry) -> Cow<'_, str> {
        let line = entry.line();
        let header = (!self.entry_bodies).then(|| header(&line)).flatten();
        header.map_or(line, Cow::Owned)
    }

    /// A finished compaction, for its result and `compactionEnd`.
    pub(crate) fn compaction(self, compaction: &Compaction) -> wire::CompactionResult {
        let result = convert::compaction(compaction);
        match (!self.ledgers).then(|| without_ledger(compaction.details.get())).flatten() {
            Some(details) => wire::CompactionResult { details: details.as_ref().into(), ..result },
            None => result,
        }
    }
}

fn header(entry: &str) -> Option<String> {
    let members = RawObject::parse(entry).ok()?;
    let kept = ALWAYS.iter().filter_map(|name| Some(format!("{}:{}", json::encode_string(name), members.get(name)?)));
    Some(format!("{{{}}}", kept.collect::<Vec<_>>().join(",")))
}

fn without_ledger(details: &str) -> Option<Box<RawValue>> {
    let mut details = RawObject::parse(details).ok()?;
    let own = details.get("compactd")?.to_owned();
    let mut own = RawObject::parse(&own).ok()?;
    own.remove("ledger");
    details.set("compactd", own.to_json());
    json::raw_value(details.to_json()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn entry_appended_is_written_as_its_type_says() {
        let line =
            r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"é"}}"#;
        let entry = Arc::new(Entry::parse(line).expect("a line"));
        let whole = ClientPreferences { entry_bodies: true, ledgers: true };
        let event = Event::EntryAppended { session_id: "\"s".to_owned(), entry: Arc::clone(&entry) };
        let params = wire::EntryAppended { session_id: "\"s".to_owned(), entry: (&entry).into() };
        assert_eq!(notification(event, whole).ok(), text_of("entryAppended", &params).ok());
    }

    #[test]
    fn a_header_is_what_stands_in_every_entry() {
        let entry = r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"id":"b"}}"#;
        let header = header(entry).expect("the entry is an object");
        assert_eq!(header, r#"{"type":"message","id":"a","parentId":null,"timestamp":"t"}"#);
    }

    #[test]
    fn details_keep_all_but_the_ledger() {
        let details = r#"{"readFiles":["ledger"],"compactd":{"reason":"manual","ledger":{"a":[1]}}}"#;
        let lean = r#"{"readFiles":["ledger"],"compactd":{"reason":"manual"}}"#;
        assert_eq!(without_ledger(details).as_deref().map(RawValue::get), Some(lean));
        assert!(without_ledger(r#"{"x":1}"#).is_none());
    }
}
