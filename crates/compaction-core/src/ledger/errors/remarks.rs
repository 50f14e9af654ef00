//! What the model says about failures: that one is expected, that it takes another way, that a check passes now, that
//! something does not work.

use crate::ledger::commands::{is_check, is_test, purposes};
use crate::ledger::problems::{is_conditional, is_problem, is_unsolved};
use crate::ledger::statements::sentences;
use crate::ledger::text::{WordList, has_piece, normalised, word_list};
use crate::phrases::{PROGRAMS, SPACED, listed};
use crate::text::utf16_len;

/// Whether an answer says that something fails, in its own words.
pub(super) fn tells_failure(answer: &str) -> bool {
    sentences(answer).take(MOST_SENTENCES).any(|sentence| is_unsolved(sentence) || is_problem(sentence))
}

/// Most sentences or clauses of an answer that are read.
const MOST_SENTENCES: usize = 60;

/// Phrases about an error that was expected, is harmless or was there before.
static EXCUSES: WordList = word_list!("remarks: excuses");
/// Words of a negation.
static NEGATIONS: WordList = word_list!(SPACED, "remarks: negations");
/// Words for what works. What works as expected is not an error.
static WORKING: WordList = word_list!(SPACED, "remarks: working");
/// Words after which a sentence is about something else.
const CONTRASTS: &[&str] = listed!(SPACED, "remarks: contrasts");
/// Number of words before a phrase in which a negation cancels it.
const NEGATED_WITHIN: usize = 4;

/// Whether a text calls an error expected or harmless.
pub(super) fn excuses(text: &str) -> bool {
    // Most texts have none of the phrases, and a sentence has no phrase that the whole text lacks.
    has_piece(text, EXCUSES.pieces)
        || EXCUSES.is_in(&normalised(text)) && text.split(['.', '!', '?', ';', '\n']).any(excuses_in_sentence)
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
                && !near.any(|word| NEGATIONS.has(word) || WORKING.has(word))
                && !CONTRASTS.iter().any(|word| after.contains(word))
        })
    })
}

/// Phrases in which the model changes to another way.
static OTHER_WAYS: WordList = word_list!("reasons: switching");
/// Phrases that say that something does not work.
static NOT_POSSIBLE: WordList = word_list!(SPACED, "reasons: not possible");
/// First words of the way that the model takes then.
static WAYS: WordList = word_list!(SPACED, "reasons: other way");
/// Those that also begin other parts of a sentence, and the words behind which they begin such a way.
const MERE_WAYS: &[&str] = listed!(SPACED, "reasons: mere ways");
const BEFORE_MERE_WAYS: &[&str] = listed!(SPACED, "reasons: before mere ways");
/// Those of [`OTHER_WAYS`] that also only contrast.
const MERE_CONTRASTS: &[&str] = listed!(SPACED, "reasons: mere contrasts");
/// Words of a search for the cause, or of a way that is not named.
static VAGUE: WordList = word_list!(SPACED, "reasons: vague");
/// Longest text right after a failure that may say so, in UTF-16 units. A longer one is an answer.
const LONGEST_REMARK: usize = 600;

/// Whether a text says right after a failure that the model does the same in another way.
pub(super) fn goes_another_way(text: &str) -> bool {
    if utf16_len(text) > LONGEST_REMARK || text.trim_end().ends_with(['?', '\u{ff1f}']) {
        return false;
    }
    let words = normalised(text);
    let is_led = |at: usize| {
        let before = words[..at].split_whitespace().next_back().unwrap_or_default();
        BEFORE_MERE_WAYS.contains(&before)
    };
    let is_way = |(at, way): (usize, &str)| !MERE_WAYS.contains(&way) || is_led(at);
    let turns = |(start, _): (usize, &str)| WAYS.found_in(&words[start..]).any(|(at, way)| is_way((start + at, way)));
    let is_turned = || OTHER_WAYS.found_in(&words).any(|(_, phrase)| !MERE_CONTRASTS.contains(&phrase));
    (has_piece(text, OTHER_WAYS.pieces) || is_turned() || NOT_POSSIBLE.found_in(&words).any(turns))
        && !VAGUE.is_in(&words)
}

/// Words for tests, in all languages.
static TESTS: WordList = word_list!("errors: tests");
/// Words for builds.
static BUILDS: WordList = word_list!("errors: builds");
/// Words for linters and type checkers.
static LINTERS: WordList = word_list!("errors: linters");
/// Words in the purposes of commands that run these.
static PROGRAMS_OF_LINTERS: WordList = word_list!(PROGRAMS, "errors: programs of linters");
/// Words that say that these passed.
static PASSING: WordList = word_list!("errors: passing");
/// Words with which such a clause says something else.
static NOT_PASSING: WordList = word_list!("errors: not passing");
/// Words between a check and such a word, and behind them. Behind others, a check may pass something on.
static AROUND_PASSING: WordList = word_list!(SPACED, "errors: around passing");
/// Most words between a check and such a word, and most of them that are not [`AROUND_PASSING`].
const MOST_BETWEEN: usize = 3;
const MOST_OTHER_BETWEEN: usize = 1;
/// The same in languages without spaces, in characters.
const MOST_UNSPACED_BETWEEN: usize = 10;

/// The clauses of a text that may say that some check passed.
pub(super) fn clauses_of_success(text: &str) -> Vec<&str> {
    let is_end = |one: char| {
        matches!(one, '.' | '!' | ';' | ',' | '\n' | '\u{3002}' | '\u{ff0c}' | '\u{ff1b}' | '\u{ff01}' | '\u{3001}')
    };
    text.split(is_end).take(MOST_SENTENCES).filter(|clause| may_say_passed(clause)).collect()
}

fn may_say_passed(clause: &str) -> bool {
    let words = normalised(clause);
    PASSING.is_said_in(clause, &words)
        && !NOT_PASSING.is_said_in(clause, &words)
        && !is_conditional(clause)
        && !is_part(clause)
}

/// Whether a clause has two different numbers: `12 of 14 tests pass`.
fn is_part(clause: &str) -> bool {
    let mut numbers = clause.split(|one: char| !one.is_ascii_digit()).filter(|number| !number.is_empty());
    numbers.next().is_some_and(|first| numbers.any(|number| number != first))
}

/// Whether clauses say that the check that `command` runs passes.
pub(super) fn passes(command: &str, clauses: &[&str]) -> bool {
    if !is_check(command) {
        return false;
    }
    let lints =
        |purpose: &String| purpose.split(|one: char| !one.is_alphanumeric()).any(|word| PROGRAMS_OF_LINTERS.has(word));
    let kind = match is_test(command) {
        true => &TESTS,
        false if purposes(command).iter().any(lints) => &LINTERS,
        false => &BUILDS,
    };
    clauses.iter().any(|clause| says_passed(clause, kind))
}

/// Whether a clause says that a kind of check passes: the check, at most a few words, the word for it, and nothing that
/// the check could pass on.
fn says_passed(clause: &str, kind: &WordList<'_>) -> bool {
    let words = normalised(clause);
    let is_filler = |word: &&str| AROUND_PASSING.has(word) || PASSING.has(word);
    let is_near = |between: &str| {
        between.split_whitespace().count() <= MOST_BETWEEN
            && between.split_whitespace().filter(|word| !is_filler(word)).count() <= MOST_OTHER_BETWEEN
    };
    let is_said = |(at, passing): (usize, &str)| {
        let next = words[at + passing.len()..].split_whitespace().next();
        next.is_none_or(|next| is_filler(&next))
            && kind.found_in(&words[..at]).any(|(start, check)| is_near(&words[start + check.len()..at]))
    };
    PASSING.found_in(&words).any(is_said) || says_passed_unspaced(clause, kind)
}

/// The same in a language without spaces between words. Only an ending may follow: `\u{901a}\u{8fc7}\u{4e86}`.
fn says_passed_unspaced(clause: &str, kind: &WordList<'_>) -> bool {
    let is_ending = |one: char| !('\u{4e00}'..='\u{9fff}').contains(&one) || one == '\u{4e86}';
    PASSING.pieces.iter().any(|piece| {
        let said = clause.rsplit_once(piece).filter(|(_, behind)| behind.chars().all(is_ending));
        said.is_some_and(|(before, _)| {
            let start = before.char_indices().rev().nth(MOST_UNSPACED_BETWEEN).map_or(0, |(at, _)| at);
            kind.is_said(&before[start..])
        })
    })
}
