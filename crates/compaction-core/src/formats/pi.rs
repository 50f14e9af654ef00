//! Our own shape: what a client may append, so that nothing of it is dropped from a context.

use super::FormatError;
use super::node::Node;
use crate::json::Json;

const ROLES: &str = "`user`, `assistant`, `toolResult`, `bashExecution`, `custom` or `system`; messages of another \
                     interface are taken with `format`, data that no model shall see as an entry of type `custom`";

/// Checks that a message says nothing that contexts and summaries would pass over: its role is known,
/// and so is each block, at a place where it is read. What a file holds already is not asked.
///
/// `index` is the position of the message among those that were given; the error names it.
pub fn check(json: &str, index: usize) -> Result<(), FormatError> {
    match Json::parse(json) {
        Ok(tree) => check_node(&Node::message(&tree.into_owned(), index)),
        // Those who read it have an error of their own for it.
        Err(_) => Ok(()),
    }
}

pub(super) fn check_node(node: &Node<'_>) -> Result<(), FormatError> {
    let Some(role) = node.json.get("role").and_then(Json::as_str) else {
        return Err(node.error("an object with a string role"));
    };
    let blocks: (&[&str], &str) = match role {
        "assistant" => (
            &["text", "thinking", "toolCall", "image"],
            "`text`, `thinking`, `toolCall` or `image`; what models shall see of anything else goes into a text",
        ),
        "user" | "toolResult" | "custom" | "system" => {
            (&["text", "image"], "`text` or `image`; what models shall see of anything else goes into a text")
        }
        "bashExecution" => return Ok(()),
        _ => return Err(node.unknown("role", ROLES)),
    };
    let (kinds, expected) = blocks;
    let Some(Json::Array(_)) = node.json.get("content") else {
        return Ok(());
    };
    for block in node.list("content")? {
        match block.json.get("type").and_then(Json::as_str) {
            Some(kind) if kinds.contains(&kind) => {}
            Some(_) => return Err(block.unknown("type", expected)),
            None => return Err(block.error("an object with a string type")),
        }
    }
    Ok(())
}
