//! Evicted entries that answer a question.

use std::collections::HashSet;

use compaction_core::entry::{Entry, EntryBody, EntryId, EntryKind, Replacement, Role};
use compaction_core::message::Body;
use compaction_core::recall::{Answer, RecallQuery, rank};
use compaction_core::tokens::estimate_text;
use compaction_core::verbatim::entry_text;

use crate::error::StoreError;
use crate::index::Record;
use crate::session::Session;

/// An evicted entry that answers a question.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledEntry {
    /// The entry.
    pub entry_id: EntryId,
    /// Estimated tokens of its text.
    pub tokens: u64,
    /// How well it answers; comparable within one question alone.
    pub score: f64,
}

impl Session {
    /// The entries of the path to `leaf` that compactions took out of its context and that answer
    /// `query`, best first. Left out are prompts, what an edit hides, and what is kept from models;
    /// summaries of compactions tell of others and are no answers themselves. One pass over the path
    /// holds one body at a time.
    ///
    /// `None` if it `is_cancelled`. Fails with `EntryNotFound` for the leaf, or with `Io`.
    pub fn recall(
        &self,
        leaf: Option<&EntryId>,
        query: &RecallQuery,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<RecalledEntry>>, StoreError> {
        let evicted = self.evicted_records(leaf)?;
        let mut found = Vec::new();
        let mut answers: Vec<Answer> = Vec::new();
        for record in &evicted {
            if is_cancelled() {
                return Ok(None);
            }
            let Some(text) = self.readable_text(record)? else { continue };
            if let Some(answer) = query.answer(&text) {
                found.push((record.id.clone(), estimate_text(&text)));
                answers.push(answer);
            }
        }
        let ranked = rank(&answers, evicted.len()).into_iter();
        let recalled = ranked.map(|(position, score)| {
            let (entry_id, tokens) = found[position].clone();
            RecalledEntry { entry_id, tokens, score }
        });
        Ok(Some(recalled.collect()))
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

    fn readable_text(&self, record: &Record) -> Result<Option<String>, StoreError> {
        let entry = self.readable(record)?;
        Ok(entry.filter(|entry| !is_kept_from_models(entry)).map(|entry| entry_text(&entry)))
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
