//! `undoCompaction`.

use compaction_core::entry::EntryId;
use compaction_engine::Event;
use session_store::Undo;
use tokio_util::sync::CancellationToken;

use super::entries::entry_not_found;
use crate::call::CallContext;
use crate::errors::RpcError;
use crate::session::{SessionAccess, StoreErrors as _};
use crate::wire::*;

/// Brings back the context that a compaction has made small.
pub(crate) async fn undo(call: CallContext, params: UndoCompactionParams) -> Result<UndoCompactionResult, RpcError> {
    let parent = call.cancel.clone();
    call.write(move |access| undo_in_turn(access, params.entry_id.map(EntryId::new), &parent)).await
}

fn undo_in_turn(
    access: &mut SessionAccess<'_>,
    compaction_id: Option<EntryId>,
    parent: &CancellationToken,
) -> Result<UndoCompactionResult, RpcError> {
    let _guard = access.claim(parent)?;
    let undo = plan(access, compaction_id.as_ref())?;
    access.append_all_with(|session| session.undo(&undo))?;
    let leaf_id = access.leaf_id();
    access.notify(Event::LeafChanged {
        session_id: access.open().id.clone(),
        leaf_id: leaf_id.clone(),
        old_leaf_id: Some(undo.leaf_id.clone()),
    });
    let replayed = undo.replayed.iter().map(|(from, to)| ReplayedEntry { from: from.to_string(), to: to.to_string() });
    Ok(UndoCompactionResult {
        leaf_id: leaf_id.map(|id| id.to_string()).unwrap_or_default(),
        old_leaf_id: undo.leaf_id.to_string(),
        undone_entry_id: undo.compaction_id.to_string(),
        replayed: replayed.collect(),
    })
}

fn plan(access: &SessionAccess<'_>, compaction_id: Option<&EntryId>) -> Result<Undo, RpcError> {
    let (session, open) = (access.session(), access.open());
    let store_error = |error| open.store_error(&error);
    if let Some(id) = compaction_id {
        session.entry_header(id).map_err(store_error)?.ok_or_else(|| entry_not_found(open, id))?;
    }
    let expected = match compaction_id {
        Some(_) => "a compaction on the path to the leaf",
        None => "a session with a compaction on the path to its leaf",
    };
    let undo = session.plan_undo(compaction_id).map_err(store_error)?;
    undo.ok_or_else(|| RpcError::invalid_params("entryId", expected))
}
