//! Failures outside of a provider's interface: keys, connections, sizes, and callers that leave.

use std::io::{Read, Write};
use std::time::Duration;

use compaction_engine::models::{FailureKind, ModelError};
use serde_json::{Value, json};

use super::harness::{ask, context, model, request, run};
use super::server::{End, Script, Server, ServerEvent};

fn chat(server: &Server) -> Value {
    json!({ "provider": "openai", "model": "m", "baseUrl": server.address() })
}

fn failure(settings: &Value) -> ModelError {
    ask(model("tested", settings).as_ref(), &request()).0.unwrap_err()
}

fn stream(body: Vec<u8>) -> Script {
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    Script { status: 200, headers, body, piece: 65_536, ..Script::default() }
}

fn delta(text: &str) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": text } }] }))
}

#[test]
fn a_provider_is_not_asked_without_a_key() {
    for (provider, settings, cause) in [
        ("anthropic", json!({ "apiKeyEnv": "NOTHING" }), "anthropic: the environment variable NOTHING holds no key"),
        ("openai", json!({ "apiKeyEnv": "TWO_LINES" }), "openai: the key in TWO_LINES cannot be sent in a header"),
        ("gemini", json!({ "apiKeyEnv": "NOTHING" }), "gemini: the environment variable NOTHING holds no key"),
    ] {
        let mut settings = settings;
        settings["model"] = json!("m");
        let error = ask(model(provider, &settings).as_ref(), &request()).0.unwrap_err();
        assert_eq!((error.kind, error.cause.as_str()), (FailureKind::Authentication, cause));
    }
}

#[test]
fn a_server_that_is_not_there_may_come_back() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = json!({ "provider": "openai", "model": "m", "baseUrl": format!("http://127.0.0.1:{port}") });
    let error = failure(&settings);
    assert_eq!(error.kind, FailureKind::Connection);
    assert!(error.cause.starts_with("tested: failed to connect: "), "{error}");
}

#[test]
fn a_server_that_speaks_no_tls_is_not_trusted() {
    let server = Server::start(stream(Vec::new()));
    let settings = json!({ "provider": "openai", "model": "m", "baseUrl": server.address().replace("http:", "https:"),
        "connectTimeoutMs": 300 });
    let error = failure(&settings);
    assert!(matches!(error.kind, FailureKind::Connection | FailureKind::TimedOut), "{error}");
}

#[test]
fn an_event_without_end_is_not_read_to_its_end() {
    let server = Server::start(stream(format!("data: {}", "x".repeat(3_000_000)).into_bytes()));
    let error = failure(&chat(&server));
    let cause = "tested: an event of the answer has more than 1048576 bytes";
    assert_eq!((error.kind, error.cause.as_str()), (FailureKind::Refused, cause));
}

#[test]
fn comments_that_keep_a_connection_alive_are_no_event() {
    for (first, comment) in [("", ": keep-alive\n\n"), (": begun\n", "\r\n"), ("", ":\r\r"), ("", "id: 1\n\n")] {
        let end = format!("{}data: [DONE]\n\n", delta("x").replace("}}]", "},\"finish_reason\":\"stop\"}]"));
        let body = format!("{first}{}{end}", comment.repeat(2_000_000 / comment.len()));
        // A piece may end anywhere within a line.
        let server = Server::start(Script { piece: 65_537, ..stream(body.into_bytes()) });
        let answer = ask(model("tested", &chat(&server)).as_ref(), &request()).0;
        assert_eq!(
            answer.map(|answer| answer.text).map_err(|error| error.to_string()),
            Ok("x".to_owned()),
            "{comment:?}"
        );
    }
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let server = Server::start(stream(delta(&"x".repeat(500_000)).repeat(10).into_bytes()));
    let error = failure(&chat(&server));
    let cause = "tested: the answer has more than 4194304 bytes";
    assert_eq!((error.kind, error.cause.as_str()), (FailureKind::Refused, cause));
}

#[test]
fn an_error_without_end_is_not_read_to_its_end() {
    let script = Script { status: 500, body: b"word ".repeat(1_000_000), piece: 65_536, ..Script::default() };
    let error = failure(&chat(&Server::start(script)));
    assert_eq!(error.kind, FailureKind::Server);
    assert!(error.cause.ends_with('…') && error.cause.len() < 400, "{error}");
}

/// Cerebras rejects large contexts with a status and no body.
#[test]
fn the_name_of_a_summarizer_is_no_provider() {
    let rejects = || Server::start(Script { status: 400, ..Script::default() });
    for name in ["cerebras", "ollama", "tested"] {
        let settings = chat(&rejects());
        let error = ask(model(name, &settings).as_ref(), &request()).0.unwrap_err();
        assert_eq!(error.kind, FailureKind::Refused, "{name}");
        assert!(error.cause.starts_with(&format!("{name}: HTTP 400")), "{error}");
        let mut settings = chat(&rejects());
        settings["conversationProvider"] = json!("cerebras");
        let error = ask(model(name, &settings).as_ref(), &request()).0.unwrap_err();
        assert_eq!(error.kind, FailureKind::Overflow, "{name}");
    }
}

#[test]
fn bytes_that_are_no_text_are_no_answer() {
    let server = Server::start(stream(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n".to_vec()));
    let error = failure(&chat(&server));
    assert_eq!(error.kind, FailureKind::Connection);
    assert!(error.cause.contains("the stream of events cannot be read"), "{error}");
}

#[test]
fn something_else_than_http_is_no_answer() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"SSH-2.0-OpenSSH_9.6\r\n");
        }
    });
    let error = failure(&json!({ "provider": "openai", "model": "m", "baseUrl": address }));
    assert_eq!(error.kind, FailureKind::Connection, "{error}");
}

#[test]
fn a_caller_that_goes_closes_the_connection() {
    for (end, body) in [(End::Mute, String::new()), (End::Stall, String::new()), (End::Stall, delta("Half of"))] {
        let server = Server::start(Script { end, ..stream(body.into_bytes()) });
        let model = model("tested", &chat(&server));
        run(async {
            let (request, context) = (request(), context());
            let mut asking = model.complete(&request, &context, &|_| {});
            let asked = tokio::task::spawn_blocking(move || (server.asked(), server));
            let (_, server) = tokio::select! {
                outcome = &mut asking => panic!("{outcome:?}"),
                asked = asked => asked.unwrap(),
            };
            drop(asking);
            let event = tokio::task::spawn_blocking(move || server.next_event()).await.unwrap();
            assert!(matches!(event, ServerEvent::ClientLeft), "{event:?}");
        });
    }
}

#[test]
fn a_model_can_be_asked_again() {
    let answer = format!("{}data: [DONE]\n\n", delta("x").replace("}}]", "},\"finish_reason\":\"stop\"}]"));
    let server = Server::start(stream(answer.into_bytes()));
    let model = model("tested", &chat(&server));
    for _ in 0..3 {
        assert_eq!(ask(model.as_ref(), &request()).0.unwrap().text, "x");
    }
}

#[test]
fn slow_is_not_silent() {
    let mut script =
        stream(format!("{}data: [DONE]\n\n", delta("x").replace("}}]", "},\"finish_reason\":\"stop\"}]")).into_bytes());
    script.piece = script.body.len() / 12;
    script.pause = Duration::from_millis(100);
    let mut settings = chat(&Server::start(script));
    settings["idleTimeoutMs"] = json!(1000);
    assert_eq!(ask(model("tested", &settings).as_ref(), &request()).0.unwrap().text, "x");
}

#[test]
fn an_address_may_be_of_the_sixth_version() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        let _ = writeln!(std::io::stderr(), "skipped: this machine has no such address");
        return;
    };
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = failure(&json!({ "provider": "openai", "model": "m", "baseUrl": address }));
    assert!(error.cause.contains("refused"), "{error}");
}

/// A server that sends these bytes for any request, and closes the connection.
fn raw(bytes: Vec<u8>) -> Value {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 65_536]);
        let _ = stream.write_all(&bytes);
    });
    json!({ "provider": "openai", "model": "m", "baseUrl": address })
}

/// The longest time for which nothing else ran while the model was asked in vain.
fn longest_hold(settings: &Value) -> Duration {
    let model = model("tested", settings);
    run(async {
        let (request, context) = (request(), context());
        let mut asking = model.complete(&request, &context, &|_| {});
        let (mut longest, mut last) = (Duration::ZERO, std::time::Instant::now());
        loop {
            tokio::select! {
                outcome = &mut asking => {
                    assert!(outcome.is_err(), "{outcome:?}");
                    return longest.max(last.elapsed());
                }
                () = tokio::time::sleep(Duration::from_millis(1)) => {
                    longest = longest.max(last.elapsed());
                    last = std::time::Instant::now();
                }
            }
        }
    })
}

#[test]
fn an_answer_that_says_nothing_starves_nobody() {
    let chunked = |content_type: &str, first: &str, chunk: &str| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n");
        let coded = |data: &str| format!("{:x}\r\n{data}\r\n", data.len());
        let first = if first.is_empty() { String::new() } else { coded(first) };
        format!("{head}{first}{}0\r\n\r\n", coded(chunk).repeat(200_000))
    };
    let events = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{}", delta("").repeat(24_000));
    for (what, answer) in [
        ("events", events),
        ("white space", chunked("text/event-stream", "", "\n")),
        ("white space after a comment", chunked("text/event-stream", ": x\n", "\n")),
        ("white space of JSON", chunked("application/json", "{", " ")),
        ("interim answers", "HTTP/1.1 100 Continue\r\n\r\n".repeat(200_000)),
    ] {
        let longest = longest_hold(&raw(answer.into_bytes()));
        // This is long enough for a busy machine. Without turns, it would take as long as the answer.
        assert!(longest < Duration::from_millis(400), "{what}: {longest:?}");
    }
}
