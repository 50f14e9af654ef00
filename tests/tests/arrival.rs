//! Calls take effect in the order in which they arrive, also where sessions are opened and closed
//! between them: random scripts, each sent in one write, against what they would do one by one.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use compactd_tests::binary::binary;
use compactd_tests::generate::random::Random;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

/// What a session is to the calls so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Closed,
    ReadOnly,
    Writable,
}

/// A session file, and what the calls so far have made of it.
struct Modelled {
    id: String,
    path: PathBuf,
    access: Access,
    /// Texts of its messages in file order.
    texts: Vec<String>,
}

impl Modelled {
    /// Lays out a file with so many messages.
    fn lay_out(directory: &Path, id: &str, messages: usize) -> anyhow::Result<Self> {
        let mut lines = json!({ "type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z",
            "cwd": directory })
        .to_string();
        let mut parent = Value::Null;
        let mut texts = Vec::new();
        for index in 0..messages {
            let entry_id = format!("{index:08x}");
            let text = format!("old {index}");
            let entry = json!({ "type": "message", "id": entry_id, "parentId": parent,
                "timestamp": "2026-01-01T00:00:00.000Z", "message": user(&text) });
            write!(lines, "\n{entry}")?;
            parent = json!(entry_id);
            texts.push(text);
        }
        let path = directory.join(format!("{id}.jsonl"));
        fs::write(&path, lines + "\n")?;
        Ok(Self { id: id.to_owned(), path, access: Access::Closed, texts })
    }

    fn texts_in_file(&self) -> anyhow::Result<Vec<String>> {
        let text = fs::read_to_string(&self.path)?;
        let entries = text.lines().skip(1).map(serde_json::from_str::<Value>);
        let texts = entries.map(|entry| Ok(entry?["message"]["content"].as_str().unwrap_or_default().to_owned()));
        texts.collect()
    }
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text, "timestamp": 0 })
}

/// What a reply must be.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Done,
    /// So many entries.
    Entries(usize),
    /// Open, and whether for reading alone.
    Opened(bool),
    Failed(i64),
    /// As this, or cancelled.
    Cancellable(Box<Expected>),
}

impl Expected {
    fn check(&self, reply: &Value) -> bool {
        match self {
            Self::Done => reply.get("error").is_none(),
            Self::Entries(count) => reply["result"]["nodes"].as_array().is_some_and(|nodes| nodes.len() == *count),
            Self::Opened(read_only) => reply["result"]["readOnly"] == *read_only,
            Self::Failed(code) => reply["error"]["code"] == *code,
            Self::Cancellable(expected) => reply["error"]["code"] == -32800 || expected.check(reply),
        }
    }
}

/// A script and what it must lead to.
struct Script {
    random: Random,
    sessions: Vec<Modelled>,
    requests: Vec<Value>,
    expected: Vec<Expected>,
}

impl Script {
    fn new(seed: u64, directory: &Path) -> anyhow::Result<Self> {
        let mut random = Random::new(seed);
        let mut sessions = Vec::new();
        for id in ["first", "second"] {
            sessions.push(Modelled::lay_out(directory, id, *random.pick(&[1, 3, 40, 2000]))?);
        }
        Ok(Self { random, sessions, requests: Vec::new(), expected: Vec::new() })
    }

    fn request(&mut self, method: &str, params: &Value, expected: Expected) {
        let id = self.requests.len();
        self.requests.push(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.expected.push(expected);
    }

    fn step(&mut self) {
        let at = self.random.below(self.sessions.len());
        match self.random.below(20) {
            0..2 => self.open(at, false),
            2 => self.open(at, true),
            3 => self.close(at),
            4 => self.fork(at),
            5 => self.request("createSession", &json!({ "ephemeral": true }), Expected::Done),
            6..8 => self.read(at),
            8 => self.cancel(at),
            _ => self.append(at),
        }
    }

    fn open(&mut self, at: usize, read_only: bool) {
        let session = &mut self.sessions[at];
        session.access = match (session.access, read_only) {
            (Access::Closed, true) => Access::ReadOnly,
            (access, true) => access,
            (_, false) => Access::Writable,
        };
        let expected = Expected::Opened(session.access == Access::ReadOnly);
        let params = json!({ "path": session.path, "readOnly": read_only });
        self.request("openSession", &params, expected);
    }

    fn close(&mut self, at: usize) {
        let expected = self.unless_closed(at, Expected::Done);
        self.sessions[at].access = Access::Closed;
        self.request("closeSession", &json!({ "sessionId": self.sessions[at].id }), expected);
    }

    fn fork(&mut self, at: usize) {
        let expected = self.unless_closed(at, Expected::Opened(false));
        let params = json!({ "sessionId": self.sessions[at].id, "entryId": "00000000", "position": "at" });
        self.request("forkSession", &params, expected);
    }

    fn read(&mut self, at: usize) {
        let expected = self.unless_closed(at, Expected::Entries(self.sessions[at].texts.len()));
        self.request("getTree", &json!({ "sessionId": self.sessions[at].id }), expected);
    }

    /// A read that is cancelled, somewhere in the line.
    fn cancel(&mut self, at: usize) {
        let expected = self.unless_closed(at, Expected::Entries(self.sessions[at].texts.len()));
        let id = self.requests.len();
        self.request(
            "getTree",
            &json!({ "sessionId": self.sessions[at].id }),
            Expected::Cancellable(Box::new(expected)),
        );
        self.request("$/cancelRequest", &json!({ "id": id }), Expected::Done);
    }

    fn append(&mut self, at: usize) {
        let text = format!("new {}", self.requests.len());
        let session = &mut self.sessions[at];
        let expected = match session.access {
            Access::Closed => Expected::Failed(1001),
            Access::ReadOnly => Expected::Failed(1007),
            Access::Writable => Expected::Done,
        };
        if expected == Expected::Done {
            session.texts.push(text.clone());
        }
        let params = json!({ "sessionId": session.id, "message": user(&text) });
        self.request("appendMessage", &params, expected);
    }

    fn unless_closed(&self, at: usize, expected: Expected) -> Expected {
        match self.sessions[at].access {
            Access::Closed => Expected::Failed(1001),
            _ => expected,
        }
    }

    /// Sends everything in one write and compares what comes of it.
    fn play(&self, home: &Path) -> anyhow::Result<()> {
        let replies = send_at_once(home, &self.requests)?;
        for (request, expected) in self.requests.iter().zip(&self.expected) {
            let reply = replies.iter().find(|reply| reply["id"] == request["id"]);
            let reply = reply.with_context(|| format!("{request} was not answered"))?;
            ensure!(expected.check(reply), "{request} must lead to {expected:?}, and led to {reply}");
        }
        for session in &self.sessions {
            ensure!(session.texts_in_file()? == session.texts, "the messages of {} are in another order", session.id);
        }
        Ok(())
    }
}

/// The replies to requests that are sent right behind `initialize`, in one write.
fn send_at_once(home: &Path, requests: &[Value]) -> anyhow::Result<Vec<Value>> {
    let mut command = Command::new(binary()?);
    command.current_dir(home).env_clear().env("HOME", home).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = BufReader::new(child.stdout.take().context("output is a pipe")?);
    let (sender, replies) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message.get("method").is_none() && sender.send(message).is_err() {
                return;
            }
        }
    });
    let settings = json!({ "compactd": { "durability": "none" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": "initialize", "method": "initialize",
        "params": { "protocolVersion": 1, "clientInfo": { "name": "arrival" }, "settings": settings } });
    let mut text = initialize.to_string() + "\n";
    for request in requests {
        writeln!(text, "{request}")?;
    }
    let mut input = child.stdin.take().context("input is a pipe")?;
    input.write_all(text.as_bytes())?;
    let received = (0..=requests.len()).map(|_| replies.recv_timeout(PATIENCE));
    let received = received.collect::<Result<Vec<Value>, _>>().context("a request is not answered");
    drop(input);
    if received.is_err() {
        child.kill()?;
    }
    child.wait()?;
    received
}

#[test]
fn what_is_sent_at_once_takes_effect_in_order() -> anyhow::Result<()> {
    let scripts = std::env::var("ARRIVALS").ok().and_then(|scripts| scripts.parse().ok()).unwrap_or(25);
    for seed in 0..scripts {
        let home = tempfile::tempdir()?;
        let mut script = Script::new(seed, home.path())?;
        for _ in 0..script.random.between(5, 300) {
            script.step();
        }
        script.play(home.path()).with_context(|| format!("script {seed}"))?;
    }
    Ok(())
}
