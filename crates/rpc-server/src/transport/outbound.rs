//! The queue of messages to the client, and the thread that writes them.
//!
//! Queueing never waits, so that replies and notifications keep their order even when they come out of a locked
//! section. The queue stays bounded because no new work starts while it is full: calls wait at [`Outbound::ready`].

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use memchr::memchr;
use rustix::event::PollFlags;
use rustix::pipe::PIPE_BUF;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::frame::Framing;
use super::reader::readiness;

/// Number of queued bytes above which no new work starts.
const FULL_BYTES: usize = 8 * 1024 * 1024;
/// Number of bytes that are gathered into one write.
const GATHER_BYTES: usize = 64 * 1024;

/// The sending end. Clones share one queue.
#[derive(Debug, Clone)]
pub struct Outbound {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Something was put into the queue, or it was closed.
    filled: Condvar,
    /// Something was written.
    drained: Notify,
    /// The queue is empty and everything is written.
    idle: Condvar,
    /// Cancelled when writing has failed.
    broken: CancellationToken,
    /// The handle for writing short frames directly.
    direct: Option<Direct>,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<String>,
    /// The rest of a frame that was partly written.
    unsent: Vec<u8>,
    /// Number of guards of [`Outbound::cork`].
    corks: usize,
    bytes: usize,
    framing: Option<Framing>,
    is_writing: bool,
    is_closed: bool,
    is_broken: bool,
    /// Number of bytes of replies that wait for the rest of their batch.
    held: usize,
}

/// Maximum number of bytes of replies that wait for their batches. A batch is sent when it is complete, so waiting
/// would not reduce them: further calls are refused.
const MAX_HELD_BYTES: usize = 32 * 1024 * 1024;

impl Outbound {
    /// Starts the writing thread over `sink`, which must write everything when it is flushed.
    pub fn spawn(sink: impl Write + AsFd + Send + 'static) -> std::io::Result<Self> {
        let shared = Shared { direct: Some(Direct::new(&sink)?), ..Shared::default() };
        let outbound = Self { shared: Arc::new(shared) };
        let shared = Arc::clone(&outbound.shared);
        let write = move || write_frames(&shared, sink);
        std::thread::Builder::new().name("writer".to_owned()).spawn(write)?;
        Ok(outbound)
    }

    /// Sets the framing of replies to that of the requests.
    pub fn set_framing(&self, framing: Framing) {
        self.lock().framing = Some(framing);
    }

    /// Queues one JSON text. It is dropped if the client has closed its end.
    pub fn push(&self, json: String) {
        let mut queue = self.lock();
        if queue.is_broken || queue.is_closed {
            return;
        }
        queue.bytes += json.len();
        queue.frames.push_back(json);
        self.shared.send(queue);
    }

    /// Holds back queued messages while the guard lives, and then until the next push or [`Outbound::flush`], so that a
    /// notification and the reply after it go out in one write.
    pub fn cork(&self) -> Cork<'_> {
        self.lock().corks += 1;
        Cork(self)
    }

    /// Sends what a cork held back.
    pub fn flush(&self) {
        self.shared.send(self.lock());
    }

    /// Counts a reply that waits for the rest of its batch.
    pub fn hold(&self, bytes: usize) {
        self.lock().held += bytes;
    }

    /// Queues the replies of a batch. `held` is the number of bytes that were counted for it.
    pub fn push_held(&self, json: String, held: usize) {
        self.lock().held -= held;
        self.push(json);
    }

    /// Whether further replies of batches may be made.
    pub fn may_hold(&self) -> bool {
        self.lock().held < MAX_HELD_BYTES
    }

    /// Whether new work may start.
    pub fn has_room(&self) -> bool {
        self.lock().bytes < FULL_BYTES
    }

    /// Waits until the client has read enough that new work may start.
    pub async fn ready(&self) {
        loop {
            let drained = self.shared.drained.notified();
            if self.lock().bytes < FULL_BYTES {
                return;
            }
            drained.await;
        }
    }

    /// Waits until the client has closed its end.
    pub async fn broken(&self) {
        self.shared.broken.cancelled().await;
    }

    /// Writes the queued messages within `limit`, and stops the thread.
    pub fn close(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        self.flush();
        let mut queue = self.lock();
        while !queue.is_broken && (queue.is_writing || !queue.is_empty()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.idle.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.is_closed = true;
        drop(queue);
        self.shared.filled.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.shared.queue)
    }
}

/// Stops the writing thread when it is dropped. If the server runs inside another process, its output would otherwise
/// stay open after a failure, and the client would wait for replies.
#[derive(Debug)]
pub struct Closing(pub Outbound);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close(Duration::ZERO);
    }
}

/// Holds back queued messages, see [`Outbound::cork`].
#[derive(Debug)]
pub struct Cork<'a>(&'a Outbound);

impl Drop for Cork<'_> {
    fn drop(&mut self) {
        self.0.lock().corks -= 1;
    }
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.unsent.is_empty()
    }
}

impl Shared {
    /// Writes the queue directly if it is short and the client has room, otherwise wakes the writing thread.
    fn send(&self, mut queue: MutexGuard<'_, Queue>) {
        if queue.is_empty() || queue.is_writing || queue.corks > 0 || self.write_directly(&mut queue) {
            return;
        }
        drop(queue);
        self.filled.notify_one();
    }

    /// Returns whether everything in the queue was written. The writing thread handles errors.
    fn write_directly(&self, queue: &mut Queue) -> bool {
        let is_short = queue.unsent.is_empty() && queue.bytes < DIRECT_BYTES;
        let Some(direct) = self.direct.as_ref().filter(|_| is_short) else {
            return false;
        };
        let (mut buffer, framing) = (Vec::new(), queue.framing.unwrap_or(Framing::Lines));
        queue.frames.iter().for_each(|frame| write_frame(framing, frame, &mut buffer));
        let Ok(written @ 1..) = direct.write(&buffer) else {
            return false;
        };
        queue.frames.clear();
        queue.unsent = buffer.split_off(written);
        queue.bytes = queue.unsent.len();
        queue.unsent.is_empty()
    }
}

/// Code that holds the lock cannot panic halfway through a change, so a poisoned queue is consistent.
fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_frames(shared: &Shared, mut sink: impl Write) {
    let mut buffer = Vec::with_capacity(GATHER_BYTES);
    while let Some(Gathered { bytes: written, long }) = gather(shared, &mut buffer) {
        if let Some(direct) = shared.direct.as_ref().filter(|_| long.is_some() || buffer.len() > GATHER_BYTES) {
            direct.widen();
        }
        let outcome = sink.write_all(&buffer).and_then(|()| sink.write_all(long.as_deref().unwrap_or_default()));
        let outcome = outcome.and_then(|()| sink.flush());
        drop(long);
        let mut queue = lock(&shared.queue);
        queue.is_writing = false;
        queue.bytes -= written;
        if let Err(error) = outcome {
            tracing::warn!(%error, "writing standard output failed; replies are dropped from here on");
            queue.is_broken = true;
            queue.bytes = 0;
            queue.frames.clear();
            queue.unsent.clear();
            shared.broken.cancel();
        }
        if queue.is_empty() {
            shared.idle.notify_all();
        }
        drop(queue);
        shared.drained.notify_waiters();
        if buffer.capacity() > 2 * GATHER_BYTES {
            buffer = Vec::with_capacity(GATHER_BYTES);
        }
    }
}

/// The frames that are written at once besides the buffer.
struct Gathered {
    /// The size in the queue of all that is written.
    bytes: usize,
    /// A long frame that follows the buffer. It is not copied.
    long: Option<Vec<u8>>,
}

/// Waits for frames and moves those that fit one write into `buffer`.
fn gather(shared: &Shared, buffer: &mut Vec<u8>) -> Option<Gathered> {
    let mut queue = lock(&shared.queue);
    while queue.is_empty() || queue.corks > 0 {
        if queue.is_closed || queue.is_broken {
            return None;
        }
        queue = shared.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    buffer.clear();
    buffer.append(&mut queue.unsent);
    let mut written = buffer.len();
    let framing = queue.framing.unwrap_or(Framing::Lines);
    let mut long = None;
    while buffer.len() < GATHER_BYTES
        && long.is_none()
        && let Some(frame) = queue.frames.pop_front()
    {
        written += frame.len();
        if frame.len() > GATHER_BYTES {
            long = Some(long_frame(framing, frame, buffer));
        } else {
            write_frame(framing, &frame, buffer);
        }
    }
    queue.is_writing = true;
    Some(Gathered { bytes: written, long })
}

/// Editors expect exactly this header. Some search only the first bytes.
fn write_frame(framing: Framing, json: &str, buffer: &mut Vec<u8>) {
    match framing {
        Framing::Lines => {
            let start = buffer.len();
            buffer.extend_from_slice(json.as_bytes());
            end_line(buffer, start);
        }
        Framing::Headers => {
            write_header(json, buffer);
            buffer.extend_from_slice(json.as_bytes());
        }
    }
}

fn write_header(json: &str, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(format!("Content-Length: {}\r\n\r\n", json.len()).as_bytes());
}

/// The bytes of a long frame without a copy. A header before it goes into `buffer`.
fn long_frame(framing: Framing, json: String, buffer: &mut Vec<u8>) -> Vec<u8> {
    match framing {
        Framing::Lines => {
            let mut line = json.into_bytes();
            end_line(&mut line, 0);
            line
        }
        Framing::Headers => {
            write_header(&json, buffer);
            json.into_bytes()
        }
    }
}

/// Turns the bytes from `start` into one line. A client's own JSON may contain line breaks between tokens; strings
/// contain only escaped ones, so a space is equivalent.
fn end_line(buffer: &mut Vec<u8>, start: usize) {
    let mut rest = &mut buffer[start..];
    while let Some(at) = memchr(b'\n', rest) {
        rest[at] = b' ';
        rest = &mut rest[at + 1..];
    }
    buffer.push(b'\n');
}

/// Number of bytes that a ready pipe takes completely or not at all, without waiting.
const DIRECT_BYTES: usize = PIPE_BUF;
/// Size that a pipe is given when much is to be written. Some systems allow less.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// A second handle of the sink, for short writes without the thread: waking it costs more than the write.
#[derive(Debug)]
struct Direct {
    file: File,
}

impl Direct {
    /// Duplicates the handle of `sink`.
    fn new(sink: &impl AsFd) -> io::Result<Self> {
        Ok(Self { file: sink.as_fd().try_clone_to_owned()?.into() })
    }

    /// Writes as much as possible of at most [`DIRECT_BYTES`] without waiting. Returns the number of bytes.
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > DIRECT_BYTES {
            return Ok(0);
        }
        match self.write_now(bytes) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            outcome => outcome,
        }
    }

    /// Writes as much as there is room for, or fails with `WouldBlock`.
    fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        {
            use rustix::io::{Errno, ReadWriteFlags, pwritev2};
            match pwritev2(&self.file, &[io::IoSlice::new(bytes)], u64::MAX, ReadWriteFlags::NOWAIT) {
                // Terminals and old systems do not support this.
                Err(Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => {}
                outcome => return Ok(outcome?),
            }
        }
        if self.is_ready() { (&self.file).write(bytes) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    /// Enlarges the pipe, so that a large reply does not go through it in small pieces.
    fn widen(&self) {
        // Only pipes have such a size, and a system may refuse. macOS enlarges pipes by itself.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&self.file, PIPE_BYTES);
    }

    fn is_ready(&self) -> bool {
        readiness(&self.file, PollFlags::OUT) == PollFlags::OUT
    }
}
