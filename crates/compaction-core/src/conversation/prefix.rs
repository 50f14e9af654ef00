//! The beginning of a conversation as its model last received it.
//!
//! Providers cache the beginning of a request for a few minutes and charge a small part of the price if
//! the next request begins with the same bytes. To use the cache, exactly this beginning has to be sent
//! again.

use std::sync::Arc;

use super::LlmContext;
use crate::entry::EntryId;
use crate::json::{Json, RawObject};
use crate::message::{Block, Body, Message, System};
use crate::projection::{ProjectedEntry, Projection};
use crate::{system_state, tokens};

/// The messages before an entry in the requests of a conversation.
#[derive(Debug, Clone)]
pub struct Prefix {
    /// The messages in `llm` format, which are the first ones of the whole context in that format. The
    /// summary of an earlier compaction comes first.
    pub messages: Vec<Arc<Message>>,
    /// The last entry that is part of it; `None` if it has no entries.
    pub last_entry_id: Option<EntryId>,
    /// Prompt and tools at the leaf; `None` if the session holds none.
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
    let replayed = system_state::replay(projection.messages(), 0)?;
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
    use proptest::prelude::*;

    use super::*;
    use crate::conversation::llm_context;
    use crate::entry::Entry;

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
        /// Whatever a branch holds, its prefix is byte for byte the beginning of its context.
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
