//! The numbered list at the end of an answer: what a short question behind it asks about, or how the person can test the
//! work.

use super::Builder;
use crate::ledger::bold::without_bold;
use crate::ledger::choices::asks_which;
use crate::ledger::cues::has_name;
use crate::ledger::statements::{prose, without_marker};
use crate::ledger::text::{WordList, clip, one_line, unspaced, word_list};
use crate::text::utf16_len;

/// Number of points of a list that is told.
const POINTS: std::ops::RangeInclusive<usize> = 2..=12;
/// Most lines behind the list.
const MOST_BEHIND: usize = 3;
/// Most words, characters of scripts without spaces, and UTF-16 units of a question that only asks whether the person
/// agrees.
const QUESTION_WORDS: usize = 6;
const QUESTION_CHARACTERS: usize = 12;
const LONGEST_QUESTION: usize = 40;
/// Longest title of a list, longest point and longest list, in UTF-16 units.
const LONGEST_TITLE: usize = 60;
const LONGEST_POINT: usize = 120;
const LONGEST_LIST: usize = 420;
/// Titles of lists with the steps of a test.
static TESTING: WordList = word_list!("ending list: testing");

/// Such a list.
#[derive(Debug, PartialEq, Eq)]
struct EndingList<'t> {
    /// The line before it.
    title: &'t str,
    points: Vec<&'t str>,
    /// Number of lines with words behind it.
    behind: usize,
}

impl Builder<'_> {
    /// The list that the short question at the end of the newest answer is about, such as `Does that work for you?`.
    pub(super) fn asked_about(&self, question: &str) -> Option<String> {
        let is_long = utf16_len(question) > LONGEST_QUESTION || question.split_whitespace().count() > QUESTION_WORDS;
        // A question with a name asks for one thing, such as the first of the steps.
        if is_long || unspaced(question) > QUESTION_CHARACTERS || has_name(question) || asks_which(question) {
            return None;
        }
        let list = self.own_answer().and_then(ending_list).filter(|list| list.behind == 1)?;
        Some(told(&list.points))
    }

    /// The steps with which the person can test the work, if the newest answer lists them at its end.
    pub(super) fn test_steps(&self) -> Option<String> {
        let list = self.own_answer().and_then(ending_list)?;
        let title = one_line(&without_bold(without_marker(list.title)));
        let title = title.trim_end_matches([':', '\u{ff1a}', ' ']);
        let is_test = utf16_len(title) <= LONGEST_TITLE && TESTING.is_said(title);
        is_test.then(|| format!("{title}: {}", told(&list.points)))
    }
}

/// The points of a list: all of them, or the first ones and the number of the others.
fn told(points: &[&str]) -> String {
    let (mut out, mut left) = (String::new(), points.len());
    for (at, point) in points.iter().enumerate() {
        let point = clip(&without_bold(&one_line(point)), LONGEST_POINT);
        let next = format!("{}{}. {point}", if at > 0 { "; " } else { "" }, at + 1);
        if at > 0 && utf16_len(&out) + utf16_len(&next) > LONGEST_LIST {
            break;
        }
        out.push_str(&next);
        left -= 1;
    }
    if left > 0 {
        out.push_str(&format!("; {left} more"));
    }
    out
}

/// The last numbered list of an answer, if only a few lines follow it.
fn ending_list(answer: &str) -> Option<EndingList<'_>> {
    let mut list: Option<EndingList<'_>> = None;
    let mut before = "";
    for line in prose(answer).filter(|line| line.contains(char::is_alphanumeric)) {
        let own = without_marker(line);
        let is_numbered = line.starts_with(|first: char| first.is_ascii_digit()) && own.len() < line.trim().len();
        match (&mut list, is_numbered) {
            (Some(known), true) if known.behind == 0 => known.points.push(own),
            (_, true) => list = Some(EndingList { title: before, points: vec![own], behind: 0 }),
            // What is indented belongs to the point above it.
            (Some(known), false) => known.behind += usize::from(!line.starts_with([' ', '\t'])),
            (None, false) => {}
        }
        before = line;
    }
    list.filter(|list| POINTS.contains(&list.points.len()) && list.behind <= MOST_BEHIND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_told_with_the_number_of_the_rest() {
        let long = "a".repeat(200);
        assert_eq!(told(&["Bake", "Sell"]), "1. Bake; 2. Sell");
        let told = told(&[long.as_str(); 6]);
        assert!(told.ends_with("; 3 more"), "{told}");
    }

    #[test]
    fn the_list_at_the_end_is_found_with_its_title() {
        let answer = "The menu is there.\n\n1. Old\n2. Older\n\nThen:\n\n1. Bake\n   - twice\n2. Sell\n\nAgreed?";
        let list = ending_list(answer).unwrap();
        assert_eq!((list.title, list.points, list.behind), ("Then:", vec!["Bake", "Sell"], 1));
        assert_eq!(ending_list("1. Bake\n2. Sell\n\nThe\n\nmenu\n\nis\n\nthere."), None);
    }
}
