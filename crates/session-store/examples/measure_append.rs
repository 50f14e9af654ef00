//! What an append costs in process: `cargo run --release -p session-store --example measure_append [directory]`.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use session_store::{
    CreateOptions, Durability, FileStore, Locator, NewEntry, Parent, Session, SessionStore, StoreError,
};

/// Callers that append at once.
const CALLERS: usize = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = match std::env::args().nth(1) {
        Some(parent) => tempfile::tempdir_in(parent)?,
        None => tempfile::tempdir()?,
    };
    let text = "All work and no play makes a dull session. ".repeat(20);
    let message = format!("{{\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":1}}}}");
    let mut out = std::io::stdout();
    let mut session = create(directory.path(), "none", Durability::None)?;
    let plain = times(20_000, || append(&mut session, &message))?;
    writeln!(out, "append, no sync        {}", shown(plain))?;
    for round in 0..3 {
        let mut file = File::create(directory.path().join("raw"))?;
        let bare = times(300, || {
            file.write_all(message.as_bytes())?;
            Ok(file.sync_data()?)
        })?;
        writeln!(out, "write and fdatasync    {}", shown(bare))?;
        let mut session = create(directory.path(), &format!("always{round}"), Durability::Always)?;
        let synced = times(300, || append(&mut session, &message))?;
        writeln!(out, "append, sync           {}", shown(synced))?;
        session.defer_syncs();
        let deferred = times(300, || append_and_wait(&mut session, &message))?;
        writeln!(out, "append, deferred sync  {}", shown(deferred))?;
        let (one, many) = (rate(directory.path(), &message, 1)?, rate(directory.path(), &message, CALLERS)?);
        writeln!(out, "callers at once        1: {one:.0}/s, {CALLERS}: {many:.0}/s, ratio {:.1}", many / one)?;
    }
    Ok(())
}

fn create(directory: &Path, name: &str, durability: Durability) -> Result<Session, StoreError> {
    let path = directory.join(format!("{name}.jsonl"));
    let _no_such_file = std::fs::remove_file(&path);
    FileStore::new(directory, durability)
        .create(&CreateOptions { locator: Some(Locator::from(&path)), ..CreateOptions::default() })
}

fn append(session: &mut Session, message: &str) -> Result<(), Box<dyn std::error::Error>> {
    session.append(NewEntry::new("message", message), Parent::Leaf)?;
    Ok(())
}

fn append_and_wait(session: &mut Session, message: &str) -> Result<(), Box<dyn std::error::Error>> {
    append(session, message)?;
    Ok(session.take_pending_sync().map_or(Ok(()), session_store::PendingSync::wait)?)
}

/// Appends per second of `callers` that each wait for the disk.
fn rate(directory: &Path, message: &str, callers: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let mut session = create(directory, "callers", Durability::Always)?;
    session.defer_syncs();
    let (session, start) = (Mutex::new(session), Barrier::new(callers));
    let count = 200;
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                start.wait();
                for _ in 0..count {
                    let pending = {
                        let mut session = session.lock().expect("no caller panics");
                        append(&mut session, message).expect("the disk has room");
                        session.take_pending_sync()
                    };
                    pending.map_or(Ok(()), session_store::PendingSync::wait).expect("the disk works");
                }
            });
        }
    });
    Ok((callers * count) as f64 / started.elapsed().as_secs_f64())
}

fn times(
    count: usize,
    mut work: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        work()?;
        times.push(started.elapsed());
    }
    times.sort();
    Ok(times)
}

fn shown(times: Vec<Duration>) -> String {
    let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e6;
    format!("p50 {:>8.1} us, p99 {:>8.1} us", at(50), at(99))
}
