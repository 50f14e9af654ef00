//! Resets: what the model made in a part of the work that a reset of the branch discarded. Told later, it would seem to
//! be there.

use std::collections::HashMap;

use crate::ledger::completed::TICKS;
use crate::ledger::constraints::holds_for_good;
use crate::ledger::notes::{COMMITTED, RESET_TO};
use crate::ledger::problems::reports;
use crate::ledger::text::{WordList, word_list};
use crate::ledger::{Statement, Voice};

/// Words with which the model says that it made something.
static MAKING: WordList = word_list!("resets: making");
/// Characters of a hash that are compared.
const HASH: usize = 7;
/// Most resets whose parts are read: the newest ones.
const MOST: usize = 16;

/// For each statement, whether it tells what was made between a commit and the reset to that commit; empty if nothing is
/// discarded.
pub(super) fn discarded(statements: &[Statement]) -> Vec<bool> {
    let parts = parts(statements);
    let mut discarded = Vec::new();
    for (from, to) in parts.into_iter().rev().take(MOST) {
        discarded.resize(statements.len(), false);
        let start = statements.partition_point(|one| one.position <= from);
        let own = statements.iter().enumerate().skip(start).take_while(|(_, one)| one.position < to);
        own.filter(|(_, one)| tells_making(one)).for_each(|(at, _)| discarded[at] = true);
    }
    discarded
}

/// The positions of each commit to which the branch was reset, or of the reset to it before, and of the reset.
fn parts(statements: &[Statement]) -> Vec<(u64, u64)> {
    let mut known: HashMap<&str, u64> = HashMap::new();
    let mut parts = Vec::new();
    for one in statements.iter().filter(|one| one.voice == Voice::Milestone) {
        let reset = one.text.strip_prefix(RESET_TO);
        let Some(hash) = reset.or_else(|| one.text.strip_prefix(COMMITTED)).and_then(|rest| rest.get(..HASH)) else {
            continue;
        };
        let before = known.insert(hash, one.position);
        parts.extend(before.filter(|_| reset.is_some()).map(|before| (before, one.position)));
    }
    parts
}

fn tells_making(one: &Statement) -> bool {
    let is_report = matches!(one.voice, Voice::Report | Voice::Remark);
    let text = one.text.as_str();
    let makes = || text.starts_with(TICKS) || MAKING.is_said(text);
    is_report && makes() && !reports(text) && !holds_for_good(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Sources;

    fn told(position: u64, voice: Voice, text: &str) -> Statement {
        Statement { voice, text: text.to_owned(), number: 0, position, sources: Sources::default() }
    }

    #[test]
    fn what_was_made_before_a_reset_is_left_out() {
        let statements = [
            told(2, Voice::Report, "The menu is implemented."),
            told(3, Voice::Milestone, &format!("{COMMITTED}1a2b3c4: add the menu")),
            told(5, Voice::Report, "The export is implemented."),
            told(5, Voice::Report, "\u{2705} Writes all rows"),
            told(5, Voice::Report, "The store keeps the rows in order."),
            told(6, Voice::Person, "The export is implemented badly"),
            told(7, Voice::Milestone, &format!("{RESET_TO}1a2b3c4: add the menu")),
            told(8, Voice::Report, "The import is implemented."),
        ];
        let expected = [false, false, true, true, false, false, false, false];
        assert_eq!(discarded(&statements), expected);
        assert!(discarded(&statements[..6]).is_empty());
    }
}
