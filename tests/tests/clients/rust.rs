//! The Rust client against the built server.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use compactd_client::{Answers, ClientError, Options, RpcError, Server};
use compactd_tests::binary::binary;
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
    assert_eq!((error.code, error.kind()), (1002, Some("entryNotFound")));
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

/// A model that never answers, and tells when it is asked and when it is no longer wanted.
#[derive(Clone, Default)]
struct SlowModel {
    asked: Arc<Notify>,
    dropped: Arc<Notify>,
}

#[async_trait]
impl Answers for SlowModel {
    async fn answer(&self, _: &str, _: &RawValue) -> Result<Value, RpcError> {
        let _told = TellOnDrop(Arc::clone(&self.dropped));
        self.asked.notify_one();
        std::future::pending().await
    }
}

struct TellOnDrop(Arc<Notify>);

impl Drop for TellOnDrop {
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
