//! `prepareNavigation`, `navigateTree`, `forkSession`: the calls that move the leaf of a session or copy one of its
//! branches.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::preparation::Destination;
use compaction_engine::host::Decision;
use compaction_engine::session::{OpenSession, ReadGuard};
use compaction_engine::{EngineError, NavigationRequest, Route};

use super::compaction::chain;
use super::read::branch_end;
use super::sessions::add;
use crate::call::{CallContext, OpeningTurn, blocking_if_long, blocking_in};
use crate::client_host::{BEFORE_FORK, before_fork};
use crate::convert;
use crate::errors::RpcError;
use crate::wire::*;

/// Copies one branch of a session into a new file and opens it.
pub(crate) async fn fork(call: CallContext, params: ForkSessionParams) -> Result<OpenSessionResult, RpcError> {
    let (server, session_id) = (Arc::clone(&call.server), params.session_id.clone());
    let forked = fork_claimed(call, params).await;
    // Messages that came while the client answered the hook may have made a compaction due.
    if let Some(session) = server.sessions.get(&session_id) {
        server.engine()?.check_again(&session).await;
    }
    forked
}

async fn fork_claimed(call: CallContext, params: ForkSessionParams) -> Result<OpenSessionResult, RpcError> {
    let turn = call.opening_turn().await?;
    let (open, stored) = call.read_guard(&params.session_id).await?;
    let operation = open.begin_fork(&call.cancel)?;
    if call.was_aborted() {
        operation.cancel.cancel();
    }
    let (turn, stored) = match call.server.has_hook(BEFORE_FORK) {
        false => (turn, stored),
        true => {
            // The client may open another session while it answers the hook.
            drop((turn, stored));
            operation.unless_cancelled(allowed_by_hook(&call, &params, &open)).await?
        }
    };
    let server = Arc::clone(&call.server);
    blocking_in(open.is_quick(), move || {
        let _held = (operation, turn);
        let view = open.view(stored.as_ref())?;
        let target_id = EntryId::new(params.entry_id);
        let target = view.read(|session| session.entry_or_stand_in(&target_id))?;
        let destination = Destination::of(&target);
        let (leaf, editor_text) = match params.position {
            ForkPosition::At => (Some(target.id().clone()), None),
            ForkPosition::Before => (target.header().parent_id.clone(), destination.editor_text),
        };
        let fork = view.read(|session| open.store.fork(session, leaf.as_ref()))?;
        add(&server, &open.store, fork, editor_text)
    })
    .await
}

/// Asks the hook, then waits for the turn to add a session and to read the source.
async fn allowed_by_hook(
    call: &CallContext,
    params: &ForkSessionParams,
    open: &OpenSession,
) -> Result<(OpeningTurn, ReadGuard), RpcError> {
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
            Ok((turn, open.read().await))
        }
    }
}

/// Describes what a navigation would do.
pub(crate) async fn prepare_navigation(
    call: CallContext,
    params: PrepareNavigationParams,
) -> Result<PrepareNavigationResult, RpcError> {
    let tools = call.server.settings_now().await?.file_tools();
    call.read(move |view| {
        let leaf = branch_end(view, params.leaf_id)?;
        let route = Route::of(view, leaf, &EntryId::new(params.target_id))?;
        let preparation = route.branch_preparation(view, None, &tools)?;
        let is_there = view.read(|session| route.is_there(session))?;
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

/// Moves the leaf to another entry of the tree.
pub(crate) async fn navigate(call: CallContext, params: NavigateTreeParams) -> Result<NavigateTreeResult, RpcError> {
    let engine = Arc::clone(call.server.engine()?);
    let settings = engine.settings_now().await?;
    let chain = chain(&call, params.summarizer.as_ref(), &settings)?;
    let details = params.summary.as_ref().and_then(|summary| summary.details.as_ref());
    let bytes = details.map_or(0, |details| details.get().len());
    let request = NavigationRequest::from(params);
    let checking = blocking_if_long(bytes, move || {
        request.check()?;
        Ok(request)
    });
    let request = checking.await?;
    let waits = request.waits;
    let parent = if waits { call.cancel.clone() } else { call.server.closing.clone() };
    let turn = call.unless_cancelled(call.write_guard()).await?;
    let begun = engine.begin_navigation(turn, request, &settings, chain, parent, call.cancel.clone()).await?;
    if call.was_aborted() {
        begun.cancel();
    }
    let operation_id = begun.operation_id().to_owned();
    let running = engine.start_navigation(begun);
    if !waits {
        return Ok(NavigateTreeResult::Started(StartedResult { operation_id }));
    }
    Ok(NavigateTreeResult::Done(Box::new(convert::navigation(running.await?))))
}
