//! The thread that reads and parses what the client sends.

use std::io::Read;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::envelope::Incoming;
use super::frame::{Frame, FrameReader, Framing};
use super::outbound::Outbound;
use crate::errors::RpcError;

/// Messages that wait for the server's loop; the pipe itself holds back a client beyond that.
const WAITING_MESSAGES: usize = 64;

/// What the reader has to tell.
#[derive(Debug)]
pub enum Input {
    /// A message, with its size in bytes.
    Message(Incoming, usize),
    /// The end of input, or a read error, which ends it as well.
    End,
}

/// Starts the reading thread. It ends with the input, and cancels `ended` then.
pub fn spawn_reader(
    source: impl Read + Send + 'static,
    framing: Option<Framing>,
    max_message_bytes: usize,
    outbound: Outbound,
    ended: CancellationToken,
) -> std::io::Result<mpsc::Receiver<Input>> {
    let (sender, receiver) = mpsc::channel(WAITING_MESSAGES);
    let mut frames = FrameReader::new(source, framing, max_message_bytes);
    let read = move || {
        while let Some(input) = next_input(&mut frames, &outbound, max_message_bytes) {
            if sender.blocking_send(input).is_err() {
                return;
            }
        }
        // The loop may be busy with what came before; the end itself must not wait in the queue.
        ended.cancel();
        // The loop may be gone already; then nobody needs to know.
        let _ = sender.blocking_send(Input::End);
    };
    std::thread::Builder::new().name("reader".to_owned()).spawn(read)?;
    Ok(receiver)
}

fn next_input<R: Read>(frames: &mut FrameReader<R>, outbound: &Outbound, limit: usize) -> Option<Input> {
    let frame = match frames.next_frame() {
        Ok(frame) => frame?,
        Err(error) => {
            tracing::warn!(%error, "reading standard input failed");
            return None;
        }
    };
    if let Some(framing) = frames.framing() {
        outbound.set_framing(framing);
    }
    Some(match frame {
        Frame::Message(bytes) => Input::Message(Incoming::parse(&bytes), bytes.len()),
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
