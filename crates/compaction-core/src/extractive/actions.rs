//! What tools did: calls paired with their results, and what of it failed for good.

use std::collections::{HashMap, HashSet};

use super::commands::{core_command, is_lookup, succeeded_with};
use super::pool::{Pool, Rank};
use super::previous::{FAILED, NO_RESULT};
use super::subject::{Deed, LONGEST_TEXT, Subject, shown, subject_of};
use super::text::{clip, one_line, quote};
use crate::message::{Assistant, BashExecution, ToolCall};
use crate::summary::Section;
use crate::text::{prefix_utf16, suffix_utf16};

const ERROR_WORDS: &[&str] = &[
    "error",
    "failed",
    "failure",
    "exception",
    "panicked",
    "not found",
    "cannot",
    "can't",
    "no such",
    "denied",
    "undefined",
    "unexpected",
    "fatal",
    "could not",
    "unable",
    "refused",
    "timed out",
    "timeout",
];
/// What programs add below an output to tell how a command ended.
const TRAILERS: &[&str] = &["exited with code", "exit code", "exit status", "exited with status"];
const LOOKED_UP: &str = "Looked things up on the command line";
/// UTF-16 units at either end of a result in which its error is looked for.
const SEARCHED: usize = 6000;
/// Times that a command has to run before it counts as one of the project's commands.
const USUAL: u64 = 3;

/// Calls and outcomes so far.
#[derive(Debug, Default)]
pub(super) struct Actions<'a> {
    /// Calls without a result, by id, with their position.
    open: HashMap<&'a str, (usize, Subject)>,
    /// How often each deed succeeded, and where last.
    done: HashMap<Subject, (u64, usize)>,
    /// The last error of each target that nothing has resolved since.
    failed: HashMap<String, (usize, String)>,
    model_failure: Option<(usize, String)>,
    /// Position of the latest calls.
    last_call: usize,
    /// How many commands only looked something up, and the position of the last.
    lookups: (u64, usize),
}

impl<'a> Actions<'a> {
    pub(super) fn begin(&mut self, position: usize, call: &'a ToolCall) {
        self.last_call = position;
        self.open.insert(&call.id, (position, subject_of(call)));
    }

    /// Pairs a result with its call. A result without a call belongs to what was cut away before.
    pub(super) fn end(&mut self, position: usize, call_id: &str, output: &str, is_error: bool) {
        let Some((_, subject)) = self.open.remove(call_id) else {
            return;
        };
        if is_error {
            self.fail(position, subject, error_line(output));
        } else {
            self.succeed(position, subject);
        }
    }

    /// A command that the person ran.
    pub(super) fn note_command(&mut self, position: usize, bash: &BashExecution) {
        let command = one_line(&bash.command);
        match bash.exit_code {
            _ if bash.cancelled => {}
            Some(code) if code != 0 => {
                let error = format!("exit code {code}: {}", error_line(&bash.output));
                self.fail(position, (Deed::Run, command), error);
            }
            _ => self.succeed(position, (Deed::Run, command)),
        }
    }

    /// A request to the model that failed; a later answer resolves it.
    pub(super) fn note_failure(&mut self, position: usize, assistant: &Assistant) {
        self.model_failure = match (assistant.stop_reason.as_deref(), &assistant.error_message) {
            (Some("error"), Some(error)) => Some((position, clip(&one_line(error), LONGEST_TEXT))),
            _ => None,
        };
    }

    /// Notes an error. A lookup that found nothing is none, nor is what the person stopped.
    fn fail(&mut self, position: usize, (deed, target): Subject, error: String) {
        let is_lookup = deed == Deed::Run && is_lookup(&target);
        if is_lookup {
            self.lookups = (self.lookups.0 + 1, position);
        }
        let is_stop = error == "Command aborted" || error == "Operation aborted";
        if !is_lookup && !is_stop {
            self.failed.insert(core_of(deed, &target), (position, error));
        }
    }

    /// Notes a success, which resolves the errors of the same command however its output was shown,
    /// and those of each step of a chain.
    fn succeed(&mut self, position: usize, (deed, target): Subject) {
        if deed == Deed::Run && is_lookup(&target) {
            self.lookups = (self.lookups.0 + 1, position);
            return;
        }
        let core = core_of(deed, &target);
        match deed {
            Deed::Run => succeeded_with(&core).iter().for_each(|step| drop(self.failed.remove(step))),
            _ => drop(self.failed.remove(&core)),
        }
        let done = self.done.entry((deed, core)).or_default();
        *done = (done.0 + 1, position);
    }

    /// What was changed, run or called with success, as items name it.
    pub(super) fn names_changed(&self) -> HashSet<String> {
        self.done.keys().filter(|(deed, _)| *deed != Deed::Read).map(|(_, target)| shown(target)).collect()
    }

    /// The same with what was read.
    pub(super) fn names_done(&self) -> HashSet<String> {
        self.done.keys().map(|(_, target)| shown(target)).collect()
    }

    /// Adds what was done, what is going on and what failed.
    pub(super) fn report(self, pool: &mut Pool) {
        for ((deed, target), (times, position)) in sorted_by_position(self.done, |done| done.1) {
            let rank = if matches!(deed, Deed::Write | Deed::Edit) { Rank::Normal } else { Rank::Low };
            let item = format!("{} {}", deed.past(), quote(&shown(&target)));
            pool.add_counted(Section::Done, &item, position, rank, times);
            if deed == Deed::Run && times >= USUAL {
                let usual = format!("Command in use: {}", quote(&shown(&target)));
                pool.add(Section::CriticalContext, usual, position, Rank::Normal);
            }
        }
        if self.lookups.0 > 0 {
            pool.add_counted(Section::Done, LOOKED_UP, self.lookups.1, Rank::Low, self.lookups.0);
        }
        // An older call without a result was cut off; whatever came after it went on without it.
        let is_open = |(_, (position, _)): &(&str, (usize, Subject))| *position == self.last_call;
        for (_, (position, (deed, target))) in sorted_by_position(self.open, |open| open.0).into_iter().filter(is_open)
        {
            let item = format!("{} {}{NO_RESULT}", deed.past(), quote(&shown(&target)));
            pool.add(Section::InProgress, item, position, Rank::Normal);
        }
        for (target, (position, error)) in sorted_by_position(self.failed, |failed| failed.0) {
            let item = format!("{} {FAILED}{error}", quote(&shown(&target)));
            pool.add(Section::Blocked, item, position, Rank::Normal);
        }
        if let Some((position, error)) = self.model_failure {
            pool.add(
                Section::Blocked,
                format!("The last request to the model {FAILED}{error}"),
                position,
                Rank::Normal,
            );
        }
    }
}

/// What a deed is known by: commands by what they do, everything else by its target.
fn core_of(deed: Deed, target: &str) -> String {
    if deed == Deed::Run { core_command(target).to_owned() } else { target.to_owned() }
}

/// The entries of a map in an order that does not depend on hashing.
fn sorted_by_position<K: Ord, V>(map: HashMap<K, V>, position: impl Fn(&V) -> usize) -> Vec<(K, V)> {
    let mut entries: Vec<(K, V)> = map.into_iter().collect();
    entries.sort_by(|left, right| position(&left.1).cmp(&position(&right.1)).then_with(|| left.0.cmp(&right.0)));
    entries
}

/// The line of an output that tells best why it failed: the first with a word of failure, else the
/// last that says anything.
fn error_line(output: &str) -> String {
    let (start, end) = (prefix_utf16(output, SEARCHED), suffix_utf16(output, SEARCHED));
    let lines = || start.lines().chain(end.lines()).filter(|line| !line.trim().is_empty());
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        ERROR_WORDS.iter().any(|word| line.contains(word))
    };
    let is_trailer = |line: &&str| {
        let line = line.to_lowercase();
        TRAILERS.iter().any(|trailer| line.contains(trailer))
    };
    let told = lines().find(|line| tells(line) && !is_trailer(line));
    let last = || lines().rfind(|line| !is_trailer(line)).or_else(|| lines().next_back());
    let line = told.or_else(last).unwrap_or("no output");
    clip(&one_line(line), LONGEST_TEXT)
}

#[cfg(test)]
mod tests {
    use super::error_line;

    #[test]
    fn the_line_that_tells_why_is_found() {
        for (output, line) in [
            (
                "ssh: connect to host gate port 22: Connection timed out\n\nCommand exited with code 255",
                "ssh: connect to host gate port 22: Connection timed out",
            ),
            ("one\ntwo\n\nCommand exited with code 3", "two"),
            ("Command exited with code 3", "Command exited with code 3"),
            ("a\nerror: b\nc", "error: b"),
            ("", "no output"),
        ] {
            assert_eq!(error_line(output), line);
        }
    }
}
