//! Words that tell a decision from a sentence that only weighs or describes something.

use super::text::{has_any, starts_with_any};
use crate::phrases::{SPACED, UNSPACED, listed};

/// Words of sentences that leave a choice open.
const UNDECIDED: &[&str] = listed!(SPACED, "deciding: undecided");
const UNDECIDED_UNSPACED: &[&str] = listed!(UNSPACED, "deciding: undecided");
/// Words of sentences that advise, offer or suppose.
const ADVISING: &[&str] = listed!(SPACED, "deciding: advising");
const ADVISING_UNSPACED: &[&str] = listed!(UNSPACED, "deciding: advising");
/// Words for the one who decides, and verb forms that name them.
const AGENTS: &[&str] = listed!(SPACED, "deciding: agents");
/// Verbs that begin a sentence about what was chosen.
const CHOSEN: &[&str] = listed!(SPACED, "deciding: chosen");

/// Whether a sentence leaves open what it speaks of. `words` are its normalised words.
pub(super) fn is_undecided(sentence: &str, words: &str) -> bool {
    has_any(words, UNDECIDED) || !sentence.is_ascii() && UNDECIDED_UNSPACED.iter().any(|piece| sentence.contains(piece))
}

/// Whether a sentence only advises or offers.
pub(super) fn is_advice(sentence: &str, words: &str) -> bool {
    has_any(words, ADVISING) || !sentence.is_ascii() && ADVISING_UNSPACED.iter().any(|piece| sentence.contains(piece))
}

/// Whether somebody who decides is named, or the sentence begins with what was done. Others describe.
pub(super) fn has_agent(words: &str) -> bool {
    has_any(words, AGENTS) || starts_with_any(words, CHOSEN)
}
