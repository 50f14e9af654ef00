//! Resets: what the model made in a part of the work that a reset of the branch discarded. Told later, it would seem to
//! be there. The same holds for commits that a later event took back or replaced.

use std::collections::{HashMap, HashSet};

use super::candidates::{MOST_MILESTONES, standing_milestones};
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

/// For each statement, whether it tells what was made between a commit and the reset to that commit, or is a commit that
/// no longer stands; empty if nothing is discarded.
pub(super) fn discarded(statements: &[Statement]) -> Vec<bool> {
    let parts = parts(statements);
    let mut discarded = Vec::new();
    for (from, to) in parts.into_iter().rev().take(MOST) {
        discarded.resize(statements.len(), false);
        let start = statements.partition_point(|one| one.position <= from);
        let own = statements.iter().enumerate().skip(start).take_while(|(_, one)| one.position < to);
        own.filter(|(_, one)| tells_making(one)).for_each(|(at, _)| discarded[at] = true);
    }
    leave_out_commits(statements, &mut discarded);
    discarded
}

/// Leaves out the commits that no longer stand, and the messages of those that a reset discarded. A squashed or amended
/// commit has another one in its place, so its message still tells about the work.
fn leave_out_commits(statements: &[Statement], discarded: &mut Vec<bool>) {
    let is_milestone = |one: &&Statement| one.voice == Voice::Milestone;
    let standing = standing_milestones(statements.iter().filter(is_milestone));
    let standing: HashSet<*const Statement> = standing.into_iter().map(std::ptr::from_ref).collect();
    // Nobody looks at older ones, so they are not known to be gone.
    let newest = statements.iter().rev().filter(is_milestone).take(MOST_MILESTONES);
    let commits = newest.filter(|one| one.text.starts_with(COMMITTED));
    let gone: Vec<&Statement> = commits.filter(|one| !standing.contains(&std::ptr::from_ref(*one))).collect();
    if gone.is_empty() {
        return;
    }
    let is_gone = |one: &Statement| gone.iter().any(|gone| std::ptr::eq(*gone, one));
    discarded.resize(statements.len(), false);
    let resets = statements.iter().filter(is_milestone).filter(|one| one.text.starts_with(RESET_TO));
    let last_reset = resets.map(|one| one.position).max().unwrap_or_default();
    let before_reset = gone.iter().filter(|one| one.position < last_reset);
    // The call that wrote the message of a commit is right before its result.
    let calls: HashSet<u64> = before_reset.flat_map(|one| [one.position, one.position.saturating_sub(1)]).collect();
    for (at, one) in statements.iter().enumerate() {
        discarded[at] |= is_gone(one) || one.voice == Voice::Action && calls.contains(&one.position);
    }
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
