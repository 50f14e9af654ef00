//! Appends that do not wait for the disk.

use std::time::Duration;

use serde_json::{Value, json};
use session_store::{CreateOptions, Durability, FileStore, Locator, NewEntry, Parent, Session, SessionStore as _};

use crate::Bench;
use crate::limits;
use crate::pipe::Pipe;
use crate::report::{Report, Row};
use crate::sessions::SessionFile;
use crate::times::{Times, shown, timed};

/// By the library beside the peer, and over pipes.
pub(crate) fn measure(bench: &Bench, sessions: &[SessionFile], report: &mut Report) -> anyhow::Result<()> {
    let mut session = created(bench, Durability::None)?;
    let mut runs = 0;
    let ours = Times::of(bench.effort.quick_calls, || {
        runs += 1;
        let members = members(runs);
        timed(|| Ok(session.append(NewEntry::new("message", &members), Parent::Leaf)?))
    })?;
    session.close()?;
    let (place, runs) = (bench.directory.join("peer-appends"), bench.effort.quick_calls.to_string());
    let append = ["append", &place.display().to_string(), &runs];
    let peer = bench.peer.as_ref().map(|peer| peer.measure(&append, &bench.directory)).transpose()?;
    let peer = peer.map(|peer| peer.times());
    for (name, part, goal) in [("p50", 0.5, 6), ("p99", 0.99, 40)] {
        let row = Row::quantiles(format!("append in process, no sync, {name}"), part, &ours, peer.as_ref());
        report.add(row.at_most(ours.quantile(part), Duration::from_micros(goal)));
    }
    over_pipes(bench, sessions, report)
}

fn over_pipes(bench: &Bench, sessions: &[SessionFile], report: &mut Report) -> anyhow::Result<()> {
    let bytes = json!({ "sessionId": "", "message": message(0) }).to_string().len();
    let bare = limits::round_trip(bytes, bench.effort.quick_calls / 4)?;
    report.add(
        Row::value("two processes that only echo lines of that size, p50", shown(bare)).remark("the limit of pipes"),
    );
    for file in sessions {
        let mut pipe = Pipe::initialized(&bench.binary, &bench.directory)?;
        pipe.timed("openSession", &json!({ "path": file.path }))?;
        let params = json!({ "sessionId": file.id, "message": message(0) });
        let times = Times::of(bench.effort.quick_calls / 4, || pipe.timed("appendMessage", &params))?;
        drop(pipe);
        file.restore()?;
        let row = Row::medians(format!("`appendMessage` over pipes, {}, p50", file.name), &times, None);
        let (p99, of_bare) = (shown(times.quantile(0.99)), times.median().as_secs_f64() / bare.as_secs_f64());
        let remark = format!("p99 {p99}; {of_bare:.2} x the bare echo");
        report.add(row.at_most(times.median(), Duration::from_micros(45)).remark(remark));
    }
    Ok(())
}

/// A new session in a file of its own.
pub(crate) fn created(bench: &Bench, durability: Durability) -> anyhow::Result<Session> {
    let store = FileStore::new(&bench.directory, durability);
    let options = CreateOptions {
        cwd: "/project".to_owned(),
        session_dir: Some(Locator::from(&bench.directory.join("appends"))),
        ..CreateOptions::default()
    };
    Ok(store.create(&options)?)
}

/// A message such as people write.
pub(crate) fn message(run: usize) -> Value {
    let text = format!("Message {run} of about the size that people write, with a path such as src/main.rs in it.");
    json!({ "role": "user", "content": text, "timestamp": 1_763_681_581_000_i64 })
}

/// The same as the members of an entry.
pub(crate) fn members(run: usize) -> String {
    json!({ "message": message(run) }).to_string()
}
