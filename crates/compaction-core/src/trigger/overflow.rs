//! Detects from an assistant message that the context did not fit, and allows one recovery for each request of a
//! person (docs/triggers.md, "Overflow", "Guards").
//!
//! A provider may refuse the context, or truncate it silently: Ollama and other servers read only a part of a
//! context that is larger than their window, and answer with success.

use super::{TriggerInput, TriggerModel, has_stop_reason, is_from_model};
use crate::entry::{EntryId, Role};
use crate::json::RawObject;
use crate::message::{Assistant, Block, Body, Content, Message, Usage};
use crate::overflow::{Reported, refused_size};
use crate::projection::{ProjectedEntry, Projection};
use crate::text::least_tokens;
use crate::tokens::trusted_usage;

/// How a message overflowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overflow {
    /// The answer is complete and must not be requested again (docs/triggers.md, "Guards").
    Finished,
    /// The answer is missing or cut off.
    Unfinished,
    /// The provider refused the request because of its output, not because of its context.
    OutputTooLarge,
}

/// An overflow, with the numbers that the provider named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overflowed {
    pub(super) kind: Overflow,
    /// The numbers in the error text; empty without an error.
    pub(super) reported: Reported,
    /// Whether an error showed it, not the usage of an answer.
    pub(super) is_refused: bool,
}

impl Overflowed {
    fn by_usage(kind: Overflow) -> Self {
        Self { kind, reported: Reported::default(), is_refused: false }
    }
}

/// How `message` overflowed the window of `model`, if it did. A request whose output alone fills the
/// limit was refused because of its output (docs/triggers.md, "Overflow"), unless its input is more
/// than `threshold` tokens by the provider's own count.
pub(super) fn overflow_of(message: &Message, model: &TriggerModel<'_>, threshold: u64) -> Option<Overflowed> {
    let assistant = message.as_assistant()?;
    match assistant.stop_reason.as_deref() {
        Some("aborted") => None,
        Some("error") => overflow_of_error(assistant, threshold),
        Some("length") if is_cut_early(assistant, model) => Some(Overflowed::by_usage(Overflow::Unfinished)),
        stop_reason => {
            let window = model.context_window;
            let exceeds = assistant.usage.as_ref().is_some_and(|usage| input_tokens(usage) > window);
            // This includes answers with tool calls: if they were hidden, their calls would be made
            // twice.
            let kind = if stop_reason == Some("length") { Overflow::Unfinished } else { Overflow::Finished };
            exceeds.then_some(Overflowed::by_usage(kind))
        }
    }
}

fn overflow_of_error(assistant: &Assistant, threshold: u64) -> Option<Overflowed> {
    let error = assistant.error_message.as_deref()?;
    let reported = refused_size(assistant.provider.as_deref(), error)?;
    let is_large = reported.input.is_some_and(|input| input > threshold);
    let kind = if reported.is_curable() || is_large { Overflow::Unfinished } else { Overflow::OutputTooLarge };
    Some(Overflowed { kind, reported, is_refused: true })
}

/// Whether an answer was cut off early: the window was full (99 % or more, because providers add a few
/// tokens), or the answer has fewer tokens than the model can write. A smaller context may help, so it is
/// tried once.
fn is_cut_early(assistant: &Assistant, model: &TriggerModel<'_>) -> bool {
    let Some(usage) = assistant.usage.as_ref() else {
        return false;
    };
    let (window, used) = (model.context_window, input_tokens(usage).saturating_add(usage.output));
    let is_short = model.max_output_tokens.is_some_and(|most| usage.output < most);
    used > 0 && (used >= window - window / 100 || is_short)
}

/// Input tokens of an answer, as its provider counted them.
pub(super) fn input_tokens(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

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
        messages.filter(|earlier| earlier.as_assistant().is_none() || earlier.is_success())
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

/// Tokens of the context that an answer without usage came through for. `None` for any other message, and where
/// `context`, the size of the context with the answer, is unknown.
pub fn unreported_tokens(message: &Message, context: Option<u64>) -> Option<u64> {
    let is_unreported = message.is_success() && trusted_usage(message).is_none();
    context.filter(|_| is_unreported).map(|context| context.saturating_sub(message.tokens()))
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
    blocks.iter().filter_map(Block::as_text).map(least_tokens).sum()
}

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
    let clipped = input.clipped_recovery.and_then(|answer| find(input.projection, answer));
    if compaction.is_some_and(is_last) || clipped.is_some_and(is_last) {
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
    let is_answer = message.is_success();
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
