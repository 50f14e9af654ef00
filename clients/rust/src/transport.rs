//! Between jsonrpsee and the pipes: its transport, the sorting of what the server sends (replies for jsonrpsee,
//! notifications, requests, and stray lines), and the ids of the requests under way.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jsonrpsee::core::client::{ReceivedMessage, TransportReceiverT, TransportSenderT};
use jsonrpsee::core::middleware::{Batch, Notification as Sent, RpcServiceT};
use jsonrpsee::types::{Id, Request};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::answers::Answering;
use crate::framing::{FrameReader, Framing, FramingError};
use crate::notifications::{Notification, Queue};
use crate::options::{Direction, Tap};

/// Messages that wait for the pipe at most; more make the callers wait.
const WAITING_MESSAGES: usize = 64;
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
    pub(crate) pending: PendingIds,
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
        let text = String::from_utf8(without_surrogate_halves(message));
        let Some(is_reply) = text.as_deref().ok().and_then(|text| self.is_reply(text)) else {
            self.strays.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        text.ok().filter(|_| is_reply)
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
            (None, Some(id)) => return id.get().parse().ok().filter(|id| self.pending.take(*id)).map(|_| true),
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

/// Ids whose replies have not come.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingIds(Arc<Mutex<HashSet<u64>>>);

impl PendingIds {
    /// Takes the id off the list; false if it is not on it.
    pub(crate) fn take(&self, id: u64) -> bool {
        self.ids().remove(&id)
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, id: &Id<'_>) {
        if let Id::Number(id) = *id {
            self.ids().insert(id);
            // Outside of `with_slot` nobody wants to know.
            let _unwanted = SLOT.try_with(|slot| slot.set(id));
        }
    }
}

/// The layer: jsonrpsee gives out the ids and hides them, so it looks at each request on its way out.
#[derive(Debug, Clone)]
pub(crate) struct NoteIds<S> {
    pub(crate) inner: S,
    pub(crate) pending: PendingIds,
}

impl<S: RpcServiceT> RpcServiceT for NoteIds<S> {
    type MethodResponse = S::MethodResponse;
    type NotificationResponse = S::NotificationResponse;
    type BatchResponse = S::BatchResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = Self::MethodResponse> + Send + 'a {
        self.pending.note(&request.id);
        self.inner.call(request)
    }

    fn batch<'a>(&self, requests: Batch<'a>) -> impl Future<Output = Self::BatchResponse> + Send + 'a {
        self.inner.batch(requests)
    }

    fn notification<'a>(&self, notification: Sent<'a>) -> impl Future<Output = Self::NotificationResponse> + Send + 'a {
        self.inner.notification(notification)
    }
}
