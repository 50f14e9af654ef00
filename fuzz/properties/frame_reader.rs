// What must hold for any bytes on standard input. Included by the fuzz target and by the test that
// replays its seeds.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use rpc_server::transport::{Frame, FrameReader, Framing};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of a message at most.
const LIMIT: usize = 64;

/// Reads `bytes` as frames in every framing, whole and byte by byte: the frames must be the same.
pub(crate) fn frame_reader(bytes: &[u8]) {
    for framing in [None, Some(Framing::Lines), Some(Framing::Headers)] {
        let whole = frames(bytes, framing);
        assert_eq!(whole, frames(Trickle(bytes), framing));
        for frame in &whole {
            if let Frame::Message(message) = frame {
                assert!(message.len() <= LIMIT, "a message over the limit is skipped");
            }
        }
    }
}

fn frames(source: impl AsyncRead + Unpin, framing: Option<Framing>) -> Vec<Frame> {
    let mut reader = FrameReader::new(source, framing, LIMIT);
    let mut frames = Vec::new();
    loop {
        // Bytes in memory are never waited for.
        let next = pin!(reader.next_frame()).poll(&mut Context::from_waker(Waker::noop()));
        match next {
            Poll::Ready(Ok(Some(frame))) => frames.push(frame),
            Poll::Ready(Ok(None)) => return frames,
            Poll::Ready(Err(error)) => panic!("reading memory fails: {error}"),
            Poll::Pending => panic!("reading memory waits"),
        }
    }
}

/// Gives one byte at a time.
struct Trickle<'a>(&'a [u8]);

impl AsyncRead for Trickle<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (first, rest) = self.0.split_at(self.0.len().min(1));
        buffer.put_slice(first);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}
