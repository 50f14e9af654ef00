//! The host of the engine: the events it receives and the questions it answers.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::entry::{Entry, EntryId};
use compaction_core::ledger::{LossReport, Retention};
use compaction_core::preparation::Preparation;
use compaction_core::prompts::SummaryRequest;
use serde_json::value::RawValue;

use crate::error::{EngineError, SummarizerFailure};
use crate::models::{Answer, ContinuedRequest, ModelError, RequestContext, RequestReport};
use crate::redaction::Redactions;

/// The user of the engine: a server with its client, an agent, a test.
///
/// Everything except [`Host::notify`] has a default, which is that of a host without hooks and models.
#[async_trait]
pub trait Host: Send + Sync + Debug {
    /// Receives an event. It is called under the lock of a session and must not block.
    fn notify(&self, event: Event);

    /// Whether the host wants [`Event::Progress`].
    fn wants_progress(&self) -> bool {
        false
    }

    /// Whether the host keeps up with its events. Progress is left out while it does not.
    fn has_room(&self) -> bool {
        true
    }

    /// Whether the host answers a question.
    fn answers(&self, _question: Question) -> bool {
        false
    }

    /// Asks whether a compaction may happen. The host may give the summary. It must answer within `limit`.
    ///
    /// # Errors
    /// [`EngineError::InvalidHookResult`] where there is no usable answer.
    async fn before_compaction(
        &self,
        _question: BeforeCompaction,
        _limit: Duration,
    ) -> Result<Decision<Option<GivenSummary>>, EngineError> {
        Ok(Decision::Go(None))
    }

    /// Asks whether a navigation may happen. The host may change it. It must answer within `limit`.
    ///
    /// # Errors
    /// [`EngineError::InvalidHookResult`] where there is no usable answer.
    async fn before_navigation(
        &self,
        _question: BeforeNavigation,
        _limit: Duration,
    ) -> Result<Decision<NavigationChanges>, EngineError> {
        Ok(Decision::Go(NavigationChanges::default()))
    }

    /// Asks the host's own model for a summary. The host must answer within `limit`.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn summarize(
        &self,
        _context: &RequestContext,
        _request: &SummaryRequest,
        _limit: Duration,
    ) -> Result<Answer, ModelError> {
        Err(ModelError::refused("the host has no model"))
    }

    /// Asks the host to continue its conversation with a message that requests a summary. The host must answer within
    /// `limit`.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn continue_conversation(
        &self,
        _context: &RequestContext,
        _request: &ContinuedRequest,
        _limit: Duration,
    ) -> Result<Answer, ModelError> {
        Err(ModelError::refused("the host continues no conversations"))
    }
}

/// A host that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn notify(&self, _event: Event) {}
}

/// A question that a host can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Question {
    /// A request for a summary: [`Host::summarize`].
    Summary,
    /// A request to continue its conversation for a summary: [`Host::continue_conversation`].
    Continuation,
    /// Whether a compaction may happen: [`Host::before_compaction`].
    BeforeCompaction,
    /// Whether a navigation may happen: [`Host::before_navigation`].
    BeforeNavigation,
}

/// The answer of a hook.
#[derive(Debug, Clone)]
pub enum Decision<T> {
    /// The operation is cancelled.
    Cancel,
    /// The operation continues with what the hook gives.
    Go(T),
}

/// An event.
#[derive(Debug, Clone)]
pub enum Event {
    /// An entry was appended by this process.
    EntryAppended {
        /// The session.
        session_id: String,
        /// The entry.
        entry: Arc<Entry>,
    },
    /// Another program appended entries to the session.
    SessionChanged {
        /// The session.
        session_id: String,
        /// The entries that were added.
        entry_ids: Vec<EntryId>,
        /// The leaf afterwards.
        leaf_id: Option<EntryId>,
    },
    /// The leaf moved without an append to it.
    LeafChanged {
        /// The session.
        session_id: String,
        /// The leaf.
        leaf_id: Option<EntryId>,
        /// The leaf before.
        old_leaf_id: Option<EntryId>,
    },
    /// A compaction has started. Exactly one [`Event::CompactionEnded`] follows.
    CompactionStarted {
        /// The session.
        session_id: String,
        /// The id of the operation.
        operation_id: String,
        /// The reason.
        reason: CompactionReason,
        /// Tokens of the context.
        tokens_before: u64,
    },
    /// A compaction has ended.
    CompactionEnded(Box<CompactionEnd>),
    /// The server has started to write the summary of an abandoned branch. Exactly one [`Event::NavigationEnded`] follows.
    NavigationStarted {
        /// The session.
        session_id: String,
        /// The id of the operation.
        operation_id: String,
        /// The entry to go to.
        target_id: EntryId,
        /// The current leaf.
        old_leaf_id: Option<EntryId>,
        /// Estimated tokens that the summary reads.
        estimated_tokens: u64,
    },
    /// A navigation whose start was reported has ended.
    NavigationEnded {
        /// The session.
        session_id: String,
        /// The id of the operation.
        operation_id: String,
        /// The result.
        outcome: Result<Navigation, EngineError>,
        /// Whether it was cancelled.
        is_aborted: bool,
    },
    /// Progress of a compaction or a navigation.
    Progress(OperationProgress),
}

/// The reason of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionReason {
    /// A caller asked for it.
    Manual,
    /// The context crossed the threshold below the window.
    Threshold,
    /// The model refused the context.
    Overflow,
}

impl CompactionReason {
    /// The name of the reason in session files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
        }
    }
}

/// The end of a compaction.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompactionEnd {
    /// The session.
    pub session_id: String,
    /// The id of the operation.
    pub operation_id: String,
    /// The reason.
    pub reason: CompactionReason,
    /// The result.
    pub outcome: Result<CompactionDone, EngineError>,
    /// Whether it was cancelled.
    pub is_aborted: bool,
    /// Whether the failed request should be sent again.
    pub will_retry: bool,
    /// Whether the agent has unfinished work after an automatic compaction.
    pub is_unfinished: bool,
    /// Automatic compactions pause until this ISO 8601 time, after several failures in a row.
    pub paused_until: Option<String>,
}

/// The way in which a context was made smaller.
#[derive(Debug, Clone)]
pub enum CompactionDone {
    /// A summary.
    Compacted(Arc<Compaction>),
    /// Shortening these tool results was enough.
    Clipped(Vec<ClippedResult>),
}

/// A compaction that is done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Compaction {
    /// The compaction entry.
    pub entry_id: EntryId,
    /// Its summary.
    pub summary: String,
    /// The oldest entry that stays verbatim.
    pub first_kept_entry_id: EntryId,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Estimated tokens of the context after. No provider has counted it yet.
    pub tokens_after: u64,
    /// Estimated tokens of the context before, comparable with `tokens_after`. `tokens_before` is the provider's
    /// count where one is known.
    pub estimated_tokens_before: u64,
    /// The entry's `details`: a JSON object.
    pub details: Box<RawValue>,
    /// The usage of the summary, as the provider reports it.
    pub usage: Option<Box<RawValue>>,
    /// Whether a hook gave the summary.
    pub from_hook: bool,
    /// The name of the summarizer.
    pub summarizer: String,
    /// Requests that were made, failed ones included.
    pub attempts: u32,
    /// Summarizers that failed before it, with their errors.
    pub failures: Vec<SummarizerFailure>,
    /// The requests to models, one report for each part of the summary.
    pub requests: Vec<RequestReport>,
    /// Number of secrets that were removed from requests and answers, by rule.
    pub redactions: Redactions,
    /// What the new context retains of the compacted part.
    pub account: CompactionAccount,
}

/// What the new context retains of the compacted part.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompactionAccount {
    /// One or two sentences for a user interface.
    pub brief: String,
    /// The retained share, by class.
    pub retention: Retention,
    /// What the summary alone lacked, how much it retained, and its statements that nothing supports.
    pub loss: LossReport,
}

/// A tool result that was shortened in the context because it is larger than the room in the window.
#[derive(Debug, Clone)]
pub struct ClippedResult {
    /// The entry of the result. It still has the whole result.
    pub entry_id: EntryId,
    /// Its tokens before.
    pub tokens_before: u64,
    /// Its tokens afterwards.
    pub tokens_after: u64,
}

/// The result of a navigation.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Navigation {
    /// The leaf afterwards.
    pub leaf_id: Option<EntryId>,
    /// The leaf before.
    pub old_leaf_id: Option<EntryId>,
    /// The text to put back into the editor.
    pub editor_text: Option<String>,
    /// The summary of the abandoned branch.
    pub summary_entry: Option<Arc<Entry>>,
    /// Whether it was cancelled and the leaf did not move.
    pub is_cancelled: bool,
    /// Whether it was cancelled while its summary was written.
    pub is_aborted: bool,
}

/// Progress of an operation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OperationProgress {
    /// The kind of the operation.
    pub operation: OperationKind,
    /// The session.
    pub session_id: String,
    /// The id of the operation.
    pub operation_id: String,
    /// The current phase.
    pub phase: OperationPhase,
    /// The current request, counted from 1.
    pub request: u32,
    /// Requests in all.
    pub requests: u32,
    /// Output tokens of this request so far.
    pub output_tokens: u64,
    /// New text of the summary.
    pub delta: Option<String>,
}

/// The kind of an operation that writes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// A compaction.
    Compaction,
    /// A navigation.
    Navigation,
}

impl OperationKind {
    /// The name of the kind in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::Navigation => "navigation",
        }
    }
}

/// The phase of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationPhase {
    /// A summary is being written.
    Summarizing,
    /// A request failed, and the operation waits before the retry.
    Waiting,
    /// The entry is being written.
    Committing,
}

/// A compaction that is about to happen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeCompaction {
    /// The session.
    pub session_id: String,
    /// The id of the operation.
    pub operation_id: String,
    /// What would be compacted.
    pub preparation: Preparation,
    /// The entries from the root to the leaf.
    pub branch: Vec<Arc<Entry>>,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// The reason.
    pub reason: CompactionReason,
    /// Whether the failed request will be sent again afterwards.
    pub will_retry: bool,
}

/// A navigation that is about to happen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BeforeNavigation {
    /// The session.
    pub session_id: String,
    /// The id of the operation.
    pub operation_id: String,
    /// The entry to go to.
    pub target_id: EntryId,
    /// The current leaf.
    pub old_leaf_id: Option<EntryId>,
    /// The deepest common ancestor of the current leaf and the target.
    pub common_ancestor_id: Option<EntryId>,
    /// The entries that the navigation would abandon, oldest first.
    pub abandoned: Vec<EntryId>,
    /// Whether the caller asked for a summary of them.
    pub wants_summary: bool,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Whether `custom_instructions` replace the usual instructions.
    pub replace_instructions: bool,
    /// A label for the summary or the target.
    pub label: Option<String>,
}

/// Changes that a host makes to a navigation.
#[derive(Debug, Clone, Default)]
pub struct NavigationChanges {
    /// The summary. It replaces that of the summarizer, if the caller asked for one.
    pub summary: Option<GivenText>,
    /// Instructions that replace the caller's.
    pub custom_instructions: Option<String>,
    /// Whether the custom instructions replace the usual ones.
    pub replace_instructions: Option<bool>,
    /// A label that replaces the caller's.
    pub label: Option<String>,
}

/// A summary of a compaction that a caller or a hook wrote.
#[derive(Debug, Clone)]
pub struct GivenSummary {
    /// Its text.
    pub text: GivenText,
    /// The oldest entry that stays verbatim. The default is that of the preparation.
    pub first_kept_entry_id: Option<EntryId>,
    /// Tokens of the context before. Only a hook's value is used.
    pub tokens_before: Option<u64>,
}

/// The text of a summary that a caller or a hook wrote.
#[derive(Debug, Clone)]
pub struct GivenText {
    /// Its text.
    pub summary: String,
    /// Further members of the entry's `details`: a JSON object.
    pub details: Option<Box<RawValue>>,
    /// The usage of the summary: a JSON object.
    pub usage: Option<Box<RawValue>>,
}
