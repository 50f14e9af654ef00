//! What must be in the log before the first entry: a header, and the current version of the format.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::str::Utf8Chunk;

use crate::error::StoreError;
use crate::index::{Index, Reading, Record};
use crate::log::{Line, LogChange, LogError, SessionLog};
use crate::session::{Durability, Session, read_index};

/// Number of tries of a migration if another program writes meanwhile.
const MIGRATION_TRIES: usize = 3;

impl Session {
    /// Writes the header of an empty file, or rewrites an older file in the current version.
    pub(crate) fn make_current(&mut self) -> Result<(), StoreError> {
        if self.is_header_pending {
            return self.write_header();
        }
        for _ in 0..MIGRATION_TRIES {
            if !self.is_old() {
                return self.write_late();
            }
            match self.migrate() {
                Err(LogError::Moved) => self.refresh_quietly()?,
                outcome => outcome.map_err(|error| self.not_written(error))?,
            }
        }
        let busy = io::Error::from(io::ErrorKind::ResourceBusy);
        if self.is_old() { Err(StoreError::write(self.log.locator(), busy)) } else { self.write_late() }
    }

    /// Whether an entry can be appended to the log as it is.
    pub(crate) fn is_current(&self) -> bool {
        !self.is_header_pending && !self.is_old() && self.late.is_none()
    }

    fn write_header(&mut self) -> Result<(), StoreError> {
        let line = self.header.raw.get().to_owned();
        let sync = self.durability() == Durability::Always;
        let span = self.append_to_log(&line, sync)?;
        self.is_header_pending = false;
        self.index_mut()?.push_written_line(span, &line);
        Ok(())
    }

    /// Whether the log has an older version.
    fn is_old(&self) -> bool {
        self.known.get().is_some_and(|index| index.migration.is_some())
    }

    /// Rewrites the log in the current version. Entries keep the ids under which they were visible.
    fn migrate(&mut self) -> Result<(), LogError> {
        let suffix = format!(".v{}.bak", self.migrated_from.unwrap_or(1));
        let Some(index) = self.known.get() else { return Ok(()) };
        let is_sound = index.diagnostics.as_slice().is_empty();
        let mut records = index.records_from(0).peekable();
        let old = self.log.replace_all(&suffix, self.max_line, &mut |line, out| {
            let record = records.next_if(|record| record.span == line.span);
            out.write_all(&migrated(index, line, record.as_ref())?)?;
            out.write_all(b"\n")
        })?;
        // Until it is read, the known part of the log is invalid.
        drop(records);
        self.unread = LogChange::Replaced;
        if let Some(old) = old {
            self.late = self.read_late(old.as_ref()).map(Some)?;
        }
        // The bodies of sound lines were parsed when they were rewritten.
        let index = match is_sound {
            true => Index::build(self.log.as_ref(), Reading::Headers, u64::MAX, self.max_line)?,
            false => read_index(self.log.as_ref(), self.max_line).map_err(io::Error::other)?,
        };
        self.replace_index(index);
        self.unread = LogChange::Unchanged;
        Ok(())
    }
}

impl Session {
    /// Reads the lines that were added to a replaced log, and migrates them. Invalid UTF-8 is replaced; the backup
    /// keeps it.
    fn read_late(&mut self, old: &dyn SessionLog) -> io::Result<String> {
        let Some(index) = self.known.get_mut() else { return Ok(String::new()) };
        let (end, count) = (index.end(), index.record_count());
        index.scan(old)?;
        let mut records = index.records_from(count).peekable();
        let (mut lines, mut outcome) = (Vec::new(), Ok(()));
        old.scan(end, &Cell::new(self.max_line), &mut |line| {
            let record = records.next_if(|record| record.span == line.span);
            if line.is_cut {
                tracing::warn!(
                    bytes = line.span.length,
                    "a line that came while the session was rewritten is too long to be taken along; the backup has it"
                );
                return ControlFlow::Continue(());
            }
            let rewritten = migrated(index, line, record.as_ref());
            outcome = rewritten.map(|line| lines.push(String::from_utf8_lossy(&line).into_owned()));
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        outcome.map(|()| lines.join("\n"))
    }

    /// Writes lines that came too late for the migration, before anything else is written.
    pub(super) fn write_late(&mut self) -> Result<(), StoreError> {
        let Some(lines) = self.late.take() else {
            return Ok(());
        };
        if let Err(error) = self.append_to_log(&lines, self.durability() != Durability::None) {
            self.late = Some(lines);
            return Err(error);
        }
        // The next look reads what could not be read now.
        self.read_foreign(None).inspect_err(|_| self.unread = self.unread.max(LogChange::Grown))
    }
}

/// The migrated form of a line. Broken lines, lines that are not entries, and bytes that are not UTF-8 stay
/// unchanged.
fn migrated<'a>(index: &Index, line: Line<'a>, record: Option<&Record>) -> io::Result<Cow<'a, [u8]>> {
    let Some(migration) = &index.migration else {
        return Ok(Cow::Borrowed(line.bytes));
    };
    let text = LosslessText::new(line.bytes.to_vec());
    let rewritten = match record {
        Some(record) if !record.is_broken => migration.rewrite(text.as_str(), &record.place()),
        None if index.header_span == Some(line.span) => migration.header(text.as_str()),
        _ => return Ok(Cow::Borrowed(line.bytes)),
    };
    rewritten.map(|line| Cow::Owned(text.bytes_of(line))).map_err(io::Error::other)
}

/// Private-use characters, which represent bytes that are not UTF-8.
const FIRST: u32 = 0xF_0000;
const LAST: u32 = 0x10_FFFD;
/// Number of characters needed: one for each byte that is not ASCII.
const BLOCK: u32 = 0x80;

/// The text of a line that may contain invalid UTF-8. Each invalid byte becomes a character that does not occur in
/// the line, so that the text can be rewritten without loss.
#[derive(Debug)]
pub(crate) struct LosslessText {
    text: String,
    /// The character for the byte 0x80, if there are invalid bytes.
    base: Option<u32>,
}

impl LosslessText {
    /// The text of `bytes`. In a line with nearly all private-use characters, invalid bytes become U+FFFD.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Self { text, base: None },
            Err(error) => error.into_bytes(),
        };
        let Some(base) = unused_block(&bytes) else {
            return Self { text: String::from_utf8_lossy(&bytes).into_owned(), base: None };
        };
        let mut text = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            let stand_in = |byte: &u8| char::from_u32(base + u32::from(*byte) - BLOCK);
            text.extend(chunk.invalid().iter().filter_map(stand_in));
        }
        Self { text, base: Some(base) }
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The bytes of a text derived from this one.
    pub(crate) fn bytes_of(&self, text: String) -> Vec<u8> {
        let Some(base) = self.base else {
            return text.into_bytes();
        };
        let mut bytes = Vec::with_capacity(text.len());
        for character in text.chars() {
            match u32::from(character).checked_sub(base).filter(|byte| *byte < BLOCK) {
                Some(byte) => bytes.push((byte + BLOCK) as u8),
                None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        bytes
    }
}

/// The first block of private-use characters that does not occur in `bytes`.
fn unused_block(bytes: &[u8]) -> Option<u32> {
    let characters = bytes.utf8_chunks().flat_map(|chunk: Utf8Chunk<'_>| chunk.valid().chars());
    let used: HashSet<u32> =
        characters.filter_map(|character| Some(u32::from(character).checked_sub(FIRST)? / BLOCK)).collect();
    let blocks = (LAST - FIRST) / BLOCK;
    (0..blocks).find(|block| !used.contains(block)).map(|block| FIRST + block * BLOCK)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_that_stands_for_a_byte_is_none_of_the_line() {
        let line = "\u{f0069} and \u{f0100}".as_bytes();
        let text = LosslessText::new([line, b"caf\xe9"].concat());
        assert_eq!(text.as_str(), "\u{f0069} and \u{f0100}caf\u{f00e9}");
        assert_eq!(text.bytes_of(format!("[{}]", text.as_str())), [b"[", line, b"caf\xe9]"].concat());
    }

    proptest! {
        #[test]
        fn every_byte_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..40), more in ".*") {
            let text = LosslessText::new([&bytes, more.as_bytes()].concat());
            prop_assert_eq!(text.bytes_of(text.as_str().to_owned()), [&bytes, more.as_bytes()].concat());
        }
    }
}
