//! Simulated hosts whose models take less than the settings say: they reserve output, their windows are
//! wrong, their servers name limits or none, or shorten what is too large and keep silent.
//!
//! A host is stuck if no request is answered for several turns although its model has room for some
//! context, and it loops if the server compacts again and again for one request.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{Sidecar, assistant, usage};
use crate::generate::random::Random;

/// Turns without a whole answer after which a host counts as stuck.
const STUCK_TURNS: u64 = 3;
/// Operations for one request after which a server loops.
const MOST_OPERATIONS: u64 = 6;

/// What a host's model does with a request that is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Server {
    /// It refuses it and names input, output and limit.
    NamesAll,
    /// It refuses it and names the limit.
    NamesLimit,
    /// It refuses it without numbers.
    NamesNothing,
    /// It answers to the end of it.
    Truncates,
}

/// A host and its model.
#[derive(Debug, Clone)]
pub struct Profile {
    /// What the model really takes, input and output together, in tokens.
    pub window: u64,
    /// What the settings say.
    pub configured: u64,
    /// Output that every request asks for.
    pub output: u64,
    /// Tokens of prompt and tools that lie outside of the session.
    pub overhead: u64,
    /// UTF-16 units of one token of the model.
    pub units: f64,
    /// What it does with too much.
    pub server: Server,
}

impl Profile {
    /// A profile of many; some room is always left.
    pub fn any(random: &mut Random) -> Self {
        let window = *random.pick(&[8_192, 16_384, 32_768, 65_536, 131_072]);
        let configured = match random.below(4) {
            0 => window / 2,
            1 => window * 4,
            2 => 200_000,
            _ => window,
        };
        let server = *random.pick(&[Server::NamesAll, Server::NamesLimit, Server::NamesNothing, Server::Truncates]);
        let wanted = *random.pick(&[0, 4_096, 32_000, 64_000, 128_000]);
        let output = if server == Server::Truncates { 0 } else { wanted.min(window / 2) };
        let overhead = (*random.pick(&[0, 1_500, 6_000])).min(window / 8);
        let units = 2.4 + random.below(22) as f64 / 10.0;
        Self { window, configured, output, overhead, units, server }
    }

    /// Tokens of input that the model takes.
    fn room(&self) -> u64 {
        self.window - self.output
    }
}

/// What a run of one host came to.
#[derive(Debug, Default, Clone)]
pub struct Run {
    /// Requests that were answered in whole.
    pub answered: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that were answered to a part of the context.
    pub truncated: u64,
    /// Operations by reason.
    pub operations: BTreeMap<String, u64>,
    /// Tool results that were shortened.
    pub clipped: u64,
    /// Why nothing was done for a request that was refused, by kind or guard.
    pub let_be: BTreeMap<String, u64>,
    /// Most turns in a row without a whole answer.
    pub longest_silence: u64,
    /// Most operations for one request.
    pub most_operations: u64,
}

impl Run {
    /// Whether no request came through for several turns.
    pub fn is_stuck(&self) -> bool {
        self.longest_silence >= STUCK_TURNS
    }

    /// Whether the server compacted again and again for one request.
    pub fn loops(&self) -> bool {
        self.most_operations > MOST_OPERATIONS
    }
}

enum Reply {
    Whole,
    Refused { is_retried: bool },
    Part,
}

/// A host at work.
#[derive(Debug)]
pub struct Host<'a> {
    sidecar: &'a mut Sidecar,
    profile: Profile,
    session_id: String,
    random: Random,
    calls: u64,
    for_request: u64,
    run: Run,
}

impl<'a> Host<'a> {
    /// A host in a new session.
    ///
    /// # Errors
    /// When the session cannot be created.
    pub fn new(sidecar: &'a mut Sidecar, profile: Profile, seed: u64) -> anyhow::Result<Self> {
        let mut model = json!({ "provider": "simulated", "id": "small", "contextWindow": profile.configured });
        if profile.output > 0 {
            model["maxOutputTokens"] = profile.output.into();
        }
        let created =
            sidecar.call("createSession", &json!({ "ephemeral": true, "autoCompaction": { "model": model } }))?;
        let session_id = created["sessionId"].as_str().context("a session has an id")?.to_owned();
        let random = Random::new(seed);
        Ok(Self { sidecar, profile, session_id, random, calls: 0, for_request: 0, run: Run::default() })
    }

    /// Works until three times as much was said as the model has room for.
    ///
    /// # Errors
    /// When the server says what it must not.
    pub fn work(mut self) -> anyhow::Result<Run> {
        let (mut said, mut silence) = (0, 0);
        let mut turns = 0;
        while said < self.profile.room() * 3 && turns < 60 {
            turns += 1;
            let text = self.text(60);
            said += self.append(&json!({ "role": "user", "content": text, "timestamp": 0 }))?;
            let answers = self.run.answered;
            said += self.turn()?;
            silence = if self.run.answered > answers { 0 } else { silence + 1 };
            self.run.longest_silence = self.run.longest_silence.max(silence);
        }
        let session_id = json!({ "sessionId": self.session_id });
        self.sidecar.call("closeSession", &session_id)?;
        Ok(self.run)
    }

    /// Requests and results of tools until the model is done, or the host gives up; gives the tokens said.
    fn turn(&mut self) -> anyhow::Result<u64> {
        let mut said = 0;
        let rounds = self.random.below(4);
        for round in 0..=rounds {
            self.for_request = 0;
            let call = (round < rounds).then(|| format!("call{}", self.calls));
            self.calls += 1;
            loop {
                match self.request(call.as_deref())? {
                    Reply::Refused { is_retried: true } if self.for_request <= MOST_OPERATIONS => {}
                    Reply::Refused { .. } => return Ok(said),
                    Reply::Whole | Reply::Part => break,
                }
            }
            let Some(call) = call else { break };
            // Now and then a result is larger than anything that the model takes.
            let share = match self.random.below(40) {
                0 => 1400,
                1..8 => 150,
                _ => 40,
            };
            let text = self.text(share);
            said += self.append(&json!({
                "role": "toolResult", "toolCallId": call, "toolName": "read", "isError": false, "timestamp": 0,
                "content": [{ "type": "text", "text": text }],
            }))?;
        }
        Ok(said)
    }

    fn request(&mut self, call: Option<&str>) -> anyhow::Result<Reply> {
        let params = json!({ "sessionId": self.session_id, "format": "llm" });
        let context = self.sidecar.raw_call("getContext", &params)?;
        let input = (context.len() as f64 / self.profile.units) as u64 + self.profile.overhead;
        let is_too_large = input > self.profile.room();
        if is_too_large && self.profile.server != Server::Truncates {
            self.run.refused += 1;
            let error = self.error(input);
            let refused = assistant(json!([]), "error", json!({ "errorMessage": error, "usage": usage(0, 0) }));
            let (_, end) = self.append_and_wait(&refused)?;
            return Ok(Reply::Refused { is_retried: end["willRetry"] == true });
        }
        let text = self.text(30);
        let read = if is_too_large { self.profile.window / 2 } else { input };
        let usage = json!({ "usage": usage(read, text.len() as u64 / 4) });
        let mut blocks = vec![json!({ "type": "text", "text": text })];
        blocks.extend(call.map(
            |id| json!({ "type": "toolCall", "id": id, "name": "read", "arguments": { "path": format!("src/{id}.rs") } }),
        ));
        let stop = if call.is_some() { "toolUse" } else { "stop" };
        match is_too_large {
            true => self.run.truncated += 1,
            false => self.run.answered += 1,
        }
        self.append(&assistant(json!(blocks), stop, usage))?;
        Ok(if is_too_large { Reply::Part } else { Reply::Whole })
    }

    fn error(&self, input: u64) -> String {
        let Profile { window, output, .. } = self.profile;
        match self.profile.server {
            Server::NamesAll => format!(
                "input length and `max_tokens` exceed context limit: {input} + {output} > {window}, decrease input \
                 length or `max_tokens` and try again"
            ),
            Server::NamesLimit => format!(
                "This model's maximum context length is {window} tokens. However, you requested {} tokens. Please \
                 reduce the length of the messages or completion.",
                input + output
            ),
            _ => "Input is too long for requested model.".to_owned(),
        }
    }

    /// Appends a message, waits for what the server begins because of it, and gives the estimated tokens.
    fn append(&mut self, message: &Value) -> anyhow::Result<u64> {
        self.append_and_wait(message).map(|(tokens, _)| tokens)
    }

    fn append_and_wait(&mut self, message: &Value) -> anyhow::Result<(u64, Value)> {
        let params = json!({ "sessionId": self.session_id, "message": message });
        let tokens = params.to_string().len() as u64 / 4;
        let reply = self.sidecar.call("appendMessage", &params)?;
        let reported = &reply["compaction"];
        let is_refused = message["stopReason"] == "error";
        ensure!(reported.is_object() || !is_refused, "nothing is said of a refused request: {reply}");
        if reported.is_null() {
            return Ok((tokens, Value::Null));
        }
        ensure!(
            reported["contextTokens"].is_u64() && reported["threshold"].is_u64(),
            "numbers are missing: {reported}"
        );
        self.run.clipped += reported["clipped"].as_array().map_or(0, |clipped| clipped.len() as u64);
        if let Some(why) = reported["skipped"].as_str().or_else(|| reported["error"]["data"]["reason"].as_str()) {
            *self.run.let_be.entry(why.to_owned()).or_default() += 1;
        }
        let Some(operation) = reported["operationId"].as_str() else {
            return Ok((tokens, Value::Null));
        };
        self.for_request += 1;
        self.run.most_operations = self.run.most_operations.max(self.for_request);
        let end = self.sidecar.end_of(operation)?;
        let reason = end["reason"].as_str().unwrap_or_default().to_owned();
        let outcome = if end["error"].is_object() { format!("{reason}, failed") } else { reason };
        *self.run.operations.entry(outcome).or_default() += 1;
        Ok((tokens, end))
    }

    /// Words that take so many thousandths of the model's room, by the estimate.
    fn text(&mut self, thousandths: usize) -> String {
        const WORDS: &[&str] = &["reads", "the", "buffer", "then", "writes", "a", "line", "before", "it", "closes"];
        let tokens = self.profile.room() * self.random.below(thousandths) as u64 / 1000 + 8;
        let mut text = String::new();
        while (text.len() as u64) < tokens * 4 {
            text.push_str(self.random.pick::<&str>(WORDS));
            text.push(' ');
        }
        text
    }
}
