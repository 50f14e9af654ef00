//! JSON that is passed on unchanged: messages, entries and free-form values.

use std::borrow::Cow;
use std::sync::Arc;

use compaction_core::json::{self, RawObject};
use compaction_core::{entry, message};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON text, or its owner. Contexts are large, so their parts are sent without copies.
#[derive(Debug, Clone)]
enum Text {
    Value(Box<RawValue>),
    Message(Arc<message::Message>),
    Entry(Arc<entry::Entry>),
}

impl Text {
    fn raw(&self) -> &RawValue {
        match self {
            Self::Value(raw) => raw,
            Self::Message(message) => message.raw(),
            Self::Entry(entry) => entry.raw(),
        }
    }

    fn into_raw(self) -> Box<RawValue> {
        match self {
            Self::Value(raw) => raw,
            shared => shared.raw().to_owned(),
        }
    }
}

impl From<&Arc<message::Message>> for Message {
    fn from(message: &Arc<message::Message>) -> Self {
        Self(Text::Message(Arc::clone(message)))
    }
}

impl From<Message> for Box<RawValue> {
    fn from(message: Message) -> Self {
        message.0.into_raw()
    }
}

impl From<AnyMessage> for Box<RawValue> {
    fn from(message: AnyMessage) -> Self {
        message.0.into_raw()
    }
}

impl From<&Arc<message::Message>> for AnyMessage {
    fn from(message: &Arc<message::Message>) -> Self {
        Self(Text::Message(Arc::clone(message)))
    }
}

impl From<&Arc<entry::Entry>> for Entry {
    fn from(entry: &Arc<entry::Entry>) -> Self {
        Self(Text::Entry(Arc::clone(entry)))
    }
}

macro_rules! raw_json {
    ($(#[$doc:meta])* $name:ident, $schema:expr) => {
        raw_json!($(#[$doc])* $name, $schema, |_| Ok(()));
    };
    ($(#[$doc:meta])* $name:ident, $schema:expr, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name(Text);

        impl $name {
            /// The JSON text.
            pub fn get(&self) -> &str {
                self.0.raw().get()
            }

            /// A copy of the JSON text.
            pub fn to_raw(&self) -> Box<RawValue> {
                self.0.raw().to_owned()
            }
        }

        impl From<&RawValue> for $name {
            fn from(raw: &RawValue) -> Self {
                raw.to_owned().into()
            }
        }

        impl From<Box<RawValue>> for $name {
            fn from(raw: Box<RawValue>) -> Self {
                Self(Text::Value(raw))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    // An entry would keep its line a second time.
                    Text::Entry(entry) => match json::raw_value(entry.line().into_owned()) {
                        Ok(line) => line.serialize(serializer),
                        Err(_) => entry.raw().serialize(serializer),
                    },
                    text => text.raw().serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let check: fn(&str) -> Result<(), &'static str> = $check;
                let raw = Box::<RawValue>::deserialize(deserializer)?;
                check(raw.get())
                    .map_err(|expected| serde::de::Error::custom(format_args!("expected {expected}")))?;
                Ok(raw.into())
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

raw_json!(
    /// A message as the session file stores it.
    Message,
    json_schema!({
        "description": "A message as the session file stores it. Unknown members are carried through.",
        "type": "object",
        "properties": {
            "role": {
                "type": "string",
                "description": "user, assistant, toolResult, bashExecution, custom or system; in contexts also compactionSummary and branchSummary."
            },
            "content": {
                "description": "Text, or a list of blocks {type: text|image|thinking|toolCall, ...}."
            },
            "timestamp": { "type": "number", "description": "Epoch milliseconds." }
        },
        "required": ["role"],
        "additionalProperties": true
    })
);

raw_json!(
    /// A message in the format that `format` names.
    AnyMessage,
    json_schema!({
        "description": "A message in the shape that `format` names; where no other is named, one as the session file stores it.",
        "type": "object",
        "properties": {
            "role": { "type": "string", "description": "Who speaks; items of `openai-responses` may have none." }
        },
        "additionalProperties": true
    })
);

raw_json!(
    /// An entry as the session file stores it.
    Entry,
    json_schema!({
        "description": "An entry (line) of the session file. Further members depend on the type; unknown types and members are carried through.",
        "type": "object",
        "properties": {
            "type": { "type": "string" },
            "id": { "type": "string" },
            "parentId": { "type": ["string", "null"] },
            "timestamp": { "type": "string", "description": "ISO 8601, UTC, milliseconds." }
        },
        "required": ["type", "id", "parentId", "timestamp"],
        "additionalProperties": true
    })
);

raw_json!(
    /// An entry to append: everything except `id`, `parentId` and `timestamp`.
    NewEntry,
    json_schema!({
        "description": "An entry to append: its type and members; id, parentId and timestamp are given by the server.",
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "enum": ["model_change", "thinking_level_change", "custom", "custom_message", "session_info", "context_edit", "usage"]
            }
        },
        "required": ["type"],
        "additionalProperties": true
    })
);

raw_json!(
    /// A JSON object of any form.
    FreeObject,
    json_schema!({ "type": "object", "additionalProperties": true }),
    |json| if json.starts_with('{') { Ok(()) } else { Err("an object") }
);

raw_json!(
    /// The `data` of an error.
    ErrorData,
    json_schema!({
        "description": "What an error is, and the ids and numbers needed to act.",
        "type": "object",
        "properties": {
            "kind": { "type": "string", "description": "The name of the error, one for each code." },
            "reason": { "type": "string", "description": "Tells errors of one kind apart." },
            "retryable": { "type": "boolean", "description": "Whether the same call, sent again later, may succeed." }
        },
        "required": ["kind", "reason", "retryable"],
        "additionalProperties": true
    })
);

raw_json!(
    /// Usage of a model call.
    Usage,
    json_schema!({
        "description": "Tokens and cost of a model call, as the session file stores them. Unknown members are carried through.",
        "type": "object",
        "properties": {
            "input": { "type": "number" },
            "output": { "type": "number" },
            "cacheRead": { "type": "number" },
            "cacheWrite": { "type": "number" },
            "totalTokens": { "type": "number" },
            "cost": { "type": "object", "description": "Numbers, by part: input, output, cacheRead, cacheWrite and total.", "additionalProperties": true }
        },
        "additionalProperties": true
    }),
    check_usage
);

const USAGE: &str = "an object: input, output, cacheRead, cacheWrite and totalTokens are numbers, and so are input, output, \
                     cacheRead, cacheWrite and total of cost, an object";

/// Checks that a usage can be counted: readers of the format add up the numbers (docs/session-format.md, "Messages").
pub(crate) fn check_usage(json: &str) -> Result<(), &'static str> {
    let is_number = |value: &str| value.parse::<f64>().is_ok_and(f64::is_finite);
    // Hosts keep more beside the parts, such as who says so.
    let is_part = |(key, value): (&str, &str)| {
        !matches!(key, "input" | "output" | "cacheRead" | "cacheWrite" | "total") || is_number(value)
    };
    let is_cost = |json: &str| RawObject::parse(json).is_ok_and(|cost| cost.iter().all(is_part));
    let is_right = |(key, value): (&str, &str)| match key {
        "input" | "output" | "cacheRead" | "cacheWrite" | "totalTokens" => is_number(value),
        "cost" => is_cost(value),
        _ => true,
    };
    match RawObject::parse(json) {
        Ok(usage) if usage.iter().all(is_right) => Ok(()),
        _ => Err(USAGE),
    }
}

raw_json!(
    /// The first line of a session file.
    Header,
    json_schema!({
        "description": "The first line of the session file.",
        "type": "object",
        "properties": {
            "type": { "type": "string" },
            "version": { "type": "integer" },
            "id": { "type": "string" },
            "timestamp": { "type": "string" },
            "cwd": { "type": "string" },
            "parentSession": { "type": "string" }
        },
        "required": ["type", "id"],
        "additionalProperties": true
    })
);

/// The schema of a required member that may be null.
pub(crate) fn nullable_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"] })
}

/// Reads a member for which null differs from absence.
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

/// Reads an object that is checked where it is used, with an error of its own.
pub(crate) fn unchecked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FreeObject>, D::Error> {
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(raw.filter(|raw| raw.get() != "null").map(FreeObject::from))
}

/// Reads a text as JavaScript does: half a surrogate pair counts as U+FFFD.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let text = compaction_core::json::decode_string(raw.get());
    text.ok_or_else(|| serde::de::Error::custom("expected a string"))
}

/// Reads a text that may be absent or null, as [`text`] does.
pub(crate) fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else {
        return Ok(None);
    };
    let text = compaction_core::json::decode_string(raw.get());
    text.map(Some).ok_or_else(|| serde::de::Error::custom("expected a string"))
}
