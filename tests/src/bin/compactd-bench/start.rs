//! Figures of a server that has just started, and of one that does nothing in particular.

use serde_json::json;

use crate::Bench;
use crate::pipe::Pipe;
use crate::report::{Report, Row};
use crate::times::{Times, shown, timed};

use std::time::Duration;

/// Starting, and calls that cost nothing but the way.
pub(crate) fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let ours = Times::of(bench.effort.processes * 2, || timed(|| Pipe::initialized(&bench.binary, &bench.directory)))?;
    let start =
        |peer: &crate::peer::Peer| peer.times_from_spawn(bench.effort.peer_processes, &["ready"], &bench.directory);
    let peer = bench.peer.as_ref().map(start).transpose()?;
    let row = Row::medians("spawn to `initialize` reply", &ours, peer.as_ref());
    report.add(row.at_most(ours.median(), Duration::from_millis(4)).remark("peer: start and imports"));
    round_trips(bench, report)
}

fn round_trips(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let mut pipe = Pipe::initialized(&bench.binary, &bench.directory)?;
    let params = json!({ "text": "hello" });
    let times = Times::of(bench.effort.quick_calls, || pipe.timed("estimateTokens", &params))?;
    let rate = times.runs() as f64 / times.total().as_secs_f64();
    let row = Row::value("round trips of a trivial call", format!("{rate:.0}/s")).remark(times.runs().to_string());
    let (p50, p99) = (shown(times.median()), shown(times.quantile(0.99)));
    report.add(row.remark(format!("one after the other, p50 {p50}, p99 {p99}")));
    Ok(())
}
