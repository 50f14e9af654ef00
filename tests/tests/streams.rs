//! A model that sends events without end keeps nobody else waiting.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use compactd_tests::binary::binary;
use serde_json::{Value, json};

/// How long a call may take beside such a stream on a busy machine; on an idle one it is a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(3);

/// A server of models on a port of this machine, which answers by events that say nothing, as fast as they are read.
fn endless_model() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener.local_addr().expect("it has an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 1 << 16]);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let events = "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n".repeat(2000);
                let mut sent = stream.write_all(head.as_bytes());
                while sent.is_ok() {
                    sent = stream.write_all(events.as_bytes());
                }
            });
        }
    });
    port
}

struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn start(home: &std::path::Path, port: u16) -> Self {
        let mut command = Command::new(binary().expect("the server is built"));
        command.env_clear().env("HOME", home).env("OPENAI_API_KEY", "none");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().expect("the server starts");
        let input = server.stdin.take().expect("input is a pipe");
        let output = BufReader::new(server.stdout.take().expect("output is a pipe"));
        let mut client = Self { server, input, output, last: 0 };
        let model = json!({ "provider": "openai", "baseUrl": format!("http://127.0.0.1:{port}/v1"), "model": "m" });
        let settings = json!({ "compactd": { "summarizers": { "endless": model } } });
        let params = json!({ "protocolVersion": 1, "clientInfo": { "name": "test" }, "settings": settings });
        client.call("initialize", &params);
        client
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params });
        writeln!(self.input, "{request}").expect("the server reads");
        self.last
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server answers");
        serde_json::from_str(&line).expect("a line is JSON")
    }

    fn reply(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        let reply = self.reply(id);
        assert!(reply.get("error").is_none(), "{method}: {reply}");
        reply["result"].clone()
    }

    fn new_session(&mut self) -> String {
        let made = self.call("createSession", &json!({ "ephemeral": true }));
        made["sessionId"].as_str().expect("a session has an id").to_owned()
    }

    fn append(&mut self, session: &str, text: &str) {
        let message = json!({ "role": "user", "content": text });
        self.call("appendMessage", &json!({ "sessionId": session, "message": message }));
    }

    /// Begins a compaction whose summary never comes to its end: the session, and the id of the call.
    fn compact(&mut self) -> (String, u64) {
        let session = self.new_session();
        (0..8).for_each(|_| self.append(&session, &"some words ".repeat(200)));
        let settings = json!({ "keepRecentTokens": 300 });
        let params = json!({ "sessionId": session, "summarizer": "endless", "settings": settings });
        let id = self.send("compact", &params);
        while self.next()["method"] != "compactionStart" {}
        // The stream is on its way soon after.
        std::thread::sleep(Duration::from_millis(500));
        (session, id)
    }
}

#[track_caller]
fn in_time(what: &str, start: Instant) {
    let taken = start.elapsed();
    assert!(taken < PATIENCE, "{what} took {taken:?}");
}

#[test]
fn appends_aborts_and_signals_take_effect_beside_an_endless_answer() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let mut client = Client::start(home.path(), endless_model());
    let (session, _) = client.compact();
    let other = client.new_session();
    let start = Instant::now();
    (0..20).for_each(|_| client.append(&other, "x"));
    in_time("twenty appends", start);
    let start = Instant::now();
    client.call("abortCompaction", &json!({ "sessionId": session }));
    in_time("an abort", start);
    let (_, compaction) = client.compact();
    let start = Instant::now();
    let process = client.server.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().expect("there is kill").success());
    assert_eq!(client.reply(compaction)["error"]["code"], -32800);
    assert!(client.server.wait().expect("the server ends").success());
    in_time("SIGTERM", start);
}
