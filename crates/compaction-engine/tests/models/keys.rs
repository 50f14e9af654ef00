//! Keys that programs print: when a program runs, how long its key is used, and what is reported without a key.

use std::path::Path;
use std::time::{Duration, Instant};

use compaction_engine::models::PrintedKeys;
use compaction_engine::models::{FailureKind, ModelError};
use compaction_engine::settings::{ClientSettings, SettingsLayers};
use serde_json::{Value, json};

use super::harness::{ask, model, model_with, request};
use super::server::{Script, Server};

/// A program that prints `key-1`, `key-2` and so on, and counts its runs in a file.
fn printer(directory: &Path) -> String {
    let count = directory.join("count");
    format!("echo x >> '{0}'; echo \"key-$(wc -l < '{0}' | tr -d ' ')\"", count.display())
}

fn runs(directory: &Path) -> usize {
    std::fs::read_to_string(directory.join("count")).unwrap_or_default().lines().count()
}

fn settings(server: &Server, script: &str) -> Value {
    json!({ "provider": "openai", "model": "m", "baseUrl": server.address(), "apiKeyCommand": ["/bin/sh", "-c", script] })
}

fn answer() -> Script {
    let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
        .to_vec();
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    Script { status: 200, headers, body, ..Script::default() }
}

fn refusal(status: u16) -> Script {
    Script { status, body: b"{\"error\":{\"message\":\"the token key-1 has expired\"}}".to_vec(), ..Script::default() }
}

fn key_sent(server: &Server) -> String {
    server.asked().header("authorization").unwrap().to_owned()
}

fn failure(settings: &Value) -> ModelError {
    ask(model("tested", settings).as_ref(), &request()).0.unwrap_err()
}

#[test]
fn a_printed_key_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(answer());
    let (settings, keys) = (settings(&server, &printer(directory.path())), PrintedKeys::default());
    for _ in 0..3 {
        let model = model_with("tested", &settings, &keys);
        assert_eq!(ask(model.as_ref(), &request()).0.unwrap().text, "x");
        assert_eq!(key_sent(&server), "Bearer key-1");
    }
    assert_eq!(runs(directory.path()), 1);
}

#[test]
fn a_key_that_is_refused_is_printed_again() {
    for status in [401, 403] {
        let directory = tempfile::tempdir().unwrap();
        let server = Server::start_several(vec![answer(), refusal(status), answer()]);
        let model = model("tested", &settings(&server, &printer(directory.path())));
        for _ in 0..2 {
            assert_eq!(ask(model.as_ref(), &request()).0.unwrap().text, "x");
        }
        let sent: Vec<String> = (0..3).map(|_| key_sent(&server)).collect();
        assert_eq!(sent, ["Bearer key-1", "Bearer key-1", "Bearer key-2"]);
    }
}

#[test]
fn a_new_key_that_is_refused_is_final() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(refusal(401));
    let settings = settings(&server, &printer(directory.path()));
    let error = failure(&settings);
    let cause = "tested: HTTP 401: the token [secret] has expired";
    assert_eq!((error.kind, error.cause.as_str()), (FailureKind::Authentication, cause));
    assert_eq!(runs(directory.path()), 1);
    // The key is not kept for the next request either.
    failure(&settings);
    assert_eq!(runs(directory.path()), 2);
}

#[test]
fn a_key_has_a_lifetime() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(answer());
    let mut settings = settings(&server, &printer(directory.path()));
    settings["apiKeyLifetimeMs"] = json!(50);
    let model = model("tested", &settings);
    ask(model.as_ref(), &request()).0.unwrap();
    std::thread::sleep(Duration::from_millis(80));
    ask(model.as_ref(), &request()).0.unwrap();
    assert_eq!((key_sent(&server), key_sent(&server)), ("Bearer key-1".to_owned(), "Bearer key-2".to_owned()));
}

#[test]
fn the_first_line_is_the_key() {
    let server = Server::start(answer());
    let script = "printf '\\n\\357\\273\\277' >&2; printf '\\n  a-key \\r\\nsecond line\\n'; echo warning >&2";
    ask(model("tested", &settings(&server, script)).as_ref(), &request()).0.unwrap();
    assert_eq!(key_sent(&server), "Bearer a-key");
}

#[test]
fn azure_takes_a_printed_key_for_a_token() {
    let server = Server::start(answer());
    let mut settings = settings(&server, "echo token");
    settings["provider"] = json!("azure");
    ask(model("tested", &settings).as_ref(), &request()).0.unwrap();
    assert_eq!(key_sent(&server), "Bearer token");
    settings["auth"] = json!("key");
    ask(model("tested", &settings).as_ref(), &request()).0.unwrap();
    assert_eq!(server.asked().header("api-key"), Some("token"));
}

#[test]
fn a_header_of_the_settings_takes_the_place_of_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(answer());
    let mut settings = settings(&server, &printer(directory.path()));
    settings["headers"] = json!({ "authorization": "Token mine" });
    ask(model("tested", &settings).as_ref(), &request()).0.unwrap();
    assert_eq!((key_sent(&server).as_str(), runs(directory.path())), ("Token mine", 0));
}

#[test]
fn a_program_that_gives_no_key_is_reported_without_secrets() {
    let server = Server::start(answer());
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    for (script, kind, cause) in [
        ("exit 3".to_owned(), FailureKind::Authentication, "gave no key: it ended with status 3"),
        (
            "echo no login >&2; exit 1".to_owned(),
            FailureKind::Authentication,
            "gave no key: it ended with status 1: no login",
        ),
        (
            "echo half-a-key-1234; echo got half-a-key-1234 >&2; exit 1".to_owned(),
            FailureKind::Authentication,
            "gave no key: it ended with status 1: got [secret]",
        ),
        (
            "printf 'key: sk-sen%s-3c1d77' tinel >&2; exit 1".to_owned(),
            FailureKind::Authentication,
            "gave no key: it ended with status 1: key: [secret]",
        ),
        (
            format!("echo token {token} >&2; exit 1"),
            FailureKind::Authentication,
            "gave no key: it ended with status 1: token [redacted:github-token]",
        ),
        ("true".to_owned(), FailureKind::Authentication, "gave no key: it printed nothing"),
        ("kill -9 $$".to_owned(), FailureKind::Authentication, "gave no key: it was ended by signal 9"),
        ("printf '\\377'".to_owned(), FailureKind::Authentication, "gave no key: what it printed is not UTF-8"),
        (
            "head -c 40000 /dev/zero | tr '\\0' k".to_owned(),
            FailureKind::Authentication,
            "gave no key: its first line has more than 32768 bytes",
        ),
        ("sleep 60".to_owned(), FailureKind::TimedOut, "took more than 300 ms"),
    ] {
        let mut settings = settings(&server, &script);
        settings["apiKeyTimeoutMs"] = json!(if script.starts_with("sleep") { 300 } else { 20_000 });
        let began = Instant::now();
        let error = failure(&settings);
        let cause = format!("tested: the program /bin/sh of apiKeyCommand {cause}");
        assert_eq!((error.kind, error.cause), (kind, cause), "{script}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    let missing =
        json!({ "provider": "openai", "model": "m", "baseUrl": server.address(), "apiKeyCommand": ["/no/such"] });
    let error = failure(&missing);
    assert_eq!(error.kind, FailureKind::Authentication);
    assert!(error.cause.starts_with("tested: the program /no/such of apiKeyCommand gave no key: failed to start: "));
    assert!(server.is_silent());
}

#[test]
fn a_project_names_no_program() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join(".pi")).unwrap();
    let evil = json!({ "model": "m", "apiKeyCommand": ["sh", "-c", "true"] });
    let text = json!({ "compactd": { "summarizers": { "openai": evil, "azure": evil } } }).to_string();
    std::fs::write(directory.path().join(".pi/settings.json"), text).unwrap();
    let layers = SettingsLayers::open(None, directory.path(), ClientSettings::default()).unwrap();
    assert!(!layers.current().as_json().to_string().contains("apiKeyCommand"));
    assert!(layers.diagnostics()[0].contains("compactd.summarizers"), "{:?}", layers.diagnostics());
}
