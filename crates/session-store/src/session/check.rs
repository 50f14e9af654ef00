//! Reading everything, to find what opening does not look at.

use compaction_core::entry::{Entry, EntryError, EntryId};

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::StoreError;
use crate::index::{Record, too_long};
use crate::session::Session;

impl Session {
    /// Reads every body and returns all that is odd, by line. Changes nothing.
    pub fn check(&self) -> Result<Vec<Diagnostic>, StoreError> {
        let index = self.index()?;
        let mut found = index.diagnostics.clone();
        for record in index.current() {
            self.check_encoding(&record)?.into_iter().for_each(|diagnostic| found.add(diagnostic));
            let diagnostic = match self.parse(&record) {
                Ok(entry) => self.check_first_kept(&record, &entry)?,
                Err(StoreError::BrokenEntry { id, line, source }) => {
                    let message = match source {
                        EntryError::TooLong { bytes, limit } => too_long(bytes, limit),
                        EntryError::TooManyValues { .. } => format!("the body of entry {id} is not read: {source}"),
                        _ => format!("the body of entry {id} is broken"),
                    };
                    Some(Diagnostic::new(DiagnosticKind::BrokenLine, Some(line), message))
                }
                Err(error) => return Err(error),
            };
            diagnostic.into_iter().for_each(|diagnostic| found.add(diagnostic));
        }
        found.settle();
        let mut found = found.as_slice().to_vec();
        found.sort_by(|a, b| (a.line, a.kind, &a.message).cmp(&(b.line, b.kind, &b.message)));
        found.dedup_by(|a, b| (a.line, a.kind) == (b.line, b.kind));
        Ok(found)
    }

    fn check_encoding(&self, record: &Record) -> Result<Option<Diagnostic>, StoreError> {
        if self.check_length(record).is_err() {
            return Ok(None);
        }
        let bytes = self.log.read(record.span).map_err(|source| self.read_error(source))?;
        let message = "the line holds bytes that are not UTF-8";
        let diagnostic = || Diagnostic::new(DiagnosticKind::InvalidUtf8, record.line, message);
        Ok(std::str::from_utf8(&bytes).is_err().then(diagnostic))
    }

    fn check_first_kept(&self, record: &Record, entry: &Entry) -> Result<Option<Diagnostic>, StoreError> {
        let Some(compaction) = entry.compaction() else {
            return Ok(None);
        };
        let named = compaction.first_kept_entry_id.as_ref();
        let is_known = named.is_some_and(|id| self.is_on_branch(id, Some(&record.id)).unwrap_or(false));
        let shown = named.map_or("none", EntryId::as_str);
        let message = format!("compaction {} keeps nothing: its first kept entry is {shown}", record.id);
        let diagnostic = Diagnostic::new(DiagnosticKind::UnknownFirstKept, record.line, message);
        Ok((!is_known).then_some(diagnostic))
    }
}
