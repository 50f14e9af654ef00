//! `appendMessage`, `appendMessages`, `appendEntry`, `setLabel`, `pinEntry`, `getPins`.

use std::sync::{Arc, Mutex, PoisonError};

use compaction_core::entry::{Entry, EntryId, EntryKind, Role};
use compaction_core::formats::Converted;
use compaction_core::json::RawObject;
use compaction_core::pins::{self, Pins, pin_members};
use compaction_engine::context::{entry_not_found, pins_of};
use compaction_engine::session::SessionAccess;
use compaction_engine::{AppendOutcome, Engine, EngineError};
use session_store::{Appended, NewEntry, Parent, Precondition};

use super::messages::{self, SubmittedMessages, append_with_one_write};
use super::read::branch_end;
use crate::call::{CallContext, blocking};
use crate::convert;
use crate::errors::RpcError;
use crate::params::SHORT_BYTES;
use crate::wire::{self, *};

/// Appends a message at the leaf.
pub(crate) async fn append_message(
    call: CallContext,
    params: AppendMessageParams,
) -> Result<AppendMessageResult, RpcError> {
    let is_short = params.message.get().len() <= SHORT_BYTES && params.format.unwrap_or_default() == MessageFormat::Pi;
    let given = SubmittedMessages::one(params.message, params.format);
    let (appended, outcome) = append_given(&call, given, params.expected_leaf_id, is_short).await?;
    let mut ids = appended.ids;
    let leaf_id = ids.last().cloned().unwrap_or_default();
    if ids.len() == 1 {
        ids.clear();
    }
    let (context_usage, compaction) = (outcome.usage.map(convert::usage), outcome.compaction.map(convert::due));
    Ok(AppendMessageResult { entry_id: leaf_id.clone(), entry_ids: ids, leaf_id, context_usage, compaction })
}

/// Appends messages at the leaf, with one write.
pub(crate) async fn append_messages(
    call: CallContext,
    params: AppendMessagesParams,
) -> Result<AppendMessagesResult, RpcError> {
    if params.messages.is_empty() {
        return Err(RpcError::invalid_params("messages", "at least one message"));
    }
    let given = SubmittedMessages::list(params.messages, params.format)?;
    let (appended, outcome) = append_given(&call, given, params.expected_leaf_id, false).await?;
    Ok(AppendMessagesResult {
        leaf_id: appended.ids.last().cloned().unwrap_or_default(),
        entry_ids: appended.ids,
        sources: appended.sources,
        context_usage: outcome.usage.map(convert::usage),
        compaction: outcome.compaction.map(convert::due),
    })
}

/// The entries that the messages became, and the position of the message of each entry.
struct AppendedMessages {
    ids: Vec<String>,
    sources: Vec<u64>,
}

/// Appends messages, and begins the compaction that they make due.
async fn append_given(
    call: &CallContext,
    given: SubmittedMessages,
    expected_leaf_id: Option<String>,
    is_short: bool,
) -> Result<(AppendedMessages, AppendOutcome), RpcError> {
    // Wrong messages are refused before the call waits for its turn. Long messages are checked on a thread.
    let given = if is_short { given.checked()? } else { blocking(move || given.checked()).await? };
    let due = Arc::new(Mutex::new(None));
    let begun = Arc::clone(&due);
    let append = move |access: &mut SessionAccess<'_>| {
        let converted = given.into_stored(access)?;
        let sources = converted.iter().map(|converted| converted.source as u64).collect();
        let appended = append_converted(access, converted, &leaf_is(expected_leaf_id))?;
        let mut outcome = Engine::after_append(access, &appended.entry);
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = outcome.begun.take();
        let ids = appended.entries().map(|entry| entry.id().to_string()).collect();
        Ok((AppendedMessages { ids, sources }, outcome))
    };
    let appended = if is_short { call.write_briefly(append).await } else { call.write(append).await };
    // A compaction that was announced must end, even if the disk has refused the message since.
    let due = due.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(due) = due {
        // Nothing waits for the task: a notification reports its end.
        drop(call.server.engine()?.start_compaction(due));
    }
    appended
}

fn append_converted(
    access: &mut SessionAccess<'_>,
    mut converted: Vec<Converted>,
    condition: &Precondition,
) -> Result<Appended, EngineError> {
    if converted.len() == 1
        && let Some(Converted { message, .. }) = converted.pop()
    {
        let new = NewEntry::message(Arc::new(message));
        return access.append(|session| session.append_if(new, Parent::Leaf, condition));
    }
    access.append(|session| append_with_one_write(session, &[], converted, condition))
}

/// Appends an entry that is not a message at the leaf.
pub(crate) async fn append_entry(call: CallContext, params: AppendEntryParams) -> Result<AppendedResult, RpcError> {
    let appended = call.write(move |access| {
        let entry = RawObject::parse(params.entry.get())
            .map_err(|_| RpcError::invalid_params("entry", "an object with a string type"))?;
        let kind = messages::check_members(&entry)?;
        if kind == "context_edit" {
            check_edit(&entry, access)?;
        }
        let (new, condition) = (NewEntry::new(&kind, params.entry.get()), leaf_is(params.expected_leaf_id));
        Ok(appended(&access.append(|session| session.append_if(new, Parent::Leaf, &condition))?.entry))
    });
    appended.await
}

fn leaf_is(expected_leaf_id: Option<String>) -> Precondition {
    match expected_leaf_id {
        Some(leaf_id) => Precondition::LeafIs(Some(EntryId::new(leaf_id))),
        None => Precondition::None,
    }
}

/// The result for an appended entry, which is the leaf.
pub(crate) fn appended(entry: &compaction_core::entry::Entry) -> AppendedResult {
    AppendedResult { entry_id: entry.id().to_string(), leaf_id: entry.id().to_string() }
}

/// Fails unless the edit hides or rewrites an entry of the current branch that the model sees.
fn check_edit(edit: &RawObject<'_>, access: &SessionAccess<'_>) -> Result<(), RpcError> {
    messages::check_replacement(edit)?;
    let target = EntryId::new(edit.string("targetId").unwrap_or_default());
    let (session, open) = (access.session(), access.open());
    let header = session.entry_header(&target).map_err(|error| open.store_failure(error))?;
    let header = header.ok_or_else(|| entry_not_found(open, &target))?;
    let is_on_branch = session.is_on_branch(&target, session.leaf_id()).map_err(|error| open.store_failure(error))?;
    let is_shown = header.kind == EntryKind::CustomMessage
        || matches!(header.role, Some(Role::User | Role::Assistant | Role::ToolResult));
    if is_on_branch && is_shown {
        return Ok(());
    }
    Err(RpcError::invalid_params(
        "entry.targetId",
        "an entry on the current branch: a user, assistant or toolResult message, or a custom_message",
    ))
}

/// Sets or clears the label of an entry.
pub(crate) async fn set_label(call: CallContext, params: SetLabelParams) -> Result<AppendedResult, RpcError> {
    call.write(move |access| {
        let target = EntryId::new(params.target_id);
        Ok(appended(&access.append(|session| session.set_label(&target, params.label.as_deref()))?.entry))
    })
    .await
}

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
    let entry = access.session().entry(&id).map_err(|error| access.open().store_failure(error))?;
    let mut pins = pins_of(access.session(), access.open(), access.session().leaf_id())?;
    if params.pinned != pins.contain(&id) {
        if params.pinned {
            check_pin(access, &entry, &pins, max_tokens)?;
        }
        let members = pin_members(&id, params.pinned);
        access.append(|session| session.append(NewEntry::new("custom", &members), Parent::Leaf))?;
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

/// Fails unless the entry is on the path, has text, and fits beside the other pins.
fn check_pin(access: &SessionAccess<'_>, entry: &Entry, pins: &Pins, max_tokens: u64) -> Result<(), RpcError> {
    let (session, open) = (access.session(), access.open());
    let is_on_path = session.is_on_branch(entry.id(), session.leaf_id()).map_err(|error| open.store_failure(error))?;
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

/// Returns the pinned entries of a branch.
pub(crate) async fn get_pins(call: CallContext, params: GetPinsParams) -> Result<GetPinsResult, RpcError> {
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
