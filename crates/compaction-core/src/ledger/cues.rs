//! Words by which sentences are told apart, and the items that they become.

use super::text::{clip_middle, has_any, normalised, one_line, starts_with_any};
use crate::text::utf16_len;

/// Words of sentences that settle something.
const DECISION_WORDS: &[&str] = &[
    "decided",
    "decision",
    "i'll use",
    "we'll use",
    "i will use",
    "going with",
    "chose",
    "root cause",
    "the problem is",
    "the problem was",
    "the issue is",
    "the issue was",
    "the fix is",
    "the cause",
];
/// What stands between what was settled and why; the first is the word itself, the second how the
/// reason begins in an item.
const REASONS: &[(&str, &str)] = &[
    (" because of ", "because of "),
    (" because ", ""),
    (" so that ", "so that "),
    (" instead of ", "instead of "),
    (" rather than ", "rather than "),
    (ARROW, "\u{2192} "),
];
const ARROW: &str = " \u{2192} ";
/// Words before an arrow, without those in backticks, of the shortest sentence that settles something.
const FEWEST_BEFORE_ARROW: usize = 3;
/// Words of the shortest sentence that settles something without a reason.
const FEWEST_WORDS: usize = 6;
/// Beginnings of sentences that think aloud instead of settling something.
const MUSINGS: &[&str] = &[
    "let me",
    "maybe",
    "perhaps",
    "now let me",
    "wait",
    "hmm",
    "if",
    "i think",
    "i guess",
    "i assume",
    "it seems",
    "seems",
    "it looks like",
    "looks like",
    "let's",
];
/// Words that make a sentence a guess, wherever they stand.
const GUESSES: &[&str] = &[
    "i bet",
    "i wonder",
    "i suspect",
    "i'm guessing",
    "not sure",
    "maybe",
    "perhaps",
    "probably",
    "might be",
    "could be",
];
/// Messages that ask for nothing by themselves.
const TRIVIAL: &[&str] = &[
    "continue",
    "go",
    "go on",
    "go ahead",
    "ok",
    "okay",
    "yes",
    "yep",
    "yeah",
    "no",
    "thanks",
    "thank you",
    "do it",
    "proceed",
    "sure",
    "great",
    "nice",
    "good",
    "done",
    "try again",
    "yes please",
    "perfect",
    "cool",
];
/// Bytes of the longest message that may ask for nothing.
const LONGEST_TRIVIAL: usize = 40;
/// UTF-16 units of the longest sentence that is taken as one item.
const LONGEST_SENTENCE: usize = 400;

/// A request as an item of Goal: of a long one its beginning and its end,
/// as what is pasted between is not part of the request.
pub(crate) fn goal_line(text: &str) -> String {
    one_line(&clip_middle(text.trim(), LONGEST_SENTENCE))
}

/// Whether a sentence is long enough to tell something and short enough for an item.
pub(crate) fn is_sized(sentence: &str) -> bool {
    sentence.len() > 8 && utf16_len(sentence) <= LONGEST_SENTENCE
}

pub(crate) fn is_trivial(text: &str) -> bool {
    let text = text.trim();
    if text.len() > LONGEST_TRIVIAL {
        return false;
    }
    let words = normalised(text);
    text.starts_with('/') && !text.contains(char::is_whitespace) || TRIVIAL.contains(&words.trim())
}

/// A sentence of the model that settles something, as an item: `**decision**: reason` where it
/// gives a reason. Says whether it does.
pub(crate) fn decision(sentence: &str) -> Option<(String, bool)> {
    if !is_sized(sentence) || sentence.ends_with([':', '?']) {
        return None;
    }
    let words = normalised(sentence);
    let plain = sentence.trim().replace("**", "");
    let reasoned = with_reason(&plain);
    let settles = || has_any(&words, DECISION_WORDS) && words.split_whitespace().count() >= FEWEST_WORDS;
    if reasoned.is_none() && !settles() || starts_with_any(&words, MUSINGS) || has_any(&words, GUESSES) {
        return None;
    }
    Some(reasoned.map_or((plain, false), |item| (item, true)))
}

fn with_reason(sentence: &str) -> Option<String> {
    let split = |(mark, start): &(&str, &str)| {
        let (decision, reason) = sentence.split_once(mark)?;
        let decision = decision.trim().trim_end_matches([',', ':', '-', '\u{2014}', '\u{2013}']).trim_end();
        // Lists of what became what have arrows too; they name things and settle nothing.
        let fewest = if *mark == ARROW { FEWEST_BEFORE_ARROW } else { 1 };
        let is_told = prose_words(decision) >= fewest && reason.contains(char::is_alphanumeric);
        is_told.then(|| format!("**{decision}**: {start}{}", reason.trim()))
    };
    REASONS.iter().find_map(split)
}

/// How many words stand outside backticks.
fn prose_words(text: &str) -> usize {
    let has_letter = |word: &&str| word.contains(char::is_alphabetic);
    let outside = text.split('`').step_by(2).flat_map(str::split_whitespace).filter(has_letter).count();
    // A name alone may be what was settled.
    outside.max(usize::from(text.contains(char::is_alphanumeric)))
}
