//! Searches for the phrases of all languages at once. Each word of a sentence is looked up once, so the
//! time does not grow with the number of languages.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::languages::LANGUAGES;

/// What a sentence says in one of the languages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    /// It has words that make a constraint.
    pub(super) demands: bool,
    /// It has words that only report.
    pub(super) reports: bool,
}

/// A phrase of a language, and whether it reports.
struct Phrase {
    words: &'static str,
    language: usize,
    reports: bool,
}

/// The phrases by their first word.
static PHRASES: LazyLock<HashMap<&'static str, Vec<Phrase>>> = LazyLock::new(|| {
    let mut phrases: HashMap<_, Vec<Phrase>> = HashMap::new();
    for (language, table) in LANGUAGES.iter().enumerate() {
        for (list, reports) in [(table.anywhere, false), (table.reports, true)] {
            for words in list {
                let first = words.split(' ').next().unwrap_or(words);
                phrases.entry(first).or_default().push(Phrase { words, language, reports });
            }
        }
    }
    phrases
});

/// What `normalised` text says in each language.
pub(super) fn said(normalised: &str) -> [Said; LANGUAGES.len()] {
    let mut said = [Said::default(); LANGUAGES.len()];
    let mut rest = normalised.trim_start();
    while let Some((word, behind)) = rest.split_once(' ') {
        for phrase in PHRASES.get(word).into_iter().flatten() {
            if rest.strip_prefix(phrase.words).is_some_and(|behind| behind.starts_with(' ')) {
                let said = &mut said[phrase.language];
                *(if phrase.reports { &mut said.reports } else { &mut said.demands }) = true;
            }
        }
        rest = behind;
    }
    said
}
