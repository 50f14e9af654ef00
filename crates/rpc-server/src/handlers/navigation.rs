//! `prepareNavigation`, `navigateTree`.

use std::collections::HashSet;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryBody, EntryId};
use compaction_core::file_operations::FileTools;
use compaction_core::navigation::{BranchPreparation, Destination};
use session_store::Session;

use super::context::project;
use super::entries::branch_end;
use crate::call::CallContext;
use crate::convert;
use crate::errors::RpcError;
use crate::navigator;
use crate::session::OpenSession;
use crate::wire::*;

/// Custom type of the entries by which a navigation without a summary is kept (docs/session-format.md,
/// "Entries of our own").
const NAVIGATION: &str = "compactd.navigation";

/// A navigation as it would go from a leaf to a target.
#[derive(Debug)]
pub(crate) struct Route {
    /// The entry to go to.
    pub(crate) target: Arc<Entry>,
    /// The leaf that is left.
    pub(crate) old_leaf_id: Option<EntryId>,
    /// The deepest entry that both paths share.
    pub(crate) common_ancestor_id: Option<EntryId>,
    /// The entries that are left, oldest first.
    pub(crate) abandoned: Vec<EntryId>,
    /// Where it leads.
    pub(crate) destination: Destination,
}

impl Route {
    /// The route from `leaf` to `target_id`.
    pub(crate) fn of(
        session: &Session,
        open: &OpenSession,
        leaf: Option<EntryId>,
        target_id: &str,
    ) -> Result<Self, RpcError> {
        let store_error = |error| open.store_error(&error);
        let target = session.entry_or_stand_in(&EntryId::new(target_id)).map_err(store_error)?;
        let common = session.common_ancestor(leaf.as_ref(), Some(target.id())).map_err(store_error)?;
        let path = session.branch_ids(leaf.as_ref()).map_err(store_error)?;
        let shared = common.as_ref().and_then(|common| path.iter().position(|id| id == common));
        Ok(Self {
            destination: Destination::of(&target),
            abandoned: path[shared.map_or(0, |shared| shared + 1)..].to_vec(),
            common_ancestor_id: common,
            old_leaf_id: leaf,
            target,
        })
    }

    /// Whether the session is there already: the destination is the leaf, or the leaf is the mark
    /// of an earlier navigation to it.
    pub(crate) fn is_there(&self, session: &Session) -> Result<bool, session_store::StoreError> {
        let Some(leaf) = &self.old_leaf_id else {
            return Ok(self.destination.new_leaf_id.is_none());
        };
        if self.target.id() == leaf || self.destination.new_leaf_id.as_ref() == Some(leaf) {
            return Ok(true);
        }
        let entry = session.entry_or_stand_in(leaf)?;
        let is_mark = matches!(entry.body(), EntryBody::Custom { custom_type, .. } if custom_type == NAVIGATION);
        Ok(is_mark && entry.header().parent_id == self.destination.new_leaf_id)
    }

    /// The text to edit and send anew. A message that is the leaf stays in the context, so that its
    /// text is not handed back to be sent once more.
    pub(crate) fn editor_text(&self) -> Option<String> {
        let is_leaf = self.old_leaf_id.as_ref() == Some(self.target.id());
        self.destination.editor_text.clone().filter(|_| !is_leaf)
    }

    /// What a summary of the abandoned entries is made from: of their messages the newest that fit
    /// `budget` tokens.
    pub(crate) fn branch_preparation(
        &self,
        session: &Session,
        open: &OpenSession,
        budget: Option<u64>,
        tools: &FileTools,
    ) -> Result<BranchPreparation, RpcError> {
        let projection = project(session, open, self.old_leaf_id.as_ref())?;
        let ids: HashSet<&EntryId> = self.abandoned.iter().collect();
        let branch = session.branch_entries(self.old_leaf_id.as_ref()).map_err(|error| open.store_error(&error))?;
        let abandoned: Vec<Arc<Entry>> = branch.into_iter().filter(|entry| ids.contains(entry.id())).collect();
        Ok(BranchPreparation::of(&projection, &abandoned, budget, tools))
    }
}

/// Tells what a navigation would do.
pub(crate) async fn prepare(
    call: CallContext,
    params: PrepareNavigationParams,
) -> Result<PrepareNavigationResult, RpcError> {
    let tools = call.server.settings_now().await?.file_tools();
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let route = Route::of(session, open, leaf, &params.target_id)?;
        let preparation = route.branch_preparation(session, open, None, &tools)?;
        let is_there = route.is_there(session).map_err(|error| open.store_error(&error))?;
        let new_leaf_id = if is_there { &route.old_leaf_id } else { &route.destination.new_leaf_id };
        Ok(PrepareNavigationResult {
            target_id: route.target.id().to_string(),
            old_leaf_id: convert::id(route.old_leaf_id.as_ref()),
            common_ancestor_id: convert::id(route.common_ancestor_id.as_ref()),
            entries_to_summarize: route.abandoned.iter().map(EntryId::to_string).collect(),
            new_leaf_id: convert::id(new_leaf_id.as_ref()),
            editor_text: route.editor_text(),
            estimated_tokens: preparation.tokens,
        })
    })
    .await
}

/// Moves the leaf to another place in the tree.
pub(crate) async fn navigate(call: CallContext, params: NavigateTreeParams) -> Result<NavigateTreeResult, RpcError> {
    navigator::navigate(call, params).await
}
