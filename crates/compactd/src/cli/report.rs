//! The reports of a dry run and of a compaction.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::connection::{length, list, number};
use super::terminal::{Terminal, change, count, cut, one_line, thousands, time, wrapped};

/// Maximum number of files, and of diagnostics, that a report names. The rest is counted.
const SHOWN_FILES: usize = 6;

/// What a compaction would do, in numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    file: String,
    entry_count: Option<u64>,
    tokens_before: u64,
    summarized: u64,
    turn_prefix: u64,
    kept: u64,
    /// Estimated tokens of the messages that are kept.
    pub(super) kept_tokens: u64,
    /// The id of the oldest entry that stays verbatim.
    pub(super) first_kept_entry: String,
    /// Its line in the file.
    pub(super) first_kept_line: Option<u64>,
    has_previous_summary: bool,
    read: Vec<String>,
    modified: Vec<String>,
    requests: Vec<u64>,
    diagnostics: Vec<String>,
}

impl Plan {
    /// Reads a plan from the results of `openSession`, `prepareCompaction` (without messages) and `getContext` (which
    /// may hold only what follows [`last_evicted`]).
    pub(super) fn new(session: &Value, prepared: &Value, context: &Value, file: &Path) -> Self {
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
    pub(super) fn kept_messages<'a>(&self, context: &'a Value) -> &'a [Value] {
        let messages = list(&context["messages"]);
        &messages[messages.len().saturating_sub(usize::try_from(self.kept).unwrap_or(usize::MAX))..]
    }

    /// The plan as JSON.
    pub(super) fn to_json(&self) -> Value {
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

/// The id of the newest entry that the compaction would remove from the context. `prepared` holds ids, no messages.
pub(super) fn last_evicted(prepared: &Value) -> Option<&str> {
    let preparation = &prepared["preparation"];
    let parts = [&preparation["turnPrefixMessages"], &preparation["messagesToSummarize"]];
    parts.into_iter().find_map(|part| list(part).last()?.as_str())
}

/// The report of a dry run.
pub(super) fn planned(plan: &Plan, terminal: Terminal) -> String {
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
pub(super) fn compacted(plan: &Plan, result: &Value, took: Duration, terminal: Terminal) -> String {
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
    let headings = headings(&text(&result["summary"])).join(", ");
    report.line("headings", &cut(&headings, terminal.columns().saturating_sub(14)));
    if let Some(retained) = retained(&result["retention"]) {
        report.line("holds on to", &retained);
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
    let all = list(&session["diagnostics"]).iter().chain(list(&context["diagnostics"]));
    let mut lines: Vec<String> = all.map(diagnostic_line).collect();
    let more = lines.len().saturating_sub(SHOWN_FILES);
    lines.truncate(SHOWN_FILES);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// A diagnostic of the server on one line, with the line of the file that it is about.
pub(super) fn diagnostic_line(diagnostic: &Value) -> String {
    let line = diagnostic["line"].as_u64().map(|line| format!("line {line}: ")).unwrap_or_default();
    format!("{line}{}", text(&diagnostic["message"]))
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
#[path = "report/tests.rs"]
mod tests;
