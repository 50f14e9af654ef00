//! The server of a simulated agent, over real pipes.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::binary::binary;
use crate::server::Server;

/// A running server.
#[derive(Debug)]
pub struct Sidecar {
    server: Server,
    /// `compactionEnd` by operation.
    ends: HashMap<String, Value>,
    /// What `compactionProgress` reported, in order.
    pub progress: Vec<Value>,
    /// What the model of the client answers to every `summarize`, by kind of request; others fail.
    pub host_summaries: HashMap<String, String>,
}

impl Sidecar {
    /// Starts the server with `home` for everything that it keeps.
    ///
    /// # Errors
    /// When the binary is missing or does not answer.
    pub fn start(home: &Path, settings: &Value) -> anyhow::Result<Self> {
        Self::start_program(&binary()?, home, settings)
    }

    /// Starts `program` as the server, with `home` for everything that it keeps.
    ///
    /// # Errors
    /// When it does not start or answer.
    pub fn start_program(program: &Path, home: &Path, settings: &Value) -> anyhow::Result<Self> {
        let mut sidecar = Self {
            server: Server::start(Command::new(program), home)?,
            ends: HashMap::new(),
            progress: Vec::new(),
            host_summaries: HashMap::new(),
        };
        let client = json!({ "name": "agent" });
        let can = json!({ "summarize": true });
        let hello = json!({ "protocolVersion": 1, "clientInfo": client, "settings": settings, "capabilities": can });
        sidecar.call("initialize", &hello)?;
        Ok(sidecar)
    }

    /// Calls a method and gives its result.
    ///
    /// # Errors
    /// With the server's error.
    pub fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let reply: Value = serde_json::from_slice(&self.raw_call(method, params)?)?;
        match reply.get("result") {
            Some(result) => Ok(result.clone()),
            None => bail!("{method} failed: {}", reply["error"]),
        }
    }

    /// Calls a method and gives the whole reply as it came.
    ///
    /// # Errors
    /// When the server ends or says nothing.
    pub fn raw_call(&mut self, method: &str, params: &Value) -> anyhow::Result<Vec<u8>> {
        let id = self.server.request(method, params)?;
        let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
        loop {
            let frame = self.server.frame()?;
            if frame.starts_with(start.as_bytes()) {
                return Ok(frame);
            }
            self.note(&frame)?;
        }
    }

    /// Waits for the end of a compaction.
    ///
    /// # Errors
    /// When it does not come.
    pub fn end_of(&mut self, operation: &str) -> anyhow::Result<Value> {
        loop {
            if let Some(end) = self.ends.remove(operation) {
                return Ok(end);
            }
            let frame = self.server.frame()?;
            self.note(&frame)?;
        }
    }

    /// Ends the server as a host does.
    ///
    /// # Errors
    /// When it does not end well.
    pub fn shut_down(mut self) -> anyhow::Result<()> {
        self.call("shutdown", &json!({}))?;
        self.server.end()
    }

    fn note(&mut self, frame: &[u8]) -> anyhow::Result<()> {
        let is = |method: &[u8]| memchr::memmem::find(&frame[..frame.len().min(80)], method).is_some();
        if is(b"\"compactionProgress\"") {
            let mut progress: Value = serde_json::from_slice(frame)?;
            self.progress.push(progress["params"].take());
        }
        if is(b"\"summarize\"") {
            return self.answer_summarize(&serde_json::from_slice(frame)?);
        }
        if !is(b"\"compactionEnd\"") {
            return Ok(());
        }
        let mut end: Value = serde_json::from_slice(frame)?;
        let end = end["params"].take();
        let operation = end["operationId"].as_str().context("an end names its operation")?.to_owned();
        anyhow::ensure!(self.ends.insert(operation, end).is_none(), "a compaction ended twice");
        Ok(())
    }

    fn answer_summarize(&mut self, request: &Value) -> anyhow::Result<()> {
        let kind = request["params"]["kind"].as_str().context("a request for a summary names its kind")?;
        let outcome = match self.host_summaries.get(kind) {
            Some(text) => ("result", json!({ "text": text, "stopReason": "stop" })),
            None => ("error", json!({ "code": -32603, "message": format!("no summary of kind {kind} is prepared") })),
        };
        let reply = json!({ "jsonrpc": "2.0", "id": request["id"], outcome.0: outcome.1 });
        self.server.send(&reply)
    }
}
