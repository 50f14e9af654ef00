//! Branches as short lines, so that a test reads like its conversation.
//!
//! `user 8`, `assistant 4 calls a b`, `result a 12`, `bash 3`, `custom 2`, `system 5`, `label`,
//! `level high`, `model p/m`, `hide 2`, `rewrite 2 5`, `branch 6`, `compaction keeps 3`,
//! `aborted 4 calls a` (an assistant that was stopped), `usage 900` (an assistant with usage), `pin 3`, `unpin 3`, `said some words` (a user), `error` (an assistant that failed). Numbers after a
//! role are tokens. Entries get the ids `0`, `1`, `2`, … in their order.

use std::cell::Cell;
use std::convert::Infallible;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryHeader, EntryId, iso_timestamp};
use compaction_core::json::RawObject;
use compaction_core::projection::{Branch, PathState, Projection};

/// Reads a branch with one entry per line. The first line is the root.
pub(crate) fn branch(text: &str) -> Vec<Arc<Entry>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(position, line)| Arc::new(entry(position, line))).collect()
}

/// What the model sees of a branch.
pub(crate) fn project(branch: &[Arc<Entry>]) -> Projection {
    match Projection::of(branch) {
        Ok(projection) => projection,
    }
}

/// The id of the last entry.
pub(crate) fn leaf(branch: &[Arc<Entry>]) -> Option<&EntryId> {
    branch.last().map(|entry| entry.id())
}

/// The compaction `entry` with a state among its details.
pub(crate) fn carrying(entry: &Entry, state: &PathState) -> Arc<Entry> {
    let details = state.add_to(r#"{"readFiles":["a"],"compactd":{"summarizer":"x"}}"#);
    let line = entry.line();
    let mut members = RawObject::parse(&line).expect("an entry is an object");
    members.set("details", details);
    Arc::new(Entry::parse(&members.to_json()).expect("only details were added"))
}

/// Counts the steps of a walk.
pub(crate) struct Counted<'a>(pub(crate) &'a [Arc<Entry>], pub(crate) &'a Cell<usize>);

impl Branch for Counted<'_> {
    type Error = Infallible;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, Infallible> {
        self.1.set(self.1.get().max(depth));
        self.0.header(depth)
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, Infallible> {
        self.0.entry(depth)
    }
}

/// One entry of a branch, at its position.
pub(crate) fn entry(position: usize, line: &str) -> Entry {
    let words: Vec<&str> = line.split_whitespace().collect();
    let parent = position.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let (kind, members) = body(&words);
    let time = iso_timestamp(1_700_000_000_000 + position as i64);
    let text = format!(
        "{{\"type\":\"{kind}\",\"id\":\"{position}\",\"parentId\":{parent},\"timestamp\":\"{time}\",{members}}}"
    );
    Entry::parse(&text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"))
}

fn body(words: &[&str]) -> (&'static str, String) {
    let word = |position: usize| words.get(position).copied().unwrap_or("");
    let tokens = |position: usize| text(word(position).parse().unwrap_or(0));
    let message = |members: String| ("message", format!("\"message\":{{{members}}}"));
    match word(0) {
        "user" => message(format!("\"role\":\"user\",\"content\":\"{}\"", tokens(1))),
        "system" => message(format!("\"role\":\"system\",\"content\":\"{}\"", tokens(1))),
        "assistant" => message(format!(
            "\"role\":\"assistant\",\"content\":[{}]",
            blocks(&tokens(1), &words[3.min(words.len())..])
        )),
        "aborted" => message(format!(
            "\"role\":\"assistant\",\"stopReason\":\"aborted\",\"content\":[{}]",
            blocks(&tokens(1), &words[3.min(words.len())..])
        )),
        "usage" => message(format!(
            "\"role\":\"assistant\",\"content\":[],\"stopReason\":\"stop\",\"usage\":{{\"totalTokens\":{}}}",
            word(1)
        )),
        "error" => message(
            "\"role\":\"assistant\",\"content\":[],\"stopReason\":\"error\",\"usage\":{\"totalTokens\":77}".to_owned(),
        ),
        "result" => message(format!(
            "\"role\":\"toolResult\",\"toolCallId\":\"{}\",\"toolName\":\"read\",\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}]",
            word(1),
            tokens(2)
        )),
        "bash" => message(format!("\"role\":\"bashExecution\",\"command\":\"\",\"output\":\"{}\"", tokens(1))),
        "custom" => ("custom_message", format!("\"customType\":\"t\",\"content\":\"{}\",\"display\":true", tokens(1))),
        "branch" => ("branch_summary", format!("\"fromId\":\"x\",\"summary\":\"{}\"", tokens(1))),
        "said" => message(format!("\"role\":\"user\",\"content\":\"{}\"", words[1..].join(" "))),
        "pin" | "unpin" => {
            let data = format!("{{\"entryId\":\"{}\",\"pinned\":{}}}", word(1), word(0) == "pin");
            ("custom", format!("\"customType\":\"compactd.pin\",\"data\":{data}"))
        }
        "label" => ("label", "\"targetId\":\"0\",\"label\":\"l\"".to_owned()),
        "level" => ("thinking_level_change", format!("\"thinkingLevel\":\"{}\"", word(1))),
        "model" => {
            let (provider, model) = word(1).split_once('/').unwrap_or(("", ""));
            ("model_change", format!("\"provider\":\"{provider}\",\"modelId\":\"{model}\""))
        }
        "hide" => ("context_edit", format!("\"targetId\":\"{}\",\"replacement\":null", word(1))),
        "rewrite" => {
            ("context_edit", format!("\"targetId\":\"{}\",\"replacement\":{{\"content\":\"{}\"}}", word(1), tokens(2)))
        }
        "compaction" => {
            ("compaction", format!("\"summary\":\"the past\",\"firstKeptEntryId\":\"{}\",\"tokensBefore\":9", word(2)))
        }
        other => panic!("no such entry: {other}"),
    }
}

fn blocks(text: &str, calls: &[&str]) -> String {
    let calls =
        calls.iter().map(|id| format!("{{\"type\":\"toolCall\",\"id\":\"{id}\",\"name\":\"\",\"arguments\":{{}}}}"));
    std::iter::once(format!("{{\"type\":\"text\",\"text\":\"{text}\"}}")).chain(calls).collect::<Vec<_>>().join(",")
}

fn text(tokens: usize) -> String {
    "abc ".repeat(tokens)
}
