//! `compact` and `undo`: a compaction, what one would do, and taking it back.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use compactd_client::Notification;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{CompactOptions, UndoOptions};
use super::connection::{Connection, Source, length, number};
use super::failure::{Failure, already_compacted, nothing_to_compact};
use super::inspect::{last_compaction, print};
use super::report::{Plan, compacted, last_evicted, planned};
use super::terminal::{Terminal, count, line_of_member, one_line, safe_lines, thousands, wrapped_lines};

/// Time between two moves of the progress bar while a model writes nothing.
const TICK: Duration = Duration::from_millis(120);

/// Compacts a session, or plans it for a dry run, and writes the report to `output`.
pub(super) async fn run(options: &CompactOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, !options.dry_run)?;
    let options = &CompactOptions { file: source.path().to_owned(), ..options.clone() };
    let (connection, session) = source.open(options.dry_run).await?;
    let report = report(&connection, &session, source.name(), options, terminal).await;
    print(&connection.finish(report).await?, output)
}

/// Compacts the open session, or plans it for a dry run. Returns the report; `name` is what it calls the session.
pub(super) async fn report(
    connection: &Connection,
    session: &Value,
    name: &Path,
    options: &CompactOptions,
    terminal: Terminal,
) -> Result<String, Failure> {
    let prepared = prepare(connection, session, options).await?;
    if options.dry_run {
        let plan = plan(connection, session, &prepared, name, options).await?;
        return Ok(if options.json { plan.to_json().to_string() } else { planned(&plan, terminal) });
    }
    if options.json {
        return Ok(compact(connection, session, options).await?.0.to_string());
    }
    let plan = plan(connection, session, &prepared, name, options).await?;
    if let Some(notice) = migration_notice(session, name) {
        // Without standard error, nobody reads the notice.
        let _written = writeln!(std::io::stderr(), "{notice}");
    }
    let (result, took) = compact(connection, session, options).await?;
    let summary = safe_lines(result["summary"].as_str());
    let report = compacted(&plan, &result, took, terminal);
    Ok(format!("{}\n\n{}", report.trim_end(), wrapped_lines(&summary, terminal.columns())))
}

/// The notice that a file of an old version is about to be rewritten.
fn migration_notice(session: &Value, name: &Path) -> Option<String> {
    let version = session["migratedFrom"].as_u64()?;
    let name = one_line(&name.display().to_string());
    Some(format!(
        "{name} has version {version}: it is rewritten in the present one; the old file is kept as {name}.v{version}.bak"
    ))
}

/// The preparation with entry ids instead of messages. A dry run gets the requests too. A refusal is a failure.
async fn prepare(connection: &Connection, session: &Value, options: &CompactOptions) -> Result<Value, Failure> {
    let mut params = call_params(session, options);
    params["include"] = if options.dry_run { json!(["requests"]) } else { json!([]) };
    params["checkSummarizer"] = json!(options.dry_run);
    let prepared = connection.call("prepareCompaction", &params).await?;
    match prepared["reason"].as_str() {
        None => Ok(prepared),
        Some("alreadyCompacted") => Err(Failure::NothingToDo { text: already_compacted(&prepared), data: prepared }),
        Some(_) => Err(Failure::NothingToDo { text: nothing_to_compact(&prepared), data: prepared }),
    }
}

async fn plan(
    connection: &Connection,
    session: &Value,
    prepared: &Value,
    name: &Path,
    options: &CompactOptions,
) -> Result<Plan, Failure> {
    let mut params = json!({ "sessionId": session["sessionId"] });
    // The summarized part is larger and only counted, so the call asks for what follows it.
    if let Some(last) = last_evicted(prepared) {
        params["after"] = json!(last);
    }
    let context = connection.call("getContext", &params).await?;
    let mut plan = Plan::new(session, prepared, &context, name);
    if options.dry_run {
        let kept = json!({ "messages": plan.kept_messages(&context) });
        plan.kept_tokens = number(&connection.call("estimateTokens", &kept).await?["tokens"]);
    }
    plan.first_kept_line = line_of_entry(&options.file, &plan.first_kept_entry);
    Ok(plan)
}

/// Compacts the session. Returns the result, extended by the line of the compaction entry, and the time it took.
async fn compact(
    connection: &Connection,
    session: &Value,
    options: &CompactOptions,
) -> Result<(Value, Duration), Failure> {
    let started = Instant::now();
    let progress = Progress::start();
    let params = call_params(session, options);
    let outcome = connection.call_watching("compact", &params, |notification| progress.follow(notification)).await;
    progress.finish();
    let mut result = outcome?;
    let line = result["entryId"].as_str().and_then(|id| line_of_entry(&options.file, id));
    result["line"] = json!(line);
    Ok((result, started.elapsed()))
}

/// The parameters that `prepareCompaction` and `compact` share.
fn call_params(session: &Value, options: &CompactOptions) -> Value {
    let mut params = json!({ "sessionId": session["sessionId"] });
    if let Some(instructions) = &options.instructions {
        params["customInstructions"] = json!(instructions);
    }
    if let Some(summarizer) = &options.summarizer {
        params["summarizer"] = json!(summarizer);
    }
    if let Some(tokens) = options.keep_recent {
        params["settings"] = json!({ "keepRecentTokens": tokens });
    }
    params
}

/// Takes a compaction back.
pub(super) async fn undo(options: &UndoOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, true)?;
    let (connection, session) = source.open(false).await?;
    let undone = undo_compaction(&connection, &session, options.entry.as_deref()).await;
    let result = connection.finish(undone).await?;
    let text = if options.json { result.to_string() } else { undone_text(&result, terminal) };
    print(&text, output)
}

/// Undoes the compaction `entry`, or the last one of the current branch.
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

/// The report of an undone compaction.
pub(super) fn undone_text(result: &Value, terminal: Terminal) -> String {
    let (undone, old_leaf) = (line_of_member(result, "undoneEntryId"), line_of_member(result, "oldLeafId"));
    let copied = count(length(&result["replayed"]), "entry");
    let title = terminal.bold(&format!("Compaction {undone} is undone: the model sees all messages again"));
    let rest = format!("{copied} that came later went along. The old branch is still there: {old_leaf}");
    format!("{title}\n{}", terminal.dim(&rest))
}

/// The progress bar of a compaction. It appears on standard error if that is a terminal.
#[derive(Debug)]
struct Progress(ProgressBar);

impl Progress {
    /// Shows the bar.
    fn start() -> Self {
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{spinner} {wide_msg} [{bar:24}] {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Moves the bar if the notification is about a compaction.
    fn follow(&self, notification: &Notification) {
        // Other notifications may be long and are not parsed.
        let method = notification.method.as_str();
        if !matches!(method, "compactionStart" | "compactionProgress") {
            return;
        }
        let Ok(params) = serde_json::from_str::<Value>(notification.params.get()) else { return };
        match method {
            "compactionStart" => {
                self.0.set_message(format!("compacting {} tokens", thousands(number(&params["tokensBefore"]))));
            }
            "compactionProgress" => {
                let (done, all) = position(&params);
                self.0.set_length(all);
                self.0.set_position(done);
                self.0.set_message(running(&params));
            }
            _ => {}
        }
    }

    /// Removes the bar.
    fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// The number of finished steps and of all steps. Each request is a step, and so is the write of the entry.
fn position(params: &Value) -> (u64, u64) {
    let requests = params["requests"].as_u64().unwrap_or(1);
    let request = params["request"].as_u64().unwrap_or(1);
    match params["phase"].as_str() {
        Some("committing") => (requests, requests.saturating_add(1)),
        _ => (request.saturating_sub(1), requests.saturating_add(1)),
    }
}

fn running(params: &Value) -> String {
    match params["phase"].as_str() {
        Some("committing") => "writing the compaction".to_owned(),
        Some("summarizing") => {
            let [request, requests, tokens] =
                ["request", "requests", "outputTokens"].map(|name| thousands(number(&params[name])));
            format!("summarising, request {request} of {requests}, {tokens} tokens so far")
        }
        other => one_line(other.unwrap_or("compacting")),
    }
}

/// The line of an entry in its session file, counted from 1. `None` if the file does not hold the id, as in files of
/// old versions, whose ids are not written yet.
fn line_of_entry(path: &Path, entry_id: &str) -> Option<u64> {
    let mut reader = BufReader::new(File::open(path).ok()?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        if number > 1 && has_id(&line, entry_id) {
            return Some(number);
        }
    }
    None
}

fn has_id(line: &[u8], entry_id: &str) -> bool {
    #[derive(Deserialize)]
    struct Entry {
        id: String,
    }
    // The search rules out most lines without parsing them.
    let may_hold = memchr::memmem::find(line, entry_id.as_bytes()).is_some();
    may_hold && serde_json::from_slice::<Entry>(line).is_ok_and(|entry| entry.id == entry_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_counts_requests_and_the_writing() {
        let check = |params: Value, at: (u64, u64), text: &str| {
            assert_eq!(position(&params), at);
            assert_eq!(running(&params), text);
        };
        check(
            json!({"phase": "summarizing", "request": 1, "requests": 2, "outputTokens": 0}),
            (0, 3),
            "summarising, request 1 of 2, 0 tokens so far",
        );
        check(
            json!({"phase": "summarizing", "request": 2, "requests": 2, "outputTokens": 1250}),
            (1, 3),
            "summarising, request 2 of 2, 1,250 tokens so far",
        );
        check(json!({"phase": "committing", "request": 2, "requests": 2}), (2, 3), "writing the compaction");
        check(json!({}), (0, 2), "compacting");
    }

    #[test]
    fn a_bar_without_a_terminal_takes_every_notification() {
        let progress = Progress::start();
        let params = serde_json::value::RawValue::from_string("[]".to_owned()).expect("it is JSON");
        progress.follow(&Notification { method: "compactionProgress".to_owned(), params });
        progress.finish();
    }

    #[test]
    fn the_line_is_the_one_with_the_id_itself() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let text = concat!(
            r#"{"type":"session","id":"aaaa"}"#,
            "\n\nnot json aaaa\n",
            r#"{"type":"label","targetId":"aaaa","id":"bbbb"}"#,
            "\n",
            r#"{"type":"message","message":{"id":"cccc"},"id":"aaaa"}"#
        );
        std::fs::write(file.path(), text).expect("it can be written");
        assert_eq!(line_of_entry(file.path(), "aaaa"), Some(5));
        assert_eq!(line_of_entry(file.path(), "bbbb"), Some(4));
        assert_eq!(line_of_entry(file.path(), "cccc"), None);
        assert_eq!(line_of_entry(Path::new("no/such/file"), "aaaa"), None);
    }
}
