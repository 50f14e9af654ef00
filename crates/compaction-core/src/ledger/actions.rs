//! Calls paired with their results, and the state of files and commands that follows from them.

mod failed_edits;
mod jobs;
mod subject;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use failed_edits::{Change, FailedEdits};
pub(super) use failed_edits::{REPLACED, begins_with, is_about};
use jobs::{Jobs, begins_agent};
pub(crate) use subject::{ActionKind, LONGEST_TEXT, Subject, shown, shown_call, subject_of};
use subject::{call_of_file, core_of, purposes_of};

use super::changes::Changes;
use super::commands::{
    core_command, is_goal, is_lookup, is_temporary, is_test, looks_up, only_looks, purposes, removed_files, steps_of,
    without_shell_setup,
};
use super::errors::{Errors, NO_OUTPUT, TestRun, error_line, is_trailer};
use super::failing::failing;
use super::last_step::tells;
use super::names::ending;
use super::notes::{
    COMMITTED, FAILED, LATEST_WORDS, LOOKED_UP, MOVED_BACK, NO_RESULT, Note, NoteKind, NoteList, RESET_TO, SO_FAR,
    SourcePosition, THE_LATEST, UNKNOWN, WORKING_ON,
};
use super::outcomes::{outcomes, says_denied, sentences_of, shown_command};
use super::person::words_in_result;
use super::refusals::RefusedCalls;
use super::repository::{ended_operation, is_about_step, is_named, renaming};
use super::results::{Results, ShownResult, without_frame};
use super::terms::TextHashing;
use super::text::{clip, one_line, quoted};
use super::{CommandRecord, FileRecord, Ledger, Outcome, Voice};
use crate::message::{BashExecution, Message, ToolCall};
use crate::text::suffix_utf16;
use crate::tools::{
    FileAccess, FileTools, FileUse, Plan, ToolAction, classify, failed_edits, files_done, files_of_run, has_failed,
    ignored_by, is_approval, is_interruption, is_listed, is_refusal, plan_items, printed_and_failed, printed_text,
    proposed_edits, reported_edits, running, unapplied,
};

/// Most known files that are searched for the one that a call means.
const MOST_NAMED: usize = 512;
/// Most commands that are kept: the newest and the most frequent ones.
const MOST_COMMANDS: usize = 400;
/// Most UTF-16 units of a failed command in a statement.
const LONGEST_FAILED: usize = 100;
/// Most files that are kept: the newest ones.
const MOST_FILES: usize = 2000;
/// Most renaming commands whose file names are compared with all files.
const MOST_RENAMINGS: usize = 256;
/// Most deleted paths that are compared with all files.
const MOST_DELETIONS: usize = 1024;
/// UTF-16 units at the end of the words before a call that are searched for the file of the call.
const LAST_WORDS: usize = 240;
/// Commands that change the branch.
const SWITCHING: &[&str] = &["git checkout", "git switch"];
/// How their results say so.
const SWITCHED: &[&str] = &["Switched to ", "HEAD is now at "];
/// The tool, or the command of a tool, that undoes the last change of a file.
const UNDO: &str = "undo_edit";
/// What the arguments of a call contain.
pub(super) struct CallContent {
    /// Sentences in its arguments.
    pub(super) sentences: Vec<(Voice, String)>,
    /// Whether it changes files.
    pub(super) changes_files: bool,
    /// The plan that it writes down.
    pub(super) plan: Option<Plan>,
    /// Whether it is a step of the work, and not a plan or a thought.
    pub(super) is_step: bool,
}

/// Calls and outcomes so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Actions<'a> {
    /// Calls without a result, by id.
    open: HashMap<String, (SourcePosition<'a>, Subject, ToolAction), TextHashing>,
    files: HashMap<String, FileRecord, TextHashing>,
    commands: HashMap<String, CommandRecord, TextHashing>,
    /// Files that these messages changed or read, as items name them.
    changed: HashSet<String, TextHashing>,
    /// Commands that they ran successfully, as items name them.
    done: HashSet<String, TextHashing>,
    /// Position of the latest call.
    last_call: u64,
    /// Whether the agent marks failed commands as errors, so that all others have succeeded.
    tells_failures: bool,
    /// Position of the latest commit.
    committed_at: u64,
    /// Position of the latest change to another branch.
    switched_at: u64,
    /// Position of the latest change of a file.
    changed_at: u64,
    /// Positions of the latest call that edited a file and of the latest command that removed one.
    edited_at: u64,
    removed_at: u64,
    /// Position of the latest change that a person refused.
    refused_change_at: u64,
    /// Position of the latest edit that failed.
    failed_change_at: u64,
    /// Position of the latest change of a file that nothing names.
    unnamed_change_at: u64,
    /// Number of commands that renamed a file.
    renamings: usize,
    /// Number of paths that were deleted.
    deletions: usize,
    lookups: u64,
    /// What open calls change in files, by the ids of the calls.
    adding: HashMap<String, Change<'a>, TextHashing>,
    failed_edits: FailedEdits<'a>,
    /// What the newest calls showed.
    results: Results<'a>,
    /// What the newest changes did.
    changes: Changes<'a>,
    /// Files with edits in the text of answers.
    proposed: Vec<(SourcePosition<'a>, String)>,
    /// Whether a tool was called or an edit was reported as done. Then edits in answers prove nothing.
    has_calls: bool,
    /// The directory in which commands run.
    directory: Option<String>,
    /// The end of the newest words of the model.
    words: String,
    /// The first two files that were read or changed since the person's last message.
    of_turn: Vec<String>,
    jobs: Jobs,
    /// Calls that the person refused.
    refused: RefusedCalls<'a>,
    /// The newest commands, oldest first.
    newest_runs: VecDeque<String>,
    /// Positions of the commands that gave up a merge or a rebase and of the commit before it, with its name.
    given_up: Vec<(u64, u64, &'static str)>,
    /// Position of the newest command that continued or gave up a merge or a rebase.
    merge_ended_at: u64,
}

/// Number of newest commands that are kept.
const MOST_NEWEST: usize = 8;
/// Longest command that is kept, in bytes.
const LONGEST_NEWEST: usize = 2000;

impl<'a> Actions<'a> {
    pub(super) fn restore(&mut self, previous: &Ledger) {
        self.files.extend(previous.files.iter().map(|file| (file.path.clone(), file.clone())));
        self.commands.extend(previous.commands.iter().map(|command| (command.command.clone(), command.clone())));
        self.results.restore(&previous.results);
        self.changes.restore(&previous.changes);
        self.directory.clone_from(&previous.directory);
        self.refused.restore(previous.notes_of(NoteKind::Decision).map(|note| note.text.as_str()));
    }

    /// The directory in which commands run.
    pub(super) fn take_directory(&mut self) -> Option<String> {
        self.directory.take()
    }

    /// Records a call in `message`. Returns its sentences, its plan, and whether it changes files.
    pub(super) fn begin(
        &mut self,
        place: SourcePosition<'a>,
        message: &'a Message,
        call: &ToolCall,
        tools: &FileTools,
    ) -> CallContent {
        self.last_call = place.position;
        self.has_calls = true;
        let action = classify(call, tools);
        if is_listed(call, tools) {
            action.files().iter().for_each(|file| {
                self.touch(&file.path, place);
            });
        }
        let plan = match &action {
            ToolAction::Plan(plan) => Some(plan.clone()),
            // Some agents send their task list along with any call.
            _ if call.arguments.as_ref().is_some_and(|arguments| arguments.get("task_progress").is_some()) => {
                plan_items(call)
            }
            _ => None,
        };
        let content = CallContent {
            sentences: sentences_of(call, &action),
            changes_files: action.changes_files(),
            plan,
            is_step: tells(call, &action),
        };
        if content.changes_files {
            let verb = call.arguments.as_ref().and_then(|arguments| arguments.get("command")?.as_str());
            let undoes = [Some(call.name.as_str()), verb].contains(&Some(UNDO));
            self.adding.insert(call.id.clone(), Change { message, undoes });
        }
        let mut subject = subject_of(call, &action);
        if subject.0 == ActionKind::Run {
            if self.newest_runs.len() == MOST_NEWEST {
                self.newest_runs.pop_front();
            }
            if subject.1.len() <= LONGEST_NEWEST {
                self.newest_runs.push_back(subject.1.clone());
            }
            subject.1 = self.told(subject.1);
        } else if matches!(action, ToolAction::OpenFile(_)) {
            let file = self.meant_file();
            subject.1 = call_of_file(&call.name, file.as_deref());
        }
        self.jobs.note_call(call);
        self.open.insert(call.id.clone(), (place, subject, action));
        content
    }

    /// Whether one of the newest commands is `command` or ends with it.
    pub(super) fn has_run(&self, command: &str) -> bool {
        self.newest_runs.iter().any(|run| core_command(run).ends_with(command))
    }

    /// Records words of the model.
    /// `is_all_done` says that nothing is left to do. Then no agent works any more.
    pub(super) fn note_words(&mut self, text: &str, is_all_done: bool) {
        self.jobs.note_ends(text);
        if is_all_done {
            self.jobs.end_agents();
        }
        suffix_utf16(text.trim_end(), LAST_WORDS).clone_into(&mut self.words);
    }

    /// Records words of a person, which begin a new turn.
    pub(super) fn begin_turn(&mut self) {
        self.words.clear();
        self.of_turn.clear();
        self.jobs.begin_turn();
    }

    /// Records a text that a harness wrote.
    pub(super) fn note_notice(&mut self, text: &str) {
        self.jobs.note_notice(text);
    }

    /// The commands that run in the background, the oldest first.
    pub(super) fn take_jobs(&mut self) -> Vec<String> {
        std::mem::take(&mut self.jobs).finish()
    }

    /// The file that a call means if it names none: the one that the words right before it name, or else the only file
    /// of the turn.
    fn meant_file(&self) -> Option<String> {
        let is_around = |character: char| character.is_whitespace() || "`'\"()[]<>@,;*".contains(character);
        let named = self.words.split(is_around).map(|word| word.trim_end_matches(['.', ':', '!', '?']));
        let named: HashSet<&str> = named.filter(|word| ending(word).is_some() && !word.contains("://")).collect();
        let mut all = named.into_iter();
        match (all.next(), all.next()) {
            (Some(one), None) => {
                // Each call searches the files, so a very long list is not searched.
                let all = if self.files.len() <= MOST_NAMED { MOST_NAMED } else { 0 };
                let mut known = self.files.keys().take(all).filter(|path| is_named(path, one));
                let path = known.next().filter(|_| known.next().is_none());
                Some(path.map_or_else(|| one.to_owned(), Clone::clone))
            }
            (None, _) => Some(self.of_turn.first()?.clone()).filter(|_| self.of_turn.len() == 1),
            _ => None,
        }
    }

    /// A command as items show it, without the change into its directory.
    fn told(&mut self, command: String) -> String {
        let own = without_shell_setup(&command, &mut self.directory);
        if own.len() == command.len() { command } else { own.into_owned() }
    }

    /// Whether the call asks the person a question.
    pub(super) fn asks(&self, call_id: &str) -> bool {
        self.open.get(call_id).is_some_and(|(_, _, action)| matches!(action, ToolAction::Ask(_)))
    }

    /// Whether the result of a call may show a plan that is not in its arguments.
    pub(super) fn shows_plan(&self, call_id: &str) -> bool {
        self.open.get(call_id).is_some_and(|(_, (_, target), action)| match action {
            ToolAction::Plan(plan) => plan.merges || plan.items.is_empty(),
            // Other lists with states are tickets.
            ToolAction::Other | ToolAction::Search => {
                let name = target.split('(').next().unwrap_or_default().to_lowercase();
                ["todo", "plan", "task"].iter().any(|word| name.contains(word))
            }
            _ => false,
        })
    }

    /// Whether a call writes a whole plan.
    pub(super) fn writes_plan(&self, call_id: &str) -> bool {
        let action = self.open.get(call_id).map(|(_, _, action)| action);
        matches!(action, Some(ToolAction::Plan(plan)) if !plan.merges && !plan.items.is_empty())
    }

    /// Pairs a result with its call and returns the statements that it makes. `message` is the result, if the result is
    /// a message of its own. A result without a call belongs to an earlier part and is ignored. A refusal by the person
    /// is not a failure.
    pub(super) fn end(
        &mut self,
        place: SourcePosition<'a>,
        call_id: &str,
        message: Option<&'a Message>,
        output: &str,
        is_error: bool,
        errors: &mut Errors,
    ) -> Vec<(Voice, String)> {
        self.jobs.end_reading(call_id, output);
        let Some((_, mut subject, action)) = self.open.remove(call_id) else { return Vec::new() };
        let added = self.adding.remove(call_id);
        let is_run = matches!(action, ToolAction::Run { .. });
        let (printed, told) = match is_run {
            true => printed_and_failed(output, is_error),
            false => (Cow::Borrowed(output), None),
        };
        let printed = if is_run { without_frame(&printed) } else { &*printed };
        let job = if is_run { running(output) } else { None };
        if let Some(id) = job {
            self.jobs.begin(id, &shown(&subject.1));
        } else if !is_run && begins_agent(output) {
            self.jobs.begin_agent(&shown(&subject.1));
        }
        let has_failed = if is_run { told == Some(true) } else { has_failed(&action, output, is_error) };
        if (is_error || has_failed) && is_refusal(output) {
            errors.refuse(&shown(&core_of(subject.0, &subject.1)), output, place);
            self.note_refusal(place, &subject, &action, output);
            return Vec::new();
        }
        if let Some(list) = ignored_by(output).filter(|_| has_failed && !is_run) {
            errors.skip(&shown(&core_of(subject.0, &subject.1)), list, place);
            return Vec::new();
        }
        if is_run && is_approval(printed) {
            self.note_approved(place, &subject);
            let is_told = purposes(&subject.1).iter().any(|purpose| !looks_up(purpose));
            let line = format!("`{}`{UNKNOWN}", shown_command(&subject.1));
            return is_told.then_some((Voice::Action, line)).into_iter().collect();
        }
        let known = || -> Box<dyn Iterator<Item = &str>> { Box::new(self.files.keys().map(String::as_str)) };
        let files = match &action {
            ToolAction::Run { files, .. } => files_of_run(files, printed, known),
            _ => files_done(&action, output, || has_failed, known),
        };
        if let (ToolAction::OpenFile(_), Some(file)) = (&action, files.first()) {
            subject.1 = call_of_file(subject.1.split('(').next().unwrap_or_default(), Some(&file.path));
        }
        let undoes = added.as_ref().is_some_and(|added| added.undoes);
        let is_gone = |file: &&FileUse| undoes || file.access == FileAccess::Delete;
        let gone: Vec<&FileUse> = files.iter().filter(is_gone).collect();
        let are_gone = gone.len() == files.len();
        let deleted = gone.iter().filter(|file| !has_failed && file.access == FileAccess::Delete);
        let deleted: Vec<String> = deleted.map(|file| file.path.clone()).collect();
        gone.into_iter().for_each(|file| {
            errors.resolve_naming(&file.path);
            self.changes.forget(&file.path);
        });
        let of_files: Vec<Subject> =
            files.into_iter().map(|file| (ActionKind::of_file(file.access), file.path)).collect();
        self.tells_failures |= is_error && is_run;
        let is_told = has_failed || is_run && (self.tells_failures || told.is_some());
        if !has_failed {
            self.edited_at = if added.is_some() { place.position } else { self.edited_at };
            let is_shown = match action {
                ToolAction::Run { .. } | ToolAction::Other => true,
                // A single line only says that something was found.
                ToolAction::Search => output.trim().contains('\n'),
                _ => false,
            };
            match (added, of_files.first(), message) {
                (Some(added), Some((kind, path)), _) if !are_gone => {
                    let is_whole = *kind == ActionKind::Write;
                    // Nobody knows what is new in a file that was written anew.
                    let was_there = |file: &FileRecord| file.written == 0 && file.read + file.edited > 0;
                    if is_whole && self.files.get(path).is_some_and(was_there) {
                        self.changes.forget(path);
                    } else {
                        self.changes.note(path, added.message, Some(call_id), is_whole);
                    }
                }
                // A file can be read again. An environment may contain secrets that no rule recognises.
                (None, None, Some(message)) if is_shown && !prints_environment(&subject.1) => {
                    self.results.note_output(&subject.1, message);
                }
                _ => {}
            }
        }
        let outcomes = outcomes(&action, &subject, printed, is_told.then_some(has_failed));
        let mut statements = outcomes.statements;
        self.follow_branches(place.position, &action, output, &mut statements);
        let has_succeeded = !has_failed && outcomes.failure.is_none();
        self.end_conflicts(place.position, &action, &statements, has_succeeded, errors);
        let failed_run = (is_run && (has_failed || outcomes.failure.is_some())).then(|| subject.1.clone());
        if let Some(line) = outcomes.failure {
            self.fail(place, subject, &line, errors);
        } else if has_failed {
            let line = match is_run {
                true => error_line(printed),
                false => error_line(&printed_text(output)),
            };
            let failed =
                || (Voice::Action, format!("{}{FAILED}{line}", quote_shown(&clip(&subject.1, LONGEST_FAILED))));
            if statements.is_empty() && line != NO_OUTPUT && !is_trailer(&line) {
                statements.push(failed());
            }
            // A failed search is repeated in another way or dropped.
            let is_search = matches!(action, ToolAction::Search | ToolAction::Plan(_));
            if is_search {
                errors.add(Some(&shown(&subject.1)), &line, place, true);
            } else if let Some(added) = added {
                let lines = self.failed_edits.lines_of(added, call_id);
                let subject = failed_file(action.files(), &line).unwrap_or(subject);
                self.fail_edit(place, subject, &line, &lines, errors);
            } else {
                self.fail(place, subject, &line, errors);
            }
        } else if is_told_as_action(&action) && job.is_none() {
            self.succeed(place, subject, 1, errors);
        }
        // Other programs print names that are not checks.
        if let Some(run) = failed_run.filter(|run| purposes(run).iter().any(|purpose| is_goal(purpose))) {
            errors.name_failing(&shown(core_command(&run)), place.position, failing(printed));
        }
        if !has_failed && of_files.is_empty() && matches!(action, ToolAction::OpenFile(_)) && action.changes_files() {
            self.unnamed_change_at = place.position;
        }
        let part = added.as_ref().filter(|_| !has_failed).and_then(|_| unapplied(output));
        let in_part = part.and_then(|_| of_files.first().cloned());
        for (kind, path) in of_files {
            if self.failed_edits.contains(&path) {
                let lines = added.map(|added| self.failed_edits.lines_of(added, call_id)).unwrap_or_default();
                self.retry(kind, &path, &lines, errors);
            }
            self.succeed(place, (kind, path), 1, errors);
        }
        deleted.iter().for_each(|path| self.delete(path, place.position));
        if let (Some(line), Some(subject)) = (part, in_part) {
            self.fail_edit(place, subject, line, &[], errors);
        }
        statements
    }

    /// Follows commits and changes of the branch. Moving a branch back does not lose the commits of another branch.
    fn follow_branches(
        &mut self,
        position: u64,
        action: &ToolAction,
        output: &str,
        statements: &mut Vec<(Voice, String)>,
    ) {
        let ToolAction::Run { command, .. } = action else { return };
        if statements.iter().any(|(_, line)| line.starts_with(COMMITTED)) {
            self.committed_at = position;
            self.changes.forget_all();
        }
        let goes = SWITCHING.iter().any(|verb| command.contains(verb));
        if goes && SWITCHED.iter().any(|words| output.contains(words)) {
            self.switched_at = position;
        }
        if self.switched_at > self.committed_at {
            statements.retain(|(_, line)| !line.starts_with(RESET_TO) && !line.starts_with(MOVED_BACK));
        }
        // Only the names of files that the tools worked on matter.
        if statements.iter().any(|(_, line)| renaming(line).is_some()) {
            self.renamings += 1;
            let may_compare = self.renamings <= MOST_RENAMINGS;
            let is_known = |name: &str| may_compare && self.files.keys().any(|path| is_named(path, name));
            statements.retain(|(_, line)| renaming(line).is_none_or(|(old, _)| is_known(old)));
        }
    }

    /// Ends the conflicts before a commit, or before the command that continues or gives up a merge or a rebase.
    fn end_conflicts(
        &mut self,
        position: u64,
        action: &ToolAction,
        statements: &[(Voice, String)],
        has_succeeded: bool,
        errors: &mut Errors,
    ) {
        let ToolAction::Run { command, .. } = action else { return };
        let ended = if has_succeeded { ended_operation(command) } else { None };
        if ended.is_some() || statements.iter().any(|(_, line)| line.starts_with(COMMITTED)) {
            errors.resolve_conflicts();
        }
        if ended.is_some() {
            self.merge_ended_at = position;
        }
        if let Some((verb, true)) = ended {
            self.given_up.push((position, self.committed_at, verb));
        }
    }

    /// Records an edit that failed. The file is blocked until a later edit replaces the failed one.
    fn fail_edit(
        &mut self,
        place: SourcePosition<'_>,
        subject: Subject,
        line: &str,
        added: &[u64],
        errors: &mut Errors,
    ) {
        self.failed_edits.add(&subject.1, added);
        self.failed_change_at = place.position;
        self.fail(place, subject, line, errors);
    }

    /// Records an edit that succeeded. It resolves the failed edits of the file that it replaces. Writing the whole
    /// file resolves all of them.
    fn retry(&mut self, kind: ActionKind, path: &str, added: &[u64], errors: &mut Errors) {
        if kind != ActionKind::Read && self.failed_edits.retry(path, added, kind == ActionKind::Write) {
            errors.resolve(Some(&shown(path)));
        }
    }

    /// Records that the model ended its turn. A failed edit is settled if a later edit of its file succeeded.
    pub(super) fn end_turn(&mut self, errors: &mut Errors) {
        for path in self.failed_edits.take_retried() {
            errors.resolve(Some(&shown(&path)));
        }
    }

    /// Position of the newest command that continued or gave up a merge or a rebase.
    pub(super) fn merge_ended_at(&self) -> u64 {
        self.merge_ended_at
    }

    /// Position of the latest call.
    pub(super) fn last_call(&self) -> u64 {
        self.last_call
    }

    /// Whether the conversation continued after a call without a result.
    pub(super) fn has_waited(&self) -> bool {
        self.open.values().any(|(place, ..)| place.position != self.last_call)
    }

    /// Treats all open calls as successful. This is for branches, whose messages have no results.
    pub(super) fn end_all(&mut self, errors: &mut Errors) {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_by(|left, right| (left.1.0.position, &left.0).cmp(&(right.1.0.position, &right.0)));
        for (_, (place, subject, action)) in open {
            let files = action.files().iter().map(|file| (ActionKind::of_file(file.access), file.path.clone()));
            let subject = Some(subject).filter(|_| !matches!(action, ToolAction::Files(_)));
            subject.into_iter().chain(files).for_each(|subject| self.succeed(place, subject, 1, errors));
        }
    }

    /// Records a command that the person ran.
    pub(super) fn note_command(&mut self, place: SourcePosition<'a>, bash: &BashExecution, errors: &mut Errors) {
        let command = self.told(one_line(&bash.command));
        match bash.exit_code {
            _ if bash.cancelled => {}
            Some(code) if code != 0 => {
                let error = format!("exit code {code}: {}", error_line(&bash.output));
                let subject = shown(core_command(&command));
                // Other programs print names that are not checks.
                let is_check = purposes(&command).iter().any(|purpose| is_goal(purpose));
                self.fail(place, (ActionKind::Run, command), &error, errors);
                if is_check {
                    errors.name_failing(&subject, place.position, failing(&bash.output));
                }
            }
            _ => self.succeed(place, (ActionKind::Run, command), 1, errors),
        }
    }

    /// Records an error. A lookup without results is not an error, and neither is a call that the person interrupted.
    fn fail(&mut self, place: SourcePosition<'_>, (kind, target): Subject, error: &str, errors: &mut Errors) {
        if error == "Command aborted" || error == "Operation aborted" {
            return;
        }
        // A program that may not do its work stops it, even if it was only asked for its state.
        let is_lookup = kind == ActionKind::Run && only_looks(&target) && !says_denied(error);
        let core = core_of(kind, &target);
        if is_lookup {
            self.lookups += 1;
            if error != NO_OUTPUT && !is_trailer(error) && error.contains(": ") {
                errors.add(Some(&shown(&core)), error, place, true);
            }
            return;
        }
        // A file that could not be read needs no follow-up. An error without a message says nothing.
        let is_silent = error == NO_OUTPUT || is_trailer(error) && !error.contains(": ");
        let purposes = purposes_of(kind, &target);
        let is_goal = || kind == ActionKind::Run && purposes.iter().any(|purpose| is_goal(purpose));
        let is_settled = kind == ActionKind::Read || is_silent && (!is_goal() || errors.is_open(&purposes));
        // A failure without a message would hide the reason of the one before it.
        if !is_settled {
            errors.repeat_purposes(&purposes, &test_run(kind, &target));
        }
        errors.add(Some(&shown(&core)), error, place, is_settled);
        if let Some(command) = self.command(kind, &core, place) {
            command.failed = command.failed.saturating_add(1);
            command.outcome = Outcome::Failed;
            command.last_error = Some(error.to_owned());
        }
    }

    /// Records a call that a person refused. The words tell what is to be done instead; without any, only a run is told.
    fn note_refusal(&mut self, place: SourcePosition<'a>, subject: &Subject, action: &ToolAction, refusal: &str) {
        if action.changes_files() {
            self.refused_change_at = place.position;
        }
        let said = words_in_result(refusal, false);
        let is_told = match action {
            ToolAction::Ask(_) | ToolAction::Finish(_) => false,
            ToolAction::Run { .. } => said.is_some() || !is_interruption(refusal) && !only_looks(&subject.1),
            _ => said.is_some(),
        };
        if is_told {
            let call = core_of(subject.0, &subject.1);
            let tool = call.split('(').next().filter(|_| matches!(action, ToolAction::Plan(_)));
            self.refused.add(subject.0, &shown(tool.unwrap_or(&call)), said.as_deref(), place);
        }
    }

    /// Records a command that a person let run, if nothing says what came of it.
    fn note_approved(&mut self, place: SourcePosition<'_>, (kind, target): &Subject) {
        if let Some(command) = self.command(*kind, &core_of(*kind, target), place) {
            command.outcome = Outcome::Open;
        }
    }

    /// Records a success. It resolves the errors of the same command, however its output was shaped, and those of each
    /// step of a chain.
    pub(super) fn succeed(
        &mut self,
        place: SourcePosition<'_>,
        (kind, target): Subject,
        times: u64,
        errors: &mut Errors,
    ) {
        if kind == ActionKind::Run {
            errors.resolve_replaced(&target);
        }
        if kind == ActionKind::Run && is_lookup(&target) {
            self.lookups += 1;
            return;
        }
        let core = core_of(kind, &target);
        let core_shown = shown(&core);
        // Agents read a file again after an edit of it failed.
        if kind == ActionKind::Read {
            errors.resolve_missing(&core_shown);
        } else if !self.failed_edits.contains(&core) {
            errors.resolve(Some(&core_shown));
        }
        if kind == ActionKind::Run {
            steps_of(&core).iter().for_each(|step| errors.resolve(Some(&shown(step))));
            for path in removed_files(&core) {
                if !is_temporary(path) {
                    self.removed_at = place.position;
                }
                errors.resolve_naming(path);
                self.changes.forget(path);
                self.delete(path, place.position);
            }
        }
        let purposes = purposes_of(kind, &target);
        errors.resolve_purposes(&purposes, &test_run(kind, &target));
        if kind != ActionKind::Read {
            self.refused.end(kind, &core_shown, &purposes);
        }
        if kind == ActionKind::Run && is_test(&core) {
            errors.pass_tests(&core_shown);
        }
        if place.position > 0 {
            if kind != ActionKind::Read && !self.changed.contains(&core_shown) {
                self.changed.insert(core_shown.clone());
            }
            self.done.insert(core_shown);
        }
        if let Some(command) = self.command(kind, &core, place) {
            command.succeeded = command.succeeded.saturating_add(times);
            command.outcome = Outcome::Succeeded;
        } else {
            self.note_change(kind, place);
            if self.of_turn.len() < 2 && !self.of_turn.contains(&core) {
                self.of_turn.push(core.clone());
            }
            let file = self.touch(&core, place);
            if kind != ActionKind::Read {
                file.changed_at = file.changed_at.max(place.position);
                file.deleted_at = 0;
            }
            let count = match kind {
                ActionKind::Write => &mut file.written,
                ActionKind::Edit => &mut file.edited,
                _ => &mut file.read,
            };
            *count = count.saturating_add(times);
        }
    }

    /// Records the edits that an answer reports, as done or failed, or contains.
    pub(super) fn note_edits(
        &mut self,
        text: &str,
        place: SourcePosition<'a>,
        message: &'a Message,
        errors: &mut Errors,
    ) {
        for (path, line) in failed_edits(text) {
            self.fail_edit(place, (ActionKind::Edit, path.to_owned()), line, &[], errors);
        }
        for path in reported_edits(text) {
            self.has_calls = true;
            self.retry(ActionKind::Edit, path, &[], errors);
            self.note_listed(ActionKind::Edit, path, place);
            self.changes.note(path, message, None, false);
        }
        self.proposed.extend(proposed_edits(text).into_iter().map(|path| (place, path.to_owned())));
    }

    /// Treats proposed edits as done if nothing else shows what was done.
    pub(super) fn take_proposals(&mut self) {
        for (place, path) in std::mem::take(&mut self.proposed) {
            if !self.has_calls {
                self.note_listed(ActionKind::Edit, &path, place);
            }
        }
    }

    /// Records a file from a list.
    pub(super) fn note_listed(&mut self, kind: ActionKind, path: &str, place: SourcePosition<'_>) {
        self.note_change(kind, place);
        let file = self.touch(path, place);
        let is_told = file.read + file.written + file.edited > 0;
        if kind != ActionKind::Read {
            file.changed_at = file.changed_at.max(place.position);
        }
        match kind {
            ActionKind::Read if !is_told => file.read = 1,
            ActionKind::Edit if !file.is_modified() => file.edited = 1,
            _ => {}
        }
    }

    fn note_change(&mut self, kind: ActionKind, place: SourcePosition<'_>) {
        if kind != ActionKind::Read {
            self.changed_at = self.changed_at.max(place.position);
        }
    }

    /// The files that were changed after a position, the newest first.
    pub(super) fn changed_since(&self, position: u64) -> Vec<&str> {
        super::changed_since(self.files.values(), position)
    }

    /// Position of the latest change of any file, named or not; 0 for none.
    pub(super) fn any_changed_at(&self) -> u64 {
        self.changed_at.max(self.unnamed_change_at)
    }

    /// Position of the latest change that a person refused; 0 for none.
    pub(super) fn refused_change_at(&self) -> u64 {
        self.refused_change_at
    }

    /// Position of the latest edit that failed; 0 for none.
    pub(super) fn failed_change_at(&self) -> u64 {
        self.failed_change_at
    }

    /// Whether a command removed a file since `position`, and no call edited one.
    pub(super) fn only_removed(&self, position: u64) -> bool {
        self.removed_at > position && self.edited_at <= position
    }

    /// Position of the latest change of a file; 0 if there is none.
    pub(super) fn changed_at(&self) -> u64 {
        self.changed_at
    }

    /// Records that a file or a directory was deleted. A relative path may be meant from any directory, so it counts only if
    /// it fits in one place.
    fn delete(&mut self, path: &str, position: u64) {
        let is_whole = path.starts_with('/');
        let path = path.trim_end_matches('/').trim_start_matches("./").trim_start_matches("~/");
        // Each deletion searches the files, so neither may have any number.
        self.deletions += 1;
        if path.is_empty() || self.files.len() > MOST_FILES || self.deletions > MOST_DELETIONS {
            return;
        }
        let place_in = |file: &str| {
            let is_in_it = |at: &usize| {
                let rest = &file[at + path.len()..];
                (*at == 0 || !is_whole && file[..*at].ends_with('/')) && (rest.is_empty() || rest.starts_with('/'))
            };
            file.match_indices(path).map(|(at, _)| at).find(is_in_it)
        };
        let mut places = self.files.keys().filter_map(|file| Some(&file[..place_in(file)?]));
        let Some(first) = places.next() else { return };
        if places.any(|other| other != first) {
            return;
        }
        for file in self.files.values_mut().filter(|file| place_in(&file.path).is_some()) {
            file.deleted_at = position;
        }
    }

    fn touch(&mut self, path: &str, place: SourcePosition<'_>) -> &mut FileRecord {
        let new = || FileRecord { path: path.to_owned(), ..FileRecord::default() };
        let file = self.files.entry(path.to_owned()).or_insert_with(new);
        file.position = file.position.max(place.position);
        place.entry.into_iter().for_each(|id| file.sources.add(id));
        file
    }

    /// The record of a command or call, with its position updated; `None` for files.
    fn command(&mut self, kind: ActionKind, core: &str, place: SourcePosition<'_>) -> Option<&mut CommandRecord> {
        if kind.is_of_file() {
            return None;
        }
        let is_call = kind == ActionKind::Call;
        let new = || CommandRecord { command: core.to_owned(), is_call, ..CommandRecord::default() };
        let command = self.commands.entry(core.to_owned()).or_insert_with(new);
        command.position = command.position.max(place.position);
        place.entry.into_iter().for_each(|id| command.sources.add(id));
        Some(command)
    }

    /// Updates notes of earlier summaries with what the messages did since. Finished work moves to
    /// Done. A blocker is dropped once its command or file succeeded.
    pub(super) fn settle(&self, first: u64, has_finished_turn: bool, notes: &mut NoteList) {
        let is_finished = |text: &str| match text.strip_prefix(WORKING_ON) {
            Some(_) => has_finished_turn,
            None => {
                let mut names = quoted(text).peekable();
                let is_changed = |name| self.changed.contains(name) || self.changed.contains(core_command(name));
                names.peek().is_some() && names.all(is_changed)
            }
        };
        for note in notes.take(NoteKind::Open, |note| note.position < first && is_finished(&note.text)) {
            let text = note.text.strip_prefix(WORKING_ON).unwrap_or(&note.text);
            let text = text.split_once(SO_FAR).map_or(text, |(text, _)| text.trim_end_matches([' ', '(']));
            let text = text.strip_suffix(NO_RESULT).unwrap_or(text);
            // The command record already shows that it ran.
            let is_named = [THE_LATEST, LATEST_WORDS].iter().any(|name| text.starts_with(name));
            if !note.text.ends_with(NO_RESULT) && !is_named {
                notes.add_times(
                    NoteKind::Done,
                    text,
                    SourcePosition { position: note.position, entry: None },
                    false,
                    Some(0),
                );
            }
        }
        let is_done = |name: &str| self.done.contains(name) || self.done.contains(core_command(name));
        let is_resolved = |text: &str| quoted(text).next().is_some_and(is_done);
        notes.take(NoteKind::Blocked, |note| note.position < first && is_resolved(&note.text));
    }

    /// Adds the calls that wait for a result, and the number of lookups.
    pub(super) fn report(&mut self, notes: &mut NoteList) {
        self.refused.report(notes);
        // A person may want it in another way.
        for (position, since, verb) in self.given_up.drain(..) {
            let is_over = |note: &Note| (since..position).contains(&note.position) && is_about_step(&note.text, verb);
            notes.take(NoteKind::Decision, is_over);
        }
        if self.lookups > 0 {
            let place = SourcePosition { position: self.last_call, entry: None };
            notes.add_times(NoteKind::Done, LOOKED_UP, place, true, Some(self.lookups));
        }
        // An older call without a result was cut off, and the conversation continued without it.
        let last_call = self.last_call;
        // A call that ends the task waits for the person.
        let is_open = |(place, _, action): &(SourcePosition<'_>, Subject, ToolAction)| {
            place.position == last_call && !matches!(action, ToolAction::Finish(_))
        };
        let mut open: Vec<_> = self.open.drain().filter(|(_, call)| is_open(call)).collect();
        open.sort_by(|left, right| left.1.1.cmp(&right.1.1));
        for (_, (place, (kind, target), _)) in open {
            notes.add(NoteKind::Open, &format!("{} {}{NO_RESULT}", kind.past(), quote_shown(&target)), place, false);
        }
    }

    /// Files and commands in the order of their last touch.
    pub(super) fn finish(self) -> (Vec<FileRecord>, Vec<CommandRecord>) {
        let mut files: Vec<_> = self.files.into_values().collect();
        files.sort_by(|left, right| (left.position, &left.path).cmp(&(right.position, &right.path)));
        let excess = files.len().saturating_sub(MOST_FILES);
        let mut commands: Vec<_> = self.commands.into_values().collect();
        let worth = |command: &CommandRecord| {
            command.position.saturating_add(8 * command.succeeded.saturating_add(command.failed).min(1 << 20))
        };
        commands.sort_by(|left, right| (worth(right), &left.command).cmp(&(worth(left), &right.command)));
        commands.truncate(MOST_COMMANDS);
        commands.sort_by(|left, right| (left.position, &left.command).cmp(&(right.position, &right.command)));
        (files.split_off(excess), commands)
    }

    /// Records what an earlier summary says about the changes of a file.
    pub(super) fn note_changes(&mut self, path: &str, text: &str) {
        self.changes.note_earlier(path, text);
    }

    /// What the newest changes of each file did.
    pub(super) fn take_changes(&mut self) -> Vec<ShownResult> {
        std::mem::take(&mut self.changes).finish()
    }

    /// What the newest calls showed.
    pub(super) fn take_results(&mut self) -> Vec<ShownResult> {
        std::mem::take(&mut self.results).finish()
    }

    pub(super) fn is_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }
}

fn test_run(kind: ActionKind, target: &str) -> TestRun {
    if kind == ActionKind::Run { TestRun::of(target) } else { TestRun::default() }
}

/// Whether a command prints an environment.
fn prints_environment(command: &str) -> bool {
    let mut words = command.split(|character: char| character.is_whitespace() || ";&|".contains(character));
    words.any(|word| matches!(word, "env" | "printenv") || word.contains(".env"))
}

/// The file that the line of an error names, if a call changes several.
fn failed_file(files: &[FileUse], line: &str) -> Option<Subject> {
    let mut named = files.iter().filter(|_| files.len() > 1).filter(|file| line.contains(&file.path));
    named.next().map(|file| (ActionKind::of_file(file.access), file.path.clone()))
}

/// Whether a call counts as an action. Files are recorded one by one, and sentences as statements.
fn is_told_as_action(action: &ToolAction) -> bool {
    matches!(action, ToolAction::Run { .. } | ToolAction::OpenFile(_) | ToolAction::Other)
}

fn quote_shown(target: &str) -> String {
    super::text::quote(&shown(target))
}
