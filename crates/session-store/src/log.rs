//! The lines of one session, wherever they are stored: the interface that a store implements.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use memchr::{memchr, memchr_iter};

/// A range of bytes in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Distance of the first byte from the start of the log.
    pub offset: u64,
    /// Number of bytes, without a line end.
    pub length: u64,
}

impl Span {
    /// The offset after the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// A line that a scan visits.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Its range, without its LF.
    pub span: Span,
    /// Its bytes without its LF; only the first ones if the line is cut.
    pub bytes: &'a [u8],
    /// Whether an LF follows. Only the last line of a log can lack one.
    pub is_terminated: bool,
    /// Whether the line is longer than the scan keeps, so that `bytes` is incomplete.
    pub is_cut: bool,
}

impl Line<'_> {
    /// The offset after the line and its LF.
    pub(crate) fn end(&self) -> u64 {
        self.span.end() + u64::from(self.is_terminated)
    }
}

/// What other writers did to a log since the last check, from harmless to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogChange {
    /// Nothing.
    Unchanged,
    /// Bytes were added after the known ones.
    Grown,
    /// The known bytes are gone: the log was cut, rewritten or replaced.
    Replaced,
}

/// Lines to append with one write.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// One line, or several separated by LF. The last line has no LF.
    pub lines: &'a str,
    /// The end of the log as far as the writer has read it.
    pub expected_end: u64,
    /// Whether to wait until the lines survive a crash.
    pub sync: bool,
}

/// Why a log was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// Another log replaced this one. [`SessionLog::refresh`] continues with the new one.
    #[error("another log has taken its place")]
    Replaced,
    /// The log does not end where the writer expected, because others changed it. Nothing was written.
    #[error("others have changed it meanwhile")]
    Moved,
    /// Another writer holds the lease now. The text describes that writer as far as it is known.
    #[error("{0}")]
    LeaseLost(String),
    /// The connection broke, and it is not known whether the change took place.
    #[error(transparent)]
    Unconfirmed(io::Error),
    /// The change failed and the log is unchanged.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A callback for possible changes by others. It may run on any thread, and more often than there are changes.
pub type ChangeNotice = Box<dyn Fn() + Send + Sync>;

/// A function that waits until everything written to a log before the call is on the disk. It can be called while the
/// log is written to.
pub type SyncLog = Box<dyn FnMut() -> io::Result<()> + Send>;

/// Writes the replacement of a line, including its LF. A line that is cut is copied unchanged, whatever this function
/// writes.
pub type Rewrite<'a> = dyn FnMut(Line<'_>, &mut dyn Write) -> io::Result<()> + 'a;

/// A log that was replaced, read-only.
pub type OldLog = Box<dyn SessionLog>;

/// The lines of one session. A session knows nothing else about its storage.
///
/// Reads take `&self` and can run concurrently. A log that is open for writing holds a lease, which can be lost: a
/// lock of a file system, or a right that a server grants for a while. Callers see a log as one sequence of
/// bytes. Where the bytes are stored, and in how many pieces, is up to the implementation. Errors of a network or a file system are reported as
/// [`LogError`].
pub trait SessionLog: fmt::Debug + Send + Sync {
    /// The name of the session in its store; `None` if it cannot be found again.
    fn locator(&self) -> Option<&Locator>;

    /// Whether looks and appends take microseconds, as on a local disk. Slower logs are never used on a thread that
    /// serves other sessions.
    fn is_quick(&self) -> bool {
        false
    }

    /// Number of bytes at the last look or write.
    fn length(&self) -> u64;

    /// Visits the lines from `offset`, which must be the start of a line, until `visit` breaks or until
    /// [`SessionLog::length`]. Of a line with more than `hold` bytes, only the first bytes are read. `visit` may
    /// change `hold` for the lines that follow.
    ///
    /// The default implementation reads ranges of up to one mebibyte, one after the other.
    fn scan(
        &self,
        offset: u64,
        hold: &Cell<usize>,
        visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut ranges = Ranges { read: &|span| self.read(span), offset, end: self.length() };
        scan_lines(&mut ranges, &mut Vec::new(), offset, hold, &|| false, visit)
    }

    /// Whether parts of the log were never written and take no space on the disk.
    fn has_holes(&self) -> bool {
        false
    }

    /// Reads the bytes of `span`. Fails with `UnexpectedEof` if the log is shorter.
    fn read(&self, span: Span) -> io::Result<Vec<u8>>;

    /// Compares the open log with its known state and records nothing. An implementation that cannot do so returns
    /// [`LogChange::Unchanged`].
    fn look(&self) -> io::Result<LogChange> {
        Ok(LogChange::Unchanged)
    }

    /// As [`SessionLog::look`], for the log that has the name of the session now: another log may have replaced the open
    /// one. A session that waits for changes by others calls this.
    fn look_at_name(&self) -> io::Result<LogChange> {
        self.look()
    }

    /// Compares the log with its known state, and records the change.
    fn refresh(&mut self) -> io::Result<LogChange>;

    /// As [`SessionLog::refresh`], but it may miss that another log replaced this one. [`SessionLog::append`] checks
    /// that after its write.
    fn refresh_to_append(&mut self) -> io::Result<LogChange> {
        self.refresh()
    }

    /// Requests a call of `notice` when others change the log. Returns `false` if the log cannot tell; then callers
    /// must use [`SessionLog::refresh`].
    fn notify_changes(&mut self, notice: ChangeNotice) -> bool {
        drop(notice);
        false
    }

    /// Appends the lines of `batch` and an LF with one write. If the log does not end with an LF, the same write adds
    /// one first. Returns the range of the lines.
    ///
    /// A log that does not end where the batch expects refuses it with [`LogError::Moved`] if it can. A log that
    /// cannot, such as a file in append mode, writes after the lines of others, and the returned range shows it.
    ///
    /// After an error, none of the lines is left in the log, except after [`LogError::Unconfirmed`]. Fails with
    /// [`LogError::Replaced`] or [`LogError::LeaseLost`] in these cases.
    fn append(&mut self, batch: Batch<'_>) -> Result<Span, LogError>;

    /// Replaces the whole log, at once or not at all. `rewrite` writes the replacement of each line of at most `hold`
    /// bytes; longer lines are copied. The old log is kept under its name plus `backup_suffix`, if logs have names.
    /// Fails with [`LogError::Moved`] if others changed the log since [`SessionLog::refresh`].
    ///
    /// Returns the old log if others added lines to it too late to be included.
    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError>;

    /// Waits until everything written is on the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Returns a function that waits for the disk while the log is in use. It serves the log that is open now. After
    /// [`LogChange::Replaced`] and [`SessionLog::replace_all`] a new one is needed.
    fn sync_beside(&self) -> io::Result<SyncLog>;

    /// Removes the bytes from `length`, which must be the start of a line, to `end`, which must be the end of the
    /// log. Fails with [`LogError::Moved`] if the log ends elsewhere.
    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError>;

    /// Gives up the lease. Reading still works.
    fn release(&mut self);
}

/// Reads a log range by range.
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

/// Writes the replacement of each line of `log` to `out`, and copies lines of more than `hold` bytes: the work of
/// [`SessionLog::replace_all`].
pub fn rewrite_lines(
    log: &dyn SessionLog,
    hold: usize,
    rewrite: &mut Rewrite<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut outcome = Ok(());
    log.scan(0, &Cell::new(hold), &mut |line| {
        outcome = match line.is_cut {
            // The line is visited anyway, because `rewrite` may count lines.
            true => rewrite(line, &mut io::sink()).and_then(|()| copy_line(log, line, out)),
            false => rewrite(line, out),
        };
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    outcome
}

/// Copies a line in pieces, and writes its LF.
fn copy_line(log: &dyn SessionLog, line: Line<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut offset = line.span.offset;
    while offset < line.span.end() {
        let length = (line.span.end() - offset).min(READ_BYTES as u64);
        out.write_all(&log.read(Span { offset, length })?)?;
        offset += length;
    }
    out.write_all(b"\n")
}

/// Bytes of one read of a long line, or of many entries.
pub(crate) const READ_BYTES: usize = 1 << 20;

/// Bytes of a block of memory that is made quickly. The allocator of the usual C library gives a larger one pages of its
/// own, and making pages takes longer than reading into them.
const BLOCK_BYTES: usize = 120 << 10;

/// Maximum bytes of lines whose entries fit into one block. An entry takes about a third more than its line.
pub(crate) const LINES_BYTES: usize = BLOCK_BYTES / 3 * 2;

/// Makes room for the entries of lines with `bytes` bytes. On threads that are not the first, the allocator of the usual C
/// library asks the system for every page that is used the first time, and keeps a block that was used before.
pub(crate) fn make_room(bytes: usize) {
    let mut room = Vec::<u8>::new();
    // Without memory, whoever needs it fails.
    let _ = room.try_reserve_exact(bytes.min(LINES_BYTES) / 2 * 3);
    drop(std::hint::black_box(room));
}

/// Bytes per read of a scan: few at first, because most logs are small, and later so many that they stay in the cache
/// of a core while their lines are read.
const FIRST_SCAN_BYTES: usize = 1 << 14;
const SCAN_BYTES: usize = 1 << 18;

/// Bytes of a cut line that are passed on: enough for the header of an entry.
pub(crate) const CUT_BYTES: usize = 1 << 16;

/// Size above which a buffer needs [`LARGE`], so that only one such buffer exists at a time.
const LARGE_BYTES: usize = 1 << 24;
static LARGE: Mutex<()> = Mutex::new(());

/// A sequence of bytes.
pub(crate) trait Source {
    /// Reads some bytes; none at the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Skips bytes that are known to contain no line end, and returns their number.
    fn pass_hole(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

impl Source for &[u8] {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(self, buffer)
    }
}

/// Visits the lines of `source`, which starts at `offset`, until `visit` breaks or the scan `is_cancelled`. That is
/// checked before each read. Lines are passed on in the buffer, so only lines across two reads are copied. Of a line
/// with more than `hold` bytes only the first bytes are passed on; the rest is skipped.
pub(crate) fn scan_lines(
    source: &mut dyn Source,
    buffer: &mut Vec<u8>,
    mut offset: u64,
    hold: &Cell<usize>,
    is_cancelled: &dyn Fn() -> bool,
    visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    lengthen(buffer, FIRST_SCAN_BYTES);
    let (mut filled, mut searched, mut large) = (0, 0, None);
    loop {
        let mut start = 0;
        for end in memchr_iter(b'\n', &buffer[searched..filled]).map(|at| searched + at) {
            if visit(line(offset + start as u64, &buffer[start..end], true, hold)).is_break() {
                return Ok(());
            }
            start = end + 1;
        }
        buffer.copy_within(start..filled, 0);
        offset += start as u64;
        filled -= start;
        searched = filled;
        if filled > hold.get().max(CUT_BYTES) {
            shrink(buffer, &mut large);
            match pass_line(source, buffer, filled, offset, is_cancelled, visit)? {
                Some(passed) => (offset, filled, searched) = (offset + passed.bytes, passed.filled, 0),
                None => return Ok(()),
            }
            continue;
        }
        if buffer.len() < SCAN_BYTES || filled * 2 > buffer.len() {
            grow(buffer, hold.get(), &mut large);
        } else if large.is_some() && filled <= SCAN_BYTES / 2 {
            shrink(buffer, &mut large);
        }
        if is_cancelled() {
            return Ok(());
        }
        let read = read_some(source, &mut buffer[filled..])?;
        if read == 0 {
            if filled > 0 {
                let _ = visit(line(offset, &buffer[..filled], false, hold));
            }
            return Ok(());
        }
        filled += read;
    }
}

/// Enlarges the buffer for more of a line of at most `hold` bytes.
fn grow(buffer: &mut Vec<u8>, hold: usize, large: &mut Option<MutexGuard<'_, ()>>) {
    let length = buffer.len() * if buffer.len() < SCAN_BYTES { 4 } else { 2 };
    let length = length.min(hold.saturating_add(1).max(SCAN_BYTES));
    if length > LARGE_BYTES && large.is_none() {
        *large = Some(LARGE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    if length <= SCAN_BYTES { lengthen(buffer, length) } else { buffer.resize(length, 0) }
}

/// Makes a small buffer as long as this, unless it is longer. Memory that is new is zero already. Without optimisation,
/// writing the zeros takes longer than all else that is done with a short file.
pub(crate) fn lengthen(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        let mut longer = vec![0; length];
        longer[..buffer.len()].copy_from_slice(buffer);
        *buffer = longer;
    }
}

/// Frees the memory that a long line needed.
fn shrink(buffer: &mut Vec<u8>, large: &mut Option<MutexGuard<'_, ()>>) {
    buffer.truncate(SCAN_BYTES);
    buffer.shrink_to(SCAN_BYTES);
    *large = None;
}

/// The state after a line that was skipped.
struct Passed {
    /// Bytes of the line and of its LF.
    bytes: u64,
    /// Bytes of the buffer after them.
    filled: usize,
}

/// Visits a line that begins with the `held` bytes of the buffer without keeping the rest of it. Returns `None` if the
/// scan ends here.
fn pass_line(
    source: &mut dyn Source,
    buffer: &mut [u8],
    held: usize,
    offset: u64,
    is_cancelled: &dyn Fn() -> bool,
    visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
) -> io::Result<Option<Passed>> {
    let start = buffer[..held.min(CUT_BYTES)].to_vec();
    let mut length = held as u64;
    let cut =
        |length, is_terminated| Line { span: Span { offset, length }, bytes: &start, is_terminated, is_cut: true };
    while !is_cancelled() {
        length += source.pass_hole()?;
        let read = read_some(source, buffer)?;
        if read == 0 {
            let _ = visit(cut(length, false));
            return Ok(None);
        }
        if let Some(end) = memchr(b'\n', &buffer[..read]) {
            length += end as u64;
            let flow = visit(cut(length, true));
            buffer.copy_within(end + 1..read, 0);
            return Ok(flow.is_continue().then_some(Passed { bytes: length + 1, filled: read - end - 1 }));
        }
        length += read as u64;
    }
    Ok(None)
}

fn line<'a>(offset: u64, bytes: &'a [u8], is_terminated: bool, hold: &Cell<usize>) -> Line<'a> {
    let span = Span { offset, length: bytes.len() as u64 };
    let is_cut = bytes.len() > hold.get();
    let bytes = if is_cut { &bytes[..bytes.len().min(CUT_BYTES)] } else { bytes };
    Line { span, bytes, is_terminated, is_cut }
}

fn read_some(source: &mut dyn Source, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// The name of a session in its store: a path for files, an address for a store across a network. A location with many
/// sessions, such as a directory, is named in the same way.
///
/// Callers keep locators and pass them back. Only the store interprets them. [`crate::SessionStore::locate`] turns
/// text that a person typed into a locator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Locator(OsString);

impl Locator {
    /// The locator as a path, for stores of files.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The part after the last separator. Two locators of one session have the same name, unless the store has links.
    pub fn name(&self) -> Option<&OsStr> {
        self.as_path().file_name()
    }
}

impl<T: AsRef<OsStr> + ?Sized> From<&T> for Locator {
    fn from(text: &T) -> Self {
        Self(text.as_ref().to_owned())
    }
}

impl From<PathBuf> for Locator {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string())
    }
}

impl From<OsString> for Locator {
    fn from(text: OsString) -> Self {
        Self(text)
    }
}

impl AsRef<OsStr> for Locator {
    fn as_ref(&self) -> &OsStr {
        &self.0
    }
}

impl fmt::Display for Locator {
    /// Bytes that are not UTF-8 are replaced.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Places of the lines of `text`, read in pieces, whether they are ended and cut, and how many bytes came.
    fn lines(text: &[u8], hold: usize) -> Vec<(u64, u64, bool, bool, usize)> {
        let mut found = Vec::new();
        let mut visit = |line: Line<'_>| {
            let Line { span, bytes, is_terminated, is_cut } = line;
            assert!(text[span.offset as usize..].starts_with(bytes), "the bytes of another line");
            found.push((span.offset, span.length, is_terminated, is_cut, bytes.len()));
            ControlFlow::Continue(())
        };
        let hold = Cell::new(hold);
        scan_lines(&mut &text[..], &mut Vec::new(), 0, &hold, &|| false, &mut visit).unwrap();
        found
    }

    fn expected(text: &[u8], hold: usize) -> Vec<(u64, u64, bool, bool, usize)> {
        let mut offset = 0;
        let mut found = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let is_terminated = line.ends_with(b"\n");
            let bytes = &line[..line.len() - usize::from(is_terminated)];
            let is_cut = bytes.len() > hold;
            let held = if is_cut { bytes.len().min(CUT_BYTES) } else { bytes.len() };
            found.push((offset, bytes.len() as u64, is_terminated, is_cut, held));
            offset += line.len() as u64;
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn lines_are_cut_where_they_are_too_long(
            lengths in prop::collection::vec(prop_oneof![0..20usize, 16_000..17_000usize, 60_000..300_000usize], 0..8),
            hold in prop_oneof![0..40usize, 16_000..70_000usize, 100_000..400_000usize],
            is_ended in any::<bool>(),
        ) {
            let mut text: Vec<u8> = Vec::new();
            for length in lengths {
                text.extend((0..length).map(|at| b'a' + (at % 26) as u8));
                text.push(b'\n');
            }
            if !is_ended {
                text.pop();
            }
            prop_assert_eq!(lines(&text, hold), expected(&text, hold));
        }
    }
}
