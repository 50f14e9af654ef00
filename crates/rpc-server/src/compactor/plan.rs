//! Where a compaction cuts, and what it takes out of the context there.

use std::sync::Arc;

use compaction_core::cut_point;
use compaction_core::entry::{EntryId, FileLists};
use compaction_core::message::Message;
use compaction_core::preparation::{Preparation, PreparedMessage, Refusal};
use compaction_core::projection::Projection;
use compaction_core::tokens;

use super::Order;
use super::account::Part;
use crate::call::change;
use crate::errors::RpcError;
use crate::handlers::compaction::chosen_cut;
use crate::handlers::context::project;
use crate::handlers::entries::entry_not_found;
use crate::hooks;
use crate::operation::{self, SummaryOperation};
use crate::session::SessionAccess;
use crate::wire::GivenSummary;

/// What is to be summarised, or what the client has summarised, and where the cut is.
pub(super) struct Plan {
    pub(super) first_kept_entry_id: EntryId,
    pub(super) leaf_id: EntryId,
    /// Tokens of the context.
    pub(super) tokens_before: u64,
    /// `None` where the client gave summary and cut and nothing else would be compacted.
    pub(super) preparation: Option<Preparation>,
    /// Estimated tokens of what the summary replaces; `None` where a client's own cut brings back
    /// what an earlier compaction had taken out.
    pub(super) replaced_tokens: Option<u64>,
    /// The messages that stay.
    pub(super) kept: Vec<PreparedMessage>,
}

impl Plan {
    /// Plans the compaction that was ordered.
    pub(super) fn of(access: &SessionAccess<'_>, order: &Order) -> Result<Self, RpcError> {
        let whole = project(access.session(), access.open(), access.session().leaf_id())?;
        let projection = whole.hiding(&order.hidden);
        let leaf = access.session().leaf_id();
        let preparation = match &order.first_kept {
            Some(first_kept) => prepare_at(access, order, &projection, first_kept)?,
            None => order.prepare(&projection, leaf).or_else(|refusal| match refusal {
                // Messages that came while the last summary was written lie before its compaction,
                // and may be too many all the same: the attempt that failed is what follows it.
                Refusal::AlreadyCompacted { .. } if !order.hidden.is_empty() => order.prepare(&whole, leaf),
                refusal => Err(refusal),
            }),
        };
        match &order.summary {
            None => {
                let plan = Self::prepared(preparation?, &projection);
                let kept_tokens = plan.kept.iter().map(|kept| kept.message.tokens()).sum();
                order.check_worth(kept_tokens, plan.replaced_tokens)?;
                Ok(plan)
            }
            Some(given) => Self::given(access, given, &projection, preparation),
        }
    }

    /// What goes and what stays, where that is known.
    pub(super) fn part(&self) -> Option<Part<'_>> {
        self.preparation.as_ref().map(|preparation| Part {
            preparation,
            kept: &self.kept,
            replaced_tokens: self.replaced_tokens,
        })
    }

    fn prepared(preparation: Preparation, projection: &Projection) -> Self {
        Self {
            first_kept_entry_id: preparation.first_kept_entry_id.clone(),
            leaf_id: preparation.leaf_id.clone(),
            tokens_before: preparation.tokens_before,
            replaced_tokens: replaced_tokens(projection, &preparation.first_kept_entry_id),
            kept: kept(projection, &preparation.first_kept_entry_id),
            preparation: Some(preparation),
        }
    }

    /// Checks a summary that the client wrote, and the cut that it chose, if it did.
    fn given(
        access: &SessionAccess<'_>,
        given: &GivenSummary,
        projection: &Projection,
        preparation: Result<Preparation, Refusal>,
    ) -> Result<Self, RpcError> {
        check_given(given)?;
        let (Some(first_kept), Some(leaf)) = (&given.first_kept_entry_id, access.session().leaf_id()) else {
            return Ok(Self::prepared(preparation?, projection));
        };
        let first_kept = EntryId::new(first_kept.as_str());
        check_first_kept(access, &first_kept, leaf)?;
        Ok(Self {
            replaced_tokens: replaced_tokens(projection, &first_kept),
            kept: kept(projection, &first_kept),
            first_kept_entry_id: first_kept,
            leaf_id: leaf.clone(),
            tokens_before: tokens::context_tokens(projection).tokens,
            preparation: preparation.ok(),
        })
    }

    /// Takes over the cut that a hook chose, once it is checked.
    pub(super) async fn accept(
        &mut self,
        operation: &SummaryOperation,
        given: &GivenSummary,
        order: &Order,
    ) -> Result<(), RpcError> {
        check_given(given).map_err(of_hook)?;
        if let Some(first_kept) = &given.first_kept_entry_id {
            let first_kept = EntryId::new(first_kept.as_str());
            let (chosen, leaf, hidden) = (first_kept.clone(), self.leaf_id.clone(), order.hidden.clone());
            let (session, guard) = operation.session_turn().await?;
            let check = move |access: &mut SessionAccess<'_>| {
                check_first_kept(access, &chosen, &leaf)?;
                let projection = project(access.session(), access.open(), Some(&leaf))?;
                Ok(replaced_tokens(&projection.hiding(&hidden), &chosen))
            };
            let replaced = change(Arc::clone(&operation.server), session, guard, check).await;
            self.replaced_tokens = replaced.map_err(of_hook)?;
            self.first_kept_entry_id = first_kept;
        }
        self.tokens_before = given.tokens_before.unwrap_or(self.tokens_before);
        Ok(())
    }
}

/// Prepares a compaction at the cut that the caller chose, for whoever writes the summary.
fn prepare_at(
    access: &SessionAccess<'_>,
    order: &Order,
    projection: &Projection,
    first_kept: &EntryId,
) -> Result<Result<Preparation, Refusal>, RpcError> {
    if order.summary.as_ref().is_some_and(|given| given.first_kept_entry_id.is_some()) {
        return Err(RpcError::invalid_params("firstKeptEntryId", "nothing where `summary.firstKeptEntryId` is given"));
    }
    let (session, open) = (access.session(), access.open());
    let (compaction, tools) = (order.compaction_of(projection), order.settings.file_tools());
    let prepared = Preparation::at(projection, session.leaf_id(), first_kept, compaction, &tools);
    chosen_cut(session, open, first_kept, prepared)
}

/// The messages of the context from `first_kept` on.
pub(crate) fn kept(projection: &Projection, first_kept: &EntryId) -> Vec<PreparedMessage> {
    let kept = projection.entries().iter().skip_while(|projected| projected.entry.id() != first_kept);
    kept.flat_map(|projected| {
        let prepared = |message: &Arc<Message>| PreparedMessage {
            entry_id: projected.entry.id().clone(),
            message: Arc::clone(message),
        };
        projected.messages.iter().map(prepared)
    })
    .collect()
}

/// Estimated tokens of the context before `first_kept`, an earlier summary included; `None` where
/// that entry is not in the context.
fn replaced_tokens(projection: &Projection, first_kept: &EntryId) -> Option<u64> {
    let position = projection.entries().iter().position(|projected| projected.entry.id() == first_kept)?;
    let replaced = projection.entries()[..position].iter().flat_map(|projected| &projected.messages);
    Some(replaced.map(|message| message.tokens()).sum())
}

fn check_given(given: &GivenSummary) -> Result<(), RpcError> {
    operation::checked(&given.summary)?;
    operation::details(&FileLists::default(), "{}", given.details.as_ref(), "summary.details")?;
    operation::usage(given.usage.as_ref(), "summary.usage").map(|_| ())
}

/// A cut that the client chose must be on the branch and part no tool call from its result.
fn check_first_kept(access: &SessionAccess<'_>, first_kept: &EntryId, leaf: &EntryId) -> Result<(), RpcError> {
    let (session, open) = (access.session(), access.open());
    let path = "summary.firstKeptEntryId";
    let header = session.entry_header(first_kept).map_err(|error| open.store_error(&error))?;
    header.ok_or_else(|| entry_not_found(open, first_kept))?;
    let is_on_branch = session.is_on_branch(first_kept, Some(leaf)).map_err(|error| open.store_error(&error))?;
    if !is_on_branch {
        return Err(RpcError::invalid_params(path, format!("an entry on the branch that ends at {leaf}")));
    }
    let branch = session.branch_entries(Some(leaf)).map_err(|error| open.store_error(&error))?;
    match cut_point::parted_pair(&branch, first_kept) {
        Some(call_id) => Err(RpcError::invalid_params(
            path,
            format!("an entry that does not part a tool call from its result; {first_kept} parts call {call_id}"),
        )),
        None => Ok(()),
    }
}

/// An error about a client's summary, as one about a hook's.
pub(super) fn of_hook(error: RpcError) -> RpcError {
    match error {
        RpcError::InvalidParams { path, expected } => {
            hooks::wrong(&path.replacen("summary", "compaction", 1), &expected)
        }
        RpcError::EntryNotFound { entry_id, .. } => {
            hooks::wrong("compaction.firstKeptEntryId", &format!("an entry of the session; {entry_id} is none"))
        }
        error => error,
    }
}
