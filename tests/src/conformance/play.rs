//! Plays one case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::bytes::{bytes, compact};
use super::case::{Case, Contents, Framing, Framings, Initialize, Special};
use super::invariants;
use super::matching;
use super::server::Server;
use super::steps::{Action, Answer, Step};
use super::transcript::{Exchanged, Transcript};
use super::variables::{Variables, fill, fill_string};

/// The longest that a step waits for something that must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A case on its way.
pub(super) struct Player<'a> {
    binary: &'a Path,
    pub(super) case: &'a Case,
    pub(super) framing: Framing,
    pub(super) directory: TempDir,
    pub(super) servers: BTreeMap<String, Server>,
    pub(super) variables: Variables,
    pub(super) transcript: Transcript,
    pub(super) laid_out: BTreeMap<PathBuf, Vec<u8>>,
    next_id: u64,
}

/// Plays `case` and gives what went over the pipes; the error is a report with the transcript.
pub(crate) fn play(binary: &Path, case: &Case, framing: Framing) -> Result<Vec<Exchanged>, String> {
    played(binary, case, framing).map(|mut player| std::mem::take(&mut player.transcript.exchanges))
}

/// Plays `case` in lines and gives what went over the pipes, with the case's directory; the error is a report.
///
/// # Errors
/// When the case does not go as it says.
pub fn record(binary: &Path, case: &Case) -> Result<(Vec<Exchanged>, String), String> {
    let mut player = played(binary, case, Framing::Lines)?;
    let root = player.variables.get("dir").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok((std::mem::take(&mut player.transcript.exchanges), root))
}

fn played<'a>(binary: &'a Path, case: &'a Case, framing: Framing) -> Result<Player<'a>, String> {
    let mut player = Player::new(binary, case, framing).map_err(|error| format!("  {error:#}"))?;
    match player.run() {
        Ok(()) => Ok(player),
        Err(error) => Err(player.report(&error)),
    }
}

/// What the server can do, as `requires` names it: `method:NAME`, `summarizer:NAME`, `hook:NAME`.
///
/// # Errors
/// When the server does not start or does not say.
pub fn abilities(binary: &Path) -> anyhow::Result<Vec<String>> {
    let case: Case = serde_json::from_value(json!({ "name": "abilities", "initialize": false, "steps": [] }))?;
    let mut player = Player::new(binary, &case, Framings::default().all()[0])?;
    let params = player.initialize_params();
    let result = player.call("main", "initialize", Some(&params))?;
    let mut abilities = Vec::new();
    for (member, prefix) in [("summarizers", "summarizer"), ("hooks", "hook"), ("methods", "method")] {
        let names = result.pointer(&format!("/result/capabilities/{member}")).and_then(Value::as_array);
        let names = names.with_context(|| format!("no capabilities.{member} in {result}"))?;
        abilities.extend(names.iter().filter_map(Value::as_str).map(|name| format!("{prefix}:{name}")));
    }
    Ok(abilities)
}

impl<'a> Player<'a> {
    fn new(binary: &'a Path, case: &'a Case, framing: Framing) -> anyhow::Result<Self> {
        let directory = TempDir::with_prefix("compactd-conformance-")?;
        for name in ["home", "project", "tmp", "agent"] {
            std::fs::create_dir(directory.path().join(name))?;
        }
        let root = directory.path().canonicalize()?.to_string_lossy().into_owned();
        let variables = Variables::from([("dir".to_owned(), Value::String(root))]);
        let (servers, laid_out) = (BTreeMap::new(), BTreeMap::new());
        let transcript = Transcript::default();
        Ok(Self { binary, case, framing, directory, servers, variables, transcript, laid_out, next_id: 1000 })
    }

    fn run(&mut self) -> anyhow::Result<()> {
        self.lay_out()?;
        self.start("main")?;
        for (index, step) in self.case.steps.iter().enumerate() {
            self.transcript.step(index, &step.source);
            self.step(step).with_context(|| format!("step {index}: {}", step.source))?;
        }
        self.finish()
    }

    fn lay_out(&mut self) -> anyhow::Result<()> {
        for (path, contents) in &self.case.files {
            match contents {
                Contents::Special(Special::Link(target)) => {
                    std::os::unix::fs::symlink(self.path(target), self.new_path(path)?)?;
                }
                Contents::Special(Special::Pipe {}) => make_pipe(&self.new_path(path)?)?,
                contents => {
                    let bytes = self.contents(contents)?;
                    self.lay_out_file(path, bytes)?;
                }
            }
        }
        for name in &self.case.open {
            let bytes = shared_file(&format!("sessions/{name}.jsonl"))?;
            self.lay_out_file(&format!("{name}.jsonl"), bytes)?;
        }
        Ok(())
    }

    fn lay_out_file(&mut self, path: &str, bytes: Vec<u8>) -> anyhow::Result<()> {
        let path = self.new_path(path)?;
        std::fs::write(&path, &bytes)?;
        self.laid_out.insert(path, bytes);
        Ok(())
    }

    /// The path of a file that is about to be made, in a directory that is there.
    fn new_path(&self, path: &str) -> anyhow::Result<PathBuf> {
        let path = self.path(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        Ok(path)
    }

    fn contents(&self, contents: &Contents) -> anyhow::Result<Vec<u8>> {
        match contents {
            Contents::Special(Special::Bytes(value)) => bytes(value, self.framing, &self.variables),
            Contents::Special(Special::Copy(path)) => shared_file(path),
            Contents::Special(Special::Link(_) | Special::Pipe {}) => anyhow::bail!("a link or a pipe holds nothing"),
            Contents::Lines(lines) => {
                let lines = lines.iter().map(|line| {
                    let text: Option<String> = serde_json::from_str(line.get()).ok();
                    fill_string(&text.unwrap_or_else(|| compact(line.get())), &self.variables) + "\n"
                });
                Ok(lines.collect::<String>().into_bytes())
            }
        }
    }

    /// A path of a case: under its directory, if it is relative.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        let root = self.variables.get("dir").and_then(Value::as_str).unwrap_or_default();
        Path::new(root).join(fill_string(path, &self.variables))
    }

    pub(super) fn start(&mut self, name: &str) -> anyhow::Result<()> {
        if self.servers.contains_key(name) {
            return Ok(());
        }
        let mut case = self.case.clone();
        for text in case.args.iter_mut().chain(case.env.values_mut()) {
            *text = fill_string(text, &self.variables);
        }
        let server = Server::start(self.binary, &case, self.framing, self.directory.path())?;
        self.variables.insert(format!("pid:{name}"), server.process_id().into());
        self.servers.insert(name.to_owned(), server);
        if !matches!(self.case.initialize, Initialize::Usual(false)) {
            self.initialize(name)?;
        }
        Ok(())
    }

    fn initialize(&mut self, name: &str) -> anyhow::Result<()> {
        let params = self.initialize_params();
        self.call_well(name, "initialize", &params)?;
        if name == "main" {
            for session in &self.case.open {
                let params = json!({ "path": self.path(&format!("{session}.jsonl")) });
                self.call_well(name, "openSession", &params)?;
            }
        }
        Ok(())
    }

    fn call_well(&mut self, name: &str, method: &str, params: &Value) -> anyhow::Result<()> {
        let reply = self.call(name, method, Some(params))?;
        if reply.get("result").is_none() {
            bail!("{method} failed: {reply}")
        }
        Ok(())
    }

    fn initialize_params(&self) -> Value {
        let mut params = Map::from_iter([
            ("protocolVersion".to_owned(), json!(1)),
            ("clientInfo".to_owned(), json!({ "name": "conformance" })),
            ("cwd".to_owned(), json!("${dir}/project")),
            ("agentDir".to_owned(), json!("${dir}/agent")),
        ]);
        if let Initialize::With(members) = &self.case.initialize {
            params.extend(members.clone());
        }
        fill(&Value::Object(params), &self.variables)
    }

    fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        self.start(&step.server)?;
        let name = step.server.as_str();
        match &step.action {
            Action::Call(call) => self.call_step(name, call),
            Action::Send(send) => self.send_value(name, &send.send),
            Action::Bytes(raw) => self.bytes_step(name, raw),
            Action::Reply(reply) => {
                let id = fill(&reply.id, &self.variables);
                self.reply_step(name, &id, &reply.answer)
            }
            Action::BatchReply(reply) => self.batch_reply_step(name, &reply.batch_reply),
            Action::Notification(expected) => self.notification_step(name, expected),
            Action::Request(expected) => self.request_step(name, expected),
            Action::Silence(silence) => self.silence_step(name, silence),
            Action::CloseInput(_) => {
                self.server(name)?.close_input();
                Ok(())
            }
            Action::Signal(signal) => self.server(name)?.signal(&signal.signal),
            Action::Exit(exit) => self.exit_step(name, exit.exit),
            Action::File(file) => self.file_step(file),
            Action::Write(write) => self.write_step(write),
            Action::Remove(remove) => Ok(std::fs::remove_file(self.path(&remove.remove))?),
            Action::Let(kept) => {
                let value = fill(&kept.value, &self.variables);
                self.variables.insert(kept.name.clone(), value);
                Ok(())
            }
        }
    }

    pub(super) fn server(&mut self, name: &str) -> anyhow::Result<&mut Server> {
        self.servers.get_mut(name).with_context(|| format!("no server {name}"))
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn send_value(&mut self, name: &str, value: &Value) -> anyhow::Result<()> {
        let text = fill(value, &self.variables).to_string();
        self.send_bytes(name, &self.framing.frame(text.as_bytes()), None)
    }

    pub(super) fn send_bytes(&mut self, name: &str, bytes: &[u8], chunk: Option<usize>) -> anyhow::Result<()> {
        self.transcript.sent(name, bytes);
        self.server(name)?.write(bytes, chunk)
    }

    /// Sends a request and returns its reply, whatever it is.
    pub(super) fn call(&mut self, name: &str, method: &str, params: Option<&Value>) -> anyhow::Result<Value> {
        self.start(name)?;
        let id = self.new_id();
        self.send_request(name, id, method, params)?;
        let index = self.await_reply(name, &json!(id))?;
        let reply = self.server(name)?.messages[index].value.clone();
        self.note_initialize(name, method, &reply)?;
        Ok(reply)
    }

    pub(super) fn note_initialize(&mut self, name: &str, method: &str, reply: &Value) -> anyhow::Result<()> {
        self.server(name)?.initialized |= method == "initialize" && reply.get("result").is_some();
        Ok(())
    }

    pub(super) fn send_request(
        &mut self,
        name: &str,
        id: u64,
        method: &str,
        params: Option<&Value>,
    ) -> anyhow::Result<()> {
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if let Some(params) = params {
            message["params"] = params.clone();
        }
        self.send_value(name, &message)
    }

    /// Waits for the reply to `id` and returns its place among the messages.
    pub(super) fn await_reply(&mut self, name: &str, id: &Value) -> anyhow::Result<usize> {
        self.await_message(name, &format!("a reply to {id}"), |value| {
            value.get("method").is_none() && value.get("id") == Some(id)
        })
    }

    /// Waits for the first message that no step has claimed and that `fits`, claims it and returns its place.
    pub(super) fn await_message(
        &mut self,
        name: &str,
        what: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<usize> {
        let deadline = Instant::now() + PATIENCE;
        let mut looked_at = 0;
        loop {
            let messages = &mut self.server(name)?.messages;
            let found = (looked_at..messages.len()).find(|&at| !messages[at].claimed && fits(&messages[at].value));
            if let Some(found) = found {
                messages[found].claimed = true;
                return Ok(found);
            }
            looked_at = messages.len();
            if !self.receive(name, deadline)? {
                bail!("{what} did not come");
            }
        }
    }

    /// Waits for one more message and sees that it is well-formed.
    pub(super) fn receive(&mut self, name: &str, deadline: Instant) -> anyhow::Result<bool> {
        let server = self.servers.get_mut(name).with_context(|| format!("no server {name}"))?;
        if !server.wait(deadline)? {
            return Ok(false);
        }
        let message = server.messages.last().context("a message came")?;
        self.transcript.received(name, &message.text);
        invariants::check_message(&message.value).map_err(|why| anyhow!(why))?;
        Ok(true)
    }

    pub(super) fn check(&mut self, pattern: &Value, actual: Option<&Value>) -> anyhow::Result<()> {
        let pattern = fill(pattern, &self.variables);
        matching::check(&pattern, actual, &mut self.variables).map_err(|mismatch| anyhow!("{mismatch}"))
    }

    /// After an error the server still answers.
    pub(super) fn probe(&mut self, name: &str) -> anyhow::Result<()> {
        if !self.case.probe {
            return Ok(());
        }
        let (method, params, pattern) = match self.server(name)?.initialized {
            true => ("estimateTokens", json!({ "text": "12345" }), json!({ "result": { "tokens": 2 } })),
            false => ("rpc.discover", json!({}), json!({ "result": { "openrpc": { "$type": "string" } } })),
        };
        let reply = self.call(name, method, Some(&params))?;
        self.check(&pattern, Some(&reply)).context("the server does not answer as usual afterwards")
    }

    /// Ends every server that still runs, and looks at all that came.
    fn finish(&mut self) -> anyhow::Result<()> {
        let names: Vec<String> = self.servers.keys().cloned().collect();
        for name in names {
            if !self.server(&name)?.ended {
                self.server(&name)?.close_input();
                self.exit_step(&name, Some(0)).context("at the end of input")?;
            }
            let deadline = Instant::now() + PATIENCE;
            while self.receive(&name, deadline)? {}
            let messages = &self.server(&name)?.messages;
            invariants::check_leftovers(messages).map_err(|why| anyhow!(why))?;
            invariants::check_operations(messages).map_err(|why| anyhow!(why))?;
        }
        Ok(())
    }

    pub(super) fn exit_step(&mut self, name: &str, code: Option<i32>) -> anyhow::Result<()> {
        let found = self.server(name)?.wait_for_exit(Instant::now() + PATIENCE)?;
        if found == code { Ok(()) } else { bail!("the process ended with {found:?}, not with {code:?}") }
    }

    pub(super) fn answer_matches(&mut self, reply: &Value, answer: &Answer) -> anyhow::Result<()> {
        if let Some(pattern) = &answer.result {
            if reply.get("result").is_none() {
                bail!("an error instead of a result: {reply}");
            }
            self.check(pattern, reply.get("result"))?;
        }
        if let Some(pattern) = &answer.error {
            if reply.get("error").is_none() {
                bail!("a result instead of an error: {}", super::transcript::shorten(&reply.to_string(), 600));
            }
            self.check(pattern, reply.get("error"))?;
        }
        match &answer.either {
            Some(patterns) => self.check(&json!({ "$oneOf": patterns }), Some(reply)),
            None => Ok(()),
        }
    }

    fn report(&self, error: &anyhow::Error) -> String {
        let mut report = format!("  {error:#}\n{}", self.transcript.text());
        for (name, server) in &self.servers {
            let errors = server.errors();
            if !errors.is_empty() {
                report.push_str(&format!("    {name} standard error: {}\n", super::transcript::shorten(&errors, 3000)));
            }
        }
        report
    }
}

fn make_pipe(path: &Path) -> anyhow::Result<()> {
    let made = std::process::Command::new("mkfifo").arg(path).status().context("failed to run mkfifo")?;
    anyhow::ensure!(made.success(), "failed to make the pipe {}", path.display());
    Ok(())
}

/// A file beside the cases.
fn shared_file(path: &str) -> anyhow::Result<Vec<u8>> {
    let path = super::directory().join(path);
    std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))
}
