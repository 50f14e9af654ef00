//! Hooks: the client may cancel or change an operation before it happens (protocol spec, From
//! server to client). What it answers is checked; anything but an answer of the right form fails
//! the operation with nothing changed.

use compaction_core::json::RawObject;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::errors::RpcError;
use crate::server::Server;
use crate::wire::{GivenBranchSummary, GivenSummary, SessionBeforeFork, SessionBeforeTree, SessionBeforeTreeResult};

/// Before a compaction.
pub(crate) const BEFORE_COMPACT: &str = "sessionBeforeCompact";
/// Before a navigation.
pub(crate) const BEFORE_TREE: &str = "sessionBeforeTree";
/// Before a fork.
pub(crate) const BEFORE_FORK: &str = "sessionBeforeFork";
/// All hooks that the server calls.
pub(crate) const NAMES: &[&str] = &[BEFORE_COMPACT, BEFORE_TREE, BEFORE_FORK];

/// What a hook wants.
#[derive(Debug, Clone)]
pub(crate) enum Decision<T> {
    /// The operation shall not happen.
    Cancel,
    /// The operation goes on, with what the hook gives to it.
    Go(T),
}

/// Asks before a compaction; the hook may give the summary. `params` is a [`SessionBeforeCompact`].
///
/// [`SessionBeforeCompact`]: crate::wire::SessionBeforeCompact
pub(crate) async fn before_compact(
    server: &Arc<Server>,
    params: &RawValue,
) -> Result<Decision<Option<GivenSummary>>, RpcError> {
    let answer = ask(server, BEFORE_COMPACT, &params).await?;
    match decide(&answer)? {
        Decision::Cancel => Ok(Decision::Cancel),
        Decision::Go(()) => Ok(Decision::Go(member(&answer, "compaction")?)),
    }
}

/// Asks before a navigation; the hook may give a summary, instructions and a label.
pub(crate) async fn before_tree(
    server: &Arc<Server>,
    params: &SessionBeforeTree,
) -> Result<Decision<SessionBeforeTreeResult>, RpcError> {
    let answer = ask(server, BEFORE_TREE, params).await?;
    match decide(&answer)? {
        Decision::Cancel => Ok(Decision::Cancel),
        Decision::Go(()) => Ok(Decision::Go(SessionBeforeTreeResult {
            cancel: None,
            summary: member::<GivenBranchSummary>(&answer, "summary")?,
            custom_instructions: member(&answer, "customInstructions")?,
            replace_instructions: member(&answer, "replaceInstructions")?,
            label: member(&answer, "label")?,
        })),
    }
}

/// Asks before a fork.
pub(crate) async fn before_fork(server: &Arc<Server>, params: &SessionBeforeFork) -> Result<Decision<()>, RpcError> {
    decide(&ask(server, BEFORE_FORK, params).await?)
}

async fn ask<P: Serialize>(server: &Arc<Server>, hook: &str, params: &P) -> Result<Box<RawValue>, RpcError> {
    let limit = server.settings_now().await?.hook_timeout();
    let answer = server.ask(hook, params, limit).await;
    answer.map_err(|error| wrong(hook, &format!("an answer; {error}")))
}

fn decide(answer: &RawValue) -> Result<Decision<()>, RpcError> {
    // Many libraries answer so where a handler returns nothing.
    if answer.get() == "null" {
        return Ok(Decision::Go(()));
    }
    if !answer.get().starts_with('{') {
        return Err(wrong("result", "an object"));
    }
    Ok(match member::<bool>(answer, "cancel")? {
        Some(true) => Decision::Cancel,
        Some(false) | None => Decision::Go(()),
    })
}

/// A member of the answer; null counts as absent.
fn member<T: DeserializeOwned>(answer: &RawValue, key: &str) -> Result<Option<T>, RpcError> {
    if answer.get() == "null" {
        return Ok(None);
    }
    let members = RawObject::parse(answer.get()).map_err(|_| wrong("result", "an object"))?;
    let Some(value) = members.get(key).filter(|value| *value != "null") else {
        return Ok(None);
    };
    crate::params::parse_value::<T>(value).map(Some).map_err(|(path, expected)| {
        wrong(&if path.is_empty() { key.to_owned() } else { format!("{key}.{path}") }, &expected)
    })
}

/// A wrong answer of a hook.
pub(crate) fn wrong(path: &str, expected: &str) -> RpcError {
    RpcError::InvalidHookResult { path: path.to_owned(), expected: expected.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(answer: &str) -> Result<bool, RpcError> {
        let answer = RawValue::from_string(answer.to_owned()).expect("the test writes JSON");
        decide(&answer).map(|decision| matches!(decision, Decision::Cancel))
    }

    #[test]
    fn a_cancel_is_heard_whatever_stands_beside_it() {
        let deep = format!("{{\"x\":{}{},\"cancel\":true}}", "[".repeat(500), "]".repeat(500));
        for answer in [r#"{"cancel":true,"note":"\ud800"}"#, r#"{"cancel":true,"x":1e999}"#, &deep] {
            assert!(decision(answer).expect("the answer is right"), "{answer}");
        }
        for answer in ["{}", "null"] {
            assert!(!decision(answer).expect("the answer is right"));
        }
        for answer in [r#"{"cancel":"yes"}"#, "[]", "false", "\"no\""] {
            assert_eq!(decision(answer).expect_err("the answer is wrong").kind(), "invalidHookResult", "{answer}");
        }
    }
}
