//! The context that a trigger judges, and its size entry by entry.
//!
//! A [`Gauge`] follows appended entries, so a check after each message costs the message and not the context
//! (docs/session-format.md, "Opening").

use std::collections::HashSet;
use std::sync::Arc;

use super::overflow::{may_be_part, overflow_of, read_tokens};
use super::{TriggerInput, TriggerModel};
use crate::entry::{Entry, EntryBody, EntryId, EntryKind};
use crate::message::{Body, Message};
use crate::projection::{ProjectedEntry, Projection};
use crate::settings::{CompactionSettings, EffectiveLimits};
use crate::tokens::{self, ContextTokens};
use crate::undo::Mark;

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
        let stored = input.message.and_then(|message| find(projection, message));
        let last = || last_assistant(projection);
        let (message, position) = match given {
            Some(message) => (Some(message), stored),
            None => last().map_or((None, None), |(message, entry)| (Some(message), Some(entry))),
        };
        let is_new = input.message.is_some() && stored.is_none();
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
fn is_older_than_compaction(projection: &Projection, message: &Message, position: Option<&ProjectedEntry>) -> bool {
    let Some(compaction) = projection.compaction() else {
        return false;
    };
    if let Some(position) = position {
        return position.depth > compaction.depth;
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

/// The size of a context, without its projection.
///
/// It starts from a projection and follows the entries that are appended to its leaf. If an entry
/// changes earlier ones, it gives up, and a new projection is needed.
#[derive(Debug, Clone)]
pub struct Gauge {
    leaf_id: EntryId,
    tokens: ContextTokens,
    /// Whether the numbers describe the present context.
    is_known: bool,
    last_answer: Option<Arc<Message>>,
    /// Estimated tokens of all messages, regardless of reported usage.
    estimated: u64,
    /// Whether the provider may have read only a part of the context for the last answer.
    may_be_truncated: bool,
    /// Targets of context edits. A target may be appended later than its edit.
    edited: Arc<HashSet<EntryId>>,
}

impl Gauge {
    /// The gauge of a context. `None` if the context is empty, or if copies of an undo are still being
    /// appended.
    pub fn of(projection: &Projection) -> Option<Self> {
        let entries = projection.entries();
        let leaf = entries.iter().find(|projected| projected.depth == 0)?;
        // Entries after an undo mark are copies. They count differently until all of them are there.
        if entries.iter().any(|projected| Mark::of(&projected.entry).is_some_and(|mark| projected.depth < mark.entries))
        {
            return None;
        }
        let edited = entries.iter().filter_map(|projected| match projected.entry.body() {
            EntryBody::ContextEdit { target_id, .. } => Some(target_id.clone()),
            _ => None,
        });
        let answers = projection.shared_messages().filter(|message| message.as_assistant().is_some());
        let last_answer = answers.last().cloned();
        let estimated = projection.messages().map(Message::tokens).sum();
        let read = projection.messages().last().and_then(read_tokens);
        Some(Self {
            leaf_id: leaf.entry.id().clone(),
            tokens: tokens::context_tokens(projection),
            is_known: tokens::known_context_tokens(projection).is_some(),
            may_be_truncated: read.is_some_and(|read| may_be_part(read, estimated)),
            last_answer,
            estimated,
            edited: Arc::new(edited.collect()),
        })
    }

    /// The gauge after one more entry at the leaf. `None` if the effect of the entry is unknown.
    pub fn followed_by(mut self, entry: &Entry) -> Option<Self> {
        let follows = entry.header().parent_id.as_ref() == Some(&self.leaf_id);
        let changes_the_past = matches!(entry.kind(), EntryKind::Compaction | EntryKind::ContextEdit);
        if !follows || changes_the_past || self.edited.contains(entry.id()) || Mark::of(entry).is_some() {
            return None;
        }
        for message in entry.context_messages() {
            self.add(message)?;
        }
        self.leaf_id = entry.id().clone();
        Some(self)
    }

    /// Applies the rule of [`tokens::context_tokens`] to a message at the end.
    fn add(&mut self, message: Arc<Message>) -> Option<()> {
        let ContextTokens { usage_tokens, trailing_tokens, .. } = self.tokens;
        let is_estimated = usage_tokens == 0;
        self.tokens = match tokens::trusted_usage(&message) {
            Some(usage) => ContextTokens { tokens: usage, usage_tokens: usage, trailing_tokens: 0 },
            // Without usage, the prompt is the result of all system messages.
            None if is_estimated && matches!(message.body(), Body::System(_)) => return None,
            None => {
                let trailing_tokens = trailing_tokens + message.tokens();
                ContextTokens { tokens: usage_tokens.saturating_add(trailing_tokens), usage_tokens, trailing_tokens }
            }
        };
        self.is_known |= message.is_success();
        let tokens = message.tokens();
        // Later messages say nothing new about an answer, and checking costs the whole context.
        self.may_be_truncated = read_tokens(&message).is_some_and(|read| may_be_part(read, self.estimated));
        if message.as_assistant().is_some() {
            self.last_answer = Some(message);
        }
        self.estimated = self.estimated.saturating_add(tokens);
        Some(())
    }

    /// The leaf of the context.
    pub fn leaf_id(&self) -> &EntryId {
        &self.leaf_id
    }

    /// Tokens of the context, if known: see [`tokens::known_context_tokens`].
    pub fn known_tokens(&self) -> Option<u64> {
        self.is_known.then_some(self.tokens.tokens)
    }

    /// Whether [`super::check_compaction`] could ask for a compaction after an answer or result at the
    /// leaf. If so, it has to be called.
    pub fn may_be_due(&self, model: &TriggerModel<'_>, settings: &CompactionSettings) -> bool {
        let threshold = EffectiveLimits::for_window(model.effective_window(), settings).threshold;
        let overflowed = |answer: &Arc<Message>| overflow_of(answer, model, threshold).is_some();
        let is_over = self.tokens.tokens > threshold || self.may_be_truncated;
        settings.enabled && is_over || self.last_answer.as_ref().is_some_and(overflowed)
    }
}
