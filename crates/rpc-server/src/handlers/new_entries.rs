//! What clients append must be what readers of the format can use. What a file holds already is read
//! whatever it is (docs/session-format.md, "Messages").

use compaction_core::entry::EntryKind;
use compaction_core::json::RawObject;
use serde_json::value::RawValue;

use crate::errors::RpcError;
use crate::wire::check_usage;

/// What a member must be; where it is something else, what was expected. `path` names the member.
type Check = fn(&str, &str) -> Result<(), RpcError>;

/// Roles that have content.
const ROLES_WITH_CONTENT: [&str; 5] = ["user", "assistant", "toolResult", "custom", "system"];

/// Checks content and time of a message that a client wants to append; `path` names it. Whether roles and
/// blocks are known is asked elsewhere.
pub(super) fn check_message(role: &str, members: &RawObject<'_>, path: &str) -> Result<(), RpcError> {
    if let Some(content) = members.get("content").filter(|_| ROLES_WITH_CONTENT.contains(&role)) {
        content_of(&format!("{path}.content"), content)?;
    }
    let time = members.get("timestamp");
    time.map_or(Ok(()), |time| epoch_milliseconds(&format!("{path}.timestamp"), time))
}

/// Checks type and members of a new entry; returns the type.
pub(super) fn check_members(entry: &RawObject<'_>) -> Result<String, RpcError> {
    let kind = entry.string("type").ok_or_else(|| RpcError::invalid_params("entry.type", "a string"))?;
    let members: &[(&str, Check)] = match EntryKind::from_name(&kind) {
        EntryKind::ModelChange => &[("provider", string), ("modelId", string)],
        EntryKind::ThinkingLevelChange => &[("thinkingLevel", string)],
        EntryKind::Custom => &[("customType", string)],
        EntryKind::CustomMessage => &[("customType", string), ("content", content_of), ("display", boolean)],
        EntryKind::SessionInfo => &[("name", optional_string)],
        EntryKind::ContextEdit => &[("targetId", string)],
        EntryKind::Usage => &[("kind", string), ("provider", string), ("model", string), ("usage", usage)],
        _ => {
            let kinds =
                "model_change, thinking_level_change, custom, custom_message, session_info, context_edit or usage";
            return Err(RpcError::invalid_params("entry.type", kinds));
        }
    };
    for (member, check) in members {
        check(&format!("entry.{member}"), entry.get(member).unwrap_or(""))?;
    }
    Ok(kind)
}

/// Checks what an edit puts in the place of an entry's content.
pub(super) fn check_replacement(edit: &RawObject<'_>) -> Result<(), RpcError> {
    let replacement = edit.get("replacement").unwrap_or("");
    if replacement == "null" {
        return Ok(());
    }
    let object = RawObject::parse(replacement).ok();
    match object.as_ref().and_then(|object| object.get("content")).filter(|content| content.starts_with(['"', '['])) {
        Some(content) => content_of("entry.replacement.content", content),
        None => {
            Err(RpcError::invalid_params("entry.replacement", format!("null, or an object with content: {CONTENT}")))
        }
    }
}

const CONTENT: &str = "a string or a list of blocks";

fn content_of(path: &str, json: &str) -> Result<(), RpcError> {
    if json.starts_with('"') {
        return Ok(());
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(json).map_err(|_| RpcError::invalid_params(path, CONTENT))?;
    let is_block = |block: &RawValue| RawObject::parse(block.get()).is_ok_and(|block| block.string("type").is_some());
    match blocks.iter().position(|block| !is_block(block)) {
        Some(wrong) => Err(RpcError::invalid_params(format!("{path}[{wrong}]"), "an object with a string type")),
        None => Ok(()),
    }
}

fn string(path: &str, json: &str) -> Result<(), RpcError> {
    expect(path, "a string", json.starts_with('"'))
}

fn optional_string(path: &str, json: &str) -> Result<(), RpcError> {
    expect(path, "a string", json.is_empty() || json == "null" || json.starts_with('"'))
}

fn boolean(path: &str, json: &str) -> Result<(), RpcError> {
    expect(path, "true or false", matches!(json, "true" | "false"))
}

fn usage(path: &str, json: &str) -> Result<(), RpcError> {
    check_usage(json).map_err(|expected| RpcError::invalid_params(path, expected))
}

fn epoch_milliseconds(path: &str, json: &str) -> Result<(), RpcError> {
    expect(path, "epoch milliseconds", json.parse::<f64>().is_ok_and(f64::is_finite))
}

fn expect(path: &str, expected: &str, is_right: bool) -> Result<(), RpcError> {
    if is_right { Ok(()) } else { Err(RpcError::invalid_params(path, expected)) }
}

#[cfg(test)]
mod tests {
    use compaction_core::message::Message;

    use super::*;

    #[track_caller]
    fn check(message: &str, path: Option<&str>) {
        let read = Message::from_json(message).expect("a message");
        let members = RawObject::parse(read.raw().get()).expect("an object");
        let checked = check_message(read.role(), &members, "message");
        let found = checked.err().map(|error| error.data()["path"].as_str().map(str::to_owned).unwrap_or_default());
        assert_eq!(found.as_deref(), path, "{message}");
    }

    #[test]
    fn content_is_a_text_or_a_list_of_blocks() {
        for right in [
            r#""text""#,
            "null",
            "[]",
            r#"[{"type":"text","text":"x"},{"type":"never_seen","x":[{}]}]"#,
            r#"[{"t\u0079pe":"text"}]"#,
        ] {
            check(&format!("{{\"role\":\"user\",\"content\":{right}}}"), None);
        }
        for (wrong, path) in [
            ("5", "message.content"),
            ("{}", "message.content"),
            ("true", "message.content"),
            ("[5]", "message.content[0]"),
            (r#"[{"type":"text"},null]"#, "message.content[1]"),
            ("[{}]", "message.content[0]"),
            (r#"[{"type":5}]"#, "message.content[0]"),
            ("[[]]", "message.content[0]"),
        ] {
            for role in ROLES_WITH_CONTENT {
                check(&format!("{{\"role\":\"{role}\",\"content\":{wrong}}}"), Some(path));
            }
            check(&format!("{{\"role\":\"never_seen\",\"content\":{wrong}}}"), None);
        }
    }

    #[test]
    fn times_are_numbers() {
        for (time, path) in [
            ("5", None),
            ("1767225700000.5", None),
            ("\"zz\"", Some("message.timestamp")),
            ("null", Some("message.timestamp")),
            ("1e999", Some("message.timestamp")),
        ] {
            check(&format!("{{\"role\":\"bashExecution\",\"timestamp\":{time}}}"), path);
        }
        check(r#"{"role":"user"}"#, None);
    }
}
