//! Withdrawals: sentences of a person that end an earlier constraint or decision.
//!
//! The rules aim at precision. A constraint that is kept too long is still shown beside the sentence
//! that ended it, but one that is dropped by mistake is gone. So an earlier sentence ends only if it
//! says one thing and the later one names exactly that thing.

mod clauses;
mod terms;
mod words;

use super::cues::is_sized;
use clauses::{Clause, clauses};
use terms::{are_in, has_start_of, is_same};
use words::{Cue, Sentence};

/// What a sentence withdraws, permits or chooses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Withdrawal {
    acts: Vec<Act>,
}

/// One effect of a sentence on earlier ones.
#[derive(Debug, PartialEq, Eq)]
enum Act {
    /// The terms are no longer used or needed, within `scope` if there is one.
    End { terms: Vec<String>, scope: Vec<String> },
    /// The terms are not wanted, which ends only a choice of them. Or they are not needed, which ends a
    /// request for exactly them.
    Refuse { terms: Vec<String>, scope: Vec<String>, is_need: bool },
    /// `chosen` replaces the terms, or `chosen` is no longer used for them.
    Replace { terms: Vec<String>, scope: Vec<String>, chosen: Vec<String> },
    /// The terms are no longer forbidden.
    Permit { verb: Option<Cue>, terms: Vec<String>, scope: Vec<String> },
    /// The terms are chosen for `scope`. If they are common words, they exclude all others.
    Choose { terms: Vec<String>, scope: Vec<String>, is_plain: bool },
    /// Whatever was said about the terms no longer holds.
    Lift { terms: Vec<String> },
}

/// What a person's sentence may end; `None` if it withdraws nothing, asks, or states a condition.
pub(crate) fn withdrawal(sentence: &str) -> Option<Withdrawal> {
    if !is_sized(sentence) || sentence.trim_end().ends_with(['?', '\u{ff1f}', '\u{61f}']) {
        return None;
    }
    let words = Sentence::of(sentence);
    if !words.may_act() {
        return None;
    }
    let clauses = clauses(&words);
    if clauses.iter().any(|clause| clause.has(Cue::Condition)) {
        return None;
    }
    // A partial permission leaves the rest forbidden.
    let is_partial = clauses.iter().any(|clause| clause.has(Cue::Limit) || clause.has(Cue::Tail));
    let acts: Vec<Act> = clauses.into_iter().flat_map(|clause| clause.acts(sentence)).collect();
    let acts: Vec<Act> = acts.into_iter().filter(|act| !is_partial || !matches!(act, Act::Permit { .. })).collect();
    (!acts.is_empty()).then_some(Withdrawal { acts })
}

impl Withdrawal {
    /// Whether it ends the constraint or decision `sentence`.
    pub(crate) fn ends(&self, sentence: &str) -> bool {
        let is_near = |act: &Act| act.terms().chain(act.scope()).any(|term| has_start_of(sentence, term));
        if !self.acts.iter().any(is_near) {
            return false;
        }
        let Some(earlier) = order(sentence) else { return false };
        self.acts.iter().any(|act| act.ends(&earlier, sentence))
    }
}

/// The only order of a sentence; `None` if it has several or a condition.
fn order(sentence: &str) -> Option<Clause> {
    // A decision comes before its reason.
    let decision = sentence.strip_prefix("**").and_then(|rest| rest.split_once("**:"));
    let clauses = clauses(&Sentence::of(decision.map_or(sentence, |(decision, _)| decision)));
    if clauses.iter().any(|clause| clause.has(Cue::Condition)) {
        return None;
    }
    let mut orders: Vec<Clause> = Vec::new();
    for clause in clauses {
        // A refusal beside a choice belongs to the choice.
        let is_aside = clause.starts_with_pronoun || clause.is_bare_denial();
        if clause.is_empty() || is_aside && !orders.is_empty() {
            continue;
        }
        orders.push(clause);
    }
    let order = orders.pop()?;
    orders.is_empty().then_some(order)
}

/// Whether terms are common words. Two tools may serve one purpose, but tabs and spaces exclude each
/// other.
fn are_plain(terms: &[String], sentence: &str) -> bool {
    terms.iter().all(|term| sentence.contains(term.as_str()))
}

impl Clause {
    fn is_bare_denial(&self) -> bool {
        self.is_denied() && !self.has(Cue::Use) && !self.has(Cue::Change) && !self.has(Cue::Add)
    }

    /// Whether it forbids something.
    fn forbids(&self) -> bool {
        self.is_denied() != (self.has(Cue::Forbid) || self.has(Cue::Drop))
    }

    fn verb(&self) -> Option<Cue> {
        [Cue::Use, Cue::Change, Cue::Add].into_iter().find(|verb| self.has(*verb))
    }

    /// The effects of the clause on earlier sentences.
    fn acts(self, sentence: &str) -> Vec<Act> {
        let verb = self.verb();
        let is_denied = self.is_denied();
        let is_move = [Cue::Switch, Cue::Replace, Cue::Becomes].into_iter().any(|cue| self.has(cue));
        if is_denied && is_move {
            return Vec::new();
        }
        let is_choice = self.has(Cue::Use) || self.has(Cue::Switch) || is_move && !self.rejected.is_empty();
        let (has_drop, has_permit, has_forbid) = (self.has(Cue::Drop), self.has(Cue::Permit), self.has(Cue::Forbid));
        let (has_hold, has_also, is_joined) = (self.has(Cue::Hold), self.has(Cue::Also), self.is_joined);
        let is_lasting = self.has(Cue::NoMore) || self.has(Cue::More);
        let is_need = self.has(Cue::Need);
        let Self { main: terms, scope, rejected, .. } = self;
        let mut acts = Vec::new();
        if !rejected.is_empty() {
            acts.push(Act::Replace { terms: rejected, scope: scope.clone(), chosen: terms.clone() });
        }
        let act = match (is_denied, has_drop) {
            _ if terms.is_empty() => None,
            (true, true) => None,
            (false, true) => Some(Act::End { terms, scope }),
            (true, false) if has_hold => Some(Act::Lift { terms }),
            (true, false) if has_forbid => Some(Act::Permit { verb: None, terms, scope }),
            (true, false) if verb == Some(Cue::Use) || verb.is_none() && is_lasting => Some(Act::End { terms, scope }),
            (true, false) if verb.is_none() && (is_need || terms.len() <= 2) => {
                Some(Act::Refuse { terms, scope, is_need })
            }
            (true, false) => None,
            (false, false) if has_permit && !has_forbid => Some(Act::Permit { verb, terms, scope }),
            (false, false) if is_choice && !has_also && !is_joined => {
                let is_plain = are_plain(&terms, sentence);
                Some(Act::Choose { terms, scope, is_plain })
            }
            (false, false) => None,
        };
        acts.extend(act);
        acts
    }
}

impl Act {
    fn terms(&self) -> impl Iterator<Item = &String> {
        let (Self::End { terms, .. }
        | Self::Refuse { terms, .. }
        | Self::Replace { terms, .. }
        | Self::Permit { terms, .. }
        | Self::Choose { terms, .. }
        | Self::Lift { terms }) = self;
        terms.iter()
    }

    fn scope(&self) -> impl Iterator<Item = &String> {
        let scope: &[String] = match self {
            Self::End { scope, .. }
            | Self::Refuse { scope, .. }
            | Self::Replace { scope, .. }
            | Self::Permit { scope, .. }
            | Self::Choose { scope, .. } => scope,
            Self::Lift { .. } => &[],
        };
        scope.iter()
    }

    fn ends(&self, earlier: &Clause, sentence: &str) -> bool {
        match self {
            Self::End { terms, scope } => !earlier.forbids() && earlier.holds(terms, scope),
            Self::Refuse { terms, scope, is_need } => {
                let is_all = (*is_need || earlier.has(Cue::Use)) && are_in(&earlier.main, terms);
                !earlier.forbids() && is_all && earlier.holds(terms, scope)
            }
            Self::Replace { terms, scope, chosen } => {
                let is_its_scope = || are_in(terms, &earlier.scope) && are_in(&earlier.scope, terms);
                let is_other_scope = || is_its_scope() && are_in(chosen, &earlier.main);
                !earlier.forbids() && (earlier.holds(terms, scope) || is_other_scope())
            }
            Self::Permit { verb, terms, scope } => earlier.forbids() && earlier.is_freed(*verb, terms, scope),
            Self::Choose { terms, scope, is_plain } => match earlier.forbids() {
                true => earlier.is_freed(Some(Cue::Use), terms, scope),
                false => *is_plain && are_plain(&earlier.main, sentence) && earlier.is_outdone(terms, scope),
            },
            Self::Lift { terms } => earlier.holds(terms, &[]),
        }
    }
}

impl Clause {
    /// Whether its object is `terms`: most of it, or all of it if the object is several things.
    fn holds(&self, terms: &[String], scope: &[String]) -> bool {
        let is_most = if self.is_joined { are_in(&self.main, terms) } else { terms.len() * 2 >= self.main.len() };
        let is_scoped = scope.iter().all(|term| self.scope.iter().chain(&self.main).any(|own| is_same(own, term)));
        !terms.is_empty() && are_in(terms, &self.main) && is_most && is_scoped
    }

    /// Whether it forbids exactly what is permitted now.
    fn is_freed(&self, verb: Option<Cue>, terms: &[String], scope: &[String]) -> bool {
        let own = self.verb();
        let is_verb = match (own, verb) {
            (Some(own), Some(verb)) => own == verb,
            (None, Some(verb)) => verb != Cue::Change || self.has(Cue::Forbid),
            (_, None) => true,
        };
        let all = |clause: &[String], scope: &[String]| clause.iter().chain(scope).cloned().collect::<Vec<_>>();
        let (own, permitted) = (all(&self.main, &self.scope), all(terms, scope));
        is_verb && !own.is_empty() && are_in(&own, &permitted) && are_in(&permitted, &own)
    }

    /// Whether another choice for the same purpose replaces it.
    fn is_outdone(&self, terms: &[String], scope: &[String]) -> bool {
        let is_scope = !scope.is_empty() && are_in(scope, &self.scope) && are_in(&self.scope, scope);
        let is_other = !terms.iter().any(|term| self.main.iter().any(|own| is_same(own, term)));
        let is_one = |terms: &[String]| terms.len() == 1;
        self.has(Cue::Use) && !self.is_joined && is_scope && is_other && is_one(terms) && is_one(&self.main)
    }
}

#[cfg(test)]
mod tests;
