//! What people and models said: requests, constraints, decisions, next steps, names.

use std::borrow::Cow;
use std::collections::HashMap;

use super::pool::{Pool, Rank};
use super::previous::{GO_ON, LATEST, NAMES, WORKING_ON};
use super::text::{has_any, normalised, one_line, quote, quoted, sentences, starts_with_any};
use crate::summary::Section;
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
/// UTF-16 units of the longest sentence that is taken as one item.
const LONGEST_SENTENCE: usize = 400;
/// Bytes of the longest name.
const LONGEST_NAME: usize = 80;
/// Messages of the model, counted from the end, whose plans still stand.
const RECENT_ANSWERS: usize = 3;
/// Names in one item.
const NAMES_PER_ITEM: usize = 8;
/// Names in all.
const MOST_NAMES: usize = 48;

/// What was heard so far.
#[derive(Default)]
pub(super) struct Speech<'a> {
    first_request: Option<(usize, Cow<'a, str>)>,
    last_request: Option<(usize, Cow<'a, str>)>,
    /// The latest answers with text.
    answers: Vec<(usize, Cow<'a, str>)>,
    /// Times and last position of every name in backticks.
    names: HashMap<String, (u64, usize)>,
    finished_at: Option<usize>,
}

impl<'a> Speech<'a> {
    pub(super) fn hear_person(&mut self, position: usize, text: Cow<'a, str>, pool: &mut Pool) {
        if text.trim().is_empty() {
            return;
        }
        for sentence in sentences(&text).filter(|sentence| is_constraint(sentence)) {
            pool.add(Section::Constraints, sentence, position, Rank::Normal);
        }
        self.note_names(position, &text);
        if !is_trivial(&text) {
            pool.add(Section::Goal, goal_line(&text), position, Rank::Normal);
            self.first_request.get_or_insert_with(|| (position, text.clone()));
        }
        self.last_request = Some((position, text));
    }

    /// An extension's message stands where a person's does, but asks for nothing by itself.
    pub(super) fn hear_extension(&mut self, position: usize, text: Cow<'a, str>, pool: &mut Pool) {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        pool.add(Section::CriticalContext, goal_line(first), position, Rank::Low);
        self.note_names(position, &text);
    }

    pub(super) fn hear_model(&mut self, position: usize, text: Cow<'a, str>, stop: Option<&str>, pool: &mut Pool) {
        if stop == Some("stop") {
            self.finished_at = Some(position);
        }
        if text.trim().is_empty() {
            return;
        }
        for sentence in sentences(&text).filter(|sentence| is_short(sentence)) {
            let words = normalised(sentence);
            if has_any(&words, DECISION_WORDS) && !starts_with_any(&words, MUSINGS) && !sentence.ends_with([':', '?']) {
                pool.add(Section::Decisions, decision_line(sentence), position, Rank::Normal);
            }
        }
        self.note_names(position, &text);
        if self.answers.len() == RECENT_ANSWERS {
            self.answers.remove(0);
        }
        self.answers.push((position, text));
    }

    /// Whether an answer was given to its end.
    pub(super) fn has_finished_turn(&self) -> bool {
        self.finished_at.is_some()
    }

    fn note_names(&mut self, position: usize, text: &str) {
        for name in quoted(text).filter(|name| is_name(name)) {
            match self.names.get_mut(name) {
                Some(seen) => *seen = (seen.0 + 1, position),
                None => {
                    self.names.insert(name.to_owned(), (1, position));
                }
            }
        }
    }

    /// Adds what only the whole conversation tells.
    pub(super) fn report(self, pool: &mut Pool) {
        self.report_requests(pool);
        self.report_steps(pool);
        self.report_names(pool);
    }

    fn report_requests(&self, pool: &mut Pool) {
        let Some((last_position, last)) = &self.last_request else {
            return;
        };
        // Where there is an earlier summary, its first goal is the request that began it all.
        let has_first = pool.has_must(Section::Goal);
        let last_line = one_line(last);
        // The latest request is shown once, as such.
        let key = normalised(&goal_line(last));
        pool.take(Section::Goal, |item| normalised(&item.text) == key);
        pool.add(Section::Goal, format!("{LATEST}{last_line}"), *last_position, Rank::Must);
        let is_known = has_first || self.first_request.as_ref().is_none_or(|(position, _)| position == last_position);
        if let Some((position, first)) = self.first_request.as_ref().filter(|_| !is_known) {
            pool.add(Section::Goal, goal_line(first), *position, Rank::Must);
        }
        if self.finished_at.is_none_or(|finished| finished < *last_position) {
            pool.add(Section::InProgress, format!("{WORKING_ON}{last_line}"), *last_position, Rank::Normal);
            pool.add(Section::NextSteps, GO_ON, *last_position, Rank::Normal);
        }
    }

    fn report_steps(&self, pool: &mut Pool) {
        for (position, answer) in &self.answers {
            for sentence in sentences(answer).filter(|sentence| is_short(sentence)) {
                let is_open = self.last_request.as_ref().is_none_or(|(request, _)| request <= position);
                if is_open && has_any(&normalised(sentence), STEP_WORDS) {
                    pool.add(Section::NextSteps, sentence, *position, Rank::Normal);
                }
            }
        }
    }

    fn report_names(&self, pool: &mut Pool) {
        let mut names: Vec<_> = self.names.iter().collect();
        // The most frequent ones, the newer first among equals; the name itself settles the rest.
        names.sort_by(|left, right| right.1.cmp(left.1).then_with(|| left.0.cmp(right.0)));
        names.truncate(MOST_NAMES);
        for names in names.chunks(NAMES_PER_ITEM) {
            let position = names.iter().map(|(_, (_, position))| *position).max().unwrap_or_default();
            let quoted: Vec<String> = names.iter().map(|(name, _)| quote(name)).collect();
            pool.add(Section::CriticalContext, format!("{NAMES}{}", quoted.join(", ")), position, Rank::Normal);
        }
    }
}

/// A request as an item of Goal: what is pasted below the first lines is not part of the request.
fn goal_line(text: &str) -> String {
    one_line(&super::text::clip(text.trim(), LONGEST_SENTENCE))
}

fn is_short(sentence: &str) -> bool {
    sentence.len() > 8 && utf16_len(sentence) <= LONGEST_SENTENCE
}

fn is_name(name: &str) -> bool {
    (3..=LONGEST_NAME).contains(&name.len()) && name.contains(char::is_alphanumeric)
}

fn is_trivial(text: &str) -> bool {
    let text = text.trim();
    let words = normalised(text);
    text.starts_with('/') && !text.contains(char::is_whitespace) || TRIVIAL.contains(&words.trim())
}

fn is_constraint(sentence: &str) -> bool {
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
fn decision_line(sentence: &str) -> String {
    let sentence = sentence.trim().replace("**", "");
    match sentence.split_once(" because ") {
        Some((decision, reason)) => format!("**{decision}**: {reason}"),
        None => sentence,
    }
}
