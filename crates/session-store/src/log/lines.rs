//! Lines of a log, read in pieces. No more of a line is held than its reader wants.

use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memchr::{memchr, memchr_iter};

use crate::log::{Line, Span};

/// Bytes that are read at once: few at first, as most logs are small.
const FIRST_READ_BYTES: usize = 1 << 14;
pub(crate) const READ_BYTES: usize = 1 << 20;

/// Bytes of a cut line that are handed out: enough for the header of an entry.
pub(crate) const CUT_BYTES: usize = 1 << 16;

/// Size of a buffer of which there is one at a time, whoever reads.
const LARGE_BYTES: usize = 1 << 24;
static LARGE: Mutex<()> = Mutex::new(());

/// Where bytes come from, one after the other.
pub(crate) trait Source {
    /// Reads some bytes; none at the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Passes over bytes that are known to hold no line end, and returns how many those were.
    fn pass_hole(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

impl Source for &[u8] {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(self, buffer)
    }
}

/// Visits the lines of `source`, which starts at `offset`, until `visit` breaks or the scan
/// `is_cancelled`, which is asked before each read. Lines are handed out where they were read, so that
/// none is copied but those that lie across two reads. Of a line with more than `hold` bytes only the
/// first are handed out; the others are passed over.
pub(crate) fn scan_lines(
    source: &mut dyn Source,
    buffer: &mut Vec<u8>,
    mut offset: u64,
    hold: &Cell<usize>,
    is_cancelled: &dyn Fn() -> bool,
    visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    buffer.resize(buffer.len().max(FIRST_READ_BYTES), 0);
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
        if buffer.len() < READ_BYTES || filled * 2 > buffer.len() {
            grow(buffer, hold.get(), &mut large);
        } else if large.is_some() && filled <= READ_BYTES / 2 {
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

/// Makes room for more of a line of at most `hold` bytes.
fn grow(buffer: &mut Vec<u8>, hold: usize, large: &mut Option<MutexGuard<'_, ()>>) {
    let length = buffer.len() * if buffer.len() < READ_BYTES { 4 } else { 2 };
    let length = length.min(hold.saturating_add(1).max(READ_BYTES));
    if length > LARGE_BYTES && large.is_none() {
        *large = Some(LARGE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    buffer.resize(length, 0);
}

/// Gives back what a long line took.
fn shrink(buffer: &mut Vec<u8>, large: &mut Option<MutexGuard<'_, ()>>) {
    buffer.truncate(READ_BYTES);
    buffer.shrink_to(READ_BYTES);
    *large = None;
}

/// What was read behind a line that was passed over.
struct Passed {
    /// Bytes of the line and of its LF.
    bytes: u64,
    /// Bytes of the buffer that lie behind them.
    filled: usize,
}

/// Visits a line that begins with the `held` bytes of the buffer, or with the start of them, without
/// holding the rest. `None` if there is nothing to go on with.
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
