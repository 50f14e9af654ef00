//! Where a compaction cuts, and what it takes out of the context there.

use std::sync::Arc;

use compaction_core::cut_point;
use compaction_core::entry::EntryId;
use compaction_core::file_operations::FileOperations;
use compaction_core::message::Message;
use compaction_core::pins::Pins;
use compaction_core::preparation::{Preparation, PreparedMessage, Refusal};
use compaction_core::projection::Projection;

use super::Order;
use super::account::Part;
use super::balance::Balance;
use crate::call::change;
use crate::errors::RpcError;
use crate::handlers::compaction::chosen_cut;
use crate::handlers::context::project;
use crate::handlers::entries::entry_not_found;
use crate::handlers::pins::pins_of;
use crate::hooks;
use crate::operation::{self, SummaryOperation};
use crate::session::SessionAccess;
use crate::summarizers::Redactions;
use crate::wire::GivenSummary;

/// What is to be summarised, or what the client has summarised, and where the cut is.
pub(super) struct Plan {
    pub(super) first_kept_entry_id: EntryId,
    pub(super) leaf_id: EntryId,
    /// Tokens of the context.
    pub(super) tokens_before: u64,
    pub(super) preparation: Preparation,
    /// What goes and what stays, in tokens.
    pub(super) balance: Balance,
    /// The messages that stay.
    pub(super) kept: Vec<PreparedMessage>,
}

/// A plan without secrets.
pub(super) struct Told {
    /// What goes.
    pub(super) preparation: Arc<Preparation>,
    /// What stays.
    kept: Vec<PreparedMessage>,
    balance: Balance,
    /// Secrets that were taken out of what goes.
    pub(super) redactions: Redactions,
}

impl Told {
    /// What goes and what stays.
    pub(super) fn part<'a>(&'a self, order: &'a Order) -> Part<'a> {
        Part { preparation: &self.preparation, kept: &self.kept, balance: self.balance, order }
    }
}

impl Plan {
    /// Plans the compaction that was ordered.
    pub(super) fn of(access: &SessionAccess<'_>, order: &Order) -> Result<Self, RpcError> {
        let whole = project(access.session(), access.open(), access.session().leaf_id())?;
        let hidden = order.hidden(&whole);
        let projection = whole.hiding(&hidden);
        let leaf = access.session().leaf_id();
        let pins = pins_of(access.session(), access.open(), leaf)?;
        let preparation = match &order.first_kept {
            Some(first_kept) => prepare_at(access, order, &projection, first_kept)?,
            None => order.prepare(&projection, leaf, &pins).or_else(|refusal| match refusal {
                // Messages that came while the last summary was written lie before its compaction,
                // and may be too many all the same: the attempt that failed is what follows it.
                Refusal::AlreadyCompacted { .. } if !hidden.is_empty() => order.prepare(&whole, leaf, &pins),
                refusal => Err(refusal),
            }),
        };
        match &order.summary {
            None => {
                let plan = Self::prepared(order, preparation?, &projection, &pins);
                order.check_worth(&plan.balance)?;
                Ok(plan)
            }
            Some(given) => Self::given(access, order, given, (&projection, &pins), preparation),
        }
    }

    /// Fails where the result of a call that is about to go came after the compaction was planned: a
    /// model would never see it.
    pub(super) fn check_later_results(&self, access: &SessionAccess<'_>, order: &Order) -> Result<(), RpcError> {
        let leaf = access.session().leaf_id();
        if leaf == Some(&self.leaf_id) {
            return Ok(());
        }
        let context = project(access.session(), access.open(), leaf)?;
        let context = context.hiding(&order.hidden(&context));
        let call_id = cut_point::answered_since(context.entries(), &self.first_kept_entry_id, &self.leaf_id);
        call_id.map_or(Ok(()), |call_id| {
            let (expected, actual) = (Some(self.leaf_id.to_string()), leaf.map(ToString::to_string));
            Err(RpcError::ResultCame { call_id, expected, actual })
        })
    }

    /// What goes and what stays, as summarizers and facts may tell of it. It reads all messages, so that
    /// it belongs on a thread for blocking work.
    pub(super) fn told(&self, order: &Order) -> Told {
        let Some(redactor) = order.settings.redaction().redactor() else {
            let (preparation, kept) = (Arc::new(self.preparation.clone()), self.kept.clone());
            return Told { preparation, kept, balance: self.balance, redactions: Redactions::new() };
        };
        let (preparation, redactions) = redactor.preparation(&self.preparation);
        let mut kept = self.kept.clone();
        redactor.messages(&mut kept);
        Told { preparation: Arc::new(preparation), kept, balance: self.balance, redactions }
    }

    fn prepared(order: &Order, preparation: Preparation, projection: &Projection, pins: &Pins) -> Self {
        let first_kept = &preparation.first_kept_entry_id;
        Self {
            first_kept_entry_id: preparation.first_kept_entry_id.clone(),
            leaf_id: preparation.leaf_id.clone(),
            tokens_before: preparation.tokens_before,
            balance: Balance::of(projection, first_kept, pins, order.measure(projection)),
            kept: kept(projection, first_kept),
            preparation,
        }
    }

    /// Checks a summary that the client wrote, and the cut that it chose, if it did.
    fn given(
        access: &SessionAccess<'_>,
        order: &Order,
        given: &GivenSummary,
        (projection, pins): (&Projection, &Pins),
        preparation: Result<Preparation, Refusal>,
    ) -> Result<Self, RpcError> {
        check_given(given)?;
        let (Some(first_kept), Some(leaf)) = (&given.first_kept_entry_id, access.session().leaf_id()) else {
            return Ok(Self::prepared(order, preparation?, projection, pins));
        };
        let first_kept = EntryId::new(first_kept.as_str());
        check_first_kept(access, &first_kept, leaf, &order.hidden(projection))?;
        Ok(Self::at_given_cut(order, (projection, pins), leaf, &first_kept))
    }

    /// The plan for a summary that somebody has written, with a cut of their own.
    fn at_given_cut(
        order: &Order,
        (projection, pins): (&Projection, &Pins),
        leaf: &EntryId,
        first_kept: &EntryId,
    ) -> Self {
        let (compaction, tools) = (order.compaction_of(projection), order.settings.file_tools());
        let given = Preparation::of_given(projection, leaf, first_kept, compaction, &tools);
        Self::prepared(order, given, projection, pins)
    }

    /// Takes over the cut that a hook chose, once it is checked.
    pub(super) async fn accept(
        &mut self,
        operation: &SummaryOperation,
        given: &GivenSummary,
        order: &Arc<Order>,
    ) -> Result<(), RpcError> {
        check_given(given).map_err(of_hook)?;
        if let Some(first_kept) = &given.first_kept_entry_id {
            let first_kept = EntryId::new(first_kept.as_str());
            let (leaf, order) = (self.leaf_id.clone(), Arc::clone(order));
            let (session, guard) = operation.session_turn().await?;
            let check = move |access: &mut SessionAccess<'_>| {
                let projection = project(access.session(), access.open(), Some(&leaf))?;
                let hidden = order.hidden(&projection);
                check_first_kept(access, &first_kept, &leaf, &hidden)?;
                let pins = pins_of(access.session(), access.open(), Some(&leaf))?;
                Ok(Self::at_given_cut(&order, (&projection.hiding(&hidden), &pins), &leaf, &first_kept))
            };
            let plan = change(Arc::clone(&operation.server), session, guard, check).await;
            *self = plan.map_err(of_hook)?;
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

/// The messages of the context from `first_kept` on; all but the summary of the last compaction where
/// that entry lies before them.
pub(crate) fn kept(projection: &Projection, first_kept: &EntryId) -> Vec<PreparedMessage> {
    let entries = projection.entries();
    let position = entries.iter().position(|projected| projected.entry.id() == first_kept);
    let kept = &entries[position.unwrap_or(usize::from(projection.compaction().is_some()))..];
    kept.iter()
        .flat_map(|projected| {
            let prepared = |message: &Arc<Message>| PreparedMessage {
                entry_id: projected.entry.id().clone(),
                message: Arc::clone(message),
            };
            projected.messages.iter().map(prepared)
        })
        .collect()
}

fn check_given(given: &GivenSummary) -> Result<(), RpcError> {
    operation::checked(&given.summary)?;
    operation::details(&FileOperations::default(), "{}", given.details.as_ref(), "summary.details").map(|_| ())
}

/// A cut that the client chose must be on the branch and part no tool call from its result, also not
/// from one that has yet to come, unless the answer that made the call is about to be hidden.
fn check_first_kept(
    access: &SessionAccess<'_>,
    first_kept: &EntryId,
    leaf: &EntryId,
    hidden: &[EntryId],
) -> Result<(), RpcError> {
    let (session, open) = (access.session(), access.open());
    let path = "summary.firstKeptEntryId";
    let header = session.entry_header(first_kept).map_err(|error| open.store_error(&error))?;
    header.ok_or_else(|| entry_not_found(open, first_kept))?;
    let is_on_branch = session.is_on_branch(first_kept, Some(leaf)).map_err(|error| open.store_error(&error))?;
    if !is_on_branch {
        return Err(RpcError::invalid_params(path, format!("an entry on the branch that ends at {leaf}")));
    }
    let branch = session.branch_entries(Some(leaf)).map_err(|error| open.store_error(&error))?;
    let parts = |what: String| {
        let expected = format!("an entry that does not part a tool call from its result; {first_kept} parts {what}");
        Err(RpcError::invalid_params(path, expected))
    };
    if let Some(call_id) = cut_point::parted_pair(&branch, first_kept) {
        return parts(format!("call {call_id}"));
    }
    match cut_point::awaited_before(&branch, first_kept).filter(|call| !hidden.contains(&call.entry_id)) {
        Some(call) => parts(format!("call {} from the one that has not come yet", call.call_id)),
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
