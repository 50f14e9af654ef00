//! The runs to repeat: those that failed, and those that are older than the newest change of a file.

use std::collections::HashSet;

use super::Builder;
use super::next_steps::is_pasted;
use super::state::end_of;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::actions::shown;
use crate::ledger::commands::{
    clip_command, core_command, has_inline_code, is_check, only_looks, purposes, without_preparation,
};
use crate::ledger::counts::failed_count;
use crate::ledger::cues::is_substantive;
use crate::ledger::errors::is_lasting;
use crate::ledger::names::ending;
use crate::ledger::notes::{CHECKED_WITH, TO_FIX, TO_RUN};
use crate::ledger::rules::only_sets_rules;
use crate::ledger::text::quote;
use crate::ledger::{CommandRecord, ErrorRecord, FileRecord, Outcome, Request, RequestWeight};
use crate::summary::{Section, SummaryKind};
use crate::tools::edits_files;

/// Number of newest failed runs that are steps.
const MOST_FAILED: usize = 2;
/// Most UTF-16 units of a command.
const LONGEST_RUN: usize = 80;
/// Fewest runs of a command that is in use.
const OFTEN: u64 = 3;
/// Most such commands that are listed.
const MOST_IN_USE: usize = 2;
/// Longest of these commands, in UTF-16 units.
const LONGEST_IN_USE: usize = 160;
/// Begins the item about settings.
const RAN_WITH: &str = "Ran with: ";
/// Most settings that are counted, and the longest of them, in bytes.
const MOST_SETTINGS: usize = 32;
const LONGEST_SETTING: usize = 80;
/// Fewest characters of the name of a setting.
const SHORTEST_NAME: usize = 4;
/// Parts of the names of settings with a secret, which no rule may recognise.
const SECRET: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL"];
/// Most bytes of a command that are searched for settings.
const SEARCHED: usize = 1000;
/// Number of newest runs that are searched for the files that the model runs.
const MOST_COMPARED: usize = 200;
/// Number of last parts of a path that name a file.
const PARTS: usize = 2;

impl Builder<'_> {
    /// Adds the failed runs that nothing made up for: checks, and runs of files that were changed since. Blocked says why
    /// they failed. Those that an answer at the end of the work or a newer order followed are left to the person. Returns whether
    /// there are any.
    pub(super) fn failed_runs(&mut self) -> bool {
        if !self.tells_state {
            return false;
        }
        let ledger = self.with_turn;
        // A page of text repairs no check.
        let code = ledger.files.iter().filter(|file| !ledger.is_page(file));
        let newest = code.max_by_key(|file| file.changed_at).filter(|file| file.changed_at > 0);
        // What the person postponed is not a step.
        let is_left = |error: &&ErrorRecord| is_lasting(error) && self.is_set_aside(error.position);
        let mut errors: Vec<&ErrorRecord> = ledger.unresolved_errors().filter(|error| !is_left(error)).collect();
        let paths: HashSet<String> = ledger.files.iter().map(|file| shown(&file.path)).collect();
        let is_run = |subject: &str| !subject.contains("({") && !paths.contains(subject);
        // Nothing later replaces a run that failed for a finished request.
        let asked_at = self.latest().map_or(0, |latest| latest.position);
        let is_over = self.is_finished();
        let ordered_at = self.ordered_at();
        let step = |error: &ErrorRecord| {
            let subject = error.subject.as_deref().filter(|subject| is_run(subject) && !only_looks(subject))?;
            let is_meant = is_check(subject)
                || counts_tests(&error.line)
                || is_over && error.position > asked_at && !has_inline_code(subject);
            let is_changed = |file: &&FileRecord| file.changed_at > error.position;
            let of_run = || {
                let names = programs(subject);
                ledger.files.iter().filter(is_changed).find(|file| is_among(&names, file))
            };
            let changed = if is_meant { newest.filter(is_changed) } else { Some(of_run()?) };
            let command = run(subject);
            let is_edit =
                |one: &&CommandRecord| one.is_call && one.position > error.position && edits_files(&one.command);
            let is_edited = is_meant
                && ledger
                    .commands
                    .iter()
                    .rev()
                    .take_while(|one| one.position > error.position)
                    .any(|one| is_edit(&one));
            let is_left = error.position < ordered_at || is_over && error.position < ledger.answered;
            match changed {
                None if is_edited => Some(format!("{TO_RUN}{command}, which failed before the latest edits")),
                Some(file) => Some(format!("{TO_RUN}{command}, which failed before {} was changed", name(file))),
                None if is_left => None,
                None => Some(format!("{TO_FIX}{command}, then run it again")),
            }
        };
        errors.sort_by_key(|error| error.position);
        let steps: Vec<String> = errors.into_iter().rev().filter_map(step).take(MOST_FAILED).collect();
        let has_failed = !steps.is_empty();
        for step in steps {
            self.pool.add(Section::NextSteps, &step, Origin::at(u64::MAX), Rank::Focus);
        }
        has_failed
    }

    /// Adds the commands that check the work: the newest ones that ran often and succeeded.
    pub(super) fn checks_in_use(&mut self) {
        let is_used = |one: &&CommandRecord| {
            let is_often = one.succeeded + one.failed >= OFTEN && one.succeeded > 0;
            is_often && !one.is_call && is_check(&one.command) && !has_inline_code(&one.command)
        };
        let used = self.with_turn.commands.iter().rev().filter(is_used).take(MOST_IN_USE);
        let used: Vec<String> = used.map(|one| quote(&clip_command(&shown(&one.command), LONGEST_IN_USE))).collect();
        if self.tells_state && !used.is_empty() {
            let item = format!("{CHECKED_WITH}{}", used.join("; "));
            self.pool.add(Section::CriticalContext, &item, Origin::at(self.ledger.messages), Rank::Normal);
        }
    }

    /// Adds the settings in front of commands that succeeded often: `NAME=value make`. They are how the work is done here.
    pub(super) fn settings_in_use(&mut self) {
        let mut used: Vec<(&str, u64)> = Vec::new();
        for one in self.with_turn.commands.iter().filter(|one| one.succeeded > 0 && !one.is_call) {
            for setting in settings(&one.command) {
                match used.iter().position(|(known, _)| *known == setting) {
                    Some(at) => used[at].1 += one.succeeded,
                    None if used.len() < MOST_SETTINGS => used.push((setting, one.succeeded)),
                    None => {}
                }
            }
        }
        // Not all commands of earlier compactions are known, so their number is not told.
        let often = used.iter().filter(|(_, times)| *times >= OFTEN).take(MOST_IN_USE);
        let often: Vec<String> = often.map(|(setting, _)| quote(setting)).collect();
        if self.tells_state && !often.is_empty() {
            let item = format!("{RAN_WITH}{}", often.join(", "));
            self.pool.add(Section::CriticalContext, &item, Origin::at(self.ledger.messages), Rank::Normal);
        }
    }

    /// The position of the newest request if it is open and asks for something by itself; 0 otherwise. A word such as
    /// `continue` refers to what failed, and so does a message that only shows something.
    fn ordered_at(&self) -> u64 {
        let newest = self.with_turn.last_request().filter(|_| self.kind == SummaryKind::History && self.is_open());
        let asks = |one: &&Request| {
            one.weight != RequestWeight::Answer
                && is_substantive(&one.text)
                && !only_sets_rules(&one.text)
                && !is_pasted(&one.text)
        };
        newest.filter(asks).map_or(0, |newest| newest.position)
    }

    /// The file that the newest change created, if the model runs similar files beside it and has not run this one.
    pub(super) fn unrun_file(&self) -> Option<String> {
        let ledger = self.turn.unwrap_or(self.ledger);
        let newest = ledger.files.iter().max_by_key(|file| file.changed_at)?;
        let is_new = newest.written == 1 && newest.edited == 0;
        let kind = ending(&newest.path).filter(|_| is_new)?;
        let place = |path: &str| shown(path)[..shown(path).len() - end_of(&shown(path), 1).len()].to_owned();
        let is_like = |file: &FileRecord| ending(&file.path) == Some(kind) && place(&file.path) == place(&newest.path);
        let others = self.with_turn.files.iter().filter(|file| file.written > 0 && is_like(file));
        let others: HashSet<&str> = others.map(|file| end_of(&file.path, 1)).collect();
        let is_run = |run: &&CommandRecord| !run.is_call && !is_check(&run.command);
        let runs = self.with_turn.commands.iter().rev().filter(is_run).take(MOST_COMPARED);
        let mut has_run = false;
        for run in runs {
            let names = programs(&run.command);
            if names.iter().any(|one| one == end_of(&newest.path, 1)) || run.position > newest.changed_at {
                return None;
            }
            has_run |= names.iter().any(|one| others.contains(one.as_str()));
        }
        has_run.then(|| name(newest))
    }

    /// The newest run, after the request at `since`, of a file that was changed after the run.
    pub(super) fn stale_run(&self, since: u64) -> Option<String> {
        let (ledger, since) = match self.turn {
            Some(turn) => (turn, 0),
            None => (self.ledger, since),
        };
        let is_run = |one: &&CommandRecord| {
            !one.is_call && one.outcome == Outcome::Succeeded && one.position > since && !only_looks(&one.command)
        };
        let newest = ledger.commands.iter().rev().find(is_run)?;
        let names = programs(&newest.command);
        let is_changed = |file: &FileRecord| file.changed_at > newest.position && is_among(&names, file);
        ledger.files.iter().any(is_changed).then(|| run(&newest.command))
    }
}

/// The settings before the programs of a command, without those with spaces or variables in them.
fn settings(command: &str) -> impl Iterator<Item = &str> {
    let start = &command[..command.floor_char_boundary(SEARCHED)];
    let steps = start.split(['\n', ';']).flat_map(|step| step.split("&&"));
    steps.flat_map(|step| step.split_whitespace().map_while(|word| is_setting(word).then_some(word)))
}

fn is_setting(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let is_of_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() >= SHORTEST_NAME
        && name.bytes().all(is_of_name)
        && !SECRET.iter().any(|part| name.contains(part))
        && word.len() <= LONGEST_SETTING
        && !value.is_empty()
        && !value.contains(['$', '"', '\'', '`', '('])
}

/// Whether a line counts failed tests beside others, whatever program ran them.
fn counts_tests(line: &str) -> bool {
    ["failed", "passed"].iter().all(|word| line.contains(word)) && failed_count(line).is_some_and(|count| count > 0)
}

/// A command as a step shows it.
pub(super) fn run(command: &str) -> String {
    quote(&clip_command(&shown(without_preparation(core_command(command), LONGEST_RUN)), LONGEST_RUN))
}

fn name(file: &FileRecord) -> String {
    quote(&shown(end_of(&file.path, PARTS)))
}

/// The files that a command may run, without their directories: `python tools/a.py`, `./a.sh`.
fn programs(command: &str) -> Vec<String> {
    let last = |purpose: String| end_of(purpose.rsplit(' ').next().unwrap_or_default(), 1).to_owned();
    purposes(command).into_iter().map(last).collect()
}

fn is_among(names: &[String], file: &FileRecord) -> bool {
    names.iter().any(|name| end_of(&file.path, 1) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stand_before_a_program() {
        for (command, expected) in [
            ("NO_HOOKS=1 git commit -m x", &["NO_HOOKS=1"][..]),
            ("git add . && NO_HOOKS=1 MODE=fast git commit -m 'A_LONG=1'", &["NO_HOOKS=1", "MODE=fast"]),
            ("make TARGET=all", &[]),
            ("FILE=$(mktemp) make", &[]),
            ("A=1 make", &[]),
            ("SHOP_TOKEN=abc DB_PASSWORD=x make", &[]),
            ("env", &[]),
        ] {
            assert_eq!(settings(command).collect::<Vec<_>>(), expected, "{command}");
        }
    }
}
