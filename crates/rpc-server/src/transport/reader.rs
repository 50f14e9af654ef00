//! The task that reads and parses the client's messages. It waits for standard input within the server's loop. A
//! reading thread would cost one more wake-up per message, which is most of the time of a short call.

use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, Read};
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::frame::Incoming;
use super::frame::{Frame, FrameReader, Framing};
use super::outbound::Outbound;
use crate::errors::RpcError;

/// Maximum number of messages that wait for the server's loop. Beyond that the pipe holds back the client.
const WAITING_MESSAGES: usize = 64;
/// Messages of at least this many bytes are parsed on a worker thread.
const LARGE_BYTES: usize = 256 * 1024;
/// Interval between checks whether the client has gone, while the loop is not reading.
const CLOSED_CHECK: Duration = Duration::from_secs(1);

/// What the reader sends to the loop.
#[derive(Debug)]
pub enum Input {
    /// A message, with its size in bytes.
    Message(Incoming, usize),
    /// The end of input. A read error ends the input as well.
    End,
}

/// Starts reading, in the runtime of the caller. The task ends with the input and then cancels `ended`.
pub fn read_messages(
    source: &impl AsFd,
    framing: Option<Framing>,
    max_message_bytes: usize,
    outbound: Outbound,
    ended: CancellationToken,
) -> std::io::Result<mpsc::Receiver<Input>> {
    let (sender, receiver) = mpsc::channel(WAITING_MESSAGES);
    if let Some(framing) = framing {
        outbound.set_framing(framing);
    }
    let mut frames = FrameReader::new(Source::new(source)?, framing, max_message_bytes);
    tokio::spawn(async move {
        let mut busy_wait = BusyWait::new();
        while let Some(input) = busy_wait.wait(next_input(&mut frames, &outbound, max_message_bytes)).await {
            match room(&sender, &frames, &ended).await {
                Some(room) => room.send(input),
                None => return,
            }
            // The message is served before the next one is read.
            if frames.is_drained() {
                tokio::task::yield_now().await;
            }
        }
        // The loop may be busy with earlier messages, and the end must not wait in the queue.
        ended.cancel();
        // The loop may have ended already.
        let _ = sender.send(Input::End).await;
    });
    Ok(receiver)
}

/// Waits until the loop takes a message. `None` if the loop has ended. Meanwhile, cancels `ended` if the client has
/// closed the input.
async fn room<'a>(
    sender: &'a mpsc::Sender<Input>,
    frames: &FrameReader<Source>,
    ended: &CancellationToken,
) -> Option<mpsc::Permit<'a, Input>> {
    if let Ok(room) = sender.try_reserve() {
        return Some(room);
    }
    let mut room = pin!(sender.reserve());
    loop {
        match timeout(CLOSED_CHECK, &mut room).await {
            Ok(room) => return room.ok(),
            Err(_) if frames.source().is_closed() => ended.cancel(),
            Err(_) => {}
        }
    }
}

async fn next_input<R: AsyncRead + Unpin>(
    frames: &mut FrameReader<R>,
    outbound: &Outbound,
    limit: usize,
) -> Option<Input> {
    let known_framing = frames.framing();
    let frame = match frames.next_frame().await {
        Ok(frame) => frame?,
        Err(error) => {
            tracing::warn!(%error, "reading standard input failed");
            return None;
        }
    };
    if let Some(framing) = frames.framing().filter(|_| known_framing.is_none()) {
        outbound.set_framing(framing);
    }
    Some(match frame {
        Frame::Message(bytes) => {
            let length = bytes.len();
            Input::Message(parsed(bytes).await?, length)
        }
        Frame::TooLarge { bytes, .. } => {
            Input::Message(Incoming::invalid(RpcError::MessageTooLarge { bytes, limit }), 0)
        }
        Frame::BadHeaders { line } => {
            let message = format!("no usable Content-Length: {line}");
            Input::Message(Incoming::invalid(RpcError::Parse { message }), 0)
        }
    })
}

/// Parses a message. `None` if the server has ended meanwhile. A long message is parsed on its own thread, because the
/// threads for calls may all be waiting for a message that cancels them.
async fn parsed(bytes: Vec<u8>) -> Option<Incoming> {
    if bytes.len() < LARGE_BYTES {
        return Some(Incoming::parse(&bytes));
    }
    let (sender, parsed) = oneshot::channel();
    let bytes = Arc::new(bytes);
    let large = Arc::clone(&bytes);
    // The receiver may be gone.
    let parse = move || drop(sender.send(Incoming::parse(&large)));
    match thread::Builder::new().name("parser".to_owned()).spawn(parse) {
        Ok(_) => parsed.await.ok(),
        Err(_) => Some(Incoming::parse(&bytes)),
    }
}

/// Maximum time that the loop polls for the next message, and maximum distance of two messages before that.
const QUICK: Duration = Duration::from_micros(100);

/// Polls for the next message of a client that sends one right after the other.
///
/// Sleeping and waking take longer than most calls: on virtual machines 20 µs and more on each side. So the loop polls
/// for a moment if the last messages came that quickly. A slow client costs nothing
/// (docs/decisions/0015-reading-in-the-loop.md).
#[derive(Debug)]
pub(super) struct BusyWait {
    /// When the last message came.
    last: Instant,
    is_quick: bool,
    /// Whether there is a processor for the client besides ours. Determined when it first matters.
    has_spare_processor: Option<bool>,
}

impl BusyWait {
    fn new() -> Self {
        Self { last: Instant::now(), is_quick: false, has_spare_processor: None }
    }

    /// Waits for a message, first by polling if the last ones came quickly. Other tasks continue.
    async fn wait<T>(&mut self, message: impl Future<Output = T>) -> T {
        let mut message = pin!(message);
        while self.is_awake() {
            let polled = poll_fn(|context| Poll::Ready(message.as_mut().poll(context))).await;
            if let Poll::Ready(message) = polled {
                return self.received(message);
            }
            tokio::task::yield_now().await;
        }
        let message = message.await;
        self.received(message)
    }

    fn is_awake(&mut self) -> bool {
        let is_soon = self.is_quick && self.last.elapsed() < QUICK;
        is_soon && *self.has_spare_processor.get_or_insert_with(has_spare_processor)
    }

    fn received<T>(&mut self, message: T) -> T {
        let now = Instant::now();
        self.is_quick = now.duration_since(self.last) < QUICK;
        self.last = now;
        message
    }
}

/// On a single processor the client cannot run while the loop polls.
fn has_spare_processor() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors > NonZero::<usize>::MIN)
}

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

/// Those of `flags` that apply to `handle` now, and always the end and errors. Empty if the system cannot say.
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
    use std::io::Write as _;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use tokio::time::sleep;

    fn awake() -> BusyWait {
        BusyWait { last: Instant::now(), is_quick: true, has_spare_processor: Some(true) }
    }

    async fn hand_over(busy_wait: &mut BusyWait) {
        let (sender, mut receiver) = mpsc::channel(1);
        let other = tokio::spawn(async move {
            for number in 0..1000 {
                sender.send(number).await.unwrap();
                if number % 10 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
        for number in 0..1000 {
            assert_eq!(busy_wait.wait(receiver.recv()).await, Some(number));
        }
        assert_eq!(busy_wait.wait(receiver.recv()).await, None);
        other.await.unwrap();
    }

    #[tokio::test]
    async fn messages_come_in_order_and_others_go_on() {
        hand_over(&mut awake()).await;
        hand_over(&mut BusyWait { has_spare_processor: Some(false), ..awake() }).await;
        hand_over(&mut BusyWait { is_quick: false, ..awake() }).await;
    }

    #[tokio::test]
    async fn a_slow_client_is_waited_for_asleep() {
        let mut busy_wait = awake();
        busy_wait.wait(tokio::time::sleep(QUICK * 20)).await;
        assert!(!busy_wait.is_awake());
        busy_wait.wait(async {}).await;
        // The speed depends on the machine. A wait without end must end polling as well.
        busy_wait.is_quick = true;
        while busy_wait.is_awake() {}
        assert!(busy_wait.is_quick);
    }

    #[tokio::test]
    async fn a_lone_processor_is_left_to_the_client() {
        let mut busy_wait = BusyWait { has_spare_processor: Some(false), ..awake() };
        assert!(!busy_wait.is_awake());
    }

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
