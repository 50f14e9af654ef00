//! The summarizer over any model: requests that fit, retries, and checks of what comes back
//! (docs/summaries.md, "Rejected summaries").

mod continued;
mod read;

use std::sync::Arc;

use async_trait::async_trait;
use compaction_core::conversation::Redact;
use compaction_core::fitting::RequestPlan;
use compaction_core::prompts::SummaryRequest;
use compaction_core::summary::{SummaryKind, missing_headings};
use compaction_core::text::least_tokens;
use continued::Continued;
use serde_json::Value;

use super::{Occasion, Summarizer, SummaryJob, SummaryText};
use crate::error::EngineError;
use crate::models::{
    Answer, ContinuedRequest, FailureKind, MissedCaches, Model, ModelError, ModelLimits, RequestChoice, RequestReport,
    RetryPolicy, StopReason, sum_usage, summary_of,
};
use crate::redaction::{RedactedTexts, Redactions, Redactor};
use crate::settings::Settings;
use crate::threads::blocking;

/// How often the requests are made smaller after a model has called one too large: each time they
/// get half as large.
const MAX_SHRINKINGS: u32 = 3;

/// A summarizer that asks a model.
#[derive(Debug)]
pub struct Modelled {
    name: String,
    model: Arc<dyn Model>,
    retries: RetryPolicy,
    /// Takes secrets out of what goes to the model and of what comes back.
    redactor: Option<Arc<Redactor>>,
    /// Whether conversations are continued.
    choice: RequestChoice,
    /// Summarizers that continue none by themselves any more.
    missed_caches: Arc<MissedCaches>,
}

impl Modelled {
    /// The summarizer called `name` over `model`.
    pub fn new(name: &str, model: Arc<dyn Model>, settings: &Settings) -> Self {
        let retries = if model.is_retried() { settings.retries() } else { RetryPolicy::NONE };
        let (redactor, choice) = (settings.redaction().redactor(), settings.request_choice());
        Self { name: name.to_owned(), model, retries, redactor, choice, missed_caches: Arc::default() }
    }

    /// The same, which shares with others of an engine what caches have missed.
    #[must_use]
    pub fn noting(self, missed_caches: &Arc<MissedCaches>) -> Self {
        Self { missed_caches: Arc::clone(missed_caches), ..self }
    }
}

#[async_trait]
impl Summarizer for Modelled {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        self.model.limits()
    }

    async fn summarize(&self, job: SummaryJob, occasion: &Occasion) -> Result<SummaryText, EngineError> {
        let texts = self.redactor.clone().map(|redactor| Arc::new(RedactedTexts::new(redactor)));
        let mut run = Run { summarizer: self, occasion, texts, cost: Cost::default() };
        let job = Arc::new(job);
        let (text, request) = run.write_either(&job).await?;
        let Cost { attempts, usage, redactions } = run.cost;
        Ok(SummaryText { text, usage, attempts, redactions, request })
    }
}

/// What was spent on a summary so far.
#[derive(Debug, Default)]
struct Cost {
    attempts: u32,
    usage: Option<Value>,
    /// Secrets that were taken out, by rule.
    redactions: Redactions,
}

/// One summary while it is being written.
struct Run<'a> {
    summarizer: &'a Modelled,
    occasion: &'a Occasion,
    /// Takes secrets out of texts that are cut.
    texts: Option<Arc<RedactedTexts>>,
    cost: Cost,
}

/// What a model is asked.
#[derive(Clone)]
enum Question {
    /// A request of one prompt.
    Prompt(Arc<SummaryRequest>),
    /// A request that continues a conversation.
    Continued(Arc<ContinuedRequest>),
}

impl Question {
    /// The least tokens that any model makes of it.
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
    /// The request. Its texts may be long.
    async fn request(&self) -> Result<SummaryRequest, Failure> {
        let part = self.clone();
        off_loop(move || part.plan.request(part.index, part.summary_so_far.as_deref()).ok_or_else(no_request)).await
    }

    /// The request once more, after an answer that lacks headings.
    async fn repair(
        &self,
        answer: String,
        missing_headings: Vec<&'static str>,
        texts: Option<Arc<RedactedTexts>>,
    ) -> Result<SummaryRequest, Failure> {
        let part = self.clone();
        let make = move || {
            let redact = texts.as_deref().map(|texts| texts as &dyn Redact);
            let summary = part.summary_so_far.as_deref();
            part.plan.repair(part.index, summary, &answer, &missing_headings, redact).ok_or_else(no_request)
        };
        off_loop(make).await
    }

    /// Most output tokens that the window leaves for an answer to `request`.
    async fn largest_answer(&self, request: &Arc<SummaryRequest>) -> Result<u64, Failure> {
        let (plan, request) = (Arc::clone(&self.plan), Arc::clone(request));
        off_loop(move || Ok(plan.largest_answer(&request))).await
    }
}

/// Work on long texts, done on a thread so that the loop serves others meanwhile.
async fn off_loop<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    blocking(move || Ok(work())).await.map_err(Failure::Final)?
}

fn no_request() -> Failure {
    Failure::Final(EngineError::Internal { message: "a request was asked for that is not planned".to_owned() })
}

/// Why a request did not give a summary.
enum Failure {
    /// The model called the request too large.
    Overflow(ModelError),
    /// The server has read a part of the request: so many tokens.
    Truncated(ModelError, u64),
    /// The request to continue a conversation was refused.
    Refused(ModelError),
    /// Anything that a smaller request would not cure.
    Final(EngineError),
}

impl Run<'_> {
    /// Writes the summary, by continuing the conversation where that is wanted and comes to something.
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

    /// Writes the summary by transcripts, at first those of `planned`; a model that finds the requests too large gets smaller ones, a few times.
    async fn write(
        &mut self,
        job: &Arc<SummaryJob>,
        mut planned: Option<Box<RequestPlan>>,
    ) -> Result<String, EngineError> {
        let (mut input_limit, mut shrinkings) = (None, 0);
        loop {
            let plan = match planned.take() {
                Some(plan) => *plan,
                None => self.plan(job, input_limit).await?,
            };
            self.expect_requests(&plan, input_limit.is_none());
            let plan = Arc::new(plan);
            match self.write_planned(&plan, job.kind.summary_kind()).await {
                Ok(text) => return Ok(text),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Refused(error)) => return Err(self.failed(&error)),
                Err(Failure::Overflow(error) | Failure::Truncated(error, _)) if shrinkings == MAX_SHRINKINGS => {
                    return Err(self.failed(&error));
                }
                Err(Failure::Overflow(_)) => input_limit = Some(plan.largest_input_tokens() / 2),
                Err(Failure::Truncated(error, tokens)) => {
                    let smaller = read::smaller(plan.largest_input_tokens(), tokens);
                    // The first reason is the one that helps, where no smaller request can be made.
                    if self.plan(job, Some(smaller)).await.is_err() {
                        return Err(self.failed(&error));
                    }
                    input_limit = Some(smaller);
                }
            }
            shrinkings += 1;
        }
    }

    /// The requests to make. Serialising a long conversation takes a while, so that it is done on a
    /// thread.
    async fn plan(&self, job: &Arc<SummaryJob>, input_limit: Option<u64>) -> Result<RequestPlan, EngineError> {
        let (job, limits, texts) = (Arc::clone(job), self.summarizer.limits(), self.texts.clone());
        let planning = blocking(move || {
            let redact = texts.as_deref().map(|texts| texts as &dyn Redact);
            Ok(job.plan(limits, input_limit, redact))
        });
        let plan = planning.await?;
        plan.map_err(|error| EngineError::SummarizerFailed {
            cause: format!("failed to {error}"),
            retryable: false,
            attempts: self.cost.attempts,
        })
    }

    /// Tells of the requests of a plan; the first one of a job is expected anyway.
    fn expect_requests(&self, plan: &RequestPlan, is_first: bool) {
        let more = u32::try_from(plan.requests() - 1).unwrap_or(u32::MAX);
        self.occasion.progress.add_requests(if is_first { more } else { more.saturating_add(1) });
    }

    /// Makes the requests in order; each updates the summary that the one before gave.
    async fn write_planned(&mut self, plan: &Arc<RequestPlan>, kind: SummaryKind) -> Result<String, Failure> {
        let mut summary = String::new();
        for index in 0..plan.requests() {
            let summary_so_far = (index > 0).then(|| summary.as_str().into());
            let part = Part { plan: Arc::clone(plan), index, summary_so_far };
            summary = self.valid_answer(&part, kind).await?;
        }
        Ok(summary)
    }

    /// An answer that holds what a summary of its kind must hold; one more request repairs one that
    /// does not.
    async fn valid_answer(&mut self, part: &Part, kind: SummaryKind) -> Result<String, Failure> {
        let request = part.request().await?;
        let first = self.whole_answer(part, request).await?;
        let (first, missing) = with_missing_headings(first, kind).await?;
        if missing.is_empty() {
            return Ok(first);
        }
        self.occasion.progress.add_requests(1);
        let repair = part.repair(first, missing, self.texts.clone()).await?;
        let second = self.whole_answer(part, repair).await?;
        let (second, missing) = with_missing_headings(second, kind).await?;
        if missing.is_empty() {
            return Ok(second);
        }
        let reason = format!("headings are missing after a second request: {}", missing.join(", "));
        Err(Failure::Final(EngineError::SummaryRejected { reason }))
    }

    /// An answer that the model brought to its end. One that was cut off is asked for once more, with
    /// more room.
    async fn whole_answer(&mut self, part: &Part, request: SummaryRequest) -> Result<String, Failure> {
        let request = Arc::new(self.without_secrets(request).await?);
        let answer = self.answer(&Question::Prompt(Arc::clone(&request))).await?;
        if answer.stop != StopReason::Length {
            return self.checked(answer).await;
        }
        let first = CutOff::new(request.max_tokens, &answer);
        let max_tokens = self.larger_answer(part, &request).await?;
        if max_tokens <= request.max_tokens && !first.is_early() {
            return Err(self.rejected(&format!("it was cut off {first}"), &first, true));
        }
        self.occasion.progress.add_requests(1);
        let max_tokens = max_tokens.max(request.max_tokens);
        let request = Arc::new(SummaryRequest { max_tokens, ..Arc::unwrap_or_clone(request) });
        let answer = self.answer(&Question::Prompt(request)).await?;
        match answer.stop {
            StopReason::Length => {
                let second = CutOff::new(max_tokens, &answer);
                Err(self.rejected(&format!("it was cut off twice, {first} and {second}"), &second, false))
            }
            _ => self.checked(answer).await,
        }
    }

    /// Most output tokens of a second try: the model's limit where it is known, else twice what was
    /// asked for, as far as the window has room. Models refuse a request for more than they can write.
    async fn larger_answer(&self, part: &Part, request: &Arc<SummaryRequest>) -> Result<u64, Failure> {
        let ModelLimits { context_window, max_output_tokens } = self.summarizer.limits();
        let most = max_output_tokens.unwrap_or_else(|| request.max_tokens.saturating_mul(2));
        Ok(match context_window {
            Some(_) => most.min(part.largest_answer(request).await?),
            None => most,
        })
    }

    /// The reason that is given says what is known: that the limit is the model's own, or that the
    /// window has no room for a second try.
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

    /// The request without what looks like a secret. A long prompt takes a while, so that it is
    /// searched on a thread.
    async fn without_secrets(&mut self, request: SummaryRequest) -> Result<SummaryRequest, Failure> {
        let Some(redactor) = self.summarizer.redactor.clone() else {
            return Ok(request);
        };
        let redacting = off_loop(move || {
            let redacted = redactor.redact(&request.prompt);
            let (prompt, counts) = (redacted.text.into_owned(), redacted.counts);
            Ok((SummaryRequest { prompt, ..request }, counts))
        });
        let (request, counts) = redacting.await?;
        add(&mut self.cost.redactions, counts);
        let in_cut_texts = self.texts.as_ref().map(|texts| texts.take_counts());
        in_cut_texts.into_iter().for_each(|counts| add(&mut self.cost.redactions, counts));
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
        let Some(redactor) = self.summarizer.redactor.clone() else {
            return Ok(text);
        };
        let redacting = off_loop(move || {
            let redacted = redactor.redact(&text);
            Ok((redacted.text.into_owned(), redacted.counts))
        });
        let (text, counts) = redacting.await?;
        add(&mut self.cost.redactions, counts);
        Ok(text)
    }

    /// The model's answer, after as many tries as the settings allow.
    async fn answer(&mut self, question: &Question) -> Result<Answer, Failure> {
        let progress = &self.occasion.progress;
        let mut retry = 0;
        loop {
            progress.begin_request();
            self.cost.attempts += 1;
            let deltas = |text: &str| progress.delta(text);
            let (model, context) = (&self.summarizer.model, &self.occasion.context);
            let outcome = match question {
                Question::Prompt(request) => model.complete(request, context, &deltas).await,
                Question::Continued(request) => model.continue_conversation(request, context, &deltas).await,
            };
            let error = match outcome {
                Ok(answer) => {
                    progress.end_request();
                    progress.spent(answer.usage.clone());
                    self.cost.usage = sum_usage(self.cost.usage.take(), answer.usage.clone());
                    let question = question.clone();
                    let check = move || match read::missing(question.least_tokens(), &answer) {
                        None => Ok(answer),
                        Some((error, tokens)) => Err(Failure::Truncated(error, tokens)),
                    };
                    return off_loop(check).await;
                }
                Err(error) => error,
            };
            if error.kind == FailureKind::Overflow {
                return Err(Failure::Overflow(error));
            }
            if error.kind == FailureKind::Refused && matches!(question, Question::Continued(_)) {
                return Err(Failure::Refused(error));
            }
            let wait = self.summarizer.retries.wait(retry, &error, self.occasion.deadline);
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
}

impl Run<'_> {
    /// What others said of a failure: they repeat what they were sent.
    fn without_secrets_in(&self, cause: &str) -> String {
        let redactor = self.summarizer.redactor.as_ref();
        redactor.map_or_else(|| cause.to_owned(), |redactor| redactor.redact(cause).text.into_owned())
    }
}

fn add(redactions: &mut Redactions, more: Redactions) {
    for (rule, count) in more {
        *redactions.entry(rule).or_default() += count;
    }
}

/// Where an answer was cut off.
struct CutOff {
    /// Output tokens that were asked for at most.
    asked: u64,
    /// Those that came, where the model tells.
    written: Option<u64>,
}

impl CutOff {
    fn new(asked: u64, answer: &Answer) -> Self {
        let written = answer.usage.as_ref().and_then(|usage| usage["output"].as_u64());
        Self { asked, written: written.filter(|written| *written > 0) }
    }

    /// Whether far less came than was asked for: then the limit is one of the server that nobody knows.
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

/// The text, and the headings that it lacks.
async fn with_missing_headings(text: String, kind: SummaryKind) -> Result<(String, Vec<&'static str>), Failure> {
    off_loop(move || {
        let missing = missing_headings(&text, kind);
        Ok((text, missing))
    })
    .await
}

/// The summary of an answer that is a whole one.
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
