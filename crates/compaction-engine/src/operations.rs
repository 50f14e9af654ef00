//! The public operations of the engine.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::compactor::{BegunCompaction, CompactionRequest, Order};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::host::{Compaction, Navigation};
use crate::navigator::{BegunNavigation, NavigationEvents, NavigationRequest};
use crate::session::{OpenSession, SessionAccess, WriteGuard, change};
use crate::settings::Settings;
use crate::summarizers::Chain;
use crate::{auto_compaction, structural_operation};

/// An open session together with the lock that allows changing it.
pub type SessionTurn = (Arc<OpenSession>, WriteGuard);

impl Engine {
    /// Replaces the older part of a session's context with a summary, with the current settings.
    ///
    /// # Errors
    /// Why there is nothing to compact, why there is no summary, or why it could not be stored.
    pub async fn compact(
        self: &Arc<Self>,
        session: &Arc<OpenSession>,
        request: CompactionRequest,
    ) -> Result<Arc<Compaction>, EngineError> {
        let settings = self.settings_now().await?;
        let chain = self.summarizers(None, &settings)?;
        let turn = (Arc::clone(session), session.write().await);
        let begun = self.begin_compaction(turn, request, &settings, chain, self.closing.clone()).await?;
        self.start_compaction(begun).await
    }

    /// Claims a session and prepares its compaction while the caller holds the session's lock. Cancelling `parent`
    /// cancels the compaction.
    ///
    /// # Errors
    /// Why there is nothing to compact, or why the session cannot be compacted now.
    pub async fn begin_compaction(
        self: &Arc<Self>,
        (session, turn): SessionTurn,
        request: CompactionRequest,
        settings: &Settings,
        chain: Chain,
        parent: CancellationToken,
    ) -> Result<BegunCompaction, EngineError> {
        let settings = settings.clone();
        let begin = move |access: &mut SessionAccess<'_>| {
            let model = access.open().auto_compaction.effective_model();
            let order = Order::manual(&access.open().id, request, settings.clone(), model.as_ref());
            structural_operation::begin(access, Arc::new(order), settings, chain, &parent)
        };
        change(Arc::clone(self), session, turn, begin).await
    }

    /// Runs a compaction that was begun. It continues, and the host is notified, even if nobody awaits the outcome.
    pub fn start_compaction(
        self: &Arc<Self>,
        begun: BegunCompaction,
    ) -> impl Future<Output = Result<Arc<Compaction>, EngineError>> + Send + use<> {
        auto_compaction::start(self, begun)
    }

    /// Claims a session for a navigation while the caller holds the session's lock. If there is no hook and nothing
    /// to summarise, the leaf moves at once. Cancelling `parent` cancels the navigation.
    ///
    /// `request_cancel` says who cancelled. If it is cancelled too, the caller cancelled its request, and the outcome is
    /// an error. Otherwise the outcome is a navigation that was aborted. A wrong summary is an error of the running
    /// navigation. [`NavigationRequest::check`] finds it before.
    ///
    /// # Errors
    /// Why the session cannot move there now.
    pub async fn begin_navigation(
        self: &Arc<Self>,
        (session, turn): SessionTurn,
        request: NavigationRequest,
        settings: &Settings,
        chain: Chain,
        parent: CancellationToken,
        request_cancel: CancellationToken,
    ) -> Result<BegunNavigation, EngineError> {
        let events = Arc::new(NavigationEvents::new(&session.id, &request));
        let (asked, settings) = ((request, request_cancel, Arc::clone(&events)), settings.clone());
        let begin =
            move |access: &mut SessionAccess<'_>| structural_operation::begin(access, asked, settings, chain, &parent);
        let begun = change(Arc::clone(self), session, turn, begin).await;
        // A start event needs an end event, even if the disk has refused the move since.
        begun.inspect_err(|error| events.notify_end(self, &Err(error.clone()), false))
    }

    /// Runs the rest of a navigation that was begun. It continues, and the host is notified, even if nobody awaits
    /// the outcome.
    pub fn start_navigation(
        self: &Arc<Self>,
        begun: BegunNavigation,
    ) -> impl Future<Output = Result<Navigation, EngineError>> + Send + use<> {
        auto_compaction::start(self, begun)
    }
}
