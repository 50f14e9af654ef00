//! Recognises sentences that say that a context exceeds a model's window, whatever their wording.
//!
//! New servers have their own wording, and nearly all of them say it in one sentence: what is too
//! large, that it is too large, and what it does not fit.

use super::table;

/// Ends of sentences and of members of a JSON object.
const ENDS: [&str; 8] = [". ", "; ", "! ", "? ", "\",", "',", "\":\"", " | "];

/// Whether a sentence of `text`, in lower case, says that a context is larger than a model's window.
pub(super) fn names_size(text: &str) -> bool {
    let mut sentences = vec![text];
    for end in ENDS {
        sentences = sentences.into_iter().flat_map(|sentence| sentence.split(end)).collect();
    }
    sentences.into_iter().any(says_too_large)
}

fn says_too_large(sentence: &str) -> bool {
    let introduction = table::INTRODUCTIONS.iter().find_map(|words| sentence.split_once(words));
    let sentence = introduction.map_or(sentence, |(_, said)| said);
    let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    let is_of_window = has(table::WINDOW) || has(table::CONVERSATION) && has(table::OF_MODELS);
    let is_about_output = has(table::OUTPUT_PARAMETERS) && !has(table::INPUT_WORDS);
    has(table::EXCESS) && is_of_window && !is_about_output && !has(table::OTHER_THINGS)
}
