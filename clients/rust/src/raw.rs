//! The bytes themselves: a child with pipes, blocking, every wait with a deadline.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::framing::{FrameReader, Framing, FramingError};

/// Bytes per read; pipes hold 64 KiB on Linux.
const READ_BYTES: usize = 64 << 10;
/// How often the end of the process is looked for; there is no portable way to wait for it with a deadline.
const EXIT_POLL: Duration = Duration::from_millis(2);

/// Why a raw exchange failed.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    /// The pipe or the process failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The output is no sequence of frames.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// Nothing happened before the deadline.
    #[error("{what}: nothing within {waited:?}")]
    TimedOut {
        /// What the caller waited for.
        what: &'static str,
        /// How long.
        waited: Duration,
    },
    /// The input was closed before.
    #[error("write to the server: its input is closed")]
    InputClosed,
}

/// A server whose bytes the caller writes and reads. Killed when dropped. One framing per server.
#[derive(Debug)]
pub struct RawServer {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    frames: FrameReader,
    framing: Framing,
    ended: bool,
    chunk: Vec<u8>,
}

impl RawServer {
    /// Starts `command` with piped input and output.
    ///
    /// # Errors
    /// [`RawError::Io`] if it cannot be started.
    pub fn spawn(mut command: Command, framing: Framing) -> Result<Self, RawError> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).expect("both were asked to be piped");
        // A write must be able to stop at its deadline, so it must not wait inside the kernel.
        fcntl_setfl(&input, fcntl_getfl(&input).map_err(io::Error::from)? | OFlags::NONBLOCK)
            .map_err(io::Error::from)?;
        let (frames, chunk) = (FrameReader::new(framing), vec![0; READ_BYTES]);
        Ok(Self { child, input: Some(input), output, frames, framing, ended: false, chunk })
    }

    /// Writes one message in the framing of this server.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn send(&mut self, message: &[u8], within: Duration) -> Result<(), RawError> {
        self.write(&self.framing.encode(message), within)
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    /// [`RawError::TimedOut`] if the server does not read them in time (some may be written then),
    /// [`RawError::Io`] with `BrokenPipe` if it has closed its input.
    pub fn write(&mut self, mut bytes: &[u8], within: Duration) -> Result<(), RawError> {
        let deadline = Deadline::new("write to the server", within);
        let input = self.input.as_mut().ok_or(RawError::InputClosed)?;
        while !bytes.is_empty() {
            match input.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    deadline.wait(PollFd::new(input, PollFlags::OUT))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The next message, as it came; `None` at the end of the output.
    ///
    /// # Errors
    /// [`RawError::TimedOut`], or [`RawError::Framing`] for output that is no frame.
    pub fn read_frame(&mut self, within: Duration) -> Result<Option<Vec<u8>>, RawError> {
        let deadline = Deadline::new("read from the server", within);
        loop {
            if let Some(frame) = self.frames.next_frame() {
                return Ok(Some(frame?));
            }
            if self.ended {
                self.frames.finish()?;
                return Ok(None);
            }
            self.read_chunk(&deadline)?;
        }
    }

    /// All messages up to the end of the output.
    ///
    /// # Errors
    /// As [`Self::read_frame`].
    pub fn read_to_end(&mut self, within: Duration) -> Result<Vec<Vec<u8>>, RawError> {
        let started = Instant::now();
        let mut frames = Vec::new();
        while let Some(frame) = self.read_frame(within.saturating_sub(started.elapsed()))? {
            frames.push(frame);
        }
        Ok(frames)
    }

    /// Closes the server's input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    /// [`RawError::TimedOut`] if it goes on.
    pub fn wait(&mut self, within: Duration) -> Result<ExitStatus, RawError> {
        let deadline = Deadline::new("wait for the server's end", within);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            deadline.left()?;
            sleep(EXIT_POLL);
        }
    }

    /// Kills the process, as a crash would.
    ///
    /// # Errors
    /// [`RawError::Io`] if the system refuses.
    pub fn kill(&mut self) -> Result<(), RawError> {
        Ok(self.child.kill()?)
    }

    /// Process id of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn read_chunk(&mut self, deadline: &Deadline) -> Result<(), RawError> {
        deadline.wait(PollFd::new(&self.output, PollFlags::IN))?;
        match self.output.read(&mut self.chunk) {
            Ok(0) => self.ended = true,
            Ok(count) => self.frames.push(&self.chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        // It may have ended already; there is nobody to tell.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

struct Deadline {
    what: &'static str,
    started: Instant,
    within: Duration,
}

impl Deadline {
    fn new(what: &'static str, within: Duration) -> Self {
        Self { what, started: Instant::now(), within }
    }

    fn left(&self) -> Result<Duration, RawError> {
        let left = self.within.checked_sub(self.started.elapsed());
        left.ok_or(RawError::TimedOut { what: self.what, waited: self.within })
    }

    /// Waits until the pipe is ready, closed or broken.
    fn wait(&self, pipe: PollFd<'_>) -> Result<(), RawError> {
        let left = Timespec::try_from(self.left()?).map_err(io::Error::other)?;
        match poll(&mut [pipe], Some(&left)) {
            Ok(0) => Err(RawError::TimedOut { what: self.what, waited: self.within }),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}
