//! Constraints: what a person wants to hold throughout, known by small tables of words for each
//! language (`languages` for those that part their words, `scripts` for the others).
//!
//! They are made for precision: a wish that is missed still stands among the requests, but each
//! complaint that is taken for a wish takes room from one.

mod languages;
mod phrases;
mod scripts;

use super::cues::is_sized;
use super::sentences::sentences;
use super::text::{has_any, normalised, starts_with_any};
use languages::{LANGUAGES, Language, Negation, POLITE};

/// The sentences of `text` that are constraints. Of one that is too long for an item, its parts
/// between semicolons are looked at.
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

/// Whether a sentence of a person says what is to hold throughout. Questions never do.
pub(crate) fn is_constraint(sentence: &str) -> bool {
    if !is_sized(sentence) || sentence.ends_with(['?', '\u{ff1f}', '\u{61f}']) {
        return false;
    }
    if scripts::is_constraint(sentence) {
        return true;
    }
    let words = normalised(sentence);
    // A lone word is none, and the text has a space at both of its ends.
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
    /// Whether a part of a sentence is an order that has a limit in it.
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
    /// Whether a clause begins with a word of denial and a form of a verb that asks.
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

/// The parts of a sentence between marks, normalised, without the words of courtesy before them.
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
