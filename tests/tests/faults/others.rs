//! Other programs on the same file: servers, appenders without locks, and those that replace files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use compactd_tests::faults::peer::Peer;
use serde_json::{Value, json};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("there is room"));
        fs::write(home.path(), home.text()).expect("there is room");
        home
    }

    fn text(&self) -> String {
        let header = json!({ "type": "session", "version": 3, "id": "shared", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w" });
        format!("{header}\n{}\n", foreign("a", "null"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("s.jsonl")
    }

    fn peer(&self) -> Peer {
        Peer::start(self.0.path(), "checkpoint").expect("the server starts")
    }
}

fn foreign(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"theirs"}}}}"#
    )
}

fn open(peer: &mut Peer, path: &Path) -> Value {
    peer.call("openSession", &json!({ "path": path })).expect("the session opens")
}

fn say(peer: &mut Peer, text: &str) -> Result<Value, Value> {
    let message = json!({ "role": "user", "content": text, "timestamp": 1 });
    let id =
        peer.send("appendMessage", &json!({ "sessionId": "shared", "message": message })).expect("the server reads");
    peer.answer(id).expect("the server answers")
}

/// A process that appends lines without asking anybody.
fn appender(path: &Path, count: usize) -> Child {
    let script = r#"i=0; while [ $i -lt $2 ]; do
        printf '{"type":"message","id":"f%d","parentId":"a","timestamp":"T","message":{"role":"user","content":"theirs"}}\n' $i >> "$1"
        i=$((i+1)); done"#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(path).arg(count.to_string()).spawn().expect("there is a shell")
}

#[test]
fn a_second_server_reads_until_the_first_is_killed() {
    let home = Home::new();
    let (mut first, mut second) = (home.peer(), home.peer());
    open(&mut first, &home.path());
    let (kind, error) = second.refused("openSession", &json!({ "path": home.path() })).expect("it is locked");
    assert_eq!((kind.as_str(), error["code"].as_i64()), ("sessionLocked", Some(1003)));
    assert!(error["data"]["pid"].is_u64() && error["data"]["host"].is_string(), "{error}");
    let read = json!({ "path": home.path(), "readOnly": true });
    assert_eq!(second.call("openSession", &read).expect("reading needs no lock")["readOnly"], true);
    let own = say(&mut first, "from the first").expect("the holder writes")["entryId"].clone();
    let context = second.call("getContext", &json!({ "sessionId": "shared" })).expect("the reader reads");
    assert_eq!(context["leafId"], own);
    let refused = say(&mut second, "from the second").expect_err("a reader does not write");
    assert_eq!(refused["data"]["kind"], "readOnly");
    first.kill().expect("the first can be killed");
    assert_eq!(open(&mut second, &home.path())["readOnly"], false, "a holder that died frees the session");
    say(&mut second, "from the second").expect("the second holds it now");
}

#[test]
fn no_line_is_lost_beside_a_program_that_takes_no_lock() {
    let home = Home::new();
    let mut peer = home.peer();
    open(&mut peer, &home.path());
    let mut other = appender(&home.path(), 300);
    let mut own = Vec::new();
    while other.try_wait().expect("the appender can be asked").is_none() || own.len() < 50 {
        own.push(say(&mut peer, "ours").expect("appends go on")["entryId"].as_str().unwrap_or_default().to_owned());
    }
    own.push(say(&mut peer, "the last").expect("appends go on")["entryId"].as_str().unwrap_or_default().to_owned());
    let mut reported = peer.foreign.clone();
    reported.sort();
    let mut theirs: Vec<String> = (0..300).map(|n| format!("f{n}")).collect();
    theirs.sort();
    assert_eq!(reported, theirs, "sessionChanged names each entry of others once");
    let text = fs::read_to_string(home.path()).expect("the session is there");
    for id in own.iter().chain(&theirs) {
        assert_eq!(text.matches(&format!("\"id\":\"{id}\"")).count(), 1, "{id}");
    }
    assert_eq!(text.lines().count(), 2 + own.len() + theirs.len());
    let found = peer.call("checkSession", &json!({ "sessionId": "shared" })).expect("the session can be checked");
    assert_eq!(found["diagnostics"], json!([]));
}

#[test]
fn a_file_that_is_replaced_is_read_and_locked_anew() {
    let home = Home::new();
    let (mut first, mut second) = (home.peer(), home.peer());
    open(&mut first, &home.path());
    let new = home.path().with_file_name("new");
    fs::write(&new, format!("{}{}\n", home.text(), foreign("b", "\"a\""))).expect("there is room");
    fs::rename(&new, home.path()).expect("files can be renamed");
    let own = say(&mut first, "ours").expect("the session goes on in the new file")["entryId"].clone();
    assert_eq!(first.foreign, ["b"]);
    let entry = first.call("getEntry", &json!({ "sessionId": "shared", "entryId": own })).expect("it was written");
    assert_eq!(entry["entry"]["parentId"], "b");
    let (kind, _) = second.refused("openSession", &json!({ "path": home.path() })).expect("the new file is locked");
    assert_eq!(kind, "sessionLocked");
}

#[test]
fn a_file_that_is_cut_or_gone_is_reported_and_not_made_worse() {
    let home = Home::new();
    let mut peer = home.peer();
    open(&mut peer, &home.path());
    say(&mut peer, "ours").expect("appends go");
    fs::write(home.path(), home.text()).expect("files can be rewritten");
    let own = say(&mut peer, "ours again").expect("the session goes on from what is left");
    let entry =
        peer.call("getEntry", &json!({ "sessionId": "shared", "entryId": own["entryId"] })).expect("it is there");
    assert_eq!(entry["entry"]["parentId"], "a");
    fs::remove_file(home.path()).expect("files can be deleted");
    for _ in 0..2 {
        let refused = say(&mut peer, "nowhere").expect_err("there is no file to write to");
        assert_eq!(refused["data"]["kind"], "sessionNotFound", "{refused}");
        assert!(!home.path().exists(), "nobody makes a file without a history");
    }
    fs::write(home.path(), "").expect("there is room");
    let refused = say(&mut peer, "nowhere").expect_err("an empty file is not this session");
    assert_eq!(refused["data"]["kind"], "notASession", "{refused}");
    peer.call("closeSession", &json!({ "sessionId": "shared" })).expect("what is gone can be closed");
}

#[cfg(unix)]
#[test]
fn a_path_that_leads_nowhere_takes_no_append() {
    type Spoil = fn(&Path);
    let in_a_circle: Spoil = |path| {
        fs::rename(path, path.with_extension("old")).expect("files can be renamed");
        std::os::unix::fs::symlink(path, path).expect("links can be made");
    };
    let through_a_file: Spoil = |path| {
        let directory = path.parent().expect("it is in a directory");
        fs::rename(directory, directory.with_extension("old")).expect("directories can be renamed");
        fs::write(directory, "").expect("there is room");
    };
    for (spoil, old) in [(in_a_circle, "d/s.old"), (through_a_file, "d.old/s.jsonl")] {
        let home = Home::new();
        let directory = home.path().with_file_name("d");
        fs::create_dir(&directory).expect("directories can be made");
        let path = directory.join("s.jsonl");
        fs::write(&path, home.text()).expect("there is room");
        let mut peer = home.peer();
        open(&mut peer, &path);
        spoil(&path);
        for _ in 0..2 {
            let refused = say(&mut peer, "nowhere").expect_err("there is no file to write to");
            assert_eq!(refused["data"]["kind"], "sessionNotFound", "{refused}");
        }
        let (kind, _) = peer.refused("openSession", &json!({ "path": path })).expect("nothing is there");
        assert_eq!(kind, "sessionNotFound");
        let left = fs::read_to_string(home.path().with_file_name(old)).expect("the old file is there");
        assert_eq!(left, home.text(), "what was written to it is taken back");
    }
}

#[test]
fn a_large_file_that_is_cut_in_place_can_be_read() {
    let home = Home::new();
    let padding = "x".repeat(3 << 20);
    let large = home.text() + &foreign("b", "\"a\"").replace("theirs", &padding) + "\n";
    fs::write(home.path(), format!("{large}{}\n", foreign("c", "\"b\""))).expect("there is room");
    let mut peer = home.peer();
    open(&mut peer, &home.path());
    let file = fs::File::options().write(true).open(home.path()).expect("it is there");
    file.set_len(large.len() as u64).expect("files can be cut");
    let session = json!({ "sessionId": "shared" });
    let tree = peer.call("getTree", &session).expect("what is left can be read");
    let nodes = tree["nodes"].as_array().expect("a tree has nodes");
    assert_eq!(nodes.iter().map(|node| &node["id"]).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(peer.call("getContext", &session).expect("so can the context")["leafId"], "b");
}

/// As many reads as may work at once find that they must read the session anew, and a change is in line.
#[test]
fn reads_of_a_file_that_was_cut_leave_room_for_what_they_wait_for() {
    let home = Home::new();
    let mut peer = home.peer();
    open(&mut peer, &home.path());
    for round in 0..20 {
        say(&mut peer, "goes").expect("the session is whole");
        fs::File::options()
            .write(true)
            .open(home.path())
            .expect("it is there")
            .set_len(home.text().len() as u64)
            .expect("it is cut");
        let read = json!({ "sessionId": "shared" });
        let label = json!({ "sessionId": "shared", "targetId": "a", "label": round.to_string() });
        let mut calls: Vec<u64> = (0..12).map(|_| peer.send("getTree", &read).expect("the server reads")).collect();
        calls.push(peer.send("setLabel", &label).expect("the server reads"));
        calls.extend((0..4).map(|_| peer.send("getTree", &read).expect("the server reads")));
        for id in calls {
            peer.answer(id).expect("the server answers").expect("there is a session");
        }
    }
}

#[test]
fn a_link_leads_to_the_session_that_is_open() {
    let home = Home::new();
    let link = home.path().with_file_name("link.jsonl");
    std::os::unix::fs::symlink(home.path(), &link).expect("links can be made");
    let (mut first, mut second) = (home.peer(), home.peer());
    let by_link = open(&mut first, &link);
    let by_target = open(&mut first, &home.path());
    assert_eq!((&by_link["sessionId"], &by_link["path"]), (&by_target["sessionId"], &by_target["path"]));
    let (kind, _) = second.refused("openSession", &json!({ "path": link })).expect("it is locked");
    assert_eq!(kind, "sessionLocked");
    fs::copy(home.path(), home.path().with_file_name("copy.jsonl")).expect("there is room");
    let copy = json!({ "path": home.path().with_file_name("copy.jsonl") });
    let (kind, error) = first.refused("openSession", &copy).expect("two files have one id");
    assert_eq!((kind.as_str(), &error["data"]["path"]), ("sessionIdInUse", &by_link["path"]));
}

#[test]
fn a_holder_that_cannot_leave_its_name_holds_the_lock_all_the_same() {
    let home = Home::new();
    // As in a directory that cannot be written, also for a user who may write everything.
    fs::create_dir(home.path().with_file_name("s.jsonl.lock")).expect("there is room");
    let (mut first, mut second) = (home.peer(), home.peer());
    assert_eq!(open(&mut first, &home.path())["readOnly"], false);
    say(&mut first, "ours").expect("the holder writes");
    let (kind, error) = second.refused("openSession", &json!({ "path": home.path() })).expect("it is locked");
    assert_eq!((kind.as_str(), &error["data"]["pid"]), ("sessionLocked", &Value::Null), "{error}");
    first.shut_down().expect("the first ends well");
    say_after_open(&mut second, &home.path());
}

fn say_after_open(peer: &mut Peer, path: &Path) {
    open(peer, path);
    say(peer, "ours").expect("the session is free");
}
