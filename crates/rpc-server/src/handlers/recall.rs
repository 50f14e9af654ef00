//! `recall`.

use compaction_core::entry::{Entry, EntryId};
use compaction_core::recall::{PiecePosition, RecallQuery, choose, cut_to};
use compaction_core::tokens::estimate_text;
use compaction_core::verbatim::{PartKind, Verbatim, entry_text};
use session_store::{Recalled, Session};

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
    let (tools, cancel) = (call.server.settings_now().await?.file_tools(), call.cancel.clone());
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
                let found = session.recall(leaf.as_ref(), &query, &tools, &is_cancelled);
                let found = found.map_err(|error| open.store_error(&error))?.ok_or(RpcError::Cancelled)?;
                answer.take_found(session, open, &found)?;
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
    /// Takes an entry that was asked for by its id, if it fits; the first one always does, as it is cut.
    fn offer_asked(&mut self, session: &Session, open: &OpenSession, id: &EntryId) -> Result<(), RpcError> {
        let entry = session.entry(id).map_err(|error| open.store_error(&error))?;
        let text = entry_text(&entry);
        let is_first = self.result.entries.is_empty() && self.result.omitted == 0;
        if !is_first && estimate_text(&text) > self.room {
            self.result.omitted += 1;
            return Ok(());
        }
        let cut = cut_to(&text, self.room);
        let truncated = cut.is_some();
        self.take(&entry, RecalledText { text: cut.unwrap_or(text), truncated, passages: None, score: None });
        Ok(())
    }

    /// Takes as much of what was found as fits.
    fn take_found(&mut self, session: &Session, open: &OpenSession, found: &Recalled) -> Result<(), RpcError> {
        let (choices, omitted) = choose(&found.passages, self.room);
        self.result.omitted = omitted as u64;
        for choice in choices {
            let id = &found.entry_ids[choice.document];
            let entry = session.entry(id).map_err(|error| open.store_error(&error))?;
            let excerpt = choice.excerpt(&Verbatim::of(&entry));
            let passages = Some(excerpt.places.iter().map(passage).collect());
            let (text, truncated) = (excerpt.text, excerpt.is_partial);
            self.take(&entry, RecalledText { text, truncated, passages, score: Some(choice.score) });
        }
        Ok(())
    }

    fn take(&mut self, entry: &Entry, recalled: RecalledText) {
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

/// What is given of an entry.
struct RecalledText {
    text: String,
    truncated: bool,
    passages: Option<Vec<Passage>>,
    score: Option<f64>,
}

fn passage(place: &PiecePosition) -> Passage {
    let part = match place.kind {
        PartKind::Text => PassagePart::Text,
        PartKind::ToolCall => PassagePart::ToolCall,
        PartKind::Image => PassagePart::Image,
        PartKind::Command => PassagePart::Command,
        PartKind::Output => PassagePart::Output,
        PartKind::Summary => PassagePart::Summary,
    };
    let (start, end, offset) = (place.range.start as u64, place.range.end as u64, place.offset as u64);
    Passage { part, block: place.block.map(|block| block as u64), start, end, offset }
}
