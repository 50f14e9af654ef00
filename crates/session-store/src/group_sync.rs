//! Waiting for the disk in company: callers that wait at the same time share one sync.
//!
//! A sync takes as long as a hundred writes. The writes of a session follow each other under its
//! lock; what waits for the disk waits outside it, on one thread per session, which serves with
//! each sync all that were waiting when it began.

use std::fmt;
use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

/// Waits until what was written to a log before the call is on the disk. It can be called beside
/// the log, while that is written to.
pub type SyncLog = Box<dyn FnMut() -> io::Result<()> + Send>;

/// The thread that syncs one log. Dropping it waits until all that wait were answered.
#[derive(Debug)]
pub(crate) struct GroupSync {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Lines that were written and are not known to be on the disk.
#[derive(Debug)]
#[must_use = "the lines are not known to be on the disk"]
pub struct PendingSync {
    shared: Arc<Shared>,
    /// Where the lines end in the log.
    end: u64,
}

/// What is called with the outcome of a sync.
type Waiter = Box<dyn FnOnce(io::Result<()>) + Send>;

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiters: Vec<(u64, Waiter)>,
    /// Up to where the log is known to be on the disk.
    synced: u64,
    /// Whether the thread ends once nobody waits.
    is_closed: bool,
    /// Why nothing more can be known of the disk: after a sync that failed, the next one says
    /// nothing about what the failed one lost.
    failure: Option<Failure>,
    /// The log, while the thread does not run.
    sync: Option<SyncLog>,
}

#[derive(Debug, Clone)]
struct Failure(io::ErrorKind, String);

impl GroupSync {
    /// Starts the thread.
    pub(crate) fn start(sync: SyncLog) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let thread = std::thread::Builder::new().name("session-sync".to_owned());
        let thread = thread.spawn({
            let shared = Arc::clone(&shared);
            move || shared.serve(sync)
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What to wait for after a write that ended at `end`.
    pub(crate) fn pending(&self, end: u64) -> PendingSync {
        PendingSync { shared: Arc::clone(&self.shared), end }
    }

    /// Up to where the log is known to be on the disk.
    pub(crate) fn synced(&self) -> u64 {
        self.shared.lock().synced
    }

    /// Whether a sync has failed, so that lines may be lost.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.lock().failure.is_some()
    }
}

impl Drop for GroupSync {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // Its panic was the panic of a waiter, which is that waiter's affair.
            let _ = thread.join();
        }
    }
}

impl PendingSync {
    /// Waits until the lines are on the disk.
    ///
    /// Fails as the sync did; then they may be in the log and are not known to be on the disk, until
    /// [`crate::Session::take_back_unsynced`] takes them back.
    pub fn wait(self) -> io::Result<()> {
        let (sender, outcome) = mpsc::sync_channel(1);
        self.then(move |outcome| drop(sender.send(outcome)));
        outcome.recv().unwrap_or_else(|_| Err(io::Error::other("the sync ended early")))
    }

    /// Calls `done` with what [`PendingSync::wait`] would return, on the thread that syncs. It must
    /// be quick. Those that line up first are called first.
    pub fn then(self, done: impl FnOnce(io::Result<()>) + Send + 'static) {
        let mut state = self.shared.lock();
        if let Some(failure) = state.failure.clone() {
            drop(state);
            return done(Err(failure.into()));
        }
        if let Some(mut sync) = state.sync.take() {
            // The session was closed; nobody else waits.
            let outcome = sync();
            state.sync = Some(sync);
            drop(state);
            return done(outcome);
        }
        state.waiters.push((self.end, Box::new(done)));
        drop(state);
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn serve(&self, mut sync: SyncLog) {
        loop {
            let waiters = {
                let mut state = self.wait();
                if state.waiters.is_empty() {
                    state.sync = Some(sync);
                    return;
                }
                mem::take(&mut state.waiters)
            };
            self.serve_waiters(waiters, &mut sync);
        }
    }

    /// Waits until somebody waits for the disk or the session is closed.
    fn wait(&self) -> MutexGuard<'_, State> {
        let is_idle = |state: &mut State| state.waiters.is_empty() && !state.is_closed;
        self.changed.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner)
    }

    fn serve_waiters(&self, waiters: Vec<(u64, Waiter)>, sync: &mut SyncLog) {
        let outcome = self.outcome(sync);
        if outcome.is_ok() {
            let synced = waiters.iter().map(|(end, _)| *end).max().unwrap_or_default();
            let mut state = self.lock();
            state.synced = state.synced.max(synced);
        }
        for (_, waiter) in waiters {
            waiter(outcome.clone().map_err(io::Error::from));
        }
    }

    fn outcome(&self, sync: &mut SyncLog) -> Result<(), Failure> {
        if let Some(failure) = self.lock().failure.clone() {
            return Err(failure);
        }
        let outcome = sync().map_err(|error| Failure(error.kind(), error.to_string()));
        if let Err(failure) = &outcome {
            self.lock().failure = Some(failure.clone());
        }
        outcome
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code from outside runs under the lock, so that a panic leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Failure> for io::Error {
    fn from(Failure(kind, message): Failure) -> Self {
        Self::new(kind, message)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiters = self.waiters.len();
        formatter.debug_struct("State").field("waiters", &waiters).field("failure", &self.failure).finish()
    }
}
