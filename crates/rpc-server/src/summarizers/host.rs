//! The summarizer that asks the client, whose own model does the work: no key is needed here.
//!
//! What comes back is checked (compaction spec, Summaries): no error, not cut off, no call of a
//! tool, not empty; missing headings get one more request, then they are a reason to refuse.

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use compaction_core::summary::missing_headings;
use serde_json::Value;

use super::{Occasion, Summarizer, SummaryJob, SummaryText};
use crate::call::blocking;
use crate::client_calls::ClientCallError;
use crate::errors::RpcError;
use crate::operation::sum_usage;
use crate::params;
use crate::settings::Settings;
use crate::wire::{RequestKind, SummarizeParams, SummarizeResult};

/// Asks the client by `summarize`.
#[derive(Debug, Clone, Copy)]
pub struct Host;

#[async_trait]
impl Summarizer for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn context_window(&self, settings: &Settings) -> Option<u64> {
        Some(settings.summarize_window())
    }

    async fn summarize(&self, job: SummaryJob, occasion: &Occasion) -> Result<SummaryText, RpcError> {
        let kind = job.kind;
        // Serialising a long conversation takes a while, so that it is done on a thread.
        let request = blocking(move || Ok(job.request())).await?;
        let first = ask(&request, occasion, 1).await?;
        let missing = missing_headings(&first.text, kind.summary_kind());
        if missing.is_empty() {
            return Ok(SummaryText { attempts: 1, ..first });
        }
        let second = ask(&request.repaired(&first.text, &missing), occasion, 2).await?;
        let missing = missing_headings(&second.text, kind.summary_kind());
        if !missing.is_empty() {
            let reason = format!("headings are missing after a second request: {}", missing.join(", "));
            return Err(RpcError::SummaryRejected { reason });
        }
        Ok(SummaryText { text: second.text, usage: sum_usage(first.usage, second.usage), attempts: 2 })
    }
}

async fn ask(request: &SummaryRequest, occasion: &Occasion, attempts: u32) -> Result<SummaryText, RpcError> {
    let params = SummarizeParams {
        session_id: occasion.session_id.clone(),
        operation_id: occasion.operation_id.clone(),
        kind: RequestKind::from(request.kind),
        system_prompt: request.system_prompt.clone(),
        prompt: request.prompt.clone(),
        max_tokens: request.max_tokens,
    };
    let limit = occasion.server.configuration()?.settings.summarize_timeout();
    let answer =
        occasion.server.ask("summarize", &params, limit).await.map_err(|error| RpcError::SummarizerFailed {
            retryable: matches!(error, ClientCallError::TimedOut { .. }),
            cause: error.to_string(),
            attempts,
        })?;
    let answer = params::parse_value::<SummarizeResult>(answer.get()).map_err(|(path, expected)| {
        let path = if path.is_empty() { "result".to_owned() } else { format!("result.{path}") };
        let cause = format!("the client's answer is wrong: {path}: expected {expected}");
        RpcError::SummarizerFailed { cause, retryable: false, attempts }
    })?;
    checked(answer, request.max_tokens, attempts)
}

fn checked(answer: SummarizeResult, max_tokens: u64, attempts: u32) -> Result<SummaryText, RpcError> {
    let rejected = |reason: String| Err(RpcError::SummaryRejected { reason });
    match answer.stop_reason.as_str() {
        "stop" => {}
        "length" => return rejected(format!("it was cut off at {max_tokens} output tokens")),
        "toolUse" => return rejected("the model called a tool".to_owned()),
        other => {
            let cause = format!("the model stopped with {other}");
            return Err(RpcError::SummarizerFailed { cause, retryable: other == "error", attempts });
        }
    }
    if answer.text.trim().is_empty() {
        return rejected("it is empty".to_owned());
    }
    let usage = answer.usage.and_then(|usage| serde_json::from_str::<Value>(usage.get()).ok());
    Ok(SummaryText { text: answer.text, usage: usage.filter(Value::is_object), attempts })
}
