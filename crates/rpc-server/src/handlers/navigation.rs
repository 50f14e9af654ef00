//! `prepareNavigation`, `navigateTree`.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_engine::{NavigationRequest, Route};

use super::entries::branch_end;
use crate::call::CallContext;
use crate::convert;
use crate::errors::RpcError;
use crate::session::StoreErrors as _;
use crate::wire::*;

/// Tells what a navigation would do.
pub(crate) async fn prepare(
    call: CallContext,
    params: PrepareNavigationParams,
) -> Result<PrepareNavigationResult, RpcError> {
    let tools = call.server.settings_now().await?.file_tools();
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let route = Route::of(session, open, leaf, &EntryId::new(params.target_id))?;
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
    let engine = Arc::clone(call.server.engine()?);
    let settings = engine.settings_now().await?;
    let named = params.summarizer.as_ref().map(SummarizerChoice::names);
    let chain = engine.summarizers(named.as_deref(), &settings)?;
    let request = NavigationRequest::from(params);
    request.check()?;
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
    let outcome = running
        .await
        .map_err(|error| RpcError::Internal { message: format!("the navigation ended early: {error}") })?;
    Ok(NavigateTreeResult::Done(Box::new(convert::navigation(outcome?))))
}
