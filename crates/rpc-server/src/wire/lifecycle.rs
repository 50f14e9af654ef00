//! Lifecycle: `initialize`, `updateSettings`, `shutdown`, `exit`, `$/cancelRequest`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client::SummarizeMode;
use super::json::FreeObject;
use super::json::{present, unchecked};
use super::sessions::AutoCompactionOptions;

/// Parameters of `initialize`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Version of the protocol that the client speaks: 1.
    pub protocol_version: u64,
    /// Who the client is.
    pub client_info: ClientInfo,
    /// Working directory of sessions that name none. Default: that of the server.
    pub cwd: Option<String>,
    /// Agent directory. Default: `$PI_CODING_AGENT_DIR`, then `~/.pi/agent`.
    pub agent_dir: Option<String>,
    /// A flat directory of sessions, instead of one per working directory.
    pub session_dir: Option<String>,
    /// Settings that override the settings files.
    #[serde(default, deserialize_with = "unchecked")]
    pub settings: Option<FreeObject>,
    /// Settings that the settings files override. A host whose model shall write the summaries where a person has not
    /// chosen gives `{"compactd": {"summarizer": ["host", "extractive"]}}`.
    #[serde(default, deserialize_with = "unchecked")]
    pub default_settings: Option<FreeObject>,
    /// Process id of the parent. The server ends when the parent dies.
    pub process_id: Option<u32>,
    /// Requests that the client answers, and notifications that it wants.
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

/// Requests that a client answers, and notifications that it wants.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// The client answers `summarize`.
    pub summarize: bool,
    /// Modes of `summarize` that the client answers: `transcript` always, `continue` if it is listed here. A client
    /// that continues must be able to repeat the conversation as in its last request, with the same model, prompt and
    /// tools.
    #[serde(rename = "summarizeModes")]
    pub summarize_modes: Vec<String>,
    /// Names of the hooks that the client answers.
    pub hooks: Vec<String>,
    /// The client wants progress notifications. Default: true.
    pub progress: Option<bool>,
    /// The client wants whole entries in `entryAppended`, not only `type`, `id`, `parentId` and `timestamp`. Default:
    /// true.
    pub entry_bodies: Option<bool>,
    /// The client wants `details.compactd.ledger` in the results of compactions. Default: true. The stored entry always
    /// has it.
    pub ledgers: Option<bool>,
}

/// Result of `initialize`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Version of the protocol: 1.
    pub protocol_version: u64,
    /// Minor version of the protocol: 1. Each minor version serves clients of the earlier ones. 1.0 does not have this
    /// member.
    pub protocol_minor_version: u64,
    /// Maximum number of bytes of a message of the client, without its framing. A longer one is refused unread, with an
    /// error whose id is null. 1.0 does not have this member.
    pub max_message_bytes: u64,
    /// Who the server is.
    pub server_info: ServerInfo,
    /// What the server offers.
    pub capabilities: ServerCapabilities,
    /// The current settings: defaults, files and `initialize.settings` merged.
    pub settings: FreeObject,
    /// Settings files that could not be read, unknown names, and other problems.
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

/// What the server offers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Methods that it answers.
    pub methods: Vec<String>,
    /// Notifications that it sends.
    pub notifications: Vec<String>,
    /// Hooks that it calls.
    pub hooks: Vec<String>,
    /// Summarizers that are available.
    pub summarizers: Vec<String>,
    /// Modes of `summarize` that it uses.
    pub summarize_modes: Vec<SummarizeMode>,
}

/// Parameters of `updateSettings`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSettingsParams {
    /// Settings that override all others. Objects are merged, other values are replaced.
    #[serde(default, deserialize_with = "unchecked")]
    pub settings: Option<FreeObject>,
    /// The session to which `autoCompaction` applies.
    pub session_id: Option<String>,
    /// Switches automatic compaction of that session on, for this model; null switches it off.
    #[serde(default, deserialize_with = "present")]
    #[schemars(extend("x-nullDiffers" = true))]
    pub auto_compaction: Option<Option<AutoCompactionOptions>>,
}

/// Result of `updateSettings`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSettingsResult {
    /// The current settings.
    pub settings: FreeObject,
    /// Settings files that cannot be used, and unknown names.
    pub diagnostics: Vec<String>,
}

/// Result of `getStatus`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Who the server is.
    pub server_info: ServerInfo,
    /// Version of the protocol.
    pub protocol_version: u64,
    /// Its minor version.
    pub protocol_minor_version: u64,
    /// Process id of the server.
    pub process_id: u32,
    /// Milliseconds since the server started.
    pub uptime_ms: u64,
    /// Open sessions, ordered by id.
    pub sessions: Vec<OpenSessionStatus>,
    /// Running compactions, navigations and forks.
    pub operations: Vec<OperationStatus>,
    /// Memory use of the server.
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
    /// Whether it is read-only.
    pub read_only: bool,
    /// Whether automatic compaction is on.
    pub auto_compaction: bool,
}

/// A running operation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// The session.
    pub session_id: String,
    /// Id of the operation.
    pub operation_id: String,
}

/// Memory use of the server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryStatus {
    /// Bytes in physical memory. Null if the system does not report them.
    pub resident_bytes: Option<u64>,
    /// Maximum address space of the process in bytes, if it is limited.
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

/// `null`: the result of calls without a result.
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
