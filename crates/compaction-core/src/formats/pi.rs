//! Our own shape: what a client may append, so that nothing of it is dropped from a context.

use serde_json::value::RawValue;

use super::FormatError;
use crate::json::RawObject;

/// Characters of a name that an error repeats.
const SHOWN: usize = 60;
const ROLES: &str = "`user`, `assistant`, `toolResult`, `bashExecution`, `custom` or `system`; messages of another \
                     interface are taken with `format`, data that no model shall see as an entry of type `custom`";
const ANSWER_BLOCKS: &str =
    "`text`, `thinking`, `toolCall` or `image`; what models shall see of anything else goes into a text";
const BLOCKS: &str = "`text` or `image`; what models shall see of anything else goes into a text";

/// Checks that a message says nothing that contexts and summaries would pass over: its role is known,
/// and so is each block, at a place where it is read. What a file holds already is not asked.
///
/// `index` is the position of the message among those that were given; the error names it.
pub fn check(message: &RawObject<'_>, index: usize) -> Result<(), FormatError> {
    let problem = |path: String, expected: &str, found: &str| {
        let found: String = found.chars().take(SHOWN).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { format!("`{found}`") };
        FormatError { index, path, expected: expected.to_owned(), found }
    };
    let role = message.string("role").unwrap_or_default();
    let (kinds, expected): (&[&str], &str) = match role.as_str() {
        "assistant" => (&["text", "thinking", "toolCall", "image"], ANSWER_BLOCKS),
        "user" | "toolResult" | "custom" | "system" => (&["text", "image"], BLOCKS),
        "bashExecution" => return Ok(()),
        role => return Err(problem("role".to_owned(), ROLES, role)),
    };
    let content = message.get("content");
    if content.is_some_and(|content| !content.starts_with(['"', '[']) && content != "null") {
        return Err(problem("content".to_owned(), "a string or a list of blocks", "another value"));
    }
    let content = content.filter(|content| content.starts_with('['));
    let blocks: Vec<&RawValue> = content.and_then(|content| serde_json::from_str(content).ok()).unwrap_or_default();
    for (at, block) in blocks.iter().enumerate() {
        let kind = RawObject::parse(block.get()).ok().and_then(|block| block.string("type")).unwrap_or_default();
        if !kinds.contains(&kind.as_str()) {
            return Err(problem(format!("content[{at}].type"), expected, &kind));
        }
    }
    Ok(())
}
