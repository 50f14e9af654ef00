//! Paths between entries, the context of a path, recall of entries that were evicted from it, and the undo of a
//! compaction, which restores the branch without it.
//!
//! An undo is one write of several entries. If the process is killed during the write, the last whole line of the
//! file is on a branch that lacks the last entries. The leaf is then the one that the undo was about to leave: all
//! copies count, or none.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compaction_core::entry::{Entry, EntryBody, EntryHeader, EntryId, EntryKind, Replacement, Role};
use compaction_core::entry_text::entry_text;
use compaction_core::file_operations::FileTools;
use compaction_core::message::Body;
use compaction_core::pins::Pins;
use compaction_core::projection::{Branch, ProjectedEntry, Projection};
use compaction_core::recall::{PassageIndex, RankedPassage, RecallQuery};
use compaction_core::undo::{self, Mark};

use crate::error::{Diagnostic, DiagnosticKind, StoreError};
use crate::header::now;
use crate::index::lazy::Position;
use crate::index::{Index, Record};
use crate::log::{READ_BYTES, Span};
use crate::session::Session;
use crate::session::append::{Appended, NewEntry, Parent, Precondition};
use crate::session::entries::HeldEntries;
use crate::words;

/// Maximum number of diagnostics of one path.
const MAX_DIAGNOSTICS: usize = 1000;

/// A path from its leaf to the root. Headers come from the index, and bodies are read on demand. It ends at a missing
/// parent and before it would repeat, and reports that.
///
/// Project `&mut branch` to keep the diagnostics.
#[derive(Debug)]
pub struct SessionBranch<'a> {
    session: &'a Session,
    walk: Walk<'a>,
    /// Positions of the entries that were visited, the leaf first.
    walked: Vec<Position>,
    diagnostics: Vec<Diagnostic>,
    /// Whether a body is broken while only the end of the session is known. An earlier entry with the same id would
    /// then count.
    is_doubtful: bool,
    /// Whether the search for settings has begun.
    seeks_setting: bool,
    held: HeldEntries,
}

impl SessionBranch<'_> {
    /// Problems in the part of the path that was read so far.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The position at `depth`; `None` past the end of the path, which is reported.
    fn position_at(&mut self, depth: usize) -> Result<Option<Position>, StoreError> {
        while self.walked.len() <= depth {
            match self.walk.step()? {
                Some(slot) => self.walked.push(slot),
                None => {
                    self.report_end()?;
                    return Ok(None);
                }
            }
        }
        Ok(Some(self.walked[depth]))
    }

    fn report_end(&mut self) -> Result<(), StoreError> {
        if let Some(diagnostic) = self.walk.end()? {
            self.report(diagnostic);
        }
        Ok(())
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether only the whole index determines the path.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    fn report_broken(&mut self, id: &EntryId, line: usize) {
        let message = format!("the body of entry {id} is broken; the context does without it");
        self.report(Diagnostic::new(DiagnosticKind::BrokenLine, Some(line), message));
    }
}

impl Branch for SessionBranch<'_> {
    type Error = StoreError;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, StoreError> {
        let Some(position) = self.position_at(depth)? else {
            return Ok(None);
        };
        let mut header = self.session.record(position)?.header();
        // An unreadable compaction must not hide the entries before it.
        if header.kind == EntryKind::Compaction && self.entry(depth)?.kind() != EntryKind::Compaction {
            header.kind = EntryKind::Other;
        }
        Ok(Some(header))
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, StoreError> {
        let record = self.session.record(self.walked[depth])?;
        match self.session.entry_of(&record) {
            Err(StoreError::BrokenEntry { id, line, .. }) => {
                self.is_doubtful |= record.line.is_none();
                self.report_broken(&id, line);
                self.session.stand_in(&record).map(Arc::new)
            }
            Ok(entry) => {
                self.held.add(&entry)?;
                Ok(entry)
            }
            Err(error) => Err(error),
        }
    }

    /// The whole index knows which entries may be meant. Steps within it make no records. In a tail, answers are near; a
    /// level that nobody has set for long is far away.
    fn next_setting(&mut self, mut depth: usize, with_answers: bool) -> Result<usize, StoreError> {
        if let Some(last @ Position::Tail(_)) = self.walked.last().copied()
            && !with_answers
            && self.session.known.get().is_none()
            && !std::mem::replace(&mut self.seeks_setting, true)
        {
            self.session.reach_setting(last)?;
        }
        while let Some(Position::Whole(slot)) = self.position_at(depth)? {
            let index = self.session.index()?;
            let is_answer = with_answers && index.role(slot) == Some(Role::Assistant);
            if is_answer || index.may_describe_path(slot) {
                break;
            }
            depth += 1;
        }
        Ok(depth)
    }
}

impl Branch for &mut SessionBranch<'_> {
    type Error = StoreError;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, StoreError> {
        (**self).header(depth)
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, StoreError> {
        (**self).entry(depth)
    }

    fn next_setting(&mut self, depth: usize, with_answers: bool) -> Result<usize, StoreError> {
        (**self).next_setting(depth, with_answers)
    }
}

/// A path as the search for pins sees it: a body that cannot concern pins is not read.
struct PinBranch<'a>(SessionBranch<'a>);

impl Branch for PinBranch<'_> {
    type Error = StoreError;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, StoreError> {
        let position = self.0.position_at(depth)?;
        let Some(slot) = position.and_then(Position::whole) else {
            return self.0.header(depth);
        };
        let index = self.0.session.index()?;
        if matches!(index.kind(slot), EntryKind::Custom | EntryKind::Compaction) && !index.may_describe_path(slot) {
            return Ok(Some(EntryHeader { kind: EntryKind::Other, ..index.record(slot).header() }));
        }
        self.0.header(depth)
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, StoreError> {
        self.0.entry(depth)
    }
}

impl Session {
    /// The path from `leaf` to its root; `None` is the empty path before the first entry. [`Session::leaf_id`] is the
    /// leaf of the session.
    ///
    /// Fails with `EntryNotFound`.
    pub fn branch(&self, leaf: Option<&EntryId>) -> Result<SessionBranch<'_>, StoreError> {
        Ok(SessionBranch {
            session: self,
            walk: self.walk(leaf)?,
            walked: Vec::new(),
            diagnostics: Vec::new(),
            is_doubtful: false,
            seeks_setting: false,
            held: HeldEntries::default(),
        })
    }

    /// The entries of the path to `leaf`, root first; broken ones as in [`Session::entries`].
    pub fn branch_entries(&self, leaf: Option<&EntryId>) -> Result<Vec<Arc<Entry>>, StoreError> {
        let mut held = HeldEntries::default();
        let entries = self.read_branch(leaf)?;
        entries.map(|entry| entry.and_then(|entry| held.add(&entry).map(|()| entry))).collect()
    }

    /// The same entries. Each is read when it is asked for.
    pub fn read_branch(
        &self,
        leaf: Option<&EntryId>,
    ) -> Result<impl Iterator<Item = Result<Arc<Entry>, StoreError>>, StoreError> {
        Ok(self.branch_slots(leaf)?.into_iter().map(|slot| self.entry_or_header(&self.record(slot)?)))
    }

    /// The ids of the path to `leaf`, root first. Reads no bodies.
    pub fn branch_ids(&self, leaf: Option<&EntryId>) -> Result<Vec<EntryId>, StoreError> {
        let slots = self.branch_slots(leaf)?;
        slots.into_iter().map(|slot| self.record(slot).map(|record| record.id)).collect()
    }

    /// Whether `id` is on the path to `leaf`, including the leaf. Fails with `EntryNotFound` for the leaf.
    pub fn is_on_branch(&self, id: &EntryId, leaf: Option<&EntryId>) -> Result<bool, StoreError> {
        let Some(wanted) = self.find(id)? else {
            return Ok(false);
        };
        let wanted = self.offset(wanted)?;
        let mut walk = self.walk(leaf)?;
        while let Some(slot) = walk.step()? {
            let offset = self.offset(slot)?;
            if offset == wanted {
                return Ok(true);
            }
            if offset < wanted && self.is_ordered() {
                // All remaining entries of the path come before it.
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Whether every entry comes after its parent. In a tail all do.
    fn is_ordered(&self) -> bool {
        self.known.get().is_none_or(Index::is_ordered)
    }

    /// The deepest entry on both paths; `None` if there is none. Fails with `EntryNotFound`.
    pub fn common_ancestor(&self, a: Option<&EntryId>, b: Option<&EntryId>) -> Result<Option<EntryId>, StoreError> {
        let mut path = HashSet::new();
        for slot in self.branch_slots(a)? {
            path.insert(self.offset(slot)?);
        }
        let mut walk = self.walk(b)?;
        while let Some(slot) = walk.step()? {
            if path.contains(&self.offset(slot)?) {
                return Ok(Some(self.record(slot)?.id));
            }
        }
        Ok(None)
    }

    /// Positions of the path to `leaf`, root first.
    pub(crate) fn branch_slots(&self, leaf: Option<&EntryId>) -> Result<Vec<Position>, StoreError> {
        let mut slots = Vec::new();
        let mut walk = self.walk(leaf)?;
        while let Some(slot) = walk.step()? {
            slots.push(slot);
        }
        slots.reverse();
        Ok(slots)
    }

    fn walk(&self, leaf: Option<&EntryId>) -> Result<Walk<'_>, StoreError> {
        let first = leaf.map(|leaf| self.slot(leaf)).transpose()?;
        Ok(Walk { session: self, first, last: None, steps: 0, repeats: false, seen: HashSet::new() })
    }

    fn offset(&self, slot: Position) -> Result<u64, StoreError> {
        match slot {
            Position::Whole(slot) => Ok(self.index()?.offset(slot)),
            Position::Tail(_) => Ok(self.record(slot)?.span.offset),
        }
    }
}

/// Walks from a leaf to the root and visits each entry once. Reads no more of the session than the steps need.
#[derive(Debug)]
struct Walk<'a> {
    session: &'a Session,
    first: Option<Position>,
    last: Option<Position>,
    steps: usize,
    /// Whether the walk has returned to an entry.
    repeats: bool,
    /// Filled only if the file has cycles.
    seen: HashSet<usize>,
}

impl Walk<'_> {
    /// The next entry; `None` at the end of the path.
    fn step(&mut self) -> Result<Option<Position>, StoreError> {
        let next = match self.last {
            Some(last) => self.session.parent(last)?,
            None => self.first,
        };
        let Some(slot) = next.filter(|_| !self.repeats) else {
            return Ok(None);
        };
        self.repeats = self.has_seen(slot)?;
        if self.repeats {
            return Ok(None);
        }
        self.last = Some(slot);
        self.steps += 1;
        Ok(Some(slot))
    }

    /// Records the entry if the file has cycles. A tail has none.
    fn has_seen(&mut self, slot: Position) -> Result<bool, StoreError> {
        let Position::Whole(slot) = slot else {
            return Ok(false);
        };
        let index = self.session.index()?;
        if !index.has_cycle {
            return Ok(false);
        }
        if let (Some(Position::Tail(_)), Some(first)) = (self.last, self.first) {
            let mut next = index.slot(self.session.record(first)?.id.as_str());
            for _ in 0..self.steps {
                self.seen.extend(next);
                next = next.and_then(|slot| index.parent_slot(slot));
            }
        }
        Ok(!self.seen.insert(slot))
    }

    /// The reason for the end of the path, if it is not a root.
    fn end(&self) -> Result<Option<Diagnostic>, StoreError> {
        let Some(record) = self.last.map(|last| self.session.record(last)).transpose()? else {
            return Ok(None);
        };
        let Some(parent_id) = &record.parent_id else {
            return Ok(None);
        };
        let (kind, what) = if self.repeats {
            (DiagnosticKind::Cycle, "is its own ancestor; its branch ends where it would repeat".to_owned())
        } else {
            let what = format!("has the parent {parent_id}, which is not in the file; what came before is lost to it");
            (DiagnosticKind::MissingParent, what)
        };
        let line = self.session.line_number(&record)?;
        Ok(Some(Diagnostic::new(kind, Some(line), format!("entry {} {what}", record.id))))
    }
}

/// Bytes of lines that a thread takes at once, and the minimum for reading the entries of a context on two threads.
const CHUNK_BYTES: u64 = 1 << 16;
const LONG_CONTEXT_BYTES: u64 = 1 << 17;
/// Maximum bytes of lines that are read before the projection asks for them. They fit into the cache of entries.
const MOST_BYTES_AHEAD: u64 = 4 << 20;

/// Maximum number of entries that are added to a remembered context.
const GROWTH: usize = 64;

/// The messages that the model gets from a branch, and the problems in reading it.
#[derive(Debug, Clone)]
pub struct Context {
    /// The messages that the model gets.
    pub projection: Arc<Projection>,
    /// Problems in the part of the path that was read.
    pub diagnostics: Arc<[Diagnostic]>,
}

/// The last context, and its leaf. A context grows by an entry much more often than it changes, so it is remembered.
pub(crate) type RememberedContext = Option<(EntryId, Context)>;

impl Session {
    /// The context of the path to `leaf`; `None` is the empty path. It is remembered: asking again is free, and
    /// asking after appends costs only the appended entries.
    ///
    /// Fails with `EntryNotFound`, or as reading does.
    pub fn context(&self, leaf: Option<&EntryId>) -> Result<Context, StoreError> {
        let Some(leaf) = leaf else {
            return self.read_context(None);
        };
        let context = match self.remembered_context() {
            Some((known, context)) if known == *leaf => return Ok(context),
            Some((known, context)) => match self.grown_context(leaf, &known, &context)? {
                Some(grown) => grown,
                None => self.read_context(Some(leaf))?,
            },
            None => self.read_context(Some(leaf))?,
        };
        self.remember_context(Some((leaf.clone(), context.clone())));
        Ok(context)
    }

    /// Forgets the context, because the log may have changed.
    pub(crate) fn forget_context(&self) {
        self.remember_context(None);
        *self.searched() = Searched::default();
    }

    fn read_context(&self, leaf: Option<&EntryId>) -> Result<Context, StoreError> {
        self.read_ahead(leaf)?;
        let mut branch = self.branch(leaf)?;
        let projection = Arc::new(Projection::of(&mut branch)?);
        if branch.is_doubtful() && self.known.get().is_none() {
            self.index()?;
            return self.read_context(leaf);
        }
        Ok(Context { projection, diagnostics: branch.diagnostics().into() })
    }

    /// Reads the entries from `leaf` to the last compaction into the cache: all of them belong to the context. Of a long
    /// context, one thread walks and two parse. Entries with a problem are left to the walk of the projection, which
    /// reports it.
    fn read_ahead(&self, leaf: Option<&EntryId>) -> Result<(), StoreError> {
        // A tail has the bytes of the lines in memory, and reading them again takes as long as parsing them.
        if self.known.get().is_none() {
            return Ok(());
        }
        let mut walk = self.walk(leaf)?;
        let (sender, receiver) = channel();
        let (receiver, mut has_helper) = (Mutex::new(receiver), false);
        std::thread::scope(|scope| {
            let (mut chunk, mut bytes, mut sent) = (Vec::new(), 0, 0);
            while let Some(slot) = walk.step()? {
                let record = self.record(slot)?;
                if record.kind == EntryKind::Compaction || sent + bytes > MOST_BYTES_AHEAD {
                    break;
                }
                bytes += record.span.length;
                chunk.push(record);
                if bytes < CHUNK_BYTES {
                    continue;
                }
                sent += bytes;
                bytes = 0;
                // The receiver lives as long as the sender.
                let _ = sender.send(std::mem::take(&mut chunk));
                if !has_helper && sent >= LONG_CONTEXT_BYTES {
                    let helper = std::thread::Builder::new().spawn_scoped(scope, || self.read_chunks(&receiver));
                    // Without another thread, the entries are read on demand.
                    has_helper = helper.is_ok();
                    if !has_helper {
                        break;
                    }
                }
            }
            if has_helper {
                let _ = sender.send(chunk);
                drop(sender);
                self.read_chunks(&receiver);
            }
            Ok(())
        })
    }

    /// Reads entries into the cache until all were taken and the sender is gone.
    fn read_chunks(&self, chunks: &Mutex<Receiver<Vec<Record>>>) {
        let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(mut chunk) = next() {
            let is_cached = |record: &Record| self.cache().get(record.span.offset).is_some();
            chunk.retain(|record| !is_cached(record));
            let entries = self.parse_together(&chunk);
            let mut cache = self.cache();
            entries.into_iter().for_each(|(offset, entry)| cache.insert(offset, &Arc::new(entry)));
        }
    }

    /// The context at `leaf`, made from the one at `known`, if that is shortly before it and nothing in between
    /// changes earlier entries.
    fn grown_context(&self, leaf: &EntryId, known: &EntryId, from: &Context) -> Result<Option<Context>, StoreError> {
        // An entry that is its own ancestor would be there twice.
        if self.known.get().is_some_and(|index| index.has_cycle) {
            return Ok(None);
        }
        let mut branch = self.branch(Some(leaf))?;
        let mut added: Vec<Arc<Entry>> = Vec::new();
        loop {
            match branch.header(added.len())? {
                Some(header) if header.id == *known => break,
                Some(_) if added.len() < GROWTH => added.push(branch.entry(added.len())?),
                _ => return Ok(None),
            }
        }
        let mut projection = Projection::clone(&from.projection);
        for entry in added.into_iter().rev() {
            match projection.followed_by(entry) {
                Some(grown) => projection = grown,
                None => return Ok(None),
            }
        }
        let diagnostics = from.diagnostics.iter().chain(branch.diagnostics()).cloned().collect();
        Ok(Some(Context { projection: Arc::new(projection), diagnostics }))
    }

    fn remembered_context(&self) -> RememberedContext {
        self.context.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember_context(&self, context: RememberedContext) {
        *self.context.lock().unwrap_or_else(PoisonError::into_inner) = context;
    }
}

/// The part of the log, from its start, that was searched for pins.
#[derive(Debug, Default)]
pub(crate) struct Searched {
    end: u64,
    is_found: bool,
}

impl Session {
    /// The pinned entries of the path to `leaf`; `None` is the empty path.
    ///
    /// A compaction in the context lists the pins before it, if this program wrote it. Without one, the search leads
    /// to the root. The whole index knows whether there are any pins, and where they may be. While only the end of the
    /// session is known, the bytes of the log are searched for pins first. That is cheaper than building the index.
    /// Later calls search only what was added.
    ///
    /// Fails with `EntryNotFound`, or as reading does.
    pub fn pins(&self, leaf: Option<&EntryId>) -> Result<Pins, StoreError> {
        let branch = PinBranch(self.branch(leaf)?);
        if let Some(index) = self.known.get() {
            return if index.may_have_pins() { Pins::of(branch) } else { Ok(Pins::default()) };
        }
        let context = self.context(leaf)?.projection;
        let near = context.entries().iter().map(|entry| entry.depth + 1).max().unwrap_or(0);
        Pins::of_long(branch, near, || Ok(self.known.get().is_some() || self.may_have_pins()?))
    }

    fn may_have_pins(&self) -> Result<bool, StoreError> {
        let mut searched = self.searched();
        let end = self.known.end();
        while !searched.is_found && searched.end < end {
            let offset = searched.end.saturating_sub(words::OVERLAP as u64);
            let span = Span { offset, length: (end - offset).min(READ_BYTES as u64) };
            let bytes = self.log.read(span).map_err(|source| self.read_error(source))?;
            *searched = Searched { end: span.end(), is_found: words::may_tell_of_pins(&bytes) };
        }
        Ok(searched.is_found)
    }

    fn searched(&self) -> MutexGuard<'_, Searched> {
        self.searched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a recall.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recalled {
    /// Evicted entries, root first.
    pub entry_ids: Vec<EntryId>,
    /// Passages of these entries, best first. The document of a passage is an index into `entry_ids`.
    pub passages: Vec<RankedPassage>,
}

impl Session {
    /// The passages that answer `query`, best first.
    ///
    /// It searches the entries of the path to `leaf` that compactions removed from its context. It also searches the
    /// entries whose text an edit replaced there, without the passages that the edit left. It leaves out prompts,
    /// entries hidden by an edit, entries withheld from models, and summaries of compactions, which only repeat other
    /// entries. `tools` identifies calls that change files. It reads the path once and holds one body at a time.
    ///
    /// `None` if it `is_cancelled`. Fails with `EntryNotFound` for the leaf, or with `Io`.
    pub fn recall(
        &self,
        leaf: Option<&EntryId>,
        query: &RecallQuery,
        tools: &FileTools,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<Recalled>, StoreError> {
        let mut index = PassageIndex::new(query);
        let mut entry_ids = Vec::new();
        let projection = self.context(leaf)?.projection;
        for record in &self.evicted_records(leaf, &projection)? {
            if is_cancelled() {
                return Ok(None);
            }
            let Some(entry) = self.readable(record)?.filter(|entry| !is_kept_from_models(entry)) else { continue };
            index.add_entry(&entry, tools);
            entry_ids.push(entry.id().clone());
        }
        let mut passages = index.rank();
        self.remove_visible(&mut passages, &entry_ids, &projection)?;
        Ok(Some(Recalled { entry_ids, passages }))
    }

    /// Removes passages that the context shows although an edit replaced the text of their entry.
    fn remove_visible(
        &self,
        passages: &mut Vec<RankedPassage>,
        entry_ids: &[EntryId],
        projection: &Projection,
    ) -> Result<(), StoreError> {
        let edited: HashMap<&EntryId, &ProjectedEntry> =
            edited_entries(projection).map(|projected| (projected.entry.id(), projected)).collect();
        if edited.is_empty() {
            return Ok(());
        }
        let mut texts: HashMap<usize, (String, Vec<String>)> = HashMap::new();
        passages.retain(|passage| {
            let Some(projected) = edited.get(&entry_ids[passage.document]) else { return true };
            let (whole, shown) = texts.entry(passage.document).or_insert_with(|| {
                let shown = projected.messages.iter().map(|message| message.display_text().into_owned());
                (entry_text(&projected.entry), shown.collect())
            });
            let passage = whole[passage.range.clone()].trim();
            !shown.iter().any(|shown| shown.contains(passage))
        });
        Ok(())
    }

    /// Entries that may contain answers, root first.
    fn evicted_records(&self, leaf: Option<&EntryId>, projection: &Projection) -> Result<Vec<Record>, StoreError> {
        let mut context: HashSet<&EntryId> =
            projection.entries().iter().map(|projected| projected.entry.id()).collect();
        let edited: Vec<&EntryId> = edited_entries(projection).map(|projected| projected.entry.id()).collect();
        if projection.compaction().is_none() && edited.is_empty() {
            return Ok(Vec::new());
        }
        edited.into_iter().for_each(|id| {
            context.remove(id);
        });
        let mut evicted = Vec::new();
        let mut hidden = HashSet::new();
        for slot in self.branch_slots(leaf)? {
            let record = self.record(slot)?;
            if record.kind == EntryKind::ContextEdit {
                self.note_edit(&record, &mut hidden)?;
            } else if is_answer(&record) && !context.contains(&record.id) {
                evicted.push(record);
            }
        }
        evicted.retain(|record| !hidden.contains(&record.id));
        Ok(evicted)
    }

    /// Records whether an edit hides its target. The last edit on the path decides.
    fn note_edit(&self, record: &Record, hidden: &mut HashSet<EntryId>) -> Result<(), StoreError> {
        let Some(entry) = self.readable(record)? else { return Ok(()) };
        match entry.body() {
            EntryBody::ContextEdit { target_id, replacement: Replacement::Hidden } => {
                hidden.insert(target_id.clone());
            }
            EntryBody::ContextEdit { target_id, replacement: Replacement::Content(_) } => {
                hidden.remove(target_id);
            }
            _ => {}
        }
        Ok(())
    }

    /// The entry; `None` if its body is broken. Does not use the cache, which is for entries that are read again.
    fn readable(&self, record: &Record) -> Result<Option<Entry>, StoreError> {
        match self.parse(record) {
            Err(StoreError::BrokenEntry { .. }) => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}

/// Entries of the context that an edit shows with another text than the stored one.
fn edited_entries(projection: &Projection) -> impl Iterator<Item = &ProjectedEntry> {
    let edit = |projected: &ProjectedEntry| match projected.entry.body() {
        EntryBody::ContextEdit { target_id, replacement: Replacement::Content(_) } => Some(target_id.clone()),
        _ => None,
    };
    let targets: HashSet<EntryId> = projection.entries().iter().filter_map(edit).collect();
    let is_edited =
        move |projected: &&ProjectedEntry| targets.contains(projected.entry.id()) && !projected.messages.is_empty();
    projection.entries().iter().filter(is_edited)
}

fn is_answer(record: &Record) -> bool {
    match record.kind {
        EntryKind::Message => record.role != Some(Role::System),
        EntryKind::CustomMessage | EntryKind::BranchSummary => true,
        _ => false,
    }
}

fn is_kept_from_models(entry: &Entry) -> bool {
    let body = entry.message().map(|message| message.body());
    matches!(body, Some(Body::BashExecution(bash)) if bash.exclude_from_context)
}

/// The plan of an undo: a compaction, and the entries after it.
#[derive(Debug)]
pub struct Undo {
    /// The compaction.
    pub compaction_id: EntryId,
    /// The entry before it, where the new branch starts.
    parent_id: Option<EntryId>,
    /// The leaf before the undo.
    pub leaf_id: EntryId,
    /// Id of the entry that marks the undo.
    mark_id: EntryId,
    /// The entries after it on the path, oldest first, each with the id of its copy.
    pub replayed: Vec<(EntryId, EntryId)>,
}

impl Session {
    /// Plans to undo a compaction on the path to the leaf: the one with this id, or the last one.
    /// `None` if there is no such compaction on the path.
    pub fn plan_undo(&self, compaction_id: Option<&EntryId>) -> Result<Option<Undo>, StoreError> {
        let Some(leaf_id) = self.leaf_id().cloned() else {
            return Ok(None);
        };
        let mut branch = self.branch(Some(&leaf_id))?;
        let mut later = Vec::new();
        while let Some(header) = branch.header(later.len())? {
            if header.kind == EntryKind::Compaction && compaction_id.is_none_or(|id| *id == header.id) {
                let mark_id = self.new_entry_id();
                let mut ids = HashSet::from([mark_id.clone()]);
                let copied = |entry| {
                    let id = self.new_id_besides(&ids);
                    ids.insert(id.clone());
                    (entry, id)
                };
                let replayed = later.into_iter().rev().map(copied).collect();
                let (compaction_id, parent_id) = (header.id, header.parent_id);
                return Ok(Some(Undo { compaction_id, parent_id, leaf_id, mark_id, replayed }));
            }
            later.push(header.id);
        }
        Ok(None)
    }

    /// Undoes a compaction. Appends a mark after the entry before the compaction, and then a copy of each entry that
    /// follows it, with one write. The last one is the leaf. Copies get new ids and the present time. References
    /// between copies use the new ids. Everything else is unchanged.
    ///
    /// Fails with `LeafMoved` if the leaf is not the one of the plan, with `BrokenEntry` where an
    /// entry cannot be copied, and as [`Session::append_all`] does.
    pub fn undo(&mut self, undo: &Undo) -> Result<Appended, StoreError> {
        let mut new_ids: HashMap<EntryId, EntryId> = undo.replayed.iter().cloned().collect();
        new_ids.insert(undo.compaction_id.clone(), undo.mark_id.clone());
        let mark = Mark {
            from_id: undo.leaf_id.clone(),
            undone_entry_id: undo.compaction_id.clone(),
            entries: undo.replayed.len(),
        };
        let mut lines = vec![("custom".to_owned(), undo.mark_id.clone(), mark.members())];
        for (id, copy_id) in &undo.replayed {
            let entry = self.entry(id)?;
            let members = self.copied_members(&entry, &new_ids)?;
            lines.push((entry.kind_name().to_owned(), copy_id.clone(), members));
        }
        let timestamp = Some(now());
        let new: Vec<NewEntry<'_>> = lines
            .iter()
            .map(|(kind, id, members)| NewEntry { id: Some(id.clone()), timestamp, ..NewEntry::new(kind, members) })
            .collect();
        let condition = Precondition::LeafIs(Some(undo.leaf_id.clone()));
        self.append_all(&new, Parent::At(undo.parent_id.clone()), &condition)
    }

    fn copied_members(&self, entry: &Arc<Entry>, new_ids: &HashMap<EntryId, EntryId>) -> Result<String, StoreError> {
        undo::copied_members(entry, new_ids).map_err(|error| StoreError::InvalidEntry {
            reason: format!("entry {} cannot be copied: {error}", entry.id()),
        })
    }
}

/// Type, id, parent and timestamp are within this number of bytes, as this program writes them.
const HEADER_BYTES: u64 = 512;

impl Session {
    /// The leaf before an interrupted undo, if `last`, the last entry of the file, is one of its copies and some are
    /// missing.
    ///
    /// The lines of one undo are adjacent, each the parent of the next, and have the same timestamp. Two short reads
    /// show that the last line is not one of them.
    pub(super) fn leaf_before_interrupted_undo(&self, last: &EntryId) -> Result<Option<EntryId>, StoreError> {
        let Some(mut slot) = self.find(last)? else {
            return Ok(None);
        };
        let mut record = self.record(slot)?;
        let Some(time) = self.own_timestamp(&record)? else {
            return Ok(None);
        };
        let mut marked: Option<(Mark, usize)> = None;
        for copies in 0.. {
            // A copied mark of an older undo comes after the one that began the write.
            if record.kind == EntryKind::Custom
                && let Some(mark) = self.parse(&record).ok().and_then(|entry| Mark::of(&entry))
            {
                marked = Some((mark, copies));
            }
            if !self.is_parent_known(slot, &record) {
                // At the mark itself, the parent gives no more information.
                marked = marked.filter(|(_, before)| *before == copies);
                break;
            }
            let Some(parent) = self.parent(slot)? else { break };
            let before = self.record(parent)?;
            let follows = before.span.end() + 1 == record.span.offset;
            if !follows || self.own_timestamp(&before)?.as_deref() != Some(&*time) {
                break;
            }
            (slot, record) = (parent, before);
        }
        let interrupted = marked.filter(|(mark, copies)| mark.entries > *copies);
        let Some((mark, _)) = interrupted else {
            return Ok(None);
        };
        Ok(self.find(&mark.from_id)?.map(|_| mark.from_id))
    }

    /// Whether the parent is known without reading more of a large session. The last line here is whole, and an
    /// interrupted write hardly ever ends between two lines, so more reads are not worth it. A session that ends in a
    /// torn line is read completely anyway.
    fn is_parent_known(&self, slot: Position, record: &Record) -> bool {
        let tail = self.known.tail().filter(|_| matches!(slot, Position::Tail(_)));
        tail.is_none_or(|tail| record.parent_id.as_ref().is_some_and(|id| tail.slot(id).is_some()))
    }

    /// The timestamp of a line, if this program wrote it.
    fn own_timestamp(&self, record: &Record) -> Result<Option<String>, StoreError> {
        let span = Span { offset: record.span.offset, length: record.span.length.min(HEADER_BYTES) };
        let bytes = self.log.read(span).map_err(|source| self.read_error(source))?;
        let line = String::from_utf8_lossy(&bytes);
        let is_own = line.starts_with("{\"type\":\"");
        let after = line.split_once(",\"timestamp\":\"").filter(|_| is_own);
        Ok(after.and_then(|(_, after)| Some(after.split_once('"')?.0.to_owned())))
    }
}
