//! Plays the conformance cases against the binary, and sees that they reach the whole protocol.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use compactd_tests::binary::binary;
use compactd_tests::conformance::{Coverage, abilities, coverage, directory, load, run};
use serde_json::Value;

/// Codes that no case can bring about, each with the reason.
const UNREACHABLE: &[(i64, &str)] = &[(-32603, "only a defect of the server leads to it")];

/// Codes that need an optional part of the server: as long as it lacks the part, they are not reached.
const REACHED_WITH: &[(i64, &str)] = &[
    (1103, "summarizer:host"),
    (1104, "summarizer:host"),
    (1106, "hook:sessionBeforeCompact"),
    (1107, "hook:sessionBeforeCompact"),
];

/// Methods for which a case of their own is senseless, each with the reason.
const NEVER_REFUSED: &[(&str, &str)] = &[
    ("rpc.discover", "it takes no parameters and is served at any time"),
    ("shutdown", "its only refusal is -32002, in the case of all methods"),
];

/// Plays the cases whose `topic/name` contains `$CONFORMANCE`, all by default.
#[test]
fn every_case_passes() {
    let filter = std::env::var("CONFORMANCE").unwrap_or_default();
    let topics = load(&directory()).expect("the cases can be read");
    let binary = binary().expect("the binary is built");
    let outcome = run(&binary, &abilities(&binary).expect("the server starts"), &topics, &filter);
    for skipped in &outcome.skipped {
        eprintln!("skipped: {skipped}");
    }
    let report = outcome.failures.join("\n\n");
    eprintln!("{} passed, {} failed, {} skipped", outcome.passed, outcome.failures.len(), outcome.skipped.len());
    assert!(outcome.failures.is_empty(), "{report}\n\n{} conformance cases failed", outcome.failures.len());
    assert!(outcome.passed > 0, "no case was played");
}

#[test]
fn cases_reach_every_method_and_every_error_code() {
    let abilities = abilities(&binary().expect("the binary is built")).expect("the server starts");
    let reached = coverage(&load(&directory()).expect("the cases can be read"), &abilities);
    let document = discover();
    let mut missing = missing_methods(&document, &reached);
    missing.extend(missing_codes(&document, &reached, &abilities));
    assert!(missing.is_empty(), "the conformance cases lack:\n  {}", missing.join("\n  "));
}

fn missing_methods(document: &Value, reached: &Coverage) -> Vec<String> {
    let methods = names(&document["methods"]);
    assert!(methods.len() > 20, "the document lists the methods");
    let notifications = ["exit", "$/cancelRequest"];
    let except = |method: &&String| !notifications.contains(&method.as_str());
    let answered = methods.iter().filter(|method| !reached.answered.contains(*method));
    let mut missing: Vec<String> = answered.map(|method| format!("{method}: good input")).collect();
    let refused = methods.iter().filter(except).filter(|method| !reached.refused.contains(*method));
    let refused = refused.filter(|method| !NEVER_REFUSED.iter().any(|(name, _)| name == method));
    missing.extend(refused.map(|method| format!("{method}: an error")));
    let cancelled = methods.iter().filter(except).filter(|method| !reached.cancelled.contains(*method));
    missing.extend(cancelled.map(|method| format!("{method}: cancellation")));
    missing
}

fn missing_codes(document: &Value, reached: &Coverage, abilities: &[String]) -> Vec<String> {
    let listed: BTreeSet<i64> = error_codes(&document["x-errors"]);
    assert!(listed.len() > 15, "the document lists the error codes");
    let is_out_of_reach = |code: i64| {
        let needs = REACHED_WITH.iter().find(|(listed, _)| *listed == code).map(|(_, ability)| *ability);
        UNREACHABLE.iter().any(|(listed, _)| *listed == code)
            || needs.is_some_and(|ability| !abilities.iter().any(|known| known == ability))
    };
    let unreached = listed.iter().filter(|code| !reached.codes.contains(code) && !is_out_of_reach(**code));
    unreached.map(|code| format!("error {code}")).collect()
}

fn error_codes(errors: &Value) -> BTreeSet<i64> {
    let members: Vec<&Value> = match errors {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    members.iter().filter_map(|error| error.get("code").unwrap_or(error).as_i64()).collect()
}

fn names(list: &Value) -> Vec<String> {
    let names = list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str());
    names.map(str::to_owned).collect()
}

/// The document of the binary, by one line on its standard input.
fn discover() -> Value {
    let mut command = Command::new(binary().expect("the binary is built"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary starts");
    let mut input = child.stdin.take().expect("standard input is piped");
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n";
    std::io::Write::write_all(&mut input, request.as_bytes()).expect("the server reads");
    drop(input);
    let output = child.wait_with_output().expect("the server ends");
    let reply: Value = serde_json::from_slice(&output.stdout).expect("the server answers with one line of JSON");
    reply["result"].clone()
}
