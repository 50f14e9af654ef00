//! One line of a session, read as far as the index needs it.
//!
//! The members of the entry are passed over one by one; of a message only the role is looked at.
//! Nothing is built of bodies. The order of members, escapes in their names and duplicates do not
//! matter: the last of two equal names counts, as it does in JavaScript.

use std::borrow::Cow;
use std::fmt;

use compaction_core::entry::{EntryKind, Role};
use compaction_core::json::{RawObject, decode_string};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What one line says.
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
    /// Whether the rest of the line is broken, so that only its header can be used.
    pub(crate) is_body_broken: bool,
}

impl LineHeader {
    /// Reads a line; `None` if it is no JSON object. A line whose header is whole and whose body is
    /// not keeps its place in the tree, so that the branch behind it is not cut off.
    pub(crate) fn read(line: &str) -> Option<Self> {
        if !line.trim_start().starts_with('{') {
            return None;
        }
        let mut members = Members::default();
        let mut deserializer = serde_json::Deserializer::from_str(line);
        let end = MembersSeed(&mut members).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        if end.is_ok() {
            return Some(members.into_header(false));
        }
        // The quick way cannot tell broken JSON from a message that is no object, or from half a
        // surrogate pair in a name.
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

/// The members of interest, as JSON texts.
#[derive(Debug, Default)]
struct Members<'a> {
    kind: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    parent_id: Option<Cow<'a, str>>,
    role: Option<Cow<'a, str>>,
}

impl<'a> Members<'a> {
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
        while let Some(Name(name)) = access.next_key()? {
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
        while let Some(Name(name)) = access.next_key()? {
            if name == "role" {
                *self.0 = Some(raw(&mut access)?);
            } else {
                access.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The name of a member, borrowed where it holds no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a member name")
            }

            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(value.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
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
