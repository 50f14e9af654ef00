//! An answer while it arrives: the events in its body, which are server-sent events, Amazon's frames, or plain JSON,
//! which some servers send although a stream was requested.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use compaction_core::json::replace_lone_surrogates;
use futures_util::stream::{Stream, StreamExt, unfold};
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use serde_json::{Value, json};
use sse_stream::{Error, Sse, SseByteStream};

use super::failure::Failure;
use super::http::{Exchange, HttpError, Turn};
use crate::models::answer_text::ThinkingFilter;
use crate::models::{Answer, FailureKind, StopReason};

/// The error of an answer without an end.
pub(super) const BROKEN_OFF: &str = "the answer broke off before its end";
/// Maximum bytes of an answer's text, many times those of any summary.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// Stop reasons that the server caused, not the model: it had no capacity, or was shut down.
const SERVER_ENDS: [(&str, FailureKind); 8] = [
    ("insufficient_system_resource", FailureKind::Overloaded),
    ("abort", FailureKind::Server),
    ("aborted", FailureKind::Server),
    ("cancelled", FailureKind::Server),
    ("error", FailureKind::Server),
    ("network_error", FailureKind::Server),
    ("malformed_model_output", FailureKind::Server),
    ("timeout", FailureKind::TimedOut),
];

/// The received part of an answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    thoughts: ThinkingFilter,
    stop: Option<StopReason>,
    /// Whether the model calls a tool, regardless of its stop reason.
    pub(super) calls_tool: bool,
    /// Whether nothing relevant follows.
    pub(super) is_done: bool,
    is_touched: bool,
    /// Indexes of the parts that are comments on the way to the answer.
    pub(super) comments: Vec<u64>,
    /// Its usage, if known so far.
    pub(super) usage: Usage,
}

/// The usage of an answer in tokens. As in session files, input excludes cached tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Uncached input.
    pub(super) input: Option<u64>,
    /// Output, including thinking.
    pub(super) output: Option<u64>,
    /// Input from a cache.
    pub(super) cache_read: u64,
    /// Input that was written to a cache.
    pub(super) cache_write: u64,
    /// The total, where the provider reports it.
    pub(super) total: Option<u64>,
}

impl Draft {
    /// Reads an event by `read`.
    pub(super) fn touched<E>(&mut self, read: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        self.is_touched = true;
        read(self)
    }

    /// Whether no event has arrived.
    pub(super) fn is_untouched(&self) -> bool {
        !self.is_touched && !self.is_done
    }

    /// Adds a piece of the text. Tagged thinking at the beginning of the answer is left out.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), Failure> {
        if self.text.len() + piece.len() > MAX_TEXT_BYTES {
            let text = format!("the answer has more than {MAX_TEXT_BYTES} bytes");
            return Err(Failure::new(FailureKind::Refused, text));
        }
        self.text.push_str(&self.thoughts.without(piece));
        Ok(())
    }

    /// The text so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Sets the stop reason. Some servers send it more than once; a reason other than the plain end takes precedence.
    pub(super) fn stop(&mut self, reason: StopReason) {
        if matches!(self.stop, None | Some(StopReason::Stop)) {
            self.stop = Some(reason);
        }
    }

    /// Whether there is a stop reason. Without it, the text may be incomplete.
    pub(super) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether the model itself has ended the text. Later errors do not concern the answer.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.stop, Some(StopReason::Stop | StopReason::Length))
    }

    /// Ends the text: held bytes that could have begun a tag are text.
    pub(super) fn close(&mut self) {
        self.text.push_str(&self.thoughts.rest());
    }

    /// The answer. The final event replaces a stop reason, if there is text. Fails if both are missing, or if the
    /// server, not the model, ended the answer.
    pub(super) fn into_answer(self) -> Result<Answer, Failure> {
        let broken = |text: &str| Err(Failure::new(FailureKind::Connection, text));
        let reason = match self.stop {
            Some(reason) => reason,
            None if self.calls_tool => StopReason::ToolUse,
            None if !self.is_done => return broken(BROKEN_OFF),
            None if self.text.trim().is_empty() => {
                return broken("the answer ended without a text and without a reason for its end");
            }
            None => StopReason::Stop,
        };
        if let StopReason::Other(word) = &reason
            && let Some((_, kind)) = SERVER_ENDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known))
        {
            return Err(Failure::new(*kind, format!("the server ended the answer with {word}")));
        }
        let stop = if self.calls_tool { StopReason::ToolUse } else { reason };
        Ok(Answer { text: self.text, stop, usage: self.usage.to_json() })
    }
}

impl Usage {
    /// The usage in the form of session files; `None` if the provider reported none.
    fn to_json(self) -> Option<Value> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let (input, output) = (self.input.unwrap_or(0), self.output.unwrap_or(0));
        let parts = [input, output, self.cache_read, self.cache_write];
        let sum = parts.into_iter().fold(0, u64::saturating_add);
        Some(json!({
            "input": input,
            "output": output,
            "cacheRead": self.cache_read,
            "cacheWrite": self.cache_write,
            "totalTokens": self.total.filter(|total| *total > 0).unwrap_or(sum),
        }))
    }
}

/// Maximum bytes of one event. The largest is the last of a `responses` stream, which repeats the whole answer.
const MAX_EVENT_BYTES: usize = 1024 * 1024;
/// Maximum bytes of an answer that is one JSON text.
const MAX_JSON_BYTES: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, HttpError>> + Send>>;

/// The body of an answer, by its first bytes.
pub(super) enum Body {
    /// A source of events.
    Events(Box<Events>),
    /// A page or a text: its first bytes, and the exchange with the rest.
    Other(Vec<u8>, Box<Exchange>),
}

/// An event of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    /// The provider's data.
    Data(Value),
    /// The event without data that ends every answer.
    Done,
}

/// The events of one answer.
pub(super) struct Events {
    source: Source,
    /// Events that arrived with the last one.
    waiting: VecDeque<Event>,
    /// One part of a body may contain many events.
    turn: Turn,
}

enum Source {
    Sse {
        events: SseByteStream<Chunks>,
        /// Whether the body has ended. An event after that may have been cut off.
        is_at_end: Arc<AtomicBool>,
    },
    Frames(Box<Frames>),
    Json(std::vec::IntoIter<Value>),
}

/// The unfinished block of lines at the end of a stream: the beginning of an event, or comments. The parser has no
/// limit and reports no blocks of comments.
struct Block {
    bytes: usize,
    is_at_line_start: bool,
    /// The last byte.
    last: u8,
}

impl Default for Block {
    fn default() -> Self {
        Self { bytes: 0, is_at_line_start: true, last: b'\n' }
    }
}

impl Block {
    /// Reads the next bytes. An empty line ends the block; lines end with LF, CR LF or CR.
    fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.bytes += 1;
            let is_line_end = matches!(byte, b'\r' | b'\n');
            let ends_return = self.last == b'\r' && byte == b'\n';
            if is_line_end && !ends_return && self.is_at_line_start {
                self.bytes = 0;
            }
            self.is_at_line_start = is_line_end;
            self.last = byte;
        }
    }
}

/// Turns two kinds of lines that servers send between their events, and that parsers ignore, into events: `error:`
/// with an error (llama.cpp), and JSON without a field.
struct Lines {
    /// The beginning of a line that may become `error:`.
    held: Vec<u8>,
    is_at_start: bool,
    is_bare: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { held: Vec::new(), is_at_start: true, is_bare: false }
    }
}

impl Lines {
    const ERROR: &[u8] = b"error:";

    /// The lines in the next bytes.
    fn read(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + Self::ERROR.len());
        for &byte in bytes {
            if self.is_at_start {
                self.held.push(byte);
                if self.held == Self::ERROR {
                    out.extend_from_slice(b"event: error\ndata:");
                    self.held.clear();
                    self.is_at_start = false;
                    continue;
                }
                if Self::ERROR.starts_with(&self.held) {
                    continue;
                }
                self.is_bare = matches!(self.held.first(), Some(b'{' | b'['));
                out.extend_from_slice(if self.is_bare { b"data: " } else { b"" });
                out.append(&mut self.held);
            } else {
                out.push(byte);
            }
            self.is_at_start = matches!(byte, b'\r' | b'\n');
            if self.is_at_start && self.is_bare {
                // An empty line ends the event.
                out.push(b'\n');
                self.is_bare = false;
            }
        }
        out
    }

    /// The held bytes at the end.
    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

impl Body {
    /// Reads until the kind of the body is known. Servers send white space before it to keep the connection alive.
    pub(super) async fn open(mut exchange: Exchange) -> Result<Self, Failure> {
        let content_type = exchange.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
        if content_type.starts_with("application/vnd.amazon.eventstream") {
            return Ok(Self::Events(Box::new(Events::of(Source::Frames(Box::new(Frames::new(exchange)))))));
        }
        let mut first = Vec::new();
        while without_space(&first).len() < "event".len() {
            match exchange.chunk().await? {
                Some(chunk) => first = without_space(&[&first, &chunk[..]].concat()).to_vec(),
                None => break,
            }
        }
        let is_declared_stream = content_type.is_empty() || content_type.starts_with("text/event-stream");
        match first.first() {
            Some(b'{' | b'[') => Events::json(first, exchange).await.map(|events| Self::Events(Box::new(events))),
            Some(b'<') => Ok(Self::Other(first, Box::new(exchange))),
            _ if is_declared_stream || is_event_field(&first) => {
                Ok(Self::Events(Box::new(Events::sse(first, exchange))))
            }
            _ => Ok(Self::Other(first, Box::new(exchange))),
        }
    }
}

/// The bytes after a byte order mark and white space.
fn without_space(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    // These bytes may still become the mark.
    if bytes.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(bytes) {
        return bytes;
    }
    bytes.trim_ascii_start()
}

/// Whether this is the beginning of a stream of events, regardless of its content type.
fn is_event_field(first: &[u8]) -> bool {
    ["data:", "event", ":", "id:", "retry", "error"].iter().any(|field| first.starts_with(field.as_bytes()))
}

impl Events {
    fn of(source: Source) -> Self {
        Self { source, waiting: VecDeque::new(), turn: Turn::begin() }
    }

    /// The server-sent events of a body. `first` has the bytes that were already read.
    fn sse(first: Vec<u8>, exchange: Exchange) -> Self {
        let is_at_end = Arc::new(AtomicBool::new(false));
        let mut block = Block::default();
        let mut lines = Lines::default();
        let first = lines.read(&first);
        block.read(&first);
        let state = Some((exchange, block, lines, Arc::clone(&is_at_end)));
        let chunks = unfold(state, |state| async {
            let (mut exchange, mut block, mut lines, is_at_end) = state?;
            match exchange.chunk().await {
                Ok(Some(chunk)) => {
                    let chunk = lines.read(&chunk);
                    block.read(&chunk);
                    match block.bytes > MAX_EVENT_BYTES {
                        true => Some((Err(HttpError::TooLarge { limit: MAX_EVENT_BYTES }), None)),
                        false => Some((Ok(Bytes::from(chunk)), Some((exchange, block, lines, is_at_end)))),
                    }
                }
                // Servers omit the line that ends their last event.
                Ok(None) => {
                    is_at_end.store(true, Ordering::Relaxed);
                    let mut last = lines.rest();
                    last.extend_from_slice(b"\n\n");
                    Some((Ok(Bytes::from(last)), None))
                }
                Err(error) => Some((Err(error), None)),
            }
        });
        let first = futures_util::stream::iter([Ok(Bytes::from(first))]);
        let events = SseByteStream::new(Box::pin(first.chain(chunks)) as Chunks);
        Self::of(Source::Sse { events, is_at_end })
    }

    /// The JSON values of a body: one, a list, or one on each line.
    async fn json(first: Vec<u8>, mut exchange: Exchange) -> Result<Self, Failure> {
        let mut body = first;
        while let Some(chunk) = exchange.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_JSON_BYTES {
                return Err(HttpError::TooLarge { limit: MAX_JSON_BYTES }.into());
            }
        }
        let no_json =
            |error: &dyn Display| Failure::new(FailureKind::Server, format!("the answer is no JSON: {error}"));
        let text = std::str::from_utf8(&body).map_err(|error| no_json(&error))?;
        let values = values(text).map_err(|error| match error.is_eof() {
            true => Failure::new(FailureKind::Connection, BROKEN_OFF),
            false => no_json(&error),
        })?;
        let flat = values.into_iter().flat_map(|value| match value {
            Value::Array(several) => several,
            value => vec![value],
        });
        Ok(Self::of(Source::Json(flat.collect::<Vec<_>>().into_iter())))
    }

    /// The next event; `None` at the end of the answer. An event that was cut off is ignored.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        self.turn.pass_if_over().await;
        match &mut self.source {
            Source::Json(values) => Ok(values.next().map(Event::Data)),
            Source::Frames(frames) => Ok(frames.next().await?.map(Event::Data)),
            Source::Sse { events, is_at_end } => {
                while self.waiting.is_empty()
                    && let Some(event) = events.next().await
                {
                    self.turn.pass_if_over().await;
                    match of_sse(event.map_err(cause)?) {
                        Err(_) if is_at_end.load(Ordering::Relaxed) => return Ok(None),
                        several => self.waiting.extend(several?),
                    }
                }
                Ok(self.waiting.pop_front())
            }
        }
    }
}

/// Words that keep a connection alive, in data of their own.
const KEEP_ALIVE: [&str; 4] = ["ping", "keepalive", "keep-alive", "heartbeat"];

/// The data of an event; none if it has none. Some gateways wrap the comments of others. Some join events whose parts
/// arrived together.
fn of_sse(event: Sse) -> Result<Vec<Event>, Failure> {
    let data = event.data.unwrap_or_default();
    let data = data.trim();
    let word = data.trim_matches('"');
    if data.is_empty() || data.starts_with(':') || KEEP_ALIVE.iter().any(|known| word.eq_ignore_ascii_case(known)) {
        return Ok(Vec::new());
    }
    if word.eq_ignore_ascii_case("[DONE]") {
        return Ok(vec![Event::Done]);
    }
    let is_error = event.event.as_deref() == Some("error");
    let read = |value: Value| match is_error && value["type"].is_null() && value["error"].is_null() {
        true => Event::Data(json!({ "error": value })),
        false => Event::Data(value),
    };
    let (data, end) = match data.strip_suffix("[DONE]") {
        Some(rest) => (rest, Some(Event::Done)),
        None => (data, None),
    };
    match values(data) {
        Ok(values) => Ok(values.into_iter().map(read).chain(end).collect()),
        Err(_) if is_error => Ok(vec![Event::Data(json!({ "error": { "message": data } }))]),
        Err(error) => Err(Failure::new(FailureKind::Server, format!("an event of the answer is no JSON: {error}"))),
    }
}

/// The JSON values of a text. Half a surrogate pair, as servers leave that cut text by UTF-16 units, counts as U+FFFD.
fn values(text: &str) -> serde_json::Result<Vec<Value>> {
    let read =
        |text: &str| serde_json::Deserializer::from_str(text).into_iter().collect::<serde_json::Result<Vec<_>>>();
    read(text).or_else(|error| match replace_lone_surrogates(text) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(text) => read(&text),
    })
}

fn cause(error: Error) -> HttpError {
    match error {
        Error::Body(source) => match source.downcast::<HttpError>() {
            Ok(error) => *error,
            Err(other) => HttpError::Broken(other.to_string()),
        },
        other => HttpError::Broken(format!("the stream of events cannot be read: {other}")),
    }
}

/// Bytes of the lengths and checksum before the headers, and of the checksum after the payload.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;

/// Amazon's frames of events (`application/vnd.amazon.eventstream`): lengths, headers, payload. The checksums are not
/// verified, because the connection has its own.
struct Frames {
    exchange: Exchange,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    read: usize,
}

impl Frames {
    /// The frames of `exchange`.
    fn new(exchange: Exchange) -> Self {
        Self { exchange, buffer: Vec::new(), read: 0 }
    }

    /// The next event as `{<type>: payload}`, an exception as `{"exception": <type>, "message": …}`; `None` at the
    /// end. A frame that was cut off is ignored.
    async fn next(&mut self) -> Result<Option<Value>, HttpError> {
        loop {
            if let Some(length) = self.whole_frame()? {
                let frame = &self.buffer[self.read..self.read + length];
                self.read += length;
                return event(frame).map(Some).ok_or_else(malformed);
            }
            self.buffer.drain(..std::mem::take(&mut self.read));
            match self.exchange.chunk().await? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }

    /// Bytes of the first frame, once it is complete.
    fn whole_frame(&self) -> Result<Option<usize>, HttpError> {
        let unread = &self.buffer[self.read..];
        let Some(length) = number(unread, 0) else {
            return Ok(None);
        };
        if length > MAX_EVENT_BYTES {
            return Err(HttpError::TooLarge { limit: MAX_EVENT_BYTES });
        }
        if length < PRELUDE + CHECKSUM {
            return Err(malformed());
        }
        Ok((unread.len() >= length).then_some(length))
    }
}

fn malformed() -> HttpError {
    HttpError::Broken("a frame of the answer is malformed".to_owned())
}

/// The big-endian number at `at`.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(bytes)).ok()
}

fn event(frame: &[u8]) -> Option<Value> {
    let headers_end = PRELUDE + number(frame, 4)?;
    let headers = headers(frame.get(PRELUDE..headers_end)?)?;
    let payload = frame.get(headers_end..frame.len() - CHECKSUM)?;
    let of = |name: &str| headers.iter().find(|(header, _)| *header == name).map(|(_, text)| *text);
    let payload = match payload.trim_ascii() {
        b"" => Value::Null,
        text => values(std::str::from_utf8(text).ok()?).ok()?.pop()?,
    };
    Some(match of(":message-type") {
        Some("exception") => {
            json!({ "exception": of(":exception-type").unwrap_or_default(), "message": payload["message"] })
        }
        Some("error") => json!({ "exception": of(":error-code").unwrap_or_default(), "message": of(":error-message") }),
        _ => json!({ of(":event-type").unwrap_or_default(): payload }),
    })
}

/// The headers with text values.
fn headers(mut bytes: &[u8]) -> Option<Vec<(&str, &str)>> {
    let mut headers = Vec::new();
    while let [length, rest @ ..] = bytes {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let (size, rest) = match kind {
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            6 | 7 => {
                let (size, rest) = rest.split_at_checked(2)?;
                (usize::from(u16::from_be_bytes(size.try_into().ok()?)), rest)
            }
            9 => (16, rest),
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(size)?;
        if *kind == 7 {
            headers.push((std::str::from_utf8(name).ok()?, std::str::from_utf8(value).ok()?));
        }
        bytes = rest;
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_frames_are_no_events() {
        let frame = |headers: &[u8], payload: &[u8]| {
            let length = u32::try_from(PRELUDE + headers.len() + payload.len() + CHECKSUM).unwrap().to_be_bytes();
            let of_headers = u32::try_from(headers.len()).unwrap().to_be_bytes();
            [&length[..], &of_headers, &[0; 4], headers, payload, &[0; 4]].concat()
        };
        let of_type = b"\x0b:event-type\x07\x00\x01x".as_slice();
        assert_eq!(event(&frame(of_type, b"{\"a\":1}")), Some(json!({ "x": { "a": 1 } })));
        let with_others = [b"\x01a\x00\x01b\x03\x00\x05\x01c\x06\x00\x02zz", of_type].concat();
        assert_eq!(event(&frame(&with_others, b"")), Some(json!({ "x": null })));
        let error = b"\x0d:message-type\x07\x00\x05error\x0e:error-message\x07\x00\x04gone";
        assert_eq!(event(&frame(error, b"")), Some(json!({ "exception": "", "message": "gone" })));
        assert_eq!(event(&frame(of_type, b"{")), None);
        assert_eq!(event(&frame(b"\x0b:event-type\x07\x00\x09x", b"")), None);
        assert_eq!(event(&frame(b"\x01a\x0a", b"")), None);
        let mut wrong = frame(of_type, b"{}");
        wrong[7] = 200;
        assert_eq!(event(&wrong), None);
    }
}
