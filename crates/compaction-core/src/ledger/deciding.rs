//! Words that tell a decision from a sentence that only weighs or describes something.

use super::text::{WordList, has_piece, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};

/// Words of sentences that leave a choice open.
static UNDECIDED: WordList = word_list!(SPACED, "deciding: undecided");
const UNDECIDED_UNSPACED: &[&str] = listed!(UNSPACED, "deciding: undecided");
/// Words of sentences that advise, offer or suppose.
static ADVISING: WordList = word_list!(SPACED, "deciding: advising");
const ADVISING_UNSPACED: &[&str] = listed!(UNSPACED, "deciding: advising");
/// Words for the one who decides, and verb forms that name them.
static AGENTS: WordList = word_list!(SPACED, "deciding: agents");
/// Verbs that begin a sentence about what was chosen.
static CHOSEN: WordList = word_list!(SPACED, "deciding: chosen");

/// Whether a sentence leaves open what it speaks of. `words` are its normalised words.
pub(super) fn is_undecided(sentence: &str, words: &str) -> bool {
    UNDECIDED.is_in(words) || has_piece(sentence, UNDECIDED_UNSPACED)
}

/// Whether a sentence only advises or offers.
pub(super) fn is_advice(sentence: &str, words: &str) -> bool {
    ADVISING.is_in(words) || has_piece(sentence, ADVISING_UNSPACED)
}

/// Whether somebody who decides is named, or the sentence begins with what was done. Others describe.
pub(super) fn has_agent(words: &str) -> bool {
    AGENTS.is_in(words) || CHOSEN.starts(words)
}
