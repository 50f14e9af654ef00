//! The public operations of the engine.

use std::sync::Arc;

use compaction_core::entry::Entry;
use tokio::sync::OwnedRwLockWriteGuard;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::auto_compaction::AppendOutcome;
use crate::compactor::{BegunCompaction, CompactionRequest, Order};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::host::{Compaction, Navigation};
use crate::navigator::{BegunNavigation, NavigationRequest};
use crate::session::{OpenSession, SessionAccess, Slot, change};
use crate::settings::Settings;
use crate::summarizers::Chain;
use crate::{auto_compaction, compactor, navigator, summarizers};

/// An open session together with the lock that allows changing it.
pub type SessionTurn = (Arc<OpenSession>, OwnedRwLockWriteGuard<Slot>);

impl Engine {
    /// The summarizers that a caller names, or else those of the settings, in the order in which they are asked.
    ///
    /// # Errors
    /// [`EngineError::InvalidArgument`] where a name is unknown, or is `host` and the host has no model;
    /// [`EngineError::InvalidSettings`] where the settings of a model are wrong or incomplete.
    pub fn summarizers(&self, given: Option<&[String]>, settings: &Settings) -> Result<Chain, EngineError> {
        summarizers::chain(given, settings, &self.host, &self.printed_keys, &self.missed_caches)
    }

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
        let turn = Arc::clone(&session.slot).write_owned().await;
        let turn = (Arc::clone(session), turn);
        let begun = self.begin_compaction(turn, request, &settings, chain, self.closing.clone()).await?;
        ended(self.start_compaction(begun), "compaction").await
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
            let order = Order::manual(&access.open().id, request, settings, model.as_ref());
            compactor::begin(access, &Arc::new(order), chain, &parent)
        };
        change(Arc::clone(self), session, turn, begin).await
    }

    /// Runs a compaction that was begun. It continues, and the host is notified, even if nobody awaits the handle.
    pub fn start_compaction(
        self: &Arc<Self>,
        begun: BegunCompaction,
    ) -> JoinHandle<Result<Arc<Compaction>, EngineError>> {
        auto_compaction::start(self, begun)
    }

    /// Claims a session for a navigation while the caller holds the session's lock. If there is no hook and nothing
    /// to summarise, the leaf moves at once. Cancelling `parent` cancels the navigation. `request_cancel` is the
    /// caller's own token: if the caller cancelled its request, the outcome is an error; any other cancellation is a
    /// result. A wrong summary ends the navigation later; [`NavigationRequest::check`] finds it before.
    ///
    /// # Errors
    /// Why the session cannot move there now.
    pub async fn begin_navigation(
        self: &Arc<Self>,
        turn: SessionTurn,
        request: NavigationRequest,
        settings: &Settings,
        chain: Chain,
        parent: CancellationToken,
        request_cancel: CancellationToken,
    ) -> Result<BegunNavigation, EngineError> {
        navigator::begin(self, turn, request, settings, chain, (parent, request_cancel)).await
    }

    /// Runs the rest of a navigation that was begun. It continues, and the host is notified, even if nobody awaits
    /// the handle.
    pub fn start_navigation(self: &Arc<Self>, begun: BegunNavigation) -> JoinHandle<Result<Navigation, EngineError>> {
        auto_compaction::start(self, begun)
    }

    /// Checks whether `entry`, which was just appended under the session's lock, makes a compaction due, and begins
    /// it. A failure here does not fail the append.
    pub fn after_append(access: &mut SessionAccess<'_>, entry: &Entry) -> AppendOutcome {
        auto_compaction::after_append(access, entry)
    }

    /// Checks again whether a compaction is due, if messages were appended while another operation ran.
    pub async fn check_again(self: &Arc<Self>, session: &Arc<OpenSession>) {
        auto_compaction::check_again(self, session).await;
    }

    /// Checks whether the context is too large, because a new model may have a smaller window.
    pub async fn check_size(self: &Arc<Self>, session: &Arc<OpenSession>) {
        auto_compaction::check_size(self, session).await;
    }
}

async fn ended<T>(running: JoinHandle<Result<T, EngineError>>, what: &str) -> Result<T, EngineError> {
    running.await.map_err(|error| EngineError::internal(format!("the {what} ended early: {error}")))?
}
