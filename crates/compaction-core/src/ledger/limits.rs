//! Limits of a request: sentences that only say how far it goes. `Just that. No browsing yet.` They end with the next
//! request for work.

use super::constraints::{TASKS, clauses};
use super::problems::is_problem;
use super::requests::WORK;
use super::statements::sentences;
use super::text::{WordList, has_piece, normalised, one_line, word_list};
use crate::phrases::{SPACED, listed};
use crate::text::utf16_len;

/// Sentences that limit a request to what was said before.
static ONLY_THAT: WordList = word_list!("limits: only that");
/// Beginnings of sentences about a deed that must wait, and their ends.
static NOTHING: WordList = word_list!(SPACED, "limits: nothing");
static YET: WordList = word_list!(SPACED, "limits: yet");
/// Endings of words for a deed.
const DEEDS: &[&str] = listed!(SPACED, "limits: deeds");
/// Words that limit something to one thing, and words for this time.
static ONLY: WordList = word_list!("limits: only");
static THIS_TIME: WordList = word_list!("limits: this time");
/// First words of clauses about what to do.
static LET_US: WordList = word_list!(SPACED, "constraints: let us");
/// Most words of a sentence about what must wait.
const MOST_WORDS: usize = 9;
/// Longest sentence before a limit that is told with it, and longest limit, in UTF-16 units.
const LONGEST_BEFORE: usize = 120;
const LONGEST: usize = 240;
/// Most sentences of a message that are read.
const MOST_SENTENCES: usize = 48;

/// The limits in a message of a person. One that only points back comes with the sentence before it.
pub(super) fn limits(message: &str) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut before: Option<&str> = None;
    for sentence in sentences(message).take(MOST_SENTENCES) {
        if only_that(sentence) {
            let own = before.filter(|before| !before.ends_with(['?', '\u{ff1f}'])).map(end_of);
            let own = own.filter(|own| utf16_len(own) <= LONGEST_BEFORE);
            told.extend(own.map(|own| one_line(&format!("{own} {sentence}"))));
        } else if limits_once(sentence) {
            told.push(one_line(sentence));
        }
        before = Some(sentence);
    }
    told
}

/// A short sentence, or the last clause of a long one.
fn end_of(sentence: &str) -> &str {
    let is_long = utf16_len(sentence) > LONGEST_BEFORE;
    clauses(sentence).last().filter(|_| is_long).unwrap_or(sentence)
}

/// Whether a demand only says how far its request goes.
pub(crate) fn is_limit(demand: &str) -> bool {
    sentences(demand).last().is_some_and(|last| only_that(last) || limits_once(last))
}

fn limits_once(sentence: &str) -> bool {
    let asks = sentence.ends_with(['?', '\u{ff1f}']);
    !asks
        && utf16_len(sentence) <= LONGEST
        && (must_wait(sentence) || is_one_this_time(sentence))
        && !is_problem(sentence)
}

/// Whether a sentence limits the request to what was said before: `do just that`.
fn only_that(sentence: &str) -> bool {
    let own = sentence.trim_end_matches(['.', '!', ' ', '\u{3002}', '\u{ff01}']);
    ONLY_THAT.has(normalised(own).trim()) || ONLY_THAT.pieces.contains(&own.trim())
}

/// Whether a sentence is about a deed that must wait: `no browsing yet`. `No luck yet` is a report.
fn must_wait(sentence: &str) -> bool {
    let words = normalised(sentence);
    let is_deed = |word: &str| DEEDS.iter().any(|ending| word.len() > ending.len() + 2 && word.ends_with(ending));
    words.split_whitespace().count() <= MOST_WORDS
        && NOTHING.starts(&words)
        && YET.found_in(&words).any(|(at, phrase)| words[at + phrase.len()..].trim().is_empty() || at == 1)
        && words.split_whitespace().skip(1).take(3).any(is_deed)
}

/// Whether an order limits itself to one thing this time.
fn is_one_this_time(sentence: &str) -> bool {
    if !THIS_TIME.is_said(sentence) {
        return false;
    }
    let orders = |clause: &str| {
        let words = normalised(clause);
        TASKS.starts(&words) || WORK.starts(&words) || LET_US.starts(&words)
    };
    let is_order = clauses(sentence).any(orders) || has_piece(sentence, TASKS.pieces);
    is_order && ONLY.is_said(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_with_what_it_limits() {
        for (message, expected) in [
            (
                "Build the rotation and check it. Just that. No crawling yet.",
                &["Build the rotation and check it. Just that.", "No crawling yet."] as &[&str],
            ),
            ("Move the file to the trash. do just that.", &["Move the file to the trash. do just that."]),
            ("Prüfe die Tabelle. Nur das.", &["Prüfe die Tabelle. Nur das."]),
            ("Vérifie la table. Rien d'autre.", &["Vérifie la table. Rien d'autre."]),
            ("Revisa la tabla. Solo eso.", &["Revisa la tabla. Solo eso."]),
            ("Verifique a tabela. Só isso.", &["Verifique a tabela. Só isso."]),
            ("Controlla la tabella. Solo questo.", &["Controlla la tabella. Solo questo."]),
            ("Проверь таблицу. Только это.", &["Проверь таблицу. Только это."]),
            ("Controleer de tabel. Alleen dat.", &["Controleer de tabel. Alleen dat."]),
            ("检查表格。就这个。", &["检查表格。 就这个。"]),
            ("表を確認して。それだけ。", &["表を確認して。 それだけ。"]),
            (
                "Let's focus on just one table this time, and it is the orders.",
                &["Let's focus on just one table this time, and it is the orders."],
            ),
        ] {
            assert_eq!(limits(message), expected, "{message}");
            assert!(expected.iter().all(|one| is_limit(one)), "{message}");
        }
        for report in [
            "No luck yet.",
            "No errors yet.",
            "It works now. Is it just that?",
            "Just that.",
            "This time only one test failed.",
            "this time it shows only one row",
            "nothing yet",
        ] {
            assert!(limits(report).is_empty(), "{report}");
        }
    }
}
