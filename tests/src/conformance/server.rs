//! A server process, its pipes, and the messages that came from it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::case::{Case, Framing};

/// A message of the server.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Its JSON text.
    pub(crate) text: String,
    /// The same, read.
    pub(crate) value: Value,
    /// Exact text of its id.
    pub(crate) id_text: Option<String>,
    /// Whether a step has taken it.
    pub(crate) claimed: bool,
}

/// What the pipe gave.
#[derive(Debug)]
pub(crate) enum Event {
    /// A message.
    Message(Box<Message>),
    /// Something that is no message in the framing of the case.
    Broken(String),
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    events: Receiver<Event>,
    errors: Arc<Mutex<String>>,
    /// All messages so far, in the order of their arrival.
    pub(crate) messages: Vec<Message>,
    /// Whether `initialize` succeeded.
    pub(crate) initialized: bool,
    /// Whether a step has seen the end of the process.
    pub(crate) ended: bool,
}

impl Server {
    /// Starts `binary` with a home under `directory` and nothing else in its environment.
    pub(crate) fn start(binary: &Path, case: &Case, framing: Framing, directory: &Path) -> anyhow::Result<Self> {
        let mut child = command(binary, case, directory).spawn().context("failed to start the server")?;
        let (sender, events) = channel();
        let output = child.stdout.take().context("standard output is piped")?;
        std::thread::spawn(move || read_messages(BufReader::new(output), framing, &sender));
        let input = Some(writer(child.stdin.take().context("standard input is piped")?));
        let errors = collect(child.stderr.take().context("standard error is piped")?);
        Ok(Self { child, input, events, errors, messages: Vec::new(), initialized: false, ended: false })
    }

    /// Writes bytes, in pieces of `chunk` bytes if it is given.
    pub(crate) fn write(&self, bytes: &[u8], chunk: Option<usize>) -> anyhow::Result<()> {
        let input = self.input.as_ref().context("the input of the server is closed")?;
        for piece in bytes.chunks(chunk.unwrap_or(bytes.len()).max(1)) {
            // A server that has ended cannot be written to; what follows says whether that was expected.
            let _ = input.send(piece.to_vec());
            if chunk.is_some() {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(())
    }

    /// Closes the input, after all that was written.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until `deadline` for one more message; false if none came or none can come.
    pub(crate) fn wait(&mut self, deadline: Instant) -> anyhow::Result<bool> {
        match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Message(message)) => {
                self.messages.push(*message);
                Ok(true)
            }
            Ok(Event::Broken(why)) => bail!("standard output holds something that is no message: {why}"),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(false),
        }
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) -> anyhow::Result<()> {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status()?;
        if status.success() { Ok(()) } else { bail!("failed to send signal {name}") }
    }

    /// Id of the process.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the process and returns its exit code.
    pub(crate) fn wait_for_exit(&mut self, deadline: Instant) -> anyhow::Result<Option<i32>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.ended = true;
                return Ok(status.code());
            }
            if Instant::now() > deadline {
                bail!("the process did not end");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What came over standard error.
    pub(crate) fn errors(&self) -> String {
        self.errors.lock().map(|text| text.clone()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(binary: &Path, case: &Case, directory: &Path) -> Command {
    let mut command = match case.file_size_limit {
        None => Command::new(binary),
        Some(bytes) => limited(binary, bytes),
    };
    command.args(&case.args).current_dir(directory.join("project")).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", directory.join("home")).env("TMPDIR", directory.join("tmp"));
    command.envs(&case.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Writes beyond the limit fail with an error, since the signal that would come first is ignored.
fn limited(binary: &Path, bytes: u64) -> Command {
    let mut command = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", bytes.div_ceil(1024));
    command.arg("-c").arg(script).arg(binary);
    command
}

/// A thread that writes, so that a server that stops reading cannot stop a test.
fn writer(mut pipe: impl std::io::Write + Send + 'static) -> Sender<Vec<u8>> {
    let (sender, receiver) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for bytes in receiver {
            if pipe.write_all(&bytes).and_then(|()| pipe.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

fn collect(mut pipe: impl std::io::Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let shared = Arc::clone(&text);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            if let Ok(mut text) = shared.lock() {
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        }
    });
    text
}

fn read_messages(mut output: BufReader<ChildStdout>, framing: Framing, events: &Sender<Event>) {
    loop {
        let body = match framing {
            Framing::Lines => read_line(&mut output),
            Framing::Headers => read_headers_and_body(&mut output),
        };
        let event = match body {
            Ok(None) => return,
            Ok(Some(body)) => message(body),
            Err(error) => Event::Broken(error.to_string()),
        };
        let broken = matches!(event, Event::Broken(_));
        if events.send(event).is_err() || broken {
            return;
        }
    }
}

fn read_line(output: &mut BufReader<ChildStdout>) -> anyhow::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    output.read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) => bail!("a last line without its end: {}", String::from_utf8_lossy(&line)),
    }
}

/// Exactly the header that strict clients expect, then the body.
fn read_headers_and_body(output: &mut BufReader<ChildStdout>) -> anyhow::Result<Option<Vec<u8>>> {
    let mut header = Vec::new();
    output.read_until(b'\n', &mut header)?;
    if header.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&header).into_owned();
    let length = text.strip_prefix("Content-Length: ").and_then(|rest| rest.strip_suffix("\r\n"));
    let length: usize = length.and_then(|digits| digits.parse().ok()).with_context(|| format!("header {text:?}"))?;
    let mut rest = vec![0; length + 2];
    output.read_exact(&mut rest).context("the body is cut off")?;
    match rest.strip_prefix(b"\r\n") {
        Some(body) => Ok(Some(body.to_vec())),
        None => bail!("a second header or no empty line after {text:?}"),
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

fn message(body: Vec<u8>) -> Event {
    let Ok(text) = String::from_utf8(body) else { return Event::Broken("not UTF-8".to_owned()) };
    match serde_json::from_str::<Value>(&text) {
        Err(error) => Event::Broken(format!("{error}: {}", super::transcript::shorten(&text, 400))),
        Ok(value) => {
            let envelope = serde_json::from_str::<Envelope<'_>>(&text).ok();
            let id_text = envelope.and_then(|envelope| envelope.id).map(|id| id.get().to_owned());
            Event::Message(Box::new(Message { text, value, id_text, claimed: false }))
        }
    }
}
