//! Summarizers: who writes a summary. Each is behind one trait, so that a call can choose.

mod answer_text;
mod collected;
pub mod configuration;
mod continuation;
mod engine;
pub(crate) mod extractive;
mod host;
mod model;
mod prices;
pub mod providers;
mod secret;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use compaction_core::conversation::{Redact, Thinking};
use compaction_core::file_operations::FileTools;
use compaction_core::fitting::{PlanInput, RequestPlan, TooSmallWindow};
use compaction_core::ledger::Ledger;
use compaction_core::preparation::PreparedMessage;
use compaction_core::prompts::{OutputLimits, PromptTexts, RequestKind};
use compaction_core::tokens::estimate_text;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::errors::RpcError;
use crate::progress::Progress;
use crate::server::Server;
use crate::settings::Settings;
use crate::wire::SummarizerChoice;

pub use answer_text::summary_of;
pub use collected::Collected;
pub use continuation::{
    Cache, ContinuedRequest, Continues, Conversation, Estimate, MissedCaches, Obstacle, Reason, RequestChoice,
    RequestReport,
};
pub use engine::{Modelled, RetryPolicy};
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
    /// What was stored beside it.
    pub previous_ledger: Option<Arc<Ledger>>,
    /// The tools by which file operations are known.
    pub file_tools: FileTools,
    /// Whether items name the entries that they come from, where the summarizer can tell.
    pub citations: bool,
    /// What the summary should look at.
    pub custom_instructions: Option<String>,
    /// Whether they stand in place of the usual instructions.
    pub replace_instructions: bool,
    /// The prompts for models.
    pub texts: Arc<PromptTexts>,
    /// Output tokens.
    pub limits: OutputLimits,
    /// Tokens of a summary that is written without a model: with what is put beside it, it stays within
    /// the bound of the whole summary.
    pub local_tokens: u64,
    /// Whether models read thinking.
    pub thinking: Thinking,
    /// Where the ledger of these messages on top of the previous one is collected for others too.
    pub collected: Option<Arc<Collected>>,
    /// The conversation that the messages are a part of, where a model may continue it.
    pub conversation: Option<Arc<Conversation>>,
}

impl SummaryJob {
    /// Output tokens at most.
    pub fn max_tokens(&self) -> u64 {
        self.limits.max_tokens(self.kind)
    }

    /// Estimated tokens of what the summary stands for.
    pub fn tokens(&self) -> u64 {
        let messages: u64 = self.messages.iter().map(|prepared| prepared.message.tokens()).sum();
        messages.saturating_add(self.previous_summary.as_deref().map_or(0, estimate_text))
    }

    /// The requests that ask a model for it, such that each fits `limits`; `input_limit` bounds their
    /// prompts further, in tokens, and `redact` sees texts before they are cut.
    pub fn plan(
        &self,
        limits: ModelLimits,
        input_limit: Option<u64>,
        redact: Option<&dyn Redact>,
    ) -> Result<RequestPlan, TooSmallWindow> {
        let messages: Vec<_> = self.messages.iter().map(|prepared| Arc::clone(&prepared.message)).collect();
        RequestPlan::of(&PlanInput {
            kind: self.kind,
            messages: &messages,
            previous_summary: self.previous_summary.as_deref(),
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
    /// What it cost, as the provider tells it.
    pub usage: Option<Value>,
    /// Requests that were made for it.
    pub attempts: u32,
    /// Secrets that were taken out of what the model was told and said, by rule.
    pub redactions: Redactions,
    /// How a model was asked for it; `None` where that is not told.
    pub request: Option<RequestReport>,
}

/// Numbers of secrets that were found, by the name of the rule.
pub type Redactions = BTreeMap<String, u32>;

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
    /// When the operation has to be over.
    pub deadline: Instant,
    /// How the client hears of it.
    pub progress: Arc<Progress>,
}

/// Writes summaries.
#[async_trait]
pub trait Summarizer: Send + Sync + Debug {
    /// The name by which settings and calls choose it.
    fn name(&self) -> &str;

    /// What it can read and write; `None` where there is no limit, or none that is known.
    fn limits(&self) -> ModelLimits;

    /// Whether it works here and at once, without asking anybody: it has no deadline to miss.
    fn is_local(&self) -> bool {
        false
    }

    /// Writes one summary. Fails with `requestCancelled` once the occasion is cancelled, with
    /// `summarizerFailed` or `summaryRejected` otherwise. Dropping the future ends the work.
    async fn summarize(&self, job: SummaryJob, occasion: &Occasion) -> Result<SummaryText, RpcError>;
}

/// Summarizers in the order in which they are asked: the next one writes where one fails.
pub type Chain = Vec<Arc<dyn Summarizer>>;

/// Names of the summarizers that can be chosen with these merged settings: those that need no model
/// of their own, the providers, and the models that the settings define.
pub fn names(settings: &Value) -> Vec<&str> {
    ["extractive", "host"].into_iter().chain(configuration::model_names(settings)).collect()
}

/// The summarizers that a call names, or else the settings. `path` is that of the parameter.
///
/// Fails with `invalidParams` where a name is unknown, or is `host` and the client does not answer
/// `summarize`. A configured chain goes on without such a `host`, since the same settings serve
/// clients that do.
pub fn chain(given: Option<&SummarizerChoice>, settings: &Settings, server: &Server) -> Result<Chain, RpcError> {
    let names = match given {
        Some(choice) => choice.names(),
        None => settings.summarizers(),
    };
    if names.is_empty() {
        return Err(RpcError::invalid_params("summarizer", "a name, or a list of at least one name"));
    }
    let is_lenient = given.is_none() && names.len() > 1;
    let client_summarizes = server.configuration()?.client_summarizes;
    let names = names.into_iter().filter(|name| !(is_lenient && name == "host" && !client_summarizes));
    names.map(|name| by_name(&name, settings, server)).collect()
}

fn by_name(name: &str, settings: &Settings, server: &Server) -> Result<Arc<dyn Summarizer>, RpcError> {
    let wrong = |expected: String| Err(RpcError::invalid_params("summarizer", expected));
    match name {
        extractive::NAME => Ok(Arc::new(Extractive)),
        "host" if server.configuration()?.client_summarizes => {
            let host = Host::new(settings, server.configuration()?.client_continues);
            Ok(Arc::new(Modelled::new("host", Arc::new(host), settings)))
        }
        "host" => wrong("a summarizer other than host: the client does not offer summarize".to_owned()),
        _ if names(settings.as_json()).contains(&name) => {
            Ok(Arc::new(Modelled::new(name, providers::model(name, settings, &server.printed_keys)?, settings)))
        }
        _ => wrong(format!("one of: {}", names(settings.as_json()).join(", "))),
    }
}
