//! Rulings: replies of a person that decide several points of an answer one by one: `(a) Files — yes. … (b) SQLite —
//! no.`, that approve it with a list of changes, or that name its items by their numbers.

use super::answers::{Verdict, agrees, verdict};
use super::bold::without_bold;
use super::choices::stems;
use super::noise::praises_first;
use super::proposals::is_proposal;
use super::rules::approves;
use super::stated::leaves_open;
use super::statements::{sentences, without_marker};
use super::text::{WordList, clip, normalised, one_line, unspaced, word_list};
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// Longest subject of a point, in UTF-16 units.
const LONGEST_TOPIC: usize = 110;
/// Most points that are listed.
const MOST_POINTS: usize = 8;
/// Most points that are read. Each is searched for in the answer.
const MOST_READ: usize = 32;
/// Bytes at the beginning of a point in which its verdict must be.
const VERDICT_WITHIN: usize = 200;
/// Marks between the subject of a point and the verdict.
const MARKS: [&str; 5] = [" \u{2014} ", " \u{2013} ", " - ", ": ", "\u{ff1a}"];

/// A point with its verdict.
#[derive(Debug, PartialEq, Eq)]
struct Ruling<'a> {
    label: char,
    /// Its subject in the person's words; empty if they only give the label.
    topic: &'a str,
    agrees: bool,
}

/// The points of `answer` that a message agrees to and those that it refuses.
pub(super) fn ruled(message: &str, answer: &str) -> (Option<String>, Option<String>) {
    let rulings = rulings(message);
    if rulings.is_empty() {
        return (None, None);
    }
    let known = stems(answer);
    let told = |agrees: bool| {
        let topics = rulings.iter().filter(|one| one.agrees == agrees).filter_map(|one| topic(one, answer, &known));
        let topics: Vec<String> = topics.take(MOST_POINTS).collect();
        (!topics.is_empty()).then(|| topics.join("; "))
    };
    (told(true), told(false))
}

/// Whether a message decides on points of an answer. The rest of such a message mostly argues.
pub(super) fn rules(message: &str) -> bool {
    !rulings(message).is_empty()
}

/// Words that may stand behind the number of an item in a reply.
static BEHIND_NUMBERS: WordList = word_list!(SPACED, "answers: behind numbers");
/// Longest reply with such numbers, in UTF-16 units, and longest item that is told with it.
const LONGEST_REPLY: usize = 160;
const LONGEST_ITEM: usize = 80;
/// Fewest items of the list that they are about, and the number of digits of a number at most.
const FEWEST_ITEMS: usize = 3;
const MOST_DIGITS: usize = 2;

/// A short reply that names items of a numbered list in `answer` by their numbers, with these items: `leave out 8, 11 is right
/// (8: …; 11: …)`. A number before a noun counts something.
pub(super) fn about_items(reply: &str, answer: &str) -> Option<String> {
    let reply = reply.trim();
    if utf16_len(reply) > LONGEST_REPLY || reply.contains(['?', '\u{ff1f}', '\n']) {
        return None;
    }
    let words: Vec<&str> = reply.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(['.', ',', ';', ':', '#', '!', ')']).to_owned();
    let is_number =
        |word: &str| (1..=MOST_DIGITS).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut numbers: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let number = bare(word);
        if !is_number(&number) {
            continue;
        }
        let next = words.get(at + 1).map(|next| bare(next).to_lowercase());
        let ends = word.ends_with([',', '.', ';', '!', ':']);
        if !ends && next.is_some_and(|next| !BEHIND_NUMBERS.has(&next)) {
            return None;
        }
        numbers.push(number);
    }
    numbers.dedup();
    // A number alone takes an option.
    if numbers.is_empty() || numbers.len() == words.len() {
        return None;
    }
    let items: Vec<(&str, &str)> = answer.lines().filter_map(numbered_item).collect();
    let item = |number: &String| items.iter().rev().find(|(label, _)| label == number).map(|(_, text)| *text);
    let told: Option<Vec<String>> = numbers
        .iter()
        .map(|number| Some(format!("{number}: {}", clip(&without_bold(&one_line(item(number)?)), LONGEST_ITEM))))
        .collect();
    let told = told.filter(|_| items.len() >= FEWEST_ITEMS)?;
    Some(format!("{} ({})", one_line(reply), told.join("; ")))
}

/// The number and the text of an item of a numbered list.
fn numbered_item(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let end = line.find(|one: char| !one.is_ascii_digit())?;
    let rest = line[end..].strip_prefix(['.', ')'])?;
    (end > 0 && rest.starts_with(' ') && rest.contains(char::is_alphabetic)).then(|| (&line[..end], rest.trim()))
}

/// Fewest words of a change, or characters of a script without spaces, and most changes of one message.
const FEWEST_WORDS: usize = 4;
const FEWEST_CHARACTERS: usize = 8;
const MOST_CHANGES: usize = 6;
/// Longest change, in UTF-16 units.
const LONGEST_CHANGE: usize = 240;

/// The changes with which a message approves an `answer`, one for each item of its numbered list: `Approved, with two
/// changes: 1. …`. What an item asks is none. After praise for finished work, such a list has new tasks.
pub(super) fn changes(message: &str, answer: &str) -> Vec<String> {
    let is_review = || (agrees(message) || praises_first(message)) && is_proposal(answer);
    if !approves(message) && !is_review() {
        return Vec::new();
    }
    // Items within an item explain it.
    let lines = message.lines().filter(|line| !line.starts_with([' ', '\t']));
    let items = lines.filter(|line| line.starts_with(|one: char| one.is_ascii_digit())).filter_map(behind_number);
    let first = items.filter_map(|item| sentences(item).next());
    let is_told = |one: &str| one.split_whitespace().count() >= FEWEST_WORDS || unspaced(one) >= FEWEST_CHARACTERS;
    let is_change = |one: &&str| is_told(one) && !leaves_open(one);
    first.filter(is_change).take(MOST_CHANGES).map(|one| clip(&one_line(one), LONGEST_CHANGE)).collect()
}

/// The text behind the number of an item.
fn behind_number(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|one: char| one.is_ascii_digit());
    rest.strip_prefix(['.', ')']).filter(|rest| rest.starts_with(' ')).map(|rest| without_marker(rest.trim_start()))
}

/// The subject of a point: in the words of the person if the answer mentions it, or else in those of the answer.
fn topic(ruling: &Ruling<'_>, answer: &str, known: &[String]) -> Option<String> {
    let own = without_bold(ruling.topic).into_owned();
    let is_known = stems(&own).iter().any(|stem| known.contains(stem));
    let text = if is_known { own } else { without_bold(&point_of(answer, ruling.label)?).into_owned() };
    Some(clip(&one_line(&text), LONGEST_TOPIC))
}

/// The newest point of an answer with a label in parentheses: `(a) files, (b) SQLite.`
fn point_of(answer: &str, label: char) -> Option<String> {
    let at = answer.rfind(&format!("({label}) "))? + 4;
    let text = answer[at..].lines().next()?;
    let next = char::from_u32(u32::from(label) + 1).map(|next| format!("({next})"));
    let text = next.and_then(|next| text.split_once(&next)).map_or(text, |(before, _)| before);
    let end = text.find(['?', '\u{ff1f}']).or_else(|| text.find(". ")).unwrap_or(text.len());
    let text = text[..end].trim_end_matches([' ', ',', ';', '.', '*']);
    text.contains(char::is_alphanumeric).then(|| text.to_owned())
}

/// The points of a message, one at the beginning of each line or after a label in parentheses.
fn rulings(message: &str) -> Vec<Ruling<'_>> {
    message.lines().flat_map(points).filter_map(|(label, text)| ruling(label, text)).take(MOST_READ).collect()
}

/// The labels of a line with the text up to the next one.
fn points(line: &str) -> Vec<(char, &str)> {
    let line = line.trim_start().trim_start_matches(['*', '-', ' ']);
    let mut starts: Vec<(usize, char, usize)> = Vec::new();
    for (at, _) in line.match_indices('(') {
        let mut behind = line[at + 1..].chars();
        if let (Some(label), Some(')')) = (behind.next(), behind.next())
            && label.is_ascii_alphanumeric()
            && (at == 0 || line[..at].ends_with(' '))
        {
            starts.push((at, label, at + 3));
        }
    }
    let mut first = line.chars();
    if let (Some(label), Some(')' | '.' | ':')) = (first.next(), first.next())
        && label.is_ascii_alphanumeric()
        && first.as_str().starts_with(' ')
    {
        starts.insert(0, (0, label, 2));
    }
    if starts.first().is_none_or(|(at, ..)| *at > 0) {
        return Vec::new();
    }
    let ends = starts.iter().skip(1).map(|(at, ..)| *at).chain([line.len()]);
    starts.iter().zip(ends).map(|((_, label, from), end)| (*label, line[*from..end].trim())).collect()
}

fn ruling(label: char, text: &str) -> Option<Ruling<'_>> {
    let start = &text[..text.floor_char_boundary(VERDICT_WITHIN)];
    let label = label.to_ascii_lowercase();
    let is_alone = |rest: &str| {
        let word = rest.split([',', '.', ';', '!', '\u{2014}', '\u{ff0c}', '\u{3002}', '\u{3001}']).next()?;
        verdict(word).filter(|_| normalised(word).split_whitespace().count() <= 2)
    };
    let mut places: Vec<(usize, usize)> = Vec::new();
    for mark in MARKS {
        places.extend(start.match_indices(mark).map(|(at, _)| (at, at + mark.len())));
    }
    places.sort_unstable();
    let told = places.into_iter().find_map(|(at, behind)| {
        let topic = start[..at].trim();
        let verdict = is_alone(&start[behind..])?;
        let is_told = topic.contains(char::is_alphabetic) && utf16_len(topic) <= LONGEST_TOPIC;
        is_told.then_some(Ruling { label, topic, agrees: verdict == Verdict::Assent })
    });
    let alone = || Some(Ruling { label, topic: "", agrees: is_alone(start)? == Verdict::Assent });
    told.or_else(alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_told_with_its_verdict() {
        let answer = "The store has three parts.\n\nIs this right? (a) one table for all rows, (b) a lock on each row, \
                      (c) no cache before the first release. Then I go on.";
        for (message, agreed, refused) in [
            (
                "Good work.\n(a) One table \u{2014} yes. It is simple.\n(b) A lock on each row \u{2014} no, one is enough.\n(c) No cache \u{2014} yes, later.",
                Some("One table; No cache"),
                Some("A lock on each row"),
            ),
            (
                "(a) yes (b) no (c) agreed",
                Some("one table for all rows; no cache before the first release"),
                Some("a lock on each row"),
            ),
            ("a) yes\nb) yes", Some("one table for all rows; a lock on each row"), None),
            ("(a) ja, (b) nein", Some("one table for all rows"), Some("a lock on each row")),
            ("(a) oui\n(b) non", Some("one table for all rows"), Some("a lock on each row")),
            ("(a) \u{597d}\u{7684}\n(b) \u{4e0d}", Some("one table for all rows"), Some("a lock on each row")),
            ("(a) One table is nice (b) and a lock too", None, None),
            ("(d) yes", None, None),
            ("yes", None, None),
            ("- the tests: ok", None, None),
        ] {
            let (agree, refuse) = ruled(message, answer);
            assert_eq!((agree.as_deref(), refuse.as_deref()), (agreed, refused), "{message}");
        }
        assert!(rules("(a) One table \u{2014} yes."));
        assert!(!rules("Never use (a) tabs or (b) spaces."));
    }

    #[test]
    fn an_approval_with_a_list_of_changes_decides_each_of_them() {
        let plan = "Plan for the orders\n\n1. One table\n2. A lock\n3. A page";
        let expected = ["Storage: keep the rows in one table.", "make the lock a required parameter"];
        let list = "1. Storage: keep the rows in one table. It is enough.\n   - and no cache\n2. Is the page needed?\n\
                    3. make the lock a required parameter";
        for start in ["Approved, with two changes:", "Good plan so far. Two points:", "Looks good.", "Guter Plan."] {
            assert_eq!(changes(&format!("{start}\n\n{list}"), plan), expected, "{start}");
        }
        let wide = "\u{597d}\u{7684}\n1. 全部数据只放在一个表中，不用缓存。\n2. 好";
        assert_eq!(changes(wide, plan), ["全部数据只放在一个表中，不用缓存。"]);
        assert!(changes(&format!("Looks good.\n{list}"), "The page is done.").is_empty(), "these are new tasks");
        assert!(changes(&format!("Build these:\n{list}"), plan).is_empty());
    }

    #[test]
    fn a_reply_by_numbers_comes_with_the_items() {
        let answer = "Rules:\n7. The order has a date\n8. Payer and payee differ\n11. **Each** order has a shop\n12. No order is empty";
        let told = |reply: &str| about_items(reply, answer);
        assert_eq!(
            told("leave out 8, but 11 and 12 are right").as_deref(),
            Some(
                "leave out 8, but 11 and 12 are right (8: Payer and payee differ; 11: Each order has a shop; 12: No order is empty)"
            )
        );
        assert_eq!(told("lass 7 und 8 weg bitte"), None, "a word behind the number may be what is counted");
        assert_eq!(
            told("streiche 7, 8").as_deref(),
            Some("streiche 7, 8 (7: The order has a date; 8: Payer and payee differ)")
        );
        for reply in ["add 8 rows", "drop 9", "8", "is 8 valid?", "drop it"] {
            assert_eq!(told(reply), None, "{reply}");
        }
    }
}
