//! The ledger of a compaction and the check of a summary against it, by the library.

use std::time::Duration;

use anyhow::Context as _;
use compaction_core::extractive::{Style, render};
use compaction_core::file_operations::FileTools;
use compaction_core::ledger::{Check, LossReport};
use compaction_core::preparation::{Preparation, PreparedMessage};
use compaction_core::settings::CompactionSettings;
use compaction_core::summary::SummaryKind;
use session_store::{Durability, FileStore, Locator, OpenOptions, SessionStore as _};

use crate::Bench;
use crate::report::{Report, Row};
use crate::sessions::SessionFile;
use crate::times::{Times, timed};

const GOAL: Duration = Duration::from_millis(5);

/// Each session: its ledger is collected, and its summary checked.
pub(crate) fn measure(bench: &Bench, sessions: &[SessionFile], report: &mut Report) -> anyhow::Result<()> {
    for session in sessions {
        one(bench, session, report).with_context(|| format!("session of {}", session.name))?;
    }
    Ok(())
}

fn one(bench: &Bench, file: &SessionFile, report: &mut Report) -> anyhow::Result<()> {
    let store = FileStore::new(&bench.directory, Durability::None);
    let mut session = store.open(&Locator::from(&file.path), &OpenOptions::default())?;
    let projection = session.context(session.leaf_id())?.projection;
    let (settings, tools) = (CompactionSettings::default(), FileTools::default());
    let preparation = Preparation::of(&projection, session.leaf_id(), settings, &tools)?;
    let evicted: Vec<PreparedMessage> = preparation.evicted().cloned().collect();
    let style = Style { custom_instructions: None, max_tokens: 6000, citations: false, turn: None, with_turn: None };
    let summary = render(&preparation.ledger(), SummaryKind::History, &style);
    let previous_summary = preparation.previous_summary.as_deref();
    let times = Times::of(bench.effort.calls, || {
        timed(|| {
            let ledger = preparation.ledger();
            let check = Check { ledger: &ledger, summary: &summary, evicted: &evicted, previous_summary, kept: &[] };
            Ok(LossReport::of(&check))
        })
    })?;
    session.close()?;
    let row = Row::medians(format!("ledger and check of a summary in process, {}", file.name), &times, None);
    report.add(row.at_most(times.median(), GOAL).remark(format!("{} tokens", preparation.tokens_before)));
    Ok(())
}
