//! `searchSession`.

use std::collections::HashSet;
use std::sync::Arc;

use session_store::{SearchHits, SearchOptions, SearchQuery};

use crate::call::{CallContext, blocking_in};
use crate::errors::RpcError;
use crate::session::{OpenSession, StoreErrors as _};
use crate::wire::{self, *};

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 1000;
/// Hits of earlier pages, which are found again for each page.
const MAX_PASSED: usize = 100_000;

/// Finds entries by their text.
pub(crate) async fn search(call: CallContext, params: SearchSessionParams) -> Result<SearchSessionResult, RpcError> {
    let query = SearchQuery::parse(&params.query);
    let query = query.ok_or_else(|| RpcError::invalid_params("query", "a text with at least one word"))?;
    let passed = params.cursor.as_deref().map_or(Ok(0), read_cursor)?;
    let limit = read_limit(params.limit)?.saturating_add(passed);
    let found = match (params.session_id, params.all) {
        (Some(_), false) => search_one(&call, query, limit).await?,
        (None, true) => match search_all(&call, &query, limit).await? {
            found if found.is_empty() => match query.loosened() {
                Some(loosened) => search_all(&call, &loosened, limit).await?,
                None => found,
            },
            found => found,
        },
        (Some(_), true) => return Err(RpcError::invalid_params("all", "false where `sessionId` names a session")),
        (None, false) => {
            return Err(RpcError::invalid_params("sessionId", "the id of an open session, or `all` as true"));
        }
    };
    Ok(SearchSessionResult {
        hits: found.hits.into_iter().skip(passed).map(hit).collect(),
        next_cursor: found.is_truncated.then(|| limit.to_string()),
        truncated: found.is_truncated,
    })
}

/// Hits that the pages before have given.
fn read_cursor(cursor: &str) -> Result<usize, RpcError> {
    let passed = cursor.parse().ok().filter(|passed| *passed <= MAX_PASSED);
    passed.ok_or_else(|| RpcError::invalid_params("cursor", "a nextCursor of this method"))
}

fn read_limit(limit: Option<u64>) -> Result<usize, RpcError> {
    match limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(limit as usize),
        _ => Err(RpcError::invalid_params("limit", "a number from 1 to 1000")),
    }
}

async fn search_one(call: &CallContext, query: SearchQuery, limit: usize) -> Result<SearchHits, RpcError> {
    let cancel = call.cancel.clone();
    call.read(move |session, open| {
        let search = |query: &SearchQuery| {
            let found = session.search(query, limit, &|| cancel.is_cancelled());
            found.map_err(|error| open.store_error(&error))
        };
        match (search(&query)?, query.loosened()) {
            (found, Some(loosened)) if found.is_empty() => search(&loosened),
            (found, _) => Ok(found),
        }
    })
    .await
}

/// Open sessions are searched as they are in memory, one after the other, and all others as files.
async fn search_all(call: &CallContext, query: &SearchQuery, limit: usize) -> Result<SearchHits, RpcError> {
    let mut open = call.server.sessions.all();
    open.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    // One that is open for reading alone may lag behind its file.
    open.retain(|open| open.locator.is_none() || !open.is_read_only());
    let mut parts = Vec::new();
    let mut skipped = HashSet::new();
    for open in open {
        let Some(part) = call.unless_cancelled(search_open(call, &open, query, limit)).await? else { continue };
        parts.push(part);
        skipped.extend(open.locator.clone());
    }
    let (server, cancel, query) = (Arc::clone(&call.server), call.cancel.clone(), query.clone());
    let stored = blocking_in(call.server.is_store_quick(), move || {
        let options = SearchOptions { session_dir: None, skipped, limit };
        let found = server.store()?.search(&query, &options, &|| cancel.is_cancelled());
        found.map_err(|error| RpcError::from_store(&error, ""))
    });
    parts.push(call.unless_cancelled(stored).await?);
    Ok(SearchHits::merge(parts, limit))
}

/// `None` if the session was closed meanwhile, or is not what its file holds.
async fn search_open(
    call: &CallContext,
    open: &Arc<OpenSession>,
    query: &SearchQuery,
    limit: usize,
) -> Result<Option<SearchHits>, RpcError> {
    let (open, query, cancel) = (Arc::clone(open), query.clone(), call.cancel.clone());
    let slot = Arc::clone(&open.slot).read_owned().await;
    blocking_in(open.is_quick(), move || {
        // Of one that another program has cut, the file is searched.
        let Some(session) = slot.as_ref().filter(|session| !session.is_outdated()) else { return Ok(None) };
        let found = session.search(&query, limit, &|| cancel.is_cancelled());
        found.map(Some).map_err(|error| open.store_error(&error))
    })
    .await
}

fn hit(hit: session_store::SearchHit) -> wire::SearchHit {
    wire::SearchHit {
        session_id: hit.session_id,
        path: hit.locator.map(|locator| locator.to_string()),
        entry_id: hit.entry_id.to_string(),
        entry_type: hit.kind_name,
        role: hit.role,
        timestamp: hit.timestamp,
        preview: hit.preview,
        evicted: hit.is_evicted,
        score: hit.score,
    }
}
