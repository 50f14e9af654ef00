//! A model behind a program.
//!
//! The program reads the system prompt, a blank line and the prompt from its standard input, and writes the summary
//! to its standard output. Its environment is that of this process, with `COMPACTD_KIND` (`history`, `turnPrefix`,
//! `branch`) and `COMPACTD_MAX_TOKENS`. Status 0 means that the summary is complete; 75 (`EX_TEMPFAIL`) means that a
//! later try may work. For any other status, the kind of failure comes from standard error or, where that is empty,
//! from the end of the output: a rate limit, a prompt that is too long, a rejected key. Unknown failures are not
//! retried. The last lines go into the error, without keys from the environment.
//!
//! The program runs in a new process group. The whole group is killed when the program ends or when the summary is no
//! longer wanted.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::overflow::{ErrorClass, classify};
use compaction_core::prompts::SummaryRequest;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::Environment;
use super::failure::one_line;
use crate::models::answer_text::ThinkingFilter;
use crate::models::configuration::CommandConfiguration;
use crate::models::keys::Scrubber;
use crate::models::{Answer, FailureKind, Model, ModelError, ModelLimits, OnDelta, RequestContext, StopReason};
use crate::redaction::Redactor;

/// A model behind a program.
#[derive(Debug)]
pub(super) struct CommandModel {
    name: String,
    limits: ModelLimits,
    configuration: CommandConfiguration,
    scrubber: Scrubber,
}

/// The status of a temporary failure (sysexits.h).
const EX_TEMPFAIL: i32 = 75;

impl CommandModel {
    /// The model that `configuration` describes. This function starts nothing.
    pub(super) fn new(
        name: &str,
        limits: ModelLimits,
        configuration: &CommandConfiguration,
        environment: &Environment,
    ) -> Self {
        let scrubber = Scrubber::new(environment.secrets());
        Self { name: name.to_owned(), limits, configuration: configuration.clone(), scrubber }
    }

    fn model_error(&self, kind: FailureKind, text: &str) -> ModelError {
        let cause = format!("{}: {}: {text}", self.name, self.configuration.program);
        ModelError { cause: self.scrubber.scrub(&cause), kind, retry_after: None }
    }

    fn answer(finished: Finished) -> Result<Answer, (FailureKind, String)> {
        let Finished { ended, output, errors } = finished;
        // Some programs write errors instead of the summary. Output of a successful program is not an error.
        let is_silent = errors.is_empty() && ended != Ended::Status(0);
        let reported = is_silent.then(|| end_of(&output)).filter(|text| kind_of(text).is_some());
        let errors = reported.unwrap_or(errors);
        let detail = if errors.is_empty() { String::new() } else { format!(": {errors}") };
        match ended {
            Ended::Status(0) => {}
            Ended::Status(EX_TEMPFAIL) => {
                let kind = kind_of(&errors).filter(|kind| kind.is_retryable()).unwrap_or(FailureKind::Server);
                return Err((kind, format!("it ended with status {EX_TEMPFAIL}, failing for now{detail}")));
            }
            Ended::Status(status) => {
                let kind = kind_of(&errors).unwrap_or(FailureKind::Refused);
                return Err((kind, format!("it ended with status {status}{detail}")));
            }
            Ended::Killed(what) => return Err((FailureKind::Refused, format!("it was ended by {what}{detail}"))),
        }
        let text = String::from_utf8(output)
            .map_err(|error| (FailureKind::Refused, format!("its output is not UTF-8: {}", error.utf8_error())))?;
        Ok(Answer { text: text.trim().to_owned(), stop: StopReason::Stop, usage: None })
    }
}

/// The kind of failure that the last output of a program suggests.
fn kind_of(errors: &str) -> Option<FailureKind> {
    match classify(None, errors) {
        ErrorClass::Overflow => Some(FailureKind::Overflow),
        ErrorClass::RateLimit => Some(FailureKind::RateLimited),
        ErrorClass::Quota => Some(FailureKind::Quota),
        ErrorClass::Authentication => Some(FailureKind::Authentication),
        ErrorClass::Overloaded => Some(FailureKind::Overloaded),
        ErrorClass::Other => None,
    }
}

/// Makes the output of a running program readable: removes terminal codes, and thinking at the beginning.
#[derive(Default)]
struct Shown {
    /// The beginning of a code that continues in the next piece.
    held: String,
    thoughts: ThinkingFilter,
}

/// Maximum bytes of a terminal code.
const MAX_CODE_BYTES: usize = 256;

impl Shown {
    fn next(&mut self, piece: &str) -> String {
        let mut text = std::mem::take(&mut self.held) + piece;
        let is_open =
            |code: &str| code.len() < MAX_CODE_BYTES && console::strip_ansi_codes(&format!("{code}\u{0}")) != "\u{0}";
        if let Some(start) = text.rfind('\u{1b}').filter(|start| is_open(&text[*start..])) {
            self.held = text.split_off(start);
        }
        self.thoughts.without(&console::strip_ansi_codes(&text))
    }
}

#[async_trait]
impl Model for CommandModel {
    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn known_failure(&self) -> Option<ModelError> {
        let error = start_failure(&self.configuration)?;
        Some(self.model_error(FailureKind::Refused, &error))
    }

    async fn complete(
        &self,
        request: &SummaryRequest,
        _: &RequestContext,
        on_delta: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        let variables = [
            ("COMPACTD_KIND", request.kind.name().to_owned()),
            ("COMPACTD_MAX_TOKENS", request.max_tokens.to_string()),
        ];
        let shown = Mutex::new(Shown::default());
        let on_output = |piece: &str| {
            let text = shown.lock().unwrap_or_else(PoisonError::into_inner).next(piece);
            if !text.is_empty() {
                on_delta(&text);
            }
        };
        let input = [request.system_prompt.as_str(), "\n\n", &request.prompt];
        let running = run(&self.configuration, &variables, &input, &on_output);
        let outcome = running.await.map_err(|error| (FailureKind::Refused, error)).and_then(Self::answer);
        outcome.map_err(|(kind, text)| self.model_error(kind, &text))
    }
}

/// Maximum bytes of a program's output.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// Bytes at the end of standard error that are kept.
const MAX_ERROR_BYTES: usize = 4096;
/// Maximum characters of standard error in an error.
const MAX_ERROR_CHARACTERS: usize = 600;
/// How long the pipes may stay open after the program has ended and its group was killed. Only a process that left the
/// group can still have them open.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// The result of a program.
#[derive(Debug)]
pub(in crate::models) struct Finished {
    /// How it ended.
    pub(in crate::models) ended: Ended,
    /// Its standard output.
    pub(in crate::models) output: Vec<u8>,
    /// The last lines of its standard error, joined to one line.
    pub(in crate::models) errors: String,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::models) enum Ended {
    /// With a status.
    Status(i32),
    /// By a signal, in the words of the system.
    Killed(String),
}

/// Runs the program with the parts of `input` on its standard input. `on_delta` gets its standard output. Fails if it cannot be
/// started or writes too much. Dropping the future kills the program and its group.
pub(in crate::models) async fn run(
    configuration: &CommandConfiguration,
    variables: &[(&str, String)],
    input: &[&str],
    on_delta: OnDelta<'_>,
) -> Result<Finished, String> {
    let mut group = Group::spawn(configuration, variables).map_err(|error| not_started(&error))?;
    let (input_pipe, output_pipe, error_pipe) =
        (group.child.stdin.take(), group.child.stdout.take(), group.child.stderr.take());
    let (mut output, mut errors) = (Output::default(), Vec::new());
    let mut talking = Box::pin(async {
        // A program may write before it reads, or not read at all, so all three pipes are served at once.
        let ((), written, ()) = tokio::join!(
            feed(input_pipe, input),
            output.read(output_pipe, on_delta),
            keep_end(error_pipe, &mut errors)
        );
        written
    });
    let ended = tokio::select! {
        written = &mut talking => {
            written?;
            group.ended().await?
        }
        ended = group.ended() => {
            let ended = ended?;
            match timeout(DRAIN_TIME, &mut talking).await {
                Ok(written) => written?,
                Err(_) => return Err("its output was left open by a process that it started".to_owned()),
            }
            ended
        }
    };
    drop(talking);
    let errors = end_of(&errors);
    Ok(Finished { ended, output: output.bytes, errors })
}

fn not_started(error: &std::io::Error) -> String {
    format!("failed to start: {error}")
}

/// Where the system looks for programs if there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The error of starting the program, if it is missing or cannot be executed. Nothing is started.
pub(in crate::models) fn start_failure(configuration: &CommandConfiguration) -> Option<String> {
    use rustix::fs::{Access, access};
    use rustix::io::Errno;

    let own_path = configuration.variables.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| path.into());
    let path = own_path.or_else(|| std::env::var_os("PATH"));
    let check = |candidate: PathBuf| match access(&candidate, Access::EXEC_OK) {
        Ok(()) if candidate.is_dir() => Err(Errno::ACCESS),
        outcome => outcome,
    };
    let mut failure = Errno::NOENT;
    for candidate in candidates(&configuration.program, path) {
        match check(candidate) {
            Ok(()) => return None,
            Err(Errno::ACCESS) => failure = Errno::ACCESS,
            Err(_) => {}
        }
    }
    Some(not_started(&failure.into()))
}

/// The files that may be the program, in the order in which the system tries them.
fn candidates(program: &str, path: Option<OsString>) -> Vec<PathBuf> {
    match program.contains('/') {
        true => vec![program.into()],
        false => {
            let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
            std::env::split_paths(&path).map(|directory| directory.join(program)).collect()
        }
    }
}

/// The program and the processes that it starts. They are killed together.
struct Group {
    child: Child,
    /// The leader of the group, as long as the group may have members.
    leader: Option<rustix::process::Pid>,
    /// Kills the group when this process ends for any reason.
    watcher: Option<Child>,
}

impl Group {
    fn spawn(configuration: &CommandConfiguration, variables: &[(&str, String)]) -> std::io::Result<Self> {
        let mut command = Command::new(&configuration.program);
        command.args(&configuration.arguments).envs(configuration.variables.iter().map(|(name, value)| (name, value)));
        command.envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command.process_group(0);
        let child = command.spawn()?;
        let leader = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self {
            child,
            // Without a shell, the group survives only if this process is killed.
            watcher: leader.and_then(|leader| watcher(leader).ok()),
            leader,
        })
    }

    /// Waits for the program's end and kills the rest of its group.
    async fn ended(&mut self) -> Result<Ended, String> {
        let status = self.child.wait().await.map_err(|error| format!("failed to wait for it: {error}"))?;
        self.kill();
        Ok(ended(status))
    }

    fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            // The id may be reused once the group is gone, so the watcher ends first.
            drop(self.watcher.take());
            // This fails if no process is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// A shell that kills the group of `leader` when its input ends, which happens when this process is gone. A signal at
/// the parent's death would need unsafe code and would reach only the program.
fn watcher(leader: rustix::process::Pid) -> std::io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read -r line; kill -s KILL -- \"-$1\"", "watcher", &leader.as_raw_nonzero().to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).process_group(0);
    command.spawn()
}

impl Drop for Group {
    fn drop(&mut self) {
        // The runtime reaps the dead program, so that no zombie stays.
        self.kill();
    }
}

fn ended(status: ExitStatus) -> Ended {
    if let Some(signal) = status.signal() {
        return Ended::Killed(format!("signal {signal}"));
    }
    status.code().map_or_else(|| Ended::Killed(status.to_string()), Ended::Status)
}

/// Writes the prompt. A program may close the pipe before it has read everything.
async fn feed(pipe: Option<ChildStdin>, input: &[&str]) {
    let Some(mut pipe) = pipe else { return };
    for part in input {
        if pipe.write_all(part.as_bytes()).await.is_err() {
            return;
        }
    }
}

#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    /// Number of bytes that were sent on.
    sent: usize,
}

impl Output {
    async fn read(&mut self, pipe: Option<impl AsyncRead + Unpin>, on_delta: OnDelta<'_>) -> Result<(), String> {
        let Some(mut pipe) = pipe else {
            return Ok(());
        };
        while pipe.read_buf(&mut self.bytes).await.map_err(|error| format!("failed to read its output: {error}"))? > 0 {
            if self.bytes.len() > MAX_OUTPUT_BYTES {
                return Err(format!("it wrote more than {MAX_OUTPUT_BYTES} bytes"));
            }
            self.send(on_delta);
        }
        Ok(())
    }

    /// Sends on complete characters, because a read may end within one.
    fn send(&mut self, on_delta: OnDelta<'_>) {
        let new = &self.bytes[self.sent..];
        let whole = match std::str::from_utf8(new) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&new[..error.valid_up_to()]).unwrap_or_default(),
        };
        if !whole.is_empty() {
            on_delta(whole);
            self.sent += whole.len();
        }
    }
}

/// Reads to the end and keeps the last bytes from the beginning of a word on, because the rest of a key could not be
/// recognised.
async fn keep_end(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else {
        return;
    };
    let mut is_cut = false;
    while let Ok(1..) = pipe.read_buf(kept).await {
        if kept.len() > 2 * MAX_ERROR_BYTES {
            kept.drain(..kept.len() - MAX_ERROR_BYTES);
            is_cut = true;
        }
    }
    if is_cut {
        let word = kept.iter().position(u8::is_ascii_whitespace);
        kept.drain(..word.unwrap_or(kept.len()));
    }
}

/// The end of an output on one line, shortened.
fn end_of(output: &[u8]) -> String {
    let from = output.len().saturating_sub(MAX_ERROR_BYTES);
    one_line(&last_lines(&output[from..]), MAX_ERROR_CHARACTERS)
}

/// The last three non-empty lines. Redaction comes first, because a secret may begin in an earlier line.
fn last_lines(errors: &[u8]) -> String {
    let text = String::from_utf8_lossy(errors);
    let text = Redactor::shared().redact(&text).text;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_where_the_system_looks_for_it() {
        for (program, path, expected) in [
            ("sh", None, &["/bin/sh", "/usr/bin/sh"][..]),
            ("sh", Some("/a:/b"), &["/a/sh", "/b/sh"]),
            ("a/sh", None, &["a/sh"]),
        ] {
            let found = candidates(program, path.map(OsString::from));
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{program} {path:?}");
        }
    }
}
