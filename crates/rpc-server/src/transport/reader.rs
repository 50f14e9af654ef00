//! The task that reads and parses what the client sends.

use std::future::{Future, poll_fn};
use std::num::NonZero;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::AsyncRead;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::envelope::Incoming;
use super::frame::{Frame, FrameReader, Framing};
use super::outbound::Outbound;
use super::source::Source;
use crate::errors::RpcError;

/// Maximum number of messages that wait for the server's loop. Beyond that the pipe holds back the client.
const WAITING_MESSAGES: usize = 64;
/// Messages of at least this many bytes are parsed on a worker thread.
const LARGE_BYTES: usize = 256 * 1024;
/// Interval between checks whether the client has gone, while the loop is not reading.
const CLOSED_CHECK: Duration = Duration::from_secs(1);

/// What the reader sends to the loop.
#[derive(Debug)]
pub enum Input {
    /// A message, with its size in bytes.
    Message(Incoming, usize),
    /// The end of input. A read error ends the input as well.
    End,
}

/// Starts reading, in the runtime of the caller. The task ends with the input and then cancels `ended`.
pub fn read_messages(
    source: &impl AsFd,
    framing: Option<Framing>,
    max_message_bytes: usize,
    outbound: Outbound,
    ended: CancellationToken,
) -> std::io::Result<mpsc::Receiver<Input>> {
    let (sender, receiver) = mpsc::channel(WAITING_MESSAGES);
    if let Some(framing) = framing {
        outbound.set_framing(framing);
    }
    let mut frames = FrameReader::new(Source::new(source)?, framing, max_message_bytes);
    tokio::spawn(async move {
        let mut busy_wait = BusyWait::new();
        while let Some(input) = busy_wait.wait(next_input(&mut frames, &outbound, max_message_bytes)).await {
            match room(&sender, &frames, &ended).await {
                Some(room) => room.send(input),
                None => return,
            }
        }
        // The loop may be busy with earlier messages, and the end must not wait in the queue.
        ended.cancel();
        // The loop may have ended already.
        let _ = sender.send(Input::End).await;
    });
    Ok(receiver)
}

/// Waits until the loop takes a message. `None` if the loop has ended. Meanwhile, cancels `ended` if the client has
/// closed the input.
async fn room<'a>(
    sender: &'a mpsc::Sender<Input>,
    frames: &FrameReader<Source>,
    ended: &CancellationToken,
) -> Option<mpsc::Permit<'a, Input>> {
    if let Ok(room) = sender.try_reserve() {
        return Some(room);
    }
    let mut room = pin!(sender.reserve());
    loop {
        match timeout(CLOSED_CHECK, &mut room).await {
            Ok(room) => return room.ok(),
            Err(_) if frames.source().is_closed() => ended.cancel(),
            Err(_) => {}
        }
    }
}

async fn next_input<R: AsyncRead + Unpin>(
    frames: &mut FrameReader<R>,
    outbound: &Outbound,
    limit: usize,
) -> Option<Input> {
    let known_framing = frames.framing();
    let frame = match frames.next_frame().await {
        Ok(frame) => frame?,
        Err(error) => {
            tracing::warn!(%error, "reading standard input failed");
            return None;
        }
    };
    if let Some(framing) = frames.framing().filter(|_| known_framing.is_none()) {
        outbound.set_framing(framing);
    }
    Some(match frame {
        Frame::Message(bytes) => {
            let length = bytes.len();
            Input::Message(parsed(bytes).await?, length)
        }
        Frame::TooLarge { bytes } => {
            let message = format!("a message of {bytes} bytes is over the limit of {limit} bytes");
            Input::Message(Incoming::invalid(RpcError::InvalidRequest { message }), 0)
        }
        Frame::BadHeaders { line } => {
            let message = format!("no usable Content-Length: {line}");
            Input::Message(Incoming::invalid(RpcError::Parse { message }), 0)
        }
    })
}

/// Parses a message. `None` if the server has ended meanwhile. A long message gets a thread of its own, because the
/// threads for calls may all be waiting for a message that cancels them.
async fn parsed(bytes: Vec<u8>) -> Option<Incoming> {
    if bytes.len() < LARGE_BYTES {
        return Some(Incoming::parse(&bytes));
    }
    let (sender, parsed) = oneshot::channel();
    let bytes = Arc::new(bytes);
    let large = Arc::clone(&bytes);
    // The receiver may be gone.
    let parse = move || drop(sender.send(Incoming::parse(&large)));
    match thread::Builder::new().name("parser".to_owned()).spawn(parse) {
        Ok(_) => parsed.await.ok(),
        Err(_) => Some(Incoming::parse(&bytes)),
    }
}

/// Maximum time that the loop polls for the next message, and maximum distance of two messages before that.
const QUICK: Duration = Duration::from_micros(100);

/// Polls for the next message of a client that sends one right after the other.
///
/// Sleeping and waking take longer than most calls: on virtual machines 20 µs and more on each side. So the loop polls
/// for a moment if the last messages came that quickly. A slow client costs nothing
/// (docs/decisions/0015-reading-in-the-loop.md).
#[derive(Debug)]
pub(super) struct BusyWait {
    /// When the last message came.
    last: Instant,
    is_quick: bool,
    /// Whether there is a processor for the client besides ours. Determined when it first matters.
    has_spare_processor: Option<bool>,
}

impl BusyWait {
    fn new() -> Self {
        Self { last: Instant::now(), is_quick: false, has_spare_processor: None }
    }

    /// Waits for a message, first by polling if the last ones came quickly. Other tasks continue.
    async fn wait<T>(&mut self, message: impl Future<Output = T>) -> T {
        let mut message = pin!(message);
        while self.is_awake() {
            let polled = poll_fn(|context| Poll::Ready(message.as_mut().poll(context))).await;
            if let Poll::Ready(message) = polled {
                return self.received(message);
            }
            tokio::task::yield_now().await;
        }
        let message = message.await;
        self.received(message)
    }

    fn is_awake(&mut self) -> bool {
        let is_soon = self.is_quick && self.last.elapsed() < QUICK;
        is_soon && *self.has_spare_processor.get_or_insert_with(has_spare_processor)
    }

    fn received<T>(&mut self, message: T) -> T {
        let now = Instant::now();
        self.is_quick = now.duration_since(self.last) < QUICK;
        self.last = now;
        message
    }
}

/// On a single processor the client cannot run while the loop polls.
fn has_spare_processor() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors > NonZero::<usize>::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    fn awake() -> BusyWait {
        BusyWait { last: Instant::now(), is_quick: true, has_spare_processor: Some(true) }
    }

    async fn hand_over(busy_wait: &mut BusyWait) {
        let (sender, mut receiver) = mpsc::channel(1);
        let other = tokio::spawn(async move {
            for number in 0..1000 {
                sender.send(number).await.unwrap();
                if number % 10 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
        for number in 0..1000 {
            assert_eq!(busy_wait.wait(receiver.recv()).await, Some(number));
        }
        assert_eq!(busy_wait.wait(receiver.recv()).await, None);
        other.await.unwrap();
    }

    #[tokio::test]
    async fn messages_come_in_order_and_others_go_on() {
        hand_over(&mut awake()).await;
        hand_over(&mut BusyWait { has_spare_processor: Some(false), ..awake() }).await;
        hand_over(&mut BusyWait { is_quick: false, ..awake() }).await;
    }

    #[tokio::test]
    async fn a_slow_client_is_waited_for_asleep() {
        let mut busy_wait = awake();
        busy_wait.wait(tokio::time::sleep(QUICK * 20)).await;
        assert!(!busy_wait.is_awake());
        busy_wait.wait(async {}).await;
        // The speed depends on the machine. A wait without end must end polling as well.
        busy_wait.is_quick = true;
        while busy_wait.is_awake() {}
        assert!(busy_wait.is_quick);
    }

    #[tokio::test]
    async fn a_lone_processor_is_left_to_the_client() {
        let mut busy_wait = BusyWait { has_spare_processor: Some(false), ..awake() };
        assert!(!busy_wait.is_awake());
    }
}
