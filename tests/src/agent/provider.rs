//! A scripted provider of summaries: chat completions over HTTP on a local port, with the ways in
//! which real ones fail.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::marks_in;
use crate::generate::random::Random;

/// A provider that listens.
#[derive(Debug)]
pub struct Provider {
    /// Where.
    pub base_url: String,
    seen: Arc<Mutex<Seen>>,
}

/// What it was asked and what it did.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// Marks of all messages that it was sent.
    pub marks: HashSet<u64>,
    /// Requests by what came of them.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// UTF-16 units of the largest prompt.
    pub largest_prompt: usize,
}

impl Provider {
    /// Starts one on a free port; `seed` decides what goes wrong.
    ///
    /// # Errors
    /// When there is no port.
    pub fn start(seed: u64) -> anyhow::Result<Self> {
        Self::start_with(Some(Random::new(seed)))
    }

    /// Starts one that never fails.
    ///
    /// # Errors
    /// When there is no port.
    pub fn start_reliable() -> anyhow::Result<Self> {
        Self::start_with(None)
    }

    fn start_with(random: Option<Random>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let base_url = format!("http://{}/v1", listener.local_addr()?);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (shared, random) = (Arc::clone(&seen), Arc::new(Mutex::new(random)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, random) = (Arc::clone(&shared), Arc::clone(&random));
                // A connection that breaks is the server's affair.
                std::thread::spawn(move || drop(serve(stream, &shared, &random)));
            }
        });
        Ok(Self { base_url, seen })
    }

    /// What it has seen so far.
    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Seen>, random: &Mutex<Option<Random>>) -> anyhow::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(body) = read_request(&mut reader)? {
        let prompt = prompt_of(&body);
        let fate =
            random.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map_or(99, |random| random.below(100));
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.largest_prompt = seen.largest_prompt.max(prompt.encode_utf16().count());
        let outcome = match fate {
            0..7 => "rate limit",
            7..10 => "overloaded",
            10..13 => "broken connection",
            13..17 => "cut off",
            17..20 => "headings missing",
            _ => "summary",
        };
        *seen.outcomes.entry(outcome).or_default() += 1;
        if matches!(outcome, "summary") {
            seen.marks.extend(marks_in(&prompt));
        }
        drop(seen);
        answer(&mut stream, outcome, &prompt)?;
        if outcome == "broken connection" {
            return Ok(());
        }
    }
    Ok(())
}

fn read_request(reader: &mut BufReader<TcpStream>) -> anyhow::Result<Option<Value>> {
    let mut length = 0;
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().context("a length is a number")?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

fn prompt_of(body: &Value) -> String {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
}

fn answer(stream: &mut TcpStream, outcome: &str, prompt: &str) -> anyhow::Result<()> {
    let error = |status: &str, message: &str| {
        let body = json!({ "error": { "message": message } }).to_string();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nRetry-After: 0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let reply = match outcome {
        "rate limit" => error("429 Too Many Requests", "rate limit reached, try again"),
        "overloaded" => error("503 Service Unavailable", "overloaded"),
        "broken connection" => stream_of(&["## Goal\n"], None),
        "cut off" => stream_of(&["## Goal\n- cut"], Some("length")),
        "headings missing" => stream_of(&["I would rather tell a story."], Some("stop")),
        _ => {
            let summary = summary(prompt);
            let (head, tail) = summary.split_at(summary.len() / 2);
            stream_of(&[head, tail], Some("stop"))
        }
    };
    stream.write_all(reply.as_bytes())?;
    Ok(stream.flush()?)
}

fn stream_of(pieces: &[&str], finish: Option<&str>) -> String {
    let mut events = String::new();
    for piece in pieces {
        let delta = json!({ "choices": [{ "index": 0, "delta": { "content": piece }, "finish_reason": null }] });
        events.push_str(&format!("data: {delta}\n\n"));
    }
    let length = |events: &str, more: usize| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{events}",
            events.len() + more
        )
    };
    let Some(finish) = finish else {
        // More was promised than ever comes.
        return length(&events, 1000);
    };
    let last = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 } });
    events.push_str(&format!("data: {last}\n\ndata: [DONE]\n\n"));
    length(&events, 0)
}

/// A summary in the format that the prompt asks for.
fn summary(prompt: &str) -> String {
    let sent = marks_in(prompt).len();
    // The instructions stand behind the conversation and the summary to update.
    if prompt.rfind("## Original Request") > prompt.rfind("## Goal") {
        return format!(
            "## Original Request\nThe {sent} messages.\n\n## Early Progress\n- some\n\n## Context for Suffix\n- more"
        );
    }
    format!(
        "## Goal\n- Tell of {sent} messages\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n\n### Done\n- [x] \
         read files\n\n### In Progress\n- [ ] reading on\n\n### Blocked\n- (none)\n\n## Key Decisions\n- **Reading**: it \
         was asked for\n\n## Next Steps\n1. Read on\n\n## Critical Context\n- {}",
        "a fact that matters; ".repeat(30)
    )
}
