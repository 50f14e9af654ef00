//! Token counts of messages and contexts (docs/projection.md, "Tokens").

use crate::message::{Body, Message};
use crate::projection::{ProjectedEntry, Projection};
use crate::undo::CopiedDepths;

pub use crate::text::estimate_text;

/// Tokens of a context: those that the provider reported, and estimates for the messages after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextTokens {
    /// The sum.
    pub tokens: u64,
    /// Tokens of the last trusted usage; 0 if there is none.
    pub usage_tokens: u64,
    /// Estimated tokens of the messages after it, or of all messages.
    pub trailing_tokens: u64,
}

/// Estimated tokens of messages. Each message is rounded up.
pub fn estimate_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    messages.into_iter().map(Message::tokens).sum()
}

/// Tokens of the context that an assistant message reports. `None` if the usage cannot be trusted: the
/// answer was aborted, failed, or reports zero.
pub fn trusted_usage(message: &Message) -> Option<u64> {
    if !message.has_usage() || !message.is_success() {
        return None;
    }
    let Body::Assistant(assistant) = &*message.read_body() else { return None };
    assistant.usage.map(|usage| usage.context_tokens()).filter(|tokens| *tokens > 0)
}

/// Tokens of a projected context: the last trusted usage plus estimates of the messages after it. If
/// that usage is older than the last compaction or context edit, the whole context is estimated. The
/// usage of copies that an undo made is ignored.
pub fn context_tokens(projection: &Projection) -> ContextTokens {
    if let Some(tokens) = usage_and_trailing(projection) {
        return tokens;
    }
    let tokens = estimate_context(projection);
    ContextTokens { tokens, usage_tokens: 0, trailing_tokens: tokens }
}

/// Tokens of a projected context. `None` between a compaction and the first answer after it, because
/// the reported numbers describe the context before the compaction.
pub fn known_context_tokens(projection: &Projection) -> Option<u64> {
    let answered = |compaction: &ProjectedEntry| {
        let later = projection.entries().iter().filter(|projected| projected.depth < compaction.depth);
        later.flat_map(|projected| &projected.messages).any(|message| message.is_success())
    };
    let is_known = projection.compaction().is_none_or(answered);
    is_known.then(|| context_tokens(projection).tokens)
}

/// Estimated tokens of a projected context. Reported usage is ignored.
pub fn estimate_context(projection: &Projection) -> u64 {
    let conversation = projection.messages().filter(|message| message.as_system().is_none());
    // Several system messages are one prompt and its changes. Only the resulting prompt counts.
    projection.system_tokens() + estimate_messages(conversation)
}

fn usage_and_trailing(projection: &Projection) -> Option<ContextTokens> {
    let mut trailing_tokens = 0;
    let copies = CopiedDepths::of(projection);
    for entry in projection.entries().iter().rev() {
        for message in entry.messages.iter().rev() {
            if let Some(usage_tokens) = trusted_usage(message).filter(|_| !copies.contain(entry.depth)) {
                let is_current = projection.last_invalidating().is_none_or(|last| entry.depth < last);
                return is_current.then_some(ContextTokens {
                    tokens: usage_tokens.saturating_add(trailing_tokens),
                    usage_tokens,
                    trailing_tokens,
                });
            }
            trailing_tokens += message.tokens();
        }
    }
    None
}
