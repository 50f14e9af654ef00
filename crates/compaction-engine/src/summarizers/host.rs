//! The model that is the host's: no key is needed here (protocol spec, From server to client).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;

use crate::host::Host;
use crate::models::{Answer, Model, ModelError, ModelLimits, OnDelta, RequestContext};
use crate::settings::Settings;

/// Asks the host.
#[derive(Debug)]
pub(super) struct HostModel {
    host: Arc<dyn Host>,
    context_window: u64,
    timeout: Duration,
}

impl HostModel {
    /// The host's model as the settings describe it.
    pub(super) fn new(host: Arc<dyn Host>, settings: &Settings) -> Self {
        Self { host, context_window: settings.summarize_window(), timeout: settings.summarize_timeout() }
    }
}

#[async_trait]
impl Model for HostModel {
    fn limits(&self) -> ModelLimits {
        ModelLimits { context_window: Some(self.context_window), max_output_tokens: None }
    }

    /// The host tries again by itself as it sees fit: its error is final (protocol spec, From server
    /// to client).
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
}
