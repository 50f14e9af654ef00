//! JSON that keeps what it does not understand.
//!
//! There are two views of one text. [`RawObject`] splits an object into its members without parsing
//! them, so unknown members are preserved byte for byte. [`Json`] is a tree that keeps the stored order
//! of members. Both accept what `JSON.parse` of JavaScript accepts, as far as stored files contain it:
//! duplicate keys (the last value counts, at the position of the first), escapes of half a surrogate pair
//! (read as U+FFFD, one unit as before), numbers beyond floating point (which JavaScript writes as
//! `null`), and nesting of any depth.

mod cursor;

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub use cursor::Cursor;

/// Levels of nesting that [`Json`] parses. Deeper values stay text, so no input can exhaust the stack.
const MAX_DEPTH: usize = 64;

/// Maximum number of values in a text that is parsed. Each takes about a hundred bytes, however short
/// its text is.
pub const MAX_VALUES: usize = 1 << 22;

/// Maximum number of members of an object that is split.
const MAX_MEMBERS: usize = 1 << 20;

/// Checks that a JSON text has at most [`MAX_VALUES`] values. The result for other text is unspecified.
/// The error is the number of values that were counted.
pub fn check_value_count(text: &str) -> Result<(), usize> {
    // Each value but the first takes at least two bytes.
    if text.len() / 2 < MAX_VALUES {
        return Ok(());
    }
    let (mut values, mut rest) = (1, text.as_bytes());
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b',' | b'[' | b'{')) {
        let is_string = rest[at] == b'"';
        rest = &rest[at + 1..];
        if is_string {
            rest = &rest[end_of_string(rest, 0).0..];
            continue;
        }
        values += 1;
        if values > MAX_VALUES {
            return Err(values);
        }
    }
    Ok(())
}

/// The beginning of a JSON text, with its open strings, objects and lists closed.
fn closed(text: &str) -> String {
    let bytes = text.as_bytes();
    // The closing signs of what is open, and where the last complete value ends or the last object or list begins.
    let (mut ends, mut complete): (Vec<u8>, usize) = (Vec::new(), 0);
    let (mut is_name, mut string, mut at) = (false, "", 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let (end, is_ended) = end_of_string(bytes, at);
                if !is_name {
                    (complete, string) = (end, if is_ended { "" } else { "\"" });
                }
                at = if is_ended { end } else { bytes.len() };
            }
            b'{' | b'[' => {
                is_name = *byte == b'{';
                ends.push(if is_name { b'}' } else { b']' });
                complete = at;
            }
            b'}' | b']' => {
                ends.pop();
                complete = at;
            }
            b':' => is_name = false,
            b',' => (complete, is_name) = (at - 1, ends.last() == Some(&b'}')),
            _ => {}
        }
    }
    let ends: String = ends.iter().rev().map(|end| char::from(*end)).collect();
    format!("{}{string}{ends}", &text[..complete])
}

/// Where the string that continues at `at` ends, and whether it does. If it does not, its last whole character or
/// escape ends there.
fn end_of_string(bytes: &[u8], mut at: usize) -> (usize, bool) {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        let escape = at + found;
        if bytes[escape] == b'"' {
            return (escape + 1, true);
        }
        at = escape + if bytes.get(escape + 1) == Some(&b'u') { 6 } else { 2 };
        if at > bytes.len() {
            return (escape, false);
        }
    }
    (bytes.len(), false)
}

/// A JSON value whose objects keep the order of their members.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number. Integers of 64 bits keep all their digits.
    Number(serde_json::Number),
    /// A string, borrowed if it has no escapes.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object in stored order, without duplicate keys.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
    /// The text of a value below the maximum depth.
    Deep(Cow<'a, str>),
}

impl<'a> Json<'a> {
    /// Parses `text`. Fails if it is not one JSON value; the error names line and column.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        // Repair is rarely needed, so it is tried only after a failure.
        Self::parse_well_formed(text).or_else(|error| match replace_lone_surrogates(text) {
            Cow::Borrowed(_) => Self::parse_huge(text, error),
            Cow::Owned(text) => {
                Json::parse_well_formed(&text).or_else(|error| Json::parse_huge(&text, error)).map(Json::into_owned)
            }
        })
    }

    /// The value of a text with numbers beyond floating point. Returns `error` if it has no such number.
    fn parse_huge(text: &str, error: serde_json::Error) -> Result<Self, serde_json::Error> {
        match replace_huge_numbers(text) {
            Cow::Borrowed(_) => Err(error),
            Cow::Owned(text) => Json::parse_well_formed(&text).map(Json::into_owned),
        }
    }

    /// Parses the beginning of a text that was cut off: everything that is still open counts as closed at its end. A
    /// member without a value is left out, and so is a number or a word that the cut may have shortened.
    pub fn parse_start(text: &str) -> Result<Json<'static>, serde_json::Error> {
        Json::parse(&closed(text)).map(Json::into_owned)
    }

    fn parse_well_formed(text: &'a str) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let value = Node { depth: 0 }.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(value)
    }

    /// The same value without borrows.
    pub fn into_owned(self) -> Json<'static> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(value),
            Json::Number(value) => Json::Number(value),
            Json::String(value) => Json::String(Cow::Owned(value.into_owned())),
            Json::Deep(value) => Json::Deep(Cow::Owned(value.into_owned())),
            Json::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Json::Object(members) => Json::Object(
                members.into_iter().map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned())).collect(),
            ),
        }
    }

    /// The member `key` of an object; `None` for other values and missing members.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.as_object()?.iter().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Takes the member `key` out of an object, leaving `null` in its place.
    pub fn take(&mut self, key: &str) -> Option<Json<'a>> {
        let Json::Object(members) = self else {
            return None;
        };
        members.iter_mut().find(|(name, _)| name == key).map(|(_, value)| std::mem::replace(value, Json::Null))
    }

    /// The members of an object, in stored order.
    pub fn as_object(&self) -> Option<&[(Cow<'a, str>, Json<'a>)]> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// A number as floating point, as JavaScript would read it.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Json::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// The value of `true` and `false`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Compact JSON, as `JSON.stringify` writes it, but with the members in stored order and with
    /// all digits of 64-bit integers.
    pub fn to_compact(&self) -> String {
        let mut out = String::new();
        self.write_compact(&mut out);
        out
    }

    fn write_compact(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(number) => write_number(number, out),
            Json::String(text) => write_string(text, out),
            Json::Deep(text) => out.push_str(text),
            Json::Array(items) => {
                out.push('[');
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    item.write_compact(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (position, (key, value)) in members.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write_compact(out);
                }
                out.push('}');
            }
        }
    }
}

/// Writes `text` as a JSON string, quotes included.
pub fn write_string(text: &str, out: &mut String) {
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) {
        // Serialising a string cannot fail. An empty result would still be valid text.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}

fn write_number(number: &serde_json::Number, out: &mut String) {
    match number.as_f64() {
        Some(float) if number.is_f64() => out.push_str(ryu_js::Buffer::new().format(float)),
        _ => out.push_str(&number.to_string()),
    }
}

struct Node {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Node {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        if self.depth >= MAX_DEPTH {
            let raw = <&RawValue as serde::Deserialize>::deserialize(deserializer)?;
            return Ok(Json::Deep(Cow::Borrowed(raw.get())));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json<'de>, E> {
        serde_json::Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Node { depth: self.depth + 1 })? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut members = Members::default();
        while let Some(Key(key)) = access.next_key()? {
            let value = access.next_value_seed(Node { depth: self.depth + 1 })?;
            members.insert(key, value);
        }
        Ok(Json::Object(members.list))
    }
}

/// Members in the order of their first occurrence. The last value of a key wins. Takes linear time for
/// any number of keys.
struct Members<'a, V> {
    list: Vec<(Cow<'a, str>, V)>,
    /// Built once an object has too many members for a scan of the list.
    positions: Option<std::collections::HashMap<Cow<'a, str>, usize>>,
}

impl<V> Default for Members<'_, V> {
    fn default() -> Self {
        Self { list: Vec::new(), positions: None }
    }
}

impl<'a, V> Members<'a, V> {
    const SCAN_LIMIT: usize = 32;

    fn insert(&mut self, key: Cow<'a, str>, value: V) {
        if self.positions.is_none() && self.list.len() >= Self::SCAN_LIMIT {
            let known = self.list.iter().enumerate();
            self.positions = Some(known.map(|(at, (name, _))| (name.clone(), at)).collect());
        }
        let found = match &self.positions {
            Some(positions) => positions.get(&key).copied(),
            None => self.list.iter().position(|(name, _)| *name == key),
        };
        if let Some(at) = found {
            self.list[at].1 = value;
            return;
        }
        if let Some(positions) = &mut self.positions {
            positions.insert(key.clone(), self.list.len());
        }
        self.list.push((key, value));
    }
}

/// A key of an object, borrowed if it has no escapes.
#[derive(Debug)]
pub struct Key<'a>(pub Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a member name")
            }

            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(value.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// The members of one JSON object, with each value as its original text.
#[derive(Debug, Clone, Default)]
pub struct RawObject<'a> {
    members: Vec<(Cow<'a, str>, RawText<'a>)>,
}

/// The text of a value.
#[derive(Debug, Clone)]
enum RawText<'a> {
    /// Split from valid JSON; needs no further check.
    Split(&'a str),
    /// Set by a caller.
    Set(Cow<'a, str>),
}

impl RawText<'_> {
    fn get(&self) -> &str {
        match self {
            RawText::Split(text) => text,
            RawText::Set(text) => text,
        }
    }
}

impl<'a> RawObject<'a> {
    /// Splits `text`, which must be one JSON object. Only the syntax of values is checked.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        // Nearly all stored objects are plain, and a cursor goes through them in half the time.
        if let Some(members) = Self::split_plain(text) {
            return Ok(Self { members });
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let members = match deserializer.deserialize_map(RawMembers) {
            Ok(members) => members,
            // Only a member name can fail on half a surrogate pair: values are not decoded here.
            Err(error) => match replace_lone_surrogates(text) {
                Cow::Borrowed(_) => return Err(error),
                Cow::Owned(text) => return RawObject::parse(&text).map(RawObject::into_owned),
            },
        };
        deserializer.end()?;
        Ok(Self { members })
    }

    /// The members of an object that a cursor can go through; `None` says nothing about the text.
    fn split_plain(text: &'a str) -> Option<Vec<(Cow<'a, str>, RawText<'a>)>> {
        let mut members = Members::default();
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.skip_white();
        cursor.members(|name, cursor| {
            let start = cursor.position();
            cursor.value()?;
            let value = text.get(start..cursor.position())?;
            members.insert(Cow::Borrowed(std::str::from_utf8(name).ok()?), RawText::Split(value));
            (members.list.len() <= MAX_MEMBERS).then_some(())
        })?;
        cursor.skip_white();
        cursor.is_at_end().then_some(members.list)
    }

    /// The same object without borrows.
    pub fn into_owned(self) -> RawObject<'static> {
        let own = |(key, value): (Cow<'_, str>, RawText<'_>)| {
            (Cow::Owned(key.into_owned()), RawText::Set(Cow::Owned(value.get().to_owned())))
        };
        RawObject { members: self.members.into_iter().map(own).collect() }
    }

    /// The text of member `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.text(key).map(RawText::get)
    }

    /// Member `key` as a raw value. `None` if it is missing or was set to invalid JSON.
    pub fn raw(&self, key: &str) -> Option<Box<RawValue>> {
        match self.text(key)? {
            RawText::Split(text) => read_value(text).ok(),
            RawText::Set(text) => raw_value(text.clone().into_owned()).ok(),
        }
    }

    fn text(&self, key: &str) -> Option<&RawText<'a>> {
        self.members.iter().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Member `key` as text, if it is a string.
    pub fn string(&self, key: &str) -> Option<String> {
        decode_string(self.get(key)?)
    }

    /// Sets member `key` to a JSON text, at its old position or at the end.
    pub fn set(&mut self, key: &'a str, json: impl Into<Cow<'a, str>>) {
        let json = RawText::Set(json.into());
        match self.members.iter_mut().find(|(name, _)| name == key) {
            Some((_, value)) => *value = json,
            None => self.members.push((Cow::Borrowed(key), json)),
        }
    }

    /// Removes member `key`.
    pub fn remove(&mut self, key: &str) {
        self.members.retain(|(name, _)| name != key);
    }

    /// Moves the named members to the front, in the order given; missing ones are skipped.
    pub fn move_to_front(&mut self, keys: &[&str]) {
        let rank = |name: &str| keys.iter().position(|key| *key == name).unwrap_or(keys.len());
        self.members.sort_by_key(|(name, _)| rank(name));
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(key, value)| (&**key, value.get()))
    }

    /// The object as JSON text, without white space between members.
    pub fn to_json(&self) -> String {
        let size: usize = self.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
        let mut out = String::with_capacity(size + 2);
        out.push('{');
        for (position, (key, value)) in self.iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            write_string(key, &mut out);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        out
    }
}

struct RawMembers;

impl<'de> Visitor<'de> for RawMembers {
    type Value = Vec<(Cow<'de, str>, RawText<'de>)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut members = Members::default();
        while let Some(Key(key)) = access.next_key()? {
            members.insert(key, RawText::Split(access.next_value::<&RawValue>()?.get()));
            if members.list.len() > MAX_MEMBERS {
                return Err(A::Error::custom(format_args!("more than {MAX_MEMBERS} members")));
            }
        }
        Ok(members.list)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Err(E::custom("expected a JSON object"))
    }
}

/// The text of a JSON string; `None` for any other value.
pub fn decode_string(json: &str) -> Option<String> {
    if !json.trim_start().starts_with('"') {
        return None;
    }
    let decoded = serde_json::from_str(json);
    decoded.or_else(|_| serde_json::from_str(&replace_lone_surrogates(json))).ok()
}

/// The compact JSON text of a string.
pub fn encode_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}

/// Turns compact JSON text that this project wrote or checked into a raw value.
///
/// Fails on text that is not one JSON value.
pub fn raw_value(json: String) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(json)
}

/// As [`raw_value`], for a text that is known to be JSON, such as one that a [`Cursor`] went through, without
/// surrounding white space. It is not read again.
pub(crate) fn read_value(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    Box::<RawValue>::deserialize(ReadText(text)).or_else(|_| raw_value(text.to_owned()))
}

/// Imitates how `serde_json` passes a text on to [`RawValue`]: as the only member of a map, under the name that the
/// raw value asks for.
struct ReadText<'a>(&'a str);

impl<'de> Deserializer<'de> for ReadText<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_map(MapDeserializer::new(std::iter::once((name, self.0))))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("only a raw value takes a text as it is"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The JSON text with `\ufffd` in place of each escape of half a surrogate pair.
///
/// Programs that cut text by UTF-16 units leave such halves in stored files. JavaScript reads them;
/// Rust strings cannot contain them.
pub fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|&byte| byte == b'\\') {
        at += found;
        match surrogate_escape(bytes, at) {
            None => at += 2,
            Some(unit) if unit < 0xDC00 && surrogate_escape(bytes, at + 6).is_some_and(|low| low >= 0xDC00) => at += 12,
            Some(_) => {
                let copy = out.get_or_insert_with(|| bytes.to_vec());
                copy[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
        }
        if at >= bytes.len() {
            break;
        }
    }
    match out.map(String::from_utf8) {
        Some(Ok(text)) => Cow::Owned(text),
        // Only ASCII was replaced by ASCII, so the copy is valid UTF-8.
        Some(Err(_)) | None => Cow::Borrowed(text),
    }
}

/// Replaces numbers that are infinite as floating point by `null`, as JavaScript does.
fn replace_huge_numbers(text: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    for (start, end) in number_tokens(text) {
        if text[start..end].parse::<f64>().is_ok_and(f64::is_infinite) {
            let out = out.get_or_insert_default();
            out.push_str(&text[copied..start]);
            out.push_str("null");
            copied = end;
        }
    }
    match out {
        Some(out) => Cow::Owned(out + &text[copied..]),
        None => Cow::Borrowed(text),
    }
}

/// Start and end of each number in a JSON text.
fn number_tokens(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let bytes = text.as_bytes();
    let is_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = bytes.get(at) {
            let rest = &bytes[at..];
            let length = match byte {
                b'"' => end_of_string(rest, 1).0,
                b'-' | b'0'..=b'9' => rest.iter().take_while(|byte| is_number(byte)).count(),
                _ => 1,
            };
            at += length;
            if matches!(byte, b'-' | b'0'..=b'9') {
                return Some((at - length, at));
            }
        }
        None
    })
}

/// The surrogate half of the escape at `at`, if it is one.
fn surrogate_escape(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

impl From<serde_json::Error> for NotAnObject {
    fn from(source: serde_json::Error) -> Self {
        Self { source }
    }
}

/// A text is not the expected JSON object.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON object")]
pub struct NotAnObject {
    source: serde_json::Error,
}

impl NotAnObject {
    /// The error for a value of another kind.
    pub fn new(what: &str) -> Self {
        Self { source: serde_json::Error::custom(what) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_text_is_read_as_far_as_it_goes() {
        let check = |text: &str, expected: &str| {
            let found = Json::parse_start(text).map(|json| json.to_compact()).ok();
            assert_eq!(found.as_deref(), Some(expected).filter(|text| !text.is_empty()), "{text}");
        };
        check(r#"{"a":1,"b":{"c":["x","yz"#, r#"{"a":1,"b":{"c":["x","yz"]}}"#);
        check(r#"{"a":{"b":1},"c"#, r#"{"a":{"b":1}}"#);
        check(r#"{"a":"x","c":"#, r#"{"a":"x"}"#);
        check(r#"{"a":12,"b":12"#, r#"{"a":12}"#);
        check(r#"[{"a":"\\\"}"#, r#"[{"a":"\\\"}"}]"#);
        check(r#"{"a":"x\"#, r#"{"a":"x"}"#);
        check(r#"{"a":"x\u00e"#, r#"{"a":"x"}"#);
        check(r#"{"a":"x\u00e9"#, r#"{"a":"xé"}"#);
        check(r#"{"a":"[{,"}"#, r#"{"a":"[{,"}"#);
        check(r#"{"a":[],"b":[1,2,"#, r#"{"a":[],"b":[1,2]}"#);
        check(r#"{"a" "b"#, "{}");
        check("not JSON", "");
        check("", "");
        let deep = "[".repeat(100_000);
        assert!(Json::parse_start(&deep).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn the_start_of_a_text_never_fails_on_valid_json(cut in 1_usize..90) {
            let text = r#"{"aé":"x\"\\ü\ud83d\ude00","b":[1.5e3,true,null,{"c":{}},[]],"d":{"e":"","f":-0},"g":"end"}"#;
            let start = &text[..text.floor_char_boundary(cut)];
            let json = Json::parse_start(start);
            proptest::prop_assert!(json.is_ok(), "{start}");
        }
    }

    #[test]
    fn plain_objects_are_split_as_by_the_reader_of_all_objects() {
        let reader = |text: &'static str| {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            let members = deserializer.deserialize_map(RawMembers).and_then(|members| {
                deserializer.end()?;
                Ok(members)
            });
            members.map(|members| RawObject { members }.to_json()).ok()
        };
        for (text, is_plain) in [
            (r#"{"a":1,"b":"x\n\ud800","a":[ 2 , {} ],"é":null}"#, true),
            ("\t{ \"a\" : 1e999 , \"b\":{\"a\":true} }\r\n", true),
            ("{}", true),
            (r#"{"\u0061":1}"#, false),
            (r#"{"a":1}x"#, false),
            (r#"{"a":tru}"#, false),
            (r#"{"a":1,}"#, false),
            ("null", false),
            ("", false),
        ] {
            let split = RawObject::split_plain(text).map(|members| RawObject { members }.to_json());
            assert_eq!(split.is_some(), is_plain, "{text}");
            assert!(split.is_none() || split == reader(text), "{text}");
        }
    }

    #[track_caller]
    fn check_compact(text: &str, expected: &str) {
        let json = Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(json.to_compact(), expected);
    }

    #[test]
    fn compact_form_is_that_of_javascript() {
        check_compact(r#" { "b" : 1.0, "a" : [ 1e2 , -0.5, true, null ] } "#, r#"{"b":1,"a":[100,-0.5,true,null]}"#);
        check_compact(
            r#"{"x":1e21,"y":1e-7,"z":123456789012345678}"#,
            r#"{"x":1e+21,"y":1e-7,"z":123456789012345678}"#,
        );
        check_compact(r#""\u0041\/\u00e9\u2028\u001f\b""#, "\"A/\u{e9}\u{2028}\\u001f\\b\"");
        check_compact(r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn floating_point_is_read_to_the_last_digit() {
        check_compact("[123456789012345678901,0.30000000000000004]", "[123456789012345680000,0.30000000000000004]");
        check_compact("[5e-324,1.7976931348623157e308,-0]", "[5e-324,1.7976931348623157e+308,0]");
    }

    #[test]
    fn numbers_beyond_floating_point_are_null() {
        check_compact(
            r#"{"a":[1e400,-1E+999,1],"b\"1e400":"1e400 \\"}"#,
            r#"{"a":[null,null,1],"b\"1e400":"1e400 \\"}"#,
        );
        check_compact(r#"["\ud83d",1e400]"#, "[\"\u{fffd}\",null]");
        for broken in ["1e", "[1e400", "\"1e400", "1e400 1"] {
            assert!(Json::parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn half_surrogates_are_one_unit() {
        check_compact(r#""a\ud83d""#, "\"a\u{fffd}\"");
        check_compact(r#""\ude00\ud83d\ude00\uD83D""#, "\"\u{fffd}\u{1f600}\u{fffd}\"");
        check_compact(r#""\\ud83d""#, r#""\\ud83d""#);
        check_compact(r#"{"\ud83d":1}"#, "{\"\u{fffd}\":1}");
        assert!(RawObject::parse(r#"{"\ud83d":"\ud83d"}"#).is_ok());
    }

    #[test]
    fn depth_has_no_limit() {
        let text = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Json::parse(&text).map(|json| json.to_compact()).unwrap(), text);
    }

    #[test]
    fn many_keys_take_linear_time_and_the_last_value() {
        let members: Vec<String> = (0..50_000).map(|n| format!("\"k{}\":{n}", n % 40_000)).collect();
        let text = format!("{{{}}}", members.join(","));
        let json = Json::parse(&text).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 40_000);
        assert_eq!(json.get("k7").and_then(Json::as_f64), Some(40_007.0));
    }

    #[test]
    fn objects_keep_unknown_members_as_they_are() {
        let mut object = RawObject::parse(r#"{"x": {"a" : 1 }, "id":"1","x2":[1 ,2]}"#).unwrap();
        object.set("id", "\"2\"");
        object.set("new", "null");
        object.move_to_front(&["id"]);
        assert_eq!(object.to_json(), r#"{"id":"2","x":{"a" : 1 },"x2":[1 ,2],"new":null}"#);
    }
}
