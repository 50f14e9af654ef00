//! The two halves of jsonrpsee's transport, and the task that writes to the pipe.

use std::io;

use jsonrpsee::core::client::{ReceivedMessage, TransportReceiverT, TransportSenderT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;

use crate::framing::{FrameReader, Framing, FramingError};
use crate::incoming::Incoming;
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
pub(crate) fn start_writing(mut pipe: ChildStdin, framing: Framing, tap: Option<Tap>) -> mpsc::Sender<String> {
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
pub(crate) struct Receiver {
    pipe: ChildStdout,
    frames: FrameReader,
    incoming: Incoming,
    tap: Option<Tap>,
    chunk: Vec<u8>,
}

impl Receiver {
    /// Reads from `pipe`.
    pub(crate) fn new(pipe: ChildStdout, framing: Framing, incoming: Incoming, tap: Option<Tap>) -> Self {
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

impl TransportReceiverT for Receiver {
    type Error = TransportError;

    async fn receive(&mut self) -> Result<ReceivedMessage, TransportError> {
        let outcome = self.next_reply().await;
        if let Err(error) = &outcome {
            self.incoming.close(error.to_string());
        }
        outcome.map(ReceivedMessage::Text)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.incoming.close("client was closed".into());
    }
}
