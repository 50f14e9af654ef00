//! Preparations of a compaction by the library, of contexts as large as they get.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use compaction_core::file_operations::FileTools;
use compaction_core::preparation::Preparation;
use compaction_core::settings::CompactionSettings;
use session_store::{Durability, FileStore, Locator, NewEntry, OpenOptions, Parent, Session, SessionStore as _};

use crate::Bench;
use crate::appends::members;
use crate::report::{Report, Row};
use crate::sessions::SessionFile;
use crate::times::{Times, timed};

const GOAL: Duration = Duration::from_micros(1_500);
const GOAL_GROWN: Duration = Duration::from_micros(200);

/// Each session, unchanged and with one message added before each preparation.
pub(crate) fn measure(bench: &Bench, sessions: &[SessionFile], report: &mut Report) -> anyhow::Result<()> {
    for session in sessions {
        one(bench, session, report).with_context(|| format!("session of {}", session.name))?;
    }
    Ok(())
}

fn one(bench: &Bench, file: &SessionFile, report: &mut Report) -> anyhow::Result<()> {
    let (tokens, times, grown) = ours(bench, file)?;
    file.restore()?;
    let runs = if file.bytes > 500_000_000 { bench.effort.calls.min(10) } else { bench.effort.calls };
    let (path, runs) = (file.path.display().to_string(), runs.to_string());
    let measure = |peer: &crate::peer::Peer| peer.measure(&["prepare", &path, &runs], &bench.directory);
    let peer = bench.peer.as_ref().map(measure).transpose()?;
    file.restore()?;
    let figure = format!("`prepareCompaction` in process, {}", file.name);
    let row = Row::medians(&figure, &times, peer.as_ref().map(|peer| peer.times()).as_ref());
    ensure!(peer.as_ref().is_none_or(|peer| peer.tokens == tokens), "the published package counts other tokens");
    report.add(row.at_most(times.median(), GOAL).remark(format!("{tokens} tokens")));
    let grown_peer = peer.as_ref().map(|peer| peer.grown());
    let row = Row::medians(format!("{figure}, one message added"), &grown, grown_peer.as_ref());
    report.add(row.at_most(grown.median(), GOAL_GROWN));
    Ok(())
}

/// Tokens of the context, and times of ours, unchanged and grown.
fn ours(bench: &Bench, file: &SessionFile) -> anyhow::Result<(u64, Times, Times)> {
    let store = FileStore::new(&bench.directory, Durability::None);
    let mut session = store.open(&Locator::from(&file.path), &OpenOptions::default())?;
    let tokens = prepare(&session)?.tokens_before;
    let times = Times::of(bench.effort.calls, || timed(|| prepare(&session)))?;
    let grown = Times::of(bench.effort.calls, || {
        session.append(NewEntry::new("message", &members(0)), Parent::Leaf)?;
        timed(|| prepare(&session))
    })?;
    session.close()?;
    Ok((tokens, times, grown))
}

fn prepare(session: &Session) -> anyhow::Result<Preparation> {
    let projection = session.context(session.leaf_id())?.projection;
    let (settings, tools) = (CompactionSettings::default(), FileTools::default());
    Ok(Preparation::of(&projection, session.leaf_id(), settings, &tools)?)
}
