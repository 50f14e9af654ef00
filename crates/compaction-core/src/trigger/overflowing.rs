//! Tells from one assistant message whether the context did not fit.

use super::TriggerModel;
use crate::message::{Assistant, Message, Usage};
use crate::overflow::{Reported, refused_size};

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
/// tokens), or fewer tokens came than the model can write. A smaller context may cure that, so it is
/// tried once.
fn is_cut_early(assistant: &Assistant, model: &TriggerModel<'_>) -> bool {
    let Some(usage) = assistant.usage.as_ref() else {
        return false;
    };
    let (window, used) = (model.context_window, input_tokens(usage).saturating_add(usage.output));
    let is_short = model.max_output_tokens.is_some_and(|most| usage.output < most);
    used > 0 && (used >= window - window / 100 || is_short)
}

/// Tokens of the request behind an answer, as its provider counted them.
pub(super) fn input_tokens(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}
