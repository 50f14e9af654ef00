//! The model that is the client's: no key is needed here (protocol/README.md, "Requests of the server").

use std::time::Duration;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use serde_json::Value;

use super::{
    Answer, ContinuedRequest, Continues, FailureKind, Model, ModelError, ModelLimits, Occasion, OnDelta, StopReason,
};
use crate::client_calls::ClientCallError;
use crate::params;
use crate::settings::Settings;
use crate::wire::{ContinuedConversation, RequestKind, SummarizeMode, SummarizeParams, SummarizeResult};

/// Asks the client by `summarize`.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    context_window: u64,
    timeout: Duration,
    /// Whether the client says that it can continue its conversations.
    continues: bool,
}

impl Host {
    /// The client's model as the settings describe it; `continues` if the client says that it can
    /// continue its conversations.
    pub fn new(settings: &Settings, continues: bool) -> Self {
        Self { context_window: settings.summarize_window(), timeout: settings.summarize_timeout(), continues }
    }

    async fn ask(&self, params: &SummarizeParams, occasion: &Occasion) -> Result<Answer, ModelError> {
        let answer = occasion.server.ask("summarize", params, self.timeout).await.map_err(unanswered)?;
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
        Ok(Answer { text: answer.text, stop, usage })
    }
}

/// What every request to the client says.
fn params_of(request: &SummaryRequest, occasion: &Occasion) -> SummarizeParams {
    SummarizeParams {
        session_id: occasion.session_id.clone(),
        operation_id: occasion.operation_id.clone(),
        kind: RequestKind::from(request.kind),
        mode: None,
        conversation: None,
        system_prompt: request.system_prompt.clone(),
        prompt: request.prompt.clone(),
        max_tokens: request.max_tokens,
    }
}

#[async_trait]
impl Model for Host {
    fn limits(&self) -> ModelLimits {
        ModelLimits { context_window: Some(self.context_window), max_output_tokens: None }
    }

    /// The client tries again by itself as it sees fit: its error is final (protocol/README.md, "Requests
    /// of the server").
    fn is_retried(&self) -> bool {
        false
    }

    async fn complete(
        &self,
        request: &SummaryRequest,
        occasion: &Occasion,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        self.ask(&params_of(request, occasion), occasion).await
    }

    fn continues(&self) -> Option<Continues> {
        self.continues.then_some(Continues::OfClient)
    }

    async fn continue_conversation(
        &self,
        request: &ContinuedRequest,
        occasion: &Occasion,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        let prefix = &request.prefix;
        let conversation = ContinuedConversation {
            last_entry_id: prefix.last_entry_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            messages: prefix.messages.len() as u64,
            first_kept_entry_id: request.first_kept.to_string(),
        };
        let params = SummarizeParams {
            mode: Some(SummarizeMode::Continue),
            conversation: Some(conversation),
            ..params_of(&request.request, occasion)
        };
        self.ask(&params, occasion).await
    }
}

/// Why the client gave no answer. What it says may tell of an overflow, which a smaller request
/// avoids.
fn unanswered(error: ClientCallError) -> ModelError {
    let kind = match &error {
        ClientCallError::TimedOut { .. } => FailureKind::TimedOut,
        ClientCallError::Refused { message } if compaction_core::overflow::is_overflow(None, message) => {
            FailureKind::Overflow
        }
        ClientCallError::Refused { .. } | ClientCallError::Empty => FailureKind::Refused,
    };
    ModelError { cause: error.to_string(), kind, retry_after: None }
}

fn refused(cause: String) -> ModelError {
    ModelError { cause, kind: FailureKind::Refused, retry_after: None }
}
