//! A server that may open only a few files at once.

use std::fs;
use std::process::Command;

use compactd_tests::binary::binary;
use compactd_tests::faults::peer::Peer;
use serde_json::json;

/// Files that the server may have open, its own pipes among them.
const HANDLES: usize = 48;

#[test]
fn sessions_beyond_the_limit_of_open_files_are_refused_until_one_is_closed() {
    let home = tempfile::tempdir().expect("there is room");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {HANDLES}; exec \"$0\"")]).arg(binary().expect("the server is built"));
    let mut peer = Peer::start_as(command, home.path(), "checkpoint").expect("the server starts");
    let mut open = Vec::new();
    let (path, kind, error) = loop {
        let id = format!("s-{}", open.len());
        let path = home.path().join(format!("{id}.jsonl"));
        let header =
            json!({ "type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w" });
        fs::write(&path, format!("{header}\n")).expect("there is room");
        let request = peer.send("openSession", &json!({ "path": path })).expect("the server reads");
        match peer.answer(request).expect("the server answers") {
            Ok(opened) => open.push(opened["sessionId"].clone()),
            Err(error) => break (path, error["data"]["kind"].clone(), error),
        }
        assert!(open.len() < HANDLES, "{HANDLES} handles cannot hold {} sessions", open.len());
    };
    assert_eq!((kind.as_str(), error["code"].as_i64()), (Some("readFailed"), Some(1010)), "{error}");
    let data = &error["data"];
    assert_eq!(
        (&data["path"], &data["reason"], &data["retryable"]),
        (&json!(path), &json!("readFailed"), &json!(true))
    );
    let message = json!({ "role": "user", "content": "goes on", "timestamp": 1 });
    let first = open.first().expect("some sessions fit");
    peer.call("appendMessage", &json!({ "sessionId": first, "message": message })).expect("open sessions are served");
    peer.call("closeSession", &json!({ "sessionId": first })).expect("a session can be closed");
    peer.call("openSession", &json!({ "path": path })).expect("there is a handle for it now");
}
