//! The lines of one session, wherever they lie: what a store of its own implements.

pub(crate) mod lines;

use std::cell::Cell;
use std::fmt;
use std::io::{self, Write};
use std::ops::ControlFlow;

use self::lines::{READ_BYTES, Source, scan_lines};
use crate::locator::Locator;

/// A place in a log, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Distance of the first byte from the start of the log.
    pub offset: u64,
    /// Number of bytes, without a line end.
    pub length: u64,
}

impl Span {
    /// The first byte behind the span.
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// A line that a scan came to.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Where it lies, without its LF.
    pub span: Span,
    /// Its bytes, without its LF; the first of them if it is cut.
    pub bytes: &'a [u8],
    /// Whether an LF follows; only the last line of a log can lack one.
    pub is_terminated: bool,
    /// Whether it is longer than the scan holds.
    pub is_cut: bool,
}

impl Line<'_> {
    /// The first byte behind the line and its LF.
    pub(crate) fn end(&self) -> u64 {
        self.span.end() + u64::from(self.is_terminated)
    }
}

/// What others did to a log since it was last looked at, from nothing to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogChange {
    /// Nothing.
    Unchanged,
    /// Bytes were added behind the ones that were known.
    Grown,
    /// What was known is no longer there: the log was cut, rewritten or replaced.
    Replaced,
}

/// Lines that are to be appended together.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// One line, or several parted by LF; the last one has none.
    pub lines: &'a str,
    /// Where the log ends as far as the writer has read it.
    pub expected_end: u64,
    /// Whether to wait until the lines outlive a crash.
    pub sync: bool,
}

/// Why a log was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// Another log has taken the place of this one; [`SessionLog::refresh`] goes on with that one.
    #[error("another log has taken its place")]
    Replaced,
    /// The log ends elsewhere than expected, as others changed it. Nothing was written.
    #[error("others have changed it meanwhile")]
    Moved,
    /// Another writer holds the lease now. The text says what is known of it.
    #[error("{0}")]
    LeaseLost(String),
    /// The connection broke, and it is not known whether the change took place.
    #[error(transparent)]
    Unconfirmed(io::Error),
    /// The change failed; the log is as it was.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Is called, on any thread and perhaps too often, when others may have changed a log.
pub type ChangeNotice = Box<dyn Fn() + Send + Sync>;

/// Waits until what was written to a log before the call is on the disk. It can be called beside
/// the log, while that is written to.
pub type SyncLog = Box<dyn FnMut() -> io::Result<()> + Send>;

/// Writes what a line becomes, its LF included. A line that is cut stays as it is, whatever is written.
pub type Rewrite<'a> = dyn FnMut(Line<'_>, &mut dyn Write) -> io::Result<()> + 'a;

/// A log that was replaced, for reading alone.
pub type OldLog = Box<dyn SessionLog>;

/// The lines of one session. Sessions know nothing else of where they are stored.
///
/// Reads take `&self`, so that they can run beside each other. Whoever opens a log for writing holds a
/// lease on it, which can be lost: a lock of a file system, or a right that a server lends for a while.
/// A log is seen as one text; where that lies, and in how many pieces, is its own affair. Errors that the
/// network or the file system knows are told as [`LogError`].
pub trait SessionLog: fmt::Debug + Send + Sync {
    /// What the store calls the session; `None` where it cannot be found again.
    fn locator(&self) -> Option<&Locator>;

    /// Whether looks and appends take microseconds, as they do on a local disk. Those of other logs are
    /// never made where others wait.
    fn is_quick(&self) -> bool {
        false
    }

    /// Number of bytes when the log was last looked at or written to.
    fn length(&self) -> u64;

    /// Visits the lines from `offset`, which must be the start of a line, until `visit` breaks or
    /// until [`SessionLog::length`]. Of a line with more than `hold` bytes only the first are read; `visit`
    /// may change how many that are from the next line on.
    ///
    /// Where a log has nothing better, ranges of up to a mebibyte are read one after the other.
    fn scan(
        &self,
        offset: u64,
        hold: &Cell<usize>,
        visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut ranges = Ranges { read: &|span| self.read(span), offset, end: self.length() };
        scan_lines(&mut ranges, &mut Vec::new(), offset, hold, &|| false, visit)
    }

    /// Whether some of the log was never written and takes no place on the disk.
    fn has_holes(&self) -> bool {
        false
    }

    /// Reads the bytes of `span`. Fails with `UnexpectedEof` if the log ends before it does.
    fn read(&self, span: Span) -> io::Result<Vec<u8>>;

    /// Compares the log that is open with what was known of it. One that cannot do so without taking note
    /// says that nothing changed.
    fn look(&self) -> io::Result<LogChange> {
        Ok(LogChange::Unchanged)
    }

    /// As [`SessionLog::look`], for the log that has the name now. Whoever waits for changes by others asks this.
    fn look_at_name(&self) -> io::Result<LogChange> {
        self.look()
    }

    /// Compares the log with what was known of it, and takes note of the change.
    fn refresh(&mut self) -> io::Result<LogChange>;

    /// As [`SessionLog::refresh`], but it may overlook that another log has taken the place of this one:
    /// for [`SessionLog::append`], which looks for that behind the write.
    fn refresh_to_append(&mut self) -> io::Result<LogChange> {
        self.refresh()
    }

    /// Asks to be told of changes that others make. Returns `false` where the log cannot tell; then it
    /// has to be asked by [`SessionLog::refresh`].
    fn notify_changes(&mut self, notice: ChangeNotice) -> bool {
        drop(notice);
        false
    }

    /// Appends the lines of `batch` and an LF with one write. A tail without an LF gets one first, in the
    /// same write. Returns where the lines lie.
    ///
    /// A log that ends elsewhere than the batch expects refuses it with [`LogError::Moved`] if it can. One
    /// that cannot, as a file in append mode, writes behind what others wrote, and the place tells.
    ///
    /// On an error nothing of the lines is left in the log, but for [`LogError::Unconfirmed`]. Fails with
    /// [`LogError::Replaced`] or [`LogError::LeaseLost`] where that is so.
    fn append(&mut self, batch: Batch<'_>) -> Result<Span, LogError>;

    /// Puts in the place of the whole log what `rewrite` writes for each of its lines of at most `hold`
    /// bytes, at once or not at all; longer lines stay as they are. The old log is kept under its name followed by `backup_suffix`, where logs have
    /// names. Fails with [`LogError::Moved`] if others changed the log since [`SessionLog::refresh`].
    ///
    /// Returns the old log if others added to it when it was too late to take that along.
    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError>;

    /// Waits until everything written is on the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// A way to wait for the disk beside the log. It serves the log that is open now: after
    /// [`LogChange::Replaced`] and [`SessionLog::replace_all`] a new one is needed.
    fn sync_beside(&self) -> io::Result<SyncLog>;

    /// Cuts off what lies from `length`, where a line must start, to `end`, where the log must
    /// end. Fails with [`LogError::Moved`] if it ends elsewhere.
    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError>;

    /// Gives up the lease; reading goes on.
    fn release(&mut self);
}

/// Reads ranges of a log one after the other.
struct Ranges<'a> {
    read: &'a dyn Fn(Span) -> io::Result<Vec<u8>>,
    offset: u64,
    end: u64,
}

impl Source for Ranges<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.end.saturating_sub(self.offset).min(buffer.len() as u64);
        let bytes = if length > 0 { (self.read)(Span { offset: self.offset, length })? } else { Vec::new() };
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }
}

/// Writes to `out` what `rewrite` makes of each line of `log` that has at most `hold` bytes, and the others
/// as they are: what a log does for [`SessionLog::replace_all`].
pub fn rewrite_lines(
    log: &dyn SessionLog,
    hold: usize,
    rewrite: &mut Rewrite<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut outcome = Ok(());
    log.scan(0, &Cell::new(hold), &mut |line| {
        outcome = match line.is_cut {
            // It is told of the line all the same, since it may count them.
            true => rewrite(line, &mut io::sink()).and_then(|()| copy_line(log, line, out)),
            false => rewrite(line, out),
        };
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    outcome
}

/// Copies a line in pieces, and ends it.
fn copy_line(log: &dyn SessionLog, line: Line<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut offset = line.span.offset;
    while offset < line.span.end() {
        let length = (line.span.end() - offset).min(READ_BYTES as u64);
        out.write_all(&log.read(Span { offset, length })?)?;
        offset += length;
    }
    out.write_all(b"\n")
}
