//! Appends that wait for the disk.

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use session_store::{Durability, NewEntry, Parent};

use crate::Bench;
use crate::appends::{created, members, message};
use crate::pipe::Pipe;
use crate::report::{Report, Row};
use crate::times::{Times, shown, timed};

const CALLERS: usize = 16;
/// Times that one caller and many take turns.
const ROUNDS: usize = 5;
/// What a line has before its members, so that the bare one is as long as ours.
const HEADER: &str = concat!(
    r#"{"type":"message","id":"00000000","parentId":"00000000","#,
    r#""timestamp":"2025-11-20T23:33:01.000Z","#
);

/// Beside a bare write and sync of the same bytes, and of several callers at once.
pub(crate) fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    beside_bare_sync(bench, report)?;
    callers(bench, report)
}

/// Alternates, so that both see the same moods of the disk.
fn beside_bare_sync(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let mut session = created(bench, Durability::Always)?;
    let path = bench.directory.join("bare.jsonl");
    let mut bare = File::options().append(true).create(true).open(&path)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for run in 0..bench.effort.syncs {
        let members = members(run);
        let appended = timed(|| Ok(session.append(NewEntry::new("message", &members), Parent::Leaf)?))?;
        ours.push(appended);
        let line = format!("{HEADER}{}\n", &members[1..]);
        theirs.push(timed(|| {
            bare.write_all(line.as_bytes())?;
            Ok(bare.sync_data()?)
        })?);
    }
    session.close()?;
    let (ours, theirs) = (Times::new(ours), Times::new(theirs));
    let factor = ours.median().as_secs_f64() / theirs.median().as_secs_f64();
    let row = Row::medians("append in process with sync", &ours, None).goal("≤ 1.2 x fdatasync", factor <= 1.2);
    report.add(row.remark(format!("{factor:.2} x a bare write and fdatasync of {}", shown(theirs.median()))));
    Ok(())
}

fn callers(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let mut pipe =
        Pipe::initialized_with(&bench.binary, &bench.directory, &json!({ "compactd": { "durability": "always" } }))?;
    let path = bench.directory.join("appends").join(format!("callers-{}.jsonl", std::process::id()));
    let id = pipe.call("createSession", &json!({ "path": path, "cwd": "/project" }))?["sessionId"].clone();
    let params = json!({ "sessionId": id, "message": message(0) });
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (callers, rates) in [1, CALLERS].into_iter().zip(&mut rates) {
            let calls = bench.effort.syncs * callers.div_ceil(4) / ROUNDS;
            let elapsed = pipe.callers(callers, calls, "appendMessage", &params)?;
            rates.push(elapsed.div_f64(calls as f64));
        }
    }
    let [one, many] = rates.map(|rates| Times::new(rates).median());
    let factor = one.as_secs_f64() / many.as_secs_f64();
    let rate = |each: Duration| format!("{:.0}/s", 1.0 / each.as_secs_f64());
    let row = Row::value(format!("{CALLERS} callers with sync over pipes"), rate(many));
    let row = row.goal("≥ 6 x one caller", factor >= 6.0).remark(ROUNDS.to_string());
    report.add(row.remark(format!("{factor:.1} x the {} of one caller", rate(one))));
    Ok(())
}
