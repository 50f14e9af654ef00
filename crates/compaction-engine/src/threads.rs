//! Threads for work that would hold up the loop that serves others.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::EngineError;

/// Calls that work at once. Those that wait for their turn have made nothing yet, so that this
/// bounds what their results take.
const WORKING_CALLS: usize = 8;
static WORK: Semaphore = Semaphore::const_new(WORKING_CALLS);

/// Calls beside them that wait for a slow store, so that however long those wait, others are served.
const WAITING_CALLS: usize = 6;
static SLOW_WORK: Semaphore = Semaphore::const_new(WAITING_CALLS);

/// Waits until few enough calls work; the place is kept until the permit is dropped. Calls in a store or a
/// session that is not quick have places of their own.
pub async fn permit(is_quick: bool) -> Option<SemaphorePermit<'static>> {
    let places = if is_quick { &WORK } else { &SLOW_WORK };
    places.acquire().await.ok()
}

/// Runs `work` on a thread for blocking work, once few enough calls work in stores that are as quick or slow;
/// a panic in it becomes an internal error.
pub async fn run_with_permit<T: Send + 'static>(
    is_quick: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EngineError> {
    let _permit = permit(is_quick).await;
    run(work).await
}

/// Runs `work` on a thread for blocking work; a panic in it becomes an internal error.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| EngineError::internal(format!("the handler ended early: {error}")))
}

/// As [`run_with_permit`], for work that may fail and waits for no store.
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
