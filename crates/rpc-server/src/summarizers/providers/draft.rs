//! An answer while it comes in.

use serde_json::{Value, json};

use super::super::model::{Answer, FailureKind, StopReason};
use super::failure::Failure;
use super::thoughts::Thoughts;

/// Most bytes of an answer's text: many times what any summary has.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// What has come of an answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    thoughts: Thoughts,
    stop: Option<StopReason>,
    calls_tool: bool,
    is_done: bool,
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
    /// Adds a piece of the text.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), Failure> {
        if self.text.len() + piece.len() > MAX_TEXT_BYTES {
            let text = format!("the answer has more than {MAX_TEXT_BYTES} bytes");
            return Err(Failure::new(FailureKind::Refused, text));
        }
        self.text.push_str(piece);
        Ok(())
    }

    /// Adds a piece of a text that may begin with thinking in tags.
    pub(super) fn push_tagged(&mut self, piece: &str) -> Result<(), Failure> {
        let text = self.thoughts.without(piece);
        self.push(&text)
    }

    /// The text so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The model calls a tool, whatever reason it gives for its end.
    pub(super) fn call_tool(&mut self) {
        self.calls_tool = true;
    }

    /// The model has ended for this reason; the first one stands.
    pub(super) fn stop(&mut self, reason: StopReason) {
        self.text.push_str(&self.thoughts.rest());
        self.stop.get_or_insert(reason);
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

    /// The answer; `None` if the model has not said why it ended.
    pub(super) fn into_answer(self) -> Option<Answer> {
        let reason = self.stop?;
        let stop = if self.calls_tool { StopReason::ToolUse } else { reason };
        Some(Answer { text: self.text, stop, usage: self.usage.to_json() })
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
