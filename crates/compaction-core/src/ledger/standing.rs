//! Standing wishes inside other sentences, such as complaints: `it is still wrong, stop committing while it is`. Only the
//! clause with the wish is told, up to the end of the sentence.

use super::constraints::{clauses, holds_for_good};
use super::problems::is_problem;
use super::text::{WordList, has_piece, normalised, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// Beginnings of clauses that have the model stop what it keeps doing.
static STOPPING: WordList = word_list!(SPACED, "standing: stopping");
/// Phrases with which a person says what they do not want to do or have.
static UNWANTED: WordList = word_list!(SPACED, "standing: unwanted");
/// Beginnings of clauses with what must stay so for the person to agree.
static PROVIDED: WordList = word_list!(SPACED, "standing: provided");
/// Phrases with which a person says what they will do, and endings of such verbs.
static WILL: WordList = word_list!(SPACED, "standing: will");
const FUTURE: &[&str] = listed!(SPACED, "standing: future endings");
/// The same as the first three in languages without spaces between words.
const PIECES: &[&str] = listed!(UNSPACED, "standing: pieces");
/// Words before the wish.
static BEFORE: WordList = word_list!(SPACED, "standing: before");

/// Fewest words behind such a phrase, and fewest words of a clause about what a person always does.
const FEWEST_BEHIND: usize = 2;
const FEWEST_WORDS: usize = 4;
/// Longest wish, in UTF-16 units.
const LONGEST: usize = 180;
/// Most clauses of a sentence that are read.
const MOST_CLAUSES: usize = 16;
/// Fewest letters of a verb in the future.
const SHORTEST_VERB: usize = 5;

/// The standing wish in a sentence of a person.
pub(super) fn standing_wish(sentence: &str) -> Option<&str> {
    if sentence.trim_end().ends_with(['?', '\u{ff1f}', ':', '\u{ff1a}']) {
        return None;
    }
    clauses(sentence).take(MOST_CLAUSES).find_map(|clause| {
        let at = clause.as_ptr() as usize - sentence.as_ptr() as usize;
        let (start, goes_on) = start_of_wish(clause, &sentence[at..])?;
        let whole = sentence[at + start..].trim_end();
        let own = clause[start..].trim();
        let fits = |text: &&str| utf16_len(text) <= LONGEST;
        Some(whole).filter(|whole| goes_on && fits(whole)).or_else(|| Some(own).filter(fits))
    })
}

/// Where a wish begins in a clause, and whether the clauses behind it, in the `rest` of the sentence, may belong to it.
fn start_of_wish(clause: &str, rest: &str) -> Option<(usize, bool)> {
    if has_piece(clause, PIECES) {
        return Some((0, false));
    }
    let words = normalised(clause);
    let begins = STOPPING.starts(&words) || PROVIDED.starts(&words);
    if begins && rest.split_whitespace().nth(FEWEST_BEHIND).is_some() {
        return Some((0, true));
    }
    if is_habit(&words) && holds_for_good(clause) && !is_problem(clause) {
        return Some((0, false));
    }
    let (at, phrase) = UNWANTED.found_in(&words).next()?;
    let before = words[..at].split_whitespace().count();
    let is_first = words[..at].split_whitespace().all(|word| BEFORE.has(word));
    let behind = words[at + phrase.len()..].split_whitespace().count();
    (is_first && behind >= FEWEST_BEHIND).then(|| (start_of_word(clause, before), false))
}

/// Whether `normalised` words say what the person will do.
fn is_habit(words: &str) -> bool {
    let is_future =
        |word: &str| word.chars().count() >= SHORTEST_VERB && FUTURE.iter().any(|ending| word.ends_with(ending));
    words.split_whitespace().nth(FEWEST_WORDS - 1).is_some()
        && (WILL.starts(words) || words.split_whitespace().take(2).any(is_future))
}

/// Where the word of a clause with a number begins.
fn start_of_word(clause: &str, number: usize) -> usize {
    let word = clause.split_whitespace().nth(number).unwrap_or(clause);
    word.as_ptr() as usize - clause.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_inside_a_complaint_is_told_alone() {
        for (sentence, wish) in [
            ("the page is still a mess, stop making commits while it is", "stop making commits while it is"),
            ("Die Seite ist kaputt, hör auf, alles neu zu schreiben", "hör auf, alles neu zu schreiben"),
            ("La page est cassée, arrête de pousser des versions fausses", "arrête de pousser des versions fausses"),
            ("esto está mal, deja de cambiar los colores", "deja de cambiar los colores"),
            ("está errado, pare de mudar as cores", "pare de mudar as cores"),
            ("è rotto, smetti di cambiare i colori", "smetti di cambiare i colori"),
            ("всё сломано, перестань менять цвета", "перестань менять цвета"),
            ("het is stuk, stop met kleuren veranderen", "stop met kleuren veranderen"),
            ("as I said, that i don't want to run two servers", "i don't want to run two servers"),
            (
                "all of it, as long as i can keep the old menu, and the colours",
                "as long as i can keep the old menu, and the colours",
            ),
            ("pas maintenant, je testerai toujours dans le terminal", "je testerai toujours dans le terminal"),
            ("fine, i will always test on the phone", "i will always test on the phone"),
        ] {
            assert_eq!(standing_wish(sentence), Some(wish), "{sentence}");
        }
        for sentence in [
            "stop it",
            "the page is a mess",
            "je ne veux pas",
            "why does it stop loading the page?",
            "it will always fail on the phone",
            "you said i don't want to know",
        ] {
            assert_eq!(standing_wish(sentence), None, "{sentence}");
        }
    }
}
