//! Conversations in the forms that models read: messages with the three roles that every model knows, the text for a
//! summarizer (docs/projection.md, "Messages for a model"; docs/summaries.md, "Serialisation"), and the beginning of a
//! conversation as its model last received it.
//!
//! Providers cache the beginning of a request for a few minutes and charge a small part of the price if the next
//! request begins with the same bytes. To use the cache, exactly this beginning has to be sent again.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use crate::entry::EntryId;
use crate::json::{Json, RawObject};
use crate::message::{BashExecution, Block, Body, Content, HARNESS_TYPE, Message, System, ToolCall, blocks_text};
use crate::projection::{ProjectedEntry, Projection};
use crate::text::{prefix_utf16, utf16_len};
use crate::tokens;
use crate::tools::{asks_person, is_refusal};

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
    /// Position of its entry, or of the entry that required a generated message.
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

/// Maximum UTF-16 units of a tool result for a summarizer.
const TOOL_RESULT_UNITS: usize = 2000;
/// The same for a result with the words of a person: their answer to a question, the plan that they approved, or why
/// they refused a call. Such words are a request like any other.
const PERSON_RESULT_UNITS: usize = 16_000;

/// Removes secrets from a text. It runs before a text is cut, because half a secret is not recognised.
pub trait Redact: Debug + Send + Sync {
    /// `text` without secrets; the same text if it has none.
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str>;
}

/// Whether a summarizer reads the model's thinking.
///
/// Providers often return only a summary of it, and models often do not see their own earlier thinking.
/// Answers, tool calls and results say what happened, and the request stays smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thinking {
    /// Thinking is left out.
    #[default]
    Excluded,
    /// Thinking precedes each answer.
    Included,
}

/// How much of a message is serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Whether thinking is included.
    pub(crate) has_thinking: bool,
    /// Maximum UTF-16 units of each tool result, tool call argument and command output; `None` for the
    /// limits of the format.
    pub(crate) units: Option<usize>,
}

impl Detail {
    /// Everything that the format includes, with or without thinking.
    pub(crate) fn full(thinking: Thinking) -> Self {
        Self { has_thinking: thinking == Thinking::Included, units: None }
    }

    fn result_units(&self, is_of_person: bool) -> usize {
        let most = if is_of_person { PERSON_RESULT_UNITS } else { TOOL_RESULT_UNITS };
        self.units.map_or(most, |units| units.min(TOOL_RESULT_UNITS))
    }
}

/// Serialises messages as one text. A summarizer then reads a conversation instead of continuing it.
///
/// Takes messages in either format. Parts are joined by a blank line; images are dropped.
pub fn serialize_conversation<'a>(messages: impl IntoIterator<Item = &'a Message>, thinking: Thinking) -> String {
    let mut out = Parts::default();
    for message in messages {
        out.add_body(&message.read_body(), &Detail::full(thinking));
    }
    out.text
}

/// Serialises the body of one message; empty if the summarizer does not see it. Joined by blank lines, the non-empty
/// texts are the text of the conversation. `redact` sees texts before they are cut.
pub(crate) fn serialize_body(body: &Body, detail: &Detail, redact: Option<&dyn Redact>) -> String {
    let mut out = Parts { redact, ..Parts::default() };
    out.add_body(body, detail);
    out.text
}

#[derive(Default)]
struct Parts<'r> {
    text: String,
    redact: Option<&'r dyn Redact>,
}

impl Parts<'_> {
    fn add(&mut self, speaker: &str, what: &str) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push('[');
        self.text.push_str(speaker);
        self.text.push_str("]: ");
        self.text.push_str(what);
    }

    fn add_user(&mut self, what: &str) {
        self.add_said("User", what);
    }

    fn add_said(&mut self, speaker: &str, what: &str) {
        if !what.is_empty() {
            self.add(speaker, what);
        }
    }

    fn add_body(&mut self, body: &Body, detail: &Detail) {
        match body {
            Body::Custom { custom_type, content } if custom_type == HARNESS_TYPE => {
                self.add_said("Harness", &content.text(""));
            }
            Body::User { content } | Body::Custom { content, .. } => self.add_user(&content.text("")),
            Body::Assistant(assistant) => self.add_answer(&assistant.content, detail),
            Body::ToolResult { content, tool_name, .. } => {
                let text = content.text("");
                let is_of_person = || asks_person(tool_name) || is_refusal(&text);
                if !text.is_empty() {
                    let units = detail.result_units(text.len() > TOOL_RESULT_UNITS && is_of_person());
                    self.add("Tool result", &self.shortened(&text, Some(units)));
                }
            }
            Body::BashExecution(bash) => self.add_bash(bash, detail),
            Body::CompactionSummary { summary, .. } => self.add_user(&compaction_summary_text(summary)),
            Body::BranchSummary { summary, .. } => self.add_user(&branch_summary_text(summary)),
            Body::System(_) | Body::Other { .. } => {}
        }
    }

    fn add_bash(&mut self, bash: &BashExecution, detail: &Detail) {
        if !bash.exclude_from_context {
            self.add_user(&bash_text(bash, self.shortened(&bash.output, detail.units)));
        }
    }

    fn add_answer(&mut self, content: &[Block], detail: &Detail) {
        let thinking: Vec<&str> = content.iter().filter_map(thinking).collect();
        if detail.has_thinking && !thinking.is_empty() {
            self.add("Assistant thinking", &thinking.join("\n"));
        }
        if content.iter().any(|block| matches!(block, Block::Text(_))) {
            self.add("Assistant", &blocks_text(content, "\n"));
        }
        let calls: Vec<String> = content.iter().filter_map(call).map(|call| self.call(call, detail)).collect();
        if !calls.is_empty() {
            self.add("Assistant tool calls", &calls.join("; "));
        }
    }

    fn call(&self, call: &ToolCall, detail: &Detail) -> String {
        let argument = |value: &Json<'_>| self.shortened(&value.to_compact(), detail.units).into_owned();
        let arguments = match &call.arguments {
            Some(Json::Object(members)) => {
                let members = members.iter().map(|(key, value)| format!("{key}={}", argument(value)));
                members.collect::<Vec<_>>().join(", ")
            }
            Some(other) => argument(other),
            None => String::new(),
        };
        format!("{}({arguments})", call.name)
    }

    /// The first `units` UTF-16 units of `text`, with a note about the rest.
    fn shortened<'t>(&self, text: &'t str, units: Option<usize>) -> Cow<'t, str> {
        let is_whole = |text: &str| units.is_none_or(|units| prefix_utf16(text, units).len() == text.len());
        if is_whole(text) {
            return Cow::Borrowed(text);
        }
        let text = self.redact.map_or(Cow::Borrowed(text), |redact| redact.redact(text));
        if is_whole(&text) {
            return text;
        }
        let kept = units.map_or(text.as_ref(), |units| prefix_utf16(&text, units));
        let left_out = utf16_len(&text[kept.len()..]);
        Cow::Owned(format!("{kept}\n\n[{left_out} more characters]"))
    }
}

fn thinking(block: &Block) -> Option<&str> {
    match block {
        Block::Thinking(text) => Some(text),
        _ => None,
    }
}

fn call(block: &Block) -> Option<&ToolCall> {
    match block {
        Block::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// The messages before an entry in the requests of a conversation.
#[derive(Debug, Clone)]
pub struct Prefix {
    /// The messages in `llm` format, which are the first ones of the whole context in that format. The
    /// summary of an earlier compaction comes first.
    pub messages: Vec<Arc<Message>>,
    /// The last entry that is part of it; `None` if it has no entries.
    pub last_entry_id: Option<EntryId>,
    /// Prompt and tools at the leaf; `None` if the session has none.
    pub system: Option<SystemPrompt>,
    /// The last answer of the whole context that neither failed nor was aborted.
    pub answer: Option<LastAnswer>,
    /// Whether its model thinks: an answer contains thinking, or the thinking level is set.
    pub has_thinking: bool,
    /// Its tokens with prompt and tools, as the provider counted them if that is known.
    pub tokens: u64,
    /// Epoch milliseconds of the first message after it. At that time a request began with the whole prefix. `None`
    /// if the time is unknown.
    pub sent_at: Option<i64>,
}

/// Prompt and tools of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemPrompt {
    /// Content and sections, joined by blank lines.
    pub text: String,
    /// The tools as stored: objects with `name`, `description` and `parameters`.
    pub tools: Vec<Json<'static>>,
    /// Whether it was complete before the first message. Hosts send later changes in different ways.
    pub is_first: bool,
}

/// The last answer of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAnswer {
    /// Provider of its model; empty if the answer names none.
    pub provider: String,
    /// Id of its model; empty if the answer names none.
    pub model: String,
    /// The interface of the provider, if the answer names one.
    pub api: Option<String>,
    /// Its time, in epoch milliseconds.
    pub time: Option<i64>,
    /// Input tokens of its request, and how many of them were read from or written to a cache. `None`
    /// if the answer has no usage.
    pub input: Option<CachedInput>,
    /// Whether its request began with the whole current prefix.
    pub has_seen_all: bool,
}

/// Input tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedInput {
    /// All input tokens.
    pub tokens: u64,
    /// Tokens that were read from a cache or written to it.
    pub cached: u64,
}

impl Prefix {
    /// The prefix before the entry `end` in `projection`; `None` if that entry is not in it.
    pub fn of(projection: &Projection, end: &EntryId) -> Option<Self> {
        let entries = projection.entries();
        let position = entries.iter().position(|projected| projected.entry.id() == end)?;
        let (before, after) = entries.split_at(position);
        let estimated = tokens::estimate_context(projection);
        let counted = tokens::context_tokens(projection).tokens.max(estimated);
        let tokens_after: u64 = conversation(after).map(|message| message.tokens()).sum();
        Some(Self {
            messages: LlmContext::of(projection).before(position),
            last_entry_id: before.iter().rev().find(|projected| has_conversation(projected)).map(id_of),
            system: system_prompt(projection),
            answer: last_answer(projection, before),
            has_thinking: projection.thinking_level() != "off" || conversation(entries).any(|message| thinks(message)),
            tokens: counted.saturating_sub(tokens_after),
            sent_at: conversation(after).next().and_then(|message| message.time()),
        })
    }
}

fn thinks(message: &Message) -> bool {
    let is_thinking = |block: &Block| matches!(block, Block::Thinking(_));
    message.role() == "assistant"
        && matches!(&*message.read_body(), Body::Assistant(answer) if answer.content.iter().any(is_thinking))
}

fn id_of(projected: &ProjectedEntry) -> EntryId {
    projected.entry.id().clone()
}

fn conversation(entries: &[ProjectedEntry]) -> impl Iterator<Item = &Arc<Message>> {
    entries.iter().flat_map(|projected| &projected.messages).filter(|message| !message.is_system())
}

fn has_conversation(projected: &ProjectedEntry) -> bool {
    projected.messages.iter().any(|message| !message.is_system() && !message.is_failed_answer())
}

fn system_prompt(projection: &Projection) -> Option<SystemPrompt> {
    let replayed = projection.system_message(0)?;
    let Body::System(system) = replayed.body() else {
        return None;
    };
    let is_first = projection.messages().skip_while(|message| message.is_system()).all(|message| !message.is_system());
    let tools = match &system.tools_added {
        Some(Json::Array(tools)) => tools.clone(),
        _ => Vec::new(),
    };
    Some(SystemPrompt { text: prompt_text(system), tools, is_first })
}

fn prompt_text(system: &System) -> String {
    let content = system.content.text("\n");
    let sections = system.sections.iter().filter_map(|(_, section)| section.as_deref());
    let parts: Vec<&str> = [content.as_ref()].into_iter().chain(sections).filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

fn last_answer(projection: &Projection, before: &[ProjectedEntry]) -> Option<LastAnswer> {
    let entries = projection.entries();
    let is_success = |projected: &ProjectedEntry| projected.messages.iter().any(|message| message.is_success());
    let position = entries.iter().rposition(is_success)?;
    let answer = &entries[position];
    let message = answer.messages.iter().find(|message| message.is_success())?;
    let assistant = message.as_assistant()?;
    // An edit or a compaction after it changes the beginning of the next request.
    let is_current = projection.last_invalidating().is_none_or(|last| answer.depth < last);
    let seen = before.iter().rposition(has_conversation);
    let input = assistant.usage.map(|usage| {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        CachedInput { tokens: usage.input.saturating_add(cached), cached }
    });
    Some(LastAnswer {
        provider: assistant.provider.clone().unwrap_or_default(),
        model: assistant.model.clone().unwrap_or_default(),
        api: RawObject::parse(message.raw().get()).ok().and_then(|members| members.string("api")),
        time: message.time(),
        input: input.filter(|input| input.tokens > 0),
        has_seen_all: is_current && seen.is_none_or(|seen| seen <= position),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    /// A result is cut, unless it has the words of a person.
    #[test]
    fn answers_of_a_person_are_whole() {
        let result = |tool: &str, text: &str| {
            let text = crate::json::encode_string(text);
            let members = format!("\"toolCallId\":\"1\",\"toolName\":\"{tool}\",\"isError\":false");
            let json =
                format!("{{\"role\":\"toolResult\",{members},\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}");
            let message = Message::from_json(&json).expect("it is a message");
            serialize_conversation([&message], Thinking::Excluded).len()
        };
        let long = "Do it this way. ".repeat(500);
        let refused = format!("The user doesn't want to proceed with this tool use. The user said: {long}");
        assert!(result("ask_followup_question", &long) > 8000);
        assert!(result("AskUserQuestion", &long) > 8000);
        assert!(result("ExitPlanMode", &format!("User has approved your plan.\n{long}")) > 8000);
        assert!(result("edit", &refused) > 8000);
        assert!(result("read", &long) < 2100);
        assert!(result("AskUserQuestion", &long.repeat(10)) < 16_100);
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

    fn branch(messages: &[String]) -> Projection {
        let entries: Vec<Arc<Entry>> = messages
            .iter()
            .enumerate()
            .map(|(at, message)| {
                let parent = at.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
                let line = format!(
                    r#"{{"type":"message","id":"{at}","parentId":{parent},"timestamp":"2025-01-01T00:00:00.000Z","message":{message}}}"#
                );
                Arc::new(Entry::parse(&line).unwrap())
            })
            .collect();
        match Projection::of(entries.as_slice()) {
            Ok(projection) => projection,
        }
    }

    fn prefix(messages: &[&str], end: usize) -> Prefix {
        let messages: Vec<String> = messages.iter().map(|message| (*message).to_owned()).collect();
        Prefix::of(&branch(&messages), &EntryId::new(end.to_string())).unwrap()
    }

    const SYSTEM: &str = r#"{"role":"system","content":"Be kind.","sections":{"a":"First.","b":"Second."},"toolsAdded":[{"name":"read"}]}"#;
    const USER: &str = r#"{"role":"user","content":"hello there","timestamp":5}"#;
    const ANSWER: &str = r#"{"role":"assistant","content":[{"type":"text","text":"hi"}],"api":"a","provider":"p","model":"m","stopReason":"stop","timestamp":7,"usage":{"input":10,"output":1,"cacheRead":80,"cacheWrite":10,"totalTokens":101}}"#;

    #[test]
    fn prompt_tools_and_the_last_answer_are_read() {
        let found = prefix(&[SYSTEM, USER, ANSWER, USER], 3);
        let system = found.system.unwrap();
        assert_eq!(
            (system.text.as_str(), system.tools.len(), system.is_first),
            ("Be kind.\n\nFirst.\n\nSecond.", 1, true)
        );
        let input = Some(CachedInput { tokens: 100, cached: 90 });
        let answer = LastAnswer {
            provider: "p".into(),
            model: "m".into(),
            api: Some("a".into()),
            time: Some(7),
            input,
            has_seen_all: true,
        };
        assert_eq!(found.answer, Some(answer));
        assert_eq!(found.last_entry_id, Some(EntryId::new("2")));
        assert_eq!((found.messages.len(), found.sent_at), (2, Some(5)));
        // 101 tokens from the answer's usage, without the message after it.
        assert_eq!(found.tokens, 101);
    }

    #[test]
    fn what_came_after_the_last_answer_was_seen_by_no_model() {
        let seen = |messages: &[&str], end| prefix(messages, end).answer.unwrap().has_seen_all;
        assert!(seen(&[USER, ANSWER, USER, ANSWER], 2));
        assert!(seen(&[USER, ANSWER, USER], 2));
        assert!(!seen(&[USER, ANSWER, USER, USER], 3));
        assert!(prefix(&[USER, USER], 1).answer.is_none());
        assert!(!prefix(&[USER, SYSTEM, ANSWER], 2).system.unwrap().is_first);
    }

    #[test]
    fn a_call_is_never_without_its_result() {
        let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}],"stopReason":"toolUse"}"#;
        let result = r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[]}"#;
        let found = prefix(&[USER, call, USER, result, ANSWER], 2);
        assert_eq!(
            found.messages.iter().map(|message| message.role()).collect::<Vec<_>>(),
            ["user", "assistant", "toolResult"]
        );
    }

    proptest! {
        /// Whatever a branch contains, its prefix is byte for byte the beginning of its context.
        #[test]
        fn it_is_the_beginning_of_the_context(kinds in prop::collection::vec(0u8..8, 1..24), end in 0usize..24) {
            let message = |(at, kind): (usize, &u8)| match kind {
                0 => SYSTEM.to_owned(),
                1 | 2 => format!(r#"{{"role":"user","content":"{at}"}}"#),
                3 => format!(r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"c{}","name":"n","arguments":{{}}}}],"stopReason":"toolUse"}}"#, at % 5),
                4 => format!(r#"{{"role":"toolResult","toolCallId":"c{}","toolName":"n","content":[]}}"#, at % 5),
                5 => format!(r#"{{"role":"bashExecution","command":"{at}","output":""}}"#),
                6 => r#"{"role":"assistant","content":[],"stopReason":"error"}"#.to_owned(),
                _ => ANSWER.to_owned(),
            };
            let messages: Vec<String> = kinds.iter().enumerate().map(message).collect();
            let end = end % messages.len();
            let projection = branch(&messages);
            let found = Prefix::of(&projection, &EntryId::new(end.to_string())).unwrap();
            let context = llm_context(&projection);
            prop_assert!(found.messages.len() <= context.len());
            for (message, of_context) in found.messages.iter().zip(&context) {
                prop_assert_eq!(message.raw().get(), of_context.raw().get());
            }
        }
    }
}
