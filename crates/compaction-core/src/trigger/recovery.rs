//! Allows one overflow recovery for each request of a person (docs/triggers.md, "Guards").

use super::overflowing::overflow_of;
use super::{TriggerInput, has_stop_reason, is_from_model};
use crate::entry::{EntryId, Role};
use crate::json::RawObject;
use crate::message::Message;
use crate::projection::{ProjectedEntry, Projection};
use crate::tokens::is_success;

const STILL_TOO_LARGE: &str = "the context is still too large for the model after one compaction: \
     reduce the context or pick a model with a larger window";
/// A cut answer is not a refused context, and the advice says which it was (docs/triggers.md,
/// "Guards").
const STILL_CUT_OFF: &str = "the answer was cut off once more after one compaction, since the window was full: \
     reduce the context or pick a model with a larger window";
const NOT_COMPACTED: &str = "the context is too large for the model and compacting it did not succeed: \
     reduce the context or pick a model with a larger window";

/// The advice for a person if `message` overflowed although a recovery was tried since the last user
/// message. `None` if none was tried. An answer that came through since then proves that the recovery
/// helped, so the next overflow is a new one.
pub(super) fn advice(input: &TriggerInput<'_>, message: &Message, threshold: u64) -> Option<&'static str> {
    let is_last = |tried: &ProjectedEntry| !is_over(input, tried.depth, threshold);
    let compaction = input.projection.compaction().filter(|compaction| !is_for_threshold(compaction));
    if compaction.is_some_and(is_last) {
        return Some(if has_stop_reason(message, "length") { STILL_CUT_OFF } else { STILL_TOO_LARGE });
    }
    let failed = input.failed_recovery.and_then(|answer| find(input.projection, answer));
    failed.is_some_and(is_last).then_some(NOT_COMPACTED)
}

fn find<'a>(projection: &'a Projection, id: &EntryId) -> Option<&'a ProjectedEntry> {
    projection.entries().iter().rev().find(|projected| projected.entry.id() == id)
}

/// Whether, after the entry at `depth`, a person asked again or a request came through.
fn is_over(input: &TriggerInput<'_>, depth: usize, threshold: u64) -> bool {
    let mut later = input.projection.entries().iter().filter(|projected| projected.depth < depth);
    later.any(|projected| {
        projected.entry.header().role == Some(Role::User)
            || projected.messages.iter().any(|message| went_through(input, message, threshold))
    })
}

/// Whether `message` is an answer to a context that fitted. An answer that overflowed is not, whatever
/// its stop reason: it is what the recovery was for.
fn went_through(input: &TriggerInput<'_>, message: &Message, threshold: u64) -> bool {
    // An answer may have been aborted before the model saw anything.
    let is_answer = is_success(message);
    let overflowed = || overflow_of(message, &input.model, threshold).is_some();
    is_answer && !(is_from_model(message, &input.model) && overflowed())
}

/// Whether the entry says that the threshold caused it. Such a compaction was no recovery.
fn is_for_threshold(compaction: &ProjectedEntry) -> bool {
    let details = compaction.entry.compaction().and_then(|compaction| compaction.details.as_ref());
    let own = details.and_then(|details| RawObject::parse(details.get()).ok()?.get("compactd").map(str::to_owned));
    let reason = own.and_then(|own| RawObject::parse(&own).ok()?.string("reason"));
    reason.as_deref() == Some("threshold")
}
