//! The server that a command starts, and the session that it opens there.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use compactd_client::{Direction, Notification, Server};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::failure::Failure;
use super::in_process;
use super::inspect::diagnostic_line;
use super::terminal::one_line;

/// The file name that means standard input.
const STANDARD_INPUT: &str = "-";

/// The name in errors that concern no single session file.
pub(super) const ALL_SESSIONS: &str = "sessions";

/// Maximum number of diagnostics that a command shows. The rest is counted.
const SHOWN_DIAGNOSTICS: usize = 6;

/// Whether this process has reported what the settings lack.
static ARE_SETTINGS_TOLD: AtomicBool = AtomicBool::new(false);

/// A message and its direction.
pub(super) type Frame = (Direction, String);

/// A server that was started for one command.
#[derive(Debug)]
pub(super) struct Connection {
    server: Server,
    file: PathBuf,
    /// The messages of the exchange, if they are recorded.
    frames: Option<Arc<Mutex<Vec<Frame>>>>,
}

impl Connection {
    /// Starts a server in this process and initializes it. `more` has further members of the parameters; errors name
    /// `file`.
    pub(super) async fn start(file: &Path, more: Value) -> Result<Self, Failure> {
        Self::here(file, None)?.initialized(more).await
    }

    /// As [`Connection::start`], with a process for the server, for a command that continues after it: the memory of a
    /// process goes back to the system, and other calls survive its end.
    pub(super) async fn start_process(file: &Path, more: Value) -> Result<Self, Failure> {
        let program =
            std::env::current_exe().map_err(|source| Failure::System { doing: "find this program", source })?;
        let mut command = Command::new(program);
        command.args(["--framing", "lines", "--log-level", "error"]);
        let server = Server::options().spawn(command);
        let server = server.map_err(|source| Failure::of_call("initialize", source, file))?;
        Self { server, file: file.to_owned(), frames: None }.initialized(more).await
    }

    /// Starts a server in this process that is not initialized yet, and records every message.
    pub(super) fn recording(file: &Path) -> Result<Self, Failure> {
        Self::here(file, Some(Arc::default()))
    }

    fn here(file: &Path, frames: Option<Arc<Mutex<Vec<Frame>>>>) -> Result<Self, Failure> {
        let mut options = Server::options();
        if let Some(frames) = frames.clone() {
            options = options.tap(move |direction, message: &str| {
                frames.lock().unwrap_or_else(PoisonError::into_inner).push((direction, message.to_owned()));
            });
        }
        let started = in_process::start(options);
        let server = started.map_err(|source| Failure::System { doing: "start the server", source })?;
        Ok(Self { server, file: file.to_owned(), frames })
    }

    async fn initialized(self, more: Value) -> Result<Self, Failure> {
        let started = self.call("initialize", &initialize_params(more)).await?;
        // `mcp` starts a server for each call.
        if !ARE_SETTINGS_TOLD.swap(true, Ordering::Relaxed) {
            let told = list(&started["diagnostics"]).iter().filter_map(Value::as_str);
            warn(told.map(one_line));
        }
        Ok(self)
    }

    /// Makes a call and returns its result.
    pub(super) async fn call(&self, method: &'static str, params: &Value) -> Result<Value, Failure> {
        self.call_watching(method, params, |_| ()).await
    }

    /// As [`Connection::call`], for another file than that of the command. Errors name it.
    pub(super) async fn call_for_file(
        &self,
        file: &Path,
        method: &'static str,
        params: &Value,
    ) -> Result<Value, Failure> {
        let outcome = self.server.request(method, params).await;
        outcome.map_err(|source| Failure::of_call(method, source, file))
    }

    /// Makes a call and reads its result as `R`. Raw values keep the texts of messages unchanged.
    pub(super) async fn call_for<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<R, Failure> {
        let outcome = self.server.request(method, params).await;
        while let Some(Ok(_)) = self.server.try_next_notification() {}
        outcome.map_err(|source| Failure::of_call(method, source, &self.file))
    }

    /// Makes a call and passes the notifications that arrive before its reply to `watch`.
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
        // All notifications that the server sent before its reply have arrived.
        while let Some(Ok(notification)) = self.server.try_next_notification() {
            watch(&notification);
        }
        outcome.map_err(|source| Failure::of_call(method, source, &self.file))
    }

    /// Opens the session file `path`, which later errors name. Returns the result of `openSession`.
    pub(super) async fn open_session(&mut self, path: &Path, read_only: bool) -> Result<Value, Failure> {
        path.clone_into(&mut self.file);
        self.call("openSession", &json!({ "path": utf8(path)?, "readOnly": read_only })).await
    }

    /// Returns the recorded messages since the last call, in the order of the pipes.
    pub(super) fn take_frames(&self) -> Vec<Frame> {
        let take = |frames: &Arc<Mutex<Vec<Frame>>>| {
            std::mem::take(&mut *frames.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.frames.as_ref().map(take).unwrap_or_default()
    }

    /// Ends the server and returns `outcome`. Call it after a failure too: a server that ends with this process leaves
    /// its lock behind.
    pub(super) async fn finish<T>(&self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        // Finished work stays done, even if the server takes too long to end.
        let _late = self.shutdown().await;
        outcome
    }

    /// Ends the server. Returns whether its exit code was 0.
    pub(super) async fn shutdown(&self) -> Result<bool, Failure> {
        let status = self.server.shutdown().await;
        Ok(status.map_err(|source| Failure::Call { method: "shutdown", source })?.success())
    }
}

/// The parameters of `initialize`, extended by the members of `more`.
pub(super) fn initialize_params(more: Value) -> Value {
    let params = json!({
        "protocolVersion": 1,
        "clientInfo": { "name": "compactd-cli", "version": env!("CARGO_PKG_VERSION") },
        "processId": std::process::id(),
    });
    with_members(params, more)
}

/// The members of `initialize` for a command that looks for sessions of a working directory: of `cwd`, or of the present
/// one by the name that the shell has for it. An agent may have made them under the name of a symbolic link.
pub(super) fn directory(cwd: Option<&Path>) -> Result<Value, Failure> {
    let shell = || {
        let name = PathBuf::from(std::env::var_os("PWD")?);
        let is_here = name.is_absolute() && name.canonicalize().ok()? == std::env::current_dir().ok()?;
        name.to_str().filter(|_| is_here).map(str::to_owned)
    };
    let name = match cwd {
        Some(cwd) => Some(utf8(&std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_owned()))?.to_owned()),
        None => shell(),
    };
    Ok(name.map_or(json!({}), |name| json!({ "cwd": name })))
}

/// The object `value` with the members of the object `more`.
pub(super) fn with_members(mut value: Value, more: Value) -> Value {
    if let (Value::Object(members), Value::Object(more)) = (&mut value, more) {
        members.extend(more);
    }
    value
}

/// The diagnostics of a session file as lines, the first of them if there are many.
pub(super) fn diagnostic_lines<'a>(diagnostics: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let mut lines: Vec<String> = diagnostics.into_iter().map(diagnostic_line).collect();
    let more = lines.len().saturating_sub(SHOWN_DIAGNOSTICS);
    lines.truncate(SHOWN_DIAGNOSTICS);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// Writes lines to standard error.
pub(super) fn warn(lines: impl IntoIterator<Item = String>) {
    for line in lines {
        // Without standard error, nobody reads it.
        let _written = writeln!(io::stderr(), "compactd: {line}");
    }
}

/// The path as text. The protocol is JSON, which contains only UTF-8.
pub(super) fn utf8(path: &Path) -> Result<&str, Failure> {
    let refused = || Failure::Refused(format!("{}: the protocol takes only file names in UTF-8", path.display()));
    path.to_str().ok_or_else(refused)
}

/// The items of a JSON array; none if it is something else.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The number of items of a JSON array.
pub(super) fn length(value: &Value) -> u64 {
    list(value).len() as u64
}

/// A JSON number; 0 if it is something else.
pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// The file of a command, or a copy of standard input.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    name: PathBuf,
    /// The copy of standard input.
    copied_to: Option<TempDir>,
}

impl Source {
    /// The session file `file`, or standard input if it is `-`.
    ///
    /// # Errors
    /// The input cannot be read, or the command `writes` and the source is standard input.
    pub(super) fn of(file: &Path, writes: bool) -> Result<Self, Failure> {
        if file != Path::new(STANDARD_INPUT) {
            return Self::file(file);
        }
        if writes {
            let text = "standard input can only be read: name a file, or add --dry-run to compact";
            return Err(Failure::Refused(text.to_owned()));
        }
        let system = |doing| move |source| Failure::System { doing, source };
        let directory = TempDir::with_prefix("compactd-").map_err(system("create a temporary directory"))?;
        let path = directory.path().join("standard-input.jsonl");
        let mut copy = std::fs::File::create(&path).map_err(system("copy standard input"))?;
        io::copy(&mut io::stdin().lock(), &mut copy).map_err(system("read standard input"))?;
        Ok(Self { path, name: PathBuf::from("standard input"), copied_to: Some(directory) })
    }

    /// The session file `file`; `-` has no special meaning.
    ///
    /// # Errors
    /// The name is not UTF-8.
    pub(super) fn file(file: &Path) -> Result<Self, Failure> {
        let path = std::path::absolute(file);
        let path = path.map_err(|source| Failure::File { path: file.to_owned(), source })?;
        utf8(&path)?;
        Ok(Self { path, name: file.to_owned(), copied_to: None })
    }

    /// The absolute path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the source in reports and errors.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    /// Whether it is standard input.
    pub(super) fn is_standard_input(&self) -> bool {
        self.copied_to.is_some()
    }

    /// Starts a server and opens the session there. Returns the result of `openSession` too, and writes its diagnostics
    /// to standard error.
    pub(super) async fn open(&self, read_only: bool) -> Result<(Connection, Value), Failure> {
        let (connection, session) = self.open_with(read_only, json!({ "entryBodies": false })).await?;
        warn(diagnostic_lines(list(&session["diagnostics"])));
        Ok((connection, session))
    }

    /// As [`Source::open`], with the capabilities that `initialize` names. The caller shows the diagnostics.
    pub(super) async fn open_with(&self, read_only: bool, capabilities: Value) -> Result<(Connection, Value), Failure> {
        let connection = Connection::start(&self.name, json!({ "capabilities": capabilities })).await?;
        let params = json!({ "path": utf8(&self.path)?, "readOnly": read_only });
        match connection.call("openSession", &params).await {
            Ok(session) => Ok((connection, session)),
            Err(failure) => connection.finish(Err(failure)).await,
        }
    }
}
