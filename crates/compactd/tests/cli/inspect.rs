//! `show`, `list`, `search`, `recall`, `undo`, failures for programs, and standard input.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{SAMPLE, Sandbox};

fn sample(sandbox: &Sandbox) -> String {
    sandbox.file("work.jsonl", SAMPLE).to_str().expect("UTF-8").to_owned()
}

fn read(output: &str) -> Value {
    serde_json::from_str(output).expect("one JSON object")
}

/// Runs a command with the sample on its standard input.
fn with_input(mut command: Command) -> (Option<i32>, String, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("it is piped");
    let writing = std::thread::spawn(move || input.write_all(SAMPLE));
    let output = child.wait_with_output().expect("it ends");
    // A command that refuses its input does not read it.
    let _ = writing.join().expect("the writer ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_summary_is_shown_recalled_from_and_undone() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let short = SAMPLE.split_inclusive(|byte| *byte == b'\n').take(6).collect::<Vec<_>>().concat();
    let short = sandbox.file("short.jsonl", &short).to_str().expect("UTF-8").to_owned();
    let none = sandbox.run(&["show", &short, "summary"]).failed(3);
    assert!(none.contains("no compaction is on the current branch"), "{none}");
    let none = sandbox.run(&["undo", &short]).failed(3);
    assert!(none.contains("nothing to undo"), "{none}");
    let compacted = read(&sandbox.run(&["compact", &file, "--json"]).ok());
    let entry = read(&sandbox.run(&["show", &file, "summary", "--json"]).ok());
    assert_eq!(entry["id"], compacted["entryId"]);
    assert!(sandbox.run(&["show", &file, "summary"]).ok().starts_with("## Goal\n"));
    let recalled = read(&sandbox.run(&["recall", &file, "forecast", "--json"]).ok());
    assert!(!recalled["entries"].as_array().expect("a list").is_empty());
    assert!(sandbox.run(&["recall", &file, "forecast"]).ok().to_lowercase().contains("forecast"));
    let before = read(&sandbox.run(&["show", &file, "--json"]).ok());
    let undone = read(&sandbox.run(&["undo", &file, "--json"]).ok());
    assert_eq!(undone["undoneEntryId"], compacted["entryId"]);
    let after = read(&sandbox.run(&["show", &file, "--json"]).ok());
    let messages = |context: &Value| context["messages"].as_array().map_or(0, Vec::len);
    assert!(messages(&after) > messages(&before), "the model sees all messages again");
}

#[test]
fn a_context_and_an_entry_are_shown() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let context = sandbox.run(&["show", &file]).ok();
    assert!(context.contains(" messages, ") && context.contains("\nuser\n") && context.contains("\nassistant\n"));
    let found = read(&sandbox.run(&["search", "forecast", &file, "--json", "--limit", "1"]).ok());
    let id = found["hits"][0]["entryId"].as_str().expect("a hit").to_owned();
    assert!(sandbox.run(&["search", "forecast", &file]).ok().contains(&id));
    let entry = sandbox.run(&["show", &file, "entry", &id]).ok();
    assert!(entry.starts_with(&format!("message {id}, ")), "{entry}");
    let stderr = sandbox.run(&["search", "xyzzyplugh", &file]).failed(3);
    assert!(stderr.contains("no entry has these words"), "{stderr}");
}

#[test]
fn sessions_are_listed() {
    let sandbox = Sandbox::new();
    assert!(sandbox.run(&["list"]).failed(3).contains("--all"));
    let listed = sandbox.run(&["list", "--json"]).ok();
    assert_eq!(read(&listed)["sessions"], json!([]));
}

/// An agent may have made the session of a directory under the name of a link to it.
#[test]
fn sessions_are_listed_under_the_name_of_a_link() {
    let sandbox = Sandbox::new();
    let base = sandbox.path().canonicalize().expect("it exists");
    std::fs::create_dir(base.join("real")).expect("a directory");
    std::os::unix::fs::symlink("real", base.join("link")).expect("a link");
    let link = base.join("link");
    let header = SAMPLE.iter().position(|byte| *byte == b'\n').expect("a line");
    let mut first: Value = serde_json::from_slice(&SAMPLE[..header]).expect("JSON");
    first["cwd"] = json!(link);
    let name = link.display().to_string().replace('/', "-");
    let sessions = sandbox.path().join(format!(".pi/agent/sessions/-{name}--"));
    std::fs::create_dir_all(&sessions).expect("directories can be made");
    let session = [first.to_string().as_bytes(), &SAMPLE[header..]].concat();
    std::fs::write(sessions.join("2026-02-16T08-00-00-000Z_work.jsonl"), session).expect("it can be written");
    let count = |pwd: &Path| {
        let output = sandbox.command(&["list", "--json"]).current_dir(&link).env("PWD", pwd).output();
        let stdout = String::from_utf8(output.expect("the program starts").stdout).expect("UTF-8");
        read(&stdout)["sessions"].as_array().map(Vec::len)
    };
    assert_eq!(count(&link), Some(1));
    assert_eq!(count(&base), Some(0), "PWD of another directory does not count");
}

#[test]
fn failures_are_json_for_programs() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let check = |arguments: &[&str], code: i32, kind: &str| {
        let finished = sandbox.run(arguments);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(code), ""), "{arguments:?}");
        let failure = read(&finished.stdout);
        assert_eq!(failure["exitCode"], code);
        assert!(failure["error"]["message"].is_string());
        if !kind.is_empty() {
            assert_eq!(failure["error"]["data"]["kind"], kind);
        }
    };
    check(&["tree", "nobody.jsonl", "--json"], 1, "sessionNotFound");
    check(&["show", &file, "entry", "ffffffff", "--json"], 1, "entryNotFound");
    sandbox.run(&["compact", &file]).ok();
    check(&["compact", &file, "--json"], 3, "");
    check(&["compact", "-", "--json"], 1, "");
}

#[test]
fn standard_input_is_read() {
    let sandbox = Sandbox::new();
    let (code, output, errors) = with_input(sandbox.command(&["compact", "-", "--dry-run"]));
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(output.starts_with("A compaction of standard input "), "{output}");
    let (code, output, _) = with_input(sandbox.command(&["show", "-", "--json"]));
    assert_eq!(code, Some(0));
    assert!(read(&output)["messages"].is_array());
    let (code, _, errors) = with_input(sandbox.command(&["undo", "-"]));
    assert_eq!(code, Some(1));
    assert!(errors.contains("can only be read"), "{errors}");
    assert!(sandbox.names().is_empty(), "{:?}", sandbox.names());
}

#[test]
fn a_notice_precedes_the_rewrite_of_an_old_version() {
    let sandbox = Sandbox::new();
    let message = |role: &str| {
        json!({ "type": "message", "timestamp": "2025-01-01T00:00:00.000Z",
        "message": { "role": role, "content": "word ".repeat(400), "timestamp": 1 } })
    };
    let header = json!({ "type": "session", "id": "old", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/w" });
    let lines: Vec<String> =
        [header].into_iter().chain((0..8).map(|_| message("user"))).map(|line| format!("{line}\n")).collect();
    let file = sandbox.file("old.jsonl", lines.concat().as_bytes());
    let finished = sandbox.run(&["compact", file.to_str().expect("UTF-8"), "--keep-recent", "500"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("it is rewritten") && finished.stderr.contains("old.jsonl.v1.bak"),
        "{}",
        finished.stderr
    );
    assert_eq!(sandbox.names(), ["old.jsonl", "old.jsonl.v1.bak"]);
}
