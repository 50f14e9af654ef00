//! What a finished turn waits for: what its answer asks the person to do, or the options that it lets them choose from.

use super::Builder;
use crate::ledger::NoteKind;
use crate::ledger::answers::{EITHER, asks_for_word, asks_to_try};
use crate::ledger::commands::{looks_up, purposes};
use crate::ledger::constraints::FORBIDDING;
use crate::ledger::notes::{CHOICE_OF_USER, FOR_THE_USER};
use crate::ledger::problems::{is_conditional, is_unsolved};
use crate::ledger::text::{WordList, clip_middle, first_words, has_piece, normalised, word_list};

/// Beginnings of sentences in which an answer offers several ways to continue.
static OFFERING: WordList = word_list!("waiting: offering");
/// Phrases with which an answer says that the model stopped and leaves a decision to the person.
static STOPPED: WordList = word_list!("waiting: stopped");
/// Number of last sentences of an answer that may say so.
const STOPPED_WITHIN: usize = 3;
/// Number of first words of a sentence in which a negation turns an offer into a report.
const FIRST_WORDS: usize = 4;
/// Number of last sentences of an answer that may ask for something.
const ASKED_WITHIN: usize = 8;
/// Number of last sentences that may offer a choice.
const OFFERED_WITHIN: usize = 2;
/// Number of last sentences that may ask for a word.
const WORD_WITHIN: usize = 2;
/// Longest request to the person, in UTF-16 units.
const LONGEST_ASKED: usize = 420;

impl<'a> Builder<'a> {
    /// The item for what a finished turn waits for, if its answer says so and names no steps of its own.
    pub(super) fn waits_for(&self) -> Option<String> {
        let last = self.ledger.asked_at();
        let has_steps = || self.ledger.notes_of(NoteKind::Step).any(|note| note.position >= last && !note.is_minor);
        if !self.is_finished() || self.waiting_question().is_some() || has_steps() {
            return None;
        }
        if let Some(stopped) = self.stopped() {
            return Some(format!("{FOR_THE_USER}{}", clip_middle(stopped, LONGEST_ASKED)));
        }
        let newest = self.newest_of_model().next()?.position;
        let own = || self.newest_of_model().take_while(|one| one.position == newest);
        if let Some(offer) = own().take(OFFERED_WITHIN).find(|one| offers(&one.text)) {
            return Some(format!("{CHOICE_OF_USER}{}", clip_middle(&offer.text, LONGEST_ASKED)));
        }
        let mut asked: Vec<&str> =
            own().take(ASKED_WITHIN).map(|one| one.text.as_str()).filter(|one| asks_to_try(one)).collect();
        let waits_on_word = || own().take(WORD_WITHIN).map(|one| one.text.as_str()).find(|one| asks_for_word(one));
        if asked.is_empty() {
            asked.extend(waits_on_word());
        }
        asked.reverse();
        if let Some(steps) = self.test_steps() {
            return Some(format!("{FOR_THE_USER}{steps}"));
        }
        (!asked.is_empty()).then(|| format!("{FOR_THE_USER}{}", clip_middle(&asked.join(" "), LONGEST_ASKED)))
    }

    /// The sentence with which a complete answer says that the model stopped and leaves a decision to the person.
    pub(super) fn stopped(&self) -> Option<&'a str> {
        let newest = self.newest_of_model().next().filter(|_| self.is_finished())?.position;
        let own = self.newest_of_model().take_while(|one| one.position == newest).map(|one| one.text.as_str());
        own.take(STOPPED_WITHIN).find(|one| STOPPED.is_said(one) && !is_conditional(one))
    }

    /// Whether a complete answer ends the turn before the work: it leaves a decision to the person, or says that something
    /// fails.
    pub(super) fn is_unfinished(&self) -> bool {
        let newest = self.newest_of_model().next().filter(|_| self.is_finished()).map(|newest| newest.position);
        let own = self.newest_of_model().take_while(|one| Some(one.position) == newest).take(ASKED_WITHIN);
        self.stopped().is_some() || own.map(|one| one.text.as_str()).any(is_unsolved)
    }

    /// Whether code changed after the message at `since`, and nothing ran after the last change.
    pub(super) fn is_unproved(&self, since: u64) -> bool {
        let changed_at = self.ledger.code_changed_at();
        let mut runs = self.ledger.commands.iter().rev().take_while(|run| run.position > changed_at);
        let is_run = |purpose: &String| !looks_up(purpose);
        changed_at > since && !runs.any(|run| run.is_call || purposes(&run.command).iter().any(is_run))
    }
}

/// Whether a sentence lets the person choose between several ways.
fn offers(sentence: &str) -> bool {
    let words = normalised(sentence);
    EITHER.is_in(&words) && OFFERING.starts(&words) && !FORBIDDING.is_in(&first_words(sentence, FIRST_WORDS))
        || has_piece(sentence, EITHER.pieces) && has_piece(sentence, OFFERING.pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_possible_offers_nothing() {
        assert!(offers("I can add a test or a fixture."));
        assert!(!offers("I could not find a test or a fixture"));
        assert!(!offers("Ich kann keine Tests oder Dateien finden."));
    }
}
