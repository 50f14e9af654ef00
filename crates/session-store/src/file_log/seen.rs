//! What is known of a file, so that a look tells what others did to it.

use std::cmp::Ordering;
use std::fs::{File, Metadata};
use std::io;
use std::time::SystemTime;

use crate::file_log::reading::ReadFrom;
use crate::identity::Identity;
use crate::log::{LogChange, Span};

/// Bytes before the end of the known part that tell whether it is still there.
const MARK_BYTES: u64 = 64;

/// What was seen of a file when it was last looked at or written to.
#[derive(Debug)]
pub(super) struct Seen {
    /// Which file it is.
    pub(super) identity: Identity,
    /// How much of it is known.
    pub(super) length: u64,
    /// The last bytes of the known part.
    mark: Vec<u8>,
    /// When it was written last; `None` where that is not known.
    modified: Option<SystemTime>,
}

impl Seen {
    /// The file as it is now.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let mark = read_mark(file, metadata.len())?;
        let modified = metadata.modified().ok();
        Ok(Self { identity: Identity::from(&metadata), length: metadata.len(), mark, modified })
    }

    /// What became of the known part, where `found` is what the path tells of the file. Few bytes are
    /// read, and none where the file was not written to.
    pub(super) fn compare(&self, file: &File, found: &Metadata) -> io::Result<LogChange> {
        let is_untouched = self.modified.is_some() && self.modified == found.modified().ok();
        let growth = found.len().cmp(&self.length);
        Ok(match growth {
            Ordering::Equal if is_untouched => LogChange::Unchanged,
            Ordering::Less => LogChange::Replaced,
            _ if read_mark(file, self.length)? != self.mark => LogChange::Replaced,
            Ordering::Equal => LogChange::Unchanged,
            Ordering::Greater => LogChange::Grown,
        })
    }

    /// Takes note of a look that found nothing changed.
    pub(super) fn note_time(&mut self, found: Option<&Metadata>) {
        self.modified = found.and_then(|found| found.modified().ok());
    }

    /// Takes note of `bytes`, which were written and end at `length`.
    pub(super) fn note_written(&mut self, file: &File, bytes: &[u8], length: u64) {
        self.length = length;
        let marked = usize::try_from(MARK_BYTES.min(length)).unwrap_or_default();
        match bytes.len().checked_sub(marked) {
            Some(start) => {
                self.mark.clear();
                self.mark.extend_from_slice(&bytes[start..]);
            }
            // A mark that cannot be read is not found again, and the file is read anew.
            None => self.mark = read_mark(file, length).unwrap_or_default(),
        }
    }

    /// Takes note that the file was cut to `length`.
    pub(super) fn note_cut(&mut self, file: &File, length: u64) {
        self.note_time(None);
        self.note_written(file, &[], length);
    }

    /// Whether the known part ends in the middle of a line.
    pub(super) fn is_open(&self) -> bool {
        self.mark.last().is_some_and(|byte| *byte != b'\n')
    }
}

fn read_mark(file: &File, length: u64) -> io::Result<Vec<u8>> {
    let offset = length.saturating_sub(MARK_BYTES);
    read_exactly(file, Span { offset, length: length - offset })
}

/// The bytes of `span`. Fails with `UnexpectedEof` if the file ends before it does.
pub(super) fn read_exactly(file: &File, span: Span) -> io::Result<Vec<u8>> {
    let length = usize::try_from(span.length).map_err(|_| io::ErrorKind::UnexpectedEof)?;
    let mut bytes = vec![0; length];
    ReadFrom { file, offset: span.offset, end: span.end() }.read_exact(&mut bytes)?;
    Ok(bytes)
}
