//! Tool calls whose results have not arrived.
//!
//! Only calls of the last answer on a path still get a result. An answer that failed or was aborted
//! expects none, and a later answer means that earlier calls were given up.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::entry::{Entry, EntryBody, EntryId, Replacement};
use crate::message::Message;
use crate::projection::ProjectedEntry;
use crate::tokens::is_success;

/// A tool call whose result has not arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCall {
    /// The entry of the answer that made it.
    pub entry_id: EntryId,
    /// The call.
    pub call_id: String,
}

/// The first call of the last answer on `path` (root first) that has no result yet. `None` if that
/// answer failed, was aborted or is hidden, or if there is no such call.
pub(crate) fn on_path(path: &[Arc<Entry>]) -> Option<(usize, PendingCall)> {
    let last = LastAnswer::of(path.iter())?;
    let message = match last.edit {
        Some(Replacement::Hidden) => return None,
        Some(Replacement::Content(content)) => Arc::new(last.message.with_content(content)),
        Some(Replacement::Invalid) | None => Arc::clone(last.message),
    };
    last.pending(&[message])
}

/// The same for the entries of a context.
pub(crate) fn in_context(context: &[ProjectedEntry]) -> Option<(usize, PendingCall)> {
    let last = LastAnswer::of(context.iter().map(|projected| &projected.entry))?;
    last.pending(&context[last.position].messages)
}

/// The last answer of a path, if its calls may still get results.
struct LastAnswer<'a> {
    position: usize,
    entry_id: &'a EntryId,
    message: &'a Arc<Message>,
    /// The last edit of it.
    edit: Option<&'a Replacement>,
    /// Calls that were answered after it.
    answered: HashSet<&'a str>,
}

impl<'a> LastAnswer<'a> {
    fn of(path: impl DoubleEndedIterator<Item = &'a Arc<Entry>> + ExactSizeIterator) -> Option<Self> {
        let mut answered = HashSet::new();
        let mut edits: HashMap<&EntryId, &Replacement> = HashMap::new();
        for (position, entry) in path.enumerate().rev() {
            if let EntryBody::ContextEdit { target_id, replacement } = entry.body() {
                edits.entry(target_id).or_insert(replacement);
            }
            let Some(message) = entry.message() else { continue };
            answered.extend(message.answered_call_id());
            if message.as_assistant().is_some() {
                let edit = edits.get(entry.id()).copied();
                return is_success(message).then_some(Self { position, entry_id: entry.id(), message, edit, answered });
            }
        }
        None
    }

    /// The first call in `shown`, the answer after edits, that has no result, with the position of the
    /// answer.
    fn pending(&self, shown: &[Arc<Message>]) -> Option<(usize, PendingCall)> {
        let mut calls = shown.iter().flat_map(|message| message.tool_call_ids());
        let call_id = calls.find(|id| !self.answered.contains(id))?.to_owned();
        Some((self.position, PendingCall { entry_id: self.entry_id.clone(), call_id }))
    }
}
