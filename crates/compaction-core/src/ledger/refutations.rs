//! Refutations: claims of the model that a person's next message contradicts, such as `the menu works` before `the menu is
//! still empty`.
//!
//! A refuted claim stays with a mark, since it says what was tried. It must never stand alone: the next model would believe it.

use std::collections::HashSet;

use super::closed_requests::{PERSISTING, is_claim, shares, subjects};
use super::constraints::gives_task;
use super::errors::lines_with_causes;
use super::noise::praises_first;
use super::problems::{is_conditional, is_problem, is_unsolved, reports};
use super::reasons::begins_with_pronoun;
use super::requests::WORK;
use super::statements::{Voice, sentences};
use super::terms::TextHashing;
use super::text::{WordList, may_be_unspaced, normalised, unspaced, word_list};
use crate::phrases::SPACED;
use crate::text::{prefix_utf16, utf16_len};

/// Words with which a model says that something works, is ready or is finished.
static CLAIMS: WordList = word_list!("refutations: claims");
/// Marks before what the model says that it achieved.
const TICKS: [char; 3] = ['\u{2705}', '\u{2714}', '\u{2713}'];
/// Words for all of the work, with which a claim begins that is about nothing else.
static ALL: WordList = word_list!("refutations: all");
/// Words before a thing that a report names.
static DEFINITE: WordList = word_list!(SPACED, "constraints: definite");
/// A report with at most so many subjects is about the newest work as a whole.
const MOST_OF_VAGUE: usize = 1;
/// Longest such report, in UTF-16 units.
const LONGEST_VAGUE: usize = 120;
/// Most words of a claim about all of the work, and of one that needs no subject.
const WORDS_ABOUT_ALL: usize = 6;
const WORDS_ALONE: usize = 2;
/// Most characters of such claims in languages without spaces.
const CHARACTERS_ABOUT_ALL: usize = 16;
const CHARACTERS_ALONE: usize = 8;
/// UTF-16 units of a text whose Latin words are compared, and the fewest bytes of such a word.
const COMPARED: usize = 600;
const SHORTEST_LATIN: usize = 5;
/// Fewest pairs of characters that a claim shares with a report, in languages without spaces.
const FEWEST_PAIRS: usize = 2;

/// What a person reports about the newest words of the model.
pub(super) struct Report {
    subjects: HashSet<String, TextHashing>,
    /// Its words of letters that also stand in texts without spaces.
    latin: HashSet<String, TextHashing>,
    /// Whether it is about the newest work as a whole: `still the same`.
    is_vague: bool,
    /// Whether it says that something is good, too.
    is_mixed: bool,
}

impl Report {
    /// The report in a message; `None` if it reports nothing.
    pub(super) fn of(message: &str) -> Option<Self> {
        if !reports(message) && !persists(message) && !shows_failed_step(message) {
            return None;
        }
        let is_short = utf16_len(message) <= LONGEST_VAGUE;
        let subjects = subjects(message);
        let is_mixed = praises_first(message);
        let is_vague = is_short && !is_mixed && subjects.len() <= MOST_OF_VAGUE && !names_a_thing(message);
        Some(Self { subjects, latin: latin_words(message), is_vague, is_mixed })
    }

    /// Whether it contradicts a sentence of the model.
    pub(super) fn refutes(&self, sentence: &str) -> bool {
        if !claims(sentence) {
            return false;
        }
        self.is_vague
            || !self.is_mixed && is_about_all(sentence)
            || shares(&self.subjects, &subjects(sentence), 1, FEWEST_PAIRS)
            || !latin_words(sentence).is_disjoint(&self.latin)
    }
}

/// The longer Latin words in a text without spaces, which are names there.
fn latin_words(text: &str) -> HashSet<String, TextHashing> {
    let own = prefix_utf16(text, COMPARED);
    let words = own.split(|one: char| !one.is_ascii_alphanumeric() && one != '_').filter(|_| may_be_unspaced(own));
    words.filter(|word| word.len() >= SHORTEST_LATIN).map(str::to_lowercase).collect()
}

/// Whether a message shows that a step failed, without the reason: `error: step menu failed with exit code 1`.
fn shows_failed_step(message: &str) -> bool {
    // A copy of a screen may have it within a line.
    let shows = |line: &str| {
        let lower = line.to_ascii_lowercase();
        memchr::memmem::find_iter(lower.as_bytes(), ERROR).any(|at| !lower[..at].ends_with(char::is_alphanumeric))
    };
    lines_with_causes(message).any(shows)
}

/// Begins what is said of a failed step.
const ERROR: &str = "error: ";

/// Whether a few words say that something is still so, and give no task.
fn persists(message: &str) -> bool {
    utf16_len(message) <= LONGEST_VAGUE
        && !message.contains(['?', '\u{ff1f}'])
        && PERSISTING.is_said(message)
        && !WORK.starts(&normalised(message))
        && !gives_task(message)
}

/// Whether a message reports that something is still wrong.
pub(crate) fn reports_again(message: &str) -> bool {
    let start = prefix_utf16(message, LONGEST_AGAIN);
    let is_brief = || message.split_whitespace().count() <= WORDS_OF_BRIEF && unspaced(message) <= CHARACTERS_ABOUT_ALL;
    PERSISTING.is_said(start) && (reports(start) || is_brief() && persists(message))
}

/// Whether one sentence of a message says that a problem is still there.
pub(crate) fn is_still_so(message: &str) -> bool {
    sentences(prefix_utf16(message, LONGEST_AGAIN)).any(|one| PERSISTING.is_said(one) && is_problem(one))
}

/// Whether a message reports a problem, or says in a few words that something is still so.
pub(crate) fn is_report(message: &str) -> bool {
    Report::of(message).is_some()
}

/// Whether two reports are about the same: they share a subject, or one of them is about the newest work as a whole.
pub(crate) fn report_the_same(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (Report::of(one), Report::of(other)) else { return false };
    one.is_vague
        || other.is_vague
        || shares(&one.subjects, &other.subjects, 1, FEWEST_PAIRS)
        || !one.latin.is_disjoint(&other.latin)
}

/// Most words of a report that has no word for a problem: `still the same`. A longer one may wish for something.
const WORDS_OF_BRIEF: usize = 5;
/// UTF-16 units of a message that are searched for a repeated report.
const LONGEST_AGAIN: usize = 240;

/// Whether a message names a thing: `the menu is still empty`. `Still the same` does not.
fn names_a_thing(message: &str) -> bool {
    let words = normalised(message);
    let pairs = words.split_whitespace().zip(words.split_whitespace().skip(1));
    pairs.into_iter().any(|(one, next)| DEFINITE.has(one) && !begins_with_pronoun(one) && !PERSISTING.has(next))
}

/// Whether a claim is about all of the newest work: `It works now.`
fn is_about_all(claim: &str) -> bool {
    let (words, characters) = (claim.split_whitespace().count(), unspaced(claim));
    let is_in = |most_words, most_characters| words <= most_words && characters <= most_characters;
    is_in(WORDS_ALONE, CHARACTERS_ALONE)
        || is_in(WORDS_ABOUT_ALL, CHARACTERS_ABOUT_ALL) && (ALL.begins(claim) || begins_with_pronoun(claim))
}

/// The voice of a claim that a `report` contradicts, or that belongs to an answer which the person refused.
pub(super) fn refuted(sentence: &str, report: Option<&Report>, is_refused: bool) -> Option<Voice> {
    match report {
        Some(report) if report.refutes(sentence) => Some(Voice::Refuted),
        _ => (is_refused && is_claim(sentence)).then_some(Voice::Announcement),
    }
}

/// Whether a sentence of the model says that something works, is ready or is solved.
fn claims(sentence: &str) -> bool {
    (is_claim(sentence) || CLAIMS.is_said(sentence) || sentence.starts_with(TICKS))
        && !sentence.ends_with(['?', '\u{ff1f}', ':', '\u{ff1a}'])
        && !is_problem(sentence)
        && !is_unsolved(sentence)
        && !is_conditional(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_refutes_the_claims_that_it_is_about() {
        for (claim, message) in [
            ("The login page works now.", "the login page is still broken"),
            ("Everything is fixed.", "it still doesn't work"),
            ("\u{2705} The upload of pictures", "still the same"),
            ("The upload is ready.", "Error: upload failed with exit code 2"),
            ("Die Anmeldung funktioniert.", "die Anmeldung geht immer noch nicht"),
            ("La page des commandes fonctionne.", "la page des commandes ne marche toujours pas"),
            ("El menú funciona.", "sigue pasando lo mismo"),
            ("A exporta\u{e7}\u{e3}o funciona.", "a exporta\u{e7}\u{e3}o ainda n\u{e3}o funciona"),
            ("Il modulo ordini funziona.", "il modulo ordini non funziona ancora"),
            ("Вход работает.", "вход всё ещё не работает"),
            ("De bestelpagina werkt.", "de bestelpagina werkt nog steeds niet"),
            (
                "\u{306f}\u{3044}\u{3001}\u{8a2d}\u{5b9a}\u{753b}\u{9762}\u{306f}\u{52d5}\u{4f5c}\u{3057}\u{307e}\u{3059}\u{3002}",
                "\u{8a2d}\u{5b9a}\u{753b}\u{9762}\u{304c}\u{307e}\u{3060}\u{52d5}\u{304b}\u{306a}\u{3044}",
            ),
            ("登录页面已经可以打开。", "登录页面还是打不开"),
            (
                "\u{306f}\u{3044}\u{3001}make menu --drinks\u{306f}\u{52d5}\u{4f5c}\u{3057}\u{307e}\u{3059}\u{3002}",
                "error: step `menu` of --drinks failed with exit code 1\n\n\u{3053}\u{3046}\u{306a}\u{308b}",
            ),
        ] {
            let report = Report::of(message);
            assert!(report.is_some_and(|report| report.refutes(claim)), "{claim} | {message}");
        }
    }

    #[test]
    fn other_claims_stay() {
        for (claim, message) in [
            ("The export of orders works.", "the login page is still broken"),
            ("The login page is in `login.html`.", "the login page is still broken"),
            ("The login page does not work.", "the login page is still broken"),
            ("Does the login page work?", "the login page is still broken"),
            ("Everything is fixed.", "Great, the menu works. The footer of the shop is broken now."),
        ] {
            let report = Report::of(message).unwrap();
            assert!(!report.refutes(claim), "{claim} | {message}");
        }
        for message in
            ["add a page for the orders", "thanks, the login page works", "can you do the same for the menu?"]
        {
            assert!(Report::of(message).is_none(), "{message}");
        }
    }
}
