// What must hold for any bytes on standard input. Included by the fuzz target and by the test that
// replays its seeds.

use std::io::{self, Read};

use rpc_server::transport::{Frame, FrameReader, Framing};

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

fn frames(source: impl Read, framing: Option<Framing>) -> Vec<Frame> {
    let mut reader = FrameReader::new(source, framing, LIMIT);
    std::iter::from_fn(|| reader.next_frame().unwrap()).collect()
}

/// Gives one byte at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some((&first, rest)) = self.0.split_first() else { return Ok(0) };
        buffer[0] = first;
        self.0 = rest;
        Ok(1)
    }
}
