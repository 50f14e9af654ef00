//! The state of the latest request: what was done for it, what the newest answer says about it, and what it leaves
//! open.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::deeds::MOST_CHANGED;
use super::newest_answer::is_question;
use super::next_steps::{is_of_file, is_pasted};
use super::notes::is_asking;
use super::plan::STALE_AFTER;
use super::requests::{LONGEST_IN_GOAL, SHORT_REQUEST, asks};
use super::{
    Builder, FileStates, LONGEST_REPEAT, MOST_LATEST, PROGRESS_PART, ROOM_FOR_TWO, milestones, standing_milestones,
};
use crate::extractive::budget::{MOST_UNITS, joined};
use crate::extractive::pool::{Origin, Pool, Rank};
use crate::ledger::actions::{shown, shown_call};
use crate::ledger::answers::{affirms_or_denies, is_praise};
use crate::ledger::bold::without_bold;
use crate::ledger::closed_requests::{
    answered_item, has_question, instructs, is_claim, is_filler, is_settled_by_answer, objection, opening, rejects,
    reopens, result_of, tells_failure, told, with_files, worked_on_item,
};
use crate::ledger::commands::{clip_command, core_command, is_check, looks_up, purposes, without_preparation};
use crate::ledger::completed::finished_list;
use crate::ledger::conclusions::concluded_last;
use crate::ledger::cues::{is_announcement, is_substantive, typed};
use crate::ledger::last_step::is_thought;
use crate::ledger::notes::{
    ANNOUNCED, ANSWER, ANSWERED_SO, BROKEN_OFF, COMMANDS, COMMITTED, CONCLUDED, DECLINED, FAILED, IN_BACKGROUND,
    LAST_STEP, LATEST_WORDS, NOTHING_RUN, NOTHING_YET, OPEN_FILE, SAID_BEFORE, SAID_LAST, SO_FAR, THE_LATEST, UNKNOWN,
    WORKING_ON,
};
use crate::ledger::problems::{own_words, reports};
use crate::ledger::statements::{prose, sentences, without_marker};
use crate::ledger::text::{WordList, clip, clip_middle, clip_sentences, one_line, quote, word_list};
use crate::ledger::{CommandRecord, ErrorRecord, Ledger, NoteKind, Outcome, Statement, Voice};
use crate::summary::{Section, SummaryKind};
use crate::text::{prefix_utf16, utf16_len};

/// Longest end of an answer, in UTF-16 units.
const LONGEST_CLOSING: usize = 420;
/// Longest beginning of a final answer, in UTF-16 units.
const LONGEST_RESULT: usize = 240;
/// Most commands since a request that are listed.
const MOST_RUNS: usize = 2;
/// Longest such command, and longest error of it, in UTF-16 units.
const LONGEST_RUN: usize = 80;
/// Most UTF-16 units of the first words of a request, as its name.
const LONGEST_NAMED: usize = 60;
/// A list of changed files may take the room of a summary divided by this.
pub(super) const FILES_PART: usize = 60;
/// Fewest and most UTF-16 units of such a list.
const FILE_UNITS: (usize, usize) = (60, 120);
/// Last statements of an answer among which it asks something.
const ASKED_WITHIN: usize = 3;
/// Steps after the newest words from which the words may no longer say what is done.
const FEWEST_SINCE: u64 = 2;
/// The last step may take the room of a summary divided by this.
const STEP_PART: usize = 24;
/// Room for the last step in any case, in UTF-16 units.
const LEAST_STEP: usize = 240;
/// The model's conclusion may take the room of a summary divided by this.
const CONCLUDED_PART: usize = 32;
/// Longest conclusion of the model, in UTF-16 units.
const LONGEST_CONCLUDED: usize = 400;
/// Longest request that may make no sense without what was said before it, in UTF-16 units.
const LONGEST_ANSWERING: usize = 600;
/// Number of last parts of a path that name a file.
const PARTS: usize = 2;
/// Longest ending of its name, in bytes.
const LONGEST_ENDING: usize = 5;
/// Fences of commands that a person or the model types into a terminal.
const SHELLS: [&str; 10] = ["bash", "sh", "shell", "zsh", "console", "terminal", "powershell", "ps1", "cmd", "bat"];
/// Words with which the model says that it makes the same change to more files.
static REMAINING: WordList = word_list!("state: remaining");
/// Fewest files of one kind that it has changed by then.
const FEWEST_ALIKE: usize = 2;
/// First words of lines that belong to a script and are not commands by themselves.
const SCRIPT_WORDS: [&str; 9] = ["if", "then", "else", "elif", "fi", "for", "while", "do", "done"];
/// Most commands of an answer that are listed.
const MOST_COMMANDS: usize = 8;
/// Most UTF-16 units of these commands.
const COMMAND_UNITS: usize = 480;

/// Number of first sentences of the model behind a question that may answer it.
const ANSWERED_WITHIN: usize = 3;
/// UTF-16 units of such an answer from which no second sentence is needed.
const ENOUGH: usize = 120;

/// What the model answered to a question with its first words.
fn answer_to_question(since: &[Statement], units: usize) -> Option<String> {
    let mut own = since.iter().filter(|one| one.is_of_model());
    let first = own.next()?;
    let said = std::iter::once(first).chain(own).take_while(|one| one.position == first.position);
    let said = said.take(ANSWERED_WITHIN).filter(|one| matches!(one.voice, Voice::Report | Voice::Remark));
    let said = said.map(|one| one.text.as_str()).filter(|text| !is_praise(text) && !is_announcement(text));
    let mut answer = String::new();
    for text in said.skip_while(|text| !affirms_or_denies(text)) {
        if utf16_len(&answer) < ENOUGH {
            answer = joined(&[answer.as_str(), text]);
        }
    }
    (!answer.is_empty()).then(|| clip_sentences(&answer, units))
}

impl<'a> Builder<'a> {
    /// The turn that follows, as a conversation of its own.
    pub(super) fn of_turn(&self) -> Option<Builder<'a>> {
        let pool = Pool::new(None, false);
        self.turn.map(|ledger| Builder {
            begun_at: 0,
            with_turn: ledger,
            newest: self.newest,
            checks: self.checks.clone(),
            ledger,
            turn: None,
            turn_request: None,
            is_answer: false,
            kind: self.kind,
            goes_on: false,
            tells_state: self.tells_state,
            units: self.units,
            standing: self.standing.clone(),
            states: Rc::new(FileStates::of(ledger, &standing_milestones(milestones(ledger)))),
            undone: self.undone.clone(),
            unsolved: self.unsolved.clone(),
            pool,
        })
    }

    /// The same for the history with its turn.
    fn over(self, ledger: &'a Ledger) -> Self {
        let states = Rc::new(FileStates::of(ledger, &self.standing));
        Self { ledger, with_turn: ledger, states, ..self }
    }

    /// What the model concluded since the message at `position`, or else what it said right before it.
    fn concluded_since(&self, position: u64) -> Option<String> {
        let units = (self.units / CONCLUDED_PART).min(LONGEST_CONCLUDED);
        if self.units < ROOM_FOR_TWO || !self.tells_state {
            return None;
        }
        let all = self.ledger.statements.as_slice();
        let (before, since) = all.split_at(all.partition_point(|one| one.position <= position));
        let since = self.turn.filter(|_| since.is_empty()).map_or(since, |turn| turn.statements.as_slice());
        let request = match position {
            u64::MAX => self.turn_request,
            _ => self.ledger.requests.iter().rev().find(|one| one.position == position).map(|one| one.text.as_str()),
        };
        // The first words answer a question, and what follows explains them.
        let said = request
            .filter(|request| self.is_being_answered(request, position))
            .and_then(|_| answer_to_question(since, units));
        if let Some(said) = said {
            return Some(format!("{ANSWERED_SO}{said}"));
        }
        if let Some(said) = concluded_last(since, units) {
            return Some(format!("{CONCLUDED}{said}"));
        }
        let request = request?;
        // A long request can be understood alone, and Goal contains what a very short one answers.
        let is_whole = utf16_len(&typed(request, MOST_UNITS)) > LONGEST_ANSWERING && !reports(request);
        if is_whole || self.answered_by(request, position).is_some() {
            return None;
        }
        let start = before.iter().rposition(|one| one.voice == Voice::Person && one.position < position);
        let before = &before[start.unwrap_or_default()..];
        // A report closed what was asked before. The request goes on with an answer that did not come to its end, or answers
        // what that asks.
        let last = before.iter().rfind(|one| one.is_of_model())?.position;
        let mut ends = before.iter().rev().filter(|one| one.position == last).take(ASKED_WITHIN);
        let offers = || self.ledger.notes_of(NoteKind::Step).any(|note| note.position == last && is_asking(&note.text));
        let mut is_answered = || !asks(request) && (ends.any(|one| is_question(&one.text)) || offers());
        if self.ledger.answered >= last && !is_answered() {
            return None;
        }
        let said = concluded_last(before, units)?;
        // A conclusion that the person found untrue, or tried without success, is of no use.
        let is_refuted = rejects(request, &said)
            || reopens(request, "", &said)
            || objection(request, &said).is_some()
            || reports(request) && (is_claim(&said) || instructs(&said));
        (!is_refuted).then(|| format!("{SAID_BEFORE}{said}"))
    }

    /// Whether the model has begun to answer the question at `position` in words, and has called nothing for it.
    pub(super) fn is_being_answered(&self, request: &str, position: u64) -> bool {
        let all = self.ledger.statements.as_slice();
        let since = &all[all.partition_point(|one| one.position <= position)..];
        let (since, ledger) = self
            .turn
            .filter(|_| since.is_empty())
            .map_or((since, self.ledger), |turn| (turn.statements.as_slice(), turn));
        let asked_at = if std::ptr::eq(ledger, self.ledger) { position } else { 0 };
        has_question(request)
            && ledger.last_step.position <= asked_at
            && answer_to_question(since, LONGEST_CONCLUDED).is_some()
    }

    /// The item of the request at `position`, which is worked on, if anything is known of its state. Goal has its words.
    pub(super) fn working_on(&self, position: u64) -> Option<String> {
        // Goal has only a part of a long request of a turn, and the others stand far below.
        let is_long = |turn: &&str| {
            self.turn.is_some() && !self.is_answer && utf16_len(&one_line(turn)) > LONGEST_IN_GOAL && !is_pasted(turn)
        };
        let turn = self.turn_request.filter(is_long).filter(|_| position == u64::MAX && self.units >= ROOM_FOR_TWO);
        let words = turn.map(|turn| clip(&typed(turn, MOST_UNITS), LONGEST_NAMED));
        let named = words.map(|words| format!(", \"{}\u{2026}\"", words.trim_end_matches(['\u{2026}', ' '])));
        let named = named.unwrap_or_default();
        let is_closed = self.is_closed_before_turn();
        let item = match self.turn_request.filter(|_| is_closed) {
            Some(words) => format!("{WORKING_ON}{LATEST_WORDS}, \"{}\"", clip(&one_line(words), LONGEST_NAMED)),
            None => format!("{WORKING_ON}{THE_LATEST}{named}"),
        };
        let done = match self.of_turn() {
            // The request comes from an earlier summary.
            None if position == 0 => Vec::new(),
            None => self.done_since(position),
            Some(turn) if position == 0 || position == u64::MAX || is_closed => turn.done_since(1),
            Some(turn) if std::ptr::eq(self.with_turn, self.ledger) => {
                let mut done = self.done_since(position);
                done.extend(turn.done_since(1));
                done
            }
            // The turn continues a request before it.
            Some(turn) => turn.over(self.with_turn).done_since(position),
        };
        // The kept messages of a turn begin with what was done for it.
        let is_newest = match self.turn {
            Some(turn) => (position == u64::MAX || is_closed) && turn.messages <= 1,
            None => !self.goes_on && position == self.ledger.messages,
        };
        let last_words = || self.of_turn().map_or_else(|| self.last_words(), |turn| turn.last_words());
        let is_said_below = |said: &String| {
            let start = prefix_utf16(said.split_once(": ").map_or(said.as_str(), |(_, words)| words), SHORT_REQUEST);
            last_words().is_some_and(|(words, _)| words.contains(start))
        };
        let said = if done.is_empty() && !is_closed { self.concluded_since(position) } else { None };
        let said = said.filter(|said| !self.is_open() || !is_said_below(said));
        let state = match (done.is_empty(), said) {
            (true, Some(said)) if is_newest => format!("{NOTHING_YET}; {said}"),
            (true, Some(said)) => said,
            (true, None) if is_newest => NOTHING_YET.to_owned(),
            // What was said and done last stands below.
            (true, None) if self.tells_last() => return None,
            (true, None) => return Some(item),
            (false, _) => format!("{SO_FAR}{}", done.join("; ")),
        };
        Some(format!("{item} ({state})"))
    }

    /// Whether In Progress has the last step.
    fn tells_last(&self) -> bool {
        !self.turn.unwrap_or(self.ledger).last_step.is_empty()
    }

    /// Adds what the model said last in the turn that follows.
    pub(super) fn last_words_of(&mut self, turn: &Builder<'_>) {
        if let Some(announced) = turn.announced().or_else(|| turn.promised()) {
            self.pool.add(Section::NextSteps, &announced, Origin::at(u64::MAX), Rank::Focus);
        } else if let Some((words, _)) = turn.last_words() {
            let item = format!("{}: {words}", turn.said_last());
            self.pool.add(Section::InProgress, &item, Origin::at(u64::MAX), Rank::Focus);
        }
        if !turn.ledger.last_step.is_empty() {
            let item = turn.last_step_item();
            self.pool.add(Section::InProgress, &item, Origin::at(u64::MAX), Rank::Focus);
        }
    }

    /// Begins the item of the newest words. If many calls follow them, they may no longer say what was done.
    pub(super) fn said_last(&self) -> String {
        match self.ledger.last_step.calls_since_words {
            0..FEWEST_SINCE => SAID_LAST.to_owned(),
            calls => format!("{SAID_LAST}, before {calls} more steps"),
        }
    }

    /// Adds what was done last for the request while its turn is open, and what runs in the background.
    pub(super) fn last_step(&mut self) {
        let is_repeated = |job: &&String| {
            let own = purposes(job);
            let begun =
                self.with_turn.commands.iter().rev().find(|run| run.command == **job).map_or(0, |run| run.position);
            let later = self.with_turn.commands.iter().rev().take_while(|run| run.position > begun);
            later.filter(|run| run.outcome == Outcome::Succeeded).any(|run| purposes(&run.command) == own)
        };
        // A check that ran again to its end needs no other end.
        let jobs = self.with_turn.last_step.jobs.iter().filter(|job| !is_check(job) || !is_repeated(job));
        for job in jobs.collect::<Vec<_>>() {
            let item = format!("{IN_BACKGROUND}{}", quote(&clip_middle(job, LONGEST_RUN)));
            self.pool.add(Section::InProgress, &item, Origin::at(self.with_turn.messages), Rank::Focus);
        }
        let broken_off = self.with_turn.last_step.broken_off.as_ref().filter(|_| self.is_open() || self.turn.is_some());
        if let Some(reason) = broken_off {
            let item = format!("{BROKEN_OFF}{}", clip(reason, LONGEST_RESULT));
            self.pool.add(Section::InProgress, &item, Origin::at(self.with_turn.messages), Rank::Focus);
        }
        let is_resumed = self.resumes() && self.turn.is_none_or(|turn| turn.last_step.is_empty());
        if (self.turn.is_none() || is_resumed) && self.is_going_on() {
            let origin = Origin::at(self.ledger.last_step.position);
            self.pool.add(Section::InProgress, &self.last_step_item(), origin, Rank::Focus);
        }
    }

    fn last_step_item(&self) -> String {
        let units = (self.units / STEP_PART).max(LEAST_STEP);
        let step = &self.ledger.last_step;
        let is_blocked = self.ledger.unresolved_errors().any(|error| error.position == step.position);
        let mut text = step.told(units, is_blocked);
        if let Some(file) = self.open_file().filter(|_| text.contains(OPEN_FILE)) {
            text = text.replace(OPEN_FILE, &format!("{OPEN_FILE} ({file})"));
        }
        format!("{LAST_STEP}{text}")
    }

    /// The file of a call without a path: the only one that the newest words name, or the only one that was used since
    /// the last request.
    fn open_file(&self) -> Option<String> {
        let asked_at = self.ledger.asked_at();
        let words = self.own_answer().unwrap_or_default();
        let mut named: Vec<&str> = words.split(is_no_path).map(|word| word.trim_end_matches('.')).collect();
        named.retain(|word| is_file_name(word));
        named.sort_unstable();
        named.dedup();
        let mut touched = self.ledger.files.iter().filter(|file| file.position > asked_at);
        let file = match named.as_slice() {
            [] => touched.next().filter(|_| touched.next().is_none()).map(|file| file.path.as_str()),
            [only] => Some(*only),
            _ => None,
        };
        file.map(|file| quote(&shown(end_of(file, PARTS))))
    }

    /// Whether the last step is listed because its turn is open.
    fn is_going_on(&self) -> bool {
        let step = &self.ledger.last_step;
        let is_open = self.kind == SummaryKind::TurnPrefix || self.is_open();
        !step.is_empty() && step.position > self.ledger.asked_at().max(self.ledger.answered) && is_open
    }

    /// The end of the newest answer.
    pub(super) fn last_words(&self) -> Option<(String, Origin<'a>)> {
        let latest: Vec<_> = self.newest_of_model().take(MOST_LATEST).collect();
        let newest = latest.first()?;
        let has_called = self.has_called_since(newest.position);
        if has_called && self.own_answer().is_some_and(ends_with_title) {
            return None;
        }
        let words = self.closing_words(newest.position).unwrap_or_else(|| {
            let of_newest = latest.iter().filter(|one| one.position == newest.position);
            let mut of_newest: Vec<&str> = of_newest.map(|one| one.text.as_str()).collect();
            of_newest.reverse();
            clip_middle(&joined(&of_newest), LONGEST_CLOSING)
        });
        // The calls behind it tell what was announced.
        let is_told = |one: &str| is_announcement(one) || one.trim_end_matches(['*', '_']).ends_with([':', '\u{ff1a}']);
        // A step in a file that nothing names tells little of it.
        let words = match has_called && !self.last_step_item().contains(OPEN_FILE) {
            true => joined(&sentences(&words).filter(|one| !is_told(one)).collect::<Vec<_>>()),
            false => words,
        };
        (!words.is_empty()).then(|| (words, Origin::of(newest.position, &newest.sources)))
    }

    /// Whether the model called a tool with its words at `position`, or behind them.
    fn has_called_since(&self, position: u64) -> bool {
        let ledger = self.ledger;
        ledger.last_step.position > position
            || ledger.plan.position >= position
            || ledger.errors.iter().any(|error| error.position > position)
    }

    /// The check or the run of a changed file to repeat for the request at `position`.
    pub(super) fn check_to_repeat(&self, position: u64) -> Option<String> {
        self.stale_check(position).or_else(|| self.stale_run(position))
    }

    /// What was done after the message at `since`: changed files, the newest milestones, and the newest commands that
    /// are not among them. It has a share of the summary.
    fn done_since(&self, since: u64) -> Vec<String> {
        let standing = standing_milestones(milestones(self.ledger).filter(|one| one.position > since));
        // A commit names the files in it.
        let commit = standing.iter().rev().find(|one| one.text.starts_with(COMMITTED));
        let since_commit = commit.map_or(since, |commit| commit.position);
        let changed = self.ledger.files.iter().rev().filter(|file| file.changed_at > since_commit);
        let changed = changed.filter(|file| !self.states.is_file_taken_back(file)).map(|file| self.states.name(file));
        let changed: Vec<String> = changed.collect();
        let changed = named_files(&changed.iter().map(String::as_str).collect::<Vec<_>>(), self.units / FILES_PART);
        let newest = standing.iter().rev().take(MOST_LATEST);
        let mut told: Vec<(u64, String)> = newest.map(|one| (one.position, clip(&one.text, LONGEST_REPEAT))).collect();
        // The last step has an item of its own.
        let is_step = |run: &CommandRecord| run.position == self.ledger.last_step.position && self.is_going_on();
        let is_told = |run: &CommandRecord| standing.iter().any(|one| one.position == run.position) || is_step(run);
        let runs = self.ledger.commands.iter().filter(|run| run.position > since);
        // Something that failed and was done in another way is not progress.
        let is_open = |run: &CommandRecord| {
            let subject = shown(&run.command);
            run.outcome != Outcome::Failed
                || self.with_turn.unresolved_errors().any(|error| error.subject.as_ref() == Some(&subject))
        };
        let runs = runs.filter(|run| is_open(run));
        let runs = runs.filter(|run| !(run.is_call && is_thought(run.command.split('(').next().unwrap_or_default())));
        let runs = runs
            .filter(|run| !is_told(run) && (run.is_call || !purposes(&run.command).iter().all(|one| looks_up(one))));
        told.extend(runs.rev().take(MOST_RUNS).map(|run| (run.position, outcome(run))));
        told.sort_by_key(|(position, _)| *position);
        if !changed.is_empty() && self.is_unproved(since) {
            told.push((u64::MAX, NOTHING_RUN.to_owned()));
        }
        let changes = format!("changed {changed}");
        let mut all = if changed.is_empty() { Vec::new() } else { vec![changes] };
        all.extend(told.into_iter().map(|(_, told)| told));
        // The newest of them say most. Changes are always listed.
        let mut room = (self.units / PROGRESS_PART).max(LONGEST_RUN);
        let first = all.len()
            - all
                .iter()
                .rev()
                .take_while(|one| {
                    let has_room = utf16_len(one) <= room;
                    room = room.saturating_sub(utf16_len(one));
                    has_room
                })
                .count();
        let kept = all.split_off(first);
        all.truncate(usize::from(!changed.is_empty() && first > 0));
        all.extend(kept);
        all
    }

    /// Adds the report of the newest answer, if it ends the turn of the latest request.
    pub(super) fn result(&mut self) {
        if self.turn_request.is_some_and(is_substantive) && self.kind != SummaryKind::TurnPrefix {
            return self.answered_before_turn();
        }
        if self.tells_report() {
            return self.finished_request();
        }
        let is_told = self.is_open();
        if self.turn_request.is_some() || self.kind == SummaryKind::TurnPrefix || is_told {
            return;
        }
        let Some(newest) = self.newest_of_model().next().filter(|_| self.ledger.last_request().is_some()) else {
            return;
        };
        // An answer whose edits failed announces something that did not happen.
        let changed_at = self.ledger.changed_at().max(self.ledger.asked_at());
        let mut errors = self.ledger.unresolved_errors().filter(|error| error.position > changed_at);
        if errors.any(|error| error.subject.is_none() || is_of_file(self.ledger, error)) {
            return;
        }
        let answer = &self.ledger.newest_answer;
        if let Some(said) = opening(&answer.text).filter(|_| answer.position == newest.position) {
            let item = format!("{ANSWER}{}", clip(&said, LONGEST_RESULT));
            self.pool.add(Section::Done, &item, Origin::of(newest.position, &newest.sources), Rank::Focus);
        }
    }

    /// Adds the latest request, if a complete answer says what came of it, and files changed for it or the answer lists what
    /// was done. In Progress has more of that answer.
    fn finished_request(&mut self) {
        let Some(latest) = self.latest().filter(|latest| latest.position > 0) else { return };
        let is_named = is_settled_by_answer(&latest.text) && is_substantive(&own_words(&latest.text));
        let has_changed = self.ledger.changed_at() > latest.position && self.waiting_question().is_none();
        let is_check = |error: &ErrorRecord| error.subject.as_deref().is_none_or(is_check);
        let fails = self.ledger.unresolved_errors().any(|error| error.position > latest.position && is_check(error));
        let Some(answer) = self.own_answer() else { return };
        let is_made = has_changed && !has_question(&latest.text) || !finished_list(answer).is_empty();
        let is_question = has_question(&latest.text);
        let changed = self.ledger.changed_since(latest.position);
        let item = match result_of(is_question, answer).or_else(|| told(answer).filter(|_| has_changed && !is_question))
        {
            Some(said) if tells_failure(&said) => None,
            Some(said) => Some(answered_item(&latest.text, &with_files(&said, &changed), has_changed)),
            None if tells_failure(answer) => None,
            None => worked_on_item(&latest.text, &changed),
        };
        if let Some(item) = item.filter(|_| is_named && is_made && !fails) {
            self.pool.add(Section::Done, &item, Origin::at(self.ledger.newest_answer.position), Rank::Low);
        }
    }

    /// The newest answer, if it came after the last request.
    pub(super) fn own_answer(&self) -> Option<&str> {
        let answer = &self.ledger.newest_answer;
        let asked = self.ledger.asked_at();
        Some(answer.text.as_str()).filter(|text| answer.position > asked && !text.trim().is_empty())
    }

    /// Whether the newest answer is complete but ends with a colon: it announces something that did not follow.
    pub(super) fn is_announced(&self) -> bool {
        let end = self
            .own_answer()
            .filter(|_| !self.ledger.is_waiting)
            .map(|text| text.trim_end().trim_end_matches(['*', '_']));
        end.is_some_and(|end| end.ends_with([':', '\u{ff1a}']) && !ends_with_title(end))
    }

    /// The words at the end of the newest answer.
    pub(super) fn closing_words(&self, position: u64) -> Option<String> {
        let answer = self.own_answer().filter(|_| self.ledger.newest_answer.position == position)?;
        Some(closing(answer)).filter(|words| !words.is_empty())
    }

    /// Adds the commands that a complete answer gives and nobody has run since.
    pub(super) fn commands_to_run(&mut self) {
        let (item, position) = match self.of_turn() {
            Some(turn) => (turn.commands_item(), u64::MAX),
            None => (self.commands_item(), self.ledger.newest_answer.position),
        };
        if let Some(item) = item {
            self.pool.add(Section::NextSteps, &item, Origin::at(position), Rank::Focus);
        }
    }

    fn commands_item(&self) -> Option<String> {
        // Agents that apply the edits of a complete answer call their tools after it.
        let is_complete = self.ledger.answered == self.ledger.newest_answer.position;
        let answer = self.own_answer().filter(|_| is_complete)?;
        let is_run = |line: &String| {
            let mut runs = self.ledger.commands.iter();
            runs.any(|run| run.position >= self.ledger.newest_answer.position && run.command.contains(&one_line(line)))
        };
        // Who refused one of them wants the work to go on in another way.
        let is_refused = |line: &String| {
            let start = format!("{DECLINED}{}", one_line(line));
            self.ledger.standing(NoteKind::Decision).any(|note| note.text.starts_with(&start))
        };
        let commands = commands(answer);
        let units: usize = commands.iter().map(|one| utf16_len(one)).sum();
        let is_script =
            commands.iter().any(|line| SCRIPT_WORDS.contains(&line.split([' ', ';']).next().unwrap_or(line)));
        if is_script {
            return None;
        }
        let has_gap = commands.iter().any(|line| has_placeholder(line));
        if has_gap
            || commands.is_empty()
            || commands.len() > MOST_COMMANDS
            || units > COMMAND_UNITS
            || commands.iter().any(is_run)
            || commands.iter().any(is_refused)
        {
            return None;
        }
        let listed: Vec<String> = commands.iter().map(|one| quote(&one_line(one))).collect();
        Some(format!("{COMMANDS}{}", listed.join(", ")))
    }

    /// What the newest answer announces at its end.
    pub(super) fn announced(&self) -> Option<String> {
        let words = self.closing_words(self.ledger.newest_answer.position).filter(|_| self.is_announced())?;
        Some(format!("{ANNOUNCED}{words}"))
    }

    /// What a complete answer says at its end that the model will do next, if nothing was done since.
    pub(super) fn promised(&self) -> Option<String> {
        let is_over = self.kind != SummaryKind::TurnPrefix && self.turn.is_none() && !self.is_open();
        let newest = self.newest_of_model().find(|one| !is_filler(&one.text)).filter(|_| is_over)?;
        let is_last = newest.voice == Voice::Announcement && self.ledger.last_step.position <= newest.position;
        let is_title = self.own_answer().is_some_and(ends_with_title);
        // The last paragraph may say something else.
        let start = prefix_utf16(&newest.text, SHORT_REQUEST);
        let words =
            self.closing_words(newest.position).filter(|words| is_last && !is_title && words.contains(start))?;
        Some(format!("{ANNOUNCED}{words}"))
    }

    /// Whether a question is in the last lines of the newest answer.
    pub(super) fn is_ending(&self, question: &Statement) -> bool {
        let said = self.closing_words(question.position);
        said.is_none_or(|said| said.contains(question.text.trim_matches('*')))
    }

    /// The files that a request names and nothing changed since, if others of its files were changed.
    pub(super) fn untouched(&self, request: &str, position: u64) -> Vec<String> {
        let request = request.replace('\\', "/");
        let is_named = |path: &str| {
            let name = path.trim_start_matches("./");
            let mut places =
                request.match_indices(name).map(|(at, found)| (&request[..at], &request[at + found.len()..]));
            let is_of_path = |before: char| before.is_alphanumeric() || "_-./".contains(before);
            places.any(|(before, rest)| {
                let before = before.strip_suffix("./").unwrap_or(before);
                !before.ends_with(is_of_path) && !rest.starts_with(|next: char| next.is_alphanumeric())
            })
        };
        let of_turn = self.turn.into_iter().flat_map(|turn| &turn.files).map(|file| (file, file.is_modified()));
        let own = self.ledger.files.iter().filter(|file| file.is_modified());
        let all = own.map(|file| (file, file.changed_at > position)).chain(of_turn);
        // A path may be written in two ways.
        let mut named: BTreeMap<String, bool> = BTreeMap::new();
        for (file, is_changed) in all {
            let path = file.path.replace('\\', "/");
            if is_named(&path) {
                *named.entry(path).or_default() |= is_changed;
            }
        }
        if !named.values().any(|is_changed| *is_changed) {
            return Vec::new();
        }
        named.into_iter().filter(|(_, is_changed)| !is_changed).map(|(path, _)| quote(&shown(&path))).collect()
    }

    /// The files with the same ending beside those that were changed after the message at `since`, if the model said
    /// last that it makes the same change to the remaining ones.
    pub(super) fn remaining_files(&self, since: u64) -> Option<String> {
        let ledger = self.turn.unwrap_or(self.ledger);
        let newest = ledger.statements.iter().rev().find(|one| one.is_of_model())?.position;
        let mut own = ledger.statements.iter().rev().skip_while(|one| one.position > newest);
        let says = |one: &Statement| REMAINING.is_said(&one.text);
        if !own.by_ref().take_while(|one| one.position == newest).any(says) || !self.is_open() {
            return None;
        }
        let of_turn = self.turn.into_iter().flat_map(|turn| &turn.files).map(|file| (file, file.is_modified()));
        let of_history = self.ledger.files.iter().filter(|file| file.is_modified());
        let mut all: BTreeMap<&str, (bool, u64)> = BTreeMap::new();
        for (file, is_changed) in of_history.map(|file| (file, file.changed_at > since)).chain(of_turn) {
            let (known, at) = all.entry(&file.path).or_default();
            *known |= is_changed;
            *at = (*at).max(file.changed_at);
        }
        let changed: Vec<(u64, &str)> =
            all.iter().filter(|(_, (is_changed, _))| *is_changed).map(|(path, (_, at))| (*at, *path)).collect();
        let (place, ending) = kind_of(changed.iter().max()?.1)?;
        let is_like = |path: &str| kind_of(path) == Some((place, ending));
        let left: Vec<&str> =
            all.iter().filter(|(path, (is_changed, _))| !is_changed && is_like(path)).map(|(path, _)| *path).collect();
        let done = changed.iter().filter(|(_, path)| is_like(path)).count();
        (done >= FEWEST_ALIKE && !left.is_empty()).then(|| named_files(&left, self.units / FILES_PART))
    }

    /// The last check of the work before files changed for the request at `since`.
    fn stale_check(&self, since: u64) -> Option<String> {
        let changed_in_turn = self.turn.map_or(0, Ledger::code_changed_at);
        let (ledger, changed_at, since) = match self.turn.filter(|turn| check_of(turn).is_some()) {
            Some(turn) => (turn, changed_in_turn, 0),
            None if changed_in_turn > 0 => (self.ledger, u64::MAX, 0),
            None => (self.ledger, self.ledger.code_changed_at(), since),
        };
        let (position, command) = check_of(ledger)?;
        let later = self.ledger.requests.iter().rev().take_while(|request| request.position > position);
        let is_recent = !std::ptr::eq(ledger, self.ledger)
            || later.filter(|request| is_substantive(&request.text)).count() <= STALE_AFTER;
        let command = clip_command(without_preparation(core_command(command), LONGEST_RUN), LONGEST_RUN);
        (changed_at > position && changed_at > since && is_recent).then(|| quote(&command))
    }
}

/// The directory of a file and the ending of its name.
fn kind_of(path: &str) -> Option<(&str, &str)> {
    let place = path.len() - end_of(path, 1).len();
    Some((&path[..place], path[place..].rsplit_once('.')?.1))
}

fn is_no_path(character: char) -> bool {
    !character.is_alphanumeric() && !matches!(character, '.' | '_' | '-' | '/' | '\\')
}

/// Whether a word is the name of a file with an ending: `a.rs`, `src/__init__.py`.
fn is_file_name(word: &str) -> bool {
    let Some((stem, ending)) = end_of(word, 1).rsplit_once('.') else { return false };
    let has_letters = |text: &str| text.contains(|one: char| one.is_ascii_alphabetic());
    (1..=LONGEST_ENDING).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && has_letters(ending)
        && has_letters(stem)
        && stem.len() > 1
}

/// Whether an answer ends with a title and nothing after it. Such an end says little.
fn ends_with_title(answer: &str) -> bool {
    let last = answer.trim_end().lines().next_back().unwrap_or_default().trim();
    last.starts_with('#') || last.starts_with("**") && !last.trim_matches('*').contains("**")
}

/// The newest test, build or lint whose outcome is known, with its position.
fn check_of(ledger: &Ledger) -> Option<(u64, &str)> {
    let milestones = ledger.statements.iter().rev().filter(|one| one.voice == Voice::Milestone);
    milestones.filter(|one| one.text.starts_with('`')).find_map(|one| {
        let (command, result) = one.text.strip_prefix('`')?.split_once('`')?;
        (result.starts_with(": ") && is_check(command)).then_some((one.position, command))
    })
}

/// Files in `units` UTF-16 units within [`FILE_UNITS`], in order: whole paths if all of them fit, otherwise with their
/// last directories or only their names. Empty if there are none.
pub(super) fn named_files(paths: &[&str], units: usize) -> String {
    let units = units.clamp(FILE_UNITS.0, FILE_UNITS.1);
    let listed = |parts: usize, most: usize| {
        let names: Vec<String> = paths.iter().take(most).map(|path| quote(&shown(end_of(path, parts)))).collect();
        let more = paths.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        names.join(", ") + &more
    };
    let all = paths.len().min(MOST_CHANGED);
    let forms = [(usize::MAX, all), (2, all), (1, all)];
    let fewer = (1..all).rev().map(|most| (1, most));
    let fits = |list: &String| utf16_len(list) <= units;
    forms.into_iter().chain(fewer).map(|(parts, most)| listed(parts, most)).find(fits).unwrap_or_else(|| {
        let list = listed(1, 1);
        clip_middle(&list, units)
    })
}

/// The last `parts` parts of a path.
pub(super) fn end_of(path: &str, parts: usize) -> &str {
    if parts == usize::MAX {
        return path;
    }
    let mut cuts = path.rmatch_indices(['/', '\\']).map(|(at, mark)| at + mark.len());
    cuts.nth(parts - 1).map_or(path, |at| &path[at..])
}

/// A command with its outcome.
fn outcome(run: &CommandRecord) -> String {
    let verb = if run.is_call { "called" } else { "ran" };
    let command = match run.is_call {
        true => shown_call(&shown(&run.command), LONGEST_RUN),
        false => clip_command(&shown(without_preparation(&run.command, LONGEST_RUN)), LONGEST_RUN),
    };
    let command = quote(&command);
    match (run.outcome, &run.last_error) {
        (Outcome::Failed, Some(error)) => format!("{command}{FAILED}{}", clip(&one_line(error), LONGEST_RUN)),
        (Outcome::Failed, None) => format!("{command} failed"),
        (Outcome::Open, _) => format!("{verb} {command}{UNKNOWN}"),
        _ => format!("{verb} {command}"),
    }
}

/// The last paragraph of an answer, with what comes before it if it is a list or very short. It is cut between lines,
/// so that no part of another list is included.
fn closing(answer: &str) -> String {
    let mut blocks: Vec<Vec<&str>> = vec![Vec::new()];
    for line in prose(answer) {
        match (line.trim().is_empty(), blocks.last_mut()) {
            (false, Some(block)) => block.push(line),
            _ => blocks.push(Vec::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    let text = |block: &Vec<&str>| {
        let lines: Vec<String> =
            block.iter().map(|line| without_bold(&one_line(without_marker(line))).into_owned()).collect();
        let lines: Vec<&str> =
            lines.iter().map(String::as_str).filter(|line| line.contains(char::is_alphanumeric)).collect();
        joined(&lines)
    };
    let begins_list = |block: &Vec<&str>| block.first().is_some_and(|line| is_item(line));
    let is_list = |block: &Vec<&str>| block.iter().any(|line| is_item(line));
    let mut said = String::new();
    for (at, block) in blocks.iter().enumerate().rev() {
        let own = text(block);
        let all = if said.is_empty() { own } else { joined(&[&own, &said]) };
        let is_first = said.is_empty();
        if !is_first && (utf16_len(&all) > LONGEST_CLOSING || is_list(block)) {
            break;
        }
        said = all;
        let needs_more = begins_list(block) || utf16_len(&said) < SHORT_REQUEST;
        if at == 0 || !needs_more {
            break;
        }
    }
    clip_middle(&said, LONGEST_CLOSING)
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    ["- ", "* ", "+ ", "\u{2022}"].iter().any(|mark| line.starts_with(mark))
        || without_marker(line).len() < line.len() && line.starts_with(|first: char| first.is_ascii_digit())
}

/// The commands in the shell fences of an answer: one per line, or several lines if a quote is open or a mark at the
/// end continues the line.
fn commands(answer: &str) -> Vec<String> {
    let (mut commands, mut is_shell, mut is_fenced) = (Vec::<String>::new(), false, false);
    let mut goes_on = false;
    // The commands of the last shell block, as long as only blank lines follow it.
    let (mut behind_shell, mut first_of_block) = (None, 0);
    for line in answer.lines() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            let was_shell = std::mem::take(&mut is_shell);
            is_fenced = !is_fenced;
            is_shell = is_fenced && SHELLS.contains(&language.trim().to_lowercase().as_str());
            match behind_shell.take() {
                // A plain block right after commands is their output.
                Some(first) if is_fenced && language.trim().is_empty() => commands.truncate(first),
                _ if is_shell => first_of_block = commands.len(),
                _ if was_shell => behind_shell = Some(first_of_block),
                _ => {}
            }
            goes_on = false;
            continue;
        }
        behind_shell = behind_shell.filter(|_| line.is_empty());
        if !is_shell || !goes_on && (line.is_empty() || line.starts_with('#')) {
            continue;
        }
        match commands.last_mut().filter(|_| goes_on) {
            Some(last) => {
                *last = format!("{}\n{line}", last.trim_end_matches('\\').trim_end());
            }
            None => commands.push(line.strip_prefix("$ ").unwrap_or(line).to_owned()),
        }
        goes_on = commands.last().is_some_and(|last| is_unfinished(last));
    }
    commands
}

/// Whether a command has a placeholder for the reader to fill in, such as `<id>`.
fn has_placeholder(command: &str) -> bool {
    let is_name = |rest: &str| {
        let name = rest.split_once('>').map_or("", |(name, _)| name);
        name.starts_with(|first: char| first.is_alphabetic()) && !name.contains(char::is_whitespace)
    };
    command.split('<').skip(1).any(is_name)
}

/// Whether a quote of a command is open, or its last line continues on the next one.
fn is_unfinished(command: &str) -> bool {
    let mut open = None;
    for mark in command.chars().filter(|one| matches!(one, '"' | '\'')) {
        open = match open {
            None => Some(mark),
            Some(own) if own == mark => None,
            own => own,
        };
    }
    open.is_some() || command.ends_with('\\')
}
