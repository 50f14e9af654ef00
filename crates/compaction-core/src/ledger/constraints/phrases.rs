//! Looks up the words of all languages at once, so that the time does not grow with their number.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::terms::TextHashing;
use super::languages::{LANGUAGES, POLITE};

/// A set of languages: one bit for each row of [`LANGUAGES`].
pub(super) type Languages = u8;

const _: () = assert!(LANGUAGES.len() <= Languages::BITS as usize);

/// What a sentence says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    /// Languages in which it has words that make a constraint.
    pub(super) demands: Languages,
    /// Languages in which it has words that only report.
    pub(super) reports: Languages,
}

/// What a word can do at either end of a clause.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Roles {
    /// Languages in which an order may begin with it.
    pub(super) begins: Languages,
    /// Languages in which an order may end with it.
    pub(super) ends: Languages,
    /// Whether polite words begin with it.
    pub(super) is_polite: bool,
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
pub(super) fn roles(word: &str) -> Roles {
    ROLES.get(word).copied().unwrap_or_default()
}

/// What `normalised` text says.
pub(super) fn said(normalised: &str) -> Said {
    let mut said = Said::default();
    let mut rest = normalised.trim_start();
    while let Some(end) = memchr::memchr(b' ', rest.as_bytes()) {
        for phrase in PHRASES.get(&rest[..end]).into_iter().flatten() {
            if rest.strip_prefix(phrase.words).is_some_and(|behind| behind.starts_with(' ')) {
                *(if phrase.reports { &mut said.reports } else { &mut said.demands }) |= 1 << phrase.language;
            }
        }
        rest = &rest[end + 1..];
    }
    said
}
