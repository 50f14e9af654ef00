//! Constraints: rules that a person sets for the whole conversation. Small tables of words for each
//! language recognise them (`languages` for languages with spaces between words, `scripts` for the
//! others).
//!
//! The tables aim at precision. A missed constraint is still among the requests, but a complaint that
//! is taken for a constraint uses the room of a real one.

mod english;
mod french;
mod german;
mod italian;
mod languages;
mod portuguese;
mod russian;
mod scripts;
mod spanish;

use std::collections::HashMap;
use std::sync::LazyLock;

use languages::{LANGUAGES, Language, Negation, POLITE};

use super::cues::is_sized;
use super::statements::sentences;
use super::terms::TextHashing;
use super::text::{has_any, normalised, starts_with_any};

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
    // The text has a space at both ends, so fewer than three are at most one word.
    if memchr::memchr_iter(b' ', words.as_bytes()).count() < 3 {
        return false;
    }
    let signals = signals(&words);
    signals.demands & !signals.reports != 0 || orders(sentence, !signals.reports)
}

/// Whether a part of a sentence is an order in one of `languages`.
fn orders(sentence: &str, languages: Languages) -> bool {
    let begins = |part: &str, of: Languages| each_of(of).any(|language| starts_with_any(part, language.starts));
    let is_order = |part: &str, of: Languages| each_of(of).any(|language| language.orders(part));
    sentence.split(';').any(|part| {
        let whole = Clause::of(part);
        let mut clauses = part.split(',').map(Clause::of);
        begins(whole.words(), languages & whole.languages)
            || match part.contains(',') {
                false => is_order(whole.words(), languages & whole.languages),
                true => clauses.any(|clause| is_order(clause.words(), languages & clause.languages)),
            }
    })
}

/// The tables of a set of languages.
fn each_of(languages: Languages) -> impl Iterator<Item = &'static Language> {
    LANGUAGES.iter().enumerate().filter(move |(index, _)| languages & 1 << index != 0).map(|(_, language)| language)
}

/// A part of a sentence between marks.
struct Clause {
    /// It is normalised.
    text: String,
    /// Where it begins after polite words.
    start: usize,
    /// The languages in which it may be an order, by its first and last word.
    languages: Languages,
}

impl Clause {
    fn of(text: &str) -> Self {
        let mut text = normalised(text);
        if memchr::memchr(b'\'', text.as_bytes()).is_some() {
            // The elided form is one word with the verb.
            text = text.replace(" n'", " ne ");
        }
        let mut start = 0;
        let mut first = Roles::default();
        while let Some(word) = text[start..].split_whitespace().next() {
            first = roles(word);
            if !first.is_polite {
                break;
            }
            let rest = text[start..].trim_start();
            let behind = |polite: &&str| rest.strip_prefix(*polite).filter(|rest| rest.starts_with(' ')).map(str::len);
            let Some(left) = POLITE.iter().find_map(behind) else { break };
            start = text.len() - left;
            first = Roles::default();
        }
        let last = text[start..].split_whitespace().next_back().map(roles).unwrap_or_default();
        Self { languages: first.begins | last.ends, text, start }
    }

    fn words(&self) -> &str {
        &self.text[self.start..]
    }
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

/// A set of languages: one bit for each row of [`LANGUAGES`].
type Languages = u8;

const _: () = assert!(LANGUAGES.len() <= Languages::BITS as usize);

/// The languages in which a sentence demands or reports.
#[derive(Debug, Clone, Copy, Default)]
struct Signals {
    /// Languages in which it has words that make a constraint.
    demands: Languages,
    /// Languages in which it has words that only report.
    reports: Languages,
}

/// What a word can do at either end of a clause.
#[derive(Debug, Clone, Copy, Default)]
struct Roles {
    /// Languages in which an order may begin with it.
    begins: Languages,
    /// Languages in which an order may end with it.
    ends: Languages,
    /// Whether polite words begin with it.
    is_polite: bool,
}

/// A phrase of a language, and whether it reports.
struct Phrase {
    words: &'static str,
    language: usize,
    reports: bool,
}

type ByWord<T> = HashMap<&'static str, T, TextHashing>;

/// The phrases by their first word.
static PHRASES: LazyLock<ByWord<Vec<Phrase>>> = LazyLock::new(|| {
    let mut phrases: ByWord<Vec<Phrase>> = HashMap::default();
    for (language, table) in LANGUAGES.iter().enumerate() {
        for (list, reports) in [(table.anywhere, false), (table.reports, true)] {
            for words in list {
                phrases.entry(first_word(words)).or_default().push(Phrase { words, language, reports });
            }
        }
    }
    phrases
});

static ROLES: LazyLock<ByWord<Roles>> = LazyLock::new(|| {
    let mut roles: ByWord<Roles> = HashMap::default();
    for (language, table) in LANGUAGES.iter().enumerate() {
        let negations = table.negations.iter().flat_map(|negation| negation.words.iter().chain(negation.skipped));
        for words in table.starts.iter().chain(table.commands).chain(negations) {
            roles.entry(first_word(words)).or_default().begins |= 1 << language;
        }
        for word in table.infinitives {
            roles.entry(word).or_default().ends |= 1 << language;
        }
    }
    for words in POLITE {
        roles.entry(first_word(words)).or_default().is_polite = true;
    }
    roles
});

fn first_word(words: &'static str) -> &'static str {
    words.split(' ').next().unwrap_or(words)
}

/// What a word can do at either end of a clause.
fn roles(word: &str) -> Roles {
    ROLES.get(word).copied().unwrap_or_default()
}

/// The languages in which `normalised` text demands or reports.
fn signals(normalised: &str) -> Signals {
    let mut signals = Signals::default();
    let mut rest = normalised.trim_start();
    while let Some(end) = memchr::memchr(b' ', rest.as_bytes()) {
        for phrase in PHRASES.get(&rest[..end]).into_iter().flatten() {
            if rest.strip_prefix(phrase.words).is_some_and(|behind| behind.starts_with(' ')) {
                *(if phrase.reports { &mut signals.reports } else { &mut signals.demands }) |= 1 << phrase.language;
            }
        }
        rest = &rest[end + 1..];
    }
    signals
}

#[cfg(test)]
mod tests;
