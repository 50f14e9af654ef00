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

/// Messages that wait for the server's loop; the pipe itself holds back a client beyond that.
const WAITING_MESSAGES: usize = 64;
/// Bytes of a message from which on a thread of its own parses it, so that the loop goes on.
const LARGE_BYTES: usize = 256 * 1024;
/// How often it is checked whether the client has gone that keeps the loop from reading on.
const CLOSED_CHECK: Duration = Duration::from_secs(1);

/// What the reader has to tell.
#[derive(Debug)]
pub enum Input {
    /// A message, with its size in bytes.
    Message(Incoming, usize),
    /// The end of input, or a read error, which ends it as well.
    End,
}

/// Starts to read, in the runtime of the caller. It ends with the input, and cancels `ended` then.
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
        let mut linger = Linger::new();
        while let Some(input) = linger.wait(next_input(&mut frames, &outbound, max_message_bytes)).await {
            match room(&sender, &frames, &ended).await {
                Some(room) => room.send(input),
                None => return,
            }
        }
        // The loop may be busy with what came before; the end itself must not wait in the queue.
        ended.cancel();
        // The loop may be gone already; then nobody needs to know.
        let _ = sender.send(Input::End).await;
    });
    Ok(receiver)
}

/// Waits until the loop takes a message; `None` when it is gone. Meanwhile the end of input is
/// noticed although it cannot be reached, and cancels `ended`.
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

/// What a message says; `None` when the server has ended meanwhile. A thread of its own waits for
/// none of the calls: what cancels them may come behind this message.
async fn parsed(bytes: Vec<u8>) -> Option<Incoming> {
    if bytes.len() < LARGE_BYTES {
        return Some(Incoming::parse(&bytes));
    }
    let (sender, parsed) = oneshot::channel();
    let bytes = Arc::new(bytes);
    let large = Arc::clone(&bytes);
    // Where nobody waits any more, nobody needs to know.
    let parse = move || drop(sender.send(Incoming::parse(&large)));
    match thread::Builder::new().name("parser".to_owned()).spawn(parse) {
        Ok(_) => parsed.await.ok(),
        Err(_) => Some(Incoming::parse(&bytes)),
    }
}

/// How long the loop stays awake after a message, and how soon the one before must have been
/// followed by it.
const QUICK: Duration = Duration::from_micros(100);

/// How quickly messages follow each other.
#[derive(Debug)]
pub(super) struct Linger {
    /// When the last message came.
    last: Instant,
    is_quick: bool,
    /// Whether there is a processor for the client beside ours; asked for when it matters.
    has_company: Option<bool>,
}

impl Linger {
    fn new() -> Self {
        Self { last: Instant::now(), is_quick: false, has_company: None }
    }

    /// Waits for a message, at first awake where the last ones came quickly. All other tasks go on.
    async fn wait<T>(&mut self, message: impl Future<Output = T>) -> T {
        let mut message = pin!(message);
        while self.is_awake() {
            let polled = poll_fn(|context| Poll::Ready(message.as_mut().poll(context))).await;
            if let Poll::Ready(message) = polled {
                return self.came(message);
            }
            tokio::task::yield_now().await;
        }
        let message = message.await;
        self.came(message)
    }

    fn is_awake(&mut self) -> bool {
        let is_soon = self.is_quick && self.last.elapsed() < QUICK;
        is_soon && *self.has_company.get_or_insert_with(has_company)
    }

    fn came<T>(&mut self, message: T) -> T {
        let now = Instant::now();
        self.is_quick = now.duration_since(self.last) < QUICK;
        self.last = now;
        message
    }
}

/// On a lone processor the client could not run while we are awake.
fn has_company() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors > NonZero::<usize>::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    fn awake() -> Linger {
        Linger { last: Instant::now(), is_quick: true, has_company: Some(true) }
    }

    async fn hand_over(linger: &mut Linger) {
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
            assert_eq!(linger.wait(receiver.recv()).await, Some(number));
        }
        assert_eq!(linger.wait(receiver.recv()).await, None);
        other.await.unwrap();
    }

    #[tokio::test]
    async fn messages_come_in_order_and_others_go_on() {
        hand_over(&mut awake()).await;
        hand_over(&mut Linger { has_company: Some(false), ..awake() }).await;
        hand_over(&mut Linger { is_quick: false, ..awake() }).await;
    }

    #[tokio::test]
    async fn a_slow_client_is_waited_for_asleep() {
        let mut linger = awake();
        linger.wait(tokio::time::sleep(QUICK * 20)).await;
        assert!(!linger.is_awake());
        linger.wait(async {}).await;
        // How quick that was is the machine's affair; a wait without end must end awake time as well.
        linger.is_quick = true;
        while linger.is_awake() {}
        assert!(linger.is_quick);
    }

    #[tokio::test]
    async fn a_lone_processor_is_left_to_the_client() {
        let mut linger = Linger { has_company: Some(false), ..awake() };
        assert!(!linger.is_awake());
    }
}
