//! Words that distinguish a decision from a sentence that only weighs or describes something.

use super::text::{WordList, word_list};
use crate::phrases::SPACED;

/// Words of sentences that leave a choice open.
static UNDECIDED: WordList = word_list!("deciding: undecided");
/// Words of sentences that advise, offer or suppose.
static ADVISING: WordList = word_list!("deciding: advising");
/// Words for the one who decides, and verb forms that name them.
static AGENTS: WordList = word_list!(SPACED, "deciding: agents");
/// Verbs at the beginning of sentences about what was chosen.
static CHOSEN: WordList = word_list!(SPACED, "deciding: chosen");

/// Whether a sentence leaves its subject open. `words` are its normalised words.
pub(super) fn is_undecided(sentence: &str, words: &str) -> bool {
    UNDECIDED.is_said_in(sentence, words)
}

/// Whether a sentence only advises or offers.
pub(super) fn is_advice(sentence: &str, words: &str) -> bool {
    ADVISING.is_said_in(sentence, words)
}

/// Whether a sentence names who decides, or begins with what was done. Other sentences only describe.
pub(super) fn has_agent(words: &str) -> bool {
    AGENTS.is_in(words) || CHOSEN.starts(words)
}
