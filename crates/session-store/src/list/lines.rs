//! Lines of many files, read through one buffer.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};

use crate::file_log::reading::ReadFrom;
use crate::lines::scan_lines;
use crate::log::Line;

/// Bytes that are read at once at least.
pub(crate) const READ_BYTES: usize = 1 << 18;

/// Bytes of the buffer that are kept for the next file.
const KEPT_BYTES: usize = 1 << 20;

/// How files are read.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Bytes of a line that are held at most.
    pub(crate) max_line: usize,
    /// Whether nobody waits for the outcome any more.
    pub(crate) is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// Reads lines through one buffer, for one file after the other.
pub(crate) struct LineReader<'a> {
    pub(crate) limits: Limits<'a>,
    buffer: Vec<u8>,
}

impl<'a> LineReader<'a> {
    pub(crate) fn new(limits: Limits<'a>) -> Self {
        Self { limits, buffer: Vec::new() }
    }

    /// Visits the lines of `range`, whose start must be the start of a line, until its end, the end
    /// of the file, or until `visit` breaks. Of a line with more than `hold` bytes only the first are
    /// handed out. Fails with `Interrupted` when the work is cancelled.
    pub(crate) fn visit(
        &mut self,
        file: &File,
        range: Range<u64>,
        hold: &Cell<usize>,
        mut visit: impl FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.buffer.resize(self.buffer.len().max(READ_BYTES), 0);
        let mut source = ReadFrom { file, offset: range.start, end: range.end };
        let outcome =
            scan_lines(&mut source, &mut self.buffer, range.start, hold, self.limits.is_cancelled, &mut visit);
        self.buffer.truncate(KEPT_BYTES);
        self.buffer.shrink_to(KEPT_BYTES);
        if (self.limits.is_cancelled)() { Err(io::ErrorKind::Interrupted.into()) } else { outcome }
    }
}
