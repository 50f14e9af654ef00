//! Conversations in every shape, with the parts and members that were recorded in public test suites: through the
//! real binary and back, and what a compaction of them loses.
//!
//! `facts` of a conversation are its most important words. The summary holds them. If a summary of somebody else
//! does not, the loss report names them, and `recall` returns them.

use std::path::Path;

use anyhow::Context as _;
use compactd_tests::agent::Sidecar;
use serde_json::{Value, json};

const FORMATS: [&str; 5] = ["openai", "openai-responses", "anthropic", "gemini", "ai-sdk"];
const NEXT: &str = "Now sort the list of lamps.";

/// Conversations of this format, with and without facts.
fn conversations(format: &str) -> anyhow::Result<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/compaction-core/fixtures/formats");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(folder.join(format!("{format}.json")))?)?;
    Ok(file["conversations"].as_array().context("a list of conversations")?.clone())
}

/// A request and an answer that are kept when everything before them is compacted.
fn next(format: &str) -> Value {
    match format {
        "gemini" => {
            json!([{ "role": "user", "parts": [{ "text": NEXT }] }, { "role": "model", "parts": [{ "text": "Sorted." }] }])
        }
        _ => json!([{ "role": "user", "content": NEXT }, { "role": "assistant", "content": "Sorted." }]),
    }
}

/// What a request has as messages. Some interfaces take instructions at the start beside them, and answers without
/// what only the provider writes.
fn in_request(format: &str, messages: &[Value]) -> Vec<Value> {
    let is_apart = |(at, message): &(usize, &Value)| {
        *at == 0 && message["role"] == "system" && matches!(format, "anthropic" | "gemini")
    };
    let kept = messages.iter().enumerate().filter(|message| !is_apart(message));
    let as_sent = |(_, message): (usize, &Value)| match message.get("stop_reason") {
        Some(_) if format == "anthropic" => json!({ "role": message["role"], "content": message["content"] }),
        _ => message.clone(),
    };
    kept.map(as_sent).collect()
}

struct Session<'a> {
    sidecar: &'a mut Sidecar,
    id: Value,
}

impl<'a> Session<'a> {
    fn of(sidecar: &'a mut Sidecar, format: &str, messages: &Value) -> anyhow::Result<Self> {
        let session = sidecar.call("createSession", &json!({ "ephemeral": true }))?;
        let id = session["sessionId"].clone();
        let mut session = Self { sidecar, id };
        session.call("appendMessages", json!({ "format": format, "messages": messages }))?;
        Ok(session)
    }

    fn call(&mut self, method: &str, mut params: Value) -> anyhow::Result<Value> {
        params["sessionId"] = self.id.clone();
        self.sidecar.call(method, &params)
    }

    fn compact(&mut self, mut params: Value) -> anyhow::Result<Value> {
        params["settings"] = json!({ "keepRecentTokens": 1 });
        params["force"] = json!(true);
        self.call("compact", params)
    }
}

#[test]
fn recorded_conversations_go_through_the_server_and_come_back() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut sidecar = Sidecar::start(home.path(), &json!({}))?;
    for format in FORMATS {
        for conversation in conversations(format)? {
            let name = &conversation["name"];
            let messages = &conversation["messages"];
            let mut session = Session::of(&mut sidecar, format, messages)?;
            let context = session.call("getContext", json!({ "format": format }))?;
            let expected = in_request(format, messages.as_array().context("messages")?);
            assert_eq!(context["messages"], Value::Array(expected), "{format}: {name}");
            for other in FORMATS {
                let context = session.call("getContext", json!({ "format": other }))?;
                Session::of(session.sidecar, other, &context["messages"])?;
            }
        }
    }
    sidecar.shut_down()
}

#[test]
fn what_recorded_conversations_say_is_summarised_reported_and_recalled() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut sidecar = Sidecar::start(home.path(), &json!({}))?;
    for format in FORMATS {
        let recorded: Vec<Value> =
            conversations(format)?.into_iter().filter(|conversation| conversation.get("facts").is_some()).collect();
        assert!(recorded.len() >= 6, "{format}");
        for conversation in recorded {
            let name = &conversation["name"];
            let facts = conversation["facts"].as_array().context("facts")?;
            let mut session = Session::of(&mut sidecar, format, &conversation["messages"])?;
            session.call("appendMessages", json!({ "format": format, "messages": next(format) }))?;
            let ours = session.compact(json!({ "summarizer": "extractive", "commit": false }))?;
            let theirs = session.compact(json!({ "summary": { "summary": "Some work was done." } }))?;
            for fact in facts {
                let fact = fact.as_str().context("a fact")?;
                let summary = ours["summary"].as_str().unwrap_or_default();
                assert!(summary.contains(fact), "{format}: {name}: {fact} is not in {summary}");
                let report = theirs["lossReport"].to_string();
                assert!(report.contains(fact), "{format}: {name}: {fact} is not in {report}");
                let recalled = session.call("recall", json!({ "query": fact }))?["entries"].to_string();
                assert!(recalled.contains(fact), "{format}: {name}: {fact} is not in {recalled}");
            }
        }
    }
    sidecar.shut_down()
}
