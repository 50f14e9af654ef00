//! What a sentence says, whoever wrote it: that there is more than a model's window takes.
//!
//! New servers word this in their own way, and nearly all of them do it in one sentence: what there is
//! too much of, that it is too much, and what it does not fit into.

use super::table;

/// Where sentences and the members of a JSON object end.
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
