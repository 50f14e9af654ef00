//! How full a context is, kept up entry by entry: asking after each message costs the message, not
//! the context (docs/session-format.md, "Opening").

use std::collections::HashSet;
use std::sync::Arc;

use super::overflowing::overflow_of;
use super::truncated::{may_be_part, read_tokens};
use super::{EffectiveLimits, TriggerModel};
use crate::entry::{Entry, EntryBody, EntryId, EntryKind};
use crate::message::{Body, Message};
use crate::projection::Projection;
use crate::settings::CompactionSettings;
use crate::tokens::{self, ContextTokens};
use crate::undo::Mark;

/// What a projection says of its size, without the projection.
///
/// It is taken from one and follows the entries that are appended to its leaf. Where an entry
/// changes what came before it, it gives up, and another projection has to be asked.
#[derive(Debug, Clone)]
pub struct Gauge {
    leaf_id: EntryId,
    tokens: ContextTokens,
    /// Whether the numbers are those of the context as it is.
    is_known: bool,
    last_answer: Option<Arc<Message>>,
    /// Estimated tokens of the messages, whatever a provider counted.
    estimated: u64,
    /// Whether the last answer may have been given to a part of the context.
    may_be_truncated: bool,
    /// What edits of the context are about, as that may be an entry that comes later.
    edited: Arc<HashSet<EntryId>>,
}

impl Gauge {
    /// The gauge of a context; `None` for an empty one, or one that is being copied.
    pub fn of(projection: &Projection) -> Option<Self> {
        let entries = projection.entries();
        let leaf = entries.iter().find(|projected| projected.depth == 0)?;
        // The entries that follow a mark are copies, and count otherwise until all of them are there.
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

    /// The gauge with one more entry at the leaf; `None` if it cannot say what that one changes.
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

    /// The rule of [`tokens::context_tokens`], for a message at the end.
    fn add(&mut self, message: Arc<Message>) -> Option<()> {
        let ContextTokens { usage_tokens, trailing_tokens, .. } = self.tokens;
        let is_estimated = usage_tokens == 0;
        self.tokens = match tokens::trusted_usage(&message) {
            Some(usage) => ContextTokens { tokens: usage, usage_tokens: usage, trailing_tokens: 0 },
            // Without a usage the prompt is one that results from all system messages.
            None if is_estimated && matches!(message.body(), Body::System(_)) => return None,
            None => {
                let trailing_tokens = trailing_tokens + message.tokens();
                ContextTokens { tokens: usage_tokens.saturating_add(trailing_tokens), usage_tokens, trailing_tokens }
            }
        };
        self.is_known |= tokens::is_success(&message);
        let tokens = message.tokens();
        // What follows an answer says nothing new about it, and looking costs the whole context.
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

    /// Tokens of the context, where they are known: see [`tokens::known_context_tokens`].
    pub fn known_tokens(&self) -> Option<u64> {
        self.is_known.then_some(self.tokens.tokens)
    }

    /// Whether [`super::check_compaction`] could say anything but that there is nothing to do, about
    /// an answer or a result that stands at the leaf. If so, it has to be asked.
    pub fn may_be_due(&self, model: &TriggerModel<'_>, settings: &CompactionSettings) -> bool {
        let threshold = EffectiveLimits::for_window(model.effective_window(), settings).threshold;
        let overflowed = |answer: &Arc<Message>| overflow_of(answer, model, threshold).is_some();
        let is_over = self.tokens.tokens > threshold || self.may_be_truncated;
        settings.enabled && is_over || self.last_answer.as_ref().is_some_and(overflowed)
    }
}
