//! Reading at an offset.

use std::fs::File;
use std::io;

use crate::lines::Source;

/// Reads a file from an offset on. Nobody relies on the file's own position while it is read.
#[derive(Debug)]
pub(crate) struct ReadFrom<'a> {
    pub(crate) file: &'a File,
    pub(crate) offset: u64,
    /// Where reading ends, if the file does not end before.
    pub(crate) end: u64,
}

impl Source for ReadFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let read = read_at(self.file, &mut buffer[..length], self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }

    fn pass_hole(&mut self) -> io::Result<u64> {
        let data = next_data(self.file, self.offset, self.end).clamp(self.offset, self.end.max(self.offset));
        Ok(data - std::mem::replace(&mut self.offset, data))
    }
}

impl ReadFrom<'_> {
    /// Fills `buffer`, or fails with `UnexpectedEof`.
    pub(crate) fn read_exact(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => buffer = &mut buffer[read..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Where data begins again from `offset` on; `offset` where that is not known, `end` if there is none.
#[cfg(target_os = "linux")]
fn next_data(file: &File, offset: u64, end: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(data) => data,
        Err(rustix::io::Errno::NXIO) => end,
        Err(_) => offset,
    }
}

#[cfg(not(target_os = "linux"))]
fn next_data(_file: &File, offset: u64, _end: u64) -> u64 {
    offset
}

/// Where the first part of the file lies that was never written; the end of the file counts as one.
#[cfg(target_os = "linux")]
pub(crate) fn first_hole(file: &File) -> Option<u64> {
    rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)).ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn first_hole(_file: &File) -> Option<u64> {
    None
}
