//! Files and messages that would take more memory than there is: the server goes on under a limit.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use compactd_tests::binary::binary;
use serde_json::{Value, json};

/// How long a call may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const MIB: usize = 1 << 20;
const HEADER: &str =
    "{\"type\":\"session\",\"version\":3,\"id\":\"s-1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n";

/// Address space of a server in KiB: 1 GiB.
const ADDRESS_SPACE: usize = 1 << 20;

/// A server with a limited address space.
struct Server {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Server {
    fn start(home: &Path) -> Self {
        Self::start_with(home, &json!({}), ADDRESS_SPACE)
    }

    fn start_with(home: &Path, settings: &Value, address_space: usize) -> Self {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("ulimit -v {address_space}; exec \"$0\""))
            .arg(binary().expect("the server is built"));
        command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
        if address_space < ADDRESS_SPACE {
            // Each arena of the allocator reserves 64 MiB, and how many threads allocate at once differs from run to run.
            command.env("MALLOC_ARENA_MAX", "2");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the server starts");
        let input = child.stdin.take().expect("input is a pipe");
        let lines = BufReader::new(child.stdout.take().expect("output is a pipe")).lines();
        let (sender, output) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut server = Self { child, input, output };
        let client = json!({ "name": "test" });
        server.call("initialize", &json!({ "protocolVersion": 1, "clientInfo": client, "settings": settings }));
        server
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.call_raw(method, &params.to_string())
    }

    /// The reply; fails where the server has ended or is silent.
    fn call_raw(&mut self, method: &str, params: &str) -> Value {
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{method}\",\"params\":{params}}}\n");
        self.input.write_all(request.as_bytes()).expect("the server reads");
        loop {
            let line = self.output.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{method}: {error}"));
            let message: Value = serde_json::from_str(&line).expect("a line is JSON");
            if message["id"] == 7 {
                return message;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn message(id: &str, parent: &str, content: &str) -> String {
    let times = "\"timestamp\":\"2026-01-01T00:00:01.000Z\"";
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},{times},\"message\":{{\"role\":\"user\",\"content\":{content}}}}}\n"
    )
}

/// Does all that reads, on a session of which `ids` are on the path to the leaf. `None` if it is no session.
fn check(name: &str, ids: Option<&[&str]>, write: impl FnOnce(&mut File)) {
    check_with(&json!({}), name, ids, write);
}

/// The same by a server with these settings.
fn check_with(settings: &Value, name: &str, ids: Option<&[&str]>, write: impl FnOnce(&mut File)) {
    let home = tempfile::tempdir().expect("there is room");
    let path = home.path().join("s.jsonl");
    let mut file = File::create(&path).expect("there is room");
    write(&mut file);
    drop(file);
    let mut server = Server::start_with(home.path(), settings, ADDRESS_SPACE);
    let by_path = json!({ "path": path });
    let checked = server.call("checkSession", &by_path);
    let listed = server.call("listSessions", &json!({ "sessionDir": home.path(), "all": true }));
    let opened = server.call("openSession", &by_path);
    let Some(ids) = ids else {
        assert_eq!(checked["error"]["data"]["kind"], "notASession", "{name}: {checked}");
        assert_eq!(opened["error"]["data"]["kind"], "notASession", "{name}: {opened}");
        assert_eq!(listed["result"]["sessions"], json!([]), "{name}");
        return;
    };
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], "s-1", "{name}: {listed}");
    assert!(!checked["result"]["diagnostics"].as_array().expect("a list").is_empty(), "{name}: {checked}");
    assert_eq!(opened["result"]["sessionId"], "s-1", "{name}: {opened}");
    let session = json!({ "sessionId": "s-1" });
    assert!(server.call("getContext", &session)["result"].is_object(), "{name}");
    let tree = server.call("getTree", &session);
    let found: Vec<&str> =
        tree["result"]["nodes"].as_array().expect("a list").iter().filter_map(|node| node["id"].as_str()).collect();
    assert_eq!(found, ids, "{name}");
    let searched = server.call("searchSession", &json!({ "sessionId": "s-1", "query": "zebra" }));
    assert!(searched["result"].is_object(), "{name}: {searched}");
    let text = json!({ "sessionId": "s-1", "message": { "role": "user", "content": "more" } });
    assert!(server.call("appendMessage", &text)["result"].is_object(), "{name}");
}

fn put(file: &mut File, text: &str) {
    file.write_all(text.as_bytes()).expect("there is room");
}

fn hole(file: &mut File) {
    let end = file.seek(SeekFrom::Current(3 << 30)).expect("files may have holes");
    file.set_len(end).expect("files may have holes");
}

#[test]
fn a_hole_costs_nothing() {
    check("alone", None, hole);
    check("first", None, |file| {
        hole(file);
        put(file, HEADER);
    });
    check("in the middle", Some(&["a", "b"]), |file| {
        put(file, HEADER);
        put(file, &message("a", "null", "\"1\""));
        hole(file);
        put(file, "\n");
        put(file, &message("b", "\"a\"", "\"2\""));
    });
    check("at the end", Some(&["a"]), |file| {
        put(file, HEADER);
        put(file, &message("a", "null", "\"1\""));
        hole(file);
    });
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_keeps_its_place() {
    let long = format!("\"{}\"", "zebra ".repeat(20 * MIB));
    check("a message", Some(&["a", "b", "c"]), |file| {
        put(file, HEADER);
        put(file, &message("a", "null", "\"1\""));
        put(file, &message("b", "\"a\"", &long));
        put(file, &message("c", "\"b\"", "\"3\""));
    });
    // A setting cannot make room where there is none.
    check_with(&json!({ "compactd": { "maxLineBytes": 256 * MIB } }), "a high limit", Some(&["a", "b"]), |file| {
        put(file, HEADER);
        put(file, &message("a", "null", &long));
        put(file, &message("b", "\"a\"", "\"2\""));
    });
    check("no end", Some(&["a"]), |file| {
        put(file, HEADER);
        put(file, &message("a", "null", "\"1\""));
        put(file, message("b", "\"a\"", &long).trim_end_matches("\"}}\n"));
    });
    check("no session", None, |file| put(file, &long));
}

#[test]
fn many_small_things_take_no_more_than_a_large_one() {
    check("values", Some(&["a", "b"]), |file| {
        put(file, HEADER);
        put(file, &message("a", "null", &format!("[{}{{}}]", "{},".repeat(6 * MIB))));
        put(file, &message("b", "\"a\"", "\"2\""));
    });
    check("broken lines", Some(&["a"]), |file| {
        put(file, HEADER);
        put(file, &"x\n".repeat(200_000));
        put(file, &message("a", "null", "\"1\""));
    });
    check("lines of no session", None, |file| put(file, &"x\n".repeat(MIB)));
}

/// A message with 16 times its size as address space beside the server's own, 1 GiB at most.
/// `MESSAGE_MEGABYTES` sets the size; `cargo xtask soak` sets 57, the largest that the limit on messages allows.
#[test]
fn a_large_message_is_taken_and_served() {
    let megabytes = std::env::var("MESSAGE_MEGABYTES").ok().and_then(|size| size.parse().ok()).unwrap_or(10);
    let home = tempfile::tempdir().expect("there is room");
    let mut server = Server::start_with(home.path(), &json!({}), ADDRESS_SPACE.min((160 + 16 * megabytes) * 1024));
    let session = server.call("createSession", &json!({ "cwd": home.path() }))["result"]["sessionId"].clone();
    let text = "zebra \\\" ".repeat(megabytes * 1_000_000 / 9);
    let params = format!("{{\"sessionId\":{session},\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}");
    let appended = server.call_raw("appendMessage", &params);
    assert!(appended["result"].is_object(), "{appended}");
    drop((text, params));
    let more = json!({ "sessionId": session, "message": { "role": "user", "content": "more" } });
    assert!(server.call("appendMessage", &more)["result"].is_object());
    let context = server.call("getContext", &json!({ "sessionId": session }));
    assert_eq!(context["result"]["messages"].as_array().map(Vec::len), Some(2));
    let settings = json!({ "keepRecentTokens": 1 });
    for (method, params) in [
        ("searchSession", json!({ "sessionId": session, "query": "zebra" })),
        ("prepareCompaction", json!({ "sessionId": session, "settings": settings })),
        ("compact", json!({ "sessionId": session, "settings": settings })),
        ("recall", json!({ "sessionId": session, "query": "zebra" })),
    ] {
        let reply = server.call(method, &params);
        assert!(reply["result"].is_object(), "{method}: {}", reply["error"]);
    }
}

#[test]
fn parameters_of_many_values_are_refused_with_their_number() {
    let home = tempfile::tempdir().expect("there is room");
    let mut server = Server::start(home.path());
    let session = server.call("createSession", &json!({ "ephemeral": true }))["result"]["sessionId"].clone();
    let zeros = "0,".repeat(20 * MIB);
    for (method, params) in [
        ("serializeConversation", format!("{{\"messages\":[{zeros}0]}}")),
        ("appendEntry", format!("{{\"sessionId\":{session},\"entry\":{{\"type\":\"custom\",\"data\":[{zeros}0]}}}}")),
        ("updateSettings", format!("{{\"settings\":{{\"x\":[{zeros}0]}}}}")),
    ] {
        let refused = server.call_raw(method, &params);
        assert_eq!(refused["error"]["code"], -32600, "{method}: {refused}");
        let message = refused["error"]["message"].as_str().expect("an error says why");
        assert!(message.contains("at most 4194304 values"), "{message}");
    }
    let zeros = &zeros[..2 * MIB];
    let taken = server.call_raw(
        "appendEntry",
        &format!(
            "{{\"sessionId\":{session},\"entry\":{{\"type\":\"custom\",\"customType\":\"x\",\"data\":[{zeros}0]}}}}"
        ),
    );
    assert!(taken["result"].is_object(), "{taken}");
}

/// A session with `entries` messages on one path, at `path`.
fn write_chain(path: &Path, entries: usize) {
    let mut file = BufWriter::new(File::create(path).expect("there is room"));
    file.write_all(HEADER.as_bytes()).expect("there is room");
    for number in 0..entries {
        let parent = number.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent:08x}\""));
        let line = message(&format!("{number:08x}"), &parent, "\"word\"");
        file.write_all(line.as_bytes()).expect("there is room");
    }
    file.flush().expect("there is room");
}

/// A context that does not fit is refused with numbers. What is written entry by entry is served nevertheless.
#[test]
fn a_chain_of_many_entries_is_served_or_refused_with_numbers() {
    const ENTRIES: usize = 120_000;
    let home = tempfile::tempdir().expect("there is room");
    let path = home.path().join("s.jsonl");
    write_chain(&path, ENTRIES);
    // What the server takes at its start, the index and a reply, but not the entries of this context.
    let mut server = Server::start_with(home.path(), &json!({}), (160 + 96) * 1024);
    let session = json!({ "sessionId": "s-1" });
    assert_eq!(server.call("openSession", &json!({ "path": path }))["result"]["sessionId"], "s-1");
    for (method, list) in [("getTree", "nodes"), ("getBranch", "entries"), ("getEntries", "entries")] {
        let reply = server.call(method, &session);
        assert_eq!(reply["result"][list].as_array().map(Vec::len), Some(ENTRIES), "{method}: {}", reply["error"]);
    }
    let settings = json!({ "keepRecentTokens": 1 });
    for (method, params) in [
        ("getContext", session.clone()),
        ("compact", json!({ "sessionId": "s-1", "settings": settings })),
        ("prepareCompaction", json!({ "sessionId": "s-1", "settings": settings })),
    ] {
        let error = &server.call(method, &params)["error"];
        assert_eq!(error["data"]["reason"], "outOfMemory", "{method}: {error}");
        assert!(error["data"]["bytes"].as_u64() > Some(1 << 18), "{method}: {error}");
    }
    let text = json!({ "sessionId": "s-1", "message": { "role": "user", "content": "more" } });
    assert!(server.call("appendMessage", &text)["result"].is_object());
}

/// Replies with a context of many megabytes take no more memory than their text.
#[test]
fn a_session_with_many_images_is_served_again_and_again() {
    const IMAGES: usize = 30;
    let home = tempfile::tempdir().expect("there is room");
    let path = home.path().join("s.jsonl");
    let mut file = File::create(&path).expect("there is room");
    put(&mut file, HEADER);
    let image = "A".repeat(MIB);
    for number in 0..IMAGES {
        let parent = number.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent:08x}\""));
        let content = format!("[{{\"type\":\"image\",\"data\":\"{image}\",\"mimeType\":\"image/png\"}}]");
        put(&mut file, &message(&format!("{number:08x}"), &parent, &content));
    }
    drop(file);
    // The context, one reply, and its growth, beside what the server takes at its start.
    let mut server = Server::start_with(home.path(), &json!({}), (160 + 3 * IMAGES) * 1024);
    assert_eq!(server.call("openSession", &json!({ "path": path }))["result"]["sessionId"], "s-1");
    for method in ["getContext", "getBranch", "getContext", "getEntries", "getTree"] {
        let reply = server.call(method, &json!({ "sessionId": "s-1" }));
        assert!(reply["result"].is_object(), "{method}: {}", reply["error"]);
    }
}
