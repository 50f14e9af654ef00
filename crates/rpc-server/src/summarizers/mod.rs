//! Summarizers: who writes a summary. Each is behind one trait, so that a call can choose.

mod extractive;

use std::sync::Arc;

use async_trait::async_trait;
use compaction_core::message::Message;
use compaction_core::summary::SummaryKind;
use tokio_util::sync::CancellationToken;

use crate::errors::RpcError;

pub use extractive::Extractive;

/// One summary to write.
#[derive(Debug, Clone)]
pub struct SummaryJob {
    /// What it stands for.
    pub kind: SummaryKind,
    /// The messages, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// The summary to update.
    pub previous_summary: Option<String>,
    /// What the summary should look at.
    pub custom_instructions: Option<String>,
    /// Output tokens at most.
    pub max_tokens: u64,
}

/// Writes summaries.
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// The name by which settings and calls choose it.
    fn name(&self) -> &'static str;

    /// Writes one summary. Fails with `requestCancelled` once `cancel` is cancelled, with
    /// `summarizerFailed` or `summaryRejected` otherwise.
    async fn summarize(&self, job: SummaryJob, cancel: &CancellationToken) -> Result<String, RpcError>;
}

/// Names of the summarizers that this server has.
pub const NAMES: &[&str] = &["extractive"];

/// The summarizer with this name; `path` is that of the parameter.
pub fn by_name(name: &str, path: &str) -> Result<Arc<dyn Summarizer>, RpcError> {
    match name {
        "extractive" => Ok(Arc::new(Extractive)),
        _ => Err(RpcError::invalid_params(path, format!("one of: {}", NAMES.join(", ")))),
    }
}
