//! Lists of sessions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::HEADER;
use session_store::{
    CreateOptions, Durability, FileStore, ListOptions, Locator, SearchOptions, SearchQuery, SessionStore,
    SessionSummary,
};

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
    assert_eq!(recent.name().unwrap(), "b.jsonl");
    assert_eq!(store(agent.path()).most_recent("/elsewhere", None).unwrap(), None);

    let summary = store(agent.path()).list(&of("/w")).unwrap().sessions.remove(0);
    let locator = Locator::from(fs::canonicalize(directory.join("b.jsonl")).unwrap());
    let expected = SessionSummary {
        locator,
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
    let flat = |all| ListOptions { session_dir: Some(Locator::from(&directory)), all, ..of("/a/b") };
    check(agent.path(), &flat(false), "slash");
    check(agent.path(), &flat(true), "dash slash");
    check(
        agent.path(),
        &ListOptions { session_dir: Some(Locator::from(&PathBuf::from("/nonexistent"))), ..of("/a") },
        "",
    );
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
    let flat = ListOptions { session_dir: Some(Locator::from(&elsewhere.path())), ..of(real.path().to_str().unwrap()) };
    check(agent.path(), &flat, "alias");
}

#[test]
fn a_directory_has_the_sessions_of_its_link_and_of_its_real_path() {
    use std::os::unix::fs::symlink;
    let (agent, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let base = work.path().canonicalize().unwrap();
    fs::create_dir(base.join("real")).unwrap();
    symlink("real", base.join("link")).unwrap();
    let [real, link] = ["real", "link"].map(|name| base.join(name).to_str().unwrap().to_owned());
    for (cwd, id, second) in [(&real, "real", 1), (&link, "link", 2)] {
        let directory = agent.path().join("sessions").join(format!("-{}--", cwd.replace('/', "-")));
        write(&directory.join("a.jsonl"), id, cwd, second);
    }
    check(agent.path(), &of(&link), "link real");
    check(agent.path(), &of(&real), "real");
    check(agent.path(), &ListOptions { all: true, ..of(&real) }, "link real");
}

/// Only a session that was made here tells the name of its link: pi's do not.
#[test]
fn a_session_that_was_made_under_a_link_is_found_from_the_real_path() {
    use std::os::unix::fs::symlink;
    let (agent, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let base = work.path().canonicalize().unwrap();
    fs::create_dir(base.join("real")).unwrap();
    fs::create_dir(base.join("other")).unwrap();
    symlink("real", base.join("link")).unwrap();
    symlink("real", base.join("second")).unwrap();
    let [real, link, second, other] =
        ["real", "link", "second", "other"].map(|name| base.join(name).to_str().unwrap().to_owned());
    let sessions = agent.path().join("sessions");
    let directory = |cwd: &str| sessions.join(format!("-{}--", cwd.replace('/', "-")));
    let links = directory(&real).join("links");
    let make = |cwd: &str, id: &str| {
        let options = CreateOptions { cwd: cwd.to_owned(), id: Some(id.to_owned()), ..CreateOptions::default() };
        store(agent.path()).create(&options).unwrap().close().unwrap();
    };
    let listed = |cwd: &str| {
        let mut found: Vec<String> =
            store(agent.path()).list(&of(cwd)).unwrap().sessions.into_iter().map(|one| one.session_id).collect();
        found.sort();
        found.join(" ")
    };
    make(&real, "real");
    assert!(!links.exists());
    make(&link, "link1");
    make(&link, "link2");
    make(&second, "second");
    assert_eq!(
        [&real, &link, &second, &other].map(|cwd| listed(cwd)),
        ["link1 link2 real second", "link1 link2 real second", "link1 link2 real second", ""]
    );
    let noted = fs::read_to_string(&links).unwrap();
    assert_eq!(noted.lines().filter(|line| line.contains("link")).count(), 1, "{noted}");
    // The header is asked all the same: the link can lead elsewhere later.
    fs::remove_file(base.join("second")).unwrap();
    symlink("other", base.join("second")).unwrap();
    assert_eq!(listed(&real), "link1 link2 real");
    // A name that was written in part, and names that lead elsewhere, are passed over.
    fs::write(&links, "--half-a-na\n../--x--\n--/etc--\n--").unwrap();
    assert_eq!(listed(&real), "real");
    make(&link, "link3");
    assert_eq!(listed(&real), "link1 link2 link3 real");
    // A file that cannot be read or grow stops nothing.
    fs::write(&links, "x".repeat(70_000)).unwrap();
    make(&link, "link4");
    assert_eq!(listed(&real), "real");
    // What lies in its place is neither followed nor waited for.
    let elsewhere = base.join("elsewhere");
    fs::remove_file(&links).unwrap();
    symlink(&elsewhere, &links).unwrap();
    make(&link, "link5");
    assert!(!elsewhere.exists());
    fs::remove_file(&links).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&links).status().unwrap().success());
    make(&link, "link6");
    assert_eq!(listed(&real), "real");
}

#[test]
#[cfg(target_os = "linux")]
fn a_path_that_is_not_utf8_is_left_out() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let agent = tempfile::tempdir().unwrap();
    let directory = agent.path().join("sessions/--w--");
    write(&directory.join("a.jsonl"), "named", "/w", 1);
    write(&directory.join(OsStr::from_bytes(b"b\xff.jsonl")), "odd", "/w", 2);
    check(agent.path(), &of("/w"), "named");
    check(agent.path(), &ListOptions { all: true, ..of("/w") }, "named");
    let options = SearchOptions { limit: 9, ..SearchOptions::default() };
    let found = store(agent.path()).search(&SearchQuery::parse("hello").unwrap(), &options, &|| false).unwrap();
    assert_eq!(found.hits.len(), 1);
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
        fs::remove_file(next.locator.as_path()).unwrap();
        write(&directory.join("new.jsonl"), "new", "/w", 100);
        options.cursor = Some(next);
    }
    assert_eq!(seen, ["s6 s4 s5", "s2 s3 s0", "s1"]);
}

/// A message of `role` at `second` as one line with its LF.
fn message(role: &str, text: &str, second: u64) -> String {
    let time = 1_767_225_600_000 + second * 1000;
    format!(
        r#"{{"type":"message","id":"x","parentId":null,"message":{{"role":"{role}","content":"{text}","timestamp":{time}}}}}"#
    ) + "\n"
}

#[track_caller]
fn check_summary(bytes: &[u8], expected: Option<(usize, i64, &str, Option<&str>)>) {
    let agent = tempfile::tempdir().unwrap();
    fs::write(agent.path().join("s.jsonl"), bytes).unwrap();
    let options = ListOptions { session_dir: Some(Locator::from(&agent.path())), all: true, ..ListOptions::default() };
    let page = store(agent.path()).list(&options).unwrap();
    let found = page.sessions.first();
    let found = found.map(|summary| {
        let second = (summary.modified - 1_767_225_600_000) / 1000;
        (summary.message_count, second, summary.first_message.as_str(), summary.name.as_deref())
    });
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(&bytes[..bytes.len().min(400)]));
}

#[test]
fn odd_files_are_counted_as_they_are() {
    let (hello, answer) = (message("user", "hello", 1), message("assistant", "hi", 9));
    let with = |rest: &str| format!("{HEADER}\n{rest}").into_bytes();
    check_summary(&with(&format!("{hello}{answer}")), Some((2, 9, "hello", None)));
    // A torn line is no message, one that only lacks its LF is.
    check_summary(&with(&format!("{hello}{}", &answer[..answer.len() - 9])), Some((1, 1, "hello", None)));
    check_summary(&with(&format!("{hello}{}", answer.trim_end())), Some((2, 9, "hello", None)));
    check_summary(&with(&format!("{hello}{}", answer.replace('\n', "\r\n"))), Some((2, 9, "hello", None)));
    check_summary(&with(&format!("\n\nbroken\n{hello}\n\n{HEADER}\n")), Some((1, 1, "hello", None)));
    check_summary(format!("\n{{\"brok\n{HEADER}\n{hello}").as_bytes(), Some((1, 1, "hello", None)));
    check_summary(&[&with("")[..], b"\xff\xfe\x00\n", hello.as_bytes()].concat(), Some((1, 1, "hello", None)));
    check_summary(b"{\"type\":\"message\"}\n", None);
    check_summary(b"", None);
    check_summary(b"\n\n", None);
    // Only people and models count as activity, and the last name in the file counts.
    let names = "{\"type\":\"session_info\",\"name\":\"a\"}\n{\"type\":\"session_info\",\"name\":\"b\"}\n";
    let result = message("toolResult", "x", 50);
    check_summary(&with(&format!("{names}{hello}{result}")), Some((2, 1, "hello", Some("b"))));
    let cleared = "{\"type\":\"session_info\"}\n";
    check_summary(&with(&format!("{names}{hello}{cleared}")), Some((1, 1, "hello", None)));
    // Version 1 has no ids.
    let v1 = r#"{"type":"session","id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    check_summary(format!("{v1}\n{hello}{answer}").as_bytes(), Some((2, 9, "hello", None)));
}

#[test]
fn lines_of_any_length_are_read() {
    let huge = HEADER.replace("\"/w\"", &format!("\"/w\",\"x\":\"{}\"", "y\\n".repeat(1 << 18)));
    for length in [0, 1, 1 << 10, (1 << 18) - 200, 1 << 18, (1 << 18) + 1, 3 << 20] {
        let long = message("assistant", &"a".repeat(length), 3);
        let file = format!("{huge}\n{}{long}{long}{}", message("user", "first", 1), message("assistant", "end", 7));
        check_summary(file.as_bytes(), Some((4, 7, "first", None)));
    }
}

#[test]
fn what_is_known_of_a_file_ends_with_the_file() {
    let agent = tempfile::tempdir().unwrap();
    let directory = agent.path().join("sessions/--w--");
    fs::create_dir_all(&directory).unwrap();
    let path = |name: &str| directory.join(format!("{name}.jsonl"));
    let names = ["same-length", "grown", "regrown", "cut", "torn", "replaced", "gone", "large"];
    let padding = message("assistant", &"a".repeat(5 << 20), 2);
    for name in names {
        let more = if name == "large" { padding.clone() } else { message("assistant", "hi", 2) };
        let text = format!("{}\n{}{more}", HEADER.replace("s-1", name), message("user", "aaaa", 1));
        fs::write(path(name), if name == "torn" { text.trim_end() } else { &text }).unwrap();
    }
    let kept = store(agent.path());
    assert_eq!(kept.list(&of("/w")).unwrap().sessions.len(), names.len());
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let settled = kept.list(&of("/w")).unwrap();

    // The next process believes the file of the cache where the sessions have not changed.
    let cache = agent.path().join("cache/compactd-sessions.json");
    let text = fs::read_to_string(&cache).unwrap();
    fs::write(&cache, text.replace("aaaa", "from the cache")).unwrap();
    let next = store(agent.path());
    assert!(next.list(&of("/w")).unwrap().sessions.iter().all(|summary| summary.first_message == "from the cache"));

    let append = |name: &str, text: &str| {
        let mut file = fs::File::options().append(true).open(path(name)).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    };
    let rewrite = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(path(name)).unwrap();
        fs::write(path(name), text.replace(from, to)).unwrap();
    };
    rewrite("same-length", "aaaa", "bbbb");
    append("grown", &message("assistant", "more", 20));
    rewrite("regrown", "aaaa", "bbbb");
    rewrite("regrown", "\"hi\"", "\"another\"");
    append("regrown", &message("assistant", "more", 21));
    fs::File::options().write(true).open(path("cut")).unwrap().set_len(HEADER.len() as u64 + 5).unwrap();
    append("torn", &format!("{{}}\n{}", message("assistant", "more", 22)));
    let beside = directory.join("beside");
    fs::write(&beside, fs::read_to_string(path("replaced")).unwrap().replace("aaaa", "cccc")).unwrap();
    fs::rename(&beside, path("replaced")).unwrap();
    fs::remove_file(path("gone")).unwrap();

    let fresh = tempfile::tempdir().unwrap();
    let reference =
        store(fresh.path()).list(&ListOptions { session_dir: Some(Locator::from(&directory)), ..of("/w") }).unwrap();
    for known in [&kept, &next] {
        let mut found = known.list(&of("/w")).unwrap();
        for summary in &mut found.sessions {
            let is_untouched = summary.session_id == "large" || summary.session_id == "grown";
            if is_untouched && summary.first_message == "from the cache" {
                summary.first_message = "aaaa".to_owned();
            }
        }
        assert_eq!(found, reference);
    }
    assert_ne!(settled, reference);

    for broken in ["", "{", "[]", r#"{"form":2,"files":[{"path":"x"}]}"#, r#"{"form":9,"files":[]}"#] {
        fs::write(&cache, broken).unwrap();
        assert_eq!(store(agent.path()).list(&of("/w")).unwrap(), reference, "{broken}");
    }
    fs::remove_file(&cache).unwrap();
    assert_eq!(store(agent.path()).list(&of("/w")).unwrap(), reference);
    let beside: Vec<_> =
        fs::read_dir(agent.path().join("cache")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(beside, ["compactd-sessions.json"]);
}

#[test]
fn a_list_that_is_cancelled_ends_and_is_not_remembered() {
    let agent_dir = tempfile::tempdir().unwrap();
    for number in 0..20 {
        write(&agent_dir.path().join(format!("sessions/x/{number}.jsonl")), &format!("s{number}"), "/w", number);
    }
    let store = store(agent_dir.path());
    let options = ListOptions { all: true, ..ListOptions::default() };
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let is_cancelled = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 5;
    let page = store.list_unless(&options, &is_cancelled).unwrap();
    assert!(page.sessions.len() < 20, "{}", page.sessions.len());
    assert_eq!(store.list(&options).unwrap().sessions.len(), 20);
}
