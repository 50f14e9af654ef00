//! A server that is asked without waiting, so that it can be killed with work under way.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::binary::binary;
use crate::server::{PATIENCE, Server};

/// A running server and what it has said so far.
#[derive(Debug)]
pub struct Peer {
    server: Server,
    /// Results and errors by request id.
    pub answers: HashMap<u64, Result<Value, Value>>,
    /// The entries that were announced as appended, byte for byte, in order.
    pub announced: Vec<String>,
    /// The ids of the entries of others that were announced.
    pub foreign: Vec<String>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    id: Option<u64>,
    method: Option<&'a str>,
    result: Option<Value>,
    error: Option<Value>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Announcement<'a> {
    #[serde(borrow)]
    entry: Option<&'a RawValue>,
    entry_ids: Option<Vec<String>>,
}

impl Peer {
    /// Starts the server with `home` for everything that it keeps, and initialises it.
    ///
    /// # Errors
    /// When the binary is missing or does not answer.
    pub fn start(home: &Path, durability: &str) -> anyhow::Result<Self> {
        Self::start_as(Command::new(binary()?), home, durability)
    }

    /// Starts the server by `command`, whose environment is cleared but for what it sets itself.
    ///
    /// # Errors
    /// When it cannot be started or does not answer.
    pub fn start_as(command: Command, home: &Path, durability: &str) -> anyhow::Result<Self> {
        let server = Server::start(command, home)?;
        let (answers, announced, foreign) = (HashMap::new(), Vec::new(), Vec::new());
        let mut peer = Self { server, answers, announced, foreign };
        let settings = json!({ "compactd": { "durability": durability }, "compaction": { "keepRecentTokens": 60 } });
        let client = json!({ "name": "faults" });
        peer.call("initialize", &json!({ "protocolVersion": 1, "clientInfo": client, "settings": settings }))?;
        Ok(peer)
    }

    /// Sends a request and returns its id without waiting.
    ///
    /// # Errors
    /// When the server does not read.
    pub fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.server.request(method, params)
    }

    /// Waits for the answer to a request.
    ///
    /// # Errors
    /// When the server ends or says nothing.
    pub fn answer(&mut self, id: u64) -> anyhow::Result<Result<Value, Value>> {
        loop {
            if let Some(answer) = self.answers.get(&id) {
                return Ok(answer.clone());
            }
            let frame = self.server.frame()?;
            self.note(&frame)?;
        }
    }

    /// Sends a request and waits for its result.
    ///
    /// # Errors
    /// With the server's error.
    pub fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.send(method, params)?;
        self.answer(id)?.map_err(|error| anyhow::anyhow!("{method} failed: {error}"))
    }

    /// Sends a request that must fail, and returns the kind of its error and the error.
    ///
    /// # Errors
    /// When it succeeds.
    pub fn refused(&mut self, method: &str, params: &Value) -> anyhow::Result<(String, Value)> {
        let id = self.send(method, params)?;
        match self.answer(id)? {
            Ok(result) => bail!("{method} succeeded: {result}"),
            Err(error) => Ok((error["data"]["kind"].as_str().unwrap_or_default().to_owned(), error)),
        }
    }

    /// Kills the server as a crash would, then reads all that it had said.
    ///
    /// # Errors
    /// When it cannot be killed or said something that is no frame; a frame may be cut off.
    pub fn kill(mut self) -> anyhow::Result<Self> {
        self.server.raw.kill()?;
        while let Ok(Some(frame)) = self.server.raw.read_frame(PATIENCE) {
            // The last frame may be cut off anywhere.
            let _cut_off = self.note(&frame);
        }
        self.server.raw.wait(PATIENCE)?;
        Ok(self)
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
        let frame: Frame<'_> = serde_json::from_slice(frame)?;
        match (frame.id, frame.method) {
            (Some(id), None) => {
                let answer = frame.error.map_or_else(|| Ok(frame.result.unwrap_or_default()), Err);
                anyhow::ensure!(self.answers.insert(id, answer).is_none(), "request {id} was answered twice");
            }
            (None, Some("entryAppended" | "sessionChanged")) => {
                let params: Announcement<'_> = serde_json::from_str(frame.params.context("no params")?.get())?;
                self.announced.extend(params.entry.map(|entry| entry.get().to_owned()));
                self.foreign.extend(params.entry_ids.unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }
}
