//! An agent works for 400 turns in a window of 32k tokens, with rate limits and cuts. What overflows is
//! the business of `simulated_hosts.rs`.

use std::io::Write as _;

use compactd_tests::agent::{Agent, Provider, Sidecar, WINDOW};
use serde_json::{Value, json};

#[test]
fn hundreds_of_turns_stay_below_the_window_and_lose_nothing() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let provider = Provider::start(7)?;
    let settings = settings(&provider);
    let mut agent = Agent::new(Sidecar::start(home.path(), &settings)?, 11)?;
    let turns = std::env::var("TURNS").ok().and_then(|turns| turns.parse().ok()).unwrap_or(400);
    agent.work(turns)?;
    let seen = provider.seen();
    let tally = agent.finish(&seen.marks)?;
    let compactions = tally.threshold_compactions + tally.overflow_compactions;
    let requests: u64 = seen.outcomes.values().sum();
    let mut table = std::io::stderr();
    writeln!(
        table,
        "turns {:>28}\nmessages {:>25}\ntokens said {:>22}",
        tally.turns, tally.messages, tally.total_tokens
    )?;
    writeln!(table, "model calls {:>22}\nrefused as too large {:>13}", tally.model_calls, tally.overflows)?;
    writeln!(table, "compactions {:>22}", compactions)?;
    writeln!(
        table,
        "  for an overflow {:>16}\n  that failed {:>20}",
        tally.overflow_compactions,
        tally.failures.values().sum::<u64>()
    )?;
    for (message, count) in &tally.failures {
        writeln!(table, "    {count} x {message}")?;
    }
    writeln!(table, "largest context sent {:>13}\nrequests for summaries {:>11}", tally.largest_context, requests)?;
    for (outcome, count) in &seen.outcomes {
        writeln!(table, "  {outcome:<20}{count:>12}")?;
    }
    writeln!(table, "largest prompt, units {:>12}", seen.largest_prompt)?;
    assert!(compactions > 100, "the run was too small to say anything: {compactions} compactions");
    assert!(requests <= compactions * 8, "{requests} requests for {compactions} compactions");
    assert!(seen.largest_prompt as u64 / 4 < WINDOW, "a request was larger than the window");
    Ok(())
}

fn settings(provider: &Provider) -> Value {
    json!({
        "compactd": {
            "durability": "none",
            "summarizer": ["scripted"],
            "summarizers": { "scripted": {
                "provider": "openai", "baseUrl": provider.base_url, "model": "scripted", "apiKeyEnv": null,
                "contextWindow": WINDOW, "maxOutputTokens": 8_000,
            } },
        },
        "retry": { "baseDelayMs": 1 },
    })
}

#[test]
fn the_text_comes_in_pieces_while_it_is_written() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let provider = Provider::start_reliable()?;
    let mut sidecar = Sidecar::start(home.path(), &settings(&provider))?;
    let session_id = sidecar.call("createSession", &json!({ "ephemeral": true }))?["sessionId"].clone();
    for number in 0..2 {
        let content = format!("[m{number}] {}", "words ".repeat(1000));
        let message = json!({ "role": "user", "content": content, "timestamp": 0 });
        sidecar.call("appendMessage", &json!({ "sessionId": session_id, "message": message }))?;
    }
    let params = json!({ "sessionId": session_id, "settings": { "keepRecentTokens": 10 } });
    let result = sidecar.call("compact", &params)?;
    let summary = result["summary"].as_str().unwrap_or_default().to_owned();
    let text: String = sidecar.progress.iter().filter_map(|progress| progress["delta"].as_str()).collect();
    assert!(
        text.starts_with("## Goal") && summary.starts_with(text.trim_end()),
        "{text:?} is not how {summary:?} begins"
    );
    let tokens: Vec<u64> = sidecar.progress.iter().filter_map(|progress| progress["outputTokens"].as_u64()).collect();
    assert_eq!(tokens.iter().max().copied(), Some(text.encode_utf16().count().div_ceil(4) as u64));
    assert_eq!(sidecar.progress.last().map(|progress| &progress["phase"]), Some(&json!("committing")));
    sidecar.shut_down()
}
