//! The sessions that are measured: generated, streamed to disk, each from a seed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use compactd_tests::generate::{Plan, realistic};

/// Tokens of context at which sessions are compacted, so that most last turns end below 180,000.
const COMPACT_ABOVE: u64 = 160_000;
const COMPACTION: &[u8] = b"{\"type\":\"compaction\"";

/// A generated session file.
#[derive(Debug, Clone)]
pub(crate) struct SessionFile {
    /// What it is called in the table, such as `10 MB`.
    pub(crate) name: String,
    /// The file.
    pub(crate) path: PathBuf,
    /// The session's id.
    pub(crate) id: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// Entries, without the header.
    pub(crate) entries: u64,
    /// Compactions among them.
    pub(crate) compactions: u64,
}

impl SessionFile {
    /// Cuts off what a measurement appended.
    pub(crate) fn restore(&self) -> io::Result<()> {
        File::options().write(true).open(&self.path)?.set_len(self.bytes)
    }
}

/// Generates a session of each size, in millions of bytes.
pub(crate) fn generate(directory: &Path, megabytes: &[u64]) -> anyhow::Result<Vec<SessionFile>> {
    let sessions = megabytes.iter().map(|size| {
        let name = if *size >= 1000 { format!("{} GB", size / 1000) } else { format!("{size} MB") };
        let path = directory.join(format!("session-{size}.jsonl"));
        ending_full(name, path, size * 1_000_000)
    });
    sessions.collect()
}

/// Generates `count` sessions of `bytes` bytes together below an agent directory, as the peer lays
/// them out. Sizes spread as sizes of sessions do: most are small, some are large.
pub(crate) fn generate_many(agent_directory: &Path, count: usize, bytes: u64) -> anyhow::Result<u64> {
    let directory = agent_directory.join("sessions").join("--project--");
    if directory.exists() {
        // Of an earlier run, which may have made others.
        std::fs::remove_dir_all(&directory)?;
    }
    std::fs::create_dir_all(&directory)?;
    let weights: Vec<f64> = (0..count).map(|place| (4.0 * place as f64 / count as f64).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut written = 0;
    for (seed, weight) in weights.iter().enumerate() {
        let size = (bytes as f64 * weight / total) as u64;
        let path = directory.join(format!("2025-11-20T23-33-01-000Z_realistic-{seed:016x}.jsonl"));
        let mut file = BufWriter::new(File::create(path)?);
        let plan = Plan::new(size.saturating_sub(TURN_BYTES), seed as u64);
        written += realistic(&plan, &mut file)?.bytes;
        file.flush()?;
        // Whoever remembers files by their times may doubt one that has only just changed.
        file.get_ref().set_modified(SystemTime::now() - Duration::from_secs(3600))?;
    }
    Ok(written)
}

/// About half a turn, by which a generated session is larger than asked.
const TURN_BYTES: u64 = 25_000;

/// A session whose context is as large as it gets: it ends right before a compaction.
fn ending_full(name: String, path: PathBuf, bytes: u64) -> anyhow::Result<SessionFile> {
    let mut file = Recorder::new(BufWriter::with_capacity(1 << 20, File::create(&path)?));
    let seed = 1;
    let plan = Plan { compact_above_tokens: Some(COMPACT_ABOVE), ..Plan::new(bytes, seed) };
    realistic(&plan, &mut file)?;
    file.out.flush()?;
    let end = file.last_compaction.unwrap_or(file.place);
    let compactions = file.compactions - u64::from(file.last_compaction.is_some());
    let id = format!("realistic-{seed:016x}");
    let session = SessionFile { name, path, id, bytes: end.bytes, entries: end.lines - 1, compactions };
    session.restore()?;
    Ok(session)
}

/// Passes lines on and remembers where the last compaction was.
#[derive(Debug)]
struct Recorder<W> {
    out: W,
    place: Place,
    last_compaction: Option<Place>,
    compactions: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    bytes: u64,
    lines: u64,
}

impl<W> Recorder<W> {
    fn new(out: W) -> Self {
        Self { out, place: Place::default(), last_compaction: None, compactions: 0 }
    }
}

impl<W: Write> Write for Recorder<W> {
    /// The generator writes whole lines, and their ends by themselves.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        if bytes.starts_with(COMPACTION) {
            self.last_compaction = Some(self.place);
            self.compactions += 1;
        }
        self.place.bytes += bytes.len() as u64;
        self.place.lines += u64::from(bytes == b"\n");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_right_before_a_compaction() {
        let directory = tempfile::tempdir().unwrap();
        let made = ending_full("3 MB".to_owned(), directory.path().join("session.jsonl"), 3_000_000).unwrap();
        let text = std::fs::read_to_string(&made.path).unwrap();
        assert_eq!(text.len() as u64, made.bytes);
        assert_eq!(text.lines().count() as u64, made.entries + 1);
        let compactions = text.lines().filter(|line| line.as_bytes().starts_with(COMPACTION)).count() as u64;
        assert_eq!((compactions, compactions > 0), (made.compactions, true));
        assert!(text.ends_with("}\n") && text.contains(&made.id), "{}", made.id);
    }

    #[test]
    fn many_sessions_are_as_large_together_as_asked() {
        let directory = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let written = generate_many(directory.path(), 10, 4_000_000).unwrap();
            assert!((3_000_000..5_500_000).contains(&written), "{written}");
        }
        let files = std::fs::read_dir(directory.path().join("sessions/--project--")).unwrap();
        assert_eq!(files.count(), 10);
    }
}
