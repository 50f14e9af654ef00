//! Headers of plain messages, read without taking their bodies apart.
//!
//! Nearly every byte of a session lies in messages whose line begins as the format writes it. Such
//! a line is read up to its role, and then only searched for what could change what was read: a
//! later member of the same name, which would count in its place. Whatever is not plain goes to
//! [`LineHeader::read`](crate::index::line::LineHeader::read), with which this reader always agrees.

use std::sync::LazyLock;

use compaction_core::entry::{PlainLine, Role, plain_string};
use memchr::{memchr2, memmem::Finder};

/// What the line of a plain message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuickHeader<'a> {
    pub(super) id: &'a str,
    pub(super) parent_id: Option<&'a str>,
    pub(super) role: Role,
}

/// Bytes behind a possible end of the message that are searched for names; more are rare, and read
/// in full.
const MAX_REST: usize = 2048;

static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u00"));
static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(",\""));
static SPACED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" \""));
static NAMES: LazyLock<[Finder<'static>; 4]> =
    LazyLock::new(|| [",\"type\"", ",\"id\"", ",\"parentId\"", ",\"message\""].map(Finder::new));

/// Reads the line of a plain message; `None` says nothing of the line.
pub(super) fn read(line: &[u8]) -> Option<QuickHeader<'_>> {
    // What was cut off hardly ever ends like an object, and is to be known at once.
    let line = line.trim_ascii_end();
    let PlainLine { id, parent_id, rest, .. } = PlainLine::split(line.strip_suffix(b"}}")?)?;
    let (role, rest) = plain_string(rest.strip_prefix(br#"{"role":""#)?)?;
    let is_last_word = !has_white_space(rest) && !has_escaped_letter(rest) && !may_name_again(rest);
    is_last_word.then(|| QuickHeader { id, parent_id, role: Role::from_name(role) })
}

/// Whether a name may follow white space. Inside strings a quote follows a backslash, so that only a
/// text that ends in a space looks like it.
fn has_white_space(message: &[u8]) -> bool {
    memchr2(b'\t', b'\r', message).is_some() || SPACED.find(message).is_some()
}

/// Whether the message may name its role again, or a member of the entry that follows the message
/// may have a name of the header. Without white space each of them follows a comma.
///
/// The first member behind the message follows the brace that closes it. What lies before the first
/// such place holds no members of the entry, wherever in the message that place may be.
fn may_name_again(message: &[u8]) -> bool {
    let mut end = None;
    for at in MEMBER.find_iter(message) {
        if message[at + 2..].starts_with(b"role\"") {
            return true;
        }
        let is_behind_object = message[..at].trim_ascii_end().ends_with(b"}");
        end = end.or(is_behind_object.then_some(at));
    }
    let rest = &message[end.unwrap_or(message.len())..];
    rest.len() > MAX_REST || NAMES.iter().any(|name| name.find(rest).is_some())
}

/// Whether there is an escape of a printable ASCII character. Others are no letters of a name that
/// is looked for.
fn has_escaped_letter(bytes: &[u8]) -> bool {
    ESCAPE.find_iter(bytes).any(|at| bytes.get(at + 4).is_none_or(|digit| matches!(digit, b'4'..=b'7')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::line::LineHeader;

    const START: &str = r#"{"type":"message","id":"0000000a","parentId":"b","timestamp":"T","message":{"role":"user""#;

    /// Whether the line is read quickly; if so, the exact reader must say the same.
    fn is_quick(line: &str) -> bool {
        let Some(quick) = read(line.as_bytes()) else {
            return false;
        };
        let exact = LineHeader::read(line).unwrap_or_else(|| panic!("nobody else can read {line}"));
        let shown = (exact.kind_name.as_deref(), exact.id.as_deref(), exact.parent_id.as_ref(), exact.role);
        let parent_id = quick.parent_id.map(str::to_owned);
        assert_eq!(shown, (Some("message"), Some(quick.id), Some(&parent_id), Some(quick.role)), "{line}");
        true
    }

    #[track_caller]
    fn check(rest: &str, expected: bool) {
        assert_eq!(is_quick(&format!("{START}{rest}")), expected, "{rest}");
    }

    #[test]
    fn plain_messages_are_read_quickly() {
        check(r#","content":"x"}}"#, true);
        check("}}", true);
        check(
            r#","content":[{"type":"text","text":"{\"id\":1}\n},\"id\":2"},{"type":"toolCall","id":"t","arguments":{"message":"m"}}]}}"#,
            true,
        );
        check(r#","usage":{"input":1,"cost":{"total":1}},"stopReason":"stop","timestamp":7}}"#, true);
        check(r#","content":"\u001b[0m \u00e9"}}"#, true);
        check(r#","content":"brackets },"}} "#, true);
    }

    #[test]
    fn whatever_could_change_the_header_is_left_to_the_exact_reader() {
        check(r#"},"id":"c","x":{"y":{}}}"#, false);
        check(r#","usage":{}},"parentId":null,"x":{}}"#, false);
        check(r#","usage":{} , "x":1} , "type":"label","x":{}}"#, false);
        check(r#"},"message":{"role":"system"}}"#, false);
        check(r#","role":"system"}}"#, false);
        check(r#", "role" :"system"}}"#, false);
        check(r#","r\u006fle":"system"}}"#, false);
        check(r#"},"i\u0064":"c","x":{}}"#, false);
        check(r#","content":"cut o"#, false);
        check("}", false);
        check("", false);
        assert!(!is_quick(&START.replace("0000000a", "\\u0061")));
    }

    /// Pieces that lines and their accidents are made of.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            " ",
            "\"",
            "\\",
            "\"id\"",
            "\"type\"",
            "\"parentId\"",
            "\"message\"",
            "\"role\"",
            "\"x\"",
            "null",
            "7",
            "{}",
            "\"a\":",
            "\"role\":\"system\"",
            "\"id\":\"c\"",
            "\\u0069d",
            "},\"",
            "}}",
            "\"id\":",
            "\"y\":{\"role\":1}",
            "\"z\":[{\"type\":\"t\"}]",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        #[test]
        fn both_readers_agree(rest in pieces(), end in prop::sample::select(vec!["}}", "}", "\"}}", ",\"x\":{}}"])) {
            is_quick(&format!("{START}{rest}{end}"));
            is_quick(&format!("{START},{rest}{end}"));
        }
    }
}
