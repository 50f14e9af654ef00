//! Patterns for JSON values.

use serde_json::{Map, Value};

use super::variables::Variables;

/// Where a value differs from its pattern.
#[derive(Debug)]
pub(crate) struct Mismatch {
    path: String,
    expected: String,
    actual: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.is_empty() { "the value" } else { self.path.trim_start_matches('.') };
        write!(formatter, "{path}: expected {}, got {}", self.expected, self.actual)
    }
}

/// Whether `actual` fits `pattern`; captured values go into `variables`.
///
/// Objects must have the members of the pattern and may have more; lists must have the same length;
/// anything else must be equal. Objects whose members begin with `$` are operators, all of which must hold.
pub(crate) fn check(pattern: &Value, actual: Option<&Value>, variables: &mut Variables) -> Result<(), Mismatch> {
    at("", pattern, actual, variables)
}

fn at(path: &str, pattern: &Value, actual: Option<&Value>, variables: &mut Variables) -> Result<(), Mismatch> {
    match pattern {
        Value::Object(members) if members.keys().any(|name| name.starts_with('$')) => {
            operators(path, members, actual, variables)
        }
        Value::Object(members) => {
            let object = actual.and_then(Value::as_object).ok_or_else(|| mismatch(path, pattern, actual))?;
            members
                .iter()
                .try_for_each(|(name, inner)| at(&format!("{path}.{name}"), inner, object.get(name), variables))
        }
        Value::Array(patterns) => list(path, patterns, actual, variables),
        _ => require(actual == Some(pattern) || same_number(pattern, actual), path, pattern, actual),
    }
}

/// `1` and `1.0` are one number.
fn same_number(pattern: &Value, actual: Option<&Value>) -> bool {
    pattern.is_number() && pattern.as_f64() == actual.and_then(Value::as_f64)
}

fn list(path: &str, patterns: &[Value], actual: Option<&Value>, variables: &mut Variables) -> Result<(), Mismatch> {
    let items = items(path, patterns, actual)?;
    if items.len() != patterns.len() {
        return Err(Mismatch {
            path: path.to_owned(),
            expected: format!("{} items", patterns.len()),
            actual: format!("{}: {}", items.len(), shown(actual)),
        });
    }
    let mut pairs = patterns.iter().zip(items).enumerate();
    pairs.try_for_each(|(index, (pattern, item))| at(&format!("{path}[{index}]"), pattern, Some(item), variables))
}

fn operators(
    path: &str,
    members: &Map<String, Value>,
    actual: Option<&Value>,
    variables: &mut Variables,
) -> Result<(), Mismatch> {
    members.iter().try_for_each(|(name, operand)| operator(path, name, operand, actual, variables))
}

fn operator(
    path: &str,
    name: &str,
    operand: &Value,
    actual: Option<&Value>,
    variables: &mut Variables,
) -> Result<(), Mismatch> {
    let shown_operator = serde_json::json!({ name: operand });
    let ensure = |holds: bool| require(holds, path, &shown_operator, actual);
    match name {
        "$any" => ensure(actual.is_some()),
        "$absent" => ensure(actual.is_none()),
        "$type" => ensure(is_of_type(operand, actual)),
        "$pattern" => ensure(is_like(operand, actual)),
        "$contains" => ensure(contains(operand, actual)),
        "$length" => ensure(length(actual) == operand.as_u64()),
        "$min" => ensure(number(actual) >= operand.as_f64().unwrap_or(f64::INFINITY)),
        "$max" => ensure(number(actual) <= operand.as_f64().unwrap_or(f64::NEG_INFINITY)),
        "$not" => ensure(at(path, operand, actual, variables).is_err()),
        "$keys" => ensure(keys(actual) == *operand),
        "$equal" => ensure(actual == Some(operand)),
        "$is" => at(path, operand, actual, variables),
        "$oneOf" => one_of(path, operand, actual, variables),
        "$each" => each(path, operand, actual, variables),
        "$includes" => includes(path, operand, actual, variables, false),
        "$unordered" => includes(path, operand, actual, variables, true),
        "$capture" => capture(path, operand, actual, variables),
        _ => Err(Mismatch {
            path: path.to_owned(),
            expected: format!("a known operator, not {name}"),
            actual: shown(actual),
        }),
    }
}

fn is_of_type(operand: &Value, actual: Option<&Value>) -> bool {
    let of = |name: &str| match (name, actual) {
        ("string", Some(Value::String(_)))
        | ("number", Some(Value::Number(_)))
        | ("boolean", Some(Value::Bool(_)))
        | ("array", Some(Value::Array(_)))
        | ("object", Some(Value::Object(_)))
        | ("null", Some(Value::Null)) => true,
        ("integer", Some(Value::Number(number))) => number.is_i64() || number.is_u64(),
        _ => false,
    };
    match operand {
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(of),
        name => name.as_str().is_some_and(of),
    }
}

fn is_like(operand: &Value, actual: Option<&Value>) -> bool {
    let pattern = operand.as_str().and_then(|text| regex_lite::Regex::new(text).ok());
    pattern.zip(actual.and_then(Value::as_str)).is_some_and(|(pattern, text)| pattern.is_match(text))
}

fn contains(operand: &Value, actual: Option<&Value>) -> bool {
    let parts = operand.as_array().cloned().unwrap_or_else(|| vec![operand.clone()]);
    let text = actual.and_then(Value::as_str);
    text.is_some_and(|text| parts.iter().all(|part| part.as_str().is_some_and(|part| text.contains(part))))
}

fn length(actual: Option<&Value>) -> Option<u64> {
    match actual? {
        Value::Array(items) => u64::try_from(items.len()).ok(),
        Value::Object(members) => u64::try_from(members.len()).ok(),
        Value::String(text) => u64::try_from(text.encode_utf16().count()).ok(),
        _ => None,
    }
}

fn number(actual: Option<&Value>) -> f64 {
    actual.and_then(Value::as_f64).unwrap_or(f64::NAN)
}

fn keys(actual: Option<&Value>) -> Value {
    let members = actual.and_then(Value::as_object);
    members.map_or(Value::Null, |members| members.keys().map(|name| Value::String(name.clone())).collect())
}

fn one_of(path: &str, operand: &Value, actual: Option<&Value>, variables: &mut Variables) -> Result<(), Mismatch> {
    let patterns = operand.as_array().map_or(&[][..], Vec::as_slice);
    let fits = patterns.iter().any(|pattern| at(path, pattern, actual, variables).is_ok());
    require(fits, path, &serde_json::json!({ "$oneOf": operand }), actual)
}

fn each(path: &str, operand: &Value, actual: Option<&Value>, variables: &mut Variables) -> Result<(), Mismatch> {
    let items = items(path, operand, actual)?;
    let mut numbered = items.iter().enumerate();
    numbered.try_for_each(|(index, item)| at(&format!("{path}[{index}]"), operand, Some(item), variables))
}

/// Every pattern has an item of its own; with `all`, every item has a pattern too.
fn includes(
    path: &str,
    operand: &Value,
    actual: Option<&Value>,
    variables: &mut Variables,
    all: bool,
) -> Result<(), Mismatch> {
    let mut left: Vec<&Value> = items(path, operand, actual)?.iter().collect();
    for pattern in operand.as_array().map_or(&[][..], Vec::as_slice) {
        let found = left.iter().position(|item| at(path, pattern, Some(item), variables).is_ok());
        left.remove(found.ok_or_else(|| mismatch(&format!("{path}[any]"), pattern, actual))?);
    }
    require(!all || left.is_empty(), path, &serde_json::json!({ "$unordered": operand }), actual)
}

fn capture(path: &str, operand: &Value, actual: Option<&Value>, variables: &mut Variables) -> Result<(), Mismatch> {
    let (Some(name), Some(value)) = (operand.as_str(), actual) else {
        return Err(mismatch(path, &serde_json::json!({ "$capture": operand }), actual));
    };
    variables.insert(name.to_owned(), value.clone());
    Ok(())
}

fn items<'a>(
    path: &str,
    pattern: &(impl serde::Serialize + ?Sized),
    actual: Option<&'a Value>,
) -> Result<&'a [Value], Mismatch> {
    actual.and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| mismatch(path, pattern, actual))
}

fn require(holds: bool, path: &str, pattern: &Value, actual: Option<&Value>) -> Result<(), Mismatch> {
    if holds { Ok(()) } else { Err(mismatch(path, pattern, actual)) }
}

fn mismatch(path: &str, pattern: &(impl serde::Serialize + ?Sized), actual: Option<&Value>) -> Mismatch {
    let expected = serde_json::to_string(pattern).unwrap_or_default();
    Mismatch { path: path.to_owned(), expected, actual: shown(actual) }
}

fn shown(actual: Option<&Value>) -> String {
    let text = actual.map_or_else(|| "nothing".to_owned(), Value::to_string);
    super::transcript::shorten(&text, 600)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(pattern: &Value, actual: &Value) -> bool {
        check(pattern, Some(actual), &mut Variables::new()).is_ok()
    }

    #[test]
    fn objects_may_have_more_and_lists_may_not() {
        assert!(fits(&json!({ "a": 1 }), &json!({ "a": 1.0, "b": 2 })));
        assert!(!fits(&json!({ "a": { "$absent": true } }), &json!({ "a": null })));
        assert!(fits(&json!({ "a": { "$absent": true } }), &json!({})));
        assert!(!fits(&json!([1]), &json!([1, 2])));
        assert!(!fits(&json!({ "a": null }), &json!({})));
    }

    #[test]
    fn operators_hold_together() {
        assert!(fits(&json!({ "$type": "string", "$pattern": "^a+$" }), &json!("aaa")));
        assert!(!fits(&json!({ "$type": "string", "$pattern": "^a+$" }), &json!("aab")));
        assert!(fits(&json!({ "$unordered": [2, 1] }), &json!([1, 2])));
        assert!(!fits(&json!({ "$unordered": [1] }), &json!([1, 2])));
        assert!(fits(&json!({ "$includes": [1] }), &json!([1, 2])));
        assert!(!fits(&json!({ "$includes": [1, 1] }), &json!([1, 2])));
        assert!(!fits(&json!({ "$unheard": 1 }), &json!(1)));
        assert!(!fits(&json!({ "$min": 3 }), &json!("text")));
    }

    #[test]
    fn captures_are_kept() {
        let mut variables = Variables::new();
        check(&json!({ "id": { "$capture": "id" } }), Some(&json!({ "id": "x" })), &mut variables).expect("fits");
        assert_eq!(variables.get("id"), Some(&json!("x")));
    }
}
