//! What holds for every message and every conversation, whatever the case is about.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::server::Message;

static KINDS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../conformance/codes.json")).expect("codes.json maps codes to kinds")
});

/// The kinds of all errors.
pub fn codes() -> Vec<String> {
    KINDS.values().cloned().collect()
}

/// Whether a message (or each member of a batch) is one of JSON-RPC 2.0, and an error one of this protocol.
pub(crate) fn check_message(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(members) if members.is_empty() => Err("an empty batch was sent".to_owned()),
        Value::Array(members) => members.iter().try_for_each(check_single),
        single => check_single(single),
    }
}

fn check_single(value: &Value) -> Result<(), String> {
    let has = |name: &str| value.get(name).is_some();
    let shape = (has("method"), has("id"), has("result"), has("error"));
    let well_formed =
        matches!(shape, (true, _, false, false) | (false, true, true, false) | (false, true, false, true));
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") || !well_formed {
        return Err(format!("no JSON-RPC 2.0 message: {value}"));
    }
    value.get("error").map_or(Ok(()), check_error)
}

/// An error has a known code, a text for people, the kind that belongs to the code, a reason, and whether another try
/// may help.
fn check_error(error: &Value) -> Result<(), String> {
    let code = error.get("code").and_then(Value::as_i64).ok_or_else(|| format!("an error without code: {error}"))?;
    let kind =
        KINDS.get(&code.to_string()).ok_or_else(|| format!("a code that the protocol does not have: {error}"))?;
    if error.get("message").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(format!("an error without message: {error}"));
    }
    if error.pointer("/data/kind").and_then(Value::as_str) != Some(kind) {
        return Err(format!("an error whose data.kind is not {kind}: {error}"));
    }
    let is_name = |reason: &str| !reason.is_empty() && reason.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match (error.pointer("/data/reason").and_then(Value::as_str), error.pointer("/data/retryable")) {
        (Some(reason), Some(Value::Bool(_))) if is_name(reason) => Ok(()),
        _ => Err(format!("an error without a data.reason for programs or without data.retryable: {error}")),
    }
}

/// Whether every operation that started also ended, once.
pub(crate) fn check_operations(messages: &[Message]) -> Result<(), String> {
    for prefix in ["compaction", "branchSummary"] {
        let ids = |suffix: &str| operation_ids(messages, &format!("{prefix}{suffix}"));
        let (mut started, mut ended) = (ids("Start"), ids("End"));
        started.sort();
        ended.sort();
        if started != ended {
            return Err(format!("{prefix} operations that started: {started:?}; that ended: {ended:?}"));
        }
    }
    Ok(())
}

fn operation_ids(messages: &[Message], method: &str) -> Vec<String> {
    let of_method =
        messages.iter().filter(|message| message.value.get("method").and_then(Value::as_str) == Some(method));
    of_method
        .map(|message| message.value.pointer("/params/operationId").map(Value::to_string).unwrap_or_default())
        .collect()
}

/// Whether a reply or a request of the server was left over.
pub(crate) fn check_leftovers(messages: &[Message]) -> Result<(), String> {
    let left = messages.iter().find(|message| !message.claimed && !is_notification(&message.value));
    left.map_or(Ok(()), |message| Err(format!("a message that no step expects: {}", message.text)))
}

pub(crate) fn is_notification(value: &Value) -> bool {
    value.get("method").is_some() && value.get("id").is_none()
}
