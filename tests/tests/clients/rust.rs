//! The Rust client against the built server.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use compactd_client::protocol::{
    AppendMessageParams, ClientCapabilities, ClientInfo, CompactParams, CompactResult, CreateSessionParams,
    EntryParams, ErrorKind, Event, Hooks, InitializeParams, SessionBeforeCompact, SessionBeforeCompactResult,
    SummarizeParams, SummarizeResult,
};
use compactd_client::{Answers, ClientError, Options, RpcError, Server};
use compactd_tests::binary::binary;
use futures_util::StreamExt as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Longest wait for anything.
const BOUND: Duration = Duration::from_secs(30);

/// A server with a home of its own.
struct Fixture {
    server: Server,
    home: TempDir,
    /// Whether the server can ask the client's model for summaries.
    asks_host: bool,
}

impl Fixture {
    async fn start(options: Options) -> Self {
        let home = tempfile::tempdir().expect("there is room for a temporary directory");
        let mut command = Command::new(binary().expect("the server is built"));
        command.env_clear().env("HOME", home.path()).current_dir(home.path()).stderr(std::process::Stdio::null());
        let server = options.timeout(BOUND).spawn(command).expect("the server starts");
        let mut fixture = Self { server, home, asks_host: false };
        let hello = json!({
            "protocolVersion": 1,
            "clientInfo": { "name": "test" },
            "agentDir": fixture.home.path(),
            "capabilities": { "summarize": true },
        });
        let known = fixture.call("initialize", hello).await["capabilities"]["summarizers"].take();
        fixture.asks_host = known.as_array().is_some_and(|names| names.contains(&json!("host")));
        fixture
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        self.server.request(method, &params).await.unwrap_or_else(|error| panic!("{method} fails: {error}"))
    }

    /// A new session with some messages that are worth a compaction.
    async fn conversation(&self) -> Value {
        let session = self.call("createSession", json!({})).await["sessionId"].clone();
        for number in 0..6 {
            self.append(&session, &format!("message {number} ").repeat(40)).await;
        }
        session
    }

    async fn append(&self, session: &Value, text: &str) -> Value {
        let message = json!({ "role": "user", "content": text, "timestamp": 1_700_000_000_000_u64 });
        let params = json!({ "sessionId": session, "message": message });
        self.call("appendMessage", params).await["entryId"].clone()
    }

    fn methods(&self) -> Vec<String> {
        let next = || self.server.try_next_notification();
        std::iter::from_fn(next).map(|notification| notification.expect("none is lost").method).collect()
    }
}

fn compact(session: &Value, summarizer: &str) -> Value {
    json!({ "sessionId": session, "settings": { "keepRecentTokens": 100 }, "summarizer": summarizer })
}

#[tokio::test]
async fn errors_have_code_kind_and_data() {
    let fixture = Fixture::start(Server::options()).await;
    let session = fixture.call("createSession", json!({ "ephemeral": true })).await["sessionId"].clone();
    let params = json!({ "sessionId": session, "entryId": "00000000" });
    let error = fixture.server.request::<_, Value>("getEntry", &params).await.expect_err("there is no such entry");
    let error = error.rpc().expect("the server answered");
    assert_eq!((error.code, error.kind()), (1002, Some(ErrorKind::EntryNotFound)));
    assert_eq!((error.reason(), error.is_retryable()), (Some("unknownEntry"), false));
    assert_eq!(error.data.as_ref().map(|data| &data["entryId"]), Some(&json!("00000000")));
}

#[tokio::test]
async fn notifications_come_in_order_and_before_the_reply() {
    let fixture = Fixture::start(Server::options()).await;
    let session = fixture.conversation().await;
    assert_eq!(fixture.methods(), ["entryAppended"; 6]);
    fixture.call("compact", compact(&session, "extractive")).await;
    let methods: Vec<String> = fixture.methods().into_iter().filter(|method| method != "compactionProgress").collect();
    assert_eq!(methods, ["compactionStart", "entryAppended", "compactionEnd"]);
}

#[tokio::test]
async fn text_comes_back_as_it_went() {
    let fixture = Fixture::start(Server::options()).await;
    let session = fixture.call("createSession", json!({})).await["sessionId"].clone();
    for text in ["\u{2028}\u{2029}\u{1f600}\u{e9}\0\"\\\r\n".to_owned(), "0123456789abcde\u{e9}".repeat(1 << 19)] {
        let entry = fixture.append(&session, &text).await;
        let params = json!({ "sessionId": session, "entryId": entry });
        assert!(fixture.call("getEntry", params).await["entry"]["message"]["content"] == text.as_str());
    }
}

/// A model that never answers; it reports when it is asked and when its answer is dropped.
#[derive(Clone, Default)]
struct SlowModel {
    asked: Arc<Notify>,
    dropped: Arc<Notify>,
}

#[async_trait]
impl Answers for SlowModel {
    async fn answer(&self, _: &str, _: &RawValue) -> Result<Value, RpcError> {
        let _dropped = NotifyOnDrop(Arc::clone(&self.dropped));
        self.asked.notify_one();
        std::future::pending().await
    }
}

struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future).await.expect("nothing waits longer than this")
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_on_both_sides() {
    let model = SlowModel::default();
    let fixture = Fixture::start(Server::options().answers(model.clone())).await;
    if !fixture.asks_host {
        return; // Another test says so.
    }
    let session = fixture.conversation().await;
    let params = compact(&session, "host");
    tokio::select! {
        outcome = fixture.server.request::<_, Value>("compact", &params) => panic!("{outcome:?}"),
        () = within(model.asked.notified()) => {}
    }
    within(model.dropped.notified()).await;
    let methods = within(async {
        let mut methods = Vec::new();
        while methods.last().is_none_or(|method| method != "compactionEnd") {
            methods.push(fixture.server.next_notification().await.expect("the server lives").method);
        }
        methods
    });
    assert!(methods.await.contains(&"compactionStart".to_owned()));
}

#[tokio::test]
async fn requests_run_at_once_and_death_fails_those_that_wait() {
    let model = SlowModel::default();
    let fixture = Fixture::start(Server::options().answers(model.clone())).await;
    if !fixture.asks_host {
        return; // Another test says so.
    }
    let session = fixture.conversation().await;
    let params = compact(&session, "host");
    let other = async {
        within(model.asked.notified()).await;
        let tokens = fixture.call("estimateTokens", json!({ "text": "12345678" })).await;
        kill(fixture.server.pid());
        tokens
    };
    let (outcome, tokens) = tokio::join!(fixture.server.request::<_, Value>("compact", &params), other);
    assert_eq!(tokens, json!({ "tokens": 2 }));
    assert!(matches!(outcome, Err(ClientError::Closed(_))), "{outcome:?}");
    assert_eq!(within(fixture.server.wait()).await.expect("it has ended").code(), None);
    within(model.dropped.notified()).await;
}

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status().expect("there is a kill");
    assert!(status.success());
}

#[tokio::test]
async fn shutdown_ends_with_code_0() {
    let fixture = Fixture::start(Server::options()).await;
    assert_eq!(fixture.server.shutdown().await.expect("it ends").code(), Some(0));
}

/// A host that writes summaries and is asked before compactions.
#[derive(Clone, Default)]
struct Host {
    asked: Arc<std::sync::Mutex<Vec<String>>>,
    cancels: bool,
}

impl Host {
    fn note(&self, what: String) {
        self.asked.lock().expect("no holder panics").push(what);
    }
}

#[async_trait]
impl Hooks for Host {
    async fn summarize(&self, params: SummarizeParams) -> Result<SummarizeResult, RpcError> {
        self.note(format!("summarize {}", params.kind.as_str()));
        let headings = params.prompt.lines().filter(|line| line.starts_with('#'));
        let text = headings.map(|heading| format!("{heading}\n- point\n")).collect::<Vec<_>>().join("\n");
        Ok(SummarizeResult::new(text, "stop"))
    }

    async fn session_before_compact(
        &self,
        params: SessionBeforeCompact,
    ) -> Result<Option<SessionBeforeCompactResult>, RpcError> {
        self.note(format!("compact {}", params.session_id));
        // Without an answer it goes on.
        Ok(self.cancels.then(|| SessionBeforeCompactResult { cancel: Some(true), ..Default::default() }))
    }
}

/// A typed server with hooks, and a session of messages that are worth a compaction.
async fn hooked(home: &TempDir, host: &Host) -> Result<(Server, String), ClientError> {
    let mut command = Command::new(binary().expect("the server is built"));
    command.env_clear().env("HOME", home.path()).current_dir(home.path()).stderr(std::process::Stdio::null());
    let server = Server::options().timeout(BOUND).hooks(host.clone()).spawn(command)?;
    let capabilities = ClientCapabilities {
        summarize: Some(true),
        hooks: Some(vec!["sessionBeforeCompact".into()]),
        ..Default::default()
    };
    let hello = InitializeParams::new(1, ClientInfo::new("test"));
    server.initialize(&InitializeParams { capabilities: Some(capabilities), ..hello }).await?;
    let session = server.create_session(&CreateSessionParams::default()).await?.session_id;
    for number in 0..6 {
        let message = json!({ "role": "user", "content": format!("message {number} ").repeat(40) });
        server.append_message(&AppendMessageParams::new(&session, message)).await?;
    }
    Ok((server, session))
}

fn compact_by_host(session: &str) -> CompactParams {
    let settings = Some(json!({ "keepRecentTokens": 100 }));
    CompactParams { settings, summarizer: Some("host".into()), ..CompactParams::new(session) }
}

#[tokio::test]
async fn typed_calls_hooks_and_events() -> Result<(), ClientError> {
    let home = tempfile::tempdir()?;
    let host = Host::default();
    let (server, session) = hooked(&home, &host).await?;
    let CompactResult::CompactionResult(done) = server.compact(&compact_by_host(&session)).await? else {
        panic!("without `wait: false` the compaction is done");
    };
    assert_eq!(done.summarizer, "host");
    let asked = host.asked.lock().expect("no holder panics").clone();
    assert_eq!(asked, [format!("compact {session}"), "summarize history".into()]);
    server.ping().await?;
    server.shutdown().await?;
    let events: Vec<Event> =
        server.events().map(|event| event.expect("every notification has its type")).collect().await;
    let ended = events.iter().find_map(|event| match event {
        Event::CompactionEnd(end) => Some(end),
        _ => None,
    });
    assert_eq!(ended.and_then(|end| end.result.as_ref()), Some(&*done));
    assert!(!events.iter().any(|event| matches!(event, Event::Other(_))));
    Ok(())
}

#[tokio::test]
async fn a_hook_cancels_and_errors_are_typed() -> Result<(), ClientError> {
    let home = tempfile::tempdir()?;
    let (server, session) = hooked(&home, &Host { cancels: true, ..Host::default() }).await?;
    let error = server.compact(&compact_by_host(&session)).await.expect_err("the hook cancels it");
    assert_eq!(error.rpc().and_then(RpcError::kind), Some(ErrorKind::CancelledByHook));
    let error = server.get_entry(&EntryParams::new(&session, "00000000")).await.expect_err("there is no such entry");
    assert_eq!(error.rpc().and_then(RpcError::kind), Some(ErrorKind::EntryNotFound));
    Ok(())
}

/// Runs a copy of the example, so that it finds no program beside it.
fn example(home: &TempDir, server: Option<std::path::PathBuf>) -> std::process::Output {
    let copy = home.path().join("example");
    std::fs::copy(env!("CARGO_BIN_EXE_compactd-client-example"), &copy).expect("there is room for a copy");
    let mut command = Command::new(copy);
    command.env_clear().env("HOME", home.path()).current_dir(home.path());
    command.envs(server.map(|server| ("COMPACTD_BIN", server))).output().expect("the example starts")
}

/// A block of the page, by its language.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, after) = page.split_once(&format!("```{language}\n")).expect("the page has such a block");
    after.split_once("```").expect("a block ends").0
}

#[test]
fn the_example_of_the_page_does_what_the_page_says() {
    let (page, code) =
        (include_str!("../../../clients/rust/README.md"), include_str!("../../../clients/rust/examples/session.rs"));
    assert_eq!(Some(block(page, "rust,no_run")), code.split_once("\n\n").map(|(_, code)| code));
    let home = tempfile::tempdir().expect("there is room for a temporary directory");
    let output = example(&home, Some(binary().expect("the server is built")));
    let printed = String::from_utf8(output.stdout).expect("it prints text");
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    // Token counts may change with the rules of summaries; the words may not.
    let words = |text: &str| text.replace(|letter: char| letter.is_ascii_digit(), "");
    assert_eq!(words(&printed), words(block(page, "text")));
}

#[test]
fn without_the_program_it_says_what_to_do() {
    let home = tempfile::tempdir().expect("there is room for a temporary directory");
    let output = example(&home, None);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(errors.contains("Install it by `cargo install compactd`, or set COMPACTD_BIN to its path"), "{errors}");
}

/// Programs that cut text by UTF-16 units leave such halves in sessions.
#[tokio::test]
async fn half_a_surrogate_pair_in_a_session_is_read_as_a_replacement() {
    let fixture = Fixture::start(Options::default()).await;
    let path = fixture.home.path().join("cut.jsonl");
    let header =
        json!({ "type": "session", "version": 3, "id": "cut", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/" });
    let entry = r#"{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"a \\ud83d \ud83d b \ud83d\ude00 \ude00","timestamp":1}}"#;
    std::fs::write(&path, format!("{header}\n{entry}\n")).expect("the home can be written");
    let opened = fixture.call("openSession", json!({ "path": path })).await;
    let context = fixture.call("getContext", json!({ "sessionId": opened["sessionId"] })).await;
    assert_eq!(context["messages"][0]["content"], json!("a \\ud83d \u{fffd} b \u{1f600} \u{fffd}"));
}
