//! What blocks the work: what failed and was not made up for.

use super::Builder;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::ErrorRecord;
use crate::ledger::actions::shown;
use crate::ledger::notes::{CHANGED_SINCE, FAILED};
use crate::ledger::text::quote;
use crate::summary::Section;

impl Builder<'_> {
    /// What blocks the work at the end of the turn that follows, if that is known.
    pub(super) fn blocked(&mut self) {
        let ledger = self.with_turn;
        let changed_at = ledger.files.iter().map(|file| file.changed_at).max().unwrap_or_default();
        for error in ledger.unresolved_errors() {
            let origin = Origin { position: error.position, times: error.times, sources: Some(&error.sources) };
            let is_file = || ledger.files.iter().any(|file| Some(&shown(&file.path)) == error.subject.as_ref());
            let item = match error.subject.is_some() && changed_at > error.position && !is_file() {
                true => format!("{} ({CHANGED_SINCE}, not run again)", error_item(error)),
                false => error_item(error),
            };
            self.pool.add(Section::Blocked, &item, origin, Rank::Normal);
        }
    }
}

fn error_item(error: &ErrorRecord) -> String {
    match &error.subject {
        Some(subject) => format!("{}{FAILED}{}", quote(subject), error.line),
        None => format!("The last request to the model{FAILED}{}", error.line),
    }
}
