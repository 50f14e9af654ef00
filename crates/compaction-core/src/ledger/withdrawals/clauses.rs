//! Clauses: the terms of a part of a sentence, and the cues around them.

use super::words::{Cue, Language, Sentence, Word};

/// A part of a sentence between marks.
#[derive(Debug, Default)]
pub(super) struct Clause {
    cues: Vec<Cue>,
    /// The object that is used, changed, wanted or not.
    pub(super) main: Vec<String>,
    /// The purpose or place.
    pub(super) scope: Vec<String>,
    /// The terms that something else replaces.
    pub(super) rejected: Vec<String>,
    /// Whether the object is several things.
    pub(super) is_joined: bool,
    /// Whether it begins with a pronoun for something named before.
    pub(super) starts_with_pronoun: bool,
    place: Place,
}

/// Which part of a clause a term belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Main,
    Scope,
    Rejected,
}

/// The clauses of a sentence, up to its reason.
pub(super) fn clauses(sentence: &Sentence<'_>) -> Vec<Clause> {
    let mut clauses = vec![Clause::default()];
    for word in sentence.parts() {
        let Some(clause) = clauses.last_mut() else { break };
        match word {
            Word::Break if clause.is_empty() && clause.cues.is_empty() => {}
            Word::Break => clauses.push(Clause::default()),
            Word::Cue(Cue::Tail) => {
                clause.cues.push(Cue::Tail);
                break;
            }
            Word::Cue(cue) => clause.read_cue(cue, sentence.language),
            Word::Term(term) => clause.read_term(term),
        }
    }
    clauses.into_iter().map(Clause::finish).collect()
}

impl Clause {
    pub(super) fn has(&self, cue: Cue) -> bool {
        self.cues.contains(&cue)
    }

    /// Whether it names nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.main.is_empty() && self.scope.is_empty() && self.rejected.is_empty()
    }

    /// Whether it is negated.
    pub(super) fn is_denied(&self) -> bool {
        self.has(Cue::Not) || self.has(Cue::NoMore)
    }

    fn read_term(&mut self, term: String) {
        match self.place {
            Place::Main => self.main.push(term),
            Place::Scope => self.scope.push(term),
            Place::Rejected => self.rejected.push(term),
        }
    }

    fn read_cue(&mut self, cue: Cue, language: Language) {
        let is_moved = self.has(Cue::Switch) || self.has(Cue::Replace);
        match cue {
            Cue::Pronoun => self.starts_with_pronoun |= self.cues.is_empty() && self.is_empty(),
            Cue::For => self.place = Place::Scope,
            Cue::ForBefore => self.scope.append(&mut self.main),
            Cue::Instead => self.place = Place::Rejected,
            Cue::InsteadBefore => self.rejected.append(&mut self.main),
            Cue::Becomes => self.rejected.append(&mut self.main),
            Cue::From if is_moved => self.place = Place::Rejected,
            Cue::To if is_moved => {
                let replaced = if self.has(Cue::Replace) { &mut self.rejected } else { &mut self.scope };
                replaced.append(&mut self.main);
                self.place = Place::Main;
            }
            Cue::From | Cue::To => {}
            Cue::And => self.is_joined |= self.place == Place::Main && !self.main.is_empty(),
            Cue::Use => {
                if language.is_unspaced() && !language.is_verb_last() {
                    self.scope.append(&mut self.main);
                }
                self.place = Place::Main;
            }
            // "Use this, not that" chooses. At the end of its clause the word negates all of it.
            Cue::Not if self.has(Cue::Use) && !self.main.is_empty() && !self.is_denied() => {
                self.place = Place::Rejected
            }
            _ => {}
        }
        let is_late = cue == Cue::Not && self.place == Place::Rejected;
        self.cues.push(if is_late { Cue::LateNot } else { cue });
    }

    fn finish(mut self) -> Self {
        if self.has(Cue::LateNot) && self.rejected.is_empty() {
            self.cues.push(Cue::Not);
        }
        self
    }
}
