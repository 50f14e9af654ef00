//! Errors on the wire: one table of codes and kinds, one place where the errors of the rooms below
//! become them (protocol spec, Calls in general).

use std::io::ErrorKind;

use compaction_core::awaited::AwaitedCall;
use compaction_core::preparation::Refusal;
use jsonrpsee::types::ErrorObjectOwned;
use serde_json::{Value, json};
use session_store::StoreError;

use crate::wire::{ErrorBody, PinnedEntry, SummarizerFailure};

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
#[expect(missing_docs, reason = "the members are the numbers and ids of the message, and the messages are here")]
pub enum RpcError {
    #[error("{message}")]
    Parse { message: String },
    #[error("{message}")]
    InvalidRequest { message: String },
    #[error("there is no method {method}{}", .nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default())]
    MethodNotFound { method: String, nearest: Option<&'static str> },
    #[error("{path}: expected {expected}")]
    InvalidParams { path: String, expected: String },
    #[error("protocol version {version} is not supported; supported: 1")]
    UnsupportedVersion { version: u64 },
    #[error("{message}")]
    Internal { message: String },
    #[error("the first request must be initialize")]
    NotInitialized,
    #[error("the request was cancelled")]
    Cancelled,
    #[error("no open session has the id {session_id}; open it first")]
    SessionNotOpen { session_id: String },
    #[error("there is no session at {path}")]
    NoSessionAt { path: String },
    #[error("no session of {cwd} was found to continue")]
    NothingToContinue { cwd: String },
    #[error("session {session_id} has no entry {entry_id}")]
    EntryNotFound { session_id: String, entry_id: String },
    #[error("{message}")]
    BrokenEntry { message: String, session_id: String, entry_id: String, line: usize },
    #[error("{message}")]
    SessionLocked { message: String, path: String, pid: Option<u32>, host: Option<String> },
    #[error("{path} is no session and was left untouched: {reason}")]
    NotASession { path: String, reason: String },
    #[error("nothing was changed: {path} exists")]
    FileExists { path: String },
    #[error("nothing was changed: {message}")]
    WriteFailed { message: String, path: Option<String> },
    #[error("the leaf is {}, not {}", id_or_root(.actual), id_or_root(.expected))]
    LeafMoved { expected: Option<String>, actual: Option<String> },
    #[error("{message}")]
    ReadOnly { message: String },
    #[error("{waiting} requests wait; the limit is {limit}")]
    ServerBusy { waiting: usize, limit: usize },
    #[error("the replies of this batch are too large to wait for each other; send the call alone")]
    BatchTooLarge,
    #[error("the session id {session_id} is in use by {}", .path.as_deref().unwrap_or("a session in memory"))]
    SessionIdInUse { session_id: String, path: Option<String> },
    #[error("failed to {message}")]
    NothingToCompact { message: String, messages: usize, context_tokens: u64, keep_recent_tokens: u64 },
    #[error("failed to {message}")]
    AwaitsResult { message: String, call: AwaitedCall, messages: usize, context_tokens: u64, keep_recent_tokens: u64 },
    #[error("the result of tool call {call_id}, which the summary was to replace, came while it was written")]
    ResultCame { call_id: String, expected: Option<String>, actual: Option<String> },
    #[error("{advice}")]
    StillTooLarge { advice: &'static str, context_tokens: u64, threshold: u64 },
    #[error(
        "failed to bring the context under {threshold} tokens: {kept_tokens} have to stay{} beside a summary, since \
         neither a message nor a tool call and its results can be parted",
        shown_weights(*.pinned_tokens, *.unestimated_tokens)
    )]
    KeptTooLarge { kept_tokens: u64, pinned_tokens: u64, replaced_tokens: u64, threshold: u64, unestimated_tokens: u64 },
    #[error(
        "failed to make the context smaller: of the {replaced_tokens} tokens that could go, {pinned_tokens} are of \
         pinned entries, which stay, and the summary would take the rest"
    )]
    NoGain { replaced_tokens: u64, pinned_tokens: u64 },
    #[error("already compacted: nothing that the model sees follows compaction {compaction_id}")]
    AlreadyCompacted { compaction_id: String, context_tokens: u64 },
    #[error("operation {operation_id} is in progress on this session")]
    OperationInProgress { operation_id: String },
    #[error("the summarizer failed: {cause}")]
    SummarizerFailed { cause: String, retryable: bool, attempts: u32 },
    #[error("every summarizer failed: {}", shown_failures(.failures))]
    EverySummarizerFailed { failures: Vec<SummarizerFailure>, retryable: bool },
    #[error("the operation took longer than compactd.deadlineMs, {milliseconds} ms")]
    DeadlinePassed { milliseconds: u128, attempts: u32 },
    #[error("the summary was rejected: {reason}")]
    SummaryRejected { reason: String },
    #[error(
        "the summary was rejected: its {summary_tokens} tokens are not fewer than the {replaced_tokens} that it \
         would replace; force: true takes it nevertheless"
    )]
    NotSmaller { summary_tokens: u64, replaced_tokens: u64 },
    #[error("a hook cancelled the operation")]
    CancelledByHook,
    #[error("the hook's result is wrong: {path}: expected {expected}")]
    InvalidHookResult { path: String, expected: String },
    #[error("{entry_tokens} tokens do not fit beside the {tokens} that are pinned; the limit is {max_tokens}")]
    PinBudgetExceeded { tokens: u64, max_tokens: u64, entry_tokens: u64, pins: Vec<PinnedEntry> },
    #[error("setting {path}{}: expected {expected}", .file.as_ref().map(|file| format!(" in {file}")).unwrap_or_default())]
    InvalidSettings { path: String, expected: String, file: Option<String> },
}

/// Codes, kinds and what they mean, as clients find them in the generated documents.
pub const TABLE: &[(i32, &str, &str)] = &[
    (-32700, "parseError", "The message is not JSON; reading goes on at the next frame."),
    (-32600, "invalidRequest", "The message is JSON, but no request, or it is over the size limit."),
    (-32601, "methodNotFound", "There is no such method."),
    (-32602, "invalidParams", "A parameter is missing or wrong; `path` and `expected` say which and how."),
    (
        -32603,
        "internalError",
        "A defect of the server, an unreadable file, or a stored entry whose line is broken (`entryId`, `line`); the server goes on.",
    ),
    (-32002, "notInitialized", "The first request must be `initialize`."),
    (-32800, "requestCancelled", "The request was cancelled."),
    (1001, "sessionNotFound", "No open session has this id, or no session is at this path."),
    (1002, "entryNotFound", "The session has no entry with this id."),
    (1003, "sessionLocked", "Another process has the session open for writing; `pid` and `host` say which, if known."),
    (1004, "notASession", "The file is no session; it was left untouched. `detail` says why."),
    (1005, "writeFailed", "Writing failed, or the file exists; nothing was changed."),
    (
        1006,
        "leafMoved",
        "The leaf is not the expected one; `expectedLeafId` and `leafId` say which. With `toolCallId`: the result of a call that a compaction was to summarise came meanwhile.",
    ),
    (1007, "readOnly", "The session is open for reading alone."),
    (1008, "serverBusy", "Too many requests wait; send fewer at once."),
    (1009, "sessionIdInUse", "Another session has the same id; `path` says which, if it has a file."),
    (
        1101,
        "nothingToCompact",
        "Everything would be kept, also because the result of `toolCallId` has not come, or compacting did not help; `reason` and the numbers say why.",
    ),
    (1102, "alreadyCompacted", "Nothing that the model sees follows the last compaction."),
    (1103, "operationInProgress", "A compaction, navigation or fork runs on the session; `operationId` says which."),
    (1104, "summarizerFailed", "The summarizer failed: `cause`, `attempts`."),
    (
        1105,
        "summaryRejected",
        "The summary is empty, cut off, or lacks what it must hold: `detail`; or it is not smaller (`reason` is `notSmaller`).",
    ),
    (1106, "cancelledByHook", "A hook of the client cancelled the operation."),
    (1107, "invalidHookResult", "A hook of the client gave a wrong result."),
    (
        1108,
        "pinBudgetExceeded",
        "The pinned entries would take too many tokens; `tokens`, `entryTokens`, `maxTokens` and `pins` say how many.",
    ),
    (1201, "invalidSettings", "A setting is wrong; `path` says which."),
];

fn shown_failures(failures: &[SummarizerFailure]) -> String {
    let shown = |failure: &SummarizerFailure| format!("{}: {}", failure.summarizer, failure.cause);
    failures.iter().map(shown).collect::<Vec<_>>().join("; ")
}

/// What makes up tokens that have to stay, beside messages.
fn shown_weights(pinned_tokens: u64, unestimated_tokens: u64) -> String {
    let pinned = (pinned_tokens > 0).then(|| format!("{pinned_tokens} of them in pinned entries"));
    let unestimated = (unestimated_tokens > 0)
        .then(|| format!("{unestimated_tokens} more than estimated by the provider's count, as of a prompt and tools"));
    let parts: Vec<String> = pinned.into_iter().chain(unestimated).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

fn id_or_root(id: &Option<String>) -> &str {
    id.as_deref().unwrap_or("root")
}

impl RpcError {
    /// An envelope that is no request.
    pub fn invalid_request(message: &str) -> Self {
        Self::InvalidRequest { message: message.to_owned() }
    }

    /// A parameter that is missing or wrong.
    pub fn invalid_params(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::InvalidParams { path: path.into(), expected: expected.into() }
    }

    /// A wrong setting, with the file that holds it.
    pub fn in_file(self, settings_file: &std::path::Path) -> Self {
        match self {
            Self::InvalidSettings { path, expected, .. } => {
                Self::InvalidSettings { path, expected, file: Some(settings_file.display().to_string()) }
            }
            error => error,
        }
    }

    /// The error of a summarizer that has made so many requests in all: it may know only of those for
    /// the summary that it wrote last.
    pub(crate) fn with_attempts(self, requests: u32) -> Self {
        match self {
            Self::DeadlinePassed { milliseconds, .. } => Self::DeadlinePassed { milliseconds, attempts: requests },
            Self::SummarizerFailed { cause, retryable, attempts } => {
                Self::SummarizerFailed { cause, retryable, attempts: attempts.max(requests) }
            }
            error => error,
        }
    }

    /// The error's name in `data.kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parse { .. } => "parseError",
            Self::InvalidRequest { .. } => "invalidRequest",
            Self::MethodNotFound { .. } => "methodNotFound",
            Self::InvalidParams { .. } | Self::UnsupportedVersion { .. } => "invalidParams",
            Self::Internal { .. } | Self::BrokenEntry { .. } => "internalError",
            Self::NotInitialized => "notInitialized",
            Self::Cancelled => "requestCancelled",
            Self::SessionNotOpen { .. } | Self::NoSessionAt { .. } | Self::NothingToContinue { .. } => {
                "sessionNotFound"
            }
            Self::EntryNotFound { .. } => "entryNotFound",
            Self::SessionLocked { .. } => "sessionLocked",
            Self::NotASession { .. } => "notASession",
            Self::WriteFailed { .. } | Self::FileExists { .. } => "writeFailed",
            Self::LeafMoved { .. } | Self::ResultCame { .. } => "leafMoved",
            Self::ReadOnly { .. } => "readOnly",
            Self::ServerBusy { .. } | Self::BatchTooLarge => "serverBusy",
            Self::SessionIdInUse { .. } => "sessionIdInUse",
            Self::NothingToCompact { .. }
            | Self::AwaitsResult { .. }
            | Self::StillTooLarge { .. }
            | Self::KeptTooLarge { .. }
            | Self::NoGain { .. } => "nothingToCompact",
            Self::AlreadyCompacted { .. } => "alreadyCompacted",
            Self::OperationInProgress { .. } => "operationInProgress",
            Self::SummarizerFailed { .. } | Self::EverySummarizerFailed { .. } | Self::DeadlinePassed { .. } => {
                "summarizerFailed"
            }
            Self::SummaryRejected { .. } | Self::NotSmaller { .. } => "summaryRejected",
            Self::CancelledByHook => "cancelledByHook",
            Self::InvalidHookResult { .. } => "invalidHookResult",
            Self::PinBudgetExceeded { .. } => "pinBudgetExceeded",
            Self::InvalidSettings { .. } => "invalidSettings",
        }
    }

    /// The error's code.
    pub fn code(&self) -> i32 {
        let row = TABLE.iter().find(|(_, kind, _)| *kind == self.kind());
        row.map_or(-32603, |(code, ..)| *code)
    }

    /// Which error of its kind it is, for programs, and whether the same call, sent again later, may succeed.
    pub fn nature(&self) -> (&'static str, bool) {
        match self {
            Self::Parse { .. } => ("notJson", false),
            Self::InvalidRequest { .. } => ("invalidRequest", false),
            Self::MethodNotFound { .. } => ("unknownMethod", false),
            Self::InvalidParams { .. } => ("wrongParameter", false),
            Self::UnsupportedVersion { .. } => ("unsupportedVersion", false),
            Self::Internal { .. } => ("internal", false),
            Self::BrokenEntry { .. } => ("brokenEntry", false),
            Self::NotInitialized => ("notInitialized", false),
            Self::Cancelled => ("cancelled", false),
            Self::SessionNotOpen { .. } => ("notOpen", false),
            Self::NoSessionAt { .. } => ("noFile", false),
            Self::NothingToContinue { .. } => ("nothingToContinue", false),
            Self::EntryNotFound { .. } => ("unknownEntry", false),
            Self::SessionLocked { .. } => ("lockedByOther", true),
            Self::NotASession { .. } => ("notASession", false),
            Self::FileExists { .. } => ("fileExists", false),
            Self::WriteFailed { .. } => ("writeFailed", true),
            Self::LeafMoved { .. } => ("leafMoved", false),
            Self::ResultCame { .. } => ("resultCame", true),
            Self::ReadOnly { .. } => ("readOnly", false),
            Self::ServerBusy { .. } => ("tooManyRequests", true),
            Self::BatchTooLarge => ("batchTooLarge", false),
            Self::SessionIdInUse { .. } => ("sessionIdInUse", false),
            Self::NothingToCompact { .. } => ("allRecent", false),
            Self::AwaitsResult { .. } => ("awaitsResult", true),
            Self::StillTooLarge { .. } => ("overflowRecoveryTried", false),
            Self::KeptTooLarge { .. } => ("keptTooLarge", false),
            Self::NoGain { .. } => ("noGain", false),
            Self::AlreadyCompacted { .. } => ("nothingFollows", false),
            Self::OperationInProgress { .. } => ("operationInProgress", true),
            Self::SummarizerFailed { retryable, .. } => ("summarizerFailed", *retryable),
            Self::EverySummarizerFailed { retryable, .. } => ("everySummarizerFailed", *retryable),
            Self::DeadlinePassed { .. } => ("deadlinePassed", true),
            Self::SummaryRejected { .. } => ("unusableSummary", false),
            Self::NotSmaller { .. } => ("notSmaller", false),
            Self::CancelledByHook => ("cancelledByHook", false),
            Self::InvalidHookResult { .. } => ("invalidHookResult", false),
            Self::PinBudgetExceeded { .. } => ("pinBudgetExceeded", false),
            Self::InvalidSettings { .. } => ("wrongSetting", false),
        }
    }

    /// The error's `data`: its kind, its reason, whether it is worth another try, and the ids and numbers needed to
    /// act.
    pub fn data(&self) -> Value {
        let mut data = self.details();
        let (reason, is_retryable) = self.nature();
        data["kind"] = Value::from(self.kind());
        data["reason"] = Value::from(reason);
        data["retryable"] = Value::from(is_retryable);
        data
    }

    fn details(&self) -> Value {
        match self {
            Self::Parse { .. }
            | Self::InvalidRequest { .. }
            | Self::Internal { .. }
            | Self::NotInitialized
            | Self::Cancelled
            | Self::BatchTooLarge
            | Self::ReadOnly { .. }
            | Self::CancelledByHook => json!({}),
            Self::MethodNotFound { method, nearest } => match nearest {
                Some(nearest) => json!({ "method": method, "nearest": nearest }),
                None => json!({ "method": method }),
            },
            Self::InvalidParams { path, expected } | Self::InvalidHookResult { path, expected } => {
                json!({ "path": path, "expected": expected })
            }
            Self::PinBudgetExceeded { tokens, max_tokens, entry_tokens, pins } => {
                json!({ "tokens": tokens, "maxTokens": max_tokens, "entryTokens": entry_tokens, "pins": pins })
            }
            Self::InvalidSettings { path, expected, file } => {
                json!({ "path": path, "expected": expected, "file": file })
            }
            Self::UnsupportedVersion { version } => {
                json!({ "path": "protocolVersion", "expected": "1", "version": version, "supportedVersions": [1] })
            }
            Self::SessionNotOpen { session_id } => json!({ "sessionId": session_id }),
            Self::NoSessionAt { path } => json!({ "path": path }),
            Self::NothingToContinue { cwd } => json!({ "cwd": cwd }),
            Self::EntryNotFound { session_id, entry_id } => json!({ "sessionId": session_id, "entryId": entry_id }),
            Self::BrokenEntry { session_id, entry_id, line, .. } => {
                json!({ "sessionId": session_id, "entryId": entry_id, "line": line })
            }
            Self::SessionLocked { path, pid, host, .. } => json!({ "path": path, "pid": pid, "host": host }),
            Self::NotASession { path, reason } => json!({ "path": path, "detail": reason }),
            Self::WriteFailed { path, .. } => json!({ "path": path }),
            Self::FileExists { path } => json!({ "path": path }),
            Self::LeafMoved { expected, actual } => json!({ "expectedLeafId": expected, "leafId": actual }),
            Self::ResultCame { call_id, expected, actual } => {
                json!({ "expectedLeafId": expected, "leafId": actual, "toolCallId": call_id })
            }
            Self::ServerBusy { waiting, limit } => json!({ "waiting": waiting, "limit": limit }),
            Self::SessionIdInUse { session_id, path } => json!({ "sessionId": session_id, "path": path }),
            Self::NothingToCompact { messages, context_tokens, keep_recent_tokens, .. } => json!({
                "messages": messages,
                "contextTokens": context_tokens,
                "keepRecentTokens": keep_recent_tokens,
            }),
            Self::AwaitsResult { call, messages, context_tokens, keep_recent_tokens, .. } => json!({
                "toolCallId": call.call_id,
                "entryId": call.entry_id.to_string(),
                "messages": messages,
                "contextTokens": context_tokens,
                "keepRecentTokens": keep_recent_tokens,
            }),
            Self::StillTooLarge { context_tokens, threshold, .. } => json!({
                "contextTokens": context_tokens,
                "threshold": threshold,
            }),
            Self::KeptTooLarge { kept_tokens, pinned_tokens, replaced_tokens, threshold, unestimated_tokens } => {
                json!({
                    "keptTokens": kept_tokens,
                    "pinnedTokens": pinned_tokens,
                    "replacedTokens": replaced_tokens,
                    "threshold": threshold,
                    "unestimatedTokens": unestimated_tokens,
                })
            }
            Self::NoGain { replaced_tokens, pinned_tokens } => {
                json!({ "replacedTokens": replaced_tokens, "pinnedTokens": pinned_tokens })
            }
            Self::AlreadyCompacted { compaction_id, context_tokens } => {
                json!({ "compactionId": compaction_id, "contextTokens": context_tokens })
            }
            Self::OperationInProgress { operation_id } => json!({ "operationId": operation_id }),
            Self::SummarizerFailed { cause, attempts, .. } => json!({ "cause": cause, "attempts": attempts }),
            Self::EverySummarizerFailed { failures, .. } => json!({
                "cause": shown_failures(failures),
                "attempts": failures.iter().map(|failure| failure.attempts).sum::<u32>(),
                "failures": failures,
            }),
            Self::DeadlinePassed { milliseconds, attempts } => {
                let milliseconds = u64::try_from(*milliseconds).unwrap_or(u64::MAX);
                json!({ "cause": self.to_string(), "attempts": attempts, "deadlineMs": milliseconds })
            }
            Self::SummaryRejected { reason } => json!({ "detail": reason }),
            Self::NotSmaller { summary_tokens, replaced_tokens } => {
                json!({ "summaryTokens": summary_tokens, "replacedTokens": replaced_tokens })
            }
        }
    }

    /// The error as a reply or a notification holds it.
    pub fn to_body(&self) -> ErrorBody {
        let data = serde_json::value::to_raw_value(&self.data()).expect("a tree of JSON values can be written");
        ErrorBody { code: self.code(), message: self.to_string(), data: data.into() }
    }

    /// An error of the store, met while serving `session_id`.
    pub fn from_store(error: &StoreError, session_id: &str) -> Self {
        let shown = |path: &std::path::Path| path.display().to_string();
        let message = sentence(error);
        match error {
            StoreError::SessionNotFound { path } => Self::NoSessionAt { path: shown(path) },
            StoreError::EntryNotFound { id } => {
                Self::EntryNotFound { session_id: session_id.to_owned(), entry_id: id.to_string() }
            }
            StoreError::Locked { path, pid, host } => {
                Self::SessionLocked { message, path: shown(path), pid: *pid, host: host.clone() }
            }
            StoreError::NotASession { path, reason } => Self::NotASession { path: shown(path), reason: reason.clone() },
            StoreError::WriteFailed { path, .. } => Self::WriteFailed { message, path: path.as_deref().map(shown) },
            StoreError::LeafMoved { expected, actual } => Self::LeafMoved {
                expected: expected.as_ref().map(ToString::to_string),
                actual: actual.as_ref().map(ToString::to_string),
            },
            StoreError::ReadOnly { .. } => Self::ReadOnly { message },
            StoreError::InvalidSessionId { .. } => Self::invalid_params("sessionId", message),
            StoreError::InvalidEntry { reason } => Self::invalid_params("entry", reason.clone()),
            StoreError::AlreadyExists { path } => Self::FileExists { path: shown(path) },
            StoreError::SessionIdTaken { id, path } => {
                Self::SessionIdInUse { session_id: id.clone(), path: Some(shown(path)) }
            }
            StoreError::BrokenEntry { id, line, .. } => {
                Self::BrokenEntry { message, session_id: session_id.to_owned(), entry_id: id.to_string(), line: *line }
            }
            StoreError::Io { path: Some(path), source, .. } if is_no_path(source) => Self::invalid_params(
                "path",
                format!("a path that the system takes; {} is none: {source}", start_of(path)),
            ),
            StoreError::Io { .. } => Self::Internal { message },
        }
    }
}

/// Whether the system refuses a path for what it is: too long, or with a NUL in it.
fn is_no_path(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidFilename)
}

/// The start of a path, which may be very long.
fn start_of(path: &std::path::Path) -> String {
    path.display().to_string().chars().take(80).collect()
}

/// An error with its sources, as one sentence.
fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = format!("failed to {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::AlreadyCompacted { compaction_id, context_tokens } => {
                Self::AlreadyCompacted { compaction_id: compaction_id.to_string(), context_tokens }
            }
            Refusal::NothingToCompact { messages, context_tokens, keep_recent_tokens } => {
                Self::NothingToCompact { message, messages, context_tokens, keep_recent_tokens }
            }
            Refusal::AwaitsResult { call, messages, context_tokens, keep_recent_tokens } => {
                Self::AwaitsResult { message, call, messages, context_tokens, keep_recent_tokens }
            }
        }
    }
}

impl From<RpcError> for ErrorObjectOwned {
    fn from(error: RpcError) -> Self {
        ErrorObjectOwned::owned(error.code(), error.to_string(), Some(error.data()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_code() {
        let error = RpcError::ServerBusy { waiting: 2, limit: 1 };
        assert_eq!((error.code(), error.kind()), (1008, "serverBusy"));
        let expected = json!({
            "kind": "serverBusy", "reason": "tooManyRequests", "retryable": true, "waiting": 2, "limit": 1,
        });
        assert_eq!(error.data(), expected);
        let unsupported = RpcError::UnsupportedVersion { version: 9 };
        assert_eq!((unsupported.code(), unsupported.data()["supportedVersions"].clone()), (-32602, json!([1])));
    }
}
