//! Readers of one line of a session. None of them builds anything of an entry's body.
//!
//! [`LineHeader`] reads any line and decides what the line is. [`PlainHeader`] reads only messages in the form that
//! the format writes, and searches their bodies instead of parsing them. [`ListedLine`] reads what a list of sessions
//! shows. The last two return `None` for a line that they cannot read with certainty.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use aho_corasick::Span;
use aho_corasick::packed::Searcher;
use compaction_core::entry::{EntryKind, PlainLine, PlainText, Role};
use compaction_core::json::{Cursor, Key, RawObject, decode_string};
use memchr::memchr2;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The text of a line. Bytes that are not UTF-8 are replaced, and only then the text is owned.
pub(crate) fn lossy(line: &[u8]) -> Cow<'_, str> {
    // This check is several times faster than a conversion that replaces bytes.
    std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed)
}

/// The header of one line.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineHeader {
    /// The stored `type`, if it is a string.
    pub(crate) kind_name: Option<String>,
    /// The stored `id`, if it is a string.
    pub(crate) id: Option<String>,
    /// The stored `parentId`: `None` if it is missing or neither a string nor null.
    pub(crate) parent_id: Option<Option<String>>,
    /// The role of the message, for messages.
    pub(crate) role: Option<Role>,
    /// Whether the rest of the line is broken, so that only the header can be used.
    pub(crate) is_body_broken: bool,
}

impl LineHeader {
    /// Reads a line; `None` if it is not a JSON object. A line with a whole header and a broken body keeps its
    /// position in the tree, so that the branch after it stays reachable.
    pub(crate) fn read(line: &str) -> Option<Self> {
        if !line.trim_start().starts_with('{') {
            return None;
        }
        if let Some(members) = Members::of_plain(line) {
            return Some(members.into_header(false));
        }
        let mut members = Members::default();
        let mut deserializer = serde_json::Deserializer::from_str(line);
        let end = MembersSeed(&mut members).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        if end.is_ok() {
            return Some(members.into_header(false));
        }
        // This parser cannot distinguish broken JSON from a message that is not an object, or from half a surrogate
        // pair in a name.
        match RawObject::parse(line) {
            Ok(object) => Some(Members::of(&object).into_header(false)),
            Err(_) if members.is_header_whole() => Some(members.into_header(true)),
            Err(_) => None,
        }
    }

    /// The entry's type.
    pub(crate) fn kind(&self) -> EntryKind {
        self.kind_name.as_deref().map_or(EntryKind::Other, EntryKind::from_name)
    }
}

/// The members that the header needs, as JSON texts.
#[derive(Debug, Default)]
struct Members<'a> {
    kind: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    parent_id: Option<Cow<'a, str>>,
    role: Option<Cow<'a, str>>,
}

impl<'a> Members<'a> {
    /// Reads a line that a cursor can go through; `None` says nothing about the line.
    fn of_plain(line: &'a str) -> Option<Self> {
        let mut members = Self::default();
        let mut cursor = Cursor::new(line.as_bytes());
        let value = |cursor: &mut Cursor<'a>| {
            let start = cursor.position();
            cursor.value()?;
            line.get(start..cursor.position()).map(Cow::Borrowed)
        };
        cursor.skip_white();
        cursor.members(|name, cursor| {
            match name {
                b"type" => members.kind = Some(value(cursor)?),
                b"id" => members.id = Some(value(cursor)?),
                b"parentId" => members.parent_id = Some(value(cursor)?),
                b"message" => {
                    members.role = None;
                    cursor.members(|name, cursor| {
                        match name {
                            b"role" => members.role = Some(value(cursor)?),
                            _ => drop(cursor.value()?),
                        }
                        Some(())
                    })?;
                }
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        cursor.skip_white();
        cursor.is_at_end().then_some(members)
    }

    fn of(object: &RawObject<'_>) -> Members<'static> {
        let text = |key: &str| object.get(key).map(|value| Cow::Owned(value.to_owned()));
        let message = object.get("message").and_then(|message| RawObject::parse(message).ok());
        let role = message.and_then(|message| message.get("role").map(|role| Cow::Owned(role.to_owned())));
        Members { kind: text("type"), id: text("id"), parent_id: text("parentId"), role }
    }

    fn is_header_whole(&self) -> bool {
        let is_string = |value: &Option<Cow<'a, str>>| value.as_ref().is_some_and(|value| value.starts_with('"'));
        let names_parent = is_string(&self.parent_id) || self.parent_id.as_deref() == Some("null");
        is_string(&self.kind) && is_string(&self.id) && names_parent
    }

    fn into_header(self, is_body_broken: bool) -> LineHeader {
        let string = |value: Option<Cow<'a, str>>| value.and_then(|value| decode_string(&value));
        let parent_id = match self.parent_id.as_deref() {
            Some("null") => Some(None),
            Some(json) => decode_string(json).map(Some),
            None => None,
        };
        let kind_name = string(self.kind);
        let is_message = kind_name.as_deref() == EntryKind::Message.name();
        let role = is_message.then(|| string(self.role).map_or(Role::Other, |role| Role::from_name(&role)));
        LineHeader { id: string(self.id), parent_id, role, kind_name, is_body_broken }
    }
}

struct MembersSeed<'b, 'a>(&'b mut Members<'a>);

impl<'de> DeserializeSeed<'de> for MembersSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MembersSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an entry")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        while let Some(Key(name)) = access.next_key()? {
            match &*name {
                "type" => self.0.kind = Some(raw(&mut access)?),
                "id" => self.0.id = Some(raw(&mut access)?),
                "parentId" => self.0.parent_id = Some(raw(&mut access)?),
                "message" => {
                    self.0.role = None;
                    access.next_value_seed(RoleSeed(&mut self.0.role))?;
                }
                _ => {
                    access.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

fn raw<'de, A: MapAccess<'de>>(access: &mut A) -> Result<Cow<'de, str>, A::Error> {
    access.next_value::<&RawValue>().map(|value| Cow::Borrowed(value.get()))
}

struct RoleSeed<'b, 'a>(&'b mut Option<Cow<'a, str>>);

impl<'de> DeserializeSeed<'de> for RoleSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RoleSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        while let Some(Key(name)) = access.next_key()? {
            if name == "role" {
                *self.0 = Some(raw(&mut access)?);
            } else {
                access.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The header of a plain message: a line in the form that the format writes. Nearly every byte of a session is in
/// such lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainHeader<'a> {
    pub(crate) id: PlainText<'a>,
    pub(crate) parent_id: Option<PlainText<'a>>,
    pub(crate) role: Role,
}

/// Bytes after a possible end of the message that are searched for names. Lines with more are rare and left to the
/// exact reader.
const MAX_REST: usize = 2048;

/// Texts after which the start of a line may not count, in the order of [`may_change_header`]. Each has three bytes or
/// more, because the search compares three at a time.
const SIGNS: [&str; 6] = ["\\u00", "\"role\"", "},\"", ", \"", "  \"", " ,\""];
const NAMES: [&str; 4] = [",\"type\"", ",\"id\"", ",\"parentId\"", ",\"message\""];

/// `None` on processors that cannot search for several texts at once.
static SIGN_SEARCH: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new(SIGNS));
static NAME_SEARCH: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new(NAMES));

impl<'a> PlainHeader<'a> {
    /// Reads the line of a plain message. `None` says nothing about the line.
    pub(crate) fn read(line: &'a [u8]) -> Option<Self> {
        // A line that was cut off hardly ever ends like an object, so this finds it at once.
        let line = line.trim_ascii_end();
        let PlainLine { id, parent_id, rest, .. } = PlainLine::split(line.strip_suffix(b"}}")?)?;
        let (role, rest) = PlainText::read(rest.strip_prefix(br#"{"role":""#)?)?;
        let is_final = memchr2(b'\t', b'\r', rest).is_none() && !may_change_header(rest)?;
        is_final.then(|| Self { id, parent_id, role: Role::from_name(role.as_str()) })
    }
}

/// Whether the message may name its role again, or a member of the entry that follows the message may have a name of
/// the header. `message` begins after the first role and contains no tabs or carriage returns.
///
/// Each of these members follows a comma, and a name may hide in escapes. The first member after the message follows
/// the brace that closes it. Text before the first such brace and comma contains no members of the entry, wherever in
/// the message that place may be. In strings a backslash precedes each quote, so text hardly ever looks like this.
fn may_change_header(message: &[u8]) -> Option<bool> {
    let (signs, names) = (SIGN_SEARCH.as_ref()?, NAME_SEARCH.as_ref()?);
    let (mut from, mut has_end) = (0, false);
    while let Some(sign) = signs.find_in(message, Span { start: from, end: message.len() }) {
        let may_change = match sign.pattern().as_usize() {
            // Printable ASCII; other escapes are no letters of these names.
            0 => message.get(sign.end()).is_none_or(|digit| matches!(digit, b'4'..=b'7')),
            1 => message[..sign.start()].trim_ascii_end().ends_with(b","),
            2 if has_end => false,
            2 => {
                has_end = true;
                let rest = &message[sign.start() + 1..];
                rest.len() > MAX_REST || names.find(rest).is_some()
            }
            // White space beside a comma and a quote.
            _ => true,
        };
        if may_change {
            return Some(true);
        }
        // The quote at the end of one text may begin another.
        from = sign.end() - 1;
    }
    Some(false)
}

/// The members of a line that a list of sessions needs, as JSON texts. The reader goes through the whole line, so
/// that a broken line is not counted and a nested member is not mistaken for a member of the message. It decodes
/// nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedLine<'a> {
    pub(crate) kind: Option<&'a [u8]>,
    pub(crate) timestamp: Option<&'a [u8]>,
    pub(crate) name: Option<&'a [u8]>,
    /// `None` if it is missing or not an object.
    pub(crate) message: Option<ListedMessage<'a>>,
}

/// The members of a message that a list needs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedMessage<'a> {
    pub(crate) role: Option<&'a [u8]>,
    pub(crate) timestamp: Option<&'a [u8]>,
}

impl<'a> ListedLine<'a> {
    /// Reads a line. `None` means that the JSON reader must read it: the line has escapes in names, control
    /// characters or unusual depth, or it is broken.
    pub(crate) fn of(line: &'a [u8]) -> Option<Self> {
        let mut listed = Self::default();
        let mut cursor = Cursor::new(line);
        cursor.skip_white();
        cursor.members(|name, cursor| {
            match name {
                b"type" => listed.kind = Some(cursor.value()?),
                b"timestamp" => listed.timestamp = Some(cursor.value()?),
                b"name" => listed.name = Some(cursor.value()?),
                b"message" => listed.message = ListedMessage::of(cursor)?,
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        cursor.skip_white();
        cursor.is_at_end().then_some(listed)
    }
}

impl<'a> ListedMessage<'a> {
    /// Reads a value; `Some(None)` if it is not an object.
    fn of(cursor: &mut Cursor<'a>) -> Option<Option<Self>> {
        if cursor.peek()? != b'{' {
            return cursor.value().map(|_| None);
        }
        let mut message = Self::default();
        cursor.members(|name, cursor| {
            match name {
                b"role" => message.role = Some(cursor.value()?),
                b"timestamp" => message.timestamp = Some(cursor.value()?),
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        Some(Some(message))
    }
}

#[cfg(test)]
mod header_tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(line: &str, expected: Expect) {
        let shown = LineHeader::read(line).map_or_else(
            || "none".to_owned(),
            |header| {
                let LineHeader { kind_name, id, parent_id, role, is_body_broken } = header;
                format!("{kind_name:?} {id:?} {parent_id:?} {role:?} broken={is_body_broken}")
            },
        );
        expected.assert_eq(&shown);
    }

    #[test]
    fn headers_are_found_whatever_their_form() {
        check(
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"x"}}"#,
            expect![[r#"Some("message") Some("a") Some(None) Some(User) broken=false"#]],
        );
        check(
            r#" {"message":{"content":[{"role":"no"}],"role":"assistant"},"p\u0061rentId":"\u0062","id":"a","type":"message"} "#,
            expect![[r#"Some("message") Some("a") Some(Some("b")) Some(Assistant) broken=false"#]],
        );
        check(
            r#"{"type":"message","id":"a","parentId":"x","message":{"role":"user","role":"system"},"id":"b","parentId":null}"#,
            expect![[r#"Some("message") Some("b") Some(None) Some(System) broken=false"#]],
        );
        check(
            r#"{"type":"message","id":"a","parentId":null,"message":"odd","\ud800":1}"#,
            expect![[r#"Some("message") Some("a") Some(None) Some(Other) broken=false"#]],
        );
        check(
            r#"{"type":"message","id":"\ud800","parentId":7,"message":[{"role":"user"}]}"#,
            expect![[r#"Some("message") Some("�") None Some(Other) broken=false"#]],
        );
        check(r#"{"type":"label","id":7}"#, expect![[r#"Some("label") None None None broken=false"#]]);
        check("{}", expect!["None None None None broken=false"]);
    }

    #[test]
    fn broken_lines_keep_a_whole_header() {
        check(
            r#"{"type":"message","id":"a","parentId":"b","message":{"role":"user","cont"#,
            expect![[r#"Some("message") Some("a") Some(Some("b")) Some(User) broken=true"#]],
        );
        check(r#"{"type":"message","id":"a","message":{"role":"user"}"#, expect!["none"]);
        check(r#"{"type":"message","id":"a","parentId":"b"#, expect!["none"]);
        check(r#"{"type":"message","id":"a","parentId":7,"x"#, expect!["none"]);
        check("[]", expect!["none"]);
        check("{} x", expect!["none"]);
        check("", expect!["none"]);
    }

    #[test]
    fn depth_has_no_limit() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let line = format!(r#"{{"type":"message","id":"a","parentId":null,"message":{{"content":{deep}}}}}"#);
        assert!(LineHeader::read(&line).is_some());
    }
}

#[cfg(test)]
mod plain_tests {
    use proptest::prelude::*;

    use super::*;

    const START: &str = r#"{"type":"message","id":"0000000a","parentId":"b","timestamp":"T","message":{"role":"user""#;

    /// Returns whether the plain reader reads the line. If it does, the exact reader must agree.
    fn is_quick(line: &str) -> bool {
        let Some(quick) = PlainHeader::read(line.as_bytes()) else {
            return false;
        };
        let exact = LineHeader::read(line).unwrap_or_else(|| panic!("nobody else can read {line}"));
        let shown = (exact.kind_name.as_deref(), exact.id.as_deref(), exact.parent_id.as_ref(), exact.role);
        let parent_id = quick.parent_id.map(|id| id.as_str().to_owned());
        assert_eq!(shown, (Some("message"), Some(quick.id.as_str()), Some(&parent_id), Some(quick.role)), "{line}");
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

    /// Pieces of whole and broken lines.
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
