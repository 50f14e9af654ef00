//! The client against children that misbehave; shell scripts play them.
#![cfg(unix)]

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use compactd_client::protocol::{ErrorKind, Event};
use compactd_client::{Answers, ClientError, Direction, Framing, MessageTooLarge, RpcError, Server};
use futures_util::StreamExt as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn script(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    command
}

/// Answers every request with its own line, after `before` was written.
fn echo(before: &str) -> Command {
    let text = r#"while read -r line; do
        id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),"method.*/\1/p')
        [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$line"
    done"#;
    script(&format!("{before}\n{text}"))
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("nothing waits longer than this")
}

#[tokio::test]
async fn passes_over_noise_and_unknown_ids() {
    let noise = r#"printf '\n  \nlog line\n{"jsonrpc":"2.0","id":99,"result":1}\n{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}\n[]\n'"#;
    let server = Server::spawn(echo(noise)).unwrap();
    let reply: Value = within(server.request("a", &json!({"text": "\u{2028}"}))).await.unwrap();
    assert_eq!(reply["params"]["text"], "\u{2028}");
    assert_eq!(server.strays(), 4);
}

#[tokio::test]
async fn keeps_notifications_in_order_and_before_their_reply() {
    let many = r#"i=0; read -r line; while [ $i -lt 500 ]; do printf '{"jsonrpc":"2.0","method":"n%s","params":{"i":%s}}\n' $((i % 3)) $i; i=$((i+1)); done
        printf '{"jsonrpc":"2.0","id":0,"result":null}\n'; read -r line"#;
    let server = Server::spawn(script(many)).unwrap();
    let _: Value = within(server.request("a", &json!({}))).await.unwrap();
    for i in 0..500 {
        let notification = server.try_next_notification().expect("came before the reply").unwrap();
        assert_eq!(
            (notification.method, notification.params.get()),
            (format!("n{}", i % 3), &*format!("{{\"i\":{i}}}"))
        );
    }
}

#[tokio::test]
async fn gives_code_message_and_data_of_errors() {
    let text = r#"read -r line; printf '{"jsonrpc":"2.0","id":0,"error":{"code":1002,"message":"no entry x","data":{"kind":"entryNotFound","id":"x"}}}\n'; read -r line"#;
    let server = Server::spawn(script(text)).unwrap();
    let error = within(server.request::<_, Value>("a", &json!({}))).await.unwrap_err();
    let rpc = error.rpc().expect("the server answered");
    assert_eq!(
        (rpc.code, rpc.kind(), &rpc.data.as_ref().unwrap()["id"]),
        (1002, Some(ErrorKind::EntryNotFound), &json!("x"))
    );
}

#[tokio::test]
async fn death_fails_all_that_wait() {
    let server = Server::spawn(script("read -r line; read -r line; exit 3")).unwrap();
    let params = json!({});
    let (a, b) = within(async {
        tokio::join!(server.request::<_, Value>("a", &params), server.request::<_, Value>("b", &params))
    })
    .await;
    assert!(matches!((&a, &b), (Err(ClientError::Closed(_)), Err(ClientError::Closed(_)))), "{a:?} {b:?}");
    assert!(matches!(within(server.next_notification()).await, Err(ClientError::Closed(_))));
    assert!(matches!(within(server.request::<_, Value>("c", &params)).await, Err(ClientError::Closed(_))));
    assert_eq!(within(server.wait()).await.unwrap().code(), Some(3));
}

#[tokio::test]
async fn errors_of_a_dead_server_say_why_in_one_sentence() {
    let server = Server::spawn(script("read -r line; exit 3")).unwrap();
    for _ in 0..2 {
        let error = within(server.request::<_, Value>("a", &json!({}))).await.unwrap_err();
        assert_eq!(error.to_string(), "server is gone: it closed its output");
    }
    let error = within(server.next_notification()).await.unwrap_err();
    assert_eq!(error.to_string(), "server is gone: it closed its output");
    assert_eq!(within(server.notify("n", &json!({}))).await.unwrap_err().to_string(), error.to_string());
}

#[tokio::test]
async fn what_a_newer_server_says_is_passed_on() {
    let text = r#"printf '{"jsonrpc":"2.0","method":"entryAppended","params":{"sessionId":"s","entry":{"type":"new","id":"a","parentId":null,"timestamp":"t","more":1.5},"newer":true}}\n{"jsonrpc":"2.0","method":"newer","params":{}}\n{"jsonrpc":"2.0","method":"leafChanged","params":{"sessionId":1}}\n'"#;
    let server = Server::spawn(script(text)).unwrap();
    let events: Vec<_> = within(server.events().collect()).await;
    let [Ok(Event::EntryAppended(appended)), Ok(Event::Other(newer)), Err(ClientError::Convert(_))] = &events[..]
    else {
        panic!("{events:?}");
    };
    let entry = &appended.entry;
    assert_eq!((entry.r#type.as_str(), &entry.parent_id, &entry.other["more"]), ("new", &None, &json!(1.5)));
    assert_eq!(newer.method, "newer");
}

/// Everything that went to the server.
type Sent = Arc<Mutex<Vec<String>>>;

fn sent() -> (Sent, impl Fn(Direction, &str) + Send + Sync) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let tap = Arc::clone(&sent);
    (sent, move |direction, text: &str| {
        if direction == Direction::Sent {
            tap.lock().expect("no holder panics").push(text.to_owned());
        }
    })
}

async fn wait_for(sent: &Mutex<Vec<String>>, text: &str) {
    within(async {
        while !sent.lock().expect("no holder panics").iter().any(|message| message == text) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn time_out_and_drop_cancel_the_request() {
    let (sent, tap) = sent();
    let options = Server::options().timeout(Duration::from_millis(50)).tap(tap);
    let server = options.spawn(script("while read -r line; do :; done")).unwrap();
    let error = within(server.request::<_, Value>("slow", &json!({}))).await.unwrap_err();
    assert!(matches!(error, ClientError::TimedOut), "{error}");
    wait_for(&sent, r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":0}}"#).await;
    drop(tokio::time::timeout(Duration::from_millis(5), server.request::<_, Value>("slow", &json!({}))).await);
    wait_for(&sent, r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}"#).await; // The notification took id 1.
}

/// Answers the first request, which is to be `initialize`, with this limit of a message.
fn limit(bytes: u64) -> String {
    format!(r#"read -r line; printf '{{"jsonrpc":"2.0","id":0,"result":{{"maxMessageBytes":{bytes}}}}}\n'"#)
}

fn too_large<T: std::fmt::Debug>(outcome: Result<T, ClientError>) -> MessageTooLarge {
    match outcome {
        Err(ClientError::MessageTooLarge(refused)) => refused,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_message_over_the_limit_fails_at_once_and_is_not_sent() {
    let (sent, tap) = sent();
    let server = Server::options().tap(tap).spawn(echo(&limit(100))).unwrap();
    let _: Value = within(server.request("initialize", &json!({}))).await.unwrap();
    let text = |bytes: usize| json!({ "text": "x".repeat(bytes) });
    let error = within(server.request::<_, Value>("a", &text(100))).await.unwrap_err();
    assert_eq!(error.to_string(), "a message of 158 bytes is over the server's limit of 100 bytes");
    assert_eq!(too_large::<Value>(Err(error)), MessageTooLarge { bytes: 158, limit: 100 });
    assert_eq!(too_large(within(server.notify("a", &text(60))).await), MessageTooLarge { bytes: 111, limit: 100 });
    // A message of exactly the limit.
    let reply: Value = within(server.request("a", &text(42))).await.unwrap();
    assert_eq!(reply.to_string().len(), 100);
    let sent = sent.lock().expect("no holder panics");
    assert_eq!(sent.iter().map(String::len).collect::<Vec<_>>(), [58, 100]);
}

#[tokio::test]
async fn a_refusal_without_id_ends_the_request_of_that_length_alone() {
    let refuse = r#"read -r line; read -r longer
        refuse='{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m","data":{"reason":"messageTooLarge","bytes":%s,"limit":50}}}\n'
        printf "$refuse" ${#longer}
        printf "$refuse" 7
        printf '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}\n{"jsonrpc":"2.0","id":0,"result":8}\n'; read -r line"#;
    let server = Server::spawn(script(refuse)).unwrap();
    let (short, long) = (json!({}), json!({ "text": "long" }));
    let calls = async { tokio::join!(server.request::<_, Value>("a", &short), server.request::<_, Value>("a", &long)) };
    let (short, long) = within(calls).await;
    assert_eq!(short.unwrap(), 8);
    assert_eq!(too_large(long), MessageTooLarge { bytes: 62, limit: 50 });
    assert_eq!(server.strays(), 2);
}

#[tokio::test]
async fn an_answer_over_the_limit_is_replaced_by_a_refusal() {
    let (sent, tap) = sent();
    let asks = r#"printf '{"jsonrpc":"2.0","id":"s1","method":"summarize","params":{"a":"a long text that comes back in the answer"}}\n'"#;
    let server = Server::options().tap(tap).answers(Host).spawn(echo(&format!("{}\n{asks}", limit(70)))).unwrap();
    let _: Value = within(server.request("initialize", &json!({}))).await.unwrap();
    let refusal = r#"{"jsonrpc":"2.0","id":"s1","error":{"code":-32603,"message":"client cannot send its answer: a message of 101 bytes is over the server's limit of 70 bytes"}}"#;
    wait_for(&sent, refusal).await;
}

struct Host;

#[async_trait]
impl Answers for Host {
    async fn answer(&self, method: &str, params: &RawValue) -> Result<Value, RpcError> {
        match method {
            "summarize" => Ok(json!({ "text": params.get() })),
            "slow" => std::future::pending().await,
            _ => Err(RpcError { code: 1, message: "no".into(), data: None }),
        }
    }
}

#[tokio::test]
async fn answers_the_server_and_stops_when_it_cancels() {
    let (sent, tap) = sent();
    let asks = r#"printf '{"jsonrpc":"2.0","id":"s1","method":"summarize","params":{"a":1}}\n{"jsonrpc":"2.0","id":2,"method":"slow","params":{}}\n{"jsonrpc":"2.0","id":3,"method":"other"}\n{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}\n'"#;
    let server = Server::options().tap(tap).answers(Host).spawn(echo(asks)).unwrap();
    wait_for(&sent, r#"{"jsonrpc":"2.0","id":"s1","result":{"text":"{\"a\":1}"}}"#).await;
    wait_for(&sent, r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}"#).await;
    let cancelled = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"data":{"kind":"requestCancelled"},"message":"request was cancelled"}}"#;
    wait_for(&sent, cancelled).await;
    drop(server);
}

/// Never answers; reports when it is asked and when it is dropped.
struct Hanging(tokio::sync::mpsc::UnboundedSender<&'static str>);

struct SendOnDrop(tokio::sync::mpsc::UnboundedSender<&'static str>);

impl Drop for SendOnDrop {
    fn drop(&mut self) {
        let _test_is_over = self.0.send("dropped");
    }
}

#[async_trait]
impl Answers for Hanging {
    async fn answer(&self, _: &str, _: &RawValue) -> Result<Value, RpcError> {
        let _dropped = SendOnDrop(self.0.clone());
        self.0.send("asked").expect("the test listens");
        std::future::pending().await
    }
}

#[tokio::test]
async fn answers_end_with_the_server_and_with_the_client() {
    let ask = r#"printf '{"jsonrpc":"2.0","id":1,"method":"summarize","params":{}}\n'; read -r line"#;
    for the_server_ends in [true, false] {
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::options().answers(Hanging(sender)).spawn(script(ask)).unwrap();
        assert_eq!(within(events.recv()).await, Some("asked"));
        let server = if the_server_ends {
            server.notify("go", &json!({})).await.unwrap();
            Some(server)
        } else {
            drop(server);
            None
        };
        assert_eq!(within(events.recv()).await, Some("dropped"), "the server ends: {the_server_ends}");
        drop(server);
    }
}

#[tokio::test]
async fn refuses_the_server_without_answers() {
    let (sent, tap) = sent();
    let asks = r#"printf '{"jsonrpc":"2.0","id":"s1","method":"summarize","params":{}}\n'"#;
    let _server = Server::options().tap(tap).spawn(echo(asks)).unwrap();
    let refusal = r#"{"jsonrpc":"2.0","id":"s1","error":{"code":-32601,"data":{"kind":"methodNotFound"},"message":"client does not answer summarize"}}"#;
    wait_for(&sent, refusal).await;
}

#[tokio::test]
async fn kills_a_server_that_does_not_end() {
    let options = Server::options().grace(Duration::from_millis(100));
    let server = options.spawn(script("trap '' TERM; exec sleep 60")).unwrap();
    let started = Instant::now();
    let status = within(server.shutdown()).await.unwrap();
    assert_eq!(status.code(), None);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn waits_no_longer_than_the_grace_time_for_a_server_of_this_process() {
    let (ours, _theirs) = tokio::io::duplex(1 << 10);
    let (output, input) = tokio::io::split(ours);
    let options = Server::options().grace(Duration::from_millis(100));
    let server = options.connect(input, output, std::future::pending());
    assert!(matches!(within(server.shutdown()).await, Err(ClientError::Process(_))));
}

#[tokio::test]
async fn lets_a_dropped_server_end_by_itself() {
    let note = std::env::temp_dir().join(format!("compactd-client-{}", std::process::id()));
    let server = Server::spawn(script(&format!("cat >/dev/null; echo done >{}", note.display()))).unwrap();
    drop(server);
    let ended = async {
        while std::fs::read_to_string(&note).unwrap_or_default() != "done\n" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(ended).await;
    std::fs::remove_file(&note).unwrap();
}

/// Whether there is a process group with the number of the server.
fn leads_a_group(server: &Server) -> bool {
    let status = Command::new("sh").args(["-c", &format!("kill -s 0 -- -{} 2>/dev/null", server.pid())]).status();
    status.expect("sh is there").success()
}

#[tokio::test]
async fn has_a_process_group_of_its_own_if_asked() {
    for own in [false, true] {
        let server = Server::options().own_process_group(own).spawn(script("read -r line")).unwrap();
        assert_eq!(leads_a_group(&server), own);
    }
}

#[tokio::test]
async fn speaks_header_framing() {
    let text = r#"printf 'Content-Length: 45\r\n\r\n{"jsonrpc":"2.0","method":"hello","params":1}'; cat >/dev/null"#;
    let server = Server::options().framing(Framing::Headers).spawn(script(text)).unwrap();
    assert_eq!(within(server.next_notification()).await.unwrap().parse::<u8>().unwrap(), 1);
}

#[tokio::test]
async fn carries_large_messages_and_many_at_once() {
    let server = Arc::new(Server::spawn(script("exec python3 -u -c 'import sys,json\nfor l in sys.stdin:\n r=json.loads(l)\n print(json.dumps({\"jsonrpc\":\"2.0\",\"id\":r[\"id\"],\"result\":r[\"params\"]}))'")).unwrap());
    let calls = (0..40).map(|i| {
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let params = json!({ "i": i, "text": "x".repeat(i * 100_000) });
            let reply: Value = server.request("echo", &params).await.unwrap();
            assert_eq!(reply, params);
        })
    });
    for call in calls.collect::<Vec<_>>() {
        within(call).await.unwrap();
    }
}
