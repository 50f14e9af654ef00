//! The context of a branch, and what a question brings back of what was evicted from it.
//!
//! A context grows by an entry much more often than it changes, so the last one is remembered.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use compaction_core::entry::{Entry, EntryBody, EntryId, EntryKind, Replacement, Role};
use compaction_core::file_operations::FileTools;
use compaction_core::message::Body;
use compaction_core::projection::{Branch, Projection};
use compaction_core::recall::{PassageIndex, RankedPassage, RecallQuery};

use crate::diagnostic::Diagnostic;
use crate::error::StoreError;
use crate::index::Record;
use crate::session::Session;

/// Entries by which a remembered context is let grow at once.
const GROWTH: usize = 64;

/// What the model sees of a branch, and what was odd about reading it.
#[derive(Debug, Clone)]
pub struct Context {
    /// What the model sees.
    pub projection: Arc<Projection>,
    /// What was odd about the part of the path that was read.
    pub diagnostics: Arc<[Diagnostic]>,
}

/// The context that was asked for last, with its leaf.
pub(crate) type RememberedContext = Option<(EntryId, Context)>;

impl Session {
    /// The context of the path to `leaf`; `None` is the empty path. It is remembered, so that asking
    /// again costs nothing, and asking after appends costs what was appended.
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

    /// Forgets the context: what was read of the log may have changed.
    pub(crate) fn forget_context(&self) {
        self.remember_context(None);
    }

    fn read_context(&self, leaf: Option<&EntryId>) -> Result<Context, StoreError> {
        let mut branch = self.branch(leaf)?;
        let projection = Arc::new(Projection::of(&mut branch)?);
        if branch.is_doubtful() && self.known.get().is_none() {
            self.index()?;
            return self.read_context(leaf);
        }
        Ok(Context { projection, diagnostics: branch.diagnostics().into() })
    }

    /// The context at `leaf` made from the one at `known`, if that lies closely before it and
    /// nothing in between changes what came earlier.
    fn grown_context(&self, leaf: &EntryId, known: &EntryId, from: &Context) -> Result<Option<Context>, StoreError> {
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

/// What answers a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recalled {
    /// Evicted entries, root first.
    pub entry_ids: Vec<EntryId>,
    /// Passages of them, best first. The document of a passage is a place in `entry_ids`.
    pub passages: Vec<RankedPassage>,
}

impl Session {
    /// The passages of entries of the path to `leaf` that compactions took out of its context and that
    /// answer `query`, best first. Left out are prompts, what an edit hides, and what is kept from
    /// models; summaries of compactions tell of others and are no answers themselves. `tools` tell calls
    /// that change files. One pass over the path holds one body at a time.
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
        for record in &self.evicted_records(leaf)? {
            if is_cancelled() {
                return Ok(None);
            }
            let Some(entry) = self.readable(record)?.filter(|entry| !is_kept_from_models(entry)) else { continue };
            index.add_entry(&entry, tools);
            entry_ids.push(entry.id().clone());
        }
        Ok(Some(Recalled { entry_ids, passages: index.rank() }))
    }

    /// Entries that could be answers, root first.
    fn evicted_records(&self, leaf: Option<&EntryId>) -> Result<Vec<Record>, StoreError> {
        let projection = self.context(leaf)?.projection;
        if projection.compaction().is_none() {
            return Ok(Vec::new());
        }
        let context: HashSet<&EntryId> = projection.entries().iter().map(|projected| projected.entry.id()).collect();
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

    /// Notes whether an edit hides its target, as the last one on the path decides.
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

    /// The entry; `None` if its body is broken. It is read past the cache, which is for what is read
    /// again.
    fn readable(&self, record: &Record) -> Result<Option<Entry>, StoreError> {
        match self.parse(record) {
            Err(StoreError::BrokenEntry { .. }) => Ok(None),
            outcome => outcome.map(Some),
        }
    }
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
