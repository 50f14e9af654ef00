//! Amazon's frames of events (`application/vnd.amazon.eventstream`): lengths, headers, payload.
//!
//! The checksums are not looked at: the connection has its own.

use serde_json::{Value, json};

use super::super::http::{Exchange, HttpError};
use super::MAX_EVENT_BYTES;

/// Bytes of lengths and checksum before the headers, and of the checksum behind the payload.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;

/// The frames of one answer.
pub(super) struct Frames {
    exchange: Exchange,
    buffer: Vec<u8>,
    /// Bytes of the buffer that have been read.
    read: usize,
}

impl Frames {
    /// The frames of `exchange`.
    pub(super) fn new(exchange: Exchange) -> Self {
        Self { exchange, buffer: Vec::new(), read: 0 }
    }

    /// The next event as `{<type>: payload}`, an exception as `{"exception": <type>, "message": …}`;
    /// `None` at the end. A frame that the end cuts off is none.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, HttpError> {
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

    /// Bytes of the first frame, once all of them are there.
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

/// The number of four bytes at `at`.
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
        text => serde_json::from_slice::<Value>(text).ok()?,
    };
    Some(match of(":message-type") {
        Some("exception") => {
            json!({ "exception": of(":exception-type").unwrap_or_default(), "message": payload["message"] })
        }
        Some("error") => json!({ "exception": of(":error-code").unwrap_or_default(), "message": of(":error-message") }),
        _ => json!({ of(":event-type").unwrap_or_default(): payload }),
    })
}

/// The headers whose values are texts.
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
