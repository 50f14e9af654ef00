//! `searchSession` and `recall`.

use std::collections::HashSet;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryId};
use compaction_core::recall::{PiecePosition, RecallQuery, choose, cut_to};
use compaction_core::tokens::estimate_text;
use compaction_core::verbatim::{Verbatim, entry_text};
use compaction_engine::EngineError;
use compaction_engine::session::OpenSession;
use session_store::{Recalled, SearchHits, SearchOptions, SearchQuery, Session};

use super::read::{branch_end, check_id_count};
use crate::call::{CallContext, blocking_if_long, blocking_in};
use crate::errors::RpcError;
use crate::wire::{self, *};

/// What a query must be.
const A_WORD: &str = "a text with at least one word";
const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 1000;
/// Maximum number of hits on earlier pages. They are found again for each page.
const MAX_PASSED: usize = 100_000;

/// Finds entries by their text.
pub(crate) async fn search(call: CallContext, params: SearchSessionParams) -> Result<SearchSessionResult, RpcError> {
    let query = blocking_if_long(params.query.len(), move || {
        SearchQuery::parse(&params.query).ok_or_else(|| RpcError::invalid_params("query", A_WORD))
    });
    let query = query.await?;
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

/// The number of hits on earlier pages.
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
            found.map_err(|error| open.store_failure(error))
        };
        match (search(&query)?, query.loosened()) {
            (found, Some(loosened)) if found.is_empty() => Ok(search(&loosened)?),
            (found, _) => Ok(found),
        }
    })
    .await
}

/// Searches open sessions in memory, one after the other, and all others in the store.
async fn search_all(call: &CallContext, query: &SearchQuery, limit: usize) -> Result<SearchHits, RpcError> {
    let mut open = call.server.sessions.all();
    open.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    // A session that is open for reading alone may be older than its file.
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

/// `None` if the session was closed meanwhile, or if its file has changed.
async fn search_open(
    call: &CallContext,
    open: &Arc<OpenSession>,
    query: &SearchQuery,
    limit: usize,
) -> Result<Option<SearchHits>, RpcError> {
    let (open, query, cancel) = (Arc::clone(open), query.clone(), call.cancel.clone());
    let stored = open.read().await;
    blocking_in(open.is_quick(), move || {
        // If another program has truncated the session, its file is searched.
        let Some(session) = stored.as_ref().filter(|session| !session.is_outdated()) else { return Ok(None) };
        let found = session.search(&query, limit, &|| cancel.is_cancelled());
        Ok(Some(found.map_err(|error| open.store_failure(error))?))
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

const DEFAULT_TOKENS: u64 = 2000;

/// Returns entries that compactions took out of the context.
pub(crate) async fn recall(call: CallContext, params: RecallParams) -> Result<RecallResult, RpcError> {
    let max_tokens = params.max_tokens.unwrap_or(DEFAULT_TOKENS);
    if max_tokens == 0 {
        return Err(RpcError::invalid_params("maxTokens", "a whole number, 1 or more"));
    }
    let bytes = params.query.as_ref().map_or(0, String::len);
    let request = blocking_if_long(bytes, move || RecallRequest::of(params.query, params.entry_ids)).await?;
    let (tools, cancel) = (call.server.settings_now().await?.file_tools(), call.cancel.clone());
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let mut builder = RecallBuilder { room: max_tokens, result: empty() };
        match request {
            RecallRequest::Entries(ids) => {
                for id in &ids {
                    builder.add_requested(session, open, id)?;
                }
            }
            RecallRequest::Question(query) => {
                let is_cancelled = || cancel.is_cancelled();
                let found = session.recall(leaf.as_ref(), &query, &tools, &is_cancelled);
                let found = found.map_err(|error| open.store_failure(error))?.ok_or(EngineError::Cancelled)?;
                builder.add_found(session, open, &found)?;
            }
        }
        Ok(builder.result)
    })
    .await
}

fn empty() -> RecallResult {
    RecallResult { entries: Vec::new(), tokens: 0, omitted: 0 }
}

/// What a call asks for.
enum RecallRequest {
    Question(RecallQuery),
    Entries(Vec<EntryId>),
}

impl RecallRequest {
    fn of(query: Option<String>, entry_ids: Option<Vec<String>>) -> Result<Self, RpcError> {
        match (query, entry_ids) {
            (Some(query), None) => {
                let query = RecallQuery::parse(&query);
                query.map(Self::Question).ok_or_else(|| RpcError::invalid_params("query", A_WORD))
            }
            (None, Some(ids)) => {
                check_id_count("entryIds", &ids)?;
                Ok(Self::Entries(ids.into_iter().map(EntryId::new).collect()))
            }
            (None, None) => Err(RpcError::invalid_params("query", "a text, or ids in `entryIds`")),
            (Some(_), Some(_)) => Err(RpcError::invalid_params("entryIds", "nothing where `query` asks")),
        }
    }
}

/// Builds a result within a number of tokens.
struct RecallBuilder {
    room: u64,
    result: RecallResult,
}

impl RecallBuilder {
    /// Adds an entry that was requested by its id, if it fits. The first one is cut to fit.
    fn add_requested(&mut self, session: &Session, open: &OpenSession, id: &EntryId) -> Result<(), RpcError> {
        let entry = session.entry(id).map_err(|error| open.store_failure(error))?;
        let text = entry_text(&entry);
        let is_first = self.result.entries.is_empty() && self.result.omitted == 0;
        if !is_first && estimate_text(&text) > self.room {
            self.result.omitted += 1;
            return Ok(());
        }
        let cut = cut_to(&text, self.room);
        let truncated = cut.is_some();
        self.add(&entry, RecalledText { text: cut.unwrap_or(text), truncated, passages: None, score: None });
        Ok(())
    }

    /// Adds as much of the found passages as fits.
    fn add_found(&mut self, session: &Session, open: &OpenSession, found: &Recalled) -> Result<(), RpcError> {
        let (choices, omitted) = choose(&found.passages, self.room);
        self.result.omitted = omitted as u64;
        for choice in choices {
            let id = &found.entry_ids[choice.document];
            let entry = session.entry(id).map_err(|error| open.store_failure(error))?;
            let excerpt = choice.excerpt(&Verbatim::of(&entry));
            let passages = Some(excerpt.places.iter().map(passage).collect());
            let (text, truncated) = (excerpt.text, excerpt.is_partial);
            self.add(&entry, RecalledText { text, truncated, passages, score: Some(choice.score) });
        }
        Ok(())
    }

    fn add(&mut self, entry: &Entry, recalled: RecalledText) {
        let tokens = estimate_text(&recalled.text);
        self.room = self.room.saturating_sub(tokens);
        self.result.tokens += tokens;
        self.result.entries.push(RecalledEntry {
            entry_id: entry.id().to_string(),
            entry_type: entry.kind_name().to_owned(),
            role: entry.message().map(|message| message.role().to_owned()),
            timestamp: entry.timestamp().to_owned(),
            text: recalled.text,
            tokens,
            truncated: recalled.truncated,
            passages: recalled.passages,
            score: recalled.score,
        });
    }
}

/// The part of an entry that is returned.
struct RecalledText {
    text: String,
    truncated: bool,
    passages: Option<Vec<Passage>>,
    score: Option<f64>,
}

fn passage(place: &PiecePosition) -> Passage {
    let (start, end, offset) = (place.range.start as u64, place.range.end as u64, place.offset as u64);
    Passage { part: place.kind.into(), block: place.block.map(|block| block as u64), start, end, offset }
}
