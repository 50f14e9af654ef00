//! The cut point: the oldest entry that a compaction keeps (compaction spec, Preparation, Cut).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::entry::{Entry, EntryBody, EntryId, EntryKind, Replacement};
use crate::message::Body;
use crate::projection::ProjectedEntry;

/// Where a span is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutPoint {
    /// Position of the first entry that stays.
    pub first_kept: usize,
    /// Position where the turn starts that the cut goes through.
    pub turn_start: Option<usize>,
}

/// Finds where to cut `span` so that about `keep_recent_tokens` stay; `None` if no entry of it can
/// be the first that stays.
///
/// Candidates are entries with a message that is not a tool result, where no tool call before them
/// has its result at or after them.
pub fn find(span: &[ProjectedEntry], keep_recent_tokens: u64) -> Option<CutPoint> {
    let candidates = candidates(span);
    let first = *candidates.first()?;
    let cut = match budget_position(span, keep_recent_tokens) {
        None => first,
        Some(position) => {
            let at_or_after = candidates.iter().find(|candidate| **candidate >= position);
            let cut = *at_or_after.or(candidates.last())?;
            cut + usize::from(is_abandoned_attempt(&span[cut + 1..]))
        }
    };
    let first_kept = over_silent_entries(span, cut);
    Some(CutPoint { first_kept, turn_start: split_turn_start(span, first_kept) })
}

/// Why an entry cannot be the first that a compaction keeps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCut {
    /// It is not in the part of the branch that may be summarised or kept.
    #[error("keep from {entry_id}: it is not among the entries that follow the last compaction's summary")]
    NotInSpan {
        /// The entry.
        entry_id: EntryId,
    },
    /// What it begins with can stand behind no summary.
    #[error("keep from {entry_id}: what is kept cannot begin with {found}")]
    NoCandidate {
        /// The entry.
        entry_id: EntryId,
        /// What it would begin with.
        found: &'static str,
    },
    /// A tool call would be parted from its result.
    #[error("keep from {entry_id}: a tool call before it has its result at or behind it")]
    PartsPair {
        /// The entry.
        entry_id: EntryId,
    },
}

/// The cut of `span` at an entry that a caller chose.
///
/// The first entry from there on that gives a message must be a candidate as for [`find`]: entries
/// without messages stay with what they stand before, so that they may be named as well.
pub fn chosen(span: &[ProjectedEntry], first_kept: &EntryId) -> Result<CutPoint, InvalidCut> {
    let entry_id = || first_kept.clone();
    let position = span.iter().position(|projected| projected.entry.id() == first_kept);
    let position = position.ok_or_else(|| InvalidCut::NotInSpan { entry_id: entry_id() })?;
    let speaks = |at: usize| !span[at].messages.is_empty();
    let first = (position..span.len()).find(|&at| speaks(at)).unwrap_or(position);
    if let Some(found) = unfit_to_begin(&span[position]).or_else(|| unfit_to_begin(&span[first])) {
        return Err(InvalidCut::NoCandidate { entry_id: entry_id(), found });
    }
    if positions_that_part_a_pair(span)[first] {
        return Err(InvalidCut::PartsPair { entry_id: entry_id() });
    }
    Ok(CutPoint { first_kept: position, turn_start: split_turn_start(span, position) })
}

/// What an entry is, if nothing that is kept may begin with it.
fn unfit_to_begin(projected: &ProjectedEntry) -> Option<&'static str> {
    if projected.entry.kind() == EntryKind::Compaction {
        return Some("a compaction");
    }
    let message = projected.messages.first()?;
    match message.body() {
        Body::ToolResult { .. } => Some("a tool result"),
        Body::System(_) => Some("a system message"),
        Body::Other { .. } => Some("a message of an unknown role"),
        _ => None,
    }
}

/// The entry, from the newest back, at which the estimates reach the budget.
fn budget_position(span: &[ProjectedEntry], keep_recent_tokens: u64) -> Option<usize> {
    let mut sum: u64 = 0;
    span.iter().rposition(|projected| {
        let tokens: u64 = projected.messages.iter().map(|message| message.tokens()).sum();
        sum = sum.saturating_add(tokens);
        tokens > 0 && sum >= keep_recent_tokens
    })
}

fn candidates(span: &[ProjectedEntry]) -> Vec<usize> {
    let parts_a_pair = positions_that_part_a_pair(span);
    let is_candidate = |position: &usize| {
        let projected = &span[*position];
        projected.entry.kind() != EntryKind::Compaction
            && projected.messages.iter().any(|message| can_come_first(message.body()))
            && !parts_a_pair[*position]
    };
    (0..span.len()).filter(is_candidate).collect()
}

fn can_come_first(body: &Body) -> bool {
    !matches!(body, Body::ToolResult { .. } | Body::System(_) | Body::Other { .. })
}

/// For every position, whether cutting there would summarise a tool call and keep its result.
fn positions_that_part_a_pair(span: &[ProjectedEntry]) -> Vec<bool> {
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

/// Whether all that follows the cut is an attempt that context edits have hidden: then the message
/// before it has been dealt with, and keeping it would keep the very input that did not fit.
fn is_abandoned_attempt(suffix: &[ProjectedEntry]) -> bool {
    let is_hidden = |projected: &&ProjectedEntry| projected.messages.is_empty() && shows_by_itself(projected);
    let hidden: HashSet<&EntryId> = suffix.iter().filter(is_hidden).map(|projected| projected.entry.id()).collect();
    let rewrites_another = |projected: &ProjectedEntry| match projected.entry.body() {
        EntryBody::ContextEdit { target_id, replacement } => {
            !matches!(replacement, Replacement::Hidden) && !hidden.contains(target_id)
        }
        _ => false,
    };
    let is_quiet =
        |projected: &ProjectedEntry| projected.entry.kind() != EntryKind::Compaction && projected.messages.is_empty();
    let is_answer =
        |projected: &&ProjectedEntry| projected.entry.message().is_some_and(|message| message.as_assistant().is_some());
    suffix.iter().all(|projected| is_quiet(projected) && !rewrites_another(projected))
        && suffix.iter().filter(is_hidden).any(|projected| is_answer(&projected))
}

fn shows_by_itself(projected: &ProjectedEntry) -> bool {
    projected.entry.kind() != EntryKind::ContextEdit && projected.entry.has_context_messages()
}

/// Moves back over entries that give no message, up to a compaction, so that settings and labels
/// stay with what they stand before.
fn over_silent_entries(span: &[ProjectedEntry], cut: usize) -> usize {
    let speaks =
        |projected: &ProjectedEntry| projected.entry.kind() == EntryKind::Compaction || !projected.messages.is_empty();
    span[..cut].iter().rposition(speaks).map_or(0, |position| position + 1)
}

fn split_turn_start(span: &[ProjectedEntry], first_kept: usize) -> Option<usize> {
    if starts_turn(span.get(first_kept)?) {
        return None;
    }
    span[..first_kept].iter().rposition(starts_turn)
}

fn starts_turn(projected: &ProjectedEntry) -> bool {
    projected.entry.kind() != EntryKind::Compaction && projected.messages.iter().any(|message| message.starts_turn())
}

/// A tool call that would be parted from its result if `branch` (root first) were kept from
/// `first_kept` on; `None` if there is none, or no such entry.
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
