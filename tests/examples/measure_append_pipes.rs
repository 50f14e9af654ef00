//! What an append costs over the pipes: build the server in release mode, then
//! `COMPACTD_BIN=... cargo run --release -p compactd-tests --example measure_append_pipes`.

use std::io::Write;
use std::time::{Duration, Instant};

use compactd_tests::faults::peer::Peer;
use serde_json::json;

/// Requests that are under way at once.
const CALLERS: usize = 16;

fn main() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let text = "All work and no play makes a dull session. ".repeat(20);
    let mut out = std::io::stdout();
    for durability in ["none", "always"] {
        let mut peer = Peer::start(home.path(), durability)?;
        let path = home.path().join(format!("{durability}.jsonl"));
        let created = peer.call("createSession", &json!({ "path": path }))?;
        let message = json!({ "role": "user", "content": text, "timestamp": 1 });
        let params = json!({ "sessionId": created["sessionId"], "message": message });
        let mut times = Vec::new();
        for _ in 0..3000 {
            let started = Instant::now();
            peer.call("appendMessage", &params)?;
            times.push(started.elapsed());
        }
        times.sort();
        let one = times.len() as f64 / times.iter().sum::<Duration>().as_secs_f64();
        let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e6;
        let many = rate_of_many(&mut peer, &params)?;
        let ratio = many / one;
        let (p50, p99) = (at(50), at(99));
        writeln!(
            out,
            "{durability:<8} p50 {p50:.1} us, p99 {p99:.1} us; 1 caller {one:.0}/s, {CALLERS} {many:.0}/s, ratio {ratio:.1}"
        )?;
        peer.shut_down()?;
    }
    Ok(())
}

fn rate_of_many(peer: &mut Peer, params: &serde_json::Value) -> anyhow::Result<f64> {
    let count = 3000;
    let started = Instant::now();
    let mut waiting = std::collections::VecDeque::new();
    for _ in 0..count {
        if waiting.len() == CALLERS {
            peer.answer(waiting.pop_front().unwrap_or_default())?.map_err(|error| anyhow::anyhow!("{error}"))?;
        }
        waiting.push_back(peer.send("appendMessage", params)?);
    }
    for id in waiting {
        peer.answer(id)?.map_err(|error| anyhow::anyhow!("{error}"))?;
    }
    Ok(f64::from(count) / started.elapsed().as_secs_f64())
}
