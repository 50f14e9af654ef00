//! Words by which sentences are told apart, and the items that they become.

use super::text::{clip, has_any, normalised, one_line, starts_with_any};
use crate::text::utf16_len;

/// Words that make a sentence of a person a constraint, wherever they stand.
const CONSTRAINT_WORDS: &[&str] = &[
    "always",
    "never",
    "must",
    "mustn't",
    "don't",
    "dont",
    "do not",
    "make sure",
    "ensure",
    "prefer",
    "avoid",
    "should not",
    "shouldn't",
    "not allowed",
    "at most",
    "at least",
    "no longer",
    "instead of",
    "i want you to",
];
/// Words that make one where they begin it.
const CONSTRAINT_STARTS: &[&str] = &[
    "use",
    "keep",
    "only",
    "no",
    "stick to",
    "follow",
    "remember",
    "respect",
    "leave",
    "stop",
    "be",
    "write all",
    "please use",
    "please keep",
    "please only",
    "call it",
    "name it",
];
/// Words that report instead of asking for something.
const REPORTS: &[&str] = &[
    "i don't",
    "i do not",
    "we don't",
    "you don't",
    "they don't",
    "why don't",
    "i never",
    "it must be",
    "must have been",
];
/// Words of sentences that settle something.
const DECISION_WORDS: &[&str] = &[
    "decided",
    "decision",
    "i'll use",
    "we'll use",
    "i will use",
    "going with",
    "instead of",
    "because",
    "root cause",
    "the problem is",
    "the problem was",
    "the issue is",
    "the issue was",
    "chose",
    "the fix is",
    "turns out",
    "the cause",
    "rather than",
    "so that",
];
/// Beginnings of sentences that think aloud instead of settling something.
const MUSINGS: &[&str] = &["let me", "maybe", "perhaps", "now let me", "wait", "hmm", "if"];
/// Words of sentences that plan something.
const STEP_WORDS: &[&str] = &[
    "next",
    "todo",
    "remaining",
    "still need",
    "still needs",
    "need to",
    "needs to",
    "i'll",
    "let me",
    "let's",
    "then",
    "should i",
    "would you like",
    "do you want",
    "left to do",
    "follow up",
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
/// Bytes of the longest name.
const LONGEST_NAME: usize = 80;

/// A request as an item of Goal: what is pasted below the first lines is not part of the request.
pub(super) fn goal_line(text: &str) -> String {
    one_line(&clip(text.trim(), LONGEST_SENTENCE))
}

fn is_short(sentence: &str) -> bool {
    sentence.len() > 8 && utf16_len(sentence) <= LONGEST_SENTENCE
}

pub(super) fn is_name(name: &str) -> bool {
    (3..=LONGEST_NAME).contains(&name.len()) && name.contains(char::is_alphanumeric)
}

pub(super) fn is_trivial(text: &str) -> bool {
    let text = text.trim();
    if text.len() > LONGEST_TRIVIAL {
        return false;
    }
    let words = normalised(text);
    text.starts_with('/') && !text.contains(char::is_whitespace) || TRIVIAL.contains(&words.trim())
}

pub(super) fn is_constraint(sentence: &str) -> bool {
    if !is_short(sentence) || sentence.ends_with('?') {
        return false;
    }
    let words = normalised(sentence);
    if has_any(&words, REPORTS) || words.split(' ').count() < 4 {
        return false;
    }
    has_any(&words, CONSTRAINT_WORDS) || starts_with_any(&words, CONSTRAINT_STARTS)
}

/// `**decision**: reason` where the sentence gives one.
pub(super) fn decision_line(sentence: &str) -> String {
    let sentence = sentence.trim().replace("**", "");
    match sentence.split_once(" because ") {
        Some((decision, reason)) if !reason.starts_with("of ") => format!("**{decision}**: {reason}"),
        _ => sentence,
    }
}

/// Whether a sentence of the model settles something.
pub(super) fn is_decision(sentence: &str) -> bool {
    let words = normalised(sentence);
    is_short(sentence)
        && has_any(&words, DECISION_WORDS)
        && !starts_with_any(&words, MUSINGS)
        && !sentence.ends_with([':', '?'])
}

/// Whether a sentence of the model says what comes next.
pub(super) fn is_step(sentence: &str) -> bool {
    is_short(sentence) && has_any(&normalised(sentence), STEP_WORDS)
}
