//! Files that are old, broken, locked or no sessions, and readers that go away.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::harness::{Place, SAMPLE, masked, wait_for};

const FIRST_VERSION: &str = concat!(
    r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/home/ines"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"hello"}}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"good morning"}],"api":"x","provider":"x","model":"x","stopReason":"stop"}}"#,
    "\n",
);

/// Runs a command that has nothing to do on a file with this content, and leave it alone.
fn check_nothing_to_do(arguments: &[&str], content: &[u8], expected: Expect) {
    let place = Place::new();
    let file = place.file("work.jsonl", content);
    let said = place.run(&[arguments, &["work.jsonl"]].concat()).failed(3);
    expected.assert_eq(&masked(&said, &place));
    assert_eq!(std::fs::read(&file).expect("readable"), content);
    assert_eq!(place.names(), ["work.jsonl"]);
}

#[test]
fn what_is_no_session_is_refused_and_left_alone() {
    for arguments in [&["tree"][..], &["compact"], &["compact", "--dry-run"]] {
        let place = Place::new();
        let file = place.file("notes.txt", b"dear diary\n");
        let said = place.run(&[arguments, &["notes.txt"]].concat()).failed(1);
        assert!(said.starts_with("compactd: notes.txt is not a session file; it was left untouched"), "{said}");
        assert_eq!(std::fs::read(&file).expect("readable"), b"dear diary\n");
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    for command in ["tree", "compact"] {
        let place = Place::new();
        let said = place.run(&[command, "gone.jsonl"]).failed(1);
        assert!(said.starts_with("compactd: gone.jsonl"), "{said}");
        assert_eq!(place.names(), [] as [&str; 0]);
    }
}

#[test]
fn a_short_session_has_nothing_to_compact() {
    let session = SAMPLE.split_inclusive(|byte| *byte == b'\n').take(6).collect::<Vec<_>>().concat();
    let place = Place::new();
    let file = place.file("work.jsonl", &session);
    let said = place.run(&["compact", file.to_str().expect("UTF-8")]).failed(3);
    assert!(said.starts_with("compactd: nothing to compact: the context has "), "{said}");
    assert!(said.contains("20,000 most recent"), "{said}");
    assert_eq!(std::fs::read(&file).expect("readable"), session);
}

#[test]
fn an_old_version_is_drawn_and_not_rewritten() {
    let place = Place::new();
    let file = place.file("old.jsonl", FIRST_VERSION.as_bytes());
    let drawn = place.run(&["tree", "old.jsonl"]).ok();
    expect![[r#"
        old.jsonl: 2 entries, 1 branch, version 1
        • ID user       hello
        • ID assistant  good morning ◀ leaf
    "#]]
    .assert_eq(&masked(&drawn, &place));
    assert_eq!(std::fs::read(&file).expect("readable"), FIRST_VERSION.as_bytes());
}

#[test]
fn a_broken_line_is_told_and_the_rest_is_drawn() {
    let mut lines: Vec<&[u8]> = SAMPLE.split_inclusive(|byte| *byte == b'\n').take(30).collect();
    lines[20] = b"{\"type\":\"message\",\"id\":\"torn\n";
    let place = Place::new();
    let file = place.file("torn.jsonl", &lines.concat());
    let drawn = place.run(&["tree", "torn.jsonl"]).ok();
    assert!(drawn.starts_with("torn.jsonl: 28 entries, 2 branches\n"), "{drawn}");
    assert!(drawn.contains("\n! line 21: "), "{drawn}");
    assert_eq!(std::fs::read(&file).expect("readable"), lines.concat());
}

#[test]
fn a_locked_session_names_its_holder() {
    let place = Place::new();
    let file = place.file("work.jsonl", SAMPLE);
    let mut holder = place.command(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server starts");
    let mut input = holder.stdin.take().expect("it was asked for");
    let path = serde_json::json!(file);
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":1,"clientInfo":{{"name":"t"}}}}}}"#).expect("written");
    writeln!(input, r#"{{"jsonrpc":"2.0","id":2,"method":"openSession","params":{{"path":{path}}}}}"#)
        .expect("written");
    let mut output = BufReader::new(holder.stdout.take().expect("it was asked for"));
    wait_for("the session is open", || {
        let mut line = String::new();
        output.read_line(&mut line).expect("readable");
        line.contains("\"id\":2").then_some(())
    });
    let said = place.run(&["compact", "work.jsonl"]).failed(1);
    assert!(said.contains(&format!("work.jsonl is open in process {}", holder.id())), "{said}");
    // Reading goes on beside the writer.
    place.run(&["tree", "work.jsonl"]).ok();
    drop(input);
    assert!(holder.wait().expect("it ends").success());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in
        [&["demo", "--full"][..], &["tree", "work.jsonl", "--all"], &["tree", "work.jsonl", "--json"], &["--help"]]
    {
        let place = Place::new();
        place.file("work.jsonl", SAMPLE);
        let mut child =
            place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        // Dropped at once: every write of the program fails.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn an_empty_file_is_a_session_without_messages() {
    check_nothing_to_do(
        &["compact"],
        b"",
        expect![[r#"
            compactd: nothing to compact: the session has no messages
        "#]],
    );
    let place = Place::new();
    place.file("work.jsonl", b"");
    assert_eq!(place.run(&["tree", "work.jsonl"]).ok(), "work.jsonl: 0 entries, 0 branches\n");
}
