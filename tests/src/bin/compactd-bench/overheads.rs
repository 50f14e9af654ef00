//! What the server adds to a call of a model that writes a summary: preparing, planning and sending
//! the request on the one side, checking, committing and answering on the other. The model is the client. It answers
//! at once, or after a time that is much shorter than that of any real model. What the server does meanwhile adds
//! nothing then.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::Bench;
use crate::memory;
use crate::pipe::Pipe;
use crate::report::{Report, Row};
use crate::sessions::SessionFile;
use crate::times::Times;

const SUMMARY: &str = "## Goal\n- x\n\n## Constraints & Preferences\n- x\n\n## Progress\n\n### Done\n- x\n\n\
    ### In Progress\n- x\n\n### Blocked\n- x\n\n## Key Decisions\n- x\n\n## Next Steps\n- x\n\n## Critical Context\n- x";

/// What the slower model takes for an answer.
const SHORTEST_ANSWER: Duration = Duration::from_millis(250);

/// A compaction by the client's model, of the session of 10 MB or the largest below it.
pub(crate) fn measure(bench: &Bench, sessions: &[SessionFile], report: &mut Report) -> anyhow::Result<()> {
    let Some(session) = sessions.iter().rfind(|session| session.bytes < 20_000_000) else {
        return Ok(());
    };
    for (model, takes) in [("at once", Duration::ZERO), ("after 250 ms", SHORTEST_ANSWER)] {
        let (mut before, mut after, mut prompt) = (Vec::new(), Vec::new(), 0);
        for _ in 0..bench.effort.processes {
            let run = one(bench, session, takes)?;
            before.push(run.before);
            after.push(run.after);
            prompt = run.request_bytes;
        }
        session.restore()?;
        let remark = format!("requests of {}; the model answers {model}", memory::shown(prompt as u64));
        let total: Vec<Duration> = before.iter().zip(&after).map(|(before, after)| *before + *after).collect();
        for (figure, times) in [
            ("`compact` by a model: prepare, plan, send the request", before),
            ("`compact` by a model: check the answer, commit, reply", after),
            ("`compact` by a model: all that is added to the model's time", total),
        ] {
            let figure = format!("{figure}, {}, {model}", session.name);
            report.add(Row::medians(figure, &Times::new(times), None).remark(&remark));
        }
    }
    Ok(())
}

struct Run {
    before: Duration,
    after: Duration,
    request_bytes: usize,
}

fn one(bench: &Bench, session: &SessionFile, takes: Duration) -> anyhow::Result<Run> {
    session.restore()?;
    let mut pipe = Pipe::start(&bench.binary, &bench.directory)?;
    let settings = json!({ "compactd": { "summarizer": "host", "summarize": { "contextWindow": 1_000_000 } } });
    let client = json!({ "name": "bench" });
    let capabilities = json!({ "summarize": true });
    let hello = json!({ "protocolVersion": 1, "clientInfo": client, "agentDir": bench.directory,
        "settings": settings, "capabilities": capabilities });
    pipe.timed("initialize", &hello)?;
    pipe.timed("openSession", &json!({ "path": session.path }))?;
    let of = json!({ "sessionId": session.id });
    // As in an agent's life, the context is known when a compaction becomes due.
    pipe.timed("getContext", &of)?;
    let mut run = Run { before: Duration::ZERO, after: Duration::ZERO, request_bytes: 0 };
    let mut started = Instant::now();
    pipe.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "compact", "params": of }))?;
    loop {
        let line = pipe.read_line()?;
        let elapsed = started.elapsed();
        if line.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,") {
            anyhow::ensure!(!line.contains("\"error\":{\"code\""), "the compaction failed: {line}");
            run.after += elapsed;
            return Ok(run);
        }
        if !line.contains("\"method\":\"summarize\"") {
            continue;
        }
        run.before += elapsed;
        run.request_bytes += line.len();
        let request: Value = serde_json::from_str(line)?;
        let kind = request["params"]["kind"].as_str().context("a request has a kind")?;
        let answer = if kind == "turnPrefix" {
            "## Original Request\nx\n\n## Early Progress\n- x\n\n## Context for Suffix\n- x"
        } else {
            SUMMARY
        };
        let result = json!({ "text": answer, "stopReason": "stop" });
        let reply = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        sleep(takes);
        started = Instant::now();
        pipe.send(&reply)?;
    }
}
