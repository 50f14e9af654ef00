//! The list of methods: name, handler, parameters, result, ordering scope, task. Dispatch, the OpenRPC document, the schemas
//! and the client types are derived from it.
//!
//! The OpenRPC document keeps the order of the rows. The reference groups them by their task.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use jsonrpsee::RpcModule;
use jsonrpsee::core::RegisterMethodError;
use jsonrpsee::types::{ErrorObjectOwned, Params};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::call::{CallContext, Reply};
use crate::errors::{self, RpcError};
use crate::handlers::{branches, compaction, lifecycle, messages, read, sessions};
use crate::wire::*;

pub use crate::arrivals::Scope;

/// A method as the generated documents describe it.
#[derive(Debug)]
pub struct MethodDescription {
    /// Its name.
    pub name: &'static str,
    /// The heading of the reference under which it stands.
    pub task: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What it waits for.
    pub scope: Scope,
    /// Schema of the parameters.
    pub params: Schema,
    /// Schema of the result.
    pub result: Schema,
    /// Kinds of the errors that the method has besides those that every method may have.
    pub errors: &'static [&'static str],
}

macro_rules! methods {
    ($($name:literal $handler:path, $params:ty => $result:ty, $scope:ident, $task:literal, $summary:literal, [$($error:literal),*];)*) => {
        /// Names and scopes, in the order of the documents.
        pub const METHODS: &[(&str, Scope)] = &[$(($name, Scope::$scope)),*];

        /// Registers every method.
        pub fn register(module: &mut RpcModule<()>) -> Result<(), RegisterMethodError> {
            $(register_one::<$params, $result, _, _, _>(module, $name, $handler)?;)*
            Ok(())
        }

        /// Describes every method. Parameters are described as they are read and results as they are written: the
        /// members that may be missing differ.
        pub fn describe(generator: &mut SchemaGenerator, results: &mut SchemaGenerator) -> Vec<MethodDescription> {
            vec![$(MethodDescription {
                name: $name,
                task: $task,
                summary: $summary,
                scope: Scope::$scope,
                params: generator.subschema_for::<$params>(),
                result: results.subschema_for::<$result>(),
                errors: &[$($error),*],
            }),*]
        }
    };
}

methods! {
    "initialize" lifecycle::initialize, InitializeParams => InitializeResult, Barrier,
        "Start, settings and end", "Initializes the server. It must be the first request.",
        ["invalidRequest", "invalidSettings"];
    "updateSettings" lifecycle::update_settings, UpdateSettingsParams => UpdateSettingsResult, Barrier,
        "Start, settings and end", "Changes or returns the settings, and switches automatic compaction of a session on or off.",
        ["invalidSettings", "sessionNotFound"];
    "shutdown" lifecycle::shutdown, NoParams => Null, Barrier,
        "Start, settings and end", "Ends all operations and closes all sessions. The notification `exit` follows.",
        [];
    "ping" lifecycle::ping, NoParams => Null, Free,
        "Start, settings and end", "Answers at once, even before `initialize`.",
        [];
    "getStatus" lifecycle::get_status, NoParams => ServerStatus, Free,
        "Start, settings and end", "Returns open sessions, running operations, memory use and versions of the server.",
        [];
    "rpc.discover" lifecycle::discover, NoParams => FreeObject, Free,
        "Start, settings and end", "Returns the OpenRPC document of this server.",
        [];

    "createSession" sessions::create, CreateSessionParams => OpenSessionResult, Opening,
        "Sessions", "Creates a session and opens it.",
        ["writeFailed", "sessionIdInUse"];
    "openSession" sessions::open, OpenSessionParams => OpenSessionResult, Opening,
        "Sessions", "Opens a session file.",
        ["sessionNotFound", "sessionLocked", "notASession", "sessionIdInUse"];
    "continueSession" sessions::continue_recent, ContinueSessionParams => OpenSessionResult, Opening,
        "Sessions", "Opens the most recent session of a working directory.",
        ["sessionNotFound", "sessionLocked", "notASession", "sessionIdInUse"];
    "subscribe" sessions::subscribe, SubscribeParams => SubscribeResult, Write,
        "Sessions", "Sends each entry that another program writes into a session by `entryAppended`, when it happens.",
        ["sessionNotFound", "entryNotFound"];
    "unsubscribe" sessions::unsubscribe, SessionParams => UnsubscribeResult, Write,
        "Sessions", "Ends a subscription.",
        ["sessionNotFound"];
    "closeSession" sessions::close, SessionParams => Null, Write,
        "Sessions", "Flushes a session and releases its lock.",
        ["sessionNotFound", "writeFailed"];
    "listSessions" sessions::list, ListSessionsParams => ListSessionsResult, Free,
        "Sessions", "Lists sessions, newest activity first.",
        [];
    "setSessionName" sessions::set_name, SetSessionNameParams => AppendedResult, Write,
        "Sessions", "Names a session.",
        ["sessionNotFound", "writeFailed", "readOnly"];
    "getSessionStats" sessions::stats, SessionParams => SessionStats, Read,
        "Sessions", "Counts messages, tokens and cost of a session.",
        ["sessionNotFound"];
    "checkSession" sessions::check, CheckSessionParams => CheckSessionResult, Read,
        "Sessions", "Reads every body of a session and reports problems.",
        ["sessionNotFound", "notASession"];

    "appendMessage" messages::append_message, AppendMessageParams => AppendMessageResult, Write,
        "Writing", "Appends a message at the leaf.",
        ["sessionNotFound", "writeFailed", "leafMoved", "readOnly"];
    "appendMessages" messages::append_messages, AppendMessagesParams => AppendMessagesResult, Write,
        "Writing", "Appends all messages at the leaf, or none.",
        ["sessionNotFound", "writeFailed", "leafMoved", "readOnly"];
    "appendEntry" messages::append_entry, AppendEntryParams => AppendedResult, Write,
        "Writing", "Appends an entry that is not a message at the leaf.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "leafMoved", "readOnly"];
    "getEntry" read::get_entry, EntryParams => GetEntryResult, Read,
        "Reading", "Returns one entry.",
        ["sessionNotFound", "entryNotFound"];
    "getEntries" read::get_entries, GetEntriesParams => EntriesResult, Read,
        "Reading", "Returns entries in file order, or the entries with some ids.",
        ["sessionNotFound", "entryNotFound"];
    "getBranch" read::get_branch, GetBranchParams => EntriesResult, Read,
        "Reading", "Returns the entries from the root to a leaf.",
        ["sessionNotFound", "entryNotFound"];
    "getTree" read::get_tree, SessionParams => GetTreeResult, Read,
        "Reading", "Returns the tree as a flat list.",
        ["sessionNotFound"];
    "searchSession" read::search, SearchSessionParams => SearchSessionResult, Read,
        "Finding", "Finds entries by their text, including those that compactions took out of the context.",
        ["sessionNotFound"];
    "recall" read::recall, RecallParams => RecallResult, Read,
        "Finding", "Returns entries that compactions took out of the context, the best matches for a query first.",
        ["sessionNotFound", "entryNotFound"];
    "setLabel" messages::set_label, SetLabelParams => AppendedResult, Write,
        "Writing", "Sets or clears the label of an entry.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "readOnly"];

    "getContext" read::get_context, GetContextParams => GetContextResult, Read,
        "Reading", "Returns what the model sees.",
        ["sessionNotFound", "entryNotFound"];
    "getContextUsage" read::get_usage, GetContextUsageParams => ContextUsage, Read,
        "Tokens", "Returns how full a window is.",
        ["sessionNotFound"];
    "estimateTokens" read::estimate_tokens, EstimateTokensParams => EstimateTokensResult, Free,
        "Tokens", "Estimates the tokens of messages or of a text.",
        [];
    "serializeConversation" read::serialize, SerializeConversationParams => SerializeConversationResult, Free,
        "Tokens", "Returns messages as the text that a summarizer reads.",
        [];

    "checkCompaction" compaction::check, CheckCompactionParams => CheckCompactionResult, Read,
        "Compaction", "Decides whether a compaction is due. Changes nothing.",
        ["sessionNotFound", "invalidSettings"];
    "prepareCompaction" compaction::prepare, PrepareCompactionParams => PrepareCompactionResult, Read,
        "Compaction", "Describes what a compaction would do. Changes nothing.",
        ["sessionNotFound", "entryNotFound", "summarizerFailed", "invalidSettings"];
    "compact" compaction::compact, CompactParams => CompactResult, Write,
        "Compaction", "Replaces the older part of the context by a summary.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "leafMoved", "readOnly", "nothingToCompact", "alreadyCompacted", "operationInProgress", "summarizerFailed", "summaryRejected", "cancelledByHook", "invalidHookResult", "invalidSettings"];
    "compactMessages" compaction::compact_messages, CompactMessagesParams => CompactMessagesResult, Free,
        "Compaction", "Compacts messages of the caller, without a session or a file.",
        ["nothingToCompact", "alreadyCompacted", "summarizerFailed", "summaryRejected", "cancelledByHook", "invalidHookResult", "invalidSettings"];
    "abortCompaction" compaction::abort, SessionParams => AbortResult, Free,
        "Compaction", "Aborts a running compaction or branch summary.",
        ["sessionNotFound"];
    "undoCompaction" compaction::undo, UndoCompactionParams => UndoCompactionResult, Write,
        "Compaction", "Restores the context from before a compaction on a new branch, with the later entries.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "readOnly", "operationInProgress"];
    "pinEntry" messages::pin, PinEntryParams => PinEntryResult, Write,
        "Writing", "Pins an entry, so that every compaction keeps it verbatim, or unpins it.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "readOnly", "pinBudgetExceeded"];
    "getPins" messages::get_pins, GetPinsParams => GetPinsResult, Read,
        "Reading", "Returns the pinned entries of a branch.",
        ["sessionNotFound", "entryNotFound"];

    "prepareNavigation" branches::prepare_navigation, PrepareNavigationParams => PrepareNavigationResult, Read,
        "Branches", "Describes what a navigation would do. Changes nothing.",
        ["sessionNotFound", "entryNotFound"];
    "navigateTree" branches::navigate, NavigateTreeParams => NavigateTreeResult, Write,
        "Branches", "Moves the leaf to another entry of the tree.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "leafMoved", "readOnly", "operationInProgress", "summarizerFailed", "summaryRejected", "invalidHookResult", "invalidSettings"];
    "forkSession" branches::fork, ForkSessionParams => OpenSessionResult, Opening,
        "Branches", "Copies one branch of a session into a new file and opens it.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "operationInProgress", "cancelledByHook", "invalidHookResult"];
}

macro_rules! notifications {
    ($($name:literal $params:ty, $summary:literal;)*) => {
        /// Names of the notifications that the server sends.
        pub const NOTIFICATIONS: &[&str] = &[$($name),*];

        /// Describes every notification, as the generated documents do.
        pub fn describe_notifications(generator: &mut SchemaGenerator) -> Vec<Value> {
            vec![$(json!({
                "name": $name,
                "summary": $summary,
                "params": generator.subschema_for::<$params>(),
            })),*]
        }
    };
}

notifications! {
    "entryAppended" EntryAppended, "An entry was written by a call, or, in a session with a subscription, by another program.";
    "sessionChanged" SessionChanged, "Another program added entries to the file.";
    "diagnostic" RequestDiagnostic, "A part of a request was ignored. The request is served all the same.";
    "leafChanged" LeafChanged, "A navigation moved the leaf.";
    "compactionStart" CompactionStart, "A compaction started.";
    "compactionProgress" OperationProgress, "Progress of a compaction.";
    "compactionEnd" CompactionEnd, "A compaction ended. There is exactly one for each start.";
    "branchSummaryStart" BranchSummaryStart, "A branch summary started.";
    "branchSummaryProgress" OperationProgress, "Progress of a branch summary.";
    "branchSummaryEnd" BranchSummaryEnd, "A branch summary ended. There is exactly one for each start.";
}

macro_rules! client_methods {
    ($($name:literal $params:ty => $result:ty, $summary:literal;)*) => {
        /// Describes every request to the client, as the generated documents do: what is written, and what is read.
        pub fn describe_client_methods(
            written: &mut SchemaGenerator,
            read: &mut SchemaGenerator,
        ) -> Vec<Value> {
            vec![$(json!({
                "name": $name,
                "summary": $summary,
                "params": written.subschema_for::<$params>(),
                "result": read.subschema_for::<$result>(),
            })),*]
        }
    };
}

client_methods! {
    "summarize" SummarizeParams => SummarizeResult,
        "Asks the client's own model for a summary. Requires `capabilities.summarize`.";
    "sessionBeforeCompact" SessionBeforeCompact => Option<SessionBeforeCompactResult>,
        "A hook before a compaction. It can cancel the compaction or provide the summary.";
    "sessionBeforeTree" SessionBeforeTree => Option<SessionBeforeTreeResult>,
        "A hook before a navigation. It can cancel the navigation or provide summary, instructions and label.";
    "sessionBeforeFork" SessionBeforeFork => Option<CancelResult>,
        "A hook before a fork. It can cancel the fork.";
}

/// Names of the methods, in the order of the documents.
pub fn names() -> Vec<&'static str> {
    METHODS.iter().map(|(name, _)| *name).collect()
}

/// The name and scope of a method. `None` if there is no such method.
pub fn find(method: &str) -> Option<(&'static str, Scope)> {
    METHODS.iter().find(|(name, _)| *name == method).copied()
}

fn register_one<P, R, O, H, F>(
    module: &mut RpcModule<()>,
    name: &'static str,
    handler: H,
) -> Result<(), RegisterMethodError>
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + JsonSchema + Send + 'static,
    O: Into<Reply<R>> + Send,
    H: Fn(CallContext, P) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<O, RpcError>> + Send + 'static,
{
    let schema = Arc::new(OnceLock::new());
    // The parameters come with the context, because the registry would copy them.
    let serve = move |_: Params<'static>, _, extensions: jsonrpsee::Extensions| {
        let (schema, call) = (Arc::clone(&schema), extensions.get::<CallContext>().cloned());
        async move {
            let Some(call) = call else {
                return Err(RpcError::internal("a call came without its context").into());
            };
            let served = async {
                let params = call.read_params::<P>(&schema).await?;
                match handler(call.clone(), params).await?.into() {
                    Reply::Result(result) => call.write_reply(result).await,
                    Reply::Written => Ok(()),
                }
            };
            served.await.map_err(ErrorObjectOwned::from)
        }
    };
    module.register_async_method(name, serve).map(|_| ())
}

/// The document: OpenRPC 1.2.6 with schemas of JSON Schema draft 7, which its tools read. Notifications, errors and
/// scopes are in members that start with `x-`.
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft07();
    settings.definitions_path = "/components/schemas".into();
    let settings = settings.with_transform(WithoutFormats);
    let mut generator = SchemaGenerator::new(settings.clone());
    let mut results = SchemaGenerator::new(settings.for_serialize());
    let descriptions = describe(&mut generator, &mut results);
    let notifications = describe_notifications(&mut results);
    let client_methods = describe_client_methods(&mut results, &mut generator);
    let mut schemas = generator.take_definitions(true);
    schemas.extend(results.take_definitions(true));
    // Code generators name types by their titles.
    for (name, schema) in &mut schemas {
        if let Some(schema) = schema.as_object_mut() {
            schema.entry("title").or_insert_with(|| json!(name));
        }
    }
    let methods: Vec<Value> = descriptions.iter().map(|method| described(method, &schemas)).collect();
    let errors: Vec<Value> = errors::TABLE
        .iter()
        .map(|(code, kind, description)| json!({ "code": code, "kind": kind, "description": description }))
        .collect();
    json!({
        "openrpc": "1.2.6",
        "info": {
            "title": "compactd",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Keeps an LLM agent's conversation tree on disk and its context small.",
            "license": { "name": "MIT" },
        },
        "methods": methods,
        "x-notifications": notifications,
        "x-clientMethods": client_methods,
        "x-clientNotifications": client_notifications(),
        "x-errors": errors,
        "components": { "schemas": schemas },
    })
}

fn client_notifications() -> Value {
    json!([
        { "name": "exit", "summary": "Ends the server. The exit code is 1 if no `shutdown` came before.", "params": null },
        { "name": "$/cancelRequest", "summary": "Cancels a request. It then fails with -32800.", "params": {
            "type": "object",
            "properties": { "id": { "type": ["string", "number"] } },
            "required": ["id"],
        } },
    ])
}

fn described(method: &MethodDescription, schemas: &Map<String, Value>) -> Value {
    json!({
        "name": method.name,
        "summary": method.summary,
        "tags": [{ "name": method.task }],
        "paramStructure": "by-name",
        "params": parameters(method.name, &method.params, schemas),
        "result": { "name": "result", "schema": method.result },
        "errors": method.errors.iter().map(|kind| error(kind)).collect::<Vec<_>>(),
        "x-params": method.params,
        "x-scope": method.scope.name(),
    })
}

/// An error of the table, in the form of OpenRPC.
fn error(kind: &str) -> Value {
    let row = errors::TABLE.iter().find(|(_, name, _)| *name == kind);
    let (code, kind, description) = row.expect("the list of methods names kinds of the table, which a test checks");
    json!({ "code": code, "message": description, "data": { "kind": kind } })
}

/// The members of a parameter type as a list, as OpenRPC requires. Generators name them by their titles.
fn parameters(method: &str, params: &Schema, schemas: &Map<String, Value>) -> Vec<Value> {
    let name = params.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
    let schema = name.and_then(|name| schemas.get(name)).unwrap_or(params.as_value());
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object().into_iter().flatten();
    let mut list: Vec<Value> = members
        .map(|(name, schema)| {
            let mut schema = schema.clone();
            schema["title"] = json!(capitalised(method) + &capitalised(name));
            json!({ "name": name, "required": required.contains(&name.as_str()), "schema": schema })
        })
        .collect();
    // Tools require that mandatory parameters precede optional ones.
    list.sort_by_key(|parameter| parameter["required"] != json!(true));
    list
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Removes integer formats, which are not part of JSON Schema and confuse its tools.
#[derive(Debug, Clone)]
struct WithoutFormats;

impl Transform for WithoutFormats {
    fn transform(&mut self, schema: &mut Schema) {
        if schema.remove("format").is_some_and(|format| format == "uint32") {
            schema.insert("maximum".to_owned(), json!(u32::MAX));
        }
        transform_subschemas(self, schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_name_errors_of_the_table_and_schemas_that_are_there() {
        let document = document();
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        let text = document.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap_or_default();
            assert!(schemas.contains_key(name), "no schema {name}");
        }
        assert!(!text.contains("\"format\":\"u"), "an integer format is left");
        assert!(schemas.iter().all(|(name, schema)| schema["title"] == json!(name)), "a schema has no title");
    }
}
