//! How much is measured.

/// Sizes of sessions, and how often things are done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Sizes of sessions in millions of bytes.
    pub(crate) megabytes: &'static [u64],
    /// Processes of ours that are started for one figure.
    pub(crate) processes: usize,
    /// Processes of the peer that are started for one figure; fewer for sessions that take it seconds.
    pub(crate) peer_processes: usize,
    /// Calls in one process that take milliseconds.
    pub(crate) calls: usize,
    /// Calls in one process that take microseconds.
    pub(crate) quick_calls: usize,
    /// Appends that wait for the disk.
    pub(crate) syncs: usize,
    /// Sessions in a list, and their size together in millions of bytes.
    pub(crate) listed: (usize, u64),
    /// Entries of the longest chain.
    pub(crate) chain: usize,
}

impl Default for Effort {
    /// Some minutes.
    fn default() -> Self {
        Self {
            megabytes: &[1, 10, 100],
            processes: 15,
            peer_processes: 5,
            calls: 50,
            quick_calls: 20_000,
            syncs: 320,
            listed: (100, 34),
            chain: 100_000,
        }
    }
}

impl Effort {
    /// All that the goals name.
    pub(crate) fn full() -> Self {
        Self { megabytes: &[1, 10, 100, 1000], listed: (1000, 340), chain: 1_000_000, ..Self::default() }
    }

    /// Enough to see that something went wrong.
    pub(crate) fn quick() -> Self {
        Self {
            megabytes: &[1, 10],
            processes: 3,
            peer_processes: 2,
            calls: 5,
            quick_calls: 1_000,
            syncs: 48,
            listed: (20, 7),
            chain: 10_000,
        }
    }

    /// Processes of ours for a session of `bytes` bytes.
    pub(crate) fn processes_for(&self, bytes: u64) -> usize {
        if bytes > 500_000_000 { self.processes.min(7) } else { self.processes }
    }

    /// Processes of the peer for a session of `bytes` bytes.
    pub(crate) fn peer_processes_for(&self, bytes: u64) -> usize {
        if bytes > 500_000_000 { self.peer_processes.min(3) } else { self.peer_processes }
    }
}
