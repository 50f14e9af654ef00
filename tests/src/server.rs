//! The server over real pipes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use compactd_client::{Framing, RawServer};
use serde_json::{Value, json};

/// How long one answer may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running server and the number of requests to it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) raw: RawServer,
    requests: u64,
}

impl Server {
    /// Starts the server by `command`, with `home` for everything that it keeps. The environment is cleared but for what
    /// `command` sets itself.
    pub(crate) fn start(mut command: Command, home: &Path) -> anyhow::Result<Self> {
        command.arg("--log-level").arg("error").current_dir(home);
        let kept: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        command.env_clear().env("HOME", home).envs(kept.into_iter().filter_map(|(name, value)| Some((name, value?))));
        Ok(Self { raw: RawServer::spawn(command, Framing::Lines)?, requests: 0 })
    }

    /// Sends a request and returns its id without waiting.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.requests += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }))?;
        Ok(self.requests)
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.raw.send(message.to_string().as_bytes(), PATIENCE)?)
    }

    /// The next message of the server.
    pub(crate) fn frame(&mut self) -> anyhow::Result<Vec<u8>> {
        self.raw.read_frame(PATIENCE)?.context("the server ended")
    }

    /// Waits for the end of a server that was asked to shut down.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.raw.close_input();
        let status = self.raw.wait(PATIENCE)?;
        if status.success() { Ok(()) } else { bail!("the server ended with {status}") }
    }
}
