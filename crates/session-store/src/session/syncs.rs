//! Appends that return before they are on the disk, so that concurrent callers share a sync.
//!
//! A sync takes as long as a hundred writes. The writes of a session follow each other under its lock. Callers wait
//! for the disk outside the lock, served by one thread per session. Each sync serves all callers that waited when it
//! began.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::{fmt, io, mem};

use compaction_core::entry::EntryId;

use crate::error::StoreError;
use crate::log::{LogChange, LogError, SessionLog, Span, SyncLog};
use crate::session::{Durability, Session};

/// The part of a session's log that is not known to be on the disk.
#[derive(Debug, Default)]
pub(crate) struct DeferredSyncs {
    is_on: bool,
    group: Option<GroupSync>,
    pending: Option<PendingSync>,
    /// The written lines at the end of the log that were not synced, if no foreign line is between or after them.
    unsynced: VecDeque<UnsyncedLine>,
}

#[derive(Debug)]
struct UnsyncedLine {
    span: Span,
    /// The leaf before the line was written.
    leaf: Option<EntryId>,
}

impl Session {
    /// From now on, appends that must reach the disk (`Durability::Always`) return before they do. Callers wait with
    /// [`Session::take_pending_sync`], ideally after they released the session. Readers see the entries meanwhile.
    pub fn defer_syncs(&mut self) {
        self.syncs.is_on = true;
    }

    /// Takes the sync that a caller must wait for before the last appends count as written; `None` if there is none.
    pub fn take_pending_sync(&mut self) -> Option<PendingSync> {
        self.syncs.pending.take()
    }

    /// After a failed sync, removes the lines that waited for one, so that the session is as it was before them.
    /// Returns whether there were any. Does nothing if no sync failed. [`Session::take_foreign`] returns the change.
    ///
    /// Lines of another program are never removed, nor lines before them. Fails with `WriteFailed` if the log cannot
    /// be cut; then nothing is appended until it can.
    pub fn take_back_unsynced(&mut self) -> Result<bool, StoreError> {
        if !self.syncs.has_failed() {
            return Ok(false);
        }
        self.refresh_quietly()?;
        let Some((first, last)) = self.syncs.unsynced_lines() else {
            tracing::warn!(locator = ?self.locator(), "a sync failed, and the lines cannot be taken back");
            self.syncs.forget();
            return Ok(false);
        };
        let (start, leaf) = (first.span.offset, first.leaf.clone());
        match self.log.cut(last.span.end() + 1, start) {
            // Lines before lines of another program must stay.
            Err(LogError::Moved) => {
                self.syncs.forget();
                return Ok(false);
            }
            outcome => outcome.map_err(|error| self.not_written(error))?,
        }
        self.leaf = leaf;
        self.forget_context();
        self.unread = LogChange::Replaced;
        self.refresh_quietly().map(|()| true)
    }

    /// Whether an append waits for the disk itself, or must first remove lines after a failed sync.
    pub(super) fn waits_for_disk(&self) -> bool {
        (self.durability == Durability::Always && !self.syncs.is_on) || self.syncs.has_failed()
    }

    /// Whether the next append defers its sync.
    pub(super) fn defers_sync(&mut self) -> bool {
        let is_wanted = self.syncs.is_on && self.durability == Durability::Always;
        is_wanted && self.syncs.start(self.log.as_ref())
    }
}

impl DeferredSyncs {
    /// Records a line that was written while the leaf was `leaf`.
    pub(super) fn note(&mut self, span: Span, leaf: Option<&EntryId>) {
        self.drop_synced();
        if self.unsynced.back().is_some_and(|last| last.span.end() + 1 != span.offset) {
            self.unsynced.clear();
        }
        self.pending = self.group.as_ref().map(|group| group.pending(span.end() + 1));
        self.unsynced.push_back(UnsyncedLine { span, leaf: leaf.cloned() });
    }

    /// Forgets the log, because it was replaced or closed. Waiting callers are answered first.
    pub(super) fn forget(&mut self) {
        self.group = None;
        self.unsynced.clear();
    }

    /// The first and the last line that are not known to be on the disk.
    fn unsynced_lines(&mut self) -> Option<(&UnsyncedLine, &UnsyncedLine)> {
        self.drop_synced();
        self.unsynced.front().zip(self.unsynced.back())
    }

    fn drop_synced(&mut self) {
        let synced = self.group.as_ref().map_or(0, GroupSync::synced);
        while self.unsynced.front().is_some_and(|line| line.span.end() < synced) {
            self.unsynced.pop_front();
        }
    }

    /// Starts the sync thread. Without it, every append waits itself.
    fn start(&mut self, log: &dyn SessionLog) -> bool {
        if self.group.is_none() {
            self.group = log.sync_beside().and_then(GroupSync::start).ok();
        }
        self.group.is_some()
    }

    fn has_failed(&self) -> bool {
        self.group.as_ref().is_some_and(GroupSync::has_failed)
    }
}

/// The thread that syncs one log. Dropping it waits until all callers were answered.
#[derive(Debug)]
pub(crate) struct GroupSync {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Written lines that are not known to be on the disk.
#[derive(Debug)]
#[must_use = "the lines are not known to be on the disk"]
pub struct PendingSync {
    shared: Arc<Shared>,
    /// The end of the lines in the log.
    end: u64,
}

/// A callback for the outcome of a sync.
type Waiter = Box<dyn FnOnce(io::Result<()>) + Send>;

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiters: Vec<(u64, Waiter)>,
    /// The end of the part of the log that is known to be on the disk.
    synced: u64,
    /// Whether the thread ends once no caller waits.
    is_closed: bool,
    /// The failure of a sync. A later sync says nothing about the lines that the failed one lost.
    failure: Option<Failure>,
    /// The function that syncs, while the thread does not run.
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

    /// The sync to wait for after a write that ended at `end`.
    pub(crate) fn pending(&self, end: u64) -> PendingSync {
        PendingSync { shared: Arc::clone(&self.shared), end }
    }

    /// The end of the part of the log that is known to be on the disk.
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
            // The thread panics only if a callback panics.
            let _ = thread.join();
        }
    }
}

impl PendingSync {
    /// Waits until the lines are on the disk.
    ///
    /// Fails as the sync did. Then the lines may be in the log but are not known to be on the disk, until
    /// [`crate::Session::take_back_unsynced`] removes them.
    pub fn wait(self) -> io::Result<()> {
        let (sender, outcome) = mpsc::sync_channel(1);
        self.then(move |outcome| drop(sender.send(outcome)));
        outcome.recv().unwrap_or_else(|_| Err(io::Error::other("the sync ended early")))
    }

    /// Calls `done` with the result of [`PendingSync::wait`], on the sync thread. `done` must be quick. Callbacks run
    /// in the order of registration.
    pub fn then(self, done: impl FnOnce(io::Result<()>) + Send + 'static) {
        let mut state = self.shared.lock();
        if let Some(failure) = state.failure.clone() {
            drop(state);
            return done(Err(failure.into()));
        }
        if let Some(mut sync) = state.sync.take() {
            // The session was closed, so no other caller waits.
            let outcome = sync();
            state.sync = Some(sync);
            // A system reports a write error once, so it is kept for later callers.
            if let Err(error) = &outcome {
                state.failure = Some(Failure(error.kind(), error.to_string()));
            }
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

    /// Waits until a caller waits for the disk or the session is closed.
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
        // No foreign code runs under the lock, so a panic cannot leave it inconsistent.
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
