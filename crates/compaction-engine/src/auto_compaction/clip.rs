//! Tool results that are larger than the window: they are shortened in the context, at once and by edits,
//! since no summary makes room for them.

use std::sync::Arc;

use compaction_core::clipping::{Clip, clip_tail};
use compaction_core::projection::Projection;
use compaction_core::trigger;
use session_store::{NewEntry, Parent, Precondition};

use crate::compactor::{self, Order};
use crate::context::project;
use crate::error::EngineError;
use crate::host::ClippedResult;
use crate::session::SessionAccess;

/// What shortening came to.
pub(super) enum Clipped {
    /// There is no result that is too large by itself.
    Nothing,
    /// The context fits now, and the host was told so.
    Enough {
        /// Names the operation in events.
        operation_id: String,
        /// What was shortened.
        clipped: Vec<ClippedResult>,
    },
    /// It has to be compacted besides.
    Some {
        /// What was shortened.
        clipped: Vec<ClippedResult>,
        /// The context afterwards.
        projection: Arc<Projection>,
    },
}

/// Shortens the results at the end of the context that leave no compaction enough room. Where that is
/// enough, the attempt that failed is hidden as well, and nothing has to be summarised.
pub(super) fn clip(
    access: &mut SessionAccess<'_>,
    projection: &Arc<Projection>,
    order: &Order,
) -> Result<Clipped, EngineError> {
    let Some(tail) = order.tail(projection, access.session().leaf_id()) else {
        return Ok(Clipped::Nothing);
    };
    let hidden = order.hidden(projection);
    let clips = clip_tail(&projection.hiding(&hidden), tail.first_kept.as_ref(), tail.room);
    if clips.is_empty() {
        return Ok(Clipped::Nothing);
    }
    access.check_writable()?;
    let saved: u64 = clips.iter().map(|clip| clip.tokens_before - clip.tokens_after).sum();
    let is_enough = tail.fits_without(saved);
    let mut edits: Vec<String> = clips.iter().map(Clip::members).collect();
    if is_enough {
        edits.extend(hidden.iter().map(compactor::hiding));
    }
    let new: Vec<NewEntry<'_>> = edits.iter().map(|edit| compactor::new_edit(access, edit)).collect();
    access.append_all_with(|session| session.append_all(&new, Parent::Leaf, &Precondition::None))?;
    let clipped: Vec<ClippedResult> = clips.into_iter().map(told).collect();
    let after = project(access.session(), access.open(), access.session().leaf_id())?;
    if !is_enough {
        return Ok(Clipped::Some { clipped, projection: after });
    }
    let is_unfinished = trigger::is_unfinished(&after);
    let operation_id = compactor::tell_clipped(access.engine(), order, tail.tokens, &clipped, is_unfinished);
    Ok(Clipped::Enough { operation_id, clipped })
}

fn told(clip: Clip) -> ClippedResult {
    let Clip { entry_id, tokens_before, tokens_after, .. } = clip;
    ClippedResult { entry_id, tokens_before, tokens_after }
}
