//! Servers of other projects: the proxy of LiteLLM and the server of llama-cpp-python. `cargo xtask models` installs
//! and starts them and sets their addresses in the environment.
//!
//! The proxy answers by itself (`mock_response` in `xtask/src/models/litellm.yaml`) or asks a server of this test. The
//! model of llama.cpp is small and has random weights, so its text means nothing.

use std::io::Write;

use compaction_engine::models::{Answer, FailureKind, ModelError, StopReason, summary_of};
use serde_json::{Value, json};

use super::harness::{ask, model, request};
use super::server::{Script, Server};

/// The proxy's own answer.
const SUMMARY: &str = "## Goal\n- Peace";

/// The address of a server, from an environment variable.
fn address(variable: &str) -> Option<String> {
    let address = std::env::var(variable).ok();
    if address.is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: {variable} is not set");
    }
    address
}

fn ask_proxy(address: &str, provider: &str, api: &str, model_name: &str) -> Result<Answer, ModelError> {
    let version = if provider == "openai" { "/v1" } else { "" };
    let base_url = format!("{address}{version}");
    let headers = json!({ "authorization": "Bearer sk-test-master" });
    let mut settings = json!({ "provider": provider, "model": model_name, "baseUrl": base_url, "headers": headers });
    if provider == "openai" {
        settings["api"] = json!(api);
    }
    let (answer, streamed) = ask(model("tested", &settings).as_ref(), &request());
    if let Ok(answer) = &answer {
        assert_eq!(streamed, answer.text);
    }
    answer
}

#[test]
fn litellm() {
    let Some(address) = address("COMPACTD_LITELLM") else { return };
    for (provider, api) in [("openai", "chat"), ("anthropic", "chat")] {
        let answer = ask_proxy(&address, provider, api, "plain").unwrap();
        assert_eq!((answer.text.as_str(), answer.stop), (SUMMARY, StopReason::Stop), "{provider}");
        assert!(answer.usage.is_some_and(|usage| usage["output"].as_u64() > Some(0)));
        for (model_name, kind) in [
            ("limited", FailureKind::RateLimited),
            ("full", FailureKind::Overflow),
            ("broken", FailureKind::Server),
            ("nobody", FailureKind::Refused),
        ] {
            let error = ask_proxy(&address, provider, api, model_name).unwrap_err();
            assert_eq!(error.kind, kind, "{provider}: {model_name}: {error}");
        }
    }
}

#[test]
fn litellm_before_a_server() {
    let Some(address) = address("COMPACTD_LITELLM") else { return };
    let Ok(port) = std::env::var("COMPACTD_LITELLM_UPSTREAM") else { panic!("the port of the server is missing") };
    let upstream = Server::start_at(port.parse().unwrap(), by_path);
    let thinking = format!("<think>hm</think>\n{SUMMARY}");
    for (provider, api, model_name) in [
        ("openai", "chat", "upstream-chat"),
        ("openai", "chat", "upstream-messages"),
        ("openai", "responses", "upstream-messages"),
        ("anthropic", "chat", "upstream-messages"),
    ] {
        let answer = ask_proxy(&address, provider, api, model_name).unwrap();
        let label = format!("{provider} {api} {model_name}");
        assert_eq!(summary_of(&answer.text), summary_of(&thinking), "{label}");
        assert_eq!(answer.stop, StopReason::Stop, "{label}");
    }
    drop(upstream);
}

/// The answer of a server behind the proxy, in the interface of the request.
fn by_path(path: &str) -> Script {
    let events: Vec<Value> = match path.contains("chat/completions") {
        true => {
            let chunk = |delta: Value, reason: Value| {
                json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
            };
            vec![
                chunk(json!({ "role": "assistant", "content": "<think>hm</think>\n" }), Value::Null),
                chunk(json!({ "content": SUMMARY }), Value::Null),
                chunk(json!({}), json!("stop")),
            ]
        }
        false => vec![
            json!({ "type": "message_start", "message": { "id": "m", "type": "message", "role": "assistant", "model": "m",
                "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": SUMMARY } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null },
                "usage": { "output_tokens": 4 } }),
            json!({ "type": "message_stop" }),
        ],
    };
    let text = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let mut body: String = events.iter().map(text).collect();
    if path.contains("chat/completions") {
        body.push_str("data: [DONE]\n\n");
    }
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    Script { status: 200, headers, body: body.into_bytes(), ..Script::default() }
}

#[test]
fn llama_cpp() {
    let Some(address) = address("COMPACTD_LLAMA_CPP") else { return };
    let settings =
        json!({ "provider": "openai", "model": "tiny", "baseUrl": format!("{address}/v1"), "apiKeyEnv": null });
    let model = model("tested", &settings);
    let mut short = request();
    short.max_tokens = 8;
    let (answer, streamed) = ask(model.as_ref(), &short);
    let answer = answer.unwrap();
    assert_eq!((&answer.stop, streamed.as_str()), (&StopReason::Length, answer.text.as_str()));
    // The server begins a stream before it counts the prompt, and then only closes it.
    let mut long = request();
    long.prompt = "peace ".repeat(2000);
    let (error, _) = ask(model.as_ref(), &long);
    let error = error.unwrap_err();
    assert_eq!(error.kind, FailureKind::Overflow, "{error}");
}
