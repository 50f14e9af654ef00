//! `recall`.

use compaction_core::entry::{Entry, EntryId};
use compaction_core::recall::{RecallQuery, cut_to};
use compaction_core::tokens::estimate_text;
use compaction_core::verbatim::entry_text;
use session_store::Session;

use super::entries::branch_end;
use crate::call::CallContext;
use crate::errors::RpcError;
use crate::session::OpenSession;
use crate::wire::*;

const DEFAULT_TOKENS: u64 = 2000;
/// Ids that a call may name.
const MAX_IDS: usize = 1000;

/// Gives evicted entries back.
pub(crate) async fn recall(call: CallContext, params: RecallParams) -> Result<RecallResult, RpcError> {
    let max_tokens = params.max_tokens.unwrap_or(DEFAULT_TOKENS);
    if max_tokens == 0 {
        return Err(RpcError::invalid_params("maxTokens", "a whole number, 1 or more"));
    }
    let wish = Wish::of(params.query, params.entry_ids)?;
    let cancel = call.cancel.clone();
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let mut answer = Filling { room: max_tokens, result: empty() };
        match wish {
            Wish::Entries(ids) => {
                for id in &ids {
                    answer.offer_asked(session, open, id)?;
                }
            }
            Wish::Question(query) => {
                let is_cancelled = || cancel.is_cancelled();
                let found = session.recall(leaf.as_ref(), &query, &is_cancelled);
                let found = found.map_err(|error| open.store_error(&error))?.ok_or(RpcError::Cancelled)?;
                for found in found {
                    answer.offer_found(session, open, &found)?;
                }
            }
        }
        Ok(answer.result)
    })
    .await
}

fn empty() -> RecallResult {
    RecallResult { entries: Vec::new(), tokens: 0, omitted: 0 }
}

/// What is asked for.
enum Wish {
    Question(RecallQuery),
    Entries(Vec<EntryId>),
}

impl Wish {
    fn of(query: Option<String>, entry_ids: Option<Vec<String>>) -> Result<Self, RpcError> {
        match (query, entry_ids) {
            (Some(query), None) => {
                let query = RecallQuery::parse(&query);
                query
                    .map(Self::Question)
                    .ok_or_else(|| RpcError::invalid_params("query", "a text with at least one word"))
            }
            (None, Some(ids)) if ids.len() > MAX_IDS => Err(RpcError::invalid_params("entryIds", "at most 1000 ids")),
            (None, Some(ids)) => Ok(Self::Entries(ids.into_iter().map(EntryId::new).collect())),
            (None, None) => Err(RpcError::invalid_params("query", "a text, or ids in `entryIds`")),
            (Some(_), Some(_)) => Err(RpcError::invalid_params("entryIds", "nothing where `query` asks")),
        }
    }
}

/// A result that is being filled, until there is no more room.
struct Filling {
    room: u64,
    result: RecallResult,
}

impl Filling {
    /// Takes an entry that was asked for by its id.
    fn offer_asked(&mut self, session: &Session, open: &OpenSession, id: &EntryId) -> Result<(), RpcError> {
        let entry = session.entry(id).map_err(|error| open.store_error(&error))?;
        let text = entry_text(&entry);
        if self.has_place_for(estimate_text(&text)) {
            self.take(&entry, text, None);
        }
        Ok(())
    }

    /// Takes an entry that was found; one that does not fit is not even read.
    fn offer_found(
        &mut self,
        session: &Session,
        open: &OpenSession,
        found: &session_store::RecalledEntry,
    ) -> Result<(), RpcError> {
        if self.has_place_for(found.tokens) {
            let entry = session.entry(&found.entry_id).map_err(|error| open.store_error(&error))?;
            self.take(&entry, entry_text(&entry), Some(found.score));
        }
        Ok(())
    }

    /// Whether a text fits; the first one always does, as it is cut. Counts those that do not.
    fn has_place_for(&mut self, tokens: u64) -> bool {
        let is_first = self.result.entries.is_empty() && self.result.omitted == 0;
        let fits = is_first || tokens <= self.room;
        self.result.omitted += u64::from(!fits);
        fits
    }

    fn take(&mut self, entry: &Entry, text: String, score: Option<f64>) {
        let cut = cut_to(&text, self.room);
        let truncated = cut.is_some();
        let text = cut.unwrap_or(text);
        let tokens = estimate_text(&text);
        self.room = self.room.saturating_sub(tokens);
        self.result.tokens += tokens;
        self.result.entries.push(RecalledEntry {
            entry_id: entry.id().to_string(),
            entry_type: entry.kind_name().to_owned(),
            role: entry.message().map(|message| message.role().to_owned()),
            timestamp: entry.timestamp().to_owned(),
            text,
            tokens,
            truncated,
            score,
        });
    }
}
