//! Appending entries: one, or several at once; and what must be in the log before the first of them, a header and the
//! current version of the format.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::str::Utf8Chunk;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryId, EntryKind, iso_timestamp, new_entry_line};
use compaction_core::json;
use compaction_core::message::Message;

use crate::error::StoreError;
use crate::header::{self, now};
use crate::index::{Index, Reading, Record};
use crate::log::{Batch, Line, LogChange, LogError, SessionLog, Span};
use crate::session::{Durability, Session, read_index};

/// Number of tries of a write if others changed or replaced the log.
const WRITE_TRIES: usize = 3;

/// An entry to append.
#[derive(Debug, Clone)]
pub struct NewEntry<'a> {
    /// The entry's type.
    pub kind: &'a str,
    /// Its own members as a JSON object. `type`, `id`, `parentId` and `timestamp` in it are ignored.
    pub members: &'a str,
    /// Its id from [`Session::new_entry_id`], if the members name it. Otherwise a new id is used.
    pub id: Option<EntryId>,
    /// Its timestamp in epoch milliseconds. Otherwise the present time is used.
    pub timestamp: Option<i64>,
    /// The message of a `message` entry, in place of the members: its text is copied and not read again.
    pub message: Option<Arc<Message>>,
}

impl<'a> NewEntry<'a> {
    /// An entry with a new id and the present time.
    pub fn new(kind: &'a str, members: &'a str) -> Self {
        Self { kind, members, id: None, timestamp: None, message: None }
    }

    /// An entry for a message, with an id and a timestamp of the store's choice.
    pub fn message(message: Arc<Message>) -> Self {
        Self { message: Some(message), ..Self::new("message", "{}") }
    }

    fn members(&self) -> Cow<'a, str> {
        match &self.message {
            Some(message) => Cow::Owned(format!("{{\"message\":{}}}", message.raw().get())),
            None => Cow::Borrowed(self.members),
        }
    }
}

/// The parent of a new entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// The leaf after foreign entries were read.
    Leaf,
    /// This entry, or nothing.
    At(Option<EntryId>),
}

/// The condition on the leaf for an append. It is checked after foreign entries were read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precondition {
    /// Nothing.
    None,
    /// The leaf is this entry; `None` means that there is no leaf.
    LeafIs(Option<EntryId>),
    /// This entry is on the path from the leaf to the root; `None` always is.
    OnPath(Option<EntryId>),
}

/// The result of an append.
#[derive(Debug, Clone)]
pub struct Appended {
    /// The entry, or the last of several. It is the new leaf.
    pub entry: Arc<Entry>,
    /// The entries that were appended before it, each the parent of the next.
    pub before: Vec<Arc<Entry>>,
    /// Entries that another program had added before.
    pub foreign: Option<ForeignChange>,
}

impl Appended {
    /// All appended entries, each the parent of the next.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.before.iter().chain([&self.entry])
    }
}

/// Entries to write together.
struct Chain {
    /// Their lines, separated by LF.
    lines: String,
    last: Arc<Entry>,
    before: Vec<Arc<Entry>>,
}

/// Changes that another program made to the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForeignChange {
    /// The added entries in file order.
    pub entry_ids: Vec<EntryId>,
    /// The leaf after them.
    pub leaf_id: Option<EntryId>,
}

impl Session {
    /// Appends an entry, which becomes the leaf. Reads the entries of other programs first.
    ///
    /// Fails with `ReadOnly`, `EntryNotFound` for the parent, `InvalidEntry`, `WriteFailed` (the
    /// session is as it was), or as reading foreign entries does.
    pub fn append(&mut self, new: NewEntry<'_>, parent: Parent) -> Result<Appended, StoreError> {
        self.append_if(new, parent, &Precondition::None)
    }

    /// Appends an entry if `condition` holds; otherwise fails with `LeafMoved`. Everything else is as in
    /// [`Session::append`]. After an error, [`Session::take_foreign`] returns the foreign entries that were read.
    pub fn append_if(
        &mut self,
        new: NewEntry<'_>,
        parent: Parent,
        condition: &Precondition,
    ) -> Result<Appended, StoreError> {
        self.append_chain(&[new], &parent, condition, false)
    }

    /// Appends a chain of entries with one write: `parent` is the parent of the first entry, and each entry is the
    /// parent of the next. Waits for the disk as for a compaction. A failed or short write is undone completely.
    ///
    /// Fails as [`Session::append_if`] does, and with `InvalidEntry` for an empty chain or a repeated id.
    pub fn append_all(
        &mut self,
        new: &[NewEntry<'_>],
        parent: Parent,
        condition: &Precondition,
    ) -> Result<Appended, StoreError> {
        self.append_chain(new, &parent, condition, true)
    }

    /// Appends a chain. Tries again if others changed the log.
    fn append_chain(
        &mut self,
        new: &[NewEntry<'_>],
        parent: &Parent,
        condition: &Precondition,
        is_checkpoint: bool,
    ) -> Result<Appended, StoreError> {
        let mut tries = 1;
        loop {
            match self.append_once(new, parent, condition, is_checkpoint) {
                Err(error) if is_log_changed(&error) && tries < WRITE_TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    fn append_once(
        &mut self,
        new: &[NewEntry<'_>],
        parent: &Parent,
        condition: &Precondition,
        is_checkpoint: bool,
    ) -> Result<Appended, StoreError> {
        self.check_writable()?;
        self.take_back_unsynced()?;
        self.refresh_to_append()?;
        self.check_condition(condition)?;
        let mut chain = self.build_chain(new, parent)?;
        if !self.is_current() {
            let seen = self.what_chains_depend_on();
            // This may read foreign entries, so the leaf may have moved.
            self.make_current()?;
            self.check_condition(condition)?;
            if self.what_chains_depend_on() != seen {
                chain = self.build_chain(new, parent)?;
            }
        }
        let Chain { lines, last: entry, before } = chain;
        self.write(&lines, before.iter().chain([&entry]), is_checkpoint)?;
        self.leaf = Some(entry.id().clone());
        Ok(Appended { entry, before, foreign: self.take_foreign() })
    }

    /// Moves the leaf to `target` (`None`: before the first entry). The move is stored as an entry that no context
    /// shows, and that entry becomes the leaf (docs/session-format.md, "Entries of our own"). Fails as [`Session::append`] does.
    pub fn navigate(&mut self, target: Option<&EntryId>, condition: &Precondition) -> Result<Appended, StoreError> {
        let members = self.navigation_members();
        self.append_if(NewEntry::new("custom", &members), Parent::At(target.cloned()), condition)
    }

    /// The members of the `custom` entry that [`Session::navigate`] appends, for callers that append it with other
    /// entries.
    pub fn navigation_members(&self) -> String {
        let from = self.leaf.as_ref().map_or("root", EntryId::as_str);
        let from = json::encode_string(from);
        format!("{{\"customType\":\"compactd.navigation\",\"data\":{{\"fromId\":{from}}}}}")
    }

    /// A new id for an entry: a UUID while only the end of a large session was read.
    pub fn new_entry_id(&self) -> EntryId {
        self.new_id_besides(&HashSet::new())
    }

    /// A new id that is not in `ids`.
    pub(super) fn new_id_besides(&self, ids: &HashSet<EntryId>) -> EntryId {
        match self.known.get() {
            Some(index) => header::entry_id(|id| index.slot(id).is_some() || ids.contains(id)),
            None => header::long_entry_id(),
        }
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        match &self.read_only {
            Some(reason) => Err(StoreError::ReadOnly { locator: self.locator().cloned(), reason: reason.clone() }),
            None => Ok(()),
        }
    }

    fn check_condition(&self, condition: &Precondition) -> Result<(), StoreError> {
        let (holds, expected) = match condition {
            Precondition::None | Precondition::OnPath(None) => return Ok(()),
            Precondition::LeafIs(leaf) => (*leaf == self.leaf, leaf),
            Precondition::OnPath(Some(id)) => (self.is_on_branch(id, self.leaf_id())?, &Some(id.clone())),
        };
        if holds {
            return Ok(());
        }
        Err(StoreError::LeafMoved { expected: expected.clone(), actual: self.leaf.clone() })
    }

    /// The leaf and the number of entries. A chain that was built stays valid as long as these are the same, since ids
    /// are never removed.
    fn what_chains_depend_on(&self) -> (Option<EntryId>, Option<usize>) {
        (self.leaf.clone(), self.known.get().map(Index::record_count))
    }

    /// The entries of a chain below `parent`, and their lines.
    fn build_chain(&self, new: &[NewEntry<'_>], parent: &Parent) -> Result<Chain, StoreError> {
        let parent_id = match parent {
            Parent::Leaf => self.leaf.clone(),
            Parent::At(None) => None,
            Parent::At(Some(id)) => self.slot(id).map(|_| Some(id.clone()))?,
        };
        let twice = |id: &EntryId| StoreError::InvalidEntry { reason: format!("the id {id} is there twice") };
        // A new id must also differ from the given ids of later entries.
        let mut ids = HashSet::new();
        if let Some(id) = new.iter().filter_map(|new| new.id.as_ref()).find(|id| !ids.insert((*id).clone())) {
            return Err(twice(id));
        }
        let (first, rest) =
            new.split_first().ok_or_else(|| StoreError::InvalidEntry { reason: "there is none".to_owned() })?;
        let (mut lines, entry) = self.build(first, parent_id.as_ref(), &ids)?;
        let (mut last, mut before) = (Arc::new(entry), Vec::new());
        for new in rest {
            ids.insert(last.id().clone());
            let (line, entry) = self.build(new, Some(last.id()), &ids)?;
            before.push(std::mem::replace(&mut last, Arc::new(entry)));
            lines.push('\n');
            lines.push_str(&line);
        }
        Ok(Chain { lines, last, before })
    }

    /// The line of an entry, and the entry as parsed from it. `ids` has the other ids of the chain.
    fn build(
        &self,
        new: &NewEntry<'_>,
        parent_id: Option<&EntryId>,
        ids: &HashSet<EntryId>,
    ) -> Result<(String, Entry), StoreError> {
        let invalid = |reason: &str| StoreError::InvalidEntry { reason: reason.to_owned() };
        let id = match &new.id {
            Some(id) if self.is_taken(id)? => return Err(invalid(&format!("the id {id} is taken"))),
            Some(id) => id.clone(),
            None => self.new_id_besides(ids),
        };
        let timestamp = iso_timestamp(new.timestamp.unwrap_or_else(now));
        let message = new.message.as_ref();
        let made = message.and_then(|message| Entry::of_message(&id, parent_id, &timestamp, Arc::clone(message)));
        let line = match &made {
            Some(entry) => entry.line().into_owned(),
            None => new_entry_line(new.kind, &id, parent_id, &timestamp, &new.members())
                .map_err(|_| invalid("its members are no JSON object"))?,
        };
        if line.len() > self.max_line {
            return Err(invalid(&format!("it has {} bytes as a line, more than {}", line.len(), self.max_line)));
        }
        let entry = made.map_or_else(|| Entry::parse(&line), Ok).map_err(|error| invalid(&error.to_string()))?;
        Ok((line, entry))
    }

    fn write<'a>(
        &mut self,
        lines: &str,
        mut entries: impl Iterator<Item = &'a Arc<Entry>> + Clone,
        is_checkpoint: bool,
    ) -> Result<(), StoreError> {
        let makes_checkpoint =
            |entry: &Arc<Entry>| matches!(entry.kind(), EntryKind::Compaction | EntryKind::BranchSummary);
        let sync = match self.durability {
            Durability::Always => true,
            Durability::Checkpoint => is_checkpoint || entries.clone().any(makes_checkpoint),
            Durability::None => false,
        };
        let is_deferred = sync && self.defers_sync();
        let span = self.append_to_log(lines, sync && !is_deferred)?;
        let (mut offset, is_next) = (span.offset, span.offset == self.known.end());
        let is_only = entries.clone().nth(1).is_none();
        // Adds the lines just written, unless the log must be read for that.
        let mut is_known = |entry: &Arc<Entry>| {
            let length = if is_only { lines.len() } else { entry.line().len() };
            let own = Span { offset, length: length as u64 };
            offset = own.end() + 1;
            let is_known = self.known.push_written(own, entry);
            if is_known {
                self.cache().insert(own.offset, entry);
            }
            is_known
        };
        if !is_next || !entries.all(&mut is_known) {
            self.read_back(span)?;
        }
        if is_deferred {
            self.syncs.note(span, self.leaf.as_ref());
        }
        Ok(())
    }

    /// Appends lines to the log after its known part.
    pub(super) fn append_to_log(&mut self, lines: &str, sync: bool) -> Result<Span, StoreError> {
        let expected_end = self.log.length();
        self.log.append(Batch { lines, expected_end, sync }).map_err(|error| self.not_written(error))
    }

    /// Reads the lines written at `span` and the bytes before them: the end of a torn line, or lines that another
    /// program wrote in between. If that fails, removes the written lines.
    pub(super) fn read_back(&mut self, span: Span) -> Result<(), StoreError> {
        let Err(error) = self.read_written(span) else {
            return Ok(());
        };
        let source = match error {
            StoreError::Io { source, .. } => source,
            other => io::Error::other(other),
        };
        self.unread = self.unread.max(LogChange::Grown);
        match self.log.cut(span.end() + 1, span.offset) {
            Ok(()) => Err(StoreError::write(self.log.locator(), source)),
            Err(error) => {
                // The lines stay in the log, so they count. The next change reads the whole log again.
                tracing::warn!(%source, %error, locator = ?self.locator(), "cannot read what was written");
                self.unread = LogChange::Replaced;
                Ok(())
            }
        }
    }

    fn read_written(&mut self, span: Span) -> Result<(), StoreError> {
        if span.offset >= self.known.end() && !self.has_last_line_grown()? {
            return self.read_foreign(Some(span));
        }
        // Another program has cut the log, or continued its last line just before this write.
        self.unread = LogChange::Replaced;
        self.refresh_quietly()
    }
}

/// Whether a write failed because the log was replaced or ends elsewhere, so that it may succeed after a read.
fn is_log_changed(error: &StoreError) -> bool {
    let StoreError::WriteFailed { source, .. } = error else { return false };
    let source = source.get_ref().and_then(|source| source.downcast_ref());
    matches!(source, Some(LogError::Replaced | LogError::Moved))
}

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
        // An entry that was read and is still cached has its migrated line.
        let cached: Vec<_> = index.records_from(0).map(|record| self.cache().get(record.span.offset)).collect();
        let mut records = index.records_from(0).zip(cached).peekable();
        let old = self.log.replace_all(&suffix, self.max_line, &mut |line, out| {
            let (record, cached) = records.next_if(|(record, _)| record.span == line.span).unzip();
            // The cached line lacks bytes that are not UTF-8.
            let is_whole = !line.is_cut && std::str::from_utf8(line.bytes).is_ok();
            match cached.flatten().filter(|_| is_whole) {
                Some(entry) => out.write_all(entry.line().as_bytes())?,
                None => out.write_all(&migrated(index, line, record.as_ref())?)?,
            }
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
        let known = if is_sound { self.cached_entries() } else { Vec::new() };
        self.replace_index(index);
        self.cache_again(known);
        self.unread = LogChange::Unchanged;
        Ok(())
    }
}

impl Session {
    /// The current entries in the cache. They were parsed from lines in the current version of the format.
    fn cached_entries(&self) -> Vec<Arc<Entry>> {
        let Some(index) = self.known.get() else { return Vec::new() };
        let slots = index.current_from(0);
        slots.filter_map(|slot| self.cache().get(index.offset(slot))).collect()
    }

    /// Caches entries again after their lines were rewritten, which has changed their offsets alone.
    fn cache_again(&self, entries: Vec<Arc<Entry>>) {
        let Some(index) = self.known.get() else { return };
        for entry in entries {
            let slot = index.slot(entry.id().as_str());
            let record = slot.map(|slot| index.record(slot));
            if let Some(record) = record.filter(|record| record.header() == *entry.header()) {
                self.cache().insert(record.span.offset, &entry);
            }
        }
    }

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
    use super::*;
    use proptest::prelude::*;

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
