//! Lists of sessions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::HEADER;
use session_store::{Durability, FileStore, ListOptions, SessionStore, SessionSummary};

/// A session of `cwd` whose last message is of `second`.
fn write(path: &Path, id: &str, cwd: &str, second: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let header = HEADER.replace("\"s-1\"", &format!("\"{id}\"")).replace("\"/w\"", &format!("\"{cwd}\""));
    let message = |role: &str, text: &str, second: u32| {
        let time = 1_767_225_600_000_u64 + u64::from(second) * 1000;
        format!(
            r#"{{"type":"message","id":"{role}","parentId":null,"timestamp":"T","message":{{"role":"{role}","content":"{text}","timestamp":{time}}}}}"#
        )
    };
    let name =
        r#"{"type":"session_info","id":"n","parentId":null,"timestamp":"2030-01-01T00:00:00.000Z","name":"named"}"#;
    let lines =
        [header, message("user", "hello", 0), "broken".to_owned(), message("assistant", "x", second), name.to_owned()];
    fs::write(path, lines.join("\n")).unwrap();
}

fn store(agent_dir: &Path) -> FileStore {
    FileStore::new(agent_dir, Durability::Checkpoint)
}

fn ids(sessions: &[SessionSummary]) -> String {
    sessions.iter().map(|summary| summary.session_id.as_str()).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(agent_dir: &Path, options: &ListOptions, expected: &str) {
    let page = store(agent_dir).list(options).unwrap();
    assert_eq!((ids(&page.sessions).as_str(), page.next), (expected, None));
}

fn of(cwd: &str) -> ListOptions {
    ListOptions { cwd: cwd.to_owned(), ..ListOptions::default() }
}

#[test]
fn the_newest_activity_comes_first_whatever_the_file_says() {
    let agent = tempfile::tempdir().unwrap();
    let directory = agent.path().join("sessions/--w--");
    write(&directory.join("a.jsonl"), "early", "/w", 1);
    write(&directory.join("b.jsonl"), "late", "/w", 9);
    write(&directory.join("c.jsonl"), "middle", "/w", 5);
    check(agent.path(), &of("/w"), "late middle early");
    let recent = store(agent.path()).most_recent("/w", None).unwrap().unwrap();
    assert_eq!(recent.file_name().unwrap(), "b.jsonl");
    assert_eq!(store(agent.path()).most_recent("/elsewhere", None).unwrap(), None);

    let summary = store(agent.path()).list(&of("/w")).unwrap().sessions.remove(0);
    let path = fs::canonicalize(directory.join("b.jsonl")).unwrap();
    let expected = SessionSummary {
        path,
        session_id: "late".to_owned(),
        cwd: "/w".to_owned(),
        name: Some("named".to_owned()),
        parent_session: None,
        created: "2026-01-01T00:00:00.000Z".to_owned(),
        modified: 1_767_225_609_000,
        message_count: 2,
        first_message: "hello".to_owned(),
    };
    assert_eq!(summary, expected);
}

#[test]
fn the_header_says_where_a_session_belongs() {
    let agent = tempfile::tempdir().unwrap();
    let directory = agent.path().join("sessions/--a-b--");
    write(&directory.join("1.jsonl"), "slash", "/a/b", 1);
    write(&directory.join("2.jsonl"), "dash", "/a-b", 2);
    write(&agent.path().join("sessions/--c--/3.jsonl"), "c", "/c", 3);
    check(agent.path(), &of("/a/b"), "slash");
    check(agent.path(), &of("/a-b"), "dash");
    check(agent.path(), &ListOptions { all: true, ..of("/a-b") }, "c dash slash");
    let flat = |all| ListOptions { session_dir: Some(directory.clone()), all, ..of("/a/b") };
    check(agent.path(), &flat(false), "slash");
    check(agent.path(), &flat(true), "dash slash");
    check(agent.path(), &ListOptions { session_dir: Some(PathBuf::from("/nonexistent")), ..of("/a") }, "");
}

#[test]
fn what_is_no_session_is_passed_over() {
    let agent = tempfile::tempdir().unwrap();
    let directory = agent.path().join("sessions/--w--");
    write(&directory.join("a.jsonl"), "good", "/w", 1);
    fs::write(directory.join("b.jsonl"), "{\"type\":\"message\"}\n").unwrap();
    fs::write(directory.join("c.jsonl"), "").unwrap();
    fs::write(directory.join("d.jsonl"), b"\xff\xfe\x00").unwrap();
    fs::write(directory.join("e.txt"), HEADER).unwrap();
    fs::write(directory.join("a.jsonl.v1.bak"), HEADER).unwrap();
    fs::create_dir(directory.join("f.jsonl")).unwrap();
    check(agent.path(), &of("/w"), "good");
}

#[test]
fn sessions_without_messages_are_dated_by_their_header() {
    let agent = tempfile::tempdir().unwrap();
    let directory = agent.path().join("sessions/--w--");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("a.jsonl"), HEADER).unwrap();
    let page = store(agent.path()).list(&of("/w")).unwrap();
    assert_eq!((page.sessions[0].modified, page.sessions[0].message_count), (1_767_225_600_000, 0));
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_lead_to_one_session_each() {
    use std::os::unix::fs::symlink;
    let agent = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    write(&elsewhere.path().join("a.jsonl"), "linked", "/w", 1);
    fs::create_dir_all(agent.path().join("sessions")).unwrap();
    symlink(elsewhere.path(), agent.path().join("sessions/--w--")).unwrap();
    symlink(elsewhere.path(), agent.path().join("sessions/again")).unwrap();
    symlink(agent.path().join("sessions"), elsewhere.path().join("loop")).unwrap();
    symlink("a.jsonl", elsewhere.path().join("b.jsonl")).unwrap();
    symlink("nowhere", elsewhere.path().join("c.jsonl")).unwrap();
    check(agent.path(), &of("/w"), "linked");
    check(agent.path(), &ListOptions { all: true, ..of("/w") }, "linked");
    let real = tempfile::tempdir().unwrap();
    let alias = elsewhere.path().join("alias");
    symlink(real.path(), &alias).unwrap();
    write(&elsewhere.path().join("d.jsonl"), "alias", alias.to_str().unwrap(), 2);
    let flat = ListOptions { session_dir: Some(elsewhere.path().to_owned()), ..of(real.path().to_str().unwrap()) };
    check(agent.path(), &flat, "alias");
}

#[test]
fn pages_hold_together_while_sessions_come_and_go() {
    let agent = tempfile::tempdir().unwrap();
    let directory = agent.path().join("sessions/--w--");
    for n in 0..7 {
        write(&directory.join(format!("{n}.jsonl")), &format!("s{n}"), "/w", n / 2);
    }
    let mut options = ListOptions { limit: Some(3), ..of("/w") };
    let mut seen = Vec::new();
    loop {
        let page = store(agent.path()).list(&options).unwrap();
        seen.push(ids(&page.sessions));
        let Some(next) = page.next else { break };
        fs::remove_file(&next.path).unwrap();
        write(&directory.join("new.jsonl"), "new", "/w", 100);
        options.cursor = Some(next);
    }
    assert_eq!(seen, ["s6 s4 s5", "s2 s3 s0", "s1"]);
}
