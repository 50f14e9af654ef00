//! Answers of a person to the questions of a tool, pair by pair, and questions that they leave to the model.

use super::statements::{prose, sentences};
use super::text::{WordList, clip, clip_middle, has_piece, normalised, one_line, unspaced, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// Phrases with which a person leaves a choice to the model.
static DELEGATING: WordList = word_list!("delegations: delegating");
/// Words that may stand beside them.
static FILLING: WordList = word_list!(SPACED, "delegations: filling");
/// In languages without spaces between words, words of a limit to the choice.
const LIMITING: &[&str] = listed!(UNSPACED, "delegations: limiting");
/// Most words of such an answer, and most characters of a script without spaces.
const MOST_WORDS: usize = 7;
const MOST_CHARACTERS: usize = 32;
/// Longest question and answer of a pair, in UTF-16 units.
const LONGEST_QUESTION: usize = 100;
const LONGEST_ANSWER: usize = 140;
/// The lengths of questions and answers that are tried until all pairs fit.
const LENGTHS: [(usize, usize); 7] =
    [(LONGEST_QUESTION, LONGEST_ANSWER), (64, 140), (40, 140), (24, 140), (24, 80), (24, 40), (12, 20)];
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

/// Whether an answer leaves the choice to the model, and says nothing else: `whatever is best`.
pub(super) fn delegates(answer: &str) -> bool {
    let words = normalised(answer);
    words.split_whitespace().count() <= MOST_WORDS
        && unspaced(&words) <= MOST_CHARACTERS
        && (leaves(&words) || has_piece(answer, DELEGATING.pieces) && !limits(answer))
}

/// Whether `normalised` words have such a phrase, and apart from it only words that mean nothing beside it.
fn leaves(words: &str) -> bool {
    let (mut covered, mut has_phrase) = (0, false);
    for (at, word) in words.match_indices(' ').map(|(space, _)| (space + 1, &words[space + 1..])) {
        let longest = DELEGATING.found_in(&words[at - 1..]).take_while(|(found, _)| *found == 1);
        if let Some(end) = longest.map(|(_, phrase)| at + phrase.len()).max() {
            has_phrase = true;
            covered = covered.max(end);
        }
        let word = word.split(' ').next().unwrap_or_default();
        if at >= covered && !word.is_empty() && !FILLING.has(word) {
            return false;
        }
    }
    has_phrase
}

/// Whether an answer in a language without spaces between words limits the choice.
fn limits(answer: &str) -> bool {
    let own = answer.trim_end_matches(['\u{3002}', '\u{3001}', '\u{ff0c}', '.', ',', '!', '\u{ff01}']);
    own.contains([',', '\u{3001}', '\u{ff0c}', '\u{3002}', '.'])
        || own.contains(|one: char| one.is_ascii_alphanumeric())
        || has_piece(own, LIMITING)
}

/// The answers of a person to the questions of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answers {
    /// Those that decide something, with their questions.
    pub(super) decided: Option<String>,
    /// The questions that they leave to the model.
    pub(super) left: Option<String>,
}

/// Comes between a question and its answer on a line, and between such lines.
pub(super) const ON_LINES: &str = " \u{2192} ";
const BETWEEN_LINES: &str = " \u{b7} ";

/// The pairs on lines such as `\u{b7} question \u{2192} answer`.
fn answered_lines(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix('\u{b7}'));
    lines
        .filter_map(|line| line.split_once(ON_LINES))
        .take(MOST_PAIRS)
        .map(|(asked, own)| (asked.trim(), own.trim()))
        .collect()
}

/// The answers in `"question"="answer", …`; `None` if the text has another form.
pub(super) fn answers(text: &str) -> Option<Answers> {
    let told_as = |(asked, answer): &(&str, &str), (question, most)| {
        let short = |text: &str, units| clip_middle(&one_line(text), units);
        format!("{}{ON_LINES}{}", short(asked, question), short(answer, most))
    };
    let on_lines = answered_lines(text);
    if on_lines.len() > 1 {
        let (left, decided): (Vec<_>, Vec<_>) = on_lines.into_iter().partition(|(_, answer)| delegates(answer));
        return Some(Answers {
            decided: fitting(&decided, BETWEEN_LINES, told_as),
            left: fitting(&left, "; ", |(asked, _), (question, _)| clip_middle(&one_line(asked), question)),
        });
    }
    let pairs = pairs(text);
    if pairs.is_empty() {
        return None;
    }
    let (left, decided): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(_, answer)| delegates(answer));
    let short = |text: &str, units| clip_middle(&one_line(text), units);
    let told = |(asked, answer): &(&str, &str), (question, most)| {
        format!("\"{}\"=\"{}\"", short(asked, question), short(answer, most))
    };
    Some(Answers {
        decided: fitting(&decided, ", ", told),
        left: fitting(&left, "; ", |(asked, _), (question, _)| short(asked, question)),
    })
}

/// All pairs, with questions and answers that are as long as there is room: the questions are shortened first.
fn fitting<'a>(
    pairs: &[(&'a str, &'a str)],
    mark: &str,
    told: impl Fn(&(&'a str, &'a str), (usize, usize)) -> String,
) -> Option<String> {
    let joined = |lengths| pairs.iter().map(|pair| told(pair, lengths)).collect::<Vec<_>>().join(mark);
    let fits = LENGTHS.into_iter().map(joined).find(|text| utf16_len(text) <= LONGEST);
    let [.., shortest] = LENGTHS;
    let text = fits.unwrap_or_else(|| clip(&joined(shortest), LONGEST));
    (!text.is_empty()).then_some(text)
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
            _ => (without_end(behind), ""),
        };
        pairs.push((question, own.split(TYPED).next().unwrap_or(own)));
        rest = following;
    }
    pairs
}

/// The last answer without its closing quote, which a point may follow. Other quotes belong to the answer.
fn without_end(answer: &str) -> &str {
    let bare = answer.trim_end_matches(['.', ' ', ',']);
    bare.strip_suffix('"').unwrap_or(bare)
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
        for answer in [
            "SQLite",
            "the second one",
            "the best practice of our team is to write the tests of a part first",
            "up to you, but not Redis",
            "o melhor preço",
            "lo mejor valorado",
            "le mieux noté",
            "best practice of Google",
            "お任せしますがRedis以外で",
            "你决定，不要用Redis",
        ] {
            assert!(!delegates(answer), "{answer}");
        }
    }

    #[test]
    fn long_questions_give_way_to_the_answers() {
        let pair =
            |name: &str| format!("\"{}{name}?\"=\"the {name} that we have had for years\"", "Which of the ".repeat(12));
        let text = ["store", "port", "page", "menu"].map(pair).join(", ");
        let decided = answers(&text).and_then(|found| found.decided).expect("there are pairs");
        for name in ["store", "port", "page", "menu"] {
            assert!(decided.contains(&format!("=\"the {name} that we have had for years\"")), "{decided}");
        }
    }

    #[test]
    fn each_question_stands_with_its_answer() {
        let text = "\"Which store?\"=\"SQLite\", \"Which names?\"=\"up to you\" user notes: up to you, \"Which \
                    port?\"=\"8080, not \"9090\"\".";
        let found = answers(text).expect("there are pairs");
        assert_eq!(
            found.decided.as_deref(),
            Some("\"Which store?\"=\"SQLite\", \"Which port?\"=\"8080, not \"9090\"\"")
        );
        assert_eq!(found.left.as_deref(), Some("Which names?"));
        assert_eq!(answers("SQLite"), None);
        assert_eq!(choice_in("I take short names. They fit.").as_deref(), Some("I take short names. They fit."));
        assert_eq!(choice_in("```\n{}\n```"), None);
    }
}
