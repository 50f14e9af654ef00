//! Writing replies straight into their text, which grows in small steps: a long reply takes little more memory than its
//! text, and one for which there is no memory becomes an error.

use std::cell::RefCell;
use std::io;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use crate::errors::RpcError;

/// From this size in bytes on, a reply grows by an eighth instead of doubling: the allocator can move large blocks
/// without copying.
const LONG_BYTES: usize = 1 << 20;
/// A long reply grows by its length divided by this.
const GROWTH: usize = 8;
/// Bytes that follow a result: its closing brace, and the end of the line.
const END_BYTES: usize = 2;

/// The beginning of a reply.
#[derive(Debug, Clone)]
pub(crate) struct ReplyStart(String);

impl ReplyStart {
    /// The reply to the request with this id, as JSON.
    pub(crate) fn new(id: &str) -> Self {
        Self(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":"))
    }

    /// Writes the whole reply. Fails with `outOfMemory`, or if the result cannot be written.
    pub(crate) fn write(self, result: &impl Serialize) -> Result<String, RpcError> {
        self.write_up_to(usize::MAX, result).map_err(|failure| match failure {
            Failure::Memory { bytes, more } => RpcError::OutOfMemory {
                message: format!("the memory is used up: a reply of {bytes} bytes found no room for {more} more"),
                bytes: bytes as u64,
            },
            Failure::Other(error) => RpcError::internal(error.to_string()),
        })
    }

    /// The reply if it has at most `limit` bytes.
    pub(crate) fn write_short(self, limit: usize, result: &impl Serialize) -> Option<String> {
        self.write_up_to(limit, result).ok()
    }

    fn write_up_to(self, limit: usize, result: &impl Serialize) -> Result<String, Failure> {
        let mut text = ReplyText { bytes: self.0.into_bytes(), limit, lacking: 0 };
        let written = serde_json::to_writer(&mut text, result).and_then(|()| text.end().map_err(serde_json::Error::io));
        let written = written
            .and_then(|()| String::from_utf8(std::mem::take(&mut text.bytes)).map_err(serde_json::Error::custom));
        match written {
            Err(_) if text.lacking > 0 => Err(Failure::Memory { bytes: text.bytes.len(), more: text.lacking }),
            Err(error) => Err(Failure::Other(error)),
            Ok(reply) => Ok(reply),
        }
    }
}

/// Why a reply was not written.
enum Failure {
    /// There is no memory for more.
    Memory {
        bytes: usize,
        more: usize,
    },
    Other(serde_json::Error),
}

/// The text of a reply.
struct ReplyText {
    bytes: Vec<u8>,
    limit: usize,
    /// Bytes for which there was no memory.
    lacking: usize,
}

impl ReplyText {
    fn end(&mut self) -> io::Result<()> {
        self.reserve(END_BYTES)?;
        self.bytes.push(b'}');
        Ok(())
    }

    fn reserve(&mut self, more: usize) -> io::Result<()> {
        let length = self.bytes.len();
        if self.bytes.capacity() - length >= more {
            return Ok(());
        }
        let reserved = match length.max(more) {
            LONG_BYTES.. => self.bytes.try_reserve_exact(more.max(length / GROWTH)),
            _ => self.bytes.try_reserve(more),
        };
        reserved.map_err(|_| {
            self.lacking = more.max(length / GROWTH);
            io::ErrorKind::OutOfMemory.into()
        })
    }
}

impl io::Write for ReplyText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.limit.saturating_sub(self.bytes.len()) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.reserve(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A list in a result. Its items are made while they are written, so that only one of them is in memory.
pub(crate) struct Streamed<I> {
    items: RefCell<Option<I>>,
    failure: RefCell<Option<RpcError>>,
}

impl<I> Streamed<I> {
    /// A list of `items`, which is written once.
    pub(crate) fn new(items: I) -> Self {
        Self { items: RefCell::new(Some(items)), failure: RefCell::new(None) }
    }

    /// The error that ended the list, otherwise the outcome of writing the result with it.
    pub(crate) fn outcome<T>(&self, written: Result<T, RpcError>) -> Result<T, RpcError> {
        self.failure.take().map_or(written, Err)
    }
}

impl<T: Serialize, I: Iterator<Item = Result<T, RpcError>>> Serialize for Streamed<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let items = self.items.take().ok_or_else(|| S::Error::custom("a list is written once"))?;
        // The error ends the list here, and fails the call afterwards.
        serializer.collect_seq(items.map_while(|item| item.map_err(|error| self.failure.replace(Some(error))).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_item_by_item_until_an_error() {
        let write = |items: Vec<Result<u64, RpcError>>| {
            let list = Streamed::new(items.into_iter());
            list.outcome(ReplyStart::new("7").write(&list))
        };
        assert_eq!(write(vec![Ok(1), Ok(2)]).unwrap(), r#"{"jsonrpc":"2.0","id":7,"result":[1,2]}"#);
        assert_eq!(write(vec![Ok(1), Err(RpcError::BatchTooLarge)]).unwrap_err().code(), 1008);
    }

    #[test]
    fn a_long_reply_has_room_for_the_end_of_its_line_and_little_more() {
        let text = "x".repeat(3 * LONG_BYTES);
        let reply = ReplyStart::new("7").write(&vec![&text; 5]).unwrap();
        assert!(reply.capacity() > reply.len() && reply.capacity() < reply.len() + reply.len() / 4);
        assert_eq!(ReplyStart::new("7").write_short(1000, &text), None);
    }
}
