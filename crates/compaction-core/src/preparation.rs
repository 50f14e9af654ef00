//! Preparation: what a compaction would summarise and what it would keep (docs/preparation.md); where a move in the
//! tree leads, and what a summary of the abandoned branch covers (docs/summaries.md, "Branch summaries"). It is pure
//! and cheap: writing the summary is the only slow part of a compaction.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::cut_point::{self, CutPoint, InvalidCut, PendingCall};
use crate::entry::{Entry, EntryBody, EntryId};
use crate::file_operations::{FileOperations, FileTools};
use crate::ledger::{Collector, Ledger, only_describes_environment};
use crate::message::{Body, Message};
use crate::pins::remove_pinned_entries;
use crate::projection::{Edits, ProjectedEntry, Projection};
use crate::settings::CompactionSettings;
use crate::tokens;

pub use crate::projection::PreparedMessage;

/// A compaction that can be made.
#[derive(Debug, Clone)]
pub struct Preparation {
    /// The oldest entry that is kept.
    pub first_kept_entry_id: EntryId,
    /// Messages before the split turn, or before the cut if no turn is split.
    pub messages_to_summarize: Vec<PreparedMessage>,
    /// Messages of the split turn up to the cut; empty if no turn is split.
    pub turn_prefix_messages: Vec<PreparedMessage>,
    /// Whether the cut splits a turn.
    pub is_split_turn: bool,
    /// Tokens of the whole context.
    pub tokens_before: u64,
    /// The summary of the previous compaction on the branch, without its pinned entries, which are
    /// written again.
    pub previous_summary: Option<String>,
    /// The `details` of that compaction.
    pub previous_details: Option<Box<RawValue>>,
    /// Files of the summarised part and of earlier summaries.
    pub file_operations: FileOperations,
    /// The tools that identify file operations.
    pub file_tools: FileTools,
    /// The settings that were used.
    pub settings: CompactionSettings,
    /// The leaf of the branch.
    pub leaf_id: EntryId,
}

/// Why nothing can be compacted, with the numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No entry with a message follows the last compaction.
    #[error("compact again: nothing that the model sees follows compaction {compaction_id}")]
    AlreadyCompacted {
        /// The last compaction.
        compaction_id: EntryId,
        /// Tokens of the context.
        context_tokens: u64,
    },
    /// Everything would be kept.
    #[error(
        "compact: all of the {messages} messages since the last compaction ({context_tokens} tokens of context) \
         fall into the {keep_recent_tokens} recent tokens that are kept"
    )]
    NothingToCompact {
        /// Messages that could have been summarised or kept.
        messages: usize,
        /// Tokens of the context.
        context_tokens: u64,
        /// Tokens to keep.
        keep_recent_tokens: u64,
    },
    /// Everything that could be summarised comes after a tool call whose result has not arrived.
    #[error(
        "compact: the result of tool call {} has not arrived, so everything from entry {} on has to stay, and there \
         is nothing to summarise before it", .call.call_id, .call.entry_id
    )]
    AwaitsResult {
        /// The call.
        call: PendingCall,
        /// Messages that could have been summarised or kept.
        messages: usize,
        /// Tokens of the context.
        context_tokens: u64,
        /// Tokens to keep.
        keep_recent_tokens: u64,
    },
}

impl Preparation {
    /// Prepares a compaction of `projection`, whose leaf is `leaf_id` (`None` for an empty branch).
    ///
    /// The span starts at the previous compaction's first kept entry, so what one compaction kept, the
    /// next one summarises or keeps.
    pub fn of(
        projection: &Projection,
        leaf_id: Option<&EntryId>,
        settings: CompactionSettings,
        tools: &FileTools,
    ) -> Result<Self, Refusal> {
        let span = Span::of(projection, settings)?;
        let cut = cut_point::find(span.entries, settings.keep_recent_tokens);
        let prepared = cut.ok_or_else(|| span.nothing()).and_then(|cut| span.prepare(&cut, leaf_id, tools));
        prepared.map_err(|refusal| span.blocked().unwrap_or(refusal))
    }

    /// Prepares a compaction that keeps the entries from `first_kept` on, whatever
    /// `settings.keep_recent_tokens` says; otherwise like [`Preparation::of`].
    ///
    /// Fails if that entry cannot be the first kept one.
    pub fn at(
        projection: &Projection,
        leaf_id: Option<&EntryId>,
        first_kept: &EntryId,
        settings: CompactionSettings,
        tools: &FileTools,
    ) -> Result<Self, ChosenCutError> {
        let span = Span::of(projection, settings)?;
        let cut = cut_point::chosen(span.entries, first_kept)?;
        Ok(span.prepare(&cut, leaf_id, tools)?)
    }

    /// The preparation for a summary that a client or hook wrote, with its own cut: it covers
    /// everything that the model saw before `first_kept`. If that entry is not in the context, nothing
    /// is evicted.
    pub fn of_given(
        projection: &Projection,
        leaf_id: &EntryId,
        first_kept: &EntryId,
        settings: CompactionSettings,
        tools: &FileTools,
    ) -> Self {
        let span = Span::unchecked(projection, settings);
        let position = span.entries.iter().position(|projected| projected.entry.id() == first_kept);
        let evicted = &span.entries[..position.unwrap_or(0)];
        span.build((evicted, &[]), first_kept, leaf_id, tools)
    }
}

/// Why no compaction is possible at the cut that a caller chose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChosenCutError {
    /// There is nothing to compact.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The entry cannot be the first kept one.
    #[error(transparent)]
    Invalid(#[from] InvalidCut),
}

/// The entries that a compaction may summarise or keep: all entries after the previous summary.
struct Span<'a> {
    entries: &'a [ProjectedEntry],
    previous: Option<&'a ProjectedEntry>,
    tokens_before: u64,
    settings: CompactionSettings,
}

impl<'a> Span<'a> {
    fn of(projection: &'a Projection, settings: CompactionSettings) -> Result<Self, Refusal> {
        let span = Self::unchecked(projection, settings);
        refuse_if_compacted(projection, span.tokens_before)?;
        Ok(span)
    }

    fn unchecked(projection: &'a Projection, settings: CompactionSettings) -> Self {
        let tokens_before = tokens::context_tokens(projection).tokens;
        let previous = projection.compaction().filter(|compaction| !compaction.messages.is_empty());
        let entries = &projection.entries()[usize::from(previous.is_some())..];
        Self { entries, previous, tokens_before, settings }
    }

    fn nothing(&self) -> Refusal {
        Refusal::NothingToCompact {
            messages: conversation(self.entries).count(),
            context_tokens: self.tokens_before,
            keep_recent_tokens: self.settings.keep_recent_tokens,
        }
    }

    /// The refusal because of a pending call, if there would be a cut without it.
    fn blocked(&self) -> Option<Refusal> {
        let keep_recent_tokens = self.settings.keep_recent_tokens;
        let call = cut_point::blocked_by(self.entries, keep_recent_tokens)?;
        let (messages, context_tokens) = (conversation(self.entries).count(), self.tokens_before);
        Some(Refusal::AwaitsResult { call, messages, context_tokens, keep_recent_tokens })
    }

    fn prepare(&self, cut: &CutPoint, leaf_id: Option<&EntryId>, tools: &FileTools) -> Result<Preparation, Refusal> {
        let (history, turn_prefix) = parts(self.entries, cut);
        if conversation(history).chain(conversation(turn_prefix)).next().is_none() {
            return Err(self.nothing());
        }
        let first_kept = self.entries[cut.first_kept].entry.id();
        let leaf_id = leaf_id.ok_or_else(|| self.nothing())?;
        let prepared = self.build((history, turn_prefix), first_kept, leaf_id, tools);
        Ok(Preparation { is_split_turn: cut.turn_start.is_some(), ..prepared })
    }

    fn build(
        &self,
        (history, turn_prefix): (&[ProjectedEntry], &[ProjectedEntry]),
        first_kept: &EntryId,
        leaf_id: &EntryId,
        tools: &FileTools,
    ) -> Preparation {
        let evicted = history.iter().chain(turn_prefix);
        Preparation {
            first_kept_entry_id: first_kept.clone(),
            messages_to_summarize: conversation(history).collect(),
            turn_prefix_messages: conversation(turn_prefix).collect(),
            is_split_turn: false,
            tokens_before: self.tokens_before,
            previous_summary: self.previous.and_then(summary_of),
            previous_details: self.previous.and_then(details_of),
            file_operations: file_operations(self.previous.into_iter().chain(evicted), tools),
            file_tools: tools.clone(),
            settings: self.settings,
            leaf_id: leaf_id.clone(),
        }
    }
}

impl Preparation {
    /// The evicted messages in order: the history, then the turn prefix.
    pub fn evicted(&self) -> impl Iterator<Item = &PreparedMessage> {
        self.messages_to_summarize.iter().chain(&self.turn_prefix_messages)
    }

    /// Whether the turn prefix says anything. It does not if it only has messages in the name of a person in which a
    /// harness describes the environment.
    pub fn turn_says_anything(&self) -> bool {
        let is_of_surroundings = |prepared: &PreparedMessage| match prepared.message.body() {
            Body::User { content } => only_describes_environment(&content.text("")),
            _ => false,
        };
        !self.turn_prefix_messages.iter().all(is_of_surroundings)
    }

    /// The ledger that the previous compaction stored. It is parsed on demand, because most
    /// preparations never need it.
    pub fn previous_ledger(&self) -> Option<Ledger> {
        Ledger::read_beside(self.previous_details.as_ref()?.get(), self.previous_summary.as_deref())
    }

    /// The ledger of the evicted messages, continuing that of the previous compaction.
    pub fn ledger(&self) -> Ledger {
        let previous = self.previous_ledger();
        let mut collector = Collector::new(previous.as_ref(), self.previous_summary.as_deref(), &self.file_tools);
        self.evicted().for_each(|prepared| collector.read(prepared));
        collector.finish()
    }

    /// [`Preparation::ledger`], and the ledger of the history alone if a turn is split. Messages are
    /// read once for both.
    pub fn ledgers(&self) -> Ledgers {
        let previous = self.previous_ledger();
        let mut collector = Collector::new(previous.as_ref(), self.previous_summary.as_deref(), &self.file_tools);
        self.messages_to_summarize.iter().for_each(|prepared| collector.read(prepared));
        if self.messages_to_summarize.is_empty() || self.turn_prefix_messages.is_empty() {
            self.turn_prefix_messages.iter().for_each(|prepared| collector.read(prepared));
            let evicted = Arc::new(collector.finish());
            return Ledgers { first: Arc::clone(&evicted), evicted };
        }
        let first = Arc::new(collector.clone().finish());
        self.turn_prefix_messages.iter().for_each(|prepared| collector.read(prepared));
        Ledgers { first, evicted: Arc::new(collector.finish()) }
    }
}

/// The ledgers of a preparation.
#[derive(Debug, Clone)]
pub struct Ledgers {
    /// The ledger for the first summary: that of the history, if there is one.
    pub first: Arc<Ledger>,
    /// The ledger of all evicted messages.
    pub evicted: Arc<Ledger>,
}

impl Ledgers {
    /// Whether the beginning of a turn was evicted beside the history.
    pub fn has_turn(&self) -> bool {
        !Arc::ptr_eq(&self.first, &self.evicted)
    }
}

fn refuse_if_compacted(projection: &Projection, context_tokens: u64) -> Result<(), Refusal> {
    let Some(compaction) = projection.compaction() else {
        return Ok(());
    };
    let follows = |entry: &ProjectedEntry| entry.depth < compaction.depth && !entry.messages.is_empty();
    if projection.entries().iter().any(follows) {
        return Ok(());
    }
    Err(Refusal::AlreadyCompacted { compaction_id: compaction.entry.id().clone(), context_tokens })
}

fn parts<'a>(span: &'a [ProjectedEntry], cut: &CutPoint) -> (&'a [ProjectedEntry], &'a [ProjectedEntry]) {
    let summarised = &span[..cut.first_kept];
    summarised.split_at(cut.turn_start.unwrap_or(cut.first_kept))
}

/// The messages that a summary covers: all but system messages, whose state the compaction entry
/// carries.
fn conversation(entries: &[ProjectedEntry]) -> impl Iterator<Item = PreparedMessage> {
    entries.iter().flat_map(|projected| {
        let messages = projected.messages.iter().filter(|message| message.as_system().is_none());
        messages.map(|message| PreparedMessage { entry_id: projected.entry.id().clone(), message: Arc::clone(message) })
    })
}

fn summary_of(compaction: &ProjectedEntry) -> Option<String> {
    compaction.entry.compaction().map(|compaction| remove_pinned_entries(&compaction.summary).into_owned())
}

fn details_of(compaction: &ProjectedEntry) -> Option<Box<RawValue>> {
    compaction.entry.compaction()?.details.clone()
}

fn file_operations<'a>(
    previous_and_evicted: impl Iterator<Item = &'a ProjectedEntry>,
    tools: &FileTools,
) -> FileOperations {
    let mut operations = FileOperations::default();
    for projected in previous_and_evicted {
        match projected.entry.body() {
            EntryBody::Compaction(compaction) if compaction.carries_files && !projected.messages.is_empty() => {
                operations.add_lists(&compaction.files);
            }
            EntryBody::BranchSummary(branch) if branch.carries_files => operations.add_lists(&branch.files),
            _ => {}
        }
        for message in &projected.messages {
            operations.add_message(message, tools);
        }
    }
    operations
}

/// Where a navigation leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The new leaf; `None` for the position before the first entry.
    pub new_leaf_id: Option<EntryId>,
    /// The text that the person may edit and send again.
    pub editor_text: Option<String>,
}

impl Destination {
    /// Where a navigation to `target` leads. A user message returns to the editor, and its parent
    /// becomes the leaf. Any other entry becomes the leaf.
    pub fn of(target: &Entry) -> Self {
        match spoken_text(target) {
            Some(text) => Self { new_leaf_id: target.header().parent_id.clone(), editor_text: Some(text) },
            None => Self { new_leaf_id: Some(target.id().clone()), editor_text: None },
        }
    }
}

/// The text of a user or custom message; `None` for other entries.
pub fn spoken_text(entry: &Entry) -> Option<String> {
    let (EntryBody::Message(message) | EntryBody::CustomMessage(message)) = entry.body() else {
        return None;
    };
    match message.body() {
        Body::User { content } | Body::Custom { content, .. } => Some(content.text("").into_owned()),
        _ => None,
    }
}

/// The input for a summary of an abandoned branch.
#[derive(Debug, Clone, Default)]
pub struct BranchPreparation {
    /// The newest messages that fit, in context order, without tool results.
    pub messages: Vec<PreparedMessage>,
    /// Files of all abandoned entries, with edits applied, including entries that did not fit.
    pub file_operations: FileOperations,
    /// The tools that identify file operations.
    pub file_tools: FileTools,
    /// Estimated tokens of `messages`.
    pub tokens: u64,
    /// Messages that did not fit.
    pub left_out: usize,
}

impl BranchPreparation {
    /// Prepares a summary of the `abandoned` entries (oldest first). `projection` is the context at
    /// their leaf. `budget` limits the tokens; `None` means no limit.
    ///
    /// The projection shows each message once and as the model saw it: without hidden content and
    /// without entries that a compaction on the branch already covers.
    pub fn of(projection: &Projection, abandoned: &[Arc<Entry>], budget: Option<u64>, tools: &FileTools) -> Self {
        let ids: HashSet<&EntryId> = abandoned.iter().map(|entry| entry.id()).collect();
        let visible = projection.entries().iter().filter(|projected| ids.contains(projected.entry.id()));
        let mut preparation = Self {
            file_operations: abandoned_file_operations(abandoned, tools),
            file_tools: tools.clone(),
            ..Self::default()
        };
        let mut is_full = false;
        for (projected, message) in visible.rev().flat_map(included_messages) {
            is_full = is_full || !preparation.has_room(projected, message, budget);
            if is_full {
                preparation.left_out += 1;
            } else {
                preparation.tokens += message.tokens();
                let entry_id = projected.entry.id().clone();
                preparation.messages.push(PreparedMessage { entry_id, message: Arc::clone(message) });
            }
        }
        preparation.messages.reverse();
        preparation
    }

    /// Whether `message` still fits. A summary is dense, so it may overshoot while less than nine
    /// tenths of the budget are used.
    fn has_room(&self, projected: &ProjectedEntry, message: &Message, budget: Option<u64>) -> bool {
        let Some(budget) = budget else {
            return true;
        };
        let is_summary = matches!(projected.entry.body(), EntryBody::Compaction(_) | EntryBody::BranchSummary(_));
        let fits = self.tokens.saturating_add(message.tokens()) <= budget;
        fits || (is_summary && self.tokens.saturating_mul(10) < budget.saturating_mul(9))
    }
}

/// Tokens of input for a branch summary: the window minus the reserve, and at least a quarter of the
/// window.
pub fn branch_budget(context_window: u64, reserve_tokens: u64) -> u64 {
    context_window.saturating_sub(reserve_tokens).max(context_window / 4)
}

fn included_messages(projected: &ProjectedEntry) -> impl Iterator<Item = (&ProjectedEntry, &Arc<Message>)> {
    let is_included = |message: &&Arc<Message>| !matches!(message.role(), "toolResult" | "system");
    projected.messages.iter().rev().filter(is_included).map(move |message| (projected, message))
}

fn abandoned_file_operations(abandoned: &[Arc<Entry>], tools: &FileTools) -> FileOperations {
    let edits = Edits::of(abandoned.iter().map(Arc::as_ref));
    let mut operations = FileOperations::default();
    for entry in abandoned {
        match entry.body() {
            EntryBody::Message(_) => {
                edits.messages(entry).iter().for_each(|message| operations.add_message(message, tools));
            }
            EntryBody::BranchSummary(branch) if branch.carries_files => operations.add_lists(&branch.files),
            EntryBody::Compaction(compaction) if compaction.carries_files => operations.add_lists(&compaction.files),
            _ => {}
        }
    }
    operations
}
