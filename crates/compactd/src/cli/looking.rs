//! `show`, `list`, `search`, `recall` and `undo`: what is in a session, and the last compaction taken back.

use std::io::Write;

use serde_json::{Value, json};

use super::arguments::{ListOptions, RecallOptions, SearchOptions, ShowOptions, Shown, UndoOptions};
use super::connection::Connection;
use super::failure::Failure;
use super::source::Source;
use super::terminal::{Terminal, cut, one_line};
use super::text::{count, thousands};
use super::wrapped::wrapped_lines;

/// Shows the context, the last summary or one entry of a session.
pub(super) async fn show(options: &ShowOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open(true).await?;
    let found = look(&connection, &session, options).await;
    let ended = connection.shutdown().await;
    let found = found?;
    let text = match (options.json, options.what) {
        (true, _) => found.to_string(),
        (false, Shown::Context) => context(&found, terminal),
        (false, Shown::Summary) => wrapped_lines(&shown(found["summary"].as_str()), terminal.columns()),
        (false, Shown::Entry) => entry(&found["entry"], terminal),
    };
    print(&text, output, ended)
}

async fn look(connection: &Connection, session: &Value, options: &ShowOptions) -> Result<Value, Failure> {
    let id = &session["sessionId"];
    match options.what {
        Shown::Context => connection.call("getContext", &json!({ "sessionId": id })).await,
        Shown::Entry => {
            let entry = options.entry.as_deref().unwrap_or_default();
            connection.call("getEntry", &json!({ "sessionId": id, "entryId": entry })).await
        }
        Shown::Summary => last_summary(connection, id).await,
    }
}

/// The compaction with the last summary of the current branch.
pub(super) async fn last_summary(connection: &Connection, session_id: &Value) -> Result<Value, Failure> {
    let last = last_compaction(connection, session_id).await?;
    last.ok_or_else(|| Failure::nothing("no compaction is on the current branch, so there is no summary"))
}

async fn last_compaction(connection: &Connection, session_id: &Value) -> Result<Option<Value>, Failure> {
    let branch = connection.call("getBranch", &json!({ "sessionId": session_id })).await?;
    let entries = branch["entries"].as_array().into_iter().flatten();
    Ok(entries.rev().find(|entry| entry["type"] == "compaction").cloned())
}

/// The messages of a context, with their number and their tokens.
pub(super) fn context(context: &Value, terminal: Terminal) -> String {
    let messages = context["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let tokens = thousands(context["tokens"]["tokens"].as_u64().unwrap_or_default());
    let title = format!("{}, {tokens} tokens", count(messages.len() as u64, "message"));
    let parts = messages.iter().map(|message| {
        let role = one_line(message["role"].as_str().unwrap_or("message"));
        format!("\n{}\n{}", terminal.cyan(&role), wrapped_lines(&message_text(message), terminal.columns()))
    });
    [terminal.bold(&title)].into_iter().chain(parts).collect::<Vec<_>>().join("\n")
}

fn entry(entry: &Value, terminal: Terminal) -> String {
    let member = |name: &str| one_line(entry[name].as_str().unwrap_or("none"));
    let title = format!("{} {}, {}", member("type"), member("id"), member("timestamp"));
    let text = match (entry.get("message"), entry["summary"].as_str()) {
        (Some(message), _) => message_text(message),
        (None, Some(summary)) => shown(Some(summary)),
        (None, None) => serde_json::to_string_pretty(entry).unwrap_or_default(),
    };
    format!("{}\n{}", terminal.bold(&title), wrapped_lines(&text, terminal.columns()))
}

/// What a message says; calls of tools are told by name and arguments.
fn message_text(message: &Value) -> String {
    let block = |block: &Value| match block["type"].as_str() {
        Some("text") => shown(block["text"].as_str()),
        Some("toolCall") => {
            let name = one_line(block["name"].as_str().unwrap_or_default());
            format!("{name}({})", one_line(&block["arguments"].to_string()))
        }
        other => format!("[{}]", one_line(other.unwrap_or("block"))),
    };
    let whole = ["summary", "output", "content"].iter().find_map(|name| message[*name].as_str());
    match (whole, message["content"].as_array()) {
        (Some(text), _) => shown(Some(text)),
        (None, Some(blocks)) => blocks.iter().map(block).collect::<Vec<_>>().join("\n"),
        (None, None) => String::new(),
    }
}

/// Text of a session with its lines, and without what could steer the terminal.
pub(super) fn shown(text: Option<&str>) -> String {
    let line = |line: &str| {
        let bare = line.trim_start_matches(' ');
        format!("{}{}", &line[..line.len() - bare.len()], one_line(bare))
    };
    // What indents code stays an indent.
    text.unwrap_or_default().replace('\t', "    ").lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Lists sessions, newest activity first.
pub(super) async fn list(options: &ListOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let connection = Connection::start(std::path::Path::new("sessions"))?;
    let params = json!({ "all": options.all, "limit": options.limit });
    let found = ask(&connection, "listSessions", &params).await;
    let ended = connection.shutdown().await;
    let found = found?;
    if options.json {
        return print(&found.to_string(), output, ended);
    }
    if found["sessions"].as_array().is_none_or(Vec::is_empty) {
        return Err(Failure::nothing("no session of this directory was found; --all lists those of all directories"));
    }
    let mut text = session_list(&found, terminal);
    if found["nextCursor"].is_string() {
        text += &format!("\n{}", terminal.dim("There are more: --limit shows them."));
    }
    print(&text, output, ended)
}

/// Two lines for each session that `listSessions` found.
pub(super) fn session_list(found: &Value, terminal: Terminal) -> String {
    let sessions = found["sessions"].as_array().map_or(&[][..], Vec::as_slice);
    let line = |session: &Value| {
        let member = |name: &str| one_line(session[name].as_str().unwrap_or_default());
        let title = session["name"].as_str().map_or_else(|| member("firstMessage"), one_line);
        let messages = count(session["messageCount"].as_u64().unwrap_or_default(), "message");
        let about = cut(&format!("{}  {messages}  {title}", member("modified")), terminal.columns());
        format!("{}\n  {}", terminal.bold(&about), member("path"))
    };
    sessions.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Finds entries by their words.
pub(super) async fn search(options: &SearchOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let mut params = json!({ "query": options.query, "limit": options.limit });
    let (connection, _source) = match &options.file {
        Some(file) => {
            let source = Source::of(file, false)?;
            let (connection, session) = source.open(true).await?;
            params["sessionId"] = session["sessionId"].clone();
            (connection, Some(source))
        }
        None => {
            params["all"] = json!(true);
            let connection = Connection::start(std::path::Path::new("sessions"))?;
            connection.initialize(json!({})).await?;
            (connection, None)
        }
    };
    let found = connection.call("searchSession", &params).await;
    let ended = connection.shutdown().await;
    let found = found?;
    if options.json {
        return print(&found.to_string(), output, ended);
    }
    let hits = found["hits"].as_array().map_or(&[][..], Vec::as_slice);
    if hits.is_empty() {
        return Err(Failure::nothing("no entry has these words"));
    }
    let line = |hit: &Value| {
        let member = |name: &str| one_line(hit[name].as_str().unwrap_or_default());
        let role = hit["role"].as_str().map_or_else(|| member("type"), one_line);
        let place = if options.file.is_some() { String::new() } else { format!("{}\n  ", member("path")) };
        let head = format!("{place}{} {role}", member("entryId"));
        format!("{}  {}", terminal.cyan(&head), cut(&member("preview"), terminal.columns().saturating_sub(24)))
    };
    print(&hits.iter().map(line).collect::<Vec<_>>().join("\n"), output, ended)
}

/// Gives back what compactions took out of the context.
pub(super) async fn recall(options: &RecallOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open(true).await?;
    let params = json!({ "sessionId": session["sessionId"], "query": options.query, "maxTokens": options.max_tokens });
    let found = connection.call("recall", &params).await;
    let ended = connection.shutdown().await;
    let found = found?;
    if options.json {
        return print(&found.to_string(), output, ended);
    }
    let entries = found["entries"].as_array().map_or(&[][..], Vec::as_slice);
    if entries.is_empty() {
        return Err(Failure::nothing("nothing that a compaction took out of the context answers this"));
    }
    let part = |entry: &Value| {
        let member = |name: &str| one_line(entry[name].as_str().unwrap_or_default());
        let role = entry["role"].as_str().map_or_else(|| member("type"), one_line);
        let head = terminal.cyan(&format!("{} {role}, {}", member("entryId"), member("timestamp")));
        format!("{head}\n{}", wrapped_lines(&shown(entry["text"].as_str()), terminal.columns()))
    };
    print(&entries.iter().map(part).collect::<Vec<_>>().join("\n\n"), output, ended)
}

/// Takes the last compaction of a session back.
pub(super) async fn undo(options: &UndoOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, true)?;
    let (connection, session) = source.open(false).await?;
    let outcome = undo_compaction(&connection, &session, options.entry.as_deref()).await;
    let ended = connection.shutdown().await;
    let result = outcome?;
    if options.json {
        return print(&result.to_string(), output, ended);
    }
    print(&undone_text(&result, terminal), output, ended)
}

/// What undoing a compaction did.
pub(super) fn undone_text(result: &Value, terminal: Terminal) -> String {
    let member = |name: &str| one_line(result[name].as_str().unwrap_or_default());
    let copied = count(result["replayed"].as_array().map_or(0, Vec::len) as u64, "entry");
    format!(
        "{}\n{}",
        terminal.bold(&format!("Compaction {} is undone: the model sees all messages again", member("undoneEntryId"))),
        terminal.dim(&format!(
            "{copied} that came later went along. The old branch is still there: {}",
            member("oldLeafId")
        )),
    )
}

/// Undoes the compaction `entry`, or the last one of the branch.
pub(super) async fn undo_compaction(
    connection: &Connection,
    session: &Value,
    entry: Option<&str>,
) -> Result<Value, Failure> {
    let mut params = json!({ "sessionId": session["sessionId"] });
    if let Some(entry) = entry {
        params["entryId"] = json!(entry);
    } else if last_compaction(connection, &session["sessionId"]).await?.is_none() {
        return Err(Failure::nothing("no compaction is on the current branch, so there is nothing to undo"));
    }
    connection.call("undoCompaction", &params).await
}

async fn ask(connection: &Connection, method: &'static str, params: &Value) -> Result<Value, Failure> {
    connection.initialize(json!({})).await?;
    connection.call(method, params).await
}

fn print(text: &str, output: &mut dyn Write, ended: Result<bool, Failure>) -> Result<(), Failure> {
    writeln!(output, "{}", text.trim_end()).map_err(Failure::Output)?;
    ended.map(|_| ())
}
