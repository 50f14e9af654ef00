//! Replies: messages that answer labelled questions one by one, or take an option by its label and say more.
//! `F1: A; F2: no`, `to 1. use the small one`, `B, but with a switch`. A label counts only for the question or option
//! with the same label.

use super::bold::without_bold;
use super::notes::answered_to;
use super::statements::{prose, sentences};
use super::text::{WordList, clip, clip_middle, normalised, one_line, word_list};
use crate::phrases::SPACED;

/// Words before the number of a question that was asked: `to 1. …`.
static ABOUT: WordList = word_list!(SPACED, "replies: about");
/// Marks behind a label.
const MARKS: [char; 10] = ['.', ')', ':', '-', '=', '\u{ff1a}', '\u{3001}', '\u{2013}', '\u{2014}', '\u{ff09}'];
/// Most bytes of the word before the number.
const LONGEST_WORD: usize = 24;
/// Longest message that answers labelled questions, in bytes.
const LONGEST_MESSAGE: usize = 4000;
/// Most points that are read.
const MOST_POINTS: usize = 12;
/// Longest question, and longest answer to it, in UTF-16 units.
const LONGEST_QUESTION: usize = 140;
const LONGEST_REPLY: usize = 200;
/// Longest option, in UTF-16 units.
const LONGEST_OPTION: usize = 120;

/// A label: the word and the number of `F1:`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Label {
    word: String,
    number: u32,
}

/// A question of an answer with its lettered options.
#[derive(Debug)]
struct Question<'a> {
    label: Label,
    title: &'a str,
    /// The sentence that asks, if the title does not.
    asked: Option<&'a str>,
    options: Vec<(char, &'a str)>,
}

/// Whether a message consists of labelled points. A label in it says nothing about the options of an answer.
pub(super) fn has_points(message: &str) -> bool {
    points(message).len() > 1
}

/// The answers of a message to the labelled questions of `answer`, each with its question. Empty if a label has none.
pub(super) fn replies(message: &str, answer: &str) -> Vec<String> {
    let points = points(message);
    let is_about = |label: &Label| ABOUT.has(&label.word);
    let is_enough = match points.as_slice() {
        [] => false,
        [(label, _)] => is_about(label),
        _ => true,
    };
    if !is_enough {
        return Vec::new();
    }
    let questions = questions(answer);
    let word = |label: &Label| if is_about(label) { String::new() } else { label.word.clone() };
    let asked = |label: &Label| {
        let is_it = |one: &&Question<'_>| one.label.number == label.number && word(&one.label) == word(label);
        questions.iter().rev().find(is_it)
    };
    let told: Option<Vec<String>> = points.iter().map(|(label, text)| Some(told(text, asked(label)?))).collect();
    told.unwrap_or_default()
}

/// The letter or number with which a message takes an option before it says more: `B, but with a switch`. `None` if the
/// message is only the label.
pub(super) fn leading_label(message: &str) -> Option<(&str, &str)> {
    let message = message.trim_start();
    let end = message.find(|one: char| !one.is_ascii_alphanumeric())?;
    let (sign, rest) = message.split_at(end);
    let is_letter = sign.len() == 1 && sign.starts_with(|one: char| one.is_ascii_uppercase());
    let is_number = sign.len() <= 2 && sign.bytes().all(|byte| byte.is_ascii_digit());
    // `2. …` may begin a list.
    let marks: &[&str] = if is_letter {
        &[",", ".", ";", ":", " -", " \u{2013}", " \u{2014}", "\u{ff0c}", "\u{3002}"]
    } else {
        &[",", ";", " -", " \u{2013}", " \u{2014}", "\u{ff0c}"]
    };
    let behind = marks.iter().find_map(|mark| rest.strip_prefix(mark)).filter(|_| is_letter || is_number)?;
    (behind.starts_with([' ', '\n']) || !behind.is_ascii()).then_some((sign, behind.trim()))
}

/// An answer to a question.
fn told(text: &str, question: &Question<'_>) -> String {
    let words = match option_of(text, question) {
        Some((letter, option, "")) => format!("{letter}: {option}"),
        Some((letter, option, rest)) => format!("{letter}: {option} \u{2013} {rest}"),
        None => one_line(text),
    };
    let title = without_bold(&one_line(question.title)).into_owned();
    // With an option, the title says enough.
    let takes_option = option_of(text, question).is_some();
    let title = match question.asked.filter(|_| !takes_option) {
        Some(asked) => format!("{}: {}", title.trim_end_matches([':', ' ']), without_bold(&one_line(asked))),
        None => title,
    };
    answered_to(&clip(&words, LONGEST_REPLY), &clip_middle(&title, LONGEST_QUESTION))
}

/// The option of a question that an answer takes by its letter, and what it says besides.
fn option_of<'m>(text: &'m str, question: &Question<'_>) -> Option<(char, String, &'m str)> {
    let text = text.trim_start_matches(['(', ' ']);
    let letter = text.chars().next().filter(char::is_ascii_alphabetic)?;
    let rest = &text[1..];
    let behind = rest.trim_start();
    let is_alone = behind.is_empty()
        || rest.starts_with([',', '.', ';', ':', ')', '\u{ff0c}', '\u{3002}'])
        || behind.len() < rest.len() && behind.starts_with(['-', '\u{2013}', '\u{2014}', '(']);
    let (_, option) = question.options.iter().find(|(sign, _)| *sign == letter.to_ascii_lowercase())?;
    let rest =
        behind.trim_start_matches([',', '.', ';', ':', ')', '-', ' ', '\u{2013}', '\u{2014}', '\u{ff0c}', '\u{3002}']);
    let option = clip(&without_bold(&one_line(option)), LONGEST_OPTION);
    is_alone.then(|| (letter.to_ascii_uppercase(), option, rest.trim_end_matches([',', ';', ' '])))
}

/// The labelled points of a message that begins with one, each with its text.
fn points(message: &str) -> Vec<(Label, &str)> {
    if message.len() > LONGEST_MESSAGE || label_at(message).is_none() {
        return Vec::new();
    }
    let mut starts: Vec<(usize, Label, usize)> = Vec::new();
    let mut is_start = true;
    for (at, one) in message.char_indices() {
        if is_start && !one.is_whitespace() {
            let label = label_at(&message[at..]);
            let follows = |label: &Label| {
                starts.last().is_none_or(|(_, last, _)| last.word == label.word && last.number < label.number)
            };
            if let Some((label, length)) = label.filter(|(label, _)| follows(label) && starts.len() < MOST_POINTS) {
                starts.push((at, label, at + length));
            }
        }
        is_start = matches!(one, '\n' | ';' | ',' | '.' | '\u{ff0c}' | '\u{ff1b}' | '\u{3002}' | '\u{3001}')
            || is_start && one.is_whitespace();
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|(at, ..)| *at).chain([message.len()]).collect();
    let text = |from: usize, end: usize| {
        message[from..end].trim().trim_end_matches([',', ';', '\u{ff0c}', '\u{ff1b}', '\u{3001}'])
    };
    let all = starts.into_iter().zip(ends).map(|((_, label, from), end)| (label, text(from, end)));
    all.filter(|(_, text)| text.contains(char::is_alphanumeric)).collect()
}

/// The label at the beginning of a text, in lower case, and its length.
fn label_at(text: &str) -> Option<(Label, usize)> {
    let own = text.trim_start_matches(['#', '>', '*', '-', '+', ' ', '\t', '(', '\u{2022}']);
    let digits = own.find(|one: char| one.is_ascii_digit()).filter(|at| *at <= LONGEST_WORD)?;
    let word = own[..digits].trim_end();
    let behind = &own[digits..];
    let count = behind.len() - behind.trim_start_matches(|one: char| one.is_ascii_digit()).len();
    if count > 2 || !word.chars().all(char::is_alphabetic) {
        return None;
    }
    let rest = behind[count..].trim_start_matches(['*', ' ']);
    let text_behind = rest.trim_start_matches(MARKS).trim_start_matches(['*', ' ']);
    let has_mark = rest.starts_with(MARKS) && !rest[1..].starts_with(|one: char| one.is_ascii_digit());
    let word = word.to_lowercase();
    let is_label = has_mark && (word.chars().count() <= 1 || ABOUT.has(&word));
    let number = behind[..count].parse().ok().filter(|_| is_label)?;
    Some((Label { word, number }, text.len() - text_behind.len()))
}

/// The labelled questions of an answer.
fn questions(answer: &str) -> Vec<Question<'_>> {
    let mut all: Vec<Question<'_>> = Vec::new();
    for line in prose(answer) {
        if let Some((label, length)) =
            label_at(line).filter(|(_, length)| line[*length..].contains(char::is_alphanumeric))
        {
            all.push(Question { label, title: line[length..].trim(), asked: None, options: Vec::new() });
        } else if let Some(question) = all.last_mut() {
            match lettered(line) {
                Some(option) => question.options.push(option),
                None if question.asked.is_none() => question.asked = sentences(line).find(|one| asks(one)),
                None => {}
            }
        }
    }
    // A number before anything else, such as an option, is no question.
    all.retain(|one| asks(one.title) || one.asked.is_some() || !one.options.is_empty());
    for question in &mut all {
        question.asked = question.asked.filter(|_| !asks(question.title));
    }
    all
}

fn asks(text: &str) -> bool {
    let end = text.trim_end_matches(['*', ' ', ')']);
    end.ends_with(['?', '\u{ff1f}']) || text.contains("? ") || text.contains('\u{ff1f}')
}

/// The letter, in lower case, and the text of a line such as `- (A) Text` or `b) Text`.
fn lettered(line: &str) -> Option<(char, &str)> {
    let line = line.trim_start_matches(['*', '-', '+', ' ', '\t', '(', '\u{2022}']);
    let letter = line.chars().next().filter(char::is_ascii_alphabetic)?;
    let text = line[1..].trim_start_matches('*').strip_prefix([')', '.', ':'])?.trim_start_matches(['*', ' ', ')']);
    text.contains(char::is_alphanumeric).then_some((letter.to_ascii_lowercase(), text))
}

/// Whether a message says much that an option does not say.
pub(super) fn says_more(message: &str, option: &str) -> bool {
    let known = normalised(option);
    let is_new = |word: &&str| word.chars().count() > 2 && !known.contains(&format!(" {word} "));
    normalised(message).split_whitespace().filter(is_new).count() > FEWEST_NEW
}

/// Fewest words of a message that say more than its choice.
const FEWEST_NEW: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str = "Some questions first:\n\n**Q1: Where is the switch?**\n- (A) in the sidebar\n- (B) in the menu\n\n\
                         Q2: Sound\nIs there a sound when it starts, or only a lamp?\n\nQ3: What is shown at an error?\n\
                         - (A) a red line\n- (B) a window";

    #[test]
    fn each_label_answers_its_own_question() {
        let expected = [
            "The user answered \"A: in the sidebar\" to: Where is the switch?",
            "The user answered \"no\" to: Sound: Is there a sound when it starts, or only a lamp?",
            "The user answered \"a window that closes by itself\" to: What is shown at an error?",
        ];
        for message in [
            "Q1: A; Q2: no; Q3: a window that closes by itself",
            "q1 - A\nq2 - no\nq3 - a window that closes by itself",
            "Q1: a, Q2: no, Q3: a window that closes by itself",
        ] {
            assert_eq!(replies(message, ASKED), expected, "{message}");
        }
        assert!(replies("Q1: A; Q4: no", ASKED).is_empty());
        assert!(replies("1. A 2. no", ASKED).is_empty());
        assert!(replies("A", ASKED).is_empty());
    }

    #[test]
    fn numbers_answer_numbered_questions_and_no_list_of_facts() {
        let asked =
            "1. **Model**\nWhich one is the default?\n- small\n- large\n\n2. **Start**\nDoes it start with the system?";
        for about in ["to 1. the small one", "zu 1: the small one", "question 1: the small one"] {
            let expected = ["The user answered \"the small one\" to: Model: Which one is the default?"];
            assert_eq!(replies(about, asked), expected, "{about}");
        }
        let both = [
            "The user answered \"the small one\" to: Model: Which one is the default?",
            "The user answered \"no\" to: Start: Does it start with the system?",
        ];
        for message in ["1 - the small one, 2 - no", "1. the small one\n2. no"] {
            assert_eq!(replies(message, asked), both, "{message}");
        }
        assert!(replies("1. add a test\n2. fix the menu", "1. Added a file.\n2. Fixed a test.").is_empty());
        assert!(replies("1. the small one", asked).is_empty());
    }

    #[test]
    fn a_label_takes_an_option_before_more_words() {
        assert_eq!(leading_label("B, but with a switch"), Some(("B", "but with a switch")));
        assert_eq!(leading_label("A \u{2014} and keep the menu"), Some(("A", "and keep the menu")));
        assert_eq!(leading_label("2, then the tests"), Some(("2", "then the tests")));
        for other in ["A test is missing", "2. fix the menu", "B", "I think so", "ABC, go on", "e.g. this"] {
            assert_eq!(leading_label(other), None, "{other}");
        }
    }
}
