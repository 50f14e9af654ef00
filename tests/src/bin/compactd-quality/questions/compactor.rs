//! Compacts sessions through the built server, as an agent does.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use compactd_tests::agent::Sidecar;
use compaction_core::json::RawObject;
use compaction_core::summary::SummaryKind;
use serde_json::json;
use tempfile::TempDir;

use super::session::Session;

/// UTF-16 units that a token is estimated at.
const UNITS_PER_TOKEN: f64 = 4.0;
/// Part of the reserve that a summary may take.
const PART_OF_RESERVE: f64 = 0.8;

/// A running server with files of its own.
pub(crate) struct Compactor {
    sidecar: Sidecar,
    home: TempDir,
}

/// What a compaction stored.
pub(crate) struct Compacted {
    pub(crate) summary: String,
    /// Bytes of the ledger in the entry.
    pub(crate) ledger_bytes: usize,
    /// Bytes of the entry's line.
    pub(crate) entry_bytes: usize,
    pub(crate) elapsed: Duration,
}

/// The reserve with which a summary may have so many UTF-16 units.
fn reserve_tokens(units: usize) -> u64 {
    (units as f64 / UNITS_PER_TOKEN / PART_OF_RESERVE).round() as u64
}

impl Compactor {
    /// Starts `program`.
    pub(crate) fn start(program: &Path) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let sidecar = Sidecar::start_program(program, home.path(), &json!({ "compactd": { "durability": "none" } }))?;
        Ok(Self { sidecar, home })
    }

    /// Compacts everything before the last of `cuts` away, one cut after the other. The session has
    /// the messages up to the next cut each time, and all of them at the last. Gives what each
    /// compaction stored.
    pub(crate) fn compact(
        &mut self,
        session: &Session,
        cuts: &[usize],
        units: usize,
    ) -> anyhow::Result<Vec<Compacted>> {
        self.compact_by("extractive", session, cuts, units)
    }

    /// The same in one pass by a model that answers `text`, below our headings: an answer without
    /// them is refused.
    pub(crate) fn compact_by_model(
        &mut self,
        session: &Session,
        cut: usize,
        units: usize,
        text: &str,
    ) -> anyhow::Result<Compacted> {
        let history = format!("{}\n{text}", headings(SummaryKind::History));
        let answers = [("history", history), ("turnPrefix", headings(SummaryKind::TurnPrefix))];
        self.sidecar.host_summaries = answers.map(|(kind, text)| (kind.to_owned(), text)).into();
        self.compact_by("host", session, &[cut], units)?.pop().context("one cut makes one compaction")
    }

    fn compact_by(
        &mut self,
        summarizer: &str,
        session: &Session,
        cuts: &[usize],
        units: usize,
    ) -> anyhow::Result<Vec<Compacted>> {
        let path = self.home.path().join("session.jsonl");
        let end_of = |pass: usize| cuts.get(pass + 1).copied();
        std::fs::write(&path, session.file_until(end_of(0)))?;
        let mut stored = Vec::new();
        for (pass, &cut) in cuts.iter().enumerate() {
            let (entry, compacted) = self.compact_once(&path, session.entry_after(cut).as_str(), summarizer, units)?;
            stored.push(compacted);
            if let Some(from) = end_of(pass) {
                append(&path, &session.lines_behind(&entry, from, end_of(pass + 1))?)?;
            }
        }
        std::fs::remove_file(&path)?;
        Ok(stored)
    }

    /// One compaction of the file; gives the id of its entry as well.
    fn compact_once(
        &mut self,
        path: &PathBuf,
        first_kept: &str,
        summarizer: &str,
        units: usize,
    ) -> anyhow::Result<(String, Compacted)> {
        let opened = self.sidecar.call("openSession", &json!({ "path": path }))?;
        let session = &opened["sessionId"];
        let started = Instant::now();
        self.sidecar.call(
            "compact",
            &json!({
                "sessionId": session,
                "firstKeptEntryId": first_kept,
                "summarizer": summarizer,
                "settings": { "reserveTokens": reserve_tokens(units) },
                "force": true,
            }),
        )?;
        let elapsed = started.elapsed();
        self.sidecar.call("closeSession", &json!({ "sessionId": session }))?;
        let text = std::fs::read_to_string(path)?;
        let line = text.lines().next_back().context("the file is empty")?;
        stored(line, elapsed)
    }
}

fn append(path: &Path, lines: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    Ok(std::fs::OpenOptions::new().append(true).open(path)?.write_all(lines.as_bytes())?)
}

/// A summary that says nothing.
fn headings(kind: SummaryKind) -> String {
    kind.headings().collect::<Vec<_>>().join("\n\n")
}

/// Reads the line of a compaction entry.
fn stored(line: &str, elapsed: Duration) -> anyhow::Result<(String, Compacted)> {
    let entry = RawObject::parse(line)?;
    anyhow::ensure!(entry.string("type").as_deref() == Some("compaction"), "the last entry is no compaction");
    let ledger = || {
        let details = RawObject::parse(entry.get("details")?).ok()?;
        let ours = RawObject::parse(details.get("compactd")?).ok()?;
        ours.get("ledger").map(str::len)
    };
    let compacted = Compacted {
        summary: entry.string("summary").context("a compaction has a summary")?,
        ledger_bytes: ledger().unwrap_or_default(),
        entry_bytes: line.len() + 1,
        elapsed,
    };
    Ok((entry.string("id").context("an entry has an id")?, compacted))
}
