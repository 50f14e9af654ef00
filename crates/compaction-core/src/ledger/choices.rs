//! Choices: the options that an answer offers, and the one that a person takes.

use std::collections::HashSet;

use super::bold::without_bold;
use super::statements::{prose, sentences, without_marker};
use super::text::{WordList, clip, has_piece, normalised, one_line, word_list};
use crate::json::Json;
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// Fewest and most options of an answer.
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=9;
/// Most UTF-16 units of an option.
const LONGEST_OPTION: usize = 120;
/// Most UTF-16 units of a question with lettered options.
const LONGEST_QUESTION: usize = 100;
/// Most UTF-16 units of the question of a call.
const LONGEST_ASKED: usize = 160;
/// Most UTF-16 units of an option with its lines.
const LONGEST_WHOLE: usize = 300;
/// Most bytes of the word before the label of an option.
const LONGEST_WORD: usize = 24;
/// Bytes at the beginning of a line within which its label ends.
const LONGEST_LABEL: usize = 64;
/// Number of last sentences of an answer in which its question may be.
const ASKED_WITHIN: usize = 4;
/// Number of sentences before the first option in which it may also be. A label and a heading may come between.
const ASKED_BEFORE: usize = 3;
/// Most UTF-16 units of a message that only chooses.
const LONGEST_CHOICE: usize = 60;
/// Most words before the label in such a message.
const MOST_WORDS: usize = 6;
/// Nouns of options, also as they are typed without accents.
static OPTION_NOUNS: WordList = word_list!(SPACED, "choices: option nouns");
/// Fewest words of an option that a message repeats.
const FEWEST_NAMED: usize = 2;
/// Shortest word that is compared, in letters.
const SHORTEST_STEM: usize = 4;
/// Number of first letters that are compared.
const LONGEST_STEM: usize = 5;
/// Words that join labels or end a message.
static JOINING: WordList = word_list!(SPACED, "choices: joining");
/// Words of sentences that say what is not wanted.
static NEGATIONS: WordList = word_list!("choices: negations");
/// Separates options.
const SEPARATOR: &str = " | ";

/// The options that an answer offers, with their labels, if it asks which one to take: `1. Use files | 2. Use SQLite`.
/// A label is a number or a capital letter, and all labels may have the same word before them.
pub(super) fn offered(answer: &str) -> Option<String> {
    let options = offered_options(answer)?;
    let items: Vec<String> = options.iter().map(item).collect();
    Some(items.join(SEPARATOR))
}

/// The options of an answer that asks which one to take.
fn offered_options(answer: &str) -> Option<Vec<(Label<'_>, &str)>> {
    let options = options(answer).filter(|options| asks_with(answer, options, |_| true))?;
    // Titles of the paragraphs below them are not options, unless each has a word such as `Option`.
    let is_title = |(label, text): &(Label<'_>, &str)| {
        label.word.is_empty() && text.trim_end_matches(['*', ' ']).ends_with([':', '\u{ff1a}'])
    };
    (!options.iter().all(is_title) && !is_outline(answer, &options)).then_some(options)
}

/// Whether a list is only an outline: other text comes between it and a question at the end, and that question does not
/// ask for one of several things.
fn is_outline(answer: &str, options: &[(Label<'_>, &str)]) -> bool {
    let Some((label, last)) = options.last() else { return false };
    let most = if label.word.is_empty() { MOST_BETWEEN } else { MOST_BEHIND_WORDS };
    let all: Vec<&str> = sentences(answer).collect();
    let is_question = |text: &&str| text.trim_end_matches(['*', ' ', ')']).ends_with(['?', '\u{ff1f}']);
    let end = last.as_ptr() as usize + last.len();
    let behind: Vec<&str> = all.iter().copied().filter(|one| one.as_ptr() as usize >= end).collect();
    let Some(question) = behind.iter().position(is_question) else { return false };
    let words = normalised(behind[question]);
    let is_meant = NAMING.is_in(&words) || has_piece(behind[question], WHICH.pieces);
    question > most && !is_meant
}

/// The options that an answer offers, verbatim and without labels; empty if it does not ask.
pub(super) fn offered_texts(answer: &str) -> Vec<&str> {
    // Most answers ask nothing.
    let may_ask = answer.contains('?') || answer.contains('\u{ff1f}');
    let options = Some(answer).filter(|_| may_ask).and_then(options);
    let options = options.filter(|options| asks_with(answer, options, |question| WHICH.is_said(question)));
    options.unwrap_or_default().into_iter().map(|(_, text)| text).collect()
}

/// Whether a question asks for one of several things.
pub(crate) fn asks_which(question: &str) -> bool {
    WHICH.is_said(question)
}

/// Words of questions that ask for one of several things.
static WHICH: WordList = word_list!("choices: which");
/// Those of [`WHICH`] that ask for something named before.
static NAMING: WordList = word_list!(SPACED, "choices: naming");
/// Most sentences between a list of options and the question about it.
const MOST_BETWEEN: usize = 1;
/// The same if the labels have words.
const MOST_BEHIND_WORDS: usize = 6;

/// Whether an answer ends with a question that is `meant`, or asks one right before its options.
fn asks_with(answer: &str, options: &[(Label<'_>, &str)], is_meant: impl Fn(&str) -> bool) -> bool {
    let is_question =
        |text: &&str| text.trim_end_matches(['*', ' ', ')']).ends_with(['?', '\u{ff1f}']) && is_meant(text);
    let all: Vec<&str> = sentences(answer).collect();
    if all.iter().rev().take(ASKED_WITHIN).any(is_question) {
        return true;
    }
    let Some((_, first)) = options.first() else { return false };
    let before = all.partition_point(|sentence| sentence.as_ptr() < first.as_ptr());
    all[before.saturating_sub(ASKED_BEFORE)..before].iter().any(is_question)
}

/// The option that an answer takes itself: the only one that a sentence after the options names by word and label.
pub(super) fn taken(answer: &str) -> Option<String> {
    let options = options(answer).filter(|options| options.iter().all(|(label, _)| !label.word.is_empty()))?;
    let (_, last) = options.last()?;
    let behind = &answer[last.as_ptr() as usize - answer.as_ptr() as usize + last.len()..];
    let names = |sentence: &str, label: &Label<'_>| {
        let mut places = sentence.match_indices(label.word).map(|(at, word)| sentence[at + word.len()..].trim_start());
        places.any(|rest| rest.strip_prefix(label.sign).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
    };
    sentences(behind).find_map(|sentence| {
        let mut named = options.iter().filter(|(label, _)| names(sentence, label));
        let only = named.next().filter(|_| named.next().is_none() && !sentence.ends_with(['?', '\u{ff1f}']))?;
        Some(item(only))
    })
}

/// The option that an answer recommends behind its options, where it asks which one to take: `Option 1 makes most sense`.
pub(super) fn advised(answer: &str) -> Option<String> {
    let options = offered_options(answer)?;
    let (_, last) = options.last()?;
    let behind = &answer[last.as_ptr() as usize - answer.as_ptr() as usize + last.len()..];
    let mut named = sentences(behind).filter(|one| !one.ends_with(['?', '\u{ff1f}'])).filter_map(named_within);
    let label = named.next().filter(|_| named.next().is_none())?;
    let sign = label.rsplit(' ').next()?;
    options.iter().find(|(label, _)| label.sign.eq_ignore_ascii_case(sign)).map(item)
}

/// An option that was taken from those of `answer`, with the lines that belong to it; `None` if it has no others.
pub(crate) fn whole(answer: &str, taken: &str) -> Option<String> {
    let options = options(answer)?;
    let at = options.iter().position(|option| item(option) == taken)?;
    let offset = |text: &str| text.as_ptr() as usize - answer.as_ptr() as usize;
    let (_, text) = options.get(at)?;
    let next = options.get(at + 1).map_or(answer.len(), |(_, next)| offset(next));
    let behind = answer.get(offset(text) + text.len()..next)?;
    let behind = if next < answer.len() { behind.rsplit_once('\n')?.0 } else { behind };
    let marks = [" ", "\t", "- ", "* ", "+ ", "\u{2022}"];
    let is_of_it = |line: &&str| marks.iter().any(|mark| line.starts_with(mark)) && labelled(line).is_none();
    let mut lines = behind.lines().skip(1).filter(|line| !line.trim().is_empty()).take_while(is_of_it).peekable();
    lines.peek()?;
    let lines: Vec<String> = lines.map(|line| without_bold(&one_line(without_marker(line))).into_owned()).collect();
    Some(clip(&format!("{taken}: {}", lines.join("; ")), LONGEST_WHOLE))
}

fn item((label, text): &(Label<'_>, &str)) -> String {
    let text = without_bold(&one_line(text)).replace(SEPARATOR, " \u{2013} ");
    format!("{}. {}", label.sign, clip(&text, LONGEST_OPTION))
}

/// The newest list of options in an answer.
fn options(answer: &str) -> Option<Vec<(Label<'_>, &str)>> {
    let (mut options, mut newest): (Vec<(Label<'_>, &str)>, Vec<_>) = (Vec::new(), Vec::new());
    for (label, text) in prose(answer).filter_map(labelled) {
        let is_next = options.last().is_some_and(|(last, _)| last.word == label.word && last.order + 1 == label.order);
        if is_next || label.order == 1 {
            if !is_next {
                options.clear();
            }
            options.push((label, text));
        }
        if OPTIONS.contains(&options.len()) {
            newest = options.clone();
        }
    }
    Some(newest).filter(|newest| OPTIONS.contains(&newest.len()))
}

/// First words of an option that only says how the work goes on.
static PROCESS: WordList = word_list!("choices: process");

/// Whether an option only says how the work goes on: `1. Merge back to main`. It says nothing once that is done.
pub(crate) fn is_process(option: &str) -> bool {
    let text = option.split_once(". ").map_or(option, |(_, text)| text);
    PROCESS.begins(text)
}

/// The only question in a call that asks the person, and its options as lines `Option 1: text`.
pub(super) fn offered_by_call(arguments: &Json<'static>) -> Option<(String, String)> {
    let all = [Some(arguments)].into_iter().chain(match arguments.get("questions") {
        Some(Json::Array(questions)) => questions.iter().map(Some).collect(),
        _ => Vec::new(),
    });
    let with_options = |one: &Json<'static>| {
        let Some(Json::Array(options)) = one.get("options") else { return None };
        let text = |option: &Json<'static>| {
            let text = option.as_str().or_else(|| option.get("label")?.as_str())?;
            Some(clip(&one_line(text), LONGEST_OPTION))
        };
        let texts: Vec<String> = options.iter().filter_map(text).collect();
        let lines = texts.iter().enumerate().map(|(at, text)| format!("Option {}: {text}", at + 1));
        let question = one.get("question").and_then(Json::as_str).unwrap_or_default();
        let is_choice = OPTIONS.contains(&texts.len());
        is_choice.then(|| (clip(&one_line(question), LONGEST_ASKED), lines.collect::<Vec<_>>().join("\n")))
    };
    let mut asked = all.flatten().filter_map(with_options);
    // With several questions, nobody knows which one an option belongs to.
    asked.next().filter(|_| asked.next().is_none())
}

/// The option of `answer` that a message names by noun and label in its first words, even if the answer does not ask
/// which one to take.
pub(super) fn chosen_by_name(message: &str, answer: &str) -> Option<String> {
    let sign = named_within(message)?.split_whitespace().next_back()?;
    let is_noun = |(label, _): &(Label<'_>, &str)| OPTION_NOUNS.has(label.word.to_lowercase().as_str());
    // Bare numbers are options if the answer uses such a noun and asks.
    let is_bare = |(label, _): &(Label<'_>, &str)| label.word.is_empty();
    let calls_so = || answer.contains(['?', '\u{ff1f}']) && OPTION_NOUNS.is_in(&normalised(answer));
    let are_options = |options: &Vec<_>| {
        options.iter().all(is_noun) || options.iter().all(is_bare) && (calls_so() || offered(answer).is_some())
    };
    let options = options(answer).filter(are_options)?;
    options.iter().find(|(label, _)| label.sign.eq_ignore_ascii_case(sign)).map(item)
}

/// The option that `answer` offers with a label.
pub(super) fn labelled_option(sign: &str, answer: &str) -> Option<String> {
    let options = options(answer).filter(|_| offered(answer).is_some())?;
    options.iter().find(|(label, _)| label.sign == sign).map(item)
}

/// Whether a message is a copy of one of the options that an answer offered, as from a menu.
pub(crate) fn copies_option(message: &str, offered: &str) -> bool {
    let message = message.trim();
    // An option that is only a number says nothing.
    if message.contains('\n') || utf16_len(message) < SHORTEST_COPY {
        return false;
    }
    let pairs = |text: &str| -> HashSet<(char, char)> {
        let letters: Vec<char> = text.to_lowercase().chars().filter(|one| one.is_alphanumeric()).collect();
        letters.windows(2).map(|pair| (pair[0], pair[1])).collect()
    };
    let own = pairs(message);
    offered.split(SEPARATOR).any(|option| own.intersection(&pairs(option)).count() * 100 >= own.len() * COPIED_PERCENT)
}

/// Fewest UTF-16 units of the copy of an option, and the percentage of its pairs of letters that the option has.
const SHORTEST_COPY: usize = 12;
const COPIED_PERCENT: usize = 90;

/// The options among `offered` that a short message names by their labels.
pub(crate) fn chosen(message: &str, offered: &str) -> Option<String> {
    let message = named_first(message.trim()).unwrap_or(message.trim());
    if message.is_empty() || utf16_len(message) > LONGEST_CHOICE || message.contains(['?', '\u{ff1f}']) {
        return None;
    }
    let words: Vec<&str> = message.split_whitespace().collect();
    if answers_several(message) {
        return None;
    }
    // A small letter alone is a label, and so is a capital that does not begin a sentence. A number is a label if no
    // noun can follow it: at the end, before a mark or before another number. Anything else is a word.
    let is_label = |at: usize, sign: &str| {
        let word = words[at].trim_matches(|one: char| !one.is_alphanumeric());
        let is_marked = || !words[at].ends_with(char::is_alphanumeric);
        let joins = |next: &&str| JOINING.has(next.to_lowercase().as_str());
        let is_last =
            || words.get(at + 1).is_none_or(|next| next.starts_with(|one: char| one.is_ascii_digit()) || joins(next));
        match sign.starts_with(char::is_alphabetic) {
            true => word == sign && at > 0,
            false => word == sign && (is_marked() || is_last()),
        }
    };
    let is_named = |sign: &str| match words.as_slice() {
        [only] => only.trim_matches(|one: char| !one.is_alphanumeric()).eq_ignore_ascii_case(sign),
        words => (0..words.len().min(MOST_WORDS)).any(|at| is_label(at, sign)),
    };
    let is_taken = |option: &&str| option.split_once(". ").is_some_and(|(sign, _)| is_named(sign));
    let taken: Vec<&str> = offered.split(SEPARATOR).filter(is_taken).collect();
    (!taken.is_empty()).then(|| taken.join("; "))
}

/// Whether a message answers several questions by their labels. Then an option of the newest question is not its answer.
fn answers_several(message: &str) -> bool {
    message.split_whitespace().filter(|word| is_label_of_question(word)).nth(1).is_some()
}

/// Whether a word is the label of a question before its answer: `F1:`, `2:`.
fn is_label_of_question(word: &str) -> bool {
    let Some(label) = word.strip_suffix([':', '=', '\u{ff1a}']) else { return false };
    let digits = label.trim_start_matches(|one: char| one.is_ascii_alphabetic());
    label.len() - digits.len() <= LETTERS_OF_LABEL
        && (1..=2).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Most letters before the number of a question.
const LETTERS_OF_LABEL: usize = 3;

/// The lettered options of a question.
type LetteredOptions<'a> = Vec<(char, &'a str)>;

/// The options that a message takes for the numbered questions of `answer`, each with its question: `1) c 2) a`.
pub(crate) fn chosen_for_questions(message: &str, answer: &str) -> Option<String> {
    let pairs = question_labels(message)?;
    let mut questions: Vec<(u32, &str, LetteredOptions<'_>)> = Vec::new();
    for line in prose(answer) {
        match (lettered(line), labelled(line).filter(|(label, _)| label.word.is_empty())) {
            (Some(option), _) if !questions.is_empty() => questions.last_mut()?.2.push(option),
            (None, Some((label, text))) => questions.push((label.order, text, Vec::new())),
            _ => {}
        }
    }
    let taken = |(number, letter): &(u32, char)| {
        // The newest list of questions counts.
        let (_, question, options) = questions.iter().rev().find(|(order, ..)| order == number)?;
        let (_, text) = options.iter().find(|(sign, _)| sign == letter)?;
        let plain = |text: &str, units| clip(&without_bold(&one_line(text)), units);
        Some(format!("{} {letter}) {}", plain(question, LONGEST_QUESTION), plain(text, LONGEST_OPTION)))
    };
    let taken: Option<Vec<String>> = pairs.iter().map(taken).collect();
    Some(taken?.join("; "))
}

/// The pairs of a question's number and an option's letter, if a message consists only of them.
fn question_labels(message: &str) -> Option<Vec<(u32, char)>> {
    if message.len() > LONGEST_CHOICE {
        return None;
    }
    let mut pairs = Vec::new();
    let is_mark = |one: char| one.is_whitespace() || matches!(one, ')' | '(' | '.' | ':' | ',' | ';' | '-' | '=');
    let mut rest = message.trim_matches(is_mark);
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|one: char| one.is_ascii_digit()).len();
        let number = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start_matches(is_mark);
        let letter = rest.chars().next().filter(char::is_ascii_alphabetic)?;
        rest = &rest[1..];
        if rest.starts_with(char::is_alphabetic) {
            return None;
        }
        pairs.push((number, letter.to_ascii_lowercase()));
        rest = rest.trim_start_matches(is_mark);
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// The letter, in lower case, and the text of a line such as `- b) Text`.
fn lettered(line: &str) -> Option<(char, &str)> {
    let line = line.trim_start_matches(['*', '-', '+', ' ', '\t', '(', '\u{2022}']);
    let letter = line.chars().next().filter(char::is_ascii_alphabetic)?;
    let text = line[1..].strip_prefix([')', '.', ':'])?.trim_start_matches(['*', ' ']);
    text.contains(char::is_alphanumeric).then_some((letter.to_ascii_lowercase(), text))
}

/// The only option among `offered` of whose title a message repeats most words. The title ends at the first mark.
pub(crate) fn named(message: &str, offered: &str) -> Option<String> {
    let title = |option: &'_ str| {
        let text = option.split_once(". ").map_or(option, |(_, text)| text);
        let end = [" - ", " \u{2014} ", " \u{2013} ", ": ", " ("].iter().filter_map(|mark| text.find(mark)).min();
        stems(&text[..end.unwrap_or(text.len())])
    };
    if answers_several(message) {
        return None;
    }
    // `I don't think we need a list of names` takes nothing. A question alone does not, either.
    let takes = |one: &&str| !one.ends_with(['?', '\u{ff1f}']) && !NEGATIONS.is_said(one);
    let said: Vec<String> = sentences(message).filter(takes).flat_map(stems).collect();
    let is_named = |option: &&str| {
        let title = title(option);
        let shared = title.iter().filter(|stem| said.contains(*stem)).count();
        shared >= FEWEST_NAMED && shared * 3 >= title.len() * 2
    };
    let mut found = offered.split(SEPARATOR).filter(is_named);
    found.next().filter(|_| found.next().is_none()).map(str::to_owned)
}

/// The stems of the significant words of a text, without duplicates.
pub(crate) fn stems(text: &str) -> Vec<String> {
    let words = normalised(text);
    let telling = words.split_whitespace().filter(|word| word.chars().count() >= SHORTEST_STEM);
    let mut stems: Vec<String> = telling.map(|word| word.chars().take(LONGEST_STEM).collect()).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// Whether a message begins with the noun and the label of an option.
pub(super) fn names_option(message: &str) -> bool {
    named_first(message.trim()).is_some()
}

/// The label, with its noun, at the beginning of a message: `Option 2`.
fn named_first(message: &str) -> Option<&str> {
    let (noun, rest) = message.split_once(' ')?;
    let noun = noun.to_lowercase();
    let label = rest.trim_start().split(|one: char| !one.is_alphanumeric()).next()?;
    let is_label = matches!(label.len(), 1..=2) && (label.len() == 1 || label.bytes().all(|one| one.is_ascii_digit()));
    let end = label.as_ptr() as usize - message.as_ptr() as usize + label.len();
    (is_label && OPTION_NOUNS.has(noun.as_str())).then(|| &message[..end])
}

/// Whether the first words of a message or sentence name an option by its noun and label: `use option 2`.
pub(super) fn takes_option(sentence: &str) -> bool {
    named_within(sentence).is_some()
}

/// The label with its noun in the first words of a message.
pub(super) fn named_within(message: &str) -> Option<&str> {
    let starts =
        message.split_whitespace().take(MOST_WORDS).map(|word| word.as_ptr() as usize - message.as_ptr() as usize);
    starts.filter_map(|start| named_first(&message[start..])).next()
}

/// The label of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Label<'a> {
    /// The word before it, such as `Option`.
    word: &'a str,
    /// The number or letter.
    sign: &'a str,
    /// Its place in the order of labels, from 1.
    order: u32,
}

/// The label and the text of a line such as `2. Text`, `**B)** Text`, `### Option 2: Text` or `1. Option A - Text`.
fn labelled(line: &str) -> Option<(Label<'_>, &str)> {
    let plain = plain_label(line);
    let rest =
        plain.map_or(line, |(_, text)| text).trim_start_matches(|one: char| !one.is_alphanumeric() && one != '[');
    // A tag or a sign may come before it.
    let rest =
        rest.strip_prefix('[').and_then(|tag| tag.split_once(']')).map_or(rest, |(_, behind)| behind.trim_start());
    plain_label(rest).filter(|(label, _)| OPTION_NOUNS.has(label.word.to_lowercase().as_str())).or(plain)
}

/// The same for a label with no other label before or after it.
fn plain_label(line: &str) -> Option<(Label<'_>, &str)> {
    if let Some(row) = line.trim().strip_prefix('|') {
        return label_of_row(row);
    }
    let line = line.trim_start_matches(['#', '>', '*', '-', '+', ' ', '\t', '(', '\u{2022}']);
    let marks = ['.', ')', ':', '\u{ff1a}', '\u{3001}', '\u{2014}', '\u{2013}'];
    // The label of an option is near the beginning of a line.
    let start = &line[..line.floor_char_boundary(LONGEST_LABEL)];
    let end = start.find(marks);
    let dash = start.as_bytes()[..end.unwrap_or(start.len())].windows(3).position(|three| three == b" - ");
    let end = dash.or(end)?;
    let head = line[..end].trim_end_matches(['*', ' ']);
    let text = line[end..].trim_start_matches(marks).trim_start_matches(['*', ' ', '-', ')', ':']);
    // In scripts without spaces, the word comes right before its label.
    let word_end = head.rfind(|one: char| !one.is_ascii_alphanumeric());
    let word_end = word_end.map_or(0, |at| at + head[at..].chars().next().map_or(0, char::len_utf8));
    let (word, sign) = head.split_at(word_end);
    let word = word.trim_end();
    if word.len() > LONGEST_WORD || !word.chars().all(char::is_alphabetic) || !text.contains(char::is_alphanumeric) {
        return None;
    }
    let order = match sign.as_bytes() {
        [letter @ b'A'..=b'Z'] => u32::from(letter - b'A') + 1,
        [_] | [_, _] => sign.parse().ok()?,
        _ => return None,
    };
    Some((Label { word, sign, order }, text))
}

/// The same for a row of a table whose first cell is a number: `| 2 | Use files | simple |`.
fn label_of_row(row: &str) -> Option<(Label<'_>, &str)> {
    let (first, text) = row.split_once('|')?;
    let sign = first.trim_matches(['*', ' ']);
    let text = text.trim_matches([' ', '|']);
    let order = sign.parse().ok().filter(|_| sign.len() <= 2 && text.contains(char::is_alphanumeric))?;
    Some((Label { word: "", sign, order }, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_by_their_labels() {
        for (answer, expected) in [
            ("Two ways:\n1. Use files\n2. Use SQLite\n\nWhich one?", Some("1. Use files | 2. Use SQLite")),
            (
                "### Option A: rename it\nFast.\n### Option B: move it\nSlow.\n\nWhat do you prefer?",
                Some("A. rename it | B. move it"),
            ),
            ("**Opção A** \u{2014} rápido\n**Opção B** \u{2014} seguro\nQual?", Some("A. rápido | B. seguro")),
            (
                "\u{65b9}\u{6848}A\u{ff1a}\u{7f13}\u{5b58}\n\u{65b9}\u{6848}B\u{ff1a}\u{6570}\u{636e}\u{5e93}\n\u{9009}\u{54ea}\u{4e2a}\u{ff1f}",
                Some("A. \u{7f13}\u{5b58} | B. \u{6570}\u{636e}\u{5e93}"),
            ),
            (
                "Which way?\n1. Use files\n- slow\n2. Use SQLite\n- fast\n\nBoth work. Files are simpler. SQLite is safer. Both are small. Take your time.",
                Some("1. Use files | 2. Use SQLite"),
            ),
            ("Done:\n1. Fixed it\n2. Tested it", None),
            ("1. Only one\nOk?", None),
            (
                "Both are right:\n1. **robots.txt** :\n   - allows all\n2. sitemap.xml:\n   - lists all\n\nAnything else?",
                None,
            ),
        ] {
            assert_eq!(offered(answer).as_deref(), expected, "{answer}");
        }
    }

    #[test]
    fn an_answer_takes_an_option_that_it_names() {
        let answer = "Option A: retry all\nSlow.\nOption B: retry one\nFast.\n\nI'll go with Option B to save time:";
        assert_eq!(taken(answer).as_deref(), Some("B. retry one"));
        assert_eq!(taken("Option A: retry all\nOption B: retry one\nOption A or Option B?"), None);
        assert_eq!(taken("1. retry all\n2. retry one\nNow 2 tests pass."), None);
    }

    #[test]
    fn a_message_chooses_by_a_noun_and_a_label() {
        let answer = "## Which way?\n\n1. **[NEW] Option A - Retry all (2h)** <- best\n   - slow\n\n2. **Option B - Retry one**\n   - fast\n";
        assert_eq!(
            chosen_by_name("Option B - Retry one. But write a test before", answer).as_deref(),
            Some("B. Retry one")
        );
        assert!(chosen_by_name("option a", answer).is_some_and(|option| option.starts_with("A. Retry all (2h)")));
        let told = "Two ways are left:\n\n**Opção A - Tudo**\n- lento\n\n**Opção B - Um**\n- rápido\n\nVou com a A:";
        assert_eq!(chosen_by_name("opçao B", told).as_deref(), Some("B. Um"));
        for message in ["b", "Option C", "Options are good", "do 2"] {
            assert_eq!(chosen_by_name(message, answer), None, "{message}");
        }
        assert_eq!(chosen_by_name("option 2", "Done:\n1. Fixed it\n2. Tested it"), None);
    }

    #[test]
    fn a_call_offers_the_options_of_its_one_question() {
        let read = |text: &str| offered_by_call(&Json::parse(text).expect("it is JSON").into_owned());
        let one = r#"{"questions":[{"question":"Which store?","options":[{"label":"Files","description":"slow"},{"label":"SQLite"}]}]}"#;
        let expected = ("Which store?".to_owned(), "Option 1: Files\nOption 2: SQLite".to_owned());
        assert_eq!(read(one), Some(expected.clone()));
        assert_eq!(read(r#"{"question":"Which store?","options":["Files","SQLite"]}"#), Some(expected));
        for other in [
            r#"{"question":"Which store?"}"#,
            r#"{"question":"Which store?","options":["Files"]}"#,
            r#"{"questions":[{"question":"A?","options":["1","2"]},{"question":"B?","options":["1","2"]}]}"#,
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn an_option_may_only_say_how_the_work_goes_on() {
        for option in [
            "1. Merge back to `main` locally",
            "1. Subagent-Driven (recommended)",
            "2. Push and open a PR",
            "1. \u{5408}\u{5e76}\u{5230}\u{4e3b}\u{5206}\u{652f}",
        ] {
            assert!(is_process(option), "{option}");
        }
        for option in ["2. Track source commits", "1. Merge rows with the same key", "1. Keep files"] {
            assert!(!is_process(option), "{option}");
        }
    }

    #[test]
    fn an_option_comes_with_its_own_lines_alone() {
        let answer =
            "**Way A** - by hand\n- slow\n- safe\n\n**Way B** - with the script\n- fast\n\nThat is all.\nWhich?";
        assert_eq!(whole(answer, "A. by hand").as_deref(), Some("A. by hand: slow; safe"));
        assert_eq!(whole(answer, "B. with the script").as_deref(), Some("B. with the script: fast"));
        assert_eq!(whole("1. files\n2. SQLite\nWhich?", "2. SQLite"), None);
    }

    #[test]
    fn a_short_message_chooses_by_a_label() {
        let (numbers, letters) = ("1. Use files | 2. Use SQLite", "A. rename it | B. move it");
        for (message, offered, expected) in [
            ("2", numbers, Some("2. Use SQLite")),
            ("option 2 please", numbers, Some("2. Use SQLite")),
            ("1 and 2", numbers, Some("1. Use files; 2. Use SQLite")),
            ("Option 2 and then write down all of it in the manual for the others", numbers, Some("2. Use SQLite")),
            ("do 2, then test", numbers, Some("2. Use SQLite")),
            ("add 2 more tests", numbers, None),
            ("bump it to 0.2", numbers, None),
            ("b", letters, Some("B. move it")),
            ("let's do B", letters, Some("B. move it")),
            ("A test is missing", letters, None),
            ("do a test", letters, None),
            ("why 2?", numbers, None),
            ("go on", numbers, None),
        ] {
            assert_eq!(chosen(message, offered).as_deref(), expected, "{message}");
        }
        let several = "F1: A; F2: no; F3: A; F4: a red one";
        assert_eq!(chosen(several, "A. a red one; B. a green one"), None);
    }

    #[test]
    fn letters_choose_for_numbered_questions() {
        let answer = "Some questions first:\n\n1. **Where is the switch?**\n   - a) in the sidebar\n   - b) in the menu\n\
                      2. Is it stored?\n   - a) in a file\n   - b) nowhere\n\nThen I write the plan.";
        let expected = "Where is the switch? b) in the menu; Is it stored? a) in a file";
        for message in ["1) b 2) a", "1b, 2a", "1: B\n2: A", "1. b; 2. a."] {
            assert_eq!(chosen_for_questions(message, answer).as_deref(), Some(expected), "{message}");
        }
        assert_eq!(chosen_for_questions("2b", answer).as_deref(), Some("Is it stored? b) nowhere"));
        for message in ["1) c", "3a", "1) because", "b", "1) b and more", "\u{e9}", "1", "1\u{e9}"] {
            assert_eq!(chosen_for_questions(message, answer), None, "{message}");
        }
    }

    #[test]
    fn a_message_chooses_by_the_words_of_an_option() {
        let offered = "1. Compare checksums - slow but exact | 2. Track file dates - fast | 3. Copy all";
        for (message, expected) in [
            ("ok, then tracking the date of each file", Some("2. Track file dates - fast")),
            ("compare the checksums and tell me when you are done", Some("1. Compare checksums - slow but exact")),
            ("how do we compare checksums?", None),
            ("I don't think that we compare any checksums here.", None),
            ("Wir brauchen keine checksums zu compare.", None),
            ("copy the manual", None),
        ] {
            assert_eq!(named(message, offered).as_deref(), expected, "{message}");
        }
    }
}
