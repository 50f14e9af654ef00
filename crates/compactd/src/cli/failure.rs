//! Failures of commands. Each text says what happened and what to do.

use std::io;
use std::path::{Path, PathBuf};

use compactd_client::{ClientError, RpcError};
use serde_json::{Value, json};

use super::terminal::{count, one_line, thousands};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The output could not be written.
    #[error("write the output: {0}")]
    Output(io::Error),
    /// The runtime, the temporary directory or the program itself could not be used.
    #[error("{doing}: {source}")]
    System {
        /// What the program tried to do.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{}: {source}", one_line(&path.display().to_string()))]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The command cannot do what it should. The text says why.
    #[error("{0}")]
    Refused(String),
    /// A tool or a command does not take these arguments.
    #[error("{0}")]
    Arguments(String),
    /// The server refused a call.
    #[error("{text}")]
    Answered {
        /// The text for a person.
        text: String,
        /// The JSON-RPC code of the error.
        code: i32,
        /// The data of the error.
        data: Value,
    },
    /// A transcript that cannot be imported.
    #[error("{text}")]
    Transcript {
        /// The text for a person.
        text: String,
        /// The kind of the failure, the file and the numbers.
        data: Value,
    },
    /// There was nothing to do.
    #[error("{text}")]
    NothingToDo {
        /// The text for a person.
        text: String,
        /// The ids and numbers behind the text.
        data: Value,
    },
    /// The call got no answer.
    #[error("{method}: {source}")]
    Call {
        /// The method.
        method: &'static str,
        /// The error of the client.
        source: ClientError,
    },
}

impl Failure {
    /// A failed call. An error of the server is explained for the session file `file`.
    pub(super) fn of_call(method: &'static str, source: ClientError, file: &Path) -> Self {
        match source.rpc() {
            Some(error) => {
                let text = explain(method, error, file);
                let data = error.data.clone().unwrap_or(Value::Null);
                match data["kind"].as_str() {
                    Some("nothingToCompact" | "alreadyCompacted") => Self::NothingToDo { text, data },
                    _ => Self::Answered { text, code: error.code, data },
                }
            }
            None => Self::Call { method, source },
        }
    }

    /// Nothing to do, for a reason without numbers.
    pub(super) fn nothing(text: &str) -> Self {
        Self::NothingToDo { text: text.to_owned(), data: Value::Null }
    }

    /// The exit code of the command.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::NothingToDo { .. } => 3,
            Self::Arguments(_) => 2,
            _ => 1,
        }
    }

    /// The kind of the failure, which is the server's name for it if there is one.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Output(_) => "output",
            Self::System { .. } => "system",
            Self::File { .. } => "file",
            Self::Refused(_) => "refused",
            Self::Arguments(_) => "invalidArguments",
            Self::Call { source: ClientError::MessageTooLarge(_), .. } => "messageTooLarge",
            Self::Call { .. } => "serverGone",
            Self::Answered { data, .. } | Self::NothingToDo { data, .. } | Self::Transcript { data, .. } => {
                ["kind", "reason"].iter().find_map(|name| data[*name].as_str()).unwrap_or("nothingToDo")
            }
        }
    }

    /// The failure as JSON.
    pub(super) fn to_json(&self) -> Value {
        let mut error = json!({ "message": self.to_string() });
        if let Self::NothingToDo { data, .. } | Self::Answered { data, .. } | Self::Transcript { data, .. } = self
            && !data.is_null()
        {
            error["data"] = data.clone();
        }
        if let Self::Answered { code, .. } = self {
            error["code"] = json!(code);
        }
        json!({ "error": error, "exitCode": self.exit_code() })
    }
}

/// Explains an error of the server: what it means for the file, and what to do.
fn explain(method: &str, error: &RpcError, file: &Path) -> String {
    let data = error.data.as_ref().unwrap_or(&Value::Null);
    let file = one_line(&file.display().to_string());
    let message = one_line(&error.message);
    match data["kind"].as_str().unwrap_or_default() {
        "sessionLocked" => locked(data, &file),
        "notASession" => format!("{file} is not a session file; it was left untouched ({message})"),
        "sessionNotFound" => format!("{file} cannot be opened: {message}"),
        "readOnly" => format!("{file} cannot be written: {message}"),
        "nothingToCompact" => nothing_to_compact(data),
        "alreadyCompacted" => already_compacted(data),
        "summarizerFailed" => format!("the summarizer failed: {message}. The session is unchanged; {}", retry(data)),
        "summaryRejected" => format!("the summary was rejected: {message}. The session is unchanged; try again"),
        // The message has the path. The file of the command may be another one.
        "writeFailed" if method == "createSession" => format!("the session could not be made: {message}"),
        "writeFailed" => format!("{file} could not be written: {message}. Nothing was changed"),
        "invalidParams" => message,
        "invalidSettings" => format!("a setting is wrong: {message}"),
        _ => format!("{method}: {message} (code {})", error.code),
    }
}

/// Explains why nothing would be compacted. `data` is the data of the error, or the result of `prepareCompaction`.
pub(super) fn nothing_to_compact(data: &Value) -> String {
    if data["contextTokens"] == 0 {
        return "nothing to compact: the session has no messages".to_owned();
    }
    if let Some(call) = data["toolCallId"].as_str().map(one_line) {
        return format!(
            "nothing to compact: the result of tool call {call} has not come, and all from that call on is kept. Go on \
             with the session first"
        );
    }
    let mut text = "nothing to compact".to_owned();
    if let (Some(tokens), Some(keep)) = (data["contextTokens"].as_u64(), data["keepRecentTokens"].as_u64()) {
        let (tokens, keep) = (thousands(tokens), thousands(keep));
        text += &format!(": the context has {tokens} tokens, and the {keep} most recent ones are always kept");
    }
    text + ". Keeping fewer recent tokens (--keep-recent) would compact more"
}

/// Explains that nothing follows the last compaction, and names it.
pub(super) fn already_compacted(data: &Value) -> String {
    let compaction = data["compactionId"].as_str().map(one_line);
    let id = compaction.map(|id| format!(" ({id})")).unwrap_or_default();
    format!("already compacted: nothing follows the last compaction{id}. Go on with the session first")
}

fn locked(data: &Value, file: &str) -> String {
    let holder = data["pid"].as_u64().map_or("another program".to_owned(), |pid| format!("process {pid}"));
    let host = data["host"].as_str().map(|host| format!(" on {}", one_line(host))).unwrap_or_default();
    format!("{file} is open in {holder}{host}. Close it there and try again; reading works: compactd tree {file}")
}

fn retry(data: &Value) -> String {
    let attempts = data["attempts"].as_u64().map(|attempts| format!(" after {}", count(attempts, "attempt")));
    match data["retryable"].as_bool() {
        Some(true) => format!("gave up{}, a later try may work", attempts.unwrap_or_default()),
        _ => "check its settings, or choose another one (--summarizer)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(data: Value, expected: Expect) {
        let error = RpcError { code: 1003, message: "open \u{1b}[2Jthe file".to_owned(), data: Some(data) };
        expected.assert_eq(&explain("openSession", &error, Path::new("work.jsonl")));
    }

    #[test]
    fn every_error_of_the_server_is_explained() {
        check(
            json!({"kind": "sessionLocked", "pid": 4711, "host": "box"}),
            expect![
                "work.jsonl is open in process 4711 on box. Close it there and try again; reading works: compactd tree work.jsonl"
            ],
        );
        check(
            json!({"kind": "notASession"}),
            expect!["work.jsonl is not a session file; it was left untouched (open [2Jthe file)"],
        );
        check(
            json!({"kind": "nothingToCompact", "contextTokens": 1200, "keepRecentTokens": 20000, "messages": 8}),
            expect![
                "nothing to compact: the context has 1,200 tokens, and the 20,000 most recent ones are always kept. Keeping fewer recent tokens (--keep-recent) would compact more"
            ],
        );
        check(
            json!({"kind": "nothingToCompact", "toolCallId": "call_7", "contextTokens": 9, "keepRecentTokens": 1}),
            expect![
                "nothing to compact: the result of tool call call_7 has not come, and all from that call on is kept. Go on with the session first"
            ],
        );
        check(
            json!({"kind": "alreadyCompacted", "compactionId": "0a1b2c3d"}),
            expect!["already compacted: nothing follows the last compaction (0a1b2c3d). Go on with the session first"],
        );
        check(
            json!({"kind": "summarizerFailed", "retryable": true, "attempts": 3}),
            expect![
                "the summarizer failed: open [2Jthe file. The session is unchanged; gave up after 3 attempts, a later try may work"
            ],
        );
        check(json!({"kind": "internalError"}), expect!["openSession: open [2Jthe file (code 1003)"]);
        check(Value::Null, expect!["openSession: open [2Jthe file (code 1003)"]);
    }
}
