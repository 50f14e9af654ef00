//! The thinnest client there is: a line out, a line in, both blocking.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

/// A server and its pipes, in line framing. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Pipe {
    /// Starts the server with `home` as its home directory.
    pub(crate) fn start(binary: &Path, home: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        command.env_clear().env("HOME", home).current_dir(home);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let input = child.stdin.take().context("standard input is piped")?;
        let output = BufReader::with_capacity(256 * 1024, child.stdout.take().context("standard output is piped")?);
        Ok(Self { child, input, output, line: String::new() })
    }

    /// Starts the server and initializes it.
    pub(crate) fn initialized(binary: &Path, home: &Path) -> anyhow::Result<Self> {
        let mut pipe = Self::start(binary, home)?;
        pipe.call("initialize", &json!({ "protocolVersion": 1, "clientInfo": { "name": "bench" }, "agentDir": home }))?;
        Ok(pipe)
    }

    /// Calls a method and returns its result.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.timed(method, params)?;
        let reply: Value = serde_json::from_str(&self.line)?;
        reply.get("result").cloned().with_context(|| format!("{method} failed: {reply}"))
    }

    /// Calls a method; the time runs from before the write until its whole reply is there, unread.
    pub(crate) fn timed(&mut self, method: &str, params: &Value) -> anyhow::Result<Duration> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string() + "\n";
        self.exchange(request.as_bytes())
    }

    /// Sends a line and waits for a line that is a reply; notifications are passed over.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Duration> {
        let started = Instant::now();
        self.input.write_all(request)?;
        loop {
            self.line.clear();
            if self.output.read_line(&mut self.line)? == 0 {
                bail!("the server ended");
            }
            // The server writes a result right after the id; what follows is not looked at.
            if self.line.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,") {
                break;
            }
        }
        let elapsed = started.elapsed();
        if self.line.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\"") {
            bail!("the server refused: {}", self.line.trim_end());
        }
        Ok(elapsed)
    }

    /// Bytes of the last reply.
    pub(crate) fn reply_bytes(&self) -> usize {
        self.line.len()
    }

    /// The most memory that the server had at once, in bytes; `None` where the system does not tell.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
