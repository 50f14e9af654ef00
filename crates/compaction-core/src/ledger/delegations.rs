//! Answers of a person to the questions of a tool, pair by pair, and questions that they leave to the model.

use super::statements::{prose, sentences};
use super::text::{WordList, clip, clip_middle, normalised, one_line, unspaced, word_list};
use crate::text::utf16_len;

/// Phrases with which a person leaves a choice to the model.
static DELEGATING: WordList = word_list!("delegations: delegating");
/// Most words of such an answer, and most characters of a script without spaces.
const MOST_WORDS: usize = 7;
const MOST_CHARACTERS: usize = 32;
/// Longest question and answer of a pair, in UTF-16 units.
const LONGEST_QUESTION: usize = 100;
const LONGEST_ANSWER: usize = 140;
/// Most UTF-16 units of all pairs.
const LONGEST: usize = 420;
/// Most UTF-16 units of what the model chose.
const LONGEST_CHOICE: usize = 240;
/// Most pairs that are read.
const MOST_PAIRS: usize = 12;
/// Comes between the two halves of a pair.
const BETWEEN: &str = "\"=\"";
/// What a harness writes behind an answer that the person typed.
const TYPED: &str = "\" user notes:";

/// Whether an answer leaves the choice to the model: `whatever is best`.
pub(super) fn delegates(answer: &str) -> bool {
    let words = normalised(answer);
    words.split_whitespace().count() <= MOST_WORDS
        && unspaced(&words) <= MOST_CHARACTERS
        && DELEGATING.is_said_in(answer, &words)
}

/// The answers of a person to the questions of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answers {
    /// Those that decide something, with their questions.
    pub(super) decided: Option<String>,
    /// The questions that they leave to the model.
    pub(super) left: Option<String>,
}

/// The answers in `"question"="answer", …`; `None` if the text has another form.
pub(super) fn answers(text: &str) -> Option<Answers> {
    let pairs = pairs(text);
    if pairs.is_empty() {
        return None;
    }
    let (left, decided): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(_, answer)| delegates(answer));
    let question = |question: &str| clip_middle(&one_line(question), LONGEST_QUESTION);
    let left: Vec<String> = left.into_iter().map(|(asked, _)| question(asked)).collect();
    let told = |(asked, answer): (&str, &str)| {
        format!("\"{}\"=\"{}\"", question(asked), clip_middle(&one_line(answer), LONGEST_ANSWER))
    };
    let decided: Vec<String> = decided.into_iter().map(told).collect();
    let joined = |items: Vec<String>, mark| Some(items.join(mark)).filter(|text| !text.is_empty());
    Some(Answers {
        decided: joined(decided, ", ").map(|text| clip(&text, LONGEST)),
        left: joined(left, "; ").map(|text| clip(&text, LONGEST)),
    })
}

/// The pairs of questions and answers.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut rest = text.trim();
    let mut pairs = Vec::new();
    while let Some(asked) = rest.strip_prefix('"').filter(|_| pairs.len() < MOST_PAIRS) {
        let Some((question, behind)) = asked.split_once(BETWEEN) else { break };
        // The next question begins behind a comma; an answer may have any marks.
        let last = behind.rfind(BETWEEN).unwrap_or(0);
        let within = &behind[..last];
        let next = within.find("\", \"");
        let noted = within.find(TYPED).and_then(|typed| Some(typed + within[typed..].find(", \"")?));
        let (own, following) = match (next, noted) {
            (Some(at), noted) if noted.is_none_or(|noted| at < noted) => (&behind[..at], &behind[at + 3..]),
            (_, Some(at)) => (&behind[..at], &behind[at + 2..]),
            _ => (behind, ""),
        };
        let own = own.split(TYPED).next().unwrap_or(own);
        pairs.push((question, own.trim_end_matches(['.', ' ', ',']).trim_end_matches('"')));
        rest = following;
    }
    pairs
}

/// What the model says in `text` after a question was left to it: its first sentences.
pub(super) fn choice_in(text: &str) -> Option<String> {
    let mut told = String::new();
    for sentence in prose(text).flat_map(sentences) {
        let sentence = one_line(sentence);
        if utf16_len(&told) + utf16_len(&sentence) > LONGEST_CHOICE && !told.is_empty() {
            break;
        }
        told = format!("{told} {sentence}").trim().to_owned();
    }
    Some(clip(&told, LONGEST_CHOICE)).filter(|told| told.contains(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_leave_the_choice_to_the_model() {
        for answer in [
            "you decide",
            "whatever is best",
            "Up to you!",
            "best practice",
            "entscheide du",
            "comme tu veux",
            "como prefieras",
            "você decide",
            "на твоё усмотрение",
            "お任せします",
            "ベストプラクティス",
            "你决定吧",
            "알아서 해 주세요",
        ] {
            assert!(delegates(answer), "{answer}");
        }
        for answer in
            ["SQLite", "the second one", "the best practice of our team is to write the tests of a part first"]
        {
            assert!(!delegates(answer), "{answer}");
        }
    }

    #[test]
    fn each_question_stands_with_its_answer() {
        let text = "\"Which store?\"=\"SQLite\", \"Which names?\"=\"up to you\" user notes: up to you, \"Which \
                    port?\"=\"8080, not \"9090\"\".";
        let found = answers(text).expect("there are pairs");
        assert_eq!(found.decided.as_deref(), Some("\"Which store?\"=\"SQLite\", \"Which port?\"=\"8080, not \"9090\""));
        assert_eq!(found.left.as_deref(), Some("Which names?"));
        assert_eq!(answers("SQLite"), None);
        assert_eq!(choice_in("I take short names. They fit.").as_deref(), Some("I take short names. They fit."));
        assert_eq!(choice_in("```\n{}\n```"), None);
    }
}
