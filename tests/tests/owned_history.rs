//! Hosts that own their history, in every shape: up to 150 turns through `compactMessages` alone. No request
//! exceeds the window, what stays stays as it was, and what was said first is still known at the end.

use compactd_tests::agent::Sidecar;
use compactd_tests::generate::random::Random;
use serde_json::{Value, json};

const WINDOW: u64 = 24_000;
const RESERVE: u64 = 4_000;
/// Shapes, and turns that hosts work in them.
const FORMATS: [(&str, usize); 6] =
    [("pi", 40), ("openai", 40), ("openai-responses", 40), ("anthropic", 150), ("gemini", 40), ("ai-sdk", 40)];
const RULE: &str = "Never edit files below vendor/, and always keep the port 7443.";

struct Call {
    id: String,
    path: String,
    output: String,
    is_error: bool,
}

/// Messages of one host, in its shape.
struct Host<'a> {
    format: &'a str,
    messages: Vec<Value>,
}

impl Host<'_> {
    fn user(&mut self, text: &str) {
        self.messages.push(match self.format {
            "gemini" => json!({ "role": "user", "parts": [{ "text": text }] }),
            "openai-responses" => json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] }),
            _ => json!({ "role": "user", "content": text }),
        });
    }

    fn answer(&mut self, text: &str) {
        self.messages.push(match self.format {
            "gemini" => json!({ "role": "model", "parts": [{ "text": text }] }),
            "openai" | "openai-responses" => json!({ "role": "assistant", "content": text }),
            _ => json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] }),
        });
    }

    fn work(&mut self, calls: &[Call]) {
        let each = |make: &dyn Fn(&Call) -> Value| calls.iter().map(make).collect::<Vec<Value>>();
        let messages = match self.format {
            "openai" => {
                let made = each(&|call| {
                    let arguments = json!({ "path": call.path }).to_string();
                    json!({ "id": call.id, "type": "function", "function": { "name": "read", "arguments": arguments } })
                });
                let results = each(&|call| json!({ "role": "tool", "tool_call_id": call.id, "content": call.output }));
                [vec![json!({ "role": "assistant", "content": null, "tool_calls": made })], results].concat()
            }
            "openai-responses" => {
                let made = each(&|call| {
                    let arguments = json!({ "path": call.path }).to_string();
                    json!({ "type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id, "name": "read", "arguments": arguments })
                });
                let results =
                    each(&|call| json!({ "type": "function_call_output", "call_id": call.id, "output": call.output }));
                [vec![json!({ "type": "reasoning", "id": "rs_1", "summary": [] })], made, results].concat()
            }
            "anthropic" => {
                let made = each(
                    &|call| json!({ "type": "tool_use", "id": call.id, "name": "read", "input": { "path": call.path } }),
                );
                let results = each(
                    &|call| json!({ "type": "tool_result", "tool_use_id": call.id, "content": call.output, "is_error": call.is_error }),
                );
                vec![json!({ "role": "assistant", "content": made }), json!({ "role": "user", "content": results })]
            }
            "gemini" => {
                let made = each(&|call| json!({ "functionCall": { "name": "read", "args": { "path": call.path } } }));
                let results = each(&|call| {
                    let key = if call.is_error { "error" } else { "output" };
                    json!({ "functionResponse": { "name": "read", "response": { key: call.output } } })
                });
                vec![json!({ "role": "model", "parts": made }), json!({ "role": "user", "parts": results })]
            }
            "ai-sdk" => {
                let made = each(
                    &|call| json!({ "type": "tool-call", "toolCallId": call.id, "toolName": "read", "input": { "path": call.path } }),
                );
                let results = each(&|call| {
                    let output = json!({ "type": "text", "value": call.output });
                    json!({ "type": "tool-result", "toolCallId": call.id, "toolName": "read", "output": output })
                });
                vec![json!({ "role": "assistant", "content": made }), json!({ "role": "tool", "content": results })]
            }
            _ => {
                let made = each(
                    &|call| json!({ "type": "toolCall", "id": call.id, "name": "read", "arguments": { "path": call.path } }),
                );
                let results = each(&|call| {
                    let content = [json!({ "type": "text", "text": call.output })];
                    json!({ "role": "toolResult", "toolCallId": call.id, "toolName": "read", "content": content, "isError": call.is_error })
                });
                [vec![json!({ "role": "assistant", "content": made, "stopReason": "toolUse" })], results].concat()
            }
        };
        self.messages.extend(messages);
    }
}

fn calls(random: &mut Random, turn: usize) -> Vec<Call> {
    let count = random.between(1, 4);
    let call = |at: usize, random: &mut Random| {
        let is_error = random.chance(100);
        let line = format!("line of module_{turn} number {at}: value {}\n", random.below(100_000));
        let output = if is_error { "error: no such file".to_owned() } else { line.repeat(random.between(1, 60)) };
        Call { id: format!("call_{turn}_{at}"), path: format!("src/module_{turn}_{at}.rs"), output, is_error }
    };
    (0..count).map(|at| call(at, random)).collect()
}

/// A host of one shape works so many turns.
fn work(format: &str, turns: usize) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut sidecar = Sidecar::start(home.path(), &json!({}))?;
    let mut random = Random::new(7);
    let mut host = Host { format, messages: Vec::new() };
    let (mut previous, mut compactions, mut summary) = (Value::Null, 0, String::new());
    for turn in 0..turns {
        let rule = if turn == 0 { RULE } else { "Keep the public names." };
        host.user(&format!("Step {turn}: rename module_{turn} to part_{turn} everywhere. {rule}"));
        for step in 0..2 {
            let weight = json!({ "format": format, "messages": host.messages });
            let tokens = sidecar.call("estimateTokens", &weight)?["tokens"].as_u64().unwrap_or(u64::MAX);
            assert!(tokens <= WINDOW, "{format}, turn {turn}: a request of {tokens} tokens");
            if tokens > WINDOW - RESERVE - 6_000 {
                compactions += 1;
                let given = host.messages.clone();
                let mut order = json!({
                    "format": format,
                    "messages": given,
                    "model": { "provider": "p", "id": "m", "contextWindow": WINDOW },
                    "settings": { "reserveTokens": RESERVE, "keepRecentTokens": 5_000 },
                });
                if previous != Value::Null {
                    order["previous"] = previous;
                }
                let result = sidecar.call("compactMessages", &order)?;
                previous = result["previous"].clone();
                summary = result["report"]["summary"].as_str().unwrap_or_default().to_owned();
                host.messages = result["messages"].as_array().cloned().unwrap_or_default();
                let kept = &given[result["keptFrom"].as_u64().unwrap_or(u64::MAX) as usize..];
                let last = host.messages.len() - kept.len();
                // The first of them may stand in one message with the summary.
                assert_eq!(host.messages[last + 1..], kept[1..], "{format}, turn {turn}");
                assert!(last <= 1 && host.messages[0].to_string().contains("<summary>") || format == "pi");
            }
            match step {
                0 => host.work(&calls(&mut random, turn)),
                _ => host.answer(&format!("part_{turn} has its new name; all {} tests pass.", turn * 3 + 11)),
            }
        }
    }
    assert!(compactions > turns / 25, "{format}: {compactions} compactions");
    for word in ["vendor/", "7443"] {
        assert!(summary.contains(word), "{format}: after {compactions} compactions {word} is not in {summary}");
    }
    sidecar.shut_down()
}

#[test]
fn no_request_of_a_host_that_owns_its_history_exceeds_its_window() -> anyhow::Result<()> {
    // Hosts of all shapes work at the same time, each with its own server.
    std::thread::scope(|scope| {
        let each = FORMATS.map(|(format, turns)| scope.spawn(move || work(format, turns)));
        each.into_iter().try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// A history of `tokens` by estimate behind instructions of about so many words.
fn behind_instructions(words: usize, tokens: usize) -> Vec<Value> {
    let mut messages =
        vec![json!({ "role": "system", "content": format!("You are an agent. {}", "rule ".repeat(words)) })];
    let mut units = words * 5;
    for turn in 0.. {
        if units / 4 > tokens {
            break;
        }
        let (asked, answer) = (format!("quest{turn} ").repeat(120), format!("answer{turn} ").repeat(120));
        units += asked.len() + answer.len();
        messages.push(json!({ "role": "user", "content": asked }));
        messages.push(json!({ "role": "assistant", "content": answer }));
    }
    messages
}

#[test]
fn a_context_is_fitted_beside_long_instructions() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let mut sidecar = Sidecar::start(home.path(), &json!({}))?;
    let model = |window: u64| json!({ "provider": "p", "id": "m", "contextWindow": window });
    for (window, words) in [(20_000_u64, 800), (20_000, 6_400), (32_000, 12_800), (128_000, 48_000)] {
        let messages = behind_instructions(words, window as usize);
        let order = json!({ "format": "openai", "messages": messages, "model": model(window) });
        let result = sidecar.call("compactMessages", &order)?;
        let after = json!({ "format": "openai", "messages": result["messages"] });
        let tokens = sidecar.call("estimateTokens", &after)?["tokens"].as_u64().unwrap_or(u64::MAX);
        let session = sidecar.call("createSession", &json!({}))?;
        let check = json!({ "sessionId": session["sessionId"], "model": model(window) });
        let threshold = sidecar.call("checkCompaction", &check)?["threshold"].as_u64().unwrap_or_default();
        assert!(tokens <= threshold, "{words} words in {window}: {tokens} of {threshold}");
    }
    let order = json!({ "format": "openai", "messages": behind_instructions(20_000, 30_000), "model": model(20_000) });
    let error = sidecar.call("compactMessages", &order).unwrap_err().to_string();
    assert!(error.contains("of 20000"), "{error}");
    sidecar.shut_down()
}
