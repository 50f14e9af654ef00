//! The server over a store across a network: slow, breaking, shared with others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../session-store/tests/remote/mod.rs"]
#[expect(dead_code, reason = "the tests of the store need more of it")]
mod remote;

use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use remote::{Network, RemoteStore, Server};
use rpc_server::run::{Options, serve_store};
use serde_json::{Value, json};

/// The longest that a reply is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client of a server in this process.
struct Client {
    input: Option<PipeWriter>,
    messages: Receiver<Value>,
    notifications: Vec<Value>,
    replies: Vec<Value>,
    last_id: u64,
    server: Option<JoinHandle<ExitCode>>,
    _home: tempfile::TempDir,
}

impl Client {
    fn start(store: RemoteStore) -> Self {
        let ((input, to_server), (from_server, output)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        let options = Options { framing: None, max_message_bytes: 1 << 24 };
        let server = std::thread::spawn(move || serve_store(input, output, options, Some(Arc::new(store))).unwrap());
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from_server).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let home = tempfile::tempdir().unwrap();
        let hello = json!({
            "protocolVersion": 1, "clientInfo": { "name": "test" }, "cwd": "/w", "agentDir": home.path(),
        });
        let mut client = Self {
            input: Some(to_server),
            messages,
            notifications: Vec::new(),
            replies: Vec::new(),
            last_id: 0,
            server: Some(server),
            _home: home,
        };
        client.call("initialize", hello);
        client
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        writeln!(self.input.as_mut().unwrap(), "{request}").unwrap();
        self.last_id
    }

    fn receive(&mut self) {
        let message = self.messages.recv_timeout(PATIENCE).unwrap();
        if message.get("id").is_some() { self.replies.push(message) } else { self.notifications.push(message) }
    }

    fn reply(&mut self, id: u64) -> Value {
        loop {
            if let Some(at) = self.replies.iter().position(|reply| reply["id"] == id) {
                return self.replies.remove(at);
            }
            self.receive();
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut reply = self.reply(id);
        assert!(reply["error"].is_null(), "{method}: {reply}");
        reply["result"].take()
    }

    /// The kind and the message of the error that a call fails with.
    fn refused(&mut self, method: &str, params: Value) -> (String, String) {
        let id = self.send(method, params);
        let reply = self.reply(id);
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{method}: {reply}")).to_owned();
        (text(&reply["error"]["data"]["kind"]), text(&reply["error"]["message"]))
    }

    fn notification(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.notifications.iter().position(|message| message["method"] == method) {
                return self.notifications.remove(at)["params"].take();
            }
            self.receive();
        }
    }

    fn say(&mut self, session: &str, role: &str, text: &str) -> Value {
        let content = if role == "user" { json!(text) } else { json!([{ "type": "text", "text": text }]) };
        let message = json!({
            "role": role, "content": content, "provider": "p", "model": "m", "api": "a", "stopReason": "stop",
            "usage": {
                "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
            },
            "timestamp": 1,
        });
        self.call("appendMessage", json!({ "sessionId": session, "message": message }))
    }

    fn end(mut self) {
        self.call("shutdown", json!({}));
        writeln!(self.input.as_mut().unwrap(), r#"{{"jsonrpc":"2.0","method":"exit"}}"#).unwrap();
        assert_eq!(self.server.take().unwrap().join().unwrap(), ExitCode::SUCCESS);
    }
}

/// A server of sessions, and a client of a server of ours over it.
fn start(delay: Duration, loses_every: usize) -> (Arc<Server>, Arc<Network>, Client) {
    let (server, network) = (Arc::new(Server::default()), Network::new(delay, loses_every));
    let client = Client::start(RemoteStore::new(Arc::clone(&server), Arc::clone(&network)));
    (server, network, client)
}

fn id_of(opened: &Value) -> String {
    opened["sessionId"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_lives_through_calls_of_twenty_milliseconds_that_are_lost() {
    let (server, network, mut client) = start(Duration::from_millis(20), 5);
    let created = client.call("createSession", json!({ "path": "remote://s", "name": "mine" }));
    let session = id_of(&created);
    assert_eq!(created["path"], "remote://s");
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(200);
    for number in 0..6 {
        client.say(&session, "user", &format!("question {number} {long}"));
        client.say(&session, "assistant", &format!("answer {number} {long}"));
    }
    let settings = json!({ "compaction": { "keepRecentTokens": 5000 } });
    let compacted = client.call("compact", json!({ "sessionId": session, "settings": settings }));
    let context = client.call("getContext", json!({ "sessionId": session }));
    assert!(context["messages"].as_array().unwrap().len() < 12, "{context}");
    client.call("undoCompaction", json!({ "sessionId": session }));
    assert_eq!(
        client.call("getContext", json!({ "sessionId": session }))["messages"].as_array().unwrap().len(),
        12,
        "{compacted}"
    );

    let found = client.call("searchSession", json!({ "query": "question 3", "all": true }));
    let hit = &found["hits"][0];
    assert_eq!((&hit["path"], &hit["sessionId"]), (&json!("remote://s"), &json!(session)));
    let fork = client.call("forkSession", json!({ "sessionId": session, "entryId": hit["entryId"], "position": "at" }));
    assert!(fork["path"].as_str().unwrap().starts_with("remote://"), "{fork}");
    client.call("closeSession", json!({ "sessionId": session }));
    let listed = client.call("listSessions", json!({}));
    let named: Vec<_> = listed["sessions"].as_array().unwrap().iter().filter(|one| one["name"] == "mine").collect();
    // The fork has the name too, and may be as new.
    assert_eq!((listed["sessions"].as_array().unwrap().len(), named.len()), (2, 2));
    assert!(named.iter().any(|one| one["path"] == "remote://s"), "{listed}");
    let checked = client.call("checkSession", json!({ "path": "remote://s" }));
    assert_eq!(checked["diagnostics"], json!([]));
    let again = client.call("openSession", json!({ "path": "remote://s" }));
    assert_eq!(id_of(&again), session);
    let text = String::from_utf8(server.bytes("remote://s")).unwrap();
    for number in 0..6 {
        assert_eq!(
            text.matches(&format!("\"content\":\"question {number} ")).count(),
            1,
            "every message is there once"
        );
    }
    let (calls, lost) = network.calls();
    assert!(lost >= calls / 5 && lost > 10, "{lost} of {calls} calls were lost");
    client.end();
}

#[test]
fn what_a_store_does_not_take_or_have_is_refused() {
    let (_, _, mut client) = start(Duration::ZERO, 0);
    let (kind, message) = client.refused("openSession", json!({ "path": "/a/b.jsonl" }));
    assert_eq!((&*kind, &*message), ("invalidParams", "path: expected an address that begins with remote://"));
    let (kind, _) = client.refused("openSession", json!({ "path": "remote://none" }));
    assert_eq!(kind, "sessionNotFound");
    client.call("createSession", json!({ "path": "remote://s" }));
    let (kind, _) = client.refused("createSession", json!({ "path": "remote://s" }));
    assert_eq!(kind, "writeFailed");
    client.end();
}

#[test]
fn a_slow_call_never_keeps_others_waiting() {
    let (_, network, mut client) = start(Duration::ZERO, 0);
    let slow: Vec<_> = (0..12).map(|_| id_of(&client.call("createSession", json!({})))).collect();
    let quick = id_of(&client.call("createSession", json!({ "ephemeral": true })));
    network.set_delay(Duration::from_millis(400));
    let started = Instant::now();
    // More of them than calls may work at once.
    let message = json!({ "role": "user", "content": "slow", "timestamp": 1 });
    let append = |session: &String| json!({ "sessionId": session, "message": message });
    let mut waiting: Vec<_> = slow.iter().map(|session| client.send("appendMessage", append(session))).collect();
    waiting.push(client.send("listSessions", json!({ "all": true })));
    for number in 0..50 {
        client.say(&quick, "user", &number.to_string());
        client.call("getContext", json!({ "sessionId": quick }));
    }
    let quick_took = started.elapsed();
    assert!(client.replies.is_empty(), "the slow calls are under way");
    for id in waiting {
        assert!(client.reply(id)["error"].is_null());
    }
    let slow_took = started.elapsed();
    assert!(quick_took < slow_took / 2 && slow_took >= Duration::from_millis(800), "{quick_took:?}, {slow_took:?}");
    network.set_delay(Duration::ZERO);
    client.end();
}

#[test]
fn a_lost_lease_is_reported_and_the_session_is_opened_again() {
    let (server, _, mut client) = start(Duration::ZERO, 0);
    let session = id_of(&client.call("createSession", json!({ "path": "remote://s" })));
    client.say(&session, "user", "1");
    server.take_lease("remote://s");
    let message = json!({ "role": "user", "content": "2", "timestamp": 1 });
    for _ in 0..2 {
        let (kind, message) =
            client.refused("appendMessage", json!({ "sessionId": session, "message": message.clone() }));
        assert_eq!(kind, "readOnly", "{message}");
        assert!(message.contains("another client has taken the lease"), "{message}");
    }
    let (kind, _) = client.refused("openSession", json!({ "path": "remote://s" }));
    assert_eq!(kind, "sessionLocked");
    assert_eq!(client.call("getEntries", json!({ "sessionId": session }))["entries"].as_array().unwrap().len(), 1);
    server.free_lease("remote://s", u64::MAX);
    let opened = client.call("openSession", json!({ "path": "remote://s" }));
    assert_eq!((id_of(&opened), &opened["readOnly"]), (session.clone(), &json!(false)));
    client.say(&session, "user", "3");
    client.end();
}

#[test]
fn foreign_entries_are_reported_without_a_call() {
    let (server, _, mut client) = start(Duration::from_millis(20), 0);
    let session = id_of(&client.call("createSession", json!({ "path": "remote://s" })));
    client.say(&session, "user", "1");
    let entry = r#"{"type":"custom","id":"theirs","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z"}"#;
    server.append_foreign("remote://s", &format!("{entry}\n"));
    let changed = client.notification("sessionChanged");
    assert_eq!((&changed["sessionId"], &changed["entryIds"]), (&json!(session), &json!(["theirs"])));
    client.call("closeSession", json!({ "sessionId": session }));
    client.end();
}

#[test]
fn a_network_that_is_down_fails_calls_and_nothing_else() {
    let (server, network, mut client) = start(Duration::ZERO, 0);
    let session = id_of(&client.call("createSession", json!({ "path": "remote://s" })));
    client.say(&session, "user", "1");
    network.set_down(true);
    let message = json!({ "role": "user", "content": "2", "timestamp": 1 });
    let (kind, message) = client.refused("appendMessage", json!({ "sessionId": session, "message": message }));
    assert_eq!((&*kind, message.contains("the connection is lost")), ("readFailed", true), "{message}");
    assert_eq!(client.refused("listSessions", json!({})).0, "readFailed");
    client.call("estimateTokens", json!({ "text": "still here" }));
    network.set_down(false);
    client.say(&session, "user", "3");
    assert_eq!(String::from_utf8(server.bytes("remote://s")).unwrap().lines().count(), 3);
    client.end();
}
