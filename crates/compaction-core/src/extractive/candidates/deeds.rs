//! What was done: milestones, the state of the repository, files and commands.

use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::Builder;
use super::done::{is_commit_of, pushed_commit};
use super::state::end_of;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::actions::shown;
use crate::ledger::commands::{clip_command, is_check, only_formats, only_looks, purposes};
use crate::ledger::finder::automaton;
use crate::ledger::notes::{CHANGED, CHANGED_SINCE, COMMITTED, RESET_TO, TOOK_BACK};
use crate::ledger::outcomes::shown_command;
use crate::ledger::results::ShownResult;
use crate::ledger::text::quote;
use crate::ledger::{CommandRecord, FileRecord, Statement, Voice};
use crate::summary::{Section, SummaryKind};
use crate::text::base_name;
use crate::tools::edits_files;

/// Commands that become candidates. At 12 UTF-16 units or more each, they fill 12,000.
const MOST_ACTIONS: usize = 1024;
/// Most files that are listed as changed since the last commit, or in one line.
pub(super) const MOST_CHANGED: usize = 8;
/// Most files whose changes are told.
const MOST_FILES_CHANGED: usize = 16;
/// Parts of the path by which a file is told, if another one has its name.
const PARTS_OF_ALIKE: usize = 3;
/// Most UTF-16 units of a command that is told as done.
const LONGEST_COMMAND: usize = 100;
/// Texts in the address of a pull request.
const ADDRESS_MARKS: [&str; 2] = ["/pull/", "/merge_requests/"];
/// Texts before its number.
const NUMBER_MARKS: [&str; 7] =
    ["PR #", "pull request #", "MR !", "gh pr checks ", "gh pr view ", "gh pr merge ", "gh pr diff "];
static PULL_REQUEST_MARKS: LazyLock<AhoCorasick> =
    LazyLock::new(|| automaton(ADDRESS_MARKS.into_iter().chain(NUMBER_MARKS), false));

impl Builder<'_> {
    /// Commits, pushes, pull requests, and the last outcome of each kind of test.
    pub(super) fn milestones(&mut self) {
        // The history before a turn also lists the milestones of the turn.
        if !self.tells_state {
            return;
        }
        let last = self.standing.clone();
        let changed_at = self.with_turn.code_changed_at();
        let committed_at = last.iter().rev().find(|one| one.text.starts_with(COMMITTED)).map_or(0, |one| one.position);
        // The next commit shows the current state.
        let is_over = |one: &&Statement| one.text.starts_with(TOOK_BACK) && one.position < committed_at;
        let checks = self.checks_of(self.with_turn);
        // A newer run of the same program may have found failures that an earlier one did not.
        let failed = self.with_turn.unresolved_errors();
        let failed: Vec<(u64, Vec<String>)> =
            failed.map(|error| (error.position, purposes(error.subject.as_deref().unwrap_or_default()))).collect();
        let fails_since = |one: &Statement| {
            let command = one.text.strip_prefix('`').and_then(|rest| rest.split_once('`'));
            let own = command.filter(|_| !failed.is_empty()).map(|(command, _)| purposes(command)).unwrap_or_default();
            !own.is_empty() && failed.iter().any(|(at, purposes)| *at > one.position && *purposes == own)
        };
        let is_over = |one: &&Statement| is_over(one) || checks.has_failed_since(one) || fails_since(one);
        let last = last.iter().copied().filter(|one| !is_over(one)).collect();
        let told = self.commits(last);
        let pushed: Vec<(&str, &str)> = told.iter().filter_map(|one| pushed_commit(&one.text)).collect();
        let is_commit = |hash: &str| told.iter().any(|one| is_commit_of(&one.text, hash));
        for statement in &told {
            // The line of the commit contains it.
            if pushed_commit(&statement.text).is_some_and(|(hash, _)| is_commit(hash)) {
                continue;
            }
            let run = statement.text.strip_prefix('`').and_then(|rest| rest.split_once('`'));
            let is_run = run.is_some_and(|(command, _)| is_check(command));
            let item = match is_run && changed_at > statement.position {
                true => format!("{} ({CHANGED_SINCE})", statement.text),
                false => match pushed.iter().find(|(hash, _)| is_commit_of(&statement.text, hash)) {
                    Some((_, branch)) => format!("{} (pushed to {branch})", statement.text),
                    None => statement.text.clone(),
                },
            };
            self.pool.add(Section::Done, &item, Origin::of(statement.position, &statement.sources), Rank::Normal);
        }
    }

    /// Files that changed since the last commit, and the last pull request that was mentioned.
    pub(super) fn repository(&mut self) {
        let committed_at = self.committed_at();
        let is_changed = |file: &&FileRecord| committed_at.is_some_and(|commit| file.changed_at > commit);
        let changed = self.ledger.files.iter().rev().filter(is_changed).filter(|file| !file.path.starts_with("/tmp/"));
        let changed = changed.filter(|file| !self.states.is_file_taken_back(file) && !file.is_gone());
        let told = |file: &FileRecord| {
            let deleted = if file.deleted_at > 0 { " (deleted)" } else { "" };
            format!("{}{deleted}", quote(&shown(&self.states.name(file))))
        };
        let changed: Vec<String> = changed.take(MOST_CHANGED).map(told).collect();
        if let Some(newest) = self.ledger.files.last().filter(|_| !changed.is_empty()) {
            let item = format!("Changed since the last commit, not committed yet: {}", changed.join(", "));
            self.pool.add(Section::InProgress, &item, Origin::at(newest.position), Rank::Normal);
        }
        self.unpushed();
        let named = self.ledger.statements.iter().rev().find_map(|one| Some((pull_request(&one.text)?, one)));
        if let Some((name, statement)) = named {
            self.pool.add(
                Section::CriticalContext,
                &format!("Pull request named last: {name}"),
                Origin::of(statement.position, &statement.sources),
                Rank::Normal,
            );
        }
    }

    /// Position of the last commit, or of the last time that the branch was moved back.
    fn committed_at(&self) -> Option<u64> {
        let milestones = self.ledger.statements.iter().filter(|one| one.voice == Voice::Milestone);
        let is_clean = |text: &str| text.starts_with(COMMITTED) || text.starts_with(RESET_TO);
        milestones.filter(|one| is_clean(&one.text)).map(|one| one.position).max()
    }

    /// What the newest changes of the last files did that no commit has, as far as they stand.
    pub(super) fn changes(&mut self) {
        let committed_at = self.committed_at().unwrap_or_default();
        let mut changed: Vec<&FileRecord> = self.ledger.files.iter().filter(|file| file.is_modified()).collect();
        changed.sort_by_key(|file| file.changed_at);
        // A working tree may lie in such a directory itself.
        let are_hidden = changed.iter().all(|file| is_hidden(file));
        let is_told = |file: &FileRecord| !self.states.is_file_taken_back(file) && (are_hidden || !is_hidden(file));
        let newest = changed.iter().rev().filter(|file| is_told(file));
        for file in newest.take(MOST_FILES_CHANGED).filter(|file| file.changed_at >= committed_at) {
            let path = shown(&file.path);
            let own = base_name(&file.path);
            let is_only = changed.iter().filter(|other| base_name(&other.path) == own).count() == 1;
            let parts = if is_only { 1 } else { PARTS_OF_ALIKE };
            let name = quote(end_of(&shown(&self.states.name(file)), parts));
            // An earlier summary may tell of a file by its name alone.
            let is_it = |change: &&ShownResult| change.target == path || change.target == own;
            if let Some(change) = self.ledger.changes.iter().find(is_it) {
                let item = format!("{CHANGED}{name}: {}", change.text);
                let origin = Origin { position: file.changed_at, times: 1, sources: Some(&file.sources) };
                self.pool.add(self.details(), &item, origin, Rank::Low);
            }
        }
    }

    /// The section for what was changed and run, which says how and not what was done.
    fn details(&self) -> Section {
        if self.kind == SummaryKind::TurnPrefix { Section::EarlyProgress } else { Section::CriticalContext }
    }

    /// Successful commands, for conversations with few statements. The lists of files have the files.
    pub(super) fn actions(&mut self) {
        let commands = || self.ledger.commands.iter().filter(|command| command.succeeded > 0);
        let mut positions: Vec<u64> = commands().map(|command| command.position).collect();
        positions.sort_unstable();
        // A section takes the newest actions and those that match the focus.
        let oldest = positions.iter().rev().nth(MOST_ACTIONS).copied().filter(|_| !self.pool.has_focus());
        let oldest = oldest.unwrap_or_default();
        // The last outcome of a test, a build or a linter that counts nothing is told nowhere else.
        let checks = self.checks_of(self.ledger);
        let passed = checks.passed();
        let changed_at = self.ledger.code_changed_at();
        // Edits without a file add nothing if the files are listed.
        let has_changes = self.ledger.files.iter().any(|file| file.written + file.edited > 0);
        // A commit or a push has a line of its own.
        let milestones = self.ledger.statements.iter().filter(|one| one.voice == Voice::Milestone);
        let milestones: HashSet<u64> = milestones.map(|one| one.position).collect();
        let is_told = |command: &&CommandRecord| {
            has_changes && command.is_call && edits_files(&command.command)
                || milestones.contains(&command.position) && !command.is_call && !is_check(&command.command)
        };
        for command in commands().filter(|command| command.position >= oldest && !is_told(command)) {
            let name = match command.is_call {
                true => quote(&shown(&command.command)),
                false => quote(&clip_command(&shown(&command.command), LONGEST_COMMAND)),
            };
            let position = command.position;
            let is_check =
                passed.iter().any(|(at, check)| *at == position && *check == shown_command(&command.command));
            let origin = Origin { position, times: command.succeeded, sources: Some(&command.sources) };
            let verb = if command.is_call { "Called" } else { "Ran" };
            // A later run of the same program has a result.
            let is_counted = || {
                let own = programs(&command.command);
                let counted = self.standing.iter().filter(|one| one.position > position);
                let mut counted = counted.filter_map(|one| one.text.strip_prefix('`')?.split_once('`'));
                counted.any(|(run, _)| programs(run).iter().any(|one| own.contains(one)))
            };
            // An old success says nothing once a newer run of the same program is listed.
            let is_stale = || {
                let own = purposes(&command.command);
                let newer = passed.iter().filter(|(at, _)| changed_at > position && *at > position);
                newer.flat_map(|(_, other)| purposes(other)).any(|purpose| own.contains(&purpose))
            };
            match is_check && !is_counted() {
                true if is_stale() || changed_at > position && only_formats(&command.command) => {}
                true => {
                    let since = if changed_at > position { format!(" ({CHANGED_SINCE})") } else { String::new() };
                    let origin = Origin { times: 1, ..origin };
                    self.pool.add(self.details(), &format!("{verb} {name}{since}"), origin, Rank::Low);
                }
                false if changed_at > position && only_formats(&command.command) => {}
                // A lookup is not an action.
                false if !command.is_call && only_looks(&command.command) => {}
                false => self.pool.add(self.details(), &format!("{verb} {name}"), origin, Rank::Least),
            }
        }
    }

    /// Position at which the branch was last moved back.
    pub(super) fn reset_at(&self) -> u64 {
        let milestones = self.ledger.statements.iter().filter(|one| one.voice == Voice::Milestone);
        milestones.filter(|one| one.text.starts_with(RESET_TO)).map(|one| one.position).max().unwrap_or_default()
    }
}

/// Whether a file lies in a hidden directory, such as the notes of an agent.
fn is_hidden(file: &FileRecord) -> bool {
    let is_hidden = |part: &str| part.starts_with('.') && part.len() > "..".len();
    let directory = file.path.rsplit_once(['/', '\\']).map_or("", |(directory, _)| directory);
    directory.split(['/', '\\']).any(is_hidden)
}

/// The checks in a command without what they check: `pytest`, `npm run lint`.
pub(super) fn programs(command: &str) -> Vec<String> {
    let is_name = |word: &&str| !word.starts_with('-') && !word.contains(['/', '.', ':', '\\']);
    let name = |check: String| check.split(' ').take_while(is_name).collect::<Vec<_>>().join(" ");
    let checks = purposes(command).into_iter().filter(|purpose| is_check(purpose)).map(name);
    checks.filter(|name| !name.is_empty()).collect()
}

/// The pull request that a text names: its address, or its number.
fn pull_request(text: &str) -> Option<String> {
    if !PULL_REQUEST_MARKS.is_match(text) {
        return None;
    }
    let digits = |at: usize| {
        let rest = &text[at..];
        let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        (end > 0).then(|| at + end)
    };
    for mark in ADDRESS_MARKS {
        if let Some(end) = text.find(mark).and_then(|at| digits(at + mark.len())) {
            let mut words = text[..end].rsplit(|character: char| character.is_whitespace() || character == '(');
            return words.next().map(str::to_owned);
        }
    }
    NUMBER_MARKS.iter().find_map(|mark| {
        let at = text.rfind(mark)? + mark.len();
        Some(format!("#{}", &text[at..digits(at)?]))
    })
}
