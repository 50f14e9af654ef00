//! What blocks the work: failures that nothing replaced, problems that a person reported and nobody has worked on
//! since, and what the model says that it did not achieve.

use std::ops::Range;

use super::Builder;
use super::next_steps::is_document;
use super::state::end_of;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::actions::{shown, shown_call};
use crate::ledger::choices::stems;
use crate::ledger::closed_requests::{instructs, repeats};
use crate::ledger::commands::{clip_command, has_inline_code, is_goal, purposes};
use crate::ledger::cues::is_substantive;
use crate::ledger::errors::{INTERRUPTED, SKIPPED, is_lasting, is_refused};
use crate::ledger::names::ending;
use crate::ledger::notes::{BLOCKED, CHANGED_SINCE, COMMITTED, FAILED, PUSHED, SHOWN};
use crate::ledger::problems::{gives_up, is_about, is_denied, is_unsolved, is_waiting, reported, reports, sets_aside};
use crate::ledger::reasons::says_impossible;
use crate::ledger::refutations::{is_report, is_still_so, report_the_same, reports_again};
use crate::ledger::requests::is_telling;
use crate::ledger::text::{clip, one_line, quote};
use crate::ledger::{CommandRecord, ErrorRecord, Ledger, Outcome, Request, Statement, Voice};
use crate::summary::{Section, SummaryKind};
use crate::text::utf16_len;

/// Number of newest requests before which the model may have said that something waits.
const WAITING_REQUESTS: usize = 6;
/// Number of newest requests that may report a problem.
const REPORTS: usize = 2;
/// Number of newest requests with which a report is compared.
const MOST_COMPARED: usize = 32;
/// Fewest messages between a request and the next one if it was worked on.
const FEWEST_MESSAGES: u64 = 4;
/// Longest subject of a failure, in UTF-16 units.
const LONGEST_SUBJECT: usize = 100;
/// The subject of a failure may take the room of a summary divided by this, but at least so many UTF-16 units.
const SUBJECT_PART: usize = 80;
const SHORTEST_SUBJECT: usize = 28;
/// Longest reason of a failure, in UTF-16 units.
const LONGEST_LINE: usize = 160;
/// Longest sentence of the model about it, in UTF-16 units.
const LONGEST_UNSOLVED: usize = 160;
/// Most skipped and refused changes that are listed.
const MOST_SKIPPED: usize = 6;
const MOST_REFUSED: usize = 2;
/// Number of newest reports of the model that may name their files.
const MOST_TOLD: usize = 64;
/// Most changed files that are told of a problem that was reported again.
const MOST_TRIED: usize = 3;
/// Longest document that a person may have written as one request, in UTF-16 units.
const LONGEST_TYPED: usize = 2000;
/// Begins a problem that the person reports.
const REPORTED: &str = "The user reports: ";
/// Fewest headings of a document.
const FEWEST_HEADINGS: usize = 3;

impl Builder<'_> {
    /// What blocks the work at the end of the turn that follows, if that is known.
    pub(super) fn blocked(&mut self) {
        let ledger = self.with_turn;
        let changed_at = ledger.code_changed_at();
        let saved = ledger.statements.iter().rev().filter(|one| one.voice == Voice::Milestone);
        let saved_at = saved.clone().find(|one| one.text.starts_with(COMMITTED) || one.text.starts_with(PUSHED));
        let saved_at = saved_at.map_or(0, |one| one.position);
        let settled_at = saved_at.max(goal_reached_at(self.with_turn));
        let given_up = self.given_up();
        // In a short summary, the reason matters more than the whole command.
        let longest = (self.units / SUBJECT_PART).clamp(SHORTEST_SUBJECT, LONGEST_SUBJECT);
        let is_given_up = |error: &ErrorRecord| given_up.contains(&error.position) && !is_lasting(error);
        for error in ledger.unresolved_errors().filter(|error| !is_given_up(error)) {
            if error.line == INTERRUPTED && self.kind == SummaryKind::History {
                let subject = error.subject.as_deref().unwrap_or_default();
                let item = format!("Interrupted by the user: {}", quote(&told_subject(subject, longest)));
                self.pool.add(Section::InProgress, &item, Origin::at(error.position), Rank::Focus);
                continue;
            }
            // A commit or tests that pass after a failed inspection show that the work did not depend on it.
            if error.position < settled_at && error.subject.as_deref().is_some_and(has_inline_code) {
                continue;
            }
            let origin = Origin { position: error.position, times: error.times, sources: Some(&error.sources) };
            let is_file = || ledger.files.iter().any(|file| Some(&shown(&file.path)) == error.subject.as_ref());
            // Other tools do not depend on files.
            let is_run = error.subject.as_deref().is_some_and(|subject| !is_call(subject));
            let mut item = match is_run && changed_at > error.position && !is_file() {
                true => format!("{} ({CHANGED_SINCE}, not run again)", error_item(error, longest)),
                false => error_item(error, longest),
            };
            if is_lasting(error) && self.is_set_aside(error.position) {
                item.push_str(" (set aside by the user)");
            }
            // The context of a turn has no section for it.
            if self.kind == SummaryKind::TurnPrefix {
                item.insert_str(0, BLOCKED);
            }
            self.pool.add(Section::Blocked, &item, origin, Rank::Normal);
        }
        self.not_written(saved_at);
        let turn = self.turn.unwrap_or(ledger);
        if let Some((error, call)) = turn.last_step.shown_error.as_ref().filter(|_| self.is_step_open(turn)) {
            let mut item = format!("{SHOWN}{error} ({call})");
            if self.kind == SummaryKind::TurnPrefix {
                item.insert_str(0, BLOCKED);
            }
            self.pool.add(Section::Blocked, &item, Origin::at(ledger.messages), Rank::Normal);
        }
        if self.kind == SummaryKind::History {
            if !self.reported_again() {
                self.reported_problems();
            }
            self.unsolved();
            self.unsolved_before();
            self.waiting();
        }
    }

    /// Adds the newest files whose change a person refused or the tool skipped, if no file of that name changed since. A
    /// commit at `saved_at` settles earlier refusals of a person.
    fn not_written(&mut self, saved_at: u64) {
        let ledger = self.with_turn;
        // What the model reports about the file since settles it, too, unless it reports a failure.
        let told = ledger.statements.iter().rev().filter(|one| one.voice == Voice::Report).take(MOST_TOLD);
        let is_done = |text: &str| ![is_unsolved, is_denied, says_impossible, reports].iter().any(|fails| fails(text));
        let told: Vec<&Statement> = told.filter(|one| is_done(&one.text)).collect();
        let is_told = |path: &str, at: u64| {
            let mut later = told.iter().take_while(|one| one.position > at);
            later.any(|one| one.text.contains(end_of(path, 1)))
        };
        let is_over = |error: &ErrorRecord, path: &str| {
            let own = ledger.files.iter().filter(|file| end_of(&shown(&file.path), 1) == end_of(path, 1));
            // The tool may tell the model nothing of what it skipped, and a commit does not have an ignored file.
            match error.line.starts_with(SKIPPED) {
                true => own.map(|file| file.position).max().unwrap_or_default() > error.position,
                false => {
                    let changed_at = own.map(|file| file.changed_at).max().unwrap_or_default();
                    changed_at.max(saved_at) >= error.position || is_told(path, error.position)
                }
            }
        };
        let refused = ledger.errors.iter().rev().filter(|error| error.is_resolved && is_refused(error));
        let paths = refused.filter_map(|error| Some((error, error.subject.as_deref()?)));
        let open =
            paths.filter(|(error, path)| ending(path).is_some() && !path.contains(['(', ' ']) && !is_over(error, path));
        for (of_tool, most) in [(true, MOST_SKIPPED), (false, MOST_REFUSED)] {
            let of_kind = open.clone().filter(|(error, _)| error.line.starts_with(SKIPPED) == of_tool).take(most);
            let of_kind: Vec<(&ErrorRecord, &str)> = of_kind.collect();
            let Some((newest, _)) = of_kind.first() else { continue };
            let (by, list) = match newest.line.strip_prefix(SKIPPED) {
                Some(list) => ("skipped by the tool: ", list),
                None => ("refused by the user", ""),
            };
            let paths: Vec<String> = of_kind.iter().rev().map(|(_, path)| quote(path)).collect();
            let item = format!("Not on disk: the change of {} ({by}{list})", paths.join(", "));
            self.pool.add(Section::InProgress, &item, Origin::at(newest.position), Rank::Normal);
        }
    }

    /// Whether a person dropped the topic after the message at `position`.
    pub(super) fn is_set_aside(&self, position: u64) -> bool {
        let later = self.with_turn.requests.iter().rev().take_while(|request| request.position > position);
        later.take(MOST_COMPARED).any(|request| sets_aside(&request.text))
    }

    /// The positions that a person gave up with the newest request: from the previous request for work on.
    fn given_up(&self) -> Range<u64> {
        let mut requests = self.with_turn.requests.iter().rev().filter(|request| is_substantive(&request.text));
        let newest = requests.next().filter(|newest| gives_up(&newest.text));
        newest.map_or(0..0, |newest| requests.next().map_or(1, |before| before.position)..newest.position)
    }

    /// Whether no answer and no words of a person came after the last step of the newest ledger.
    pub(super) fn is_step_open(&self, newest: &Ledger) -> bool {
        newest.last_step.position > newest.asked_at().max(newest.answered)
    }

    /// The problem that the newest request reports like earlier ones. Work since the first report may not have helped,
    /// so it stays until another request follows.
    fn reported_again(&mut self) -> bool {
        let requests = &self.with_turn.requests;
        let Some(newest) = requests.iter().rev().find(|request| is_substantive(&request.text)) else { return false };
        let before = requests.iter().rev().filter(|one| one.position < newest.position).take(MOST_COMPARED);
        let times = before.filter(|one| repeats(&newest.text, &one.text)).count() + 1;
        if times > 1 {
            let problem = reported(&newest.text).unwrap_or_else(|| clip(&one_line(&newest.text), LONGEST_LINE));
            let item = format!("The user reported {times} times: {problem}");
            self.pool.add(Section::Blocked, &item, Origin::of(newest.position, &newest.sources), Rank::Normal);
        }
        times > 1 || self.reported_still(newest)
    }

    /// The problem of which the `newest` request says that it is still there, with the number of reports and what was
    /// changed since the first one.
    fn reported_still(&mut self, newest: &Request) -> bool {
        let ledger = self.with_turn;
        let reported = still_reported(ledger);
        let Some(first) = reported.last() else { return false };
        let changed: Vec<String> =
            ledger.changed_since(first.position).iter().take(MOST_TRIED).map(|path| quote(path)).collect();
        let words = reported_words(&newest.text);
        let item = match (reported.len(), changed.is_empty()) {
            // Nobody knows the first report, or it has other words.
            (1, true) => format!("{REPORTED}{words}"),
            (1, false) => format!("{REPORTED}{words} (changed since: {}; not confirmed)", changed.join(", ")),
            (times, is_unchanged) => {
                let tried = match is_unchanged {
                    true => String::new(),
                    false => format!("; changed since the first report: {}", changed.join(", ")),
                };
                let problem = reported_words(&first.text);
                format!("The user reported {times} times that it is not solved: {words}; at first: {problem}{tried}")
            }
        };
        self.pool.add(Section::Blocked, &item, Origin::of(newest.position, &newest.sources), Rank::Normal);
        true
    }

    /// The problems that the newest requests report, if nothing was done about them or the work on them is not
    /// finished.
    fn reported_problems(&mut self) {
        let ledger = self.with_turn;
        let acted_at = self.acted_at();
        // A message of the person ends a turn, even if it asks for nothing by itself.
        let ended_at = ledger.answered.max(ledger.asked_at());
        // A call, its result and an answer came before the next message of the person.
        let went_on = |since: u64| {
            let next = ledger.requests.partition_point(|request| request.position <= since);
            ledger.requests.get(next).is_some_and(|next| next.position >= since + FEWEST_MESSAGES)
        };
        let given_up = self.given_up();
        let requests = ledger.requests.iter().rev().filter(|request| is_substantive(&request.text));
        let requests = requests.filter(|request| !given_up.contains(&request.position));
        let newest = requests.clone().next().map_or(0, |request| request.position);
        let is_newest_telling = requests.clone().next().is_some_and(|request| is_telling(&request.text));
        let unanswered: Vec<u64> = self.without_answer().map(|request| request.position).collect();
        let mut committed = ledger
            .statements
            .iter()
            .rev()
            .filter(|one| one.voice == Voice::Milestone)
            .filter(|one| one.text.starts_with(COMMITTED));
        let commit = committed.next().filter(|_| goal_reached_at(self.with_turn) > ledger.code_changed_at());
        let requests = requests.enumerate();
        for (at, request) in requests.take_while(|(at, one)| *at < REPORTS || unanswered.contains(&one.position)) {
            // A check that passed and a commit of the change settle it as far as the model can.
            if commit.is_some_and(|commit| self.settles(commit, request)) {
                continue;
            }
            // In a long document, the person's words are at the beginning and end.
            let headings = || request.text.lines().filter(|line| line.starts_with('#')).count();
            let is_pasted = utf16_len(&request.text) > LONGEST_TYPED
                && (is_document(&request.text) || headings() >= FEWEST_HEADINGS);
            // A request after which nothing was done is about the same, such as an order to repair it. In a conversation
            // without calls, an answer is all that can be done.
            let is_talk = ledger.commands.is_empty() && ledger.files.is_empty();
            let is_told = is_talk && at > 0 && request.is_answered && is_newest_telling;
            let is_left = || at > 0 && self.has_acted_between(request.position, newest);
            let is_worked_on = is_pasted
                || is_told
                || acted_at > request.position
                    && (is_left() || ended_at > acted_at || at == 0 && went_on(request.position));
            let Some(problem) = reported(&request.text).filter(|_| !is_worked_on && request.position > 0) else {
                continue;
            };
            let since = match ledger.code_changed_at() > request.position {
                true => format!(" ({CHANGED_SINCE}, not confirmed)"),
                false => String::new(),
            };
            self.pool.add(
                Section::Blocked,
                &format!("{REPORTED}{problem}{since}"),
                Origin::of(request.position, &request.sources),
                Rank::Normal,
            );
        }
    }

    /// Whether a commit of changes after a report is about it, and the model says nothing else.
    fn settles(&self, commit: &Statement, report: &Request) -> bool {
        let ledger = self.with_turn;
        let changed = ledger.changed_since(report.position);
        let (own, done) = (stems(&report.text), stems(&format!("{} {}", commit.text, changed.join(" "))));
        let mut later = ledger.statements.iter().rev().take_while(|one| one.position > report.position);
        !changed.is_empty()
            && commit.position > report.position
            && own.iter().any(|stem| done.contains(stem))
            && !later.any(|one| one.is_of_model() && is_unsolved(&one.text))
    }

    /// What the newest message of the model says that it did not achieve, if nothing was done since.
    fn unsolved(&mut self) {
        let ledger = self.with_turn;
        let asked_at = ledger.asked_at();
        let of_model = ledger.statements.iter().rev().filter(|one| one.is_of_model());
        let newest = of_model.clone().next().map_or(0, |one| one.position);
        if newest <= asked_at || self.acted_at() > newest {
            return;
        }
        let said = of_model.take_while(|one| one.position == newest).filter(|one| one.states());
        // A model that changed files may describe what they do now.
        let has_changed = ledger.files.iter().any(|file| file.changed_at > asked_at);
        let said = said.filter(|one| is_unsolved(&one.text) || !has_changed && is_denied(&one.text));
        let said: Vec<_> = said.collect();
        for one in said.into_iter().rev() {
            let item = format!("The assistant said: {}", clip(&one.text, LONGEST_UNSOLVED));
            self.pool.add(Section::Blocked, &item, Origin::of(one.position, &one.sources), Rank::Normal);
        }
    }

    /// What the answers to the requests before the newest one say that they did not achieve, if no goal of the work
    /// succeeded since and the model did not come back to it.
    fn unsolved_before(&mut self) {
        let ledger = self.with_turn;
        let asked = ledger.requests.iter().rev().filter(|request| is_substantive(&request.text));
        let asked: Vec<u64> = asked.map(|request| request.position).take(REPORTS + 1).collect();
        let succeeded_at = goal_reached_at(self.with_turn);
        let of_model = || ledger.statements.iter().rev().filter(|one| one.is_of_model());
        let given_up = self.given_up();
        for turn in asked.windows(2) {
            let [next, own] = [turn[0], turn[1]];
            let mut said = of_model().filter(|one| (own + 1..next).contains(&one.position)).peekable();
            let Some(closing) = said.peek().map(|one| one.position).filter(|at| *at > succeeded_at) else { continue };
            // Blocked has the failure itself.
            let is_shown = ledger.unresolved_errors().any(|error| (own..next).contains(&error.position));
            if is_shown || given_up.contains(&closing) || self.is_set_aside(closing) {
                continue;
            }
            let closing = said.take_while(|one| one.position == closing);
            // Who asks the person for a word has it now.
            let open = closing.filter(|one| one.states() && is_unsolved(&one.text) && !asks_person(&one.text));
            let is_over = |one: &Statement| {
                of_model()
                    .take_while(|later| later.position > one.position)
                    .any(|later| is_about(&later.text, &one.text))
            };
            for one in open.filter(|one| !is_over(one)).collect::<Vec<_>>().into_iter().rev() {
                let item = format!("The assistant said: {}", clip(&one.text, LONGEST_UNSOLVED));
                self.pool.add(Section::Blocked, &item, Origin::of(one.position, &one.sources), Rank::Normal);
            }
        }
    }

    /// Whether a file was changed, or a command did something, between two messages. Only the newest time of each file
    /// and command is known, so one that was used again later also counts.
    fn has_acted_between(&self, first: u64, last: u64) -> bool {
        let files = self.with_turn.files.iter().map(|file| (file.changed_at, file.edited + file.written > 1));
        let commands = self.with_turn.commands.iter().filter(|command| command.outcome == Outcome::Succeeded);
        let commands = commands.map(|command| (command.position, command.succeeded > 1));
        files.chain(commands).any(|(at, is_repeated)| first < at && (at < last || is_repeated))
    }

    /// The newest part of the work that the model reported as waiting for something, unless it came up again.
    fn waiting(&mut self) {
        let ledger = self.with_turn;
        let requests = ledger.requests.iter().rev().nth(WAITING_REQUESTS).map_or(0, |request| request.position);
        let recent = ledger.statements.iter().enumerate().rev().take_while(|(_, one)| one.position > requests);
        let mut of_model = recent.filter(|(_, one)| matches!(one.voice, Voice::Report | Voice::Remark));
        let Some((at, one)) = of_model.find(|(_, one)| is_waiting(&one.text)) else { return };
        let mut behind = ledger.statements[at + 1..].iter().filter(|later| later.position > one.position);
        if behind.all(|later| !is_about(&later.text, &one.text)) {
            let item = format!("The assistant said: {}", clip(&one.text, LONGEST_UNSOLVED));
            self.pool.add(Section::Blocked, &item, Origin::of(one.position, &one.sources), Rank::Normal);
        }
    }

    /// Position of the newest change of a file, or of the newest command that did something.
    pub(super) fn acted_at(&self) -> u64 {
        let files = self.with_turn.files.iter().map(|file| file.changed_at);
        let commands = self.with_turn.commands.iter().filter(|command| command.outcome == Outcome::Succeeded);
        files.chain(commands.map(|command| command.position)).max().unwrap_or_default()
    }
}

/// The newest request and those before it that report the same, newest first, if it says that a problem is still there. A
/// goal of the work that succeeded since the change settles a problem that is only known from one report.
pub(super) fn still_reported(ledger: &Ledger) -> Vec<&Request> {
    let mut requests = ledger.requests.iter().rev().filter(|one| is_substantive(&one.text));
    let Some(newest) = requests.next().filter(|newest| reports_again(&newest.text)) else { return Vec::new() };
    let before = requests.take(MOST_COMPARED).take_while(|one| is_report(&one.text));
    let before: Vec<&Request> = before.filter(|one| report_the_same(&newest.text, &one.text)).collect();
    // Without a word for a problem, a person may only wish for something again.
    match before.iter().rposition(|one| reports(&one.text)) {
        Some(at) => [&[newest], &before[..=at]].concat(),
        None if is_still_so(&newest.text) && !is_settled(ledger, newest.position) => vec![newest],
        None => Vec::new(),
    }
}

/// Whether a goal of the work succeeded after the last change, and both came after the message at `position`.
fn is_settled(ledger: &Ledger, position: u64) -> bool {
    let changed_at = ledger.code_changed_at();
    changed_at > position && goal_reached_at(ledger) > changed_at
}

/// Position of the newest test, build or similar goal of the work that succeeded; 0 if there is none.
fn goal_reached_at(ledger: &Ledger) -> u64 {
    let succeeds = |run: &&CommandRecord| !run.is_call && run.outcome == Outcome::Succeeded;
    let is_goal = |run: &CommandRecord| purposes(&run.command).iter().any(|purpose| is_goal(purpose));
    let newest = ledger.commands.iter().rev().filter(succeeds).find(|run| is_goal(run));
    newest.map_or(0, |run| run.position)
}

/// What a person reports, in their own words if no sentence of it is known as a report.
fn reported_words(message: &str) -> String {
    reported(message).unwrap_or_else(|| clip(&one_line(message), LONGEST_LINE))
}

/// Whether a clause of a sentence asks the person for something: `not deployed yet - let me know if I may`.
fn asks_person(sentence: &str) -> bool {
    sentence
        .split([';', ',', ':', '\u{2013}', '\u{2014}', '\u{ff0c}', '\u{3001}'])
        .skip(1)
        .any(|clause| instructs(clause.trim()))
}

/// Whether the subject of an error is a call of a tool with its arguments.
fn is_call(subject: &str) -> bool {
    let call = subject.split_once('(').filter(|(tool, _)| !tool.contains(char::is_whitespace));
    call.is_some_and(|(_, rest)| rest.starts_with('{') || rest.ends_with(')'))
}

fn told_subject(subject: &str, units: usize) -> String {
    match is_call(subject) {
        true => shown_call(subject, units),
        false => clip_command(subject, units),
    }
}

/// A failure, with its subject in at most `units` UTF-16 units.
fn error_item(error: &ErrorRecord, units: usize) -> String {
    let mut line = clip(&error.line, LONGEST_LINE);
    let names = error.failing.told(&error.line);
    match line.starts_with(|first: char| first.is_ascii_digit()) {
        _ if names.is_empty() => {}
        // The line only counts the failures.
        true => line.push_str(&format!(": {names}")),
        false => line.push_str(&format!(" (failing: {names})")),
    }
    if let Some(cause) = error.failing.cause_not_in(&line) {
        line.push_str(&format!("; the first error: {cause}"));
    }
    match &error.subject {
        Some(subject) => format!("{}{FAILED}{line}", quote(&told_subject(subject, units))),
        None => format!("The last request to the model{FAILED}{line}"),
    }
}
