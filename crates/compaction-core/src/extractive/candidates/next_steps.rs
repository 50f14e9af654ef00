//! What comes next: the open request, part by part, with the error that it pastes and the option that it chooses.

use super::newest_answer::is_question;
use super::requests::{IN_ANSWER, TERSE_REQUEST, TURN_PART, TURN_UNITS};
use super::{Builder, LONGEST_REPEAT};
use crate::extractive::budget::MOST_UNITS;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::actions::shown;
use crate::ledger::answers::{agrees_with_person, is_assent};
use crate::ledger::choices::{chosen, whole};
use crate::ledger::closed_requests::is_theory;
use crate::ledger::cues::{is_announcement, is_sized, is_substantive, is_trivial, is_typed, typed};
use crate::ledger::names::ending;
use crate::ledger::notes::{GO_ON, LISTED_STEPS, NAMED_BEFORE, OFFERED, OLD_PLAN, OPEN_PARTS, THE_LATEST};
use crate::ledger::problems::{pasted_error, reported};
use crate::ledger::statements::{is_prose, prose, sentences, without_marker};
use crate::ledger::steps::names_in;
use crate::ledger::text::{clip, clip_middle, one_line, quote};
use crate::ledger::{ErrorRecord, FileRecord, Ledger, Note, NoteKind, Outcome, Request, Statement, Voice};
use crate::summary::{Section, SummaryKind};
use crate::text::{prefix_utf16, utf16_len};
use crate::tools::{PlanItem, PlanStatus};

/// Fewest pasted lines of a request before one of them counts as its error.
const FEWEST_PASTED: usize = 3;
/// Most UTF-16 units of steps and tasks from before the newest requests.
pub(super) const LONGEST_EARLIER: usize = 420;
/// The words of the request may take the room of a summary divided by this.
const TOLD_PART: usize = 30;
/// Fewest and most UTF-16 units of these words.
const TOLD_UNITS: (usize, usize) = (100, 240);
/// A summary of so many UTF-16 units may give a request or a report twice, once in each section where readers look for
/// it.
pub(in crate::extractive) const ROOM_FOR_TWO: usize = 2048;
/// Most sentences of a request or of a turn that are compared.
const MOST_SENTENCES: usize = 200;
/// Marks omitted sentences.
pub(super) const MARK: &str = " \u{2026} ";
/// Longest request that is repeated beside its next part, in UTF-16 units.
const SHORT_ENOUGH: usize = 100;
/// Longest next part, in UTF-16 units.
const LONGEST_INSIDE: usize = 240;
/// Starts the error that the last step shows.
const SHOWN_LAST: &str = "the last step shows: ";
/// Starts what the model announced last.
const ANNOUNCED_LAST: &str = "announced last: ";
/// Starts what failed and is sent again.
const AGAIN: &str = "send again: ";
/// Starts the cause that the model named but has not acted on.
const CAUSE: &str = "the cause, as last found: ";
/// The step while a command runs in the background.
const SEE_THE_END: &str = "See how the command ended that runs in the background";
/// Starts the files that are left.
const FILES_LEFT: &str = "Not changed yet, unlike files of the same kind: ";
/// A shorter sentence only says that the cause is found, in UTF-16 units.
const SHORT_CAUSE: usize = 40;
/// Most tasks in progress that are listed as the next step.
const MOST_TASKS: usize = 3;
/// Fewest and most items in a list of wishes.
const WISHES: std::ops::RangeInclusive<usize> = 2..=8;

impl Builder<'_> {
    /// Adds the request of the turn that follows. Without one, and if no answer names a step, adds the open request, or
    /// the request whose work failed without a run to repeat.
    pub(super) fn go_on(&mut self, has_failed_runs: bool) {
        if self.kind == SummaryKind::TurnPrefix {
            // The whole request is listed above.
            let first = self.first_request().filter(|_| self.tells_state);
            if let Some((first, task)) = first.and_then(|first| Some((first, self.task_in_progress(first.position)?))) {
                let item = format!("{GO_ON}{task}{}", self.rest_of(&first.text, first.position));
                self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
            } else if let Some(open) = first.and_then(|first| self.open_parts(&first.text, first.position)) {
                let item = format!("{GO_ON}{OPEN_PARTS}{open}");
                self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
            }
            return;
        }
        if let Some(turn) = self.turn_request {
            return self.go_on_with_turn(turn);
        }
        let Some(latest) = self.latest() else { return };
        self.files_left(latest.position);
        let is_newer = |note: &Note| !note.is_minor && note.position >= latest.position && note.position > 0;
        let has_failed = self.ledger.unresolved_errors().any(|error| error.position > latest.position);
        let has_plan = self.ledger.plan.in_state(PlanStatus::Pending).next().is_some();
        let is_planned = has_plan || self.ledger.notes_of(NoteKind::Step).any(is_newer);
        let is_alone = self.turn.is_none() && !self.goes_on;
        let task = self.task_in_progress(latest.position).filter(|_| self.is_open());
        if is_alone && task.is_none() && (is_planned || (!has_failed || has_failed_runs) && !self.is_open()) {
            return;
        }
        // The answer to a failure waits for the end of the command that runs since.
        if is_alone && !self.is_open() && !self.ledger.last_step.jobs.is_empty() {
            self.pool.add(Section::NextSteps, SEE_THE_END, Origin::at(u64::MAX), Rank::Focus);
            return;
        }
        if self.is_open() && self.answer_is_left(&latest.text, latest.position) {
            return;
        }
        if self.is_open() {
            self.steps_listed();
        }
        let open = self.left_open(&latest.text, latest.position);
        if let Some(task) = task {
            let rest = self.rest_of(&latest.text, latest.position);
            let ahead = self.ahead().unwrap_or_default();
            return self.add_step(&format!("{task}{rest}{open}{ahead}"), &task, "");
        }
        if let Some(reply) = self.reply_to_answer(latest) {
            return self.add_step(&reply, &reply, "");
        }
        let text = latest.text.clone();
        let shown = typed(&text, MOST_UNITS);
        let told = || self.with_meaning(&text, self.chosen_at(latest.position), latest.position);
        let line = self.inside(&text, &open).unwrap_or_else(|| format!("{}{open}", told()));
        self.add_step(&line, &shown, &text);
    }

    /// The last words of the person with their meaning, if they reply to a complete answer to the latest request. That
    /// request is closed, and the reply or its option continues.
    fn reply_to_answer(&self, latest: &Request) -> Option<String> {
        let last = self.ledger.last_request().filter(|last| last.position > latest.position)?;
        let is_between = |one: &&Statement| (latest.position..last.position).contains(&one.position);
        let before: Vec<&Statement> = self.ledger.statements.iter().rev().filter(is_between).collect();
        let has = |voice: Voice| before.iter().any(|one| one.voice == voice);
        let is_changed = |file: &FileRecord| (latest.position..last.position).contains(&file.changed_at);
        // A question during the work leaves the request open.
        let is_made = has(Voice::Milestone) || self.ledger.files.iter().any(is_changed);
        let is_answered = is_made && has(Voice::Report);
        let meant = self.chosen_at(last.position).or_else(|| self.answered_by(&last.text, last.position));
        meant.filter(|_| is_answered).map(|meant| format!("{} ({meant})", one_line(&last.text)))
    }

    fn go_on_with_turn(&mut self, turn: &str) {
        self.files_left(u64::MAX);
        if self.answer_is_left(turn, u64::MAX) {
            return;
        }
        self.steps_listed();
        let open = self.left_open(turn, u64::MAX);
        // A word such as `continue` refers to a plan that is newer than the request before it.
        let before = self.latest().filter(|_| is_trivial(turn)).map(|latest| latest.position);
        if let Some(task) = self.task_in_progress(before.unwrap_or(self.ledger.messages)) {
            let rest = self.rest_of(turn, u64::MAX);
            let ahead = self.ahead().unwrap_or_default();
            return self.add_step(&format!("{task}{rest}{open}{ahead}"), &task, "");
        }
        // Output of a command that is only shown does the same.
        let is_shown = self.is_answer && utf16_len(&one_line(turn)) > LONGEST_INSIDE;
        let is_bare = is_trivial(turn) || is_assent(turn) || is_shown;
        if is_substantive(turn) && !is_bare {
            let shown = clip_middle(&typed(turn, MOST_UNITS), self.units / TURN_PART);
            let told = || self.with_meaning(turn, self.chosen_option(turn), u64::MAX);
            let line = self.inside(turn, &open).unwrap_or_else(|| format!("{}{open}", told()));
            return self.add_step(&line, &shown, turn);
        }
        let chosen = self.chosen_option(turn);
        let answered = || self.answered_by(turn, u64::MAX).filter(|said| !is_bare || said.starts_with(IN_ANSWER));
        let line = match chosen.or_else(answered) {
            Some(meant) => format!("{} ({meant})", one_line(turn)),
            // A word such as `continue` says nothing by itself.
            None if is_bare => self.latest().map_or_else(|| THE_LATEST.to_owned(), |latest| self.told(&latest.text)),
            None => typed(turn, MOST_UNITS),
        };
        let line = clip_middle(&line, (self.units / TURN_PART).clamp(TURN_UNITS.0, TURN_UNITS.1));
        self.add_step(&format!("{line}{open}"), &line, turn);
    }

    /// What comes next inside the open request. Goal has its words, so only a few of them come before `open`, which is
    /// what is left of it.
    fn inside(&self, request: &str, open: &str) -> Option<String> {
        let ahead = self.ahead()?;
        let whole = one_line(request);
        let is_told = utf16_len(&whole) <= SHORT_ENOUGH && is_prose(&whole);
        let told = if is_told { &whole } else { THE_LATEST };
        Some(format!("{told}{open}{ahead}"))
    }

    /// The progress of the open request: the error that its last step shows, the cause that the model found without a
    /// change so far, and what it announced last.
    fn ahead(&self) -> Option<String> {
        let ledger = self.turn.unwrap_or(self.ledger);
        if self.units < ROOM_FOR_TWO {
            return None;
        }
        if let Some(again) = self.to_repeat() {
            return Some(format!("; {again}"));
        }
        if !self.is_open() {
            return None;
        }
        let step = &ledger.last_step;
        let asked_at = ledger.asked_at();
        let of_turn = || {
            let of_model = ledger.statements.iter().rev().filter(|one| one.is_of_model());
            of_model.take_while(|one| one.position > asked_at).take(MOST_SENTENCES)
        };
        let newest = of_turn().next()?;
        let error = step.shown_error.as_ref().filter(|_| self.is_step_open(ledger) && step.position > newest.position);
        if let Some((error, _)) = error {
            return Some(format!("; {SHOWN_LAST}{error}"));
        }
        let changed_at = ledger.changed_at();
        let is_cause = |one: &&Statement| one.position > changed_at && one.voice != Voice::Announcement;
        // A short sentence such as `Found it!` needs the one after it.
        let mut behind: Option<&Statement> = None;
        let cause = of_turn().find_map(|one| {
            let next = behind.replace(one);
            let is_short = utf16_len(&one.text) < SHORT_CAUSE;
            let cause = if is_short { next.filter(|next| next.position == one.position) } else { Some(one) };
            cause.filter(|cause| is_theory(&one.text) && is_cause(cause) && !agrees_with_person(&cause.text))
        });
        // An announcement before several steps has been carried out.
        let mut own = of_turn().take_while(|one| one.position == newest.position && step.calls_since_words <= 1);
        let announced = own.find(|one| one.voice == Voice::Announcement && is_announcement(&one.text));
        let announced = announced.filter(|one| !is_begun(ledger, one));
        let told = |start: &str, one: &Statement| {
            let words = one.text.trim_end_matches([':', '\u{ff1a}', ' ']);
            format!("; {start}{}", clip(words, LONGEST_INSIDE))
        };
        let cause = cause.map(|cause| told(CAUSE, cause));
        let announced = announced.map(|announced| told(ANNOUNCED_LAST, announced));
        let unrun = self.unrun_file().map(|file| format!("; run {file}, which was written and not run yet"));
        let all = [cause, announced, unrun].into_iter().flatten().collect::<String>();
        (!all.is_empty()).then_some(all)
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
        let edits = open.iter().filter(|error| is_last(error) && is_of_file(newest, error));
        let edit = edits.filter_map(|error| error.subject.as_deref()).next_back();
        match (edit, request) {
            (Some(file), _) => Some(format!("{AGAIN}the edit of {}, which failed", quote(file))),
            (None, Some(_)) => Some(format!("{AGAIN}the request to the model, which failed")),
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

    /// The plan's tasks in progress, if the plan is newer than the request at `since`. They describe the next step
    /// better than the request.
    fn task_in_progress(&self, since: u64) -> Option<String> {
        let plan = Some(&self.with_turn.plan).filter(|plan| plan.position > since)?;
        let reported = self.with_turn.reported_tasks();
        let is_open = |item: &&PlanItem| !reported.iter().any(|task| std::ptr::eq(*task, *item));
        let left = plan.items.iter().skip(self.passed_tasks(plan));
        let tasks = left.filter(|item| item.status == PlanStatus::InProgress);
        let tasks = tasks.filter(is_open).take(MOST_TASKS + 1);
        let tasks: Vec<String> = tasks.map(|task| clip(&task.text, LONGEST_REPEAT)).collect();
        (1..=MOST_TASKS).contains(&tasks.len()).then(|| tasks.join("; "))
    }

    /// The parts of a request that nothing was done for yet, after the task in progress.
    fn rest_of(&self, request: &str, position: u64) -> String {
        self.open_parts(request, position).map_or_else(String::new, |open| format!(", then {OPEN_PARTS}{open}"))
    }

    /// A request in a few of its own sentences, if there is room for more than those of Goal. A request that only
    /// pastes an error is shown as that error. A turn without a history has no other request that could be meant.
    pub(super) fn told(&self, request: &str) -> String {
        let (fewest, most) = TOLD_UNITS;
        if self.units < ROOM_FOR_TWO || self.goes_on {
            return THE_LATEST.to_owned();
        }
        let units = (self.units / TOLD_PART).clamp(fewest, most);
        // The context of a turn has its request in full.
        let is_long = self.turn_request == Some(request) && utf16_len(&one_line(request)) > units;
        match reported(request).filter(|_| is_pasted(request)) {
            Some(problem) => clip(&problem, units),
            None => told_in(request, if is_long { units.min(TURN_UNITS.0) } else { units }),
        }
    }

    /// The request at `position` with the option that it chooses, or the question that a very short request answers.
    fn with_meaning(&self, request: &str, chosen: Option<String>, position: u64) -> String {
        if let Some(open) = self.open_parts(request, position).filter(|_| chosen.is_none()) {
            return format!("{OPEN_PARTS}{open}");
        }
        let line = one_line(request);
        // `Yes.` answers the question, whatever comes after it.
        let agrees = sentences(request).next().filter(|first| is_trivial(first)).map(one_line);
        let terse = agrees.or_else(|| Some(line).filter(|line| utf16_len(line) <= TERSE_REQUEST));
        let answered = || self.answered_by(&terse?, position).filter(|said| said.starts_with(IN_ANSWER));
        match chosen.or_else(answered) {
            Some(meant) => format!("{} ({meant})", self.told(request)),
            None => self.told(request),
        }
    }

    /// Adds the step of a request that the summary already contains as `shown`.
    fn add_step(&mut self, line: &str, shown: &str, request: &str) {
        let error =
            shown_error(request).filter(|error| !shown.contains(error.as_str()) && !line.contains(error.as_str()));
        let item = match error {
            Some(error) => format!("{GO_ON}{line} (it shows: {error})"),
            None => format!("{GO_ON}{line}"),
        };
        self.pool.add(Section::NextSteps, &item, Origin::at(u64::MAX), Rank::Focus);
        let wishes = wishes(request);
        // If the line contains the whole list, its items are not needed.
        if !wishes.iter().all(|wish| shown.contains(&one_line(wish))) {
            for wish in wishes {
                self.pool.add(Section::NextSteps, &clip(wish, LONGEST_REPEAT), Origin::at(u64::MAX), Rank::Normal);
            }
        }
    }

    /// Whether a step was named before the newest request for work, and that request is in progress. The request
    /// usually asks for the step, and nobody knows how much of it is done.
    pub(super) fn is_before_work(&self, step: &Note) -> bool {
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn)).map(|_| self.ledger.messages + 1);
        let own = || self.ledger.requests.iter().rev().find(|request| is_substantive(&request.text));
        let Some(asked_at) = of_turn.or_else(|| Some(own()?.position)) else { return false };
        step.position > 0 && step.position < asked_at && self.acted_at() > asked_at
    }

    /// Adds the steps that were named before the newest request, in one item.
    pub(super) fn earlier_steps(&mut self, steps: &[&Note]) {
        let texts: Vec<String> = steps.iter().map(|step| clip(&step.text, LONGEST_REPEAT)).collect();
        let Some(newest) = steps.last() else { return };
        let item = format!("{NAMED_BEFORE}{}", clip(&texts.join("; "), LONGEST_EARLIER));
        self.pool.add(Section::NextSteps, &item, Origin::of(newest.position, &newest.sources), Rank::Normal);
    }

    /// Adds the open tasks of a plan that was not updated for several requests, in one item.
    pub(super) fn stale_plan(&mut self, is_stale: bool) {
        let plan = &self.ledger.plan;
        let left = plan.items.iter().skip(self.passed_tasks(plan));
        let tasks: Vec<&str> =
            left.filter(|task| task.status == PlanStatus::Pending).map(|task| task.text.as_str()).collect();
        let tasks = if is_stale { self.not_seen_done(plan, tasks) } else { tasks };
        if is_stale && !tasks.is_empty() {
            let item = format!("{OLD_PLAN}{}", clip(&tasks.join("; "), LONGEST_EARLIER));
            self.pool.add(Section::NextSteps, &item, Origin::at(plan.position), Rank::Low);
        }
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

/// Whether the failed call reads or changes a file.
pub(super) fn is_of_file(ledger: &Ledger, error: &ErrorRecord) -> bool {
    let Some(subject) = error.subject.as_deref() else { return false };
    let is_run = || ledger.commands.iter().any(|run| shown(&run.command) == subject);
    ending(subject).is_some() && !subject.contains(['(', ' ']) && !is_run()
}

/// Whether the model has begun what it announced: a file was changed, or a command ran that the words name.
fn is_begun(ledger: &Ledger, announced: &Statement) -> bool {
    let is_changed = ledger.files.iter().any(|file| file.changed_at >= announced.position);
    let runs = ledger.commands.iter().rev().take_while(|run| run.position >= announced.position);
    let mut runs = runs.filter(|run| run.outcome != Outcome::Open);
    is_changed || runs.any(|run| names_in(&announced.text).any(|name| run.command.contains(name)))
}

/// A request in at most `units` UTF-16 units: whole, or the sentences that ask, the first and the last one, then the
/// others in order. A sentence that does not fit is cut between words.
pub(super) fn told_in(request: &str, units: usize) -> String {
    let whole = one_line(request);
    if utf16_len(&whole) <= units {
        return whole;
    }
    let all: Vec<String> = sentences(request).filter(|one| is_said(one)).take(MOST_SENTENCES).map(one_line).collect();
    let Some(last) = all.len().checked_sub(1) else { return cut(&whole, units) };
    let asking = (0..=last).rev().filter(|at| is_question(&all[*at]));
    let (mut kept, mut left) = (vec![String::new(); all.len()], units);
    let ends = if is_document(request) { [0, 0] } else { [0, last] };
    for at in asking.chain(ends).chain(1..=last) {
        // A mark for omitted text may come before each of them.
        let room = left.saturating_sub(MARK.len());
        if kept[at].is_empty() && (utf16_len(&all[at]) <= room || left == units) {
            kept[at] = cut(&all[at], room);
            left = room.saturating_sub(utf16_len(&kept[at]));
        }
    }
    with_gaps(kept.iter().map(String::as_str))
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
