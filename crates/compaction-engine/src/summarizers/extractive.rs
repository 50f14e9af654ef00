//! The summarizer that needs no model: see `compaction_core::extractive`.

use async_trait::async_trait;
use compaction_core::extractive::{ExtractiveInput, MINIMUM_TOKENS, Style, render_messages, summarize};

use super::{Occasion, Summarizer, SummaryJob, SummaryText};
use crate::error::EngineError;
use crate::models::ModelLimits;
use crate::threads::blocking;

/// The name of the summarizer without a model.
pub(crate) const NAME: &str = "extractive";

/// Fills the summary format from the conversation itself.
#[derive(Debug, Clone, Copy)]
pub struct Extractive;

#[async_trait]
impl Summarizer for Extractive {
    fn name(&self) -> &str {
        NAME
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits::default()
    }

    fn is_local(&self) -> bool {
        true
    }

    async fn summarize(&self, job: SummaryJob, occasion: &Occasion) -> Result<SummaryText, EngineError> {
        occasion.progress.begin_request();
        let cancel = occasion.cancel.clone();
        let ledgers = match &job.collected {
            Some(collected) => Some(collected.ledgers().await?),
            None => None,
        };
        blocking(move || {
            let kind = job.kind.summary_kind();
            let style = Style {
                custom_instructions: job.custom_instructions.as_deref(),
                // A summary that is not clearly smaller than what it replaces would be in vain.
                max_tokens: job.local_tokens.min(job.tokens() / 2).max(MINIMUM_TOKENS),
                citations: job.citations,
            };
            let text = match ledgers {
                Some(ledgers) => render_messages(&ledgers.first, &job.messages, kind, &style),
                None => {
                    let input = ExtractiveInput {
                        kind,
                        messages: &job.messages,
                        previous_ledger: job.previous_ledger.as_deref(),
                        previous_summary: job.previous_summary.as_deref(),
                        tools: &job.file_tools,
                        style,
                    };
                    summarize(&input, &|| cancel.is_cancelled()).map_err(|_| EngineError::Cancelled)?
                }
            };
            Ok(SummaryText { text, attempts: 1, ..SummaryText::default() })
        })
        .await
    }
}
