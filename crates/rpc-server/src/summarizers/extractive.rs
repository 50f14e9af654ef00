//! The summarizer that needs no model: see `compaction_core::extractive`.

use async_trait::async_trait;
use compaction_core::extractive::{ExtractiveInput, summarize};

use super::{Occasion, Summarizer, SummaryJob, SummaryText};
use crate::call::blocking;
use crate::errors::RpcError;
use crate::settings::Settings;

/// Fills the summary format from the conversation itself.
#[derive(Debug, Clone, Copy)]
pub struct Extractive;

#[async_trait]
impl Summarizer for Extractive {
    fn name(&self) -> &'static str {
        "extractive"
    }

    fn context_window(&self, _: &Settings) -> Option<u64> {
        None
    }

    async fn summarize(&self, job: SummaryJob, occasion: &Occasion) -> Result<SummaryText, RpcError> {
        let cancel = occasion.cancel.clone();
        blocking(move || {
            let input = ExtractiveInput {
                kind: job.kind.summary_kind(),
                messages: &job.messages,
                previous_summary: job.previous_summary.as_deref(),
                custom_instructions: job.custom_instructions.as_deref(),
                max_tokens: job.max_tokens(),
            };
            let text = summarize(&input, &|| cancel.is_cancelled()).map_err(|_| RpcError::Cancelled)?;
            Ok(SummaryText { text, usage: None, attempts: 1 })
        })
        .await
    }
}
