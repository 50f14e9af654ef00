//! How the server ends where nobody hears it, and what it says of files that it holds itself.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use compactd_tests::binary::binary;
use serde_json::{Value, json};

/// How long an end may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(arguments: &[&str], home: &std::path::Path) -> Child {
    let mut command = Command::new(binary().expect("the server is built"));
    command.args(arguments).env_clear().env("HOME", home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the server starts")
}

fn request(id: u32, method: &str, params: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn initialize() -> String {
    request(1, "initialize", &json!({ "protocolVersion": 1, "clientInfo": { "name": "test" } }))
}

/// The exit code, once the process has ended by itself.
fn exit_code(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("a child can be asked") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("a child can be ended");
    panic!("the server lives on");
}

#[test]
fn an_output_that_nobody_reads_ends_the_server() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let mut child = start(&[], home.path());
    let mut input = child.stdin.take().expect("input is a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("output is a pipe"));
    input.write_all(initialize().as_bytes()).expect("the server reads");
    output.read_line(&mut String::new()).expect("the server answers");
    drop(output);
    let ask = request(2, "estimateTokens", &json!({ "text": "x" }));
    input.write_all(ask.as_bytes()).expect("the server reads");
    assert_eq!(exit_code(&mut child), Some(0));
    drop(input);
}

#[test]
fn a_log_that_cannot_be_opened_is_reported() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let mut child = start(&["--log-file", "/nowhere/compactd.log"], home.path());
    let mut said = String::new();
    child.stderr.take().expect("errors go to a pipe").read_to_string(&mut said).expect("the server speaks UTF-8");
    assert_eq!(exit_code(&mut child), Some(1));
    assert!(said.contains("/nowhere/compactd.log"), "{said}");
}

/// A process that has ended and that nobody has asked for its status is dead, although it can be signalled.
#[test]
fn a_parent_that_is_a_zombie_ends_the_server() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let mut parent = Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().expect("there is sh");
    let mut child = start(&[], home.path());
    let mut input = child.stdin.take().expect("input is a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("output is a pipe"));
    let hello = json!({ "protocolVersion": 1, "clientInfo": { "name": "test" }, "processId": parent.id() });
    input.write_all(request(1, "initialize", &hello).as_bytes()).expect("the server reads");
    output.read_line(&mut String::new()).expect("the server answers");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(child.try_wait().expect("a child can be asked"), None, "the parent lives");
    drop(parent.stdin.take());
    assert_eq!(exit_code(&mut child), Some(0));
    drop((input, output));
    parent.wait().expect("the parent has ended");
}

#[test]
fn a_log_goes_to_a_regular_file_alone() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let at = |name: &str| home.path().join(name);
    fs::write(at("theirs"), "theirs").expect("there is room");
    std::os::unix::fs::symlink(at("theirs"), at("link")).expect("links can be made");
    assert!(Command::new("mkfifo").arg(at("pipe")).status().expect("there is mkfifo").success());
    for name in ["link", "pipe", "/dev/zero", "/proc/self/comm", "."] {
        let log = at(name);
        let mut child = start(&["--log-file", &log.to_string_lossy()], home.path());
        let mut said = String::new();
        assert_eq!(exit_code(&mut child), Some(1), "{name}");
        child.stderr.take().expect("errors go to a pipe").read_to_string(&mut said).expect("the server speaks UTF-8");
        assert!(said.contains("failed to open the log file"), "{said}");
    }
    assert_eq!(fs::read_to_string(at("theirs")).expect("it is there"), "theirs");
}

#[test]
fn a_hard_link_to_an_open_file_is_not_called_another_process() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let (first, second) = (home.path().join("first.jsonl"), home.path().join("second.jsonl"));
    let mut child = start(&[], home.path());
    let mut input = child.stdin.take().expect("input is a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("output is a pipe"));
    let mut ask = |text: String| -> Value {
        input.write_all(text.as_bytes()).expect("the server reads");
        let mut line = String::new();
        output.read_line(&mut line).expect("the server answers");
        serde_json::from_str(&line).expect("a line is JSON")
    };
    ask(initialize());
    let created = ask(request(2, "createSession", &json!({ "path": first })));
    fs::hard_link(&first, &second).expect("a file can have two names");
    let refused = ask(request(3, "openSession", &json!({ "path": second })));
    assert_eq!(refused["error"]["code"], json!(1009), "{refused}");
    assert_eq!(refused["error"]["data"]["sessionId"], created["result"]["sessionId"]);
    assert_eq!(refused["error"]["data"]["path"], created["result"]["path"]);
    drop((input, output));
    assert_eq!(exit_code(&mut child), Some(0));
}

#[test]
fn a_log_that_nobody_reads_holds_up_nothing() {
    let home = tempfile::tempdir().expect("a directory can be made");
    // Unread, closed, and full.
    for ends in ["unread", "closed", "full"] {
        let mut command = Command::new(binary().expect("the server is built"));
        command.args(["--log-level", "trace"]).env_clear().env("HOME", home.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if ends == "full" {
            let full = fs::OpenOptions::new().write(true).open("/dev/full");
            let Ok(full) = full else {
                continue;
            };
            command.stderr(full);
        }
        let mut child = command.spawn().expect("the server starts");
        let errors = child.stderr.take().filter(|_| ends != "closed");
        let mut input = child.stdin.take().expect("input is a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("output is a pipe"));
        input.write_all(initialize().as_bytes()).expect("the server reads");
        output.read_line(&mut String::new()).expect("the server answers");
        for id in 2..4000 {
            let ask = request(id, "estimateTokens", &json!({ "text": "x" }));
            input.write_all(ask.as_bytes()).expect("the server reads");
            let mut line = String::new();
            output.read_line(&mut line).expect("the server answers");
            assert!(line.contains("tokens"), "{ends}: {line}");
        }
        drop((input, output));
        assert_eq!(exit_code(&mut child), Some(0), "{ends}");
        drop(errors);
    }
}

/// Whether a process runs: one that waits for its parent to take its status does not.
#[cfg(target_os = "linux")]
fn runs(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

#[cfg(target_os = "linux")]
#[test]
fn programs_that_summarise_end_with_the_server() {
    for signal in ["HUP", "QUIT", "TERM", "KILL"] {
        let home = tempfile::tempdir().expect("a directory can be made");
        let pids = home.path().join("pids");
        let script = "sleep 1000 & echo $$ $! > \"$HOME/pids.new\"; mv \"$HOME/pids.new\" \"$HOME/pids\"; wait";
        let mut child = start(&[], home.path());
        let mut input = child.stdin.take().expect("input is a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("output is a pipe"));
        let program = json!({ "provider": "command", "command": ["/bin/sh", "-c", script] });
        let settings = json!({ "compactd": { "summarizers": { "sleeper": program } } });
        let initialize = json!({ "protocolVersion": 1, "clientInfo": { "name": "test" }, "settings": settings });
        let mut ask = |id: u32, method: &str, params: &Value| {
            input.write_all(request(id, method, params).as_bytes()).expect("the server reads");
        };
        let mut answer = |id: u32| loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).expect("the server answers") > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).expect("a line is JSON");
            if message["id"] == id {
                return message["result"].clone();
            }
        };
        ask(1, "initialize", &initialize);
        answer(1);
        ask(2, "createSession", &json!({ "ephemeral": true }));
        let session = answer(2)["sessionId"].clone();
        for (id, text) in [(3, "a request that takes some words ".repeat(100)), (4, "and now?".to_owned())] {
            let message = json!({ "role": "user", "content": text });
            ask(id, "appendMessage", &json!({ "sessionId": session, "message": message }));
            answer(id);
        }
        let compact = json!({ "sessionId": session, "summarizer": "sleeper", "settings": { "keepRecentTokens": 1 } });
        ask(5, "compact", &compact);
        let beginning = Instant::now();
        while !pids.exists() {
            assert!(beginning.elapsed() < PATIENCE, "the program does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        // The watcher is there once the program runs, or right after.
        std::thread::sleep(Duration::from_millis(300));
        let killed = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        let pids_written = fs::read_to_string(&pids).expect("the program has written its number");
        let ending = Instant::now();
        while pids_written.split_whitespace().any(runs) {
            assert!(ending.elapsed() < PATIENCE, "{signal}: {pids_written} lives on");
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.wait();
    }
}
