//! `show`, `list`, `search` and `recall`: what a session holds. Nothing is written.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::arguments::{ListOptions, RecallOptions, SearchOptions, ShowOptions, Shown};
use super::connection::{ALL_SESSIONS, Connection, Source, length, list as items, number};
use super::failure::Failure;
use super::terminal::{Terminal, count, cut, line_of_member, one_line, safe_lines, thousands, wrapped_lines};

/// Shows the context, the last summary or one entry of a session.
pub(super) async fn show(options: &ShowOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open(true).await?;
    let found = connection.finish(shown_value(&connection, &session, options).await).await?;
    let text = match (options.json, options.what) {
        (true, _) => found.to_string(),
        (false, Shown::Context) => context_text(&found, terminal),
        (false, Shown::Summary) => wrapped_lines(&safe_lines(found["summary"].as_str()), terminal.columns()),
        (false, Shown::Entry) => entry_text(&found["entry"], terminal),
    };
    print(&text, output)
}

async fn shown_value(connection: &Connection, session: &Value, options: &ShowOptions) -> Result<Value, Failure> {
    let id = &session["sessionId"];
    match options.what {
        Shown::Context => connection.call("getContext", &json!({ "sessionId": id })).await,
        Shown::Entry => {
            let entry = options.entry.as_deref().unwrap_or_default();
            connection.call("getEntry", &json!({ "sessionId": id, "entryId": entry })).await
        }
        Shown::Summary => compaction_of_summary(connection, id).await,
    }
}

/// The compaction entry that holds the summary of the current branch.
pub(super) async fn compaction_of_summary(connection: &Connection, session_id: &Value) -> Result<Value, Failure> {
    let compaction = last_compaction(connection, session_id).await?;
    compaction.ok_or_else(|| Failure::nothing("no compaction is on the current branch, so there is no summary"))
}

/// The last compaction entry of the current branch.
pub(super) async fn last_compaction(connection: &Connection, session_id: &Value) -> Result<Option<Value>, Failure> {
    let branch = connection.call("getBranch", &json!({ "sessionId": session_id })).await?;
    Ok(items(&branch["entries"]).iter().rfind(|entry| entry["type"] == "compaction").cloned())
}

/// The messages of a context, with their number and tokens.
pub(super) fn context_text(context: &Value, terminal: Terminal) -> String {
    let tokens = thousands(number(&context["tokens"]["tokens"]));
    let title = format!("{}, {tokens} tokens", count(length(&context["messages"]), "message"));
    let parts = items(&context["messages"]).iter().map(|message| {
        let role = one_line(message["role"].as_str().unwrap_or("message"));
        format!("\n{}\n{}", terminal.cyan(&role), wrapped_lines(&message_text(message), terminal.columns()))
    });
    [terminal.bold(&title)].into_iter().chain(parts).collect::<Vec<_>>().join("\n")
}

fn entry_text(entry: &Value, terminal: Terminal) -> String {
    let member = |name: &str| one_line(entry[name].as_str().unwrap_or("none"));
    let title = format!("{} {}, {}", member("type"), member("id"), member("timestamp"));
    let text = match (entry.get("message"), entry["summary"].as_str()) {
        (Some(message), _) => message_text(message),
        (None, Some(summary)) => safe_lines(Some(summary)),
        (None, None) => serde_json::to_string_pretty(entry).unwrap_or_default(),
    };
    format!("{}\n{}", terminal.bold(&title), wrapped_lines(&text, terminal.columns()))
}

/// The text of a message. A tool call is shown as its name and arguments.
fn message_text(message: &Value) -> String {
    let block = |block: &Value| match block["type"].as_str() {
        Some("text") => safe_lines(block["text"].as_str()),
        Some("toolCall") => format!("{}({})", line_of_member(block, "name"), one_line(&block["arguments"].to_string())),
        other => format!("[{}]", one_line(other.unwrap_or("block"))),
    };
    match ["summary", "output", "content"].iter().find_map(|name| message[*name].as_str()) {
        Some(text) => safe_lines(Some(text)),
        None => items(&message["content"]).iter().map(block).collect::<Vec<_>>().join("\n"),
    }
}

/// Lists sessions, newest activity first.
pub(super) async fn list(options: &ListOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let connection = Connection::start(Path::new(ALL_SESSIONS), json!({})).await?;
    let params = json!({ "all": options.all, "limit": options.limit });
    let found = connection.finish(connection.call("listSessions", &params).await).await?;
    if options.json {
        return print(&found.to_string(), output);
    }
    if length(&found["sessions"]) == 0 {
        let here = "no session of this directory was found; --all lists those of all directories";
        return Err(Failure::nothing(if options.all { "no session was found" } else { here }));
    }
    let mut text = session_list(&found, terminal);
    if found["nextCursor"].is_string() {
        text += &format!("\n{}", terminal.dim("There are more: --limit shows them."));
    }
    print(&text, output)
}

/// Two lines for each session in the result of `listSessions`.
pub(super) fn session_list(found: &Value, terminal: Terminal) -> String {
    let lines = |session: &Value| {
        let title = session["name"].as_str().map_or_else(|| line_of_member(session, "firstMessage"), one_line);
        let messages = count(number(&session["messageCount"]), "message");
        let about = format!("{}  {messages}  {title}", line_of_member(session, "modified"));
        format!("{}\n  {}", terminal.bold(&cut(&about, terminal.columns())), line_of_member(session, "path"))
    };
    items(&found["sessions"]).iter().map(lines).collect::<Vec<_>>().join("\n")
}

/// Finds entries by their words.
pub(super) async fn search(options: &SearchOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let mut params = json!({ "query": options.query, "limit": options.limit });
    let source = options.file.as_deref().map(|file| Source::of(file, false)).transpose()?;
    let connection = match &source {
        Some(source) => {
            let (connection, session) = source.open(true).await?;
            params["sessionId"] = session["sessionId"].clone();
            connection
        }
        None => {
            params["all"] = json!(true);
            Connection::start(Path::new(ALL_SESSIONS), json!({})).await?
        }
    };
    let found = connection.finish(connection.call("searchSession", &params).await).await?;
    if options.json {
        return print(&found.to_string(), output);
    }
    if length(&found["hits"]) == 0 {
        return Err(Failure::nothing("no entry has these words"));
    }
    let line = |hit: &Value| {
        let path = if source.is_some() { String::new() } else { format!("{}\n  ", line_of_member(hit, "path")) };
        let head = format!("{path}{} {}", line_of_member(hit, "entryId"), role_or_type(hit));
        let preview = cut(&line_of_member(hit, "preview"), terminal.columns().saturating_sub(24));
        format!("{}  {preview}", terminal.cyan(&head))
    };
    print(&items(&found["hits"]).iter().map(line).collect::<Vec<_>>().join("\n"), output)
}

/// Prints the passages that compactions removed from the context and that answer a question.
pub(super) async fn recall(options: &RecallOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open(true).await?;
    let params = json!({ "sessionId": session["sessionId"], "query": options.query, "maxTokens": options.max_tokens });
    let found = connection.finish(connection.call("recall", &params).await).await?;
    if options.json {
        return print(&found.to_string(), output);
    }
    if length(&found["entries"]) == 0 {
        return Err(Failure::nothing("nothing that a compaction took out of the context answers this"));
    }
    let part = |entry: &Value| {
        let (id, time) = (line_of_member(entry, "entryId"), line_of_member(entry, "timestamp"));
        let head = terminal.cyan(&format!("{id} {}, {time}", role_or_type(entry)));
        format!("{head}\n{}", wrapped_lines(&safe_lines(entry["text"].as_str()), terminal.columns()))
    };
    print(&items(&found["entries"]).iter().map(part).collect::<Vec<_>>().join("\n\n"), output)
}

/// The role of a message; the type of any other entry.
pub(super) fn role_or_type(entry: &Value) -> String {
    entry["role"].as_str().map_or_else(|| line_of_member(entry, "type"), one_line)
}

/// Writes `text` with one line end behind it.
pub(super) fn print(text: &str, output: &mut dyn Write) -> Result<(), Failure> {
    writeln!(output, "{}", text.trim_end()).map_err(Failure::Output)
}
