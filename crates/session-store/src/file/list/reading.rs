//! Lines of many files, read on as many threads as there are cores, through one buffer each.

use std::cell::Cell;
use std::fs::File;
use std::num::NonZero;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{io, thread};

use crate::file::seen::ReadFrom;
use crate::log::Line;
use crate::log::lines::scan_lines;

/// Bytes that are read at once at least.
pub(crate) const READ_BYTES: usize = 1 << 18;

/// Bytes of the buffer that are kept for the next file.
const KEPT_BYTES: usize = 1 << 20;

/// How files are read.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Bytes of a line that are held at most.
    pub(crate) max_line: usize,
    /// Whether nobody waits for the outcome any more.
    pub(crate) is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// Reads lines through one buffer, for one file after the other.
pub(crate) struct LineReader<'a> {
    pub(crate) limits: Limits<'a>,
    buffer: Vec<u8>,
}

impl<'a> LineReader<'a> {
    pub(crate) fn new(limits: Limits<'a>) -> Self {
        Self { limits, buffer: Vec::new() }
    }

    /// Visits the lines of `range`, whose start must be the start of a line, until its end, the end
    /// of the file, or until `visit` breaks. Of a line with more than `hold` bytes only the first are
    /// handed out. Fails with `Interrupted` when the work is cancelled.
    pub(crate) fn visit(
        &mut self,
        file: &File,
        range: Range<u64>,
        hold: &Cell<usize>,
        mut visit: impl FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.buffer.resize(self.buffer.len().max(READ_BYTES), 0);
        let mut source = ReadFrom { file, offset: range.start, end: range.end };
        let outcome =
            scan_lines(&mut source, &mut self.buffer, range.start, hold, self.limits.is_cancelled, &mut visit);
        self.buffer.truncate(KEPT_BYTES);
        self.buffer.shrink_to(KEPT_BYTES);
        if (self.limits.is_cancelled)() { Err(io::ErrorKind::Interrupted.into()) } else { outcome }
    }
}

/// Bytes for which it is worth to start another thread.
const BYTES_PER_THREAD: u64 = 2 << 20;

/// Calls `work` for each of `items`, which are `bytes` large together, and returns what it gave, in
/// the order of the items. At most as many threads as the machine has cores work at once, each with
/// one reader.
pub(crate) fn for_each_in_parallel<T: Sync, R: Send>(
    items: &[T],
    bytes: u64,
    limits: Limits<'_>,
    work: impl Fn(&T, &mut LineReader<'_>) -> R + Sync,
) -> Vec<R> {
    let threads = threads(items.len(), bytes);
    if threads <= 1 {
        let mut reader = LineReader::new(limits);
        return items.iter().map(|item| work(item, &mut reader)).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        let mut reader = LineReader::new(limits);
        while let Some((at, item)) = take(items, &next) {
            let found = work(item, &mut reader);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, found));
        }
    };
    thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(run)));
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, found)| found).collect()
}

fn threads(items: usize, bytes: u64) -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let useful = usize::try_from(bytes / BYTES_PER_THREAD + 1).unwrap_or(usize::MAX);
    cores.min(items).min(useful)
}

fn take<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    items.get(at).map(|item| (at, item))
}
