//! What matters in a reply or a notification, on one line.

use std::collections::BTreeMap;

use compactd_client::Notification;
use serde_json::Value;

use crate::cli::terminal::one_line;
use crate::cli::text::{count, thousands};

/// Roles in the order in which they are counted out.
const ROLES: [(&str, &str); 8] = [
    ("compactionSummary", "summary"),
    ("branchSummary", "branch summary"),
    ("user", "user"),
    ("assistant", "assistant"),
    ("toolResult", "tool result"),
    ("bashExecution", "shell"),
    ("custom", "custom"),
    ("system", "system"),
];

/// What matters in the result of a method.
pub(super) fn essentials(method: &str, result: &Value) -> String {
    match method {
        "initialize" => initialized(result),
        "openSession" => opened(result),
        "getContext" => context(result),
        "prepareCompaction" => prepared(result),
        "compact" => compacted(result),
        "getTree" => tree(result),
        "navigateTree" => navigated(result),
        _ => one_line(&result.to_string()),
    }
}

/// Notifications in order; those of one kind in a row share a line.
pub(super) fn notification_lines(notifications: &[Notification]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for group in notifications.chunk_by(|left, right| left.method == right.method) {
        let told: Vec<String> = group.iter().map(notified).collect();
        let last = told.last().map(String::as_str).unwrap_or_default();
        let times = if told.len() > 1 { format!(" × {}, the last", told.len()) } else { String::new() };
        lines.push(format!("{}{times}: {last}", one_line(&group[0].method)));
    }
    lines
}

/// Tokens of a context.
pub(super) fn tokens(context: &Value) -> u64 {
    number(&context["tokens"]["tokens"])
}

fn initialized(result: &Value) -> String {
    let server = &result["serverInfo"];
    let capabilities = &result["capabilities"];
    let summarizers: Vec<&str> = list(&capabilities["summarizers"]).iter().filter_map(Value::as_str).collect();
    format!(
        "{} {}, protocol {}, {}, summarizers {}",
        text(&server["name"]),
        text(&server["version"]),
        result["protocolVersion"],
        count(list(&capabilities["methods"]).len() as u64, "method"),
        one_line(&summarizers.join(", ")),
    )
}

fn opened(result: &Value) -> String {
    let entries = result["entryCount"].as_u64().map(|entries| format!("{}, ", count(entries, "entry")));
    format!(
        "session {}, {}leaf {}, {}",
        text(&result["sessionId"]),
        entries.unwrap_or_default(),
        text(&result["leafId"]),
        count(list(&result["diagnostics"]).len() as u64, "diagnostic"),
    )
}

fn context(result: &Value) -> String {
    let messages = list(&result["messages"]);
    let mut roles: BTreeMap<&str, u64> = BTreeMap::new();
    for message in messages {
        *roles.entry(message["role"].as_str().unwrap_or_default()).or_default() += 1;
    }
    let counted = ROLES.iter().filter_map(|(role, name)| roles.get(role).map(|number| format!("{number} {name}")));
    let counted: Vec<String> = counted.collect();
    let (messages, tokens) = (count(messages.len() as u64, "message"), thousands(tokens(result)));
    format!("{messages} ({}), {tokens} tokens", counted.join(", "))
}

fn prepared(result: &Value) -> String {
    let preparation = &result["preparation"];
    let messages = [&preparation["messagesToSummarize"], &preparation["turnPrefixMessages"]].map(list);
    let files = ["read", "written", "edited"].map(|name| list(&preparation["fileOps"][name]).len() as u64);
    format!(
        "{} to summarise, kept from entry {}, {} read, {} written or edited",
        count((messages[0].len() + messages[1].len()) as u64, "message"),
        text(&preparation["firstKeptEntryId"]),
        count(files[0], "file"),
        files[1] + files[2],
    )
}

fn compacted(result: &Value) -> String {
    format!(
        "entry {}, {} → {} tokens, written by {}",
        text(&result["entryId"]),
        thousands(number(&result["tokensBefore"])),
        thousands(number(&result["tokensAfter"])),
        text(&result["summarizer"]),
    )
}

fn tree(result: &Value) -> String {
    let nodes = list(&result["nodes"]);
    let labels = nodes.iter().filter_map(|node| node["label"].as_str()).map(|label| format!("\"{}\"", one_line(label)));
    let labels: Vec<String> = labels.collect();
    format!("{}, labels {}", count(nodes.len() as u64, "node"), labels.join(", "))
}

fn navigated(result: &Value) -> String {
    let entry = &result["summaryEntry"];
    let (from, to) = (text(&result["oldLeafId"]), text(&result["leafId"]));
    let summary = if entry.is_object() { format!(", branch summary {}", text(&entry["id"])) } else { String::new() };
    format!("leaf {from} → {to}{summary}")
}

fn notified(notification: &Notification) -> String {
    let Ok(params) = serde_json::from_str::<Value>(notification.params.get()) else { return String::new() };
    let thousands_of = |name: &str| thousands(number(&params[name]));
    match notification.method.as_str() {
        "compactionStart" => format!("{} tokens", thousands_of("tokensBefore")),
        "branchSummaryStart" => format!("{} tokens to read", thousands_of("estimatedTokens")),
        "compactionProgress" | "branchSummaryProgress" => {
            let (request, requests) = (thousands_of("request"), thousands_of("requests"));
            format!("{}, request {request} of {requests}", text(&params["phase"]))
        }
        "compactionEnd" | "branchSummaryEnd" => ended(&params),
        "entryAppended" => format!("{} {}", text(&params["entry"]["type"]), text(&params["entry"]["id"])),
        "leafChanged" => format!("{} → {}", text(&params["oldLeafId"]), text(&params["leafId"])),
        _ => one_line(notification.params.get()),
    }
}

fn ended(params: &Value) -> String {
    match params["error"]["message"].as_str() {
        Some(message) => format!("failed: {}", one_line(message)),
        None if params["aborted"] == true => "aborted".to_owned(),
        None => "done".to_owned(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().map_or("none".to_owned(), one_line)
}

#[cfg(test)]
#[path = "replies/tests.rs"]
mod tests;
