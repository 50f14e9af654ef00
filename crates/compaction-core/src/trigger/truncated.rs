//! Detects servers that silently read only a part of the context. Ollama and others truncate a context
//! that is larger than their window and answer with success (docs/triggers.md, "Overflow").

use super::overflowing::{Overflow, Overflowed, input_tokens};
use crate::message::{Block, Body, Content, Message};
use crate::overflow::Reported;
use crate::projection::Projection;
use crate::text::least_tokens;
use crate::tokens::{is_success, trusted_usage};

/// Smaller counts are not whole prompts: some gateways report only the uncached part.
const LEAST_INPUT: u64 = 512;

/// The overflow that the usage of `message` shows: its provider counted clearly fewer tokens than the
/// context before it must have. That count is taken as the provider's limit. `depth` is the depth of
/// the message's entry, if it is in the context.
pub(super) fn by_usage(projection: &Projection, message: &Message, depth: Option<usize>) -> Option<Overflowed> {
    let read = read_tokens(message)?;
    let before = || {
        let entries = projection.entries().iter().filter(move |entry| depth.is_none_or(|depth| entry.depth > depth));
        let messages = entries.flat_map(|entry| &entry.messages);
        messages.filter(|earlier| earlier.as_assistant().is_none() || is_success(earlier))
    };
    let estimated: u64 = before().map(|earlier| earlier.tokens()).sum();
    // Computing the lower bound reads the whole text.
    if !may_be_part(read, estimated) {
        return None;
    }
    let least: u64 = before().map(|earlier| least_tokens_of(earlier)).sum();
    let reported = Reported { limit: Some(read), input: Some(least), ..Reported::default() };
    is_part(read, least).then_some(Overflowed { kind: Overflow::Finished, reported, is_refused: false })
}

/// Whether `read` tokens may be only a part of a context of `estimated` tokens.
pub(super) fn may_be_part(read: u64, estimated: u64) -> bool {
    read < estimated / 5 * 4
}

/// Whether `read` tokens, as a provider counted them, are clearly fewer than `least`, the lower bound
/// for a text. Then it read only a part of the text. Counts of a few hundred say nothing, because some
/// gateways report only the uncached part.
pub fn is_part(read: u64, least: u64) -> bool {
    (LEAST_INPUT..least / 5 * 4).contains(&read)
}

/// Tokens that the provider read for an answer. `None` if it does not report them, or too few for a
/// whole prompt.
pub fn read_tokens(message: &Message) -> Option<u64> {
    let total = trusted_usage(message)?;
    let usage = message.as_assistant()?.usage?;
    let read = input_tokens(&usage).max(total.saturating_sub(usage.output));
    (read >= LEAST_INPUT).then_some(read)
}

/// The lower bound for the texts of a message, which every model is shown.
fn least_tokens_of(message: &Message) -> u64 {
    match message.body() {
        Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => match content {
            Content::Text(text) => least_tokens(text),
            Content::Blocks(blocks) => of_blocks(blocks),
        },
        Body::Assistant(assistant) => of_blocks(&assistant.content),
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => least_tokens(summary),
        Body::BashExecution(_) | Body::System(_) | Body::Other { .. } => 0,
    }
}

fn of_blocks(blocks: &[Block]) -> u64 {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(least_tokens(text)),
        _ => None,
    });
    texts.sum()
}
