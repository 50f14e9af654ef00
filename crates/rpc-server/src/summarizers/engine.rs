//! The summarizer over any model: requests that fit, retries, and checks of what comes back
//! (compaction spec, Summaries).

mod retries;

use std::sync::Arc;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use compaction_core::summary::{SummaryKind, missing_headings};
use serde_json::Value;

pub use retries::RetryPolicy;

use super::{Answer, FailureKind, Model, ModelError, Occasion, StopReason, Summarizer, SummaryJob, SummaryText};
use crate::call::blocking;
use crate::errors::RpcError;
use crate::operation::sum_usage;
use crate::settings::Settings;

/// A summarizer that asks a model.
#[derive(Debug)]
pub struct Modelled {
    name: String,
    model: Arc<dyn Model>,
    retries: RetryPolicy,
}

impl Modelled {
    /// The summarizer called `name` over `model`.
    pub fn new(name: &str, model: Arc<dyn Model>, settings: &Settings) -> Self {
        let retries = if model.is_retried() { settings.retries() } else { RetryPolicy::NONE };
        Self { name: name.to_owned(), model, retries }
    }
}

#[async_trait]
impl Summarizer for Modelled {
    fn name(&self) -> &str {
        &self.name
    }

    fn context_window(&self) -> Option<u64> {
        self.model.limits().context_window
    }

    async fn summarize(&self, job: SummaryJob, occasion: &Occasion) -> Result<SummaryText, RpcError> {
        let mut run = Run { summarizer: self, occasion, cost: Cost::default() };
        let text = run.write(job).await?;
        Ok(SummaryText { text, usage: run.cost.usage, attempts: run.cost.attempts })
    }
}

/// What was spent on a summary so far.
#[derive(Debug, Default)]
struct Cost {
    attempts: u32,
    usage: Option<Value>,
}

/// One summary while it is being written.
struct Run<'a> {
    summarizer: &'a Modelled,
    occasion: &'a Occasion,
    cost: Cost,
}

/// Why a request did not give a summary.
enum Failure {
    /// The model called the request too large.
    Overflow(ModelError),
    /// Anything that a smaller request would not cure.
    Final(RpcError),
}

impl Run<'_> {
    /// Writes the summary; a model that finds the requests too large gets smaller ones, a few times.
    async fn write(&mut self, job: SummaryJob) -> Result<String, RpcError> {
        let request = blocking(move || Ok(job.request())).await?;
        match self.valid_answer(&request, request.kind.summary_kind()).await {
            Ok(text) => Ok(text),
            Err(Failure::Final(error)) => Err(error),
            Err(Failure::Overflow(error)) => Err(self.failed(&error)),
        }
    }

    /// An answer that holds what a summary of its kind must hold; one more request repairs one that
    /// does not.
    async fn valid_answer(&mut self, request: &SummaryRequest, kind: SummaryKind) -> Result<String, Failure> {
        let first = self.whole_answer(request).await?;
        let missing = missing_headings(&first, kind);
        if missing.is_empty() {
            return Ok(first);
        }
        let second = self.whole_answer(&self.repair(request, &first, &missing)).await?;
        let missing = missing_headings(&second, kind);
        if missing.is_empty() {
            return Ok(second);
        }
        let reason = format!("headings are missing after a second request: {}", missing.join(", "));
        Err(Failure::Final(RpcError::SummaryRejected { reason }))
    }

    /// The request for a better answer: with the conversation if there is room for both, else about
    /// the answer alone.
    fn repair(&self, request: &SummaryRequest, answer: &str, missing: &[&str]) -> SummaryRequest {
        let whole = request.repaired(answer, missing);
        let window = self.summarizer.context_window().unwrap_or(u64::MAX);
        match whole.estimated_tokens.saturating_add(whole.max_tokens) <= window {
            true => whole,
            false => request.reformatted(answer, missing),
        }
    }

    /// An answer that the model brought to its end. One that was cut off is asked for once more,
    /// with all the room that the model has.
    async fn whole_answer(&mut self, request: &SummaryRequest) -> Result<String, Failure> {
        let answer = self.answer(request).await?;
        if answer.stop != StopReason::Length {
            return checked(answer, self.cost.attempts);
        }
        let Some(longer) = self.longer(request) else {
            return Err(cut_off(request.max_tokens));
        };
        let answer = self.answer(&longer).await?;
        match answer.stop {
            StopReason::Length => Err(cut_off(longer.max_tokens)),
            _ => checked(answer, self.cost.attempts),
        }
    }

    /// The same request with the model's own limit of output tokens, or four times what was asked
    /// where that is not known; `None` where there is no more room.
    fn longer(&self, request: &SummaryRequest) -> Option<SummaryRequest> {
        let limits = self.summarizer.model.limits();
        let own_limit = limits.max_output_tokens.unwrap_or(request.max_tokens.saturating_mul(4));
        let room = limits.context_window.map_or(u64::MAX, |window| window.saturating_sub(request.estimated_tokens));
        let max_tokens = own_limit.min(room);
        (max_tokens > request.max_tokens).then(|| SummaryRequest { max_tokens, ..request.clone() })
    }

    /// The model's answer, after as many tries as the settings allow.
    async fn answer(&mut self, request: &SummaryRequest) -> Result<Answer, Failure> {
        let progress = &self.occasion.progress;
        let mut retry = 0;
        loop {
            progress.begin_request();
            self.cost.attempts += 1;
            let deltas = |text: &str| progress.delta(text);
            let error = match self.summarizer.model.complete(request, self.occasion, &deltas).await {
                Ok(answer) => {
                    progress.end_request();
                    self.cost.usage = sum_usage(self.cost.usage.take(), answer.usage.clone());
                    return Ok(answer);
                }
                Err(error) => error,
            };
            if error.kind == FailureKind::Overflow {
                return Err(Failure::Overflow(error));
            }
            let wait = self.summarizer.retries.wait(retry, &error, self.occasion.deadline);
            let wait = wait.map_err(|error| Failure::Final(self.failed(&error)))?;
            progress.waiting();
            tokio::time::sleep(wait).await;
            retry += 1;
            progress.add_requests(1);
        }
    }

    fn failed(&self, error: &ModelError) -> RpcError {
        RpcError::SummarizerFailed {
            cause: error.cause.clone(),
            retryable: error.kind.is_retryable(),
            attempts: self.cost.attempts,
        }
    }
}

fn cut_off(max_tokens: u64) -> Failure {
    let reason = format!("it was cut off at {max_tokens} output tokens");
    Failure::Final(RpcError::SummaryRejected { reason })
}

/// The text of an answer that is a whole one.
fn checked(answer: Answer, attempts: u32) -> Result<String, Failure> {
    let rejected = |reason: &str| Err(Failure::Final(RpcError::SummaryRejected { reason: reason.to_owned() }));
    match answer.stop {
        StopReason::Stop if answer.text.trim().is_empty() => rejected("it is empty"),
        StopReason::Stop => Ok(answer.text),
        StopReason::ToolUse => rejected("the model called a tool"),
        StopReason::Length => rejected("it was cut off"),
        StopReason::Other(word) => {
            let cause = format!("the model stopped with {word}");
            Err(Failure::Final(RpcError::SummarizerFailed { cause, retryable: word == "error", attempts }))
        }
    }
}
