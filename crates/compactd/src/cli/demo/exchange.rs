//! One exchange of the demo: request, notifications, reply, and what it means.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use compactd_client::{Direction, Notification};
use serde_json::Value;

use crate::cli::connection::{Frame, list, number};
use crate::cli::terminal::{Terminal, count, cut, one_line, thousands, time, width};

/// Maximum characters of a string in a shown request.
const SHOWN_STRING: usize = 24;

/// A call with its reply.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub(super) number: usize,
    pub(super) method: &'static str,
    pub(super) purpose: &'static str,
    pub(super) params: Value,
    pub(super) result: Value,
    pub(super) notifications: Vec<Notification>,
    pub(super) frames: Vec<Frame>,
    pub(super) took: Duration,
    pub(super) meaning: String,
}

/// Writes the exchange. `show_frames` shows the messages as they went over the pipes.
pub(super) fn print(
    exchange: &Exchange,
    show_frames: bool,
    terminal: Terminal,
    output: &mut dyn Write,
) -> io::Result<()> {
    let name = format!("{}. {}", exchange.number, exchange.method);
    writeln!(output, "{}: {}", terminal.bold(&name), exchange.purpose)?;
    if show_frames {
        print_frames(exchange, terminal, output)?
    } else {
        print_essentials(exchange, terminal, output)?
    }
    writeln!(output, "   {}\n", terminal.dim(&exchange.meaning))
}

fn print_frames(exchange: &Exchange, terminal: Terminal, output: &mut dyn Write) -> io::Result<()> {
    for (direction, message) in &exchange.frames {
        let arrow = match direction {
            Direction::Sent => terminal.cyan("→"),
            Direction::Received => terminal.green("←"),
        };
        writeln!(output, " {arrow} {}", one_line(message))?;
    }
    Ok(())
}

fn print_essentials(exchange: &Exchange, terminal: Terminal, output: &mut dyn Write) -> io::Result<()> {
    let columns = terminal.columns().saturating_sub(3);
    let request = format!("{} {}", exchange.method, shortened(&exchange.params));
    writeln!(output, " {} {}", terminal.cyan("→"), cut(&request, columns))?;
    for line in notification_lines(&exchange.notifications) {
        writeln!(output, " {} {}", terminal.yellow("~"), cut(&line, columns))?;
    }
    let took = time(exchange.took);
    let reply = cut(&essentials(exchange.method, &exchange.result), columns.saturating_sub(width(&took) + 2));
    writeln!(output, " {} {reply}  {}", terminal.green("←"), terminal.dim(&took))
}

/// The parameters on one line. Only the end of a long string is shown, because paths differ at their end.
fn shortened(params: &Value) -> String {
    let mut params = params.clone();
    let mut open = vec![&mut params];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => shorten(text),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values_mut()),
            _ => {}
        }
    }
    one_line(&params.to_string())
}

fn shorten(text: &mut String) {
    let length = text.chars().count();
    if length > SHOWN_STRING {
        let end: String = text.chars().skip(length - SHOWN_STRING + 1).collect();
        *text = format!("…{end}");
    }
}

/// Roles of messages, in the order of the count.
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

/// The important part of a result.
fn essentials(method: &str, result: &Value) -> String {
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

/// A line for each notification. Consecutive notifications of one kind share a line.
fn notification_lines(notifications: &[Notification]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for group in notifications.chunk_by(|left, right| left.method == right.method) {
        let last = group.last().map(notified).unwrap_or_default();
        let times = if group.len() > 1 { format!(" × {}, the last", group.len()) } else { String::new() };
        lines.push(format!("{}{times}: {last}", one_line(&group[0].method)));
    }
    lines
}

/// The tokens of a context.
pub(super) fn context_tokens(context: &Value) -> u64 {
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
    let (messages, tokens) = (count(messages.len() as u64, "message"), thousands(context_tokens(result)));
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

fn text(value: &Value) -> String {
    value.as_str().map_or("none".to_owned(), one_line)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    fn exchange() -> Exchange {
        let params = RawValue::from_string(r#"{"tokensBefore":43552}"#.to_owned()).expect("it is JSON");
        Exchange {
            number: 5,
            method: "compact",
            purpose: "the compaction itself",
            params: json!({ "sessionId": "s", "path": format!("/{}/session.jsonl", "long/".repeat(20)) }),
            result: json!({ "entryId": "0a1b2c3d", "tokensBefore": 43552, "tokensAfter": 21806, "summarizer": "extractive" }),
            notifications: vec![Notification { method: "compactionStart".to_owned(), params }],
            frames: vec![
                (Direction::Sent, r#"{"id":1}"#.to_owned()),
                (Direction::Received, r#"{"result":{}}"#.to_owned()),
            ],
            took: Duration::from_micros(12_400),
            meaning: "One line was added.".to_owned(),
        }
    }

    fn printed(show_frames: bool) -> String {
        let mut output = Vec::new();
        print(&exchange(), show_frames, Terminal::plain(100), &mut output).expect("memory takes everything");
        String::from_utf8(output).expect("it is text")
    }

    #[test]
    fn the_essentials_of_an_exchange() {
        expect![[r#"
            5. compact: the compaction itself
             → compact {"path":"…ong/long//session.jsonl","sessionId":"s"}
             ~ compactionStart: 43,552 tokens
             ← entry 0a1b2c3d, 43,552 → 21,806 tokens, written by extractive  12 ms
               One line was added.

        "#]]
        .assert_eq(&printed(false));
    }

    #[test]
    fn the_frames_of_an_exchange() {
        expect![[r#"
            5. compact: the compaction itself
             → {"id":1}
             ← {"result":{}}
               One line was added.

        "#]]
        .assert_eq(&printed(true));
    }

    fn check(method: &str, result: Value, expected: Expect) {
        expected.assert_eq(&essentials(method, &result));
    }

    #[test]
    fn results() {
        check(
            "initialize",
            json!({
                "protocolVersion": 1, "serverInfo": { "name": "compactd", "version": "0.1.0" },
                "capabilities": { "methods": ["a", "b"], "summarizers": ["extractive", "host"] },
            }),
            expect!["compactd 0.1.0, protocol 1, 2 methods, summarizers extractive, host"],
        );
        check(
            "openSession",
            json!({ "sessionId": "s1", "leafId": "0a1b2c3d", "entryCount": 388, "diagnostics": [] }),
            expect!["session s1, 388 entries, leaf 0a1b2c3d, 0 diagnostics"],
        );
        check(
            "openSession",
            json!({ "sessionId": "s1", "leafId": null, "diagnostics": [{}] }),
            expect!["session s1, leaf none, 1 diagnostic"],
        );
        check(
            "getContext",
            json!({
                "messages": [{ "role": "compactionSummary" }, { "role": "user" }, { "role": "assistant" }, { "role": "user" }],
                "tokens": { "tokens": 21806 },
            }),
            expect!["4 messages (1 summary, 2 user, 1 assistant), 21,806 tokens"],
        );
        check(
            "prepareCompaction",
            json!({ "preparation": {
                "messagesToSummarize": ["a", "b"], "turnPrefixMessages": ["c"], "firstKeptEntryId": "0a1b2c3d",
                "fileOps": { "read": ["x"], "written": ["y"], "edited": ["y", "z"] },
            }}),
            expect!["3 messages to summarise, kept from entry 0a1b2c3d, 1 file read, 3 written or edited"],
        );
        check(
            "getTree",
            json!({ "nodes": [{ "label": "done" }, {}, { "label": "a\u{1b}b" }] }),
            expect![[r#"3 nodes, labels "done", "a b""#]],
        );
        check(
            "navigateTree",
            json!({ "oldLeafId": "a", "leafId": "b", "summaryEntry": { "id": "b" } }),
            expect!["leaf a → b, branch summary b"],
        );
        check("navigateTree", json!({ "oldLeafId": "a", "leafId": null }), expect!["leaf a → none"]);
        check("shutdown", Value::Null, expect!["null"]);
    }

    fn note(method: &str, params: Value) -> Notification {
        let params = RawValue::from_string(params.to_string()).expect("it is JSON");
        Notification { method: method.to_owned(), params }
    }

    #[test]
    fn notifications_of_one_kind_share_a_line() {
        let notifications = [
            note("compactionStart", json!({ "tokensBefore": 43552 })),
            note("compactionProgress", json!({ "phase": "summarizing", "request": 1, "requests": 2 })),
            note("compactionProgress", json!({ "phase": "committing", "request": 2, "requests": 2 })),
            note("entryAppended", json!({ "entry": { "type": "compaction", "id": "0a1b2c3d" } })),
            note("compactionEnd", json!({ "aborted": false })),
            note("leafChanged", json!({ "oldLeafId": null, "leafId": "b" })),
            note("compactionEnd", json!({ "aborted": false, "error": { "message": "no\nroom" } })),
        ];
        expect![[r#"
            compactionStart: 43,552 tokens
            compactionProgress × 2, the last: committing, request 2 of 2
            entryAppended: compaction 0a1b2c3d
            compactionEnd: done
            leafChanged: none → b
            compactionEnd: failed: no room"#]]
        .assert_eq(&notification_lines(&notifications).join("\n"));
    }

    #[test]
    fn replies_of_another_shape_are_no_panic() {
        for method in
            ["initialize", "openSession", "getContext", "prepareCompaction", "compact", "getTree", "navigateTree"]
        {
            for result in [Value::Null, json!({}), json!([1]), json!({ "preparation": null })] {
                assert!(!essentials(method, &result).is_empty());
            }
        }
    }
}
