//! Secrets of a conversation in all that a compaction makes of it: what a program as summarizer is sent,
//! its answer, the facts behind that, the stored details, progress and errors, over two compactions.

#![cfg(unix)]

#[path = "../../crates/compaction-engine/src/redaction/samples.rs"]
#[expect(dead_code, reason = "the harmless samples are looked at where the rules are tested")]
mod samples;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use compactd_tests::binary::binary;
use samples::Sample;
use serde_json::{Value, json};

const HEADINGS: [&str; 9] = [
    "## Goal",
    "## Constraints & Preferences",
    "## Progress",
    "### Done",
    "### In Progress",
    "### Blocked",
    "## Key Decisions",
    "## Next Steps",
    "## Critical Context",
];

struct Sidecar {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Notifications about compactions.
    notifications: Vec<Value>,
    id: u64,
}

impl Sidecar {
    fn start(home: &Path) -> Self {
        let mut command = Command::new(binary().expect("the server is built"));
        command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the server starts");
        let input = child.stdin.take().expect("input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("output is a pipe"));
        Self { child, input, output, notifications: Vec::new(), id: 0 }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        writeln!(self.input, "{request}").expect("the server reads");
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("the server writes UTF-8") > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).expect("a line is JSON");
            if message["id"] == self.id {
                return message["result"].clone();
            }
            let is_message = message["params"]["entry"]["type"] == "message";
            if !is_message {
                self.notifications.push(message);
            }
        }
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The messages that tell of a sample, by place.
fn messages(number: usize, text: &str) -> Vec<Value> {
    let block = json!([{ "type": "text", "text": text }]);
    let call = |name: &str, arguments: Value| {
        let content = json!([{ "type": "toolCall", "id": format!("c{number}"), "name": name, "arguments": arguments }]);
        json!({ "role": "assistant", "content": content, "stopReason": "toolUse" })
    };
    let result = |content: Value| json!({ "role": "toolResult", "toolCallId": format!("c{number}"), "toolName": "x", "content": content });
    match number % 5 {
        0 => vec![json!({ "role": "user", "content": format!("Never forget and always use this: {text}") })],
        1 => vec![json!({ "role": "assistant", "content": block, "stopReason": "stop" })],
        2 => vec![
            call("write", json!({ "path": "a", "content": text })),
            result(json!([{ "type": "text", "text": "ok" }])),
        ],
        3 => vec![call("bash", json!({ "command": "env" })), result(block)],
        _ => vec![
            json!({ "role": "bashExecution", "command": text, "output": format!("error: failed\n{text}"), "exitCode": 1 }),
        ],
    }
}

/// Fails if more than one of twenty samples is left in `text`, however often it was escaped.
fn check_left(place: &str, samples: &[Sample], text: &str) {
    // Without backslashes, what was escaped reads as it was; pieces are looked up, as there are many.
    let plain = text.replace('\\', "");
    let pieces: HashSet<&[u8]> = (5..=8).flat_map(|length| plain.as_bytes().windows(length)).collect();
    let is_left = |piece: &str| if piece.len() > 8 { plain.contains(piece) } else { pieces.contains(piece.as_bytes()) };
    let left = |sample: &Sample| sample.left(0, is_left).into_iter().next();
    let missed: Vec<String> = samples
        .iter()
        .filter_map(|sample| Some(format!("{}: {:?} of {:?}", sample.form, left(sample)?, sample.text)))
        .collect();
    assert!(!text.is_empty(), "{place} is empty");
    assert!(missed.len() * 20 <= samples.len(), "{place}: {} are left:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn no_secret_comes_back_over_two_compactions() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let file = |name: &str| home.path().join(name);
    let samples: Vec<Sample> = samples::secrets().into_iter().chain(samples::later_secrets()).collect();
    let all = samples.iter().map(|sample| sample.text.as_str()).collect::<Vec<_>>().join("\n\n");
    let points = HEADINGS.map(|heading| format!("{heading}\n- a point")).join("\n\n");
    fs::write(file("answer"), format!("{points}\n\n{all}\n")).expect("a file can be written");
    fs::write(file("curses"), &all).expect("a file can be written");
    let program = |script: &str| json!({ "provider": "command", "command": ["/bin/sh", "-c", script], "contextWindow": 2_000_000 });
    let writer = program("cat >> \"$HOME/prompts\"; cat \"$HOME/answer\"");
    let failing = program("cat \"$HOME/curses\" >&2; exit 3");
    let mut sidecar = Sidecar::start(home.path());
    let settings = json!({ "compactd": { "summarizers": { "writer": writer, "failing": failing }, "repair": { "maxTokens": 100_000 } } });
    sidecar
        .call("initialize", &json!({ "protocolVersion": 1, "clientInfo": { "name": "test" }, "settings": settings }));
    let session = sidecar.call("createSession", &json!({ "path": file("session.jsonl") }))["sessionId"].clone();
    for (round, half) in samples.chunks(samples.len().div_ceil(2)).enumerate() {
        for (number, sample) in half.iter().enumerate() {
            for message in messages(round * 1000 + number, &sample.text) {
                let appended = sidecar.call("appendMessage", &json!({ "sessionId": session, "message": message }));
                assert!(appended["entryId"].is_string(), "{message}");
            }
        }
        let last = json!({ "role": "user", "content": "And now?" });
        sidecar.call("appendMessage", &json!({ "sessionId": session, "message": last }));
        let settings = json!({ "keepRecentTokens": 1 });
        let compact =
            json!({ "sessionId": session, "settings": settings, "summarizer": ["failing", "writer"], "force": true });
        let result = sidecar.call("compact", &compact);
        let summary =
            result["summary"].as_str().unwrap_or_else(|| panic!("{result}: {:?}", sidecar.notifications.last()));
        let facts = summary.split_once("<retained-facts>").expect("facts are brought back").1;
        assert!(facts.contains("[redacted:"), "{facts}");
        check_left("facts", &samples, facts);
        check_left("summary", &samples, summary);
        check_left("details", &samples, &result["details"].to_string());
        check_left("causes", &samples, &result["failures"].to_string());
        assert!(result["failures"][0]["cause"].as_str().is_some_and(|cause| cause.contains("status 3")), "{result}");
    }
    check_left("prompts", &samples, &fs::read_to_string(file("prompts")).expect("the program was asked"));
    let notifications = Value::from(std::mem::take(&mut sidecar.notifications));
    let deltas = notifications
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|notification| notification["params"]["delta"].as_str());
    check_left("progress", &samples, &deltas.collect::<String>());
    check_left("notifications", &samples, &notifications.to_string());
    let stored = fs::read_to_string(file("session.jsonl")).expect("the session is a file");
    let compactions: Vec<&str> = stored.lines().filter(|line| line.contains("\"type\":\"compaction\"")).collect();
    assert_eq!(compactions.len(), 2);
    check_left("entries", &samples, &compactions.join("\n"));
    assert!(stored.contains("hunter2xyz"), "what was appended stays as it is");
}

/// A password on a command line is sought in sentences, results, paths, answers and errors, which say nothing about it.
#[test]
fn a_secret_that_a_rule_found_once_comes_back_nowhere() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let file = |name: &str| home.path().join(name);
    let password = format!("S3cr3t{}", "t9Qx");
    let command = format!("mysql -u root -p{password} shop");
    let points = HEADINGS.map(|heading| format!("{heading}\n- go on with {password} in mind")).join("\n\n");
    fs::write(file("answer"), format!("{points}\n")).expect("a file can be written");
    fs::write(file("curses"), format!("what is {password} good for?")).expect("a file can be written");
    let program =
        |script: &str| json!({ "provider": "command", "command": ["/bin/sh", "-c", script], "contextWindow": 100_000 });
    let writer = program("cat >> \"$HOME/prompts\"; cat \"$HOME/answer\"");
    let failing = program("cat \"$HOME/curses\" >&2; exit 3");
    let mut sidecar = Sidecar::start(home.path());
    let settings =
        json!({ "compactd": { "summarizers": { "writer": writer, "failing": failing }, "durability": "none" } });
    sidecar
        .call("initialize", &json!({ "protocolVersion": 1, "clientInfo": { "name": "test" }, "settings": settings }));
    let mut all = String::new();
    let call = json!([{ "type": "toolCall", "id": "c1", "name": "write", "arguments": { "path": format!("dumps/{password}.sql"), "content": password } }]);
    let messages = [
        json!({ "role": "user", "content": "Dump the shop." }),
        json!({ "role": "user", "content": format!("Never log in with anything but {password}, and always dump it.") }),
        json!({ "role": "assistant", "content": call, "stopReason": "toolUse" }),
        json!({ "role": "toolResult", "toolCallId": "c1", "toolName": "write", "content": [{ "type": "text", "text": format!("wrote {password}") }] }),
        json!({ "role": "bashExecution", "command": command, "output": format!("ERROR 1045: {password}"), "exitCode": 1 }),
        json!({ "role": "assistant", "content": [{ "type": "text", "text": format!("I decided to keep {password}.") }], "stopReason": "stop" }),
        json!({ "role": "user", "content": format!("And now? Is it {password}?") }),
    ];
    for (number, summarizer) in [json!(["failing", "writer"]), json!("extractive")].into_iter().enumerate() {
        for method in ["compact", "navigateTree"] {
            let path = file(&format!("session-{number}-{method}.jsonl"));
            let session = sidecar.call("createSession", &json!({ "path": path }))["sessionId"].clone();
            let append = json!({ "sessionId": session, "messages": messages });
            let entries = sidecar.call("appendMessages", &append)["entryIds"].clone();
            let asked = json!({
                "sessionId": session, "summarizer": summarizer,
                "customInstructions": format!("Say why {password} was chosen"),
                "settings": { "keepRecentTokens": 1 }, "force": true,
            });
            let moved = json!({
                "sessionId": session, "summarizer": summarizer,
                "customInstructions": format!("Say why {password} was chosen"),
                "targetId": entries[0], "summarize": true,
            });
            let prepared = sidecar.call("prepareCompaction", &asked);
            assert!(prepared["requests"].to_string().contains("[redacted:"), "{prepared}");
            all += &format!("{}\n", prepared["requests"]);
            let result = sidecar.call(method, if method == "compact" { &asked } else { &moved });
            assert!(result.to_string().contains("[redacted:"), "{result}");
            all += &format!("{result}\n");
            let stored = fs::read_to_string(path).expect("the session is a file");
            let own: Vec<&str> = stored.lines().filter(|line| !line.contains("\"type\":\"message\"")).collect();
            assert!(own.len() >= 2 && stored.contains(&password), "what was appended stays as it is: {stored}");
            all += &own.join("\n");
        }
    }
    all += &fs::read_to_string(file("prompts")).expect("the program was asked");
    all += &Value::from(std::mem::take(&mut sidecar.notifications)).to_string();
    let at = all.find(&password).map(|at| &all[at.saturating_sub(300)..at + 40]);
    assert_eq!(at, None);
}
