//! Writing behind the end of the file, wherever it is by then.

use std::fs::{File, Metadata};
use std::io::{self, Seek, Write};

use crate::file_log::FileLog;
use crate::file_log::seen::read_exactly;
use crate::log::Span;

impl FileLog {
    /// Writes a line and its end behind the end of the file, where `is_open` behind a line end.
    pub(super) fn write_line(&mut self, line: &str, is_open: bool, sync: bool) -> io::Result<Span> {
        let first = usize::from(is_open);
        let bytes = [&"\n"[..first], line, "\n"].concat();
        let start = self.write_at_end(bytes.as_bytes(), sync)?;
        if !is_open && self.is_glued(start) {
            // What was written is part of a line that nobody can read.
            self.take_back(start, bytes.len());
            return self.write_line(line, true, sync);
        }
        let span = Span { offset: start + first as u64, length: line.len() as u64 };
        self.seen.note_written(&self.file, bytes.as_bytes(), span.end() + 1);
        Ok(span)
    }

    /// Whether a line that was written at `start` begins in the middle of another one: another
    /// program wrote the beginning of that one since the file was looked at.
    fn is_glued(&self, start: u64) -> bool {
        let before = |length| read_exactly(&self.file, Span { offset: start - length, length });
        start != self.seen.length && start > 0 && before(1).is_ok_and(|byte| byte != b"\n")
    }

    /// Writes `bytes` with one call behind the end of the file and returns where they begin; takes
    /// back what was written if that was not all, or if the file is no longer what the path leads to.
    fn write_at_end(&mut self, bytes: &[u8], sync: bool) -> io::Result<u64> {
        if !cfg!(unix) {
            // Elsewhere the file is not always in append mode.
            self.file.seek(io::SeekFrom::End(0))?;
        }
        let written = write_once(&mut self.file, bytes)?;
        let outcome = if written < bytes.len() {
            let message = format!("only {written} of {} bytes could be written", bytes.len());
            Err(io::Error::new(io::ErrorKind::StorageFull, message))
        } else if sync {
            self.file.sync_data()
        } else {
            Ok(())
        };
        let outcome = outcome.and_then(|()| self.look_behind(written));
        outcome.or_else(|error| {
            let start = self.start_of(written)?;
            self.take_back(start, written);
            Err(error)
        })
    }

    /// Looks at the path again after a write: what was written into a file that another one has taken
    /// the place of is not in the session. Returns where the bytes begin.
    fn look_behind(&mut self, written: usize) -> io::Result<u64> {
        let looked = self.seen.identity.find(self.path());
        // Where it cannot be told, the next look at the file tells.
        self.is_replaced = matches!(looked, Ok(None));
        if self.is_replaced {
            return Err(io::ErrorKind::StaleNetworkFileHandle.into());
        }
        let found = looked.ok().flatten();
        self.seen.note_time(found.as_ref());
        match found.as_ref().map(Metadata::len) {
            Some(length) if length == self.seen.length + written as u64 => Ok(self.seen.length),
            _ => self.start_of(written),
        }
    }

    /// Where the last write began: after it, in append mode, the position is the end of what was written.
    fn start_of(&mut self, written: usize) -> io::Result<u64> {
        Ok(self.file.stream_position()?.saturating_sub(written as u64))
    }

    /// Cuts the file back, unless another program has written behind these bytes.
    fn take_back(&mut self, start: u64, written: usize) {
        let is_last = self.file.metadata().is_ok_and(|metadata| metadata.len() == start + written as u64);
        let outcome = if is_last { self.file.set_len(start) } else { Err(io::ErrorKind::ResourceBusy.into()) };
        self.seen.note_time(None);
        if let Err(error) = outcome {
            // The next append closes the torn line, so that no other line is touched by it.
            tracing::warn!(%error, path = %self.locator, "cannot take back a write that failed");
        }
    }
}

fn write_once(file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
