//! What comes next: the open request, part by part, with the error that it pastes and the option that it chooses.

use super::goal::of_terminal;
use super::newest_answer::is_question;
use super::requests::IN_ANSWER;
use super::{Builder, LONGEST_REPEAT};
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::actions::shown;
use crate::ledger::answers::{agrees_with_person, is_assent};
use crate::ledger::bold::without_bold;
use crate::ledger::choices::{chosen, copies_option, whole};
use crate::ledger::closed_requests::{asks_for_change, has_question, is_theory};
use crate::ledger::commands::{is_check, only_looks};
use crate::ledger::completed::finished_list;
use crate::ledger::constraints::{clauses, gives_task};
use crate::ledger::cues::{is_announcement, is_sized, is_substantive, is_trivial, is_typed};
use crate::ledger::errors::is_refused;
use crate::ledger::logs::is_log;
use crate::ledger::names::ending;
use crate::ledger::noise::{praises, praises_first};
use crate::ledger::notes::{
    CAUSE, FILES_LEFT, GO_ON, LISTED_STEPS, NOT_RUN, OFFERED, OLD_PLAN, OPEN_PARTS, SEND_AGAIN, THE_LATEST, TO_RUN,
};
use crate::ledger::problems::{pasted_error, reported};
use crate::ledger::requests::WORK;
use crate::ledger::resuming::{
    answers_back, approved_title, asks_for_nothing, continues_turn, is_approval, is_declaration, tells_broken_turn,
};
use crate::ledger::statements::{is_prose, prose, sentences, without_marker};
use crate::ledger::text::{WordList, clip, clip_middle, first_words, one_line, quote, word_list};
use crate::ledger::{ErrorRecord, FileRecord, Ledger, Note, NoteKind, Outcome, RequestWeight, Statement, Voice};
use crate::phrases::SPACED;
use crate::summary::{Section, SummaryKind};
use crate::text::{prefix_utf16, utf16_len};
use crate::tools::{PlanItem, PlanStatus};

/// Fewest pasted lines of a request before one of them counts as its error.
const FEWEST_PASTED: usize = 3;
/// Most UTF-16 units of steps and tasks from before the newest requests.
pub(super) const LONGEST_EARLIER: usize = 420;
/// UTF-16 units of a summary from which it says a request or a report where it is looked for.
pub(in crate::extractive) const ROOM_FOR_TWO: usize = 2048;
/// Most sentences of a request or of a turn that are compared.
const MOST_SENTENCES: usize = 200;
/// Marks omitted sentences.
pub(super) const MARK: &str = " \u{2026} ";
/// The words of the request may take the room of a summary divided by this.
const ORDER_PART: usize = 30;
/// Fewest and most UTF-16 units of these words.
const SHORTEST_ORDER: usize = 100;
const LONGEST_ORDER: usize = 240;
/// Least room in which a sentence of the request is cut instead of left out, in UTF-16 units.
const LEAST_CUT: usize = 60;
/// Most tasks in progress that are listed as the next step.
const MOST_TASKS: usize = 3;
/// Stands before a question that the model has begun to answer.
const THE_ANSWER_TO: &str = "the answer to: ";
/// Beginnings of clauses in which a model says what it does right now.
static ANNOUNCING: WordList = word_list!(SPACED, "next steps: announcing");
/// Starts what the model announced last.
const ANNOUNCED_LAST: &str = "announced last: ";
/// Starts the same in place of a request for which something was done.
const GO_ON_WITH: &str = "Go on with the latest request, as ";
/// Most UTF-16 units of the cause that the model found, and of what it announced.
const LONGEST_CAUSE: usize = 240;
/// Number of newest requests before a log that may tell what it is about.
const MOST_BEFORE_LOG: usize = 4;
/// Ends the problem that a log is about.
const WITH_LOG: &str = " (the user then pasted a log)";
/// Starts what the answer lists that the person replied to.
const LISTED_BEFORE: &str = " (the answer before it lists: ";
/// Fewest and most of its items.
const LISTED: std::ops::RangeInclusive<usize> = 2..=12;
/// They may take the room of the summary divided by this, but each at least so many UTF-16 units.
const LISTED_PART: usize = 16;
const SHORTEST_ITEM: usize = 24;
/// Ends the request that the words of the person after it continue.
const STOPPED_AT_LIMIT: &str = " (the turn stopped at its limit, and the user let it go on)";
const BROKE_OFF: &str = " (the turn broke off during the last step, as the user then wrote)";
const PLAN_APPROVED: &str = " (the user approved the plan";
const THEN_PASTED: &str = " (the user then pasted: ";
const THEN_WROTE: &str = " (the user then wrote: ";
/// The step while a command goes on in the background.
const SEE_THE_END: &str = "See how the command ended that runs in the background";
/// UTF-16 units of a sentence that only says that the cause is found.
const SHORT_CAUSE: usize = 40;
/// Fewest and most items of a list of wishes.
const WISHES: std::ops::RangeInclusive<usize> = 2..=8;

impl<'a> Builder<'a> {
    /// Adds the open request, which comes before all other steps. Returns whether the person's question in it is still to
    /// be answered, so that no other step matters.
    pub(super) fn order(&mut self) -> bool {
        let Some((request, position)) = self.open_request() else {
            if self.kind == SummaryKind::History && self.is_closed_before_turn() {
                self.reply();
            }
            return false;
        };
        if self.answer_is_left(request, position) {
            return true;
        }
        let (task, open) = (self.task_in_progress(position), self.open_parts(request, position));
        let announced = self.announced_last();
        match (task, open) {
            (Some(task), None) => self.add_step(&format!("{GO_ON}{task}{announced}")),
            (Some(task), Some(open)) => {
                self.add_step(&format!("{GO_ON}{task}{announced}"));
                self.add_step(&format!("{OPEN_PARTS}{open}"));
            }
            (None, Some(open)) => self.add_step(&format!("{OPEN_PARTS}{open}{announced}")),
            // The tasks that were written down for it are listed.
            (None, None) if self.is_planned(position) => {}
            // What the model announced at the end of its answer has a step of its own.
            (None, None) if self.is_announced_apart() && self.is_worked_on(position) => {}
            // The question was answered before the work that fails now.
            (None, None)
                if has_question(request)
                    && self.is_worked_on(position)
                    && self.has_failed_check(position)
                    && !asks_for_change(request) => {}
            (None, None) if !announced.is_empty() && self.is_worked_on(position) => {
                self.add_step(&format!("{GO_ON_WITH}{}", announced.trim_start_matches("; ")));
            }
            (None, None) => {
                let is_answered = self.is_being_answered(request, position);
                let start = if is_answered { THE_ANSWER_TO } else { "" };
                let then = self.said_then();
                self.add_step(&format!("{GO_ON}{start}{}{then}{announced}", self.in_short(request)));
                self.wishes_left(request, position);
            }
        }
        self.not_answered();
        self.begun_before();
        false
    }

    /// Whether nothing but a plan was made for the request at `position`, so that its tasks stand for the request.
    fn is_planned(&self, position: u64) -> bool {
        let newest = self.with_turn;
        let since = if position == u64::MAX { self.ledger.messages } else { position };
        let plan = &newest.plan;
        plan.position > since
            && plan.in_state(PlanStatus::Pending).next().is_some()
            && newest.changed_at() <= since
            && newest
                .commands
                .iter()
                .rev()
                .take_while(|run| run.position > since)
                .all(|run| run.position == plan.position)
    }

    /// Whether a step of its own says what the model announced last.
    fn is_announced_apart(&self) -> bool {
        match self.of_turn() {
            Some(turn) => turn.announced().or_else(|| turn.promised()).is_some(),
            None => self.announced().is_some(),
        }
    }

    /// Whether a check fails that ran after the message at `position`.
    fn has_failed_check(&self, position: u64) -> bool {
        let since = if position == u64::MAX { self.ledger.messages } else { position };
        let mut failed = self.with_turn.unresolved_errors().filter(|error| error.position > since);
        failed.any(|error| error.subject.as_deref().is_some_and(is_check))
    }

    /// Whether something was committed, merged or changed for the request at `position`.
    fn is_worked_on(&self, position: u64) -> bool {
        let newest = self.with_turn;
        let since = if position == u64::MAX { self.ledger.messages } else { position };
        newest.changed_at() > since || self.standing.iter().any(|one| one.position > since)
    }

    /// Adds the short words with which a turn replies to a complete answer, and what that answer lists.
    fn reply(&mut self) {
        let Some(words) = self.turn_request.filter(|words| !praises(words) && !praises_first(words)) else { return };
        let answer = self.ledger.newest_answer.text.as_str();
        let is_open = finished_list(answer).is_empty();
        let listed: Vec<&str> = numbered_items(answer).filter(|_| is_open).take(*LISTED.end()).collect();
        let units = (self.units / LISTED_PART).max(SHORTEST_ORDER) / listed.len().max(1);
        let about = match LISTED.contains(&listed.len()) {
            false => String::new(),
            true => {
                let items = listed.iter().map(|item| clip(&without_bold(&one_line(item)), units.max(SHORTEST_ITEM)));
                format!("{LISTED_BEFORE}{})", items.collect::<Vec<_>>().join("; "))
            }
        };
        // A word such as `continue` says nothing by itself.
        if !about.is_empty() || !is_trivial(words) && !is_assent(words) {
            self.add_step(&format!("{GO_ON}{}{about}", clip(&one_line(words), SHORTEST_ORDER)));
        }
    }

    /// The tasks in progress of a plan that is newer than the request at `position`. They describe the next step better
    /// than the request.
    fn task_in_progress(&self, position: u64) -> Option<String> {
        // A word such as `continue` refers to a plan that is newer than the request before it.
        let since = if position == u64::MAX { self.ledger.messages } else { position };
        let plan = Some(&self.with_turn.plan).filter(|plan| plan.position > since)?;
        let reported = self.with_turn.reported_tasks();
        let is_open = |item: &&PlanItem| !reported.iter().any(|task| std::ptr::eq(*task, *item));
        let left = plan.items.iter().skip(self.passed_tasks(plan));
        let tasks = left.filter(|item| item.status == PlanStatus::InProgress);
        let tasks = tasks.filter(is_open).take(MOST_TASKS + 1);
        let tasks: Vec<String> = tasks.map(|task| clip(&task.text, LONGEST_REPEAT)).collect();
        (1..=MOST_TASKS).contains(&tasks.len()).then(|| tasks.join("; "))
    }

    /// The last words of the person with their meaning, if they reply to a complete answer to the latest request. That
    /// request is closed, and the reply or its option continues.
    fn reply_to_answer(&self) -> Option<String> {
        let latest = self.latest()?;
        let last = self.ledger.last_request().filter(|last| last.position > latest.position)?;
        let is_between = |one: &&Statement| (latest.position..last.position).contains(&one.position);
        let before: Vec<&Statement> = self.ledger.statements.iter().rev().filter(is_between).collect();
        let has = |voice: Voice| before.iter().any(|one| one.voice == voice);
        let is_changed = |file: &FileRecord| (latest.position..last.position).contains(&file.changed_at);
        // A question during the work leaves the request open.
        let is_made = has(Voice::Milestone) || self.ledger.files.iter().any(is_changed);
        let is_answered = is_made && has(Voice::Report);
        let meant = self.chosen_at(last.position).or_else(|| self.answered_by(&last.text, last.position));
        meant.filter(|_| is_answered).map(|meant| format!("{} ({meant})", clip(&one_line(&last.text), SHORTEST_ORDER)))
    }

    /// Whether the turn that follows begins with words that ask for nothing themselves, so that the request before it goes
    /// on with what was done for it.
    pub(super) fn resumes(&self) -> bool {
        self.is_answer && self.turn_request.is_some_and(|turn| self.is_reply_to_work(turn))
    }

    /// The same for words of the person after the newest answer.
    pub(super) fn is_reply_to_work(&self, words: &str) -> bool {
        asks_for_nothing(words) || answers_back(words, &self.ledger.newest_answer.text)
    }

    /// What such words say, for the request before them.
    fn said_then(&self) -> String {
        let last = || self.ledger.last_request().filter(|last| last.weight == RequestWeight::Answer);
        let words = match self.turn_request {
            Some(turn) => Some(turn).filter(|_| self.resumes()),
            None => last().map(|last| last.text.as_str()).filter(|words| self.is_reply_to_work(words)),
        };
        match words {
            None => String::new(),
            Some(words) if continues_turn(words) => STOPPED_AT_LIMIT.to_owned(),
            Some(words) if tells_broken_turn(words) => BROKE_OFF.to_owned(),
            Some(words) if is_approval(words) => self.approved_plan(words),
            Some(words) if is_declaration(words) => format!("{THEN_PASTED}{})", clip(&one_line(words), LONGEST_REPEAT)),
            Some(words) => format!("{THEN_WROTE}{})", clip(&one_line(words), SHORTEST_ORDER)),
        }
    }

    /// The plan that the person approved: the title that the approval names, or else the first line of the plan.
    fn approved_plan(&self, approval: &str) -> String {
        if let Some(title) = approved_title(approval) {
            return format!("{PLAN_APPROVED}: {})", clip(&one_line(title), LONGEST_REPEAT));
        }
        let plan = self.ledger.newest_answer.text.lines().map(without_marker).find(|line| !line.trim().is_empty());
        match plan.filter(|_| self.turn_request.is_some()) {
            Some(title) => format!("{PLAN_APPROVED}: {})", clip(&without_bold(&one_line(title)), LONGEST_REPEAT)),
            None => format!("{PLAN_APPROVED})"),
        }
    }

    /// The request that is to be continued, with its position.
    fn open_request(&self) -> Option<(&'a str, u64)> {
        let is_alone = self.turn.is_none() && !self.goes_on;
        // A word such as `continue` does not reopen a request with a complete answer.
        if self.kind == SummaryKind::TurnPrefix || is_alone && !self.is_open() || self.is_closed_before_turn() {
            return None;
        }
        self.newest_request()
    }

    /// The request of the turn that follows, or the latest one, with its position.
    fn newest_request(&self) -> Option<(&'a str, u64)> {
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn) && !self.resumes());
        // A copy of an option says no more than that the work goes on.
        let of_turn = of_turn.filter(|turn| !self.copies_option(turn));
        let of_turn = of_turn.map(|turn| (turn, u64::MAX));
        of_turn.or_else(|| self.latest().map(|latest| (latest.text.as_str(), latest.position)))
    }

    /// Adds what is known to come next in the open request. Tasks in progress stand in In Progress, and what fails
    /// in Blocked.
    pub(super) fn go_on(&mut self, has_failed_runs: bool) {
        if self.kind == SummaryKind::TurnPrefix {
            // The whole request is listed above.
            let first = self.first_request().filter(|_| self.tells_state);
            if let Some(open) = first.and_then(|first| self.open_parts(&first.text, first.position)) {
                self.add_step(&format!("{OPEN_PARTS}{open}"));
            }
            return;
        }
        let Some((_, position)) = self.open_request() else {
            // The answer to a failure waits for the end of the command that runs since.
            let asked_at = self.newest_request().map_or(u64::MAX, |(_, position)| position);
            let has_failed = self.with_turn.unresolved_errors().any(|error| error.position > asked_at);
            if has_failed && !has_failed_runs && !self.ledger.last_step.jobs.is_empty() {
                self.add_step(SEE_THE_END);
            }
            return;
        };
        self.files_left(position);
        self.steps_listed();
        if let Some(check) = self.check_to_repeat(position).filter(|_| !has_failed_runs) {
            self.add_step(&format!("{TO_RUN}{check}"));
        }
        for step in self.ahead() {
            self.add_step(&step);
        }
    }

    /// The open request in a few of its own sentences: the reader of this section looks for an order. A request that only
    /// pastes an error is shown as that error. A short assent is shown with what it chooses or answers.
    fn in_short(&self, request: &str) -> String {
        if let Some(turn) = self.turn_request.filter(|turn| !is_substantive(turn)) {
            let answered = || self.answered_by(turn, u64::MAX).filter(|said| said.starts_with(IN_ANSWER));
            let meant = self.chosen_option(turn).or_else(answered);
            if let Some(meant) = meant.filter(|_| !self.copies_option(turn)) {
                return format!("{} ({meant})", clip(&one_line(turn), SHORTEST_ORDER));
            }
        }
        if let Some(reply) = self.reply_to_answer().filter(|_| self.turn_request.is_none()) {
            return reply;
        }
        if self.units < ROOM_FOR_TWO || self.goes_on {
            return THE_LATEST.to_owned();
        }
        let units = (self.units / ORDER_PART).clamp(SHORTEST_ORDER, LONGEST_ORDER);
        if let Some(told) = of_terminal(request) {
            return clip(&told, units);
        }
        let problem = reported(request).filter(|_| is_pasted(request));
        match problem.or_else(|| self.problem_behind_log(request)) {
            Some(problem) => clip(&problem, units),
            None if is_log(request) => THE_LATEST.to_owned(),
            None => told_in(request, units),
        }
    }

    /// The newest problem that the person told in words before a request that is only a log, without older ones that
    /// were answered.
    pub(super) fn problem_behind_log(&self, request: &str) -> Option<String> {
        if !is_log(request) {
            return None;
        }
        let before = self.ledger.requests.iter().rev().filter(|one| !is_log(&one.text)).take(MOST_BEFORE_LOG);
        // The answer right before the log may have asked for it.
        let open = before.enumerate().filter(|(number, one)| *number == 0 || !one.is_answered);
        let problem = open.filter(|(_, one)| is_typed(&one.text)).find_map(|(_, one)| reported(&one.text))?;
        Some(format!("{problem}{WITH_LOG}"))
    }

    /// What the model announced last, unless it was begun.
    fn announced_last(&self) -> String {
        if self.is_announced_apart() {
            return String::new();
        }
        let ledger = self.turn.unwrap_or(self.ledger);
        let newest = ledger.statements.iter().rev().find(|one| one.is_of_model());
        let newest = newest.filter(|one| one.position > ledger.asked_at() && ledger.last_step.calls_since_words <= 1);
        let announced = newest.filter(|one| match one.voice {
            Voice::Announcement => is_announcement(&one.text),
            _ => announces_behind_colon(&one.text),
        });
        let announced = announced.filter(|one| ledger.changed_at() < one.position && self.units >= ROOM_FOR_TWO);
        // A call behind it that did more than look something up carried it out.
        let has_acted = |one: &Statement| {
            let later = ledger.commands.iter().rev().take_while(|run| run.position > one.position);
            later.filter(|run| run.outcome == Outcome::Succeeded).any(|run| run.is_call || !only_looks(&run.command))
        };
        let announced = announced.filter(|one| !has_acted(one));
        announced.map_or_else(String::new, |one| {
            let words = one.text.trim_end_matches([':', '\u{ff1a}', ' ']);
            format!("; {ANNOUNCED_LAST}{}", clip(words, LONGEST_CAUSE))
        })
    }

    /// Whether the turn that follows begins with a word such as `continue` behind a complete answer to the latest request,
    /// which is over. An answer that asks or announces something leaves it open.
    pub(super) fn is_closed_before_turn(&self) -> bool {
        let Some(turn) = self.turn_request.filter(|turn| !is_substantive(turn) && !self.is_answer) else {
            return false;
        };
        let is_answered = self.latest().is_some_and(|one| one.position > 0 && self.ledger.answered > one.position);
        let reports = || self.newest_of_model().next().is_some_and(|newest| newest.voice == Voice::Report);
        let asks = || self.question_before(turn, u64::MAX).is_some_and(|said| said.starts_with(IN_ANSWER));
        is_answered && reports() && !asks() && self.chosen_option(turn).is_none()
    }

    /// What the open request has come to: what failed last and is sent again, the cause that the model found and changed
    /// nothing for yet, and the file that it wrote and did not run.
    fn ahead(&self) -> Vec<String> {
        let ledger = self.turn.unwrap_or(self.ledger);
        if self.units < ROOM_FOR_TWO {
            return Vec::new();
        }
        if let Some(again) = self.to_repeat() {
            return vec![again];
        }
        let asked_at = ledger.asked_at();
        let of_turn = || {
            let of_model = ledger.statements.iter().rev().filter(|one| one.is_of_model());
            of_model.take_while(|one| one.position > asked_at).take(MOST_SENTENCES)
        };
        let changed_at = ledger.changed_at();
        let is_cause = |one: &&Statement| one.position > changed_at && one.states();
        // A short sentence such as `Found it!` needs the one after it.
        let mut behind: Option<&Statement> = None;
        let cause = of_turn().find_map(|one| {
            let next = behind.replace(one);
            let is_short = utf16_len(&one.text) < SHORT_CAUSE;
            let cause = if is_short { next.filter(|next| next.position == one.position) } else { Some(one) };
            cause.filter(|cause| is_theory(&one.text) && is_cause(cause) && !agrees_with_person(&cause.text))
        });
        let cause = cause.map(|one| {
            let words = one.text.trim_end_matches([':', '\u{ff1a}', ' ']);
            format!("{CAUSE}{}", clip(words, LONGEST_CAUSE))
        });
        let unrun = self.unrun_file().map(|file| format!("{NOT_RUN}{file}"));
        [cause, unrun].into_iter().flatten().collect()
    }

    /// What has to be sent again because it failed and nothing followed: an edit, or the request to the model.
    fn to_repeat(&self) -> Option<String> {
        let newest = self.with_turn;
        let asked_at = newest.asked_at();
        let changed_at = newest.changed_at();
        let of_turn = newest.unresolved_errors().filter(|error| error.position > asked_at);
        let open: Vec<&ErrorRecord> = of_turn.collect();
        let request = open.iter().find(|error| error.subject.is_none() && error.position == newest.messages);
        let is_last = |error: &ErrorRecord| {
            error.position > changed_at.max(newest.answered)
                && (request.is_some() || error.position >= newest.last_step.position)
        };
        // Sent again as it is, the edit would be refused again.
        let is_last = |error: &ErrorRecord| is_last(error) && !is_refused(error);
        let edits = open.iter().filter(|error| is_last(error) && is_of_file(newest, error));
        let edit = edits.filter_map(|error| error.subject.as_deref()).next_back();
        match (edit, request) {
            (Some(file), _) => Some(format!("{SEND_AGAIN}the edit of {}, which failed", quote(file))),
            (None, Some(_)) => Some(format!("{SEND_AGAIN}the request to the model, which failed")),
            (None, None) => None,
        }
    }

    /// Adds the files that the model has not changed although it changed similar ones.
    fn files_left(&mut self, position: u64) {
        if let Some(files) = self.remaining_files(position) {
            self.pool.add(Section::NextSteps, &format!("{FILES_LEFT}{files}"), Origin::at(u64::MAX), Rank::Focus);
        }
    }

    /// Adds the rest of the steps that the model listed, unless its plan is newer and contains them.
    fn steps_listed(&mut self) {
        let (ledger, before) = self.turn.map_or((self.ledger, 0), |turn| (turn, self.ledger.messages));
        let plan = &self.with_turn.plan;
        let is_planned =
            plan.position > before + ledger.last_step.listed_at && plan.in_state(PlanStatus::Pending).next().is_some();
        if let Some(open) = self.listed_steps().filter(|_| !is_planned) {
            let item = format!("{LISTED_STEPS}{open}");
            self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
        }
    }

    fn add_step(&mut self, item: &str) {
        self.pool.add(Section::NextSteps, item, Origin::at(u64::MAX), Rank::Focus);
    }

    /// Whether a step was named before the newest request for work, and that request is in progress. The request
    /// usually asks for the step, and nobody knows how much of it is done.
    pub(super) fn is_before_work(&self, step: &Note) -> bool {
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn)).map(|_| self.ledger.messages + 1);
        let own = || self.ledger.requests.iter().rev().find(|request| is_substantive(&request.text));
        let Some(asked_at) = of_turn.or_else(|| Some(own()?.position)) else { return false };
        step.position > 0 && step.position < asked_at && self.acted_at() > asked_at
    }

    /// The open tasks of a plan that was not updated for several requests, in one item.
    pub(super) fn stale_plan(&mut self, is_stale: bool) {
        let plan = &self.ledger_of_plan().plan;
        let left = plan.items.iter().skip(self.passed_tasks(plan));
        let tasks: Vec<&str> =
            left.filter(|task| task.status == PlanStatus::Pending).map(|task| task.text.as_str()).collect();
        let tasks = if is_stale { self.not_seen_done(plan, tasks) } else { tasks };
        if is_stale && !tasks.is_empty() {
            let item = format!("{OLD_PLAN}{}", clip(&tasks.join("; "), LONGEST_EARLIER));
            self.pool.add(Section::NextSteps, &item, Origin::at(plan.position), Rank::Low);
        }
    }

    /// Whether a message is a copy of an option of the newest answer.
    fn copies_option(&self, message: &str) -> bool {
        self.chosen_option(message).is_some_and(|option| copies_option(message, &option))
    }

    /// The option of the newest answer that a message chooses.
    pub(super) fn chosen_option(&self, message: &str) -> Option<String> {
        let asked_at = self.ledger.asked_at();
        let newest = self.ledger.notes_of(NoteKind::Step).rev().find(|note| note.text.starts_with(OFFERED))?;
        let offered = newest.text.strip_prefix(OFFERED).filter(|_| newest.position > asked_at)?;
        let option = chosen(message, offered)?;
        Some(whole(&self.ledger.newest_answer.text, &option).unwrap_or(option))
    }
}

/// Whether a sentence ends with what the model does next, behind a colon: `Before I go on: I add a counter`.
fn announces_behind_colon(sentence: &str) -> bool {
    let behind = sentence.rsplit_once(": ").or_else(|| sentence.rsplit_once('\u{ff1a}')).map(|(_, behind)| behind);
    behind.is_some_and(|next| is_announcement(next) || ANNOUNCING.begins(next))
}

/// Whether the failed call reads or changes a file.
pub(super) fn is_of_file(ledger: &Ledger, error: &ErrorRecord) -> bool {
    let Some(subject) = error.subject.as_deref() else { return false };
    let is_run = || ledger.commands.iter().any(|run| shown(&run.command) == subject);
    ending(subject).is_some() && !subject.contains(['(', ' ']) && !is_run()
}

/// A request in at most `units` UTF-16 units: whole, or the sentences that ask, the first and the last one, then the
/// others in order. A sentence that does not fit is cut between words.
pub(super) fn told_in(request: &str, units: usize) -> String {
    let whole = one_line(request);
    if utf16_len(&whole) <= units {
        return whole;
    }
    // An item with a number of its own is no pasted line, although it may consist of names.
    let is_item =
        |one: &str| one.starts_with(|first: char| first.is_ascii_digit()) && without_marker(one).len() < one.len();
    let all = sentences(request).filter(|one| is_said(one) || is_item(one));
    let all: Vec<String> = all.take(MOST_SENTENCES).map(one_line).collect();
    let Some(last) = all.len().checked_sub(1) else { return cut(&whole, units) };
    let asking = (0..=last).rev().filter(|at| is_question(&all[*at]));
    let (mut kept, mut left) = (vec![String::new(); all.len()], units);
    let ends = if is_document(request) { [0, 0] } else { [0, last] };
    for at in asking.chain(ends).chain(1..=last) {
        // A mark for omitted text may come before each of them.
        let room = left.saturating_sub(MARK.len());
        // The points of a list are cut, because each may be the task.
        let is_cut = |at: usize| left == units || room >= LEAST_CUT && is_item(&all[at]);
        if kept[at].is_empty() && (utf16_len(&all[at]) <= room || is_cut(at)) {
            kept[at] = cut(&all[at], room);
            left = room.saturating_sub(utf16_len(&kept[at]));
        }
    }
    with_gaps(kept.iter().map(String::as_str))
}

/// A request on one line in at most `units` UTF-16 units, without the sentences that say least: the first and the last
/// one stay, then those that order something, then those next to the ends.
pub(in crate::extractive) fn clip_request(request: &str, units: usize) -> String {
    if utf16_len(request) <= units {
        return request.to_owned();
    }
    let all: Vec<&str> = sentences(request).take(MOST_SENTENCES).map(str::trim).collect();
    let last = all.len().saturating_sub(1);
    let between = || 1..last;
    let order = [0, last].into_iter().chain(between().filter(|at| orders(all[*at])));
    let order = order.chain(between().flat_map(|at| [at, last - at]));
    let (mut kept, mut left) = (vec![""; all.len()], units);
    for at in order.filter(|_| last >= FEWEST_TO_CHOOSE) {
        let cost = utf16_len(all[at]) + MARK.len();
        if kept[at].is_empty() && cost <= left {
            (kept[at], left) = (all[at], left - cost);
        }
    }
    // Of a few long sentences, nothing is left out as a whole.
    let has_ends = kept.first().zip(kept.last()).is_some_and(|(first, last)| !first.is_empty() && !last.is_empty());
    if has_ends && left * 2 < units { with_gaps(kept.into_iter()) } else { clip_middle(request, units) }
}

/// Number of the last sentence of a request that is long enough to leave whole sentences out.
const FEWEST_TO_CHOOSE: usize = 3;
/// Number of first words of a clause that may order something: `then also add`.
const ORDERING_WITHIN: usize = 3;

/// Whether a sentence orders or asks something.
pub(super) fn orders(sentence: &str) -> bool {
    let begins = |clause: &str| WORK.is_in(&first_words(clause, ORDERING_WITHIN));
    gives_task(sentence) || is_question(sentence) || clauses(sentence).any(begins)
}

/// The kept sentences, with [`MARK`] in place of the others, which are empty.
pub(super) fn with_gaps<'t>(sentences: impl Iterator<Item = &'t str>) -> String {
    let (mut out, mut is_cut) = (String::new(), false);
    for sentence in sentences {
        if !sentence.is_empty() {
            out.push_str(if is_cut { MARK } else { " " });
            out.push_str(sentence);
        }
        is_cut = sentence.is_empty();
    }
    out.trim().to_owned()
}

/// Whether a request only shows something, such as a log.
pub(super) fn is_pasted(request: &str) -> bool {
    let is_log = shown_error(request).is_some() && !is_typed(request);
    is_log || !sentences(request).any(|one| is_said(one) && is_substantive(one))
}

/// Whether a sentence consists of words. A single word in capitals, such as `GET`, begins a line of a log.
fn is_said(sentence: &str) -> bool {
    is_prose(sentence) && !sentence.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Whether a request is a document, such as a plan. Its last line is the end of its last list and asks for nothing.
pub(super) fn is_document(request: &str) -> bool {
    let is_item = |line: &&str| without_marker(line).len() < line.trim().len();
    prose(request).filter(is_item).nth(*WISHES.end()).is_some()
        && request.lines().rfind(|line| !line.trim().is_empty()).is_some_and(|line| is_item(&line))
}

/// `text` in at most `units` UTF-16 units, cut after a word if it has spaces.
fn cut(text: &str, units: usize) -> String {
    if utf16_len(text) <= units {
        return text.to_owned();
    }
    let start = prefix_utf16(text, units.saturating_sub(MARK.len()));
    let end = start.rfind(char::is_whitespace).filter(|end| end * 2 > start.len()).unwrap_or(start.len());
    format!("{} \u{2026}", start[..end].trim_end())
}

/// The error in several pasted lines of a request.
fn shown_error(request: &str) -> Option<String> {
    let pasted = request.lines().filter(|line| !line.trim().is_empty() && !is_prose(line.trim()));
    if pasted.count() < FEWEST_PASTED { None } else { pasted_error(request) }
}

/// The items of the list in a request, if they are wishes and not pasted text.
pub(super) fn wishes(request: &str) -> Vec<&str> {
    let is_item = |line: &&str| {
        let line = line.trim_start();
        line.starts_with(['-', '*', '\u{2022}']) || line.starts_with(|first: char| first.is_ascii_digit())
    };
    let lines = prose(request).filter(is_item);
    let items = lines.map(|line| (line, without_marker(line))).filter(|(line, text)| text.len() < line.trim().len());
    let items: Vec<&str> = items.map(|(_, text)| text).collect();
    // A line with a colon at its end is the title of pasted text.
    let is_wish = |item: &&str| is_sized(item) && is_prose(item) && !item.ends_with([':', '\u{ff1a}']);
    let are_wishes = WISHES.contains(&items.len()) && items.iter().all(is_wish);
    if are_wishes { items } else { Vec::new() }
}

/// The first sentences of the numbered items of an answer.
fn numbered_items(answer: &str) -> impl Iterator<Item = &str> {
    let is_numbered = |line: &&str| {
        let bare = line.trim();
        bare.starts_with(|one: char| one.is_ascii_digit()) && without_marker(bare).len() < bare.len()
    };
    prose(answer).filter(is_numbered).filter_map(|line| sentences(line).next())
}
