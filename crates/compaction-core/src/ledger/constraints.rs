//! Constraints: rules that a person sets for the whole conversation. Small tables of words for each
//! language recognise them (`languages` for languages with spaces between words, `scripts` for the
//! others).
//!
//! The tables aim at precision. A missed constraint is still among the requests, but a complaint that
//! is taken for a constraint uses the room of a real one.

mod languages;
mod phrases;
mod scripts;

use super::cues::is_sized;
use super::sentences::sentences;
use super::text::{has_any, normalised, starts_with_any};
use languages::{LANGUAGES, Language, Negation, POLITE};

/// The sentences of `text` that are constraints. If a sentence is too long for an item, its parts
/// between semicolons are examined.
pub(crate) fn constraints(text: &str) -> impl Iterator<Item = &str> {
    let parts = |sentence| if is_sized(sentence) { Parts::Whole(sentence) } else { Parts::Split(sentence) };
    sentences(text).flat_map(move |sentence| parts(sentence).each()).filter(|part| is_constraint(part))
}

enum Parts<'a> {
    Whole(&'a str),
    Split(&'a str),
}

impl<'a> Parts<'a> {
    fn each(self) -> impl Iterator<Item = &'a str> {
        let (text, mark) = match self {
            Self::Whole(text) => (text, None),
            Self::Split(text) => (text, Some(';')),
        };
        text.split(move |character| Some(character) == mark).map(str::trim)
    }
}

/// Whether a person's sentence is a constraint. Questions never are.
pub(crate) fn is_constraint(sentence: &str) -> bool {
    if !is_sized(sentence) || sentence.ends_with(['?', '\u{ff1f}', '\u{61f}']) {
        return false;
    }
    if scripts::is_constraint(sentence) {
        return true;
    }
    let words = normalised(sentence);
    // The text has a space at both ends, so fewer than four parts are at most one word.
    if words.split(' ').count() < 4 {
        return false;
    }
    let said = phrases::said(&words);
    let (sentences, clauses) = (clauses(sentence, &[';']), clauses(sentence, &[';', ',']));
    let orders = |language: &Language| {
        let begins = || sentences.iter().any(|part| starts_with_any(part, language.starts));
        begins() || clauses.iter().any(|clause| language.orders(clause))
    };
    LANGUAGES.iter().zip(said).any(|(language, said)| !said.reports && (said.demands || orders(language)))
}

impl Language {
    /// Whether a part of a sentence is an order with a limit.
    fn orders(&self, clause: &str) -> bool {
        let ends = || {
            let is_last = || clause.split_whitespace().next_back().is_some_and(|last| self.infinitives.contains(&last));
            !self.infinitives.is_empty() && is_last() && !has_any(clause, self.subjects)
        };
        let is_order = starts_with_any(clause, self.commands) || ends();
        is_order && has_any(clause, self.limits) || self.negations.iter().any(|negation| negation.begins(clause))
    }
}

impl Negation {
    /// Whether a clause begins with a negation and an imperative verb.
    fn begins(&self, clause: &str) -> bool {
        let mut words = clause.split_whitespace().skip_while(|word| self.skipped.contains(word));
        let is_first = words.next().is_some_and(|first| self.words.contains(&first));
        let verb = words.find(|word| !self.between.contains(word));
        is_first && verb.is_some_and(|verb| self.is_form(verb) && !self.except.contains(&verb))
    }

    fn is_form(&self, verb: &str) -> bool {
        let ends = |rest: &str| self.endings.contains(&rest);
        match self.stems {
            [] => self.endings.iter().any(|ending| verb.len() > ending.len() && verb.ends_with(ending)),
            stems => stems.iter().any(|stem| verb.strip_prefix(stem).is_some_and(ends)),
        }
    }
}

/// The parts of a sentence between marks, normalised, without polite words in front.
fn clauses(sentence: &str, marks: &[char]) -> Vec<String> {
    let clause = |clause: &str| {
        // The elided form is one word with the verb.
        let words = normalised(clause).replace(" n'", " ne ");
        let mut rest = words.as_str();
        while let Some(shorter) = POLITE.iter().find_map(|polite| {
            let rest = rest.trim_start().strip_prefix(polite)?;
            rest.starts_with(' ').then_some(rest)
        }) {
            rest = shorter;
        }
        rest.to_owned()
    };
    sentence.split(marks).map(clause).collect()
}

#[cfg(test)]
mod tests;
