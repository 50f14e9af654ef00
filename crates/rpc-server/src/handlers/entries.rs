//! `appendMessage`, `appendMessages`, `appendEntry`, `getEntry`, `getEntries`, `getBranch`, `getTree`, `setLabel`.

use std::sync::{Arc, Mutex, PoisonError};

use compaction_core::entry::{Entry, EntryId, EntryKind, Role};
use compaction_core::formats::Converted;
use compaction_core::json::RawObject;
use compaction_engine::{AppendOutcome, Engine};
use session_store::{NewEntry, Parent, Precondition, Session};

use super::formats::Given;
use super::new_entries;
use crate::call::{CallContext, blocking};
use crate::convert;
use crate::errors::RpcError;
use crate::session::{OpenSession, SessionAccess, StoreErrors as _};
use crate::wire::{self, *};

/// Bytes of a message that is written without a thread of its own.
const SHORT_BYTES: usize = 1 << 16;

/// Appends a message at the leaf.
pub(crate) async fn append_message(
    call: CallContext,
    params: AppendMessageParams,
) -> Result<AppendMessageResult, RpcError> {
    let is_short = params.message.get().len() <= SHORT_BYTES && params.format.unwrap_or_default() == MessageFormat::Pi;
    let given = Given::one(params.message, params.format);
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
    let given = Given::list(params.messages, params.format)?;
    let (appended, outcome) = append_given(&call, given, params.expected_leaf_id, false).await?;
    Ok(AppendMessagesResult {
        leaf_id: appended.ids.last().cloned().unwrap_or_default(),
        entry_ids: appended.ids,
        sources: appended.sources,
        context_usage: outcome.usage.map(convert::usage),
        compaction: outcome.compaction.map(convert::due),
    })
}

/// The entries that messages became, and the positions of the messages.
struct AppendedMessages {
    ids: Vec<String>,
    sources: Vec<u64>,
}

/// Appends what a caller gave, and begins the compaction that it makes due.
async fn append_given(
    call: &CallContext,
    given: Given,
    expected_leaf_id: Option<String>,
    is_short: bool,
) -> Result<(AppendedMessages, AppendOutcome), RpcError> {
    // What is wrong is refused before the call waits for its turn, and off the server's loop if it is long.
    let given = if is_short { given.checked()? } else { blocking(move || given.checked()).await? };
    let due = Arc::new(Mutex::new(None));
    let begun = Arc::clone(&due);
    let append = move |access: &mut SessionAccess<'_>| {
        let converted = given.into_stored(access)?;
        let entries = append_converted(access, &converted, expected_leaf_id)?;
        let mut outcome = match entries.last() {
            Some(last) => Engine::after_append(access, last),
            None => AppendOutcome::default(),
        };
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = outcome.begun.take();
        let ids = entries.iter().map(|entry| entry.id().to_string()).collect();
        let sources = converted.iter().map(|converted| converted.source as u64).collect();
        Ok((AppendedMessages { ids, sources }, outcome))
    };
    let appended = if is_short { call.write_briefly(append).await } else { call.write(append).await };
    // What was told to have started must end, also if the disk has refused the message since.
    let due = due.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(due) = due {
        // Nobody waits for it, since its end is told by a notification.
        drop(call.server.engine()?.start_compaction(due));
    }
    appended
}

fn append_converted(
    access: &mut SessionAccess<'_>,
    converted: &[Converted],
    expected_leaf_id: Option<String>,
) -> Result<Vec<Arc<Entry>>, RpcError> {
    let members = message_members(converted);
    if let [members] = members.as_slice() {
        return append(access, NewEntry::new("message", members), expected_leaf_id).map(|entry| vec![entry]);
    }
    let new: Vec<NewEntry<'_>> = members.iter().map(|members| NewEntry::new("message", members)).collect();
    let condition = leaf_is(expected_leaf_id);
    Ok(access.append_all_with(|session| session.append_all(&new, Parent::Leaf, &condition))?)
}

/// The members of the entries that hold these messages.
pub(super) fn message_members(converted: &[Converted]) -> Vec<String> {
    converted.iter().map(|converted| format!("{{\"message\":{}}}", converted.message.raw().get())).collect()
}

/// Appends an entry that is no message at the leaf.
pub(crate) async fn append_entry(call: CallContext, params: AppendEntryParams) -> Result<AppendedResult, RpcError> {
    let appended = call.write(move |access| {
        let entry = RawObject::parse(params.entry.get())
            .map_err(|_| RpcError::invalid_params("entry", "an object with a string type"))?;
        let kind = new_entries::check_members(&entry)?;
        if kind == "context_edit" {
            check_edit(&entry, access)?;
        }
        append(access, NewEntry::new(&kind, params.entry.get()), params.expected_leaf_id).map(|entry| appended(&entry))
    });
    appended.await
}

fn append(
    access: &mut SessionAccess<'_>,
    new: NewEntry<'_>,
    expected_leaf_id: Option<String>,
) -> Result<Arc<Entry>, RpcError> {
    Ok(access.append(new, Parent::Leaf, &leaf_is(expected_leaf_id))?)
}

fn leaf_is(expected_leaf_id: Option<String>) -> Precondition {
    match expected_leaf_id {
        Some(leaf_id) => Precondition::LeafIs(Some(EntryId::new(leaf_id))),
        None => Precondition::None,
    }
}

/// The result for an entry that was appended and so is the leaf.
pub(crate) fn appended(entry: &compaction_core::entry::Entry) -> AppendedResult {
    AppendedResult { entry_id: entry.id().to_string(), leaf_id: entry.id().to_string() }
}

/// An edit must hide or rewrite an entry on the branch that shows something to the model.
fn check_edit(edit: &RawObject<'_>, access: &SessionAccess<'_>) -> Result<(), RpcError> {
    new_entries::check_replacement(edit)?;
    let target = EntryId::new(edit.string("targetId").unwrap_or_default());
    let (session, open) = (access.session(), access.open());
    let header = session.entry_header(&target).map_err(|error| open.store_error(&error))?;
    let header = header.ok_or_else(|| entry_not_found(open, &target))?;
    let is_on_branch = session.is_on_branch(&target, session.leaf_id()).map_err(|error| open.store_error(&error))?;
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

/// The error for an id that the session does not have.
pub(crate) fn entry_not_found(open: &OpenSession, id: &EntryId) -> RpcError {
    RpcError::EntryNotFound { session_id: open.id.clone(), entry_id: id.to_string() }
}

/// Gives one entry.
pub(crate) async fn get_entry(call: CallContext, params: EntryParams) -> Result<GetEntryResult, RpcError> {
    call.read(move |session, open| {
        let entry = session.entry(&EntryId::new(params.entry_id)).map_err(|error| open.store_error(&error))?;
        Ok(GetEntryResult { entry: convert::entry(&entry) })
    })
    .await
}

/// Ids that a call may name: a name is short and an entry may be long.
const MAX_IDS: usize = 1000;

/// Gives entries in file order, or those that are named.
pub(crate) async fn get_entries(call: CallContext, params: GetEntriesParams) -> Result<EntriesResult, RpcError> {
    if params.ids.as_ref().is_some_and(|ids| ids.len() > MAX_IDS) {
        return Err(RpcError::invalid_params("ids", "at most 1000 ids"));
    }
    call.read(move |session, open| {
        let since = params.cursor.or(params.since).map(EntryId::new);
        let limit = params.limit.map(|limit| limit as usize);
        let ids: Option<Vec<EntryId>> = params.ids.map(|ids| ids.into_iter().map(EntryId::new).collect());
        let is_list = ids.is_none();
        let entries = match ids {
            Some(ids) => session.entries_by_id(&ids),
            // One more tells whether there are more.
            None => session.entries(since.as_ref(), limit.map(|limit| limit.saturating_add(1))),
        };
        let mut entries = entries.map_err(|error| open.store_error(&error))?;
        let limit = limit.filter(|limit| is_list && entries.len() > *limit);
        entries.truncate(limit.unwrap_or(entries.len()));
        let next_cursor = limit.and_then(|_| entries.last()).map(|entry| entry.id().to_string());
        Ok(EntriesResult { entries: entries.iter().map(convert::entry).collect(), next_cursor })
    })
    .await
}

/// Gives the entries from the root to a leaf.
pub(crate) async fn get_branch(call: CallContext, params: GetBranchParams) -> Result<EntriesResult, RpcError> {
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let entries = session.branch_entries(leaf.as_ref()).map_err(|error| open.store_error(&error))?;
        Ok(EntriesResult { entries: entries.iter().map(convert::entry).collect(), next_cursor: None })
    })
    .await
}

/// The end of a branch that a caller named, or the leaf.
pub(crate) fn branch_end(
    session: &Session,
    open: &OpenSession,
    leaf_id: Option<String>,
) -> Result<Option<EntryId>, RpcError> {
    let Some(leaf_id) = leaf_id.map(EntryId::new) else {
        return Ok(session.leaf_id().cloned());
    };
    match session.entry_header(&leaf_id).map_err(|error| open.store_error(&error))? {
        Some(_) => Ok(Some(leaf_id)),
        None => Err(entry_not_found(open, &leaf_id)),
    }
}

/// Gives the tree as a flat list.
pub(crate) async fn get_tree(call: CallContext, _: SessionParams) -> Result<GetTreeResult, RpcError> {
    call.read(|session, open| {
        let nodes = session.tree().map_err(|error| open.store_error(&error))?;
        let nodes = nodes.into_iter().map(tree_node).collect();
        Ok(GetTreeResult { leaf_id: convert::id(session.leaf_id()), nodes })
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

/// Sets or clears the label of an entry.
pub(crate) async fn set_label(call: CallContext, params: SetLabelParams) -> Result<AppendedResult, RpcError> {
    call.write(move |access| {
        let target = EntryId::new(params.target_id);
        let entry = access.append_with(|session| session.set_label(&target, params.label.as_deref()))?;
        Ok(appended(&entry))
    })
    .await
}
