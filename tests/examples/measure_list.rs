//! Measures lists of sessions: 1,000 sessions, 340 MB together, as `cargo run --release -p
//! compactd-tests --example measure_list [sessions] [megabytes]`. Other work on the machine stretches the times, but not
//! those of the processors.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use compactd_tests::generate::{Plan, realistic};
use session_store::{Durability, FileStore, ListOptions, SessionStore};

/// How long ago the last change must be for a file to be known without a look into it.
const SETTLING: Duration = Duration::from_millis(2100);

#[expect(clippy::print_stdout, reason = "a measuring program reports to a terminal")]
fn main() -> anyhow::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let sessions = numbers.next().transpose()?.unwrap_or(1000);
    let megabytes = numbers.next().transpose()?.unwrap_or(340);
    let agent_dir = tempfile::tempdir()?;
    let bytes = generate(agent_dir.path(), sessions, megabytes * 1_000_000)?;
    println!("{sessions} sessions, {} MB", bytes / 1_000_000);
    std::thread::sleep(SETTLING);

    let before = peak_memory()?;
    let store = FileStore::new(agent_dir.path(), Durability::default());
    measure("first list of a process", &store, sessions)?;
    measure("second list", &store, sessions)?;
    measure("third list", &store, sessions)?;
    append(agent_dir.path())?;
    measure("after one append", &store, sessions)?;
    let next = FileStore::new(agent_dir.path(), Durability::default());
    measure("first list of the next process", &next, sessions)?;
    println!("memory at most {} MiB, {} MiB of them before the first list", peak_memory()? >> 10, before >> 10);
    let cache = agent_dir.path().join("cache/compactd-sessions.json");
    println!("cache file {} KiB", fs::metadata(cache).map_or(0, |metadata| metadata.len() >> 10));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a measuring program reports to a terminal")]
fn measure(what: &str, store: &FileStore, sessions: u64) -> anyhow::Result<()> {
    let (start, processor) = (Instant::now(), processor_time()?);
    let page = store.list(&ListOptions { all: true, ..ListOptions::default() })?;
    let elapsed = start.elapsed().as_secs_f64() * 1000.0;
    println!("{what:<32}{elapsed:>8.1} ms, {} ms of the processors", processor_time()? - processor);
    anyhow::ensure!(page.sessions.len() as u64 == sessions, "{} sessions were listed", page.sessions.len());
    Ok(())
}

/// Sessions whose sizes spread like those of people: a few are far larger than most.
fn generate(agent_dir: &Path, sessions: u64, bytes: u64) -> anyhow::Result<u64> {
    let weight = |number: u64| 1.0 / (number as f64 + 20.0);
    let total: f64 = (0..sessions).map(weight).sum();
    let mut written = 0;
    for number in 0..sessions {
        let directory = agent_dir.join(format!("sessions/--project-{}--", number % 12));
        fs::create_dir_all(&directory)?;
        let mut out = BufWriter::new(File::create(directory.join(format!("{number}.jsonl")))?);
        let plan = Plan::new((bytes as f64 * weight(number) / total) as u64, number);
        written += realistic(&plan, &mut out)?.bytes;
        out.flush()?;
    }
    Ok(written)
}

fn append(agent_dir: &Path) -> anyhow::Result<()> {
    let mut file = File::options().append(true).open(agent_dir.join("sessions/--project-0--/0.jsonl"))?;
    Ok(file.write_all(b"{\"type\":\"session_info\",\"id\":\"n\",\"parentId\":null,\"name\":\"named\"}\n")?)
}

/// Time that the threads of this process have worked, in milliseconds, to the next ten.
fn processor_time() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/stat").context("failed to read the times of this process")?;
    let (_, rest) = status.rsplit_once(") ").context("no name of the process")?;
    let ticks: Result<Vec<u64>, _> = rest.split(' ').skip(11).take(2).map(str::parse).collect();
    Ok(ticks?.iter().sum::<u64>() * 10)
}

/// Peak of the memory of this process in KiB.
fn peak_memory() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("failed to read the memory of this process")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let text = line.and_then(|line| line.trim().strip_suffix(" kB")).context("no VmHWM")?;
    Ok(text.trim().parse()?)
}
