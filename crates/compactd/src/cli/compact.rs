//! `compactd compact FILE`: a compaction, or what one would do.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::arguments::CompactOptions;
use super::connection::Connection;
use super::failure::{Failure, already_compacted, nothing_to_compact};
use super::line_numbers::line_of;
use super::looking::shown;
use super::progress::Progress;
use super::report::{Plan, compacted, last_evicted, planned};
use super::source::Source;
use super::terminal::{Terminal, one_line};
use super::wrapped::wrapped_lines;

/// Runs the command and writes its report to `output`.
pub(super) async fn run(options: &CompactOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, !options.dry_run)?;
    let options = &CompactOptions { file: source.path().to_owned(), ..options.clone() };
    let (connection, session) = source.open(options.dry_run).await?;
    let report = report(&connection, &session, source.name(), options, terminal).await;
    // After a failure as well: a server that is killed leaves its lock behind.
    let ended = connection.shutdown().await;
    writeln!(output, "{}", report?.trim_end()).map_err(Failure::Output)?;
    ended.map(|_| ())
}

/// Compacts the open session, or plans it for a dry run, and gives the report.
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
    if let Some(warning) = migration(session, name) {
        // Before it happens; where standard error is gone there is nobody to tell.
        let _told = writeln!(std::io::stderr(), "{warning}");
    }
    let (result, took) = compact(connection, session, options).await?;
    let summary = shown(result["summary"].as_str());
    let report = compacted(&plan, &result, took, terminal);
    Ok(format!("{}\n\n{}", report.trim_end(), wrapped_lines(&summary, terminal.columns())))
}

/// What is said before a file of an old version is written.
fn migration(session: &Value, name: &Path) -> Option<String> {
    let version = session["migratedFrom"].as_u64()?;
    let name = one_line(&name.display().to_string());
    Some(format!(
        "{name} has version {version}: it is rewritten in the present one; the old file is kept as {name}.v{version}.bak"
    ))
}

/// The preparation with ids in place of messages, for a dry run with the requests; refusals are failures.
async fn prepare(connection: &Connection, session: &Value, options: &CompactOptions) -> Result<Value, Failure> {
    let mut params = call_params(session, options);
    params["include"] = if options.dry_run { json!(["requests"]) } else { json!([]) };
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
    let id = &session["sessionId"];
    // What goes is the larger part, and only counted, so that what follows it is asked for.
    let mut params = json!({ "sessionId": id });
    if let Some(last) = last_evicted(prepared) {
        params["after"] = json!(last);
    }
    let context = connection.call("getContext", &params).await?;
    let mut plan = Plan::new(session, prepared, &context, name);
    if options.dry_run {
        let kept = json!({ "messages": plan.kept_messages(&context) });
        let estimate = connection.call("estimateTokens", &kept).await?;
        plan.kept_tokens = estimate["tokens"].as_u64().unwrap_or_default();
    }
    plan.first_kept_line = line_of(&options.file, &plan.first_kept_entry);
    Ok(plan)
}

/// The result, with the line of the compaction entry, and the time it took.
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
    result["line"] = json!(entry_line(&options.file, &result));
    Ok((result, started.elapsed()))
}

fn entry_line(file: &Path, result: &Value) -> Option<u64> {
    line_of(file, result["entryId"].as_str()?)
}

/// What `prepareCompaction` and `compact` have in common.
fn call_params(session: &Value, options: &CompactOptions) -> Value {
    let mut params = Map::new();
    params.insert("sessionId".to_owned(), session["sessionId"].clone());
    if let Some(instructions) = &options.instructions {
        params.insert("customInstructions".to_owned(), json!(instructions));
    }
    if let Some(summarizer) = &options.summarizer {
        params.insert("summarizer".to_owned(), json!(summarizer));
    }
    if let Some(tokens) = options.keep_recent {
        params.insert("settings".to_owned(), json!({ "keepRecentTokens": tokens }));
    }
    Value::Object(params)
}
