//! Corrections: a few words with which a person sets right what they or the model said, such as `it is Postgres, sorry`.

use super::answers::{Verdict, agrees_with_person, is_assent, verdict};
use super::constraints::{clauses, gives_task, is_constraint};
use super::cues::{is_announcement, is_guess, is_substantive, is_trivial};
use super::faults::tells_fault;
use super::notes::{CORRECTED, DECIDED, SAID_AFTER, undone};
use super::problems::reports;
use super::requests::WORK;
use super::resuming::is_reference;
use super::retractions::admits;
use super::statements::sentences;
use super::text::{WordList, has_piece, normalised, one_line, unspaced, word_list};
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// Phrases with which a person says what they meant.
static MEANT: WordList = word_list!("corrections: meant");
/// Words of an apology.
static SORRY: WordList = word_list!("corrections: sorry");
/// Beginnings of the clause behind a refusal that says what something is.
static IDENTIFYING: WordList = word_list!(SPACED, "corrections: identifying");
/// Words for another one of several things.
static OTHER: WordList = word_list!("corrections: other");
/// Words that say nothing about what a thing is.
static EMPTY: WordList = word_list!(SPACED, "corrections: empty");
/// Words with which a person speaks of themselves.
static OF_SELF: WordList = word_list!(SPACED, "corrections: of self");
/// Words before something that was named before.
static DEFINITE: WordList = word_list!(SPACED, "constraints: definite");
/// Words with which a person says what was done or said before.
static BLAMING: WordList = word_list!("corrections: blaming");
/// Words of an apology of the model.
static APOLOGIES: WordList = word_list!("corrections: apologies");
/// Beginnings of sentences of the model about what it does now.
static ACTING: WordList = word_list!("corrections: acting");
/// Sentences of the model behind its assent that are searched for an apology and for work.
const ASSENT_SENTENCES: usize = 3;
/// Phrases of opinions and guesses.
static OPINIONS: WordList = word_list!(SPACED, "constraints: opinions");
/// Longest correction, in UTF-16 units.
const LONGEST: usize = 60;
/// Longest statement of a person with which the model agreed, in UTF-16 units.
const LONGEST_AGREED: usize = 160;
/// Most words, and characters of a script without spaces, of what stands beside an apology.
const MOST_WORDS: usize = 4;
const MOST_CHARACTERS: usize = 12;

/// The decision in a message that corrects something behind the request `before`.
pub(super) fn corrected(message: &str, before: &str, answer: &str) -> Option<String> {
    let message = message.trim();
    let asks = || message.contains(['?', '\u{ff1f}', '\u{bf}', '\n']);
    if utf16_len(message) > LONGEST || asks() || !corrects(message) || is_busy(message) {
        return None;
    }
    // The denial of a guess decides nothing.
    let newest = sentences(answer).last().unwrap_or_default();
    let is_fact = is_guess(&normalised(newest));
    (!is_fact).then(|| format!("{CORRECTED}\"{}\"{SAID_AFTER}{}", one_line(message), undone(before)))
}

/// Whether a message gives a task, reports a problem, or is a rule.
fn is_busy(message: &str) -> bool {
    let words = normalised(message);
    gives_task(message) || WORK.is_in(&words) || reports(message) || sentences(message).all(is_constraint)
}

fn corrects(message: &str) -> bool {
    let words = normalised(message);
    if MEANT.is_said_in(message, &words) {
        return is_substantive(message);
    }
    let clauses = || message.split([',', '.', ';', '\u{ff0c}', '\u{3001}', '\u{3002}']).map(str::trim);
    let is_sorry = |clause: &str| SORRY.has(normalised(clause).trim()) || has_piece(clause, SORRY.pieces);
    let is_refusal = |clause: &str| verdict(clause) == Some(Verdict::Refusal);
    let own: Vec<&str> =
        clauses().filter(|clause| !clause.is_empty() && !is_sorry(clause) && !is_refusal(clause)).collect();
    let [own] = own.as_slice() else { return false };
    let plain = normalised(own);
    let (count, characters) = (plain.split_whitespace().count(), unspaced(&plain));
    let is_short = (1..=MOST_WORDS + 1).contains(&count) && characters <= MOST_CHARACTERS;
    let is_thing = || names(own) || DEFINITE.starts(&plain) || IDENTIFYING.starts(&plain) && count > 1;
    let identifies =
        || clauses().next().is_some_and(is_refusal) && IDENTIFYING.starts(&plain) && count > 1 && names(own);
    is_short
        && !is_trivial(own)
        && !is_assent(own)
        && !EMPTY.is_in(&plain)
        && !OF_SELF.is_in(&plain)
        && (clauses().any(is_sorry) && is_thing() || identifies())
}

/// Whether a clause has a name, a number, or words for another one of several things.
fn names(clause: &str) -> bool {
    let is_name = |word: &str| word.starts_with(char::is_uppercase) || word.contains(['_', '/']);
    clause.contains(|one: char| one.is_ascii_digit())
        || clause.split_whitespace().skip(1).any(is_name)
        || OTHER.is_said(clause)
}

/// The decision in a short statement of a person, if the `answer` agrees with it. A question, a task, a rule and a report
/// of a problem are told elsewhere. If the model apologises or changes something at once, the person complained.
pub(super) fn agreed(message: &str, answer: &str) -> Option<String> {
    let message = message.trim();
    let first = sentences(answer).next().unwrap_or_default();
    let acts = |one: &str| is_announcement(one) || ACTING.begins(one);
    let yields = || {
        let mut told = sentences(answer).take(ASSENT_SENTENCES);
        told.any(|one| APOLOGIES.is_said(one) || admits(one) || acts(one) || clauses(one).any(acts))
    };
    let is_told = utf16_len(message) <= LONGEST_AGREED
        && is_substantive(message)
        && !message.contains(['?', '\u{ff1f}', '\u{bf}', '\n'])
        && !message.starts_with('/')
        && !is_reference(message)
        && agrees_with_person(first)
        && !sentences(message).any(is_constraint)
        && !OPINIONS.is_said(message)
        && !is_busy(message)
        && !tells_past(message)
        && !tells_fault(message)
        && !yields();
    is_told.then(|| format!("{DECIDED}{}", one_line(message)))
}

/// Whether a person says what they or the model did: `you forgot the footer`.
fn tells_past(message: &str) -> bool {
    let words = normalised(message);
    let mut pairs = words.split_whitespace().zip(words.split_whitespace().skip(1));
    let is_past = |(who, what): (&str, &str)| matches!(who, "you" | "i") && what.ends_with("ed");
    pairs.any(is_past) || BLAMING.is_said_in(message, &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_words_set_something_right() {
        for message in [
            "es vue, disculpa",
            "I meant the second table",
            "ich meine nicht die Breite, sondern die Höhe",
            "me refiero a la segunda tabla",
            "我说的是第二个表格",
            "sorry, the second server",
            "nein, das ist Postgres",
            "no, it's the other server",
            "c'est la page des prix, pardon",
            "desculpa, é o outro arquivo",
            "нет, это другая таблица",
            "不好意思，第二个",
        ] {
            assert!(corrected(message, "port the store", "Done.").is_some(), "{message}");
        }
        for message in [
            "sorry",
            "no, it's fine?",
            "sorry, I was away for a while and only saw it now",
            "sorry, add the menu first",
            "no, it's still broken",
            "no",
            "the title is blue",
            "no, use tabs",
            "no, that's all",
            "no, it's perfect",
            "sorry, wrong window",
            "sorry, I don't understand",
            "sorry, hab's gefunden",
        ] {
            assert_eq!(corrected(message, "port the store", "Done."), None, "{message}");
        }
        assert_eq!(corrected("no, it's the new one", "port the store", "It is probably the old one."), None);
    }

    #[test]
    fn what_the_model_agrees_with_is_decided() {
        let message = "the page works without a token, too, only slower";
        assert!(agreed(message, "You're right.").is_some());
        assert!(agreed("トークンがなくても動くはずです", "その通りです。").is_some());
        assert_eq!(agreed(message, "The page is done."), None);
        assert_eq!(agreed("that is the third time now", "You're right, I am sorry. I add it now."), None);
        assert_eq!(agreed("that is the third time now", "You're right. I add the footer now."), None);
        assert_eq!(agreed("you forgot the footer of the page", "You're right."), None);
        assert_eq!(agreed("du hast die letzte Zeile vergessen", "You're right."), None);
        assert_eq!(agreed("can it run without a token?", "You're right."), None);
        assert_eq!(agreed("the page is still broken", "You're right."), None);
        assert_eq!(agreed("i think it needs a page for the orders", "You're right."), None);
        assert_eq!(agreed("never use a token here, please", "You're right."), None);
    }
}
