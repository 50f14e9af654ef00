//! Checks: runs of tests, builds and linters. A newer run of a check replaces the older ones.

use std::collections::{BTreeMap, HashMap};

use crate::ledger::closed_requests::is_theory;
use crate::ledger::commands::{check_key, is_check, is_goal, purposes};
use crate::ledger::counts::failed_count;
use crate::ledger::notes::FAILED;
use crate::ledger::outcomes::shown_command;
use crate::ledger::{Ledger, Outcome, Statement, Voice};

/// Most counts of failures that a result is shown with.
const MOST_COUNTS: usize = 5;
/// Most checks without counts that are listed.
const MOST_PASSED: usize = 3;
/// Most words of a sentence that only says that a cause was found, such as `I see the problem now.`
const FRAME_WORDS: usize = 6;

/// The newest run of each check.
#[derive(Debug, Default)]
pub(super) struct Checks {
    newest: HashMap<String, Run>,
}

#[derive(Debug, Clone)]
struct Run {
    position: u64,
    has_failed: bool,
    /// The command, if no statement contains its counts.
    command: Option<String>,
}

/// The rows of results that no newer run of the same check replaced.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// For each statement, whether a newer run replaced it; empty if none is.
    pub(super) replaced: Vec<bool>,
    /// What is added to rows, by their indexes: the number of failures in the runs before.
    pub(super) changes: BTreeMap<usize, String>,
}

impl Checks {
    /// The checks of a ledger.
    pub(super) fn of(ledger: &Ledger) -> Self {
        let mut checks = Self::default();
        let runs = ledger.commands.iter().filter(|run| !run.is_call && run.outcome != Outcome::Open);
        for run in runs {
            let command = shown_command(&run.command);
            if let Some(key) = key_of(&command) {
                let (position, has_failed) = (run.position, run.outcome == Outcome::Failed);
                checks.add(key, Run { position, has_failed, command: Some(command) });
            }
        }
        for statement in &ledger.statements {
            if let Some((key, result)) = row(statement) {
                let has_failed =
                    statement.voice == Voice::Action && failed_count(result).is_some_and(|count| count > 0);
                checks.add(key, Run { position: statement.position, has_failed, command: None });
            }
        }
        checks
    }

    fn add(&mut self, key: String, run: Run) {
        match self.newest.get_mut(&key) {
            Some(known) if known.position < run.position => *known = run,
            Some(known) if known.position == run.position => known.command = None,
            Some(_) => {}
            None => {
                self.newest.insert(key, run);
            }
        }
    }

    /// The newest checks that succeeded without a count, with their positions.
    pub(super) fn passed(&self) -> Vec<(u64, &str)> {
        let passed = self.newest.values().filter(|run| !run.has_failed);
        let mut passed: Vec<(u64, &str)> =
            passed.filter_map(|run| Some((run.position, run.command.as_deref()?))).collect();
        passed.retain(|(_, command)| is_check(command));
        passed.sort_unstable();
        passed.split_off(passed.len().saturating_sub(MOST_PASSED))
    }

    /// Whether a newer run of the check failed, with a result in a statement.
    pub(super) fn has_failed_since(&self, statement: &Statement) -> bool {
        let newest = row(statement).and_then(|(key, _)| self.newest.get(&key));
        newest.is_some_and(|run| run.has_failed && run.position > statement.position)
    }

    /// The rows among `statements`.
    pub(super) fn rows(&self, statements: &[Statement]) -> Rows {
        let mut rows = Rows::default();
        let mut counts: HashMap<String, Vec<u64>> = HashMap::new();
        let mut theories = Theories::default();
        for (index, statement) in statements.iter().enumerate() {
            theories.read(index, statement, &mut rows.replaced, statements);
            let Some((key, result)) = row(statement) else { continue };
            let newest = self.newest.get(&key).map_or(0, |run| run.position);
            let known = counts.entry(key).or_default();
            if let Some(count) = failed_count(result).filter(|count| known.last() != Some(count)) {
                known.push(count);
            }
            if newest > statement.position {
                rows.replaced.resize(statements.len(), false);
                rows.replaced[index] = true;
            } else if known.len() > 1 {
                let first = known.len().saturating_sub(MOST_COUNTS);
                let told: Vec<String> = known[first..].iter().map(u64::to_string).collect();
                rows.changes.insert(index, format!(" (failed: {})", told.join(" \u{2192} ")));
            }
        }
        rows
    }
}

/// What the model took for the cause of a failure while it works on one request.
#[derive(Debug, Default)]
struct Theories {
    /// The index of the newest one, and whether a run failed after it.
    newest: Option<(usize, bool)>,
}

impl Theories {
    /// Reads the next statement. A theory that a run refuted and another one replaced is marked in `replaced`. So is
    /// the sentence after it if it continues the theory or says what is done about it. Another fact stays.
    fn read(&mut self, index: usize, statement: &Statement, replaced: &mut Vec<bool>, statements: &[Statement]) {
        match statement.voice {
            Voice::Person => self.newest = None,
            Voice::Action => {
                let fails =
                    row(statement).is_some_and(|(_, result)| failed_count(result).is_some_and(|count| count > 0));
                if let Some((_, is_refuted)) = self.newest.as_mut().filter(|_| fails || is_failure(&statement.text)) {
                    *is_refuted = true;
                }
            }
            Voice::Report | Voice::Remark | Voice::Announcement | Voice::Refuted if is_theory(&statement.text) => {
                if let Some((old, true)) = self.newest {
                    replaced.resize(statements.len(), false);
                    replaced[old] = true;
                    let is_frame = statements[old].text.split_whitespace().count() <= FRAME_WORDS;
                    let is_of_it =
                        |next: &&Statement| next.voice == Voice::Announcement || is_frame && next.is_of_model();
                    let next = statements.get(old + 1).filter(is_of_it);
                    if next.is_some_and(|next| next.position == statements[old].position) {
                        replaced[old + 1] = true;
                    }
                }
                self.newest = Some((index, false));
            }
            _ => {}
        }
    }
}

/// Whether the statement of a call says that it failed.
fn is_failure(text: &str) -> bool {
    text.starts_with('`') && text.contains(FAILED)
}

/// The check whose counts a statement contains, and the counts. Reasons stay because they say what was learned.
fn row(statement: &Statement) -> Option<(String, &str)> {
    if !matches!(statement.voice, Voice::Action | Voice::Milestone) {
        return None;
    }
    let (command, result) = statement.text.strip_prefix('`')?.split_once('`')?;
    let result = result.strip_prefix(": ")?;
    failed_count(result)?;
    // Any program may run tests. Its newest counts replace the older ones, too.
    Some((key_of(command).unwrap_or_else(|| check_key(command)), result))
}

/// The key of the check that a command runs, as in [`check_key`]; `None` if it runs none.
pub(super) fn key_of(command: &str) -> Option<String> {
    purposes(command).iter().any(|purpose| is_goal(purpose)).then(|| check_key(command))
}
