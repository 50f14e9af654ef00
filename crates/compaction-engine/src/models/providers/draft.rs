//! An answer while it arrives.

use serde_json::{Value, json};

use super::failure::Failure;
use crate::models::answer_text::ThinkingFilter;
use crate::models::{Answer, FailureKind, StopReason};

/// The error of an answer without an end.
pub(super) const BROKEN_OFF: &str = "the answer broke off before its end";
/// Maximum bytes of an answer's text, many times those of any summary.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// Stop reasons that the server caused, not the model: it had no capacity, or was shut down.
const SERVER_ENDS: [(&str, FailureKind); 8] = [
    ("insufficient_system_resource", FailureKind::Overloaded),
    ("abort", FailureKind::Server),
    ("aborted", FailureKind::Server),
    ("cancelled", FailureKind::Server),
    ("error", FailureKind::Server),
    ("network_error", FailureKind::Server),
    ("malformed_model_output", FailureKind::Server),
    ("timeout", FailureKind::TimedOut),
];

/// The received part of an answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    thoughts: ThinkingFilter,
    stop: Option<StopReason>,
    /// Whether the model calls a tool, regardless of its stop reason.
    pub(super) calls_tool: bool,
    /// Whether nothing relevant follows.
    pub(super) is_done: bool,
    is_touched: bool,
    /// Indexes of the parts that are comments on the way to the answer.
    pub(super) comments: Vec<u64>,
    /// Its usage, as far as it is known.
    pub(super) usage: Usage,
}

/// The usage of an answer in tokens. As in session files, input excludes cached tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Uncached input.
    pub(super) input: Option<u64>,
    /// Output, including thinking.
    pub(super) output: Option<u64>,
    /// Input from a cache.
    pub(super) cache_read: u64,
    /// Input that was written to a cache.
    pub(super) cache_write: u64,
    /// The total, where the provider reports it.
    pub(super) total: Option<u64>,
}

impl Draft {
    /// Reads an event by `read`.
    pub(super) fn touched(&mut self, read: impl FnOnce(&mut Self) -> Result<(), Failure>) -> Result<(), Failure> {
        self.is_touched = true;
        read(self)
    }

    /// Whether no event has arrived.
    pub(super) fn is_untouched(&self) -> bool {
        !self.is_touched && !self.is_done
    }

    /// Adds a piece of the text. Tagged thinking at the beginning of the answer is left out.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), Failure> {
        if self.text.len() + piece.len() > MAX_TEXT_BYTES {
            let text = format!("the answer has more than {MAX_TEXT_BYTES} bytes");
            return Err(Failure::new(FailureKind::Refused, text));
        }
        self.text.push_str(&self.thoughts.without(piece));
        Ok(())
    }

    /// The text so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Sets the stop reason. Some servers send it more than once; a reason other than the plain end takes precedence.
    pub(super) fn stop(&mut self, reason: StopReason) {
        if matches!(self.stop, None | Some(StopReason::Stop)) {
            self.stop = Some(reason);
        }
    }

    /// Whether there is a stop reason. Without it, the text may be incomplete.
    pub(super) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether the model itself has ended the text. Later errors do not concern the answer.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.stop, Some(StopReason::Stop | StopReason::Length))
    }

    /// Ends the text: bytes that were held back as the beginning of a tag are text.
    pub(super) fn close(&mut self) {
        self.text.push_str(&self.thoughts.rest());
    }

    /// The answer. The final event replaces a stop reason, if there is text. Fails if both are missing, or if the
    /// server, not the model, ended the answer.
    pub(super) fn into_answer(self) -> Result<Answer, Failure> {
        let broken = |text: &str| Err(Failure::new(FailureKind::Connection, text));
        let reason = match self.stop {
            Some(reason) => reason,
            None if self.calls_tool => StopReason::ToolUse,
            None if !self.is_done => return broken(BROKEN_OFF),
            None if self.text.trim().is_empty() => {
                return broken("the answer ended without a text and without a reason for its end");
            }
            None => StopReason::Stop,
        };
        if let StopReason::Other(word) = &reason
            && let Some((_, kind)) = SERVER_ENDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known))
        {
            return Err(Failure::new(*kind, format!("the server ended the answer with {word}")));
        }
        let stop = if self.calls_tool { StopReason::ToolUse } else { reason };
        Ok(Answer { text: self.text, stop, usage: self.usage.to_json() })
    }
}

impl Usage {
    /// The usage in the form of session files; `None` if the provider reported none.
    fn to_json(self) -> Option<Value> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let (input, output) = (self.input.unwrap_or(0), self.output.unwrap_or(0));
        let parts = [input, output, self.cache_read, self.cache_write];
        let sum = parts.into_iter().fold(0, u64::saturating_add);
        Some(json!({
            "input": input,
            "output": output,
            "cacheRead": self.cache_read,
            "cacheWrite": self.cache_write,
            "totalTokens": self.total.filter(|total| *total > 0).unwrap_or(sum),
        }))
    }
}
