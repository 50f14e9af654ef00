//! `mcp`: the commands as tools of the Model Context Protocol, on standard input and output.
//!
//! Every call of a tool starts a server and opens the session again, as the commands do. A call therefore sees what
//! other programs have written since, its lock ends with it, and calls do not disturb each other.

mod lines;

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, ServiceExt as _};
use rmcp::transport::stdio_pipes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signal_hook::low_level::emulate_default_handler;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::RwLock;

use self::lines::Lines;
use super::arguments::{CompactOptions, McpOptions};
use super::connection::{ALL_SESSIONS, Connection, Source, directory, length, list, number};
use super::failure::Failure;
use super::in_process::ENDING;
use super::terminal::{Terminal, count, line_of_member, thousands};
use super::{compact, inspect};

/// Maximum time to wait for running calls after the client has gone, or after a signal.
const GRACE: Duration = Duration::from_secs(5);
/// Columns of a line in drawings and lists.
const COLUMNS: usize = 160;

const INSTRUCTIONS: &str = "\
compactd keeps the whole conversation of an agent on disk, also what a compaction took out of the context. Use `recall` \
when something from earlier in this conversation is missing: a decision, an error text, a file's content, what the user \
asked for. Use `search` for exact words, with `all` also in other sessions. Tools that name no \
session use the default one.";

/// Serves the tools until the client closes standard input, or a signal ends the program.
pub(super) async fn run(options: &McpOptions) -> Result<(), Failure> {
    let running = Arc::new(RwLock::new(()));
    let tools = Tools { options: options.clone(), running: Arc::clone(&running) };
    let mut signals = Vec::new();
    for kind in ENDING.map(SignalKind::from_raw) {
        let taken = signal(kind).map_err(|source| Failure::System { doing: "take the signals", source })?;
        signals.push((kind.as_raw_value(), taken));
    }
    let received = poll_fn(|context| {
        let mut ready =
            signals.iter_mut().filter_map(|(number, taken)| taken.poll_recv(context).is_ready().then_some(*number));
        ready.next().map_or(Poll::Pending, Poll::Ready)
    });
    let outcome = tokio::select! {
        // Dropping the service cancels its calls.
        number = received => Err(number),
        outcome = serve(tools) => Ok(outcome),
    };
    // After the client has gone, the SDK has waited some seconds for running calls and then cancelled them. Their servers
    // still end the operation and release the lock.
    let _late = tokio::time::timeout(GRACE, running.write()).await;
    outcome.unwrap_or_else(|number| {
        // It does not return for these signals.
        let ended = emulate_default_handler(number);
        ended.map_err(|source| Failure::System { doing: "end by a signal", source })
    })
}

/// Serves the tools until the client closes standard input.
async fn serve(tools: Tools) -> Result<(), Failure> {
    let (input, output) = stdio_pipes();
    let service = match tools.serve(Lines::new(input, output)).await {
        Ok(service) => service,
        // A client may leave before it initializes the server.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Failure::Refused(format!("the MCP client could not be served: {error}"))),
    };
    let ended = service.waiting().await;
    ended.map(|_| ()).map_err(|error| Failure::Refused(format!("the MCP service failed: {error}")))
}

/// The tools with the options of the command line.
#[derive(Debug)]
struct Tools {
    options: McpOptions,
    /// Each running call holds this lock for reading.
    running: Arc<RwLock<()>>,
}

/// A call of a tool.
#[derive(Debug, Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "snake_case")]
enum Call {
    Recall(Recall),
    Search(Search),
    ListSessions(ListSessions),
    ShowContext(ShowContext),
    Compact(Compact),
    Undo(Undo),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Recall {
    /// Words that the conversation would have used; names of files, functions and errors find most.
    query: Option<String>,
    /// Ids of entries whose whole text is wanted, instead of a query.
    entry_ids: Option<Vec<String>>,
    /// With one id: where in its text to read on, in UTF-16 units, as a note or an earlier answer says.
    offset: Option<u64>,
    /// Tokens that the texts may have together; 2000 by default.
    #[schemars(range(min = 1))]
    max_tokens: Option<u64>,
    /// Path of the session file; the default session without it.
    session: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Search {
    /// Words that must all occur, whatever their case. A phrase in double quotes counts as one word.
    query: String,
    /// Path of the only session file to search; without it the session that this server was started for, else all
    /// sessions of all directories.
    session: Option<String>,
    /// Whether to search all sessions of all directories.
    #[serde(default)]
    all: bool,
    /// Hits at most; 20 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListSessions {
    /// Whether to list the sessions of all directories instead of those of the current one.
    #[serde(default)]
    all: bool,
    /// Sessions at most; 20 by default.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ShowContext {
    /// What to show.
    what: View,
    /// Path of the session file; the default session without it.
    session: Option<String>,
    /// Byte of the text to begin at, as the end of a longer text says; 0 by default.
    #[serde(default)]
    offset: usize,
    /// Bytes of text at most; 20000 by default.
    #[schemars(range(min = 1))]
    max_bytes: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum View {
    /// The messages that a model gets now.
    Context,
    /// The summary of the last compaction.
    Summary,
    /// The branches of the session.
    Tree,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Compact {
    /// Whether to say what would be done and change nothing.
    #[serde(default)]
    dry_run: bool,
    /// What the summary should pay attention to.
    instructions: Option<String>,
    /// Name of the summarizer instead of the configured one; `extractive` needs no model.
    summarizer: Option<String>,
    /// Tokens of recent context that stay as they are, instead of the configured number.
    keep_recent_tokens: Option<u64>,
    /// Path of the session file; the default session without it.
    session: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Undo {
    /// Id of the compaction, instead of the last one of the branch.
    entry_id: Option<String>,
    /// Path of the session file; the default session without it.
    session: Option<String>,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("compactd", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let _running = self.running.read().await;
        if !tools().iter().any(|tool| tool.name == request.name) {
            let names: Vec<_> = tools().into_iter().map(|tool| tool.name).collect();
            let text = format!("no tool is called {:?}; there are {}", request.name, names.join(", "));
            return Err(rmcp::ErrorData::invalid_params(text, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let call = serde_json::from_value(json!({ "name": request.name, "arguments": arguments }));
        let outcome = match call {
            Ok(call) => self.answer(&call, context.ct.cancelled()).await,
            Err(error) => Err(Failure::Arguments(format!("the arguments of {}: {error}", request.name))),
        };
        Ok(result(outcome).into())
    }
}

/// The result for the client. A failure is a result too, so that the model reads it: its kind, a sentence, and the ids
/// and numbers behind it.
fn result(outcome: Result<String, Failure>) -> CallToolResult {
    match outcome {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text.trim_end())]),
        Err(failure) => {
            let mut error = failure.to_json()["error"].take();
            error["kind"] = json!(failure.kind());
            let data = if error["data"].is_object() { format!("\n{}", error["data"]) } else { String::new() };
            let text = format!("{}: {failure}{data}", failure.kind());
            let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
            result.structured_content = Some(error);
            result
        }
    }
}

impl Tools {
    /// The text that answers a call. `cancelled` ends the operation of the call.
    async fn answer(&self, call: &Call, cancelled: impl Future<Output = ()>) -> Result<String, Failure> {
        let directory = directory(self.options.cwd.as_deref())?;
        let mut connection = Connection::start_process(Path::new(ALL_SESSIONS), directory).await?;
        let outcome = tokio::select! {
            outcome = self.answer_over(&mut connection, call) => outcome,
            () = cancelled => Err(Failure::Refused("the call was cancelled".to_owned())),
        };
        connection.finish(outcome).await
    }

    async fn answer_over(&self, connection: &mut Connection, call: &Call) -> Result<String, Failure> {
        match call {
            Call::Recall(call) => {
                let session = self.open(connection, call.session.as_deref(), true).await?;
                recall(connection, &session, call).await
            }
            Call::Search(call) => {
                let session = match (&call.session, &self.options.session, call.all) {
                    (Some(_), _, true) => {
                        let text = "the arguments of search: `session` names one session, `all` asks for all of them";
                        return Err(Failure::Arguments(text.to_owned()));
                    }
                    (None, _, true) | (None, None, false) => None,
                    (named, _, false) => Some(self.open(connection, named.as_deref(), true).await?),
                };
                search(connection, session.as_ref(), call).await
            }
            Call::ListSessions(call) => {
                let params = json!({ "all": call.all, "limit": call.limit.unwrap_or(20) });
                let found = connection.call("listSessions", &params).await?;
                Ok(match inspect::session_list(&found, terminal()) {
                    lines if lines.is_empty() => "No session was found; `all` lists other directories too.".to_owned(),
                    lines => with_more(lines, &found),
                })
            }
            Call::ShowContext(call) => {
                let session = self.open(connection, call.session.as_deref(), true).await?;
                show(connection, &session, call).await
            }
            Call::Compact(call) => {
                let session = self.open(connection, call.session.as_deref(), call.dry_run).await?;
                compact(connection, &session, call).await
            }
            Call::Undo(call) => {
                let session = self.open(connection, call.session.as_deref(), false).await?;
                let undone = compact::undo_compaction(connection, &session.opened, call.entry_id.as_deref()).await?;
                Ok(session.titled(&compact::undone_text(&undone, terminal())))
            }
        }
    }

    /// Opens the session that a call names, or the default session.
    async fn open(
        &self,
        connection: &mut Connection,
        named: Option<&str>,
        read_only: bool,
    ) -> Result<Session, Failure> {
        let file = match named.map(Path::new).or(self.options.session.as_deref()) {
            Some(file) => Source::file(file)?.path().to_owned(),
            None => latest(connection).await?,
        };
        let opened = connection.open_session(&file, read_only).await?;
        Ok(Session { file, opened })
    }
}

/// The file of the most recent session of the directory.
async fn latest(connection: &Connection) -> Result<PathBuf, Failure> {
    let found = connection.call("listSessions", &json!({ "limit": 1 })).await?;
    let path = found["sessions"][0]["path"].as_str().map(PathBuf::from);
    path.ok_or_else(|| {
        let text = "this directory has no session: name one by `session`; `list_sessions` with `all` finds them";
        Failure::Refused(text.to_owned())
    })
}

/// An open session.
struct Session {
    file: PathBuf,
    /// The result of `openSession`.
    opened: Value,
}

impl Session {
    fn id(&self) -> &Value {
        &self.opened["sessionId"]
    }

    /// The text under a title that names the session.
    fn titled(&self, text: &str) -> String {
        format!("Session {}\n\n{text}", self.file.display())
    }
}

async fn recall(connection: &Connection, session: &Session, call: &Recall) -> Result<String, Failure> {
    // The server takes null as a missing member.
    let params = json!({
        "sessionId": session.id(),
        "query": call.query,
        "entryIds": call.entry_ids,
        "offset": call.offset,
        "maxTokens": call.max_tokens.unwrap_or(2000),
    });
    let found = connection.call("recall", &params).await?;
    let omitted = number(&found["omitted"]);
    let mut text = match length(&found["entries"]) {
        0 if omitted == 0 => "Nothing that a compaction took out of the context answers this. `search` finds words in \
                              every entry, also in those that are still in the context."
            .to_owned(),
        entries => format!("{}, {}", count(entries, "entry"), count(number(&found["tokens"]), "token")),
    };
    if omitted > 0 {
        text += &format!("; {} more did not fit: a larger maxTokens gives them", thousands(omitted));
    }
    for entry in list(&found["entries"]) {
        let part = if entry["truncated"] == true { ", in part" } else { "" };
        text += &format!("\n\n[{}{part}]\n{}", heading(entry), entry["text"].as_str().unwrap_or_default());
        if let Some(next) = entry["nextOffset"].as_u64() {
            text += &format!("\n[offset {next} reads on]");
        }
    }
    Ok(session.titled(&text))
}

async fn search(connection: &Connection, session: Option<&Session>, call: &Search) -> Result<String, Failure> {
    let mut params = json!({ "query": call.query, "limit": call.limit.unwrap_or(20) });
    match session {
        Some(session) => params["sessionId"] = session.id().clone(),
        None => params["all"] = json!(true),
    }
    let found = connection.call("searchSession", &params).await?;
    let mut text = format!("{} of {}", count(length(&found["hits"]), "hit"), call.query);
    for hit in list(&found["hits"]) {
        let (path, preview) = (line_of_member(hit, "path"), line_of_member(hit, "preview"));
        text += &format!("\n\n[{}] {path}\n{preview}", heading(hit));
    }
    Ok(with_more(text, &found))
}

/// The id, the role and the time of an entry.
fn heading(entry: &Value) -> String {
    let (id, time) = (line_of_member(entry, "entryId"), line_of_member(entry, "timestamp"));
    format!("{id} {}, {time}", inspect::role_or_type(entry))
}

/// The text with a note if there is more.
fn with_more(text: String, found: &Value) -> String {
    if found["nextCursor"].is_string() { text + "\n\nThere are more: a larger limit gives them." } else { text }
}

async fn show(connection: &Connection, session: &Session, call: &ShowContext) -> Result<String, Failure> {
    let params = json!({ "sessionId": session.id() });
    let text = match call.what {
        View::Context => inspect::context_text(&connection.call("getContext", &params).await?, terminal()),
        View::Summary => {
            let compaction = inspect::compaction_of_summary(connection, session.id()).await?;
            compaction["summary"].as_str().unwrap_or_default().to_owned()
        }
        View::Tree => inspect::drawing(&session.opened, &connection.call("getTree", &params).await?, false, terminal()),
    };
    Ok(session.titled(&part(&text, call.offset, call.max_bytes.unwrap_or(20_000))))
}

/// At most `max_bytes` of a text from `offset` on, but at least one character, so that repeated calls reach the end. A
/// note says where the rest begins.
fn part(text: &str, offset: usize, max_bytes: usize) -> String {
    let start = text.floor_char_boundary(offset);
    let least = text.ceil_char_boundary((start + 1).min(text.len()));
    let end = text.floor_char_boundary(start.saturating_add(max_bytes)).max(least);
    let rest = match text.len() - end {
        0 => String::new(),
        more => format!("\n\n[{more} more bytes: offset {end} shows them]"),
    };
    format!("{}{rest}", &text[start..end])
}

async fn compact(connection: &Connection, session: &Session, call: &Compact) -> Result<String, Failure> {
    let options = CompactOptions {
        file: session.file.clone(),
        dry_run: call.dry_run,
        instructions: call.instructions.clone(),
        summarizer: call.summarizer.clone(),
        keep_recent: call.keep_recent_tokens,
        json: false,
    };
    compact::report(connection, &session.opened, &session.file, &options, terminal()).await
}

fn terminal() -> Terminal {
    Terminal::plain(COLUMNS)
}

/// The tools as a client lists them.
fn tools() -> Vec<Tool> {
    let reading = || ToolAnnotations::new().read_only(true).open_world(false);
    let writing = || ToolAnnotations::new().read_only(false).destructive(false).open_world(false);
    vec![
        tool::<Recall>(
            "recall",
            "Find old facts of a conversation again: returns the original passages of messages and tool results that \
             compactions took out of the context, those that answer the query best first, word for word. With entryIds \
             it returns these entries whole.",
            reading(),
        ),
        tool::<Search>(
            "search",
            "Find entries by their words in one session, or in all of this machine. Returns a preview, the id and the \
             session of each hit, newest first; `recall` with entryIds returns their whole text.",
            reading(),
        ),
        tool::<ListSessions>(
            "list_sessions",
            "List the sessions of this directory, or all, newest activity first, with the path that other tools take \
             as `session`.",
            reading(),
        ),
        tool::<ShowContext>(
            "show_context",
            "Show the messages that a model gets now, the summary of the last compaction, or the branches of a session. \
             A long text comes in parts.",
            reading(),
        ),
        tool::<Compact>(
            "compact",
            "Replace the older part of a session's context by a summary, or with dryRun tell what would be replaced, \
             kept and asked for. One entry is added to the session file; nothing is deleted, and `undo` takes it back.",
            writing(),
        ),
        tool::<Undo>(
            "undo",
            "Take a compaction back: the context from before returns, with what came later, on a new branch. Nothing is \
             deleted.",
            writing(),
        ),
    ]
}

fn tool<T: JsonSchema + 'static>(name: &'static str, description: &'static str, hints: ToolAnnotations) -> Tool {
    let mut tool = Tool::new(name, description, serde_json::Map::new()).with_input_schema::<T>();
    simplify(Arc::make_mut(&mut tool.input_schema));
    tool.with_annotations(hints)
}

/// Leaves out what some clients and providers refuse in a schema: lists of types, formats of numbers.
fn simplify(schema: &mut serde_json::Map<String, Value>) {
    schema.remove("$schema");
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    for member in members.into_iter().flat_map(|members| members.values_mut()).filter_map(Value::as_object_mut) {
        member.remove("format");
        if let Some(Value::Array(types)) = member.get("type")
            && let Some(only) = types.iter().find(|name| *name != "null").cloned()
        {
            member.insert("type".to_owned(), only);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_tool_can_be_called_and_describes_its_arguments() {
        for tool in tools() {
            let schema = tool.schema_as_json_value();
            let members = schema["properties"].as_object().expect("an object");
            let is_simple = |member: &Value| member["type"].is_string() || member["oneOf"].is_array();
            assert!(members.values().all(|member| member["description"].is_string() && is_simple(member)), "{schema}");
            assert_eq!(schema["additionalProperties"], false, "{schema}");
            let call = json!({ "name": tool.name, "arguments": { "noSuchMember": 1 } });
            let error = serde_json::from_value::<Call>(call).expect_err("unknown members are refused").to_string();
            assert!(error.contains("noSuchMember"), "{}: {error}", tool.name);
        }
    }

    #[test]
    fn a_long_text_comes_in_parts_that_add_up() {
        let check =
            |offset: usize, max_bytes: usize, expected: &str| assert_eq!(part("aßcd", offset, max_bytes), expected);
        check(0, 100, "aßcd");
        check(0, 2, "a\n\n[4 more bytes: offset 1 shows them]");
        check(1, 2, "ß\n\n[2 more bytes: offset 3 shows them]");
        check(1, 1, "ß\n\n[2 more bytes: offset 3 shows them]");
        check(3, 2, "cd");
        check(5, 2, "");
        check(usize::MAX, usize::MAX, "");
    }
}
