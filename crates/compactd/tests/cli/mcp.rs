//! `mcp`, spoken as lines of JSON over its pipes.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::Duration;

use compactd_client::{Framing, RawServer};
use serde_json::{Value, json};

use crate::harness::{SAMPLE, Sandbox, wait_for};

/// Longer than any call takes, on a busy machine too.
const WITHIN: Duration = Duration::from_secs(60);

/// A client of `compactd mcp` that has stderr hello.
struct Client {
    server: RawServer,
    last_id: u64,
}

impl Client {
    fn new(sandbox: &Sandbox, options: &[&str]) -> Self {
        let command = sandbox.command(&[&["mcp"], options].concat());
        let server = RawServer::spawn(command, Framing::Lines).expect("the program starts");
        let mut client = Self { server, last_id: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let reply = client.request("initialize", &hello);
        assert_eq!(reply["result"]["serverInfo"]["name"], "compactd", "{reply}");
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn write(&mut self, message: &Value) {
        self.server.send(message.to_string().as_bytes(), WITHIN).expect("the server reads");
    }

    fn start(&mut self, method: &str, params: &Value) {
        self.last_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.start(method, params);
        let line = self.server.read_frame(WITHIN).expect("a reply comes").expect("the server goes on");
        let reply: Value = serde_json::from_slice(&line).expect("replies are JSON");
        assert_eq!(reply["id"], self.last_id, "{reply}");
        reply
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let reply = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        reply["result"].clone()
    }

    /// The text of a call that works.
    #[track_caller]
    fn text(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// What kind of failure a call ends with, and what the model reads of it.
    #[track_caller]
    fn failure(&mut self, tool: &str, arguments: &Value) -> (String, String) {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().expect("a text").to_owned();
        let kind = result["structuredContent"]["kind"].as_str().expect("a kind").to_owned();
        assert!(text.starts_with(&format!("{kind}: ")), "{text}");
        (kind, text)
    }

    /// Sends bytes as one line, and reads what comes next.
    fn answer_to(&mut self, line: &[u8]) -> Value {
        self.server.write(&[line, b"\n"].concat(), WITHIN).expect("the server reads");
        let answer = self.server.read_frame(WITHIN).expect("an answer comes").expect("the server goes on");
        serde_json::from_slice(&answer).expect("answers are JSON")
    }

    fn end(mut self) {
        self.server.close_input();
        let status = self.server.wait(WITHIN).expect("the server ends with its input");
        assert_eq!(status.code(), Some(0));
    }
}

#[test]
fn the_tools_are_listed() {
    let mut client = Client::new(&Sandbox::new(), &[]);
    let reply = client.request("tools/list", &json!({}));
    let tools = reply["result"]["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["recall", "search", "list_sessions", "show_context", "compact", "undo"]);
    for tool in tools {
        let writes = ["compact", "undo"].contains(&tool["name"].as_str().expect("a name"));
        assert_eq!(tool["annotations"]["readOnlyHint"], !writes, "{tool}");
    }
    client.end();
}

#[test]
fn a_session_is_compacted_recalled_from_and_restored() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("work.jsonl", SAMPLE);
    let mut client = Client::new(&sandbox, &["--session", "work.jsonl"]);

    let plan = client.text("compact", &json!({ "dryRun": true }));
    assert!(plan.contains("messages") && plan.contains("Nothing was changed"), "{plan}");
    assert_eq!(std::fs::read(&file).expect("readable"), SAMPLE);

    let report = client.text("compact", &json!({ "keepRecentTokens": 4000, "instructions": "keep the numbers" }));
    assert!(report.contains("## Goal"), "{report}");
    let after = std::fs::read(&file).expect("readable");
    assert!(after.starts_with(SAMPLE) && after.len() > SAMPLE.len());
    assert_eq!(sandbox.names(), ["work.jsonl"], "no lock outlives a call");

    let summary = client.text("show_context", &json!({ "what": "summary" }));
    assert!(summary.contains("## Goal"), "{summary}");
    let tree = client.text("show_context", &json!({ "what": "tree" }));
    assert!(tree.contains("compaction") && tree.contains("◀ leaf"), "{tree}");

    let found = client.text("recall", &json!({ "query": "never send the same alert twice", "maxTokens": 500 }));
    assert!(found.contains("never send the same alert twice within 30 minutes"), "{found}");
    let id = found.split_once("\n[").and_then(|(_, rest)| rest.get(..8)).expect("an id");
    let whole = client.text("recall", &json!({ "entryIds": [id] }));
    assert!(whole.contains(&format!("[{id} ")), "{whole}");

    let undone = client.text("undo", &json!({}));
    assert!(undone.contains("is undone"), "{undone}");
    assert!(std::fs::read(&file).expect("readable").starts_with(&after));
    client.end();
}

#[test]
fn the_most_recent_session_of_the_directory_is_the_default() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox, &[]);
    let (_, text) = client.failure("show_context", &json!({ "what": "context" }));
    assert!(text.contains("list_sessions"), "{text}");

    // Sessions lie in a directory that is named after their working directory, which is in their header.
    let name = sandbox.path().display().to_string().replace('/', "-");
    let sessions = sandbox.path().join(".pi/agent/sessions").join(format!("-{name}--"));
    std::fs::create_dir_all(&sessions).expect("directories can be made");
    let header = SAMPLE.iter().position(|byte| *byte == b'\n').expect("a line");
    let mut first: Value = serde_json::from_slice(&SAMPLE[..header]).expect("JSON");
    first["cwd"] = json!(sandbox.path());
    let session = [first.to_string().as_bytes(), &SAMPLE[header..]].concat();
    std::fs::write(sessions.join("2026-02-16T08-00-00-000Z_work.jsonl"), session).expect("it can be written");

    let listed = client.text("list_sessions", &json!({}));
    assert!(listed.contains("_work.jsonl"), "{listed}");
    let context = client.text("show_context", &json!({ "what": "context", "maxBytes": 300 }));
    assert!(context.contains("_work.jsonl\n\n"), "{context}");
    assert!(context.contains("more bytes: offset "), "{context}");
    let found = client.text("search", &json!({ "query": "hysteresis", "limit": 1 }));
    assert!(found.contains("_work.jsonl") && found.contains("larger limit"), "{found}");
    client.end();
}

#[test]
fn a_search_reads_the_session_that_the_server_was_started_for() {
    let sandbox = Sandbox::new();
    sandbox.file("work.jsonl", SAMPLE);
    sandbox.file("short.jsonl", &SAMPLE.split_inclusive(|byte| *byte == b'\n').take(3).collect::<Vec<_>>().concat());
    let mut client = Client::new(&sandbox, &["--session", "work.jsonl"]);
    let mut count = |arguments: Value| {
        let found = client.text("search", &arguments);
        found.split(' ').next().expect("a number").parse::<u64>().expect("a number")
    };
    assert!(count(json!({ "query": "hysteresis" })) > 0);
    assert_eq!(count(json!({ "query": "hysteresis", "session": "short.jsonl" })), 0);
    // No session is in the directory of sessions.
    assert_eq!(count(json!({ "query": "hysteresis", "all": true })), 0);
    let (kind, _) = client.failure("search", &json!({ "query": "x", "session": "work.jsonl", "all": true }));
    assert_eq!(kind, "invalidArguments");
    client.end();
}

#[test]
fn failures_are_results_with_a_kind_and_the_numbers() {
    let sandbox = Sandbox::new();
    sandbox.file("work.jsonl", SAMPLE);
    sandbox.file("notes.txt", b"dear diary\n");
    let mut client = Client::new(&sandbox, &[]);
    let mut check = |tool: &str, arguments: Value, kind: &str, part: &str| {
        let (found, text) = client.failure(tool, &arguments);
        assert_eq!(found, kind, "{text}");
        assert!(text.contains(part), "{part} in {text}");
    };
    check("recall", json!({ "query": "x", "session": "gone.jsonl" }), "sessionNotFound", "gone.jsonl");
    check("recall", json!({ "query": "x", "session": "notes.txt" }), "notASession", "notes.txt");
    // The protocol runs on standard input, so that no session is read from there.
    check("recall", json!({ "query": "x", "session": "-" }), "sessionNotFound", "/-");
    check("recall", json!({ "entryIds": ["nope"], "session": "work.jsonl" }), "entryNotFound", "nope");
    check("compact", json!({ "session": "work.jsonl", "summarizer": "oracle" }), "invalidParams", "extractive");
    check("compact", json!({ "session": "work.jsonl", "keepRecentTokens": 900_000 }), "nothingToCompact", "900,000");
    check("compact", json!({ "session": 7 }), "invalidArguments", "7");
    check("search", json!({ "words": "x" }), "invalidArguments", "words");
    check("undo", json!({ "session": "work.jsonl", "entryId": "nope" }), "entryNotFound", "nope");

    let reply = client.request("tools/call", &json!({ "name": "fly", "arguments": {} }));
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    client.end();
}

#[test]
fn every_line_is_answered() {
    let sandbox = Sandbox::new();
    sandbox.file("work.jsonl", SAMPLE);
    let mut client = Client::new(&sandbox, &["--session", "work.jsonl"]);
    let call = |id: &str, query: &str| {
        let params = format!("{{\"name\":\"search\",\"arguments\":{{\"query\":\"{query}\"}}}}");
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}")
    };
    let mut check = |line: &[u8], code: i64, id: Value| {
        let answer = client.answer_to(line);
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
    };
    check(b"not JSON", -32700, Value::Null);
    check(call("101", &"x".repeat(17 << 20)).as_bytes(), -32600, json!(101));
    check(&[call("102", "").as_bytes(), b"\xFF"].concat(), -32700, json!(102));
    check(call("103.5", "x").as_bytes(), -32600, json!(103.5));
    check(&call("104", "x").as_bytes()[..60], -32700, json!(104));
    let batch = format!("[{},{}]", call("105", "x"), call("\"106\"", "x"));
    let refused = client.answer_to(batch.as_bytes());
    let ids: Vec<_> = refused.as_array().expect("a list").iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(105), json!("106")], "{refused}");
    let served = client.answer_to(call("107", "hysteresis \\ud83d").as_bytes());
    assert_eq!((&served["id"], served["result"]["content"][0]["type"].as_str()), (&json!(107), Some("text")));
    client.text("list_sessions", &json!({}));
    client.end();
}

#[test]
fn a_client_that_leaves_ends_a_running_compaction() {
    let sandbox = Sandbox::with_a_slow_summarizer();
    let mut client = Client::new(&sandbox, &["--session", "work.jsonl"]);
    client.start("tools/call", &json!({ "name": "compact", "arguments": {} }));
    wait_for("the summarizer", || sandbox.path().join("running").exists().then_some(()));
    client.end();
    sandbox.check_that_the_session_is_free();
}

#[test]
fn a_call_that_is_cancelled_ends_its_compaction_and_the_server_goes_on() {
    let sandbox = Sandbox::with_a_slow_summarizer();
    let mut client = Client::new(&sandbox, &["--session", "work.jsonl"]);
    client.start("tools/call", &json!({ "name": "compact", "arguments": {} }));
    wait_for("the summarizer", || sandbox.path().join("running").exists().then_some(()));
    let params = json!({ "requestId": client.last_id });
    client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    sandbox.check_that_the_session_is_free();
    client.text("show_context", &json!({ "what": "tree" }));
    client.end();
}

#[test]
fn a_signal_ends_the_running_compaction_and_then_the_server() {
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let sandbox = Sandbox::with_a_slow_summarizer();
        let mut client = Client::new(&sandbox, &["--session", "work.jsonl"]);
        client.start("tools/call", &json!({ "name": "compact", "arguments": {} }));
        wait_for("the summarizer", || sandbox.path().join("running").exists().then_some(()));
        let kill = |signal: &str, process: &str| {
            let command = format!("kill -s {signal} {process} 2>&1");
            Command::new("/bin/sh").args(["-c", &command]).output().expect("there is a shell").status.success()
        };
        assert!(kill(name, &client.server.pid().to_string()));
        let status = client.server.wait(WITHIN).expect("the server ends");
        assert_eq!(status.signal(), Some(number), "{name}");
        let summarizer = std::fs::read_to_string(sandbox.path().join("running")).expect("readable");
        assert!(!kill("0", summarizer.trim()), "the summarizer ends before the server");
        assert_eq!(sandbox.names(), [".pi", "running", "work.jsonl"], "and so does the lock");
    }
}
