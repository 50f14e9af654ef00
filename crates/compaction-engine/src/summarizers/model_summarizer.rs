//! The summarizer over any model: requests that fit, retries, and checks of the answer (docs/summaries.md, "Rejected
//! summaries").
//!
//! Some servers truncate a request that is larger than their window and answer with success. The usage of an answer
//! shows this, and the request is made again with less text.
//!
//! A model may be asked to continue the conversation instead of reading a transcript. Any obstacle, before or after
//! that request, leads back to a transcript. At most two answers are wasted, each with one further try if it was cut
//! off.

use std::sync::Arc;

use async_trait::async_trait;
use compaction_core::conversation::{Prefix, Redact};
use compaction_core::fitting::RequestPlan;
use compaction_core::prompts::{OutputLimits, SummaryRequest};
use compaction_core::summary::{SummaryKind, missing_headings};
use compaction_core::text::least_tokens;
use compaction_core::trigger::is_part;
use serde_json::Value;

use super::{JobContext, Summarizer, SummaryJob, SummaryText};
use crate::error::EngineError;
use crate::models::{
    Answer, ContinuationCheck, ContinuedRequest, Continues, Conversation, Estimate, FailureKind, MissedCaches, Model,
    ModelError, ModelLimits, Obstacle, Price, Reason, RequestChoice, RequestReport, RetryPolicy, StopReason, sum_usage,
    summary_of,
};
use crate::redaction::{RedactedTexts, Redactions, Redactor, add_counts};
use crate::settings::Settings;
use crate::threads::blocking;

/// Number of times that requests are halved after a model called one too large.
const MAX_SHRINKINGS: u32 = 3;

/// A summarizer that asks a model.
#[derive(Debug)]
pub struct ModelSummarizer {
    name: String,
    model: Arc<dyn Model>,
    retries: RetryPolicy,
    /// Removes secrets from requests and answers, unless a job has a redactor of its own.
    redactor: Option<Arc<Redactor>>,
    /// How models are asked.
    choice: RequestChoice,
    /// Summarizers whose conversations were not cached.
    missed_caches: Arc<MissedCaches>,
}

impl ModelSummarizer {
    /// The summarizer called `name` over `model`.
    pub fn new(name: &str, model: Arc<dyn Model>, settings: &Settings) -> Self {
        let retries = if model.is_retried() { settings.retries() } else { RetryPolicy::NONE };
        let (redactor, choice) = (settings.redaction().redactor(), settings.request_choice());
        Self { name: name.to_owned(), model, retries, redactor, choice, missed_caches: Arc::default() }
    }

    /// The same, sharing the record of missed caches with other summarizers of an engine.
    #[must_use]
    pub fn with_missed_caches(self, missed_caches: &Arc<MissedCaches>) -> Self {
        Self { missed_caches: Arc::clone(missed_caches), ..self }
    }
}

#[async_trait]
impl Summarizer for ModelSummarizer {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        self.model.limits()
    }

    fn known_failure(&self) -> Option<EngineError> {
        let error = self.model.known_failure()?;
        let cause = self.redactor.as_ref().map(|redactor| redactor.redact(&error.cause).text.into_owned());
        Some(EngineError::SummarizerFailed {
            cause: cause.unwrap_or(error.cause),
            retryable: error.kind.is_retryable(),
            attempts: 1,
        })
    }

    async fn summarize(&self, job: SummaryJob, job_context: &JobContext) -> Result<SummaryText, EngineError> {
        let redactor = job.redactor.clone().or_else(|| self.redactor.clone());
        let texts = redactor.clone().map(|redactor| Arc::new(RedactedTexts::new(redactor)));
        let mut run = Run { summarizer: self, job_context, redactor, texts, cost: Cost::default() };
        let job = Arc::new(job);
        let (text, request) = run.write_either(&job).await?;
        let Cost { attempts, usage, redactions } = run.cost;
        Ok(SummaryText { text, usage, attempts, redactions, request })
    }
}

/// The cost of a summary so far.
#[derive(Debug, Default)]
struct Cost {
    attempts: u32,
    usage: Option<Value>,
    /// Number of removed secrets, by rule.
    redactions: Redactions,
}

/// One summary while it is being written.
struct Run<'a> {
    summarizer: &'a ModelSummarizer,
    job_context: &'a JobContext,
    /// Removes the secrets of the operation.
    redactor: Option<Arc<Redactor>>,
    /// Removes secrets from texts that will be cut.
    texts: Option<Arc<RedactedTexts>>,
    cost: Cost,
}

/// A request to a model.
#[derive(Clone)]
enum ModelRequest {
    /// A request of one prompt.
    Prompt(Arc<SummaryRequest>),
    /// A request that continues a conversation.
    Continued(Arc<ContinuedRequest>),
}

impl ModelRequest {
    /// The fewest tokens that any model counts for it.
    fn least_tokens(&self) -> u64 {
        match self {
            Self::Prompt(request) => least_tokens(&request.system_prompt) + least_tokens(&request.prompt),
            Self::Continued(request) => request.least_tokens(),
        }
    }
}

/// One request of a plan.
#[derive(Clone)]
struct Part {
    plan: Arc<RequestPlan>,
    index: usize,
    summary_so_far: Option<Arc<str>>,
}

impl Part {
    /// The request. Its texts may be long, so it is made on a worker thread.
    async fn request(&self) -> Result<SummaryRequest, Failure> {
        let part = self.clone();
        off_loop(move || part.plan.request(part.index, part.summary_so_far.as_deref()).ok_or_else(no_request)).await
    }

    /// The repair request, after an answer that lacks headings.
    async fn repair(&self, answer: String, missing_headings: Vec<&'static str>) -> Result<SummaryRequest, Failure> {
        let part = self.clone();
        let make = move || {
            let summary = part.summary_so_far.as_deref();
            part.plan.repair(part.index, summary, &answer, &missing_headings).ok_or_else(no_request)
        };
        off_loop(make).await
    }

    /// Maximum output tokens that the window leaves for an answer to `request`.
    async fn largest_answer(&self, request: &Arc<SummaryRequest>) -> Result<u64, Failure> {
        let (plan, request) = (Arc::clone(&self.plan), Arc::clone(request));
        off_loop(move || Ok(plan.largest_answer(&request))).await
    }
}

/// Runs work on long texts on a worker thread, so that the async loop stays free.
async fn off_loop<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    blocking(move || Ok(work())).await.map_err(Failure::Final)?
}

/// Tokens of the largest request of a plan. Its texts are made for that, so this runs on a worker thread.
async fn largest_input_tokens(plan: &Arc<RequestPlan>) -> Result<u64, EngineError> {
    let plan = Arc::clone(plan);
    blocking(move || Ok(plan.largest_input_tokens())).await
}

fn no_request() -> Failure {
    Failure::Final(EngineError::Internal { message: "a request was asked for that is not planned".to_owned() })
}

/// Why a request did not give a summary.
enum Failure {
    /// The model called the request too large.
    Overflow(ModelError),
    /// The server has read only so many tokens of the request.
    Truncated(ModelError, u64),
    /// The request to continue a conversation was refused.
    Refused(ModelError),
    /// A failure that a smaller request would repeat.
    Final(EngineError),
}

impl Run<'_> {
    /// Writes the summary, by continuing the conversation if that is wanted and succeeds.
    async fn write_either(&mut self, job: &Arc<SummaryJob>) -> Result<(String, Option<RequestReport>), EngineError> {
        match self.write_continued(job).await? {
            None => Ok((self.write(job, None).await?, None)),
            Some(Continued::Written(text, report)) => Ok((text, Some(self.with_cost(report)))),
            Some(Continued::NotTaken(plan, report)) => {
                let text = self.write(job, plan).await?;
                Ok((text, Some(self.with_cost(report))))
            }
        }
    }

    /// Writes the summary by transcripts, beginning with the requests of `planned`. A model that calls them too large
    /// gets smaller ones, a few times.
    async fn write(&mut self, job: &Arc<SummaryJob>, planned: Option<Box<RequestPlan>>) -> Result<String, EngineError> {
        let mut plan = match planned {
            Some(plan) => *plan,
            None => self.plan(job, None).await?,
        };
        let mut shrinkings = 0;
        loop {
            self.expect_requests(&plan, shrinkings == 0);
            let sent = Arc::new(plan);
            let (error, tokens) = match self.write_planned(&sent, job.kind.summary_kind()).await {
                Ok(text) => return Ok(text),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Refused(error)) => return Err(self.failed(&error)),
                Err(Failure::Overflow(error) | Failure::Truncated(error, _)) if shrinkings == MAX_SHRINKINGS => {
                    return Err(self.failed(&error));
                }
                Err(Failure::Overflow(error)) => (error, largest_input_tokens(&sent).await? / 2),
                Err(Failure::Truncated(error, tokens)) => (error, smaller(largest_input_tokens(&sent).await?, tokens)),
            };
            plan = self.plan(job, Some(tokens)).await.map_err(|unfit| match unfit {
                // The limit is a guess, so that the words of the provider come first.
                EngineError::SummarizerFailed { cause, .. } => {
                    let cause = format!("{}; {cause}", error.cause);
                    self.failed(&ModelError { cause, ..error })
                }
                other => other,
            })?;
            shrinkings += 1;
        }
    }

    /// The planned requests. Serialising a long conversation takes a while, so this runs on a worker thread.
    async fn plan(&self, job: &Arc<SummaryJob>, input_limit: Option<u64>) -> Result<RequestPlan, EngineError> {
        let (job, limits, redact) = (Arc::clone(job), self.summarizer.limits(), self.redact());
        let plan = blocking(move || Ok(job.plan(limits, input_limit, redact))).await?;
        plan.map_err(|error| EngineError::SummarizerFailed {
            cause: format!("failed to {error}"),
            retryable: false,
            attempts: self.cost.attempts,
        })
    }

    /// The redactor for texts that will be cut.
    fn redact(&self) -> Option<Arc<dyn Redact>> {
        self.texts.clone().map(|texts| texts as Arc<dyn Redact>)
    }

    /// Reports the number of planned requests. The first request of a job is already expected.
    fn expect_requests(&self, plan: &RequestPlan, is_first: bool) {
        let more = u32::try_from(plan.requests() - 1).unwrap_or(u32::MAX);
        self.job_context.progress.add_requests(if is_first { more } else { more.saturating_add(1) });
    }

    /// Makes the requests in order. Each updates the summary of the one before.
    async fn write_planned(&mut self, plan: &Arc<RequestPlan>, kind: SummaryKind) -> Result<String, Failure> {
        let mut summary = String::new();
        for index in 0..plan.requests() {
            let summary_so_far = (index > 0).then(|| summary.as_str().into());
            let part = Part { plan: Arc::clone(plan), index, summary_so_far };
            summary = self.valid_answer(&part, kind).await?;
        }
        Ok(summary)
    }

    /// An answer with all headings of its kind. One more request repairs an answer that lacks some.
    async fn valid_answer(&mut self, part: &Part, kind: SummaryKind) -> Result<String, Failure> {
        let request = part.request().await?;
        let first = self.whole_answer(part, request).await?;
        let (first, missing) = with_missing_headings(first, kind).await?;
        if missing.is_empty() {
            return Ok(first);
        }
        self.job_context.progress.add_requests(1);
        let repair = part.repair(first, missing).await?;
        let second = self.whole_answer(part, repair).await?;
        let (second, missing) = with_missing_headings(second, kind).await?;
        if missing.is_empty() {
            return Ok(second);
        }
        let reason = format!("headings are missing after a second request: {}", missing.join(", "));
        Err(Failure::Final(EngineError::SummaryRejected { reason }))
    }

    /// A complete answer. An answer that was cut off is requested once more, with more room.
    async fn whole_answer(&mut self, part: &Part, request: SummaryRequest) -> Result<String, Failure> {
        let request = Arc::new(self.without_secrets(request).await?);
        let answer = self.answer(&ModelRequest::Prompt(Arc::clone(&request))).await?;
        if answer.stop != StopReason::Length {
            return self.checked(answer).await;
        }
        let first = CutOff::new(request.max_tokens, &answer);
        let max_tokens = self.larger_answer(part, &request).await?;
        if max_tokens <= request.max_tokens && !first.is_early() {
            return Err(self.rejected(&format!("it was cut off {first}"), &first, true));
        }
        self.job_context.progress.add_requests(1);
        let max_tokens = max_tokens.max(request.max_tokens);
        let request = Arc::new(SummaryRequest { max_tokens, ..Arc::unwrap_or_clone(request) });
        let answer = self.answer(&ModelRequest::Prompt(request)).await?;
        match answer.stop {
            StopReason::Length => {
                let second = CutOff::new(max_tokens, &answer);
                Err(self.rejected(&format!("it was cut off twice, {first} and {second}"), &second, false))
            }
            _ => self.checked(answer).await,
        }
    }

    /// Maximum output tokens of a second request: the model's limit if it is known, otherwise twice the first limit if
    /// the window has room. Models reject a request for more than they can write.
    async fn larger_answer(&self, part: &Part, request: &Arc<SummaryRequest>) -> Result<u64, Failure> {
        let ModelLimits { context_window, max_output_tokens } = self.summarizer.limits();
        let most = max_output_tokens.unwrap_or_else(|| request.max_tokens.saturating_mul(2));
        Ok(match context_window {
            Some(_) => most.min(part.largest_answer(request).await?),
            None => most,
        })
    }

    /// The rejection with its known cause: the limit is the model's own, or the window has no room for a second
    /// request.
    fn rejected(&self, what: &str, last: &CutOff, is_only: bool) -> Failure {
        let limits = self.summarizer.limits();
        let why = match (limits.max_output_tokens, limits.context_window) {
            _ if last.is_early() => String::new(),
            (Some(limit), _) if limit <= last.asked => ", the model's limit".to_owned(),
            (_, Some(window)) if is_only => {
                format!(", and the window of {window} tokens leaves no room to ask for more")
            }
            _ => String::new(),
        };
        Failure::Final(EngineError::SummaryRejected { reason: format!("{what}{why}") })
    }

    /// The request without secrets. Searching a long prompt takes a while, so this runs on a worker thread.
    async fn without_secrets(&mut self, request: SummaryRequest) -> Result<SummaryRequest, Failure> {
        let Some(redactor) = self.redactor.clone() else {
            return Ok(request);
        };
        let redacting = off_loop(move || {
            let mut request = request;
            // The ledger is collected at the same time.
            let counts = redactor.long_text(&mut request.prompt, true);
            Ok((request, counts))
        });
        let (request, counts) = redacting.await?;
        add_counts(&mut self.cost.redactions, &counts);
        let in_cut_texts = self.texts.as_ref().map(|texts| texts.take_counts());
        in_cut_texts.into_iter().for_each(|counts| add_counts(&mut self.cost.redactions, &counts));
        Ok(request)
    }

    async fn checked(&mut self, answer: Answer) -> Result<String, Failure> {
        let attempts = self.cost.attempts;
        let text = off_loop(move || checked(&answer, attempts)).await.map_err(|failure| match failure {
            Failure::Final(EngineError::SummarizerFailed { cause, retryable, attempts }) => {
                let cause = self.without_secrets_in(&cause);
                Failure::Final(EngineError::SummarizerFailed { cause, retryable, attempts })
            }
            failure => failure,
        })?;
        let Some(redactor) = self.redactor.clone() else {
            return Ok(text);
        };
        let redacting = off_loop(move || {
            let redacted = redactor.redact(&text);
            Ok((redacted.text.into_owned(), redacted.counts))
        });
        let (text, counts) = redacting.await?;
        add_counts(&mut self.cost.redactions, &counts);
        Ok(text)
    }

    /// The model's answer, with the retries that the settings allow.
    async fn answer(&mut self, model_request: &ModelRequest) -> Result<Answer, Failure> {
        let progress = &self.job_context.progress;
        let mut retry = 0;
        loop {
            progress.begin_request();
            self.cost.attempts += 1;
            let deltas = |text: &str| progress.delta(text);
            let (model, context) = (&self.summarizer.model, &self.job_context.context);
            let outcome = match model_request {
                ModelRequest::Prompt(request) => model.complete(request, context, &deltas).await,
                ModelRequest::Continued(request) => model.continue_conversation(request, context, &deltas).await,
            };
            let error = match outcome {
                Ok(answer) => {
                    progress.end_request();
                    progress.spent(answer.usage.clone());
                    self.cost.usage = sum_usage(self.cost.usage.take(), answer.usage.clone());
                    let Some(read) = input_tokens(&answer).filter(|read| may_be_part(*read)) else {
                        return Ok(answer);
                    };
                    // Counting the words of a long request takes a while.
                    let model_request = model_request.clone();
                    let check = move || match missing_input(model_request.least_tokens(), read) {
                        None => Ok(answer),
                        Some(error) => Err(Failure::Truncated(error, read)),
                    };
                    return off_loop(check).await;
                }
                Err(error) => error,
            };
            if error.kind == FailureKind::Overflow {
                return Err(Failure::Overflow(error));
            }
            if error.kind == FailureKind::Refused && matches!(model_request, ModelRequest::Continued(_)) {
                return Err(Failure::Refused(error));
            }
            let wait = self.summarizer.retries.wait(retry, &error, self.job_context.deadline);
            let wait = wait.map_err(|error| Failure::Final(self.failed(&error)))?;
            progress.waiting();
            tokio::time::sleep(wait).await;
            retry += 1;
            progress.add_requests(1);
        }
    }

    fn failed(&self, error: &ModelError) -> EngineError {
        EngineError::SummarizerFailed {
            cause: self.without_secrets_in(&error.cause),
            retryable: error.kind.is_retryable(),
            attempts: self.cost.attempts,
        }
    }

    /// A foreign error text without secrets, because it may repeat the request.
    fn without_secrets_in(&self, cause: &str) -> String {
        let redactor = self.redactor.as_ref();
        redactor.map_or_else(|| cause.to_owned(), |redactor| redactor.redact(cause).text.into_owned())
    }
}

/// The point at which an answer was cut off.
struct CutOff {
    /// The requested maximum of output tokens.
    asked: u64,
    /// The written output tokens, where the model reports them.
    written: Option<u64>,
}

impl CutOff {
    fn new(asked: u64, answer: &Answer) -> Self {
        let written = answer.usage.as_ref().and_then(|usage| usage["output"].as_u64());
        Self { asked, written: written.filter(|written| *written > 0) }
    }

    /// Whether far less was written than was allowed. Then the server has a limit that nobody knows.
    fn is_early(&self) -> bool {
        self.written.is_some_and(|written| written < self.asked / 10 * 9)
    }
}

impl std::fmt::Display for CutOff {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.written.filter(|_| self.is_early()) {
            Some(written) => write!(formatter, "by the server after {written} of {} output tokens", self.asked),
            None => write!(formatter, "at {} output tokens", self.asked),
        }
    }
}

/// The text with the headings that it lacks.
async fn with_missing_headings(text: String, kind: SummaryKind) -> Result<(String, Vec<&'static str>), Failure> {
    off_loop(move || {
        let missing = missing_headings(&text, kind);
        Ok((text, missing))
    })
    .await
}

/// The summary in a complete answer.
fn checked(answer: &Answer, attempts: u32) -> Result<String, Failure> {
    let rejected = |reason: &str| Err(Failure::Final(EngineError::SummaryRejected { reason: reason.to_owned() }));
    match &answer.stop {
        StopReason::Stop => match summary_of(&answer.text) {
            summary if !summary.is_empty() => Ok(summary),
            _ if answer.text.trim().is_empty() => rejected("it is empty"),
            _ => rejected("it holds nothing but thinking"),
        },
        StopReason::ToolUse => rejected("the model called a tool"),
        StopReason::Length => rejected("it was cut off"),
        StopReason::Other(word) => {
            let cause = format!("the model stopped with {word}");
            let retryable = matches!(word.as_str(), "error" | "aborted");
            Err(Failure::Final(EngineError::SummarizerFailed { cause, retryable, attempts }))
        }
    }
}

/// Members of a usage that add up to the input.
const INPUTS: [&str; 3] = ["input", "cacheRead", "cacheWrite"];

/// Tokens of the input that the server read, if the answer says so.
fn input_tokens(answer: &Answer) -> Option<u64> {
    let usage = answer.usage.as_ref()?;
    Some(INPUTS.iter().filter_map(|member| usage.get(member).and_then(Value::as_u64)).sum())
}

/// Whether `read` tokens are few enough to be a part of any request, and enough to prove it.
fn may_be_part(read: u64) -> bool {
    is_part(read, u64::MAX)
}

/// The error for an answer after which the server has read only `read` tokens of a request of at least `least`
/// tokens; `None` where they may be the whole request.
fn missing_input(least: u64, read: u64) -> Option<ModelError> {
    let cause = format!(
        "the server read {read} tokens of a request that has at least {least}: it shortens what is larger than its \
         window; set the server's window (num_ctx with Ollama) and contextWindow to the same number"
    );
    is_part(read, least).then_some(ModelError { cause, kind: FailureKind::Overflow, retry_after: None })
}

/// Tokens of the next requests, after a server has read `read` of up to `sent` tokens.
fn smaller(sent: u64, read: u64) -> u64 {
    (sent / 2).min(read - read / 8)
}

/// The result of continuing a conversation.
enum Continued {
    /// The summary.
    Written(String, RequestReport),
    /// No summary. Transcripts are requested next, by this plan if one fits.
    NotTaken(Option<Box<RequestPlan>>, RequestReport),
}

/// A conversation that may be continued.
struct Candidate {
    /// The requests by transcripts.
    plan: Option<Box<RequestPlan>>,
    prefix: Arc<Prefix>,
    instruction: SummaryRequest,
    window: Option<u64>,
    report: RequestReport,
}

/// The reason why a continued conversation gave no summary.
enum NotContinued {
    /// A transcript is requested instead.
    Fallback(Obstacle),
    /// A transcript would fail as well.
    Final(EngineError),
}

impl NotContinued {
    fn fallback<T>(reason: Reason, detail: impl std::fmt::Display) -> Result<T, Self> {
        Err(Self::Fallback(Obstacle::new(reason, detail)))
    }
}

impl Run<'_> {
    /// Writes the summary by continuing the conversation of `job`, if possible, and reports its requests; `None`
    /// where the job has no conversation.
    async fn write_continued(&mut self, job: &Arc<SummaryJob>) -> Result<Option<Continued>, EngineError> {
        let Some(conversation) = &job.conversation else {
            return Ok(None);
        };
        let Some(mut candidate) = self.candidate(job, conversation).await? else {
            return Ok(None);
        };
        if candidate.report.obstacle.is_none() {
            match self.continue_conversation(&candidate, conversation).await {
                Ok(text) => {
                    candidate.report.is_continued = true;
                    return Ok(Some(Continued::Written(text, candidate.report)));
                }
                Err(NotContinued::Final(error)) => return Err(error),
                Err(NotContinued::Fallback(obstacle)) => candidate.report.obstacle = Some(obstacle),
            }
            self.job_context.progress.add_requests(1);
        }
        Ok(Some(Continued::NotTaken(candidate.plan, candidate.report)))
    }

    /// The report with the cost of all requests.
    fn with_cost(&self, report: RequestReport) -> RequestReport {
        let usage = self.cost.usage.as_ref();
        let cached_tokens = usage.and_then(|usage| usage["cacheRead"].as_u64());
        let cost = report.price.zip(usage).and_then(|(price, usage)| price.of_usage(usage));
        RequestReport { cached_tokens, cost, ..report }
    }

    /// The conversation with any obstacle to continuing it; `None` if it has left the context.
    async fn candidate(
        &self,
        job: &Arc<SummaryJob>,
        conversation: &Arc<Conversation>,
    ) -> Result<Option<Candidate>, EngineError> {
        let (job, conversation) = (Arc::clone(job), Arc::clone(conversation));
        let (model, choice) = (Arc::clone(&self.summarizer.model), self.summarizer.choice);
        let has_missed = self.summarizer.missed_caches.contains(&self.summarizer.name);
        let redact = self.redact();
        let preparing = off_loop(move || {
            let Some(prefix) = conversation.read() else {
                return Ok(None);
            };
            let limits = model.limits();
            let plan = job.plan(limits, None, redact).ok().map(Box::new);
            let transcript_tokens = plan.as_ref().map(|plan| plan.estimated_tokens());
            let output = OutputLimits { model_max_tokens: limits.max_output_tokens, ..job.limits };
            let custom = job.custom_instructions.as_deref();
            let turn = plan.as_ref().and_then(|plan| plan.current_turn());
            let instruction = job.texts.instruction(job.kind, job.previous_summary.is_some(), custom, turn, &output);
            let continues = model.continues();
            let window = match continues {
                Some(Continues::OfModel { .. }) => limits.context_window.or(conversation.window),
                _ => conversation.window.or(limits.context_window),
            };
            let of_answer = prefix.answer.as_ref().map(|answer| answer.model.as_str());
            let price = model.model_name().or(of_answer).and_then(Price::of);
            let check = ContinuationCheck {
                choice,
                continues,
                prefix: &prefix,
                instruction: &instruction,
                transcript_tokens,
                window,
                price,
                has_missed,
                now: session_store::now(),
            };
            let report = RequestReport {
                kind: job.kind,
                is_continued: false,
                obstacle: check.check().err(),
                transcript: transcript_tokens
                    .map(|tokens| Estimate { tokens, cost: price.map(|price| price.input(tokens)) }),
                continued: Some(check.estimate()),
                price,
                cached_tokens: None,
                cost: None,
            };
            Ok(Some(Candidate { plan, prefix: Arc::new(prefix), instruction, window, report }))
        });
        preparing.await.map_err(|failure| match failure {
            Failure::Final(error) => error,
            Failure::Overflow(error) | Failure::Truncated(error, _) | Failure::Refused(error) => self.failed(&error),
        })
    }

    /// A summary with all headings. One more request repairs an answer that lacks some.
    async fn continue_conversation(
        &mut self,
        candidate: &Candidate,
        conversation: &Conversation,
    ) -> Result<String, NotContinued> {
        let kind = candidate.instruction.kind.summary_kind();
        let first = self.continued_answer(candidate, conversation, candidate.instruction.clone()).await?;
        let (first, missing) = with_missing_headings(first, kind).await.map_err(|failure| self.stopped(failure))?;
        if missing.is_empty() {
            return Ok(first);
        }
        self.job_context.progress.add_requests(1);
        let repair = candidate.instruction.repaired(&first, &missing);
        let second = self.continued_answer(candidate, conversation, repair).await?;
        let (second, missing) = with_missing_headings(second, kind).await.map_err(|failure| self.stopped(failure))?;
        match missing.is_empty() {
            true => Ok(second),
            false => NotContinued::fallback(
                Reason::Headings,
                format!("headings are missing after a second request: {}", missing.join(", ")),
            ),
        }
    }

    /// A complete answer. An answer that was cut off is requested once more, with more room.
    async fn continued_answer(
        &mut self,
        candidate: &Candidate,
        conversation: &Conversation,
        request: SummaryRequest,
    ) -> Result<String, NotContinued> {
        let request = self.without_secrets(request).await.map_err(|failure| self.stopped(failure))?;
        let asked = request.max_tokens;
        let larger = self.larger_continued(candidate, &request);
        let model_request = |max_tokens| {
            ModelRequest::Continued(Arc::new(ContinuedRequest {
                prefix: Arc::clone(&candidate.prefix),
                request: SummaryRequest { max_tokens, ..request.clone() },
                first_kept: conversation.first_kept.clone(),
            }))
        };
        let mut answer = self.answer(&model_request(asked)).await.map_err(|failure| self.stopped(failure))?;
        // The usage shows whether the cache was hit, even if the answer is rejected.
        self.note_cache(candidate);
        if answer.stop == StopReason::Length && larger > asked {
            self.job_context.progress.add_requests(1);
            answer = self.answer(&model_request(larger)).await.map_err(|failure| self.stopped(failure))?;
        }
        self.accept(answer, asked.max(larger)).await
    }

    /// Maximum output tokens of a second request, as with transcripts.
    fn larger_continued(&self, candidate: &Candidate, request: &SummaryRequest) -> u64 {
        let most = self.summarizer.model.limits().max_output_tokens;
        let most = most.unwrap_or_else(|| request.max_tokens.saturating_mul(2));
        let input = candidate.prefix.tokens.saturating_add(request.estimated_tokens);
        candidate.window.map_or(most, |window| most.min(window.saturating_sub(input)))
    }

    /// The summary within an answer, without secrets.
    async fn accept(&mut self, answer: Answer, asked: u64) -> Result<String, NotContinued> {
        match &answer.stop {
            StopReason::Stop if summary_of(&answer.text).is_empty() => {
                NotContinued::fallback(Reason::Empty, "the answer is empty")
            }
            StopReason::Stop => self.checked(answer).await.map_err(|failure| self.stopped(failure)),
            StopReason::ToolUse => NotContinued::fallback(Reason::ToolCall, "the model called a tool"),
            StopReason::Length => {
                NotContinued::fallback(Reason::CutOff, format!("the answer was cut off at {asked} output tokens"))
            }
            StopReason::Other(word) => {
                let detail = self.without_secrets_in(&format!("the model stopped with {word}"));
                NotContinued::fallback(Reason::Stopped, detail)
            }
        }
    }

    fn stopped(&self, failure: Failure) -> NotContinued {
        let back = |reason, error: &ModelError| {
            NotContinued::Fallback(Obstacle::new(reason, self.without_secrets_in(&error.cause)))
        };
        match failure {
            Failure::Final(error) => NotContinued::Final(error),
            Failure::Overflow(error) => back(Reason::Overflow, &error),
            Failure::Truncated(error, _) => back(Reason::Truncated, &error),
            Failure::Refused(error) => back(Reason::Refused, &error),
        }
    }

    /// Notes whether the provider had the conversation cached. If it had not, whole conversations are not sent to it
    /// again automatically.
    fn note_cache(&self, candidate: &Candidate) {
        let read = self.cost.usage.as_ref().and_then(|usage| usage["cacheRead"].as_u64());
        if read.is_some_and(|read| read < candidate.prefix.tokens / 2) {
            self.summarizer.missed_caches.note(&self.summarizer.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use compaction_core::text::least_tokens;
    use serde_json::json;

    use super::*;
    use crate::models::StopReason;

    #[test]
    fn a_usage_below_the_least_is_of_a_part() {
        let least = least_tokens("Write notes.") + least_tokens(&"some plain words of a person ".repeat(2000));
        let check = |usage: Option<Value>, expected: Option<u64>| {
            let answer = Answer { text: String::new(), stop: StopReason::Stop, usage };
            let found = input_tokens(&answer)
                .filter(|read| may_be_part(*read))
                .and_then(|read| Some((read, missing_input(least, read)?)));
            assert_eq!(found.as_ref().map(|(read, _)| *read), expected);
            if let Some((read, error)) = found {
                assert!(error.cause.contains(&read.to_string()) && error.cause.contains("12003"), "{}", error.cause);
            }
        };
        check(None, None);
        check(Some(json!({ "input": 14_000 })), None);
        check(Some(json!({ "input": 4096 })), Some(4096));
        check(Some(json!({ "input": 96, "cacheRead": 12_000 })), None);
        check(Some(json!({ "input": 12 })), None);
        check(Some(json!({})), None);
        assert_eq!((smaller(20_000, 4096), smaller(3000, 4096)), (3584, 1500));
    }
}
