//! Frames: one JSON text per line, or after `Content-Length` headers (protocol/README.md, "Framing").

use std::marker::PhantomData;
use std::{fmt, io};

use compaction_core::json::{self, RawObject};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::errors::RpcError;
use crate::params::Params;

/// How messages are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One JSON text per line.
    Lines,
    /// `Content-Length` headers, as in the Language Server Protocol.
    Headers,
}

/// The result of one read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The bytes of one message.
    Message(Vec<u8>),
    /// A message over the limit. Its line was skipped. With headers, reading continues at the next `Content-Length`,
    /// wherever it is.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// The first bytes of its line, where an id may be; none with headers.
        start: Vec<u8>,
    },
    /// Headers without a usable length, or bytes that are not headers. Reading continues at the next `Content-Length`,
    /// wherever it is.
    BadHeaders {
        /// The first bad line, shortened.
        line: String,
    },
}

/// Maximum number of bytes of a header line.
const MAX_HEADER_LINE: usize = 4096;
/// Number of bytes that are kept from the start of a line over the limit.
const LARGE_START: usize = 1024;
/// Number of bytes that are kept from the end of a line: more than a `Content-Length` header has.
const LINE_END: usize = 64;
const CHUNK: usize = 64 * 1024;
const CONTENT_LENGTH: &[u8] = b"content-length";

/// Splits a stream of bytes into frames. Keeps at most one message of the allowed size.
#[derive(Debug)]
pub struct FrameReader<R> {
    source: R,
    chunk: Box<[u8]>,
    /// Start and end of the unread bytes in the chunk.
    position: usize,
    end: usize,
    framing: Option<Framing>,
    max_message_bytes: usize,
    /// Whether the reader is searching for the next headers.
    is_lost: bool,
    /// The length in a header that was found at the end of other bytes: bodies have no line end.
    found_length: Option<u64>,
}

/// One line without its end.
struct Line {
    /// Its first bytes, up to the limit of the caller.
    start: Vec<u8>,
    /// Its last bytes.
    end: Vec<u8>,
    /// Its whole length.
    bytes: u64,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads from `source`. Without `framing`, the first byte that is not white space decides.
    pub fn new(source: R, framing: Option<Framing>, max_message_bytes: usize) -> Self {
        let chunk = vec![0; CHUNK].into();
        let (is_lost, found_length) = (false, None);
        Self { source, chunk, position: 0, end: 0, framing, max_message_bytes, is_lost, found_length }
    }

    /// Whether all bytes that were read belong to frames that were returned.
    pub fn is_drained(&self) -> bool {
        self.position == self.end
    }

    /// The source of the bytes.
    pub fn source(&self) -> &R {
        &self.source
    }

    /// The framing, once it is known.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// The next frame. `None` at the end of the stream. A last line without a line end counts; an incomplete body does
    /// not.
    pub async fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        let framing = match self.framing {
            Some(framing) => framing,
            None => match self.detect().await? {
                Some(framing) => *self.framing.insert(framing),
                None => return Ok(None),
            },
        };
        match framing {
            Framing::Lines => self.next_line_frame().await,
            Framing::Headers => self.next_header_frame().await,
        }
    }

    async fn detect(&mut self) -> io::Result<Option<Framing>> {
        // Some shells put a byte order mark before the first text that they pipe.
        let is_skipped = |byte: u8| byte.is_ascii_whitespace() || [0xEF, 0xBB, 0xBF].contains(&byte);
        while self.fill().await? {
            match self.unread().iter().position(|byte| !is_skipped(*byte)) {
                None => self.position = self.end,
                Some(found) => {
                    self.position += found;
                    let is_header = self.chunk[self.position].eq_ignore_ascii_case(&b'c');
                    return Ok(Some(if is_header { Framing::Headers } else { Framing::Lines }));
                }
            }
        }
        Ok(None)
    }

    async fn next_line_frame(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let Some(Line { mut start, bytes, .. }) = self.line(self.max_message_bytes).await? else {
                return Ok(None);
            };
            if bytes > self.max_message_bytes as u64 {
                start.truncate(LARGE_START);
                start.shrink_to_fit();
                return Ok(Some(Frame::TooLarge { bytes, start }));
            }
            if !start.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(Frame::Message(start)));
            }
        }
    }

    async fn next_header_frame(&mut self) -> io::Result<Option<Frame>> {
        if self.is_lost && !self.resynchronise().await? {
            return Ok(None);
        }
        let mut length = self.found_length.take();
        let mut saw_header = length.is_some();
        loop {
            let Some(line) = self.line(MAX_HEADER_LINE).await? else {
                return Ok(None);
            };
            if line.bytes == 0 {
                match length {
                    Some(length) => return self.body(length).await,
                    None if saw_header => {
                        self.is_lost = true;
                        return Ok(Some(bad_headers(b"no Content-Length")));
                    }
                    None => continue,
                }
            }
            match header(&line.start) {
                Some((name, value)) if name.eq_ignore_ascii_case(CONTENT_LENGTH) => match parse_length(value) {
                    Some(parsed) => length = Some(parsed),
                    None => return Ok(Some(self.lost(&line))),
                },
                Some(_) => {}
                None => return Ok(Some(self.lost(&line))),
            }
            saw_header = true;
        }
    }

    /// Reports a line that is not a header. The next headers may start at its end.
    fn lost(&mut self, line: &Line) -> Frame {
        self.found_length = length_at_end(&line.end);
        self.is_lost = self.found_length.is_none();
        bad_headers(&line.start)
    }

    /// Skips lines up to the next one that starts or ends with a `Content-Length` header: bodies have no line end.
    /// Returns whether one was found.
    async fn resynchronise(&mut self) -> io::Result<bool> {
        while self.is_lost && self.fill().await? {
            while self.unread().len() < CONTENT_LENGTH.len() && self.fill_more().await? {}
            let start = self.unread().get(..CONTENT_LENGTH.len());
            let starts_here = start.is_some_and(|start| start.eq_ignore_ascii_case(CONTENT_LENGTH));
            if !starts_here {
                self.found_length = self.line(0).await?.and_then(|line| length_at_end(&line.end));
            }
            self.is_lost = !starts_here && self.found_length.is_none();
        }
        Ok(!self.is_lost)
    }

    async fn body(&mut self, length: u64) -> io::Result<Option<Frame>> {
        if length > self.max_message_bytes as u64 {
            // So many bytes may never come. No line of a JSON text looks like a header, so the next headers are found
            // without counting.
            self.is_lost = true;
            return Ok(Some(Frame::TooLarge { bytes: length, start: Vec::new() }));
        }
        let mut body = Vec::new();
        let mut missing = usize::try_from(length).unwrap_or(usize::MAX);
        while missing > 0 {
            if !self.fill().await? {
                return Ok(None);
            }
            let taken = self.take(missing);
            missing -= taken.len();
            body.extend_from_slice(taken);
        }
        Ok(Some(Frame::Message(body)))
    }

    /// Reads one line and keeps its first `limit` bytes.
    async fn line(&mut self, limit: usize) -> io::Result<Option<Line>> {
        let mut line = Line { start: Vec::new(), end: Vec::new(), bytes: 0 };
        loop {
            if !self.fill().await? {
                return Ok((line.bytes > 0).then(|| line.without_carriage_return()));
            }
            let rest = self.unread();
            let end = memchr::memchr(b'\n', rest);
            let piece = &rest[..end.unwrap_or(rest.len())];
            line.add(piece, limit);
            self.position += piece.len() + usize::from(end.is_some());
            if end.is_some() {
                return Ok(Some(line.without_carriage_return()));
            }
        }
    }

    fn take(&mut self, bytes: usize) -> &[u8] {
        let start = self.position;
        self.position = self.end.min(start.saturating_add(bytes));
        &self.chunk[start..self.position]
    }

    fn unread(&self) -> &[u8] {
        &self.chunk[self.position..self.end]
    }

    /// Ensures that there are unread bytes. `false` at the end of the stream.
    async fn fill(&mut self) -> io::Result<bool> {
        Ok(self.position < self.end || self.fill_more().await?)
    }

    /// Reads more bytes after the unread ones, which are fewer than a header name has.
    async fn fill_more(&mut self) -> io::Result<bool> {
        self.chunk.copy_within(self.position..self.end, 0);
        (self.position, self.end) = (0, self.end - self.position);
        let read = self.source.read(&mut self.chunk[self.end..]).await?;
        self.end += read;
        Ok(read > 0)
    }
}

impl Line {
    fn add(&mut self, piece: &[u8], limit: usize) {
        self.bytes += piece.len() as u64;
        // One byte over the limit is kept for a carriage return, which does not count.
        let room = limit.saturating_add(1).saturating_sub(self.start.len());
        self.start.extend_from_slice(&piece[..piece.len().min(room)]);
        let last = &piece[piece.len().saturating_sub(LINE_END)..];
        self.end.drain(..(self.end.len() + last.len()).saturating_sub(LINE_END));
        self.end.extend_from_slice(last);
    }

    fn without_carriage_return(mut self) -> Self {
        if self.end.last() == Some(&b'\r') {
            self.end.pop();
            self.bytes -= 1;
        }
        self.start.truncate(usize::try_from(self.bytes).unwrap_or(usize::MAX));
        self
    }
}

/// The length in a `Content-Length` header at the very end of a line.
fn length_at_end(line: &[u8]) -> Option<u64> {
    let mut names = line.windows(CONTENT_LENGTH.len());
    let found = names.rposition(|name| name.eq_ignore_ascii_case(CONTENT_LENGTH))?;
    header(&line[found..]).and_then(|(_, value)| parse_length(value))
}

fn header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    (!name.is_empty() && name.iter().all(is_name)).then_some((name, value))
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok()?.trim();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn bad_headers(line: &[u8]) -> Frame {
    let start = &line[..line.len().min(80)];
    Frame::BadHeaders { line: String::from_utf8_lossy(start).into_owned() }
}

/// The id of a request: the JSON text of a string or a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RawId(Box<str>);

impl RawId {
    /// Takes the JSON text of a string or a number. `None` for anything else.
    pub fn parse(json: &str) -> Option<Self> {
        let starts_well = json.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit());
        starts_well.then(|| Self(json.into()))
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        &self.0
    }
}

/// A request or a notification.
#[derive(Debug)]
pub struct Call {
    /// The id. `None` for notifications.
    pub id: Option<RawId>,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Params,
}

/// The client's answer to a request of the server.
#[derive(Debug)]
pub struct Answer {
    /// The id of the server's request. `None` if the client could not read a message of the server.
    pub id: Option<RawId>,
    /// The result, or the error object.
    pub outcome: Result<Box<RawValue>, Box<RawValue>>,
}

/// One message, alone or in a batch.
#[derive(Debug)]
pub enum Part {
    /// A request or a notification.
    Call(Call),
    /// An answer of the client.
    Answer(Answer),
    /// A message with an id and without method, result and error. If a request of the server has this id, it is an
    /// answer without content, otherwise an invalid request.
    Empty(RawId),
    /// A message that cannot be served, with the id for the error.
    Invalid(Option<RawId>, RpcError),
}

/// The content of one frame.
#[derive(Debug)]
pub enum Incoming {
    /// One message.
    Single(Part),
    /// Several messages that are answered together.
    Batch(Vec<Part>),
}

impl Incoming {
    /// Reads a frame. Messages that cannot be read become [`Part::Invalid`].
    pub fn parse(frame: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(frame) else {
            return Self::invalid(RpcError::Parse { message: "the message is not UTF-8".to_owned() });
        };
        let is_batch = text.trim_ascii_start().starts_with('[');
        if let Err(values) = json::check_value_count(text) {
            let most = json::MAX_VALUES;
            let message = format!("a message holds at most {most} values; this one holds {values} or more");
            let id = if is_batch { None } else { id_of(text) };
            return Self::Single(Part::Invalid(id, RpcError::InvalidRequest { message }));
        }
        match is_batch {
            true => Self::parse_batch(text),
            false => Self::Single(Part::parse(text)),
        }
    }

    /// A message that was refused unread.
    pub fn invalid(error: RpcError) -> Self {
        Self::Single(Part::Invalid(None, error))
    }

    fn parse_batch(text: &str) -> Self {
        match serde_json::from_str::<Parts<'_>>(text) {
            Err(error) => Self::invalid(parse_error(&error)),
            Ok(parts) if parts.count == 0 => {
                Self::invalid(RpcError::invalid_request("a batch holds at least one call"))
            }
            Ok(parts) if parts.count > MAX_BATCH => {
                let count = parts.count;
                let message = format!("a batch holds at most {MAX_BATCH} calls; this one holds {count}");
                Self::invalid(RpcError::InvalidRequest { message })
            }
            Ok(parts) => Self::Batch(parts.list.into_iter().map(|part| Part::parse(part.get())).collect()),
        }
    }
}

/// The id of a message whose other members are not read.
fn id_of(text: &str) -> Option<RawId> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    let named: Named<'_> = serde_json::from_str(text).ok()?;
    RawId::parse(named.id?.get())
}

/// Maximum number of calls in a batch, so that a short text cannot cause much work.
const MAX_BATCH: usize = 16_384;

/// The parts of a batch as text. All parts are counted, but only the allowed number is kept.
struct Parts<'a> {
    list: Vec<&'a RawValue>,
    count: usize,
}

impl<'de: 'a, 'a> Deserialize<'de> for Parts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartsVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for PartsVisitor<'a> {
            type Value = Parts<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a batch")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Parts<'a>, A::Error> {
                let mut list: Vec<&'a RawValue> = Vec::new();
                while list.len() < MAX_BATCH
                    && let Some(part) = access.next_element()?
                {
                    list.push(part);
                }
                let mut count = list.len();
                while count >= MAX_BATCH && access.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Parts { list, count })
            }
        }
        deserializer.deserialize_seq(PartsVisitor(PhantomData))
    }
}

/// The members of a message. The parameters are split in the same pass over the text.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    jsonrpc: Option<&'a str>,
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a str>,
    #[serde(default, borrow, deserialize_with = "present")]
    method: Option<&'a str>,
    #[serde(default)]
    params: Params,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a str>,
    #[serde(default, borrow, deserialize_with = "present")]
    error: Option<&'a str>,
}

/// The text of a member that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de str>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(|value| Some(value.get()))
}

impl<'a> Envelope<'a> {
    /// Takes the members of a message with duplicate names, unusual names or wrong parameters.
    fn of(object: &'a RawObject<'_>) -> Self {
        Self {
            jsonrpc: object.get("jsonrpc"),
            id: object.get("id"),
            method: object.get("method"),
            params: object.get("params").map(Params::split).unwrap_or_default(),
            result: object.get("result"),
            error: object.get("error"),
        }
    }
}

impl Part {
    fn parse(text: &str) -> Self {
        if text.trim_ascii_start().starts_with('{')
            && let Ok(envelope) = serde_json::from_str(text)
        {
            return Self::read(envelope);
        }
        match RawObject::parse(text) {
            Ok(object) => Self::read(Envelope::of(&object)),
            Err(error) => match serde_json::from_str::<&RawValue>(text) {
                Ok(_) => Part::Invalid(None, RpcError::invalid_request("a message is a JSON object")),
                Err(_) => Part::Invalid(None, parse_error(&error)),
            },
        }
    }

    fn read(envelope: Envelope<'_>) -> Self {
        let id = envelope.id.map(RawId::parse);
        let known_id = id.clone().flatten();
        let invalid = |what: &str| Part::Invalid(known_id.clone(), RpcError::invalid_request(what));
        let Some(method) = envelope.method else {
            return Self::read_answer(&envelope, known_id.clone()).unwrap_or_else(|| match known_id.clone() {
                Some(id) => Part::Empty(id),
                None if !is_version_2(&envelope) => invalid(WRONG_VERSION),
                None => invalid("method is missing"),
            });
        };
        if !is_version_2(&envelope) {
            return invalid(WRONG_VERSION);
        }
        if id == Some(None) {
            return invalid("an id is a string or a number");
        }
        match json::decode_string(method) {
            Some(method) => Part::Call(Call { id: known_id, method, params: envelope.params }),
            None => invalid("method must be a string"),
        }
    }

    /// An answer is never answered, not even a malformed one: two sides that complain about each other's complaints
    /// would never end, and the side that asked would wait forever.
    fn read_answer(envelope: &Envelope<'_>, id: Option<RawId>) -> Option<Self> {
        let owned = |json: &str| RawValue::from_string(json.to_owned()).ok();
        // Some libraries send both members, and one of them is null.
        let error = envelope.error.filter(|error| *error != "null" || envelope.result.is_none());
        let outcome = match (envelope.result, error) {
            (Some(result), None) => Ok(owned(result)?),
            (_, Some(error)) => Err(owned(error)?),
            (None, None) => return None,
        };
        Some(Part::Answer(Answer { id, outcome }))
    }
}

const WRONG_VERSION: &str = "jsonrpc must be \"2.0\"";

fn is_version_2(envelope: &Envelope<'_>) -> bool {
    envelope.jsonrpc.and_then(json::decode_string).as_deref() == Some("2.0")
}

fn parse_error(error: &serde_json::Error) -> RpcError {
    RpcError::Parse { message: format!("the message is not JSON: {error}") }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use futures_util::FutureExt as _;
    use tokio::io::ReadBuf;

    use super::*;

    /// Yields one byte at a time, the most awkward split.
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

    fn frames(source: impl AsyncRead + Unpin) -> Vec<Frame> {
        let mut reader = FrameReader::new(source, None, 16);
        std::iter::from_fn(|| reader.next_frame().now_or_never().unwrap().unwrap()).collect()
    }

    #[track_caller]
    fn check(input: &[u8], expected: &[Frame]) {
        assert_eq!(frames(input), expected);
        assert_eq!(frames(Trickle(input)), expected, "one byte at a time");
    }

    fn message(text: &str) -> Frame {
        Frame::Message(text.as_bytes().to_vec())
    }

    fn too_large(bytes: u64, start: &str) -> Frame {
        Frame::TooLarge { bytes, start: start.as_bytes().to_vec() }
    }

    #[test]
    fn lines() {
        check(b"", &[]);
        check(
            b" \n\r\n\xEF\xBB\xBF{}\r\n\n[1]\n{\"a\":\"\xE2\x80\xA8\"}",
            &[message("{}"), message("[1]"), message("{\"a\":\"\u{2028}\"}")],
        );
        check(b"{234567890123456\n{}\n", &[message("{234567890123456"), message("{}")]);
        check(b"{2345678901234567\r\n{}\n", &[too_large(17, "{2345678901234567"), message("{}")]);
        check(b"{234567890123456\r\n", &[message("{234567890123456")]);
    }

    #[test]
    fn headers() {
        check(
            b"Content-Length: 2\r\n\r\n{}content-length:3\r\nContent-Type: x; charset=utf-8\r\n\r\n[1]",
            &[message("{}"), message("[1]")],
        );
        check(
            b"Content-Length: 17\r\n\r\n{23456789012345}7Content-Length: 2\r\n\r\n{}",
            &[too_large(17, ""), message("{}")],
        );
        check(b"Content-Length: 9\r\n\r\n{}", &[]);
    }

    #[test]
    fn lengths_that_never_come_swallow_nothing() {
        let length = |text: &str| format!("Content-Length: {text}\r\n\r\n{{}}Content-Length: 2\r\n\r\n[]").into_bytes();
        for bytes in [17, 1 << 40, u64::MAX] {
            check(&length(&bytes.to_string()), &[too_large(bytes, ""), message("[]")]);
        }
        for wrong in ["18446744073709551616", "-1", "+2", "0x2", "2.0", "1e3", "2 2", "\u{663}", ""] {
            let bad = Frame::BadHeaders { line: format!("Content-Length: {wrong}") };
            check(&length(wrong), &[bad, message("[]")]);
        }
        let quoted = b"Content-Length: 99\r\n\r\n{\n\"a\": \"\\nContent-Length: 1\"\n}Content-Length: 2\r\n\r\n[]";
        check(quoted, &[too_large(99, ""), message("[]")]);
    }

    #[test]
    fn headers_that_cannot_be_served_are_reported_before_the_next_ones_come() {
        /// The bytes that have come so far; more may follow.
        struct Open<'a>(&'a [u8]);
        impl AsyncRead for Open<'_> {
            fn poll_read(
                mut self: Pin<&mut Self>,
                _context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                if self.0.is_empty() {
                    return Poll::Pending;
                }
                buffer.put_slice(std::mem::take(&mut self.0));
                Poll::Ready(Ok(()))
            }
        }
        let bad = Frame::BadHeaders { line: "Content-Length: x".to_owned() };
        for (length, expected) in [("x", bad), ("1152921504606846976", too_large(1 << 60, ""))] {
            let input = format!("Content-Length: {length}\r\n\r\n{{}}");
            let mut reader = FrameReader::new(Open(input.as_bytes()), None, 16);
            let frame = reader.next_frame().now_or_never().unwrap().unwrap();
            assert_eq!(frame, Some(expected));
            assert!(reader.next_frame().now_or_never().is_none());
        }
    }

    #[test]
    fn bad_headers_lose_nothing_after_them() {
        let bad = |line: &str| Frame::BadHeaders { line: line.to_owned() };
        check(b"Content-Length: x\r\n\r\n{}\nContent-Length: 2\r\n\r\n{}", &[bad("Content-Length: x"), message("{}")]);
        check(b"Content-Type: x\r\n\r\nContent-Length: 2\r\n\r\n{}", &[bad("no Content-Length"), message("{}")]);
        check(b"Content-Type: x\r\n\r\n{}Content-Length: 2\r\n\r\n{}", &[bad("no Content-Length"), message("{}")]);
        // Bodies end without a line end.
        check(
            b"Content-Length: x\r\n\r\n{\"Content-Length: 1\":1}content-length:2\r\nA: b\r\n\r\n{}",
            &[bad("Content-Length: x"), message("{}")],
        );
        check(
            b"Content-Length: 2\r\n\r\n{  }Content-Length: 2\r\n\r\n{}",
            &[message("{ "), bad(" }Content-Length: 2"), message("{}")],
        );
        check(
            b"Content-Length: x\r\n\r\n{}Content-Length: y\r\n\r\n{}Content-Length: 2\r\n\r\n[]",
            &[bad("Content-Length: x"), message("[]")],
        );
        check(b"Content-Length: 99999999999999999999\r\n\r\n", &[bad("Content-Length: 99999999999999999999")]);
        check(
            b"Content-Length: 2\r\n\r\n{}garbage\nmore\nContent-Length: 2\r\n\r\n[]",
            &[message("{}"), bad("garbage"), message("[]")],
        );
    }
}
