//! Threads for work that would hold up the loop that serves others.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::EngineError;

/// Calls that work at once. Those that wait for their turn have made nothing yet, so that this
/// bounds what their results take.
const WORKING_CALLS: usize = 8;
static WORK: Semaphore = Semaphore::const_new(WORKING_CALLS);

/// Waits until few enough calls work; the place is kept until the permit is dropped.
pub async fn permit() -> Option<SemaphorePermit<'static>> {
    WORK.acquire().await.ok()
}

/// Runs `work` on a thread for blocking work, once few enough calls work; a panic in it becomes an
/// internal error.
pub async fn run_with_permit<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineError> {
    let _permit = permit().await;
    run(work).await
}

/// Runs `work` on a thread for blocking work; a panic in it becomes an internal error.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| EngineError::internal(format!("the handler ended early: {error}")))
}

/// As [`run_with_permit`], for work that may fail.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    run_with_permit(work).await?
}
