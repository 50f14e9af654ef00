//! Files that are old, broken, locked or no sessions, readers that close the pipe, and names that are not UTF-8.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::harness::{Finished, SAMPLE, Sandbox, masked, wait_for};

const FIRST_VERSION: &str = concat!(
    r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/home/ines"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"hello"}}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"good morning"}],"api":"x","provider":"x","model":"x","stopReason":"stop"}}"#,
    "\n",
);

/// Runs a command on a file with this content. The command must find nothing to do and leave the file unchanged.
fn check_nothing_to_do(arguments: &[&str], content: &[u8], expected: Expect) {
    let sandbox = Sandbox::new();
    let file = sandbox.file("work.jsonl", content);
    let stderr = sandbox.run(&[arguments, &["work.jsonl"]].concat()).failed(3);
    expected.assert_eq(&masked(&stderr, &sandbox));
    assert_eq!(std::fs::read(&file).expect("readable"), content);
    assert_eq!(sandbox.names(), ["work.jsonl"]);
}

#[test]
fn a_file_that_is_no_session_is_refused_and_unchanged() {
    for arguments in [&["tree"][..], &["compact"], &["compact", "--dry-run"]] {
        let sandbox = Sandbox::new();
        let file = sandbox.file("notes.txt", b"dear diary\n");
        let stderr = sandbox.run(&[arguments, &["notes.txt"]].concat()).failed(1);
        assert!(stderr.starts_with("compactd: notes.txt is not a session file; it was left untouched"), "{stderr}");
        assert_eq!(std::fs::read(&file).expect("readable"), b"dear diary\n");
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    for command in ["tree", "compact"] {
        let sandbox = Sandbox::new();
        let stderr = sandbox.run(&[command, "gone.jsonl"]).failed(1);
        assert!(stderr.starts_with("compactd: gone.jsonl"), "{stderr}");
        assert_eq!(sandbox.names(), [] as [&str; 0]);
    }
}

#[test]
fn a_short_session_has_nothing_to_compact() {
    let session = SAMPLE.split_inclusive(|byte| *byte == b'\n').take(6).collect::<Vec<_>>().concat();
    let sandbox = Sandbox::new();
    let file = sandbox.file("work.jsonl", &session);
    let stderr = sandbox.run(&["compact", file.to_str().expect("UTF-8")]).failed(3);
    assert!(stderr.starts_with("compactd: nothing to compact: the context has "), "{stderr}");
    assert!(stderr.contains("20,000 most recent"), "{stderr}");
    assert_eq!(std::fs::read(&file).expect("readable"), session);
}

#[test]
fn an_old_version_is_drawn_and_not_rewritten() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("old.jsonl", FIRST_VERSION.as_bytes());
    let drawn = sandbox.run(&["tree", "old.jsonl"]).ok();
    expect![[r#"
        old.jsonl: 2 entries, 1 branch, version 1
        • ID user       hello
        • ID assistant  good morning ◀ leaf
    "#]]
    .assert_eq(&masked(&drawn, &sandbox));
    assert_eq!(std::fs::read(&file).expect("readable"), FIRST_VERSION.as_bytes());
}

#[test]
fn a_broken_line_is_reported_and_the_rest_is_drawn() {
    let mut lines: Vec<&[u8]> = SAMPLE.split_inclusive(|byte| *byte == b'\n').take(30).collect();
    lines[20] = b"{\"type\":\"message\",\"id\":\"torn\n";
    let sandbox = Sandbox::new();
    let file = sandbox.file("torn.jsonl", &lines.concat());
    let drawn = sandbox.run(&["tree", "torn.jsonl"]).ok();
    assert!(drawn.starts_with("torn.jsonl: 28 entries, 2 branches\n"), "{drawn}");
    assert!(drawn.contains("\n! line 21: "), "{drawn}");
    assert_eq!(std::fs::read(&file).expect("readable"), lines.concat());
}

#[test]
fn a_broken_line_is_told_on_standard_error() {
    let mut lines: Vec<&[u8]> = SAMPLE.split_inclusive(|byte| *byte == b'\n').take(30).collect();
    lines[20] = b"{\"type\":\"message\",\"id\":\"torn\n";
    let sandbox = Sandbox::new();
    sandbox.file("torn.jsonl", &lines.concat());
    for arguments in [
        &["show", "torn.jsonl"][..],
        &["export", "torn.jsonl", "--format", "openai"],
        &["export", "torn.jsonl", "--format", "openai", "--all"],
        &["search", "alert", "torn.jsonl"],
        &["tree", "torn.jsonl", "--json"],
    ] {
        let finished = sandbox.run(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}");
        let told: Vec<&str> = finished.stderr.lines().collect();
        let [line, orphan] = told[..] else { panic!("{arguments:?}: {told:?}") };
        assert!(line.starts_with("compactd: line 21: ") && orphan.starts_with("compactd: line 22: "), "{told:?}");
    }
}

/// The limit of the size of files is an error, as a full disk is, and no end of the program.
#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let sandbox = Sandbox::new();
    // A write that begins at the limit raises a signal.
    let note = |length: usize| {
        let members = r#""id":"abcdef01","parentId":null,"timestamp":"2026-02-16T08:00:00.000Z","customType":"note""#;
        format!("{{\"type\":\"custom\",{members},\"data\":\"{}\"}}\n", "x".repeat(length))
    };
    let header = SAMPLE.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let length = 1024 - (SAMPLE.len() + note(0).len()) % 1024;
    let session = [&SAMPLE[..header], note(length).as_bytes(), &SAMPLE[header..]].concat();
    let file = sandbox.file("work.jsonl", &session);
    let kibibytes = session.len() / 1024;
    let script = format!("ulimit -f {kibibytes} && exec \"$0\" compact work.jsonl --keep-recent 4000 --json");
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_compactd")]).current_dir(sandbox.path()).env("HOME", sandbox.path());
    let finished = Finished::new(&shell.output().expect("bash runs"));
    assert_eq!(finished.code, Some(1), "{} {}", finished.stdout, finished.stderr);
    assert!(
        finished.stdout.contains("writeFailed") && finished.stdout.contains("File too large"),
        "{}",
        finished.stdout
    );
    assert_eq!(std::fs::read(&file).expect("readable"), session);
    assert_eq!(sandbox.names(), ["work.jsonl"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full_is_told_on_standard_error() {
    let sandbox = Sandbox::new();
    sandbox.file("work.jsonl", SAMPLE);
    for arguments in [
        &["show", "work.jsonl", "--json"][..],
        &["tree", "work.jsonl", "--json"],
        &["tree", "work.jsonl"],
        &["--help"],
        &["search", "--help"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
        let output = sandbox.command(arguments).stdout(full).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.starts_with("compactd: write the output: No space left"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_locked_session_names_its_holder() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("work.jsonl", SAMPLE);
    let mut holder =
        sandbox.command(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server starts");
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
    let stderr = sandbox.run(&["compact", "work.jsonl"]).failed(1);
    assert!(stderr.contains(&format!("work.jsonl is open in process {}", holder.id())), "{stderr}");
    // Reading works while another process writes.
    sandbox.run(&["tree", "work.jsonl"]).ok();
    drop(input);
    assert!(holder.wait().expect("it ends").success());
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    for arguments in
        [&["demo", "--full"][..], &["tree", "work.jsonl", "--all"], &["tree", "work.jsonl", "--json"], &["--help"]]
    {
        let sandbox = Sandbox::new();
        sandbox.file("work.jsonl", SAMPLE);
        let mut child = sandbox
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // Every write of the program fails from now on.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

/// Temporary directories and file names may hold any bytes; the protocol takes only UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf_8_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let sandbox = Sandbox::new();
    let directory = sandbox.path().join(OsStr::from_bytes(b"tmp\xff"));
    std::fs::create_dir(&directory).expect("the directory can be made");
    for arguments in [&["demo"][..], &["compact", "-", "--dry-run"], &["show", "-"]] {
        let output = sandbox.command(arguments).env("TMPDIR", &directory).output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("compactd: ") && stderr.contains("only file names in UTF-8"), "{stderr}");
    }
    let output = sandbox.command(&["tree"]).arg(directory.join("work.jsonl")).output().expect("the program starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("only file names in UTF-8"));
    assert_eq!(std::fs::read_dir(&directory).expect("readable").count(), 0, "nothing is left behind");
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
    let sandbox = Sandbox::new();
    sandbox.file("work.jsonl", b"");
    assert_eq!(sandbox.run(&["tree", "work.jsonl"]).ok(), "work.jsonl: 0 entries, 0 branches\n");
}
