//! Conversations in the forms that models read: messages with the three roles that every model knows,
//! and the text for a summarizer (docs/projection.md, "Messages for a model"; docs/summaries.md,
//! "Serialisation").

mod prefix;
mod serialize;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::message::{BashExecution, Body, Content, Message, ToolCall};
use crate::projection::Projection;

pub use prefix::{CachedInput, LastAnswer, Prefix, SystemPrompt};
pub(crate) use serialize::{Detail, serialize_body};
pub use serialize::{Redact, Thinking, serialize_conversation};

/// The context in `llm` format: see [`LlmContext`].
pub fn llm_context(projection: &Projection) -> Vec<Arc<Message>> {
    LlmContext::of(projection).into_messages()
}

/// A message in `llm` format; `None` if models do not see it.
pub fn llm_message(message: &Arc<Message>) -> Option<Arc<Message>> {
    let user = |text: &str| Some(Arc::new(Message::user_text(text, message.time())));
    if matches!(message.role(), "user" | "assistant" | "toolResult") {
        return Some(Arc::clone(message));
    }
    match message.body() {
        Body::Custom { content: Content::Text(text), .. } => user(text),
        Body::Custom { .. } => message.as_user().map(Arc::new),
        Body::BashExecution(bash) if bash.exclude_from_context => None,
        Body::BashExecution(bash) => user(&bash_text(bash, Cow::Borrowed(&bash.output))),
        Body::CompactionSummary { summary, .. } => user(&compaction_summary_text(summary)),
        Body::BranchSummary { summary, .. } => user(&branch_summary_text(summary)),
        _ => None,
    }
}

/// The text for a command that the person ran, with `output` as its output.
fn bash_text(bash: &BashExecution, output: Cow<'_, str>) -> String {
    let mut text = format!("Ran `{}`\n", bash.command);
    match output.as_ref() {
        "" => text.push_str("(no output)"),
        output => text.push_str(&format!("```\n{output}\n```")),
    }
    match bash.exit_code {
        _ if bash.cancelled => text.push_str("\n\n(cancelled)"),
        Some(code) if code != 0 => text.push_str(&format!("\n\nExit code {code}")),
        _ => {}
    }
    if let (true, Some(path)) = (bash.truncated, &bash.full_output_path) {
        text.push_str(&format!("\n\n[Full output: {path}]"));
    }
    text
}

fn compaction_summary_text(summary: &str) -> String {
    enclosed("Earlier parts of this conversation are no longer shown. This summary stands in their place:", summary)
}

fn branch_summary_text(summary: &str) -> String {
    enclosed(
        "Another branch of this conversation was followed and then left. This summary tells what happened there:",
        summary,
    )
}

/// Wraps a summary in its element. A closing tag inside it is escaped.
fn enclosed(introduction: &str, summary: &str) -> String {
    let summary = summary.replace("</summary", "<\\/summary");
    format!("{introduction}\n\n<summary>\n{summary}\n</summary>")
}

/// A context in `llm` format. It has only the roles user, assistant and toolResult.
///
/// - Answers that failed or were aborted are left out, and the results of their calls with them.
/// - A result directly follows the answer with its call, wherever it was stored. A result without an earlier call
///   is left out. The projection's diagnostics name it.
/// - A call without a result gets an error result if anything other than results follows. The calls of the last
///   answer stay open, because their results may still arrive.
#[derive(Debug, Clone, Default)]
pub struct LlmContext {
    messages: Vec<Placed>,
}

/// A message and its position in the projection.
#[derive(Debug, Clone)]
struct Placed {
    message: Arc<Message>,
    /// Position of its entry, or of the entry that made a generated message necessary.
    source: usize,
}

impl LlmContext {
    /// The context of a branch.
    pub fn of(projection: &Projection) -> Self {
        Self::with(projection, llm_message)
    }

    /// The same with system messages in order, for interfaces that accept them as messages.
    pub fn with_system(projection: &Projection) -> Self {
        Self::with(projection, |message| match message.role() {
            "system" => Some(Arc::clone(message)),
            _ => llm_message(message),
        })
    }

    fn with(projection: &Projection, shown_as: impl Fn(&Arc<Message>) -> Option<Arc<Message>>) -> Self {
        let entries = projection.entries().iter().enumerate();
        let shown = entries.flat_map(|(position, entry)| entry.messages.iter().map(move |message| (position, message)));
        let shown = shown.filter(|(_, message)| !message.is_failed_answer());
        let messages: Vec<(usize, Arc<Message>)> =
            shown.filter_map(|(position, message)| Some((position, shown_as(message)?))).collect();
        Pairing::of(&messages).finish()
    }

    /// The messages, in order.
    pub fn into_messages(self) -> Vec<Arc<Message>> {
        self.messages.into_iter().map(|placed| placed.message).collect()
    }

    /// The first messages: those of the entries before `position`, and the results of their calls
    /// wherever these were stored.
    fn before(&self, position: usize) -> Vec<Arc<Message>> {
        let end = self.messages.iter().position(|placed| placed.source >= position).unwrap_or(self.messages.len());
        let is_result = |placed: &&Placed| placed.message.answered_call_id().is_some();
        let results = self.messages[end..].iter().take_while(is_result).count();
        self.messages[..end + results].iter().map(|placed| Arc::clone(&placed.message)).collect()
    }

    /// The messages that the entries from `position` on add. `None` if they change the messages of
    /// earlier entries, as a late result does.
    pub fn since(&self, position: usize) -> Option<Vec<Arc<Message>>> {
        let is_later = |placed: &Placed| placed.source >= position;
        let first = self.messages.iter().position(is_later).unwrap_or(self.messages.len());
        let later = &self.messages[first..];
        later.iter().all(is_later).then(|| later.iter().map(|placed| Arc::clone(&placed.message)).collect())
    }

    /// The messages of the entries before `position`. `None` if [`LlmContext::since`] is `None`.
    pub fn until(&self, position: usize) -> Option<Vec<Arc<Message>>> {
        let later = self.since(position)?;
        let earlier = &self.messages[..self.messages.len() - later.len()];
        Some(earlier.iter().map(|placed| Arc::clone(&placed.message)).collect())
    }
}

/// State of the pairing.
struct Pairing<'a> {
    messages: &'a [(usize, Arc<Message>)],
    /// Unclaimed results by call id, in order.
    results: HashMap<&'a str, VecDeque<usize>>,
    /// Answers that make a call, by call id, in order.
    calls: HashMap<&'a str, VecDeque<usize>>,
    placed: Vec<Placed>,
}

impl<'a> Pairing<'a> {
    fn of(messages: &'a [(usize, Arc<Message>)]) -> Self {
        let mut results: HashMap<&str, VecDeque<usize>> = HashMap::new();
        let mut calls: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (at, (_, message)) in messages.iter().enumerate() {
            if let Some(id) = message.answered_call_id() {
                results.entry(id).or_default().push_back(at);
            }
            for id in message.tool_call_ids() {
                calls.entry(id).or_default().push_back(at);
            }
        }
        Self { messages, results, calls, placed: Vec::with_capacity(messages.len()) }
    }

    fn finish(mut self) -> LlmContext {
        for at in 0..self.messages.len() {
            let (position, message) = &self.messages[at];
            if message.answered_call_id().is_none() {
                self.placed.push(Placed { message: Arc::clone(message), source: *position });
                self.place_results(at);
            }
        }
        LlmContext { messages: self.placed }
    }

    /// Places the results of the answer at `at` after it.
    fn place_results(&mut self, at: usize) {
        let (_, message) = &self.messages[at];
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (number, id) in message.tool_call_ids().enumerate() {
            match self.result_of(id, at) {
                Some(result) => found.push(result),
                None => missing.push(number),
            }
        }
        found.sort_unstable();
        for (source, message) in found.into_iter().map(|result| &self.messages[result]) {
            self.placed.push(Placed { message: Arc::clone(message), source: *source });
        }
        let mut later = self.messages[at + 1..].iter();
        let next = later.find(|(_, message)| message.answered_call_id().is_none());
        let Some(&(source, _)) = next.filter(|_| !missing.is_empty()) else {
            return;
        };
        // Only these need more of the answer than its outline.
        let calls: Vec<&ToolCall> = message.tool_calls().collect();
        for call in missing.into_iter().filter_map(|number| calls.get(number)) {
            let message = Arc::new(Message::missing_result(call, message.time()));
            self.placed.push(Placed { message, source });
        }
    }

    /// The first result for a call of the answer at `at`. It must precede the next answer that uses the
    /// same id, because ids may be reused.
    fn result_of(&mut self, id: &str, at: usize) -> Option<usize> {
        let next_call = self.calls.get_mut(id).and_then(|calls| first_after(calls, at));
        let results = self.results.get_mut(id)?;
        let result = first_after(results, at).filter(|result| next_call.is_none_or(|next| *result < next))?;
        results.pop_front();
        Some(result)
    }
}

/// The first position after `at`. Earlier positions are removed, because `at` never decreases.
fn first_after(positions: &mut VecDeque<usize>, at: usize) -> Option<usize> {
    while positions.front().is_some_and(|position| *position <= at) {
        positions.pop_front();
    }
    positions.front().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;

    fn answer(calls: &str, stop: &str) -> String {
        let blocks: Vec<String> = calls
            .split_whitespace()
            .map(|id| format!(r#"{{"type":"toolCall","id":"{id}","name":"read","arguments":{{}}}}"#))
            .collect();
        format!(r#"{{"role":"assistant","content":[{}],"stopReason":"{stop}"}}"#, blocks.join(","))
    }

    /// One message for each word: `user`, `answer`, `a+b` (an answer that calls a and b), `failed:a`,
    /// `=a` (the result of a).
    fn projection(words: &str) -> Projection {
        let entries: Vec<Arc<Entry>> = words
            .split_whitespace()
            .enumerate()
            .map(|(at, word)| {
                let message = match word {
                    "user" => r#"{"role":"user","content":"x"}"#.to_owned(),
                    "answer" => answer("", "stop"),
                    word if word.starts_with('=') => {
                        format!(r#"{{"role":"toolResult","toolCallId":"{}","toolName":"read","content":[]}}"#, &word[1..])
                    }
                    word => match word.strip_prefix("failed:") {
                        Some(calls) => answer(&calls.replace('+', " "), "error"),
                        None => answer(&word.replace('+', " "), "toolUse"),
                    },
                };
                let parent = at.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
                let line = format!(
                    r#"{{"type":"message","id":"{at}","parentId":{parent},"timestamp":"2025-01-01T00:00:00.000Z","message":{message}}}"#
                );
                Arc::new(Entry::parse(&line).expect("the line is made here"))
            })
            .collect();
        match Projection::of(entries.as_slice()) {
            Ok(projection) => projection,
        }
    }

    fn shown(messages: &[Arc<Message>]) -> String {
        let name = |message: &Arc<Message>| match message.answered_call_id() {
            Some(id) if message.raw().get().contains("No result was recorded") => format!("-{id}"),
            Some(id) => format!("={id}"),
            None if message.role() == "user" => "user".to_owned(),
            None => match message.tool_call_ids().collect::<Vec<_>>().join("+") {
                calls if calls.is_empty() => "answer".to_owned(),
                calls => calls,
            },
        };
        messages.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_call_has_its_result_right_behind_it() {
        let check = |words: &str, expected: &str| {
            assert_eq!(shown(&LlmContext::of(&projection(words)).into_messages()), expected, "{words}");
        };
        check("user a+b =a =b answer", "user a+b =a =b answer");
        check("user a+b =b =a answer", "user a+b =b =a answer");
        check("user failed:a =a user answer", "user user answer");
        check("user failed:a user", "user user");
        check("user a user", "user a -a user");
        check("user a+b =b user", "user a+b =b -a user");
        check("user a user =a answer", "user a =a user answer");
        check("user a", "user a");
        check("user a+b =a", "user a+b =a");
        check("user =x answer", "user answer");
        check("user a =a a =a answer", "user a =a a =a answer");
        check("user a user a =a answer", "user a -a user a =a answer");
        check("user a =a =a answer", "user a =a answer");
    }

    /// Each look-up removes earlier positions, so no look-up visits them again.
    #[test]
    fn repeated_ids_are_looked_up_in_queues_that_shrink() {
        let context = projection(&"a =a ".repeat(500));
        let messages: Vec<(usize, Arc<Message>)> =
            context.shared_messages().enumerate().map(|(at, message)| (at, Arc::clone(message))).collect();
        let mut pairing = Pairing::of(&messages);
        for at in (0..messages.len()).step_by(2) {
            assert_eq!(pairing.result_of("a", at), Some(at + 1));
            let left = (messages.len() - at) / 2 - 1;
            assert_eq!((pairing.calls["a"].len(), pairing.results["a"].len()), (left, left));
        }
    }

    #[test]
    fn a_caller_gets_the_rest_or_learns_that_there_is_none() {
        let check = |words: &str, position, expected: Option<&str>| {
            let since = LlmContext::of(&projection(words)).since(position);
            assert_eq!(since.map(|messages| shown(&messages)).as_deref(), expected, "{words} {position}");
        };
        check("user a =a answer", 2, Some("=a answer"));
        check("user a user", 2, Some("-a user"));
        check("user a user =a", 2, Some("=a user"));
        check("user a user =a", 3, None);
        check("user a user =a answer", 4, Some("answer"));
        check("user failed:a =a user", 2, Some("user"));
        check("user answer", 2, Some(""));
    }
}
