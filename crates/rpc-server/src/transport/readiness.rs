//! Whether a handle can be read or written without waiting.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Which of `flags` hold for `handle` now, with what is always told: the end, and errors. Nothing
/// where the system cannot say.
pub(super) fn readiness(handle: &impl AsFd, flags: PollFlags) -> PollFlags {
    let mut handles = [PollFd::new(handle, flags)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut handles, Some(&at_once)) {
        Ok(_) => handles[0].revents(),
        Err(_) => PollFlags::empty(),
    }
}
