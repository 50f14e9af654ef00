//! What is measured, and on which session.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use compactd_tests::generate::{Plan, realistic};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::pipe::Pipe;
use crate::table::{Table, quantile, shown};

/// Size of the session file in bytes.
const SESSION_BYTES: u64 = 10 << 20;

/// How often things are done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    runs: usize,
    calls: usize,
    appends: usize,
}

impl Effort {
    /// Enough for a number to be quoted.
    pub(crate) fn full() -> Self {
        Self { runs: 15, calls: 30_000, appends: 3_000 }
    }

    /// Enough to see that something went wrong.
    pub(crate) fn quick() -> Self {
        Self { runs: 3, calls: 2_000, appends: 200 }
    }
}

/// A server, a session, and how often to measure.
#[derive(Debug)]
pub(crate) struct Scenario {
    binary: PathBuf,
    home: TempDir,
    session: PathBuf,
    bytes: u64,
    effort: Effort,
}

impl Scenario {
    /// Generates the session.
    pub(crate) fn new(binary: PathBuf, effort: Effort) -> anyhow::Result<Self> {
        let home = TempDir::with_prefix("compactd-bench-")?;
        let session = home.path().join("session.jsonl");
        let bytes = generate(&session)?;
        Ok(Self { binary, home, session, bytes, effort })
    }

    /// The server and the session, in one line.
    pub(crate) fn describe(&self) -> anyhow::Result<String> {
        let mut pipe = Pipe::start(&self.binary, self.home.path())?;
        let params = json!({ "protocolVersion": 1, "clientInfo": { "name": "bench" } });
        let version = pipe.call("initialize", &params)?["serverInfo"]["version"].clone();
        let (mut pipe, id) = self.opened()?;
        let stats = pipe.call("getSessionStats", &json!({ "sessionId": id }))?;
        let context = pipe.call("getContext", &json!({ "sessionId": id }))?;
        Ok(format!(
            "compactd {}, session of {:.1} MB with {} entries and {} compactions, context of {} tokens in {} messages",
            version.as_str().unwrap_or("?"),
            megabytes(self.bytes),
            stats["entryCount"],
            stats["compactions"],
            context["tokens"]["tokens"],
            context["messages"].as_array().map_or(0, Vec::len),
        ))
    }

    /// Measures everything.
    pub(crate) fn measure(&self, table: &mut Table) -> anyhow::Result<()> {
        self.start_up(table)?;
        self.reading(table)?;
        self.round_trips(table)?;
        self.appending(table)
    }

    fn start_up(&self, table: &mut Table) -> anyhow::Result<()> {
        let mut times = Vec::new();
        for _ in 0..self.effort.runs * 2 {
            let started = std::time::Instant::now();
            let pipe = Pipe::initialized(&self.binary, self.home.path())?;
            times.push(started.elapsed());
            drop(pipe);
        }
        table.median("spawn to the reply of initialize", &mut times, "");
        Ok(())
    }

    /// Opening, context and preparation, each in a fresh server, and again in the same one.
    fn reading(&self, table: &mut Table) -> anyhow::Result<()> {
        let mut times: [Vec<Duration>; 6] = Default::default();
        let (mut bytes, mut peaks) = ((0, 0), Vec::new());
        for _ in 0..self.effort.runs {
            let mut pipe = Pipe::initialized(&self.binary, self.home.path())?;
            times[0].push(pipe.timed("openSession", &json!({ "path": self.session }))?);
            let id = self.session_id()?;
            let (context, only_requests) =
                (json!({ "sessionId": id }), json!({ "sessionId": id, "include": ["requests"] }));
            times[1].push(pipe.timed("getContext", &context)?);
            bytes.0 = pipe.reply_bytes();
            times[2].push(pipe.timed("getContext", &context)?);
            times[3].push(pipe.timed("prepareCompaction", &context)?);
            bytes.1 = pipe.reply_bytes();
            times[4].push(pipe.timed("prepareCompaction", &only_requests)?);
            times[5].push(pipe.timed("prepareCompaction", &json!({ "sessionId": id, "include": [] }))?);
            peaks.extend(pipe.peak_memory());
        }
        let size = |bytes: usize| format!("reply of {:.2} MB", megabytes(bytes as u64));
        table.median("openSession", &mut times[0], "fresh server");
        table.median("getContext, first", &mut times[1], &size(bytes.0));
        table.median("getContext, again", &mut times[2], "");
        table.median("prepareCompaction", &mut times[3], &size(bytes.1));
        table.median("prepareCompaction, requests alone", &mut times[4], "");
        table.median("prepareCompaction, ids alone", &mut times[5], "");
        peaks.sort_unstable();
        let peak =
            peaks.get(peaks.len() / 2).map_or_else(|| "?".to_owned(), |bytes| format!("{:.1} MB", megabytes(*bytes)));
        table.row("peak memory after all of this", peak, "VmHWM, median");
        Ok(())
    }

    fn round_trips(&self, table: &mut Table) -> anyhow::Result<()> {
        let mut pipe = Pipe::initialized(&self.binary, self.home.path())?;
        let request = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"estimateTokens\",\"params\":{\"text\":\"hello\"}}\n";
        let mut times = Vec::with_capacity(self.effort.calls);
        for _ in 0..self.effort.calls {
            times.push(pipe.exchange(request)?);
        }
        let total: Duration = times.iter().sum();
        let rate = times.len() as f64 / total.as_secs_f64();
        let remark = format!(
            "{} calls one after the other; p50 {}, p99 {}",
            times.len(),
            shown(quantile(&mut times, 0.5)),
            shown(quantile(&mut times, 0.99))
        );
        table.row("round trips of a trivial call", format!("{rate:.0}/s"), &remark);
        Ok(())
    }

    fn appending(&self, table: &mut Table) -> anyhow::Result<()> {
        let (mut pipe, id) = self.opened()?;
        let text = "A message of about the size that people write, with a path such as src/main.rs in it.";
        let params = json!({ "sessionId": id, "message": { "role": "user", "content": text, "timestamp": 1 } });
        let mut times = Vec::with_capacity(self.effort.appends);
        for _ in 0..self.effort.appends {
            times.push(pipe.timed("appendMessage", &params)?);
        }
        let p99 = shown(quantile(&mut times, 0.99));
        table.median("appendMessage", &mut times, &format!("p99 {p99}; durability checkpoint"));
        Ok(())
    }

    fn opened(&self) -> anyhow::Result<(Pipe, String)> {
        let mut pipe = Pipe::initialized(&self.binary, self.home.path())?;
        pipe.call("openSession", &json!({ "path": self.session }))?;
        Ok((pipe, self.session_id()?))
    }

    fn session_id(&self) -> anyhow::Result<String> {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(File::open(&self.session)?), &mut line)?;
        let header: Value = serde_json::from_str(&line)?;
        Ok(header["id"].as_str().context("a header has an id")?.to_owned())
    }
}

/// Writes a session whose context is as large as it gets: it ends right before a compaction.
fn generate(path: &Path) -> anyhow::Result<u64> {
    let mut file = BufWriter::new(File::create(path)?);
    realistic(&Plan::new(SESSION_BYTES, 1), &mut file)?;
    file.flush()?;
    let text = std::fs::read_to_string(path)?;
    let end = text.rfind("\n{\"type\":\"compaction\"").map_or(text.len(), |at| at + 1);
    std::fs::write(path, &text[..end])?;
    Ok(end as u64)
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
