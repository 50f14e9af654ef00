//! The lines of one session, wherever they lie.

use std::fmt;
use std::io;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use memchr::memchr_iter;

use crate::group_sync::SyncLog;

/// Bytes that a scan reads at once: few at first, as most logs are small.
const FIRST_READ_BYTES: usize = 1 << 14;
const READ_BYTES: usize = 1 << 20;

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
    /// Its bytes, without its LF.
    pub bytes: &'a [u8],
    /// Whether an LF follows; only the last line of a log can lack one.
    pub is_terminated: bool,
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

/// Writes what a line becomes, its LF included.
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
    /// until [`SessionLog::length`].
    fn scan(&self, offset: u64, visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>) -> io::Result<()>;

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

    /// Puts in the place of the whole log what `rewrite` writes for each of its lines, at once or
    /// not at all. The old log is kept under its name followed by `backup_suffix`, where logs have
    /// names. Fails with `ResourceBusy` if others changed the log since [`SessionLog::refresh`].
    ///
    /// Returns the old log if others added to it when it was too late to take that along.
    fn replace_all(&mut self, backup_suffix: &str, rewrite: &mut Rewrite<'_>) -> io::Result<Option<OldLog>>;

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

/// Visits the lines of `reader`, which starts at `offset`. Lines are handed out where they were
/// read, so that none is copied but those that lie across two reads.
pub(crate) fn scan_lines(
    mut reader: impl io::Read,
    mut offset: u64,
    visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; FIRST_READ_BYTES];
    let mut filled = 0;
    loop {
        let read = read_some(&mut reader, &mut buffer[filled..])?;
        let searched = filled;
        filled += read;
        let mut start = 0;
        for end in memchr_iter(b'\n', &buffer[searched..filled]).map(|at| searched + at) {
            let bytes = &buffer[start..end];
            if visit(line(offset + start as u64, bytes, true)).is_break() {
                return Ok(());
            }
            start = end + 1;
        }
        if read == 0 {
            if filled > 0 {
                let _ = visit(line(offset, &buffer[..filled], false));
            }
            return Ok(());
        }
        buffer.copy_within(start..filled, 0);
        offset += start as u64;
        filled -= start;
        if buffer.len() < READ_BYTES || filled * 2 > buffer.len() {
            buffer.resize(buffer.len() * 4, 0);
        }
    }
}

fn line(offset: u64, bytes: &[u8], is_terminated: bool) -> Line<'_> {
    Line { span: Span { offset, length: bytes.len() as u64 }, bytes, is_terminated }
}

fn read_some(reader: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Writes to `out` what `rewrite` makes of each line of `log`.
pub(crate) fn rewrite_lines(log: &dyn SessionLog, rewrite: &mut Rewrite<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut outcome = Ok(());
    log.scan(0, &mut |line| {
        outcome = rewrite(line, out);
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    outcome
}
