//! The model that is the host's: no key is needed here (protocol/README.md, "Requests of the server").

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;

use crate::host::{Host, Question};
use crate::models::{Answer, ContinuedRequest, Continues, Model, ModelError, ModelLimits, OnDelta, RequestContext};
use crate::settings::Settings;

/// Asks the host.
#[derive(Debug)]
pub(super) struct HostModel {
    host: Arc<dyn Host>,
    context_window: u64,
    timeout: Duration,
    /// Whether the host says that it can continue its conversations.
    continues: bool,
}

impl HostModel {
    /// The host's model as the settings describe it.
    pub(super) fn new(host: Arc<dyn Host>, settings: &Settings) -> Self {
        let (context_window, timeout) = (settings.summarize_window(), settings.summarize_timeout());
        let continues = host.answers(Question::Continuation);
        Self { host, context_window, timeout, continues }
    }
}

#[async_trait]
impl Model for HostModel {
    fn limits(&self) -> ModelLimits {
        ModelLimits { context_window: Some(self.context_window), max_output_tokens: None }
    }

    /// The host tries again by itself as it sees fit: its error is final (protocol/README.md, "Requests
    /// of the server").
    fn is_retried(&self) -> bool {
        false
    }

    async fn complete(
        &self,
        request: &SummaryRequest,
        context: &RequestContext,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        self.host.summarize(context, request, self.timeout).await
    }

    fn continues(&self) -> Option<Continues> {
        self.continues.then_some(Continues::OfClient)
    }

    async fn continue_conversation(
        &self,
        request: &ContinuedRequest,
        context: &RequestContext,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        self.host.continue_conversation(context, request, self.timeout).await
    }
}
