//! An answer while it comes in.

use serde_json::{Value, json};

use super::failure::Failure;
use crate::models::answer_text::ThinkingFilter;
use crate::models::{Answer, FailureKind, StopReason};

/// What is told of an answer without an end.
pub(super) const BROKEN_OFF: &str = "the answer broke off before its end";
/// Most bytes of an answer's text: many times what any summary has.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// Words for an end that is the server's doing, not the model's: it had no capacity, or was shut down.
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

/// What has come of an answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    thoughts: ThinkingFilter,
    stop: Option<StopReason>,
    calls_tool: bool,
    is_done: bool,
    is_touched: bool,
    /// Numbers of the parts that are comments on the way to the answer.
    comments: Vec<u64>,
    /// What it cost, as far as it is known.
    pub(super) usage: Usage,
}

/// What an answer cost, in tokens. Session files count input without what a cache gave or took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Read from the prompt.
    pub(super) input: Option<u64>,
    /// Written, thinking included.
    pub(super) output: Option<u64>,
    /// Read from a cache.
    pub(super) cache_read: u64,
    /// Written to a cache.
    pub(super) cache_write: u64,
    /// All together, where the provider says it.
    pub(super) total: Option<u64>,
}

impl Draft {
    /// Reads an event into it.
    pub(super) fn touched(&mut self, read: impl FnOnce(&mut Self) -> Result<(), Failure>) -> Result<(), Failure> {
        self.is_touched = true;
        read(self)
    }

    /// Whether no event has come, not even the last one.
    pub(super) fn is_untouched(&self) -> bool {
        !self.is_touched && !self.is_done
    }

    /// Adds a piece of the text. Thinking in tags at its beginning is left out.
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

    /// What comes under this number is no part of the answer.
    pub(super) fn leave_out(&mut self, number: u64) {
        self.comments.push(number);
    }

    /// Whether what comes under this number is no part of the answer.
    pub(super) fn leaves_out(&self, number: Option<u64>) -> bool {
        number.is_some_and(|number| self.comments.contains(&number))
    }

    /// The model calls a tool, whatever reason it gives for its end.
    pub(super) fn call_tool(&mut self) {
        self.calls_tool = true;
    }

    /// The model has ended for this reason. Some servers say it more than once; what is not the plain
    /// end stands.
    pub(super) fn stop(&mut self, reason: StopReason) {
        if matches!(self.stop, None | Some(StopReason::Stop)) {
            self.stop = Some(reason);
        }
    }

    /// Nothing that matters follows.
    pub(super) fn finish(&mut self) {
        self.is_done = true;
    }

    /// Whether nothing that matters follows.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the model has said why it ended: without that, the text may be a part of one.
    pub(super) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether the model itself has ended the text. An error that follows is none of the answer.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.stop, Some(StopReason::Stop | StopReason::Length))
    }

    /// Nothing follows: what was held back as the beginning of a tag is text.
    pub(super) fn close(&mut self) {
        self.text.push_str(&self.thoughts.rest());
    }

    /// The answer. An event that ends every answer is as good as a reason, if there is a text. Fails
    /// if neither has come, or if the server, not the model, has ended it.
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
    /// The usage as session files have it; `None` if the provider told none.
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
