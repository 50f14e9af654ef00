//! Compactions, navigations, forks, cancellations, appends, and closing and opening in random order, with a client whose model
//! answers, fails or says nothing: whatever comes first, every start has exactly one end, every
//! request one answer, and the file only whole lines of what was acknowledged.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use compactd_client::{Framing, RawServer};
use compactd_tests::binary::binary;
use compactd_tests::generate::random::Random;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);
const SUMMARY: &str = "## Goal\n- x\n\n## Constraints & Preferences\n- x\n\n## Progress\n\n### Done\n- x\n\n\
    ### In Progress\n- x\n\n### Blocked\n- x\n\n## Key Decisions\n- x\n\n## Next Steps\n- x\n\n## Critical Context\n- x";

/// What is never cancelled: a session that is closed would stay so.
const KEPT: &[&str] = &["appendMessage", "openSession"];

/// A client that plays one random game.
struct Game {
    server: RawServer,
    random: Random,
    session_id: String,
    /// What opens the session again.
    open_params: Value,
    sent: u64,
    /// Requests without an answer, by id.
    open: HashMap<u64, &'static str>,
    /// Requests of the server without an answer.
    asked: VecDeque<(Value, String)>,
    started: HashSet<String>,
    ended: HashSet<String>,
    announced: Vec<String>,
    entries: Vec<String>,
}

impl Game {
    fn start(home: &Path, seed: u64) -> anyhow::Result<Self> {
        let mut command = Command::new(binary()?);
        command.current_dir(home).env_clear().env("HOME", home).args(["--log-level", "error"]);
        let mut game = Self {
            server: RawServer::spawn(command, Framing::Lines)?,
            random: Random::new(seed),
            session_id: String::new(),
            open_params: Value::Null,
            sent: 0,
            open: HashMap::new(),
            asked: VecDeque::new(),
            started: HashSet::new(),
            ended: HashSet::new(),
            announced: Vec::new(),
            entries: Vec::new(),
        };
        let hooks = match seed.is_multiple_of(2) {
            true => json!(["sessionBeforeCompact", "sessionBeforeTree", "sessionBeforeFork"]),
            false => json!([]),
        };
        let settings = json!({
            "compactd": { "summarizer": "host", "hooks": { "timeoutMs": 30 }, "summarize": { "timeoutMs": 30 } },
            "compaction": { "keepRecentTokens": 200 },
        });
        game.call(
            "initialize",
            json!({
                "protocolVersion": 1, "clientInfo": { "name": "races" }, "settings": settings,
                "capabilities": { "summarize": true, "hooks": hooks },
            }),
        )?;
        let model = json!({ "provider": "p", "id": "m", "contextWindow": 4000 });
        let path = home.join(format!("{seed}.jsonl"));
        game.open_params = json!({ "path": path, "autoCompaction": { "model": model } });
        let created = game.call("createSession", game.open_params.clone())?;
        game.session_id = created["sessionId"].as_str().context("a session has an id")?.to_owned();
        Ok(game)
    }

    /// One random step. Nothing is waited for, so that everything overlaps.
    fn step(&mut self) -> anyhow::Result<()> {
        match self.random.below(18) {
            0..6 => self.append()?,
            6..8 => self.send("compact", json!({}))?,
            8 => self.send("abortCompaction", json!({}))?,
            9 => self.navigate()?,
            10 => self.cancel()?,
            11 => self.send("getContext", json!({ "format": "llm" }))?,
            12 => self.fork()?,
            13 => self.reopen()?,
            _ => self.answer()?,
        }
        if self.random.chance(300) {
            self.read_some()?;
        }
        Ok(())
    }

    fn append(&mut self) -> anyhow::Result<()> {
        let text = "words ".repeat(self.random.between(1, 300));
        let message = match self.random.chance(500) {
            true => json!({ "role": "user", "content": text, "timestamp": 0 }),
            false => json!({ "role": "assistant", "content": [{ "type": "text", "text": text }], "api": "a",
                "provider": "p", "model": "m", "stopReason": "stop", "timestamp": 0,
                "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0 } }),
        };
        self.send("appendMessage", json!({ "message": message }))
    }

    fn navigate(&mut self) -> anyhow::Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let target = self.random.pick(&self.entries).clone();
        let summarize = self.random.chance(700);
        self.send("navigateTree", json!({ "targetId": target, "summarize": summarize }))
    }

    fn fork(&mut self) -> anyhow::Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let entry = self.random.pick(&self.entries).clone();
        self.send("forkSession", json!({ "entryId": entry }))
    }

    /// Closes the session and opens it anew, or finds it open.
    fn reopen(&mut self) -> anyhow::Result<()> {
        if self.random.chance(700) {
            self.send("closeSession", json!({}))?;
        }
        self.send("openSession", self.open_params.clone())
    }

    fn cancel(&mut self) -> anyhow::Result<()> {
        let waiting: Vec<u64> =
            self.open.iter().filter(|(_, method)| !KEPT.contains(*method)).map(|(id, _)| *id).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let id = *self.random.pick(&waiting);
        self.write(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } }))
    }

    /// Answers what the server asks, well, badly, or not at all.
    fn answer(&mut self) -> anyhow::Result<()> {
        let Some((id, method)) = self.asked.pop_front() else {
            return self.read_some();
        };
        let reply = match (self.random.below(10), method.as_str()) {
            (0, _) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -1, "message": "no" } }),
            (1, "summarize") => json!({ "jsonrpc": "2.0", "id": id, "result": { "text": "", "stopReason": "stop" } }),
            (1, _) => json!({ "jsonrpc": "2.0", "id": id, "result": { "cancel": true } }),
            (2, _) => return Ok(()),
            (_, "summarize") => {
                json!({ "jsonrpc": "2.0", "id": id, "result": { "text": SUMMARY, "stopReason": "stop" } })
            }
            _ => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        };
        self.write(&reply)
    }

    /// Ends the game: whatever still waits is aborted, and everything must come to its end.
    fn finish(mut self, path: &Path) -> anyhow::Result<()> {
        self.send("abortCompaction", json!({}))?;
        while !self.open.is_empty() || self.started.len() != self.ended.len() {
            self.read()?;
            while let Some((id, _)) = self.asked.pop_front() {
                let error = json!({ "code": -1, "message": "over" });
                self.write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))?;
            }
        }
        self.call("shutdown", json!({}))?;
        self.server.close_input();
        let status = self.server.wait(PATIENCE)?;
        ensure!(status.success(), "the server ended with {status}");
        let text = std::fs::read_to_string(path)?;
        ensure!(text.ends_with('\n'), "the file ends in the middle of a line");
        let lines: Vec<&str> = text.lines().skip(1).collect();
        ensure!(lines == self.announced, "the file holds something else than what was announced");
        Ok(())
    }

    fn send(&mut self, method: &'static str, mut params: Value) -> anyhow::Result<()> {
        self.sent += 1;
        params["sessionId"] = json!(self.session_id);
        let request = json!({ "jsonrpc": "2.0", "id": self.sent, "method": method, "params": params });
        self.open.insert(self.sent, method);
        self.write(&request)
    }

    fn call(&mut self, method: &'static str, params: Value) -> anyhow::Result<Value> {
        self.sent += 1;
        let id = self.sent;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let frame = self.server.read_frame(PATIENCE)?.context("the server ended")?;
            let message: Value = serde_json::from_slice(&frame)?;
            if message["id"] == id && message.get("method").is_none() {
                ensure!(message.get("error").is_none(), "{method} failed: {message}");
                return Ok(message["result"].clone());
            }
            self.note(&frame, &message)?;
        }
    }

    fn write(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.server.send(message.to_string().as_bytes(), PATIENCE)?)
    }

    fn read_some(&mut self) -> anyhow::Result<()> {
        for _ in 0..self.random.below(6) {
            if self.open.is_empty() && self.started.len() == self.ended.len() {
                break;
            }
            // Something that waits for this client's answer would be waited for in vain.
            if !self.asked.is_empty() {
                break;
            }
            self.read()?;
        }
        Ok(())
    }

    fn read(&mut self) -> anyhow::Result<()> {
        let frame = self.server.read_frame(PATIENCE)?.context("the server ended")?;
        let message: Value = serde_json::from_slice(&frame)?;
        self.note(&frame, &message)
    }

    fn note(&mut self, frame: &[u8], message: &Value) -> anyhow::Result<()> {
        let method = message["method"].as_str();
        match (method, message.get("id")) {
            (Some(method), Some(id)) => self.asked.push_back((id.clone(), method.to_owned())),
            (Some("$/cancelRequest"), None) => {
                let id = &message["params"]["id"];
                self.asked.retain(|(asked, _)| asked != id);
            }
            (Some(method), None) => self.note_notification(method, frame, &message["params"])?,
            (None, Some(id)) => {
                let id = id.as_u64().context("an answer names its request")?;
                let method = self.open.remove(&id).with_context(|| format!("request {id} was answered twice"))?;
                let kind = message["error"]["data"]["kind"].as_str();
                ensure!(kind.is_none() || !KEPT.contains(&method), "{method} failed: {message}");
                ensure!(kind != Some("internalError"), "a defect: {message}");
            }
            (None, None) => anyhow::bail!("a message without a name: {message}"),
        }
        Ok(())
    }

    fn note_notification(&mut self, method: &str, frame: &[u8], params: &Value) -> anyhow::Result<()> {
        let operation = || params["operationId"].as_str().map(str::to_owned).context("an operation has an id");
        match method {
            "compactionStart" | "branchSummaryStart" => {
                ensure!(self.started.insert(operation()?), "an operation started twice: {params}");
            }
            "compactionEnd" | "branchSummaryEnd" => {
                let operation = operation()?;
                ensure!(self.started.contains(&operation), "an end without a start: {params}");
                ensure!(self.ended.insert(operation), "an operation ended twice: {params}");
            }
            "entryAppended" => {
                let text = std::str::from_utf8(frame)?;
                let entry = text.split_once("\"entry\":").and_then(|(_, rest)| rest.strip_suffix("}}"));
                self.announced.push(entry.context("an entry is announced")?.to_owned());
                self.entries.extend(params["entry"]["id"].as_str().map(str::to_owned));
            }
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn every_interleaving_ends_once_and_leaves_a_whole_file() -> anyhow::Result<()> {
    let games: u64 = std::env::var("RACES").ok().and_then(|games| games.parse().ok()).unwrap_or(100);
    // Games wait more than they compute.
    const AT_ONCE: u64 = 4;
    std::thread::scope(|scope| {
        let players =
            (0..AT_ONCE).map(|first| scope.spawn(move || (first..games).step_by(AT_ONCE as usize).try_for_each(play)));
        let players: Vec<_> = players.collect();
        players.into_iter().try_for_each(|player| player.join().map_err(|_| anyhow!("a game panicked"))?)
    })
}

/// Plays one game.
fn play(seed: u64) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let play = || -> anyhow::Result<()> {
        let mut game = Game::start(home.path(), seed)?;
        for _ in 0..80 {
            game.step()?;
        }
        game.finish(&home.path().join(format!("{seed}.jsonl")))
    };
    play().with_context(|| format!("game {seed}"))
}
