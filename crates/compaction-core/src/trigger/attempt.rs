//! The last attempt of an agent: its entries, and whether it is finished.

use std::collections::HashSet;

use crate::entry::EntryId;
use crate::message::Message;
use crate::projection::Projection;

/// The entry of the last answer in the context.
pub fn last_answer(projection: &Projection) -> Option<&EntryId> {
    let mut entries = projection.entries().iter().rev();
    let answer = entries.find(|projected| projected.messages.iter().any(|message| message.as_assistant().is_some()));
    answer.map(|projected| projected.entry.id())
}

/// The entries of a failed attempt, in order: its answer and the results of its calls. The next request
/// must have all of them or none (docs/field-reports.md, "Cuts and pairs"). Empty if the answer is not
/// in the context.
///
/// Call ids may be reused, so results after a later call with the same id do not count.
pub fn attempt(projection: &Projection, answer: &EntryId) -> Vec<EntryId> {
    let mut entries = projection.entries().iter().skip_while(|projected| projected.entry.id() != answer);
    let Some(first) = entries.next() else {
        return Vec::new();
    };
    let mut open: HashSet<&str> = first.messages.iter().flat_map(|message| message.tool_call_ids()).collect();
    let mut found = vec![answer.clone()];
    for projected in entries {
        for message in &projected.messages {
            for id in message.tool_call_ids() {
                open.remove(id);
            }
            if message.answered_call_id().is_some_and(|id| open.contains(id)) {
                found.push(projected.entry.id().clone());
            }
        }
    }
    found
}

/// Whether the agent has unfinished work: the last message is a tool result that no answer has seen, or
/// an answer that was cut off (docs/triggers.md, "Recovery").
pub fn is_unfinished(projection: &Projection) -> bool {
    let is_cut = |message: &Message| {
        message.as_assistant().is_some_and(|answer| answer.stop_reason.as_deref() == Some("length"))
    };
    let is_open = |message: &Message| message.role() == "toolResult" || is_cut(message);
    projection.messages().last().is_some_and(is_open)
}
