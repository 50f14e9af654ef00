//! Errors on the wire: one table of codes and kinds, and the conversion of the errors of the store and the engine
//! (protocol/README.md, "Errors").

use compaction_core::entry::EntryId;
use compaction_core::preparation::Refusal;
use compaction_engine::session::OpenSession;
use compaction_engine::{EngineError, ErrorKind, SummarizerFailure};
use jsonrpsee::types::ErrorObjectOwned;
use serde_json::{Value, json};
use session_store::StoreError;

use crate::wire::{self, ErrorBody, PinnedEntry};

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
    #[error("{entry_tokens} tokens do not fit beside the {tokens} that are pinned; the limit is {max_tokens}")]
    PinBudgetExceeded { tokens: u64, max_tokens: u64, entry_tokens: u64, pins: Vec<PinnedEntry> },
    #[error(transparent)]
    Engine(EngineError),
}

macro_rules! kinds {
    ($($kind:ident $code:literal $name:literal $meaning:literal;)*) => {
        /// What kind of error it is: a code, and its name in `data.kind`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = $meaning] $kind),*
        }

        /// Codes, kinds and meanings, as the generated documents list them.
        pub const TABLE: &[(i32, &str, &str)] = &[$(($code, $name, $meaning)),*];

        impl Kind {
            /// The code.
            pub fn code(self) -> i32 {
                match self {
                    $(Self::$kind => $code),*
                }
            }

            /// The name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name),*
                }
            }
        }
    };
}

kinds! {
    ParseError -32700 "parseError"
        "The message is not JSON. Reading continues at the next frame.";
    InvalidRequest -32600 "invalidRequest"
        "The message is JSON, but not a valid request, or it is over the size limit.";
    MethodNotFound -32601 "methodNotFound"
        "There is no such method.";
    InvalidParams -32602 "invalidParams"
        "A parameter is missing or wrong. `path` names it, and `expected` describes a correct value.";
    InternalError -32603 "internalError"
        "A defect of the server, an unreadable file, or a stored entry whose line is broken (`entryId`, `line`). The server continues.";
    NotInitialized -32002 "notInitialized"
        "The first request must be `initialize`.";
    RequestCancelled -32800 "requestCancelled"
        "The request was cancelled.";
    SessionNotFound 1001 "sessionNotFound"
        "No open session has this id, or no session is at this path.";
    EntryNotFound 1002 "entryNotFound"
        "The session has no entry with this id.";
    SessionLocked 1003 "sessionLocked"
        "Another process has the session open for writing: `pid` and `host`, if known.";
    NotASession 1004 "notASession"
        "The file is not a session. It was not changed. `detail` says why.";
    WriteFailed 1005 "writeFailed"
        "Writing failed, or the file exists. Nothing was changed.";
    LeafMoved 1006 "leafMoved"
        "The leaf (`leafId`) is not the expected one (`expectedLeafId`). With `toolCallId`: the result of a call came while a compaction was about to summarise the call.";
    ReadOnly 1007 "readOnly"
        "The session is read-only.";
    ServerBusy 1008 "serverBusy"
        "Too many requests are waiting. Send fewer at once.";
    SessionIdInUse 1009 "sessionIdInUse"
        "Another session has the same id: `path`, if it has a file.";
    NothingToCompact 1101 "nothingToCompact"
        "Everything would be kept, for example because the result of `toolCallId` is missing, or compacting would not help. `reason` and the numbers say why.";
    AlreadyCompacted 1102 "alreadyCompacted"
        "The model sees nothing after the last compaction.";
    OperationInProgress 1103 "operationInProgress"
        "A compaction, navigation or fork (`operationId`) is running on the session.";
    SummarizerFailed 1104 "summarizerFailed"
        "The summarizer failed: `cause`, `attempts`.";
    SummaryRejected 1105 "summaryRejected"
        "The summary is empty, cut off, or incomplete (`detail`), or it is not smaller (`reason` is `notSmaller`).";
    CancelledByHook 1106 "cancelledByHook"
        "A hook of the client cancelled the operation.";
    InvalidHookResult 1107 "invalidHookResult"
        "A hook of the client returned a wrong result.";
    PinBudgetExceeded 1108 "pinBudgetExceeded"
        "The pinned entries would take too many tokens: `tokens`, `entryTokens`, `maxTokens` and `pins`.";
    InvalidSettings 1201 "invalidSettings"
        "The setting `path` is wrong.";
}

fn id_or_root(id: &Option<String>) -> &str {
    id.as_deref().unwrap_or("root")
}

impl RpcError {
    /// A message that is not a valid request.
    pub fn invalid_request(message: &str) -> Self {
        Self::InvalidRequest { message: message.to_owned() }
    }

    /// A parameter that is missing or wrong.
    pub fn invalid_params(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::InvalidParams { path: path.into(), expected: expected.into() }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Parse { .. } => Kind::ParseError,
            Self::InvalidRequest { .. } => Kind::InvalidRequest,
            Self::MethodNotFound { .. } => Kind::MethodNotFound,
            Self::InvalidParams { .. } | Self::UnsupportedVersion { .. } => Kind::InvalidParams,
            Self::Internal { .. } | Self::BrokenEntry { .. } => Kind::InternalError,
            Self::NotInitialized => Kind::NotInitialized,
            Self::Cancelled => Kind::RequestCancelled,
            Self::SessionNotOpen { .. } | Self::NoSessionAt { .. } | Self::NothingToContinue { .. } => {
                Kind::SessionNotFound
            }
            Self::EntryNotFound { .. } => Kind::EntryNotFound,
            Self::SessionLocked { .. } => Kind::SessionLocked,
            Self::NotASession { .. } => Kind::NotASession,
            Self::WriteFailed { .. } | Self::FileExists { .. } => Kind::WriteFailed,
            Self::LeafMoved { .. } => Kind::LeafMoved,
            Self::ReadOnly { .. } => Kind::ReadOnly,
            Self::ServerBusy { .. } | Self::BatchTooLarge => Kind::ServerBusy,
            Self::SessionIdInUse { .. } => Kind::SessionIdInUse,
            Self::PinBudgetExceeded { .. } => Kind::PinBudgetExceeded,
            Self::Engine(error) => error.kind().into(),
        }
    }

    /// The error's code.
    pub fn code(&self) -> i32 {
        self.kind().code()
    }

    /// The name of the reason, for programs, and whether the same call may succeed later.
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
            Self::ReadOnly { .. } => ("readOnly", false),
            Self::ServerBusy { .. } => ("tooManyRequests", true),
            Self::BatchTooLarge => ("batchTooLarge", false),
            Self::SessionIdInUse { .. } => ("sessionIdInUse", false),
            Self::PinBudgetExceeded { .. } => ("pinBudgetExceeded", false),
            Self::Engine(error) => engine_nature(error),
        }
    }

    /// The error's `data`: kind, reason, whether a retry may succeed, and the ids and numbers that a caller needs.
    pub fn data(&self) -> Value {
        let mut data = self.details();
        let (reason, is_retryable) = self.nature();
        data["kind"] = Value::from(self.kind().name());
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
            | Self::ReadOnly { .. } => json!({}),
            Self::MethodNotFound { method, nearest } => match nearest {
                Some(nearest) => json!({ "method": method, "nearest": nearest }),
                None => json!({ "method": method }),
            },
            Self::InvalidParams { path, expected } => json!({ "path": path, "expected": expected }),
            Self::PinBudgetExceeded { tokens, max_tokens, entry_tokens, pins } => {
                json!({ "tokens": tokens, "maxTokens": max_tokens, "entryTokens": entry_tokens, "pins": pins })
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
            Self::ServerBusy { waiting, limit } => json!({ "waiting": waiting, "limit": limit }),
            Self::SessionIdInUse { session_id, path } => json!({ "sessionId": session_id, "path": path }),
            Self::Engine(error) => engine_details(error),
        }
    }

    /// The error as a reply or a notification contains it.
    pub fn to_body(&self) -> ErrorBody {
        let data = serde_json::value::to_raw_value(&self.data()).expect("a tree of JSON values can be written");
        ErrorBody { code: self.code(), message: self.to_string(), data: data.into() }
    }

    /// An error of the store that occurred while serving `session_id`.
    pub fn from_store(error: &StoreError, session_id: &str) -> Self {
        let message = EngineError::sentence(error);
        match error {
            StoreError::SessionNotFound { locator } => Self::NoSessionAt { path: locator.to_string() },
            StoreError::EntryNotFound { id } => {
                Self::EntryNotFound { session_id: session_id.to_owned(), entry_id: id.to_string() }
            }
            StoreError::Locked { locator, pid, host } => {
                Self::SessionLocked { message, path: locator.to_string(), pid: *pid, host: host.clone() }
            }
            StoreError::NotASession { locator, reason } => {
                Self::NotASession { path: locator.to_string(), reason: reason.clone() }
            }
            StoreError::WriteFailed { locator, .. } => {
                Self::WriteFailed { message, path: locator.as_ref().map(ToString::to_string) }
            }
            StoreError::LeafMoved { expected, actual } => Self::LeafMoved {
                expected: expected.as_ref().map(ToString::to_string),
                actual: actual.as_ref().map(ToString::to_string),
            },
            StoreError::ReadOnly { .. } | StoreError::LeaseLost { .. } => Self::ReadOnly { message },
            StoreError::InvalidSessionId { .. } => Self::invalid_params("sessionId", message),
            StoreError::InvalidEntry { reason } => Self::invalid_params("entry", reason.clone()),
            StoreError::AlreadyExists { locator } => Self::FileExists { path: locator.to_string() },
            StoreError::SessionIdTaken { id, locator } => {
                Self::SessionIdInUse { session_id: id.clone(), path: Some(locator.to_string()) }
            }
            StoreError::BrokenEntry { id, line, .. } => {
                Self::BrokenEntry { message, session_id: session_id.to_owned(), entry_id: id.to_string(), line: *line }
            }
            StoreError::InvalidLocator { expected, .. } => Self::invalid_params("path", expected.clone()),
            // A write that may have taken place must not be reported as one that changed nothing.
            _ => Self::Internal { message },
        }
    }
}

/// Conversion of the store's errors for one session.
pub(crate) trait StoreErrors {
    /// An error of the store that occurred while serving this session.
    fn store_error(&self, error: &StoreError) -> RpcError;
}

impl StoreErrors for OpenSession {
    fn store_error(&self, error: &StoreError) -> RpcError {
        RpcError::from_store(error, &self.id)
    }
}

impl From<RpcError> for ErrorObjectOwned {
    fn from(error: RpcError) -> Self {
        ErrorObjectOwned::owned(error.code(), error.to_string(), Some(error.data()))
    }
}

impl From<ErrorKind> for Kind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Internal | ErrorKind::Store => Self::InternalError,
            ErrorKind::Cancelled => Self::RequestCancelled,
            ErrorKind::InvalidArgument => Self::InvalidParams,
            ErrorKind::SessionNotFound => Self::SessionNotFound,
            ErrorKind::EntryNotFound => Self::EntryNotFound,
            ErrorKind::ReadOnly => Self::ReadOnly,
            ErrorKind::LeafMoved => Self::LeafMoved,
            ErrorKind::NothingToCompact => Self::NothingToCompact,
            ErrorKind::AlreadyCompacted => Self::AlreadyCompacted,
            ErrorKind::OperationInProgress => Self::OperationInProgress,
            ErrorKind::SummarizerFailed => Self::SummarizerFailed,
            ErrorKind::SummaryRejected => Self::SummaryRejected,
            ErrorKind::CancelledByHook => Self::CancelledByHook,
            ErrorKind::InvalidHookResult => Self::InvalidHookResult,
            ErrorKind::InvalidSettings => Self::InvalidSettings,
        }
    }
}

impl From<EngineError> for RpcError {
    fn from(error: EngineError) -> Self {
        match error {
            // Errors of the store have the same form wherever they occur.
            EngineError::Store { session_id, source } => Self::from_store(&source, &session_id),
            error => Self::Engine(error),
        }
    }
}

/// A summarizer that failed.
pub(crate) fn failure(failure: &SummarizerFailure) -> wire::SummarizerFailure {
    wire::SummarizerFailure {
        summarizer: failure.summarizer.clone(),
        kind: Kind::from(failure.kind).name().to_owned(),
        cause: failure.cause.clone(),
        attempts: failure.attempts,
    }
}

/// The name of the reason, for programs, and whether the same call may succeed later.
fn engine_nature(error: &EngineError) -> (&'static str, bool) {
    match error {
        // `From<EngineError>` converts errors of the store.
        EngineError::Internal { .. } | EngineError::Store { .. } => ("internal", false),
        EngineError::Cancelled => ("cancelled", false),
        EngineError::InvalidArgument { .. } => ("wrongParameter", false),
        EngineError::SessionNotOpen { .. } => ("notOpen", false),
        EngineError::EntryNotFound { .. } => ("unknownEntry", false),
        EngineError::ReadOnly { .. } => ("readOnly", false),
        EngineError::LeafMoved { .. } => ("leafMoved", false),
        EngineError::ResultCame { .. } => ("resultCame", true),
        EngineError::Refused(Refusal::NothingToCompact { .. }) => ("allRecent", false),
        EngineError::Refused(Refusal::AwaitsResult { .. }) => ("awaitsResult", true),
        EngineError::Refused(Refusal::AlreadyCompacted { .. }) => ("nothingFollows", false),
        EngineError::StillTooLarge { .. } => ("overflowRecoveryTried", false),
        EngineError::KeptTooLarge { .. } => ("keptTooLarge", false),
        EngineError::NoGain { .. } => ("noGain", false),
        EngineError::OperationInProgress { .. } => ("operationInProgress", true),
        EngineError::SummarizerFailed { .. } => ("summarizerFailed", error.is_retryable()),
        EngineError::EverySummarizerFailed { .. } => ("everySummarizerFailed", error.is_retryable()),
        EngineError::DeadlinePassed { .. } => ("deadlinePassed", error.is_retryable()),
        EngineError::SummaryRejected { .. } => ("unusableSummary", false),
        EngineError::NotSmaller { .. } => ("notSmaller", false),
        EngineError::CancelledByHook => ("cancelledByHook", false),
        EngineError::InvalidHookResult { .. } => ("invalidHookResult", false),
        EngineError::InvalidSettings { .. } => ("wrongSetting", false),
    }
}

/// The ids and numbers that a caller needs.
fn engine_details(error: &EngineError) -> Value {
    let leaves = |expected: &Option<EntryId>, actual: &Option<EntryId>| {
        let shown = |id: &Option<EntryId>| id.as_ref().map(EntryId::to_string);
        json!({ "expectedLeafId": shown(expected), "leafId": shown(actual) })
    };
    match error {
        EngineError::Internal { .. }
        | EngineError::Cancelled
        | EngineError::ReadOnly { .. }
        | EngineError::Store { .. }
        | EngineError::CancelledByHook => json!({}),
        EngineError::InvalidArgument { path, expected } | EngineError::InvalidHookResult { path, expected } => {
            json!({ "path": path, "expected": expected })
        }
        EngineError::InvalidSettings { path, expected, file } => {
            let file = file.as_ref().map(|file| file.display().to_string());
            json!({ "path": path, "expected": expected, "file": file })
        }
        EngineError::SessionNotOpen { session_id } => json!({ "sessionId": session_id }),
        EngineError::EntryNotFound { session_id, entry_id } => {
            json!({ "sessionId": session_id, "entryId": entry_id.to_string() })
        }
        EngineError::LeafMoved { expected, actual } => leaves(expected, actual),
        EngineError::ResultCame { call_id, expected, actual } => {
            let mut details = leaves(expected, actual);
            details["toolCallId"] = json!(call_id);
            details
        }
        EngineError::Refused(refusal) => refused(refusal),
        EngineError::StillTooLarge { context_tokens, threshold, .. } => json!({
            "contextTokens": context_tokens,
            "threshold": threshold,
        }),
        EngineError::KeptTooLarge { kept_tokens, pinned_tokens, replaced_tokens, threshold, unestimated_tokens } => {
            json!({
                "keptTokens": kept_tokens,
                "pinnedTokens": pinned_tokens,
                "replacedTokens": replaced_tokens,
                "threshold": threshold,
                "unestimatedTokens": unestimated_tokens,
            })
        }
        EngineError::NoGain { replaced_tokens, pinned_tokens } => {
            json!({ "replacedTokens": replaced_tokens, "pinnedTokens": pinned_tokens })
        }
        EngineError::OperationInProgress { operation_id } => json!({ "operationId": operation_id }),
        EngineError::SummarizerFailed { cause, .. } => failed(error, cause),
        EngineError::EverySummarizerFailed { failures, .. } => {
            let mut details = failed(error, &EngineError::shown_failures(failures));
            details["failures"] = json!(failures.iter().map(failure).collect::<Vec<_>>());
            details
        }
        EngineError::DeadlinePassed { milliseconds, .. } => {
            let mut details = failed(error, &error.to_string());
            details["deadlineMs"] = json!(u64::try_from(*milliseconds).unwrap_or(u64::MAX));
            details
        }
        EngineError::SummaryRejected { reason } => json!({ "detail": reason }),
        EngineError::NotSmaller { summary_tokens, replaced_tokens } => {
            json!({ "summaryTokens": summary_tokens, "replacedTokens": replaced_tokens })
        }
    }
}

fn refused(refusal: &Refusal) -> Value {
    match refusal {
        Refusal::AlreadyCompacted { compaction_id, context_tokens } => {
            json!({ "compactionId": compaction_id.to_string(), "contextTokens": context_tokens })
        }
        Refusal::NothingToCompact { messages, context_tokens, keep_recent_tokens } => json!({
            "messages": messages,
            "contextTokens": context_tokens,
            "keepRecentTokens": keep_recent_tokens,
        }),
        Refusal::AwaitsResult { call, messages, context_tokens, keep_recent_tokens } => json!({
            "toolCallId": call.call_id,
            "entryId": call.entry_id.to_string(),
            "messages": messages,
            "contextTokens": context_tokens,
            "keepRecentTokens": keep_recent_tokens,
        }),
    }
}

fn failed(error: &EngineError, cause: &str) -> Value {
    json!({ "cause": cause, "attempts": error.attempts() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_code() {
        let error = RpcError::ServerBusy { waiting: 2, limit: 1 };
        assert_eq!((error.code(), error.kind()), (1008, Kind::ServerBusy));
        let expected = json!({
            "kind": "serverBusy", "reason": "tooManyRequests", "retryable": true, "waiting": 2, "limit": 1,
        });
        assert_eq!(error.data(), expected);
        let unsupported = RpcError::UnsupportedVersion { version: 9 };
        assert_eq!((unsupported.code(), unsupported.data()["supportedVersions"].clone()), (-32602, json!([1])));
    }
}
