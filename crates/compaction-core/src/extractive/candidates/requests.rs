//! The requests in Goal and In Progress: the first one, the latest one, and what it answers.

use super::goal::{asked, begins, in_full, only_explores, only_names_a_page, shell_error};
use super::newest_answer::is_question;
use super::next_steps::told_in;
use super::{Builder, LONGEST_FIRST};
use crate::extractive::budget::{MOST_UNITS, joined};
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::answers::is_assent;
use crate::ledger::closed_requests::continues;
use crate::ledger::cues::{is_substantive, is_typed, typed};
use crate::ledger::frames::OPTION;
use crate::ledger::noise::praises;
use crate::ledger::notes::{CHOSE, GO_ON, LATEST, PASTED, REJECTED, SAID_OF, WORKING_ON};
use crate::ledger::problems::pasted_error;
use crate::ledger::resuming::asks_for_nothing;
use crate::ledger::rules::only_sets_rules;
use crate::ledger::selection::topic_scores;
use crate::ledger::slash::RESETS;
use crate::ledger::statements::sentences;
use crate::ledger::templates::{is_procedure, task};
use crate::ledger::text::{clip, clip_sentences, one_line};
use crate::ledger::{Note, NoteKind, Request, RequestWeight, Statement, Voice};
use crate::summary::{Section, SummaryKind};
use crate::text::utf16_len;

/// Longest question that a short request answers, in UTF-16 units.
const LONGEST_QUESTION: usize = 200;
/// A question below so many UTF-16 units may be about something that the sentence before it names.
const SHORT_QUESTION: usize = 32;
/// Longest answer that is shown with a short request after it, in UTF-16 units.
const LONGEST_ANSWER: usize = 140;
/// Such an answer may take the room of a summary divided by this.
const ANSWER_PART: usize = 80;
/// The request of the turn that follows may take the room of a summary divided by this. Its full text comes after the
/// history.
pub(super) const TURN_PART: usize = 60;
/// Fewest and most UTF-16 units of this request.
pub(super) const TURN_UNITS: (usize, usize) = (160, 240);
/// A short request may take the room of a summary divided by this in Goal, which is read alone.
const TURN_IN_GOAL: usize = 30;
/// Its most UTF-16 units in Goal.
pub(super) const LONGEST_IN_GOAL: usize = 400;
/// Where the request of a turn is in full, it has so many times as much room.
const REQUEST_TIMES: usize = 3;
/// Longest latest request that looks like the prompt of a command, in UTF-16 units.
const LONGEST_PROCEDURE: usize = 300;
/// UTF-16 units of a request that are compared with the newest statements.
const MOST_OF_TOPIC: usize = 600;
/// How many times as much another request must have of the newest topic as the first one.
const TOPIC_MOVED: f32 = 2.5;
/// Fewest messages of a request, with what followed, that count as work.
const EFFORT_OF_WORK: u64 = 8;
/// Factor for the topic score of a question.
const QUESTION_PART: f32 = 0.5;
/// Number of messages of the person before an order to read something that may say what for.
const MOST_BEFORE_READING: usize = 3;
/// Number of last statements of an answer in which its question may be.
const ASKED_WITHIN: usize = 3;
/// Longest request that only asks, in UTF-16 units.
const LONGEST_ASKING: usize = 400;
/// Number of newest requests that a word such as `continue` may resume.
const MOST_RESUMED: usize = 12;
/// Begins the question that a short request answers.
pub(super) const IN_ANSWER: &str = "in answer to: ";
/// A shorter request makes no sense without the question that it answers. In UTF-16 units.
pub(super) const SHORT_REQUEST: usize = 60;
/// A shorter request makes no sense without the answer before it, even if that asked nothing. In UTF-16 units.
pub(super) const TERSE_REQUEST: usize = 40;

impl<'a> Builder<'a> {
    /// Adds the first request, and the last one with the question that it answers. The digest has the requests between
    /// them.
    pub(super) fn requests(&mut self) {
        if self.kind == SummaryKind::TurnPrefix {
            let first = self.first_request();
            let is_before = || first.is_none_or(|first| first.position > 1 || asks_for_nothing(&first.text));
            if let Some(before) = self.request_before_turn().filter(|_| is_before()) {
                // The history has its words.
                let text = format!("{GO_ON}{}", begins(&before.text, LONGEST_FIRST));
                self.pool.add(Section::Goal, &text, Origin::at(0), Rank::Must);
            } else if let Some(first) = first {
                let text = in_full(&first.text, self.units * REQUEST_TIMES);
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
            let line = self.in_goal(turn);
            let item = match self.chosen_option(turn).or_else(|| self.answered_by(turn, u64::MAX)) {
                Some(answered) => format!("{LATEST}{line} ({answered})"),
                None => format!("{LATEST}{line}"),
            };
            self.pool.add(Section::Goal, &item, origin, Rank::Must);
            if let Some(item) = self.working_on(u64::MAX) {
                self.pool.add(Section::InProgress, &item, origin, Rank::Focus);
            }
            return;
        }
        if let Some(latest) = latest {
            // The steps of a template are needed while it is worked on.
            let request = task(&latest.text).filter(|_| !self.is_open()).unwrap_or(&latest.text);
            let pasted = shell_error(request).or_else(|| self.problem_behind_log(request));
            let is_pasted = pasted.is_some();
            let line = match latest.weight {
                RequestWeight::Command => self.with_title(latest).to_owned(),
                _ if is_pasted => pasted.unwrap_or_default(),
                _ if is_procedure(request) => clip_sentences(&typed(request, MOST_UNITS), LONGEST_PROCEDURE),
                _ => with_error(in_full(request, self.units), request),
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
                // What was done before an answer to a question is already listed.
                let is_answer = |last: &&Request| last.weight == RequestWeight::Answer;
                let since = self.ledger.last_request().filter(is_answer);
                let since = since.filter(|since| !self.is_reply_to_work(&since.text)).unwrap_or(latest);
                let is_new = self.is_answer && !self.resumes();
                let origin = if is_new { Origin::at(u64::MAX) } else { origin(since) };
                if let Some(item) = self.working_on(origin.position) {
                    self.pool.add(Section::InProgress, &item, origin, Rank::Focus);
                }
            }
            self.requests_behind(latest);
        }
    }

    /// The request before the turn of the ledger; `None` if nothing came before it.
    fn request_before_turn(&self) -> Option<&'a Request> {
        let before = self.newest.messages.saturating_sub(self.ledger.messages);
        self.newest.requests.iter().rev().find(|one| one.position <= before && one.position > 0 && one.asks_for_work())
    }

    /// The request of the turn that follows: whole if it is short, else its sentences that tell most.
    pub(super) fn in_goal(&self, turn: &str) -> String {
        let (fewest, most) = TURN_UNITS;
        let whole = self.problem_behind_log(turn).unwrap_or_else(|| asked(turn, usize::MAX));
        match utf16_len(&whole) <= (self.units / TURN_IN_GOAL).clamp(fewest, LONGEST_IN_GOAL) {
            true => whole,
            false => told_in(task(turn).unwrap_or(turn), (self.units / TURN_PART).clamp(fewest, most)),
        }
    }

    /// The option that the request at `position` chose.
    pub(super) fn chosen_at(&self, position: u64) -> Option<String> {
        let mut decisions = self.ledger.notes_of(NoteKind::Decision).filter(|note| note.position == position);
        decisions.find_map(|note| note.text.strip_prefix(CHOSE)).map(str::to_owned)
    }

    /// What a request answers that is too short to be understood alone: the option that it chooses, the question of the
    /// newest answer before `position`, or the beginning of that answer.
    pub(super) fn answered_by(&self, request: &str, position: u64) -> Option<String> {
        if utf16_len(&one_line(request)) > SHORT_REQUEST {
            return None;
        }
        self.question_before(request, position)
    }

    /// The same for a request that may be longer.
    pub(super) fn question_before(&self, request: &str, position: u64) -> Option<String> {
        let before = |statement: &&Statement| statement.position < position && statement.voice != Voice::Action;
        let last = self.ledger.statements.iter().rev().find(before).filter(|last| last.is_of_model())?;
        if self.is_of_ended(last.position) {
            return None;
        }
        let same = self.ledger.statements.iter().rev().filter(before);
        let mut same: Vec<&Statement> = same.take_while(|one| one.position == last.position).collect();
        same.retain(|one| one.is_of_model());
        if let Some(at) = same.iter().take(ASKED_WITHIN).position(|one| is_question(&one.text)) {
            let question = clip(&same[at].text, LONGEST_QUESTION);
            // `Shall I do that?` says nothing without the sentence before it.
            let needs_more = utf16_len(&question) < SHORT_QUESTION;
            let states = |one: &Statement| one.states() && !is_question(&one.text) && !one.text.starts_with(OPTION);
            let before = same.get(at + 1).filter(|one| needs_more && states(one));
            let before = before.map(|one| clip(&one.text, LONGEST_QUESTION) + " ").unwrap_or_default();
            return Some(format!("{IN_ANSWER}{before}{question}"));
        }
        // The first sentence may only call for attention.
        let mut said: Vec<&str> = Vec::new();
        for one in same.iter().rev().filter(|one| one.states() && is_substantive(&one.text)) {
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
    pub(super) fn requests_since_reset(&self) -> &'a [Request] {
        let requests = &self.ledger.requests;
        &requests[requests.partition_point(|request| self.begun_at > 0 && request.position <= self.begun_at)..]
    }

    /// Whether a message came before the current conversation began.
    pub(super) fn is_of_ended(&self, position: u64) -> bool {
        position > 0 && position < self.begun_at
    }

    /// The first request, or the one that began the current topic if the topic has changed.
    pub(super) fn first_request(&self) -> Option<&'a Request> {
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
        // Of equal scores, the earliest request began the topic.
        let best = scores.iter().rev().zip(aims.iter().rev()).max_by(|one, other| one.0.total_cmp(other.0));
        best.filter(|(score, _)| own * TOPIC_MOVED < **score).map(|(_, aim)| *aim).or(begun)
    }

    /// Whether a request says that something was better before. It is listed among the decisions.
    pub(super) fn is_rejection(&self, request: &Request) -> bool {
        let mut own = self.ledger.notes_of(NoteKind::Decision).filter(|note| note.position == request.position);
        own.any(|note| note.text.starts_with(REJECTED) && note.text.contains(SAID_OF))
    }

    /// The number of messages from a request up to the next one of `aims`. A question that is answered at once has few.
    fn effort(&self, request: &Request, aims: &[&Request]) -> u64 {
        let next = aims.partition_point(|aim| aim.position <= request.position);
        let end = aims.get(next).map_or(self.ledger.messages + 1, |next| next.position);
        end.saturating_sub(request.position)
    }

    /// The last request that is complete by itself. The kept end of a split turn has its own.
    pub(super) fn latest(&self) -> Option<&'a Request> {
        let requests = &self.ledger.requests;
        let is_whole = |one: &&Request| match one.weight {
            RequestWeight::Answer => false,
            RequestWeight::Command => is_substantive(self.with_title(one)),
            _ => is_substantive(&one.text),
        };
        let whole = requests.iter().rev().filter(is_whole);
        // If the person moved on after the answer to a command, the command is closed, and their own words remain.
        let is_last = |one: &Request| requests.last().is_some_and(|last| last.position == one.position);
        let is_current = |one: &&Request| one.weight != RequestWeight::Command || is_last(one);
        let has_own =
            self.requests_since_reset().iter().any(|one| is_whole(&one) && one.weight != RequestWeight::Command);
        let mut whole = whole.filter(|one| !has_own || is_current(one));
        // A rule is listed with the constraints, and the request before it continues.
        let newest = whole.clone().next();
        let aim = whole.find(|request| !only_sets_rules(&request.text));
        // A message after a finished request is a request of its own: `never show the footer on phones`.
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
        // What is to be read for a request does not replace it, if the work went on with further words of the person.
        let reads = |one: &&Request| {
            (only_explores(&one.text) || only_names_a_page(&one.text))
                && !is_last(one)
                && self.with_turn.changed_at() > one.position
        };
        let latest = match latest.filter(reads) {
            Some(reading) => {
                let before = requests.iter().rev().filter(|one| one.position < reading.position);
                let mut before = before.take(MOST_BEFORE_READING).filter(|one| one.asks_for_work());
                before.find(|one| !only_explores(&one.text) && !one.is_answered).or(latest)
            }
            None => latest,
        };
        let latest = latest.map(|latest| self.resumed(latest).unwrap_or(latest));
        let latest = latest.or_else(|| requests.last());
        latest.filter(|_| self.kind != SummaryKind::TurnPrefix)
    }

    /// The request that a word such as `continue` resumes behind a question to which the model said something: the newest
    /// one before the question that asks for work and is not answered.
    fn resumed(&self, question: &Request) -> Option<&'a Request> {
        let requests = self.requests_since_reset();
        let last = || requests.last().filter(|last| last.position > question.position);
        // The word may begin the turn that follows.
        let (words, said_at) = match self.turn_request {
            Some(turn) => (turn, u64::MAX),
            None => last().map(|last| (last.text.as_str(), last.position))?,
        };
        if !continues(words) || is_substantive(words) {
            return None;
        }
        let is_told = |one: &Statement| (question.position..said_at).contains(&one.position);
        let mut said = self.ledger.statements.iter().rev().filter(|one| one.is_of_model());
        if !only_asks(&question.text) || !said.any(is_told) {
            return None;
        }
        let before = requests.iter().rev().skip_while(|one| one.position >= question.position).take(MOST_RESUMED);
        let mut orders = before.filter(|one| one.asks_for_work() && !only_asks(&one.text));
        orders.find(|one| !only_sets_rules(&one.text)).filter(|one| !one.is_answered)
    }

    /// Whether the turn that follows only praises the complete answer before it.
    fn is_praised_by_turn(&self) -> bool {
        self.turn_request.is_some_and(praises)
            && self.turn.is_none_or(|turn| turn.last_step.is_empty())
            && self.is_closed_before_turn()
    }

    /// Whether the last request has no complete answer yet.
    pub(super) fn is_open(&self) -> bool {
        if self.turn.is_some() || self.goes_on {
            return !self.is_praised_by_turn();
        }
        let Some(last) = self.ledger.last_request() else { return false };
        // The person left what came before.
        if RESETS.contains(&last.text.trim()) {
            return false;
        }
        // A latest request from an earlier summary is open if that summary said so.
        let is_stated = |note: &Note| note.text.starts_with(WORKING_ON);
        match last.position {
            0 => self.ledger.notes_of(NoteKind::Open).any(is_stated),
            // Praise closes what was answered before it.
            position if praises(&last.text) && !self.ledger.is_waiting => {
                let before = self.latest().map_or(position, |latest| latest.position);
                self.ledger.answered < before
            }
            position => self.ledger.is_waiting || self.ledger.answered < position || self.is_announced(),
        }
    }
}

/// Whether a request begins or ends with a question.
pub(super) fn asks(request: &str) -> bool {
    is_question(request.trim()) || sentences(request).next().is_some_and(is_question)
}

/// The words of a request with the error that it pastes, if they are so few that the error tells most.
fn with_error(line: String, request: &str) -> String {
    let is_short = utf16_len(&line) < SHORT_REQUEST && request.trim().contains('\n');
    match pasted_error(request).filter(|error| is_short && !line.contains(error.as_str())) {
        Some(error) => format!("{line} {PASTED}{error}"),
        None => line,
    }
}

/// Whether all that a short request says is a question.
pub(super) fn only_asks(request: &str) -> bool {
    let mut all = sentences(request).peekable();
    utf16_len(request) <= LONGEST_ASKING && all.peek().is_some() && all.all(|one| is_question(one.trim()))
}

pub(super) fn origin(request: &Request) -> Origin<'_> {
    Origin::of(request.position, &request.sources)
}
