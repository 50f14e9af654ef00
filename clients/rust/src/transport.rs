//! Between jsonrpsee and the pipes: its transport, the sorting of what the server sends (replies for jsonrpsee,
//! notifications, requests, and stray lines), and the ids of the requests under way.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jsonrpsee::core::client::{Error, ReceivedMessage, TransportReceiverT, TransportSenderT};
use jsonrpsee::core::middleware::{Batch, Notification as Sent, RpcServiceT};
use jsonrpsee::types::{Id, Request};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::MessageTooLarge;
use crate::answers::Answering;
use crate::framing::{FrameReader, Framing, FramingError};
use crate::notifications::{Notification, Queue};
use crate::options::{Direction, Tap};

/// Messages that wait for the pipe at most; more make the callers wait.
const WAITING_MESSAGES: usize = 64;
/// Bytes of a stray message that the log shows.
const SHOWN_BYTES: usize = 500;
/// Bytes per read; pipes hold 64 KiB on Linux.
const READ_BYTES: usize = 64 << 10;

/// Why the connection ended; stands behind "server is gone".
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("it closed its output")]
    Ended,
    #[error("it closed its input")]
    InputClosed,
    #[error("reading from it failed: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    Framing(#[from] FramingError),
}

/// Takes messages from jsonrpsee.
pub(crate) struct Sender(pub(crate) mpsc::Sender<String>);

impl TransportSenderT for Sender {
    type Error = TransportError;

    async fn send(&mut self, message: String) -> Result<(), TransportError> {
        self.0.send(message).await.map_err(|_| TransportError::InputClosed)
    }
}

/// Starts the task that writes; the pipe closes when all senders are gone.
pub(crate) fn start_writing(
    mut pipe: impl AsyncWrite + Unpin + Send + 'static,
    framing: Framing,
    tap: Option<Tap>,
) -> mpsc::Sender<String> {
    let (sender, mut messages) = mpsc::channel::<String>(WAITING_MESSAGES);
    tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            if let Some(tap) = &tap {
                tap(Direction::Sent, &message);
            }
            if pipe.write_all(&framing.encode(message.as_bytes())).await.is_err() {
                break; // Senders see the closed channel; the reader says why the server ended.
            }
        }
    });
    sender
}

/// Gives messages to jsonrpsee.
pub(crate) struct Receiver<R> {
    pipe: R,
    frames: FrameReader,
    incoming: Incoming,
    tap: Option<Tap>,
    chunk: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Receiver<R> {
    /// Reads from `pipe`.
    pub(crate) fn new(pipe: R, framing: Framing, incoming: Incoming, tap: Option<Tap>) -> Self {
        Self { pipe, frames: FrameReader::new(framing), incoming, tap, chunk: vec![0; READ_BYTES] }
    }

    async fn next_reply(&mut self) -> Result<String, TransportError> {
        loop {
            while let Some(frame) = self.frames.next_frame() {
                if let Some(reply) = self.sort(frame?) {
                    return Ok(reply);
                }
            }
            self.read().await?;
        }
    }

    fn sort(&self, frame: Vec<u8>) -> Option<String> {
        if let Some(tap) = &self.tap {
            tap(Direction::Received, &String::from_utf8_lossy(&frame));
        }
        self.incoming.sort(frame)
    }

    async fn read(&mut self) -> Result<(), TransportError> {
        let count = self.pipe.read(&mut self.chunk).await?;
        if count == 0 {
            self.frames.finish()?;
            return Err(TransportError::Ended);
        }
        self.frames.push(&self.chunk[..count]);
        Ok(())
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> TransportReceiverT for Receiver<R> {
    type Error = TransportError;

    async fn receive(&mut self) -> Result<ReceivedMessage, TransportError> {
        let outcome = self.next_reply().await;
        if let Err(error) = &outcome {
            self.incoming.close(error.to_string());
        }
        outcome.map(ReceivedMessage::Text)
    }
}

impl<R> Drop for Receiver<R> {
    fn drop(&mut self) {
        self.incoming.close("client was closed".into());
    }
}

/// Where the messages of the server go.
pub(crate) struct Incoming {
    pub(crate) pending: Pending,
    pub(crate) notifications: Arc<Queue>,
    pub(crate) answering: Answering,
    /// Messages that are neither reply nor notification nor request, blank lines aside.
    pub(crate) strays: Arc<AtomicU64>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl Incoming {
    /// Deals with a message, and returns it if it is a reply that somebody waits for.
    ///
    /// jsonrpsee must not see anything else: it ends at the first message that it does not expect.
    pub(crate) fn sort(&self, message: Vec<u8>) -> Option<String> {
        if message.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let message = without_surrogate_halves(message);
        let text = str::from_utf8(&message).ok();
        let Some(is_reply) = text.and_then(|text| self.is_reply(text)) else {
            let refusal = text.and_then(|text| self.refusal(text));
            if refusal.is_none() {
                self.strays.fetch_add(1, Ordering::Relaxed);
                let start = String::from_utf8_lossy(&message[..message.len().min(SHOWN_BYTES)]);
                tracing::warn!("the server sent what nobody waits for: {start}");
            }
            return refusal;
        };
        is_reply.then(|| String::from_utf8(message).ok()).flatten()
    }

    /// The reply for the request that the server refused unread, for which its error has no id. A message of that
    /// length is never answered, so a request of that length is certainly refused.
    fn refusal(&self, text: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Refusal<'a> {
            #[serde(borrow)]
            error: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct Body<'a> {
            #[serde(borrow)]
            data: &'a RawValue,
        }
        let Refusal { error } = serde_json::from_str(text).ok()?;
        let Body { data } = serde_json::from_str(error.get()).ok()?;
        let id = self.pending.take_of_length(MessageTooLarge::of(data)?.bytes)?;
        Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}"))
    }

    /// Says that nothing more will come, and why; nobody is left to want our answers.
    pub(crate) fn close(&self, reason: String) {
        self.notifications.close(reason);
        self.answering.end();
    }

    /// Whether the message is a reply; anything else is dealt with. `None` if it is a stray.
    fn is_reply(&self, text: &str) -> Option<bool> {
        let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
        let params = envelope.params.unwrap_or(RawValue::NULL);
        match (envelope.method, envelope.id) {
            (Some(method), Some(id)) => self.answering.start(id, &method, params),
            (Some(method), None) => self.notify(method.into_owned(), params),
            (None, Some(id)) => return id.get().parse().ok().filter(|id| self.pending.take(*id, text)).map(|_| true),
            (None, None) => return None,
        }
        Some(false)
    }

    fn notify(&self, method: String, params: &RawValue) {
        if method == "$/cancelRequest" {
            self.answering.cancel(params);
        }
        self.notifications.push(Notification { method, params: params.to_owned() });
    }
}

/// Replaces escapes of half a surrogate pair by `\ufffd`. Programs that cut text by UTF-16 units leave such
/// halves in sessions, and the server passes them on; Rust strings cannot hold them.
fn without_surrogate_halves(mut message: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Some(found) = message[at..].iter().position(|byte| *byte == b'\\') {
        at += found;
        at += match (surrogate(&message, at), surrogate(&message, at + 6)) {
            (None, _) => 2,
            (Some(..0xDC00), Some(0xDC00..)) => 12,
            (Some(_), _) => {
                message[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
        };
        if at >= message.len() {
            break;
        }
    }
    message
}

/// The half of a surrogate pair whose escape is at `at`.
fn surrogate(message: &[u8], at: usize) -> Option<u16> {
    let digits = message.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

tokio::task_local! {
    /// Where the layer leaves the id for the future that makes the request.
    static SLOT: Arc<OnceLock<u64>>;
}

/// Runs `request` and leaves the id that it got in `slot`.
pub(crate) async fn with_slot<F: Future>(slot: Arc<OnceLock<u64>>, request: F) -> F::Output {
    SLOT.scope(slot, request).await
}

/// The requests whose replies have not come, and the limit of a message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pending(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    /// Bytes of the messages, by the ids.
    bytes: BTreeMap<u64, u64>,
    /// The id of `initialize`.
    initialize: Option<u64>,
    /// What the server reads at most, once `initialize` has told it.
    limit: Option<u64>,
}

impl Pending {
    /// Takes the id off the list; false if it is not on it. The reply to `initialize` tells the limit.
    fn take(&self, id: u64, reply: &str) -> bool {
        let mut waiting = self.waiting();
        if waiting.initialize == Some(id) {
            waiting.limit = limit_of(reply);
        }
        waiting.bytes.remove(&id).is_some()
    }

    /// Takes the first request whose message has so many bytes off the list.
    fn take_of_length(&self, bytes: u64) -> Option<u64> {
        let mut waiting = self.waiting();
        let id = waiting.bytes.iter().find_map(|(id, length)| (*length == bytes).then_some(*id))?;
        waiting.bytes.remove(&id);
        Some(id)
    }

    /// Fails for a message of so many bytes if the server would not read it.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), MessageTooLarge> {
        match self.waiting().limit {
            Some(limit) if bytes > limit => Err(MessageTooLarge { bytes, limit }),
            _ => Ok(()),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of a message that the server reads.
    fn checked(&self, message: &impl Serialize) -> Result<u64, Error> {
        let bytes = length(message)?;
        self.check(bytes).map_err(|refused| Error::Transport(refused.into()))?;
        Ok(bytes)
    }

    fn note(&self, request: &Request<'_>) -> Result<(), Error> {
        let bytes = self.checked(request)?;
        if let Id::Number(id) = request.id {
            let mut waiting = self.waiting();
            waiting.bytes.insert(id, bytes);
            if request.method == "initialize" {
                waiting.initialize = Some(id);
            }
            // Outside of `with_slot` nobody wants to know.
            let _unwanted = SLOT.try_with(|slot| slot.set(id));
        }
        Ok(())
    }
}

/// What the reply to `initialize` says of the bytes of a message; older servers say nothing.
fn limit_of(reply: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Reply {
        result: Initialized,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        max_message_bytes: Option<u64>,
    }
    serde_json::from_str::<Reply>(reply).ok()?.result.max_message_bytes
}

/// Bytes of a message as JSON.
fn length(message: &impl Serialize) -> Result<u64, serde_json::Error> {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, message)?;
    Ok(count.0)
}

/// The layer: jsonrpsee gives out the ids and hides them, so it looks at each message on its way out.
#[derive(Debug, Clone)]
pub(crate) struct NoteIds<S> {
    pub(crate) inner: S,
    pub(crate) pending: Pending,
}

impl<S, M, N> RpcServiceT for NoteIds<S>
where
    S: RpcServiceT<MethodResponse = Result<M, Error>, NotificationResponse = Result<N, Error>>,
{
    type MethodResponse = Result<M, Error>;
    type NotificationResponse = Result<N, Error>;
    type BatchResponse = S::BatchResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = Self::MethodResponse> + Send + 'a {
        let noted = self.pending.note(&request);
        let sent = self.inner.call(request);
        async move {
            noted?;
            sent.await
        }
    }

    fn batch<'a>(&self, requests: Batch<'a>) -> impl Future<Output = Self::BatchResponse> + Send + 'a {
        self.inner.batch(requests)
    }

    fn notification<'a>(&self, notification: Sent<'a>) -> impl Future<Output = Self::NotificationResponse> + Send + 'a {
        let checked = self.pending.checked(&notification).map(|_| ());
        let sent = self.inner.notification(notification);
        async move {
            checked?;
            sent.await
        }
    }
}
