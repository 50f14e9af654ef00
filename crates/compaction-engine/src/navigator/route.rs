//! The way of a navigation through the tree.

use std::collections::HashSet;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryBody, EntryId};
use compaction_core::file_operations::FileTools;
use compaction_core::navigation::{BranchPreparation, Destination};
use session_store::{Session, StoreError};

use crate::context::project;
use crate::error::EngineError;
use crate::session::OpenSession;

/// Custom type of the entries by which a navigation without a summary is kept (docs/session-format.md,
/// "Entries of our own").
const NAVIGATION: &str = "compactd.navigation";

/// A navigation as it would go from a leaf to a target.
#[derive(Debug, Clone)]
pub struct Route {
    /// The entry to go to.
    pub target: Arc<Entry>,
    /// The leaf that is left.
    pub old_leaf_id: Option<EntryId>,
    /// The deepest entry that both paths share.
    pub common_ancestor_id: Option<EntryId>,
    /// The entries that are left, oldest first.
    pub abandoned: Vec<EntryId>,
    /// Where it leads.
    pub destination: Destination,
}

impl Route {
    /// The route from `leaf` to `target_id`.
    pub fn of(
        session: &Session,
        open: &OpenSession,
        leaf: Option<EntryId>,
        target_id: &EntryId,
    ) -> Result<Self, EngineError> {
        let store_failure = |error| open.store_failure(error);
        let target = session.entry_or_stand_in(target_id).map_err(store_failure)?;
        let common = session.common_ancestor(leaf.as_ref(), Some(target.id())).map_err(store_failure)?;
        let path = session.branch_ids(leaf.as_ref()).map_err(store_failure)?;
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
    pub fn is_there(&self, session: &Session) -> Result<bool, StoreError> {
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
    pub fn editor_text(&self) -> Option<String> {
        let is_leaf = self.old_leaf_id.as_ref() == Some(self.target.id());
        self.destination.editor_text.clone().filter(|_| !is_leaf)
    }

    /// What a summary of the abandoned entries is made from: of their messages the newest that fit
    /// `budget` tokens.
    pub fn branch_preparation(
        &self,
        session: &Session,
        open: &OpenSession,
        budget: Option<u64>,
        tools: &FileTools,
    ) -> Result<BranchPreparation, EngineError> {
        let projection = project(session, open, self.old_leaf_id.as_ref())?;
        let ids: HashSet<&EntryId> = self.abandoned.iter().collect();
        let branch = session.branch_entries(self.old_leaf_id.as_ref()).map_err(|error| open.store_failure(error))?;
        let abandoned: Vec<Arc<Entry>> = branch.into_iter().filter(|entry| ids.contains(entry.id())).collect();
        Ok(BranchPreparation::of(&projection, &abandoned, budget, tools))
    }
}
