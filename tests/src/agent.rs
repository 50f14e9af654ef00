//! A simulated agent: turns with tool calls against a model with a small window, whose sidecar is
//! the real binary, and whose summaries come from a scripted provider over HTTP.
//!
//! What must hold at every step: the context lies under the threshold whenever the agent may send
//! it, tool calls and results are paired, and every message is in the context or was in a request
//! for a summary.

pub mod host;
mod provider;
mod sidecar;

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::generate::random::Random;
pub use provider::Provider;
pub use sidecar::Sidecar;

/// Window of the agent's model, in tokens.
pub const WINDOW: u64 = 32_000;
/// The model counts more tokens than the estimate of four units each, so that some contexts overflow.
const UNITS_PER_TOKEN: f64 = 2.6;

/// What a run came to.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    /// Turns of the user.
    pub turns: u64,
    /// Messages that were appended.
    pub messages: u64,
    /// Calls of the agent's model that it answered.
    pub model_calls: u64,
    /// Calls that it refused as too large.
    pub overflows: u64,
    /// Compactions that the server began, by reason.
    pub threshold_compactions: u64,
    /// The same for overflows.
    pub overflow_compactions: u64,
    /// Compactions that ended with an error, by its message.
    pub failures: BTreeMap<String, u64>,
    /// Most tokens of a context that was about to be sent, by the server's estimate.
    pub largest_context: u64,
    /// Tokens of everything that was said.
    pub total_tokens: u64,
}

/// An agent that works.
#[derive(Debug)]
pub struct Agent {
    sidecar: Sidecar,
    session_id: String,
    random: Random,
    marks: u64,
    /// Marks of what was appended and must not be lost.
    said: HashSet<u64>,
    /// A compaction that an append began, and how many messages there were then.
    running: Option<(String, u64)>,
    tally: Tally,
}

/// What the agent's model did.
enum Answer {
    /// It wants a tool.
    Call(String),
    /// It is done.
    Done,
    /// The context was too large.
    Refused,
}

impl Agent {
    /// An agent in a new session of `sidecar`; `seed` decides what is said.
    ///
    /// # Errors
    /// When the session cannot be created.
    pub fn new(mut sidecar: Sidecar, seed: u64) -> anyhow::Result<Self> {
        let model = json!({ "provider": "simulated", "id": "small", "contextWindow": WINDOW });
        let created = sidecar.call("createSession", &json!({ "autoCompaction": { "model": model } }))?;
        let session_id = created["sessionId"].as_str().context("a session has an id")?.to_owned();
        let random = Random::new(seed);
        Ok(Self { sidecar, session_id, random, marks: 0, said: HashSet::new(), running: None, tally: Tally::default() })
    }

    /// Works for `turns` turns.
    ///
    /// # Errors
    /// At the first promise that is broken.
    pub fn work(&mut self, turns: u64) -> anyhow::Result<()> {
        for turn in 0..turns {
            self.turn().with_context(|| format!("turn {turn}"))?;
            self.tally.turns += 1;
            if turn % 40 == 0 {
                self.check_pairs()?;
            }
        }
        self.wait_for_compaction()
    }

    /// Checks that each message that was said is in the context now or in `reported`, the marks of all
    /// requests for summaries; gives the tally.
    ///
    /// # Errors
    /// With the marks that are nowhere.
    pub fn finish(mut self, reported: &HashSet<u64>) -> anyhow::Result<Tally> {
        self.check_pairs()?;
        let context = self.sidecar.raw_call("getContext", &json!({ "sessionId": self.session_id }))?;
        let kept = marks_in(&String::from_utf8_lossy(&context));
        let lost: Vec<&u64> =
            self.said.iter().filter(|mark| !kept.contains(mark) && !reported.contains(mark)).collect();
        ensure!(lost.is_empty(), "messages that are neither kept nor were in a summary request: {lost:?}");
        self.sidecar.shut_down()?;
        Ok(self.tally)
    }

    fn turn(&mut self) -> anyhow::Result<()> {
        let asked = self.text(20, 1500);
        self.append(&json!({ "role": "user", "content": asked, "timestamp": 0 }))?;
        let rounds = self.random.below(5);
        for round in 0..=rounds {
            let mut refusals = 0;
            let answer = loop {
                match self.ask_model(round < rounds)? {
                    Answer::Refused => refusals += 1,
                    answer => break answer,
                }
                ensure!(refusals < 3, "the model refused the context {refusals} times in a row");
            };
            let Answer::Call(call) = answer else { break };
            let result = self.tool_result();
            self.append(&json!({
                "role": "toolResult", "toolCallId": call, "toolName": "read", "isError": false, "timestamp": 0,
                "content": [{ "type": "text", "text": result }],
            }))?;
        }
        Ok(())
    }

    /// Sends the context to the agent's model and stores what it says.
    fn ask_model(&mut self, wants_tool: bool) -> anyhow::Result<Answer> {
        self.wait_for_compaction()?;
        let params = json!({ "sessionId": self.session_id, "format": "llm" });
        let context = self.sidecar.raw_call("getContext", &params)?;
        let input = (context.len() as f64 / UNITS_PER_TOKEN) as u64;
        if input > WINDOW {
            self.tally.overflows += 1;
            let error = format!("prompt is too long: {input} tokens > {WINDOW} maximum");
            let refused = assistant(json!([]), "error", json!({ "errorMessage": error, "usage": usage(0, 0) }));
            let reported = self.append(&refused)?;
            let failures = &self.tally.failures;
            ensure!(reported["operationId"].is_string(), "an overflow began no compaction: {reported}; {failures:?}");
            return Ok(Answer::Refused);
        }
        self.check_threshold(&context)?;
        self.tally.model_calls += 1;
        let said = self.text(20, 900);
        let usage = json!({ "usage": usage(input, said.len() as u64 / 4) });
        let text = json!({ "type": "text", "text": said });
        if !wants_tool {
            self.append(&assistant(json!([text]), "stop", usage))?;
            return Ok(Answer::Done);
        }
        let call = format!("call{}", self.marks);
        let path = format!("src/part{}/file{}.rs", self.random.below(9), self.random.below(90));
        let calls = json!({ "type": "toolCall", "id": call, "name": "read", "arguments": { "path": path } });
        self.append(&assistant(json!([text, calls]), "toolUse", usage))?;
        Ok(Answer::Call(call))
    }

    /// The context that is about to be sent must lie under the threshold.
    fn check_threshold(&mut self, context: &[u8]) -> anyhow::Result<()> {
        let reply: Value = serde_json::from_slice(tail_object(context)?)?;
        let tokens = reply["tokens"].as_u64().context("a context has tokens")?;
        self.tally.largest_context = self.tally.largest_context.max(tokens);
        ensure!(tokens <= WINDOW, "a context of {tokens} tokens was about to be sent");
        Ok(())
    }

    /// Appends a message and gives what the server tells of a compaction.
    fn append(&mut self, message: &Value) -> anyhow::Result<Value> {
        self.tally.messages += 1;
        let params = json!({ "sessionId": self.session_id, "message": message });
        let reply = self.sidecar.call("appendMessage", &params)?;
        if let Some(operation) = reply["compaction"]["operationId"].as_str() {
            self.running = Some((operation.to_owned(), self.tally.messages));
        }
        // Half of the time the agent goes on while the summary is written.
        if self.random.chance(500) {
            self.wait_for_compaction()?;
        }
        Ok(reply["compaction"].clone())
    }

    fn wait_for_compaction(&mut self) -> anyhow::Result<()> {
        let Some((operation, begun_at)) = self.running.take() else {
            return Ok(());
        };
        let end = self.sidecar.end_of(&operation)?;
        match end["reason"].as_str() {
            Some("overflow") => self.tally.overflow_compactions += 1,
            _ => self.tally.threshold_compactions += 1,
        }
        if end["error"].is_object() {
            let kind = end["error"]["data"]["kind"].as_str();
            ensure!(kind.is_some(), "a compaction failed without a kind: {end}");
            let message = end["error"]["message"].as_str().unwrap_or_default().to_owned();
            *self.tally.failures.entry(message).or_default() += 1;
            return Ok(());
        }
        // Shortening a tool result was enough.
        if end["result"].is_null() && end["clipped"].as_array().is_some_and(|clipped| !clipped.is_empty()) {
            return Ok(());
        }
        let (before, after) = (&end["result"]["tokensBefore"], &end["result"]["tokensAfter"]);
        // What came while the summary was written is in the context after and was not in the one before.
        let is_alone = self.tally.messages == begun_at;
        ensure!(
            !is_alone || after.as_u64() < before.as_u64(),
            "a compaction made the context no smaller: {before} to {after}"
        );
        Ok(())
    }

    /// Every result follows its call in what a model would get.
    fn check_pairs(&mut self) -> anyhow::Result<()> {
        let context = self.sidecar.call("getContext", &json!({ "sessionId": self.session_id, "format": "llm" }))?;
        let mut calls: HashSet<&str> = HashSet::new();
        for message in context["messages"].as_array().context("a context has messages")? {
            let blocks = message["content"].as_array().into_iter().flatten();
            calls.extend(blocks.filter_map(|block| block["id"].as_str()));
            if let Some(call) = message["toolCallId"].as_str() {
                ensure!(calls.contains(call), "the result of {call} has lost its call");
            }
        }
        Ok(())
    }

    fn tool_result(&mut self) -> String {
        match self.random.below(100) {
            // A file that is a third of the window.
            0..2 => self.text(30_000, 40_000),
            2..20 => self.text(4_000, 12_000),
            _ => self.text(50, 2_500),
        }
    }

    /// New text with a mark of its own.
    fn text(&mut self, low: usize, high: usize) -> String {
        const WORDS: &[&str] = &["reads", "the", "buffer", "then", "writes", "a", "line", "before", "it", "closes"];
        self.marks += 1;
        self.said.insert(self.marks);
        let length = self.random.between(low, high);
        let mut text = format!("[m{}]", self.marks);
        while text.len() < length {
            text.push(' ');
            let word: &&str = self.random.pick(WORDS);
            text.push_str(word);
        }
        self.tally.total_tokens += text.len() as u64 / 4;
        text
    }
}

fn assistant(content: Value, stop_reason: &str, more: Value) -> Value {
    let mut message = json!({
        "role": "assistant", "content": content, "api": "simulated", "provider": "simulated", "model": "small",
        "stopReason": stop_reason, "timestamp": 0,
    });
    if let (Some(members), Value::Object(more)) = (message.as_object_mut(), more) {
        members.extend(more);
    }
    message
}

fn usage(input: u64, output: u64) -> Value {
    json!({ "input": input, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input + output })
}

/// The object `tokens` near the end of a reply to `getContext`.
fn tail_object(reply: &[u8]) -> anyhow::Result<&[u8]> {
    let start = memchr::memmem::rfind(reply, b"\"tokens\":{").context("a context has tokens")? + b"\"tokens\":".len();
    let end = memchr::memchr(b'}', &reply[start..]).context("an object ends")?;
    Ok(&reply[start..=start + end])
}

/// The marks `[m1]`, `[m2]` in `text`.
pub fn marks_in(text: &str) -> HashSet<u64> {
    let parts = text.split("[m").skip(1);
    parts.filter_map(|part| part.split(']').next()?.parse().ok()).collect()
}
