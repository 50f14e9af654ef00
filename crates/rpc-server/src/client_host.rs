//! The client as the host of the engine: it gets events as notifications, reduced to what it wants, and requests for
//! summaries and decisions (protocol/README.md, "Requests of the server").

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::entry::Entry;
use compaction_core::json::{self, RawObject};
use compaction_core::overflow::is_overflow;
use compaction_core::prompts::SummaryRequest;
use compaction_engine::host::{
    BeforeCompaction, BeforeNavigation, Compaction, CompactionDone, CompactionEnd, Decision, Event, GivenSummary, Host,
    NavigationChanges, OperationKind, OperationProgress, Question,
};
use compaction_engine::models::{
    Answer as SummaryAnswer, ContinuedRequest, FailureKind, ModelError, RequestContext, StopReason,
};
use compaction_engine::{EngineError, threads};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::convert;
use crate::errors::RpcError;
use crate::params::{self, SHORT_BYTES};
use crate::transport::{Answer, Outbound, RawId};
use crate::wire::{
    self, ClientCapabilities, ContinuedConversation, SessionBeforeCompact, SessionBeforeTree, SummarizeMode,
    SummarizeParams, SummarizeResult,
};

/// The hook before a compaction.
const BEFORE_COMPACT: &str = "sessionBeforeCompact";
/// The hook before a navigation.
const BEFORE_TREE: &str = "sessionBeforeTree";
/// The hook before a fork.
pub(crate) const BEFORE_FORK: &str = "sessionBeforeFork";
/// All hooks that the server calls.
pub(crate) const HOOKS: &[&str] = &[BEFORE_COMPACT, BEFORE_TREE, BEFORE_FORK];

/// The client.
#[derive(Debug)]
pub(crate) struct ClientHost {
    calls: Arc<ClientCalls>,
    outbound: Outbound,
    preferences: ClientPreferences,
    wants_progress: bool,
    summarizes: bool,
    continues: bool,
    hooks: Vec<String>,
}

impl ClientHost {
    /// The client behind `outbound`, with what it can do.
    pub(crate) fn new(calls: Arc<ClientCalls>, outbound: Outbound, client: &ClientCapabilities) -> Self {
        Self {
            calls,
            outbound,
            preferences: ClientPreferences::of(client),
            wants_progress: client.progress.unwrap_or(true),
            summarizes: client.summarize,
            continues: client.summarize && client.summarize_modes.iter().any(|mode| mode == "continue"),
            hooks: client.hooks.clone(),
        }
    }

    fn has_hook(&self, hook: &str) -> bool {
        self.hooks.iter().any(|name| name == hook)
    }

    /// Sends a request. Its parameters may be as large as the session, so a thread writes them.
    async fn ask<P: Serialize>(
        &self,
        method: &str,
        params: impl FnOnce() -> P + Send + 'static,
        limit: Duration,
    ) -> Result<Box<RawValue>, ClientCallError> {
        let written = threads::run_with_permit(true, move || serde_json::to_string(&params())).await;
        let params = written.map_err(ClientCallError::refused)?.map_err(ClientCallError::refused)?;
        self.calls.ask(&self.outbound, method, &params, limit).await
    }

    async fn ask_hook<P: Serialize>(
        &self,
        hook: &str,
        question: impl FnOnce() -> P + Send + 'static,
        limit: Duration,
    ) -> Result<Box<RawValue>, EngineError> {
        self.ask(hook, question, limit).await.map_err(|error| unanswered_hook(hook, &error))
    }
}

/// Runs `read` on an answer: here if it is short, otherwise on a worker thread.
async fn read_answer<T: Send + 'static>(
    answer: Box<RawValue>,
    read: impl FnOnce(&RawValue) -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    if answer.get().len() <= SHORT_BYTES {
        return read(&answer);
    }
    threads::run_with_permit(true, move || read(&answer)).await?
}

#[async_trait]
impl Host for ClientHost {
    fn notify(&self, event: Event) {
        match notification(event, self.preferences) {
            Ok(notification) => self.outbound.push(notification),
            Err(error) => tracing::error!(%error, "a notification could not be written"),
        }
    }

    fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    fn has_room(&self) -> bool {
        self.outbound.has_room()
    }

    fn answers(&self, question: Question) -> bool {
        match question {
            Question::Summary => self.summarizes,
            Question::Continuation => self.continues,
            Question::BeforeCompaction => self.has_hook(BEFORE_COMPACT),
            Question::BeforeNavigation => self.has_hook(BEFORE_TREE),
        }
    }

    async fn before_compaction(
        &self,
        question: BeforeCompaction,
        limit: Duration,
    ) -> Result<Decision<Option<GivenSummary>>, EngineError> {
        let answer = self.ask_hook(BEFORE_COMPACT, move || SessionBeforeCompact::from(question), limit).await?;
        let read = |answer: &RawValue| {
            HookAnswer::read(answer)?.decide(|answer| Ok(answer.member("compaction")?.map(convert::given_summary)))
        };
        read_answer(answer, read).await
    }

    async fn before_navigation(
        &self,
        question: BeforeNavigation,
        limit: Duration,
    ) -> Result<Decision<NavigationChanges>, EngineError> {
        let answer = self.ask_hook(BEFORE_TREE, move || SessionBeforeTree::from(question), limit).await?;
        let changes = |answer: &HookAnswer<'_>| {
            Ok(NavigationChanges {
                summary: answer.member("summary")?.map(convert::given_branch_summary),
                custom_instructions: answer.member("customInstructions")?,
                replace_instructions: answer.member("replaceInstructions")?,
                label: answer.member("label")?,
            })
        };
        read_answer(answer, move |answer| HookAnswer::read(answer)?.decide(changes)).await
    }

    async fn summarize(
        &self,
        context: &RequestContext,
        request: &SummaryRequest,
        limit: Duration,
    ) -> Result<SummaryAnswer, ModelError> {
        self.ask_for_summary(summarize_params(context, request), limit).await
    }

    async fn continue_conversation(
        &self,
        context: &RequestContext,
        request: &ContinuedRequest,
        limit: Duration,
    ) -> Result<SummaryAnswer, ModelError> {
        let prefix = &request.prefix;
        let conversation = ContinuedConversation {
            last_entry_id: prefix.last_entry_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            messages: prefix.messages.len() as u64,
            first_kept_entry_id: request.first_kept.to_string(),
        };
        let params = SummarizeParams {
            mode: Some(SummarizeMode::Continue),
            conversation: Some(conversation),
            ..summarize_params(context, &request.request)
        };
        self.ask_for_summary(params, limit).await
    }
}

/// The parameters that both kinds of requests for a summary share.
fn summarize_params(context: &RequestContext, request: &SummaryRequest) -> SummarizeParams {
    SummarizeParams {
        session_id: context.session_id.clone(),
        operation_id: context.operation_id.clone(),
        kind: request.kind.into(),
        mode: None,
        conversation: None,
        system_prompt: request.system_prompt.clone(),
        prompt: request.prompt.clone(),
        max_tokens: request.max_tokens,
    }
}

impl ClientHost {
    async fn ask_for_summary(&self, params: SummarizeParams, limit: Duration) -> Result<SummaryAnswer, ModelError> {
        let answer = self.ask("summarize", move || params, limit).await.map_err(unanswered)?;
        let answer = params::parse_value::<SummarizeResult>(answer.get()).map_err(|(path, expected)| {
            let path = if path.is_empty() { "result".to_owned() } else { format!("result.{path}") };
            refused(format!("the client's answer is wrong: {path}: expected {expected}"))
        })?;
        let stop = match answer.stop_reason.as_str() {
            "stop" => StopReason::Stop,
            "length" => StopReason::Length,
            "toolUse" => StopReason::ToolUse,
            other => StopReason::Other(other.to_owned()),
        };
        let usage = answer.usage.map(|usage| serde_json::from_str::<Value>(usage.get())).transpose();
        let usage = usage.map_err(|error| refused(format!("the client's answer is wrong: result.usage: {error}")))?;
        Ok(SummaryAnswer { text: answer.text, stop, usage })
    }
}

/// The decision in the client's answer to the hook before a fork.
pub(crate) fn before_fork(answer: Result<Box<RawValue>, ClientCallError>) -> Result<Decision<()>, EngineError> {
    let answer = answer.map_err(|error| unanswered_hook(BEFORE_FORK, &error))?;
    HookAnswer::read(&answer)?.decide(|_| Ok(()))
}

fn unanswered_hook(hook: &str, error: &ClientCallError) -> EngineError {
    EngineError::invalid_hook_result(hook, format!("an answer; {error}"))
}

/// Why the client gave no answer. Its error may describe an overflow, which a smaller request avoids.
fn unanswered(error: ClientCallError) -> ModelError {
    let kind = match &error {
        ClientCallError::TimedOut { .. } => FailureKind::TimedOut,
        ClientCallError::Refused { message } if is_overflow(None, message) => FailureKind::Overflow,
        ClientCallError::Refused { .. } | ClientCallError::Empty => FailureKind::Refused,
    };
    ModelError { cause: error.to_string(), kind, retry_after: None }
}

fn refused(cause: String) -> ModelError {
    ModelError { cause, kind: FailureKind::Refused, retry_after: None }
}

/// The client's answer to a hook, split once.
struct HookAnswer<'a>(RawObject<'a>);

impl<'a> HookAnswer<'a> {
    /// Reads an answer. Many libraries answer `null` if a handler returns nothing; that counts as an empty object.
    fn read(answer: &'a RawValue) -> Result<Self, EngineError> {
        match answer.get() {
            "null" => Ok(Self(RawObject::default())),
            text => {
                RawObject::parse(text).map(Self).map_err(|_| EngineError::invalid_hook_result("result", "an object"))
            }
        }
    }

    /// The decision in the answer. `go` reads the other members, unless the answer cancels the operation.
    fn decide<T>(&self, go: impl FnOnce(&Self) -> Result<T, EngineError>) -> Result<Decision<T>, EngineError> {
        match self.member("cancel")? {
            Some(true) => Ok(Decision::Cancel),
            Some(false) | None => go(self).map(Decision::Go),
        }
    }

    /// A member. `null` counts as missing.
    fn member<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, EngineError> {
        let Some(value) = self.0.get(name).filter(|value| *value != "null") else {
            return Ok(None);
        };
        params::parse_value::<T>(value).map(Some).map_err(|(path, expected)| {
            let path = if path.is_empty() { name.to_owned() } else { format!("{name}.{path}") };
            EngineError::invalid_hook_result(path, expected)
        })
    }
}

/// Why a request to the client has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientCallError {
    /// The client answered with an error.
    #[error("the client answered with an error: {message}")]
    Refused {
        /// The message of the error, or the whole error if it has no message.
        message: String,
    },
    /// The client sent an answer without result and error.
    #[error("the client answered without a result and without an error")]
    Empty,
    /// The client did not answer in time.
    #[error("the client did not answer within {milliseconds} ms")]
    TimedOut {
        /// The time limit.
        milliseconds: u128,
    },
}

impl ClientCallError {
    pub(crate) fn refused(message: impl ToString) -> Self {
        Self::Refused { message: message.to_string() }
    }
}

type Outcome = Result<Box<RawValue>, ClientCallError>;

/// Requests that wait for an answer of the client.
#[derive(Debug, Default)]
pub struct ClientCalls {
    waiting: Mutex<HashMap<String, oneshot::Sender<Outcome>>>,
    last: AtomicU64,
}

impl ClientCalls {
    /// Sends a request and waits for the answer. If the future is dropped or the time is over, the client gets
    /// `$/cancelRequest`.
    pub async fn ask(
        &self,
        outbound: &Outbound,
        method: &str,
        params: &str,
        limit: Duration,
    ) -> Result<Box<RawValue>, ClientCallError> {
        let id = format!("\"compactd-{}\"", self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(id.clone(), sender);
        let waiting = PendingRequest { calls: self, outbound, id: &id };
        outbound.push(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}"));
        let answer = tokio::time::timeout(limit, receiver).await;
        match answer {
            Err(_) => Err(ClientCallError::TimedOut { milliseconds: limit.as_millis() }),
            Ok(Err(_)) => Err(ClientCallError::refused("the request was dropped")),
            Ok(Ok(outcome)) => {
                waiting.answered();
                outcome
            }
        }
    }

    /// Delivers an answer of the client to the request that waits for it. Returns whether there is one.
    pub fn answer(&self, answer: Answer) -> bool {
        let outcome = answer.outcome.map_err(|error| ClientCallError::refused(message_of(&error)));
        answer.id.is_some_and(|id| self.end(&id, outcome))
    }

    /// Delivers an answer that has neither a result nor an error.
    pub fn answer_nothing(&self, id: &RawId) -> bool {
        self.end(id, Err(ClientCallError::Empty))
    }

    fn end(&self, id: &RawId, outcome: Outcome) -> bool {
        let waiting = self.lock().remove(id.get());
        waiting.is_some_and(|waiting| waiting.send(outcome).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Outcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that was sent. If it is dropped without an answer, it is cancelled at the client.
struct PendingRequest<'a> {
    calls: &'a ClientCalls,
    outbound: &'a Outbound,
    id: &'a str,
}

impl PendingRequest<'_> {
    /// Ends the request: an answer has come.
    fn answered(self) {}
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.calls.lock().remove(self.id).is_some() {
            let id = self.id;
            self.outbound
                .push(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{{\"id\":{id}}}}}"));
        }
    }
}

fn message_of(error: &RawValue) -> String {
    let message = RawObject::parse(error.get()).ok().and_then(|members| members.string("message"));
    message.unwrap_or_else(|| error.get().to_owned())
}

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
    use super::*;
    use compaction_engine::ErrorKind;

    fn decision(answer: &str) -> Result<bool, EngineError> {
        let answer = RawValue::from_string(answer.to_owned()).expect("the test writes JSON");
        HookAnswer::read(&answer)?.decide(|_| Ok(())).map(|decision| matches!(decision, Decision::Cancel))
    }

    #[test]
    fn a_cancel_is_heard_whatever_stands_beside_it() {
        let deep = format!("{{\"x\":{}{},\"cancel\":true}}", "[".repeat(500), "]".repeat(500));
        for answer in [r#"{"cancel":true,"note":"\ud800"}"#, r#"{"cancel":true,"x":1e999}"#, &deep] {
            assert!(decision(answer).expect("the answer is right"), "{answer}");
        }
        for answer in ["{}", "null"] {
            assert!(!decision(answer).expect("the answer is right"));
        }
        for answer in [r#"{"cancel":"yes"}"#, "[]", "false", "\"no\""] {
            assert_eq!(
                decision(answer).expect_err("the answer is wrong").kind(),
                ErrorKind::InvalidHookResult,
                "{answer}"
            );
        }
    }

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
