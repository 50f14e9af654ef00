//! `pinEntry`, `getPins`.

use compaction_core::entry::{Entry, EntryId};
use compaction_core::pins::{self, Pins, pin_members};
use compaction_engine::context::pins_of;
use session_store::{NewEntry, Parent, Precondition};

use super::entries::branch_end;
use crate::call::CallContext;
use crate::errors::RpcError;
use crate::session::{SessionAccess, StoreErrors as _};
use crate::wire::{self, *};

/// Pins an entry, so that every compaction keeps it verbatim, or unpins it.
pub(crate) async fn pin(call: CallContext, params: PinEntryParams) -> Result<PinEntryResult, RpcError> {
    let max_tokens = call.server.settings_now().await?.pin_tokens();
    call.write(move |access| pin_in_turn(access, &params, max_tokens)).await
}

fn pin_in_turn(
    access: &mut SessionAccess<'_>,
    params: &PinEntryParams,
    max_tokens: u64,
) -> Result<PinEntryResult, RpcError> {
    access.check_writable()?;
    access.refresh()?;
    let id = EntryId::new(params.entry_id.as_str());
    let entry = access.session().entry(&id).map_err(|error| access.open().store_error(&error))?;
    let mut pins = pins_of(access.session(), access.open(), access.session().leaf_id())?;
    if params.pinned != pins.contain(&id) {
        if params.pinned {
            check_pin(access, &entry, &pins, max_tokens)?;
        }
        let members = pin_members(&id, params.pinned);
        access.append(NewEntry::new("custom", &members), Parent::Leaf, &Precondition::None)?;
        pins = pins_of(access.session(), access.open(), access.session().leaf_id())?;
    }
    Ok(PinEntryResult {
        entry_id: params.entry_id.clone(),
        pinned: pins.contain(&id),
        tokens: pins.tokens(),
        pins: list(&pins),
        max_tokens,
    })
}

/// An entry can be pinned that lies on the path, says something and fits beside the others.
fn check_pin(access: &SessionAccess<'_>, entry: &Entry, pins: &Pins, max_tokens: u64) -> Result<(), RpcError> {
    let (session, open) = (access.session(), access.open());
    let is_on_path = session.is_on_branch(entry.id(), session.leaf_id()).map_err(|error| open.store_error(&error))?;
    let pinned = pins::PinnedEntry::of(entry, 0, None).filter(|_| is_on_path).ok_or_else(|| {
        let expected = "an entry on the path to the leaf that gives the model a message with text, and is neither a \
                        system message nor a compaction";
        RpcError::invalid_params("entryId", expected)
    })?;
    let tokens = pins.tokens();
    if tokens.saturating_add(pinned.tokens) > max_tokens {
        let pins = list(pins);
        return Err(RpcError::PinBudgetExceeded { tokens, max_tokens, entry_tokens: pinned.tokens, pins });
    }
    Ok(())
}

/// Gives the pinned entries of a branch.
pub(crate) async fn get(call: CallContext, params: GetPinsParams) -> Result<GetPinsResult, RpcError> {
    let max_tokens = call.server.settings_now().await?.pin_tokens();
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let pins = pins_of(session, open, leaf.as_ref())?;
        Ok(GetPinsResult { tokens: pins.tokens(), pins: list(&pins), max_tokens })
    })
    .await
}

fn list(pins: &Pins) -> Vec<wire::PinnedEntry> {
    let pinned = pins.entries().iter();
    pinned.map(|pinned| wire::PinnedEntry { entry_id: pinned.entry_id.to_string(), tokens: pinned.tokens }).collect()
}
