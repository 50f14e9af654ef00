//! Appends that return before they are on the disk, so that callers at the same time share a sync.

use std::collections::VecDeque;

use compaction_core::entry::EntryId;

use crate::error::StoreError;
use crate::group_sync::{GroupSync, PendingSync};
use crate::log::{LogChange, LogError, SessionLog, Span};
use crate::session::Session;
use crate::store::Durability;

/// What of a session's log is not yet known to be on the disk.
#[derive(Debug, Default)]
pub(crate) struct DeferredSyncs {
    is_on: bool,
    group: Option<GroupSync>,
    pending: Option<PendingSync>,
    /// The lines at the end of the log that were written and not synced, if nothing foreign lies
    /// between or behind them.
    unsynced: VecDeque<UnsyncedLine>,
}

#[derive(Debug)]
struct UnsyncedLine {
    span: Span,
    /// The leaf before the line was written.
    leaf: Option<EntryId>,
}

impl Session {
    /// From now on appends that must reach the disk, with `Durability::Always`, return before they
    /// do: whoever appended waits for what [`Session::take_pending_sync`] gives, best when the
    /// session is free for others again. Readers see the entries meanwhile.
    pub fn defer_syncs(&mut self) {
        self.syncs.is_on = true;
    }

    /// What is to be waited for before the last appends may be called written; `None` if nothing.
    pub fn take_pending_sync(&mut self) -> Option<PendingSync> {
        self.syncs.pending.take()
    }

    /// After a sync that failed, cuts off the lines that waited for one, so that the session is as
    /// it was before them; whether there were any. Does nothing if no sync failed. What changed
    /// waits in [`Session::take_foreign`].
    ///
    /// Lines that another program wrote between or behind are never cut off, nor what lies before
    /// them. Fails with `WriteFailed` if the log cannot be cut; then nothing is appended until it can.
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
            // Behind lines of another program ours must stay.
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

    /// Whether an append waits for the disk by itself, or takes back first what did not reach it.
    pub(super) fn waits_for_disk(&self) -> bool {
        (self.durability == Durability::Always && !self.syncs.is_on) || self.syncs.has_failed()
    }

    /// Whether the append that follows leaves the sync for later.
    pub(super) fn defers_sync(&mut self) -> bool {
        let is_wanted = self.syncs.is_on && self.durability == Durability::Always;
        is_wanted && self.syncs.start(self.log.as_ref())
    }
}

impl DeferredSyncs {
    /// Takes note of a line that was written while the leaf was `leaf`.
    pub(super) fn note(&mut self, span: Span, leaf: Option<&EntryId>) {
        self.drop_synced();
        if self.unsynced.back().is_some_and(|last| last.span.end() + 1 != span.offset) {
            self.unsynced.clear();
        }
        self.pending = self.group.as_ref().map(|group| group.pending(span.end() + 1));
        self.unsynced.push_back(UnsyncedLine { span, leaf: leaf.cloned() });
    }

    /// The log is another one now, or is closed; those that wait are answered first.
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

    /// Starts the thread that syncs; without it every append waits by itself.
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
