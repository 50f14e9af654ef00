//! The turn to change a session: the work in it, and the wait for the disk after it.

use std::io;
use std::sync::Arc;

use session_store::PendingSync;
use tokio::sync::{OwnedRwLockWriteGuard, oneshot};

use super::{OpenSession, SessionAccess, Slot};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::threads;

/// Changes a session whose lock is held, on a thread for blocking work. What must reach the disk has
/// reached it when this returns; the session is free for others while the disk works.
///
/// # Errors
/// Those of `work`, of a session that was closed meanwhile, and of a disk that does not keep what was
/// written, which is taken back then.
pub async fn change<T, E, W>(
    engine: Arc<Engine>,
    session: Arc<OpenSession>,
    guard: OwnedRwLockWriteGuard<Slot>,
    work: W,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<EngineError> + Send + 'static,
    W: FnOnce(&mut SessionAccess<'_>) -> Result<T, E> + Send + 'static,
{
    let is_quick = session.is_quick();
    threads::run_with_permit(is_quick, move || Turn::take(engine, session, guard, work)).await??.end().await
}

/// A turn that is over, and what it still waits for.
#[derive(Debug)]
pub struct Turn<T, E> {
    outcome: Result<T, E>,
    synced: Option<oneshot::Receiver<io::Result<()>>>,
    engine: Arc<Engine>,
    session: Arc<OpenSession>,
}

impl<T, E: From<EngineError>> Turn<T, E> {
    /// Does the work of a turn; the session is free for others when this returns.
    ///
    /// # Errors
    /// [`EngineError::SessionNotOpen`] where the session was closed meanwhile.
    pub fn take(
        engine: Arc<Engine>,
        session: Arc<OpenSession>,
        mut guard: OwnedRwLockWriteGuard<Slot>,
        work: impl FnOnce(&mut SessionAccess<'_>) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut access = SessionAccess::new(&engine, &session, guard.as_mut())?;
        let outcome = work(&mut access);
        // Lined up for the disk in the order of the writes; the wait is for others' turns.
        let synced = access.take_pending_sync().map(line_up_for_disk);
        drop(guard);
        Ok(Self { outcome, synced, engine, session })
    }

    /// Waits for what the turn left to wait for.
    ///
    /// # Errors
    /// That of the work, or that of a disk that does not keep what was written.
    pub async fn end(self) -> Result<T, E> {
        let Some(synced) = self.synced else {
            return self.outcome;
        };
        match synced.await.unwrap_or_else(|_| Err(io::Error::other("the sync ended early"))) {
            Ok(()) => self.outcome,
            Err(error) => Err(not_on_disk(self.engine, self.session, error).await.into()),
        }
    }
}

fn line_up_for_disk(pending: PendingSync) -> oneshot::Receiver<io::Result<()>> {
    let (sender, synced) = oneshot::channel();
    // A caller that is gone needs no answer.
    pending.then(move |outcome| drop(sender.send(outcome)));
    synced
}

/// Takes back what could not be synced, before the caller hears of it, and gives the caller's error.
async fn not_on_disk(engine: Arc<Engine>, session: Arc<OpenSession>, error: io::Error) -> EngineError {
    let guard = Arc::clone(&session.slot).write_owned().await;
    let undone = threads::blocking_in(session.is_quick(), move || {
        let mut guard = guard;
        SessionAccess::new(&engine, &session, guard.as_mut())?.take_back_unsynced(error)
    });
    undone.await.unwrap_or_else(|error| error)
}
