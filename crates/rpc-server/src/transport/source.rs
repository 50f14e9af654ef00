//! Standard input as something that the server's loop can wait for. A reading thread would cost one more wake-up per
//! message, which is most of the time of a short call.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};
use tokio::io::{AsyncRead, Interest, ReadBuf};

/// A handle whose reads never block.
#[derive(Debug)]
pub(super) struct Source {
    handle: AsyncFd<File>,
}

impl Source {
    /// Duplicates `handle`. Its mode is not changed, because a non-blocking pipe is non-blocking for every process that
    /// shares it. Fails if the handle cannot be read.
    pub(super) fn new(handle: &impl AsFd) -> io::Result<Self> {
        let file = File::from(handle.as_fd().try_clone_to_owned()?);
        if fcntl_getfl(&file)? & OFlags::ACCMODE == OFlags::WRONLY {
            return Err(io::Error::other("standard input is open for writing alone"));
        }
        let handle = match register(file) {
            Ok(handle) => handle,
            Err(refused) => register(piped(refused.into_parts().0)?).map_err(|refused| refused.into_parts().1)?,
        };
        Ok(Self { handle })
    }

    /// Whether the other side has closed, even if there are unread bytes.
    pub(super) fn is_closed(&self) -> bool {
        #[cfg(target_os = "linux")]
        let half_closed = PollFlags::RDHUP;
        #[cfg(not(target_os = "linux"))]
        let half_closed = PollFlags::empty();
        let closed = half_closed | PollFlags::HUP | PollFlags::ERR;
        readiness(self.handle.get_ref(), half_closed).intersects(closed)
    }

    fn read_ready(&mut self, context: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.handle.poll_read_ready(context))?;
            match read_now(self.handle.get_ref(), bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                outcome => return Poll::Ready(outcome),
            }
            let was_closed = guard.ready().is_read_closed();
            guard.clear_ready();
            if was_closed {
                // A named pipe has a new writer. The old registration would stay ready for ever.
                let again = self.handle.get_ref().try_clone()?;
                self.handle = register(again).map_err(|refused| refused.into_parts().1)?;
            }
        }
    }
}

impl AsyncRead for Source {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(self.read_ready(context, buffer.initialize_unfilled()))?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

#[expect(deprecated, reason = "its successor is unsafe, for handles that change what they stand for; a file does not")]
fn register(file: File) -> Result<AsyncFd<File>, AsyncFdRegisterError<File>> {
    AsyncFd::try_with_interest(file, Interest::READABLE)
}

/// A pipe that a thread fills from a handle that cannot report readiness, such as a file.
fn piped(mut file: File) -> io::Result<File> {
    let (reader, mut writer) = io::pipe()?;
    let copy = move || {
        if let Err(error) = io::copy(&mut file, &mut writer) {
            tracing::warn!(%error, "reading standard input failed");
        }
    };
    thread::Builder::new().name("input".to_owned()).spawn(copy)?;
    Ok(OwnedFd::from(reader).into())
}

/// Reads the bytes that are there, or fails with `WouldBlock`, even if other processes read from the same pipe.
fn read_now(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::{Errno, ReadWriteFlags, preadv2};
        let mut buffers = [io::IoSliceMut::new(bytes)];
        match preadv2(file, &mut buffers, u64::MAX, ReadWriteFlags::NOWAIT) {
            // Terminals and old systems do not support this.
            Err(Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => {}
            outcome => return Ok(outcome?),
        }
    }
    read_if_ready(file, bytes)
}

/// Checks first whether there is something to read. Another reader of the same terminal may be quicker.
fn read_if_ready(mut file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    if readiness(file, PollFlags::IN).is_empty() {
        return Err(ErrorKind::WouldBlock.into());
    }
    file.read(bytes)
}

/// Those of `flags` that hold for `handle` now, and always the end and errors. Empty if the system cannot tell.
pub(super) fn readiness(handle: &impl AsFd, flags: PollFlags) -> PollFlags {
    let mut handles = [PollFd::new(handle, flags)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut handles, Some(&at_once)) {
        Ok(_) => handles[0].revents(),
        Err(_) => PollFlags::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::io::Write as _;
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    #[test]
    fn reading_never_waits() {
        for read in [read_now, read_if_ready] {
            let (reader, mut writer) = io::pipe().unwrap();
            let reader = File::from(OwnedFd::from(reader));
            let mut bytes = [0; 8];
            assert_eq!(read(&reader, &mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
            writer.write_all(b"hello").unwrap();
            assert_eq!(read(&reader, &mut bytes[..2]).unwrap(), 2);
            assert_eq!(read(&reader, &mut bytes[2..]).unwrap(), 3);
            assert_eq!(&bytes[..5], b"hello");
            drop(writer);
            assert_eq!(read(&reader, &mut bytes).unwrap(), 0);
        }
    }

    #[tokio::test]
    async fn what_is_closed_is_known_before_all_is_read() {
        let (reader, mut writer) = io::pipe().unwrap();
        let source = Source::new(&reader).unwrap();
        writer.write_all(b"left").unwrap();
        assert!(!source.is_closed());
        drop(writer);
        assert!(source.is_closed());
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_refused() {
        let (_reader, writer) = io::pipe().unwrap();
        let refused = Source::new(&writer).unwrap_err().to_string();
        assert_eq!(refused, "standard input is open for writing alone");
    }

    /// Reads once, and counts the polls.
    async fn read_counting(source: &mut Source, polls: &mut usize) -> usize {
        let mut bytes = [0; 8];
        let read = std::future::poll_fn(|context| {
            *polls += 1;
            source.read_ready(context, &mut bytes)
        });
        read.await.unwrap()
    }

    #[tokio::test]
    async fn a_named_pipe_whose_writers_change_is_waited_for_asleep() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let both = File::options().read(true).write(true).open(&path).unwrap();
        let reader = File::open(&path).unwrap();
        let mut source = Source::new(&reader).unwrap();
        // Without writers, the pipe reports that it is closed.
        drop(both);
        sleep(Duration::from_millis(5)).await;
        let mut second = File::options().write(true).open(&path).unwrap();
        let mut polls = 0;
        let waited = timeout(Duration::from_millis(20), read_counting(&mut source, &mut polls)).await;
        assert!(waited.is_err(), "there is nothing to read");
        assert!(polls < 5, "asked {polls} times");
        second.write_all(b"more").unwrap();
        assert_eq!(read_counting(&mut source, &mut polls).await, 4);
        drop(second);
        assert_eq!(read_counting(&mut source, &mut polls).await, 0);
    }
}
