//! The thinnest client there is: a line out, a line in, both blocking.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::memory;

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
        Self::initialized_with(binary, home, &json!({}))
    }

    /// Starts the server and initializes it with these settings.
    pub(crate) fn initialized_with(binary: &Path, home: &Path, settings: &Value) -> anyhow::Result<Self> {
        let mut pipe = Self::start(binary, home)?;
        let client = json!({ "name": "bench" });
        let params = json!({ "protocolVersion": 1, "clientInfo": client, "agentDir": home, "settings": settings });
        pipe.timed("initialize", &params)?;
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
        self.exchange(request(method, params).as_bytes())
    }

    /// Calls a method `calls` times for `callers` callers at once, each of which calls again when it
    /// has its answer.
    pub(crate) fn callers(
        &mut self,
        callers: usize,
        calls: usize,
        method: &str,
        params: &Value,
    ) -> anyhow::Result<Duration> {
        let request = request(method, params);
        let started = Instant::now();
        for _ in 0..callers.min(calls) {
            self.input.write_all(request.as_bytes())?;
        }
        for answered in 1..=calls {
            self.read_reply()?;
            if answered + callers <= calls {
                self.input.write_all(request.as_bytes())?;
            }
        }
        Ok(started.elapsed())
    }

    /// Sends one message and waits for nothing.
    pub(crate) fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.input.write_all((message.to_string() + "\n").as_bytes())?)
    }

    /// The next message, whatever it is.
    pub(crate) fn read_line(&mut self) -> anyhow::Result<&str> {
        self.line.clear();
        if self.output.read_line(&mut self.line)? == 0 {
            bail!("the server ended");
        }
        Ok(&self.line)
    }

    /// Bytes of the last reply.
    pub(crate) fn reply_bytes(&self) -> usize {
        self.line.len()
    }

    /// A field of the server's memory, in bytes; `None` where the system does not tell.
    pub(crate) fn memory(&self, name: &str) -> Option<u64> {
        memory::status(&self.child.id().to_string(), name)
    }

    /// Sends a line and waits for a line that is a reply.
    fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Duration> {
        let started = Instant::now();
        self.input.write_all(request)?;
        self.read_reply()?;
        Ok(started.elapsed())
    }

    /// Reads up to the next reply; notifications are passed over.
    fn read_reply(&mut self) -> anyhow::Result<()> {
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
        if self.line.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\"") {
            bail!("the server refused: {}", self.line.trim_end());
        }
        Ok(())
    }
}

fn request(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string() + "\n"
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
