//! Requests to real providers, with `COMPACTD_LIVE_TESTS=1` and their keys in the environment. Variables such as
//! `COMPACTD_LIVE_ANTHROPIC_MODEL` set the models, and such as `COMPACTD_LIVE_OPENAI_BASE_URL` the addresses.

use std::io::Write;

use compaction_core::prompts::{RequestKind, SummaryRequest};
use compaction_engine::models::{Answer, FailureKind, ModelError, StopReason};
use compaction_engine::models::{Environment, ModelConfiguration, model_of};
use serde_json::{Value, json};

use super::harness::ask;

const PROVIDERS: [(&str, &str, &str, &str); 4] = [
    ("anthropic", "ANTHROPIC", "claude-haiku-4-5", "chat"),
    ("openai", "OPENAI", "gpt-4.1-mini", "chat"),
    ("openai", "OPENAI", "gpt-4.1-mini", "responses"),
    ("gemini", "GEMINI", "gemini-2.5-flash-lite", "chat"),
];

#[test]
fn live() {
    if std::env::var("COMPACTD_LIVE_TESTS").as_deref() != Ok("1") {
        let _ = writeln!(std::io::stderr(), "skipped: COMPACTD_LIVE_TESTS is not 1");
        return;
    }
    for (provider, variable, default_model, api) in PROVIDERS {
        let key = format!("{variable}_API_KEY");
        if std::env::var(&key).is_err() {
            let _ = writeln!(std::io::stderr(), "skipped: {key} is not set");
            continue;
        }
        let model = std::env::var(format!("COMPACTD_LIVE_{variable}_MODEL")).unwrap_or(default_model.to_owned());
        let mut settings = json!({ "model": model, "api": api });
        if let Ok(address) = std::env::var(format!("COMPACTD_LIVE_{variable}_BASE_URL")) {
            settings["baseUrl"] = json!(address);
        }
        check(provider, &settings, &key);
    }
}

fn check(provider: &str, settings: &Value, key: &str) {
    let from_process = Environment::of_process();
    let wrong: Environment = std::iter::once((key.to_owned(), "sk-no-such-key".to_owned())).collect();
    let (answer, streamed) = answer_of(provider, settings, &from_process, 1000);
    let answer = answer.unwrap();
    assert_eq!(answer.stop, StopReason::Stop, "{answer:?}");
    assert!(!answer.text.trim().is_empty() && streamed == answer.text, "{answer:?}");
    assert!(answer.usage.is_some_and(|usage| usage["output"].as_u64() > Some(0)));
    let (cut, _) = answer_of(provider, settings, &from_process, 16);
    assert_eq!(cut.unwrap().stop, StopReason::Length);
    let (refused, _) = answer_of(provider, settings, &wrong, 1000);
    assert_eq!(refused.unwrap_err().kind, FailureKind::Authentication);
    let unknown = json!({ "model": "no-such-model", "api": settings["api"], "baseUrl": settings["baseUrl"] });
    let (refused, _) = answer_of(provider, &unknown, &from_process, 1000);
    assert!(!refused.unwrap_err().kind.is_retryable());
}

fn answer_of(
    provider: &str,
    settings: &Value,
    environment: &Environment,
    max_tokens: u64,
) -> (Result<Answer, ModelError>, String) {
    let all = json!({ "compactd": { "summarizers": { provider: settings } } });
    let configuration = ModelConfiguration::read(provider, &all).unwrap();
    let request = SummaryRequest {
        kind: RequestKind::History,
        system_prompt: "You answer with one paragraph of about eighty words.".to_owned(),
        prompt: "Describe what a session file of a coding agent holds.".to_owned(),
        max_tokens,
        estimated_tokens: 40,
    };
    ask(model_of(&configuration, environment).unwrap().as_ref(), &request)
}
