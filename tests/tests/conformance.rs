//! Plays the conformance cases against the binary, and sees that they reach the whole protocol.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use compactd_tests::binary::binary;
use compactd_tests::conformance::{Coverage, Outcome, abilities, coverage, directory, load, run, write_frames};
use compactd_tests::programs;
use serde_json::Value;

/// Codes that no case can bring about, each with the reason.
const UNREACHABLE: &[(i64, &str)] = &[
    (-32603, "only a defect of the server leads to it"),
    (1010, "the system has to fail; tests/tests/faults does that"),
];

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

/// Plays the cases whose `topic/name` contains `$CONFORMANCE`, all by default, once for all tests. What they sent and
/// got goes to the file that `$CONFORMANCE_FRAMES` names.
fn played() -> &'static (Outcome, PathBuf) {
    static PLAYED: OnceLock<(Outcome, PathBuf)> = OnceLock::new();
    PLAYED.get_or_init(|| {
        let filter = std::env::var("CONFORMANCE").unwrap_or_default();
        let topics = load(&directory()).expect("the cases can be read");
        let binary = binary().expect("the binary is built");
        let outcome = run(&binary, &abilities(&binary).expect("the server starts"), &topics, &filter);
        let frames = std::env::var_os("CONFORMANCE_FRAMES").map(PathBuf::from);
        let frames = frames.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("frames.jsonl"));
        write_frames(&outcome.frames, &frames).expect("there is room for the frames");
        (outcome, frames)
    })
}

#[test]
fn every_case_passes() {
    let (outcome, _) = played();
    for skipped in &outcome.skipped {
        eprintln!("skipped: {skipped}");
    }
    let report = outcome.failures.join("\n\n");
    eprintln!("{} passed, {} failed, {} skipped", outcome.passed, outcome.failures.len(), outcome.skipped.len());
    assert!(outcome.failures.is_empty(), "{report}\n\n{} conformance cases failed", outcome.failures.len());
    assert!(outcome.passed > 0, "no case was played");
}

/// The directory of the validators.
fn validators() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

/// Validates all frames against the schemas of the protocol. At least one frame must use each schema.
#[track_caller]
fn check_frames(program: &Path, script: &str) {
    let (outcome, frames) = played();
    let schemas = xtask::root().join("protocol/schemas");
    let mut command = programs::command(&validators(), program, &[script]).expect("the server is built");
    command.arg(&schemas).arg(frames);
    let output = programs::run(command).unwrap_or_else(|why| panic!("{why:#}"));
    let held = outcome.frames.iter().map(|frame| format!("{}.json", frame.schema)).collect::<BTreeSet<_>>();
    let known = std::fs::read_dir(schemas).expect("there are schemas");
    let known = known.map(|item| item.expect("it can be listed").file_name().to_string_lossy().into_owned());
    let unused: Vec<String> = known.filter(|name| !held.contains(name)).collect();
    let is_whole = std::env::var_os("CONFORMANCE").is_none();
    assert!(unused.is_empty() || !is_whole, "no case sends or gets {unused:?}; {output}");
}

#[test]
fn ajv_finds_that_frames_fit_their_schemas() {
    if programs::available(programs::install_npm(&validators())).is_some() {
        check_frames(Path::new("node"), "validate.mjs");
    }
}

#[test]
fn jsonschema_finds_that_frames_fit_their_schemas() {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemas-venv");
    if let Some(python) = programs::available(programs::install_python(&validators(), &environment)) {
        check_frames(&python, "validate.py");
    }
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
