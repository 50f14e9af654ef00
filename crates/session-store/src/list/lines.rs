//! Lines of a file, read in pieces of bounded size.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::{ControlFlow, Range};

use memchr::memchr;

/// Bytes that are read at once; a line that is longer is held as a whole while it is looked at.
pub(crate) const READ_BYTES: usize = 1 << 18;

/// Bytes of the buffer that are kept for the next file.
const KEPT_BYTES: usize = 1 << 20;

/// A line with its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLine<'a> {
    /// Its bytes, without its LF.
    pub(crate) bytes: &'a [u8],
    /// The offset behind it and its LF.
    pub(crate) end: u64,
    /// Whether an LF follows.
    pub(crate) is_terminated: bool,
}

/// Reads lines through one buffer, for one file after the other.
#[derive(Debug, Default)]
pub(crate) struct LineReader {
    buffer: Vec<u8>,
}

impl LineReader {
    /// Visits the lines of `range`, whose start must be the start of a line, until its end, the end
    /// of the file, or until `visit` breaks. Before each read `visit_read` may break as well.
    pub(crate) fn visit(
        &mut self,
        mut file: &File,
        range: Range<u64>,
        is_cancelled: &dyn Fn() -> bool,
        mut visit: impl FnMut(FileLine<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        file.seek(SeekFrom::Start(range.start))?;
        let mut input = file.take(range.end.saturating_sub(range.start));
        let (mut held, mut offset) = (0, range.start);
        while !is_cancelled() {
            let searched = held;
            held += self.fill(&mut input, held)?;
            if held == searched {
                self.visit_rest(held, offset, &mut visit);
                break;
            }
            let (taken, flow) = visit_lines(&self.buffer[..held], searched, offset, &mut visit);
            if flow.is_break() {
                break;
            }
            self.buffer.copy_within(taken..held, 0);
            held -= taken;
            offset += taken as u64;
        }
        self.buffer.truncate(KEPT_BYTES);
        self.buffer.shrink_to(KEPT_BYTES);
        Ok(())
    }

    /// Reads behind the `held` bytes of the buffer, which grows for a line that it cannot hold.
    fn fill(&mut self, input: &mut impl Read, held: usize) -> io::Result<usize> {
        if self.buffer.len() < held + READ_BYTES / 2 {
            self.buffer.resize(READ_BYTES.max(held * 2), 0);
        }
        loop {
            match input.read(&mut self.buffer[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    fn visit_rest(&self, held: usize, offset: u64, visit: &mut impl FnMut(FileLine<'_>) -> ControlFlow<()>) {
        if held > 0 {
            let line = FileLine { bytes: &self.buffer[..held], end: offset + held as u64, is_terminated: false };
            // It is the last line, so that there is nothing to break off.
            let _ = visit(line);
        }
    }
}

/// Visits the whole lines of `bytes`, whose first `searched` bytes hold no LF, and returns how many
/// bytes they take.
fn visit_lines(
    bytes: &[u8],
    searched: usize,
    offset: u64,
    visit: &mut impl FnMut(FileLine<'_>) -> ControlFlow<()>,
) -> (usize, ControlFlow<()>) {
    let (mut start, mut from) = (0, searched);
    while let Some(distance) = memchr(b'\n', &bytes[from..]) {
        let end = from + distance;
        let line = FileLine { bytes: &bytes[start..end], end: offset + end as u64 + 1, is_terminated: true };
        (start, from) = (end + 1, end + 1);
        if visit(line).is_break() {
            return (start, ControlFlow::Break(()));
        }
    }
    (start, ControlFlow::Continue(()))
}
