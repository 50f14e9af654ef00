//! The server as a child process, as every client has it.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compactd_client::{Direction, Notification, Server};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::failure::Failure;

/// A message and the way it went.
pub(super) type Frame = (Direction, String);

/// A server that was started for one command.
#[derive(Debug)]
pub(super) struct Connection {
    server: Server,
    frames: Arc<Mutex<Vec<Frame>>>,
    file: PathBuf,
}

impl Connection {
    /// Starts this very program as a server; errors will be told as being about `file`.
    pub(super) fn start(file: &Path) -> Result<Self, Failure> {
        let program =
            std::env::current_exe().map_err(|source| Failure::System { doing: "find this program", source })?;
        let mut command = Command::new(program);
        command.args(["--framing", "lines", "--log-level", "error"]);
        let frames = Arc::<Mutex<Vec<Frame>>>::default();
        let tapped = Arc::clone(&frames);
        let tap = move |direction, message: &str| lock(&tapped).push((direction, message.to_owned()));
        let server = Server::options().tap(tap).spawn(command);
        let server = server.map_err(|source| Failure::of_call("initialize", source, file))?;
        Ok(Self { server, frames, file: file.to_owned() })
    }

    /// Says hello; `more` are further members of the parameters.
    pub(super) async fn initialize(&self, more: Value) -> Result<Value, Failure> {
        self.call("initialize", &initialize_params(more)).await
    }

    /// Makes a call and gives its result.
    pub(super) async fn call(&self, method: &'static str, params: &Value) -> Result<Value, Failure> {
        self.call_watching(method, params, |_| ()).await
    }

    /// Makes a call and reads its result as `R`: texts of messages stay as they are in raw values.
    pub(super) async fn call_for<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<R, Failure> {
        let outcome = self.server.request(method, params).await;
        while let Some(Ok(_)) = self.server.try_next_notification() {}
        outcome.map_err(|source| Failure::of_call(method, source, &self.file))
    }

    /// Makes a call and hands over the notifications that come before its reply.
    pub(super) async fn call_watching(
        &self,
        method: &'static str,
        params: &Value,
        mut watch: impl FnMut(&Notification),
    ) -> Result<Value, Failure> {
        let mut reply = pin!(self.server.request::<_, Value>(method, params));
        let outcome = loop {
            tokio::select! {
                biased;
                Ok(notification) = self.server.next_notification() => watch(&notification),
                outcome = &mut reply => break outcome,
            }
        };
        // Those that the server sent before its reply are here by now.
        while let Some(Ok(notification)) = self.server.try_next_notification() {
            watch(&notification);
        }
        outcome.map_err(|source| Failure::of_call(method, source, &self.file))
    }

    /// The messages since the last time, in the order of the pipes.
    pub(super) fn take_frames(&self) -> Vec<Frame> {
        std::mem::take(&mut *lock(&self.frames))
    }

    /// Ends the server; true if it ended as it should.
    pub(super) async fn shutdown(&self) -> Result<bool, Failure> {
        let status = self.server.shutdown().await;
        Ok(status.map_err(|source| Failure::Call { method: "shutdown", source })?.success())
    }
}

/// Parameters of `initialize`, as the commands send them.
pub(super) fn initialize_params(more: Value) -> Value {
    let mut params = json!({
        "protocolVersion": 1,
        "clientInfo": { "name": "compactd-cli", "version": env!("CARGO_PKG_VERSION") },
        "processId": std::process::id(),
    });
    if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
        params.extend(more);
    }
    params
}

fn lock(frames: &Mutex<Vec<Frame>>) -> MutexGuard<'_, Vec<Frame>> {
    frames.lock().unwrap_or_else(PoisonError::into_inner)
}
