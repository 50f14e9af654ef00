//! The message and context that a trigger judges.

use super::TriggerInput;
use crate::entry::EntryKind;
use crate::message::{Body, Message};
use crate::projection::{ProjectedEntry, Projection};
use crate::tokens;

/// The judged message and its context.
pub(super) struct Subject<'a> {
    /// The assistant message, if there is one.
    pub(super) message: Option<&'a Message>,
    /// The depth of its entry, if it is in the context.
    pub(super) depth: Option<usize>,
    /// Whether it was given as the message that has just arrived.
    pub(super) is_after_run: bool,
    /// Whether it is older than the last compaction.
    pub(super) is_stale: bool,
    /// Tokens of the context, including the message if it is not stored yet.
    pub(super) context_tokens: u64,
    /// Whether an entry with a message follows the last compaction, or there is no compaction.
    pub(super) follows_compaction: bool,
}

impl<'a> Subject<'a> {
    /// Finds the subject of `input`.
    pub(super) fn of(input: &TriggerInput<'a>) -> Self {
        let projection = input.projection;
        let given = input.message.filter(|message| message.as_assistant().is_some());
        let placed = input.message.and_then(|message| find(projection, message));
        let last = || last_assistant(projection);
        let (message, position) = match given {
            Some(message) => (Some(message), placed),
            None => last().map_or((None, None), |(message, entry)| (Some(message), Some(entry))),
        };
        let is_new = input.message.is_some() && placed.is_none();
        let is_stale = message.is_some_and(|message| is_older_than_compaction(projection, message, position));
        let pending = input.message.filter(|_| is_new && !(given.is_some() && is_stale));
        Self {
            message,
            depth: position.map(|entry| entry.depth),
            is_after_run: given.is_some(),
            is_stale,
            context_tokens: context_tokens(projection, pending),
            follows_compaction: follows_compaction(projection) || pending.is_some(),
        }
    }
}

/// Tokens of the context with `pending`, a message that is not stored yet, at its end.
fn context_tokens(projection: &Projection, pending: Option<&Message>) -> u64 {
    let stored = || tokens::context_tokens(projection).tokens;
    match pending {
        Some(message) => tokens::trusted_usage(message).unwrap_or_else(|| stored().saturating_add(message.tokens())),
        None => stored(),
    }
}

/// The entry of the context that holds `message`. Clients may send a message that is stored already.
fn find<'a>(projection: &'a Projection, message: &Message) -> Option<&'a ProjectedEntry> {
    let is_same = |stored: &Message| {
        stored.timestamp() == message.timestamp()
            && stored.tokens() == message.tokens()
            && stored.body() == message.body()
    };
    projection.entries().iter().rev().find(|entry| entry.messages.iter().any(|stored| is_same(stored)))
}

fn last_assistant(projection: &Projection) -> Option<(&Message, &ProjectedEntry)> {
    let messages = projection
        .entries()
        .iter()
        .rev()
        .flat_map(|entry| entry.messages.iter().rev().map(move |message| (message.as_ref(), entry)));
    messages.into_iter().find(|(message, _)| matches!(message.body(), Body::Assistant(_)))
}

/// Compares by position on the branch if the message has one, else by time. A message of the same
/// millisecond counts as older than the compaction.
fn is_older_than_compaction(projection: &Projection, message: &Message, place: Option<&ProjectedEntry>) -> bool {
    let Some(compaction) = projection.compaction() else {
        return false;
    };
    if let Some(place) = place {
        return place.depth > compaction.depth;
    }
    match (message.timestamp(), compaction.entry.epoch_milliseconds()) {
        (Some(message), Some(compaction)) => message <= compaction,
        _ => false,
    }
}

fn follows_compaction(projection: &Projection) -> bool {
    projection.compaction().is_none_or(|compaction| {
        let follows = |entry: &ProjectedEntry| {
            entry.depth < compaction.depth && !entry.messages.is_empty() && entry.entry.kind() != EntryKind::Compaction
        };
        projection.entries().iter().any(follows)
    })
}
