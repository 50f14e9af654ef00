//! Standard input as something to wait for in the server's loop. A thread that reads for the loop
//! costs a wake-up more for every message, which is most of what a short call takes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::PollFlags;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};

use super::readiness::readiness;

/// A handle that is read from.
#[derive(Debug)]
pub(super) enum Source {
    /// What tells when there is something to read: pipes, sockets, terminals.
    Telling(AsyncFd<File>),
    /// What does not, such as files: each read runs on a thread for blocking work.
    Silent(tokio::fs::File),
}

impl Source {
    /// Duplicates `handle`. Its mode stays as it is, since others may share it: a pipe that somebody
    /// made non-blocking is so for everybody who has it.
    #[expect(
        deprecated,
        reason = "its successor is unsafe, for handles that change what they stand for; a file does not"
    )]
    pub(super) fn new(handle: &impl AsFd) -> io::Result<Self> {
        let file = File::from(handle.as_fd().try_clone_to_owned()?);
        Ok(AsyncFd::try_with_interest(file, Interest::READABLE)
            .map_or_else(|refused| Self::Silent(tokio::fs::File::from_std(refused.into_parts().0)), Self::Telling))
    }
}

impl AsyncRead for Source {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Silent(file) => Pin::new(file).poll_read(context, buffer),
            Self::Telling(handle) => poll_telling(handle, context, buffer),
        }
    }
}

fn poll_telling(handle: &AsyncFd<File>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    loop {
        let mut guard = ready!(handle.poll_read_ready(context))?;
        // The loop must not wait in a read that was told of too early.
        if readiness(handle.get_ref(), PollFlags::IN).is_empty() {
            guard.clear_ready();
            continue;
        }
        match handle.get_ref().read(buffer.initialize_unfilled()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Poll::Ready(Err(error)),
            Ok(read) => {
                buffer.advance(read);
                return Poll::Ready(Ok(()));
            }
        }
    }
}
