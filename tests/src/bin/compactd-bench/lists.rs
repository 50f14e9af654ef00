//! Lists of many sessions.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use crate::Bench;
use crate::memory;
use crate::pipe::Pipe;
use crate::report::{Report, Row};
use crate::sessions;
use crate::times::{Times, shown, timed};

const MEMORY_GOAL: u64 = 40_000_000;

/// A word that no generated session holds.
const WORD: &str = "quixotically";

/// Time after which a list remembers a file that was changed, and a little more.
const SETTLING: Duration = Duration::from_secs(3);

/// What one server showed.
#[derive(Debug, Default)]
struct Ours {
    first: Vec<Duration>,
    second: Vec<Duration>,
    peaks: Vec<u64>,
}

/// The first and the second list in a process, and its memory.
pub(crate) fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let (count, megabytes) = bench.effort.listed;
    let home = bench.directory.join("agent");
    let bytes = sessions::generate_many(&home, count, megabytes * 1_000_000)?;
    std::thread::sleep(SETTLING);
    let what = format!("`listSessions`, {count} sessions, {:.0} MB", bytes as f64 / 1e6);
    let ours = ours(bench, &home, count)?;
    let peer = bench.peer.as_ref().map(|peer| {
        let processes = (0..bench.effort.peer_processes.min(3)).map(|_| peer.measure(&["list"], &home));
        processes.collect::<anyhow::Result<Vec<_>>>()
    });
    let peer = peer.transpose()?.unwrap_or_default();
    ensure!(peer.iter().all(|run| run.count as usize == count), "the published package misses sessions");
    let goals = [("first", ours.first, 150), ("second", ours.second, 8)];
    for (at, (name, times, goal)) in goals.into_iter().enumerate() {
        let peer: Vec<Duration> = peer.iter().filter_map(|run| run.durations().get(at).copied()).collect();
        let peer = (!peer.is_empty()).then(|| Times::new(peer));
        let times = Times::new(times);
        let row = Row::medians(format!("{what}, {name} time"), &times, peer.as_ref());
        report.add(row.at_most(times.median(), Duration::from_millis(goal)).remark("over pipes"));
    }
    add_memory(ours.peaks, peer.first().map(|run| memory::shown(run.peak)), report);
    search(bench, &home, count, report)
}

/// A search of all sessions for what none of them holds, beside a bare scan of their bytes.
fn search(bench: &Bench, home: &Path, count: usize, report: &mut Report) -> anyhow::Result<()> {
    let mut pipe = Pipe::initialized(&bench.binary, home)?;
    let params = json!({ "all": true, "query": WORD });
    let (mut searches, mut scans) = (Vec::new(), Vec::new());
    for _ in 0..bench.effort.processes.min(5) {
        scans.push(timed(|| scan(&home.join("sessions").join("--project--")))?);
        searches.push(pipe.timed("searchSession", &params)?);
    }
    let (searches, scans) = (Times::new(searches), Times::new(scans));
    let factor = searches.median().as_secs_f64() / scans.median().as_secs_f64();
    let row = Row::medians(format!("`searchSession` of all {count} sessions, a word that none has"), &searches, None);
    let remark = format!("{factor:.2} x the bare scan of {}", shown(scans.median()));
    report.add(row.goal("≤ 4 x a bare scan", factor <= 4.0).remark(remark));
    Ok(())
}

/// Looks for the word in the bytes of all files.
fn scan(directory: &Path) -> anyhow::Result<usize> {
    let finder = memchr::memmem::Finder::new(WORD);
    let mut found = 0;
    for file in std::fs::read_dir(directory)? {
        found += finder.find_iter(&std::fs::read(file?.path())?).count();
    }
    Ok(found)
}

fn add_memory(mut peaks: Vec<u64>, peer: Option<String>, report: &mut Report) {
    peaks.sort_unstable();
    if let Some(peak) = peaks.get(peaks.len() / 2) {
        let row = Row::value("peak memory of that server", memory::shown(*peak)).peer(peer);
        report.add(row.goal("≤ 40 MB", *peak <= MEMORY_GOAL).remark("VmHWM"));
    }
}

/// Each time a new server, without the cache that an earlier one may have left beside the sessions.
fn ours(bench: &Bench, home: &Path, count: usize) -> anyhow::Result<Ours> {
    let mut ours = Ours::default();
    for _ in 0..bench.effort.processes.min(7) {
        let _ = std::fs::remove_dir_all(home.join("cache"));
        let mut pipe = Pipe::initialized(&bench.binary, home)?;
        let params = json!({ "all": true });
        ours.first.push(pipe.timed("listSessions", &params)?);
        ours.second.push(pipe.timed("listSessions", &params)?);
        ours.peaks.extend(pipe.memory("VmHWM"));
        let listed = pipe.call("listSessions", &params)?["sessions"].as_array().map_or(0, Vec::len);
        ensure!(listed == count, "{listed} of {count} sessions are listed");
    }
    Ok(ours)
}
