//! Plays the conformance cases against the binary, and sees that they reach the whole protocol.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use compactd_tests::binary::binary;
use compactd_tests::conformance::{Coverage, coverage, directory, load, run};
use serde_json::Value;

/// Codes that need what a case cannot bring about, each with the reason.
const UNREACHED_CODES: &[(i64, &str)] = &[(-32603, "only a defect of the server leads to it")];

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
    let outcome = run(&binary().expect("the binary is built"), &topics, &filter).expect("the server starts");
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
    let reached = coverage(&load(&directory()).expect("the cases can be read"));
    let document = discover();
    let mut missing = missing_methods(&document, &reached);
    missing.extend(missing_codes(&document, &reached));
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

fn missing_codes(document: &Value, reached: &Coverage) -> Vec<String> {
    let listed: BTreeSet<i64> = error_codes(&document["x-errors"]);
    assert!(listed.len() > 15, "the document lists the error codes");
    let unreached = listed.iter().filter(|code| !reached.codes.contains(code));
    let unreached = unreached.filter(|code| !UNREACHED_CODES.iter().any(|(listed, _)| listed == *code));
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
