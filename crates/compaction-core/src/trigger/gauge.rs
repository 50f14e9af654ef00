//! Tracks the size of a context entry by entry. Asking after each message costs the message, not the
//! context (docs/session-format.md, "Opening").

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
        // Entries behind an undo mark are copies. They count differently until all of them are there.
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

    /// The gauge after one more entry at the leaf. `None` if it cannot tell what the entry changes.
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
        self.is_known |= tokens::is_success(&message);
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
