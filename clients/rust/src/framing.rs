//! Both framings of the pipe: one JSON text per line, and `Content-Length` headers.

use memchr::{memchr, memmem};

/// How messages are told apart on a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// One JSON text per line, ended by LF.
    #[default]
    Lines,
    /// `Content-Length: N`, an empty line, N bytes, as LSP has it.
    Headers,
}

/// Why bytes are no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// A header block without a usable length; the bytes after it cannot be told apart.
    #[error("read a frame: no usable Content-Length in {0:?}")]
    NoLength(String),
    /// The output ended inside a frame.
    #[error("read a frame: output ended after {0} of its bytes")]
    CutOff(usize),
}

impl Framing {
    /// The bytes that carry one message. With [`Framing::Lines`] the message must not hold an LF.
    pub fn encode(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Lines => [message, b"\n"].concat(),
            Self::Headers => [format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes(), message].concat(),
        }
    }
}

/// Cuts a stream of bytes into messages.
#[derive(Debug)]
pub struct FrameReader {
    framing: Framing,
    buffer: Vec<u8>,
    start: usize,
    /// Bytes after `start` that were searched in vain, so that long messages cost linear time.
    searched: usize,
}

impl FrameReader {
    /// A reader without bytes.
    pub fn new(framing: Framing) -> Self {
        Self { framing, buffer: Vec::new(), start: 0, searched: 0 }
    }

    /// Takes bytes as they came from the pipe.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message, without its line end; blank lines come as empty messages.
    ///
    /// # Errors
    /// [`FramingError::NoLength`] if a header block names no length. The block is skipped.
    pub fn next_frame(&mut self) -> Option<Result<Vec<u8>, FramingError>> {
        match self.framing {
            Framing::Lines => self.next_line().map(Ok),
            Framing::Headers => self.next_block(),
        }
    }

    /// To be called at the end of the stream.
    ///
    /// # Errors
    /// [`FramingError::CutOff`] if bytes are left that make no message.
    pub fn finish(&self) -> Result<(), FramingError> {
        match self.buffer.len() - self.start {
            0 => Ok(()),
            left => Err(FramingError::CutOff(left)),
        }
    }

    fn next_line(&mut self) -> Option<Vec<u8>> {
        let rest = &self.buffer[self.start..];
        let Some(end) = memchr(b'\n', &rest[self.searched..]) else {
            self.searched = rest.len();
            return None;
        };
        let end = self.searched + end;
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]).to_vec();
        self.skip(end + 1);
        Some(line)
    }

    fn next_block(&mut self) -> Option<Result<Vec<u8>, FramingError>> {
        let rest = &self.buffer[self.start..];
        let head = memmem::find(rest, b"\r\n\r\n")?;
        let Some(length) = content_length(&rest[..head]) else {
            let error = FramingError::NoLength(String::from_utf8_lossy(&rest[..head]).into_owned());
            self.skip(head + 4);
            return Some(Err(error));
        };
        let message = rest.get(head + 4..(head + 4).checked_add(length)?)?.to_vec();
        self.skip(head + 4 + length);
        Some(Ok(message))
    }

    fn skip(&mut self, bytes: usize) {
        self.start += bytes;
        self.searched = 0;
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let head = std::str::from_utf8(head).ok()?;
    head.split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `bytes` in pieces of every size and compares the messages.
    fn check(framing: Framing, bytes: &[u8], messages: &[&str]) {
        for size in 1..=bytes.len() {
            let mut reader = FrameReader::new(framing);
            let mut found = Vec::new();
            for piece in bytes.chunks(size) {
                reader.push(piece);
                while let Some(frame) = reader.next_frame() {
                    found.push(frame.map_or_else(|e| e.to_string(), |f| String::from_utf8(f).unwrap()));
                }
            }
            assert_eq!(found, messages, "in pieces of {size} bytes");
        }
    }

    #[test]
    fn reads_lines() {
        check(Framing::Lines, "{\"a\":\"\u{2028}\"}\n\r\n{}\r\n".as_bytes(), &["{\"a\":\"\u{2028}\"}", "", "{}"]);
    }

    #[test]
    fn reads_header_blocks() {
        let bytes = "Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length:4\r\n\r\n\"\u{e9}\"";
        check(Framing::Headers, bytes.as_bytes(), &["{}", "\"\u{e9}\""]);
    }

    #[test]
    fn names_a_block_without_length() {
        let error = "read a frame: no usable Content-Length in \"Length: 2\"";
        check(Framing::Headers, b"Length: 2\r\n\r\nContent-Length: 2\r\n\r\n{}", &[error, "{}"]);
    }

    #[test]
    fn reads_what_it_encodes() {
        for framing in [Framing::Lines, Framing::Headers] {
            let bytes = [framing.encode(b"{}"), framing.encode("\"\u{1f600}\"".as_bytes())].concat();
            check(framing, &bytes, &["{}", "\"\u{1f600}\""]);
        }
    }

    #[test]
    fn says_what_was_cut_off() {
        let mut reader = FrameReader::new(Framing::Lines);
        reader.push(b"{}\n{\"a");
        reader.next_frame();
        assert_eq!(reader.finish(), Err(FramingError::CutOff(3)));
    }
}
