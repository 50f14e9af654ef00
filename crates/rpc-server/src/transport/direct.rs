//! Short writes by whoever has something to say, where the pipe takes them at once: waking the
//! writing thread costs more than the write.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::event::PollFlags;
use rustix::pipe::{PIPE_BUF, fcntl_setpipe_size};

use super::readiness::readiness;

/// Bytes that a pipe which is ready takes without waiting, all or nothing.
pub(super) const MAX_BYTES: usize = PIPE_BUF;
/// Bytes that a pipe is asked to hold when much is to be written; some systems allow less.
const PIPE_BYTES: usize = 1 << 20;

/// A second handle of the sink.
#[derive(Debug)]
pub(super) struct Direct {
    file: File,
}

impl Direct {
    /// Duplicates the handle of `sink`.
    pub(super) fn new(sink: &impl AsFd) -> io::Result<Self> {
        Ok(Self { file: sink.as_fd().try_clone_to_owned()?.into() })
    }

    /// Writes what can be written of at most [`MAX_BYTES`] without waiting; how much that was.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MAX_BYTES || !self.is_ready() {
            return Ok(0);
        }
        match (&self.file).write(bytes) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            outcome => outcome,
        }
    }

    /// Lets the pipe hold more, so that a large reply does not go through it in small pieces.
    pub(super) fn widen(&self) {
        // What is no pipe has no such size, and a system may refuse.
        let _ = fcntl_setpipe_size(&self.file, PIPE_BYTES);
    }

    fn is_ready(&self) -> bool {
        readiness(&self.file, PollFlags::OUT) == PollFlags::OUT
    }
}
