//! Lines of messages in the form in which the format's writers write them: nearly all of a session.

/// The line of a message entry up to its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainLine<'a> {
    /// The entry's id.
    pub id: &'a str,
    /// The entry before it; `None` for a root.
    pub parent_id: Option<&'a str>,
    /// The stored timestamp.
    pub timestamp: &'a str,
    /// What follows the name `message` and its colon, to the end of the line.
    pub rest: &'a [u8],
}

impl<'a> PlainLine<'a> {
    /// Splits a line that begins with `type`, `id`, `parentId`, `timestamp` and `message`, in this
    /// order, without white space and without escapes before the message; `None` for others.
    ///
    /// Nothing is said of the rest: later members may have the same names and then count instead.
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

/// A string of printable ASCII without escapes, behind its opening quote, and what follows it.
pub fn plain_string(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' ' | 0x7f..))?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    (bytes[end] == b'"').then_some((text, &bytes[end + 1..]))
}
