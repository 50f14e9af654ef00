//! The operations of the engine, as callers have them.

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

/// An open session with the right to change it.
pub type SessionTurn = (Arc<OpenSession>, OwnedRwLockWriteGuard<Slot>);

impl Engine {
    /// The summarizers that a caller names, or else the settings, in the order in which they are asked.
    ///
    /// # Errors
    /// [`EngineError::InvalidArgument`] where a name is unknown, or is `host` and the host has no model;
    /// [`EngineError::InvalidSettings`] where a model cannot be made from what the settings say.
    pub fn summarizers(&self, given: Option<&[String]>, settings: &Settings) -> Result<Chain, EngineError> {
        summarizers::chain(given, settings, &self.host, &self.printed_keys, &self.missed_caches)
    }

    /// Puts a summary in the place of the older part of a session's context, with the settings in force.
    ///
    /// # Errors
    /// Why there is nothing to compact, why there is no summary, or why it was not written.
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

    /// Claims a session and prepares its compaction, in a turn of the session. `parent` cancels it.
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

    /// Starts the work on a compaction that was begun. It goes on, and is told of, whether or not somebody waits.
    pub fn start_compaction(
        self: &Arc<Self>,
        begun: BegunCompaction,
    ) -> JoinHandle<Result<Arc<Compaction>, EngineError>> {
        auto_compaction::start(self, begun)
    }

    /// Claims a session for a navigation, in a turn of the session. Without a hook, and where nothing is to be
    /// summarised, the leaf moves at once. `parent` cancels it, and `request_cancel` tells whether its caller did:
    /// that is an error then, and a result where somebody else has ended it.
    ///
    /// # Errors
    /// Why the session cannot go there now.
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

    /// Starts what is left of a navigation that was begun. It goes on, and is told of, whether or not somebody
    /// waits.
    pub fn start_navigation(self: &Arc<Self>, begun: BegunNavigation) -> JoinHandle<Result<Navigation, EngineError>> {
        auto_compaction::start(self, begun)
    }

    /// Asks, in the session's turn, whether `entry`, which was just appended, makes a compaction due, and begins
    /// it. What goes wrong here is no reason to fail the append.
    pub fn after_append(access: &mut SessionAccess<'_>, entry: &Entry) -> AppendOutcome {
        auto_compaction::after_append(access, entry)
    }

    /// Asks once more whether a compaction is due, if messages came while another operation ran.
    pub async fn check_again(self: &Arc<Self>, session: &Arc<OpenSession>) {
        auto_compaction::check_again(self, session).await;
    }

    /// Asks whether the context is too large, as another model may have a smaller window.
    pub async fn check_size(self: &Arc<Self>, session: &Arc<OpenSession>) {
        auto_compaction::check_size(self, session).await;
    }
}

/// The outcome of an operation, once it has ended.
async fn ended<T>(running: JoinHandle<Result<T, EngineError>>, what: &str) -> Result<T, EngineError> {
    running.await.map_err(|error| EngineError::internal(format!("the {what} ended early: {error}")))?
}
