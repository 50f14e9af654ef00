//! Summarizers, which write summaries. A trait lets each call choose one.
//!
//! The extractive summarizer needs no model (`compaction_core::extractive`). The host's own model needs no key here
//! (protocol/README.md, "Requests of the server"). All other models are asked by a [`ModelSummarizer`].
//!
//! Events report the progress of a running operation, with the text of the summary as it arrives.

mod model_summarizer;

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{self, Duration};

use async_trait::async_trait;
use compaction_core::conversation::{Redact, Thinking};
use compaction_core::extractive::{
    ExtractiveInput, MINIMUM_TOKENS, Style, Turn, render_messages, render_turn, summarize,
};
use compaction_core::file_operations::FileTools;
use compaction_core::fitting::{PlanInput, RequestPlan, TooSmallWindow};
use compaction_core::ledger::Ledger;
use compaction_core::preparation::{Ledgers, Preparation, PreparedMessage};
use compaction_core::prompts::{OutputLimits, PromptTexts, RequestKind, SummaryRequest};
use compaction_core::text::utf16_len;
use compaction_core::tokens::estimate_text;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::host::{Event, Host, OperationKind, OperationPhase, OperationProgress, Question};
use crate::models::{
    Answer, ContinuedRequest, Continues, Conversation, Model, ModelError, ModelLimits, OnDelta, RequestContext,
    RequestReport, providers, sum_usage,
};
use crate::redaction::{RedactedStream, Redactions, Redactor};
use crate::settings::{Settings, summarizer_names};
use crate::threads::blocking;

pub use model_summarizer::ModelSummarizer;

/// One summary to write.
#[derive(Debug, Clone)]
pub struct SummaryJob {
    /// The kind of the summary.
    pub kind: RequestKind,
    /// The messages, oldest first, with their entries.
    pub messages: Vec<PreparedMessage>,
    /// The summary to update.
    pub previous_summary: Option<String>,
    /// The ledger that was stored with it.
    pub previous_ledger: Option<Arc<Ledger>>,
    /// The tools that identify file operations.
    pub file_tools: FileTools,
    /// Whether items cite their entries, where the summarizer supports it.
    pub citations: bool,
    /// The beginning of the split turn that follows the messages.
    pub turn: Vec<PreparedMessage>,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Whether the custom instructions replace the usual ones.
    pub replace_instructions: bool,
    /// The prompts for models.
    pub texts: Arc<PromptTexts>,
    /// Output tokens.
    pub limits: OutputLimits,
    /// Maximum tokens of a summary that is written without a model. Together with what is appended to it, it stays
    /// within the limit of the whole summary.
    pub local_tokens: u64,
    /// Whether models read thinking.
    pub thinking: Thinking,
    /// The ledgers of all evicted messages, on top of the previous one, which are shared with the account.
    pub ledgers: Option<Arc<LedgerCache>>,
    /// The conversation of the messages, where a model may continue it.
    pub conversation: Option<Arc<Conversation>>,
    /// Removes the secrets of the operation from requests, answers, progress and errors. Without it, a summarizer uses
    /// that of its settings.
    pub redactor: Option<Arc<Redactor>>,
}

impl SummaryJob {
    /// Maximum output tokens.
    pub fn max_tokens(&self) -> u64 {
        self.limits.max_tokens(self.kind)
    }

    /// Estimated tokens of the text that the summary replaces.
    pub fn tokens(&self) -> u64 {
        let messages: u64 = self.messages.iter().map(|prepared| prepared.message.tokens()).sum();
        messages.saturating_add(self.previous_summary.as_deref().map_or(0, estimate_text))
    }

    /// Maximum tokens of a summary that is written without a model: it must be clearly smaller than what it replaces.
    /// What an earlier compaction kept does not lose a third of its room with each new one. The work continues with the
    /// turn, so its first part may keep most of its words. A history before a turn states what the turn leaves, so the
    /// turn also counts there, and the summary of the turn is part of the result.
    pub(crate) fn most_local_tokens(&self) -> u64 {
        let turn: u64 = self.turn.iter().map(|prepared| prepared.message.tokens()).sum();
        let whole = self.tokens() + turn;
        if self.kind == RequestKind::TurnPrefix {
            return whole / 4 * 3;
        }
        let previous = self.previous_summary.as_deref().map_or(0, estimate_text);
        (previous + (whole - previous) / 3 * 2).min(whole / 10 * 9)
    }

    /// The requests to a model, such that each fits `limits`. `input_limit` bounds their prompts further, in tokens.
    /// `redact` sees texts before they are cut.
    ///
    /// # Errors
    /// [`TooSmallWindow`] where no request fits.
    pub fn plan(
        &self,
        limits: ModelLimits,
        input_limit: Option<u64>,
        redact: Option<Arc<dyn Redact>>,
    ) -> Result<RequestPlan, TooSmallWindow> {
        let messages_of =
            |of: &[PreparedMessage]| of.iter().map(|prepared| Arc::clone(&prepared.message)).collect::<Vec<_>>();
        let (messages, turn) = (messages_of(&self.messages), messages_of(&self.turn));
        RequestPlan::of(&PlanInput {
            kind: self.kind,
            messages: &messages,
            previous_summary: self.previous_summary.as_deref(),
            turn: &turn,
            custom_instructions: self.custom_instructions.as_deref(),
            replace_instructions: self.replace_instructions,
            texts: &self.texts,
            limits: OutputLimits { model_max_tokens: limits.max_output_tokens, ..self.limits },
            thinking: self.thinking,
            context_window: limits.context_window,
            input_limit,
            redact,
        })
    }
}

/// A summary that was written.
#[derive(Debug, Clone, Default)]
pub struct SummaryText {
    /// Its text.
    pub text: String,
    /// Its usage, as the provider reports it.
    pub usage: Option<Value>,
    /// Number of requests.
    pub attempts: u32,
    /// Number of secrets that were removed from requests and answers, by rule.
    pub redactions: Redactions,
    /// The report of its request; `None` if it made none.
    pub request: Option<RequestReport>,
}

/// The operation for which a summary is written.
#[derive(Debug, Clone)]
pub struct JobContext {
    /// The session and the operation.
    pub context: RequestContext,
    /// Cancelled when the operation ends early.
    pub cancel: CancellationToken,
    /// The deadline of the operation.
    pub deadline: Instant,
    /// Reports progress to the host.
    pub(crate) progress: Arc<Progress>,
}

impl JobContext {
    /// The context of an operation that is expected to make `requests` requests until `deadline`.
    pub fn new(
        host: &Arc<dyn Host>,
        operation: OperationKind,
        context: RequestContext,
        requests: u32,
        deadline: Instant,
    ) -> Self {
        let progress = Arc::new(Progress::new(host, operation, &context, requests, None));
        Self { context, cancel: CancellationToken::new(), deadline, progress }
    }
}

/// A summarizer.
#[async_trait]
pub trait Summarizer: Send + Sync + Debug {
    /// Its name in settings and calls.
    fn name(&self) -> &str;

    /// Its token limits; `None` where there is no known limit.
    fn limits(&self) -> ModelLimits;

    /// Whether it works in this process, without a remote service. A local summarizer has no deadline.
    fn is_local(&self) -> bool {
        false
    }

    /// The failure of every summary, if it is known in advance: a key or a program is missing.
    fn known_failure(&self) -> Option<EngineError> {
        None
    }

    /// Writes one summary. Dropping the future cancels the work.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] once the operation is cancelled, or the error of the summarizer or of its summary.
    async fn summarize(&self, job: SummaryJob, job_context: &JobContext) -> Result<SummaryText, EngineError>;
}

/// Summarizers in the order in which they are asked. The next one is asked if one fails.
pub type Chain = Vec<Arc<dyn Summarizer>>;

impl Engine {
    /// The summarizers that a caller names, or else those of the settings, in the order in which they are asked.
    ///
    /// # Errors
    /// [`EngineError::InvalidArgument`] where a name is unknown, or is `host` and the host has no model. A chain of
    /// the settings skips such a `host`, because the same settings serve hosts with a model.
    /// [`EngineError::InvalidSettings`] where the settings of a model are wrong or incomplete.
    pub fn summarizers(&self, given: Option<&[String]>, settings: &Settings) -> Result<Chain, EngineError> {
        let names = given.map_or_else(|| settings.summarizers(), <[String]>::to_vec);
        if names.is_empty() {
            return Err(EngineError::invalid_argument("summarizer", "a name, or a list of at least one name"));
        }
        let is_lenient = given.is_none() && names.len() > 1;
        let skips_host = is_lenient && !self.host.answers(Question::Summary);
        let names = names.iter().filter(|name| !(skips_host && *name == "host"));
        names.map(|name| self.summarizer(name, settings)).collect()
    }

    fn summarizer(&self, name: &str, settings: &Settings) -> Result<Arc<dyn Summarizer>, EngineError> {
        let wrong = |expected: String| Err(EngineError::invalid_argument("summarizer", expected));
        let model: Arc<dyn Model> = match name {
            EXTRACTIVE => return Ok(Arc::new(Extractive)),
            "host" if self.host.answers(Question::Summary) => {
                Arc::new(HostModel::new(Arc::clone(&self.host), settings))
            }
            "host" => return wrong("a summarizer other than host: the client does not offer summarize".to_owned()),
            _ if summarizer_names(settings.as_json()).contains(&name) => {
                providers::model(name, settings.as_json(), &self.printed_keys)?
            }
            _ => return wrong(format!("one of: {}", summarizer_names(settings.as_json()).join(", "))),
        };
        Ok(Arc::new(ModelSummarizer::new(name, model, settings).with_missed_caches(&self.missed_caches)))
    }
}

/// The name of the summarizer without a model.
pub(crate) const EXTRACTIVE: &str = "extractive";

/// Writes summaries from the conversation itself, without a model.
#[derive(Debug, Clone, Copy)]
pub struct Extractive;

#[async_trait]
impl Summarizer for Extractive {
    fn name(&self) -> &str {
        EXTRACTIVE
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits::default()
    }

    fn is_local(&self) -> bool {
        true
    }

    async fn summarize(&self, job: SummaryJob, job_context: &JobContext) -> Result<SummaryText, EngineError> {
        job_context.progress.begin_request();
        let cancel = job_context.cancel.clone();
        let ledgers = match &job.ledgers {
            Some(collected) => Some(collected.ledgers().await?),
            None => None,
        };
        blocking(move || {
            let kind = job.kind.summary_kind();
            let turn = Turn::of(&job.turn, &job.file_tools);
            let with_turn = ledgers.as_ref().filter(|ledgers| ledgers.has_turn()).map(|ledgers| &*ledgers.evicted);
            let is_behind_history = job.kind == RequestKind::TurnPrefix && with_turn.is_some();
            let style = Style {
                custom_instructions: job.custom_instructions.as_deref(),
                max_tokens: job.local_tokens.min(job.most_local_tokens()).max(MINIMUM_TOKENS),
                citations: job.citations,
                turn: turn.as_ref(),
                with_turn,
            };
            let text = match &ledgers {
                // Nothing was there before the turn.
                Some(ledgers) if job.kind == RequestKind::TurnPrefix && !is_behind_history => {
                    render_turn(&ledgers.first, &job.messages, &style)
                }
                Some(ledgers) if !is_behind_history => render_messages(&ledgers.first, &job.messages, kind, &style),
                _ => {
                    let input = ExtractiveInput {
                        kind,
                        messages: &job.messages,
                        previous_ledger: job.previous_ledger.as_deref(),
                        previous_summary: job.previous_summary.as_deref(),
                        tools: &job.file_tools,
                        style,
                    };
                    summarize(&input, &|| cancel.is_cancelled()).map_err(|_| EngineError::Cancelled)?
                }
            };
            Ok(SummaryText { text, attempts: 1, ..SummaryText::default() })
        })
        .await
    }
}

/// The ledgers of a preparation. The first caller collects them; others share the result.
#[derive(Debug)]
pub struct LedgerCache {
    preparation: Arc<Preparation>,
    ledgers: OnceCell<Ledgers>,
}

impl LedgerCache {
    /// A cache, empty unless the ledgers are `known`.
    pub(crate) fn new(preparation: Arc<Preparation>, known: Option<Ledgers>) -> Self {
        Self { preparation, ledgers: OnceCell::new_with(known) }
    }

    /// The ledgers.
    pub(crate) async fn ledgers(&self) -> Result<Ledgers, EngineError> {
        let collecting = || {
            let preparation = Arc::clone(&self.preparation);
            blocking(move || Ok(preparation.ledgers()))
        };
        self.ledgers.get_or_try_init(collecting).await.cloned()
    }
}

/// The host's own model.
#[derive(Debug)]
struct HostModel {
    host: Arc<dyn Host>,
    context_window: u64,
    timeout: Duration,
    /// Whether the host can continue its conversations.
    continues: bool,
}

impl HostModel {
    /// The host's model with the limits of the settings.
    fn new(host: Arc<dyn Host>, settings: &Settings) -> Self {
        let (context_window, timeout) = (settings.summarize_window(), settings.summarize_timeout());
        let continues = host.answers(Question::Continuation);
        Self { host, context_window, timeout, continues }
    }
}

#[async_trait]
impl Model for HostModel {
    fn limits(&self) -> ModelLimits {
        ModelLimits { context_window: Some(self.context_window), max_output_tokens: None }
    }

    /// The host decides about retries itself; its error is final (protocol/README.md, "Requests of the server").
    fn is_retried(&self) -> bool {
        false
    }

    async fn complete(
        &self,
        request: &SummaryRequest,
        context: &RequestContext,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        self.host.summarize(context, request, self.timeout).await
    }

    fn continues(&self) -> Option<Continues> {
        self.continues.then_some(Continues::OfClient)
    }

    async fn continue_conversation(
        &self,
        request: &ContinuedRequest,
        context: &RequestContext,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        self.host.continue_conversation(context, request, self.timeout).await
    }
}

/// Text is gathered for this long, so that a fast model does not flood the host with events.
const GATHER: Duration = Duration::from_millis(40);

/// Reports the progress of one operation to the host.
#[derive(Debug)]
pub(crate) struct Progress {
    host: Arc<dyn Host>,
    operation: OperationKind,
    context: RequestContext,
    is_wanted: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    request: u32,
    requests: u32,
    /// The usage of all answers.
    usage: Option<Value>,
    /// UTF-16 units of the answer so far.
    units: usize,
    /// Text that was not sent yet. A line is sent only when no secret can continue after it.
    pending: RedactedStream,
    last_sent: time::Instant,
}

impl Progress {
    /// Progress of an operation that is expected to make `requests` requests.
    pub(crate) fn new(
        host: &Arc<dyn Host>,
        operation: OperationKind,
        context: &RequestContext,
        requests: u32,
        redactor: Option<Arc<Redactor>>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            operation,
            context: context.clone(),
            is_wanted: host.wants_progress(),
            state: Mutex::new(State {
                request: 0,
                requests,
                usage: None,
                units: 0,
                pending: RedactedStream::new(redactor),
                last_sent: time::Instant::now(),
            }),
        }
    }

    /// Raises the number of expected requests.
    pub(crate) fn add_requests(&self, more: u32) {
        let mut state = self.lock();
        state.requests = state.requests.saturating_add(more);
    }

    /// Number of requests that were begun.
    pub(crate) fn requests_begun(&self) -> u32 {
        self.lock().request
    }

    /// Adds the usage of an answer, even if the answer is rejected.
    pub(crate) fn spent(&self, usage: Option<Value>) {
        let mut state = self.lock();
        state.usage = sum_usage(state.usage.take(), usage);
    }

    /// The usage of all answers so far.
    pub(crate) fn usage(&self) -> Option<Value> {
        self.lock().usage.clone()
    }

    /// Begins the next request.
    pub(crate) fn begin_request(&self) {
        let mut state = self.lock();
        state.request = state.request.saturating_add(1);
        state.requests = state.requests.max(state.request);
        state.units = 0;
        state.pending.clear();
        self.notify(&mut state, OperationPhase::Summarizing, None);
    }

    /// Adds a piece of the answer. It is sent a little later, or together with the next one, so that no queue builds
    /// up for a host that does not read.
    pub(crate) fn delta(&self, text: &str) {
        if !self.is_wanted || text.is_empty() {
            return;
        }
        let mut state = self.lock();
        state.units += utf16_len(text);
        state.pending.push(text);
        if state.last_sent.elapsed() >= GATHER && self.host.has_room() {
            let delta = state.pending.take(false);
            if !delta.is_empty() {
                self.notify(&mut state, OperationPhase::Summarizing, Some(delta));
            }
        }
    }

    /// Ends the answer and sends the rest of its text.
    pub(crate) fn end_request(&self) {
        let mut state = self.lock();
        let delta = state.pending.take(true);
        if !delta.is_empty() {
            self.notify(&mut state, OperationPhase::Summarizing, Some(delta));
        }
    }

    /// Reports that the operation waits before a retry.
    pub(crate) fn waiting(&self) {
        self.notify(&mut self.lock(), OperationPhase::Waiting, None);
    }

    /// Reports that the entry is being written.
    pub(crate) fn committing(&self) {
        let mut state = self.lock();
        state.request = state.requests;
        state.units = 0;
        self.notify(&mut state, OperationPhase::Committing, None);
    }

    fn notify(&self, state: &mut State, phase: OperationPhase, delta: Option<String>) {
        if !self.is_wanted {
            return;
        }
        state.last_sent = time::Instant::now();
        let RequestContext { session_id, operation_id } = self.context.clone();
        let progress = OperationProgress {
            operation: self.operation,
            session_id,
            operation_id,
            phase,
            request: state.request.max(1),
            requests: state.requests,
            output_tokens: state.units.div_ceil(4) as u64,
            delta,
        };
        self.host.notify(Event::Progress(progress));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
