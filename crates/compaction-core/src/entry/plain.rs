//! A fast path for message lines in the usual form, which are most lines of a session.

/// The line of a message entry up to its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainLine<'a> {
    /// The entry's id.
    pub id: &'a str,
    /// The entry before it; `None` for a root.
    pub parent_id: Option<&'a str>,
    /// The stored timestamp.
    pub timestamp: &'a str,
    /// The rest of the line behind the name `message` and its colon.
    pub rest: &'a [u8],
}

impl<'a> PlainLine<'a> {
    /// Splits a line that begins with `type`, `id`, `parentId`, `timestamp` and `message`, in this
    /// order, without white space and escapes in front of the message. `None` for other lines.
    ///
    /// The rest is not checked. Later members may have the same names and would take precedence.
    pub fn split(line: &'a [u8]) -> Option<Self> {
        let (id, rest) = plain_string(line.strip_prefix(br#"{"type":"message","id":""#)?)?;
        let rest = rest.strip_prefix(br#","parentId":"#)?;
        let (parent_id, rest) = match rest.strip_prefix(b"null") {
            Some(rest) => (None, rest),
            None => plain_string(rest.strip_prefix(b"\"")?).map(|(id, rest)| (Some(id), rest))?,
        };
        let (timestamp, rest) = plain_string(rest.strip_prefix(br#","timestamp":""#)?)?;
        let rest = rest.strip_prefix(br#","message":"#)?;
        Some(Self { id, parent_id, timestamp, rest })
    }
}

/// Reads a string of printable ASCII without escapes, behind its opening quote. Returns it and the
/// bytes behind it.
pub fn plain_string(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' ' | 0x7f..))?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    (bytes[end] == b'"').then_some((text, &bytes[end + 1..]))
}
