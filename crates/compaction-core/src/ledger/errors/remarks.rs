//! Remarks about errors: what a model calls expected or harmless.

use super::super::text::{WordList, may_be_unspaced, normalised};
use crate::phrases::{SPACED, UNSPACED, listed};

/// Phrases about an error that was expected, that does no harm or that was there before, in languages with spaces
/// between words.
static EXCUSES: WordList<'static> = WordList::new(listed!(SPACED, "remarks: excuses"));
/// The same in languages without.
const EXCUSES_UNSPACED: &[&str] = listed!(UNSPACED, "remarks: excuses");
/// Words of a negation.
const NEGATIONS: &[&str] = listed!(SPACED, "remarks: negations");
/// Words for what works. What works as expected is no error.
const WORKING: &[&str] = listed!(SPACED, "remarks: working");
/// Words behind which a sentence tells of something else.
const CONTRASTS: &[&str] = &[" but ", " however ", " aber ", " mais ", " pero ", " mas ", " ma ", " но "];
/// Words before a phrase among which a negation takes it back.
const NEGATED_WITHIN: usize = 4;

/// Whether a text calls an error expected or harmless.
pub(super) fn excuses(text: &str) -> bool {
    if may_be_unspaced(text) && EXCUSES_UNSPACED.iter().any(|phrase| text.contains(phrase)) {
        return true;
    }
    // Most texts have none of the phrases, and a sentence has none that the whole has not.
    EXCUSES.is_in(&normalised(text)) && text.split(['.', '!', '?', ';', '\n']).any(excuses_in_sentence)
}

fn excuses_in_sentence(sentence: &str) -> bool {
    let words = normalised(sentence);
    EXCUSES.words.iter().any(|phrase| {
        let mut places = words.match_indices(phrase);
        places.any(|(at, _)| {
            let before = &words[..at];
            let is_word = before.ends_with(' ') && words[at + phrase.len()..].starts_with(' ');
            let mut near = before.split_whitespace().rev().take(NEGATED_WITHIN);
            let after = &words[at + phrase.len()..];
            is_word
                && !near.any(|word| NEGATIONS.contains(&word) || WORKING.contains(&word))
                && !CONTRASTS.iter().any(|word| after.contains(word))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_is_known_in_many_languages() {
        for text in [
            "The second call raises `KeyError`, which is expected for an empty store.",
            "Two lint warnings are pre-existing.",
            "Der Test bricht wie erwartet ab.",
            "L'échec est attendu à ce stade.",
            "El fallo es normal aquí.",
            "Тест падает, как и ожидалось.",
            "测试失败，符合预期。",
            "想定通り失敗しました。",
        ] {
            assert!(excuses(text), "{text}");
        }
        for text in [
            "It does not work as expected.",
            "TypeError: expected str",
            "Das lief nicht wie erwartet.",
            "It failed.",
            "Parsing works as expected now, but the build fails.",
            "One lint warning is pre-existing, but the new test fails.",
        ] {
            assert!(!excuses(text), "{text}");
        }
    }
}
