//! The lines of one session, wherever they lie.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use crate::group_sync::SyncLog;
use crate::lines::READ_BYTES;

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

/// Writes what a line becomes, its LF included. A line that is cut stays as it is, whatever is written.
pub type Rewrite<'a> = dyn FnMut(Line<'_>, &mut dyn Write) -> io::Result<()> + 'a;

/// A log that was replaced, for reading alone.
pub type OldLog = Box<dyn SessionLog>;

/// The lines of one session. Sessions know nothing else of where they are stored.
///
/// Reads take `&self`, so that they can run beside each other.
pub trait SessionLog: fmt::Debug + Send + Sync {
    /// The file, where there is one.
    fn path(&self) -> Option<&Path>;

    /// Number of bytes when the log was last looked at or written to.
    fn length(&self) -> u64;

    /// Visits the lines from `offset`, which must be the start of a line, until `visit` breaks or
    /// until [`SessionLog::length`]. Of a line with more than `hold` bytes only the first are read; `visit`
    /// may change how many that are from the next line on.
    fn scan(
        &self,
        offset: u64,
        hold: &Cell<usize>,
        visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()>;

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

    /// Compares the log with what was known of it, and takes note of the change.
    fn refresh(&mut self) -> io::Result<LogChange>;

    /// As [`SessionLog::refresh`], but it may overlook that another log has taken the place of this one:
    /// for [`SessionLog::append`], which looks for that behind the write.
    fn refresh_to_append(&mut self) -> io::Result<LogChange> {
        self.refresh()
    }

    /// Appends `line` and its LF with one write, then waits for the disk if `sync`. It may hold several
    /// lines, parted by LF. A tail without an LF gets one first, in the same write. Returns where the
    /// line lies, or all of them.
    ///
    /// On an error nothing of the line, or of any of them, is left in the log. Fails with
    /// `StaleNetworkFileHandle` if another log has taken the place of this one; [`SessionLog::refresh`]
    /// goes on with that one.
    fn append(&mut self, line: &str, sync: bool) -> io::Result<Span>;

    /// Puts in the place of the whole log what `rewrite` writes for each of its lines of at most `hold`
    /// bytes, at once or not at all; longer lines stay as they are. The old log is kept under its name followed by `backup_suffix`, where logs have
    /// names. Fails with `ResourceBusy` if others changed the log since [`SessionLog::refresh`].
    ///
    /// Returns the old log if others added to it when it was too late to take that along.
    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> io::Result<Option<OldLog>>;

    /// Waits until everything written is on the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// A way to wait for the disk beside the log. It serves the log that is open now: after
    /// [`LogChange::Replaced`] and [`SessionLog::replace_all`] a new one is needed.
    fn sync_beside(&self) -> io::Result<SyncLog>;

    /// Cuts off what lies from `length`, where a line must start, to `end`, where the log must
    /// end. Fails with `ResourceBusy` if it ends elsewhere.
    fn cut(&mut self, end: u64, length: u64) -> io::Result<()>;

    /// Gives up the right to write; reading goes on.
    fn release(&mut self);
}

/// Writes to `out` what `rewrite` makes of each line of `log` that has at most `hold` bytes, and the others
/// as they are.
pub(crate) fn rewrite_lines(
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
