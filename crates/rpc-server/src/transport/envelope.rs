//! Envelopes: the JSON-RPC 2.0 content of a frame. The server parses it itself, because ids are echoed exactly as they
//! came and every message with an id is answered (protocol/README.md, "Calls").

use std::fmt;
use std::marker::PhantomData;

use compaction_core::json::{self, RawObject};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::errors::RpcError;
use crate::params::Params;

/// The id of a request: the JSON text of a string or a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RawId(Box<str>);

impl RawId {
    /// Takes the JSON text of a string or a number. `None` for anything else.
    pub fn parse(json: &str) -> Option<Self> {
        let starts_well = json.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit());
        starts_well.then(|| Self(json.into()))
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        &self.0
    }
}

/// A request or a notification.
#[derive(Debug)]
pub struct Call {
    /// The id. `None` for notifications.
    pub id: Option<RawId>,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Params,
}

/// The client's answer to a request of the server.
#[derive(Debug)]
pub struct Answer {
    /// The id of the server's request. `None` if the client could not read a message of the server.
    pub id: Option<RawId>,
    /// The result, or the error object.
    pub outcome: Result<Box<RawValue>, Box<RawValue>>,
}

/// One message, alone or in a batch.
#[derive(Debug)]
pub enum Part {
    /// A request or a notification.
    Call(Call),
    /// An answer of the client.
    Answer(Answer),
    /// A message with an id and without method, result and error. If a request of the server has this id, it is an
    /// answer without content, otherwise an invalid request.
    Empty(RawId),
    /// A message that cannot be served, with the id for the error.
    Invalid(Option<RawId>, RpcError),
}

/// The content of one frame.
#[derive(Debug)]
pub enum Incoming {
    /// One message.
    Single(Part),
    /// Several messages that are answered together.
    Batch(Vec<Part>),
}

impl Incoming {
    /// Reads a frame. Messages that cannot be read become [`Part::Invalid`].
    pub fn parse(frame: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(frame) else {
            return Self::invalid(RpcError::Parse { message: "the message is not UTF-8".to_owned() });
        };
        let is_batch = text.trim_ascii_start().starts_with('[');
        if let Err(values) = json::check_value_count(text) {
            let most = json::MAX_VALUES;
            let message = format!("a message holds at most {most} values; this one holds {values} or more");
            let id = if is_batch { None } else { id_of(text) };
            return Self::Single(Part::Invalid(id, RpcError::InvalidRequest { message }));
        }
        match is_batch {
            true => Self::parse_batch(text),
            false => Self::Single(Part::parse(text)),
        }
    }

    /// A message that was refused unread.
    pub fn invalid(error: RpcError) -> Self {
        Self::Single(Part::Invalid(None, error))
    }

    fn parse_batch(text: &str) -> Self {
        match serde_json::from_str::<Parts<'_>>(text) {
            Err(error) => Self::invalid(parse_error(&error)),
            Ok(parts) if parts.count == 0 => {
                Self::invalid(RpcError::invalid_request("a batch holds at least one call"))
            }
            Ok(parts) if parts.count > MAX_BATCH => {
                let count = parts.count;
                let message = format!("a batch holds at most {MAX_BATCH} calls; this one holds {count}");
                Self::invalid(RpcError::InvalidRequest { message })
            }
            Ok(parts) => Self::Batch(parts.list.into_iter().map(|part| Part::parse(part.get())).collect()),
        }
    }
}

/// The id of a message whose other members are not read.
fn id_of(text: &str) -> Option<RawId> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    let named: Named<'_> = serde_json::from_str(text).ok()?;
    RawId::parse(named.id?.get())
}

/// Maximum number of calls in a batch, so that a short text cannot cause much work.
const MAX_BATCH: usize = 16_384;

/// The parts of a batch as text. All parts are counted, but only the allowed number is kept.
struct Parts<'a> {
    list: Vec<&'a RawValue>,
    count: usize,
}

impl<'de: 'a, 'a> Deserialize<'de> for Parts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartsVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for PartsVisitor<'a> {
            type Value = Parts<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a batch")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Parts<'a>, A::Error> {
                let mut list: Vec<&'a RawValue> = Vec::new();
                while list.len() < MAX_BATCH
                    && let Some(part) = access.next_element()?
                {
                    list.push(part);
                }
                let mut count = list.len();
                while count >= MAX_BATCH && access.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Parts { list, count })
            }
        }
        deserializer.deserialize_seq(PartsVisitor(PhantomData))
    }
}

/// The members of a message. The parameters are split in the same pass over the text.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    jsonrpc: Option<&'a str>,
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a str>,
    #[serde(default, borrow, deserialize_with = "present")]
    method: Option<&'a str>,
    #[serde(default)]
    params: Params,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a str>,
    #[serde(default, borrow, deserialize_with = "present")]
    error: Option<&'a str>,
}

/// The text of a member that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de str>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(|value| Some(value.get()))
}

impl<'a> Envelope<'a> {
    /// Takes the members of a message with duplicate names, unusual names or wrong parameters.
    fn of(object: &'a RawObject<'_>) -> Self {
        Self {
            jsonrpc: object.get("jsonrpc"),
            id: object.get("id"),
            method: object.get("method"),
            params: object.get("params").map(Params::split).unwrap_or_default(),
            result: object.get("result"),
            error: object.get("error"),
        }
    }
}

impl Part {
    fn parse(text: &str) -> Self {
        if text.trim_ascii_start().starts_with('{')
            && let Ok(envelope) = serde_json::from_str(text)
        {
            return Self::read(envelope);
        }
        match RawObject::parse(text) {
            Ok(object) => Self::read(Envelope::of(&object)),
            Err(error) => match serde_json::from_str::<&RawValue>(text) {
                Ok(_) => Part::Invalid(None, RpcError::invalid_request("a message is a JSON object")),
                Err(_) => Part::Invalid(None, parse_error(&error)),
            },
        }
    }

    fn read(envelope: Envelope<'_>) -> Self {
        let id = envelope.id.map(RawId::parse);
        let known_id = id.clone().flatten();
        let invalid = |what: &str| Part::Invalid(known_id.clone(), RpcError::invalid_request(what));
        let Some(method) = envelope.method else {
            return Self::read_answer(&envelope, known_id.clone()).unwrap_or_else(|| match known_id.clone() {
                Some(id) => Part::Empty(id),
                None if !is_version_2(&envelope) => invalid(WRONG_VERSION),
                None => invalid("method is missing"),
            });
        };
        if !is_version_2(&envelope) {
            return invalid(WRONG_VERSION);
        }
        if id == Some(None) {
            return invalid("an id is a string or a number");
        }
        match json::decode_string(method) {
            Some(method) => Part::Call(Call { id: known_id, method, params: envelope.params }),
            None => invalid("method must be a string"),
        }
    }

    /// An answer is never answered, not even a malformed one: two sides that complain about each other's complaints
    /// would never end, and the side that asked would wait forever.
    fn read_answer(envelope: &Envelope<'_>, id: Option<RawId>) -> Option<Self> {
        let owned = |json: &str| RawValue::from_string(json.to_owned()).ok();
        // Some libraries send both members, and one of them is null.
        let error = envelope.error.filter(|error| *error != "null" || envelope.result.is_none());
        let outcome = match (envelope.result, error) {
            (Some(result), None) => Ok(owned(result)?),
            (_, Some(error)) => Err(owned(error)?),
            (None, None) => return None,
        };
        Some(Part::Answer(Answer { id, outcome }))
    }
}

const WRONG_VERSION: &str = "jsonrpc must be \"2.0\"";

fn is_version_2(envelope: &Envelope<'_>) -> bool {
    envelope.jsonrpc.and_then(json::decode_string).as_deref() == Some("2.0")
}

fn parse_error(error: &serde_json::Error) -> RpcError {
    RpcError::Parse { message: format!("the message is not JSON: {error}") }
}
