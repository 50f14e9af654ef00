//! Pairs of tool calls and results. No cut may separate them, because models refuse a result without
//! its call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::entry::{Entry, EntryId};
use crate::message::Body;
use crate::pending_calls::{self, PendingCall};
use crate::projection::ProjectedEntry;

/// For every position, whether cutting there would summarise a tool call whose result is kept or still
/// expected.
pub(super) fn positions_that_part_a_pair(span: &[ProjectedEntry]) -> Vec<bool> {
    let mut parts = positions_that_part_stored_pairs(span);
    if let Some((position, _)) = pending_calls::in_context(span) {
        parts[position + 1..].fill(true);
    }
    parts
}

/// The same for results that have arrived.
pub(super) fn positions_that_part_stored_pairs(span: &[ProjectedEntry]) -> Vec<bool> {
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut last_result: Vec<usize> = vec![0; span.len()];
    for (position, projected) in span.iter().enumerate() {
        for message in &projected.messages {
            for call in message.tool_calls() {
                calls.insert(&call.id, position);
            }
            if let Body::ToolResult { tool_call_id, .. } = message.body()
                && let Some(call) = calls.get(tool_call_id.as_str())
            {
                last_result[*call] = position;
            }
        }
    }
    let mut reach = 0;
    let before = last_result.iter().enumerate();
    before
        .map(|(position, result)| {
            let parts = position <= reach && position > 0;
            reach = reach.max(*result);
            parts
        })
        .collect()
}

/// A tool call that would lose its result if `branch` (root first) were kept from `first_kept` on.
/// `None` if there is no such call or no such entry.
pub fn parted_pair(branch: &[Arc<Entry>], first_kept: &EntryId) -> Option<String> {
    let cut = branch.iter().position(|entry| entry.id() == first_kept)?;
    let mut calls: HashMap<&str, usize> = HashMap::new();
    for (position, message) in branch.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.message()?))) {
        for call in message.tool_calls() {
            calls.insert(&call.id, position);
        }
        if let Body::ToolResult { tool_call_id, .. } = message.body()
            && position >= cut
            && calls.get(tool_call_id.as_str()).is_some_and(|call| *call < cut)
        {
            return Some(tool_call_id.clone());
        }
    }
    None
}

/// The pending call that lies before `first_kept` on `branch` (root first). `None` if there is no such
/// call or no such entry.
pub fn pending_before(branch: &[Arc<Entry>], first_kept: &EntryId) -> Option<PendingCall> {
    let (position, call) = pending_calls::on_path(branch)?;
    branch[position + 1..].iter().any(|entry| entry.id() == first_kept).then_some(call)
}

/// A call that a compaction would summarise although its result arrived after `leaf_id`, where the
/// compaction was prepared. The compaction keeps `context` from `first_kept` on. `None` if there is no
/// such call, or if one of the entries is not in the context.
pub fn answered_since(context: &[ProjectedEntry], first_kept: &EntryId, leaf_id: &EntryId) -> Option<String> {
    let position = |id: &EntryId| context.iter().position(|projected| projected.entry.id() == id);
    let (first_kept, leaf) = (position(first_kept)?, position(leaf_id)?);
    let messages = |entries: std::ops::Range<usize>| context[entries].iter().flat_map(|entry| &entry.messages);
    let mut results: HashSet<&str> =
        messages(leaf + 1..context.len()).filter_map(|message| message.answered_call_id()).collect();
    if results.is_empty() {
        return None;
    }
    for id in messages(first_kept..context.len()).flat_map(|message| message.tool_call_ids()) {
        results.remove(id);
    }
    let mut summarised = messages(0..first_kept).flat_map(|message| message.tool_call_ids());
    summarised.find(|id| results.contains(id)).map(str::to_owned)
}
