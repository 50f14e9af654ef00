//! The first context of sessions of any size, and calls that follow it, over pipes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Bench;
use crate::memory;
use crate::pipe::Pipe;
use crate::report::{Report, Row};
use crate::sessions::SessionFile;
use crate::times::{Times, timed};

const GOAL: Duration = Duration::from_millis(12);
/// The session that other calls are measured on.
const USUAL: &str = "10 MB";

/// One line about a session.
pub(crate) fn describe(bench: &Bench, session: &SessionFile) -> anyhow::Result<String> {
    let mut pipe = opened(bench, session)?;
    let context = pipe.call("getContext", &of(session))?;
    Ok(format!(
        "Session of {}: {} bytes, {} entries, {} compactions, context of {} tokens in {} messages",
        session.name,
        session.bytes,
        session.entries,
        session.compactions,
        context["tokens"]["tokens"],
        context["messages"].as_array().map_or(0, Vec::len),
    ))
}

/// From the start of a server to a context; then opening, contexts and preparations apart.
pub(crate) fn measure(bench: &Bench, sessions: &[SessionFile], report: &mut Report) -> anyhow::Result<()> {
    let mut medians = Vec::new();
    for session in sessions {
        medians.push((session.name.as_str(), from_spawn(bench, session, report)?));
    }
    let find = |name: &str| medians.iter().find(|(it, _)| *it == name).map(|(_, median)| *median);
    if let (Some(usual), Some(large)) = (find(USUAL), find("1 GB")) {
        let factor = large.as_secs_f64() / usual.as_secs_f64();
        let row = Row::value("the same, 1 GB against 10 MB", format!("{factor:.2} x"));
        report.add(row.goal("≤ 1.5 x", factor <= 1.5));
    }
    let usual = sessions.iter().find(|session| session.name == USUAL);
    usual.map_or(Ok(()), |session| calls(bench, session, report))
}

fn from_spawn(bench: &Bench, session: &SessionFile, report: &mut Report) -> anyhow::Result<Duration> {
    let ours = Times::of(bench.effort.processes_for(session.bytes), || {
        timed(|| {
            let mut pipe = opened(bench, session)?;
            pipe.timed("getContext", &of(session))?;
            Ok(pipe)
        })
    })?;
    let runs = bench.effort.peer_processes_for(session.bytes);
    let path = session.path.display().to_string();
    let peer = bench.peer.as_ref().map(|peer| peer.times_from_spawn(runs, &["context", &path], &bench.directory));
    let row =
        Row::medians(format!("spawn to first `getContext` reply, {}", session.name), &ours, peer.transpose()?.as_ref());
    report.add(row.at_most(ours.median(), GOAL));
    Ok(ours.median())
}

/// Calls to fresh servers, each timed by itself.
fn calls(bench: &Bench, session: &SessionFile, report: &mut Report) -> anyhow::Result<()> {
    let mut times: [Vec<Duration>; 6] = Default::default();
    let (mut sizes, mut peaks) = ([0; 6], Vec::new());
    let with_parts = |parts: Value| json!({ "sessionId": session.id, "include": parts });
    let calls = [
        ("openSession", json!({ "path": session.path })),
        ("getContext", of(session)),
        ("getContext", of(session)),
        ("prepareCompaction", with_parts(json!(["messages", "requests"]))),
        ("prepareCompaction", of(session)),
        ("prepareCompaction", with_parts(json!([]))),
    ];
    for _ in 0..bench.effort.processes {
        let mut pipe = Pipe::initialized(&bench.binary, &bench.directory)?;
        for (at, (method, params)) in calls.iter().enumerate() {
            times[at].push(pipe.timed(method, params)?);
            sizes[at] = pipe.reply_bytes();
        }
        peaks.extend(pipe.memory("VmHWM"));
    }
    let remarks = ["fresh server", "first", "again", "messages and requests", "with the forecast", "ids alone"];
    let times = times.map(Times::new);
    for (at, times) in times.iter().enumerate() {
        let figure = format!("`{}` over pipes, {}, {}", calls[at].0, session.name, remarks[at]);
        let reply = format!("reply of {}", memory::shown(sizes[at] as u64));
        report.add(Row::medians(figure, times, None).remark(reply));
    }
    let factor = times[1].median().as_secs_f64() / times[2].median().as_secs_f64();
    let row =
        Row::value(format!("the first `getContext` against the next, {}", session.name), format!("{factor:.1} x"));
    report.add(row.goal("≤ 2.5 x", factor <= 2.5));
    peaks.sort_unstable();
    let peak = peaks.get(peaks.len() / 2).map_or_else(|| "?".to_owned(), |peak| memory::shown(*peak));
    report.add(Row::value("peak memory of the server after these calls", peak).remark("VmHWM"));
    Ok(())
}

fn opened(bench: &Bench, session: &SessionFile) -> anyhow::Result<Pipe> {
    let mut pipe = Pipe::initialized(&bench.binary, &bench.directory)?;
    pipe.timed("openSession", &json!({ "path": session.path }))?;
    Ok(pipe)
}

fn of(session: &SessionFile) -> Value {
    json!({ "sessionId": session.id })
}
