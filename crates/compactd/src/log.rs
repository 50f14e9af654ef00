//! The log. A separate thread writes its lines, so that the server never waits for the reader of the log.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use session_store::append_to_regular_file;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Maximum number of lines that wait to be written. Further lines are dropped.
const MAX_WAITING: usize = 1024;

/// Maximum time to wait for the last lines.
pub(crate) const FLUSH_LIMIT: Duration = Duration::from_millis(200);

/// Starts the log, which goes to standard error or a file because standard output carries only the protocol. Panics go
/// to the log too: their default report would block if nobody reads standard error. Once in a process.
///
/// # Errors
/// The file of the log cannot be opened, or the system starts no thread.
pub(crate) fn start(file: Option<&Path>, level: LevelFilter) -> anyhow::Result<Log> {
    let log = match file {
        None => Log::spawn(io::stderr()),
        Some(path) => {
            let file = append_to_regular_file(path);
            Log::spawn(file.with_context(|| format!("failed to open the log file {}", path.display()))?)
        }
    };
    let log = log.context("failed to start the log")?;
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_ansi(false).log_internal_errors(false);
    subscriber.with_writer(log.clone()).init();
    let of_panics = log.clone();
    std::panic::set_hook(Box::new(move |panic| {
        tracing::error!("{panic}");
        // It may be the end of the process.
        of_panics.flush(FLUSH_LIMIT);
    }));
    Ok(log)
}

/// The target of log lines. A write never waits and never fails. If the queue is full, the line is dropped, and the next
/// written line reports how many were.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    lines: SyncSender<Line>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Line {
    Text(Vec<u8>),
    /// A request to signal that all earlier lines are written.
    Flush(SyncSender<()>),
}

impl Log {
    /// Starts the thread that writes to `output`. Lines that it cannot write are lost.
    ///
    /// # Errors
    /// The system starts no thread.
    pub(crate) fn spawn(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let log = Self { lines: sender, dropped: Arc::default() };
        let dropped = Arc::clone(&log.dropped);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || write_lines(output, &receiver, &dropped))?;
        Ok(log)
    }

    /// Waits until all logged lines are written, for at most `limit`.
    pub(crate) fn flush(&self, limit: Duration) {
        let (sender, receiver) = sync_channel(1);
        if self.lines.try_send(Line::Flush(sender)).is_ok() {
            let _ = receiver.recv_timeout(limit);
        }
    }
}

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Line::Text(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn write_lines(mut output: impl Write, lines: &Receiver<Line>, dropped: &AtomicU64) {
    for line in lines {
        match line {
            Line::Text(text) => {
                let lost = dropped.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let _ = writeln!(output, "{lost} lines of the log were dropped: nobody read them in time");
                }
                let _ = output.write_all(&text);
            }
            Line::Flush(sender) => drop(sender.send(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::*;

    /// An output that takes one line for each message on `lets`, and every line once that channel is closed.
    struct Gate {
        lets: mpsc::Receiver<()>,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.lets.recv();
            self.taken.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_do_not_fit_are_dropped_and_counted() {
        let (lets, gate) = mpsc::channel();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let mut log = Log::spawn(Gate { lets: gate, taken: Arc::clone(&taken) }).unwrap();
        for number in 0..3 * MAX_WAITING {
            log.write_all(format!("line {number}\n").as_bytes()).unwrap();
        }
        log.flush(Duration::from_millis(10));
        drop(lets);
        while log.dropped.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        log.flush(Duration::from_secs(60));
        let text = String::from_utf8(taken.lock().unwrap().clone()).unwrap();
        assert!(text.contains("lines of the log were dropped"), "{text}");
        assert!(text.contains("line 0\n") && text.lines().count() >= MAX_WAITING, "{text}");
    }
}
