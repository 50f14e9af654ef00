//! What is known of a session's log: all of it, or its end.
//!
//! A large session is opened by its end. The whole index is built when a call needs it, and only
//! then; afterwards the end serves nobody any more and goes with the next change.

use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use compaction_core::entry::{Entry, EntryHeader, EntryId};

use crate::error::StoreError;
use crate::header::SessionHeader;
use crate::index::tail::Tail;
use crate::index::{Index, Reading, Record};
use crate::log::lines::READ_BYTES;
use crate::log::{SessionLog, Span};
use crate::session::Session;

/// Characters of the ids that new entries get where not all ids of a session are known.
const UUID_LENGTH: usize = 36;

/// The index of a session, or as much of one as was needed so far.
#[derive(Debug)]
pub(crate) struct Known {
    whole: OnceLock<Index>,
    tail: Option<Mutex<Tail>>,
    /// Held while the whole index is built, so that it is built once.
    building: Mutex<()>,
    /// The offset and the number of a line, from which other lines are numbered.
    counted: Mutex<(u64, usize)>,
}

/// The place of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// In the whole index.
    Whole(usize),
    /// In the end of the session.
    Tail(usize),
}

impl Slot {
    /// The place in the whole index, if it is one.
    pub(crate) fn whole(self) -> Option<usize> {
        match self {
            Self::Whole(slot) => Some(slot),
            Self::Tail(_) => None,
        }
    }
}

impl Known {
    /// Reads a log of at most `whole_bytes` wholly, a larger one from its end if that will do. Lines have
    /// at most `max_line` bytes.
    pub(crate) fn open(log: &dyn SessionLog, whole_bytes: u64, max_line: usize) -> io::Result<Self> {
        let is_large = log.length() > whole_bytes;
        if is_large && let Some(tail) = Tail::open(log)? {
            return Ok(Self { tail: Some(Mutex::new(tail)), ..Self::new(OnceLock::new()) });
        }
        Ok(Self::whole(Index::build(log, Reading::of(is_large), u64::MAX, max_line)?))
    }

    /// What is known once the whole log was read.
    pub(crate) fn whole(index: Index) -> Self {
        Self::new(index.into())
    }

    fn new(whole: OnceLock<Index>) -> Self {
        Self { whole, tail: None, building: Mutex::default(), counted: Mutex::new((0, 1)) }
    }

    /// The whole index, if it is there.
    pub(crate) fn get(&self) -> Option<&Index> {
        self.whole.get()
    }

    /// The whole index, if it is there, to change it. The end of the session goes.
    pub(crate) fn get_mut(&mut self) -> Option<&mut Index> {
        if self.whole.get().is_some() {
            self.tail = None;
        }
        self.whole.get_mut()
    }

    /// The header, if the log has one.
    pub(crate) fn header(&self) -> Option<SessionHeader> {
        match (self.get(), self.tail()) {
            (Some(index), _) => index.header.clone(),
            (None, tail) => tail.map(|tail| tail.header().clone()),
        }
    }

    /// The last entry of the log that can be read.
    pub(crate) fn last(&self) -> Option<EntryId> {
        match (self.get(), self.tail()) {
            (Some(index), _) => index.last(),
            (None, tail) => tail.and_then(|tail| tail.last().map(|record| record.id.clone())),
        }
    }

    /// Where the part of the log that is known ends.
    pub(crate) fn end(&self) -> u64 {
        match (self.get(), self.tail()) {
            (Some(index), _) => index.end(),
            (None, tail) => tail.map_or(0, |tail| tail.end()),
        }
    }

    /// Takes note of an entry whose line was just written behind the known part; `false` if the log
    /// has to be read for that.
    pub(crate) fn push_written(&mut self, span: Span, entry: &Entry) -> bool {
        if let Some(index) = self.get_mut() {
            return index.push_written(span, entry);
        }
        self.tail().is_some_and(|mut tail| tail.push_written(span, entry))
    }

    /// The line of an entry, if its bytes are still at hand.
    pub(crate) fn line_in_tail(&self, record: &Record) -> Option<Vec<u8>> {
        if record.line.is_some() {
            return None;
        }
        self.tail()?.line(record.span).map(<[u8]>::to_vec)
    }

    /// The end of the session, while it is of use.
    pub(crate) fn tail(&self) -> Option<MutexGuard<'_, Tail>> {
        // A tail takes in what it has read at once or not at all.
        self.tail.as_ref().map(|tail| tail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Reading {
    /// How a log is read that is large, or not.
    pub(crate) fn of(is_large: bool) -> Self {
        if is_large { Self::Headers } else { Self::Whole }
    }
}

impl Session {
    /// The whole index, built now if it was not.
    pub(crate) fn index(&self) -> Result<&Index, StoreError> {
        self.index_unless(&|| false)
    }

    /// As [`Session::index`]. Fails with `Io` of the kind `Interrupted` once it `is_cancelled`.
    pub(crate) fn index_unless(&self, is_cancelled: &dyn Fn() -> bool) -> Result<&Index, StoreError> {
        if let Some(index) = self.known.get() {
            return Ok(index);
        }
        let _building = self.known.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = self.known.get() {
            return Ok(index);
        }
        let index = self.build_index(is_cancelled).map_err(|source| self.read_error(source))?;
        Ok(self.known.whole.get_or_init(|| index))
    }

    /// The whole index, built now if it was not, to change it.
    pub(crate) fn index_mut(&mut self) -> Result<&mut Index, StoreError> {
        self.index()?;
        Ok(self.known.get_mut().expect("the index was built in the line before"))
    }

    /// Whether an entry can be found without building the whole index.
    pub(crate) fn is_at_hand(&self, id: &EntryId) -> bool {
        self.known.get().is_some() || self.known.tail().is_some_and(|tail| tail.slot(id).is_some())
    }

    /// The place of the entry `id`. Fails with `EntryNotFound`.
    pub(crate) fn slot(&self, id: &EntryId) -> Result<Slot, StoreError> {
        self.find(id)?.ok_or_else(|| StoreError::EntryNotFound { id: id.clone() })
    }

    /// The place of the entry `id`, if there is one.
    pub(crate) fn find(&self, id: &EntryId) -> Result<Option<Slot>, StoreError> {
        if self.known.get().is_none()
            && let Some(slot) = self.known.tail().and_then(|tail| tail.slot(id))
        {
            return Ok(Some(Slot::Tail(slot)));
        }
        Ok(self.index()?.slot(id.as_str()).map(Slot::Whole))
    }

    /// The place of the parent, if there is one that is in the session. The end of the session is
    /// read back to it.
    pub(crate) fn parent(&self, slot: Slot) -> Result<Option<Slot>, StoreError> {
        let number = match slot {
            Slot::Whole(slot) => return Ok(self.index()?.parent_slot(slot).map(Slot::Whole)),
            Slot::Tail(number) => number,
        };
        let Some(parent_id) = self.record(slot)?.parent_id else {
            return Ok(None);
        };
        let found = self.find_before(number, &parent_id).map_err(|source| self.read_error(source))?;
        match found {
            Some(number) => Ok(Some(Slot::Tail(number))),
            None => Ok(self.index()?.slot(parent_id.as_str()).map(Slot::Whole)),
        }
    }

    /// The entry at a place.
    pub(crate) fn record(&self, slot: Slot) -> Result<Record, StoreError> {
        if let Slot::Tail(number) = slot
            && let Some(tail) = self.known.tail()
        {
            return Ok(tail.record(number).clone());
        }
        let (Slot::Whole(slot) | Slot::Tail(slot)) = slot;
        Ok(self.index()?.record(slot))
    }

    /// Id, parent and type of an entry; `None` if there is no such entry.
    pub fn entry_header(&self, id: &EntryId) -> Result<Option<EntryHeader>, StoreError> {
        self.find(id)?.map(|slot| self.record(slot).map(|record| record.header())).transpose()
    }

    /// Whether an entry has this id. An id of the length of a UUID is believed to be new unless it is
    /// among those that are known: such ids come from [`Session::new_entry_id`].
    pub(crate) fn is_taken(&self, id: &EntryId) -> Result<bool, StoreError> {
        let in_tail = || self.known.tail().is_some_and(|tail| tail.slot(id).is_some());
        if self.known.get().is_none() && id.as_str().len() == UUID_LENGTH {
            return Ok(in_tail());
        }
        Ok(self.find(id)?.is_some())
    }

    /// The line of the file that an entry lies in, counted from 1.
    pub(crate) fn line_number(&self, record: &Record) -> Result<usize, StoreError> {
        if let Some(line) = record.line {
            return Ok(line);
        }
        self.count_lines(record.span.offset).map_err(|source| self.read_error(source))
    }

    /// The number of the line at `offset`. It is counted from a line that was numbered before, as far as lines lie
    /// close together at the end of a session.
    fn count_lines(&self, offset: u64) -> io::Result<usize> {
        let mut counted = self.known.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, number) = if offset < counted.0 / 2 { (0, 1) } else { *counted };
        let (start, end, mut lines) = (from.min(offset), from.max(offset), 0);
        self.log.scan(start, &Cell::new(READ_BYTES), &mut |line| {
            let is_before = line.span.offset < end;
            lines += usize::from(is_before);
            if is_before { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        *counted = (offset, if offset < from { number.saturating_sub(lines).max(1) } else { number + lines });
        Ok(counted.1)
    }

    pub(crate) fn read_error(&self, source: io::Error) -> StoreError {
        StoreError::io("read", self.log.locator(), source)
    }

    /// The number of the entry `id`, if it lies before `number` and is close enough to the end.
    fn find_before(&self, number: usize, id: &EntryId) -> io::Result<Option<usize>> {
        let Some(mut tail) = self.known.tail() else {
            return Ok(None);
        };
        while tail.slot(id).is_none() {
            if self.known.get().is_some() || !tail.grow(self.log.as_ref())? {
                return Ok(None);
            }
        }
        Ok(tail.slot(id).filter(|&slot| slot < number))
    }

    fn build_index(&self, is_cancelled: &dyn Fn() -> bool) -> io::Result<Index> {
        let (end, last) = (self.known.end(), self.known.last());
        let mut index = Index::build_unless(self.log.as_ref(), Reading::Headers, end, self.max_line, is_cancelled)?;
        let is_same_session = index.header.as_ref().is_some_and(|header| header.id == self.header().id);
        if !is_same_session || index.end() != end || index.last() != last {
            return Err(io::Error::other("the session was changed while it was read"));
        }
        self.early.as_slice().iter().for_each(|diagnostic| index.diagnostics.add(diagnostic.clone()));
        Ok(index)
    }
}
