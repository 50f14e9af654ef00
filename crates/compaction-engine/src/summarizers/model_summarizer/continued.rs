//! A summary that is written by continuing the conversation it is about.
//!
//! Any obstacle, before or after the request, leads back to a transcript. At most two answers are wasted, each with
//! one further try if it was cut off.

use std::sync::Arc;

use compaction_core::conversation::Prefix;
use compaction_core::fitting::RequestPlan;
use compaction_core::prompts::{OutputLimits, SummaryRequest};

use super::{Failure, ModelRequest, Run, off_loop, with_missing_headings};
use crate::error::EngineError;
use crate::models::{
    Answer, ContinuationCheck, ContinuedRequest, Continues, Conversation, Estimate, ModelError, Obstacle, Price,
    Reason, RequestReport, StopReason, summary_of,
};
use crate::summarizers::SummaryJob;

/// The result of continuing a conversation.
pub(super) enum Continued {
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
    pub(super) async fn write_continued(&mut self, job: &Arc<SummaryJob>) -> Result<Option<Continued>, EngineError> {
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
    pub(super) fn with_cost(&self, report: RequestReport) -> RequestReport {
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
            let instruction = job.texts.instruction(job.kind, job.previous_summary.is_some(), custom, &output);
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
