//! The task that reads and parses what the client sends.

use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::envelope::Incoming;
use super::frame::{Frame, FrameReader, Framing};
use super::linger::Linger;
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
