//! A disk that is full: a small file system in a mount namespace of its own.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use compactd_tests::faults::peer::Peer;
use serde_json::{Value, json};

/// Set for the child process that has the namespace.
const MOUNTED: &str = "COMPACTD_TEST_SMALL_DISK";

/// Runs this test again in a namespace where a small disk can be mounted.
#[test]
fn a_full_disk_changes_nothing() {
    if let Some(home) = std::env::var_os(MOUNTED) {
        return on_a_full_disk(Path::new(&home));
    }
    let home = tempfile::tempdir().expect("there is room");
    let script =
        "mount -t tmpfs -o size=256k none \"$HOME\" || exit 77; exec \"$0\" --exact disk::a_full_disk_changes_nothing";
    let own = std::env::current_exe().expect("a test has a path");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(own);
    let Ok(output) = command.env("HOME", home.path()).env(MOUNTED, home.path()).output() else {
        return skipped("there is no unshare");
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if output.status.code() == Some(77) || text.contains("unshare:") {
        return skipped(&text);
    }
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn skipped(why: &str) {
    let _nobody_to_tell = writeln!(std::io::stderr(), "skipped: no small disk can be mounted: {why}");
}

fn on_a_full_disk(home: &Path) {
    for durability in ["none", "always"] {
        for left in [0, 1, 2, 3, 5, 8] {
            let [session, old] = ["s.jsonl", "old.jsonl"].map(|name| home.join(name));
            fs::write(&session, file(3)).expect("there is room");
            fs::write(&old, file(1)).expect("there is room");
            let mut peer = Peer::start(home, durability).expect("the server starts");
            check(&mut peer, home, &session, left);
            check(&mut peer, home, &old, left);
            peer.shut_down().expect("the server ends well");
            fs::read_dir(home).expect("the disk is there").for_each(|entry| {
                let _a_directory_stays = fs::remove_file(entry.expect("a name can be read").path());
            });
        }
    }
}

/// Asks for all that writes while `left` pages are free, then again when there is room.
fn check(peer: &mut Peer, home: &Path, path: &Path, left: usize) {
    let filler = fill(home, left);
    let before = fs::read(path).expect("the session is there");
    let opened = peer.call("openSession", &json!({ "path": path })).expect("opening needs no room");
    let session = opened["sessionId"].clone();
    let leaf = opened["leafId"].clone();
    let large = json!({ "role": "user", "content": "x".repeat(60_000), "timestamp": 1 });
    let names_before = sessions(home);
    for _ in 0..2 {
        must_fail(peer, "appendMessage", json!({ "sessionId": session, "message": large }));
        assert!(is_unchanged(path, &before), "{left} pages free");
    }
    if left == 0 {
        must_fail(peer, "forkSession", json!({ "sessionId": session, "entryId": leaf, "position": "at" }));
        must_fail(peer, "createSession", json!({ "path": home.join("new.jsonl") }));
    }
    assert_eq!(sessions(home), names_before, "no fork and no session is left half made");
    let context = peer.call("getContext", &json!({ "sessionId": session })).expect("reading needs no room");
    assert_eq!(context["leafId"], leaf);
    fs::remove_file(filler).expect("the filler is there");
    let again = peer.call("appendMessage", &json!({ "sessionId": session, "message": large })).expect("there is room");
    let entry = json!({ "sessionId": session, "entryId": again["entryId"] });
    let entry = peer.call("getEntry", &entry).expect("what was acknowledged is there");
    assert_eq!(entry["entry"]["parentId"], leaf);
    peer.call("closeSession", &json!({ "sessionId": session })).expect("the session closes");
    fs::remove_file(path).expect("the session is there");
}

/// A session of an older version may have been rewritten before there was no more room; then the
/// old file lies beside it.
fn is_unchanged(path: &Path, before: &[u8]) -> bool {
    let backup = path.with_file_name("old.jsonl.v1.bak");
    let is_there = |path: &Path| fs::read(path).is_ok_and(|bytes| bytes == before);
    is_there(path) || (path.ends_with("old.jsonl") && is_there(&backup))
}

fn must_fail(peer: &mut Peer, method: &str, params: Value) {
    let (kind, error) = peer.refused(method, &params).expect("the disk is full");
    assert_eq!((kind.as_str(), &error["code"]), ("writeFailed", &json!(1005)), "{method}: {error}");
}

/// Fills the disk but for some pages.
fn fill(home: &Path, left: usize) -> std::path::PathBuf {
    let path = home.join("filler");
    let mut file = fs::File::create(&path).expect("a file can be made");
    let mut pages = 0;
    while file.write_all(&[0; 4096]).is_ok() {
        pages += 1;
    }
    let kept = 4096 * (pages - left.min(pages)) as u64;
    file.set_len(kept).expect("a file can be cut");
    path
}

fn sessions(home: &Path) -> usize {
    let names = fs::read_dir(home).expect("the disk is there").map(|entry| entry.expect("a name can be read").path());
    names.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).count()
}

fn file(version: u32) -> String {
    let id = format!("full-{version}");
    let mut header = json!({ "type": "session", "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w" });
    let mut entry = json!({ "type": "message", "timestamp": "2026-01-01T00:00:00.000Z", "message": { "role": "user", "content": "y".repeat(3000) } });
    if version == 3 {
        header["version"] = json!(3);
        (entry["id"], entry["parentId"]) = (json!("a"), Value::Null);
    }
    format!("{header}\n{entry}\n")
}
