//! The whole index of a session, in a process of its own, beside a bare scan for line ends.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use session_store::{Durability, FileStore, Locator, OpenOptions, Session, SessionStore as _};

use crate::Bench;
use crate::memory;
use crate::report::{Report, Row};
use crate::sessions::SessionFile;
use crate::times::{Times, timed};

/// What makes this program measure one file and say so as JSON.
pub(crate) const ARGUMENT: &str = "--index-of";

const MEMORY_GOAL: u64 = 64 << 20;
const BYTES_PER_ENTRY: u64 = 128;

#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    /// Memory that no file backs, before and with the index.
    anonymous: Option<[u64; 2]>,
    indexing: Vec<Duration>,
    scanning: Vec<Duration>,
}

/// The largest session alone: smaller ones tell less.
pub(crate) fn measure(bench: &Bench, sessions: &[SessionFile], report: &mut Report) -> anyhow::Result<()> {
    let Some(session) = sessions.last() else {
        return Ok(());
    };
    let ours = in_own_process(session, bench.effort.processes.min(7))?;
    let path = session.path.display().to_string();
    let runs = bench.effort.peer_processes_for(session.bytes);
    let peer = bench.peer.as_ref().map(|peer| {
        let processes = (0..runs).map(|_| peer.measure(&["tree", &path], &bench.directory));
        processes.collect::<anyhow::Result<Vec<_>>>()
    });
    let peer = peer.transpose()?;
    let times = |peer: &Vec<crate::peer::Measured>| Times::new(peer.iter().flat_map(|run| run.durations()).collect());
    let peer_times = peer.as_ref().map(times);
    let (indexing, scanning) = (Times::new(ours.indexing), Times::new(ours.scanning));
    let factor = indexing.median().as_secs_f64() / scanning.median().as_secs_f64();
    let row = Row::medians(format!("full index in process, {}", session.name), &indexing, peer_times.as_ref());
    let scan = crate::times::shown(scanning.median());
    let row = row.goal("≤ 3 x newline scan", factor <= 3.0);
    report.add(row.remark(format!("{factor:.2} x the newline scan of {scan}; peer: open and getTree")));
    let peer = peer.and_then(|runs| runs.into_iter().next_back());
    add_memory(session, ours.anonymous, peer.as_ref(), report);
    Ok(())
}

fn add_memory(
    session: &SessionFile,
    anonymous: Option<[u64; 2]>,
    peer: Option<&crate::peer::Measured>,
    report: &mut Report,
) {
    let Some([before, after]) = anonymous else {
        return;
    };
    let theirs =
        |peer: &crate::peer::Measured| format!("{}, peak {}", memory::shown(peer.anonymous), memory::shown(peer.peak));
    let row = Row::value("memory with the full index, file pages aside", memory::shown(after));
    report.add(row.peer(peer.map(theirs)).goal("≤ 64 MiB", after <= MEMORY_GOAL).remark("RssAnon"));
    let each = after.saturating_sub(before) / session.entries.max(1);
    let row = Row::value("the same per entry", format!("{each} bytes"));
    let row = row.goal(format!("≤ {BYTES_PER_ENTRY} bytes"), each <= BYTES_PER_ENTRY);
    report.add(row.remark(format!("growth of RssAnon over {} entries", session.entries)));
}

fn in_own_process(session: &SessionFile, runs: usize) -> anyhow::Result<Measured> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg(ARGUMENT).arg(&session.path).arg(runs.to_string()).output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "measuring the index ended with {}: {log}", output.status);
    serde_json::from_slice(&output.stdout).context("the process that measured the index says it in JSON")
}

/// Measures `path` in this process and prints it.
pub(crate) fn measure_here(path: &Path, runs: usize) -> anyhow::Result<()> {
    // The file is in the page cache before anything is timed.
    newlines(path)?;
    let before = memory::status("self", "RssAnon");
    let session = indexed(path)?;
    let anonymous = before.zip(memory::status("self", "RssAnon")).map(|(before, after)| [before, after]);
    drop(session);
    let (mut indexing, mut scanning) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        scanning.push(timed(|| newlines(path))?);
        indexing.push(timed(|| indexed(path))?);
    }
    crate::say(&serde_json::to_string(&Measured { anonymous, indexing, scanning })?);
    Ok(())
}

/// The session with all of its index, whatever opening alone reads.
fn indexed(path: &Path) -> anyhow::Result<Session> {
    let store = FileStore::new("", Durability::None);
    let session = store.open(&Locator::from(&path), &OpenOptions { read_only: true, ..OpenOptions::default() })?;
    // The first entry of the file is known only to a whole index.
    ensure!(session.entries(None, Some(1))?.len() == 1, "the session has no entries");
    Ok(session)
}

/// Line ends of a file: the least that any index must look for.
fn newlines(path: &Path) -> anyhow::Result<usize> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 256 << 10];
    let mut count = 0;
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(count);
        }
        count += memchr::memchr_iter(b'\n', &buffer[..length]).count();
    }
}
