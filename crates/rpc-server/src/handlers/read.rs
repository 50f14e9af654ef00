//! `getEntry`, `getEntries`, `getBranch`, `getTree`, `getContext`, `getContextUsage`, `estimateTokens`,
//! `serializeConversation`, `searchSession` and `recall`: the content of a session. Nothing is written.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compaction_core::conversation::{self, LlmContext};
use compaction_core::entry::{Entry, EntryBody, EntryId};
use compaction_core::entry_text::{EntryText, entry_text};
use compaction_core::formats::Written;
use compaction_core::message::Message;
use compaction_core::projection::{ProjectedEntry, Projection};
use compaction_core::recall::{PiecePosition, RecallQuery, choose, cut_to, read_from};
use compaction_core::text::utf16_len;
use compaction_core::tokens::{self, estimate_text};
use compaction_engine::session::{OpenSession, SessionView};
use compaction_engine::{EngineError, WindowUsage};
use session_store::{Recalled, SearchHits, SearchOptions, SearchQuery, Session, StoreError};

use super::messages::{self, SubmittedMessages, check_message_count};
use crate::call::{CallContext, Reply, blocking, blocking_if_long, blocking_in};
use crate::convert;
use crate::errors::RpcError;
use crate::reply::{ReplyStart, Streamed};
use crate::wire::{self, *};

/// Returns one entry.
pub(crate) async fn get_entry(call: CallContext, params: EntryParams) -> Result<Reply<GetEntryResult>, RpcError> {
    call.read_to_reply(move |view| {
        let entry = view.read(|session| session.entry(&EntryId::new(params.entry_id)))?;
        Ok(GetEntryResult { entry: (&entry).into() })
    })
    .await
}

/// Maximum number of ids in a call: an id is short, and an entry may be long.
const MAX_IDS: usize = 1000;
/// Maximum number of bytes that repeated ids add to a reply.
const MAX_REPEATED_BYTES: usize = 8 * 1024 * 1024;

/// Fails if a call names too many ids in `member`.
pub(super) fn check_id_count(member: &str, ids: &[String]) -> Result<(), RpcError> {
    match ids.len() > MAX_IDS {
        true => Err(RpcError::invalid_params(member, format!("at most {MAX_IDS} ids"))),
        false => Ok(()),
    }
}

/// The entries with these ids. Fails if repeated ids make the reply too long.
fn entries_by_id(view: SessionView<'_>, ids: &[EntryId]) -> Result<Vec<Arc<Entry>>, RpcError> {
    let mut found: HashMap<&EntryId, Arc<Entry>> = HashMap::new();
    let (mut entries, mut repeated) = (Vec::with_capacity(ids.len()), 0);
    for id in ids {
        let entry = match found.get(id) {
            Some(entry) => {
                repeated += entry.approximate_length();
                Arc::clone(entry)
            }
            None => view.read(|session| session.entries_by_id(std::slice::from_ref(id)))?.remove(0),
        };
        if repeated > MAX_REPEATED_BYTES {
            let expected = format!(
                "ids that repeat at most {MAX_REPEATED_BYTES} bytes of entries; those up to {id} repeat {repeated}"
            );
            return Err(RpcError::invalid_params("ids", expected));
        }
        found.insert(id, Arc::clone(&entry));
        entries.push(entry);
    }
    Ok(entries)
}

/// Returns entries in file order, or those that are named.
pub(crate) async fn get_entries(call: CallContext, params: GetEntriesParams) -> Result<Reply<EntriesResult>, RpcError> {
    params.ids.as_deref().map_or(Ok(()), |ids| check_id_count("ids", ids))?;
    if params.ids.is_none() && params.limit.is_none() {
        return call
            .read_while_writing(move |view, reply| {
                let since = params.cursor.or(params.since).map(EntryId::new);
                let entries = view.read(|session| session.entries_after(since.as_ref()))?;
                write_entries(view, reply, entries)
            })
            .await;
    }
    call.read_to_reply(move |view| {
        if let Some(ids) = params.ids {
            let ids: Vec<EntryId> = ids.into_iter().map(EntryId::new).collect();
            let entries = entries_by_id(view, &ids)?;
            return Ok(EntriesResult { entries: entries.iter().map(Into::into).collect(), next_cursor: None });
        }
        let since = params.cursor.or(params.since).map(EntryId::new);
        let limit = params.limit.map(|limit| limit as usize);
        // One more entry shows whether there are more.
        let more = limit.map(|limit| limit.saturating_add(1));
        let mut entries = view.read(|session| session.entries(since.as_ref(), more))?;
        let limit = limit.filter(|limit| entries.len() > *limit);
        entries.truncate(limit.unwrap_or(entries.len()));
        let next_cursor = limit.and_then(|_| entries.last()).map(|entry| entry.id().to_string());
        Ok(EntriesResult { entries: entries.iter().map(Into::into).collect(), next_cursor })
    })
    .await
}

/// Returns the entries from the root to a leaf.
pub(crate) async fn get_branch(call: CallContext, params: GetBranchParams) -> Result<Reply<EntriesResult>, RpcError> {
    call.read_while_writing(move |view, reply| {
        let leaf = branch_end(view, params.leaf_id)?;
        let entries = view.read(|session| session.read_branch(leaf.as_ref()))?;
        write_entries(view, reply, entries)
    })
    .await
}

fn write_entries(
    view: SessionView<'_>,
    reply: ReplyStart,
    entries: impl Iterator<Item = Result<Arc<Entry>, StoreError>>,
) -> Result<String, RpcError> {
    let entries = entries.map(|entry| match entry {
        Ok(entry) => Ok(wire::Entry::from(&entry)),
        Err(error) => Err(view.open.store_failure(error).into()),
    });
    let result = EntriesResult { entries: Streamed::new(entries), next_cursor: None };
    let written = reply.write(&result);
    result.entries.outcome(written)
}

/// The leaf of a branch that a caller named, or the current leaf.
pub(crate) fn branch_end(view: SessionView<'_>, leaf_id: Option<String>) -> Result<Option<EntryId>, RpcError> {
    let Some(leaf_id) = leaf_id.map(EntryId::new) else {
        return Ok(view.session.leaf_id().cloned());
    };
    view.header(&leaf_id)?;
    Ok(Some(leaf_id))
}

/// Returns the tree as a flat list.
pub(crate) async fn get_tree(call: CallContext, _: SessionParams) -> Result<Reply<GetTreeResult>, RpcError> {
    call.read_while_writing(|view, reply| {
        let nodes = view.read(Session::tree_nodes)?;
        let nodes = nodes.map(|node| Ok(tree_node(node.map_err(|error| view.open.store_failure(error))?)));
        let result = GetTreeResult { leaf_id: convert::id(view.session.leaf_id()), nodes: Streamed::new(nodes) };
        let written = reply.write(&result);
        result.nodes.outcome(written)
    })
    .await
}

fn tree_node(node: session_store::TreeNode) -> wire::TreeNode {
    wire::TreeNode {
        id: node.id.to_string(),
        parent_id: convert::id(node.parent_id.as_ref()),
        entry_type: node.kind_name,
        role: node.role,
        preview: node.preview,
        label: node.label,
        timestamp: node.timestamp,
        children: node.children.iter().map(EntryId::to_string).collect(),
    }
}

/// Returns what the model sees.
pub(crate) async fn get_context(
    call: CallContext,
    params: GetContextParams,
) -> Result<Reply<GetContextResult>, RpcError> {
    call.read_to_reply(move |view| {
        let leaf = branch_end(view, params.leaf_id)?;
        let context = view.read(|session| session.context(leaf.as_ref()))?;
        let projection = &context.projection;
        let tokens = tokens::context_tokens(projection);
        let after = params.after.map(EntryId::new);
        let format = params.format.unwrap_or_default();
        let later = |after: &EntryId| messages_from(projection, position_after(projection, after)?, format);
        let delta = after.as_ref().map(later);
        let is_delta = delta.as_ref().map(Option::is_some);
        let messages = delta.flatten().unwrap_or_else(|| whole_context(projection, format));
        let found = projection.diagnostics().iter().map(convert::projection_diagnostic);
        Ok(GetContextResult {
            messages: messages.messages,
            system: messages.system,
            leaf_id: convert::id(leaf.as_ref()),
            thinking_level: projection.thinking_level().to_owned(),
            model: convert::model(projection),
            tokens: convert::tokens(tokens),
            delta: is_delta,
            diagnostics: context.diagnostics.iter().map(convert::diagnostic).chain(found).collect(),
        })
    })
    .await
}

/// A context, or a part of one, in the format that is wanted.
struct ContextMessages {
    messages: Vec<AnyMessage>,
    system: Option<String>,
}

impl From<Vec<Arc<Message>>> for ContextMessages {
    fn from(messages: Vec<Arc<Message>>) -> Self {
        Self { messages: messages.iter().map(AnyMessage::from).collect(), system: None }
    }
}

impl From<Written> for ContextMessages {
    fn from(written: Written) -> Self {
        Self { messages: written.messages.into_iter().map(AnyMessage::from).collect(), system: written.system }
    }
}

fn whole_context(projection: &Projection, format: ContextFormat) -> ContextMessages {
    if let Some(interface) = messages::interface_of(format) {
        return messages::context(projection, interface).into();
    }
    match format {
        ContextFormat::Agent => projection.shared_messages().cloned().collect::<Vec<_>>().into(),
        _ => conversation::llm_context(projection).into(),
    }
}

/// Messages of the entries from `position` on. `None` if they change the messages of earlier entries.
fn messages_from(projection: &Projection, position: usize, format: ContextFormat) -> Option<ContextMessages> {
    if let Some(interface) = messages::interface_of(format) {
        return messages::context_since(projection, position, interface).map(ContextMessages::from);
    }
    match format {
        ContextFormat::Agent => {
            let later = projection.entries()[position..].iter().flat_map(|entry| &entry.messages);
            Some(later.cloned().collect::<Vec<_>>().into())
        }
        _ => LlmContext::of(projection).since(position).map(ContextMessages::from),
    }
}

/// The position in the context after entry `after`. `None` if the context up to that entry has changed since: by a
/// later compaction, or by a later edit of an earlier entry.
fn position_after(projection: &Projection, after: &EntryId) -> Option<usize> {
    let entries = projection.entries();
    let found = entries.iter().find(|projected| projected.entry.id() == after)?;
    let compaction = projection.compaction();
    if compaction.is_some_and(|compaction| compaction.depth < found.depth) {
        return None;
    }
    let is_later = |projected: &ProjectedEntry| projected.depth < found.depth;
    let position = entries.iter().position(is_later).unwrap_or(entries.len());
    let (earlier, later) = entries.split_at(position);
    let is_rewritten = |edit: &ProjectedEntry| match edit.entry.body() {
        EntryBody::ContextEdit { target_id, .. } => earlier.iter().any(|projected| projected.entry.id() == target_id),
        _ => false,
    };
    (!later.iter().any(is_rewritten)).then_some(position)
}

/// Describes how full a window is.
pub(crate) async fn get_usage(call: CallContext, params: GetContextUsageParams) -> Result<ContextUsage, RpcError> {
    let context_window = params.model.context_window;
    if context_window == 0 {
        return Err(RpcError::invalid_params("model.contextWindow", "a number of tokens above 0"));
    }
    call.read(move |view| {
        let projection = view.project_leaf()?;
        let tokens = tokens::known_context_tokens(&projection);
        Ok(convert::usage(WindowUsage { tokens, context_window }))
    })
    .await
}

/// Estimates the tokens of messages or of a text.
pub(crate) async fn estimate_tokens(
    _: CallContext,
    params: EstimateTokensParams,
) -> Result<EstimateTokensResult, RpcError> {
    blocking(move || {
        let tokens = match (&params.messages, &params.text) {
            (Some(messages), _) => {
                let messages = SubmittedMessages::list(messages.clone(), params.format)?.to_estimate()?;
                tokens::estimate_messages(messages.iter().map(Arc::as_ref))
            }
            (None, Some(text)) => tokens::estimate_text(text),
            (None, None) => {
                return Err(RpcError::invalid_params("messages", "a list of messages, or a text in `text`"));
            }
        };
        Ok(EstimateTokensResult { tokens })
    })
    .await
}

/// Returns messages as the text that a summarizer reads.
pub(crate) async fn serialize(
    call: CallContext,
    params: SerializeConversationParams,
) -> Result<SerializeConversationResult, RpcError> {
    check_message_count(params.messages.len())?;
    let thinking = call.server.settings_now().await?.thinking();
    blocking(move || {
        let messages = convert::read_messages(&params.messages, "messages")?;
        let text = conversation::serialize_conversation(messages.iter().map(Arc::as_ref), thinking);
        Ok(SerializeConversationResult { text })
    })
    .await
}

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
    call.read(move |view| {
        let search = |query: &SearchQuery| view.read(|session| session.search(query, limit, &|| cancel.is_cancelled()));
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
    let request =
        blocking_if_long(bytes, move || RecallRequest::of(params.query, params.entry_ids, params.offset)).await?;
    let (tools, cancel) = (call.server.settings_now().await?.file_tools(), call.cancel.clone());
    call.read(move |view| {
        let leaf = branch_end(view, params.leaf_id)?;
        let SessionView { session, open } = view;
        let mut builder = RecallBuilder { room: max_tokens, result: empty() };
        match request {
            RecallRequest::Part(id, offset) => builder.add_part(session, open, &id, offset)?,
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

/// The request of a recall.
enum RecallRequest {
    Question(RecallQuery),
    Entries(Vec<EntryId>),
    /// The text of an entry from this UTF-16 unit on.
    Part(EntryId, u64),
}

impl RecallRequest {
    fn of(query: Option<String>, entry_ids: Option<Vec<String>>, offset: Option<u64>) -> Result<Self, RpcError> {
        if let Some(offset) = offset {
            return match (query, entry_ids.as_deref()) {
                (None, Some([id])) => Ok(Self::Part(EntryId::new(id.as_str()), offset)),
                _ => Err(RpcError::invalid_params("offset", "nothing, unless `entryIds` holds one id")),
            };
        }
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
        self.add(&entry, RecalledText { text: cut.unwrap_or(text), truncated, ..RecalledText::default() });
        Ok(())
    }

    /// Adds as much of an entry from a UTF-16 unit on as fits.
    fn add_part(&mut self, session: &Session, open: &OpenSession, id: &EntryId, offset: u64) -> Result<(), RpcError> {
        let entry = session.entry(id).map_err(|error| open.store_failure(error))?;
        let text = entry_text(&entry);
        let part = usize::try_from(offset).ok().and_then(|offset| read_from(&text, offset, self.room));
        let part = part.ok_or_else(|| {
            RpcError::invalid_params("offset", format!("at most {}, the length of the text", utf16_len(&text)))
        })?;
        self.add(
            &entry,
            RecalledText {
                text: part.text.to_owned(),
                truncated: part.text.len() < text.len(),
                offset: Some(part.start as u64),
                next_offset: part.next.map(|next| next as u64),
                ..RecalledText::default()
            },
        );
        Ok(())
    }

    /// Adds as much of the found passages as fits.
    fn add_found(&mut self, session: &Session, open: &OpenSession, found: &Recalled) -> Result<(), RpcError> {
        let (choices, omitted) = choose(&found.passages, self.room);
        self.result.omitted = omitted as u64;
        for choice in choices {
            let id = &found.entry_ids[choice.document];
            let entry = session.entry(id).map_err(|error| open.store_failure(error))?;
            let excerpt = choice.excerpt(&EntryText::of(&entry));
            let passages = Some(excerpt.places.iter().map(passage).collect());
            let (text, truncated) = (excerpt.text, excerpt.is_partial);
            self.add(
                &entry,
                RecalledText { text, truncated, passages, score: Some(choice.score), ..RecalledText::default() },
            );
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
            offset: recalled.offset,
            next_offset: recalled.next_offset,
            passages: recalled.passages,
            score: recalled.score,
        });
    }
}

/// The part of an entry that is returned.
#[derive(Default)]
struct RecalledText {
    text: String,
    truncated: bool,
    offset: Option<u64>,
    next_offset: Option<u64>,
    passages: Option<Vec<Passage>>,
    score: Option<f64>,
}

fn passage(place: &PiecePosition) -> Passage {
    let (start, end, offset) = (place.range.start as u64, place.range.end as u64, place.offset as u64);
    Passage { part: place.kind.into(), block: place.block.map(|block| block as u64), start, end, offset }
}
