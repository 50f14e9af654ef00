//! Summarizers: who writes a summary. Each is behind one trait, so that a call can choose.

mod extractive;
mod host;
mod model;

use std::sync::Arc;

use async_trait::async_trait;
use compaction_core::conversation::serialize_conversation;
use compaction_core::preparation::PreparedMessage;
use compaction_core::prompts::{BranchPrompt, HistoryPrompt, OutputLimits, PromptTexts, RequestKind, SummaryRequest};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::errors::RpcError;
use crate::server::Server;
use crate::settings::Settings;

pub use extractive::Extractive;
pub use host::Host;
pub use model::{Answer, FailureKind, Model, ModelError, ModelLimits, OnDelta, StopReason};

/// One summary to write.
#[derive(Debug, Clone)]
pub struct SummaryJob {
    /// What it stands for.
    pub kind: RequestKind,
    /// The messages, oldest first, with the entries that they come from.
    pub messages: Vec<PreparedMessage>,
    /// The summary to update.
    pub previous_summary: Option<String>,
    /// What the summary should look at.
    pub custom_instructions: Option<String>,
    /// Whether they stand in place of the usual instructions.
    pub replace_instructions: bool,
    /// The prompts for models.
    pub texts: Arc<PromptTexts>,
    /// Output tokens.
    pub limits: OutputLimits,
}

impl SummaryJob {
    /// Output tokens at most.
    pub fn max_tokens(&self) -> u64 {
        self.limits.max_tokens(self.kind)
    }

    /// What a model is asked.
    pub fn request(&self) -> SummaryRequest {
        let conversation = serialize_conversation(self.messages.iter().map(|prepared| &*prepared.message));
        let custom_instructions = self.custom_instructions.as_deref();
        match self.kind {
            RequestKind::History => {
                let previous_summary = self.previous_summary.as_deref();
                let prompt = HistoryPrompt { conversation: &conversation, previous_summary, custom_instructions };
                self.texts.history_request(prompt, &self.limits)
            }
            RequestKind::TurnPrefix => self.texts.turn_prefix_request(&conversation, custom_instructions, &self.limits),
            RequestKind::Branch => {
                let replace_instructions = self.replace_instructions;
                let prompt = BranchPrompt { conversation: &conversation, custom_instructions, replace_instructions };
                self.texts.branch_request(prompt, &self.limits)
            }
        }
    }
}

/// A summary that was written.
#[derive(Debug, Clone, Default)]
pub struct SummaryText {
    /// Its text.
    pub text: String,
    /// What it cost, as the provider tells it.
    pub usage: Option<Value>,
    /// Requests that were made for it.
    pub attempts: u32,
}

/// On whose behalf a summary is written.
#[derive(Debug, Clone)]
pub struct Occasion {
    /// The server.
    pub server: Arc<Server>,
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// Cancelled when the operation ends early.
    pub cancel: CancellationToken,
}

/// Writes summaries.
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// The name by which settings and calls choose it.
    fn name(&self) -> &'static str;

    /// Window of the model in tokens; `None` where there is no limit.
    fn context_window(&self, settings: &Settings) -> Option<u64>;

    /// Writes one summary. Fails with `requestCancelled` once the occasion is cancelled, with
    /// `summarizerFailed` or `summaryRejected` otherwise. Dropping the future ends the work.
    async fn summarize(&self, job: SummaryJob, occasion: &Occasion) -> Result<SummaryText, RpcError>;
}

/// Names of the summarizers that this server has.
pub const NAMES: &[&str] = &["extractive", "host"];

/// The summarizer with this name; `path` is that of the parameter.
pub fn by_name(name: &str, path: &str, server: &Server) -> Result<Arc<dyn Summarizer>, RpcError> {
    match name {
        "extractive" => Ok(Arc::new(Extractive)),
        "host" if server.configuration()?.client_summarizes => Ok(Arc::new(Host)),
        "host" => {
            Err(RpcError::invalid_params(path, "a summarizer other than host: the client does not offer summarize"))
        }
        _ => Err(RpcError::invalid_params(path, format!("one of: {}", NAMES.join(", ")))),
    }
}
