//! The engine: the state that all operations share.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::EngineError;
use crate::host::{Host, NoHost};
use crate::models::MissedCaches;
use crate::models::providers::PrintedKeys;
use crate::settings::{Settings, SettingsLayers};
use crate::threads::blocking;

/// Compacts sessions on behalf of a host.
#[derive(Debug)]
pub struct Engine {
    pub(crate) host: Arc<dyn Host>,
    settings: SettingsLayers,
    /// Keys that programs printed for summarizers.
    pub(crate) printed_keys: PrintedKeys,
    /// Summarizers whose provider had not cached a conversation that they continued.
    pub(crate) missed_caches: Arc<MissedCaches>,
    /// Cancelled at shutdown: no operation begins any more, and running ones end.
    pub(crate) closing: CancellationToken,
    /// The running compactions and navigations.
    pub(crate) operations: TaskTracker,
    pub(crate) is_automatic: bool,
}

impl Engine {
    /// An engine for `host` with these settings. Cancelling `closing` ends all operations.
    pub fn new(host: Arc<dyn Host>, settings: SettingsLayers, closing: CancellationToken) -> Self {
        let (printed_keys, operations) = (PrintedKeys::default(), TaskTracker::new());
        let missed_caches = Arc::default();
        Self { host, settings, printed_keys, missed_caches, closing, operations, is_automatic: true }
    }

    /// An engine with these settings and without a host.
    pub fn without_host(settings: &Settings) -> Self {
        Self::new(Arc::new(NoHost), SettingsLayers::without_files(settings), CancellationToken::new())
    }

    /// The same engine, which starts automatic compactions only if `is_automatic`.
    #[must_use]
    pub fn automatic(self, is_automatic: bool) -> Self {
        Self { is_automatic, ..self }
    }

    /// The layers of the settings.
    pub fn layers(&self) -> &SettingsLayers {
        &self.settings
    }

    /// The current settings. This function checks the settings files and belongs on a thread for blocking work; a
    /// task uses [`Engine::settings_now`]. An operation reads the settings once and keeps them.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.current()
    }

    /// The current settings, for a task.
    ///
    /// # Errors
    /// [`EngineError::Internal`] where the worker thread ends early.
    pub async fn settings_now(self: &Arc<Self>) -> Result<Arc<Settings>, EngineError> {
        let engine = Arc::clone(self);
        blocking(move || Ok(engine.settings())).await
    }

    /// Waits until no operation runs. No operation must begin afterwards.
    pub async fn operations_ended(&self) {
        self.operations.close();
        self.operations.wait().await;
    }
}
