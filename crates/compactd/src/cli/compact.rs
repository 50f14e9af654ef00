//! `compact` and `undo`: runs, previews and undoes a compaction, and reports it.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use compactd_client::Notification;
use indicatif::{ProgressBar, ProgressStyle};
use memchr::memmem::Finder;
use rpc_server::run::build_ahead;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::arguments::{CompactOptions, UndoOptions};
use super::connection::{Connection, Source, diagnostic_lines, length, list, number, warn};
use super::failure::{Failure, already_compacted, nothing_to_compact};
use super::inspect::{last_compaction, print};
use super::terminal::{
    Terminal, change, count, cut, line_of_member, one_line, safe_lines, thousands, time, wrapped, wrapped_lines,
};

/// Time between two moves of the progress bar while a model writes nothing.
const TICK: Duration = Duration::from_millis(120);

/// Bytes of one read of a session file.
const READ_BYTES: usize = 1 << 18;

/// Compacts a session, or plans it for a dry run, and writes the report to `output`.
pub(super) async fn run(options: &CompactOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    // While the session is opened and read, another core is idle.
    build_ahead();
    let source = Source::of(&options.file, !options.dry_run)?;
    let options = &CompactOptions { file: source.path().to_owned(), ..options.clone() };
    // The report for people shows neither a ledger nor, without a terminal, any progress.
    let progress = std::io::stderr().is_terminal();
    let capabilities = json!({ "entryBodies": false, "ledgers": options.json, "progress": progress });
    let (connection, session) = source.open_with(options.dry_run, capabilities).await?;
    if options.json {
        warn(diagnostic_lines(list(&session["diagnostics"])));
    }
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
    let context = match options.dry_run {
        true => connection.call("getContext", &params).await?,
        false => connection.call_for::<CountedContext>("getContext", &params).await?.into_value(),
    };
    let mut plan = Plan::new(session, prepared, &context, name);
    if options.dry_run {
        let kept = json!({ "messages": plan.kept_messages(&context) });
        plan.kept_tokens = number(&connection.call("estimateTokens", &kept).await?["tokens"]);
    }
    // A file of version 1 has no ids yet.
    if session["migratedFrom"] != 1 {
        plan.first_kept_line = line_of_entry(&options.file, &plan.first_kept_entry);
    }
    Ok(plan)
}

/// The result of `getContext` for a caller that only counts its messages.
#[derive(Deserialize)]
struct CountedContext {
    messages: Vec<IgnoredAny>,
    #[serde(default)]
    delta: Value,
    #[serde(default)]
    diagnostics: Value,
}

impl CountedContext {
    /// The result with nulls for messages.
    fn into_value(self) -> Value {
        let messages = vec![Value::Null; self.messages.len()];
        json!({ "messages": messages, "delta": self.delta, "diagnostics": self.diagnostics })
    }
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
    let rest = format!("{copied} that came later moved with it. The old branch is still there: {old_leaf}");
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

/// The line of an entry in its session file, counted from 1. `None` if the file does not contain the id, as in files of
/// old versions, whose ids are not written yet.
fn line_of_entry(path: &Path, entry_id: &str) -> Option<u64> {
    let mut reader = BufReader::with_capacity(READ_BYTES, File::open(path).ok()?);
    let mut line = Vec::new();
    let finder = Finder::new(entry_id);
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        if number > 1 && has_id(&line, entry_id, &finder) {
            return Some(number);
        }
    }
    None
}

fn has_id(line: &[u8], entry_id: &str, finder: &Finder<'_>) -> bool {
    #[derive(Deserialize)]
    struct Entry {
        id: String,
    }
    // The search rules out most lines without parsing them.
    let may_hold = finder.find(line).is_some();
    may_hold && serde_json::from_slice::<Entry>(line).is_ok_and(|entry| entry.id == entry_id)
}

/// Maximum number of files that a report names. The rest is counted.
const SHOWN_FILES: usize = 6;

/// The numbers of a planned compaction.
#[derive(Debug, Clone, Default)]
struct Plan {
    file: String,
    entry_count: Option<u64>,
    tokens_before: u64,
    summarized: u64,
    turn_prefix: u64,
    kept: u64,
    /// Estimated tokens of the messages that are kept.
    kept_tokens: u64,
    /// The id of the oldest entry that stays verbatim.
    first_kept_entry: String,
    /// Its line in the file.
    first_kept_line: Option<u64>,
    has_previous_summary: bool,
    read: Vec<String>,
    modified: Vec<String>,
    requests: Vec<u64>,
    diagnostics: Vec<String>,
}

impl Plan {
    /// Reads a plan from the results of `openSession`, `prepareCompaction` (without messages) and `getContext` (which
    /// may contain only what follows [`last_evicted`]).
    fn new(session: &Value, prepared: &Value, context: &Value, file: &Path) -> Self {
        let preparation = &prepared["preparation"];
        let has_previous_summary = preparation["previousSummary"].is_string();
        let (summarized, turn_prefix) =
            (length(&preparation["messagesToSummarize"]), length(&preparation["turnPrefixMessages"]));
        let dropped = match context["delta"].as_bool() {
            Some(true) => 0,
            _ => summarized + turn_prefix + u64::from(has_previous_summary),
        };
        let operations = &preparation["fileOps"];
        let modified = union(&texts(&operations["written"]), &texts(&operations["edited"]));
        let read = texts(&operations["read"]).into_iter().filter(|path| !modified.contains(path)).collect();
        Self {
            file: one_line(&file.display().to_string()),
            entry_count: session["entryCount"].as_u64(),
            tokens_before: number(&preparation["tokensBefore"]),
            summarized,
            turn_prefix,
            kept: length(&context["messages"]).saturating_sub(dropped),
            first_kept_entry: text(&preparation["firstKeptEntryId"]),
            has_previous_summary,
            read,
            modified,
            requests: list(&prepared["requests"]).iter().map(|request| number(&request["estimatedTokens"])).collect(),
            diagnostics: diagnostics(session, context),
            ..Self::default()
        }
    }

    /// The kept messages of the context, which are its last ones.
    fn kept_messages<'a>(&self, context: &'a Value) -> &'a [Value] {
        let messages = list(&context["messages"]);
        &messages[messages.len().saturating_sub(usize::try_from(self.kept).unwrap_or(usize::MAX))..]
    }

    /// The plan as JSON.
    fn to_json(&self) -> Value {
        json!({
            "dryRun": true,
            "file": self.file,
            "tokensBefore": self.tokens_before,
            "messagesToSummarize": self.summarized,
            "turnPrefixMessages": self.turn_prefix,
            "messagesKept": self.kept,
            "tokensKept": self.kept_tokens,
            "firstKeptEntryId": self.first_kept_entry,
            "firstKeptLine": self.first_kept_line,
            "hasPreviousSummary": self.has_previous_summary,
            "readFiles": self.read,
            "modifiedFiles": self.modified,
            "requestTokens": self.requests,
        })
    }
}

/// The id of the newest entry that the compaction would remove from the context. `prepared` has ids, no messages.
fn last_evicted(prepared: &Value) -> Option<&str> {
    let preparation = &prepared["preparation"];
    let parts = [&preparation["turnPrefixMessages"], &preparation["messagesToSummarize"]];
    parts.into_iter().find_map(|part| list(part).last()?.as_str())
}

/// The report of a dry run.
fn planned(plan: &Plan, terminal: Terminal) -> String {
    let mut report = Report::new(terminal);
    let entries = plan.entry_count.map(|entries| format!(" ({})", count(entries, "entry"))).unwrap_or_default();
    report.title(&format!("A compaction of {}{entries} would", plan.file));
    let tokens = thousands(plan.tokens_before.saturating_sub(plan.kept_tokens));
    report.line("summarise", &format!("{}, about {tokens} tokens", summarized(plan)));
    let place = place(&plan.first_kept_entry, plan.first_kept_line);
    let kept = format!("{}, {} tokens", count(plan.kept, "message"), thousands(plan.kept_tokens));
    report.line("keep", &format!("{kept}, from entry {place}"));
    report.files(&plan.read, &plan.modified);
    let (requests, input) = (plan.requests.len() as u64, plan.requests.iter().sum());
    report
        .line("ask", &format!("{} to the summarizer, {} tokens in all", count(requests, "request"), thousands(input)));
    report.diagnostics(&plan.diagnostics);
    report.closing("Nothing was changed: this was a dry run.");
    report.text
}

/// The report of a compaction. `result` is the result of `compact` with the member `line`, the line of its entry.
fn compacted(plan: &Plan, result: &Value, took: Duration, terminal: Terminal) -> String {
    let mut report = Report::new(terminal);
    report.title(&format!("Compacted {} in {}", plan.file, time(took)));
    let (before, after) = (number(&result["tokensBefore"]), number(&result["tokensAfter"]));
    let tokens = format!("{} before, {} after", thousands(before), thousands(after));
    report.line("tokens", &format!("{} ({})", terminal.green(&tokens), change(before, after)));
    report.line("summarised", &summarized(plan));
    let first_kept = place(&text(&result["firstKeptEntryId"]), plan.first_kept_line);
    report.line("kept", &format!("{}, from entry {first_kept}", count(plan.kept, "message")));
    let details = &result["details"];
    report.files(&texts(&details["readFiles"]), &texts(&details["modifiedFiles"]));
    report.line("summary", &format!("entry {}", place(&text(&result["entryId"]), result["line"].as_u64())));
    report.line("written by", &author(result));
    for failure in list(&result["failures"]) {
        let cause = format!("{}: {}", line_of_member(failure, "summarizer"), line_of_member(failure, "cause"));
        report.line("failed", &terminal.yellow(&cause));
    }
    let headings = headings(&text(&result["summary"])).join(", ");
    report.line("headings", &cut(&headings, terminal.columns().saturating_sub(14)));
    if let Some(retained) = retained(&result["retention"]) {
        report.line("retains", &retained);
    }
    report.diagnostics(&plan.diagnostics);
    report.closing("The summarised entries are still in the file; only the model does not see them any more.");
    report.text
}

/// The second-level headings of a summary.
fn headings(summary: &str) -> Vec<String> {
    summary.lines().filter_map(|line| line.strip_prefix("## ")).map(one_line).collect()
}

/// A report under construction: a title, then lines that begin with a name.
struct Report {
    terminal: Terminal,
    text: String,
}

impl Report {
    fn new(terminal: Terminal) -> Self {
        Self { terminal, text: String::new() }
    }

    fn title(&mut self, title: &str) {
        self.text += &format!("{}\n", self.terminal.bold(title));
    }

    fn line(&mut self, name: &str, value: &str) {
        let value = wrapped(value, 14, self.terminal.columns());
        self.text += &format!("  {} {value}\n", self.terminal.cyan(&format!("{name:<11}")));
    }

    fn files(&mut self, read: &[String], modified: &[String]) {
        for (name, files) in [("read", read), ("modified", modified)] {
            if !files.is_empty() {
                self.line(name, &file_list(files, self.terminal.columns().saturating_sub(14)));
            }
        }
    }

    fn diagnostics(&mut self, diagnostics: &[String]) {
        for diagnostic in diagnostics {
            self.line("odd", &self.terminal.yellow(diagnostic));
        }
    }

    fn closing(&mut self, sentence: &str) {
        self.text += &format!("{}\n", self.terminal.dim(&wrapped(sentence, 0, self.terminal.columns())));
    }
}

fn summarized(plan: &Plan) -> String {
    let mut text = count(plan.summarized + plan.turn_prefix, "message");
    if plan.turn_prefix > 0 {
        text += &format!(", {} of them the start of a turn that is cut", thousands(plan.turn_prefix));
    }
    if plan.has_previous_summary {
        text += ", and the previous summary";
    }
    text
}

fn author(result: &Value) -> String {
    let name = one_line(result["summarizer"].as_str().unwrap_or("an unknown summarizer"));
    match result["attempts"].as_u64() {
        Some(attempts) if attempts > 1 => format!("{name}, {}", count(attempts, "request")),
        _ => name,
    }
}

/// The share of the removed facts that the summary keeps, by class.
fn retained(retention: &Value) -> Option<String> {
    let class = |name: &str| Some(format!("{name} {:.0} %", retention[name].as_f64()? * 100.0));
    let classes = ["files", "requests", "errors", "identifiers", "constraints"].map(class);
    let classes: Option<Vec<String>> = classes.into_iter().collect();
    classes.map(|classes| classes.join(", "))
}

fn place(entry_id: &str, line: Option<u64>) -> String {
    match line {
        Some(line) => format!("{entry_id} (line {line})"),
        None => entry_id.to_owned(),
    }
}

fn file_list(files: &[String], columns: usize) -> String {
    let shown: Vec<String> = files.iter().take(SHOWN_FILES).map(|path| one_line(path)).collect();
    let more = files.len().saturating_sub(SHOWN_FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let number = count(files.len() as u64, "file");
    let names = cut(&shown.join(", "), columns.saturating_sub(number.len() + more.len() + 2));
    format!("{number}: {names}{more}")
}

fn diagnostics(session: &Value, context: &Value) -> Vec<String> {
    diagnostic_lines(list(&session["diagnostics"]).iter().chain(list(&context["diagnostics"])))
}

fn union(left: &[String], right: &[String]) -> Vec<String> {
    let all: std::collections::BTreeSet<String> = left.iter().chain(right).cloned().collect();
    all.into_iter().collect()
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn text(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    // A summary keeps its lines.
    if text.contains('\n') { text.to_owned() } else { one_line(text) }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

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

    fn session() -> Value {
        json!({ "sessionId": "s", "entryCount": 388, "diagnostics": [] })
    }

    fn prepared() -> Value {
        json!({
            "preparation": {
                "firstKeptEntryId": "0a1b2c3d",
                "messagesToSummarize": ["1", "2", "3"],
                "turnPrefixMessages": ["4", "5"],
                "isSplitTurn": true,
                "tokensBefore": 43552,
                "previousSummary": "## Goal",
                "fileOps": { "read": ["a.md", "b.rs"], "written": ["b.rs"], "edited": ["c.rs"] },
            },
            "requests": [{ "estimatedTokens": 21000 }, { "estimatedTokens": 1500 }],
        })
    }

    fn context(messages: usize) -> Value {
        json!({ "messages": vec![json!({ "role": "user", "content": "x" }); messages] })
    }

    fn plan() -> Plan {
        let plan = Plan::new(&session(), &prepared(), &context(10), Path::new("work.jsonl"));
        Plan { kept_tokens: 20310, first_kept_line: Some(231), ..plan }
    }

    fn check(report: &str, expected: Expect) {
        expected.assert_eq(report);
    }

    #[test]
    fn a_dry_run_says_what_would_happen() {
        check(
            &planned(&plan(), Terminal::plain(100)),
            expect![[r#"
            A compaction of work.jsonl (388 entries) would
              summarise   5 messages, 2 of them the start of a turn that is cut, and the previous summary, about
                          23,242 tokens
              keep        4 messages, 20,310 tokens, from entry 0a1b2c3d (line 231)
              read        1 file: a.md
              modified    2 files: b.rs, c.rs
              ask         2 requests to the summarizer, 22,500 tokens in all
            Nothing was changed: this was a dry run.
        "#]],
        );
    }

    #[test]
    fn a_compaction_says_what_it_did() {
        let modified: Vec<String> = (0..9).map(|number| format!("src/file{number}.rs")).collect();
        let result = json!({
            "entryId": "deadbeef", "line": 390, "firstKeptEntryId": "0a1b2c3d", "tokensBefore": 43552, "tokensAfter": 21806,
            "summary": "## Goal\n- x\n\n## Next Steps\n1. y\n", "summarizer": "anthropic", "attempts": 2,
            "retention": { "files": 1.0, "requests": 0.985, "errors": 1, "identifiers": 0.5, "constraints": 0 },
            "details": { "readFiles": ["evil\u{1b}[31m\n.md"], "modifiedFiles": modified },
        });
        check(
            &compacted(&plan(), &result, Duration::from_millis(34), Terminal::plain(100)),
            expect![[r#"
            Compacted work.jsonl in 34 ms
              tokens      43,552 before, 21,806 after (49 % less)
              summarised  5 messages, 2 of them the start of a turn that is cut, and the previous summary
              kept        4 messages, from entry 0a1b2c3d (line 231)
              read        1 file: evil [31m .md
              modified    9 files: src/file0.rs, src/file1.rs, src/file2.rs, src/file3.rs, src/file4… and 3 more
              summary     entry deadbeef (line 390)
              written by  anthropic, 2 requests
              headings    Goal, Next Steps
              retains     files 100 %, requests 98 %, errors 100 %, identifiers 50 %, constraints 0 %
            The summarised entries are still in the file; only the model does not see them any more.
        "#]],
        );
    }

    #[test]
    fn kept_messages_are_the_last_ones() {
        let numbered: Vec<Value> = (0..10).map(|number| json!({ "role": "user", "content": number })).collect();
        let context = json!({ "messages": numbered });
        let plan = Plan::new(&session(), &prepared(), &context, Path::new("work.jsonl"));
        assert_eq!(plan.kept_messages(&context), &numbered[6..]);
        let prepared = prepared();
        assert_eq!(last_evicted(&prepared), Some("5"));
        let following = json!({ "messages": &numbered[6..], "delta": true });
        let plan = Plan::new(&session(), &prepared, &following, Path::new("work.jsonl"));
        assert_eq!(plan.kept_messages(&following), &numbered[6..]);
        assert_eq!(
            last_evicted(&json!({ "preparation": { "messagesToSummarize": ["1"], "turnPrefixMessages": [] } })),
            Some("1")
        );
        assert_eq!(last_evicted(&json!({})), None);
    }

    #[test]
    fn replies_without_the_expected_members_are_no_panic() {
        let empty = json!({});
        let plan = Plan::new(&empty, &empty, &empty, Path::new("work.jsonl"));
        assert!(plan.kept_messages(&empty).is_empty());
        assert!(planned(&plan, Terminal::plain(40)).contains("0 messages"));
        assert!(compacted(&plan, &empty, Duration::ZERO, Terminal::plain(40)).contains("Compacted"));
    }

    #[test]
    fn diagnostics_of_the_file_are_reported_and_bounded() {
        let many: Vec<Value> =
            (0..8).map(|line| json!({ "kind": "brokenLine", "line": line, "message": "not JSON" })).collect();
        let lines = diagnostics(&json!({ "diagnostics": many }), &json!({}));
        assert_eq!(lines.len(), SHOWN_FILES + 1);
        assert_eq!(lines[0], "line 0: not JSON");
        assert_eq!(lines[SHOWN_FILES], "and 2 more");
    }
}
