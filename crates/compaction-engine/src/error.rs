//! Errors of the engine, with the facts that a caller needs to act.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::preparation::Refusal;
use session_store::{Locator, StoreError};

/// Why an operation of the engine failed.
#[derive(Debug, Clone, thiserror::Error)]
#[expect(missing_docs, reason = "the members are the numbers and ids of the message, and the messages are here")]
pub enum EngineError {
    /// A defect of the engine.
    #[error("{message}")]
    Internal { message: String },
    /// The operation was cancelled.
    #[error("the request was cancelled")]
    Cancelled,
    /// An argument does not fit the session. `path` names the argument.
    #[error("{path}: expected {expected}")]
    InvalidArgument { path: String, expected: String },
    /// The session is closed or closing.
    #[error("no open session has the id {session_id}; open it first")]
    SessionNotOpen { session_id: String },
    /// The session has no such entry.
    #[error("session {session_id} has no entry {entry_id}")]
    EntryNotFound { session_id: String, entry_id: EntryId },
    /// The session is open read-only.
    #[error("session {session_id} is open for reading alone: {}", .locator.as_ref().map(Locator::to_string).unwrap_or_default())]
    ReadOnly { session_id: String, locator: Option<Locator> },
    /// The leaf is not the expected one.
    #[error("the leaf is {}, not {}", id_or_root(.actual.as_ref()), id_or_root(.expected.as_ref()))]
    LeafMoved { expected: Option<EntryId>, actual: Option<EntryId> },
    /// The result of a tool call arrived while the summary that replaces the call was written.
    #[error("the result of tool call {call_id}, which the summary was to replace, came while it was written")]
    ResultCame { call_id: String, expected: Option<EntryId>, actual: Option<EntryId> },
    /// The store failed.
    #[error("{}", EngineError::sentence(.source))]
    Store { session_id: String, source: Arc<StoreError> },
    /// There is nothing to compact, or everything is compacted already.
    #[error("{}", shown_refusal(.0))]
    Refused(Refusal),
    /// The provider refused the context although a compaction had just made room.
    #[error("{advice}")]
    StillTooLarge { advice: &'static str, context_tokens: u64, threshold: u64 },
    /// What has to stay is too large for the window.
    #[error(
        "failed to bring the context under {threshold} tokens: {kept_tokens} have to stay{} beside a summary, since \
         neither a message nor a tool call and its results can be parted",
        shown_weights(*.pinned_tokens, *.unestimated_tokens)
    )]
    KeptTooLarge { kept_tokens: u64, pinned_tokens: u64, replaced_tokens: u64, threshold: u64, unestimated_tokens: u64 },
    /// The compaction would not make the context smaller.
    #[error(
        "failed to make the context smaller: of the {replaced_tokens} tokens that could go, {pinned_tokens} are of \
         pinned entries, which stay, and the summary would take the rest"
    )]
    NoGain { replaced_tokens: u64, pinned_tokens: u64 },
    /// Another structural operation runs on the session.
    #[error("operation {operation_id} is in progress on this session")]
    OperationInProgress { operation_id: String },
    /// The summarizer failed.
    #[error("the summarizer failed: {cause}")]
    SummarizerFailed { cause: String, retryable: bool, attempts: u32 },
    /// Every summarizer failed. `retryable` is that of the last one.
    #[error("every summarizer failed: {}", EngineError::shown_failures(.failures))]
    EverySummarizerFailed { failures: Vec<SummarizerFailure>, retryable: bool },
    /// The deadline of the whole operation has passed.
    #[error("the operation took longer than compactd.deadlineMs, {milliseconds} ms")]
    DeadlinePassed { milliseconds: u128, attempts: u32 },
    /// The text is not a valid summary.
    #[error("the summary was rejected: {reason}")]
    SummaryRejected { reason: String },
    /// The summary is not smaller than the text that it replaces.
    #[error(
        "the summary was rejected: its {summary_tokens} tokens are not fewer than the {replaced_tokens} that it \
         would replace; force: true takes it nevertheless"
    )]
    NotSmaller { summary_tokens: u64, replaced_tokens: u64 },
    /// A hook cancelled the operation.
    #[error("a hook cancelled the operation")]
    CancelledByHook,
    /// The result of a hook cannot be used.
    #[error("the hook's result is wrong: {path}: expected {expected}")]
    InvalidHookResult { path: String, expected: String },
    /// A setting is wrong.
    #[error("setting {path}{}: expected {expected}", .file.as_deref().map(|file| format!(" in {}", file.display())).unwrap_or_default())]
    InvalidSettings { path: String, expected: String, file: Option<PathBuf> },
}

/// The kind of an error, for callers that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A defect, or a file that cannot be read.
    Internal,
    /// The operation was cancelled.
    Cancelled,
    /// An argument is wrong.
    InvalidArgument,
    /// The session is not open or does not exist.
    SessionNotFound,
    /// There is no such entry.
    EntryNotFound,
    /// The session is open read-only.
    ReadOnly,
    /// The leaf is not the expected one.
    LeafMoved,
    /// The store failed in another way.
    Store,
    /// There is nothing to compact.
    NothingToCompact,
    /// Everything is compacted already.
    AlreadyCompacted,
    /// Another operation runs on the session.
    OperationInProgress,
    /// The summarizer failed.
    SummarizerFailed,
    /// The summary cannot be used.
    SummaryRejected,
    /// A hook cancelled the operation.
    CancelledByHook,
    /// The result of a hook cannot be used.
    InvalidHookResult,
    /// A setting is wrong.
    InvalidSettings,
}

/// A summarizer that failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SummarizerFailure {
    /// Its name.
    pub summarizer: String,
    /// What kind of error it was.
    pub kind: ErrorKind,
    /// The error, as a sentence for a person.
    pub cause: String,
    /// Requests that were made.
    pub attempts: u32,
}

impl EngineError {
    /// The error of a wrong argument.
    pub fn invalid_argument(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::InvalidArgument { path: path.into(), expected: expected.into() }
    }

    /// The error of a hook's result that cannot be used.
    pub fn invalid_hook_result(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::InvalidHookResult { path: path.into(), expected: expected.into() }
    }

    /// The error of a wrong setting.
    pub(crate) fn invalid_setting(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::InvalidSettings { path: path.into(), expected: expected.into(), file: None }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Internal { message: message.into() }
    }

    /// The same error with the settings file with the wrong setting.
    pub(crate) fn in_file(self, settings_file: &Path) -> Self {
        match self {
            Self::InvalidSettings { path, expected, .. } => {
                Self::InvalidSettings { path, expected, file: Some(settings_file.to_owned()) }
            }
            error => error,
        }
    }

    /// The same error with the number of requests that a summarizer made for all parts of its summary. The error
    /// itself may count only those for the last part.
    pub(crate) fn with_attempts(self, requests: u32) -> Self {
        match self {
            Self::DeadlinePassed { milliseconds, .. } => Self::DeadlinePassed { milliseconds, attempts: requests },
            Self::SummarizerFailed { cause, retryable, attempts } => {
                Self::SummarizerFailed { cause, retryable, attempts: attempts.max(requests) }
            }
            error => error,
        }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Internal { .. } => ErrorKind::Internal,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::InvalidArgument { .. } => ErrorKind::InvalidArgument,
            Self::SessionNotOpen { .. } => ErrorKind::SessionNotFound,
            Self::EntryNotFound { .. } => ErrorKind::EntryNotFound,
            Self::ReadOnly { .. } => ErrorKind::ReadOnly,
            Self::LeafMoved { .. } | Self::ResultCame { .. } => ErrorKind::LeafMoved,
            Self::Store { source, .. } => match **source {
                StoreError::SessionNotFound { .. } => ErrorKind::SessionNotFound,
                StoreError::EntryNotFound { .. } => ErrorKind::EntryNotFound,
                StoreError::ReadOnly { .. } | StoreError::LeaseLost { .. } => ErrorKind::ReadOnly,
                StoreError::LeafMoved { .. } => ErrorKind::LeafMoved,
                _ => ErrorKind::Store,
            },
            Self::Refused(Refusal::AlreadyCompacted { .. }) => ErrorKind::AlreadyCompacted,
            Self::Refused(Refusal::NothingToCompact { .. } | Refusal::AwaitsResult { .. })
            | Self::StillTooLarge { .. }
            | Self::KeptTooLarge { .. }
            | Self::NoGain { .. } => ErrorKind::NothingToCompact,
            Self::OperationInProgress { .. } => ErrorKind::OperationInProgress,
            Self::SummarizerFailed { .. } | Self::EverySummarizerFailed { .. } | Self::DeadlinePassed { .. } => {
                ErrorKind::SummarizerFailed
            }
            Self::SummaryRejected { .. } | Self::NotSmaller { .. } => ErrorKind::SummaryRejected,
            Self::CancelledByHook => ErrorKind::CancelledByHook,
            Self::InvalidHookResult { .. } => ErrorKind::InvalidHookResult,
            Self::InvalidSettings { .. } => ErrorKind::InvalidSettings,
        }
    }

    /// An error that completes "failed to …", with its sources, as one sentence.
    pub fn sentence(error: &dyn Error) -> String {
        let mut text = format!("failed to {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        text
    }

    /// The failures of several summarizers on one line.
    pub fn shown_failures(failures: &[SummarizerFailure]) -> String {
        let shown = |failure: &SummarizerFailure| format!("{}: {}", failure.summarizer, failure.cause);
        failures.iter().map(shown).collect::<Vec<_>>().join("; ")
    }

    /// Whether the same operation may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::SummarizerFailed { retryable, .. } | Self::EverySummarizerFailed { retryable, .. } => *retryable,
            Self::DeadlinePassed { .. } => true,
            _ => false,
        }
    }

    /// Number of failed requests to models; `None` for an error without such requests.
    pub fn attempts(&self) -> Option<u32> {
        match self {
            Self::SummarizerFailed { attempts, .. } | Self::DeadlinePassed { attempts, .. } => Some(*attempts),
            Self::EverySummarizerFailed { failures, .. } => Some(failures.iter().map(|failure| failure.attempts).sum()),
            _ => None,
        }
    }
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

fn shown_refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::AlreadyCompacted { compaction_id, .. } => {
            format!("already compacted: nothing that the model sees follows compaction {compaction_id}")
        }
        refusal => format!("failed to {refusal}"),
    }
}

/// Explains tokens that have to stay and are not messages.
fn shown_weights(pinned_tokens: u64, unestimated_tokens: u64) -> String {
    let pinned = (pinned_tokens > 0).then(|| format!("{pinned_tokens} of them in pinned entries"));
    let unestimated = (unestimated_tokens > 0)
        .then(|| format!("{unestimated_tokens} more than estimated by the provider's count, as of a prompt and tools"));
    let parts: Vec<String> = pinned.into_iter().chain(unestimated).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

fn id_or_root(id: Option<&EntryId>) -> &str {
    id.map_or("root", EntryId::as_str)
}
