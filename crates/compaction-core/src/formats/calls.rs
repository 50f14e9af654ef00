//! Calls and the results that belong to them. Some interfaces name the tool in a result, some the call,
//! some both; our own results have both.

use std::collections::HashSet;
use std::sync::Arc;

use super::parts::{Part, Speech, digest};
use crate::json::Json;
use crate::message::{Body, Message};

/// The calls that were made so far, and whether their results have come.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    calls: Vec<Made>,
    /// Whether a result named a call, or a tool, that is not among them.
    has_gaps: bool,
}

#[derive(Debug, Clone)]
struct Made {
    id: String,
    name: String,
    is_answered: bool,
}

impl Calls {
    /// The calls in messages that are stored already, oldest first.
    pub fn of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut calls = Self::default();
        for message in messages {
            if let Some(id) = message.answered_call_id() {
                calls.answer(id);
                continue;
            }
            for call in message.tool_calls() {
                calls.add(&call.id, &call.name);
            }
        }
        calls
    }

    /// The calls that these results answer, as open ones: what is needed to read the results again.
    pub(super) fn of_results<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut calls = Self::default();
        for message in messages {
            if let Body::ToolResult { tool_call_id, tool_name, .. } = message.body() {
                calls.add(tool_call_id, tool_name);
            }
        }
        calls
    }

    pub(crate) fn add(&mut self, id: &str, name: &str) {
        self.calls.push(Made { id: id.to_owned(), name: name.to_owned(), is_answered: false });
    }

    /// Takes note of what a message calls and answers.
    pub(super) fn note(&mut self, speech: &Speech) {
        match speech {
            Speech::Assistant(answer) => {
                for part in &answer.parts {
                    if let Part::Call { id, name, .. } = part {
                        self.add(id, name);
                    }
                }
            }
            Speech::Result(result) => self.answer(&result.id),
            Speech::System(_) | Speech::User(_) => {}
        }
    }

    fn answer(&mut self, id: &str) {
        let mut latest = self.calls.iter_mut().rev();
        if let Some(call) = latest.find(|call| call.id == id) {
            call.is_answered = true;
        }
    }

    /// The tool that the latest call with this id names.
    pub(crate) fn name_of(&mut self, id: &str) -> Option<&str> {
        let call = self.calls.iter().rev().find(|call| call.id == id);
        self.has_gaps |= call.is_none();
        call.map(|call| call.name.as_str())
    }

    /// Whether a result named a call or a tool that is not among the calls: it may be among earlier ones.
    pub fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// The first call of this tool that has no result yet; it has one from now on.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let call = self.calls.iter_mut().find(|call| !call.is_answered && call.name == name);
        self.has_gaps |= call.is_none();
        let call = call?;
        call.is_answered = true;
        Some(call.id.clone())
    }
}

/// The id of a call that came without one: the same whenever the message is read again. `earlier` counts
/// the calls before it in its message.
pub(super) fn made_up_id(name: &str, arguments: &Json<'_>, earlier: usize) -> String {
    format!("{name}_{}", digest(&format!("{earlier}{}", arguments.to_compact())))
}

/// Ids that stay as they are, since a message that is given back unchanged has them.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids(HashSet<String>);

impl Ids {
    /// The ids in what is said.
    pub(super) fn of(speech: &[Speech]) -> Self {
        let mut ids = Self::default();
        for speech in speech {
            match speech {
                Speech::Assistant(answer) => {
                    let calls = answer.parts.iter().filter_map(|part| match part {
                        Part::Call { id, .. } => Some(id.clone()),
                        _ => None,
                    });
                    ids.0.extend(calls);
                }
                Speech::Result(result) => {
                    ids.0.insert(result.id.clone());
                }
                Speech::System(_) | Speech::User(_) => {}
            }
        }
        ids
    }

    /// Takes note of the ids in messages that are given back.
    pub(super) fn keep(&mut self, messages: &[Arc<Message>]) {
        for message in messages {
            let ids = message.tool_call_ids().chain(message.answered_call_id());
            self.0.extend(ids.map(str::to_owned));
        }
    }

    /// An id that an interface takes: at most `max` characters of `[A-Za-z0-9_-]`. Ids that are fine, or
    /// must stay, stay.
    pub(super) fn safe(&self, id: &str, max: usize) -> String {
        let is_fine = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if self.0.contains(id) || (!id.is_empty() && id.len() <= max && id.chars().all(is_fine)) {
            return id.to_owned();
        }
        let kept = id.chars().map(|character| if is_fine(character) { character } else { '_' });
        let kept: String = kept.take(max.saturating_sub(9)).collect();
        format!("{kept}_{}", digest(id))
    }
}
