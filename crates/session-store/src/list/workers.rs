//! Work on many files, on as many threads as there are cores.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::list::lines::{Limits, LineReader};

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
