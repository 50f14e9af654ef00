//! The lines between an MCP client and the SDK. The SDK drops some lines that it cannot read, and the client would wait
//! for an answer without end. Here every request has one, with its id if it can be read.

use std::future::Future;
use std::io;
use std::sync::Arc;

use compaction_core::json::{Json, RawObject, replace_lone_surrogates};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use rpc_server::errors::RpcError;
use rpc_server::transport::{Frame, FrameReader, Framing, Incoming, Part, RawId};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, mpsc};

/// Maximum number of bytes of a line from the client. A longer one is skipped and answered by an error.
const MAX_LINE: usize = 16 << 20;
/// Some shells put a byte order mark before the first text that they pipe.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The transport of the SDK. A task reads the lines, since the SDK stops a read whenever it has something to send.
pub(super) struct Lines<W> {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    output: Arc<Mutex<W>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    /// Starts to read from `input`, in the runtime of the caller.
    pub(super) fn new(input: impl AsyncRead + Send + Unpin + 'static, output: W) -> Self {
        // One message waits, so that the memory for messages stays bounded.
        let (sender, messages) = mpsc::channel(1);
        let output = Arc::new(Mutex::new(output));
        let frames = FrameReader::new(input, Some(Framing::Lines), MAX_LINE);
        tokio::spawn(read(frames, sender, Arc::clone(&output)));
        Self { messages, output }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write(&output, serde_json::to_string(&message)?).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Passes messages on, and answers lines that are not messages, until the input or the output ends.
async fn read<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    mut frames: FrameReader<R>,
    sender: mpsc::Sender<ClientJsonRpcMessage>,
    output: Arc<Mutex<W>>,
) {
    while let Ok(Some(frame)) = frames.next_frame().await {
        let is_open = match Line::of(&frame) {
            Line::Message(message) => sender.send(*message).await.is_ok(),
            Line::Answered(answer) => write(&output, answer).await.is_ok(),
            Line::Ignored => true,
        };
        if !is_open {
            return;
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut line: String) -> io::Result<()> {
    line.push('\n');
    let mut output = output.lock().await;
    output.write_all(line.as_bytes()).await?;
    output.flush().await
}

/// What happens to a line.
enum Line {
    Message(Box<ClientJsonRpcMessage>),
    /// It is not a message for the SDK; this is the answer.
    Answered(String),
    /// It is not a message for the SDK, and such a line has no answer.
    Ignored,
}

impl Line {
    fn of(frame: &Frame) -> Self {
        let bytes = match frame {
            Frame::Message(bytes) => bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes),
            Frame::TooLarge { bytes, start } => {
                let id = id_at_start(&String::from_utf8_lossy(start));
                return Self::refused(id.as_ref(), &RpcError::MessageTooLarge { bytes: *bytes, limit: MAX_LINE });
            }
            // Lines have no headers.
            Frame::BadHeaders { line } => return Self::refused(None, &RpcError::Parse { message: line.clone() }),
        };
        let text = String::from_utf8_lossy(bytes);
        match Incoming::parse(bytes) {
            Incoming::Single(Part::Call(call)) => Self::of_call(&text, call.id),
            Incoming::Single(Part::Answer(_)) => message(&text).map_or(Self::Ignored, Self::Message),
            Incoming::Single(Part::Empty(id)) => {
                Self::refused(Some(&id), &RpcError::invalid_request("method is missing"))
            }
            Incoming::Single(Part::Invalid(id, error)) => {
                Self::refused(id.or_else(|| id_at_start(&text)).as_ref(), &error)
            }
            Incoming::Batch(parts) => Self::of_batch(&parts),
        }
    }

    fn of_call(text: &str, id: Option<RawId>) -> Self {
        let reason = match (message(text), &id) {
            (Ok(message), _) => return Self::Message(message),
            // Notifications of other protocols are not errors.
            (Err(_), None) => return Self::Ignored,
            (Err(_), Some(id)) if !is_mcp_id(id) => "an id is a string or an integer of 64 bits".to_owned(),
            (Err(_), Some(_)) if !has_object_params(text) => "params is an object".to_owned(),
            (Err(error), Some(_)) => format!("the request cannot be read: {error}"),
        };
        Self::refused(id.as_ref(), &RpcError::InvalidRequest { message: reason })
    }

    /// The answer to a batch: every member with an id is refused, so that nobody waits for it. Only one version of the
    /// protocol had batches.
    fn of_batch(parts: &[Part]) -> Self {
        let refused = RpcError::invalid_request("batches are not served: send each message on a line of its own");
        let id = |part: &Part| match part {
            Part::Call(call) => call.id.clone(),
            Part::Empty(id) => Some(id.clone()),
            Part::Invalid(id, _) => id.clone(),
            Part::Answer(_) => None,
        };
        let answers: Vec<String> = parts.iter().filter_map(id).map(|id| answer(Some(&id), &refused)).collect();
        match answers.is_empty() {
            true => Self::refused(None, &refused),
            false => Self::Answered(format!("[{}]", answers.join(","))),
        }
    }

    fn refused(id: Option<&RawId>, error: &RpcError) -> Self {
        Self::Answered(answer(id, error))
    }
}

/// The message as the SDK reads it. Half a surrogate pair, as programs leave that cut text by UTF-16 units, counts as
/// U+FFFD.
fn message(text: &str) -> serde_json::Result<Box<ClientJsonRpcMessage>> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&replace_lone_surrogates(text))).map(Box::new)
}

fn is_mcp_id(id: &RawId) -> bool {
    id.get().starts_with('"') || id.get().parse::<i64>().is_ok()
}

fn has_object_params(text: &str) -> bool {
    let object = RawObject::parse(text);
    object.is_ok_and(|object| object.get("params").is_none_or(|params| params.starts_with('{')))
}

/// The id of a message that is broken after it.
fn id_at_start(text: &str) -> Option<RawId> {
    RawId::parse(&Json::parse_start(text).ok()?.get("id")?.to_compact())
}

/// The answer to a message that is refused.
fn answer(id: Option<&RawId>, error: &RpcError) -> String {
    let id = id.map_or("null", RawId::get);
    let error = json!({ "code": error.code(), "message": error.to_string(), "data": error.data() });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the code, the id and a part of the message that answer a line.
    #[track_caller]
    fn check(line: impl AsRef<[u8]>, code: i32, id: &str, part: &str) {
        let Line::Answered(answer) = Line::of(&Frame::Message(line.as_ref().to_vec())) else {
            panic!("{}", String::from_utf8_lossy(line.as_ref()));
        };
        assert!(answer.starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":")), "{answer}");
        let error = &serde_json::from_str::<serde_json::Value>(&answer).expect("JSON")["error"];
        assert_eq!(error["code"], code, "{answer}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(part)), "{answer}");
    }

    fn call(id: &str, params: &str) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}")
    }

    #[test]
    fn what_the_sdk_cannot_read_is_answered_with_its_id() {
        let deep = format!("{{\"name\":\"search\",\"arguments\":{}{}}}", "[".repeat(130), "]".repeat(130));
        check(call("1", &deep), -32600, "1", "recursion limit");
        check(call("2", "{\"name\":\"search\",\"arguments\":{\"limit\":1e999}}"), -32600, "2", "out of range");
        check(call("\"three\"", "[]"), -32600, "\"three\"", "params is an object");
        check(call("4.5", "{}"), -32600, "4.5", "an id is");
        check(call("99999999999999999999", "{}"), -32600, "99999999999999999999", "an id is");
        check(call("null", "{}"), -32600, "null", "an id is");
        check("{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", -32600, "5", "jsonrpc must be");
        check("{\"jsonrpc\":\"2.0\",\"id\":6}", -32600, "6", "method is missing");
        check(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"a\":\"\xFF\"}}", -32700, "7", "UTF-8");
        check("{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":", -32700, "8", "not JSON");
        check("not JSON", -32700, "null", "not JSON");
        check("7", -32600, "null", "a JSON object");
        check("[]", -32600, "null", "a batch");
        check("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]", -32600, "null", "batches");
    }

    #[test]
    fn each_request_of_a_batch_is_refused() {
        let batch = format!("[{},{{\"jsonrpc\":\"2.0\",\"method\":\"a\"}},{}]", call("1", "{}"), call("\"b\"", "{}"));
        let Line::Answered(answers) = Line::of(&Frame::Message(batch.into_bytes())) else {
            panic!("it is answered");
        };
        let answers: serde_json::Value = serde_json::from_str(&answers).expect("JSON");
        let ids: Vec<_> = answers.as_array().expect("a list").iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(ids, [json!(1), json!("b")]);
    }

    #[test]
    fn a_line_over_the_limit_is_answered() {
        let start = call("9", "{\"name\":\"sea").into_bytes();
        let Line::Answered(answer) = Line::of(&Frame::TooLarge { bytes: 20_000_000, start }) else {
            panic!("it is answered");
        };
        assert!(answer.contains("\"id\":9,") && answer.contains("-32600"), "{answer}");
        assert!(answer.contains("the limit of 16777216 bytes"), "{answer}");
    }

    #[test]
    fn half_a_surrogate_pair_is_read() {
        let line = "\u{feff}".to_owned() + &call("1", r#"{"name":"search","arguments":{"query":"a\ud83d"}}"#);
        let Line::Message(message) = Line::of(&Frame::Message(line.into_bytes())) else {
            panic!("it is a message");
        };
        assert!(serde_json::to_string(&message).expect("JSON").contains("a\u{fffd}"));
    }

    #[test]
    fn what_nobody_waits_for_is_ignored() {
        for line in [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":7}"#,
        ] {
            assert!(matches!(Line::of(&Frame::Message(line.into())), Line::Ignored), "{line}");
        }
    }
}
