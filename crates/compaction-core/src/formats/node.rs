//! Reads JSON with the path of each value, for errors, and builds JSON.

use super::FormatError;
use crate::json::Json;

/// How messages are read. Stored originals are recognised by either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Cited sources are shown. Data that only a provider reads is not.
    Current,
    /// As in files of earlier versions: the reverse.
    Earlier,
}

/// A value of a message, with its path.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) json: &'a Json<'static>,
    pub(super) reading: Reading,
    /// Index of the message in the input.
    pub(super) index: usize,
    /// Path inside the message, empty for the message itself.
    path: String,
}

impl<'a> Node<'a> {
    /// The message at `index`.
    pub(super) fn message(json: &'a Json<'static>, index: usize) -> Self {
        Self::message_read(json, index, Reading::Current)
    }

    /// The message at `index`, read in this way.
    pub(super) fn message_read(json: &'a Json<'static>, index: usize, reading: Reading) -> Self {
        Self { json, reading, index, path: String::new() }
    }

    /// Member `key`, unless it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let json = self.json.get(key).filter(|json| **json != Json::Null)?;
        Some(Self { json, reading: self.reading, index: self.index, path: self.path_of(key) })
    }

    /// Member `key`; null if it is missing.
    pub(super) fn value(&self, key: &str) -> Json<'static> {
        self.json.get(key).cloned().unwrap_or(Json::Null)
    }

    /// The first of these members that exists. Some interfaces accept two spellings.
    pub(super) fn either(&self, keys: [&str; 2]) -> Option<Self> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// Member `key`. Fails if it is missing.
    pub(super) fn need(&self, key: &str, expected: &str) -> Result<Self, FormatError> {
        self.get(key).ok_or_else(|| self.missing(key, expected))
    }

    /// The text of member `key`, if it exists. Fails if it is not a string.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, FormatError> {
        self.get(key).map(|node| node.as_text()).transpose()
    }

    /// The text of member `key`. Fails if it is missing or not a string.
    pub(super) fn need_text(&self, key: &str) -> Result<&'a str, FormatError> {
        self.need(key, "a string")?.as_text()
    }

    /// The items of member `key`; empty if it is missing. Fails if it is not a list.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Self>, FormatError> {
        self.get(key).map_or(Ok(Vec::new()), |node| node.items())
    }

    /// The value as text.
    pub(super) fn as_text(&self) -> Result<&'a str, FormatError> {
        self.json.as_str().ok_or_else(|| self.error("a string"))
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<Vec<Self>, FormatError> {
        let Json::Array(items) = self.json else {
            return Err(self.error("a list"));
        };
        let item =
            |(at, json)| Self { json, reading: self.reading, index: self.index, path: format!("{}[{at}]", self.path) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// Whether member `key` is `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.json.get(key).and_then(Json::as_bool).unwrap_or(false)
    }

    /// The error for a value that is not what was `expected`.
    pub(super) fn error(&self, expected: &str) -> FormatError {
        self.problem(self.path.clone(), expected, described(self.json))
    }

    /// The error for an unknown value of member `key`.
    pub(super) fn unknown(&self, key: &str, expected: &str) -> FormatError {
        let found = self.json.get(key).map_or_else(|| "nothing".to_owned(), described);
        self.problem(self.path_of(key), expected, found)
    }

    fn missing(&self, key: &str, expected: &str) -> FormatError {
        self.problem(self.path_of(key), expected, "nothing".to_owned())
    }

    fn problem(&self, path: String, expected: &str, found: String) -> FormatError {
        FormatError { index: self.index, path, expected: expected.to_owned(), found }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// A short description of a value.
fn described(json: &Json<'_>) -> String {
    const MAX_CHARS: usize = 60;
    match json {
        Json::String(text) if text.chars().count() <= MAX_CHARS => format!("`{text}`"),
        Json::String(_) => "a long string".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        Json::Deep(_) => "a deeply nested value".to_owned(),
        other => other.to_compact(),
    }
}

/// A string.
pub(crate) fn string(text: impl Into<String>) -> Json<'static> {
    Json::String(text.into().into())
}

/// An object with these members.
pub(crate) fn object<const N: usize>(members: [(&'static str, Json<'static>); N]) -> Json<'static> {
    Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// A message with this role and content.
pub(super) fn message_json(role: &str, content: Json<'static>) -> Json<'static> {
    object([("role", string(role)), ("content", content)])
}

/// A text block or part, as most interfaces write it.
pub(super) fn text_json(text: &str) -> Json<'static> {
    object([("type", string("text")), ("text", string(text))])
}

/// The object `json` with another member, if `value` is given.
pub(crate) fn with(json: Json<'static>, key: &'static str, value: Option<Json<'static>>) -> Json<'static> {
    match (json, value) {
        (Json::Object(mut members), Some(value)) => {
            members.push((key.into(), value));
            Json::Object(members)
        }
        (json, _) => json,
    }
}

/// Arguments as an object. Any other value becomes the argument `input`, because every tool takes an object.
pub(crate) fn arguments_object(json: Json<'static>) -> Json<'static> {
    match json {
        Json::Object(_) => json,
        Json::Null => Json::Object(Vec::new()),
        other => object([("input", other)]),
    }
}

/// Arguments from their JSON text. Text that is not a JSON object becomes the argument `input`.
pub(crate) fn arguments_of_text(text: &str) -> Json<'static> {
    if text.trim().is_empty() {
        return Json::Object(Vec::new());
    }
    let parsed = Json::parse(text).map(Json::into_owned);
    arguments_object(parsed.unwrap_or_else(|_| string(text)))
}

/// A JSON text without white space between values. Strings and numbers keep their spelling.
pub(super) fn without_spaces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for character in text.chars() {
        if in_string {
            in_string = is_escaped || character != '"';
            is_escaped = character == '\\' && !is_escaped;
        } else if matches!(character, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = character == '"';
        }
        out.push(character);
    }
    out
}
