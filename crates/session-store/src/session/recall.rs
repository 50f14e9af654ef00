//! Evicted entries that answer a question.

use std::collections::HashSet;

use compaction_core::entry::{Entry, EntryBody, EntryId, EntryKind, Replacement, Role};
use compaction_core::file_operations::FileTools;
use compaction_core::message::Body;
use compaction_core::recall::{PassageIndex, RankedPassage, RecallQuery};

use crate::error::StoreError;
use crate::index::Record;
use crate::session::Session;

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
