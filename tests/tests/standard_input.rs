//! Whatever standard input is: hosts give pipes (shells, Rust, Python), sockets (Node), files and
//! terminals, and the server waits for each of them in its own way.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use compactd_tests::binary::binary;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::{Value, json};

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on some standard input.
struct Server {
    child: Child,
    lines: Receiver<String>,
    home: tempfile::TempDir,
}

impl Server {
    fn on(input: impl Into<Stdio>) -> Self {
        Self::with(input, Stdio::piped(), |child| {
            Box::new(BufReader::new(child.stdout.take().expect("output is a pipe")))
        })
    }

    fn with(
        input: impl Into<Stdio>,
        output: impl Into<Stdio>,
        replies: impl FnOnce(&mut Child) -> Box<dyn std::io::BufRead + Send>,
    ) -> Self {
        let home = tempfile::tempdir().expect("a directory can be made");
        let mut command = Command::new(binary().expect("the server is built"));
        command.env_clear().env("HOME", home.path()).stdin(input).stdout(output).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the server starts");
        // The command holds our copies of the handles; the end of input comes when the last is closed.
        drop(command);
        let (sender, lines) = channel();
        let mut replies = replies(&mut child);
        thread::spawn(move || {
            let mut line = String::new();
            while replies.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, home }
    }

    /// The next reply; notifications are passed over.
    fn reply(&self) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("the server answers");
            let message: Value = serde_json::from_str(&line).expect("the server speaks JSON");
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    fn expect_initialized(&self) {
        let reply = self.reply();
        assert_eq!(reply["id"], 1);
        assert_eq!(reply["result"]["protocolVersion"], 1, "{reply}");
    }

    /// The server ends by itself with this code.
    fn expect_end(mut self, code: i32) {
        let more = self.lines.recv_timeout(PATIENCE);
        assert!(more.is_err(), "nothing more is said: {more:?}");
        assert_eq!(self.child.wait().expect("the server can be waited for").code(), Some(code));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(id: u32, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n"
}

fn initialize() -> String {
    request(1, "initialize", &json!({ "protocolVersion": 1, "clientInfo": { "name": "input" } }))
}

fn shutdown() -> String {
    request(2, "shutdown", &json!({}))
}

fn script(directory: &Path) -> File {
    let path = directory.join("script.jsonl");
    fs::write(&path, initialize() + &shutdown() + "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}")
        .expect("a script can be written");
    File::open(path).expect("the script is there")
}

#[test]
fn a_file() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::on(script(directory.path()));
    server.expect_initialized();
    assert_eq!(server.reply(), json!({ "jsonrpc": "2.0", "id": 2, "result": null }));
    server.expect_end(0);
}

#[test]
fn nothing() {
    Server::on(Stdio::null()).expect_end(0);
}

#[test]
fn a_socket_for_both_directions() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let output = theirs.try_clone().unwrap();
    let replies = ours.try_clone().unwrap();
    let server = Server::with(OwnedFd::from(theirs), OwnedFd::from(output), |_| Box::new(BufReader::new(replies)));
    (&ours).write_all(initialize().as_bytes()).unwrap();
    server.expect_initialized();
    (&ours).write_all(shutdown().as_bytes()).unwrap();
    assert_eq!(server.reply()["id"], 2);
    ours.shutdown(Shutdown::Write).unwrap();
    server.expect_end(0);
}

#[test]
fn a_terminal() {
    let master = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
    let terminal = File::options().read(true).write(true).open(Path::new(name.to_str().unwrap())).unwrap();
    let server = Server::on(terminal);
    let mut keys = File::from(master);
    // Two lines at once: a terminal gives them out one by one.
    keys.write_all((initialize() + &shutdown()).as_bytes()).unwrap();
    server.expect_initialized();
    assert_eq!(server.reply()["id"], 2);
    // End of transmission, at the start of a line.
    keys.write_all(b"\x04").unwrap();
    server.expect_end(0);
}

/// The mode of a pipe belongs to everybody who holds it.
#[test]
fn a_pipe_keeps_its_mode() {
    for mode in [OFlags::empty(), OFlags::NONBLOCK] {
        let (theirs, mut ours) = std::io::pipe().unwrap();
        fcntl_setfl(&theirs, mode).unwrap();
        let kept = theirs.try_clone().unwrap();
        let server = Server::on(OwnedFd::from(theirs));
        ours.write_all(initialize().as_bytes()).unwrap();
        server.expect_initialized();
        assert_eq!(fcntl_getfl(&kept).unwrap() & OFlags::NONBLOCK, mode);
        drop(kept);
        drop(ours);
        server.expect_end(0);
    }
}

#[test]
fn messages_in_pieces_with_pauses() {
    let (theirs, mut ours) = std::io::pipe().unwrap();
    let server = Server::on(OwnedFd::from(theirs));
    let text = initialize();
    for piece in text.as_bytes().chunks(text.len() / 7) {
        ours.write_all(piece).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    server.expect_initialized();
    // The last line needs no end.
    ours.write_all(shutdown().trim_end().as_bytes()).unwrap();
    drop(ours);
    assert_eq!(server.reply()["id"], 2);
    server.expect_end(0);
}

/// A large message is parsed beside the loop; what comes behind it still comes behind it.
#[test]
fn large_and_small_messages_keep_their_order() {
    let (theirs, mut ours) = std::io::pipe().unwrap();
    let server = Server::on(OwnedFd::from(theirs));
    ours.write_all(initialize().as_bytes()).unwrap();
    server.expect_initialized();
    let created = request(2, "createSession", &json!({ "path": server.home.path().join("order.jsonl") }));
    ours.write_all(created.as_bytes()).unwrap();
    let session_id = server.reply()["result"]["sessionId"].clone();
    let mut expected = Vec::new();
    let mut calls = String::new();
    for id in 0..24 {
        let size = if id % 3 == 0 { 300_000 } else { 10 };
        let content = format!("{id} {}", "x".repeat(size));
        let message = json!({ "role": "user", "content": content, "timestamp": 1 });
        calls += &request(id, "appendMessage", &json!({ "sessionId": session_id, "message": message }));
        expected.push(content);
    }
    let writer = thread::spawn(move || ours.write_all(calls.as_bytes()).map(|()| ours));
    let mut answered: Vec<u64> = (0..24).map(|_| server.reply()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..24).collect::<Vec<u64>>());
    drop(writer.join().unwrap().unwrap());
    let written = fs::read_to_string(server.home.path().join("order.jsonl")).unwrap();
    let messages = written.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let contents: Vec<String> =
        messages.map(|entry| entry["message"]["content"].as_str().unwrap().to_owned()).collect();
    assert_eq!(contents, expected);
    server.expect_end(0);
}

/// The end of input lies behind more than the server takes in from a client that does not read.
#[test]
fn the_end_is_noticed_behind_what_is_not_read() {
    let (theirs, mut ours) = std::io::pipe().unwrap();
    fcntl_setfl(&ours, OFlags::NONBLOCK).unwrap();
    let mut child = Command::new(binary().unwrap())
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let call = request(2, "rpc.discover", &json!({}));
    ours.write_all(initialize().as_bytes()).unwrap();
    let mut full = 0;
    // The server reads on until it is owed too much; what is left in the pipe then stays there.
    while full < 100 {
        match ours.write_all(call.as_bytes()) {
            Ok(()) => full = 0,
            Err(_) => {
                full += 1;
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
    drop(ours);
    let given_up = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && Instant::now() < given_up {
        thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
