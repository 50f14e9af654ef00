//! Reads the members of one settings object; every mistake is named by its path.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::EngineError;

/// An object of the settings and the path to it.
pub(super) struct Members<'a> {
    path: String,
    object: Option<&'a Map<String, Value>>,
}

impl<'a> Members<'a> {
    /// The members of `object`, which stands at `path`; none is an empty one.
    pub(super) fn new(path: String, object: Option<&'a Map<String, Value>>) -> Self {
        Self { path, object }
    }

    /// The error that says what is expected of a member.
    pub(super) fn wrong(&self, key: &str, expected: impl Into<String>) -> EngineError {
        EngineError::InvalidSettings { path: format!("{}.{key}", self.path), expected: expected.into(), file: None }
    }

    /// Whether a member is there, `null` included.
    pub(super) fn has(&self, key: &str) -> bool {
        self.object.is_some_and(|object| object.contains_key(key))
    }

    /// A member; `null` is as good as none, so that a layer of settings can take one back.
    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        self.object?.get(key).filter(|value| !value.is_null())
    }

    /// A text that says something.
    pub(super) fn text(&self, key: &str, expected: &str) -> Result<Option<&'a str>, EngineError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(Some).ok_or_else(|| self.wrong(key, expected))
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, EngineError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        found.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| self.wrong(key, format!("one of: {}", names.join(", "))))
    }

    /// A number of tokens, at least one.
    pub(super) fn tokens(&self, key: &str) -> Result<Option<u64>, EngineError> {
        self.positive(key, "a whole number of tokens, 1 or more")
    }

    /// A span of time in milliseconds, at least one.
    pub(super) fn milliseconds(&self, key: &str, default: u64) -> Result<Duration, EngineError> {
        let given = self.positive(key, "a whole number of milliseconds, 1 or more")?;
        Ok(Duration::from_millis(given.unwrap_or(default)))
    }

    /// An object; empty where there is none.
    pub(super) fn object(&self, key: &str) -> Result<Members<'a>, EngineError> {
        let path = format!("{}.{key}", self.path);
        match self.value(key) {
            None => Ok(Members { path, object: None }),
            Some(Value::Object(object)) => Ok(Members { path, object: Some(object) }),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }

    /// The members as they are.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.object.into_iter().flatten()
    }

    fn positive(&self, key: &str, expected: &str) -> Result<Option<u64>, EngineError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let number = value.as_u64().filter(|number| *number > 0);
        number.map(Some).ok_or_else(|| self.wrong(key, expected))
    }
}
