//! What tells that a file is still the one that was read.

use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// How old the last change of a file must be for its stamp to tell it from the next one: the coarsest
/// clock of a file system that is still met ticks every two seconds.
const CLOCK_TICK: u64 = 2_000_000_000;

/// Length and times of a file, in bytes and in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) length: u64,
    modified: u64,
    /// When the file's metadata changed: a program can set `modified` back, but not this.
    changed: u64,
    /// Tells a file from another one that was put in its place.
    inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().map_or(0, nanoseconds);
        let (changed, inode) = identity(metadata);
        Self { length: metadata.len(), modified, changed, inode }
    }

    /// Whether every later change will show: another write within the same tick of the file system's
    /// clock leaves the times as they are.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        self.modified.max(self.changed).saturating_add(CLOCK_TICK) < nanoseconds(now)
    }

    /// Whether the file may be the one of `earlier` with more at its end.
    pub(super) fn may_continue(&self, earlier: &Self) -> bool {
        self.inode == earlier.inode && self.length > earlier.length
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let changed = metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec());
    (u64::try_from(changed).unwrap_or(0), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}
