//! Worker threads for work that would block the async loop.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::EngineError;

/// Maximum number of concurrent calls. Waiting calls have allocated nothing yet, so this bounds the memory of
/// results.
const WORKING_CALLS: usize = 8;
static WORK: Semaphore = Semaphore::const_new(WORKING_CALLS);

/// Maximum number of concurrent calls in slow stores. They have their own limit, so that other calls are served
/// meanwhile.
const WAITING_CALLS: usize = 6;
static SLOW_WORK: Semaphore = Semaphore::const_new(WAITING_CALLS);

/// Maximum number of concurrent look-ups of hosts. The system may let each wait for long.
pub(crate) const LOOKUPS: usize = 4;

/// Threads that a runtime needs, so that none of this work waits for another kind: those of all permits and look-ups,
/// one that reads the certificates of the system, and one that closes sessions.
pub const MAX_THREADS: usize = WORKING_CALLS + WAITING_CALLS + LOOKUPS + 2;

/// Waits for a permit to work; the limit counts it until it is dropped. Calls in a session or store that is not quick
/// have their own limit.
pub async fn permit(is_quick: bool) -> Option<SemaphorePermit<'static>> {
    places(is_quick).acquire().await.ok()
}

/// A permit as [`permit`] gives it, if one is free.
pub fn try_permit(is_quick: bool) -> Option<SemaphorePermit<'static>> {
    places(is_quick).try_acquire().ok()
}

fn places(is_quick: bool) -> &'static Semaphore {
    if is_quick { &WORK } else { &SLOW_WORK }
}

/// Runs `work` on a worker thread once a permit is free. A panic becomes an internal error.
pub async fn run_with_permit<T: Send + 'static>(
    is_quick: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EngineError> {
    let _permit = permit(is_quick).await;
    run(work).await
}

/// Runs `work` on a worker thread. A panic becomes an internal error.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| EngineError::internal(format!("the handler ended early: {error}")))
}

/// Does both at once, the first on a thread of its own. Where there is none, one after the other.
pub(crate) fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().spawn_scoped(scope, &first);
        let second = second();
        let first = match beside {
            Ok(beside) => beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => first(),
        };
        (first, second)
    })
}

/// As [`run_with_permit`], for work that may fail and uses no slow store.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    blocking_in(true, work).await
}

/// As [`blocking`], for work in a session that is quick or not.
pub(crate) async fn blocking_in<T: Send + 'static>(
    is_quick: bool,
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    run_with_permit(is_quick, work).await?
}
