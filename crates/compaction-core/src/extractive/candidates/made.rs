//! An open request whose work is done: a check passed after the last change, and only a commit or the answer is missing.

use super::Builder;
use super::runs::run;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::actions::shown_call;
use crate::ledger::choices::stems;
use crate::ledger::commands::{is_check, only_looks, purposes};
use crate::ledger::notes::{ANSWER_LEFT, COMMIT_LEFT, COMMITTED};
use crate::ledger::requests::WORK;
use crate::ledger::text::{WordList, normalised, quote, word_list};
use crate::ledger::{CommandRecord, Ledger, Outcome, Voice};
use crate::summary::Section;
use crate::text::utf16_len;
use crate::tools::PlanStatus;

/// Longest request that one call may carry out, in UTF-16 units.
const SHORT_REQUEST: usize = 80;
/// Words of a request for several things.
static SEVERAL: WordList = word_list!("made: several");
/// Words in the names of tools that only look something up.
const LOOKING: [&str; 9] = ["find", "search", "get", "list", "read", "fetch", "query", "show", "view"];
/// Fewest words that such a request shares with the call.
const FEWEST_SHARED: usize = 2;
/// Longest call in a step, in UTF-16 units.
const LONGEST_CALL: usize = 100;
/// Words with which a person asks for all of several tasks. Nobody knows here which of them are left.
static TO_THE_END: WordList = word_list!("made: to the end");

/// What shows that the work for a request is done.
struct Made {
    /// The check that passed after the last change.
    check: String,
    /// Whether a commit contains that change.
    is_committed: bool,
}

impl Builder<'_> {
    /// Adds the steps of the open request at `position`, if only a commit or its answer is left. Returns whether that is
    /// so.
    pub(super) fn answer_is_left(&mut self, request: &str, position: u64) -> bool {
        if let Some(call) = self.call_of_request(request, position) {
            let item = format!("{ANSWER_LEFT}{} was called for it", quote(&shown_call(call, LONGEST_CALL)));
            self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
            return true;
        }
        let Some(made) = self.made(request, position) else { return false };
        let commits = !made.is_committed && self.has_uncommitted();
        let (start, committed) = match (commits, made.is_committed) {
            (true, _) => (COMMIT_LEFT, ""),
            (false, true) => (ANSWER_LEFT, ", and the change is committed"),
            (false, false) => (ANSWER_LEFT, ""),
        };
        let item = format!("{start}{} passes since the last change{committed}", made.check);
        self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
        true
    }

    /// The newest call of a tool, if it is the only step for a short request and shares most of its words: `add it as a
    /// task` and `add_task`.
    fn call_of_request(&self, request: &str, position: u64) -> Option<&str> {
        let (ledger, since) = match self.turn {
            Some(turn) => (turn, 0),
            None => (self.ledger, position),
        };
        // One call may be one of several, or look for what is to be changed.
        let asks_for_more = || {
            let words = normalised(request);
            let has_number = words.bytes().any(|byte| byte.is_ascii_digit());
            has_number || SEVERAL.is_said_in(request, &words) || WORK.found_in(&words).nth(1).is_some()
        };
        if utf16_len(request) > SHORT_REQUEST || TO_THE_END.is_said(request) || asks_for_more() {
            return None;
        }
        let mut since_request = ledger.commands.iter().rev().take_while(|run| run.position > since);
        let last = since_request.next().filter(|run| run.is_call && run.outcome == Outcome::Succeeded)?;
        let is_only = since_request.next().is_none() && ledger.changed_at() <= since;
        let own = stems(request);
        let shared_with = |text: &str| {
            let words = stems(text);
            own.iter().filter(|stem| words.contains(stem)).count()
        };
        let name = last.command.split('(').next().unwrap_or_default();
        let shared = shared_with(&last.command);
        let looks = normalised(name).split_whitespace().any(|word| LOOKING.contains(&word));
        let is_asked = !looks && shared_with(name) > 0 && shared >= FEWEST_SHARED && shared * 2 >= own.len();
        let is_only = is_only && last.position == ledger.last_step.position;
        (is_only && is_asked).then_some(last.command.as_str())
    }

    /// What shows that the work for the request at `position` is done.
    fn made(&self, request: &str, position: u64) -> Option<Made> {
        let (ledger, since) = match self.turn {
            Some(turn) => (turn, 0),
            None => (self.ledger, position),
        };
        let changed_at = ledger.changed_at();
        let plan = &self.with_turn.plan;
        let is_task_open = || {
            let is_open = |status| plan.in_state(status).next().is_some();
            plan.position > since && (is_open(PlanStatus::Pending) || is_open(PlanStatus::InProgress))
        };
        if changed_at <= since || self.with_turn.unresolved_errors().next().is_some() || is_task_open() {
            return None;
        }
        let is_passed = |one: &&CommandRecord| {
            !one.is_call && one.outcome == Outcome::Succeeded && one.position > changed_at && is_check(&one.command)
        };
        let check = ledger.commands.iter().rev().find(is_passed)?;
        let committed_at = committed_at(ledger).filter(|at| *at > changed_at);
        // What was looked at before a commit does not matter any more.
        let end = committed_at.map_or(check.position, |at| at.max(check.position));
        let has_gone_on = has_gone_on(ledger, end, committed_at.is_some());
        let is_left = || self.open_parts(request, position).is_some() || !self.untouched(request, position).is_empty();
        let asks_for_all = || {
            let newest = [Some(request), self.turn_request, self.with_turn.last_request().map(|one| one.text.as_str())];
            newest.into_iter().flatten().any(|words| TO_THE_END.is_said(words))
        };
        let is_made = !has_gone_on && !is_left() && !asks_for_all();
        is_made.then(|| Made { check: run(&check.command), is_committed: committed_at.is_some() })
    }

    /// Whether files changed since the last commit of a conversation that commits its work.
    fn has_uncommitted(&self) -> bool {
        committed_at(self.with_turn).is_some_and(|at| at < self.with_turn.changed_at())
    }
}

/// Position of the newest commit.
fn committed_at(ledger: &Ledger) -> Option<u64> {
    let mut milestones = ledger.statements.iter().rev().filter(|one| one.voice == Voice::Milestone);
    milestones.find(|one| one.text.starts_with(COMMITTED)).map(|one| one.position)
}

/// Whether more work was begun after the message at `end`. A command means more work, unless it checks, commits, or only
/// looks at a commit. A model that reads another file or announces something has not finished.
fn has_gone_on(ledger: &Ledger, end: u64, is_committed: bool) -> bool {
    let mut later = ledger.commands.iter().rev().take_while(|one| one.position > end);
    let is_work = |one: &CommandRecord| {
        let of_git = || purposes(&one.command).iter().all(|purpose| purpose.starts_with("git "));
        !(of_git() || is_check(&one.command) || is_committed && only_looks(&one.command))
    };
    let mut words = ledger.statements.iter().rev().take_while(|one| one.position > end);
    let has_read = ledger.files.iter().any(|file| file.position > end);
    has_read || later.any(is_work) || words.any(|one| one.voice == Voice::Announcement)
}
