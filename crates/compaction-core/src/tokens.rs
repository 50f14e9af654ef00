//! Token counts of messages and contexts (docs/projection.md, "Tokens").

use crate::message::{Block, Body, Content, Message};
use crate::projection::{ProjectedEntry, Projection};
use crate::system_state;
use crate::text::utf16_len;
use crate::undo::CopiedDepths;

/// UTF-16 units per token in an estimate.
const UNITS_PER_TOKEN: u64 = 4;
/// UTF-16 units counted for an image.
const IMAGE_UNITS: usize = 4800;

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

/// Estimated tokens of a plain text: UTF-16 units divided by 4, rounded up.
pub fn estimate_text(text: &str) -> u64 {
    units_to_tokens(utf16_len(text))
}

/// Estimated tokens of messages. Each message is rounded up.
pub fn estimate_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    messages.into_iter().map(Message::tokens).sum()
}

pub(crate) fn estimate_body(body: &Body) -> u64 {
    units_to_tokens(match body {
        Body::User { content } | Body::Custom { content, .. } | Body::ToolResult { content, .. } => {
            content_units(content)
        }
        Body::Assistant(assistant) => assistant.content.iter().map(answer_block_units).sum(),
        Body::BashExecution(bash) => utf16_len(&bash.command) + utf16_len(&bash.output),
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => utf16_len(summary),
        Body::System(system) => {
            let sections = system.sections.iter().filter_map(|(_, text)| text.as_deref());
            content_units(&system.content)
                + sections.map(utf16_len).sum::<usize>()
                + system.tools_added.as_ref().map_or(0, |tools| utf16_len(&tools.to_compact()))
        }
        Body::Other { .. } => 0,
    })
}

fn units_to_tokens(units: usize) -> u64 {
    (units as u64).div_ceil(UNITS_PER_TOKEN)
}

fn content_units(content: &Content) -> usize {
    match content {
        Content::Text(text) => utf16_len(text),
        Content::Blocks(blocks) => blocks.iter().map(content_block_units).sum(),
    }
}

fn content_block_units(block: &Block) -> usize {
    match block {
        Block::Text(text) => utf16_len(text),
        Block::Image => IMAGE_UNITS,
        Block::Thinking(_) | Block::ToolCall(_) | Block::Other => 0,
    }
}

fn answer_block_units(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Thinking(text) => utf16_len(text),
        Block::ToolCall(call) => {
            let arguments = call.arguments.as_ref().map_or(0, |json| utf16_len(&json.to_compact()));
            utf16_len(&call.name) + arguments
        }
        Block::Image | Block::Other => 0,
    }
}

/// Tokens of the context that an assistant message reports. `None` if the usage cannot be trusted: the
/// answer was aborted, failed, or reports zero.
pub fn trusted_usage(message: &Message) -> Option<u64> {
    let assistant = message.as_assistant().filter(|_| is_success(message))?;
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
        later.flat_map(|projected| &projected.messages).any(|message| is_success(message))
    };
    let is_known = projection.compaction().is_none_or(answered);
    is_known.then(|| context_tokens(projection).tokens)
}

/// Whether the message is an answer that is neither an error nor aborted.
pub(crate) fn is_success(message: &Message) -> bool {
    message.as_assistant().is_some_and(|answer| !matches!(answer.stop_reason.as_deref(), Some("aborted" | "error")))
}

/// Estimated tokens of a projected context. Reported usage is ignored.
pub fn estimate_context(projection: &Projection) -> u64 {
    let conversation = projection.messages().filter(|message| !matches!(message.body(), Body::System(_)));
    // Several system messages are one prompt and its changes. Only the resulting prompt counts.
    let system = system_state::replay(projection.messages(), 0).map_or(0, |message| message.tokens());
    system + estimate_messages(conversation)
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
