//! Lifecycle: `initialize`, `updateSettings`, `shutdown`, `exit`, `$/cancelRequest`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::json::FreeObject;
use super::json::{present, unchecked};
use super::requests::SummarizeMode;
use super::sessions::AutoCompactionOptions;

/// Parameters of `initialize`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Version of the protocol that the client speaks: 1.
    pub protocol_version: u64,
    /// Who the client is.
    pub client_info: ClientInfo,
    /// Working directory for sessions that name none; the server's own by default.
    pub cwd: Option<String>,
    /// Agent directory; `$PI_CODING_AGENT_DIR`, then `~/.pi/agent` by default.
    pub agent_dir: Option<String>,
    /// A flat directory of sessions, instead of one per working directory.
    pub session_dir: Option<String>,
    /// Settings over those of the settings files.
    #[serde(default, deserialize_with = "unchecked")]
    pub settings: Option<FreeObject>,
    /// Process id of the parent; when it dies, the server ends.
    pub process_id: Option<u32>,
    /// What the client answers.
    #[serde(default)]
    pub capabilities: ClientCapabilities,
}

/// Who the client is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ClientInfo {
    /// Name of the program.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// What a client answers.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// The client answers `summarize`.
    pub summarize: bool,
    /// Modes of `summarize` that the client answers: `transcript` always, `continue` if it is named here. A client
    /// that continues must be able to send the conversation again as its last request had it, with the same model,
    /// prompt and tools.
    #[serde(rename = "summarizeModes")]
    pub summarize_modes: Vec<String>,
    /// Names of the hooks that the client answers.
    pub hooks: Vec<String>,
    /// The client wants progress notifications. Default: true.
    pub progress: Option<bool>,
    /// The client wants the whole entry in `entryAppended`, and not only its `type`, `id`, `parentId` and
    /// `timestamp`. Default: true.
    pub entry_bodies: Option<bool>,
    /// The client wants `details.compactd.ledger` in the results of compactions. Default: true. The stored entry has
    /// it anyway.
    pub ledgers: Option<bool>,
}

/// Result of `initialize`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Version of the protocol that is spoken: 1.
    pub protocol_version: u64,
    /// Its minor version: 1. Every version 1 serves what earlier ones serve; 1.0 does not say this member.
    pub protocol_minor_version: u64,
    /// Who the server is.
    pub server_info: ServerInfo,
    /// What the server does.
    pub capabilities: ServerCapabilities,
    /// The settings in force: defaults, files and `initialize.settings` merged.
    pub settings: FreeObject,
    /// Settings files that could not be read, and other oddities.
    pub diagnostics: Vec<String>,
}

/// Who the server is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ServerInfo {
    /// `compactd`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What the server does.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Methods that it answers.
    pub methods: Vec<String>,
    /// Notifications that it sends.
    pub notifications: Vec<String>,
    /// Hooks that it calls.
    pub hooks: Vec<String>,
    /// Summarizers that it has.
    pub summarizers: Vec<String>,
    /// Modes in which it asks the client by `summarize`.
    pub summarize_modes: Vec<SummarizeMode>,
}

/// Parameters of `updateSettings`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSettingsParams {
    /// Settings over all those in force: objects merge, other values replace.
    #[serde(default, deserialize_with = "unchecked")]
    pub settings: Option<FreeObject>,
    /// The session that `autoCompaction` is about.
    pub session_id: Option<String>,
    /// Compacts that session by itself for this model from now on; null ends it.
    #[serde(default, deserialize_with = "present")]
    pub auto_compaction: Option<Option<AutoCompactionOptions>>,
}

/// Result of `updateSettings`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSettingsResult {
    /// The settings in force now.
    pub settings: FreeObject,
    /// Settings files that cannot be used as they are.
    pub diagnostics: Vec<String>,
}

/// Result of `getStatus`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Who the server is.
    pub server_info: ServerInfo,
    /// Version of the protocol that is spoken.
    pub protocol_version: u64,
    /// Its minor version.
    pub protocol_minor_version: u64,
    /// Process id of the server.
    pub process_id: u32,
    /// Milliseconds since the server started.
    pub uptime_ms: u64,
    /// Sessions that are open, by id.
    pub sessions: Vec<OpenSessionStatus>,
    /// Compactions, navigations and forks that run.
    pub operations: Vec<OperationStatus>,
    /// What the server takes.
    pub memory: MemoryStatus,
}

/// A session that is open.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionStatus {
    /// The session.
    pub session_id: String,
    /// Path of the file; absent for sessions in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it cannot be written.
    pub read_only: bool,
    /// Whether it is compacted by itself.
    pub auto_compaction: bool,
}

/// An operation that runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// The session.
    pub session_id: String,
    /// Names the operation.
    pub operation_id: String,
}

/// What the server takes of the memory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryStatus {
    /// Bytes that lie in memory; null where the system does not tell.
    pub resident_bytes: Option<u64>,
    /// Bytes of address space that the process may have, where there is a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
}

/// Parameters of methods that take none.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct NoParams {}

/// Parameters of `$/cancelRequest`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct CancelParams {
    /// Id of the request to cancel.
    pub id: RequestId,
}

/// Id of a request: a string or a number, compared as it was written.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub Box<serde_json::value::RawValue>);

impl JsonSchema for RequestId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RequestId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number"] })
    }
}

/// `null`: the result of calls that have nothing to tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

impl Serialize for Null {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl JsonSchema for Null {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Null".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "null" })
    }
}
