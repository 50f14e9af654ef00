//! Recall: which evicted entries answer a question best, and how much of them fits.
//!
//! Words are weighed as BM25 does: rare ones count more, further occurrences less and less, and long
//! texts need more of them. What holds the question as it is, or an identifier of it, comes first.

use std::cmp::Reverse;

use crate::text::{prefix_utf16, suffix_utf16, utf16_len};

/// Words of a question that count at most, the first ones.
const MAX_TERMS: usize = 64;
/// How much further occurrences of a word add (BM25: k1).
const SATURATION: f64 = 1.2;
/// How much the length of a text counts (BM25: b).
const LENGTH_WEIGHT: f64 = 0.75;
/// What a word within a longer one counts.
const PART_WEIGHT: f64 = 0.25;
/// Bytes from which on a word is looked for within longer ones.
const PART_BYTES: usize = 3;
/// UTF-16 units that must be left beside the mark of a cut for it to be worth it.
const LEAST_ROOM: usize = 8;
/// UTF-16 units of one token.
const UNITS_PER_TOKEN: u64 = 4;

/// A question: words, whatever their case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallQuery {
    terms: Vec<Term>,
    /// The whole question with single spaces, if it has several words.
    phrase: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    folded: String,
    /// Whether it is a name rather than a word, by its form: `src/foo.rs`, `FOO_BAR`, `readFile`.
    is_identifier: bool,
}

/// How a text answers a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Bytes of the text.
    length: usize,
    /// Occurrences of each word.
    counts: Vec<f64>,
    /// Identifiers that it holds whole, and one more if it holds the question as it is.
    exact: usize,
}

impl RecallQuery {
    /// Reads a question; `None` if it has no word. Quotes, brackets and punctuation around words do
    /// not count.
    pub fn parse(text: &str) -> Option<Self> {
        let mut terms: Vec<Term> = Vec::new();
        for word in text.split_whitespace().map(trimmed).filter(|word| !word.is_empty()) {
            let term = Term { folded: fold(word), is_identifier: is_identifier(word) };
            if terms.len() < MAX_TERMS && !terms.contains(&term) {
                terms.push(term);
            }
        }
        let phrase = single_spaced(&fold(trimmed(text.trim())));
        (!terms.is_empty()).then_some(Self { terms, phrase: Some(phrase).filter(|phrase| phrase.contains(' ')) })
    }

    /// How `text` answers; `None` if it has no word of the question.
    pub fn answer(&self, text: &str) -> Option<Answer> {
        let folded = fold(text);
        let found: Vec<(usize, usize)> = self.terms.iter().map(|term| occurrences(&folded, &term.folded)).collect();
        if found.iter().all(|(whole, parts)| whole + parts == 0) {
            return None;
        }
        let names = self.terms.iter().zip(&found).filter(|(term, (whole, _))| term.is_identifier && *whole > 0);
        let has_all = found.iter().all(|(whole, parts)| whole + parts > 0);
        let has_phrase = |phrase: &String| has_all && single_spaced(&folded).contains(phrase.as_str());
        Some(Answer {
            length: text.len(),
            exact: names.count() + usize::from(self.phrase.as_ref().is_some_and(has_phrase)),
            counts: found.iter().map(|(whole, parts)| *whole as f64 + *parts as f64 * PART_WEIGHT).collect(),
        })
    }
}

/// Orders answers, of which the later ones are newer, best first: what holds more of the question
/// exactly, then what weighs more, then the newer. Gives the position of each with its score.
///
/// `total` is the number of texts that were asked, those without an answer included.
pub fn rank(answers: &[Answer], total: usize) -> Vec<(usize, f64)> {
    let terms = answers.first().map_or(0, |answer| answer.counts.len());
    let rarity: Vec<f64> = (0..terms)
        .map(|term| {
            let holders = answers.iter().filter(|answer| answer.counts[term] > 0.0).count() as f64;
            (1.0 + (total.max(answers.len()) as f64 - holders + 0.5) / (holders + 0.5)).ln()
        })
        .collect();
    let average = answers.iter().map(|answer| answer.length as f64).sum::<f64>() / answers.len().max(1) as f64;
    let mut ranked: Vec<(usize, f64)> =
        answers.iter().map(|answer| score(answer, &rarity, average)).enumerate().collect();
    ranked.sort_by(|(a, score_a), (b, score_b)| {
        let exact = |position: &usize| Reverse(answers[*position].exact);
        exact(a).cmp(&exact(b)).then(score_b.total_cmp(score_a)).then(b.cmp(a))
    });
    ranked
}

/// Rounded to thousandths, so that machines which compute a little differently agree.
fn score(answer: &Answer, rarity: &[f64], average: f64) -> f64 {
    let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * answer.length as f64 / average.max(1.0);
    let weighed = answer.counts.iter().zip(rarity).map(|(count, rarity)| {
        let weight = count * (SATURATION + 1.0) / (count + SATURATION * length);
        rarity * weight
    });
    (weighed.sum::<f64>() * 1000.0).round() / 1000.0
}

/// `text` cut in its middle so that it has at most `max_tokens` estimated tokens, with a mark that
/// says how many UTF-16 units are missing; without one where there is no room for it. `None` if the
/// text fits as it is.
pub fn cut_to(text: &str, max_tokens: u64) -> Option<String> {
    let units = usize::try_from(max_tokens.saturating_mul(UNITS_PER_TOKEN)).unwrap_or(usize::MAX);
    let length = utf16_len(text);
    if length <= units {
        return None;
    }
    // The mark is never longer than the one for the whole text.
    let room = units.saturating_sub(utf16_len(&mark(length)));
    if room < LEAST_ROOM {
        return Some(prefix_utf16(text, units).to_owned());
    }
    let head = prefix_utf16(text, room.div_ceil(2));
    let tail = suffix_utf16(&text[head.len()..], room - room.div_ceil(2));
    let missing = length - utf16_len(head) - utf16_len(tail);
    Some(format!("{head}{}{tail}", mark(missing)))
}

fn mark(missing: usize) -> String {
    format!("\n[… {missing} characters left out …]\n")
}

/// A word without what stands around words in sentences.
fn trimmed(word: &str) -> &str {
    let quotes = |character: char| matches!(character, '"' | '\'' | '`' | '(' | '[' | '{' | '<' | '“' | '„' | '«');
    let ends = |character: char| {
        matches!(
            character,
            '"' | '\'' | '`' | ')' | ']' | '}' | '>' | '”' | '“' | '»' | '.' | ',' | ';' | ':' | '?' | '!' | '…'
        )
    };
    word.trim_start_matches(quotes).trim_end_matches(ends)
}

fn is_identifier(word: &str) -> bool {
    let is_mark = |character: char| !character.is_alphanumeric() && !matches!(character, '\'' | '’');
    let is_camel_case = word.chars().any(char::is_lowercase) && word.chars().skip(1).any(char::is_uppercase);
    is_camel_case || word.chars().any(|character| is_mark(character) || character.is_ascii_digit())
}

/// Occurrences of `term` as a whole word, and within longer ones.
fn occurrences(text: &str, term: &str) -> (usize, usize) {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let (starts, ends) = (term.starts_with(is_word), term.ends_with(is_word));
    let (mut whole, mut parts) = (0, 0);
    for (at, _) in text.match_indices(term) {
        let is_part =
            (starts && text[..at].ends_with(is_word)) || (ends && text[at + term.len()..].starts_with(is_word));
        if !is_part {
            whole += 1;
        } else if term.len() >= PART_BYTES {
            parts += 1;
        }
    }
    (whole, parts)
}

/// Lower case, character by character.
fn fold(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase() }
}

fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::estimate_text;
    use proptest::prelude::*;

    /// The texts that answer, best first.
    #[track_caller]
    fn check(question: &str, texts: &[&str], best_first: &[&str]) {
        let query = RecallQuery::parse(question).expect("it has words");
        let (found, answers): (Vec<&str>, Vec<Answer>) =
            texts.iter().filter_map(|text| Some((*text, query.answer(text)?))).unzip();
        let ranked: Vec<&str> = rank(&answers, texts.len()).iter().map(|(position, _)| found[*position]).collect();
        assert_eq!(ranked, best_first, "{question}");
    }

    #[test]
    fn rare_words_count_more_and_equal_answers_go_by_age() {
        check(
            "the deadline",
            &["the the", "the plan", "a deadline", "nothing"],
            &["a deadline", "the the", "the plan"],
        );
        check("parser", &["parser one", "parser two", "PARSER six"], &["PARSER six", "parser two", "parser one"]);
        check(
            "parser",
            &["a long text in which the parser has its place", "parser"],
            &["parser", "a long text in which the parser has its place"],
        );
    }

    #[test]
    fn the_question_as_it_is_comes_first() {
        check(
            "retry limit",
            &["limit limit limit retry retry", "the retry\n  Limit is"],
            &["the retry\n  Limit is", "limit limit limit retry retry"],
        );
    }

    #[test]
    fn identifiers_match_whole_and_come_before_words() {
        check(
            "what is in src/foo/bar.rs?",
            &["what is what is in it", "see src/foo/bar.rs", "see src/foo/bar.rsx"],
            &["see src/foo/bar.rs", "what is what is in it", "see src/foo/bar.rsx"],
        );
        check("FOO_BAR", &["foo_bar = 1", "XFOO_BARS", "foo bar"], &["foo_bar = 1", "XFOO_BARS"]);
        check("readFile", &["a readfile call", "read file"], &["a readfile call"]);
        check("--force", &["git push --force", "by force"], &["git push --force"]);
    }

    #[test]
    fn a_word_within_a_longer_one_is_the_weaker_answer() {
        check(
            "parse",
            &["the parser parses", "parse it later, maybe"],
            &["parse it later, maybe", "the parser parses"],
        );
        check("is", &["this history", "it is"], &["it is"]);
    }

    #[test]
    fn what_is_no_question() {
        for text in ["", "  ", "\"\" ?", "..."] {
            assert_eq!(RecallQuery::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_is_cut_in_its_middle() {
        let text = "abcdefghij".repeat(40);
        assert_eq!(cut_to(&text, 100), None);
        let cut = cut_to(&text, 20).expect("it does not fit");
        assert_eq!(cut, "abcdefghijabcdefghijabcde\n[… 351 characters left out …]\nghijabcdefghijabcdefghij");
        assert_eq!(cut_to(&text, 2).as_deref(), Some("abcdefgh"));
    }

    proptest! {
        #[test]
        fn a_cut_text_fits(text in "[a-c\u{e9}\u{1f600}]{0,200}", tokens in 1u64..40) {
            match cut_to(&text, tokens) {
                None => prop_assert!(estimate_text(&text) <= tokens),
                Some(cut) => {
                    prop_assert!(estimate_text(&text) > tokens && estimate_text(&cut) <= tokens);
                    prop_assert!(!cut.is_empty());
                }
            }
        }

        #[test]
        fn every_text_with_a_word_is_ranked_once(texts in proptest::collection::vec("[ab ]{0,12}", 0..8), question in "[ab]{1,2}( [ab]{1,2}){0,2}") {
            let query = RecallQuery::parse(&question).expect("it has words");
            let answers: Vec<Answer> = texts.iter().filter_map(|text| query.answer(text)).collect();
            let mut positions: Vec<usize> = rank(&answers, texts.len()).into_iter().map(|(at, _)| at).collect();
            positions.sort_unstable();
            prop_assert_eq!(positions, (0..answers.len()).collect::<Vec<_>>());
        }
    }
}
