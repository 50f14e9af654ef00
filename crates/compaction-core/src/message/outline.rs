//! The outline of a message: the parts that a walk over a context needs. It is read without decoding
//! texts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Block, Body};
use crate::json::Key;

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

/// The content of messages above this many bytes is skipped without decoding if it is a string. Decoding would copy
/// the text without its escapes.
const LONG_BYTES: usize = 1 << 20;

impl Outline {
    /// Reads the outline of a JSON text. `None` if it needs a full parse.
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
struct Members {
    role: Scalar,
    timestamp: Scalar,
    tool_call_id: Scalar,
    stop_reason: Scalar,
    content: Content,
    has_usage: bool,
    has_provider: bool,
    has_model: bool,
}

impl Members {
    fn read(json: &str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let members = Value { is_long: json.len() > LONG_BYTES }.deserialize(&mut deserializer).ok()?;
        deserializer.end().ok()?;
        Some(members)
    }

    /// Whether role, time, content and all blocks have a form that contexts show.
    fn is_known(&self) -> bool {
        let (Scalar::Text(role), Scalar::Number(time)) = (&self.role, &self.timestamp) else { return false };
        let blocks = match &self.content {
            Content::Present(_, blocks) => *blocks,
            Content::Missing => Blocks::Unknown,
        };
        time.is_finite()
            && match role.as_str() {
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
        let answered = is_role("toolResult").then(|| self.tool_call_id.text().unwrap_or_default());
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
fn known_role(role: String) -> Cow<'static, str> {
    match role.as_str() {
        "user" => Cow::Borrowed("user"),
        "assistant" => Cow::Borrowed("assistant"),
        "toolResult" => Cow::Borrowed("toolResult"),
        _ => Cow::Owned(role),
    }
}

/// A value of interest if it is a string or a number.
#[derive(Debug, Default)]
enum Scalar {
    #[default]
    Other,
    Text(String),
    Number(f64),
}

impl Scalar {
    fn text(self) -> Option<String> {
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

impl ReadBlock {
    const UNKNOWN: Self = Self { form: Blocks::Unknown, call: None };
}

struct Value {
    is_long: bool,
}

struct ScalarValue;
struct IsObject;
struct IsName;
struct ContentValue;
struct BlockValue;

/// Visits values of all other kinds: returns `$other` and skips their content.
macro_rules! other_kinds {
    ($value:ty, $other:expr; $($kind:ident),*) => { $(other_kinds!(@$kind $value, $other);)* };
    (@unit $value:ty, $other:expr) => {
        fn visit_unit<E>(self) -> Result<$value, E> { Ok($other) }
    };
    (@scalars $value:ty, $other:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<$value, E> { Ok($other) }
        fn visit_u64<E>(self, _: u64) -> Result<$value, E> { Ok($other) }
        fn visit_i64<E>(self, _: i64) -> Result<$value, E> { Ok($other) }
        fn visit_f64<E>(self, _: f64) -> Result<$value, E> { Ok($other) }
    };
    (@text $value:ty, $other:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<$value, E> { Ok($other) }
    };
    (@list $value:ty, $other:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<$value, A::Error> {
            while access.next_element::<IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
    (@object $value:ty, $other:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<$value, A::Error> {
            while access.next_entry::<Key<'de>, IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
}

/// Reads a value by its own visitor.
macro_rules! seed {
    ($seed:ty => $value:ty) => {
        impl<'de> DeserializeSeed<'de> for $seed {
            type Value = $value;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<$value, D::Error> {
                deserializer.deserialize_any(self)
            }
        }
    };
}

seed!(Value => Members);
seed!(ScalarValue => Scalar);
seed!(IsObject => bool);
seed!(IsName => bool);
seed!(ContentValue => Content);
seed!(BlockValue => ReadBlock);

impl<'de> Visitor<'de> for Value {
    type Value = Members;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        while let Some(Key(key)) = access.next_key()? {
            match &*key {
                "role" => members.role = access.next_value_seed(ScalarValue)?,
                "timestamp" => members.timestamp = access.next_value_seed(ScalarValue)?,
                "toolCallId" => members.tool_call_id = access.next_value_seed(ScalarValue)?,
                "stopReason" => members.stop_reason = access.next_value_seed(ScalarValue)?,
                "content" if self.is_long => members.content = read_long(access.next_value()?)?,
                "content" => members.content = access.next_value_seed(ContentValue)?,
                "usage" => members.has_usage = access.next_value_seed(IsObject)?,
                "provider" => members.has_provider = access.next_value_seed(IsName)?,
                "model" => members.has_model = access.next_value_seed(IsName)?,
                _ => {
                    access.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(members)
    }

    other_kinds!(Members, Members::default(); unit, scalars, text, list);
}

/// The content of a long message.
fn read_long<E: Error>(content: &RawValue) -> Result<Content, E> {
    if content.get().starts_with('"') {
        return Ok(Content::Present(Vec::new(), Blocks::OfAll));
    }
    ContentValue.deserialize(&mut serde_json::Deserializer::from_str(content.get())).map_err(E::custom)
}

impl<'de> Visitor<'de> for ScalarValue {
    type Value = Scalar;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    other_kinds!(Scalar, Scalar::Other; unit, list, object);
}

impl<'de> Visitor<'de> for IsObject {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    other_kinds!(bool, false; unit, scalars, text, list);
    other_kinds!(bool, true; object);
}

/// Whether it is a text that is not empty.
impl<'de> Visitor<'de> for IsName {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        Ok(!text.is_empty())
    }

    other_kinds!(bool, false; unit, scalars, list, object);
}

impl<'de> Visitor<'de> for ContentValue {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("content")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Content, A::Error> {
        let (mut calls, mut blocks) = (Vec::new(), Blocks::OfAll);
        while let Some(block) = access.next_element_seed(BlockValue)? {
            calls.extend(block.call);
            blocks = blocks.max(block.form);
        }
        Ok(Content::Present(calls, blocks))
    }

    fn visit_str<E>(self, _: &str) -> Result<Content, E> {
        Ok(Content::Present(Vec::new(), Blocks::OfAll))
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Missing)
    }

    other_kinds!(Content, Content::Present(Vec::new(), Blocks::Unknown); scalars, object);
}

impl<'de> Visitor<'de> for BlockValue {
    type Value = ReadBlock;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a block")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<ReadBlock, A::Error> {
        let (mut kind, mut id) = (Scalar::Other, Scalar::Other);
        while let Some(Key(key)) = access.next_key()? {
            match &*key {
                "type" => kind = access.next_value_seed(ScalarValue)?,
                "id" => id = access.next_value_seed(ScalarValue)?,
                _ => {
                    access.next_value::<IgnoredAny>()?;
                }
            }
        }
        let kind = kind.text();
        let form = match kind.as_deref() {
            Some("text" | "image") => Blocks::OfAll,
            Some("thinking" | "toolCall") => Blocks::OfAnswers,
            _ => Blocks::Unknown,
        };
        let is_call = kind.as_deref() == Some("toolCall");
        Ok(ReadBlock { form, call: is_call.then(|| id.text().unwrap_or_default()) })
    }

    other_kinds!(ReadBlock, ReadBlock::UNKNOWN; unit, scalars, text, list);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::{read_text, whole_outline};

    /// Whether the outline is read without the whole; if so, it must be that of the whole.
    fn is_quick(json: &str) -> bool {
        let quick = Outline::read(json);
        if let Some(quick) = &quick {
            assert_eq!(*quick, whole_outline(json), "{json}");
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
        let long = "\\\"".repeat(LONG_BYTES);
        assert!(is_quick(&format!(r#"{{"role":"user","content":"{long}","timestamp":7}}"#)));
        let call = format!(r#"{{"type":"text","text":"{long}"}},{{"type":"toolCall","id":"c"}}"#);
        assert!(is_quick(&format!(r#"{{"role":"assistant","content":[{call}],"timestamp":7}}"#)));
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
