//! Whether one assistant message shows that the context did not fit.

use crate::message::{Assistant, Message, Usage};
use crate::overflow::{is_overflow, reported_input_tokens};

/// How a message overflowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overflow {
    /// The answer is there: it must not be asked for again (field bug 81).
    Finished,
    /// The answer is missing or cut off.
    Unfinished,
    /// The provider refused the request for the output that it asked for, not for its context.
    OutputTooLarge,
}

/// How `message` overflowed `window` tokens, if it did. A refused request whose input is at most
/// `threshold` tokens by the provider's own count was refused for its output (field bug 90).
pub(super) fn overflow_of(message: &Message, window: u64, threshold: u64) -> Option<Overflow> {
    let assistant = message.as_assistant()?;
    match assistant.stop_reason.as_deref() {
        Some("aborted") => None,
        Some("error") => overflow_of_error(assistant, threshold),
        Some("length") if is_cut_by_window(assistant, window) => Some(Overflow::Unfinished),
        stop_reason => {
            let exceeds = assistant.usage.as_ref().is_some_and(|usage| input_tokens(usage) > window);
            // Also one that calls tools: hidden, its calls would be made a second time.
            let kind = if stop_reason == Some("length") { Overflow::Unfinished } else { Overflow::Finished };
            exceeds.then_some(kind)
        }
    }
}

fn overflow_of_error(assistant: &Assistant, threshold: u64) -> Option<Overflow> {
    let error = assistant.error_message.as_deref()?;
    if !is_overflow(assistant.provider.as_deref(), error) {
        return None;
    }
    let fits = reported_input_tokens(error).is_some_and(|input| input <= threshold);
    Some(if fits { Overflow::OutputTooLarge } else { Overflow::Unfinished })
}

/// Whether the window was full before a single token of answer: from 99 % of it on, as providers
/// count a few tokens of their own.
fn is_cut_by_window(assistant: &Assistant, window: u64) -> bool {
    assistant.usage.as_ref().is_some_and(|usage| usage.output == 0 && input_tokens(usage) >= window - window / 100)
}

fn input_tokens(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}
