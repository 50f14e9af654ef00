//! The candidates of a ledger for the sections of a summary.

mod alike;
mod blocked;
mod decided;
mod deeds;
mod done;
mod ending_list;
mod finished;
mod goal;
mod made;
mod newest_answer;
pub(super) mod next_steps;
mod notes;
mod open_parts;
mod plan;
mod proposed;
mod requests;
mod rest_of_list;
mod runs;
mod state;
mod unanswered;
mod waiting;

use std::rc::Rc;

use super::budget::{MOST_UNITS, UNITS_PER_TOKEN};
use super::checks::Checks;
use super::pool::{Origin, Pool, Rank};
use super::{Style, Turn};
use crate::ledger::closed_requests::{accepts, answered_request};
use crate::ledger::cues::is_substantive;
use crate::ledger::notes::FOCUS;
use crate::ledger::rules::only_sets_rules;
use crate::ledger::slash::{RESETS, is_prompt};
use crate::ledger::{Ledger, Request, RequestWeight, Statement};
use crate::summary::{Section, SummaryKind};
use blocked::still_reported;
pub(super) use done::LONG_SUMMARY;
use done::{FileStates, UndoneTurns, milestones};
pub(super) use done::{MOST_MILESTONES, standing_milestones};
pub(super) use next_steps::ROOM_FOR_TWO;

/// Longest repeated request, in UTF-16 units.
const LONGEST_REPEAT: usize = 120;
/// The milestones of an open request may take the room of a summary divided by this.
const PROGRESS_PART: usize = 50;
/// Longest answered request that began a conversation or its topic, in UTF-16 units.
const LONGEST_FIRST: usize = 180;
/// Most statements of the newest answer about the current work.
const MOST_LATEST: usize = 3;
/// Number of later requests for work after which a step of an answer is outdated.
const OVERTAKEN_BY: usize = 2;

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
        // A message of the harness does not begin a turn.
        let is_turn = |turn: &&Turn| !turn.request.trim().is_empty() || !turn.ledger.is_empty();
        let turn = style.turn.filter(|_| kind == SummaryKind::History).filter(is_turn);
        let turn_request = turn.map(|turn| Self::request_of(turn, ledger)).filter(|request| !request.trim().is_empty());
        let of_turn = |one: &&Request| one.position > ledger.messages;
        let read = style.with_turn.map(|with_turn| with_turn.requests.iter().find(of_turn));
        // The prompt of a command at the end of the history is not the person's.
        let turn_request = turn_request.filter(|turn| read.is_none_or(|read| read.is_some()) || !is_prompt(turn));
        let is_answer = read.flatten().is_some_and(|read| read.weight == RequestWeight::Answer);
        // A turn that begins with a rule continues the request before it.
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
        let unsolved = still_reported(with_turn).into_iter().map(|one| answered_request(&one.text)).collect();
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
            unsolved: Rc::new(unsolved),
            pool,
        };
        builder.requests();
        let answers_first = builder.order();
        let has_failed_runs = builder.failed_runs();
        builder.notes();
        builder.contrasts();
        builder.milestones();
        builder.changes();
        builder.repository();
        builder.plan();
        builder.result();
        builder.commands_to_run();
        builder.checks_in_use();
        builder.settings_in_use();
        builder.newest_answer();
        builder.actions();
        if tells_state {
            builder.last_step();
            builder.blocked();
        }
        if !answers_first {
            builder.go_on(has_failed_runs);
        }
        builder.for_later();
        builder.finished();
        Self { pool: builder.pool, checks: builder.checks }
    }
}

struct Builder<'a> {
    ledger: &'a Ledger,
    /// In the summary of a history, the ledger with the turn that follows, if that is known. Otherwise `ledger`.
    with_turn: &'a Ledger,
    /// In a summary of any kind, the ledger with the turn that follows, if that is known. Otherwise `ledger`.
    newest: &'a Ledger,
    /// The checks of the newest ledger.
    checks: Rc<Checks>,
    kind: SummaryKind,
    /// Whether the messages are the beginning of a turn that continues after them.
    goes_on: bool,
    /// Whether this summary states the work. The context of a turn does so if there is no history.
    tells_state: bool,
    /// The request of the turn that follows, if a person's words begin it.
    turn_request: Option<&'a str>,
    /// Whether it only answers a question, so that the request before it continues.
    is_answer: bool,
    /// The ledger of that turn.
    turn: Option<&'a Ledger>,
    /// Position of the last command that began a new conversation; 0 if there is none. If no request follows it, the
    /// earlier ones still count.
    begun_at: u64,
    /// UTF-16 units that the summary may take.
    units: usize,
    /// The milestones, with those of the turn that follows, that no later one replaced.
    standing: Rc<Vec<&'a Statement>>,
    /// What happened to the files later.
    states: Rc<FileStates<'a>>,
    /// The turns whose commits were undone.
    undone: Rc<UndoneTurns>,
    /// How the items of finished work tell the reports of a problem of which the newest request says that it is still there.
    unsolved: Rc<Vec<String>>,
    pool: Pool,
}
impl<'a> Builder<'a> {
    /// The checks of one of the ledgers.
    fn checks_of(&self, ledger: &Ledger) -> Rc<Checks> {
        if std::ptr::eq(ledger, self.newest) { self.checks.clone() } else { Rc::new(Checks::of(ledger)) }
    }
}
