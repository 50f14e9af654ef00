//! Names that stand for values, and values that are made.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Values by name.
pub(crate) type Variables = BTreeMap<String, Value>;

/// `value` with `${name}` replaced and `{"$repeat", "times"}` made.
pub(crate) fn fill(value: &Value, variables: &Variables) -> Value {
    match value {
        Value::String(text) => fill_text(text, variables),
        Value::Array(items) => Value::Array(items.iter().map(|item| fill(item, variables)).collect()),
        Value::Object(members) => fill_object(members, variables),
        other => other.clone(),
    }
}

fn fill_object(members: &Map<String, Value>, variables: &Variables) -> Value {
    if let (Some(what), Some(times)) = (members.get("$repeat"), members.get("times").and_then(Value::as_u64)) {
        return repeat(&fill(what, variables), usize::try_from(times).unwrap_or(0));
    }
    Value::Object(members.iter().map(|(name, value)| (name.clone(), fill(value, variables))).collect())
}

fn repeat(what: &Value, times: usize) -> Value {
    match what {
        Value::String(text) => Value::String(text.repeat(times)),
        other => Value::Array(vec![other.clone(); times]),
    }
}

/// A text that is one name takes the value, of whatever type; names within a text take its text.
fn fill_text(text: &str, variables: &Variables) -> Value {
    let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    if let Some(value) = whole.and_then(|name| variables.get(name)) {
        return value.clone();
    }
    Value::String(fill_string(text, variables))
}

/// `text` with every `${name}` replaced.
pub(crate) fn fill_string(text: &str, variables: &Variables) -> String {
    if !text.contains("${") {
        return text.to_owned();
    }
    variables.iter().fold(text.to_owned(), |text, (name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.replace(&format!("${{{name}}}"), &value)
    })
}
