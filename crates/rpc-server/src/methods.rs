//! The list of methods: name, handler, parameters, result, ordering scope. Dispatch, the OpenRPC document, the schemas
//! and the client types are derived from it.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use jsonrpsee::RpcModule;
use jsonrpsee::core::RegisterMethodError;
use jsonrpsee::types::{ErrorObjectOwned, Params};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use crate::arrivals::Scope;
use crate::call::{CallContext, Reply};
use crate::errors::RpcError;
use crate::handlers::{append, branches, compaction, lifecycle, read, search, sessions, subscriptions};
use crate::wire::*;

/// A method as the generated documents describe it.
#[derive(Debug)]
pub struct MethodDescription {
    /// Its name.
    pub name: &'static str,
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
    ($($name:literal $handler:path, $params:ty => $result:ty, $scope:ident, $summary:literal, [$($error:literal),*];)*) => {
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
        "Initializes the server. It must be the first request.",
        ["invalidRequest", "invalidSettings"];
    "updateSettings" lifecycle::update_settings, UpdateSettingsParams => UpdateSettingsResult, Barrier,
        "Changes or returns the settings, and switches automatic compaction of a session on or off.",
        ["invalidSettings", "sessionNotFound"];
    "shutdown" lifecycle::shutdown, NoParams => Null, Barrier,
        "Ends all operations and closes all sessions. The notification `exit` follows.",
        [];
    "ping" lifecycle::ping, NoParams => Null, Free,
        "Answers at once, even before `initialize`.",
        [];
    "getStatus" lifecycle::get_status, NoParams => ServerStatus, Free,
        "Returns open sessions, running operations, memory use and versions of the server.",
        [];
    "rpc.discover" lifecycle::discover, NoParams => FreeObject, Free,
        "Returns the OpenRPC document of this server.",
        [];

    "createSession" sessions::create, CreateSessionParams => OpenSessionResult, Opening,
        "Creates a session and opens it.",
        ["writeFailed", "sessionIdInUse"];
    "openSession" sessions::open, OpenSessionParams => OpenSessionResult, Opening,
        "Opens a session file.",
        ["sessionNotFound", "sessionLocked", "notASession", "sessionIdInUse"];
    "continueSession" sessions::continue_recent, ContinueSessionParams => OpenSessionResult, Opening,
        "Opens the most recent session of a working directory.",
        ["sessionNotFound", "sessionLocked", "notASession", "sessionIdInUse"];
    "subscribe" subscriptions::subscribe, SubscribeParams => SubscribeResult, Write,
        "Sends each entry that another program writes into a session by `entryAppended`, when it happens.",
        ["sessionNotFound", "entryNotFound"];
    "unsubscribe" subscriptions::unsubscribe, SessionParams => UnsubscribeResult, Write,
        "Ends a subscription.",
        ["sessionNotFound"];
    "closeSession" sessions::close, SessionParams => Null, Write,
        "Flushes a session and releases its lock.",
        ["sessionNotFound", "writeFailed"];
    "listSessions" sessions::list, ListSessionsParams => ListSessionsResult, Free,
        "Lists sessions, newest activity first.",
        [];
    "setSessionName" sessions::set_name, SetSessionNameParams => AppendedResult, Write,
        "Names a session.",
        ["sessionNotFound", "writeFailed", "readOnly"];
    "getSessionStats" sessions::stats, SessionParams => SessionStats, Read,
        "Counts messages, tokens and cost of a session.",
        ["sessionNotFound"];
    "checkSession" sessions::check, CheckSessionParams => CheckSessionResult, Read,
        "Reads every body of a session and reports problems.",
        ["sessionNotFound", "notASession"];

    "appendMessage" append::append_message, AppendMessageParams => AppendMessageResult, Write,
        "Appends a message at the leaf.",
        ["sessionNotFound", "writeFailed", "leafMoved", "readOnly"];
    "appendMessages" append::append_messages, AppendMessagesParams => AppendMessagesResult, Write,
        "Appends all messages at the leaf, or none.",
        ["sessionNotFound", "writeFailed", "leafMoved", "readOnly"];
    "appendEntry" append::append_entry, AppendEntryParams => AppendedResult, Write,
        "Appends an entry that is not a message at the leaf.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "leafMoved", "readOnly"];
    "getEntry" read::get_entry, EntryParams => GetEntryResult, Read,
        "Returns one entry.",
        ["sessionNotFound", "entryNotFound"];
    "getEntries" read::get_entries, GetEntriesParams => EntriesResult, Read,
        "Returns entries in file order, or the entries with some ids.",
        ["sessionNotFound", "entryNotFound"];
    "getBranch" read::get_branch, GetBranchParams => EntriesResult, Read,
        "Returns the entries from the root to a leaf.",
        ["sessionNotFound", "entryNotFound"];
    "getTree" read::get_tree, SessionParams => GetTreeResult, Read,
        "Returns the tree as a flat list.",
        ["sessionNotFound"];
    "searchSession" search::search, SearchSessionParams => SearchSessionResult, Read,
        "Finds entries by their text, including those that compactions took out of the context.",
        ["sessionNotFound"];
    "recall" search::recall, RecallParams => RecallResult, Read,
        "Returns entries that compactions took out of the context, the best matches for a query first.",
        ["sessionNotFound", "entryNotFound"];
    "setLabel" append::set_label, SetLabelParams => AppendedResult, Write,
        "Sets or clears the label of an entry.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "readOnly"];

    "getContext" read::get_context, GetContextParams => GetContextResult, Read,
        "Returns what the model sees.",
        ["sessionNotFound", "entryNotFound"];
    "getContextUsage" read::get_usage, GetContextUsageParams => ContextUsage, Read,
        "Returns how full a window is.",
        ["sessionNotFound"];
    "estimateTokens" read::estimate_tokens, EstimateTokensParams => EstimateTokensResult, Free,
        "Estimates the tokens of messages or of a text.",
        [];
    "serializeConversation" read::serialize, SerializeConversationParams => SerializeConversationResult, Free,
        "Returns messages as the text that a summarizer reads.",
        [];

    "checkCompaction" compaction::check, CheckCompactionParams => CheckCompactionResult, Read,
        "Decides whether a compaction is due. Changes nothing.",
        ["sessionNotFound", "invalidSettings"];
    "prepareCompaction" compaction::prepare, PrepareCompactionParams => PrepareCompactionResult, Read,
        "Describes what a compaction would do. Changes nothing.",
        ["sessionNotFound", "entryNotFound", "summarizerFailed", "invalidSettings"];
    "compact" compaction::compact, CompactParams => CompactResult, Write,
        "Replaces the older part of the context by a summary.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "leafMoved", "readOnly", "nothingToCompact", "alreadyCompacted", "operationInProgress", "summarizerFailed", "summaryRejected", "cancelledByHook", "invalidHookResult", "invalidSettings"];
    "compactMessages" compaction::compact_messages, CompactMessagesParams => CompactMessagesResult, Free,
        "Compacts messages of the caller, without a session or a file.",
        ["nothingToCompact", "alreadyCompacted", "summarizerFailed", "summaryRejected", "cancelledByHook", "invalidHookResult", "invalidSettings"];
    "abortCompaction" compaction::abort, SessionParams => AbortResult, Free,
        "Aborts a running compaction or branch summary.",
        ["sessionNotFound"];
    "undoCompaction" compaction::undo, UndoCompactionParams => UndoCompactionResult, Write,
        "Restores the context from before a compaction on a new branch, with the later entries.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "readOnly", "operationInProgress"];
    "pinEntry" append::pin, PinEntryParams => PinEntryResult, Write,
        "Pins an entry, so that every compaction keeps it verbatim, or unpins it.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "readOnly", "pinBudgetExceeded"];
    "getPins" append::get_pins, GetPinsParams => GetPinsResult, Read,
        "Returns the pinned entries of a branch.",
        ["sessionNotFound", "entryNotFound"];

    "prepareNavigation" branches::prepare, PrepareNavigationParams => PrepareNavigationResult, Read,
        "Describes what a navigation would do. Changes nothing.",
        ["sessionNotFound", "entryNotFound"];
    "navigateTree" branches::navigate, NavigateTreeParams => NavigateTreeResult, Write,
        "Moves the leaf to another entry of the tree.",
        ["sessionNotFound", "entryNotFound", "writeFailed", "leafMoved", "readOnly", "operationInProgress", "summarizerFailed", "summaryRejected", "invalidHookResult", "invalidSettings"];
    "forkSession" branches::fork, ForkSessionParams => OpenSessionResult, Opening,
        "Copies one branch of a session into a new file and opens it.",
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
