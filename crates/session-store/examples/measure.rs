//! Measures opening and indexing: `cargo run --release -p session-store --example measure -- FILE…`.
//!
//! For each session file it prints medians of one run: a bare newline scan, the whole index and its
//! memory, and the time from opening to the first context.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use compaction_core::projection::Projection;
use session_store::{FileLog, Session, SessionOptions};

/// Times that each thing is measured.
const ROUNDS: usize = 9;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[expect(clippy::print_stdout, reason = "a measuring program reports to a terminal")]
fn main() -> Outcome<()> {
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let bytes = std::fs::metadata(&path)?.len();
        println!("{} ({:.1} MB)", path.display(), bytes as f64 / 1e6);
        let newlines = median(|| newline_scan(&path))?;
        println!("  newline scan            {newlines:>10.2?}");
        let index = median(|| open(&path, 0)?.label(&no_entry()).map(|_| ()).map_err(Into::into))?;
        let ratio = index.as_secs_f64() / newlines.as_secs_f64();
        println!("  whole index, headers    {index:>10.2?}   {ratio:.2} x the newline scan");
        let checked = median(|| open(&path, u64::MAX).map(drop))?;
        println!("  whole index, bodies too {checked:>10.2?}");
        let (memory, entries) = memory(&path)?;
        println!(
            "  memory of the index     {memory} B of {entries} entries: {:.1} B each",
            memory as f64 / entries as f64
        );
        let context = median(|| first_context(&open(&path, SessionOptions::default().whole_bytes)?))?;
        println!("  open and first context  {context:>10.2?}");
        let session = open(&path, SessionOptions::default().whole_bytes)?;
        first_context(&session)?;
        println!("  whole index was needed  {:>10}", session.entry_count().is_some());
        let again = median(|| first_context(&session))?;
        println!("  context once more       {again:>10.2?}");
    }
    Ok(())
}

fn open(path: &Path, whole_bytes: u64) -> Outcome<Session> {
    let options = SessionOptions { read_only: Some("measured".to_owned()), whole_bytes, ..SessionOptions::default() };
    Ok(Session::open(Box::new(FileLog::open_read_only(path)?), options)?)
}

fn first_context(session: &Session) -> Outcome<()> {
    let projection = Projection::of(session.branch(session.leaf_id())?)?;
    assert!(projection.messages().count() > 0, "a session to measure has messages");
    Ok(())
}

fn memory(path: &Path) -> Outcome<(usize, usize)> {
    let session = open(path, 0)?;
    session.label(&no_entry())?;
    Ok(session.index_memory().zip(session.entry_count()).ok_or("the index was built in the line before")?)
}

fn no_entry() -> compaction_core::entry::EntryId {
    compaction_core::entry::EntryId::new("none")
}

fn newline_scan(path: &Path) -> Outcome<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut lines = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count();
    }
    assert!(std::hint::black_box(lines) > 0, "a session has lines");
    Ok(())
}

fn median(mut work: impl FnMut() -> Outcome<()>) -> Outcome<Duration> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[ROUNDS / 2])
}
