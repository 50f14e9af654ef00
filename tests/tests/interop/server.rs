//! The server under test, asked one request at a time over its pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use compactd_tests::binary::binary;
use compaction_core::json::{self, Json};
use tempfile::TempDir;

/// How long one answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server with a home of its own.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    requests: u64,
    _home: TempDir,
}

impl Server {
    /// Starts the binary, built first if there is none yet, and initialises it.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let home = tempfile::tempdir().context("failed to make a home")?;
        let mut command = Command::new(binary().or_else(|_| build())?);
        command.env_clear().env("HOME", home.path()).env("TMPDIR", home.path()).current_dir(home.path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("failed to start compactd")?;
        let input = child.stdin.take();
        let lines = read_lines(child.stdout.take().context("standard output is piped")?);
        let mut server = Self { child, input, lines, requests: 0, _home: home };
        server.call("initialize", r#"{"protocolVersion":1,"clientInfo":{"name":"interop"}}"#)?;
        Ok(server)
    }

    /// Calls a method with a JSON object and returns its result. Fails with the server's error.
    pub(crate) fn call(&mut self, method: &str, params: &str) -> anyhow::Result<Json<'static>> {
        let (id, request) = self.request(method, params);
        self.write(&request)?;
        self.answer(|answer| (answer.get("id")?.as_f64()? == id as f64).then(|| result(answer)))
            .with_context(|| format!("no answer to {method}"))?
            .with_context(|| format!("{method} failed"))
    }

    /// Calls a method once with each of `params` in one batch; results in the order of `params`.
    pub(crate) fn batch(&mut self, method: &str, params: &[String]) -> anyhow::Result<Vec<Json<'static>>> {
        if params.is_empty() {
            return Ok(Vec::new());
        }
        let first = self.requests + 1;
        let requests: Vec<String> = params.iter().map(|params| self.request(method, params).1).collect();
        self.write(&format!("[{}]", requests.join(",")))?;
        let answers = self.answer(|answer| match answer {
            Json::Array(answers) => Some(answers.clone().into_iter().map(Json::into_owned).collect::<Vec<_>>()),
            _ => None,
        });
        let mut answers = answers.with_context(|| format!("no answer to a batch of {method}"))?;
        let id = |answer: &Json<'_>| answer.get("id").and_then(Json::as_f64).unwrap_or(-1.0);
        answers.sort_by(|left, right| id(left).total_cmp(&id(right)));
        let is_complete = answers.iter().map(id).eq((first..=self.requests).map(|id| id as f64));
        anyhow::ensure!(is_complete, "a batch of {} requests has {} answers", params.len(), answers.len());
        answers.iter().map(result).collect::<anyhow::Result<_>>().with_context(|| format!("{method} failed"))
    }

    fn request(&mut self, method: &str, params: &str) -> (u64, String) {
        self.requests += 1;
        let id = self.requests;
        (id, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
    }

    fn write(&mut self, request: &str) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("the input is open until the server is dropped")?;
        writeln!(input, "{request}").and_then(|()| input.flush()).context("failed to write to the server")
    }

    /// Waits for the message that `take` takes; notifications are passed over.
    fn answer<T>(&mut self, take: impl Fn(&Json<'_>) -> Option<T>) -> anyhow::Result<T> {
        loop {
            let line = self.lines.recv_timeout(PATIENCE)?;
            let message = Json::parse(&line).with_context(|| format!("the server wrote {line}"))?;
            if let Some(taken) = take(&message) {
                return Ok(taken);
            }
        }
    }
}

fn result(answer: &Json<'_>) -> anyhow::Result<Json<'static>> {
    let result = answer.get("result").with_context(|| answer.to_compact())?;
    Ok(result.clone().into_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends the server; one that hangs is ended by force.
        self.input = None;
        for _ in 0..200 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = sync_channel(64);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn build() -> anyhow::Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let status = cargo.args(["build", "--quiet", "--package", "compactd"]).current_dir(workspace).status()?;
    anyhow::ensure!(status.success(), "failed to build compactd: {status}");
    binary()
}

/// A JSON object of members that are JSON texts already.
pub(crate) fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("{}:{value}", json::encode_string(key))).collect();
    format!("{{{}}}", members.join(","))
}
