//! Measures the ledger on a session file: collecting it, and checking a summary against it.
//!
//! ```text
//! cargo run --release -p compaction-core --example measure_ledger -- FILE [RUNS]
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use compaction_core::entry::EntryId;
use compaction_core::extractive::{Style, render};
use compaction_core::file_operations::FileTools;
use compaction_core::json::RawObject;
use compaction_core::ledger::{Check, Ledger, LossReport, STORED_BYTES};
use compaction_core::message::Message;
use compaction_core::preparation::PreparedMessage;
use compaction_core::summary::SummaryKind;

#[expect(clippy::print_stdout, reason = "a program that measures prints what it measured")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which session file?")?;
    let runs: usize = arguments.next().map_or(Ok(50), |runs| runs.parse())?;
    let messages = messages(&std::fs::read_to_string(path)?);
    let (evicted, kept) = messages.split_at(messages.len() * 4 / 5);
    let tools = FileTools::default();
    let ledger = Ledger::collect(evicted, None, &tools);
    let style = Style { custom_instructions: None, max_tokens: 6000, citations: false, turn: None, with_turn: None };
    let summary = render(&ledger, SummaryKind::History, &style);
    let poor = "## Goal\n- See src/nowhere.rs";
    let check = Check { ledger: &ledger, summary: &summary, evicted, previous_summary: None, kept };
    let tokens: u64 = evicted.iter().map(|prepared| prepared.message.tokens()).sum();
    println!("{} messages, {tokens} tokens, {} bytes of ledger", evicted.len(), ledger.to_json(STORED_BYTES).len());
    let show = |name: &str, time: Duration| println!("{name:<28}{:>9.3} ms", time.as_secs_f64() * 1000.0);
    show(
        "ledger, summary and check",
        median(runs, || {
            let ledger = Ledger::collect(evicted, None, &tools);
            let summary = render(&ledger, SummaryKind::History, &style);
            let report = LossReport::of(&Check { ledger: &ledger, summary: &summary, ..check });
            drop((ledger.to_json(STORED_BYTES), report));
        }),
    );
    show("collect", median(runs, || drop(Ledger::collect(evicted, None, &tools))));
    show("render", median(runs, || drop(render(&ledger, SummaryKind::History, &style))));
    show("check", median(runs, || drop(LossReport::of(&check))));
    let bad = Check { summary: poor, ..check };
    show("check of a poor summary", median(runs, || drop(LossReport::of(&bad))));
    let report = LossReport::of(&bad);
    show("repair", median(runs, || drop(report.repair(2000, 2000))));
    show("store", median(runs, || drop(ledger.to_json(STORED_BYTES))));
    let details = format!("{{\"compactd\":{{\"ledger\":{}}}}}", ledger.to_json(STORED_BYTES));
    show("read", median(runs, || drop(Ledger::read(&details))));
    Ok(())
}

fn messages(text: &str) -> Vec<PreparedMessage> {
    let message = |(number, line): (usize, &str)| {
        let message = Message::from_json(RawObject::parse(line).ok()?.get("message")?).ok()?;
        Some(PreparedMessage { entry_id: EntryId::new(format!("{number:08x}")), message: Arc::new(message) })
    };
    text.lines().enumerate().filter_map(message).collect()
}

fn median(runs: usize, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs.max(1))
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}
