//! The cut point: the oldest entry that a compaction keeps (docs/cut-points.md).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::entry::{Entry, EntryBody, EntryId, EntryKind, Replacement};
use crate::message::Message;
use crate::projection::ProjectedEntry;

/// Where to cut a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutPoint {
    /// Position of the first kept entry.
    pub first_kept: usize,
    /// Start of the turn that the cut splits; `None` if it splits none.
    pub turn_start: Option<usize>,
}

/// Finds where to cut `span` so that about `keep_recent_tokens` are kept. `None` if no entry can be the
/// first kept one.
///
/// A candidate has a message other than a tool result, and cutting there separates no tool call from
/// its result, including a result that has not arrived yet.
pub fn find(span: &[ProjectedEntry], keep_recent_tokens: u64) -> Option<CutPoint> {
    find_among(span, candidates(span, &positions_inside_pairs(span)), keep_recent_tokens)
}

/// The pending call that prevents every useful cut of `span`, if there is one. Without it there would
/// be a cut that evicts a message.
pub fn blocked_by(span: &[ProjectedEntry], keep_recent_tokens: u64) -> Option<PendingCall> {
    let (_, call) = pending_in_context(span)?;
    let free = candidates(span, &positions_inside_stored_pairs(span));
    let cut = find_among(span, free, keep_recent_tokens)?;
    let is_summarised = |message: &Message| !message.is_system();
    let summarised = span[..cut.first_kept].iter().flat_map(|projected| &projected.messages);
    summarised.into_iter().any(|message| is_summarised(message)).then_some(call)
}

fn find_among(span: &[ProjectedEntry], candidates: Vec<usize>, keep_recent_tokens: u64) -> Option<CutPoint> {
    let first = *candidates.first()?;
    let cut = match budget_position(span, keep_recent_tokens) {
        None => first,
        Some(position) => {
            let at_or_after = candidates.iter().find(|candidate| **candidate >= position);
            let cut = *at_or_after.or(candidates.last())?;
            cut + usize::from(is_abandoned_attempt(&span[cut + 1..]))
        }
    };
    let first_kept = before_empty_entries(span, cut);
    Some(CutPoint { first_kept, turn_start: split_turn_start(span, first_kept) })
}

/// Why an entry cannot be the first kept one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCut {
    /// It is outside of the span.
    #[error("keep from {entry_id}: it is not among the entries that follow the last compaction's summary")]
    NotInSpan {
        /// The entry.
        entry_id: EntryId,
    },
    /// It starts with a message that cannot follow a summary.
    #[error("keep from {entry_id}: the kept entries cannot begin with {found}")]
    NoCandidate {
        /// The entry.
        entry_id: EntryId,
        /// What it starts with.
        found: &'static str,
    },
    /// It separates a tool call from its result.
    #[error("keep from {entry_id}: a tool call before it has its result at or after it")]
    PartsPair {
        /// The entry.
        entry_id: EntryId,
    },
    /// It separates a tool call from a result that is still expected.
    #[error("keep from {entry_id}: the result of tool call {call_id} before it has not arrived")]
    AwaitsResult {
        /// The entry.
        entry_id: EntryId,
        /// The call.
        call_id: String,
    },
}

/// Cuts `span` at an entry that the caller chose.
///
/// The first entry from there on with a message must be a candidate as for [`find`]. Entries without
/// messages stay with the entry that they precede, so they may be named too.
pub fn chosen(span: &[ProjectedEntry], first_kept: &EntryId) -> Result<CutPoint, InvalidCut> {
    let entry_id = || first_kept.clone();
    let position = span.iter().position(|projected| projected.entry.id() == first_kept);
    let position = position.ok_or_else(|| InvalidCut::NotInSpan { entry_id: entry_id() })?;
    let has_messages = |at: usize| !span[at].messages.is_empty();
    let first = (position..span.len()).find(|&at| has_messages(at)).unwrap_or(position);
    if let Some(found) = unfit_to_begin(&span[position]).or_else(|| unfit_to_begin(&span[first])) {
        return Err(InvalidCut::NoCandidate { entry_id: entry_id(), found });
    }
    if positions_inside_stored_pairs(span)[first] {
        return Err(InvalidCut::PartsPair { entry_id: entry_id() });
    }
    if let Some((_, call)) = pending_in_context(span).filter(|(at, _)| *at < first) {
        return Err(InvalidCut::AwaitsResult { entry_id: entry_id(), call_id: call.call_id });
    }
    Ok(CutPoint { first_kept: position, turn_start: split_turn_start(span, position) })
}

/// Describes an entry that cannot be the first kept one; `None` if it can.
fn unfit_to_begin(projected: &ProjectedEntry) -> Option<&'static str> {
    if projected.entry.kind() == EntryKind::Compaction {
        return Some("a compaction");
    }
    let message = projected.messages.first()?;
    match message.role() {
        "toolResult" => Some("a tool result"),
        "system" => Some("a system message"),
        _ if !can_come_first(message) => Some("a message of an unknown role"),
        _ => None,
    }
}

/// The entry at which the estimates, added up from the newest, reach the budget.
fn budget_position(span: &[ProjectedEntry], keep_recent_tokens: u64) -> Option<usize> {
    let mut sum: u64 = 0;
    span.iter().rposition(|projected| {
        let tokens: u64 = projected.messages.iter().map(|message| message.tokens()).sum();
        sum = sum.saturating_add(tokens);
        tokens > 0 && sum >= keep_recent_tokens
    })
}

fn candidates(span: &[ProjectedEntry], is_inside_pair: &[bool]) -> Vec<usize> {
    let is_candidate = |position: &usize| {
        let projected = &span[*position];
        projected.entry.kind() != EntryKind::Compaction
            && projected.messages.iter().any(|message| can_come_first(message))
            && !is_inside_pair[*position]
    };
    (0..span.len()).filter(is_candidate).collect()
}

/// Whether the kept entries may begin with the message. Its role decides, so its body is not read.
fn can_come_first(message: &Message) -> bool {
    message.role() == "assistant" || message.starts_turn()
}

/// Whether everything after the cut is an attempt that context edits have hidden. Then the message
/// before it has been dealt with, and keeping it would keep the input that did not fit.
fn is_abandoned_attempt(suffix: &[ProjectedEntry]) -> bool {
    let is_hidden = |projected: &&ProjectedEntry| projected.messages.is_empty() && has_own_messages(projected);
    let hidden: HashSet<&EntryId> = suffix.iter().filter(is_hidden).map(|projected| projected.entry.id()).collect();
    let rewrites_another = |projected: &ProjectedEntry| match projected.entry.body() {
        EntryBody::ContextEdit { target_id, replacement } => {
            !matches!(replacement, Replacement::Hidden) && !hidden.contains(target_id)
        }
        _ => false,
    };
    let is_empty =
        |projected: &ProjectedEntry| projected.entry.kind() != EntryKind::Compaction && projected.messages.is_empty();
    let is_answer =
        |projected: &&ProjectedEntry| projected.entry.message().is_some_and(|message| message.role() == "assistant");
    suffix.iter().all(|projected| is_empty(projected) && !rewrites_another(projected))
        && suffix.iter().filter(is_hidden).any(|projected| is_answer(&projected))
}

fn has_own_messages(projected: &ProjectedEntry) -> bool {
    projected.entry.kind() != EntryKind::ContextEdit && projected.entry.has_context_messages()
}

/// Moves back over entries without messages, up to a compaction, so that settings and labels stay with
/// the entry that they precede.
fn before_empty_entries(span: &[ProjectedEntry], cut: usize) -> usize {
    let has_messages =
        |projected: &ProjectedEntry| projected.entry.kind() == EntryKind::Compaction || !projected.messages.is_empty();
    span[..cut].iter().rposition(has_messages).map_or(0, |position| position + 1)
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

/// For every position, whether cutting there would summarise a tool call whose result is kept or still
/// expected.
fn positions_inside_pairs(span: &[ProjectedEntry]) -> Vec<bool> {
    let mut inside = positions_inside_stored_pairs(span);
    if let Some((position, _)) = pending_in_context(span) {
        inside[position + 1..].fill(true);
    }
    inside
}

/// The same for results that have arrived.
fn positions_inside_stored_pairs(span: &[ProjectedEntry]) -> Vec<bool> {
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut last_result: Vec<usize> = vec![0; span.len()];
    for (position, projected) in span.iter().enumerate() {
        for message in &projected.messages {
            for id in message.tool_call_ids() {
                calls.insert(id, position);
            }
            if let Some(call) = message.answered_call_id().and_then(|id| calls.get(id)) {
                last_result[*call] = position;
            }
        }
    }
    let mut reach = 0;
    let is_inside = |(position, result): (usize, &usize)| {
        let is_inside = position <= reach && position > 0;
        reach = reach.max(*result);
        is_inside
    };
    last_result.iter().enumerate().map(is_inside).collect()
}

/// A tool call that would lose its result if `branch` (root first) were kept from `first_kept` on.
/// `None` if there is no such call or no such entry.
pub fn parted_pair(branch: &[Arc<Entry>], first_kept: &EntryId) -> Option<String> {
    let cut = branch.iter().position(|entry| entry.id() == first_kept)?;
    let mut calls: HashMap<&str, usize> = HashMap::new();
    for (position, message) in branch.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.message()?))) {
        for id in message.tool_call_ids() {
            calls.insert(id, position);
        }
        if let Some(id) = message.answered_call_id()
            && position >= cut
            && calls.get(id).is_some_and(|call| *call < cut)
        {
            return Some(id.to_owned());
        }
    }
    None
}

/// The pending call before `first_kept` on `branch` (root first). `None` if there is no such
/// call or no such entry.
pub fn pending_before(branch: &[Arc<Entry>], first_kept: &EntryId) -> Option<PendingCall> {
    let (position, call) = pending_on_path(branch)?;
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

/// A tool call whose result has not arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCall {
    /// The entry of the answer that made it.
    pub entry_id: EntryId,
    /// The call.
    pub call_id: String,
}

/// The first call of the last answer on `path` (root first) that has no result yet. `None` if that
/// answer failed, was aborted or is hidden, or if there is no such call.
fn pending_on_path(path: &[Arc<Entry>]) -> Option<(usize, PendingCall)> {
    let last = LastAnswer::of(path.iter())?;
    let message = match last.edit {
        Some(Replacement::Hidden) => return None,
        Some(Replacement::Content(content)) => Arc::new(last.message.with_content(content)),
        Some(Replacement::Invalid) | None => Arc::clone(last.message),
    };
    last.pending(&[message])
}

/// The same for the entries of a context.
fn pending_in_context(context: &[ProjectedEntry]) -> Option<(usize, PendingCall)> {
    let last = LastAnswer::of(context.iter().map(|projected| &projected.entry))?;
    last.pending(&context[last.position].messages)
}

/// The last answer of a path, if its calls may still get results.
struct LastAnswer<'a> {
    position: usize,
    entry_id: &'a EntryId,
    message: &'a Arc<Message>,
    /// The last edit of it.
    edit: Option<&'a Replacement>,
    /// Calls that were answered after it.
    answered: HashSet<&'a str>,
}

impl<'a> LastAnswer<'a> {
    fn of(path: impl DoubleEndedIterator<Item = &'a Arc<Entry>> + ExactSizeIterator) -> Option<Self> {
        let mut answered = HashSet::new();
        let mut edits: HashMap<&EntryId, &Replacement> = HashMap::new();
        for (position, entry) in path.enumerate().rev() {
            if let EntryBody::ContextEdit { target_id, replacement } = entry.body() {
                edits.entry(target_id).or_insert(replacement);
            }
            let Some(message) = entry.message() else { continue };
            answered.extend(message.answered_call_id());
            if message.role() == "assistant" {
                let edit = edits.get(entry.id()).copied();
                return message.is_success().then_some(Self {
                    position,
                    entry_id: entry.id(),
                    message,
                    edit,
                    answered,
                });
            }
        }
        None
    }

    /// The first call in `shown`, the answer after edits, that has no result, with the position of the
    /// answer.
    fn pending(&self, shown: &[Arc<Message>]) -> Option<(usize, PendingCall)> {
        let mut calls = shown.iter().flat_map(|message| message.tool_call_ids());
        let call_id = calls.find(|id| !self.answered.contains(id))?.to_owned();
        Some((self.position, PendingCall { entry_id: self.entry_id.clone(), call_id }))
    }
}
