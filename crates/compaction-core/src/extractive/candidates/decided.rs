//! Choices that nobody called so: what reports and commits of work that was kept say in contrast to another way, and
//! orders of the person for one way that was then made.

use std::collections::HashMap;

use super::Builder;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::choices::stems;
use crate::ledger::contrasts::{contrast_of_commit, orders_contrast, overrules, tells_contrast};
use crate::ledger::cues::is_typed;
use crate::ledger::notes::{COMMITTED, WANTED};
use crate::ledger::statements::sentences;
use crate::ledger::text::one_line;
use crate::ledger::{Request, Sources, Statement, Voice};
use crate::summary::{Section, SummaryKind};

/// Most statements that are read, the newest ones.
const MOST_STATEMENTS: usize = 6000;
/// Most requests whose sentences are read, the newest ones.
const MOST_REQUESTS: usize = 48;
/// Longest of these requests, in bytes.
const LONGEST_TYPED: usize = 1600;
/// Most sentences of a request that are read.
const MOST_SENTENCES: usize = 12;
/// Most choices that are compared.
const MOST_COMPARED: usize = 40;
/// Most choices that are told, and most of one turn.
const MOST_TOLD: usize = 8;
const MOST_OF_TURN: usize = 2;
/// Number of newest choices that have the rank of decisions, if there are no others.
const FIRST: usize = 3;

/// A choice, with the message that tells it.
struct Chosen<'a> {
    text: String,
    position: u64,
    sources: &'a Sources,
    /// Position of the request of its turn.
    asked_at: u64,
    is_order: bool,
}

impl<'a> Builder<'a> {
    /// Adds the choices that reports, commits and orders tell by a contrast.
    pub(super) fn contrasts(&mut self) {
        if self.kind != SummaryKind::History || !self.tells_state {
            return;
        }
        let mut told: Vec<Chosen<'a>> = Vec::new();
        let mut of_turn: HashMap<u64, usize> = HashMap::new();
        for one in self.chosen() {
            // What a turn reports tells its order, too.
            let is_told = |known: &Chosen<'_>| {
                known.asked_at == one.asked_at && are_same(&known.text, &one.text)
                    || known.asked_at >= one.asked_at && overrules(&known.text, &one.text)
            };
            let count = of_turn.entry(one.asked_at).or_default();
            if told.len() == MOST_TOLD || *count == MOST_OF_TURN || told.iter().any(is_told) {
                continue;
            }
            *count += 1;
            told.push(one);
        }
        // What the person decided in so many words comes first.
        let first = if self.pool.has(Section::Decisions) { 0 } else { FIRST };
        for (place, one) in told.into_iter().enumerate() {
            let text = if one.is_order { format!("{WANTED}\"{}\"", one.text) } else { one.text };
            let rank = if place < first { Rank::Normal } else { Rank::Low };
            self.pool.add(Section::Decisions, &text, Origin::of(one.position, one.sources), rank);
        }
    }

    /// The choices of the turns whose work was kept, the newest first. In a turn, reports come before commits and orders.
    fn chosen(&self) -> Vec<Chosen<'a>> {
        let mut kept: HashMap<u64, bool> = HashMap::new();
        let mut is_kept = |request: &'a Request| *kept.entry(request.position).or_insert_with(|| self.is_kept(request));
        let mut found: Vec<Chosen<'a>> = Vec::new();
        let ledger = self.ledger;
        for one in ledger.statements.iter().rev().take(MOST_STATEMENTS) {
            let Some(text) = contrast_in(one) else { continue };
            let Some(request) = self.request_of(one.position).filter(|request| is_kept(request)) else { continue };
            // A commit is there whatever the person said to it.
            if one.voice == Voice::Report && !self.is_answered(request) {
                continue;
            }
            let (position, sources) = (one.position, &one.sources);
            found.push(Chosen { text, position, sources, asked_at: request.position, is_order: false });
            if found.len() == MOST_COMPARED {
                break;
            }
        }
        // A pasted text may order something, too.
        let is_own = |one: &&Request| one.asks_for_work() && one.text.len() <= LONGEST_TYPED && is_typed(&one.text);
        for request in ledger.requests.iter().rev().take(MOST_REQUESTS).filter(is_own) {
            let orders = sentences(&request.text).take(MOST_SENTENCES).filter(|one| orders_contrast(one));
            let orders: Vec<&str> = orders.collect();
            if orders.is_empty() || !is_kept(request) || !self.is_accepted(request) {
                continue;
            }
            found.extend(orders.into_iter().map(|order| {
                let (position, sources) = (request.position, &request.sources);
                Chosen { text: one_line(order), position, sources, asked_at: position, is_order: true }
            }));
        }
        found.sort_by_key(|one| (std::cmp::Reverse(one.asked_at), one.is_order));
        found
    }

    /// The request for work to which a message of the model belongs.
    fn request_of(&self, position: u64) -> Option<&'a Request> {
        let requests = &self.ledger.requests;
        let before = &requests[..requests.partition_point(|one| one.position < position)];
        before.iter().rev().find(|one| one.asks_for_work())
    }

    /// Whether something was made for a request and not taken back. Some transcripts show no changes at all.
    fn is_kept(&self, request: &Request) -> bool {
        let shows_none = || self.with_turn.changed_at() == 0 && self.standing.is_empty();
        !self.undone.has(request.position)
            && request.position >= self.begun_at
            && (self.is_made_for(request) || shows_none())
    }

    /// Whether a request, or one after it, is answered: then the person went on with what was made.
    fn is_accepted(&self, request: &Request) -> bool {
        let later = self.ledger.requests.iter().rev().take_while(|one| one.position >= request.position);
        later.filter(|one| one.asks_for_work()).any(|one| self.is_answered(one))
    }
}

/// What a statement of the model tells by a contrast.
fn contrast_in(one: &Statement) -> Option<String> {
    match one.voice {
        Voice::Report => tells_contrast(&one.text).then(|| one.text.clone()),
        Voice::Milestone => {
            let (_, subject) = one.text.strip_prefix(COMMITTED)?.split_once(": ")?;
            contrast_of_commit(subject).map(str::to_owned)
        }
        _ => None,
    }
}

/// Whether two choices of one turn tell the same: half of the words of the shorter one are in the other one.
fn are_same(one: &str, other: &str) -> bool {
    let (one, other) = (stems(one), stems(other));
    let shared = one.iter().filter(|stem| other.contains(stem)).count();
    shared > 0 && shared * 2 >= one.len().min(other.len())
}
