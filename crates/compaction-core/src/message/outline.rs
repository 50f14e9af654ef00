//! The outline of a message: the parts that a walk over a context needs. It is read without decoding
//! texts.

use std::borrow::Cow;

use super::{Block, Body};
use crate::json::Cursor;

/// Role, time and calls of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Outline {
    /// The role as stored, if it is a string.
    pub(super) role: Option<Cow<'static, str>>,
    /// Epoch milliseconds.
    pub(super) timestamp: Option<i64>,
    /// The ids of the tool calls of an answer.
    pub(super) calls: Vec<String>,
    /// The call that a tool result answers.
    pub(super) answered: Option<String>,
    /// Whether it is an answer that failed or was aborted.
    pub(super) has_failed: bool,
    /// Whether content is missing or null.
    pub(super) lacks_content: bool,
    /// Whether it is an answer with the provider's usage.
    pub(super) has_usage: bool,
    /// Whether it is an answer that names its provider and model.
    pub(super) names_model: bool,
}

impl Outline {
    /// Reads the outline of a JSON text without surrounding white space, and checks the whole text. `None` if it needs
    /// a full parse, or is not JSON.
    pub(super) fn read(json: &str) -> Option<Self> {
        Members::read(json).map(Members::into_outline)
    }

    /// As [`Outline::read`]. Also returns whether every part of the message has a known form.
    pub(super) fn read_checked(json: &str) -> Option<(Self, bool)> {
        let members = Members::read(json)?;
        let is_known = members.is_known();
        Some((members.into_outline(), is_known))
    }

    /// The outline of a fully parsed message.
    pub(super) fn of(timestamp: Option<i64>, body: &Body, lacks_content: bool) -> Self {
        let calls = match body {
            Body::Assistant(assistant) => assistant.content.iter().filter_map(call_id).collect(),
            _ => Vec::new(),
        };
        let answered = match body {
            Body::ToolResult { tool_call_id, .. } => Some(tool_call_id.clone()),
            _ => None,
        };
        let stop_reason = match body {
            Body::Assistant(assistant) => assistant.stop_reason.as_deref(),
            _ => None,
        };
        let has_failed = is_failure(stop_reason);
        let role = body.role().map(|role| Cow::Owned(role.to_owned()));
        let is_named = |name: &Option<String>| name.as_ref().is_some_and(|name| !name.is_empty());
        let (has_usage, names_model) = match body {
            Body::Assistant(answer) => (answer.usage.is_some(), is_named(&answer.provider) && is_named(&answer.model)),
            _ => (false, false),
        };
        Self { role, timestamp, calls, answered, has_failed, lacks_content, has_usage, names_model }
    }
}

fn is_failure(stop_reason: Option<&str>) -> bool {
    matches!(stop_reason, Some("error" | "aborted"))
}

fn call_id(block: &Block) -> Option<String> {
    match block {
        Block::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    }
}

/// The members of a message that an outline needs. The last of duplicate names counts.
#[derive(Debug, Default)]
struct Members<'a> {
    role: Scalar<'a>,
    timestamp: Scalar<'a>,
    tool_call_id: Scalar<'a>,
    stop_reason: Scalar<'a>,
    content: Content,
    has_usage: bool,
    has_provider: bool,
    has_model: bool,
}

impl Members<'_> {
    /// Whether role, time, content and all blocks have a form that contexts show.
    fn is_known(&self) -> bool {
        let (Scalar::Text(role), Scalar::Number(time)) = (&self.role, &self.timestamp) else { return false };
        let blocks = match &self.content {
            Content::Present(_, blocks) => *blocks,
            Content::Missing => Blocks::Unknown,
        };
        time.is_finite()
            && match role.as_ref() {
                "assistant" => blocks <= Blocks::OfAnswers,
                "user" | "toolResult" | "custom" | "system" => blocks <= Blocks::OfAll,
                _ => false,
            }
    }

    fn into_outline(self) -> Outline {
        let role = self.role.text();
        let is_role = |name: &str| role.as_deref() == Some(name);
        let timestamp = match self.timestamp {
            Scalar::Number(time) => Some(time as i64),
            _ => None,
        };
        let answered = is_role("toolResult").then(|| self.tool_call_id.text().unwrap_or_default().into_owned());
        let is_answer = is_role("assistant");
        let has_failed = is_answer && is_failure(self.stop_reason.text().as_deref());
        let (calls, lacks_content) = match self.content {
            Content::Missing => (Vec::new(), true),
            Content::Present(calls, _) if is_answer => (calls, false),
            Content::Present(..) => (Vec::new(), false),
        };
        let has_usage = is_answer && self.has_usage;
        let names_model = is_answer && self.has_provider && self.has_model;
        let role = role.map(known_role);
        Outline { role, timestamp, calls, answered, has_failed, lacks_content, has_usage, names_model }
    }
}

/// Avoids an allocation for the usual roles.
fn known_role(role: Cow<'_, str>) -> Cow<'static, str> {
    match role.as_ref() {
        "user" => Cow::Borrowed("user"),
        "assistant" => Cow::Borrowed("assistant"),
        "toolResult" => Cow::Borrowed("toolResult"),
        _ => Cow::Owned(role.into_owned()),
    }
}

/// A value of interest if it is a string or a number.
#[derive(Debug, Default)]
enum Scalar<'a> {
    #[default]
    Other,
    Text(Cow<'a, str>),
    Number(f64),
}

impl<'a> Scalar<'a> {
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The ids of the calls in content, and its blocks, if there is content.
#[derive(Debug, Default)]
enum Content {
    #[default]
    Missing,
    Present(Vec<String>, Blocks),
}

/// The forms of the blocks in content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Blocks {
    /// Texts and images, which messages of all roles may have. Plain text counts as one.
    OfAll,
    /// With thinking and calls, which answers may have.
    OfAnswers,
    /// With blocks or content of another form.
    Unknown,
}

/// A block: its form, and its id if it is a call.
struct ReadBlock {
    form: Blocks,
    call: Option<String>,
}

impl<'a> Members<'a> {
    /// Reads a message, or a value of another kind.
    fn read(json: &'a str) -> Option<Self> {
        let mut cursor = Cursor::new(json.as_bytes());
        let mut members = Self::default();
        if cursor.peek()? == b'{' {
            cursor.members(|name, cursor| members.read_member(name, cursor))?;
        } else {
            cursor.value()?;
        }
        cursor.is_at_end().then_some(members)
    }

    fn read_member(&mut self, name: &[u8], cursor: &mut Cursor<'a>) -> Option<()> {
        match name {
            b"role" => self.role = Scalar::of(cursor.value()?)?,
            b"timestamp" => self.timestamp = Scalar::of(cursor.value()?)?,
            b"toolCallId" => self.tool_call_id = Scalar::of(cursor.value()?)?,
            b"stopReason" => self.stop_reason = Scalar::of(cursor.value()?)?,
            b"content" => self.content = Content::read(cursor)?,
            b"usage" => self.has_usage = cursor.value()?.starts_with(b"{"),
            b"provider" => self.has_provider = is_name(cursor.value()?),
            b"model" => self.has_model = is_name(cursor.value()?),
            _ => drop(cursor.value()?),
        }
        Some(())
    }
}

/// Whether it is a text that is not empty.
fn is_name(json: &[u8]) -> bool {
    json.starts_with(b"\"") && json != b"\"\""
}

impl<'a> Scalar<'a> {
    /// `None` for half a surrogate pair and for a number beyond floating point.
    fn of(json: &'a [u8]) -> Option<Self> {
        match json.first()? {
            b'"' if json.contains(&b'\\') => serde_json::from_slice(json).ok().map(|text| Self::Text(Cow::Owned(text))),
            b'"' => std::str::from_utf8(&json[1..json.len() - 1]).ok().map(|text| Self::Text(Cow::Borrowed(text))),
            b'-' | b'0'..=b'9' => {
                let number: f64 = std::str::from_utf8(json).ok()?.parse().ok()?;
                number.is_finite().then_some(Self::Number(number))
            }
            _ => Some(Self::Other),
        }
    }
}

impl Content {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        if cursor.peek()? != b'[' {
            let value = cursor.value()?;
            return match value.first()? {
                b'n' => Some(Self::Missing),
                b'"' => Some(Self::Present(Vec::new(), Blocks::OfAll)),
                // A number beyond floating point is read as null.
                _ => Scalar::of(value).map(|_| Self::Present(Vec::new(), Blocks::Unknown)),
            };
        }
        let (mut calls, mut blocks) = (Vec::new(), Blocks::OfAll);
        cursor.elements(|cursor| {
            let block = ReadBlock::read(cursor)?;
            calls.extend(block.call);
            blocks = blocks.max(block.form);
            Some(())
        })?;
        Some(Self::Present(calls, blocks))
    }
}

impl ReadBlock {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        if cursor.peek()? != b'{' {
            cursor.value()?;
            return Some(Self { form: Blocks::Unknown, call: None });
        }
        let (mut kind, mut id) = (Scalar::Other, Scalar::Other);
        cursor.members(|name, cursor| {
            match name {
                b"type" => kind = Scalar::of(cursor.value()?)?,
                b"id" => id = Scalar::of(cursor.value()?)?,
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        let kind = kind.text();
        let form = match kind.as_deref() {
            Some("text" | "image") => Blocks::OfAll,
            Some("thinking" | "toolCall") => Blocks::OfAnswers,
            _ => Blocks::Unknown,
        };
        let is_call = kind.as_deref() == Some("toolCall");
        Some(Self { form, call: is_call.then(|| id.text().unwrap_or_default().into_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json;
    use crate::message::{Message, read_text, whole_outline};

    /// Whether the outline is read without the whole; if so, it must be that of the whole, and the entry of a plain
    /// line must have the same message as one whose text was read by the JSON reader.
    fn is_quick(json: &str) -> bool {
        let quick = Outline::read(json);
        if let Some(quick) = &quick {
            assert_eq!(*quick, whole_outline(json), "{json}");
            let read = |message: Message| (message.raw.get().to_owned(), message.timestamp(), message.body().clone());
            let raw = json::raw_value(json.to_owned()).unwrap();
            let message = Message::of_entry_text(json, || Some(7)).unwrap();
            assert_eq!(read(message), read(Message::of_entry(raw, || Some(7))), "{json}");
        }
        quick.is_some()
    }

    #[test]
    fn outlines_of_usual_messages_are_read_quickly() {
        for json in [
            r#"{"role":"user","content":"x","timestamp":7}"#,
            r#"{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"\ud83d"}],"timestamp":1.5}"#,
            r#"{"content":[{"id":"c","type":"toolCall"},{"type":"toolCall"},7,null,[{}]],"role":"assistant","usage":{}}"#,
            r#"{"role":"toolResult","content":null,"toolCallId":7}"#,
            r#"{"role":7}"#,
            "[]",
        ] {
            assert!(is_quick(json), "{json}");
        }
        assert_eq!(whole_outline(r#"{"role":"\ud83d"}"#).role.as_deref(), Some("\u{fffd}"));
    }

    /// Values of every kind, and names that matter or repeat.
    fn value() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "null",
            "true",
            "7",
            "-1.5e3",
            "1e400",
            "\"\"",
            "\"toolCall\"",
            "\"text\"",
            "\"c1\"",
            "\"\\ud83d\"",
            "\"user\"",
            "\"assistant\"",
            "\"toolResult\"",
            "\"system\"",
            "\"custom\"",
            "\"other\"",
        ]);
        let names = [
            "role",
            "timestamp",
            "toolCallId",
            "content",
            "type",
            "id",
            "text",
            "\\ud83d",
            "r\\u006fle",
            "x",
            "usage",
            "provider",
            "model",
        ];
        leaf.prop_map(str::to_owned).prop_recursive(4, 48, 6, move |inner| {
            let member = (prop::sample::select(names.to_vec()), inner.clone());
            let object = prop::collection::vec(member, 0..7).prop_map(|members| {
                let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            });
            prop_oneof![prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))), object]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        #[test]
        fn an_outline_is_that_of_the_whole(json in value(), role in prop::sample::select(vec!["user", "assistant", "toolResult"])) {
            is_quick(&json);
            if let Some(rest) = json.strip_prefix('{').filter(|rest| *rest != "}") {
                is_quick(&format!("{{\"role\":\"{role}\",{rest}"));
            }
            let _ = read_text(&json);
        }
    }
}
