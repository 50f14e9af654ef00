//! Bytes as case files write them.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use super::case::Framing;
use super::variables::{Variables, fill, fill_string};

/// The bytes of `value`: a text, or a list of parts, or one of `{"hex"}`, `{"repeat", "times"}`,
/// `{"json"}`, `{"line"}` (JSON and LF) and `{"frame"}` (bytes as one message of `framing`).
///
/// # Errors
/// When `value` is none of these.
pub(crate) fn bytes(value: &Value, framing: Framing, variables: &Variables) -> anyhow::Result<Vec<u8>> {
    match value {
        Value::String(text) => Ok(fill_string(text, variables).into_bytes()),
        Value::Array(parts) => parts.iter().try_fold(Vec::new(), |mut all, part| {
            all.extend(bytes(part, framing, variables)?);
            Ok(all)
        }),
        Value::Object(members) => special(members, framing, variables),
        other => bail!("{other} does not describe bytes"),
    }
}

fn special(members: &Map<String, Value>, framing: Framing, variables: &Variables) -> anyhow::Result<Vec<u8>> {
    let (name, value) =
        members.iter().find(|(name, _)| *name != "times").context("an empty object describes no bytes")?;
    match name.as_str() {
        "hex" => hex(value.as_str().context("hex is a text")?),
        "repeat" => {
            let times = members.get("times").and_then(Value::as_u64).context("repeat needs times")?;
            Ok(bytes(value, framing, variables)?.repeat(usize::try_from(times)?))
        }
        "json" => Ok(fill(value, variables).to_string().into_bytes()),
        "line" => Ok(format!("{}\n", fill(value, variables)).into_bytes()),
        "frame" => Ok(framing.frame(&bytes(value, framing, variables)?)),
        other => bail!("{other} does not describe bytes"),
    }
}

fn hex(text: &str) -> anyhow::Result<Vec<u8>> {
    text.split_whitespace().map(|byte| Ok(u8::from_str_radix(byte, 16)?)).collect()
}

/// A JSON text without the white space between its parts; its members keep their order.
pub(crate) fn compact(text: &str) -> String {
    let (mut result, mut in_string, mut escaped) = (String::with_capacity(text.len()), false, false);
    for character in text.chars() {
        if in_string || !character.is_ascii_whitespace() {
            result.push(character);
        }
        in_string ^= character == '"' && !escaped;
        escaped = in_string && character == '\\' && !escaped;
    }
    result
}
