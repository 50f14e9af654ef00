//! The goal: what the person wants now, and the aim that it belongs to.

use std::borrow::Cow;

use super::next_steps::{MARK, is_document, orders, with_gaps};
use super::requests::{IN_ANSWER, asks, only_asks, origin};
use super::{Builder, Candidates, LONGEST_FIRST, MOST_UNITS, Origin};
use crate::extractive::Turn;
use crate::extractive::pool::Rank;
use crate::ledger::answers::is_assent;
use crate::ledger::closed_requests::{
    PERSISTING, accepts, answered_start, has_question, nearly_repeats, reopens, tells_failure,
};
use crate::ledger::constraints::TASKS;
use crate::ledger::cues::{goal_line, is_substantive, is_typed, typed};
use crate::ledger::names::ending;
use crate::ledger::noise::praises_first;
use crate::ledger::notes::{
    AND_THEN, ANSWERED_WAITING, ASKED_THEN, AT_FIRST, DONE, DONE_WITH, FINISHED, FOR_THE_USER, NOT_ANSWERED,
    OBJECTED_TO_ANSWER, PARTLY_DONE, PASTED, STOPPED, TAKEN_BACK, THEN, UNDID_WORK, WORKED_ON, undone,
};
use crate::ledger::pasted::behind_terminal;
use crate::ledger::problems::{is_conditional, is_waiting, pasted_error, reports};
use crate::ledger::reasons::says_impossible;
use crate::ledger::requests::{WORK, is_quoted, is_telling};
use crate::ledger::resuming::{is_declaration, is_reference};
use crate::ledger::rules::{FROM_NOW_ON, only_sets_rules};
use crate::ledger::slash::RESETS;
use crate::ledger::statements::{is_prose, sentences};
use crate::ledger::templates::task;
use crate::ledger::text::{
    WordList, clip_middle, clip_sentences, first_words, has_piece, normalised, one_line, word_list,
};
use crate::ledger::{Ledger, Note, NoteKind, Request, RequestWeight, Statement, Voice, error_line};
use crate::summary::Section;
use crate::text::{prefix_utf16, utf16_len};
use crate::tools::PlanStatus;

/// So many consecutive requests without an accepted answer are not retries of one request.
const LONGEST_CHAIN: usize = 7;
/// Longest aim that the latest request repeats or changes, in UTF-16 units.
const LONGEST_AIM: usize = 240;
/// A whole first request may take the room of a summary divided by this, but no more than so many UTF-16 units.
const FIRST_PART: usize = 40;
const LONGEST_WHOLE_FIRST: usize = 320;
/// Most requests between the first and the latest one that are listed.
const MOST_RECENT: usize = 3;
/// Longest of these, in UTF-16 units.
const LONGEST_RECENT: usize = 100;
/// One of them is listed for every so many UTF-16 units of a summary.
const UNITS_FOR_RECENT: usize = 4000;
/// Requests whose first so many UTF-16 units are the same count as the same request.
const ALIKE_UNITS: usize = 60;
/// Number of newest messages of the person that are searched for them.
const MOST_SEARCHED: usize = 64;
/// Longest message after the latest request, in UTF-16 units.
const LONGEST_BEHIND: usize = 600;
/// Most messages after the latest request that are listed.
const MOST_BEHIND: usize = 3;
/// Most sentences of a request that are compared.
const MOST_SENTENCES: usize = 200;

impl Candidates {
    /// The request of a turn. A message that only repeats the newest answer of the history is replaced by the request
    /// of that answer: agents write such messages to pass an answer to another model.
    pub(super) fn request_of<'a>(turn: &'a Turn, ledger: &'a Ledger) -> &'a str {
        let asked = ledger.requests.iter().rev().find(|request| request.asks_for_work());
        let is_answer = |asked: &&Request| {
            ledger.newest_answer.position > asked.position && is_quoted(turn.request.trim(), &ledger.newest_answer.text)
        };
        asked.filter(is_answer).map_or(turn.request.as_str(), |asked| asked.text.as_str())
    }
}

impl<'a> Builder<'a> {
    /// The requests before the latest one: its aim, the first one, and the one that began the current topic. Answered
    /// requests are marked.
    pub(super) fn earlier_goals(&mut self, is_latest: impl Fn(&Request) -> bool) {
        let aim = self.unanswered().filter(|aim| !is_latest(aim));
        // An unanswered request that came again in similar words is replaced.
        let replacing = self.latest().filter(|_| self.turn_request.is_none());
        let is_replaced =
            |one: &Request| !one.is_answered && replacing.is_some_and(|latest| nearly_repeats(&one.text, &latest.text));
        let aim = aim.filter(|aim| !is_replaced(aim));
        if let Some(aim) = aim {
            let item = asked(&aim.text, LONGEST_AIM);
            self.pool.add(Section::Goal, &item, origin(aim), Rank::Must);
        }
        let is_aim = |request: &Request| aim.is_some_and(|aim| aim.position == request.position);
        // A request before an answered one was done or dropped.
        let before = self.latest().map_or(u64::MAX, |latest| latest.position);
        let newest = self.latest().filter(|_| self.turn_request.is_none());
        let is_latest = |one: &Request| is_latest(one) || newest.is_some_and(|newest| std::ptr::eq(newest, one));
        let is_latest = |one: &Request| is_latest(one) || is_replaced(one);
        let requests = self.ledger.requests.iter().rev().filter(|one| one.asks_for_work());
        let mut answered = requests.filter(|one| one.position < before || self.turn_request.is_some());
        let answered = answered.find(|one| self.is_answered(one)).map_or(0, |one| one.position);
        let first = self.first_request();
        let told = first.filter(|first| self.is_question_told(first)).map(|first| first.position);
        let is_past = |request: &Request| {
            request.position <= answered && answered > 0 || told.is_some_and(|told| told == request.position)
        };
        let whole = || self.requests_since_reset().iter().filter(|request| is_substantive(&request.text));
        let orders = |request: &&Request| !only_explores(&request.text) && !is_aside(&request.text);
        let begun = whole().take(MOST_ASIDE).find(orders);
        let begun = begun.or_else(|| whole().find(|request| !only_explores(&request.text)));
        let begun = begun.or_else(|| whole().next());
        // Questions before it may be told, too.
        let is_before_begun = |one: &Request| begun.is_some_and(|begun| one.position < begun.position);
        let is_told = |one: &Request| !is_reference(&one.text) && !only_explores(&one.text);
        let is_first = whole().all(|one| !is_before_begun(one) || !is_told(one));
        // A short question before the work does not say what the conversation is for.
        let is_before =
            |first: &&Request| is_aside(&first.text) && begun.is_some_and(|begun| begun.position > first.position);
        let first = first.filter(|first| !is_before(first));
        let is_begun = |first: &Request| begun.is_none_or(|begun| begin_alike(&begun.text, &first.text));
        if let Some(first) = first.filter(|first| !is_latest(first) && !is_aim(first)) {
            match is_past(first) {
                // The first request says what the conversation began for.
                true if is_begun(first) => {
                    let item = format!("{AT_FIRST}{}", begins(&first.text, self.longest_first(&first.text)));
                    self.pool.add(Section::Goal, &item, origin(first), Rank::Must);
                }
                // A short one only continues what came before.
                true if !is_telling(&first.text) || holds_from_then_on(&first.text) => {}
                true => {
                    let item = format!("{THEN}{}{}", begins(&first.text, LONGEST_FIRST), self.done_mark(first));
                    self.pool.add(Section::Goal, &item, origin(first), Rank::Normal);
                }
                false => {
                    let whole = typed(task(&first.text).unwrap_or(&first.text), MOST_UNITS);
                    self.pool.add_cut(Section::Goal, &goal_line(&first.text), Some(whole), origin(first), Rank::Must);
                }
            }
        }
        if let Some(begun) = begun.filter(|begun| !first.is_some_and(is_begun) && !is_aim(begun) && !is_latest(begun)) {
            let start = if is_first { AT_FIRST } else { THEN };
            let item = format!("{start}{}", begins(&begun.text, self.longest_first(&begun.text)));
            self.pool.add(Section::Goal, &item, origin(begun), Rank::Normal);
        }
        let told: Vec<&Request> = [aim, first, begun, self.latest()].into_iter().flatten().collect();
        let is_told = |one: &Request| is_latest(one) || told.iter().any(|other| begin_alike(&other.text, &one.text));
        let is_recent = |one: &&Request| {
            let is_request = one.is_own() && one.position < before && is_telling(&one.text) && is_typed(&one.text);
            is_request
                && !only_sets_rules(&one.text)
                && !only_explores(&one.text)
                && !holds_from_then_on(&one.text)
                && !self.is_rejection(one)
                && !is_told(one)
        };
        let newest = self.requests_since_reset().iter().rev().take(MOST_SEARCHED);
        // A short summary has no room for all of them.
        let most = (self.units / UNITS_FOR_RECENT).min(MOST_RECENT);
        let most = most.saturating_sub(usize::from(first.is_some_and(|first| is_past(first) && !is_begun(first))));
        let recent: Vec<&Request> = newest.filter(is_recent).take(most).collect();
        for one in recent {
            let item = format!("{THEN}{}{}", begins(&one.text, LONGEST_RECENT), self.done_mark(one));
            self.pool.add(Section::Goal, &item, origin(one), Rank::Low);
        }
    }

    /// Most UTF-16 units of the first request. The whole of a short one says more than its first sentences.
    fn longest_first(&self, request: &str) -> usize {
        let whole = (self.units / FIRST_PART).min(LONGEST_WHOLE_FIRST);
        // Lists and paragraphs of their own are told elsewhere.
        let is_one =
            !request.contains("\n\n") && !request.lines().any(|line| line.trim_start().starts_with(['-', '*', '#']));
        let is_told = is_one && is_typed(request) && utf16_len(&one_line(request)) <= whole;
        if is_told { whole.max(LONGEST_FIRST) } else { LONGEST_FIRST }
    }

    /// The answers and commands after the latest request, and the last message of the person.
    pub(super) fn requests_behind(&mut self, latest: &'a Request) {
        let requests = &self.ledger.requests;
        let is_last =
            |one: &Request| self.turn_request.is_none() && requests.last().is_some_and(|last| std::ptr::eq(last, one));
        let is_told = |one: &&Request| {
            let goes_on = matches!(one.weight, RequestWeight::Answer | RequestWeight::Command);
            let is_repeated = self.turn_request.is_some_and(|turn| one_line(turn) == one_line(&one.text));
            (goes_on || is_last(one))
                && !is_repeated
                && !only_sets_rules(&one.text)
                && !RESETS.contains(&one.text.trim())
        };
        let behind = requests.iter().rev().take_while(|one| one.position > latest.position).filter(is_told);
        let mut told: Vec<&Request> = behind.take(MOST_BEHIND).collect();
        told.reverse();
        for one in told {
            let answered = || match one.weight {
                RequestWeight::Answer => self.question_before(&one.text, one.position),
                // `Go ahead` says nothing without the question.
                _ if is_substantive(&one.text) => None,
                _ => self.question_before(&one.text, one.position).filter(|said| said.starts_with(IN_ANSWER)),
            };
            let option = self.chosen_at(one.position).or_else(answered);
            let words = if one.weight == RequestWeight::Command { self.with_title(one) } else { &one.text };
            self.pool.add(Section::Goal, &and_then(words, option), origin(one), Rank::Must);
        }
        if let Some(turn) = self.turn_request {
            let answers = |said: &String| self.is_answer || is_assent(turn) && said.starts_with(IN_ANSWER);
            let answered = || self.question_before(turn, u64::MAX).filter(answers);
            let item = and_then(turn, self.chosen_option(turn).or_else(answered));
            self.pool.add(Section::Goal, &item, Origin::at(u64::MAX), Rank::Must);
        }
    }

    /// A command with the title of its prompt, which may begin the turn after the history.
    pub(super) fn with_title(&self, command: &'a Request) -> &'a str {
        let requests = &self.with_turn.requests;
        let at = requests.partition_point(|one| one.position < command.position);
        let same = requests.get(at).filter(|one| one.position == command.position);
        &same.unwrap_or(command).text
    }

    /// Whether a file was last changed, or a milestone came, before the request after this one.
    fn has_changed_for(&self, request: &Request) -> bool {
        let mut later = self.ledger.requests.iter().filter(|one| one.position > request.position);
        let turn = request.position..later.next().map_or(u64::MAX, |one| one.position);
        let milestones = self.ledger.statements.iter().filter(|one| one.voice == Voice::Milestone);
        let changes = self.ledger.files.iter().map(|file| file.changed_at);
        changes.chain(milestones.map(|one| one.position)).any(|at| turn.contains(&at))
    }

    /// Whether something was made for a request, and not undone.
    pub(super) fn is_made_for(&self, request: &Request) -> bool {
        let mut later = self.ledger.requests.iter().filter(|one| one.position > request.position);
        let turn = request.position..later.next().map_or(u64::MAX, |one| one.position);
        let made = self.ledger.notes_of(NoteKind::Done).filter(|note| turn.contains(&note.position));
        let tells = |note: &Note| [FINISHED, WORKED_ON].iter().any(|start| note.text.starts_with(start));
        made.filter(|note| tells(note)).any(|note| !self.is_undone(note)) || self.has_changed_for(request)
    }

    /// Ends the item of an earlier request with its result, if that is known.
    fn done_mark(&self, request: &Request) -> &'static str {
        let starts = [true, false].map(|is_changed| answered_start(&request.text, is_changed));
        let all = || self.ledger.notes_of(NoteKind::Done);
        let has = |is_changed: bool| {
            let start = &starts[usize::from(!is_changed)];
            all().any(|note| note.text.starts_with(start) && !self.is_undone(note))
        };
        let is_undone = || {
            let own = undone(&request.text);
            let mut later = self.ledger.notes_of(NoteKind::Decision).filter(|note| note.position > request.position);
            later.any(|note| {
                let undone = note.text.strip_prefix(UNDID_WORK).and_then(|rest| rest.split(ASKED_THEN).next());
                undone.is_some_and(|undone| undone.contains(&own))
            })
        };
        let is_objected = all().any(|note| {
            note.text.contains(OBJECTED_TO_ANSWER) && starts.iter().any(|start| note.text.starts_with(start))
        });
        match () {
            () if is_undone() => TAKEN_BACK,
            () if self.undone.has(request.position) || is_objected || self.is_not_solved(request) => "",
            () if has(true) || has(false) || self.is_answered(request) => {
                let is_made = || has(true) || self.has_changed_for(request);
                match !has_question(&request.text) && is_made() && !self.leaves_work(request) {
                    true if self.left_for_later(request).is_some() => PARTLY_DONE,
                    true => DONE,
                    false => DONE_WITH,
                }
            }
            () if self.is_question_told(request) => DONE_WITH,
            () if self.without_answer().any(|one| one.position == request.position) => NOT_ANSWERED,
            () => "",
        }
    }

    /// The statements of the last message of the model for a request.
    fn last_answer(&self, request: &Request) -> Vec<&'a Statement> {
        let next = self.ledger.requests.iter().find(|one| one.position > request.position);
        let next = next.map_or(u64::MAX, |one| one.position);
        let all = &self.ledger.statements;
        let own = &all[all.partition_point(|one| one.position <= request.position)..];
        let mut own: Vec<&Statement> =
            own.iter().take_while(|one| one.position < next).filter(|one| one.is_of_model()).collect();
        let last = own.last().map_or(0, |one| one.position);
        own.retain(|one| one.position == last);
        own
    }

    /// Whether the last words of the model for a request say that a part of it is left.
    fn leaves_work(&self, request: &Request) -> bool {
        let is_left = |one: &&Statement| is_waiting(&one.text) || names_parts_left(&one.text);
        self.has_untouched_parts(request)
            || self.last_answer(request).iter().any(|one| is_left(one) && !is_conditional(&one.text))
    }

    /// Whether the last words of the model for a request say that it failed, or the person reports the same again.
    fn is_not_solved(&self, request: &Request) -> bool {
        let later = || self.ledger.requests.iter().filter(|one| one.position > request.position);
        let own = self.last_answer(request);
        let words = later().take(COMING_BACK).map(|one| one.text.as_str()).chain(self.turn_request);
        own.iter().take(FIRST_WORDS_OF_ANSWER).any(|one| fails(&one.text))
            || words.into_iter().any(|one| persists(one, &request.text))
    }

    /// The first of the requests before the latest one that have no accepted answer.
    fn unanswered(&self) -> Option<&'a Request> {
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn));
        let requests = self.requests_since_reset().iter().filter(|request| request.asks_for_work());
        let before = requests.rev().skip(usize::from(of_turn.is_none()));
        let is_closed = |request: &Request| self.is_answered(request) || self.is_question_told(request);
        let open: Vec<&Request> = before.take_while(|request| !is_closed(request)).take(LONGEST_CHAIN).collect();
        // More of them are not retries of one request.
        open.last().copied().filter(|_| open.len() < LONGEST_CHAIN)
    }

    /// Whether a request only asks, and the model said something about it. Who objects to that asks anew.
    fn is_question_told(&self, request: &Request) -> bool {
        only_asks(&request.text) && self.last_answer(request).iter().any(|one| one.voice == Voice::Report)
    }

    /// Whether a request before the latest one is answered. The request of the turn accepts the last answer of the
    /// history.
    pub(super) fn is_answered(&self, request: &Request) -> bool {
        let is_last = || {
            let asking = |last: &&Request| last.asks_for_work();
            self.ledger.requests.iter().rev().find(asking).is_some_and(|last| last.position == request.position)
        };
        let accepts = |turn: &str| {
            is_substantive(turn)
                && accepts(turn)
                && !reopens(turn, &request.text, self.ledger.reply.as_deref().unwrap_or_default())
        };
        request.is_answered
            || self.ledger.answered > request.position && self.turn_request.is_some_and(accepts) && is_last()
    }

    /// Ends the item of a latest request with nothing open: nothing failed for it, and its answer names no step.
    pub(super) fn answered_mark(&self) -> &'static str {
        let last = self.ledger.asked_at();
        let is_newer = |note: &Note| !note.is_minor && note.position >= last;
        let is_done = last > 0
            && !self.ledger.unresolved_errors().any(|error| error.position > last)
            && !self.ledger.notes_of(NoteKind::Step).any(is_newer)
            && !self.ledger.notes_of(NoteKind::Open).any(|note| note.position >= last)
            && self.ledger.plan.in_state(PlanStatus::Pending).next().is_none()
            && self.turn_request.is_none()
            && self.unsolved.is_empty()
            && !self.is_open()
            && self.waiting_question().is_none();
        match is_done {
            true if self.is_unfinished() => STOPPED,
            true if self.waits_for().is_some_and(|item| item.starts_with(FOR_THE_USER)) => ANSWERED_WAITING,
            true => DONE_WITH,
            false => "",
        }
    }
}

/// Whether a sentence says that a part of the work is left: `nothing is left to do` does not.
fn names_parts_left(sentence: &str) -> bool {
    let words = normalised(sentence);
    let is_denied = |at: usize| {
        let mut near = words[..at].split_whitespace().rev().take(DENIED_WITHIN);
        near.any(|word| NONE.has(word))
    };
    has_piece(sentence, PARTS_LEFT.pieces) || PARTS_LEFT.found_in(&words).any(|(at, _)| !is_denied(at))
}

/// Words that deny what follows them.
static NONE: WordList = word_list!(crate::phrases::SPACED, "goal: none");
/// Number of words before a phrase in which they stand.
const DENIED_WITHIN: usize = 4;
/// Phrases that say that a part of the work is left.
static PARTS_LEFT: WordList = word_list!("goal: parts left");
/// Number of later requests that may report the same again.
const COMING_BACK: usize = 4;
/// Number of first statements of an answer that may say that the request failed.
const FIRST_WORDS_OF_ANSWER: usize = 2;
/// Fewest digits of a number that two reports share.
const FEWEST_DIGITS: usize = 3;

/// Whether the first words of an answer say that the request failed.
fn fails(sentence: &str) -> bool {
    tells_failure(sentence) || says_impossible(sentence)
}

/// Whether a message says that the same is still wrong as in an `earlier` one: it names the same number, such as a status,
/// or the same thing.
fn persists(message: &str, earlier: &str) -> bool {
    let numbers = |text: &str| -> Vec<String> {
        let runs = text.split(|one: char| !one.is_ascii_digit());
        runs.filter(|run| run.len() >= FEWEST_DIGITS).map(str::to_owned).collect()
    };
    let start = prefix_utf16(message, LONGEST_COMPLAINT);
    PERSISTING.is_said(start) && {
        let own = numbers(start);
        numbers(earlier).iter().any(|number| own.contains(number)) || reports(start) && reopens(start, earlier, "")
    }
}

/// UTF-16 units of a message that are searched for a complaint.
const LONGEST_COMPLAINT: usize = 240;

/// Words of requests that only ask the model to get to know a project.
static EXPLORING: WordList = word_list!("goal: exploring");
/// Words for what the model is to get to know.
static EXPLORED: WordList = word_list!("goal: explored");
/// Longest such request, in UTF-16 units.
const LONGEST_EXPLORING: usize = 160;
/// Longest request that only names a page to read, in UTF-16 units.
const LONGEST_READING: usize = 80;
/// Words before a second order in such a request.
pub(super) const JOINTS: [&str; 10] = ["and", "then", "und", "dann", "et", "puis", "y", "e", "и", "en"];
/// Number of first words in which it says so.
const EXPLORING_WORDS: usize = 5;

/// Most first requests that are searched for the first order.
const MOST_ASIDE: usize = 6;
/// Longest question before the work, in UTF-16 units.
const LONGEST_ASIDE: usize = 80;

/// Whether a message is a short question, or shows something without a word about it.
fn is_aside(request: &str) -> bool {
    utf16_len(request) <= LONGEST_ASIDE && (only_asks(request) || !is_prose(&one_line(request)))
}

/// Whether a request is one sentence with a rule that applies from then on.
fn holds_from_then_on(request: &str) -> bool {
    FROM_NOW_ON.is_in(&first_words(request, EXPLORING_WORDS)) && sentences(request).nth(1).is_none()
}

/// Whether a request only asks the model to get to know the project. The work comes later.
pub(super) fn only_explores(request: &str) -> bool {
    if utf16_len(request) > LONGEST_EXPLORING || request.trim_end().ends_with(['?', '\u{ff1f}']) {
        return false;
    }
    let words = normalised(request);
    let explores = EXPLORING.is_in(&first_words(request, EXPLORING_WORDS)) && EXPLORED.is_in(&words);
    let is_wide = || has_piece(request, EXPLORING.pieces) && has_piece(request, EXPLORED.pieces);
    let is_task = |(_, task): (usize, &str)| !EXPLORING.words.iter().any(|word| word.split(' ').any(|one| one == task));
    (explores || is_wide()) && !TASKS.found_in(&words).any(is_task)
}

/// Whether a short request only tells the model which page to read: `read README.md, it has the steps`.
pub(super) fn only_names_a_page(request: &str) -> bool {
    let is_page = |word: &str| word.contains("://") || ending(word.trim_end_matches(['.', ',', ':'])).is_some();
    if utf16_len(request) > LONGEST_READING {
        return false;
    }
    let words = normalised(request);
    let is_joint = |word: &str| JOINTS.contains(&word);
    !words.split_whitespace().any(is_joint)
        && EXPLORING.is_in(&first_words(request, EXPLORING_WORDS))
        && request.split_whitespace().any(is_page)
        && !TASKS.is_in(&words)
}

/// The error at the end of terminal output that a person pasted without words, with the place named before it.
pub(super) fn shell_error(request: &str) -> Option<String> {
    if let Some(told) = of_terminal(request) {
        return Some(told);
    }
    let lines: Vec<&str> = request.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (first, last) = (lines.first()?, lines.last()?);
    let is_asking = last.ends_with(['?', '\u{ff1f}']) || WORK.starts(&normalised(last)) && !last.contains(':');
    if lines.len() < FEWEST_OF_OUTPUT || is_asking || !is_prompt_of_shell(first) {
        return None;
    }
    let error = error_line(request);
    let at = lines.iter().position(|line| error.starts_with(prefix_utf16(line, PLACE_UNITS)))?;
    // A compiler names the place in the line before.
    let is_place = |line: &&&str| line.contains(['/', '.']) && !line.contains(' ') && line.contains(':');
    let place = at.checked_sub(1).and_then(|before| lines.get(before)).filter(is_place);
    let place = place.map(|place| format!("{}: ", place.trim_end_matches(':'))).unwrap_or_default();
    let is_error = at > 0 && utf16_len(&error) >= FEWEST_OF_ERROR;
    // The output of a second command may end with an error of its own.
    let is_other = last.contains("rror: ") && !error.contains(prefix_utf16(last, PLACE_UNITS));
    let last = if is_other { format!(" \u{2026} {last}") } else { String::new() };
    is_error.then(|| clip_middle(&one_line(&format!("{PASTED}{place}{error}{last}")), LONGEST_AIM))
}

/// The words of a person behind the text of a terminal, with its error.
pub(super) fn of_terminal(request: &str) -> Option<String> {
    let own = behind_terminal(request)?;
    let error = pasted_error(request).map(|error| format!("{PASTED}{error}"));
    let told: Vec<String> = [own, error.unwrap_or_default()].into_iter().filter(|part| !part.is_empty()).collect();
    (!told.is_empty()).then(|| clip_middle(&one_line(&told.join(" ")), LONGEST_AIM))
}

/// Whether a line is the prompt of a shell, with or without a command after it.
fn is_prompt_of_shell(line: &str) -> bool {
    // The name of an environment may come first: `(tools) me@host:~$ make`.
    let line = match line.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((name, rest)) if !name.contains(' ') => rest,
        _ => line,
    };
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_host =
        || first.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.len() > 1 && !first.contains(','));
    let is_typed = first == "$" || first == "%" || first == "\u{276f}" || first == "PS" && line.contains('>');
    let is_drive = || first.get(1..3).is_some_and(|drive| drive.starts_with(':')) && line.contains('>');
    is_typed || is_drive() || is_host() && line.split_whitespace().nth(1).is_some()
}

/// The lines of an open request may take the room of a summary divided by this.
const FULL_PART: usize = 6;
/// So many consecutive lines without prose are pasted.
const PASTED_LINES: usize = 5;
/// Longest line of typed text, in UTF-16 units.
const LONGEST_LINE: usize = 300;

/// An open request for a summary of `units` UTF-16 units: all lines if a person typed them, such as `Bread (one),
/// fillings (at most 3)`, and otherwise only the prose.
pub(super) fn in_full(request: &str, units: usize) -> String {
    let (whole, prose) = (one_line(request), typed(request, MOST_UNITS));
    let is_cut = prose.contains(" \u{2026} ");
    if !is_cut || utf16_len(&whole) * FULL_PART > units || request.contains("```") {
        return prose;
    }
    let mut in_a_row = 0;
    let is_pasted = request.lines().map(str::trim).filter(|line| !line.is_empty()).any(|line| {
        in_a_row = if is_prose(line) { 0 } else { in_a_row + 1 };
        in_a_row == PASTED_LINES || in_a_row > 0 && utf16_len(line) > LONGEST_LINE
    });
    if is_pasted { prose } else { whole }
}

/// Fewest lines of such an output.
const FEWEST_OF_OUTPUT: usize = 3;
/// Shortest error, in UTF-16 units.
const FEWEST_OF_ERROR: usize = 12;
/// Number of first UTF-16 units by which its line is found.
const PLACE_UNITS: usize = 40;

/// The item of a message after the latest request.
fn and_then(words: &str, option: Option<String>) -> String {
    let option = option.map(|option| format!(" ({option})")).unwrap_or_default();
    if is_declaration(words) {
        return format!("{AND_THEN}{PASTED}{}", clip_middle(&one_line(words), LONGEST_RECENT));
    }
    // Pasted text after the first lines is in the digest.
    format!("{AND_THEN}{}{option}", clip_middle(&one_line(words), LONGEST_BEHIND))
}

/// The beginning of an earlier request, in whole sentences where they fit.
pub(super) fn begins(request: &str, units: usize) -> String {
    let request = task(request).unwrap_or(request);
    // The words that a person typed before pasted text say what it is for.
    let own = || sentences(request).take_while(|one| is_prose(one)).map(one_line).collect::<Vec<_>>().join(" ");
    let own = if is_typed(request) { String::new() } else { own() };
    let whole = if is_substantive(&own) { own } else { typed(request, MOST_UNITS) };
    let whole = from_order(&whole, units);
    let start = clip_sentences(&whole, units);
    // The number of an omitted item says nothing.
    let number = |text: &str| text.len() - text.trim_end_matches(|one: char| one.is_ascii_digit()).len();
    let bare = start.strip_suffix('.').map(|bare| &bare[..bare.len() - number(bare)]);
    let is_cut = |bare: &&str| bare.len() + 1 < start.len() && bare.ends_with([' ', '.', '?', '!', '\u{2026}']);
    bare.filter(is_cut).unwrap_or(&start).trim_end().to_owned()
}

/// A request from its task on, if that has no room behind what stands before it: what has the label of a task, an order
/// behind thanks, or a long question. A short one needs the words before it.
fn from_order(request: &str, units: usize) -> Cow<'_, str> {
    if utf16_len(request) <= units {
        return Cow::Borrowed(request);
    }
    let all: Vec<&str> = sentences(request).take(MOST_SENTENCES).collect();
    let labelled = all.iter().position(|one| task_behind_label(one).is_some());
    let is_thanks = || all.first().is_some_and(|first| praises_first(first));
    let is_order = |one: &&str| is_prose(one) && orders(one);
    // What a person reports says more than the question about it.
    let is_telling = |at: usize| {
        let asks_alone = || asks(all[at]) && utf16_len(all[at]) >= LONG_QUESTION;
        is_thanks() || asks_alone() && !all[..at].iter().any(|one| reports(one))
    };
    let ordered = || all.iter().position(is_order).filter(|at| is_telling(*at));
    let Some(at) = labelled.or_else(ordered) else {
        return Cow::Borrowed(request);
    };
    let before: usize = all[..at].iter().map(|one| utf16_len(one) + 1).sum();
    match at > 0 && before + utf16_len(all[at]) > units {
        true => {
            let first = task_behind_label(all[at]).unwrap_or(all[at]);
            Cow::Owned([&[first], &all[at + 1..]].concat().join(" "))
        }
        false => Cow::Borrowed(request),
    }
}

/// What stands behind the label of a task: `Current issue: sort the cart`.
fn task_behind_label(sentence: &str) -> Option<&str> {
    let (label, behind) = sentence.split_once([':', '\u{ff1a}'])?;
    let is_label = label.split_whitespace().count() <= LABEL_WORDS && TASK_LABELS.is_said(label);
    Some(behind.trim_start()).filter(|behind| is_label && is_substantive(behind))
}

/// Fewest UTF-16 units of a question that can be understood without the words before it.
const LONG_QUESTION: usize = 60;
/// Words in the label of a task, and most words of the label.
static TASK_LABELS: WordList = word_list!("goal: labels of tasks");
const LABEL_WORDS: usize = 4;

/// Whether two requests begin with the same words.
fn begin_alike(one: &str, other: &str) -> bool {
    let start =
        |text: &'_ str| one_line(prefix_utf16(text.trim_start_matches(|one: char| !one.is_alphabetic()), ALIKE_UNITS));
    start(one.trim_end()) == start(other.trim_end())
}

/// A request in at most `units` UTF-16 units. What it asks for is kept if it can be recognised: of a long request,
/// whole sentences are kept, first those that ask at its end, then its beginning.
pub(super) fn asked(request: &str, units: usize) -> String {
    let request = task(request).unwrap_or(request);
    let whole = shell_error(request).unwrap_or_else(|| typed(request, MOST_UNITS));
    if utf16_len(&whole) <= units {
        return whole;
    }
    let mut all: Vec<String> =
        sentences(request).filter(|one| is_prose(one)).take(MOST_SENTENCES).map(one_line).collect();
    let Some(last) = all.len().checked_sub(1) else { return clip_middle(&whole, units) };
    // The beginning says what it is about.
    all[last] = clip_middle(&all[last], units / 2);
    let asking = (0..=last).rev().filter(|at| asks(&all[*at]));
    let is_document = is_document(request);
    let ends = if is_document { [0, 0] } else { [last, 0] };
    let ordering = (0..=last).filter(|at| orders(&all[*at]));
    let order = ends.into_iter().chain(asking).chain(ordering).chain(0..=last);
    let (mut kept, mut left) = (vec![false; all.len()], units);
    for at in order {
        // A mark for omitted text may come before each of them.
        let cost = utf16_len(&all[at]) + MARK.len();
        if !kept[at] && cost <= left {
            kept[at] = true;
            left -= cost;
        }
    }
    if !kept[last] && !is_document || all.len() < 2 {
        return clip_middle(&whole, units);
    }
    with_gaps(all.iter().zip(kept).map(|(sentence, kept)| if kept { sentence } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_explores_asks_for_no_work_yet() {
        for request in [
            "deeply analyse the current repo structure",
            "Please read the whole project first",
            "Sieh dir das Projekt genau an",
            "analyse le dépôt",
            "explora el repositorio y su estructura",
            "изучи проект целиком",
            "先了解一下这个项目的结构",
            "まずプロジェクト全体を読んで理解してください",
            "이 프로젝트 구조를 파악해 줘",
        ] {
            assert!(only_explores(request), "{request}");
        }
        for request in [
            "analyse the slow query and fix it",
            "read the project brief and build the parser",
            "what is this project about?",
            "add a page with the structure of the repo",
            "understand why the import fails",
            "port the project to Rust",
            "修复项目中的错误",
        ] {
            assert!(!only_explores(request), "{request}");
        }
    }

    #[test]
    fn a_pasted_output_is_told_by_its_error() {
        let output = "dev@box:~/shop$ npm run build\n\n> shop@1.0.0 build\n\nFailed to compile.\n\n\
                      ./src/cart.tsx:41:7\nType error: Cannot find name 'setCart'.\n\n  41 |   setCart(1);\n     |   ^";
        let told = shell_error(output);
        assert_eq!(
            told.as_deref(),
            Some("(pasted output) ./src/cart.tsx:41:7: Type error: Cannot find name 'setCart'.")
        );
        let python = "PS C:\\shop> python main.py\nTraceback (most recent call last):\n  File \"main.py\", line 3, in <module>\n    \
                      run()\nKeyError: 'cart'";
        assert!(shell_error(python).is_some_and(|told| told.contains("KeyError: 'cart'")));
        let two = "(tools) dev@box:~$ python main.py\nTraceback (most recent call last):\n  File \"main.py\", line 3, in <module>\n    \
                   run()\nKeyError: 'cart'\nusage: shop [-h]\nshop: error: unrecognized arguments: --all";
        let told = shell_error(two).unwrap_or_default();
        assert!(told.contains("KeyError: 'cart'") && told.contains("unrecognized arguments: --all"), "{told}");
        for other in [
            "the build fails:\nerror: no cart\nat cart.rs:4",
            "dev@box:~$ npm run build\nError: no cart\n\nwhy does it fail?",
            "dev@box:~$ npm run build\nError: no cart\n\nfix the build please",
            "write to dev@example.org\nthat the cart is ready\nand that the build works",
        ] {
            assert_eq!(shell_error(other), None, "{other}");
        }
    }
}
