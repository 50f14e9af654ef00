//! Work that is done several at a time.

use std::sync::{Mutex, mpsc};

/// Does `work` with every item, `at_once` of them at the same time and the first ones first, and passes each result on as
/// soon as it is there.
pub(crate) fn several_at_a_time<T: Send, R: Send>(
    at_once: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
    mut done: impl FnMut(R),
) {
    let queue = Mutex::new(items.into_iter());
    let next = || queue.lock().ok()?.next();
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..at_once {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || {
                while let Some(item) = next() {
                    // It fails where nobody listens any more.
                    let _ = sender.send(work(item));
                }
            });
        }
        drop(sender);
        results.into_iter().for_each(&mut done);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once() {
        for at_once in [1, 3, 200] {
            let mut results = Vec::new();
            several_at_a_time(at_once, (0..100).collect(), |number| number * 2, |result| results.push(result));
            results.sort_unstable();
            assert_eq!(results, (0..200).step_by(2).collect::<Vec<_>>());
        }
    }
}
