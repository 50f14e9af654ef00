//! The context of a branch: its projection, its pinned entries, and the state that a compaction records.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::pins::{self, Pins};
use compaction_core::preparation::{ChosenCutError, Preparation, Refusal};
use compaction_core::projection::{Branch as _, PathState, Projection};
use session_store::{Session, StoreError};

use crate::error::EngineError;
use crate::session::{SessionAccess, SessionView};

impl SessionView<'_> {
    /// The context that the model sees at `leaf`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn project(self, leaf: Option<&EntryId>) -> Result<Arc<Projection>, EngineError> {
        Ok(self.read(|session| session.context(leaf))?.projection)
    }

    /// The context that the model sees at the present leaf.
    ///
    /// # Errors
    /// Those of the store.
    pub fn project_leaf(self) -> Result<Arc<Projection>, EngineError> {
        self.project(self.session.leaf_id())
    }

    /// The pinned entries of the branch that ends at `leaf`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn pins(self, leaf: Option<&EntryId>) -> Result<Pins, EngineError> {
        self.read(|session| session.pins(leaf))
    }

    /// The pinned entries of the present branch.
    ///
    /// # Errors
    /// Those of the store.
    pub fn leaf_pins(self) -> Result<Pins, EngineError> {
        self.pins(self.session.leaf_id())
    }

    /// A preparation at a cut that the caller chose. The inner error says why nothing is compacted.
    ///
    /// # Errors
    /// [`EngineError::EntryNotFound`] and [`EngineError::InvalidArgument`] where the context cannot be cut there.
    pub(crate) fn chosen_cut(
        self,
        first_kept: &EntryId,
        prepared: Result<Preparation, ChosenCutError>,
    ) -> Result<Result<Preparation, Refusal>, EngineError> {
        let invalid = match prepared {
            Ok(preparation) => return Ok(Ok(preparation)),
            Err(ChosenCutError::Refused(refusal)) => return Ok(Err(refusal)),
            Err(ChosenCutError::Invalid(invalid)) => invalid,
        };
        self.header(first_kept)?;
        let expected = format!("an entry where the context can be cut; cannot {invalid}");
        Err(EngineError::invalid_argument("firstKeptEntryId", expected))
    }
}

/// The details of a compaction whose parent will be `parent_id`, with the model, the thinking level and the pins at
/// the leaf.
pub(crate) fn with_path_state(
    access: &SessionAccess<'_>,
    details: &str,
    parent_id: Option<&EntryId>,
    pinned: Vec<EntryId>,
) -> Result<String, EngineError> {
    let (Some(leaf), Some(parent_id)) = (access.session().leaf_id(), parent_id) else {
        return Ok(details.to_owned());
    };
    let projection = access.view().project(Some(leaf))?;
    Ok(PathState::of(&projection, parent_id).with_pinned(pinned).add_to(details))
}

/// `summary` with the pinned entries that the compaction evicts, if the branch is kept from `first_kept` on. An id
/// that is not on the branch keeps nothing. A given summary stays as it is and gets only the pinned entries that it
/// lacks.
pub(crate) fn with_pinned_entries(
    access: &SessionAccess<'_>,
    summary: &str,
    pins: &Pins,
    first_kept: &EntryId,
    is_given: bool,
) -> Result<String, EngineError> {
    if pins.entries().is_empty() {
        return Ok(summary.to_owned());
    }
    let first_kept_depth = access.view().read(|session| depth_of(session, first_kept))?;
    let evicted = pins.evicted(first_kept_depth);
    let missing = evicted.filter(|pinned| !is_given || !pinned.is_in(summary));
    Ok(pins::add_pinned_entries(summary, missing))
}

/// Distance of an entry from the leaf; `None` if it is not on the branch.
fn depth_of(session: &Session, id: &EntryId) -> Result<Option<usize>, StoreError> {
    let mut branch = session.branch(session.leaf_id())?;
    let mut depth = 0;
    while let Some(header) = branch.header(depth)? {
        if header.id == *id {
            return Ok(Some(depth));
        }
        depth += 1;
    }
    Ok(None)
}
