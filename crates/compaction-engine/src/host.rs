//! The host of the engine: what it is told, and what it is asked.

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
use crate::models::{Answer, ContinuedRequest, FailureKind, ModelError, RequestContext, RequestReport};
use crate::redaction::Redactions;

/// Who uses the engine: a server with its client, an agent, a test.
///
/// Everything but [`Host::notify`] has a default, which is that of a host without hooks and models.
#[async_trait]
pub trait Host: Send + Sync + Debug {
    /// Takes note of an event. It is called under the lock of a session, so that it must not wait.
    fn notify(&self, event: Event);

    /// Whether the host wants [`Event::Progress`].
    fn wants_progress(&self) -> bool {
        false
    }

    /// Whether the host has taken so much of what it was told that what can be left out need not be.
    fn has_room(&self) -> bool {
        true
    }

    /// Whether the host answers a question.
    fn answers(&self, _question: Question) -> bool {
        false
    }

    /// Asks whether a compaction shall happen; the host may give the summary. It has `limit` to answer.
    ///
    /// # Errors
    /// [`EngineError::InvalidHookResult`] where there is no answer that can be used.
    async fn before_compaction(
        &self,
        _question: BeforeCompaction,
        _limit: Duration,
    ) -> Result<Decision<Option<GivenSummary>>, EngineError> {
        Ok(Decision::Go(None))
    }

    /// Asks whether a navigation shall happen; the host may change what it brings. It has `limit` to
    /// answer.
    ///
    /// # Errors
    /// [`EngineError::InvalidHookResult`] where there is no answer that can be used.
    async fn before_navigation(
        &self,
        _question: BeforeNavigation,
        _limit: Duration,
    ) -> Result<Decision<NavigationChanges>, EngineError> {
        Ok(Decision::Go(NavigationChanges::default()))
    }

    /// Asks the host's own model for a summary. It has `limit` to answer.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn summarize(
        &self,
        _context: &RequestContext,
        _request: &SummaryRequest,
        _limit: Duration,
    ) -> Result<Answer, ModelError> {
        let cause = "the host has no model".to_owned();
        Err(ModelError { cause, kind: FailureKind::Refused, retry_after: None })
    }

    /// Asks the host to continue its conversation by a message that asks for a summary. It has `limit` to answer.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn continue_conversation(
        &self,
        _context: &RequestContext,
        _request: &ContinuedRequest,
        _limit: Duration,
    ) -> Result<Answer, ModelError> {
        let cause = "the host continues no conversations".to_owned();
        Err(ModelError { cause, kind: FailureKind::Refused, retry_after: None })
    }
}

/// A host that takes no note of anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn notify(&self, _event: Event) {}
}

/// What a host can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Question {
    /// For a summary, by [`Host::summarize`].
    Summary,
    /// For a summary of a conversation that it has itself, by [`Host::continue_conversation`].
    Continuation,
    /// Whether a compaction shall happen, by [`Host::before_compaction`].
    BeforeCompaction,
    /// Whether a navigation shall happen, by [`Host::before_navigation`].
    BeforeNavigation,
}

/// What a hook wants.
#[derive(Debug, Clone)]
pub enum Decision<T> {
    /// The operation shall not happen.
    Cancel,
    /// The operation goes on, with what the hook gives to it.
    Go(T),
}

/// Something that has happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// An entry was written, whoever caused it.
    EntryAppended {
        /// The session.
        session_id: String,
        /// The entry.
        entry: Arc<Entry>,
    },
    /// Another program has added entries to the session.
    SessionChanged {
        /// The session.
        session_id: String,
        /// The entries that were added.
        entry_ids: Vec<EntryId>,
        /// The leaf afterwards.
        leaf_id: Option<EntryId>,
    },
    /// The leaf has moved without an append at it.
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
        /// Names the operation.
        operation_id: String,
        /// Why it happens.
        reason: CompactionReason,
        /// Tokens of the context.
        tokens_before: u64,
    },
    /// A compaction has ended.
    CompactionEnded(Box<CompactionEnd>),
    /// A summary of a branch that is left has started. Exactly one [`Event::NavigationEnded`] follows.
    NavigationStarted {
        /// The session.
        session_id: String,
        /// Names the operation.
        operation_id: String,
        /// The entry to go to.
        target_id: EntryId,
        /// The leaf that is left.
        old_leaf_id: Option<EntryId>,
        /// Estimated tokens that the summary reads.
        estimated_tokens: u64,
    },
    /// A navigation that was told to have started has ended.
    NavigationEnded {
        /// The session.
        session_id: String,
        /// Names the operation.
        operation_id: String,
        /// What came of it.
        outcome: Result<Navigation, EngineError>,
        /// Whether somebody ended it.
        is_aborted: bool,
    },
    /// A compaction or navigation goes on.
    Progress(OperationProgress),
}

/// Why a compaction happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionReason {
    /// Somebody asked for it.
    Manual,
    /// The context came near the window.
    Threshold,
    /// The model refused the context.
    Overflow,
}

impl CompactionReason {
    /// The reason as session files keep it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
        }
    }
}

/// How a compaction ended.
#[derive(Debug, Clone)]
pub struct CompactionEnd {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// Why it happened.
    pub reason: CompactionReason,
    /// What came of it.
    pub outcome: Result<CompactionDone, EngineError>,
    /// Whether somebody ended it.
    pub is_aborted: bool,
    /// Whether the request that failed is worth another try.
    pub will_retry: bool,
    /// Whether the agent has work left, where nobody asked for the compaction.
    pub is_unfinished: bool,
    /// Until when the session is not compacted by itself, after several failures in a row: an ISO 8601
    /// time.
    pub paused_until: Option<String>,
}

/// What made a context smaller.
#[derive(Debug, Clone)]
pub enum CompactionDone {
    /// A summary.
    Compacted(Arc<Compaction>),
    /// Shortening these tool results was enough.
    Clipped(Vec<ClippedResult>),
}

/// A compaction that is done.
#[derive(Debug, Clone)]
pub struct Compaction {
    /// The compaction entry.
    pub entry_id: EntryId,
    /// Its summary.
    pub summary: String,
    /// The oldest entry that stays verbatim.
    pub first_kept_entry_id: EntryId,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Tokens of the context after, estimated: no provider has counted it yet.
    pub tokens_after: u64,
    /// Tokens of the context before in the measure of `tokens_after`; `tokens_before` is the provider's count, where
    /// there is one.
    pub estimated_tokens_before: u64,
    /// The entry's `details`: a JSON object.
    pub details: Box<RawValue>,
    /// What the summary cost, as the provider tells it.
    pub usage: Option<Box<RawValue>>,
    /// Whether a hook gave the summary.
    pub from_hook: bool,
    /// Who wrote the summary.
    pub summarizer: String,
    /// Requests that were made, failed ones included.
    pub attempts: u32,
    /// Summarizers that were asked before that one, and why they did not write it.
    pub failures: Vec<SummarizerFailure>,
    /// How models were asked for the summary, and what either way takes: one for each part of it.
    pub requests: Vec<RequestReport>,
    /// Secrets that were taken out of what the model was told and said, by rule.
    pub redactions: Redactions,
    /// What was kept of what the compacted part held.
    pub account: CompactionAccount,
}

/// What the new context holds of what the compacted part held.
#[derive(Debug, Clone)]
pub struct CompactionAccount {
    /// One or two sentences for a user interface.
    pub brief: String,
    /// How much is there, by class.
    pub retention: Retention,
    /// What the summary alone lacked, how much it held, and what it says that nothing supports.
    pub loss: LossReport,
}

/// A tool result that was shortened in the context, because it is larger than what the window leaves.
#[derive(Debug, Clone)]
pub struct ClippedResult {
    /// The entry of the result, which keeps the whole of it.
    pub entry_id: EntryId,
    /// Its tokens before.
    pub tokens_before: u64,
    /// Its tokens afterwards.
    pub tokens_after: u64,
}

/// A navigation that is done, or was called off.
#[derive(Debug, Clone)]
pub struct Navigation {
    /// The leaf afterwards.
    pub leaf_id: Option<EntryId>,
    /// The leaf before.
    pub old_leaf_id: Option<EntryId>,
    /// The text that goes back into the editor.
    pub editor_text: Option<String>,
    /// The summary of the branch that was left.
    pub summary_entry: Option<Arc<Entry>>,
    /// Whether it was called off and nothing moved.
    pub is_cancelled: bool,
    /// Whether it was called off by ending its summary.
    pub is_aborted: bool,
}

/// An operation that goes on.
#[derive(Debug, Clone)]
pub struct OperationProgress {
    /// What goes on.
    pub operation: OperationKind,
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What it is at.
    pub phase: OperationPhase,
    /// The request that is running, counted from 1.
    pub request: u32,
    /// Requests in all.
    pub requests: u32,
    /// Output tokens of this request so far.
    pub output_tokens: u64,
    /// New text of the summary.
    pub delta: Option<String>,
}

/// An operation that asks for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// A compaction.
    Compaction,
    /// A navigation.
    Navigation,
}

/// What an operation is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationPhase {
    /// A summary is being written.
    Summarizing,
    /// A request failed and is made again after a while.
    Waiting,
    /// The entry is being written.
    Committing,
}

/// A compaction that is about to happen.
#[derive(Debug, Clone)]
pub struct BeforeCompaction {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// What would be compacted.
    pub preparation: Preparation,
    /// The entries from the root to the leaf.
    pub branch: Vec<Arc<Entry>>,
    /// What the summary should look at.
    pub custom_instructions: Option<String>,
    /// Why it happens.
    pub reason: CompactionReason,
    /// Whether the request that failed shall be made again afterwards.
    pub will_retry: bool,
}

/// A navigation that is about to happen.
#[derive(Debug, Clone)]
pub struct BeforeNavigation {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
    /// The entry to go to.
    pub target_id: EntryId,
    /// The leaf that would be left.
    pub old_leaf_id: Option<EntryId>,
    /// The deepest entry that both paths share.
    pub common_ancestor_id: Option<EntryId>,
    /// The entries that would be left, oldest first.
    pub abandoned: Vec<EntryId>,
    /// Whether the caller asked for a summary of them.
    pub wants_summary: bool,
    /// What the summary should look at.
    pub custom_instructions: Option<String>,
    /// Whether `custom_instructions` stand in place of the usual ones.
    pub replace_instructions: bool,
    /// A label for the summary or the target.
    pub label: Option<String>,
}

/// What a host changes of a navigation.
#[derive(Debug, Clone, Default)]
pub struct NavigationChanges {
    /// The summary, in place of the summarizer's, where one is wanted.
    pub summary: Option<GivenBranchSummary>,
    /// Instructions in place of the caller's.
    pub custom_instructions: Option<String>,
    /// Whether they stand in place of the usual ones.
    pub replace_instructions: Option<bool>,
    /// A label in place of the caller's.
    pub label: Option<String>,
}

/// A summary for a compaction that a caller or a hook wrote.
#[derive(Debug, Clone)]
pub struct GivenSummary {
    /// Its text.
    pub summary: String,
    /// The oldest entry that stays verbatim; that of the preparation by default.
    pub first_kept_entry_id: Option<EntryId>,
    /// Tokens of the context before; used from hooks alone, else they are counted.
    pub tokens_before: Option<u64>,
    /// Members for the entry's `details`: a JSON object.
    pub details: Option<Box<RawValue>>,
    /// What the summary cost: a JSON object.
    pub usage: Option<Box<RawValue>>,
}

/// A summary of a branch that a caller or a hook wrote.
#[derive(Debug, Clone)]
pub struct GivenBranchSummary {
    /// Its text.
    pub summary: String,
    /// Members for the entry's `details`: a JSON object.
    pub details: Option<Box<RawValue>>,
    /// What the summary cost: a JSON object.
    pub usage: Option<Box<RawValue>>,
}
