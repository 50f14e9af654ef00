//! `forkSession`.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::navigation::Destination;
use compaction_engine::EngineError;
use compaction_engine::host::Decision;
use tokio::sync::OwnedRwLockReadGuard;

use super::sessions::add;
use crate::call::{CallContext, blocking_in};
use crate::client_host::{BEFORE_FORK, before_fork};
use crate::errors::RpcError;
use crate::session::{OpenSession, Slot, StoreErrors as _};
use crate::ticket::OpeningTurn;
use crate::wire::*;

/// Copies one branch of a session into a new file and opens it.
pub(crate) async fn fork(call: CallContext, params: ForkSessionParams) -> Result<OpenSessionResult, RpcError> {
    let (server, session_id) = (Arc::clone(&call.server), params.session_id.clone());
    let forked = fork_claimed(call, params).await;
    // Messages that came while the hook thought may have made a compaction due.
    if let Some(session) = server.sessions.get(&session_id) {
        server.engine()?.check_again(&session).await;
    }
    forked
}

async fn fork_claimed(call: CallContext, params: ForkSessionParams) -> Result<OpenSessionResult, RpcError> {
    let turn = call.opening_turn().await?;
    let (open, slot) = call.read_guard(&params.session_id).await?;
    let operation = open.begin_fork(&call.cancel)?;
    if call.was_aborted() {
        operation.cancel.cancel();
    }
    let (turn, slot) = match call.server.has_hook(BEFORE_FORK) {
        false => (turn, slot),
        true => {
            // The client may well open a session while it thinks about this one.
            drop((turn, slot));
            operation.unless_cancelled(allowed_by_hook(&call, &params, &open)).await?
        }
    };
    let server = Arc::clone(&call.server);
    blocking_in(open.is_quick(), move || {
        let _held = (operation, turn);
        let session = open.opened(slot.as_ref())?;
        let target_id = EntryId::new(params.entry_id);
        let target = session.entry_or_stand_in(&target_id).map_err(|error| open.store_error(&error))?;
        let destination = Destination::of(&target);
        let (leaf, editor_text) = match params.position {
            ForkPosition::At => (Some(target.id().clone()), None),
            ForkPosition::Before => (target.header().parent_id.clone(), destination.editor_text),
        };
        let fork = open.store.fork(session, leaf.as_ref()).map_err(|error| open.store_error(&error))?;
        add(&server, &open.store, fork, editor_text)
    })
    .await
}

/// Asks the hook, and waits for the turn to add a session and to read the one that is forked.
async fn allowed_by_hook(
    call: &CallContext,
    params: &ForkSessionParams,
    open: &OpenSession,
) -> Result<(OpeningTurn, OwnedRwLockReadGuard<Slot>), RpcError> {
    let question = SessionBeforeFork {
        session_id: params.session_id.clone(),
        entry_id: params.entry_id.clone(),
        position: params.position,
    };
    let limit = call.server.settings_now().await?.hook_timeout();
    match before_fork(call.server.ask(BEFORE_FORK, &question, limit).await)? {
        Decision::Cancel => Err(EngineError::CancelledByHook.into()),
        Decision::Go(()) => {
            let turn = OpeningTurn::again(&call.server).await;
            Ok((turn, Arc::clone(&open.slot).read_owned().await))
        }
    }
}
