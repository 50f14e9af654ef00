//! Errors on the wire: one table of codes and kinds, and the conversion of the errors of the store and the engine
//! (protocol/README.md, "Errors").

use compaction_core::entry::EntryId;
use compaction_core::preparation::Refusal;
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
    #[error("a message of {bytes} bytes is over the limit of {limit} bytes")]
    MessageTooLarge { bytes: u64, limit: usize },
    #[error("there is no method {method}{}", .nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default())]
    MethodNotFound { method: String, nearest: Option<&'static str> },
    #[error("protocol version {version} is not supported; supported: 1")]
    UnsupportedVersion { version: u64 },
    #[error("the first request must be initialize")]
    NotInitialized,
    #[error("there is no session at {path}")]
    NoSessionAt { path: String },
    #[error("no session of {cwd} was found to continue")]
    NothingToContinue { cwd: String },
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
    #[error("{message}")]
    ReadFailed { message: String, path: Option<String>, is_denied: bool },
    #[error("{message}")]
    OutOfMemory { message: String, bytes: u64 },
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
        /// The kind of an error: a code, and its name in `data.kind`.
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
        "The message is JSON, but not a valid request, or it is over the size limit (`reason` is `messageTooLarge`; `bytes` and `limit`).";
    MethodNotFound -32601 "methodNotFound"
        "There is no such method.";
    InvalidParams -32602 "invalidParams"
        "A parameter is missing or wrong. `path` names it, and `expected` describes a correct value.";
    InternalError -32603 "internalError"
        "A defect of the server, a write whose outcome is not known, a stored entry whose line is broken (`entryId`, `line`), or more than the memory holds (`reason` is `outOfMemory`; `bytes` were held or written). The server continues.";
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
    ReadFailed 1010 "readFailed"
        "The system refused to open or read `path`: for want of permission (`reason` is `permissionDenied`), or because files, a disk or a connection failed. Nothing was changed.";
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

impl RpcError {
    /// A message that is not a valid request.
    pub fn invalid_request(message: &str) -> Self {
        Self::InvalidRequest { message: message.to_owned() }
    }

    /// A parameter that is missing or wrong.
    pub fn invalid_params(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Engine(EngineError::invalid_argument(path, expected))
    }

    /// A defect of the server.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Engine(EngineError::Internal { message: message.into() })
    }

    /// No open session has this id.
    pub(crate) fn not_open(session_id: impl Into<String>) -> Self {
        Self::Engine(EngineError::SessionNotOpen { session_id: session_id.into() })
    }

    /// The kind of the error.
    pub fn kind(&self) -> Kind {
        self.facts().0
    }

    /// The error's code.
    pub fn code(&self) -> i32 {
        self.kind().code()
    }

    /// The error's `data`: kind, reason, whether a retry may succeed, and the ids and numbers that a caller needs.
    pub fn data(&self) -> Value {
        let (kind, Facts(reason, is_retryable, mut data)) = self.facts();
        data["kind"] = Value::from(kind.name());
        data["reason"] = Value::from(reason);
        data["retryable"] = Value::from(is_retryable);
        data
    }

    fn facts(&self) -> (Kind, Facts) {
        let (kind, reason, is_retryable, details) = match self {
            Self::Parse { .. } => (Kind::ParseError, "notJson", false, json!({})),
            Self::InvalidRequest { .. } => (Kind::InvalidRequest, "invalidRequest", false, json!({})),
            Self::MessageTooLarge { bytes, limit } => {
                (Kind::InvalidRequest, "messageTooLarge", false, json!({ "bytes": bytes, "limit": limit }))
            }
            Self::MethodNotFound { method, nearest: None } => {
                (Kind::MethodNotFound, "unknownMethod", false, json!({ "method": method }))
            }
            Self::MethodNotFound { method, nearest } => {
                (Kind::MethodNotFound, "unknownMethod", false, json!({ "method": method, "nearest": nearest }))
            }
            Self::UnsupportedVersion { version } => {
                let details =
                    json!({ "path": "protocolVersion", "expected": "1", "version": version, "supportedVersions": [1] });
                (Kind::InvalidParams, "unsupportedVersion", false, details)
            }
            Self::BrokenEntry { session_id, entry_id, line, .. } => {
                let details = json!({ "sessionId": session_id, "entryId": entry_id, "line": line });
                (Kind::InternalError, "brokenEntry", false, details)
            }
            Self::OutOfMemory { bytes, .. } => (Kind::InternalError, "outOfMemory", false, json!({ "bytes": bytes })),
            Self::NotInitialized => (Kind::NotInitialized, "notInitialized", false, json!({})),
            Self::NoSessionAt { path } => (Kind::SessionNotFound, "noFile", false, json!({ "path": path })),
            Self::NothingToContinue { cwd } => {
                (Kind::SessionNotFound, "nothingToContinue", false, json!({ "cwd": cwd }))
            }
            Self::SessionLocked { path, pid, host, .. } => {
                (Kind::SessionLocked, "lockedByOther", true, json!({ "path": path, "pid": pid, "host": host }))
            }
            Self::NotASession { path, reason } => {
                (Kind::NotASession, "notASession", false, json!({ "path": path, "detail": reason }))
            }
            Self::WriteFailed { path, .. } => (Kind::WriteFailed, "writeFailed", true, json!({ "path": path })),
            Self::ReadFailed { path, is_denied: true, .. } => {
                (Kind::ReadFailed, "permissionDenied", false, json!({ "path": path }))
            }
            Self::ReadFailed { path, .. } => (Kind::ReadFailed, "readFailed", true, json!({ "path": path })),
            Self::FileExists { path } => (Kind::WriteFailed, "fileExists", false, json!({ "path": path })),
            Self::ReadOnly { .. } => (Kind::ReadOnly, "readOnly", false, json!({})),
            Self::ServerBusy { waiting, limit } => {
                (Kind::ServerBusy, "tooManyRequests", true, json!({ "waiting": waiting, "limit": limit }))
            }
            Self::BatchTooLarge => (Kind::ServerBusy, "batchTooLarge", false, json!({})),
            Self::SessionIdInUse { session_id, path } => {
                (Kind::SessionIdInUse, "sessionIdInUse", false, json!({ "sessionId": session_id, "path": path }))
            }
            Self::PinBudgetExceeded { tokens, max_tokens, entry_tokens, pins } => {
                let details =
                    json!({ "tokens": tokens, "maxTokens": max_tokens, "entryTokens": entry_tokens, "pins": pins });
                (Kind::PinBudgetExceeded, "pinBudgetExceeded", false, details)
            }
            Self::Engine(error) => return (error.kind().into(), engine_facts(error)),
        };
        (kind, Facts(reason, is_retryable, details))
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
                Self::Engine(EngineError::EntryNotFound { session_id: session_id.to_owned(), entry_id: id.clone() })
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
            StoreError::LeafMoved { expected, actual } => {
                Self::Engine(EngineError::LeafMoved { expected: expected.clone(), actual: actual.clone() })
            }
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
            StoreError::OutOfMemory { bytes, .. } => Self::OutOfMemory { message, bytes: *bytes },
            StoreError::InvalidLocator { expected, .. } => Self::invalid_params("path", expected.clone()),
            StoreError::Io { locator, source, .. } => Self::ReadFailed {
                message,
                path: locator.as_ref().map(ToString::to_string),
                is_denied: source.kind() == std::io::ErrorKind::PermissionDenied,
            },
            // A write that may have taken place must not be reported as one that changed nothing.
            _ => Self::internal(message),
        }
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

/// The name of the reason, for programs, whether the same call may succeed later, and the ids and numbers that a caller
/// needs.
struct Facts(&'static str, bool, Value);

fn engine_facts(error: &EngineError) -> Facts {
    let leaves = |expected: &Option<EntryId>, actual: &Option<EntryId>| {
        let shown = |id: &Option<EntryId>| id.as_ref().map(EntryId::to_string);
        json!({ "expectedLeafId": shown(expected), "leafId": shown(actual) })
    };
    let failed = |cause: &str| json!({ "cause": cause, "attempts": error.attempts() });
    match error {
        // `From<EngineError>` converts errors of the store.
        EngineError::Internal { .. } | EngineError::Store { .. } => Facts("internal", false, json!({})),
        EngineError::Cancelled => Facts("cancelled", false, json!({})),
        EngineError::ReadOnly { .. } => Facts("readOnly", false, json!({})),
        EngineError::CancelledByHook => Facts("cancelledByHook", false, json!({})),
        EngineError::InvalidArgument { path, expected } => {
            Facts("wrongParameter", false, json!({ "path": path, "expected": expected }))
        }
        EngineError::InvalidHookResult { path, expected } => {
            Facts("invalidHookResult", false, json!({ "path": path, "expected": expected }))
        }
        EngineError::InvalidSettings { path, expected, file } => {
            let file = file.as_ref().map(|file| file.display().to_string());
            Facts("wrongSetting", false, json!({ "path": path, "expected": expected, "file": file }))
        }
        EngineError::SessionNotOpen { session_id } => Facts("notOpen", false, json!({ "sessionId": session_id })),
        EngineError::EntryNotFound { session_id, entry_id } => {
            Facts("unknownEntry", false, json!({ "sessionId": session_id, "entryId": entry_id.as_str() }))
        }
        EngineError::LeafMoved { expected, actual } => Facts("leafMoved", false, leaves(expected, actual)),
        EngineError::ResultCame { call_id, expected, actual } => {
            let mut details = leaves(expected, actual);
            details["toolCallId"] = json!(call_id);
            Facts("resultCame", true, details)
        }
        EngineError::Refused(refusal) => refused(refusal),
        EngineError::StillTooLarge { context_tokens, threshold, .. } => {
            let details = json!({ "contextTokens": context_tokens, "threshold": threshold });
            Facts("overflowRecoveryTried", false, details)
        }
        EngineError::KeptTooLarge { kept_tokens, pinned_tokens, replaced_tokens, threshold, unestimated_tokens } => {
            let details = json!({
                "keptTokens": kept_tokens,
                "pinnedTokens": pinned_tokens,
                "replacedTokens": replaced_tokens,
                "threshold": threshold,
                "unestimatedTokens": unestimated_tokens,
            });
            Facts("keptTooLarge", false, details)
        }
        EngineError::NoGain { replaced_tokens, pinned_tokens } => {
            Facts("noGain", false, json!({ "replacedTokens": replaced_tokens, "pinnedTokens": pinned_tokens }))
        }
        EngineError::OperationInProgress { operation_id } => {
            Facts("operationInProgress", true, json!({ "operationId": operation_id }))
        }
        EngineError::SummarizerFailed { cause, .. } => Facts("summarizerFailed", error.is_retryable(), failed(cause)),
        EngineError::EverySummarizerFailed { failures, .. } => {
            let mut details = failed(&EngineError::shown_failures(failures));
            details["failures"] = json!(failures.iter().map(failure).collect::<Vec<_>>());
            Facts("everySummarizerFailed", error.is_retryable(), details)
        }
        EngineError::DeadlinePassed { milliseconds, .. } => {
            let mut details = failed(&error.to_string());
            details["deadlineMs"] = json!(u64::try_from(*milliseconds).unwrap_or(u64::MAX));
            Facts("deadlinePassed", error.is_retryable(), details)
        }
        EngineError::SummaryRejected { reason } => Facts("unusableSummary", false, json!({ "detail": reason })),
        EngineError::NotSmaller { summary_tokens, replaced_tokens } => {
            let details = json!({ "summaryTokens": summary_tokens, "replacedTokens": replaced_tokens });
            Facts("notSmaller", false, details)
        }
    }
}

fn refused(refusal: &Refusal) -> Facts {
    match refusal {
        Refusal::AlreadyCompacted { compaction_id, context_tokens } => {
            let details = json!({ "compactionId": compaction_id.as_str(), "contextTokens": context_tokens });
            Facts("nothingFollows", false, details)
        }
        Refusal::NothingToCompact { messages, context_tokens, keep_recent_tokens } => {
            let details = json!({
                "messages": messages,
                "contextTokens": context_tokens,
                "keepRecentTokens": keep_recent_tokens,
            });
            Facts("allRecent", false, details)
        }
        Refusal::AwaitsResult { call, messages, context_tokens, keep_recent_tokens } => {
            let details = json!({
                "toolCallId": call.call_id,
                "entryId": call.entry_id.as_str(),
                "messages": messages,
                "contextTokens": context_tokens,
                "keepRecentTokens": keep_recent_tokens,
            });
            Facts("awaitsResult", true, details)
        }
    }
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
