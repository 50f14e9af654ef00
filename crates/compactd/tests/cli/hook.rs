//! `hook`, with inputs that Claude Code sent.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Finished, Sandbox};

const PRE_COMPACT: &str = include_str!("hooks/pre_compact.json");
const POST_COMPACT: &str = include_str!("hooks/post_compact.json");
const PRE_TOOL_USE: &str = include_str!("hooks/pre_tool_use.json");
const START_AFTER_COMPACT: &str = include_str!("hooks/session_start_compact.json");
const START_AFTER_RESUME: &str = include_str!("hooks/session_start_resume.json");

/// Runs the hook in the sandbox with `input`, whose placeholders get the paths of the sandbox.
fn hook(sandbox: &Sandbox, input: &str) -> Finished {
    let directory = sandbox.path().to_str().expect("UTF-8");
    let input = input.replace("TRANSCRIPT", &format!("{directory}/transcript.jsonl")).replace("SANDBOX", directory);
    let mut command = sandbox.command(&["hook"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("the hook reads its input");
    Finished::new(&child.wait_with_output().expect("the output can be read"))
}

/// Adds a message to the transcript of the sandbox, in the shape of Claude Code.
fn say(sandbox: &Sandbox, number: u32, role: &str, text: &str) {
    let uuid = |number: u32| format!("00000000-0000-4000-8000-{number:012}");
    let content = if role == "user" { json!(text) } else { json!([{ "type": "text", "text": text }]) };
    let line = json!({
        "parentUuid": (number > 1).then(|| uuid(number - 1)), "isSidechain": false, "type": role,
        "message": { "role": role, "content": content }, "uuid": uuid(number),
        "timestamp": format!("2026-11-22T13:21:{number:02}.000Z"), "cwd": sandbox.path(), "version": "2.1.197",
        "sessionId": "6ae52d5c-8bf7-47ab-a5b0-b9cbd916529d",
    });
    let path = sandbox.path().join("transcript.jsonl");
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("it can be written");
    writeln!(file, "{line}").expect("it can be written");
}

/// The session files of the sandbox.
fn sessions(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![sandbox.path().join(".pi")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_conversation_is_archived_silently() {
    let sandbox = Sandbox::new();
    say(&sandbox, 1, "user", "The password of the heron is blue-17.");
    say(&sandbox, 2, "assistant", "I will remember that.");
    for input in [PRE_COMPACT, PRE_TOOL_USE] {
        assert_eq!(hook(&sandbox, input).ok(), "");
        let [session] = &sessions(&sandbox)[..] else { panic!("one session") };
        let archived = std::fs::read_to_string(session).expect("readable");
        assert!(archived.contains("The password of the heron is blue-17."), "{archived}");
    }
}

/// The first message may be a pasted screenshot.
#[test]
fn a_conversation_with_a_long_first_message_is_archived() {
    let sandbox = Sandbox::new();
    say(&sandbox, 1, "user", &"A heron, in pixels. ".repeat(100_000));
    assert_eq!(hook(&sandbox, PRE_COMPACT).ok(), "");
    assert_eq!(sessions(&sandbox).len(), 1);
}

#[test]
fn a_reminder_after_a_compaction_names_the_session_with_what_is_new() {
    let sandbox = Sandbox::new();
    say(&sandbox, 1, "user", "The password of the heron is blue-17.");
    assert_eq!(hook(&sandbox, PRE_COMPACT).ok(), "");
    say(&sandbox, 2, "assistant", "I will remember that.");
    let output: Value = serde_json::from_str(&hook(&sandbox, START_AFTER_COMPACT).ok()).expect("one JSON object");
    let specific = &output["hookSpecificOutput"];
    assert_eq!(specific["hookEventName"], "SessionStart");
    let context = specific["additionalContext"].as_str().expect("a text");
    let [session] = &sessions(&sandbox)[..] else { panic!("one session") };
    assert!(context.contains(session.to_str().expect("UTF-8")) && context.contains("`recall`"), "{context}");
    // Claude Code drops what is longer.
    assert!(context.len() < 10_000);
    let archived = std::fs::read_to_string(session).expect("readable");
    assert_eq!(archived.lines().filter(|line| line.starts_with(r#"{"type":"message""#)).count(), 2, "{archived}");
}

#[test]
fn other_events_do_nothing() {
    for input in [POST_COMPACT, START_AFTER_RESUME, r#"{"hook_event_name":"Stop"}"#] {
        let sandbox = Sandbox::new();
        say(&sandbox, 1, "user", "Hello.");
        assert_eq!(hook(&sandbox, input).ok(), "");
        assert!(sessions(&sandbox).is_empty());
    }
}

/// Claude Code takes exit code 2 as an order not to compact.
#[test]
fn a_failure_says_why_and_never_blocks_the_compaction() {
    let check = |input: &str, cause: &str| {
        let stderr = hook(&Sandbox::new(), input).failed(1);
        assert!(stderr.contains(cause), "{cause} in {stderr}");
    };
    check(PRE_COMPACT, "transcript.jsonl was not archived: ");
    check(START_AFTER_COMPACT, "transcript.jsonl was not archived: ");
    check(r#"{"hook_event_name":"PreCompact"}"#, "names no transcript_path");
    check("not JSON", "not the JSON of a Claude Code hook");
    check("", "not the JSON of a Claude Code hook");
    check(&PRE_COMPACT.replace("TRANSCRIPT", "SANDBOX"), "was not archived: it is a directory");
    check(&" ".repeat((1 << 20) + 1), "the input of the hook has more than 1,048,576 bytes");
}
