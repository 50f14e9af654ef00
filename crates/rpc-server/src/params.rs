//! Parameters: from JSON to types, with errors that name the member (protocol/README.md, "Parameters").

use std::fmt;

use serde::de::value::{MapDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::errors::RpcError;
use crate::unknown::MAX_REPORTED;

/// Maximum size of a text that the server's loop reads or writes itself. Handing work to a thread takes about as long
/// as reading this many bytes.
pub(crate) const SHORT_BYTES: usize = 1 << 16;

/// Fails with `invalidParams` for a path that no system accepts.
pub(crate) fn check_path(member: &str, path: &str) -> Result<(), RpcError> {
    match path.contains('\0') {
        true => Err(RpcError::invalid_params(member, "a path without a NUL")),
        false => Ok(()),
    }
}

/// The parameters of a call, split into members. Each value is read when its type is known.
#[derive(Debug)]
pub struct Params {
    /// The members, or a description of what was expected instead.
    members: Result<Vec<Member>, String>,
    bytes: usize,
}

/// Name and value.
type Member = (Box<str>, Box<RawValue>);

impl Default for Params {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl Params {
    fn of(members: Vec<Member>) -> Self {
        let bytes = members.iter().map(|(name, value)| name.len() + value.get().len()).sum();
        Self { members: Ok(members), bytes }
    }

    /// Splits a JSON text. Errors are reported when the parameters are read.
    pub(crate) fn split(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|error: serde_json::Error| {
            let is_object = text.starts_with('{');
            let expected = if is_object { expectation(&error.to_string()) } else { "an object".to_owned() };
            Self { members: Err(expected), bytes: text.len() }
        })
    }

    /// Number of bytes of all names and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The text of a member. `None` if it is missing.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let members = self.members.as_ref().ok()?;
        members.iter().find(|(member, _)| **member == *name).map(|(_, value)| value.get())
    }

    /// Reads the parameters as type `P`.
    ///
    /// Fails with `invalidParams`, whose path leads to the wrong or missing member.
    pub(crate) fn read<P: DeserializeOwned>(&self) -> Result<P, RpcError> {
        self.read_and_note().map(|(params, _)| params)
    }

    /// As [`Params::read`]. Also returns the path to each member that `P` does not have.
    pub(crate) fn read_and_note<P: DeserializeOwned>(&self) -> Result<(P, Vec<Vec<String>>), RpcError> {
        let members = self.members.as_deref().map_err(|expected| RpcError::invalid_params("params", expected))?;
        let mut unread = Vec::new();
        let read = serde_ignored::deserialize(Strict(deserializer_of(members)), |path| {
            if unread.len() < MAX_REPORTED {
                unread.push(steps(&path));
            }
        });
        // Only wrong parameters pay for finding the path of the error.
        let read = read.map_err(|error| locate::<P, _>(Strict(deserializer_of(members)), &error));
        read.map(|params| (params, unread)).map_err(|(path, expected)| {
            RpcError::invalid_params(if path.is_empty() { "params".to_owned() } else { path }, expected)
        })
    }
}

/// `null`, `[]` and `[null]`, which some clients send for no parameters, count as an empty object.
impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ParamsVisitor;
        impl<'de> Visitor<'de> for ParamsVisitor {
            type Value = Params;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Params, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(Params::of(members))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Params, A::Error> {
                let is_null = access.next_element::<&RawValue>()?.is_none_or(|first| first.get() == "null");
                match is_null && access.next_element::<IgnoredAny>()?.is_none() {
                    true => Ok(Params::default()),
                    false => Err(A::Error::invalid_type(Unexpected::Seq, &self)),
                }
            }

            fn visit_unit<E: Error>(self) -> Result<Params, E> {
                Ok(Params::default())
            }
        }
        deserializer.deserialize_any(ParamsVisitor)
    }
}

type MemberDeserializer<'de, I> = MapDeserializer<'de, I, serde_json::Error>;

fn deserializer_of<'de>(
    members: &'de [Member],
) -> MemberDeserializer<'de, impl Iterator<Item = (&'de str, MemberValue<'de>)>> {
    MapDeserializer::new(members.iter().map(|(name, value)| (&**name, MemberValue(value))))
}

/// The value of a member.
struct MemberValue<'de>(&'de RawValue);

impl<'de> IntoDeserializer<'de, serde_json::Error> for MemberValue<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The name that `serde_json` uses to ask for a raw value.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

macro_rules! forward_value {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            self.0.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for MemberValue<'de> {
    type Error = serde_json::Error;

    forward_value! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit
        deserialize_seq deserialize_map deserialize_identifier deserialize_ignored_any
    }

    /// A raw value takes the text without reading it: it is known to be JSON, and it may be long.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match name {
            RAW_VALUE => visitor.visit_map(MapDeserializer::new(std::iter::once((name, self.0.get())))),
            _ => self.0.deserialize_newtype_struct(name, visitor),
        }
    }

    // `Strict` never asks for these.
    forward_to_deserialize_any! { unit_struct tuple tuple_struct struct enum }
}

/// The names and indices that lead to a value.
fn steps(path: &serde_ignored::Path<'_>) -> Vec<String> {
    use serde_ignored::Path;
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, Some(index.to_string())),
        Path::Map { parent, key } => (parent, Some(key.clone())),
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut steps = steps(parent);
    steps.extend(step);
    steps
}

/// Reads a value that is not a parameter. The error is the path to the wrong part, empty for the value itself, and what
/// was expected there.
pub(crate) fn parse_value<T: DeserializeOwned>(text: &str) -> Result<T, (String, String)> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Strict(&mut deserializer)).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| locate::<T, _>(Strict(&mut serde_json::Deserializer::from_str(text)), &error))
}

/// Reads an object of any form. The error describes what was expected.
pub(crate) fn read_object(text: &str) -> Result<Value, String> {
    let object = serde_json::from_str::<Map<String, Value>>(text);
    object.map(Value::Object).map_err(|error| expectation(&error.to_string()))
}

/// The path to the part that caused `error`, and what was expected there.
fn locate<'de, T, D>(deserializer: D, error: &serde_json::Error) -> (String, String)
where
    T: DeserializeOwned,
    D: Deserializer<'de, Error = serde_json::Error>,
{
    let (path, message) = match serde_path_to_error::deserialize::<_, T>(deserializer) {
        Err(error) => (error.path().to_string(), error.inner().to_string()),
        Ok(_) => (".".to_owned(), error.to_string()),
    };
    let path = if path == "." { String::new() } else { path };
    if let Some(member) = quoted(&message, "missing field `") {
        let separator = if path.is_empty() { "" } else { "." };
        return (format!("{path}{separator}{member}"), "a value: the member is required".to_owned());
    }
    (path, expectation(&message))
}

fn quoted<'a>(message: &'a str, start: &str) -> Option<&'a str> {
    message.strip_prefix(start)?.split('`').next()
}

/// What was expected according to the message, without the position in the text.
fn expectation(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    if message.starts_with("duplicate field") {
        return "each member once".to_owned();
    }
    if message.contains("hex escape") {
        return "a string without half of a surrogate pair".to_owned();
    }
    if message.contains("recursion limit") {
        return "fewer than 127 values in each other".to_owned();
    }
    if message.contains("number out of range") {
        return "numbers that fit 64 bits of floating point".to_owned();
    }
    // The value that was found may contain the word as well.
    match message.rsplit_once("expected ").map_or(message, |(_, expected)| expected) {
        "u64" => "a whole number, 0 or more".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        expected if expected.starts_with("struct ") => "an object".to_owned(),
        expected => expected.to_owned(),
    }
}

/// Reads types exactly as the schemas describe them. Derived types also accept a list of members for a struct and an
/// object for an enum. The schemas allow neither, so such a call is probably a mistake. On the other hand, a schema's
/// integer may be written as `1.0`.
///
/// Wraps a deserializer, and its visitors and seeds.
struct Strict<T>(T);

/// Forwards a call, with a visitor in a wrapper that stays strict inside.
macro_rules! forward {
    ($wrapper:ident: $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($wrapper(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    forward! {
        Strict:
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit
        deserialize_seq deserialize_map deserialize_identifier
    }
    forward! { Whole: deserialize_u16 deserialize_u32 deserialize_u64 }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, Strict(visitor))
    }

    /// Raw values come this way. They are taken unchanged, so that large ones cost nothing more.
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(length, Strict(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, length, Strict(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Strict(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_str(Named { variants, visitor })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_ignored_any(visitor)
    }
}

/// Forwards scalars.
macro_rules! forward_scalars {
    ($($method:ident($value:ty))*) => {$(
        fn $method<E: Error>(self, value: $value) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    forward_scalars! {
        visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Strict(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Strict(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Strict(access))
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Strict(access))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(access)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(deserializer))
    }
}

/// Reads a whole number. It may be written with a fraction of zero or with an exponent. A number that is too large
/// counts as the largest one.
struct Whole<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Whole<V> {
    type Value = V::Value;

    forward_scalars! { visit_i64(i64) visit_u64(u64) }

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        match value >= 0.0 && value.fract() == 0.0 {
            true => self.0.visit_u64(value as u64),
            false => self.0.visit_f64(value),
        }
    }
}

/// Reads the name of a variant.
struct Named<V> {
    variants: &'static [&'static str],
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Named<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, variant) in self.variants.iter().enumerate() {
            let separator = match position {
                0 => "",
                last if last + 1 == self.variants.len() => " or ",
                _ => ", ",
            };
            write!(formatter, "{separator}`{variant}`")?;
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        if !self.variants.contains(&name) {
            return Err(E::invalid_value(serde::de::Unexpected::Str(name), &self));
        }
        let name: StringDeserializer<E> = name.to_owned().into_deserializer();
        self.visitor.visit_enum(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{
        AppendMessageParams, CheckCompactionParams, CompactParams, ForkSessionParams, GetContextParams,
        GetEntriesParams, InitializeParams, PrepareCompactionParams, SetLabelParams, UpdateSettingsParams,
    };

    #[track_caller]
    fn check<P: DeserializeOwned + std::fmt::Debug>(text: &str, path: &str, expected: &str) {
        let data = Params::split(text).read::<P>().unwrap_err().data();
        assert_eq!((data["path"].as_str(), data["expected"].as_str()), (Some(path), Some(expected)), "{text}");
    }

    #[test]
    fn errors_name_the_member() {
        const REQUIRED: &str = "a value: the member is required";
        check::<AppendMessageParams>("{}", "sessionId", REQUIRED);
        for none in ["null", "[]", " [ null ] "] {
            check::<AppendMessageParams>(none, "sessionId", REQUIRED);
        }
        for wrong in ["[1]", "[{}]", "5", "\"\"", "true", "[[]]"] {
            check::<AppendMessageParams>(wrong, "params", "an object");
        }
        check::<AppendMessageParams>(r#"{"sessionId":5,"message":{}}"#, "sessionId", "a string");
        let model = r#"{"sessionId":"s","model":{"provider":"p","id":"m"}}"#;
        check::<CheckCompactionParams>(model, "model.contextWindow", REQUIRED);
        let model = r#"{"sessionId":"s","model":{"provider":"p","id":"m","contextWindow":-1}}"#;
        check::<CheckCompactionParams>(model, "model.contextWindow", "a whole number, 0 or more");
        let fork = r#"{"sessionId":"s","entryId":"e","position":"behind"}"#;
        check::<ForkSessionParams>(fork, "position", "`before` or `at`");
        check::<SetLabelParams>(r#"{"sessionId":"s","targetId":"e"}"#, "label", REQUIRED);
    }

    const WHOLE: &str = "a whole number, 0 or more";

    #[test]
    fn lists_are_no_objects() {
        for model in ["[\"p\",\"m\",100000]", "[1000]", "[]", "null", "\"m\""] {
            let text = format!("{{\"sessionId\":\"s\",\"model\":{model}}}");
            check::<CheckCompactionParams>(&text, "model", "an object");
        }
        let start = r#"{"protocolVersion":1,"clientInfo":{"name":"n"},"capabilities":"#;
        check::<InitializeParams>(&format!("{start}[true,[],true]}}"), "capabilities", "an object");
        let hooks = format!("{start}{{\"hooks\":null}}}}");
        check::<InitializeParams>(&hooks, "capabilities.hooks", "a list");
        let client = r#"{"protocolVersion":1,"clientInfo":["n"]}"#;
        check::<InitializeParams>(client, "clientInfo", "an object");
        let automatic = r#"{"autoCompaction":[["p","m",1]]}"#;
        check::<UpdateSettingsParams>(automatic, "autoCompaction", "an object");
        let automatic = r#"{"autoCompaction":{"model":["p","m",1]}}"#;
        check::<UpdateSettingsParams>(automatic, "autoCompaction.model", "an object");
        let summary = r#"{"sessionId":"s","summary":["hello",null,null,null,null]}"#;
        check::<CompactParams>(summary, "summary", "an object");
        check::<CompactParams>(r#"{"sessionId":"s","settings":[]}"#, "settings", "an object");
    }

    #[test]
    fn enums_are_strings() {
        let format = r#"{"sessionId":"s","format":{"llm":null}}"#;
        let formats = "`agent`, `llm`, `openai`, `openai-responses`, `anthropic`, `gemini` or `ai-sdk`";
        check::<GetContextParams>(format, "format", formats);
        let position = r#"{"sessionId":"s","entryId":"e","position":{"at":null}}"#;
        check::<ForkSessionParams>(position, "position", "`before` or `at`");
        for part in ["{\"messages\":null}", "5", "\"Messages\"", "\"expected x\""] {
            let text = format!("{{\"sessionId\":\"s\",\"include\":[\"requests\",{part}]}}");
            check::<PrepareCompactionParams>(&text, "include[1]", "`messages`, `requests` or `forecast`");
        }
        let summarizer = r#"{"sessionId":"s","summarizer":{"one":1}}"#;
        check::<CompactParams>(summarizer, "summarizer", "a name or a list of names");
    }

    #[test]
    fn whole_numbers_are_read_however_they_are_written() {
        let limit = |limit: &str| format!("{{\"sessionId\":\"s\",\"limit\":{limit}}}");
        for (written, expected) in
            [("1.0", 1), ("2e1", 20), ("4294967296", 1 << 32), ("1000000000000", 1_000_000_000_000), ("1e30", u64::MAX)]
        {
            let params: GetEntriesParams = Params::split(&limit(written)).read().unwrap();
            assert_eq!(params.limit, Some(expected), "{written}");
        }
        for wrong in ["-1", "1.5", "-1.0", "\"1\"", "true", "[1]"] {
            check::<GetEntriesParams>(&limit(wrong), "limit", WHOLE);
        }
        let process = r#"{"protocolVersion":1,"clientInfo":{"name":"n"},"processId":4294967296}"#;
        check::<InitializeParams>(process, "processId", "a whole number from 0 to 4294967295");
    }

    #[test]
    fn objects_of_free_form_say_why_they_cannot_be_read() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(127), "]".repeat(127));
        for (text, expected) in [
            (deep.as_str(), "fewer than 127 values in each other"),
            ("{\"a\":1e999}", "numbers that fit 64 bits of floating point"),
            ("{\"a\":\"\\ud800\"}", "a string without half of a surrogate pair"),
            ("[]", "an object"),
        ] {
            assert_eq!(read_object(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_no_text_of_an_id() {
        for half in ["\\ud800", "\\ud800x", "\\udc00", "\\ud800\\ud800"] {
            let text = format!("{{\"sessionId\":\"{half}\",\"message\":{{}}}}");
            check::<AppendMessageParams>(&text, "sessionId", "a string without half of a surrogate pair");
        }
    }

    #[test]
    fn unknown_members_are_ignored_and_null_clears_a_label() {
        let params: SetLabelParams =
            Params::split(r#"{"sessionId":"s","targetId":"e","label":null,"x":[[{}]]}"#).read().unwrap();
        assert_eq!(params.label, None);
    }
}
