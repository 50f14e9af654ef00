//! The candidates of a ledger for the sections of a summary.

mod blocked;
mod done;
mod finished;
mod goal;
mod made;
mod next_steps;
mod open_parts;
mod proposed;
mod runs;
mod state;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::budget::{MOST_UNITS, UNITS_PER_TOKEN, joined};
use super::checks::Checks;
use super::pool::{Origin, Pool, Rank};
use super::{Style, Turn};
use crate::ledger::actions::shown;
use crate::ledger::answers::{is_assent, is_courtesy};
use crate::ledger::choices::is_process;
use crate::ledger::closed_requests::accepts;
use crate::ledger::commands::{clip_command, is_check, only_formats, only_looks, purposes};
use crate::ledger::constraints::lasts;
use crate::ledger::cues::{is_substantive, typed};
use crate::ledger::finder::automaton;
use crate::ledger::notes::{
    AGREED, CHANGED_SINCE, CHOSE, COMMITTED, DECIDED, FOCUS, LATEST, LEFT_BRANCH, LOOKED_UP, OBJECTED, OFFERED,
    REFUSED, REJECTED, RESET_TO, SAID_OF, STILL_OPEN, TOOK_BACK, UNDID_WORK, WITHDRAWN, WORKING_ON, answered_with, key,
};
use crate::ledger::outcomes::told_command;
use crate::ledger::rules::only_sets_rules;
use crate::ledger::selection::{Terms, terms, topic_scores};
use crate::ledger::slash::{RESETS, is_prompt};
use crate::ledger::statements::{is_prose, sentences};
use crate::ledger::templates::{is_procedure, task};
use crate::ledger::text::{clip, clip_sentences, first_words, one_line, quote};
use crate::ledger::{CommandRecord, FileRecord, Ledger, Note, NoteKind, Request, RequestWeight, Statement, Voice};
use crate::summary::{Section, SummaryKind};
use crate::text::utf16_len;
use crate::tools::{PlanStatus, edits_files};
use done::{FileStates, UndoneTurns, is_answered_item, is_commit_of, milestones, pushed_commit, standing_milestones};
use goal::{asked, in_full, only_explores, shell_error};
pub(super) use next_steps::ROOM_FOR_TWO;

/// Most UTF-16 units of a repeated request.
const LONGEST_REPEAT: usize = 120;
/// Most UTF-16 units of the question that a short request answers.
const LONGEST_QUESTION: usize = 200;
/// Most UTF-16 units of the answer after which a short request came, and the part of a summary that it may take.
const LONGEST_ANSWER: usize = 140;
const ANSWER_PART: usize = 80;
/// Part of a summary that the milestones of an open request may take.
const PROGRESS_PART: usize = 50;
/// Part of a summary that the request of the turn that follows may take, and its fewest and most UTF-16 units. It
/// stands in full behind the history.
const TURN_PART: usize = 60;
const TURN_UNITS: (usize, usize) = (160, 400);
/// The same part for Goal, which is read alone.
const TURN_IN_GOAL: usize = 30;
/// Most UTF-16 units of an answered request that began a conversation or its topic.
const LONGEST_FIRST: usize = 180;
/// Most UTF-16 units of a latest request that looks like the prompt of a command.
const LONGEST_PROCEDURE: usize = 300;
/// Part of a summary in which Goal surely has a whole request.
const WHOLE_GOAL_PART: usize = 3;
/// Most UTF-16 units of a request that are compared with the newest statements.
const MOST_OF_TOPIC: usize = 600;
/// Percent of a request that must be prose if it can be the aim of a conversation.
const TYPED_PERCENT: usize = 75;
/// How many times as much another request must have of the newest topic as the first one.
const TOPIC_MOVED: f32 = 2.5;
/// Messages from which a request and what followed count as work, and the part of a topic that a question keeps.
const EFFORT_OF_WORK: u64 = 8;
const QUESTION_PART: f32 = 0.5;
/// Last statements of an answer among which it asks its question.
const ASKED_WITHIN: usize = 3;
/// Most UTF-16 units of the sentence that may follow a question for the person.
const LONGEST_BEHIND: usize = 80;
/// Begins the question that a short request answers.
const IN_ANSWER: &str = "in answer to: ";
/// UTF-16 units of a short request, which makes no sense without the question that it answers.
const SHORT_REQUEST: usize = 60;
/// UTF-16 units of a request that makes no sense without the answer before it, even if that asked nothing.
const TERSE_REQUEST: usize = 40;
/// Files and commands that become candidates. At 12 UTF-16 units or more each, they fill 12,000.
const MOST_ACTIONS: usize = 1024;
/// Most statements of the newest answer about the current work.
const MOST_LATEST: usize = 3;

/// The candidates of a ledger.
#[derive(Debug)]
pub(super) struct Candidates {
    pub(super) pool: Pool,
    /// The checks up to the end of the turn that follows, if it is known.
    pub(super) checks: Rc<Checks>,
}

impl Candidates {
    pub(super) fn of(ledger: &Ledger, kind: SummaryKind, style: &Style<'_>) -> Self {
        Self::of_kind(ledger, kind, style, false)
    }

    /// The candidates of the beginning of a turn without a history before it, for the sections of a history.
    pub(super) fn of_turn(ledger: &Ledger, style: &Style<'_>) -> Self {
        Self::of_kind(ledger, SummaryKind::History, style, true)
    }

    fn of_kind(ledger: &Ledger, kind: SummaryKind, style: &Style<'_>, goes_on: bool) -> Self {
        let mut pool = Pool::new(style.custom_instructions, style.citations);
        if let Some(focus) = style.custom_instructions.filter(|focus| !focus.trim().is_empty()) {
            pool.add(Section::Constraints, &format!("{FOCUS}{focus}"), Origin::at(ledger.messages), Rank::Must);
        }
        // What a harness wrote begins no turn.
        let is_turn = |turn: &&Turn| !turn.request.trim().is_empty() || !turn.ledger.is_empty();
        let turn = style.turn.filter(|_| kind == SummaryKind::History).filter(is_turn);
        let turn_request = turn.map(|turn| Self::request_of(turn, ledger)).filter(|request| !request.trim().is_empty());
        let of_turn = |one: &&Request| one.position > ledger.messages;
        let read = style.with_turn.map(|with_turn| with_turn.requests.iter().find(of_turn));
        // The prompt of a command with which the history ends is not the person's.
        let turn_request = turn_request.filter(|turn| read.is_none_or(|read| read.is_some()) || !is_prompt(turn));
        let is_answer = read.flatten().is_some_and(|read| read.weight == RequestWeight::Answer);
        // A turn that begins with a rule goes on with the request before it.
        let is_aim = |request: &&Request| is_substantive(&request.text) && !only_sets_rules(&request.text);
        let is_open = |turn: &str| {
            let aim = ledger.requests.iter().rev().find(is_aim);
            aim.is_some_and(|aim| {
                ledger.answered < aim.position || ledger.changed_at() < aim.position || !accepts(turn)
            })
        };
        let rule = turn_request.filter(|request| only_sets_rules(request) && is_open(request));
        if let Some(rule) = rule {
            pool.add(Section::Constraints, rule, Origin::at(u64::MAX), Rank::Focus);
        }
        let turn_request = turn_request.filter(|_| rule.is_none());
        let units = usize::try_from(style.max_tokens).unwrap_or(usize::MAX).saturating_mul(UNITS_PER_TOKEN);
        let with_turn = style.with_turn.filter(|_| kind == SummaryKind::History).unwrap_or(ledger);
        let turn = turn.map(|turn| &turn.ledger);
        let newest = style.with_turn.unwrap_or(ledger);
        let checks = Rc::new(Checks::of(newest));
        let standing = Rc::new(standing_milestones(milestones(with_turn)));
        let states = match std::ptr::eq(ledger, with_turn) {
            true => FileStates::of(ledger, &standing),
            false => FileStates::of(ledger, &standing_milestones(milestones(ledger))),
        };
        let undone = UndoneTurns::of(with_turn);
        let tells_state = kind != SummaryKind::TurnPrefix || style.with_turn.is_none();
        let is_reset = |request: &&Request| RESETS.contains(&request.text.trim());
        let reset = ledger.requests.iter().rev().find(is_reset).map_or(0, |request| request.position);
        let is_empty = ledger.last_request().is_some_and(|last| last.position == reset) && turn_request.is_none();
        let mut builder = Builder {
            ledger,
            begun_at: if is_empty { 0 } else { reset },
            turn,
            with_turn,
            newest,
            checks,
            kind,
            goes_on,
            tells_state,
            turn_request,
            is_answer,
            units,
            standing,
            states: Rc::new(states),
            undone: Rc::new(undone),
            pool,
        };
        builder.requests();
        let has_failed_runs = builder.failed_runs();
        builder.notes();
        builder.milestones();
        builder.repository();
        builder.plan();
        builder.result();
        builder.commands_to_run();
        builder.newest_answer();
        builder.actions();
        if tells_state {
            builder.last_step();
            builder.blocked();
        }
        builder.go_on(has_failed_runs);
        builder.finished();
        Self { pool: builder.pool, checks: builder.checks }
    }
}

struct Builder<'a> {
    ledger: &'a Ledger,
    /// The ledger with the turn that follows, if it is known.
    with_turn: &'a Ledger,
    /// The same, whatever the kind of the summary, and its checks.
    newest: &'a Ledger,
    checks: Rc<Checks>,
    kind: SummaryKind,
    /// Whether the messages are the beginning of a turn that goes on behind them.
    goes_on: bool,
    /// Whether this summary tells the state of the work. The context of a turn does where there is no history.
    tells_state: bool,
    /// The request of the turn that follows, if a person's words begin it.
    turn_request: Option<&'a str>,
    /// Whether that only answers a question, so that the request before it goes on.
    is_answer: bool,
    /// What was done in that turn.
    turn: Option<&'a Ledger>,
    /// Position of the last command that began a new conversation; 0 for none. Without any request behind it, the old
    /// ones still count.
    begun_at: u64,
    /// UTF-16 units that the summary may take.
    units: usize,
    /// The milestones with those of the turn that follows, as far as no later one replaced them.
    standing: Rc<Vec<&'a Statement>>,
    /// What became of the files.
    states: Rc<FileStates<'a>>,
    /// The turns whose commits were taken back.
    undone: Rc<UndoneTurns>,
    pool: Pool,
}

impl<'a> Builder<'a> {
    /// The first request, and the last one with the question that it answers. The digest has the
    /// requests in between.
    fn requests(&mut self) {
        if self.kind == SummaryKind::TurnPrefix {
            if let Some(first) = self.first_request() {
                let text = in_full(&first.text, self.units);
                self.pool.add(Section::Goal, &text, origin(first), Rank::Must);
            }
            return;
        }
        let latest = self.latest();
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn) && !self.is_answer && !is_assent(turn));
        let newest = of_turn.or(latest.map(|latest| latest.text.as_str()));
        let is_latest = |request: &Request| newest.is_some_and(|newest| one_line(newest) == one_line(&request.text));
        self.earlier_goals(is_latest);
        if let Some(turn) = of_turn {
            let origin = Origin::at(u64::MAX);
            let (fewest, most) = TURN_UNITS;
            let line = asked(turn, (self.units / TURN_IN_GOAL).clamp(fewest, most));
            let item = match self.chosen_option(turn).or_else(|| self.answered_by(turn, u64::MAX)) {
                Some(answered) => format!("{LATEST}{line} ({answered})"),
                None => format!("{LATEST}{line}"),
            };
            self.pool.add(Section::Goal, &item, origin, Rank::Must);
            self.pool.add(Section::InProgress, &self.working_on(u64::MAX), origin, Rank::Focus);
            return;
        }
        if let Some(latest) = latest {
            // The steps of a template are needed as long as it is worked on.
            let request = task(&latest.text).filter(|_| !self.is_open()).unwrap_or(&latest.text);
            let pasted = shell_error(request);
            let is_pasted = pasted.is_some();
            let line = match latest.weight {
                RequestWeight::Command => self.with_title(latest).to_owned(),
                _ if is_pasted => pasted.unwrap_or_default(),
                _ if is_procedure(request) => clip_sentences(&typed(request, MOST_UNITS), LONGEST_PROCEDURE),
                _ => in_full(request, self.units),
            };
            let is_command = latest.weight == RequestWeight::Command;
            let answered = || self.answered_by(&latest.text, latest.position).filter(|_| !is_command);
            let answered = self.chosen_at(latest.position).or_else(answered);
            let item = match &answered {
                Some(question) => format!("{LATEST}{line} ({question})"),
                None => format!("{LATEST}{line}"),
            };
            let item = format!("{item}{}", self.answered_mark());
            self.pool.add(Section::Goal, &item, origin(latest), Rank::Must);
            if self.is_open() {
                // What was done before an answer to a question is told already.
                let is_answer = |last: &&Request| last.weight == RequestWeight::Answer;
                let since = self.ledger.last_request().filter(is_answer).unwrap_or(latest);
                let origin = if self.is_answer { Origin::at(u64::MAX) } else { origin(since) };
                self.pool.add(Section::InProgress, &self.working_on(origin.position), origin, Rank::Focus);
            }
            self.requests_behind(latest);
        }
    }

    /// The option that the request at `position` chose.
    fn chosen_at(&self, position: u64) -> Option<String> {
        let mut decisions = self.ledger.notes_of(NoteKind::Decision).filter(|note| note.position == position);
        decisions.find_map(|note| note.text.strip_prefix(CHOSE)).map(str::to_owned)
    }

    /// What a request answers that is too short to be understood alone: the option that it chooses, the question of
    /// the newest answer before `position`, or what that answer says first.
    fn answered_by(&self, request: &str, position: u64) -> Option<String> {
        if utf16_len(&one_line(request)) > SHORT_REQUEST {
            return None;
        }
        self.question_before(request, position)
    }

    /// The same for a request that may be longer.
    fn question_before(&self, request: &str, position: u64) -> Option<String> {
        let before = |statement: &&Statement| statement.position < position && statement.voice != Voice::Action;
        let last = self.ledger.statements.iter().rev().find(before).filter(|last| last.is_of_model())?;
        if self.is_of_ended(last.position) {
            return None;
        }
        let same = self.ledger.statements.iter().rev().filter(before);
        let mut same: Vec<&Statement> = same.take_while(|one| one.position == last.position).collect();
        same.retain(|one| one.is_of_model());
        if let Some(question) = same.iter().take(ASKED_WITHIN).find(|one| is_question(&one.text)) {
            return Some(format!("{IN_ANSWER}{}", clip(&question.text, LONGEST_QUESTION)));
        }
        // The first sentence may only call for attention.
        let mut said: Vec<&str> = Vec::new();
        for one in same.iter().rev().filter(|one| one.voice != Voice::Announcement && is_substantive(&one.text)) {
            said.push(&one.text);
            if utf16_len(&joined(&said)) >= SHORT_REQUEST {
                break;
            }
        }
        if utf16_len(&one_line(request)) > TERSE_REQUEST {
            return None;
        }
        let units = LONGEST_ANSWER.min(self.units / ANSWER_PART);
        (!said.is_empty()).then(|| format!("after the answer: {}", clip(&joined(&said), units)))
    }

    /// The requests after the last command that began a new conversation.
    fn requests_since_reset(&self) -> &'a [Request] {
        let requests = &self.ledger.requests;
        &requests[requests.partition_point(|request| self.begun_at > 0 && request.position <= self.begun_at)..]
    }

    /// Whether something was said before the conversation that goes on was begun.
    fn is_of_ended(&self, position: u64) -> bool {
        position > 0 && position < self.begun_at
    }

    /// The first request, or the one that began what the newest statements are about, if the topic has moved.
    fn first_request(&self) -> Option<&'a Request> {
        let requests = self.requests_since_reset();
        let is_whole = |request: &&Request| is_substantive(&request.text);
        let is_work = |request: &&Request| !only_explores(&request.text);
        let first = requests.iter().find(is_whole).or_else(|| requests.first());
        if self.kind == SummaryKind::TurnPrefix {
            return first;
        }
        let begun = requests.iter().filter(is_whole).find(is_work).or(first);
        let is_aim = |request: &&Request| {
            request.is_own() && is_typed(&request.text) && is_work(request) && !self.is_rejection(request)
        };
        let aims: Vec<&Request> = requests.iter().filter(is_whole).filter(is_aim).collect();
        let all = || first.into_iter().chain(aims.iter().copied());
        let texts: Vec<_> = all().map(|one| (one.position, typed(&one.text, MOST_OF_TOPIC))).collect();
        let efforts: Vec<u64> = all().map(|one| self.effort(one, &aims)).collect();
        let most = efforts.iter().copied().max().unwrap_or(1).clamp(1, EFFORT_OF_WORK);
        let weighed = topic_scores(self.ledger, &texts).into_iter().zip(all().zip(efforts));
        let scores: Vec<f32> = weighed
            .map(|(score, (one, effort))| {
                let asked = if asks(&one.text) { QUESTION_PART } else { 1.0 };
                score * asked * effort.min(most) as f32 / most as f32
            })
            .collect();
        let own = scores.first().copied().unwrap_or_default();
        // Among equals, the earliest one began the topic.
        let best = scores.iter().rev().zip(aims.iter().rev()).max_by(|one, other| one.0.total_cmp(other.0));
        best.filter(|(score, _)| own * TOPIC_MOVED < **score).map(|(_, aim)| *aim).or(begun)
    }

    /// Whether a request says that what was done was better before. It is told among the decisions.
    fn is_rejection(&self, request: &Request) -> bool {
        let mut own = self.ledger.notes_of(NoteKind::Decision).filter(|note| note.position == request.position);
        own.any(|note| note.text.starts_with(REJECTED) && note.text.contains(SAID_OF))
    }

    /// The messages from a request up to the next one of `aims`. Questions that are answered at once have few.
    fn effort(&self, request: &Request, aims: &[&Request]) -> u64 {
        let next = aims.partition_point(|aim| aim.position <= request.position);
        let end = aims.get(next).map_or(self.ledger.messages + 1, |next| next.position);
        end.saturating_sub(request.position)
    }

    /// The last request that is complete by itself. The kept end of a split turn has its own.
    fn latest(&self) -> Option<&'a Request> {
        let requests = &self.ledger.requests;
        let is_whole = |one: &&Request| match one.weight {
            RequestWeight::Answer => false,
            RequestWeight::Command => is_substantive(self.with_title(one)),
            _ => is_substantive(&one.text),
        };
        let whole = requests.iter().rev().filter(is_whole);
        // A command after whose answer the person went on is over, and their own words still stand.
        let is_last = |one: &Request| requests.last().is_some_and(|last| last.position == one.position);
        let is_current = |one: &&Request| one.weight != RequestWeight::Command || is_last(one);
        let has_own =
            self.requests_since_reset().iter().any(|one| is_whole(&one) && one.weight != RequestWeight::Command);
        let mut whole = whole.filter(|one| !has_own || is_current(one));
        // A rule stands with the constraints, and the request before it goes on.
        let newest = whole.clone().next();
        let aim = whole.find(|request| !only_sets_rules(&request.text));
        // What follows a finished request is asked for by itself: `never show the footer on phones`.
        let has_changed = || self.ledger.files.iter().any(|file| file.written + file.edited > 0);
        let is_over = |aim: &Request, rule: &Request| {
            let between = |one: &&Statement| (aim.position..rule.position).contains(&one.position);
            let mut said = self.ledger.statements.iter().rev().skip_while(|one| one.position >= rule.position);
            aim.position < rule.position
                && said.next().filter(between).is_some_and(|one| one.voice == Voice::Report)
                && has_changed()
        };
        let latest = match (aim, newest) {
            (Some(aim), Some(rule)) if is_over(aim, rule) => Some(rule),
            (aim, newest) => aim.or(newest),
        };
        let latest = latest.or_else(|| requests.last());
        latest.filter(|_| self.kind != SummaryKind::TurnPrefix)
    }

    /// Whether the last request has no complete answer yet.
    fn is_open(&self) -> bool {
        if self.turn.is_some() || self.goes_on {
            return true;
        }
        let Some(last) = self.ledger.last_request() else { return false };
        // A latest request from an earlier summary is open if that summary said so.
        let is_stated = |note: &Note| note.text.starts_with(WORKING_ON);
        match last.position {
            0 => self.ledger.notes_of(NoteKind::Open).any(is_stated),
            position => self.ledger.is_waiting || self.ledger.answered < position || self.is_announced(),
        }
    }

    fn notes(&mut self) {
        let (repeated, stressed) = repeated(&self.ledger.notes);
        let same = same_decisions(&self.ledger.notes);
        let question = self.waiting_question();
        let mut before = Vec::new();
        let is_proposing = self.is_proposing();
        let answered_from = self.answered_from();
        let told = self.told_decisions(&same);
        for note in &self.ledger.notes {
            if note.is_withdrawn {
                let origin = Origin { position: note.position, times: 1, sources: Some(&note.sources) };
                self.pool.add(Section::CriticalContext, &format!("{WITHDRAWN}{}", note.text), origin, Rank::Low);
                continue;
            }
            let section = match note.kind {
                _ if note.text.starts_with(LEFT_BRANCH) => self.section_of_branch(note.kind),
                NoteKind::Constraint if self.is_in_goal(note) => continue,
                // It was a part of work that was taken back.
                NoteKind::Constraint if self.undone.has(note.position) && !lasts(&note.text) => continue,
                // It was for a conversation that the person ended.
                NoteKind::Constraint if self.is_of_ended(note.position) && !lasts(&note.text) => continue,
                NoteKind::Constraint => Section::Constraints,
                NoteKind::Decision if self.is_decision_undone(note) => continue,
                // The history before the turn tells them.
                NoteKind::Decision if !self.tells_state => continue,
                NoteKind::Decision if !told.contains_key(&std::ptr::from_ref(note)) => continue,
                NoteKind::Decision => Section::Decisions,
                NoteKind::Done if self.is_undone(note) || note.text == LOOKED_UP => continue,
                NoteKind::Done => Section::Done,
                NoteKind::Open => Section::InProgress,
                NoteKind::Blocked => Section::Blocked,
                NoteKind::Step if self.kind == SummaryKind::TurnPrefix => continue,
                // Steps that the answer lists need not be listed again as its options.
                NoteKind::Step if self.is_listed(note) => continue,
                // The request of the turn answers it, or the model went on without an answer.
                NoteKind::Step if (self.turn.is_some() || self.goes_on) && is_asking(&note.text) => continue,
                NoteKind::Step if self.is_overtaken(note) || is_report(&note.text) => continue,
                // It is listed as the question that waits for an answer.
                NoteKind::Step if question.is_some_and(|question| question.text == note.text) => continue,
                NoteKind::Step if is_proposing && self.is_proposed(note) => continue,
                NoteKind::Step if self.is_argument(note) => continue,
                NoteKind::Step if self.is_before_work(note) => {
                    before.push(note);
                    continue;
                }
                NoteKind::Step => Section::NextSteps,
                NoteKind::Fact => Section::CriticalContext,
            };
            let origin = Origin { position: note.position, times: note.times, sources: Some(&note.sources) };
            let rank = match note.is_minor {
                _ if is_answered_item(note) && note.position < answered_from => Rank::Least,
                _ if repeated.contains(&std::ptr::from_ref(note)) => Rank::Least,
                // It is among the statements.
                _ if note.kind == NoteKind::Constraint
                    && !stressed.contains(&std::ptr::from_ref(note))
                    && self.is_met(note) =>
                {
                    Rank::Least
                }
                _ if note.kind == NoteKind::Decision && tells_process(note) => Rank::Low,
                _ if told.get(&std::ptr::from_ref(note)).is_some_and(|place| *place >= DECISIONS_FIRST) => Rank::Low,
                _ if note.kind == NoteKind::Decision && self.is_of_ended(note.position) => Rank::Low,
                true => Rank::Low,
                false => Rank::Normal,
            };
            // How the work goes on is said by the name of the option.
            let text = if chooses_process(note) { option_name(&note.text) } else { &note.text };
            self.pool.add(section, text, origin, rank);
        }
        for note in self.decisions_of_turn().filter(|note| told.contains_key(&std::ptr::from_ref(*note))) {
            let origin = Origin { position: note.position, times: note.times, sources: Some(&note.sources) };
            let rank = if note.is_minor { Rank::Low } else { Rank::Normal };
            self.pool.add(Section::Decisions, &note.text, origin, rank);
        }
        self.earlier_steps(&before);
    }

    /// Whether a turn alone, whose Goal has the whole request, says a demand there.
    fn is_in_goal(&self, demand: &Note) -> bool {
        if !self.goes_on {
            return false;
        }
        self.latest().filter(|latest| utf16_len(&latest.text) <= MOST_UNITS).is_some_and(|latest| {
            let goal = one_line(&latest.text);
            utf16_len(&goal) * WHOLE_GOAL_PART <= self.units && goal.contains(&one_line(&demand.text))
        })
    }

    /// The decisions of the turn that follows.
    fn decisions_of_turn(&self) -> impl Iterator<Item = &'a Note> + use<'a> {
        let (with_turn, before) = (self.with_turn, self.ledger.messages);
        with_turn.notes_of(NoteKind::Decision).filter(move |note| note.position > before)
    }

    /// The newest decisions that are told, with their places in the order of importance: those with reasons and those of
    /// people before others. `same` are those of which a newer one says the same.
    fn told_decisions(&self, same: &HashSet<*const Note>) -> HashMap<*const Note, usize> {
        let is_told = |note: &&Note| {
            !note.is_withdrawn
                && !note.text.starts_with(LEFT_BRANCH)
                && !same.contains(&std::ptr::from_ref(*note))
                && !self.is_decision_undone(note)
                && !self.is_process_over(note)
                && !self.is_told_by_goal(note)
                // What the model chose without a reason was for the work that was ended.
                && !(note.is_minor && self.is_of_ended(note.position) && !note.text.starts_with(OF_PERSON))
        };
        let own = self.ledger.notes_of(NoteKind::Decision).chain(self.decisions_of_turn());
        let mut told: Vec<&Note> = own.filter(is_told).collect();
        told.sort_by_key(|note| (note.is_minor || tells_process(note), Reverse(note.position)));
        // Only the newest tries that were undone tell what is to be avoided.
        let mut undone = 0;
        told.retain(|note| {
            undone += usize::from(note.text.starts_with(UNDID_WORK));
            !note.text.starts_with(UNDID_WORK)
                || undone <= MOST_UNDONE && note.position + UNDONE_WITHIN > self.ledger.messages
        });
        told.into_iter().take(MOST_DECISIONS).map(std::ptr::from_ref).zip(0..).collect()
    }

    /// Whether a decision is in the words of the latest request, which Goal tells with the question that it answers.
    fn is_told_by_goal(&self, note: &Note) -> bool {
        let is_own = note.text.starts_with(REJECTED) || note.text.starts_with(OBJECTED);
        let decided = || note.text.strip_prefix(DECIDED).filter(|_| !is_own);
        let answered = answered_with(&note.text).map(|(words, _)| words).or_else(decided);
        if !is_own && answered.is_none() {
            return false;
        }
        let turn = self.turn_request.filter(|turn| is_substantive(turn) && !self.is_answer && !is_assent(turn));
        let is_latest = match turn {
            Some(_) => note.position > self.ledger.messages,
            None => self.latest().is_some_and(|latest| latest.position == note.position),
        };
        let request = turn.or_else(|| self.latest().map(|latest| latest.text.as_str()));
        let is_same = |words: &str| request.is_some_and(|request| one_line(request) == words);
        is_latest && (is_own || answered.is_some_and(is_same))
    }

    /// Whether a person chose how the work goes on, and asked for other work later.
    fn is_process_over(&self, note: &Note) -> bool {
        (chooses_process(note) || tells_process(note)) && {
            let later = self.ledger.requests.iter().rev().take_while(|request| request.position > note.position);
            later.map(|request| request.text.as_str()).chain(self.turn_request).any(is_substantive)
        }
    }

    /// Whether a step lists options of which each is a step by itself.
    fn is_listed(&self, step: &Note) -> bool {
        let options = step.text.strip_prefix(OFFERED);
        let first = options.and_then(|options| options.split_once(". ")).map(|(_, first)| first);
        let words = |text: &str| first_words(text, LISTED_WORDS);
        let is_same = |one: &&Note| one.position == step.position && !std::ptr::eq(*one, step);
        let mut others = self.ledger.notes_of(NoteKind::Step).filter(is_same);
        first.is_some_and(|first| others.any(|other| words(&other.text) == words(first)))
    }

    /// Whether [`OVERTAKEN_BY`] requests for work came after a step that an answer named. The first one usually asks
    /// for it.
    fn is_overtaken(&self, step: &Note) -> bool {
        let later = self.ledger.requests.iter().rev().take_while(|request| request.position > step.position);
        let later = later.filter(|request| is_substantive(&request.text)).count();
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn)).into_iter().count();
        step.position > 0 && later + of_turn >= OVERTAKEN_BY
    }

    /// Whether a demand was part of a request that is done: [`MET_AFTER`] requests for work came after it, and it does
    /// not say that it holds for more than that one.
    fn is_met(&self, demand: &Note) -> bool {
        let later = self.ledger.requests.iter().rev().take_while(|request| request.position > demand.position);
        let later = later.filter(|request| is_substantive(&request.text)).count();
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn)).into_iter().count();
        demand.position > 0 && later + of_turn >= MET_AFTER && !lasts(&demand.text)
    }

    /// Such items keep their sections in the summary of a branch, since all of it is about that branch.
    fn section_of_branch(&self, kind: NoteKind) -> Section {
        match kind {
            _ if self.kind != SummaryKind::Branch => Section::CriticalContext,
            NoteKind::Blocked => Section::Blocked,
            NoteKind::Step => Section::NextSteps,
            NoteKind::Open => Section::InProgress,
            _ => Section::Goal,
        }
    }

    /// Commits, pushes, pull requests, and the last outcome of each kind of test.
    fn milestones(&mut self) {
        // The history before a turn tells those of the turn, too.
        if !self.tells_state {
            return;
        }
        let last = self.standing.clone();
        let changed_at = self.with_turn.code_changed_at();
        let committed_at = last.iter().rev().find(|one| one.text.starts_with(COMMITTED)).map_or(0, |one| one.position);
        // The next commit shows what stands.
        let is_over = |one: &&Statement| one.text.starts_with(TOOK_BACK) && one.position < committed_at;
        let checks = self.checks_of(self.with_turn);
        // A newer run of the same program may have found more than one that passed.
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
            // The line of the commit says it, too.
            if pushed_commit(&statement.text).is_some_and(|(hash, _)| is_commit(hash)) {
                continue;
            }
            let origin = Origin { position: statement.position, times: 1, sources: Some(&statement.sources) };
            let run = statement.text.strip_prefix('`').and_then(|rest| rest.split_once('`'));
            let is_run = run.is_some_and(|(command, _)| is_check(command));
            let item = match is_run && changed_at > statement.position {
                true => format!("{} ({CHANGED_SINCE})", statement.text),
                false => match pushed.iter().find(|(hash, _)| is_commit_of(&statement.text, hash)) {
                    Some((_, branch)) => format!("{} (pushed to {branch})", statement.text),
                    None => statement.text.clone(),
                },
            };
            self.pool.add(Section::Done, &item, origin, Rank::Normal);
        }
    }

    /// Files that changed since the last commit, and the last pull request that was named.
    fn repository(&mut self) {
        let milestones = self.ledger.statements.iter().filter(|one| one.voice == Voice::Milestone);
        let is_clean = |text: &str| text.starts_with(COMMITTED) || text.starts_with(RESET_TO);
        let committed_at = milestones.filter(|one| is_clean(&one.text)).map(|one| one.position).max();
        let is_changed = |file: &&FileRecord| committed_at.is_some_and(|commit| file.changed_at > commit);
        let changed = self.ledger.files.iter().rev().filter(is_changed).filter(|file| !file.path.starts_with("/tmp/"));
        let changed = changed.filter(|file| !self.states.is_file_taken_back(file));
        let changed: Vec<String> =
            changed.take(MOST_CHANGED).map(|file| quote(&shown(&self.states.name(file)))).collect();
        if let Some(newest) = self.ledger.files.last().filter(|_| !changed.is_empty()) {
            let item = format!("Changed since the last commit, not committed yet: {}", changed.join(", "));
            self.pool.add(Section::InProgress, &item, Origin::at(newest.position), Rank::Normal);
        }
        self.unpushed();
        let named = self.ledger.statements.iter().rev().find_map(|one| Some((pull_request(&one.text)?, one)));
        if let Some((name, statement)) = named {
            let origin = Origin { position: statement.position, times: 1, sources: Some(&statement.sources) };
            self.pool.add(Section::CriticalContext, &format!("Pull request named last: {name}"), origin, Rank::Normal);
        }
    }

    /// The tasks of the plan, unless it is older than the topic.
    fn plan(&mut self) {
        // A turn may change the plan of the history by a few of its items.
        let plan_of_turn = self.turn.map(|turn| match std::ptr::eq(self.with_turn, self.ledger) {
            true => (&turn.plan, !turn.plan.items.is_empty()),
            false => (&self.with_turn.plan, self.with_turn.plan.position > self.ledger.messages),
        });
        if let Some((plan, true)) = plan_of_turn {
            let passed = if std::ptr::eq(plan, &self.with_turn.plan) { self.passed_tasks(plan) } else { 0 };
            let changed = self.changed_tasks(plan, passed);
            for (at, item) in plan.items.iter().enumerate() {
                let section = match item.status {
                    PlanStatus::Completed => Section::Done,
                    PlanStatus::InProgress | PlanStatus::Pending if changed.contains(&at) => Section::Done,
                    // The calls since tell what was done.
                    PlanStatus::InProgress | PlanStatus::Pending if at < passed => continue,
                    PlanStatus::InProgress => Section::InProgress,
                    PlanStatus::Pending => Section::NextSteps,
                    PlanStatus::Cancelled => continue,
                };
                let rank = if section == Section::Done { Rank::Low } else { Rank::Normal };
                self.pool.add(section, &item.text, Origin::at(u64::MAX), rank);
            }
            return;
        }
        let plan = &self.ledger.plan;
        if self.is_proposing() {
            self.proposed_plan();
        }
        let later = self.ledger.requests.iter().filter(|request| request.position > plan.position);
        let later = later.filter(|request| is_substantive(&request.text)).count();
        let passed = self.passed_tasks(plan);
        // An answer that ends the work leaves nothing of a plan that nobody kept.
        let is_stale = later > STALE_AFTER || passed > 0 && self.ledger.answered > plan.position;
        self.stale_plan(is_stale);
        let changed = self.changed_tasks(plan, passed);
        let reported = self.ledger.reported_tasks();
        // What was done before may be thrown away.
        let is_thrown_away = self.reset_at() > plan.position;
        let items = plan.items.iter().enumerate();
        for (at, item) in items.filter(|(_, item)| !is_thrown_away || item.status == PlanStatus::Pending) {
            let section = match item.status {
                PlanStatus::Completed => Section::Done,
                PlanStatus::InProgress | PlanStatus::Pending if changed.contains(&at) => Section::Done,
                PlanStatus::InProgress | PlanStatus::Pending if at < passed => continue,
                PlanStatus::InProgress if reported.iter().any(|task| std::ptr::eq(*task, item)) => Section::Done,
                PlanStatus::InProgress if later >= OVERTAKEN_BY => continue,
                PlanStatus::InProgress => Section::InProgress,
                PlanStatus::Pending if is_stale || self.is_proposing() => continue,
                PlanStatus::Pending => Section::NextSteps,
                PlanStatus::Cancelled => continue,
            };
            let rank = if is_stale || section == Section::Done { Rank::Low } else { Rank::Normal };
            // The progress of a turn has what was done, too.
            match self.kind == SummaryKind::TurnPrefix && section == Section::InProgress {
                true => self.pool.add(section, &format!("{STILL_OPEN}{}", item.text), Origin::at(plan.position), rank),
                false => self.pool.add(section, &item.text, Origin::at(plan.position), rank),
            }
        }
    }

    /// The statements of the model since the last request, newest first.
    fn newest_of_model(&self) -> impl Iterator<Item = &'a Statement> + use<'a> {
        let asked = self.ledger.last_request().map_or(0, |request| request.position);
        let of_model = self.ledger.statements.iter().rev().filter(|statement| statement.is_of_model());
        of_model.take_while(move |statement| statement.position > asked)
    }

    /// The question with which the newest answer ends, if a person has to answer it. A short sentence may follow it.
    fn waiting_question(&self) -> Option<&'a Statement> {
        let newest = self
            .newest_of_model()
            .next()
            .filter(|_| self.turn.is_none() && !self.goes_on && !self.ledger.is_waiting)?;
        let mut own = self.newest_of_model().take_while(|one| one.position == newest.position);
        let is_short = |one: &Statement| one.voice != Voice::Announcement && utf16_len(&one.text) <= LONGEST_BEHIND;
        match own.next().filter(|last| question_in(&last.text).is_none()) {
            None => Some(newest),
            Some(last) => {
                own.next().filter(|one| question_in(&one.text).is_some() && is_short(last) && self.is_ending(one))
            }
        }
    }

    /// What the newest answer does or asks, while it waits for a tool or a person.
    fn newest_answer(&mut self) {
        if let Some(turn) = self.of_turn() {
            return self.last_words_of(&turn);
        }
        if let Some(question) = self.waiting_question() {
            let origin = Origin { position: question.position, times: 1, sources: Some(&question.sources) };
            let asked = question_in(&question.text).unwrap_or(&question.text);
            let item = format!("The assistant asked, and waits for an answer: {asked}");
            self.pool.add(Section::NextSteps, &item, origin, Rank::Focus);
            return;
        }
        if let Some(announced) = self.announced() {
            let origin = Origin::at(self.ledger.newest_answer.position);
            self.pool.add(Section::NextSteps, &announced, origin, Rank::Focus);
            return;
        }
        if let Some(next) = self.promised() {
            let origin = Origin::at(self.ledger.newest_answer.position);
            self.pool.add(Section::NextSteps, &next, origin, Rank::Focus);
            if self.is_finished() {
                return;
            }
        }
        let is_begun = |one: &Statement| self.is_open() || one.voice == Voice::Announcement;
        if self.tells_state && self.newest_of_model().next().is_some_and(is_begun) {
            let (words, origin) = self.last_words().unwrap_or_else(|| (String::new(), Origin::at(0)));
            let item = format!("{}: {words}", self.said_last());
            self.pool.add(Section::InProgress, &item, origin, Rank::Focus);
        }
    }

    /// File changes and successful commands, for conversations with few statements.
    fn actions(&mut self) {
        let files = || self.ledger.files.iter().filter(|file| file.read + file.written + file.edited > 0);
        let commands = || self.ledger.commands.iter().filter(|command| command.succeeded > 0);
        let mut positions: Vec<u64> = files().map(|file| file.position).collect();
        positions.extend(commands().map(|command| command.position));
        positions.sort_unstable();
        // A section takes the newest ones, and those that match the focus.
        let oldest = positions.iter().rev().nth(MOST_ACTIONS).copied().filter(|_| !self.pool.has_focus());
        let oldest = oldest.unwrap_or_default();
        // What was only read stands in the list of files.
        for (verb, is_written) in [("Wrote", true), ("Edited", false)] {
            let times = |file: &FileRecord| if is_written { file.written } else { file.edited };
            let done = files().filter(|file| file.position >= oldest && times(file) > 0);
            let done: Vec<&FileRecord> = done.filter(|file| !self.states.is_file_taken_back(file)).collect();
            let name = |file: &FileRecord| quote(&shown(&self.states.name(file)));
            if let Some(newest) = done.last().filter(|_| done.len() >= FILES_OF_ONE_LINE) {
                let named: Vec<String> = done.iter().rev().take(MOST_CHANGED).map(|file| name(file)).collect();
                let more = done.len() - named.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let item = format!("{verb} {} files: {}{more}", done.len(), named.join(", "));
                self.pool.add(Section::Done, &item, Origin::at(newest.position), Rank::Least);
                continue;
            }
            for file in done {
                let origin = Origin { position: file.position, times: times(file), sources: Some(&file.sources) };
                self.pool.add(Section::Done, &format!("{verb} {}", name(file)), origin, Rank::Least);
            }
        }
        // The last outcome of a test, a build or a linter that counts nothing is told nowhere else.
        let checks = self.checks_of(self.ledger);
        let passed = checks.passed();
        let changed_at = self.ledger.code_changed_at();
        // Edits without a file say nothing where the files are told.
        let has_changes = self.ledger.files.iter().any(|file| file.written + file.edited > 0);
        let is_told = |command: &&CommandRecord| has_changes && command.is_call && edits_files(&command.command);
        for command in commands().filter(|command| command.position >= oldest && !is_told(command)) {
            let name = match command.is_call {
                true => quote(&shown(&command.command)),
                false => quote(&clip_command(&shown(&command.command), LONGEST_COMMAND)),
            };
            let position = command.position;
            let is_check = passed.iter().any(|(at, check)| *at == position && *check == told_command(&command.command));
            let origin = Origin { position, times: command.succeeded, sources: Some(&command.sources) };
            let verb = if command.is_call { "Called" } else { "Ran" };
            // A later run of the same program has a result.
            let is_counted = || {
                let own = programs(&command.command);
                let counted = self.standing.iter().filter(|one| one.position > position);
                let mut counted = counted.filter_map(|one| one.text.strip_prefix('`')?.split_once('`'));
                counted.any(|(run, _)| programs(run).iter().any(|one| own.contains(one)))
            };
            // That something was in order before the latest changes tells nothing beside a newer run of it.
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
                    self.pool.add(Section::Done, &format!("{verb} {name}{since}"), origin, Rank::Low);
                }
                false if changed_at > position && only_formats(&command.command) => {}
                // What was only looked at is no deed.
                false if !command.is_call && only_looks(&command.command) => {}
                false => self.pool.add(Section::Done, &format!("{verb} {name}"), origin, Rank::Least),
            }
        }
    }

    /// The checks of one of the ledgers.
    fn checks_of(&self, ledger: &Ledger) -> Rc<Checks> {
        if std::ptr::eq(ledger, self.newest) { self.checks.clone() } else { Rc::new(Checks::of(ledger)) }
    }

    /// Position at which the branch was last moved back.
    fn reset_at(&self) -> u64 {
        let milestones = self.ledger.statements.iter().filter(|one| one.voice == Voice::Milestone);
        milestones.filter(|one| one.text.starts_with(RESET_TO)).map(|one| one.position).max().unwrap_or_default()
    }
}

/// Whether a person wrote most of a request, and did not paste it.
fn is_typed(request: &str) -> bool {
    let (mut prose, mut all) = (0, 0);
    for sentence in sentences(request) {
        all += sentence.len();
        prose += if is_prose(sentence) { sentence.len() } else { 0 };
    }
    prose * 100 >= all * TYPED_PERCENT
}

/// The checks in a command without what they check: `pytest`, `npm run lint`.
fn programs(command: &str) -> Vec<String> {
    let is_name = |word: &&str| !word.starts_with('-') && !word.contains(['/', '.', ':', '\\']);
    let name = |check: String| check.split(' ').take_while(is_name).collect::<Vec<_>>().join(" ");
    let checks = purposes(command).into_iter().filter(|purpose| is_check(purpose)).map(name);
    checks.filter(|name| !name.is_empty()).collect()
}

/// Whether an item of a list of steps says what was done.
fn is_report(step: &str) -> bool {
    ["I've ", "I have ", "We've ", "We have "].iter().any(|start| step.starts_with(start))
}

/// Whether a request begins or ends with a question.
fn asks(request: &str) -> bool {
    is_question(request.trim()) || sentences(request).next().is_some_and(is_question)
}

fn is_question(text: &str) -> bool {
    (text.ends_with(['?', '\u{ff1f}']) || text.starts_with('\u{bf}')) && !is_courtesy(text)
}

/// The question of a statement. A mark such as that of bold text may join a short sentence to it.
fn question_in(text: &str) -> Option<&str> {
    let joined = || {
        let (asked, behind) = text.rsplit_once("? ")?;
        (utf16_len(behind) <= LONGEST_BEHIND).then(|| &text[..asked.len() + 1])
    };
    if is_question(text) { Some(text) } else { joined() }
}

/// Whether a step asks the person something.
fn is_asking(step: &str) -> bool {
    is_question(step) || step.starts_with(OFFERED)
}

/// Whether a person chose an option that only says how the work goes on.
fn chooses_process(decision: &Note) -> bool {
    decision.text.strip_prefix(CHOSE).is_some_and(is_process)
}

/// The item of a chosen option without what stands behind the option's name.
fn option_name(item: &str) -> &str {
    let end = [" \u{2014} ", " \u{2013} ", " - "].iter().filter_map(|dash| item.find(dash)).min();
    &item[..end.unwrap_or(item.len())]
}

/// Whether a person said it in their own words. It is done at once.
fn tells_process(decision: &Note) -> bool {
    answered_with(&decision.text).is_some_and(|(words, _)| is_process(words))
}

/// The older ones of constraints and decisions that are worded nearly alike, which are listed where room
/// is left, and the newest [`MOST_ALIKE`] of those, which were said more than once.
fn repeated(notes: &[Note]) -> (HashSet<*const Note>, HashSet<*const Note>) {
    let mut seen: Vec<(Terms, Spelled, usize, &Note)> = Vec::new();
    let (mut repeated, mut stressed) = (HashSet::new(), HashSet::new());
    let mut newest_first: Vec<&Note> = notes.iter().filter(|note| !note.is_withdrawn).collect();
    newest_first.retain(|note| matches!(note.kind, NoteKind::Constraint | NoteKind::Decision));
    newest_first.sort_by_key(|note| Reverse(note.position));
    for note in newest_first {
        let (terms, spelled) = (terms(&note.text), spelled(&note.text));
        let own = std::ptr::from_ref(note);
        if note.times > 1 {
            stressed.insert(own);
        }
        let is_known = |known: &Terms, other: &Spelled| are_alike(known, &terms) || are_spellings(other, &spelled);
        let alike = seen.iter_mut().find(|(known, other, _, one)| one.kind == note.kind && is_known(known, other));
        match alike {
            Some((_, other, count, newest)) if *count >= MOST_ALIKE || are_spellings(other, &spelled) => {
                stressed.insert(std::ptr::from_ref(*newest));
                repeated.insert(own);
            }
            Some((_, _, count, newest)) => {
                *count += 1;
                stressed.extend([own, std::ptr::from_ref(*newest)]);
            }
            None => seen.push((terms, spelled, 1, note)),
        }
    }
    (repeated, stressed)
}

/// The older ones of decisions with the same words, or with answers in few words to the same question.
fn same_decisions(notes: &[Note]) -> HashSet<*const Note> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut newest_first: Vec<&Note> = notes.iter().filter(|note| !note.is_withdrawn).collect();
    newest_first.retain(|note| note.kind == NoteKind::Decision);
    newest_first.sort_by_key(|note| Reverse(note.position));
    let subject = |note: &Note| {
        let agreed = note.text.strip_prefix(AGREED).or_else(|| note.text.strip_prefix(REFUSED));
        key(agreed.or_else(|| answered_with(&note.text).map(|(_, question)| question)).unwrap_or(&note.text))
    };
    newest_first.into_iter().filter(|note| !seen.insert(subject(note))).map(std::ptr::from_ref).collect()
}

/// Whether two sentences have the same names and numbers, and one has [`ALIKE_PERCENT`] of the terms of the
/// other, but at least [`FEWEST_ALIKE`].
fn are_alike(one: &Terms, other: &Terms) -> bool {
    let shared = one.all.intersection(&other.all).count();
    let is_most = shared * 100 >= one.all.len().min(other.all.len()) * ALIKE_PERCENT;
    shared >= FEWEST_ALIKE && is_most && one.names == other.names
}

/// The letters of the words of a sentence, in lower case.
type Spelled = Vec<Vec<char>>;

fn spelled(text: &str) -> Spelled {
    let letters = |word: &str| word.chars().filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    text.split_whitespace().map(letters).filter(|word: &Vec<char>| !word.is_empty()).collect()
}

/// Whether two sentences differ in the spelling of one long word alone.
fn are_spellings(one: &Spelled, other: &Spelled) -> bool {
    if one.len() != other.len() || one.len() < FEWEST_SPELLED {
        return false;
    }
    let mut differing = one.iter().zip(other).filter(|(one, other)| one != other);
    let Some((one, other)) = differing.next().filter(|_| differing.next().is_none()) else { return false };
    let start = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    let is_word = |word: &[char]| word.len() >= SHORTEST_SPELLED && word.iter().all(|one| one.is_alphabetic());
    let left = one.len().max(other.len()).saturating_sub(start + end);
    is_word(one) && is_word(other) && start >= 2 && left <= MOST_MISSPELLED
}

/// Fewest words of sentences that may differ in spelling, fewest letters of the word, and most letters that differ.
const FEWEST_SPELLED: usize = 5;
const SHORTEST_SPELLED: usize = 5;
const MOST_MISSPELLED: usize = 2;
/// Most decisions that are told, and those among them that come before other items.
const MOST_DECISIONS: usize = 14;
const DECISIONS_FIRST: usize = 6;
/// Most tries that a person had undone and that are told, and the newest messages among which they are.
const MOST_UNDONE: usize = 2;
const UNDONE_WITHIN: u64 = 100;
/// How each decision of a person begins.
const OF_PERSON: &str = "The user ";
/// Most notes of one kind that are nearly alike.
const MOST_ALIKE: usize = 2;
/// Percent of the terms of the shorter of such notes, and fewest terms, that the other one has.
const ALIKE_PERCENT: usize = 60;
const FEWEST_ALIKE: usize = 3;

/// Most files that are named as changed since the last commit, or in one line.
const MOST_CHANGED: usize = 8;
/// Fewest files that were changed in the same way that are told in one line.
const FILES_OF_ONE_LINE: usize = 3;
/// Most UTF-16 units of a command that is told as done.
const LONGEST_COMMAND: usize = 100;

/// Texts in the address of a pull request, and before its number.
const ADDRESS_MARKS: [&str; 2] = ["/pull/", "/merge_requests/"];
const NUMBER_MARKS: [&str; 7] =
    ["PR #", "pull request #", "MR !", "gh pr checks ", "gh pr view ", "gh pr merge ", "gh pr diff "];
static PULL_REQUEST_MARKS: LazyLock<AhoCorasick> =
    LazyLock::new(|| automaton(ADDRESS_MARKS.into_iter().chain(NUMBER_MARKS), false));

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

/// First words by which an option and a step are compared.
const LISTED_WORDS: usize = 3;
/// Requests for work after which a step of an answer is no longer the next one.
const OVERTAKEN_BY: usize = 2;
/// Requests for work after which a demand that was part of another one is met.
const MET_AFTER: usize = 4;
/// Requests after which a plan without updates is stale.
const STALE_AFTER: usize = 3;

fn origin(request: &Request) -> Origin<'_> {
    Origin { position: request.position, times: 1, sources: Some(&request.sources) }
}

#[cfg(test)]
mod tests {
    use super::{are_spellings, spelled};

    #[test]
    fn sentences_differ_in_spelling_alone() {
        let are_spellings = |one, other| are_spellings(&spelled(one), &spelled(other));
        let one = "Sempre confira as opções antes de mudar a tela.";
        assert!(are_spellings(one, "sempre confira as opç~eos antes de mudar a tela"));
        assert!(are_spellings("never chnage the layout of the menu", "never change the layout of the menu"));
        for (one, other) in [
            ("do not touch file a of the menu", "do not touch file b of the menu"),
            ("never change the layout of menu 10012", "never change the layout of menu 10013"),
            ("always sort the menu by name", "never sort the menu by name"),
            ("always use spaces", "always use splaces"),
        ] {
            assert!(!are_spellings(one, other), "{one}");
        }
    }
}
