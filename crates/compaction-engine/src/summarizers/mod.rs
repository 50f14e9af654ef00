//! Summarizers: who writes a summary. Each is behind one trait, so that a call can choose.

mod collected;
mod engine;
pub(crate) mod extractive;
mod host;

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

use crate::error::EngineError;
use crate::host::{Host, OperationKind, Question};
use crate::models::providers::{self, PrintedKeys};
use crate::models::{Conversation, MissedCaches, ModelLimits, RequestContext, RequestReport};
use crate::progress::Progress;
use crate::redaction::Redactions;
use crate::settings::{Settings, summarizer_names};

pub use collected::Collected;
pub use engine::Modelled;
pub use extractive::Extractive;
use host::HostModel;

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

/// On whose behalf a summary is written.
#[derive(Debug, Clone)]
pub struct Occasion {
    /// The session and the operation.
    pub context: RequestContext,
    /// Cancelled when the operation ends early.
    pub cancel: CancellationToken,
    /// When the operation has to be over.
    pub deadline: Instant,
    /// How the host hears of it.
    pub(crate) progress: Arc<Progress>,
}

impl Occasion {
    /// The occasion of an operation that makes `requests` requests, as far as is known, and has to be over by
    /// `deadline`.
    pub fn new(
        host: &Arc<dyn Host>,
        operation: OperationKind,
        context: RequestContext,
        requests: u32,
        deadline: Instant,
    ) -> Self {
        let progress = Arc::new(Progress::new(host, operation, &context, requests));
        Self { context, cancel: CancellationToken::new(), deadline, progress }
    }
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

    /// Writes one summary. Fails with [`EngineError::Cancelled`] once the occasion is cancelled, with
    /// an error of the summarizer or of its summary otherwise. Dropping the future ends the work.
    async fn summarize(&self, job: SummaryJob, occasion: &Occasion) -> Result<SummaryText, EngineError>;
}

/// Summarizers in the order in which they are asked: the next one writes where one fails.
pub type Chain = Vec<Arc<dyn Summarizer>>;

/// The summarizers that a call names, or else the settings.
///
/// Fails with [`EngineError::InvalidArgument`] where a name is unknown, or is `host` and the host has no
/// model. A configured chain goes on without such a `host`, since the same settings serve hosts that have
/// one.
pub(crate) fn chain(
    given: Option<&[String]>,
    settings: &Settings,
    host: &Arc<dyn Host>,
    printed_keys: &PrintedKeys,
    missed_caches: &Arc<MissedCaches>,
) -> Result<Chain, EngineError> {
    let names = given.map_or_else(|| settings.summarizers(), <[String]>::to_vec);
    if names.is_empty() {
        return Err(EngineError::invalid_argument("summarizer", "a name, or a list of at least one name"));
    }
    let is_lenient = given.is_none() && names.len() > 1;
    let host_summarizes = host.answers(Question::Summary);
    let names = names.into_iter().filter(|name| !(is_lenient && name == "host" && !host_summarizes));
    names.map(|name| by_name(&name, settings, host, printed_keys, missed_caches)).collect()
}

fn by_name(
    name: &str,
    settings: &Settings,
    host: &Arc<dyn Host>,
    printed_keys: &PrintedKeys,
    missed_caches: &Arc<MissedCaches>,
) -> Result<Arc<dyn Summarizer>, EngineError> {
    let wrong = |expected: String| Err(EngineError::invalid_argument("summarizer", expected));
    match name {
        extractive::NAME => Ok(Arc::new(Extractive)),
        "host" if host.answers(Question::Summary) => {
            let model = Arc::new(HostModel::new(Arc::clone(host), settings));
            Ok(Arc::new(Modelled::new("host", model, settings).noting(missed_caches)))
        }
        "host" => wrong("a summarizer other than host: the client does not offer summarize".to_owned()),
        _ if summarizer_names(settings.as_json()).contains(&name) => {
            let model = providers::model(name, settings.as_json(), printed_keys)?;
            Ok(Arc::new(Modelled::new(name, model, settings).noting(missed_caches)))
        }
        _ => wrong(format!("one of: {}", summarizer_names(settings.as_json()).join(", "))),
    }
}
